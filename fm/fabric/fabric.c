/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric: the conductor (see fabric.h). The whole pipe:
 *
 *   fabric_look      starts the next look: everything, or the suspects                              (sweep)
 *   looked           a look ended; while nobody is master yet a room finds out who is (fm/sm/); as master it is followed by
 *   fabric_update    snapshot -> what changed -> LIDs -> tables -> proof -> publish           (update.c)
 *                    blocks that differ go to the switches, ports and links are brought up, the SA answers from the new view
 *   fabric_settle    both are done: say so, answer those who asked                            (settle.c)
 *   improve          in quiet times: a room has something better, by one more update                (fm/rebalance/)
 *
 * Updates and settling are jobs in steps, so that nobody waits for the loop longer than 20 ms. One update is in the making at a time;
 * looks go on beside it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/fabric/own.h"
#include "topology/mem.h"

#define EVENTS_KEPT 2000

/* ---- Looks --------------------------------------------------------------------------------------- */

/* The update in the making, if there is one, is of before: another follows it. */
static void update(struct fabric *f)
{
	if (!modules_ready(f->modules))
		return;
	f->requests.reroute = fabric_updates(f);
	if (!f->requests.reroute)
		fabric_update(f);
}

/* What was found is of no use; if the own port has left, all that was known goes too. */
static void found_nobody(struct fabric *f)
{
	operations_take(f->operations, fabric_sweeping(f));
	operations_answer(f->operations,
			  "the switch behind this manager's own port does not answer");
}

static void looked(void *arg, const struct sweep_result *result)
{
	struct fabric *f = arg;

	f->figures.sweep_ms = result->took_us / 1e3;
	f->figures.sweep_smps = result->smps;
	f->figures.silent = result->silent;
	f->figures.partial = result->partial;
	if (result->rest && (!fabric_is_master(f) || !f->topo))
		return; /* the first look, and who decides about the master, see all */
	if (!result->error && !modules_swept(f->modules, result)) {
		found_nobody(f);
		return;
	}
	if (result->refusing)
		fabric_isolate_refusing(f);
	if (result->untrue)
		fabric_untrue_tops(f);
	if (!result->error)
		fabric_verify_later(f);
	if (!result->error) {
		if (fabric_is_master(f))
			update(f);
		return;
	}
	event_log_add(f->events, LOG_ERR, "no-port", NULL,
		      "fabric: the local port does not answer: %s", strerror(-result->error));
	operations_take(f->operations, fabric_sweeping(f));
	operations_answer(f->operations, "the local port does not answer");
	fabric_settle(f);
}

void fabric_take_in(struct fabric *f)
{
	struct inventory *inv = sweep_inventory(f->sweep);

	for (struct inv_node *node = inventory_first(inv); node && inv->nstrangers;
	     node = inventory_next(inv, node)) {
		if (!node->stranger || node->gone)
			continue;
		inventory_set_stranger(inv, node, false);
		if (node->sw.port_state_change)
			guid_list_add(&f->requests.dirty, node->guid);
	}
}

/* A poll makes way: behind a dead cable it would wait long for answers that can't come. So does what waits for slow answers alone. */
static bool sweep_holds(const struct fabric *f)
{
	return sweep_busy(f->sweep) && !sweep_polls(f->sweep) && !sweep_trails(f->sweep);
}

/* Begins an update if a room has something better for it. */
static bool improve(struct fabric *f)
{
	if (fabric_updates(f) || !modules_improves(f->modules))
		return false;
	f->requests.forced = true;
	fabric_update(f);
	return true;
}

void fabric_look(struct fabric *f)
{
	bool wanted = f->requests.sweep || f->requests.dirty.count;

	if (!fabric_may_sweep(f) || (!wanted && !fabric_is_master(f)))
		return;
	if (sweep_holds(f) &&
	    (f->requests.sweep || !f->requests.dirty.count || sweep_discovers(f->sweep)))
		return; /* looked() comes back here; suspects join a look at others */
	if (wanted)
		modules_sweeping(f->modules, false);
	if (f->requests.sweep) {
		f->requests.forced |= f->requests.reroute;
		f->requests.sweep = f->requests.reroute = false;
		f->requests.dirty.count = 0;
		sweep_discover(f->sweep, looked, f);
	} else if (f->requests.dirty.count) {
		unsigned n = f->requests.dirty.count;

		f->requests.dirty.count = 0;
		f->requests.forced |= f->requests.reroute;
		f->requests.reroute = false;
		sweep_refresh(f->sweep, f->requests.dirty.guids, n, looked, f);
	} else if (f->requests.reroute) {
		f->requests.forced = true;
		update(f);
	} else if (!sweep_busy(f->sweep) && !improve(f)) {
		fabric_settle(f);
	}
}

void fabric_request_quarantine(struct fabric *f, guid_t node, uint8_t port, const char *why)
{
	modules_quarantine(f->modules, node, port, why);
}

void fabric_report_mft_written(struct fabric *f, const struct mft_result *result)
{
	if (!result->failed)
		fabric_audit_mft_repaired(f);
	modules_mft_written(f->modules, result);
}

