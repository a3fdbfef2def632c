/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * choice: which of a family's parents, and which cable to it, each destination takes. Private to
 * routing/.
 *
 * A destination wants the slot agreed for it (agree.h): D-Mod-K's while that is alive on its way down. A parent that
 * does not lead there from here hands its destinations over by a probe sequence that depends on x = order / pitch
 * alone, not on what else is dead: so an entry moves only when the very parent it used is lost, and comes back with it.
 */
#ifndef FMD_ROUTING_CHOICE_H
#define FMD_ROUTING_CHOICE_H

#include "routing/agree.h"
#include "routing/digits.h"
#include "routing/engine.h"
#include "routing/nearest.h"

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
	struct nearest nearest; /* by D: of its parents */
	struct parent_set all;	/* of its parents */
	uint64_t *masks;	/* [CHOICE_WORDS][nswitches]: them all; valid when has_masks */
	uint8_t *slots;		/* by LID up to the rows' end: slot, or CHOICE_NONE */
	uint8_t by_parent[256], first_by_parent[257]; /* slots of each parent, by lane */
	bool has_masks;				      /* many D: only some parents lead there */
	bool has_never;				      /* some D: none does */
	bool has_never_hosts;			      /* .. and it has hosts */
	uint8_t *has_hosts;			      /* by D: all bits or none */
	uint16_t *only_lid;			      /* by D: 0 = has none or several */
	uint32_t row_bytes;
	const uint8_t *home; /* by LID: the slot wanted */
	uint8_t *moved;	     /* room for a home row that differs from the digits */
	struct agreement agreed;
	struct digits digits;
};

void choice_init(struct choice *c, const struct graph *g, const struct dests *d,
		 const struct reach *r, uint32_t row_bytes);
void choice_fini(struct choice *c);

/* Candidates and slot row of one family. All its parents' cost rows are complete. */
void choice_family(struct choice *c, const struct graph_family *family);

struct parent_set choice_candidates(const struct choice *c, uint32_t d);
/* A LID's slot among the candidates (not empty): the one wanted first, then the probe sequence. */
unsigned choice_slot(const struct choice *c, uint32_t lid, const struct parent_set *candidates);

/*
 * By LID: the lane wanted on the way down to a child switch, below its group's number of lanes; and the one to take
 * where that is dead.
 */
const uint8_t *choice_lanes(struct choice *c, uint32_t child, const struct graph_group *group,
			    const uint8_t **spare);
/*
 * The port of lane `wanted`. A dead lane's destinations go on to the lanes after it, by `spread`: those
 * of different dead lanes to different ones, and none moves because some other lane died.
 */
uint8_t choice_lane_port(const struct graph *g, const struct graph_group *group, unsigned wanted,
			 uint32_t spread);

#endif
