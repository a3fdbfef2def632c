/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: after a fault the tables change as little as possible, and displaced flows may
 * concentrate on some links. When the fabric has then been idle for rebalance_hold, a pass over the
 * published snapshot (routing/balance/rebalance.h) finds entries to move for less load, and an
 * update of its own applies them: proven, programmed and logged like any other.
 *
 * Overrides in force are kept by switch GUID. Later updates use them wherever they still are on a
 * shortest legal path, so that the next fault changes no more than it must; the pass that follows
 * starts from the snapshot alone and replaces them all. So the same damage ends in the same tables,
 * whatever came before. An intact fabric of even design loses its overrides at once; where the
 * design is uneven, a pass follows the first tables, and a fault leaves its overrides in force.
 *
 * They outlive a restart in state_dir/overrides: the first tables have them again, and the pass
 * that follows finds the same ones, or better. What the proof refuses is not asked for again: the
 * next pass that comes to it ends there.
 *
 * A publication ends a pass that is under way, and drops an answer that was not taken yet: they are
 * of a past snapshot.
 */
#include "fm/rebalance/module.h"
#include <stdlib.h>
#include "topology/base/text.h"
#include "fm/loop/job.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/rebalance/overrides.h"
#include "topology/base/mem.h"

#define PASS_UNITS 20000 /* a few milliseconds */

struct room {
	struct fabric *fabric;
	struct fabric_services services;
	struct loop_timer *hold; /* armed: settled, and not quiet for long enough yet */
	struct job *job;
	struct rebalance *pass; /* under way.. */
	struct topo *topo;	/* ..over this snapshot.. */
	struct fabric_policy policy;
	bool due;   /* something else than a pass's own answer was published since the last one */
	bool ready; /* `found` differs from what is in force, and waits for its update.. */
	bool applying;					 /* ..which is under way */
	bool published;					 /* something is.. */
	bool uneven;					 /* ..and its design is */
	struct overrides found, kept, replaced, refused; /* kept: in force; replaced: were before */
	struct rebalance_figures before, after;		 /* of the latest pass */
};

static bool is_on(const struct room *r)
{
	return r->services.conf->rebalance.entries && r->services.conf->rebalance.hold_ms;
}

/* ---- Overrides in force ---------------------------------------------------------------------- */

static unsigned read_overrides(void *arg, FILE *in)
{
	struct room *r = arg;

	return overrides_read(&r->kept, in);
}

static void forget_overrides(void *arg)
{
	struct room *r = arg;

	overrides_fini(&r->kept);
}

static void write_overrides(const void *arg, FILE *out)
{
	const struct room *r = arg;

	overrides_write(&r->kept, out);
}

static const struct state_file overrides_file = {
	.name = "overrides",
	.small = true,
	.form = "`GUID LID PORT`, by GUID and LID, or too many",
	.read = read_overrides,
	.forget = forget_overrides,
	.write = write_overrides,
};

static void load(void *room, enum fabric_load_step step)
{
	struct room *r = room;

	if (step == FABRIC_LOAD)
		state_store_read(r->services.state, &overrides_file, r);
}

/* Something is damaged, or the design is uneven. */
static bool may_help(const struct room *r, const struct topo *t)
{
	return rebalance_is_damaged(t) || (r->published ? r->uneven : rebalance_is_uneven(t));
}

static void route_input(const void *room, const struct topo *next, struct fabric_policy *policy)
{
	const struct room *r = room;

	if (is_on(r) && r->kept.count && may_help(r, next))
		policy->noverrides = overrides_resolve(&r->kept, next, &policy->overrides);
}

/* ---- The pass -------------------------------------------------------------------------------- */

/* What is left of it is of no use. */
static void stop(struct room *r)
{
	loop_timer_stop(r->hold);
	job_stop(r->job);
	rebalance_free(r->pass);
	r->pass = NULL;
	topo_unref(r->topo);
	r->topo = NULL;
	fabric_policy_fini(&r->policy);
	overrides_fini(&r->found);
	r->ready = false;
}

static enum job_result begin(void *arg)
{
	struct room *r = arg;
	const struct conf_rebalance *conf = &r->services.conf->rebalance;
	const struct rebalance_limits limits = { conf->entries, (unsigned)conf->gain };
	const struct fabric_view view = fabric_view(r->fabric);

	r->topo = topo_ref(view.topo);
	r->policy = fabric_policy(r->fabric, view.topo, &rebalance_module);
	const struct route_params params = { .engine = view.engine,
					     .classes = r->policy.classes,
					     .weights = r->policy.weights };

	r->pass = rebalance_new(r->topo, view.lids, &params, &limits);
	return JOB_NEXT;
}

static enum job_result pass(void *arg)
{
	struct room *r = arg;

	return rebalance_step(r->pass, PASS_UNITS) ? JOB_NEXT : JOB_MORE;
}

static enum job_result conclude(void *arg)
{
	struct room *r = arg;
	const struct rebalance_result *result = rebalance_result(r->pass);
	struct overrides found = overrides_found(result, r->topo);

