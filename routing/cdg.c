/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cdg: channels as bitmaps of output ports, cycles by Tarjan's strongly connected components
 * (1972), with the recursion unrolled onto an own stack: a path through 180,000 channels would not
 * fit the process's.
 *
 * A first pass finds channels that need no search. A channel is settled when all channels that it
 * depends on are: then none of them is on a cycle. The order of that pass decides only how many are
 * settled; down and up the ranks it settles all channels of a fabric without detours.
 */
#include "routing/cdg.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define GAP 16 /* from height to height, once they are spread */

static void rank_switches(struct cdg *c, const struct topo *t, uint32_t *by_rank)
{
	uint32_t next[UINT8_MAX + 2] = { 0 }; /* rank, by level */

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		next[t->nodes[sw].level + 1]++;
	for (unsigned level = 0; level < UINT8_MAX; level++)
		next[level + 1] += next[level];
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		c->port0[sw] = t->nodes[sw].port0;
		c->rank[sw] = next[t->nodes[sw].level]++;
		by_rank[c->rank[sw]] = sw;
	}
}

/* Appends the channels into a switch that lead down, or those that lead up, to c->settling. */
static uint32_t settle_next(struct cdg *c, const struct topo *t, uint32_t sw, bool falling,
			    uint32_t count)
{
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		uint32_t peer = topo_port(t, sw, num)->peer;
		uint32_t channel = peer == TOPO_NONE ? TOPO_NONE : c->channel[peer];

		if (channel != TOPO_NONE && cdg_falls(c, channel) == falling)
			c->settling[count++] = channel;
	}
	return count;
}

void cdg_init(struct cdg *c, const struct topo *t, bool down_too)
{
	struct arena *arena = arena_new();

	*c = (struct cdg){ .arena = arena,
			   .nports = t->nports,
			   .nswitches = t->nswitches,
			   .channel = arena_array(arena, c->channel, t->nports + 1),
			   .port_of = arena_array(arena, c->port_of, t->nports + 1) };
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i];

		c->channel[i] = TOPO_NONE;
		if (port->peer != TOPO_NONE && (port->link_up || down_too) && port->num &&
		    port->node < t->nswitches && t->ports[port->peer].node < t->nswitches) {
			c->port_of[c->nchannels] = i;
			c->channel[i] = c->nchannels++;
		}
	}
	c->head = arena_array(arena, c->head, c->nchannels + 1);
	c->next = arena_array(arena, c->next, c->nchannels + 1);
	c->back = arena_array(arena, c->back, c->nchannels + 1);
	c->head_ports = arena_array(arena, c->head_ports, c->nchannels + 1);
	c->height = arena_array(arena, c->height, c->nchannels + 1);
	c->by = arena_array(arena, c->by, c->nchannels + 1);
	c->mark = arena_array(arena, c->mark, c->nchannels + 1);
	c->rank = arena_array(arena, c->rank, t->nswitches + 1);
	c->port0 = arena_array(arena, c->port0, t->nswitches + 1);
	c->from = arena_array(arena, c->from, c->nchannels + 1);
	c->to = arena_array(arena, c->to, c->nchannels + 1);
	c->settling = arena_array(arena, c->settling, c->nchannels + 1);
	for (uint32_t i = 0; i < c->nchannels; i++) {
		const struct topo_port *port = &t->ports[c->port_of[i]];

		c->from[i] = port->node;
		c->to[i] = t->ports[port->peer].node;
		c->head[i] = t->nodes[c->to[i]].port0;
		c->head_ports[i] = t->nodes[c->to[i]].nports;
		c->back[i] = c->channel[port->peer];
	}

	/*
	 * Channels down before channels up; those down from the lowest switch on, those up from the
	 * top.
	 */
	uint32_t *by_rank = mem_array(by_rank, t->nswitches + 1), count = 0;

	rank_switches(c, t, by_rank);
	for (uint32_t i = 0; i < t->nswitches; i++)
		count = settle_next(c, t, by_rank[i], true, count);
	for (uint32_t i = t->nswitches; i-- > 0;)
		count = settle_next(c, t, by_rank[i], false, count);
	free(by_rank);
}

void cdg_fini(struct cdg *c)
{
	arena_free(c->arena);
	*c = (struct cdg){ 0 };
}

/* ---- Tarjan ---------------------------------------------------------------------------------- */

