/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * drawing: what a picture of the fabric shows, before it is decided how: rows of boxes, and lines.
 */
#ifndef FMD_TOPOLOGY_DRAWING_H
#define FMD_TOPOLOGY_DRAWING_H

#include "topology/topo.h"

struct drawing_box {
	char *label; /* a switch's name, or hosts in short form */
	uint32_t row, column;
	uint32_t nhosts; /* 0 = a switch */
};

struct drawing_line { /* all links between two boxes */
	uint32_t a, b;
	uint32_t links, down;
};

/*
 * Row 0 is the top tier, the last row the hosts. Box s is switch s of the snapshot; after the
 * switches come boxes for hosts: one for each scalable unit, and one for all other hosts whose
 * first CA with a link is on the same switch.
 */
struct drawing {
	uint32_t nrows, widest; /* boxes in the fullest row */
	uint32_t nboxes, nlines;
	struct drawing_box *boxes;
	struct drawing_line *lines; /* each pair of boxes once, a < b, in order */
	uint32_t *row_boxes;	    /* by row: how many */
};

/* Boxes and lines of a snapshot, all in memory of its own; the caller frees it, not with NULL. */
struct drawing *drawing_new(const struct topo *t);
void drawing_free(struct drawing *d);

#endif
