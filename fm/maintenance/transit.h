/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * transit: cordons that can't be kept. Hosts that nothing else connects are reached by cordoned
 * links; routing then leaves all cordons aside for them together. Whoever cordons or uncordons is
 * told which cordons carry traffic for that reason.
 *
 * A cordon is not kept when some host's packets to another cross one of its links. Packets from and
 * to the cordoned switch's own hosts are no transit.
 */
#ifndef FMD_MAINTENANCE_TRANSIT_H
#define FMD_MAINTENANCE_TRANSIT_H

#include <jansson.h>
#include "fm/fabric/view.h"
#include "fm/maintenance/cordon.h"

/*
 * By the published tables: {"what", "why"} for each such cordon; the caller's. One pass over the
 * tables, if there may be any; else empty.
 */
json_t *transit_overridden(const struct fabric_view *view, const struct cordon_list *cordons);

#endif
