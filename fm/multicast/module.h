/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: multicast, from the SA's groups to the switches' tables, as a room of the fabric manager
 * (fm/fabric/module.h).
 */
#ifndef FMD_MULTICAST_MODULE_H
#define FMD_MULTICAST_MODULE_H

#include "fm/fabric/module.h"
#include "routing/multicast/mcast_plan.h"

extern const struct fabric_module multicast_module;

/*
 * The trees as the switches are to hold them, the room's, until control returns to the loop. They
 * may be of another snapshot than the published one: go by GUID.
 */
const struct mcast_plan *multicast_trees(const struct fabric *fabric);
/* The document of `fmctl --json groups`; the caller's. */
json_t *multicast_groups(const struct fabric *fabric);
/* The same of those groups alone: of that MLID (0 = any), by that MGID (NULL = any). */
json_t *multicast_groups_of(const struct fabric *fabric, unsigned mlid, const uint8_t mgid[16]);

#endif
