/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A standby whose master answers SMInfo and does nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/election.h"
#include "fm/sm/module.h"
#include "tests/lib/sm_pair.h"

static const struct wire_sm_info idle = { .sm_key = 1, .priority = 15, .state = SM_MASTER };

static void begin_beside_idle_one(struct world *w, int action, unsigned seconds)
{
	world_init_stopped(w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	w->conf.sm.idle_action = action;
	other_sm_at(w, 5, idle);
	start_fabric(w);
	run_for(w, seconds * SECOND_US);
}

/* The fabric is dark; as the standard wants fmd stands by. */
static void a_master_that_only_answers_sm_info_is_an_alert_after_ten_seconds(void **state)
{
	char guid[32];
	struct world w;

	begin_beside_idle_one(&w, CONF_IDLE_ALERT, 9);
	assert_true(has_role(&w, "standby"));
	assert_int_equal(count_alerts(&w, "master-idle", ""), 0);
	run_for(&w, 6 * SECOND_US);
	snprintf(guid, sizeof(guid), "0x%016lx",
		 (unsigned long)w.design->ports[w.design->nodes[w.design->nswitches + 5].port0 + 1]
			 .guid);
	assert_int_equal(count_alerts(&w, "master-idle", guid), 1);
	assert_int_equal(
		count_alerts(&w, "master-idle", w.design->nodes[w.design->nswitches + 5].name), 1);
	run_for(&w, 30 * SECOND_US);
	assert_true(has_role(&w, "standby"));
	assert_int_equal(count_logged(&w, "alert", "does nothing"), 1);
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), 0);
	world_fini(&w);
}

/* A port without SM LID is what a host sees of a master that has not served it. */
static void the_alert_ends_when_the_master_serves_again(void **state)
{
	struct pair p;
	uint16_t lid;

	pair_init(&p, small_tree(), 5, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 60 * SECOND_US);
	assert_int_equal(count_alerts(&p.b, "master-idle", ""), 0);
	lid = double_port_info(p.a.hw, sm_host(&p.a, p.a.design->ncas - 1), 1)->sm_lid;
	double_set_sm_lid(p.a.hw, sm_host(&p.a, p.a.design->ncas - 1), 1, lid_of(&p.a, 3));
	run_for(&p.a, 9 * SECOND_US); /* a host without an SA */
	assert_int_equal(count_alerts(&p.b, "master-idle", ""), 0);
	run_for(&p.a, 4 * SECOND_US);
	assert_int_equal(count_alerts(&p.b, "master-idle", ""), 1);
	double_set_sm_lid(p.a.hw, sm_host(&p.a, p.a.design->ncas - 1), 1, lid);
	run_for(&p.a, 3 * SECOND_US);
	assert_int_equal(count_alerts(&p.b, "master-idle", ""), 0);
	assert_int_equal(count_logged(&p.b, "alert-over", ""), 1);
	assert_true(has_role(&p.b, "standby"));
	assert_well_managed_by(&p.a);
	pair_fini(&p);
}

static void an_operator_takes_over_from_an_idle_master(void **state)
{
	struct reply early = { 0 }, unnamed = { 0 }, other = { 0 }, taken = { 0 }, again = { 0 };
	struct answer swept = { 0 };
	struct world w;
	const char *name;

	begin_beside_idle_one(&w, CONF_IDLE_ALERT, 5);
	name = w.design->nodes[w.design->nswitches + 5].name;
	sm_take_over(w.fabric, name, reply_cb, &early);
	assert_non_null(strstr(early.error, "10 s")); /* it is not known to be idle yet */
	run_for(&w, 10 * SECOND_US);
	sm_take_over(w.fabric, NULL, reply_cb, &unnamed);
	assert_non_null(strstr(unnamed.error, name));
	sm_take_over(w.fabric, "elsewhere", reply_cb, &other);
	assert_non_null(strstr(other.error, name));
	assert_true(has_role(&w, "standby"));
	sm_take_over(w.fabric, name, reply_cb, &taken);
	assert_int_equal(taken.count, 0);
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(taken.count, 1);
	assert_string_equal(json_string_value(json_object_get(taken.result, "from")), name);
	json_decref(taken.result);
	assert_well_managed_by(&w);
	assert_int_equal(count_logged(&w, "handover", "an operator"), 1);
	assert_int_equal(count_alerts(&w, "master-idle", ""), 0);

	/* It says that it is master, of priority 15, for as long as it likes. */
	run_for(&w, 120 * SECOND_US);
	assert_well_managed_by(&w);
	assert_int_equal(count_alerts(&w, "two-masters", name), 1);
	sm_take_over(w.fabric, name, reply_cb, &again);
	assert_non_null(strstr(again.error, "is the master"));
	double_set_sm(w.hw, sm_host(&w, 5), 1, NULL);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(count_alerts(&w, "two-masters", ""), 0);
	assert_well_managed_by(&w);

	/* Another one that comes there, and stands by, has the rank that it shows. */
	other_sm_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 15, .state = SM_STANDBY });
	fabric_sweep(w.fabric, operation_cb, &swept);
	run_for(&w, 30 * SECOND_US);
	assert_true(count_logged(&w, "handover", "outranks this manager") > 0);
	world_fini(&w);
}

static void nobody_takes_over_from_a_master_that_works(void **state)
{
	struct reply refused = { 0 };
	struct pair p;

	pair_init(&p, small_tree(), 5, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 30 * SECOND_US);
	sm_take_over(p.b.fabric, p.a.design->nodes[p.a.design->nswitches].name, reply_cb, &refused);
	assert_int_equal(refused.count, 1);
	assert_non_null(strstr(refused.error, "fmctl handover"));
	assert_true(has_role(&p.b, "standby"));
	assert_well_managed_by(&p.a);
	pair_fini(&p);
}

static void by_configuration_it_takes_over_by_itself(void **state)
{
	struct world w;

	begin_beside_idle_one(&w, CONF_IDLE_TAKEOVER, 9);
	assert_true(has_role(&w, "standby"));
	run_for(&w, 10 * SECOND_US);
	assert_well_managed_by(&w);
	assert_int_equal(count_logged(&w, "handover", "master_idle_action"), 1);
	run_for(&w, 120 * SECOND_US);
	assert_well_managed_by(&w);
	assert_int_equal(count_logged(&w, "handover", "master_idle_action"), 1);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_master_that_only_answers_sm_info_is_an_alert_after_ten_seconds),
		cmocka_unit_test(the_alert_ends_when_the_master_serves_again),
		cmocka_unit_test(an_operator_takes_over_from_an_idle_master),
		cmocka_unit_test(nobody_takes_over_from_a_master_that_works),
		cmocka_unit_test(by_configuration_it_takes_over_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
