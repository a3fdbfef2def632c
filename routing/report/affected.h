/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * affected: whose traffic is worse off when some hosts are distributed over the spines otherwise.
 * Hosts that keep their own entries still share channels with those that do not.
 */
#ifndef FMD_ROUTING_AFFECTED_H
#define FMD_ROUTING_AFFECTED_H

#include <jansson.h>
#include "routing/report/congestion.h"

#define AFFECTED_SHOWN	64   /* rows */
#define AFFECTED_MARGIN 1.05 /* times its figure before: from there on a host counts as affected */

/*
 * Two fabrics of the same nodes and LIDs; `aside` (by node, enum congestion_aside): who is
 * distributed differently. Figures: congestion_by_host().
 *   hcas, hosts        of others, whose figure grows by more than the margin
 *   mean_before, mean  of all others
 *   rows               of those that are affected, who is affected most first: hca, leaf, before,
 *   then
 * The caller owns the reference.
 */
json_t *affected_json(const struct congestion_scene *now, const struct congestion_scene *then,
		      const uint8_t *aside);

#endif
