/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling_tiers: which switches are like one another, so that one can be held against the others.
 *
 * Two switches are alike in a set of neighbours when they share more than half of the larger of
 * both their sets; likeness is handed on. By all neighbours: switches that stand side by side,
 * among which the majority says what level they are at, so that an HCA on a core or a cable past a
 * tier moves nobody. Then by parents and by children, within a level.
 */
#include <stdlib.h>
#include <string.h>
#include "topology/cabling_own.h"
#include "topology/mem.h"

enum relation { ANY, ABOVE, BELOW };

struct likeness {
	const struct tiers *tiers;
	enum relation relation;
	uint32_t *shared, *touched; /* by switch; a list */
};

static uint32_t root_of(uint32_t *parent, uint32_t sw)
{
	while (parent[sw] != sw)
		sw = parent[sw] = parent[parent[sw]];
	return sw;
}

static bool is_related(const struct tiers *tiers, uint32_t sw, uint32_t other,
		       enum relation relation)
{
	return relation == ANY || (relation == ABOVE ? tiers->level[other] == tiers->level[sw] + 1
						     : tiers->level[other] + 1 == tiers->level[sw]);
}

static uint32_t count_related(const struct likeness *l, uint32_t sw)
{
	uint32_t count = 0;

	for (uint32_t i = l->tiers->first[sw]; i < l->tiers->first[sw + 1]; i++)
		count += is_related(l->tiers, sw, l->tiers->near[i], l->relation);
	return count;
}

/* Counts the neighbours that each later switch of the same level has in common with this one. */
static uint32_t count_shared(struct likeness *l, uint32_t sw)
{
	const struct tiers *tiers = l->tiers;
	uint32_t n = 0;

	for (uint32_t i = tiers->first[sw]; i < tiers->first[sw + 1]; i++) {
		uint32_t via = tiers->near[i];

		if (!is_related(tiers, sw, via, l->relation))
			continue;
		for (uint32_t j = tiers->first[via]; j < tiers->first[via + 1]; j++) {
			uint32_t other = tiers->near[j];

			if (other <= sw ||
			    (l->relation != ANY && tiers->level[other] != tiers->level[sw]))
				continue;
			if (!l->shared[other]++)
				l->touched[n++] = other;
		}
	}
	return n;
}

/* By switch, one that stands for all that are like it. */
static uint32_t *join_alike(const struct tiers *tiers, enum relation relation)
{
	uint32_t nswitches = tiers->t->nswitches;
	uint32_t *parent = mem_alloc(nswitches + 1, sizeof(*parent));
	struct likeness l = { .tiers = tiers,
			      .relation = relation,
			      .shared = mem_alloc(nswitches + 1, sizeof(*l.shared)),
			      .touched = mem_alloc(nswitches + 1, sizeof(*l.touched)) };

	for (uint32_t sw = 0; sw < nswitches; sw++)
		parent[sw] = sw;
	for (uint32_t sw = 0; sw < nswitches; sw++) {
		uint32_t own = count_related(&l, sw), n = count_shared(&l, sw);

		for (uint32_t i = 0; i < n; i++) {
			uint32_t other = l.touched[i], its = count_related(&l, other);

			if (l.shared[other] * 2 > (own > its ? own : its))
				parent[root_of(parent, other)] = root_of(parent, sw);
			l.shared[other] = 0;
		}
	}
	for (uint32_t sw = 0; sw < nswitches; sw++)
		parent[sw] = root_of(parent, sw);
	free(l.shared);
	free(l.touched);
	return parent;
}

/* Each neighbour once, however many cables lead to it; cables that are down count. */
static void find_neighbours(struct tiers *tiers)
{
	const struct topo *t = tiers->t;
	uint32_t *last = mem_alloc(t->nswitches + 1, sizeof(*last)), n = 0;

	tiers->first = mem_alloc(t->nswitches + 1, sizeof(*tiers->first));
	tiers->near = mem_alloc(t->nswitch_ports + 1, sizeof(*tiers->near));
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

			if (!peer || peer->node >= t->nswitches || peer->node == sw ||
			    last[peer->node] == sw + 1)
				continue;
			last[peer->node] = sw + 1;
			tiers->near[n++] = peer->node;
		}
		tiers->first[sw + 1] = n;
	}
	free(last);
}

/* The level that most of a group have; of equals the highest. */
static void settle_levels(struct tiers *tiers, const uint32_t *group)
{
	uint32_t nswitches = tiers->t->nswitches;
	uint32_t(*votes)[TOPO_MAX_LEVEL + 1] = mem_alloc(nswitches + 1, sizeof(*votes));

	for (uint32_t sw = 0; sw < nswitches; sw++)
		votes[group[sw]][tiers->t->nodes[sw].level]++;
	for (uint32_t sw = 0; sw < nswitches; sw++) {
		const uint32_t *of = votes[group[sw]];

		tiers->level[sw] = 0;
		for (uint8_t level = 1; level <= TOPO_MAX_LEVEL; level++)
			if (of[level] >= of[tiers->level[sw]])
				tiers->level[sw] = of[level] ? level : tiers->level[sw];
	}
	free(votes);
}

void tiers_init(struct tiers *tiers, const struct topo *t)
{
	uint32_t *alike;

	*tiers = (struct tiers){ .t = t, .level = mem_alloc(t->nswitches + 1, 1) };
	find_neighbours(tiers);
	alike = join_alike(tiers, ANY);
	settle_levels(tiers, alike);
	tiers->up = join_alike(tiers, ABOVE);
	tiers->down = join_alike(tiers, BELOW);
	free(alike);
}

void tiers_fini(struct tiers *tiers)
{
	free(tiers->level);
	free(tiers->up);
	free(tiers->down);
	free(tiers->first);
	free(tiers->near);
}
