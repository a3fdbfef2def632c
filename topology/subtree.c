/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * subtree: the order of leaves in trees of any height (see graph.h).
 *
 * What hangs together by links up to some level is a subtree of it: a pod, a group of pods, and so
 * on. Hosts are numbered subtree by subtree, so that each tier's digit of a number counts what that
 * tier branches into. Subtrees of one subtree are taken in the order in which they hang on what is
 * above them; whole trees in the order of their families.
 */
#include <stdlib.h>
#include "topology/graph_own.h"
#include "topology/mem.h"
#include "topology/sort.h"

struct subtree {		       /* of one level */
	uint32_t place, family, first; /* lowest: port above, family and index of a leaf */
	uint32_t root;		       /* the switch that stands for it */
};

struct subtree_work {
	const struct graph *g;
	const uint32_t *place; /* by switch: lowest port that it hangs on */
	/* by switch: another of its subtree, nearer to the one that stands for it */
	uint32_t *towards;
	uint32_t *index; /* by switch that stands for a subtree: 1 + number, 0 = none yet */
	uint32_t *key;	 /* by switch */
	struct subtree *trees;
	uint32_t ntrees;
};

static uint32_t root_of(uint32_t *towards, uint32_t sw)
{
	while (towards[sw] != sw)
		sw = towards[sw] = towards[towards[sw]];
	return sw;
}

static void join_up_to(struct subtree_work *w, unsigned level)
{
	const struct graph *g = w->g;

	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		for (unsigned i = 0; i < g->switches[sw].nup; i++) {
			uint32_t parent = graph_ups(g, sw)[i].peer;

			if (g->switches[parent].level == level)
				w->towards[root_of(w->towards, sw)] = root_of(w->towards, parent);
		}
}

static struct subtree *tree_of(struct subtree_work *w, uint32_t sw)
{
	uint32_t root = root_of(w->towards, sw);

	if (!w->index[root]) {
		w->trees[w->ntrees] =
			(struct subtree){ TOPO_NONE, TOPO_NONE, TOPO_NONE, .root = root };
		w->index[root] = ++w->ntrees;
	}
	return &w->trees[w->index[root] - 1];
}

static void find_trees(struct subtree_work *w, unsigned level, bool highest)
{
	const struct graph *g = w->g;

	w->ntrees = 0;
	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		w->index[sw] = 0;
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		const struct graph_switch *s = &g->switches[sw];
		struct subtree *tree = tree_of(w, sw);

		if (s->level == level && w->place[sw] < tree->place && !highest)
			tree->place = w->place[sw];
		if (s->level)
			continue;
		tree->family = s->family < tree->family ? s->family : tree->family;
		tree->first = sw < tree->first ? sw : tree->first;
	}
}

static int compare_trees(const void *a, const void *b)
{
	const struct subtree *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void sort_by_tree(struct subtree_work *w, uint32_t *switches)
{
	qsort(w->trees, w->ntrees, sizeof(*w->trees), compare_trees);
	for (uint32_t i = 0; i < w->ntrees; i++)
		w->index[w->trees[i].root] = i;
	for (uint32_t sw = 0; sw < w->g->nswitches; sw++)
		w->key[sw] = w->index[root_of(w->towards, sw)];
	sort_by_key(switches, w->g->nswitches, w->key, w->ntrees);
}

void subtree_sort(const struct graph *g, const uint32_t *place, uint32_t *switches)
{
	struct subtree_work w = { .g = g, .place = place };
	uint32_t n = g->nswitches + 1;
	unsigned top = 0;

	w.towards = mem_alloc_unset(n, sizeof(*w.towards));
	w.index = mem_alloc_unset(n, sizeof(*w.index));
	w.key = mem_alloc_unset(n, sizeof(*w.key));
	w.trees = mem_alloc_unset(n, sizeof(*w.trees));
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		w.towards[sw] = sw;
		top = g->switches[sw].level > top ? g->switches[sw].level : top;
	}
	for (unsigned level = 1; level < top; level++) {
		join_up_to(&w, level);
		find_trees(&w, level, level + 1 == top);
		sort_by_tree(&w, switches);
	}
	free(w.towards);
	free(w.index);
	free(w.key);
	free(w.trees);
}
