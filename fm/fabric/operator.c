/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * operator: what operators ask of the pipe itself: sweeps, reroutes and readbacks; and the doors by
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

/* ---- Readback -------------------------------------------------------------------------------- */

static void read_back(void *arg, const struct program_readback *result)
{
	struct fabric *f = arg;
	json_t *doc = json_pack("{si si si}", "blocks", (int)result->blocks, "differ",
				(int)result->differ, "failed", (int)result->failed);

	for (unsigned i = 0; i < result->differ; i++) {
		MODULES_CALL(f->modules, mismatch, result->differing[i].sw,
			     result->differing[i].block);
	}
	waiters_answer(&f->clients.readers, doc, NULL);
	json_decref(doc);
}

void fabric_readback(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	bool running = f->clients.readers.first != NULL;

	waiters_add(&f->clients.readers, fn, arg);
	if (!f->now.topo)
		waiters_answer(&f->clients.readers, NULL, "nothing is programmed yet");
	else if (!running)
		program_check_readback(f->program, f->now.topo, read_back, f);
}

void fabric_client_gone(struct fabric *f, void *arg)
{
	operations_cancel(f->clients.operations, arg);
	waiters_cancel(&f->clients.readers, arg);
	MODULES_CALL(f->modules, cancel, arg);
}
