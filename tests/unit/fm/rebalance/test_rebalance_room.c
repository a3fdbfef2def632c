/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * When re-balancing asks for an update, what it adds to routing, and what it keeps: the room alone,
 * with a pipe that only looks like one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/rebalance/module.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "tests/lib/fake_pipe.h"

#define SECOND_US 1000000ull
#define HOLD_US	  (5 * SECOND_US)

static struct topo *whole(void)
{
	return pod(1);
}

/* So much is down that a pass finds something to move. */
static struct topo *damaged(uint64_t seed)
{
	struct topo *t = whole(), *cut = damage_links(t, 15, seed);

	topo_unref(t);
	return cut;
}

/* The snapshot is published, programmed and settled. Taken over. */
static void publish(struct fabric *f, struct topo *t)
{
	const struct topo *before = f->view.topo;
	struct lid_memory none = { 0 };

	lid_map_free((struct lid_map *)f->view.lids);
	f->view.topo = t;
	f->view.lids = lid_plan(t, &none, 0);
	f->view.engine = "ftree";
	f->module->published(f->room, FABRIC_PUBLISHED, before);
	f->written.entries = 7;
	f->module->settled(f->room, FABRIC_SETTLED);
	lid_memory_fini(&none);
	topo_unref(before);
}

static void begin(struct fabric *f, struct topo *t)
{
	fake_pipe_init(f, &rebalance_module, NULL);
	f->conf.rebalance.hold_ms = HOLD_US / 1000;
	f->module->load(f->room, FABRIC_LOAD);
	publish(f, t);
}

/* What is in force, for the published snapshot. */
static uint32_t in_force(struct fabric *f)
{
	struct fabric_policy policy = fabric_policy(f, f->view.topo, NULL);
	uint32_t count = policy.noverrides;

	for (uint32_t i = 0; i < count; i++)
		assert_true(policy.overrides[i].sw < f->view.topo->nswitches);
	fabric_policy_fini(&policy);
	return count;
}

static json_t *status_of(struct fabric *f)
{
	json_t *doc = json_object(), *part;

	f->module->status(f->room, doc);
	part = json_incref(json_object_get(doc, "rebalance"));
	json_decref(doc);
	return part;
}

static bool is_in_state(struct fabric *f, const char *state)
{
	json_t *status = status_of(f);
	bool is = !strcmp(json_string_value(json_object_get(status, "state")), state);

	json_decref(status);
	return is;
}

/* The pipe makes the update that was asked for. */
static void improve(struct fabric *f)
{
	assert_true(f->module->improves(f->room));
	publish(f, topo_ref(f->view.topo));
}

static void a_damaged_fabric_asks_for_one_update_when_it_was_idle(void **state)
{
	const char *text;
	struct fabric f;

	begin(&f, damaged(1));
	fake_run_for(&f, HOLD_US - SECOND_US);
	assert_int_equal(f.asked.improvements, 0);
	assert_false(f.module->improves(f.room));
	fake_run_for(&f, 2 * SECOND_US);
	assert_int_equal(f.asked.improvements, 1);
	assert_int_equal(in_force(&f), 0);
	assert_true(is_in_state(&f, "waiting"));
	improve(&f);
	assert_true(in_force(&f) > 0);
	assert_true(is_in_state(&f, "done"));
	assert_int_equal(fake_events(&f, "rebalanced", &text), 1);
	assert_non_null(strstr(text, " 7 entries moved"));
	fake_run_for(&f, 3 * HOLD_US);
	assert_int_equal(f.asked.improvements, 1);
	fake_pipe_fini(&f);
}

static void a_whole_fabric_of_even_design_is_left_alone(void **state)
{
	struct fabric f;

	begin(&f, whole());
	fake_run_for(&f, 3 * HOLD_US);
	assert_int_equal(f.asked.improvements, 0);
	assert_true(is_in_state(&f, "done"));
	fake_pipe_fini(&f);
}

static void nothing_is_looked_for_while_an_update_is_under_way(void **state)
{
	struct fabric f;

	begin(&f, damaged(1));
	f.unsettled = true;
	fake_run_for(&f, 2 * HOLD_US);
	assert_int_equal(f.asked.improvements, 0);
	f.unsettled = false;
	fake_run_for(&f, HOLD_US + SECOND_US);
	assert_int_equal(f.asked.improvements, 1);
	fake_pipe_fini(&f);
}

