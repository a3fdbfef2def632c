/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One transaction: its answer, its time-outs, its cancel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include "tests/fabric/mad_world.h"

static void one_key(void *arg, const struct mad_path *path, uint16_t lid, struct mad_keys *keys)
{
	*keys = (struct mad_keys){ .count = 1, .key = { 0x77 } };
}

static void answer_ends_the_transaction_with_its_data(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_set_keys(w.mad, one_key, NULL);
	mad_world_ask(&w, (struct mad_request){ .attr_mod = 5 });
	assert_int_equal(w.io->nsent, 1);
	assert_int_equal(w.io->expected, 1);
	assert_int_equal(w.io->sent[0].timeout_ms, TIMEOUT_MS);
	assert_int_equal(mad_world_header(&w, 0).key, 0x77);
	assert_int_equal(w.done, 0);
	mad_world_pass(&w, 30);
	mad_world_answer(&w, 0);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.last.result, MAD_OK);
	assert_int_equal(w.last.rtt_us, 30);
	assert_int_equal(w.last.tries, 1);
	assert_int_equal(w.last_data[0], 0xda);
	assert_int_equal(w.io->expected, 0);
	mad_world_fini(&w);
}

static void request_goes_out_as_asked(void **state)
{
	const struct mad_path path = { .hops = 3, .ports = { 1, 9, 33 } };
	uint8_t data[64] = { 1, 2, 3 };
	struct wire_mad m;
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_world_ask(
		&w, (struct mad_request){
			    .path = &path, .method = WIRE_SET, .attr_id = WIRE_LFT, .data = data });
	mad_world_ask(&w, (struct mad_request){ .lid = 7, .attr_id = WIRE_SM_INFO });
	assert_int_equal(wire_mad_decode(w.io->sent[0].mad, WIRE_MAD_SIZE, &m), 0);
	assert_int_equal(m.mgmt_class, WIRE_SMI_DR);
	assert_int_equal(m.method, WIRE_SET);
	assert_int_equal(m.hop_count, 3);
	assert_int_equal(m.path[3], 33);
	assert_int_equal(m.dr_slid, 0xffff);
	assert_int_equal(w.io->sent[0].to.lid, 0xffff);
	assert_memory_equal(wire_smp_data(w.io->sent[0].mad), data, sizeof(data));
	assert_int_equal(wire_mad_decode(w.io->sent[1].mad, WIRE_MAD_SIZE, &m), 0);
	assert_int_equal(m.mgmt_class, WIRE_SMI_LID);
	assert_int_equal(w.io->sent[1].to.lid, 7);
	mad_world_answer(&w, 1);
	assert_int_equal(w.last.result, MAD_OK);
	mad_world_fini(&w);
}

static void silence_is_retried_with_the_same_tid_then_reported(void **state)
{
	struct mad_world w;
	uint64_t start;

	mad_world_init(&w, (struct mad_conf){ .retries = 2 });
	start = loop_now_us(w.loop);
	mad_world_ask(&w, (struct mad_request){ 0 });
	loop_run(w.loop);
	assert_int_equal(w.io->nsent, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(w.io->sent[i].at, start + i * TIMEOUT_MS * 1000);
		assert_int_equal(mad_world_header(&w, i).tid, mad_world_header(&w, 0).tid);
	}
	assert_int_equal(w.done, 1);
	assert_int_equal(w.last.result, MAD_TIMEOUT);
	assert_int_equal(w.last.tries, 3);
	assert_int_equal(w.last_at, start + 3 * TIMEOUT_MS * 1000);
	assert_int_equal(mad_stats(w.mad).timed_out, 1);
	assert_int_equal(mad_stats(w.mad).retried, 2);
	assert_int_equal(mad_stats(w.mad).sent, 3);
	mad_world_fini(&w);
}

