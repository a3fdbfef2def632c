/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/multicast/mcast_plan.h"
#include "routing/multicast/mcast_own.h"
#include "routing/multicast/mcast_proof.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/*
 * mcast_admit: makes sure that no tree of a plan closes a credit loop with the unicast tables or
 * with other trees.
 *
 *   agree  the usual case: each tree is added to those of the plan before
 *   add    where one closes a cycle, maybe with trees that have ended, all are dropped from the
 *          proof and added again
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

#define VISITS_A_STEP 40000
#define ROOTS_MAX     4 /* switches that are tried where trees turn */
#define UNICAST_ROOTS 4 /* switches that are tried where unicast turns */

enum admit_state { AGREE, BEGIN, ADD, OTHER, BUILD, DONE };
enum alternative { ON_SPANNING, AT_TURN, BY_ROOT, NARROW, NOBODY };

struct mcast_admission {
	const struct topo *t;
	struct mcast *m, *rooted, *spanned; /* rooted: NULL until it is needed; spanned: lent */
	struct mcast_proof *proof;
	const struct mcast_group *const *groups;
	struct mcast_plan *plan;
	enum admit_state state;
	uint32_t *order; /* of the plan's trees: those before `at` are in */
	uint32_t at;
	bool all_in; /* all trees of the plan before are in the proof */
	enum alternative alternative;
	uint32_t own_turn;
	uint32_t to_check; /* for places to turn: trees that are in, and then itself */
	uint32_t roots[ROOTS_MAX + UNICAST_ROOTS];
	unsigned checked_unicast, nroots;
	struct mcast_tree hint;
	struct mcast_hop hint_hop;
	struct mcast *builder;
};

static struct mcast_tree *tree_at(const struct mcast_admission *a, uint32_t place)
{
	return &a->plan->trees[a->order[place]];
}

/* ---- As they are ---------------------------------------------------------------------------- */

static void agree(struct mcast_admission *a)
{
	const struct mcast_tree *tree = &a->plan->trees[a->at];
	uint32_t n = 0;

	if (a->at == a->plan->ntrees) {
		a->state = DONE;
	} else if ((a->all_in && tree->kept && a->groups[a->at]->as_before) ||
		   mcast_proof_add(a->proof, tree)) {
		a->at++;
	} else {
		a->all_in = false;
		mcast_proof_reset(a->proof);
		a->order = mem_array_resize(a->order, a->plan->ntrees + 1u);
		for (unsigned rank = 0; rank < 4; rank++)
			for (uint32_t i = 0; i < a->plan->ntrees; i++) {
				const struct mcast_tree *it = &a->plan->trees[i];

				if (rank == (it->turns > 0) * 2u + !it->kept)
					a->order[n++] = i;
			}
		a->at = 0;
		a->state = BEGIN;
	}
}

/* ---- One otherwise --------------------------------------------------------------------------- */

/*
 * A switch where a tree turns that is in, the last ones first; then where this one would; then
 * where unicast does. TOPO_NONE = none that is new.
 */
static uint32_t next_root(struct mcast_admission *a)
{
	bool by_trees;

	while ((by_trees = a->nroots < ROOTS_MAX && a->to_check) ||
	       a->checked_unicast < UNICAST_ROOTS) {
		uint32_t root = !by_trees	? mcast_proof_turn(a->proof, a->checked_unicast++)
				: --a->to_check ? mcast_tree_turn(a->t, tree_at(a, a->to_check - 1))
						: a->own_turn;

		if (root != TOPO_NONE && !any_of(i, 0, a->nroots, a->roots[i] == root))
			return a->roots[a->nroots++] = root;
	}
	return TOPO_NONE;
}

