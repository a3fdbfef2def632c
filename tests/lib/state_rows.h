/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state_rows: what is in the state.db of a state_dir, and other rows put there. The state_dir is
 * nobody's at that time: a daemon keeps its database to itself. Include cmocka first.
 */
#pragma once

#include "fm/state/rows.h"
#include "fm/state/state.h"

/* All rows of a kind as lines, in the order of keys; "" = there are none. The caller's. */
char *rows_text(const char *folder, const char *kind);
/* The same, of a state that is open: of what it has in memory. */
char *rows_known(const struct state *state, const char *kind);
/* All rows of the kind are these lines now, as if fmd had written them. */
void rows_replace(const char *folder, const char *kind, const char *text);
/* The kind is one that was never kept. */
void rows_forget(const char *folder, const char *kind);
/* SQL, for what a person or a disk does to it. Returns how many rows it changed. */
int rows_run(const char *folder, const char *sql);
/* Overwrites so many bytes of the file, from `at` on; before its end where that is negative. */
void rows_damage(const char *folder, long at, size_t length);

/* Gives an owner all lines of a text: 0, or the number of the first that it refuses. */
unsigned rows_give(const char *text, bool (*line)(void *owner, const char *line), void *owner);
