/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/acyclic/acyclic.h"
#include <stdlib.h>
#include <string.h>
#include "routing/acyclic/acyclic_column.h"
#include "routing/acyclic/acyclic_design.h"
#include "routing/acyclic/acyclic_turns.h"
#include "topology/mem.h"
#include "topology/random.h"
#include "topology/topo_builder.h"

/*
 * acyclic_begin: the first turns of a design: those of a spanning tree, or of the tiers. In the end
 * all turns of a spanning tree are allowed, so that every pair has a path, and multicast trees are
 * parts of it. With the tiers a spanning tree is searched among the turns that are possible then.
 */

#define TURN_PAIRS (16ull << 30) /* of turns; beyond these not each can be asked for by itself */

struct work {
	const struct net *net;
	struct turns *turns;
	const uint8_t *states; /* by arc: those of a tree are open; NULL = all are */
	bool *tree;
	uint32_t *dist, *queue; /* by switch: TOPO_NONE between walks */
};

static bool is_open(const struct work *w, uint32_t arc)
{
	return !w->states || w->states[arc] == ARC_OPEN;
}

static void work_init(struct work *w, struct turns *turns, bool *tree)
{
	uint32_t n = turns->net->nswitches + 1;

	*w = (struct work){ .net = turns->net,
			    .turns = turns,
			    .tree = tree,
			    .dist = mem_alloc_unset(n, sizeof(*w->dist)),
			    .queue = mem_alloc_unset(n, sizeof(*w->queue)) };
	memset(w->dist, 0xff, n * sizeof(*w->dist));
}

static void work_fini(struct work *w)
{
	free(w->dist);
	free(w->queue);
}

/* ---- Walks ----------------------------------------------------------------------------------- */

/*
 * Walks breadth first from `root` over its part: the order goes to w->queue, the steps to w->dist.
 * Returns the number of switches.
 */
static uint32_t walk(struct work *w, uint32_t root)
{
	const struct net *n = w->net;
	uint32_t head = 0, tail = 0;

	w->dist[root] = 0;
	w->queue[tail++] = root;
	while (head < tail) {
		uint32_t sw = w->queue[head++];

		for (uint32_t a = n->first[sw]; a < n->first[sw + 1]; a++) {
			uint32_t to = n->to[a];

			if (w->dist[to] != TOPO_NONE || !is_open(w, a))
				continue;
			w->dist[to] = w->dist[sw] + 1;
			w->queue[tail++] = to;
		}
	}
	return tail;
}

static void forget_walk(struct work *w, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		w->dist[w->queue[i]] = TOPO_NONE;
}

/* The middle switch of a path that is as long as the part is wide, found by two walks. */
static uint32_t find_middle(struct work *w, uint32_t start)
{
	const struct net *n = w->net;
	uint32_t count = walk(w, start), far = w->queue[count - 1], sw;

	forget_walk(w, count);
	count = walk(w, far);
	sw = w->queue[count - 1];
	for (uint32_t steps = w->dist[sw] / 2; steps; steps--)
		for (uint32_t a = n->first[sw]; a < n->first[sw + 1]; a++)
			if (w->dist[n->to[a]] + 1 == w->dist[sw] && is_open(w, a)) {
				sw = n->to[a];
				break;
			}
	forget_walk(w, count);
	return sw;
}

/* Any switch of the same part. */
static uint32_t find_other(struct work *w, uint32_t sw, uint64_t *seed)
{
	uint32_t count = walk(w, sw), other = w->queue[random_next(seed) % count];

	forget_walk(w, count);
	return other;
}

/* ---- Trees ----------------------------------------------------------------------------------- */

static void put_in_tree(struct work *w, uint32_t arc)
{
	w->tree[arc] = w->tree[w->net->back[arc]] = true;
}

/* Each switch by its first neighbour that is nearer to the root. */
static void grow_tree(struct work *w, uint32_t root)
{
	uint32_t count = walk(w, root);

	for (uint32_t i = 1; i < count; i++) {
		uint32_t sw = w->queue[i], a = w->net->first[sw];

		while (w->dist[w->net->to[a]] + 1 != w->dist[sw])
			a++;
		put_in_tree(w, a);
	}
}

