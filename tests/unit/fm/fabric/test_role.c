/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The role that the pipe keeps: what it allows, and changes that wait for the loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "fm/fabric/pipe.h"
#include "tests/fabric/double.h"
#include "topology/generate/generate.h"

struct pipe {
	struct fabric f; /* first: what serve() gets */
	char folder[32];
	struct topo *design;
	struct double_fabric *hw;
	struct fabric_role_change served; /* the latest */
	unsigned changes;
};

static void serve(void *arg)
{
	struct fabric *f = arg;
	struct pipe *p = (struct pipe *)f;

	p->served = f->role->next;
	p->changes++;
	fabric_role_enter(f);
}

static void stop(void *arg)
{
	loop_stop(arg);
}

static void run(struct pipe *p)
{
	struct loop_timer *timer = loop_timer_new(p->f.loop, stop, p->f.loop);

	loop_timer_set(timer, 1000);
	assert_int_equal(loop_run(p->f.loop), 0);
	loop_timer_free(timer);
}

static void begin(struct pipe *p)
{
	static const struct mad_conf mad = { .window_max = 4, .timeout_ms = 200, .retries = 1 };
	static const unsigned m[] = { 2, 2 }, w[] = { 1, 1 }, one[] = { 1, 1 };
	char err[256];

	log_set_level(-1, LOG_ERR);
	*p = (struct pipe){ .design = generate_pgft(2, m, w, one, err, sizeof(err)) };
	p->f.loop = loop_new_simulated();
	p->hw = double_new(p->f.loop, p->design, p->design->nodes[p->design->nswitches].guid, 1,
			   NULL);
	p->f.mad = mad_new(p->f.loop, double_io(p->hw), &mad);
	strcpy(p->folder, "/tmp/fmd-test-XXXXXX");
	assert_non_null(mkdtemp(p->folder));
	p->f.events = event_log_new(16);
	p->f.alerts = alerts_new(p->f.loop, p->f.events);
	p->f.kept.state = state_open(p->f.loop, p->folder, p->f.alerts, p->f.events);
	p->f.kept.events = event_rows_new(p->f.loop, p->f.kept.state, p->f.events, p->f.alerts);
	fabric_role_init(&p->f, serve);
}

static void end(struct pipe *p)
{
	char command[64];

	fabric_role_fini(&p->f);
	event_rows_free(p->f.kept.events);
	state_close(p->f.kept.state);
	alerts_free(p->f.alerts);
	event_log_free(p->f.events);
	snprintf(command, sizeof(command), "rm -r %s", p->folder);
	assert_int_equal(system(command), 0);
	mad_free(p->f.mad);
	double_free(p->hw);
	topo_unref(p->design);
	loop_free(p->f.loop);
}

static void change(struct pipe *p, enum fabric_role role, bool anew)
{
	fabric_change_role(&p->f, &(struct fabric_role_change){ .role = role, .anew = anew },
			   "test");
}

static void answered(void *arg, const struct mad_answer *answer)
{
	*(enum mad_result *)arg = answer->result;
}

/* A Set to the switch behind the own port: does it leave? */
static bool sets_leave(struct pipe *p)
{
	const struct mad_path path = { .hops = 1, .ports = { 1 } };
	enum mad_result result = MAD_TIMEOUT;

	mad_send(p->f.mad,
		 &(struct mad_request){ .path = &path,
					.method = WIRE_SET,
					.attr_id = WIRE_SWITCH_INFO,
					.once = true },
		 answered, &result);
	run(p);
	return result != MAD_SEND_FAILED;
}

static void what_each_role_allows(void **state)
{
	static const struct {
		enum fabric_role role;
		const char *peers;
		bool sweeps, sets, master;
	} rows[] = {
		{ FABRIC_ROLE_AWAY, "", false, false, false },
		{ FABRIC_ROLE_ASKING, "", true, true, false },
		{ FABRIC_ROLE_LOCKED_OUT, "", true, false, false },
		{ FABRIC_ROLE_STANDBY, "", true, false, false }, /* it observes */
		{ FABRIC_ROLE_STANDBY, "mgmt2:4710", false, false, false },
		{ FABRIC_ROLE_MASTER, "", true, true, true },
	};
	struct pipe p;

	begin(&p);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		strcpy(p.f.conf.mirror.peers, rows[i].peers);
		change(&p, rows[i].role, false);
		run(&p);
		assert_int_equal(fabric_role(&p.f), rows[i].role);
		assert_int_equal(fabric_may_sweep(&p.f), rows[i].sweeps);
		assert_int_equal(sets_leave(&p), rows[i].sets);
		assert_int_equal(fabric_is_master(&p.f), rows[i].master);
	}
	end(&p);
}

static void a_change_comes_from_the_loop(void **state)
{
	struct pipe p;

	begin(&p);
	change(&p, FABRIC_ROLE_ASKING, false);
	assert_int_equal(fabric_role(&p.f), FABRIC_ROLE_AWAY);
	assert_int_equal(p.changes, 0);
	run(&p);
	assert_int_equal(fabric_role(&p.f), FABRIC_ROLE_ASKING);
	assert_int_equal(p.changes, 1);
	end(&p);
}

static void of_several_changes_the_latest_counts_and_what_was_to_begin_anew_does(void **state)
{
	struct pipe p;

	begin(&p);
	change(&p, FABRIC_ROLE_AWAY, true);
	change(&p, FABRIC_ROLE_ASKING, false);
	run(&p);
	assert_int_equal(p.changes, 1);
	assert_int_equal(p.served.role, FABRIC_ROLE_ASKING);
	assert_true(p.served.anew);
	change(&p, FABRIC_ROLE_MASTER, false);
	run(&p);
	assert_false(p.served.anew);
	end(&p);
}

static void a_master_that_pauses_begins_nothing_and_is_still_master(void **state)
{
	struct pipe p;

	begin(&p);
	change(&p, FABRIC_ROLE_MASTER, false);
	run(&p);
	fabric_pause(&p.f, true, "test");
	assert_true(fabric_is_master(&p.f));
	assert_false(fabric_may_sweep(&p.f) || sets_leave(&p));
	fabric_pause(&p.f, false, "test");
	assert_true(fabric_may_sweep(&p.f) && sets_leave(&p));
	end(&p);
}

static void a_pause_ends_with_a_change_that_was_asked_for_behind_it_and_with_no_other(void **state)
{
	struct pipe p;

	begin(&p);
	change(&p, FABRIC_ROLE_MASTER, false);
	fabric_pause(&p.f, true, "the own port leaves");
	run(&p);
	assert_true(fabric_is_master(&p.f));
	assert_false(fabric_may_sweep(&p.f) || sets_leave(&p));
	change(&p, FABRIC_ROLE_ASKING, true);
	run(&p);
	assert_true(fabric_may_sweep(&p.f) && sets_leave(&p));
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_each_role_allows),
		cmocka_unit_test(a_change_comes_from_the_loop),
		cmocka_unit_test(
			of_several_changes_the_latest_counts_and_what_was_to_begin_anew_does),
		cmocka_unit_test(a_master_that_pauses_begins_nothing_and_is_still_master),
		cmocka_unit_test(
			a_pause_ends_with_a_change_that_was_asked_for_behind_it_and_with_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
