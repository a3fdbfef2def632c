/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/acyclic/acyclic_turns.h"
#include <stdlib.h>
#include <string.h>
#include "routing/acyclic/acyclic_column.h"
#include "topology/mem.h"

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
		uint8_t number = (uint8_t)((c->d + designed[sw] + i) % degree);
		uint32_t arc = n->first[sw] + number, to = n->to[arc];

		if (c->states[arc] != ARC_OPEN || !c->settled[to] || c->hops[to] >= best)
			continue;
		if ((to != c->d && !column_allows(c, arc, column_arc(c, to))) ||
		    !those_behind_may_follow(c, sw, arc, designed))
			continue;
		best = c->hops[to];
		found = number;
	}
	return found;
}

static bool is_cut(const struct column *c, uint32_t sw, const uint8_t *designed)
{
	return !c->settled[sw] && designed[sw] != ARC_NONE &&
	       c->states[c->net->first[sw] + designed[sw]] != ARC_OPEN;
}

/* One after the other, for as long as that helps. */
static void repair_cuts(struct column *c, const uint8_t *designed)
{
	for (bool more = true; more;) {
		more = false;
		for (uint32_t sw = 0; sw < c->net->nswitches; sw++) {
			uint8_t arc =
				is_cut(c, sw, designed) ? find_arc(c, sw, designed) : ARC_NONE;

			if (arc == ARC_NONE)
				continue;
			column_settle(c, sw, arc, c->hops[c->net->to[c->net->first[sw] + arc]] + 1,
				      0);
			settle_behind(c, sw, designed);
			more = true;
		}
	}
}

static bool is_whole(const struct column *c, const uint8_t *designed)
{
	for (uint32_t sw = 0; sw < c->net->nswitches; sw++)
		if (designed[sw] != ARC_NONE &&
		    c->states[c->net->first[sw] + designed[sw]] != ARC_OPEN)
			return false;
	return true;
}

void column_repair(struct column *c, uint32_t d, const uint8_t *designed, uint8_t *next)
{
	column_begin(c, d, next);
	if (!c->asking && is_whole(c, designed)) {
		memcpy(next, designed, c->net->nswitches);
		c->nsettled = c->net->nswitches;
		return;
	}
	settle_behind(c, d, designed);
	repair_cuts(c, designed);
	if (c->nsettled == c->net->nswitches)
		return;
	c->kept = designed;
	column_grow(c);
	c->kept = NULL;
	column_yield(c);
}

/*
 * acyclic_turns: a set of turns without a cycle, which grows. The order of arcs that proves it is
 * kept as Pearce and Kelly do ("A dynamic topological sort algorithm for directed acyclic graphs",
 * 2006): a turn along the order costs nothing, one against it a search of what lies between its
 * arcs, and the order is repaired there.
 */

void turns_init(struct turns *turns, const struct net *net)
{
	uint32_t n = net->narcs + 1;

	*turns = (struct turns){ .net = net,
				 .state = mem_alloc(net->nturns + 1u, 1),
				 .position = mem_alloc(n, sizeof(*turns->position)),
				 .mark = mem_alloc(n, sizeof(*turns->mark)),
				 .before = mem_alloc_unset(n, sizeof(*turns->before)),
				 .after = mem_alloc_unset(n, sizeof(*turns->after)),
				 .places = mem_alloc_unset(n, sizeof(*turns->places)),
				 .work = INT64_MAX };
	for (uint32_t a = 0; a < net->narcs; a++) {
		turns->position[a] = a;
		turns->state[turn_number(net, a, net->back[a])] = TURN_BANNED;
	}
}

void turns_fini(struct turns *turns)
{
	free(turns->state);
	free(turns->position);
	free(turns->mark);
	free(turns->before);
	free(turns->after);
	free(turns->places);
	*turns = (struct turns){ 0 };
}

void turns_copy(struct turns *to, const struct turns *from)
{
	turns_init(to, from->net);
	memcpy(to->state, from->state, from->net->nturns);
	memcpy(to->position, from->position, from->net->narcs * sizeof(*to->position));
}

void turns_allow_order(struct turns *turns)
{
	const struct net *n = turns->net;

	for (uint32_t a = 0; a < n->narcs; a++)
		for (uint32_t b = n->first[n->to[a]]; b < n->first[n->to[a] + 1]; b++)
			if (b != n->back[a] && turns->position[a] < turns->position[b])
				turns->state[turn_number(n, a, b)] = TURN_ALLOWED;
}

