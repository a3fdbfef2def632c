/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Transactions, over an io that only notes what it is given: the test answers as it likes, when it likes. The clock is simulated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fm/mad/mad.h"
#include "topology/mem.h"

#define SENT_MAX   4096
#define TIMEOUT_MS 200

/* ---- An io that notes ------------------------------------------------------------------------- */

struct note_io {
	struct io io;
	struct {
		uint8_t mad[WIRE_MAD_SIZE];
		struct io_addr to;
		unsigned timeout_ms;
		uint64_t at;
	} sent[SENT_MAX];
	unsigned nsent, expected;
	int result; /* of the next `results` sends */
	unsigned results;
	bool is_sm;
	struct loop *loop;
};

static int note_send(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
		     unsigned timeout_ms)
{
	struct note_io *n = (struct note_io *)io;

	if (n->results) {
		n->results--;
		return n->result;
	}
	assert_true(n->nsent < SENT_MAX && len >= WIRE_MAD_SIZE);
	memcpy(n->sent[n->nsent].mad, mad, WIRE_MAD_SIZE);
	n->sent[n->nsent].to = *to;
	n->sent[n->nsent].timeout_ms = timeout_ms;
	n->sent[n->nsent].at = loop_now_us(n->loop);
	n->nsent++;
	return 0;
}

static int note_set_is_sm(struct io *io, bool on)
{
	((struct note_io *)io)->is_sm = on;
	return 0;
}

static void note_free(struct io *io)
{
	free(io);
}

static void note_expect(struct io *io, unsigned outstanding)
{
	((struct note_io *)io)->expected = outstanding;
}

static const struct io_ops note_ops = { note_send, note_set_is_sm, note_free, note_expect };

/* ---- World ------------------------------------------------------------------------------------ */

struct world {
	struct loop *loop;
	struct note_io *io;
	struct mad *mad;
	unsigned done; /* callbacks, all requests */
	struct mad_answer last;
	uint8_t last_data[64];
	uint64_t last_at;
	bool in_send;
};

static void world_init(struct world *w, struct mad_conf conf)
{
	*w = (struct world){ .loop = loop_new_simulated(), .io = mem_alloc(1, sizeof(*w->io)) };
	w->io->io.ops = &note_ops;
	w->io->loop = w->loop;
	if (!conf.timeout_ms)
		conf.timeout_ms = TIMEOUT_MS;
	w->mad = mad_new(w->loop, &w->io->io, &conf);
}

static void world_fini(struct world *w)
{
	mad_free(w->mad);
	loop_free(w->loop);
}

static void done_cb(void *arg, const struct mad_answer *answer)
{
	struct world *w = arg;

	assert_false(w->in_send);
	w->done++;
	w->last = *answer;
	w->last_at = loop_now_us(w->loop);
	if (answer->data)
		memcpy(w->last_data, answer->data, sizeof(w->last_data));
}

static const struct mad_path one_hop = { .hops = 1, .ports = { 1 } };

static mad_token ask(struct world *w, struct mad_request request)
{
	mad_token token;

	if (!request.path && !request.lid)
		request.path = &one_hop;
	if (!request.attr_id)
		request.attr_id = WIRE_NODE_INFO;
	request.method = request.method ? request.method : WIRE_GET;
	w->in_send = true;
	token = mad_send(w->mad, &request, done_cb, w);
	w->in_send = false;
	assert_true(token != 0);
	return token;
}

static void ask_many(struct world *w, unsigned count, guid_t device, uint32_t mod)
{
	for (unsigned i = 0; i < count; i++)
		ask(w, (struct mad_request){ .device = device, .attr_mod = mod });
}

/* The header a proper answer to the i-th MAD sent would have. */
static struct wire_mad answer_header(const struct world *w, unsigned i)
{
	struct wire_mad m;

