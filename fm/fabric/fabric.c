/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric: the scheduler of the pipe (see fabric.h):
 *
 *   serve            what is requested begins: a sweep of all, of dirty nodes, or an update at once
 *   swept            a sweep has ended; as master an update follows     (rooms: swept, admit)
 *   fabric_update    snapshot -> what changed -> LIDs -> tables -> proof -> publish   (update.c)
 *   fabric_deploy    blocks that differ go to the switches, ports and links are brought up
 *                    (deploy.c)
 *   fabric_settle    both are done: operators are answered
 *   improve          in quiet times: a room has something better, by one more update
 *
 * Updates and settling are jobs in steps, so that nobody waits for the loop longer than 20 ms. One
 * update is being computed at a time; sweeps go on beside it. Whatever ends comes back to serve().
 */
#include <unistd.h>
#include "fm/fabric/pipe.h"
#include "fm/keys/lookup.h"
#include "fm/loop/log.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"
#include "routing/path.h"
#include "topology/snapshot/diff.h"

/* ---- Rooms and their hooks ------------------------------------------------------------------- */

/* 0, or -1 with the reason in err: a room stands ahead of one that it has to stand behind. */
static int modules_check_order(fabric_modules table, char *err, size_t err_size)
{
	for (const struct fabric_row *row = table; row->module; row++)
		for (unsigned i = 0; row->after && row->after[i]; i++)
			for (const struct fabric_row *later = row + 1; later->module; later++)
				if (later->module == row->after[i]) {
					snprintf(err, err_size,
						 "room %s has to stand behind room %s",
						 row->module->name, later->module->name);
					return -1;
				}
	return 0;
}

void *fabric_room(const struct fabric *f, const struct fabric_module *module)
{
	MODULES_EACH (f->kept.modules, row)
		if (row->module == module)
			return row->room;
	return NULL;
}

/* ---- Sweeps, and the update behind them ------------------------------------------------------ */

#define STARVED_POLL_US 5000

/* What is found settled is older than the update. */
static void begin_update(struct fabric *f)
{
	fabric_settle_stop(f);
	fabric_update(f);
}

/*
 * The update being computed, if there is one, is outdated: another follows it. So it does behind
 * what was planned for long and is to be written first.
 */
static void update(struct fabric *f)
{
	if (f->role->paused || MODULES_FIRST(f->kept.modules, admit, NULL))
		return;
	/* What was asked for beside a sweep may show in no snapshot. */
	f->requests.forced |= f->requests.reroute;
	f->requests.reroute = false;
	if (fabric_update_restarts(f))
		return;
	f->requests.reroute = fabric_updating(f) || program_is_starved(f->program);
	if (!f->requests.reroute)
		begin_update(f);
	else if (!fabric_updating(f))
		loop_timer_set(f->requests.timer, STARVED_POLL_US);
}

static void serve(void *arg);

static void answer_all(struct fabric *f, const char *error)
{
	operations_take(f->clients.operations,
			f->requests.sweep || sweep_discovers(f->sweep) || fabric_observe_reads(f));
	operations_answer(f->clients.operations, error, false);
}

static void swept(void *arg, const struct sweep_result *result);

/* By who observes. Tables that changed are logged by no snapshot. */
static void observed(void *arg)
{
	update(arg);
}

/* Of a switch that has not answered most links fell: it has no power, or its neighbours hang. */
static bool may_be_off(const struct inv_node *node)
{
	int up = 0;

	for (unsigned p = 1; !sweep_answered(node) && p <= node->nports; p++)
		if (node->ports[p].peer && inv_is_switch(node->ports[p].peer))
			up += node->ports[p].link_up ? 1 : -1;
	return up < 0;
}

/*
 * Links fell, and maybe more than is known: traps that go by the tables over what fell are lost.
 * Switches whose way to the manager does so are asked beside the update, and those that may be off.
 */
