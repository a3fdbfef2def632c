/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/graph/graph.h"
#include "topology/snapshot/topo.h"

/*
 * Groups that are identified by a set of numbers (for instance the parents of switches), and the
 * group that another set resembles most. Missing links make sets differ that are equal by design.
 * Each item leads to the groups that have it.
 */
struct likeness {
	uint32_t *chain; /* by item: 1 + index of the latest entry that has it, 0 = none */
	struct likeness_entry *entries;
	uint32_t nentries;
	uint8_t *level;	   /* by group */
	uint16_t *overlap; /* by group: scratch */
	uint32_t ngroups;
};

struct likeness_entry { /* in the chain of one item */
	uint32_t group, next;
};

/* `ngroups` groups, of items below nitems, whose sets have nentries items in all. */
static struct likeness likeness_new(struct arena *arena, uint32_t nitems, uint32_t ngroups,
				    uint32_t nentries)
{
	struct likeness *l = NULL;

	return (struct likeness){
		.chain = arena_array(arena, l->chain, nitems + 1),
		.entries = arena_array(arena, l->entries, nentries + 1),
		.level = arena_alloc(arena, ngroups + 1, 1),
		.overlap = arena_array(arena, l->overlap, ngroups + 1),
	};
}

/* Adds a group on a level; returns its number, counted from 0. With n = 0 no set resembles it. */
static uint32_t likeness_add(struct likeness *l, uint8_t level, const uint32_t *items, unsigned n)
{
	uint32_t group = l->ngroups++;

	l->level[group] = level;
	for (unsigned i = 0; i < n; i++) {
		l->entries[l->nentries] = (struct likeness_entry){ group, l->chain[items[i]] };
		l->chain[items[i]] = ++l->nentries;
	}
	return group;
}

/*
 * The group of this level that has most of the items if those are 3/4 of them, the oldest of
 * equals; else TOPO_NONE.
 */
static uint32_t likeness_find(struct likeness *l, uint8_t level, const uint32_t *items, unsigned n)
{
	uint32_t best = TOPO_NONE, most = 0;

	for (unsigned i = 0; i < n; i++)
		for (uint32_t e = l->chain[items[i]]; e; e = l->entries[e - 1].next) {
			uint32_t group = l->entries[e - 1].group;
			uint16_t *overlap = &l->overlap[group];

			if (l->level[group] != level)
				continue;
			if (++*overlap > most || (*overlap == most && group < best)) {
				most = *overlap;
				best = group;
			}
		}
	for (unsigned i = 0; i < n; i++)
		for (uint32_t e = l->chain[items[i]]; e; e = l->entries[e - 1].next)
			l->overlap[l->entries[e - 1].group] = 0;
	return most * 4 >= n * 3 ? best : TOPO_NONE;
}

/* ---- The order of leaves --------------------------------------------------------------------- */

/*
 * The order of leaves in trees of any height (see graph.h).
 *
 * What hangs together by links up to some level is a subtree of it: a pod, a group of pods, and so
 * on. Hosts are numbered subtree by subtree, so that each tier's digit of a number counts what that
 * tier branches into. Subtrees of one subtree are taken in the order in which they hang on what is
 * above them; whole trees in the order of their families.
 */

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

static void find_trees(struct subtree_work *w, unsigned level, bool highest)
{
	const struct graph *g = w->g;

	w->ntrees = 0;
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		w->index[sw] = 0;
		for (unsigned i = 0; i < g->switches[sw].nup; i++) {
			uint32_t parent = graph_ups(g, sw)[i].peer;

			if (g->switches[parent].level == level)
				w->towards[sort_root(w->towards, sw)] =
					sort_root(w->towards, parent);
		}
	}
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		const struct graph_switch *s = &g->switches[sw];
		uint32_t root = sort_root(w->towards, sw);

		if (!w->index[root]) {
			w->trees[w->ntrees] =
				(struct subtree){ TOPO_NONE, TOPO_NONE, TOPO_NONE, .root = root };
			w->index[root] = ++w->ntrees;
		}
		struct subtree *tree = &w->trees[w->index[root] - 1];

		if (s->level == level && w->place[sw] < tree->place && !highest)
			tree->place = w->place[sw];
		if (s->level)
			continue;
		tree->family = s->family < tree->family ? s->family : tree->family;
		tree->first = sw < tree->first ? sw : tree->first;
	}
}

