/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain, sanitized in check-long. Storms of minutes are simulated. */
/*
 * What traps cost and bring about, on the fabric double: the hold-down, storms, sources that repeat
 * a trap, traps about errors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/perf/module.h"
#include "tests/fabric/double_own.h"
#include "tests/fabric/fault.h"
#include "tests/lib/trap_world.h"

/* So many of one switch, evenly in time. */
static void repeat_trap(struct world *w, guid_t sw, uint16_t trap, unsigned port, unsigned count,
			uint64_t us)
{
	struct wire_notice notice = switch_notice(w, sw, trap, port);

	for (unsigned i = 0; i < count; i++) {
		send_trap(w, sw, 0, &notice, i + 1);
		run_for(w, us / count);
	}
}

static void ten_thousand_traps_of_one_port_cost_next_to_nothing(void **state)
{
	struct world w;
	double smps;
	uint64_t repressed;

	world_init(&w, pod(1));
	smps = status_number(&w, NULL, "smps_sent");
	repressed = double_sent(w.hw, WIRE_TRAP_REPRESS, 0);
	repeat_trap(&w, far_leaf_guid(&w), 128, 0, 10000, 20 * SECOND_US);
	assert_int_equal(status_number(&w, "traps", "received"), 10000);
	/*
	 * Two sweeps of 12 switches among them; a leaf without news is asked by three packets, and
	 * once for all of its ports.
	 */
	assert_in_range(status_number(&w, NULL, "smps_sent") - smps, 24 + 3,
			24 + 12 * 3 + w.design->nodes[far_leaf(&w)].nports);
	assert_true(status_number(&w, NULL, "reroutes") < 16);
	/* 500 a second came: all are repressed. */
	assert_int_equal(double_sent(w.hw, WIRE_TRAP_REPRESS, 0) - repressed, 10000);
	world_fini(&w);
}

static void answers_to_a_noisy_trap_source_are_bounded(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	repeat_trap(&w, far_leaf_guid(&w), 128, 0, 10000, SECOND_US);
	assert_in_range(double_sent(w.hw, WIRE_TRAP_REPRESS, 0), 100, 1100);
	assert_int_equal(double_sent(w.hw, WIRE_TRAP_REPRESS, 0) +
				 (uint64_t)status_number(&w, "traps", "not_repressed"),
			 10000);
	world_fini(&w);
}

static void a_noisy_trap_source_does_not_delay_the_fault_of_another(void **state)
{
	struct world w;
	uint32_t leaf = TOPO_NONE;
	unsigned port;

	world_init(&w, pod(1));
	repeat_trap(&w, far_leaf_guid(&w), 128, 0, 2000, 10 * SECOND_US);
	for (uint32_t sw = 0; sw < w.design->nswitches && leaf == TOPO_NONE; sw++)
		if (w.design->nodes[sw].level == 0 && sw != far_leaf(&w))
			leaf = sw;
	port = uplink_of(w.design, leaf);
	double_cut(w.hw, w.design->nodes[leaf].guid, port);
	repeat_trap(&w, far_leaf_guid(&w), 128, 0, 20, SECOND_US / 20);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	assert_true(status_number(&w, "last_fault", "detected_to_programmed_ms") < 20);
	world_fini(&w);
}

/*
 * The fault of a source that is throttled by now is found later, but long before its next poll
 * would be due.
 */
