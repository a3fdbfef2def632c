/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * job: work that takes longer than the loop may be held, in steps.
 *
 * Steps are a table of functions. Each is called until it says that it is done, then comes the
 * next. They run from a timer: one behind the other as long as loop_pace's slice is not used up,
 * the rest behind what else waits for the loop. So a call of a step should take a few
 * milliseconds at most, and what is short as a whole is done in one go.
 */
#pragma once

#include <jansson.h>
#include "fm/loop/loop.h"

enum job_result {
	JOB_MORE, /* call me again */
	JOB_NEXT, /* done: the next step */
	JOB_END,  /* done, and the steps behind are not wanted */
};

struct job_step {
	const char *name; /* a literal: shown by loop_longest() */
	enum job_result (*run)(void *owner);
};

struct job;
/* The caller's, with nothing to do yet; never NULL. Loop and owner are borrowed. */
struct job *job_new(struct loop *loop, void *owner);
/*
 * For work that nobody waits for: from now on one call of a step a round, so that all else that is
 * due comes in between, requests of others too. Not while it runs.
 */
void job_yield(struct job *job);
void job_free(struct job *job); /* NULL is fine; not from within a step */

/*
 * From the first step, in a callback of its own; what was running ends where it is. The table ends
 * with a step without run. spent_us, by step, is what each has taken so far (NULL = not wanted). A
 * step may start its job again, or stop it.
 */
void job_start(struct job *job, const struct job_step *steps, uint64_t *spent_us);
void job_stop(struct job *job);
/* One that runs goes on so much later: 0 = with the next round. */
void job_wait(struct job *job, uint64_t us);
/* The table that runs, as it was given to job_start(); NULL = none does. */
const struct job_step *job_steps(const struct job *job);
/* The name of the step that is due, a literal; NULL = none is. */
const char *job_step_name(const struct job *job);
/* Milliseconds by the name of the step, the caller's. */
json_t *job_stages_json(const struct job_step *steps, const uint64_t *spent_us);
