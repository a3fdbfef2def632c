/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * store: what each switch holds, and what is known of that. Nearly all of it is as wanted. So a
 * switch's record is its row of the wanted tables, which is borrowed, and the blocks that differ.
 */
#ifndef FMD_PROGRAM_STORE_H
#define FMD_PROGRAM_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <complib/cl_qmap.h>
#include "fm/inventory/inventory.h"
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
	uint16_t before[STORE_WORDS]; /* how many own blocks are in the words ahead */
	uint8_t *kept;
	struct store_set known;	 /* acknowledged, or read */
	struct store_set cached; /* assumed (cached.c); none of these is known or busy */
	struct store_set busy;	 /* on the way: the block is what was sent */
	struct store_set stale;	 /* busy ones that a superseded apply has sent */
	struct store_set late;	 /* busy ones that are to be sent again once they are answered */
	struct store_set todo;	 /* to be sent */
	uint32_t ntodo;
	uint32_t row; /* in the wanted tables */
	bool top_due; /* SwitchInfo first; the blocks wait for it */
	bool failed;  /* given up in this apply */
	bool refuses; /* failed, and it is reachable: it rejects or drops what it is sent */
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
/* The first member of the set from `from` on; STORE_BLOCKS = there is none. */
uint32_t store_next(const struct store_set *set, uint32_t from);

/* The store is the caller's memory, and owns its switches until store_fini(). */
void store_init(struct store *store);
void store_fini(struct store *store);
/* A switch of the store, or NULL; store_get() makes it where there is none. */
struct store_switch *store_find(const struct store *store, guid_t guid);
struct store_switch *store_get(struct store *store, guid_t guid);

/*
 * Blocks that are known, cached or on the way stay what they are; all others are as in the new row.
 * The old one may go then. NULL: nothing is known any more.
 */
void store_rebase(struct store_switch *sw, const uint8_t *row, uint32_t nblocks);
/* Records that the switch was sent this block; block is below nblocks. content is copied. */
void store_sent(struct store_switch *sw, uint32_t block, const uint8_t content[TABLES_BLOCK]);
/* The content of a block of sw->own, borrowed until the next change of sw. */
const uint8_t *store_own_block(const struct store_switch *sw, uint32_t block);

/*
 * What the block holds: as acknowledged where known, as sent where busy, as assumed where cached.
 * Borrowed until the next change of sw; block is below nblocks.
 */
static inline const uint8_t *store_block(const struct store_switch *sw, uint32_t block)
{
	return store_has(&sw->own, block) ? store_own_block(sw, block)
					  : sw->row_wanted + (size_t)block * TABLES_BLOCK;
}

#endif
