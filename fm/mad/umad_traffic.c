/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/umad.h>
#include <arpa/inet.h>
#include <sys/prctl.h>
#include "fm/loop/log.h"
#include "fm/mad/umad_own.h"
#include "topology/base/mem.h"

/* ---- The share of requests to the SA --------------------------------------------------------- */

#define DEBT_MAX_US 10000 /* nobody waits for ever because of one that took long */

bool sa_share_may(struct sa_share *share, uint64_t now_us, uint64_t slice_us, bool busy)
{
	uint64_t passed = now_us - share->at_us;

	share->at_us = now_us;
	if (!busy) {
		share->left = 0;
		return true;
	}
	share->left += (int64_t)(passed < slice_us ? passed : slice_us);
	if (share->left > (int64_t)slice_us)
		share->left = (int64_t)slice_us;
	return share->left > 0;
}

void sa_share_spend(struct sa_share *share, uint64_t us)
{
	share->left -= (int64_t)(us < DEBT_MAX_US ? us : DEBT_MAX_US) * SA_SHARE_PART;
}

/* ---- What sending and receiving ask of the adapter's handles and buffers --------------------- */

/* Enlarges a buffer that holds fewer than len bytes of a MAD; the buffer may move. */
static void umad_buffer_fit(void **buf, size_t *size, size_t len)
{
	if (len <= *size)
		return;
	*buf = mem_resize(*buf, 1, umad_size() + len);
	*size = len;
}

bool umad_is_gone(int error)
{
	return error == EIO || error == ENODEV || error == ENXIO;
}

bool umad_is_open(const struct umad_io *u)
{
	return u->handles[HANDLE_SMI].port >= 0;
}

static void watch_requests(void *arg);

/* ---- Sending: described in io_umad.c --------------------------------------------------------- */

#define QP1_QKEY      0x80010000u /* IBA 3.5.3 */
#define RMPP_RETRIES  3	  /* of a segment that is not acknowledged within the kernel's 2 s */
#define ACK_MS	      200 /* in place of these 2 s, for an answer of several segments */
#define RMPP_FLAGS_AT 26  /* RMPPFlags in an SA MAD (IBA 13.6.2.1) */
#define RMPP_ACTIVE   1

struct handle *umad_handle_of(struct umad_io *u, int agent)
{
	if (agent == AGENT_TABLES)
		return &u->handles[HANDLE_TABLES];
	return &u->handles[agent == AGENT_SA ? HANDLE_GS : HANDLE_SMI];
}

/* -1: no such class. */
static int agent_of(uint8_t mgmt_class)
{
	switch (mgmt_class) {
	case WIRE_SMI_LID:
		return AGENT_SMI_LID;
	case WIRE_SMI_DR:
		return AGENT_SMI_DR;
	case WIRE_SA:
		return AGENT_SA;
	case WIRE_PERF:
		return AGENT_PERF;
	default:
		return -1;
	}
}

void umad_buffers_open(struct umad_io *u)
{
	u->tx_size = u->rx_size = 0;
	umad_buffer_fit(&u->tx, &u->tx_size, WIRE_MAD_SIZE);
	umad_buffer_fit(&u->rx, &u->rx_size, WIRE_MAD_SIZE);
}

static void address_set(void *umad, const struct io_addr *to)
{
	ib_mad_addr_t *addr = umad_get_mad_addr(umad);
	uint32_t qkey = to->qp && !to->qkey ? QP1_QKEY : to->qkey;

	memset(addr, 0, umad_size() - offsetof(ib_user_mad_t, addr));
	umad_set_addr(umad, to->lid, (int)to->qp, to->sl, (int)qkey);
	umad_set_pkey(umad, to->pkey_index);
	addr->path_bits = to->path_bits;
	if (!to->grh)
		return;
	addr->grh_present = 1;
	addr->hop_limit = to->hop_limit;
	memcpy(addr->gid, to->gid, sizeof(addr->gid));
}

static bool is_rmpp(const uint8_t *mad)
{
	return mad[1] == WIRE_SA && mad[RMPP_FLAGS_AT] & RMPP_ACTIVE;
}

