/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * congestion: how evenly tables spread traffic, as flows on switch-to-switch channels. A flow on a
 * channel of half the rate of the fastest one counts as two: figures are of time, not of numbers.
 *
 * Patterns, each a destination a host, sampled CONGESTION_SAMPLES times (seed 1):
 *   shift       host i sends to host i + k in topological order
 *   rail_shift  the same within each rail, all rails at once (without rails: the same as shift)
 *   random      a random permutation
 *   storage     N to 1: every other host sends to a storage port, assigned in turn from the k-th
 *               on. If no storage is named, and no description says "storage": to the first host of
 *               each leaf
 * `_max` is the worst channel of the worst sample, `_mean` the mean over samples of the worst
 * channel. Besides, all_to_all: every host to every host, largest load over the mean of the live
 * channels, had each its share by rate. Destinations that tables do not reach load nothing.
 */
#pragma once

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

#define CONGESTION_SAMPLES 200

struct congestion {
	unsigned shift_max;
	unsigned rail_shift_max;
	unsigned random_max;
	unsigned storage_max;
	double shift_mean;
	double rail_shift_mean;
	double random_mean;
	double storage_mean;
	double all_to_all_ratio;
	uint64_t all_to_all_max;
	uint32_t storage_ports; /* number of ports that the storage pattern sends to */
};

struct congestion_scene {
	const struct topo *t;
	const struct lid_map *lids;
	const struct tables *tables;
	const bool *storage; /* by node; NULL = nodes whose description says "storage" */
};

/* Fills *out; by_port, unless NULL, gets the all-to-all flows that leave by each port. */
void congestion_study(const struct congestion_scene *scene, struct congestion *out,
		      uint64_t *by_port);

/*
 * ---- Effective bisection bandwidth --------------------------------------------------------------
 * What each flow gets of what its ends have for it, while all other flows of a pattern are there: 1
 * = all. A flow is spread evenly over the LIDs that LMC gives its destination; only applications
 * that use path bits do so. A part of it gets its share of its busiest link, by the rates of links;
 * what it leaves unused elsewhere nobody else gets. A flow without a path gets nothing.
 *
 * With groups of adaptive routing each switch spreads each flow over all members, by their rates: a
 * switch that sees equal queues does so. No switch learns here that a link further on is full.
 */

#define EBB_SAMPLES 40 /* at most; fewer in large fabrics */

enum ebb_pattern {
	EBB_BISECTION, /* random pairs of all hosts' ports, which send both ways */
	EBB_JOB,       /* 40 % of the machines, at random: rounds of an all-to-all of their ports */
	EBB_STORAGE, /* as the pattern `storage`; each storage port is shared by who sends to it */
	EBB_PATTERNS
};
struct ebb {
	struct ebb_figures {
		double mean;
		double slowest_tenth; /* nine flows of ten get at least that */
		double worst_link;    /* demand on the busiest link, in what it carries */
	} of[EBB_PATTERNS];
};

struct ar_groups;
/* Fills *out, from samples that are the same each time. groups NULL = by the tables alone. */
void ebb_measure(const struct congestion_scene *scene, const struct ar_groups *groups,
		 struct ebb *out);

/*
 * What each of several jobs gets. All run at once; in each, rounds of an all-to-all of the ports of
 * its machines. A machine is of one job.
 */
struct ebb_job {
	double share; /* what its flows get, in the mean, of what their ends have for them */
	double alone; /* the same while no other job runs */
	double time;  /* of a round: what its busiest link carries in it, 1 = as fast as its ports;
			 0 = the job has no flows with a path */
};
/* Fills out[0 .. njobs). job_of: by index in topo.hosts, TOPO_NONE = of no job. */
void ebb_jobs(const struct congestion_scene *scene, const uint32_t *job_of, uint32_t njobs,
	      struct ebb_job *out);

/*
 * ---- What forwarding tables send over a link ----------------------------------------------------
 * How many LIDs, and how many pairs of hosts. Directions are counted separately, by the port that
 * packets leave from.
 */

struct link_use_scene { /* borrowed */
	const struct topo *topo;
	const struct lid_map *lids;
	const struct tables *tables;
};

/*
 * Sets lids[port] to the number of assigned LIDs that a switch forwards by that port. Returns how
 * many assigned LIDs it has no route for.
 */
uint32_t link_use_by_port(const struct link_use_scene *s, uint32_t sw, uint32_t lids[256]);

/*
 * Counts the ordered pairs of host ports whose packets to the base LID leave by that port of a
 * switch or a host. Takes up to some 100 ms at 16,384 hosts.
 */
uint64_t link_use_pairs(const struct link_use_scene *s, uint32_t port);

/*
 * A LID of a host, not one at the switch `but`, to which packets of hosts leave by that port of a
 * switch; 0 = there is none.
 */
uint16_t link_use_any(const struct link_use_scene *s, const struct topo_port *port, uint32_t but);

struct lid_use {
	uint32_t forward, drop;
};
/* The number of switches that forward an assigned LID, and of those that have no route for it. */
struct lid_use link_use_of_lid(const struct link_use_scene *s, unsigned lid);