static void ask_behind_what_fell(struct fabric *f)
{
	enum { UNKNOWN, SOUND, CROSSES };
	const struct topo *t = f->now.topo;
	uint8_t *way = mem_array(way, t->nswitches + 1u);
	uint32_t *trail = mem_array(trail, t->nswitches + 1u);
	guid_t *behind = mem_array(behind, t->nswitches + 1u);
	unsigned count = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		uint32_t at = sw, n = 0, end = UNKNOWN;

		while (!way[at] && end == UNKNOWN) {
			const struct inv_node *node =
				inventory_find(sweep_inventory(f->sweep), t->nodes[at].guid);
			unsigned out = tables_row(&f->now.tables, at)[f->now.sm_lid];
			uint32_t next = path_switch_at(t, at, out);

			way[at] = SOUND;
			trail[n++] = at;
			if (!node || next == TOPO_NONE)
				end = SOUND;
			else if (!node->ports[out].link_up || may_be_off(node))
				end = CROSSES;
			else
				at = next;
		}
		if (end == UNKNOWN)
			end = way[at];
		while (n--) {
			way[trail[n]] = end;
			if (end == CROSSES)
				behind[count++] = t->nodes[trail[n]].guid;
		}
	}
	if (count)
		sweep_recheck(f->sweep, behind, count, swept, f);
	free(behind);
	free(way);
	free(trail);
}

static void swept(void *arg, const struct sweep_result *result)
{
	struct fabric *f = arg;
	const struct fabric_swept ended = { .step = FABRIC_SWEEP_ENDED, .result = result };
	const char *useless = NULL;

	f->figures->sweep_ms = result->took_us / 1e3;
	fabric_note_sweep(f, result);
	if (f->progress.up_us && result->found_us)
		fabric_fault_found(f, "found by sweep", result->found_us);
	if (result->rest && f->role->now == FABRIC_ROLE_STANDBY)
		return;
	if (!result->error)
		useless = MODULES_FIRST(f->kept.modules, swept, &ended);
	if (!useless && !result->error)
		traps_swept(f->traps, result);
	if (useless || result->error)
		f->progress.begun_us = 0;
	if (useless)
		answer_all(f, useless);
	else if (result->error) {
		event_log_add(f->events, LOG_ERR, "no-port", NULL, NULL,
			      "fabric: the local port does not answer: %s",
			      strerror(-result->error));
		answer_all(f, "the local port does not answer");
		fabric_settle(f);
	} else if (fabric_observes(f)) {
		fabric_observe(f);
	} else if (fabric_is_master(f)) {
		bool ask = result->fell && !result->idle && f->now.topo;

		if (result->idle)
			serve(f);
		else
			update(f);
		if (ask)
			ask_behind_what_fell(f);
	}
}

/* Begins an update if a room has something better for it. */
static bool improve(struct fabric *f)
{
	if (fabric_updating(f) || fabric_observes(f) ||
	    !(fabric_update_balances(f) || MODULES_ANY(f->kept.modules, improves)))
		return false;
	f->requests.forced = true;
	begin_update(f);
	return true;
}

/* Begins what is wanted next, if nothing is under way. */
static void serve(void *arg)
{
	struct fabric *f = arg;
	bool sweeps = f->requests.sweep || f->requests.dirty.count;

	/*
	 * A partial sweep joins another one that is under way; all else comes back here when that
	 * ends. Behind a dead link a light sweep would wait long for answers that cannot come, so
	 * it makes way, as does the rest of a sweep that waits for slow answers alone.
	 */
	if (!fabric_may_sweep(f) || (!sweeps && !fabric_is_master(f) && !fabric_observes(f)) ||
	    (sweep_busy(f->sweep) && !sweep_polls(f->sweep) && !sweep_trails(f->sweep) &&
	     (f->requests.sweep || !f->requests.dirty.count || sweep_discovers(f->sweep))))
		return;
	if (sweeps) {
		struct requests *r = &f->requests;
		unsigned ndirty = r->dirty.count;
		bool all = r->sweep;

		MODULES_CALL(f->kept.modules, swept,
			     &(struct fabric_swept){ .step = FABRIC_SWEEP_BEGINS });
		r->forced |= r->reroute;
		r->sweep = r->reroute = false;
		r->dirty.count = 0;
		if (!f->progress.begun_us)
			f->progress.begun_us = loop_now_us(f->loop);
		if (all)
			sweep_discover(f->sweep, swept, f);
		else
			sweep_refresh(f->sweep, r->dirty.guids, ndirty, swept, f);
	} else if (f->requests.reroute) {
		f->requests.forced = true;
		update(f);
	} else if (!sweep_busy(f->sweep) && !improve(f)) {
		fabric_settle(f);
	}
}

