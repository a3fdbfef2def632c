/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain. Processor time is judged. */
/*
 * io_umad on a libibumad that the test plays: what is read first, what is sent and by which
 * descriptor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fm/loop/job.h"
#include "fm/mad/umad_own.h"
#include "tests/lib/fake_umad.h"

static void taken_cb(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct umad_bench *b = arg;

	machine.taken[machine.ntaken++] = mad[3] == WIRE_GET_TABLE ? 't'
					  : mad[1] == WIRE_SA	   ? 'r'
								   : 's';
	if (machine.taken[machine.ntaken - 1] == 'r' && machine.ntaken % 100 == 0)
		machine.waiting[0]++; /* one more comes meanwhile */
	if (!machine.waiting[0] && !machine.waiting[1] && !machine.waiting[2] &&
	    machine.ntaken >= 500)
		loop_stop(b->loop);
}

static struct umad_bench begin_reading(void)
{
	struct umad_bench b;

	umad_bench_add_port(LINK_UP, 0);
	b = umad_bench_begin(0);
	loop_set_pace(b.loop, (struct loop_pace){
				      .slice_us = 10000000 }); /* nothing hangs on the machine's */
	b.io->recv = taken_cb;
	b.io->arg = &b;
	return b;
}

/* Requests that were handed on between an SMP's coming and its being handed on. */
static void assert_no_smp_waits_for_more_than(unsigned most)
{
	unsigned since = 0, smps = 0;

	for (unsigned i = 0; i < machine.ntaken; i++) {
		smps += machine.taken[i] == 's';
		if (machine.taken[i] == 's')
			since = 0;
		else if ((i + 1) % 100 > most && i >= 100)
			assert_true(since <= 100 + most);
		since++;
	}
	assert_true(smps > 20);
}

static void smps_are_read_before_sa_requests(void **state)
{
	struct umad_bench b = begin_reading();

	b.io->arg = &b;
	assert_int_equal(umad_bench_open(&b), 0);
	machine.waiting[0] = 20;
	machine.waiting[1] = 500;
	umad_bench_wake();
	umad_bench_run(&b);
	assert_memory_equal(machine.taken, "ssssssssssssssssssssr", 21);
	assert_no_smp_waits_for_more_than(2 * 16);
	umad_bench_end(&b);
}

#define SLICE_US    10000
#define REQUEST_US  100
#define STORM_STEPS 30

static unsigned steps_made, asked_by_storm;

static uint64_t worked_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* What each request of a storm costs; there are always more. */
static void stormy_cb(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	uint64_t until = worked_us() + REQUEST_US;

	asked_by_storm++;
	machine.waiting[1]++;
	machine.waiting[2]++;
	while (worked_us() < until)
		;
}

/* A slice of an update. */
static enum job_result busy_step(void *arg)
{
	struct umad_bench *b = arg;
	uint64_t until = loop_clock_us(b->loop) + SLICE_US;

	while (loop_clock_us(b->loop) < until)
		;
	if (++steps_made < STORM_STEPS)
		return JOB_MORE;
	loop_stop(b->loop);
	return JOB_NEXT;
}

static struct umad_bench begin_storm(void)
{
	struct umad_bench b = begin_reading();

	b.io->recv = stormy_cb;
	loop_set_pace(b.loop, (struct loop_pace){ .slice_us = SLICE_US });
	machine.waiting[1] = machine.waiting[2] = 1000;
	steps_made = asked_by_storm = 0;
	return b;
}

/*
 * By count. Each look at the descriptors may find a twentieth of a slice saved up and goes on to
 * the end of its batch; what requests take passes too.
 */
static void a_storm_of_requests_takes_a_twentieth_from_an_update(void **state)
{
	static const struct job_step steps[] = { { "busy", busy_step }, { 0 } };
	struct umad_bench b = begin_storm();
	struct job *job = job_new(b.loop, &b);
	uint64_t start;

	b.io->arg = &b;
	assert_int_equal(umad_bench_open(&b), 0);
	umad_bench_wake();
	start = loop_clock_us(b.loop); /* a machine that is busy otherwise takes longer for it */
	job_start(job, steps, NULL);
	assert_int_equal(loop_run(b.loop), 0);
	assert_in_range(asked_by_storm, 1,
			(loop_clock_us(b.loop) - start) / REQUEST_US / 16 + 2 * 16);
	job_free(job);
	umad_bench_end(&b);
}