	assert_true(i < w->io->nsent);
	assert_int_equal(wire_mad_decode(w->io->sent[i].mad, WIRE_MAD_SIZE, &m), 0);
	m.method = WIRE_GET_RESP;
	m.returning = m.mgmt_class == WIRE_SMI_DR;
	m.tid |= 0x12ull << 32; /* the kernel's */
	return m;
}

static void receive(struct world *w, unsigned i, const struct wire_mad *m, size_t len)
{
	const struct io_addr from = { .lid = 0xffff };
	uint8_t mad[WIRE_MAD_SIZE];

	memcpy(mad, w->io->sent[i].mad, sizeof(mad));
	wire_mad_encode(m, mad);
	wire_smp_data(mad)[0] = 0xda;
	w->io->io.recv(w->io->io.arg, &from, mad, len);
}

static void answer(struct world *w, unsigned i)
{
	struct wire_mad m = answer_header(w, i);

	receive(w, i, &m, WIRE_MAD_SIZE);
}

static uint32_t sent_mod(const struct world *w, unsigned i)
{
	return answer_header(w, i).attr_mod;
}

static void stop_cb(void *arg)
{
	loop_stop(arg);
}

/* Lets simulated time pass. */
static void pass(struct world *w, uint64_t us)
{
	struct loop_timer *timer = loop_timer_new(w->loop, stop_cb, w->loop);

	loop_timer_set(timer, us);
	loop_run(w->loop);
	loop_timer_free(timer);
}

/* ---- One transaction -------------------------------------------------------------------------- */

static void answer_ends_the_transaction_with_its_data(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ .mkey = 0x77 });
	ask(&w, (struct mad_request){ .attr_mod = 5 });
	assert_int_equal(w.io->nsent, 1);
	assert_int_equal(w.io->expected, 1);
	assert_int_equal(w.io->sent[0].timeout_ms, TIMEOUT_MS);
	assert_int_equal(answer_header(&w, 0).key, 0x77);
	assert_int_equal(w.done, 0);
	pass(&w, 30);
	answer(&w, 0);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.last.result, MAD_OK);
	assert_int_equal(w.last.rtt_us, 30);
	assert_int_equal(w.last.tries, 1);
	assert_int_equal(w.last_data[0], 0xda);
	assert_int_equal(w.io->expected, 0);
	world_fini(&w);
}

static void request_goes_out_as_asked(void **state)
{
	const struct mad_path path = { .hops = 3, .ports = { 1, 9, 33 } };
	uint8_t data[64] = { 1, 2, 3 };
	struct wire_mad m;
	struct world w;

	world_init(&w, (struct mad_conf){ 0 });
	ask(&w, (struct mad_request){
			.path = &path, .method = WIRE_SET, .attr_id = WIRE_LFT, .data = data });
	ask(&w, (struct mad_request){ .lid = 7, .attr_id = WIRE_SM_INFO });
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
	answer(&w, 1);
	assert_int_equal(w.last.result, MAD_OK);
	world_fini(&w);
}

static void silence_is_retried_with_the_same_tid_then_reported(void **state)
{
	struct world w;
	uint64_t start;

	world_init(&w, (struct mad_conf){ .retries = 2 });
	start = loop_now_us(w.loop);
	ask(&w, (struct mad_request){ 0 });
	loop_run(w.loop);
	assert_int_equal(w.io->nsent, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(w.io->sent[i].at, start + i * TIMEOUT_MS * 1000);
		assert_int_equal(answer_header(&w, i).tid, answer_header(&w, 0).tid);
	}
	assert_int_equal(w.done, 1);
	assert_int_equal(w.last.result, MAD_TIMEOUT);
	assert_int_equal(w.last.tries, 3);
	assert_int_equal(w.last_at, start + 3 * TIMEOUT_MS * 1000);
	assert_int_equal(mad_stats(w.mad).timed_out, 1);
	assert_int_equal(mad_stats(w.mad).retried, 2);
	assert_int_equal(mad_stats(w.mad).sent, 3);
	world_fini(&w);
}

