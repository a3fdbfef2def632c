/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * RMPP (IBA 13.6) as Linux does it for the agents that ask for it. The sender sends what the window
 * allows and waits for an acknowledgement, two seconds or the send's own shorter time-out; when
 * none comes it begins again behind the last segment that was acknowledged. The receiver
 * acknowledges when the window is full, at the message's end, and what comes twice; it keeps what
 * comes out of turn. A message that is not whole after 40 s is aborted; one that is keeps being
 * acknowledged for 10 s.
 */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/kernel_own.h"
#include "topology/base/mem.h"

#define TYPE_DATA   1
#define TYPE_ACK    2
#define TYPE_STOP   3
#define TYPE_ABORT  4
#define FLAG_ACTIVE 1
#define FLAG_FIRST  2
#define FLAG_LAST   4
#define RMPP_DATA                                                                                  \
	220 /* of a segment, with the class's own header: what lengths count (IBA 13.6.2.1) */
#define ACK_MS	  2000
#define WHOLE_US  40000000
#define LINGER_US 10000000

enum rmpp_status { /* IBA 13.6.2.1 */
		   RESOURCES = 1,
		   ABORT_MIN = 118,
		   TOO_LONG = 118,
		   BAD_SEGMENT = 120,
		   BAD_TYPE = 121,
		   WINDOW_TOO_SMALL = 122,
		   SEGMENT_TOO_BIG = 123,
		   BAD_STATUS = 124,
		   BAD_VERSION = 125,
		   ABORT_MAX = 127,
};

bool rmpp_is_active(const uint8_t *mad)
{
	return mad[AT_RMPP_FLAG] & FLAG_ACTIVE;
}

/* ---- Acknowledgements and aborts ------------------------------------------------------------- */

/* An answer to a segment, of its header: the other direction, and no data. */
static void control_send(struct kagent *a, const struct io_addr *to, const uint8_t *about,
			 uint8_t type, uint8_t status, uint32_t segment, uint32_t window)
{
	uint8_t mad[KMAD] = { 0 };

	memcpy(mad, about, mad_header_of(about[AT_CLASS]));
	mad[AT_METHOD] ^= METHOD_RESP;
	mad[AT_RMPP_VERS] = 1;
	mad[AT_RMPP_TYPE] = type;
	mad[AT_RMPP_FLAG] = (uint8_t)((mad[AT_RMPP_FLAG] & 0xf8) | FLAG_ACTIVE);
	mad[AT_RMPP_STAT] = status;
	put32(mad + AT_RMPP_SEG, segment);
	put32(mad + AT_RMPP_LEN, window);
	kport_transmit(a->file->port, to, mad, sizeof(mad));
}

static void abort_answer(struct kagent *a, const struct io_addr *to, const uint8_t *about,
			 uint8_t status)
{
	kernel_of(a)->counts.rmpp_aborted++;
	control_send(a, to, about, TYPE_ABORT, status, 0, 0);
}

/* ---- Sending --------------------------------------------------------------------------------- */

static unsigned ack_ms(const struct ksend *s)
{
	return s->head.timeout_ms && s->head.timeout_ms < ACK_MS ? s->head.timeout_ms : ACK_MS;
}

static void segment_send(struct ksend *s, unsigned number)
{
	unsigned room = KMAD - s->header, at = s->header + (number - 1) * room;
	unsigned bytes = at >= s->len ? 0 : s->len - at < room ? (unsigned)(s->len - at) : room;
	unsigned pad = (unsigned)(s->header + s->segments * room - s->len), pay = 0;
	struct io_addr to = kaddress(&s->head);
	uint8_t mad[KMAD] = { 0 }, flags = FLAG_ACTIVE;

	memcpy(mad, s->mad, s->header);
	memcpy(mad + s->header, s->mad + at, bytes);
	if (number == 1) {
		flags |= FLAG_FIRST;
		pay = s->segments * RMPP_DATA - pad;
	}
	if (number == s->segments) {
		flags |= FLAG_LAST;
		pay = RMPP_DATA - pad;
	}
	mad[AT_RMPP_VERS] = 1;
	mad[AT_RMPP_TYPE] = TYPE_DATA;
	mad[AT_RMPP_FLAG] = flags;
	mad[AT_RMPP_STAT] = 0;
	put32(mad + AT_RMPP_SEG, number);
	put32(mad + AT_RMPP_LEN, pay);
	kport_transmit(s->agent->file->port, &to, mad, sizeof(mad));
}

