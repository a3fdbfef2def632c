/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_tree: one group's tree (see mcast_tree.h).
 *
 * Members count by their switches (`seats`). The root comes from passes over the seats' rows of
 * distances , byte by byte, which compilers turn into vector code; the tree from
 * climbing from each seat towards the root until something of the tree is met. Each switch climbs
 * to one parent, so there is no cycle.
 *
 * Paths are of a kind, and the first kind by which some root reaches all seats is taken: down only;
 * any live link; any link that is not down. A tree whose paths from the root only go down is an
 * up*, then down* tree: a switch with two neighbours above it in the tree would lie below the root
 * by two paths. The order of switches is that of the unicast engine (graph.h).
 */
#include "routing/multicast/mcast_own.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

int mcast_compare_hops(const void *a, const void *b)
{
	const struct mcast_hop *x = a, *y = b;

	return sort_order(x->sw, y->sw);
}

/* ---- Where a tree turns down, then up: at a switch with more than one neighbour above -------- */

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
 * switches by each kind of path, and which switches can hold an MLID.
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

/* ---- The snapshot prepared ------------------------------------------------------------------- */

/* Whether paths of that kind may use the lane of a switch. */
static bool mcast_lane_open(const struct mcast *m, uint32_t sw, const struct graph_lane *lane,
			    enum path_kind w)
{
	return (!m->only || m->only[m->t->nodes[sw].port0 + lane->port]) &&
	       (lane->live || (kinds[w].cordoned && topo_port(m->t, sw, lane->port)->link_up));
}

static bool group_open(const struct mcast *m, uint32_t sw, const struct graph_group *group,
		       enum path_kind w)
{
	if (!m->carries[group->peer])
		return false;
	if (!m->only && (group->nlive || !kinds[w].cordoned))
		return group->nlive;
	return any_of(l, 0, group->nlanes,
		      mcast_lane_open(m, sw, &m->g->lanes[group->first_lane + l], w));
}

/* The groups of a switch that a path may take: [*first, *end) of its ups and downs. */
static void mcast_groups_for(const struct graph_switch *s, enum path_kind w, unsigned *first,
			     unsigned *end)
{
	*first = kinds[w].ups ? 0 : s->nup;
	*end = kinds[w].downs ? s->nup + s->ndown : s->nup;
}

/* By switch, hops from `sw`, MCAST_NEVER = no path. Owned by m, until other switches carry. */
static const uint8_t *mcast_distances(struct mcast *m, uint32_t sw, enum path_kind w)
{
	if (!m->rows[w][sw]) {
		m->rows[w][sw] = mem_alloc(m->g->nswitches, 1);

		uint8_t *row = m->rows[w][sw];
		uint32_t head = 0, tail = 0;

		memset(row, MCAST_NEVER, m->g->nswitches);
		row[sw] = 0;
		m->queue[tail++] = sw;
		while (head < tail) {
			uint32_t at = m->queue[head++];
			unsigned i, end;

			if (row[at] == MCAST_NEVER - 1)
				break;
			mcast_groups_for(&m->g->switches[at], w, &i, &end);
			for (; i < end; i++) {
				const struct graph_group *group = &graph_ups(m->g, at)[i];

				if (row[group->peer] != MCAST_NEVER || !group_open(m, at, group, w))
					continue;
				row[group->peer] = row[at] + 1;
				m->queue[tail++] = group->peer;
			}
		}
	}
	return m->rows[w][sw];
}

struct leaf_order {
	uint32_t order, sw;
};

SORT_BY(compare_leaves, struct leaf_order,
	sort_order(a->order, b->order) ?: sort_order(a->sw, b->sw))

static void assign_places(struct mcast *m)
{
	struct graph *g = m->g;
	struct leaf_order *leaves = mem_array(leaves, g->nswitches);
	uint32_t n = 0, tail = 0;

	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		if (g->switches[sw].nhosts)
			leaves[n++] =
				(struct leaf_order){ g->hosts[g->switches[sw].first_host].order,
						     sw };
	qsort(leaves, n, sizeof(*leaves), compare_leaves);
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

struct mcast *mcast_new(const struct topo *t, enum graph_orientation orientation)
{
	struct mcast *m = mem_new(m);
	struct arena *arena = m->arena = arena_new();
	uint32_t n = t->nswitches;

	m->t = t;
	m->g = graph_new(t, (struct graph_how){ .orientation = orientation });
	m->place = arena_array(arena, m->place, n);
	m->load = arena_array(arena, m->load, t->nports);
	m->switch_load = arena_array(arena, m->switch_load, n);
	for (unsigned w = 0; w < PATH_KINDS; w++)
		m->rows[w] = arena_array(arena, m->rows[w], n);
	m->queue = arena_array(arena, m->queue, n);
	m->seats = arena_array(arena, m->seats, n);
	m->seat_of = arena_array(arena, m->seat_of, n);
	m->reached = arena_array(arena, m->reached, n);
	m->farthest = arena_alloc(arena, n, 1);
	m->total = arena_array(arena, m->total, n);
	m->up = arena_array(arena, m->up, n);
	m->beyond = arena_array(arena, m->beyond, n);
	m->hop_of = arena_array(arena, m->hop_of, n);
	m->on_tree = arena_array(arena, m->on_tree, n);
	m->kept = arena_array(arena, m->kept, t->nports);
	m->carries = arena_array(arena, m->carries, n);
	m->tables_known = mcast_tables_known(t);
	assign_places(m);
	m->links = arena_array(arena, m->links, t->nswitches + 1u);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

			if (peer && peer->node < t->nswitches)
				m->links[sw][num / 64] |= 1ull << (num % 64);
		}
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
	arena_free(m->arena);
	graph_free(m->g);
	free(m);
}

