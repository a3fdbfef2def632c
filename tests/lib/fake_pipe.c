/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fake_pipe.h"
#include "fm/sweep/sweep.h"

struct fabric_view fabric_view(const struct fabric *fabric)
{
	return fabric->view;
}

uint32_t fabric_own_node(const struct fabric *fabric)
{
	const struct inventory *inv = fabric->services.inventory;

	return inv && inv->local && fabric->view.topo
		       ? topo_find(fabric->view.topo, inv->local->guid)
		       : TOPO_NONE;
}

struct even *fabric_even(const struct fabric *fabric)
{
	return NULL;
}

struct fabric_written fabric_written(const struct fabric *fabric)
{
	return fabric->written;
}

struct fabric_services fabric_services(struct fabric *fabric)
{
	return fabric->services;
}

void fabric_request_sweep(struct fabric *fabric, const char *reason)
{
	fabric->asked.sweeps++;
	fabric->asked.reason = reason;
}

void fabric_request_refresh(struct fabric *fabric, guid_t node, const char *reason)
{
	fabric->asked.refreshes++;
	fabric->asked.refreshed = node;
	fabric->asked.reason = reason;
}

void fabric_request_reroute(struct fabric *fabric, const char *reason)
{
	fabric->asked.reroutes++;
	fabric->asked.reason = reason;
}

void fabric_request_retry(struct fabric *fabric, const char *reason)
{
	fabric->asked.retries++;
	fabric->asked.reason = reason;
}

void fabric_request_reregister(struct fabric *fabric, const char *reason)
{
	fabric->asked.reregisters++;
	fabric->asked.reason = reason;
}

void fabric_report_hosts_changed(struct fabric *fabric)
{
	fabric->asked.hosts_changed++;
}

void fabric_fault_found(struct fabric *fabric, const char *what, uint64_t when_us)
{
	fabric->asked.faults++;
}

void fabric_request_improvement(struct fabric *fabric, const char *reason)
{
	fabric->asked.improvements++;
	fabric->asked.reason = reason;
}

bool fabric_is_settled(const struct fabric *fabric)
{
	return !fabric->unsettled;
}

struct fabric_policy fabric_policy(const struct fabric *fabric, const struct topo *topo,
				   const struct fabric_module *without)
{
	struct fabric_policy policy = { 0 };

	if (fabric->module != without && fabric->module->route_input)
		fabric->module->route_input(fabric->room, topo, &policy);
	return policy;
}

void fabric_policy_fini(struct fabric_policy *policy)
{
	free(policy->classes);
	free(policy->overrides);
	*policy = (struct fabric_policy){ 0 };
}

/* One at a time. */
void fabric_operation_start(struct fabric *fabric, const struct fabric_operation_ops *ops,
			    void *data, waiter_fn *fn, void *arg)
{
	assert_null(fabric->operation.ops);
	fabric->operation.ops = ops;
	fabric->operation.data = data;
	fabric->operation.fn = fn;
	fabric->operation.arg = arg;
}

void fake_pipe_answer(struct fabric *f, const char *error)
{
	const struct fabric_operation_ops *ops = f->operation.ops;
	void *data = f->operation.data;
	json_t *result = NULL;

	assert_non_null(ops);
	f->operation.ops = NULL;
	if (error && ops->rollback)
		ops->rollback(data);
	else if (!error)
		result = ops->result ? ops->result(data) : json_object();
	if (ops->reported)
		ops->reported(data, result, error);
	f->operation.fn(f->operation.arg, result, error);
	json_decref(result);
	if (ops->free)
		ops->free(data);
}

void fabric_operation_done(struct fabric *fabric, json_t *result, waiter_fn *fn, void *arg)
{
	fn(arg, result, NULL);
	json_decref(result);
}

void fabric_report_mft_written(struct fabric *fabric, const struct mft_result *result)
{
	fabric->asked.mft_written++;
}

bool fabric_requests_wait(const struct fabric *fabric)
{
	return false;
}

void fabric_hold_program(struct fabric *fabric)
{
	fabric->asked.held = true;
}

void fabric_request_program(struct fabric *fabric, const char *reason)
{
	fabric->asked.programs++;
	fabric->asked.reason = reason;
}

