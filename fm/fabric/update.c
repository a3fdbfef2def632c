/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * update: from the inventory to what is published, step by step (fm/loop/job.h):
 *
 *   collect    the operations that it will answer, the marks of rooms; what the inventory holds
 *              (atomically)
 *   snapshot   levels, rails, names
 *   changes    against what is published: logged; a sweep that found nothing ends here
 *   lids
 *   "room"     memory of the next tables is touched
 *   route      in as many steps as it takes
 *   proof      in three steps; refused tables end it there, and what is published stays in force
 *   publish    snapshot, LIDs and tables atomically; rooms are called, and it goes to the
 *              devices   (deploy.c)
 *
 * Between two steps anything may happen, for only publish touches what others see. What is wanted
 * meanwhile is served by the next update: dirty nodes are swept at once, and when that
 * sweep ends first, one more update is wanted; operations wait for it; a new configuration is read
 * by the steps that are still to come and asks for one more as well.
 *
 * A newer update may be published while an older one is still being programmed. Tables in the
 * making have memory of their own, and change places with the published ones.
 */
#include <inttypes.h>
#include <unistd.h>
#include "topology/base/text.h"
#include "fm/fabric/pipe.h"
#include "fm/fabric/view.h"
#include "routing/report/report.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

struct update {
	loop_fn *ended;
	struct job *job;
	struct snapshot_parts draft;
	struct publication next;     /* nobody sees it before it is published; then what was */
	struct check_base *proofs;   /* what the next proof can build upon */
	struct route *route;	     /* the engine; its answer goes into next.tables */
	struct fabric_policy policy; /* what routing goes by, while it does */
	bool routing;		     /* it does */
	bool hasty;		     /* no switch had tables, and they were not made even since */
	bool balancing;		     /* the update being computed is for that alone */
	size_t reserved;	     /* bytes of the next tables' memory that were touched */
	uint32_t rises;		     /* of the inventory, when a bring-up began last */
	uint64_t spent_us[FABRIC_STEPS_MAX]; /* of the loop's own time */
};

/* ---- Snapshot -------------------------------------------------------------------------------- */

static enum job_result collect(void *arg)
{
	struct fabric *f = arg;

	operations_take(f->clients.operations,
			f->requests.sweep || sweep_discovers(f->sweep) || fabric_observe_reads(f));
	f->update->draft = fabric_snapshot_collect(f);
	return JOB_NEXT;
}

static enum job_result make_snapshot(void *arg)
{
	struct fabric *f = arg;
	struct update *u = f->update;
	bool named = u->draft.builder != NULL;

	u->next.topo = fabric_snapshot_freeze(&u->draft);
	if (named)
		inventory_take_names(sweep_inventory(f->sweep), u->next.topo);
	u->next.shapes = u->draft.shapes;
	u->next.links = u->draft.links;
	return JOB_NEXT;
}

/* The tables' memory is kept: its first touch takes longer than to fill it. */
static void drop(struct update *u)
{
	fabric_snapshot_drop(&u->draft);
	topo_unref(u->next.topo);
	lid_map_free(u->next.lids);
	free(u->next.spanning);
	u->next.spanning = NULL;
	u->next.topo = NULL;
	u->next.lids = NULL;
}

static void end(struct fabric *f)
{
	f->progress.updating = f->update->balancing = false;
	job_stop(f->update->job);
}

static enum job_result end_here(struct fabric *f)
{
	drop(f->update);
	end(f);
	fabric_poll_recheck(f);
	fabric_links_follow(f);
	f->update->ended(f);
	return JOB_END;
}

static enum job_result log_changes(void *arg)
{
	struct fabric *f = arg;
	const struct topo *next = f->update->next.topo;
	const char *why = MODULES_FIRST(f->kept.modules, admit, next);

	if (why) {
		/* The fabric is not ours to manage. */
		f->progress.state = FABRIC_REFUSED;
		operations_answer(f->clients.operations, why, false);
		return end_here(f);
	}

