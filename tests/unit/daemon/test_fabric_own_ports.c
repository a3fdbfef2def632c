/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A manager whose machine has several ports in its fabric loses the one in use, and goes on through
 * the next: the same process, with all that it knows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/election.h"
#include "fm/sm/module.h"
#include "tests/lib/fabric_world.h"

#define SECOND_PORT 5 /* hosts of the manager's machine, on other leaves than the first */
#define THIRD_PORT  10

static guid_t host(const struct world *w, uint32_t number)
{
	return w->design->nodes[w->design->nswitches + number].guid;
}

static guid_t leaf_of(const struct world *w, uint32_t number)
{
	const struct topo_port *seat =
		topo_peer(w->design, topo_port(w->design, w->design->nswitches + number, 1));

	return w->design->nodes[seat->node].guid;
}

static void open_world(struct world *w)
{
	world_init_stopped(w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	double_add_port(double_io(w->hw), host(w, SECOND_PORT), 1);
	double_add_port(double_io(w->hw), host(w, THIRD_PORT), 1);
	start_fabric(w);
	run_for(w, 20 * SECOND_US);
	assert_true(is_up(w));
}

static unsigned reregistered(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < w->design->ncas; i++)
		count += double_reregistered(w->hw, host(w, i), 1);
	return count;
}

static uint64_t blocks_written(const struct world *w)
{
	return double_sent(w->hw, WIRE_SET, WIRE_LFT);
}

static void assert_is_at(const struct world *w, uint32_t number)
{
	json_t *status = fabric_status(w->fabric);
	json_t *own = json_object_get(status, "own_port");
	char guid[32];

	snprintf(guid, sizeof(guid), "0x%016llx",
		 (unsigned long long)topo_port(w->design, w->design->nswitches + number, 1)->guid);
	assert_string_equal(json_string_value(json_object_get(status, "sm")), "master");
	assert_string_equal(json_string_value(json_object_get(own, "guid")), guid);
	assert_int_equal(json_integer_value(json_object_get(status, "sm_lid")),
			 double_port_info(w->hw, host(w, number), 1)->lid);
	json_decref(status);
	assert_null(sm_refuses(w->fabric));
}

/* All that have a link know where the manager is now. */
static void assert_hosts_turn_to(const struct world *w, uint32_t number)
{
	uint16_t lid = double_port_info(w->hw, host(w, number), 1)->lid;

	for (uint32_t i = 0; i < w->design->ncas; i++)
		if (double_port_info(w->hw, host(w, i), 1)->state >= TOPO_INIT)
			assert_int_equal(double_port_info(w->hw, host(w, i), 1)->sm_lid, lid);
}

/* A fault far from all of that. */
static void assert_handles_a_fault(struct world *w)
{
	const struct topo *t = w->design;
	uint32_t leaf = far_leaf(w);
	unsigned before = count_logged(w, "rerouted", "");
	uint8_t num = 1;

	while (!topo_peer(t, topo_port(t, leaf, num)) ||
	       topo_peer(t, topo_port(t, leaf, num))->node >= t->nswitches)
		num++;
	double_cut(w->hw, t->nodes[leaf].guid, num);
	run_for(w, SECOND_US / 2);
	assert_int_equal(count_logged(w, "rerouted", ""), before + 1);
	assert_true(status_number(w, "last_fault", "detected_to_programmed_ms") < 500);
}

static void assert_goes_on(struct world *w, uint32_t number, unsigned registered)
{
	assert_true(is_up(w));
	assert_is_at(w, number);
	assert_hosts_turn_to(w, number);
	assert_int_equal(count_logged(w, "up", ""), 1);
	assert_int_equal(count_logged(w, "port-moved", ""), 1);
	assert_int_equal(count_alerts(w, "no-link", ""), 0);
	assert_int_equal(count_alerts(w, "no-device", ""), 0);
	assert_int_equal(reregistered(w), registered);
	assert_int_equal(count_logged(w, "overwritten", ""), 0);
	assert_handles_a_fault(w);
}

static void its_leaf_is_switched_off(void **state)
{
	unsigned registered;
	struct world w;

	open_world(&w);
	registered = reregistered(&w);
	double_set_power(w.hw, leaf_of(&w, 0), false);
	run_for(&w, 2 * SECOND_US);
	assert_goes_on(&w, SECOND_PORT, registered);
	world_fini(&w);
}

