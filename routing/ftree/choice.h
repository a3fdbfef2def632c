/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * choice: which of a family's parents, and which link to it, each destination takes. Private to
 * routing/.
 *
 * A destination wants D-Mod-K's slot. A parent that does not lead there hands its destinations over
 * by an order that does not depend on what is dead: so an entry moves only when the very parent it
 * used is lost, and comes back with it.
 */
#ifndef FMD_ROUTING_CHOICE_H
#define FMD_ROUTING_CHOICE_H

#include "routing/ftree/design.h"
#include "routing/ftree/digits.h"
#include "routing/ftree/engine.h"
#include "routing/ftree/nearest.h"

#define CHOICE_WORDS 4	 /* bitmaps over a family's parents */
#define CHOICE_NONE  255 /* slot rows: no legal path */

struct parent_set {
	uint64_t word[CHOICE_WORDS];
};
static inline bool parent_in(const struct parent_set *set, unsigned parent)
{
	return set->word[parent / 64] >> (parent % 64) & 1;
}

struct few {			   /* parents that lead to one D by design */
	uint32_t d;		   /* + 1, 0 = none was looked at */
	unsigned size, nelsewhere; /* nelsewhere: slots of the other parents.. */
	struct parent_set parents;
	uint8_t rank[256]; /* ..numbered, by slot; CHOICE_NONE = of one of these */
};

/* all LIDs behind one D: a switch's own, and its aggregation node's or the same again */
struct lid_pair {
	uint16_t a, b;
};

struct at_home { /* by slot: what the LIDs behind one D want to go by it, as weight */
	uint32_t weight[256], least, most;
};

/* Candidates of one family, and its row of slots. Reused from family to family. */
struct choice {
	const struct graph *g;
	const struct dests *d;
	const struct reach *r;
	const struct graph_family *family;
	uint8_t *never;		/* costs of a parent that is not there */
	struct nearest nearest; /* by D: of its parents */
	struct parent_set all;	/* of its parents */
	uint64_t *masks;	/* [CHOICE_WORDS][nswitches]: them all; valid when has_masks */
	uint8_t *slots;		/* by LID up to the rows' end: slot, or CHOICE_NONE */
	uint8_t by_parent[256], first_by_parent[257]; /* slots of each parent, by lane */
	struct few few;				      /* of the D looked at last */
	struct at_home **at_home;		      /* by D; NULL = nobody asked yet */
	uint32_t chosen;	    /* LIDs of the family that were looked at one by one */
	bool has_masks;		    /* many D: only some parents lead there */
	bool has_never;		    /* some D: none does */
	bool has_never_hosts;	    /* .. and it has hosts */
	uint8_t *has_hosts;	    /* by D: all bits or none */
	struct lid_pair *only_lids; /* by D: 0 = has none, or more than two */
	uint32_t row_bytes;
	const uint8_t *home; /* by LID: the slot wanted, D-Mod-K's digit */
	struct digits digits;
	struct design own_design, *design; /* .. or the one that reach lends */
	bool design_lives; /* no link is dead: what leads to D is what does by design */
};

void choice_init(struct choice *c, const struct graph *g, const struct dests *d,
		 const struct reach *r, uint32_t row_bytes);
void choice_fini(struct choice *c);

/* Candidates and slot row of one family. All its parents' cost rows are complete. */
void choice_family(struct choice *c, const struct graph_family *family);

struct parent_set choice_candidates(const struct choice *c, uint32_t d);
/* A LID's slot among the candidates (not empty): the first of its order. */
unsigned choice_slot(struct choice *c, uint32_t lid, const struct parent_set *candidates);

/* By LID: the lane wanted on the way down to a child switch, below its group's number of lanes. */
const uint8_t *choice_lanes(struct choice *c, uint32_t child, const struct graph_group *group);
/*
 * The port of lane `wanted`. A dead lane's destinations go on to the lanes after it, by `spread`:
 * those of different dead lanes to different ones, and none moves because some other lane died.
 */
uint8_t choice_lane_port(const struct graph *g, const struct graph_group *group, unsigned wanted,
			 uint32_t spread);

#endif
