/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Many transactions: the window, the caps of devices, urgent ones, sends that fail; and all of it
 * at random.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include "tests/fabric/mad_world.h"
#include "topology/base/mem.h"

/* ---- Window and caps ------------------------------------------------------------------------- */

static void window_starts_at_32_and_grows_to_its_maximum(void **state)
{
	struct mad_world w;
	unsigned next = 0;

	mad_world_init(&w, (struct mad_conf){ .window_max = 40 });
	mad_world_ask_many(&w, 1000, 0, 0);
	assert_int_equal(w.io->nsent, 32);
	while (next < 32) /* a window of clean answers: one more */
		mad_world_answer(&w, next++);
	assert_int_equal(mad_stats(w.mad).window, 33);
	assert_int_equal(mad_stats(w.mad).in_flight, 33);
	while (next < w.io->nsent)
		mad_world_answer(&w, next++);
	assert_int_equal(mad_stats(w.mad).window, 40);
	assert_int_equal(w.done, 1000);
	mad_world_fini(&w);
}

static void window_that_is_not_used_does_not_grow(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .window_max = 64 });
	for (unsigned i = 0; i < 200; i++) {
		mad_world_ask(&w, (struct mad_request){ 0 });
		mad_world_answer(&w, i);
	}
	assert_int_equal(mad_stats(w.mad).window, 32);
	mad_world_fini(&w);
}

static void window_halves_once_for_tries_lost_together(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .retries = 3 });
	mad_world_ask_many(&w, 32, 0, 0);
	mad_world_pass(&w, TIMEOUT_MS * 1000 + 10);
	assert_int_equal(mad_stats(w.mad).window, 16);
	assert_int_equal(mad_stats(w.mad).in_flight, 16);
	assert_int_equal(mad_stats(w.mad).queued, 16);
	mad_world_pass(&w, TIMEOUT_MS * 1000);
	assert_int_equal(mad_stats(w.mad).window, 8);
	loop_run(w.loop);
	assert_int_equal(w.done, 32);
	assert_true(mad_stats(w.mad).window >= 1);
	mad_world_fini(&w);
}

static void window_follows_a_smaller_configuration(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_configure(w.mad, &(struct mad_conf){ .window_max = 3, .timeout_ms = 5 });
	mad_world_ask_many(&w, 10, 0, 0);
	assert_int_equal(w.io->nsent, 3);
	mad_world_fini(&w);
}

static void device_at_its_cap_does_not_block_others(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .window_device = 4 });
	mad_world_ask_many(&w, 100, 0xa, 0xa);
	assert_int_equal(w.io->nsent, 4);
	mad_world_ask_many(&w, 10, 0xb, 0xb);
	mad_world_ask_many(&w, 10, 0, 0xc); /* no device, no cap */
	assert_int_equal(w.io->nsent, 4 + 4 + 10);
	mad_world_answer(&w, 0); /* makes room for one of the same device */
	assert_int_equal(w.io->nsent, 19);
	assert_int_equal(mad_world_sent_mod(&w, 18), 0xa);
	for (unsigned i = 1; i < w.io->nsent; i++)
		mad_world_answer(&w, i);
	assert_int_equal(w.done, 120);
	mad_world_fini(&w);
}

static void parked_requests_survive_the_cancel_of_the_one_before(void **state)
{
	struct mad_world w;
	mad_token second;

	mad_world_init(&w, (struct mad_conf){ .window_device = 1, .window_max = 2 });
	mad_world_ask(&w, (struct mad_request){ .device = 1 });
	second = mad_world_ask(&w, (struct mad_request){ .device = 1 });
	mad_world_ask(&w, (struct mad_request){ .device = 1, .attr_mod = 3 });
	w.io->result = -EAGAIN;
	w.io->results = 1;
	mad_world_answer(&w, 0); /* the second comes to the front of the queue, and stays there */
	mad_cancel(w.mad, second);
	loop_run(w.loop);
	assert_int_equal(w.io->nsent, 2);
	assert_int_equal(mad_world_sent_mod(&w, 1), 3);
	mad_world_fini(&w);
}

