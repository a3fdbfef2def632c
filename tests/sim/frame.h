/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * frame: what fmsim and libfmsim-umad say to each other.
 *
 * A client connects to fmsim's socket and sends requests of fixed size, each answered by a reply of
 * fixed size, in turn. A connection whose first byte is no FRAME_MAGIC is a line of the control
 * protocol.
 *
 * An open port has three descriptors besides the connection: memory that both map, an event to wake
 * fmsim, and the descriptor that the program sees. That one is readable while MADs are there to be
 * read (if somebody waits), and fails when the device or fmsim is gone. The file ends when the last
 * copy of that descriptor is closed, in whatever process; a process that has it from another one
 * adopts the file. What lies in the memory is in frame_memory.h.
 */
#pragma once

#include <stdint.h>

#define FRAME_MAGIC   0x01534d46u /* its first byte in memory is no letter */
#define FRAME_NAME    64
#define FRAME_CA_NAME 20
#define FRAME_DEVICES 32
#define FRAME_PKEYS   128
#define FRAME_PORTS   10

enum frame_kind {
	FRAME_DEVICES_ARE = 1, /* devices of the node's host */
	FRAME_CA,	       /* of one */
	FRAME_PORT,
	FRAME_OPEN,	/* the connection is a umad file from then on */
	FRAME_ISSM,	/* the connection is an issm file from then on */
	FRAME_REGISTER, /* of an open file */
	FRAME_UNREGISTER,
	FRAME_IS_BUSY, /* a request with this TID is on its way */
	FRAME_ADOPT,   /* the file whose descriptor has this inode: another process left it */
};

struct frame_register {
	uint8_t mgmt_class, class_version, qpn, rmpp_version;
	uint32_t flags, oui;
	uint64_t methods[2];
};

struct frame_request {
	uint32_t magic, kind;
	char node[FRAME_NAME]; /* whose host the client is on; empty = the first */
	char ca[FRAME_CA_NAME];
	uint32_t port; /* or the agent's number */
	struct frame_register reg;
	uint8_t header[64 + 24]; /* of a send: struct ib_user_mad, and the common header */
	uint64_t inode;
};

/* In host order, but for what struct umad_port keeps in the net's. */
struct frame_port {
	uint32_t there, port, base_lid, lmc, sm_lid, sm_sl, state, phys_state, rate, capmask;
	uint32_t reregistered; /* how often its clients were asked to register anew */
	uint64_t gid_prefix, port_guid;
	uint32_t npkeys;
	uint16_t pkeys[FRAME_PKEYS];
};

struct frame_ca {
	uint32_t node_type, nports;
	uint64_t node_guid, system_guid;
	char fw_ver[20], ca_type[40], hw_ver[20];
};

struct frame_reply {
	int32_t status; /* >= 0, or -errno */
	uint32_t count;
	uint32_t agents, agents_rmpp; /* of an adopted file, a bit each */
	union {
		char names[FRAME_DEVICES][FRAME_CA_NAME];
		struct frame_ca ca;
		struct frame_port port;
	};
};
