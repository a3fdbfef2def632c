/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/operation.h"
#include "fm/fabric/pipe.h"
#include "topology/base/mem.h"

/* ---- Waiters --------------------------------------------------------------------------------- */

struct waiter {
	struct waiter *next;
	waiter_fn *fn;
	void *arg;
};

void waiters_add(struct waiters *waiters, waiter_fn *fn, void *arg)
{
	struct waiter *it = mem_new(it);

	*it = (struct waiter){ .next = waiters->first, .fn = fn, .arg = arg };
	waiters->first = it;
}

void waiters_answer(struct waiters *waiters, json_t *result, const char *error)
{
	struct waiters now = *waiters;

	waiters->first = NULL;
	while (now.first) {
		struct waiter *it = now.first;

		now.first = it->next;
		it->fn(it->arg, result, error);
		free(it);
	}
}

void waiters_move(struct waiters *from, struct waiters *to)
{
	while (from->first) {
		struct waiter *it = from->first;

		from->first = it->next;
		it->next = to->first;
		to->first = it;
	}
}

void waiters_fini(struct waiters *waiters)
{
	while (waiters->first) {
		struct waiter *it = waiters->first;

		waiters->first = it->next;
		free(it);
	}
}

/* ---- Operations ------------------------------------------------------------------------------ */

struct operation {
	struct operation *next;
	struct operations *all; /* it is in them */
	const struct fabric_operation_ops *ops;
	void *data;
	waiter_fn *fn;
	void *arg;
	bool taken;	/* by an update that began after it was requested */
	bool settled;	/* that one */
	json_t *result; /* once it is settled */
};

struct operations {
	struct fabric *fabric;
	struct state *state;
	operations_status_fn *status;
	struct operation *waiting; /* for an update, or for its end; the latest first */
	struct operation *saving;  /* settled; their rows are not on disk yet */
};

static struct operation *operation_new(struct operations *all,
				       const struct fabric_operation_ops *ops, void *data,
				       waiter_fn *fn, void *arg)
{
	struct operation *op = mem_new(op);

	*op = (struct operation){ .all = all, .ops = ops, .data = data, .fn = fn, .arg = arg };
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
	if (op->result && op->ops->keeps)
		state_report(ops->state, op->result);
	if (op->ops->reported)
		op->ops->reported(op->data, op->result, error);
	if (op->fn)
		op->fn(op->arg, op->result, error);
	operation_free(op);
}

static void saved(void *arg)
{
	struct operation *op = arg, **link = &op->all->saving;

	while (*link != op)
		link = &(*link)->next;
	*link = op->next;
	answer(op->all, op, NULL);
}

static void answer_when_saved(struct operations *ops, struct operation *op)
{
	if (!op->ops->keeps || !state_when_settled(ops->state, saved, op)) {
		answer(ops, op, NULL);
		return;
	}
	op->next = ops->saving;
	ops->saving = op;
}

/* Whether it is to be answered now. late: those that wait for what follows behind settling. */
static bool is_due(struct operation *op, const char *error, bool late)
{
	if (late)
		return op->settled;
	if (error || !op->ops->late)
		return op->taken;
	op->settled |= op->taken;
	return false;
}

/* They are off the list before the first is called: clients may ask again from their callback. */
void operations_answer(struct operations *ops, const char *error, bool late)
{
	struct operation **link = &ops->waiting, *due = NULL, *op;

	while ((op = *link)) {
		if (!is_due(op, error, late)) {
			link = &op->next;
			continue;
		}
		*link = op->next;
		op->next = due;
		due = op;
	}
	while ((op = due)) {
		due = op->next;
		if (error) {
			answer(ops, op, error);
			continue;
		}
		op->result = result_of(ops, op);
		answer_when_saved(ops, op);
	}
}

/* why NULL: nobody is called. */
static void end_all(struct operation **list, const char *why)
{
	struct operation *all = *list, *op;

	*list = NULL;
	while ((op = all)) {
		all = op->next;
		state_forget(op->all->state, op);
		if (why && op->fn)
			op->fn(op->arg, NULL, why);
		operation_free(op);
	}
}

void operations_abandon(struct operations *ops, const char *why)
{
	end_all(&ops->waiting, why);
	end_all(&ops->saving, why);
}

/* ---- Until then ------------------------------------------------------------------------------ */

void operations_start(struct operations *ops, const struct fabric_operation_ops *kind, void *data,
		      waiter_fn *fn, void *arg)
{
	struct operation *op = operation_new(ops, kind, data, fn, arg);

	op->next = ops->waiting;
	ops->waiting = op;
}

void operations_done(struct operations *ops, json_t *result, waiter_fn *fn, void *arg)
{
	static const struct fabric_operation_ops kept = { .keeps = true };
	struct operation *op = operation_new(ops, &kept, NULL, fn, arg);

	op->result = result;
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

/* ---- Life ------------------------------------------------------------------------------------ */

struct operations *operations_new(struct fabric *fabric, struct state *state,
				  operations_status_fn *status)
{
	struct operations *ops = mem_new(ops);

	*ops = (struct operations){ .fabric = fabric, .state = state, .status = status };
	return ops;
}

void operations_free(struct operations *ops)
{
	if (!ops)
		return;
	operations_abandon(ops, NULL);
	free(ops);
}

/* ---- Operator -------------------------------------------------------------------------------- */

/*
 * What operators ask of the pipe itself: sweeps and reroutes; and the doors by
 * which rooms start operations.
 */

void fabric_operation_start(struct fabric *f, const struct fabric_operation_ops *ops, void *data,
			    waiter_fn *fn, void *arg)
{
	operations_start(f->clients.operations, ops, data, fn, arg);
}

void fabric_operation_done(struct fabric *f, json_t *result, waiter_fn *fn, void *arg)
{
	operations_done(f->clients.operations, result, fn, arg);
}

void fabric_sweep(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	static const struct fabric_operation_ops ops = { .sweeps = true };

	operations_start(f->clients.operations, &ops, NULL, fn, arg);
	fabric_request_sweep(f, "operator");
}

void fabric_reroute(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	static const struct fabric_operation_ops ops = { .keeps = false };

	operations_start(f->clients.operations, &ops, NULL, fn, arg);
	fabric_request_reroute(f, "operator");
}
