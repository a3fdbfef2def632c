/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Transactions over one port: queue -> window -> wire -> answer, retry or time-out.
 *
 * A request waits in the queue (xact.h), where devices take turns. Whenever the window is not full
 * the next one is sent.
 *
 * Tries that are out stand in one ring by deadline, and one timer serves them all. A lost try goes
 * to the front of its queue with its TID, so that a late answer to it is still an answer (its
 * kernel entry is gone by then: io.h). A failed send is reported from the loop too.
 *
 * The window is TCP's: one more after each window of clean answers while it was in use to the full,
 * half after a loss, but only once for all the tries that were out together. A doubtful try that
 * is still out after LINGER_US is on no wire any more, so it leaves its place to others: else a
 * switch that hangs, with 64 links that are probed, would have all others wait for its time-outs.
 *
 * Where a port may hold one of several M_Keys tries go with the others too (xact.h).
 *
 * A MAD with the response bit is an answer to a request of ours; a handler sees requests only. One
 * that says "busy" (status bit 0, IBA 13.4.7) is as good as none while tries are left; one with an
 * impossible field (wire_flaw()) too, and the next try goes at once.
 */
#include <assert.h>
#include <errno.h>
#include "fm/mad/mad.h"
#include "fm/mad/xact.h"
#include "topology/base/mem.h"

/* ---- Io -------------------------------------------------------------------------------------- */

struct io_body *io_body_new(uint8_t *data)
{
	struct io_body *body = mem_new(body);

	*body = (struct io_body){ data, 1 };
	return body;
}

void io_body_unref(struct io_body *body)
{
	if (--body->refs)
		return;
	free(body->data);
	free(body);
}

/* ---- Mad ------------------------------------------------------------------------------------- */

#define WINDOW_START	 32
#define WINDOW_MIN	 4
#define URGENT_ROOM	 8
#define LINGER_US	 10000
#define LINGER_MOST	 256
#define WINDOW_DEFAULT	 64
#define DEVICE_DEFAULT	 16
#define TIMEOUT_DEFAULT	 200 /* ms */
#define BLOCKED_RETRY_US 100
#define STATUS_BUSY	 0x0001

struct handler {
	mad_handler_fn *fn;
	void *arg;
};

enum sends { SENDS_ALL, SENDS_NO_SETS, SENDS_GETS }; /* the last one: an observer */

struct mad {
	struct loop *loop;
	struct io *io;
	struct mad_conf conf;
	struct xact_keys keys;
	struct mad_stats stats;
	struct xact_table table;
	struct xact_queue queue;
	struct link sent;	    /* by deadline */
	struct link failed;	    /* callbacks due */
	unsigned window, in_flight; /* those that linger apart */
	unsigned lingering;
	unsigned clean;	    /* answers since the window changed */
	uint64_t shrunk_at; /* tries sent before count as lost together */
	bool blocked;	    /* io takes no more until `soon` */
	enum sends sends;
	bool open, held;
	bool asks, unsure; /* asks: ask_fn is due; unsure: all but its requests wait for it */
	uint64_t sure_us;  /* when the port was last known to be where it was */
	loop_fn *ask_fn;
	void *ask_arg;
	int lost; /* the device has gone, for that reason (errno); 0 = it has not */
	mad_lost_fn *lost_fn;
	void *lost_arg;
	struct loop_timer *timeouts, *soon;
	uint64_t timeouts_due;
	struct handler handlers[256]; /* by management class */
};

/* ---- Sending --------------------------------------------------------------------------------- */

static void timeouts_arm(struct mad *mad)
{
	struct xact *x = link_first(&mad->sent);
	uint64_t now = loop_now_us(mad->loop);

	/*
	 * A timer that comes too early for the present first one is left alone: it re-arms itself.
	 */
	if (!x || (loop_timer_armed(mad->timeouts) && mad->timeouts_due <= x->deadline))
		return;
	mad->timeouts_due = x->deadline;
	loop_timer_set(mad->timeouts, x->deadline > now ? x->deadline - now : 0);
}

/* Behind the others whose deadline is as late. */
static void await(struct mad *mad, struct xact *x, uint32_t us)
{
	struct link *where = mad->sent.prev;

	x->deadline = x->sent_at + us;
	while (where != &mad->sent && ((struct xact *)where)->deadline > x->deadline)
		where = where->prev;
	link_insert(where, &x->link);
	timeouts_arm(mad);
}

