/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * miswiring: SuperPODs with random miswirings, seeded, and a check of the findings. For tests and
 * benchmarks.
 */
#pragma once

#include <stdio.h>
#include "topology/cabling/cabling.h"

enum mistake {
	MISTAKE_RAILS,	     /* two HCAs of a host, on each other's leaf */
	MISTAKE_HOSTS,	     /* two hosts' HCAs of a rail, at each other's port */
	MISTAKE_UNITS,	     /* HCAs of a rail of two units, on each other's leaf */
	MISTAKE_ACROSS,	     /* HCAs of two units and rails */
	MISTAKE_WHOLE_HOSTS, /* all HCAs of a host of one unit, and of one of another */
	MISTAKE_NO_HCA,	     /* not there */
	MISTAKE_HCA_UPLINK,  /* an HCA's cable and an uplink of its leaf exchanged */
	MISTAKE_HCA_MOVED,   /* an HCA in the port of an uplink, which is out */
	MISTAKE_HCA_SPINE,   /* an HCA in a spine's port, whose cable is out */
	MISTAKE_LOST,	     /* no cable from a leaf to one of its spines */
	MISTAKE_DOUBLED,     /* a leaf has one too many to a spine and none to another */
	MISTAKE_LEAF_PORTS,  /* uplinks of a leaf to two spines, at each other's port of the leaf */
	MISTAKE_SPINE_PORTS, /* cables of a spine to two leaves, at each other's port there */
	MISTAKE_PODS,	     /* uplinks of leaves of two pods, on each other's spine */
	MISTAKE_LEAF_LEAF,   /* two uplinks joined to one cable */
	MISTAKE_SPINE_SPINE, /* two cables to leaves joined at their spines */
	MISTAKE_CORES,	     /* uplinks of a spine to two cores, at each other's port */
	MISTAKE_CORE_PORTS,  /* cables of a core to two spines, at each other's port of the core */
	MISTAKE_LOST_CORE,   /* no cable from a spine to one of its cores */
	MISTAKE_LEAF_CORE,   /* an uplink of a leaf in a core's port, whose cable is out */
	MISTAKE_FREE_PORT,   /* an HCA in a free port of its leaf */
	MISTAKE_FREE_LEAF,   /* an HCA in a free port of another leaf */
	MISTAKE_EXTRA,	     /* a cable more, between free ports of two leaves or two spines */
	MISTAKE_SLOW_HCA,    /* one speed below its like */
	MISTAKE_SLOW_UPLINK,
	MISTAKE_NARROW,	   /* x2 of x4 */
	MISTAKE_LANES,	   /* parallel cables of two switches, at each other's port of one */
	MISTAKE_SAME_UNIT, /* all HCAs of two hosts of a unit, at each other's ports */
	MISTAKES
};

struct mistake_words {
	const char *name;
	const char *hidden; /* why no pattern shows it; NULL = it has to be found */
};
extern const struct mistake_words mistake_words[MISTAKES];

struct miswiring;

/* Without mistakes; the caller owns it, and t has to live as long. */
struct miswiring *miswiring_new(const struct topo *t, uint64_t seed);
void miswiring_free(struct miswiring *m);
/* Adds a mistake, away from all others; false = the fabric has no room for it. */
bool miswiring_add(struct miswiring *m, enum mistake mistake);
/* Makes a host's ports unused, as where no host stands yet. */
void miswiring_take_out_host(struct miswiring *m, uint32_t host);
struct topo *miswiring_freeze(const struct miswiring *m);

struct verdict {
	unsigned planted, found, named; /* named: the kind and both cables are right */
};

/*
 * Adds the findings of mistakes to verdicts[MISTAKES]. Returns the number of findings that are no
 * planted mistake, each of which is written to `out` (may be NULL). Hidden mistakes need not be
 * found.
 */
unsigned miswiring_judge(const struct miswiring *m, const struct cabling *c, bool planned,
			 struct verdict *verdicts, FILE *out);
