/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * view: the fabric's nodes as devices of the machines they are in, and what libibumad tells of
 * them.
 */
#pragma once

#include "tests/fabric/double_own.h"
#include "tests/sim/frame.h"

/*
 * Nodes of the machine that `name` stands for, at most FRAME_DEVICES, in the order of their devices
 * mlx5_0, mlx5_1 ..: a host has all of its adapters, a node by its id (`H-0002c903..`, `S-..`),
 * GUID or description is a machine with one device. Empty: the first adapter that is no aggregation
 * node.
 */
unsigned view_devices(const struct double_fabric *d, const char *name,
		      struct dnode *nodes[FRAME_DEVICES]);

void view_ca(const struct dnode *node, struct frame_ca *ca);
bool view_port(const struct dnode *node, unsigned num,
	       struct frame_port *port); /* false: no such one */

/*
 * For tools that know no hosts or LIDs: `NODE`, `NODE:PORT` or `"NODE"[PORT]`, or a host of one
 * HCA. *port is 0 when none was written; 0 itself is no port to write. Returns the node index, or
 * TOPO_NONE with the reason in err.
 */
uint32_t topo_resolve(const struct topo *t, const char *what, unsigned *port, char *err,
		      size_t err_size);
