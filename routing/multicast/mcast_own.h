/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_own: a snapshot prepared for trees (mcast_tree.c), and what else a plan needs of it.
 * Private to routing/multicast/.
 */
#pragma once

#include "routing/multicast/mcast_tree.h"
#include "topology/graph/graph.h"

#define MCAST_NEVER 255 /* as a distance: there is no path */

enum path_kind { CLIMB, DESCEND, ANY_LIVE, ANY_LINK, PATH_KINDS };

struct seat { /* a switch with members */
	uint32_t sw, members, receivers;
};

struct link_up { /* from a switch on the tree towards the root */
	uint32_t parent;
	uint8_t port, parent_port;
};

struct making { /* of one tree, from mcast_tree_start() on */
	const struct mcast_group *group;
	const struct mcast_tree *older;
	struct mcast_tree *out;
	uint32_t older_root; /* in this snapshot, TOPO_NONE = none */
	uint32_t all;	     /* weight of all seats */
	unsigned tried;	     /* of kinds_tried */
	enum path_kind kind; /* from seats towards the root */
	uint32_t next_seat;  /* to be added to the candidates' figures */
	uint32_t nseats, nreceivers;
};

struct mcast {
	const struct topo *t;
	struct graph *g;
	struct arena *arena;		/* owns the arrays, but for distances */
	uint32_t *place;		/* by switch */
	uint64_t (*links)[MCAST_WORDS]; /* by switch: its ports to other switches */
	uint32_t *load;			/* by topo port */
	uint64_t *switch_load;		/* by switch: over its links */
	uint8_t **rows
		[PATH_KINDS]; /* by switch: distances from it to all switches, NULL = not made */
	uint32_t *queue;
	const bool *only; /* by topo port: links that trees may go by, lent; NULL = all */
	bool tables_known;
	bool *carries;	 /* by switch: its MFT is large enough for the MLID */
	uint32_t ncarry; /* how many do: the rows are valid as long as that is the same */
	bool same_root;	 /* the older tree's, wherever it reaches as many */
	bool climb_only; /* no turns: members are left out instead */
	/* Of the tree that is being made. */
	struct making making;
	struct seat *seats;
	uint32_t *seat_of;  /* by switch, + 1 */
	uint32_t *reached;  /* by switch as a root: weight of the seats it reaches */
	uint8_t *farthest;  /* by switch as a root: largest distance */
	uint32_t *total;    /* by switch as a root: sum of distances over members */
	struct link_up *up; /* by switch on the tree */
	uint32_t *beyond;   /* by switch on the tree: receivers at or below it */
	uint32_t *hop_of;   /* by switch, + 1; 0 = not on the tree */
	uint32_t *on_tree, ntree;
	bool *kept; /* by topo port: the link is on the tree in question */
};

/* The first switch where packets of a tree go down, then up, by levels; TOPO_NONE = none. */
uint32_t mcast_tree_turn(const struct topo *t, const struct mcast_tree *tree);

/* For qsort(3): orders hops by switch; returns < 0, 0 or > 0. */
int mcast_compare_hops(const void *a, const void *b);
