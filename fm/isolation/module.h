/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: switches and links that are present but unusable, as a room (fm/fabric/module.h): a port
 * that does not become Active, a switch that takes no Set or does not hold the tables that it
 * acknowledged.
 */
#ifndef FMD_ISOLATION_MODULE_H
#define FMD_ISOLATION_MODULE_H

#include "fm/fabric/module.h"

extern const struct fabric_module isolation_module;

#endif
