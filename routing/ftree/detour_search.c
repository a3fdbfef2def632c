/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * detour_search: the last resort of a damaged tree (engine.h).
 *
 * detour.c judges by all turns that any table might use: quick, and where much is dead, too
 * careful. Here the dependencies that the tables have are listed (cdg.h), which takes as long as it
 * takes. For a gap the shortest path is sought to any switch that has a path, over switches that
 * have none: these get one too. A hop is taken when none of the channels behind it comes to wait
 * for its own; else another path is sought. Turns from down to up are in each other's way, so a
 * path with few of them counts as short, best at switches where there is one already.
 *
 * It knows bytes and links alone, so it does not matter by what engine, or out of which two
 * tables, the columns came.
 */
#include "routing/cdg.h"
#include "routing/ftree/engine.h"
#include "routing/path.h"
#include "topology/base/mem.h"

struct detour_search {
	struct arena *arena; /* owns the arrays */
	const struct topo *t;
	const struct lid_map *lids;
	struct tables *tables;
	uint32_t *part;	     /* by switch: connected part, as its lowest switch */
	bool *hosts;	     /* by switch: host ports that are up; no aggregation nodes */
	uint16_t *first_lid; /* by switch: chain of the LIDs behind it, 0 = none */
	uint16_t *next_lid;  /* by LID: the next of that chain */
	struct cdg cdg;
	bool *met; /* by channel, in one search */
	uint32_t *stack;
	bool *refused; /* by channel: not for the destination at hand */
	bool *turns;   /* by switch: some packets turn up there that came down */
	struct hop *hops;
	uint32_t *queue;
	int64_t work; /* that may still be done */
	struct fiber *fiber;
};

struct hop { /* the best path from a switch to one that has a path */
	uint32_t cost;
	uint8_t port;
	bool queued;
};

#define COST_NONE     UINT32_MAX
#define COST_TURN     64	 /* hops that a turn is worth, where there is one */
#define COST_NEW_TURN 4096	 /* where there is none yet */
#define WORK_HOSTS    (32 << 20) /* steps: a tenth of a second or two */
#define WORK_OTHERS   (2 << 20)
#define TRIES_MAX     32 /* paths for one gap */
#define STEP_NS	      4	 /* of such work */
#define LOOK_NS	      60 /* at a switch: whether it has a path */

/* ---- The fabric ------------------------------------------------------------------------------ */

static void find_part(struct detour_search *m, uint32_t first)
{
	uint32_t head = 0, tail = 0;

	m->queue[tail++] = first;
	m->part[first] = first;
	while (head < tail) {
		uint32_t sw = m->queue[head++];

		for (unsigned num = 1; num <= m->t->nodes[sw].nports; num++) {
			uint32_t next = path_switch_at(m->t, sw, num);

			if (next == TOPO_NONE || m->part[next] != TOPO_NONE)
				continue;
			m->part[next] = first;
			m->queue[tail++] = next;
		}
	}
}

/* ---- Ways ------------------------------------------------------------------------------------ */

/*
 * LIDs behind one switch have a path or none alike, but for those whose entries were taken one by
 * one: all count.
 */
static bool has_path(const struct detour_search *m, uint32_t sw, uint32_t d)
{
	for (uint16_t lid = m->first_lid[d]; lid && sw != d; lid = m->next_lid[lid])
		if (tables_row(m->tables, sw)[lid] == TABLES_NO_ROUTE)
			return false;
	return m->first_lid[d] != 0;
}

/* Between hosts, or (management) between a switch and hosts. */
static bool is_open(const struct detour_search *m, uint32_t sw, uint32_t d, bool management)
{
	bool concerned = management ? m->hosts[sw] != m->hosts[d] : m->hosts[sw] && m->hosts[d];

	return concerned && m->part[sw] == m->part[d] && !has_path(m, sw, d);
}

static uint64_t count_open(const struct detour_search *m)
{
	uint64_t open = 0;

	for (uint32_t d = 0; d < m->t->nswitches; d++) {
		if (!m->hosts[d])
			continue;
		fiber_spend(m->fiber, m->t->nswitches * LOOK_NS);
		for (uint32_t sw = 0; sw < m->t->nswitches; sw++)
			open += is_open(m, sw, d, false);
	}
	return open;
}

/* ---- Dependencies ---------------------------------------------------------------------------- */

static bool is_turn(const struct detour_search *m, uint32_t from, uint32_t at, uint32_t to)
{
	return to != TOPO_NONE && m->cdg.rank[from] > m->cdg.rank[at] &&
	       m->cdg.rank[to] > m->cdg.rank[at];
}

static void meet(struct detour_search *m, uint32_t channel, uint32_t *nstack)
{
	if (m->met[channel])
		return;
	m->met[channel] = true;
	m->stack[(*nstack)++] = channel;
}

