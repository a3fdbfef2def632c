/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Traffic in the fabric double: ports count what flows through them by the tables and links in
 * force.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "tests/fabric/double_world.h"

#define SECOND_US	     1000000
#define WORDS(mbps, seconds) ((uint64_t)((mbps)*1e6 * (seconds) / 32))

enum { NDR_4X = 400000, EDR_4X = 100000 };

static void stop_cb(void *arg)
{
	loop_stop(arg);
}

static void run_for(struct double_world *w, uint64_t us)
{
	struct loop_timer *timer = loop_timer_new(w->loop, stop_cb, w->loop);

	loop_timer_set(timer, us);
	loop_run(w->loop);
	loop_timer_free(timer);
}

static uint64_t counted(struct double_world *w, guid_t node, unsigned port, enum perf_counter what)
{
	return double_counter(w->d, node, port, what);
}

static void assert_about(uint64_t value, uint64_t wanted)
{
	assert_in_range(value, wanted - wanted / 1000 - 2, wanted + wanted / 1000 + 2);
}

static void ports_on_the_path_count_a_flow(void **state)
{
	struct double_world w;
	struct double_load load;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	double_load_pair(w.d, H2, 1, H1, 1, 500); /* h2's cable is EDR */
	run_for(&w, 2 * SECOND_US);
	assert_about(counted(&w, H2, 1, PERF_XMIT_DATA), WORDS(EDR_4X / 2, 2));
	assert_about(counted(&w, LEAF2, 1, PERF_RCV_DATA), WORDS(EDR_4X / 2, 2));
	assert_about(counted(&w, SPINE, 1, PERF_XMIT_DATA), WORDS(EDR_4X / 2, 2));
	assert_about(counted(&w, SPINE, 1, PERF_XMIT_PACKETS), WORDS(EDR_4X / 2, 2) / 1024);
	assert_about(counted(&w, H1, 1, PERF_RCV_DATA), WORDS(EDR_4X / 2, 2));
	assert_int_equal(counted(&w, H1, 1, PERF_XMIT_DATA), 0);
	assert_int_equal(counted(&w, SPINE, 2, PERF_XMIT_DATA), 0);
	load = double_load(w.d);
	assert_int_equal(load.flows, 1);
	assert_int_equal(load.stopped, 0);
	double_load_off(w.d);
	run_for(&w, SECOND_US);
	assert_about(counted(&w, H1, 1, PERF_RCV_DATA), WORDS(EDR_4X / 2, 2)); /* no more */
	double_world_fini(&w);
}

/* h1 sends faster than h2's cable takes: it waits for the rest of the time. */
static void what_a_link_does_not_carry_waits_before_it(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	double_load_pair(w.d, H1, 1, H2, 1, 1000);
	run_for(&w, SECOND_US);
	assert_about(counted(&w, H2, 1, PERF_RCV_DATA), WORDS(EDR_4X, 1));
	assert_about(counted(&w, H1, 1, PERF_XMIT_DATA), WORDS(EDR_4X, 1));
	assert_about(counted(&w, H1, 1, PERF_XMIT_WAIT), WORDS(NDR_4X - EDR_4X, 1));
	assert_int_equal(counted(&w, LEAF2, 1, PERF_XMIT_WAIT), 0); /* it is busy all the time */
	assert_int_equal(counted(&w, LEAF2, 1, PERF_XMIT_DISCARDS), 0);
	double_world_fini(&w);
}

static void a_flow_without_a_path_is_counted_where_it_is_dropped(void **state)
{
	struct double_world w;
	uint64_t before;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	double_load_pair(w.d, H1, 1, H2, 1, 100);
	run_for(&w, SECOND_US);
	before = counted(&w, H2, 1, PERF_RCV_DATA);
	double_set_lft(w.d, SPINE, LID_H2, 255);
	run_for(&w, SECOND_US);
	assert_int_equal(counted(&w, H2, 1, PERF_RCV_DATA), before);
	assert_about(counted(&w, SPINE, 1, PERF_RCV_DATA), 2 * before);
	assert_about(counted(&w, SPINE, 1, PERF_RCV_RELAY), before / 1024);
	assert_int_equal(double_load(w.d).stopped, 1);
	double_set_lft(w.d, SPINE, LID_H2, 2);
	run_for(&w, SECOND_US);
	assert_about(counted(&w, H2, 1, PERF_RCV_DATA), 2 * before);
	double_cut(w.d, LEAF2, 1);
	run_for(&w, SECOND_US);
	assert_about(counted(&w, LEAF2, 1, PERF_XMIT_DISCARDS), before / 1024);
	assert_about(counted(&w, H2, 1, PERF_RCV_DATA), 2 * before);
	double_world_fini(&w);
}

/*
 * Nobody looks for a while, and something changed meanwhile: each part is counted by its own way.
 */
static void a_change_counts_from_when_it_happened(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	double_load_pair(w.d, H1, 1, H2, 1, 100);
	run_for(&w, 3 * SECOND_US);
	double_set_lft(w.d, LEAF1, LID_H2, 255);
	run_for(&w, 5 * SECOND_US);
	assert_about(counted(&w, H2, 1, PERF_RCV_DATA), WORDS(NDR_4X / 10, 3));
	assert_about(counted(&w, H1, 1, PERF_XMIT_DATA), WORDS(NDR_4X / 10, 8));
	double_world_fini(&w);
}

static void a_shift_sends_from_each_host_to_the_like_hca_of_another(void **state)
{
	struct double_world w;
	struct double_load load;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	double_load_shift(w.d, 1, 200);
	load = double_load(w.d);
	assert_int_equal(load.flows, 2); /* h1 to h2, h2 to h1 */
	assert_int_equal(load.stopped, 0);
	run_for(&w, SECOND_US);
	assert_about(counted(&w, H2, 1, PERF_RCV_DATA), WORDS(NDR_4X / 5, 1));
	assert_about(counted(&w, H1, 1, PERF_RCV_DATA), WORDS(EDR_4X / 5, 1));
	double_world_fini(&w);
}

/* perfquery -R */
static void counters_are_cleared_as_far_as_they_are_selected(void **state)
{
	uint8_t data[WIRE_GMP_DATA] = { 0 };
	struct double_world w;
	struct mad_request request = { .lid = LID_LEAF2,
				       .mgmt_class = WIRE_PERF,
				       .attr_id = WIRE_PORT_COUNTERS,
				       .data = data };

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	double_set_counter(w.d, LEAF2, 1, PERF_SYMBOL, 7);
	double_set_counter(w.d, LEAF2, 1, PERF_DOWNED, 8);
	wire_perf_ask(1, data);
	data[WIRE_PERF_OFFSET + 2] = 0;
	data[WIRE_PERF_OFFSET + 3] = 1; /* CounterSelect: symbol errors */
	assert_int_equal(double_world_ask(&w, request), MAD_OK);
	assert_int_equal(counted(&w, LEAF2, 1, PERF_SYMBOL), 0);
	assert_int_equal(counted(&w, LEAF2, 1, PERF_DOWNED), 8);
	double_world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_on_the_path_count_a_flow),
		cmocka_unit_test(what_a_link_does_not_carry_waits_before_it),
		cmocka_unit_test(a_flow_without_a_path_is_counted_where_it_is_dropped),
		cmocka_unit_test(a_change_counts_from_when_it_happened),
		cmocka_unit_test(a_shift_sends_from_each_host_to_the_like_hca_of_another),
		cmocka_unit_test(counters_are_cleared_as_far_as_they_are_selected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
