/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * operation: what an operator asked for that changes the fabric (a cordon, a reroute ..), from the
 * request to its one answer.
 *
 * The update that begins next takes it; one that is under way by then does not. It is answered when
 * all that this update published is programmed and brought up, and when the file that keeps it is
 * on disk or could not be written. It is rolled back when the update's tables are refused, and
 * abandoned when this manager is master no more. If the client disconnects, the operation
 * continues.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct fabric;

/* ---- Waiters --------------------------------------------------------------------------------- */

/* Clients that wait for one and the same result; each is called once, until waiters_fini(). */
struct waiter;
struct waiters { /* all zero = nobody waits */
	struct waiter *first;
};

/* error NULL: result, borrowed, is the document. */
typedef void waiter_fn(void *arg, json_t *result, const char *error);

/* Adds a client, which is called once. */
void waiters_add(struct waiters *waiters, waiter_fn *fn, void *arg);
/* All that wait now; they may ask again from their callback. */
void waiters_answer(struct waiters *waiters, json_t *result, const char *error);
/* Those of `from` join `to`; nobody is in `from` then. */
void waiters_move(struct waiters *from, struct waiters *to);
void waiters_fini(struct waiters *waiters); /* nobody is called */

/* ---- Operations ------------------------------------------------------------------------------ */

/*
 * All but free are called at most once; rollback, result, reported and free in this order. None of
 * them starts an operation.
 */
struct fabric_operation_ops {
	bool keeps;  /* what it changes is to be on disk before the answer */
	bool late;   /* they change behind settling (FABRIC_SETTLED_LATER): answered behind that */
	bool sweeps; /* only an update that begins behind a heavy sweep takes it */
	/* Tables were refused: undoes the operation. NULL = there is nothing to undo. */
	void (*rollback)(void *data);
	/*
	 * What came of it, the caller's; not called with an error. NULL = the answer is the
	 * document of `fmctl --json status`.
	 */
	json_t *(*result)(void *data);
	/*
	 * The client is about to be answered: logs the outcome. result, borrowed, is NULL with an
	 * error. NULL = nothing is logged.
	 */
	void (*reported)(void *data, json_t *result, const char *error);
	/* It was answered or abandoned: frees data. NULL = nothing is to be freed. */
	void (*free)(void *data);
};

/*
 * Begins an operation, which an update will answer. ops: a constant; data: the operation's from now
 * on. fn is called once, later.
 */
void fabric_operation_start(struct fabric *fabric, const struct fabric_operation_ops *ops,
			    void *data, waiter_fn *fn, void *arg);
/*
 * For what needed no update: the answer, the fabric's from now on, is given when its rows are on
 * disk, perhaps before this returns.
 */
void fabric_operation_done(struct fabric *fabric, json_t *result, waiter_fn *fn, void *arg);
