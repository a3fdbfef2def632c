/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * order: in which order switches take new forwarding entries, so that nothing breaks on the way.
 *
 * The unit of writing is one block of 64 entries of one switch. Steps are assigned to rounds; a
 * round starts when all steps of the one before are acknowledged, within a round they go in any
 * order. In every mixture of old and new entries that can occur meanwhile
 *   - no packet loops,
 *   - no channels wait for one another in a cycle (no credit loop),
 *   - every pair of end ports that a working path joins both before and after is joined.
 * Paths are judged by the links of the newer snapshot: an old entry to a dead link leads nowhere.
 * If no order keeps the second promise, some entries are first emptied, of 64 LIDs of hosts at a
 * time (all in all order.drained LIDs): then the pairs that use them break the third until they are
 * filled. The new paths of some LIDs and the old ones of others may close a cycle all the same, as
 * when the engine, the manager or the design of a fabric that is no tree changes. Then switches
 * hold spanning trees on the way, if some agree with both tables, all blocks are known and less
 * than a third of the hosts' entries in leaves lead nowhere before. Where trees agree that leave
 * out LIDs of switches and of aggregation nodes, these are empty meanwhile. Otherwise more LIDs are
 * emptied at a time, as many as it takes. Of tables above a megabyte the second promise is broken
 * instead; nor is it kept where the older tables break it by themselves, unless that ends when some
 * entries to switches are emptied, which then are the first, all at once.
 *
 * The content of an unknown block (never acknowledged) is taken for "leads nowhere", and nothing is
 * promised about it until it is written; unknown blocks do not wait for one another, so that a cold
 * start is one round.
 */
#pragma once

#include "routing/proof/check_change.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

struct order_block { /* a block that differs, or may differ */
	uint32_t sw, block;
	const uint8_t *old; /* its TABLES_BLOCK entries as acknowledged; NULL = unknown */
};

struct order_step {
	uint32_t sw, block;
	uint64_t mask; /* entries that take their new value; unknown blocks: all */
	/* of the mask: they end paths that work until all other entries of the LID are new */
	uint64_t last;
	uint64_t patient; /* of the mask: no other waits for them, and old next hops are alive */
	uint16_t tree;	  /* instead of its new value: of that tree of the order, 1 = the first */
	bool drain;   /* the entries of the mask are emptied (TABLES_NO_ROUTE) and filled later */
	bool emptied; /* they were, by a step before */
	bool hosts;   /* traffic of hosts is known to use it: ahead of the others of its round */
};

struct order {
	struct order_step *steps; /* round by round, those with hosts first */
	uint32_t *first;	  /* by round [nrounds + 1]: its first step */
	uint32_t nsteps, nrounds;
	/* By tree and switch: the port towards its root, 0 = the root. By LID: its switch. */
	uint8_t *trees;
	uint32_t *home, ntrees;
	uint32_t split;	  /* blocks written in several steps */
	uint32_t drained; /* LIDs of which entries are emptied */
	uint32_t most;	  /* of hosts, at a time */
	bool strict;	  /* the second promise needs every round complete: when a step fails for
			     good, later rounds must not start */
};

void order_fini(struct order *o); /* frees what it holds; it is empty then */

struct order_making;
struct order_proof {		       /* the proof of `newer`: the order is found much sooner */
	const struct check_base *base; /* borrowed until the end; NULL = none */
	uint64_t serial;
	bool older; /* the older tables were proven as well: they keep the second promise */
	/* By port: route_spanning() of `newer`, of the older tables; borrowed until the end. */
	const bool *spanning, *spanning_older;
};
/*
 * Finds the order for tables that were proven, in calls of a few milliseconds: begin, go while it
 * returns true, end. `changed` holds each block once, in any order; all other blocks are as in
 * `newer`. The list is copied; `newer` and the blocks that it points to must not change until then.
 * The caller owns what begin returns; order_drop() frees it at any time without a result; NULL is
 * fine. *out is overwritten; the caller frees it by order_fini().
 */
struct order_making *order_begin(const struct topo *t, const struct tables *newer,
				 const struct order_block *changed, uint32_t count,
				 const struct order_proof *proof);
bool order_go(struct order_making *m);
void order_end(struct order_making *m, struct order *out);
void order_drop(struct order_making *m);
/* What the entries of a step come to be; where nothing is drained, those of its mask. */
void order_content(const struct order *o, const struct topo *t, const struct tables *newer,
		   const struct order_step *step, uint8_t content[TABLES_BLOCK]);
