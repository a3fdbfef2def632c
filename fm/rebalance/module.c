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
#include <inttypes.h>
#include "fm/loop/job.h"
#include "fm/rebalance/module.h"
#include "routing/balance/rebalance.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* Entries that re-balancing moved, by GUIDs that outlive snapshots. */

struct override {
	guid_t sw;
	uint16_t lid;
	uint8_t port;
};

/* Sorted by GUID and LID. All zero = none; overrides_fini() frees them. */
struct overrides {
	struct override *entries;
	uint32_t count;
};

/* Whether both have the same entries. */
static bool overrides_equal(const struct overrides *a, const struct overrides *b)
{
	for (uint32_t i = 0; i < a->count && a->count == b->count; i++) {
		const struct override *x = &a->entries[i], *y = &b->entries[i];

		if (x->sw != y->sw || x->lid != y->lid || x->port != y->port)
			return false;
	}
	return a->count == b->count;
}

static void overrides_fini(struct overrides *o)
{
	free(o->entries);
	*o = (struct overrides){ 0 };
}

#define PASS_UNITS 20000 /* a few milliseconds */

struct room {
	struct fabric *fabric;
	struct fabric_services services;
	struct loop_timer *hold; /* armed: settled, and not quiet for long enough yet */
	struct job *job;
	struct rebalance *pass; /* under way; it reads `topo` and `policy` */
	struct topo *topo;
	struct fabric_policy policy;
	bool due;   /* something else than a pass's own answer was published since the last one */
	bool ready; /* `found` differs from what is in force, and waits for its update */
	bool applying;					 /* the update with `found` is under way */
	bool published;					 /* some tables are */
	bool uneven;					 /* the design of the published fabric is */
	struct overrides found, kept, replaced, refused; /* kept: in force; replaced: were before */
	struct rebalance_figures before, after;		 /* of the latest pass */
};

static bool is_on(const struct room *r)
{
	return r->services.conf->rebalance.entries && r->services.conf->rebalance.hold_ms;
}

/* ---- Overrides in force ---------------------------------------------------------------------- */

/* Adds the line to what is kept. False: it is malformed, out of order, or one too many. */
static bool take_line(void *arg, const char *line)
{
	struct overrides *o = &((struct room *)arg)->kept;
	const struct override *last = o->count ? &o->entries[o->count - 1] : NULL;
	struct override it;
	unsigned lid, port;
	char rest;

	if (sscanf(line, "0x%" SCNx64 " %u %u %c", &it.sw, &lid, &port, &rest) != 3 || !it.sw ||
	    !lid || lid > TABLES_MAX_LID || !port || port >= TABLES_NO_ROUTE ||
	    o->count == REBALANCE_MOST ||
	    (last && (it.sw < last->sw || (it.sw == last->sw && lid <= last->lid))))
		return false;
	it.lid = lid;
	it.port = port;
	o->entries = mem_grow(o->entries, o->count);
	o->entries[o->count++] = it;
	return true;
}

static uint64_t write_overrides(const void *arg, uint64_t from, FILE *out)
{
	const struct overrides *o = &((const struct room *)arg)->kept;

	for (uint32_t i = from; i < o->count; i++) {
		if (i == from + STATE_LINES)
			return i;
		fprintf(out, "0x%016" PRIx64 " %u %u\n", o->entries[i].sw, o->entries[i].lid,
			o->entries[i].port);
	}
	return 0;
}

static const struct state_kind overrides_kind = {
	.name = "overrides",
	.form = "`GUID LID PORT`, by GUID and LID, or too many",
	.line = take_line,
	.write = write_overrides,
};

static void load(void *room, enum fabric_load_step step)
{
	struct room *r = room;

	if (step == FABRIC_LOAD)
		state_read(r->services.state, &overrides_kind, r);
}

/* Something is damaged, or the design is uneven. */
static bool may_help(const struct room *r, const struct topo *t)
{
	return rebalance_is_damaged(t) || (r->published ? r->uneven : rebalance_is_uneven(t));
}

