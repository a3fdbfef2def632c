/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_rebalance: after a fault the tables change as little as can be, and what was displaced may
 * crowd somewhere. When the fabric has then been quiet for rebalance_hold, a pass over the
 * published snapshot (routing/balance/rebalance.h) finds entries to move for less load, and an update of
 * its own brings them about: proven, programmed and told like any other.
 *
 * Overrides in force are kept by switch GUID. Later updates take them wherever they still lead on a
 * shortest legal path, so that the next fault changes no more than it must; the pass that follows
 * starts from the snapshot alone and replaces them all. So the same damage ends in the same tables,
 * whatever came before. A whole fabric of even design has no overrides, at once; where the design is
 * uneven, a pass follows the first tables, and a fault leaves what it found in force.
 *
 * They outlive a restart in state_dir/overrides (overrides.c).
 * What the proof refuses is not asked for again: the next pass that comes to it ends there.
 *
 * What an update publishes ends a pass that is under way, and drops an answer that was not taken
 * yet: they are of a past snapshot.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/own.h"
#include "topology/mem.h"

#define PASS_UNITS 20000 /* a few milliseconds */

static bool wanted(const struct fabric *f)
{
	return f->conf.rebalance && f->conf.rebalance_hold_ms;
}

/* ---- Overrides in force -------------------------------------------------------------------------- */

/* Takes the list. */
static void keep(struct fabric_rebalance *r, struct kept_override *list, uint32_t count)
{
	free(r->kept);
	r->kept = list;
	r->nkept = count;
}

/* Overrides may be of use: something is damaged, or the design is uneven. */
static bool may_help(const struct fabric_rebalance *r, const struct topo *t)
{
	return rebalance_is_damaged(t) || (r->told ? r->uneven : rebalance_is_uneven(t));
}

/* Both lists are in the order of GUIDs. */
uint32_t fabric_overrides(const struct fabric *f, const struct topo *t,
			  struct route_override **list)
{
	const struct fabric_rebalance *r = &f->rebalance;
	uint32_t sw = 0, n = 0;

	*list = NULL;
	if (!wanted(f) || !r->nkept || !may_help(r, t))
		return 0;
	*list = mem_alloc(r->nkept, sizeof(**list));
	for (uint32_t i = 0; i < r->nkept; i++) {
		while (sw < t->nswitches && t->nodes[sw].guid < r->kept[i].sw)
			sw++;
		if (sw < t->nswitches && t->nodes[sw].guid == r->kept[i].sw)
			(*list)[n++] =
				(struct route_override){ sw, r->kept[i].lid, r->kept[i].port };
	}
	return n;
}

/* ---- The pass ------------------------------------------------------------------------------------ */

static enum job_said begin(void *arg)
{
	struct fabric *f = arg;
	struct fabric_rebalance *r = &f->rebalance;
	const struct rebalance_limits limits = { f->conf.rebalance,
						 (unsigned)f->conf.rebalance_gain };

	r->topo = topo_ref(f->topo);
	r->policy = fabric_policy(f, f->topo, NULL);
	struct route_params params = fabric_route_params(f, &r->policy);

	params.engine = f->routed.engine;
	params.overrides = NULL; /* a pass starts from the snapshot alone */
	params.noverrides = 0;
	r->pass = rebalance_new(r->topo, f->lids, &params, &limits);
	return JOB_NEXT;
}

static enum job_said pass(void *arg)
{
	struct fabric *f = arg;

	return rebalance_step(f->rebalance.pass, PASS_UNITS) ? JOB_NEXT : JOB_MORE;
}

static bool same(const struct fabric_rebalance *r, const struct kept_override *list, uint32_t count)
{
	const struct rebalance_result *result = rebalance_result(r->pass);

	if (result->count != count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct route_override *o = &result->overrides[i];
		const struct kept_override *k = &list[i];

		if (k->sw != r->topo->nodes[o->sw].guid || k->lid != o->lid || k->port != o->port)
			return false;
	}
	return true;
}

static enum job_said conclude(void *arg)
{
	struct fabric *f = arg;
	struct fabric_rebalance *r = &f->rebalance;
	const struct rebalance_result *result = rebalance_result(r->pass);

	r->ready = !same(r, r->kept, r->nkept) && !(r->refused && same(r, r->refused, r->nrefused));
	r->due = r->ready;
	r->before = result->before;
	r->after = result->after;
	job_stop(r->job);
	if (r->ready)
		fabric_look(f); /* takes it, now or after what else there is */
	else
		fabric_rebalance_stop(f);
	return JOB_END;
}

static const struct job_step steps[FABRIC_STEPS_MAX] = {
	{ "rebalance-begin", begin },
	{ "rebalance", pass },
	{ "rebalance-conclude", conclude },
};

static void hold(struct fabric *f)
{
	loop_timer_set(f->rebalance.hold, (uint64_t)f->conf.rebalance_hold_ms * 1000);
}