static bool is_out(const struct xact *x)
{
	return x->state == XACT_SENT || x->state == XACT_LINGERS;
}

static void flight_leave(struct mad *mad, struct xact *x)
{
	*(x->state == XACT_LINGERS ? &mad->lingering : &mad->in_flight) -= 1;
	xact_queue_ended(&mad->queue, x);
}

/* Takes x out of its ring and its counts. A transaction that failed has left the queue already. */
static void leave(struct mad *mad, struct xact *x)
{
	if (is_out(x))
		flight_leave(mad, x);
	else if (x->state != XACT_FAILED)
		xact_queue_leave(&mad->queue, x);
}

/* ---- Out ------------------------------------------------------------------------------------- */

static void send_failed(struct mad *mad, struct xact *x)
{
	xact_queue_leave(&mad->queue, x);
	link_insert(mad->failed.prev, &x->link);
	x->state = XACT_FAILED;
	loop_timer_set(mad->soon, 0);
}

/* Whether a request may leave: one that changes nothing always may. */
static bool may_send(struct mad *mad, const struct xact *x)
{
	if (mad->sends == SENDS_ALL || x->method == WIRE_GET || x->method == WIRE_GET_TABLE)
		return true;
	mad->stats.refused += mad->sends == SENDS_GETS;
	return mad->sends == SENDS_NO_SETS &&
	       !(wire_is_smi(x->mgmt_class) && x->method == WIRE_SET && x->attr_id != WIRE_SM_INFO);
}

/* A first try that cannot be sent ends the transaction; a later one counts as lost on the way. */
static void xact_transmit(struct mad *mad, struct xact *x)
{
	struct mad_stats *stats = &mad->stats;
	bool smi = wire_is_smi(x->mgmt_class);
	uint8_t buf[WIRE_MAD_SIZE];

	if (!may_send(mad, x)) {
		send_failed(mad, x);
		return;
	}
	if (!x->tid)
		xact_give_tid(&mad->table, x);
	if (x->path_of)
		x->path_of(x->arg, &x->path);
	xact_key_choose(&mad->keys, x);
	xact_encode(x, buf);

	struct io_addr to = xact_address(x);
	int status = mad->lost ? -EAGAIN /* the sender's callback decides what becomes of it */
			       : mad->io->ops->send(mad->io, &to, buf, sizeof(buf),
						    x->timeout_us / 1000);

	if (status == -EAGAIN) {
		mad->blocked = true;
		loop_timer_set(mad->soon, BLOCKED_RETRY_US);
		return;
	}
	if (status && !x->tries) {
		send_failed(mad, x);
		return;
	}
	if (!(x->own & XACT_LOCAL)) {
		stats->sent += smi;
		stats->sent_gmps += !smi;
		stats->retried += x->tries > 0;
	}
	x->tries++;
	x->sent_at = loop_now_us(mad->loop);
	xact_queue_sent(&mad->queue, x);
	x->state = XACT_SENT;
	mad->in_flight++;
	await(mad, x, x->doubtful && x->timeout_us > LINGER_US ? LINGER_US : x->timeout_us);
}

/* While Sets follow one another it is asked ahead of time, so that they need not wait. */
static bool is_sure(struct mad *mad)
{
	uint64_t since_us = loop_now_us(mad->loop) - mad->sure_us;

	mad->asks = mad->ask_fn && since_us > MAD_SURE_US / 2;
	mad->unsure = mad->asks && since_us > MAD_SURE_US;
	if (mad->asks)
		loop_timer_set(mad->soon, 0);
	return !mad->unsure;
}

/*
 * Where a link died the window is full of requests that wait for their time-out: a few urgent ones,
 * which may find the reason, go beside them.
 */
static void pump(struct mad *mad)
{
	struct xact *x;

	while (!mad->blocked && (x = xact_queue_next(&mad->queue, mad->held || mad->unsure))) {
		unsigned window = mad->window + (x->urgent ? URGENT_ROOM : 0);

		if (!(x->own & XACT_HELD_NOT) &&
		    (mad->in_flight >= window || mad->in_flight >= mad->conf.window_max))
			break;
		if (x->method == WIRE_SET && !is_sure(mad))
			continue;
		xact_transmit(mad, x);
	}
	if (mad->io->ops->expect)
		mad->io->ops->expect(mad->io, mad->in_flight);
}

