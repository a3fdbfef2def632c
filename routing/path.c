/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* path: follows one packet through the tables, as the switches would (see path.h). */
#include <errno.h>
#include "routing/path.h"

static void add_hop(struct path *path, uint32_t node, uint8_t in_port, uint8_t out_port)
{
	path->hops[path->count++] = (struct path_hop){ node, in_port, out_port };
}

static bool is_forwarder(const struct topo *t, uint32_t node)
{
	return t->nodes[node].type == TOPO_SWITCH;
}

/* The port a packet leaves by, 0 = it is for this switch; negative: nowhere. */
static int out_port(const struct topo *t, const struct tables *tables, uint32_t sw, uint16_t lid)
{
	unsigned port = lid <= tables->top ? tables_row(tables, sw)[lid] : TABLES_NO_ROUTE;

	if (port > t->nodes[sw].nports)
		return -EHOSTUNREACH;
	if (port && !topo_port(t, sw, port)->link_up)
		return -EHOSTUNREACH;
	return port;
}

int path_trace(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
	       uint32_t from_port, uint16_t to_lid, struct path *out)
{
	uint32_t to_port = to_lid && to_lid <= lids->top ? lids->port_of_lid[to_lid] : TOPO_NONE;
	const struct topo_port *at = &t->ports[from_port];

	out->count = 0;
	if (to_port == TOPO_NONE)
		return -ENOENT;
	if (to_port == from_port) {
		add_hop(out, at->node, 0, 0);
		return 0;
	}
	uint8_t in_port = 0;
	if (!is_forwarder(t, at->node)) {
		if (!at->link_up)
			return -EHOSTUNREACH;
		add_hop(out, at->node, 0, at->num);
		at = topo_peer(t, at);
		in_port = at->num;
	}
	while (is_forwarder(t, at->node) && out->count < PATH_MAX_HOPS - 1) {
		int port = out_port(t, tables, at->node, to_lid);

		if (port < 0)
			return port;
		add_hop(out, at->node, in_port, port);
		if (port == 0)
			return t->ports[to_port].node == at->node ? 0 : -EHOSTUNREACH;
		at = topo_peer(t, topo_port(t, at->node, port));
		in_port = at->num;
	}
	if (is_forwarder(t, at->node))
		return -ELOOP;
	add_hop(out, at->node, in_port, 0);
	return at == &t->ports[to_port] ? 0 : -EHOSTUNREACH;
}
