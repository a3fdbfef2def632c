/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic_column: columns, that is the path of every switch to one destination (acyclic_column.c;
 * acyclic_repair.c: under damage). Private to routing/acyclic/.
 *
 * A column owns its scratch and refers to net, turns, states and loads, which its caller lends it.
 * Switches that find no path are not settled, and their entry of `next` is ARC_NONE: nothing else
 * fails.
 */
#ifndef FMD_ROUTING_ACYCLIC_COLUMN_H
#define FMD_ROUTING_ACYCLIC_COLUMN_H

#include "routing/acyclic/acyclic_turns.h"

struct column {
	const struct net *net;
	const struct turns *turns; /* NULL = any turn */
	struct turns *asking;	   /* the same, where turns may be asked for; NULL = they may not */
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
	uint8_t *offer; /* by switch: the best arc offered.. */
	uint64_t *offer_key;
	uint32_t *met;			 /* ..and to whom */
	uint32_t *bucket, *link, *stack; /* settled switches by hops */
	uint32_t longest;		 /* highest hops in buckets */
	int64_t work;			 /* of looking for other paths, that may still be done */
	bool by_cordons;		 /* hosts reach the destination's by cordoned arcs alone */
};

void column_init(struct column *c, const struct net *net);
void column_fini(struct column *c);
static inline uint32_t column_arc(const struct column *c, uint32_t sw)
{
	return c->net->first[sw] + c->next[sw];
}

/* Begins with the destination alone. */
void column_begin(struct column *c, uint32_t d, uint8_t *next);
void column_settle(struct column *c, uint32_t sw, uint8_t arc, uint32_t hops, uint64_t key);
/*
 * Shortest paths over allowed turns from all switches that have one to those settled; by cordoned
 * arcs only where no other leads.
 */
void column_grow(struct column *c);
/*
 * Switches that found no path change somebody's mind: a neighbour that may go another way, which
 * all who come by it may follow.
 */
void column_yield(struct column *c);
/*
 * Along the arcs of a spanning tree, all turns of which are allowed; then by shorter paths as far
 * as they are.
 */
void column_by_tree(struct column *c, const bool *tree);
/* Whether hosts come to the destination's by cordoned arcs: no other way was found for them. */
bool column_goes_by_cordons(const struct column *c);
/* Whether a turn is allowed, or becomes it. */
bool column_allows(const struct column *c, uint32_t a, uint32_t b);
bool column_is_complete(const struct column *c, const uint32_t *part);

/*
 * The design's column under damage: `designed` where it leads still, as few other entries as can
 * be.
 */
void column_repair(struct column *c, uint32_t d, const uint8_t *designed, uint8_t *next);

#endif
