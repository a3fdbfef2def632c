/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_plan: the trees of all groups (see mcast_plan.h).
 *
 * What is kept is decided by the judge, not by guessing what a fault may have touched: an older
 * tree stays when it is right for the group's members on the new snapshot and crosses no cordoned
 * link. All that stay load their links first; then the others are built in MLID order. So a dead
 * link moves the groups that used it, a join moves its own group, and nothing else is written.
 *
 * Snapshots number switches anew, so a tree is carried over by GUIDs.
 *
 * In a fabric without tiers all trees are parts of the spanning tree that unicast's turns were
 * chosen around: then none is in the way of another, and none leaves members out. Only where some
 * switch has no place for the MLID it is as elsewhere.
 *
 * When all are there they are proven beside the unicast tables (mcast_admit.c), if there are any.
 *
 * A step of the planner judges one older tree, or goes a step on with one new one, or with the
 * proof: whoever runs it has the time between steps for something else.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/multicast/mcast_own.h"
#include "routing/multicast/mcast_proof.h"
#include "topology/mem.h"
#include "topology/sort.h"

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

static const struct mcast_tree *find_tree(const struct mcast_plan *older, uint16_t mlid)
{
	return older ? mcast_plan_tree(older, mlid) : NULL;
}

static int compare_hops(const void *a, const void *b)
{
	const struct mcast_hop *x = a, *y = b;

	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

/* The same tree in the numbers of another snapshot; what is gone there becomes TOPO_NONE. */
static void renumber(const struct topo *t, const struct mcast_tree *from, struct mcast_tree *out)
{
	bool sorted = true;

	*out = *from;
	out->root = TOPO_NONE;
	out->hops = mem_alloc(from->nhops, sizeof(*out->hops));
	for (uint32_t i = 0; i < from->nhops; i++) {
		out->hops[i] = from->hops[i];
		out->hops[i].sw = mcast_hop_switch(t, &from->hops[i]);
		sorted &= !i || out->hops[i - 1].sw <= out->hops[i].sw;
		if (from->hops[i].sw == from->root)
			out->root = out->hops[i].sw;
	}
	if (!sorted)
		qsort(out->hops, out->nhops, sizeof(*out->hops), compare_hops);
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

static bool keep_tree(struct mcast *m, const struct topo *t, const struct mcast_group *group,
		      const struct mcast_tree *older, struct mcast_tree *out)
{
	char err[128];

	if (!older || (older->narrow && !group->as_before))
		return false;
	renumber(t, older, out);
	out->kept = group->as_before ||
		    (mcast_tree_check(t, group, out, err, sizeof(err)) && !is_cordoned(t, out));
	if (out->kept) {
		mcast_tree_add_load(m, out);
		return true;
	}
	mcast_tree_fini(out);
	return false;
}

/* ---- Trees found ----------------------------------------------------------------------------- */

/* ---- The plan -------------------------------------------------------------------------------- */

static int compare_groups(const void *a, const void *b)
{
	const struct mcast_group *x = *(const struct mcast_group *const *)a;
	const struct mcast_group *y = *(const struct mcast_group *const *)b;

	return x->mlid < y->mlid ? -1 : x->mlid > y->mlid;
}

enum planner_phase { PLANNER_KEEPS, PLANNER_BUILDS, PLANNER_PROVES, PLANNER_DONE };

struct mcast_planner {
	const struct topo *t;
	struct mcast *m, *spanned; /* spanned: by the spanning tree alone, NULL = there is none */
	struct mcast *builder;	   /* of the tree in the making */
	struct mcast_admission *admission; /* NULL: nothing to prove against */
	enum planner_phase phase;
	bool building; /* a tree is in the making: group `next` */
	uint32_t next;
	const struct mcast_group **sorted; /* [plan.ntrees] */
	const struct mcast_plan *older;
	struct mcast_plan plan;
};

struct mcast_planner *mcast_planner_new(const struct topo *t, struct mcast_proof *proof)
{
	struct mcast_planner *p = mem_alloc(1, sizeof(*p));

	p->t = t;
	p->m = mcast_new(t);
	if (proof && mcast_proof_spanning(proof, t)) {
		p->spanned = mcast_new(t);
		p->spanned->only = mcast_proof_spanning(proof, t);
	}
	if (proof)
		p->admission = mcast_admission_new(t, p->m, p->spanned, proof);
	return p;
}

void mcast_planner_free(struct mcast_planner *p)
{
	if (!p)
		return;
	mcast_plan_fini(&p->plan);
	mcast_admission_free(p->admission);
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
	p->plan.trees = mem_alloc(ngroups, sizeof(*p->plan.trees));
	p->sorted = mem_resize(p->sorted, ngroups + 1u, sizeof(*p->sorted));
	for (uint32_t i = 0; i < ngroups; i++)
		p->sorted[i] = &groups[i];
	qsort(p->sorted, ngroups, sizeof(*p->sorted), compare_groups);
}

static void planner_keep(struct mcast_planner *p)
{
	const struct mcast_group *group = p->sorted[p->next];

	keep_tree(p->spanned ? p->spanned : p->m, p->t, group, find_tree(p->older, group->mlid),
		  &p->plan.trees[p->next]);
	p->next++;
}

static void planner_build(struct mcast_planner *p)
{
	const struct mcast_group *group = p->sorted[p->next];
	struct mcast_tree *tree = &p->plan.trees[p->next];

	if (!p->building && !tree->kept) {
		p->builder = p->spanned && mcast_all_carry(p->m, group->mlid) ? p->spanned : p->m;
		mcast_tree_start(p->builder, group, find_tree(p->older, group->mlid), tree);
		p->building = true;
	}
	if (p->building && !mcast_tree_step(p->builder))
		return;
	p->plan.built += p->building;
	p->building = false;
	p->next++;
}

static void planner_prove(struct mcast_planner *p)
{
	if (!p->admission || mcast_admission_step(p->admission))
		p->phase = PLANNER_DONE;
}

static void planner_next_phase(struct mcast_planner *p)
{
	p->next = 0;
	if (++p->phase == PLANNER_PROVES && p->admission)
		mcast_admission_begin(p->admission, p->sorted, &p->plan);
}

bool mcast_planner_step(struct mcast_planner *p)
{
	if (p->phase < PLANNER_PROVES && p->next == p->plan.ntrees)
		planner_next_phase(p);
	else if (p->phase == PLANNER_KEEPS)
		planner_keep(p);
	else if (p->phase == PLANNER_BUILDS)
		planner_build(p);
	else if (p->phase == PLANNER_PROVES)
		planner_prove(p);
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

/* Hops are in the order of switches, which is that of their GUIDs. */
static const struct mcast_hop *find_hop(const struct mcast_tree *tree, guid_t sw)
{
	uint32_t place = sort_place(0, tree->nhops, at, tree->hops[at].guid < sw);

	return place < tree->nhops && tree->hops[place].guid == sw ? &tree->hops[place] : NULL;
}

bool mcast_plan_masks(const struct mcast_plan *plan, guid_t sw, uint16_t block, uint8_t position,
		      uint16_t masks[MCAST_BLOCK])
{
	uint32_t first = MCAST_FIRST_MLID + block * MCAST_BLOCK;
	bool any = false;

	memset(masks, 0, MCAST_BLOCK * sizeof(*masks));
	for (uint32_t i = tree_place(plan, (uint16_t)first);
	     i < plan->ntrees && plan->trees[i].mlid < first + MCAST_BLOCK; i++) {
		const struct mcast_hop *hop = find_hop(&plan->trees[i], sw);

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
