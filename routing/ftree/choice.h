/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * choice: which of a family's parents, and which link to it, each destination takes. Private to
 * routing/.
 *
 * A destination's home is D-Mod-K's slot. Where that does not lead to it, it takes the first live
 * slot of an order that does not depend on what is dead: so an entry moves only when the very
 * parent that it used is lost, and moves back with it.
 */
#pragma once

#include "routing/ftree/engine.h"

/* ---- How far switches are from one another if no known link were dead ------------------------ */

/*
 * design: destinations are distributed over the parents that lead there by design, so that only
 * those move that lose their path. Rows are made on demand: a regular fabric needs them for few
 * switches.
 */

#define DESIGN_NS 16

struct design_row {
	/* by switch: hops to D downwards alone, REACH_NEVER = D is not below */
	const uint8_t *down;
	const uint8_t *cost; /* by switch: hops to D by up/down paths; a path down counts first */
	bool made;	     /* this call made the row, which took DESIGN_NS a switch */
};

struct design {
	const struct graph *g;
	uint8_t **rows;	 /* by D, NULL = not made yet */
	uint32_t *queue; /* scratch */
};

/* A design without rows; g is borrowed until design_fini(), which frees the rows. */
void design_fini(struct design *design);
/* The row of D, which is made if it is new; borrowed until design_fini(). */
struct design_row design_of(struct design *design, uint32_t d);

/* ---- D-Mod-K's digits of all LIDs, made on demand and kept ----------------------------------- */

#define DIGITS_NONE 255 /* no port has this LID */

struct digits {
	const struct dests *d;
	struct digit_sequence *sequences[UINT8_MAX + 1]; /* by level; the first, if all are alike */
	uint32_t row_bytes;
	struct digit_row *rows;
	unsigned nrows;
};

/* ---- Of several switches, those nearest to each destination ---------------------------------- */

#define NEAREST_BYTES 32 /* rows are whole multiples of it */

struct nearest {	/* by destination, `bytes` each */
	uint8_t *cost;	/* one more than the least of the rows' costs; REACH_NEVER = none has any */
	uint8_t *count; /* rows that have it */
	uint8_t *last;	/* the last of them; undefined where none has */
};

/* Fills the arrays of *out from n rows of costs, `bytes` each. */
void nearest_find(const uint8_t *const rows[], unsigned n, uint32_t bytes,
		  const struct nearest *out);

/* ---- Choice ---------------------------------------------------------------------------------- */

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
	uint32_t d;		   /* + 1, 0 = not set */
	unsigned size, nelsewhere; /* nelsewhere: the number of slots of other parents */
	struct parent_set parents;
	uint8_t rank[256]; /* by slot: its number among those, CHOICE_NONE = of `parents` */
};

/* all LIDs behind one D: a switch's own, and its aggregation node's or its own again */
struct lid_pair {
	uint16_t a, b;
};

struct at_home { /* by slot: number of LIDs behind one D that have it as their home */
	uint32_t weight[256], least, most;
};

/* Candidates of one family, and its row of slots. Reused from family to family. */
struct choice {
	struct arena *arena; /* owns the arrays */
	const struct graph *g;
	const struct dests *d;
	const struct reach *r;
	const struct graph_family *family;
	uint8_t *never;		/* costs of a parent that is not there */
	struct nearest nearest; /* by D: of its parents */
	struct parent_set all;	/* of its parents */
	uint64_t *masks;	/* [CHOICE_WORDS][nswitches]: candidates; valid if has_masks */
	uint8_t *slots;		/* by LID up to the rows' end: slot, or CHOICE_NONE */
	uint8_t by_parent[256], first_by_parent[257]; /* slots of each parent, by lane */
	struct few few;				      /* of the latest D */
	struct at_home **at_home;		      /* by D; NULL = not computed yet */
	uint32_t chosen;	    /* LIDs of the family that were chosen one by one */
	bool has_masks;		    /* many D: only some parents lead there */
	bool has_never;		    /* some D: none does */
	bool has_never_hosts;	    /* some D with hosts: none does */
	uint8_t *has_hosts;	    /* by D: all bits or none */
	struct lid_pair *only_lids; /* by D: 0 = has none, or more than two */
	uint32_t row_bytes;
	const uint8_t *home; /* by LID: the slot wanted, D-Mod-K's digit */
	struct digits digits;
	struct design own_design, *design; /* design: own_design, or the one of `r` */
	bool design_lives; /* no link is dead: what leads to D is what does by design */
};

/* Prepares for all families; g, d and r are borrowed until choice_fini(), which frees the rest. */
void choice_init(struct choice *c, const struct graph *g, const struct dests *d,
		 const struct reach *r, uint32_t row_bytes);
void choice_fini(struct choice *c);

/* Sets candidates and slot row of one family, whose parents' cost rows have to be complete. */
void choice_family(struct choice *c, const struct graph_family *family);

/* The family's parents with the shortest legal path to D; empty = none has a path. */
struct parent_set choice_candidates(const struct choice *c, uint32_t d);
/* A LID's slot among the candidates (not empty): the first of its order. */
unsigned choice_slot(struct choice *c, uint32_t lid, const struct parent_set *candidates);

/*
 * By LID: the lane preferred down to a child switch, below its group's number of lanes: that of the
 * slot by which the child's family sends the LID up. LIDs whose slot leads to a parent with
 * another number of lanes come only where that one does not lead to them, and take lanes in turn.
 * Owned by the choice.
 */
const uint8_t *choice_lanes(struct choice *c, uint32_t child, const struct graph_group *group);
/*
 * The port of lane `wanted`, or where that is dead of another live lane, chosen by `spread`: the
 * destinations of a dead lane are spread over the others, and none moves because another lane died.
 */
uint8_t choice_lane_port(const struct graph *g, const struct graph_group *group, unsigned wanted,
			 uint32_t spread);