struct cdg_search {
	struct arena *arena; /* owns the search, too */
	const struct cdg *c;
	uint32_t *index, *low; /* by channel; index 0 = not visited */
	bool *on_stack;
	uint32_t *stack, *trail; /* Tarjan's stack; the path to the present channel */
	uint16_t *at_port;	 /* by channel: the next output port to follow */
	uint32_t nstack, ntrail, counter;
	uint32_t start; /* channels before this one were all visited, or lie on the trail */
	uint64_t groups;
	uint32_t *cycle; /* the first group */
	unsigned length;
};

static void visit(struct cdg_search *s, uint32_t channel)
{
	s->index[channel] = s->low[channel] = ++s->counter;
	s->on_stack[channel] = true;
	s->stack[s->nstack++] = channel;
	s->trail[s->ntrail++] = channel;
}

static uint32_t next_by(const struct cdg *c, uint32_t channel, unsigned port)
{
	return port <= c->head_ports[channel] ? c->channel[c->head[channel] + port] : TOPO_NONE;
}

/* What a channel depends on, from the output port *at on, which moves behind it; or TOPO_NONE. */
static uint32_t next_channel(const struct cdg *c, uint32_t channel, uint16_t *at)
{
	uint32_t next = TOPO_NONE;

	while (next == TOPO_NONE && (*at = cdg_next_port(c, channel, *at)) < CDG_PORTS)
		next = next_by(c, channel, (*at)++);
	return next;
}

static void raise_above(const struct cdg *c, uint32_t channel, uint32_t next)
{
	if (c->height[channel] <= c->height[next])
		c->height[channel] = c->height[next] + 1;
}

static void pop_group(struct cdg_search *s, uint32_t root)
{
	uint32_t first = s->nstack;

	do {
		first--;
		s->on_stack[s->stack[first]] = false;
	} while (s->stack[first] != root);
	uint32_t size = s->nstack - first, on = s->c->port_of[root] - s->c->head[root];
	s->nstack = first;
	if (size == 1 && !(on && on <= s->c->head_ports[root] && cdg_has(s->c, root, on)))
		return; /* it does not depend on itself */
	if (s->groups++ == 0) {
		s->length = size;
		s->cycle = arena_array(s->arena, s->cycle, size);
		mem_copy(s->cycle, s->stack + first, size);
	}
}

/* By switch: output ports whose channel is settled; ports without a channel count as settled. */
struct settled {
	uint64_t word[CDG_WORDS];
};

struct cdg_search *cdg_search_new(const struct cdg *c)
{
	struct arena *arena = arena_new();
	struct cdg_search *s = arena_array(arena, s, 1);
	uint32_t n = c->nchannels + 1;

	s->arena = arena;
	s->c = c;
	s->index = arena_array(arena, s->index, n);
	s->low = arena_array(arena, s->low, n);
	s->on_stack = arena_array(arena, s->on_stack, n);
	s->stack = arena_array(arena, s->stack, n);
	s->trail = arena_array(arena, s->trail, n);
	s->at_port = arena_array(arena, s->at_port, n);
	mem_zero(c->height, c->nchannels);

	/*
	 * Marks settled channels as visited, and gives them heights: the later settled, the higher.
	 */
	struct settled *settled = mem_array(settled, c->nswitches + 1);

	memset(settled, 0xff, c->nswitches * sizeof(*settled));
	for (uint32_t i = 0; i < c->nchannels; i++) {
		uint8_t out = c->port_of[i] - c->port0[c->from[i]];

		settled[c->from[i]].word[out / 64] &= ~(1ull << (out % 64));
	}
	for (uint32_t i = 0; i < c->nchannels; i++) {
		uint32_t channel = c->settling[i];
		uint8_t out = c->port_of[channel] - c->port0[c->from[channel]];
		const struct settled *behind = &settled[c->to[channel]];
		uint64_t open = 0;

		for (unsigned w = 0; w < CDG_WORDS; w++)
			open |= c->next[channel][w] & ~behind->word[w];
		if (open || s->index[channel])
			continue;
		s->index[channel] = ++s->counter;
		c->height[channel] = s->counter;
		settled[c->from[channel]].word[out / 64] |= 1ull << (out % 64);
	}
	free(settled);
	return s;
}

void cdg_search_free(struct cdg_search *s)
{
	if (s)
		arena_free(s->arena);
}

