/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the room reports of hosts, with a pipe that only looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/cabling/module.h"
#include "fm/hosts/module.h"
#include "fm/links_out/module.h"
#include "fm/nvswitch/module.h"
#include "fm/perf/module.h"
#include "tests/lib/fabrics.h"
#include "tests/lib/fake_pipe.h"

#define SECOND_US 1000000ull
#define ILL	  5 /* the host that is not well */

/* What the other rooms say of hosts; they have no argument of the test's. */
static enum host_state ill_state;
static unsigned ill_hosts;

void nvlink_judge_host(const struct fabric *f, uint32_t host, struct host_verdict *v)
{
	if (host >= ILL && host < ILL + ill_hosts && ill_state != HOST_HEALTHY)
		host_verdict_add(v, ill_state, "NVLinks are ill");
}

void cabling_judge_host(const struct fabric *f, uint32_t host, struct host_verdict *v)
{
}

void links_out_judge_host(const struct fabric *f, uint32_t host, struct host_verdict *v)
{
}

void link_health_judge_host(const struct fabric *f, uint32_t host, struct host_verdict *v)
{
}

/* A pod is generated with links that nobody has activated. */
static struct topo *active_pod(void)
{
	struct topo *t = pod(1);

	for (uint32_t p = 0; p < t->nports; p++)
		((struct topo_port *)t->ports)[p].state = TOPO_ACTIVE;
	return t;
}

static void begin(struct fabric *f)
{
	ill_state = HOST_HEALTHY;
	ill_hosts = 1;
	fake_pipe_init(f, &hosts_module, active_pod());
	f->module->load(f->room, FABRIC_LOAD);
	f->module->settled(f->room, FABRIC_SETTLED);
	fake_run_for(f, SECOND_US);
}

static void become(struct fabric *f, enum host_state state)
{
	ill_state = state;
	f->module->published(f->room, FABRIC_HOSTS_CHANGED, NULL);
	fake_run_for(f, SECOND_US);
}

static json_int_t counted(const struct fabric *f, const char *verdict)
{
	json_t *doc = json_object();
	json_int_t count;

	f->module->status(f->room, doc);
	count = json_integer_value(json_object_get(json_object_get(doc, "host_verdicts"), verdict));
	json_decref(doc);
	return count;
}

/* The NVLinks' room has held the state already. */
static void what_nvlinks_make_of_a_host_is_one_event_within_a_second_and_so_is_its_end(void **state)
{
	struct fabric f;
	const char *text;

	begin(&f);
	become(&f, HOST_NO_P2P);
	assert_int_equal(fake_events(&f, "host", &text), 1);
	assert_string_equal(text, "host dgx-su01-06: NO_P2P, was HEALTHY: NVLinks are ill");
	fake_run_for(&f, 600 * SECOND_US);
	assert_int_equal(fake_events(&f, "host", NULL), 1);
	become(&f, HOST_HEALTHY);
	assert_int_equal(fake_events(&f, "host", &text), 2);
	assert_string_equal(text, "host dgx-su01-06: HEALTHY, was NO_P2P");
	fake_pipe_fini(&f);
}

/* No helper is there to run it, so each try fails, as while slurmctld is down. */
static void a_hook_that_was_not_delivered_is_an_alert_and_owed_over_a_restart(void **state)
{
	struct fabric f;
	const char *text;

	begin(&f);
	strcpy(f.conf.hosts.hook, "/bin/false");
	f.module->configure(f.room);
	become(&f, HOST_NO_P2P);
	assert_string_equal(alert_text(f.services.alerts, "host-hook", NULL),
			    "1 host's host_hook failed: dgx-su01-06");
	assert_int_equal(fake_events(&f, "host-hook", NULL), 1);
	fake_run_for(&f, 35 * SECOND_US);
	assert_int_equal(fake_events(&f, "host-hook", NULL), 3); /* after 10 s and 20 s more */
	fake_pipe_restart(&f);
	f.module->load(f.room, FABRIC_LOAD);
	f.module->settled(f.room, FABRIC_SETTLED);
	fake_run_for(&f, 2 * SECOND_US);
	assert_int_equal(fake_events(&f, "host", &text), 2);
	assert_non_null(strstr(text, "NO_P2P"));
	assert_int_equal(fake_events(&f, "host-hook", NULL), 4);
	fake_pipe_fini(&f);
}

