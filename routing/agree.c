/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * agree: see agree.h. Two passes a level: LIDs that are at home first, then those that have to move, in LID order.
 * On an intact fabric nobody moves, and no level is looked at above the highest with damage.
 *
 * A family's place is the sequence of parent numbers that leads up to it, the same in every pod: a LID that left its leaf by
 * parent 7 is met by the families above parent 7 everywhere, and by no others.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/agree.h"
#include "topology/mem.h"

#define MAX_SLOTS 256

struct stand {		     /* a switch, as LIDs on their climb meet it */
	const uint8_t *home; /* by LID: D-Mod-K's slot; NULL = they stay here */
	const struct graph_slot *slots;
	uint32_t *load; /* by slot: weight of the LIDs that come down by it */
	uint8_t level;
};

struct climb {
	const struct graph *g;
	const struct dests *d;
	struct stand *stands; /* by switch */
	uint32_t *loads;      /* of all of them */
	uint32_t *at;	 /* by LID: the switch its way down has come up to, TOPO_NONE = the top */
	uint32_t *place; /* by LID: of the family it has come up to */
};

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
	const struct graph_slot *s = &c->stands[sw].slots[slot];
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
	const struct stand *stand = &c->stands[c->at[lid]];

	stand->load[used] += dests_weight(c->d, lid);
	level->spare_lane[lid] = stand->slots[used].lane;
	c->place[lid] = place_above(c->place[lid], stand->slots[wanted].parent);
	c->at[lid] = group->peer;
}

static bool settle_at_home(struct climb *c, struct agreed_level *level, uint32_t lid)
{
	unsigned home = c->stands[c->at[lid]].home[lid];
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
	const struct graph_family *family = &c->g->families[c->g->switches[sw].family];
	const struct stand *stand = &c->stands[sw];
	const struct graph_slot *slots = stand->slots;
	unsigned home = stand->home[lid];
	unsigned turn = c->d->order[lid] / family->pitch / family->nslots;
	bool parent_lives = live_parent(c->g, sw, slots[home].parent) != NULL;
	const struct graph_group *best_group = NULL;

	for (unsigned i = 0; i < family->nslots; i++) {
		unsigned slot = (home + 1 + turn + i) % family->nslots;
		uint32_t load = stand->load[slot];
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

static void climb_level(struct climb *c, struct agreed_level *level, unsigned number)
{
	uint32_t *waiting = mem_alloc_unset(c->d->top + 1u, sizeof(*waiting)), n = 0;

	for (uint32_t lid = 1; lid <= c->d->top; lid++) {
		const struct stand *stand = c->at[lid] == TOPO_NONE ? NULL : &c->stands[c->at[lid]];

		if (stand && stand->level == number && stand->home &&
		    !settle_at_home(c, level, lid))
			waiting[n++] = lid;
	}
	for (uint32_t i = 0; i < n; i++)
		settle_elsewhere(c, level, waiting[i]);
	free(waiting);
}

/* From the leaves up: a family stands where any of its members' children says. Above `last` nobody asks. */
static void find_places(const struct graph *g, uint32_t *place, unsigned last)
{
	for (uint32_t i = 0; i < g->nswitches; i++) {
		const struct graph_switch *s = &g->switches[g->by_rank[i]];
		const struct graph_group *up = &g->groups[s->first_group], *end = up + s->nup;
		uint32_t below = place[s->family];

		for (; s->level <= last && up < end; up++)
			place[g->switches[up->peer].family] = place_above(below, up->slot);
	}
}

/* Levels that have to be climbed: up to the highest where something is dead or missing. */
static unsigned find_damage(const struct graph *g)
{
	unsigned nlevels = 0;

	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		if (!g->switches[sw].whole && g->switches[sw].level >= nlevels)
			nlevels = g->switches[sw].level + 1u;
	return nlevels;
}

/* Some switch of the level has lost a lane of several to one parent: then spare lanes are asked for. */
static bool wants_spares(const struct graph *g, unsigned level)
{
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		const struct graph_switch *s = &g->switches[sw];
		const struct graph_group *up = &g->groups[s->first_group], *end = up + s->nup;

		for (; s->level == level && !s->whole && up < end; up++)
			if (up->nlanes > 1 && up->nlive < up->nlanes)
				return true;
	}
	return false;
}

/* The last level is the end of all climbs: of its switches those that are whole have no say. */
static bool stays_here(const struct graph *g, uint32_t sw, unsigned last, bool spares)
{
	const struct graph_switch *s = &g->switches[sw];

	return !g->families[s->family].nslots || (s->level >= last && !spares && s->whole);
}

static void make_stands(struct climb *c, struct digits *digits, unsigned last)
{
	const struct graph *g = c->g;
	bool spares = wants_spares(g, last);
	uint32_t nloads = 0;

	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		nloads += g->families[g->switches[sw].family].nslots;
	c->stands = mem_alloc_unset(g->nswitches + 1, sizeof(*c->stands));
	c->loads = mem_alloc(nloads + 1, sizeof(*c->loads));
	nloads = 0;
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		const struct graph_family *family = &g->families[g->switches[sw].family];
		bool stays = stays_here(g, sw, last, spares);

		c->stands[sw] = (struct stand){
			.home = stays ? NULL : digits_row(digits, family->pitch, family->nslots),
			.slots = &g->slots[family->first_slot],
			.load = c->loads + nloads,
			.level = g->switches[sw].level,
		};
		nloads += family->nslots;
	}
}

static void climb_init(struct climb *c, const struct agreement *a, struct digits *digits,
		       unsigned last)
{
	const struct dests *d = c->d;

	c->at = mem_alloc_unset(d->top + 1u, sizeof(*c->at));
	c->place = mem_alloc_unset(d->top + 1u, sizeof(*c->place));
	memcpy(c->at, d->sw, (d->top + 1u) * sizeof(*c->at));
	for (uint32_t sw = 0; sw < c->g->nswitches; sw++) {
		uint32_t place = a->place[c->g->switches[sw].family];

		for (uint32_t r = d->first_run[sw]; r < d->first_run[sw + 1]; r++)
			for (unsigned i = 0; i < d->runs[r].count; i++)
				c->place[d->runs[r].lid + i] = place;
	}
	make_stands(c, digits, last);
}

static void climb_fini(struct climb *c)
{
	free(c->at);
	free(c->place);
	free(c->stands);
	free(c->loads);
}

static void climb(struct agreement *a, const struct graph *g, const struct dests *d,
		  struct digits *digits, unsigned nlevels)
{
	struct climb c = { .g = g, .d = d };

	find_places(g, a->place, nlevels - 1);
	climb_init(&c, a, digits, nlevels - 1);
	for (unsigned level = 0; level < nlevels; level++)
		climb_level(&c, &a->levels[level], level);
	climb_fini(&c);
}

void agree(struct agreement *a, const struct graph *g, const struct dests *d, struct digits *digits)
{
	unsigned damaged = find_damage(g);

	a->nlevels = 0;
	for (uint32_t f = 0; f < g->nfamilies; f++)
		if (g->families[f].level >= a->nlevels)
			a->nlevels = g->families[f].level + 1u;
	a->levels = mem_alloc(a->nlevels + 1, sizeof(*a->levels));
	for (unsigned level = 0; level < a->nlevels; level++) {
		a->levels[level].spare_lane = mem_alloc_unset(digits->row_bytes, 1);
		memset(a->levels[level].spare_lane, AGREE_NONE, digits->row_bytes);
	}
	a->place = mem_alloc(g->nfamilies + 1, sizeof(*a->place));
	if (damaged)
		climb(a, g, d, digits, damaged);
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
