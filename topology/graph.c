/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * graph: the dense, oriented switch graph of a snapshot (see graph.h).
 *
 * Built in three linear passes over the ports: rank the switches, gather each one's cables into
 * groups by neighbour, gather its hosts. Ranks follow the levels; where two neighbours stand on one
 * level, the one that serves fewer hosts is the higher, then the node index decides: some total
 * order is needed, and any one is legal. GRAPH_BY_ROOT ranks by the distance from the most central
 * switch of each connected part instead (classic up/down: Schroeder et al., "Autonet", 1991): it
 * connects every pair that cables connect, at the price of a busy root.
 */
#include <stdlib.h>
#include <string.h>
#include "topology/graph.h"
#include "topology/mem.h"
#include "topology/sort.h"

struct graph_work {
	struct graph_how how;
	const struct topo *t;
	struct graph *g;
	uint32_t *key;	    /* by switch: what ranks are sorted by, smaller = higher */
	uint32_t *group_of; /* by switch: group of the present switch that leads there, + 1 */
};

struct rank_entry {
	uint32_t key, sw;
};

/* ---- Ranks ------------------------------------------------------------------------------------- */

static bool is_isl(const struct topo *t, uint32_t sw, const struct topo_port *peer)
{
	return peer && peer->node < t->nswitches && peer->node != sw;
}

static unsigned host_count(const struct topo *t, uint32_t sw)
{
	unsigned hosts = 0;

	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

		hosts += peer && peer->node >= t->nswitches && !t->nodes[peer->node].sharp;
	}
	return hosts;
}

static void key_by_level(struct graph_work *w)
{
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		w->key[sw] = (uint32_t)(TOPO_MAX_LEVEL - w->t->nodes[sw].level) << 16 |
			     host_count(w->t, sw);
}

/* Distances from `root` into dist (TOPO_NONE = not reached); returns how many switches were
 * reached, the last in *last. */
static uint32_t distances(const struct topo *t, uint32_t root, uint32_t *dist, uint32_t *queue,
			  uint32_t *last)
{
	uint32_t head = 0, tail = 0;

	dist[root] = 0;
	queue[tail++] = root;
	while (head < tail) {
		uint32_t sw = queue[head++];

		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			const struct topo_port *port = topo_port(t, sw, num);
			const struct topo_port *peer = topo_peer(t, port);

			if (!port->link_up || !is_isl(t, sw, peer) || dist[peer->node] != TOPO_NONE)
				continue;
			dist[peer->node] = dist[sw] + 1;
			queue[tail++] = peer->node;
		}
	}
	*last = queue[tail - 1];
	return tail;
}

/* The middle of a longest shortest path, found by two walks: central enough for a root. */
static uint32_t middle_of(const struct topo *t, uint32_t start, uint32_t *dist, uint32_t *queue)
{
	uint32_t far, end, sw, reached;

	reached = distances(t, start, dist, queue, &far);
	for (uint32_t i = 0; i < reached; i++)
		dist[queue[i]] = TOPO_NONE;
	reached = distances(t, far, dist, queue, &end);
	sw = end;
	for (uint32_t steps = dist[end] / 2; steps > 0; steps--) {
		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			const struct topo_port *port = topo_port(t, sw, num);
			const struct topo_port *peer = topo_peer(t, port);

			if (port->link_up && is_isl(t, sw, peer) &&
			    dist[peer->node] + 1 == dist[sw]) {
				sw = peer->node;
				break;
			}
		}
	}
	for (uint32_t i = 0; i < reached; i++)
		dist[queue[i]] = TOPO_NONE;
	return sw;
}

static void key_by_root(struct graph_work *w)
{
	uint32_t *queue = mem_alloc(w->t->nswitches + 1, sizeof(*queue));
	uint32_t last;

	memset(w->key, 0xff, w->t->nswitches * sizeof(*w->key));
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++) {
		if (w->key[sw] != TOPO_NONE)
			continue;
		uint32_t root = middle_of(w->t, sw, w->key, queue);
		distances(w->t, root, w->key, queue, &last);
	}
	free(queue);
}

