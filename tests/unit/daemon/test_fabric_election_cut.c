/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two fmd on one fabric double, and a cut between them: who stays master. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/sm_pair.h"

static void a_standby_whose_cable_was_out_changes_nothing(void **state)
{
	for (unsigned out_s = 1; out_s <= 30; out_s += 29) {
		struct pair p;
		unsigned asked;
		guid_t far;

		pair_init(&p, small_tree(), 5, 0);
		far = sm_host(&p.a, p.a.design->ncas - 1);
		start_fabric(&p.a);
		run_for(&p.a, 2 * SECOND_US);
		pair_start_b(&p);
		run_for(&p.a, 10 * SECOND_US);
		asked = all_reregistered(&p.a);
		double_cut(p.a.hw, far, 1);
		run_for(&p.a, out_s * SECOND_US);
		double_join(p.a.hw, far, 1);
		run_for(&p.a, 60 * SECOND_US);
		assert_well_managed_by(&p.a);
		assert_true(has_role(&p.b, "standby"));
		assert_int_equal(sets_by(p.io_b), 0);
		assert_int_equal(all_reregistered(&p.a),
				 asked + 1); /* the one whose link came back */
		double_freeze(double_io(p.a.hw), true);
		run_for(&p.a, 10 * SECOND_US);
		assert_well_managed_by(&p.b); /* it still does its work */
		pair_fini(&p);
	}
}

static void set_uplinks(struct world *w, uint32_t leaf, bool up)
{
	for (unsigned num = 1; num <= w->design->nodes[leaf].nports; num++) {
		const struct topo_port *peer =
			topo_peer(w->design, topo_port(w->design, leaf, num));

		if (peer && peer->node < w->design->nswitches)
			(up ? double_join : double_cut)(w->hw, w->design->nodes[leaf].guid, num);
	}
}

/*
 * Its leaf is an island, and has to have a master; when that is joined again nothing is written
 * that is not the standby's.
 */
static void a_standby_on_an_island_leaves_the_others_alone(void **state)
{
	struct pair p;
	uint64_t before;
	uint32_t leaf;
	unsigned asked;

	pair_init(&p, small_tree(), 5, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 10 * SECOND_US);
	leaf = far_leaf(&p.a);
	set_uplinks(&p.a, leaf, false);
	run_for(&p.a, 30 * SECOND_US);
	assert_true(has_role(&p.b, "master"));
	before = sets_by(p.io_b);
	asked = all_reregistered(&p.a);
	set_uplinks(&p.a, leaf, true);
	run_for(&p.a, 60 * SECOND_US);
	assert_well_managed_by(&p.a);
	assert_true(has_role(&p.b, "standby"));
	assert_in_range(sets_by(p.io_b), before, before + 1);  /* its own leaf's PortStateChange */
	assert_in_range(all_reregistered(&p.a) - asked, 0, 4); /* the leaf's hosts */
	pair_fini(&p);
}

/* Its directed route dies; the master mends the tables, and the polls by LID arrive. */
static void a_cut_path_to_the_master_is_no_dead_master(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 5 * SECOND_US);
	for (unsigned num = 1; num <= p.a.design->nodes[far_leaf(&p.a)].nports; num++) {
		const struct topo *t = p.a.design;
		const struct topo_port *peer = topo_peer(t, topo_port(t, far_leaf(&p.a), num));

		if (!peer || peer->node >= t->nswitches)
			continue;
		double_cut(p.a.hw, t->nodes[far_leaf(&p.a)].guid, num);
		run_for(&p.a, 10 * SECOND_US);
		double_join(p.a.hw, t->nodes[far_leaf(&p.a)].guid, num);
		run_for(&p.a, 10 * SECOND_US);
	}
	assert_well_managed_by(&p.a);
	assert_true(has_role(&p.b, "standby"));
	assert_int_equal(sets_by(p.io_b), 0);
	assert_int_equal(count_logged(&p.b, "standby", ""), 1);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_standby_whose_cable_was_out_changes_nothing),
		cmocka_unit_test(a_standby_on_an_island_leaves_the_others_alone),
		cmocka_unit_test(a_cut_path_to_the_master_is_no_dead_master),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
