/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic_own: what the parts of the engine for fabrics that are no trees share (acyclic.h).
 *
 * An arc is one direction between two neighbouring switches, all parallel cables together. A turn
 * is a pair of arcs, the second of which begins where the first one ends. An acyclic set of turns
 * between arcs makes acyclic dependencies between their cables.
 */
#ifndef FMD_ROUTING_ACYCLIC_OWN_H
#define FMD_ROUTING_ACYCLIC_OWN_H

#include <stdbool.h>
#include <stdint.h>
#include "topology/topo.h"

#define ARC_NONE                                                                                   \
	UINT8_MAX /* as a number among a switch's arcs: none. A switch has at most 254 ports */

/* ---- The fabric (acyclic_net.c) -------------------------------------------------------------- */

enum arc_state { ARC_DOWN, ARC_CORDONED, ARC_OPEN }; /* of its best cable */

struct net {
	uint32_t nswitches, narcs;
	uint32_t *first;	    /* by switch [nswitches + 1]: its arcs */
	uint32_t *from, *to, *back; /* by arc: its ends, its other direction */
	uint32_t *first_cable;	    /* by arc [narcs + 1]: its cables.. */
	uint8_t *cables;	    /* ..as port numbers of `from` */
	uint32_t *first_turn;	    /* by arc: number of its turn to the first arc of `to` */
	uint32_t nturns;
	uint16_t *hosts; /* by switch: ports that lead to hosts, cables dead or alive */
	uint8_t *level;	 /* by switch */
};

void net_init(struct net *n, const struct topo *t); /* of all cables known */
void net_fini(struct net *n);
/* By arc: enum arc_state of the moment. */
void net_read_states(const struct net *n, const struct topo *t, uint8_t *states);
/*
 * By switch: connected part by arcs that are so or better (states NULL: by all), as its lowest
 * switch.
 */
void net_find_parts(const struct net *n, const uint8_t *states, enum arc_state least,
		    uint32_t *part);

static inline unsigned net_degree(const struct net *n, uint32_t sw)
{
	return n->first[sw + 1] - n->first[sw];
}
static inline unsigned net_cables(const struct net *n, uint32_t arc)
{
	return n->first_cable[arc + 1] - n->first_cable[arc];
}

/* ---- Turns (acyclic_turns.c) ----------------------------------------------------------------- */

enum turn_state { TURN_UNKNOWN, TURN_ALLOWED, TURN_BANNED };

struct turns {
	const struct net *net;
	uint8_t *state;	    /* by turn */
	uint32_t *position; /* by arc: a topological order of allowed turns */
	/*
	 * steps that may still be spent on searching; without, no turn against the order is allowed
	 */
	int64_t work;
	uint32_t *mark, marks;
	uint32_t *before, *after, *places; /* scratch */
};

void turns_init(struct turns *turns, const struct net *net); /* none is allowed */
void turns_fini(struct turns *turns);
void turns_copy(struct turns *to, const struct turns *from);
/*
 * Positions given by the caller, while no turn is allowed: all turns along that order are allowed
 * then.
 */
void turns_allow_order(struct turns *turns);
/*
 * Allows a turn unless it closes a cycle. What is banned once stays it. Returns whether it is
 * allowed.
 */
bool turns_allow(struct turns *turns, uint32_t a, uint32_t b);
/*
 * Turns of dead arcs are banned and in nobody's way any more, nor are those that nobody uses (NULL
 * = all are used): the others may be asked for again.
 */
void turns_forget(struct turns *turns, const uint8_t *states, const bool *used);

static inline uint32_t turn_number(const struct net *n, uint32_t a, uint32_t b)
{
	return n->first_turn[a] + (b - n->first[n->to[a]]);
}
static inline bool turn_is_allowed(const struct turns *t, uint32_t a, uint32_t b)
{
	return t->state[turn_number(t->net, a, b)] == TURN_ALLOWED;
}

/* ---- Columns: the way of every switch to one destination (acyclic_column.c, acyclic_repair.c)  */

struct column {
	const struct net *net;
	const struct turns *turns; /* NULL = any turn */
	struct turns *asking;	   /* the same, where turns may be asked for; NULL = they may not */
	const uint8_t *states;	   /* by arc; ARC_DOWN is never taken */
	const uint32_t *open_part; /* by switch: what open arcs connect needs no cordoned ones */
	const uint64_t *load;	   /* by arc: what it carries already, by cable */
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
	int64_t work;			 /* of looking for other ways, that may still be done */
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
 * Shortest ways over allowed turns from all switches that have one to those settled; by cordoned
 * arcs only where no other leads.
 */
void column_grow(struct column *c);
/*
 * Switches that found no way change somebody's mind: a neighbour that may go another way, which all
 * who come by it may follow.
 */
void column_give_way(struct column *c);
/*
 * Along the arcs of a spanning tree, all turns of which are allowed; then by shorter ways as far as
 * they are.
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

/*
 * Adds `weight` for each host of all switches to the arcs that lead from there to d, or takes it
 * away.
 */
struct account {
	uint64_t *load; /* by arc, of all its cables */
	uint64_t *sum;
	uint32_t *children, *queue;
};
void account_init(struct account *a, const struct net *net);
void account_fini(struct account *a);
void account_column(struct account *a, const struct net *net, uint32_t d, const uint8_t *next,
		    int64_t weight);

#define ACYCLIC_WEIGHT                                                                             \
	840 /* of one host's traffic to a destination switch: columns take equal parts of it */

/* ---- Beginnings (acyclic_begin.c) ------------------------------------------------------------ */

enum beginning { BY_TIERS, TREE_CENTRAL, TREE_LINE, TREE_ELSEWHERE };

/*
 * The first turns, where none is allowed; and by arc a spanning tree, all turns of which are among
 * them, but for BY_TIERS.
 */
void turns_begin(struct turns *turns, enum beginning how, uint64_t *seed, bool *tree);
/*
 * Finds such a tree of open arcs (states NULL: of all) and allows its turns. False: others are in
 * its way, and it is in pieces.
 */
bool turns_fit_tree(struct turns *turns, const uint8_t *states, bool *tree);

/* ---- The design (acyclic_design.c) ----------------------------------------------------------- */

struct design_job;
struct acyclic_design {
	const struct net *net;
	struct turns turns;
	bool *tree;		/* by arc: a spanning tree, all of whose turns are allowed */
	uint32_t *first_column; /* by switch [nswitches + 1] */
	uint8_t *columns;	/* nswitches bytes each: next */
	uint64_t worst;		/* load of a cable, in all-to-all traffic of hosts; unit as mean */
	double mean_hops;	/* between hosts' switches */
};

/* The best of some, as many as there is time for in a fabric of that size. */
struct design_job *design_job_new(const struct net *net);
bool design_job_go(struct design_job *job); /* false: it is done */
/* Takes the result and frees the job; one that is not done gives none. */
void design_job_end(struct design_job *job, struct acyclic_design *out);
void acyclic_design_fini(struct acyclic_design *d);

static inline uint32_t design_columns(const struct acyclic_design *d, uint32_t sw)
{
	return d->first_column[sw + 1] - d->first_column[sw];
}

#endif
