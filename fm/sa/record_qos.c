/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SLtoVLMappingTableRecord and VLArbitrationTableRecord (IBA 15.2.5.4, 15.2.5.9).
 *
 * Tables are made from the configuration, where bring-up found or made ports to hold them so. Of
 * others, and without QoS, none is read for an answer: all service levels are shown on VL 0 and no
 * arbitration weights, as OpenSM does it, so that tools find a row for each port. Port numbers are
 * of switches: a host's tables are found by its LID, whatever a request has there (osmtest: 0).
 */
#include <string.h>
#include "fm/mad/wire_sa_comp.h"
#include "fm/mad/wire_sa_rows.h"
#include "fm/sa/sa_impl.h"

/* What the port holds of the configuration; NULL: unknown. */
static const struct inv_qos *held(const struct sa_query *q, uint32_t item, unsigned num,
				  unsigned step)
{
	const struct inv_node *node =
		inventory_find(q->sa->inv, q->sa->view.topo->nodes[item].guid);

	if (!q->sa->view.qos || !node || num > node->nports ||
	    !(node->ports[num].qos.held >> step & 1))
		return NULL;
	return &node->ports[num].qos;
}

static const struct qos_tables *tables_for(const struct sa_query *q, uint32_t item, unsigned num)
{
	return &q->sa->view.qos->kind[inv_qos_kind(q->sa->view.topo->nodes[item].type, num)];
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
		qos_sl2vl(tables_for(q, item, of), qos->vls, table);
}

static void sl2vl_row(struct sa_query *q, uint16_t lid, unsigned in, unsigned out,
		      const uint8_t table[8])
{
	uint8_t *row = sa_row(q);

	if (!row)
		return;
	wire_sl2vl_record_encode(lid, (uint8_t)in, (uint8_t)out, table, row);
	sa_row_keep(q);
}

static void sl2vl_of_switch(struct sa_query *q, uint32_t item, const struct topo_node *node)
{
	uint16_t lid = sa_port_lid(q->sa, node->port0);
	uint8_t table[8];

	for (unsigned out = 0; out <= node->nports; out++) {
		mapping(q, item, out, table);
		for (unsigned in = 0; in <= node->nports; in++)
			sl2vl_row(q, lid, in, out, table);
	}
}

static void sl2vl_of_host(struct sa_query *q, uint32_t item, const struct topo_node *node)
{
	uint8_t table[8];

	for (unsigned num = 1; num <= node->nports; num++) {
		uint32_t port = node->port0 + num;

		if (!q->sa->view.lids->lid_of_port[port] || !sa_shown(q, port))
			continue;
		mapping(q, item, num, table);
		sl2vl_row(q, sa_port_lid(q->sa, port), 0, 0, table);
	}
}

static void sl2vl_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = &q->sa->view.topo->nodes[item];

	q->work++;
	if (node->type != TOPO_SWITCH)
		whatever_port(q, item, node, WIRE_BIT(1) | WIRE_BIT(2), sl2vl_of_host);
	else if (sa_shown(q, node->port0))
		sl2vl_of_switch(q, item, node);
}

const struct sa_record sa_record_sl2vl = {
	.attr_id = WIRE_SA_SL2VL,
	.methods = SA_GET | SA_TABLE,
	.layout = SA_COMPONENTS(sl2vl_comps),
	.prepare = sa_walk_nodes,
	.emit = sl2vl_emit,
};

/* ---- VLArbitrationTableRecord ---------------------------------------------------------------- */

static const uint16_t vl_arb_comps[] = { WIRE_LID | 16, 8, 8, WIRE_R | 32, 512 };

static void weights(const struct sa_query *q, uint32_t item, unsigned num, unsigned block,
		    uint8_t table[64])
{
	const struct inv_qos *qos = held(q, item, num, block);
	struct wire_port_info info;

	memset(table, 0, 64);
	if (!qos)
		return;
	wire_port_info_decode(
		inventory_find(q->sa->inv, q->sa->view.topo->nodes[item].guid)->ports[num].info,
		&info);
	qos_arb(tables_for(q, item, num), block,
		qos_arb_entries(block, info.arb_low_cap, info.arb_high_cap), qos->vls, table);
}

static void vl_arb_rows(struct sa_query *q, uint32_t item, unsigned num)
{
	uint32_t port = q->sa->view.topo->nodes[item].port0 + num;

	for (unsigned block = 0; block < QOS_ARB_BLOCKS; block++) {
		uint8_t *row = sa_row(q), table[64];

		if (!row)
			return;
		weights(q, item, num, block, table);
		wire_vl_arb_record_encode(sa_port_lid(q->sa, port), (uint8_t)num,
					  (uint8_t)(block + 1), table, row);
		sa_row_keep(q);
	}
}

static void vl_arb_of_ports(struct sa_query *q, uint32_t item, const struct topo_node *node)
{
	for (unsigned num = node->type == TOPO_SWITCH ? 0 : 1; num <= node->nports; num++)
		if (sa_port_lid(q->sa, node->port0 + num) && sa_shown(q, node->port0 + num))
			vl_arb_rows(q, item, num);
}

static void vl_arb_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = &q->sa->view.topo->nodes[item];

	if (node->type == TOPO_SWITCH)
		vl_arb_of_ports(q, item, node);
	else
		whatever_port(q, item, node, WIRE_BIT(1), vl_arb_of_ports);
}

const struct sa_record sa_record_vl_arb = {
	.attr_id = WIRE_SA_VL_ARB,
	.methods = SA_GET | SA_TABLE,
	.layout = SA_COMPONENTS(vl_arb_comps),
	.prepare = sa_walk_nodes,
	.emit = vl_arb_emit,
};
