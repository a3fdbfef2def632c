/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_nodes: the node that an item of a walk is (sa_walk_nodes()), for the records of nodes and
 * ports.
 *
 * Who is there, its LIDs, links and tables are the view's; attribute bytes are the inventory's,
 * read at the moment of the answer. What has left the inventory since the publish is left out.
 * Private to fm/sa.
 */
#ifndef FMD_SA_SA_NODES_H
#define FMD_SA_SA_NODES_H

#include "fm/sa/sa_impl.h"

static inline const struct topo_node *sa_node(const struct sa_query *q, uint32_t item)
{
	return &q->sa->view.topo->nodes[item];
}

/* NULL: no longer there. */
static inline const struct inv_node *sa_inv_node(const struct sa_query *q, uint32_t item)
{
	const struct inv_node *inv = inventory_find(q->sa->inv, sa_node(q, item)->guid);

	return inv && !inv->gone ? inv : NULL;
}

/* First and last port that are ends of paths: a switch's port 0, or all ports of a CA. */
static inline unsigned sa_first_end(const struct topo_node *node)
{
	return node->type == TOPO_SWITCH ? 0 : 1;
}

static inline unsigned sa_last_end(const struct topo_node *node)
{
	return node->type == TOPO_SWITCH ? 0 : node->nports;
}

/* The port's PortInfo as last read; NULL: never. */
static inline const uint8_t *sa_port_info(const struct inv_node *inv, unsigned num)
{
	return num <= inv->nports && inv->ports[num].known ? inv->ports[num].info : NULL;
}

#endif
