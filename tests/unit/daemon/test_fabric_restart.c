/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a restart of the daemon is to a fabric that is damaged, or changes meanwhile: nothing, or no
 * more than it must. On the fabric double.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "fm/restart/module.h"
#include "tests/lib/restart_world.h"

static void a_whole_fabric_is_read_and_not_written(void **state)
{
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	before = seen_of(&w);
	restart(&w);
	assert_seen_again(&w, &before);
	assert_int_equal(blocks_written(&w), 0);
	assert_int_equal(blocks_read(&w), before.tables.nswitches * tables_blocks(&before.tables));
	assert_int_equal(status_number(&w, NULL, "lft_blocks_written"), 0);
	assert_int_equal(count_logged(&w, "tables-held", "0 differed, 0 rewritten"), 1);
	restart(&w);
	assert_int_equal(blocks_written(&w), 0);
	seen_fini(&before);
	world_fini(&w);
}

static void damage_is_remembered_and_nothing_moves(void **state)
{
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	damage(&w);
	before = seen_of(&w);
	assert_true(before.links_down > 3 && json_is_object(before.at_risk));
	for (unsigned i = 0; i < 3; i++) {
		restart(&w);
		assert_seen_again(&w, &before);
		assert_int_equal(blocks_written(&w), 0);
	}
	seen_fini(&before);
	world_fini(&w);
}

static void what_is_repaired_after_a_restart_is_as_it_was_designed(void **state)
{
	struct world w;
	struct seen designed;
	uint32_t leaf;

	world_init(&w, small_tree());
	designed = seen_of(&w);
	leaf = far_leaf(&w);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	restart(&w);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	double_join(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	assert_seen_again(&w, &designed);
	assert_hardware_holds_the_tables(&w);
	seen_fini(&designed);
	world_fini(&w);
}

static void what_rebalancing_moved_stays_moved(void **state)
{
	struct world w;
	struct seen before;
	uint32_t leaf;

	world_init(&w, pod(2));
	leaf = far_leaf(&w);
	for (unsigned i = 0; i < 3; i++)
		double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf) + i);
	run_for(&w, 10 * SECOND_US);
	assert_true(status_number(&w, "rebalance", "overrides") > 0);
	before = seen_of(&w);
	restart(&w);
	assert_seen_again(&w, &before);
	run_for(&w, 10 * SECOND_US); /* and the next pass finds the same */
	assert_seen_again(&w, &before);
	assert_int_equal(blocks_written(&w), 0);
	seen_fini(&before);
	world_fini(&w);
}

static json_t *first_down(const struct world *w)
{
	json_t *rows = links_down(w->fabric), *since;

	assert_int_equal(json_array_size(rows), 1);
	since = json_incref(json_object_get(json_array_get(rows, 0), "since"));
	json_decref(rows);
	assert_true(json_is_string(since));
	return since;
}

/* Its row says when; what it says is shown. */
static void since_when_a_cable_is_down_outlives_a_restart(void **state)
{
	struct world w;
	json_t *since;

	world_init(&w, small_tree());
	double_cut(w.hw, w.design->nodes[far_leaf(&w)].guid, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, SECOND_US);
	json_decref(first_down(&w));
	stop_fabric(&w);
	assert_int_equal(rows_run(w.state_dir, "UPDATE state SET sum = NULL, value = "
					       "rtrim(value, '0123456789') || '1000000000' WHERE "
					       "kind = 'cables' AND value NOT LIKE '% 0'"),
			 1);
	start_again(&w);
	since = first_down(&w);
	assert_string_equal(json_string_value(since), "2001-09-09T01:46:40Z");
	json_decref(since);
	world_fini(&w);
}

static unsigned blocks_that_differ(const struct tables *a, const struct tables *b)
{
	unsigned count = 0;

	for (uint32_t sw = 0; sw < a->nswitches; sw++)
		for (uint32_t block = 0; block < tables_blocks(a); block++)
			count +=
				memcmp(tables_row(a, sw) + block * TABLES_BLOCK,
				       tables_row(b, sw) + block * TABLES_BLOCK, TABLES_BLOCK) != 0;
	return count;
}

