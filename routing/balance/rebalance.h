/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rebalance: which few entries of a damaged or uneven fabric's tables to move for less load.
 *
 * The engine's tables change the minimum after a fault: what is displaced goes where it disturbs
 * the least others, and piles up in places. Later, when nobody waits, this pass looks for other
 * ports for flows that left their designed path. It is a pure function of snapshot, LIDs and
 * limits: the same damage gives the same overrides whatever came before. Each is on a minimal
 * up/down path, so that any subset of them may be in force (route_params.overrides; detours are
 * found after them), and no LID moves that the damage leaves alone: an intact fabric of even design
 * has none.
 *
 * Where the design itself is uneven, digits are not the best choice even when all is intact. The
 * overrides for that are made from the known links alone, whatever is down or cordoned; damage
 * adds its own to them. So a fault and its repair leave them as they are.
 *
 * It takes from milliseconds to seconds; the caller takes it in steps.
 */
#ifndef FMD_ROUTING_REBALANCE_H
#define FMD_ROUTING_REBALANCE_H

#include "routing/ftree/route.h"

#define REBALANCE_ENTRIES 50000 /* usual limits */
#define REBALANCE_GAIN	  5
#define REBALANCE_MOST	  100000 /* entries: route_compute() looks at each, and is one call */

struct rebalance_limits {
	uint32_t entries; /* that may move at most */
	unsigned gain;	  /* percent that one of the figures must fall by, else nothing moves */
};
/*
 * The worst channel: mean over shifts, and over shifts within rails, 1 = as usual; all to all, in
 * parts of the mean channel.
 */
struct rebalance_figures {
	double shift, rail_shift, all_to_all;
};
struct rebalance_result {
	struct route_override *overrides; /* by switch, then LID */
	uint32_t count;
	struct rebalance_figures before, after; /* zero when there was nothing to look at */
};

struct rebalance;
/* t, lids and what params points to live until the end; params->overrides count for nothing. */
struct rebalance *rebalance_new(const struct topo *t, const struct lid_map *lids,
				const struct route_params *params,
				const struct rebalance_limits *limits);
void rebalance_free(struct rebalance *job); /* NULL is fine; at any time */

/*
 * Works on for about so many units, some 10 million a second; its first steps are routing
 * computations, whatever is said. True when done.
 */
bool rebalance_step(struct rebalance *job, uint32_t units);
/* Some link between switches is down or cordoned. Without that, there is nothing to do .. */
bool rebalance_is_damaged(const struct topo *t);
/*
 * .. unless the design is uneven: a missing line card, trunks of unequal width, hosts on spines.
 * Takes as long as a graph does.
 */
bool rebalance_is_uneven(const struct topo *t);
/* All of it at once. */
void rebalance_finish(struct rebalance *job);
/* After the end; the job's own. */
const struct rebalance_result *rebalance_result(const struct rebalance *job);

#endif
