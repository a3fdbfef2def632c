/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_admit: makes sure that no tree of a plan closes a credit loop with the unicast tables or
 * with other trees.
 *
 *   agree  the usual case: each tree agrees with the order of channels found by an earlier search
 *   try    else all trees are dropped from the proof and added anew, with one search for all of
 *          them. If it finds a cycle, half of them are tried, and so on: of a thousand trees of
 *          which a few close cycles most are proven by a few searches
 *   other  a tree that closes a cycle is built in other ways until one is proven: as part of the
 *          spanning tree that the unicast turns permit, if there is one; from a switch where
 *          admitted trees, or unicast paths, turn already, as a tree that turns only there closes
 *          no cycle; up and down from a central switch, as unicast does where there are no levels;
 *          up and down by levels alone, which leaves members out. If none is proven the group has
 *          no tree
 *
 * Kept trees are added first, and trees without turns before those with turns, as they restrict
 * others least.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/multicast/mcast_own.h"
#include "routing/multicast/mcast_proof.h"
#include "topology/mem.h"

#define TREES_A_STEP  32
#define VISITS_A_STEP 40000
#define ROOTS_MAX     4 /* places to turn at that are tried.. */
#define UNICAST_ROOTS 4 /* ..and where unicast turns */

enum admit_state { AGREE, TRY, SEARCH, OTHER, BUILD, DONE };
enum alternative { ON_SPANNING, AT_TURN, BY_ROOT, NARROW, NOBODY };

struct mcast_admission {
	const struct topo *t;
	struct mcast *m, *rooted, *spanned; /* rooted: NULL until it is needed; spanned: lent */
	struct mcast_proof *proof;
	const struct mcast_group *const *groups;
	struct mcast_plan *plan;
	enum admit_state state;
	uint32_t *order;	   /* of the plan's trees: those before `at` are in */
	uint32_t at, chunk, tried; /* tried: of the chunk, on trial already */
	bool otherwise;		   /* the one on trial is an alternative */
	bool all_in;		   /* all trees of the plan before are in the proof */
	enum alternative alternative;
	uint32_t own_turn;
	uint32_t to_check; /* for places to turn: trees that are in, and then itself */
	uint32_t roots[ROOTS_MAX + UNICAST_ROOTS];
	unsigned checked_unicast;
	unsigned nroots;
	struct mcast_tree hint;
	struct mcast_hop hint_hop;
	struct mcast *builder;
};

struct mcast_admission *mcast_admission_new(const struct topo *t, struct mcast *m,
					    struct mcast *spanned, struct mcast_proof *proof)
{
	struct mcast_admission *a = mem_alloc(1, sizeof(*a));

	a->t = t;
	a->m = m;
	a->spanned = spanned;
	a->proof = proof;
	return a;
}

void mcast_admission_free(struct mcast_admission *a)
{
	if (!a)
		return;
	mcast_free(a->rooted);
	free(a->order);
	free(a);
}

void mcast_admission_begin(struct mcast_admission *a, const struct mcast_group *const *groups,
			   struct mcast_plan *plan)
{
	a->groups = groups;
	a->plan = plan;
	a->state = AGREE;
	a->at = 0;
}

static struct mcast_tree *tree_at(const struct mcast_admission *a, uint32_t place)
{
	return &a->plan->trees[a->order[place]];
}

/* ---- All together ---------------------------------------------------------------------------- */

static void begin_chunk(struct mcast_admission *a, uint32_t chunk)
{
	uint32_t left = a->plan->ntrees - a->at;

	a->chunk = chunk < left ? chunk : left;
	a->tried = 0;
	a->otherwise = false;
	a->state = left ? TRY : DONE;
}

static void put_in_order(struct mcast_admission *a)
{
	uint32_t n = 0;

	a->order = mem_resize(a->order, a->plan->ntrees + 1u, sizeof(*a->order));
	for (unsigned rank = 0; rank < 4; rank++)
		for (uint32_t i = 0; i < a->plan->ntrees; i++) {
			const struct mcast_tree *tree = &a->plan->trees[i];

			if (rank == (tree->turns > 0) * 2u + !tree->kept)
				a->order[n++] = i;
		}
}

/* One that is the older plan's, of the same snapshot. */
static bool is_in(const struct mcast_admission *a)
{
	return a->all_in && a->plan->trees[a->at].kept && a->groups[a->at]->as_before;
}

static void agree(struct mcast_admission *a)
{
	if (a->at == a->plan->ntrees) {
		a->state = DONE;
	} else if (is_in(a) || mcast_proof_agrees(a->proof, &a->plan->trees[a->at])) {
		a->at++;
	} else {
		a->all_in = false;
		mcast_proof_reset(a->proof);
		put_in_order(a);
		a->at = 0;
		begin_chunk(a, a->plan->ntrees);
	}
}

static void try(struct mcast_admission *a)
{
	for (unsigned i = 0; i < TREES_A_STEP && a->tried < a->chunk; i++)
		mcast_proof_try(a->proof, tree_at(a, a->at + a->tried++));
	if (a->tried == a->chunk)
		a->state = SEARCH;
}