bool cdg_search_go(struct cdg_search *s, uint32_t visits)
{
	while (visits--) {
		while (!s->ntrail && s->start < s->c->nchannels && s->index[s->start])
			s->start++;
		if (s->ntrail) {
			/* Follows one dependency of the last channel of the trail. */
			uint32_t channel = s->trail[s->ntrail - 1];
			uint32_t next = next_channel(s->c, channel, &s->at_port[channel]);

			if (next == TOPO_NONE) {
				/*
				 * All dependencies of the last channel of the trail were followed:
				 * returns to the one before.
				 */
				uint32_t above = --s->ntrail ? s->trail[s->ntrail - 1] : TOPO_NONE;

				if (s->low[channel] == s->index[channel])
					pop_group(s, channel);
				if (above == TOPO_NONE)
					continue;
				if (s->low[channel] < s->low[above])
					s->low[above] = s->low[channel];
				raise_above(s->c, above, channel);
			} else if (!s->index[next]) {
				visit(s, next);
			} else if (s->on_stack[next]) {
				s->low[channel] = s->index[next] < s->low[channel]
							  ? s->index[next]
							  : s->low[channel];
			} else {
				raise_above(s->c, channel, next);
			}
		} else if (s->start < s->c->nchannels)
			visit(s, s->start);
		else
			return false;
	}
	return true;
}

uint64_t cdg_search_groups(const struct cdg_search *s, uint32_t *cycle, unsigned size,
			   unsigned *length)
{
	*length = s->length < size ? s->length : size;
	if (*length)
		mem_copy(cycle, s->cycle, *length);
	return s->groups;
}

uint64_t cdg_cycles(const struct cdg *c, uint32_t *cycle, unsigned size, unsigned *length)
{
	struct cdg_search *s = cdg_search_new(c);

	while (cdg_search_go(s, UINT32_MAX))
		;

	uint64_t groups = cdg_search_groups(s, cycle, size, length);

	cdg_search_free(s);
	return groups;
}

/*
 * ---- A graph that is kept ----------------------------------------------------------------------
 * `from` has come to depend on `next`, which is not lower. Where there is a gap between what bounds
 * them, these two move, and there is no cycle. Detours begin and end with the links of a few
 * switches; where heights are spread, as high as they may be, there mostly is a gap.
 *
 * Else first a search whether `next` leads back to `from`. Then `from`, and all channels that are
 * too low thereby, are raised. Such dependencies come from detours, which go down and then up: few
 * channels, behind each of which is a whole tree upwards, so the search goes backwards from `from`.
 * A channel that has to be raised goes above all heights at the begin of this change: its next such
 * dependency then costs nothing.
 */

struct growth {
	struct cdg *c;
	uint32_t from, next;
	uint32_t *todo; /* a stack while searching, a queue while raising */
	uint32_t count, capacity;
};

static void reserve(struct growth *g)
{
	if (g->count < g->capacity)
		return;
	g->capacity = g->capacity ? g->capacity * 2 : 256;
	g->todo = mem_array_resize(g->todo, g->capacity);
}

/*
 * The channel that comes by a port of the switch where `channel` begins, and depends on it;
 * TOPO_NONE = none does.
 */
static uint32_t before(const struct cdg *c, uint32_t channel, unsigned num)
{
	uint32_t port0 = c->head[c->back[channel]], leaves = c->channel[port0 + num];

	if (leaves == TOPO_NONE || !cdg_has(c, c->back[leaves], c->port_of[channel] - port0))
		return TOPO_NONE;
	return c->back[leaves];
}

/* Searches a path from `next` to `from` into c->by. No channel as high as `next` is on one. */
static bool search(struct growth *g)
{
	struct cdg *c = g->c;

	c->marks++;
	g->count = 0;
	reserve(g);
	c->mark[g->from] = c->marks;
	c->by[g->from] = g->next;
	g->todo[g->count++] = g->from;
	while (g->count) {
		uint32_t channel = g->todo[--g->count];

		for (unsigned num = 1; num <= c->head_ports[c->back[channel]]; num++) {
			uint32_t who = before(c, channel, num);

			if (who == TOPO_NONE ||
			    (who != g->next &&
			     (c->mark[who] == c->marks || c->height[who] >= c->height[g->next])))
				continue;
			c->mark[who] = c->marks;
			c->by[who] = channel;
			if (who == g->next)
				return true;
			reserve(g);
			g->todo[g->count++] = who;
		}
	}
	return false;
}

