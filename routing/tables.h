/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * tables: linear forwarding tables of all switches in one block of memory, kept and reused
 * (the first touch of 20 MB costs more than filling it ten times).
 *
 * Row s belongs to switch s of the snapshot the tables were made for (topo.nodes[s]). row[lid] is
 * the output port, 0 = the switch's own port 0, TABLES_NO_ROUTE = drop. Entries above `top` up to
 * the row's end are TABLES_NO_ROUTE.
 */
#ifndef FMD_ROUTING_TABLES_H
#define FMD_ROUTING_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLES_NO_ROUTE 255
#define TABLES_BLOCK	64
#define TABLES_MAX_LID	0xBFFF /* highest unicast LID, IBA 4.1.3 */

struct tables {
	uint32_t nswitches;
	uint32_t stride; /* bytes from row to row: a multiple of TABLES_BLOCK, > top */
	uint16_t top;	 /* highest LID in use */
	uint8_t *lft;	 /* at the begin of a cache line */
	size_t capacity; /* bytes allocated */
};

static inline uint8_t *tables_row(const struct tables *t, uint32_t sw)
{
	return t->lft + (size_t)sw * t->stride;
}
static inline uint32_t tables_blocks(const struct tables *t)
{
	return t->top / TABLES_BLOCK + 1;
}

void tables_resize(struct tables *t, uint32_t nswitches,
		   uint16_t top); /* contents undefined; grows only */
/*
 * The first touch of memory takes longer than what comes there: touches a few megabytes more, of
 * which contents are lost. *room is how many bytes were, 0 for new memory. True: there is more to
 * do.
 */
bool tables_make_room(struct tables *t, size_t *room);
/*
 * Each page that a child process shared takes a fault at its first write, after the child's end
 * too. Writes to those of a few megabytes more, contents stay as they are: *at is how many bytes
 * have had it, 0 at first. True: there is more to do.
 */
bool tables_touch(const struct tables *t, size_t *at);
/* Sets a whole row. It goes past the cache, as one that is not read again soon. */
void tables_store_row(struct tables *t, uint32_t sw, const uint8_t *row);
void tables_copy(struct tables *to, const struct tables *from);
void tables_fini(struct tables *t);

#endif
