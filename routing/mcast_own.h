/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mcast_own: a snapshot prepared for trees, shared by mcast_ways.c (distances) and mcast_tree.c (trees). */
#ifndef FMD_ROUTING_MCAST_OWN_H
#define FMD_ROUTING_MCAST_OWN_H

#include "routing/mcast_tree.h"
#include "topology/graph.h"

#define MCAST_NEVER 255 /* farther than any distance */

enum way { CLIMB, DESCEND, ANY_LIVE, ANY_CABLE, WAYS };

struct seat { /* a switch with members */
	uint32_t sw, members, receivers;
};

struct link_up { /* from a switch on the tree towards the root */
	uint32_t parent;
	uint8_t port, parent_port;
};

struct mcast {
	const struct topo *t;
	struct graph *g;
	uint32_t *place;       /* by switch */
	uint32_t *load;	       /* by topo port */
	uint64_t *switch_load; /* by switch: over its cables */
	uint8_t **rows[WAYS];  /* by switch: distances from it to all switches, NULL = not made */
	uint32_t *queue;
	bool tables_known;
	bool *carries;	 /* by switch: has place for the MLID.. */
	uint32_t ncarry; /* ..how many do: the rows are good as long as that stays */
	/* Of the tree in the making. */
	const struct mcast_group *group;
	const struct mcast_tree *older;
	struct mcast_tree *out;
	uint32_t older_root; /* in this snapshot, TOPO_NONE = none */
	uint32_t all;	     /* weight of all seats */
	unsigned tried;	     /* of ways_tried */
	uint32_t next_seat;  /* to be added to the candidates' figures */
	struct seat *seats;
	uint32_t nseats, nreceivers;
	uint32_t *seat_of;  /* by switch, + 1 */
	uint32_t *reached;  /* by switch as a root: weight of the seats it reaches */
	uint8_t *farthest;  /* the same: largest distance */
	uint32_t *total;    /* the same: sum over members */
	struct link_up *up; /* by switch on the tree */
	uint32_t *beyond;   /* by switch on the tree: receivers at or below it */
	uint32_t *hop_of;   /* by switch, + 1; 0 = not on the tree */
	uint32_t *on_tree, ntree;
	bool *kept;   /* by topo port: the cable is on the tree in question */
	enum way way; /* from seats towards the root */
};

/* mcast_ways.c */
const uint8_t *mcast_distances(struct mcast *m, uint32_t sw,
			       enum way w); /* by switch, MCAST_NEVER = none */
enum way mcast_way_back(enum way w);	    /* the same ways walked from the other end */
bool mcast_lane_open(const struct mcast *m, uint32_t sw, const struct graph_lane *lane, enum way w);
/* The groups of a switch that a way may take: [*first, *end) of its ups and downs. */
void mcast_groups_for(const struct graph_switch *s, enum way w, unsigned *first, unsigned *end);
void mcast_choose_carriers(struct mcast *m, uint16_t mlid);

#endif
