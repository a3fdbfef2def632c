/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * agree: see agree.h. Two passes a level: LIDs that are at home first, then those that have to move, in LID order.
 * On an intact fabric nobody moves.
 *
 * A family's place is the sequence of parent numbers that leads up to it, the same in every pod: a LID that left its leaf by
 * parent 7 is met by the families above parent 7 everywhere, and by no others.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/agree.h"
#include "topology/mem.h"

#define MAX_SLOTS 256

struct climb {
	const struct graph *g;
	const struct dests *d;
	uint32_t *at;	 /* by LID: the switch its way down has come up to, TOPO_NONE = the top */
	uint32_t *place; /* by LID: of the family it has come up to */
	uint32_t *
		load; /* [nswitches][MAX_SLOTS]: weight of the LIDs that come down by a slot of a switch */
};

static const struct graph_family *family_of(const struct climb *c, uint32_t sw)
{
	return &c->g->families[c->g->switches[sw].family];
}

/* The live up group to a parent, or NULL. A complete switch has parent i in its group i. */
static const struct graph_group *live_parent(const struct graph *g, uint32_t sw, unsigned parent)
{
	const struct graph_group *ups = graph_ups(g, sw);
	unsigned nup = g->switches[sw].nup, i = parent;

	if (i >= nup || ups[i].slot != parent)
		for (i = 0; i < nup && ups[i].slot != parent; i++)
			;
	return i < nup && ups[i].nlive ? &ups[i] : NULL;
}

static const struct graph_group *live_slot(const struct climb *c, uint32_t sw, unsigned slot)
{
	const struct graph_slot *s = &c->g->slots[family_of(c, sw)->first_slot + slot];
	const struct graph_group *group = live_parent(c->g, sw, s->parent);

	if (!group || s->lane >= group->nlanes || !c->g->lanes[group->first_lane + s->lane].live)
		return NULL;
	return group;
}

static uint32_t place_above(uint32_t place, unsigned parent)
{
	return place * MAX_SLOTS + parent + 1;
}

static void note_move(struct agreed_level *level, uint32_t lid, uint32_t place, unsigned slot)
{
	if (!(level->nmoves & (level->nmoves - 1))) /* room for the next power of two */
		level->moves = mem_resize(level->moves, level->nmoves ? level->nmoves * 2 : 1,
					  sizeof(*level->moves));
	level->moves[level->nmoves++] = (struct agreed_move){ lid, place, slot };
}

/* wanted: what switches elsewhere go by; used: the cable of this switch that it comes down. */
static void settle(struct climb *c, struct agreed_level *level, uint32_t lid, unsigned wanted,
		   unsigned used, const struct graph_group *group)
{
	const struct graph_slot *slots = &c->g->slots[family_of(c, c->at[lid])->first_slot];

	c->load[(size_t)c->at[lid] * MAX_SLOTS + used] += dests_weight(c->d, lid);
	level->spare_lane[lid] = slots[used].lane;
	c->place[lid] = place_above(c->place[lid], slots[wanted].parent);
	c->at[lid] = group->peer;
}

static unsigned home_slot(const struct climb *c, uint32_t lid)
{
	const struct graph_family *family = family_of(c, c->at[lid]);

	return c->d->order[lid] / family->pitch % family->nslots;
}

static bool settle_at_home(struct climb *c, struct agreed_level *level, uint32_t lid)
{
	unsigned home = home_slot(c, lid);
	const struct graph_group *group = live_slot(c, c->at[lid], home);

	if (group)
		settle(c, level, lid, home, home, group);
	return group != NULL;
}

/*
 * The emptiest live slot; among equals the first after home, by turns. While the parent lives, only its lanes
 * count, and the slot wanted stays: nobody else has to move for a dead lane.
 */
