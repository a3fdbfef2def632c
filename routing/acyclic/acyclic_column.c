/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic_column: the paths of all switches to one destination. They form a tree, as a switch has
 * one entry for a LID. The tree grows from the destination, all switches of one distance at once,
 * so that a path is as short as the turns allow; of equal paths the least loaded is taken. A switch
 * that is settled has chosen its arc before others send through it, so some may find no allowed
 * turn: then a neighbour is moved to another path (column_yield()), or the whole column follows the
 * spanning tree and is shortened from there.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/acyclic/acyclic_own.h"
#include "topology/base/mem.h"

#define ROUNDS_SHORTEN 8

void column_init(struct column *c, const struct net *net)
{
	uint32_t n = net->nswitches + 1;

	*c = (struct column){ .net = net,
			      .hops = mem_alloc(n, sizeof(*c->hops)),
			      .key = mem_alloc(n, sizeof(*c->key)),
			      .settled = mem_alloc(n, sizeof(*c->settled)),
			      .offer = mem_alloc(n, sizeof(*c->offer)),
			      .offer_key = mem_alloc(n, sizeof(*c->offer_key)),
			      .met = mem_alloc_unset(n, sizeof(*c->met)),
			      .bucket = mem_alloc(n, sizeof(*c->bucket)),
			      .link = mem_alloc(n, sizeof(*c->link)),
			      .stack = mem_alloc_unset(n, sizeof(*c->stack)) };
	memset(c->offer, ARC_NONE, n);
}

void column_fini(struct column *c)
{
	free(c->hops);
	free(c->key);
	free(c->settled);
	free(c->offer);
	free(c->offer_key);
	free(c->met);
	free(c->bucket);
	free(c->link);
	free(c->stack);
	*c = (struct column){ 0 };
}

void column_begin(struct column *c, uint32_t d, uint8_t *next)
{
	uint32_t n = c->net->nswitches;

	memset(next, ARC_NONE, n);
	memset(c->settled, 0, n * sizeof(*c->settled));
	memset(c->bucket, 0, n * sizeof(*c->bucket));
	c->d = d;
	c->next = next;
	c->nsettled = c->longest = 0;
	column_settle(c, d, ARC_NONE, 0, 0);
}

void column_settle(struct column *c, uint32_t sw, uint8_t arc, uint32_t hops, uint64_t key)
{
	c->next[sw] = arc;
	c->hops[sw] = hops;
	c->key[sw] = key;
	c->settled[sw] = true;
	c->nsettled++;
	c->link[sw] = c->bucket[hops];
	c->bucket[hops] = sw + 1;
	c->longest = hops > c->longest ? hops : c->longest;
}

/* ---- Growth ---------------------------------------------------------------------------------- */

static uint64_t cost_of(const struct column *c, uint32_t arc)
{
	uint64_t load = c->load ? c->load[arc] / net_links(c->net, arc) : 0;

	return 1 + (c->squared ? load * load : load);
}

bool column_allows(const struct column *c, uint32_t a, uint32_t b)
{
	return c->asking ? turns_allow(c->asking, a, b) : turn_is_allowed(c->turns, a, b);
}

static bool may_follow(const struct column *c, uint32_t arc, uint32_t to)
{
	return to == c->d || !c->turns || column_allows(c, arc, column_arc(c, to));
}

/* Offers the path by a settled switch to neighbours that have none. */
static void offer(struct column *c, uint32_t sw, enum arc_state least, uint32_t *nmet)
{
	const struct net *n = c->net;

	for (uint32_t out = n->first[sw]; out < n->first[sw + 1]; out++) {
		uint32_t arc = n->back[out], from = n->to[out];
		uint8_t number;
		uint64_t key;

		if (c->settled[from] || (c->states && c->states[arc] < least))
			continue;
		if (least < ARC_OPEN && c->open_part[from] == c->open_part[c->d])
			continue;
		number = (uint8_t)(arc - n->first[from]);
		key = c->kept && c->kept[from] == number ? 0 : c->key[sw] + cost_of(c, arc);
		if ((c->offer[from] != ARC_NONE && key >= c->offer_key[from]) ||
		    !may_follow(c, arc, sw))
			continue;
		if (c->offer[from] == ARC_NONE)
			c->met[(*nmet)++] = from;
		c->offer[from] = number;
		c->offer_key[from] = key;
	}
}

