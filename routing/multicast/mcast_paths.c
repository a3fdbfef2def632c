/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include <string.h>
#include "routing/multicast/mcast_own.h"
#include "topology/base/mem.h"

/*
 * Where a tree turns down, then up: at a switch with more than one neighbour above.
 */

static unsigned neighbours_above(const struct topo *t, const struct mcast_hop *hop)
{
	unsigned above = 0;

	for (unsigned num = 1; num <= t->nodes[hop->sw].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, hop->sw, num));

		above += mcast_forwards(hop, num) && peer && peer->node < t->nswitches &&
			 t->nodes[peer->node].level > t->nodes[hop->sw].level;
	}
	return above;
}

void mcast_tree_describe(const struct topo *t, struct mcast_tree *tree)
{
	tree->root = tree->nhops ? tree->hops[0].sw : TOPO_NONE;
	tree->turns = 0;
	for (uint32_t i = 0; i < tree->nhops; i++) {
		const struct mcast_hop *hop = &tree->hops[i];

		if (t->nodes[hop->sw].level > t->nodes[tree->root].level)
			tree->root = hop->sw;
		tree->turns += neighbours_above(t, hop) > 1;
	}
}

uint32_t mcast_tree_turn(const struct topo *t, const struct mcast_tree *tree)
{
	for (uint32_t i = 0; i < tree->nhops; i++)
		if (neighbours_above(t, &tree->hops[i]) > 1)
			return tree->hops[i].sw;
	return TOPO_NONE;
}

/*
 * mcast_paths: a snapshot prepared for trees (see mcast_tree.h, mcast_own.h): the distances between
 * switches by each kind of path, and which switches have room for an MLID.
 *
 * Distances are rows of bytes, one a switch, made by a breadth-first walk when first asked for and
 * kept: for a thousand groups on the same few hundred leaves they are made once.
 *
 * `place` numbers switches by structure: leaves in topological order, then parents by slot. It
 * breaks ties, so that neither GUIDs nor the order of discovery decide.
 */

static const struct path_rule {
	bool ups, downs, cordoned;
	enum path_kind back; /* the kind of the same path from the other end */
} kinds[PATH_KINDS] = {
	[CLIMB] = { .ups = true, .back = DESCEND },
	[DESCEND] = { .downs = true, .back = CLIMB },
	[ANY_LIVE] = { .ups = true, .downs = true, .back = ANY_LIVE },
	[ANY_LINK] = { .ups = true, .downs = true, .cordoned = true, .back = ANY_LINK },
};

enum path_kind mcast_kind_back(enum path_kind w)
{
	return kinds[w].back;
}

/* ---- The snapshot prepared ------------------------------------------------------------------- */

bool mcast_lane_open(const struct mcast *m, uint32_t sw, const struct graph_lane *lane,
		     enum path_kind w)
{
	if (m->only && !m->only[m->t->nodes[sw].port0 + lane->port])
		return false;
	return lane->live || (kinds[w].cordoned && topo_port(m->t, sw, lane->port)->link_up);
}

static bool group_open(const struct mcast *m, uint32_t sw, const struct graph_group *group,
		       enum path_kind w)
{
	if (!m->carries[group->peer])
		return false;
	if (!m->only && (group->nlive || !kinds[w].cordoned))
		return group->nlive;
	for (unsigned l = 0; l < group->nlanes; l++)
		if (mcast_lane_open(m, sw, &m->g->lanes[group->first_lane + l], w))
			return true;
	return false;
}

void mcast_groups_for(const struct graph_switch *s, enum path_kind w, unsigned *first,
		      unsigned *end)
{
	*first = kinds[w].ups ? 0 : s->nup;
	*end = kinds[w].downs ? s->nup + s->ndown : s->nup;
}

static void walk(struct mcast *m, uint32_t start, enum path_kind w, uint8_t *row)
{
	uint32_t head = 0, tail = 0;

	memset(row, MCAST_NEVER, m->g->nswitches);
	row[start] = 0;
	m->queue[tail++] = start;
	while (head < tail) {
		uint32_t sw = m->queue[head++];
		unsigned i, end;

		if (row[sw] == MCAST_NEVER - 1)
			break;
		mcast_groups_for(&m->g->switches[sw], w, &i, &end);
		for (; i < end; i++) {
			const struct graph_group *group = &graph_ups(m->g, sw)[i];

			if (row[group->peer] != MCAST_NEVER || !group_open(m, sw, group, w))
				continue;
			row[group->peer] = row[sw] + 1;
			m->queue[tail++] = group->peer;
		}
	}
}

const uint8_t *mcast_distances(struct mcast *m, uint32_t sw, enum path_kind w)
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
	return mcast_new_oriented(t, GRAPH_BY_LEVEL);
}

static void find_links(struct mcast *m)
{
	const struct topo *t = m->t;

	m->links = mem_alloc(t->nswitches + 1u, sizeof(*m->links));
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

			if (peer && peer->node < t->nswitches)
				m->links[sw][num / 64] |= 1ull << (num % 64);
		}
}

struct mcast *mcast_new_oriented(const struct topo *t, enum graph_orientation orientation)
{
	struct mcast *m = mem_alloc(1, sizeof(*m));
	uint32_t n = t->nswitches;

	m->t = t;
	m->g = graph_new(t, (struct graph_how){ .orientation = orientation });
	m->place = mem_alloc(n, sizeof(*m->place));
	m->load = mem_alloc(t->nports, sizeof(*m->load));
	m->switch_load = mem_alloc(n, sizeof(*m->switch_load));
	for (unsigned w = 0; w < PATH_KINDS; w++)
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
	m->carries = mem_alloc(n, sizeof(*m->carries));
	m->tables_known = mcast_tables_known(t);
	assign_places(m);
	find_links(m);
	return m;
}

static void forget_rows(struct mcast *m)
{
	for (unsigned w = 0; w < PATH_KINDS; w++)
		for (uint32_t sw = 0; sw < m->g->nswitches; sw++) {
			free(m->rows[w][sw]);
			m->rows[w][sw] = NULL;
		}
}

void mcast_free(struct mcast *m)
{
	if (!m)
		return;
	forget_rows(m);
	for (unsigned w = 0; w < PATH_KINDS; w++)
		free(m->rows[w]);
	free(m->carries);
	free(m->place);
	free(m->links);
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

bool mcast_tables_known(const struct topo *t)
{
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (t->nodes[sw].mft_cap)
			return true;
	return false;
}

bool mcast_all_carry(const struct mcast *m, uint16_t mlid)
{
	for (uint32_t sw = 0; sw < m->t->nswitches; sw++)
		if (!mcast_carries(&m->t->nodes[sw], m->tables_known, mlid))
			return false;
	return true;
}

/*
 * A switch with room for an MLID has room for all lower ones, so equal numbers of switches are the
 * same switches, and the distances stay valid.
 */
void mcast_choose_carriers(struct mcast *m, uint16_t mlid)
{
	uint32_t ncarry = 0;

	for (uint32_t sw = 0; sw < m->t->nswitches; sw++) {
		m->carries[sw] = mcast_carries(&m->t->nodes[sw], m->tables_known, mlid);
		ncarry += m->carries[sw];
	}
	if (ncarry != m->ncarry)
		forget_rows(m);
	m->ncarry = ncarry;
}
