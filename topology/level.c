/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * level: how high each switch stands, from the leaves up, whatever tree or not-quite tree comes.
 *
 * A leaf is a switch with hosts. Real fabrics bend that rule, so two corrections are made:
 *   - hosts on spines, switches chained under a leaf: of two neighbours that both have hosts, the
 * one whose ports serve clearly fewer hosts (as a share of its cables) stands higher and is no
 * leaf;
 *   - leaves without hosts (not populated yet, or drained): a host-less switch all of whose
 * neighbours are one step above the leaves, and most of them neighbours of one and the same leaf,
 * is a leaf too and not a top switch. All other switches stand at their distance from the nearest
 * leaf. SHARP aggregation nodes do not count as hosts, and known-but-down cables do count: a fault
 * must not move a switch to another tier.
 */
#include <stdlib.h>
#include <string.h>
#include "topology/mem.h"
#include "topology/topo.h"

#define LEVEL_UNKNOWN 255
#define LEVEL_SHARE_MARGIN                                                                         \
	0.25 /* difference of host shares that tells a leaf from a switch above it */

struct level_work {
	const struct topo *t;
	uint8_t *level;	 /* by switch */
	uint16_t *hosts; /* host cables */
	uint16_t *isls;	 /* cables to other switches */
	uint32_t *queue;
};

/* The switch behind a port, or TOPO_NONE; loops to the switch itself do not count. */
static uint32_t neighbour(const struct topo *t, uint32_t sw, unsigned num)
{
	const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

	if (!peer || t->nodes[peer->node].type != TOPO_SWITCH || peer->node == sw)
		return TOPO_NONE;
	return peer->node;
}

static void count_cables(struct level_work *w)
{
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++) {
		for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++) {
			const struct topo_port *peer = topo_peer(w->t, topo_port(w->t, sw, num));

			if (!peer)
				continue;
			if (neighbour(w->t, sw, num) != TOPO_NONE)
				w->isls[sw]++;
			else if (peer->node != sw && !w->t->nodes[peer->node].sharp)
				w->hosts[sw]++;
		}
	}
}

static double host_share(const struct level_work *w, uint32_t sw)
{
	unsigned cables = w->hosts[sw] + w->isls[sw];

	return cables ? (double)w->hosts[sw] / cables : 0;
}

static bool serves_clearly_fewer(const struct level_work *w, uint32_t sw)
{
	for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++) {
		uint32_t other = neighbour(w->t, sw, num);

		if (other != TOPO_NONE && w->hosts[other] &&
		    host_share(w, other) > host_share(w, sw) + LEVEL_SHARE_MARGIN)
			return true;
	}
	return false;
}

/* Breadth first from all leaves at once; returns the switches it did not reach (a part without
 * hosts). */
static void spread_from_leaves(struct level_work *w)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		if (w->level[sw] == 0)
			w->queue[tail++] = sw;
	while (head < tail) {
		uint32_t sw = w->queue[head++];

		for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++) {
			uint32_t other = neighbour(w->t, sw, num);

			if (other == TOPO_NONE || w->level[other] != LEVEL_UNKNOWN)
				continue;
			w->level[other] =
				w->level[sw] < TOPO_MAX_LEVEL ? w->level[sw] + 1 : TOPO_MAX_LEVEL;
			w->queue[tail++] = other;
		}
	}
}

struct common_parents {	       /* of the switch in question and each leaf */
	uint32_t *last_child;  /* by parent: the switch it was counted for last, + 1 */
	uint32_t *last_parent; /* by leaf: the parent it was counted at last, + 1 */
	uint16_t *count;       /* by leaf */
};

static unsigned count_leaves_of(const struct level_work *w, uint32_t parent,
				struct common_parents *c)
{
	unsigned best = 0;

