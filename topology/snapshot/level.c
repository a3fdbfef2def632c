/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * level: how high each switch stands, from the leaves up, whatever tree or not-quite tree comes.
 *
 * A leaf is a switch with hosts, and all others stand at their distance from the nearest leaf. Real
 * fabrics bend that rule, so three corrections are made:
 *   - hosts on spines, switches chained under a leaf: of two neighbours that both have hosts, the
 *     one whose ports serve clearly fewer hosts (as a share of its links) stands higher and is no
 *     leaf;
 *   - leaves with links to the cores (management, storage): a switch most of whose links lead to
 *     others of its own distance, which have clearly more links down than it has, stands one above
 *     them;
 *   - what is not populated yet, or drained: line cards of a director, leaves, whole pods. A
 *     host-less switch whose neighbours are one step below it, and 3/4 of them neighbours of one
 *     and the same switch another step below, is the like of that one and not a switch of the top;
 *     what hangs on it alone is below it.
 * SHARP aggregation nodes do not count as hosts, and known-but-down links do count: a fault
 * must not move a switch to another tier.
 */
#include "topology/base/mem.h"
#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_builder.h"

#define LEVEL_UNKNOWN 255
/* Difference of host shares that tells a leaf from a switch above it. */
#define LEVEL_SHARE_MARGIN 0.25

struct level_work {
	const struct topo *t;
	uint8_t *level;	 /* by switch */
	uint8_t *fixed;	 /* by switch: a level that is known, LEVEL_UNKNOWN = by its neighbours */
	uint16_t *hosts; /* host links */
	uint16_t *isls;	 /* links to other switches */
	uint32_t *queue;
};

/* The switch behind a port, or TOPO_NONE; loops to the switch itself do not count. */
static uint32_t neighbour(const struct topo *t, uint32_t sw, unsigned num)
{
	const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

	return !peer || t->nodes[peer->node].type != TOPO_SWITCH || peer->node == sw ? TOPO_NONE
										     : peer->node;
}