/* ---- Paths ----------------------------------------------------------------------------------- */

static uint32_t cost_of_turn(const struct detour_search *m, uint32_t from, uint32_t at, uint32_t to)
{
	if (!is_turn(m, from, at, to))
		return 0;
	return m->turns[at] ? COST_TURN : COST_NEW_TURN;
}

/* From a switch on by its neighbour `next`, whose own hop is known. */
static uint32_t cost_by(const struct detour_search *m, uint32_t from, uint32_t next, uint32_t d)
{
	uint32_t most = 0;

	if (m->hops[next].port)
		return m->hops[next].cost + 1 +
		       cost_of_turn(m, from, next, path_switch_at(m->t, next, m->hops[next].port));
	for (uint16_t lid = m->first_lid[d]; lid && next != d; lid = m->next_lid[lid]) {
		uint32_t cost =
			cost_of_turn(m, from, next,
				     path_switch_at(m->t, next, tables_row(m->tables, next)[lid]));

		most = cost > most ? cost : most;
	}
	return 1 + most;
}

static void enqueue(struct detour_search *m, uint32_t sw, uint32_t *tail)
{
	if (m->hops[sw].queued)
		return;
	m->hops[sw].queued = true;
	m->queue[(*tail)++ % m->t->nswitches] = sw;
}

/* ---- Filling --------------------------------------------------------------------------------- */

/*
 * All switches of the path found from one on get a path, the last one first. False: a channel
 * refused.
 */
static bool take_path(struct detour_search *m, uint32_t sw, uint32_t d)
{
	unsigned port = m->hops[sw].port;
	uint32_t channel = m->cdg.channel[m->t->nodes[sw].port0 + port];
	uint32_t next = path_switch_at(m->t, sw, port);

	if (m->hops[next].cost && !has_path(m, next, d) && !take_path(m, next, d))
		return false;

	/* Whether a channel would come to wait for itself, were D's LIDs sent by it. */
	uint32_t nstack = 0;
	int64_t before = m->work;

	m->work -= m->cdg.nchannels / 8;
	mem_zero(m->met, m->cdg.nchannels);
	for (uint16_t lid = m->first_lid[d]; lid; lid = m->next_lid[lid]) {
		uint8_t out = tables_row(m->tables, next)[lid];

		if (path_switch_at(m->t, next, out) != TOPO_NONE)
			meet(m, m->cdg.channel[m->t->nodes[next].port0 + out], &nstack);
	}
	for (; nstack && !m->met[channel]; m->work--) {
		uint32_t waits = m->stack[--nstack], head = m->cdg.head[waits];

		for (unsigned w = 0; w < CDG_WORDS; w++)
			for (uint64_t bits = m->cdg.next[waits][w]; bits; bits &= bits - 1)
				meet(m, m->cdg.channel[head + w * 64 + __builtin_ctzll(bits)],
				     &nstack);
	}
	fiber_spend(m->fiber, (uint32_t)(before - m->work) * STEP_NS);
	m->refused[channel] = m->met[channel];
	if (!m->refused[channel])
		for (uint16_t lid = m->first_lid[d]; lid; lid = m->next_lid[lid]) {
			uint8_t out = tables_row(m->tables, next)[lid];
			uint32_t beyond = path_switch_at(m->t, next, out);

			tables_set(m->tables, sw, lid, port);
			m->turns[next] |= is_turn(m, sw, next, beyond);
			if (beyond != TOPO_NONE)
				cdg_add(&m->cdg, channel, out);
		}
	return !m->refused[channel];
}

/* The best paths of all switches without a path, by Bellman's relaxation. */
static void find_paths(struct detour_search *m, uint32_t d)
{
	uint32_t head = 0, tail = 0;
	int64_t before = m->work;

	for (uint32_t sw = 0; sw < m->t->nswitches; sw++) {
		bool there = sw == d || has_path(m, sw, d);

		m->hops[sw] = (struct hop){ .cost = there ? 0 : COST_NONE };
		if (there)
			enqueue(m, sw, &tail);
	}
	while (head < tail) {
		uint32_t sw = m->queue[head++ % m->t->nswitches];

		m->work -= m->t->nodes[sw].nports;
		m->hops[sw].queued = false;
		/* Offers its neighbours without a path the path by this switch. */
		for (unsigned num = 1; num <= m->t->nodes[sw].nports; num++) {
			uint32_t from = path_switch_at(m->t, sw, num),
				 port = topo_port(m->t, sw, num)->peer, cost;

			if (from == TOPO_NONE || m->hops[from].cost == 0 ||
			    m->refused[m->cdg.channel[port]])
				continue;
			cost = cost_by(m, from, sw, d);
			if (cost >= m->hops[from].cost)
				continue;
			m->hops[from].cost = cost;
			m->hops[from].port = m->t->ports[port].num;
			enqueue(m, from, &tail);
		}
	}
	fiber_spend(m->fiber, (uint32_t)(before - m->work) * STEP_NS + m->t->nswitches * LOOK_NS);
}

