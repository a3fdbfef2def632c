/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module: adaptive routing that another manager left on, as a room (fm/fabric/module.h). */
#ifndef FMD_ADAPTIVE_MODULE_H
#define FMD_ADAPTIVE_MODULE_H

#include "fm/fabric/module.h"

extern const struct fabric_module adaptive_module;

/*
 * The document of `fmctl --json switches`, with the adaptive routing of each switch; the caller
 * owns it. A snapshot must be published.
 */
json_t *adaptive_switches(const struct fabric *fabric);

#endif
