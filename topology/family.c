/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * family: finds the regularity of an oriented graph: siblings, slots and topological numbers (see
 * graph.h).
 *
 * Level by level from the top:
 *   1. Switches with exactly the same parents make a batch.
 *   2. Batches are taken largest parent set first; one whose parents are mostly (3/4) those of a
 * family already founded at this level joins it, so a leaf that lacks some uplinks keeps its pod's
 * slots. A batch with a parent on its own level stays alone: merged families must only look
 * upwards, or computing one could need another in a circle.
 *   3. Families get their slots (slots.c). Then the leaves are numbered subtree by subtree and
 * family by family, in the order in which they hang on their parents, and each reserves a block of
 * topological numbers rounded so that the same position on every leaf meets the same slot.
 */
#include <stdlib.h>
#include <string.h>
#include "topology/graph_own.h"
#include "topology/likeness.h"
#include "topology/mem.h"
#include "topology/sort.h"

struct batch { /* switches with one parent set: sorted[first .. first + count) */
	uint32_t first, count;
	uint32_t family;
	uint16_t nparents;
	uint8_t level;
	bool alone; /* has a parent on its own level */
};

struct family_work {
	struct graph *g;
	uint32_t *sorted;   /* switches, equal parents side by side */
	uint32_t *batch_of; /* by switch; numbers of before the batches are put in order */
	struct batch *batches;
	uint32_t nbatches;
	struct likeness families; /* by parents */
	uint32_t *key;		  /* by switch: what they are sorted by */
};

/* ---- Batches: equal parents ------------------------------------------------------------------ */

static bool same_parents(const struct graph *g, uint32_t a, uint32_t b)
{
	const struct graph_switch *x = &g->switches[a], *y = &g->switches[b];

	if (x->level != y->level || x->nup != y->nup)
		return false;
	for (unsigned i = 0; i < x->nup; i++)
		if (graph_ups(g, a)[i].peer != graph_ups(g, b)[i].peer)
			return false;
	return true;
}

static uint64_t parents_hash(const struct graph *g, uint32_t sw)
{
	uint64_t hash = g->switches[sw].level;

	for (unsigned i = 0; i < g->switches[sw].nup; i++)
		hash += hash_word(graph_ups(g, sw)[i].peer);
	return hash;
}

static bool looks_sideways(const struct graph *g, uint32_t sw)
{
	for (unsigned i = 0; i < g->switches[sw].nup; i++)
		if (g->switches[graph_ups(g, sw)[i].peer].level == g->switches[sw].level)
			return true;
	return false;
}

/* The batch of a switch; `table` has one place for each low part of a hash: batch + 1. */
static uint32_t find_batch(struct family_work *w, uint32_t sw, uint32_t *table, uint32_t mask)
{
	const struct graph *g = w->g;
	uint32_t at = parents_hash(g, sw) & mask;

	while (table[at] && !same_parents(g, w->batches[table[at] - 1].first, sw))
		at = (at + 1) & mask;
	if (!table[at]) {
		w->batches[w->nbatches++] = (struct batch){ .first = sw,
							    .nparents = g->switches[sw].nup,
							    .level = g->switches[sw].level,
							    .alone = looks_sideways(g, sw) };
		table[at] = w->nbatches;
	}
	return table[at] - 1;
}

static void make_batches(struct family_work *w)
{
	uint32_t n = w->g->nswitches, size = 2, first = 0;

	while (size < 2 * n)
		size *= 2;
	uint32_t *table = mem_alloc(size, sizeof(*table));
	for (uint32_t sw = 0; sw < n; sw++) {
		w->batch_of[sw] = find_batch(w, sw, table, size - 1);
		w->batches[w->batch_of[sw]].count++;
		w->sorted[sw] = sw;
	}
	sort_by_key(w->sorted, n, w->batch_of, w->nbatches);
	for (uint32_t b = 0; b < w->nbatches; b++) {
		w->batches[b].first = first;
		first += w->batches[b].count;
	}
	free(table);
}

/*
 * Merging batches before lone ones (which may look at them), lone ones from the highest rank down.
 */
static int compare_batches(const void *a, const void *b, void *work)
{
	const struct batch *x = a, *y = b;
	const struct family_work *w = work;
	uint32_t sx = w->sorted[x->first], sy = w->sorted[y->first];

	if (x->level != y->level)
		return x->level > y->level ? -1 : 1;
	if (x->alone != y->alone)
		return x->alone ? 1 : -1;
	if (x->alone)
		return w->g->switches[sx].rank > w->g->switches[sy].rank ? -1 : 1;
	if (x->nparents != y->nparents)
		return x->nparents > y->nparents ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return sx < sy ? -1 : 1;
}

/* ---- Families -------------------------------------------------------------------------------- */

static uint32_t family_of(struct family_work *w, const struct batch *batch)
{
	const struct graph_group *ups = graph_ups(w->g, w->sorted[batch->first]);
	unsigned n = batch->alone ? 0 : batch->nparents;
	uint32_t parents[UINT8_MAX], family;

	for (unsigned i = 0; i < n; i++)
		parents[i] = ups[i].peer;
	family = batch->alone ? TOPO_NONE : likeness_find(&w->families, batch->level, parents, n);
	if (family != TOPO_NONE)
		return family;
	family = likeness_add(&w->families, batch->level, parents, n);
	w->g->families[family].level = batch->level;
	w->g->nfamilies++;
	return family;
}

static void assign_families(struct family_work *w)
{
	for (uint32_t b = 0; b < w->nbatches; b++) {
		struct batch *batch = &w->batches[b];
		uint32_t family = family_of(w, batch);

		batch->family = family;
		for (uint32_t i = 0; i < batch->count; i++)
			w->g->switches[w->sorted[batch->first + i]].family = family;
		w->g->families[family].nmembers += batch->count;
	}
}