static void take_offers(struct column *c, uint32_t nmet)
{
	for (uint32_t i = 0; i < nmet; i++) {
		uint32_t sw = c->met[i], arc = c->net->first[sw] + c->offer[sw];
		uint32_t to = c->net->to[arc];

		column_settle(c, sw, c->offer[sw], c->hops[to] + 1, c->key[to] + cost_of(c, arc));
		c->offer[sw] = ARC_NONE;
	}
}

static void grow_by(struct column *c, enum arc_state least)
{
	for (uint32_t hops = 0; hops <= c->longest; hops++) {
		uint32_t nmet = 0;

		for (uint32_t at = c->bucket[hops]; at; at = c->link[at - 1])
			offer(c, at - 1, least, &nmet);
		take_offers(c, nmet);
	}
}

/* One step over cordoned arcs, for switches without another path. True = a switch was settled. */
static bool step_over_cordons(struct column *c)
{
	uint32_t nmet = 0;

	for (uint32_t hops = 0; hops <= c->longest; hops++)
		for (uint32_t at = c->bucket[hops]; at; at = c->link[at - 1])
			offer(c, at - 1, ARC_CORDONED, &nmet);
	take_offers(c, nmet);
	return nmet > 0;
}

void column_grow(struct column *c)
{
	grow_by(c, ARC_OPEN);
	while (c->states && c->nsettled < c->net->nswitches && step_over_cordons(c))
		grow_by(c, ARC_OPEN);
}

static bool goes_by_cordons(const struct column *c, uint32_t sw)
{
	for (; sw != c->d && c->next[sw] != ARC_NONE; sw = c->net->to[column_arc(c, sw)])
		if (c->states[column_arc(c, sw)] == ARC_CORDONED)
			return true;
	return false;
}

bool column_goes_by_cordons(const struct column *c)
{
	for (uint32_t sw = 0; c->net->hosts[c->d] && sw < c->net->nswitches; sw++)
		if (c->net->hosts[sw] && goes_by_cordons(c, sw))
			return true;
	return false;
}

bool column_is_complete(const struct column *c, const uint32_t *part)
{
	for (uint32_t sw = 0; c->nsettled < c->net->nswitches && sw < c->net->nswitches; sw++)
		if (!c->settled[sw] && part[sw] == part[c->d])
			return false;
	return true;
}

/* ---- Another way for one switch -------------------------------------------------------------- */

static bool leads_by(struct column *c, uint32_t sw, uint32_t by)
{
	for (; sw != c->d; sw = c->net->to[column_arc(c, sw)], c->work--)
		if (sw == by)
			return true;
	return false;
}

/* Whether all switches that send through `sw` may turn to that arc. */
static bool all_may_follow(struct column *c, uint32_t sw, uint32_t arc)
{
	const struct net *n = c->net;

	c->work -= net_degree(n, sw);
	for (uint32_t out = n->first[sw]; out < n->first[sw + 1]; out++) {
		uint32_t in = n->back[out], from = n->to[out];

		if (c->settled[from] && from != c->d && column_arc(c, from) == in &&
		    !column_allows(c, in, arc))
			return false;
	}
	return true;
}

/* Whether a settled switch may send by another arc, with all that send through it. */
static bool may_go_by(struct column *c, uint32_t sw, uint32_t arc)
{
	uint32_t to = c->net->to[arc];

	return c->settled[to] && arc != column_arc(c, sw) &&
	       !(c->states && c->states[arc] != ARC_OPEN) && may_follow(c, arc, to) &&
	       all_may_follow(c, sw, arc) && !leads_by(c, to, sw);
}

