/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_plan: the trees of all multicast groups, and what each switch is to hold for them.
 *
 * A plan owns its trees and outlives the snapshot that it was made for, of which it keeps switches'
 * GUIDs and numbers. Nothing here fails: members that a tree cannot serve are left out, and it says
 * how many these are (mcast_tree.h).
 */
#ifndef FMD_ROUTING_MCAST_PLAN_H
#define FMD_ROUTING_MCAST_PLAN_H

#include "routing/multicast/mcast_tree.h"

struct mcast_plan {
	uint32_t ntrees;
	uint32_t built;		  /* of these: made anew, the others are the older plan's */
	struct mcast_tree *trees; /* by MLID */
};

/*
 * Trees in MLID order, load accumulating. A tree of the older plan (of any snapshot; NULL = none)
 * that still proves right for its group is taken over unchanged.
 */
void mcast_plan(const struct topo *t, const struct mcast_group *groups, uint32_t ngroups,
		const struct mcast_plan *older, struct mcast_plan *out);
void mcast_plan_fini(struct mcast_plan *plan);

/*
 * The same in short steps, and again and again for one snapshot: begin, step until it returns true,
 * take.
 */
struct mcast_planner;
struct mcast_proof;
/*
 * Refers to t, and to the proof that the trees are to hold out against; NULL = none, with no tables
 * to go beside.
 */
struct mcast_planner *mcast_planner_new(const struct topo *t, struct mcast_proof *proof);
void mcast_planner_free(struct mcast_planner *p); /* NULL is fine */
/* Groups and older plan are read until the end. */
void mcast_planner_begin(struct mcast_planner *p, const struct mcast_group *groups,
			 uint32_t ngroups, const struct mcast_plan *older);
bool mcast_planner_step(struct mcast_planner *p);
void mcast_planner_take(struct mcast_planner *p, struct mcast_plan *out);

const struct mcast_tree *mcast_plan_tree(const struct mcast_plan *plan,
					 uint16_t mlid); /* or NULL */
/* What a switch is to hold of a block at a position; false: nothing. */
bool mcast_plan_masks(const struct mcast_plan *plan, guid_t sw, uint16_t block, uint8_t position,
		      uint16_t masks[MCAST_BLOCK]);

#endif
