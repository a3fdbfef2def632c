/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * route: computes forwarding tables from a snapshot and its LIDs. Pure: the same input gives the
 * same bytes, and nothing here knows files, sockets, logs or the clock.
 */
#pragma once

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

/*
 * Classes of end ports for load balancing (node types of Gliksberg et al., arXiv 2211.11818). Each
 * class is distributed over the slots by its own numbers, so that one never skews another.
 */
enum route_class {
	ROUTE_COMPUTE,	  /* by its place on its leaf: a rail's shifts do not collide */
	ROUTE_STORAGE,	  /* by its place among all storage ports */
	ROUTE_MANAGEMENT, /* by its place among all management ports */
};

/* An entry other than the engine's choice, on a path of the same length (rebalance.h). */
struct route_override {
	uint32_t sw;
	uint16_t lid;
	uint8_t port;
};

struct even;
/*
 * Engines. "ftree": up/down by the tiers, D-Mod-K, detours where these leave pairs without a path;
 * in a fabric whose known links make no tree (tiers.h), updn-root. "updn": by the tiers, whatever
 * the links are. "updn-root": any fabric, by an acyclic set of turns (acyclic.h). "ftree" and
 * "updn" fall back to updn-root where pairs of hosts are left without a path.
 */
struct route_params {
	const char *engine; /* "ftree" (default, NULL), "updn", "updn-root" */
	/* enum route_class by port index of the snapshot; NULL = all compute */
	const uint8_t *classes;
	const struct route_override *overrides; /* used if on a minimal up/down path */
	uint32_t noverrides;
	struct even *even; /* route_even() of another computation, to save time; NULL = none */
	bool hasty;	   /* links of an irregular design need not be shared evenly yet */
};

/* The static name of an engine by its number, "ftree" first; NULL past the last. */
const char *route_engine_name(int number);

/* A router, owned by the caller (NULL is fine), which keeps memory between computations. */
struct route;
struct route *route_new(void);
void route_free(struct route *route);
/* Prepares part of that memory for snapshots with cordons (tables_reserve). True: more to do. */
bool route_reserve(struct route *route, uint32_t nswitches, uint16_t top);

/*
 * Fills `out` (resized to the snapshot). Returns 0, or -EINVAL for an unknown engine. Pairs without
 * a path are no failure: their entries are TABLES_NO_ROUTE, and the proof names them.
 */
int route_compute(struct route *route, const struct topo *t, const struct lid_map *lids,
		  const struct route_params *params, struct tables *out)
	__attribute__((warn_unused_result));
/*
 * What makes the tables of an irregular design even (even.h), NULL = nothing; borrowed until the
 * next computation begins.
 */
struct even *route_even(const struct route *route);
/* Whether links of the latest snapshot are to be shared evenly, by a computation that may last. */
bool route_is_irregular(const struct route *route);
/* Whether the latest snapshot is a tree of uneven design; rebalance_is_uneven() at no cost. */
bool route_is_uneven(const struct route *route);
/*
 * route_compute(), some milliseconds at a time: begin, go while it returns true, end, which returns
 * what route_compute() would. What the arguments point to must not change until then.
 * route_abandon() ends a computation whose result is not wanted, if one was begun.
 */
void route_begin(struct route *route, const struct topo *t, const struct lid_map *lids,
		 const struct route_params *params, struct tables *out);
bool route_go(struct route *route);
int route_end(struct route *route) __attribute__((warn_unused_result));
void route_abandon(struct route *route);
/* From now on the computation that runs has no time to share links evenly. */
void route_hasten(struct route *route);
enum route_why {
	ROUTE_AS_ASKED,
	ROUTE_NO_TREE,	  /* the known links, up or down, make no tree */
	ROUTE_PAIRS_OPEN, /* damage left pairs of hosts without a path in the tree */
};
/*
 * The outcome of a computation. Loads: flows on the busiest link when each host sends to each.
 * Hops: links on a path between switches with hosts, on average.
 */
struct route_outcome {
	const char *engine; /* that made the tables */
	enum route_why why;
	uint64_t open_pairs;	     /* of switches with hosts, that the tree left without a path */
	uint32_t open_from, open_to; /* the first such pair; TOPO_NONE = none */
	uint64_t tree_load, load;
	double tree_hops, hops;
};
/* The outcome of the latest computation; owned by the router, valid until the next. */
const struct route_outcome *route_outcome(const struct route *route);
/*
 * If the latest tables are of "updn-root": by port, whether the link is in a spanning tree that
 * multicast trees have to be parts of (acyclic.h); borrowed until the next computation. Else NULL.
 */
const bool *route_spanning(const struct route *route);
/* Writes for people why another engine than asked made the tables; "" = none did. */
void route_explain(const struct route *route, const struct topo *t, char *text, size_t size);
/* Whether the latest tables lead over cordoned links, as nothing else connects some hosts. */
bool route_cordons_overridden(const struct route *route);