static void urgent_goes_first(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .window_max = 1, .window_device = 1 });
	mad_world_ask_many(&w, 3, 1, 1);
	mad_world_ask(&w, (struct mad_request){ .device = 1, .urgent = true, .attr_mod = 9 });
	mad_world_ask(&w, (struct mad_request){ .device = 2, .urgent = true, .attr_mod = 8 });
	mad_world_answer(&w, 0);
	assert_int_equal(mad_world_sent_mod(&w, 1), 9);
	mad_world_answer(&w, 1);
	assert_int_equal(mad_world_sent_mod(&w, 2), 8);
	mad_world_answer(&w, 2);
	assert_int_equal(mad_world_sent_mod(&w, 3), 1);
	mad_world_fini(&w);
}

static void a_few_urgent_ones_go_beside_what_awaits_its_time_out(void **state)
{
	struct mad_world w;
	unsigned sent;

	mad_world_init(&w, (struct mad_conf){ .retries = 3 });
	mad_world_ask_many(&w, 64, 0, 0);
	mad_world_pass(&w, TIMEOUT_MS * 1000 + 10);
	assert_int_equal(mad_stats(w.mad).in_flight, 16);
	sent = w.io->nsent;
	for (unsigned i = 0; i < 16; i++)
		mad_world_ask(&w, (struct mad_request){ .urgent = true, .attr_mod = 100 + i });
	assert_int_equal(w.io->nsent, sent + 8);
	assert_int_equal(mad_world_sent_mod(&w, sent), 100);
	mad_world_answer(&w, sent);
	assert_int_equal(w.io->nsent, sent + 9);
	mad_world_fini(&w);
}

static void urgent_ones_keep_to_the_configured_window(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .window_max = 4 });
	mad_world_ask_many(&w, 4, 0, 0);
	mad_world_ask(&w, (struct mad_request){ .urgent = true });
	assert_int_equal(w.io->nsent, 4);
	mad_world_fini(&w);
}

static void doubtful_tries_that_wait_for_their_time_out_leave_the_window_to_others(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .window_max = 32 });
	for (unsigned i = 0; i < 40; i++)
		mad_world_ask(&w, (struct mad_request){ .doubtful = true });
	mad_world_ask_many(&w, 10, 0, 7);
	assert_int_equal(w.io->nsent, 32);
	mad_world_pass(&w, 25000);
	assert_int_equal(w.io->nsent, 50);
	assert_int_equal(mad_stats(w.mad).in_flight, 10);
	mad_world_answer(&w, 3); /* as long as its own time-out it is awaited */
	assert_int_equal(w.last.result, MAD_OK);
	mad_world_pass(&w, (TIMEOUT_MS - 26) * 1000);
	assert_int_equal(w.done, 1);
	loop_run(w.loop);
	assert_int_equal(w.done, 50);
	mad_world_fini(&w);
}

/* ---- Trouble with sending -------------------------------------------------------------------- */

static void full_queue_puts_the_request_back_in_its_place(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	w.io->result = -EAGAIN;
	w.io->results = 2;
	mad_world_ask(&w, (struct mad_request){ .attr_mod = 1 });
	mad_world_ask(&w, (struct mad_request){ .attr_mod = 2 });
	assert_int_equal(w.io->nsent, 0);
	assert_int_equal(w.io->results, 1); /* the second did not even try */
	mad_world_pass(&w, 1000);
	assert_int_equal(w.io->nsent, 2);
	assert_int_equal(mad_world_sent_mod(&w, 0), 1);
	assert_int_equal(mad_stats(w.mad).sent, 2);
	mad_world_answer(&w, 0);
	assert_int_equal(w.last.tries, 1);
	mad_world_fini(&w);
}

static void failed_send_is_reported_from_the_loop(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .retries = 3 });
	w.io->result = -EIO;
	w.io->results = 1;
	mad_world_ask(&w, (struct mad_request){ 0 });
	assert_int_equal(w.done, 0);
	loop_run(w.loop);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.last.result, MAD_SEND_FAILED);
	assert_int_equal(mad_stats(w.mad).sent, 0);
	mad_world_fini(&w);
}

static void failed_send_may_be_cancelled(void **state)
{
	struct mad_world w;
	mad_token token;

	mad_world_init(&w, (struct mad_conf){ 0 });
	w.io->result = -EIO;
	w.io->results = 1;
	token = mad_world_ask(&w, (struct mad_request){ .device = 1 });
	mad_cancel(w.mad, token);
	loop_run(w.loop);
	assert_int_equal(w.done, 0);
	assert_int_equal(mad_stats(w.mad).queued, 0);
	mad_world_fini(&w);
}

