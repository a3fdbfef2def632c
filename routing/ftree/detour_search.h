/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * detour_search: the last resort of a damaged tree. Pairs of hosts that links connect, but neither
 * legal paths nor detours, get a path if the channel dependencies of these tables permit one.
 * Private to routing/ftree.
 */
#ifndef FMD_ROUTING_DETOUR_SEARCH_H
#define FMD_ROUTING_DETOUR_SEARCH_H

#include "routing/fiber.h"
#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

/*
 * Counts the pairs of switches with hosts that have no path though links connect them. The fiber is
 * for stops in between; NULL = in one go.
 */
uint64_t detour_search_count(const struct topo *t, const struct lid_map *lids,
			     const struct tables *tables, struct fiber *fiber);
/*
 * Fills such gaps of tables whose dependencies have no cycle, without making one; then gaps between
 * hosts and switches. Returns the number of pairs of switches with hosts that are still open.
 */
uint64_t detour_search_tables(const struct topo *t, const struct lid_map *lids,
			      struct tables *tables, struct fiber *fiber);

#endif
