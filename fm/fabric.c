/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric: the conductor (see fabric.h). The whole pipe is on this page:
 *
 *   fabric_look     starts the next look: everything, or the suspects                            (sweep)
 *   looked          a look ended: snapshot, what changed, and on to
 *   update          LIDs -> tables -> proof; refused tables stop here and the old ones stay in force
 *   apply           blocks that differ to the switches, ports and links brought up, SA answers from the new view
 *   settled         both are done: say so, answer those who asked
 *
 * A newer look may end while an older change is still being programmed: apply() supersedes, from what was acknowledged.
 * Tables are a pure function of snapshot and LIDs, so a refused set is undone by computing the published one again:
 * one buffer of tables serves.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/fabric_own.h"
#include "routing/report.h"
#include "topology/diff.h"
#include "topology/mem.h"
#include "topology/risk.h"

#define EVENTS_KEPT 2000

/* Milliseconds since *start, which moves on to now. */
static double lap_ms(const struct fabric *f, uint64_t *start)
{
	uint64_t before = *start;

	*start = loop_clock_us(f->loop);
	return (*start - before) / 1e3;
}

static double ms_since(const struct fabric *f, uint64_t start_us)
{
	return (loop_now_us(f->loop) - start_us) / 1e3;
}

/* ---- Settled ------------------------------------------------------------------------------------ */

/* What is at risk is told as it is now: standing damage too, for the next fault meets both. */
static void tell_fault(struct fabric *f)
{
	json_t *risk = risk_json(f->topo);
	const char *text = json_string_value(json_object_get(risk, "text"));

	event_log_add(
		f->events, LOG_NOTICE, "rerouted",
		json_pack("{sf sI si si so}", "detected_to_programmed_ms", f->figures.last_fault.ms,
			  "lft_entries_changed", (json_int_t)f->figures.last_fault.entries,
			  "lft_blocks_written", (int)f->figures.last_fault.blocks, "switches",
			  (int)f->figures.programmed.switches, "at_risk", json_incref(risk)),
		"%s: answered in %.1f ms, %llu entries in %u blocks on %u switches%s%s",
		f->fault.what, f->figures.last_fault.ms,
		(unsigned long long)f->figures.last_fault.entries, f->figures.last_fault.blocks,
		f->figures.programmed.switches, text ? "; at risk: " : "", text ? text : "");
	json_decref(risk);
}

static void close_fault(struct fabric *f)
{
	if (!f->fault.open)
		return;
	f->fault.open = false;
	if (!f->fault.differs && !f->figures.programmed.blocks)
		return; /* a late trap: an earlier look had found what it tells */
	snprintf(f->figures.last_fault.what, sizeof(f->figures.last_fault.what), "%s",
		 f->fault.what);
	f->figures.last_fault.ms = ms_since(f, f->fault.detected_us);
	f->figures.last_fault.entries = f->figures.programmed.entries;
	f->figures.last_fault.blocks = f->figures.programmed.blocks;
	tell_fault(f);
}

static void publish_to_sa(struct fabric *f)
{
	sa_publish(f->sa, &(struct sa_view){ .topo = f->topo,
					     .lids = f->lids,
					     .tables = &f->tables,
					     .sm_lid = f->sm_lid });
}

static bool same_cordons(const struct topo *a, const struct topo *b)
{
	for (uint32_t p = 0; p < a->nports && a->nports == b->nports; p++)
		if (a->ports[p].cordoned != b->ports[p].cordoned)
			return false;
	return a->nports == b->nports;
}

/*
 * Bring-up gave LIDs, MTUs and states since the published snapshot was taken: what is shown is what
 * is. LIDs and tables go by index, so the cables must be the same, and cordons too; when they are
 * not, an update is on its way that publishes them.
 */
static void refresh(struct fabric *f)
{
	uint64_t start = loop_clock_us(f->loop);
	struct topo *now = fabric_snapshot(f);
	struct diff *diff = diff_new(f->topo, now);
	bool same = diff->count == 0 && same_cordons(f->topo, now);

	diff_free(diff);
	topo_unref(same ? f->topo : now);
	if (same) {
		f->topo = now;
		publish_to_sa(f);
	}
	f->figures.refresh_ms = lap_ms(f, &start);
}