static int rank_compare(const void *a, const void *b)
{
	const struct rank_entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1; /* larger key = lower rank */
	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

static void assign_ranks(struct graph_work *w)
{
	struct graph *g = w->g;
	struct rank_entry *entries = mem_alloc(g->nswitches + 1, sizeof(*entries));

	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		entries[sw] = (struct rank_entry){ w->key[sw], sw };
	sort_if_needed(entries, g->nswitches, sizeof(*entries), rank_compare);
	for (uint32_t i = 0; i < g->nswitches; i++) {
		g->by_rank[i] = entries[i].sw;
		g->switches[entries[i].sw].rank = i;
	}
	free(entries);
}

/* Levels for families: tiers of the tree, or steps from the root (counted from the farthest). */
static void assign_levels(struct graph_work *w)
{
	uint32_t farthest = 0;

	if (w->how.orientation == GRAPH_BY_ROOT)
		for (uint32_t sw = 0; sw < w->g->nswitches; sw++)
			farthest = w->key[sw] > farthest ? w->key[sw] : farthest;
	for (uint32_t sw = 0; sw < w->g->nswitches; sw++) {
		uint32_t level = w->how.orientation == GRAPH_BY_ROOT ? farthest - w->key[sw]
								     : w->t->nodes[sw].level;

		w->g->switches[sw].level = level < UINT8_MAX ? level : UINT8_MAX;
	}
}

/* ---- Groups and lanes -------------------------------------------------------------------------- */

static int group_compare(const void *a, const void *b)
{
	const struct graph_group *x = a, *y = b;

	return x->peer < y->peer ? -1 : x->peer > y->peer;
}

/* One group per neighbour, nlanes counted; up groups first, each part by node index. */
static void gather_groups(struct graph_work *w, uint32_t sw)
{
	struct graph *g = w->g;
	struct graph_switch *s = &g->switches[sw];
	struct graph_group *ups = &g->groups[g->ngroups], downs[UINT8_MAX];

	s->first_group = g->ngroups;
	for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(w->t, topo_port(w->t, sw, num));

		if (!is_isl(w->t, sw, peer))
			continue;
		bool up = g->switches[peer->node].rank > s->rank;
		uint32_t *group = &w->group_of[peer->node];
		if (!*group) {
			*group = 1 + (up ? s->nup++ : s->ndown++);
			(up ? ups : downs)[*group - 1] = (struct graph_group){ .peer = peer->node };
		}
		(up ? ups : downs)[*group - 1].nlanes++;
	}
	sort_if_needed(ups, s->nup, sizeof(*ups), group_compare);
	sort_if_needed(downs, s->ndown, sizeof(*downs), group_compare);
	memcpy(ups + s->nup, downs, s->ndown * sizeof(*downs));
	g->ngroups += s->nup + s->ndown;
	for (unsigned i = 0; i < s->nup + s->ndown; i++)
		w->group_of[ups[i].peer] = 0;
}

static int by_peer_port(const void *a, const void *b)
{
	const struct graph_lane *x = a, *y = b;

	return (int)x->peer_port - (int)y->peer_port;
}

static void gather_lanes(struct graph_work *w, uint32_t sw)
{
	struct graph *g = w->g;
	struct graph_switch *s = &g->switches[sw];
	uint8_t filled[UINT8_MAX] = { 0 };

	for (unsigned i = 0; i < s->nup + s->ndown; i++) {
		struct graph_group *group = &g->groups[s->first_group + i];

		group->first_lane = g->nlanes;
		g->nlanes += group->nlanes;
		w->group_of[group->peer] = i;
	}
	for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++) {
		const struct topo_port *port = topo_port(w->t, sw, num);
		const struct topo_port *peer = topo_peer(w->t, port);

		if (!is_isl(w->t, sw, peer))
			continue;
		unsigned i = w->group_of[peer->node];
		struct graph_group *group = &g->groups[s->first_group + i];
		bool live = (port->link_up || w->how.through_damage) &&
			    (w->how.through_cordons || !(port->cordoned || peer->cordoned));
		g->lanes[group->first_lane + filled[i]++] =
			(struct graph_lane){ num, peer->num, live };
		group->nlive += live;
	}
	for (unsigned i = 0; i < s->nup + s->ndown; i++) {
		const struct graph_group *group = &g->groups[s->first_group + i];

		w->group_of[group->peer] = 0;
		if (i >= s->nup)
			sort_if_needed(&g->lanes[group->first_lane], group->nlanes,
				       sizeof(*g->lanes), by_peer_port);
	}
}

static void gather_hosts(struct graph_work *w, uint32_t sw)
{
	struct graph *g = w->g;

	g->switches[sw].first_host = g->nhosts;
	for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++) {
		const struct topo_port *port = topo_port(w->t, sw, num);
		const struct topo_port *peer = topo_peer(w->t, port);

		if (!peer || peer->node < w->t->nswitches)
			continue;
		g->hosts[g->nhosts++] = (struct graph_host){ .port = port->peer,
							     .sw_port = num,
							     .live = port->link_up };
		g->switches[sw].nhosts++;
	}
}

static void count_cables(const struct topo *t, uint32_t *isl_ends, uint32_t *hosts)
{
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

			*isl_ends += is_isl(t, sw, peer);
			*hosts += peer && peer->node >= t->nswitches;
		}
	}
}

struct graph *graph_new(const struct topo *t, struct graph_how how)
{
	struct graph *g = mem_alloc(1, sizeof(*g));
	struct graph_work w = { .how = how, .t = t, .g = g };
	uint32_t isl_ends = 0, hosts = 0;

	count_cables(t, &isl_ends, &hosts);
	g->nswitches = t->nswitches;
	g->switches = mem_alloc(t->nswitches + 1, sizeof(*g->switches));
	g->by_rank = mem_alloc(t->nswitches + 1, sizeof(*g->by_rank));
	g->groups = mem_alloc(isl_ends + 1, sizeof(*g->groups));
	g->lanes = mem_alloc(isl_ends + 1, sizeof(*g->lanes));
	g->hosts = mem_alloc(hosts + 1, sizeof(*g->hosts));
	w.key = mem_alloc(t->nswitches + 1, sizeof(*w.key));
	w.group_of = mem_alloc(t->nswitches + 1, sizeof(*w.group_of));

	how.orientation == GRAPH_BY_ROOT ? key_by_root(&w) : key_by_level(&w);
	assign_ranks(&w);
	assign_levels(&w);
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		gather_groups(&w, sw);
		gather_lanes(&w, sw);
		gather_hosts(&w, sw);
	}
	family_assign(g);
	free(w.key);
	free(w.group_of);
	return g;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	free(g->switches);
	free(g->groups);
	free(g->lanes);
	free(g->hosts);
	free(g->families);
	free(g->slots);
	free(g->members);
	free(g->parents);
	free(g->by_rank);
	free(g);
}
