/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * journal_disk: what a journal does that may wait for a disk, by a thread of its own, which begins
 * with the first order. With a simulated loop it is done by the caller.
 */
#ifndef FMD_STATE_JOURNAL_DISK_H
#define FMD_STATE_JOURNAL_DISK_H

#include <stdatomic.h>
#include <stdbool.h>
#include "fm/loop/loop.h"

struct journal_disk;

/* loop is borrowed. The caller's: journal_disk_free(). Never NULL. */
struct journal_disk *journal_disk_new(struct loop *loop);
/* Carries out what was ordered and waits for that. NULL is fine. */
void journal_disk_free(struct journal_disk *d);
/*
 * fdatasync(). The descriptor is borrowed until journal_disk_free(); of one that has such an order
 * already there is no second one.
 */
void journal_disk_sync(struct journal_disk *d, int fd);
/* ftruncate() to nothing; *under_way is true until it is done. Both are borrowed, as above. */
void journal_disk_clear(struct journal_disk *d, int fd, atomic_bool *under_way);

#endif
