/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_proof: multicast trees beside unicast tables. All share one virtual lane's buffers, so
 * their channel dependencies together must close no cycle. Starts from the graph that the proof of
 * the tables left and knows of trees the port masks alone.
 *
 * A tree may agree with the order of channels that the last search left: then it is proven at once.
 * Others are put on trial, and a search of the whole graph, in pieces, says whether all those may
 * stay.
 */
#ifndef FMD_ROUTING_MCAST_PROOF_H
#define FMD_ROUTING_MCAST_PROOF_H

#include "routing/cdg.h"
#include "routing/multicast/mcast_tree.h"
#include "routing/tables.h"

/* Copies the graph, which is of t's links, up or down alike, and has no cycle; keeps t. */
struct mcast_proof *mcast_proof_new(const struct topo *t, const struct cdg *unicast);
void mcast_proof_free(struct mcast_proof *p);  /* NULL is fine */
void mcast_proof_reset(struct mcast_proof *p); /* no trees */

/*
 * For tables that no tiers orient: a spanning tree (by port of the proof's snapshot, both ends of
 * each link: route_spanning()), all turns of which are taken in beside the tables, so that no
 * group's tree is in its way. Of the graph goes what the tables, which are those that it was made
 * of, do not have. False: it closes a cycle even so, and nothing has changed.
 */
bool mcast_proof_span(struct mcast_proof *p, const struct tables *tables, const bool *spanning)
	__attribute__((warn_unused_result));
/* That tree, on a snapshot of the same links; NULL = there is none. */
const bool *mcast_proof_spanning(const struct mcast_proof *p, const struct topo *t);

/*
 * The switch where unicast's packets turn up that came down, by the n-th most paths; TOPO_NONE =
 * there are not so many.
 */
uint32_t mcast_proof_turn(const struct mcast_proof *p, unsigned n);

/* Takes the tree in if all its dependencies agree with the order; else nothing changes. */
bool mcast_proof_agrees(struct mcast_proof *p, const struct mcast_tree *tree);
/* Puts a tree on trial beside those that are. */
void mcast_proof_try(struct mcast_proof *p, const struct mcast_tree *tree);
/*
 * Searches on; false: it has ended, and mcast_proof_end() says whether those on trial are in, or
 * none of them is.
 */
bool mcast_proof_go(struct mcast_proof *p, uint32_t visits);
bool mcast_proof_end(struct mcast_proof *p) __attribute__((warn_unused_result));

#endif
