/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Jobs wait in two rings, the urgent ahead of the rest. A pump moves them to mad while fewer than
 * BATCH_LIMIT are there: enough to fill any window over many devices, few enough that mad's queue,
 * at some 250 bytes a request, stays small next to a fabric of 400,000 table blocks.
 *
 * A slot is a job that mad has; its address is the callback's argument, so slots never move. The
 * pump runs after each answer and from a timer of zero delay, never inside batch_add(): owners may
 * add from anywhere. Jobs that are no longer wanted can be most of a long queue: after so many
 * sweeps others have their turn.
 */
#include <assert.h>
#include "fm/mad/batch.h"
#include "topology/base/mem.h"

#define BATCH_LIMIT 512
#define BATCH_LOOKS 2048

struct ring {
	struct batch_job *jobs;
	uint32_t head, count, capacity; /* capacity: a power of two or 0 */
};

struct slot {
	struct batch *batch;
	struct batch_job job;
	struct batch_path via;
	mad_token token; /* 0: free */
	uint16_t next_free;
	bool astray; /* cancelled, and done() is due */
};

struct batch {
	struct mad *mad;
	const struct batch_ops *ops;
	void *owner;
	struct loop_timer *wake;
	struct ring urgent, normal;
	uint64_t smps;
	unsigned in_flight;
	bool busy; /* idle() is due */
	uint16_t free;
	struct slot slots[BATCH_LIMIT];
};

static bool ring_pop(struct ring *ring, struct batch_job *job)
{
	if (!ring->count)
		return false;
	*job = ring->jobs[ring->head];
	ring->head = (ring->head + 1) & (ring->capacity - 1);
	ring->count--;
	return true;
}

static void ring_reset(struct ring *ring)
{
	free(ring->jobs);
	*ring = (struct ring){ 0 };
}

static void batch_pump(struct batch *b);

static void slot_release(struct slot *slot)
{
	struct batch *b = slot->batch;

	slot->token = 0;
	slot->astray = false;
	slot->next_free = b->free;
	b->free = slot - b->slots;
	b->in_flight--;
}

static void slot_end(struct slot *slot, const struct mad_answer *answer)
{
	struct batch *b = slot->batch;
	struct batch_job job = slot->job;
	struct batch_path via = slot->via;

	b->smps += answer->tries;
	slot_release(slot);
	b->ops->done(b->owner, &job, &via, answer);
}

static void batch_answer_cb(void *arg, const struct mad_answer *answer)
{
	struct slot *slot = arg;
	struct batch *b = slot->batch;

	slot_end(slot, answer);
	batch_pump(b);
}

static void batch_timer_cb(void *arg)
{
	const struct mad_answer none = { .result = MAD_TIMEOUT, .tries = 1 };
	struct batch *b = arg;

	for (unsigned i = 0; i < BATCH_LIMIT; i++)
		if (b->slots[i].astray)
			slot_end(&b->slots[i], &none);
	batch_pump(b);
}

struct batch *batch_new(struct loop *loop, struct mad *mad, const struct batch_ops *ops,
			void *owner)
{
	struct batch *b = mem_new(b);

	b->mad = mad;
	b->ops = ops;
	b->owner = owner;
	b->wake = loop_timer_new(loop, batch_timer_cb, b);
	for (unsigned i = 0; i < BATCH_LIMIT; i++) {
		b->slots[i].batch = b;
		b->slots[i].next_free = i + 1;
	}
	return b;
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	batch_drop(b);
	loop_timer_free(b->wake);
	free(b);
}

static void batch_path_cb(void *arg, struct mad_path *path)
{
	struct slot *slot = arg;
	const struct batch *b = slot->batch;
	struct batch_path now = slot->via;

	if (!b->ops->path_of(b->owner, &slot->job, &now))
		return;
	slot->via = now;
	*path = now.path;
}

