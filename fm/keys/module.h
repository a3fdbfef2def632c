/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: M_Keys of ports while this manager is master (IBA 14.2.4), as a room
 * (fm/fabric/module.h): leases are renewed, ports with a key of somebody else are named.
 * Whether the whole fabric is somebody else's is judged before that, by fm/sm/keys.h.
 */
#ifndef FMD_KEYS_MODULE_H
#define FMD_KEYS_MODULE_H

#include "fm/fabric/module.h"

extern const struct fabric_module port_keys_module;

#endif
