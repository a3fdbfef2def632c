/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_update: from the inventory to what is published, step by step (fm/core/job.h):
 *
 *   collect    the operations that it will answer, the cordons; what the inventory holds   (at one stroke)
 *   snapshot   levels, rails, names
 *   changes    against what is published: told; a look that found nothing ends here
 *   lids, room
 *   route      in as many steps as it takes
 *   proof      in three steps; refused tables end it there, and what is published stays in force
 *   publish    snapshot, LIDs and tables at one stroke, and with them the SA's view; blocks that differ go to the
 *              switches, ports and links are brought up                              (program, bringup)
 *
 * Between two steps anything may happen, for only publish touches what others see. Whoever wants something meanwhile is
 * served by the next update: suspects are looked at at once, and when that look ends first, one more update is wanted;
 * operations wait for it; a new configuration is read by the steps that are still to come and asks for one more as well.
 *
 * A newer update may be published while an older one is still being programmed: program and bringup go on from what was
 * acknowledged. Tables in the making have memory of their own, and change places with the published ones.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fm/fabric/own.h"
#include "routing/report/report.h"
#include "topology/mem.h"

/* ---- Snapshot ------------------------------------------------------------------------------------ */

static enum job_said collect(void *arg)
{
	struct fabric *f = arg;

	operations_take(f->operations, fabric_sweeping(f));
	f->update.draft = fabric_draft(f);
	return JOB_NEXT;
}

static enum job_said make_snapshot(void *arg)
{
	struct fabric_update *u = &((struct fabric *)arg)->update;

	u->topo = fabric_draft_freeze(&u->draft);
	u->shapes = u->draft.shapes;
	u->links = u->draft.links;
	return JOB_NEXT;
}

/* The tables' memory is kept: its first touch takes longer than to fill it. */
static void forget(struct fabric_update *u)
{
	fabric_draft_fini(&u->draft);
	topo_unref(u->topo);
	lid_map_free(u->lids);
	free(u->spanning);
	u->spanning = NULL;
	u->topo = NULL;
	u->lids = NULL;
}

static enum job_said end_here(struct fabric *f)
{
	forget(&f->update);
	job_stop(f->update.job);
	fabric_watch_doubt(f);
	fabric_links_follow(f);
	fabric_look(f);
	return JOB_END;
}

/* The fabric is not ours to manage. */
static enum job_said leave_alone(struct fabric *f, const char *why)
{
	f->state = FABRIC_REFUSED;
	operations_answer(f->operations, why);
	return end_here(f);
}

/* Tables are the same: what ports say is shown, and what is to be set there is set. */
static enum job_said bring_up(struct fabric *f)
{
	struct topo *older = f->topo;

	f->topo = f->update.topo;
	f->shapes = f->update.shapes;
	f->links = f->update.links;
	f->update.topo = NULL;
	f->bringing_up = f->settle.due = true;
	if (f->settle.told_up)
		f->state = FABRIC_CHANGING;
	modules_shown(f->modules, older);
	fabric_mcast_shown(f, older);
	topo_unref(older);
	bringup_apply(f->bringup, f->topo, f->lids, f->sm_lid, fabric_brought_up, f);
	return end_here(f);
}

static enum job_said tell_changes(void *arg)
{
	struct fabric *f = arg;

	enum fabric_change change;
	const char *why;

	why = modules_admit(f->modules, f->update.topo);
	if (why)
		return leave_alone(f, why);
	change = f->topo ? fabric_note_changes(f, f->topo, f->update.topo) : FABRIC_CHANGED;
	if (change == FABRIC_CHANGED || f->requests.forced || f->requests.retry ||
	    operations_taken(f->operations)) {
		f->requests.forced = false;
		return JOB_NEXT;
	}
	if (change == FABRIC_STATES)
		return bring_up(f);
	fabric_fault_none(f);
	modules_unchanged(f->modules);
	return end_here(f);
}

/* ---- LIDs, tables, proof ------------------------------------------------------------------------- */

/* All who have one keep it: they are remembered, and nobody has come. */
static bool same_lids(const struct fabric *f)
{
	return f->topo && topo_is_again(f->topo, f->update.topo) &&
	       f->lids->lmc == f->conf.routing.lmc && !f->lids->without_lid;
}

