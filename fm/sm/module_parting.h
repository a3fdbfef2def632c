/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module_parting: a manager that has handed over goes on answering the SA for a while. */
#ifndef FMD_SM_MODULE_PARTING_H
#define FMD_SM_MODULE_PARTING_H

#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "topology/snapshot/topo.h"

#define PARTING_READS 32
#define PARTING_US    8000000 /* from the hand-over, at most */

struct sm_room;

struct parting_end { /* a port that may ask the SA */
	guid_t node;
	uint8_t port;
	uint8_t losses; /* reads in a row without an answer */
};

struct parting_read {
	struct sm_room *room;
	struct parting_end end;
	mad_token token; /* 0 = not in use */
};

struct parting {
	void (*over)(struct sm_room *room); /* nobody needs this manager's answers any more */
	bool on;
	uint16_t own_lid;
	struct parting_end *ends; /* [0, kept) are to be read again, [at, count) in this round */
	uint32_t count, at, kept;
	struct parting_read reads[PARTING_READS];
	unsigned open, window; /* reads under way, and how many there may be */
	uint64_t answered;     /* by the SA, when it was last looked at */
	bool all_moved;
	struct loop_timer *step, *limit;
	loop_fn *fn; /* of sm_when_parted() */
	void *arg;
};

/* Begin and end r->parting; end drops reads that are under way, without over(). */
void sm_part_init(struct sm_room *r);
void sm_part_fini(struct sm_room *r);
/* parting.over() is called later; false: nothing was ever answered here, and it is not. */
bool sm_part_begin(struct sm_room *r);
void sm_part_end(struct sm_room *r); /* at once, without over(); sm_when_parted() is served */

#endif
