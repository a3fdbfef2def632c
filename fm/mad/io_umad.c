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
 * (EINVAL) and report nothing else. fm/sm/port.c asks the own port regularly, and so finds
 * both. The descriptor never comes back to life: it is closed, and the port chosen and opened anew.
 *
 * A simulator has one descriptor alone: SA requests that were read are kept back until nothing else
 * is left to be read.
 *
 * umad keeps addresses in network order.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include "fm/loop/log.h"
#include "fm/mad/umad_own.h"
#include "topology/base/mem.h"

/* ---- The port choice ------------------------------------------------------------------------- */

/*
 * All InfiniBand ports of all devices are looked at in the kernel's order, those
 * the operator did not mean are passed over, and the first that has a link is kept, or the first of
 * all (its link may come later). Whether it is Active does not matter: that only means that some
 * manager manages that fabric. Ports that no subnet manager is to run on count only when they are
 * named. All ports met are kept as text, so that an error can name what there is.
 */

#define PHYS_LINK_UP	   5
#define CAP_IS_SM_DISABLED (1u << 10) /* IBA 14.2.5.6 */
#define SEEN_MAX	   512
#define VPD_MAX		   32768

enum rank { RANK_NONE, RANK_ANY, RANK_LINK_UP, RANK_NAMED };

struct choice {
	const struct umad_wish *wish;
	enum rank best;
	struct io_port_info *info;
	unsigned met, ethernet, barred;
	char devices[SEEN_MAX], ports[SEEN_MAX];
};

static void __attribute__((format(printf, 2, 3)))
seen_add(char seen[SEEN_MAX], const char *format, ...)
{
	size_t len = strlen(seen);
	va_list args;

	if (len && len < SEEN_MAX - 2) {
		memcpy(seen + len, ", ", 3);
		len += 2;
	}
	va_start(args, format);
	vsnprintf(seen + len, SEEN_MAX - len, format, args);
	va_end(args);
}

bool umad_port_manages_nvswitches(const char *vpd_path)
{
	char *vpd = mem_alloc(1, VPD_MAX);
	FILE *in = fopen(vpd_path, "r");
	size_t len = in ? fread(vpd, 1, VPD_MAX, in) : 0;
	bool found = memmem(vpd, len, "SW_MNG", 6);

	if (in)
		fclose(in);
	free(vpd);
	return found;
}

static void port_consider(struct choice *choice, const umad_ca_t *ca, const umad_port_t *port)
{
	const struct umad_wish *wish = choice->wish;
	bool link = port->phys_state == PHYS_LINK_UP, barred;
	guid_t guid = be64toh(port->port_guid);
	enum rank rank = link ? RANK_LINK_UP : RANK_ANY;
	char vpd[256];

	if (wish->guid)
		rank = guid == wish->guid ? RANK_NAMED : RANK_NONE;
	else if (wish->port)
		rank = (unsigned)port->portnum == wish->port ? RANK_NAMED : RANK_NONE;
	if (!strcmp(port->link_layer, "Ethernet")) {
		choice->ethernet++;
		return;
	}
	seen_add(choice->ports, "%s port %d 0x%016" PRIx64, ca->ca_name, port->portnum, guid);
	if (rank <= choice->best)
		return;
	snprintf(vpd, sizeof(vpd), SYS_INFINIBAND "/%s/device/vpd", port->ca_name);
	barred = rank != RANK_NAMED &&
		 (be32toh(port->capmask) & CAP_IS_SM_DISABLED || umad_port_manages_nvswitches(vpd));
	choice->barred += barred;
	if (barred)
		return;
	choice->best = rank;
	*choice->info = (struct io_port_info){
		.port = (unsigned)port->portnum,
		.port_guid = guid,
		.node_guid = be64toh(ca->node_guid),
		.gid_prefix = be64toh(port->gid_prefix),
		.lid = (uint16_t)port->base_lid,
		.sm_lid = (uint16_t)port->sm_lid,
		.link = link,
	};
	snprintf(choice->info->device, sizeof(choice->info->device), "%s", ca->ca_name);
}

static void device_consider(struct choice *choice, const char *name)
{
	umad_ca_t ca;

	/* libibumad names a default device when there is none. */
	if (umad_get_ca(name, &ca) < 0)
		return;
	seen_add(choice->devices, "%s", name);
	if (!choice->wish->guid && choice->wish->device[0] && strcmp(choice->wish->device, name))
		goto out;
	choice->met++;
	for (int i = 0; i < UMAD_CA_MAX_PORTS; i++)
		if (ca.ports[i])
			port_consider(choice, &ca, ca.ports[i]);
out:
	umad_release_ca(&ca);
}

