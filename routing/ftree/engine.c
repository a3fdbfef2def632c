/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/ftree/choice.h"
#include "routing/ftree/engine.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/graph/cutoff.h"

/* ---- Dests ----------------------------------------------------------------------------------- */

/*
 * The LIDs as routing sees them: behind which switch, out of which port, with which
 * topological number. LIDs behind one switch are kept as runs of consecutive numbers: a
 * well-planned leaf is one run, and a run is one fill.
 */

#define CLASSES (ROUTE_MANAGEMENT + 1)

struct numbering { /* how topological numbers become those that choose slots */
	const struct graph *g;
	const uint8_t *classes;
	uint32_t *by_order;	/* [order_top] index in graph.hosts + 1; 0 = number not in use */
	uint32_t next[CLASSES]; /* own numbers of the classes that have them */
};

/*
 * The number of a host's LID base + offset. Several LIDs of one port are spread evenly over its
 * leaf's slots.
 */
static uint32_t number_of(struct numbering *n, const struct graph_host *host, uint32_t own,
			  unsigned offset, unsigned lmc)
{
	enum route_class class = n->classes ? n->classes[host->port] : ROUTE_COMPUTE;
	uint32_t step = n->g->leaf_parents >> lmc, turn = offset * (step ? step : 1);

	if (class != ROUTE_COMPUTE)
		return own + turn;
	return !turn ? host->order
		     : host->order - host->order % n->g->leaf_block +
			       (host->order + turn) % n->g->leaf_block;
}

static void place(struct dests *d, uint32_t lid, uint32_t sw, uint8_t port, uint32_t order)
{
	if (!lid || lid > d->top)
		return;
	d->sw[lid] = sw;
	d->port[lid] = port;
	d->order[lid] = order;
}

/*
 * A host whose link is down stays a destination as far as its leaf: its return changes one entry.
 */
static void place_host(struct dests *d, struct numbering *n, const struct lid_map *lids,
		       uint32_t sw, const struct graph_host *host)
{
	uint32_t lid = lids->lid_of_port[host->port],
		 own = n->next[n->classes ? n->classes[host->port] : ROUTE_COMPUTE]++;

	for (unsigned offset = 0; lid && offset < 1u << lids->lmc; offset++)
		place(d, lid + offset, sw, host->live ? host->sw_port : TABLES_NO_ROUTE,
		      number_of(n, host, own, offset, lids->lmc));
}

static void collect_runs(struct dests *d, uint32_t nswitches)
{
	struct dest_run *runs = mem_array_unset(runs, d->top + 1u);
	uint32_t *home = mem_array_unset(home, d->top + 1u);
	uint32_t n = 0, *next = mem_array_unset(next, nswitches + 1), last = TOPO_NONE;

	for (uint32_t lid = 1; lid <= d->top; lid++) { /* all runs in LID order */
		uint32_t sw = d->sw[lid];

		if (sw != last && sw != TOPO_NONE) {
			home[n] = sw;
			runs[n++] = (struct dest_run){ lid, 0 };
		}
		last = sw;
		if (sw != TOPO_NONE)
			runs[n - 1].count++;
	}
	d->runs = arena_array(d->arena, d->runs, n + 1);
	for (uint32_t i = 0; i < n; i++)
		d->first_run[home[i] + 1]++;
	for (uint32_t sw = 0; sw < nswitches; sw++) {
		next[sw] = d->first_run[sw];
		d->first_run[sw + 1] += d->first_run[sw];
	}
	for (uint32_t i = 0; i < n; i++)
		d->runs[next[home[i]]++] = runs[i];
	free(next);
	free(home);
	free(runs);
}

/* plain: the usual case, one LID a port, and all ports of one class. */
static void place_hosts(struct dests *d, struct numbering *n, const struct lid_map *lids,
			bool plain)
{
	for (uint32_t sw = 0; sw < n->g->nswitches; sw++) {
		const struct graph_host *host = &n->g->hosts[n->g->switches[sw].first_host],
					*end = host + n->g->switches[sw].nhosts;

		for (; host < end; host++) {
			if (plain)
				place(d, lids->lid_of_port[host->port], sw,
				      host->live ? host->sw_port : TABLES_NO_ROUTE, host->order);
			else
				place_host(d, n, lids, sw, host);
		}
	}
}

