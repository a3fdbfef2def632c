/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Rows of nodes, ports, links and tables (IBA 15.2.5). Who is there, its LIDs, links and tables are
 * the view's; attribute bytes are the inventory's, read at the moment of the answer. LIDs are base
 * LIDs; a port of a switch goes by the LID of its switch.
 *
 * Of PortInfo the M_Key is shown to nobody: no client needs it from the SA, and whoever has it may write tables. It is hidden
 * before rows are matched, so that it cannot be found out by asking for it either.
 */
#include <string.h>
#include "fm/sa/sa_rows.h"

#define QDR_BIT 4 /* of LinkSpeedActive, Enabled, Supported */
#define OPTIONS_FULL                                                                               \
	0x80 /* PortInfoRecord: as read, not dressed for hosts that know no extended speeds */
#define GUIDS_A_BLOCK	    8
#define PKEYS_A_BLOCK	    32
#define BLOCKS(count, each) ((unsigned)((count) + (each)-1) / (each))

static const struct topo_node *node_of(const struct sa_query *q, uint32_t item)
{
	return &q->sa->view.topo->nodes[item];
}

/* NULL: no longer there. */
static const struct inv_node *inv_of(const struct sa_query *q, uint32_t item)
{
	const struct inv_node *inv = inventory_find(q->sa->inv, node_of(q, item)->guid);

	return inv && !inv->gone ? inv : NULL;
}

uint16_t sa_port_lid(const struct sa *sa, uint32_t port)
{
	const struct topo *t = sa->view.topo;
	const struct topo_node *node = &t->nodes[t->ports[port].node];

	return sa->view.lids->lid_of_port[node->type == TOPO_SWITCH ? node->port0 : port];
}

/* First and last port that are ends of paths: a switch's port 0, or all ports of a CA. */
static unsigned first_end(const struct topo_node *node)
{
	return node->type == TOPO_SWITCH ? 0 : 1;
}

static unsigned last_end(const struct topo_node *node)
{
	return node->type == TOPO_SWITCH ? 0 : node->nports;
}

static const uint8_t *port_info_of(const struct inv_node *inv, unsigned num)
{
	return num <= inv->nports && inv->ports[num].known ? inv->ports[num].info : NULL;
}

/* ---- NodeRecord, SwitchInfoRecord ------------------------------------------------------------ */

void sa_node_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = node_of(q, item);
	const struct inv_node *inv = inv_of(q, item);
	struct wire_node_info info;

	if (!inv)
		return;
	info = inv->info;
	for (unsigned num = first_end(node); num <= last_end(node); num++) {
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

/* LinearFDBTop is the view's: the inventory knows it from the last Get, before the tables were
 * written. */
void sa_switch_emit(struct sa_query *q, uint32_t item)
{
	const struct inv_node *inv = inv_of(q, item);
	struct wire_switch_info info;
	uint8_t *row = sa_row(q);

	if (!inv || !row || !sa_shown(q, node_of(q, item)->port0))
		return;
	info = inv->sw;
	info.lft_top = q->sa->view.tables->top;
	wire_switch_record_encode(sa_port_lid(q->sa, node_of(q, item)->port0), &info, row);
	sa_row_keep(q);
}

/* ---- PortInfoRecord -------------------------------------------------------------------------- */

/* IBA 15.2.5.3: unless asked for the full record, an extended speed shows as QDR too. */
static void speed_dress(const uint8_t data[64], uint8_t dressed[64])
{
	struct wire_port_info info;

	wire_port_info_decode(data, &info);
	info.speed_active |= QDR_BIT;
	info.speed_enabled |= QDR_BIT;
	info.speed_supported |= QDR_BIT;
	wire_port_info_encode(&info, dressed);
}

/* Of a switch the capabilities are those of port 0. */
static bool has_extended_speeds(const struct topo_node *node, const struct inv_node *inv,
				const uint8_t *info)
{
	struct wire_port_caps caps;
	const uint8_t *of = node->type == TOPO_SWITCH ? port_info_of(inv, 0) : info;

	if (!of)
		return false;
	wire_port_caps_decode(of, &caps);
	return caps.capmask & WIRE_CAP_EXT_SPEEDS;
}

static void port_row(struct sa_query *q, const struct topo_node *node, const struct inv_node *inv,
		     unsigned num)
{
	uint8_t options = sa_asked(q, WIRE_PORT_OPTIONS)
				  ? (uint8_t)wire_sa_get(wire_sa_layout(WIRE_SA_PORT_INFO),
							 WIRE_PORT_OPTIONS, q->data)
				  : 0;
	const uint8_t *info = port_info_of(inv, num);
	uint8_t dressed[64], *row = sa_row(q);

	if (!info || !row || !sa_shown(q, node->port0 + num))
		return;
	if (!(options & OPTIONS_FULL) && wire_port_info_extended(info) &&
	    has_extended_speeds(node, inv, info)) {
		speed_dress(info, dressed);
		info = dressed;
	}
	wire_port_record_encode(sa_port_lid(q->sa, node->port0 + num), (uint8_t)num, options, info,
				row);
	wire_port_record_hide_mkey(row);
	sa_row_keep(q);
}

void sa_port_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = node_of(q, item);
	const struct inv_node *inv = inv_of(q, item);

	for (unsigned num = first_end(node); inv && num <= node->nports; num++)
		port_row(q, node, inv, num);
}

