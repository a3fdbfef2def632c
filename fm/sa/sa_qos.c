/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SLtoVLMappingTableRecord and VLArbitrationTableRecord (IBA 15.2.5.7, 15.2.5.9).
 *
 * Without QoS nobody has set these tables, and none is read for an answer: all service levels are
 * shown on VL 0 and no arbitration weights, as OpenSM does it, so that tools find a row for each port.
 * Port numbers of a host's SL2VL table are reserved.
 */
#include "fm/sa/sa_impl.h"

#define VL_ARB_BLOCKS 4 /* low priority 1 and 2, high priority 3 and 4 */

static const uint8_t no_mapping[8], no_weights[64];

static void sl2vl_row(struct sa_query *q, uint16_t lid, unsigned in, unsigned out)
{
	uint8_t *row = sa_row(q);

	if (!row)
		return;
	wire_sl2vl_record_encode(lid, (uint8_t)in, (uint8_t)out, no_mapping, row);
	sa_row_keep(q);
}

static void sl2vl_of_switch(struct sa_query *q, const struct topo_node *node)
{
	uint16_t lid = sa_port_lid(q->sa, node->port0);

	for (unsigned out = 0; out <= node->nports; out++)
		for (unsigned in = 0; in <= node->nports; in++)
			sl2vl_row(q, lid, in, out);
}

void sa_sl2vl_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = &q->sa->view.topo->nodes[item];

	if (node->type == TOPO_SWITCH) {
		sl2vl_of_switch(q, node);
		return;
	}
	for (unsigned num = 1; num <= node->nports; num++)
		if (q->sa->view.lids->lid_of_port[node->port0 + num])
			sl2vl_row(q, sa_port_lid(q->sa, node->port0 + num), 0, 0);
}

static void vl_arb_rows(struct sa_query *q, uint32_t port)
{
	for (unsigned block = 1; block <= VL_ARB_BLOCKS; block++) {
		uint8_t *row = sa_row(q);

		if (!row)
			return;
		wire_vl_arb_record_encode(sa_port_lid(q->sa, port),
					  q->sa->view.topo->ports[port].num, (uint8_t)block,
					  no_weights, row);
		sa_row_keep(q);
	}
}

void sa_vl_arb_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = &q->sa->view.topo->nodes[item];

	for (unsigned num = node->type == TOPO_SWITCH ? 0 : 1; num <= node->nports; num++)
		if (sa_port_lid(q->sa, node->port0 + num))
			vl_arb_rows(q, node->port0 + num);
}
