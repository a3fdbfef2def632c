/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * foreign: ports with an M_Key of somebody else (inv_port.foreign_key): an alert each, counted, and
 * among what is unhealthy. They are used as they are, and no Set is sent to them.
 */
#ifndef FMD_KEYS_FOREIGN_H
#define FMD_KEYS_FOREIGN_H

#include "fm/fabric/services.h"
#include "fm/fabric/view.h"

/* Looks at all ports, and raises or ends their alerts (kind "port-m-key"). How many there are. */
unsigned foreign_review(const struct fabric_services *services);
/* Ends all alerts. */
void foreign_end(const struct fabric_services *services);
/* Appends a row for each to the links of fabric_report_hooks.unhealthy. */
void foreign_unhealthy(const struct fabric_services *services, const struct fabric_view *view,
		       json_t *rows);
/* The names of the first of them; the caller owns it. */
json_t *foreign_names(const struct fabric_services *services);

#endif
