/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* delta: what one change of the fabric does to the tables. */
#ifndef FMD_ROUTING_DELTA_H
#define FMD_ROUTING_DELTA_H

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/topo.h"

struct delta {
	uint64_t entries;	  /* that differ */
	uint64_t entries_minimum; /* whose old next hop is gone or no longer on a minimal up/down
				     path */
	uint32_t blocks;	  /* 64-entry blocks that differ */
	uint32_t switches;
};

/*
 * Both tables have the same switches in the same order; t and lids are those of the newer. Counts
 * entries, blocks, switches.
 */
void delta_count(const struct tables *older, const struct tables *newer, struct delta *out);

/*
 * By engine: of route_outcome(). "updn-root" knows no minimal paths: an entry had to change when
 * its link is gone. entries_minimum: the changes of `newer` that had to be. An old entry had to
 * change when its next hop is gone or no longer on a minimal up/down path of the snapshot t (one
 * that serves a detour as it is need not); an old gap, when a detour needs it.
 */
uint64_t delta_minimum(const struct topo *t, const struct lid_map *lids, const char *engine,
		       const struct tables *older, const struct tables *newer);

#endif
