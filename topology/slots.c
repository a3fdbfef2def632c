/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * slots: the parents of each family and its slots, in an order aligned through all tiers (see
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
#include <stdlib.h>
#include <string.h>
#include "topology/graph_own.h"
#include "topology/likeness.h"
#include "topology/mem.h"
#include "topology/sort.h"

struct slot_work {
	struct graph *g;
	const uint32_t *batch_of; /* by switch: equal = the same parents */
	struct likeness columns;  /* of families, by what find_column() says */
	uint32_t *column;	  /* by family */
	uint32_t *model;	  /* by column: its largest family */
	uint8_t *number; /* by switch: its number among the parents of the family in hand, + 1 */
};

static int compare_slot_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

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
		parents[i] = (uint32_t)order[i];
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

static int compare_group_slots(const void *a, const void *b)
{
	const struct graph_group *x = a, *y = b;

	return (int)x->slot - (int)y->slot;
}

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

struct seat { /* of a parent in the order of a column, whoever sits there */
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

static void take_seats(struct slot_work *w, struct graph_family *family, const struct seat *seats,
		       unsigned n)
{
	struct graph *g = w->g;
	uint8_t lanes[GRAPH_MAX_SLOTS + 1] = { 0 };
	unsigned nslots = 0;

	for (unsigned i = 0; i < n; i++)
		nslots += seats[i].lanes;
	g->parents = mem_resize(g->parents, g->nparents + n, sizeof(*g->parents));
	g->slots = mem_resize(g->slots, g->nslots + nslots, sizeof(*g->slots));
	family->first_parent = g->nparents;
	family->nparents = n;
	family->nslots = 0;
	for (unsigned i = 0; i < n; i++) {
		g->parents[g->nparents++] = seats[i].parent;
		lanes[i] = seats[i].lanes;
		if (seats[i].parent != TOPO_NONE)
			w->number[seats[i].parent] = i + 1;
	}
	number_groups(w, family, lanes);
	deal_slots(g, family, lanes);
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

	if (missing && missing * 4 <= model->nslots && family->nslots + missing <= GRAPH_MAX_SLOTS)
		take_seats(w, family, all, n);
}

static void find_models(struct slot_work *w)
{
	for (uint32_t f = 0; f < w->g->nfamilies; f++) {
		uint32_t *model = &w->model[w->column[f]];

		if (*model == TOPO_NONE ||
		    w->g->families[f].nmembers > w->g->families[*model].nmembers)
			*model = f;
	}
}

/* From the models alone, which stay as they are. */
static void fill_columns(struct slot_work *w)
{
	for (uint32_t f = 0; f < w->g->nfamilies; f++) {
		uint32_t model = w->model[w->column[f]];

		if (model != f)
			keep_slots_free(w, &w->g->families[f], &w->g->families[model]);
	}
}

void slots_assign(struct graph *g, const uint32_t *batch_of)
{
	struct slot_work w = { .g = g, .batch_of = batch_of };
	uint32_t n = g->nswitches + 1;

	w.column = mem_alloc(n, sizeof(*w.column)); /* 0 until known: of parents on one tier */
	w.model = mem_alloc_unset(n, sizeof(*w.model));
	w.number = mem_alloc(n, sizeof(*w.number));
	likeness_init(&w.columns, 2 * n, n, g->ngroups);
	memset(w.model, 0xff, n * sizeof(*w.model));
	g->parents = mem_alloc_unset(g->ngroups + 1, sizeof(*g->parents));
	g->slots = mem_alloc_unset(g->nlanes + 1, sizeof(*g->slots));
	for (uint32_t f = 0; f < g->nfamilies; f++) {
		uint8_t lanes[GRAPH_MAX_SLOTS + 1] = { 0 };

		collect_parents(&w, &g->families[f]);
		w.column[f] = find_column(&w, &g->families[f]);
		number_groups(&w, &g->families[f], lanes);
		deal_slots(g, &g->families[f], lanes);
	}
	find_models(&w);
	fill_columns(&w);
	free(w.column);
	free(w.model);
	free(w.number);
	likeness_fini(&w.columns);
}
