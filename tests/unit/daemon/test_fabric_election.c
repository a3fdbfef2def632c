/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two fmd on one fabric double: who is master, who changes what, and what becomes of LIDs and
 * tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include "fm/sm/module.h"
#include "tests/fabric/double_judge.h"
#include "tests/lib/sm_pair.h"

static void the_second_manager_stands_by_and_changes_nothing(void **state)
{
	struct pair p;
	struct answer reply = { 0 };

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 30 * SECOND_US);
	assert_well_managed_by(&p.a);
	assert_true(has_role(&p.b, "standby"));
	assert_int_equal(sets_by(p.io_b), 0);
	assert_int_equal(
		count_logged(&p.b, "standby", p.a.design->nodes[p.a.design->nswitches].desc), 1);
	fabric_reroute(p.b.fabric, operation_cb, &reply); /* control asks sm_refuses() first */
	assert_non_null(strstr(sm_refuses(p.b.fabric), "is standby"));
	assert_null(sm_refuses(p.a.fabric));
	pair_fini(&p);
	assert_int_equal(reply.count, 0);
}

/* While it asks who is master it may become that, so it takes operators' requests. */
static void who_asked_one_that_came_to_stand_by_is_answered(void **state)
{
	struct pair p;
	struct answer sweep = { 0 };

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	assert_null(sm_refuses(p.b.fabric));
	fabric_sweep(p.b.fabric, operation_cb, &sweep);
	run_for(&p.a, 30 * SECOND_US);
	assert_true(has_role(&p.b, "standby"));
	assert_int_equal(sweep.count, 1);
	assert_true(sweep.failed);
	pair_fini(&p);
}

static void a_change_is_the_masters_alone(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 2 * SECOND_US);
	double_cut(p.a.hw, p.a.design->nodes[far_leaf(&p.a)].guid,
		   uplink_of(p.a.design, far_leaf(&p.a)));
	run_for(&p.a, 20 * SECOND_US);
	assert_well_managed_by(&p.a);
	assert_true(has_role(&p.b, "standby"));
	assert_int_equal(sets_by(p.io_b), 0);
	pair_fini(&p);
}

/* PortStateChange is the master's to clear: it is how it hears of what no trap told. */
static void a_standbys_sweep_does_not_clear_port_state_change(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	double_set_traps(p.a.hw, false);
	double_cut(p.a.hw, p.a.design->nodes[far_leaf(&p.a)].guid,
		   uplink_of(p.a.design, far_leaf(&p.a)));
	pair_start_b(&p);
	run_for(&p.a, SECOND_US);
	assert_true(has_role(&p.b, "standby"));
	assert_int_equal(sets_by(p.io_b), 0);
	assert_int_equal(status_number(&p.a, NULL, "links_down"), 0);
	run_for(&p.a, 12 * SECOND_US);
	assert_int_equal(status_number(&p.a, NULL, "links_down"), 1);
	assert_well_managed_by(&p.a);
	pair_fini(&p);
}

static void a_silent_master_is_followed_and_nothing_moves(void **state)
{
	struct pair p;
	uint16_t *lids;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 5 * SECOND_US);
	lids = lids_held(&p.a);
	double_freeze(double_io(p.a.hw), true);
	run_for(&p.a, SECOND_US);
	assert_true(has_role(&p.b, "standby"));
	run_for(&p.a, 5 * SECOND_US);
	assert_well_managed_by(&p.b);
	assert_lids_are(&p.b, lids);
	assert_int_equal(double_sent_by(p.io_b, WIRE_SET, WIRE_LFT), 0);
	assert_int_equal(count_logged(&p.b, "take-over", ", 0 LFT blocks written"), 1);
	assert_true(status_number(&p.b, "election", "take_over_ms") > 1000);
	assert_true(status_number(&p.b, "election", "take_over_ms") < 2000);
	pair_fini(&p);
}