bool mcast_tables_known(const struct topo *t)
{
	return any_of(sw, 0, t->nswitches, t->nodes[sw].mft_cap);
}

/* ---- Mcast tree ------------------------------------------------------------------------------ */

#define SEATS_A_STEP 64

static const enum path_kind kinds_tried[] = { CLIMB, ANY_LIVE, ANY_LINK };
#define WAYS_TRIED ARRAY_SIZE(kinds_tried)

/* ---- Members --------------------------------------------------------------------------------- */

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

	return sort_order(x, y);
}

/* Seats in structural order; returns how many members have one. */
static uint32_t list_seats(struct mcast *m, const struct mcast_group *group)
{
	uint32_t sw, seated = 0;
	unsigned num;

	m->making.nseats = m->making.nreceivers = 0;
	for (uint32_t i = 0; i < group->nmembers; i++) {
		if (!find_member(m->t, group->members[i].port, &sw, &num) || !m->carries[sw])
			continue;
		if (!m->seat_of[sw]) {
			m->seats[m->making.nseats] = (struct seat){ .sw = sw };
			m->seat_of[sw] = ++m->making.nseats;
		}
		m->seats[m->seat_of[sw] - 1].members++;
		m->seats[m->seat_of[sw] - 1].receivers += !group->members[i].send_only;
		m->making.nreceivers += !group->members[i].send_only;
		seated++;
	}
	for (uint32_t i = 0; i < m->making.nseats; i++)
		m->seat_of[m->seats[i].sw] = 0;
	qsort_r(m->seats, m->making.nseats, sizeof(*m->seats), compare_seats, m);
	return seated;
}

/* ---- The root -------------------------------------------------------------------------------- */

static void add_seat(struct mcast *m, const struct seat *seat, const uint8_t *restrict row)
{
	uint32_t *restrict reached = m->reached, *restrict total = m->total;
	/* One seat to receive at outweighs all to send from: a root without receivers is none. */
	uint32_t n = m->g->nswitches, weight = seat->receivers ? n + 1 : 1;
	uint32_t members = seat->members;
	uint8_t *restrict farthest = m->farthest;

	for (uint32_t sw = 0; sw < n; sw++) {
		uint8_t hops = row[sw] != MCAST_NEVER ? row[sw] : 0;

		reached[sw] += row[sw] != MCAST_NEVER ? weight : 0;
		farthest[sw] = hops > farthest[sw] ? hops : farthest[sw];
		total[sw] += hops * members;
	}
}

static bool better_root(const struct mcast *m, uint32_t a, uint32_t b, uint32_t older)
{
	int is_older = sort_order(b == older, a == older);

	return (sort_order(m->reached[b], m->reached[a]) ?: (m->same_root ? is_older : 0)
		?: sort_order(m->farthest[a], m->farthest[b]) ?: is_older
		?: sort_order(m->total[a], m->total[b])
		?: sort_order(m->switch_load[a], m->switch_load[b])
		?: sort_order(m->place[a], m->place[b])) < 0;
}

static void begin_kind(struct mcast *m)
{
	uint32_t n = m->g->nswitches;

	m->making.kind = kinds_tried[m->making.tried];
	m->making.next_seat = 0;
	mem_zero(m->reached, n);
	memset(m->farthest, 0, n);
	mem_zero(m->total, n);
}