static void settle_elsewhere(struct climb *c, struct agreed_level *level, uint32_t lid)
{
	uint32_t sw = c->at[lid], best = UINT32_MAX, best_slot = 0;
	const struct graph_family *family = family_of(c, sw);
	const struct graph_slot *slots = &c->g->slots[family->first_slot];
	unsigned home = home_slot(c, lid), turn = c->d->order[lid] / family->pitch / family->nslots;
	bool parent_lives = live_parent(c->g, sw, slots[home].parent) != NULL;
	const struct graph_group *best_group = NULL;

	for (unsigned i = 0; i < family->nslots; i++) {
		unsigned slot = (home + 1 + turn + i) % family->nslots;
		uint32_t load = c->load[(size_t)sw * MAX_SLOTS + slot];
		bool allowed =
			load < best && (!parent_lives || slots[slot].parent == slots[home].parent);
		const struct graph_group *group = allowed ? live_slot(c, sw, slot) : NULL;

		if (!group)
			continue;
		best = load;
		best_slot = slot;
		best_group = group;
	}
	if (!best_group) {
		c->at[lid] = TOPO_NONE;
		return;
	}
	if (!parent_lives)
		note_move(level, lid, c->place[lid], best_slot);
	settle(c, level, lid, parent_lives ? home : best_slot, best_slot, best_group);
}

static bool climbs_at(const struct climb *c, uint32_t lid, unsigned level)
{
	return c->at[lid] != TOPO_NONE && c->g->switches[c->at[lid]].level == level;
}

static void climb_level(struct climb *c, struct agreed_level *level, unsigned number)
{
	uint32_t *waiting = mem_alloc(c->d->top + 1u, sizeof(*waiting)), n = 0;

	for (uint32_t lid = 1; lid <= c->d->top; lid++) {
		if (!climbs_at(c, lid, number))
			continue;
		if (!family_of(c, c->at[lid])->nslots)
			c->at[lid] = TOPO_NONE;
		else if (!settle_at_home(c, level, lid))
			waiting[n++] = lid;
	}
	for (uint32_t i = 0; i < n; i++)
		settle_elsewhere(c, level, waiting[i]);
	free(waiting);
}

/* From the leaves up: a family stands where any of its members' children says. */
static uint32_t *find_places(const struct graph *g)
{
	uint32_t *place = mem_alloc(g->nfamilies + 1, sizeof(*place));

	for (uint32_t i = 0; i < g->nswitches; i++) {
		uint32_t sw = g->by_rank[i];

		for (unsigned u = 0; u < g->switches[sw].nup; u++) {
			const struct graph_group *up = &graph_ups(g, sw)[u];

			place[g->switches[up->peer].family] =
				place_above(place[g->switches[sw].family], up->slot);
		}
	}
	return place;
}

void agree(struct agreement *a, const struct graph *g, const struct dests *d, uint32_t row_bytes)
{
	struct climb c = { .g = g, .d = d };

	a->nlevels = 0;
	for (uint32_t f = 0; f < g->nfamilies; f++)
		if (g->families[f].level >= a->nlevels)
			a->nlevels = g->families[f].level + 1u;
	a->levels = mem_alloc(a->nlevels + 1, sizeof(*a->levels));
	a->place = find_places(g);
	c.at = mem_alloc(d->top + 1u, sizeof(*c.at));
	c.place = mem_alloc(d->top + 1u, sizeof(*c.place));
	c.load = mem_alloc((size_t)g->nswitches * MAX_SLOTS + 1, sizeof(*c.load));
	memcpy(c.at, d->sw, (d->top + 1u) * sizeof(*c.at));
	for (uint32_t lid = 1; lid <= d->top; lid++)
		if (d->sw[lid] != TOPO_NONE)
			c.place[lid] = a->place[g->switches[d->sw[lid]].family];
	for (unsigned level = 0; level < a->nlevels; level++) {
		a->levels[level].spare_lane = mem_alloc(row_bytes, 1);
		memset(a->levels[level].spare_lane, AGREE_NONE, row_bytes);
		climb_level(&c, &a->levels[level], level);
	}
	free(c.at);
	free(c.place);
	free(c.load);
}

void agree_fini(struct agreement *a)
{
	for (unsigned level = 0; level < a->nlevels; level++) {
		free(a->levels[level].moves);
		free(a->levels[level].spare_lane);
	}
	free(a->levels);
	free(a->place);
}
