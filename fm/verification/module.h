/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: what devices answered or acknowledged once is asked a second time, as a room
 * (fm/fabric/module.h).
 */
#pragma once

#include "fm/fabric/module.h"

extern const struct fabric_module verification_module;
