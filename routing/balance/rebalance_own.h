/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rebalance_own: what the stages of a pass share. Private to routing/balance. The files call each
 * other downward only, in this order: rebalance.c (the stages; which entries may move),
 * rebalance_improve.c (where they move), rebalance.c (the base of an uneven design),
 * rebalance_improve.c, rebalance.c, shift_load.c.
 */
#ifndef FMD_ROUTING_REBALANCE_OWN_H
#define FMD_ROUTING_REBALANCE_OWN_H

#include "routing/ftree/legal.h"
#include "routing/balance/rebalance.h"
#include "routing/balance/shift_load.h"

struct candidate {
	uint32_t sw, lid;
	uint8_t stable; /* the engine's choice */
};

struct hop {			/* of one LID, from one switch */
	uint32_t channel, next; /* TOPO_NONE = none */
};

/* Where the design is uneven, each pass begins with what a pass of the next aim has found. */
enum rebalance_aim {
	REBALANCE_DAMAGE, /* what differs from the design */
	REBALANCE_WIDE,	  /* all links live: anything, in a small fabric */
	REBALANCE_NARROW, /* .. what is not on D-Mod-K's slot */
};

struct rebalance {
	const struct topo *t;
	const struct lid_map *lids;
	struct route_params params;
	struct rebalance_limits limits;
	int stage;
	enum rebalance_aim aim;
	struct rebalance *base; /* what this one begins with; NULL = the engine's tables */
	struct topo *whole;	/* the base's snapshot, if it is not this one's */
	struct legal legal;	/* its tables are those that change */
	bool *open;		/* by destination switch: legal_find_open() */
	struct legal design;
	struct shift_load load;
	struct candidate *candidates; /* by LID, in topological order; of a LID by rank */
	uint32_t ncandidates, size;
	uint32_t next;	  /* switch, LID (of the load), channel, source or candidate */
	uint32_t hops_of; /* LID */
	struct hop *hops; /* by switch */
	uint8_t *mark;	  /* by switch: while candidates are looked for */
	uint32_t *list;	  /* switches or sources */

	unsigned pass;
	uint64_t work; /* in units, of this step */
	uint32_t moved;
	uint32_t first, end; /* candidates of the LID in question */
	uint32_t *users;     /* by switch: sources whose packets to the LID pass */
	uint32_t *known;     /* by switch: 1 + the LID's candidate there, 0 = none */
	uint32_t *others;    /* sources */

	uint32_t *of_lid; /* 1 + its first candidate, 0 = none */
	uint32_t *place;  /* by switch: of its next override */
	struct rebalance_result result;
};

/* rebalance_improve.c: the channel behind a port and the switch that it leads to, or TOPO_NONE. */
struct hop rebalance_hop(const struct rebalance *job, uint32_t sw, uint8_t out);
/* Sets job->hops to those of that LID. */
void rebalance_set_lid(struct rebalance *job, uint32_t lid);
/* The channels from a switch to the LID of rebalance_set_lid(). */
struct shift_path rebalance_path_from(const struct rebalance *job, uint32_t sw);

/* rebalance_improve.c: begins, when flows are counted and candidates found. */
void rebalance_begin_to_improve(struct rebalance *job);
/* Goes through the candidates several times, for about `units` a call; true = done. */
bool rebalance_improve(struct rebalance *job, uint32_t units);

#endif
