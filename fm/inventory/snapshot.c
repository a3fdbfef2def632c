/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From the record to the value: one pass for nodes and ports, one for links. It runs after each
 * fault, so it takes what was decoded when PortInfo arrived. Mostly nothing but ports differs from
 * the value before; then one pass over the ports does.
 */
#include <assert.h>
#include <string.h>
#include "fm/inventory/inventory.h"
#include "topology/snapshot/topo_builder.h"

/* Whether tables may lead over its link; at both ends alike. */
static bool is_usable(const struct inventory *inv, const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	if (!port->link_up || port->carries || !inv->active_decides)
		return port->link_up;
	return inv_port_is(node, num, INV_KEPT) || (!node->ncarry && inv_node_is(node, INV_LEAF)) ||
	       (!port->peer->ncarry && inv_node_is(port->peer, INV_LEAF));
}

static struct topo_port port_attr(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	bool end_port = inv_is_switch(node) ? num == 0 : num > 0;
	uint8_t marks = *(const uint8_t *)inv_port_cell(node, num, INV_MARKS, 1);
	bool up = num && port->state > TOPO_DOWN;
	/* Both ends of a link run at one speed; a CA's answer may lack the extended fields. */
	uint8_t other =
		port->peer && !inv_is_switch(node) ? port->peer->ports[port->peer_port].speed : 0;

	return (struct topo_port){
		.capmask = port->capmask,
		.lid = end_port ? port->lid : 0,
		.lmc = end_port ? port->lmc : 0,
		.state = port->state,
		.speed = !up		       ? 0
			 : other > port->speed ? other
					       : port->speed,
		.width = up ? port->lanes : 0,
		.mtu = port->mtu,
		.cordoned = marks & (INV_CORDONED | INV_QUARANTINED | INV_ISOLATED),
		.quarantined = marks & INV_QUARANTINED && !(marks & (INV_CORDONED | INV_ISOLATED)),
		.isolated = marks & INV_ISOLATED && !(marks & INV_CORDONED),
	};
}

static void snapshot_links(struct topo_builder *b, const struct inventory *inv,
			   const struct inv_node *node)
{
	for (unsigned p = 1; p <= node->nports; p++) {
		const struct inv_port *port = &node->ports[p];

		/* From the end whose node lies first in memory: once matters, which does not. */
		if (!port->peer || node > port->peer ||
		    (node == port->peer && p >= port->peer_port))
			continue;

		int err = topo_builder_link(b, node->handle, p, port->peer->handle, port->peer_port,
					    is_usable(inv, node, p));

		assert(!err); /* a link is at both ends or at none */
		(void)err;
	}
}

struct topo_builder *inventory_snapshot_builder(const struct inventory *inv)
{
	struct topo_builder *b = topo_builder_new();

	INVENTORY_EACH (inv, node) {
		struct topo_node node_attr = {
			.guid = node->guid,
			.sys_guid = node->info.sys_guid,
			.desc = node->desc,
			.vendor = node->info.vendor,
			.revision = node->info.revision,
			.device = node->info.device,
			.lft_cap = node->sw.lft_cap,
			.mft_cap = node->sw.mft_cap,
			.pkey_cap = node->info.partition_cap,
			.type = node->info.type,
			.nports = node->nports,
			.enhanced_port0 =
				inv_is_switch(node) && node->sw.flags & INV_ENHANCED_PORT0,
			.sharp = inv_is_sharp(node),
		};

		node->handle = topo_builder_node(b, &node_attr);
		assert(node->handle >= 0); /* types, sizes and GUIDs were checked when it was met */
		for (unsigned p = inv_is_switch(node) ? 0 : 1; p <= node->nports; p++) {
			struct topo_port attr = port_attr(node, p);

			if (node->port_guids)
				attr.guid = node->port_guids[p];
			else if (p == 0)
				attr.guid = node->guid;
			topo_builder_port(b, node->handle, p, &attr);
		}
	}
	INVENTORY_EACH (inv, node)
		snapshot_links(b, inv, node);
	INVENTORY_EACH (inv, node)
		for (unsigned p = 0; node->labels && p <= node->nports; p++)
			if (*node->labels[p])
				topo_builder_label(b, node->handle, p, node->labels[p]);
	topo_builder_name(b, inv->names);
	return b;
}

/* ---- The same with other ports --------------------------------------------------------------- */

static bool is_same_node(const struct inv_node *node, const struct topo_node *was)
{
	return node->guid == was->guid && node->info.type == was->type &&
	       node->nports == was->nports && node->info.sys_guid == was->sys_guid &&
	       node->info.vendor == was->vendor && node->info.revision == was->revision &&
	       node->info.device == was->device && node->info.partition_cap == was->pkey_cap &&
	       node->sw.lft_cap == was->lft_cap && node->sw.mft_cap == was->mft_cap &&
	       (inv_is_switch(node) && node->sw.flags & INV_ENHANCED_PORT0) ==
		       was->enhanced_port0 &&
	       inv_is_sharp(node) == was->sharp && !strcmp(node->desc, was->desc);
}

struct topo *inventory_snapshot_ports(const struct inventory *inv, const struct topo *older,
				      uint32_t shapes)
{
	uint32_t sw = 0, ca = older->nswitches;

	if (inv->shapes != shapes || cl_qmap_count(&inv->nodes) != older->nnodes)
		return NULL;

	struct topo *t = topo_with_ports(older);

	INVENTORY_EACH (inv, node) {
		uint32_t n = inv_is_switch(node) ? sw++ : ca++;

		if (n >= older->nnodes || !is_same_node(node, &older->nodes[n])) {
			topo_unref(t);
			return NULL;
		}
		for (unsigned p = inv_is_switch(node) ? 0 : 1; p <= node->nports; p++) {
			struct topo_port attr = port_attr(node, p);

			topo_with_port(t, older->nodes[n].port0 + p, &attr,
				       is_usable(inv, node, p));
		}
	}
	return t;
}
