/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_flaw: what no device can answer by the IBA. Where devices in use differ from its text the
 * check leaves them alone: states, widths and speeds of port 0, widths and speeds of links that are
 * down, codes of 0 for "none", LinkSpeedActive's bit of FDR10, more multicast entries than MLIDs.
 */
#ifndef FMD_MAD_WIRE_FLAW_H
#define FMD_MAD_WIRE_FLAW_H

#include "fm/mad/wire_smp.h"

/*
 * A literal that names the impossible field of an answer with status 0, NULL = there is none.
 * `set`: it answers a Set, which may repeat the codes for "no change". It knows NodeInfo, PortInfo,
 * SwitchInfo and SMInfo; of others nothing is impossible.
 */
const char *wire_flaw(uint16_t attr_id, uint32_t attr_mod, bool set, const uint8_t data[64]);
/* The same of a NodeInfo that was decoded: a literal, or NULL. */
const char *wire_node_info_flaw(const struct wire_node_info *info);

#endif
