/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cdg: channels as bitmaps of output ports, cycles by Tarjan's strongly connected components
 * (1972), with the recursion unrolled onto an own stack: a path through 180,000 channels would not
 * fit the process's.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/cdg.h"
#include "topology/mem.h"

static bool is_channel(const struct topo *t, const struct topo_port *port, bool down_too)
{
	return port->peer != TOPO_NONE && (port->link_up || down_too) && port->num &&
	       t->nodes[port->node].type == TOPO_SWITCH &&
	       t->nodes[t->ports[port->peer].node].type == TOPO_SWITCH;
}

static void init(struct cdg *c, const struct topo *t, bool down_too)
{
	*c = (struct cdg){ .channel = mem_alloc(t->nports + 1, sizeof(*c->channel)),
			   .port_of = mem_alloc(t->nports + 1, sizeof(*c->port_of)) };
	for (uint32_t i = 0; i < t->nports; i++) {
		c->channel[i] = TOPO_NONE;
		if (is_channel(t, &t->ports[i], down_too)) {
			c->port_of[c->nchannels] = i;
			c->channel[i] = c->nchannels++;
		}
	}
	c->head = mem_alloc(c->nchannels + 1, sizeof(*c->head));
	c->next = mem_alloc(c->nchannels + 1, sizeof(*c->next));
	c->head_ports = mem_alloc(c->nchannels + 1, sizeof(*c->head_ports));
	c->height = mem_alloc(c->nchannels + 1, sizeof(*c->height));
	for (uint32_t i = 0; i < c->nchannels; i++) {
		const struct topo_node *head =
			&t->nodes[t->ports[t->ports[c->port_of[i]].peer].node];

		c->head[i] = head->port0;
		c->head_ports[i] = head->nports;
	}
}

void cdg_init(struct cdg *c, const struct topo *t)
{
	init(c, t, false);
}

void cdg_init_cables(struct cdg *c, const struct topo *t)
{
	init(c, t, true);
}

void cdg_fini(struct cdg *c)
{
	free(c->channel);
	free(c->port_of);
	free(c->head);
	free(c->head_ports);
	free(c->next);
	free(c->height);
	*c = (struct cdg){ 0 };
}

void cdg_clear(struct cdg *c)
{
	memset(c->next, 0, c->nchannels * sizeof(*c->next));
}

/* ---- Tarjan ------------------------------------------------------------------------------------ */

struct tarjan {
	const struct cdg *c;
	uint32_t *index, *low; /* by channel; index 0 = not visited */
	bool *on_stack;
	uint32_t *stack, *trail; /* Tarjan's stack; the way down to the present channel */
	uint16_t *at_port;	 /* by channel: next output port to look at */
	uint32_t nstack, ntrail, counter;
	uint64_t groups;
	uint32_t *cycle;
	unsigned size, length;
};

static void visit(struct tarjan *s, uint32_t channel)
{
	s->index[channel] = s->low[channel] = ++s->counter;
	s->on_stack[channel] = true;
	s->stack[s->nstack++] = channel;
	s->trail[s->ntrail++] = channel;
}

/* The next channel after this one not looked at yet, or TOPO_NONE. */
static uint32_t next_channel(struct tarjan *s, uint32_t channel)
{
	while (s->at_port[channel] <= s->c->head_ports[channel]) {
		unsigned word = s->at_port[channel] / 64, bit = s->at_port[channel] % 64;
		uint64_t left = s->c->next[channel][word] >> bit;

		if (!left) {
			s->at_port[channel] = (word + 1) * 64;
			continue;
		}
		unsigned port = s->at_port[channel] + __builtin_ctzll(left);
		s->at_port[channel] = port + 1;
		if (port <= s->c->head_ports[channel] &&
		    s->c->channel[s->c->head[channel] + port] != TOPO_NONE)
			return s->c->channel[s->c->head[channel] + port];
	}
	return TOPO_NONE;
}

static bool depends_on_itself(const struct cdg *c, uint32_t channel)
{
	uint32_t port = c->port_of[channel];

	return port > c->head[channel] && port <= c->head[channel] + c->head_ports[channel] &&
	       cdg_has(c, channel, port - c->head[channel]);
}

static void pop_group(struct tarjan *s, uint32_t root)
{
	uint32_t first = s->nstack;

	do {
		first--;
		s->on_stack[s->stack[first]] = false;
	} while (s->stack[first] != root);
	uint32_t size = s->nstack - first;
	s->nstack = first;
	if (size == 1 && !depends_on_itself(s->c, root))
		return;
	if (s->groups++ == 0) {
		s->length = size < s->size ? size : s->size;
		memcpy(s->cycle, s->stack + first, s->length * sizeof(*s->cycle));
	}
}

static void stand_above(const struct cdg *c, uint32_t channel, uint32_t next)
{
	if (c->height[channel] <= c->height[next])
		c->height[channel] = c->height[next] + 1;
}

