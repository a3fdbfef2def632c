/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: re-balancing: spreads load that damage or an uneven design concentrates, as a room
 * (fm/fabric/module.h).
 */
#pragma once

#include "fm/fabric/module.h"

extern const struct fabric_module rebalance_module;
