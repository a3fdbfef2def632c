/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A manager without a copy of its master's groups takes over: what becomes of multicast trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_mcast_world.h"
#include "tests/lib/sm_pair.h"

#define MEMBERS 6

static unsigned member(unsigned i)
{
	return 3 + 7 * i;
}

/* b stands by at the last host; a dies once hosts have joined there. */
static void take_over(struct pair *p, struct model *m)
{
	pair_init(p, small_tree(), 0, 0);
	start_fabric(&p->a);
	run_for(&p->a, 2 * SECOND_US);
	pair_start_b(p);
	run_for(&p->a, 2 * SECOND_US);
	for (unsigned i = 0; i < MEMBERS; i++)
		model_join(&p->a, m, member(i), i % 2, WIRE_JOIN_FULL);
	run_for(&p->a, 5 * SECOND_US);
	assert_held(&p->a, m);
	double_freeze(double_io(p->a.hw), true);
	while (!is_master_and_up(&p->b))
		run_for(&p->b, SECOND_US / 10);
	run_for(&p->b, SECOND_US);
}

static void trees_stay_until_the_grace_is_over(void **state)
{
	struct model m = { 0 };
	struct pair p;

	take_over(&p, &m);
	assert_held(&p.b, &m);
	assert_int_equal(count_logged(&p.b, "mcast-kept", "2 multicast LIDs"), 1);
	assert_int_equal(status_number(&p.b, "multicast", "mlids_kept"), 2);
	run_for(&p.b, 25 * SECOND_US);
	assert_held(&p.b, &m);
	assert_true(status_number(&p.b, "multicast", "mlids_kept_s") > 0);
	run_for(&p.b, 10 * SECOND_US);
	assert_true(holds_nothing(&p.b, m.mlid[0]) && holds_nothing(&p.b, m.mlid[1]));
	assert_int_equal(count_logged(&p.b, "mcast-cleared", ""), 1);
	assert_int_equal(status_number(&p.b, "multicast", "mlids_kept"), 0);
	pair_fini(&p);
}

static void who_joins_anew_gets_a_tree_of_his_own_beside_it(void **state)
{
	struct model m = { 0 }, now = { 0 };
	struct pair p;

	take_over(&p, &m);
	for (unsigned i = 0; i < MEMBERS; i++) {
		model_join(&p.b, &now, member(i), i % 2, WIRE_JOIN_FULL);
		assert_held(&p.b, &m);
	}
	run_for(&p.b, SECOND_US);
	assert_int_not_equal(now.mlid[0], m.mlid[0]);
	assert_held(&p.b, &now);
	run_for(&p.b, 35 * SECOND_US);
	assert_held(&p.b, &now);
	assert_true(holds_nothing(&p.b, m.mlid[0]) && holds_nothing(&p.b, m.mlid[1]));
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_stay_until_the_grace_is_over),
		cmocka_unit_test(who_joins_anew_gets_a_tree_of_his_own_beside_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
