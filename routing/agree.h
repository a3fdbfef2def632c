/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * agree: the way down that all switches want for each LID, decided once from the destination's side. Private to routing/.
 *
 * Going up from the destination, a LID takes its D-Mod-K slot at each level while that is alive there. Where it is dead, the LID (and
 * only it) moves to the live slot with the least on it, by their weights. Families elsewhere that meet the LID at the same
 * place of its climb start from that slot too: what is displaced is displaced everywhere alike and does not pile up.
 */
#ifndef FMD_ROUTING_AGREE_H
#define FMD_ROUTING_AGREE_H

#include "routing/digits.h"
#include "routing/engine.h"

#define AGREE_NONE 255

struct agreed_move { /* at families of this place the LID wants this slot, not its D-Mod-K one */
	uint32_t lid, place;
	uint8_t slot;
};
struct agreed_level {
	struct agreed_move *moves; /* by LID */
	uint32_t nmoves;
	uint8_t *
		spare_lane; /* by LID: the lane of its last climb through this level; AGREE_NONE = none */
};
struct agreement {
	unsigned nlevels;
	struct agreed_level *levels;
	uint32_t
		*place; /* by family where anybody moved: which turns a climb takes to come to it */
};

void agree(struct agreement *a, const struct graph *g, const struct dests *d,
	   struct digits *digits);
void agree_fini(struct agreement *a);

#endif
