/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <assert.h>
#include "tests/lib/aggregation_nodes.h"

static void copy_node(struct topo_builder *b, const struct topo *t, uint32_t n)
{
	const struct topo_node *node = &t->nodes[n];
	struct topo_node attr = { .guid = node->guid,
				  .sys_guid = node->sys_guid,
				  .desc = node->desc,
				  .vendor = node->vendor,
				  .device = node->device,
				  .type = node->type,
				  .nports = (uint8_t)(node->nports + (n < t->nswitches)),
				  .enhanced_port0 = node->enhanced_port0,
				  .sharp = node->sharp };
	int at = topo_builder_node(b, &attr);

	assert(at == (int)n);
	for (unsigned num = 0; num <= node->nports; num++) {
		const struct topo_port *port = topo_port(t, n, num);
		struct topo_port have = { .guid = port->guid,
					  .state = port->state,
					  .speed = port->speed,
					  .width = port->width,
					  .mtu = port->mtu };

		if (num || n < t->nswitches)
			topo_builder_port(b, at, num, &have);
	}
}

static void add_aggregation_node(struct topo_builder *b, const struct topo *t, uint32_t sw)
{
	struct topo_node attr = { .guid = AN_GUID(2 * sw),
				  .sys_guid = t->nodes[sw].sys_guid,
				  .desc = "Mellanox Technologies Aggregation Node",
				  .vendor = 0x2c9,
				  .device = 0xcf09,
				  .type = TOPO_CA,
				  .nports = 1,
				  .sharp = true };
	struct topo_port port = { .state = TOPO_ACTIVE, .speed = TOPO_NDR, .width = 4, .mtu = 5 };
	unsigned num = t->nodes[sw].nports + 1u;
	int node = topo_builder_node(b, &attr);

	topo_builder_port(b, (int)sw, num, &port);
	port.guid = AN_GUID(2 * sw + 1);
	topo_builder_port(b, node, 1, &port);
	topo_builder_link(b, (int)sw, num, node, 1, true);
}

struct topo *with_aggregation_nodes(const struct topo *t)
{
	struct topo_builder *b = topo_builder_new();

	for (uint32_t n = 0; n < t->nnodes; n++)
		copy_node(b, t, n);
	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *port = &t->ports[p], *peer = topo_peer(t, port);

		if (peer && port->peer > p)
			topo_builder_link(b, (int)port->node, port->num, (int)peer->node, peer->num,
					  port->link_up);
	}
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		add_aggregation_node(b, t, sw);
	return topo_freeze(b);
}
