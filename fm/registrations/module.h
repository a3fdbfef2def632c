/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: what hosts have registered with another manager's SA (members of multicast groups,
 * services, subscriptions), as a room (fm/fabric/module.h). A standby without a copy of its
 * master's state (fm/mirror/module.h) queries the master's SA, as any client may, and uses the
 * answers when it takes over.
 */
#pragma once

#include "fm/fabric/module.h"
#include "fm/mad/wire_sa.h"

extern const struct fabric_module registrations_module;

/* Queries the master's SA for members of groups, for registrations_members(). */
void registrations_read_members(struct fabric *fabric);
/*
 * As last read; borrowed. A port_gid of 0: the SA shows no member of that group. *why: NULL, or why
 * they are not known. May be called in a child.
 */
const struct wire_mcmember *registrations_members(const struct fabric *fabric, uint32_t *count,
						  const char **why);