/* The agent that acknowledgements of the answer come to: they are MADs of the request's method. */
static int answering_agent(const struct umad_io *u)
{
	return u->agents[AGENT_TABLES] >= 0 ? AGENT_TABLES : AGENT_SA;
}

/*
 * How long the kernel is to wait for an acknowledgement, 0 = as long as it does by itself; and how
 * often: 8 s in all. It hands an answer with a time-out back when that has passed once more: of
 * those in one segment, which are many, it need not.
 */
static int ack_ms(const struct umad_io *u, size_t len)
{
	return len > WIRE_MAD_SIZE && u->io.info.real_fd ? ACK_MS : 0;
}

static int ack_retries(int ms)
{
	return ms ? (int)(UMAD_WRITER_LIFE_US / 1000 / (unsigned)ms) - 1 : RMPP_RETRIES;
}

/* Writes it here, in the loop. */
static int send_now(struct umad_io *u, int agent, const uint8_t *mad, size_t len, int kernel_ms,
		    int retries)
{
	int error;

	umad_buffer_fit(&u->tx, &u->tx_size, len);
	memcpy(umad_get_mad(u->tx), mad, len);
	if (!umad_send(umad_handle_of(u, agent)->port, u->agents[agent], u->tx, (int)len, kernel_ms,
		       retries))
		return 0;
	error = errno;
	if (umad_is_gone(error))
		u->io.lost(u->io.arg, error);
	switch (error) {
	case EAGAIN:
	case EINTR:
	case ENOBUFS:
	case ENOMEM:
		return -EAGAIN; /* the queues below are full for the moment */
	default:
		return error ? -error : -EIO;
	}
}

/* Has the thread write it; the address is in tx. */
static int give(struct umad_io *u, const struct io_addr *to, const uint8_t *head, size_t head_len,
		struct io_body *body, size_t len)
{
	int agent = answering_agent(u), ms = ack_ms(u, len);

	return umad_writer_give(u->writer, &(struct umad_answer){
						   .port = umad_handle_of(u, agent)->port,
						   .agent = u->agents[agent],
						   .timeout_ms = ms,
						   .retries = ack_retries(ms),
						   .lid = to->lid,
						   .address = u->tx,
						   .head = head,
						   .head_len = head_len,
						   .len = len,
						   .body = body,
					   });
}

int umad_io_send(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
		 unsigned timeout_ms)
{
	struct umad_io *u = (struct umad_io *)io;
	int agent = agent_of(mad[1]), status, ms; /* byte 1: MgmtClass */
	bool rmpp = is_rmpp(mad);
	struct io_body *body;

	if (!umad_is_open(u))
		return -ENODEV;
	if (agent < 0)
		return -EPROTONOSUPPORT;
	address_set(u->tx, to);
	if (rmpp && u->writer && umad_writer_left(u->writer)) {
		/* To the thread: nothing else may use its descriptor until it is done. */
		body = io_body_new(memcpy(mem_alloc_unset(len, 1), mad, len));
		status = give(u, to, mad, 0, body, len);
		io_body_unref(body);
		return status;
	}
	if (rmpp) {
		if (u->writer && !umad_writer_count(u->writer, to->lid, len))
			return -EAGAIN;
		ms = ack_ms(u, len);
		return send_now(u, answering_agent(u), mad, len, ms, ack_retries(ms));
	}
	status = send_now(u, agent, mad, len, (int)(timeout_ms - timeout_ms / 8), 0);
	u->unanswered += !status && timeout_ms > 0;
	return status;
}

int umad_io_send_long(struct io *io, const struct io_addr *to, const uint8_t *head, size_t head_len,
		      struct io_body *body, size_t len)
{
	struct umad_io *u = (struct umad_io *)io;
	int status;

	if (!umad_is_open(u))
		return -ENODEV;
	address_set(u->tx, to);
	status = u->writer && is_rmpp(head) ? give(u, to, head, head_len, body, len) : -ENOTSUP;
	if (!status)
		watch_requests(u);
	if (!status || status == -EAGAIN)
		return status;
	memcpy(body->data, head, head_len); /* no thread: the loop does */
	return umad_io_send(io, to, body->data, len, 0);
}