/* ---- LinkRecord ------------------------------------------------------------------------------ */

/* Each cable is there from both its ends; those that are down are not. */
void sa_link_emit(struct sa_query *q, uint32_t item)
{
	const struct topo *t = q->sa->view.topo;
	const struct topo_node *node = node_of(q, item);

	for (unsigned num = 1; num <= node->nports; num++) {
		uint32_t port = node->port0 + num;
		const struct topo_port *peer = topo_peer(t, &t->ports[port]);
		uint8_t *row = sa_row(q);

		if (!row || !peer || !t->ports[port].link_up)
			continue;
		if (!sa_shown(q, port) || !sa_shown(q, t->ports[port].peer))
			continue;
		wire_link_record_encode(
			&(struct wire_link_record){
				.from_lid = sa_port_lid(q->sa, port),
				.from_port = (uint8_t)num,
				.to_lid = sa_port_lid(q->sa, t->ports[port].peer),
				.to_port = peer->num,
			},
			row);
		sa_row_keep(q);
	}
}

/* ---- Tables ---------------------------------------------------------------------------------- */

void sa_lft_emit(struct sa_query *q, uint32_t item)
{
	const struct tables *tables = q->sa->view.tables;
	uint16_t lid = sa_port_lid(q->sa, node_of(q, item)->port0);

	q->work++;
	if (!sa_shown(q, node_of(q, item)->port0))
		return;
	for (uint32_t block = 0; block < tables_blocks(tables); block++) {
		uint8_t *row = sa_row(q);

		if (!row)
			return;
		wire_lft_record_encode(lid, (uint16_t)block,
				       tables_row(tables, item) + (size_t)block * TABLES_BLOCK,
				       row);
		sa_row_keep(q);
	}
}

static void guid_rows(struct sa_query *q, uint32_t port, const uint8_t *info)
{
	struct wire_port_caps caps;

	wire_port_caps_decode(info, &caps);
	for (unsigned b = 0; b < BLOCKS(caps.guid_cap, GUIDS_A_BLOCK); b++) {
		guid_t guids[GUIDS_A_BLOCK];
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

enum wire_sa_status sa_guid_prepare(struct sa_query *q)
{
	return is_change(q) ? sa_alias_change(q) : sa_walk_nodes(q);
}

/* What a change came to lies over the request. */
static void guid_echo(struct sa_query *q)
{
	memcpy(sa_row(q), q->data, q->record->row_size);
	sa_row_add(q);
}

void sa_guid_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node;
	const struct inv_node *inv;

	if (is_change(q)) {
		guid_echo(q);
		return;
	}
	node = node_of(q, item);
	inv = inv_of(q, item);
	for (unsigned num = first_end(node); inv && num <= last_end(node); num++) {
		const uint8_t *info = port_info_of(inv, num);

		if (info && sa_shown(q, node->port0 + num))
			guid_rows(q, node->port0 + num, info);
	}
}

/* ---- P_KeyTableRecord ------------------------------------------------------------------------ */

/* What the port last said; of one that keeps its table to itself, what it has after power-on. */
static void pkeys_of(const struct inv_port *port, unsigned block, uint16_t pkeys[PKEYS_A_BLOCK])
{
	const struct inv_pkeys *table = port->pkeys;

	memset(pkeys, 0, PKEYS_A_BLOCK * sizeof(*pkeys));
	if (table && block < table->nblocks && table->known >> block & 1)
		memcpy(pkeys, table->have + block * PKEYS_A_BLOCK, PKEYS_A_BLOCK * sizeof(*pkeys));
	else if (!block)
		pkeys[0] = SA_DEFAULT_PKEY;
}

static void pkey_rows(struct sa_query *q, uint32_t port, const struct inv_port *inv, unsigned cap)
{
	for (unsigned b = 0; b < BLOCKS(cap, PKEYS_A_BLOCK); b++) {
		uint8_t *row = sa_row(q);
		uint32_t before = q->nrows;
		uint16_t pkeys[PKEYS_A_BLOCK];

		if (!row)
			return;
		pkeys_of(inv, b, pkeys);
		wire_pkey_record_encode(sa_port_lid(q->sa, port), q->sa->view.topo->ports[port].num,
					(uint16_t)b, pkeys, row);
		sa_row_keep(q);
		if (q->nrows != before && q->sa->conf.pkey_host_order)
			wire_pkey_record_dress(row);
	}
}

/* A block is asked for by its number as the standard has it, or as OpenSM shows it. */
enum wire_sa_status sa_pkey_prepare(struct sa_query *q)
{
	wire_pkey_record_undress(q->data);
	return sa_walk_nodes(q);
}

void sa_pkey_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = node_of(q, item);
	const struct inv_node *inv = inv_of(q, item);

	for (unsigned num = first_end(node); inv && num <= node->nports; num++)
		if (port_info_of(inv, num) && sa_shown(q, node->port0 + num))
			pkey_rows(q, node->port0 + num, &inv->ports[num],
				  num <= last_end(node) ? node->pkey_cap : inv->sw.enforce_cap);
}