/* Sets hops from the destination on; c->stack has the switches in that order. Returns how many. */
static uint32_t measure(struct column *c)
{
	const struct net *n = c->net;
	uint32_t count = 0;

	c->stack[count++] = c->d;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t sw = c->stack[i];

		for (uint32_t out = n->first[sw]; out < n->first[sw + 1]; out++) {
			uint32_t from = n->to[out];

			if (from == c->d || !c->settled[from] ||
			    column_arc(c, from) != n->back[out])
				continue;
			c->hops[from] = c->hops[sw] + 1;
			c->key[from] = c->key[sw] + cost_of(c, n->back[out]);
			c->stack[count++] = from;
		}
	}
	return count;
}

struct change {	      /* what a neighbour would have to do */
	uint32_t arc; /* of the switch without a path */
	uint8_t next; /* of the neighbour */
	uint64_t cost;
};

/*
 * Few hosts that would go a longer path; if none would, few that would go by a loaded arc.
 */
static uint64_t cost_of_change(const struct column *c, uint32_t at, uint32_t arc)
{
	uint32_t hops = c->hops[c->net->to[arc]] + 1;
	uint64_t behind = c->offer_key[at], load = c->load ? c->load[arc] >> 8 : 0;

	if (hops <= c->hops[at] || !behind)
		return behind * (1 + load);
	return behind * (hops - c->hops[at]) << 40;
}

static void weigh_changes(struct column *c, uint32_t sw, uint32_t arc, struct change *best)
{
	const struct net *n = c->net;
	uint32_t at = n->to[arc];

	for (uint32_t b = n->first[at]; b < n->first[at + 1]; b++) {
		uint64_t cost;

		if (!c->settled[n->to[b]])
			continue;
		cost = cost_of_change(c, at, b);
		if (cost < best->cost && column_allows(c, arc, b) && may_go_by(c, at, b))
			*best = (struct change){ arc, (uint8_t)(b - n->first[at]), cost };
	}
}

/* Gives `sw` a path by moving a neighbour to another one. False = no neighbour can move. */
static bool ask_neighbours(struct column *c, uint32_t sw)
{
	const struct net *n = c->net;
	struct change best = { .cost = UINT64_MAX };
	uint32_t at;

	for (uint32_t a = n->first[sw]; a < n->first[sw + 1] && best.cost; a++)
		if (n->to[a] != c->d && c->settled[n->to[a]] &&
		    !(c->states && c->states[a] != ARC_OPEN))
			weigh_changes(c, sw, a, &best);
	if (best.cost == UINT64_MAX)
		return false;
	at = n->to[best.arc];
	c->next[at] = best.next;
	column_settle(c, sw, (uint8_t)(best.arc - n->first[sw]), c->hops[at] + 1,
		      c->key[at] + cost_of(c, best.arc));
	return true;
}

/* Hosts behind each settled switch, its own included; in c->offer_key. */
static void count_behind(struct column *c)
{
	uint32_t count = measure(c);

	for (uint32_t i = 0; i < count; i++)
		c->offer_key[c->stack[i]] = c->net->hosts[c->stack[i]];
	for (uint32_t i = count; i-- > 1;)
		c->offer_key[c->net->to[column_arc(c, c->stack[i])]] += c->offer_key[c->stack[i]];
}

void column_yield(struct column *c)
{
	bool more = true;

	while (more && c->work > 0 && c->nsettled < c->net->nswitches) {
		more = false;
		count_behind(c);
		for (uint32_t sw = 0; sw < c->net->nswitches && c->work > 0; sw++)
			if (!c->settled[sw] && ask_neighbours(c, sw)) {
				c->offer_key[sw] = c->net->hosts[sw];
				more = true;
			}
		if (more)
			column_grow(c);
	}
}