static void route_input(const void *room, const struct topo *next, struct fabric_policy *policy)
{
	const struct room *r = room;
	uint32_t sw = 0;

	if (!is_on(r) || !r->kept.count || !may_help(r, next))
		return;
	policy->overrides = mem_array(policy->overrides, r->kept.count);
	policy->noverrides = 0;
	/* Both lists are in the order of GUIDs. Those whose switch the snapshot has count. */
	for (uint32_t i = 0; i < r->kept.count; i++) {
		const struct override *it = &r->kept.entries[i];

		while (sw < next->nswitches && next->nodes[sw].guid < it->sw)
			sw++;
		if (sw < next->nswitches && next->nodes[sw].guid == it->sw)
			policy->overrides[policy->noverrides++] =
				(struct route_override){ sw, it->lid, it->port };
	}
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
	const struct rebalance_limits limits = { conf->entries, conf->gain };
	const struct fabric_view view = fabric_view(r->fabric);

	r->topo = topo_ref(view.topo);
	r->policy = fabric_policy(r->fabric, view.topo, &rebalance_module);
	const struct route_params params = { .engine = view.engine,
					     .classes = r->policy.classes,
					     .even = fabric_even(r->fabric) };

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
	struct overrides found = { .entries = mem_array(found.entries, result->count + 1),
				   .count = result->count };

	for (uint32_t i = 0; i < result->count; i++) {
		const struct route_override *it = &result->overrides[i];

		found.entries[i] =
			(struct override){ r->topo->nodes[it->sw].guid, it->lid, it->port };
	}
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

static json_t *load_json(const struct rebalance_figures *figures)
{
	return json_pack("{sf sf sf}", "shift", figures->shift, "rail_shift", figures->rail_shift,
			 "all_to_all_ratio", figures->all_to_all);
}

static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	if (step == FABRIC_PUBLISHED) {
		struct room *r = room;
		const struct fabric_view view = fabric_view(r->fabric);
		bool none = !is_on(r) || !may_help(r, view.topo); /* as the tables were computed */

		stop(r);
		r->due = !r->applying;
		if (r->applying || (none && r->kept.count))
			state_changed(r->services.state, &overrides_kind, r);
		if (none)
			overrides_fini(&r->kept);
		r->uneven = view.uneven;
		r->published = true;
	} else if (step == FABRIC_TABLES_REFUSED) {
		struct room *r = room;

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
}

static void settled(void *room, enum fabric_settle_step step)
{
	struct room *r = room;
	uint64_t entries = fabric_written(r->fabric).entries;

	if (step != FABRIC_SETTLED)
		return;
	if (r->applying)
		event_log_add(
			r->services.events, LOG_NOTICE, "rebalanced", NULL,
			json_pack("{sI si so so}", "entries", (json_int_t)entries, "overrides",
				  r->kept.count, "before", load_json(&r->before), "after",
				  load_json(&r->after)),
			"fabric: rebalanced, %" PRIu64
			" %s moved: worst link in shifts %.2f -> %.2f "
			"flows, within rails %.2f -> %.2f, all-to-all %.2f -> %.2f of the mean",
			entries, words_plural(entries, "entry", "entries"), r->before.shift,
			r->after.shift, r->before.rail_shift, r->after.rail_shift,
			r->before.all_to_all, r->after.all_to_all);
	r->applying = false;
	if (r->due && is_on(r) && !job_steps(r->job) && !r->ready)
		hold(r);
}

static void status(const void *room, json_t *doc)
{
	const struct room *r = room;
	const char *state = r->due || r->applying ? "waiting" : "done";

	if (!is_on(r))
		state = "off";
	else if (job_steps(r->job))
		state = "working";
	json_object_set_new(doc, "rebalance",
			    json_pack("{ss si so so}", "state", state, "overrides", r->kept.count,
				      "before", load_json(&r->before), "after",
				      load_json(&r->after)));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct room *r = ROOM_NEW(r, fabric);

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
