/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic_begin: the net, and the first turns of a design: of a spanning tree, or of the tiers. In
 * the end all turns of a spanning tree are allowed, so that every pair has a path, and multicast
 * trees are parts of it. With the tiers a spanning tree is searched among the turns that are
 * possible then.
 */
#include "routing/acyclic/acyclic.h"
#include "routing/acyclic/acyclic_own.h"
#include "routing/path.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/* ---- The net: switches and the arcs between them, of all links that are known ---------------- */

#define LINK_NS 2 /* to compare the other ends of two ports */

/* Arcs of one switch, by their lowest port; `arc_to` is TOPO_NONE everywhere, before and after. */
static void list_arcs(struct net *n, const struct topo *t, uint32_t sw, uint32_t *arc_to,
		      uint32_t *nlinks)
{
	n->first[sw] = n->narcs;
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		uint32_t to = path_neighbour(t, sw, num);

		if (to == TOPO_NONE || arc_to[to] != TOPO_NONE)
			continue;
		arc_to[to] = n->narcs;
		n->from[n->narcs] = sw;
		n->to[n->narcs] = to;
		n->first_link[n->narcs] = *nlinks;
		for (unsigned lane = num; lane <= t->nodes[sw].nports; lane++)
			if (path_neighbour(t, sw, lane) == to)
				n->links[(*nlinks)++] = lane;
		n->narcs++;
	}
	for (uint32_t a = n->first[sw]; a < n->narcs; a++)
		arc_to[n->to[a]] = TOPO_NONE;
}

void net_init(struct net *n, const struct topo *t, struct fiber *fiber)
{
	uint32_t *arc_to = mem_array_unset(arc_to, t->nswitches + 1), nlinks = 0;
	uint32_t room = t->nswitch_ports + 1;
	struct arena *arena = arena_new();

	*n = (struct net){ .nswitches = t->nswitches,
			   .fiber = fiber,
			   .arena = arena,
			   .first = arena_array(arena, n->first, t->nswitches + 1),
			   .from = arena_array(arena, n->from, room),
			   .to = arena_array(arena, n->to, room),
			   .back = arena_array(arena, n->back, room),
			   .first_link = arena_array(arena, n->first_link, room),
			   .first_turn = arena_array(arena, n->first_turn, room),
			   .links = arena_array(arena, n->links, room),
			   .hosts = arena_array(arena, n->hosts, t->nswitches + 1),
			   .level = arena_array(arena, n->level, t->nswitches + 1) };
	memset(arc_to, 0xff, (t->nswitches + 1) * sizeof(*arc_to));
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		list_arcs(n, t, sw, arc_to, &nlinks);
		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

			n->hosts[sw] +=
				peer && peer->node >= t->nswitches && !t->nodes[peer->node].sharp;
		}
		n->level[sw] = t->nodes[sw].level;
		fiber_spend(fiber, t->nodes[sw].nports * t->nodes[sw].nports * LINK_NS);
	}
	n->first[t->nswitches] = n->narcs;
	n->first_link[n->narcs] = nlinks;
	for (uint32_t a = 0; a < n->narcs; a++) {
		for (uint32_t b = n->first[n->to[a]]; b < n->first[n->to[a] + 1]; b++)
			if (n->to[b] == n->from[a])
				n->back[a] = b;
		n->first_turn[a] = n->nturns;
		n->nturns += net_degree(n, n->to[a]);
		fiber_spend(fiber, net_degree(n, n->to[a]) * TURN_NS);
	}
	free(arc_to);
}

void net_read_states(const struct net *n, const struct topo *t, uint8_t *states)
{
	for (uint32_t a = 0; a < n->narcs; a++) {
		states[a] = ARC_DOWN;
		for (uint32_t i = n->first_link[a]; i < n->first_link[a + 1]; i++) {
			const struct topo_port *port = topo_port(t, n->from[a], n->links[i]);
			bool cordoned = port->cordoned || topo_peer(t, port)->cordoned;
			uint8_t state = cordoned ? ARC_CORDONED : ARC_OPEN;

			if (port->link_up && state > states[a])
				states[a] = state;
		}
	}
}