/* Classes with numbers of their own need the hosts in topological order. */
static void place_hosts_in_order(struct dests *d, struct numbering *n, const struct lid_map *lids)
{
	uint32_t *sw_of = mem_array(sw_of, n->g->nhosts + 1);

	n->by_order = mem_array(n->by_order, n->g->order_top + 1u);
	for (uint32_t sw = 0; sw < n->g->nswitches; sw++) {
		const struct graph_switch *s = &n->g->switches[sw];

		for (unsigned h = 0; h < s->nhosts; h++) {
			sw_of[s->first_host + h] = sw;
			n->by_order[n->g->hosts[s->first_host + h].order] = s->first_host + h + 1;
		}
	}
	for (uint32_t order = 0; order < n->g->order_top; order++) {
		uint32_t h = n->by_order[order];

		if (h)
			place_host(d, n, lids, sw_of[h - 1], &n->g->hosts[h - 1]);
	}
	free(n->by_order);
	free(sw_of);
}

void dests_sort(const struct dests *d, uint32_t *lids, uint32_t n)
{
	uint32_t top = 0;

	for (uint32_t i = 0; i < n; i++)
		top = d->order[lids[i]] > top ? d->order[lids[i]] : top;
	sort_by_key(lids, n, d->order, top + 1);
}

#define TURN 125 /* percent of LIDs by links, from where on the last round's turn */

/* How many of n LIDs fill whole rounds of links; n where no link carries much more by the rest. */
static uint32_t whole_rounds(uint32_t n, uint32_t links)
{
	uint32_t whole = links ? n - n % links : 0;

	return whole && (whole + links) * 100 > n * TURN ? whole : n;
}

bool dests_rounds(const struct graph *g, uint32_t family, struct dest_rounds *r)
{
	const struct graph_family *leaves = &g->families[family];
	uint32_t spine = leaves->nslots ? g->parents[leaves->first_parent] : TOPO_NONE, hosts = 0;

	*r = (struct dest_rounds){ UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, false };
	if (leaves->level || spine == TOPO_NONE || !g->switches[spine].nup ||
	    g->switches[graph_ups(g, spine)->peer].nup)
		return false;
	for (uint32_t i = 0; i < leaves->nmembers; i++) {
		const struct graph_switch *s = &g->switches[g->members[leaves->first_member + i]];

		hosts += s->nhosts;
		if (s->nhosts && g->hosts[s->first_host].order < r->first)
			r->first = g->hosts[s->first_host].order;
	}
	uint32_t links = leaves->nparents * g->families[g->switches[spine].family].nslots;

	r->above = g->families[g->switches[spine].family].level;
	r->in_leaf = whole_rounds(hosts / leaves->nmembers, leaves->nslots);
	r->in_pod = whole_rounds(hosts, links);
	r->rests_last =
		r->in_leaf < g->leaf_block && links && leaves->nmembers * r->in_leaf % links;
	return r->in_leaf < hosts / leaves->nmembers || r->in_pod < hosts;
}

/* Of each level: what topological numbers give in regular trees. */
static void set_numbers(struct dests *d, const struct graph *g)
{
	d->number = arena_array(d->arena, d->number, UINT8_MAX + 1);
	for (uint32_t f = 0; f < g->nfamilies; f++) {
		uint32_t **number = &d->number[g->families[f].level];

		if (*number)
			continue;
		*number = arena_array(d->arena, *number, d->top + 1u);
		for (uint32_t lid = 1; lid <= d->top; lid++)
			(*number)[lid] = d->order[lid] / g->families[f].pitch;
	}
}

/*
 * What leaves have beyond whole rounds of slots is numbered behind what fills them, in each pod,
 * unless whole rounds of its leaves fill those of links to roots as well. A shift that sends to the
 * rest of one leaf and to the first hosts of the next has other links above for them then.
 */
static void number_rests(struct dests *d, const struct graph *g)
{
	struct dest_rounds r;

	for (uint32_t f = 0; f < g->nfamilies; f++) {
		if (!dests_rounds(g, f, &r) || !r.rests_last)
			continue;
		if (!d->number)
			set_numbers(d, g);
		for (uint32_t lid = 1; lid <= d->top; lid++) {
			uint32_t sw = d->sw[lid];

			if (sw == TOPO_NONE || g->switches[sw].family != f ||
			    d->order[lid] >= g->order_top)
				continue;
			uint32_t own = g->hosts[g->switches[sw].first_host].order;
			uint32_t leaf = (own - r.first) / g->leaf_block, at = d->order[lid] - own;
			uint32_t number = r.first + at + leaf * r.in_leaf;

			if (at >= r.in_leaf)
				number += (g->families[f].nmembers - 1 - leaf) * r.in_leaf +
					  leaf * (g->leaf_block - r.in_leaf);
			d->number[0][lid] = number;
			d->number[r.above][lid] = number / g->families[f].nslots;
		}
	}
}

/*
 * Counts LIDs on their way up from their leaf, in topological order: their number at a switch is
 * how many came before. Switches at the same place of several subtrees count on from one another.
 */
