/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Handover: by priority, by request, at the end of a master; and a manager that refuses one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/election.h"
#include "fm/sm/module.h"
#include "tests/lib/sm_pair.h"

static void a_higher_one_gets_the_fabric_handed_over(void **state)
{
	struct pair p;
	uint16_t *lids;
	uint64_t before;

	pair_init(&p, small_tree(), 3, 9);
	p.a.conf.sm.master_priority = 0;
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	lids = lids_held(&p.a);
	pair_start_b(&p);
	run_for(&p.a, 4 * SECOND_US);
	assert_true(has_role(&p.a, "standby"));
	assert_well_managed_by(&p.b);
	assert_lids_are(&p.b, lids);
	assert_int_equal(double_sent_by(p.io_b, WIRE_SET, WIRE_LFT), 0);
	before = sets_by(double_io(p.a.hw));
	double_cut(p.a.hw, p.a.design->nodes[far_leaf(&p.a)].guid,
		   uplink_of(p.a.design, far_leaf(&p.a)));
	run_for(&p.a, 30 * SECOND_US);
	assert_int_equal(sets_by(double_io(p.a.hw)), before);
	assert_hardware_delivers(&p.b, 9);
	pair_fini(&p);
}

/* It is the one that was master and is the higher one, and the fabric has a master. */
static void a_higher_one_that_comes_back_does_not_take_it_back(void **state)
{
	struct pair p;
	uint64_t changed;
	unsigned asked;

	pair_init(&p, small_tree(), 9, 3);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 4 * SECOND_US);
	pair_stop(&p.a);
	run_for(&p.b, 10 * SECOND_US);
	assert_well_managed_by(&p.b);
	changed = sets_by(p.io_b);
	asked = all_reregistered(&p.a);
	start_fabric(&p.a);
	run_for(&p.a, 60 * SECOND_US);
	assert_true(has_role(&p.a, "standby"));
	assert_well_managed_by(&p.b);
	assert_int_equal(status_number(&p.b, "election", "priority"), 14);
	assert_int_equal(sets_by(p.io_b), changed);
	assert_int_equal(all_reregistered(&p.a), asked);
	pair_fini(&p);
}

/* The operator's word is above that, and what it shows from then on keeps it from coming back. */
static void a_requested_hand_over_lasts(void **state)
{
	struct pair p;
	struct handed handed = { 0 };

	pair_init(&p, small_tree(), 9, 3);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	sm_hand_over(p.a.fabric, NULL, handed_cb, &handed); /* nobody is there */
	assert_int_equal(handed.errors, 1);
	pair_start_b(&p);
	run_for(&p.a, 15 * SECOND_US);
	assert_true(is_master_and_up(&p.a));
	sm_hand_over(p.a.fabric, "node-9999 HCA-1", handed_cb, &handed);
	assert_int_equal(handed.errors, 2);
	sm_hand_over(p.a.fabric, NULL, handed_cb, &handed);
	sm_hand_over(p.a.fabric, NULL, handed_cb, &handed); /* one is under way */
	assert_int_equal(handed.errors, 3);
	run_for(&p.a, SECOND_US);
	assert_int_equal(handed.done, 4);
	assert_int_equal(handed.errors, 3);
	assert_true(has_role(&p.a, "standby"));
	assert_well_managed_by(&p.b);
	assert_int_equal(status_number(&p.a, "election", "priority"), 0);
	run_for(&p.a, 60 * SECOND_US);
	assert_true(has_role(&p.a, "standby"));
	double_freeze(p.io_b, true); /* the new master is gone */
	run_for(&p.a, 10 * SECOND_US);
	assert_true(is_master_and_up(&p.a));
	assert_int_equal(status_number(&p.a, "election", "priority"), 14);
	pair_fini(&p);
}

/* What a sweep that is under way finds is the next master's; until all hosts ask that one. */
static void who_hands_over_publishes_nothing_more(void **state)
{
	unsigned count = 0;

	for (unsigned us = 500; us < 4000; us += 1200) {
		const struct lid_map *lids = NULL;
		struct handed handed = { 0 };
		struct pair p;

		pair_init(&p, small_tree(), 0, 0);
		start_fabric(&p.a);
		run_for(&p.a, 2 * SECOND_US);
		pair_start_b(&p);
		run_for(&p.a, 4 * SECOND_US);
		double_cut(p.a.hw, p.a.design->nodes[far_leaf(&p.a)].guid,
			   uplink_of(p.a.design, far_leaf(&p.a)));
		run_for(&p.a, us);
		sm_hand_over(p.a.fabric, NULL, handed_cb, &handed);
		for (unsigned ms = 0; ms < 2000 && fabric_is_master(p.a.fabric); ms++) {
			if (lids && fabric_view(p.a.fabric).lids != lids)
				fail_msg("at %u us: it has published", us);
			if (!lids && has_role(&p.a, "standby"))
				lids = fabric_view(p.a.fabric).lids;
			run_for(&p.a, 1000);
		}
		count += !handed.errors; /* the path to it may be what was cut */
		run_for(&p.a, 3 * SECOND_US);
		assert_true(is_master_and_up(handed.errors ? &p.a : &p.b));
		pair_fini(&p);
	}
	assert_true(count);
}