bool fabric_request_verification(struct fabric *fabric, unsigned ports, bool refused,
				 fabric_verified_fn *fn, void *arg)
{
	fabric->asked.verifications++;
	fabric->asked.ports = ports;
	fabric->asked.refused = refused;
	fabric->asked.verified = fn;
	return fabric->left;
}

bool fabric_is_master(const struct fabric *fabric)
{
	return !fabric->standby && fabric->role.now == FABRIC_ROLE_MASTER;
}

bool fabric_observes(const struct fabric *fabric)
{
	return false;
}

enum fabric_role fabric_role(const struct fabric *fabric)
{
	return fabric->role.now;
}

bool fabric_took_over(const struct fabric *fabric)
{
	return fabric->role.took_over;
}

/* In a test those of a manager that takes over run. */
bool fabric_keeps_lid(const struct fabric *fabric, const struct inv_node *node, unsigned num)
{
	return fabric->role.took_over;
}

void fabric_change_role(struct fabric *fabric, const struct fabric_role_change *change,
			const char *reason)
{
	fabric->role.next = *change;
	fabric->role.changes++;
	fabric->asked.reason = reason;
}

void fabric_pause(struct fabric *fabric, bool on, const char *reason)
{
	fabric->role.paused = on;
	fabric->asked.reason = reason;
}

void fabric_trap_received(struct fabric *fabric, const struct wire_notice *notice,
			  uint16_t from_lid, unsigned times, uint64_t came_us)
{
	fabric->asked.traps += times;
}

bool fabric_may_sweep(const struct fabric *fabric)
{
	return true;
}

bool fabric_sweep_running(const struct fabric *fabric)
{
	return false;
}

bool fabric_updating(const struct fabric *fabric)
{
	return fabric->updating;
}

bool fabric_programming(const struct fabric *fabric)
{
	return fabric->programming;
}

void fabric_request_lids_free(struct fabric *fabric, guid_t port_guid)
{
	lid_memory_drop(&fabric->lids, port_guid);
}

void fabric_publish_partitions(struct fabric *fabric, const struct partition_set *set,
			       const struct pkey_map *pkeys)
{
	fabric->view.partitions = set;
	fabric->view.pkeys = pkeys;
}

bool fabric_is_up(const struct fabric *fabric)
{
	return fabric->view.topo && !fabric->updating && !fabric->programming;
}

bool fabric_is_quiet(const struct fabric *fabric)
{
	return fabric_is_master(fabric) && fabric_is_up(fabric);
}

uint64_t fabric_quiet_since_us(const struct fabric *fabric)
{
	return fabric_is_quiet(fabric) ? 1 : 0;
}

void fabric_request_reregister_port(struct fabric *fabric, guid_t node, uint8_t port)
{
	fabric->asked.port_reregisters++;
	fabric->asked.refreshed = node;
}

void *fabric_room(const struct fabric *fabric, const struct fabric_module *module)
{
	return module == fabric->module ? fabric->room : NULL;
}

/*
 * ---- state_dir ----------------------------------------------------------------------------------
 */

static void fake_note_event(void *arg, const json_t *event)
{
	struct fabric *f = arg;
	const char *what = json_string_value(json_object_get(event, "what"));

	f->lost += !strcmp(json_string_value(json_object_get(event, "kind")), "alert") && what &&
		   !strcmp(what, "state-lost");
}

void fake_open_state(struct fabric *f)
{
	f->services.state =
		state_open(f->services.loop, f->folder, f->services.alerts, f->services.events);
}

/*
 * ---- Life ---------------------------------------------------------------------------------------
 */

void fake_stop(void *arg)
{
	loop_stop(arg);
}

void fake_run_for(struct fabric *f, uint64_t us)
{
	loop_timer_set(f->stop, us);
	assert_int_equal(loop_run(f->services.loop), 0);
}

/*
 * All but the room, beside what is given: members that are NULL are made here, or are NULL to the
 * room, too. topo: published, taken over, NULL = nothing is. A test that has more of its own sets
 * that, and begins the room then.
 */
static void fake_pipe_prepare_on(struct fabric *f, const struct fabric_module *module,
				 struct topo *topo, const struct fabric_services *given)
{
	struct loop *loop = given->loop ? given->loop : loop_new_simulated();
	struct lid_memory memory = { 0 };

