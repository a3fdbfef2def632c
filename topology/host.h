/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* host: machines out of node descriptions. Used by rail_assign() while a snapshot is being made. */
#ifndef FMD_TOPOLOGY_HOST_H
#define FMD_TOPOLOGY_HOST_H

#include "topology/topo.h"

struct arena;

/*
 * Fills hosts[] (natural order of their names), host_cas[] (within a host by device name, then
 * GUID) and node.host. Returns, by node index, the natural rank of the CA's device name ("mlx5_3")
 * among all device names of the fabric, TOPO_NONE where the description has none. The caller frees
 * it.
 */
uint32_t *host_group(struct topo *t, struct arena *arena);

/*
 * What a CA is called within its machine: "mlx5_3"; its whole description where that has no more.
 * As long as the snapshot.
 */
const char *host_device(const struct topo *t, uint32_t ca);

#endif