static void a_noisy_trap_sources_own_fault_is_found_too(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	repeat_trap(&w, far_leaf_guid(&w), 128, 0, 500, 2 * SECOND_US);
	double_cut(w.hw, far_leaf_guid(&w), uplink_of(w.design, far_leaf(&w)));
	repeat_trap(&w, far_leaf_guid(&w), 128, 0, 100, 3 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	world_fini(&w);
}

static void traps_of_nobody_known_do_not_make_sweep_after_sweep(void **state)
{
	struct world w;
	struct wire_notice notice;
	uint64_t asked;
	uint16_t lid;

	world_init(&w, pod(1));
	notice = switch_notice(&w, far_leaf_guid(&w), 128, 0);
	lid = notice.lid;
	asked = double_sent(w.hw, WIRE_GET, WIRE_NODE_INFO);
	for (unsigned i = 0; i < 2000; i++) {
		notice.lid = (uint16_t)(20000 + i); /* each another, and sent from it */
		double_set_lid(w.hw, far_leaf_guid(&w), 0, notice.lid);
		send_trap(&w, far_leaf_guid(&w), 0, &notice, i + 1);
		run_for(&w, SECOND_US / 200);
		double_set_lid(w.hw, far_leaf_guid(&w), 0, lid);
	}
	asked = double_sent(w.hw, WIRE_GET, WIRE_NODE_INFO) - asked;
	/* A discovery is some 400 of them; LIDs of another manager are read again each second. */
	assert_in_range(asked, 400, 400 * 24);
	world_fini(&w);
}

/* 200 cables of 512 within a second, at random moments. */
static void cut_in_a_storm(struct world *w, uint64_t seed, unsigned count)
{
	for (unsigned cut = 0; cut < count;) {
		uint32_t sw = damage_random(&seed) % w->design->nswitches;
		unsigned port = 1 + damage_random(&seed) % 64;
		const struct topo_port *peer = topo_peer(w->design, topo_port(w->design, sw, port));

		if (!peer || peer->node >= w->design->nswitches ||
		    double_link_state(w->hw, w->design->nodes[sw].guid, port) == TOPO_DOWN)
			continue;
		double_cut(w->hw, w->design->nodes[sw].guid, port);
		cut++;
		run_for(w, damage_random(&seed) % (2 * SECOND_US / count));
	}
}

static void two_hundred_cables_within_a_second_take_few_reroutes(void **state)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct world w;
		double before;

		world_init(&w, pod(2));
		before = status_number(&w, NULL, "reroutes");
		cut_in_a_storm(&w, seed, 200);
		run_for(&w, SECOND_US / 2);
		assert_true(is_up(&w));
		assert_int_equal(status_number(&w, NULL, "links_down"), 200);
		/* Hold-downs last 16 ms at first, and 250 ms in the end. */
		assert_in_range(status_number(&w, NULL, "reroutes") - before, 2, 20);
		assert_hardware_holds_the_tables(&w);
		assert_hardware_delivers(&w, seed);
		world_fini(&w);
	}
}

static void after_a_storm_a_fault_is_answered_at_once_again(void **state)
{
	struct world w;

	world_init(&w, pod(2));
	cut_in_a_storm(&w, 9, 60);
	run_for(&w, 3 * SECOND_US);
	cut_in_a_storm(&w, 10, 1);
	run_for(&w, SECOND_US / 2);
	assert_true(status_number(&w, "last_fault", "detected_to_programmed_ms") < 20);
	world_fini(&w);
}

/* An uplink of the n-th leaf. */
static void turn_uplink(struct world *w, unsigned n, unsigned which, bool up)
{
	uint32_t sw = 0;

	for (; w->design->nodes[sw].level || n--; sw++)
		;

	guid_t leaf = w->design->nodes[sw].guid;
	unsigned port = uplink_of(w->design, sw) + which;

	if (up)
		double_join(w->hw, leaf, port);
	else
		double_cut(w->hw, leaf, port);
}

