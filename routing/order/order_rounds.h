/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * order_rounds: the two stages that find the rounds in which blocks are written: which entries wait
 * for which (order.c), and rounds without credit loops (order_cycle_free.c). Private to
 * routing/order/.
 *
 * A stage is owned by its caller, which calls go while it returns true and ends the stage, at any
 * time (NULL is fine). Stages write to the caller's work and order. Neither fails.
 */
#ifndef FMD_ROUTING_ORDER_ROUNDS_H
#define FMD_ROUTING_ORDER_ROUNDS_H

#include "routing/order/order_turns.h"

/* ---- order_cycle_free.c --------------------------------------------------------------------- */

/*
 * Makes each round of *o free of credit loops: by more rounds, and where these are not enough by
 * emptying entries first. *o is complete when go has returned false.
 */
struct order_cycle_free;

/* ---- order.c -------------------------------------------------------------------------------- */

/* Finds the rounds of all columns; owned by its caller. *o is complete when go returned false. */
struct order_columns;
struct order_columns *order_columns_begin(struct order_work *w, struct order *o);
bool order_columns_go(struct order_columns *c);
void order_columns_end(struct order_columns *c);

#endif