void fabric_move(struct fabric *f, struct inv_node *node, uint8_t num)
{
	struct inventory *inv = sweep_inventory(f->sweep);
	const struct inv_node *leaf = inv->local->ports[inv->local_port].peer;

	inv->local = node;
	inv->local_port = num;
	inventory_update_paths(inv);
	fabric_fault_found(f, "own port moved", loop_now_us(f->loop));
	fabric_poll_moved(f);
	/* Traps about what was lost went to the LID of before. */
	for (unsigned p = 1; leaf && p <= leaf->nports; p++)
		if (leaf->ports[p].peer && inv_is_switch(leaf->ports[p].peer))
			fabric_request_refresh(f, leaf->ports[p].peer->guid, "own port moved");
	if (leaf)
		fabric_request_refresh(f, leaf->guid, "own port moved");
	fabric_request_reroute(f, "own port moved");
}

/* ---- Verification ---------------------------------------------------------------------------- */

static void verified(void *arg, const struct sweep_result *result)
{
	struct fabric *f = arg;

	for (unsigned i = 0; i < result->nchanged; i++)
		fabric_request_refresh(f, result->changed[i], "found by verification");
	if (result->nchanged)
		fabric_fault_found(f, "found by verification", result->found_us);
	f->requests.verified(f->requests.verified_arg, result->nchanged);
	serve(f);
}

bool fabric_request_verification(struct fabric *f, unsigned ports, bool refused,
				 fabric_verified_fn *fn, void *arg)
{
	f->requests.verified = fn;
	f->requests.verified_arg = arg;
	return sweep_verify(f->sweep, ports, refused, verified, f);
}

/* ---- What is called from below --------------------------------------------------------------- */

void fabric_report_mft_written(struct fabric *f, const struct mft_result *result)
{
	MODULES_CALL(f->kept.modules, programmed,
		     &(struct fabric_programmed){ .multicast = result });
}

struct fabric_services fabric_services(struct fabric *f)
{
	return (struct fabric_services){ .loop = f->loop,
					 .mad = f->mad,
					 .conf = &f->conf,
					 .events = f->events,
					 .alerts = f->alerts,
					 .sweep = f->sweep,
					 .inventory = sweep_inventory(f->sweep),
					 .bringup = f->bringup,
					 .program = f->program,
					 .mft = f->mft,
					 .proofs = fabric_update_proofs(f),
					 .lids = &f->memory,
					 .sa = f->sa,
					 .state = f->kept.state };
}

uint8_t *fabric_port_classes(const struct fabric *f)
{
	return fabric_classes_by_name(f, f->now.topo);
}

