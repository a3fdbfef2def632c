/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * order_circle: whether the turns of mixtures close a circle with those of a proof's graph (see
 * order_turns.h).
 *
 * The graph has an order that each of its turns goes down. So a circle goes up somewhere, by a turn
 * that is not the graph's, and the search begins before each of these. All else of the circle lies
 * between such turns, and no lower than the lowest of them begins: whatever is below is left out,
 * which is nearly all of a fabric.
 *
 * The graph has turns that are in no use: all that up/down routing may make, and some of the past.
 * Where a circle has one of these, it is left out from then on, and the search goes back to before
 * it.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "routing/order/order_turns.h"
#include "topology/mem.h"

#define CIRCLES_MAX 64	/* that fell apart: then the graph is too far from what is in use */
#define OWN	    256 /* place.at: behind all ports come the turns that are not the graph's */

struct hop {
	uint32_t channel;
	uint8_t out;
};

struct place {
	uint32_t channel;
	uint32_t at; /* what is tried next: a port, or OWN and up */
	uint8_t out; /* .. and was last */
};

struct order_circle {
	const struct cdg *g;
	cdg_used_fn *used;
	void *arg;
	struct hop *turns; /* that the graph has not, by channel */
	uint32_t nturns, root;
	struct hop *unused; /* the graph's that are left out */
	uint32_t nunused, circles;
	int32_t floor;
	uint8_t *colour;  /* by channel */
	bool *has_unused; /* likewise */
	uint32_t *first;  /* likewise: its first turn, nturns = it has none */
	struct place *trail;
	uint32_t ntrail, room;
	bool found, sure;
};

enum { NEW, OPEN, CLOSED };

static int by_channel(const void *a, const void *b)
{
	const struct hop *x = a, *y = b;

	return (x->channel > y->channel) - (x->channel < y->channel);
}

static void take_turns(struct order_circle *c, const struct order_turn *turns)
{
	c->turns = mem_alloc(c->nturns + 1u, sizeof(*c->turns));
	for (uint32_t i = 0; i < c->nturns; i++)
		c->turns[i] = (struct hop){ c->g->channel[turns[i].from], turns[i].out };
	qsort(c->turns, c->nturns, sizeof(*c->turns), by_channel);
	for (uint32_t i = 0; i < c->g->nchannels; i++)
		c->first[i] = c->nturns;
	for (uint32_t i = c->nturns; i-- > 0;)
		c->first[c->turns[i].channel] = i;
}

static bool goes_up(const struct order_circle *c, uint32_t turn)
{
	return !cdg_agrees(c->g, c->turns[turn].channel, c->turns[turn].out);
}

static void find_floor(struct order_circle *c)
{
	c->floor = INT32_MAX;
	for (uint32_t i = 0; i < c->nturns; i++) {
		int32_t height = c->g->height[c->turns[i].channel];

		if (goes_up(c, i) && height < c->floor)
			c->floor = height;
	}
}

struct order_circle *order_circle_new(const struct cdg *g, const struct order_turn *turns,
				      uint32_t count, cdg_used_fn *used, void *arg)
{
	struct order_circle *c = mem_alloc(1, sizeof(*c));
	size_t n = g->nchannels + 1u;

	*c = (struct order_circle){ .g = g, .used = used, .arg = arg, .nturns = count };
	c->colour = mem_alloc(n, sizeof(*c->colour));
	c->has_unused = mem_alloc(n, sizeof(*c->has_unused));
	c->first = mem_alloc_unset(n, sizeof(*c->first));
	take_turns(c, turns);
	find_floor(c);
	return c;
}

void order_circle_free(struct order_circle *c)
{
	if (!c)
		return;
	free(c->turns);
	free(c->unused);
	free(c->colour);
	free(c->has_unused);
	free(c->first);
	free(c->trail);
	free(c);
}

/* ---- Depth first ---------------------------------------------------------------------------- */

