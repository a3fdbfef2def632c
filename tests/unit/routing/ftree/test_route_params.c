/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What operators ask of routing: classes of ports, several LIDs a port, cordons. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "routing/proof/check.h"
#include "routing/report/report.h"
#include "routing/path.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

#define RANDOM_FABRICS 1500

static void compute(const struct topo *t, const struct lid_map *lids, const uint8_t *classes,
		    struct tables *out)
{
	struct route *route = route_new();
	struct route_params params = { .classes = classes };

	assert_int_equal(route_compute(route, t, lids, &params, out), 0);
	route_free(route);
}

static void assert_sound(const struct topo *t, const struct lid_map *lids,
			 const struct tables *tables)
{
	struct check_report report;
	bool sound = check_tables(t, lids, tables, &report);

	if (!sound || report.unreachable)
		print_error("%s\n", report.first);
	assert_true(sound);
	assert_int_equal(report.unreachable, 0);
}

static uint32_t host_port(const struct topo *t, uint32_t host, unsigned ca)
{
	return t->nodes[t->host_cas[t->hosts[host].first + ca]].port0 + 1;
}

/* The second switch on the way from a port to a LID: the spine, for leaves of different places. */
static uint32_t second_switch(const struct topo *t, const struct lid_map *lids,
			      const struct tables *tables, uint32_t from, uint16_t lid)
{
	struct path path;

	assert_int_equal(path_trace(t, lids, tables, from, lid, &path), 0);
	return path.hops[2].node;
}

/* ---- Classes --------------------------------------------------------------------------------- */

/*
 * Storage hosts at the same place of every leaf would all sit behind one spine; as a class they do
 * not.
 */
static void storage_is_dealt_evenly_over_the_spines(void **state)
{
	struct topo *t = pod(4);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables tables = { 0 };
	uint8_t *classes = mem_alloc(t->nports, 1);
	unsigned *behind = mem_alloc(t->nswitches, sizeof(*behind)), most = 0;
	uint32_t from = host_port(t, t->nhosts - 1, 7);

	for (uint32_t h = 0; h < t->nhosts; h += 32)
		for (unsigned ca = 0; ca < 8; ca++)
			classes[host_port(t, h, ca)] = ROUTE_STORAGE;
	compute(t, lids, classes, &tables);
	assert_sound(t, lids, &tables);
	for (uint32_t h = 0; h < t->nhosts; h += 32)
		for (unsigned ca = 0; ca < 7; ca++) {
			uint16_t lid = lids->lid_of_port[host_port(t, h, ca)];
			unsigned *count = &behind[second_switch(t, lids, &tables, from, lid)];

			most = ++*count > most ? *count : most;
		}
	assert_true(most <= 2); /* 28 storage ports, 16 spines */
	free(classes);
	free(behind);
	tables_fini(&tables);
	lid_map_free(lids);
	topo_unref(t);
}

/* ---- LMC ------------------------------------------------------------------------------------- */

static void lids_of_one_port_take_different_spines(void **state)
{
	struct topo *t = pod(4);
	struct lid_map *lids = lid_plan(t, NULL, 2);
	struct tables tables = { 0 };
	uint16_t base = lids->lid_of_port[host_port(t, 0, 0)];
	uint32_t from = host_port(t, t->nhosts - 1, 1), spines[4];

	compute(t, lids, NULL, &tables);
	assert_sound(t, lids, &tables);
	assert_int_equal(base % 4, 0);
	for (unsigned i = 0; i < 4; i++) {
		spines[i] = second_switch(t, lids, &tables, from, base + i);
		for (unsigned other = 0; other < i; other++)
			assert_int_not_equal(spines[i], spines[other]);
	}
	tables_fini(&tables);
	lid_map_free(lids);
	topo_unref(t);
}

static void another_lmc_is_planned_anew_and_the_same_is_kept(void **state)
{
	struct topo *t = pod(1);
	struct lid_map *first = lid_plan(t, NULL, 1), *again, *other;
	struct lid_memory memory = { 0 };

	lid_memory_learn(&memory, t, first, 0);
	again = lid_plan(t, &memory, 1);
	assert_memory_equal(first->lid_of_port, again->lid_of_port, t->nports * sizeof(uint16_t));
	other = lid_plan(t, &memory, 3);
	assert_int_equal(other->without_lid, 0);
	for (uint32_t h = 0; h < t->nhosts; h++)
		assert_int_equal(other->lid_of_port[host_port(t, h, 0)] % 8, 0);
	lid_map_free(first);
	lid_map_free(again);
	lid_map_free(other);
	lid_memory_fini(&memory);
	topo_unref(t);
}

/* ---- Cordons --------------------------------------------------------------------------------- */

static struct topo *cordon(const struct topo *t, uint32_t node)
{
	struct topo_builder *b = topo_builder_from(t);

	for (unsigned num = 1; num <= t->nodes[node].nports; num++) {
		const struct topo_port *p = topo_port(t, node, num);
		struct topo_port attr = { .guid = p->guid, .state = p->state, .cordoned = true };

		if (p->peer != TOPO_NONE && t->ports[p->peer].node < t->nswitches)
			assert_int_equal(topo_builder_port(b, node, num, &attr), 0);
	}
	return topo_freeze(b);
}

static uint32_t first_of_level(const struct topo *t, unsigned level)
{
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (t->nodes[sw].level == level)
			return sw;
	fail();
	return 0;
}

