/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The noting io keeps each MAD with its address, its time-out and the time it left at, and fails as
 * many of the next sends as it is told to. Answers are made from the noted requests, with the upper
 * half of the TID changed as the kernel does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/mad_world.h"
#include "topology/base/mem.h"

/* ---- An io that notes ------------------------------------------------------------------------ */

static int note_send(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
		     unsigned timeout_ms)
{
	struct note_io *n = (struct note_io *)io;

	if (n->results) {
		n->results--;
		memcpy(n->refused, mad, WIRE_MAD_SIZE);
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

static const struct io_ops note_ops = {
	.send = note_send, .set_is_sm = note_set_is_sm, .free = note_free, .expect = note_expect
};

/* ---- World ----------------------------------------------------------------------------------- */

void mad_world_init(struct mad_world *w, struct mad_conf conf)
{
	mad_world_init_on(w, loop_new_simulated(), conf);
}

void mad_world_init_on(struct mad_world *w, struct loop *loop, struct mad_conf conf)
{
	*w = (struct mad_world){ .loop = loop, .io = mem_alloc(1, sizeof(*w->io)) };
	w->io->io.ops = &note_ops;
	w->io->loop = w->loop;
	if (!conf.timeout_ms)
		conf.timeout_ms = TIMEOUT_MS;
	w->mad = mad_new(w->loop, &w->io->io, &conf);
}

void mad_world_fini(struct mad_world *w)
{
	mad_free(w->mad);
	loop_free(w->loop);
}

static void done_cb(void *arg, const struct mad_answer *answer)
{
	struct mad_world *w = arg;

	assert_false(w->in_send);
	w->done++;
	w->last = *answer;
	w->last_at = loop_now_us(w->loop);
	if (answer->data)
		memcpy(w->last_data, answer->data, sizeof(w->last_data));
}

const struct mad_path mad_world_path = { .hops = 1, .ports = { 1 } };

mad_token mad_world_ask(struct mad_world *w, struct mad_request request)
{
	mad_token token;

	if (!request.path && !request.lid)
		request.path = &mad_world_path;
	if (!request.attr_id)
		request.attr_id = WIRE_NODE_DESC;
	request.method = request.method ? request.method : WIRE_GET;
	w->in_send = true;
	token = mad_send(w->mad, &request, done_cb, w);
	w->in_send = false;
	assert_true(token != 0);
	return token;
}

void mad_world_ask_many(struct mad_world *w, unsigned count, guid_t device, uint32_t mod)
{
	for (unsigned i = 0; i < count; i++)
		mad_world_ask(w, (struct mad_request){ .device = device, .attr_mod = mod });
}

struct wire_mad mad_world_header(const struct mad_world *w, unsigned i)
{
	struct wire_mad m;

	assert_true(i < w->io->nsent);
	assert_int_equal(wire_mad_decode(w->io->sent[i].mad, WIRE_MAD_SIZE, &m), 0);
	m.method = WIRE_GET_RESP;
	m.returning = m.mgmt_class == WIRE_SMI_DR;
	m.tid |= 0x12ull << 32; /* the kernel's */
	return m;
}

void mad_world_receive(struct mad_world *w, unsigned i, const struct wire_mad *m, size_t len)
{
	assert_true(i < w->io->nsent);
	mad_world_receive_from(w, i, w->io->sent[i].to.lid, m, len);
}

void mad_world_receive_from(struct mad_world *w, unsigned i, uint16_t lid, const struct wire_mad *m,
			    size_t len)
{
	const struct io_addr from = { .lid = lid };
	uint8_t mad[WIRE_MAD_SIZE];

	memcpy(mad, w->io->sent[i].mad, sizeof(mad));
	wire_mad_encode(m, mad);
	wire_smp_data(mad)[0] = 0xda;
	w->io->io.recv(w->io->io.arg, &from, mad, len);
}

void mad_world_answer(struct mad_world *w, unsigned i)
{
	struct wire_mad m = mad_world_header(w, i);

	mad_world_receive(w, i, &m, WIRE_MAD_SIZE);
}

uint32_t mad_world_sent_mod(const struct mad_world *w, unsigned i)
{
	return mad_world_header(w, i).attr_mod;
}

static void stop_cb(void *arg)
{
	loop_stop(arg);
}

void mad_world_pass(struct mad_world *w, uint64_t us)
{
	struct loop_timer *timer = loop_timer_new(w->loop, stop_cb, w->loop);

	loop_timer_set(timer, us);
	loop_run(w->loop);
	loop_timer_free(timer);
}
