/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * job: steps from a timer (see job.h). The slice is looked at between calls, so a callback lasts as
 * long as the slice and one call more at most. A step that starts or stops its own job changes
 * `serial`: then nothing of the older table is touched any more.
 */
#include "fm/loop/job.h"
#include "topology/base/mem.h"

struct job {
	struct loop *loop;
	struct loop_timer *timer;
	void *owner;
	const struct job_step *steps; /* NULL: nothing to do */
	unsigned at;
	uint64_t *spent_us;
	uint64_t serial;
	bool yields;
};

static void steps_set(struct job *job, const struct job_step *steps)
{
	if (!job->yields)
		loop_busy_add(job->loop, (steps != NULL) - (job->steps != NULL));
	job->steps = steps;
}

static void run_slice(void *arg)
{
	struct job *job = arg;
	struct loop_pace pace = loop_pace(job->loop);
	uint64_t start = loop_clock_us(job->loop), serial = job->serial;

	do {
		uint64_t begun = loop_clock_us(job->loop), *spent = job->spent_us;
		const struct job_step *step = &job->steps[job->at];
		unsigned at = job->at;
		const char *name = step->name;
		enum job_result result = step->run(job->owner);
		uint64_t took = loop_clock_us(job->loop) - begun;

		loop_took(job->loop, name, took);
		if (spent)
			spent[at] += took;
		if (job->serial != serial)
			return;
		job->at += result == JOB_NEXT;
		if (result == JOB_END || !job->steps[job->at].run) {
			steps_set(job, NULL);
			return;
		}
	} while (!job->yields && loop_clock_us(job->loop) - start < pace.slice_us);
	loop_timer_set(job->timer, pace.gap_us);
}

struct job *job_new(struct loop *loop, void *owner)
{
	struct job *job = mem_new(job);

	*job = (struct job){ .loop = loop, .owner = owner };
	job->timer = loop_timer_new(loop, run_slice, job);
	return job;
}

void job_yield(struct job *job)
{
	job->yields = true;
}

void job_free(struct job *job)
{
	if (!job)
		return;
	steps_set(job, NULL);
	loop_timer_free(job->timer);
	free(job);
}

void job_start(struct job *job, const struct job_step *steps, uint64_t *spent_us)
{
	job->serial++;
	steps_set(job, steps);
	job->at = 0;
	job->spent_us = spent_us;
	for (unsigned i = 0; spent_us && steps[i].run; i++)
		spent_us[i] = 0;
	loop_timer_set(job->timer, 0);
}

void job_stop(struct job *job)
{
	job->serial++;
	steps_set(job, NULL);
	loop_timer_stop(job->timer);
}

void job_wait(struct job *job, uint64_t us)
{
	if (job->steps)
		loop_timer_set(job->timer, us);
}

const struct job_step *job_steps(const struct job *job)
{
	return job->steps;
}

const char *job_step_name(const struct job *job)
{
	return job->steps ? job->steps[job->at].name : NULL;
}

json_t *job_stages_json(const struct job_step *steps, const uint64_t *spent_us)
{
	json_t *doc = json_object();

	for (unsigned i = 0; steps[i].run; i++)
		json_object_set_new(doc, steps[i].name, json_real(spent_us[i] / 1e3));
	return doc;
}
