/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * route: the routing engine's front: graph, destinations, reach, rows.
 *
 * Reading: Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real
 * life fat trees" (2010); Gliksberg et al., "High-Quality Fault-Resiliency in Fat Trees" (arXiv
 * 2211.13101). What is ours is the choice under damage (choice.h) and that no fabric is given up:
 * levels orient it as a tree, and pairs without a legal path get detours (detour.c); if pairs of
 * hosts are left even so (a ring, a mesh, a torus), it is oriented from a root instead and routed
 * by the same code. "updn" asks for the latter at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "routing/engine.h"
#include "routing/route.h"
#include "topology/mem.h"

struct route {
	struct tables spare; /* the other orientation's tables, when both were tried */
};

struct route *route_new(void)
{
	return mem_alloc(1, sizeof(struct route));
}

void route_free(struct route *route)
{
	if (!route)
		return;
	tables_fini(&route->spare);
	free(route);
}

static uint64_t compute_oriented(const struct topo *t, const struct lid_map *lids,
				 enum graph_orientation orientation, struct tables *out)
{
	struct graph *g = graph_new(t, orientation);
	struct dests d;
	struct reach r;
	struct holes holes;

	dests_init(&d, g, t, lids);
	reach_init(&r, g);
	tables_resize(out, t->nswitches, lids->top);
	rows_fill(g, &d, &r, out, &holes);
	uint64_t open_pairs = detour_fill(g, &d, out, &holes);
	holes_fini(&holes);
	reach_fini(&r);
	dests_fini(&d);
	graph_free(g);
	return open_pairs;
}

int route_compute(struct route *route, const struct topo *t, const struct lid_map *lids,
		  const struct route_params *params, struct tables *out)
{
	const char *engine = params && params->engine ? params->engine : "ftree";
	bool updn = strcmp(engine, "updn") == 0;

	if (!updn && strcmp(engine, "ftree") != 0)
		return -EINVAL;
	uint64_t open_pairs = compute_oriented(t, lids, updn ? GRAPH_BY_ROOT : GRAPH_BY_LEVEL, out);
	if (updn || !open_pairs)
		return 0;
	if (compute_oriented(t, lids, GRAPH_BY_ROOT, &route->spare) < open_pairs) {
		struct tables tree = *out;

		*out = route->spare;
		route->spare = tree;
	}
	return 0;
}