	log_set_level(-1, LOG_ERR);
	*f = (struct fabric){ .module = module,
			      .services = *given,
			      .own_loop = !given->loop,
			      .role.now = FABRIC_ROLE_MASTER };
	conf_default(&f->conf);
	strcpy(f->folder, "/tmp/fmd-test-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	strcpy(f->conf.state_dir, f->folder);
	inventory_init(&f->inventory);
	sweep_open_columns(&f->inventory);
	f->services.loop = loop;
	f->services.conf = &f->conf;
	f->services.events = event_log_new(100);
	f->services.lids = &f->lids;
	event_log_listen(f->services.events, fake_note_event, f);
	f->services.alerts = alerts_new(loop, f->services.events);
	fake_open_state(f);
	if (!given->inventory)
		f->services.inventory = &f->inventory;
	if (!given->program)
		f->services.program = f->own_program =
			program_new(loop, given->mad, f->services.inventory, 18);
	f->stop = loop_timer_new(loop, fake_stop, loop);
	if (topo)
		f->view = (struct fabric_view){ .topo = topo, .lids = lid_plan(topo, &memory, 0) };
	lid_memory_fini(&memory);
}

void fake_pipe_prepare(struct fabric *f, const struct fabric_module *module, struct topo *topo,
		       struct mad *mad, struct sa *sa)
{
	fake_pipe_prepare_on(f, module, topo, &(struct fabric_services){ .mad = mad, .sa = sa });
}

void fake_pipe_init_on(struct fabric *f, const struct fabric_module *module, struct topo *topo,
		       const struct fabric_services *given)
{
	fake_pipe_prepare_on(f, module, topo, given);
	f->room = module->init(f);
}

void fake_pipe_init_sa(struct fabric *f, const struct fabric_module *module, struct topo *topo,
		       struct mad *mad, struct sa *sa)
{
	fake_pipe_prepare(f, module, topo, mad, sa);
	f->room = module->init(f);
}

void fake_pipe_init(struct fabric *f, const struct fabric_module *module, struct topo *topo)
{
	fake_pipe_init_sa(f, module, topo, NULL, NULL);
}

void fake_pipe_restart(struct fabric *f)
{
	state_flush(f->services.state);
	fake_pipe_kill(f);
}

void fake_pipe_kill(struct fabric *f)
{
	fake_pipe_end(f);
	fake_pipe_begin(f);
}

void fake_pipe_end(struct fabric *f)
{
	f->module->fini(f->room);
	inventory_fini(&f->inventory);
	inventory_init(&f->inventory);
	sweep_open_columns(&f->inventory);
	state_close(f->services.state);
	lid_memory_fini(&f->lids);
}

void fake_pipe_begin(struct fabric *f)
{
	fake_open_state(f);
	f->room = f->module->init(f);
}

void fake_take(struct fabric *f, const char *kind, const char *text)
{
	char *copy = mem_strdup(text), *rest = copy;

	state_take_begin(f->services.state, kind);
	while (state_take_lines(f->services.state, kind, &rest))
		;
	free(copy);
}

void fake_pipe_fini(struct fabric *f)
{
	char command[64];

	if (f->operation.ops && f->operation.ops->free)
		f->operation.ops->free(f->operation.data);
	if (f->room)
		f->module->fini(f->room);
	state_close(f->services.state);
	program_free(f->own_program);
	inventory_fini(&f->inventory);
	lid_memory_fini(&f->lids);
	snprintf(command, sizeof(command), "rm -r %s", f->folder);
	assert_int_equal(system(command), 0);
	loop_timer_free(f->stop);
	alerts_free(f->services.alerts);
	event_log_free(f->services.events);
	lid_map_free((struct lid_map *)f->view.lids);
	topo_unref(f->view.topo);
	if (f->own_loop)
		loop_free(f->services.loop);
}

unsigned fake_events(const struct fabric *f, const char *kind, const char **text)
{
	static char latest[512];
	json_t *all = event_log_json(f->services.events, 100), *event;
	unsigned count = 0;
	size_t i;

	json_array_foreach (all, i, event) {
		if (strcmp(json_string_value(json_object_get(event, "kind")), kind))
			continue;
		count++;
		snprintf(latest, sizeof(latest), "%s",
			 json_string_value(json_object_get(event, "text")));
	}
	json_decref(all);
	if (text)
		*text = latest;
	return count;
}
