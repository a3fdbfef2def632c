/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The daemon on the fabric double: from a dark fabric through faults and repairs to a restart.
 * Time is the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/audit/module.h"
#include "tests/lib/fabric_world.h"

static void a_dark_fabric_comes_up_proven_and_programmed(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	assert_true(is_up(&w));
	assert_int_equal(double_ports_not_active(w.hw), 0);
	assert_int_equal(status_number(&w, "proof", "reachable"), 256 * 255);
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 1);
	world_fini(&w);
}

/* .. and one for who is behind the manager's own port. */
static void an_idle_sweep_costs_one_smp_a_switch(void **state)
{
	struct world w;
	double before;

	world_init(&w, pod(1));
	before = status_number(&w, NULL, "smps_sent");
	run_for(&w, 10 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "smps_sent") - before, 12 + 1);
	world_fini(&w);
}

static void a_cut_cable_is_answered_by_a_trap_and_comes_back_the_same(void **state)
{
	struct world w;
	struct tables before = { 0 };

	world_init(&w, small_tree());
	uint32_t leaf = far_leaf(&w);
	unsigned port = uplink_of(w.design, leaf);
	tables_copy(&before, fabric_tables(w.fabric));
	double_cut(w.hw, w.design->nodes[leaf].guid, port);
	run_for(&w, SECOND_US / 10);
	assert_true(is_up(&w));
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	assert_true(status_number(&w, "last_fault", "lft_blocks_written") > 0);
	assert_true(status_number(&w, "last_fault", "detected_to_programmed_ms") < 50);
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 2);
	double_join(w.hw, w.design->nodes[leaf].guid, port);
	run_for(&w, SECOND_US / 10);
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	assert_memory_equal(before.lft, fabric_tables(w.fabric)->lft,
			    (size_t)before.nswitches * before.stride);
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	tables_fini(&before);
	world_fini(&w);
}

static void a_fault_whose_trap_is_lost_is_found_by_the_poll(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	double_set_traps(w.hw, false);
	double_cut(w.hw, w.design->nodes[far_leaf(&w)].guid, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, SECOND_US / 2);
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	run_for(&w, 11 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	assert_hardware_delivers(&w, 3);
	world_fini(&w);
}

static void a_restart_keeps_every_lid_and_sets_none(void **state)
{
	struct world w;
	uint16_t lids[256];

	world_init(&w, pod(1));
	for (uint32_t h = 0; h < 256; h++)
		lids[h] = lid_of(&w, h);
	stop_fabric(&w);
	double_sent_reset(w.hw);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	for (uint32_t h = 0; h < 256; h++)
		assert_int_equal(lid_of(&w, h), lids[h]);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_PORT_INFO), 0);
	world_fini(&w);
}

static void hosts_that_forgot_their_lids_get_the_same_again(void **state)
{
	struct world w;
	uint16_t lid;

	world_init(&w, small_tree());
	lid = lid_of(&w, 9);
	double_reboot(w.hw, w.design->nodes[w.design->nswitches + 9].guid);
	run_for(&w, 12 * SECOND_US);
	assert_int_equal(lid_of(&w, 9), lid);
	assert_int_equal(
		double_port_info(w.hw, w.design->nodes[w.design->nswitches + 9].guid, 1)->lid, lid);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	world_fini(&w);
}

static void a_host_that_is_renamed_is_known_by_its_new_name(void **state)
{
	struct world w;
	const struct topo *t;

	world_init(&w, small_tree());
	guid_t guid = w.design->nodes[w.design->nswitches + 9].guid;
	double_set_desc(w.hw, guid, "gpu-42 mlx5_0");
	run_for(&w, SECOND_US / 2);
	t = fabric_topo(w.fabric);
	assert_string_equal(t->nodes[topo_find(t, guid)].desc, "gpu-42 mlx5_0");
	world_fini(&w);
}

