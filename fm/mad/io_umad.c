/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MADs by libibumad: the kernel's umad character device, or ibsim's imitation of it.
 *
 * One agent for each class: SMI (LID-routed and directed), SA, and PerfMgt, which only asks. The subnet management classes have a
 * descriptor of their own, which is read first: the kernel queues hundreds of thousands of MADs on one, and an answer to an SMP behind
 * the SA requests of a starting job would come too late. The kernel finds the agent of an answer by the upper 32 bits of its TID, which it sets itself, and hands on only
 * answers to sends that it was told a time-out of; with that it holds the request, and refuses a
 * second one of the same TID until it has given the first back. So requests go with a kernel
 * time-out a little shorter than the transaction's own, without kernel retries: a retry under the
 * same TID then finds the place free. Requests given back (umad status set) are reported as failed.
 *
 * ibsim's descriptor is not one: neither epoll nor fcntl knows it. There the port is drained by a
 * polled source, which wants the next round while answers are awaited, and blocks in umad's own
 * poll, for a moment, when none is there: spinning would take the processor from the simulator.
 * An answer that arrives while the port is closed hangs the thread that receives for libumad2sim,
 * and the process with it: so what was asked is waited for first.
 *
 * A device may be absent, and go away: an adapter that is reset, a driver that is loaded again. Kernels since 5.12 then answer EIO, and
 * epoll says so (EPOLLERR); older ones refuse what is sent (EINVAL) and are silent else. Whoever asks the own port now and then
 * learns of both. The descriptor never comes back to life: it is closed, and the port chosen and opened anew.
 *
 * There is one descriptor alone: SA requests that were read are kept back until nothing else is left to be read.
 *
 * RMPP is the kernel's: a long answer is written as one buffer, a long request read as one. Its segments are sent again when an
 * acknowledgement is late, as often as the send says; with none allowed one lost packet would be the end of the answer. umad
 * keeps addresses in network order.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include "fm/core/log.h"
#include "fm/mad/io.h"
#include "fm/mad/umad_port.h"
#include "fm/mad/wire.h"
#include "topology/mem.h"

#define QP1_QKEY	       0x80010000u /* IBA 3.5.3 */
#define BLOCK_MS	       1	   /* the other events wait no longer than that */
#define NAP_FROM	       32	   /* answers awaited */
#define NAP_US		       200
#define LIVELY_WAITS	       2
#define CLOSE_MS	       200 /* after so long without any, none comes any more */
#define DRAIN_MAX	       256 /* MADs taken in one round */
#define SMPS_EVERY	       16  /* SA requests, SMPs are looked for */
#define LATER_MAX	       4096 /* SA requests kept back; more are dropped, and repeated by who asks */
#define RMPP_RETRIES	       3  /* of a segment that nobody acknowledges */
#define RMPP_FLAGS_AT	       26 /* in an SA MAD (IBA 13.6.2.1).. */
#define RMPP_ACTIVE	       1
#define RX_KEEP		       65536 /* bytes of the buffer, when no longer message is there */
#define LONG_BITS	       (8 * sizeof(long))
#define METHOD_BITS	       128
#define METHOD_GET_TRACE_TABLE 0x13

enum { AGENT_SMI_LID, AGENT_SMI_DR, AGENT_SA, AGENT_PERF, AGENTS };

/* Read in this order. */
enum { HANDLE_SMI, HANDLE_GS, HANDLES };

struct handle {
	struct umad_io *u;
	int port; /* libibumad's, -1 = closed; on a simulator the second is the first */
	struct loop_fd *watch;
};

struct later { /* an SA request that was read, and not handed on yet */
	struct io_addr from;
	uint8_t mad[WIRE_MAD_SIZE];
};

struct umad_io {
	struct io io; /* first */
	struct umad_wish wish;
	struct loop *loop;
	struct handle handles[HANDLES];
	struct loop_poll *poll;
	struct later *later; /* a ring; NULL until a simulator was opened */
	unsigned later_first, nlater;
	int agents[AGENTS];
	int issm; /* held open while IsSM is set, else -1 */
	unsigned expected;
	unsigned lively;     /* ibsim: waits in vain until the loop may sleep */
	unsigned unanswered; /* requests sent, ours or not any more */
	void *tx, *rx;
	size_t tx_size, rx_size; /* of the MAD in them */
};

/* ---- Sending ---------------------------------------------------------------------------------- */

