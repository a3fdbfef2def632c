/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * tiers: whether the links that are known, dead or alive, make a tree at all: what engine "ftree"
 * goes by. Private to routing/.
 *
 * Every fat tree, whole or with links, cards or spines missing, has next to no link between
 * switches of one tier. A torus, ring, hypercube, HyperX or jellyfish has no others, a dragonfly+
 * many. So it is no tree where more than an eighth of the links between switches are such, and
 * more than an eighth of the pairs of leaves have neither a path up, then down the tiers nor a
 * link from one to the other; unless there is one way only, a chain of leaves for instance.
 */
#ifndef FMD_ROUTING_TIERS_H
#define FMD_ROUTING_TIERS_H

#include <stdbool.h>
#include "topology/topo.h"

struct tiers {
	uint32_t links, level_links; /* between switches; of these, of one tier */
	uint64_t pairs,
		/*
		 * of leaves that links connect; without such a path. Counted where the links make
		 * it a question
		 */
		open_pairs;
};

/* Whether it is a tree; says in *out what that goes by. */
bool tiers_are_tree(const struct topo *t, struct tiers *out);

#endif