void net_find_parts(const struct net *n, const uint8_t *states, enum arc_state least,
		    uint32_t *part)
{
	uint32_t *queue = mem_array_unset(queue, n->nswitches + 1);

	memset(part, 0xff, n->nswitches * sizeof(*part));
	for (uint32_t first = 0; first < n->nswitches; first++) {
		uint32_t head = 0, tail = part[first] == TOPO_NONE;

		part[first] = tail ? first : part[first];
		queue[0] = first;
		for (; head < tail; head++)
			for (uint32_t a = n->first[queue[head]]; a < n->first[queue[head] + 1]; a++)
				if (!(states && states[a] < least) && part[n->to[a]] == TOPO_NONE) {
					part[n->to[a]] = first;
					queue[tail++] = n->to[a];
				}
	}
	free(queue);
}

struct work {
	const struct net *net;
	struct turns *turns;
	const uint8_t *states; /* by arc: those of a tree are open; NULL = all are */
	const bool *hint;      /* by arc: those that fit_tree() tries first; NULL = none */
	bool *tree;
	uint32_t *dist, *queue; /* by switch: TOPO_NONE between walks */
};

static void work_init(struct work *w, struct turns *turns, bool *tree)
{
	uint32_t n = turns->net->nswitches + 1;

	*w = (struct work){ .net = turns->net,
			    .turns = turns,
			    .tree = tree,
			    .dist = mem_array_unset(w->dist, n),
			    .queue = mem_array_unset(w->queue, n) };
	memset(w->dist, 0xff, n * sizeof(*w->dist));
}

static void work_fini(struct work *w)
{
	free(w->dist);
	free(w->queue);
}

/* ---- Walks ----------------------------------------------------------------------------------- */

/*
 * Walks breadth first from `root` over its part: the order goes to w->queue, the steps to w->dist.
 * Returns the number of switches.
 */
static uint32_t walk(struct work *w, uint32_t root)
{
	const struct net *n = w->net;
	uint32_t head = 0, tail = 0;

	w->dist[root] = 0;
	w->queue[tail++] = root;
	while (head < tail) {
		uint32_t sw = w->queue[head++];

		for (uint32_t a = n->first[sw]; a < n->first[sw + 1]; a++) {
			if (w->dist[n->to[a]] != TOPO_NONE ||
			    (w->states && w->states[a] != ARC_OPEN))
				continue;
			w->dist[n->to[a]] = w->dist[sw] + 1;
			w->queue[tail++] = n->to[a];
		}
	}
	return tail;
}

static void forget_walk(struct work *w, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		w->dist[w->queue[i]] = TOPO_NONE;
}

/* The middle switch of a path that is as long as the part is wide, found by two walks. */
static uint32_t find_middle(struct work *w, uint32_t start)
{
	const struct net *n = w->net;
	uint32_t count = walk(w, start), far = w->queue[count - 1], sw;

	forget_walk(w, count);
	count = walk(w, far);
	sw = w->queue[count - 1];
	for (uint32_t steps = w->dist[sw] / 2; steps; steps--)
		for (uint32_t a = n->first[sw]; a < n->first[sw + 1]; a++)
			if (w->dist[n->to[a]] + 1 == w->dist[sw] &&
			    (!w->states || w->states[a] == ARC_OPEN)) {
				sw = n->to[a];
				break;
			}
	forget_walk(w, count);
	return sw;
}

/* ---- Trees ----------------------------------------------------------------------------------- */

/* Each switch by its first neighbour that is nearer to the root. */
static void grow_tree(struct work *w, uint32_t root)
{
	uint32_t count = walk(w, root);

	for (uint32_t i = 1; i < count; i++) {
		uint32_t sw = w->queue[i], a = w->net->first[sw];

		while (w->dist[w->net->to[a]] + 1 != w->dist[sw])
			a++;
		w->tree[a] = w->tree[w->net->back[a]] = true;
	}
}

