/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rebalance: which few entries of a damaged or uneven fabric's tables to move for less load.
 *
 * The engine changes as few entries as possible after a fault, so displaced flows may concentrate
 * on some channels. Later, when the fabric is idle, this pass searches other ports for flows that
 * left their designed path. It is a pure function of snapshot, LIDs and limits: the same damage
 * gives the same overrides, whatever came before. Each is on a minimal up/down path, so that any
 * subset of them may be used (route_params.overrides; detours are found after them). LIDs that the
 * damage does not touch do not move: an intact fabric of even design has no overrides.
 *
 * Where the design itself is uneven, D-Mod-K's digits are not the best choice even when all is
 * intact. The overrides for that are made from the known links alone, whatever is down or cordoned;
 * damage adds its own to them. So a fault and its repair leave them as they are.
 *
 * A pass takes from milliseconds to seconds and is done in steps.
 */
#pragma once

#include "routing/ftree/route.h"

#define REBALANCE_ENTRIES 50000 /* usual limits */
#define REBALANCE_GAIN	  5
#define REBALANCE_MOST	  100000 /* entries: route_compute() looks at each, and is one call */

struct rebalance_limits {
	uint32_t entries; /* that may move at most */
	unsigned gain;	  /* percent that one of the figures must fall by, else nothing moves */
};
/*
 * The load of the worst channel: mean over shifts and over shifts within rails (1 = as usual); and
 * in all-to-all traffic, as a multiple of the mean channel.
 */
struct rebalance_figures {
	double shift, rail_shift, all_to_all;
};
struct rebalance_result {
	struct route_override *overrides; /* by switch, then LID */
	uint32_t count;
	struct rebalance_figures before, after; /* zero when there was nothing to do */
};

struct rebalance;
/*
 * A pass, which the caller owns and may free at any time (NULL is fine). t, lids and what params
 * points to are borrowed until then; params->overrides are ignored.
 */
struct rebalance *rebalance_new(const struct topo *t, const struct lid_map *lids,
				const struct route_params *params,
				const struct rebalance_limits *limits);
void rebalance_free(struct rebalance *job);

/*
 * Works for about `units`, of which a second has some 10 million; the first steps are routing
 * computations and take as long as these. True = done. rebalance_finish() does all that is left.
 */
bool rebalance_step(struct rebalance *job, uint32_t units);
void rebalance_finish(struct rebalance *job);
/* Whether a link between switches is down or cordoned: a pass may find something to move. */
bool rebalance_is_damaged(const struct topo *t);
/*
 * Whether the design is uneven, so that a pass may find something even without damage: a missing
 * line card, trunks of unequal width, hosts on spines. Takes as long as graph_new().
 */
bool rebalance_is_uneven(const struct topo *t);
/* The result of a pass that is done, owned by the job. */
const struct rebalance_result *rebalance_result(const struct rebalance *job);