static void begin_other(struct mcast_admission *a)
{
	a->alternative = a->spanned ? ON_SPANNING : AT_TURN;
	a->own_turn = mcast_tree_turn(a->t, tree_at(a, a->at));
	a->to_check = a->at + 1;
	a->nroots = a->checked_unicast = 0;
	a->state = OTHER;
}

static void search(struct mcast_admission *a)
{
	if (mcast_proof_go(a->proof, VISITS_A_STEP))
		return;
	if (mcast_proof_end(a->proof)) {
		a->at += a->chunk;
		begin_chunk(a, a->chunk * 2);
	} else if (a->chunk > 1) {
		begin_chunk(a, (a->chunk + 1) / 2);
	} else if (a->otherwise) {
		a->state = OTHER;
	} else {
		begin_other(a);
	}
}

/* ---- One otherwise --------------------------------------------------------------------------- */

static bool root_was_tried(const struct mcast_admission *a, uint32_t root)
{
	for (unsigned i = 0; i < a->nroots; i++)
		if (a->roots[i] == root)
			return true;
	return root == TOPO_NONE;
}

/* .. and then where unicast does. */
static uint32_t next_root_of_unicast(struct mcast_admission *a)
{
	while (a->checked_unicast < UNICAST_ROOTS) {
		uint32_t root = mcast_proof_turn(a->proof, a->checked_unicast++);

		if (!root_was_tried(a, root))
			return a->roots[a->nroots++] = root;
	}
	return TOPO_NONE;
}

/*
 * A switch where a tree turns that is in, the last ones first; then where this one would. TOPO_NONE
 * = none that is new.
 */
static uint32_t next_root(struct mcast_admission *a)
{
	while (a->nroots < ROOTS_MAX && a->to_check) {
		const struct mcast_tree *in = --a->to_check ? tree_at(a, a->to_check - 1) : NULL;
		uint32_t root = in ? mcast_tree_turn(a->t, in) : a->own_turn;

		if (!root_was_tried(a, root))
			return a->roots[a->nroots++] = root;
	}
	return next_root_of_unicast(a);
}

/* A tree that says where the root is to be, and nothing else. */
static const struct mcast_tree *rooted_at(struct mcast_admission *a, uint32_t root)
{
	a->hint_hop = (struct mcast_hop){ .guid = a->t->nodes[root].guid, .sw = root };
	a->hint = (struct mcast_tree){ .root = root, .nhops = 1, .hops = &a->hint_hop };
	return &a->hint;
}

/* What the next alternative is built by; the tree that it follows, NULL = none. */
static const struct mcast_tree *choose_builder(struct mcast_admission *a)
{
	uint32_t root;

	if (a->alternative == ON_SPANNING) {
		a->builder = a->spanned;
		a->alternative = AT_TURN;
		return NULL;
	}
	root = a->alternative == AT_TURN ? next_root(a) : TOPO_NONE;
	a->builder = a->m;
	if (root != TOPO_NONE) {
		a->m->same_root = true;
		return rooted_at(a, root);
	}
	if (++a->alternative == BY_ROOT) {
		if (!a->rooted)
			a->rooted = mcast_new_oriented(a->t, GRAPH_BY_ROOT);
		a->builder = a->rooted;
	}
	a->m->climb_only = a->alternative == NARROW;
	return NULL;
}

static void give_up(struct mcast_admission *a, struct mcast_tree *tree,
		    const struct mcast_group *group)
{
	*tree = (struct mcast_tree){
		.mlid = group->mlid, .root = TOPO_NONE, .narrow = true, .left_out = group->nmembers
	};
	a->at++;
	begin_chunk(a, 1);
}

static void other(struct mcast_admission *a)
{
	struct mcast_tree *tree = tree_at(a, a->at);
	const struct mcast_group *group = a->groups[a->order[a->at]];
	const struct mcast_tree *hint = choose_builder(a);

	a->plan->built += tree->kept;
	mcast_tree_fini(tree);
	if (a->alternative == NOBODY) {
		give_up(a, tree, group);
		return;
	}
	mcast_tree_start(a->builder, group, hint, tree);
	a->state = BUILD;
}

/* By levels, whatever the builder's own order of switches is. */
static void count_turns(const struct mcast_admission *a, struct mcast_tree *tree)
{
	uint32_t root = tree->root;

	mcast_tree_describe(a->t, tree);
	tree->root = root;
}

static void build(struct mcast_admission *a)
{
	struct mcast_tree *tree = tree_at(a, a->at);

	if (!mcast_tree_step(a->builder))
		return;
	a->m->same_root = a->m->climb_only = false;
	if (a->alternative == BY_ROOT)
		count_turns(a, tree);
	mcast_proof_try(a->proof, tree);
	a->otherwise = true;
	a->state = SEARCH;
}

/* ---- Running --------------------------------------------------------------------------------- */

bool mcast_admission_step(struct mcast_admission *a)
{
	switch (a->state) {
	case AGREE:
		agree(a);
		break;
	case TRY:
		try(a);
		break;
	case SEARCH:
		search(a);
		break;
	case OTHER:
		other(a);
		break;
	case BUILD:
		build(a);
		break;
	case DONE:
		break;
	}
	a->all_in |= a->state == DONE;
	return a->state == DONE;
}
