/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: re-balancing: spreads load that damage or an uneven design concentrates, as a room
 * (fm/fabric/module.h).
 */
#ifndef FMD_REBALANCE_MODULE_H
#define FMD_REBALANCE_MODULE_H

#include "fm/fabric/module.h"

extern const struct fabric_module rebalance_module;

#endif