static void verdicts_are_counted_at_once(void **state)
{
	struct fabric f;

	begin(&f);
	assert_int_equal(counted(&f, "HEALTHY"), 32);
	become(&f, HOST_FATAL);
	assert_int_equal(counted(&f, "HEALTHY"), 31);
	assert_int_equal(counted(&f, "FATAL"), 1);
	fake_pipe_fini(&f);
}

static void a_restart_reports_nothing_twice_and_misses_no_recovery(void **state)
{
	struct fabric f;

	begin(&f);
	become(&f, HOST_DEGRADED);
	fake_run_for(&f, 40 * SECOND_US);
	assert_int_equal(fake_events(&f, "host", NULL), 1);
	fake_pipe_restart(&f);
	f.module->load(f.room, FABRIC_LOAD);
	f.module->settled(f.room, FABRIC_SETTLED);
	fake_run_for(&f, 600 * SECOND_US);
	assert_int_equal(fake_events(&f, "host", NULL), 1);
	become(&f, HOST_HEALTHY);
	fake_run_for(&f, 61 * SECOND_US);
	assert_int_equal(fake_events(&f, "host", NULL), 2);
	fake_pipe_fini(&f);
}

static void nothing_is_reported_before_links_had_time_to_come_up(void **state)
{
	struct fabric f;

	ill_state = HOST_DEGRADED;
	ill_hosts = 1;
	fake_pipe_init(&f, &hosts_module, active_pod());
	f.module->load(f.room, FABRIC_LOAD);
	f.module->published(f.room, FABRIC_HOSTS_CHANGED, NULL);
	fake_run_for(&f, 600 * SECOND_US);
	assert_int_equal(fake_events(&f, "host", NULL), 0);
	f.module->settled(f.room, FABRIC_SETTLED);
	fake_run_for(&f, 40 * SECOND_US);
	assert_int_equal(fake_events(&f, "host", NULL), 1);
	fake_pipe_fini(&f);
}

static void many_that_change_alike_are_one_event(void **state)
{
	struct fabric f;
	const char *text;

	begin(&f);
	ill_hosts = 9;
	become(&f, HOST_FATAL);
	fake_run_for(&f, 31 * SECOND_US);
	assert_int_equal(fake_events(&f, "host", &text), 1);
	assert_string_equal(text, "9 hosts: FATAL: dgx-su01-06 dgx-su01-07 dgx-su01-08 "
				  "dgx-su01-09 dgx-su01-10 ..");
	fake_pipe_fini(&f);
}

static void very_many_that_are_cut_off_are_an_alert_and_not_reported(void **state)
{
	struct fabric f;

	begin(&f);
	ill_hosts = 9;
	become(&f, HOST_CUT_OFF);
	fake_run_for(&f, 600 * SECOND_US);
	assert_int_equal(fake_events(&f, "host", NULL), 0);
	assert_non_null(alert_text(f.services.alerts, "hosts-guard", NULL));
	ill_hosts = 8;
	become(&f, HOST_CUT_OFF);
	assert_int_equal(fake_events(&f, "host", NULL), 8);
	assert_null(alert_text(f.services.alerts, "hosts-guard", NULL));
	fake_pipe_fini(&f);
}

/* A publication in the middle of a pass: hosts may be others by then. */
static void a_pass_begins_anew_with_each_publication(void **state)
{
	struct fabric f;

	begin(&f);
	ill_state = HOST_FATAL;
	for (unsigned i = 0; i < 50; i++) {
		f.module->published(f.room, FABRIC_PUBLISHED, f.view.topo);
		fake_run_for(&f, SECOND_US / 4);
	}
	assert_int_equal(counted(&f, "FATAL"), 0);
	fake_run_for(&f, 31 * SECOND_US);
	assert_int_equal(counted(&f, "FATAL"), 1);
	assert_int_equal(fake_events(&f, "host", NULL), 1);
	fake_pipe_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_nvlinks_make_of_a_host_is_one_event_within_a_second_and_so_is_its_end),
		cmocka_unit_test(a_hook_that_was_not_delivered_is_an_alert_and_owed_over_a_restart),
		cmocka_unit_test(verdicts_are_counted_at_once),
		cmocka_unit_test(a_restart_reports_nothing_twice_and_misses_no_recovery),
		cmocka_unit_test(nothing_is_reported_before_links_had_time_to_come_up),
		cmocka_unit_test(many_that_change_alike_are_one_event),
		cmocka_unit_test(very_many_that_are_cut_off_are_an_alert_and_not_reported),
		cmocka_unit_test(a_pass_begins_anew_with_each_publication),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