static void its_cable_is_pulled_and_no_table_changes(void **state)
{
	unsigned registered;
	uint64_t blocks;
	struct world w;

	open_world(&w);
	registered = reregistered(&w);
	blocks = blocks_written(&w);
	double_cut(w.hw, host(&w, 0), 1);
	run_for(&w, 2 * SECOND_US);
	assert_in_range(blocks_written(&w), blocks, blocks + 1); /* its own at its leaf */
	assert_goes_on(&w, SECOND_PORT, registered);
	world_fini(&w);
}

static void its_adapter_goes(void **state)
{
	unsigned registered;
	struct world w;

	open_world(&w);
	registered = reregistered(&w);
	double_unplug(double_io(w.hw), true);
	run_for(&w, 2 * SECOND_US);
	assert_goes_on(&w, SECOND_PORT, registered);
	world_fini(&w);
}

/* It has power no more: no request of this machine to it is answered, and no error tells so. */
static void its_adapter_answers_nothing(void **state)
{
	unsigned registered;
	struct world w;

	open_world(&w);
	registered = reregistered(&w);
	double_set_power(w.hw, host(&w, 0), false);
	run_for(&w, SECOND_US);
	assert_goes_on(&w, SECOND_PORT, registered);
	world_fini(&w);
}

/*
 * They answer late, as those of a busy machine do: they are tried again, whether the own adapter
 * hangs or its link is down, and before it is long without one.
 */
static void others_that_did_not_answer_are_tried_again(void **state)
{
	for (unsigned down = 0; down < 2; down++) {
		struct world w;

		open_world(&w);
		double_cut(w.hw, host(&w, THIRD_PORT), 1);
		run_for(&w, 2 * SECOND_US);
		if (down)
			double_cut(w.hw, host(&w, 0), 1);
		else
			double_set_silent(w.hw, host(&w, 0), true);
		double_set_silent(w.hw, leaf_of(&w, SECOND_PORT), true);
		run_for(&w, down ? SECOND_US / 2 : 9 * SECOND_US / 10);
		double_set_silent(w.hw, leaf_of(&w, SECOND_PORT), false);
		run_for(&w, 2 * SECOND_US);
		assert_is_at(&w, SECOND_PORT);
		assert_true(is_up(&w));
		assert_int_equal(count_logged(&w, "port-moved", ""), 1);
		assert_handles_a_fault(&w);
		world_fini(&w);
	}
}

/* Its trap goes to the LID of before, where nobody is. */
static void a_fault_elsewhere_before_switches_know_the_next_lid_is_found(void **state)
{
	const struct topo *t;
	struct world w;
	uint32_t leaf;
	uint8_t num = 1;

	open_world(&w);
	t = w.design;
	leaf = far_leaf(&w);
	while (!topo_peer(t, topo_port(t, leaf, num)) ||
	       topo_peer(t, topo_port(t, leaf, num))->node >= t->nswitches)
		num++;
	double_cut(w.hw, host(&w, 0), 1);
	double_cut(w.hw, t->nodes[leaf].guid, num);
	run_for(&w, SECOND_US / 2);
	assert_is_at(&w, SECOND_PORT);
	assert_int_equal(status_number(&w, NULL, "links_down"), 2);
	world_fini(&w);
}

/* A host that was not told of the next LID yet shows the manager's own of before. */
static void a_port_that_shows_the_lid_of_before_was_not_overwritten(void **state)
{
	struct world w;

	open_world(&w);
	double_set_silent(w.hw, host(&w, 30), true);
	double_cut(w.hw, host(&w, 0), 1);
	while (!count_logged(&w, "port-moved", ""))
		run_for(&w, 100);
	run_for(&w, 100000);
	double_set_silent(w.hw, host(&w, 30), false);
	fabric_request_sweep(w.fabric, "test");
	run_for(&w, 5 * SECOND_US);
	assert_is_at(&w, SECOND_PORT);
	assert_hosts_turn_to(&w, SECOND_PORT);
	assert_int_equal(count_logged(&w, "overwritten", ""), 0);
	world_fini(&w);
}