/* Whenever within the time between two polls; a silence of a second is none. */
static void a_standby_detects_a_death_within_2_s_and_no_silence_of_one(void **state)
{
	for (unsigned phase = 0; phase < 10; phase++) {
		struct pair p;

		pair_init(&p, small_tree(), 0, 0);
		start_fabric(&p.a);
		run_for(&p.a, 2 * SECOND_US);
		pair_start_b(&p);
		run_for(&p.a, 5 * SECOND_US + phase * 60000);
		double_freeze(double_io(p.a.hw), true);
		run_for(&p.a, SECOND_US);
		assert_true(has_role(&p.b, "standby"));
		double_freeze(double_io(p.a.hw), false);
		run_for(&p.a, 5 * SECOND_US);
		assert_true(has_role(&p.b, "standby"));
		assert_well_managed_by(&p.a);
		double_freeze(double_io(p.a.hw), true);
		run_for(&p.a, 2 * SECOND_US);
		assert_false(has_role(&p.b, "standby"));
		run_for(&p.a, SECOND_US);
		assert_well_managed_by(&p.b);
		pair_fini(&p);
	}
}

static uint64_t judged_dead(const struct world *w)
{
	struct verdict verdict;

	double_judge(w->hw, 0, NULL, false, &verdict);
	return verdict.pairs - verdict.alive;
}

static guid_t leaf_of_host(const struct topo *t, uint32_t host)
{
	return t->nodes[topo_peer(t, topo_port(t, t->nswitches + host, 1))->node].guid;
}

/* It knows the fabric, and its own leaf forwards SMPs but answers none; nor does another one. */
static void a_standby_whose_leaf_hangs_takes_nobody_a_path(void **state)
{
	struct pair p;
	const struct topo *t;
	guid_t leaf, other;

	pair_init(&p, small_tree(), 0, 0);
	t = p.a.design;
	leaf = leaf_of_host(t, t->ncas - 1);
	other = leaf_of_host(t, t->ncas / 2);
	assert_true(leaf != other);
	pair_start_b(&p);
	run_for(&p.a, 5 * SECOND_US);
	pair_stop(&p.b);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 5 * SECOND_US);
	assert_true(has_role(&p.b, "standby"));
	double_set_silent(p.a.hw, leaf, true);
	double_set_silent(p.a.hw, other, true);
	double_freeze(double_io(p.a.hw), true);
	for (unsigned i = 0; i < 200; i++) {
		run_for(&p.a, SECOND_US / 20);
		assert_int_equal(judged_dead(&p.a), 0);
	}
	double_set_silent(p.a.hw, leaf, false);
	double_set_silent(p.a.hw, other, false);
	run_for(&p.a, 15 * SECOND_US);
	assert_well_managed_by(&p.b);
	pair_fini(&p);
}

/*
 * The master has gone with a cable that it had no time to answer, and b's memory says otherwise of
 * a LID.
 */
static void what_differs_is_written_and_ports_keep_what_they_hold(void **state)
{
	struct pair p;
	char line[64];
	uint16_t *lids;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	lids = lids_held(&p.a);
	snprintf(line, sizeof(line), "0x%016llx %u 0\n", (unsigned long long)sm_host(&p.a, 7),
		 lids[p.a.design->nswitches + 9]);
	rows_replace(p.b.state_dir, "lids", line);
	pair_start_b(&p);
	run_for(&p.a, 5 * SECOND_US);
	double_freeze(double_io(p.a.hw), true);
	double_cut(p.a.hw, p.a.design->nodes[far_leaf(&p.a)].guid,
		   uplink_of(p.a.design, far_leaf(&p.a)));
	run_for(&p.a, 7 * SECOND_US);
	assert_true(is_master_and_up(&p.b));
	assert_int_equal(status_number(&p.b, NULL, "links_down"), 0); /* one that it never met up */
	assert_hardware_holds_the_tables(&p.b);
	assert_hardware_delivers(&p.b, 8);
	assert_true(double_sent_by(p.io_b, WIRE_SET, WIRE_LFT) > 0);
	assert_lids_are(&p.b, lids);
	pair_fini(&p);
}

