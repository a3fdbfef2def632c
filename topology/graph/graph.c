/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * graph: the dense, oriented switch graph of a snapshot (see graph.h).
 *
 * One look at every port of the snapshot notes its far end: hosts, aggregation nodes, and lanes to
 * other switches, those that follow each other to one neighbour as a group. Then the switches are
 * ranked, and each one's groups put in order; only where a neighbour turns up in several places are
 * groups joined and lanes moved. Ranks follow the levels; where two neighbours stand on one level,
 * the one that serves fewer hosts is the higher, then the node index decides: some total order is
 * needed, and any one is legal. GRAPH_BY_ROOT ranks by the distance from the most central switch of
 * each connected part instead (classic up/down: Schroeder et al., "Autonet", 1991): it connects
 * every pair that links connect, at the price of a busy root.
 */
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/graph/graph.h"

struct graph_work {
	struct graph_how how;
	const struct topo *t;
	struct graph *g;
	uint32_t *key; /* by switch: what ranks are sorted by, smaller = higher */
};

struct rank_entry {
	uint32_t key, sw;
};

/* ---- Ports ----------------------------------------------------------------------------------- */

static void read_all_ports(struct graph_work *w)
{
	struct graph *g = w->g;

	g->groups = mem_array_unset(g->groups, w->t->nswitch_ports + 1);
	g->lanes = mem_array_unset(g->lanes, w->t->nswitch_ports + 1);
	g->hosts = mem_array_unset(g->hosts, w->t->nports - w->t->nswitch_ports + 1);
	g->specials = mem_array_unset(g->specials, w->t->nports - w->t->nswitch_ports + 1);
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++) {
		struct graph_switch *s = &g->switches[sw];

		s->first_group = g->ngroups;
		s->first_host = g->nhosts;
		s->first_special = g->nspecials;

		/* Groups and lanes as the ports have them: see order_groups(). */
		const struct topo_end *ends = &w->t->ends[w->t->nodes[sw].port0];
		struct graph_group *group = &w->g->groups[w->g->ngroups],
				   now = { .peer = TOPO_NONE };
		struct graph_host *host = &w->g->hosts[w->g->nhosts];
		struct graph_host *special = &w->g->specials[w->g->nspecials];
		struct graph_lane *lanes = w->g->lanes;
		uint32_t nswitches = w->t->nswitches, lane = w->g->nlanes;
		unsigned nports = w->t->nodes[sw].nports;

		for (unsigned num = 1; num <= nports; num++) {
			const struct topo_end end = ends[num];

			if (end.to >= nswitches) {
				if (end.to != TOPO_NONE)
					*(end.special ? special++ : host++) =
						(struct graph_host){ .port = end.to,
								     .sw_port = num };
				continue;
			}
			if (end.to == sw)
				continue;
			if (end.to != now.peer) {
				if (now.nlanes)
					*group++ = now;
				now = (struct graph_group){ .peer = end.to, .first_lane = lane };
			}
			lanes[lane++] = (struct graph_lane){ .port = num, .peer_port = end.num };
			now.nlanes++;
		}
		if (now.nlanes)
			*group++ = now;
		w->g->ngroups = group - w->g->groups;
		w->g->nhosts = host - w->g->hosts;
		w->g->nspecials = special - w->g->specials;
		w->g->nlanes = lane;

		s->nhosts = g->nhosts - s->first_host;
		s->nspecials = g->nspecials - s->first_special;
	}
}

/* ---- Ranks ----------------------------------------------------------------------------------- */

/*
 * Distances from `root` into dist (TOPO_NONE = not reached); returns how many switches were
 * reached, the last in *last.
 */
static uint32_t distances(const struct topo *t, uint32_t root, uint32_t *dist, uint32_t *queue,
			  uint32_t *last)
{
	uint32_t head = 0, tail = 0;

	dist[root] = 0;
	queue[tail++] = root;
	while (head < tail) {
		uint32_t sw = queue[head++];

		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			const struct topo_end *end = &t->ends[t->nodes[sw].port0 + num];

			if (!end->up || end->to >= t->nswitches || dist[end->to] != TOPO_NONE)
				continue;
			dist[end->to] = dist[sw] + 1;
			queue[tail++] = end->to;
		}
	}
	*last = queue[tail - 1];
	return tail;
}

