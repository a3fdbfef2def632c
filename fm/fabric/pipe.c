/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/pipe.h"
#include "topology/base/mem.h"

/* ---- One set of merged requests; the scheduler serves it from the loop ----------------------- */

static void serve_soon(struct fabric *f, const char *what, const char *reason)
{
	log_line(LOG_CORE, LOG_DEBUG, "fabric: %s requested: %s", what, reason);
	loop_timer_set(f->requests.timer, 0);
}

void fabric_request_sweep(struct fabric *f, const char *reason)
{
	f->requests.sweep = true;
	serve_soon(f, "sweep", reason);
}

void fabric_request_refresh(struct fabric *f, guid_t node, const char *reason)
{
	guid_list_add(&f->requests.dirty, node);
	serve_soon(f, "refresh", reason);
}

void fabric_request_reroute(struct fabric *f, const char *reason)
{
	f->requests.reroute = true;
	serve_soon(f, "reroute", reason);
}

void fabric_request_retry(struct fabric *f, const char *reason)
{
	log_line(LOG_CORE, LOG_DEBUG, "fabric: retry requested: %s", reason);
	f->requests.retry = true;
}

void fabric_request_reregister(struct fabric *f, const char *reason)
{
	log_line(LOG_CORE, LOG_DEBUG, "fabric: registration anew requested: %s", reason);
	f->requests.reregister = true;
}

void fabric_report_hosts_changed(struct fabric *f)
{
	MODULES_CALL(f->kept.modules, published, FABRIC_HOSTS_CHANGED, NULL);
}

void fabric_request_lids_free(struct fabric *f, guid_t port_guid)
{
	lid_memory_drop(&f->memory, port_guid);
}

void fabric_request_improvement(struct fabric *f, const char *reason)
{
	serve_soon(f, "improvement", reason);
}

bool fabric_requests_wait(const struct fabric *f)
{
	return f->requests.sweep || f->requests.reroute || f->requests.dirty.count;
}

void fabric_publish_partitions(struct fabric *f, const struct partition_set *set,
			       const struct pkey_map *pkeys)
{
	f->now.partitions = set;
	f->now.pkeys = pkeys;
	bringup_set_pkeys(f->bringup, pkeys);
}

void fabric_request_reregister_port(struct fabric *f, guid_t node, uint8_t port)
{
	bringup_reregister_port(f->bringup, node, port);
}

/* ---- The role in force, and the change that waits for the loop; fabric.c serves that --------- */

static const char *role_name(enum fabric_role role)
{
	static const char *const names[] = {
		[FABRIC_ROLE_AWAY] = "away",
		[FABRIC_ROLE_ASKING] = "asking",
		[FABRIC_ROLE_LOCKED_OUT] = "locked out",
		[FABRIC_ROLE_STANDBY] = "standby",
		[FABRIC_ROLE_MASTER] = "master",
	};

	return names[role];
}

enum fabric_role fabric_role(const struct fabric *f)
{
	return f->role->now;
}

bool fabric_is_master(const struct fabric *f)
{
	return f->role->now == FABRIC_ROLE_MASTER;
}

bool fabric_observes(const struct fabric *f)
{
	return f->conf.sm.observe ||
	       (f->role->now == FABRIC_ROLE_STANDBY && !*f->conf.mirror.peers);
}

bool fabric_may_sweep(const struct fabric *f)
{
	return !f->role->paused && f->role->now != FABRIC_ROLE_AWAY &&
	       (f->role->now != FABRIC_ROLE_STANDBY || fabric_observes(f));
}

guid_t fabric_master(const struct fabric *f)
{
	return f->role->now == FABRIC_ROLE_STANDBY ? f->role->master : 0;
}

bool fabric_took_over(const struct fabric *f)
{
	return f->role->took_over;
}

bool fabric_keeps_lid(const struct fabric *f, const struct inv_node *node, unsigned num)
{
	bool runs = false;

	if (f->role->was_master || node->gone || node->silent ||
	    (f->role->followed_lid && node->ports[num].sm_lid != f->role->followed_lid))
		return false;
	for (unsigned p = num ? num : 1; !runs && p <= (num ? num : node->nports); p++)
		runs = node->ports[p].link_up && node->ports[p].state >= TOPO_ARMED;
	return runs;
}

static void keep_sets_back(struct fabric *f)
{
	mad_set_quiet(f->mad, f->role->paused || (f->role->now != FABRIC_ROLE_ASKING &&
						  f->role->now != FABRIC_ROLE_MASTER));
}

void fabric_pause(struct fabric *f, bool on, const char *reason)
{
	log_line(LOG_CORE, LOG_DEBUG, "fabric: %s: %s", on ? "paused" : "goes on", reason);
	f->role->paused = on;
	f->role->resumes = false;
	keep_sets_back(f);
}