SORT_BY(compare_trees, struct subtree,
	sort_order(a->place, b->place) ?: sort_order(a->family, b->family) ?:
	sort_order(a->first, b->first))

/*
 * Brings switches, all of them, into the order of their subtrees; equals stay as they
 * are. place: by switch, the lowest port that it hangs on.
 */
static void subtree_sort(struct arena *arena, const struct graph *g, const uint32_t *place,
			 uint32_t *switches)
{
	struct subtree_work w = { .g = g, .place = place };
	uint32_t n = g->nswitches + 1;
	unsigned top = 0;

	w.towards = arena_array(arena, w.towards, n);
	w.index = arena_array(arena, w.index, n);
	w.key = arena_array(arena, w.key, n);
	w.trees = arena_array(arena, w.trees, n);
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		w.towards[sw] = sw;
		top = g->switches[sw].level > top ? g->switches[sw].level : top;
	}
	for (unsigned level = 1; level < top; level++) {
		find_trees(&w, level, level + 1 == top);
		qsort(w.trees, w.ntrees, sizeof(*w.trees), compare_trees);
		for (uint32_t i = 0; i < w.ntrees; i++)
			w.index[w.trees[i].root] = i;
		for (uint32_t sw = 0; sw < w.g->nswitches; sw++)
			w.key[sw] = w.index[sort_root(w.towards, sw)];
		sort_by_key(switches, w.g->nswitches, w.key, w.ntrees);
	}
}

/* ---- Parents and slots ----------------------------------------------------------------------- */

/*
 * The parents of each family and its slots, in an order aligned through all tiers (see
 * graph.h).
 *
 *   1. A family's parents are put in the order of their own families' columns, then of their node
 *      index; its slots are distributed in rounds: first lane of every parent, second lane of every
 *      parent that has one, and so on. With equal links that is the digit of Zahavi's D-Mod-K
 *      (parent = x mod w, lane = x / w mod p); with unequal ones each link still gets an equal
 *      share.
 *   2. Columns are what aligns tiers beyond the third: families with (nearly) the same parents'
 *      columns are one column, whichever subtree they are in.
 *   3. A family that lacks some parents which those of its column usually have (a pod without one
 *      of its spines) keeps their slots free: a switch that was never there costs what a dead one
 *      costs, and all others stay where they are in every pod.
 */

struct slot_work {
	struct graph *g;
	const uint32_t *batch_of; /* by switch: equal = the same parents */
	struct likeness columns;  /* of families, by what find_column() says */
	uint32_t *column;	  /* by family */
	uint32_t *model;	  /* by column: its largest family */
	uint8_t *number; /* by switch: its number among the parents of the family in hand, + 1 */
};

SORT_BY(compare_slot_order, uint64_t, sort_order(*a, *b))

/*
 * In the order of their own families' columns, then of their node index. Members of one batch have
 * the same parents.
 */
static void collect_parents(struct slot_work *w, struct graph_family *family)
{
	struct graph *g = w->g;
	uint32_t *parents = &g->parents[g->nparents], batch = TOPO_NONE;
	uint64_t order[GRAPH_MAX_SLOTS];

	family->first_parent = g->nparents;
	for (uint32_t m = 0; m < family->nmembers; m++) {
		uint32_t sw = g->members[family->first_member + m];

		for (unsigned i = 0; w->batch_of[sw] != batch && i < g->switches[sw].nup; i++) {
			uint32_t parent = graph_ups(g, sw)[i].peer;

			if (w->number[parent] || family->nparents == GRAPH_MAX_SLOTS)
				continue;
			w->number[parent] = 1;
			order[family->nparents++] =
				(uint64_t)w->column[g->switches[parent].family] << 32 | parent;
		}
		batch = w->batch_of[sw];
	}
	sort_if_needed(order, family->nparents, sizeof(*order), compare_slot_order);
	for (unsigned i = 0; i < family->nparents; i++) {
		parents[i] = order[i];
		w->number[parents[i]] = i + 1;
	}
	g->nparents += family->nparents;
}

