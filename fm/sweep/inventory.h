/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inventory: what the hardware last said, node by node; the only mutable record of the fabric.
 * sweep fills it, bringup and program read the ways and write back what Sets answered. Snapshots are made from it.
 */
#ifndef FMD_SWEEP_INVENTORY_H
#define FMD_SWEEP_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <complib/cl_qmap.h>
#include "fm/mad/mad.h"
#include "topology/topo.h"

struct inv_port {
	uint8_t info[64];       /* PortInfo as last answered */
	struct inv_node *peer;  /* NULL = no cable known */
	uint8_t peer_port;
	bool known;             /* info was read */
	bool link_up;
};

struct inv_node {
	cl_map_item_t item; /* in inventory.nodes, key = node GUID */
	guid_t guid;
	struct wire_node_info info; /* as seen by the port it was first met at */
	struct wire_switch_info sw; /* switches */
	char desc[65];
	bool have_desc;
	bool silent;            /* does not answer although its link is up: kept, retried later */
	uint8_t nports;
	struct mad_path path;   /* a directed route to it from the SM's port */
	uint32_t seen;          /* number of the sweep that met it last */
	guid_t *port_guids;     /* CAs: by port number, 0 = not met */
	struct inv_port *ports; /* [nports + 1] by port number; 0 = a switch's own port */
};

struct inventory {
	cl_qmap_t nodes;
	struct inv_node *local; /* the SM's own node */
	uint8_t local_port;
	uint32_t nswitches;
};

void inventory_init(struct inventory *inv);
void inventory_fini(struct inventory *inv);
struct inv_node *inventory_find(const struct inventory *inv, guid_t guid); /* or NULL */
struct inv_node *inventory_add(struct inventory *inv, const struct wire_node_info *info);
void inventory_remove(struct inventory *inv, struct inv_node *node); /* its links are cleared at both ends */

/* A snapshot of the present; known cables that are down are in it as such. */
struct topo *inventory_snapshot(const struct inventory *inv);

#endif
