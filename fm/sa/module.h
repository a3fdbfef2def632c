/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module: subnet administration as a room of the fabric manager (fm/fabric/module.h). */
#ifndef FMD_SA_MODULE_H
#define FMD_SA_MODULE_H

#include "fm/fabric/module.h"

extern const struct fabric_module sa_module;

#endif
