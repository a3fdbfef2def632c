/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * below: the part of a forwarding row that goes down. Private to routing/.
 *
 * Which cable down a LID wants does not depend on port numbers or on dead lanes: switches with the
 * same children (twins) share one row of cable numbers, and each translates it to its own ports.
 */
#ifndef FMD_ROUTING_BELOW_H
#define FMD_ROUTING_BELOW_H

#include "routing/ftree/choice.h"

struct below {
	uint8_t *cable; /* by LID: the one wanted, of all cables down; BYTEMAP_KEEP = not below */
	uint32_t first, end; /* LIDs below are first .. end - 1; others have no cable set */
	uint8_t *dist;	     /* by D: hops; REACH_NEVER = not below */
	bool complete;	     /* all that have hosts are below */
};

struct strokes {	       /* LIDs in as few runs as they make */
	uint32_t first, count; /* in belows.strokes */
	bool made;
};

struct belows {
	struct choice *choice; /* not owned */
	const struct graph *g;
	const struct dests *d;
	const struct reach *r;
	uint32_t row_bytes;
	struct below *shared;		  /* by set of twins, made for the first of them */
	struct below alone;		  /* of the last switch without twins */
	uint32_t *by_child, *first_entry; /* scratch: entries of a list, child by child */
	struct strokes *of_list;	  /* by number of the list: what is behind its entries */
	struct dest_run *strokes;
	uint32_t nstrokes, capacity;
	uint32_t nhosts; /* switches with hosts */
};

void belows_init(struct belows *b, struct choice *choice, uint32_t row_bytes);
void belows_fini(struct belows *b);

/* Of a switch that has cables down. Good until the next call. */
const struct below *belows_of(struct belows *b, uint32_t sw);
/* A row of nothing but the ports of what is below a switch. */
void belows_fill(struct belows *b, const struct below *below, uint32_t sw, uint8_t *row);
/* Overlays a switch's row with them. */
void belows_overlay(struct belows *b, const struct below *below, uint32_t sw, uint8_t *row);

#endif
