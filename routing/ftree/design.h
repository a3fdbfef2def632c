/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * design: how far switches are from one another by up/down paths if no known link were dead.
 * Private to routing/.
 *
 * Destinations are distributed over what leads there by design, so that those that lose their way
 * move and no others. Rows are made when they are asked for: few switches of a regular fabric ever
 * are.
 */
#ifndef FMD_ROUTING_DESIGN_H
#define FMD_ROUTING_DESIGN_H

#include "routing/ftree/engine.h"

#define DESIGN_NS 16

struct design_row {
	/* by switch: hops to D downwards alone, REACH_NEVER = D is not below */
	const uint8_t *down;
	const uint8_t *cost; /* likewise by any up/down path; down wins over up */
	bool made;	     /* just now, which took DESIGN_NS a switch */
};

struct design {
	const struct graph *g;
	uint8_t **rows;	 /* by D, NULL = not asked for yet */
	uint32_t *queue; /* scratch */
};

void design_init(struct design *design, const struct graph *g);
void design_fini(struct design *design);
/* Good for as long as the design lives. */
struct design_row design_of(struct design *design, uint32_t d);

#endif
