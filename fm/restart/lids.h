/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lids: the form of state_dir/lids, the LIDs of every port ever met, sorted by GUID: `0x<port GUID>
 * <LID> <LMC>`, and for a port that is away since when (Unix time).
 */
#ifndef FMD_RESTART_LIDS_H
#define FMD_RESTART_LIDS_H

#include <stdio.h>
#include "routing/lid_plan.h"

/*
 * Into an empty memory, sorted: 0, or the number of a line that is none or has a LID of another;
 * then what was read is to be forgotten.
 */
unsigned lids_read(struct lid_memory *memory, FILE *in);
void lids_write(const struct lid_memory *memory, FILE *out);

#endif
