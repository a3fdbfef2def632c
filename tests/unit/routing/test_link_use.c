/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What tables send by a link, against every path traced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "routing/ftree/route.h"
#include "routing/path.h"
#include "routing/report/congestion.h"
#include "tests/lib/fabrics.h"
#include "tests/sim/view.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"
#include "topology/what/what.h"

struct routed {
	struct topo *t;
	struct lid_map *lids;
	struct tables tables;
	struct link_use_scene scene;
};

static void route(struct routed *r, struct topo *t)
{
	struct route *route = route_new();

	*r = (struct routed){ .t = t, .lids = lid_plan(t, NULL, 0) };
	assert_int_equal(route_compute(route, t, r->lids,
				       &(struct route_params){ .engine = "ftree" }, &r->tables),
			 0);
	r->scene = (struct link_use_scene){ t, r->lids, &r->tables };
	route_free(route);
}

static void routed_fini(struct routed *r)
{
	topo_unref(r->t);
	lid_map_free(r->lids);
	tables_fini(&r->tables);
}

static bool is_host(const struct routed *r, uint32_t port)
{
	return topo_is_host(r->t, r->t->ports[port].node) && r->lids->lid_of_port[port];
}

/* By port: ordered pairs of hosts whose packets leave by it. */
static uint64_t *trace_all(const struct routed *r)
{
	uint64_t *pairs = mem_alloc(r->t->nports, sizeof(*pairs));
	struct path path;

	for (uint32_t from = 0; from < r->t->nports; from++)
		for (uint32_t to = 0; is_host(r, from) && to < r->t->nports; to++) {
			if (to == from || !is_host(r, to) ||
			    path_trace(r->t, r->lids, &r->tables, from, r->lids->lid_of_port[to],
				       &path))
				continue;
			for (unsigned i = 0; i < path.count; i++)
				if (path.hops[i].out_port)
					pairs[topo_port(r->t, path.hops[i].node,
							path.hops[i].out_port) -
					      r->t->ports]++;
		}
	return pairs;
}

static void assert_as_traced(const struct routed *r)
{
	uint64_t *pairs = trace_all(r);

	for (uint32_t p = 0; p < r->t->nports; p++)
		if (r->t->ports[p].peer != TOPO_NONE && !r->t->nodes[r->t->ports[p].node].sharp)
			assert_int_equal(link_use_pairs(&r->scene, p), pairs[p]);
	free(pairs);
}

static void pairs_are_those_whose_paths_cross_the_link(void **state)
{
	struct routed r;

	route(&r, pod(1));
	assert_as_traced(&r);
	routed_fini(&r);
}

static void pairs_follow_detours_of_a_damaged_fabric(void **state)
{
	struct topo *whole = pod(1);
	struct topo_builder *b = topo_builder_from(whole);
	char err[WHAT_ERROR_SIZE];
	struct routed r;
	unsigned port;

	for (unsigned num = 33; num < 64; num++) { /* all but one uplink */
		uint32_t leaf = topo_resolve(whole, "leaf-su01-rail0", &port, err, sizeof(err));

		assert_int_equal(topo_builder_link_down(b, (int)leaf, num), 0);
	}
	route(&r, topo_freeze(b));
	topo_unref(whole);
	assert_as_traced(&r);
	routed_fini(&r);
}

static void lids_by_port_and_by_switch_are_the_tables_own(void **state)
{
	struct routed r;
	uint32_t lids[256], sum, none;

	route(&r, pod(1));
	for (uint32_t sw = 0; sw < r.t->nswitches; sw++) {
		none = link_use_by_port(&r.scene, sw, lids);
		sum = none;
		for (unsigned num = 0; num < 256; num++)
			sum += lids[num];
		assert_int_equal(sum, r.lids->top);
		assert_int_equal(lids[0], 1); /* itself */
		for (unsigned lid = 1; lid <= r.lids->top; lid++)
			lids[tables_row(&r.tables, sw)[lid]]--;
		for (unsigned num = 0; num < 255; num++)
			assert_int_equal(lids[num], 0);
	}
	for (unsigned lid = 1; lid <= r.lids->top; lid++) {
		const struct lid_use use = link_use_of_lid(&r.scene, lid);

		assert_int_equal(use.forward + use.drop, r.t->nswitches);
		assert_true(use.forward > 0);
	}
	routed_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_those_whose_paths_cross_the_link),
		cmocka_unit_test(pairs_follow_detours_of_a_damaged_fabric),
		cmocka_unit_test(lids_by_port_and_by_switch_are_the_tables_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