#define EACH_NEIGHBOUR(w, sw, other)                                                               \
	for (uint32_t other##_num = 1, other; other##_num <= (w)->t->nodes[sw].nports;             \
	     other##_num++)                                                                        \
		if ((other = neighbour((w)->t, sw, other##_num)) != TOPO_NONE)

static double host_share(const struct level_work *w, uint32_t sw)
{
	unsigned links = w->hosts[sw] + w->isls[sw];

	return links ? (double)w->hosts[sw] / links : 0;
}

static bool serves_clearly_fewer(const struct level_work *w, uint32_t sw)
{
	EACH_NEIGHBOUR (w, sw, other)
		if (w->hosts[other] &&
		    host_share(w, other) > host_share(w, sw) + LEVEL_SHARE_MARGIN)
			return true;
	return false;
}

/* The neighbours of one switch that have no level yet. */
static uint32_t spread_from(struct level_work *w, uint32_t sw, uint32_t tail)
{
	EACH_NEIGHBOUR (w, sw, other) {
		if (w->level[other] != LEVEL_UNKNOWN)
			continue;
		w->level[other] = w->level[sw] < TOPO_MAX_LEVEL ? w->level[sw] + 1 : TOPO_MAX_LEVEL;
		w->queue[tail++] = other;
	}
	return tail;
}

/*
 * Breadth first from all switches whose levels are known, the lowest first. Those it does not reach
 * (a part without hosts) stay without.
 */
static void spread(struct level_work *w)
{
	uint32_t head = 0, tail = 0;

	memcpy(w->level, w->fixed, w->t->nswitches);
	for (unsigned level = 0; level <= TOPO_MAX_LEVEL; level++) {
		for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
			if (w->fixed[sw] == level)
				w->queue[tail++] = sw;
		for (uint32_t end = tail; head < end; head++)
			tail = spread_from(w, w->queue[head], tail);
	}
	for (; head < tail; head++)
		tail = spread_from(w, w->queue[head], tail);
}

/* ---- Leaves with links to the cores ---------------------------------------------------------- */

struct links { /* of a switch, by the levels that they lead to */
	unsigned down, level, all;
};

static struct links links_of(const struct level_work *w, uint32_t sw)
{
	struct links c = { 0 };

	EACH_NEIGHBOUR (w, sw, other) {
		c.all++;
		c.down += w->level[other] < w->level[sw];
		c.level += w->level[other] == w->level[sw];
	}
	return c;
}

static bool stands_above_its_level(const struct level_work *w, uint32_t sw)
{
	const struct links own = links_of(w, sw);
	unsigned below = 0; /* links to switches of the same level that have clearly more down */

	if (!w->level[sw] || w->level[sw] >= TOPO_MAX_LEVEL || own.level * 2 <= own.all)
		return false;
	EACH_NEIGHBOUR (w, sw, other) {
		if (w->level[other] != w->level[sw])
			continue;
		struct links its = links_of(w, other);
		below += (double)its.down / its.all >
			 (double)own.down / own.all + LEVEL_SHARE_MARGIN;
	}
	return below * 2 > own.level;
}

/* ---- What is not populated ------------------------------------------------------------------- */

struct common_parents {	       /* of the switch in question and each other of a level */
	uint32_t *last_child;  /* by parent: the switch it was counted for last, + 1 */
	uint32_t *last_parent; /* by switch: the parent it was counted at last, + 1 */
	uint16_t *count;       /* by switch */
};

/*
 * Does one switch two levels below see 3/4 of this one's neighbours? Counted through the
 * neighbours' own children.
 */
static bool shares_parents(const struct level_work *w, uint32_t sw, struct common_parents *c)
{
	unsigned parents = 0, best = 0, level = w->level[sw];

	mem_zero(c->count, w->t->nswitches);
	mem_zero(c->last_parent, w->t->nswitches);
	EACH_NEIGHBOUR (w, sw, parent) {
		if (c->last_child[parent] == sw + 1)
			continue;
		if (level > 2 && w->level[parent] > level)
			continue; /* leads to nothing: see leads_elsewhere() */
		if (w->level[parent] + 1u != level)
			return false;
		c->last_child[parent] = sw + 1;
		parents++;
		EACH_NEIGHBOUR (w, parent, child) {
			if (w->level[child] != level - 2 || c->last_parent[child] == parent + 1)
				continue;
			c->last_parent[child] = parent + 1;
			if (++c->count[child] > best)
				best = c->count[child];
		}
	}
	return best * 4 >= parents * 3 && parents;
}

/* What is above it hangs on more than on switches that are empty. */
static bool leads_elsewhere(const struct level_work *w, uint32_t sw, const bool *empty)
{
	EACH_NEIGHBOUR (w, sw, above)
		if (w->level[above] > w->level[sw])
			EACH_NEIGHBOUR (w, above, other)
				if (!empty[other])
					return true;
	return false;
}

static bool find_empty(struct level_work *w, unsigned level)
{
	struct common_parents c = {
		.last_child = mem_array(c.last_child, w->t->nswitches),
		.last_parent = mem_array(c.last_parent, w->t->nswitches),
		.count = mem_array(c.count, w->t->nswitches),
	};
	bool *empty = mem_array(empty, w->t->nswitches), found = false;

	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		empty[sw] = !w->hosts[sw] && w->level[sw] == level && shares_parents(w, sw, &c);
	for (bool dropped = true; dropped;) {
		dropped = false;
		for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
			if (empty[sw] && leads_elsewhere(w, sw, empty)) {
				empty[sw] = false;
				dropped = true;
			}
	}
	/* What hangs on an empty switch of the level is on the next one below it. */
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++) {
		if (!empty[sw])
			continue;
		found = true;
		w->fixed[sw] = level - 2;
		EACH_NEIGHBOUR (w, sw, above)
			if (w->level[above] > level && level > 2)
				w->fixed[above] = level - 3;
	}
	free(c.last_child);
	free(c.last_parent);
	free(c.count);
	free(empty);
	return found;
}

/* The levels that there are, 0 when there is none. */
static unsigned count_levels(const struct level_work *w)
{
	unsigned count = 0;

	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		if (w->level[sw] != LEVEL_UNKNOWN && w->level[sw] >= count)
			count = w->level[sw] + 1u;
	return count;
}

void level_assign(struct topo *t)
{
	/* The snapshot is not published yet: its maker may still write it. */
	struct topo_node *nodes = (struct topo_node *)t->nodes;
	struct level_work w = {
		.t = t,
		.level = mem_array(w.level, t->nswitches + 1),
		.fixed = mem_array(w.fixed, t->nswitches + 1),
		.hosts = mem_array(w.hosts, t->nswitches + 1),
		.isls = mem_array(w.isls, t->nswitches + 1),
		.queue = mem_array(w.queue, t->nswitches + 1),
	};
	bool raised = false;

	for (uint32_t p = 0; p < t->nswitch_ports; p++) {
		const struct topo_end *end = &t->ends[p];
		uint32_t sw = t->ports[p].node;

		if (end->to == TOPO_NONE || end->to == sw)
			continue;
		if (end->to < t->nswitches)
			w.isls[sw]++;
		else if (!end->special)
			w.hosts[sw]++;
	}
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		w.fixed[sw] = w.hosts[sw] && !serves_clearly_fewer(&w, sw) ? 0 : LEVEL_UNKNOWN;
	spread(&w);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (w.level[sw] != LEVEL_UNKNOWN && stands_above_its_level(&w, sw)) {
			w.fixed[sw] = w.level[sw] + 1;
			raised = true;
		}
	if (raised)
		spread(&w);
	for (unsigned level = 2; level < count_levels(&w); level++)
		if (find_empty(&w, level))
			spread(&w);
	t->nlevels = t->nswitches ? count_levels(&w) ?: 1 : 0;
	for (uint32_t n = 0; n < t->nswitches; n++) {
		nodes[n].level = w.level[n] == LEVEL_UNKNOWN ? 0 : w.level[n];
		nodes[n].role = !nodes[n].level || host_share(&w, n) > LEVEL_SHARE_MARGIN
					? TOPO_LEAF
				: t->nlevels > 2 && nodes[n].level + 1 == t->nlevels ? TOPO_CORE
										     : TOPO_SPINE;
	}
	for (uint32_t n = t->nswitches; n < t->nnodes; n++)
		nodes[n].role = nodes[n].sharp ? TOPO_SHARP : TOPO_HOST;
	free(w.level);
	free(w.fixed);
	free(w.hosts);
	free(w.isls);
	free(w.queue);
}
