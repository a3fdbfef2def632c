/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * disk: rows on disk, in the SQLite database `state.db` of state_dir, in the table
 *
 *   state(kind, key, value, number, sum)   one row a fact; sum: rows_sum(), NULL = edited by hand
 *
 * A thread writes them, so that nobody waits for a disk: one transaction a batch, all of it or
 * nothing. What is written outlives this process however that ends, and a power cut once the log
 * was synced: DISK_SYNC_US behind the first write, or in each transaction (`full`).
 */
#pragma once

#include "fm/loop/loop.h"
#include "fm/state/rows.h"

#define DISK_NAME    "state.db"
#define DISK_VERSION 1
#define DISK_SYNC_US 1000000

/* What is to be on disk. */
struct disk_batch {
	struct bytes rows; /* row_bytes_add(), its own */
	bool anew;	   /* these are all there is */
	bool full;	   /* fsync() when they are written, else within DISK_SYNC_US */
};

enum disk_sum { DISK_FINE, DISK_EDITED, DISK_DAMAGED }; /* EDITED: there is no sum */
/* row: borrowed until the function returns. */
typedef void disk_row_fn(void *arg, const struct row_change *row, enum disk_sum sum);

struct disk_found {
	bool made;     /* there was no database */
	char why[120]; /* it is damaged, and rows may be missing; "" = it is whole */
	char *kept;    /* where it is now, the caller's; NULL = nowhere */
};

struct disk;
/* A batch has ended: 0 or -errno, and why. From the loop, or from within disk_write(). */
typedef void disk_done_fn(void *arg, int status, const char *why);
/*
 * Opens or makes it, and reads all rows but those of kinds that are cold (rows.h). One
 * that is damaged is put aside, with what could be read of it read. Never NULL: where there is no
 * database each batch fails.
 */
struct disk *disk_open(struct loop *loop, const char *folder, disk_row_fn *row,
		       struct disk_found *found, disk_done_fn *done, void *arg);
/* Waits for the batch that is under way, which is not reported any more. NULL is fine. */
void disk_close(struct disk *disk);
/*
 * Takes the batch over; one at a time, until done(). In a simulated loop it is written before this
 * returns.
 */
void disk_write(struct disk *disk, struct disk_batch *batch);
/* Behind a batch that could not be written: it comes first in *batch. */
void disk_take_back(struct disk *disk, struct disk_batch *batch);
bool disk_is_busy(const struct disk *disk);
/* Waits for the batch that is under way, then calls done(). False: it took longer than `us`. */
bool disk_wait(struct disk *disk, uint64_t us);
/* The rows of a kind, by key; waits for the batch that is under way. */
void disk_read(struct disk *disk, const char *kind, disk_row_fn *row, void *arg);

/*
 * Of a state_dir that nobody has open: the value of one row, the caller's; NULL = there is none.
 */
char *disk_peek(const char *folder, const char *kind, const char *key);

/*
 * The file `lock`: one daemon a state_dir, for two would write each other's rows. Returns 0: the
 * lock is this process's until it ends, however that ends, or state_dir is on a read-only file
 * system, where nobody writes. -1: it is not to be used, or a newer version has written it; the log
 * has the reason.
 */
int state_lock(const char *state_dir);
