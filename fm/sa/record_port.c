/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/wire_sa.h"
#include "fm/inventory/port_setup.h"
#include "fm/sa/sa_impl.h"

/*
 * LinearForwardingTableRecord and MulticastForwardingTableRecord (IBA 15.2.5): a row a
 * block, as the published view has it.
 */

static const uint16_t lft_comps[] = { WIRE_LID | 16, 16, WIRE_R | 32, 512 };

static void lft_emit(struct sa_query *q, uint32_t item)
{
	const struct tables *tables = q->sa->view.tables;
	uint16_t lid = sa_port_lid(q->sa, sa_node(q, item)->port0);

	q->work++;
	if (!sa_shown(q, sa_node(q, item)->port0))
		return;
	for (uint32_t block = 0; block < tables_blocks(tables); block++)
		if (!sa_row_put(q, SA_FIRST(lid, block, 0),
				tables_row(tables, item) + (size_t)block * TABLES_BLOCK,
				TABLES_BLOCK))
			return;
}

SA_RECORD_TO_READ(lft, WIRE_SA_LFT, lft_comps, sa_walk_switches, lft_emit)

static const uint16_t mft_comps[] = { WIRE_LID | 16, 4, WIRE_R | 3, 9, WIRE_R | 32, 512 };

/* Blocks in which a port is set; of an empty one there is nothing to say. */
static void mft_emit(struct sa_query *q, uint32_t item)
{
	const struct mcast_plan *trees = q->sa->trees;
	const struct topo_node *node = sa_node(q, item);
	unsigned positions = node->nports / MCAST_POSITION + 1u;
	unsigned blocks = 0;

	q->work++;
	if (trees && trees->ntrees)
		blocks = (trees->trees[trees->ntrees - 1].mlid - MCAST_FIRST_MLID) / MCAST_BLOCK +
			 1u;
	for (uint16_t block = 0; block < blocks; block++)
		for (uint8_t position = 0; position < positions; position++) {
			uint16_t masks[MCAST_BLOCK], lid = sa_port_lid(q->sa, node->port0);
			uint8_t data[WIRE_SMP_DATA];

			q->work++;
			if (!mcast_plan_masks(trees, node->guid, block, position, masks))
				continue;
			wire_words_encode(masks, data);
			if (!sa_row_put(q, SA_FIRST(lid, position, 0, block, 0), data,
					sizeof(data)))
				return;
		}
}

SA_RECORD_TO_READ(mft, WIRE_SA_MFT, mft_comps, sa_walk_switches, mft_emit)

/*
 * P_KeyTableRecord (IBA 15.2.5), for requests with the SM_Key: the tables as ports acknowledged
 * them.
 */

#define PKEYS_A_BLOCK 32

static const uint16_t pkey_comps[] = { WIRE_LID | 16, 16, 8, WIRE_R | 8, WIRE_R | 16, 512 };

enum { COMP_PKEY_BLOCK = 1 };

/*
 * A block is asked for by its number as the standard has it, or with its bytes swapped as OpenSM
 * shows it: no port has 256 blocks.
 */
static enum wire_sa_status pkey_prepare(struct sa_query *q)
{
	uint16_t block = wire_sa_get(&q->record->layout, COMP_PKEY_BLOCK, q->data);

	if (block > UINT8_MAX && !(block & UINT8_MAX))
		wire_sa_put(&q->record->layout, COMP_PKEY_BLOCK, block >> 8, q->data);
	return sa_walk_nodes(q);
}

/* What a port last answered; of one that does not report its table, what it has after power-on. */
static void pkey_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = sa_node(q, item);
	const struct inv_node *inv = sa_inv_node(q, item);

	for (unsigned num = sa_first_end(node); inv && num <= node->nports; num++) {
		uint32_t port = node->port0 + num, before;
		unsigned cap = num <= sa_last_end(node) ? node->pkey_cap : inv->sw.enforce_cap;

		if (!sa_port_info(inv, num) || !sa_shown(q, port))
			continue;

		const struct inv_pkeys *table = port_setup(inv, num)->pkeys;

		for (unsigned b = 0; b < (cap + PKEYS_A_BLOCK - 1) / PKEYS_A_BLOCK; b++) {
			uint16_t pkeys[PKEYS_A_BLOCK] = { 0 };
			uint8_t data[WIRE_SMP_DATA], *row = sa_row(q);

			if (table && b < table->nblocks && table->known >> b & 1)
				memcpy(pkeys, table->have + b * PKEYS_A_BLOCK, sizeof(pkeys));
			else if (!b)
				pkeys[0] = SA_DEFAULT_PKEY;
			wire_words_encode(pkeys, data);
			before = q->nrows;
			if (!sa_row_put(q, SA_FIRST(sa_port_lid(q->sa, port), b, num, 0, 0), data,
					sizeof(data)))
				return;
			if (q->nrows != before && q->sa->conf.pkey_host_order)
				wire_sa_put(&q->record->layout, COMP_PKEY_BLOCK, b << 8 | b >> 8,
					    row);
		}
	}
}

