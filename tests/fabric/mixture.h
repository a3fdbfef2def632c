/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mixture: the tables that switches hold while a change is under way, judged after every write. The
 * judge knows cables and bytes, nothing of how the order was made, and looks at what a write
 * changed: an order is judged in the time of its entries. Where it is told of the states of links,
 * data pass those alone that are Active at both ends.
 * Tables of the beginning may have credit cycles: as long as these last nobody asks for others.
 */
#pragma once

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

#define MIXTURE_BETWEEN 16

struct mixture {
	const struct topo *topo; /* with the cables as they are now */
	const struct lid_map *lids;
	struct tables now;
	const struct tables *older, *newer;
	const struct tables *between[MIXTURE_BETWEEN];
	unsigned nbetween;
	bool *known;		   /* by LID: what is owed */
	bool *owed;		   /* by switch and LID: works before and after */
	bool *excused;		   /* by LID: the order says that it goes dark for a time */
	bool hosts_owed;	   /* and nothing else: what management uses was drained */
	bool *gone;		   /* by LID: some way that is owed is dark now */
	unsigned ngone, most_gone; /* now, and most at a time */
	unsigned gone_allowed;	   /* LIDs of hosts at a time; unless 0, any of switches as well */
	bool cyclic; /* the tables of the beginning have a credit cycle, and it lasts */
	unsigned cycles, cycles_allowed; /* writes after which there is another one */
	uint32_t *waits; /* by port that packets leave by, and the next switch's port: LIDs */
	uint32_t width;	 /* ports in a row of these */
	uint8_t *met;	 /* by port: on the search for a cycle */
	uint8_t *ends;	 /* by switch, while one LID is followed: 1 + enum plain_end, 0 = not yet */
	bool *dark,
		*dark_first; /* by port: its link is not Active; was not, before the first write */
	bool *begun;	  /* by port: somebody waits for it who did not when there was no cycle */
	uint64_t changed; /* LIDs of the block that was written last */
	unsigned writes;
	char fault[512];
};

/* All is borrowed until the end. */
void mixture_init(struct mixture *m, const struct topo *t, const struct lid_map *lids,
		  const struct tables *older, const struct tables *newer);
/*
 * Before the first write: others were wanted on the way, up to MIXTURE_BETWEEN in turn. Nobody is
 * owed what these do not give.
 */
void mixture_goes_by(struct mixture *m, const struct tables *between);
void mixture_fini(struct mixture *m);

/* Before the first write: the link at that port is not Active yet. */
void mixture_link_dark(struct mixture *m, uint32_t port);
/* On the way: now it is, or is no more. */
void mixture_link(struct mixture *m, uint32_t port, bool active);

/* Back to the beginning. */
void mixture_rewind(struct mixture *m);
void mixture_write(struct mixture *m, uint32_t sw, uint32_t block, const uint8_t *entries);

/* What is wrong after a write to the block, or NULL; to be asked after each. */
const char *mixture_fault(struct mixture *m, uint32_t block);