	enum fabric_change change =
		f->now.topo ? fabric_log_changes(f, f->now.topo, next) : FABRIC_CHANGED;

	f->update->balancing &= change != FABRIC_CHANGED;
	if (change == FABRIC_CHANGED || f->requests.forced || f->requests.retry ||
	    operations_taken(f->clients.operations)) {
		f->requests.forced = false;
		return JOB_NEXT;
	}
	/*
	 * Links may have come up while all that ports say is the same: both ends were in Init
	 * before the node behind answered.
	 */
	if (change == FABRIC_STATES ||
	    f->update->rises != sweep_inventory(f->sweep)->turned.rises) {
		/*
		 * Tables are the same: what ports say is shown, and what is to be set there is set.
		 */
		struct publication *up_next = &f->update->next;
		struct topo *before = f->now.topo;

		f->now.topo = up_next->topo;
		f->now.shapes = up_next->shapes;
		f->now.links = up_next->links;
		up_next->topo = NULL;
		f->update->rises = sweep_inventory(f->sweep)->turned.rises;
		fabric_deploy_ports(f, before);
		topo_unref(before);
		return end_here(f);
	}
	fabric_fault_none(f, traps_pending_since(f->traps));
	MODULES_CALL(f->kept.modules, published, FABRIC_UNCHANGED, NULL);
	return end_here(f);
}

/* ---- LIDs ------------------------------------------------------------------------------------ */

static enum job_result plan_lids(void *arg)
{
	struct fabric *f = arg;
	struct publication *next = &f->update->next;

	if (fabric_observes(f)) {
		next->lids = lid_held(next->topo);
		return JOB_NEXT;
	}
	if (!f->now.topo) {
		const struct topo *t = next->topo;
		bool *kept = mem_array(kept, t->nports + 1u);
		const struct inv_node *is = NULL;

		for (uint32_t i = 0; i < t->nports; i++) {
			if (!i || t->ports[i].node != t->ports[i - 1].node)
				is = inventory_find(sweep_inventory(f->sweep),
						    t->nodes[t->ports[i].node].guid);
			kept[i] = is && t->ports[i].num <= is->nports &&
				  fabric_keeps_lid(f, is, t->ports[i].num);
		}
		lid_memory_yield(&f->memory, t, kept);
		free(kept);
	}
	f->memory.first = f->memory.last = 0;
	sscanf(f->conf.routing.lid_range, "%hu-%hu", &f->memory.first, &f->memory.last);
	/* All who have one keep it: they are remembered, and nobody has come. */
	if (f->now.topo && topo_is_again(f->now.topo, next->topo) &&
	    f->now.lids->lmc == f->conf.routing.lmc && !f->now.lids->without_lid) {
		next->lids = lid_map_copy(f->now.lids);
		return JOB_NEXT;
	}
	next->lids = lid_plan(next->topo, &f->memory, f->conf.routing.lmc);
	lid_memory_learn(&f->memory, next->topo, next->lids, time(NULL));

	const struct lid_map *lids = next->lids;

	if (lids->taken_back)
		event_log_add(f->events, LOG_WARNING, "lids-taken-back", NULL,
			      json_pack("{si}", "ports", lids->taken_back),
			      "fabric: no LID left: LIDs of %u absent ports, the longest absent "
			      "first, were reassigned",
			      lids->taken_back);
	if (lids->without_lid)
		event_log_add(f->events, LOG_ERR, "lids-exhausted", NULL, NULL,
			      "fabric: %u %s no LID: all unicast LIDs are in use",
			      lids->without_lid,
			      words_plural(lids->without_lid, "port has", "ports have"));

	return JOB_NEXT;
}

/* ---- Memory of tables ------------------------------------------------------------------------ */

/* True: there is more to do. */
static bool reserve(struct update *u, uint32_t nswitches, uint16_t top)
{
	struct tables *tables = &u->next.tables;
	size_t bytes = tables->capacity;

	tables_resize(tables, nswitches, top);
	if (tables->capacity != bytes || u->reserved > bytes)
		u->reserved = 0;
	return tables_reserve(tables, &u->reserved);
}