static void a_cable_that_dies_meanwhile_moves_what_it_would_have_moved_anyway(void **state)
{
	struct world w;
	struct seen before, alive;
	uint32_t leaf;

	world_init(&w, small_tree());
	before = seen_of(&w);
	leaf = far_leaf(&w);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	alive = seen_of(&w);
	double_join(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	assert_seen_again(&w, &before);
	stop_fabric(&w);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	start_again(&w);
	assert_seen_again(&w, &alive);
	assert_int_equal(blocks_written(&w), blocks_that_differ(&before.tables, &alive.tables));
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 5);
	seen_fini(&before);
	seen_fini(&alive);
	world_fini(&w);
}

static void a_switch_that_dies_meanwhile_is_known_to_be_down(void **state)
{
	struct world w;
	struct seen before;
	uint32_t spine = 0;

	world_init(&w, small_tree());
	before = seen_of(&w);
	while (!w.design->nodes[spine].level)
		spine++;
	stop_fabric(&w);
	cut_all_of(&w, spine);
	start_again(&w);
	assert_int_equal(status_number(&w, NULL, "links"), before.links);
	assert_true(status_number(&w, NULL, "links_down") > 0);
	assert_int_equal(status_number(&w, NULL, "switches"), w.design->nswitches);
	assert_hardware_delivers(&w, 6);
	for (unsigned num = 1; num <= w.design->nodes[spine].nports; num++)
		if (topo_port(w.design, spine, num)->link_up)
			double_join(w.hw, w.design->nodes[spine].guid, num);
	run_for(&w, 2 * SECOND_US);
	assert_seen_again(&w, &before);
	assert_hardware_holds_the_tables(&w);
	seen_fini(&before);
	world_fini(&w);
}

static void a_switch_that_rebooted_meanwhile_is_written_alone(void **state)
{
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	before = seen_of(&w);
	stop_fabric(&w);
	double_reboot(w.hw, w.design->nodes[far_leaf(&w)].guid);
	start_again(&w);
	run_for(&w, 10 * SECOND_US);
	assert_seen_again(&w, &before);
	assert_int_equal(blocks_written(&w), tables_blocks(&before.tables));
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	seen_fini(&before);
	world_fini(&w);
}

static void what_another_manager_wrote_meanwhile_is_found_and_repaired(void **state)
{
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	before = seen_of(&w);
	stop_fabric(&w);
	for (uint32_t sw = 0; sw < 3; sw++) {
		guid_t guid = w.design->nodes[sw].guid;

		double_set_lft(w.hw, guid, 5, double_lft(w.hw, guid, 5) == 1 ? 2 : 1);
	}
	start_again(&w);
	assert_int_equal(blocks_written(&w), 3);
	assert_int_equal(count_logged(&w, "tables-held", "3 differ"), 1);
	assert_seen_again(&w, &before);
	assert_hardware_holds_the_tables(&w);
	seen_fini(&before);
	world_fini(&w);
}

