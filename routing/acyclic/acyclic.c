/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/acyclic/acyclic.h"
#include "routing/acyclic/acyclic_own.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

/*
 * acyclic_repair: repairs a column of which some arcs are dead. A switch whose arc is dead takes
 * another one that all switches behind it may follow: then only its entry moves. If there is none
 * its path, and those of the switches behind it, grow anew, each keeping its entry where that is as
 * short. The result depends on the design and on what is dead, not on the entries before the fault.
 */

/*
 * What comes by a settled switch as the design has it, and by arcs that are open, is settled as
 * well.
 */
static void settle_behind(struct column *c, uint32_t first, const uint8_t *designed)
{
	const struct net *n = c->net;
	uint32_t count = 0;

	c->stack[count++] = first;
	while (count) {
		uint32_t sw = c->stack[--count];

		for (uint32_t out = n->first[sw]; out < n->first[sw + 1]; out++) {
			uint32_t from = n->to[out], arc = n->back[out];

			if (c->settled[from] || designed[from] == ARC_NONE ||
			    n->first[from] + designed[from] != arc || c->states[arc] != ARC_OPEN ||
			    (sw != c->d && !column_allows(c, arc, column_arc(c, sw))))
				continue;
			column_settle(c, from, designed[from], c->hops[sw] + 1, 0);
			c->stack[count++] = from;
		}
	}
}

static bool those_behind_may_follow(const struct column *c, uint32_t sw, uint32_t arc,
				    const uint8_t *designed)
{
	const struct net *n = c->net;

	for (uint32_t out = n->first[sw]; out < n->first[sw + 1]; out++) {
		uint32_t from = n->to[out], in = n->back[out];

		if (!c->settled[from] && designed[from] != ARC_NONE &&
		    n->first[from] + designed[from] == in && c->states[in] == ARC_OPEN &&
		    !column_allows(c, in, arc))
			return false;
	}
	return true;
}

/*
 * The shortest of its arcs that those behind it may follow; of equal ones not the same for all
 * destinations.
 */
static uint8_t find_arc(const struct column *c, uint32_t sw, const uint8_t *designed)
{
	const struct net *n = c->net;
	unsigned degree = net_degree(n, sw);
	uint32_t best = UINT32_MAX;
	uint8_t found = ARC_NONE;

	for (unsigned i = 0; i < degree; i++) {
		uint8_t number = (c->d + designed[sw] + i) % degree;
		uint32_t arc = n->first[sw] + number, to = n->to[arc];

		if (c->states[arc] != ARC_OPEN || !c->settled[to] || c->hops[to] >= best ||
		    (to != c->d && !column_allows(c, arc, column_arc(c, to))) ||
		    !those_behind_may_follow(c, sw, arc, designed))
			continue;
		best = c->hops[to];
		found = number;
	}
	return found;
}

/*
 * Fills `next` with the design's column under damage: `designed` where its path is still live, and
 * as few changed entries as possible.
 */
static void column_repair(struct column *c, uint32_t d, const uint8_t *designed, uint8_t *next)
{
	column_begin(c, d, next);
	if (!c->asking &&
	    !any_of(sw, 0, c->net->nswitches,
		    designed[sw] != ARC_NONE &&
			    c->states[c->net->first[sw] + designed[sw]] != ARC_OPEN)) {
		memcpy(next, designed, c->net->nswitches);
		c->nsettled = c->net->nswitches;
		return;
	}
	settle_behind(c, d, designed);

	/* One after the other, for as long as that helps. */
	for (bool more = true; more;) {
		more = false;
		for (uint32_t sw = 0; sw < c->net->nswitches; sw++) {
			uint8_t arc = !c->settled[sw] && designed[sw] != ARC_NONE &&
						      c->states[c->net->first[sw] + designed[sw]] !=
							      ARC_OPEN
					      ? find_arc(c, sw, designed)
					      : ARC_NONE;

			if (arc == ARC_NONE)
				continue;
			column_settle(c, sw, arc, c->hops[c->net->to[c->net->first[sw] + arc]] + 1,
				      0);
			settle_behind(c, sw, designed);
			more = true;
		}
	}

	if (c->nsettled == c->net->nswitches)
		return;
	c->kept = designed;
	column_grow(c);
	c->kept = NULL;
	column_yield(c);
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

	/* One computation: the scratch owns its arrays. */
	struct arena *scratch;
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
	return place;
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
	unsigned n = net_links(&a->net, arc), lane = n > 1 ? wanted % n : 0;

	for (unsigned try = 0; try + 1 < n && !carries(a, arc, links[lane]); try++)
		lane = (wanted + 1 + (wanted / n + try) % (n - 1)) % n;
	return links[lane];
}

