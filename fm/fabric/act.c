/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_act: what operators ask for and wait for: looks, new tables, cordons, readbacks.
 *
 * An act is on a list from the moment it is asked until it is answered, once. What is under way by
 * then does not answer it: the update that begins next takes it (for `sweep`: the one that follows a
 * look at everything), and when that is settled the act is answered. An asker that goes away leaves
 * its act behind, which ends unheard.
 */
#include <stdlib.h>
#include "fm/fabric/own.h"
#include "topology/mem.h"

struct act *fabric_act_add(struct act **list, fabric_done_fn *fn, void *arg)
{
	struct act *act = mem_alloc(1, sizeof(*act));

	*act = (struct act){ .next = *list, .fn = fn, .arg = arg };
	*list = act;
	return act;
}

static void act_free(struct act *act)
{
	json_decref(act->result);
	fabric_cordon_free(act->cordon);
	free(act->health);
	free(act);
}

/* Takes those off that are to be answered: they may ask again from their callback. */
static struct act *unlink_taken(struct act **list)
{
	struct act *taken = NULL;

	while (*list) {
		struct act *act = *list;

		if (!act->taken) {
			list = &act->next;
			continue;
		}
		*list = act->next;
		act->next = taken;
		taken = act;
	}
	return taken;
}

static json_t *act_result(struct fabric *f, const struct act *act, const char *error)
{
	if (act->cordon)
		return fabric_cordon_done(f, act->cordon, error);
	if (act->health)
		return fabric_nvlink_done(f, act->health, error);
	return error || !act->fn ? NULL : fabric_status(f);
}

void fabric_acts_take(struct fabric *f)
{
	for (struct act *act = f->acts; act; act = act->next)
		act->taken |= !act->sweeps || (!f->requests.sweep && !sweep_discovers(f->sweep));
}

bool fabric_acts_wait(const struct fabric *f)
{
	for (const struct act *act = f->acts; act; act = act->next)
		if (act->taken)
			return true;
	return false;
}

/* The file that has to be on disk before it is answered; NULL = none. */
static const char *file_of(const struct act *act)
{
	if (act->cordon)
		return fabric_cordon_file(act->cordon);
	return act->health ? fabric_nvlink_file() : NULL;
}

static void answer(struct fabric *f, struct act *act, const char *error)
{
	const char *file = file_of(act);

	if (act->result && file)
		fabric_state_tell(f, file, act->result);
	if (act->cordon)
		fabric_cordon_told(f, act->cordon, act->result, error);
	if (act->fn)
		act->fn(act->arg, act->result, error);
	act_free(act);
}

/* What was done is told when it is also kept, or can't be. */
static void answer_when_saved(struct fabric *f, struct act *act)
{
	const char *file = file_of(act);

	if (!file || !fabric_state_waits(f, file)) {
		answer(f, act, NULL);
		return;
	}
	act->next = f->saving;
	f->saving = act;
}

void fabric_acts_saved(struct fabric *f)
{
	struct act *acts = f->saving;

	f->saving = NULL;
	while (acts) {
		struct act *act = acts;

		acts = act->next;
		answer_when_saved(f, act);
	}
}

/* Was done at once. */
void fabric_act_done(struct fabric *f, const struct act *done)
{
	struct act *act = mem_alloc(1, sizeof(*act));

	*act = *done;
	answer_when_saved(f, act);
}

void fabric_acts_answer(struct fabric *f, const char *error)
{
	struct act *acts = unlink_taken(&f->acts);

	while (acts) {
		struct act *act = acts;

		acts = act->next;
		act->result = act_result(f, act, error);
		if (error)
			answer(f, act, error);
		else
			answer_when_saved(f, act);
	}
}

void fabric_acts_undo(struct fabric *f)
{
	for (struct act *act = f->acts; act; act = act->next)
		if (act->taken && act->cordon)
			fabric_cordon_undo(f, act->cordon);
}

void fabric_sweep(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	fabric_act_add(&f->acts, fn, arg)->sweeps = true;
	fabric_request_sweep(f, "operator");
}

void fabric_reroute(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	fabric_act_add(&f->acts, fn, arg);
	fabric_request_reroute(f, "operator");
}

/* ---- Readback ------------------------------------------------------------------------------------ */

void fabric_acts_answer_all(struct act **list, json_t *result, const char *error)
{
	struct act *acts = *list;

	*list = NULL;
	while (acts) {
		struct act *act = acts;

		acts = act->next;
		if (act->fn)
			act->fn(act->arg, result, error);
		act_free(act);
	}
}

static void read_back(void *arg, const struct program_readback *result)
{
	struct fabric *f = arg;
	json_t *doc = json_pack("{si si si}", "blocks", (int)result->blocks, "differ",
				(int)result->differ, "failed", (int)result->failed);

	for (unsigned i = 0; i < result->differ; i++)
		fabric_audit_found(f, result->differing[i].sw, result->differing[i].block);
	waiters_answer(&f->readers, doc, NULL);
	json_decref(doc);
}

void fabric_readback(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	bool running = f->readers.first != NULL;

	waiters_add(&f->readers, fn, arg);
	if (!f->topo)
		waiters_answer(&f->readers, NULL, "nothing is programmed yet");
	else if (!running)
		program_check_readback(f->program, f->topo, read_back, f);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

static void leave_unheard(struct act *acts, const void *arg)
{
	for (; acts; acts = acts->next)
		if (acts->arg == arg)
			acts->fn = NULL;
}

void fabric_act_cancel(struct fabric *f, void *arg)
{
	leave_unheard(f->acts, arg);
	leave_unheard(f->saving, arg);
	waiters_cancel(&f->readers, arg);
	modules_cancel(f->modules, arg);
}

static void free_all(struct act *acts)
{
	while (acts) {
		struct act *act = acts;

		acts = act->next;
		act_free(act);
	}
}

void fabric_acts_fini(struct fabric *f)
{
	free_all(f->acts);
	free_all(f->saving);
	waiters_fini(&f->readers);
}
