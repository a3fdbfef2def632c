/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * settle: what follows when all that was published is programmed and brought up, step by step
 * (fm/loop/job.h):
 *
 *   collect, snapshot   bring-up gave LIDs, MTUs and states since the published snapshot was taken
 *   compare, show       what is published shows ports as they are. LIDs and tables go by index, so
 *                       links and cordons must be the same; when they are not, an update is on its
 *                       way
 *   answer              operators who wait are answered; the fabric is up, unless tables of before
 *                       a restart are still being read
 *   remember            rooms do what takes a pass over the snapshot
 *   tidy                the proof drops what is past
 *   "room"              memory of the next update's tables is touched
 *
 * An update that begins meanwhile ends it and brings it about again: till then it stays due.
 */
#include <inttypes.h>
#include "topology/base/text.h"
#include "fm/fabric/pipe.h"
#include "topology/snapshot/diff.h"
#include "topology/base/mem.h"

struct settle {
	loop_fn *ended;
	struct job *job;
	struct snapshot_parts draft;
	struct topo *now; /* NULL: the published snapshot shows what is */
	uint64_t spent_us[FABRIC_STEPS_MAX];
};

static enum job_result collect(void *arg)
{
	struct fabric *f = arg;

	f->settle->draft = fabric_snapshot_collect(f);
	return JOB_NEXT;
}

static enum job_result make_snapshot(void *arg)
{
	struct settle *s = ((struct fabric *)arg)->settle;

	s->now = fabric_snapshot_freeze(&s->draft);
	return JOB_NEXT;
}

static enum job_result compare(void *arg)
{
	struct fabric *f = arg;
	struct settle *s = f->settle;
	struct diff *diff = diff_new(f->now.topo, s->now);
	bool same = diff->count == 0 && fabric_same_marks(f->now.topo, s->now);

	diff_free(diff);
	if (!same) {
		topo_unref(s->now);
		s->now = NULL;
	}
	return JOB_NEXT;
}

static enum job_result show(void *arg)
{
	struct fabric *f = arg;
	struct topo *before = f->now.topo;

	if (!f->settle->now)
		return JOB_NEXT;
	f->now.topo = f->settle->now;
	f->now.shapes = f->settle->draft.shapes;
	f->now.links = f->settle->draft.links;
	f->settle->now = NULL;
	MODULES_CALL(f->kept.modules, published, FABRIC_SHOWN, before);
	topo_unref(before);
	return JOB_NEXT;
}

/* ---- Up -------------------------------------------------------------------------------------- */

static enum job_result answer(void *arg)
{
	struct fabric *f = arg;
	struct progress *p = &f->progress;

	if (p->wrote || !p->settled_us)
		p->settled_us = loop_now_us(f->loop);
	p->due = p->wrote = p->retrying = false;
	if (!p->unread) {
		if (f->progress.state !=
		    FABRIC_REFUSED) /* by an update since then: that is still so */
			f->progress.state = FABRIC_UP;

		if (!f->progress.up_us) {
			const struct topo *t = f->now.topo;
			unsigned links = topo_links(t);

			event_log_add(f->events, LOG_NOTICE, "up", NULL, NULL,
				      "fabric: up: %u %s, %u %s, %u %s (%u down), %" PRIu64
				      " SMPs, %.0f ms",
				      t->nswitches,
				      words_plural(t->nswitches, "switch", "switches"), t->ncas,
				      words_plural(t->ncas, "HCA", "HCAs"), links,
				      words_plural(links, "link", "links"), topo_links_down(t),
				      mad_stats(f->mad).sent,
				      (loop_now_us(f->loop) - f->progress.begun_us) / 1e3);

			f->progress.up_us = loop_now_us(f->loop);
		}
	}
	fabric_links_follow(f);
	MODULES_CALL(f->kept.modules, settled, FABRIC_SETTLED);
	operations_answer(f->clients.operations, NULL, false);
	fabric_poll_recheck(f);
	fabric_warn(f);
	return JOB_NEXT;
}

static enum job_result settled_later(void *arg)
{
	struct fabric *f = arg;

	MODULES_CALL(f->kept.modules, settled, FABRIC_SETTLED_LATER);
	operations_answer(f->clients.operations, NULL, true);
	return JOB_NEXT;
}

static enum job_result tidy(void *arg)
{
	fabric_update_tidy(arg);
	return JOB_NEXT;
}

static enum job_result reserve(void *arg)
{
	struct fabric *f = arg;

	if (fabric_update_reserve(f))
		return JOB_MORE;
	job_stop(f->settle->job);
	f->settle->ended(f);
	return JOB_END;
}

/* ---- The table ------------------------------------------------------------------------------- */

static const struct job_step steps[FABRIC_STEPS_MAX] = {
	{ "settle-collect", collect }, { "settle-snapshot", make_snapshot },
	{ "settle-compare", compare }, { "settle-show", show },
	{ "settle-answer", answer },   { "settle-remember", settled_later },
	{ "settle-tidy", tidy },       { "settle-room", reserve },
};

/*
 * Begins, if it is due, all that was begun has ended, and no update is being computed or needed for
 * links.
 */
void fabric_settle(void *fabric)
{
	struct fabric *f = fabric;
	const struct progress *p = &f->progress;

	if (!p->due || p->programming || p->bringing_up || fabric_updating(f) ||
	    job_steps(f->settle->job) || fabric_links_follow(f))
		return;
	job_start(f->settle->job, steps, f->settle->spent_us);
}

void fabric_settle_stop(struct fabric *f)
{
	struct settle *s = f->settle;

	job_stop(s->job);
	fabric_snapshot_drop(&s->draft);
	topo_unref(s->now);
	s->now = NULL;
}

const char *fabric_settle_step(const struct fabric *f)
{
	return job_step_name(f->settle->job);
}

json_t *fabric_settle_stages(const struct fabric *f)
{
	return job_stages_json(steps, f->settle->spent_us);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void fabric_settle_init(struct fabric *f, loop_fn *ended)
{
	f->settle = mem_new(f->settle);
	*f->settle = (struct settle){ .ended = ended, .job = job_new(f->loop, f) };
}

void fabric_settle_fini(struct fabric *f)
{
	fabric_settle_stop(f);
	job_free(f->settle->job);
	free(f->settle);
}
