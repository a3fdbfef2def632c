/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain and sanitized. Processor time is judged. */
/*
 * The loop: order of timers, jumps of the simulated clock, polled sources, descriptors. What needs
 * the real loop runs for some milliseconds and asserts order and counts, never how long it took.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "fm/loop/loop.h"

#define START_US 1000000

/* A timer that writes its letter and the time into a trace, and may act on others. */
struct trace {
	struct loop *loop;
	char letters[64];
	uint64_t at[64];
	unsigned count;
};
struct mark {
	struct trace *trace;
	char letter;
	struct loop_timer *timer, *other;
	unsigned again;
};

static void mark_cb(void *arg)
{
	struct mark *mark = arg;
	struct trace *trace = mark->trace;

	trace->at[trace->count] = loop_now_us(trace->loop);
	trace->letters[trace->count++] = mark->letter;
	if (mark->again) {
		mark->again--;
		loop_timer_set(mark->timer, 0);
	}
	if (mark->other)
		loop_timer_stop(mark->other);
}

static void mark_new(struct mark *mark, struct trace *trace, char letter)
{
	*mark = (struct mark){ .trace = trace, .letter = letter };
	mark->timer = loop_timer_new(trace->loop, mark_cb, mark);
}

static void timers_run_by_time_then_in_the_order_they_were_set(void **state)
{
	struct trace trace = { .loop = loop_new_simulated() };
	const uint64_t delays[] = { 500, 100, 500, 0, 100, 1000 };
	struct mark marks[6];

	for (int i = 0; i < 6; i++) {
		mark_new(&marks[i], &trace, (char)('a' + i));
		loop_timer_set(marks[i].timer, delays[i]);
	}
	assert_int_equal(loop_run(trace.loop), 0);
	assert_string_equal(trace.letters, "dbeacf");
	assert_int_equal(trace.at[5], START_US + 1000);
	for (int i = 0; i < 6; i++)
		loop_timer_free(marks[i].timer);
	loop_free(trace.loop);
}

static void equal_times_run_in_the_order_they_were_set(void **state)
{
	struct trace trace = { .loop = loop_new_simulated() };
	struct mark marks[26];

	for (int i = 0; i < 26; i++) {
		mark_new(&marks[i], &trace, (char)('a' + i));
		loop_timer_set(marks[i].timer, 100);
	}
	loop_timer_set(marks[0].timer, 100); /* counts as set last */
	loop_run(trace.loop);
	assert_string_equal(trace.letters, "bcdefghijklmnopqrstuvwxyza");
	for (int i = 0; i < 26; i++)
		loop_timer_free(marks[i].timer);
	loop_free(trace.loop);
}

static void simulated_clock_jumps_to_what_is_due(void **state)
{
	struct trace trace = { .loop = loop_new_simulated() };
	struct mark mark;

	mark_new(&mark, &trace, 'x');
	loop_timer_set(mark.timer, 3600ull * 1000000);
	assert_int_equal(loop_run(trace.loop), 0);
	assert_int_equal(trace.at[0], START_US + 3600ull * 1000000);
	assert_int_equal(loop_now_us(trace.loop), trace.at[0]);
	loop_timer_free(mark.timer);
	loop_free(trace.loop);
}

static void timer_set_again_moves_and_stopped_one_does_not_run(void **state)
{
	struct trace trace = { .loop = loop_new_simulated() };
	struct mark a, b, c;

	mark_new(&a, &trace, 'a');
	mark_new(&b, &trace, 'b');
	mark_new(&c, &trace, 'c');
	loop_timer_set(a.timer, 10);
	loop_timer_set(b.timer, 20);
	loop_timer_set(c.timer, 30);
	loop_timer_set(a.timer, 25);
	b.other = c.timer;
	assert_true(loop_timer_armed(c.timer));
	loop_run(trace.loop);
	assert_string_equal(trace.letters, "ba");
	assert_false(loop_timer_armed(a.timer));
	assert_false(loop_timer_armed(c.timer));
	loop_timer_free(a.timer);
	loop_timer_free(b.timer);
	loop_timer_free(c.timer);
	loop_timer_free(NULL);
	loop_free(trace.loop);
}

static void timer_set_to_now_waits_for_the_next_round(void **state)
{
	struct trace trace = { .loop = loop_new_simulated() };
	struct mark a, b;

	mark_new(&a, &trace, 'a');
	mark_new(&b, &trace, 'b');
	a.again = 2;
	loop_timer_set(a.timer, 5);
	loop_timer_set(b.timer, 5);
	loop_run(trace.loop);
	assert_string_equal(trace.letters, "abaa");
	assert_int_equal(trace.at[3], START_US + 5);
	loop_timer_free(a.timer);
	loop_timer_free(b.timer);
	loop_free(trace.loop);
}

/* A timer that knows when it is due. */
struct due {
	struct loop *loop;
	struct loop_timer *timer;
	uint64_t at;
	unsigned *runs;
};