static enum job_said plan_lids(void *arg)
{
	struct fabric *f = arg;
	struct fabric_update *u = &f->update;

	if (fabric_took_over(f) && !f->topo)
		lid_memory_yield(&f->memory, u->topo);
	u->lids = same_lids(f) ? lid_map_copy(f->lids)
			       : lid_plan_lmc(u->topo, &f->memory, f->conf.routing.lmc);
	if (same_lids(f))
		return JOB_NEXT;
	if (lid_memory_learn(&f->memory, u->topo, u->lids, time(NULL)))
		modules_lids_changed(f->modules);
	if (u->lids->taken_back)
		event_log_add(f->events, LOG_WARNING, "lids-taken-back",
			      json_pack("{si}", "ports", (int)u->lids->taken_back),
			      "fabric: no LID was left: those of %u ports that are away, the "
			      "longest first, are given to others",
			      u->lids->taken_back);
	if (u->lids->without_lid)
		event_log_add(f->events, LOG_ERR, "lids-exhausted", NULL,
			      "fabric: %u ports have no LID: the space is full",
			      u->lids->without_lid);
	return JOB_NEXT;
}

/* The configuration was validated: the engine exists. */
static void must_be_done(int status)
{
	if (status)
		abort();
}

static void note_engine(const struct route *route, const struct topo *t, struct fabric_tried *out)
{
	const struct route_outcome *outcome = route_outcome(route);

	out->engine = outcome->engine;
	out->damaged = outcome->why == ROUTE_PAIRS_OPEN;
	out->uneven = route_is_uneven(route);
	route_explain(route, t, out->why, sizeof(out->why));
}

static void keep_spanning(struct fabric_update *u, const struct route *route)
{
	const bool *spanning = route_spanning(route);

	free(u->spanning);
	u->spanning = NULL;
	if (!spanning)
		return;
	u->spanning = mem_alloc(u->topo->nports, sizeof(*spanning));
	memcpy(u->spanning, spanning, u->topo->nports * sizeof(*spanning));
}

void fabric_try(const struct fabric *f, const struct topo *variant,
		const struct fabric_policy *policy, struct tables *out, struct fabric_tried *tried)
{
	struct route_params params = fabric_route_params(f, policy);
	struct route *route = route_new();

	must_be_done(route_compute(route, variant, f->lids, &params, out));
	note_engine(route, variant, tried);
	route_free(route);
}

/* True: there is more to do. */
static bool make_room(struct fabric_update *u, uint32_t nswitches, uint16_t top)
{
	size_t bytes = u->tables.capacity;

	tables_resize(&u->tables, nswitches, top);
	if (u->tables.capacity != bytes || u->room > bytes)
		u->room = 0;
	return tables_make_room(&u->tables, &u->room);
}

/* While nobody waits. */
bool fabric_update_room(struct fabric *f)
{
	return make_room(&f->update, f->tables.nswitches, f->tables.top);
}

/* An update in the making has had the faults; that one's own files bring it about again. */
static enum job_said touch(void *arg)
{
	struct fabric *f = arg;
	struct fabric_update *u = &f->update;

	if (!fabric_updates(f) &&
	    (tables_touch(&u->tables, &u->touched_next) || tables_touch(&f->tables, &u->touched)))
		return JOB_MORE;
	job_stop(u->touching);
	return JOB_END;
}

void fabric_update_unshare(struct fabric *f)
{
	static const struct job_step touch_steps[] = { { "room-unshared", touch }, { NULL, NULL } };

	f->update.touched = f->update.touched_next = 0;
	job_start(f->update.touching, touch_steps, NULL);
}

/* .. which did not happen yet at the first one, or the fabric grew. Cordons take other tables beside these. */
static enum job_said find_room(void *arg)
{
	struct fabric *f = arg;
	struct fabric_update *u = &f->update;

	if (make_room(u, u->topo->nswitches, u->lids->top) ||
	    (u->topo->ncordoned && route_make_room(f->route, u->topo->nswitches, u->lids->top)))
		return JOB_MORE;
	return JOB_NEXT;
}