/*
 * Families whose parents' families are in (nearly) the same columns stand in one column themselves:
 * the spines that lead to the same part of the roots, in whatever pod they are. A root is its own
 * column here: nothing is above it to know it by.
 */
static uint32_t find_column(struct slot_work *w, const struct graph_family *family)
{
	struct graph *g = w->g;
	uint32_t items[GRAPH_MAX_SLOTS], column;
	unsigned n = 0;

	for (unsigned i = 0; i < family->nparents; i++) {
		uint32_t parent = g->parents[family->first_parent + i];
		uint32_t above = w->column[g->switches[parent].family];
		uint32_t item = g->switches[parent].nup ? g->nswitches + above : parent;

		if (!n || items[n - 1] != item)
			items[n++] = item;
	}
	column = n ? likeness_find(&w->columns, family->level, items, n) : TOPO_NONE;
	return column == TOPO_NONE ? likeness_add(&w->columns, family->level, items, n) : column;
}

SORT_BY(compare_group_slots, struct graph_group, a->slot - b->slot)

/*
 * Gives each member's up groups their parent numbers; returns the most lanes to each parent in
 * `lanes`.
 */
static void number_groups(struct slot_work *w, const struct graph_family *family, uint8_t *lanes)
{
	struct graph *g = w->g;

	for (uint32_t m = 0; m < family->nmembers; m++) {
		struct graph_switch *s = &g->switches[g->members[family->first_member + m]];
		struct graph_group *ups = &g->groups[s->first_group];

		for (unsigned i = 0; i < s->nup; i++) {
			unsigned number = w->number[ups[i].peer];

			ups[i].slot = number ? number - 1 : GRAPH_MAX_SLOTS;
			if (number && ups[i].nlanes > lanes[ups[i].slot])
				lanes[ups[i].slot] = ups[i].nlanes;
		}
		sort_if_needed(ups, s->nup, sizeof(*ups), compare_group_slots);
	}
	for (unsigned i = 0; i < family->nparents; i++)
		if (g->parents[family->first_parent + i] != TOPO_NONE)
			w->number[g->parents[family->first_parent + i]] = 0;
}

static void deal_slots(struct graph *g, struct graph_family *family, const uint8_t *lanes)
{
	bool dealt = true;

	family->first_slot = g->nslots;
	for (unsigned round = 0; dealt; round++) {
		dealt = false;
		for (unsigned i = 0; i < family->nparents && family->nslots < GRAPH_MAX_SLOTS;
		     i++) {
			if (lanes[i] <= round)
				continue;
			g->slots[g->nslots++] = (struct graph_slot){ i, round };
			family->nslots++;
			dealt = true;
		}
	}
}

/* ---- What a family lacks --------------------------------------------------------------------- */

struct seat { /* of a parent in the order of a column, whichever parent it is */
	uint64_t key;
	uint32_t parent; /* TOPO_NONE = nobody */
	uint8_t lanes;
};

/*
 * Parents of one column are distinguished by their order, roots by themselves. Returns how many
 * there are.
 */
static unsigned list_seats(const struct slot_work *w, const struct graph_family *family,
			   struct seat *seats)
{
	const struct graph *g = w->g;
	const struct graph_slot *slots = &g->slots[family->first_slot];
	uint32_t last = TOPO_NONE, place = 0;

	for (unsigned i = 0; i < family->nparents; i++) {
		uint32_t parent = g->parents[family->first_parent + i];
		uint32_t column = w->column[g->switches[parent].family];

		place = column == last ? place + 1 : 0;
		last = column;
		seats[i] = (struct seat){ (uint64_t)column << 32 |
						  (g->switches[parent].nup ? place : parent),
					  parent, 0 };
	}
	for (unsigned s = 0; s < family->nslots; s++)
		seats[slots[s].parent].lanes++;
	return family->nparents;
}

/*
 * Those of the model, and what the family has besides. *missing: slots that it has not. Returns how
 * many there are.
 */
