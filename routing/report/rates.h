/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rates: what a host gets of the fabric whose NVLinks do not relay, so that each of its adapters
 * sends to each other one over InfiniBand, while all others have traffic of their own. Rates are
 * max-min fair on single static paths over equal links; 1 is a link.
 */
#pragma once

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

#define RATES_SEEDS 6

struct rates {
	double own;    /* of the host's flows among its adapters, together; at most `adapters` */
	double others; /* of all other adapters' flows, together: `flows` of them */
	double least;  /* the slowest of those */
	double others_alone; /* what these get while the host sends nothing */
	unsigned adapters, flows;
	unsigned own_flows;    /* of the host's, that leave their leaf */
	unsigned uplinks;      /* ports of leaves by which these leave */
	unsigned worst_uplink; /* of these on the busiest such port */
	unsigned unreachable;  /* pairs of the host's adapters that the tables do not connect */
};
/*
 * Fills *out with means (least: the least) over RATES_SEEDS seeds for a host, by index in
 * topo.hosts. Others send in a random permutation; shift: each to the one so and so many adapters
 * on, across rails. classes: enum route_class by port, ports of storage and management are left
 * out; NULL = all are compute. Pairs without a path have no flow.
 */
void rates_measure(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		   const uint8_t *classes, uint32_t host, bool shift, struct rates *out);