static void failed_retry_counts_as_a_lost_try(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .retries = 2 });
	mad_world_ask(&w, (struct mad_request){ 0 });
	w.io->result = -EINVAL; /* the kernel holds the first one still */
	w.io->results = 1;
	loop_run(w.loop);
	assert_int_equal(w.io->nsent, 2);
	assert_int_equal(w.last.result, MAD_TIMEOUT);
	assert_int_equal(w.last.tries, 3);
	mad_world_fini(&w);
}

static void request_given_back_is_tried_again_at_once(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .retries = 1 });
	mad_world_ask(&w, (struct mad_request){ 0 });
	w.io->io.failed(w.io->io.arg, mad_world_header(&w, 0).tid);
	assert_int_equal(w.io->nsent, 2);
	w.io->io.failed(w.io->io.arg, mad_world_header(&w, 0).tid);
	assert_int_equal(w.last.result, MAD_TIMEOUT);
	w.io->io.failed(w.io->io.arg, mad_world_header(&w, 0).tid);
	assert_int_equal(w.done, 1);
	mad_world_fini(&w);
}

/* ---- All at once ----------------------------------------------------------------------------- */

struct one {
	unsigned calls;
	bool cancelled;
	mad_token token;
};

static void one_cb(void *arg, const struct mad_answer *a)
{
	struct one *one = arg;

	assert_false(one->cancelled);
	one->calls++;
}

/* Random sends, answers (right, doubled, corrupted), cancels, failures and waits. */
static void every_request_ends_once_whatever_happens(void **state)
{
	enum { REQUESTS = 1000 };
	struct one *ones = mem_alloc(REQUESTS, sizeof(*ones));
	struct mad_world w;
	unsigned made = 0;

	mad_world_init(&w, (struct mad_conf){ .retries = 2, .window_device = 3, .window_max = 20 });
	srandom(11);
	while (made < REQUESTS) {
		struct mad_request r = { .path = &mad_world_path,
					 .method = WIRE_GET,
					 .attr_id = WIRE_NODE_INFO,
					 .device = (guid_t)random() % 8,
					 .urgent = random() % 5 == 0 };

		ones[made].token = mad_send(w.mad, &r, one_cb, &ones[made]);
		made++;
		for (unsigned i = 0; w.io->nsent && i < 2; i++)
			if (random() % 3)
				mad_world_answer(&w, (unsigned)random() % w.io->nsent);
		if (random() % 10 == 0) {
			struct one *one = &ones[random() % made];

			mad_cancel(w.mad, one->token);
			one->cancelled = !one->calls;
		}
		if (random() % 20 == 0) {
			w.io->result = random() % 2 ? -EAGAIN : -EIO;
			w.io->results = 2;
		}
		if (random() % 30 == 0)
			mad_world_pass(&w, (uint64_t)random() % 300000);
	}
	loop_run(w.loop);
	for (unsigned i = 0; i < REQUESTS; i++)
		assert_int_equal(ones[i].calls, ones[i].cancelled ? 0 : 1);
	assert_int_equal(mad_stats(w.mad).in_flight, 0);
	assert_int_equal(mad_stats(w.mad).queued, 0);
	mad_world_fini(&w);
	free(ones);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_starts_at_32_and_grows_to_its_maximum),
		cmocka_unit_test(window_that_is_not_used_does_not_grow),
		cmocka_unit_test(window_halves_once_for_tries_lost_together),
		cmocka_unit_test(window_follows_a_smaller_configuration),
		cmocka_unit_test(device_at_its_cap_does_not_block_others),
		cmocka_unit_test(parked_requests_survive_the_cancel_of_the_one_before),
		cmocka_unit_test(urgent_goes_first),
		cmocka_unit_test(a_few_urgent_ones_go_beside_what_awaits_its_time_out),
		cmocka_unit_test(urgent_ones_keep_to_the_configured_window),
		cmocka_unit_test(
			doubtful_tries_that_wait_for_their_time_out_leave_the_window_to_others),
		cmocka_unit_test(full_queue_puts_the_request_back_in_its_place),
		cmocka_unit_test(failed_send_is_reported_from_the_loop),
		cmocka_unit_test(failed_send_may_be_cancelled),
		cmocka_unit_test(failed_retry_counts_as_a_lost_try),
		cmocka_unit_test(request_given_back_is_tried_again_at_once),
		cmocka_unit_test(every_request_ends_once_whatever_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
