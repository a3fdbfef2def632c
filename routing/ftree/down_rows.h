/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * down_rows: the part of a forwarding row that goes down. Private to routing/ftree.
 *
 * The link down that a LID prefers does not depend on port numbers or on dead lanes: switches with
 * the same children (equivalent switches) share one row of link numbers, and each translates it to
 * its own ports.
 */
#ifndef FMD_ROUTING_DOWN_ROWS_H
#define FMD_ROUTING_DOWN_ROWS_H

#include "routing/ftree/choice.h"

struct down_row {
	uint8_t *link; /* by LID: number of the preferred link down; BYTEMAP_KEEP = not below */
	uint32_t first, end; /* LIDs below are first .. end - 1; others have no link set */
	uint8_t *dist;	     /* by D: hops; REACH_NEVER = not below */
	bool complete;	     /* all switches with hosts are below */
};

struct lid_runs {	       /* LIDs in as few runs as they make */
	uint32_t first, count; /* in down_rows.runs */
	bool made;
};

struct down_rows {
	struct choice *choice; /* not owned */
	const struct graph *g;
	const struct dests *d;
	const struct reach *r;
	uint32_t row_bytes;
	struct down_row *shared;	  /* by set of equivalent switches */
	struct down_row alone;		  /* of the latest switch without equivalent */
	uint32_t *by_child, *first_entry; /* scratch: entries of a list, child by child */
	struct lid_runs *of_list;	  /* by number of the list: what is behind its entries */
	struct dest_run *runs;
	uint32_t nruns, capacity;
	uint32_t nhosts; /* switches with hosts */
};

/* Without rows so far; `choice` is borrowed until down_rows_fini(), which frees the rows. */
void down_rows_init(struct down_rows *b, struct choice *choice, uint32_t row_bytes);
void down_rows_fini(struct down_rows *b);

/* The row of a switch that has links down. Borrowed until the next call. */
const struct down_row *down_rows_of(struct down_rows *b, uint32_t sw);
/* Fills a switch's forwarding row with its ports to LIDs below it; all others have no route. */
void down_rows_fill(struct down_rows *b, const struct down_row *below, uint32_t sw, uint8_t *row);
/* Writes those ports over a forwarding row; other entries stay. */
void down_rows_overlay(struct down_rows *b, const struct down_row *below, uint32_t sw,
		       uint8_t *row);

#endif