/* What the next alternative is built by; the tree that it follows, NULL = none. */
static const struct mcast_tree *choose_builder(struct mcast_admission *a)
{
	if (a->alternative == ON_SPANNING) {
		a->builder = a->spanned;
		a->alternative = AT_TURN;
		return NULL;
	}

	uint32_t root = a->alternative == AT_TURN ? next_root(a) : TOPO_NONE;

	a->builder = a->m;
	if (root != TOPO_NONE) {
		a->m->same_root = true;

		/* A tree that says where the root is to be, and nothing else. */
		a->hint_hop = (struct mcast_hop){ .guid = a->t->nodes[root].guid, .sw = root };
		a->hint = (struct mcast_tree){ .root = root, .nhops = 1, .hops = &a->hint_hop };
		return &a->hint;
	}
	if (++a->alternative == BY_ROOT) {
		if (!a->rooted)
			a->rooted = mcast_new(a->t, GRAPH_BY_ROOT);
		a->builder = a->rooted;
	}
	a->m->climb_only = a->alternative == NARROW;
	return NULL;
}

static void other(struct mcast_admission *a)
{
	struct mcast_tree *tree = tree_at(a, a->at);
	const struct mcast_group *group = a->groups[a->order[a->at]];
	const struct mcast_tree *hint = choose_builder(a);

	a->plan->built += tree->kept;
	mcast_tree_fini(tree);
	if (a->alternative == NOBODY) {
		*tree = (struct mcast_tree){ .mlid = group->mlid,
					     .root = TOPO_NONE,
					     .narrow = true,
					     .left_out = group->nmembers };
		a->at++;
		a->state = ADD;
		return;
	}
	mcast_tree_start(a->builder, group, hint, tree);
	a->state = BUILD;
}

/* ---- Running --------------------------------------------------------------------------------- */

static bool mcast_admission_step(struct mcast_admission *a)
{
	switch (a->state) {
	case AGREE:
		agree(a);
		break;
	case BEGIN:
		if (!mcast_proof_begin(a->proof, VISITS_A_STEP))
			a->state = ADD;
		break;
	case ADD:
		if (a->at == a->plan->ntrees) {
			a->state = DONE;
		} else if (mcast_proof_add(a->proof, tree_at(a, a->at))) {
			a->at++;
		} else {
			a->alternative = a->spanned ? ON_SPANNING : AT_TURN;
			a->own_turn = mcast_tree_turn(a->t, tree_at(a, a->at));
			a->to_check = a->at + 1;
			a->nroots = a->checked_unicast = 0;
			a->state = OTHER;
		}
		break;
	case OTHER:
		other(a);
		break;
	case BUILD: {
		struct mcast_tree *tree = tree_at(a, a->at);

		if (mcast_tree_step(a->builder)) {
			a->m->same_root = a->m->climb_only = false;
			if (a->alternative == BY_ROOT) {
				/* By levels, whatever the builder's own order of switches is. */
				uint32_t root = tree->root;

				mcast_tree_describe(a->t, tree);
				tree->root = root;
			}
			a->state = mcast_proof_add(a->proof, tree) ? ADD : OTHER;
			a->at += a->state == ADD;
		}
	} break;
	case DONE:
		break;
	}
	a->all_in |= a->state == DONE;
	return a->state == DONE;
}

/*
 * mcast_plan: the trees of all groups (see mcast_plan.h).
 *
 * What is kept is decided by the judge, not by guessing what a fault may have touched: an older
 * tree stays when it is right for the group's members on the new snapshot and crosses no cordoned
 * link. All that stay load their links first; then the others are built in MLID order. So a dead
 * link moves the groups that used it, a join moves its own group, and nothing else is written.
 *
 * Each snapshot numbers switches itself, so a tree is carried over by GUIDs.
 *
 * In a fabric without tiers all trees are parts of the spanning tree that unicast's turns were
 * chosen around: then none is in the way of another, and none leaves members out. Only where some
 * switch has no place for the MLID it is as elsewhere.
 *
 * When all are there they are proven beside the unicast tables (mcast_plan.c), if there are any.
 *
 * A step of the planner judges one older tree, or goes a step on with one new one, or with the
 * proof: its caller has the time between steps for something else.
 */

/* ---- Trees that stay ------------------------------------------------------------------------- */

/* The first tree from this MLID on, or plan->ntrees. */
static uint32_t tree_place(const struct mcast_plan *plan, uint16_t mlid)
{
	return sort_place(0, plan->ntrees, at, plan->trees[at].mlid < mlid);
}

const struct mcast_tree *mcast_plan_tree(const struct mcast_plan *plan, uint16_t mlid)
{
	uint32_t at = tree_place(plan, mlid);

	return at < plan->ntrees && plan->trees[at].mlid == mlid ? &plan->trees[at] : NULL;
}

