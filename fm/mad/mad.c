/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Transactions over one port: queue -> window -> wire -> answer, retry or time-out.
 *
 * A request waits in the queue of its priority. Whenever the window has room the first request is
 * taken whose device is below its cap; one whose device is at it is parked there, out of the
 * others' way, and comes back to the front of the queue when a request of that device ends. So each
 * send costs the same however long the queues are.
 *
 * Tries that are out stand in one ring by deadline, and one timer serves them all. A lost try goes
 * to the front of its queue with its TID, so that a late answer to it is still an answer (its
 * kernel entry is gone by then: io.h). A failed send is reported from the loop too.
 *
 * The window is TCP's: one more after each window of clean answers while it was in use to the full,
 * half after a loss, but only once for all the tries that were out together.
 *
 * Where there is an old M_Key a lost try of an SMP is repeated with the other one, and what was answered is the device's next first
 * choice: of Sets, and apart from these of Gets, which most ports answer whatever the key. A Set of PortInfo that gave the port the
 * new key ends that. Such devices are remembered.
 *
 * What has the response bit is an answer to one of these; a handler sees requests only. One that says
 * "busy" (status bit 0, IBA 13.4.7) is as good as none while tries are left.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <complib/cl_qmap.h>
#include "fm/mad/mad.h"
#include "fm/mad/xact.h"
#include "topology/mem.h"

#define WINDOW_START	 32
#define WINDOW_MIN	 4
#define URGENT_ROOM	 8
#define WINDOW_DEFAULT	 64
#define DEVICE_DEFAULT	 16
#define TIMEOUT_DEFAULT	 200 /* ms */
#define BLOCKED_RETRY_US 100
#define STATUS_BUSY	 0x0001

enum { NORMAL, URGENT, PRIORITIES };

struct xact_device {
	cl_map_item_t item; /* in mad.devices, key = GUID */
	unsigned users;	    /* transactions that name it */
	unsigned in_flight;
	uint8_t key[2]; /* the first choice of Gets and Sets, as xact.key */
	struct link parked[PRIORITIES];
};

struct handler {
	mad_handler_fn *fn;
	void *arg;
};

struct mad {
	struct loop *loop;
	struct io *io;
	struct mad_conf conf;
	struct mad_stats stats;
	struct xact_table table;
	cl_qmap_t devices;
	struct link queue[PRIORITIES];
	struct link sent;   /* by deadline */
	struct link failed; /* callbacks due */
	unsigned window, in_flight, queued;
	unsigned clean;	    /* answers since the window changed */
	uint64_t shrunk_at; /* tries sent before count as lost together */
	bool blocked;	    /* io takes no more until `soon` */
	bool quiet;
	bool open;
	int lost; /* the device has gone, for that reason (errno); 0 = it has not */
	mad_lost_fn *lost_fn;
	void *lost_arg;
	struct loop_timer *timeouts, *soon;
	uint64_t timeouts_due;
	struct handler handlers[256]; /* by management class */
};

static struct xact *first_of(const struct link *head)
{
	return link_empty(head) ? NULL : (struct xact *)head->next;
}

/* ---- Devices and their caps ------------------------------------------------------------------- */

static struct xact_device *device_get(struct mad *mad, guid_t guid)
{
	cl_map_item_t *item;
	struct xact_device *device;

	if (!guid)
		return NULL;
	item = cl_qmap_get(&mad->devices, guid);
	if (item != cl_qmap_end(&mad->devices)) {
		device = (struct xact_device *)item;
	} else {
		device = mem_alloc(1, sizeof(*device));
		for (int p = 0; p < PRIORITIES; p++)
			link_init(&device->parked[p]);
		cl_qmap_insert(&mad->devices, guid, &device->item);
	}
	device->users++;
	return device;
}

static void device_put(struct mad *mad, struct xact_device *device)
{
	if (!device || --device->users || device->key[0] || device->key[1])
		return;
	cl_qmap_remove_item(&mad->devices, &device->item);
	free(device);
}

