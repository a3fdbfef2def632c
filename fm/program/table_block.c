/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/program/mft_shape.h"
#include "fm/program/table_block.h"
#include <string.h>
#include "fm/mad/wire_sa.h"

bool table_block_same(const struct table_block *a, const struct table_block *b)
{
	return a->sw == b->sw && a->kind == b->kind && a->block == b->block &&
	       a->position == b->position;
}

static const struct inv_node *node_of(const struct table_source *s, const struct table_block *b)
{
	return inventory_find(s->inventory, b->sw);
}

static bool wanted_mft(const struct table_source *s, const struct table_block *b,
		       uint16_t masks[MCAST_BLOCK])
{
	if (!node_of(s, b) || !mft_expected(s->mft, b->sw, (uint16_t)b->block, b->position, masks))
		return false;
	if (b->altered)
		masks[0] ^= 1;
	return true;
}

/* False: nothing is published for it. */
static bool wanted_lft(const struct table_source *s, const struct table_block *b, uint8_t data[64])
{
	uint32_t sw = topo_find(s->topo, b->sw);

	if (sw >= s->topo->nswitches || b->block >= tables_blocks(s->tables))
		return false;
	memcpy(data, tables_row(s->tables, sw) + (size_t)b->block * TABLES_BLOCK, TABLES_BLOCK);
	return true;
}

static void wanted_top(const struct table_source *s, const struct inv_node *node, uint8_t data[64])
{
	struct wire_switch_info info = node->sw;

	info.lft_top = s->tables->top;
	info.port_state_change = false;
	wire_switch_info_encode(&info, data);
}

static bool wanted(const struct table_source *s, const struct table_block *b, uint8_t data[64])
{
	const struct inv_node *node = node_of(s, b);
	uint16_t masks[MCAST_BLOCK];

	if (b->kind == TABLE_MFT) {
		if (!wanted_mft(s, b, masks))
			return false;
		wire_mft_encode(masks, data);
		return true;
	}
	if (!node || !s->topo || topo_find(s->topo, b->sw) >= s->topo->nswitches)
		return false;
	if (b->kind == TABLE_LFT)
		return wanted_lft(s, b, data);
	wanted_top(s, node, data);
	return true;
}

static bool held_mft(const struct table_source *s, const struct table_block *b, const uint8_t *data)
{
	uint16_t held[MCAST_BLOCK], right[MCAST_BLOCK];

	if (!wanted_mft(s, b, right))
		return false;
	mft_decode(node_of(s, b), b->position, data, held);
	return !memcmp(held, right, sizeof(held));
}

bool table_block_held(const struct table_source *s, const struct table_block *b,
		      const uint8_t *data)
{
	uint32_t first = b->block * TABLES_BLOCK, top = s->tables ? s->tables->top : 0;
	uint32_t count = top < first ? 0 : top - first + 1;
	struct wire_switch_info info;
	uint8_t right[64];

	if (b->kind == TABLE_MFT)
		return held_mft(s, b, data);
	if (!wanted(s, b, right))
		return false;
	if (b->kind == TABLE_TOP) {
		wire_switch_info_decode(data, &info);
		return info.lft_top == top;
	}
	return !memcmp(data, right, count < TABLES_BLOCK ? count : TABLES_BLOCK);
}

static mad_token send(const struct table_source *s, const struct table_block *b, uint8_t method,
		      const uint8_t *data, mad_done_fn *fn, void *arg)
{
	static const uint16_t attributes[] = { WIRE_LFT, WIRE_MFT, WIRE_SWITCH_INFO };
	const struct inv_node *node = node_of(s, b);
	struct mad_path path;
	struct mad_request request = { .method = method,
				       .attr_id = attributes[b->kind],
				       .attr_mod = b->block,
				       .path = &path,
				       .device = b->sw,
				       .data = data };

	if (b->kind == TABLE_MFT)
		request.attr_mod = WIRE_MFT_MODIFIER(b->position, b->block);
	if (!node || node->gone || node->silent ||
	    !inventory_port_path(s->inventory, node, 0, &path))
		return 0;
	return mad_send(s->mad, &request, fn, arg);
}

mad_token table_block_get(const struct table_source *s, const struct table_block *b,
			  mad_done_fn *fn, void *arg)
{
	return send(s, b, WIRE_GET, NULL, fn, arg);
}

mad_token table_block_set(const struct table_source *s, const struct table_block *b,
			  mad_done_fn *fn, void *arg)
{
	uint8_t data[64];

	return wanted(s, b, data) ? send(s, b, WIRE_SET, data, fn, arg) : 0;
}