bool fabric_update_reserve(struct fabric *f)
{
	return reserve(f->update, f->now.tables.nswitches, f->now.tables.top);
}

/*
 * What fabric_update_reserve() did not do before the first update, or the fabric grew. Cordons take
 * other tables beside these.
 */
static enum job_result reserve_tables(void *arg)
{
	struct update *u = ((struct fabric *)arg)->update;
	const struct topo *t = u->next.topo;
	uint16_t top = u->next.lids->top;

	if (reserve(u, t->nswitches, top) ||
	    (t->ncordoned && route_reserve(u->route, t->nswitches, top)))
		return JOB_MORE;
	return JOB_NEXT;
}

/* ---- Tables and their proof ------------------------------------------------------------------ */

static void note_engine(const struct route *route, const struct topo *t, struct fabric_tried *out)
{
	const struct route_outcome *outcome = route_outcome(route);

	out->engine = outcome->engine;
	out->damaged = outcome->why == ROUTE_PAIRS_OPEN;
	out->uneven = route_is_uneven(route);
	out->cordons_overridden = route_cordons_overridden(route);
	route_explain(route, t, out->why, sizeof(out->why));
}

struct even *fabric_even(const struct fabric *f)
{
	return f->update ? route_even(f->update->route) : NULL;
}

struct lid_map *fabric_try(const struct fabric *f, const struct topo *variant,
			   const struct fabric_policy *policy, struct tables *out,
			   struct fabric_tried *tried)
{
	struct lid_map *lids = lid_plan(variant, &f->memory, f->conf.routing.lmc);
	struct route_params params = fabric_route_params(f, policy);
	struct route *route = route_new();

	params.even = fabric_even(f);
	if (route_compute(route, variant, lids, &params, out))
		abort(); /* the configuration was validated: the engine exists */
	note_engine(route, variant, tried);
	route_free(route);
	return lids;
}

static void end_routing(struct update *u)
{
	fabric_policy_fini(&u->policy);
	u->routing = false;
}

/* Whether no switch holds tables. */
static bool is_dark(const struct inventory *inv)
{
	INVENTORY_EACH (inv, node)
		if (inv_is_switch(node) && node->sw.lft_top)
			return false;
	return true;
}

bool fabric_update_balances(struct fabric *f)
{
	struct update *u = f->update;

	if (u->hasty && f->progress.up_us && fabric_is_settled(f))
		u->hasty = u->balancing = route_is_irregular(u->route);
	return u->balancing;
}

bool fabric_update_restarts(struct fabric *f)
{
	struct update *u = f->update;

	if (!u->balancing)
		return false;
	u->hasty = true;
	if (u->routing) { /* which is to end first */
		route_hasten(u->route);
	} else {
		end(f);
		drop(u);
		fabric_update(f);
	}
	return true;
}

static enum job_result compute_tables(void *arg)
{
	struct fabric *f = arg;
	struct update *u = f->update;

	if (fabric_observes(f)) {
		fabric_observed_tables(f, u->next.topo, u->next.lids->top, &u->next.tables);
		u->next.routed = (struct fabric_tried){ .engine = "another manager" };
		return JOB_NEXT;
	}
	if (!u->routing) {
		u->policy = fabric_policy(f, u->next.topo, NULL);

		struct route_params params = fabric_route_params(f, &u->policy);

		u->hasty = !u->balancing &&
			   (u->hasty || (!f->progress.up_us && is_dark(sweep_inventory(f->sweep))));
		params.hasty = u->hasty;
		route_begin(u->route, u->next.topo, u->next.lids, &params, &u->next.tables);
		u->routing = true;
	}
	if (route_go(u->route))
		return JOB_MORE;
	if (route_end(u->route))
		abort(); /* as at its begin */
	end_routing(u);
	if (u->hasty && fabric_update_restarts(f))
		return JOB_END;
	u->balancing = false;
	note_engine(u->route, u->next.topo, &u->next.routed);

	const bool *spanning = route_spanning(u->route);

