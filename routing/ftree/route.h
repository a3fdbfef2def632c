/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * route: from a snapshot and its LIDs to forwarding tables. Pure: the same input gives the same
 * bytes, and nothing here knows files, sockets, logs or the clock.
 */
#ifndef FMD_ROUTING_ROUTE_H
#define FMD_ROUTING_ROUTE_H

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/topo.h"

/*
 * What an end port is to the balance (node types of Gliksberg et al., arXiv 2211.11818). Each class
 * is distributed over the slots by its own numbers, so one never skews another; all are reached
 * alike.
 */
enum route_class {
	ROUTE_COMPUTE,	  /* by its place on its leaf: a rail's shifts do not collide */
	ROUTE_STORAGE,	  /* by its place among all storage ports */
	ROUTE_MANAGEMENT, /* likewise */
	ROUTE_IDLE,	  /* likewise: drained or dead, expected to be silent */
	ROUTE_CROSSRAIL,  /* by its place and its rail: the HCAs of one host take different slots */
};

/* An entry that leaves the engine's choice, of an equally short path (rebalance.h). */
struct route_override {
	uint32_t sw;
	uint16_t lid;
	uint8_t port;
};

/*
 * Engines. "ftree": up/down by the tiers, D-Mod-K, detours where these leave pairs without a path;
 * in a fabric whose known links make no tree (tiers.h), updn-root. "updn": by the tiers, whatever
 * the links are. "updn-root": any fabric, by an acyclic set of turns (acyclic.h). The former two
 * come to updn-root where pairs of hosts were left without a path.
 */
struct route_params {
	const char *engine; /* "ftree" (default, NULL), "updn", "updn-root" */
	/* enum route_class by port index of the snapshot; NULL = all compute */
	const uint8_t *classes;
	/* by port index: relative traffic of an end port, 0 = expected silent; NULL = all 1 */
	const uint8_t *weights;
	/* taken where they lead on a minimal up/down path */
	const struct route_override *overrides;
	uint32_t noverrides;
};

/* The name of an engine by its number, "ftree" first; NULL past the last. */
const char *route_engine_name(int number);

/* A router keeps its work memory between computations. */
struct route;
struct route *route_new(void);
void route_free(struct route *route);
/*
 * Prepares a part of that memory, for a snapshot with cordons (tables_make_room). True: there is
 * more to do.
 */
bool route_make_room(struct route *route, uint32_t nswitches, uint16_t top);

/*
 * Fills `out` (resized to the snapshot). Returns 0, or -EINVAL for an unknown engine.
 * A fabric is never given up: what no legal path reaches is TABLES_NO_ROUTE and left for the proof
 * to name.
 */
int route_compute(struct route *route, const struct topo *t, const struct lid_map *lids,
		  const struct route_params *params, struct tables *out)
	__attribute__((warn_unused_result));
/* The design of the latest snapshot, a tree's, is uneven: rebalance_is_uneven(), but at no cost. */
bool route_is_uneven(const struct route *route);
/*
 * The same, some milliseconds at a time: begin, go until it says false, end. What the parameters
 * lead to stays as it is until then. One that was begun and is not wanted any more is abandoned,
 * which takes as long as what can't be left away of it.
 */
void route_begin(struct route *route, const struct topo *t, const struct lid_map *lids,
		 const struct route_params *params, struct tables *out);
bool route_go(struct route *route); /* true: there is more to do */
int route_end(struct route *route) __attribute__((warn_unused_result));
void route_abandon(struct route *route);
enum route_why {
	ROUTE_AS_ASKED,
	ROUTE_NO_TREE,	  /* known links, dead ones too, make none */
	ROUTE_PAIRS_OPEN, /* damage left pairs of hosts without a path in the tree */
};
/*
 * What came of the latest computation. Loads: flows on the busiest link when each host sends to
 * each, as far as they have a path.
 */
struct route_outcome {
	const char *engine; /* that made the tables */
	enum route_why why;
	uint64_t open_pairs;	     /* of switches with hosts, that the tree left without a path */
	uint32_t open_from, open_to; /* the first of these; TOPO_NONE = none */
	uint64_t tree_load, load;    /* of the fabric as it is.. */
	double tree_hops, hops; /* ..and links on a path between switches with hosts, on average */
};
const struct route_outcome *route_outcome(const struct route *route);
/*
 * Where no tiers orient the latest tables: links of a spanning tree that multicast's trees are to
 * go by (acyclic.h), by port of the snapshot. NULL = there are tiers. Good until the next
 * computation.
 */
const bool *route_spanning(const struct route *route);
/* For people; "" where the tables are as asked. */
void route_explain(const struct route *route, const struct topo *t, char *text, size_t size);
/*
 * The latest computation had hosts that nothing but cordoned links connects: cordons that shut
 * them off did not count.
 */
bool route_cordons_overridden(const struct route *route);

#endif
