/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Who is master, and what follows for the role: this room alone on a simulated fabric, with a pipe
 * that only looks like one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/keys/lookup.h"
#include "fm/sa/sa.h"
#include "fm/sm/module.h"
#include "fm/sm/election.h"
#include "fm/sm/module_own.h"
#include "fm/sweep/sweep.h"
#include "tests/fabric/double.h"
#include "tests/lib/fake_pipe.h"
#include "topology/generate/generate.h"

#define SECOND_US 1000000ull

struct room {
	struct fabric f;
	struct topo *design;
	struct double_fabric *hw;
	struct m_keys *keys;
	bool accepted; /* what swept() said to the latest sweep */
	unsigned sweeps;
};

static guid_t host(const struct room *r, unsigned number)
{
	return r->design->nodes[r->design->nswitches + number].guid;
}

static void begin(struct room *r)
{
	static const struct mad_conf mad = {
		.window_max = 64, .window_device = 16, .timeout_ms = 200, .retries = 3
	};
	static const unsigned m[] = { 4, 2 }, w[] = { 1, 2 }, p[] = { 1, 1 };
	struct fabric_services *s = &r->f.services;
	char err[256];

	*r = (struct room){ .design = generate_pgft(2, m, w, p, err, sizeof(err)) };
	assert_non_null(r->design);
	fake_pipe_prepare(&r->f, &sm_module, NULL, NULL, NULL);
	r->f.role.now = FABRIC_ROLE_AWAY;
	r->hw = double_new(s->loop, r->design, host(r, 0), 1, NULL);
	s->mad = mad_new(s->loop, double_io(r->hw), &mad);
	s->sweep = sweep_new(s->loop, s->mad);
	r->keys = m_keys_new();
	s->inventory = sweep_inventory(s->sweep);
	key_lookup_begin(s->inventory, s->mad, r->keys);
	s->sa = sa_new(s->loop, s->mad, s->inventory, &(struct sa_conf){ 0 });
	r->f.room = r->f.module->init(&r->f);
}

static void end(struct room *r)
{
	struct fabric_services *s = &r->f.services;

	r->f.module->fini(r->f.room);
	r->f.room = NULL;
	sa_free(s->sa);
	key_lookup_end(s->inventory);
	sweep_free(s->sweep);
	mad_free(s->mad);
	double_free(r->hw);
	m_keys_free(r->keys);
	topo_unref(r->design);
	fake_pipe_fini(&r->f);
}

/* What the pipe does with a change that was asked for. */
static void serve(struct room *r)
{
	assert_true(r->f.role.changes > 0);
	r->f.role.now = r->f.role.next.role;
	r->f.role.paused = false;
	r->f.role.changes = 0;
	r->f.module->role(r->f.room, r->f.role.now, FABRIC_ROLE_IN_FORCE);
}

static void swept(void *arg, const struct sweep_result *result)
{
	struct room *r = arg;

	if (result->rest)
		return;
	assert_int_equal(result->error, 0);
	r->sweeps++;
	r->accepted = !r->f.module->swept(
		r->f.room, &(struct fabric_swept){ .step = FABRIC_SWEEP_ENDED, .result = result });
}

static void sweep(struct room *r)
{
	r->f.module->swept(r->f.room, &(struct fabric_swept){ .step = FABRIC_SWEEP_BEGINS });
	sweep_discover(r->f.services.sweep, swept, r);
	fake_run_for(&r->f, SECOND_US / 2);
	assert_false(sweep_busy(r->f.services.sweep));
}

/* The port has a link, and the role that follows is served. */
static void enter(struct room *r)
{
	r->f.module->load(r->f.room, FABRIC_START);
	fake_run_for(&r->f, 100000);
	assert_int_equal(r->f.role.changes, 1);
	assert_int_equal(r->f.role.next.role, FABRIC_ROLE_ASKING);
	serve(r);
}

static void meet(struct room *r, unsigned number, enum sm_state state, uint8_t priority)
{
	const struct wire_sm_info info = { .guid = host(r, number) + 1,
					   .sm_key = ELECTION_PUBLIC_KEY,
					   .state = (uint8_t)state,
					   .priority = priority };

	double_set_sm(r->hw, host(r, number), 1, &info);
}

