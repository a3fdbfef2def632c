/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: multicast: groups of the SA become tables of switches; as a room (fm/fabric/module.h).
 */
#pragma once

#include "fm/fabric/module.h"
#include "routing/multicast/mcast_plan.h"

extern const struct fabric_module multicast_module;

/* A switch does not hold a multicast block that it acknowledged: a round writes it again. */
void multicast_rewrite(struct fabric *fabric);
/* True: trees are being made, tables are about to be other ones, and an audit of them waits. */
bool multicast_busy(const struct fabric *fabric);

/*
 * The trees that the switches are to hold; owned by the room, valid until control returns to the
 * loop. They may be of another snapshot than the published one: identify switches by GUID.
 */
const struct mcast_plan *multicast_trees(const struct fabric *fabric);
/* The document of `fmctl --json groups`; the caller owns it. */
json_t *multicast_groups(const struct fabric *fabric);
/* That document for the groups of one MLID (0 = any) with one MGID (NULL = any). */
json_t *multicast_groups_of(const struct fabric *fabric, unsigned mlid, const uint8_t mgid[16]);