/* ---- Receiving: described in io_umad.c ------------------------------------------------------- */

#define NAP_FROM     32 /* answers awaited */
#define NAP_US	     200
#define HELD_BACK_US 1000 /* SA requests are left unread so long, once they had their share */
#define LIVELY_WAITS 2
#define CLOSE_MS     200   /* after so long without any, none comes any more */
#define DRAIN_MAX    256   /* MADs taken in one round */
#define SMPS_EVERY   16	   /* SA requests, SMPs are looked for */
#define LATER_MAX    4096  /* SA requests kept back; more are dropped, and repeated by who asks */
#define RX_KEEP	     65536 /* bytes of the buffer, when no longer message is there */

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

/*
 * A send that the kernel gave back, unsent or unanswered, has the first bytes of what was sent,
 * often no more than the common header. Only requests are reported as failed; of the SA's class
 * answers are sent as well. ibsim gives an answer that was lost on its way back at once, as an
 * answer.
 *
 * A simulator has one descriptor for all, so requests to the SA are kept back; longer ones, which
 * are rare, are not.
 */
static void hand_on(struct umad_io *u, size_t len)
{
	const ib_mad_addr_t *addr = umad_get_mad_addr(u->rx);
	const uint8_t *mad = umad_get_mad(u->rx);
	struct io_addr from;
	struct later *later;
	struct wire_mad m;

	if (umad_status(u->rx)) {
		if (!wire_mad_decode_header(mad, len, &m) &&
		    (m.mgmt_class != WIRE_SA || !(m.method & WIRE_RESPONSE)))
			u->io.failed(u->io.arg, m.tid);
		return;
	}
	from = (struct io_addr){
		.lid = ntohs(addr->lid),
		.qp = ntohl(addr->qpn),
		.qkey = addr->qpn ? QP1_QKEY : 0,
		.pkey_index = (uint16_t)umad_get_pkey(u->rx),
		.sl = addr->sl,
		.path_bits = addr->path_bits,
		.grh = addr->grh_present,
		.hop_limit = addr->hop_limit,
	};
	memcpy(from.gid, addr->gid, sizeof(from.gid));
	if (!u->poll || len != WIRE_MAD_SIZE || mad[1] != WIRE_SA || mad[3] & WIRE_RESPONSE) {
		u->io.recv(u->io.arg, &from, mad, len);
	} else if (u->nlater < LATER_MAX) {
		later = &u->later[(u->later_first + u->nlater++) % LATER_MAX];
		later->from = from;
		memcpy(later->mad, mad, WIRE_MAD_SIZE);
	}
}

