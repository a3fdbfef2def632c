/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The judge of forwarding tables, held against tables that were corrupted on purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "routing/proof/check.h"
#include "routing/path.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "topology/generate/generate.h"

struct world {
	struct topo *topo;
	struct lid_map *lids;
	struct tables tables;
	struct check_report report;
};

static void world_init(struct world *w, struct topo *t)
{
	struct route *route = route_new();

	*w = (struct world){ .topo = t, .lids = lid_plan(t, NULL, 0) };
	assert_int_equal(route_compute(route, t, w->lids, NULL, &w->tables), 0);
	route_free(route);
	assert_true(check_tables(w->topo, w->lids, &w->tables, &w->report));
}

static void world_fini(struct world *w)
{
	topo_unref(w->topo);
	lid_map_free(w->lids);
	tables_fini(&w->tables);
}

static uint16_t host_lid(const struct world *w, uint32_t host)
{
	const struct topo_node *node = &w->topo->nodes[w->topo->nswitches + host];

	return w->lids->lid_of_port[node->port0 + 1];
}

static uint32_t leaf_of(const struct world *w, uint32_t host)
{
	return topo_peer(w->topo, topo_port(w->topo, w->topo->nswitches + host, 1))->node;
}

static uint32_t some_spine(const struct world *w)
{
	for (uint32_t sw = 0; sw < w->topo->nswitches; sw++)
		if (w->topo->nodes[sw].level == 1)
			return sw;
	fail();
	return 0;
}

/* A port of sw that leads to another switch than `not_to`. */
static uint8_t port_to_switch(const struct world *w, uint32_t sw, uint32_t not_to)
{
	for (unsigned num = 1; num <= w->topo->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(w->topo, topo_port(w->topo, sw, num));

		if (peer && peer->node < w->topo->nswitches && peer->node != not_to)
			return num;
	}
	fail();
	return 0;
}

static void sound_tables_are_counted_exactly(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	assert_int_equal(w.report.reachable, 256 * 255);
	assert_int_equal(w.report.unreachable, 0);
	assert_int_equal(w.report.disconnected, 0);
	assert_int_equal(w.report.max_hops, 3);
	assert_string_equal(w.report.first, "");
	world_fini(&w);
}

static void a_loop_is_found_and_named(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	uint16_t lid = host_lid(&w, 0);
	uint32_t spine = some_spine(&w), other;
	uint8_t port = port_to_switch(&w, spine, leaf_of(&w, 0));
	/*
	 * The spine sends down to a leaf that does not have the host; that leaf sends back up by
	 * the same cable.
	 */
	tables_row(&w.tables, spine)[lid] = port;
	other = topo_peer(w.topo, topo_port(w.topo, spine, port))->node;
	tables_row(&w.tables, other)[lid] = topo_peer(w.topo, topo_port(w.topo, spine, port))->num;
	assert_false(check_tables(w.topo, w.lids, &w.tables, &w.report));
	assert_true(w.report.loops >= 2);
	assert_true(w.report.credit_cycles >= 1);
	assert_true(w.report.unreachable > 0);
	assert_true(strlen(w.report.first) > 0);
	world_fini(&w);
}

static void an_entry_to_an_empty_port_is_refused(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	tables_row(&w.tables, leaf_of(&w, 0))[host_lid(&w, 0)] = 200;
	assert_false(check_tables(w.topo, w.lids, &w.tables, &w.report));
	assert_int_equal(w.report.bad_ports, 1);
	world_fini(&w);
}

static void an_entry_to_somebody_elses_host_is_refused(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	uint32_t leaf = leaf_of(&w, 0);
	uint8_t *row = tables_row(&w.tables, leaf);
	uint16_t lid = host_lid(&w, 0);
	row[lid] = row[lid] == 1 ? 2 : 1;
	assert_false(check_tables(w.topo, w.lids, &w.tables, &w.report));
	assert_int_equal(w.report.bad_ports, 1);
	world_fini(&w);
}

static void a_dead_end_costs_exactly_the_pairs_behind_it(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	/* The host's own leaf drops its packets: nobody reaches it, 255 pairs. */
	tables_row(&w.tables, leaf_of(&w, 0))[host_lid(&w, 0)] = TABLES_NO_ROUTE;
	assert_true(check_tables(w.topo, w.lids, &w.tables, &w.report));
	assert_int_equal(w.report.unreachable, 255);
	assert_int_equal(w.report.reachable, 256 * 255 - 255);
	assert_non_null(strstr(w.report.first, "unreachable"));
	world_fini(&w);
}

