/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic_column: turns, and the paths of all switches to one destination by them. These form a
 * tree, as a switch has one entry for a LID. The tree grows from the destination, all switches of
 * one distance at once, so that a path is as short as the turns allow; of equal paths the least
 * loaded is taken. A switch that is settled has chosen its arc before others send through it, so
 * some may find no allowed turn: then a neighbour is moved to another path (column_yield()), or the
 * whole column follows the spanning tree and is shortened from there.
 */
#include "routing/acyclic/acyclic_own.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/* ---- A set of turns without a cycle, which grows --------------------------------------------- */

/*
 * An order of arcs proves it. A turn along the order costs nothing. One against it takes a search
 * of what the second arc leads to, up to the first one in the order; all of that moves behind it.
 */

void turns_init(struct turns *turns, const struct net *net)
{
	uint32_t n = net->narcs + 1;

	*turns = (struct turns){ .net = net,
				 .state = mem_alloc(net->nturns + 1u, 1),
				 .position = mem_array(turns->position, n),
				 .at = mem_array(turns->at, n),
				 .mark = mem_array(turns->mark, n),
				 .after = mem_array_unset(turns->after, n),
				 .work = INT64_MAX };
	for (uint32_t a = 0; a < net->narcs; a++) {
		turns->position[a] = turns->at[a] = a;
		turns->state[turn_number(net, a, net->back[a])] = TURN_BANNED;
	}
}

void turns_fini(struct turns *turns)
{
	free(turns->state);
	free(turns->position);
	free(turns->at);
	free(turns->mark);
	free(turns->after);
	*turns = (struct turns){ 0 };
}

void turns_copy(struct turns *to, const struct turns *from)
{
	turns_init(to, from->net);
	memcpy(to->state, from->state, from->net->nturns);
	mem_copy(to->position, from->position, from->net->narcs);
	mem_copy(to->at, from->at, from->net->narcs);
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
		uint32_t next[UINT8_MAX + 1], nnext = 0;

		t->work -= degree;
		/* Without a branch, as no processor foresees it. */
		for (unsigned k = 0; k < degree; k++) {
			next[nnext] = first + k;
			nnext += (state[k] == TURN_ALLOWED) & (t->position[first + k] <= end);
		}
		for (unsigned k = 0; k < nnext; k++) {
			if (next[k] == a)
				return false;
			if (meet(t, next[k]))
				t->after[(*count)++] = next[k];
		}
	}
	return true;
}

bool turns_allow(struct turns *t, uint32_t a, uint32_t b)
{
	uint8_t *state = &t->state[turn_number(t->net, a, b)];
	uint32_t nafter, place = t->position[b], end = t->position[a];
	int64_t work = t->work;

	if (*state != TURN_UNKNOWN)
		return *state == TURN_ALLOWED;
	*state = TURN_BANNED;
	if (place < end) {
		if (t->work <= 0 || !find_after(t, a, b, &nafter)) {
			fiber_spend(t->net->fiber, (work - t->work) * TURN_NS);
			return false;
		}
		t->work -= (end - place) / 4; /* some of these take as long as one turn */
		nafter = 0;
		for (uint32_t from = place; from <= end; from++) {
			uint32_t arc = t->at[from];

			if (t->mark[arc] == t->marks)
				t->after[nafter++] = arc;
			else
				t->at[t->position[arc] = place++] = arc;
		}
		for (uint32_t i = 0; i < nafter; i++)
			t->at[t->position[t->after[i]] = place++] = t->after[i];
		fiber_spend(t->net->fiber, (work - t->work) * TURN_NS);
	}
	*state = TURN_ALLOWED;
	return true;
}

/* ---- A column -------------------------------------------------------------------------------- */

#define ROUNDS_SHORTEN 5

void column_init(struct column *c, const struct net *net)
{
	uint32_t n = net->nswitches + 1;
	struct arena *arena = arena_new();

	*c = (struct column){ .net = net,
			      .arena = arena,
			      .hops = arena_array(arena, c->hops, n),
			      .key = arena_array(arena, c->key, n),
			      .settled = arena_array(arena, c->settled, n),
			      .offer = arena_array(arena, c->offer, n),
			      .offer_key = arena_array(arena, c->offer_key, n),
			      .met = arena_array(arena, c->met, n),
			      .bucket = arena_array(arena, c->bucket, n),
			      .link = arena_array(arena, c->link, n),
			      .stack = arena_array(arena, c->stack, n),
			      .taken = arena_array(arena, c->taken, net->narcs + 1) };
	memset(c->offer, ARC_NONE, n);
}

void column_fini(struct column *c)
{
	arena_free(c->arena);
	*c = (struct column){ 0 };
}

void column_begin(struct column *c, uint32_t d, uint8_t *next)
{
	uint32_t n = c->net->nswitches;

	memset(next, ARC_NONE, n);
	mem_zero(c->settled, n);
	mem_zero(c->bucket, n);
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
	unsigned links = net_links(c->net, arc);
	uint64_t load = !c->load ? 0 : links > 1 ? c->load[arc] / links : c->load[arc];

	return 1 + (c->squared ? load * load : load);
}

bool column_allows(const struct column *c, uint32_t a, uint32_t b)
{
	return c->asking ? turns_allow(c->asking, a, b)
			 : c->turns->state[turn_number(c->turns->net, a, b)] == TURN_ALLOWED;
}