const struct sa_record sa_record_pkey = {
	.attr_id = WIRE_SA_PKEY,
	.methods = SA_GET | SA_TABLE,
	.trusted = true,
	.layout = SA_COMPONENTS(pkey_comps),
	.prepare = pkey_prepare,
	.emit = pkey_emit,
};

/*
 * SLtoVLMappingTableRecord and VLArbitrationTableRecord (IBA 15.2.5.4, 15.2.5.9).
 *
 * Tables are made from the configuration, where bring-up found or made ports to hold them so. Of
 * others, and without QoS, none is read for an answer: all service levels are shown on VL 0 and no
 * arbitration weights, as OpenSM does it, so that tools find a row for each port. Port numbers are
 * of switches: a host's tables are found by its LID, whatever a request has there (osmtest: 0).
 */

/* What the port holds of the configuration; NULL: unknown. */
static const struct inv_qos *held(const struct sa_query *q, uint32_t item, unsigned num,
				  unsigned step)
{
	const struct inv_node *node =
		inventory_find(q->sa->inv, q->sa->view.topo->nodes[item].guid);

	if (!q->sa->view.qos || !node || num > node->nports ||
	    !(port_setup(node, num)->qos.held >> step & 1))
		return NULL;
	return &port_setup(node, num)->qos;
}

typedef void rows_fn(struct sa_query *q, uint32_t item, const struct topo_node *node);

/*
 * Where the request names the host by its LID, components that are port numbers are not looked at.
 */
static void whatever_port(struct sa_query *q, uint32_t item, const struct topo_node *node,
			  uint64_t comps, rows_fn *rows)
{
	struct wire_sa_match asked = q->match;

	if (sa_asked(q, WIRE_SA_LID))
		wire_sa_match_any(&q->match, &q->record->layout, comps);
	rows(q, item, node);
	q->match = asked;
}

/* ---- SLtoVLMappingTableRecord ---------------------------------------------------------------- */

static const uint16_t sl2vl_comps[] = { WIRE_LID | 16, 8, 8, WIRE_R | 32, 64 };

/* `of`: the port that the table belongs to; of a switch the output port. */
static void mapping(const struct sa_query *q, uint32_t item, unsigned of, uint8_t table[8])
{
	const struct inv_qos *qos = held(q, item, of, INV_SL2VL);

	memset(table, 0, 8);
	if (qos)
		qos_sl2vl(&q->sa->view.qos->kind[inv_qos_kind(sa_node(q, item)->type, of)],
			  qos->vls, table);
}

static void sl2vl_of_host(struct sa_query *q, uint32_t item, const struct topo_node *node)
{
	uint8_t table[8];

	for (unsigned num = 1; num <= node->nports; num++) {
		uint32_t port = node->port0 + num;

		if (!q->sa->view.lids->lid_of_port[port] || !sa_shown(q, port))
			continue;
		mapping(q, item, num, table);
		sa_row_put(q, SA_FIRST(sa_port_lid(q->sa, port), 0, 0, 0), table, sizeof(table));
	}
}

static void sl2vl_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = &q->sa->view.topo->nodes[item];
	uint8_t table[8];

	q->work++;
	if (node->type != TOPO_SWITCH) {
		whatever_port(q, item, node, WIRE_BIT(1) | WIRE_BIT(2), sl2vl_of_host);
		return;
	}
	if (!sa_shown(q, node->port0))
		return;

	uint16_t lid = sa_port_lid(q->sa, node->port0);

	for (unsigned out = 0; out <= node->nports; out++) {
		mapping(q, item, out, table);
		for (unsigned in = 0; in <= node->nports; in++)
			sa_row_put(q, SA_FIRST(lid, in, out, 0), table, sizeof(table));
	}
}

SA_RECORD_TO_READ(sl2vl, WIRE_SA_SL2VL, sl2vl_comps, sa_walk_nodes, sl2vl_emit)

/* ---- VLArbitrationTableRecord ---------------------------------------------------------------- */

static const uint16_t vl_arb_comps[] = { WIRE_LID | 16, 8, 8, WIRE_R | 32, 512 };

static void vl_arb_of_ports(struct sa_query *q, uint32_t item, const struct topo_node *node)
{
	struct wire_port_info info;

	for (unsigned num = sa_first_end(node); num <= node->nports; num++) {
		uint16_t lid = sa_port_lid(q->sa, node->port0 + num);

		if (!lid || !sa_shown(q, node->port0 + num))
			continue;
		for (unsigned block = 0; block < QOS_ARB_BLOCKS; block++) {
			const struct inv_qos *qos = held(q, item, num, block);
			uint8_t table[WIRE_SMP_DATA] = { 0 };

			if (qos) {
				wire_port_info_decode(
					inventory_find(q->sa->inv, node->guid)->ports[num].info,
					&info);
				qos_arb(&q->sa->view.qos->kind[inv_qos_kind(node->type, num)],
					block,
					qos_arb_entries(block, info.arb_low_cap, info.arb_high_cap),
					qos->vls, table);
			}
			if (!sa_row_put(q, SA_FIRST(lid, num, block + 1, 0), table, sizeof(table)))
				return;
		}
	}
}

