/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Requests that agents send. One that awaits an answer is a ksend with a timer of its own, found by
 * its TID in a hash table; what awaits none is handed to the fabric and forgotten.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <endian.h>
#include <arpa/inet.h>
#include "tests/sim/kernel_own.h"
#include "topology/base/mem.h"

static uint64_t tid_of(const uint8_t *mad)
{
	uint64_t tid;

	memcpy(&tid, mad + AT_TID, sizeof(tid));
	return be64toh(tid);
}

static struct ksend **chain_of(struct kernel *k, uint64_t tid)
{
	return &k->table[((tid ^ tid >> 32) * 0x9e3779b1u) % SENDS_TABLE];
}

static void send_timeout(void *arg);

static struct ksend *send_new(struct kagent *a, const struct ib_user_mad *head, const uint8_t *mad,
			      size_t len)
{
	struct kernel *k = kernel_of(a);
	struct ksend *s = k->pool, **chain = chain_of(k, tid_of(mad));

	if (s) {
		k->pool = s->next;
	} else {
		s = mem_alloc(1, sizeof(*s));
		s->timer = loop_timer_new(k->loop, send_timeout, s);
	}
	if (len > s->size) {
		s->mad = mem_resize(s->mad, len, 1);
		s->size = len;
	}
	memcpy(s->mad, mad, len);
	s->len = len;
	s->head = *head;
	s->agent = a;
	s->retries_left = head->retries;
	s->rmpp = s->waits = s->in_flight = false;
	s->next = a->sends;
	s->back = &a->sends;
	if (s->next)
		s->next->back = &s->next;
	a->sends = s;
	s->chain = *chain;
	s->chain_back = chain;
	if (s->chain)
		s->chain->chain_back = &s->chain;
	*chain = s;
	return s;
}

/* ---- Requests in flight ---------------------------------------------------------------------- */

#define IN_FLIGHT    128
#define IN_FLIGHT_SA 16

static void start(struct ksend *s)
{
	struct io_addr to = kaddress(&s->head);

	s->waits = false;
	s->in_flight = true;
	s->agent->in_flight++;
	loop_timer_set(s->timer, s->head.timeout_ms * 1000ull);
	kport_transmit(s->agent->file->port, &to, s->mad, KMAD);
}

static void start_or_wait(struct ksend *s)
{
	struct kagent *a = s->agent;
	unsigned most = a->reg.mgmt_class == WIRE_SA ? IN_FLIGHT_SA : IN_FLIGHT;
	struct ksend **last = &a->backlog;

	if (!kernel_of(a)->limits || mad_is_response(s->mad) || a->in_flight < most) {
		start(s);
		return;
	}
	while (*last)
		last = &(*last)->later;
	*last = s;
	s->later = NULL;
	s->waits = true;
}

/* It ends: the first that waits is sent. */
static void flight_end(struct ksend *s)
{
	struct kagent *a = s->agent;
	struct ksend **link = &a->backlog, *next;

	while (s->waits && *link && *link != s)
		link = &(*link)->later;
	if (s->waits && *link)
		*link = s->later;
	a->in_flight -= s->in_flight;
	next = s->in_flight ? a->backlog : NULL;
	if (!next)
		return;
	a->backlog = next->later;
	start(next);
}

void ksend_free(struct ksend *s)
{
	struct kernel *k = kernel_of(s->agent);
	const struct kfile *f = s->agent->file;

	flight_end(s);
	loop_timer_stop(s->timer);
	*s->back = s->next;
	if (s->next)
		s->next->back = s->back;
	*s->chain_back = s->chain;
	if (s->chain)
		s->chain->chain_back = s->chain_back;
	if (f->ops->done && !f->dead)
		f->ops->done(f->arg, s->mad);
	if (s->size > 65536) {
		free(s->mad);
		s->mad = NULL;
		s->size = 0;
	}
	s->next = k->pool;
	k->pool = s;
}

void ksend_give_back(struct ksend *s)
{
	struct kagent *a = s->agent;
	uint8_t header[KERNEL_MAD_HEADER];
	struct ib_user_mad head = s->head;

	kernel_of(a)->counts.timed_out++;
	memcpy(header, s->mad, sizeof(header));
	head.status = ETIMEDOUT;
	head.agent_id = a->number;
	ksend_free(s);
	a->file->ops->deliver(a->file->arg, &head, header, sizeof(header));
}