static void due_cb(void *arg)
{
	struct due *due = arg;

	assert_int_equal(loop_now_us(due->loop), due->at);
	++*due->runs;
}

static void due_set(struct due *due)
{
	uint64_t delay = (uint64_t)random() % 5000;

	due->at = START_US + delay;
	loop_timer_set(due->timer, delay);
}

static void thousand_timers_keep_order_through_stops_and_moves(void **state)
{
	struct loop *loop = loop_new_simulated();
	struct due dues[1000];
	unsigned stopped = 0, runs = 0;

	srandom(7);
	for (int i = 0; i < 1000; i++) {
		dues[i] = (struct due){ .loop = loop, .runs = &runs };
		dues[i].timer = loop_timer_new(loop, due_cb, &dues[i]);
		due_set(&dues[i]);
	}
	for (int i = 0; i < 1000; i++) {
		struct due *due = &dues[random() % 1000];

		if (i % 2)
			due_set(due);
		else
			loop_timer_stop(due->timer);
	}
	for (int i = 0; i < 1000; i++)
		stopped += !loop_timer_armed(dues[i].timer);
	loop_run(loop);
	assert_int_equal(runs, 1000 - stopped);
	for (int i = 0; i < 1000; i++)
		loop_timer_free(dues[i].timer);
	loop_free(loop);
}

/* A source that is busy for some rounds, and notes the time of each. */
struct source {
	struct loop *loop;
	struct loop_poll *poll;
	unsigned busy, idle; /* rounds left */
	unsigned rounds;
	uint64_t last;
	bool frees_itself;
};

static bool source_cb(void *arg)
{
	struct source *source = arg;

	source->rounds++;
	source->last = loop_now_us(source->loop);
	if (source->busy)
		return source->busy--;
	if (source->frees_itself) {
		loop_poll_free(source->poll);
		source->poll = NULL;
	} else if (!source->idle--) {
		loop_stop(source->loop);
	}
	return false;
}

static void nop_cb(void *arg)
{
}

static void busy_source_is_polled_without_time_passing(void **state)
{
	struct source source = { .loop = loop_new_simulated(), .busy = 10, .idle = 3 };
	struct loop_timer *timer = loop_timer_new(source.loop, nop_cb, NULL);

	loop_timer_set(timer, 1000000);
	source.poll = loop_poll_new(source.loop, source_cb, &source);
	loop_run(source.loop);
	assert_int_equal(source.rounds, 10 + 3 + 1);
	assert_int_equal(source.last, START_US + 3 * 1000); /* idle: every millisecond */
	loop_poll_free(source.poll);
	loop_timer_free(timer);
	loop_free(source.loop);
}

static void timer_that_is_always_due_does_not_starve_a_source(void **state)
{
	struct trace trace = { .loop = loop_new_simulated() };
	struct source source = { .loop = trace.loop }; /* stops the loop at once */
	struct mark mark;

	mark_new(&mark, &trace, 'x');
	mark.again = 50;
	loop_timer_set(mark.timer, 0);
	source.poll = loop_poll_new(trace.loop, source_cb, &source);
	loop_run(trace.loop);
	assert_int_equal(trace.count, 1);
	loop_poll_free(source.poll);
	loop_timer_free(mark.timer);
	loop_free(trace.loop);
}

static void source_may_free_itself(void **state)
{
	struct source source = { .loop = loop_new_simulated(), .busy = 1, .frees_itself = true };

	source.poll = loop_poll_new(source.loop, source_cb, &source);
	loop_run(source.loop);
	assert_int_equal(source.rounds, 2);
	loop_free(source.loop);
}

static void real_loop_polls_busy_source_and_comes_back_to_idle_one(void **state)
{
	struct source source = { .loop = loop_new(), .busy = 1000, .idle = 2 };

	source.poll = loop_poll_new(source.loop, source_cb, &source);
	assert_int_equal(loop_run(source.loop), 0);
	assert_int_equal(source.rounds, 1000 + 2 + 1);
	loop_poll_free(source.poll);
	loop_free(source.loop);
}

struct pipe_end {
	struct loop *loop;
	struct loop_fd *watch;
	int fd;
	unsigned reads;
	char got[8];
};

static void pipe_cb(void *arg, unsigned events)
{
	struct pipe_end *end = arg;

	assert_int_equal(events, LOOP_READ);
	assert_int_equal(read(end->fd, end->got + end->reads, 1), 1);
	if (++end->reads < 3)
		return;
	loop_fd_free(end->watch);
	loop_stop(end->loop);
}

static void write_cb(void *arg)
{
	int fd = *(int *)arg;

	assert_int_equal(write(fd, "xyz", 3), 3);
}

static void descriptor_is_read_and_may_be_freed_in_its_callback(void **state)
{
	struct pipe_end end = { .loop = loop_new() };
	struct loop_timer *timer;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	end.fd = fds[0];
	end.watch = loop_fd_new(end.loop, fds[0], LOOP_READ, pipe_cb, &end);
	timer = loop_timer_new(end.loop, write_cb, &fds[1]);
	loop_timer_set(timer, 500);
	assert_int_equal(loop_run(end.loop), 0);
	assert_string_equal(end.got, "xyz");
	loop_timer_free(timer);
	loop_free(end.loop);
	close(fds[0]);
	close(fds[1]);
}

