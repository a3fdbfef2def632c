/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pivot: detours for what is no host. Aggregation nodes stand on switches of all tiers, and most
 * pairs of spines and cores have no up/down path. A few switches, mostly leaves, are chosen as
 * pivots: a switch without a path to D sends towards its pivot, and where that way meets a switch
 * with a path, packets turn. Private to routing/.
 *
 * No channel comes to wait for itself by that, whatever hosts do. Let T be a pivot and all above
 * it, by all known links. A switch is a pivot only if each switch of its T has one child in T:
 * from above there is one way down to it. Packets turn up in T alone, having come down in it. What
 * went up from a switch of T and comes down again leaves T for good, as the one way down into it is
 * the way it came: so no turn follows another of the same pivot. A switch takes the first pivot of
 * all that it has a path to. After a turn of pivot j no turn of a later one can follow: who comes
 * down from above j's T could have gone up and taken j. So turns follow each other in one order
 * only.
 *
 * Hosts are not served: if two of these have no path, nothing is sent to pivots (rows.c), and
 * detours are sought one by one.
 */
#ifndef FMD_ROUTING_PIVOT_H
#define FMD_ROUTING_PIVOT_H

#include "routing/ftree/engine.h"

#define PIVOTS_MAX 4 /* two leaves each of two pods: one pod's links may be dead */

struct pivots {
	const struct graph *g; /* it is about; the choice is by its known links */
	uint32_t chosen[PIVOTS_MAX];
	unsigned count;
	bool intact;	  /* ports and leads are those of the fabric without damage */
	uint8_t *port;	  /* by switch: port towards its pivot, 0 = it has none, or is one */
	uint8_t *order;	  /* by switch: number of its pivot, PIVOTS_MAX = it has none */
	uint8_t *leads;	  /* by switch: so many pivots, the first ones, have a path there */
	uint32_t *listed; /* by list of reach.h: 1 + the pivot it was counted for last */
	uint32_t nlisted;
	uint32_t *queue;
	uint32_t *top; /* by switch, while T is found: 1 + the pivot whose T it was met in */
	struct dest_run *runs; /* LIDs behind switches without hosts.. */
	struct pivot_runs {
		uint32_t first, count;
	} runs_by[PIVOTS_MAX]; /* ..to which this pivot and those before it have a path */
};

/*
 * Chooses pivots for a new graph, none where no aggregation node stands on a switch without hosts.
 * The graph is borrowed.
 */
void pivots_init(struct pivots *p, const struct graph *g);
void pivots_fini(struct pivots *p);
/*
 * What leads to pivots by what is alive now, at most by the first `count` of them. False: there are
 * none.
 */
bool pivots_find(struct pivots *p, const struct dests *d, const struct reach *r, unsigned count);
/*
 * Sends what a switch has no path to by its way, as far as its pivot has one, and earlier ones, by
 * which packets may turn on their path there: LIDs behind switches without hosts..
 */
void pivots_fill(const struct pivots *p, uint32_t sw, uint8_t *row);
/* ..and those behind D. */
void pivots_fill_dest(const struct pivots *p, const struct dests *d, uint32_t sw, uint32_t dest,
		      uint8_t *row);

#endif
