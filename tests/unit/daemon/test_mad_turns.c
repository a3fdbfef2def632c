/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A device works at one SMP after the other, so what waits for many devices is spread over them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/fabric/mad_world.h"
#include "tests/lib/fabric_world.h"

/*
 * ---- Who is next ------------------------------------------------------------------------------
 */

static void devices_take_turns(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .window_max = 1 });
	for (guid_t device = 1; device <= 3; device++)
		mad_world_ask_many(&w, 4, device, (uint32_t)device);
	for (unsigned i = 0; i < w.io->nsent; i++)
		mad_world_answer(&w, i);
	assert_int_equal(w.done, 12);
	/* The second of the first device was there before the others. */
	for (unsigned i = 1; i < 10; i++)
		assert_int_equal(mad_world_sent_mod(&w, i), 1 + (i - 1) % 3);
	mad_world_fini(&w);
}

static void a_full_window_goes_to_as_many_devices_as_there_are(void **state)
{
	unsigned to[8] = { 0 };
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .window_max = 32, .window_device = 16 });
	for (guid_t device = 0; device < 8; device++)
		mad_world_ask_many(&w, 60, device + 1, (uint32_t)device);
	for (unsigned i = 0; i < 32 + 8 * 20; i++)
		mad_world_answer(&w, i);
	for (unsigned i = w.io->nsent - 32; i < w.io->nsent; i++)
		to[mad_world_sent_mod(&w, i)]++;
	for (unsigned device = 0; device < 8; device++)
		assert_int_equal(to[device], 4);
	mad_world_fini(&w);
}

static void requests_of_a_device_keep_their_order(void **state)
{
	struct mad_world w;
	uint32_t last[4] = { 0 };

	mad_world_init(&w, (struct mad_conf){ .window_max = 5, .window_device = 2 });
	for (uint32_t i = 0; i < 200; i++)
		mad_world_ask(
			&w, (struct mad_request){ .device = i * i % 7 % 3 + 1, .attr_mod = i + 1 });
	for (unsigned i = 0; i < w.io->nsent; i++)
		mad_world_answer(&w, i);
	assert_int_equal(w.io->nsent, 200);
	for (unsigned i = 0; i < 200; i++) {
		uint32_t mod = mad_world_sent_mod(&w, i), asked = mod - 1;
		uint32_t device = asked * asked % 7 % 3 + 1;

		assert_true(mod > last[device]);
		last[device] = mod;
	}
	mad_world_fini(&w);
}

static void a_request_of_no_device_waits_for_one_turn_of_each(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .window_max = 1 });
	mad_world_ask_many(&w, 100, 1, 1);
	mad_world_ask_many(&w, 100, 2, 2);
	mad_world_ask(&w, (struct mad_request){ .attr_mod = 9 });
	for (unsigned i = 0; i < 3; i++)
		mad_world_answer(&w, i);
	assert_int_equal(mad_world_sent_mod(&w, 3), 9);
	mad_world_fini(&w);
}

static void what_was_asked_later_of_an_idle_device_does_not_wait_for_a_busy_one(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .window_max = 8, .window_device = 8 });
	mad_world_ask_many(&w, 500, 1, 1);
	mad_world_ask_many(&w, 2, 2, 2);
	mad_world_answer(&w, 0);
	mad_world_answer(&w, 1);
	mad_world_answer(&w, 2);
	assert_int_equal(mad_world_sent_mod(&w, 9), 2);
	mad_world_fini(&w);
}

/* Its second try is kept back, and before that is told the first one's answer comes after all. */
static void a_late_answer_to_a_set_that_is_kept_back_leaves_the_turns_in_order(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .retries = 1 });
	mad_world_ask(&w,
		      (struct mad_request){ .method = WIRE_SET, .attr_id = WIRE_LFT, .device = 1 });
	mad_world_ask(&w, (struct mad_request){ .device = 1 });
	mad_set_quiet(w.mad, true);
	w.io->io.failed(w.io->io.arg, mad_world_header(&w, 0).tid);
	mad_world_answer(&w, 0);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.last.result, MAD_OK);
	assert_int_equal(mad_stats(w.mad).queued, 0);
	mad_world_ask_many(&w, 3, 1, 1);
	assert_int_equal(w.io->nsent, 5);
	mad_world_fini(&w);
}

/*
 * ---- Time -------------------------------------------------------------------------------------
 */

/*
 * The whole daemon, which takes no time itself, and devices that need a millisecond for an SMP. A
 * switch is looked at, and then told, so it can't be at work all the time: but half of it.
 */
static void a_bring_up_takes_at_most_twice_its_busiest_device(void **state)
{
	const struct double_conf conf = { .device_us = 1000 };
	struct topo *design = pod(1);
	struct double_work work;
	uint64_t began, took;
	struct world w;

	world_init_stopped(&w, design);
	double_free(w.hw);
	w.hw = double_new(w.loop, design, design->nodes[design->nswitches].guid, 1, &conf);
	start_fabric(&w);
	began = loop_now_us(w.loop);
	while (!is_up(&w) && loop_now_us(w.loop) - began < 60 * SECOND_US)
		run_for(&w, 10000);
	took = loop_now_us(w.loop) - began;
	work = double_work(w.hw);
	assert_true(is_up(&w));
	assert_true(work.all_us > 10 * work.busiest_us);
	assert_true(took < 2 * work.busiest_us);
	world_fini(&w);
}

#define SLOW 40

struct slow {
	struct mad_world w;
	struct loop_timer *other;
	unsigned done, turns;
};

static void slow_cb(void *arg, const struct mad_answer *answer)
{
	struct slow *s = arg;
	uint64_t until = loop_clock_us(s->w.loop) + 1000;

	while (loop_clock_us(s->w.loop) < until)
		;
	if (++s->done == SLOW)
		loop_stop(s->w.loop);
}

static void other_cb(void *arg)
{
	struct slow *s = arg;

	s->turns += s->done > 0;
	loop_timer_set(s->other, 0);
}

static void many_time_outs_at_once_leave_others_their_turn(void **state)
{
	struct slow s = { .done = 0 };

	mad_world_init_on(&s.w, loop_new(), (struct mad_conf){ .window_max = SLOW });
	loop_set_pace(s.w.loop, (struct loop_pace){ 2000, 0 });
	s.other = loop_timer_new(s.w.loop, other_cb, &s);
	loop_timer_set(s.other, 0);
	for (unsigned i = 0; i < SLOW; i++)
		mad_send(s.w.mad,
			 &(struct mad_request){ .path = &mad_world_path,
						.method = WIRE_GET,
						.attr_id = WIRE_NODE_DESC,
						.timeout_ms = 20 },
			 slow_cb, &s);
	loop_run(s.w.loop);
	assert_int_equal(s.done, SLOW);
	assert_true(s.turns >= SLOW / 8);
	loop_timer_free(s.other);
	mad_world_fini(&s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_take_turns),
		cmocka_unit_test(a_full_window_goes_to_as_many_devices_as_there_are),
		cmocka_unit_test(requests_of_a_device_keep_their_order),
		cmocka_unit_test(a_request_of_no_device_waits_for_one_turn_of_each),
		cmocka_unit_test(
			what_was_asked_later_of_an_idle_device_does_not_wait_for_a_busy_one),
		cmocka_unit_test(
			a_late_answer_to_a_set_that_is_kept_back_leaves_the_turns_in_order),
		cmocka_unit_test(a_bring_up_takes_at_most_twice_its_busiest_device),
		cmocka_unit_test(many_time_outs_at_once_leave_others_their_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
