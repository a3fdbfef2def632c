/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * payers: whose traffic is worse off when some hosts are dealt over the spines otherwise. Hosts
 * that keep their own entries still share channels with those that do not.
 */
#ifndef FMD_ROUTING_PAYERS_H
#define FMD_ROUTING_PAYERS_H

#include <jansson.h>
#include "routing/report/congestion.h"

#define PAYERS_SHOWN  64   /* rows */
#define PAYERS_MARGIN 1.05 /* times its figure before: from there on a host pays */

/*
 * Two fabrics of the same nodes and LIDs; `aside` (by node, enum congestion_aside): who is dealt
 * otherwise. Figures: congestion_by_host().
 *   hcas, hosts        of others, whose figure grows by more than the margin
 *   mean_before, mean  of all others
 *   rows               of those that pay, who pays most first: hca, leaf, before, then
 * The caller owns the reference.
 */
json_t *payers_json(const struct congestion_scene *now, const struct congestion_scene *then,
		    const uint8_t *aside);

#endif
