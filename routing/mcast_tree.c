/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_tree: one group's tree (see mcast_tree.h).
 *
 * Members count by their switches (`seats`). Distances are rows of bytes, one a switch, made by a
 * breadth-first walk when first asked for and kept: for a thousand groups on the same few hundred
 * leaves they are made once. The root comes from passes over the seats' rows, byte by byte, which
 * compilers turn into vector code; the tree from climbing from each seat towards the root until
 * something of the tree is met. Each switch climbs to one parent, so there is no cycle.
 *
 * Ways are of a kind, and the first kind by which some root reaches all seats is taken: down only;
 * any live cable; any cable that is not down. A tree whose ways from the root only go down is an
 * up*, then down* tree: a switch with two neighbours above it in the tree would lie below the root
 * by two ways. The order of switches is that of the unicast engine (graph.h).
 *
 * `place` numbers switches by structure: leaves in topological order, then parents by slot. It
 * breaks ties, so that neither GUIDs nor the order of discovery decide.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/mcast_tree.h"
#include "topology/graph.h"
#include "topology/mem.h"

#define NEVER 255 /* farther than any distance */

enum way { CLIMB, DESCEND, ANY_LIVE, ANY_CABLE, WAYS };
static const struct way_rule {
	bool ups, downs, cordoned;
	enum way back; /* the same ways walked from the other end */
} ways[WAYS] = {
	[CLIMB] = { .ups = true, .back = DESCEND },
	[DESCEND] = { .downs = true, .back = CLIMB },
	[ANY_LIVE] = { .ups = true, .downs = true, .back = ANY_LIVE },
	[ANY_CABLE] = { .ups = true, .downs = true, .cordoned = true, .back = ANY_CABLE },
};

struct seat { /* a switch with members */
	uint32_t sw, members, receivers;
};

struct link_up { /* from a switch on the tree towards the root */
	uint32_t parent;
	uint8_t port, parent_port;
};

struct mcast {
	const struct topo *t;
	struct graph *g;
	uint32_t *place;       /* by switch */
	uint32_t *load;	       /* by topo port */
	uint64_t *switch_load; /* by switch: over its cables */
	uint8_t **rows[WAYS];  /* by switch: distances from it to all switches, NULL = not made */
	uint32_t *queue;
	/* Of the tree in the making. */
	struct seat *seats;
	uint32_t nseats, nreceivers;
	uint32_t *seat_of;  /* by switch, + 1 */
	uint32_t *reached;  /* by switch as a root: weight of the seats it reaches */
	uint8_t *farthest;  /* the same: largest distance */
	uint32_t *total;    /* the same: sum over members */
	struct link_up *up; /* by switch on the tree */
	uint32_t *beyond;   /* by switch on the tree: receivers at or below it */
	uint32_t *hop_of;   /* by switch, + 1; 0 = not on the tree */
	uint32_t *on_tree, ntree;
	bool *kept;   /* by topo port: the cable is on the tree in question */
	enum way way; /* from seats towards the root */
};

/* ---- The snapshot prepared --------------------------------------------------------------------- */

static bool lane_open(const struct mcast *m, uint32_t sw, const struct graph_lane *lane, enum way w)
{
	return lane->live || (ways[w].cordoned && topo_port(m->t, sw, lane->port)->link_up);
}

static bool group_open(const struct mcast *m, uint32_t sw, const struct graph_group *group,
		       enum way w)
{
	if (group->nlive || !ways[w].cordoned)
		return group->nlive;
	for (unsigned l = 0; l < group->nlanes; l++)
		if (lane_open(m, sw, &m->g->lanes[group->first_lane + l], w))
			return true;
	return false;
}

/* The groups of a switch that a way may take: [*first, *end) of its ups and downs. */
static void groups_for(const struct graph_switch *s, enum way w, unsigned *first, unsigned *end)
{
	*first = ways[w].ups ? 0 : s->nup;
	*end = ways[w].downs ? s->nup + s->ndown : s->nup;
}

