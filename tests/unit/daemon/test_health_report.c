/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Health reports of programs beside fmd: a source as others are, for as long as its TTL; then
 * silence, which mends nothing. First the state machine alone with a time of the test's own, then
 * the whole daemon on the fabric double.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/nvswitch/intake_sources.h"
#include "fm/nvswitch/module.h"
#include "tests/lib/fabric_world.h"

#define S    SECOND_US
#define HOST "dgx-su01-05"

/* ---- The state machine ----------------------------------------------------------------------- */

struct one { /* host 0 has no exporter, host 1 has one, and 8 others make the guard quiet */
	struct health h;
	struct loop *loop; /* its time is brought to `now` before each report */
	uint64_t now;
};

static void step(struct one *it)
{
	health_step(&it->h, it->now);
}

static void tell_sources(struct one *it)
{
	health_sources_begin(&it->h);
	for (unsigned i = 1; i < 10; i++)
		health_source_add(&it->h, i, "exporter", NVSWITCH_PROVEN);
	health_sources_end(&it->h);
}

/* Time goes on, and the exporters answer that all is well. */
static void pass(struct one *it, unsigned seconds)
{
	const struct nvswitch_verdict well = { .system = NVSWITCH_SYSTEM_H100 };

	for (unsigned s = 0; s < seconds; s++) {
		it->now += S;
		for (unsigned i = 1; i < 10; i++)
			health_hear(&it->h, i, 0, &well, NULL, it->now);
		step(it);
	}
}

static struct one *one_new(void)
{
	struct one *it = calloc(1, sizeof(*it));
	char name[16];

	health_init(&it->h);
	it->h.conf = (struct conf_nvswitch){ .worsen_hold_ms = 30000,
					     .recover_hold_ms = 300000,
					     .poll_interval_ms = 15000,
					     .second_source = NVSWITCH_PROVEN,
					     .guard = 25 };
	it->loop = loop_new_simulated();
	it->now = loop_now_us(it->loop) + 1000 * S;
	for (unsigned i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "dgx-%02u", i);
		assert_int_equal(health_add(&it->h, name), i);
		it->h.hosts[i].present = true;
	}
	tell_sources(it);
	pass(it, 1);
	return it;
}

static void one_free(struct one *it)
{
	health_fini(&it->h);
	loop_free(it->loop);
	free(it);
}

static void nothing_cb(struct source_home *home)
{
}

static bool report(struct one *it, unsigned host, const char *source, enum nvswitch_state state,
		   uint32_t ttl_s)
{
	struct source_home home = { .loop = it->loop, .health = &it->h, .heard = nothing_cb };
	const struct health_report said = { source, it->h.hosts[host].name, nvswitch_states[state],
					    "overheated", ttl_s };
	struct loop_timer *now = loop_timer_new(it->loop, stop_cb, it->loop);
	char err[NVSWITCH_ERROR];
	bool taken;

	loop_timer_set(now, it->now - loop_now_us(it->loop));
	loop_run(it->loop);
	loop_timer_free(now);
	taken = !source_report_hear(&home, &said, err);
	step(it);
	return taken;
}

/* As the program that reports does it: every ten seconds. */
static void report_for(struct one *it, unsigned host, enum nvswitch_state state, unsigned seconds)
{
	for (unsigned s = 0; s < seconds; s += 10) {
		assert_true(report(it, host, "redfish", state, 60));
		pass(it, 10);
	}
}

static enum nvswitch_state state_of(const struct one *it, unsigned host)
{
	return it->h.hosts[host].state;
}

static void a_report_counts_once_it_has_lasted(void **state)
{
	struct one *it = one_new();

	for (unsigned host = 0; host < 2; host++) {
		report_for(it, host, NVSWITCH_HEALTHY, 40);
		report_for(it, host, NVSWITCH_NO_P2P, 30);
		assert_int_equal(state_of(it, host), NVSWITCH_NO_P2P);
		assert_string_equal(health_reason(&it->h.hosts[host]), "overheated");
		report_for(it, host, NVSWITCH_HEALTHY, 290);
		assert_int_equal(state_of(it, host), NVSWITCH_NO_P2P);
		report_for(it, host, NVSWITCH_HEALTHY, 20);
		assert_int_equal(state_of(it, host), NVSWITCH_HEALTHY);
	}
	one_free(it);
}

