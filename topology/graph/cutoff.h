/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cutoff: hosts' adapters (HCAs) that are known and that nothing reaches. An HCA whose leaf sees
 * the link down is off: a machine in maintenance. One behind a dead or unreached switch, or whose
 * link is there and carries nothing, is cut off: that is the fabric's fault.
 */
#pragma once

#include <jansson.h>
#include "topology/snapshot/topo.h"

struct cutoff {
	uint32_t hcas;	   /* that are cut off */
	uint32_t off;	   /* HCAs that are off */
	uint32_t switches; /* that HCAs are cut off with */
	uint32_t worst;	   /* the switch with most such HCAs; TOPO_NONE = none */
	uint32_t hca; /* the first that is cut off at a switch that is reached; TOPO_NONE = none */
};

/*
 * Counts into *out, as seen from node `from` (TOPO_NONE: from the switches that reach most HCAs).
 * Linear in the number of ports.
 */
void cutoff_find(const struct topo *t, uint32_t from, struct cutoff *out);

enum cutoff_fate {
	CUTOFF_NOT_KNOWN, /* no link of it to a switch was ever met; or the node is no HCA */
	CUTOFF_REACHED,
	CUTOFF_OFF,
	CUTOFF_CUT_OFF
};
/* An enum cutoff_fate by node, as seen from `from`; the caller frees it. Linear in ports. */
uint8_t *cutoff_fates(const struct topo *t, uint32_t from);
/* Writes `32 HCAs cut off: leaf-su33-rail0 is down`; "" if none is. Returns snprintf's length. */
int cutoff_describe(const struct topo *t, const struct cutoff *cutoff, char *buf, size_t size);

/*
 * Connected parts: switches that links which are up connect, cordoned or not. By switch, the number
 * of its island, 0 to *count - 1; the caller frees it. Linear in the number of ports.
 */
uint32_t *islands_find(const struct topo *t, uint32_t *count);

/*
 * Who loses what when links go down: HCAs, hosts and redundancy, by the difference of two snapshots
 * with the same nodes. The caller owns it:
 * "hcas": names of HCAs that were reached in `before` and are not in `after`; "hosts_cut_off",
 * "hosts_degraded": names of hosts that none of their HCAs is left to, and of those that keep some,
 * or all with fewer links; "redundancy": names of switches that are reached and carry transit by
 * fewer of their uplinks than before (one that is cordoned carries none); "text": all that in a
 * line, `32 HCAs lost: 32 hosts keep 7 of 8 HCAs (dgx-su01-[01-32])`. In natural order of names.
 * before NULL: all known links of `after` as if they were up, without cordons. `from`: the node as
 * seen from which one is reached; TOPO_NONE, or a node without a link: from the part of the
 * switches that has most of the HCAs.
 */
json_t *lost_json(const struct topo *before, const struct topo *after, uint32_t from);
/* Whether that object names an HCA or a host. */
bool lost_any(const json_t *lost);
