/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * topo: the fabric as a value.
 *
 * A builder collects nodes, ports and links in any order; topo_freeze() turns it into an immutable,
 * reference-counted snapshot that does not depend on that order. Everything after discovery
 * (LID plan, routing, proof, SA, dumps) is a function of snapshots.
 */
#ifndef FMD_TOPOLOGY_SNAPSHOT_TOPO_H
#define FMD_TOPOLOGY_SNAPSHOT_TOPO_H

#include "topology/snapshot/topo_value.h"

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

/* Static names for people ("leaf", "Active", "NDR"): "-" = none, "?" = not a known value. */
const char *topo_role_name(enum topo_role role);
const char *topo_state_name(enum topo_state state);
const char *topo_speed_name(enum topo_speed speed);
/* The speed of that name, in any case; TOPO_SPEED_NONE = unknown. */
enum topo_speed topo_speed_parse(const char *text);
/* The signalling rate of one lane in Mb/s, its encoding included; 0 = unknown. */
unsigned topo_lane_mbps(enum topo_speed speed);

#endif
