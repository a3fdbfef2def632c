/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inforce: how many pairs of hosts' ports packets reach, by what devices have shown: blocks that
 * switches acknowledged or were read to hold, and links that are Active at both ends
 * (routing/proof/in_force.h). `fmctl status` and /metrics have it beside the proof, which is of the
 * tables that are wanted, with the devices that the other pairs wait for.
 */
#pragma once

#include "fm/fabric/module.h"

extern const struct fabric_module inforce_module;

/* "in_force" of fmd-json(7), as counted last; the caller owns it. */
json_t *inforce_json(const struct fabric *fabric);
/*
 * The tables as switches hold them, of the published snapshot; TABLES_NO_ROUTE where that is not
 * known. Borrowed until the loop's next turn.
 */
const struct tables *inforce_tables(struct fabric *fabric);
/*
 * The device that packets from that port to a LID wait for, by what devices have shown, and why:
 * {"node","guid","why"}, the caller's; NULL: they arrive. The LID is one that a port has.
 */
json_t *inforce_waits_json(struct fabric *fabric, uint32_t from, uint16_t lid);
