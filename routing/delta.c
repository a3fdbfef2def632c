/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * delta: compares tables, and says which changes had to be (see delta.h).
 *
 * An old entry may stay when its cable lives and its next switch is a minimal legal next hop in the
 * new fabric: on the way down, a child one step nearer; on the way up, a live parent whose cost is
 * one less than the best.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/delta.h"
#include "routing/engine.h"
#include "topology/mem.h"

static uint64_t entries_that_differ(const uint8_t *a, const uint8_t *b)
{
	uint64_t differ = 0;

	if (!memcmp(a, b, TABLES_BLOCK))
		return 0;
	for (unsigned i = 0; i < TABLES_BLOCK; i++)
		differ += a[i] != b[i];
	return differ;
}

/* A block beyond a table's rows is all gaps. */
static const uint8_t *block_of(const struct tables *t, uint32_t sw, uint32_t block,
			       const uint8_t *gaps)
{
	return block * TABLES_BLOCK < t->stride ? tables_row(t, sw) + block * TABLES_BLOCK : gaps;
}

void delta_count(const struct tables *older, const struct tables *newer, struct delta *out)
{
	uint32_t blocks = tables_blocks(older) > tables_blocks(newer) ? tables_blocks(older)
								      : tables_blocks(newer);

	uint8_t gaps[TABLES_BLOCK];

	memset(gaps, TABLES_NO_ROUTE, sizeof(gaps));
	out->entries = out->blocks = out->switches = 0;
	for (uint32_t sw = 0; sw < newer->nswitches; sw++) {
		uint32_t before = out->blocks;

		for (uint32_t block = 0; block < blocks; block++) {
			uint64_t differ = entries_that_differ(block_of(older, sw, block, gaps),
							      block_of(newer, sw, block, gaps));

			out->entries += differ;
			out->blocks += differ > 0;
		}
		out->switches += out->blocks > before;
	}
}

/* ---- The minimum ------------------------------------------------------------------------------- */

struct judge {
	const struct graph *g;
	const struct dests *d;
	const struct reach *r;
	uint8_t *up_cost; /* by D: least cost over the live parents of the switch in question */
	const struct graph_group
		*group_of[256]; /* by port: the group of a live lane, NULL = none */
	bool is_up[256];
};

static void look_at(struct judge *j, uint32_t sw)
{
	const struct graph_switch *s = &j->g->switches[sw];

	memset(j->group_of, 0, sizeof(j->group_of));
	memset(j->up_cost, REACH_NEVER, j->g->nswitches);
	for (unsigned i = 0; i < s->nup + s->ndown; i++) {
		const struct graph_group *group = &j->g->groups[s->first_group + i];

		for (unsigned l = 0; l < group->nlanes; l++) {
			const struct graph_lane *lane = &j->g->lanes[group->first_lane + l];

			j->group_of[lane->port] = lane->live ? group : NULL;
			j->is_up[lane->port] = i < s->nup;
		}
		if (i >= s->nup || !group->nlive)
			continue;
		const uint8_t *cost = reach_cost(j->r, j->g, group->peer);
		for (uint32_t d = 0; d < j->g->nswitches; d++)
			j->up_cost[d] = cost[d] < j->up_cost[d] ? cost[d] : j->up_cost[d];
	}
}

static bool may_stay(const struct judge *j, uint32_t sw, uint16_t lid, uint8_t out)
{
	uint32_t d = j->d->sw[lid];

	if (d == TOPO_NONE)
		return out == TABLES_NO_ROUTE;
	if (d == sw)
		return out == j->d->port[lid];
	const struct reach_entry *below = reach_find(j->r, sw, d);
	const struct graph_group *group = out == TABLES_NO_ROUTE ? NULL : j->group_of[out];
	if (!group)
		return out == TABLES_NO_ROUTE && !below && j->up_cost[d] == REACH_NEVER;
	if (below) {
		const struct reach_entry *child = reach_find(j->r, group->peer, d);

		return !j->is_up[out] && (group->peer == d ? 0u
					  : child	   ? child->dist
							   : REACH_NEVER) +
							 1u ==
						 below->dist;
	}
	uint8_t cost = j->is_up[out] ? reach_cost(j->r, j->g, group->peer)[d] : REACH_NEVER;
	return cost != REACH_NEVER && cost == j->up_cost[d];
}

static bool had_to_change(const struct judge *j, uint32_t sw, uint16_t lid, uint8_t was, uint8_t is)
{
	return was != is && (was == TABLES_NO_ROUTE || !may_stay(j, sw, lid, was));
}

uint64_t delta_minimum(const struct topo *t, const struct lid_map *lids, const struct tables *older,
		       const struct tables *newer)
{
	struct graph *g = graph_new(t, (struct graph_how){ GRAPH_BY_LEVEL, false });
	struct judge j = { .g = g, .up_cost = mem_alloc(g->nswitches + 1, 1) };
	struct tables scratch = { 0 };
	struct holes holes;
	struct dests d;
	struct reach r;
	uint64_t moved = 0;

	dests_init(&d, g, t, lids, NULL);
	reach_init(&r, g);
	tables_resize(&scratch, t->nswitches, lids->top);
	rows_fill(g, &d, &r, &scratch, &holes); /* completes the costs */
	holes_fini(&holes);
	j.d = &d;
	j.r = &r;
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		look_at(&j, sw);
		for (uint32_t lid = 1; lid <= lids->top && lid < older->stride; lid++)
			moved += had_to_change(&j, sw, lid, tables_row(older, sw)[lid],
					       tables_row(newer, sw)[lid]);
	}
	tables_fini(&scratch);
	reach_fini(&r);
	dests_fini(&d);
	graph_free(g);
	free(j.up_cost);
	return moved;
}
