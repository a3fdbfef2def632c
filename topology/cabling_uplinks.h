/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cabling_uplinks: votes on ports of switches; used inside of cabling (cabling_uplinks.c). */
#ifndef FMD_TOPOLOGY_CABLING_UPLINKS_H
#define FMD_TOPOLOGY_CABLING_UPLINKS_H

#include "topology/cabling_own.h"

struct choice { /* of a family, for a port number */
	uint32_t label, votes, of;
	uint32_t none; /* members without such a cable there */
	bool backed;   /* by the ports beside it */
};

struct ballot {
	const struct wiring *w;
	const struct tiers *tiers;
	int step;	 /* 1: parents are voted on, -1: children */
	bool by_pod;	 /* votes are for a child's pod, not for the child */
	uint32_t *count; /* by label */
	uint32_t *at;	 /* by port of a switch: the switch expected there, TOPO_NONE = not known */
	uint32_t *lead;	 /* by port: the same, where more than half of the votes agree */
	struct wiring_votes *votes;
	bool *empty;   /* by port: most have no such cable there */
	bool *known;   /* by switch: the switch expected at some of its ports is known */
	bool *regular; /* by family: its port numbers have a pattern */
};

/*
 * Compares the numbers of parallel links in families whose ports have no pattern, and marks links
 * that are one too many (cabling_counts.c). `regular`: by family, true = left to the votes.
 */
void cabling_count_uplinks(struct wiring *w, const struct tiers *tiers, const bool *regular);

#endif
