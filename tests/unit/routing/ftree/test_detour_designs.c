/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
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
#include "tests/fabric/damage.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(detours_close_no_cycle_whatever_the_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
