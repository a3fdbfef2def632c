/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pivot: detours for destinations that are no hosts. SHARP aggregation nodes are on switches of all
 * tiers, and most pairs of spines and cores have no up/down path. A few switches, mostly leaves,
 * are chosen as pivots: a switch without a path to D sends towards its pivot, and packets turn at
 * the first switch on that path that has a path to D. Private to routing/.
 *
 * No channel comes to wait for itself by that, whatever hosts do. Let T be a pivot and all switches
 * above it, by all known links. A switch is a pivot only if each switch of its T has one child in
 * T: from above there is one path down to it. Packets turn up only in T, having come down in it. A
 * packet that went up from a switch of T and comes down again leaves T for good, as the only path
 * down into it is the one by which it came: so no turn follows another of the same pivot.
 *
 * Pivots come in pairs with the same parents. A parent turns a packet to D at the first of the two
 * to which both it has a link and which has a path to D: so one dead link takes neither. Turns at
 * both never make a circle: where a packet turned at the first to B and the next turn from B would
 * be at the second, its end C has no link to the first, and from C only the second is left, by
 * which it came. A switch takes the first pair that it has a path to. After a turn of a pair no
 * turn of a later one can follow, if all of the earlier have a path to D: a packet that comes down
 * from above their T could have gone up and taken them. So these turns follow in one order only.
 *
 * Pairs of hosts get no path by pivots: if two hosts that links connect have no path, nothing is
 * sent to pivots (route.c), and detours are searched one by one; likewise, where there are no
 * aggregation nodes, if a host and a switch have none. A pivot without a live link up is
 * passed over: nobody can turn there.
 */
#pragma once

#include "routing/ftree/engine.h"

#define PIVOTS_MAX 4 /* two leaves each of two pods: one pod's links may be dead */

struct pivots {
	const struct graph *g; /* it is about; the choice is by its known links */
	uint32_t chosen[PIVOTS_MAX];
	unsigned count;
	bool intact;		   /* ports and leads are those of the fabric without damage */
	bool optional;		   /* no aggregation node is on a switch without hosts */
	uint8_t group[PIVOTS_MAX]; /* by pivot: the first of its pair, which has the same parents */
	uint8_t *port;	  /* by pivot, then switch: port towards it, 0 = another pair's, or none */
	uint8_t *order;	  /* by switch: group of its pivots, PIVOTS_MAX = it has none */
	uint8_t *leads;	  /* by switch: bits of the pivots that have a path there */
	uint32_t *listed; /* by list of struct reach: 1 + the pivot it was counted for last */
	uint32_t nlisted;
	uint32_t *queue;
	uint32_t *top; /* by switch, while T is found: 1 + the pivot whose T it was met in */
	struct dest_run *runs; /* LIDs behind switches without hosts */
	struct pivot_runs {
		uint32_t first, count;
		uint64_t hash; /* of these runs */
	} runs_by[PIVOTS_MAX]; /* by pivot: runs to which it and those before it have a path */
};

/*
 * Chooses pivots for a new graph: for aggregation nodes on switches without hosts, or for the LIDs
 * of spines of two tiers. With more tiers, detours serve such LIDs better when a core's link is
 * dead. The graph is borrowed until pivots_fini(), which frees the rest.
 */
void pivots_init(struct pivots *p, const struct graph *g);
void pivots_fini(struct pivots *p);
/*
 * The links of a pivot carry detours beside its own LIDs: an aggregation node there whose number
 * leads to the same slot as its switch's takes the next one, so that no link carries both.
 */
void pivots_spread(const struct pivots *p, struct dests *d);
/*
 * Finds the live paths to the first `count` pivots at most, and what they reach. False: there are
 * no pivots.
 */
bool pivots_find(struct pivots *p, const struct dests *d, const struct reach *r, unsigned count);
/*
 * Send LIDs for which the row of `sw` has no route towards its pivot, if that and all earlier ones,
 * at which packets may turn, have a path: LIDs behind switches without hosts; LIDs behind `dest`.
 */
void pivots_fill(const struct pivots *p, uint32_t sw, uint8_t *row);
/* A hash of all that pivots_fill() does to a row without routes, and of another hash. */
uint64_t pivots_hash(const struct pivots *p, uint32_t sw, uint64_t hash);
void pivots_fill_dest(const struct pivots *p, const struct dests *d, uint32_t sw, uint32_t dest,
		      uint8_t *row);