static void count_numbers(struct dests *d, const struct graph *g)
{
	struct arena *arena = arena_new();
	uint32_t *lids = arena_array(arena, lids, d->top + 1u), nlids = 0, nplaces = 0;
	uint32_t *count = arena_array(arena, count, g->nswitches + 2);	     /* by place */
	uint32_t *place_of = arena_array(arena, place_of, g->nswitches + 1); /* + 1 */
	uint32_t(*above)[256] = arena_array(arena, above, g->nswitches + 2); /* by place */

	set_numbers(d, g);
	for (uint32_t lid = 1; lid <= d->top; lid++)
		if (d->sw[lid] != TOPO_NONE)
			lids[nlids++] = lid;
	dests_sort(d, lids, nlids);
	for (uint32_t i = 0; i < nlids; i++) {
		uint32_t sw = d->sw[lids[i]], x = d->order[lids[i]];
		const struct graph_family *family = &g->families[g->switches[sw].family];

		while (family->nslots) {
			unsigned slot = g->slots[family->first_slot + x % family->nslots].parent;
			uint32_t parent = g->parents[family->first_parent + slot];
			uint32_t *place = &above[place_of[sw]][slot];

			d->number[family->level][lids[i]] = x;
			if (parent == TOPO_NONE || g->switches[parent].level <= family->level)
				break;
			if (!place_of[parent])
				place_of[parent] = *place ? *place : (*place = ++nplaces);
			x = count[place_of[parent]]++;
			sw = parent;
			family = &g->families[g->switches[sw].family];
		}
	}
	arena_free(arena);
}

void dests_init(struct dests *d, const struct graph *g, const struct topo *t,
		const struct lid_map *lids, const struct route_params *params)
{
	struct numbering n = { .g = g, .classes = params->classes };

	*d = (struct dests){ .top = lids->top, .arena = arena_new() };
	d->sw = arena_array(d->arena, d->sw, d->top + 1u);
	d->order = arena_array(d->arena, d->order, d->top + 1u);
	d->port = arena_array(d->arena, d->port, d->top + 1u);
	d->first_run = arena_array(d->arena, d->first_run, g->nswitches + 1u);
	memset(d->sw, 0xff, (d->top + 1u) * sizeof(*d->sw));
	if (params->classes)
		place_hosts_in_order(d, &n, lids);
	else
		place_hosts(d, &n, lids, !lids->lmc);
	if (g->nspecials)
		d->special = arena_array(d->arena, d->special, d->top + 1u);

	/*
	 * What is no host has numbers above those of hosts: switches' own LIDs, then aggregation
	 * nodes.
	 */
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		const struct graph_switch *s = &g->switches[sw];

		place(d, lids->lid_of_port[t->nodes[sw].port0], sw, 0, g->order_top + sw);
		for (unsigned i = 0; i < s->nspecials; i++) {
			/* An aggregation node's several LIDs take the same paths. */
			uint32_t index = s->first_special + i;
			const struct graph_host *special = &g->specials[index];
			uint32_t lid = lids->lid_of_port[special->port];

			for (unsigned offset = 0; lid && offset < 1u << lids->lmc; offset++) {
				place(d, lid + offset, sw,
				      special->live ? special->sw_port : TABLES_NO_ROUTE,
				      g->order_top + g->nswitches + index);
				if (lid + offset <= d->top)
					d->special[lid + offset] = true;
			}
		}
	}

	if (g->uneven)
		count_numbers(d, g);
	else if (!params->classes)
		number_rests(d, g);
	collect_runs(d, g->nswitches);
}

void dests_fini(struct dests *d)
{
	arena_free(d->arena);
}

/* ---- Reach ----------------------------------------------------------------------------------- */

/*
 * For every switch the sorted list of the switches below it, with the distance and the child
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
	bool seen = m->seen[d / 64] & bit;

	m->seen[d / 64] |= bit;
	if (!seen || dist < m->dist[d]) {
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

/* ---- Twins ----------------------------------------------------------------------------------- */

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
 * Switches with equal children have equal lists, and rows that differ by port numbers and dead
 * lanes only.
 */
