/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Down-up turns: a quick answer to the question of order_turns.c that errs on one side only.
 *
 * Order the switches by level. A turn is legal unless it comes down to a switch and rises from it
 * again: a down-up turn. All legal turns together make no circle, and tables of a tree have few
 * down-up turns (detours, detour.c), or none. So take every legal turn that links allow, used or
 * not, and the down-up turns that are there: if this has no circle, what is used has none. Then a
 * packet's state is the switch and whether it came rising or falling, which is a graph of
 * thousands, not of hundreds of thousands of channels. A down-up turn p, s, u stands in it as a
 * step from p, in either state, to u rising: that only what comes from p takes it must not get
 * lost, as every leaf would close a circle with each of its parents.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/order/order_turns.h"
#include "topology/mem.h"

#define DOWN_UP_MAX 65536 /* beyond this no quick answer is to be had */

enum { FALLING = 0, RISING = 1 }; /* state of a packet at a switch: 2 * switch + this */

struct down_up {
	uint32_t from, to; /* switches p and u */
};

struct down_ups {
	const struct order_work *w;
	uint64_t (*rising)[4]; /* by switch: ports to switches above it */
	struct down_up *list;  /* by `from` when they are looked at */
	uint32_t count, size;
	uint32_t *first; /* by switch: its first in the list */
	uint8_t *colour; /* by state */
	uint32_t *trail; /* states on the way down */
	uint32_t *at;	 /* by state: next edge */
};

/* ---- Which there are ------------------------------------------------------------------------ */

static void down_up_add(struct down_ups *v, uint32_t from, uint32_t to)
{
	if (v->count == v->size) {
		v->size = v->size ? 2 * v->size : 256;
		v->list = mem_resize(v->list, v->size, sizeof(*v->list));
	}
	v->list[v->count++] = (struct down_up){ from, to };
}

static void find_rising(struct down_ups *v)
{
	const struct topo *t = v->w->t;

	v->rising = mem_alloc(t->nswitches + 1u, sizeof(*v->rising));
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			uint32_t next = order_next_switch(t, sw, num);

			if (next != TOPO_NONE && order_above(t, next, sw))
				v->rising[sw][num / 64] |= 1ull << num % 64;
		}
}

/*
 * Those of the tables that start at p. The same down-up turn is listed once for each link
 * downwards.
 */
static void find_from(struct down_ups *v, uint32_t p)
{
	const struct topo *t = v->w->t;
	const uint8_t *row = tables_row(v->w->newer, p), *below[256] = { NULL };
	const uint64_t *rising[256];
	uint64_t(*met)[4] = NULL; /* by port of p: ports already listed */

	for (unsigned num = 1; num <= t->nodes[p].nports; num++) {
		uint32_t s = order_next_switch(t, p, num);

		if (s == TOPO_NONE || order_above(t, s, p))
			continue;
		below[num] = tables_row(v->w->newer, s);
		rising[num] = v->rising[s];
		met = met ? met : mem_alloc(t->nodes[p].nports + 1u, sizeof(*met));
	}
	for (uint32_t lid = 1; met && lid <= v->w->newer->top; lid++) {
		unsigned num = row[lid], out;

		if (!below[num])
			continue;
		out = below[num][lid];
		if (!(rising[num][out / 64] >> out % 64 & 1) || met[num][out / 64] >> out % 64 & 1)
			continue;
		met[num][out / 64] |= 1ull << out % 64;
		down_up_add(v, p, order_next_switch(t, order_next_switch(t, p, num), out));
	}
	free(met);
}

static void find_fresh(struct down_ups *v, const struct order_turn *turns, uint32_t count)
{
	const struct topo *t = v->w->t;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t p = t->ports[turns[i].from].node;
		uint32_t s = topo_peer(t, &t->ports[turns[i].from])->node;
		uint32_t u = order_next_switch(t, s, turns[i].out);

		if (order_above(t, p, s) && order_above(t, u, s))
			down_up_add(v, p, u);
	}
}

static int by_from(const void *a, const void *b)
{
	const struct down_up *x = a, *y = b;

	return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
				  : (x->to > y->to) - (x->to < y->to);
}

/* ---- Is there a circle? --------------------------------------------------------------------- */

/* The state that edge number `edge` leads to, ports first, then down_up; TOPO_NONE = nowhere. */
static uint32_t next_state(const struct down_ups *v, uint32_t state, uint32_t edge)
{
	uint32_t sw = state / 2, next, nports = v->w->t->nodes[sw].nports;

	if (edge > nports)
		return 2 * v->list[v->first[sw] + edge - nports - 1].to + RISING;
	next = order_next_switch(v->w->t, sw, edge);
	if (next == TOPO_NONE)
		return TOPO_NONE;
	if (!(v->rising[sw][edge / 64] >> edge % 64 & 1))
		return 2 * next + FALLING;
	return state % 2 == RISING ? 2 * next + RISING : TOPO_NONE;
}

/* Depth first from a state; true: it leads back to a state on the way. */
static bool circle_from(struct down_ups *v, uint32_t start)
{
	enum { NEW, OPEN, CLOSED };
	uint32_t n = 0;

	if (v->colour[start] != NEW)
		return false;
	v->trail[n++] = start;
	v->colour[start] = OPEN;
	while (n) {
		uint32_t state = v->trail[n - 1], sw = state / 2, next;
		uint32_t edges = v->w->t->nodes[sw].nports + v->first[sw + 1] - v->first[sw];

		if (v->at[state] == edges) {
			v->colour[state] = CLOSED;
			n--;
			continue;
		}
		next = next_state(v, state, ++v->at[state]);
		if (next == TOPO_NONE || v->colour[next] == CLOSED)
			continue;
		if (v->colour[next] == OPEN)
			return true;
		v->colour[next] = OPEN;
		v->trail[n++] = next;
	}
	return false;
}

static bool has_circle(struct down_ups *v)
{
	uint32_t nswitches = v->w->t->nswitches;
	bool found = false;

	if (!v->count)
		return false;
	qsort(v->list, v->count, sizeof(*v->list), by_from);
	v->first = mem_alloc(nswitches + 2u, sizeof(*v->first));
	for (uint32_t i = 0; i < v->count; i++)
		v->first[v->list[i].from + 1]++;
	for (uint32_t sw = 0; sw < nswitches; sw++)
		v->first[sw + 1] += v->first[sw];
	v->colour = mem_alloc(2 * nswitches + 1u, sizeof(*v->colour));
	v->trail = mem_alloc(2 * nswitches + 1u, sizeof(*v->trail));
	v->at = mem_alloc(2 * nswitches + 1u, sizeof(*v->at));
	/* A circle has a down-up turn, and so a rising state after it. */
	for (uint32_t i = 0; !found && i < v->count; i++)
		found = circle_from(v, 2 * v->list[i].to + RISING);
	free(v->first);
	free(v->colour);
	free(v->trail);
	free(v->at);
	return found;
}

bool order_down_up_safe(const struct order_work *w, const struct order_turn *turns, uint32_t count)
{
	struct down_ups v = { .w = w };
	bool safe;

	find_rising(&v);
	find_fresh(&v, turns, count);
	for (uint32_t sw = 0; sw < w->t->nswitches && v.count < DOWN_UP_MAX; sw++)
		find_from(&v, sw);
	safe = v.count < DOWN_UP_MAX && !has_circle(&v);
	free(v.rising);
	free(v.list);
	return safe;
}
