/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From the record to the value: one pass for nodes and ports, one for cables. It runs after each
 * fault, so it decodes PortInfo only of ports that were read.
 */
#include <assert.h>
#include <string.h>
#include "fm/sweep/inventory.h"

static void snapshot_node(struct topo_builder *b, struct inv_node *node)
{
	struct topo_node_attr attr = {
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
		.enhanced_port0 = inv_is_switch(node) && node->sw.flags & INV_ENHANCED_PORT0,
		.sharp = !inv_is_switch(node) && strstr(node->desc, "Aggregation Node"),
	};

	node->handle = topo_builder_node(b, &attr);
	assert(node->handle >= 0); /* types, sizes and GUIDs were checked when it was met */
}

/* Both ends of a cable run at one speed; a CA's own answer may lack the extended fields. */
static uint8_t port_speed(const struct inv_port *port, const struct wire_port_info *info)
{
	enum topo_speed speed = wire_port_info_speed(info), other;
	struct wire_port_info far;

	if (!port->peer || !port->peer->ports[port->peer_port].known)
		return (uint8_t)speed;
	wire_port_info_decode(port->peer->ports[port->peer_port].info, &far);
	other = wire_port_info_speed(&far);
	return (uint8_t)(other > speed ? other : speed);
}

static void snapshot_port(struct topo_builder *b, const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	bool end_port = inv_is_switch(node) ? num == 0 : num > 0;
	struct topo_port_attr attr = { .state = port->state };
	struct wire_port_info info;

	if (node->port_guids)
		attr.guid = node->port_guids[num];
	else if (num == 0)
		attr.guid = node->guid;
	if (port->known) {
		wire_port_info_decode(port->info, &info);
		attr.capmask = info.capmask;
		attr.lid = end_port ? info.lid : 0;
		attr.lmc = end_port ? info.lmc : 0;
		attr.mtu = info.neighbor_mtu;
	}
	if (port->known && attr.state > TOPO_DOWN && num) {
		attr.speed = inv_is_switch(node) ? (uint8_t)wire_port_info_speed(&info)
						 : port_speed(port, &info);
		attr.width = (uint8_t)wire_port_info_lanes(&info);
	}
	topo_builder_port(b, node->handle, num, &attr);
}

static void snapshot_links(struct topo_builder *b, const struct inv_node *node)
{
	unsigned p;
	int err;

	for (p = 1; p <= node->nports; p++) {
		const struct inv_port *port = &node->ports[p];

		if (!port->peer || port->peer->handle < node->handle ||
		    (port->peer == node && port->peer_port < p))
			continue;
		err = topo_builder_link(b, node->handle, p, port->peer->handle, port->peer_port,
					port->link_up);
		assert(!err); /* a cable is at both ends or at none */
		(void)err;
	}
}

struct topo *inventory_snapshot(const struct inventory *inv)
{
	struct topo_builder *b = topo_builder_new();
	struct inv_node *node;
	unsigned p;

	for (node = inventory_first(inv); node; node = inventory_next(inv, node)) {
		snapshot_node(b, node);
		for (p = inv_is_switch(node) ? 0 : 1; p <= node->nports; p++)
			snapshot_port(b, node, p);
	}
	for (node = inventory_first(inv); node; node = inventory_next(inv, node))
		snapshot_links(b, node);
	return topo_freeze(b);
}
