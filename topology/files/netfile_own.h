/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * netfile_own: the reader's state, shared by netfile.c (lines, ports, links) and netfile_node.c
 * (nodes and what precedes them).
 */
#ifndef FMD_TOPOLOGY_FILES_NETFILE_OWN_H
#define FMD_TOPOLOGY_FILES_NETFILE_OWN_H

#include <inttypes.h>
#include "topology/base/text.h"
#include "topology/base/names.h"
#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_builder.h"

#define NAME_MAX_BYTES 64
#define LID_MAX	       0xBFFF /* highest unicast LID, IBA 4.1.3 */

struct net_node {
	uint32_t line;
	uint32_t name;	/* id */
	uint32_t port0; /* in attrs */
	guid_t guid;
	uint8_t type, nports;
};

struct net_link { /* as one line has it */
	uint32_t line;
	int node;
	uint32_t peer_name; /* id */
	uint8_t port, peer_port;
	uint16_t peer_lid;
	guid_t peer_guid; /* 0 = not written */
};

enum assignment { /* the ..= lines; GUIDs in the order of enum topo_type */
		  SET_VENDOR,
		  SET_DEVICE,
		  SET_SYS_GUID,
		  SET_CA_GUID,
		  SET_SWITCH_GUID,
		  SET_ROUTER_GUID,
		  SET_WIDTH,
		  SET_SPEED,
		  SET_EXT_SPEED,
		  SET_DEBUG,
		  ASSIGNMENTS
};

struct netfile {
	const char *name;
	char *err;
	size_t err_size;
	uint32_t line;
	struct topo_builder *builder;
	struct names names;
	int *node_of_name; /* by name id: handle, -1 = not defined so far */
	uint32_t names_room;
	struct net_node *nodes; /* by handle */
	uint32_t nnodes;
	struct topo_port_attr *attrs; /* by node.port0 + number */
	uint32_t nattrs, attrs_room;
	struct net_link *links;
	uint32_t nlinks;
	uint64_t pending[ASSIGNMENTS]; /* for the next node */
	uint8_t width, speed;	       /* of links that say nothing */
};

/* Writes `name:line: reason`; always false. */
bool netfile_fail(struct netfile *nf, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Reports the rest of the line as not understood; always false. */
bool netfile_fail_line(struct netfile *nf, struct lex l);
/* The id of a node's name in the file; it is added if it is new. */
uint32_t netfile_name(struct netfile *nf, struct lex_text name);

/*
 * Read a line of their kind. False after an error, which is reported; *done: the line was of that
 * kind.
 */
bool netfile_assignment(struct netfile *nf, struct lex l, bool *done);
bool netfile_node(struct netfile *nf, struct lex l, bool *done);

/* The best width (lanes) and speed (enum topo_speed) of ibsim's masks, IBA 14.2.5.6; 0 = none. */
uint8_t netfile_best_width(uint64_t mask);
uint8_t netfile_best_speed(uint64_t mask);
uint8_t netfile_best_ext_speed(uint64_t mask);

#endif
