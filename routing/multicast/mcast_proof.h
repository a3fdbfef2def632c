/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_proof: multicast trees beside unicast tables. All share one virtual lane's buffers, so
 * their channel dependencies together must close no cycle. The proof starts from the graph that the
 * proof of the unicast tables left, and of trees it knows only the port masks.
 *
 * A first search, in pieces, gives channels an order that unicast agrees with. A tree that agrees
 * with it is proven at once; for another the order grows, unless its dependencies close a cycle.
 */
#pragma once

#include "routing/cdg.h"
#include "routing/multicast/mcast_tree.h"
#include "routing/tables.h"

/*
 * A proof without trees, which the caller frees (NULL is fine). It copies the graph, which is of
 * t's known links and has no cycle, and holds a reference to t. mcast_proof_reset() drops trees.
 */
struct mcast_proof *mcast_proof_new(const struct topo *t, const struct cdg *unicast);
void mcast_proof_free(struct mcast_proof *p);
void mcast_proof_reset(struct mcast_proof *p);

/*
 * For tables that no tiers orient: adds all turns of a spanning tree (by port of the proof's
 * snapshot, both ends of each link: route_spanning()), so that no group's tree can close them off.
 * `tables` are those of the graph; dependencies that they do not have are dropped where they close
 * a cycle. False: a cycle remains, and nothing has changed.
 */
bool mcast_proof_span(struct mcast_proof *p, const struct tables *tables, const bool *spanning)
	__attribute__((warn_unused_result));
/* That tree, owned by p; NULL = there is none, or t does not have the proof's links. */
const bool *mcast_proof_spanning(const struct mcast_proof *p, const struct topo *t);

/*
 * The switch with the n-th most unicast turns from a channel down to one up, n from 0; TOPO_NONE =
 * there are not so many.
 */
uint32_t mcast_proof_turn(const struct mcast_proof *p, unsigned n);

/*
 * Finds the order, by up to `visits` channels; false: it is there. It stays when trees are dropped.
 */
bool mcast_proof_begin(struct mcast_proof *p, uint32_t visits);
/*
 * True, and the tree is added, if its dependencies close no cycle with unicast and the trees that
 * are in; else, or when there is no order yet, nothing has changed.
 */
bool mcast_proof_add(struct mcast_proof *p, const struct mcast_tree *tree);
