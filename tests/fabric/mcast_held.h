/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_held: what the double's switches hold of multicast groups, judged. Knows cables and masks,
 * nothing of how they came there.
 */
#pragma once

#include "routing/multicast/mcast_tree.h"
#include "tests/fabric/double.h"

/* As a tree; left_out is the caller's to fill in. mcast_tree_fini() when done. */
void mcast_held_tree(const struct double_fabric *d, const struct topo *t, uint16_t mlid,
		     struct mcast_tree *out);
/* Do the entries of a MLID, whatever trees they are of, close a ring of live cables? */
bool mcast_held_ring(const struct double_fabric *d, const struct topo *t, uint16_t mlid);
