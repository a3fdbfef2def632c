/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Receiving: described in io_umad.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <infiniband/umad.h>
#include "fm/loop/log.h"
#include "fm/mad/umad_own.h"
#include "topology/base/mem.h"

#define QP1_QKEY     0x80010000u /* IBA 3.5.3 */
#define NAP_FROM     32		 /* answers awaited */
#define NAP_US	     200
#define HELD_BACK_US 1000 /* SA requests are left unread so long, once they had their share */
#define LIVELY_WAITS 2
#define CLOSE_MS     200   /* after so long without any, none comes any more */
#define DRAIN_MAX    256   /* MADs taken in one round */
#define SMPS_EVERY   16	   /* SA requests, SMPs are looked for */
#define LATER_MAX    4096  /* SA requests kept back; more are dropped, and repeated by who asks */
#define RX_KEEP	     65536 /* bytes of the buffer, when no longer message is there */

static void address_get(void *umad, struct io_addr *from)
{
	const ib_mad_addr_t *addr = umad_get_mad_addr(umad);

	*from = (struct io_addr){
		.lid = ntohs(addr->lid),
		.qp = ntohl(addr->qpn),
		.qkey = addr->qpn ? QP1_QKEY : 0,
		.pkey_index = (uint16_t)umad_get_pkey(umad),
		.sl = addr->sl,
		.path_bits = addr->path_bits,
		.grh = addr->grh_present,
		.hop_limit = addr->hop_limit,
	};
	memcpy(from->gid, addr->gid, sizeof(from->gid));
}

/*
 * A send that the kernel gave back, unsent or unanswered: the first bytes of what was sent, often
 * no more than the common header. Only requests are reported as failed; of the SA's class answers
 * are sent as well. ibsim gives an answer that was lost on its way back at once, as an answer.
 */
static void given_back(struct umad_io *u, const uint8_t *mad, size_t len)
{
	struct wire_mad m;

	if (wire_mad_decode_header(mad, len, &m))
		return;
	if (m.mgmt_class != WIRE_SA || !(m.method & WIRE_RESPONSE))
		u->io.failed(u->io.arg, m.tid);
}

static void buffer_shrink(void **buf, size_t *size)
{
	if (*size <= RX_KEEP)
		return;
	*buf = mem_resize(*buf, 1, umad_size() + WIRE_MAD_SIZE);
	*size = WIRE_MAD_SIZE;
}

/* One into rx: its length; 0: it stays queued, the buffer is larger now; -EAGAIN: none is there. */
static int receive(struct umad_io *u, const struct handle *h)
{
	int len = (int)u->rx_size;
	int status = umad_recv(h->port, u->rx, &len, 0);
	const uint8_t *mad = umad_get_mad(u->rx);

	if (status == -ENOSPC && len > (int)u->rx_size) {
		umad_buffer_fit(&u->rx, &u->rx_size, (size_t)len); /* an RMPP message */
		return 0;
	}
	if (status < 0)
		return status;
	if (u->unanswered && (umad_status(u->rx) || mad[3] & WIRE_RESPONSE))
		u->unanswered--;
	return len;
}

/* Of a simulator, with one descriptor for all. Longer ones are rare, and not kept back. */
static bool may_wait(const struct umad_io *u, const uint8_t *mad, size_t len)
{
	return u->poll && len == WIRE_MAD_SIZE && mad[1] == WIRE_SA && !(mad[3] & WIRE_RESPONSE);
}

static void keep_back(struct umad_io *u, const struct io_addr *from, const uint8_t *mad)
{
	struct later *later;

	if (u->nlater == LATER_MAX)
		return;
	later = &u->later[(u->later_first + u->nlater++) % LATER_MAX];
	later->from = *from;
	memcpy(later->mad, mad, WIRE_MAD_SIZE);
}

static void hand_on(struct umad_io *u, size_t len)
{
	const uint8_t *mad = umad_get_mad(u->rx);
	struct io_addr from;

	if (umad_status(u->rx)) {
		given_back(u, mad, len);
		return;
	}
	address_get(u->rx, &from);
	if (may_wait(u, mad, len))
		keep_back(u, &from, mad);
	else
		u->io.recv(u->io.arg, &from, mad, len);
}