static void walk(struct mcast *m, uint32_t start, enum way w, uint8_t *row)
{
	uint32_t head = 0, tail = 0;

	memset(row, NEVER, m->g->nswitches);
	row[start] = 0;
	m->queue[tail++] = start;
	while (head < tail) {
		uint32_t sw = m->queue[head++];
		unsigned i, end;

		if (row[sw] == NEVER - 1)
			break;
		groups_for(&m->g->switches[sw], w, &i, &end);
		for (; i < end; i++) {
			const struct graph_group *group = &graph_ups(m->g, sw)[i];

			if (row[group->peer] != NEVER || !group_open(m, sw, group, w))
				continue;
			row[group->peer] = row[sw] + 1;
			m->queue[tail++] = group->peer;
		}
	}
}

static const uint8_t *distances(struct mcast *m, uint32_t sw, enum way w)
{
	if (!m->rows[w][sw]) {
		m->rows[w][sw] = mem_alloc(m->g->nswitches, 1);
		walk(m, sw, w, m->rows[w][sw]);
	}
	return m->rows[w][sw];
}

struct leaf_order {
	uint32_t order, sw;
};

static int compare_leaves(const void *a, const void *b)
{
	const struct leaf_order *x = a, *y = b;

	return x->order != y->order ? (x->order < y->order ? -1 : 1) : x->sw < y->sw ? -1 : 1;
}

static uint32_t list_leaves(const struct graph *g, struct leaf_order *leaves)
{
	uint32_t n = 0;

	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		if (g->switches[sw].nhosts)
			leaves[n++] =
				(struct leaf_order){ g->hosts[g->switches[sw].first_host].order,
						     sw };
	qsort(leaves, n, sizeof(*leaves), compare_leaves);
	return n;
}

static void assign_places(struct mcast *m)
{
	struct graph *g = m->g;
	struct leaf_order *leaves = mem_alloc(g->nswitches, sizeof(*leaves));
	uint32_t n = list_leaves(g, leaves), tail = 0;

	memset(m->place, 0xff, g->nswitches * sizeof(*m->place));
	for (uint32_t i = 0; i < n; i++) {
		m->place[leaves[i].sw] = tail;
		m->queue[tail++] = leaves[i].sw;
	}
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t sw = m->queue[head];

		for (unsigned i = 0; i < g->switches[sw].nup + g->switches[sw].ndown; i++) {
			uint32_t peer = graph_ups(g, sw)[i].peer;

			if (m->place[peer] == TOPO_NONE) {
				m->place[peer] = tail;
				m->queue[tail++] = peer;
			}
		}
	}
	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		if (m->place[sw] == TOPO_NONE)
			m->place[sw] = tail++;
	free(leaves);
}

struct mcast *mcast_new(const struct topo *t)
{
	struct mcast *m = mem_alloc(1, sizeof(*m));
	uint32_t n = t->nswitches;

	m->t = t;
	m->g = graph_new(t, (struct graph_how){ .orientation = GRAPH_BY_LEVEL });
	m->place = mem_alloc(n, sizeof(*m->place));
	m->load = mem_alloc(t->nports, sizeof(*m->load));
	m->switch_load = mem_alloc(n, sizeof(*m->switch_load));
	for (unsigned w = 0; w < WAYS; w++)
		m->rows[w] = mem_alloc(n, sizeof(*m->rows[w]));
	m->queue = mem_alloc(n, sizeof(*m->queue));
	m->seats = mem_alloc(n, sizeof(*m->seats));
	m->seat_of = mem_alloc(n, sizeof(*m->seat_of));
	m->reached = mem_alloc(n, sizeof(*m->reached));
	m->farthest = mem_alloc(n, 1);
	m->total = mem_alloc(n, sizeof(*m->total));
	m->up = mem_alloc(n, sizeof(*m->up));
	m->beyond = mem_alloc(n, sizeof(*m->beyond));
	m->hop_of = mem_alloc(n, sizeof(*m->hop_of));
	m->on_tree = mem_alloc(n, sizeof(*m->on_tree));
	m->kept = mem_alloc(t->nports, sizeof(*m->kept));
	assign_places(m);
	return m;
}

void mcast_free(struct mcast *m)
{
	if (!m)
		return;
	for (unsigned w = 0; w < WAYS; w++) {
		for (uint32_t sw = 0; sw < m->g->nswitches; sw++)
			free(m->rows[w][sw]);
		free(m->rows[w]);
	}
	free(m->place);
	free(m->load);
	free(m->switch_load);
	free(m->queue);
	free(m->seats);
	free(m->seat_of);
	free(m->reached);
	free(m->farthest);
	free(m->total);
	free(m->up);
	free(m->beyond);
	free(m->hop_of);
	free(m->on_tree);
	free(m->kept);
	graph_free(m->g);
	free(m);
}