static unsigned merge_seats(const struct seat *own, unsigned nown, const struct seat *model,
			    unsigned nmodel, struct seat *out, unsigned *missing)
{
	unsigned n = 0;

	*missing = 0;
	for (unsigned o = 0, m = 0; o < nown || m < nmodel; n++) {
		bool mine = o < nown && (m == nmodel || own[o].key <= model[m].key);
		bool its = m < nmodel && (o == nown || model[m].key <= own[o].key);
		unsigned lanes = mine ? own[o].lanes : 0;

		out[n] = mine ? own[o] : model[m];
		if (!mine)
			out[n].parent = TOPO_NONE;
		if (its && model[m].lanes > lanes) {
			*missing += model[m].lanes - lanes;
			out[n].lanes = model[m].lanes;
		}
		o += mine;
		m += its;
	}
	return n;
}

/*
 * A family that has much less than the model is of another design, and digits of its own suit it
 * better.
 */
static void keep_slots_free(struct slot_work *w, struct graph_family *family,
			    const struct graph_family *model)
{
	struct seat own[GRAPH_MAX_SLOTS], usual[GRAPH_MAX_SLOTS], all[2 * GRAPH_MAX_SLOTS];
	unsigned nown = list_seats(w, family, own), nusual = list_seats(w, model, usual);
	unsigned missing, n = merge_seats(own, nown, usual, nusual, all, &missing);

	struct graph *g = w->g;
	uint8_t lanes[GRAPH_MAX_SLOTS + 1] = { 0 };
	unsigned nslots = 0;

	if (!missing || missing * 4 > model->nslots || family->nslots + missing > GRAPH_MAX_SLOTS)
		return;
	for (unsigned i = 0; i < n; i++)
		nslots += all[i].lanes;
	g->parents = mem_array_resize(g->parents, g->nparents + n);
	g->slots = mem_array_resize(g->slots, g->nslots + nslots);
	family->first_parent = g->nparents;
	family->nparents = n;
	family->nslots = 0;
	for (unsigned i = 0; i < n; i++) {
		g->parents[g->nparents++] = all[i].parent;
		lanes[i] = all[i].lanes;
		if (all[i].parent != TOPO_NONE)
			w->number[all[i].parent] = i + 1;
	}
	number_groups(w, family, lanes);
	deal_slots(g, family, lanes);
}

/*
 * Parents and slots of all families. batch_of: by switch, equal numbers = the same
 * parents.
 */
static void slots_assign(struct arena *arena, struct graph *g, const uint32_t *batch_of)
{
	struct slot_work w = { .g = g, .batch_of = batch_of };
	uint32_t n = g->nswitches + 1;

	w.column = arena_array(arena, w.column, n); /* 0 until known: of parents on one tier */
	w.model = arena_array(arena, w.model, n);
	w.number = arena_array(arena, w.number, n);
	w.columns = likeness_new(arena, 2 * n, n, g->ngroups);
	memset(w.model, 0xff, n * sizeof(*w.model));
	g->parents = mem_array_unset(g->parents, g->ngroups + 1);
	g->slots = mem_array_unset(g->slots, g->nlanes + 1);
	for (uint32_t f = 0; f < g->nfamilies; f++) {
		uint8_t lanes[GRAPH_MAX_SLOTS + 1] = { 0 };

		collect_parents(&w, &g->families[f]);
		w.column[f] = find_column(&w, &g->families[f]);
		number_groups(&w, &g->families[f], lanes);
		deal_slots(g, &g->families[f], lanes);
		uint32_t *model = &w.model[w.column[f]];

		if (*model == TOPO_NONE || g->families[f].nmembers > g->families[*model].nmembers)
			*model = f;
	}
	/* From the models alone, which stay as they are. */
	for (uint32_t f = 0; f < g->nfamilies; f++) {
		uint32_t model = w.model[w.column[f]];

		if (model != f)
			keep_slots_free(&w, &g->families[f], &g->families[model]);
	}
}

/* ---- Families -------------------------------------------------------------------------------- */

/*
 * Finds the regularity of an oriented graph: siblings, slots and topological numbers (see
 * graph.h).
 *
 * Level by level from the top:
 *   1. Switches with exactly the same parents make a batch.
 *   2. Batches are taken largest parent set first; one whose parents are mostly (3/4) those of a
 * family already founded at this level joins it, so a leaf that lacks some uplinks keeps its pod's
 * slots. A batch with a parent on its own level stays alone: merged families must only look
 * upwards, or computing one could need another in a circle.
 *   3. Families get their slots. Then the leaves are numbered subtree by subtree and
 * family by family, in the order in which they hang on their parents, and each reserves a block of
 * topological numbers rounded so that the same position on every leaf meets the same slot.
 */