/* What the window allows; acknowledgements, which may end the message, come behind it. */
static void window_send(struct ksend *s)
{
	struct double_fabric *d = kernel_of(s->agent)->d;
	unsigned first = s->sent + 1, last = s->window < s->segments ? s->window : s->segments;
	bool held = net_hold(d);

	if (last > s->sent)
		s->sent = last;
	loop_timer_set(s->timer, ack_ms(s) * 1000ull);
	for (unsigned number = first; number <= last; number++)
		segment_send(s, number);
	net_release(d, held);
}

void rmpp_send(struct ksend *s)
{
	unsigned room;

	s->rmpp = true;
	s->header = mad_header_of(s->mad[AT_CLASS]);
	room = KMAD - s->header;
	s->segments = s->len > s->header ? (unsigned)((s->len - s->header + room - 1) / room) : 1;
	s->sent = s->acked = 0;
	s->window = 1;
	window_send(s);
}

bool rmpp_again(struct ksend *s)
{
	if (s->acked == s->segments)
		return false; /* the message is there, its answer is not */
	kernel_of(s->agent)->counts.rmpp_resent++;
	s->sent = s->acked;
	window_send(s);
	return true;
}

/* Of a message of ours that is not sent yet. */
static struct ksend *sending(struct kagent *a, const struct io_addr *from, const uint8_t *mad)
{
	struct ksend *s = ksend_find(a, from, mad);

	return s && s->rmpp ? s : NULL;
}

static void abort_sending(struct kagent *a, const struct io_addr *from, const uint8_t *mad)
{
	struct ksend *s = sending(a, from, mad);

	if (!s || s->acked == s->segments)
		return;
	kernel_of(a)->counts.rmpp_aborted++;
	ksend_free(s);
}

static void fail_both(struct kagent *a, const struct io_addr *from, const uint8_t *mad,
		      uint8_t status)
{
	abort_sending(a, from, mad);
	abort_answer(a, from, mad, status);
}

/* The whole message is there. */
static void message_sent(struct ksend *s, const struct io_addr *from, const uint8_t *mad)
{
	if (!s->head.timeout_ms) {
		ksend_free(s);
		return;
	}
	loop_timer_set(s->timer, s->head.timeout_ms * 1000ull);
	control_send(s->agent, from, mad, TYPE_ACK, 0, 0,
		     1); /* the other end may begin its answer */
}

static void ack_received(struct kagent *a, const struct io_addr *from, const uint8_t *mad)
{
	uint32_t segment = get32(mad + AT_RMPP_SEG), window = get32(mad + AT_RMPP_LEN);
	struct ksend *s = sending(a, from, mad);

	if (mad[AT_RMPP_STAT]) {
		fail_both(a, from, mad, BAD_STATUS);
	} else if (window < segment) {
		fail_both(a, from, mad, WINDOW_TOO_SMALL);
	} else if (!s) {
		kernel_of(a)->counts.unmatched++;
	} else if (s->acked == s->segments) {
		control_send(a, from, mad, TYPE_ACK, 0, 0, 1);
	} else if (segment > s->segments || segment > s->window) {
		fail_both(a, from, mad, SEGMENT_TOO_BIG);
	} else if (window >= s->window && segment >= s->acked) {
		if (segment > s->acked)
			s->retries_left = s->head.retries;
		s->acked = segment;
		s->window = window;
		if (segment == s->segments)
			message_sent(s, from, mad);
		else if (s->sent < s->window && s->sent < s->segments)
			window_send(s);
	}
}

/* ---- Receiving ------------------------------------------------------------------------------- */

static struct krecv *recv_find(struct kagent *a, const struct io_addr *from, const uint8_t *mad)
{
	for (struct krecv *r = a->recvs; r; r = r->next)
		if (!memcmp(r->first + AT_TID, mad + AT_TID, 8) && r->from.lid == from->lid &&
		    r->from.qp == from->qp && !memcmp(r->first + AT_CLASS, mad + AT_CLASS, 3))
			return r;
	return NULL;
}

static void recv_free(struct krecv *r)
{
	struct krecv **at = &r->agent->recvs;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	loop_timer_free(r->timer);
	free(r->data);
	free(r->held);
	free(r);
}

void rmpp_forget(struct kagent *a)
{
	while (a->recvs)
		recv_free(a->recvs);
}

static void recv_timeout(void *arg)
{
	struct krecv *r = arg;

	if (!r->complete)
		abort_answer(r->agent, &r->from, r->first, TOO_LONG);
	recv_free(r);
}

static struct krecv *recv_new(struct kagent *a, const struct io_addr *from, const uint8_t *mad)
{
	struct krecv *r = mem_alloc(1, sizeof(*r));