static void the_worst_of_all_sources_counts(void **state)
{
	struct one *it = one_new();

	for (unsigned s = 0; s < 40; s += 10) {
		assert_true(report(it, 1, "redfish", NVSWITCH_DEGRADED_LINK, 60));
		assert_true(report(it, 1, "gnmi", NVSWITCH_FATAL, 60));
		pass(it, 10);
	}
	assert_int_equal(it->h.hosts[1].nsources, 3);
	assert_int_equal(state_of(it, 1), NVSWITCH_FATAL);
	one_free(it);
}

static void a_report_that_is_not_renewed_is_silence_and_repairs_nothing(void **state)
{
	struct one *it = one_new();
	const struct health_source *s;

	report_for(it, 0, NVSWITCH_FATAL, 60);
	pass(it, 49); /* the last was ten seconds ago */
	assert_int_equal(state_of(it, 0), NVSWITCH_FATAL);
	assert_true(it->h.hosts[0].sources[0].up);
	pass(it, 1);
	s = &it->h.hosts[0].sources[0];
	assert_int_equal(state_of(it, 0), NVSWITCH_UNKNOWN);
	assert_false(s->up);
	assert_string_equal(s->error, "no report within its TTL of 60 s");
	pass(it, 10000);
	assert_int_equal(it->h.hosts[0].believed, NVSWITCH_FATAL);
	assert_int_equal(it->h.hosts[0].observed, NVSWITCH_FATAL);
	report_for(it, 0, NVSWITCH_HEALTHY, 310);
	assert_int_equal(it->h.hosts[0].believed, NVSWITCH_HEALTHY);
	one_free(it);
}

/* As of two exporters of one host: who is silent is left out while the other speaks. */
static void a_silent_report_does_not_outweigh_an_exporter_that_speaks(void **state)
{
	struct one *it = one_new();

	report_for(it, 1, NVSWITCH_FATAL, 60);
	assert_int_equal(state_of(it, 1), NVSWITCH_FATAL);
	pass(it, 50 + 299);
	assert_int_equal(state_of(it, 1), NVSWITCH_FATAL);
	pass(it, 1);
	assert_int_equal(state_of(it, 1), NVSWITCH_HEALTHY);
	one_free(it);
}

static void each_report_has_its_own_ttl(void **state)
{
	struct one *it = one_new();

	report(it, 0, "slow", NVSWITCH_HEALTHY, 3600);
	report(it, 0, "fast", NVSWITCH_HEALTHY, 5);
	pass(it, 5);
	assert_true(it->h.hosts[0].sources[0].up);
	assert_false(it->h.hosts[0].sources[1].up);
	pass(it, 3594);
	assert_true(it->h.hosts[0].sources[0].up);
	pass(it, 1);
	assert_false(it->h.hosts[0].sources[0].up);
	one_free(it);
}

static void a_source_that_can_not_tell_is_silent_at_once(void **state)
{
	struct one *it = one_new();

	report_for(it, 0, NVSWITCH_NO_P2P, 60);
	report(it, 0, "redfish", NVSWITCH_UNKNOWN, 60);
	assert_int_equal(state_of(it, 0), NVSWITCH_UNKNOWN);
	assert_string_equal(health_reason(&it->h.hosts[0]), "overheated");
	assert_int_equal(it->h.hosts[0].believed, NVSWITCH_NO_P2P);
	one_free(it);
}

static void exporters_that_are_configured_anew_leave_reports_alone(void **state)
{
	struct one *it = one_new();

	report(it, 1, "redfish", NVSWITCH_DEGRADED_LINK, 600);
	tell_sources(it);
	assert_int_equal(it->h.hosts[1].nsources, 2);
	assert_string_equal(it->h.hosts[1].sources[0].where, "exporter");
	assert_string_equal(it->h.hosts[1].sources[1].where, "health-report:redfish");
	pass(it, 31);
	assert_int_equal(state_of(it, 1), NVSWITCH_DEGRADED_LINK);
	one_free(it);
}

