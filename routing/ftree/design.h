/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * design: how far switches are from one another by up/down paths if no known link were dead.
 * Private to routing/.
 *
 * Destinations are distributed over the parents that lead there by design, so that only those move
 * that lose their path. Rows are made on demand: a regular fabric needs them for few switches.
 */
#ifndef FMD_ROUTING_DESIGN_H
#define FMD_ROUTING_DESIGN_H

#include "routing/ftree/engine.h"

#define DESIGN_NS 16

struct design_row {
	/* by switch: hops to D downwards alone, REACH_NEVER = D is not below */
	const uint8_t *down;
	const uint8_t *cost; /* by switch: hops to D by up/down paths; a path down counts first */
	bool made;	     /* this call made the row, which took DESIGN_NS a switch */
};

struct design {
	const struct graph *g;
	uint8_t **rows;	 /* by D, NULL = not made yet */
	uint32_t *queue; /* scratch */
};

/* A design without rows; g is borrowed until design_fini(), which frees the rows. */
void design_init(struct design *design, const struct graph *g);
void design_fini(struct design *design);
/* The row of D, which is made if it is new; borrowed until design_fini(). */
struct design_row design_of(struct design *design, uint32_t d);

#endif