static void retry_that_is_answered_is_a_success(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ .retries = 2 });
	ask(&w, (struct mad_request){ 0 });
	pass(&w, TIMEOUT_MS * 1000 + 10);
	answer(&w, 1);
	assert_int_equal(w.last.result, MAD_OK);
	assert_int_equal(w.last.tries, 2);
	loop_run(w.loop);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.io->nsent, 2);
	world_fini(&w);
}

static void old_transaction_keeps_its_tid_while_thousands_pass(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ 0 });
	ask(&w, (struct mad_request){ .timeout_ms = 60000 });
	for (unsigned i = 1; i < 2000; i++) {
		ask(&w, (struct mad_request){ 0 });
		answer(&w, i);
	}
	assert_int_equal(w.done, 1999);
	answer(&w, 0);
	assert_int_equal(w.done, 2000);
	assert_int_equal(mad_stats(w.mad).dropped_late, 0);
	world_fini(&w);
}

static void request_has_its_own_timeout_and_retries(void **state)
{
	struct world w;
	uint64_t start;

	world_init(&w, (struct mad_conf){ .retries = 5 });
	start = loop_now_us(w.loop);
	ask(&w, (struct mad_request){ .timeout_ms = 1000, .retries = 1 });
	ask(&w, (struct mad_request){ .timeout_ms = 10, .retries = 1, .attr_mod = 1 });
	pass(&w, 15000);
	assert_int_equal(w.io->nsent, 3); /* the short one did not wait behind the long one */
	assert_int_equal(sent_mod(&w, 2), 1);
	assert_int_equal(w.io->sent[2].at, start + 10000);
	loop_run(w.loop);
	assert_int_equal(w.io->nsent, 4);
	assert_int_equal(w.done, 2);
	assert_int_equal(w.last_at, start + 2000000);
	world_fini(&w);
}

static void bad_status_is_reported_with_the_data(void **state)
{
	struct world w;
	struct wire_mad m;

	world_init(&w, (struct mad_conf){ .retries = 2 });
	ask(&w, (struct mad_request){ 0 });
	m = answer_header(&w, 0);
	m.status = 0x1c;
	receive(&w, 0, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.last.result, MAD_STATUS);
	assert_int_equal(w.last.status, 0x1c);
	assert_non_null(w.last.data);
	assert_int_equal(mad_stats(w.mad).bad_status, 1);
	world_fini(&w);
}

static void busy_is_asked_again(void **state)
{
	struct world w;
	struct wire_mad m;

	world_init(&w, (struct mad_conf){ .retries = 1 });
	ask(&w, (struct mad_request){ 0 });
	m = answer_header(&w, 0);
	m.status = 1;
	receive(&w, 0, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.done, 0);
	pass(&w, TIMEOUT_MS * 1000 + 10);
	assert_int_equal(w.io->nsent, 2);
	receive(&w, 1, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.last.result, MAD_STATUS);
	world_fini(&w);
}

/* ---- Answers that are none -------------------------------------------------------------------- */

static void late_reply_is_ignored(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ 0 });
	ask(&w, (struct mad_request){ 0 });
	loop_run(w.loop);
	assert_int_equal(w.last.result, MAD_TIMEOUT);
	answer(&w, 0);
	assert_int_equal(w.done, 1);
	assert_int_equal(mad_stats(w.mad).dropped_late, 1);
	world_fini(&w);
}

static void doubled_reply_is_ignored(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ 0 });
	ask(&w, (struct mad_request){ 0 });
	answer(&w, 0);
	ask(&w, (struct mad_request){ 0 }); /* takes the place of the first */
	answer(&w, 0);
	assert_int_equal(w.done, 1);
	assert_int_equal(mad_stats(w.mad).dropped_late, 1);
	world_fini(&w);
}

