/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * graph_own: the stages of graph_new(), in the order of their calls: families and topological
 * numbers, the order of subtrees, parents and slots. Private to topology/. A stage writes to the
 * graph or list that it is given, which stays the caller's. None fails.
 */
#ifndef FMD_TOPOLOGY_GRAPH_OWN_H
#define FMD_TOPOLOGY_GRAPH_OWN_H

#include "topology/graph.h"

/* family.c, called by graph_new() on the oriented graph: families, slots, topological numbers. */
void family_assign(struct graph *g);
/*
 * subtree.c: brings switches, all of them, into the order of their subtrees; equals stay as they
 * are. place: by switch, the lowest port that it hangs on.
 */
void subtree_sort(const struct graph *g, const uint32_t *place, uint32_t *switches);
/*
 * slots.c: parents and slots of all families. batch_of: by switch, equal numbers = the same
 * parents.
 */
void slots_assign(struct graph *g, const uint32_t *batch_of);

#endif
