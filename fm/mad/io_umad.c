/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MADs by libibumad: the kernel's umad character device, or ibsim's imitation of it.
 *
 * One agent for each class: SMI (LID-routed and directed), SA, and PerfMgt, which only asks; and
 * one more for the SA's methods with long answers. The subnet management classes have a descriptor
 * of their own, which is read first: the kernel queues hundreds of thousands of MADs on one, and an
 * answer to an SMP behind the SA requests of a starting job would come too late. The kernel finds
 * the agent of an answer by the upper 32 bits of its TID, which it sets itself, and hands on only
 * answers to sends that have a time-out; with that it holds the request, and refuses a second one
 * of the same TID until it has given the first back. So requests go with a kernel time-out a little
 * shorter than the transaction's own, without kernel retries: a retry under the same TID then finds
 * the place free. Requests given back (umad status set) are reported as failed.
 *
 * RMPP is the kernel's: a long answer is written as one buffer, a long request read as one. Its
 * segments are sent again when an acknowledgement is late, by 2 s or by the send's own time-out if
 * that is shorter, as often as the send says; with none allowed one lost packet would be the end of
 * the answer. In its write() the kernel makes all segments, and holds the descriptor's lock:
 * whoever writes to or reads from the same one waits, and so does the kernel where a MAD arrives
 * for one of its agents (user_mad.c: ib_umad_write, ib_umad_read, queue_packet). So long answers
 * have a descriptor that nobody waits for, and a thread that writes them (umad_writer.h). It can't
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
 * (EINVAL) and report nothing else. fm/sm/port.c asks the own port regularly, and so finds
 * both. The descriptor never comes back to life: it is closed, and the port chosen and opened anew.
 *
 * A simulator has one descriptor alone: SA requests that were read are kept back until nothing else
 * is left to be read.
 *
 * umad keeps addresses in network order.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include "fm/loop/log.h"
#include "fm/mad/umad_own.h"
#include "topology/base/mem.h"

#define NOT_OURS	       " (root may, and whom a udev rule gives it to)"
#define LONG_BITS	       (8 * sizeof(long))
#define METHOD_BITS	       128
#define METHOD_GET_TRACE_TABLE 0x13

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
	    umad_get_issm_path(io->info.device, (int)io->info.port, path, sizeof(path)) < 0)
		return -ENODEV;
	u->issm = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (u->issm >= 0)
		return 0;
	return errno == EAGAIN ? -EBUSY : -errno; /* one process at a time may hold it */
}

/* ---- Opening --------------------------------------------------------------------------------- */

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

/* The methods with long answers. */
static void methods_of_tables(long mask[METHOD_BITS / LONG_BITS])
{
	method_add(mask, WIRE_GET_TABLE);
	method_add(mask, METHOD_GET_TRACE_TABLE);
	method_add(mask, WIRE_GET_MULTI);
}

static int register_sa(struct umad_io *u)
{
	long mask[METHOD_BITS / LONG_BITS] = { 0 };

	method_add(mask, WIRE_GET);
	method_add(mask, WIRE_SET);
	method_add(mask, WIRE_REPORT);
	method_add(mask, WIRE_TRAP);
	method_add(mask, WIRE_DELETE);
	if (!u->io.info.real_fd)
		methods_of_tables(mask);
	return umad_register(u->handles[HANDLE_GS].port, WIRE_SA, 2, 1, mask);
}

static int register_tables(struct umad_io *u)
{
	long mask[METHOD_BITS / LONG_BITS] = { 0 };

	methods_of_tables(mask);
	return umad_register(u->handles[HANDLE_TABLES].port, WIRE_SA, 2, 1, mask);
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
	u->agents[AGENT_PERF] = umad_register(u->handles[HANDLE_SMI].port, WIRE_PERF, 1, 0, NULL);
	if (u->io.info.real_fd)
		u->agents[AGENT_TABLES] = register_tables(u);
	for (int i = 0; i < AGENTS; i++)
		if (u->agents[i] < 0 && (i != AGENT_TABLES || u->io.info.real_fd))
			return -1;
	return 0;
}

static void handles_close(struct umad_io *u)
{
	int first = u->handles[HANDLE_SMI].port;

	for (unsigned i = 0; i < HANDLES; i++) {
		if (u->handles[i].port >= 0 && (!i || u->handles[i].port != first))
			umad_close_port(u->handles[i].port);
		u->handles[i].port = -1;
	}
}

static void umad_io_close(struct io *io)
{
	struct umad_io *u = (struct umad_io *)io;

	umad_receive_stop(u);
	umad_writer_free(u->writer);
	u->writer = NULL;
	umad_io_set_is_sm(io, false);
	for (int i = 0; i < AGENTS; i++)
		if (u->agents[i] >= 0)
			umad_unregister(umad_handle_of(u, i)->port, u->agents[i]);
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
		 strerror(error), error == EACCES || error == EPERM ? NOT_OURS : "");
	return umad_is_gone(error) || error == ENOENT ? -ENODEV : -error;
}

/* A simulator's descriptor is none that the kernel knows, and there is one. */
static int port_open(struct umad_io *u, char *err, size_t err_size)
{
	struct handle *smi = &u->handles[HANDLE_SMI];
	int status = handle_open(u, smi, err, err_size);

	if (!status)
		u->io.info.real_fd = fcntl(umad_get_fd(smi->port), F_GETFD) >= 0;
	for (unsigned i = HANDLE_SMI + 1; !status && i < HANDLES; i++) {
		if (u->io.info.real_fd)
			status = handle_open(u, &u->handles[i], err, err_size);
		else
			u->handles[i].port = smi->port;
	}
	return status;
}

/*
 * The kernel hands requests of a class to one agent a port; it says EINVAL, or EPERM by libibumad,
 * to a second.
 */
static int port_register(struct umad_io *u, char *err, size_t err_size)
{
	errno = 0;
	if (!agents_register(u))
		return 0;
	snprintf(err, err_size,
		 "%s port %u: cannot register for SMPs: %s (does another subnet manager run here?)",
		 u->io.info.device, u->io.info.port, strerror(errno));
	return umad_is_gone(errno) ? -ENODEV : -EBUSY;
}

/* Without it the loop itself writes long answers. */
static void writer_start(struct umad_io *u)
{
	u->writer = umad_writer_new(u->loop, umad_written, u);
	if (!u->writer)
		log_line(LOG_MAD, LOG_WARNING,
			 "long SA answers are written by the event loop: no descriptor for their "
			 "thread: %s",
			 strerror(errno));
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
	umad_buffers_open(u);
	if (u->io.info.real_fd)
		writer_start(u);
	umad_receive_start(u);
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
	.send_long = umad_io_send_long,
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