uint32_t mcast_load(const struct mcast *m, uint32_t port)
{
	return m->load[port];
}

/* ---- Members ----------------------------------------------------------------------------------- */

/* Where a member is: its switch and the port to it there (0: the switch itself). */
static bool find_member(const struct topo *t, uint32_t port, uint32_t *sw, unsigned *num)
{
	const struct topo_port *p = &t->ports[port];
	const struct topo_port *at = p->node < t->nswitches ? p : topo_peer(t, p);

	if (!at || at->node >= t->nswitches || (at == p ? p->num != 0 : !p->link_up))
		return false;
	*sw = at->node;
	*num = at->num;
	return true;
}

static int compare_seats(const void *a, const void *b, void *mcast)
{
	const uint32_t *place = ((struct mcast *)mcast)->place;
	uint32_t x = place[((const struct seat *)a)->sw], y = place[((const struct seat *)b)->sw];

	return x < y ? -1 : x > y;
}

/* Seats in structural order; returns how many members have one. */
static uint32_t list_seats(struct mcast *m, const struct mcast_group *group)
{
	uint32_t sw, seated = 0;
	unsigned num;

	m->nseats = m->nreceivers = 0;
	for (uint32_t i = 0; i < group->nmembers; i++) {
		if (!find_member(m->t, group->members[i].port, &sw, &num))
			continue;
		if (!m->seat_of[sw]) {
			m->seats[m->nseats] = (struct seat){ .sw = sw };
			m->seat_of[sw] = ++m->nseats;
		}
		m->seats[m->seat_of[sw] - 1].members++;
		m->seats[m->seat_of[sw] - 1].receivers += !group->members[i].send_only;
		m->nreceivers += !group->members[i].send_only;
		seated++;
	}
	for (uint32_t i = 0; i < m->nseats; i++)
		m->seat_of[m->seats[i].sw] = 0;
	qsort_r(m->seats, m->nseats, sizeof(*m->seats), compare_seats, m);
	return seated;
}

/* ---- The root ---------------------------------------------------------------------------------- */

/* One seat to receive at outweighs all those to send from: a root without receivers is no root. */
static uint32_t weight_of(const struct mcast *m, const struct seat *seat)
{
	return seat->receivers ? m->g->nswitches + 1 : 1;
}

static void add_seat(struct mcast *m, const struct seat *seat, const uint8_t *restrict row)
{
	uint32_t *restrict reached = m->reached, *restrict total = m->total;
	uint32_t n = m->g->nswitches, weight = weight_of(m, seat), members = seat->members;
	uint8_t *restrict farthest = m->farthest;

	for (uint32_t sw = 0; sw < n; sw++) {
		uint8_t hops = row[sw] != NEVER ? row[sw] : 0;

		reached[sw] += row[sw] != NEVER ? weight : 0;
		farthest[sw] = hops > farthest[sw] ? hops : farthest[sw];
		total[sw] += hops * members;
	}
}

static bool better_root(const struct mcast *m, uint32_t a, uint32_t b, uint32_t older)
{
	if (m->reached[a] != m->reached[b])
		return m->reached[a] > m->reached[b];
	if (m->farthest[a] != m->farthest[b])
		return m->farthest[a] < m->farthest[b];
	if (a == older || b == older)
		return a == older;
	if (m->total[a] != m->total[b])
		return m->total[a] < m->total[b];
	if (m->switch_load[a] != m->switch_load[b])
		return m->switch_load[a] < m->switch_load[b];
	return m->place[a] < m->place[b];
}

static uint32_t best_root(struct mcast *m, enum way w, uint32_t older)
{
	uint32_t n = m->g->nswitches, best = 0;

	memset(m->reached, 0, n * sizeof(*m->reached));
	memset(m->farthest, 0, n);
	memset(m->total, 0, n * sizeof(*m->total));
	for (uint32_t i = 0; i < m->nseats; i++)
		add_seat(m, &m->seats[i], distances(m, m->seats[i].sw, w));
	for (uint32_t sw = 1; sw < n; sw++)
		if (better_root(m, sw, best, older))
			best = sw;
	return best;
}

