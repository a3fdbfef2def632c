/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include <string.h>
#include "routing/ftree/engine.h"
#include "routing/ftree/legal.h"
#include "routing/ftree/nearest.h"
#include "topology/islands.h"
#include "topology/mem.h"
#include "topology/sort.h"

/* gaps: pairs that legal paths leave open (engine.h), sorted for those who look for detours. */

#define SORT_NS 10 /* to put a gap in its place */

static uint32_t key_of(const struct gap *gap, bool by_d)
{
	return by_d ? gap->d : gap->sw;
}

/*
 * One key of two, by counting: there may be a million. `first` has a place more than there are
 * switches.
 */
static void sort_by_one(const struct gaps *from, struct gap *to, bool by_d, uint32_t *first,
			uint32_t nswitches)
{
	memset(first, 0, (nswitches + 1) * sizeof(*first));
	for (uint32_t i = 0; i < from->count; i++)
		first[key_of(&from->list[i], by_d) + 1]++;
	for (uint32_t sw = 1; sw <= nswitches; sw++)
		first[sw] += first[sw - 1];
	for (uint32_t i = 0; i < from->count; i++)
		to[first[key_of(&from->list[i], by_d)]++] = from->list[i];
}

void gaps_sort(struct gaps *gaps, uint32_t nswitches, struct fiber *fiber)
{
	struct gaps by_switch = { .list = mem_alloc_unset(gaps->count + 1u, sizeof(struct gap)),
				  .count = gaps->count };
	uint32_t *first = mem_alloc_unset(nswitches + 1u, sizeof(*first));

	sort_by_one(gaps, by_switch.list, false, first, nswitches);
	fiber_spend(fiber, gaps->count * SORT_NS);
	sort_by_one(&by_switch, gaps->list, true, first, nswitches);
	fiber_spend(fiber, gaps->count * SORT_NS);
	free(by_switch.list);
	free(first);
}

/*
 * Whether both switches have hosts, and live links connect them: a detour may close it. `island` is
 * islands_find()'s, NULL = links connect all switches.
 */
static bool gap_may_close(const struct graph *g, const struct gap *gap, const uint32_t *island)
{
	return g->switches[gap->sw].nhosts && g->switches[gap->d].nhosts &&
	       (!island || island[gap->sw] == island[gap->d]);
}

bool gaps_may_close(const struct gaps *gaps, const struct graph *g, const struct topo *t)
{
	uint32_t islands, *island;
	bool may = false;

	if (!gaps->host_pairs || gaps->count == GAPS_MAX)
		return gaps->host_pairs;
	island = islands_find(t, &islands);
	for (uint32_t i = 0; i < gaps->count && !may; i++)
		may = gap_may_close(g, &gaps->list[i], island);
	free(island);
	return may;
}

/*
 * legal: see legal.h. On the way down the next switch is a child one step nearer; on the way up, a
 * live parent of least cost. What could go down must: a path that rises past its destination's
 * ancestor may come down and up again.
 */

#define ROOM_STEP (4u << 20) /* bytes: a millisecond or two */

void legal_init(struct legal *legal, const struct topo *t, const struct lid_map *lids,
		const struct route_params *params, struct graph_how how)
{
	*legal = (struct legal){ .g = graph_new(t, how) };
	dests_init(&legal->d, legal->g, t, lids, params);
	reach_init(&legal->r, legal->g);
}

bool legal_make_room(struct legal *legal, uint32_t *next)
{
	struct tables *tables = &legal->tables;
	size_t done = 0;

	tables_resize(tables, legal->g->nswitches, legal->d.top);
	for (; *next < tables->nswitches && done < ROOM_STEP; done += tables->stride)
		memset(tables_row(tables, (*next)++), TABLES_NO_ROUTE, tables->stride);
	return *next == tables->nswitches;
}

void legal_fill(struct legal *legal)
{
	tables_resize(&legal->tables, legal->g->nswitches, legal->d.top);
	rows_fill(legal->g, &legal->d, &legal->r, &legal->tables, &legal->gaps);
}

void legal_fini(struct legal *legal)
{
	if (!legal->g)
		return;
	gaps_fini(&legal->gaps);
	tables_fini(&legal->tables);
	reach_fini(&legal->r);
	dests_fini(&legal->d);
	graph_free(legal->g);
	*legal = (struct legal){ 0 };
}

