/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cutoff: hosts' adapters (HCAs) that are known and that nothing reaches. An HCA whose leaf sees
 * the link down is off: a machine in maintenance. One behind a dead or unreached switch, or whose
 * link is there and carries nothing, is cut off: that is the fabric's fault.
 */
#ifndef FMD_TOPOLOGY_CUTOFF_H
#define FMD_TOPOLOGY_CUTOFF_H

#include "topology/topo.h"

struct cutoff {
	uint32_t hcas;	   /* cut off */
	uint32_t off;	   /* their own links are seen down */
	uint32_t switches; /* behind which the cut off are */
	uint32_t worst;	   /* of these, that with most; TOPO_NONE = none */
	uint32_t hca; /* the first that is cut off at a switch that is reached; TOPO_NONE = none */
};

/*
 * As seen from that node (TOPO_NONE: from the switches that reach most HCAs). Linear in the number
 * of ports.
 */
void cutoff_find(const struct topo *t, uint32_t from, struct cutoff *out);
/* What became of an HCA. */
enum cutoff_fate {
	CUTOFF_NOT_KNOWN, /* no link of it to a switch was ever met; or the node is no HCA */
	CUTOFF_REACHED,
	CUTOFF_OFF,
	CUTOFF_CUT_OFF
};
/* By node, as seen from `from`; free() gives it back. Linear in the number of ports. */
uint8_t *cutoff_fates(const struct topo *t, uint32_t from);
/* `32 HCAs cut off: leaf-su33-rail0 is down`; "" when none is. Returns snprintf's length. */
int cutoff_describe(const struct topo *t, const struct cutoff *cutoff, char *buf, size_t size);

#endif
