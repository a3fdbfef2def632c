/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rebalance_world: a fabric's tables before and after re-balancing, for the tests of it. */
#ifndef FMD_TESTS_REBALANCE_WORLD_H
#define FMD_TESTS_REBALANCE_WORLD_H

#include <stdlib.h>
#include <string.h>
#include "routing/proof/check.h"
#include "routing/report/congestion.h"
#include "routing/report/delta.h"
#include "routing/balance/rebalance.h"
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "topology/generate.h"
#include "topology/mem.h"

static const struct rebalance_limits usual = { REBALANCE_ENTRIES, REBALANCE_GAIN };

/* A fabric's tables before and after. */
struct both {
	const struct topo *t;
	struct lid_map *lids;
	struct route_params params;
	struct rebalance *job;
	const struct rebalance_result *result;
	struct tables stable, moved;
};

static inline void compute(const struct topo *t, const struct lid_map *lids,
			   const struct route_params *params, struct tables *out)
{
	struct route *route = route_new();

	assert_int_equal(route_compute(route, t, lids, params, out), 0);
	route_free(route);
}

static inline void take_result(struct both *b)
{
	b->result = rebalance_result(b->job);
	b->params.overrides = b->result->overrides;
	b->params.noverrides = b->result->count;
	compute(b->t, b->lids, &b->params, &b->moved);
}

/* t: borrowed; lids: taken, NULL = planned. */
static inline struct both balance(const struct topo *t, struct lid_map *lids,
				  const struct route_params *params,
				  const struct rebalance_limits *limits)
{
	struct both b = { .t = t, .lids = lids ? lids : lid_plan(t, NULL) };

	if (params)
		b.params = *params;
	compute(t, b.lids, &b.params, &b.stable);
	b.job = rebalance_new(t, b.lids, &b.params, limits);
	rebalance_finish(b.job);
	take_result(&b);
	return b;
}

static inline void drop(struct both *b)
{
	rebalance_free(b->job);
	lid_map_free(b->lids);
	tables_fini(&b->stable);
	tables_fini(&b->moved);
}

static inline bool same(const struct tables *a, const struct tables *b)
{
	return a->nswitches == b->nswitches && a->stride == b->stride &&
	       !memcmp(a->lft, b->lft, (size_t)a->nswitches * a->stride);
}

static inline struct topo *damaged_pod(unsigned su, unsigned percent, uint64_t seed)
{
	struct topo *whole = pod(su), *t = damage_links(whole, percent, seed);

	topo_unref(whole);
	return t;
}

/*
 * Proven; and what moved are the overrides, on minimal up/down paths, and detours (which are not,
 * and follow them).
 */
static inline bool is_legal(const struct both *b)
{
	struct check_report report;
	struct delta delta;

	delta_count(&b->stable, &b->moved, &delta);
	return check_tables(b->t, b->lids, &b->moved, &report) && !report.unreachable &&
	       delta.entries - delta_minimum(b->t, b->lids, "ftree", &b->moved, &b->stable) ==
		       b->result->count;
}
static inline void measure(const struct both *b, const struct tables *tables,
			   struct congestion *out)
{
	const struct congestion_scene scene = { .t = b->t, .lids = b->lids, .tables = tables };

	congestion_study(&scene, out, NULL);
}

#endif
