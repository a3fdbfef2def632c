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

/* The next channel that this one depends on and that was not followed yet, or TOPO_NONE. */
static uint32_t next_channel(struct cdg_search *s, uint32_t channel)
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
			uint32_t channel = s->trail[s->ntrail - 1], next = next_channel(s, channel);

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

				const struct cdg *c = s->c;

				if (c->height[above] <= c->height[channel])
					c->height[above] = c->height[channel] + 1;
			} else if (!s->index[next]) {
				visit(s, next);
			} else if (s->on_stack[next]) {
				s->low[channel] = s->index[next] < s->low[channel]
							  ? s->index[next]
							  : s->low[channel];
			} else {
				const struct cdg *c = s->c;

				if (c->height[channel] <= c->height[next])
					c->height[channel] = c->height[next] + 1;
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
 * `from` has come to depend on `next`, which is not lower. First a search whether `next` leads back
 * to `from`. Then `from`, and all channels that are too low thereby, are raised, the lowest first,
 * so that each is raised once. Such dependencies come from detours, which go down and then up: few
 * channels, behind each of which is a whole tree upwards, so the search goes backwards from `from`.
 * A channel that has to be raised goes above all heights at the begin of this change: its next such
 * dependency then costs nothing.
 */

struct growth {
	struct cdg *c;
	cdg_used_fn *used;
	void *arg;
	uint32_t from, next;
	uint32_t *todo; /* a stack while searching; while raising a heap by the former height */
	int32_t *was;	/* by entry of the heap: its former height */
	uint32_t count, room;
};

static void make_room(struct growth *g)
{
	if (g->count < g->room)
		return;
	g->room = g->room ? g->room * 2 : 256;
	g->todo = mem_array_resize(g->todo, g->room);
	g->was = mem_array_resize(g->was, g->room);
}

static bool first_meeting(const struct growth *g, uint32_t channel)
{
	if (g->c->mark[channel] == g->c->marks)
		return false;
	g->c->mark[channel] = g->c->marks;
	return true;
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

static uint32_t next_by(const struct cdg *c, uint32_t channel, unsigned port)
{
	return port <= c->head_ports[channel] ? c->channel[c->head[channel] + port] : TOPO_NONE;
}

/* Searches a path from `next` to `from` into c->by. No channel as high as `next` is on one. */
static bool search(struct growth *g)
{
	struct cdg *c = g->c;

	c->marks++;
	g->count = 0;
	make_room(g);
	first_meeting(g, g->from);
	c->by[g->from] = g->next;
	g->todo[g->count++] = g->from;
	while (g->count) {
		uint32_t channel = g->todo[--g->count];

		for (unsigned num = 1; num <= c->head_ports[c->back[channel]]; num++) {
			uint32_t who = before(c, channel, num);

			if (who == TOPO_NONE ||
			    (who != g->next &&
			     (c->height[who] >= c->height[g->next] || !first_meeting(g, who))))
				continue;
			c->by[who] = channel;
			if (who == g->next)
				return true;
			make_room(g);
			g->todo[g->count++] = who;
		}
	}
	return false;
}

static void swap(struct growth *g, uint32_t a, uint32_t b)
{
	uint32_t channel = g->todo[a];
	int32_t was = g->was[a];

	g->todo[a] = g->todo[b];
	g->was[a] = g->was[b];
	g->todo[b] = channel;
	g->was[b] = was;
}

static uint32_t pop(struct growth *g)
{
	uint32_t top = g->todo[0], at = 0;

	swap(g, 0, --g->count);
	for (;;) {
		uint32_t lower = 2 * at + 1;

		if (lower + 1 < g->count && g->was[lower + 1] < g->was[lower])
			lower++;
		if (lower >= g->count || g->was[lower] >= g->was[at])
			return top;
		swap(g, at, lower);
		at = lower;
	}
}

static void lift(struct growth *g, uint32_t channel, int32_t above)
{
	if (g->c->height[channel] > above)
		return;
	if (first_meeting(g, channel)) {
		uint32_t at = g->count;

		make_room(g);
		g->todo[at] = channel;
		g->was[at] = g->c->height[channel];
		g->count++;
		for (; at && g->was[at] < g->was[(at - 1) / 2]; at = (at - 1) / 2)
			swap(g, at, (at - 1) / 2);
	}
	g->c->height[channel] = above + 1;
}

void cdg_grow_begin(struct cdg *c)
{
	c->top = 0;
	for (uint32_t i = 0; i < c->nchannels; i++)
		c->top = c->height[i] > c->top ? c->height[i] : c->top;
}

bool cdg_agrees(const struct cdg *c, uint32_t channel, uint8_t out_port)
{
	uint32_t next = next_by(c, channel, out_port);

	return next == TOPO_NONE || c->height[next] < c->height[channel];
}

bool cdg_grow(struct cdg *c, uint32_t channel, uint8_t out_port, cdg_used_fn *used, void *arg)
{
	uint32_t next = next_by(c, channel, out_port);
	struct growth g = { .c = c, .used = used, .arg = arg, .from = channel, .next = next };
	bool acyclic = next != channel;

	cdg_add(c, channel, out_port);
	if (cdg_agrees(c, channel, out_port))
		return acyclic;
	while (acyclic && search(&g)) {
		/* Drops the dependencies of the cycle found that are not in use. */
		uint32_t at = g.next;

		acyclic = false;
		do {
			uint32_t to = c->by[at];
			uint8_t out = c->port_of[to] - c->head[at];

			if (!g.used(g.arg, at, out)) {
				cdg_drop(c, at, out);
				acyclic = true;
			}
			at = to;
		} while (at != g.next);
	}
	if (acyclic) {
		int32_t above = c->height[g.next];

		c->marks++;
		g.count = 0;
		lift(&g, g.from, above > c->top ? above : c->top);
		while (g.count) {
			uint32_t raised = pop(&g);

			for (unsigned num = 1; num <= c->head_ports[c->back[raised]]; num++) {
				uint32_t who = before(c, raised, num);

				if (who != TOPO_NONE)
					lift(&g, who, c->height[raised]);
			}
		}
	}
	free(g.todo);
	free(g.was);
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
