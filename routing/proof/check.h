/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check: the proof of forwarding tables, independent of the engines. It knows the snapshot and the
 * bytes, not how they were made: it follows every LID from every switch, builds the channel
 * dependency graph of all LIDs (Dally and Seitz 1987) and searches it for cycles.
 */
#pragma once

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

struct check_report {
	uint64_t reachable;	      /* ordered pairs of hosts' ports that the tables connect */
	uint64_t unreachable;	      /* pairs that links connect and the tables do not */
	uint64_t unreachable_special; /* such pairs with a SHARP aggregation node in them */
	uint64_t disconnected;	      /* pairs without any path of links */
	uint64_t loops;		      /* (switch, LID) from which packets never arrive nor end */
	uint64_t bad_ports;	      /* entries that lead to a port with nothing behind it */
	uint64_t credit_cycles;	      /* strongly connected groups of channels */
	unsigned max_hops;	      /* switches on the longest host-to-host path */
	double mean_hops;
	char first[320]; /* the first finding by name: pair, loop or cycle; "" = none */
	char cycle[320]; /* one of the credit cycles; "" = none */
};

/*
 * Fills *report. True when the tables may be programmed: no loop, no credit loop, no bad port.
 * Unreachable pairs are reported, but are no reason for false.
 */
bool check_tables(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		  struct check_report *report);

struct ar_groups;
/*
 * Proves tables together with groups of adaptive routing (routing/adaptive/groups.h): any choice of
 * members at each switch delivers, without a loop; the channel dependencies of all members at once
 * have no cycle; and both hold for what is left of groups when a link fails. False: they are not
 * to be programmed. bad_ports and loops count what is wrong with groups.
 */
bool check_groups(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		  const struct ar_groups *groups, struct check_report *report);
/*
 * The same: begin, go, a few milliseconds a call, while it returns true; end, which may come before
 * and then refuses them, and frees it. The arguments must not change until then.
 */
struct check_groups;
struct check_groups *check_groups_begin(const struct topo *t, const struct lid_map *lids,
					const struct tables *tables, const struct ar_groups *groups,
					struct check_report *report);
bool check_groups_go(struct check_groups *run);
bool check_groups_end(struct check_groups *run);
