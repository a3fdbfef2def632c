/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * graph: the switches of a snapshot for routing: dense indices, oriented links, regular families.
 *
 * Switch s is topo.nodes[s]. Links between the same two switches form one group of parallel lanes.
 * Every group is oriented: `up` ends at the switch of higher rank. Ranks are a total order, so
 * legal paths (up*, then down*) cannot make a credit loop.
 *
 * Siblings: switches of one level with (nearly) the same parents form a family. Members share one
 * list of slots, that is of (parent, lane) pairs, in an order aligned between families through all
 * tiers: slot i of every pod leads to the same part of the roots. Known-but-down links keep their
 * slots.
 *
 * Topological numbers: every host's port has one (`order`), subtree by subtree and leaf by leaf,
 * from structure and not from LIDs. SHARP aggregation nodes are no hosts: they are kept apart and
 * have none, as they stand on all tiers and would shift the numbers of the hosts beside them.
 */
#pragma once

#include "topology/snapshot/topo.h"

#define GRAPH_MAX_SLOTS 250 /* of a family: bytes, those above have their own meaning in routing */

enum graph_orientation {
	GRAPH_BY_LEVEL, /* from the leaves up: the fat tree */
	GRAPH_BY_ROOT,	/* by distance from a central switch: connects whatever links connect */
};

struct graph_how {
	enum graph_orientation orientation;
	bool through_cordons; /* cordoned links count as live */
	bool through_damage;  /* known links that are down count as live */
	const bool *exempt; /* by port of the snapshot: its link counts as live too; NULL = none */
};

struct graph_lane {
	uint8_t port, peer_port;
	bool live;
};

struct graph_group {	     /* parallel links to one neighbour */
	uint32_t peer;	     /* switch */
	uint32_t first_lane; /* in graph.lanes, by port number of the lower switch */
	uint8_t nlanes, nlive;
	uint8_t slot; /* up groups: number of the parent in the family */
};

struct graph_switch {
	uint32_t first_group;	/* ups first, by slot; then downs, by node index */
	uint32_t first_host;	/* in graph.hosts */
	uint32_t first_special; /* in graph.specials */
	uint32_t family;
	uint32_t rank; /* position in the total order, 0 = lowest */
	uint16_t nup, ndown;
	uint16_t nhosts, nspecials;
	uint16_t ndead; /* up groups of the family that it lacks or whose lanes are all dead */
	uint8_t level;
	bool whole; /* up group i leads to the family's parent i, and all its slots are live */
};

struct graph_host {	/* a CA's port on a switch, its link up or known */
	uint32_t port;	/* index in topo.ports, of the CA side */
	uint32_t order; /* hosts: topological number */
	uint8_t sw_port;
	bool live;
};

struct graph_slot {
	uint8_t parent, lane;
};

struct graph_family {
	uint32_t first_member, nmembers; /* in graph.members */
	uint32_t first_parent;		 /* in graph.parents: switches by slot order */
	uint32_t first_slot;		 /* in graph.slots */
	uint32_t pitch; /* P: topological numbers that take the same slot one after another */
	uint16_t nparents, nslots;
	uint8_t level;
};

struct graph {
	uint32_t nswitches;
	uint32_t ngroups;
	uint32_t nlanes;
	uint32_t nhosts;
	uint32_t nspecials;
	uint32_t nfamilies;
	uint32_t nslots;
	uint32_t nparents;
	uint32_t order_top;    /* all topological numbers are below */
	uint32_t leaf_block;   /* numbers reserved for one leaf, >= 1 */
	bool damaged;	       /* some lane is not live */
	bool uneven;	       /* order / pitch does not count the LIDs that come to switches */
	uint32_t leaf_parents; /* usual number of spines above a leaf, >= 1 */
	struct graph_switch *switches;
	struct graph_group *groups;
	struct graph_lane *lanes;
	struct graph_host *hosts;    /* by switch, then port number */
	struct graph_host *specials; /* by switch, then port number */
	struct graph_family *families;
	struct graph_slot *slots;
	uint32_t *members;
	/* TOPO_NONE = one that other families of its kind have: its slots are dead */
	uint32_t *parents;
	uint32_t *by_rank; /* switches, lowest rank first */
};

/* The graph of a snapshot, in memory of its own; the caller frees it (NULL is fine). */
struct graph *graph_new(const struct topo *t, struct graph_how how);
void graph_free(struct graph *g);
/* Sets what is live in a graph made GRAPH_BY_LEVEL, by a later snapshot (see topo_is_again()). */
void graph_refresh(struct graph *g, const struct topo *t, struct graph_how how);

static inline const struct graph_group *graph_ups(const struct graph *g, uint32_t sw)
{
	return &g->groups[g->switches[sw].first_group];
}

static inline const struct graph_group *graph_downs(const struct graph *g, uint32_t sw)
{
	return graph_ups(g, sw) + g->switches[sw].nup;
}

/* family.c, called by graph_new() on the oriented graph: families, slots, topological numbers. */
void family_assign(struct graph *g);
