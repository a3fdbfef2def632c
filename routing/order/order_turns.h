/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * order_turns: credit loops that a change may close while some switches have new entries and others
 * not yet (order_turns.c, order_circle.c, order_down_up.c). Private to routing/order/.
 *
 * Each look and each search is the caller's to end or free, and refers until then to what it was
 * begun with. None fails: where an answer would take too long, it is the one on the safe side.
 */
#ifndef FMD_ROUTING_ORDER_TURNS_H
#define FMD_ROUTING_ORDER_TURNS_H

#include "routing/cdg.h"
#include "routing/order/order_work.h"

/* ---- order_turns.c -------------------------------------------------------------------------- */

struct order_turn {    /* a packet comes by one channel and leaves by another */
	uint32_t unit; /* whose entry makes it */
	uint8_t bit;
	uint8_t out;   /* port of the second channel */
	uint32_t from; /* index of the topo port that the first channel leaves by */
};

enum order_direction {
	ORDER_FROM, /* the work's tables are what comes, the units' `old` what was */
	ORDER_TO,   /* the work's tables are what is, the units' `old` what comes */
};

/*
 * Whether no mixture of tables and units has channels that wait for one another in a circle, as
 * long as no switch takes a new entry before the next changed switch on the new path has. The
 * tables by themselves have none. If it is not so and `guilty` is given, guilty[unit.given] gets
 * the entries whose `old` paths are in the first circle found. In calls of a few milliseconds:
 * begin, go until it says false, end says true = safe. It may be ended early.
 *
 * `beyond` is of a whole change: a look that goes ORDER_FROM it fills it in where it can, those
 * ORDER_TO parts of it read it.
 */
struct order_beyond { /* turns of mixtures that the graph of the new tables' proof has not */
	struct order_proof proof; /* given; base NULL: there is none */
	/* all there may be at any time of the change; the owner's to free */
	struct order_turn *turns;
	uint32_t count;
	bool known;
};
struct order_trial;
struct order_trial *order_trial_begin(struct order_work *w, enum order_direction direction,
				      uint64_t *guilty, struct order_beyond *beyond);
bool order_trial_go(struct order_trial *trial);
bool order_trial_end(struct order_trial *trial);

/* ---- order_circle.c ------------------------------------------------------------------------- */

/*
 * Whether these turns close a circle with those of a graph that has none by itself (cdg.h: it has
 * an order). Of the graph's turns only those count that are in use; `used` is asked where it
 * matters. True where that is not found out by looking at a few circles. The graph stays as it is
 * meanwhile.
 */
struct order_circle;
struct order_circle *order_circle_new(const struct cdg *g, const struct order_turn *turns,
				      uint32_t count, cdg_used_fn *used, void *arg);
bool order_circle_go(struct order_circle *c, uint32_t visits); /* false: it has ended */
bool order_circle_found(const struct order_circle *c);	       /* of one that has ended */
bool order_circle_sure(const struct order_circle *c); /* .. each turn of one found is in use */
void order_circle_free(struct order_circle *c);	      /* NULL is fine */

/* ---- order_down_up.c ------------------------------------------------------------------------ */

/*
 * Whether the turns of the work's tables and those listed are free of circles: true is certain,
 * false may be wrong.
 */
bool order_down_up_safe(const struct order_work *w, const struct order_turn *turns, uint32_t count);

#endif
