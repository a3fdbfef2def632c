/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/operations.h"
#include <stdlib.h>
#include "topology/base/mem.h"

struct operation {
	struct operation *next;
	const struct fabric_operation_ops *ops;
	void *data;
	waiter_fn *fn; /* NULL: the client is gone */
	void *arg;
	bool taken;	/* by an update that began after it was requested */
	bool settled;	/* that one */
	json_t *result; /* once it is settled */
};

struct operations {
	struct fabric *fabric;
	const struct state_store *store;
	operations_status_fn *status;
	struct operation *waiting; /* for an update, or for its end; the latest first */
	struct operation *saving;  /* settled; their file is not on disk yet */
};

static struct operation *operation_new(const struct fabric_operation_ops *ops, void *data,
				       waiter_fn *fn, void *arg)
{
	struct operation *op = mem_alloc(1, sizeof(*op));

	*op = (struct operation){ .ops = ops, .data = data, .fn = fn, .arg = arg };
	return op;
}

static void operation_free(struct operation *op)
{
	json_decref(op->result);
	if (op->ops->free)
		op->ops->free(op->data);
	free(op);
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* The status is made only for somebody who waits for it. */
static json_t *result_of(const struct operations *ops, const struct operation *op)
{
	if (op->ops->result)
		return op->ops->result(op->data);
	return op->fn ? ops->status(ops->fabric) : NULL;
}

static void answer(struct operations *ops, struct operation *op, const char *error)
{
	if (op->result && op->ops->file)
		state_store_report(ops->store, op->ops->file, op->result);
	if (op->result && op->ops->also)
		state_store_report(ops->store, op->ops->also, op->result);
	if (op->ops->reported)
		op->ops->reported(op->data, op->result, error);
	if (op->fn)
		op->fn(op->arg, op->result, error);
	operation_free(op);
}

static bool waits(const struct operations *ops, const char *file)
{
	return file && state_store_waits(ops->store, file);
}

static void answer_when_saved(struct operations *ops, struct operation *op)
{
	if (!waits(ops, op->ops->file) && !waits(ops, op->ops->also)) {
		answer(ops, op, NULL);
		return;
	}
	op->next = ops->saving;
	ops->saving = op;
}

/* Whether it is to be answered. */
static bool is_done(struct operation *op, bool settled)
{
	if (!settled || !op->ops->late)
		return op->taken;
	op->settled |= op->taken;
	return false;
}

static bool is_settled(struct operation *op, bool settled)
{
	return op->settled;
}

typedef bool done_fn(struct operation *op, bool settled);

/* Takes those off the list that are to be answered: clients may ask again from their callback. */
static struct operation *unlink_done(struct operations *ops, done_fn *done, bool settled)
{
	struct operation **link = &ops->waiting, *taken = NULL;

	while (*link) {
		struct operation *op = *link;

		if (!done(op, settled)) {
			link = &op->next;
			continue;
		}
		*link = op->next;
		op->next = taken;
		taken = op;
	}
	return taken;
}

static void answer_all(struct operations *ops, struct operation *list, const char *error)
{
	while (list) {
		struct operation *op = list;

		list = op->next;
		if (error) {
			answer(ops, op, error);
			continue;
		}
		op->result = result_of(ops, op);
		answer_when_saved(ops, op);
	}
}

void operations_answer(struct operations *ops, const char *error)
{
	answer_all(ops, unlink_done(ops, is_done, !error), error);
}

void operations_answer_late(struct operations *ops)
{
	answer_all(ops, unlink_done(ops, is_settled, true), NULL);
}

void operations_saved(struct operations *ops)
{
	struct operation *list = ops->saving;

	ops->saving = NULL;
	while (list) {
		struct operation *op = list;

		list = op->next;
		answer_when_saved(ops, op);
	}
}

static void abandon(struct operation **list, const char *why)
{
	struct operation *all = *list;

	*list = NULL;
	while (all) {
		struct operation *op = all;

		all = op->next;
		if (op->fn)
			op->fn(op->arg, NULL, why);
		operation_free(op);
	}
}

void operations_abandon(struct operations *ops, const char *why)
{
	abandon(&ops->waiting, why);
	abandon(&ops->saving, why);
}

/* ---- Until then ------------------------------------------------------------------------------ */

void operations_start(struct operations *ops, const struct fabric_operation_ops *kind, void *data,
		      waiter_fn *fn, void *arg)
{
	struct operation *op = operation_new(kind, data, fn, arg);

	op->next = ops->waiting;
	ops->waiting = op;
}

void operations_done(struct operations *ops, const struct fabric_operation_ops *kind, void *data,
		     waiter_fn *fn, void *arg)
{
	struct operation *op = operation_new(kind, data, fn, arg);

	op->result = result_of(ops, op);
	answer_when_saved(ops, op);
}

void operations_take(struct operations *ops, bool sweeping)
{
	for (struct operation *op = ops->waiting; op; op = op->next)
		op->taken |= !op->ops->sweeps || !sweeping;
}

bool operations_taken(const struct operations *ops)
{
	for (const struct operation *op = ops->waiting; op; op = op->next)
		if (op->taken)
			return true;
	return false;
}

void operations_rollback(struct operations *ops)
{
	for (struct operation *op = ops->waiting; op; op = op->next)
		if (op->taken && op->ops->rollback)
			op->ops->rollback(op->data);
}

static void cancel(struct operation *list, const void *arg)
{
	for (; list; list = list->next)
		if (list->arg == arg)
			list->fn = NULL;
}

void operations_cancel(struct operations *ops, const void *arg)
{
	cancel(ops->waiting, arg);
	cancel(ops->saving, arg);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct operations *operations_new(struct fabric *fabric, const struct state_store *store,
				  operations_status_fn *status)
{
	struct operations *ops = mem_alloc(1, sizeof(*ops));

	*ops = (struct operations){ .fabric = fabric, .store = store, .status = status };
	return ops;
}

static void free_all(struct operation *list)
{
	while (list) {
		struct operation *op = list;

		list = op->next;
		operation_free(op);
	}
}

void operations_free(struct operations *ops)
{
	if (!ops)
		return;
	free_all(ops->waiting);
	free_all(ops->saving);
	free(ops);
}
