/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mft_shape: sizes come from NodeInfo and SwitchInfo, and are held to what the standard allows. */
#include "fm/mad/wire_sa.h"
#include "fm/program/mft_shape.h"

unsigned mft_positions(const struct inv_node *node)
{
	return node->nports / MCAST_POSITION + 1u;
}

/* There are no more MLIDs, whatever a device says. */
static unsigned mft_cap_of(const struct inv_node *node)
{
	return node->sw.mft_cap < MFT_MLIDS ? node->sw.mft_cap : MFT_MLIDS - 1u;
}

uint16_t mft_top_of(const struct inv_node *node)
{
	return (uint16_t)(MCAST_FIRST_MLID + mft_cap_of(node) - 1);
}

bool mft_has_block(const struct inv_node *node, unsigned block)
{
	return block * MCAST_BLOCK < mft_cap_of(node);
}

/* Bits of ports that the switch has: it may answer anything for the others. */
static uint16_t ports_of(const struct inv_node *node, unsigned position)
{
	unsigned first = position * MCAST_POSITION, nports = node->nports;

	if (first > nports)
		return 0;
	return nports - first >= MCAST_POSITION - 1 ? 0xffff
						    : (uint16_t)((2u << (nports - first)) - 1);
}

void mft_decode(const struct inv_node *node, unsigned position, const uint8_t *data,
		uint16_t masks[MCAST_BLOCK])
{
	wire_mft_decode(data, masks);
	for (unsigned i = 0; i < MCAST_BLOCK; i++)
		masks[i] &= ports_of(node, position);
}