static uint32_t choose_root(struct mcast *m, const struct mcast_tree *older)
{
	static const enum way tried[] = { CLIMB, ANY_LIVE, ANY_CABLE };
	uint32_t root = 0, kept = TOPO_NONE, all = 0;

	for (uint32_t i = 0; i < m->nseats; i++)
		all += weight_of(m, &m->seats[i]);
	for (uint32_t i = 0; older && i < older->nhops; i++)
		if (older->hops[i].sw == older->root)
			kept = topo_find(m->t, older->hops[i].guid);
	for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
		m->way = tried[i];
		root = best_root(m, m->way, kept);
		if (m->reached[root] == all)
			break;
	}
	return root;
}

/* ---- The tree ---------------------------------------------------------------------------------- */

struct climb { /* a cable towards the root, and what speaks for it */
	struct link_up link;
	uint32_t port; /* topo port */
	bool joins, kept;
};

static bool better_climb(const struct mcast *m, const struct climb *a, const struct climb *b)
{
	if (a->joins != b->joins)
		return a->joins;
	if (a->kept != b->kept)
		return a->kept;
	if (m->load[a->port] != m->load[b->port])
		return m->load[a->port] < m->load[b->port];
	return m->place[a->link.parent] < m->place[b->link.parent];
}

static struct climb best_climb(const struct mcast *m, uint32_t sw, const uint8_t *from_root)
{
	struct climb best = { .link.parent = TOPO_NONE };
	unsigned i, end;

	groups_for(&m->g->switches[sw], m->way, &i, &end);
	for (; i < end; i++) {
		const struct graph_group *group = &graph_ups(m->g, sw)[i];

		if (from_root[group->peer] + 1 != from_root[sw])
			continue;
		for (unsigned l = 0; l < group->nlanes; l++) {
			const struct graph_lane *lane = &m->g->lanes[group->first_lane + l];
			uint32_t port = m->t->nodes[sw].port0 + lane->port;
			struct climb c = { { group->peer, lane->port, lane->peer_port },
					   port,
					   m->hop_of[group->peer],
					   m->kept[port] };

			if (lane_open(m, sw, lane, m->way) &&
			    (best.link.parent == TOPO_NONE || better_climb(m, &c, &best)))
				best = c;
		}
	}
	return best;
}

static void put_on_tree(struct mcast *m, uint32_t sw)
{
	m->beyond[sw] = 0;
	m->on_tree[m->ntree++] = sw;
	m->hop_of[sw] = m->ntree;
}

static void climb_from(struct mcast *m, uint32_t sw, const uint8_t *from_root)
{
	while (!m->hop_of[sw]) {
		struct climb c = best_climb(m, sw, from_root);

		put_on_tree(m, sw);
		m->up[sw] = c.link;
		sw = c.link.parent;
	}
}

static void grow(struct mcast *m, uint32_t root)
{
	const uint8_t *from_root = distances(m, root, ways[m->way].back);

	m->ntree = 0;
	put_on_tree(m, root);
	m->up[root].parent = TOPO_NONE;
	for (uint32_t i = 0; i < m->nseats; i++) {
		const struct seat *seat = &m->seats[i];

		if (from_root[seat->sw] == NEVER)
			continue;
		climb_from(m, seat->sw, from_root);
		for (uint32_t sw = seat->sw; sw != TOPO_NONE; sw = m->up[sw].parent)
			m->beyond[sw] += seat->receivers;
	}
}

/* Marks a tree's cables at both ends; or takes the marks away. */
static void mark_cables(struct mcast *m, const struct mcast_tree *older, bool mark)
{
	for (uint32_t i = 0; older && i < older->nhops; i++) {
		const struct mcast_hop *hop = &older->hops[i];
		uint32_t sw = topo_find(m->t, hop->guid);

		for (unsigned num = 1; sw != TOPO_NONE && num <= m->t->nodes[sw].nports; num++) {
			const struct topo_port *port = topo_port(m->t, sw, num);

			if (!mcast_forwards(hop, num) || port->peer == TOPO_NONE)
				continue;
			m->kept[m->t->nodes[sw].port0 + num] = mark;
			m->kept[port->peer] = mark;
		}
	}
}

/* ---- What the switches forward by -------------------------------------------------------------- */

static void forward(struct mcast_hop *hop, unsigned port)
{
	hop->ports[port / MCAST_POSITION] |= (uint16_t)(1u << (port % MCAST_POSITION));
}