static void a_standby_sends_no_set_but_of_sm_info(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .retries = 1 });
	mad_world_ask(&w, (struct mad_request){ .method = WIRE_SET, .attr_id = WIRE_LFT });
	assert_int_equal(w.io->nsent, 1);
	mad_set_quiet(w.mad, true);
	mad_world_pass(&w, 300000); /* its second try */
	assert_int_equal(w.io->nsent, 1);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.last.result, MAD_SEND_FAILED);
	mad_world_ask(&w, (struct mad_request){ .method = WIRE_SET, .attr_id = WIRE_LFT });
	mad_world_ask(&w, (struct mad_request){ .method = WIRE_SET, .attr_id = WIRE_SM_INFO });
	mad_world_ask(&w, (struct mad_request){ .method = WIRE_GET, .attr_id = WIRE_LFT });
	mad_world_pass(&w, 1);
	assert_int_equal(w.io->nsent, 3);
	assert_int_equal(w.done, 2);
	mad_set_quiet(w.mad, false);
	mad_world_ask(&w, (struct mad_request){ .method = WIRE_SET, .attr_id = WIRE_LFT });
	assert_int_equal(w.io->nsent, 4);
	mad_world_fini(&w);
}

static void port_is_asked_for(void *arg)
{
	++*(unsigned *)arg;
}

/* It may be in another fabric. */
static void no_set_leaves_before_the_port_was_found_where_it_was(void **state)
{
	const struct mad_request set = { .method = WIRE_SET, .attr_id = WIRE_LFT, .lid = 3 };
	unsigned asked = 0;
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_world_pass(&w, MAD_SURE_US + 1);
	mad_ask_first(w.mad, port_is_asked_for, &asked);
	mad_world_ask(&w, (struct mad_request){ .attr_mod = 5 });
	assert_int_equal(w.io->nsent, 1);
	mad_world_ask(&w, set);
	mad_world_pass(&w, 1);
	assert_int_equal(w.io->nsent, 1);
	assert_int_equal(asked, 1);
	mad_world_ask(&w, (struct mad_request){ .urgent = true, .held_not = true });
	assert_int_equal(w.io->nsent, 2);
	mad_is_sure(w.mad);
	mad_world_answer(&w, 1);
	assert_int_equal(w.io->nsent, 3);
	assert_int_equal(w.io->sent[2].mad[3], WIRE_SET);
	mad_world_ask(&w, set);
	assert_int_equal(w.io->nsent, 4); /* known for a while */
	assert_int_equal(asked, 1);
	mad_world_pass(&w, MAD_SURE_US / 2 + 1);
	mad_world_ask(&w, set);
	assert_int_equal(w.io->nsent, 5); /* asked ahead of time */
	mad_world_pass(&w, 1);
	assert_int_equal(asked, 2);
	mad_world_fini(&w);
}

static void take_the_next_port(void *arg, struct mad_path *path)
{
	path->ports[path->hops - 1]++;
}

static void each_try_takes_the_path_that_is_known_by_then(void **state)
{
	const struct mad_path path = { .hops = 2, .ports = { 1, 20 } };
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .retries = 2 });
	mad_world_ask(&w, (struct mad_request){ .path = &path, .path_of = take_the_next_port });
	loop_run(w.loop);
	assert_int_equal(w.io->nsent, 3);
	for (unsigned i = 0; i < 3; i++) {
		struct wire_mad m = mad_world_header(&w, i);

		assert_int_equal(m.hop_count, 2);
		assert_int_equal(m.path[2], 21 + i);
	}
	mad_world_fini(&w);
}

static void retry_that_is_answered_is_a_success(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .retries = 2 });
	mad_world_ask(&w, (struct mad_request){ 0 });
	mad_world_pass(&w, TIMEOUT_MS * 1000 + 10);
	mad_world_answer(&w, 1);
	assert_int_equal(w.last.result, MAD_OK);
	assert_int_equal(w.last.tries, 2);
	loop_run(w.loop);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.io->nsent, 2);
	mad_world_fini(&w);
}