static void fill_columns(struct detour_search *m, bool management)
{
	for (uint32_t d = 0; d < m->t->nswitches; d++) {
		mem_zero(m->refused, m->cdg.nchannels);
		fiber_spend(m->fiber, m->cdg.nchannels / 8 + m->t->nswitches * LOOK_NS);
		for (uint32_t sw = 0; sw < m->t->nswitches; sw++)
			for (unsigned try = 0; is_open(m, sw, d, management) && try < TRIES_MAX &&
					       m->work > 0 && !fiber_hurries(m->fiber);
			     try++) {
				find_paths(m, d);
				if (m->hops[sw].cost == COST_NONE || take_path(m, sw, d))
					break;
			}
	}
}

static void search_init(struct detour_search *m)
{
	struct arena *arena = m->arena = arena_new();
	uint32_t n = m->t->nswitches + 1;

	m->part = arena_array(arena, m->part, n);
	m->hosts = arena_array(arena, m->hosts, n);
	m->first_lid = arena_array(arena, m->first_lid, n);
	m->next_lid = arena_array(arena, m->next_lid, m->lids->top + 1u);
	m->queue = arena_array(arena, m->queue, n);
	memset(m->part, 0xff, m->t->nswitches * sizeof(*m->part));
	for (uint32_t sw = 0; sw < m->t->nswitches; sw++)
		if (m->part[sw] == TOPO_NONE)
			find_part(m, sw);
	/* Where each LID is at home, those of hosts whose link is down left out. */
	for (uint32_t lid = m->lids->top; lid; lid--) {
		uint32_t port = m->lids->port_of_lid[lid];
		const struct topo_port *p = port == TOPO_NONE ? NULL : &m->t->ports[port];
		uint32_t home = p ? p->node : TOPO_NONE;

		if (p && p->node >= m->t->nswitches)
			home = p->link_up ? m->t->ports[p->peer].node : TOPO_NONE;
		if (home >= m->t->nswitches)
			continue;
		m->hosts[home] |= topo_is_host(m->t, p->node);
		m->next_lid[lid] = m->first_lid[home];
		m->first_lid[home] = lid;
	}
}

uint64_t detour_search_count(const struct topo *t, const struct lid_map *lids,
			     const struct tables *tables, struct fiber *fiber)
{
	struct detour_search m = {
		.t = t, .lids = lids, .tables = (struct tables *)tables, .fiber = fiber
	};

	search_init(&m);

	uint64_t open = count_open(&m);

	arena_free(m.arena);
	return open;
}

uint64_t detour_search_tables(const struct topo *t, const struct lid_map *lids,
			      struct tables *tables, struct fiber *fiber)
{
	struct detour_search m = {
		.t = t,
		.lids = lids,
		.tables = tables,
		.fiber = fiber,
	};

	search_init(&m);
	cdg_init(&m.cdg, m.t, false);
	m.met = arena_array(m.arena, m.met, m.cdg.nchannels + 1);
	m.stack = arena_array(m.arena, m.stack, m.cdg.nchannels + 1);
	m.refused = arena_array(m.arena, m.refused, m.cdg.nchannels + 1);
	m.turns = arena_array(m.arena, m.turns, m.t->nswitches + 1);
	m.hops = arena_array(m.arena, m.hops, m.t->nswitches + 1);
	for (uint32_t sw = 0; sw < m.t->nswitches; sw++) {
		const uint8_t *row = tables_row(m.tables, sw);

		for (uint32_t lid = 1; lid <= m.lids->top; lid++) {
			uint32_t next = m.lids->port_of_lid[lid] == TOPO_NONE
						? TOPO_NONE
						: path_switch_at(m.t, sw, row[lid]);
			uint8_t out = next == TOPO_NONE ? 0 : tables_row(m.tables, next)[lid];
			uint32_t beyond = out ? path_switch_at(m.t, next, out) : TOPO_NONE;

			if (beyond == TOPO_NONE)
				continue;
			cdg_add(&m.cdg, m.cdg.channel[m.t->nodes[sw].port0 + row[lid]], out);
			m.turns[next] |= is_turn(&m, sw, next, beyond);
		}
		fiber_spend(m.fiber, m.lids->top * STEP_NS);
	}
	m.work = WORK_HOSTS;
	fill_columns(&m, false);

	uint64_t open = count_open(&m);

	m.work = WORK_OTHERS;
	fill_columns(&m, true);
	cdg_fini(&m.cdg);
	arena_free(m.arena);
	return open;
}
