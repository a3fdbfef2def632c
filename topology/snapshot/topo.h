/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * topo: the fabric as a value.
 *
 * A builder collects nodes, ports and links in any order; topo_freeze() turns it into an immutable,
 * reference-counted snapshot that does not depend on that order. Everything after discovery
 * (LID plan, routing, proof, SA, dumps) is a function of snapshots.
 *
 * Shape of a snapshot:
 *   nodes[]  switches first (nodes[0 .. nswitches)), then CAs and routers; each by ascending GUID
 *   ports[]  all ports of all nodes; port N of a node is ports[node->port0 + N], N = 0 .. nports.
 *            Port 0 of a switch is its management port; port 0 of a CA is unused padding.
 *   hosts[]  machines: CAs grouped by the host name in their node description, in natural order
 * A link is in both its ports' `peer`. A link that is known and down at the moment stays in the
 * snapshot with link_up false: routing keeps the design's regular slots by it.
 *
 * Units: GUIDs and LIDs in host byte order; states, MTUs and widths as IBA 14.2.5.6 codes them.
 * Indices, not pointers, refer from one array to another, so that a snapshot is a few flat blocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of nodes, states and speeds of links; states and types as IBA codes them. */
enum topo_type { TOPO_CA = 1, TOPO_SWITCH = 2, TOPO_ROUTER = 3 }; /* NodeInfo:NodeType */

enum topo_state {
	TOPO_NO_STATE = 0,
	TOPO_DOWN = 1,
	TOPO_INIT = 2,
	TOPO_ARMED = 3,
	TOPO_ACTIVE = 4
};

/* Lane speed, slowest first, so that they compare. */
enum topo_speed {
	TOPO_SPEED_NONE,
	TOPO_SDR,
	TOPO_DDR,
	TOPO_QDR,
	TOPO_FDR10,
	TOPO_FDR,
	TOPO_EDR,
	TOPO_HDR,
	TOPO_NDR,
	TOPO_XDR,
};

enum topo_role { TOPO_ROLE_NONE, TOPO_HOST, TOPO_LEAF, TOPO_SPINE, TOPO_CORE, TOPO_SHARP };

typedef uint64_t guid_t;

#define TOPO_NONE      UINT32_MAX
#define TOPO_MAX_LEVEL 15

struct topo_port {
	guid_t guid;	  /* CA port GUID; on port 0 of a switch its node GUID; else 0 */
	uint32_t node;	  /* index in topo.nodes */
	uint32_t peer;	  /* index in topo.ports, TOPO_NONE = no link known */
	uint16_t lid;	  /* base LID held by the port as last read; switches: on port 0 */
	uint8_t lmc;	  /* LID mask control, 0..7 */
	uint8_t num;	  /* port number on its node */
	uint8_t state;	  /* enum topo_state */
	uint8_t speed;	  /* enum topo_speed, active */
	uint8_t width;	  /* active, in lanes: 1, 2, 4, 8, 12 */
	uint8_t mtu;	  /* NeighborMTU code: 1 = 256 .. 5 = 4096 */
	uint32_t capmask; /* PortInfo:CapabilityMask, host order */
	bool link_up;	  /* peer known and the link is not down */
	bool cordoned;	  /* carries no transit, for any reason */
	bool quarantined; /* cordoned because the link is unhealthy, not by an operator */
	bool isolated;	  /* cordoned because the link or its switch is unusable */
};

/* The far end of a switch's port: what routing asks of every port, each time, without the rest. */
struct topo_end {
	/*
	 * a switch: index in topo.nodes; a host: in topo.ports, beyond all of switches; TOPO_NONE =
	 * no link known
	 */
	uint32_t to;
	uint8_t num;  /* port number there */
	bool up;      /* the port's link_up */
	bool special; /* an aggregation node's port */
};

struct topo_node {
	guid_t guid, sys_guid;
	const char *desc;  /* NodeDescription, never NULL */
	const char *label; /* the name that a node-name-map gives, else desc: what dumps print */
	const char *name;  /* unique, for texts (naming.h) */
	uint32_t port0;	   /* index of port number 0 in topo.ports */
	uint32_t vendor;   /* VendorID */
	uint32_t revision;
	uint32_t host;	     /* CAs: index in topo.hosts, else TOPO_NONE */
	uint16_t device;     /* DeviceID */
	uint16_t lft_cap;    /* switches: LinearFDBCap, entries; 0 = not read */
	uint16_t mft_cap;    /* switches: MulticastFDBCap, entries */
	uint16_t pkey_cap;   /* NodeInfo:PartitionCap */
	uint8_t type;	     /* enum topo_type */
	uint8_t nports;	     /* highest port number */
	uint8_t role;	     /* enum topo_role, derived */
	uint8_t level;	     /* switches: 0 = leaf, upwards; derived (level.c) */
	int16_t rail;	     /* 0.., -1 = none; CAs and leaves; derived (rail.c) */
	int16_t su;	     /* scalable unit, 0.., -1 = none; derived (rail.c) */
	bool enhanced_port0; /* switches */
	bool sharp;	     /* SHARP aggregation node: a CA inside a switch, no host */
};

struct topo_host {
	const char *name;     /* as in the node descriptions, e.g. "dgx-su01-07" */
	uint32_t first, ncas; /* host_cas[first .. first + ncas): by rail, device name, GUID */
};

