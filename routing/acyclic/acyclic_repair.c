/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic_repair: repairs a column of which some arcs are dead. A switch whose arc is dead takes
 * another one that all switches behind it may follow: then only its entry moves. If there is none
 * its path, and those of the switches behind it, grow anew, each keeping its entry where that is as
 * short. The result depends on the design and on what is dead, not on the entries before the fault.
 */
#include <string.h>
#include "routing/acyclic/acyclic_column.h"

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