static void an_operators_clear_forgets_silent_sources_only(void **state)
{
	struct one *it = one_new();

	report(it, 0, "gone", NVSWITCH_FATAL, 5);
	report(it, 0, "here", NVSWITCH_HEALTHY, 600);
	pass(it, 60);
	health_override(&it->h, 0, NVSWITCH_UNKNOWN);
	step(it);
	assert_int_equal(it->h.hosts[0].nsources, 1);
	assert_string_equal(it->h.hosts[0].sources[0].where, "health-report:here");
	pass(it, 600);
	health_override(&it->h, 0, NVSWITCH_UNKNOWN);
	pass(it, 1);
	assert_int_equal(it->h.hosts[0].nsources, 0);
	assert_int_equal(it->h.hosts[0].believed, NVSWITCH_HEALTHY);
	one_free(it);
}

static void the_fifth_source_of_a_host_is_refused(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	struct one *it = one_new();

	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(report(it, 0, names[i], NVSWITCH_HEALTHY, 60), i < 4);
	assert_int_equal(it->h.hosts[0].nsources, 4);
	assert_true(report(it, 0, "d", NVSWITCH_FATAL, 60));
	one_free(it);
}

/* ---- The daemon ------------------------------------------------------------------------------ */

static void assert_taken(struct world *w, const char *state, const char *reason, double ttl_s)
{
	const struct health_report said = { "redfish", HOST, state, reason, ttl_s };
	char err[512] = "";
	json_t *answer = nvlink_hear_report(w->fabric, &said, err);

	assert_string_equal(err, "");
	assert_string_equal(json_string_value(json_object_get(answer, "host")), HOST);
	json_decref(answer);
}

/* The row of the host in `nvswitch`; the caller's. */
static json_t *row(const struct world *w)
{
	json_t *doc = nvlink_hosts(w->fabric), *host, *found = NULL;
	size_t i;

	json_array_foreach (json_object_get(doc, "hosts"), i, host)
		if (!strcmp(json_string_value(json_object_get(host, "host")), HOST))
			found = json_incref(host);
	json_decref(doc);
	assert_non_null(found);
	return found;
}

static void assert_row(const struct world *w, const char *state, const char *routed,
		       const char *evidence)
{
	json_t *host = row(w), *first = json_array_get(json_object_get(host, "evidence"), 0);

	assert_string_equal(json_string_value(json_object_get(host, "state")), state);
	assert_string_equal(json_string_value(json_object_get(host, "routed")), routed);
	if (evidence) {
		assert_string_equal(json_string_value(json_object_get(first, "text")), evidence);
		assert_string_equal(json_string_value(json_object_get(first, "kind")), "report");
		assert_string_equal(json_string_value(json_object_get(first, "source")),
				    "health-report:redfish");
	}
	json_decref(host);
}

static void a_report_lasts_and_a_restart_heals_nothing(void **state)
{
	struct world w;

	world_init_stopped(&w, pod(1));
	start_fabric(&w);
	run_for(&w, SECOND_US);
	assert_taken(&w, "fatal", "baseboard: power \x01lost", 600);
	run_for(&w, 120 * SECOND_US);
	assert_row(&w, "FATAL", "FATAL", "baseboard: power .lost");
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 1200 * SECOND_US);
	assert_row(&w, "UNKNOWN", "FATAL", NULL);
	json_t *host = row(&w);
	json_t *source = json_array_get(json_object_get(host, "sources"), 0);
	assert_string_equal(json_string_value(json_object_get(source, "error")),
			    "no report since fmd began");
	json_decref(host);
	for (unsigned i = 0; i < 10; i++) {
		assert_taken(&w, "HEALTHY", "", 60);
		run_for(&w, 50 * SECOND_US);
	}
	assert_row(&w, "HEALTHY", "HEALTHY", NULL);
	world_fini(&w);
}