/* Three seconds without a manager that one packet saves. */
static void the_end_of_a_master_need_not_be_a_silence(void **state)
{
	struct pair p;
	struct handed handed = { 0 };

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 15 * SECOND_US);
	sm_hand_over(p.a.fabric, NULL, handed_cb, &handed);
	while (!handed.done)
		run_for(&p.a, 1000);
	pair_stop(&p.a);
	run_for(&p.b, SECOND_US / 2);
	assert_well_managed_by(&p.b);
	assert_int_equal(count_logged(&p.b, "take-over", ": 0 ms without an answer"), 1);
	assert_int_equal(double_sent_by(p.io_b, WIRE_SET, WIRE_LFT), 0);
	pair_fini(&p);
}

static void changes_of_role_are_counted_and_too_many_are_an_event(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 15 * SECOND_US);
	assert_int_equal(status_number(&p.a, NULL, "role_changes"), 0);
	for (unsigned i = 1; i <= 4; i++) {
		struct world *from = i % 2 ? &p.a : &p.b;
		struct handed handed = { 0 };

		sm_hand_over(from->fabric, NULL, handed_cb, &handed);
		run_for(&p.a, 15 * SECOND_US);
		assert_int_equal(status_number(&p.a, NULL, "role_changes"), i);
		assert_int_equal(count_alerts(&p.a, "role-changes", ""), i > 3);
	}
	run_for(&p.a, 590 * SECOND_US);
	assert_false(count_alerts(&p.a, "role-changes", ""));
	pair_fini(&p);
}

static void a_lower_priority_by_reload_hands_over(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 5, 4);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 15 * SECOND_US);
	assert_true(is_master_and_up(&p.a));
	p.a.conf.sm.priority = 1;
	fabric_configure(p.a.fabric, &p.a.conf);
	run_for(&p.a, 5 * SECOND_US);
	assert_true(has_role(&p.a, "standby"));
	assert_well_managed_by(&p.b);
	pair_fini(&p);
}

/* Its next look at the clock was set when a standby was to wait for longer. */
static void polls_that_follow_each_other_faster_by_reload_are_no_standstill(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 5, 4);
	p.a.conf.sm.polling_timeout_ms = p.b.conf.sm.polling_timeout_ms = 10000;
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 25 * SECOND_US);
	for (unsigned i = 0; i < 10; i++) { /* a moment before the next look, among others */
		p.a.conf.sm.polling_timeout_ms = i % 2 ? 10000 : 1000;
		fabric_configure(p.a.fabric, &p.a.conf);
		run_for(&p.a, 4900000);
	}
	p.a.conf.sm.polling_timeout_ms = 1000;
	fabric_configure(p.a.fabric, &p.a.conf);
	run_for(&p.a, 30 * SECOND_US);
	assert_int_equal(count_logged(&p.a, "stood-still", ""), 0);
	assert_true(is_master_and_up(&p.a));
	pair_fini(&p);
}

static void one_that_refuses_a_handover_changes_nothing(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	stop_fabric(&w);
	other_sm_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 9, .state = SM_STANDBY });
	log_set_level(-1, LOG_ERR - 1);
	start_fabric(&w);
	run_for(&w, 15 * SECOND_US);
	assert_true(has_role(&w, "standby")); /* nobody is master, and it outranks us */
	other_sm_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 0, .state = SM_STANDBY });
	run_for(&w, 15 * SECOND_US);
	assert_true(is_master_and_up(&w));
	other_sm_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 15, .state = SM_STANDBY });
	run_for(&w, 15 * SECOND_US);
	assert_in_range(count_logged(&w, "handover", "did not take over"), 1, 2);
	assert_well_managed_by(&w);
	double_cut(w.hw, w.design->nodes[far_leaf(&w)].guid, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, 25 * SECOND_US);
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 3);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_higher_one_gets_the_fabric_handed_over),
		cmocka_unit_test(a_higher_one_that_comes_back_does_not_take_it_back),
		cmocka_unit_test(a_requested_hand_over_lasts),
		cmocka_unit_test(who_hands_over_publishes_nothing_more),
		cmocka_unit_test(the_end_of_a_master_need_not_be_a_silence),
		cmocka_unit_test(changes_of_role_are_counted_and_too_many_are_an_event),
		cmocka_unit_test(a_lower_priority_by_reload_hands_over),
		cmocka_unit_test(polls_that_follow_each_other_faster_by_reload_are_no_standstill),
		cmocka_unit_test(one_that_refuses_a_handover_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