/* ---- By the tree ----------------------------------------------------------------------------- */

static uint8_t shorter_arc(struct column *c, uint32_t sw)
{
	uint64_t best = c->key[sw];
	uint32_t hops = c->hops[sw];
	uint8_t found = ARC_NONE;

	for (uint32_t arc = c->net->first[sw]; arc < c->net->first[sw + 1]; arc++) {
		uint32_t to = c->net->to[arc];
		uint64_t key = c->key[to] + cost_of(c, arc);

		if (c->hops[to] + 1 > hops || (c->hops[to] + 1 == hops && key >= best) ||
		    !may_go_by(c, sw, arc))
			continue;
		hops = c->hops[to] + 1;
		best = key;
		found = (uint8_t)(arc - c->net->first[sw]);
	}
	return found;
}

static bool shorten(struct column *c)
{
	uint32_t count = measure(c);
	uint32_t *order = c->met;
	bool any = false;

	memcpy(order, c->stack, count * sizeof(*order));
	for (uint32_t i = 1; i < count && c->work > 0; i++) {
		uint8_t arc = shorter_arc(c, order[i]);

		if (arc == ARC_NONE)
			continue;
		c->next[order[i]] = arc;
		c->hops[order[i]] = c->hops[c->net->to[column_arc(c, order[i])]] + 1;
		any = true;
	}
	return any;
}

void column_by_tree(struct column *c, const bool *tree)
{
	const struct net *n = c->net;
	uint32_t count = 0;

	column_begin(c, c->d, c->next);
	c->stack[count++] = c->d;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t sw = c->stack[i];

		for (uint32_t out = n->first[sw]; out < n->first[sw + 1]; out++) {
			uint32_t from = n->to[out], arc = n->back[out];

			if (!tree[arc] || c->settled[from])
				continue;
			column_settle(c, from, (uint8_t)(arc - n->first[from]), c->hops[sw] + 1, 0);
			c->stack[count++] = from;
		}
	}
	for (unsigned round = 0; round < ROUNDS_SHORTEN && c->work > 0; round++)
		if (!shorten(c))
			break;
}

/* ---- Loads ----------------------------------------------------------------------------------- */

void account_init(struct account *a, const struct net *net)
{
	*a = (struct account){ .load = mem_alloc(net->narcs + 1, sizeof(*a->load)),
			       .sum = mem_alloc(net->nswitches + 1, sizeof(*a->sum)),
			       .children = mem_alloc(net->nswitches + 1, sizeof(*a->children)),
			       .queue = mem_alloc_unset(net->nswitches + 1, sizeof(*a->queue)) };
}

void account_fini(struct account *a)
{
	free(a->load);
	free(a->sum);
	free(a->children);
	free(a->queue);
}

/*
 * Switches nobody comes by first: what a switch sends on is what comes by it and what its own hosts
 * send.
 */
void account_column(struct account *a, const struct net *net, uint32_t d, const uint8_t *next,
		    int64_t weight)
{
	uint32_t n = 0;

	memset(a->children, 0, net->nswitches * sizeof(*a->children));
	for (uint32_t sw = 0; sw < net->nswitches; sw++) {
		a->sum[sw] = net->hosts[sw];
		if (sw != d && next[sw] != ARC_NONE)
			a->children[net->to[net->first[sw] + next[sw]]]++;
	}
	for (uint32_t sw = 0; sw < net->nswitches; sw++)
		if (sw != d && next[sw] != ARC_NONE && !a->children[sw])
			a->queue[n++] = sw;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t arc = net->first[a->queue[i]] + next[a->queue[i]], to = net->to[arc];

		a->load[arc] += (uint64_t)((int64_t)a->sum[a->queue[i]] * weight);
		a->sum[to] += a->sum[a->queue[i]];
		if (!--a->children[to] && to != d)
			a->queue[n++] = to;
	}
}