static void a_long_reason_is_cut_between_characters(void **state)
{
	char reason[200] = "x";
	struct world w;

	world_init(&w, pod(1));
	for (unsigned i = 0; i < 90; i++)
		strcat(reason, "\u00e9");
	assert_taken(&w, "DEGRADED_LINK", reason, 600);
	run_for(&w, 60 * SECOND_US);
	reason[91] = '\0'; /* x and 45 of them */
	assert_row(&w, "DEGRADED_LINK", "DEGRADED_LINK", reason);
	world_fini(&w);
}

static void what_is_no_report_is_refused_and_changes_nothing(void **state)
{
	static const struct {
		const char *source, *host, *state, *reason;
		double ttl_s;
		const char *why;
	} bad[] = {
		{ "", HOST, "FATAL", "x", 60, "a source is a word" },
		{ "red fish", HOST, "FATAL", "x", 60, "a source is a word" },
		{ "123456789012345678901234567890123", HOST, "FATAL", "x", 60, "of up to 32" },
		{ "redfish", "moon", "FATAL", "x", 60, "the fabric has no host moon" },
		{ "redfish", HOST, "SICK", "x", 60, "unknown state SICK: HEALTHY" },
		{ "redfish", HOST, "FATAL", "", 60, "a reason is expected" },
		{ "redfish", HOST, "FATAL", "x", 0, "is not in 1..86400" },
		{ "redfish", HOST, "FATAL", "x", -1, "is not in 1..86400" },
		{ "redfish", HOST, "FATAL", "x", 86401, "is not in 1..86400" },
		{ "redfish", HOST, "FATAL", "x", 1e300, "is not in 1..86400" },
	};
	struct world w;

	world_init(&w, pod(1));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct health_report said = { bad[i].source, bad[i].host, bad[i].state,
						    bad[i].reason, bad[i].ttl_s };
		char err[512] = "";

		assert_null(nvlink_hear_report(w.fabric, &said, err));
		if (!strstr(err, bad[i].why))
			fail_msg("'%s' has no '%s'", err, bad[i].why);
	}
	json_t *host = row(&w);
	assert_int_equal(json_array_size(json_object_get(host, "sources")), 0);
	json_decref(host);
	world_fini(&w);
}

/* A line of the file that somebody corrupted is no report, and costs no other line. */
static void lines_that_are_no_reports_are_refused(void **state)
{
	static const char *const bad[] = { "source=a state=SICK ttl=5 text=x", "state=FATAL text=x",
					   "source=a state=FATAL ttl=5",
					   "source= state=FATAL text=x" };
	struct memory m = { 0 };
	struct memory_report report;
	char line[] = "source=9 state=FATAL ttl=5 text=a text=b\n";

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(memory_read(&m, "report", bad[i], &report));
	assert_true(memory_read(&m, "report", line, &report));
	assert_string_equal(report.text, "a text=b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_counts_once_it_has_lasted),
		cmocka_unit_test(the_worst_of_all_sources_counts),
		cmocka_unit_test(a_report_that_is_not_renewed_is_silence_and_repairs_nothing),
		cmocka_unit_test(a_silent_report_does_not_outweigh_an_exporter_that_speaks),
		cmocka_unit_test(each_report_has_its_own_ttl),
		cmocka_unit_test(a_source_that_can_not_tell_is_silent_at_once),
		cmocka_unit_test(exporters_that_are_configured_anew_leave_reports_alone),
		cmocka_unit_test(an_operators_clear_forgets_silent_sources_only),
		cmocka_unit_test(the_fifth_source_of_a_host_is_refused),
		cmocka_unit_test(a_report_lasts_and_a_restart_heals_nothing),
		cmocka_unit_test(a_long_reason_is_cut_between_characters),
		cmocka_unit_test(what_is_no_report_is_refused_and_changes_nothing),
		cmocka_unit_test(lines_that_are_no_reports_are_refused),
	};
	return cmocka_run_group_tests_name("health_report", tests, NULL, NULL);
}
