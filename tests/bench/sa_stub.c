/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is left of a subnet manager when nothing is: it gives each SA request back as its own
 * answer, without a look at it. As fast as this, and no faster, can one thread that uses libibumad
 * answer here: what is between it and the asker is ibsim, sockets and libumad2sim.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include "fm/mad/wire.h"
#include "topology/base/mem.h"

#define METHOD_AT 3
#define OFFSET_AT 44 /* SA header: AttributeOffset, in units of 8 bytes, big-endian */
#define WAIT_MS	  1000

static void fail(const char *what)
{
	fprintf(stderr, "sa_stub: %s\n", what);
	exit(1);
}

static int agent_register(int port)
{
	long methods[128 / (8 * sizeof(long))] = { 1l << WIRE_GET };

	return umad_register(port, WIRE_SA, 2, 1, methods);
}

int main(void)
{
	void *buffer;
	char path[256];
	int port = -1, agent = -1;

	if (umad_init() < 0 || (port = umad_open_port(NULL, 0)) < 0 ||
	    (agent = agent_register(port)) < 0)
		fail("cannot open the port");
	if (umad_get_issm_path(NULL, 0, path, sizeof(path)) < 0 || open(path, O_RDWR) < 0)
		fail("cannot be the subnet manager");
	buffer = mem_alloc(1,
			   umad_size() + WIRE_MAD_SIZE); /* the size is known once a port is open */
	for (;;) {
		int length = WIRE_MAD_SIZE;
		uint8_t *mad = umad_get_mad(buffer);

		if (umad_recv(port, buffer, &length, 0) < 0) {
			umad_poll(port, WAIT_MS);
			continue;
		}
		mad[METHOD_AT] |= WIRE_RESPONSE;
		umad_send(port, agent, buffer, WIRE_MAD_SIZE, 0, 0);
	}
}
