/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* lineage: take-overs, in the file `takeovers`, and what follows when two managers had one. */
#ifndef FMD_MIRROR_LINEAGE_H
#define FMD_MIRROR_LINEAGE_H

#include "fm/mirror/own.h"

/* m->generation is what state_dir has. */
void lineage_load(struct mirror *m);
/* This manager is master now: a take-over more than state_dir has. */
void lineage_take_over(struct mirror *m);
/* As master, at each tick: notes whether a standby has what was changed (`unshared`). */
void lineage_review(struct mirror *m);
/* As master: a standby says where it comes from. If it was master, this one counts behind it. */
void lineage_meet(struct mirror *m, const struct manager *standby);
/* The copy of that master is about to be put on disk: what it does not come from is put aside. */
void lineage_yield(struct mirror *m, const struct peer *master);

#endif
