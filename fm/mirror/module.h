/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: what one manager keeps in state_dir, another has too, as a room (fm/fabric/module.h):
 * LIDs of all ports ever met, links known, cordons, quarantines, overrides, NVLink states, groups
 * and their members, services, subscriptions. A standby copies its master, live, over the
 * management network; who is master is decided by the election in the fabric alone, and works
 * without.
 */
#pragma once

#include "fm/fabric/module.h"

extern const struct fabric_module mirror_module;
