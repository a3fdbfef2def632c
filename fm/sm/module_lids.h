/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module_lids: LIDs that another manager left, confirmed before the first update after a take-over,
 * as a room (fm/fabric/module.h).
 */
#ifndef FMD_SM_MODULE_LIDS_H
#define FMD_SM_MODULE_LIDS_H

#include "fm/fabric/module.h"

extern const struct fabric_module lids_module;

#endif