static void old_transaction_keeps_its_tid_while_thousands_pass(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_world_ask(&w, (struct mad_request){ .timeout_ms = 60000 });
	for (unsigned i = 1; i < 2000; i++) {
		mad_world_ask(&w, (struct mad_request){ 0 });
		mad_world_answer(&w, i);
	}
	assert_int_equal(w.done, 1999);
	mad_world_answer(&w, 0);
	assert_int_equal(w.done, 2000);
	assert_int_equal(mad_stats(w.mad).dropped_late, 0);
	mad_world_fini(&w);
}

static void request_has_its_own_timeout_and_retries(void **state)
{
	struct mad_world w;
	uint64_t start;

	mad_world_init(&w, (struct mad_conf){ .retries = 5 });
	start = loop_now_us(w.loop);
	mad_world_ask(&w, (struct mad_request){ .timeout_ms = 1000, .retries = 1 });
	mad_world_ask(&w, (struct mad_request){ .timeout_ms = 10, .retries = 1, .attr_mod = 1 });
	mad_world_pass(&w, 15000);
	assert_int_equal(w.io->nsent, 3); /* the short one did not wait behind the long one */
	assert_int_equal(mad_world_sent_mod(&w, 2), 1);
	assert_int_equal(w.io->sent[2].at, start + 10000);
	loop_run(w.loop);
	assert_int_equal(w.io->nsent, 4);
	assert_int_equal(w.done, 2);
	assert_int_equal(w.last_at, start + 2000000);
	mad_world_fini(&w);
}

static void bad_status_is_reported_with_the_data(void **state)
{
	struct mad_world w;
	struct wire_mad m;

	mad_world_init(&w, (struct mad_conf){ .retries = 2 });
	mad_world_ask(&w, (struct mad_request){ 0 });
	m = mad_world_header(&w, 0);
	m.status = 0x1c;
	mad_world_receive(&w, 0, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.last.result, MAD_STATUS);
	assert_int_equal(w.last.status, 0x1c);
	assert_non_null(w.last.data);
	assert_int_equal(mad_stats(w.mad).bad_status, 1);
	mad_world_fini(&w);
}

static void busy_is_asked_again(void **state)
{
	struct mad_world w;
	struct wire_mad m;

	mad_world_init(&w, (struct mad_conf){ .retries = 1 });
	mad_world_ask(&w, (struct mad_request){ 0 });
	m = mad_world_header(&w, 0);
	m.status = 1;
	mad_world_receive(&w, 0, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.done, 0);
	mad_world_pass(&w, TIMEOUT_MS * 1000 + 10);
	assert_int_equal(w.io->nsent, 2);
	mad_world_receive(&w, 1, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.last.result, MAD_STATUS);
	mad_world_fini(&w);
}

static void cancelled_transaction_never_calls_back(void **state)
{
	struct mad_world w;
	mad_token token[3];

	mad_world_init(&w, (struct mad_conf){ .retries = 1, .window_max = 2, .window_device = 1 });
	token[0] = mad_world_ask(&w, (struct mad_request){ .device = 1 }); /* in flight */
	token[1] = mad_world_ask(&w, (struct mad_request){ .device = 1 }); /* parked */
	mad_world_ask(&w, (struct mad_request){ .device = 2, .attr_mod = 2 });
	token[2] = mad_world_ask(&w, (struct mad_request){ .device = 3 }); /* queued */
	for (int i = 2; i >= 0; i--)
		mad_cancel(w.mad, token[i]);
	mad_world_answer(&w, 0);
	assert_int_equal(w.done, 0);
	mad_world_answer(&w, 1);
	assert_int_equal(w.done, 1);
	loop_run(w.loop);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.io->nsent, 2);
	assert_int_equal(mad_stats(w.mad).in_flight, 0);
	assert_int_equal(mad_stats(w.mad).queued, 0);
	mad_world_fini(&w);
}

