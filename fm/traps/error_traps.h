/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* error_traps: traps about errors, and traps that can't be true, counted by their sender. */
#ifndef FMD_TRAPS_ERROR_TRAPS_H
#define FMD_TRAPS_ERROR_TRAPS_H

#include "fm/fabric/module.h"

extern const struct fabric_module error_traps_module;

#endif
