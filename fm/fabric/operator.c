/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * operator: what operators ask of the pipe itself: sweeps and reroutes; and the doors by
 * which rooms start operations.
 */
#include "fm/fabric/operation.h"
#include "fm/fabric/pipe.h"

void fabric_operation_start(struct fabric *f, const struct fabric_operation_ops *ops, void *data,
			    waiter_fn *fn, void *arg)
{
	operations_start(f->clients.operations, ops, data, fn, arg);
}

void fabric_operation_done(struct fabric *f, const struct fabric_operation_ops *ops, void *data,
			   waiter_fn *fn, void *arg)
{
	operations_done(f->clients.operations, ops, data, fn, arg);
}

void fabric_sweep(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	static const struct fabric_operation_ops ops = { .sweeps = true };

	operations_start(f->clients.operations, &ops, NULL, fn, arg);
	fabric_request_sweep(f, "operator");
}

void fabric_reroute(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	static const struct fabric_operation_ops ops = { .file = NULL };

	operations_start(f->clients.operations, &ops, NULL, fn, arg);
	fabric_request_reroute(f, "operator");
}

void fabric_client_gone(struct fabric *f, void *arg)
{
	operations_cancel(f->clients.operations, arg);
}