static bool device_has_room(const struct mad *mad, const struct xact_device *device)
{
	return !device || device->in_flight < mad->conf.window_device;
}

static void queue_front(struct mad *mad, struct xact *x)
{
	link_remove(&x->link);
	link_insert(&mad->queue[x->urgent], &x->link);
	x->state = XACT_QUEUED;
}

static void park(struct xact *x)
{
	link_remove(&x->link);
	link_insert(x->device->parked[x->urgent].prev, &x->link);
	x->state = XACT_PARKED;
}

/*
 * Whatever leaves the flight or the queue for good brings one back, so that none stays parked
 * behind an idle device. One too many is parked again.
 */
static void unpark_one(struct mad *mad, struct xact_device *device)
{
	struct xact *x;

	if (!device)
		return;
	x = first_of(&device->parked[URGENT]);
	if (!x)
		x = first_of(&device->parked[NORMAL]);
	if (x)
		queue_front(mad, x);
}

/* ---- Window ----------------------------------------------------------------------------------- */

static void window_grow(struct mad *mad)
{
	if (mad->window >= mad->conf.window_max || mad->in_flight < mad->window)
		return;
	if (++mad->clean < mad->window)
		return;
	mad->window++;
	mad->clean = 0;
}

static void window_shrink(struct mad *mad, uint64_t sent_at)
{
	if (sent_at < mad->shrunk_at)
		return;
	mad->window = mad->window / 2 > WINDOW_MIN ? mad->window / 2 : WINDOW_MIN;
	if (mad->window > mad->conf.window_max)
		mad->window = mad->conf.window_max;
	mad->clean = 0;
	mad->shrunk_at = loop_now_us(mad->loop);
}

/* ---- Sending ---------------------------------------------------------------------------------- */

static void timeouts_arm(struct mad *mad)
{
	struct xact *x = first_of(&mad->sent);
	uint64_t now = loop_now_us(mad->loop);

	/* A timer that comes too early for the present first one is left alone: it re-arms itself.
	 */
	if (!x || (loop_timer_armed(mad->timeouts) && mad->timeouts_due <= x->deadline))
		return;
	mad->timeouts_due = x->deadline;
	loop_timer_set(mad->timeouts, x->deadline > now ? x->deadline - now : 0);
}

static void flight_enter(struct mad *mad, struct xact *x)
{
	struct link *where = mad->sent.prev;

	while (where != &mad->sent && ((struct xact *)where)->deadline > x->deadline)
		where = where->prev;
	link_remove(&x->link);
	link_insert(where, &x->link);
	x->state = XACT_SENT;
	mad->in_flight++;
	mad->queued--;
	if (x->device)
		x->device->in_flight++;
	timeouts_arm(mad);
}

static void flight_leave(struct mad *mad, struct xact *x)
{
	link_remove(&x->link);
	mad->in_flight--;
	if (x->device)
		x->device->in_flight--;
	unpark_one(mad, x->device);
}

static void queue_leave(struct mad *mad, struct xact *x)
{
	link_remove(&x->link);
	mad->queued--;
	unpark_one(mad, x->device);
}

/* ---- M_Keys ----------------------------------------------------------------------------------- */

static bool has_two_keys(const struct mad *mad, const struct xact *x)
{
	return mad->conf.old_mkey && wire_is_smi(x->mgmt_class) && !x->old_key;
}

/* Tries that were lost with the same key turn it once. */
static void key_choose(struct mad *mad, struct xact *x)
{
	if (!has_two_keys(mad, x))
		x->key = x->old_key;
	else if (x->device)
		x->key = x->device->key[x->method == WIRE_SET];
	else if (x->tries)
		x->key = !x->key;
}

static void key_failed(struct mad *mad, const struct xact *x)
{
	uint8_t *first = x->device ? &x->device->key[x->method == WIRE_SET] : NULL;

	if (first && has_two_keys(mad, x) && *first == x->key)
		*first = !x->key;
}

