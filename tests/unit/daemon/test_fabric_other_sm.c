/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmd beside a scripted manager: SM_Keys, two masters, and who is asked before anything is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/election.h"
#include "tests/lib/sm_pair.h"

static void a_master_with_another_sm_key_is_stood_by_for_at_a_start(void **state)
{
	struct world w;

	begin_beside_sm(&w,
			(struct wire_sm_info){ .sm_key = 2, .priority = 0, .state = SM_MASTER });
	assert_true(has_role(&w, "standby"));
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), 0);
	assert_true(count_alerts(&w, "foreign-master", ""));
	assert_int_equal(count_logged(&w, "other-sm", "another SM_Key"), 1);
	double_set_sm(w.hw, sm_host(&w, 5), 1, NULL);
	run_for(&w, 10 * SECOND_US);
	assert_well_managed_by(&w);
	assert_false(count_alerts(&w, "foreign-master", ""));
	world_fini(&w);
}

static void one_that_hides_its_sm_key_is_accepted(void **state)
{
	struct world w;

	begin_beside_sm(&w,
			(struct wire_sm_info){ .sm_key = 0, .priority = 14, .state = SM_MASTER });
	assert_true(has_role(&w, "standby"));
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), 0);
	assert_false(count_alerts(&w, "foreign-master", ""));
	world_fini(&w);
}

static void a_second_master_with_another_sm_key_is_an_alert_as_long_as_it_lasts(void **state)
{
	struct world w;
	struct answer swept = { 0 };

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	other_sm_at(&w, 5, (struct wire_sm_info){ .sm_key = 2, .priority = 9, .state = SM_MASTER });
	fabric_sweep(w.fabric, operation_cb, &swept);
	run_for(&w, 20 * SECOND_US);
	assert_true(is_master_and_up(&w));
	assert_true(count_alerts(&w, "two-masters", ""));
	assert_int_equal(count_logged(&w, "two-masters", "two masters"), 1);
	double_set_sm(w.hw, sm_host(&w, 5), 1, NULL);
	run_for(&w, 20 * SECOND_US);
	assert_false(count_alerts(&w, "two-masters", ""));
	assert_well_managed_by(&w);
	world_fini(&w);
}

static void cut_off(struct world *w, uint32_t number)
{
	double_cut(w->hw, sm_host(w, number), 1);
	run_for(w, SECOND_US);
}

struct writes { /* to whatever, before the manager at host 5 was asked */
	struct world *w;
	uint64_t asked;
	unsigned early, late;
};

static void note_write(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct writes *writes = arg;

	if (attr_id == WIRE_PORT_INFO || attr_id == WIRE_LFT) {
		if (double_sent(writes->w->hw, WIRE_GET, WIRE_SM_INFO) == writes->asked)
			writes->early++;
		else
			writes->late++;
	}
}

/* A manager comes with its host: nothing is written before it has answered. */
static void who_may_manage_too_is_asked_before_a_write(void **state)
{
	struct writes writes = { 0 };
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	cut_off(&w, 5);
	other_sm_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 3, .state = SM_STANDBY });
	writes.w = &w;
	writes.asked = double_sent(w.hw, WIRE_GET, WIRE_SM_INFO);
	double_on_set(w.hw, note_write, &writes);
	double_join(w.hw, sm_host(&w, 5), 1);
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(writes.early, 0);
	assert_true(writes.late > 0);
	assert_well_managed_by(&w);
	world_fini(&w);
}

/* Ports that come with another manager's LID, from a host that does not show one. */
static void who_holds_a_foreign_sm_lid_is_asked_before_a_write(void **state)
{
	struct writes writes = { 0 };
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	cut_off(&w, 5);
	double_set_sm_lid(w.hw, sm_host(&w, 5), 1, lid_of(&w, 7));
	writes.w = &w;
	writes.asked = double_sent(w.hw, WIRE_GET, WIRE_SM_INFO);
	double_on_set(w.hw, note_write, &writes);
	double_join(w.hw, sm_host(&w, 5), 1);
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(writes.early, 0);
	assert_true(writes.late > 0);
	assert_well_managed_by(&w);
	world_fini(&w);
}