static void batch_pump(struct batch *b)
{
	struct batch_job job;
	unsigned looks = 0;

	while (b->in_flight < BATCH_LIMIT && looks++ < BATCH_LOOKS) {
		if (ring_pop(&b->urgent, &job) || ring_pop(&b->normal, &job)) {
			struct batch_request request;
			struct slot *slot = &b->slots[b->free];

			mem_zero(&request, 1);
			if (!b->ops->make(b->owner, &job, &request)) {
				if (b->ops->unwanted)
					b->ops->unwanted(b->owner, &job);
				continue;
			}
			request.mad.data = request.data;
			if (!request.mad.lid) {
				request.mad.path = &request.via.path;
				request.mad.path_of = b->ops->path_of ? batch_path_cb : NULL;
			}
			assert(b->in_flight < BATCH_LIMIT && !slot->token);
			b->free = slot->next_free;
			b->in_flight++;
			slot->job = job;
			slot->via = request.via;
			slot->token = mad_send(b->mad, &request.mad, batch_answer_cb, slot);
		} else if (!b->ops->more || !b->ops->more(b->owner))
			break;
	}
	if (looks > BATCH_LOOKS)
		batch_wake(b);
	else if (b->busy && !b->in_flight && !b->urgent.count && !b->normal.count) {
		b->busy = false;
		loop_timer_stop(b->wake);
		ring_reset(&b->urgent);
		ring_reset(&b->normal);
		if (b->ops->idle)
			b->ops->idle(b->owner); /* may free b */
	}
}

void batch_wake(struct batch *b)
{
	b->busy = true;
	if (!loop_timer_armed(b->wake))
		loop_timer_set(b->wake, 0);
}

void batch_add(struct batch *b, const struct batch_job *job)
{
	struct ring *ring = job->urgent ? &b->urgent : &b->normal;

	if (ring->count == ring->capacity) {
		uint32_t old = ring->capacity, wrapped = old - ring->head;

		ring->capacity = old ? 2 * old : 64;
		ring->jobs = mem_array_resize(ring->jobs, ring->capacity);
		/* What was before the head's wrap moves behind the old end, so that order holds. */
		if (old && wrapped < old)
			memcpy(ring->jobs + old, ring->jobs, ring->head * sizeof(*ring->jobs));
	}
	ring->jobs[(ring->head + ring->count++) & (ring->capacity - 1)] = *job;
	batch_wake(b);
}

void batch_drop_queue(struct batch *b)
{
	ring_reset(&b->urgent);
	ring_reset(&b->normal);
}

void batch_drop(struct batch *b)
{
	for (unsigned i = 0; i < BATCH_LIMIT; i++) {
		if (!b->slots[i].token)
			continue;
		mad_cancel(b->mad, b->slots[i].token);
		b->smps++;
		slot_release(&b->slots[i]);
	}
	batch_drop_queue(b);
	loop_timer_stop(b->wake);
	b->busy = false;
}

void batch_reroute(struct batch *b)
{
	struct batch_request request;

	for (unsigned i = 0; i < BATCH_LIMIT; i++) {
		struct slot *slot = &b->slots[i];
		struct batch_job job = slot->job;

		if (!slot->token)
			continue;
		mem_zero(&request, 1);
		if (b->ops->make(b->owner, &job, &request) &&
		    request.via.path.hops == slot->via.path.hops &&
		    !memcmp(request.via.path.ports, slot->via.path.ports, request.via.path.hops))
			continue;
		mad_cancel(b->mad, slot->token);
		b->smps++;
		slot_release(slot);
		job.urgent = true;
		batch_add(b, &job);
	}
}

void batch_give_up_astray(struct batch *b)
{
	for (unsigned i = 0; i < BATCH_LIMIT; i++) {
		struct slot *slot = &b->slots[i];
		struct batch_path now = slot->via;

		if (!slot->token || (b->ops->path_of(b->owner, &slot->job, &now) &&
				     now.path.hops == slot->via.path.hops &&
				     !memcmp(now.path.ports, slot->via.path.ports, now.path.hops)))
			continue;
		mad_cancel(b->mad, slot->token);
		slot->via.path.hops = 0;
		slot->astray = true;
		batch_wake(b);
	}
}

unsigned batch_in_flight(const struct batch *b)
{
	return b->in_flight;
}

uint64_t batch_smps(const struct batch *b)
{
	return b->smps;
}
