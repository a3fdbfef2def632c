/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* state_own: what the files of the state have in common; nobody else includes it. */
#pragma once

#include "fm/state/disk.h"
#include "fm/state/state.h"

/*
 * old_files.c: makes the database of what a version before state.db left in the folder, and returns
 * how many files that were; *name is one of them. 0 where *name is NULL: there are none; else there
 * is a database, whose rows are newer. Where they can't be taken the process ends.
 */
int old_files_take(const char *folder, const char **name);
