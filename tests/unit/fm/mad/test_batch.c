/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* batch's queue: what is no longer wanted, however much of it; and the way each request takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/batch.h"
#include "tests/fabric/mad_world.h"

#define JOBS	100000
#define AT_ONCE 5000 /* looks that are over within a millisecond */

struct queue {
	struct loop *loop;
	struct batch *batch;
	struct loop_timer *other;    /* somebody else's, always due */
	unsigned looks, since, most; /* in all; since the other had its turn */
	unsigned idle, more;
	uint32_t next;
};

static bool unwanted(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct queue *q = owner;

	assert_int_equal(job->arg, q->next++);
	q->looks++;
	q->since++;
	return false;
}

static void never_done(void *owner, const struct batch_job *job, const struct batch_path *via,
		       const struct mad_answer *answer)
{
	fail();
}

static bool some_more(void *owner)
{
	struct queue *q = owner;

	for (unsigned i = 0; i < 64 && q->more; i++, q->more--)
		batch_add(q->batch, &(struct batch_job){ .arg = q->next + i });
	return q->more > 0;
}

static void note_idle(void *owner)
{
	struct queue *q = owner;

	q->idle++;
	loop_timer_stop(q->other);
}

static void others_turn(void *arg)
{
	struct queue *q = arg;

	q->most = q->since > q->most ? q->since : q->most;
	q->since = 0;
	loop_timer_set(q->other, 0);
}

static const struct batch_ops ops = {
	.make = unwanted, .done = never_done, .more = some_more, .idle = note_idle
};

static void begin(struct queue *q)
{
	*q = (struct queue){ .loop = loop_new_simulated() };
	q->batch = batch_new(q->loop, NULL, &ops, q);
	q->other = loop_timer_new(q->loop, others_turn, q);
	loop_timer_set(q->other, 0);
}

static void end(struct queue *q)
{
	loop_timer_free(q->other);
	batch_free(q->batch);
	loop_free(q->loop);
}

static void others_have_their_turn_between_jobs_that_are_not_wanted(void **state)
{
	struct queue q;

	begin(&q);
	for (uint32_t i = 0; i < JOBS; i++)
		batch_add(q.batch, &(struct batch_job){ .arg = i });
	assert_int_equal(loop_run(q.loop), 0);
	assert_int_equal(q.looks, JOBS);
	assert_in_range(q.most, 1, AT_ONCE);
	assert_int_equal(q.idle, 1);
	end(&q);
}

static void others_have_their_turn_between_jobs_that_come_as_asked_for(void **state)
{
	struct queue q;

	begin(&q);
	q.more = JOBS;
	batch_wake(q.batch);
	assert_int_equal(loop_run(q.loop), 0);
	assert_int_equal(q.looks, JOBS);
	assert_in_range(q.most, 1, AT_ONCE);
	assert_int_equal(q.idle, 1);
	end(&q);
}

static void an_empty_queue_is_idle_once(void **state)
{
	struct queue q;

	begin(&q);
	batch_wake(q.batch);
	assert_int_equal(loop_run(q.loop), 0);
	assert_int_equal(q.looks, 0);
	assert_int_equal(q.idle, 1);
	end(&q);
}

/* ---- Ways ------------------------------------------------------------------------------------ */

struct trip {
	struct mad_world w;
	struct batch *batch;
	unsigned ways, done;
	uint64_t done_us;
	struct batch_path last;
	bool lost; /* no way is known any more */
};

static bool next_path(void *owner, const struct batch_job *job, struct batch_path *via)
{
	struct trip *t = owner;

	t->ways++;
	via->path = (struct mad_path){ .hops = 1, .ports = { (uint8_t)(job->arg + t->ways) } };
	via->stamp = 100 + t->ways;
	return !t->lost;
}

static bool ask(void *owner, const struct batch_job *job, struct batch_request *request)
{
	request->mad.method = WIRE_GET;
	request->mad.attr_id = WIRE_NODE_INFO;
	request->mad.retries = 2;
	return next_path(owner, job, &request->via);
}

static void note_done(void *owner, const struct batch_job *job, const struct batch_path *via,
		      const struct mad_answer *answer)
{
	struct trip *t = owner;

	t->done++;
	t->done_us = loop_now_us(t->w.loop);
	t->last = *via;
}

static void nothing(void *owner)
{
}

static void trip_begin(struct trip *t)
{
	static const struct batch_ops trip_ops = {
		.make = ask, .path_of = next_path, .done = note_done, .idle = nothing
	};

	*t = (struct trip){ .ways = 0 };
	mad_world_init(&t->w, (struct mad_conf){ 0 });
	t->batch = batch_new(t->w.loop, t->w.mad, &trip_ops, t);
	batch_add(t->batch, &(struct batch_job){ .arg = 10 });
}

static void trip_end(struct trip *t)
{
	batch_free(t->batch);
	mad_world_fini(&t->w);
}

static void each_try_takes_the_path_of_its_time_and_the_last_one_is_reported(void **state)
{
	struct trip t;

	trip_begin(&t);
	assert_int_equal(loop_run(t.w.loop), 0);
	assert_int_equal(t.w.io->nsent, 3);
	assert_int_equal(t.done, 1);
	assert_int_equal(t.ways, 1 + 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(mad_world_header(&t.w, i).path[1], 12 + i);
	assert_int_equal(t.last.path.ports[0], 14);
	assert_int_equal(t.last.stamp, 104);
	trip_end(&t);
}

static void without_a_new_path_the_older_one_is_kept(void **state)
{
	struct trip t;

	trip_begin(&t);
	mad_world_pass(&t.w, 1000);
	t.lost = true;
	assert_int_equal(loop_run(t.w.loop), 0);
	assert_int_equal(t.w.io->nsent, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(mad_world_header(&t.w, i).path[1], 12);
	assert_int_equal(t.last.path.ports[0], 12);
	assert_int_equal(t.last.stamp, 102);
	trip_end(&t);
}

static void what_is_astray_ends_at_once_and_blames_no_link(void **state)
{
	struct trip t;
	uint64_t start;

	trip_begin(&t);
	mad_world_pass(&t.w, 1000);
	start = loop_now_us(t.w.loop);
	t.lost = true;
	batch_give_up_astray(t.batch);
	assert_int_equal(t.done, 0);
	assert_int_equal(loop_run(t.w.loop), 0);
	assert_int_equal(t.done, 1);
	assert_int_equal(t.done_us, start);
	assert_int_equal(t.w.io->nsent, 1);
	assert_int_equal(t.last.path.hops, 0);
	assert_int_equal(batch_in_flight(t.batch), 0);
	trip_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_have_their_turn_between_jobs_that_are_not_wanted),
		cmocka_unit_test(others_have_their_turn_between_jobs_that_come_as_asked_for),
		cmocka_unit_test(an_empty_queue_is_idle_once),
		cmocka_unit_test(each_try_takes_the_path_of_its_time_and_the_last_one_is_reported),
		cmocka_unit_test(without_a_new_path_the_older_one_is_kept),
		cmocka_unit_test(what_is_astray_ends_at_once_and_blames_no_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
