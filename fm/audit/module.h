/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: the audit of forwarding tables, and what is repaired because of it, as a room
 * (fm/fabric/module.h).
 */
#ifndef FMD_AUDIT_MODULE_H
#define FMD_AUDIT_MODULE_H

#include "fm/fabric/module.h"

extern const struct fabric_module audit_module;

#endif
