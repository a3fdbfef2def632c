/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Work in steps on a simulated loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fm/loop/job.h"

#define GAP_US 100

struct bench {
	struct loop *loop;
	struct job *job;
	struct loop_timer *other;
	char calls[64]; /* a letter each */
	unsigned thrice;
	bool yields;
	const struct job_step *next;
	uint64_t spent_us[4];
};

static enum job_result called(struct bench *b, char name, enum job_result said)
{
	b->calls[strlen(b->calls)] = name;
	return said;
}

static enum job_result step_a(void *arg)
{
	return called(arg, 'a', JOB_NEXT);
}

static enum job_result thrice_b(void *arg)
{
	struct bench *b = arg;

	return called(b, 'b', ++b->thrice < 3 ? JOB_MORE : JOB_NEXT);
}

static enum job_result step_c(void *arg)
{
	return called(arg, 'c', JOB_NEXT);
}

static enum job_result end_d(void *arg)
{
	return called(arg, 'd', JOB_END);
}

static enum job_result restart_r(void *arg)
{
	struct bench *b = arg;

	called(b, 'r', JOB_NEXT);
	job_start(b->job, b->next, NULL);
	return JOB_NEXT;
}

static enum job_result stop_s(void *arg)
{
	struct bench *b = arg;

	called(b, 's', JOB_NEXT);
	job_stop(b->job);
	return JOB_NEXT;
}

static const struct job_step all[] = {
	{ "a", step_a }, { "b", thrice_b }, { "c", step_c }, { NULL, NULL }
};
static const struct job_step ends[] = {
	{ "a", step_a }, { "d", end_d }, { "c", step_c }, { NULL, NULL }
};
static const struct job_step restarts[] = { { "r", restart_r }, { "c", step_c }, { NULL, NULL } };
static const struct job_step stops[] = { { "s", stop_s }, { "c", step_c }, { NULL, NULL } };

static void other_cb(void *arg)
{
	struct bench *b = arg;

	called(b, '.', JOB_NEXT);
	if (job_steps(b->job))
		loop_timer_set(b->other, GAP_US);
}

static struct bench bench_new(void)
{
	struct loop *loop = loop_new_simulated();

	return (struct bench){ .loop = loop };
}

static void run(struct bench *b, const struct job_step *steps)
{
	b->job = job_new(b->loop, b);
	if (b->yields)
		job_yield(b->job);
	b->other = loop_timer_new(b->loop, other_cb, b);
	job_start(b->job, steps, b->spent_us);
	assert_string_equal(b->calls, ""); /* never from within the start */
	loop_timer_set(b->other, 0);
	loop_run(b->loop);
	assert_null(job_steps(b->job));
	assert_null(job_step_name(b->job));
	loop_timer_free(b->other);
	job_free(b->job);
	loop_free(b->loop);
}

static void what_is_short_is_done_in_one_go(void **state)
{
	struct bench b = bench_new();

	run(&b, all);
	assert_string_equal(b.calls, "abbbc.");
}

static void others_have_their_turn_when_the_slice_is_used_up(void **state)
{
	struct bench b = bench_new();

	loop_set_pace(b.loop, (struct loop_pace){ 0, GAP_US });
	run(&b, all);
	assert_string_equal(b.calls, "a.b.b.b.c.");
}

static void a_job_that_gives_way_lets_others_in_after_each_call(void **state)
{
	struct bench b = bench_new();

	b.yields = true;
	run(&b, all);
	assert_string_equal(b.calls, "a.bbbc."); /* the other is due at once, and a while later */
}

static void the_end_leaves_the_other_steps_out(void **state)
{
	struct bench b = bench_new();

	run(&b, ends);
	assert_string_equal(b.calls, "ad.");
}

static void a_step_may_start_its_job_anew(void **state)
{
	struct bench b = bench_new();

	b.next = all;
	run(&b, restarts);
	assert_string_equal(b.calls, "r.abbbc.");
}

static void a_step_may_stop_its_job(void **state)
{
	struct bench b = bench_new();

	run(&b, stops);
	assert_string_equal(b.calls, "s.");
}

static void waste_time(void *arg)
{
	struct bench *b = arg;
	uint64_t start = loop_clock_us(b->loop);

	loop_took(b->loop, "little", 10);
	loop_took(b->loop, "much", 3000);
	loop_took(b->loop, "some", 2000);
	while (loop_clock_us(b->loop) - start < 1000)
		;
	loop_stop(b->loop);
}

static void the_longest_callback_is_named_after_its_longest_step(void **state)
{
	struct bench b = { .loop = loop_new() };
	struct loop_timer *timer = loop_timer_new(b.loop, waste_time, &b);

	assert_null(loop_longest(b.loop).what);
	loop_timer_set(timer, 0);
	loop_run(b.loop);
	assert_true(loop_longest(b.loop).us >= 1000);
	assert_string_equal(loop_longest(b.loop).what, "much");
	loop_timer_free(timer);
	loop_free(b.loop);
}

static void waste_time_silently(void *arg)
{
	struct bench *b = arg;
	uint64_t start = loop_clock_us(b->loop);

	while (loop_clock_us(b->loop) - start < 1000)
		;
	loop_stop(b->loop);
}

static void a_callback_that_names_no_step_is_named_itself(void **state)
{
	struct bench b = { .loop = loop_new() };
	struct loop_timer *timer = loop_timer_new(b.loop, waste_time_silently, &b);

	loop_timer_set(timer, 0);
	loop_run(b.loop);
	assert_true(loop_longest(b.loop).us >= 1000);
	assert_string_equal(loop_longest(b.loop).what, __FILE__ ": waste_time_silently");
	loop_timer_free(timer);
	loop_free(b.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_short_is_done_in_one_go),
		cmocka_unit_test(others_have_their_turn_when_the_slice_is_used_up),
		cmocka_unit_test(a_job_that_gives_way_lets_others_in_after_each_call),
		cmocka_unit_test(the_end_leaves_the_other_steps_out),
		cmocka_unit_test(a_step_may_start_its_job_anew),
		cmocka_unit_test(a_step_may_stop_its_job),
		cmocka_unit_test(the_longest_callback_is_named_after_its_longest_step),
		cmocka_unit_test(a_callback_that_names_no_step_is_named_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
