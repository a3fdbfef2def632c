/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* foreign: tables as other managers make them, which fmd may find on the switches. */
#pragma once

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

/*
 * Minhop: any shortest path, so that packets to switches turn from down to up at any leaf. Else up
 * and down by the distance from the switch `root`, TOPO_NONE = by tiers. Of several paths switches
 * take the one of the LID, which is another one at each if `salt` is not 0. The caller frees *out
 * by tables_fini().
 */
void foreign_tables(const struct topo *t, const struct lid_map *lids, bool minhop, uint32_t root,
		    uint32_t salt, struct tables *out);