/* A late answer may be to another try than the last: then the next loss tells. */
static void key_worked(struct mad *mad, const struct xact *x, bool done)
{
	struct wire_port_info info;

	if (!x->device || !has_two_keys(mad, x))
		return;
	x->device->key[x->method == WIRE_SET] = x->key;
	if (!done || x->method != WIRE_SET || x->attr_id != WIRE_PORT_INFO)
		return;
	wire_port_info_decode(x->data, &info);
	if (info.mkey == mad->conf.mkey)
		memset(x->device->key, 0, sizeof(x->device->key));
}

/* ---- Out -------------------------------------------------------------------------------------- */

static int io_send(struct mad *mad, const struct xact *x)
{
	struct io_addr to = xact_address(x);
	uint8_t buf[WIRE_MAD_SIZE];

	xact_encode(x, x->key ? mad->conf.old_mkey : mad->conf.mkey, buf);
	return mad->io->ops->send(mad->io, &to, buf, sizeof(buf), x->timeout_us / 1000);
}

static void send_failed(struct mad *mad, struct xact *x)
{
	queue_leave(mad, x);
	link_insert(mad->failed.prev, &x->link);
	x->state = XACT_FAILED;
	loop_timer_set(mad->soon, 0);
}

static bool is_kept_back(const struct mad *mad, const struct xact *x)
{
	return mad->quiet && x->method == WIRE_SET && wire_is_smi(x->mgmt_class) &&
	       x->attr_id != WIRE_SM_INFO;
}

static void count_sent(struct mad *mad, struct xact *x)
{
	bool again = x->tries++ > 0;

	if (x->local)
		return;
	if (wire_is_smi(x->mgmt_class))
		mad->stats.sent++;
	else
		mad->stats.sent_gmps++;
	mad->stats.retried += again;
}

/* A first try that cannot be sent ends the transaction; a later one counts as lost on the way. */
static void xact_transmit(struct mad *mad, struct xact *x)
{
	int status;

	if (is_kept_back(mad, x)) {
		send_failed(mad, x);
		return;
	}
	if (!x->tid)
		xact_give_tid(&mad->table, x);
	if (x->way)
		x->way(x->arg, &x->path);
	key_choose(mad, x);
	status = io_send(mad, x);
	if (status == -EAGAIN) {
		mad->blocked = true;
		loop_timer_set(mad->soon, BLOCKED_RETRY_US);
		return;
	}
	if (status && !x->tries) {
		send_failed(mad, x);
		return;
	}
	count_sent(mad, x);
	x->sent_at = loop_now_us(mad->loop);
	x->deadline = x->sent_at + x->timeout_us;
	flight_enter(mad, x);
}

static struct xact *next_to_send(struct mad *mad)
{
	for (int p = URGENT; p >= NORMAL; p--) {
		struct xact *x;

		while ((x = first_of(&mad->queue[p]))) {
			if (device_has_room(mad, x->device))
				return x;
			park(x);
		}
	}
	return NULL;
}

/* Where a cable died the window is full of what waits for its time-out: a few that are urgent, and may tell why, go beside them. */
static unsigned room_for(const struct mad *mad, const struct xact *x)
{
	unsigned room = mad->window + (x->urgent ? URGENT_ROOM : 0);

	return room < mad->conf.window_max ? room : mad->conf.window_max;
}

static void pump(struct mad *mad)
{
	struct xact *x;

	while (!mad->blocked && (x = next_to_send(mad)) && mad->in_flight < room_for(mad, x))
		xact_transmit(mad, x);
	if (mad->io->ops->expect)
		mad->io->ops->expect(mad->io, mad->in_flight);
}

/* ---- Endings ---------------------------------------------------------------------------------- */

/* The transaction is gone before its callback runs, so that this may send and cancel as it likes.
 */
static void xact_finish(struct mad *mad, struct xact *x, enum mad_result result, uint16_t status,
			const uint8_t *data)
{
	struct mad_answer answer = {
		.result = result,
		.status = status,
		.data = data,
		.rtt_us = x->tries ? (unsigned)(loop_now_us(mad->loop) - x->sent_at) : 0,
		.tries = x->tries,
	};
	mad_done_fn *fn = x->fn;
	void *arg = x->arg;

	device_put(mad, x->device);
	xact_free(&mad->table, x);
	fn(arg, &answer);
}

