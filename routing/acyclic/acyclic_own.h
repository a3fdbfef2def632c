/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic_own: what the files of the engine for fabrics that are no trees share (acyclic.h).
 * Private to routing/acyclic/.
 *
 * An arc is one direction between two neighbouring switches, all parallel links together. A turn is
 * a pair of arcs, the second of which begins where the first one ends. A net is made of all known
 * links and refers to no snapshot; which of them are up is read separately, into arrays of the
 * caller. Nothing here fails. Long work stops in the net's fiber.
 */
#pragma once

#include "routing/fiber.h"
#include "topology/snapshot/topo.h"

#define ARC_NONE                                                                                   \
	UINT8_MAX /* as a number among a switch's arcs: none. A switch has at most 254 ports */

enum arc_state { ARC_DOWN, ARC_CORDONED, ARC_OPEN }; /* of its best link */

struct net {
	struct fiber *fiber; /* borrowed; of the computation that runs, NULL = in one go */
	struct arena *arena; /* owns the arrays */
	uint32_t nswitches, narcs;
	uint32_t *first;	    /* by switch [nswitches + 1]: its arcs */
	uint32_t *from, *to, *back; /* by arc: its ends, its other direction */
	uint32_t *first_link;	    /* by arc [narcs + 1]: its first link in `links` */
	uint8_t *links;		    /* by link: port number on the arc's switch `from` */
	uint32_t *first_turn;	    /* by arc: number of its turn to the first arc of `to` */
	uint32_t nturns;
	uint16_t *hosts; /* by switch: ports that lead to hosts, links dead or alive */
	uint8_t *level;	 /* by switch */
};

/* Makes the net of all known links; it is freed with its arena. */
void net_init(struct net *n, const struct topo *t, struct fiber *fiber);
/* Sets states[arc] to its enum arc_state in a snapshot of the same links. */
void net_read_states(const struct net *n, const struct topo *t, uint8_t *states);
/*
 * Sets part[sw] to the lowest switch that arcs of state `least` or better (states NULL: all arcs)
 * connect with sw.
 */
void net_find_parts(const struct net *n, const uint8_t *states, enum arc_state least,
		    uint32_t *part);

static inline unsigned net_degree(const struct net *n, uint32_t sw)
{
	return n->first[sw + 1] - n->first[sw];
}

static inline unsigned net_links(const struct net *n, uint32_t arc)
{
	return n->first_link[arc + 1] - n->first_link[arc];
}

/*
 * ---- Turns --------------------------------------------------------------------------------------
 * The set of turns that packets may take without a cycle, and the sets it can start from.
 *
 * An acyclic set of turns between arcs makes acyclic dependencies between their links. Turns own
 * their arrays and refer to the net, which has to outlive them. Nothing here fails.
 */

enum turn_state { TURN_UNKNOWN, TURN_ALLOWED, TURN_BANNED };

struct turns {
	const struct net *net;
	uint8_t *state;	    /* by turn */
	uint32_t *position; /* by arc: a topological order of allowed turns */
	uint32_t *at;	    /* by position: the arc */
	/*
	 * steps that may still be spent on searching; without, no turn against the order is allowed
	 */
	int64_t work;
	uint32_t *mark, marks, *after; /* scratch */
};

/* A set without allowed turns, and a copy of another; turns_fini() frees each. */
void turns_init(struct turns *turns, const struct net *net);
void turns_fini(struct turns *turns);
void turns_copy(struct turns *to, const struct turns *from);
/* Allows all turns along the order that the caller wrote (position, at); none was allowed yet. */
void turns_allow_order(struct turns *turns);
/*
 * Allows the turn from arc a to arc b unless it closes a cycle. A turn that was refused once stays
 * banned. Returns whether it is allowed.
 */
bool turns_allow(struct turns *turns, uint32_t a, uint32_t b);
/*
 * Bans the turns of dead arcs and withdraws the allowed ones that are not `used` (by turn; NULL =
 * all are used), so that they close no cycles; all banned turns of live arcs may be tried again.
 */
void turns_forget(struct turns *turns, const uint8_t *states, const bool *used);

#define TURN_NS 4 /* to look at a turn */

static inline uint32_t turn_number(const struct net *n, uint32_t a, uint32_t b)
{
	return n->first_turn[a] + (b - n->first[n->to[a]]);
}

/* Whether there are so many turns that not each can be asked for by itself. */
static inline bool net_has_many_turns(const struct net *n)
{
	return n->nturns >> 17;
}

/* ---- Beginnings (acyclic_begin.c) ------------------------------------------------------------ */

enum beginning { BY_TIERS, TREE_CENTRAL, TREE_LINE, TREE_ELSEWHERE };

/*
 * Allows the first turns of a set that has none, and sets tree[arc] to a spanning tree, all turns
 * of which are allowed (not with BY_TIERS).
 */
void turns_begin(struct turns *turns, enum beginning how, uint64_t *seed, bool *tree);
/*
 * Finds a spanning tree of open arcs (states NULL: of all) and allows its turns. False: turns that
 * are allowed already do not permit one; tree[] has several parts then.
 */
bool turns_fit_tree(struct turns *turns, const uint8_t *states, bool *tree);

/*
 * ---- Columns ------------------------------------------------------------------------------------
 * A column is the path of every switch to one destination (acyclic_column.c; acyclic.c: under
 * damage).
 *
 * A column owns its scratch and refers to net, turns, states and loads, which its caller lends it.
 * A switch without a path is not settled, and its entry of `next` is ARC_NONE; nothing else fails.
 */

struct column {
	const struct net *net;
	const struct turns *turns; /* NULL = any turn */
	struct turns *asking;	   /* the same turns if more may be allowed on demand; NULL = no */
	const uint8_t *states;	   /* by arc; ARC_DOWN is never taken */
	const uint32_t *open_part; /* by switch: what open arcs connect needs no cordoned ones */
	const uint64_t *load;	   /* by arc: what it carries already, by link */
	bool squared;		   /* loads count by their squares */
	uint32_t d;
	struct arena *arena; /* owns its scratch */
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
	bool *taken;	 /* by arc: a switch sends by its other direction; all false in between */
	int64_t work;	 /* of looking for other paths, that may still be done */
	bool by_cordons; /* hosts reach the destination's by cordoned arcs alone */
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

/*
 * ---- The design ---------------------------------------------------------------------------------
 * Turns and columns of the fabric as all known links make it, and how traffic loads its arcs.
 *
 * A design owns its turns, tree and columns and refers to the net, which has to outlive it. Nothing
 * here fails: a fabric in several parts has columns that are not complete.
 */

#define ACYCLIC_WEIGHT                                                                             \
	840 /* of one host's traffic to a destination switch: columns take equal parts of it */

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
