/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "tests/lib/rebalance_world.h"

void compute_tables(const struct topo *t, const struct lid_map *lids,
		    const struct route_params *params, struct tables *out)
{
	struct route *route = route_new();

	assert_int_equal(route_compute(route, t, lids, params, out), 0);
	route_free(route);
}

void take_result(struct both *b)
{
	b->result = rebalance_result(b->job);
	b->params.overrides = b->result->overrides;
	b->params.noverrides = b->result->count;
	compute_tables(b->t, b->lids, &b->params, &b->moved);
}

struct both balance_both(const struct topo *t, struct lid_map *lids,
			 const struct route_params *params, const struct rebalance_limits *limits)
{
	struct both b = { .t = t, .lids = lids ? lids : lid_plan(t, NULL, 0) };

	if (params)
		b.params = *params;
	compute_tables(t, b.lids, &b.params, &b.stable);
	b.job = rebalance_new(t, b.lids, &b.params, limits);
	rebalance_finish(b.job);
	take_result(&b);
	return b;
}

void both_free(struct both *b)
{
	rebalance_free(b->job);
	lid_map_free(b->lids);
	tables_fini(&b->stable);
	tables_fini(&b->moved);
}

bool same_tables(const struct tables *a, const struct tables *b)
{
	return a->nswitches == b->nswitches && a->stride == b->stride &&
	       !memcmp(a->lft, b->lft, (size_t)a->nswitches * a->stride);
}

struct topo *damaged_pod(unsigned su, unsigned percent, uint64_t seed)
{
	struct topo *whole = pod(su), *t = damage_links(whole, percent, seed);

	topo_unref(whole);
	return t;
}

bool overrides_are_legal(const struct both *b)
{
	struct check_report report;
	struct delta delta;

	delta_count(&b->stable, &b->moved, &delta);
	return check_tables(b->t, b->lids, &b->moved, &report) && !report.unreachable &&
	       delta.entries - delta_minimum(b->t, b->lids, "ftree", &b->moved, &b->stable) ==
		       b->result->count;
}

void measure_congestion(const struct both *b, const struct tables *tables, struct congestion *out)
{
	const struct congestion_scene scene = { .t = b->t, .lids = b->lids, .tables = tables };

	congestion_study(&scene, out, NULL);
}
