/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * uneven: where a fabric's design itself, all known links live, is no even tree: a director that
 * lacks a line card, trunks of different width, hosts on spines, switches chained under a leaf.
 * D-Mod-K's digits are not the best choice there, damage or none. Private to routing/.
 */
#ifndef FMD_ROUTING_UNEVEN_H
#define FMD_ROUTING_UNEVEN_H

#include <stdbool.h>
#include "topology/graph.h"

/* Of the graph by levels. Known-but-down links count: a fault makes no design uneven. */
bool uneven_is(const struct graph *g, const struct topo *t);

#endif
