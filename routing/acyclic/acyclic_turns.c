/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic_turns: a set of turns without a cycle, which grows. The order of arcs that proves it is
 * kept as Pearce and Kelly do ("A dynamic topological sort algorithm for directed acyclic graphs",
 * 2006): a turn along the order costs nothing, one against it a search of what lies between its
 * arcs, and the order is repaired there.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/acyclic/acyclic_turns.h"
#include "topology/base/mem.h"

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