static void send_timeout(void *arg)
{
	struct ksend *s = arg;
	struct kernel *k = kernel_of(s->agent);
	struct io_addr to = kaddress(&s->head);

	if (!s->retries_left) {
		ksend_give_back(s);
		return;
	}
	s->retries_left--;
	if (s->rmpp) {
		if (!rmpp_again(s))
			ksend_give_back(s);
		return;
	}
	k->counts.resent++;
	loop_timer_set(s->timer, s->head.timeout_ms * 1000ull);
	kport_transmit(s->agent->file->port, &to, s->mad, s->len);
}

/*
 * An answer and what it answers need not come from the LID asked: the path bits tell. A sender of
 * an answer knows its partner by LID.
 */
struct ksend *ksend_find(struct kagent *a, const struct io_addr *from, const uint8_t *mad)
{
	uint64_t tid = tid_of(mad);

	for (struct ksend *s = *chain_of(kernel_of(a), tid); s; s = s->chain) {
		if (s->agent != a || tid_of(s->mad) != tid || s->mad[AT_CLASS] != mad[AT_CLASS] ||
		    mad_is_response(s->mad) == mad_is_response(mad))
			continue;
		if (!mad_is_response(s->mad) || ntohs(s->head.addr.lid) == from->lid)
			return s;
	}
	return NULL;
}

/* Two requests of a TID, or two answers of one to the same port. */
static bool is_duplicate(struct kfile *f, const struct ib_user_mad *head, const uint8_t *mad)
{
	uint64_t tid = tid_of(mad);

	for (struct ksend *s = *chain_of(f->port->k, tid); s; s = s->chain) {
		if (s->agent->file != f || tid_of(s->mad) != tid ||
		    s->mad[AT_CLASS] != mad[AT_CLASS] ||
		    mad_is_response(s->mad) != mad_is_response(mad))
			continue;
		if (!mad_is_response(mad) || s->head.addr.lid == head->addr.lid)
			return true;
	}
	return false;
}

static void tid_take_upper(uint8_t *mad, uint32_t hi_tid)
{
	put32(mad + AT_TID, hi_tid);
}

bool kagent_is_message(const struct kagent *a, const uint8_t *mad)
{
	return kagent_rmpp(a) && class_has_rmpp(mad[AT_CLASS]) && rmpp_is_active(mad);
}

/* To the fabric; and kept while an answer, or the message's end, is awaited. */
static void send_begin(struct kagent *a, const struct ib_user_mad *head, const uint8_t *mad,
		       size_t len)
{
	struct io_addr to = kaddress(head);

	if (kagent_is_message(a, mad)) {
		rmpp_send(send_new(a, head, mad, len));
		return;
	}
	if (head->timeout_ms)
		start_or_wait(send_new(a, head, mad, KMAD));
	else
		kport_transmit(a->file->port, &to, mad, KMAD);
}

bool kfile_is_busy(struct kfile *f, const struct ib_user_mad *head, const uint8_t *header)
{
	struct kagent *a = head->agent_id < KERNEL_AGENTS ? f->agents[head->agent_id] : NULL;
	uint8_t mad[KERNEL_MAD_HEADER];

	if (!a)
		return false;
	memcpy(mad, header, sizeof(mad));
	if (!mad_is_response(mad))
		tid_take_upper(mad, a->hi_tid);
	return is_duplicate(f, head, mad);
}

int kfile_write(struct kfile *f, const struct ib_user_mad *head, const uint8_t *data, size_t len)
{
	struct kagent *a = head->agent_id < KERNEL_AGENTS ? f->agents[head->agent_id] : NULL;
	uint8_t small[KMAD], *mad = small;

	if (f->dead)
		return -EIO;
	if (!a || len < RMPP_HEADER)
		return -EINVAL;
	if (len > KMAD) {
		if (!kagent_is_message(a, data))
			return -EINVAL;
		mad = mem_alloc(1, len);
	} else {
		memset(small + len, 0, KMAD - len);
	}
	memcpy(mad, data, len);
	if (!mad_is_response(mad))
		tid_take_upper(mad, a->hi_tid);
	if (is_duplicate(f, head, mad)) {
		if (mad != small)
			free(mad);
		return -EINVAL;
	}
	send_begin(a, head, mad, len);
	if (mad != small)
		free(mad);
	return 0;
}