static void forward_on_cables(const struct mcast *m, struct mcast_hop *hops, uint32_t receivers)
{
	for (uint32_t i = 0; i < m->ntree; i++) {
		uint32_t sw = m->on_tree[i], parent = m->up[sw].parent;

		if (parent == TOPO_NONE)
			continue;
		if (m->beyond[sw])
			forward(&hops[m->hop_of[parent] - 1], m->up[sw].parent_port);
		if (m->beyond[sw] < receivers)
			forward(&hops[i], m->up[sw].port);
	}
}

/* Returns how many members are not on the tree. */
static uint32_t forward_to_members(const struct mcast *m, const struct mcast_group *group,
				   struct mcast_hop *hops)
{
	uint32_t left_out = 0, sw;
	unsigned num;

	for (uint32_t i = 0; i < group->nmembers; i++) {
		if (!find_member(m->t, group->members[i].port, &sw, &num) || !m->hop_of[sw])
			left_out++;
		else if (!group->members[i].send_only)
			forward(&hops[m->hop_of[sw] - 1], num);
	}
	return left_out;
}

static unsigned count_turns(const struct mcast *m)
{
	unsigned turns = 0;

	for (uint32_t i = 0; i < m->ntree; i++) {
		uint32_t sw = m->on_tree[i], rank = m->g->switches[sw].rank;
		uint32_t above = m->up[sw].parent != TOPO_NONE &&
				 m->g->switches[m->up[sw].parent].rank > rank;

		for (uint32_t j = 0; j < m->ntree && above < 2; j++)
			above += m->up[m->on_tree[j]].parent == sw &&
				 m->g->switches[m->on_tree[j]].rank > rank;
		turns += above > 1;
	}
	return turns;
}

/* A cable counts once, whichever of its ends forwards by it, and is counted at both. */
void mcast_tree_add_load(struct mcast *m, const struct mcast_tree *tree)
{
	for (uint32_t i = 0; i < tree->nhops; i++) {
		const struct mcast_hop *hop = &tree->hops[i];

		for (unsigned num = 1; num <= m->t->nodes[hop->sw].nports; num++) {
			uint32_t port = m->t->nodes[hop->sw].port0 + num;
			uint32_t peer = m->t->ports[port].peer;

			if (!mcast_forwards(hop, num) || m->t->ports[peer].node >= m->t->nswitches)
				continue;
			m->kept[port] = true;
			if (m->kept[peer])
				continue;
			m->load[port]++;
			m->load[peer]++;
			m->switch_load[hop->sw]++;
			m->switch_load[m->t->ports[peer].node]++;
		}
	}
	mark_cables(m, tree, false);
}

static int compare_hops(const void *a, const void *b)
{
	const struct mcast_hop *x = a, *y = b;

	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

static void write_tree(struct mcast *m, const struct mcast_group *group, struct mcast_tree *out)
{
	out->hops = mem_alloc(m->ntree, sizeof(*out->hops));
	out->nhops = m->ntree;
	for (uint32_t i = 0; i < m->ntree; i++) {
		out->hops[i].sw = m->on_tree[i];
		out->hops[i].guid = m->t->nodes[m->on_tree[i]].guid;
	}
	out->left_out = forward_to_members(m, group, out->hops);
	forward_on_cables(m, out->hops, m->beyond[out->root]);
	out->turns = m->way == CLIMB ? 0 : count_turns(m);
	qsort(out->hops, out->nhops, sizeof(*out->hops), compare_hops);
	for (uint32_t i = 0; i < m->ntree; i++)
		m->hop_of[m->on_tree[i]] = 0;
	mcast_tree_add_load(m, out);
}

void mcast_tree_build(struct mcast *m, const struct mcast_group *group,
		      const struct mcast_tree *older, struct mcast_tree *out)
{
	*out = (struct mcast_tree){ .mlid = group->mlid, .root = TOPO_NONE };
	out->left_out = group->nmembers - list_seats(m, group);
	if (!m->nreceivers)
		return;
	out->root = choose_root(m, older);
	mark_cables(m, older, true);
	grow(m, out->root);
	mark_cables(m, older, false);
	write_tree(m, group, out);
}

void mcast_tree_fini(struct mcast_tree *tree)
{
	free(tree->hops);
	*tree = (struct mcast_tree){ .root = TOPO_NONE };
}