/* ---- Endings --------------------------------------------------------------------------------- */

/*
 * The transaction is gone before its callback runs, so that this may send and cancel as it likes.
 */
static void xact_finish(struct mad *mad, struct xact *x, struct mad_answer answer)
{
	mad_done_fn *fn = x->fn;
	void *arg = x->arg;

	answer.rtt_us = x->tries ? (loop_now_us(mad->loop) - x->sent_at) : 0;
	answer.tries = x->tries;
	xact_device_put(&mad->queue, x->device);
	xact_free(&mad->table, x);
	fn(arg, &answer);
}

static void try_lost(struct mad *mad, struct xact *x)
{
	bool key_doubted = xact_key_failed(&mad->keys, x);

	if (!x->doubtful && !key_doubted && x->sent_at >= mad->shrunk_at) {
		mad->window = mad->window / 2 > WINDOW_MIN ? mad->window / 2 : WINDOW_MIN;
		if (mad->window > mad->conf.window_max)
			mad->window = mad->conf.window_max;
		mad->clean = 0;
		mad->shrunk_at = loop_now_us(mad->loop);
	}
	flight_leave(mad, x);
	if (x->tries <= x->retries) {
		xact_queue_again(&mad->queue, x);
		return;
	}
	mad->stats.timed_out += !(x->own & XACT_LOCAL);
	xact_finish(mad, x, (struct mad_answer){ .result = MAD_TIMEOUT });
}

static void timeouts_cb(void *arg)
{
	struct mad *mad = arg;
	uint64_t now = loop_now_us(mad->loop);
	uint64_t until = loop_clock_us(mad->loop) + loop_pace(mad->loop).slice_us;
	struct xact *x;

	/* The callback of a time-out may work for long. Others have their turn in between. */
	while ((x = link_first(&mad->sent)) && x->deadline <= now &&
	       loop_clock_us(mad->loop) <= until) {
		if (x->deadline >= x->sent_at + x->timeout_us) {
			try_lost(mad, x);
			continue;
		}
		if (mad->lingering < LINGER_MOST) {
			x->state = XACT_LINGERS;
			mad->lingering++;
			mad->in_flight--;
		}
		link_remove(&x->link);
		await(mad, x, x->timeout_us);
	}
	timeouts_arm(mad);
	pump(mad);
}

static void soon_cb(void *arg)
{
	struct mad *mad = arg;
	struct xact *x;
	char why[128];

	if (mad->lost) { /* requests that are out end by their time-outs, or are cancelled */
		array_printf(why, "%s port %u: the device has gone: %s", mad->io->info.device,
			     mad->io->info.port, strerror(mad->lost));
		mad->lost = 0;
		mad_close(mad);
		if (mad->lost_fn)
			mad->lost_fn(mad->lost_arg, why);
	}
	if (mad->asks)
		mad->ask_fn(mad->ask_arg);
	mad->asks = mad->blocked = false;
	while ((x = link_first(&mad->failed)))
		xact_finish(mad, x, (struct mad_answer){ .result = MAD_SEND_FAILED });
	pump(mad);
}

/* ---- Receiving ------------------------------------------------------------------------------- */

/*
 * `len` is as received: a message that RMPP put together may have less than a MAD. Where a field is
 * impossible nothing was lost: the window stays.
 */
static void answer_take(struct mad *mad, uint16_t from, const struct wire_mad *m, uint8_t *raw,
			size_t len)
{
	struct xact *x = xact_by_tid(&mad->table, m->tid);
	struct mad_stats *stats = &mad->stats;
	bool smi = wire_is_smi(m->mgmt_class);
	struct mad_answer answer = {
		.result = m->status ? MAD_STATUS : MAD_OK,
		.status = m->status,
		.data = smi ? wire_smp_data(raw) : wire_gmp_data(raw),
		.length = smi ? WIRE_SMP_DATA : len - WIRE_MAD_HEADER,
	};

	if (!x || !x->tries) {
		stats->dropped_late++;
		return;
	}
	if (!xact_answered_by(x, m, from)) {
		stats->dropped_mismatch++;
		return;
	}
	if (m->status & STATUS_BUSY && x->tries <= x->retries)
		return;
	if (smi && !m->status)
		answer.flaw =
			wire_flaw(x->attr_id, x->attr_mod, x->method == WIRE_SET, answer.data);
	if (answer.flaw) {
		stats->dropped_malformed++;
		if (!is_out(x))
			return; /* given up for lost: it is in the queue already */
		flight_leave(mad, x);
		if (x->tries <= x->retries) {
			xact_queue_again(&mad->queue, x);
		} else {
			answer.result = MAD_TIMEOUT;
			xact_finish(mad, x, answer);
		}
		pump(mad);
		return;
	}
	if (x->state == XACT_SENT && mad->window < mad->conf.window_max &&
	    mad->in_flight >= mad->window && ++mad->clean >= mad->window) {
		mad->window++;
		mad->clean = 0;
	}
	leave(mad, x); /* the queue: a try was given up for lost */
	stats->answered += x->mgmt_class != WIRE_SMI_DR || x->path.hops;
	stats->bad_status += m->status != 0;
	xact_key_worked(&mad->keys, x, !m->status);
	xact_finish(mad, x, answer);
	pump(mad);
}

