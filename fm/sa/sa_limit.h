/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_limit: what keeps one host from taking the SA away from the others (sa_limit.c). Private to
 * fm/sa.
 */
#ifndef FMD_SA_SA_LIMIT_H
#define FMD_SA_SA_LIMIT_H

#include "fm/core/log.h"

struct sa;
struct loop_timer;

struct limit {
	uint64_t *even; /* by LID; NULL until one is asked about */
	uint32_t *
		reported; /* by LID: second from which on it is reported again; NULL until one is */
	unsigned round;	  /* rows looked at in this round of the loop */
	struct loop_timer *next;
	struct log_limit burst;
};

void sa_limit_init(struct sa *sa);
void sa_limit_fini(struct sa *sa);
bool sa_limit_admits(struct sa *sa, uint16_t lid); /* counts a request */
unsigned sa_round_slice(const struct sa *sa);	   /* of a query that starts now */
void sa_round_add(struct sa *sa, unsigned work);

#endif
