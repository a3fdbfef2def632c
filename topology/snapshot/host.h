/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* host: groups CAs into machines by their node descriptions, while a snapshot is being made. */
#ifndef FMD_TOPOLOGY_SNAPSHOT_HOST_H
#define FMD_TOPOLOGY_SNAPSHOT_HOST_H

#include "topology/snapshot/topo.h"

struct arena;

/*
 * Fills hosts[] (natural order of their names), host_cas[] (within a host by device name, then
 * GUID) and node.host. Returns, by node index, the natural rank of the CA's device name ("mlx5_3")
 * among all device names of the fabric, TOPO_NONE where the description has none. The caller frees
 * it.
 */
uint32_t *host_group(struct topo *t, struct arena *arena);

/*
 * The name of a CA within its machine ("mlx5_3"), or its whole description where that has no device
 * name. The text belongs to the snapshot and is valid as long.
 */
const char *host_device(const struct topo *t, uint32_t ca);

#endif
