/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inv_names: what nodes of the inventory are called (see inventory.h). inv_node.name is made here
 * alone.
 */
#ifndef FMD_INVENTORY_INV_NAMES_H
#define FMD_INVENTORY_INV_NAMES_H

#include "fm/inventory/inv_node.h"

struct inventory;
struct node_names;

/* A NodeDescription was read; "" = none yet. */
void inventory_set_desc(const struct inventory *inv, struct inv_node *node, const char *desc);
/* Uses another map, borrowed, or NULL = none: names all nodes anew. */
void inventory_name_nodes(struct inventory *inv, const struct node_names *names);
/* Takes the names of a snapshot, which depend on the whole fabric (topology/snapshot/naming.h). */
void inventory_take_names(struct inventory *inv, const struct topo *topo);

#endif