struct batch { /* switches with one parent set: sorted[first .. first + count) */
	uint32_t first, count;
	uint16_t nparents;
	uint8_t level;
	bool alone; /* has a parent on its own level */
};

struct family_work {
	struct graph *g;
	struct arena *arena; /* owns the arrays */
	uint32_t *sorted;    /* switches, equal parents side by side */
	uint32_t *batch_of;  /* by switch; numbers of before the batches are put in order */
	struct batch *batches;
	uint32_t nbatches;
	struct likeness families; /* by parents */
	uint32_t *key;		  /* by switch: what they are sorted by */
};

/* ---- Batches: equal parents ------------------------------------------------------------------ */

static bool same_parents(const struct graph *g, uint32_t a, uint32_t b)
{
	const struct graph_switch *x = &g->switches[a], *y = &g->switches[b];

	return x->level == y->level && x->nup == y->nup &&
	       !any_of(i, 0, x->nup, graph_ups(g, a)[i].peer != graph_ups(g, b)[i].peer);
}

/* The batch of a switch; `table` has one place for each low part of a hash: batch + 1. */
static uint32_t find_batch(struct family_work *w, uint32_t sw, uint32_t *table, uint32_t mask)
{
	const struct graph *g = w->g;
	const struct graph_switch *s = &g->switches[sw];
	struct batch batch = { .first = sw, .nparents = s->nup, .level = s->level };
	uint64_t hash = s->level;

	for (unsigned i = 0; i < s->nup; i++) {
		uint32_t parent = graph_ups(g, sw)[i].peer;

		hash += hash_word(parent);
		batch.alone |= g->switches[parent].level == s->level;
	}
	uint32_t at = hash & mask;

	while (table[at] && !same_parents(g, w->batches[table[at] - 1].first, sw))
		at = (at + 1) & mask;
	if (!table[at]) {
		w->batches[w->nbatches++] = batch;
		table[at] = w->nbatches;
	}
	return table[at] - 1;
}

/*
 * Merging batches before lone ones (which may look at them), lone ones from the highest rank down.
 */