static unsigned count_unmet(const struct work *w, uint32_t sw)
{
	unsigned count = 0;

	for (uint32_t a = w->net->first[sw]; a < w->net->first[sw + 1]; a++)
		count += w->dist[w->net->to[a]] == TOPO_NONE;
	return count;
}

/* The arc to the unvisited neighbour with fewest unvisited neighbours; TOPO_NONE = none. */
static uint32_t narrowest_arc(const struct work *w, uint32_t sw)
{
	uint32_t best = TOPO_NONE;
	unsigned fewest = UINT32_MAX;

	for (uint32_t a = w->net->first[sw]; a < w->net->first[sw + 1]; a++) {
		unsigned unmet;

		if (w->dist[w->net->to[a]] != TOPO_NONE)
			continue;
		unmet = count_unmet(w, w->net->to[a]);
		if (unmet < fewest) {
			fewest = unmet;
			best = a;
		}
	}
	return best;
}

/* Depth first. */
static void grow_line(struct work *w, uint32_t root)
{
	uint32_t count = 0, met = 0;

	w->dist[root] = met++;
	w->queue[count++] = root;
	while (count) {
		uint32_t best = narrowest_arc(w, w->queue[count - 1]);

		if (best == TOPO_NONE) {
			count--;
			continue;
		}
		put_in_tree(w, best);
		w->dist[w->net->to[best]] = met++;
		w->queue[count++] = w->net->to[best];
	}
}

/* ---- Orders ---------------------------------------------------------------------------------- */

struct height { /* of a switch: the smaller, the lower */
	uint32_t key, sw;
};

static int by_height(const void *a, const void *b)
{
	const struct height *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

/* Positions: arcs up, the lower end first, then arcs down. Sorts the heights of all switches. */
static void order_arcs(struct work *w, struct height *heights)
{
	const struct net *n = w->net;
	uint32_t *rank = mem_alloc_unset(n->nswitches + 1, sizeof(*rank)), place = 0;

	qsort(heights, n->nswitches, sizeof(*heights), by_height);
	for (uint32_t i = 0; i < n->nswitches; i++)
		rank[heights[i].sw] = i;
	for (uint32_t i = 0; i < 2 * n->nswitches; i++) {
		bool up = i < n->nswitches;
		uint32_t sw = heights[up ? i : 2 * n->nswitches - 1 - i].sw;

		for (uint32_t a = n->first[sw]; a < n->first[sw + 1]; a++)
			if ((rank[n->to[a]] > rank[sw]) == up)
				w->turns->position[a] = place++;
	}
	free(rank);
}

/* ---- Beginning with a tree ------------------------------------------------------------------- */

static void acyclic_begin_allow_tree(struct work *w)
{
	const struct net *n = w->net;

	for (uint32_t a = 0; a < n->narcs; a++)
		for (uint32_t b = n->first[n->to[a]]; w->tree[a] && b < n->first[n->to[a] + 1]; b++)
			if (w->tree[b])
				turns_allow(w->turns, a, b);
}

/* Allows all turns up and down the tree at once, where there are too many to test each. */
static bool is_large(const struct net *n)
{
	return (uint64_t)n->nturns * n->nturns > TURN_PAIRS;
}

static void begin_with_tree(struct work *w, enum beginning how, uint64_t *seed)
{
	const struct net *n = w->net;
	struct height *heights = mem_alloc_unset(n->nswitches + 1, sizeof(*heights));

	for (uint32_t sw = 0; sw < n->nswitches; sw++) {
		uint32_t root;

		if (w->dist[sw] != TOPO_NONE)
			continue;
		root = find_middle(w, sw);
		if (how == TREE_ELSEWHERE)
			root = find_other(w, root, seed);
		how == TREE_LINE ? grow_line(w, root) : grow_tree(w, root);
	}
	for (uint32_t sw = 0; sw < n->nswitches; sw++)
		heights[sw] = (struct height){ UINT32_MAX - w->dist[sw], sw };
	order_arcs(w, heights);
	if (is_large(n))
		turns_allow_order(w->turns);
	else
		acyclic_begin_allow_tree(w);
	free(heights);
}

/* ---- Beginning with the tiers ---------------------------------------------------------------- */

/* All turns between an arc and the tree's at the switch it leaves. */
static bool goes_with_tree(struct work *w, uint32_t arc)
{
	const struct net *n = w->net;
	uint32_t sw = n->from[arc];

	for (uint32_t b = n->first[sw]; b < n->first[sw + 1]; b++)
		if (w->tree[b] && b != arc &&
		    !(turns_allow(w->turns, n->back[b], arc) &&
		      turns_allow(w->turns, n->back[arc], b)))
			return false;
	return true;
}

/*
 * A tree that the turns of the tiers leave room for, from a root. Returns how many switches are in
 * it.
 */
static uint32_t fit_tree(struct work *w, uint32_t root)
{
	const struct net *n = w->net;
	uint32_t tail = 0;

	w->dist[root] = 0;
	w->queue[tail++] = root;
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t sw = w->queue[head];

		for (uint32_t a = n->first[sw]; a < n->first[sw + 1]; a++) {
			if (w->dist[n->to[a]] != TOPO_NONE || !is_open(w, a) ||
			    !goes_with_tree(w, a))
				continue;
			put_in_tree(w, a);
			w->dist[n->to[a]] = w->dist[sw] + 1;
			w->queue[tail++] = n->to[a];
		}
	}
	return tail;
}