	for (unsigned num = 1; num <= w->t->nodes[parent].nports; num++) {
		uint32_t leaf = neighbour(w->t, parent, num);

		if (leaf == TOPO_NONE || w->level[leaf] != 0 || c->last_parent[leaf] == parent + 1)
			continue;
		c->last_parent[leaf] = parent + 1;
		if (++c->count[leaf] > best)
			best = c->count[leaf];
	}
	return best;
}

/* Does one leaf see most of this switch's neighbours? Counted through the neighbours' own leaves.
 */
static bool shares_parents_with_a_leaf(const struct level_work *w, uint32_t sw,
				       struct common_parents *c)
{
	unsigned parents = 0, best = 0;

	memset(c->count, 0, w->t->nswitches * sizeof(*c->count));
	memset(c->last_parent, 0, w->t->nswitches * sizeof(*c->last_parent));
	for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++) {
		uint32_t parent = neighbour(w->t, sw, num);

		if (parent == TOPO_NONE || c->last_child[parent] == sw + 1)
			continue;
		if (w->level[parent] != 1)
			return false;
		c->last_child[parent] = sw + 1;
		parents++;
		unsigned seen = count_leaves_of(w, parent, c);
		best = seen > best ? seen : best;
	}
	return best * 2 > parents;
}

static bool find_empty_leaves(struct level_work *w)
{
	struct common_parents c = {
		.last_child = mem_alloc(w->t->nswitches, sizeof(*c.last_child)),
		.last_parent = mem_alloc(w->t->nswitches, sizeof(*c.last_parent)),
		.count = mem_alloc(w->t->nswitches, sizeof(*c.count)),
	};
	bool *empty = mem_alloc(w->t->nswitches, sizeof(*empty));
	bool found = false;

	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		if (!w->hosts[sw] && w->level[sw] == 2)
			found |= empty[sw] = shares_parents_with_a_leaf(w, sw, &c);
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		if (empty[sw])
			w->level[sw] = 0;
	free(c.last_child);
	free(c.last_parent);
	free(c.count);
	free(empty);
	return found;
}

static void settle_levels(struct level_work *w)
{
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		w->level[sw] = w->hosts[sw] && !serves_clearly_fewer(w, sw) ? 0 : LEVEL_UNKNOWN;
	spread_from_leaves(w);
	if (find_empty_leaves(w)) {
		for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
			if (w->level[sw] != 0)
				w->level[sw] = LEVEL_UNKNOWN;
		spread_from_leaves(w);
	}
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		if (w->level[sw] == LEVEL_UNKNOWN)
			w->level[sw] = 0;
}

static enum topo_role role_of(const struct level_work *w, uint32_t sw, unsigned nlevels)
{
	if (w->level[sw] == 0 || host_share(w, sw) > LEVEL_SHARE_MARGIN)
		return TOPO_LEAF;
	return nlevels > 2 && w->level[sw] + 1u == nlevels ? TOPO_CORE : TOPO_SPINE;
}

void level_assign(struct topo *t)
{
	/* The snapshot is not published yet: its maker may still write it. */
	struct topo_node *nodes = (struct topo_node *)t->nodes;
	struct level_work w = {
		.t = t,
		.level = mem_alloc(t->nswitches + 1, sizeof(*w.level)),
		.hosts = mem_alloc(t->nswitches + 1, sizeof(*w.hosts)),
		.isls = mem_alloc(t->nswitches + 1, sizeof(*w.isls)),
		.queue = mem_alloc(t->nswitches + 1, sizeof(*w.queue)),
	};

	count_cables(&w);
	settle_levels(&w);
	t->nlevels = 0;
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (w.level[sw] + 1 > t->nlevels)
			t->nlevels = w.level[sw] + 1;
	for (uint32_t n = 0; n < t->nnodes; n++) {
		if (n < t->nswitches)
			nodes[n].level = w.level[n];
		nodes[n].role = n < t->nswitches ? role_of(&w, n, t->nlevels)
				: nodes[n].sharp ? TOPO_SHARP
						 : TOPO_HOST;
	}
	free(w.level);
	free(w.hosts);
	free(w.isls);
	free(w.queue);
}