static void late_reply_to_an_earlier_try_is_an_answer(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ .retries = 3 });
	ask(&w, (struct mad_request){ 0 });
	w.io->result = -EAGAIN;
	w.io->results = 3;
	pass(&w, TIMEOUT_MS * 1000 + 150); /* the retry waits in the queue */
	assert_int_equal(w.io->nsent, 1);
	assert_int_equal(mad_stats(w.mad).queued, 1);
	answer(&w, 0);
	assert_int_equal(w.last.result, MAD_OK);
	loop_run(w.loop);
	assert_int_equal(w.io->nsent, 1);
	assert_int_equal(mad_stats(w.mad).queued, 0);
	assert_int_equal(w.done, 1);
	world_fini(&w);
}

static void reply_to_what_was_not_sent_yet_is_dropped(void **state)
{
	struct world w;
	struct wire_mad m;

	world_init(&w, (struct mad_conf){ 0 });
	ask(&w, (struct mad_request){ 0 });
	w.io->result = -EAGAIN;
	w.io->results = 1;
	ask(&w, (struct mad_request){ 0 });
	m = answer_header(&w, 0);
	m.tid++; /* TIDs count up: the second's */
	receive(&w, 0, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.done, 0);
	assert_int_equal(mad_stats(w.mad).dropped_late, 1);
	world_fini(&w);
}

static void short_reply_is_dropped(void **state)
{
	struct world w;
	struct wire_mad m;

	world_init(&w, (struct mad_conf){ .retries = 1 });
	ask(&w, (struct mad_request){ 0 });
	m = answer_header(&w, 0);
	receive(&w, 0, &m, 100);
	receive(&w, 0, &m, 0);
	assert_int_equal(w.done, 0);
	assert_int_equal(mad_stats(w.mad).dropped_short, 2);
	answer(&w, 0);
	assert_int_equal(w.last.result, MAD_OK);
	world_fini(&w);
}

static void reply_that_does_not_fit_its_request_is_dropped(void **state)
{
	struct world w;
	struct wire_mad m;

	world_init(&w, (struct mad_conf){ 0 });
	ask(&w, (struct mad_request){ .attr_mod = 4 });
	m = answer_header(&w, 0);
	m.attr_id = WIRE_PORT_INFO;
	receive(&w, 0, &m, WIRE_MAD_SIZE);
	m = answer_header(&w, 0);
	m.attr_mod = 5;
	receive(&w, 0, &m, WIRE_MAD_SIZE);
	m = answer_header(&w, 0);
	m.returning = false; /* our own request, back from a loop */
	receive(&w, 0, &m, WIRE_MAD_SIZE);
	m = answer_header(&w, 0);
	m.mgmt_class = WIRE_SMI_LID;
	receive(&w, 0, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.done, 0);
	assert_int_equal(mad_stats(w.mad).dropped_mismatch, 4);
	answer(&w, 0);
	assert_int_equal(w.done, 1);
	world_fini(&w);
}

/* ---- Cancel ----------------------------------------------------------------------------------- */

static void cancelled_transaction_never_calls_back(void **state)
{
	struct world w;
	mad_token token[3];

	world_init(&w, (struct mad_conf){ .retries = 1, .window_max = 2, .window_device = 1 });
	token[0] = ask(&w, (struct mad_request){ .device = 1 }); /* in flight */
	token[1] = ask(&w, (struct mad_request){ .device = 1 }); /* parked */
	ask(&w, (struct mad_request){ .device = 2, .attr_mod = 2 });
	token[2] = ask(&w, (struct mad_request){ .device = 3 }); /* queued */
	for (int i = 2; i >= 0; i--)
		mad_cancel(w.mad, token[i]);
	answer(&w, 0);
	assert_int_equal(w.done, 0);
	answer(&w, 1);
	assert_int_equal(w.done, 1);
	loop_run(w.loop);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.io->nsent, 2);
	assert_int_equal(mad_stats(w.mad).in_flight, 0);
	assert_int_equal(mad_stats(w.mad).queued, 0);
	world_fini(&w);
}