static void list_members(struct family_work *w)
{
	struct graph *g = w->g;
	uint32_t at = 0;

	for (uint32_t f = 0; f < g->nfamilies; f++) {
		g->families[f].first_member = at;
		at += g->families[f].nmembers;
		g->families[f].nmembers = 0;
	}
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		struct graph_family *family = &g->families[g->switches[sw].family];

		g->members[family->first_member + family->nmembers++] = sw;
	}
}

/* ---- Pitches --------------------------------------------------------------------------------- */

/* P of D-Mod-K: the product of the usual numbers of parents below. */
static void assign_pitches(struct graph *g)
{
	uint32_t pitch[UINT8_MAX + 2] = { 1 };
	unsigned top = 0;

	for (uint32_t f = 0; f < g->nfamilies; f++)
		top = g->families[f].level > top ? g->families[f].level : top;
	for (unsigned level = 0; level <= top; level++) {
		uint32_t width = 1, most = 0;

		for (uint32_t f = 0; f < g->nfamilies; f++) {
			struct graph_family *family = &g->families[f];

			if (family->level != level)
				continue;
			family->pitch = pitch[level];
			if (family->nparents && family->nmembers > most) {
				most = family->nmembers;
				width = family->nparents;
			}
		}
		pitch[level + 1] =
			pitch[level] < g->order_top + 1u ? pitch[level] * width : pitch[level];
	}
}

/* ---- Topological numbers --------------------------------------------------------------------- */

/* Where a switch hangs on its parents: the lowest port number there. */
static uint8_t hanging_place(const struct graph *g, uint32_t sw)
{
	uint8_t place = UINT8_MAX;

	for (unsigned i = 0; i < g->switches[sw].nup; i++) {
		const struct graph_group *up = &graph_ups(g, sw)[i];

		for (unsigned l = 0; l < up->nlanes; l++)
			if (g->lanes[up->first_lane + l].peer_port < place)
				place = g->lanes[up->first_lane + l].peer_port;
	}
	return place;
}

/* By level, subtree, family, and the place on the parents; equals by index. */
static void sort_leaves(struct family_work *w)
{
	const struct graph *g = w->g;
	uint32_t *place = mem_alloc_unset(g->nswitches + 1, sizeof(*place));

	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		w->sorted[sw] = sw;
		place[sw] = hanging_place(g, sw);
	}
	sort_by_key(w->sorted, g->nswitches, place, UINT8_MAX + 1);
	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		w->key[sw] = g->switches[sw].family;
	sort_by_key(w->sorted, g->nswitches, w->key, g->nfamilies);
	subtree_sort(g, place, w->sorted);
	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		w->key[sw] = g->switches[sw].level;
	sort_by_key(w->sorted, g->nswitches, w->key, UINT8_MAX + 1);
	free(place);
}

/* The family that most leaves with parents are in; NULL when none has any. */
static const struct graph_family *usual_leaf_family(const struct graph *g)
{
	const struct graph_family *usual = NULL;

	for (uint32_t f = 0; f < g->nfamilies; f++) {
		const struct graph_family *family = &g->families[f];

		if (family->level == 0 && family->nslots &&
		    (!usual || family->nmembers > usual->nmembers))
			usual = family;
	}
	return usual;
}

/*
 * Hosts of one leaf, rounded up to whole rounds of slots where that leaves at most an eighth of the
 * numbers unused.
 */
static uint32_t leaf_block(const struct graph *g, uint32_t slots)
{
	uint32_t hosts = 0, rounded;

	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		if (g->switches[sw].level == 0 && g->switches[sw].nhosts > hosts)
			hosts = g->switches[sw].nhosts;
	if (!hosts)
		return 1;
	rounded = (hosts + slots - 1) / slots * slots;
	return (rounded - hosts) * 8 <= rounded ? rounded : hosts;
}

static void number_hosts(struct family_work *w)
{
	struct graph *g = w->g;
	const struct graph_family *usual = usual_leaf_family(g);
	uint32_t next = 0;

	g->leaf_block = leaf_block(g, usual ? usual->nslots : 1);
	g->leaf_parents = usual ? usual->nparents : 1;
	sort_leaves(w);
	for (uint32_t i = 0; i < g->nswitches; i++) {
		const struct graph_switch *s = &g->switches[w->sorted[i]];

		for (unsigned h = 0; h < s->nhosts; h++)
			g->hosts[s->first_host + h].order = next + h;
		if (s->nhosts)
			next += s->level == 0 ? g->leaf_block : s->nhosts;
	}
	g->order_top = next;
}

void family_assign(struct graph *g)
{
	struct family_work w = { .g = g };
	uint32_t n = g->nswitches + 1;

	w.sorted = mem_alloc_unset(n, sizeof(*w.sorted));
	w.batches = mem_alloc(n, sizeof(*w.batches));
	likeness_init(&w.families, n, n, g->ngroups);
	w.batch_of = mem_alloc_unset(n, sizeof(*w.batch_of));
	w.key = mem_alloc_unset(n, sizeof(*w.key));
	g->families = mem_alloc(n, sizeof(*g->families));
	g->members = mem_alloc_unset(n, sizeof(*g->members));

	make_batches(&w);
	qsort_r(w.batches, w.nbatches, sizeof(*w.batches), compare_batches, &w);
	assign_families(&w);
	list_members(&w);
	slots_assign(g, w.batch_of);
	number_hosts(&w);
	assign_pitches(g);
	free(w.sorted);
	free(w.batches);
	likeness_fini(&w.families);
	free(w.batch_of);
	free(w.key);
}
