/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cordons: tables of a fabric with cordoned links.
 *
 * Cordoned links carry no transit, but what nothing else reaches stays reachable by them: tables
 * are made without them, then with some of them, and the second ones fill in what the first ones
 * leave open. Here is which cordons are exempt first, and which entries are taken over.
 */
#ifndef FMD_ROUTING_FTREE_CORDONS_H
#define FMD_ROUTING_FTREE_CORDONS_H

#include "routing/ftree/engine.h"

/*
 * By port: links of switches whose hosts cordons shut off, but for those to switches that are
 * themselves drained and those in quarantine. NULL = there are none. The caller's to free.
 */
bool *cordons_find_exempt(const struct topo *t);

/*
 * Fills the gaps of `to` from tables of the same switches and LIDs. A destination to which some
 * switch with hosts has a path in `from` alone: all its entries. Any other: those of the gap's own
 * switch, as far as both tables agree at the next one. What `from` has no path for either stays
 * open, and lifts no cordon of others.
 */
void cordons_fill(const struct topo *t, const struct lid_map *lids, const struct gaps *gaps,
		  const struct tables *from, struct tables *to);

#endif