static void settled(struct fabric *f)
{
	bool first = f->state == FABRIC_STARTING || f->state == FABRIC_BRINGUP;

	if (f->programming || f->bringing_up)
		return;
	f->state = FABRIC_UP;
	refresh(f);
	if (first)
		event_log_add(
			f->events, LOG_NOTICE, "up", NULL,
			"fabric: up: %u switches, %u HCAs, %u links (%u down), %llu SMPs, %.0f ms",
			f->topo->nswitches, f->topo->ncas, f->topo->nlinks, f->topo->nlinks_down,
			(unsigned long long)mad_stats(f->mad).sent, ms_since(f, f->started_us));
	fabric_acts_answer(f, NULL);
	check_change_tidy(f->proof_base, f->topo, &f->tables);
	fabric_look(f);
}

static void programmed(void *arg, const struct program_result *result)
{
	struct fabric *f = arg;

	f->programming = false;
	f->figures.programmed = *result;
	f->figures.program_ms = result->took_us / 1e3;
	if (result->failed) {
		f->unfinished = true;
		event_log_add(
			f->events, LOG_WARNING, "program-failed", NULL,
			"fabric: %u LFT blocks were not acknowledged; tried again at the next poll",
			result->failed);
	} else {
		fabric_audit_repaired(f);
	}
	close_fault(f);
	settled(f);
}

static void brought_up(void *arg, const struct bringup_result *result)
{
	struct fabric *f = arg;

	f->bringing_up = false;
	f->figures.bringup_ms = result->took_us / 1e3;
	if (result->links_failed) {
		f->unfinished = true;
		event_log_add(f->events, LOG_WARNING, "links-failed", NULL,
			      "fabric: %u links did not come up; tried again at the next poll",
			      result->links_failed);
	}
	settled(f);
}

/* ---- Apply -------------------------------------------------------------------------------------- */

static uint16_t own_lid(const struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);
	uint32_t node = inv->local ? topo_find(f->topo, inv->local->guid) : TOPO_NONE;

	if (node == TOPO_NONE)
		return 0;
	return f->lids->lid_of_port[f->topo->nodes[node].port0 +
				    (inv_is_switch(inv->local) ? 0 : inv->local_port)];
}

static void apply(struct fabric *f)
{
	uint64_t start = loop_clock_us(f->loop);

	f->sm_lid = own_lid(f);
	f->programming = f->bringing_up = true;
	f->unfinished = false;
	f->state = f->state == FABRIC_STARTING || f->state == FABRIC_BRINGUP ? FABRIC_BRINGUP
									     : FABRIC_CHANGING;
	sm_set_state(f->sm, SM_MASTER);
	publish_to_sa(f);
	program_apply(f->program, f->topo, &f->tables, programmed, f);
	bringup_apply(f->bringup, f->topo, f->lids, f->sm_lid, brought_up, f);
	f->figures.apply_ms = lap_ms(f, &start);
}

/* ---- Update: LIDs, tables, proof ----------------------------------------------------------------- */

static void compute_with(const struct fabric *f, struct route *route, const struct topo *t,
			 const struct lid_map *lids, struct tables *out)
{
	uint8_t *classes = fabric_classes(&f->conf, t);
	const struct route_params params = { .engine = f->conf.routing_engine, .classes = classes };
	/* The configuration was validated: the engine exists. */
	int status = route_compute(route, t, lids, &params, out);

	if (status)
		abort();
	free(classes);
}

static void compute(struct fabric *f, const struct topo *t, const struct lid_map *lids)
{
	compute_with(f, f->route, t, lids, &f->tables);
}

