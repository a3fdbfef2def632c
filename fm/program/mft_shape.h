/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mft_shape: how large a switch's multicast table is, in blocks of MCAST_BLOCK MLIDs by positions
 * of MCAST_POSITION ports (IBA 14.2.5.12). The node is a switch's, with its SwitchInfo.
 */
#ifndef FMD_PROGRAM_MFT_SHAPE_H
#define FMD_PROGRAM_MFT_SHAPE_H

#include "fm/inventory/inventory.h"
#include "routing/multicast/mcast_tree.h"

#define MFT_MLIDS (0x10000 - MCAST_FIRST_MLID)

/* The number of positions: blocks of one number, each for MCAST_POSITION ports. */
unsigned mft_positions(const struct inv_node *node);
uint16_t mft_top_of(const struct inv_node *node); /* the last MLID that it has room for */
/* True: a block of this number lies within its MulticastFDBCap. */
bool mft_has_block(const struct inv_node *node, unsigned block);
/*
 * A block as an answer has it, without bits of ports that the switch does not have: these may be
 * anything.
 */
void mft_decode(const struct inv_node *node, unsigned position, const uint8_t *data,
		uint16_t masks[MCAST_BLOCK]);

#endif
