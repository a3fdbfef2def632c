/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * order_rounds: the rounds in which blocks are written: what waits for what (order.c), and rounds
 * free of credit loops each (order_cycle_free.c). Private to routing/order/.
 *
 * Both are the caller's to end, at any time, and write to its work and its order. Neither fails.
 */
#ifndef FMD_ROUTING_ORDER_ROUNDS_H
#define FMD_ROUTING_ORDER_ROUNDS_H

#include "routing/order/order_turns.h"

/* ---- order_cycle_free.c --------------------------------------------------------------------- */

/*
 * Makes every round free of circles by itself: by more rounds, and by emptying entries first where
 * that does not do. In calls of a few milliseconds as above; o is good when go has said false.
 */
struct order_cycle_free;
struct order_cycle_free *order_cycle_free_begin(const struct order_work *w,
						struct order_beyond *beyond, struct order *o);
bool order_cycle_free_go(struct order_cycle_free *s);
void order_cycle_free_end(struct order_cycle_free *s);

/* ---- order.c -------------------------------------------------------------------------------- */

/* The rounds of all columns, as above. */
struct order_columns;
struct order_columns *order_columns_begin(struct order_work *w, struct order *o);
bool order_columns_go(struct order_columns *c);
void order_columns_end(struct order_columns *c);

#endif