	free(u->next.spanning);
	u->next.spanning = NULL;

	if (spanning) {
		u->next.spanning = mem_array(spanning, u->next.topo->nports);
		mem_copy(u->next.spanning, spanning, u->next.topo->nports);
	}

	return JOB_NEXT;
}

static enum job_result begin_proof(void *arg)
{
	struct fabric *f = arg;
	const struct publication *next = &f->update->next;

	/* Who has handed over publishes nothing; who goes on asks for it again. */
	if (f->role->paused)
		return end_here(f);
	MODULES_CALL(f->kept.modules, published, FABRIC_PROVING, NULL);
	check_change_begin(f->update->proofs, next->topo, next->lids, &next->tables);
	return JOB_NEXT;
}

static enum job_result prove(void *arg)
{
	struct fabric *f = arg;

	return check_change_go(f->update->proofs) ? JOB_MORE : JOB_NEXT;
}

static enum job_result judge(void *arg)
{
	struct fabric *f = arg;
	struct check_report *proof = &f->update->next.proof;
	bool sound = check_change_end(f->update->proofs, proof);

	f->figures->check_whole = check_change_last(f->update->proofs).whole;
	alert_set(f->alerts, fabric_observes(f) && !sound, "unsound-tables", NULL,
		  "the tables that switches hold have %" PRIu64 " loops, %" PRIu64
		  " credit cycles and %" PRIu64 " entries that lead to no device: %s",
		  proof->loops, proof->credit_cycles, proof->bad_ports, proof->first);
	if (!sound && !fabric_observes(f)) {
		event_log_add(f->events, LOG_ERR, "refused", NULL, report_proof(proof),
			      "fabric: new forwarding tables failed verification, the previous "
			      "ones stay: %s",
			      proof->first);
		tables_forget(&f->update->next.tables); /* no row of them stays */
		drop(f->update);
		f->progress.state = FABRIC_REFUSED;
		MODULES_CALL(f->kept.modules, published, FABRIC_TABLES_REFUSED, NULL);
		traps_update_ended(f->traps);
		operations_rollback(f->clients.operations);
		operations_answer(f->clients.operations,
				  "new forwarding tables failed verification; see fmctl events",
				  false);
		end(f);
		fabric_links_follow(f);
		f->update->ended(f);
		return JOB_END;
	}
	if (proof->unreachable)
		event_log_add(f->events, LOG_WARNING, "unreachable", NULL, report_proof(proof),
			      "fabric: %" PRIu64 " %s of hosts %s connected by links, but no legal "
			      "path exists: %s",
			      proof->unreachable, words_plural(proof->unreachable, "pair", "pairs"),
			      words_plural(proof->unreachable, "is", "are"), proof->first);
	return JOB_NEXT;
}

/* ---- Publish --------------------------------------------------------------------------------- */

/*
 * Another engine makes the tables from now on; the first one is logged only where it is not the one
 * configured.
 */
static void log_engine(struct fabric *f, const struct fabric_tried *next)
{
	const struct fabric_tried *now = &f->now.routed;
	const char *before = now->engine ? now->engine : route_engine_name(f->conf.routing.engine);

	if (strcmp(before, next->engine) || strcmp(now->why, next->why))
		event_log_add(f->events, next->damaged ? LOG_WARNING : LOG_NOTICE, "engine", NULL,
			      json_pack("{ss ss ss}", "engine", next->engine, "before", before,
					"why", next->why),
			      "fabric: routed by %s%s%s", next->engine, next->why[0] ? ": " : "",
			      next->why);
	alert_set(f->alerts, next->damaged, "left-the-tree", NULL, "routed by %s: %s", next->engine,
		  next->why);
}

static uint16_t own_lid(const struct inventory *inv, const struct publication *p)
{
	uint32_t node = inv->local ? topo_find(p->topo, inv->local->guid) : TOPO_NONE;

	if (node == TOPO_NONE)
		return 0;
	return p->lids->lid_of_port[p->topo->nodes[node].port0 +
				    (inv_is_switch(inv->local) ? 0 : inv->local_port)];
}