static void stop_cb(void *arg)
{
	loop_stop(arg);
}

/* The processor time of this thread stands for the rounds: a spinning loop uses all of the wait. */
static void idle_loop_does_not_spin(void **state)
{
	struct loop *loop = loop_new();
	struct loop_timer *timer = loop_timer_new(loop, stop_cb, loop);
	struct timespec before, after;

	loop_timer_set(timer, 20000);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	loop_run(loop);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	assert_true((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec <
		    10000000);
	loop_timer_free(timer);
	loop_free(loop);
}

static void raise_cb(void *arg)
{
	raise(SIGUSR1);
}

/* For a while, by somebody else, as by a debugger. */
static void stand_still(void *arg)
{
	pid_t self = getpid(), other = fork();

	if (!other) {
		usleep(300000);
		kill(self, SIGCONT);
		_exit(0);
	}
	raise(SIGSTOP);
	waitpid(other, NULL, 0);
}

static void a_process_that_was_stopped_has_no_long_callback(void **state)
{
	struct loop *loop = loop_new();
	struct loop_timer *timer = loop_timer_new(loop, stand_still, NULL);
	struct loop_timer *end = loop_timer_new(loop, stop_cb, loop);

	assert_int_equal(loop_signal(loop, SIGCONT, loop_continued, loop), 0);
	loop_timer_set(timer, 0);
	loop_timer_set(end, 400000);
	assert_int_equal(loop_run(loop), 0);
	assert_true(loop_longest(loop).us < 300000);
	loop_timer_free(end);
	loop_timer_free(timer);
	loop_free(loop);
}

static void a_callback_that_the_loop_does_not_call_is_named(void **state)
{
	struct loop *loop = loop_new();
	uint64_t start = loop_clock_us(loop);

	while (loop_clock_us(loop) < start + 1000)
		;
	loop_ran(loop, start, "a connection");
	assert_true(loop_longest(loop).us >= 1000);
	assert_string_equal(loop_longest(loop).what, "a connection");
	loop_free(loop);
}

static void signal_is_an_ordinary_callback(void **state)
{
	struct loop *loop = loop_new();
	struct loop_timer *timer = loop_timer_new(loop, raise_cb, NULL);

	assert_int_equal(loop_signal(loop, SIGUSR1, stop_cb, loop), 0);
	loop_timer_set(timer, 0);
	assert_int_equal(loop_run(loop), 0);
	loop_timer_free(timer);
	loop_free(loop);
}

static void levels_and_modules_have_names(void **state)
{
	assert_int_equal(log_level_parse("warning"), LOG_WARNING);
	assert_int_equal(log_level_parse("loud"), -1);
	assert_int_equal(log_module_parse("mad"), LOG_MAD);
	assert_int_equal(log_module_parse("control"), LOG_CONTROL);
	assert_int_equal(log_module_parse("cat"), -1);
}

static void limiter_lets_a_burst_pass_each_second(void **state)
{
	struct log_limit limit = { 0 };
	unsigned passed = 0;

	log_set_level(-1, LOG_ERR);
	for (int i = 0; i < 10; i++)
		passed += log_allow(&limit, 5000000, 3);
	assert_int_equal(passed, 3);
	assert_int_equal(limit.suppressed, 7);
	assert_true(log_allow(&limit, 6000000, 3));
	assert_int_equal(limit.suppressed, 0);
	log_set_level(-1, LOG_INFO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_run_by_time_then_in_the_order_they_were_set),
		cmocka_unit_test(equal_times_run_in_the_order_they_were_set),
		cmocka_unit_test(simulated_clock_jumps_to_what_is_due),
		cmocka_unit_test(timer_set_again_moves_and_stopped_one_does_not_run),
		cmocka_unit_test(timer_set_to_now_waits_for_the_next_round),
		cmocka_unit_test(thousand_timers_keep_order_through_stops_and_moves),
		cmocka_unit_test(busy_source_is_polled_without_time_passing),
		cmocka_unit_test(timer_that_is_always_due_does_not_starve_a_source),
		cmocka_unit_test(source_may_free_itself),
		cmocka_unit_test(real_loop_polls_busy_source_and_comes_back_to_idle_one),
		cmocka_unit_test(descriptor_is_read_and_may_be_freed_in_its_callback),
		cmocka_unit_test(idle_loop_does_not_spin),
		cmocka_unit_test(a_process_that_was_stopped_has_no_long_callback),
		cmocka_unit_test(signal_is_an_ordinary_callback),
		cmocka_unit_test(a_callback_that_the_loop_does_not_call_is_named),
		cmocka_unit_test(levels_and_modules_have_names),
		cmocka_unit_test(limiter_lets_a_burst_pass_each_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
