/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* judge: of what cannot be worked with, what may be isolated. Pure. */
#ifndef FMD_ISOLATION_JUDGE_H
#define FMD_ISOLATION_JUDGE_H

#include "topology/topo.h"

struct isolate_ask {
	uint32_t node; /* a switch of the snapshot */
	uint8_t port;  /* one of its links to another switch; 0 = all of them */
	bool in_force; /* isolated already: counts against the others, and stays */
	bool allowed;  /* the answer: set where it is in force, or may be */
};

/*
 * Together with what is in force, what is new may take a quarter of the known links of each tier
 * (those between two neighbouring levels) at most, and no leaf's last uplink that is up and in use
 * (its own isolation as a switch apart). Where it would take more nothing new of that tier or leaf
 * is allowed. Returns how many are not.
 */
uint32_t isolate_judge(const struct topo *t, struct isolate_ask *asks, uint32_t count);

#endif