static void become_master(struct room *r)
{
	enter(r);
	sweep(r);
	assert_int_equal(r->f.role.next.role, FABRIC_ROLE_MASTER);
	serve(r);
}

static const char *refusal(struct room *r)
{
	return sm_refuses(&r->f);
}

static void without_another_manager_it_is_master_of_what_was_swept(void **state)
{
	struct room r;

	begin(&r);
	enter(&r);
	sweep(&r);
	assert_true(r.accepted);
	assert_int_equal(r.f.role.changes, 1);
	assert_int_equal(r.f.role.next.role, FABRIC_ROLE_MASTER);
	assert_false(r.f.role.next.anew || r.f.role.next.took_over || r.f.role.next.reregister);
	assert_int_equal(fake_events(&r.f, "master", NULL), 0);
	assert_null(r.f.module->admit(r.f.room, NULL));
	end(&r);
}

static void it_stands_by_for_a_master_and_nothing_is_begun_before_that(void **state)
{
	struct room r;

	begin(&r);
	meet(&r, 5, SM_MASTER, 3);
	enter(&r);
	sweep(&r);
	assert_int_equal(r.f.role.next.role, FABRIC_ROLE_STANDBY);
	assert_true(r.f.role.paused);
	serve(&r);
	assert_int_equal(fake_events(&r.f, "standby", NULL), 1);
	assert_non_null(strstr(refusal(&r), "is standby"));
	fake_run_for(&r.f, 20 * SECOND_US);
	assert_int_equal(r.f.role.changes, 0); /* the master answers its polls */
	end(&r);
}

static void a_silent_master_is_succeeded_and_its_hosts_register_anew(void **state)
{
	struct room r;

	begin(&r);
	meet(&r, 5, SM_MASTER, 3);
	enter(&r);
	sweep(&r);
	serve(&r);
	double_set_sm_silent(r.hw, host(&r, 5), 1);
	fake_run_for(&r.f, 120 * SECOND_US);
	assert_int_equal(r.f.role.next.role, FABRIC_ROLE_ASKING);
	assert_true(r.f.role.next.anew);
	serve(&r);
	double_set_sm(r.hw, host(&r, 5), 1, NULL);
	sweep(&r);
	assert_int_equal(r.f.role.next.role, FABRIC_ROLE_MASTER);
	assert_true(r.f.role.next.took_over && r.f.role.next.reregister && !r.f.role.next.anew);
	serve(&r);
	assert_int_equal(fake_events(&r.f, "master", NULL), 1);
	r.f.module->settled(r.f.room, FABRIC_SETTLED);
	assert_int_equal(fake_events(&r.f, "take-over", NULL), 1);
	end(&r);
}

static void a_higher_standby_gets_a_handover_and_one_that_is_not_taken_ends_the_pause(void **state)
{
	unsigned steps = 0;
	struct room r;

	begin(&r);
	become_master(&r);
	meet(&r, 5, SM_STANDBY, 15);
	sweep_discover(r.f.services.sweep, swept, &r);
	while (!fake_events(&r.f, "handover", NULL) && steps++ < 100000)
		fake_run_for(&r.f, 5);
	assert_int_equal(fake_events(&r.f, "handover", NULL), 1);
	assert_true(r.f.role.paused);
	assert_true(fabric_is_master(&r.f));
	fake_run_for(&r.f, 5 * SECOND_US); /* the simulated manager refuses it */
	assert_int_equal(fake_events(&r.f, "handover", NULL), 2);
	assert_false(r.f.role.paused);
	assert_int_equal(r.f.asked.retries, 1);
	assert_int_equal(r.f.role.changes, 0);
	r.f.module->settled(r.f.room, FABRIC_SETTLED);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(fake_events(&r.f, "handover", NULL), 2); /* not at once again */
	end(&r);
}