/* All that the last of the trail depends on was looked at: back to who depends on it. */
static void leave(struct tarjan *s, uint32_t channel)
{
	uint32_t above = --s->ntrail ? s->trail[s->ntrail - 1] : TOPO_NONE;

	if (s->low[channel] == s->index[channel])
		pop_group(s, channel);
	if (above == TOPO_NONE)
		return;
	if (s->low[channel] < s->low[above])
		s->low[above] = s->low[channel];
	stand_above(s->c, above, channel);
}

static void walk_from(struct tarjan *s, uint32_t start)
{
	visit(s, start);
	while (s->ntrail) {
		uint32_t channel = s->trail[s->ntrail - 1], next = next_channel(s, channel);

		if (next == TOPO_NONE) {
			leave(s, channel);
		} else if (!s->index[next]) {
			visit(s, next);
		} else if (s->on_stack[next]) {
			s->low[channel] =
				s->index[next] < s->low[channel] ? s->index[next] : s->low[channel];
		} else {
			stand_above(s->c, channel, next);
		}
	}
}

uint64_t cdg_cycles(const struct cdg *c, uint32_t *cycle, unsigned size, unsigned *length)
{
	uint32_t n = c->nchannels + 1;
	struct tarjan s = { .c = c, .cycle = cycle, .size = size };

	s.index = mem_alloc(n, sizeof(*s.index));
	s.low = mem_alloc(n, sizeof(*s.low));
	s.on_stack = mem_alloc(n, sizeof(*s.on_stack));
	s.stack = mem_alloc(n, sizeof(*s.stack));
	s.trail = mem_alloc(n, sizeof(*s.trail));
	s.at_port = mem_alloc(n, sizeof(*s.at_port));
	memset(c->height, 0, c->nchannels * sizeof(*c->height));
	for (uint32_t i = 0; i < c->nchannels; i++)
		if (!s.index[i])
			walk_from(&s, i);
	*length = s.length;
	free(s.index);
	free(s.low);
	free(s.on_stack);
	free(s.stack);
	free(s.trail);
	free(s.at_port);
	return s.groups;
}

/* ---- A graph that is kept ---------------------------------------------------------------------- */

struct lowering { /* channels that came to stand too high for what depends on them */
	struct cdg *c;
	uint32_t *todo;
	uint32_t count, room;
	uint32_t from; /* who is reached again closes a cycle */
};

static void lower(struct lowering *l, uint32_t channel, int32_t below)
{
	if (l->c->height[channel] < below)
		return;
	l->c->height[channel] = below - 1;
	if (l->count == l->room) {
		l->room = l->room ? l->room * 2 : 64;
		l->todo = mem_resize(l->todo, l->room, sizeof(*l->todo));
	}
	l->todo[l->count++] = channel;
}

/* False when `from` hangs on this channel. */
static bool lower_next(struct lowering *l, uint32_t channel)
{
	const struct cdg *c = l->c;

	for (unsigned word = 0; word < CDG_WORDS; word++)
		for (uint64_t left = c->next[channel][word]; left; left &= left - 1) {
			unsigned port = word * 64 + __builtin_ctzll(left);
			uint32_t next = port <= c->head_ports[channel]
						? c->channel[c->head[channel] + port]
						: TOPO_NONE;

			if (next == l->from)
				return false;
			if (next != TOPO_NONE)
				lower(l, next, c->height[channel]);
		}
	return true;
}

/* A channel may be lowered several times; past this a whole look is cheaper than to go on. */
static bool lower_all(struct lowering *l)
{
	uint64_t steps = 0;

	while (l->count)
		if (steps++ > l->c->nchannels || !lower_next(l, l->todo[--l->count]))
			return false;
	return true;
}

bool cdg_grow(struct cdg *c, uint32_t channel, uint8_t out_port)
{
	struct lowering l = { .c = c, .from = channel };
	uint32_t next;
	bool acyclic;

	cdg_add(c, channel, out_port);
	if (out_port > c->head_ports[channel])
		return true;
	next = c->channel[c->head[channel] + out_port];
	if (next == channel)
		return false;
	if (next == TOPO_NONE)
		return true;
	lower(&l, next, c->height[channel]);
	acyclic = lower_all(&l);
	free(l.todo);
	return acyclic;
}

void cdg_forget(struct cdg *c, const struct topo *t, uint32_t channel)
{
	const struct topo_port *port = &t->ports[c->port_of[channel]];
	uint32_t port0 = t->nodes[port->node].port0;

	memset(c->next[channel], 0, sizeof(c->next[channel]));
	for (unsigned num = 1; num <= t->nodes[port->node].nports; num++) {
		uint32_t peer = t->ports[port0 + num].peer;
		uint32_t before = peer == TOPO_NONE ? TOPO_NONE : c->channel[peer];

		if (before != TOPO_NONE)
			c->next[before][port->num / 64] &= ~(1ull << (port->num % 64));
	}
}