static void an_answer_of_a_past_snapshot_is_dropped(void **state)
{
	struct fabric f;

	begin(&f, damaged(1));
	fake_run_for(&f, HOLD_US + SECOND_US);
	assert_int_equal(f.asked.improvements, 1);
	publish(&f, damaged(2));
	assert_false(f.module->improves(f.room));
	assert_int_equal(in_force(&f), 0);
	fake_run_for(&f, HOLD_US + SECOND_US);
	assert_int_equal(f.asked.improvements, 2);
	fake_pipe_fini(&f);
}

static void what_the_proof_refuses_is_taken_back_and_not_asked_for_again(void **state)
{
	struct fabric f;

	begin(&f, damaged(1));
	fake_run_for(&f, HOLD_US + SECOND_US);
	assert_true(f.module->improves(f.room));
	assert_true(in_force(&f) > 0);
	f.module->published(f.room, FABRIC_TABLES_REFUSED, NULL);
	assert_int_equal(in_force(&f), 0);
	assert_int_equal(f.asked.reroutes, 1);
	publish(&f, topo_ref(f.view.topo));
	fake_run_for(&f, HOLD_US + SECOND_US);
	assert_int_equal(f.asked.improvements, 1);
	assert_int_equal(fake_events(&f, "rebalanced", NULL), 0);
	fake_pipe_fini(&f);
}

static void what_another_updates_proof_refuses_is_not_ours(void **state)
{
	struct fabric f;

	begin(&f, damaged(1));
	fake_run_for(&f, HOLD_US + SECOND_US);
	improve(&f);
	f.module->published(f.room, FABRIC_TABLES_REFUSED, NULL);
	assert_true(in_force(&f) > 0);
	assert_int_equal(f.asked.reroutes, 0);
	fake_pipe_fini(&f);
}

static void a_fabric_that_is_whole_again_has_none_at_once(void **state)
{
	struct fabric f;

	begin(&f, damaged(1));
	fake_run_for(&f, HOLD_US + SECOND_US);
	improve(&f);
	publish(&f, whole());
	assert_int_equal(in_force(&f), 0);
	publish(&f, damaged(1));
	assert_int_equal(in_force(&f), 0);
	fake_pipe_fini(&f);
}

static void switched_off_it_adds_nothing_and_looks_for_nothing(void **state)
{
	struct fabric f;

	begin(&f, damaged(1));
	fake_run_for(&f, HOLD_US + SECOND_US);
	improve(&f);
	f.conf.rebalance.entries = 0;
	assert_int_equal(in_force(&f), 0);
	assert_true(is_in_state(&f, "off"));
	publish(&f, topo_ref(f.view.topo));
	fake_run_for(&f, 2 * HOLD_US);
	assert_int_equal(f.asked.improvements, 1);
	fake_pipe_fini(&f);
}

static void a_restart_has_them_in_its_first_tables(void **state)
{
	struct fabric f;
	uint32_t before;

	begin(&f, damaged(1));
	fake_run_for(&f, HOLD_US + SECOND_US);
	improve(&f);
	before = in_force(&f);
	fake_pipe_restart(&f);
	f.module->load(f.room, FABRIC_LOAD);
	assert_int_equal(in_force(&f), before);
	publish(&f, topo_ref(f.view.topo));
	fake_run_for(&f, HOLD_US + SECOND_US);
	assert_int_equal(f.asked.improvements, 1); /* a pass finds the same */
	fake_pipe_fini(&f);
}

static void an_override_to_no_port_is_told(void **state)
{
	struct fabric f;
	char rows[128];

	begin(&f, damaged(1));
	fake_run_for(&f, HOLD_US + SECOND_US);
	improve(&f);
	fake_pipe_restart(&f);
	snprintf(rows, sizeof(rows), "0x%016lx 9 1\n0x%016lx 8 0\n", f.view.topo->nodes[0].guid,
		 f.view.topo->nodes[0].guid);
	fake_take(&f, "overrides", rows);
	f.module->load(f.room, FABRIC_LOAD);
	assert_int_equal(f.lost, 1);
	fake_pipe_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_damaged_fabric_asks_for_one_update_when_it_was_idle),
		cmocka_unit_test(a_whole_fabric_of_even_design_is_left_alone),
		cmocka_unit_test(nothing_is_looked_for_while_an_update_is_under_way),
		cmocka_unit_test(an_answer_of_a_past_snapshot_is_dropped),
		cmocka_unit_test(what_the_proof_refuses_is_taken_back_and_not_asked_for_again),
		cmocka_unit_test(what_another_updates_proof_refuses_is_not_ours),
		cmocka_unit_test(a_fabric_that_is_whole_again_has_none_at_once),
		cmocka_unit_test(switched_off_it_adds_nothing_and_looks_for_nothing),
		cmocka_unit_test(a_restart_has_them_in_its_first_tables),
		cmocka_unit_test(an_override_to_no_port_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
