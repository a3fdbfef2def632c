/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: links that are not where they should be (topology/cabling/cabling.h), as a room
 * (fm/fabric/module.h): an event when such a finding is new, and one when it is gone.
 */
#ifndef FMD_CABLING_MODULE_H
#define FMD_CABLING_MODULE_H

#include "fm/fabric/module.h"

extern const struct fabric_module cabling_module;

#endif
