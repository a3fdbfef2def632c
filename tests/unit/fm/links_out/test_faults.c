/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Links that cannot be made Active, and switches that take no Set: what is isolated of them, and
 * till when.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "tests/lib/faults_room.h"

/* ---- Links ----------------------------------------------------------------------------------- */

static void isolate(struct room *r, guid_t node, uint8_t port)
{
	links_out_ask(&r->f,
		      &(struct out_ask){ .cause = OUT_NOT_ACTIVE, .node = node, .port = port });
}

static void a_link_that_cannot_be_made_active_is_isolated_until_it_is_active_or_down(void **state)
{
	struct room r;
	struct inv_port *port;

	isolation_begin(&r);
	port = &inv(&r.b, r.sw)->ports[1];
	isolate(&r, r.sw, 1);
	isolate(&r, port->peer->guid, port->peer_port);
	assert_int_equal(count_in_force(&r), 0);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(count_rows(&r), 1);
	assert_int_equal(count_in_force(&r), 1);
	assert_int_equal(r.f.asked.reroutes, 1);
	port->state = port->peer->ports[port->peer_port].state = TOPO_ACTIVE;
	isolation_annotate(&r);
	assert_int_equal(count_rows(&r), 0);
	isolation_end(&r);
}

static void too_much_of_a_tier_is_not_isolated_but_reported(void **state)
{
	struct room r;

	isolation_begin(&r);
	for (uint32_t i = r.b.found->nswitches - 3; i < r.b.found->nswitches; i++)
		for (uint8_t p = 1; p <= 16; p++)
			isolate(&r, r.b.found->nodes[i].guid, p);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(count_rows(&r), 48);
	assert_int_equal(count_in_force(&r), 0);
	assert_int_equal(r.f.asked.reroutes, 0);
	assert_true(refusing_is_alerted(&r));
	isolation_end(&r);
}

/* ---- Switches that take no Set --------------------------------------------------------------- */

/* A sweep could not clear the switch's PortStateChange; it holds tables, or none. */
static void suspect_with_top(struct room *r, guid_t sw, uint16_t top)
{
	inv(&r->b, sw)->sw.lft_top = top;
	sweep_node(inv(&r->b, sw))->keeps_change = true;
	assert_null(r->f.module->swept(
		r->f.room,
		&(struct fabric_swept){ .step = FABRIC_SWEEP_ENDED,
					.result = &(struct sweep_result){ .refusing = 1 } }));
}

static void suspect(struct room *r, guid_t sw)
{
	suspect_with_top(r, sw, 1);
}

/* Until the suspect was sent so many tries of a Set, to the last time-out. */
static void run_to_tries(struct room *r, unsigned tries)
{
	for (unsigned i = 0; i < 10000 && sets(&r->b, WIRE_SWITCH_INFO) < tries; i++)
		fake_run_for(&r->f, SECOND_US / 1000);
	assert_int_equal(sets(&r->b, WIRE_SWITCH_INFO), tries);
}

static void a_switch_that_takes_no_set_is_isolated_and_sent_none(void **state)
{
	struct room r;

	isolation_begin(&r);
	double_set_no_sets(r.b.d, r.sw, true);
	suspect(&r, r.sw);
	fake_run_for(&r.f, 10 * SECOND_US);
	assert_int_equal(count_in_force(&r), 1);
	assert_int_equal(r.f.asked.reroutes, 1);
	assert_true(inv_node_is(inv(&r.b, r.sw), INV_NO_SETS));
	isolation_annotate(&r);
	assert_true(inv_port_is(inv(&r.b, r.sw), 1, INV_ISOLATED));
	isolation_end(&r);
}

/* The sweep has asked it; it has no path to lose. */
static void a_switch_without_tables_that_takes_no_set_is_isolated_without_another_question(
	void **state)
{
	struct room r;

	isolation_begin(&r);
	double_set_no_sets(r.b.d, r.sw, true);
	suspect_with_top(&r, r.sw, 0);
	assert_int_equal(count_rows(&r), 1);
	assert_int_equal(sets(&r.b, WIRE_SWITCH_INFO), 0);
	isolation_end(&r);
}

static void sets_that_are_lost_are_no_refusal_where_a_later_one_is_taken(void **state)
{
	struct room r;

	isolation_begin(&r);
	double_set_no_sets(r.b.d, r.sw, true);
	suspect(&r, r.sw);
	run_to_tries(&r, 3 * TRIES);
	assert_int_equal(count_rows(&r), 0);
	double_set_no_sets(r.b.d, r.sw, false);
	fake_run_for(&r.f, 10 * SECOND_US);
	assert_in_range(sets(&r.b, WIRE_SWITCH_INFO), 3 * TRIES, 3 * TRIES + 1);
	assert_int_equal(count_rows(&r), 0);
	assert_int_equal(r.f.asked.reroutes, 0);
	assert_false(inv_node_is(inv(&r.b, r.sw), INV_NO_SETS));
	isolation_end(&r);
}

static void written(void *arg, const struct program_result *result)
{
}