static void cancel_makes_room_in_the_window(void **state)
{
	struct world w;
	mad_token token;

	world_init(&w, (struct mad_conf){ .window_max = 1 });
	token = ask(&w, (struct mad_request){ 0 });
	ask(&w, (struct mad_request){ .attr_mod = 1 });
	assert_int_equal(w.io->nsent, 1);
	mad_cancel(w.mad, token);
	assert_int_equal(w.io->nsent, 2);
	world_fini(&w);
}

static void cancel_of_a_finished_token_touches_nothing(void **state)
{
	struct world w;
	mad_token token;

	world_init(&w, (struct mad_conf){ 0 });
	token = ask(&w, (struct mad_request){ 0 });
	answer(&w, 0);
	ask(&w, (struct mad_request){ 0 }); /* in the same place */
	mad_cancel(w.mad, token);
	mad_cancel(w.mad, 0);
	mad_cancel(w.mad, ~0ull);
	answer(&w, 1);
	assert_int_equal(w.done, 2);
	world_fini(&w);
}

struct cross_cancel {
	struct world *w;
	mad_token other;
	unsigned calls;
};

static void cross_cancel_cb(void *arg, const struct mad_answer *a)
{
	struct cross_cancel *c = arg;

	c->calls++;
	mad_cancel(c->w->mad, c->other);
	ask(c->w, (struct mad_request){ 0 });
}

static void callback_may_cancel_and_send(void **state)
{
	struct world w;
	struct cross_cancel c = { .w = &w };
	const struct mad_request r = { .path = &one_hop,
				       .method = WIRE_GET,
				       .attr_id = WIRE_NODE_INFO };

	world_init(&w, (struct mad_conf){ 0 });
	mad_send(w.mad, &r, cross_cancel_cb, &c);
	c.other = mad_send(w.mad, &r, cross_cancel_cb, &c);
	pass(&w, TIMEOUT_MS * 1000 + 1); /* both are due in the same timer */
	assert_int_equal(c.calls, 1);
	assert_int_equal(w.io->nsent, 3);
	answer(&w, 2);
	assert_int_equal(w.done, 1);
	world_fini(&w);
}

/* ---- Window and caps -------------------------------------------------------------------------- */

static void window_starts_at_32_and_grows_to_its_maximum(void **state)
{
	struct world w;
	unsigned next = 0;

	world_init(&w, (struct mad_conf){ .window_max = 40 });
	ask_many(&w, 1000, 0, 0);
	assert_int_equal(w.io->nsent, 32);
	while (next < 32) /* a window of clean answers: one more */
		answer(&w, next++);
	assert_int_equal(mad_stats(w.mad).window, 33);
	assert_int_equal(mad_stats(w.mad).in_flight, 33);
	while (next < w.io->nsent)
		answer(&w, next++);
	assert_int_equal(mad_stats(w.mad).window, 40);
	assert_int_equal(w.done, 1000);
	world_fini(&w);
}

static void window_that_is_not_used_does_not_grow(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ .window_max = 64 });
	for (unsigned i = 0; i < 200; i++) {
		ask(&w, (struct mad_request){ 0 });
		answer(&w, i);
	}
	assert_int_equal(mad_stats(w.mad).window, 32);
	world_fini(&w);
}

static void window_halves_once_for_tries_lost_together(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ .retries = 3 });
	ask_many(&w, 32, 0, 0);
	pass(&w, TIMEOUT_MS * 1000 + 10);
	assert_int_equal(mad_stats(w.mad).window, 16);
	assert_int_equal(mad_stats(w.mad).in_flight, 16);
	assert_int_equal(mad_stats(w.mad).queued, 16);
	pass(&w, TIMEOUT_MS * 1000);
	assert_int_equal(mad_stats(w.mad).window, 8);
	loop_run(w.loop);
	assert_int_equal(w.done, 32);
	assert_true(mad_stats(w.mad).window >= 1);
	world_fini(&w);
}

static void window_follows_a_smaller_configuration(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ 0 });
	mad_configure(w.mad, &(struct mad_conf){ .window_max = 3, .timeout_ms = 5 });
	ask_many(&w, 10, 0, 0);
	assert_int_equal(w.io->nsent, 3);
	world_fini(&w);
}

