/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* operations: the pipe's side of fm/fabric/operation.h: all that wait for their answer. */
#ifndef FMD_FABRIC_OPERATIONS_H
#define FMD_FABRIC_OPERATIONS_H

#include "fm/fabric/operation.h"
#include "fm/state/state_store.h"

struct operations;

typedef json_t *operations_status_fn(const struct fabric *fabric);

/*
 * store, borrowed, says which files are on disk or could not be written. status: the answer of who
 * has no result.
 */
struct operations *operations_new(struct fabric *fabric, const struct state_store *store,
				  operations_status_fn *status);
void operations_free(struct operations *operations); /* nobody is called */

void operations_start(struct operations *operations, const struct fabric_operation_ops *ops,
		      void *data, waiter_fn *fn, void *arg);
void operations_done(struct operations *operations, const struct fabric_operation_ops *ops,
		     void *data, waiter_fn *fn, void *arg);

/*
 * An update begins and takes those that wait. sweeping: a heavy sweep is yet to come or under way,
 * and who waits for one stays.
 */
void operations_take(struct operations *operations, bool sweeping);
bool operations_taken(const struct operations *operations); /* some are, and not answered yet */
/* Those that were taken: their tables were refused. Answer them next. */
void operations_rollback(struct operations *operations);
/* Those that were taken; error NULL: all is settled. They may start others from their callback. */
void operations_answer(struct operations *operations, const char *error);
/* A file was written, or could not be: whoever waited for that alone is answered. */
void operations_saved(struct operations *operations);
/* All, at once and without a report: this manager changes nothing any more. */
void operations_abandon(struct operations *operations, const char *why);
void operations_cancel(struct operations *operations, const void *arg); /* that client is gone */

#endif
