/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * topo_own: what a snapshot holds behind its public part. For builder.c, which makes it, and
 * topo.c, which reads it.
 */
#ifndef FMD_TOPOLOGY_SNAPSHOT_TOPO_OWN_H
#define FMD_TOPOLOGY_SNAPSHOT_TOPO_OWN_H

#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_builder.h"

struct topo_guid { /* one end port */
	guid_t guid;
	uint32_t port; /* index in topo.ports */
	bool uncabled; /* no link reaches it: its GUID may be made up */
};

struct topo_own {
	struct topo pub; /* first: a struct topo * is a struct topo_own * */
	/* all arrays and strings of the snapshot, or those that are not base's */
	struct arena *arena;
	const struct topo *base; /* again.c: whose nodes and names these are; NULL = its own */
	unsigned refs;
	uint32_t nguids;
	const struct topo_guid
		*guids; /* by GUID; of a GUID held twice, the port with a link first */
};

/* What a port says of itself: all of it but its place and its GUID. */
static inline void topo_port_take(struct topo_port *port, const struct topo_port_attr *attr)
{
	port->lid = attr->lid;
	port->lmc = attr->lmc;
	port->state = attr->state;
	port->speed = attr->speed;
	port->width = attr->width;
	port->mtu = attr->mtu;
	port->capmask = attr->capmask;
	port->cordoned = attr->cordoned;
	port->quarantined = attr->quarantined;
	port->isolated = attr->isolated;
}

#endif