static void of_two_that_start_at_once_the_higher_rules(void **state)
{
	for (unsigned late_us = 0; late_us < 3000; late_us += 250) {
		struct pair p;

		pair_init(&p, small_tree(), 0, 0);
		p.a.conf.sm.master_priority = p.b.conf.sm.master_priority = 0;
		pair_start_b(&p);
		if (late_us)
			run_for(&p.a, late_us);
		start_fabric(&p.a);
		run_for(&p.a, 25 * SECOND_US);
		assert_well_managed_by(&p.a);
		assert_true(has_role(&p.b, "standby"));
		pair_fini(&p);
	}
}

/* Whoever was first is not displaced. */
static void of_two_that_start_at_once_one_rules(void **state)
{
	for (unsigned late_us = 0; late_us < 3000; late_us += 250) {
		struct pair p;

		pair_init(&p, small_tree(), 0, 0);
		pair_start_b(&p);
		if (late_us)
			run_for(&p.a, late_us);
		start_fabric(&p.a);
		run_for(&p.a, 25 * SECOND_US);
		assert_true(has_role(&p.a, "standby") != has_role(&p.b, "standby"));
		assert_well_managed_by(has_role(&p.a, "master") ? &p.a : &p.b);
		pair_fini(&p);
	}
}

/* Of its own: what it asked its master for is another's. */
static void a_standby_writes_no_row(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 0, 0);
	p.b.conf.mirror.interval_ms = 0;
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 30 * SECOND_US);
	pair_stop(&p.b);
	assert_int_equal(rows_run(p.b.state_dir, "DELETE FROM state"), 0); /* there is none */
	pair_fini(&p);
}

/* A manager that waits for longer than its standby does not notice that nobody heard it. */
static void two_masters_after_a_pause_agree_on_one(void **state)
{
	struct pair p;
	uint16_t *lids;

	pair_init(&p, small_tree(), 0, 0);
	p.a.conf.sm.polling_retries = 20;
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 5 * SECOND_US);
	lids = lids_held(&p.a);
	double_freeze(double_io(p.a.hw), true);
	run_for(&p.a, 4 * SECOND_US);
	assert_true(is_master_and_up(&p.b));
	double_freeze(double_io(p.a.hw), false);
	run_for(&p.a, 40 * SECOND_US);
	assert_true(has_role(&p.b, "standby"));
	assert_well_managed_by(&p.a);
	assert_lids_are(&p.a, lids);
	pair_fini(&p);
}

/* Its port did not answer for so long that it has left. */
static void one_that_was_away_for_long_stands_by(void **state)
{
	struct pair p;
	uint64_t changed;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 5 * SECOND_US);
	double_freeze(double_io(p.a.hw), true);
	run_for(&p.a, 20 * SECOND_US);
	assert_true(is_master_and_up(&p.b));
	assert_false(has_role(&p.a, "master"));
	changed = sets_by(double_io(p.a.hw));
	double_freeze(double_io(p.a.hw), false);
	run_for(&p.a, 40 * SECOND_US);
	assert_true(has_role(&p.a, "standby"));
	assert_well_managed_by(&p.b);
	assert_int_equal(sets_by(double_io(p.a.hw)), changed);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_manager_stands_by_and_changes_nothing),
		cmocka_unit_test(who_asked_one_that_came_to_stand_by_is_answered),
		cmocka_unit_test(a_change_is_the_masters_alone),
		cmocka_unit_test(a_standbys_sweep_does_not_clear_port_state_change),
		cmocka_unit_test(a_silent_master_is_followed_and_nothing_moves),
		cmocka_unit_test(a_standby_detects_a_death_within_2_s_and_no_silence_of_one),
		cmocka_unit_test(a_standby_whose_leaf_hangs_takes_nobody_a_path),
		cmocka_unit_test(what_differs_is_written_and_ports_keep_what_they_hold),
		cmocka_unit_test(of_two_that_start_at_once_the_higher_rules),
		cmocka_unit_test(of_two_that_start_at_once_one_rules),
		cmocka_unit_test(two_masters_after_a_pause_agree_on_one),
		cmocka_unit_test(one_that_was_away_for_long_stands_by),
		cmocka_unit_test(a_standby_writes_no_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