static void device_at_its_cap_does_not_block_others(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ .window_device = 4 });
	ask_many(&w, 100, 0xa, 0xa);
	assert_int_equal(w.io->nsent, 4);
	ask_many(&w, 10, 0xb, 0xb);
	ask_many(&w, 10, 0, 0xc); /* no device, no cap */
	assert_int_equal(w.io->nsent, 4 + 4 + 10);
	answer(&w, 0); /* makes room for one of the same device */
	assert_int_equal(w.io->nsent, 19);
	assert_int_equal(sent_mod(&w, 18), 0xa);
	for (unsigned i = 1; i < w.io->nsent; i++)
		answer(&w, i);
	assert_int_equal(w.done, 120);
	world_fini(&w);
}

static void parked_requests_survive_the_cancel_of_the_one_before(void **state)
{
	struct world w;
	mad_token second;

	world_init(&w, (struct mad_conf){ .window_device = 1, .window_max = 2 });
	ask(&w, (struct mad_request){ .device = 1 });
	second = ask(&w, (struct mad_request){ .device = 1 });
	ask(&w, (struct mad_request){ .device = 1, .attr_mod = 3 });
	w.io->result = -EAGAIN;
	w.io->results = 1;
	answer(&w, 0); /* the second comes to the front of the queue, and stays there */
	mad_cancel(w.mad, second);
	loop_run(w.loop);
	assert_int_equal(w.io->nsent, 2);
	assert_int_equal(sent_mod(&w, 1), 3);
	world_fini(&w);
}

static void urgent_goes_first(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ .window_max = 1, .window_device = 1 });
	ask_many(&w, 3, 1, 1);
	ask(&w, (struct mad_request){ .device = 1, .urgent = true, .attr_mod = 9 });
	ask(&w, (struct mad_request){ .device = 2, .urgent = true, .attr_mod = 8 });
	answer(&w, 0);
	assert_int_equal(sent_mod(&w, 1), 9);
	answer(&w, 1);
	assert_int_equal(sent_mod(&w, 2), 8);
	answer(&w, 2);
	assert_int_equal(sent_mod(&w, 3), 1);
	world_fini(&w);
}

/* ---- Trouble with sending --------------------------------------------------------------------- */

static void full_queue_puts_the_request_back_in_its_place(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ 0 });
	w.io->result = -EAGAIN;
	w.io->results = 2;
	ask(&w, (struct mad_request){ .attr_mod = 1 });
	ask(&w, (struct mad_request){ .attr_mod = 2 });
	assert_int_equal(w.io->nsent, 0);
	assert_int_equal(w.io->results, 1); /* the second did not even try */
	pass(&w, 1000);
	assert_int_equal(w.io->nsent, 2);
	assert_int_equal(sent_mod(&w, 0), 1);
	assert_int_equal(mad_stats(w.mad).sent, 2);
	answer(&w, 0);
	assert_int_equal(w.last.tries, 1);
	world_fini(&w);
}

static void failed_send_is_reported_from_the_loop(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ .retries = 3 });
	w.io->result = -EIO;
	w.io->results = 1;
	ask(&w, (struct mad_request){ 0 });
	assert_int_equal(w.done, 0);
	loop_run(w.loop);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.last.result, MAD_SEND_FAILED);
	assert_int_equal(mad_stats(w.mad).sent, 0);
	world_fini(&w);
}

static void failed_send_may_be_cancelled(void **state)
{
	struct world w;
	mad_token token;

	world_init(&w, (struct mad_conf){ 0 });
	w.io->result = -EIO;
	w.io->results = 1;
	token = ask(&w, (struct mad_request){ .device = 1 });
	mad_cancel(w.mad, token);
	loop_run(w.loop);
	assert_int_equal(w.done, 0);
	assert_int_equal(mad_stats(w.mad).queued, 0);
	world_fini(&w);
}