static void begin_routing(struct fabric *f)
{
	struct fabric_update *u = &f->update;
	u->policy = fabric_policy(f, u->topo, NULL);
	struct route_params params = fabric_route_params(f, &u->policy);

	route_begin(f->route, u->topo, u->lids, &params, &u->tables);
	u->routing = true;
}

static void end_routing(struct fabric_update *u)
{
	fabric_policy_fini(&u->policy);
	u->routing = false;
}

static enum job_said compute_tables(void *arg)
{
	struct fabric *f = arg;

	if (!f->update.routing)
		begin_routing(f);
	if (route_go(f->route))
		return JOB_MORE;
	must_be_done(route_end(f->route));
	end_routing(&f->update);
	note_engine(f->route, f->update.topo, &f->update.routed);
	keep_spanning(&f->update, f->route);
	return JOB_NEXT;
}

static void refuse(struct fabric *f, const struct check_report *report)
{
	event_log_add(f->events, LOG_ERR, "refused", report_proof(report),
		      "fabric: new tables refused, the old ones stay in force: %s", report->first);
	forget(&f->update);
	f->state = FABRIC_REFUSED;
	modules_refused(f->modules);
	operations_rollback(f->operations);
	operations_answer(f->operations, "new tables were refused; see fmctl events");
	job_stop(f->update.job);
	fabric_links_follow(f);
	fabric_look(f);
}

static enum job_said begin_proof(void *arg)
{
	struct fabric *f = arg;
	struct fabric_update *u = &f->update;

	fabric_mcast_keep_proof(f);
	modules_proving(f->modules);
	check_change_begin(f->proof_base, u->topo, u->lids, &u->tables);
	return JOB_NEXT;
}

static enum job_said prove(void *arg)
{
	struct fabric *f = arg;

	return check_change_go(f->proof_base) ? JOB_MORE : JOB_NEXT;
}

static enum job_said judge(void *arg)
{
	struct fabric *f = arg;
	struct check_report report;
	bool sound = check_change_end(f->proof_base, &report);

	f->figures.check_whole = check_change_last(f->proof_base).whole;
	if (!sound) {
		refuse(f, &report);
		return JOB_END;
	}
	f->proof = report;
	if (report.unreachable)
		event_log_add(f->events, LOG_WARNING, "unreachable", report_proof(&report),
			      "fabric: %llu pairs of hosts have cables and no legal path: %s",
			      (unsigned long long)report.unreachable, report.first);
	return JOB_NEXT;
}

/* For as long as it lasts. */
static void tell_unreachable(struct fabric *f)
{
	if (f->proof.unreachable)
		alert_raise(f->alerts, "unreachable", "",
			    "%llu pairs of hosts have cables and no path: %s",
			    (unsigned long long)f->proof.unreachable, f->proof.first);
	else
		alert_end(f->alerts, "unreachable", "");
}

/* Another engine makes the tables from now on: of the first ones this is told only where it is not the one configured. */
static void tell_engine(struct fabric *f)
{
	const struct fabric_tried *now = &f->update.routed;
	const char *before =
		f->routed.engine ? f->routed.engine : route_engine_name(f->conf.routing.engine);

	if (strcmp(before, now->engine) || strcmp(f->routed.why, now->why))
		event_log_add(f->events, now->damaged ? LOG_WARNING : LOG_NOTICE, "engine",
			      json_pack("{ss ss ss}", "engine", now->engine, "before", before,
					"why", now->why),
			      "fabric: routed by %s%s%s", now->engine, now->why[0] ? ": " : "",
			      now->why);
	if (now->damaged)
		alert_raise(f->alerts, "left-the-tree", "", "routed by %s: %s", now->engine,
			    now->why);
	else
		alert_end(f->alerts, "left-the-tree", "");
	f->routed = *now;
}

/* ---- Publish ------------------------------------------------------------------------------------- */

static uint16_t own_lid(const struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);
	uint32_t node = inv->local ? topo_find(f->topo, inv->local->guid) : TOPO_NONE;

	if (node == TOPO_NONE)
		return 0;
	return f->lids->lid_of_port[f->topo->nodes[node].port0 +
				    (inv_is_switch(inv->local) ? 0 : inv->local_port)];
}

