/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A fabric of uneven design by the daemon, on the fabric double: balanced once it is quiet, and
 * left so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/fabric/pipe.h"
#include "routing/report/report.h"
#include "tests/fabric/disguise.h"
#include "tests/lib/fabric_world.h"
#include "tests/lib/fabrics.h"

#define HOLD_US (5 * SECOND_US)
#define GAP_US	20000 /* behind each step, where a test looks between two */

/* Three tiers, and one pod without one of its spines. */
static struct topo *tree_with_a_gap(void)
{
	static const unsigned m[] = { 4, 4, 4 }, w[] = { 1, 4, 4 };
	char err[256];
	struct topo *t = generate_pgft(3, m, w, NULL, err, sizeof(err));
	struct topo *less = disguise_without(t, find_desc(t, "spine-0002"));

	topo_unref(t);
	return less;
}

static double overrides(const struct world *w)
{
	return status_number(w, "rebalance", "overrides");
}

static void be_quiet(struct world *w)
{
	run_for(w, HOLD_US + 2 * SECOND_US);
}

static struct tables copy_of_tables(const struct world *w)
{
	struct tables copy = { 0 };

	tables_copy(&copy, fabric_tables(w->fabric));
	return copy;
}

static void assert_sound(const struct world *w)
{
	assert_true(is_up(w));
	assert_int_equal(status_number(w, "proof", "unreachable"), 0);
	assert_hardware_holds_the_tables(w);
	assert_hardware_delivers(w, 5);
}

static void an_uneven_design_is_balanced_without_any_damage(void **state)
{
	struct world w;

	world_init(&w, tree_with_a_gap());
	be_quiet(&w);
	assert_true(overrides(&w) > 0);
	assert_int_equal(count_logged(&w, "rebalanced", ""), 1);
	assert_sound(&w);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(count_logged(&w, "rebalanced", ""), 1);
	world_fini(&w);
}

static void first_tables_do_not_wait_until_they_are_even(void **state)
{
	struct world w;

	world_init_stopped(&w, tree_with_a_gap());
	start_fabric(&w);
	while (!is_up(&w)) {
		assert_null(fabric_even(w.fabric));
		run_for(&w, 1000);
	}
	run_for(&w, SECOND_US);
	assert_non_null(fabric_even(w.fabric));
	assert_sound(&w);
	world_fini(&w);
}

/* Many switches for the search that makes it even: that stops several times. */
static struct topo *wide_tree_with_a_gap(void)
{
	static const unsigned m[] = { 8, 8, 8 }, w[] = { 1, 8, 8 };
	char err[256];
	struct topo *t = generate_pgft(3, m, w, NULL, err, sizeof(err));
	struct topo *less = disguise_without(t, find_desc(t, "spine-0002"));

	topo_unref(t);
	return less;
}

static void a_fault_does_not_wait_until_first_tables_are_even(void **state)
{
	struct world w;

	world_init_stopped(&w, wide_tree_with_a_gap());
	loop_set_pace(w.loop, (struct loop_pace){ .slice_us = 0, .gap_us = GAP_US });
	start_fabric(&w);
	while (!is_up(&w) || !fabric_update_step(w.fabric))
		run_for(&w, GAP_US);
	while (strcmp(fabric_update_step(w.fabric), "route"))
		run_for(&w, GAP_US);
	run_for(&w, GAP_US);
	assert_string_equal(fabric_update_step(w.fabric), "route");
	double_cut(w.hw, w.design->nodes[find_desc(w.design, "leaf-0009")].guid, 10);
	while (status_number(&w, NULL, "links_down") < 1)
		run_for(&w, GAP_US);
	assert_null(fabric_even(w.fabric));
	loop_set_pace(w.loop, (struct loop_pace){ .slice_us = 1000, .gap_us = 0 });
	run_for(&w, 2 * SECOND_US);
	assert_non_null(fabric_even(w.fabric));
	assert_sound(&w);
	world_fini(&w);
}

static void a_fault_and_its_repair_leave_the_design_alone(void **state)
{
	struct world w;
	struct tables before;
	struct delta delta;
	double was;
	guid_t leaf;

	world_init(&w, tree_with_a_gap());
	be_quiet(&w);
	before = copy_of_tables(&w);
	was = overrides(&w);
	leaf = w.design->nodes[find_desc(w.design, "leaf-0009")].guid;
	double_cut(w.hw, leaf, 5);
	run_for(&w, SECOND_US);
	delta_count(&before, fabric_tables(w.fabric), &delta);
	assert_true(delta.entries > 0);
	assert_int_equal(delta.entries, delta_minimum(fabric_topo(w.fabric), fabric_lids(w.fabric),
						      "ftree", &before, fabric_tables(w.fabric)));
	be_quiet(&w);
	assert_true(overrides(&w) >= was);
	double_join(w.hw, leaf, 5);
	run_for(&w, SECOND_US);
	be_quiet(&w);
	assert_true(overrides(&w) == was);
	delta_count(&before, fabric_tables(w.fabric), &delta);
	assert_int_equal(delta.entries, 0);
	assert_sound(&w);
	tables_fini(&before);
	world_fini(&w);
}