/* Depth first. */
static void grow_line(struct work *w, uint32_t root)
{
	uint32_t count = 0, met = 0;

	w->dist[root] = met++;
	w->queue[count++] = root;
	while (count) {
		/* The arc to the unvisited neighbour with fewest unvisited neighbours. */
		uint32_t sw = w->queue[count - 1], best = TOPO_NONE;
		unsigned fewest = UINT32_MAX;

		for (uint32_t a = w->net->first[sw]; a < w->net->first[sw + 1]; a++) {
			uint32_t to = w->net->to[a];
			unsigned unmet = 0;

			if (w->dist[to] != TOPO_NONE)
				continue;
			for (uint32_t b = w->net->first[to]; b < w->net->first[to + 1]; b++)
				unmet += w->dist[w->net->to[b]] == TOPO_NONE;
			if (unmet < fewest) {
				fewest = unmet;
				best = a;
			}
		}

		if (best == TOPO_NONE) {
			count--;
			continue;
		}
		w->tree[best] = w->tree[w->net->back[best]] = true;
		w->dist[w->net->to[best]] = met++;
		w->queue[count++] = w->net->to[best];
	}
}

/* ---- Orders ---------------------------------------------------------------------------------- */

struct height { /* of a switch: the smaller, the lower */
	uint32_t key, sw;
};

SORT_BY(by_height, struct height, sort_order(a->key, b->key) ?: sort_order(a->sw, b->sw))

/* Positions: arcs up, the lower end first, then arcs down. Sorts the heights of all switches. */
static void order_arcs(struct work *w, struct height *heights)
{
	const struct net *n = w->net;
	uint32_t *rank = mem_array_unset(rank, n->nswitches + 1), place = 0;

	qsort(heights, n->nswitches, sizeof(*heights), by_height);
	for (uint32_t i = 0; i < n->nswitches; i++)
		rank[heights[i].sw] = i;
	for (uint32_t i = 0; i < 2 * n->nswitches; i++) {
		bool up = i < n->nswitches;
		uint32_t sw = heights[up ? i : 2 * n->nswitches - 1 - i].sw;

		for (uint32_t a = n->first[sw]; a < n->first[sw + 1]; a++)
			if ((rank[n->to[a]] > rank[sw]) == up)
				w->turns->at[w->turns->position[a] = place++] = a;
	}
	free(rank);
}

/* ---- Beginning with a tree ------------------------------------------------------------------- */

static void grow_trees(struct work *w, enum beginning how, uint64_t *seed)
{
	for (uint32_t sw = 0; sw < w->net->nswitches; sw++) {
		if (w->dist[sw] != TOPO_NONE)
			continue;

		uint32_t root = find_middle(w, sw);

		if (how == TREE_ELSEWHERE) {
			/* Any switch of the same part. */
			uint32_t count = walk(w, root), other = w->queue[random_next(seed) % count];

			forget_walk(w, count);
			root = other;
		}
		how == TREE_LINE ? grow_line(w, root) : grow_tree(w, root);
	}
}

/* ---- Beginning with the tiers ---------------------------------------------------------------- */

/*
 * All turns between an arc and the tree's at the switch it leaves: those from it into the tree, and
 * (`both`) those from the tree onto it.
 */
static bool goes_with_tree(struct work *w, uint32_t arc, bool both)
{
	const struct net *n = w->net;
	uint32_t sw = n->from[arc], tried[2 * UINT8_MAX], ntried = 0;

	for (uint32_t b = n->first[sw]; b < n->first[sw + 1]; b++)
		for (unsigned onto = 0; b != arc && onto < 1u + both; onto++) {
			uint32_t from = n->back[onto ? b : arc], to = onto ? arc : b;
			uint32_t turn = turn_number(n, from, to);

			if (!w->tree[onto ? from : to])
				continue;
			if (w->turns->state[turn] == TURN_UNKNOWN)
				tried[ntried++] = turn;
			if (turns_allow(w->turns, from, to))
				continue;
			while (ntried-- > 1)
				w->turns->state[tried[ntried]] = w->turns->state[tried[0]] =
					TURN_UNKNOWN;
			return false;
		}
	return true;
}

/* The tree leads to a switch as well as from it. */
static bool tree_leads_to(struct work *w, uint32_t sw)
{
	const struct net *n = w->net;

	for (uint32_t b = n->first[sw]; b < n->first[sw + 1]; b++)
		if (w->tree[b] && !w->tree[n->back[b]])
			return tree_leads_to(w, n->to[b]) && goes_with_tree(w, n->back[b], true) &&
			       (w->tree[n->back[b]] = true);
	return true;
}

/*
 * A tree that the turns of the tiers allow, from a root; each `turn` tries switches and their arcs
 * in another order. It leads from all switches, and to all or (`to_hosts`) where there are hosts,
 * but for so many of these as `spare` says. Returns how many switches are in it.
 */
