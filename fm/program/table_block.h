/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * table_block: one block of a switch's forwarding tables, linear or multicast, or its LinearFDBTop:
 * read, written, and compared with what the switch is to hold, where a switch may not hold what it
 * acknowledged.
 */
#ifndef FMD_PROGRAM_TABLE_BLOCK_H
#define FMD_PROGRAM_TABLE_BLOCK_H

#include "fm/program/mft.h"
#include "routing/tables.h"

enum table_kind { TABLE_LFT, TABLE_MFT, TABLE_TOP };

struct table_block {
	guid_t sw;
	enum table_kind kind;
	uint32_t block;	   /* TABLE_TOP: 0 */
	unsigned position; /* TABLE_MFT: ports from MCAST_POSITION times this */
	bool altered;	   /* TABLE_MFT: the first MLID's entry for port 0 is the other way round */
};

/* All borrowed. topo, tables: as published; topo NULL = nothing is. */
struct table_source {
	struct mad *mad;
	struct inventory *inventory;
	struct mft *mft;
	const struct topo *topo;
	const struct tables *tables;
};

/* Whether a and b name the same block. */
bool table_block_same(const struct table_block *a, const struct table_block *b);

/*
 * Sends a Get of the block; fn comes as mad_send()'s. 0: nothing was sent, for no path leads to the
 * switch, or it is silent.
 */
mad_token table_block_get(const struct table_source *source, const struct table_block *block,
			  mad_done_fn *fn, void *arg);
/* Sends a Set of what the switch is to hold; 0 also where nothing is published for it. */
mad_token table_block_set(const struct table_source *source, const struct table_block *block,
			  mad_done_fn *fn, void *arg);
/*
 * Whether the answer of a Get is what the switch is to hold; entries above LinearFDBTop mean
 * nothing. False also where nothing is published for it.
 */
bool table_block_held(const struct table_source *source, const struct table_block *block,
		      const uint8_t *data);

#endif
