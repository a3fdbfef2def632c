/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sim_port: a port of a simulated fabric, for a client that is to load others and not itself: of
 * fmsim's where FMSIM names it, by libibumad's functions, whose rings are quick; else of ibsim's,
 * without libumad2sim.
 *
 * ibsim takes and gives whole MADs as datagrams of UNIX sockets in the abstract name space, one
 * pair a client. libumad2sim has a thread that reads them one by one into a queue under a lock;
 * here as many as there are are taken and given with one call of the system.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "fm/mad/wire.h"

#define SIM_BATCH 64

struct sim_packet {	     /* as on ibsim's sockets; big-endian */
	uint32_t dlid, slid; /* 16 bits, and 16 of nothing; slid 0: the sender's */
	uint32_t dqp, sqp;
	uint32_t status; /* not 0: comes back undelivered */
	uint64_t length;
	uint8_t mad[WIRE_MAD_SIZE];
};

struct sim_port {
	int fd, control;
	int umad, agent; /* of fmsim's; umad 0: of ibsim's */
	void *buffer;
	uint32_t client; /* ibsim's number of this one */
	uint16_t sm_lid;
	uint64_t prefix;
};

/*
 * At the node that SIM_HOST names, of the ibsim that IBSIM_SOCKNAME names, or by FMSIM_NODE and
 * FMSIM. False, with errno: it cannot be reached, or does not know the node.
 */
bool sim_port_open(struct sim_port *port);
void sim_port_close(struct sim_port *port);
/* How many of them came, at most SIM_BATCH; 0: none is there. */
unsigned sim_port_receive(struct sim_port *port, struct sim_packet *packets);
bool sim_port_send(struct sim_port *port, struct sim_packet *packets, unsigned count);

/* sim_port_umad.c: the same by libibumad's functions. */
bool sim_umad_open(struct sim_port *port);
void sim_umad_close(struct sim_port *port);
unsigned sim_umad_receive(struct sim_port *port, struct sim_packet *packets);
bool sim_umad_send(struct sim_port *port, const struct sim_packet *packets, unsigned count);
