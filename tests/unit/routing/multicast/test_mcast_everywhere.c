/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Multicast trees on damaged, odd and large fabrics: each one is judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/mcast_crowd.h"
#include "topology/files/netfile.h"

#define RANDOM_FABRICS 2000

static void random_damaged_trees_are_right(void **state)
{
	for (uint64_t seed = 1; seed <= RANDOM_FABRICS; seed++) {
		struct topo *whole = damage_random_pgft(seed);
		struct topo *t = damage_links(whole, seed % 40, seed);
		struct topo *worse = damage_links(t, seed % 10, seed + 1);
		struct crowd c = random_groups(t, 6, 2 + seed % 20, seed);
		struct mcast_plan before, after, anew;

		mcast_plan(t, c.groups, c.n, NULL, &before);
		assert_plan_right(t, &c, &before);
		mcast_plan(worse, c.groups, c.n, &before, &after);
		assert_plan_right(worse, &c, &after);
		mcast_plan(worse, c.groups, c.n, NULL, &anew);
		assert_plan_right(worse, &c, &anew);
		mcast_plan_fini(&before);
		mcast_plan_fini(&after);
		mcast_plan_fini(&anew);
		crowd_fini(&c);
		topo_unref(worse);
		topo_unref(t);
		topo_unref(whole);
	}
}

static void rings_are_spanned(void **state)
{
	for (unsigned n = 3; n < 12; n++) {
		struct topo *t = damage_ring(n, 3);
		struct crowd c = random_groups(t, 10, n, n);
		struct mcast_plan plan;

		mcast_plan(t, c.groups, c.n, NULL, &plan);
		assert_plan_right(t, &c, &plan);
		mcast_plan_fini(&plan);
		crowd_fini(&c);
		topo_unref(t);
	}
}

static void irregular_fabrics_are_spanned(void **state)
{
	for (size_t i = 0; i < IRREGULARS; i++) {
		struct topo *t = irregular_fabric(i);
		struct mcast_plan plan;

		if (!t)
			continue;
		struct crowd c = random_groups(t, 50, 40, i + 1);
		mcast_plan(t, c.groups, c.n, NULL, &plan);
		assert_plan_right(t, &c, &plan);
		for (uint32_t k = 0; k < plan.ntrees; k++)
			assert_int_equal(plan.trees[k].left_out, 0);
		mcast_plan_fini(&plan);
		crowd_fini(&c);
		topo_unref(t);
	}
}

static void a_thousand_groups_of_a_large_pod_are_right(void **state)
{
	struct topo *whole = pod(16), *t = damage_links(whole, 1, 1);
	struct crowd c = random_groups(t, 1000, 64, 1);
	struct mcast_plan plan;

	mcast_plan(t, c.groups, c.n, NULL, &plan);
	assert_plan_right(t, &c, &plan);
	mcast_plan_fini(&plan);
	crowd_fini(&c);
	topo_unref(t);
	topo_unref(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_damaged_trees_are_right),
		cmocka_unit_test(rings_are_spanned),
		cmocka_unit_test(irregular_fabrics_are_spanned),
		cmocka_unit_test(a_thousand_groups_of_a_large_pod_are_right),
	};

	return cmocka_run_group_tests_name("mcast_everywhere", tests, NULL, NULL);
}
