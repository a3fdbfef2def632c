/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * transit: cordons that are overridden. Hosts that nothing else connects are reached by cordoned
 * links; routing then ignores all cordons for them. The answer to cordon and uncordon lists the
 * cordons that carry traffic for that reason.
 *
 * A cordon is overridden when packets from one host to another cross one of its links. Packets from
 * and to the cordoned switch's own hosts are no transit.
 */
#ifndef FMD_MAINTENANCE_TRANSIT_H
#define FMD_MAINTENANCE_TRANSIT_H

#include <jansson.h>
#include "fm/fabric/view.h"
#include "fm/maintenance/cordon.h"

/*
 * A new list, which the caller owns, of {"what", "why"} for each such cordon by the published
 * tables; empty if there is none. Takes one pass over the tables if there may be any.
 */
json_t *transit_overridden(const struct fabric_view *view, const struct cordon_list *cordons);

#endif