static void who_was_met_by_a_master_is_asked_before_an_update(void **state)
{
	const struct sweep_result result = { .another_sm = true },
				  fault = { .another_sm = true, .fell = 1 };
	struct room r;

	begin(&r);
	become_master(&r);
	meet(&r, 5, SM_STANDBY, 0);
	sweep_discover(r.f.services.sweep, swept, &r);
	fake_run_for(&r.f, SECOND_US / 2);
	assert_int_equal(r.f.asked.reroutes, 1); /* behind the answer */
	assert_null(r.f.module->admit(r.f.room, NULL));
	double_set_sm(r.hw, host(&r, 6), 1, NULL);
	meet(&r, 6, SM_STANDBY, 0);
	double_set_sm_silent(r.hw, host(&r, 6), 1);
	inventory_find(r.f.services.inventory, host(&r, 6))->ports[1].capmask |= WIRE_CAP_IS_SM;
	assert_null(r.f.module->swept(
		r.f.room, &(struct fabric_swept){ .step = FABRIC_SWEEP_ENDED, .result = &result }));
	assert_non_null(r.f.module->admit(r.f.room, NULL));
	assert_null(r.f.module->swept(
		r.f.room, &(struct fabric_swept){ .step = FABRIC_SWEEP_ENDED,
						  .result = &fault })); /* a fault does not wait */
	assert_null(r.f.module->admit(r.f.room, NULL));
	end(&r);
}

static void foreign_keys_lock_it_out_until_they_are_ours(void **state)
{
	struct room r;

	begin(&r);
	r.f.conf.sm.mkey = 0;
	for (uint32_t n = 0; n < r.design->nswitches; n++)
		double_hold_mkey(r.hw, r.design->nodes[n].guid, 0, 0x77, 0, 0);
	enter(&r);
	sweep(&r);
	assert_int_equal(r.f.role.next.role, FABRIC_ROLE_LOCKED_OUT);
	serve(&r);
	assert_non_null(strstr(refusal(&r), "M_Key"));
	sweep(&r);
	assert_int_equal(r.f.role.changes, 0);
	r.f.conf.sm.mkey = 0x77;
	m_keys_configure(r.keys, &(struct m_key_conf){ .key = 0x77 });
	r.f.module->configure(r.f.room);
	assert_int_equal(r.f.asked.sweeps, 1);
	sweep(&r);
	assert_int_equal(r.f.role.next.role, FABRIC_ROLE_MASTER);
	serve(&r);
	assert_null(refusal(&r));
	end(&r);
}

/* One sixth shows another key, one sixth hides what can't be ours: together they are too many. */
static void hidden_keys_that_cannot_be_ours_count_as_foreign_ones(void **state)
{
	struct room r;

	begin(&r);
	r.f.conf.sm.mkey = 0;
	assert_int_equal(r.design->nnodes, 12);
	for (unsigned number = 1; number <= 2; number++)
		double_hold_mkey(r.hw, host(&r, number), 1, 0x77, 0, 0);
	for (unsigned number = 3; number <= 4; number++)
		double_hold_mkey(r.hw, host(&r, number), 1, 0x88, 1, 0);
	enter(&r);
	sweep(&r);
	assert_int_equal(r.f.role.next.role, FABRIC_ROLE_LOCKED_OUT);
	end(&r);
}

/* An hour that the machine was suspended: only a standby can have become master meanwhile. */
static void a_master_that_stood_still_asks_first_where_a_standby_is_known(void **state)
{
	struct sm_room *room;
	struct room r;

	begin(&r);
	become_master(&r);
	room = r.f.room;
	room->still.beat_us -= 3600 * SECOND_US;
	sm_still_check(room);
	assert_false(r.f.role.paused);
	assert_int_equal(fake_events(&r.f, "stood-still", NULL), 0);
	meet(&r, 5, SM_STANDBY, 0);
	sweep(&r);
	fake_run_for(&r.f, 10000);
	assert_false(r.f.role.paused);
	room->still.beat_us -= 3600 * SECOND_US;
	sm_still_check(room);
	assert_true(r.f.role.paused);
	assert_int_equal(fake_events(&r.f, "stood-still", NULL), 1);
	end(&r);
}

