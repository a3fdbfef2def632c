/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * burden: what tables do with each host's traffic to each, quickly: the busiest link, the length
 * of paths, who has none. Links count whether dead or alive, so tables for a fabric of which
 * nothing is dead can be measured on a snapshot in which something is. Private to routing/.
 */
#ifndef FMD_ROUTING_BURDEN_H
#define FMD_ROUTING_BURDEN_H

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/topo.h"

struct burden {
	uint64_t load; /* flows on the busiest link between switches */
	double shift;  /* the same when host i sends to host i + k, mean over some k */
	double hops;   /* links on a path, on average; 0 = there are no flows */
	/* of switches with hosts: known links connect them, and the tables do not */
	uint64_t open_pairs;
	uint32_t open_from, open_to; /* the first of these, TOPO_NONE = none */
};

void burden_measure(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		    struct burden *out);

#endif
