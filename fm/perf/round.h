/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * round: who is asked in a pass over all counters, in which order. At 16,384 HCAs that takes longer
 * than the loop may be held, so it is worked out in pieces; the inventory may change in between.
 */
#ifndef FMD_PERF_ROUND_H
#define FMD_PERF_ROUND_H

#include "fm/perf/readings.h"

struct round {
	cl_qmap_t *nodes;	     /* what is kept of them; the owner's */
	const struct inventory *inv; /* borrowed */
	struct pnode **order; /* when all are met: those with most ports first, then by GUID */
	unsigned count;
	unsigned total; /* ports that would be asked now */

	/* while they are met */
	struct pnode **met;		    /* by GUID */
	unsigned room, with[UINT8_MAX + 1]; /* nodes with so many ports */
	guid_t next;
	cl_map_item_t *old; /* of `nodes`, the first that was not come to yet */
};

/*
 * From the beginning. What is kept of nodes that are gone is freed meanwhile, so no request may be
 * on its way.
 */
void round_begin(struct round *round);
/* The next piece; false: that was the last one, and the order is good. */
bool round_more(struct round *round);
void round_fini(struct round *round); /* the lists; `nodes` stay */

#endif
