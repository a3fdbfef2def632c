/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * uneven: whether a fabric's design, with all known links live, is no even tree: a director that
 * lacks a line card, trunks of different width, hosts on spines, switches chained under a leaf.
 * D-Mod-K's digits are not the best choice there, with or without damage. Private to routing/.
 */
#ifndef FMD_ROUTING_UNEVEN_H
#define FMD_ROUTING_UNEVEN_H

#include <stdbool.h>
#include "topology/graph/graph.h"

/* Judges a graph made GRAPH_BY_LEVEL. Links that are down count: a fault makes nothing uneven. */
bool uneven_is(const struct graph *g, const struct topo *t);

#endif