static void assert_is_told_without_a_device(const struct room *r)
{
	json_t *doc = json_pack("{ss sb}", "state", "up", "fabric_up", true);

	r->f.module->status(r->f.room, doc);
	assert_string_equal(json_string_value(json_object_get(doc, "state")), "no-device");
	assert_string_equal(json_string_value(json_object_get(doc, "role")), "none");
	assert_string_equal(json_string_value(json_object_get(doc, "sm")), "discovering");
	assert_true(json_is_false(json_object_get(doc, "fabric_up")));
	json_decref(doc);
}

static bool told_first;

/* It is told before the role is left: who looks in between sees one state, not a half of each. */
static void told_of_the_device(void *arg, const json_t *event)
{
	struct room *r = arg;

	if (strcmp(json_string_value(json_object_get(event, "kind")), "alert") != 0)
		return;
	assert_is_told_without_a_device(r);
	event_log_listen(r->f.services.events, NULL, NULL);
	told_first = true;
}

static void without_its_device_it_is_away_and_what_was_swept_is_of_no_use(void **state)
{
	const struct sweep_result result = { 0 };
	struct room r;

	begin(&r);
	become_master(&r);
	told_first = false;
	event_log_listen(r.f.services.events, told_of_the_device, &r);
	double_unplug(double_io(r.hw), true);
	fake_run_for(&r.f, 3 * SECOND_US);
	assert_true(told_first);
	assert_true(r.f.role.paused);
	assert_int_equal(r.f.role.next.role, FABRIC_ROLE_AWAY);
	assert_true(r.f.role.next.anew);
	serve(&r);
	assert_non_null(strstr(
		r.f.module->swept(r.f.room, &(struct fabric_swept){ .step = FABRIC_SWEEP_ENDED,
								    .result = &result }),
		"fmd manages nothing until the port is available"));
	assert_non_null(refusal(&r));
	assert_is_told_without_a_device(&r);
	double_unplug(double_io(r.hw), false);
	fake_run_for(&r.f, 3 * SECOND_US);
	assert_int_equal(r.f.role.next.role, FABRIC_ROLE_ASKING);
	end(&r);
}

struct handed {
	unsigned done;
	const char *error; /* the latest */
};

static void handed_cb(void *arg, json_t *result, const char *error)
{
	struct handed *handed = arg;

	handed->done++;
	handed->error = error;
}

static void an_operator_hands_over_to_a_standby_only(void **state)
{
	struct handed handed = { 0 };
	struct room r;

	begin(&r);
	become_master(&r);
	sm_hand_over(&r.f, NULL, handed_cb, &handed);
	assert_string_equal(handed.error, "no other subnet manager is known");
	meet(&r, 5, SM_STANDBY, 0);
	sweep(&r);
	fake_run_for(&r.f, 10000);
	sm_hand_over(&r.f, "elsewhere", handed_cb, &handed);
	assert_int_equal(handed.done, 2);
	sm_hand_over(&r.f, NULL, handed_cb, &handed);
	assert_int_equal(handed.done, 2);
	sm_hand_over(&r.f, NULL, handed_cb, &handed);
	assert_string_equal(handed.error, "a handover is in progress");
	fake_run_for(&r.f, 5 * SECOND_US);
	assert_int_equal(handed.done, 4);
	assert_string_equal(handed.error, "it refused the HANDOVER");
	assert_int_equal(fake_events(&r.f, "handover", NULL) > 0, 1);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_another_manager_it_is_master_of_what_was_swept),
		cmocka_unit_test(it_stands_by_for_a_master_and_nothing_is_begun_before_that),
		cmocka_unit_test(a_silent_master_is_succeeded_and_its_hosts_register_anew),
		cmocka_unit_test(
			a_higher_standby_gets_a_handover_and_one_that_is_not_taken_ends_the_pause),
		cmocka_unit_test(who_was_met_by_a_master_is_asked_before_an_update),
		cmocka_unit_test(foreign_keys_lock_it_out_until_they_are_ours),
		cmocka_unit_test(hidden_keys_that_cannot_be_ours_count_as_foreign_ones),
		cmocka_unit_test(a_master_that_stood_still_asks_first_where_a_standby_is_known),
		cmocka_unit_test(without_its_device_it_is_away_and_what_was_swept_is_of_no_use),
		cmocka_unit_test(an_operator_hands_over_to_a_standby_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
