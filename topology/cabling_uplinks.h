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
	bool by_pod;	 /* not on the child, on the pod it is of */
	uint32_t *count; /* by label */
	uint32_t *at;	 /* by port of a switch: the switch expected there, TOPO_NONE = not known */
	uint32_t *lead;	 /* the same, where more than half say so */
	struct wiring_votes *votes;
	bool *empty;   /* by port: most have no such cable there */
	bool *spoke;   /* by switch: some of its ports are known */
	bool *regular; /* by family: its port numbers have a pattern */
};

/* Families whose ports have no pattern; cabling_counts.c. */
void cabling_count_uplinks(struct wiring *w, const struct tiers *tiers, const bool *regular);

#endif