/* `from`, and all channels that are too low thereby: few are so twice, as paths are short. */
static void raise_from(struct growth *g, int32_t above)
{
	struct cdg *c = g->c;

	c->height[g->from] = above + 1;
	g->count = 1;
	g->todo[0] = g->from;
	for (uint32_t at = 0; at < g->count; at++)
		for (unsigned num = 1; num <= c->head_ports[c->back[g->todo[at]]]; num++) {
			uint32_t who = before(c, g->todo[at], num);

			if (who == TOPO_NONE || c->height[who] > c->height[g->todo[at]])
				continue;
			c->height[who] = c->height[g->todo[at]] + 1;
			reserve(g);
			g->todo[g->count++] = who;
		}
}

void cdg_grow_begin(struct cdg *c)
{
	c->top = 0;
	for (uint32_t i = 0; i < c->nchannels; i++)
		c->top = c->height[i] > c->top ? c->height[i] : c->top;
}

void cdg_spread(struct cdg *c)
{
	uint32_t *order = c->by, most = 0, next;
	uint32_t *depth = mem_array(depth, c->nchannels + 1u);

	cdg_grow_begin(c);
	for (uint32_t i = 0; i < c->nchannels; i++) {
		order[i] = i;
		depth[i] = c->top - c->height[i];
		if (depth[i] > most)
			most = depth[i];
	}
	sort_by_key(order, c->nchannels, depth, most + 1);
	mem_zero(c->height, c->nchannels);
	for (uint32_t i = 0; i < c->nchannels; i++) {
		int32_t below = c->height[order[i]] - GAP;

		for (uint16_t at = 0; (next = next_channel(c, order[i], &at)) != TOPO_NONE;)
			if (below < c->height[next])
				c->height[next] = below;
	}
	free(depth);
}

/* Moves `from` up and `next` down between what bounds them. False: there is no gap. */
static bool fit_between(struct cdg *c, uint32_t from, uint32_t next)
{
	int32_t low = INT32_MIN, high = c->top + GAP;
	uint32_t other;

	for (uint16_t at = 0; (other = next_channel(c, next, &at)) != TOPO_NONE;)
		if (c->height[other] > low)
			low = c->height[other];
	for (unsigned num = 1; num <= c->head_ports[c->back[from]]; num++) {
		other = before(c, from, num);
		if (other != TOPO_NONE && c->height[other] < high)
			high = c->height[other];
	}
	/* Where each depends on the other, the bounds are themselves. */
	if (low >= high - 2 || c->to[next] == c->from[from])
		return false;
	if (c->height[from] <= low + 1)
		c->height[from] = high - 1;
	if (c->height[next] >= c->height[from])
		c->height[next] = c->height[from] - 1;
	return true;
}

bool cdg_agrees(const struct cdg *c, uint32_t channel, uint8_t out_port)
{
	uint32_t next = next_by(c, channel, out_port);

	return next == TOPO_NONE || c->height[next] < c->height[channel];
}

bool cdg_grow(struct cdg *c, uint32_t channel, uint8_t out_port, cdg_used_fn *used, void *arg)
{
	uint32_t next = next_by(c, channel, out_port);
	struct growth g = { .c = c, .from = channel, .next = next };
	bool acyclic = next != channel;

	cdg_add(c, channel, out_port);
	if (cdg_agrees(c, channel, out_port) || fit_between(c, channel, next))
		return acyclic;
	while (acyclic && search(&g)) {
		/* Drops the dependencies of the cycle found that are not in use. */
		uint32_t at = next;

		acyclic = false;
		do {
			uint32_t to = c->by[at];
			uint8_t out = c->port_of[to] - c->head[at];

			if (!used(arg, at, out)) {
				cdg_drop(c, at, out);
				acyclic = true;
			}
			at = to;
		} while (at != next);
	}
	if (acyclic)
		raise_from(&g, c->height[next] > c->top ? c->height[next] : c->top);
	free(g.todo);
	return acyclic;
}

void cdg_forget(struct cdg *c, const struct topo *t, uint32_t channel)
{
	const struct topo_port *port = &t->ports[c->port_of[channel]];
	uint32_t port0 = t->nodes[port->node].port0;

	mem_zero(&c->next[channel], 1);
	for (unsigned num = 1; num <= t->nodes[port->node].nports; num++) {
		uint32_t peer = t->ports[port0 + num].peer;
		uint32_t before = peer == TOPO_NONE ? TOPO_NONE : c->channel[peer];

		if (before != TOPO_NONE)
			cdg_drop(c, before, port->num);
	}
}
