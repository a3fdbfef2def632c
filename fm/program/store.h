/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * store: what each switch holds, and what is known of that. Nearly all of it is as wanted: so a
 * switch's record is its row of the wanted tables, which are somebody else's memory, and the blocks
 * that are otherwise.
 */
#ifndef FMD_PROGRAM_STORE_H
#define FMD_PROGRAM_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <complib/cl_qmap.h>
#include "fm/sweep/inventory.h"
#include "routing/tables.h"

#define STORE_BLOCKS ((TABLES_MAX_LID + 1) / TABLES_BLOCK)
#define STORE_WORDS  (STORE_BLOCKS / 64)

struct store_set { /* of blocks */
	uint64_t words[STORE_WORDS];
};

struct store_switch {
	cl_map_item_t item; /* key = GUID */
	guid_t guid;
	struct inv_node *node;	   /* NULL: not in the inventory */
	const uint8_t *row_wanted; /* [nblocks * 64] */
	uint32_t nblocks;
	struct store_set own; /* blocks that are not as wanted: they are in kept, in order */
	uint16_t before[STORE_WORDS]; /* how many of these are in the words ahead */
	uint8_t *kept;
	struct store_set known;	  /* acknowledged, or read */
	struct store_set claimed; /* a file says so (cached.c); none of these is known or busy */
	struct store_set busy;	  /* on the way: the block is what was sent */
	struct store_set stale;	  /* of these: sent by an apply that was superseded */
	struct store_set late;	  /* of these: wanted now, as soon as that is answered */
	struct store_set todo;	  /* to be sent */
	uint32_t ntodo;
	uint32_t row; /* in the wanted tables */
	bool top_due; /* SwitchInfo first; the blocks wait for it */
	bool failed;  /* given up in this apply.. */
	bool refuses; /* ..because of what it answered, or did not */
	bool listed;  /* in the snapshot of this apply */
	bool in_turn; /* among those whose blocks leave */
};

struct store {
	cl_qmap_t switches;
};

static inline bool store_has(const struct store_set *set, uint32_t block)
{
	return set->words[block / 64] >> block % 64 & 1;
}
static inline void store_put(struct store_set *set, uint32_t block, bool on)
{
	uint64_t bit = (uint64_t)1 << block % 64;

	set->words[block / 64] = on ? set->words[block / 64] | bit : set->words[block / 64] & ~bit;
}
uint32_t store_next(const struct store_set *set,
		    uint32_t from); /* first member >= from, or STORE_BLOCKS */

void store_init(struct store *store);
void store_fini(struct store *store);
struct store_switch *store_find(const struct store *store, guid_t guid); /* or NULL */
struct store_switch *store_get(struct store *store, guid_t guid); /* made where there is none */

/*
 * What is known, claimed or on the way stays what it was; all else is as in the new row. The old
 * one may go then. NULL: nothing is known any more.
 */
void store_rebase(struct store_switch *sw, const uint8_t *row, uint32_t nblocks);
/* The block was sent that; below nblocks. */
void store_sent(struct store_switch *sw, uint32_t block, const uint8_t content[TABLES_BLOCK]);
const uint8_t *store_own_block(const struct store_switch *sw, uint32_t block);

/* Acknowledged where known, what was sent where busy, what is said where claimed; below nblocks. */
static inline const uint8_t *store_block(const struct store_switch *sw, uint32_t block)
{
	return store_has(&sw->own, block) ? store_own_block(sw, block)
					  : sw->row_wanted + (size_t)block * TABLES_BLOCK;
}

#endif