bool fabric_check(const struct fabric *f, struct check_report *report)
{
	return check_tables(f->now.topo, f->now.lids, &f->now.tables, report);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static struct bringup_conf bringup_conf(const struct conf *c)
{
	const struct conf_ports *ports = &c->ports;
	struct bringup_conf out = { .gid_prefix = c->sm.subnet_prefix,
				    .subnet_timeout = ports->subnet_timeout,
				    .max_op_vls = ports->max_op_vls,
				    .packet_life_time = ports->packet_life_time,
				    .hoq_life = ports->hoq_life,
				    .leaf_hoq_life = ports->leaf_hoq_life,
				    .vl_stall = ports->vl_stall,
				    .leaf_vl_stall = ports->leaf_vl_stall,
				    .sm_sl = ports->sm_sl,
				    .pkey_enforce_in = c->partition.enforce & CONF_ENFORCE_IN,
				    .pkey_enforce_out = c->partition.enforce & CONF_ENFORCE_OUT };

	qos_make(&c->qos, &out.qos);
	return out;
}

/* All that the manager of a fabric works with. */
static void parts_init(struct fabric *f)
{
	const struct bringup_conf ports = bringup_conf(&f->conf);

	f->figures = mem_new(f->figures);
	qos_make(&f->conf.qos, &f->now.qos);
	fabric_update_init(f, serve);
	f->sweep = sweep_new(f->loop, f->mad);
	key_lookup_begin(sweep_inventory(f->sweep), f->mad, f->kept.keys);
	sweep_set_passive(f->sweep, true, false);
	f->bringup = bringup_new(f->loop, f->mad, sweep_inventory(f->sweep), &ports);
	f->program = program_new(f->loop, f->mad, sweep_inventory(f->sweep),
				 f->conf.ports.packet_life_time);
	f->mft = mft_new(f->loop, f->mad, sweep_inventory(f->sweep));
	program_use_proofs(f->program, fabric_update_proofs(f));
	f->sa = sa_new(f->loop, f->mad, sweep_inventory(f->sweep), &(struct sa_conf){ 0 });
	f->requests.timer = loop_timer_new(f->loop, serve, f);

	fabric_poll_init(f, serve);
	fabric_observe_init(f, observed);
	fabric_links_init(f);
	fabric_deploy_init(f, fabric_settle);
	fabric_settle_init(f, serve);
	f->clients.operations = operations_new(f, f->kept.state, fabric_status);

	struct fabric_services services = fabric_services(f);

	f->traps = traps_new(f, &services);

	/* The rooms that are not there, in order. */
	struct modules *m = f->kept.modules;

	for (unsigned i = 0; i < m->count; i++)
		if (!m->rows[i].room)
			m->rows[i].room = m->rows[i].module->init(f);
}

static void parts_load(struct fabric *f)
{
	MODULES_CALL(f->kept.modules, load, FABRIC_RESTORE);
	MODULES_CALL(f->kept.modules, load, FABRIC_LOAD);
}

static void parts_fini(struct fabric *f, bool all)
{
	operations_free(f->clients.operations);

	/* The last one first; not all: those that last stay. */
	struct modules *m = f->kept.modules;

	for (unsigned i = m->count; i-- > 0;) {
		if (m->rows[i].module->lasts && !all)
			continue;
		m->rows[i].module->fini(m->rows[i].room);
		m->rows[i].room = NULL;
	}

	traps_free(f->traps);
	fabric_poll_fini(f);
	fabric_observe_fini(f);
	fabric_deploy_fini(f);
	fabric_links_fini(f);
	free(f->faults);
	loop_timer_free(f->requests.timer);
	free(f->requests.dirty.guids);
	fabric_settle_fini(f);

	sa_free(f->sa);
	mft_free(f->mft);
	program_free(f->program);
	bringup_free(f->bringup);
	key_lookup_end(sweep_inventory(f->sweep));
	sweep_free(f->sweep);
	fabric_update_fini(f);
	tables_fini(&f->now.tables);
	free(f->now.spanning);
	topo_unref(f->now.topo);
	lid_map_free(f->now.lids);
	lid_memory_fini(&f->memory);
	free(f->figures);
}

/* Serves fabric_change_role(). */
static void change_role(void *arg)
{
	struct fabric *f = arg;
	const struct fabric_role_change *to = &f->role->next;
	bool master = to->role == FABRIC_ROLE_MASTER, anew = to->anew;

	/* Some may have been asked for before anybody knew who is master. */
	if (anew || (!master && (fabric_is_master(f) || to->role != FABRIC_ROLE_ASKING)))
		operations_abandon(f->clients.operations, FABRIC_ROLE_CHANGED);
	if (anew || (fabric_is_master(f) && !master)) {
		json_t *totals = fabric_status(f);

		json_decref(f->kept.totals);
		f->kept.totals = totals;
		/*
		 * As if fmd had ended and restarted, but that events, those who follow them and
		 * rooms that last go on: what files hold is kept and read. Files are those of the
		 * role until now.
		 */
		MODULES_CALL(f->kept.modules, role, fabric_role(f), FABRIC_ROLE_LEFT);
		state_detach(f->kept.state);
		parts_fini(f, false);
		*f = (struct fabric){ .loop = f->loop,
				      .mad = f->mad,
				      .conf = f->conf,
				      .progress.started_us = f->progress.started_us,
				      .events = f->events,
				      .alerts = f->alerts,
				      .kept = f->kept,
				      .role = f->role,
				      .clients.followers = f->clients.followers };
		parts_init(f);
		parts_load(f);
		event_rows_merge(f->kept.events);
		fabric_warn(f);
	}
	fabric_role_enter(f);
	if (fabric_took_over(f)) {
		/* What another manager left is read before anything is written. */
		if (f->role->next.reregister)
			fabric_request_reregister(f, "another manager was master");
		program_read_first(f->program);
	}
	MODULES_CALL(f->kept.modules, role, fabric_role(f), FABRIC_ROLE_IN_FORCE);
	sweep_set_passive(f->sweep, !master, fabric_observes(f));
	if (master && !anew) {
		fabric_deploy_adopt(f);
		if (!sweep_examine(f->sweep, swept, f))
			update(f);
	} else if (fabric_role(f) == FABRIC_ROLE_STANDBY && fabric_observes(f) &&
		   sweep_inventory(f->sweep)->local && !sweep_busy(f->sweep)) {
		fabric_observe(f); /* what was swept in search of the master is shown */
		fabric_poll_schedule(f);
	} else if (master || fabric_role(f) == FABRIC_ROLE_ASKING || fabric_observes(f)) {
		fabric_request_sweep(f, "role changed");
		fabric_poll_schedule(f);
		serve(f);
	}
}

static void configure_state(struct fabric *f)
{
	state_configure(f->kept.state, f->conf.retry_interval_ms * 1000ull,
			f->conf.mirror.synchronous);
	event_rows_configure(f->kept.events, f->conf.hosts.event_hook,
			     f->conf.hosts.event_hook_timeout_ms);
}

static void configure_keys(struct fabric *f)
{
	const struct m_key_conf keys = conf_m_keys(&f->conf);

	m_keys_configure(f->kept.keys, &keys);
}

struct fabric *fabric_new(struct loop *loop, struct mad *mad, const struct conf *conf,
			  fabric_modules rooms)
{
	struct fabric *f = mem_new(f);
	char name[64] = "", err[256];

	f->loop = loop;
	f->mad = mad;
	f->conf = *conf;
	f->progress.started_us = loop_now_us(loop);
	f->events = event_log_new(EVENTS_KEPT);
	gethostname(name, sizeof(name) - 1);
	event_log_set_manager(f->events, name);
	event_log_listen(f->events, fabric_report_event, f);
	event_log_add(f->events, LOG_NOTICE, "started", NULL,
		      json_pack("{ss}", "version", FMD_VERSION),
		      "fmd: started, version " FMD_VERSION);
	f->alerts = alerts_new(loop, f->events);
	f->kept.state = state_open(f->loop, f->conf.state_dir, f->alerts, f->events);
	state_set_writable(f->kept.state, false); /* until it is master */
	f->kept.events = event_rows_new(f->loop, f->kept.state, f->events, f->alerts);
	configure_state(f);

	fabric_role_init(f, change_role);
	f->kept.keys = m_keys_new();
	configure_keys(f);
	if (modules_check_order(rooms, err, sizeof(err))) {
		log_line(LOG_CORE, LOG_ERR, "fabric: %s", err);
		abort();
	}

	unsigned count = 0;

	while (rooms[count].module)
		count++;

	struct modules *m = mem_alloc(1, sizeof(*m) + (count + 1) * sizeof(m->rows[0]));

	m->count = count;
	for (unsigned i = 0; i < count; i++)
		m->rows[i].module = rooms[i].module;
	f->kept.modules = m;

	parts_init(f);
	return f;
}

void fabric_start(struct fabric *f)
{
	parts_load(f);
	MODULES_CALL(f->kept.modules, load, FABRIC_START);
}

int fabric_check_conf(fabric_modules rooms, const struct conf *conf, char *err, size_t err_size)
{
	if (modules_check_order(rooms, err, err_size))
		return -1;
	for (; rooms->module; rooms++)
		if (rooms->module->check && rooms->module->check(conf, err, err_size))
			return -1;
	return 0;
}

void fabric_configure(struct fabric *f, const struct conf *conf)
{
	const struct bringup_conf ports = bringup_conf(conf);

	f->conf = *conf;
	configure_keys(f);
	qos_make(&f->conf.qos, &f->now.qos);
	bringup_configure(f->bringup, &ports);
	program_configure(f->program, conf->ports.packet_life_time);
	configure_state(f);
	fabric_poll_schedule(f);
	MODULES_CALL(f->kept.modules, configure);
	fabric_request_reroute(f, "configuration changed");
}

void fabric_free(struct fabric *f)
{
	if (!f)
		return;
	MODULES_CALL(f->kept.modules, role, fabric_role(f), FABRIC_ROLE_ENDS);
	state_flush(f->kept.state);
	parts_fini(f, true);

	/* all have ended */
	free(f->kept.modules);
	fabric_role_fini(f);
	event_log_listen(f->events, NULL, NULL);
	state_close(f->kept.state);
	event_rows_free(f->kept.events);
	alerts_free(f->alerts);
	event_log_free(f->events);
	fabric_unfollow(f, NULL); /* frees the followers */
	m_keys_free(f->kept.keys);
	json_decref(f->kept.totals);
	free(f);
}
