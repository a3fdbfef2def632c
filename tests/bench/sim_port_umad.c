/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A port of fmsim's: answers to what is asked of the SA, and what came back unanswered. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/umad.h>
#include "tests/bench/sim_port.h"
#include "topology/base/mem.h"

#define QP1_QKEY	 0x80010000
#define ANSWER_MS	 1000
#define SA_CLASS_VERSION 2

bool sim_umad_open(struct sim_port *port)
{
	umad_port_t info;

	*port = (struct sim_port){ .umad = -1 };
	if (umad_init() < 0 || umad_get_port(NULL, 0, &info) < 0)
		return false;
	port->sm_lid = (uint16_t)info.sm_lid;
	port->prefix = be64toh(info.gid_prefix);
	umad_release_port(&info);
	port->umad = umad_open_port(NULL, 0);
	if (port->umad < 0)
		return false;
	port->agent = umad_register(port->umad, WIRE_SA, SA_CLASS_VERSION, 0, NULL);
	port->buffer = mem_alloc(1, umad_size() + WIRE_MAD_SIZE);
	return port->agent >= 0;
}

void sim_umad_close(struct sim_port *port)
{
	umad_close_port(port->umad);
	free(port->buffer);
}

unsigned sim_umad_receive(struct sim_port *port, struct sim_packet *packets)
{
	unsigned count = 0;

	while (count < SIM_BATCH) {
		int length = WIRE_MAD_SIZE;

		if (umad_recv(port->umad, port->buffer, &length, 0) < 0)
			return count;
		packets[count].status = (uint32_t)umad_status(port->buffer);
		memcpy(packets[count++].mad, umad_get_mad(port->buffer), WIRE_MAD_SIZE);
	}
	return count;
}

bool sim_umad_send(struct sim_port *port, const struct sim_packet *packets, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		memset(port->buffer, 0, umad_size());
		umad_set_addr(port->buffer, be16toh((uint16_t)packets[i].dlid), 1, 0, QP1_QKEY);
		memcpy(umad_get_mad(port->buffer), packets[i].mad, WIRE_MAD_SIZE);
		if (umad_send(port->umad, port->agent, port->buffer, WIRE_MAD_SIZE, ANSWER_MS, 0))
			return false;
	}
	return true;
}