void fabric_change_role(struct fabric *f, const struct fabric_role_change *change,
			const char *reason)
{
	bool anew = change->anew || (f->role->waits && f->role->next.anew);

	log_line(LOG_CORE, LOG_DEBUG, "fabric: role %s, from the loop %s: %s",
		 role_name(f->role->now), role_name(change->role), reason);
	f->role->next = *change;
	f->role->next.anew = anew;
	f->role->waits = f->role->resumes = true;
	loop_timer_set(f->role->timer, 0);
}

void fabric_role_enter(struct fabric *f)
{
	f->role->now = f->role->next.role;
	f->role->took_over = f->role->next.took_over;
	f->role->was_master = f->role->next.was_master;
	f->role->followed_lid = f->role->next.followed_lid;
	f->role->master = f->role->next.master;
	f->role->paused &= !f->role->resumes;
	f->role->waits = false;
	keep_sets_back(f);
	state_set_writable(f->kept.state, fabric_is_master(f));
	event_rows_hold(f->kept.events, !fabric_is_master(f));
}

void fabric_role_init(struct fabric *f, loop_fn *serve)
{
	f->role = mem_new(f->role);
	f->role->timer = loop_timer_new(f->loop, serve, f);
	mad_set_observer(f->mad, f->conf.sm.observe);
	keep_sets_back(f);
}

void fabric_role_fini(struct fabric *f)
{
	loop_timer_free(f->role->timer);
	free(f->role);
}

/* ---- Progress -------------------------------------------------------------------------------- */

bool fabric_sweep_running(const struct fabric *f)
{
	return sweep_busy(f->sweep);
}

bool fabric_updating(const struct fabric *f)
{
	return f->progress.updating;
}

bool fabric_programming(const struct fabric *f)
{
	return f->progress.programming;
}

bool fabric_is_settled(const struct fabric *f)
{
	return !f->progress.due && !fabric_updating(f);
}

bool fabric_is_up(const struct fabric *f)
{
	return f->progress.state == FABRIC_UP;
}

bool fabric_is_quiet(const struct fabric *f)
{
	return f->progress.state != FABRIC_STARTING &&
	       (fabric_is_master(f) || fabric_observes(f)) && !f->progress.programming &&
	       !f->progress.bringing_up && !fabric_updating(f) && !fabric_requests_wait(f) &&
	       !fabric_sweep_running(f);
}

uint64_t fabric_quiet_since_us(const struct fabric *f)
{
	return fabric_is_up(f) && fabric_is_quiet(f) ? f->progress.settled_us : 0;
}

void fabric_note_sweep(struct fabric *f, const struct sweep_result *result)
{
	f->figures->sweep_smps = result->smps;
	f->figures->silent = result->silent;
	f->figures->partial = result->partial;
}

const struct program_result *fabric_last_programmed(const struct fabric *f)
{
	return &f->figures->programmed;
}

/* ---- What is published, as rooms and operators see it ---------------------------------------- */

struct fabric_view fabric_view(const struct fabric *f)
{
	const struct publication *p = &f->now;

	if (!p->topo)
		return (struct fabric_view){ 0 };
	return (struct fabric_view){ .topo = p->topo,
				     .lids = p->lids,
				     .tables = &p->tables,
				     .proof = &p->proof,
				     .engine = p->routed.engine,
				     .uneven = p->routed.uneven,
				     .cordons_overridden = p->routed.cordons_overridden,
				     .spanning = p->spanning,
				     .partitions = p->partitions,
				     .pkeys = p->pkeys,
				     .qos = &p->qos,
				     .active_decides = p->links.active_decides,
				     .sm_lid = p->sm_lid };
}

struct fabric_written fabric_written(const struct fabric *f)
{
	return (struct fabric_written){ .entries = f->figures->programmed.entries,
					.blocks = program_blocks_written(f->program) };
}

/* ---- View ------------------------------------------------------------------------------------ */

uint32_t fabric_view_port_of_lid(const struct fabric_view *view, uint16_t lid)
{
	return view->lids && lid && lid <= view->lids->top ? view->lids->port_of_lid[lid]
							   : TOPO_NONE;
}

const char *fabric_view_name_of_lid(const struct fabric_view *view, uint16_t lid)
{
	uint32_t port = fabric_view_port_of_lid(view, lid);

	return port == TOPO_NONE ? "unknown" : view->topo->nodes[view->topo->ports[port].node].name;
}

static bool find_partition(const void *arg, const char *name, unsigned *pkey)
{
	const struct partition *partition = partition_find_name(arg, name);

	*pkey = partition ? partition->base : 0;
	return partition;
}

struct what_scope fabric_view_scope(const struct fabric_view *view)
{
	return (struct what_scope){ .topo = view->topo,
				    .port_of_lid = view->lids ? view->lids->port_of_lid : NULL,
				    .top_lid = view->lids ? view->lids->top : 0,
				    .partition = view->partitions ? find_partition : NULL,
				    .partition_arg = view->partitions };
}