static void a_silent_one_is_waited_for_no_longer_than_a_transaction(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	cut_off(&w, 5);
	other_sm_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 15, .state = SM_MASTER });
	double_set_sm_silent(w.hw, sm_host(&w, 5), 1);
	double_join(w.hw, sm_host(&w, 5), 1);
	run_for(&w, 150000);
	assert_int_equal(double_link_state(w.hw, sm_host(&w, 5), 1), TOPO_INIT);
	run_for(&w, 100000);
	assert_int_equal(double_link_state(w.hw, sm_host(&w, 5), 1), TOPO_ACTIVE);
	run_for(&w, 5 * SECOND_US);
	assert_well_managed_by(&w);
	world_fini(&w);
}

/* .. and a fault does not wait for it at all. */
static void a_fault_does_not_wait_for_a_silent_manager(void **state)
{
	struct world w;
	guid_t leaf;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	leaf = w.design->nodes[far_leaf(&w)].guid;
	cut_off(&w, 5);
	other_sm_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 15, .state = SM_MASTER });
	double_set_sm_silent(w.hw, sm_host(&w, 5), 1);
	double_join(w.hw, sm_host(&w, 5), 1);
	run_for(&w, 20000);
	assert_int_equal(double_link_state(w.hw, sm_host(&w, 5), 1),
			 TOPO_INIT); /* it is waited for */
	double_cut(w.hw, leaf, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, 30000);
	assert_int_equal(count_logged(&w, "rerouted", w.design->nodes[far_leaf(&w)].desc), 1);
	assert_true(status_number(&w, "last_fault", "detected_to_programmed_ms") < 30);
	run_for(&w, 5 * SECOND_US);
	assert_well_managed_by(&w);
	world_fini(&w);
}

/* Looks that come one after the other do not begin the question anew. */
static void a_silent_manager_does_not_keep_the_others_from_being_judged(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	other_sm_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 9, .state = SM_STANDBY });
	double_set_sm_silent(w.hw, sm_host(&w, 5), 1);
	other_sm_at(&w, 6,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 15, .state = SM_STANDBY });
	for (unsigned i = 0; i < 20; i++) {
		double_set_desc(w.hw, sm_host(&w, 5 + i % 2), i % 4 < 2 ? "one" : "another");
		run_for(&w, 100000);
	}
	assert_true(count_logged(&w, "handover", "outranks this manager") > 0);
	world_fini(&w);
}

static void a_lower_master_is_shouted_about_until_it_goes(void **state)
{
	struct world w;
	struct answer swept = { 0 };

	world_init(&w, small_tree());
	w.conf.sm.priority = 9;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	other_sm_at(&w, 5, (struct wire_sm_info){ .sm_key = 1, .priority = 2, .state = SM_MASTER });
	fabric_sweep(w.fabric, operation_cb, &swept);
	run_for(&w, 5 * SECOND_US);
	assert_true(is_master_and_up(&w));
	assert_int_equal(count_logged(&w, "two-masters", "two masters"), 1);
	assert_int_equal(status_number(&w, "election", "two_masters"),
			 0); /* a boolean is no number */
	other_sm_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 2, .state = SM_STANDBY });
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(count_logged(&w, "two-masters", "no other master left"), 1);
	assert_int_equal(count_logged(&w, "master", "") + count_logged(&w, "take-over", ""), 0);
	assert_well_managed_by(&w);
	world_fini(&w);
}

static void alone_it_asks_nobody_and_says_nothing(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 30 * SECOND_US);
	assert_true(is_master_and_up(&w));
	assert_int_equal(double_sent(w.hw, WIRE_GET, WIRE_SM_INFO), 0);
	assert_int_equal(count_logged(&w, "master", "") + count_logged(&w, "take-over", ""), 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_master_with_another_sm_key_is_stood_by_for_at_a_start),
		cmocka_unit_test(one_that_hides_its_sm_key_is_accepted),
		cmocka_unit_test(
			a_second_master_with_another_sm_key_is_an_alert_as_long_as_it_lasts),
		cmocka_unit_test(who_may_manage_too_is_asked_before_a_write),
		cmocka_unit_test(who_holds_a_foreign_sm_lid_is_asked_before_a_write),
		cmocka_unit_test(a_silent_one_is_waited_for_no_longer_than_a_transaction),
		cmocka_unit_test(a_fault_does_not_wait_for_a_silent_manager),
		cmocka_unit_test(a_silent_manager_does_not_keep_the_others_from_being_judged),
		cmocka_unit_test(a_lower_master_is_shouted_about_until_it_goes),
		cmocka_unit_test(alone_it_asks_nobody_and_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