/* Until so many requests were served; a machine that has no time for us gives it later. */
static void run_until_asked(struct umad_bench *b, unsigned count)
{
	for (unsigned i = 0; i < 10000 && asked_by_storm < count; i++) {
		loop_timer_set(b->stop, SLICE_US);
		assert_int_equal(loop_run(b->loop), 0);
	}
	assert_true(asked_by_storm >= count);
}

/*
 * While a fault waits for switches there is no work in slices, and requests have no more of the
 * time for it.
 */
static void a_storm_has_its_part_while_a_fault_waits_for_switches_too(void **state)
{
	struct umad_bench b = begin_storm();
	uint64_t start, took;

	b.io->arg = &b;
	assert_int_equal(umad_bench_open(&b), 0);
	umad_bench_wake();
	loop_busy_for(b.loop, 1000000000);
	start = loop_clock_us(b.loop);
	run_until_asked(&b, 100);
	took = loop_clock_us(b.loop) - start;
	assert_in_range(asked_by_storm, 100, took / REQUEST_US / 16 + 2 * 16);
	loop_busy_for(b.loop, 0);
	run_until_asked(&b, asked_by_storm + 1000); /* all are served again */
	umad_bench_end(&b);
}

static void smps_are_read_while_requests_are_left_unread(void **state)
{
	struct umad_bench b = begin_storm();

	b.io->arg = &b;
	assert_int_equal(umad_bench_open(&b), 0);
	umad_bench_wake();
	loop_busy_for(b.loop, 1000000000);
	run_until_asked(&b, 1);
	machine.waiting[0] = 20;
	umad_bench_wake();
	run_until_asked(&b, asked_by_storm + 20);
	assert_int_equal(machine.waiting[0], 0);
	umad_bench_end(&b);
}

static void requests_for_tables_and_others_are_read_by_turns(void **state)
{
	struct umad_bench b = begin_reading();
	unsigned tables = 0;

	b.io->arg = &b;
	assert_int_equal(umad_bench_open(&b), 0);
	machine.waiting[1] = 300;
	machine.waiting[2] = 200;
	umad_bench_wake();
	umad_bench_run(&b);
	assert_int_equal(machine.waiting[1] + machine.waiting[2] + machine.waiting[0], 0);
	for (unsigned i = 0; i < 64; i++)
		tables += machine.taken[i] == 't';
	assert_int_equal(tables, 32);
	umad_bench_end(&b);
}

/*
 * A run may end without a look at descriptors, if this process was held up for as long as its timer
 * lasts.
 */
static void run_until_taken(struct umad_bench *b, unsigned count)
{
	for (unsigned i = 0; i < PATIENCE && machine.ntaken < count; i++) {
		loop_timer_set(b->stop, 1000);
		assert_int_equal(loop_run(b->loop), 0);
	}
}

static void on_a_simulator_sa_requests_wait_until_all_is_read(void **state)
{
	struct umad_bench b;

	machine.simulator = true;
	b = begin_reading();
	b.io->arg = &b;
	assert_int_equal(umad_bench_open(&b), 0);
	assert_int_equal(machine.opened, 1);
	machine.waiting[0] = 20;
	machine.waiting[1] = 100;
	run_until_taken(&b, 120);
	assert_true(machine.ntaken >= 120);
	assert_memory_equal(machine.taken, "ssssssssssssssssssssr", 21);
	umad_bench_end(&b);
}

static void a_long_message_does_not_leave_a_large_buffer(void **state)
{
	struct umad_bench b = begin_reading();

	b.io->arg = &b;
	assert_int_equal(umad_bench_open(&b), 0);
	machine.longer = 3000000;
	machine.waiting[1] = 1;
	umad_bench_wake();
	run_until_taken(&b, 1);
	assert_int_equal(machine.ntaken, 1);
	assert_int_equal(machine.room, WIRE_MAD_SIZE);
	umad_bench_end(&b);
}

