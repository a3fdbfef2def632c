/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* islands: connected parts: switches that links which are up connect, cordoned or not. */
#ifndef FMD_TOPOLOGY_GRAPH_ISLANDS_H
#define FMD_TOPOLOGY_GRAPH_ISLANDS_H

#include "topology/snapshot/topo.h"

/*
 * By switch, the number of its island, 0 to *count - 1; the caller frees it. Linear in the number
 * of ports.
 */
uint32_t *islands_find(const struct topo *t, uint32_t *count);

#endif
