/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_plan: the trees of all multicast groups, and what each switch is to hold for them.
 *
 * A plan owns its trees and outlives the snapshot that it was made for, of which it keeps GUIDs and
 * indices of switches. Nothing here fails: members that a tree cannot serve are left out, and
 * counted in the tree (mcast_tree.h).
 */
#pragma once

#include "routing/multicast/mcast_tree.h"

struct mcast_plan {
	uint32_t ntrees;
	uint32_t built;		  /* trees that are new; the others are the older plan's */
	struct mcast_tree *trees; /* by MLID */
};

/*
 * Makes the trees in the order of MLIDs, load accumulating. A tree of the older plan (of any
 * snapshot; NULL = none) that mcast_tree_check() still accepts is taken over unchanged. The caller
 * frees *out by mcast_plan_fini().
 */
void mcast_plan(const struct topo *t, const struct mcast_group *groups, uint32_t ngroups,
		const struct mcast_plan *older, struct mcast_plan *out);
void mcast_plan_fini(struct mcast_plan *plan);

/*
 * mcast_plan() in short steps, any number of times for one snapshot: begin, step until it returns
 * true = done, take. The caller owns the planner (NULL is fine), which refers to t and to the proof
 * that all trees have to pass; proof NULL = trees are not proven beside unicast tables.
 */
struct mcast_planner;
struct mcast_proof;
struct mcast_planner *mcast_planner_new(const struct topo *t, struct mcast_proof *proof);
void mcast_planner_free(struct mcast_planner *p);
/* Groups and older plan are borrowed until the last step. A step returns true when it was that. */
void mcast_planner_begin(struct mcast_planner *p, const struct mcast_group *groups,
			 uint32_t ngroups, const struct mcast_plan *older);
bool mcast_planner_step(struct mcast_planner *p);
/* Moves the plan to *out, which the caller frees by mcast_plan_fini(). */
void mcast_planner_take(struct mcast_planner *p, struct mcast_plan *out);

/* The tree of an MLID, owned by the plan; NULL = the plan has none. */
const struct mcast_tree *mcast_plan_tree(const struct mcast_plan *plan, uint16_t mlid);
/*
 * Sets the port masks that a switch is to hold in an MFT block at a position (IBA 14.2.5.12).
 * False: all are zero.
 */
bool mcast_plan_masks(const struct mcast_plan *plan, guid_t sw, uint16_t block, uint8_t position,
		      uint16_t masks[MCAST_BLOCK]);
