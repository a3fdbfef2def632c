/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* prefix: which subnet prefix the ports of a fabric hold (PortInfo:GidPrefix, IBA 14.2.5.6). */
#ifndef FMD_SM_PREFIX_H
#define FMD_SM_PREFIX_H

#include "fm/sweep/inventory.h"

/*
 * True, and *theirs, where more than three quarters of the end ports that were read hold one and
 * the same prefix, and it is not ours. 0 is none: a port that nobody has set.
 */
bool prefix_is_foreign(const struct inventory *inventory, uint64_t ours, uint64_t *theirs);

#endif