static struct handle *handle_of_agent(struct umad_io *u, int agent)
{
	return &u->handles[agent <= AGENT_SMI_DR ? HANDLE_SMI : HANDLE_GS];
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

static void buffer_fit(void **buf, size_t *size, size_t len)
{
	if (len <= *size)
		return;
	*buf = mem_resize(*buf, 1, umad_size() + len);
	*size = len;
}

/* umad_size() is that of the kernel's way with headers, which is known once a port was opened. */
static void buffers_open(struct umad_io *u)
{
	u->tx_size = u->rx_size = 0;
	buffer_fit(&u->tx, &u->tx_size, WIRE_MAD_SIZE);
	buffer_fit(&u->rx, &u->rx_size, WIRE_MAD_SIZE);
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

static bool is_gone(int error)
{
	return error == EIO || error == ENODEV || error == ENXIO;
}

/* -EAGAIN: the queues below are full for the moment. */
static int send_error(int error)
{
	switch (error) {
	case EAGAIN:
	case EINTR:
	case ENOBUFS:
	case ENOMEM:
		return -EAGAIN;
	default:
		return error ? -error : -EIO;
	}
}

static bool is_open(const struct umad_io *u)
{
	return u->handles[HANDLE_SMI].port >= 0;
}

static bool is_rmpp(const uint8_t *mad)
{
	return mad[1] == WIRE_SA && mad[RMPP_FLAGS_AT] & RMPP_ACTIVE;
}

static int umad_io_send(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
			unsigned timeout_ms)
{
	struct umad_io *u = (struct umad_io *)io;
	int agent = agent_of(mad[1]); /* byte 1: MgmtClass */
	int retries = is_rmpp(mad) ? RMPP_RETRIES : 0;
	unsigned kernel_ms = timeout_ms - timeout_ms / 8;

	if (!is_open(u))
		return -ENODEV;
	if (agent < 0)
		return -EPROTONOSUPPORT;
	buffer_fit(&u->tx, &u->tx_size, len);
	address_set(u->tx, to);
	memcpy(umad_get_mad(u->tx), mad, len);
	if (umad_send(handle_of_agent(u, agent)->port, u->agents[agent], u->tx, (int)len,
		      (int)kernel_ms, retries)) {
		int error = errno;

		if (is_gone(error))
			u->io.lost(u->io.arg, error);
		return send_error(error);
	}
	u->unanswered += timeout_ms > 0;
	return 0;
}

/* ---- Receiving -------------------------------------------------------------------------------- */

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
 * What came back unsent or unanswered: its own bytes under a status, the kernel's no more than the common header. Only requests are
 * missed, and of the SA's class answers are sent as well. ibsim gives an answer back that was lost on its way, at once, as an answer.
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
		buffer_fit(&u->rx, &u->rx_size, (size_t)len); /* an RMPP message */
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

/* Ends what is done in one round. */
struct round {
	uint64_t until_us;
	int taken;
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

/* SMPs, then as many others as come before SMPs are looked for again. */
static int take_some(struct umad_io *u, struct round *round)
{
	const struct handle *smi = &u->handles[HANDLE_SMI], *gs = &u->handles[HANDLE_GS];
	int status = take(u, smi, round, DRAIN_MAX);

	if ((status && status != -EAGAIN) || is_over(u, round) || gs->port == smi->port)
		return status;
	return take(u, gs, round, SMPS_EVERY);
}

/* What was kept back, for a slice of time. */
static void hand_on_later(struct umad_io *u)
{
	uint64_t until = loop_clock_us(u->loop) + loop_pace(u->loop).slice_us;

	while (u->nlater && is_open(u) && loop_clock_us(u->loop) < until) {
		struct later later = u->later[u->later_first];

		u->later_first = (u->later_first + 1) % LATER_MAX;
		u->nlater--;
		u->io.recv(u->io.arg, &later.from, later.mad, WIRE_MAD_SIZE);
	}
}

/* How many were taken, in no more than a slice of time, whatever they bring about; -errno when the port is lost. */
static int drain(struct umad_io *u)
{
	struct round round = { .until_us = loop_clock_us(u->loop) + loop_pace(u->loop).slice_us };
	int status = 0;

	while (!status && !is_over(u, &round))
		status = take_some(u, &round);
	hand_on_later(u);
	return status && status != -EAGAIN ? status : round.taken;
}

static void readable_cb(void *arg, unsigned events)
{
	const struct handle *h = arg;
	struct umad_io *u = h->u;
	int status = drain(u);

	if (status >= 0)
		return;
	for (unsigned i = 0; i < HANDLES; i++)
		if (u->handles[i].watch)
			loop_fd_set(u->handles[i].watch, 0);
	u->io.lost(u->io.arg, -status);
}

/*
 * While many answers are awaited, a nap lets a batch of them gather: being woken for each costs more processor time, here and in
 * libumad2sim's receiver, than the MADs themselves.
 */
static void wait_for_answers(const struct umad_io *u)
{
	const struct timespec nap = { .tv_nsec = NAP_US * 1000 };

	if (u->expected < NAP_FROM)
		umad_poll(u->handles[HANDLE_SMI].port, BLOCK_MS);
	else
		nanosleep(&nap, NULL);
}

/* Who asked just now will ask again: the next request is waited for here a while, not in the loop's longer sleep. */
static bool poll_cb(void *arg)
{
	struct umad_io *u = arg;
	int taken = drain(u);

	if (taken < 0)
		u->io.lost(u->io.arg, -taken);
	if (taken > 0)
		u->lively = LIVELY_WAITS;
	else if (loop_idle_us(u->loop) < BLOCK_MS * 1000)
		; /* the loop has work of its own */
	else if (u->expected)
		wait_for_answers(u);
	else if (u->lively && umad_poll(u->handles[HANDLE_SMI].port, BLOCK_MS))
		u->lively--;
	return u->expected || u->lively || u->nlater;
}

static void umad_io_expect(struct io *io, unsigned outstanding)
{
	((struct umad_io *)io)->expected = outstanding;
}

/* ---- IsSM ------------------------------------------------------------------------------------- */

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
	if (!is_open(u) ||
	    umad_get_issm_path(io->info.device, (int)io->info.port, path, sizeof(path)) < 0)
		return -ENODEV;
	u->issm = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (u->issm >= 0)
		return 0;
	return errno == EAGAIN ? -EBUSY : -errno; /* one process at a time may hold it */
}

/* ---- Opening ---------------------------------------------------------------------------------- */

static void method_add(long mask[METHOD_BITS / LONG_BITS], unsigned method)
{
	mask[method / LONG_BITS] |= 1L << (method % LONG_BITS);
}

static int register_smi(struct umad_io *u, uint8_t mgmt_class)
{
	long mask[METHOD_BITS / LONG_BITS] = { 0 };

	method_add(mask, WIRE_GET);
	method_add(mask, WIRE_SET);
	method_add(mask, WIRE_TRAP);
	method_add(mask, WIRE_TRAP_REPRESS);
	return umad_register(u->handles[HANDLE_SMI].port, mgmt_class, 1, 0, mask);
}

static int register_sa(struct umad_io *u)
{
	long mask[METHOD_BITS / LONG_BITS] = { 0 };

	method_add(mask, WIRE_GET);
	method_add(mask, WIRE_SET);
	method_add(mask, WIRE_REPORT);
	method_add(mask, WIRE_TRAP);
	method_add(mask, WIRE_GET_TABLE);
	method_add(mask, METHOD_GET_TRACE_TABLE);
	method_add(mask, WIRE_GET_MULTI);
	method_add(mask, WIRE_DELETE);
	return umad_register(u->handles[HANDLE_GS].port, WIRE_SA, 2, 1, mask);
}

static void agents_forget(struct umad_io *u)
{
	for (int i = 0; i < AGENTS; i++)
		u->agents[i] = -1;
}

static int agents_register(struct umad_io *u)
{
	u->agents[AGENT_SMI_LID] = register_smi(u, WIRE_SMI_LID);
	u->agents[AGENT_SMI_DR] = register_smi(u, WIRE_SMI_DR);
	u->agents[AGENT_SA] = register_sa(u);
	u->agents[AGENT_PERF] = umad_register(u->handles[HANDLE_GS].port, WIRE_PERF, 1, 0, NULL);
	for (int i = 0; i < AGENTS; i++)
		if (u->agents[i] < 0)
			return -1;
	return 0;
}

/* Answers nobody wants any more: see above. */
static void receive_rest(struct umad_io *u)
{
	const struct handle *h = &u->handles[HANDLE_SMI];

	while (u->unanswered && umad_poll(h->port, CLOSE_MS) == 0)
		if (receive(u, h) < 0)
			return;
}

static void handles_close(struct umad_io *u)
{
	struct handle *smi = &u->handles[HANDLE_SMI], *gs = &u->handles[HANDLE_GS];

	loop_fd_free(smi->watch);
	loop_fd_free(gs->watch);
	smi->watch = gs->watch = NULL;
	if (gs->port >= 0 && gs->port != smi->port)
		umad_close_port(gs->port);
	if (smi->port >= 0)
		umad_close_port(smi->port);
	smi->port = gs->port = -1;
}

static void umad_io_close(struct io *io)
{
	struct umad_io *u = (struct umad_io *)io;

	if (u->poll)
		receive_rest(u);
	loop_poll_free(u->poll);
	u->poll = NULL;
	umad_io_set_is_sm(io, false);
	for (int i = 0; i < AGENTS; i++)
		if (u->agents[i] >= 0)
			umad_unregister(handle_of_agent(u, i)->port, u->agents[i]);
	agents_forget(u);
	handles_close(u);
	u->expected = u->lively = u->unanswered = u->nlater = 0;
}

static void umad_io_free(struct io *io)
{
	struct umad_io *u = (struct umad_io *)io;

	umad_io_close(io);
	free(u->tx);
	free(u->rx);
	free(u->later);
	free(u);
}

static void watch_start(struct umad_io *u)
{
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

static int handle_open(struct umad_io *u, struct handle *h, char *err, size_t err_size)
{
	const struct io_port_info *info = &u->io.info;
	int error;

	errno = 0;
	h->port = umad_open_port(info->device, (int)info->port);
	if (h->port >= 0)
		return 0;
	error = errno ? errno : -h->port;
	h->port = -1;
	snprintf(err, err_size, "%s port %u: cannot open: %s%s", info->device, info->port,
		 strerror(error), error == EACCES || error == EPERM ? " (run as root)" : "");
	return is_gone(error) || error == ENOENT ? -ENODEV : -error;
}

/* A simulator's descriptor is none that the kernel knows, and there is one. */
static int port_open(struct umad_io *u, char *err, size_t err_size)
{
	struct handle *smi = &u->handles[HANDLE_SMI], *gs = &u->handles[HANDLE_GS];
	int status = handle_open(u, smi, err, err_size);

	if (status)
		return status;
	u->io.info.real_fd = fcntl(umad_get_fd(smi->port), F_GETFD) >= 0;
	if (u->io.info.real_fd)
		return handle_open(u, gs, err, err_size);
	gs->port = smi->port;
	return 0;
}

/* The kernel hands requests of a class to one agent a port; it says EINVAL, or EPERM by libibumad, to a second. */
static int port_register(struct umad_io *u, char *err, size_t err_size)
{
	errno = 0;
	if (!agents_register(u))
		return 0;
	snprintf(err, err_size,
		 "%s port %u: cannot register for SMPs: %s (does another subnet manager run here?)",
		 u->io.info.device, u->io.info.port, strerror(errno));
	return is_gone(errno) ? -ENODEV : -EBUSY;
}

static int umad_io_open(struct io *io, char *err, size_t err_size)
{
	struct umad_io *u = (struct umad_io *)io;
	int status = umad_port_choose(&u->wish, &io->info, err, err_size);

	if (!status)
		status = port_open(u, err, err_size);
	if (!status)
		status = port_register(u, err, err_size);
	if (status) {
		umad_io_close(io);
		return status;
	}
	buffers_open(u);
	watch_start(u);
	log_line(LOG_MAD, LOG_NOTICE, "%s port %u: opened: port GUID 0x%016llx, LID %u, link %s",
		 io->info.device, io->info.port, (unsigned long long)io->info.port_guid,
		 io->info.lid, io->info.link ? "up" : "down");
	return 0;
}

static bool umad_io_choose(struct io *io, bool had_link)
{
	struct umad_io *u = (struct umad_io *)io;
	struct io_port_info info;
	char err[256];

	if (had_link)
		u->wish.guid = io->info.port_guid;
	if (u->wish.guid || umad_port_choose(&u->wish, &info, err, sizeof(err)))
		return false;
	return info.link && info.port_guid != io->info.port_guid;
}

static const struct io_ops umad_io_ops = {
	.open = umad_io_open,
	.close = umad_io_close,
	.choose = umad_io_choose,
	.send = umad_io_send,
	.set_is_sm = umad_io_set_is_sm,
	.free = umad_io_free,
	.expect = umad_io_expect,
};

struct io *io_umad_new(struct loop *loop, guid_t guid, const char *device, unsigned port)
{
	struct umad_io *u = mem_alloc(1, sizeof(*u));

	u->io.ops = &umad_io_ops;
	u->wish = (struct umad_wish){ .guid = guid, .port = port };
	snprintf(u->wish.device, sizeof(u->wish.device), "%s", device);
	u->loop = loop;
	u->issm = -1;
	for (unsigned i = 0; i < HANDLES; i++)
		u->handles[i] = (struct handle){ .u = u, .port = -1 };
	agents_forget(u);
	return &u->io;
}