struct topo {
	uint32_t nnodes, nswitches, nports, nhosts;
	uint32_t nswitch_ports;	      /* ports[0 .. nswitch_ports) are those of switches */
	uint32_t nlinks;	      /* links, up or down */
	uint32_t nlinks_special;      /* links inside of a switch, to its aggregation node */
	uint32_t nlinks_down;	      /* links that are down */
	uint32_t nlinks_special_down; /* links to aggregation nodes that are down */
	uint32_t ncordoned;	      /* ports */
	/* links between switches that were up: speed * 256 + width of one; whether others differ */
	uint16_t rate;
	bool rates_differ;
	uint32_t ncas;	    /* CA nodes without SHARP aggregation nodes */
	uint32_t nspecials; /* SHARP aggregation nodes */
	uint8_t nlevels;    /* highest switch level + 1; 0 without switches */
	const struct topo_node *nodes;
	const struct topo_port *ports;
	const struct topo_end *ends; /* by port of a switch */
	const struct topo_host *hosts;
	const uint32_t *host_cas;
	const char *const *labels; /* by port, or NULL; NULL = no port has one. topo_port_label() */
};

/*
 * References. topo_freeze() gives one; topo_ref() adds one and returns the same snapshot;
 * topo_unref() (NULL is fine) takes one back and frees the snapshot with the last. Not atomic: one
 * thread only.
 */
struct topo *topo_ref(const struct topo *topo);
void topo_unref(const struct topo *topo);

/* Port `num` of a node, which must have it (0 .. nports); in the snapshot. */
static inline const struct topo_port *topo_port(const struct topo *t, uint32_t node, unsigned num)
{
	return &t->ports[t->nodes[node].port0 + num];
}

/* Whether a NodeDescription is that of a SHARP aggregation node. */
bool topo_named_sharp(const char *desc);

/* Links between devices, and those of them that are down: without what is inside of a switch. */
static inline uint32_t topo_links(const struct topo *t)
{
	return t->nlinks - t->nlinks_special;
}

static inline uint32_t topo_links_down(const struct topo *t)
{
	return t->nlinks_down - t->nlinks_special_down;
}

/*
 * A CA or router that has traffic of its own. SHARP aggregation nodes, which are CAs inside of
 * switches, are none.
 */
static inline bool topo_is_host(const struct topo *t, uint32_t node)
{
	return node >= t->nswitches && !t->nodes[node].sharp;
}

/* The port at the other end, or NULL when no link is known. */
static inline const struct topo_port *topo_peer(const struct topo *t, const struct topo_port *port)
{
	return port->peer == TOPO_NONE ? NULL : &t->ports[port->peer];
}

/* The first port of a node that has a link, and of a fabric, from that one on; NULL = none has. */
static inline const struct topo_port *topo_link_from(const struct topo *t, uint32_t node,
						     unsigned num)
{
	for (; num <= t->nodes[node].nports; num++)
		if (topo_port(t, node, num)->peer != TOPO_NONE)
			return topo_port(t, node, num);
	return NULL;
}

static inline const struct topo_port *topo_cable_from(const struct topo *t, uint32_t port)
{
	for (; port < t->nports; port++)
		if (t->ports[port].peer != TOPO_NONE && t->ports[port].peer > port)
			return &t->ports[port];
	return NULL;
}

/*
 * Each port of a node that has a link, up or down, and the port at its other end. TOPO_CABLES: each
 * link of the fabric once, by its ports.
 */
#define TOPO_LINKS(t, node, port, peer)                                                            \
	for (const struct topo_port *port = topo_link_from(t, node, 1), *peer;                     \
	     port && (peer = topo_peer(t, port)); port = topo_link_from(t, node, port->num + 1u))
#define TOPO_CABLES(t, port, peer)                                                                 \
	for (const struct topo_port *port = topo_cable_from(t, 0), *peer;                          \
	     port && (peer = topo_peer(t, port));                                                  \
	     port = topo_cable_from(t, port - (t)->ports + 1))

/* The first switch that a port of a CA is cabled to, its link up or down; TOPO_NONE = none. */
static inline uint32_t topo_leaf_of(const struct topo *t, uint32_t ca)
{
	TOPO_LINKS (t, ca, port, peer)
		if (t->nodes[peer->node].type == TOPO_SWITCH)
			return peer->node;
	return TOPO_NONE;
}

/* What is written beside that port on the device, "cage 9/1"; "" where that is not known. */
static inline const char *topo_port_label(const struct topo *t, uint32_t port)
{
	return t->labels && t->labels[port] ? t->labels[port] : "";
}

/*
 * Indices in topo.nodes or topo.ports, TOPO_NONE = not found: a node by its NodeGUID; an end port
 * by its PortGUID (of several ports the one that has a link); port `num` (0 .. nports) of a node by
 * its NodeGUID.
 */
uint32_t topo_find(const struct topo *t, guid_t node_guid);
uint32_t topo_find_port(const struct topo *t, guid_t port_guid);
uint32_t topo_port_of(const struct topo *t, guid_t node_guid, unsigned num);

/*
 * The name of a CA within its machine ("mlx5_3"), or its whole description where that has no device
 * name. The text belongs to the snapshot and is valid as long.
 */
const char *host_device(const struct topo *t, uint32_t ca);

/* Static names for people ("leaf", "Active", "NDR"): "-" = none, "?" = not a known value. */
const char *topo_role_name(enum topo_role role);
const char *topo_state_name(enum topo_state state);
const char *topo_speed_name(enum topo_speed speed);
/* The speed of that name, in any case; TOPO_SPEED_NONE = unknown. */
enum topo_speed topo_speed_parse(const char *text);
/*
 * The data rate of one lane in Mb/s, for load and capacity; the signalling rate, with the encoding
 * (8b/10b, 64b/66b, forward error correction), for bit errors alone. 0 = unknown.
 */
unsigned topo_lane_mbps(enum topo_speed speed);
unsigned topo_lane_signalling_mbps(enum topo_speed speed);