/* The first kind by which some root reaches all is taken, or the last one. True: it is found. */
static bool choose_root(struct mcast *m)
{
	uint32_t end = m->making.nseats - m->making.next_seat > SEATS_A_STEP
			       ? m->making.next_seat + SEATS_A_STEP
			       : m->making.nseats;

	for (; m->making.next_seat < end; m->making.next_seat++)
		add_seat(m, &m->seats[m->making.next_seat],
			 mcast_distances(m, m->seats[m->making.next_seat].sw, m->making.kind));
	if (end < m->making.nseats)
		return false;
	m->making.out->root = 0;
	for (uint32_t sw = 1; sw < m->g->nswitches; sw++)
		if (better_root(m, sw, m->making.out->root, m->making.older_root))
			m->making.out->root = sw;
	m->making.out->narrow = m->climb_only && m->reached[m->making.out->root] != m->making.all;
	if (m->reached[m->making.out->root] == m->making.all || m->climb_only ||
	    ++m->making.tried == WAYS_TRIED)
		return true;
	begin_kind(m);
	return false;
}

/* ---- The tree -------------------------------------------------------------------------------- */

struct climb { /* a link towards the root, and what speaks for it */
	struct link_up link;
	uint32_t port; /* topo port */
	bool joins, kept;
};

static bool better_climb(const struct mcast *m, const struct climb *a, const struct climb *b)
{
	return (sort_order(b->joins, a->joins) ?: sort_order(b->kept, a->kept)
		?: sort_order(m->load[a->port], m->load[b->port])
		?: sort_order(m->place[a->link.parent], m->place[b->link.parent])) < 0;
}

static struct climb best_climb(const struct mcast *m, uint32_t sw, const uint8_t *from_root)
{
	struct climb best = { .link.parent = TOPO_NONE };
	unsigned i, end;

	mcast_groups_for(&m->g->switches[sw], m->making.kind, &i, &end);
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

