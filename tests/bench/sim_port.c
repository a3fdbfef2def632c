/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ibsim's sockets. NAME:ctl answers questions; NAME:outN is where client N sends its packets,
 * NAME:inPID where it gets them.
 */
#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "tests/bench/sim_port.h"

#define MAGIC	     0xdeadbeefu
#define CONTROL_DATA 64
#define PREFIX_AT    8 /* of PortInfo's bytes */
#define SM_LID_AT    18
#define NO_NUMBER    ULONG_MAX

enum { CONTROL_CONNECT = 1, CONTROL_DISCONNECT = 2, CONTROL_PORT_INFO = 8 };

struct control {
	uint32_t magic, client, type, length;
	uint8_t data[CONTROL_DATA];
};

struct attach {
	uint32_t id, qp, issm; /* id: of the process; comes back as the client's number */
	char node[32];
};

static socklen_t name_make(struct sockaddr_un *name, const char *what, unsigned long number)
{
	const char *base = getenv("IBSIM_SOCKNAME");
	int length;

	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	length = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1,
			  number == NO_NUMBER ? "%s:%s" : "%s:%s%lu", base ? base : "sim", what,
			  number);
	/* The closing zero is part of ibsim's names. */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length + 1);
}

static void batch_fill(struct mmsghdr *headers, struct iovec *parts, struct sim_packet *packets,
		       unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		parts[i] = (struct iovec){ &packets[i], sizeof(packets[i]) };
		headers[i] =
			(struct mmsghdr){ .msg_hdr = { .msg_iov = &parts[i], .msg_iovlen = 1 } };
	}
}

static int socket_bound(const char *what, unsigned long number)
{
	struct sockaddr_un name;
	socklen_t length = name_make(&name, what, number);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&name, length)) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool socket_connect(int fd, const char *what, unsigned long number)
{
	struct sockaddr_un name;
	socklen_t length = name_make(&name, what, number);

	return connect(fd, (const struct sockaddr *)&name, length) == 0;
}

/* The answer is written over the question. */
static bool ask(const struct sim_port *port, uint32_t type, void *data, size_t size)
{
	struct control control = {
		.magic = MAGIC, .client = port->client, .type = type, .length = (uint32_t)size
	};

	memcpy(control.data, data, size);
	if (write(port->control, &control, sizeof(control)) != sizeof(control) ||
	    read(port->control, &control, sizeof(control)) != sizeof(control))
		return false;
	if (!control.type) {
		errno = ENODEV;
		return false;
	}
	memcpy(data, control.data, size);
	return true;
}

static bool attach(struct sim_port *port)
{
	struct attach attach = { .id = (uint32_t)getpid() };
	const char *node = getenv("SIM_HOST");

	snprintf(attach.node, sizeof(attach.node), "%s", node ? node : "");
	if (!ask(port, CONTROL_CONNECT, &attach, sizeof(attach)))
		return false;
	port->client = attach.id;
	return socket_connect(port->fd, "out", port->client);
}

/* Port 0 of a question: the one the client is at. */
static bool port_info_read(struct sim_port *port)
{
	uint8_t info[CONTROL_DATA] = { 0 };

	if (!ask(port, CONTROL_PORT_INFO, info, sizeof(info)))
		return false;
	memcpy(&port->prefix, info + PREFIX_AT, sizeof(port->prefix));
	memcpy(&port->sm_lid, info + SM_LID_AT, sizeof(port->sm_lid));
	port->prefix = be64toh(port->prefix);
	port->sm_lid = be16toh(port->sm_lid);
	return true;
}

bool sim_port_open(struct sim_port *port)
{
	unsigned long pid = (unsigned long)getpid();

	if (getenv("FMSIM"))
		return sim_umad_open(port);
	*port = (struct sim_port){ .fd = socket_bound("in", pid),
				   .control = socket_bound("ctl", pid) };
	return port->fd >= 0 && port->control >= 0 &&
	       socket_connect(port->control, "ctl", NO_NUMBER) && attach(port) &&
	       port_info_read(port);
}

void sim_port_close(struct sim_port *port)
{
	uint8_t nothing[1];

	if (port->umad) {
		sim_umad_close(port);
		return;
	}
	ask(port, CONTROL_DISCONNECT, nothing, 0);
	close(port->control);
	close(port->fd);
}

unsigned sim_port_receive(struct sim_port *port, struct sim_packet *packets)
{
	struct mmsghdr headers[SIM_BATCH];
	struct iovec parts[SIM_BATCH];
	int count;

	if (port->umad)
		return sim_umad_receive(port, packets);
	batch_fill(headers, parts, packets, SIM_BATCH);
	count = recvmmsg(port->fd, headers, SIM_BATCH, MSG_DONTWAIT, NULL);
	return count > 0 ? (unsigned)count : 0;
}

bool sim_port_send(struct sim_port *port, struct sim_packet *packets, unsigned count)
{
	struct mmsghdr headers[SIM_BATCH];
	struct iovec parts[SIM_BATCH];

	if (port->umad)
		return sim_umad_send(port, packets, count);
	batch_fill(headers, parts, packets, count);
	while (count) {
		int sent = sendmmsg(port->fd, headers, count, 0);

		if (sent <= 0)
			return false;
		memmove(headers, headers + sent, (count - (unsigned)sent) * sizeof(headers[0]));
		count -= (unsigned)sent;
	}
	return true;
}