/* ---- SMInfoRecord, ClassPortInfo ------------------------------------------------------------- */

/* This one, then the others. */
enum wire_sa_status sa_sm_walk(struct sa_query *q)
{
	q->item = 0;
	q->end = 1 + q->sa->nmanagers;
	return WIRE_SA_OK;
}

/* What answers as SA is master (IBA 15.4.1). */
static struct sa_manager this_manager(const struct sa *sa, uint32_t port)
{
	return (struct sa_manager){ .lid = sa->view.sm_lid,
				    .guid = sa->view.topo->ports[port].guid,
				    .info = { .act_count = (uint32_t)mad_stats(sa->mad).sent,
					      .priority = sa->conf.sm_priority,
					      .state = 3 } };
}

/* No SM_Key is shown. */
void sa_sm_emit(struct sa_query *q, uint32_t item)
{
	const struct sa *sa = q->sa;
	uint8_t *row = sa_row(q);
	struct sa_manager m = { 0 };
	uint32_t port;

	if (item && item <= sa->nmanagers)
		m = sa->managers[item - 1];
	port = item ? sa_port_by_guid(sa, m.guid) : sa_port_by_lid(sa, sa->view.sm_lid);
	if (port == TOPO_NONE || !row || !sa_shown(q, port))
		return;
	if (!item)
		m = this_manager(sa, port);
	m.info.guid = m.guid;
	m.info.sm_key = 0;
	wire_sm_record_encode(sa_port_lid(sa, port), &m.info, row);
	sa_row_keep(q);
}

void sa_class_port_info_emit(struct sa_query *q, uint32_t item)
{
	const struct wire_class_port_info info = {
		.cap_mask = WIRE_SA_CAP_CAPMASK_MATCH | WIRE_SA_CAP_SUBSCRIPTIONS |
			    WIRE_SA_CAP_OPTIONAL_RECORDS | WIRE_SA_CAP_MULTICAST |
			    WIRE_SA_CAP_MULTI_PATH,
		.cap_mask2 = WIRE_SA_CAP2_MCAST_TOP | WIRE_SA_CAP2_FULL_PORT_INFO |
			     WIRE_SA_CAP2_EXT_SPEEDS | WIRE_SA_CAP2_CAPMASK2_MATCH |
			     WIRE_SA_CAP2_SEND_ONLY_FULL | WIRE_SA_CAP2_WIDTH_2X |
			     WIRE_SA_CAP2_HDR | WIRE_SA_CAP2_NDR | WIRE_SA_CAP2_ALIAS_GUIDS |
			     WIRE_SA_CAP2_MCAST_SERVICES,
		.resp_time = 16, /* 4.096 us * 2^16 = 268 ms */
	};
	uint8_t *row = sa_row(q);

	wire_class_port_info_encode(&info, row);
	sa_row_add(q);
}
