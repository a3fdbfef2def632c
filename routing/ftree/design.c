/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * design: see design.h. Who is above D is found by a walk upwards from it, nearest first; the rest,
 * from the highest rank down, goes by its parents.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/ftree/design.h"
#include "topology/mem.h"

void design_init(struct design *design, const struct graph *g)
{
	*design = (struct design){ .g = g };
}

void design_fini(struct design *design)
{
	for (uint32_t d = 0; design->rows && d < design->g->nswitches; d++)
		free(design->rows[d]);
	free(design->rows);
	free(design->queue);
}

static void find_down(struct design *design, uint32_t d, uint8_t *down)
{
	const struct graph *g = design->g;
	uint32_t head = 0, tail = 0;

	memset(down, REACH_NEVER, g->nswitches);
	down[d] = 0;
	design->queue[tail++] = d;
	while (head < tail) {
		uint32_t sw = design->queue[head++];
		const struct graph_group *up = graph_ups(g, sw), *end = up + g->switches[sw].nup;

		for (; up < end && down[sw] < REACH_NEVER - 1; up++) {
			if (down[up->peer] != REACH_NEVER)
				continue;
			down[up->peer] = down[sw] + 1;
			design->queue[tail++] = up->peer;
		}
	}
}

static uint8_t cost_by_parents(const struct graph *g, uint32_t sw, const uint8_t *cost)
{
	const struct graph_group *up = graph_ups(g, sw), *end = up + g->switches[sw].nup;
	uint8_t best = REACH_NEVER - 1;

	for (; up < end; up++)
		if (cost[up->peer] < best)
			best = cost[up->peer];
	return best + 1;
}

static void find_costs(const struct graph *g, const uint8_t *down, uint8_t *cost)
{
	for (uint32_t i = g->nswitches; i-- > 0;) {
		uint32_t sw = g->by_rank[i];

		cost[sw] = down[sw] == REACH_NEVER ? cost_by_parents(g, sw, cost) : down[sw];
	}
}

struct design_row design_of(struct design *design, uint32_t d)
{
	uint32_t n = design->g->nswitches;

	if (!design->rows) {
		design->rows = mem_alloc(n + 1, sizeof(*design->rows));
		design->queue = mem_alloc_unset(n + 1, sizeof(*design->queue));
	}
	bool made = !design->rows[d];

	if (made) {
		design->rows[d] = mem_alloc_unset(2, n);
		find_down(design, d, design->rows[d]);
		find_costs(design->g, design->rows[d], design->rows[d] + n);
	}
	return (struct design_row){ design->rows[d], design->rows[d] + n, made };
}
