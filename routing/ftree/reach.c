/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * reach: for every switch the sorted list of the switches below it, with the distance and the child
 * that leads there.
 *
 * From the lowest rank up: what is below a switch is its live children and all that is below them.
 * In a fat tree these lists are short low down and complete only at the top, so lists beat
 * matrices; a byte row per switch serves as scratch for the merge and a bitmap gives the order
 * back. Costs of whole rows (rows.c) exist only for switches that are somebody's parent.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/ftree/engine.h"
#include "routing/ftree/nearest.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

struct merge {
	uint8_t *dist, *child; /* by D */
	uint64_t *seen;	       /* bitmap over D */
	uint32_t words;
};

static void merge_one(struct merge *m, uint32_t d, uint8_t dist, uint8_t child)
{
	uint64_t bit = 1ull << (d % 64);

	if (!(m->seen[d / 64] & bit)) {
		m->seen[d / 64] |= bit;
		m->dist[d] = dist;
		m->child[d] = child;
	} else if (dist < m->dist[d]) {
		m->dist[d] = dist;
		m->child[d] = child;
	} else if (dist == m->dist[d]) {
		m->child[d] = REACH_MULTI;
	}
}

static void merge_children(struct merge *m, const struct reach *r, const struct graph *g,
			   uint32_t sw)
{
	const struct graph_group *downs = graph_downs(g, sw);

	for (unsigned c = 0; c < g->switches[sw].ndown; c++) {
		const struct reach_list *list = &r->lists[downs[c].peer];

		if (!downs[c].nlive)
			continue;
		merge_one(m, downs[c].peer, 1, c);
		for (uint32_t e = list->first; e < list->first + list->count; e++)
			if (r->below[e].dist < REACH_NEVER - 1)
				merge_one(m, r->below[e].sw, r->below[e].dist + 1, c);
	}
}

static uint32_t emit_in_order(struct merge *m, struct reach_entry *out)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < m->words; w++) {
		for (uint64_t bits = m->seen[w]; bits; bits &= bits - 1) {
			uint32_t d = w * 64 + __builtin_ctzll(bits);

			out[n++] = (struct reach_entry){ d, m->dist[d], m->child[d] };
		}
		m->seen[w] = 0;
	}
	return n;
}

static void make_room(struct reach *r, uint32_t more)
{
	if (r->used + more <= r->capacity)
		return;
	r->capacity = (r->used + more) * 2;
	r->below = mem_resize(r->below, r->capacity, sizeof(*r->below));
}

/* ---- Twins ----------------------------------------------------------------------------------- */

/* A hash of the children, and what of the links to them matters; 0 = there are none. */
static uint64_t children_hash(const struct graph *g, uint32_t sw)
{
	uint64_t hash = g->switches[sw].ndown;

	for (unsigned c = 0; c < g->switches[sw].ndown; c++) {
		const struct graph_group *group = &graph_downs(g, sw)[c];

		hash += hash_word((uint64_t)group->peer << 16 | group->nlanes << 1 |
				  (group->nlive > 0));
	}
	return hash;
}

static bool same_children(const struct graph *g, uint32_t a, uint32_t b)
{
	unsigned n = g->switches[a].ndown;

	if (n != g->switches[b].ndown)
		return false;
	for (unsigned c = 0; c < n; c++) {
		const struct graph_group *x = &graph_downs(g, a)[c], *y = &graph_downs(g, b)[c];

		if (x->peer != y->peer || x->nlanes != y->nlanes || !x->nlive != !y->nlive)
			return false;
	}
	return true;
}

/*
 * The first switch met with the same children, `sw` itself when it is that. Places of `table` hold
 * a switch + 1.
 */
static uint32_t find_equivalent(const struct graph *g, uint32_t sw, uint32_t *table, uint32_t mask)
{
	uint32_t at = children_hash(g, sw) & mask;

	while (table[at] && !same_children(g, table[at] - 1, sw))
		at = (at + 1) & mask;
	if (!table[at])
		table[at] = sw + 1;
	return table[at] - 1;
}