/* 0: one was taken; -EAGAIN: none is there, or the port was closed meanwhile. */
static int take_one(struct umad_io *u, const struct handle *h)
{
	int len = h->port < 0 ? -EAGAIN : receive(u, h);

	if (len <= 0)
		return len;
	hand_on(u, (size_t)len);
	if ((size_t)len > RX_KEEP)
		buffer_shrink(&u->rx, &u->rx_size);
	return 0;
}

/* What bounds one round of reading. */
struct round {
	uint64_t until_us;
	int taken;
	bool held_back; /* requests to the SA had their part of the time */
};

static bool is_over(const struct umad_io *u, const struct round *round)
{
	return round->taken >= DRAIN_MAX || loop_clock_us(u->loop) >= round->until_us;
}

/* Up to so many. 0; -EAGAIN: there are no more; other -errno: the port is lost. */
static int take(struct umad_io *u, const struct handle *h, struct round *round, int most)
{
	while (most--) {
		int status = take_one(u, h);

		if (status)
			return status == -EINTR ? -EAGAIN : status;
		round->taken++;
		if (is_over(u, round))
			return 0;
	}
	return 0;
}

/*
 * True: a write() holds the lock of the descriptor for tables, and a read would wait for its end.
 */
static bool is_paused(const struct umad_io *u)
{
	return u->writer && umad_writer_left(u->writer);
}

/*
 * Whether requests to the SA may be served now. They have a share of the time while a fault is
 * being handled, so a storm of requests slows that by this share at most.
 */
static bool sa_may(struct umad_io *u)
{
	return sa_share_may(&u->share, loop_clock_us(u->loop), loop_pace(u->loop).slice_us,
			    loop_is_busy(u->loop));
}

/* Processor time: time in which this process did not run does not count as spent. */
static uint64_t worked_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static int take_requests(struct umad_io *u, struct round *round)
{
	int status = take(u, &u->handles[HANDLE_GS], round, SMPS_EVERY), tables;

	if ((status && status != -EAGAIN) || is_over(u, round) || is_paused(u))
		return status;
	tables = take(u, &u->handles[HANDLE_TABLES], round, SMPS_EVERY);
	return tables == -EAGAIN ? status : tables;
}

/* Reads SMPs, then at most SMPS_EVERY other MADs, before SMPs are looked for again. */
static int take_some(struct umad_io *u, struct round *round)
{
	int status = take(u, &u->handles[HANDLE_SMI], round, DRAIN_MAX);
	uint64_t start;

	if ((status && status != -EAGAIN) || is_over(u, round) || u->poll)
		return status;
	round->held_back = !sa_may(u);
	if (round->held_back)
		return -EAGAIN;
	start = worked_us();
	status = take_requests(u, round);
	sa_share_spend(&u->share, worked_us() - start);
	return status;
}

static void hand_on_one(struct umad_io *u)
{
	struct later later = u->later[u->later_first];

	u->later_first = (u->later_first + 1) % LATER_MAX;
	u->nlater--;
	u->io.recv(u->io.arg, &later.from, later.mad, WIRE_MAD_SIZE);
}

/* Serves requests that were kept back, for a slice of time. */
static void hand_on_later(struct umad_io *u)
{
	uint64_t until = loop_clock_us(u->loop) + loop_pace(u->loop).slice_us;

	while (u->nlater && umad_is_open(u) && loop_clock_us(u->loop) < until && sa_may(u)) {
		uint64_t start = worked_us();

		hand_on_one(u);
		sa_share_spend(&u->share, worked_us() - start);
	}
}

/* Descriptors that have something to be read, and are not, would wake the loop for nothing. */
static void watch_requests(struct umad_io *u)
{
	bool open = u->resume && !loop_timer_armed(u->resume);

	if (u->handles[HANDLE_GS].watch)
		loop_fd_set(u->handles[HANDLE_GS].watch, open ? LOOP_READ : 0);
	if (u->handles[HANDLE_TABLES].watch)
		loop_fd_set(u->handles[HANDLE_TABLES].watch, open && !is_paused(u) ? LOOP_READ : 0);
}

static void resume_cb(void *arg)
{
	watch_requests(arg);
}

static void hold_back(struct umad_io *u)
{
	if (u->poll || !u->resume || loop_timer_armed(u->resume))
		return;
	loop_timer_set(u->resume, HELD_BACK_US);
	watch_requests(u);
}