static bool is_cordoned(const struct topo *t, const struct mcast_tree *tree)
{
	for (uint32_t i = 0; i < tree->nhops; i++) {
		const struct mcast_hop *hop = &tree->hops[i];

		for (unsigned num = 1; num <= t->nodes[hop->sw].nports; num++) {
			const struct topo_port *port = topo_port(t, hop->sw, num);
			const struct topo_port *peer = topo_peer(t, port);

			if (mcast_forwards(hop, num) && peer && peer->node < t->nswitches &&
			    (port->cordoned || peer->cordoned))
				return true;
		}
	}
	return false;
}

static void keep_tree(struct mcast *m, const struct topo *t, const struct mcast_group *group,
		      const struct mcast_tree *older, struct mcast_tree *out)
{
	char err[128];

	if (!older || (older->narrow && !group->as_before))
		return;
	/* In the numbers of the new snapshot; what is gone there becomes TOPO_NONE. */
	bool sorted = true;

	*out = *older;
	out->root = TOPO_NONE;
	out->hops = mem_array(out->hops, older->nhops);
	for (uint32_t i = 0; i < older->nhops; i++) {
		out->hops[i] = older->hops[i];
		out->hops[i].sw = mcast_hop_switch(t, &older->hops[i]);
		sorted &= !i || out->hops[i - 1].sw <= out->hops[i].sw;
		if (older->hops[i].sw == older->root)
			out->root = out->hops[i].sw;
	}
	if (!sorted)
		qsort(out->hops, out->nhops, sizeof(*out->hops), mcast_compare_hops);
	out->kept = group->as_before ||
		    (mcast_tree_check(t, group, out, err, sizeof(err)) && !is_cordoned(t, out));
	if (out->kept)
		mcast_tree_add_load(m, out);
	else
		mcast_tree_fini(out);
}

/* ---- The plan -------------------------------------------------------------------------------- */

SORT_BY(compare_groups, struct mcast_group *const, sort_order((*a)->mlid, (*b)->mlid))

enum planner_phase { PLANNER_KEEPS, PLANNER_BUILDS, PLANNER_PROVES, PLANNER_DONE };

struct mcast_planner {
	const struct topo *t;
	struct mcast *m, *spanned; /* spanned: by the spanning tree alone, NULL = there is none */
	struct mcast *builder;	   /* of the tree being computed */
	struct mcast_admission *admission; /* NULL: nothing to prove against */
	enum planner_phase phase;
	bool building; /* a tree is being computed: group `next` */
	uint32_t next;
	const struct mcast_group **sorted; /* [plan.ntrees] */
	const struct mcast_plan *older;
	struct mcast_plan plan;
};

struct mcast_planner *mcast_planner_new(const struct topo *t, struct mcast_proof *proof)
{
	struct mcast_planner *p = mem_new(p);

	p->t = t;
	p->m = mcast_new(t, GRAPH_BY_LEVEL);
	if (proof && mcast_proof_spanning(proof, t)) {
		p->spanned = mcast_new(t, GRAPH_BY_LEVEL);
		p->spanned->only = mcast_proof_spanning(proof, t);
	}
	if (proof) {
		p->admission = mem_new(p->admission);
		*p->admission = (struct mcast_admission){
			.t = t, .m = p->m, .spanned = p->spanned, .proof = proof
		};
	}
	return p;
}

void mcast_planner_free(struct mcast_planner *p)
{
	if (!p)
		return;
	mcast_plan_fini(&p->plan);
	if (p->admission) {
		mcast_free(p->admission->rooted);
		free(p->admission->order);
		free(p->admission);
	}
	mcast_free(p->m);
	mcast_free(p->spanned);
	free(p->sorted);
	free(p);
}

