/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MADs by libibumad: the kernel's umad character device, or ibsim's imitation of it.
 *
 * One agent for each class: SMI (LID-routed and directed), SA, PerfMgt and NVIDIA's, which only
 * ask; and one more for the SA's methods with long answers. The subnet management classes have a
 * descriptor of their own, which is read first: the kernel queues hundreds of thousands of MADs on
 * one, and an answer to an SMP behind the SA requests of a starting job would come too late. The
 * kernel finds the agent of an answer by the upper 32 bits of its TID, which it sets itself, and
 * hands on only answers to sends that have a time-out; with that it holds the request, and refuses
 * a second one of the same TID until it has given the first back. So requests go with a kernel
 * time-out a little shorter than the transaction's own, without kernel retries: a retry under the
 * same TID then finds the place free. Requests given back (umad status set) are reported as failed.
 *
 * RMPP is the kernel's: a long answer is written as one buffer, a long request read as one. Its
 * segments are sent again when an acknowledgement is late, by 2 s or by the send's own time-out if
 * that is shorter, as often as the send says; with none allowed one lost packet would be the end of
 * the answer. In its write() the kernel makes all segments, and holds the descriptor's lock:
 * a thread that writes to or reads from the same one waits, as does the kernel where a MAD arrives
 * for one of its agents (user_mad.c: ib_umad_write, ib_umad_read, queue_packet). So long answers
 * have a descriptor that nobody waits for, and a thread that writes them (umad_own.h). It can't
 * be any: an acknowledgement is no answer, but a MAD of the request's method, so it comes to the
 * agent that has registered that method, and only there the answer is looked for (mad.c:
 * find_mad_agent, ib_find_send_mad). The kernel lets two agents share a class as long as their
 * methods differ; so GetTable, GetTraceTable and GetMulti are registered on that descriptor, all
 * others of the SA on the common one, and an answer with the RMPP flag goes out where its request
 * came from: by the loop, or behind the long ones while these are being written. Meanwhile requests
 * for tables stay unread; SMPs, Get, Set, joins and Reports go on. (A request for a table that
 * arrives just then holds the kernel's receiving until the write() ends: its method can't be
 * another agent's.)
 *
 * ibsim's descriptor is not one: neither epoll nor fcntl knows it. There the port is drained by a
 * polled source, which wants the next round while answers are awaited, and blocks in umad's own
 * poll, for a moment, when none is there: spinning would take the processor from the simulator. An
 * answer that arrives while the port is closed hangs the thread that receives for libumad2sim, and
 * the process with it: so what was asked is waited for first.
 *
 * A device may be absent, and go away: an adapter that is reset, a driver that is loaded again.
 * Kernels since 5.12 then answer EIO, and epoll says so (EPOLLERR); older ones refuse what is sent
 * (EINVAL) and report nothing else. fm/sm/module.c asks the own port regularly, and so finds both.
 * The descriptor never comes back to life: it is closed, and the port chosen and opened again.
 *
 * A simulator has one descriptor alone: SA requests that were read are kept back until nothing else
 * is left to be read.
 *
 * The descriptors of the SA's agents are with the service manager as well, or with fmd's helper.
 * While fmd is away, ended or crashed (the helper: crashed), the kernel keeps requests to the SA
 * for the next process, which takes them over with their agents; without them it would refuse each
 * with status 0x000c, which is final for Linux.
 * SMPs are not kept: a standby is to see that its master has gone.
 *
 * umad keeps addresses in network order.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include <arpa/inet.h>
#include <sys/prctl.h>
#include "fm/loop/log.h"
#include "fm/mad/umad_own.h"
#include "fm/mad/wire_registers.h"
#include "fm/os/service_status.h"
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
	share->left += passed < slice_us ? passed : slice_us;
	if (share->left > (int64_t)slice_us)
		share->left = slice_us;
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

/* errno says that there is no such device any more */
static bool umad_is_gone(int error)
{
	return error == EIO || error == ENODEV || error == ENXIO;
}

/* the port: it has descriptors */
static bool umad_is_open(const struct umad_io *u)
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

#define METHOD_GET_TRACE_TABLE 0x13
#define OF_SMPS                                                                                    \
	{                                                                                          \
		WIRE_GET, WIRE_SET, WIRE_TRAP, WIRE_TRAP_REPRESS                                   \
	}
static const struct agent {
	uint8_t handle, mgmt_class, version, rmpp;
	uint8_t methods[6]; /* of requests that come to it; ends with 0 */
} agents[AGENTS] = {
	[AGENT_SMI_LID] = { HANDLE_SMI, WIRE_SMI_LID, 1, 0, OF_SMPS },
	[AGENT_SMI_DR] = { HANDLE_SMI, WIRE_SMI_DR, 1, 0, OF_SMPS },
	[AGENT_SA] = { HANDLE_GS,
		       WIRE_SA,
		       2,
		       1,
		       { WIRE_GET, WIRE_SET, WIRE_REPORT, WIRE_TRAP, WIRE_DELETE } },
	[AGENT_PERF] = { HANDLE_SMI, WIRE_PERF, 1, 0, { 0 } },
	[AGENT_VENDOR] = { HANDLE_SMI, WIRE_VENDOR, 1, 0, { 0 } },
	[AGENT_TABLES] = { HANDLE_TABLES,
			   WIRE_SA,
			   2,
			   1,
			   { WIRE_GET_TABLE, METHOD_GET_TRACE_TABLE, WIRE_GET_MULTI } },
};

/* -1: no such class. */
static int agent_of(uint8_t mgmt_class)
{
	for (int i = 0; i < AGENTS; i++)
		if (agents[i].mgmt_class == mgmt_class)
			return i;
	return -1;
}

static void address_set(void *umad, const struct io_addr *to)
{
	ib_mad_addr_t *addr = umad_get_mad_addr(umad);
	uint32_t qkey = to->qp && !to->qkey ? QP1_QKEY : to->qkey;

	memset(addr, 0, umad_size() - offsetof(ib_user_mad_t, addr));
	umad_set_addr(umad, to->lid, to->qp, to->sl, qkey);
	umad_set_pkey(umad, to->pkey_index);
	addr->path_bits = to->path_bits;
	if (!to->grh)
		return;
	addr->grh_present = 1;
	addr->hop_limit = to->hop_limit;
	memcpy(addr->gid, to->gid, sizeof(addr->gid));
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

/* Writes it here, in the loop. */
static int send_now(struct umad_io *u, int agent, const uint8_t *mad, size_t len, int kernel_ms,
		    int retries)
{
	int error;

	umad_buffer_fit(&u->tx, &u->tx_size, len);
	memcpy(umad_get_mad(u->tx), mad, len);
	if (!umad_send(u->handles[agents[agent].handle].port, u->agents[agent], u->tx, len,
		       kernel_ms, retries))
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

	return umad_writer_give(
		u->writer, &(struct umad_answer){
				   .port = u->handles[agents[agent].handle].port,
				   .agent = u->agents[agent],
				   .timeout_ms = ms,
				   .retries = ms ? (UMAD_WRITER_LIFE_US / 1000 / (unsigned)ms) - 1
						 : RMPP_RETRIES,
				   .lid = to->lid,
				   .address = u->tx,
				   .head = head,
				   .head_len = head_len,
				   .len = len,
				   .body = body,
			   });
}

/* Operations of io: 0 or -errno, as io_ops says. */
static int umad_io_send(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
			unsigned timeout_ms)
{
	struct umad_io *u = (struct umad_io *)io;
	int agent = agent_of(mad[1]), status, ms; /* byte 1: MgmtClass */
	bool rmpp = mad[1] == WIRE_SA && mad[RMPP_FLAGS_AT] & RMPP_ACTIVE;

	if (!umad_is_open(u))
		return -ENODEV;
	if (agent < 0)
		return -EPROTONOSUPPORT;
	address_set(u->tx, to);
	if (rmpp && u->writer && umad_writer_left(u->writer)) {
		/* To the thread: nothing else may use its descriptor until it is done. */
		struct io_body *body = io_body_new(memcpy(mem_alloc_unset(len, 1), mad, len));

		status = give(u, to, mad, 0, body, len);
		io_body_unref(body);
		return status;
	}
	if (rmpp) {
		if (u->writer && !umad_writer_count(u->writer, to->lid, len))
			return -EAGAIN;
		ms = ack_ms(u, len);
		return send_now(u, answering_agent(u), mad, len, ms,
				ms ? (UMAD_WRITER_LIFE_US / 1000 / (unsigned)ms) - 1
				   : RMPP_RETRIES);
	}
	status = send_now(u, agent, mad, len, timeout_ms - timeout_ms / 8, 0);
	u->unanswered += !status && timeout_ms > 0;
	return status;
}

static int umad_io_send_long(struct io *io, const struct io_addr *to, const uint8_t *head,
			     size_t head_len, struct io_body *body, size_t len)
{
	struct umad_io *u = (struct umad_io *)io;

	if (!umad_is_open(u))
		return -ENODEV;
	address_set(u->tx, to);

	int status = u->writer && head[1] == WIRE_SA && head[RMPP_FLAGS_AT] & RMPP_ACTIVE
			     ? give(u, to, head, head_len, body, len)
			     : -ENOTSUP;

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
	int len = u->rx_size;
	int status = umad_recv(h->port, u->rx, &len, 0);
	const uint8_t *mad = umad_get_mad(u->rx);

	if (status == -ENOSPC && len > (int)u->rx_size) {
		umad_buffer_fit(&u->rx, &u->rx_size, len); /* an RMPP message */
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
	struct wire_mad m;

	if (umad_status(u->rx)) {
		if (!wire_mad_decode_header(mad, len, &m) &&
		    (m.mgmt_class != WIRE_SA || !(m.method & WIRE_RESPONSE)))
			u->io.failed(u->io.arg, m.tid);
		return;
	}

	struct io_addr from = {
		.lid = ntohs(addr->lid),
		.qp = ntohl(addr->qpn),
		.qkey = addr->qpn ? QP1_QKEY : 0,
		.pkey_index = umad_get_pkey(u->rx),
		.sl = addr->sl,
		.path_bits = addr->path_bits,
		.grh = addr->grh_present,
		.hop_limit = addr->hop_limit,
	};

	memcpy(from.gid, addr->gid, sizeof(from.gid));
	if (!u->poll || len != WIRE_MAD_SIZE || mad[1] != WIRE_SA || mad[3] & WIRE_RESPONSE) {
		u->io.recv(u->io.arg, &from, mad, len);
	} else if (u->nlater < LATER_MAX) {
		struct later *later = &u->later[(u->later_first + u->nlater++) % LATER_MAX];

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
	hand_on(u, len);
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
	bool busy; /* only then it counts what they took, and asking for that is a system call */
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

	if ((status && status != -EAGAIN) || is_over(u, round) || u->poll)
		return status;
	round->held_back = !sa_may(u);
	if (round->held_back)
		return -EAGAIN;

	uint64_t start = round->busy ? worked_us() : 0;

	status = take(u, &u->handles[HANDLE_GS], round, SMPS_EVERY);
	if ((!status || status == -EAGAIN) && !is_over(u, round) &&
	    !(u->writer && umad_writer_left(u->writer))) {
		tables = take(u, &u->handles[HANDLE_TABLES], round, SMPS_EVERY);
		status = tables == -EAGAIN ? status : tables;
	}
	sa_share_spend(&u->share, round->busy ? worked_us() - start : 0);
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
		loop_fd_set(u->handles[HANDLE_TABLES].watch,
			    open && !(u->writer && umad_writer_left(u->writer)) ? LOOP_READ : 0);
}

/*
 * Reads and serves MADs for a slice of time. Returns their number; -errno when the port is lost.
 */
static int drain(struct umad_io *u)
{
	struct round round = { .until_us = loop_clock_us(u->loop) + loop_pace(u->loop).slice_us,
			       .busy = loop_is_busy(u->loop) };
	int status = 0;

	while (!status && !is_over(u, &round))
		status = take_some(u, &round);

	/* Then requests that were kept back, for a slice of time. */
	uint64_t until = loop_clock_us(u->loop) + loop_pace(u->loop).slice_us;
	uint64_t start = round.busy ? worked_us() : 0;

	while (u->nlater && umad_is_open(u) && loop_clock_us(u->loop) < until && sa_may(u)) {
		struct later later = u->later[u->later_first];

		u->later_first = (u->later_first + 1) % LATER_MAX;
		u->nlater--;
		u->io.recv(u->io.arg, &later.from, later.mad, WIRE_MAD_SIZE);

		uint64_t now = round.busy ? worked_us() : 0;

		sa_share_spend(&u->share, now - start);
		start = now;
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
 * themselves. umad waits by milliseconds, so a nap it is too where a timer is due before one.
 */
static bool poll_cb(void *arg)
{
	struct umad_io *u = arg;
	int taken = drain(u);
	uint64_t idle = loop_idle_us(u->loop);
	const struct timespec nap = { .tv_nsec = (idle < NAP_US ? idle : NAP_US) * 1000 };

	if (taken < 0)
		u->io.lost(u->io.arg, -taken);
	if (taken > 0)
		u->lively = LIVELY_WAITS;
	else if (!idle)
		; /* the loop has work of its own */
	else if (u->expected >= NAP_FROM || idle < UMAD_BLOCK_MS * 1000)
		nanosleep(&nap, NULL);
	else if (u->expected)
		umad_poll(u->handles[HANDLE_SMI].port, UMAD_BLOCK_MS);
	else if (u->lively && umad_poll(u->handles[HANDLE_SMI].port, UMAD_BLOCK_MS))
		u->lively--;
	return u->expected || u->lively || u->nlater;
}

static void umad_io_expect(struct io *io, unsigned outstanding)
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

/*
 * The descriptors of a port that was opened are read from now on; of one that is to be closed no
 * more.
 */
static void umad_receive_start(struct umad_io *u)
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
		u->later = mem_array(u->later, LATER_MAX);
	prctl(PR_SET_TIMERSLACK, 1); /* naps as short as asked for */
}

/* ---- The port, its agents and its descriptors ------------------------------------------------ */

#define NOT_OURS    " (root may, and whom a udev rule gives it to)"
#define LONG_BITS   (8 * sizeof(long))
#define METHOD_BITS 128

/* ---- IsSM ------------------------------------------------------------------------------------ */

/* The bit is set as long as the issm device is held open. */
static int umad_io_set_is_sm(struct io *io, bool on)
{
	struct umad_io *u = (struct umad_io *)io;
	char path[256];

	if (on == (u->issm >= 0))
		return 0;
	if (!on) {
		close(u->issm);
		u->issm = -1;
		return 0;
	}
	if (!umad_is_open(u) ||
	    umad_get_issm_path(io->info.device, io->info.port, path, sizeof(path)) < 0)
		return -ENODEV;
	u->issm = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (u->issm >= 0)
		return 0;
	return errno == EAGAIN ? -EBUSY : -errno; /* one process at a time may hold it */
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void methods_add(long mask[METHOD_BITS / LONG_BITS], const uint8_t *methods)
{
	for (; *methods; methods++)
		mask[*methods / LONG_BITS] |= 1L << (*methods % LONG_BITS);
}

/* On a simulator the methods with long answers are those of the SA's one agent, too. */
static int agents_register(struct umad_io *u)
{
	int status = 0;

	for (int i = 0; i < AGENTS; i++) {
		const struct agent *a = &agents[i];
		long mask[METHOD_BITS / LONG_BITS] = { 0 };

		if (i == AGENT_TABLES && !u->io.info.real_fd)
			continue;
		if (u->handles[a->handle].kept) {
			u->agents[i] = 0; /* the first of its descriptor, and the only one */
			continue;
		}
		methods_add(mask, a->methods);
		if (i == AGENT_SA && !u->io.info.real_fd)
			methods_add(mask, agents[AGENT_TABLES].methods);
		u->agents[i] = umad_register(u->handles[a->handle].port, a->mgmt_class, a->version,
					     a->rmpp, a->methods[0] ? mask : NULL);
		if (u->agents[i] < 0)
			status = -1;
	}
	return status;
}

/*
 * ending: the service manager keeps the SA's descriptors, and the kernel its agents, for the next
 * process. An agent ends with the last copy of its descriptor.
 */
static void port_close(struct umad_io *u, bool ending)
{
	int first = u->handles[HANDLE_SMI].port; /* on a simulator that of all */

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

	umad_writer_free(u->writer);
	u->writer = NULL;
	umad_io_set_is_sm(&u->io, false);
	for (int i = 0; i < AGENTS; i++)
		u->agents[i] = -1;
	for (unsigned i = 0; i < HANDLES; i++) {
		struct handle *h = &u->handles[i];

		if (*h->name && !ending)
			service_drop(loop_helper(u->loop), h->name);
		if (h->port >= 0 && (!i || h->port != first))
			umad_close_port(h->port);
		*h->name = '\0';
		h->port = -1;
	}
	u->expected = u->lively = u->unanswered = u->nlater = 0;
}

static void umad_io_close(struct io *io)
{
	port_close((struct umad_io *)io, false);
}

static void umad_io_free(struct io *io)
{
	struct umad_io *u = (struct umad_io *)io;

	port_close(u, true);
	free(u->tx);
	free(u->rx);
	free(u->later);
	free(u);
}

static int handle_open(struct umad_io *u, struct handle *h, char *err, size_t err_size)
{
	const struct io_port_info *info = &u->io.info;

	errno = 0;
	h->port = umad_open_port(info->device, info->port);
	if (h->port >= 0)
		return 0;

	int error = errno ? errno : -h->port;

	h->port = -1;
	snprintf(err, err_size, "%s port %u: cannot open: %s%s", info->device, info->port,
		 strerror(error), error == EACCES || error == EPERM ? NOT_OURS : "");
	return umad_is_gone(error) || error == ENOENT ? -ENODEV : -error;
}

/*
 * A simulator's descriptor is none that the kernel knows, and there is one. The kernel hands
 * requests of a class to one agent a port; it says EINVAL, or EPERM by libibumad, to a second.
 */
static int umad_io_open(struct io *io, char *err, size_t err_size)
{
	struct umad_io *u = (struct umad_io *)io;
	struct handle *smi = &u->handles[HANDLE_SMI];
	const struct umad_wish other = { .guid = io->wanted };
	bool real = false;
	int status = umad_port_choose(io->wanted ? &other : &u->wish, &io->info, err, err_size);

	if (!status)
		status = handle_open(u, smi, err, err_size);
	if (!status)
		real = io->info.real_fd = fcntl(umad_get_fd(smi->port), F_GETFD) >= 0;
	for (unsigned i = HANDLE_SMI + 1; !status && i < HANDLES; i++) {
		struct handle *h = &u->handles[i];

		if (real)
			array_printf(h->name, "%s-%u-%u", io->info.device, io->info.port, i);
		h->port = real ? service_kept(loop_helper(u->loop), h->name) : smi->port;
		h->kept = real && h->port >= 0;
		if (h->port < 0)
			status = handle_open(u, h, err, err_size);
		if (!status && real && !h->kept)
			service_keep(loop_helper(u->loop), h->name, umad_get_fd(h->port));
	}
	service_drop_rest(loop_helper(u->loop));
	errno = 0;
	if (!status && agents_register(u)) {
		snprintf(
			err, err_size,
			"%s port %u: cannot register for SMPs: %s (does another subnet manager run "
			"here?)",
			io->info.device, io->info.port, strerror(errno));
		status = umad_is_gone(errno) ? -ENODEV : -EBUSY;
	}
	if (status) {
		umad_io_close(io);
		return status;
	}

	/*
	 * Makes tx and rx, each for one MAD. Call it when a port was opened: only then umad_size()
	 * is that of the kernel's header format.
	 */
	u->tx_size = u->rx_size = 0;
	umad_buffer_fit(&u->tx, &u->tx_size, WIRE_MAD_SIZE);
	umad_buffer_fit(&u->rx, &u->rx_size, WIRE_MAD_SIZE);

	if (real)
		u->writer = umad_writer_new(u->loop, umad_written, u);
	if (real && !u->writer)
		log_line(LOG_MAD, LOG_WARNING,
			 "long SA answers are written by the event loop: no descriptor for their "
			 "thread: %s",
			 strerror(errno));
	umad_receive_start(u);
	log_line(LOG_MAD, LOG_NOTICE,
		 "%s port %u: opened: port GUID 0x%016" PRIx64 ", LID %u, link %s", io->info.device,
		 io->info.port, io->info.port_guid, io->info.lid, io->info.link ? "up" : "down");
	return 0;
}

static bool umad_io_choose(struct io *io, bool had_link)
{
	struct umad_io *u = (struct umad_io *)io;
	struct io_port_info info;
	char err[256];

	if (had_link)
		u->wish.guid = io->info.port_guid;
	if (u->wish.guid || u->wish.guids[0] || umad_port_choose(&u->wish, &info, err, sizeof(err)))
		return false;
	return info.link && info.port_guid != io->info.port_guid;
}

static unsigned umad_io_ports(struct io *io, guid_t guids[IO_PORTS])
{
	return umad_ports(&((const struct umad_io *)io)->wish, guids);
}

static const struct io_ops umad_io_ops = {
	.open = umad_io_open,
	.close = umad_io_close,
	.choose = umad_io_choose,
	.ports = umad_io_ports,
	.send = umad_io_send,
	.send_long = umad_io_send_long,
	.set_is_sm = umad_io_set_is_sm,
	.free = umad_io_free,
	.expect = umad_io_expect,
};

struct io *io_umad_new(struct loop *loop, const char *guids, const char *devices, unsigned port)
{
	struct umad_io *u = mem_new(u);

	u->io.ops = &umad_io_ops;
	u->wish.port = port;
	u->wish.vpds = &u->vpds;
	if (strtoull(guids, NULL, 16))
		array_printf(u->wish.guids, "%s", guids);
	array_printf(u->wish.devices, "%s", devices);
	u->loop = loop;
	u->issm = -1;
	for (unsigned i = 0; i < HANDLES; i++)
		u->handles[i] = (struct handle){ .u = u, .port = -1 };
	for (int i = 0; i < AGENTS; i++)
		u->agents[i] = -1;
	return &u->io;
}