static void find_equivalents(struct reach *r, const struct graph *g)
{
	uint32_t size = 2, *first, *table;

	while (size < 2 * g->nswitches)
		size *= 2;
	table = mem_array(table, size);
	first = mem_array(first, g->nswitches + 1);
	r->equivalent = mem_array(r->equivalent, g->nswitches + 1);
	memset(r->equivalent, 0xff, g->nswitches * sizeof(*r->equivalent));
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		if (!g->switches[sw].ndown)
			continue;

		/* The first switch with the same children, + 1; `sw` itself when it is that. */
		uint64_t at = g->switches[sw].ndown; /* by a hash of what of the links matters */

		for (unsigned c = 0; c < g->switches[sw].ndown; c++) {
			const struct graph_group *group = &graph_downs(g, sw)[c];

			at += hash_word((uint64_t)group->peer << 16 | group->nlanes << 1 |
					(group->nlive > 0));
		}
		at &= size - 1;
		while (table[at] && !same_children(g, table[at] - 1, sw))
			at = (at + 1) & (size - 1);
		if (!table[at])
			table[at] = sw + 1;
		first[sw] = table[at] - 1;

		if (first[sw] != sw && r->equivalent[first[sw]] == TOPO_NONE)
			r->equivalent[first[sw]] = r->nequivalent++;
		r->equivalent[sw] = first[sw] == sw ? TOPO_NONE : r->equivalent[first[sw]];
	}
	free(first);
	free(table);
}

void reach_init(struct reach *r, const struct graph *g)
{
	struct merge m = {
		.dist = mem_alloc(g->nswitches + 1, 1),
		.child = mem_alloc(g->nswitches + 1, 1),
		.words = (g->nswitches + 63) / 64,
		.seen = mem_array(m.seen, g->nswitches / 64 + 1),
	};

	*r = (struct reach){ .nlists = 1,
			     .lists = mem_array(r->lists, g->nswitches + 1),
			     .cost_row = mem_array(r->cost_row, g->nswitches + 1) };
	find_equivalents(r, g);
	uint32_t *first_equivalent = mem_array(first_equivalent, r->nequivalent + 1);
	uint32_t rows = 0;

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
		if (r->used + g->nswitches > r->capacity) {
			r->capacity = (r->used + g->nswitches) * 2;
			r->below = mem_array_resize(r->below, r->capacity);
		}
		merge_children(&m, r, g, sw);
		r->lists[sw].first = r->used;
		r->lists[sw].number = r->nlists++;
		r->lists[sw].count = emit_in_order(&m, r->below + r->used);
		r->used += r->lists[sw].count;

		if (equivalent)
			*equivalent = sw + 1;
	}
	free(first_equivalent);
	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		r->cost_row[sw] = g->switches[sw].ndown ? rows++ : TOPO_NONE;
	r->cost_bytes = (g->nswitches + NEAREST_BYTES - 1) / NEAREST_BYTES * NEAREST_BYTES;
	r->costs = mem_alloc_unset(rows + 1, r->cost_bytes);
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

/* ---- Pairs that legal paths leave open (engine.h), sorted for those who look for detours ----- */

#define SORT_NS 10 /* to put a gap in its place */

/*
 * One key of two, by counting: there may be a million. `first` has a place more than there are
 * switches.
 */
static void sort_by_one(const struct gaps *from, struct gap *to, bool by_d, uint32_t *first,
			uint32_t nswitches, struct fiber *fiber)
{
	mem_zero(first, nswitches + 1);
	for (uint32_t i = 0; i < from->count; i++)
		first[(by_d ? from->list[i].d : from->list[i].sw) + 1]++;
	for (uint32_t sw = 1; sw <= nswitches; sw++)
		first[sw] += first[sw - 1];
	for (uint32_t i = 0; i < from->count; i++) {
		to[first[by_d ? from->list[i].d : from->list[i].sw]++] = from->list[i];
		fiber_spend(fiber, SORT_NS);
	}
}

void gaps_sort(struct gaps *gaps, uint32_t nswitches, struct fiber *fiber)
{
	struct gaps by_switch = { .list = mem_alloc_unset(gaps->count + 1u, sizeof(struct gap)),
				  .count = gaps->count };
	uint32_t *first = mem_array_unset(first, nswitches + 1u);

	sort_by_one(gaps, by_switch.list, false, first, nswitches, fiber);
	sort_by_one(&by_switch, gaps->list, true, first, nswitches, fiber);
	free(by_switch.list);
	free(first);
}

bool gap_may_close(const struct graph *g, const struct gap *gap, const uint32_t *island)
{
	return g->switches[gap->sw].nhosts && g->switches[gap->d].nhosts &&
	       (!island || island[gap->sw] == island[gap->d]);
}

bool gaps_may_close(const struct gaps *gaps, const struct graph *g, const struct topo *t,
		    bool management)
{
	uint64_t open = management ? gaps->count : gaps->host_pairs;
	uint32_t islands;
	bool may = false;

	if (!open || gaps->count == GAPS_MAX)
		return open;

	uint32_t *island = islands_find(t, &islands);

	for (uint32_t i = 0; i < gaps->count && !may; i++)
		may = management ? island[gaps->list[i].sw] == island[gaps->list[i].d]
				 : gap_may_close(g, &gaps->list[i], island);
	free(island);
	return may;
}