void mcast_planner_begin(struct mcast_planner *p, const struct mcast_group *groups,
			 uint32_t ngroups, const struct mcast_plan *older)
{
	mcast_plan_fini(&p->plan);
	mcast_forget_load(p->m);
	if (p->spanned)
		mcast_forget_load(p->spanned);
	p->phase = PLANNER_KEEPS;
	p->next = 0;
	p->building = false;
	p->older = older;
	p->plan.ntrees = ngroups;
	p->plan.trees = mem_array(p->plan.trees, ngroups);
	p->sorted = mem_array_resize(p->sorted, ngroups + 1u);
	for (uint32_t i = 0; i < ngroups; i++)
		p->sorted[i] = &groups[i];
	qsort(p->sorted, ngroups, sizeof(*p->sorted), compare_groups);
}

static void planner_build(struct mcast_planner *p)
{
	const struct mcast_group *group = p->sorted[p->next];
	struct mcast_tree *tree = &p->plan.trees[p->next];

	if (!p->building && !tree->kept) {
		p->builder =
			p->spanned && (!any_of(sw, 0, p->m->t->nswitches,
					       !mcast_carries(&p->m->t->nodes[sw],
							      p->m->tables_known, group->mlid)))
				? p->spanned
				: p->m;
		mcast_tree_start(p->builder, group,
				 p->older ? mcast_plan_tree(p->older, group->mlid) : NULL, tree);
		p->building = true;
	}
	if (p->building && !mcast_tree_step(p->builder))
		return;
	p->plan.built += p->building;
	p->building = false;
	p->next++;
}

bool mcast_planner_step(struct mcast_planner *p)
{
	if (p->phase < PLANNER_PROVES && p->next == p->plan.ntrees) {
		p->next = 0;
		if (++p->phase == PLANNER_PROVES && p->admission) {
			p->admission->groups = p->sorted;
			p->admission->plan = &p->plan;
			p->admission->state = AGREE;
			p->admission->at = 0;
		}
	} else if (p->phase == PLANNER_KEEPS) {
		const struct mcast_group *group = p->sorted[p->next];

		keep_tree(p->spanned ? p->spanned : p->m, p->t, group,
			  p->older ? mcast_plan_tree(p->older, group->mlid) : NULL,
			  &p->plan.trees[p->next]);
		p->next++;
	} else if (p->phase == PLANNER_BUILDS) {
		planner_build(p);
	} else if (p->phase == PLANNER_PROVES &&
		   (!p->admission || mcast_admission_step(p->admission))) {
		p->phase = PLANNER_DONE;
	}
	return p->phase == PLANNER_DONE;
}

void mcast_planner_take(struct mcast_planner *p, struct mcast_plan *out)
{
	*out = p->plan;
	p->plan = (struct mcast_plan){ 0 };
}

void mcast_plan(const struct topo *t, const struct mcast_group *groups, uint32_t ngroups,
		const struct mcast_plan *older, struct mcast_plan *out)
{
	struct mcast_planner *p = mcast_planner_new(t, NULL);

	mcast_planner_begin(p, groups, ngroups, older);
	while (!mcast_planner_step(p))
		;
	mcast_planner_take(p, out);
	mcast_planner_free(p);
}

bool mcast_plan_masks(const struct mcast_plan *plan, guid_t sw, uint16_t block, uint8_t position,
		      uint16_t masks[MCAST_BLOCK])
{
	uint32_t first = MCAST_FIRST_MLID + block * MCAST_BLOCK;
	bool any = false;

	mem_zero(masks, MCAST_BLOCK);
	for (uint32_t i = tree_place(plan, first);
	     i < plan->ntrees && plan->trees[i].mlid < first + MCAST_BLOCK; i++) {
		/* Hops are in the order of switches, which is that of their GUIDs. */
		const struct mcast_tree *tree = &plan->trees[i];
		uint32_t place = sort_place(0, tree->nhops, at, tree->hops[at].guid < sw);
		const struct mcast_hop *hop = place < tree->nhops && tree->hops[place].guid == sw
						      ? &tree->hops[place]
						      : NULL;

		if (!hop || !hop->ports[position])
			continue;
		masks[plan->trees[i].mlid - first] = hop->ports[position];
		any = true;
	}
	return any;
}

void mcast_plan_fini(struct mcast_plan *plan)
{
	for (uint32_t i = 0; i < plan->ntrees; i++)
		mcast_tree_fini(&plan->trees[i]);
	free(plan->trees);
	*plan = (struct mcast_plan){ 0 };
}
