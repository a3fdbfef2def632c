/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: what makes a restart change nothing in the fabric, as a room (fm/fabric/module.h): LIDs,
 * the tables that switches hold, and the known links.
 */
#pragma once

#include "fm/fabric/module.h"

/*
 * lids: the format of state_dir/lids, the LIDs of every port ever found, sorted by GUID: `0x<port
 * GUID> <LID> <LMC>`, and for an absent port since when (Unix time).
 */

extern const struct fabric_module restart_module;

/*
 * A new list of the known links that are down, each with since when; the caller owns it. A snapshot
 * must be published.
 */
json_t *links_down(const struct fabric *fabric);

#define LINK_SINCE 32
/*
 * Since when the link at a port of the published snapshot, by its index, is down: UTC as in
 * events; "" = not known, or it is up.
 */
void link_down_since(const struct fabric *fabric, uint32_t port, char since[LINK_SINCE]);