/* The entries of LIDs behind a switch that use its k-th column. */
static void write_lids(struct acyclic *a, const struct acyclic_design *design, uint32_t d,
		       unsigned k)
{
	unsigned n = design_columns(design, d);

	for (uint32_t sw = 0; sw < a->net.nswitches; sw++) {
		uint8_t *row = tables_row(a->out, sw), next = a->next[sw];

		for (uint32_t lid = a->first_lid[d]; lid; lid = a->next_lid[lid])
			if (n == 1 || a->place[lid] % n == k)
				row[lid] = sw == d ? a->exit[lid]
					   : next == ARC_NONE
						   ? TABLES_NO_ROUTE
						   : choose_link(a, a->net.first[sw] + next,
								 d + a->place[lid]);
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
		if (a->stage == COLUMNS && column_is_complete(c, a->part)) {
			const struct net *n = &a->net;

			for (uint32_t sw = 0; sw < n->nswitches; sw++) {
				uint32_t arc = n->first[sw] + a->next[sw], to;

				if (sw == d || a->next[sw] == ARC_NONE || (to = n->to[arc]) == d)
					continue;
				a->used[turn_number(n, arc, n->first[to] + a->next[to])] = true;
			}
		}
		a->overridden |= a->t->ncordoned && column_goes_by_cordons(c);

		write_lids(a, design, d, k);
	}
	return complete;
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static void forget_shape(struct acyclic *a)
{
	if (!a->shape)
		return;
	acyclic_design_fini(&a->design);
	arena_free(a->net.arena);
	a->net = (struct net){ 0 };
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
	arena_free(a->scratch);
	a->scratch = NULL;
	a->states = NULL;
}

static void begin_columns(struct acyclic *a)
{
	const struct net *n = &a->net;

	a->scratch = arena_new();
	a->states = arena_alloc(a->scratch, n->narcs + 1, 1);
	a->next = arena_alloc(a->scratch, n->nswitches + 1, 1);
	a->part = arena_array(a->scratch, a->part, n->nswitches + 1);
	a->open_part = arena_array(a->scratch, a->open_part, n->nswitches + 1);
	a->open = arena_array(a->scratch, a->open, n->nswitches + 1);
	a->used = arena_array(a->scratch, a->used, n->nturns + 1u);
	a->tree = arena_array(a->scratch, a->tree, n->narcs + 1);
	net_read_states(n, a->t, a->states);
	net_find_parts(n, a->states, ARC_CORDONED, a->part);
	net_find_parts(n, a->states, ARC_OPEN, a->open_part);
	column_init(&a->column, n);
	a->column.states = a->states;
	a->column.open_part = a->open_part;

	uint32_t top = a->lids->top;

	a->first_lid = arena_array(a->scratch, a->first_lid, a->t->nswitches + 1);
	a->next_lid = arena_array(a->scratch, a->next_lid, top + 1u);
	a->place = arena_array(a->scratch, a->place, top + 1u);
	a->exit = arena_array(a->scratch, a->exit, top + 1u);
	for (uint32_t lid = top; lid; lid--) {
		const struct topo *t = a->t;
		uint32_t port = a->lids->port_of_lid[lid], home;
		const struct topo_port *p = port == TOPO_NONE ? NULL : &t->ports[port], *at = p;

		if (p && p->node >= t->nswitches)
			at = topo_peer(t, p);
		if (!at || at->node >= t->nswitches)
			continue;
		home = at->node;
		if (p->node >= t->nswitches) {
			a->place[lid] = place_of(t, at) + (lid - a->lids->lid_of_port[port]);
			a->exit[lid] = p->link_up ? at->num : TABLES_NO_ROUTE;
		}
		a->next_lid[lid] = a->first_lid[home];
		a->first_lid[home] = lid;
	}

	a->at = a->nopen = 0;
	a->stage = COLUMNS;
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
	uint32_t *part = mem_array_unset(part, a->net.nswitches + 1);

	do
		find_tree_parts(a, part);
	while (add_to_tree(a, part, least, any));

	bool whole = !memcmp(part, wanted, a->net.nswitches * sizeof(*part));

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
	mem_zero(a->tree, a->net.narcs);
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
	if (!a->nopen && join_parts(a, ARC_OPEN + 1, false, a->part)) /* by none: it is whole */
		return;
	a->column.asking = &a->extended;
	if (!extend_turns(a)) {
		/* Allows the turns of a new tree, then turns that columns use. */
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

		a->stage = REPLACED;
	} else if (a->nopen) {
		a->stage = AGAIN;
	}
}

static void note_spanning(struct acyclic *a)
{
	const struct net *n = &a->net;

	a->spanning = mem_array_resize(a->spanning, a->t->nports + 1u);
	mem_zero(a->spanning, a->t->nports);
	for (uint32_t arc = 0; arc < n->narcs; arc++)
		for (uint32_t i = n->first_link[arc]; a->tree[arc] && i < n->first_link[arc + 1];
		     i++)
			if (carries(a, arc, n->links[i]))
				a->spanning[a->t->nodes[n->from[arc]].port0 + n->links[i]] = true;
}

static bool acyclic_go(struct acyclic *a)
{
	if (a->stage == DESIGN && !design_job_go(a->job)) {
		design_job_end(a->job, &a->design);
		a->job = NULL;
		begin_columns(a);
	} else if (a->stage == COLUMNS) {
		make_column(a);
	} else if (a->stage != DESIGN) {
		/* A column by the extended turns: of those that are open, or (REPLACED) of all. */
		while (a->at < a->net.nswitches && a->stage == AGAIN && !a->open[a->at])
			a->at++;
		if (a->at < a->net.nswitches)
			make_columns(a, &a->design, &a->extended, a->at++);
		else
			a->stage = DONE;
	}
	if (a->stage == DONE) {
		note_spanning(a);
		forget_computation(a);
	}
	return a->stage != DONE;
}

#define ROW_NS	10000  /* to empty a row in memory that nobody touched */
#define STEP_NS 200000 /* of an acyclic_go() */

void acyclic_compute(struct acyclic *a, const struct topo *t, const struct lid_map *lids,
		     struct tables *out, struct fiber *fiber)
{
	bool made = a->shape && a->stage != DESIGN;

	forget_computation(a);
	if (!made || !topo_is_again(a->shape, t)) {
		forget_shape(a);
		net_init(&a->net, t, fiber);
		a->shape = topo_ref_frozen(t);
		a->job = design_job_new(&a->net);
		a->stage = DESIGN;
	}
	a->net.fiber = fiber;
	a->t = t;
	a->lids = lids;
	a->out = out;
	a->overridden = false;
	tables_resize(out, t->nswitches, lids->top);
	tables_forget(out);
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		memset(tables_row(out, sw), TABLES_NO_ROUTE, out->stride);
		fiber_spend(fiber, ROW_NS);
	}
	if (!a->job)
		begin_columns(a);
	while (!fiber_hurries(fiber) && acyclic_go(a))
		fiber_spend(fiber, STEP_NS);
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
	struct acyclic *a = mem_new(a);

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
