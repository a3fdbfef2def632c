/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * program: brings the switches' forwarding tables to what is wanted, by the fewest writes and in an
 * order in which nothing breaks on the way.
 *
 * It holds, by switch GUID, what each switch has acknowledged; a block counts as unknown until it
 * was acknowledged, and again after the switch rebooted (inv_node.rebooted, or program_forget).
 * apply() sends SwitchInfo's LinearFDBTop where it differs and the 64-entry blocks that differ.
 * Blocks of which it is known what they hold go in the rounds of routing/order/order.h, the next
 * round when the last one is acknowledged; where nothing is known (a cold start) there is but one.
 * Blocks that fail are retried and reported; a switch that fails does not hold the others, except
 * for entries whose new path leads through what it did not take (program_plan.c). After a restart a
 * file says what switches held (program_remember). Blocks that are to change are read before, the
 * others behind it; those that are as wanted are not written (cached.c). A newer apply() supersedes
 * a running one from the acknowledged state; the older callback does not come. The caller has
 * proven the tables.
 */
#ifndef FMD_PROGRAM_PROGRAM_H
#define FMD_PROGRAM_PROGRAM_H

#include <stdio.h>
#include "fm/core/loop.h"
#include "fm/mad/mad.h"
#include "fm/sweep/inventory.h"
#include "routing/proof/check_change.h"
#include "routing/tables.h"
#include "topology/topo.h"

struct program;

struct program_result {
	unsigned blocks;   /* acknowledged by this apply */
	unsigned switches; /* that had something to write */
	unsigned failed;   /* blocks given up; they stay unknown */
	unsigned failed_switches;
	unsigned held; /* entries that keep their old path because of what failed */
	unsigned rounds;
	unsigned unread;   /* blocks that are remembered, and read from now on */
	unsigned read;	   /* with none unread: blocks, in the place of writing them.. */
	unsigned differed; /* .. of these: from what was remembered */
	uint64_t entries;  /* LFT entries that changed, where it was known what was there */
	uint64_t smps, took_us;
};
typedef void program_done_fn(void *arg, const struct program_result *result);

/* The inventory gives the ways, and takes what SwitchInfo became. */
struct program *program_new(struct loop *loop, struct mad *mad, struct inventory *inv,
			    uint8_t packet_life_time);
void program_free(struct program *p);				     /* NULL is fine */
void program_configure(struct program *p, uint8_t packet_life_time); /* from the next apply on */
/* From now on each apply's tables are those proven last there. It outlives p. */
void program_use_proofs(struct program *p, const struct check_base *proofs);

/*
 * The callback comes when all is written that is not as wanted. While result->unread says that
 * something is but remembered, it comes once more when that is read too, with what was written
 * because of it. Rows are those of `t`'s switches; t is referenced until the last callback. The
 * memory of the rows (not the struct) stays as it is until the next apply has returned: it is what
 * switches are taken to hold. So newer tables have other memory than the older.
 */
void program_apply(struct program *p, const struct topo *t, const struct tables *wanted,
		   program_done_fn *fn, void *arg);
/*
 * In the callback of an apply that failed: those that were reached, and did not take what they were
 * sent.
 */
void program_refusers(const struct program *p, void (*fn)(void *arg, guid_t sw), void *arg);
bool program_busy(const struct program *p);	  /* the last callback is still to come */
unsigned program_unread(const struct program *p); /* blocks that are but remembered */
/*
 * Before the first apply: another manager was at work. What switches hold is read, then only what
 * differs is written.
 */
void program_read_first(struct program *p);
/*
 * Before the first apply: what program_write_tables() wrote; takes the content, which was
 * malloc'ed. What is wrong with it is reported, and is as if there were none.
 */
void program_remember(struct program *p, char *content, size_t length);
/*
 * What switches hold, as far as that is known or remembered: table_file.h. Errors are left to
 * ferror().
 */
void program_write_tables(const struct program *p, FILE *out);
void program_forget(struct program *p, guid_t sw);
uint64_t program_blocks_written(const struct program *p); /* acknowledged since start */

/*
 * Compares what switches hold with what they acknowledged: Get of each block up to the top. Blocks
 * that are unknown or being written are not judged. One at a time; a newer one replaces it without
 * a callback.
 */
struct program_block {
	guid_t sw;
	uint32_t block;
};
struct program_readback {
	unsigned blocks; /* compared */
	/* of these; named in the log, and unknown from now on: the next apply writes them */
	unsigned differ;
	unsigned failed;		       /* could not be read */
	const struct program_block *differing; /* [differ], valid during the callback */
};
typedef void program_readback_fn(void *arg, const struct program_readback *result);
void program_check_readback(struct program *p, const struct topo *t, program_readback_fn *fn,
			    void *arg);

#endif