static void add_lanes(const struct graph *g, const struct graph_group *group,
		      struct legal_ports *out)
{
	for (unsigned l = 0; l < group->nlanes; l++)
		if (g->lanes[group->first_lane + l].live)
			out->port[out->n++] = g->lanes[group->first_lane + l].port;
}

static void add_downs(const struct graph *g, const struct reach *r, uint32_t sw,
		      const struct reach_entry *below, struct legal_ports *out)
{
	const struct graph_group *downs = graph_downs(g, sw);

	for (unsigned c = 0; c < g->switches[sw].ndown; c++) {
		const struct reach_entry *child = reach_find(r, downs[c].peer, below->sw);
		unsigned dist = downs[c].peer == below->sw ? 1u
				: child			   ? child->dist + 1u
							   : REACH_NEVER;

		if (dist == below->dist)
			add_lanes(g, &downs[c], out);
	}
}

static void add_ups(const struct graph *g, const struct reach *r, uint32_t sw, uint32_t d,
		    struct legal_ports *out)
{
	const struct graph_group *ups = graph_ups(g, sw);
	uint8_t best = REACH_NEVER;

	for (unsigned u = 0; u < g->switches[sw].nup; u++) {
		uint8_t cost = ups[u].nlive ? reach_cost(r, g, ups[u].peer)[d] : REACH_NEVER;

		best = cost < best ? cost : best;
	}
	for (unsigned u = 0; u < g->switches[sw].nup && best != REACH_NEVER; u++)
		if (ups[u].nlive && reach_cost(r, g, ups[u].peer)[d] == best)
			add_lanes(g, &ups[u], out);
}

void legal_ports(const struct graph *g, const struct reach *r, uint32_t sw, uint32_t d,
		 struct legal_ports *out)
{
	const struct reach_entry *below = reach_find(r, sw, d);

	out->n = 0;
	if (below)
		add_downs(g, r, sw, below, out);
	else if (sw != d)
		add_ups(g, r, sw, d, out);
}

void legal_find_exits(const struct graph *g, uint32_t sw, struct legal_exits *out)
{
	const struct graph_group *groups = graph_ups(g, sw);
	unsigned ngroups = g->switches[sw].nup + g->switches[sw].ndown;

	*out = (struct legal_exits){ .downs = graph_downs(g, sw) };
	for (unsigned i = 0; i < ngroups; i++)
		for (unsigned l = 0; l < groups[i].nlanes; l++) {
			const struct graph_lane *lane = &g->lanes[groups[i].first_lane + l];

			if (lane->live)
				out->by_port[lane->port] = &groups[i];
		}
}

/* From the switch on to which d is, down all the way. */
static unsigned cost_below(const struct reach *r, uint32_t sw, uint32_t d)
{
	const struct reach_entry *below = sw == d ? NULL : reach_find(r, sw, d);

	return sw == d ? 0 : below ? below->dist : REACH_NEVER;
}

bool legal_is_like(const struct graph *g, const struct reach *r, const struct legal_exits *exits,
		   uint32_t d, uint8_t port, uint8_t like)
{
	const struct graph_group *a = exits->by_port[port], *b = exits->by_port[like];

	if (!a || !b || a == b)
		return a && b;
	if ((a < exits->downs) != (b < exits->downs))
		return false;
	unsigned here = a < exits->downs ? reach_cost(r, g, a->peer)[d] : cost_below(r, a->peer, d);
	unsigned there =
		a < exits->downs ? reach_cost(r, g, b->peer)[d] : cost_below(r, b->peer, d);

	return here == there && here != REACH_NEVER; /* a detour has nothing like it */
}

bool *legal_find_open(const struct topo *t, const struct graph *g, const struct gaps *gaps)
{
	bool *open = mem_alloc(g->nswitches + 1, sizeof(*open));
	uint32_t islands, *island = t && gaps->count ? islands_find(t, &islands) : NULL;

	for (uint32_t i = 0; i < gaps->count; i++) {
		const struct gap *gap = &gaps->list[i];

		open[gap->d] |= gap_may_close(g, gap, island);
	}
	free(island);
	return open;
}

void legal_override(const struct graph *g, const struct reach *r, const struct dests *d,
		    const bool *open, const struct route_override *list, uint32_t n,
		    struct tables *out)
{
	struct legal_exits exits;
	uint32_t sw = TOPO_NONE; /* whose these are */

