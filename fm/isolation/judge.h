/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* judge: decides how many faulty switches and links may be isolated. Pure. */
#ifndef FMD_ISOLATION_JUDGE_H
#define FMD_ISOLATION_JUDGE_H

#include "topology/snapshot/topo.h"

struct isolate_ask {
	uint32_t node; /* a switch of the snapshot */
	uint8_t port;  /* one of its links to another switch; 0 = all of them */
	bool in_force; /* isolated already: counts against the others, and stays */
	bool allowed;  /* the result: it is in force, or may be */
};

/*
 * Sets `allowed` of each. Isolations, new ones and those in force, may take at most a quarter of
 * the known links of each tier (between two neighbouring levels), and no leaf's last uplink that is
 * up and in use (unless the leaf itself is isolated). Where they would take more, nothing new of
 * that tier or leaf is allowed. Returns how many are not allowed.
 */
uint32_t isolate_judge(const struct topo *t, struct isolate_ask *asks, uint32_t count);

#endif
