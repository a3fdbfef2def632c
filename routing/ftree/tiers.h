/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * tiers: whether the known links, up or down, make a tree, which engine "ftree" needs. Private to
 * routing/.
 *
 * A fat tree, even with links, cards or spines missing, has next to no link between switches of one
 * tier. A torus, ring, hypercube, HyperX or jellyfish has only such links, a dragonfly+ many. A
 * fabric is no tree if more than an eighth of the links between switches are within a tier, and
 * more than an eighth of the pairs of leaves have neither a path up, then down the tiers nor a
 * direct link; unless there is one path only between any two, as in a chain of leaves.
 */
#ifndef FMD_ROUTING_TIERS_H
#define FMD_ROUTING_TIERS_H

#include <stdbool.h>
#include "topology/snapshot/topo.h"

struct tiers {
	uint32_t links, level_links; /* between switches; within a tier */
	/* pairs of leaves that links connect; those without such a path. Counted only if needed */
	uint64_t pairs, open_pairs;
};

/* Whether the known links make a tree; the figures that decided it are in *out. */
bool tiers_are_tree(const struct topo *t, struct tiers *out);

#endif
