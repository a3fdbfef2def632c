/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* state_own: what the files of the state have in common; nobody else includes it. */
#ifndef FMD_STATE_STATE_OWN_H
#define FMD_STATE_STATE_OWN_H

#include "fm/state/disk.h"
#include "fm/state/state.h"

/* old_files.c: what a version before state.db left in the folder. */
struct old_files {
	struct rowset rows;
	char *lost; /* what could not be read, in words, the caller's; NULL = nothing */
	bool lost_kinds[ROWS_KINDS]; /* by the index of their kind in rows */
	unsigned count;		     /* of files */
};
/* Reads them: true if there are any. *old is empty before, and for old_files_fini(). */
bool old_files_read(const char *folder, struct old_files *old);
/* They are not read any more: they go into the folder `before-state.db`. */
void old_files_put_away(const char *folder);
void old_files_fini(struct old_files *old);

#endif