static void failed_retry_counts_as_a_lost_try(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ .retries = 2 });
	ask(&w, (struct mad_request){ 0 });
	w.io->result = -EINVAL; /* the kernel holds the first one still */
	w.io->results = 1;
	loop_run(w.loop);
	assert_int_equal(w.io->nsent, 2);
	assert_int_equal(w.last.result, MAD_TIMEOUT);
	assert_int_equal(w.last.tries, 3);
	world_fini(&w);
}

static void request_given_back_is_tried_again_at_once(void **state)
{
	struct world w;

	world_init(&w, (struct mad_conf){ .retries = 1 });
	ask(&w, (struct mad_request){ 0 });
	w.io->io.failed(w.io->io.arg, answer_header(&w, 0).tid);
	assert_int_equal(w.io->nsent, 2);
	w.io->io.failed(w.io->io.arg, answer_header(&w, 0).tid);
	assert_int_equal(w.last.result, MAD_TIMEOUT);
	w.io->io.failed(w.io->io.arg, answer_header(&w, 0).tid);
	assert_int_equal(w.done, 1);
	world_fini(&w);
}

/* ---- Other traffic ---------------------------------------------------------------------------- */

struct heard {
	unsigned count;
	struct wire_mad last;
	uint16_t lid;
};

static void heard_cb(void *arg, const struct io_addr *from, const struct wire_mad *mad,
		     const uint8_t *raw, size_t len)
{
	struct heard *heard = arg;

	heard->count++;
	heard->last = *mad;
	heard->lid = from->lid;
}

static void hear(struct world *w, uint8_t mgmt_class, uint8_t method)
{
	const struct wire_mad m = { .mgmt_class = mgmt_class,
				    .class_version = 1,
				    .method = method };
	const struct io_addr from = { .lid = 33 };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&m, mad);
	w->io->io.recv(w->io->io.arg, &from, mad, sizeof(mad));
}

static void what_others_start_goes_to_the_handler_of_its_class(void **state)
{
	struct heard smi = { 0 }, sa = { 0 };
	struct world w;

	world_init(&w, (struct mad_conf){ 0 });
	mad_handle(w.mad, WIRE_SMI_LID, heard_cb, &smi);
	mad_handle(w.mad, WIRE_SA, heard_cb, &sa);
	hear(&w, WIRE_SMI_LID, WIRE_TRAP);
	hear(&w, WIRE_SA, WIRE_GET_TABLE);
	hear(&w, WIRE_SA,
	     WIRE_REPORT_RESP);		 /* answers to the SA's own reports are its own affair */
	hear(&w, WIRE_SMI_DR, WIRE_GET); /* nobody's */
	assert_int_equal(smi.count, 1);
	assert_int_equal(smi.last.method, WIRE_TRAP);
	assert_int_equal(smi.lid, 33);
	assert_int_equal(sa.count, 2);
	assert_int_equal(mad_stats(w.mad).unsolicited, 4);
	world_fini(&w);
}

static void reply_awaits_nothing_and_a_report_does(void **state)
{
	const struct io_addr to = { .lid = 4, .qp = 1 };
	struct wire_mad m = { .mgmt_class = WIRE_SA, .class_version = 2, .method = WIRE_GET_RESP };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	struct world w;

	world_init(&w, (struct mad_conf){ 0 });
	wire_mad_encode(&m, mad);
	assert_int_equal(mad_reply(w.mad, &to, mad, sizeof(mad)), 0);
	m.method = WIRE_REPORT;
	wire_mad_encode(&m, mad);
	assert_int_equal(mad_reply(w.mad, &to, mad, sizeof(mad)), 0);
	assert_int_equal(w.io->sent[0].timeout_ms, 0);
	assert_int_equal(w.io->sent[0].to.lid, 4);
	assert_int_equal(w.io->sent[1].timeout_ms, TIMEOUT_MS);
	assert_int_equal(mad_set_is_sm(w.mad, true), 0);
	assert_true(w.io->is_sm);
	world_fini(&w);
}

