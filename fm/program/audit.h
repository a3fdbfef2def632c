/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * audit: reads forwarding tables back, a few blocks at a time, while nothing else is to be done, and
 * tells of a block that is not what its switch acknowledged. The whole switch then counts as unknown:
 * the next program_apply() writes it anew.
 */
#ifndef FMD_PROGRAM_AUDIT_H
#define FMD_PROGRAM_AUDIT_H

#include "fm/program/program.h"

struct audit;

struct audit_ops {
	bool (*idle)(void *arg); /* asked before each handful */
	void (*differs)(void *arg, guid_t sw, uint32_t block);
};

/* Off until it has a rate. Freed before the program. */
struct audit *audit_new(struct loop *loop, struct mad *mad, struct program *program,
			const struct audit_ops *ops, void *arg);
void audit_free(struct audit *a);			     /* NULL is fine */
void audit_set_rate(struct audit *a, unsigned blocks_per_s); /* 0 = off */
uint64_t audit_blocks(const struct audit *a);		     /* compared since start */

#endif