			if (mcast_lane_open(m, sw, lane, m->making.kind) &&
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

static void grow(struct mcast *m, uint32_t root)
{
	/* The kind of the same paths, walked from the other end. */
	const uint8_t *from_root = mcast_distances(m, root, kinds[m->making.kind].back);

	m->ntree = 0;
	put_on_tree(m, root);
	m->up[root].parent = TOPO_NONE;
	for (uint32_t i = 0; i < m->making.nseats; i++) {
		const struct seat *seat = &m->seats[i];

		if (from_root[seat->sw] == MCAST_NEVER)
			continue;
		for (uint32_t sw = seat->sw; !m->hop_of[sw]; sw = m->up[sw].parent) {
			struct climb c = best_climb(m, sw, from_root);

			put_on_tree(m, sw);
			m->up[sw] = c.link;
		}
		for (uint32_t sw = seat->sw; sw != TOPO_NONE; sw = m->up[sw].parent)
			m->beyond[sw] += seat->receivers;
	}
}

/* Marks a tree's links between switches at both ends; or takes the marks away. */
static void mark_links(struct mcast *m, const struct mcast_tree *older, bool mark)
{
	for (uint32_t i = 0; older && i < older->nhops; i++) {
		const struct mcast_hop *hop = &older->hops[i];
		uint32_t sw = mcast_hop_switch(m->t, hop);

		for (unsigned word = 0; sw != TOPO_NONE && word < MCAST_WORDS; word++)
			for (uint64_t left = mcast_mask_word(hop, word) & m->links[sw][word]; left;
			     left &= left - 1) {
				uint32_t port =
					m->t->nodes[sw].port0 + word * 64 + __builtin_ctzll(left);

				m->kept[port] = mark;
				m->kept[m->t->ports[port].peer] = mark;
			}
	}
}

/* ---- What the switches forward by ------------------------------------------------------------ */

static void forward(struct mcast_hop *hop, unsigned port)
{
	hop->ports[port / MCAST_POSITION] |= 1u << (port % MCAST_POSITION);
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

void mcast_tree_add_load(struct mcast *m, const struct mcast_tree *tree)
{
	for (uint32_t i = 0; i < tree->nhops; i++) {
		const struct mcast_hop *hop = &tree->hops[i];
		uint32_t port0 = m->t->nodes[hop->sw].port0;

		for (unsigned word = 0; word < MCAST_WORDS; word++)
			for (uint64_t left = mcast_mask_word(hop, word) & m->links[hop->sw][word];
			     left; left &= left - 1) {
				/* Once, whichever end forwards by it; counted at both. */
				uint32_t port = port0 + word * 64 + __builtin_ctzll(left);
				uint32_t peer = m->t->ports[port].peer;

				m->kept[port] = true;
				if (m->kept[peer])
					continue;
				m->load[port]++;
				m->load[peer]++;
				m->switch_load[hop->sw]++;
				m->switch_load[m->t->ports[peer].node]++;
			}
	}
	mark_links(m, tree, false);
}

/* The one switch below, TOPO_NONE if there are more. */
static uint32_t only_child(const struct mcast *m, uint32_t sw)
{
	uint32_t child = TOPO_NONE;

	for (uint32_t i = 0; i < m->ntree; i++) {
		if (m->up[m->on_tree[i]].parent != sw)
			continue;
		if (child != TOPO_NONE)
			return TOPO_NONE;
		child = m->on_tree[i];
	}
	return child;
}

/* A root that was given may be of no use: nobody is there, and it has one branch. */
static void trim_root(struct mcast *m)
{
	uint32_t child;

	while (!any_of(i, 0, m->making.nseats, m->seats[i].sw == m->making.out->root) &&
	       (child = only_child(m, m->making.out->root)) != TOPO_NONE) {
		m->hop_of[m->making.out->root] = 0;
		memmove(m->on_tree, m->on_tree + 1, --m->ntree * sizeof(*m->on_tree));
		m->up[child].parent = TOPO_NONE;
		m->making.out->root = child;
		for (uint32_t i = 0; i < m->ntree; i++)
			if (m->on_tree[i] == child) { /* the root is the first */
				m->on_tree[i] = m->on_tree[0];
				m->on_tree[0] = child;
			}
	}
	for (uint32_t i = 0; i < m->ntree; i++)
		m->hop_of[m->on_tree[i]] = i + 1;
}

void mcast_tree_start(struct mcast *m, const struct mcast_group *group,
		      const struct mcast_tree *older, struct mcast_tree *out)
{
	struct making *making = &m->making;
	uint32_t ncarry = 0;

	*out = (struct mcast_tree){ .mlid = group->mlid, .root = TOPO_NONE };
	making->group = group;
	making->older = older;
	making->out = out;
	/*
	 * Drops distances if other switches carry the MLID than before. A switch that can hold
	 * an MLID can hold all lower ones, so equal numbers of switches are the same switches, and
	 * the distances stay valid.
	 */
	for (uint32_t sw = 0; sw < m->t->nswitches; sw++) {
		m->carries[sw] = mcast_carries(&m->t->nodes[sw], m->tables_known, group->mlid);
		ncarry += m->carries[sw];
	}
	if (ncarry != m->ncarry)
		forget_rows(m);
	m->ncarry = ncarry;
	out->left_out = group->nmembers - list_seats(m, group);
	making->older_root = TOPO_NONE;
	for (uint32_t i = 0; older && i < older->nhops; i++)
		if (older->hops[i].sw == older->root)
			making->older_root = mcast_hop_switch(m->t, &older->hops[i]);
	making->tried = making->all = 0;
	for (uint32_t i = 0; i < making->nseats; i++)
		making->all += m->seats[i].receivers ? m->g->nswitches + 1 : 1;
	begin_kind(m);
}

bool mcast_tree_step(struct mcast *m)
{
	if (!m->making.nreceivers)
		return true;
	if (!choose_root(m))
		return false;
	mark_links(m, m->making.older, true);
	grow(m, m->making.out->root);
	mark_links(m, m->making.older, false);
	if (m->same_root)
		trim_root(m);

	const struct mcast_group *group = m->making.group;
	struct mcast_tree *out = m->making.out;

	out->hops = mem_array(out->hops, m->ntree);
	out->nhops = m->ntree;
	for (uint32_t i = 0; i < m->ntree; i++) {
		out->hops[i].sw = m->on_tree[i];
		out->hops[i].guid = m->t->nodes[m->on_tree[i]].guid;
	}

	struct mcast_hop *hops = out->hops;
	uint32_t receivers = m->beyond[out->root], member;
	unsigned num;

	out->left_out = 0;

	for (uint32_t i = 0; i < group->nmembers; i++) {
		if (!find_member(m->t, group->members[i].port, &member, &num) || !m->hop_of[member])
			out->left_out++;
		else if (!group->members[i].send_only)
			forward(&hops[m->hop_of[member] - 1], num);
	}
	for (uint32_t i = 0; i < m->ntree; i++) {
		uint32_t sw = m->on_tree[i], parent = m->up[sw].parent;

		if (parent == TOPO_NONE)
			continue;
		if (m->beyond[sw])
			forward(&hops[m->hop_of[parent] - 1], m->up[sw].parent_port);
		if (m->beyond[sw] < receivers)
			forward(&hops[i], m->up[sw].port);
	}
	out->turns = m->making.kind == CLIMB ? 0 : count_turns(m);
	qsort(out->hops, out->nhops, sizeof(*out->hops), mcast_compare_hops);
	for (uint32_t i = 0; i < m->ntree; i++)
		m->hop_of[m->on_tree[i]] = 0;
	mcast_tree_add_load(m, out);

	return true;
}

void mcast_forget_load(struct mcast *m)
{
	mem_zero(m->load, m->t->nports);
	mem_zero(m->switch_load, m->g->nswitches);
}

void mcast_tree_fini(struct mcast_tree *tree)
{
	free(tree->hops);
	*tree = (struct mcast_tree){ .root = TOPO_NONE };
}
