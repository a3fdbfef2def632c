/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: what hosts have registered with another manager's SA (members of multicast groups,
 * services, subscriptions), as a room (fm/fabric/module.h). A standby without a copy of its
 * master's state (fm/mirror/module.h) queries the master's SA, as any client may, and uses the
 * answers when it takes over.
 */
#ifndef FMD_REGISTRATIONS_MODULE_H
#define FMD_REGISTRATIONS_MODULE_H

#include "fm/fabric/module.h"

extern const struct fabric_module registrations_module;

#endif
