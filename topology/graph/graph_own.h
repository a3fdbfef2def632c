/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * graph_own: the stages of graph_new(), in the order of their calls: families and topological
 * numbers, the order of subtrees, parents and slots. Private to topology/. A stage writes to the
 * graph or list that it is given, which stays the caller's. None fails.
 */
#ifndef FMD_TOPOLOGY_GRAPH_GRAPH_OWN_H
#define FMD_TOPOLOGY_GRAPH_GRAPH_OWN_H

#include "topology/graph/graph.h"

/* family.c, called by graph_new() on the oriented graph: families, slots, topological numbers. */
void family_assign(struct graph *g);

#endif