static bool proven(struct fabric *f, const struct topo *t, const struct lid_map *lids)
{
	struct check_report report;
	uint64_t start = loop_clock_us(f->loop);
	bool sound = check_change(f->proof_base, t, lids, &f->tables, &report);

	f->figures.check_ms = lap_ms(f, &start);
	f->figures.check_whole = check_change_last(f->proof_base).whole;
	if (sound) {
		f->proof = report;
		if (report.unreachable)
			event_log_add(
				f->events, LOG_WARNING, "unreachable", report_proof(&report),
				"fabric: %llu pairs of hosts have cables and no legal path: %s",
				(unsigned long long)report.unreachable, report.first);
		return true;
	}
	event_log_add(f->events, LOG_ERR, "refused", report_proof(&report),
		      "fabric: new tables refused, the old ones stay in force: %s", report.first);
	return false;
}

static void publish(struct fabric *f, struct topo *t, struct lid_map *lids)
{
	topo_unref(f->topo);
	lid_map_free(f->lids);
	f->topo = t;
	f->lids = lids;
}

static void keep_memory(struct fabric *f, const struct topo *t, const struct lid_map *lids)
{
	uint32_t before = f->memory.count;

	lid_memory_learn(&f->memory, t, lids);
	if (f->memory.count != before)
		fabric_state_save(f);
	if (lids->without_lid)
		event_log_add(f->events, LOG_ERR, "lids-exhausted", NULL,
			      "fabric: %u ports have no LID: the space is full", lids->without_lid);
}

/* Takes the snapshot. */
static void update(struct fabric *f, struct topo *t)
{
	uint64_t start = loop_clock_us(f->loop);
	struct lid_map *lids = lid_plan_lmc(t, &f->memory, f->conf.lmc);

	fabric_acts_take(f);
	keep_memory(f, t, lids);
	f->figures.lids_ms = lap_ms(f, &start);
	compute(f, t, lids);
	f->figures.route_ms = lap_ms(f, &start);
	if (proven(f, t, lids)) {
		publish(f, t, lids);
		apply(f);
		return;
	}
	topo_unref(t);
	lid_map_free(lids);
	f->state = FABRIC_REFUSED;
	if (f->topo)
		compute(f, f->topo, f->lids);
	fabric_acts_undo(f);
	fabric_acts_answer(f, "new tables were refused; see fmctl events");
}

/* ---- Looks --------------------------------------------------------------------------------------- */

static void looked(void *arg, const struct sweep_result *result)
{
	struct fabric *f = arg;
	uint64_t start = loop_clock_us(f->loop);
	struct topo *t;

	f->figures.sweep_ms = result->took_us / 1e3;
	f->figures.sweep_smps = result->smps;
	f->figures.silent = result->silent;
	f->figures.duplicates = result->duplicates;
	if (result->error) {
		event_log_add(f->events, LOG_ERR, "no-port", NULL,
			      "fabric: the local port does not answer: %s",
			      strerror(-result->error));
		fabric_acts_take(f);
		fabric_acts_answer(f, "the local port does not answer");
		return;
	}
	t = fabric_snapshot(f);
	f->figures.snapshot_ms = lap_ms(f, &start);
	if (f->topo)
		fabric_note_changes(f, f->topo, t);
	fabric_note_managers(f, t);
	f->figures.note_ms = lap_ms(f, &start);
	update(f, t);
}

void fabric_look(struct fabric *f)
{
	if (sweep_busy(f->sweep))
		return; /* looked() or polled() comes back here */
	if (f->want_discover) {
		f->want_discover = f->want_reroute = false;
		f->nsuspects = 0;
		sweep_discover(f->sweep, looked, f);
	} else if (f->nsuspects) {
		unsigned n = f->nsuspects;

		f->nsuspects = 0;
		f->want_reroute = false;
		sweep_refresh(f->sweep, f->suspects, n, looked, f);
	} else if (f->want_reroute) {
		f->want_reroute = false;
		update(f, fabric_snapshot(f));
	}
}

/* ---- The published present ----------------------------------------------------------------------- */

const struct topo *fabric_topo(const struct fabric *f)
{
	return f->topo;
}

const struct lid_map *fabric_lids(const struct fabric *f)
{
	return f->lids;
}