/* Whether any packet for a CA passes the switch, on its way to another one. */
static bool carries_transit(const struct topo *t, const struct lid_map *lids,
			    const struct tables *tables, uint32_t sw)
{
	for (uint32_t other = 0; other < t->nswitches; other++)
		for (uint32_t lid = 1; other != sw && lid <= lids->top; lid++) {
			unsigned out = tables_row(tables, other)[lid];
			uint32_t port = lids->port_of_lid[lid];

			if (out == TABLES_NO_ROUTE || port == TOPO_NONE ||
			    t->ports[port].node < t->nswitches ||
			    topo_peer(t, &t->ports[port])->node == sw)
				continue;
			const struct topo_port *peer = topo_peer(t, topo_port(t, other, out));
			if (peer && peer->node == sw)
				return true;
		}
	return false;
}

static void a_cordoned_spine_carries_nothing_and_is_reached_still(void **state)
{
	struct topo *t = pod(4);
	uint32_t spine = first_of_level(t, 1);
	struct topo *drained = cordon(t, spine);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables tables = { 0 };
	struct path path;

	compute(t, lids, NULL, &tables);
	assert_true(carries_transit(t, lids, &tables, spine));
	compute(drained, lids, NULL, &tables);
	assert_sound(drained, lids, &tables);
	assert_false(carries_transit(drained, lids, &tables, spine));
	assert_int_equal(path_trace(drained, lids, &tables, host_port(t, 0, 0),
				    lids->lid_of_port[t->nodes[spine].port0], &path),
			 0);
	tables_fini(&tables);
	lid_map_free(lids);
	topo_unref(drained);
	topo_unref(t);
}

static void a_cordoned_leaf_keeps_its_hosts(void **state)
{
	struct topo *t = pod(1), *drained = cordon(t, first_of_level(t, 0));
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables tables = { 0 };

	compute(drained, lids, NULL, &tables);
	assert_sound(drained, lids, &tables);
	tables_fini(&tables);
	lid_map_free(lids);
	topo_unref(drained);
	topo_unref(t);
}

/* All its cables known, and down. */
static struct topo *dead(const struct topo *t, uint32_t node)
{
	struct topo_builder *b = topo_builder_from(t);

	for (unsigned num = 1; num <= t->nodes[node].nports; num++)
		if (topo_port(t, node, num)->peer != TOPO_NONE)
			assert_int_equal(topo_builder_link_down(b, node, num), 0);
	return topo_freeze(b);
}

/* No table leads to its hosts, and none from it: cordons that are lifted would help nobody. */
static void a_dead_leaf_lifts_no_cordon(void **state)
{
	struct topo *t = pod(1), *damaged = dead(t, first_of_level(t, 0));
	uint32_t spine = first_of_level(t, 1);
	struct topo *drained = cordon(damaged, spine);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables tables = { 0 };

	compute(damaged, lids, NULL, &tables);
	assert_true(carries_transit(damaged, lids, &tables, spine));
	compute(drained, lids, NULL, &tables);
	assert_sound(drained, lids, &tables);
	assert_false(carries_transit(drained, lids, &tables, spine));
	tables_fini(&tables);
	lid_map_free(lids);
	topo_unref(drained);
	topo_unref(damaged);
	topo_unref(t);
}

/* .. of whatever size, at once and again. */
static void room_that_was_made_before_shows_in_no_table(void **state)
{
	const struct route_params params = { 0 };
	struct tables plain = { 0 }, roomy = { 0 };
	struct route *route = route_new();

	for (unsigned i = 0; i < 4; i++) {
		struct topo *t = pod(i % 2 ? 16 : 2), *drained = cordon(t, first_of_level(t, 1));
		struct lid_map *lids = lid_plan(t, NULL, 2);
		unsigned calls = 1;

		while (route_reserve(route, t->nswitches, lids->top))
			calls++;
		assert_int_equal(calls > 1,
				 i == 1); /* some 2 MB; and there is enough from then on */
		assert_int_equal(route_compute(route, drained, lids, &params, &roomy), 0);
		compute(drained, lids, NULL, &plain);
		assert_memory_equal(plain.lft, roomy.lft, (size_t)plain.nswitches * plain.stride);
		lid_map_free(lids);
		topo_unref(drained);
		topo_unref(t);
	}
	route_free(route);
	tables_fini(&plain);
	tables_fini(&roomy);
}

static void cordons_lmc_and_damage_together_stay_proven(void **state)
{
	for (uint64_t seed = 1; seed <= RANDOM_FABRICS; seed++) {
		struct topo *intact = damage_random_pgft(seed);
		struct topo *damaged = damage_links(intact, seed % 25, seed);
		struct topo *drained = cordon(damaged, seed * 7 % damaged->nswitches);
		struct lid_map *lids = lid_plan(drained, NULL, seed % 3);
		struct tables tables = { 0 };

		compute(drained, lids, NULL, &tables);
		assert_sound(drained, lids, &tables);
		tables_fini(&tables);
		lid_map_free(lids);
		topo_unref(drained);
		topo_unref(damaged);
		topo_unref(intact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(storage_is_dealt_evenly_over_the_spines),
		cmocka_unit_test(lids_of_one_port_take_different_spines),
		cmocka_unit_test(another_lmc_is_planned_anew_and_the_same_is_kept),
		cmocka_unit_test(a_cordoned_spine_carries_nothing_and_is_reached_still),
		cmocka_unit_test(a_cordoned_leaf_keeps_its_hosts),
		cmocka_unit_test(a_dead_leaf_lifts_no_cordon),
		cmocka_unit_test(room_that_was_made_before_shows_in_no_table),
		cmocka_unit_test(cordons_lmc_and_damage_together_stay_proven),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