static uint32_t fit_tree(struct work *w, uint32_t root, uint32_t turn, bool to_hosts,
			 uint32_t spare)
{
	const struct net *n = w->net;
	uint32_t tail = 0, head = 0;

	w->dist[root] = 0;
	w->queue[tail++] = root;
	for (unsigned pass = !w->hint; pass < 2u + (spare > 0); head = 0, pass++)
		for (; head < tail; head++) {
			uint32_t pick = head + turn * (head + 7) % (tail - head);
			uint32_t sw = w->queue[pick], degree = net_degree(n, sw);

			w->queue[pick] = w->queue[head];
			w->queue[head] = sw;
			for (uint32_t i = 0; i < degree; i++) {
				uint32_t a = n->first[sw] + (i + turn * (sw + 1)) % degree;
				uint32_t hosts = n->hosts[n->to[a]];
				bool both = !to_hosts || (hosts && (pass < 2 || hosts > spare));

				if (w->dist[n->to[a]] != TOPO_NONE || (!pass && !w->hint[a]) ||
				    (w->states && w->states[a] != ARC_OPEN) ||
				    (both && !tree_leads_to(w, sw)) || !goes_with_tree(w, a, both))
					continue;
				w->tree[a] = both;
				w->tree[w->net->back[a]] = true;
				w->dist[n->to[a]] = w->dist[sw] + 1;
				w->queue[tail++] = n->to[a];
				spare -= both ? 0 : hosts;
				/* From there on the hint counts again. */
				if (pass == 1 && w->hint) {
					pass = 0;
					head = UINT32_MAX;
					break;
				}
			}
		}
	return tail;
}

bool turns_fit_tree(struct turns *turns, const uint8_t *states, bool *tree)
{
	struct work w;
	bool whole = true;

	work_init(&w, turns, tree);
	w.states = states;
	for (uint32_t sw = 0; sw < turns->net->nswitches && whole; sw++) {
		if (w.dist[sw] != TOPO_NONE)
			continue;

		uint32_t root = find_middle(&w, sw), count = walk(&w, root);

		forget_walk(&w, count);
		whole = fit_tree(&w, root, 0, false, 0) == count;
	}
	work_fini(&w);
	return whole;
}

void turns_begin(struct turns *turns, enum beginning how, uint64_t *seed, bool *tree)
{
	const struct net *n = turns->net;
	struct height *heights = mem_array_unset(heights, n->nswitches + 1);
	struct work w;

	work_init(&w, turns, tree);
	if (how != BY_TIERS)
		grow_trees(&w, how, seed);
	for (uint32_t sw = 0; sw < n->nswitches; sw++)
		heights[sw] = (struct height){ how == BY_TIERS ? (uint32_t)n->level[sw] << 16 |
									 (UINT16_MAX - n->hosts[sw])
							       : UINT32_MAX - w.dist[sw],
					       sw };
	order_arcs(&w, heights);
	/* Allows all turns up and down the tree at once, where there are too many to test each. */
	if (how == BY_TIERS || net_has_many_turns(n))
		turns_allow_order(turns);
	else
		for (uint32_t a = 0; a < n->narcs; a++)
			for (uint32_t b = n->first[n->to[a]]; tree[a] && b < n->first[n->to[a] + 1];
			     b++)
				if (tree[b])
					turns_allow(turns, a, b);
	free(heights);
	work_fini(&w);
}

/* ---- A tree beside tables -------------------------------------------------------------------- */

#define TRIES_MAX   64	      /* each from another root or by other arcs: a copy of all turns */
#define BESIDE_WORK (1 << 24) /* steps: some tens of milliseconds */
#define ENTRY_NS    6	      /* to look at the turn of an entry */

/* The best link of an arc: one that is not cordoned, or one that is up. */
static uint8_t port_of(const struct net *n, const struct topo *t, uint32_t arc)
{
	uint8_t best = 0;

	for (uint32_t i = n->first_link[arc]; i < n->first_link[arc + 1]; i++) {
		const struct topo_port *port = topo_port(t, n->from[arc], n->links[i]);
		bool open = !port->cordoned && !topo_peer(t, port)->cordoned;

		if (port->link_up && (!best || open))
			best = port->num;
		if (best && open)
			break;
	}
	return best;
}