static void try_lost(struct mad *mad, struct xact *x)
{
	if (!x->doubtful)
		window_shrink(mad, x->sent_at);
	flight_leave(mad, x);
	key_failed(mad, x);
	if (x->tries <= x->retries) {
		queue_front(mad, x);
		mad->queued++;
		return;
	}
	mad->stats.timed_out += !x->local;
	xact_finish(mad, x, MAD_TIMEOUT, 0, NULL);
}

static void timeouts_cb(void *arg)
{
	struct mad *mad = arg;
	uint64_t now = loop_now_us(mad->loop);
	struct xact *x;

	while ((x = first_of(&mad->sent)) && x->deadline <= now)
		try_lost(mad, x);
	timeouts_arm(mad);
	pump(mad);
}

/* Requests that are out are left to their time-outs, and to those who cancel them. */
static void port_is_lost(struct mad *mad)
{
	char why[128];

	snprintf(why, sizeof(why), "%s port %u: the device has gone: %s", mad->io->info.device,
		 mad->io->info.port, strerror(mad->lost));
	mad->lost = 0;
	mad_close(mad);
	if (mad->lost_fn)
		mad->lost_fn(mad->lost_arg, why);
}

static void soon_cb(void *arg)
{
	struct mad *mad = arg;
	struct xact *x;

	if (mad->lost)
		port_is_lost(mad);
	mad->blocked = false;
	while ((x = first_of(&mad->failed)))
		xact_finish(mad, x, MAD_SEND_FAILED, 0, NULL);
	pump(mad);
}

/* ---- Receiving -------------------------------------------------------------------------------- */

static void answer_take(struct mad *mad, const struct io_addr *from, const struct wire_mad *m,
			uint8_t *raw)
{
	struct xact *x = xact_by_tid(&mad->table, (uint32_t)m->tid);

	if (!x || !x->tries) {
		mad->stats.dropped_late++;
		return;
	}
	if (!xact_answered_by(x, m, from->lid)) {
		mad->stats.dropped_mismatch++;
		return;
	}
	if (m->status & STATUS_BUSY && x->tries <= x->retries)
		return;
	if (x->state == XACT_SENT) {
		window_grow(mad);
		flight_leave(mad, x);
	} else {
		queue_leave(mad, x); /* a try given up for lost */
	}
	mad->stats.answered++;
	key_worked(mad, x, !m->status);
	if (m->status)
		mad->stats.bad_status++;
	xact_finish(mad, x, m->status ? MAD_STATUS : MAD_OK, m->status,
		    wire_is_smi(m->mgmt_class) ? wire_smp_data(raw) : wire_gmp_data(raw));
	pump(mad);
}

static void recv_cb(void *arg, const struct io_addr *from, const uint8_t *raw, size_t len)
{
	struct mad *mad = arg;
	uint8_t whole[WIRE_MAD_SIZE] = { 0 };
	struct handler *handler;
	struct wire_mad m;

	if (wire_mad_is_short_rmpp(raw, len)) {
		raw = memcpy(whole, raw, len);
		len = sizeof(whole);
	}
	if (wire_mad_decode(raw, len, &m)) {
		mad->stats.dropped_short++;
		return;
	}
	if (m.method & WIRE_RESPONSE) {
		answer_take(mad, from, &m, (uint8_t *)raw);
		return;
	}
	mad->stats.unsolicited++;
	handler = &mad->handlers[m.mgmt_class];
	if (handler->fn)
		handler->fn(handler->arg, from, &m, raw, len);
}

