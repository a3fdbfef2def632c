/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic_column: columns, that is the path of every switch to one destination (acyclic_column.c;
 * acyclic.c: under damage). Private to routing/acyclic/.
 *
 * A column owns its scratch and refers to net, turns, states and loads, which its caller lends it.
 * A switch without a path is not settled, and its entry of `next` is ARC_NONE; nothing else fails.
 */
#ifndef FMD_ROUTING_ACYCLIC_COLUMN_H
#define FMD_ROUTING_ACYCLIC_COLUMN_H

#include "routing/acyclic/acyclic_turns.h"

struct column {
	const struct net *net;
	const struct turns *turns; /* NULL = any turn */
	struct turns *asking;	   /* the same turns if more may be allowed on demand; NULL = no */
	const uint8_t *states;	   /* by arc; ARC_DOWN is never taken */
	const uint32_t *open_part; /* by switch: what open arcs connect needs no cordoned ones */
	const uint64_t *load;	   /* by arc: what it carries already, by link */
	bool squared;		   /* loads count by their squares */
	uint32_t d;
	uint8_t *next;	     /* by switch: number of the arc it sends by, ARC_NONE = none. Lent */
	const uint8_t *kept; /* preferred where it is as short; NULL = nothing */
	uint32_t *hops;	     /* by switch that is settled */
	uint64_t *key;
	bool *settled;
	uint32_t nsettled;
	uint8_t *offer; /* by switch: the best arc found, while one level of hops is settled */
	uint64_t *offer_key;
	uint32_t *met;			 /* switches with an offer */
	uint32_t *bucket, *link, *stack; /* settled switches by hops */
	uint32_t longest;		 /* highest hops in buckets */
	int64_t work;			 /* of looking for other paths, that may still be done */
	bool by_cordons;		 /* hosts reach the destination's by cordoned arcs alone */
};

/* Allocates a column's scratch, and frees it. All other members are the caller's to set. */
void column_init(struct column *c, const struct net *net);
void column_fini(struct column *c);
/* The arc by which a settled switch sends. */
static inline uint32_t column_arc(const struct column *c, uint32_t sw)
{
	return c->net->first[sw] + c->next[sw];
}

/* Starts the column of destination switch d in `next`, which is lent: d alone is settled. */
void column_begin(struct column *c, uint32_t d, uint8_t *next);
/* Gives a switch its path: the arc that it sends by, and the length and load of its path. */
void column_settle(struct column *c, uint32_t sw, uint8_t arc, uint32_t hops, uint64_t key);
/*
 * Shortest paths over allowed turns from all switches that have one to those settled; by cordoned
 * arcs only where no other leads.
 */
void column_grow(struct column *c);
/*
 * For switches without a path, moves a neighbour to another path, which it and all switches behind
 * it may take, so that a turn to the neighbour is allowed.
 */
void column_yield(struct column *c);
/*
 * Settles all switches along the arcs of a spanning tree, all turns of which are allowed, then
 * shortens paths over allowed turns.
 */
void column_by_tree(struct column *c, const bool *tree);
/* Whether some hosts' paths to the destination take cordoned arcs, as no others were found. */
bool column_goes_by_cordons(const struct column *c);
/* Whether the turn from arc a to arc b is allowed, or can be allowed now (`asking`). */
bool column_allows(const struct column *c, uint32_t a, uint32_t b);
/* Whether all switches of the destination's connected part have a path; part: net_find_parts(). */
bool column_is_complete(const struct column *c, const uint32_t *part);

#endif
