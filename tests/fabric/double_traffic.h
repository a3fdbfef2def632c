/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_traffic: load on the links, by the tables in force. */
#ifndef FMD_TESTS_FABRIC_DOUBLE_TRAFFIC_H
#define FMD_TESTS_FABRIC_DOUBLE_TRAFFIC_H

#include "topology/snapshot/topo.h"

struct double_fabric;

/*
 * Each HCA of each host sends to the like one of the host `shift` places on, in the snapshot's
 * order of hosts, at a share of what its port carries; that takes the place of all traffic before.
 * Counters follow, through the tables and links in force.
 */
void double_load_shift(struct double_fabric *d, unsigned shift, unsigned per_mille);
/* One flow more. */
void double_load_pair(struct double_fabric *d, guid_t from, unsigned from_port, guid_t to,
		      unsigned to_port, unsigned per_mille);
void double_load_off(struct double_fabric *d);
struct double_load {
	unsigned flows, stopped; /* stopped: have no way */
	double offered_mbps, carried_mbps;
	double slowest; /* what the slowest flow gets of what it wants, 0 .. 1 */
	double busiest; /* what would go by the busiest port, of what that carries.. */
	guid_t node;	/* ..which is this one */
	unsigned port;
};
struct double_load double_load(struct double_fabric *d);

#endif
