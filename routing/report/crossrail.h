/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * crossrail: the load of one host's compute adapters sending to each other over the fabric, as they
 * do when NVLink does not relay.
 */
#ifndef FMD_ROUTING_CROSSRAIL_H
#define FMD_ROUTING_CROSSRAIL_H

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

struct crossrail {
	unsigned flows;	       /* that leave their leaf */
	unsigned uplinks;      /* ports of leaves by which flows leave */
	unsigned worst_uplink; /* flows on the busiest such port */
	unsigned unreachable;  /* pairs that the tables do not connect */
};
/*
 * Fills *out for a host (index in topo.hosts). classes: enum route_class by port; storage and
 * management ports are left out; NULL = all are compute.
 */
void crossrail_measure(const struct topo *t, const struct lid_map *lids,
		       const struct tables *tables, const uint8_t *classes, uint32_t host,
		       struct crossrail *out);

#endif