static void hosts_without_cables_are_disconnected_not_unreachable(void **state)
{
	struct topo *t = pod(1), *cut;
	struct world w;

	/* All cables of one leaf to the spines: its 32 hosts are an island. */
	cut = topo_ref(t);
	for (unsigned num = 1; num <= t->nodes[0].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, 0, num));
		struct topo *next;

		if (!peer || peer->node >= t->nswitches)
			continue;
		next = damage_cut(cut, 0, num);
		topo_unref(cut);
		cut = next;
	}
	world_init(&w, cut);
	assert_int_equal(w.report.unreachable, 0);
	assert_int_equal(w.report.disconnected, 2 * 32 * 224);
	assert_int_equal(w.report.reachable, 32 * 31 + 224 * 223);
	world_fini(&w);
	topo_unref(t);
}

/*
 * Every switch of a ring sends clockwise: all pairs arrive, and the ring's channels wait for one
 * another.
 */
static void a_credit_cycle_without_any_loop_is_found(void **state)
{
	struct world w;

	world_init(&w, damage_ring(5, 2));
	for (uint32_t sw = 0; sw < 5; sw++)
		for (uint16_t lid = 1; lid <= w.lids->top; lid++) {
			uint32_t dest = w.lids->port_of_lid[lid];
			uint32_t home = w.topo->ports[dest].node;

			if (home >= w.topo->nswitches)
				home = topo_peer(w.topo, &w.topo->ports[dest])->node;
			if (home != sw)
				tables_row(&w.tables, sw)[lid] = 1;
		}
	assert_false(check_tables(w.topo, w.lids, &w.tables, &w.report));
	assert_int_equal(w.report.credit_cycles, 1);
	assert_int_equal(w.report.loops, 0);
	assert_int_equal(w.report.unreachable, 0);
	assert_non_null(strstr(w.report.first, "credit loop"));
	world_fini(&w);
}

static void tables_of_another_fabric_are_refused(void **state)
{
	struct world w;
	struct topo *ring = damage_ring(4, 1);

	world_init(&w, pod(1));
	assert_false(check_tables(ring, w.lids, &w.tables, &w.report));
	topo_unref(ring);
	world_fini(&w);
}

static void a_path_is_what_the_tables_say(void **state)
{
	struct world w;
	struct path path;
	uint32_t from, far = 0;

	world_init(&w, pod(1));
	while (leaf_of(&w, far) == leaf_of(&w, 0))
		far++;
	from = w.topo->nodes[w.topo->nswitches].port0 + 1;
	assert_int_equal(path_trace(w.topo, w.lids, &w.tables, from, host_lid(&w, far), &path), 0);
	assert_int_equal(path.count, 5); /* host, leaf, spine, leaf, host */
	assert_int_equal(path.hops[0].node, w.topo->nswitches);
	assert_int_equal(path.hops[1].node, leaf_of(&w, 0));
	assert_int_equal(w.topo->nodes[path.hops[2].node].level, 1);
	assert_int_equal(path.hops[3].node, leaf_of(&w, far));
	assert_int_equal(path.hops[4].node, w.topo->nswitches + far);
	assert_int_equal(path_trace(w.topo, w.lids, &w.tables, from, w.lids->top + 1, &path), -2);
	tables_row(&w.tables, leaf_of(&w, 0))[host_lid(&w, far)] = TABLES_NO_ROUTE;
	assert_true(path_trace(w.topo, w.lids, &w.tables, from, host_lid(&w, far), &path) < 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_tables_are_counted_exactly),
		cmocka_unit_test(a_loop_is_found_and_named),
		cmocka_unit_test(an_entry_to_an_empty_port_is_refused),
		cmocka_unit_test(an_entry_to_somebody_elses_host_is_refused),
		cmocka_unit_test(a_dead_end_costs_exactly_the_pairs_behind_it),
		cmocka_unit_test(hosts_without_cables_are_disconnected_not_unreachable),
		cmocka_unit_test(a_credit_cycle_without_any_loop_is_found),
		cmocka_unit_test(tables_of_another_fabric_are_refused),
		cmocka_unit_test(a_path_is_what_the_tables_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