static void enter(struct order_circle *c, uint32_t channel)
{
	if (c->ntrail == c->room) {
		c->room = c->room ? 2 * c->room : 256;
		c->trail = mem_resize(c->trail, c->room, sizeof(*c->trail));
	}
	c->colour[channel] = OPEN;
	c->trail[c->ntrail++] = (struct place){ .channel = channel };
}

static bool is_left_out(const struct order_circle *c, uint32_t channel, uint8_t out)
{
	for (uint32_t i = 0; c->has_unused[channel] && i < c->nunused; i++)
		if (c->unused[i].channel == channel && c->unused[i].out == out)
			return true;
	return false;
}

/* The graph's next turn from a port on; OWN: there is none. */
static uint32_t next_port(const uint64_t *ports, uint32_t from)
{
	for (; from < OWN; from = (from / 64 + 1) * 64) {
		uint64_t left = ports[from / 64] >> from % 64;

		if (left)
			return from + (uint32_t)__builtin_ctzll(left);
	}
	return OWN;
}

/* The next turn from a place, its port into place.out. False: there is none. */
static bool next_turn(const struct order_circle *c, struct place *p)
{
	uint32_t own;

	while (p->at < OWN && (p->at = next_port(c->g->next[p->channel], p->at)) < OWN) {
		p->out = (uint8_t)p->at++;
		if (!is_left_out(c, p->channel, p->out))
			return true;
	}
	own = c->first[p->channel] + p->at - OWN;
	if (own >= c->nturns || c->turns[own].channel != p->channel)
		return false;
	p->out = c->turns[own].out;
	p->at++;
	return true;
}

static void leave_out(struct order_circle *c, const struct place *p)
{
	c->unused = mem_resize(c->unused, c->nunused + 1u, sizeof(*c->unused));
	c->unused[c->nunused++] = (struct hop){ p->channel, p->out };
	c->has_unused[p->channel] = true;
}

/*
 * Back to a place of the trail. What was met behind it is not done: it is as if nobody had come
 * there.
 */
static void go_back(struct order_circle *c, uint32_t place)
{
	while (c->ntrail > place + 1)
		c->colour[c->trail[--c->ntrail].channel] = NEW;
}

/* The end of the trail is a circle, from that channel on. */
static void circle_met(struct order_circle *c, uint32_t channel)
{
	uint32_t i = c->ntrail, first = c->ntrail;

	do {
		const struct place *p = &c->trail[--i];

		if (!cdg_has(c->g, p->channel, p->out) || c->used(c->arg, p->channel, p->out))
			continue;
		leave_out(c, p);
		first = i;
	} while (c->trail[i].channel != channel);
	c->sure = first == c->ntrail;
	c->found = c->sure || ++c->circles == CIRCLES_MAX;
	if (!c->found)
		go_back(c, first);
}

static void walk_on(struct order_circle *c)
{
	struct place *p = &c->trail[c->ntrail - 1];
	uint32_t next;

	if (!next_turn(c, p)) {
		c->colour[p->channel] = CLOSED;
		c->ntrail--;
		return;
	}
	if (!cdg_leads_on(c->g, p->channel, p->out))
		return;
	next = c->g->channel[c->g->head[p->channel] + p->out];
	if (c->colour[next] == OPEN)
		circle_met(c, next);
	else if (c->colour[next] == NEW && c->g->height[next] >= c->floor)
		enter(c, next);
}

bool order_circle_go(struct order_circle *c, uint32_t visits)
{
	while (visits-- && !c->found) {
		if (c->ntrail) {
			walk_on(c);
		} else if (c->root == c->nturns) {
			return false;
		} else {
			uint32_t turn = c->root++;

			if (goes_up(c, turn) && c->colour[c->turns[turn].channel] == NEW)
				enter(c, c->turns[turn].channel);
		}
	}
	return !c->found;
}

bool order_circle_found(const struct order_circle *c)
{
	return c->found;
}

bool order_circle_sure(const struct order_circle *c)
{
	return c->sure;
}
