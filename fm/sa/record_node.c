/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * NodeRecord and SwitchInfoRecord (IBA 15.2.5): what nodes and switches say of themselves.
 */
#include "fm/mad/wire_sa_comp.h"
#include "fm/mad/wire_sa_rows.h"
#include "fm/sa/sa_nodes.h"

/* ---- NodeRecord ------------------------------------------------------------------------------ */

static const uint16_t node_comps[] = {
	WIRE_LID | 16,
	WIRE_R | 16,
	8,
	8,
	8,
	8, /* versions, type, ports */
	64,
	64,
	64,
	16,
	16,
	32, /* GUIDs, PartitionCap, DeviceID, Revision */
	8,
	24,
	512, /* local port, VendorID, description */
};

enum { COMP_NODE_GUID = 7, COMP_PORT_GUID = 8 };

static enum wire_sa_status node_prepare(struct sa_query *q)
{
	const struct topo *t = q->sa->view.topo;
	const struct wire_sa_layout *layout = &q->record->layout;
	uint32_t node = TOPO_NONE, port;

	if (sa_asked(q, WIRE_SA_LID))
		return sa_walk_nodes(q);
	if (sa_asked(q, COMP_NODE_GUID)) {
		node = topo_find(t, wire_sa_get(layout, COMP_NODE_GUID, q->data));
	} else if (sa_asked(q, COMP_PORT_GUID)) {
		port = topo_find_port(t, wire_sa_get(layout, COMP_PORT_GUID, q->data));
		if (port != TOPO_NONE)
			node = t->ports[port].node;
	} else {
		return sa_walk_nodes(q);
	}
	sa_walk_one(q, node, t->nnodes);
	return WIRE_SA_OK;
}

static void node_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = sa_node(q, item);
	const struct inv_node *inv = sa_inv_node(q, item);
	struct wire_node_info info;

	if (!inv)
		return;
	info = inv->info;
	for (unsigned num = sa_first_end(node); num <= sa_last_end(node); num++) {
		uint32_t port = node->port0 + num;
		uint8_t *row = sa_row(q);

		info.port_guid = q->sa->view.topo->ports[port].guid;
		info.local_port = (uint8_t)num;
		if (!row || !info.port_guid) /* a port of the CA that is not on this fabric */
			continue;
		if (!sa_shown(q, port))
			continue;
		wire_node_record_encode(sa_port_lid(q->sa, port), &info, node->desc, row);
		sa_row_keep(q);
	}
}

const struct sa_record sa_record_node = {
	.attr_id = WIRE_SA_NODE,
	.methods = SA_GET | SA_TABLE,
	.layout = SA_COMPONENTS(node_comps),
	.prepare = node_prepare,
	.emit = node_emit,
};

/* ---- SwitchInfoRecord ------------------------------------------------------------------------ */

static const uint16_t switch_info_comps[] = {
	WIRE_LID | 16,
	WIRE_R | 16,
	16,
	16,
	16,
	16, /* caps, LinearFDBTop */
	8,
	8,
	8,
	5,
	1,
	2, /* default ports, life time, change, SL2VL */
	16,
	16,
	1,
	1,
	1,
	1,
	1,
	WIRE_R | 3,
	WIRE_R | 8,
	16, /* MulticastFDBTop */
};

/*
 * LinearFDBTop is the view's: the inventory knows it from the last Get, before the tables were
 * written.
 */
static void switch_emit(struct sa_query *q, uint32_t item)
{
	const struct inv_node *inv = sa_inv_node(q, item);
	struct wire_switch_info info;
	uint8_t *row = sa_row(q);

	if (!inv || !row || !sa_shown(q, sa_node(q, item)->port0))
		return;
	info = inv->sw;
	info.lft_top = q->sa->view.tables->top;
	wire_switch_record_encode(sa_port_lid(q->sa, sa_node(q, item)->port0), &info, row);
	sa_row_keep(q);
}

const struct sa_record sa_record_switch_info = {
	.attr_id = WIRE_SA_SWITCH_INFO,
	.methods = SA_GET | SA_TABLE,
	.layout = SA_COMPONENTS(switch_info_comps),
	.prepare = sa_walk_switches,
	.emit = switch_emit,
};
