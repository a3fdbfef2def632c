/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* path: follows packets through the tables, as the switches would (see path.h). */
#include <errno.h>
#include "routing/fiber.h"
#include "routing/path.h"
#include "topology/base/mem.h"

/*
 * ---- Burden ------------------------------------------------------------------------------------
 * The entries of one LID form a tree. A switch sends on what its own hosts send and what arrives
 * from the switches that send by it.
 */

#define SHIFTS	 32
#define MAX_HOPS 64
#define ENTRY_NS 20 /* to follow one entry */

struct work {
	const struct topo *t;
	const struct tables *tables;
	uint32_t *part;	 /* by switch: connected part by links known */
	uint32_t *hosts; /* by switch */
	uint64_t *load;	 /* by port */
	uint32_t *next;	 /* by switch, for one LID: where it sends to, TOPO_NONE = nowhere */
	uint32_t *children, *sum, *queue;
	bool *arrives; /* by switch, for one LID */
	uint64_t flows, links;
	struct fiber *fiber;
	struct burden *out;
};

/* The switch that a LID's port is on, TOPO_NONE = it is no host's. */
static uint32_t home_of_host(const struct topo *t, const struct lid_map *lids, uint32_t lid)
{
	uint32_t port = lids->port_of_lid[lid], peer;

	if (port == TOPO_NONE || t->ports[port].node < t->nswitches ||
	    t->nodes[t->ports[port].node].sharp || lids->lid_of_port[port] != lid)
		return TOPO_NONE;
	peer = t->ports[port].peer;
	return peer == TOPO_NONE || t->ports[peer].node >= t->nswitches ? TOPO_NONE
									: t->ports[peer].node;
}

static uint32_t switch_behind(const struct topo *t, uint32_t sw, uint8_t num)
{
	const struct topo_port *peer =
		num && num <= t->nodes[sw].nports ? topo_peer(t, topo_port(t, sw, num)) : NULL;

	return peer && peer->node < t->nswitches ? peer->node : TOPO_NONE;
}

static void find_part(struct work *w, uint32_t first)
{
	uint32_t head = 0, tail = 0;

	w->part[first] = first;
	w->queue[tail++] = first;
	while (head < tail) {
		uint32_t sw = w->queue[head++];

		for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++) {
			uint32_t to = switch_behind(w->t, sw, num);

			if (to == TOPO_NONE || w->part[to] != TOPO_NONE)
				continue;
			w->part[to] = first;
			w->queue[tail++] = to;
		}
	}
}

/*
 * Orders the switches so that each comes before the switch that it sends to; switches on a loop are
 * left out. Returns how many are in w->queue.
 */
static uint32_t order_column(struct work *w, uint32_t home)
{
	uint32_t count = 0;

	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		if (!w->children[sw] && sw != home)
			w->queue[count++] = sw;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t to = w->next[w->queue[i]];

		if (to != TOPO_NONE && !--w->children[to] && to != home)
			w->queue[count++] = to;
	}
	for (uint32_t i = count; i-- > 0;)
		if (w->next[w->queue[i]] != TOPO_NONE)
			w->arrives[w->queue[i]] = w->arrives[w->next[w->queue[i]]];
	return count;
}

static void measure(struct work *w, const struct lid_map *lids)
{
	uint32_t *counted = mem_array(counted, w->t->nswitches + 1);

	for (uint32_t lid = 1; lid <= lids->top; lid++) {
		uint32_t home = home_of_host(w->t, lids, lid);

		if (home == TOPO_NONE)
			continue;
		uint32_t n = w->t->nswitches;

		fiber_spend(w->fiber, n * ENTRY_NS);
		mem_zero(w->children, n);
		for (uint32_t sw = 0; sw < n; sw++) {
			w->next[sw] = sw == home ? TOPO_NONE
						 : switch_behind(w->t, sw,
								 tables_row(w->tables, sw)[lid]);
			w->sum[sw] = w->hosts[sw];
			w->arrives[sw] = sw == home;
			if (w->next[sw] != TOPO_NONE)
				w->children[w->next[sw]]++;
		}

		uint32_t count = order_column(w, home);

		for (uint32_t i = 0; i < count; i++) {
			uint32_t sw = w->queue[i];

			if (!w->arrives[sw])
				continue;

			uint64_t *load =
				&w->load[w->t->nodes[sw].port0 + tables_row(w->tables, sw)[lid]];

			*load += w->sum[sw];
			w->out->load = *load > w->out->load ? *load : w->out->load;
			w->links += w->sum[sw];
			w->flows += w->hosts[sw];
			w->sum[w->next[sw]] += w->sum[sw];
		}

		if (!counted[home]++) {
			for (uint32_t sw = 0; sw < w->t->nswitches; sw++) {
				if (!w->hosts[sw] || w->arrives[sw] || w->part[sw] != w->part[home])
					continue;
				if (!w->out->open_pairs++) {
					w->out->open_from = sw;
					w->out->open_to = home;
				}
			}
		}
	}
	w->out->hops = w->flows ? (double)w->links / (double)w->flows : 0;
	free(counted);
}