	r->before = result->before;
	r->after = result->after;
	stop(r);
	r->found = found;
	r->ready = !overrides_equal(&found, &r->kept) &&
		   !(r->refused.entries && overrides_equal(&found, &r->refused));
	r->due = r->ready;
	if (r->ready)
		fabric_request_improvement(r->fabric, "load can be spread better");
	return JOB_END;
}

static const struct job_step steps[] = {
	{ "rebalance-begin", begin },
	{ "rebalance", pass },
	{ "rebalance-conclude", conclude },
	{ NULL, NULL },
};

static void hold(struct room *r)
{
	loop_timer_set(r->hold, (uint64_t)r->services.conf->rebalance.hold_ms * 1000);
}

static void quiet(void *arg)
{
	struct room *r = arg;

	if (!is_on(r))
		return;
	if (!r->kept.count && !may_help(r, fabric_view(r->fabric).topo)) {
		r->before = r->after = (struct rebalance_figures){ 0 };
		r->due = false;
		return;
	}
	if (fabric_is_settled(r->fabric))
		job_start(r->job, steps, NULL);
	else
		hold(r);
}

/* ---- Its update ------------------------------------------------------------------------------ */

static bool improves(void *room)
{
	struct room *r = room;

	if (!r->ready)
		return false;
	overrides_fini(&r->replaced);
	r->replaced = r->kept;
	r->kept = r->found;
	r->found = (struct overrides){ 0 };
	r->ready = false;
	r->applying = true;
	return true;
}

static void take_back(struct room *r)
{
	if (!r->applying)
		return;
	stop(r);
	overrides_fini(&r->refused);
	r->refused = r->kept;
	r->kept = r->replaced;
	r->replaced = (struct overrides){ 0 };
	r->applying = r->due = false;
	fabric_request_reroute(r->fabric, "overrides were refused");
}

static void take_published(struct room *r)
{
	const struct fabric_view view = fabric_view(r->fabric);
	bool none = !is_on(r) || !may_help(r, view.topo); /* as the tables were computed */

	stop(r);
	r->due = !r->applying;
	if (r->applying || (none && r->kept.count))
		state_store_changed(r->services.state, &overrides_file, r);
	if (none)
		overrides_fini(&r->kept);
	r->uneven = view.uneven;
	r->published = true;
}

static json_t *load_json(const struct rebalance_figures *figures)
{
	return json_pack("{sf sf sf}", "shift", figures->shift, "rail_shift", figures->rail_shift,
			 "all_to_all_ratio", figures->all_to_all);
}

static void report(const struct room *r)
{
	uint64_t entries = fabric_written(r->fabric).entries;

	event_log_add(r->services.events, LOG_NOTICE, "rebalanced", NULL,
		      json_pack("{sI si so so}", "entries", (json_int_t)entries, "overrides",
				(int)r->kept.count, "before", load_json(&r->before), "after",
				load_json(&r->after)),
		      "fabric: rebalanced, %llu %s moved: worst link in shifts %.2f -> %.2f "
		      "flows, within rails %.2f -> %.2f, all-to-all %.2f -> %.2f of the mean",
		      (unsigned long long)entries, words_plural(entries, "entry", "entries"),
		      r->before.shift, r->after.shift, r->before.rail_shift, r->after.rail_shift,
		      r->before.all_to_all, r->after.all_to_all);
}

static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	if (step == FABRIC_PUBLISHED)
		take_published(room);
	else if (step == FABRIC_TABLES_REFUSED)
		take_back(room);
}

static void settled(void *room, enum fabric_settle_step step)
{
	struct room *r = room;

	if (step != FABRIC_SETTLED)
		return;
	if (r->applying)
		report(r);
	r->applying = false;
	if (r->due && is_on(r) && !job_steps(r->job) && !r->ready)
		hold(r);
}

static const char *state_of(const struct room *r)
{
	if (!is_on(r))
		return "off";
	if (job_steps(r->job))
		return "working";
	return r->due || r->applying ? "waiting" : "done";
}

static void status(const void *room, json_t *doc)
{
	const struct room *r = room;

	json_object_set_new(doc, "rebalance",
			    json_pack("{ss si so so}", "state", state_of(r), "overrides",
				      (int)r->kept.count, "before", load_json(&r->before), "after",
				      load_json(&r->after)));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct room *r = mem_alloc(1, sizeof(*r));

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	r->job = job_new(r->services.loop, r);
	job_yield(r->job);
	r->hold = loop_timer_new(r->services.loop, quiet, r);
	return r;
}

static void fini(void *room)
{
	struct room *r = room;

	stop(r);
	job_free(r->job);
	loop_timer_free(r->hold);
	overrides_fini(&r->kept);
	overrides_fini(&r->replaced);
	overrides_fini(&r->refused);
	free(r);
}

const struct fabric_module rebalance_module = { .name = "rebalance",
						.init = init,
						.fini = fini,
						.load = load,
						.route_input = route_input,
						.improves = improves,
						.settled = settled,
						.status = status,
						.published = published };
