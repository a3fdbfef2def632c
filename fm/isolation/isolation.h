/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * isolation: turns findings into isolations in force.
 *
 * An isolated switch or link carries no transit, as if it were cordoned: routing uses it only for
 * what nothing else reaches (routing/ftree/route.h), so no pair that works is cut off. A switch
 * keeps the tables that it has, and its hosts their paths.
 *
 * Findings within 100 ms are judged together. If they would take more than a quarter of the links
 * of a tier, with what is isolated there already, or a leaf's last uplink, none of them is put into
 * force: then the fault is more likely fmd's than the devices'. One alert says how many devices
 * refuse, and whether they count violations of fmd's M_Key. Findings that are not in force are
 * judged again with each change of the list.
 */
#ifndef FMD_ISOLATION_ISOLATION_H
#define FMD_ISOLATION_ISOLATION_H

#include "fm/isolation/list.h"
#include "topology/snapshot/topo.h"

#define ISOLATION_PROBE_US 60000000 /* between Sets to a switch that takes none */

/* Lists a switch (port 0) or a link, by either end; listed already = nothing changes. */
void isolation_add(struct isolation *is, guid_t node, uint8_t port, enum isolation_cause cause);

/* ---- How many faulty switches and links may be isolated -------------------------------------- */

/* Pure. */

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