static void a_reload_reaches_the_switches(void **state)
{
	struct world w;
	guid_t sw;

	world_init(&w, small_tree());
	sw = w.design->nodes[far_leaf(&w)].guid;
	assert_int_equal(double_switch_info(w.hw, sw)->life_time, w.conf.ports.packet_life_time);
	w.conf.ports.packet_life_time = 15;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, SECOND_US);
	assert_int_equal(double_switch_info(w.hw, sw)->life_time, 15);
	world_fini(&w);
}

/* Many entries of a block change places, in several rounds. */
static void another_engine_reaches_every_switch_with_and_without_a_new_life_time(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	for (unsigned i = 0; i < 6; i++) {
		w.conf.routing.engine = i % 2 ? CONF_FTREE : CONF_UPDN;
		w.conf.ports.packet_life_time = (uint8_t)(12 + i / 2 % 2);
		fabric_configure(w.fabric, &w.conf);
		run_for(&w, SECOND_US);
		assert_hardware_holds_the_tables(&w);
	}
	world_fini(&w);
}

static void another_subnet_manager_is_reported(void **state)
{
	const struct wire_sm_info sm = { .guid = 0x4711, .priority = 5, .state = 3 };
	struct world w;

	world_init(&w, small_tree());
	assert_int_equal(count_logged(&w, "other-sm", ""), 0);
	double_set_sm(w.hw, w.design->nodes[w.design->nswitches + 5].guid, 1, &sm);
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, SECOND_US);
	assert_true(count_logged(&w, "other-sm", "") > 0);
	world_fini(&w);
}

static void a_switch_that_forgot_its_tables_gets_them_again(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	double_reboot(w.hw, w.design->nodes[far_leaf(&w)].guid);
	run_for(&w, 12 * SECOND_US);
	assert_true(is_up(&w));
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	world_fini(&w);
}

static void a_lid_that_two_ports_have_is_told_and_lids_of_ports_are_kept(void **state)
{
	struct world w;
	uint16_t lid;

	world_init(&w, small_tree());
	lid = lid_of(&w, 3);
	restart_with_corrupted(&w, "lids", "0x1 4000 0\n0x2 4000 0\n");
	assert_int_equal(lid_of(&w, 3), lid);
	world_fini(&w);
}

static void operators_commands_are_answered_once(void **state)
{
	struct world w;
	struct answer sweep = { 0 }, reroute = { 0 }, readback = { 0 };

	world_init(&w, small_tree());
	fabric_sweep(w.fabric, operation_cb, &sweep);
	fabric_reroute(w.fabric, operation_cb, &reroute);
	audit_readback(w.fabric, operation_cb, &readback);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(sweep.count, 1);
	assert_int_equal(reroute.count, 1);
	assert_int_equal(readback.count, 1);
	assert_false(sweep.failed || reroute.failed || readback.failed);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dark_fabric_comes_up_proven_and_programmed),
		cmocka_unit_test(an_idle_sweep_costs_one_smp_a_switch),
		cmocka_unit_test(a_cut_cable_is_answered_by_a_trap_and_comes_back_the_same),
		cmocka_unit_test(a_fault_whose_trap_is_lost_is_found_by_the_poll),
		cmocka_unit_test(a_restart_keeps_every_lid_and_sets_none),
		cmocka_unit_test(hosts_that_forgot_their_lids_get_the_same_again),
		cmocka_unit_test(a_host_that_is_renamed_is_known_by_its_new_name),
		cmocka_unit_test(a_reload_reaches_the_switches),
		cmocka_unit_test(
			another_engine_reaches_every_switch_with_and_without_a_new_life_time),
		cmocka_unit_test(another_subnet_manager_is_reported),
		cmocka_unit_test(a_switch_that_forgot_its_tables_gets_them_again),
		cmocka_unit_test(a_lid_that_two_ports_have_is_told_and_lids_of_ports_are_kept),
		cmocka_unit_test(operators_commands_are_answered_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
