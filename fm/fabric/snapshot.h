/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * snapshot: the inventory as it is now, with the marks of rooms, as a snapshot, in two steps:
 * collect, then freeze.
 */
#ifndef FMD_FABRIC_SNAPSHOT_H
#define FMD_FABRIC_SNAPSHOT_H

#include "fm/fabric/links.h"
#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_builder.h"

struct fabric;

struct snapshot_parts { /* all 0 = none */
	struct link_rule links;
	uint32_t shapes; /* inventory.shapes */
	/* made at once, where nothing but ports differs from what is published; else NULL */
	struct topo *topo;
	struct topo_builder *builder; /* NULL where topo is made */
};

/* The parts are the caller's, to be frozen or dropped. */
struct snapshot_parts fabric_snapshot_collect(struct fabric *f);
/* The snapshot, the caller's reference. The draft keeps links and shapes, and needs no drop. */
struct topo *fabric_snapshot_freeze(struct snapshot_parts *draft);
void fabric_snapshot_drop(struct snapshot_parts *draft);

#endif
