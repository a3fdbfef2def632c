/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * PortInfoRecord and LinkRecord (IBA 15.2.5): ports and the links between them. LIDs are
 * base LIDs; a port of a switch goes by the LID of its switch.
 *
 * Of PortInfo the M_Key is shown to nobody: no client needs it from the SA, and whoever has it may
 * write tables. It is hidden before rows are matched, so that it cannot be found out by asking for
 * it either.
 */
#include "fm/mad/wire_sa_comp.h"
#include "fm/mad/wire_sa_rows.h"
#include "fm/sa/sa_nodes.h"

#define QDR_BIT	     4	  /* of LinkSpeedActive, Enabled, Supported */
#define OPTIONS_FULL 0x80 /* options: as read, not dressed for hosts that know no extended speeds */

/* ---- PortInfoRecord -------------------------------------------------------------------------- */

static const uint16_t port_info_comps[] = {
	WIRE_LID | 16,
	8,
	WIRE_R | 8, /* options say how to answer, not what to match */
	64,
	64,
	16,
	16, /* M_Key, GID prefix, LID, SM LID */
	WIRE_AT_LEAST | 32,
	16,
	16, /* CapabilityMask, diagnostics, M_Key lease */
	8,
	8,
	8,
	8, /* local port, width enabled, supported, active */
	4,
	4,
	4,
	4, /* speed supported, state, physical, down default */
	2,
	WIRE_R | 3,
	3, /* M_Key protection, LMC */
	4,
	4,
	4,
	4, /* speed active, enabled, NeighborMTU, SM SL */
	4,
	4,
	8,
	8,
	8, /* VLCap, InitType, high limit, arbitration caps */
	4,
	4,
	3,
	5, /* InitTypeReply, MTUCap, VLStallCount, HOQLife */
	4,
	1,
	1,
	1,
	1, /* OperationalVLs, enforcement, raw filters */
	16,
	16,
	16,
	8, /* violations, GUIDCap */
	1,
	WIRE_R | 2,
	5,
	WIRE_R | 3,
	5, /* re-register, SubnetTimeOut, RespTimeValue */
	4,
	4,
	16,
	WIRE_R | 8,
	24, /* thresholds, credit hint, round trip */
	WIRE_AT_LEAST | 16,
	4,
	4,
	WIRE_R | 3,
	5, /* CapabilityMask2, extended speeds */
};

enum { COMP_OPTIONS = 2 };

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
	const uint8_t *of = node->type == TOPO_SWITCH ? sa_port_info(inv, 0) : info;

	if (!of)
		return false;
	wire_port_caps_decode(of, &caps);
	return caps.capmask & WIRE_CAP_EXT_SPEEDS;
}

static void port_row(struct sa_query *q, const struct topo_node *node, const struct inv_node *inv,
		     unsigned num)
{
	uint8_t options = sa_asked(q, COMP_OPTIONS)
				  ? (uint8_t)wire_sa_get(&q->record->layout, COMP_OPTIONS, q->data)
				  : 0;
	const uint8_t *info = sa_port_info(inv, num);
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

static void port_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = sa_node(q, item);
	const struct inv_node *inv = sa_inv_node(q, item);

	for (unsigned num = sa_first_end(node); inv && num <= node->nports; num++)
		port_row(q, node, inv, num);
}

const struct sa_record sa_record_port_info = {
	.attr_id = WIRE_SA_PORT_INFO,
	.methods = SA_GET | SA_TABLE,
	.layout = SA_COMPONENTS(port_info_comps),
	.prepare = sa_walk_nodes,
	.emit = port_emit,
};

/* ---- LinkRecord ------------------------------------------------------------------------------ */

static const uint16_t link_comps[] = { WIRE_LID | 16, 8, 8, WIRE_LID | 16 };

/* A link is there from both its ends; those that are down are not. */
static void link_emit(struct sa_query *q, uint32_t item)
{
	const struct topo *t = q->sa->view.topo;
	const struct topo_node *node = sa_node(q, item);

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

const struct sa_record sa_record_link = {
	.attr_id = WIRE_SA_LINK,
	.methods = SA_GET | SA_TABLE,
	.layout = SA_COMPONENTS(link_comps),
	.prepare = sa_walk_nodes,
	.emit = link_emit,
};