bool turns_fit_tree(struct turns *turns, const uint8_t *states, bool *tree)
{
	struct work w;
	bool whole = true;

	work_init(&w, turns, tree);
	w.states = states;
	for (uint32_t sw = 0; sw < turns->net->nswitches && whole; sw++) {
		uint32_t root, count;

		if (w.dist[sw] != TOPO_NONE)
			continue;
		root = find_middle(&w, sw);
		count = walk(&w, root);
		forget_walk(&w, count);
		whole = fit_tree(&w, root) == count;
	}
	work_fini(&w);
	return whole;
}

static void begin_with_tiers(struct work *w)
{
	const struct net *n = w->net;
	struct height *heights = mem_alloc_unset(n->nswitches + 1, sizeof(*heights));

	for (uint32_t sw = 0; sw < n->nswitches; sw++)
		heights[sw] =
			(struct height){ (uint32_t)n->level[sw] << 16 | (UINT16_MAX - n->hosts[sw]),
					 sw };
	order_arcs(w, heights);
	turns_allow_order(w->turns);
	free(heights);
}

void turns_begin(struct turns *turns, enum beginning how, uint64_t *seed, bool *tree)
{
	struct work w;

	work_init(&w, turns, tree);
	if (how == BY_TIERS)
		begin_with_tiers(&w);
	else
		begin_with_tree(&w, how, seed);
	work_fini(&w);
}

/*
 * acyclic: makes the tables of a snapshot out of the design's columns (acyclic_design.c). Stages:
 *
 *   design    once for all snapshots that share their links
 *   columns   each column of the design, repaired over allowed turns where links are down
 *   again     if some switch has no path then, or the spanning tree for multicast is cut: turns of
 *             dead arcs, and turns that no column uses, close no cycles any more. So other turns
 *             are allowed, first of arcs that complete the tree, then on demand. Columns that were
 *             incomplete are repaired anew, or follow that tree
 *   replaced  if no arcs complete the tree: another spanning tree of live arcs is allowed first,
 *             then as many of the turns in use as close no cycle with it, and all columns are
 *             repaired by these. That tree connects whatever links connect
 *
 * The result of each stage, and whether it is needed, is a function of snapshot and LIDs.
 */

#define REPAIR_WORK (1 << 14) /* steps of looking for other paths for one column under damage */
#define EXTEND_WORK (64 << 20)

enum stage { DESIGN, COLUMNS, AGAIN, REPLACED, DONE };

struct acyclic {
	const struct topo *shape; /* whose links the net and the design are of; NULL = none */
	struct net net;
	struct acyclic_design design; /* of all known arcs */
	bool overridden;
	bool *spanning; /* by port of the latest snapshot: a link of the tree, in use */