/* What was published is now what is to be forgotten. */
static void exchange(struct fabric *f)
{
	struct fabric_update older = {
		.topo = f->topo, .lids = f->lids, .tables = f->tables, .spanning = f->spanning
	};

	f->topo = f->update.topo;
	f->shapes = f->update.shapes;
	f->links = f->update.links;
	f->lids = f->update.lids;
	f->tables = f->update.tables;
	f->spanning = f->update.spanning;
	f->update.topo = older.topo;
	f->update.lids = older.lids;
	f->update.tables = older.tables;
	f->update.spanning = older.spanning;
	f->update.room = older.tables.capacity;
}

/* Before the first bring-up, if what hosts asked for is not known. */
static void serve_reregister(struct fabric *f)
{
	if (f->requests.reregister)
		bringup_reregister(f->bringup);
	f->requests.reregister = false;
}

/* Ports wait for what is to be written to tables, but no longer than that: it may be much, or its switch silent. */
#define BEHIND_TABLES_US 20000

static void apply(struct fabric *f)
{
	f->sm_lid = own_lid(f);
	sweep_inventory(f->sweep)->sm_lid = f->sm_lid;
	fabric_take_in(f);
	f->programming = f->bringing_up = f->settle.due = true;
	f->retrying = f->requests.retry;
	f->requests.retry = f->reading = false;
	f->state = f->settle.told_up ? FABRIC_CHANGING : FABRIC_BRINGUP;
	modules_published(f->modules, f->update.topo);
	fabric_fault_published(f);
	fabric_mcast_published(f, f->update.topo);
	fabric_adaptive_program(f);
	serve_reregister(f);
	bringup_apply(f->bringup, f->topo, f->lids, f->sm_lid, fabric_brought_up, f);
	if (f->settle.told_up)
		bringup_wait(f->bringup, BEHIND_TABLES_US);
}

enum {
	COLLECT,
	SNAPSHOT,
	CHANGES,
	LIDS,
	ROOM,
	ROUTE,
	PROOF_BASE,
	PROOF,
	JUDGEMENT,
	PUBLISH,
	STEPS
};

/* Those of tables that were computed: a look that finds nothing computes none. */
static void keep_times(struct fabric *f)
{
	const uint64_t *spent = f->update.spent_us;

	f->figures.route_ms = spent[ROUTE] / 1e3;
	f->figures.check_ms = (spent[PROOF_BASE] + spent[PROOF] + spent[JUDGEMENT]) / 1e3;
}

static enum job_said publish(void *arg)
{
	struct fabric *f = arg;

	keep_times(f);
	tell_engine(f);
	tell_unreachable(f);
	exchange(f);
	fabric_links_published(f, f->update.topo);
	modules_publishing(f->modules, f->update.topo);
	apply(f);
	forget(&f->update);
	job_stop(f->update.job);
	fabric_look(f);
	return JOB_END;
}

/* ---- The table ----------------------------------------------------------------------------------- */

static const struct job_step steps[FABRIC_STEPS_MAX] = {
	[COLLECT] = { "collect", collect },
	[SNAPSHOT] = { "snapshot", make_snapshot },
	[CHANGES] = { "changes", tell_changes },
	[LIDS] = { "lids", plan_lids },
	[ROOM] = { "room", find_room },
	[ROUTE] = { "route", compute_tables },
	[PROOF_BASE] = { "proof-base", begin_proof },
	[PROOF] = { "proof", prove },
	[JUDGEMENT] = { "judgement", judge },
	[PUBLISH] = { "publish", publish },
	[STEPS] = { NULL, NULL },
};

/* What it finds settled is older than itself. */
void fabric_update(struct fabric *f)
{
	fabric_settle_stop(f);
	fabric_adaptive_ask(f);
	job_start(f->update.job, steps, f->update.spent_us);
}

json_t *fabric_update_stages(const struct fabric *f)
{
	return fabric_report_stages(steps, f->update.spent_us);
}

void fabric_update_init(struct fabric *f)
{
	f->update.job = job_new(f->loop, f);
	f->update.touching = job_new(f->loop, f);
	job_give_way(f->update.touching);
}

void fabric_update_fini(struct fabric *f)
{
	job_free(f->update.job);
	job_free(f->update.touching);
	if (f->update.routing) {
		route_abandon(f->route);
		end_routing(&f->update);
	}
	forget(&f->update);
	tables_fini(&f->update.tables);
}
