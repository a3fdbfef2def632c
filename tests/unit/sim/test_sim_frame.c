/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The memory between fmsim and its clients: which requests are on their way, and rings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include "tests/sim/frame.h"
#include "tests/sim/frame_memory.h"

static const uint8_t *request(uint32_t tid, uint8_t mgmt_class)
{
	static uint8_t mad[24];

	mad[1] = mgmt_class;
	memcpy(mad + 12, &tid, sizeof(tid));
	return mad;
}

static struct frame_memory *memory_new(void)
{
	void *memory = NULL;

	assert_int_equal(posix_memalign(&memory, 64, sizeof(struct frame_memory)), 0);
	return memset(memory, 0, sizeof(struct frame_memory));
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void a_request_is_known_as_long_as_it_is_on_its_way(void **state)
{
	struct frame_memory *m = memory_new();

	assert_false(frame_tid_may_be(m, request(7, 0x81)));
	frame_tid_change(m, request(7, 0x81), 1);
	assert_true(frame_tid_may_be(m, request(7, 0x81)));
	assert_false(frame_tid_may_be(m, request(7, 0x03)));
	frame_tid_change(m, request(7, 0x81), 1); /* answers to two ports may have one TID */
	frame_tid_change(m, request(7, 0x81), -1);
	assert_true(frame_tid_may_be(m, request(7, 0x81)));
	frame_tid_change(m, request(7, 0x81), -1);
	assert_false(frame_tid_may_be(m, request(7, 0x81)));
	free(m);
}

/* None that is there is missed; of those that are not nearly none is taken for one. */
static void few_others_are_taken_for_one_that_is_on_its_way(void **state)
{
	enum { OUT = 64, ASKED = 200000 };
	struct frame_memory *m = memory_new();
	unsigned wrong = 0;

	for (uint32_t i = 0; i < OUT; i++)
		frame_tid_change(m, request(i * 2654435761u, 0x81), 1);
	for (uint32_t i = 0; i < OUT; i++)
		assert_true(frame_tid_may_be(m, request(i * 2654435761u, 0x81)));
	for (uint32_t i = OUT; i < OUT + ASKED; i++)
		wrong += frame_tid_may_be(m, request(i * 2654435761u, 0x81));
	assert_true(wrong < ASKED / 1000);
	for (uint32_t i = 0; i < OUT; i++)
		frame_tid_change(m, request(i * 2654435761u, 0x81), -1);
	for (unsigned i = 0; i < FRAME_TIDS; i++)
		assert_int_equal(m->tids[i], 0);
	free(m);
}

/* ---- Rings ----------------------------------------------------------------------------------- */

enum { RECORDS = 200000 };

static void *writer(void *arg)
{
	struct frame_ring *ring = arg;

	for (uint32_t i = 0; i < RECORDS;)
		if (ring_write(ring, &i, sizeof(i), &i, i % 2 * sizeof(i), false)) {
			ring_wake(ring);
			i++;
		}
	return NULL;
}

static void a_reader_that_naps_gets_all_that_is_written_in_order(void **state)
{
	struct frame_memory *m = memory_new();
	struct frame_record record;
	const uint8_t *bytes;
	pthread_t thread;
	uint32_t number;

	assert_int_equal(pthread_create(&thread, NULL, writer, &m->down), 0);
	for (uint32_t i = 0; i < RECORDS;) {
		uint32_t written = atomic_load(&m->down.written.at);

		bytes = ring_look(&m->down, &record);
		if (!bytes) {
			ring_nap(&m->down, written, 1000000);
			continue;
		}
		memcpy(&number, bytes, sizeof(number));
		assert_int_equal(number, i);
		assert_int_equal(record.len, (1 + i % 2) * sizeof(i));
		ring_took(&m->down, &record);
		i++;
	}
	pthread_join(thread, NULL);
	assert_true(ring_is_empty(&m->down));
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_known_as_long_as_it_is_on_its_way),
		cmocka_unit_test(few_others_are_taken_for_one_that_is_on_its_way),
		cmocka_unit_test(a_reader_that_naps_gets_all_that_is_written_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
