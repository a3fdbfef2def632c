/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module: what people call nodes (node_name_map), as a room (fm/fabric/module.h). */
#ifndef FMD_NAMING_MODULE_H
#define FMD_NAMING_MODULE_H

#include "fm/fabric/module.h"

extern const struct fabric_module naming_module;

#endif