static void recv_cb(void *arg, const struct io_addr *from, const uint8_t *raw, size_t len)
{
	struct mad *mad = arg;
	uint8_t whole[WIRE_MAD_SIZE] = { 0 }, *bytes = (uint8_t *)raw;
	bool is_short = wire_mad_is_short_rmpp(raw, len);
	size_t size = is_short ? sizeof(whole) : len;
	struct wire_mad m;

	if (is_short)
		bytes = memcpy(whole, raw, len);
	if (wire_mad_decode(bytes, size, &m)) {
		mad->stats.dropped_short++;
		return;
	}
	if (m.method & WIRE_RESPONSE) {
		answer_take(mad, from->lid, &m, bytes, len);
		return;
	}
	mad->stats.unsolicited++;

	const struct handler *handler = &mad->handlers[m.mgmt_class];

	if (handler->fn && mad->sends != SENDS_GETS)
		handler->fn(handler->arg, from, &m, bytes, size);
}

static void failed_cb(void *arg, uint64_t tid)
{
	struct mad *mad = arg;
	struct xact *x = xact_by_tid(&mad->table, tid);

	if (!x || !is_out(x))
		return;
	try_lost(mad, x);
	pump(mad);
}

/* May be called from within a send. */
static void lost_cb(void *arg, int error)
{
	struct mad *mad = arg;

	mad->lost = error;
	loop_timer_set(mad->soon, 0);
}

/* ---- Outside --------------------------------------------------------------------------------- */

void mad_configure(struct mad *mad, const struct mad_conf *conf)
{
	mad->conf = *conf;
	if (!conf->window_max)
		mad->conf.window_max = WINDOW_DEFAULT;
	if (!conf->window_device)
		mad->conf.window_device = DEVICE_DEFAULT;
	mad->queue.cap = mad->conf.window_device;
	if (!conf->timeout_ms)
		mad->conf.timeout_ms = TIMEOUT_DEFAULT;
	if (mad->window > mad->conf.window_max)
		mad->window = mad->conf.window_max;
}

struct mad *mad_new(struct loop *loop, struct io *io, const struct mad_conf *conf)
{
	struct mad *mad = mem_new(mad);

	mad->loop = loop;
	mad->io = io;
	mad->window = WINDOW_START;
	xact_table_init(&mad->table);
	xact_queue_init(&mad->queue);
	mad_configure(mad, conf);
	link_init(&mad->sent);
	link_init(&mad->failed);
	mad->timeouts = loop_timer_new(loop, timeouts_cb, mad);
	mad->soon = loop_timer_new(loop, soon_cb, mad);
	io->recv = recv_cb;
	io->failed = failed_cb;
	io->lost = lost_cb;
	io->arg = mad;
	mad->open = !io->ops->open;
	return mad;
}

void mad_free(struct mad *mad)
{
	if (!mad)
		return;
	xact_queue_fini(&mad->queue);
	xact_table_fini(&mad->table);
	loop_timer_free(mad->timeouts);
	loop_timer_free(mad->soon);
	mad->io->ops->free(mad->io);
	free(mad);
}

mad_token mad_send(struct mad *mad, const struct mad_request *request, mad_done_fn *fn, void *arg)
{
	struct xact *x = xact_new(&mad->table);
	mad_token token = (mad_token)x->generation << 32 | x->index;
	unsigned timeout_ms = request->timeout_ms ? request->timeout_ms : mad->conf.timeout_ms;

	assert(!request->path || request->path->hops <= WIRE_MAX_HOPS);
	xact_take_request(x, request);
	x->timeout_us = timeout_ms * 1000;
	x->retries = request->once ? 0 : request->retries ? request->retries : mad->conf.retries;
	x->device = xact_device_get(&mad->queue, request->device);
	x->fn = fn;
	x->arg = arg;
	xact_queue_add(&mad->queue, x);
	pump(mad);
	return token;
}