	for (uint32_t i = 0; i < n; i++) {
		const struct route_override *o = &list[i];
		uint32_t dest = o->lid <= d->top ? d->sw[o->lid] : TOPO_NONE;

		if (dest == TOPO_NONE || o->sw >= g->nswitches || open[dest])
			continue;
		if (o->sw != sw)
			legal_find_exits(g, sw = o->sw, &exits);
		if (legal_is_like(g, r, &exits, dest, o->port, tables_row(out, sw)[o->lid]))
			tables_row(out, sw)[o->lid] = o->port;
	}
}

/* The port of a slot, 0 = the switch has none. */
static uint8_t port_of_slot(const struct graph *g, uint32_t sw, struct graph_slot slot)
{
	const struct graph_group *up = graph_ups(g, sw), *end = up + g->switches[sw].nup;

	for (; up < end; up++)
		if (up->slot == slot.parent)
			return slot.lane < up->nlanes ? g->lanes[up->first_lane + slot.lane].port
						      : 0;
	return 0;
}

bool legal_is_home(const struct legal *legal, uint32_t sw, uint32_t lid)
{
	const struct graph *g = legal->g;
	const struct graph_family *family = &g->families[g->switches[sw].family];
	uint32_t to = legal->d.sw[lid];

	if (!family->nslots || sw == to || reach_find(&legal->r, sw, to))
		return true;
	return tables_row(&legal->tables, sw)[lid] ==
	       port_of_slot(g, sw,
			    g->slots[family->first_slot +
				     legal->d.order[lid] / family->pitch % family->nslots]);
}

/*
 * nearest: see nearest.h. As many destinations as fit into a register are compared over all rows at
 * a time, so that every row is read once and results are written once. Vectors are the compiler's;
 * it makes of them what the processor has: AVX2, chosen at run time, or what all of its kind have.
 */

typedef uint8_t bytes_v __attribute__((vector_size(NEAREST_BYTES)));

_Static_assert(REACH_NEVER == UINT8_MAX, "one more than none is found by its overflow");

static inline __attribute__((always_inline)) void find_at(const uint8_t *const rows[], unsigned n,
							  uint32_t at, const struct nearest *out)
{
	bytes_v cost = (bytes_v){ 0 } - 1, count = { 0 }, last = { 0 };

	for (unsigned r = 0; r < n; r++) {
		bytes_v mine;

		memcpy(&mine, rows[r] + at, sizeof(mine));
		mine += 1;
		bytes_v never = (bytes_v)(mine == 0), nearer = (bytes_v)(mine < cost) & ~never;
		bytes_v leads = (bytes_v)(mine <= cost) & ~never;

		count = (count & ~nearer) - leads; /* true is -1 */
		last = (last & ~leads) | (leads & (uint8_t)r);
		cost = (cost & ~nearer) | (mine & nearer);
	}
	memcpy(out->cost + at, &cost, sizeof(cost));
	memcpy(out->count + at, &count, sizeof(count));
	memcpy(out->last + at, &last, sizeof(last));
}

static void find_plain(const uint8_t *const rows[], unsigned n, uint32_t bytes,
		       const struct nearest *out)
{
	for (uint32_t at = 0; at < bytes; at += NEAREST_BYTES)
		find_at(rows, n, at, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void find_avx2(const uint8_t *const rows[], unsigned n,
						      uint32_t bytes, const struct nearest *out)
{
	for (uint32_t at = 0; at < bytes; at += NEAREST_BYTES)
		find_at(rows, n, at, out);
}

void nearest_find(const uint8_t *const rows[], unsigned n, uint32_t bytes,
		  const struct nearest *out)
{
	(__builtin_cpu_supports("avx2") ? find_avx2 : find_plain)(rows, n, bytes, out);
}
#else
void nearest_find(const uint8_t *const rows[], unsigned n, uint32_t bytes,
		  const struct nearest *out)
{
	find_plain(rows, n, bytes, out);
}
#endif

/*
 * reach: for every switch the sorted list of the switches below it, with the distance and the child
 * that leads there.
 *
 * From the lowest rank up: what is below a switch is its live children and all that is below them.
 * In a fat tree these lists are short low down and complete only at the top, so lists beat
 * matrices; a byte row per switch serves as scratch for the merge and a bitmap gives the order
 * back. Costs of whole rows (rows.c) exist only for switches that are somebody's parent.
 */

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
