/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lids: the format of state_dir/lids, the LIDs of every port ever found, sorted by GUID: `0x<port
 * GUID> <LID> <LMC>`, and for an absent port since when (Unix time).
 */
#ifndef FMD_RESTART_LIDS_H
#define FMD_RESTART_LIDS_H

#include <stdio.h>
#include "routing/lid_plan.h"

/*
 * Reads into an empty memory, sorted. Returns 0, or the number of the line that is malformed or has
 * a LID of another; then the caller drops what was read.
 */
unsigned lids_read(struct lid_memory *memory, FILE *in);
/* Writes the lines; the caller checks the stream. */
void lids_write(const struct lid_memory *memory, FILE *out);

#endif
