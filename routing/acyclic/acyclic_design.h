/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic_design: turns and columns of the fabric as all known links make it, and how traffic
 * loads its arcs (account_*, in acyclic_column.c). Private to routing/acyclic/.
 *
 * A design owns its turns, tree and columns and refers to the net, which has to outlive it. Nothing
 * here fails: a fabric in several parts has columns that are not complete.
 */
#ifndef FMD_ROUTING_ACYCLIC_DESIGN_H
#define FMD_ROUTING_ACYCLIC_DESIGN_H

#include "routing/acyclic/acyclic_turns.h"

/* ---- Loads ----------------------------------------------------------------------------------- */

struct account {
	uint64_t *load; /* by arc, of all its links */
	uint64_t *sum;
	uint32_t *children, *queue;
};
/* An account without load; account_fini() frees its memory. */
void account_init(struct account *a, const struct net *net);
void account_fini(struct account *a);
/* Adds `weight` (may be negative) for each host to the arcs of its path to d in a column. */
void account_column(struct account *a, const struct net *net, uint32_t d, const uint8_t *next,
		    int64_t weight);

#define ACYCLIC_WEIGHT                                                                             \
	840 /* of one host's traffic to a destination switch: columns take equal parts of it */

/* ---- The design ------------------------------------------------------------------------------ */

struct design_job;
struct acyclic_design {
	const struct net *net;
	struct turns turns;
	bool *tree;		/* by arc: a spanning tree, all of whose turns are allowed */
	uint32_t *first_column; /* by switch [nswitches + 1] */
	uint8_t *columns;	/* nswitches bytes each: next */
	uint64_t worst;		/* load of a link, in all-to-all traffic of hosts; unit as mean */
	double mean_hops;	/* between hosts' switches */
};

/*
 * Makes several designs, as many as there is time for in a fabric of that size, and keeps the best.
 * The caller owns the job, which refers to the net. design_job_go() returns false when it is done.
 */
struct design_job *design_job_new(const struct net *net);
bool design_job_go(struct design_job *job);
/* Frees the job (NULL is fine) and moves its result to *out. out NULL = the result is freed too. */
void design_job_end(struct design_job *job, struct acyclic_design *out);
/* Frees what a design owns. */
void acyclic_design_fini(struct acyclic_design *d);

/* The number of columns that a destination switch has: its hosts are distributed over them. */
static inline uint32_t design_columns(const struct acyclic_design *d, uint32_t sw)
{
	return d->first_column[sw + 1] - d->first_column[sw];
}

#endif