void mad_cancel(struct mad *mad, mad_token token)
{
	struct xact *x = xact_by_token(&mad->table, token);

	if (!x)
		return;
	leave(mad, x);
	xact_device_put(&mad->queue, x->device);
	xact_free(&mad->table, x);
	/*
	 * Not at once: an owner that cancels all its requests would have each next one sent before
	 * it is cancelled.
	 */
	if (!loop_timer_armed(mad->soon))
		loop_timer_set(mad->soon, 0);
}

void mad_handle(struct mad *mad, uint8_t mgmt_class, mad_handler_fn *fn, void *arg)
{
	mad->handlers[mgmt_class] = (struct handler){ fn, arg };
}

/* An RMPP answer may be shorter than a MAD: the number of records follows from its length. */
int mad_reply(struct mad *mad, const struct io_addr *to, const uint8_t *raw, size_t len)
{
	return mad->io->ops->send(mad->io, to, raw, len, 0);
}

int mad_reply_long(struct mad *mad, const struct io_addr *to, const uint8_t *head, size_t head_len,
		   struct io_body *body, size_t len)
{
	const struct io_ops *ops = mad->io->ops;

	if (ops->send_long)
		return ops->send_long(mad->io, to, head, head_len, body, len);
	memcpy(body->data, head, head_len);
	return ops->send(mad->io, to, body->data, len, 0);
}

void mad_set_keys(struct mad *mad, mad_keys_fn *fn, void *arg)
{
	mad->keys.fn = fn;
	mad->keys.arg = arg;
}

void mad_set_quiet(struct mad *mad, bool on)
{
	if (mad->sends != SENDS_GETS)
		mad->sends = on ? SENDS_NO_SETS : SENDS_ALL;
}

void mad_set_observer(struct mad *mad, bool on)
{
	mad->sends = on ? SENDS_GETS : SENDS_ALL;
}

int mad_open(struct mad *mad, char *err, size_t err_size)
{
	int status = mad->open ? 0 : mad->io->ops->open(mad->io, err, err_size);

	mad->open = !status;
	return status;
}

void mad_close(struct mad *mad)
{
	if (mad->io->ops->close)
		mad->io->ops->close(mad->io);
	mad->open = !mad->io->ops->open;
}

bool mad_is_open(const struct mad *mad)
{
	return mad->open;
}

bool mad_choose(struct mad *mad, bool had_link)
{
	return mad->io->ops->choose && mad->io->ops->choose(mad->io, had_link);
}

unsigned mad_ports(struct mad *mad, guid_t guids[IO_PORTS])
{
	return mad->io->ops->ports ? mad->io->ops->ports(mad->io, guids) : 0;
}

int mad_open_other(struct mad *mad, guid_t guid, char *err, size_t err_size)
{
	mad_close(mad);
	mad->io->wanted = guid;
	return mad_open(mad, err, err_size);
}

void mad_hold(struct mad *mad, bool on)
{
	mad->held = on;
	loop_timer_set(mad->soon, 0);
}

void mad_ask_first(struct mad *mad, loop_fn *fn, void *arg)
{
	mad->ask_fn = fn;
	mad->ask_arg = arg;
}

void mad_is_sure(struct mad *mad)
{
	mad->sure_us = loop_now_us(mad->loop);
	mad->unsure = false;
}

void mad_on_lost(struct mad *mad, mad_lost_fn *fn, void *arg)
{
	mad->lost_fn = fn;
	mad->lost_arg = arg;
}

const struct io_port_info *mad_port_info(const struct mad *mad)
{
	return &mad->io->info;
}

int mad_set_is_sm(struct mad *mad, bool on)
{
	return mad->sends == SENDS_GETS ? 0 : mad->io->ops->set_is_sm(mad->io, on);
}

struct mad_stats mad_stats(const struct mad *mad)
{
	struct mad_stats stats = mad->stats;

	stats.window = mad->window;
	stats.in_flight = mad->in_flight;
	stats.queued = mad->queue.count;
	return stats;
}
