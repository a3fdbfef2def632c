/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Re-balancing by the daemon, on the fabric double: when it comes, what it keeps, and where it
 * ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/report/report.h"
#include "tests/lib/fabric_world.h"

#define HOLD_US (5 * SECOND_US)

struct cable {
	guid_t sw;
	unsigned port;
};

/* The n-th cable between switches, from the end. */
static struct cable cable(const struct world *w, unsigned n)
{
	for (uint32_t sw = w->design->nswitches; sw-- > 0;)
		for (unsigned num = w->design->nodes[sw].nports; num > 0; num--) {
			const struct topo_port *peer =
				topo_peer(w->design, topo_port(w->design, sw, num));

			if (peer && peer->node < w->design->nswitches && !n--)
				return (struct cable){ w->design->nodes[sw].guid, num };
		}
	fail();
	return (struct cable){ 0 };
}

static void cut(struct world *w, unsigned n)
{
	double_cut(w->hw, cable(w, n).sw, cable(w, n).port);
	run_for(w, SECOND_US / 2);
}

static void join(struct world *w, unsigned n)
{
	double_join(w->hw, cable(w, n).sw, cable(w, n).port);
	run_for(w, SECOND_US / 2);
}

static void wait_for_quiet(struct world *w)
{
	run_for(w, HOLD_US + 2 * SECOND_US);
}

static double overrides(const struct world *w)
{
	return status_number(w, "rebalance", "overrides");
}

static const char *rebalance_state(const struct world *w)
{
	static const char *const states[] = { "off", "waiting", "working", "done" };
	json_t *status = fabric_status(w->fabric);
	const char *said =
		json_string_value(json_object_get(json_object_get(status, "rebalance"), "state"));
	const char *state = "none";

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		state = !strcmp(said, states[i]) ? states[i] : state;
	json_decref(status);
	return state;
}

static void assert_sound(const struct world *w)
{
	assert_true(is_up(w));
	assert_int_equal(status_number(w, "proof", "unreachable"), 0);
	assert_int_equal(status_number(w, "proof", "credit_cycles"), 0);
	assert_hardware_holds_the_tables(w);
	assert_hardware_delivers(w, 5);
}

static struct tables copy_of_tables(const struct world *w)
{
	struct tables copy = { 0 };

	tables_copy(&copy, fabric_tables(w->fabric));
	return copy;
}

static bool same_as(const struct world *w, const struct tables *older)
{
	const struct tables *now = fabric_tables(w->fabric);

	return now->stride == older->stride &&
	       !memcmp(now->lft, older->lft, (size_t)now->nswitches * now->stride);
}

/*
 * ---- When ---------------------------------------------------------------------------------------
 */

static void a_damaged_fabric_is_balanced_once_it_is_idle(void **state)
{
	struct world w;
	struct tables at_once;

	world_init(&w, pod(2));
	cut(&w, 3);
	cut(&w, 40);
	at_once = copy_of_tables(&w);
	run_for(&w, HOLD_US - 2 * SECOND_US);
	assert_true(same_as(&w, &at_once));
	run_for(&w, 3 * SECOND_US);
	assert_int_equal(count_logged(&w, "rebalanced", ""), 1);
	assert_string_equal(rebalance_state(&w), "done");
	assert_true(overrides(&w) > 0);
	assert_false(same_as(&w, &at_once));
	assert_sound(&w);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(count_logged(&w, "rebalanced", ""), 1);
	assert_int_equal(count_logged(&w, "refused", ""), 0);
	tables_fini(&at_once);
	world_fini(&w);
}

static void a_whole_fabric_is_left_alone(void **state)
{
	struct world w;
	double written;

	world_init(&w, pod(1));
	written = status_number(&w, NULL, "lft_blocks_written");
	run_for(&w, 20 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "lft_blocks_written"), written);
	assert_int_equal(count_logged(&w, "rebalanced", ""), 0);
	world_fini(&w);
}

