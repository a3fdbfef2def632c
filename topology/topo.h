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
 * A cable is in both its ports' `peer`. A cable that is known and down at the moment stays in the
 * snapshot with link_up false: routing keeps the design's regular slots by it.
 *
 * Units: GUIDs and LIDs in host byte order; states, MTUs and widths as IBA 14.2.5.6 codes them.
 * Indices, not pointers, refer from one array to another, so that a snapshot is a few flat blocks.
 */
#ifndef FMD_TOPOLOGY_TOPO_H
#define FMD_TOPOLOGY_TOPO_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

typedef uint64_t guid_t;

#define TOPO_NONE      UINT32_MAX
#define TOPO_MAX_LEVEL 15

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

struct topo_port {
	guid_t guid;	  /* CA port GUID; on port 0 of a switch its node GUID; else 0 */
	uint32_t node;	  /* index in topo.nodes */
	uint32_t peer;	  /* index in topo.ports, TOPO_NONE = no cable known */
	uint16_t lid;	  /* base LID held by the port as last read; switches: on port 0 */
	uint8_t lmc;	  /* LID mask control, 0..7 */
	uint8_t num;	  /* port number on its node */
	uint8_t state;	  /* enum topo_state */
	uint8_t speed;	  /* enum topo_speed, active */
	uint8_t width;	  /* active, in lanes: 1, 2, 4, 8, 12 */
	uint8_t mtu;	  /* NeighborMTU code: 1 = 256 .. 5 = 4096 */
	uint32_t capmask; /* PortInfo:CapabilityMask, host order */
	bool link_up;	  /* peer known and the link is not down */
	bool cordoned;	  /* no transit through this cable wanted.. */
	bool quarantined; /* ..because it is sick, and not by an operator's wish.. */
	bool isolated;	  /* ..or because it, or its switch, can not be worked with */
};

/* The far end of a switch's port: what routing asks of every port, each time, without the rest. */
struct topo_end {
	/*
	 * a switch: index in topo.nodes; a host: in topo.ports, beyond all of switches; TOPO_NONE =
	 * no cable known
	 */
	uint32_t to;
	uint8_t num;  /* port number there */
	bool up;      /* the port's link_up */
	bool special; /* an aggregation node's port */
};

struct topo_node {
	guid_t guid, sys_guid;
	const char *desc; /* NodeDescription, never NULL */
	uint32_t port0;	  /* index of port number 0 in topo.ports */
	uint32_t vendor;  /* VendorID */
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
	uint32_t nlinks;	      /* cables, up or down */
	uint32_t nlinks_special;      /* of these, inside of a switch: to its aggregation node */
	uint32_t nlinks_down;	      /* of these, down */
	uint32_t nlinks_special_down; /* of these, special */
	uint32_t ncordoned;	      /* ports */
	uint32_t ncas;		      /* CA nodes without SHARP aggregation nodes.. */
	uint32_t nspecials;	      /* ..and those */
	uint8_t nlevels;	      /* highest switch level + 1; 0 without switches */
	const struct topo_node *nodes;
	const struct topo_port *ports;
	const struct topo_end *ends; /* by port of a switch */
	const struct topo_host *hosts;
	const uint32_t *host_cas;
};

/* Snapshot life: topo_freeze() gives one reference. */
struct topo *topo_ref(const struct topo *topo);
void topo_unref(const struct topo *topo); /* NULL is fine */

static inline const struct topo_port *topo_port(const struct topo *t, uint32_t node, unsigned num)
{
	return &t->ports[t->nodes[node].port0 + num];
}

/* By its description, where the device itself is not asked. */
bool topo_named_sharp(const char *desc);

/* Cables between devices, and those of them that are down: without what is inside of a switch. */
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

/* The port at the other end, or NULL when no cable is known. */
static inline const struct topo_port *topo_peer(const struct topo *t, const struct topo_port *port)
{
	return port->peer == TOPO_NONE ? NULL : &t->ports[port->peer];
}

uint32_t topo_find(const struct topo *t, guid_t node_guid);	 /* node index or TOPO_NONE */
uint32_t topo_find_port(const struct topo *t, guid_t port_guid); /* port index or TOPO_NONE */
uint32_t topo_port_of(const struct topo *t, guid_t node_guid, unsigned num); /* likewise */