void fabric_report_mft_mismatch(struct fabric *f)
{
	fabric_mcast_again(f);
	modules_mft_mismatch(f->modules);
}

void fabric_request_lids_free(struct fabric *f, guid_t port_guid)
{
	uint32_t before = f->memory.count;

	lid_memory_drop(&f->memory, port_guid);
	if (f->memory.count != before)
		modules_lids_changed(f->modules);
}

/* ---- The published present ----------------------------------------------------------------------- */

struct fabric_view fabric_view(const struct fabric *f)
{
	if (!f->topo)
		return (struct fabric_view){ 0 };
	return (struct fabric_view){ .topo = f->topo,
				     .lids = f->lids,
				     .tables = &f->tables,
				     .proof = &f->proof,
				     .engine = f->routed.engine,
				     .uneven = f->routed.uneven,
				     .cordons_overridden = route_cordons_bent(f->route),
				     .spanning = f->spanning,
				     .partitions = f->partitions,
				     .pkeys = f->pkeys,
				     .qos = &f->qos,
				     .sm_lid = f->sm_lid };
}

struct fabric_written fabric_written(const struct fabric *f)
{
	return (struct fabric_written){ .entries = f->figures.programmed.entries,
					.blocks = program_blocks_written(f->program) };
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
					 .proofs = f->proof_base,
					 .lids = &f->memory,
					 .sa = f->sa,
					 .state = f->store };
}

void *fabric_room(const struct fabric *f, const struct fabric_module *module)
{
	return modules_room(f->modules, module);
}

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

uint8_t *fabric_port_classes(const struct fabric *f)
{
	return fabric_classes_by_name(f, f->topo);
}

