/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * affected: the hosts that share channels with more flows when some other hosts are distributed
 * over the spines in another way.
 */
#ifndef FMD_ROUTING_AFFECTED_H
#define FMD_ROUTING_AFFECTED_H

#include <jansson.h>
#include "routing/report/congestion.h"

#define AFFECTED_SHOWN	64   /* rows */
#define AFFECTED_MARGIN 1.05 /* times its figure before: from there on a host counts as affected */

/*
 * Compares two fabrics of the same nodes and LIDs; `aside` (by node, enum congestion_aside): the
 * hosts that are distributed differently. Figures are those of congestion_by_host():
 *   hcas, hosts        numbers of other HCAs and hosts whose figure grows by more than the margin
 *   mean_before, mean  over all other hosts
 *   rows               up to AFFECTED_SHOWN of them, most affected first: hca, leaf, before, then
 * Returns a new object, which the caller owns.
 */
json_t *affected_json(const struct congestion_scene *now, const struct congestion_scene *then,
		      const uint8_t *aside);

#endif