static void failed_cb(void *arg, uint64_t tid)
{
	struct mad *mad = arg;
	struct xact *x = xact_by_tid(&mad->table, (uint32_t)tid);

	if (!x || x->state != XACT_SENT)
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

/* ---- Outside ---------------------------------------------------------------------------------- */

void mad_configure(struct mad *mad, const struct mad_conf *conf)
{
	mad->conf = *conf;
	if (!conf->window_max)
		mad->conf.window_max = WINDOW_DEFAULT;
	if (!conf->window_device)
		mad->conf.window_device = DEVICE_DEFAULT;
	if (!conf->timeout_ms)
		mad->conf.timeout_ms = TIMEOUT_DEFAULT;
	if (mad->window > mad->conf.window_max)
		mad->window = mad->conf.window_max;
}

struct mad *mad_new(struct loop *loop, struct io *io, const struct mad_conf *conf)
{
	struct mad *mad = mem_alloc(1, sizeof(*mad));

	mad->loop = loop;
	mad->io = io;
	mad->window = WINDOW_START;
	mad_configure(mad, conf);
	xact_table_init(&mad->table);
	cl_qmap_init(&mad->devices);
	for (int p = 0; p < PRIORITIES; p++)
		link_init(&mad->queue[p]);
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
	cl_map_item_t *item;

	if (!mad)
		return;
	while ((item = cl_qmap_head(&mad->devices)) != cl_qmap_end(&mad->devices)) {
		cl_qmap_remove_item(&mad->devices, item);
		free(item);
	}
	xact_table_fini(&mad->table);
	loop_timer_free(mad->timeouts);
	loop_timer_free(mad->soon);
	mad->io->ops->free(mad->io);
	free(mad);
}

static void xact_fill(struct mad *mad, struct xact *x, const struct mad_request *request)
{
	unsigned timeout_ms = request->timeout_ms ? request->timeout_ms : mad->conf.timeout_ms;

	xact_take_request(x, request);
	x->urgent = request->urgent;
	x->doubtful = request->doubtful;
	x->local = request->local;
	x->old_key = request->old_key;
	x->timeout_us = timeout_ms * 1000;
	x->retries = request->once ? 0 : request->retries ? request->retries : mad->conf.retries;
	x->device = device_get(mad, request->device);
}

mad_token mad_send(struct mad *mad, const struct mad_request *request, mad_done_fn *fn, void *arg)
{
	struct xact *x = xact_new(&mad->table);
	mad_token token = xact_token(x);

	assert(!request->path || request->path->hops <= WIRE_MAX_HOPS);
	xact_fill(mad, x, request);
	x->fn = fn;
	x->way = request->way;
	x->arg = arg;
	x->state = XACT_QUEUED;
	link_insert(mad->queue[x->urgent].prev, &x->link);
	mad->queued++;
	pump(mad);
	return token;
}

void mad_cancel(struct mad *mad, mad_token token)
{
	struct xact *x = xact_by_token(&mad->table, token);

	if (!x)
		return;
	if (x->state == XACT_SENT)
		flight_leave(mad, x);
	else if (x->state != XACT_FAILED)
		queue_leave(mad, x);
	device_put(mad, x->device);
	xact_free(&mad->table, x);
	/* Not at once: who cancels all it asked would have each next one sent before it is cancelled. */
	if (!loop_timer_armed(mad->soon))
		loop_timer_set(mad->soon, 0);
}

void mad_handle(struct mad *mad, uint8_t mgmt_class, mad_handler_fn *fn, void *arg)
{
	mad->handlers[mgmt_class] = (struct handler){ fn, arg };
}

/* An RMPP answer may be shorter than a MAD: its length tells how many records there are. */
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

void mad_set_quiet(struct mad *mad, bool on)
{
	mad->quiet = on;
}

int mad_open(struct mad *mad, char *err, size_t err_size)
{
	int status = mad->open ? 0 : mad->io->ops->open(mad->io, err, err_size);

	mad->open = status == 0;
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
	return mad->io->ops->set_is_sm(mad->io, on);
}

struct mad_stats mad_stats(const struct mad *mad)
{
	struct mad_stats stats = mad->stats;

	stats.window = mad->window;
	stats.in_flight = mad->in_flight;
	stats.queued = mad->queued;
	return stats;
}
