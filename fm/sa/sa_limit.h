/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_limit: what keeps one host from taking the SA away from the others (sa_limit.c). Private to
 * fm/sa.
 */
#ifndef FMD_SA_SA_LIMIT_H
#define FMD_SA_SA_LIMIT_H

#include "fm/loop/log.h"

struct sa;
struct loop_timer;

struct limit {
	/*
	 * by LID: when it is below the rate again (ns of the loop's clock); NULL = none asked yet
	 */
	uint64_t *even;
	/* by LID: the second from which on it is logged again; NULL = none was yet */
	uint32_t *reported;
	unsigned round; /* rows looked at in this round of the loop */
	struct loop_timer *next;
	struct log_limit burst;
};

/* sa->limit; its end frees what it holds. */
void sa_limit_init(struct sa *sa);
void sa_limit_fini(struct sa *sa);
/* Counts a request of that LID. False: it is above the rate, and is not to be answered. */
bool sa_limit_admits(struct sa *sa, uint16_t lid);
/* The rows that a query which starts now may look at before it becomes a job. */
unsigned sa_round_slice(const struct sa *sa);
/* Counts rows that were looked at in this round of the loop. */
void sa_round_add(struct sa *sa, unsigned work);

#endif
