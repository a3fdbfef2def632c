/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling_own: what the files of cabling share: what is found and what is expected, port by port.
 *
 * cabling_hosts.c, cabling_uplinks.c and cabling_plan.c write what they expect of a port into a
 * wiring; cabling_findings.c compares that with what is found.
 *
 * A vertex is a port of the snapshot, by its index, or, behind these, an end that no port stands
 * for: some port of a switch, an HCA that is not there. A vertex has one found cable and one
 * expected cable at most, and both are kept at both ends.
 */
#pragma once

#include "topology/cabling/cabling.h"

struct wiring_votes {
	uint32_t votes, of;
};

struct wiring {
	const struct topo *t;
	struct cabling *result;
	bool planned; /* expectations are a plan's */
	uint32_t nvertices;
	struct wiring_vertex {
		uint32_t found; /* the far end of its cable, TOPO_NONE = none */
		uint32_t want;	/* the far end expected, TOPO_NONE = nothing known */
		uint32_t node;	/* in t->nodes; TOPO_NONE = not there */
		bool stray;	/* its cable has no place in the pattern or plan */
		bool one_of;	/* its cable is as good as those beside it to the same switch */
		struct wiring_votes votes; /* of what is wanted */
		struct cabling_end end;
	} * v;
};

/* Levels and likenesses of switches, stray cables or not (cabling.c). */
struct tiers {
	const struct topo *t;
	uint8_t *level;	     /* by switch: as most of those have it that are like it */
	uint32_t *up, *down; /* by switch: one of those with the same parents, children */
	uint32_t *first;     /* by switch: where its neighbours begin in `near` */
	uint32_t *near;	     /* switches, each once */
};

/*
 * Starts a wiring with the cables of `t`, which must outlive it, and an empty result.
 * wiring_fini() frees all of it but the result, which the caller then owns.
 */
void wiring_init(struct wiring *w, const struct topo *t);
/*
 * Adds a vertex that is no port of the snapshot: a port of `node` (TOPO_NONE = a node that is not
 * there), 0 = any port. Returns the vertex. `name` is kept: a text of the result or a snapshot.
 */
uint32_t wiring_add_end(struct wiring *w, uint32_t node, const char *name, uint8_t port);
/* Expects a cable between two vertices. False, nothing changed: another is expected at one. */
bool wiring_expect(struct wiring *w, uint32_t a, uint32_t b, struct wiring_votes votes);
/* Takes back what is expected at the vertex, if anything is. */
void wiring_drop(struct wiring *w, uint32_t vertex);
/* Whether part/whole is at least num/den. */
static inline bool most(uint64_t part, uint64_t whole, unsigned num, unsigned den)
{
	return part * den >= whole * num;
}

/* Copies the item. */
void cabling_add(struct cabling *c, const struct cabling_item *item);
/* Sorts the findings in the order in which one walks: missing nodes, then by switch and port. */
void cabling_sort(struct cabling *c);
/* The end that a port is; with a NULL name for a NULL port. Its texts are the snapshot's. */
struct cabling_end cabling_end_of(const struct topo *t, const struct topo_port *port);

/*
 * The steps of cabling_pattern(), in its order. `expect` adds expectations; cabling_find_strays()
 * marks stray cables, the other `find` add findings or expectations; cabling_report() turns the
 * difference of found and expected into findings. `tiers` NULL = the expectations are a plan's.
 */
void cabling_expect_hosts(struct wiring *w);				  /* cabling_hosts.c */
void cabling_expect_uplinks(struct wiring *w, const struct tiers *tiers); /* cabling_uplinks.c */
void cabling_find_strays(struct wiring *w, const struct tiers *tiers);	  /* cabling_uplinks.c */
void cabling_report(struct wiring *w, const struct tiers *tiers);	  /* cabling_findings.c */

/* ---- Scalable units, their leaves and the ports of their hosts: cabling_hosts.c -------------- */

struct host_place {
	struct wiring_votes votes; /* HCAs at the port, of those with a rail and a cable */
	uint8_t port;
};

struct units {
	const struct topo *t;
	const struct wiring *w;
	uint32_t count, rails;
	uint32_t *leaf;		   /* [unit][rail]: TOPO_NONE = none, TOPO_NONE - 1 = several */
	struct host_place *places; /* by host */
	uint32_t *same, *all;	   /* by unit: HCAs at their host's port; all */
};

/* Finds leaves and ports of all units of w's snapshot. `w` must outlive `u`; units_fini() frees. */
void units_init(struct units *u, const struct wiring *w);
void units_fini(struct units *u);

/* The scalable unit of a host (an index in topo.hosts), -1 = none. */
int units_of_host(const struct units *u, uint32_t host);
/* The leaf switch of a rail in a unit; TOPO_NONE = there is none, or several. */
uint32_t units_leaf(const struct units *u, int su, int rail);
/* Whether the host has HCAs on more than half of its unit's rails. */
bool units_has_rails(const struct units *u, uint32_t host);
/* The port number at which the host's HCAs are expected on their leaves; 0 = not known. */
unsigned units_port(const struct units *u, uint32_t host);
