/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * tables: linear forwarding tables of all switches in one block of memory, kept and reused
 * (the first touch of 20 MB costs more than filling it ten times). A zeroed struct has none.
 *
 * Row s belongs to switch s of the snapshot the tables were made for (topo.nodes[s]). row[lid] is
 * the output port, 0 = the switch's own port 0, TABLES_NO_ROUTE = drop. Entries above `top` up to
 * the row's end are TABLES_NO_ROUTE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLES_NO_ROUTE 255
#define TABLES_BLOCK	64
#define TABLES_MAX_LID	0xBFFF				      /* highest unicast LID, IBA 4.1.3 */
#define TABLES_BLOCKS	((TABLES_MAX_LID + 1) / TABLES_BLOCK) /* of a row, at most */

struct tables {
	uint32_t nswitches;
	uint32_t stride; /* bytes from row to row: a multiple of TABLES_BLOCK, > top */
	uint16_t top;	 /* highest LID in use */
	uint8_t *lft;	 /* at the begin of a cache line */
	size_t capacity; /* bytes allocated */
	/*
	 * By row: a hash of all that it was made from (rows.c); 0 = not known. Who writes to a row
	 * of tables that have this uses tables_set(). NULL = not kept.
	 */
	uint64_t *made_from;
};

/* The row of a switch, and a block of it, valid until the tables are resized; how many they are. */
static inline uint8_t *tables_row(const struct tables *t, uint32_t sw)
{
	return t->lft + (size_t)sw * t->stride;
}
static inline uint8_t *tables_block(const struct tables *t, uint32_t sw, uint32_t block)
{
	return tables_row(t, sw) + (size_t)block * TABLES_BLOCK;
}
static inline uint32_t tables_blocks(const struct tables *t)
{
	return t->top / TABLES_BLOCK + 1;
}
static inline void tables_set(struct tables *t, uint32_t sw, uint16_t lid, uint8_t port)
{
	tables_row(t, sw)[lid] = port;
	if (t->made_from)
		t->made_from[sw] = 0;
}

/* Sets the size; if it is another, the contents are undefined then. The memory only grows. */
void tables_resize(struct tables *t, uint32_t nswitches, uint16_t top);
/* tables_resize(); from now on made_from is kept, until tables_forget(). */
void tables_keep(struct tables *t, uint32_t nswitches, uint16_t top);
void tables_forget(struct tables *t);
/*
 * Touches new memory, as the first touch takes longer than filling it: two megabytes a call, whose
 * contents are lost. *reserved counts the bytes touched; 0 at first. True: there is more to do.
 */
bool tables_reserve(struct tables *t, size_t *reserved);
/* Sets a whole row (stride bytes), past the cache: the row is not read again soon. */
void tables_store_row(struct tables *t, uint32_t sw, const uint8_t *row);
/* Makes `to` a copy; and frees the memory, which leaves no tables. */
void tables_copy(struct tables *to, const struct tables *from);
void tables_fini(struct tables *t);