/* Entries that a fault of the leaf's port 5 changes, by the double. */
static uint64_t entries_changed(struct world *w, const struct tables *before)
{
	struct delta delta;

	run_for(w, SECOND_US);
	delta_count(before, fabric_tables(w->fabric), &delta);
	assert_sound(w);
	return delta.entries;
}

static void a_link_at_one_lane_carries_no_transit_until_it_is_well(void **state)
{
	struct world w;
	struct tables before;
	uint64_t cut, slow;
	guid_t leaf;
	uint32_t port;

	world_init(&w, small_tree());
	be_quiet(&w);
	before = copy_of_tables(&w);
	leaf = w.design->nodes[find_desc(w.design, "leaf-0001")].guid;
	port = topo_port_of(fabric_topo(w.fabric), leaf,
			    uplink_of(w.design, find_desc(w.design, "leaf-0001")));
	double_cut(w.hw, leaf, fabric_topo(w.fabric)->ports[port].num);
	cut = entries_changed(&w, &before);
	double_join(w.hw, leaf, fabric_topo(w.fabric)->ports[port].num);
	assert_int_equal(entries_changed(&w, &before), 0);
	double_retrain(w.hw, leaf, fabric_topo(w.fabric)->ports[port].num, 1);
	slow = entries_changed(&w, &before);
	print_message("a cut changes %lu entries, one lane %lu\n", cut, slow);
	assert_in_range(slow, 1, cut);
	assert_int_equal(count_alerts(&w, "links-slow", ""), 1);
	assert_true(fabric_topo(w.fabric)->ports[port].link_up);
	assert_true(fabric_topo(w.fabric)->ports[port].quarantined);
	/* Half of the lanes are not below half. */
	double_retrain(w.hw, leaf, fabric_topo(w.fabric)->ports[port].num, 2);
	assert_int_equal(entries_changed(&w, &before), 0);
	double_retrain(w.hw, leaf, fabric_topo(w.fabric)->ports[port].num, 4);
	assert_int_equal(entries_changed(&w, &before), 0);
	tables_fini(&before);
	world_fini(&w);
}

#define PASS_US (5 * SECOND_US)

/* Passes over all counters until an unseen change of the link's lanes is in force. */
static unsigned passes_until(struct world *w, guid_t leaf, unsigned num, unsigned lanes, bool off)
{
	unsigned passes = 0;

	double_degrade(w->hw, leaf, num, TOPO_SPEED_NONE, lanes);
	while (passes < 12 &&
	       topo_port(fabric_topo(w->fabric), topo_find(fabric_topo(w->fabric), leaf), num)
			       ->quarantined != off) {
		run_for(w, PASS_US);
		passes++;
	}
	assert_sound(w);
	return passes;
}

static void a_link_that_trains_down_unseen_is_met_by_the_passes_over_counters(void **state)
{
	struct world w;
	struct tables before;
	struct delta delta;
	unsigned num, lost, moved;
	guid_t leaf;

	world_init_stopped(&w, small_tree());
	w.conf.perf.interval_ms = PASS_US / 1000;
	w.conf.audit.rate = 0;
	start_fabric(&w);
	be_quiet(&w);
	before = copy_of_tables(&w);
	leaf = w.design->nodes[find_desc(w.design, "leaf-0001")].guid;
	num = uplink_of(w.design, find_desc(w.design, "leaf-0001"));
	lost = passes_until(&w, leaf, num, 1, true);
	assert_int_equal(count_alerts(&w, "links-slow", ""), 1);
	/* A port whose link has recovered since is read in the same pass. */
	double_set_counter(w.hw, leaf, num, PERF_RECOVERED, 1);
	moved = passes_until(&w, leaf, num, 0, false);
	print_message("passes until lanes are met: %u, %u where the counter moved\n", lost, moved);
	assert_in_range(lost, 1, 10);
	assert_in_range(moved, 1, 2);
	delta_count(&before, fabric_tables(w.fabric), &delta);
	assert_int_equal(delta.entries, 0);
	tables_fini(&before);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_uneven_design_is_balanced_without_any_damage),
		cmocka_unit_test(first_tables_do_not_wait_until_they_are_even),
		cmocka_unit_test(a_fault_does_not_wait_until_first_tables_are_even),
		cmocka_unit_test(a_fault_and_its_repair_leave_the_design_alone),
		cmocka_unit_test(a_link_at_one_lane_carries_no_transit_until_it_is_well),
		cmocka_unit_test(a_link_that_trains_down_unseen_is_met_by_the_passes_over_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
