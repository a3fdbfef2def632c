/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* state_own: what the files of the state have in common; nobody else includes it. */
#ifndef FMD_STATE_STATE_OWN_H
#define FMD_STATE_STATE_OWN_H

#include "fm/state/disk.h"
#include "fm/state/state.h"

/* old_files.c: what a version before state.db left in the folder. */
/* Returns the name of one of its files, a literal; NULL = there is none. */
const char *old_files_first(const char *folder);
/*
 * Adds their rows to *rows, in the form of etc/import-state. False: there is a database, whose rows
 * are newer. Where they can't be read the process ends.
 */
bool old_files_read(const char *folder, struct row_bytes *rows);
/* They are not read any more: they go into the folder `before-state.db`. */
void old_files_put_away(const char *folder);

#endif