static void cancel_makes_room_in_the_window(void **state)
{
	struct mad_world w;
	mad_token token;

	mad_world_init(&w, (struct mad_conf){ .window_max = 1 });
	token = mad_world_ask(&w, (struct mad_request){ 0 });
	mad_world_ask(&w, (struct mad_request){ .attr_mod = 1 });
	assert_int_equal(w.io->nsent, 1);
	mad_cancel(w.mad, token);
	mad_world_pass(&w, 1);
	assert_int_equal(w.io->nsent, 2);
	mad_world_fini(&w);
}

static void cancelling_all_sends_none_of_them(void **state)
{
	struct mad_world w;
	mad_token tokens[8];

	mad_world_init(&w, (struct mad_conf){ .window_max = 2 });
	for (unsigned i = 0; i < 8; i++)
		tokens[i] = mad_world_ask(&w, (struct mad_request){ .attr_mod = i });
	assert_int_equal(w.io->nsent, 2);
	for (unsigned i = 0; i < 8; i++)
		mad_cancel(w.mad, tokens[i]);
	loop_run(w.loop);
	assert_int_equal(w.io->nsent, 2);
	mad_world_fini(&w);
}

static void cancel_of_a_finished_token_touches_nothing(void **state)
{
	struct mad_world w;
	mad_token token;

	mad_world_init(&w, (struct mad_conf){ 0 });
	token = mad_world_ask(&w, (struct mad_request){ 0 });
	mad_world_answer(&w, 0);
	mad_world_ask(&w, (struct mad_request){ 0 }); /* in the same place */
	mad_cancel(w.mad, token);
	mad_cancel(w.mad, 0);
	mad_cancel(w.mad, ~0ull);
	mad_world_answer(&w, 1);
	assert_int_equal(w.done, 2);
	mad_world_fini(&w);
}

struct cross_cancel {
	struct mad_world *w;
	mad_token other;
	unsigned calls;
};

static void cross_cancel_cb(void *arg, const struct mad_answer *a)
{
	struct cross_cancel *c = arg;

	c->calls++;
	mad_cancel(c->w->mad, c->other);
	mad_world_ask(c->w, (struct mad_request){ 0 });
}

static void callback_may_cancel_and_send(void **state)
{
	struct mad_world w;
	struct cross_cancel c = { .w = &w };
	const struct mad_request r = { .path = &mad_world_path,
				       .method = WIRE_GET,
				       .attr_id = WIRE_NODE_INFO };

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_send(w.mad, &r, cross_cancel_cb, &c);
	c.other = mad_send(w.mad, &r, cross_cancel_cb, &c);
	mad_world_pass(&w, TIMEOUT_MS * 1000 + 1); /* both are due in the same timer */
	assert_int_equal(c.calls, 1);
	assert_int_equal(w.io->nsent, 3);
	mad_world_answer(&w, 2);
	assert_int_equal(w.done, 1);
	mad_world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answer_ends_the_transaction_with_its_data),
		cmocka_unit_test(request_goes_out_as_asked),
		cmocka_unit_test(silence_is_retried_with_the_same_tid_then_reported),
		cmocka_unit_test(a_standby_sends_no_set_but_of_sm_info),
		cmocka_unit_test(no_set_leaves_before_the_port_was_found_where_it_was),
		cmocka_unit_test(each_try_takes_the_path_that_is_known_by_then),
		cmocka_unit_test(retry_that_is_answered_is_a_success),
		cmocka_unit_test(old_transaction_keeps_its_tid_while_thousands_pass),
		cmocka_unit_test(request_has_its_own_timeout_and_retries),
		cmocka_unit_test(bad_status_is_reported_with_the_data),
		cmocka_unit_test(busy_is_asked_again),
		cmocka_unit_test(cancelled_transaction_never_calls_back),
		cmocka_unit_test(cancel_makes_room_in_the_window),
		cmocka_unit_test(cancelling_all_sends_none_of_them),
		cmocka_unit_test(cancel_of_a_finished_token_touches_nothing),
		cmocka_unit_test(callback_may_cancel_and_send),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
