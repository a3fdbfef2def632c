/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic: tables for fabrics that are no trees, and for trees so damaged that tiers leave pairs
 * without a path. Engine "updn-root". Private to routing/.
 *
 * Every two switches that links connect get a path, without a cycle of channel dependencies on one
 * virtual lane. Packets may take a set of turns, each from one neighbour of a switch to another.
 * The set has no cycle and holds all turns of a spanning tree, so that no pair is left out. More
 * turns are added in the order of what they would carry if all were allowed, unless they close a
 * cycle. Each destination gets a tree of shortest paths over allowed turns, the least loaded.
 *
 * All this is made of the known links, up or down. Paths over dead links are repaired afterwards,
 * destination by destination, entry by entry: so a link that goes down moves the entries that used
 * it and hardly any other, and they move back with it. Tables are a function of snapshot and LIDs
 * alone.
 */
#pragma once

#include "routing/fiber.h"
#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

/*
 * An engine, which the caller owns and frees (NULL is fine). It keeps what follows from links alone
 * from one computation to the next, as long as snapshots share their links (topo_is_again()).
 */
struct acyclic;
struct acyclic *acyclic_new(void);
void acyclic_free(struct acyclic *a);

/*
 * Fills `out` (resized to the snapshot), in a fiber that may stop it in between; NULL = in one go.
 * Where the fiber hurries, `out` stays incomplete.
 */
void acyclic_compute(struct acyclic *a, const struct topo *t, const struct lid_map *lids,
		     struct tables *out, struct fiber *fiber);

/* Whether the latest tables lead some hosts over cordoned links, as no others connect them. */
bool acyclic_cordons_overridden(const struct acyclic *a);

/*
 * A spanning tree beside the latest tables: by port of their snapshot, at both ends, whether its
 * link is in the tree. The turns of the tree and of the tables together close no cycle, so
 * multicast trees have to be parts of it. Borrowed until the next computation; NULL before the
 * first.
 */
const bool *acyclic_spanning(const struct acyclic *a);

struct acyclic_beside {	   /* a spanning tree beside tables */
	const bool *first; /* by port: links that are tried first; NULL = none */
	bool to_hosts;	/* the root is the first switch with hosts, turns to others don't count */
	uint32_t spare; /* with `to_hosts`: to so many hosts it need not lead */
	uint8_t *up; /* by switch: the port towards the root, which is the first switch; 0 = it */
	bool *apart; /* by switch: set where there are hosts to which it does not lead */
};

/*
 * Finds one of links that are up, where possible not cordoned, the turns of which close no cycle
 * with those of the tables. False: none was found, or the tables have a cycle. It stops in the
 * fiber.
 */
bool acyclic_tree_beside(const struct topo *t, const struct tables *tables,
			 const struct acyclic_beside *tree, struct fiber *fiber);
