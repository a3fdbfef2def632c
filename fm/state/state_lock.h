/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* state_lock: one daemon a state_dir, for two would write each other's files. */
#ifndef FMD_STATE_LOCK_H
#define FMD_STATE_LOCK_H

/*
 * Returns 0: the lock is this process's until it ends, however that ends, or state_dir is on a
 * read-only file system, where nobody writes. -1: it is not to be used; the log has the reason.
 */
int state_lock(const char *state_dir);

#endif