/* The middle of a longest shortest path, found by two walks: central enough for a root. */
static uint32_t middle_of(const struct topo *t, uint32_t start, uint32_t *dist, uint32_t *queue)
{
	uint32_t far, sw;
	uint32_t reached = distances(t, start, dist, queue, &far);

	for (uint32_t i = 0; i < reached; i++)
		dist[queue[i]] = TOPO_NONE;
	reached = distances(t, far, dist, queue, &sw);
	for (uint32_t steps = dist[sw] / 2; steps > 0; steps--) {
		const struct topo_end *end = &t->ends[t->nodes[sw].port0 + 1];

		while (!end->up || end->to >= t->nswitches || dist[end->to] + 1 != dist[sw])
			end++;
		sw = end->to;
	}
	for (uint32_t i = 0; i < reached; i++)
		dist[queue[i]] = TOPO_NONE;
	return sw;
}

SORT_BY(rank_compare, struct rank_entry,
	sort_order(b->key, a->key) ?: /* larger key = lower rank */
		sort_order(a->sw, b->sw))

/* ---- Groups and lanes ------------------------------------------------------------------------ */

SORT_BY(group_compare, struct graph_group,
	sort_order(a->peer, b->peer) ?: sort_order(a->first_lane, b->first_lane))

SORT_BY(by_peer_port, struct graph_lane, a->peer_port - b->peer_port)

/*
 * Puts one part of a switch's groups in order, those to the same neighbour into one, and their
 * lanes side by side. `from`: its lanes as read, the first of which is number `base`. Returns the
 * next lane to place.
 */
static struct graph_lane *join_groups(struct graph *g, struct graph_group *groups, uint16_t *count,
				      const struct graph_lane *from, uint32_t base,
				      struct graph_lane *lane)
{
	struct graph_group *last = groups - 1;

	qsort(groups, *count, sizeof(*groups), group_compare);
	for (unsigned i = 0; i < *count; i++) {
		struct graph_group group = groups[i];

		mem_copy(lane, from + (group.first_lane - base), group.nlanes);
		if (i && last->peer == group.peer) {
			last->nlanes += group.nlanes;
		} else {
			group.first_lane = lane - g->lanes;
			*++last = group;
		}
		lane += group.nlanes;
	}
	*count = last + 1 - groups;
	return lane;
}

static void order_groups(struct graph *g, uint32_t sw)
{
	struct graph_switch *s = &g->switches[sw];
	uint32_t end = sw + 1 == g->nswitches ? g->ngroups : s[1].first_group;
	uint32_t base = g->groups[s->first_group].first_lane;
	uint32_t next = end == g->ngroups ? g->nlanes : g->groups[end].first_lane;
	struct graph_group *ups = &g->groups[s->first_group];

	if (s->first_group == end)
		return;

	/*
	 * Parts groups into those up and those down: one group per neighbour, by node index, and
	 * the lanes down side by side in that order.
	 */
	const struct graph_group *last = &g->groups[end];
	struct graph_group *first = &g->groups[s->first_group], *up = first, *group;
	struct graph_group groups_downs[UINT8_MAX], *down = groups_downs;
	bool in_order = true;

	for (group = first; group < last; group++) {
		if (g->switches[group->peer].rank > s->rank) {
			in_order &= up == first || up[-1].peer < group->peer;
			*up++ = *group;
		} else {
			in_order &= down == groups_downs ||
				    (down[-1].peer < group->peer &&
				     down[-1].first_lane + down[-1].nlanes == group->first_lane);
			*down++ = *group;
		}
	}
	s->nup = up - first;
	s->ndown = down - groups_downs;
	memcpy(up, groups_downs, s->ndown * sizeof(*groups_downs));
	if (!in_order) {
		struct graph_group *downs = ups + s->nup;
		struct graph_lane from[UINT8_MAX], *lane = &g->lanes[base];

		mem_copy(from, lane, next - base);
		lane = join_groups(g, ups, &s->nup, from, base, lane);
		join_groups(g, downs, &s->ndown, from, base, lane);
		memmove(ups + s->nup, downs, s->ndown * sizeof(*downs));
	}

	for (unsigned i = s->nup; i < s->nup + s->ndown; i++)
		if (ups[i].nlanes > 1)
			sort_if_needed(&g->lanes[ups[i].first_lane], ups[i].nlanes,
				       sizeof(*g->lanes), by_peer_port);
}

/* ---- What is alive --------------------------------------------------------------------------- */

/* No cordon keeps a link's transit off, or none that counts. */
static bool carries(const struct graph_work *w, uint32_t i)
{
	const struct topo_port *port = &w->t->ports[i], *peer = topo_peer(w->t, port);

	return w->how.through_cordons || !(port->cordoned || peer->cordoned) ||
	       (w->how.exempt && w->how.exempt[port - w->t->ports]) ||
	       (w->how.exempt && w->how.exempt[peer - w->t->ports]);
}

