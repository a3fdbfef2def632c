/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* program's own parts: program.c writes, readback.c compares, both over the store. */
#ifndef FMD_PROGRAM_PROGRAM_PRIV_H
#define FMD_PROGRAM_PROGRAM_PRIV_H

#include "fm/core/log.h"
#include "fm/mad/batch.h"
#include "fm/program/program.h"
#include "fm/program/store.h"

#define ROW_NONE UINT32_MAX

struct readback;

struct program {
	struct loop *loop;
	struct inventory *inv;
	struct batch *batch;
	struct readback *readback;
	struct store store;
	uint8_t life_time;
	bool busy;
	/* the apply that runs */
	const struct topo *topo;
	const struct tables *wanted;
	program_done_fn *fn;
	void *arg;
	struct store_switch **turn; /* those with blocks to send now */
	uint32_t nturn, next;
	struct program_result result;
	uint64_t started_us, smps_before, blocks_written;
	struct log_limit failed_log;
};

struct readback *readback_new(struct program *p, struct mad *mad);
void readback_free(struct readback *r);

#endif