/* ---- All at once ------------------------------------------------------------------------------ */

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

/* Random sends, answers (right, doubled, spoilt), cancels, failures and waits. */
static void every_request_ends_once_whatever_happens(void **state)
{
	enum { REQUESTS = 1000 };
	struct one *ones = mem_alloc(REQUESTS, sizeof(*ones));
	struct world w;
	unsigned made = 0;

	world_init(&w, (struct mad_conf){ .retries = 2, .window_device = 3, .window_max = 20 });
	srandom(11);
	while (made < REQUESTS) {
		struct mad_request r = { .path = &one_hop,
					 .method = WIRE_GET,
					 .attr_id = WIRE_NODE_INFO,
					 .device = (guid_t)random() % 8,
					 .urgent = random() % 5 == 0 };

		ones[made].token = mad_send(w.mad, &r, one_cb, &ones[made]);
		made++;
		for (unsigned i = 0; w.io->nsent && i < 2; i++)
			if (random() % 3)
				answer(&w, (unsigned)random() % w.io->nsent);
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
			pass(&w, (uint64_t)random() % 300000);
	}
	loop_run(w.loop);
	for (unsigned i = 0; i < REQUESTS; i++)
		assert_int_equal(ones[i].calls, ones[i].cancelled ? 0 : 1);
	assert_int_equal(mad_stats(w.mad).in_flight, 0);
	assert_int_equal(mad_stats(w.mad).queued, 0);
	world_fini(&w);
	free(ones);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answer_ends_the_transaction_with_its_data),
		cmocka_unit_test(request_goes_out_as_asked),
		cmocka_unit_test(silence_is_retried_with_the_same_tid_then_reported),
		cmocka_unit_test(retry_that_is_answered_is_a_success),
		cmocka_unit_test(old_transaction_keeps_its_tid_while_thousands_pass),
		cmocka_unit_test(request_has_its_own_timeout_and_retries),
		cmocka_unit_test(bad_status_is_reported_with_the_data),
		cmocka_unit_test(busy_is_asked_again),
		cmocka_unit_test(late_reply_is_ignored),
		cmocka_unit_test(doubled_reply_is_ignored),
		cmocka_unit_test(late_reply_to_an_earlier_try_is_an_answer),
		cmocka_unit_test(reply_to_what_was_not_sent_yet_is_dropped),
		cmocka_unit_test(short_reply_is_dropped),
		cmocka_unit_test(reply_that_does_not_fit_its_request_is_dropped),
		cmocka_unit_test(cancelled_transaction_never_calls_back),
		cmocka_unit_test(cancel_makes_room_in_the_window),
		cmocka_unit_test(cancel_of_a_finished_token_touches_nothing),
		cmocka_unit_test(callback_may_cancel_and_send),
		cmocka_unit_test(window_starts_at_32_and_grows_to_its_maximum),
		cmocka_unit_test(window_that_is_not_used_does_not_grow),
		cmocka_unit_test(window_halves_once_for_tries_lost_together),
		cmocka_unit_test(window_follows_a_smaller_configuration),
		cmocka_unit_test(device_at_its_cap_does_not_block_others),
		cmocka_unit_test(parked_requests_survive_the_cancel_of_the_one_before),
		cmocka_unit_test(urgent_goes_first),
		cmocka_unit_test(full_queue_puts_the_request_back_in_its_place),
		cmocka_unit_test(failed_send_is_reported_from_the_loop),
		cmocka_unit_test(failed_send_may_be_cancelled),
		cmocka_unit_test(failed_retry_counts_as_a_lost_try),
		cmocka_unit_test(request_given_back_is_tried_again_at_once),
		cmocka_unit_test(what_others_start_goes_to_the_handler_of_its_class),
		cmocka_unit_test(reply_awaits_nothing_and_a_report_does),
		cmocka_unit_test(every_request_ends_once_whatever_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