static void note_host(const struct graph_work *w, uint32_t port0, struct graph_host *host,
		      unsigned n)
{
	for (const struct graph_host *end = host + n; host < end; host++)
		host->live = w->t->ends[port0 + host->sw_port].up;
}

void graph_refresh(struct graph *g, const struct topo *t, struct graph_how how)
{
	const struct graph_work w = { .how = how, .t = t, .g = g };
	bool all = true;

	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		struct graph_switch *s = &g->switches[sw];
		uint32_t port0 = t->nodes[sw].port0;

		for (unsigned i = 0; i < s->nup + s->ndown; i++) {
			/*
			 * Of a group of links of the switch with port number 0 at `port0`. Returns
			 * whether all are alive.
			 */
			struct graph_group *group = &g->groups[s->first_group + i];
			struct graph_lane *lane = &w.g->lanes[group->first_lane],
					  *end = lane + group->nlanes;
			const bool cordons = w.t->ncordoned, damage = w.how.through_damage;
			unsigned nlive = 0;

			for (; lane < end; lane++) {
				uint32_t port = port0 + lane->port;
				bool live = w.t->ends[port].up | damage;

				lane->live = live && (!cordons || carries(&w, port));
				nlive += lane->live;
			}
			group->nlive = nlive;
			all &= nlive == group->nlanes;
		}
		note_host(&w, port0, &g->hosts[s->first_host], s->nhosts);
		note_host(&w, port0, &g->specials[s->first_special], s->nspecials);

		/*
		 * Damage takes lanes away, never adds any: a switch with as many live ones as its
		 * family has slots has them all.
		 */
		const struct graph_family *family = &g->families[s->family];
		const struct graph_group *ups = &g->groups[s->first_group];
		unsigned live = 0, nlive = 0;

		for (unsigned i = 0; i < s->nup; i++) {
			live += ups[i].nlive > 0;
			nlive += ups[i].nlive;
		}
		s->ndead = family->nparents - live;
		s->whole = s->nup == family->nparents && !s->ndead && nlive == family->nslots &&
			   nlive < GRAPH_MAX_SLOTS &&
			   (!s->nup || ups[s->nup - 1].slot == s->nup - 1);
	}
	g->damaged = !all;
}

struct graph *graph_new(const struct topo *t, struct graph_how how)
{
	struct graph *g = mem_new(g);
	struct graph_work w = { .how = how, .t = t, .g = g };

	g->nswitches = t->nswitches;
	g->switches = mem_array(g->switches, t->nswitches + 1);
	g->by_rank = mem_array(g->by_rank, t->nswitches + 1);
	w.key = mem_array(w.key, t->nswitches + 1);
	read_all_ports(&w);
	if (how.orientation == GRAPH_BY_ROOT) {
		uint32_t *queue = mem_array(queue, w.t->nswitches + 1), last;

		memset(w.key, 0xff, w.t->nswitches * sizeof(*w.key));
		for (uint32_t sw = 0; sw < w.t->nswitches; sw++)
			if (w.key[sw] == TOPO_NONE)
				distances(w.t, middle_of(w.t, sw, w.key, queue), w.key, queue,
					  &last);
		free(queue);
	} else
		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			w.key[sw] = (uint32_t)(TOPO_MAX_LEVEL - t->nodes[sw].level) << 16 |
				    g->switches[sw].nhosts;

	struct rank_entry *entries = mem_array(entries, g->nswitches + 1);

	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		entries[sw] = (struct rank_entry){ w.key[sw], sw };
	sort_if_needed(entries, g->nswitches, sizeof(*entries), rank_compare);
	for (uint32_t i = 0; i < g->nswitches; i++) {
		g->by_rank[i] = entries[i].sw;
		g->switches[entries[i].sw].rank = i;
	}
	free(entries);

	/*
	 * Levels for families: tiers of the tree, or steps from the root (counted from the
	 * farthest).
	 */
	uint32_t farthest = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		farthest = w.key[sw] > farthest ? w.key[sw] : farthest;
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		uint32_t level = how.orientation == GRAPH_BY_ROOT ? farthest - w.key[sw]
								  : t->nodes[sw].level;

		g->switches[sw].level = level < UINT8_MAX ? level : UINT8_MAX;
	}
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		order_groups(g, sw);
	family_assign(g);
	graph_refresh(g, t, how);
	free(w.key);
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
	free(g->specials);
	free(g->families);
	free(g->slots);
	free(g->members);
	free(g->parents);
	free(g->by_rank);
	free(g);
}