/* 0: one was taken; -EAGAIN: none is there, or the port was closed meanwhile. */
static int take_one(struct umad_io *u, const struct handle *h)
{
	int len = h->port < 0 ? -EAGAIN : receive(u, h);

	if (len <= 0)
		return len;
	hand_on(u, (size_t)len);
	if (len > RX_KEEP && u->rx_size > RX_KEEP) {
		u->rx = mem_resize(u->rx, 1, umad_size() + WIRE_MAD_SIZE);
		u->rx_size = WIRE_MAD_SIZE;
	}
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

/* Reads SMPs, then at most SMPS_EVERY other MADs, before SMPs are looked for again. */
static int take_some(struct umad_io *u, struct round *round)
{
	int status = take(u, &u->handles[HANDLE_SMI], round, DRAIN_MAX), tables;
	uint64_t start;

	if ((status && status != -EAGAIN) || is_over(u, round) || u->poll)
		return status;
	round->held_back = !sa_may(u);
	if (round->held_back)
		return -EAGAIN;
	start = worked_us();
	status = take(u, &u->handles[HANDLE_GS], round, SMPS_EVERY);
	if ((!status || status == -EAGAIN) && !is_over(u, round) && !is_paused(u)) {
		tables = take(u, &u->handles[HANDLE_TABLES], round, SMPS_EVERY);
		status = tables == -EAGAIN ? status : tables;
	}
	sa_share_spend(&u->share, worked_us() - start);
	return status;
}

/* Descriptors that have something to be read, and are not, would wake the loop for nothing. */
static void watch_requests(void *arg)
{
	struct umad_io *u = arg;
	bool open = u->resume && !loop_timer_armed(u->resume);

	if (u->handles[HANDLE_GS].watch)
		loop_fd_set(u->handles[HANDLE_GS].watch, open ? LOOP_READ : 0);
	if (u->handles[HANDLE_TABLES].watch)
		loop_fd_set(u->handles[HANDLE_TABLES].watch, open && !is_paused(u) ? LOOP_READ : 0);
}

/*
 * Reads and serves MADs for a slice of time. Returns their number; -errno when the port is lost.
 */
static int drain(struct umad_io *u)
{
	struct round round = { .until_us = loop_clock_us(u->loop) + loop_pace(u->loop).slice_us };
	uint64_t until;
	int status = 0;

	while (!status && !is_over(u, &round))
		status = take_some(u, &round);
	/* Then requests that were kept back, for a slice of time. */
	until = loop_clock_us(u->loop) + loop_pace(u->loop).slice_us;
	while (u->nlater && umad_is_open(u) && loop_clock_us(u->loop) < until && sa_may(u)) {
		struct later later = u->later[u->later_first];
		uint64_t start = worked_us();

		u->later_first = (u->later_first + 1) % LATER_MAX;
		u->nlater--;
		u->io.recv(u->io.arg, &later.from, later.mad, WIRE_MAD_SIZE);
		sa_share_spend(&u->share, worked_us() - start);
	}
	if (status && status != -EAGAIN)
		return status;
	if (round.held_back && !u->poll && u->resume && !loop_timer_armed(u->resume)) {
		loop_timer_set(u->resume, HELD_BACK_US);
		watch_requests(u);
	}
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
 * A client that has just sent a request will send another: that is waited for here a while, not in
 * the loop's longer sleep. While many answers are awaited, a nap lets a batch of them gather: being
 * woken for each costs more processor time, here and in libumad2sim's receiver, than the MADs
 * themselves.
 */
static bool poll_cb(void *arg)
{
	const struct timespec nap = { .tv_nsec = NAP_US * 1000 };
	struct umad_io *u = arg;
	int taken = drain(u);

	if (taken < 0)
		u->io.lost(u->io.arg, -taken);
	if (taken > 0)
		u->lively = LIVELY_WAITS;
	else if (loop_idle_us(u->loop) < UMAD_BLOCK_MS * 1000)
		; /* the loop has work of its own */
	else if (u->expected >= NAP_FROM)
		nanosleep(&nap, NULL);
	else if (u->expected)
		umad_poll(u->handles[HANDLE_SMI].port, UMAD_BLOCK_MS);
	else if (u->lively && umad_poll(u->handles[HANDLE_SMI].port, UMAD_BLOCK_MS))
		u->lively--;
	return u->expected || u->lively || u->nlater;
}

void umad_io_expect(struct io *io, unsigned outstanding)
{
	((struct umad_io *)io)->expected = outstanding;
}

/* ---- From when, and how long ----------------------------------------------------------------- */

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
	u->resume = loop_timer_new(u->loop, watch_requests, u);
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

void umad_receive_stop(struct umad_io *u)
{
	const struct handle *smi = &u->handles[HANDLE_SMI];

	/* Reads outstanding answers before the port is closed: io_umad.c says why. */
	while (u->poll && u->unanswered && umad_poll(smi->port, CLOSE_MS) == 0)
		if (receive(u, smi) < 0)
			break;
	loop_poll_free(u->poll);
	u->poll = NULL;
	loop_timer_free(u->resume);
	u->resume = NULL;
	for (unsigned i = 0; i < HANDLES; i++) {
		loop_fd_free(u->handles[i].watch);
		u->handles[i].watch = NULL;
	}
}
