/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * order_turns: credit loops that a change may close while some switches have new entries and others
 * not yet (order_turns.c, order.c, order_turns.c). Private to routing/order/.
 *
 * The caller owns each trial and search, which borrow their arguments, and ends or frees it. None
 * fails: where an answer would take too long, it is the one on the safe side.
 */
#ifndef FMD_ROUTING_ORDER_TURNS_H
#define FMD_ROUTING_ORDER_TURNS_H

#include "routing/cdg.h"
#include "routing/order/order_work.h"

/* ---- order_turns.c -------------------------------------------------------------------------- */

struct order_turn {    /* a packet comes by one channel and leaves by another */
	uint32_t unit; /* the unit whose entry makes it */
	uint8_t bit;
	uint8_t out;   /* port of the second channel */
	uint32_t from; /* index of the topo port that the first channel leaves by */
};

enum order_direction {
	ORDER_FROM, /* the work's tables are the new ones, the units' `old` the present ones */
	ORDER_TO,   /* the work's tables are the present ones, the units' `old` the new ones */
};

struct order_beyond { /* turns of mixtures that the graph of the new tables' proof has not */
	struct order_proof proof; /* base NULL = there is none */
	/* all that may exist at any time of the change; the owner frees it */
	struct order_turn *turns;
	uint32_t count;
	bool known;
};
struct order_trial;
/*
 * A trial finds out whether no mixture of tables and units has a credit loop, as long as no switch
 * takes a new entry before the next changed switch on the new path has. The tables by themselves
 * have none. If there may be one and `guilty` is given, guilty[unit.given] gets the entries whose
 * `old` paths are in the first loop found. In calls of a few milliseconds: begin, go while it
 * returns true, end, which frees the trial: true = no loop. Ended early it returns false.
 *
 * `beyond` belongs to the whole change: the trial ORDER_FROM fills it in where it can, trials of
 * parts of the change (ORDER_TO) read it.
 */
struct order_trial *order_trial_begin(struct order_work *w, enum order_direction direction,
				      uint64_t *guilty, struct order_beyond *beyond);
bool order_trial_go(struct order_trial *trial);
bool order_trial_end(struct order_trial *trial);

/* ---- order.c ------------------------------------------------------------------------- */

/*
 * Searches a cycle that some turns close with those of a graph that has none by itself (cdg.h: it
 * has an order). Only turns of the graph that are in use count; `used` is called where it matters.
 * The graph must not change meanwhile; the turns are copied. order_circle_go() makes up to `visits`
 * steps: true = there is more to do. Then order_circle_found() says whether there is a cycle, or
 * may be one (a few were looked at, and not all), order_circle_sure() whether all turns of the one
 * found are in use. order_circle_free(): NULL is fine.
 */
struct order_circle;
struct order_circle *order_circle_new(const struct cdg *g, const struct order_turn *turns,
				      uint32_t count, cdg_used_fn *used, void *arg);
bool order_circle_go(struct order_circle *c, uint32_t visits);
bool order_circle_found(const struct order_circle *c);
bool order_circle_sure(const struct order_circle *c);
void order_circle_free(struct order_circle *c);

/* ---- order_turns.c ------------------------------------------------------------------------ */

#endif
