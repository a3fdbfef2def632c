/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * GUIDInfoRecord (IBA 15.2.5.18): the GUIDs of ports, by Get and GetTable; alias GUIDs by Set and
 * Delete.
 *
 * A host requests entries of its port's GUID table by Set and ends them by Delete. LID and block
 * number name the block, and the component mask says which of its eight entries the request is
 * about. The answer shows the block after the change: the SA does not assign a GUID that another
 * port has, and shows the entry as it was. Nobody may change entry 0 of a table, the port's own
 * GUID. Only the port itself may change its table, or a trusted request of a port that shares a
 * partition with it.
 */
#include <string.h>
#include "fm/mad/wire_sa_comp.h"
#include "fm/mad/wire_sa_rows.h"
#include "fm/sa/sa_nodes.h"

static const uint16_t guid_info_comps[] = {
	WIRE_LID | 16, 8, WIRE_R | 8, WIRE_R | 32, 64, 64, 64, 64, 64, 64, 64, 64,
};

/* ---- Set, Delete ----------------------------------------------------------------------------- */

static bool may_change(const struct sa_query *q, uint32_t port)
{
	return port == q->asker ||
	       (q->trusted && q->asker != TOPO_NONE && sa_may_know(q->sa, port, q->asker));
}

/* How many entries the port's table has; 0 = nobody knows. */
static unsigned guid_cap(const struct sa *sa, uint32_t port)
{
	const struct topo *t = sa->view.topo;
	const struct topo_node *node = &t->nodes[t->ports[port].node];
	const struct inv_node *inv = inventory_find(sa->inv, node->guid);
	unsigned num = t->ports[port].num;
	struct wire_port_caps caps;

	if (!inv || num > inv->nports || !inv->ports[num].known)
		return 0;
	wire_port_caps_decode(inv->ports[num].info, &caps);
	return caps.guid_cap;
}

static enum wire_sa_status change_read(const struct sa_query *q, uint16_t *lid,
				       struct sa_alias_change *c)
{
	uint8_t block;
	uint32_t port;
	unsigned cap;

	if (!sa_asked(q, WIRE_SA_LID) || !sa_asked(q, WIRE_GUID_BLOCK))
		return WIRE_SA_INSUF_COMPS;
	wire_guid_record_decode(q->data, lid, &block, c->want);
	port = sa_port_by_lid(q->sa, *lid);
	if (port == TOPO_NONE)
		return WIRE_SA_NO_RECORDS;
	if (!may_change(q, port))
		return WIRE_SA_REQ_INVALID;
	cap = guid_cap(q->sa, port);
	c->port = q->sa->view.topo->ports[port].guid;
	c->first = block * SA_GUIDS_A_BLOCK;
	c->end = c->first + SA_GUIDS_A_BLOCK < cap ? c->first + SA_GUIDS_A_BLOCK : cap;
	c->mask = (uint8_t)(q->comp_mask >> WIRE_GUID_FIRST);
	if (c->first >= cap)
		return WIRE_SA_NO_RECORDS;
	return !block && c->mask & 1 ? WIRE_SA_REQ_INVALID : WIRE_SA_OK;
}

static enum wire_sa_status change(struct sa_query *q)
{
	struct sa *sa = q->sa;
	struct sa_alias_change c = { 0 };
	guid_t guids[SA_GUIDS_A_BLOCK];
	uint16_t lid = 0;
	enum wire_sa_status status = change_read(q, &lid, &c);

	if (!status)
		status = q->method == WIRE_SET ? sa_alias_set(sa, &c) : sa_alias_delete(sa, &c);
	if (status)
		return status;
	sa_alias_guids(sa, c.port, c.first / SA_GUIDS_A_BLOCK, guids);
	wire_guid_record_encode(lid, (uint8_t)(c.first / SA_GUIDS_A_BLOCK), guids, q->data);
	if (c.differs) {
		sa_alias_record(sa, &c);
		if (sa->listener.guids)
			sa->listener.guids(sa->listener.arg, c.port);
	}
	return sa_walk_once(q);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void guid_rows(struct sa_query *q, uint32_t port, const uint8_t *info)
{
	struct wire_port_caps caps;

	wire_port_caps_decode(info, &caps);
	for (unsigned b = 0; b < (caps.guid_cap + SA_GUIDS_A_BLOCK - 1u) / SA_GUIDS_A_BLOCK; b++) {
		guid_t guids[SA_GUIDS_A_BLOCK];
		uint8_t *row = sa_row(q);

		if (!row)
			return;
		sa_alias_guids(q->sa, q->sa->view.topo->ports[port].guid, b, guids);
		wire_guid_record_encode(sa_port_lid(q->sa, port), (uint8_t)b, guids, row);
		sa_row_keep(q);
	}
}

static bool is_change(const struct sa_query *q)
{
	return q->method == WIRE_SET || q->method == WIRE_DELETE;
}

static enum wire_sa_status guid_prepare(struct sa_query *q)
{
	return is_change(q) ? change(q) : sa_walk_nodes(q);
}

/* What a change came to lies over the request. */
static void guid_echo(struct sa_query *q)
{
	memcpy(sa_row(q), q->data, q->record->layout.size);
	sa_row_add(q);
}

static void guid_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node;
	const struct inv_node *inv;

	if (is_change(q)) {
		guid_echo(q);
		return;
	}
	node = sa_node(q, item);
	inv = sa_inv_node(q, item);
	for (unsigned num = sa_first_end(node); inv && num <= sa_last_end(node); num++) {
		const uint8_t *info = sa_port_info(inv, num);

		if (info && sa_shown(q, node->port0 + num))
			guid_rows(q, node->port0 + num, info);
	}
}

const struct sa_record sa_record_guid_info = {
	.attr_id = WIRE_SA_GUID_INFO,
	.methods = SA_GET | SA_TABLE | SA_SET | SA_DELETE,
	.layout = SA_COMPONENTS(guid_info_comps),
	.prepare = guid_prepare,
	.emit = guid_emit,
};
