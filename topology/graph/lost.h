/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* lost: who loses what when links go down: HCAs and hosts, by the difference of two snapshots. */
#ifndef FMD_TOPOLOGY_GRAPH_LOST_H
#define FMD_TOPOLOGY_GRAPH_LOST_H

#include <jansson.h>
#include "topology/snapshot/topo.h"

/*
 * What was reached in `before` and is not in `after`, which has the same nodes; the caller owns it:
 * "hcas": names of HCAs that are cut off; "hosts_cut_off", "hosts_degraded": names of hosts that
 * none of their HCAs is left to, and of those that keep some, or all with fewer links; "text": the
 * same in a line, `32 HCAs cut off: 32 hosts keep 7 of 8 HCAs (dgx-su01-[01-32])`. All in natural
 * order of hosts. Where the switches fall apart, the part with most of the HCAs counts as reached.
 */
json_t *lost_json(const struct topo *before, const struct topo *after);
/* Whether that object names anything. */
bool lost_any(const json_t *lost);

#endif