static int retries_of(struct umad_bench *b, uint8_t mgmt_class, uint8_t rmpp_flags, size_t len)
{
	const struct io_addr to = { .lid = 3, .qp = 1 };
	uint8_t *mad = calloc(1, len);

	mad[1] = mgmt_class;
	mad[26] = rmpp_flags;
	assert_int_equal(b->io->ops->send(b->io, &to, mad, len, 0), 0);
	free(mad);
	return machine.retries;
}

/*
 * What a port answers comes back by the descriptor that asked: those of counters take no place
 * behind a storm of requests to the SA.
 */
static void counters_are_asked_for_where_smps_are(void **state)
{
	struct umad_bench b;

	umad_bench_add_port(LINK_UP, 0);
	b = umad_bench_begin(0);
	assert_int_equal(umad_bench_open(&b), 0);
	retries_of(&b, WIRE_PERF, 0, WIRE_MAD_SIZE);
	assert_int_equal(machine.sent_by, 0);
	retries_of(&b, WIRE_SMI_LID, 0, WIRE_MAD_SIZE);
	assert_int_equal(machine.sent_by, 0);
	retries_of(&b, WIRE_SA, 0, WIRE_MAD_SIZE);
	assert_int_equal(machine.sent_by, 1);
	umad_bench_end(&b);
}

/*
 * The kernel's own wait for an acknowledgement is 2 s: at 1% loss an answer of thousands of records
 * would take longer than the 40 s it has.
 */
static void a_segment_that_is_lost_costs_a_long_answer_a_moment(void **state)
{
	struct umad_bench b;

	umad_bench_add_port(LINK_UP, 0);
	b = umad_bench_begin(0);
	assert_int_equal(umad_bench_open(&b), 0);
	assert_int_equal(retries_of(&b, WIRE_SA, 1, 400000), 39);
	assert_int_equal(machine.wait_ms, 200);
	assert_int_equal((machine.retries + 1) * machine.wait_ms * 1000, UMAD_WRITER_LIFE_US);
	assert_int_equal(retries_of(&b, WIRE_SA, 1, WIRE_MAD_SIZE), 3);
	assert_int_equal(machine.wait_ms, 0); /* else the kernel hands each of these back */
	umad_bench_end(&b);
}

/* An acknowledgement that is lost, or a segment, is not the end of the answer. */
static void long_answers_are_sent_again_by_the_kernel(void **state)
{
	struct umad_bench b;

	umad_bench_add_port(LINK_UP, 0);
	b = umad_bench_begin(0);
	assert_int_equal(umad_bench_open(&b), 0);
	assert_int_equal(retries_of(&b, WIRE_SA, 1, 400000), 39);
	assert_int_equal(retries_of(&b, WIRE_SA, 1, WIRE_MAD_SIZE), 3);
	assert_int_equal(retries_of(&b, WIRE_SA, 0, WIRE_MAD_SIZE), 0);
	assert_int_equal(retries_of(&b, WIRE_SMI_DR, 1, WIRE_MAD_SIZE), 0);
	umad_bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(smps_are_read_before_sa_requests, umad_bench_setup),
		cmocka_unit_test_setup(a_storm_of_requests_takes_a_twentieth_from_an_update,
				       umad_bench_setup),
		cmocka_unit_test_setup(a_storm_has_its_part_while_a_fault_waits_for_switches_too,
				       umad_bench_setup),
		cmocka_unit_test_setup(smps_are_read_while_requests_are_left_unread,
				       umad_bench_setup),
		cmocka_unit_test_setup(counters_are_asked_for_where_smps_are, umad_bench_setup),
		cmocka_unit_test_setup(requests_for_tables_and_others_are_read_by_turns,
				       umad_bench_setup),
		cmocka_unit_test_setup(on_a_simulator_sa_requests_wait_until_all_is_read,
				       umad_bench_setup),
		cmocka_unit_test_setup(a_long_message_does_not_leave_a_large_buffer,
				       umad_bench_setup),
		cmocka_unit_test_setup(long_answers_are_sent_again_by_the_kernel, umad_bench_setup),
		cmocka_unit_test_setup(a_segment_that_is_lost_costs_a_long_answer_a_moment,
				       umad_bench_setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
