/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where a tree turns down, then up: at a switch with more than one neighbour above.
 */
#include "routing/multicast/mcast_own.h"

static unsigned neighbours_above(const struct topo *t, const struct mcast_hop *hop)
{
	unsigned above = 0;

	for (unsigned num = 1; num <= t->nodes[hop->sw].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, hop->sw, num));

		above += mcast_forwards(hop, num) && peer && peer->node < t->nswitches &&
			 t->nodes[peer->node].level > t->nodes[hop->sw].level;
	}
	return above;
}

void mcast_tree_describe(const struct topo *t, struct mcast_tree *tree)
{
	tree->root = tree->nhops ? tree->hops[0].sw : TOPO_NONE;
	tree->turns = 0;
	for (uint32_t i = 0; i < tree->nhops; i++) {
		const struct mcast_hop *hop = &tree->hops[i];

		if (t->nodes[hop->sw].level > t->nodes[tree->root].level)
			tree->root = hop->sw;
		tree->turns += neighbours_above(t, hop) > 1;
	}
}

uint32_t mcast_tree_turn(const struct topo *t, const struct mcast_tree *tree)
{
	for (uint32_t i = 0; i < tree->nhops; i++)
		if (neighbours_above(t, &tree->hops[i]) > 1)
			return tree->hops[i].sw;
	return TOPO_NONE;
}
