/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * graph: the dense, oriented switch graph of a snapshot (see graph.h).
 *
 * One look at every port of the snapshot notes its far end: hosts, and cables to other switches. Then the switches are
 * ranked, and each one's cables gathered into groups by neighbour. Ranks follow the levels; where two neighbours stand on one
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
	uint32_t switch_ports; /* in topo.ports those of switches come first */
	struct cable *cables;  /* by switch, then port number */
	uint32_t *first_cable; /* by switch [nswitches + 1] */
	uint32_t *key;	       /* by switch: what ranks are sorted by, smaller = higher */
	uint32_t *group_of;    /* by neighbour: number of the group to it + 1; then its next lane */
};

struct cable { /* to another switch */
	uint32_t peer;
	uint8_t port, peer_port;
	bool live;
};

struct rank_entry {
	uint32_t key, sw;
};

/* ---- Ports ------------------------------------------------------------------------------------- */

static bool is_lifted(const struct graph_work *w, const struct topo_port *port)
{
	return w->how.lifted && w->how.lifted[port - w->t->ports];
}

static bool is_live(const struct graph_work *w, const struct topo_port *port,
		    const struct topo_port *peer)
{
	return (port->link_up || w->how.through_damage) &&
	       (w->how.through_cordons || !(port->cordoned || peer->cordoned) ||
		is_lifted(w, port) || is_lifted(w, peer));
}

static void read_ports(struct graph_work *w, uint32_t sw)
{
	const struct topo *t = w->t;
	struct graph *g = w->g;
	struct graph_switch *s = &g->switches[sw];
	struct cable *next = w->cables + w->first_cable[sw];

	s->first_host = g->nhosts;
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *port = topo_port(t, sw, num), *peer = topo_peer(t, port);

		if (!peer)
			continue;
		if (port->peer >= w->switch_ports)
			g->hosts[g->nhosts++] = (struct graph_host){ .port = port->peer,
								     .sw_port = num,
								     .live = port->link_up };
		else if (peer->node != sw)
			*next++ = (struct cable){ peer->node, num, peer->num,
						  is_live(w, port, peer) };
	}
	w->first_cable[sw + 1] = next - w->cables;
	s->nhosts = g->nhosts - s->first_host;
}

static void read_all_ports(struct graph_work *w)
{
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		w->switch_ports += w->t->nodes[sw].nports + 1u;
	w->cables = mem_alloc_unset(w->switch_ports + 1, sizeof(*w->cables));
	w->first_cable = mem_alloc(w->t->nswitches + 1, sizeof(*w->first_cable));
	w->g->hosts = mem_alloc_unset(w->t->nports - w->switch_ports + 1, sizeof(*w->g->hosts));
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		read_ports(w, sw);
}

/* ---- Ranks ------------------------------------------------------------------------------------- */

static bool is_isl(const struct topo *t, uint32_t sw, const struct topo_port *peer)
{
	return peer && peer->node < t->nswitches && peer->node != sw;
}

/* Without SHARP aggregation nodes. */
static unsigned host_count(const struct graph_work *w, uint32_t sw)
{
	const struct graph_switch *s = &w->g->switches[sw];
	unsigned hosts = s->nhosts;

	if (w->t->ncas == w->t->nnodes - w->t->nswitches) /* nobody is one */
		return hosts;
	for (unsigned h = 0; h < s->nhosts; h++) {
		uint32_t node = w->t->ports[w->g->hosts[s->first_host + h].port].node;

		hosts -= w->t->nodes[node].sharp;
	}
	return hosts;
}

static void key_by_level(struct graph_work *w)
{
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		w->key[sw] = (uint32_t)(TOPO_MAX_LEVEL - w->t->nodes[sw].level) << 16 |
			     host_count(w, sw);
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

/* One group per neighbour, nlanes and nlive counted; up groups first, each part by node index. */
static void gather_groups(struct graph_work *w, uint32_t sw)
{
	struct graph *g = w->g;
	struct graph_switch *s = &g->switches[sw];
	struct graph_group *ups = &g->groups[g->ngroups], downs[UINT8_MAX];

	s->first_group = g->ngroups;
	for (uint32_t c = w->first_cable[sw]; c < w->first_cable[sw + 1]; c++) {
		const struct cable *cable = &w->cables[c];
		bool up = g->switches[cable->peer].rank > s->rank;
		uint32_t *number = &w->group_of[cable->peer];

		if (!*number) {
			*number = 1 + (up ? s->nup++ : s->ndown++);
			(up ? ups : downs)[*number - 1] =
				(struct graph_group){ .peer = cable->peer };
		}
		struct graph_group *group = &(up ? ups : downs)[*number - 1];
		group->nlanes++;
		group->nlive += cable->live;
	}
	sort_if_needed(ups, s->nup, sizeof(*ups), group_compare);
	sort_if_needed(downs, s->ndown, sizeof(*downs), group_compare);
	memcpy(ups + s->nup, downs, s->ndown * sizeof(*downs));
	g->ngroups += s->nup + s->ndown;
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
	struct graph_group *groups = &g->groups[s->first_group];

	for (unsigned i = 0; i < s->nup + s->ndown; i++) {
		groups[i].first_lane = w->group_of[groups[i].peer] = g->nlanes;
		g->nlanes += groups[i].nlanes;
	}
	for (uint32_t c = w->first_cable[sw]; c < w->first_cable[sw + 1]; c++) {
		const struct cable *cable = &w->cables[c];

		g->lanes[w->group_of[cable->peer]++] =
			(struct graph_lane){ cable->port, cable->peer_port, cable->live };
	}
	for (unsigned i = 0; i < s->nup + s->ndown; i++) {
		w->group_of[groups[i].peer] = 0;
		if (i >= s->nup && groups[i].nlanes > 1)
			sort_if_needed(&g->lanes[groups[i].first_lane], groups[i].nlanes,
				       sizeof(*g->lanes), by_peer_port);
	}
}

struct graph *graph_new(const struct topo *t, struct graph_how how)
{
	struct graph *g = mem_alloc(1, sizeof(*g));
	struct graph_work w = { .how = how, .t = t, .g = g };

	g->nswitches = t->nswitches;
	g->switches = mem_alloc(t->nswitches + 1, sizeof(*g->switches));
	g->by_rank = mem_alloc(t->nswitches + 1, sizeof(*g->by_rank));
	w.key = mem_alloc(t->nswitches + 1, sizeof(*w.key));
	w.group_of = mem_alloc(t->nswitches + 1, sizeof(*w.group_of));
	read_all_ports(&w);
	g->groups = mem_alloc_unset(w.first_cable[t->nswitches] + 1, sizeof(*g->groups));
	g->lanes = mem_alloc_unset(w.first_cable[t->nswitches] + 1, sizeof(*g->lanes));

	how.orientation == GRAPH_BY_ROOT ? key_by_root(&w) : key_by_level(&w);
	assign_ranks(&w);
	assign_levels(&w);
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		gather_groups(&w, sw);
		gather_lanes(&w, sw);
	}
	family_assign(g);
	free(w.cables);
	free(w.first_cable);
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
