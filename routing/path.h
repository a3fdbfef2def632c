/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* path: the path of one packet through the tables, and the burden of all traffic. */
#pragma once

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

#define PATH_MAX_HOPS 64

struct path_hop {
	uint32_t node;		   /* node index */
	uint8_t in_port, out_port; /* 0 at the ends */
};
struct path {
	unsigned count; /* nodes on the path, both ends included */
	struct path_hop hops[PATH_MAX_HOPS];
};
/* The switch behind a port of a switch, by a link that is up; TOPO_NONE = there is none. */
static inline uint32_t path_switch_at(const struct topo *t, uint32_t sw, unsigned num)
{
	const struct topo_end *end;

	if (!num || num > t->nodes[sw].nports)
		return TOPO_NONE;
	end = &t->ends[t->nodes[sw].port0 + num];
	return end->up && end->to < t->nswitches ? end->to : TOPO_NONE;
}

/* The neighbour behind a port of a switch by a known link, up or down; TOPO_NONE = it is none. */
static inline uint32_t path_neighbour(const struct topo *t, uint32_t sw, unsigned num)
{
	const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

	return peer && peer->node < t->nswitches && peer->node != sw ? peer->node : TOPO_NONE;
}

/*
 * Fills *out with the path from an end port (index in topo.ports) to a LID. Returns 0,
 * -EHOSTUNREACH (an entry of 255, or a link that is down), -ELOOP (more than PATH_MAX_HOPS) or
 * -ENOENT (no such LID); *out then has the nodes up to there.
 */
int path_trace(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
	       uint32_t from_port, uint16_t to_lid, struct path *out);

/*
 * ---- Burden ------------------------------------------------------------------------------------
 * A quick estimate of what tables do with all-to-all traffic of hosts: the busiest link, the length
 * of paths, the pairs without a path. Links that are down count as links, so tables of an intact
 * fabric can be measured on a snapshot with damage. Private to routing/.
 */

struct burden {
	uint64_t load; /* flows on the busiest link between switches */
	double shift;  /* flows on the busiest link when host i sends to host i + k, mean over k */
	double hops;   /* links on a path, on average; 0 = there are no flows */
	/* pairs of switches with hosts that known links connect and the tables do not */
	uint64_t open_pairs;
	uint32_t open_from, open_to; /* the first such pair, TOPO_NONE = none */
};

struct fiber;
/*
 * Fills *out from tables made for t and lids. Takes as long as a pass over all entries of hosts;
 * the fiber is for stops in between, NULL = in one go.
 */
void burden_measure(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		    struct fiber *fiber, struct burden *out);
