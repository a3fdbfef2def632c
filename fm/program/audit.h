/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * audit: reads forwarding tables back, a few blocks at a time, while nothing else is to be done,
 * and reports a block that is not what its switch acknowledged. The whole switch then counts as
 * unknown: the next program_apply() writes it anew. Of multicast tables the block alone: the next
 * mft_apply() does.
 */
#ifndef FMD_PROGRAM_AUDIT_H
#define FMD_PROGRAM_AUDIT_H

#include "fm/program/mft.h"
#include "fm/program/program.h"

struct audit;

struct audit_ops {
	/*
	 * Since when nothing was to be done but polls; 0 = something is under way. Asked before
	 * each handful.
	 */
	uint64_t (*idle_since)(void *arg);
	void (*differs)(void *arg, guid_t sw, uint32_t block);
	/* False: it is known not to hold what it acknowledges, and nothing is to be repaired. */
	bool (*mft_differs)(void *arg, guid_t sw, uint16_t block, unsigned position);
};

/* Off until it has a rate. Freed before the program and the mft. */
struct audit *audit_new(struct loop *loop, struct mad *mad, struct program *program,
			struct mft *mft, const struct audit_ops *ops, void *arg);
void audit_free(struct audit *a); /* NULL is fine */
/* 0 blocks = off. Idle times begin with after_us without audit. */
void audit_configure(struct audit *a, unsigned blocks_per_s, uint64_t after_us);
uint64_t audit_blocks(const struct audit *a); /* compared since start */

#endif
