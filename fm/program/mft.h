/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mft: brings the switches' multicast forwarding tables to what is wanted, by the fewest writes and
 * so that no group has a ring on the way.
 *
 * It holds, by switch GUID, what each switch is to hold and what it does. A switch that is new
 * here, or that rebooted, is read first: an earlier manager's entries are found and cleared; our
 * own of an earlier life are learned and kept. Blocks that differ are written in two rounds: what
 * is to go goes everywhere before anything comes in its place, so that what switches hold of a
 * group is always part of its old tree or part of its new one. Trees that only grow take one round.
 *
 * A switch that does not take its blocks does not hold the others; but a group is not extended
 * while some switch still forwards by its old tree. One apply runs at a time: what changes
 * meanwhile is for the next one.
 */
#pragma once

#include "fm/inventory/inventory.h"
#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "routing/multicast/mcast_tree.h"
#include "topology/snapshot/topo.h"

struct mft;

struct mft_result {
	unsigned blocks;   /* acknowledged by this apply */
	unsigned read;	   /* blocks, at switches that were not known */
	unsigned cleared;  /* entries found that are not wanted */
	unsigned switches; /* that something was written to */
	unsigned failed;   /* blocks not up to date, at switches that are there */
	unsigned held;	   /* groups (MLIDs) not extended because of that */
	uint64_t smps, took_us;
};
typedef void mft_done_fn(void *arg, const struct mft_result *result);

/*
 * The caller's, never NULL; all three are borrowed. The inventory has the paths to the switches,
 * and takes the SwitchInfo that they answer.
 */
struct mft *mft_new(struct loop *loop, struct mad *mad, struct inventory *inv);
void mft_free(struct mft *m); /* NULL is fine */

/*
 * What a switch is to hold for a MLID from the next apply on, NULL = nothing. Not while one runs.
 */
void mft_want(struct mft *m, guid_t sw, uint16_t mlid, const uint16_t ports[MCAST_POSITIONS]);

/* The same for all switches of a tree; wanted: false = nothing. */
void mft_want_tree(struct mft *m, const struct mcast_tree *tree, bool wanted);

/*
 * For the switches of t, up to MLID `top`. Those that failed before are left alone unless `again`
 * says to try. fn comes once, from the loop. t is read inside the call only.
 */
void mft_apply(struct mft *m, const struct topo *t, uint16_t top, bool again, mft_done_fn *fn,
	       void *arg);
/* Only reads, where mft_apply() would; then mft_held() reports what there is. */
void mft_read(struct mft *m, const struct topo *t, uint16_t top, mft_done_fn *fn, void *arg);
/* fn for each entry that a switch holds for certain: by block, position, MLID. */
typedef void mft_held_fn(void *arg, uint16_t mlid, unsigned position, uint16_t mask);
void mft_held(struct mft *m, guid_t sw, mft_held_fn *fn, void *arg);
/*
 * For an audit: up to which block switches are in use (0 = none are), and what one holds for
 * certain; false: it is not known now.
 */
unsigned mft_blocks(const struct mft *m);
bool mft_expected(struct mft *m, guid_t sw, uint16_t block, unsigned position,
		  uint16_t masks[MCAST_BLOCK]);
/* A switch was found to hold these masks: the next apply repairs that. Not while one runs. */
void mft_found(struct mft *m, guid_t sw, uint16_t block, unsigned position,
	       const uint16_t masks[MCAST_BLOCK]);
/*
 * What it acknowledged does not count: the next apply reads its tables first. Not while one runs.
 */
void mft_forget(struct mft *m, guid_t sw);
bool mft_busy(const struct mft *m); /* true: the callback of an apply or a read is to come */
uint64_t mft_blocks_written(const struct mft *m); /* acknowledged since start */

/* ---- Sizes ----------------------------------------------------------------------------------- */

/*
 * How large a switch's multicast table is, in blocks of MCAST_BLOCK MLIDs by positions
 * of MCAST_POSITION ports (IBA 14.2.5.12). The node is a switch's, with its SwitchInfo.
 */

#define MFT_MLIDS (0x10000 - MCAST_FIRST_MLID)

/*
 * A block as an answer has it, without bits of ports that the switch does not have: these may be
 * anything.
 */
void mft_decode(const struct inv_node *node, unsigned position, const uint8_t *data,
		uint16_t masks[MCAST_BLOCK]);
