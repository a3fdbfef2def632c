/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What follows from a pass over all counters, in pieces: links that run below what they can are
 * looked for, then who waits for that pass is answered.
 */
#include "fm/perf/module_own.h"

static enum job_result slow_step(void *room)
{
	return link_health_slow_more(room) ? JOB_MORE : JOB_NEXT;
}

static enum job_result slow_told_step(void *room)
{
	link_health_slow_end(room);
	return JOB_NEXT;
}

static void count_over(void *arg, const struct perf_port *port)
{
	struct link_health *h = arg;

	h->over += ber_is_over(port->ber);
}

static enum job_result over_step(void *room)
{
	struct link_health *h = room;

	h->over = 0;
	perf_each_unwell(h->perf, count_over, h);
	return JOB_NEXT;
}

static enum job_result answer_step(void *room)
{
	struct link_health *h = room;
	json_t *doc;

	if (!h->due.first)
		return JOB_NEXT;
	doc = link_health_summary(h); /* rows are for those to write who asked */
	waiters_answer(&h->due, doc, NULL);
	json_decref(doc);
	return JOB_NEXT;
}

static const struct job_step steps[] = { { "links-slow", slow_step },
					 { "links-slow-told", slow_told_step },
					 { "links-over", over_step },
					 { "health-answer", answer_step },
					 { 0 } };

void link_health_passed(void *room, const struct perf_pass *pass)
{
	struct link_health *h = room;

	link_health_note_pace(h, pass);
	waiters_move(&h->waiters, &h->due);
	link_health_slow_begin(h);
	job_start(h->behind, steps, NULL);
}
