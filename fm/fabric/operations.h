/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* operations: the pipe's side of fm/fabric/operation.h: all that wait for their answer. */
#ifndef FMD_FABRIC_OPERATIONS_H
#define FMD_FABRIC_OPERATIONS_H

#include "fm/fabric/operation.h"
#include "fm/state/state_store.h"

struct operations;

typedef json_t *operations_status_fn(const struct fabric *fabric);

/*
 * The pipe's, never NULL. store, borrowed, knows which files are on disk or could not be written.
 * status makes the answer of an operation without a result of its own.
 */
struct operations *operations_new(struct fabric *fabric, const struct state_store *store,
				  operations_status_fn *status);
void operations_free(struct operations *operations); /* nobody is called */

/* fabric_operation_start() and fabric_operation_done(), whose comments hold (operation.h). */
void operations_start(struct operations *operations, const struct fabric_operation_ops *ops,
		      void *data, waiter_fn *fn, void *arg);
void operations_done(struct operations *operations, const struct fabric_operation_ops *ops,
		     void *data, waiter_fn *fn, void *arg);

/*
 * An update begins and takes the operations that wait. sweeping: a heavy sweep is yet to come or
 * under way, and operations that wait for one stay.
 */
void operations_take(struct operations *operations, bool sweeping);
bool operations_taken(const struct operations *operations); /* true: some are not answered yet */
/* The proof refused the tables of those that were taken: undoes them. Answer them next. */
void operations_rollback(struct operations *operations);
/*
 * Answers those that were taken; error NULL: all is settled, and those that are `late` wait for
 * operations_answer_late(). Their callbacks may start others.
 */
void operations_answer(struct operations *operations, const char *error);
void operations_answer_late(struct operations *operations);
/* A file was written, or could not be: answers operations that waited for that alone. */
void operations_saved(struct operations *operations);
/* Answers all at once with that error: this manager changes nothing any more. */
void operations_abandon(struct operations *operations, const char *why);
void operations_cancel(struct operations *operations, const void *arg); /* that client is gone */

#endif