static void choice_explain(const struct choice *choice, char *err, size_t err_size)
{
	const struct umad_wish *wish = choice->wish;
	const char *device = wish->device[0] ? wish->device : NULL;

	if (!choice->devices[0])
		snprintf(err, err_size, "no InfiniBand device in this machine (none in %s)",
			 SYS_INFINIBAND);
	else if (wish->guid)
		snprintf(err, err_size, "port GUID 0x%016" PRIx64 ": not found; there are: %s",
			 wish->guid, choice->ports);
	else if (device && !choice->met)
		snprintf(err, err_size, "device %s: not found; there are: %s", device,
			 choice->devices);
	else if (choice->ethernet && !choice->ports[0])
		snprintf(err, err_size, "%s: no InfiniBand port, only Ethernet",
			 device ? device : choice->devices);
	else if (wish->port)
		snprintf(err, err_size, "%s: no InfiniBand port %u; there are: %s",
			 device ? device : "all devices", wish->port, choice->ports);
	else if (choice->barred)
		snprintf(err, err_size, "no port for a subnet manager unless named by GUID: %s",
			 choice->ports);
	else
		snprintf(err, err_size, "no InfiniBand port; devices: %s", choice->devices);
}

/*
 * The port with this GUID; or the first InfiniBand port, of the device or of all, that has a link,
 * else the first. Not chosen unless it is named: a port that is disabled for subnet managers
 * (IsSMdisabled, IBA 14.2.5.6), and one of an adapter that manages NVSwitches. A port of a device
 * (port != 0) is taken as it is. 0, or -ENODEV with a reason in err.
 */
static int umad_port_choose(const struct umad_wish *wish, struct io_port_info *info, char *err,
			    size_t err_size)
{
	struct choice choice = { .wish = wish, .info = info };
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
	int n;

	if (umad_init() < 0) {
		snprintf(err, err_size, "no umad driver (is the module ib_umad loaded?)");
		return -ENODEV;
	}
	n = umad_get_cas_names(names, UMAD_MAX_DEVICES);
	for (int i = 0; i < n; i++)
		device_consider(&choice, names[i]);
	if (choice.best != RANK_NONE)
		return 0;
	choice_explain(&choice, err, err_size);
	return -ENODEV;
}

/* ---- Io umad --------------------------------------------------------------------------------- */

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

static const struct agent {
	uint8_t handle, mgmt_class, version, rmpp;
	uint8_t methods[6]; /* of requests that come to it; ends with 0 */
} agents[AGENTS] = {
	[AGENT_SMI_LID] = { HANDLE_SMI,
			    WIRE_SMI_LID,
			    1,
			    0,
			    { WIRE_GET, WIRE_SET, WIRE_TRAP, WIRE_TRAP_REPRESS } },
	[AGENT_SMI_DR] = { HANDLE_SMI,
			   WIRE_SMI_DR,
			   1,
			   0,
			   { WIRE_GET, WIRE_SET, WIRE_TRAP, WIRE_TRAP_REPRESS } },
	[AGENT_SA] = { HANDLE_GS,
		       WIRE_SA,
		       2,
		       1,
		       { WIRE_GET, WIRE_SET, WIRE_REPORT, WIRE_TRAP, WIRE_DELETE } },
	[AGENT_PERF] = { HANDLE_SMI, WIRE_PERF, 1, 0, { 0 } },
	[AGENT_TABLES] = { HANDLE_TABLES,
			   WIRE_SA,
			   2,
			   1,
			   { WIRE_GET_TABLE, METHOD_GET_TRACE_TABLE, WIRE_GET_MULTI } },
};

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

static void umad_io_close(struct io *io)
{
	struct umad_io *u = (struct umad_io *)io;
	int first = u->handles[HANDLE_SMI].port; /* on a simulator that of all */

	umad_receive_stop(u);
	umad_writer_free(u->writer);
	u->writer = NULL;
	umad_io_set_is_sm(io, false);
	for (int i = 0; i < AGENTS; i++) {
		if (u->agents[i] >= 0)
			umad_unregister(umad_handle_of(u, i)->port, u->agents[i]);
		u->agents[i] = -1;
	}
	for (unsigned i = 0; i < HANDLES; i++) {
		if (u->handles[i].port >= 0 && (!i || u->handles[i].port != first))
			umad_close_port(u->handles[i].port);
		u->handles[i].port = -1;
	}
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

/*
 * A simulator's descriptor is none that the kernel knows, and there is one. The kernel hands
 * requests of a class to one agent a port; it says EINVAL, or EPERM by libibumad, to a second.
 */
static int umad_io_open(struct io *io, char *err, size_t err_size)
{
	struct umad_io *u = (struct umad_io *)io;
	struct handle *smi = &u->handles[HANDLE_SMI];
	int status = umad_port_choose(&u->wish, &io->info, err, err_size);

	if (!status)
		status = handle_open(u, smi, err, err_size);
	if (!status)
		io->info.real_fd = fcntl(umad_get_fd(smi->port), F_GETFD) >= 0;
	for (unsigned i = HANDLE_SMI + 1; !status && i < HANDLES; i++) {
		if (io->info.real_fd)
			status = handle_open(u, &u->handles[i], err, err_size);
		else
			u->handles[i].port = smi->port;
	}
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
	umad_buffers_open(u);
	if (io->info.real_fd)
		u->writer = umad_writer_new(u->loop, umad_written, u);
	if (io->info.real_fd && !u->writer)
		log_line(LOG_MAD, LOG_WARNING,
			 "long SA answers are written by the event loop: no descriptor for their "
			 "thread: %s",
			 strerror(errno));
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
	for (int i = 0; i < AGENTS; i++)
		u->agents[i] = -1;
	return &u->io;
}
