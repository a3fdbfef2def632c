/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Faults and commands while a restarted daemon still reads back what switches hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/restart_world.h"

static double unread(const struct world *w)
{
	return status_number(w, NULL, "lft_blocks_unread");
}

static bool is_answered(const struct world *w)
{
	json_t *status = fabric_status(w->fabric);
	bool answered = json_is_object(json_object_get(status, "last_fault"));

	json_decref(status);
	return answered;
}

/* Up to the first moment when that holds, of the next second. */
static void run_until(struct world *w, bool (*holds)(const struct world *w))
{
	for (unsigned i = 0; i < 20000 && !holds(w); i++)
		run_for(w, 50);
	assert_true(holds(w));
}

static bool is_reading(const struct world *w)
{
	return fabric_topo(w->fabric) && unread(w) > 0;
}

static void start_and_read(struct world *w)
{
	double_sent_reset(w->hw);
	start_fabric(w);
	run_until(w, is_reading);
	double_set_fault(w->hw, 0, DOUBLE_DELAY, 1000, 1000);
}

/* With so many LIDs that it takes a while. */
static void begin_to_read(struct world *w)
{
	world_init(w, pod(2));
	stop_fabric(w);
	w->conf.routing.lmc = 4;
	start_fabric(w);
	run_for(w, 2 * SECOND_US);
	assert_true(is_up(w));
	stop_fabric(w);
	start_and_read(w);
}

/* .. nor does who waits for its answer; the fabric is not called up before all is read. */
static void a_fault_is_answered_before_the_rest_is_read(void **state)
{
	struct world w;
	uint32_t leaf;
	double before, took;

	begin_to_read(&w);
	leaf = far_leaf(&w);
	before = unread(&w);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_until(&w, is_answered);
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 9);
	assert_in_range(unread(&w), before / 2, before);
	/* The look goes ahead of the hundreds of reads that wait: they take 8 ms a round. */
	assert_true(status_number(&w, "last_fault", "detected_to_proven_ms") < 16);
	took = status_number(&w, NULL, "program_ms");
	while (unread(&w)) {
		assert_false(is_up(&w));
		assert_int_equal(count_logged(&w, "up", "fabric: up"), 0);
		run_for(&w, 50);
	}
	run_for(&w, SECOND_US);
	assert_true(is_up(&w));
	assert_true(blocks_written(&w) > 0);
	assert_true(status_number(&w, NULL, "program_ms") == took);
	double_join(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	assert_int_equal(count_logged(&w, "restored", ""), 1);
	assert_int_equal(count_logged(&w, "tables-held", " 0 differ"), 1);
	assert_int_equal(count_logged(&w, "up", "fabric: up"), 1);
	world_fini(&w);
}

static void commands_are_answered_before_the_rest_is_read(void **state)
{
	struct reply r = { 0 };
	struct world w;
	char name[32];
	uint32_t leaf;

	begin_to_read(&w);
	leaf = far_leaf(&w);
	snprintf(name, sizeof(name), "0x%016llx:%u", (unsigned long long)w.design->nodes[leaf].guid,
		 uplink_of(w.design, leaf));
	links_out_cordon(w.fabric, name, true, reply_cb, &r);
	for (unsigned i = 0; i < 2000 && !r.count; i++)
		run_for(&w, 50);
	assert_int_equal(r.count, 1);
	assert_string_equal(r.error, "");
	assert_true(unread(&w) > 0);
	assert_hardware_holds_the_tables(&w);
	assert_false(is_up(&w));
	run_for(&w, SECOND_US);
	assert_true(is_up(&w));
	json_decref(r.result);
	world_fini(&w);
}

/* Most ways lead over it. */
static void cut_next_to_the_manager(struct world *w)
{
	const struct topo *t = w->design;
	uint32_t leaf = topo_peer(t, &t->ports[t->nodes[t->nswitches].port0 + 1])->node;

	double_cut(w->hw, t->nodes[leaf].guid, uplink_of(t, leaf));
}

/*
 * Hundreds of requests are on their way over that cable, or wait to go there: each would take two
 * time-outs of 200 ms.
 */
static void assert_answered_soon(struct world *w)
{
	cut_next_to_the_manager(w);
	for (unsigned i = 0; i < 1000 && !is_answered(w); i++)
		run_for(w, 1000);
	assert_true(is_answered(w));
	assert_hardware_holds_the_tables(w);
	assert_hardware_delivers(w, 11);
	assert_int_equal(status_number(w, NULL, "links_down"), 1);
	run_for(w, 2 * SECOND_US); /* before re-balancing */
	assert_true(is_up(w));
}

static void a_fault_next_to_the_manager_does_not_wait_for_what_goes_there(void **state)
{
	struct world w;

	begin_to_read(&w);
	run_for(&w, 5000);
	assert_answered_soon(&w);
	assert_true(status_number(&w, NULL, "smps_retried") > 30);
	double_join(w.hw, w.design->nodes[0].guid, uplink_of(w.design, 0));
	run_for(&w, 2 * SECOND_US);
	stop_fabric(&w);
	remove_state(&w, "tables");
	start_fabric(&w);
	for (unsigned i = 0; i < 2000 && !fabric_topo(w.fabric); i++)
		run_for(&w, 100);
	run_for(&w, 5000); /* the tables are being written */
	assert_true(fabric_topo(w.fabric) && !is_up(&w));
	assert_answered_soon(&w);
	world_fini(&w);
}

/* What others wrote is found by the reading: told, written, and only then the fabric is up. */
static void what_is_found_behind_a_fault_is_repaired_before_the_fabric_is_up(void **state)
{
	struct world w;
	uint32_t leaf;
	guid_t guid;

	begin_to_read(&w);
	leaf = far_leaf(&w);
	guid = w.design->nodes[0].guid;
	stop_fabric(&w);
	double_set_lft(w.hw, guid, 4000, double_lft(w.hw, guid, 4000) == 1 ? 2 : 1);
	double_set_fault(w.hw, 0, DOUBLE_DELAY, 0, 0);
	start_and_read(&w);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_until(&w, is_answered);
	assert_true(unread(&w) > 0 && !is_up(&w));
	run_until(&w, is_up);
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(count_logged(&w, "tables-held", " 1 differ"), 1);
	assert_int_equal(count_logged(&w, "rerouted", ""), 1);
	world_fini(&w);
}

/* A fault that comes while the tables are read does not wait for the rest of them. */
static void a_fault_during_the_reading_is_answered(void **state)
{
	uint32_t leaf;
	struct world w;

	world_init(&w, pod(2));
	leaf = far_leaf(&w);
	for (unsigned us = 2000; us < 40000; us += 3000) {
		stop_fabric(&w);
		start_fabric(&w);
		run_for(&w, us);
		double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
		run_for(&w, SECOND_US);
		assert_true(is_up(&w));
		assert_int_equal(status_number(&w, NULL, "links_down"), 1);
		assert_hardware_holds_the_tables(&w);
		assert_hardware_delivers(&w, us);
		double_join(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
		run_for(&w, SECOND_US);
	}
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_during_the_reading_is_answered),
		cmocka_unit_test(a_fault_is_answered_before_the_rest_is_read),
		cmocka_unit_test(commands_are_answered_before_the_rest_is_read),
		cmocka_unit_test(a_fault_next_to_the_manager_does_not_wait_for_what_goes_there),
		cmocka_unit_test(what_is_found_behind_a_fault_is_repaired_before_the_fabric_is_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