/*
 * Switches with equal children have equal lists, and rows that differ by port numbers and dead
 * lanes only.
 */
static void find_equivalents(struct reach *r, const struct graph *g)
{
	uint32_t size = 2, *first, *table;

	while (size < 2 * g->nswitches)
		size *= 2;
	table = mem_alloc(size, sizeof(*table));
	first = mem_alloc(g->nswitches + 1, sizeof(*first));
	r->equivalent = mem_alloc(g->nswitches + 1, sizeof(*r->equivalent));
	memset(r->equivalent, 0xff, g->nswitches * sizeof(*r->equivalent));
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		if (!g->switches[sw].ndown)
			continue;
		first[sw] = find_equivalent(g, sw, table, size - 1);
		if (first[sw] != sw && r->equivalent[first[sw]] == TOPO_NONE)
			r->equivalent[first[sw]] = r->nequivalent++;
		r->equivalent[sw] = first[sw] == sw ? TOPO_NONE : r->equivalent[first[sw]];
	}
	free(first);
	free(table);
}

static void assign_cost_rows(struct reach *r, const struct graph *g)
{
	uint32_t rows = 0;

	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		r->cost_row[sw] = g->switches[sw].ndown ? rows++ : TOPO_NONE;
	r->cost_bytes = (g->nswitches + NEAREST_BYTES - 1) / NEAREST_BYTES * NEAREST_BYTES;
	r->costs = mem_alloc_unset(rows + 1, r->cost_bytes);
}

static void list_below(struct merge *m, struct reach *r, const struct graph *g, uint32_t sw)
{
	make_room(r, g->nswitches);
	merge_children(m, r, g, sw);
	r->lists[sw].first = r->used;
	r->lists[sw].number = r->nlists++;
	r->lists[sw].count = emit_in_order(m, r->below + r->used);
	r->used += r->lists[sw].count;
}

void reach_init(struct reach *r, const struct graph *g)
{
	struct merge m = {
		.dist = mem_alloc(g->nswitches + 1, 1),
		.child = mem_alloc(g->nswitches + 1, 1),
		.words = (g->nswitches + 63) / 64,
		.seen = mem_alloc(g->nswitches / 64 + 1, sizeof(*m.seen)),
	};

	*r = (struct reach){ .nlists = 1,
			     .lists = mem_alloc(g->nswitches + 1, sizeof(*r->lists)),
			     .cost_row = mem_alloc(g->nswitches + 1, sizeof(*r->cost_row)) };
	find_equivalents(r, g);
	uint32_t *first_equivalent = mem_alloc(r->nequivalent + 1, sizeof(*first_equivalent));
	for (uint32_t i = 0; i < g->nswitches; i++) {
		uint32_t sw = g->by_rank[i],
			 *equivalent = r->equivalent[sw] == TOPO_NONE
					       ? NULL
					       : &first_equivalent[r->equivalent[sw]];

		if (!g->switches[sw].ndown)
			continue;
		if (equivalent && *equivalent) {
			r->lists[sw] = r->lists[*equivalent - 1];
			continue;
		}
		list_below(&m, r, g, sw);
		if (equivalent)
			*equivalent = sw + 1;
	}
	free(first_equivalent);
	assign_cost_rows(r, g);
	free(m.dist);
	free(m.child);
	free(m.seen);
}

void reach_fini(struct reach *r)
{
	free(r->lists);
	free(r->below);
	free(r->equivalent);
	free(r->cost_row);
	free(r->costs);
}

const struct reach_entry *reach_find(const struct reach *r, uint32_t sw, uint32_t d)
{
	const struct reach_list *list = &r->lists[sw];
	uint32_t low = list->first, high = list->first + list->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (r->below[mid].sw == d)
			return &r->below[mid];
		if (r->below[mid].sw < d)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}