/*
 * Reads and serves MADs for a slice of time. Returns their number; -errno when the port is lost.
 */
static int drain(struct umad_io *u)
{
	struct round round = { .until_us = loop_clock_us(u->loop) + loop_pace(u->loop).slice_us };
	int status = 0;

	while (!status && !is_over(u, &round))
		status = take_some(u, &round);
	hand_on_later(u);
	if (status && status != -EAGAIN)
		return status;
	if (round.held_back)
		hold_back(u);
	return round.taken;
}

static void readable_cb(void *arg, unsigned events)
{
	const struct handle *h = arg;
	struct umad_io *u = h->u;
	int status = drain(u);

	if (status >= 0)
		return;
	if (u->resume)
		loop_timer_stop(u->resume);
	for (unsigned i = 0; i < HANDLES; i++)
		if (u->handles[i].watch)
			loop_fd_set(u->handles[i].watch, 0);
	u->io.lost(u->io.arg, -status);
}

/*
 * While many answers are awaited, a nap lets a batch of them gather: being woken for each costs
 * more processor time, here and in libumad2sim's receiver, than the MADs themselves.
 */
static void wait_for_answers(const struct umad_io *u)
{
	const struct timespec nap = { .tv_nsec = NAP_US * 1000 };

	if (u->expected < NAP_FROM)
		umad_poll(u->handles[HANDLE_SMI].port, UMAD_BLOCK_MS);
	else
		nanosleep(&nap, NULL);
}

/*
 * A client that has just sent a request will send another: that is waited for here a while, not in
 * the loop's longer sleep.
 */
static bool poll_cb(void *arg)
{
	struct umad_io *u = arg;
	int taken = drain(u);

	if (taken < 0)
		u->io.lost(u->io.arg, -taken);
	if (taken > 0)
		u->lively = LIVELY_WAITS;
	else if (loop_idle_us(u->loop) < UMAD_BLOCK_MS * 1000)
		; /* the loop has work of its own */
	else if (u->expected)
		wait_for_answers(u);
	else if (u->lively && umad_poll(u->handles[HANDLE_SMI].port, UMAD_BLOCK_MS))
		u->lively--;
	return u->expected || u->lively || u->nlater;
}

void umad_io_expect(struct io *io, unsigned outstanding)
{
	((struct umad_io *)io)->expected = outstanding;
}

/* ---- From when, and how long ----------------------------------------------------------------- */

void umad_receive_pause(struct umad_io *u)
{
	watch_requests(u);
}

void umad_written(void *arg, const struct umad_written *written)
{
	struct umad_io *u = arg;

	if (!written->left)
		watch_requests(u);
	if (!written->error)
		return;
	log_line(LOG_MAD, LOG_WARNING, "lid %u: an answer of %zu bytes was not sent: %s",
		 written->lid, written->len, strerror(written->error));
	if (umad_is_gone(written->error))
		u->io.lost(u->io.arg, written->error);
}

void umad_receive_start(struct umad_io *u)
{
	u->resume = loop_timer_new(u->loop, resume_cb, u);
	for (unsigned i = 0; u->io.info.real_fd && i < HANDLES; i++) {
		struct handle *h = &u->handles[i];

		h->watch = loop_fd_new(u->loop, umad_get_fd(h->port), LOOP_READ, readable_cb, h);
	}
	if (u->io.info.real_fd)
		return;
	u->poll = loop_poll_new(u->loop, poll_cb, u);
	if (!u->later)
		u->later = mem_alloc(LATER_MAX, sizeof(*u->later));
	prctl(PR_SET_TIMERSLACK, 1); /* naps as short as asked for */
}

/* Reads outstanding answers before the port is closed: io_umad.c says why. */
static void receive_rest(struct umad_io *u)
{
	const struct handle *h = &u->handles[HANDLE_SMI];

	while (u->unanswered && umad_poll(h->port, CLOSE_MS) == 0)
		if (receive(u, h) < 0)
			return;
}

void umad_receive_stop(struct umad_io *u)
{
	if (u->poll)
		receive_rest(u);
	loop_poll_free(u->poll);
	u->poll = NULL;
	loop_timer_free(u->resume);
	u->resume = NULL;
	for (unsigned i = 0; i < HANDLES; i++) {
		loop_fd_free(u->handles[i].watch);
		u->handles[i].watch = NULL;
	}
}