static void what_is_forgotten_is_not_known_any_more(void **state)
{
	struct reply one = { 0 }, again = { 0 }, all = { 0 }, none = { 0 };
	struct world w;
	char name[32];
	uint32_t leaf;

	world_init(&w, small_tree());
	damage(&w);
	double down = status_number(&w, NULL, "links_down");
	leaf = far_leaf(&w);
	snprintf(name, sizeof(name), "0x%016llx:%u", (unsigned long long)w.design->nodes[leaf].guid,
		 uplink_of(w.design, leaf));
	links_out_forget(w.fabric, name, reply_cb, &one);
	run_for(&w, SECOND_US);
	links_out_forget(w.fabric, name, reply_cb, &again);
	assert_int_equal(one.count + again.count, 2);
	assert_string_equal(one.error, "");
	assert_true(again.error[0]);
	assert_int_equal(status_number(&w, NULL, "links_down"), down - 1);
	assert_int_equal(status_number(&w, NULL, "switches"), w.design->nswitches);
	links_out_forget(w.fabric, NULL, reply_cb, &all);
	run_for(&w, SECOND_US);
	assert_string_equal(all.error, "");
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	assert_int_equal(status_number(&w, NULL, "links"), w.design->nlinks - down);
	assert_int_equal(status_number(&w, NULL, "switches"), w.design->nswitches - 1);
	assert_int_equal(status_number(&w, NULL, "hcas"), w.design->ncas - 1);
	links_out_forget(w.fabric, NULL, reply_cb, &none);
	assert_true(none.error[0]);
	assert_hardware_holds_the_tables(&w);
	restart(&w);
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	assert_int_equal(blocks_written(&w), 0);
	double_join(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links"), w.design->nlinks - down + 1);
	json_decref(one.result);
	json_decref(all.result);
	world_fini(&w);
}

static void nothing_is_forgotten_before_the_first_sweep(void **state)
{
	struct reply r = { 0 };
	struct world w;

	world_init(&w, small_tree());
	stop_fabric(&w);
	start_fabric(&w);
	links_out_forget(w.fabric, NULL, reply_cb, &r);
	assert_true(r.error[0]);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links"), w.design->nlinks);
	world_fini(&w);
}

/* Its agent answers nothing, and it forwards on. */
static void a_switch_whose_agent_hangs_loses_no_path_by_a_restart(void **state)
{
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	double_set_silent(w.hw, w.design->nodes[far_leaf(&w)].guid, true);
	run_for(&w, 15 * SECOND_US);
	before = seen_of(&w);
	assert_int_equal(before.links_down, 0);
	for (unsigned i = 0; i < 2; i++) {
		stop_fabric(&w);
		double_sent_reset(w.hw);
		start_fabric(&w);
		run_for(&w, 15 * SECOND_US);
		assert_true(is_up(&w));
		assert_seen_again(&w, &before);
		assert_int_equal(blocks_written(&w), 0);
		assert_int_equal(status_number(&w, NULL, "silent"), 1);
	}
	double_set_silent(w.hw, w.design->nodes[far_leaf(&w)].guid, false);
	run_for(&w, 15 * SECOND_US);
	assert_seen_again(&w, &before);
	assert_int_equal(status_number(&w, NULL, "silent"), 0);
	seen_fini(&before);
	world_fini(&w);
}

static unsigned pairs_that_arrive(const struct world *w)
{
	const struct topo *t = w->design;
	unsigned count = 0;

	for (uint32_t from = 0; from < t->ncas; from++)
		for (uint32_t to = 0; to < t->ncas; to++)
			count +=
				from != to &&
				double_trace_data(
					w->hw, t->nodes[t->nswitches + from].guid, 1,
					double_port_info(w->hw, t->nodes[t->nswitches + to].guid, 1)
						->lid) >= 0;
	return count;
}

/* Switches and hosts at random, in a damaged fabric too: what forwards goes on forwarding. */
static void any_agents_that_hang_lose_nobody_a_path_by_a_restart(void **state)
{
	const char *seeds = getenv("SEEDS");

	log_set_level(-1, LOG_ERR - 1);
	for (int seed = getenv("FROM") ? atoi(getenv("FROM")) : 1;
	     seed <= (seeds ? atoi(seeds) : 25); seed++) {
		struct world w;
		uint32_t own_leaf; /* behind it fmd would see nothing */
		unsigned before;
		bool up;

		srand((unsigned)seed);
		world_init(&w, small_tree());
		own_leaf = topo_peer(w.design, topo_port(w.design, w.design->nswitches, 1))->node;
		if (seed % 3 == 0)
			damage(&w);
		for (int i = 0; i < 1 + seed % 5; i++) {
			uint32_t node = (uint32_t)rand() % w.design->nnodes;

			if (node != w.design->nswitches && node != own_leaf)
				double_set_silent(w.hw, w.design->nodes[node].guid, true);
		}
		run_for(&w, 15 * SECOND_US);
		before = pairs_that_arrive(&w);
		up = is_up(&w);
		stop_fabric(&w);
		double_sent_reset(w.hw);
		start_fabric(&w);
		for (unsigned i = 0; i < 40; i++) {
			run_for(&w, SECOND_US / 4);
			if (pairs_that_arrive(&w) < before)
				fail_msg("seed %d: %u pairs of %u after %u ms", seed,
					 pairs_that_arrive(&w), before, (i + 1) * 250);
		}
		if (!is_up(&w) && up)
			fail_msg("seed %d: not up", seed);
		world_fini(&w);
	}
}

/* Its state says what there is; who does not answer is asked beside. */
static void a_restart_does_not_wait_for_those_that_do_not_answer(void **state)
{
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	for (unsigned i = 0; i < 3; i++)
		double_set_silent(w.hw, w.design->nodes[w.design->nswitches + 4 + i].guid, true);
	double_set_silent(w.hw, w.design->nodes[far_leaf(&w)].guid, true);
	run_for(&w, 15 * SECOND_US);
	before = seen_of(&w);
	stop_fabric(&w);
	double_sent_reset(w.hw);
	start_fabric(&w);
	run_for(&w, SECOND_US);
	assert_true(is_up(&w));
	assert_seen_again(&w, &before);
	run_for(&w, 15 * SECOND_US);
	assert_seen_again(&w, &before);
	assert_int_equal(blocks_written(&w), 0);
	seen_fini(&before);
	world_fini(&w);
}

static void a_silent_switch_with_64_links_costs_a_restart_one_round_of_tries(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	double_set_silent(w.hw, w.design->nodes[find_desc(w.design, "spine-03")].guid, true);
	run_for(&w, 15 * SECOND_US);
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, SECOND_US / 4);
	assert_true(is_up(&w));
	world_fini(&w);
}

