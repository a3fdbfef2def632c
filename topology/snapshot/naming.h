/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * naming: the name of a node in all texts for people. topo_freeze() calls naming_assign(), and
 * texts use topo_node.name.
 *
 *   a name of the node-name-map            as it is
 *   "MF0;leaf-3:MQM9700/U1"                "leaf-3/U1": without what all switches have in common
 *   "" (none was read)                     "0x0002c9030000a3c0"
 *   "Quantum Mellanox Technologies",
 *   "localhost HCA-1", and what others
 *   are called too                         with the GUID's end: "localhost HCA-1 ..00a3c0"
 *
 * The NodeDescription itself stays in topo_node.desc.
 */
#ifndef FMD_TOPOLOGY_SNAPSHOT_NAMING_H
#define FMD_TOPOLOGY_SNAPSHOT_NAMING_H

#include "topology/snapshot/topo_value.h"

#define NAMING_MAX 96 /* bytes of a name with its end, the closing 0 included */

/* Whether a description is empty, or comes with the hardware or driver and names no host. */
bool naming_is_factory(const char *desc);

/*
 * Writes the name of a node without a snapshot to compare it with; `label` as in topo_node. Returns
 * the name's length; buf gets at most NAMING_MAX bytes.
 */
int naming_alone(const char *desc, const char *label, guid_t guid, char buf[NAMING_MAX]);

#endif