static void configure(struct world *w, int entries, int hold_ms)
{
	w->conf.rebalance.entries = entries;
	w->conf.rebalance.hold_ms = hold_ms;
	fabric_configure(w->fabric, &w->conf);
	run_for(w, SECOND_US / 2);
}

static void it_can_be_off_and_what_was_moved_goes_back(void **state)
{
	struct world w;
	struct tables at_once;

	world_init(&w, pod(2));
	configure(&w, 0, 5000);
	cut(&w, 3);
	at_once = copy_of_tables(&w);
	wait_for_quiet(&w);
	assert_true(same_as(&w, &at_once));
	configure(&w, 7, 1000);
	wait_for_quiet(&w);
	assert_true(overrides(&w) > 0 && overrides(&w) <= 7);
	configure(&w, 1000, 0);
	assert_int_equal(overrides(&w), 0);
	assert_true(same_as(&w, &at_once));
	assert_sound(&w);
	tables_fini(&at_once);
	world_fini(&w);
}

/*
 * The pass takes a second here; a fault in the middle of it is answered, and its answer is not the
 * pass's of before.
 */
static void a_fault_in_the_middle_of_a_pass_ends_it(void **state)
{
	struct world w;

	world_init(&w, pod(2));
	cut(&w, 3);
	loop_set_pace(w.loop, (struct loop_pace){ .slice_us = 0, .gap_us = SECOND_US / 10 });
	run_for(&w, HOLD_US);
	assert_string_equal(rebalance_state(&w), "working");
	double_cut(w.hw, cable(&w, 90).sw, cable(&w, 90).port);
	run_for(&w, 3 * SECOND_US);
	assert_string_equal(rebalance_state(&w), "waiting");
	assert_int_equal(status_number(&w, NULL, "links_down"), 2);
	assert_int_equal(count_logged(&w, "rebalanced", ""), 0);
	assert_sound(&w);
	loop_set_pace(w.loop, (struct loop_pace){ .slice_us = 1000, .gap_us = 0 });
	run_for(&w, 2 * HOLD_US);
	assert_int_equal(count_logged(&w, "rebalanced", ""), 1);
	assert_sound(&w);
	world_fini(&w);
}

/*
 * ---- What is kept -------------------------------------------------------------------------------
 */

static void the_next_fault_changes_only_what_used_it(void **state)
{
	struct world w;
	struct tables before;
	struct delta delta;

	world_init(&w, pod(2));
	cut(&w, 3);
	cut(&w, 40);
	wait_for_quiet(&w);
	assert_true(overrides(&w) > 0);
	before = copy_of_tables(&w);
	cut(&w, 77);
	delta_count(&before, fabric_tables(w.fabric), &delta);
	assert_true(delta.entries > 0);
	assert_int_equal(delta.entries, delta_minimum(fabric_topo(w.fabric), fabric_lids(w.fabric),
						      "ftree", &before, fabric_tables(w.fabric)));
	assert_sound(&w);
	tables_fini(&before);
	world_fini(&w);
}

static void a_leaf_that_dies_takes_nothing_back_that_was_moved_elsewhere(void **state)
{
	struct world w;
	struct tables before;
	struct delta delta;
	uint32_t dead;

	world_init(&w, pod(2));
	dead = find_desc(w.design, "leaf-su01-rail2");
	cut(&w, 3);
	cut(&w, 40);
	wait_for_quiet(&w);
	assert_true(overrides(&w) > 0);
	before = copy_of_tables(&w);
	for (unsigned num = 1; num <= w.design->nodes[dead].nports; num++)
		double_cut(w.hw, w.design->nodes[dead].guid, num);
	run_for(&w, 3 * SECOND_US);
	delta_count(&before, fabric_tables(w.fabric), &delta);
	assert_int_equal(delta.entries, delta_minimum(fabric_topo(w.fabric), fabric_lids(w.fabric),
						      "ftree", &before, fabric_tables(w.fabric)));
	assert_true(overrides(&w) > 0);
	wait_for_quiet(&w);
	run_for(&w, 10 * SECOND_US);
	assert_true(overrides(&w) > 0);
	assert_string_equal(rebalance_state(&w), "done");
	assert_int_equal(count_logged(&w, "rebalanced", "0.00 -> 0.00"), 0);
	assert_int_equal(count_logged(&w, "rebalanced", " 0 entries"), 0);
	tables_fini(&before);
	world_fini(&w);
}