void turns_forget(struct turns *turns, const uint8_t *states, const bool *used)
{
	const struct net *n = turns->net;

	for (uint32_t a = 0; a < n->narcs; a++)
		for (uint32_t b = n->first[n->to[a]]; b < n->first[n->to[a] + 1]; b++) {
			uint8_t *state = &turns->state[turn_number(n, a, b)];

			if (states[a] == ARC_DOWN || states[b] == ARC_DOWN || b == n->back[a])
				*state = TURN_BANNED;
			else if (*state == TURN_BANNED || (used && !used[turn_number(n, a, b)]))
				*state = TURN_UNKNOWN;
		}
}

/* ---- One more -------------------------------------------------------------------------------- */

static bool meet(struct turns *t, uint32_t arc)
{
	if (t->mark[arc] == t->marks)
		return false;
	t->mark[arc] = t->marks;
	return true;
}

/*
 * Arcs that b leads to and that are not behind a in the order, itself first. False: a is one of
 * them.
 */
static bool find_after(struct turns *t, uint32_t a, uint32_t b, uint32_t *count)
{
	const struct net *n = t->net;
	uint32_t end = t->position[a];

	t->marks++;
	meet(t, b);
	t->after[0] = b;
	*count = 1;
	for (uint32_t i = 0; i < *count; i++) {
		uint32_t arc = t->after[i], first = n->first[n->to[arc]];
		const uint8_t *state = &t->state[n->first_turn[arc]];
		unsigned degree = net_degree(n, n->to[arc]);

		t->work -= degree;
		for (unsigned k = 0; k < degree; k++) {
			if (state[k] != TURN_ALLOWED || t->position[first + k] > end)
				continue;
			if (first + k == a)
				return false;
			if (meet(t, first + k))
				t->after[(*count)++] = first + k;
		}
	}
	return true;
}

/* Arcs that lead to a and are not before b in the order, itself first. */
static void find_before(struct turns *t, uint32_t a, uint32_t b, uint32_t *count)
{
	const struct net *n = t->net;
	uint32_t begin = t->position[b];

	t->marks++;
	meet(t, a);
	t->before[0] = a;
	*count = 1;
	for (uint32_t i = 0; i < *count; i++) {
		uint32_t arc = t->before[i], sw = n->from[arc];

		t->work -= net_degree(n, sw);
		for (uint32_t out = n->first[sw]; out < n->first[sw + 1]; out++) {
			uint32_t in = n->back[out];

			if (t->position[in] > begin && turn_is_allowed(t, in, arc) && meet(t, in))
				t->before[(*count)++] = in;
		}
	}
}

static int by_position(const void *a, const void *b, void *arg)
{
	const uint32_t *position = arg;
	uint32_t x = position[*(const uint32_t *)a], y = position[*(const uint32_t *)b];

	return x < y ? -1 : x > y;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * What leads to a takes the first of all their places, what b leads to the last; each in its order.
 */
static void reorder(struct turns *t, uint32_t nbefore, uint32_t nafter)
{
	uint32_t n = 0;

	qsort_r(t->before, nbefore, sizeof(*t->before), by_position, t->position);
	qsort_r(t->after, nafter, sizeof(*t->after), by_position, t->position);
	for (uint32_t i = 0; i < nbefore; i++)
		t->places[n++] = t->position[t->before[i]];
	for (uint32_t i = 0; i < nafter; i++)
		t->places[n++] = t->position[t->after[i]];
	qsort(t->places, n, sizeof(*t->places), by_value);
	n = 0;
	for (uint32_t i = 0; i < nbefore; i++)
		t->position[t->before[i]] = t->places[n++];
	for (uint32_t i = 0; i < nafter; i++)
		t->position[t->after[i]] = t->places[n++];
}

bool turns_allow(struct turns *t, uint32_t a, uint32_t b)
{
	uint8_t *state = &t->state[turn_number(t->net, a, b)];
	uint32_t nbefore, nafter;

	if (*state != TURN_UNKNOWN)
		return *state == TURN_ALLOWED;
	*state = TURN_BANNED;
	if (t->position[a] > t->position[b]) {
		if (t->work <= 0 || !find_after(t, a, b, &nafter))
			return false;
		find_before(t, a, b, &nbefore);
		reorder(t, nbefore, nafter);
	}
	*state = TURN_ALLOWED;
	return true;
}