/* Offers the path by a settled switch to neighbours that have none. */
static void offer(struct column *c, uint32_t sw, enum arc_state least, uint32_t *nmet)
{
	const struct net *n = c->net;
	/* States of turns to its own arc, found once: a stored byte might change it. */
	const uint8_t *own = sw != c->d && c->turns ? c->turns->state + c->next[sw] : NULL;

	for (uint32_t out = n->first[sw], end = n->first[sw + 1]; out < end; out++) {
		uint32_t arc = n->back[out], from = n->to[out];

		if (c->settled[from] || (c->states && c->states[arc] < least) ||
		    (least < ARC_OPEN && c->open_part[from] == c->open_part[c->d]))
			continue;

		uint8_t number = arc - n->first[from];

		uint64_t key =
			c->kept && c->kept[from] == number ? 0 : c->key[sw] + cost_of(c, arc);

		if ((c->offer[from] != ARC_NONE && key >= c->offer_key[from]) ||
		    (own && !(c->asking ? column_allows(c, arc, column_arc(c, sw))
					: own[n->first_turn[arc]] == TURN_ALLOWED)))
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
	do
		for (uint32_t hops = 0; hops <= c->longest; hops++) {
			uint32_t nmet = 0;

			for (uint32_t at = c->bucket[hops]; at; at = c->link[at - 1])
				offer(c, at - 1, ARC_OPEN, &nmet);
			take_offers(c, nmet);
		}
	while (c->states && c->nsettled < c->net->nswitches && step_over_cordons(c));
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
	       !(c->states && c->states[arc] != ARC_OPEN) &&
	       (to == c->d || !c->turns || column_allows(c, arc, column_arc(c, to))) &&
	       all_may_follow(c, sw, arc);
}

/* Sets hops from the destination on; c->stack has the switches in that order. Returns how many. */
static uint32_t measure(struct column *c)
{
	const struct net *n = c->net;
	uint32_t count = 0;

	for (uint32_t sw = 0; sw < n->nswitches; sw++)
		if (sw != c->d && c->settled[sw])
			c->taken[n->back[column_arc(c, sw)]] = true;
	c->stack[count++] = c->d;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t sw = c->stack[i];

		for (uint32_t out = n->first[sw]; out < n->first[sw + 1]; out++) {
			uint32_t from = n->to[out];

			if (!c->taken[out])
				continue;
			c->taken[out] = false;
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

	return hops <= c->hops[at] || !behind ? behind * (1 + load)
					      : behind * (hops - c->hops[at]) << 40;
}

static void weigh_changes(struct column *c, uint32_t sw, uint32_t arc, struct change *best)
{
	const struct net *n = c->net;
	uint32_t at = n->to[arc];

	for (uint32_t b = n->first[at]; b < n->first[at + 1]; b++) {
		if (!c->settled[n->to[b]])
			continue;

		uint64_t cost = cost_of_change(c, at, b);

		if (cost < best->cost && column_allows(c, arc, b) && may_go_by(c, at, b) &&
		    !leads_by(c, n->to[b], at))
			*best = (struct change){ arc, b - n->first[at], cost };
	}
}

/* Gives `sw` a path by moving a neighbour to another one. False = no neighbour can move. */
static bool ask_neighbours(struct column *c, uint32_t sw)
{
	const struct net *n = c->net;
	struct change best = { .cost = UINT64_MAX };

	for (uint32_t a = n->first[sw]; a < n->first[sw + 1] && best.cost; a++)
		if (n->to[a] != c->d && c->settled[n->to[a]] &&
		    !(c->states && c->states[a] != ARC_OPEN))
			weigh_changes(c, sw, a, &best);
	if (best.cost == UINT64_MAX)
		return false;

	uint32_t at = n->to[best.arc];

	c->next[at] = best.next;
	column_settle(c, sw, best.arc - n->first[sw], c->hops[at] + 1,
		      c->key[at] + cost_of(c, best.arc));
	return true;
}

void column_yield(struct column *c)
{
	bool more = true;

	while (more && c->work > 0 && c->nsettled < c->net->nswitches) {
		more = false;

		/* Hosts behind each settled switch, its own included; in c->offer_key. */
		uint32_t count = measure(c);

		for (uint32_t i = 0; i < count; i++)
			c->offer_key[c->stack[i]] = c->net->hosts[c->stack[i]];
		for (uint32_t i = count; i-- > 1;)
			c->offer_key[c->net->to[column_arc(c, c->stack[i])]] +=
				c->offer_key[c->stack[i]];

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

static bool shorten(struct column *c)
{
	uint32_t count = measure(c), *order = c->met;
	bool any = false;

	mem_copy(order, c->stack, count);
	for (uint32_t i = 1; i < count && c->work > 0; i++) {
		uint32_t sw = order[i];
		uint64_t best = c->key[sw];
		uint32_t hops = c->hops[sw];
		uint8_t arc = ARC_NONE;

		for (uint32_t a = c->net->first[sw]; a < c->net->first[sw + 1]; a++) {
			uint32_t to = c->net->to[a];

			if (c->hops[to] + 1 > hops)
				continue;

			uint64_t key = c->key[to] + cost_of(c, a);

			if ((c->hops[to] + 1 == hops && key >= best) || !may_go_by(c, sw, a))
				continue;
			hops = c->hops[to] + 1;
			best = key;
			arc = a - c->net->first[sw];
		}
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
			column_settle(c, from, arc - n->first[from], c->hops[sw] + 1, 0);
			c->stack[count++] = from;
		}
	}
	for (unsigned round = 0; round < ROUNDS_SHORTEN && c->work > 0; round++)
		if (!shorten(c))
			break;
}
