/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * LinearForwardingTableRecord and MulticastForwardingTableRecord (IBA 15.2.5): a row a
 * block, as the published view has it.
 */
#include "fm/mad/wire_sa_rows.h"
#include "fm/sa/sa_nodes.h"

static const uint16_t lft_comps[] = { WIRE_LID | 16, 16, WIRE_R | 32, 512 };

static void lft_emit(struct sa_query *q, uint32_t item)
{
	const struct tables *tables = q->sa->view.tables;
	uint16_t lid = sa_port_lid(q->sa, sa_node(q, item)->port0);

	q->work++;
	if (!sa_shown(q, sa_node(q, item)->port0))
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

const struct sa_record sa_record_lft = {
	.attr_id = WIRE_SA_LFT,
	.methods = SA_GET | SA_TABLE,
	.layout = SA_COMPONENTS(lft_comps),
	.prepare = sa_walk_switches,
	.emit = lft_emit,
};

static const uint16_t mft_comps[] = { WIRE_LID | 16, 4, WIRE_R | 3, 9, WIRE_R | 32, 512 };

static void mft_row(struct sa_query *q, uint32_t sw, uint16_t block, uint8_t position)
{
	const struct topo_node *node = &q->sa->view.topo->nodes[sw];
	uint16_t masks[MCAST_BLOCK];
	uint8_t *row = sa_row(q);

	if (!row)
		return;
	q->work++;
	if (!mcast_plan_masks(q->sa->trees, node->guid, block, position, masks))
		return;
	wire_mft_record_encode(sa_port_lid(q->sa, node->port0), position, block, masks, row);
	sa_row_keep(q);
}

/* Blocks in which a port is set; of an empty one there is nothing to say. */
static void mft_emit(struct sa_query *q, uint32_t item)
{
	const struct mcast_plan *trees = q->sa->trees;
	unsigned positions = q->sa->view.topo->nodes[item].nports / MCAST_POSITION + 1u;
	unsigned blocks = 0;

	q->work++;
	if (trees && trees->ntrees)
		blocks = (trees->trees[trees->ntrees - 1].mlid - MCAST_FIRST_MLID) / MCAST_BLOCK +
			 1u;
	for (unsigned block = 0; block < blocks; block++)
		for (unsigned position = 0; position < positions; position++)
			mft_row(q, item, (uint16_t)block, (uint8_t)position);
}

const struct sa_record sa_record_mft = {
	.attr_id = WIRE_SA_MFT,
	.methods = SA_GET | SA_TABLE,
	.layout = SA_COMPONENTS(mft_comps),
	.prepare = sa_walk_switches,
	.emit = mft_emit,
};
