/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * choice: which of a family's parents, and which cable to it, each destination takes. Private to
 * routing/.
 *
 * x = order / pitch is the destination's digit string from this level up. Its slot is x mod W; with
 * all parents alive and leading there, that is D-Mod-K. A parent that is dead or does not lead
 * there hands its destinations over by a probe sequence that depends on x alone, not on what else
 * is dead: so an entry moves only when the very parent it used is lost, and comes back with it.
 */
#ifndef FMD_ROUTING_CHOICE_H
#define FMD_ROUTING_CHOICE_H

#include "routing/engine.h"

#define CHOICE_WORDS   4   /* bitmaps over a family's parents */
#define CHOICE_NONE    255 /* slot rows: no legal path */
#define CHOICE_MAX_TRY 8   /* probes before the sequence turns into a plain scan */

struct parent_set {
	uint64_t word[CHOICE_WORDS];
};
static inline bool parent_in(const struct parent_set *set, unsigned parent)
{
	return set->word[parent / 64] >> (parent % 64) & 1;
}

/* Candidates of one family, and its row of slots. Reused from family to family. */
struct choice {
	const struct graph *g;
	const struct dests *d;
	const struct reach *r;
	const struct graph_family *family;
	uint8_t *cost;	 /* by D: hops by way of the nearest parent, REACH_NEVER = none */
	uint8_t *count;	 /* by D: parents at that cost */
	uint8_t *last;	 /* by D: the highest-numbered of them */
	uint64_t *masks; /* [CHOICE_WORDS][nswitches]: them all; valid when has_masks */
	uint8_t *slots;	 /* by LID up to the rows' end: slot, or CHOICE_NONE */
	uint8_t by_parent[256], first_by_parent[257]; /* slots of each parent, by lane */
	bool has_masks, has_never; /* some D: only some parents lead there; none does */
	uint32_t row_bytes;
	struct digit_row *rows; /* cache of digit rows */
	unsigned nrows;
};

void choice_init(struct choice *c, const struct graph *g, const struct dests *d,
		 const struct reach *r, uint32_t row_bytes);
void choice_fini(struct choice *c);

/* Candidates and slot row of one family. All its parents' cost rows are complete. */
void choice_family(struct choice *c, const struct graph_family *family);

struct parent_set choice_candidates(const struct choice *c, uint32_t d);
/* The slot for x among the candidates (not empty): D-Mod-K first, then the probe sequence. */
unsigned choice_slot(const struct choice *c, uint32_t x, const struct parent_set *candidates);

/* By LID: order / pitch mod modulus, for all LIDs; rows are made once and kept. */
const uint8_t *choice_digits(struct choice *c, uint32_t pitch, unsigned modulus);

#endif
