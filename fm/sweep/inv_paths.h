/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inv_paths: directed routes to what the inventory knows, and its names for people (see
 * inventory.h).
 */
#ifndef FMD_SWEEP_INV_PATHS_H
#define FMD_SWEEP_INV_PATHS_H

#include "fm/sweep/inv_node.h"

struct inventory;

/* Paths. The path to a CA's port is the one that enters by that port. False = none is known. */
bool inventory_port_path(struct inventory *inv, const struct inv_node *node, uint8_t port,
			 struct mad_path *path);
bool inventory_path_add(const struct mad_path *from, uint8_t port,
			struct mad_path *to); /* false: 63 hops */
void inventory_path_worked(struct inventory *inv, const struct mad_path *path);
/* Links that nothing passed since `since` (inv.clock when the request left) become suspect. */
void inventory_path_failed(struct inventory *inv, const struct mad_path *path, uint32_t since);
void inventory_update_paths(
	struct inventory *inv); /* shortest over good links; a good one is kept; sets gone */

/* `sw leaf-03 0x...`, `ca ... p1`; port < 0: the node alone. */
struct inv_name {
	char text[128];
};
struct inv_name inventory_name(const struct inv_node *node, int port);
/* A link by one of its ends, both of them named; by GUID where that end is not known. */
struct inv_link_name {
	char text[212];
};
struct inv_link_name inventory_link_name(const struct inventory *inv, guid_t node, uint8_t port);

#endif