const struct tables *fabric_tables(const struct fabric *f)
{
	return f->topo ? &f->tables : NULL;
}

void fabric_try(const struct fabric *f, const struct topo *variant, struct tables *out)
{
	struct route *route = route_new();

	compute_with(f, route, variant, f->lids, out);
	route_free(route);
}

uint8_t *fabric_port_classes(const struct fabric *f)
{
	return fabric_classes(&f->conf, f->topo);
}

bool fabric_check(const struct fabric *f, struct check_report *report)
{
	return check_tables(f->topo, f->lids, &f->tables, report);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

static struct bringup_conf bringup_conf(const struct conf *c)
{
	return (struct bringup_conf){ .gid_prefix = c->subnet_prefix,
				      .mkey = c->mkey,
				      .subnet_timeout = c->subnet_timeout,
				      .max_op_vls = c->max_op_vls,
				      .packet_life_time = c->packet_life_time,
				      .hoq_life = c->hoq_life,
				      .leaf_hoq_life = c->leaf_hoq_life,
				      .vl_stall = c->vl_stall,
				      .leaf_vl_stall = c->leaf_vl_stall,
				      .sm_sl = c->sm_sl };
}

/* Nothing that comes from the fabric can be made to fit it. */
static uint64_t random_seed(void)
{
	uint64_t seed;

	if (getentropy(&seed, sizeof(seed)))
		abort(); /* no kernel that runs this lacks it */
	return seed;
}

struct fabric *fabric_new(struct loop *loop, struct mad *mad, const struct conf *conf)
{
	struct fabric *f = mem_alloc(1, sizeof(*f));
	const struct sm_conf sm = { .sm_key = conf->sm_key,
				    .mkey = conf->mkey,
				    .priority = conf->sm_priority };
	const struct bringup_conf ports = bringup_conf(conf);

	f->loop = loop;
	f->mad = mad;
	f->conf = *conf;
	f->started_us = loop_now_us(loop);
	f->events = event_log_new(EVENTS_KEPT);
	event_log_listen(f->events, fabric_report_event, f);
	f->route = route_new();
	f->proof_base = check_base_new(random_seed());
	f->sweep = sweep_new(loop, mad);
	f->bringup = bringup_new(loop, mad, sweep_inventory(f->sweep), &ports);
	f->program = program_new(loop, mad, sweep_inventory(f->sweep), conf->packet_life_time);
	fabric_sa_init(f);
	f->sm = sm_new(loop, mad, &sm, fabric_trap, f);
	fabric_watch_init(f);
	fabric_audit_init(f);
	return f;
}

void fabric_start(struct fabric *f)
{
	fabric_state_load(f);
	fabric_cordons_load(f);
	fabric_sa_load(f);
	sm_set_state(f->sm, SM_DISCOVERING);
	f->want_discover = true;
	fabric_watch_schedule(f);
	fabric_look(f);
}

void fabric_configure(struct fabric *f, const struct conf *conf)
{
	const struct bringup_conf ports = bringup_conf(conf);

	f->conf = *conf;
	bringup_configure(f->bringup, &ports);
	program_configure(f->program, conf->packet_life_time);
	fabric_sa_configure(f);
	audit_set_rate(f->audit, (unsigned)conf->audit_rate);
	fabric_watch_schedule(f);
	f->want_reroute = true;
	loop_timer_set(f->hold_timer, 0);
}

void fabric_free(struct fabric *f)
{
	if (!f)
		return;
	fabric_watch_fini(f);
	sm_free(f->sm);
	fabric_sa_fini(f);
	fabric_audit_fini(f);
	program_free(f->program);
	bringup_free(f->bringup);
	sweep_free(f->sweep);
	route_free(f->route);
	check_base_free(f->proof_base);
	event_log_free(f->events);
	tables_fini(&f->tables);
	topo_unref(f->topo);
	lid_map_free(f->lids);
	lid_memory_fini(&f->memory);
	fabric_acts_fini(f);
	fabric_cordons_fini(f);
	fabric_report_fini(f);
	free(f);
}