static void vl_arb_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = &q->sa->view.topo->nodes[item];

	if (node->type == TOPO_SWITCH)
		vl_arb_of_ports(q, item, node);
	else
		whatever_port(q, item, node, WIRE_BIT(1), vl_arb_of_ports);
}

SA_RECORD_TO_READ(vl_arb, WIRE_SA_VL_ARB, vl_arb_comps, sa_walk_nodes, vl_arb_emit)

/*
 * PortInfoRecord and LinkRecord (IBA 15.2.5): ports and the links between them. LIDs are
 * base LIDs; a port of a switch goes by the LID of its switch.
 *
 * Of PortInfo the M_Key is shown to nobody: no client needs it from the SA, and a host that has it
 * may write tables. It is hidden before rows are matched, so that it cannot be found out by asking
 * for it either.
 */

#define QDR_BIT	     4	  /* of LinkSpeedActive, Enabled, Supported */
#define OPTIONS_FULL 0x80 /* options: as read, not dressed for hosts that know no extended speeds */

/* ---- PortInfoRecord -------------------------------------------------------------------------- */

enum { LID = WIRE_LID | 16, CAPMASK = WIRE_AT_LEAST | 32, CAPMASK2 = WIRE_AT_LEAST | 16 };

/* The third, options, says how to answer and not what to match; the others: IBA 14.2.5.6. */
static const uint16_t port_info_comps[] = {
	LID, 8, WIRE_R | 8, 64,		64, 16,	      16, CAPMASK,    16,	  16, 8,	  8,
	8,   8, 4,	    4,		4,  4,	      2,  WIRE_R | 3, 3,	  4,  4,	  4,
	4,   4, 4,	    8,		8,  8,	      4,  4,	      3,	  5,  4,	  1,
	1,   1, 1,	    16,		16, 16,	      8,  1,	      WIRE_R | 2, 5,  WIRE_R | 3, 5,
	4,   4, 16,	    WIRE_R | 8, 24, CAPMASK2, 4,  4,	      WIRE_R | 3, 5,
};

enum { COMP_OPTIONS = 2 };

/* IBA 15.2.5.3: unless asked for the full record, an extended speed shows as QDR too. */
static void port_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = sa_node(q, item);
	const struct inv_node *inv = sa_inv_node(q, item);
	uint8_t options = sa_asked(q, COMP_OPTIONS)
				  ? (uint8_t)wire_sa_get(&q->record->layout, COMP_OPTIONS, q->data)
				  : 0;

	for (unsigned num = sa_first_end(node); inv && num <= node->nports; num++) {
		const uint8_t *info = sa_port_info(inv, num);
		/* Of a switch the capabilities are those of port 0. */
		const uint8_t *of = node->type == TOPO_SWITCH ? sa_port_info(inv, 0) : info;
		uint16_t lid = sa_port_lid(q->sa, node->port0 + num);
		struct wire_port_caps caps = { 0 };
		uint8_t shown[WIRE_SMP_DATA];
		struct wire_port_info fast;

		if (!info || !sa_shown(q, node->port0 + num))
			continue;
		memcpy(shown, info, sizeof(shown));
		if (!(options & OPTIONS_FULL) && wire_port_info_extended(info) && of)
			wire_port_caps_decode(of, &caps);
		if (caps.capmask & WIRE_CAP_EXT_SPEEDS) {
			wire_port_info_decode(info, &fast);
			fast.speed_active |= QDR_BIT;
			fast.speed_enabled |= QDR_BIT;
			fast.speed_supported |= QDR_BIT;
			wire_port_info_encode(&fast, shown);
		}
		wire_port_info_show_mkey(shown, 0);
		if (!sa_row_put(q, SA_FIRST(lid, num, options), shown, sizeof(shown)))
			return;
	}
}

SA_RECORD_TO_READ(port_info, WIRE_SA_PORT_INFO, port_info_comps, sa_walk_nodes, port_emit)

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

		if (!peer || !t->ports[port].link_up || !sa_shown(q, port) ||
		    !sa_shown(q, t->ports[port].peer))
			continue;
		sa_row_put(q,
			   SA_FIRST(sa_port_lid(q->sa, port), num, peer->num,
				    sa_port_lid(q->sa, t->ports[port].peer)),
			   "", 0);
	}
}

SA_RECORD_TO_READ(link, WIRE_SA_LINK, link_comps, sa_walk_nodes, link_emit)