bool fabric_check(const struct fabric *f, struct check_report *report)
{
	return check_tables(f->topo, f->lids, &f->tables, report);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

static struct bringup_conf bringup_conf(const struct conf *c)
{
	struct bringup_conf out = { .gid_prefix = c->sm.subnet_prefix,
				    .mkey = c->sm.mkey,
				    .subnet_timeout = c->ports.subnet_timeout,
				    .max_op_vls = c->ports.max_op_vls,
				    .packet_life_time = c->ports.packet_life_time,
				    .hoq_life = c->ports.hoq_life,
				    .leaf_hoq_life = c->ports.leaf_hoq_life,
				    .vl_stall = c->ports.vl_stall,
				    .leaf_vl_stall = c->ports.leaf_vl_stall,
				    .sm_sl = c->ports.sm_sl,
				    .pkey_enforce_in = c->partition.enforce & CONF_ENFORCE_IN,
				    .pkey_enforce_out = c->partition.enforce & CONF_ENFORCE_OUT };

	qos_make(&c->qos, &out.qos);
	return out;
}

/* Nothing that comes from the fabric can be made to fit it. */
static uint64_t random_seed(void)
{
	uint64_t seed;

	if (getentropy(&seed, sizeof(seed)))
		abort(); /* no kernel that runs this lacks it */
	return seed;
}

/* All that the manager of a fabric works with. */
static void parts_init(struct fabric *f)
{
	const struct bringup_conf ports = bringup_conf(&f->conf);

	qos_make(&f->conf.qos, &f->qos);
	f->route = route_new();
	f->proof_base = check_base_new(random_seed());
	f->sweep = sweep_new(f->loop, f->mad);
	sweep_set_shy(f->sweep, true);
	f->bringup = bringup_new(f->loop, f->mad, sweep_inventory(f->sweep), &ports);
	f->program = program_new(f->loop, f->mad, sweep_inventory(f->sweep),
				 (uint8_t)f->conf.ports.packet_life_time);
	f->mft = mft_new(f->loop, f->mad, sweep_inventory(f->sweep));
	program_use_proofs(f->program, f->proof_base);
	fabric_adaptive_init(f);
	f->sa = sa_new(f->loop, f->mad, sweep_inventory(f->sweep), &(struct sa_conf){ 0 });
	fabric_mcast_init(f);
	fabric_watch_init(f);
	fabric_retry_init(f);
	fabric_verify_init(f);
	fabric_untrue_init(f);
	fabric_isolation_init(f);
	fabric_links_init(f);
	bringup_on_active(f->bringup, fabric_link_activated, f);
	fabric_audit_init(f);
	fabric_update_init(f);
	fabric_settle_init(f);
	f->operations = operations_new(f, f->store, fabric_status);
	modules_begin(f->modules, f);
}

static void parts_load(struct fabric *f)
{
	modules_restore(f->modules);
	fabric_adaptive_load(f);
	fabric_untrue_load(f);
	fabric_mcast_start(f); /* ahead of subscriptions: old groups are no news */
	if (!fabric_mcast_known(f))
		fabric_request_reregister(f, "multicast groups are not known");
	modules_load(f->modules);
}

static void parts_fini(struct fabric *f, bool all)
{
	operations_free(f->operations);
	modules_end(f->modules, all);
	fabric_isolation_fini(f);
	fabric_links_fini(f);
	fabric_watch_fini(f);
	fabric_retry_fini(f);
	fabric_held_fini(f);
	fabric_verify_fini(f);
	fabric_untrue_fini(f);
	fabric_settle_fini(f);
	fabric_update_fini(f);
	fabric_audit_fini(f);
	fabric_mcast_fini(f);
	sa_free(f->sa);
	fabric_adaptive_fini(f);
	mft_free(f->mft);
	program_free(f->program);
	bringup_free(f->bringup);
	sweep_free(f->sweep);
	route_free(f->route);
	check_base_free(f->proof_base);
	tables_fini(&f->tables);
	free(f->spanning);
	topo_unref(f->topo);
	lid_map_free(f->lids);
	lid_memory_fini(&f->memory);
	waiters_fini(&f->readers);
}

/*
 * As if fmd had ended and began anew, but that events, those who follow them and rooms that last go on: what files hold is kept and
 * read. Files are those of the role until now.
 */
static void renew(struct fabric *f)
{
	const char *why = "this subnet manager has changed its role meanwhile; see fmctl events";

	operations_abandon(f->operations, why);
	waiters_answer(&f->readers, NULL, why);
	modules_abandon(f->modules, why);
	modules_checkpoint(f->modules);
	state_store_detach(f->store);
	parts_fini(f, false);
	*f = (struct fabric){ .loop = f->loop,
			      .mad = f->mad,
			      .conf = f->conf,
			      .started_us = f->started_us,
			      .events = f->events,
			      .alerts = f->alerts,
			      .store = f->store,
			      .modules = f->modules,
			      .role = f->role,
			      .followers = f->followers };
	parts_init(f);
	parts_load(f);
	fabric_warn(f);
}

/* What another manager left is read before anything is written. */
static void read_what_was_left(struct fabric *f)
{
	if (f->role.next.reregister)
		fabric_request_reregister(f, "another manager was master");
	program_read_first(f->program);
}

/* Serves fabric_change_role(). */
static void change_role(void *arg)
{
	struct fabric *f = arg;
	const struct fabric_role_change *to = &f->role.next;
	bool master = to->role == FABRIC_ROLE_MASTER, anew = to->anew;

	if (anew || (fabric_is_master(f) && !master))
		renew(f);
	fabric_role_enter(f);
	if (fabric_took_over(f))
		read_what_was_left(f);
	modules_role(f->modules, fabric_role(f));
	if (master)
		sweep_set_shy(f->sweep, false);
	if (master && !anew) {
		fabric_take_in(f);
		update(f);
	} else if (master || fabric_role(f) == FABRIC_ROLE_ASKING) {
		fabric_request_sweep(f, "role changed");
		fabric_watch_schedule(f);
		fabric_look(f);
	}
}

static void saved(void *arg)
{
	struct fabric *f = arg;

	operations_saved(f->operations);
	fabric_update_unshare(f);
}

static void store_init(struct fabric *f)
{
	f->store = state_store_new(f->loop, f->conf.state_dir, f->alerts, f->events);
	state_store_retry(f->store, f->conf.retry_interval_ms * 1000ull);
	state_store_set_writable(f->store, false); /* until it is master */
	state_store_listen(f->store, saved, f);
}

struct fabric *fabric_new(struct loop *loop, struct mad *mad, const struct conf *conf,
			  fabric_modules rooms)
{
	struct fabric *f = mem_alloc(1, sizeof(*f));

	f->loop = loop;
	f->mad = mad;
	f->conf = *conf;
	f->started_us = loop_now_us(loop);
	f->events = event_log_new(EVENTS_KEPT);
	event_log_listen(f->events, fabric_report_event, f);
	f->alerts = alerts_new(loop, f->events);
	store_init(f);
	fabric_role_init(f, change_role);
	f->modules = modules_new(rooms);
	parts_init(f);
	return f;
}

void fabric_start(struct fabric *f)
{
	parts_load(f);
	modules_start(f->modules);
}

int fabric_check_conf(fabric_modules rooms, const struct conf *conf, char *err, size_t err_size)
{
	for (; *rooms; rooms++)
		if ((*rooms)->check && (*rooms)->check(conf, err, err_size))
			return -1;
	return 0;
}

void fabric_configure(struct fabric *f, const struct conf *conf)
{
	const struct bringup_conf ports = bringup_conf(conf);

	f->conf = *conf;
	qos_make(&f->conf.qos, &f->qos);
	bringup_configure(f->bringup, &ports);
	program_configure(f->program, conf->ports.packet_life_time);
	fabric_mcast_configure(f);
	state_store_retry(f->store, conf->retry_interval_ms * 1000ull);
	fabric_audit_configure(f);
	fabric_watch_schedule(f);
	modules_configure(f->modules);
	fabric_request_reroute(f, "configuration changed");
}

void fabric_free(struct fabric *f)
{
	if (!f)
		return;
	modules_checkpoint(f->modules);
	state_store_flush(f->store);
	parts_fini(f, true);
	modules_free(f->modules);
	fabric_role_fini(f);
	state_store_free(f->store);
	alerts_free(f->alerts);
	event_log_free(f->events);
	fabric_report_fini(f);
	free(f);
}