static void a_host_whose_agent_hangs_keeps_its_paths_over_a_restart(void **state)
{
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	double_set_silent(w.hw, w.design->nodes[w.design->nswitches + 5].guid, true);
	run_for(&w, 15 * SECOND_US);
	before = seen_of(&w);
	stop_fabric(&w);
	double_sent_reset(w.hw);
	start_fabric(&w);
	run_for(&w, 15 * SECOND_US);
	assert_true(is_up(&w));
	assert_seen_again(&w, &before);
	assert_int_equal(blocks_written(&w), 0);
	seen_fini(&before);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_fabric_is_read_and_not_written),
		cmocka_unit_test(damage_is_remembered_and_nothing_moves),
		cmocka_unit_test(what_is_repaired_after_a_restart_is_as_it_was_designed),
		cmocka_unit_test(what_rebalancing_moved_stays_moved),
		cmocka_unit_test(since_when_a_cable_is_down_outlives_a_restart),
		cmocka_unit_test(a_cable_that_dies_meanwhile_moves_what_it_would_have_moved_anyway),
		cmocka_unit_test(a_switch_that_dies_meanwhile_is_known_to_be_down),
		cmocka_unit_test(a_switch_that_rebooted_meanwhile_is_written_alone),
		cmocka_unit_test(what_another_manager_wrote_meanwhile_is_found_and_repaired),
		cmocka_unit_test(a_switch_whose_agent_hangs_loses_no_path_by_a_restart),
		cmocka_unit_test(any_agents_that_hang_lose_nobody_a_path_by_a_restart),
		cmocka_unit_test(a_restart_does_not_wait_for_those_that_do_not_answer),
		cmocka_unit_test(a_silent_switch_with_64_links_costs_a_restart_one_round_of_tries),
		cmocka_unit_test(a_host_whose_agent_hangs_keeps_its_paths_over_a_restart),
		cmocka_unit_test(what_is_forgotten_is_not_known_any_more),
		cmocka_unit_test(nothing_is_forgotten_before_the_first_sweep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