/* Flows on the busiest link of one shift; loads are zero before and after. */
static uint64_t measure_shift(struct work *w, const uint16_t *host, const uint32_t *home,
			      uint32_t count, uint32_t k)
{
	uint64_t most = 0;

	fiber_spend(w->fiber, count * 16 * ENTRY_NS); /* some hops, twice */
	for (int sign = 1; sign >= 0; sign--)
		for (uint32_t i = 0; i < count; i++) {
			uint32_t to = (i + k) % count, sw = home[i];

			for (unsigned hop = 0; sw != home[to] && hop < MAX_HOPS; hop++) {
				uint8_t out = tables_row(w->tables, sw)[host[to]];
				uint32_t next = switch_behind(w->t, sw, out);
				uint64_t *load = &w->load[w->t->nodes[sw].port0 + out];

				if (next == TOPO_NONE)
					break;
				*load = sign ? *load + 1 : 0;
				most = *load > most ? *load : most;
				sw = next;
			}
		}
	return most;
}

void burden_measure(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		    struct fiber *fiber, struct burden *out)
{
	struct arena *arena = arena_new();
	uint32_t n = t->nswitches + 1;
	struct work w = { .t = t,
			  .tables = tables,
			  .part = arena_array(arena, w.part, n),
			  .hosts = arena_array(arena, w.hosts, n),
			  .load = arena_array(arena, w.load, t->nports + 1),
			  .next = arena_array(arena, w.next, n),
			  .children = arena_array(arena, w.children, n),
			  .sum = arena_array(arena, w.sum, n),
			  .queue = arena_array(arena, w.queue, n),
			  .arrives = arena_array(arena, w.arrives, n),
			  .fiber = fiber,
			  .out = out };

	*out = (struct burden){ .open_from = TOPO_NONE, .open_to = TOPO_NONE };
	memset(w.part, 0xff, w.t->nswitches * sizeof(*w.part));
	for (uint32_t sw = 0; sw < w.t->nswitches; sw++)
		if (w.part[sw] == TOPO_NONE)
			find_part(&w, sw);
	for (uint32_t lid = 1; lid <= lids->top; lid++) {
		uint32_t home = home_of_host(t, lids, lid);

		if (home != TOPO_NONE)
			w.hosts[home]++;
	}
	measure(&w, lids);

	/* Up to SHIFTS shifts, evenly spread over all; hosts are numbered by LID. */
	uint16_t *host = arena_array(arena, host, lids->top + 1u);
	uint32_t *home_of = arena_array(arena, home_of, lids->top + 1u), count = 0, nshifts;

	for (uint32_t lid = 1; lid <= lids->top; lid++)
		if ((home_of[count] = home_of_host(w.t, lids, lid)) != TOPO_NONE)
			host[count++] = lid;
	nshifts = count > SHIFTS ? SHIFTS : count ? count - 1 : 0;
	mem_zero(w.load, w.t->nports);
	for (uint32_t i = 1; i <= nshifts; i++)
		w.out->shift += (double)measure_shift(&w, host, home_of, count,
						      (uint64_t)i * (count - 1) / nshifts) /
				nshifts;
	arena_free(arena);
}

/* ---- Path ------------------------------------------------------------------------------------ */

static void add_hop(struct path *path, uint32_t node, uint8_t in_port, uint8_t out_port)
{
	path->hops[path->count++] = (struct path_hop){ node, in_port, out_port };
}

/* The port a packet leaves by, 0 = it is for this switch; negative: nowhere. */
static int out_port(const struct topo *t, const struct tables *tables, uint32_t sw, uint16_t lid)
{
	unsigned port = lid <= tables->top ? tables_row(tables, sw)[lid] : TABLES_NO_ROUTE;

	if (port > t->nodes[sw].nports || (port && !topo_port(t, sw, port)->link_up))
		return -EHOSTUNREACH;
	return port;
}

int path_trace(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
	       uint32_t from_port, uint16_t to_lid, struct path *out)
{
	uint32_t to_port = to_lid && to_lid <= lids->top ? lids->port_of_lid[to_lid] : TOPO_NONE;
	const struct topo_port *at = &t->ports[from_port];

	out->count = 0;
	if (to_port == TOPO_NONE)
		return -ENOENT;
	if (to_port == from_port) {
		add_hop(out, at->node, 0, 0);
		return 0;
	}
	uint8_t in_port = 0;
	if (t->nodes[at->node].type != TOPO_SWITCH) {
		if (!at->link_up)
			return -EHOSTUNREACH;
		add_hop(out, at->node, 0, at->num);
		at = topo_peer(t, at);
		in_port = at->num;
	}
	while (t->nodes[at->node].type == TOPO_SWITCH && out->count < PATH_MAX_HOPS - 1) {
		int port = out_port(t, tables, at->node, to_lid);

		if (port < 0)
			return port;
		add_hop(out, at->node, in_port, port);
		if (port == 0)
			return t->ports[to_port].node == at->node ? 0 : -EHOSTUNREACH;
		at = topo_peer(t, topo_port(t, at->node, port));
		in_port = at->num;
	}
	if (t->nodes[at->node].type == TOPO_SWITCH)
		return -ELOOP;
	add_hop(out, at->node, in_port, 0);
	return at == &t->ports[to_port] ? 0 : -EHOSTUNREACH;
}