/* Allows the turns of the tables; false: they have a cycle. */
static bool allow_turns_of(struct turns *turns, const struct topo *t, const struct tables *tables)
{
	const struct net *n = turns->net;
	uint32_t *arcs = arena_array(n->arena, arcs, t->nswitch_ports + 1u); /* by port, + 1 */
	bool safe = true;

	for (uint32_t arc = 0; arc < n->narcs; arc++)
		for (uint32_t i = n->first_link[arc]; i < n->first_link[arc + 1]; i++)
			arcs[t->nodes[n->from[arc]].port0 + n->links[i]] = arc + 1;
	for (uint32_t sw = 0; sw < t->nswitches && safe; sw++) {
		for (uint32_t lid = 1; lid <= tables->top && safe; lid++) {
			unsigned out = tables_row(tables, sw)[lid];
			uint32_t next = path_switch_at(t, sw, out), a, b;

			if (next == TOPO_NONE)
				continue;
			a = arcs[t->nodes[sw].port0 + out];
			out = tables_row(tables, next)[lid];
			b = path_switch_at(t, next, out) == TOPO_NONE
				    ? 0
				    : arcs[t->nodes[next].port0 + out];
			if (a && b && turns->state[turn_number(n, a - 1, b - 1)] != TURN_ALLOWED)
				safe = turns_allow(turns, a - 1, b - 1);
		}
		fiber_spend(n->fiber, tables->top * ENTRY_NS);
	}
	return safe;
}

bool acyclic_tree_beside(const struct topo *t, const struct tables *tables,
			 const struct acyclic_beside *beside, struct fiber *fiber)
{
	uint32_t *queue, count = 1, first = 0;
	bool *tree, *hint, safe, found = false;
	struct turns turns, with_tree;
	struct net n;

	net_init(&n, t, fiber);
	turns_init(&turns, &n);
	queue = arena_array(n.arena, queue, t->nswitches + 1u);
	tree = arena_array(n.arena, tree, n.narcs + 1u);
	hint = arena_array(n.arena, hint, n.narcs + 1u);
	for (uint32_t arc = 0; beside->first && arc < n.narcs; arc++)
		hint[arc] = any_of(i, n.first_link[arc], n.first_link[arc + 1],
				   beside->first[t->nodes[n.from[arc]].port0 + n.links[i]]);

	uint8_t *states = arena_array(n.arena, states, n.narcs + 1u);

	net_read_states(&n, t, states);
	turns.work = BESIDE_WORK;
	safe = allow_turns_of(&turns, t, tables);
	/* By cordoned links too where there is none without. */
	for (uint32_t i = 0; i < 2 * TRIES_MAX && safe && !found && !fiber_hurries(fiber); i++) {
		uint32_t root = i * (1 + n.nswitches / TRIES_MAX);
		struct work w;

		for (uint32_t arc = 0; i >= TRIES_MAX && arc < n.narcs; arc++)
			states[arc] = states[arc] == ARC_DOWN ? ARC_DOWN : ARC_OPEN;
		mem_zero(tree, n.narcs);
		turns_copy(&with_tree, &turns);
		with_tree.work = turns.work;
		work_init(&w, &with_tree, tree);
		w.states = states;
		w.hint = i % 2 || !beside->first ? NULL : hint;
		found = fit_tree(&w, root % n.nswitches, root / n.nswitches, beside->to_hosts,
				 beside->spare) == n.nswitches;
		turns.work = with_tree.work;
		fiber_spend(fiber, n.nturns * TURN_NS);
		work_fini(&w);
		turns_fini(&with_tree);
	}
	memset(beside->up, 0, t->nswitches);
	while (beside->to_hosts && first + 1 < n.nswitches && !n.hosts[first])
		first++;
	queue[0] = first;
	for (uint32_t head = 0; found && head < count; head++)
		for (uint32_t a = n.first[queue[head]]; a < n.first[queue[head] + 1]; a++)
			if (tree[n.back[a]] && n.to[a] != first && !beside->up[n.to[a]]) {
				beside->up[n.to[a]] = port_of(&n, t, n.back[a]);
				beside->apart[n.to[a]] |= !tree[a] && n.hosts[n.to[a]];
				queue[count++] = n.to[a];
			}
	turns_fini(&turns);
	arena_free(n.arena);
	return found;
}
