/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * progress: what this manager may do, and what the pipe is doing, for concerns that do their own
 * work while the pipe does none.
 */
#ifndef FMD_FABRIC_PROGRESS_H
#define FMD_FABRIC_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct fabric;
struct program_result;

/* It is the master subnet manager, so it may change the fabric (IBA 14.4.1). */
bool fabric_is_master(const struct fabric *fabric);
/* It may ask the fabric: its port has a link, and it is master or about to know who is. */
bool fabric_may_sweep(const struct fabric *fabric);

/* True: a sweep is under way, a light one too. */
bool fabric_sweep_running(const struct fabric *fabric);
/* True: the snapshot of an update is collected, and nothing of it published yet. */
bool fabric_updating(const struct fabric *fabric);
/*
 * True: forwarding tables that were published are being written, or blocks that were not
 * acknowledged are tried again.
 */
bool fabric_programming(const struct fabric *fabric);
/* All that was published is programmed and brought up, and no update is in the making. */
bool fabric_is_settled(const struct fabric *fabric);
/*
 * All that was published is programmed and brought up, and read where it was only assumed after a
 * restart.
 */
bool fabric_is_up(const struct fabric *fabric);
/*
 * It is master, behind its first publication, and nothing is requested or under way that this
 * header names.
 */
bool fabric_is_quiet(const struct fabric *fabric);
/*
 * fabric_is_quiet() and fabric_is_up(): since when, by the loop's clock; 0 = it is not so.
 */
uint64_t fabric_quiet_since_us(const struct fabric *fabric);

/* The result of the latest programming that ended; all zero before. Belongs to the pipe. */
const struct program_result *fabric_last_programmed(const struct fabric *fabric);

#endif