static void faults_of_many_right_behind_repairs_are_answered_at_once(void **state)
{
	struct world w;

	world_init(&w, pod(2));
	for (unsigned round = 0; round < 8; round++) {
		/* In turn at other switches than the round before, and at the same. */
		unsigned leaf = round / 2 % 2 * 8;

		for (unsigned i = 0; i < 8; i++)
			turn_uplink(&w, leaf + i, i, false);
		run_for(&w, SECOND_US / 10);
		assert_int_equal(status_number(&w, NULL, "links_down"), 8);
		assert_int_equal(dead_pairs(&w), 0);
		for (unsigned i = 0; i < 8; i++) {
			turn_uplink(&w, leaf + i, i, true);
			run_for(&w, 2000);
		}
		while (!is_up(&w) || status_number(&w, NULL, "links_down"))
			run_for(&w, 1000);
	}
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

/*
 * A spine's traps come behind those of its leaves, so that its sweeps find what is known. Then the
 * trap of a leaf is lost.
 */
static void true_traps_that_come_late_do_not_have_their_source_throttled(void **state)
{
	struct world w;

	world_init(&w, pod(1));

	guid_t leaf = far_leaf_guid(&w);
	unsigned port = uplink_of(w.design, far_leaf(&w)) + 3; /* its traps go by another */
	uint32_t end = topo_peer(w.design, topo_port(w.design, far_leaf(&w), port))->node;
	guid_t spine = w.design->nodes[end].guid;
	struct wire_notice notice = switch_notice(&w, spine, 128, 0);

	fault_set(w.hw, fault_find("mum"), spine, 0, 1);
	for (unsigned i = 0; i < 6; i++) {
		if (i % 2)
			double_join(w.hw, leaf, port);
		else
			double_cut(w.hw, leaf, port);
		run_for(&w, SECOND_US / 10);
		send_trap(&w, spine, 0, &notice, i + 1);
		run_for(&w, SECOND_US / 10);
	}
	run_for(&w, SECOND_US / 2); /* the light sweep behind the repair is over */
	double_set_traps(w.hw, false);
	double_cut(w.hw, leaf, port);
	send_trap(&w, spine, 0, &notice, 7);
	run_for(&w, SECOND_US / 20);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	assert_int_equal(dead_pairs(&w), 0);
	world_fini(&w);
}

/* The manager that cleared PortStateChange at both ends of the link is not ours. */
static void a_fault_is_found_though_another_manager_cleared_portstatechange(void **state)
{
	struct world w;

	world_init(&w, pod(1));

	guid_t leaf = far_leaf_guid(&w);
	unsigned port = uplink_of(w.design, far_leaf(&w));
	uint32_t end = topo_peer(w.design, topo_port(w.design, far_leaf(&w), port))->node;

	run_for(&w, 3 * SECOND_US);
	double_cut(w.hw, leaf, port);
	double_node(w.hw, leaf)->si.port_state_change = false;
	double_node(w.hw, w.design->nodes[end].guid)->si.port_state_change = false;
	run_for(&w, SECOND_US / 10);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	assert_int_equal(dead_pairs(&w), 0);
	world_fini(&w);
}

/* ---- Errors ---- */

static json_t *sick_row(const struct world *w, const char *why)
{
	json_t *rows = link_health_links(w->fabric), *row, *found = NULL;
	size_t i;

	json_array_foreach (rows, i, row)
		if (strstr(json_string_value(json_object_get(row, "why")), why))
			found = json_incref(row);
	json_decref(rows);
	return found;
}

static void traps_about_errors_are_counted_reported_and_change_nothing(void **state)
{
	struct world w;
	double smps;
	json_t *row;

	world_init(&w, pod(1));
	guid_t leaf = far_leaf_guid(&w);
	unsigned port = uplink_of(w.design, far_leaf(&w));
	smps = status_number(&w, NULL, "smps_sent");
	repeat_trap(&w, leaf, 129, port, 8, 4 * SECOND_US);
	assert_int_equal(count_logged(&w, "port-errors", ""), 0); /* within the rate */
	repeat_trap(&w, leaf, 129, port, 500, 5 * SECOND_US);
	repeat_trap(&w, leaf, 131, port, 5, SECOND_US);
	assert_int_equal(count_logged(&w, "port-errors", "link integrity errors"), 1);
	assert_int_equal(count_logged(&w, "port-errors", ""), 1);
	assert_int_equal(status_number(&w, "traps", "errors"), 513);
	assert_true(status_number(&w, NULL, "smps_sent") - smps <= 13); /* the poll's */
	row = sick_row(&w, "508 traps: link integrity errors");
	assert_non_null(row);
	assert_string_equal(json_string_value(json_object_get(row, "sick")), "errors");
	json_decref(row);
	world_fini(&w);
}

static void wrong_keys_are_reported_with_who_sent_them(void **state)
{
	struct world w;
	struct wire_notice notice;

	world_init(&w, pod(1));
	const struct topo_node *host = &w.design->nodes[w.design->nswitches + 9];
	notice = switch_notice(&w, far_leaf_guid(&w), 257, 0);
	notice.lid = lid_of(&w, 9);
	for (unsigned i = 0; i < 30; i++) {
		send_trap(&w, far_leaf_guid(&w), 0, &notice, i + 1);
		run_for(&w, SECOND_US / 10);
	}
	assert_int_equal(count_logged(&w, "key-violations", host->desc), 1);
	assert_int_equal(count_logged(&w, "key-violations", "wrong P_Keys"), 1);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_thousand_traps_of_one_port_cost_next_to_nothing),
		cmocka_unit_test(answers_to_a_noisy_trap_source_are_bounded),
		cmocka_unit_test(a_noisy_trap_source_does_not_delay_the_fault_of_another),
		cmocka_unit_test(a_noisy_trap_sources_own_fault_is_found_too),
		cmocka_unit_test(traps_of_nobody_known_do_not_make_sweep_after_sweep),
		cmocka_unit_test(two_hundred_cables_within_a_second_take_few_reroutes),
		cmocka_unit_test(after_a_storm_a_fault_is_answered_at_once_again),
		cmocka_unit_test(true_traps_that_come_late_do_not_have_their_source_throttled),
		cmocka_unit_test(a_fault_is_found_though_another_manager_cleared_portstatechange),
		cmocka_unit_test(faults_of_many_right_behind_repairs_are_answered_at_once),
		cmocka_unit_test(traps_about_errors_are_counted_reported_and_change_nothing),
		cmocka_unit_test(wrong_keys_are_reported_with_who_sent_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
