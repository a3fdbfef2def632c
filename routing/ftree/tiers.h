/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * tiers: whether the known links, up or down, make a tree, which engine "ftree" needs. Private to
 * routing/.
 *
 * A fat tree, even with links, cards or spines missing, has next to no link between switches of one
 * tier. A torus, ring, hypercube, HyperX or jellyfish has only such links, a dragonfly+ many. A
 * fabric is no tree if more than an eighth of the links between switches are within a tier, and
 * more than an eighth of the pairs of leaves have neither a path up, then down the tiers nor a
 * direct link; unless there is one path only between any two, as in a chain of leaves. With no such
 * link at all it is none if more than 5 in 8 of the pairs from some leaves have no such path.
 */
#pragma once

#include "routing/fiber.h"
#include "topology/graph/graph.h"
#include "topology/snapshot/topo.h"

struct tiers {
	uint32_t links, level_links; /* between switches; within a tier */
	/* pairs of leaves that links connect; those without such a path. Counted if needed */
	uint64_t pairs, open_pairs;
};

/*
 * Whether the known links make a tree; the figures that decided it are in *out. The fiber is for
 * stops in between; NULL = in one go.
 */
bool tiers_are_tree(const struct topo *t, struct tiers *out, struct fiber *fiber);

/*
 * Whether a fabric's design, with all known links live, is no even tree: a director that lacks a
 * line card, trunks of different width, hosts on spines, switches chained under a leaf. D-Mod-K's
 * digits are not the best choice there, with or without damage. Judges a graph made GRAPH_BY_LEVEL.
 * Links that are down count: a fault makes nothing uneven.
 */
bool uneven_is(const struct graph *g, const struct topo *t);
