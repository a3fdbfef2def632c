/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check_print: which blocks of the tables have changed, by fingerprints. Private to routing/.
 */
#ifndef FMD_ROUTING_CHECK_PRINT_H
#define FMD_ROUTING_CHECK_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include "routing/tables.h"

#define CHECK_PRINT_WORDS (TABLES_BLOCK / 8)

struct check_prints {
	uint64_t key[CHECK_PRINT_WORDS];
	unsigned __int128 fold[3];
	uint64_t *of; /* by switch and block, [nswitches * nblocks] */
	uint32_t nswitches, nblocks;
};

struct check_block { /* of the tables */
	uint32_t sw, block;
};
struct check_blocks {
	struct check_block *list; /* by switch */
	uint32_t count, room;
};

/* Sets the keys, from a secret seed; there are no fingerprints yet. check_prints_fini() frees. */
void check_prints_init(struct check_prints *p, uint64_t seed);
void check_prints_fini(struct check_prints *p);
/*
 * Takes the tables' fingerprints, and adds to `changed` (its list is the caller's to free) the
 * blocks whose fingerprints differ from those before. NULL = not wanted, as for tables of another
 * size.
 */
void check_prints_take(struct check_prints *p, const struct tables *tables,
		       struct check_blocks *changed);

#endif
