/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain, sanitized in check-long. Hundreds of fabrics are routed and proven. */
/*
 * Detours where cables were never there: levels are not those of the tree that was meant, so that
 * two parents of a switch may have a switch above them in common. No credit cycle comes of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/proof/check.h"
#include "routing/ftree/route.h"
#include "routing/report/report.h"
#include "tests/fabric/damage.h"
#include "topology/base/mem.h"
#include "topology/generate/generate.h"
#include "topology/snapshot/topo_builder.h"

static void assert_proven(uint64_t seed)
{
	struct topo *even = damage_random_pgft(seed), *t = damage_remove(even, 2 + seed % 20, seed);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables tables = { 0 };
	struct check_report report;

	assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
	if (!check_tables(t, lids, &tables, &report))
		fail_msg("seed %llu: %s", (unsigned long long)seed, report.first);
	route_free(route);
	tables_fini(&tables);
	lid_map_free(lids);
	topo_unref(t);
	topo_unref(even);
}

static void detours_close_no_cycle_whatever_the_levels(void **state)
{
	static const uint64_t known[] = { 7, 114, 572, 952, 1323 };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_proven(known[i]);
	for (uint64_t seed = 1; seed <= 200; seed++)
		assert_proven(seed);
}

static int by_size(const void *a, const void *b)
{
	return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : 1;
}

/* Entries that lead nowhere. */
static uint64_t count_open(const struct topo *t, const struct lid_map *lids,
			   const struct tables *tables)
{
	uint64_t open = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= tables->top; lid++)
			open += lids->port_of_lid[lid] != TOPO_NONE &&
				tables_row(tables, sw)[lid] == TABLES_NO_ROUTE;
	return open;
}

/* SUS scalable units with aggregation nodes; all cables, each `step`th proven. */
static void cut_each(unsigned sus, unsigned step)
{
	char err[256];
	struct topo *t = generate_superpod(GENERATE_H100, sus, true, err, sizeof(err));
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables whole = { 0 }, tables = { 0 };
	uint64_t *entries = mem_alloc(t->nports, sizeof(*entries)), open = 0;
	unsigned n = 0;

	assert_int_equal(route_compute(route, t, lids, NULL, &whole), 0);
	assert_int_equal(count_open(t, lids, &whole), 0);
	for (uint32_t p = 0; p < t->nswitch_ports; p++) {
		struct check_report report;
		struct delta delta;

		if (t->ports[p].peer >= t->nswitch_ports || t->ports[p].peer < p)
			continue;
		struct topo *cut = topo_alike(t);

		topo_alike_cut(cut, p);
		assert_int_equal(route_compute(route, cut, lids, NULL, &tables), 0);
		delta_count(&whole, &tables, &delta);
		open += count_open(t, lids, &tables);
		entries[n++] = delta.entries;
		if (n % step == 0)
			assert_true(check_tables(cut, lids, &tables, &report));
		topo_unref(cut);
	}
	qsort(entries, n, sizeof(*entries), by_size);
	print_message("%u units, %u cables: %lu entries in the middle, %lu at most, %lu open\n",
		      sus, n, entries[n / 2], entries[n - 1], open);
	assert_int_equal(open, 0);
	free(entries);
	tables_fini(&whole);
	tables_fini(&tables);
	route_free(route);
	lid_map_free(lids);
	topo_unref(t);
}

/* Up to half of the cables of four leaves at which detours turn, and up to 3 % of the others. */
static void damage_of_any_kind_closes_no_cycle_of_detours(void **state)
{
	char err[256];

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct topo *t =
			generate_superpod(GENERATE_H100, seed % 2 ? 2 : 8, true, err, sizeof(err));
		struct topo *cut = damage_links(t, seed % 4, seed);
		struct lid_map *lids = lid_plan(cut, NULL, 0);
		struct route *route = route_new();
		struct tables tables = { 0 };
		struct check_report report;
		uint64_t dice = seed;

		for (uint32_t p = 0; p < cut->nswitch_ports && cut->ports[p].node < 16; p++)
			if (cut->ports[p].peer < cut->nswitch_ports &&
			    damage_random(&dice) % 16 < seed % 9)
				topo_alike_cut(cut, p);
		assert_int_equal(route_compute(route, cut, lids, NULL, &tables), 0);
		if (!check_tables(cut, lids, &tables, &report))
			fail_msg("seed %lu: %s", seed, report.first);
		tables_fini(&tables);
		route_free(route);
		lid_map_free(lids);
		topo_unref(cut);
		topo_unref(t);
	}
}

static void no_cable_of_a_pod_takes_a_pair_with_it(void **state)
{
	cut_each(2, 16);
	cut_each(8, 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(detours_close_no_cycle_whatever_the_levels),
		cmocka_unit_test(damage_of_any_kind_closes_no_cycle_of_detours),
		cmocka_unit_test(no_cable_of_a_pod_takes_a_pair_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
