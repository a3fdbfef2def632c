/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic: tables for fabrics that are no trees, and for trees so damaged that tiers leave pairs
 * without a path. Engine "updn-root". Private to routing/.
 *
 * Every two switches that links connect get a path, without a cycle of channel dependencies on one
 * virtual lane. What packets may do is a set of turns: from one neighbour at a switch to another.
 * It has no cycle, and holds all turns of a spanning tree, so that no pair is left out. Starting
 * from there, turns are added in the order of what they would carry if all were allowed, as long as
 * they close no cycle. Each destination gets a tree of shortest paths over allowed turns, the least
 * loaded of these.
 *
 * All this is made of the links that are known, dead or alive. What is dead is repaired
 * afterwards, destination by destination, entry by entry: so one cut moves the entries that used
 * the link and hardly any other, and they come back with it. Tables are a function of snapshot and
 * LIDs alone.
 */
#ifndef FMD_ROUTING_ACYCLIC_H
#define FMD_ROUTING_ACYCLIC_H

#include <stdbool.h>
#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/topo.h"

/*
 * Keeps what follows from links for as long as snapshots are moments of one fabric
 * (topo_is_again()).
 */
struct acyclic;
struct acyclic *acyclic_new(void);
void acyclic_free(struct acyclic *a); /* NULL is fine */

/*
 * Fills `out` (resized to the snapshot), in pieces of less than a millisecond in fabrics of up to
 * 1,000 switches; t, lids and out stay as they are meanwhile.
 */
void acyclic_begin(struct acyclic *a, const struct topo *t, const struct lid_map *lids,
		   struct tables *out);
bool acyclic_go(struct acyclic *a); /* false: done */

/* Of the latest tables: hosts reach each other by cordoned links, for no other connects them. */
bool acyclic_cordons_overridden(const struct acyclic *a);

/*
 * Of the latest tables, by port of their snapshot: links of a spanning tree of all that links
 * connect, at both ends. All its turns and those of the tables together close no cycle, so
 * multicast's trees are to be parts of it. Good until the next computation.
 */
const bool *acyclic_spanning(const struct acyclic *a);

#endif
