/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_traffic: load on the links, by the tables in force. */
#pragma once

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
/* So many flows between HCAs of two hosts at random; that takes the place of all traffic before. */
void double_load_random(struct double_fabric *d, unsigned flows, uint64_t seed, unsigned per_mille);
/* Losses follow each change: for some hundred flows. */
void double_load_at_once(struct double_fabric *d);
void double_load_off(struct double_fabric *d);
struct double_load {
	unsigned flows, stopped; /* stopped: have no way */
	unsigned losing;	 /* flows of which a part, or all, ends on its way */
	double lost_packets;	 /* so far */
	double offered_mbps, carried_mbps;
	double slowest; /* what the slowest flow gets of what it wants, 0 .. 1 */
	double busiest; /* what would go by the busiest port, of what that carries.. */
	guid_t node;	/* ..which is this one */
	unsigned port;
};
struct double_load double_load(struct double_fabric *d);

/*
 * Effective bisection bandwidth of what the switches hold: random pairs of all HCA ports that are
 * up, which send both ways; each flow gets its share of the busiest link of each of its parts.
 */
struct double_ebb {
	unsigned samples, flows; /* flows of one sample */
	size_t stopped;		 /* flows of all samples that get nothing */
	double mean, slowest_tenth, worst_link;
};
struct double_ebb double_ebb(struct double_fabric *d, unsigned samples, uint64_t seed);