/*
 * What operators write: `NODE`, `NODE:PORT` or `"NODE"[PORT]`; NODE is a GUID (0x..),
 * `S-..`/`H-..`, or a node description matched whole, else by a word of it or its beginning, which
 * must be unique. *port is 0 when none was written; 0 itself is no port to write. Returns the node
 * index, or TOPO_NONE with the reason in err.
 */
uint32_t topo_resolve(const struct topo *t, const char *what, unsigned *port, char *err,
		      size_t err_size);

/* Names for people. */
const char *topo_role_name(enum topo_role role);    /* "leaf" .. */
const char *topo_state_name(enum topo_state state); /* "Active" .. */
const char *topo_speed_name(enum topo_speed speed); /* "NDR" .. */
enum topo_speed topo_speed_parse(const char *text); /* TOPO_SPEED_NONE when unknown */
unsigned topo_lane_mbps(enum topo_speed speed);	    /* payload-independent lane rate, Mb/s */

/* ---- Builder ------------------------------------------------------------------------ */

struct topo_builder;

/* What the maker knows of a port; fields as in struct topo_port. */
struct topo_port_attr {
	guid_t guid;
	uint32_t capmask;
	uint16_t lid;
	uint8_t lmc, state, speed, width, mtu;
	bool cordoned, quarantined, isolated;
};

struct topo_node_attr {
	guid_t guid, sys_guid;
	const char *desc; /* copied */
	uint32_t vendor, revision;
	uint16_t device, lft_cap, mft_cap, pkey_cap;
	uint8_t type, nports;
	bool enhanced_port0, sharp;
};

struct topo_builder *topo_builder_new(void);
void topo_builder_free(struct topo_builder *b); /* a builder that was not frozen; NULL is fine */

/* Handle of the new node, or -EEXIST (GUID taken), -EINVAL (type unknown, 255 ports). */
int topo_builder_node(struct topo_builder *b, const struct topo_node_attr *attr)
	__attribute__((warn_unused_result));
int topo_builder_find(const struct topo_builder *b, guid_t guid); /* handle or -ENOENT */
/* 0, -ERANGE (no such port on the node). */
int topo_builder_port(struct topo_builder *b, int node, unsigned num,
		      const struct topo_port_attr *attr);
/* 0, -ERANGE, or -EEXIST: one of the ports is in another link (the same link again is fine). */
int topo_builder_link(struct topo_builder *b, int node_a, unsigned port_a, int node_b,
		      unsigned port_b, bool up);
/* Keeps a link but marks it down; 0 or -ENOENT. */
int topo_builder_link_down(struct topo_builder *b, int node, unsigned port);
/* Keeps a cable's transit off, as seen from this port; 0 or -ERANGE. */
int topo_builder_cordon(struct topo_builder *b, int node, unsigned port);
/* A builder that holds all of a snapshot, to make the next one from. Handles equal node indices. */
struct topo_builder *topo_builder_from(const struct topo *t);

/* Consumes the builder. Derives levels, roles, rails, scalable units and hosts. */
struct topo *topo_freeze(struct topo_builder *b);

/*
 * The same fabric at another moment: nodes, names, GUIDs and cables are those of an older snapshot,
 * and are not copied. Each port is then told once, before anybody else sees it: attr without its
 * guid, and whether the cable is up.
 */
struct topo *topo_again(const struct topo *older);
void topo_again_port(struct topo *t, uint32_t port, const struct topo_port_attr *attr, bool up);
/* .. or all ports are as they were, until their cables are cut. */
struct topo *topo_alike(const struct topo *older);
void topo_alike_cut(struct topo *t, uint32_t port);
/* The one was made from the other so, or both from a third. False says nothing. */
static inline bool topo_is_again(const struct topo *a, const struct topo *b)
{
	return a->nodes == b->nodes;
}
/*
 * The snapshot they were all made from, itself included: who holds it knows later ones by
 * topo_is_again().
 */
struct topo *topo_ref_frozen(const struct topo *t);

/* ---- Inside the layer --------------------------------------------------------------- */
/* Called by topo_freeze() on the not yet published snapshot, in this order. */
struct arena;
void level_assign(struct topo *t);		       /* level.c: node.level, node.role, nlevels */
void rail_assign(struct topo *t, struct arena *arena); /* rail.c: hosts, node.host, .rail, .su */

#endif
