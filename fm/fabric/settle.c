/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_settle: what follows when all that was published is programmed and brought up, step by step (fm/core/job.h):
 *
 *   collect, snapshot   bring-up gave LIDs, MTUs and states since the published snapshot was taken
 *   compare, show       what is shown is what is. LIDs and tables go by index, so the cables must be the same, and
 *                       cordons too; when they are not, an update is on its way that publishes them
 *   answer              those who asked hear of it; the fabric is up, unless tables of before a restart are still being read
 *   remember            cables that are known or down now and were not before go to their file
 *   tidy, room          the proof forgets what is past; the next update finds memory for its tables
 *
 * An update that begins meanwhile ends it, and brings it about anew: till then it stays due.
 */
#include <stdlib.h>
#include "fm/fabric/own.h"
#include "topology/diff.h"

static double ms_since(const struct fabric *f, uint64_t start_us)
{
	return (loop_now_us(f->loop) - start_us) / 1e3;
}

/* ---- What was begun has ended -------------------------------------------------------------------- */

static void keep_figures(struct fabric *f, const struct program_result *result)
{
	f->figures.programmed = *result;
	f->figures.program_ms = result->took_us / 1e3;
	f->figures.reroutes += result->blocks > 0;
}

/* After a restart twice: what waits for the tables goes on while the rest of them is read. */
void fabric_programmed(void *arg, const struct program_result *result)
{
	struct fabric *f = arg;
	bool again = f->reading;

	f->programming = false;
	bringup_wait(f->bringup, 0);
	f->reading = result->unread > 0;
	if (!again || result->blocks)
		keep_figures(f, result);
	f->settle.wrote |= result->blocks > 0;
	f->requests.retry |= result->failed > 0;
	if (result->failed && !f->settle.told_failed)
		event_log_add(f->events, LOG_WARNING, "program-failed", NULL,
			      "fabric: %u LFT blocks were not acknowledged; tried again, less and "
			      "less",
			      result->failed);
	f->settle.told_failed = result->failed > 0;
	if (result->failed)
		program_refusers(f->program, fabric_isolate_suspect, f);
	if (!result->failed)
		fabric_audit_repaired(f);
	modules_programmed(f->modules, result);
	fabric_fault_programmed(f);
	fabric_mcast_wake(f);
	f->settle.due |= again;
	fabric_settle(f);
}

void fabric_brought_up(void *arg, const struct bringup_result *result)
{
	struct fabric *f = arg;

	f->bringing_up = false;
	if (f->settle.due)
		f->figures.bringup_ms = result->took_us / 1e3;
	f->settle.wrote |= result->links_activated > 0;
	fabric_retry_note(f, result);
	fabric_held_note(f, result);
	modules_brought_up(f->modules, result);
	if (!fabric_links_brought_up(f))
		fabric_fault_trained(f);
	fabric_settle(f);
}

/* ---- Steps --------------------------------------------------------------------------------------- */

static enum job_said collect(void *arg)
{
	struct fabric *f = arg;

	f->settle.draft = fabric_draft(f);
	return JOB_NEXT;
}

static enum job_said make_snapshot(void *arg)
{
	struct fabric_settle *s = &((struct fabric *)arg)->settle;

	s->now = fabric_draft_freeze(&s->draft);
	return JOB_NEXT;
}

static bool same_cordons(const struct topo *a, const struct topo *b)
{
	for (uint32_t p = 0; p < a->nports && a->nports == b->nports; p++)
		if (a->ports[p].cordoned != b->ports[p].cordoned)
			return false;
	return a->nports == b->nports;
}

static enum job_said compare(void *arg)
{
	struct fabric *f = arg;
	struct diff *diff = diff_new(f->topo, f->settle.now);
	bool same = diff->count == 0 && same_cordons(f->topo, f->settle.now);

	diff_free(diff);
	if (!same) {
		topo_unref(f->settle.now);
		f->settle.now = NULL;
	}
	return JOB_NEXT;
}

static enum job_said show(void *arg)
{
	struct fabric *f = arg;
	struct topo *older = f->topo;

	if (!f->settle.now)
		return JOB_NEXT;
	f->topo = f->settle.now;
	f->shapes = f->settle.draft.shapes;
	f->links = f->settle.draft.links;
	f->settle.now = NULL;
	modules_shown(f->modules, older);
	fabric_mcast_shown(f, older);
	topo_unref(older);
	return JOB_NEXT;
}

static void tell_up(struct fabric *f)
{
	f->settle.told_up = true;
	event_log_add(f->events, LOG_NOTICE, "up", NULL,
		      "fabric: up: %u switches, %u HCAs, %u links (%u down), %llu SMPs, %.0f ms",
		      f->topo->nswitches, f->topo->ncas, topo_links(f->topo),
		      topo_links_down(f->topo), (unsigned long long)mad_stats(f->mad).sent,
		      ms_since(f, f->started_us));
}

static void is_up(struct fabric *f)
{
	if (f->state != FABRIC_REFUSED) /* by an update since then: that is still so */
		f->state = FABRIC_UP;
	if (!f->settle.told_up)
		tell_up(f);
}

static enum job_said answer(void *arg)
{
	struct fabric *f = arg;

	if (f->settle.wrote || !f->settled_us)
		f->settled_us = loop_now_us(f->loop);
	f->settle.due = f->settle.wrote = f->retrying = false;
	if (!f->reading)
		is_up(f);
	if (!f->links.decided)
		fabric_isolate_links(f); /* before they cease to count */
	fabric_links_follow(f);
	fabric_verify_later(f);
	operations_answer(f->operations, NULL);
	modules_settled(f->modules);
	fabric_watch_doubt(f);
	fabric_warn(f);
	return JOB_NEXT;
}

static enum job_said settled_later(void *arg)
{
	struct fabric *f = arg;

	modules_settled_later(f->modules);
	return JOB_NEXT;
}

static enum job_said tidy(void *arg)
{
	struct fabric *f = arg;

	check_change_tidy(f->proof_base, f->topo, &f->tables);
	return JOB_NEXT;
}

static enum job_said make_room(void *arg)
{
	struct fabric *f = arg;

	if (fabric_update_room(f))
		return JOB_MORE;
	job_stop(f->settle.job);
	fabric_look(f);
	return JOB_END;
}

/* ---- The table ----------------------------------------------------------------------------------- */

static const struct job_step steps[FABRIC_STEPS_MAX] = {
	{ "settle-collect", collect }, { "settle-snapshot", make_snapshot },
	{ "settle-compare", compare }, { "settle-show", show },
	{ "settle-answer", answer },   { "settle-remember", settled_later },
	{ "settle-tidy", tidy },       { "settle-room", make_room },
};

void fabric_settle(struct fabric *f)
{
	if (!f->settle.due || f->programming || f->bringing_up || fabric_updates(f) ||
	    job_steps(f->settle.job) || fabric_links_follow(f))
		return;
	job_start(f->settle.job, steps, f->settle.spent_us);
}

void fabric_settle_stop(struct fabric *f)
{
	struct fabric_settle *s = &f->settle;

	job_stop(s->job);
	fabric_draft_fini(&s->draft);
	topo_unref(s->now);
	s->now = NULL;
}

json_t *fabric_settle_stages(const struct fabric *f)
{
	return fabric_report_stages(steps, f->settle.spent_us);
}

void fabric_settle_init(struct fabric *f)
{
	f->settle.job = job_new(f->loop, f);
}

void fabric_settle_fini(struct fabric *f)
{
	fabric_settle_stop(f);
	job_free(f->settle.job);
}
