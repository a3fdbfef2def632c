/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module: names of nodes (node_name_map) and labels of ports, as a room (fm/fabric/module.h). */
#ifndef FMD_NAMING_MODULE_H
#define FMD_NAMING_MODULE_H

#include "fm/fabric/module.h"

extern const struct fabric_module naming_module;

#endif
