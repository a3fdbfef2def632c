/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * detour_search: the last resort of a damaged tree. Pairs of hosts that links connect and neither
 * legal paths nor detours do get a path where the channel dependencies of these very tables bear
 * it. Private to routing/ftree.
 */
#ifndef FMD_ROUTING_DETOUR_SEARCH_H
#define FMD_ROUTING_DETOUR_SEARCH_H

#include "routing/fiber.h"
#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/topo.h"

/*
 * Pairs of switches with hosts that have no path though links connect them. With a fiber it stops
 * now and then.
 */
uint64_t detour_search_count(const struct topo *t, const struct lid_map *lids,
			     const struct tables *tables, struct fiber *fiber);
/*
 * Fills such gaps of tables that have no cycle, and makes none; then those between hosts and
 * switches. Returns what is left of the former.
 */
uint64_t detour_search_tables(const struct topo *t, const struct lid_map *lids,
			      struct tables *tables, struct fiber *fiber);

#endif