/* Nobody answers at the others of the machine: it may be busy for a while. */
static void without_an_answer_at_any_port_it_stays(void **state)
{
	struct world w;
	double before;

	open_world(&w);
	before = status_number(&w, NULL, "role_changes");
	double_set_silent(w.hw, host(&w, 0), true);
	double_set_silent(w.hw, leaf_of(&w, SECOND_PORT), true);
	double_set_silent(w.hw, leaf_of(&w, THIRD_PORT), true);
	run_for(&w, 3 * SECOND_US / 2);
	double_set_silent(w.hw, host(&w, 0), false);
	run_for(&w, SECOND_US);
	double_set_silent(w.hw, leaf_of(&w, SECOND_PORT), false);
	double_set_silent(w.hw, leaf_of(&w, THIRD_PORT), false);
	run_for(&w, SECOND_US);
	assert_is_at(&w, 0);
	assert_int_equal(count_logged(&w, "port-moved", ""), 0);
	assert_true(status_number(&w, NULL, "role_changes") == before);
	world_fini(&w);
}

/* The second has another's place: it may be in any fabric. */
static void a_port_that_is_not_where_it_was_is_passed_over(void **state)
{
	unsigned registered;
	struct world w;

	open_world(&w);
	registered = reregistered(&w);
	double_set_traps(w.hw, false);
	double_cut(w.hw, host(&w, 20), 1);
	double_cut(w.hw, host(&w, SECOND_PORT), 1);
	double_swap(w.hw, host(&w, 20), 1, host(&w, SECOND_PORT), 1);
	double_join(w.hw, host(&w, SECOND_PORT), 1);
	double_cut(w.hw, host(&w, 0), 1);
	double_set_traps(w.hw, true);
	run_for(&w, 2 * SECOND_US);
	assert_is_at(&w, THIRD_PORT);
	assert_true(reregistered(&w) <= registered + 1);
	assert_handles_a_fault(&w);
	world_fini(&w);
}

/* Nothing else leads there: as with one port. */
static void without_another_way_it_waits_for_its_own(void **state)
{
	struct world w;

	open_world(&w);
	double_cut(w.hw, host(&w, SECOND_PORT), 1);
	double_cut(w.hw, host(&w, THIRD_PORT), 1);
	run_for(&w, 10 * SECOND_US);
	double_cut(w.hw, host(&w, 0), 1);
	run_for(&w, 10 * SECOND_US);
	assert_true(count_alerts(&w, "no-link", ""));
	double_join(w.hw, host(&w, 0), 1);
	run_for(&w, 3 * SECOND_US);
	assert_is_at(&w, 0);
	world_fini(&w);
}

/* While a fault is being handled, and requests are on their way by paths that are no more. */
static void it_is_lost_at_any_moment_of_a_reroute(void **state)
{
	for (unsigned us = 0; us < 6000; us += 150) {
		struct world w;

		open_world(&w);
		double_set_power(w.hw, leaf_of(&w, 40), false);
		run_for(&w, us);
		double_cut(w.hw, host(&w, 0), 1);
		run_for(&w, 5 * SECOND_US);
		assert_true(is_up(&w));
		assert_is_at(&w, SECOND_PORT);
		assert_hosts_turn_to(&w, SECOND_PORT);
		assert_int_equal(count_alerts(&w, "switches-silent", ""), 0);
		assert_int_equal(count_alerts(&w, "hcas-silent", ""), 0);
		world_fini(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_leaf_is_switched_off),
		cmocka_unit_test(its_cable_is_pulled_and_no_table_changes),
		cmocka_unit_test(its_adapter_goes),
		cmocka_unit_test(its_adapter_answers_nothing),
		cmocka_unit_test(others_that_did_not_answer_are_tried_again),
		cmocka_unit_test(a_port_that_shows_the_lid_of_before_was_not_overwritten),
		cmocka_unit_test(a_fault_elsewhere_before_switches_know_the_next_lid_is_found),
		cmocka_unit_test(without_an_answer_at_any_port_it_stays),
		cmocka_unit_test(a_port_that_is_not_where_it_was_is_passed_over),
		cmocka_unit_test(without_another_way_it_waits_for_its_own),
		cmocka_unit_test(it_is_lost_at_any_moment_of_a_reroute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