	*r = (struct krecv){ .next = a->recvs,
			     .agent = a,
			     .timer = loop_timer_new(kernel_of(a)->loop, recv_timeout, r),
			     .from = *from,
			     .window = 1,
			     .header = mad_header_of(mad[AT_CLASS]) };
	memcpy(r->first, mad, KMAD);
	a->recvs = r;
	loop_timer_set(r->timer, WHOLE_US);
	return r;
}

static void recv_room(struct krecv *r, unsigned segment)
{
	unsigned room = r->room ? r->room : RMPP_WINDOW;

	while (room < segment)
		room *= 2;
	if (room == r->room)
		return;
	r->data = mem_resize(r->data, room, KMAD - r->header);
	r->held = mem_resize(r->held, room, sizeof(*r->held));
	memset(r->held + r->room, 0, (room - r->room) * sizeof(*r->held));
	r->room = room;
}

static void recv_keep(struct krecv *r, unsigned segment, const uint8_t *mad)
{
	unsigned bytes = KMAD - r->header;

	recv_room(r, segment);
	memcpy(r->data + (size_t)(segment - 1) * bytes, mad + r->header, bytes);
	r->held[segment - 1] = true;
	if (mad[AT_RMPP_FLAG] & FLAG_LAST) {
		r->last = segment;
		r->last_pay = get32(mad + AT_RMPP_LEN);
	}
	while (r->got < r->room && r->held[r->got] && (!r->last || r->got < r->last))
		r->got++;
}

static void recv_ack(struct krecv *r, const uint8_t *mad)
{
	r->acked = r->got;
	control_send(r->agent, &r->from, mad, TYPE_ACK, 0, r->got, r->window);
}

static void recv_complete(struct krecv *r, const uint8_t *mad)
{
	unsigned bytes = KMAD - r->header, pad = RMPP_DATA - r->last_pay;
	size_t len = r->header + (size_t)r->got * bytes - (pad > RMPP_DATA ? 0 : pad);
	uint8_t *message = mem_alloc(1, len > KMAD ? len : KMAD);

	memcpy(message, r->first, r->header);
	memcpy(message + r->header, r->data, len - r->header);
	r->complete = true;
	recv_ack(r, mad);
	free(r->data);
	free(r->held);
	r->data = NULL;
	r->held = NULL;
	loop_timer_set(r->timer, LINGER_US);
	kagent_arrived(r->agent, &r->from, message, len);
	free(message);
}

static void recv_continue(struct krecv *r, unsigned segment, const uint8_t *mad)
{
	if (segment > r->window)
		return;
	if (r->complete || segment <= r->acked) {
		recv_ack(r, mad);
		return;
	}
	if (segment <= r->room && r->held[segment - 1])
		return;
	recv_keep(r, segment, mad);
	if (r->got == r->last && r->last) {
		recv_complete(r, mad);
	} else if (r->got == r->window) {
		r->window += RMPP_WINDOW;
		recv_ack(r, mad);
	}
}

static void data_received(struct kagent *a, const struct io_addr *from, const uint8_t *mad)
{
	uint32_t segment = get32(mad + AT_RMPP_SEG);
	bool first = mad[AT_RMPP_FLAG] & FLAG_FIRST;
	struct krecv *r = recv_find(a, from, mad);

	if (mad[AT_RMPP_STAT])
		abort_answer(a, from, mad, BAD_STATUS);
	else if (!segment || first != (segment == 1))
		abort_answer(a, from, mad, BAD_SEGMENT);
	else if (r)
		recv_continue(r, segment, mad);
	else if (first)
		recv_continue(recv_new(a, from, mad), segment, mad);
}

static void stopped(struct kagent *a, const struct io_addr *from, const uint8_t *mad, bool known)
{
	if (known)
		abort_sending(a, from, mad);
	else
		fail_both(a, from, mad, BAD_STATUS);
}

void rmpp_receive(struct kagent *a, const struct io_addr *from, const uint8_t *mad)
{
	uint8_t status = mad[AT_RMPP_STAT];

	if (mad[AT_RMPP_VERS] != 1) {
		fail_both(a, from, mad, BAD_VERSION);
		return;
	}
	switch (mad[AT_RMPP_TYPE]) {
	case TYPE_DATA:
		data_received(a, from, mad);
		break;
	case TYPE_ACK:
		ack_received(a, from, mad);
		break;
	case TYPE_STOP:
		stopped(a, from, mad, status == RESOURCES);
		break;
	case TYPE_ABORT:
		stopped(a, from, mad, status >= ABORT_MIN && status <= ABORT_MAX);
		break;
	default:
		fail_both(a, from, mad, BAD_TYPE);
	}
}