static void quiet(void *arg)
{
	struct fabric *f = arg;
	struct fabric_rebalance *r = &f->rebalance;

	if (!wanted(f))
		return;
	if (!r->nkept && !may_help(r, f->topo)) {
		r->before = r->after = (struct rebalance_figures){ 0 };
		r->due = false;
		return;
	}
	if (f->settle.due || fabric_updates(f))
		hold(f);
	else
		job_start(f->rebalance.job, steps, NULL);
}

void fabric_rebalance_stop(struct fabric *f)
{
	struct fabric_rebalance *r = &f->rebalance;

	loop_timer_stop(r->hold);
	job_stop(r->job);
	rebalance_free(r->pass);
	r->pass = NULL;
	topo_unref(r->topo);
	r->topo = NULL;
	fabric_policy_fini(&r->policy);
	r->ready = false;
}

/* ---- Its update ---------------------------------------------------------------------------------- */

bool fabric_rebalance_apply(struct fabric *f)
{
	struct fabric_rebalance *r = &f->rebalance;

	if (!r->ready || fabric_updates(f))
		return false;
	const struct rebalance_result *result = rebalance_result(r->pass);
	struct kept_override *list = mem_alloc(result->count + 1, sizeof(*list));
	for (uint32_t i = 0; i < result->count; i++) {
		const struct route_override *o = &result->overrides[i];

		list[i] = (struct kept_override){ r->topo->nodes[o->sw].guid, o->lid, o->port };
	}
	free(r->replaced);
	r->replaced = r->kept;
	r->nreplaced = r->nkept;
	r->kept = list;
	r->nkept = result->count;
	r->applying = f->requests.forced = true;
	fabric_update(f);
	return true;
}

void fabric_rebalance_refused(struct fabric *f)
{
	struct fabric_rebalance *r = &f->rebalance;

	if (!r->applying)
		return;
	fabric_rebalance_stop(f);
	free(r->refused);
	r->refused = r->kept;
	r->nrefused = r->nkept;
	r->kept = r->replaced;
	r->nkept = r->nreplaced;
	r->replaced = NULL;
	r->applying = r->due = false;
	fabric_request_reroute(f, "overrides were refused");
}

void fabric_rebalance_published(struct fabric *f)
{
	struct fabric_rebalance *r = &f->rebalance;

	bool none = !wanted(f) || !may_help(r, f->topo); /* as the tables were computed */

	r->due = !r->applying;
	if (r->applying || (none && r->nkept))
		fabric_overrides_changed(f);
	if (none)
		keep(r, NULL, 0);
	r->uneven = route_is_uneven(f->route);
	r->told = true;
}

static json_t *load_json(const struct rebalance_figures *figures)
{
	return json_pack("{sf sf sf}", "shift", figures->shift, "rail_shift", figures->rail_shift,
			 "all_to_all_ratio", figures->all_to_all);
}

static void tell(struct fabric *f)
{
	const struct fabric_rebalance *r = &f->rebalance;
	uint64_t entries = f->figures.programmed.entries;

	event_log_add(f->events, LOG_NOTICE, "rebalanced",
		      json_pack("{sI si so so}", "entries", (json_int_t)entries, "overrides",
				(int)r->nkept, "before", load_json(&r->before), "after",
				load_json(&r->after)),
		      "fabric: rebalanced, %llu entries moved: worst link in shifts %.2f -> %.2f "
		      "flows, within rails %.2f -> %.2f, all-to-all %.2f -> %.2f of the mean",
		      (unsigned long long)entries, r->before.shift, r->after.shift,
		      r->before.rail_shift, r->after.rail_shift, r->before.all_to_all,
		      r->after.all_to_all);
}

void fabric_rebalance_settled(struct fabric *f)
{
	struct fabric_rebalance *r = &f->rebalance;

	if (r->applying)
		tell(f);
	r->applying = false;
	if (r->due && wanted(f) && !job_steps(r->job) && !r->ready)
		hold(f);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

static const char *state_of(const struct fabric *f)
{
	const struct fabric_rebalance *r = &f->rebalance;

	if (!wanted(f))
		return "off";
	if (job_steps(r->job))
		return "working";
	return r->due || r->applying ? "waiting" : "done";
}

json_t *fabric_rebalance_json(const struct fabric *f)
{
	const struct fabric_rebalance *r = &f->rebalance;

	return json_pack("{ss si so so}", "state", state_of(f), "overrides", (int)r->nkept,
			 "before", load_json(&r->before), "after", load_json(&r->after));
}

void fabric_rebalance_init(struct fabric *f)
{
	f->rebalance.job = job_new(f->loop, f);
	job_give_way(f->rebalance.job);
	f->rebalance.hold = loop_timer_new(f->loop, quiet, f);
}

void fabric_rebalance_fini(struct fabric *f)
{
	fabric_rebalance_stop(f);
	job_free(f->rebalance.job);
	loop_timer_free(f->rebalance.hold);
	free(f->rebalance.kept);
	free(f->rebalance.replaced);
	free(f->rebalance.refused);
}