static int compare_batches(const void *a, const void *b, void *work)
{
	const struct batch *x = a, *y = b;
	const struct family_work *w = work;
	uint32_t sx = w->sorted[x->first], sy = w->sorted[y->first];

	if (x->level != y->level || x->alone != y->alone)
		return sort_order(y->level, x->level) ?: sort_order(x->alone, y->alone);
	if (x->alone)
		return sort_order(w->g->switches[sy].rank, w->g->switches[sx].rank);
	return sort_order(y->nparents, x->nparents) ?: sort_order(y->count, x->count) ?:
	       sort_order(sx, sy);
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

/* ---- Pitches --------------------------------------------------------------------------------- */

/* That of a family's parent, NULL = it has no such parent. */
static const struct graph_family *family_above(const struct graph *g,
					       const struct graph_family *family, unsigned parent)
{
	uint32_t sw =
		parent < family->nparents ? g->parents[family->first_parent + parent] : TOPO_NONE;

	return sw == TOPO_NONE ? NULL : &g->families[g->switches[sw].family];
}

/*
 * Whether number / pitch does not count the LIDs that come to the tiers above a family: its trunks
 * are of different widths, or a leaf reaches the tier after the next by several of its parents.
 */
static bool is_uneven(const struct graph *g, const struct graph_family *family)
{
	const struct graph_slot *slots = &g->slots[family->first_slot];
	const struct graph_family *last = NULL;

	for (unsigned p = 0; p < family->nparents; p++) {
		const struct graph_family *above = family_above(g, family, p),
					  *next = above ? family_above(g, above, 0) : NULL;

		if (next &&
		    ((slots[family->nslots - 1].lane + 1) * family->nparents != family->nslots ||
		     (above == last && next->nslots)))
			return true;
		last = above;
	}
	return false;
}

/* P of D-Mod-K: the product of the usual numbers of parents below. */
static void assign_pitches(struct graph *g)
{
	uint32_t pitch[UINT8_MAX + 2] = { 1 };
	unsigned top = 0;

	for (uint32_t f = 0; f < g->nfamilies; f++)
		top = g->families[f].level > top ? g->families[f].level : top;
	for (unsigned level = 0; level <= top; level++) {
		uint32_t width = 1, most = 0;
		bool uneven = false;

		for (uint32_t f = 0; f < g->nfamilies; f++) {
			struct graph_family *family = &g->families[f];

			if (family->level != level)
				continue;
			family->pitch = pitch[level];
			if (family->nparents && family->nmembers > most) {
				most = family->nmembers;
				width = family->nparents;
				uneven = is_uneven(g, family);
			}
		}
		g->uneven |= uneven;
		pitch[level + 1] =
			pitch[level] < g->order_top + 1u ? pitch[level] * width : pitch[level];
	}
}

/* ---- Topological numbers --------------------------------------------------------------------- */

/*
 * How many numbers take each slot of the first two tiers as often, 1 = there is one tier. Those of
 * leaves with the same parents begin with a whole round, if no more than a quarter is unused then.
 */
static uint32_t family_block(const struct graph *g, const struct graph_family *leaves)
{
	const struct graph_family *above = leaves ? family_above(g, leaves, 0) : NULL;
	uint32_t round = above ? above->nslots * leaves->nparents : 0, block = round;

	while (block && block % leaves->nslots)
		block += round;
	return block ?: 1;
}

/*
 * Hosts of one leaf, rounded up to whole rounds of slots where that leaves at most an eighth of the
 * numbers unused; a twentieth if there are more hosts than slots and tiers above, where the last
 * slots of all leaves would get less.
 */
static uint32_t leaf_block(uint32_t hosts, uint32_t slots, bool tiers)
{
	uint32_t rounded = (hosts + slots - 1) / slots * slots;

	return (rounded - hosts) * (tiers && hosts > slots ? 21 : 8) <= rounded ? rounded : hosts;
}

/*
 * The first number behind a family's, `next` or the first of a whole round. Up to a quarter of its
 * numbers is unused for that, a third if they are more than a block.
 */
static uint32_t end_family(uint32_t first, uint32_t next, uint32_t block)
{
	uint32_t rounded = (next + block - 1) / block * block;

	return (rounded - next) * (next - first > block ? 3 : 4) <= rounded - first ? rounded
										    : next;
}

/*
 * How many numbers are left out before the last leaf of a family from `first` on. Between whole
 * rounds a shift sends to some hosts of that leaf and to some of another family's first one: those
 * that both have beyond whole rounds of slots must not take the same.
 */
static uint32_t gap_before(const struct graph *g, const struct graph_switch *leaf, uint32_t first,
			   uint32_t next, uint32_t block)
{
	unsigned slots = g->families[leaf->family].nslots, gap = 0;

	if (block == 1 || first % block || !slots || leaf->nhosts <= slots ||
	    leaf->nhosts != g->leaf_block)
		return 0;
	next += leaf->nhosts;
	while ((next + gap) % slots && (next + gap) % slots < leaf->nhosts % slots)
		gap++;
	return end_family(first, next + gap, block) % block ? 0 : gap;
}

/* Numbers hosts in the order of w->sorted, from leaf to leaf and from `block` to block. */
static void number_in_order(struct family_work *w, uint32_t block, uint32_t leaf_block)
{
	struct graph *g = w->g;
	uint32_t next = 0, family = 0, first = 0;

	for (uint32_t i = 0; i < g->nswitches; i++) {
		const struct graph_switch *s = &g->switches[w->sorted[i]];

		if (s->family != family && s->level == 0) {
			family = s->family;
			first = next = end_family(first, next, block);
		}
		if (s->level == 0 &&
		    (i + 1 == g->nswitches || g->switches[w->sorted[i + 1]].family != family))
			next += gap_before(g, s, first, next, block);
		for (unsigned h = 0; h < s->nhosts; h++)
			g->hosts[s->first_host + h].order = next + h;
		if (s->nhosts)
			next += s->level == 0 && leaf_block ? leaf_block : s->nhosts;
	}
	g->order_top = next;
}

static void number_hosts(struct family_work *w)
{
	struct graph *g = w->g;
	const struct graph_family *usual = NULL; /* that most leaves with parents are in */
	uint32_t *place = arena_array(w->arena, place, g->nswitches + 1);
	uint32_t used = 0, leaves = 0, most = 0; /* hosts of leaves */

	for (uint32_t f = 0; f < g->nfamilies; f++) {
		const struct graph_family *family = &g->families[f];

		if (family->level == 0 && family->nslots &&
		    (!usual || family->nmembers > usual->nmembers))
			usual = family;
	}
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		uint32_t hosts = g->switches[sw].level == 0 ? g->switches[sw].nhosts : 0;

		leaves += hosts > 0;
		used += hosts;
		most = hosts > most ? hosts : most;
	}
	uint32_t block = family_block(g, usual);

	g->leaf_block = leaf_block(most ?: 1, usual ? usual->nslots : 1, block > 1);
	g->leaf_parents = usual ? usual->nparents : 1;
	/* By level, subtree, family, and the place on the parents; equals by index. */
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		w->sorted[sw] = sw;

		/* Where a switch hangs on its parents: the lowest port number there. */
		uint8_t at = UINT8_MAX;

		for (unsigned i = 0; i < g->switches[sw].nup; i++) {
			const struct graph_group *up = &graph_ups(g, sw)[i];

			for (unsigned l = 0; l < up->nlanes; l++)
				if (g->lanes[up->first_lane + l].peer_port < at)
					at = g->lanes[up->first_lane + l].peer_port;
		}
		place[sw] = at;
	}
	sort_by_key(w->sorted, g->nswitches, place, UINT8_MAX + 1);
	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		w->key[sw] = g->switches[sw].family;
	sort_by_key(w->sorted, g->nswitches, w->key, g->nfamilies);
	subtree_sort(w->arena, g, place, w->sorted);
	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		w->key[sw] = g->switches[sw].level;
	sort_by_key(w->sorted, g->nswitches, w->key, UINT8_MAX + 1);
	uint32_t reserved = leaves * g->leaf_block;

	number_in_order(w, block, (reserved - used) * 8 <= reserved ? g->leaf_block : 0);
}

