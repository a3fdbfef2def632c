/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * change_traps: traps that say that something has changed, and the partial sweeps that follow, as a
 * room (fm/fabric/module.h).
 */
#ifndef FMD_TRAPS_CHANGE_TRAPS_H
#define FMD_TRAPS_CHANGE_TRAPS_H

#include "fm/fabric/module.h"

extern const struct fabric_module change_traps_module;

#endif
