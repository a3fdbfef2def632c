/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inv_paths: directed routes to what the inventory knows, and its names for people (see
 * inventory.h).
 */
#ifndef FMD_INVENTORY_INV_PATHS_H
#define FMD_INVENTORY_INV_PATHS_H

#include "fm/events/event_log.h"
#include "fm/inventory/inv_node.h"

struct inventory;

/* The path to a node, to a CA's port the one that enters by that port. False: none is known. */
bool inventory_port_path(struct inventory *inv, const struct inv_node *node, uint8_t port,
			 struct mad_path *path);
/* *to: `from`, and out by that port. False: it has 63 hops already, the most there may be. */
bool inventory_path_add(const struct mad_path *from, uint8_t port, struct mad_path *to);
/* A request by that path was answered: its links are not suspect. */
void inventory_path_worked(struct inventory *inv, const struct mad_path *path);
/*
 * A request by that path timed out: links of it that nothing passed since `since` (inv.clock when
 * the request left) become suspect.
 */
void inventory_path_failed(struct inventory *inv, const struct mad_path *path, uint32_t since);
/*
 * Gives each node its shortest path over links that are not suspect; a path without suspect links
 * is kept. A node that no path leads to is `gone`.
 */
void inventory_update_paths(struct inventory *inv);

struct inv_name {
	char text[128];
};
/* `sw leaf-03 0x...`, `ca ... p1`; port < 0: the node alone. */
struct inv_name inventory_name(const struct inv_node *node, int port);
/* The same as the subject of an event or alert, a port with its link; texts are the nodes'. */
struct event_subject inventory_subject(const struct inv_node *node, int port);
struct inv_link_name {
	char text[212];
};
/* A link by one of its ends: names both; by GUID where that end is not known. */
struct inv_link_name inventory_link_name(const struct inventory *inv, guid_t node, uint8_t port);
/* The same as a subject; port 0: the node. What the inventory does not know has its GUID alone. */
struct event_subject inventory_link_subject(const struct inventory *inv, guid_t node, uint8_t port);

#endif