/*
 * What is recorded of the switch is not what it holds: the answer to its last Set was lost, and a
 * link of it has changed since.
 */
static void to_be_asked_whether_it_takes_a_set_changes_nothing_at_a_switch(void **state)
{
	struct room r;
	struct inv_node *node;

	isolation_begin(&r);
	program_apply(r.program, r.b.found, &r.tables, written, NULL);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(double_switch_info(r.b.d, r.sw)->lft_top, r.tables.top);
	double_set_traps(r.b.d, false);
	double_cut(r.b.d, r.sw, 9);
	node = inv(&r.b, r.sw);
	node->sw.port_state_change = true;
	double_sent_reset(r.b.d);
	suspect(&r, r.sw);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(sets(&r.b, WIRE_SWITCH_INFO), 1);
	assert_int_equal(double_switch_info(r.b.d, r.sw)->lft_top, r.tables.top);
	assert_true(double_switch_info(r.b.d, r.sw)->port_state_change);
	assert_int_equal(count_rows(&r), 0);
	isolation_end(&r);
}

static void a_switch_that_answers_a_set_with_a_status_is_isolated_at_once(void **state)
{
	struct room r;

	isolation_begin(&r);
	double_set_refuses(r.b.d, r.sw, true);
	suspect(&r, r.sw);
	fake_run_for(&r.f, SECOND_US / 2);
	assert_int_equal(count_in_force(&r), 1);
	assert_int_equal(sets(&r.b, WIRE_SWITCH_INFO), 1);
	isolation_end(&r);
}

static void a_switch_that_answers_nothing_is_left_to_the_sweep(void **state)
{
	struct room r;

	isolation_begin(&r);
	double_set_silent(r.b.d, r.sw, true);
	suspect(&r, r.sw);
	fake_run_for(&r.f, 10 * SECOND_US);
	assert_int_equal(count_rows(&r), 0);
	assert_int_equal(sets(&r.b, WIRE_SWITCH_INFO), 0);
	isolation_end(&r);
}

static void switches_that_refuse_are_judged_together_when_all_were_asked(void **state)
{
	const struct topo *t;
	struct room r;

	isolation_begin(&r);
	t = r.b.found;
	double_set_refuses(r.b.d, t->nodes[t->nswitches - 1].guid, true);
	double_set_no_sets(r.b.d, t->nodes[t->nswitches - 2].guid, true);
	double_set_no_sets(r.b.d, t->nodes[t->nswitches - 3].guid, true);
	for (unsigned i = 1; i <= 3; i++)
		suspect(&r, t->nodes[t->nswitches - i].guid);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(count_rows(&r), 1);
	assert_int_equal(count_in_force(&r), 0);
	fake_run_for(&r.f, 10 * SECOND_US);
	assert_int_equal(count_rows(&r), 3);
	assert_int_equal(count_in_force(&r), 0);
	assert_true(refusing_is_alerted(&r));
	isolation_end(&r);
}

static void it_is_probed_once_a_minute_and_released_by_the_first_set_that_it_takes(void **state)
{
	struct room r;
	uint64_t before;

	isolation_begin(&r);
	double_set_no_sets(r.b.d, r.sw, true);
	suspect(&r, r.sw);
	fake_run_for(&r.f, 10 * SECOND_US);
	before = sets(&r.b, WIRE_SWITCH_INFO);
	fake_run_for(&r.f, 3 * MINUTE_US);
	assert_int_equal(sets(&r.b, WIRE_SWITCH_INFO), before + 3);
	r.f.standby = true;
	fake_run_for(&r.f, 3 * MINUTE_US);
	assert_int_equal(sets(&r.b, WIRE_SWITCH_INFO), before + 3);
	r.f.standby = false;
	double_set_no_sets(r.b.d, r.sw, false);
	fake_run_for(&r.f, MINUTE_US);
	assert_int_equal(count_rows(&r), 0);
	assert_false(inv_node_is(inv(&r.b, r.sw), INV_NO_SETS));
	assert_int_equal(r.f.asked.refreshed, r.sw);
	assert_int_equal(r.f.asked.reroutes, 2);
	isolation_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_link_that_cannot_be_made_active_is_isolated_until_it_is_active_or_down),
		cmocka_unit_test(too_much_of_a_tier_is_not_isolated_but_reported),
		cmocka_unit_test(a_switch_that_takes_no_set_is_isolated_and_sent_none),
		cmocka_unit_test(
			a_switch_without_tables_that_takes_no_set_is_isolated_without_another_question),
		cmocka_unit_test(sets_that_are_lost_are_no_refusal_where_a_later_one_is_taken),
		cmocka_unit_test(to_be_asked_whether_it_takes_a_set_changes_nothing_at_a_switch),
		cmocka_unit_test(a_switch_that_answers_a_set_with_a_status_is_isolated_at_once),
		cmocka_unit_test(a_switch_that_answers_nothing_is_left_to_the_sweep),
		cmocka_unit_test(switches_that_refuse_are_judged_together_when_all_were_asked),
		cmocka_unit_test(
			it_is_probed_once_a_minute_and_released_by_the_first_set_that_it_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