	/* One computation. */
	const struct topo *t;
	const struct lid_map *lids;
	struct tables *out;
	enum stage stage;
	struct design_job *job;
	struct turns extended;
	bool *used; /* by turn: some column that is complete has it */
	bool *tree; /* by arc: the design's, made whole */
	struct column column;
	uint8_t *states, *next;
	uint32_t *part,
		*open_part; /* by switch: what links connect, and what those without cordons do */
	uint32_t at;	    /* destination switch, or arc */
	bool *open;	    /* by destination switch: a column of it is left open */
	uint32_t nopen;
	uint16_t *first_lid, *next_lid; /* chains by home switch, 0 = end */
	uint8_t *place;			/* by LID: among the hosts of its switch */
	uint8_t *exit;			/* by LID: the last port */
};

/* ---- LIDs ------------------------------------------------------------------------------------ */

/*
 * The number of hosts on lower ports of a switch: a host's place, which does not depend on hosts on
 * higher ports.
 */
static uint8_t place_of(const struct topo *t, const struct topo_port *sw_port)
{
	unsigned place = 0;

	for (unsigned num = 1; num < sw_port->num; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, sw_port->node, num));

		place += peer && peer->node >= t->nswitches && !t->nodes[peer->node].sharp;
	}
	return (uint8_t)place;
}

static void find_lid(struct acyclic *a, uint32_t lid)
{
	const struct topo *t = a->t;
	uint32_t port = a->lids->port_of_lid[lid], home;
	const struct topo_port *p = port == TOPO_NONE ? NULL : &t->ports[port], *at = p;

	if (p && p->node >= t->nswitches)
		at = topo_peer(t, p);
	if (!at || at->node >= t->nswitches)
		return;
	home = at->node;
	if (p->node >= t->nswitches) {
		a->place[lid] = (uint8_t)(place_of(t, at) + (lid - a->lids->lid_of_port[port]));
		a->exit[lid] = p->link_up ? at->num : TABLES_NO_ROUTE;
	}
	a->next_lid[lid] = a->first_lid[home];
	a->first_lid[home] = (uint16_t)lid;
}