static void a_whole_fabric_has_its_first_tables_again_at_once(void **state)
{
	struct world w;
	struct tables whole;

	world_init(&w, pod(2));
	whole = copy_of_tables(&w);
	cut(&w, 3);
	cut(&w, 40);
	wait_for_quiet(&w);
	join(&w, 40);
	assert_true(overrides(&w) > 0);
	join(&w, 3);
	assert_int_equal(overrides(&w), 0);
	assert_true(same_as(&w, &whole));
	assert_sound(&w);
	wait_for_quiet(&w);
	assert_true(same_as(&w, &whole));
	assert_int_equal(count_logged(&w, "rebalanced", ""), 1);
	tables_fini(&whole);
	world_fini(&w);
}

static void an_operators_reroute_ends_where_it_began(void **state)
{
	struct world w;
	struct answer answer = { 0 };
	struct tables before;

	world_init(&w, pod(2));
	cut(&w, 3);
	wait_for_quiet(&w);
	before = copy_of_tables(&w);
	fabric_reroute(w.fabric, operation_cb, &answer);
	wait_for_quiet(&w);
	assert_int_equal(answer.count, 1);
	assert_true(same_as(&w, &before));
	assert_int_equal(count_logged(&w, "rebalanced", ""), 1);
	tables_fini(&before);
	world_fini(&w);
}

static void questions_are_answered_with_what_is_in_force(void **state)
{
	struct world w;
	struct tables answer = { 0 };

	world_init(&w, pod(2));
	cut(&w, 3);
	wait_for_quiet(&w);
	assert_true(overrides(&w) > 0);
	try_present(w.fabric, &answer);
	assert_true(same_as(&w, &answer));
	tables_fini(&answer);
	world_fini(&w);
}

/*
 * ---- Where it ends ------------------------------------------------------------------------------
 */

static void the_same_damage_ends_in_the_same_tables_whatever_came_before(void **state)
{
	struct world a, b;
	struct tables ended;

	world_init(&a, pod(2));
	cut(&a, 3);
	cut(&a, 40);
	wait_for_quiet(&a);
	ended = copy_of_tables(&a);
	world_init(&b, pod(2));
	cut(&b, 40);
	wait_for_quiet(&b);
	cut(&b, 77);
	wait_for_quiet(&b);
	cut(&b, 3);
	join(&b, 77);
	assert_false(same_as(&b, &ended));
	wait_for_quiet(&b);
	assert_true(same_as(&b, &ended));
	assert_int_equal(overrides(&a), overrides(&b));
	assert_sound(&b);
	tables_fini(&ended);
	world_fini(&a);
	world_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_damaged_fabric_is_balanced_once_it_is_idle),
		cmocka_unit_test(a_whole_fabric_is_left_alone),
		cmocka_unit_test(it_can_be_off_and_what_was_moved_goes_back),
		cmocka_unit_test(a_fault_in_the_middle_of_a_pass_ends_it),
		cmocka_unit_test(the_next_fault_changes_only_what_used_it),
		cmocka_unit_test(a_leaf_that_dies_takes_nothing_back_that_was_moved_elsewhere),
		cmocka_unit_test(a_whole_fabric_has_its_first_tables_again_at_once),
		cmocka_unit_test(an_operators_reroute_ends_where_it_began),
		cmocka_unit_test(questions_are_answered_with_what_is_in_force),
		cmocka_unit_test(the_same_damage_ends_in_the_same_tables_whatever_came_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