void family_assign(struct graph *g)
{
	struct family_work w = { .g = g, .arena = arena_new() };
	uint32_t n = g->nswitches + 1, at = 0;

	w.sorted = arena_array(w.arena, w.sorted, n);
	w.batches = arena_array(w.arena, w.batches, n);
	w.families = likeness_new(w.arena, n, n, g->ngroups);
	w.batch_of = arena_array(w.arena, w.batch_of, n);
	w.key = arena_array(w.arena, w.key, n);
	g->families = mem_array(g->families, n);
	g->members = mem_array_unset(g->members, n);

	uint32_t nsorted = w.g->nswitches, size = 2, first = 0;

	while (size < 2 * nsorted)
		size *= 2;
	uint32_t *table = arena_array(w.arena, table, size);
	for (uint32_t sw = 0; sw < nsorted; sw++) {
		w.batch_of[sw] = find_batch(&w, sw, table, size - 1);
		w.batches[w.batch_of[sw]].count++;
		w.sorted[sw] = sw;
	}
	sort_by_key(w.sorted, nsorted, w.batch_of, w.nbatches);
	for (uint32_t b = 0; b < w.nbatches; b++) {
		w.batches[b].first = first;
		first += w.batches[b].count;
	}

	qsort_r(w.batches, w.nbatches, sizeof(*w.batches), compare_batches, &w);
	for (uint32_t b = 0; b < w.nbatches; b++) {
		struct batch *batch = &w.batches[b];
		uint32_t family = family_of(&w, batch);

		for (uint32_t i = 0; i < batch->count; i++)
			g->switches[w.sorted[batch->first + i]].family = family;
		g->families[family].nmembers += batch->count;
	}
	for (uint32_t f = 0; f < g->nfamilies; f++) {
		g->families[f].first_member = at;
		at += g->families[f].nmembers;
		g->families[f].nmembers = 0;
	}
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		struct graph_family *family = &g->families[g->switches[sw].family];

		g->members[family->first_member + family->nmembers++] = sw;
	}
	slots_assign(w.arena, g, w.batch_of);
	number_hosts(&w);
	assign_pitches(g);
	arena_free(w.arena);
}