enum {
	COLLECT,
	SNAPSHOT,
	CHANGES,
	LIDS,
	RESERVE,
	ROUTE,
	PROOF_BASE,
	PROOF,
	JUDGEMENT,
	PUBLISH,
	STEPS
};

static enum job_result publish(void *arg)
{
	struct fabric *f = arg;
	const struct topo *before = f->now.topo;

	/* Of tables that were computed: a sweep that finds nothing computes none. */
	const uint64_t *spent = f->update->spent_us;

	f->figures->route_ms = spent[ROUTE] / 1e3;
	f->figures->check_ms = (spent[PROOF_BASE] + spent[PROOF] + spent[JUDGEMENT]) / 1e3;

	log_engine(f, &f->update->next.routed);

	const struct check_report *proof = &f->update->next.proof;

	alert_set(f->alerts, proof->unreachable, "unreachable", NULL, "%" PRIu64 " %s no path: %s",
		  proof->unreachable,
		  words_plural(proof->unreachable, "pair of hosts is connected by links, but has",
			       "pairs of hosts are connected by links, but have"),
		  proof->first);

	/* What was published is now what is to be dropped. */
	struct inventory *inv = sweep_inventory(f->sweep);
	struct publication past = f->now;

	f->now = f->update->next;
	f->now.partitions = past.partitions;
	f->now.pkeys = past.pkeys;
	f->now.qos = past.qos;
	f->now.sm_lid = inv->sm_lid = own_lid(inv, &f->now);
	f->update->next = past;
	f->update->reserved = past.tables.capacity;

	fabric_links_published(f, before);
	f->update->rises = inv->turned.rises;
	fabric_deploy(f, before);
	drop(f->update);
	end(f);
	f->update->ended(f);
	return JOB_END;
}

/* ---- The table ------------------------------------------------------------------------------- */

static const struct job_step steps[FABRIC_STEPS_MAX] = {
	[COLLECT] = { "collect", collect },
	[SNAPSHOT] = { "snapshot", make_snapshot },
	[CHANGES] = { "changes", log_changes },
	[LIDS] = { "lids", plan_lids },
	[RESERVE] = { "room", reserve_tables },
	[ROUTE] = { "route", compute_tables },
	[PROOF_BASE] = { "proof-base", begin_proof },
	[PROOF] = { "proof", prove },
	[JUDGEMENT] = { "judgement", judge },
	[PUBLISH] = { "publish", publish },
	[STEPS] = { NULL, NULL },
};

struct check_base *fabric_update_proofs(const struct fabric *f)
{
	return f->update->proofs;
}

void fabric_update_tidy(struct fabric *f)
{
	check_change_tidy(f->update->proofs, f->now.topo, &f->now.tables);
}

void fabric_update(struct fabric *f)
{
	f->progress.updating = true;
	job_start(f->update->job, steps, f->update->spent_us);
}

const char *fabric_update_step(const struct fabric *f)
{
	return job_step_name(f->update->job);
}

struct tables *fabric_update_tables(const struct fabric *f)
{
	return &f->update->next.tables;
}

json_t *fabric_update_stages(const struct fabric *f)
{
	return job_stages_json(steps, f->update->spent_us);
}

void fabric_update_init(struct fabric *f, loop_fn *ended)
{
	struct update *u = mem_new(u);
	uint64_t seed; /* nothing that comes from the fabric can be made to fit it */

	if (getentropy(&seed, sizeof(seed)))
		abort(); /* no kernel that runs this lacks it */
	*u = (struct update){ .ended = ended,
			      .job = job_new(f->loop, f),
			      .proofs = check_base_new(seed),
			      .route = route_new() };
	f->update = u;
}

void fabric_update_fini(struct fabric *f)
{
	struct update *u = f->update;

	job_free(u->job);
	if (u->routing) {
		route_abandon(u->route);
		end_routing(u);
	}
	drop(u);
	tables_fini(&u->next.tables);
	route_free(u->route);
	check_base_free(u->proofs);
	free(u);
}
