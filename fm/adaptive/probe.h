/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * probe: learns, by Gets alone, which bits of the attribute modifiers of ARLinearForwardingTable
 * and ARGroupTable select a block. That is not public, but where another manager has set adaptive
 * routing up the tables repeat what is known without them:
 *
 *   the number of a block is somewhere in the modifier: at the right place the static port of each
 *   LID at a leaf is the port that this HCA is at, and at the switch above a leaf one of the links
 *   to that leaf;
 *   the group of an entry that is Free or HBF has the entry's static port, and only ports that lead
 *   somewhere. Sub-groups of a group lie behind each other, or each has a table of its own
 *   (stacked).
 *
 * Each place is a hypothesis, which a switch confirms or refutes. The one that the fewest switches
 * refute counts, if these are a quarter at most and no other has as few. Then the bytes of the
 * private LFT's number and of the group table's are sought in the same way: where they are in use,
 * for the number 0 has no bits.
 */
#pragma once

#include "fm/fabric/module.h"
#include "fm/registers/module.h"
#include "routing/lid_plan.h"

struct probe;
/*
 * Rows, the callee's, one a kind of device: device, firmware ("": not known), switches (that were
 * asked), on, odd (with caps that cannot be), result ("found", "no firmware": found, and not known
 * of which, "no groups", "not found", "off"), and of what was found lft, lft_plft, group, table,
 * plft (the field's lowest `bit`, and how many switches of how many `agree`) and subgroups. From
 * the loop, once; the probe may be freed.
 */
typedef void probe_done_fn(void *arg, json_t *rows);
/*
 * Probes switches of NVIDIA's, which are asked for their firmware first: 8 leaves and 8 others of a
 * kind of device, that is of one device ID and firmware, or only one (TOPO_NONE =
 * none is named), while they are as in that snapshot with these LIDs. The caller frees it; done is
 * not called any more then.
 */
struct probe *probe_new(const struct fabric_services *services, const struct topo *t,
			const struct lid_map *lids, uint32_t only, probe_done_fn *done, void *arg);
void probe_free(struct probe *p);

/* A row with all bits that is kept is as a probe makes it: no field lies over another. */
bool probe_row_is_sound(const json_t *row);
