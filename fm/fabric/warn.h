/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* warn: alerts about the state of the published fabric (see warn.c). */
#ifndef FMD_FABRIC_WARN_H
#define FMD_FABRIC_WARN_H

#include "topology/graph/cutoff.h"

struct fabric;

void fabric_warn(struct fabric *f); /* finds them anew; without a published fabric: ends them */
void fabric_cutoff(const struct fabric *f, struct cutoff *out); /* of the published fabric */

#endif