static void find_lids(struct acyclic *a)
{
	uint32_t top = a->lids->top;

	a->first_lid = mem_alloc(a->t->nswitches + 1, sizeof(*a->first_lid));
	a->next_lid = mem_alloc(top + 1u, sizeof(*a->next_lid));
	a->place = mem_alloc(top + 1u, sizeof(*a->place));
	a->exit = mem_alloc(top + 1u, sizeof(*a->exit));
	for (uint32_t lid = top; lid; lid--)
		find_lid(a, lid);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static bool carries(const struct acyclic *a, uint32_t arc, uint8_t num)
{
	const struct topo_port *port = topo_port(a->t, a->net.from[arc], num);

	return port->link_up && (a->states[arc] == ARC_CORDONED ||
				 !(port->cordoned || topo_peer(a->t, port)->cordoned));
}

/* The port of link `wanted` of an arc, or if it is dead of another one, spread over the others. */
static uint8_t choose_link(const struct acyclic *a, uint32_t arc, unsigned wanted)
{
	const uint8_t *links = a->net.links + a->net.first_link[arc];
	unsigned n = net_links(&a->net, arc), lane = wanted % n;

	for (unsigned try = 0; try + 1 < n && !carries(a, arc, links[lane]); try++)
		lane = (wanted + 1 + (wanted / n + try) % (n - 1)) % n;
	return links[lane];
}

static void write_lid(struct acyclic *a, uint32_t d, uint32_t lid, unsigned spread)
{
	for (uint32_t sw = 0; sw < a->net.nswitches; sw++) {
		uint8_t *entry = tables_row(a->out, sw) + lid;

		if (sw == d)
			*entry = a->exit[lid];
		else
			*entry = a->next[sw] == ARC_NONE
					 ? TABLES_NO_ROUTE
					 : choose_link(a, a->net.first[sw] + a->next[sw], spread);
	}
}

/* Writes the entries of LIDs behind a switch that use its k-th column. */
static void write_column(struct acyclic *a, const struct acyclic_design *design, uint32_t d,
			 unsigned k)
{
	unsigned n = design_columns(design, d);

	for (uint32_t lid = a->first_lid[d]; lid; lid = a->next_lid[lid])
		if (a->place[lid] % n == k)
			write_lid(a, d, lid, d + a->place[lid]);
}

static void note_turns(struct acyclic *a, uint32_t d)
{
	const struct net *n = &a->net;

	for (uint32_t sw = 0; sw < n->nswitches; sw++) {
		uint32_t arc = n->first[sw] + a->next[sw], to;

		if (sw == d || a->next[sw] == ARC_NONE || (to = n->to[arc]) == d)
			continue;
		a->used[turn_number(n, arc, n->first[to] + a->next[to])] = true;
	}
}

/* Makes all columns of a destination. True = all switches that links connect have a path. */
static bool make_columns(struct acyclic *a, const struct acyclic_design *design,
			 const struct turns *turns, uint32_t d)
{
	struct column *c = &a->column;
	bool complete = true;

	c->turns = turns;
	for (unsigned k = 0; k < design_columns(design, d); k++) {
		size_t column = design->first_column[d] + k;

		c->work = REPAIR_WORK;
		column_repair(c, d, design->columns + column * a->net.nswitches, a->next);
		if (c->asking && !column_is_complete(c, a->part)) {
			c->work = REPAIR_WORK;
			column_by_tree(c, a->tree);
		}
		complete &= column_is_complete(c, a->part);
		if (a->stage == COLUMNS && column_is_complete(c, a->part))
			note_turns(a, d);
		a->overridden |= a->t->ncordoned && column_goes_by_cordons(c);
		write_column(a, design, d, k);
	}
	return complete;
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static void forget_shape(struct acyclic *a)
{
	if (!a->shape)
		return;
	acyclic_design_fini(&a->design);
	net_fini(&a->net);
	topo_unref(a->shape);
	a->shape = NULL;
}

static void forget_computation(struct acyclic *a)
{
	if (a->job)
		design_job_end(a->job, NULL);
	a->job = NULL;
	if (a->states)
		column_fini(&a->column);
	if (a->extended.net)
		turns_fini(&a->extended);
	free(a->states);
	free(a->next);
	free(a->part);
	free(a->open_part);
	free(a->open);
	free(a->tree);
	free(a->used);
	free(a->first_lid);
	free(a->next_lid);
	free(a->place);
	free(a->exit);
	a->states = a->next = a->place = a->exit = NULL;
	a->part = a->open_part = NULL;
	a->open = a->tree = a->used = NULL;
	a->first_lid = a->next_lid = NULL;
}

static void begin_columns(struct acyclic *a)
{
	const struct net *n = &a->net;

	a->states = mem_alloc(n->narcs + 1, 1);
	a->next = mem_alloc(n->nswitches + 1, 1);
	a->part = mem_alloc(n->nswitches + 1, sizeof(*a->part));
	a->open_part = mem_alloc(n->nswitches + 1, sizeof(*a->open_part));
	a->open = mem_alloc(n->nswitches + 1, sizeof(*a->open));
	a->used = mem_alloc(n->nturns + 1u, sizeof(*a->used));
	a->tree = mem_alloc(n->narcs + 1, sizeof(*a->tree));
	net_read_states(n, a->t, a->states);
	net_find_parts(n, a->states, ARC_CORDONED, a->part);
	net_find_parts(n, a->states, ARC_OPEN, a->open_part);
	column_init(&a->column, n);
	a->column.states = a->states;
	a->column.open_part = a->open_part;
	find_lids(a);
	a->at = a->nopen = 0;
	a->stage = COLUMNS;
}

static void make_design(struct acyclic *a)
{
	if (design_job_go(a->job))
		return;
	design_job_end(a->job, &a->design);
	a->job = NULL;
	begin_columns(a);
}

/* Allows all turns between an arc and the tree's arcs at its end; false = one is banned. */
static bool allow_with_tree(struct acyclic *a, uint32_t arc)
{
	const struct net *n = &a->net;
	bool all = true;

	for (uint32_t b = n->first[n->to[arc]]; all && b < n->first[n->to[arc] + 1]; b++)
		if (a->tree[b] && b != n->back[arc])
			all = turns_allow(&a->extended, arc, b) &&
			      turns_allow(&a->extended, n->back[b], n->back[arc]);
	return all;
}

static void take_back(struct acyclic *a, uint32_t first, uint32_t second)
{
	uint32_t turn = turn_number(&a->net, first, second);

	if (!a->used[turn])
		a->extended.state[turn] = TURN_UNKNOWN;
}

/* Takes back the turns of an arc that could not be added to the tree. */
static void disallow_with_tree(struct acyclic *a, uint32_t arc)
{
	const struct net *n = &a->net;

	for (uint32_t b = n->first[n->to[arc]]; b < n->first[n->to[arc] + 1]; b++)
		if (a->tree[b] && b != n->back[arc]) {
			take_back(a, arc, b);
			take_back(a, n->back[b], n->back[arc]);
		}
}

/* Parts that arcs of the tree connect. */
static void find_tree_parts(const struct acyclic *a, uint32_t *part)
{
	uint8_t *states = mem_alloc(a->net.narcs + 1, 1);

	for (uint32_t arc = 0; arc < a->net.narcs; arc++)
		states[arc] = a->tree[arc] ? ARC_OPEN : ARC_DOWN;
	net_find_parts(&a->net, states, ARC_OPEN, part);
	free(states);
}

/*
 * Adds to the tree an arc between two of its parts whose turns with the tree are all allowed (any:
 * or not). False = there is none.
 */
static bool add_to_tree(struct acyclic *a, const uint32_t *part, enum arc_state least, bool any)
{
	const struct net *n = &a->net;

	for (uint32_t arc = 0; arc < n->narcs; arc++) {
		if (a->states[arc] < least || part[n->from[arc]] == part[n->to[arc]])
			continue;
		if (any || (allow_with_tree(a, arc) && allow_with_tree(a, n->back[arc]))) {
			a->tree[arc] = a->tree[n->back[arc]] = true;
			return true;
		}
		disallow_with_tree(a, arc);
		disallow_with_tree(a, n->back[arc]);
	}
	return false;
}

/*
 * Joins the tree's parts by arcs of state `least` or better. True = they are the parts `wanted`
 * then.
 */
static bool join_parts(struct acyclic *a, enum arc_state least, bool any, const uint32_t *wanted)
{
	uint32_t *part = mem_alloc_unset(a->net.nswitches + 1, sizeof(*part));
	bool whole;

	do
		find_tree_parts(a, part);
	while (add_to_tree(a, part, least, any));
	whole = !memcmp(part, wanted, a->net.nswitches * sizeof(*part));
	free(part);
	return whole;
}

static bool tree_is_whole(const struct acyclic *a)
{
	uint32_t *part = mem_alloc_unset(a->net.nswitches + 1, sizeof(*part));
	bool whole;

	find_tree_parts(a, part);
	whole = !memcmp(part, a->part, a->net.nswitches * sizeof(*part));
	free(part);
	return whole;
}

/* Completes the tree; cordoned arcs are used only between parts that no others connect. */
static bool join_tree(struct acyclic *a, bool any)
{
	return join_parts(a, ARC_OPEN, any, a->open_part) &&
	       join_parts(a, ARC_CORDONED, any, a->part);
}

static void begin_tree(struct acyclic *a)
{
	for (uint32_t arc = 0; arc < a->net.narcs; arc++)
		a->tree[arc] = a->design.tree[arc] && a->states[arc] == ARC_OPEN;
}

static void allow_tree(struct acyclic *a)
{
	for (uint32_t arc = 0; arc < a->net.narcs; arc++)
		if (a->tree[arc])
			allow_with_tree(a, arc);
}

/* Allows the turns of a new tree, then turns that columns use. */
static void replace_turns(struct acyclic *a)
{
	const struct net *n = &a->net;

	begin_tree(a);
	join_tree(a, true);
	turns_fini(&a->extended);
	turns_init(&a->extended, n);
	turns_forget(&a->extended, a->states, NULL);
	allow_tree(a);
	a->extended.work = EXTEND_WORK;
	for (uint32_t arc = 0; arc < n->narcs; arc++)
		for (uint32_t b = n->first[n->to[arc]]; b < n->first[n->to[arc] + 1]; b++)
			if (a->used[turn_number(n, arc, b)])
				turns_allow(&a->extended, arc, b);
}

static void forget_unused(struct acyclic *a)
{
	if (a->extended.net)
		turns_fini(&a->extended);
	turns_copy(&a->extended, &a->design.turns);
	turns_forget(&a->extended, a->states, a->used);
	a->extended.work = EXTEND_WORK;
}

/*
 * Allows the turns of a spanning tree beside those that columns use: as much of the design's tree
 * as possible, else another. False = no tree that was tried is possible.
 */
static bool extend_turns(struct acyclic *a)
{
	forget_unused(a);
	begin_tree(a);
	allow_tree(a);
	if (join_tree(a, false))
		return true;
	forget_unused(a);
	memset(a->tree, 0, a->net.narcs * sizeof(*a->tree));
	turns_fit_tree(&a->extended, a->states, a->tree);
	return join_tree(a, false);
}

static void make_column(struct acyclic *a)
{
	if (a->at < a->net.nswitches) {
		a->open[a->at] = !make_columns(a, &a->design, &a->design.turns, a->at);
		a->nopen += a->open[a->at++];
		return;
	}
	a->at = 0;
	a->stage = DONE;
	begin_tree(a);
	if (!a->nopen && tree_is_whole(a))
		return;
	a->column.asking = &a->extended;
	if (!extend_turns(a)) {
		replace_turns(a);
		a->stage = REPLACED;
	} else if (a->nopen) {
		a->stage = AGAIN;
	}
}

static void make_open_column(struct acyclic *a)
{
	while (a->at < a->net.nswitches && !a->open[a->at])
		a->at++;
	if (a->at < a->net.nswitches)
		make_columns(a, &a->design, &a->extended, a->at++);
	else
		a->stage = DONE;
}

static void make_column_replaced(struct acyclic *a)
{
	if (a->at < a->net.nswitches)
		make_columns(a, &a->design, &a->extended, a->at++);
	else
		a->stage = DONE;
}

static void note_spanning(struct acyclic *a)
{
	const struct net *n = &a->net;

	a->spanning = mem_resize(a->spanning, a->t->nports + 1u, sizeof(*a->spanning));
	memset(a->spanning, 0, a->t->nports * sizeof(*a->spanning));
	for (uint32_t arc = 0; arc < n->narcs; arc++)
		for (uint32_t i = n->first_link[arc]; a->tree[arc] && i < n->first_link[arc + 1];
		     i++)
			if (carries(a, arc, n->links[i]))
				a->spanning[a->t->nodes[n->from[arc]].port0 + n->links[i]] = true;
}

bool acyclic_go(struct acyclic *a)
{
	static void (*const stages[])(struct acyclic *) = {
		[DESIGN] = make_design,
		[COLUMNS] = make_column,
		[AGAIN] = make_open_column,
		[REPLACED] = make_column_replaced,
	};

	if (a->stage == DONE)
		return false;
	stages[a->stage](a);
	if (a->stage == DONE) {
		note_spanning(a);
		forget_computation(a);
	}
	return a->stage != DONE;
}

void acyclic_begin(struct acyclic *a, const struct topo *t, const struct lid_map *lids,
		   struct tables *out)
{
	bool made = a->shape && a->stage != DESIGN;

	forget_computation(a);
	if (!made || !topo_is_again(a->shape, t)) {
		forget_shape(a);
		net_init(&a->net, t);
		a->shape = topo_ref_frozen(t);
		a->job = design_job_new(&a->net);
		a->stage = DESIGN;
	}
	a->t = t;
	a->lids = lids;
	a->out = out;
	a->overridden = false;
	tables_resize(out, t->nswitches, lids->top);
	memset(out->lft, TABLES_NO_ROUTE, (size_t)out->nswitches * out->stride);
	if (!a->job)
		begin_columns(a);
}

bool acyclic_cordons_overridden(const struct acyclic *a)
{
	return a->overridden;
}

const bool *acyclic_spanning(const struct acyclic *a)
{
	return a->spanning;
}

struct acyclic *acyclic_new(void)
{
	struct acyclic *a = mem_alloc(1, sizeof(*a));

	a->stage = DONE;
	return a;
}

void acyclic_free(struct acyclic *a)
{
	if (!a)
		return;
	forget_computation(a);
	forget_shape(a);
	free(a->spanning);
	free(a);
}
