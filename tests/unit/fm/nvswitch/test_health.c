/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* States of hosts over time: hold-downs, the guard, batches, operators. Time is the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/nvswitch/state_monitor.h"

#define S	 1000000ull
#define HOSTS	 40
#define INTERVAL 15

struct world {
	struct health h;
	uint64_t now;
	unsigned changes, guards;
	bool guard_on;
	uint64_t next; /* as the latest step asked for */
};

static void step(struct world *w)
{
	bool guarded = w->h.guarded;

	w->next = health_step(&w->h, w->now);
	w->guards += w->h.guarded != guarded;
	w->guard_on = w->h.guarded;
	assert_true(!w->guard_on || w->h.bad > 1);
	for (unsigned i = 0; i < w->h.nhosts; i++) {
		w->changes += w->h.hosts[i].before != NVSWITCH_STATES;
		w->h.hosts[i].before = NVSWITCH_STATES;
	}
}

static void say(struct world *w, unsigned host, enum nvswitch_state state)
{
	struct nvswitch_verdict verdict = { .system = NVSWITCH_SYSTEM_H100 };
	const struct nvswitch_finding finding = { .state = (uint8_t)state, .text = "something" };

	if (state != NVSWITCH_HEALTHY)
		nvswitch_verdict_add(&verdict, &finding);
	health_hear(&w->h, host, 0, &verdict, NULL, w->now);
	step(w);
}

static void silent(struct world *w, unsigned host)
{
	health_hear(&w->h, host, 0, NULL, "500", w->now);
	step(w);
}

/* Time goes on, and every host but `but` says each interval what it said before. */
static void pass(struct world *w, unsigned seconds, unsigned but)
{
	for (unsigned i = 1; i <= seconds; i++) {
		w->now += S;
		for (unsigned h = 0; i % INTERVAL == 0 && h < w->h.nhosts; h++) {
			struct nvswitch_verdict same = w->h.hosts[h].sources[0].verdict;

			if (h != but)
				health_hear(&w->h, h, 0, &same, NULL, w->now);
		}
		step(w);
	}
}
#define NOBODY UINT_MAX

static struct world *world_new(unsigned hosts)
{
	struct world *w = calloc(1, sizeof(*w));

	health_init(&w->h);
	w->h.conf = (struct conf_nvswitch){
		.worsen_hold_ms = 30000,
		.recover_hold_ms = 300000,
		.poll_interval_ms = 15000,
		.guard = 25,
	};
	w->now = 1000 * S;
	for (unsigned i = 0; i < hosts; i++) {
		char name[16];

		snprintf(name, sizeof(name), "dgx-%02u", i);
		health_source_add(&w->h, health_add(&w->h, name), "exporter", NVSWITCH_PROVEN);
		w->h.hosts[i].present = true;
	}
	for (unsigned i = 0; i < hosts; i++)
		say(w, i, NVSWITCH_HEALTHY);
	w->changes = 0;
	return w;
}

static void world_free(struct world *w)
{
	health_fini(&w->h);
	free(w);
}

static enum nvswitch_state state_of(const struct world *w, unsigned host)
{
	return w->h.hosts[host].state;
}

/* ---- Hold-downs ------------------------------------------------------------------------------ */

static void a_fault_counts_once_it_has_lasted(void **state)
{
	struct world *w = world_new(HOSTS);

	say(w, 3, NVSWITCH_NO_P2P);
	assert_true(w->next <= 30 * S);
	pass(w, 29, NOBODY);
	assert_int_equal(state_of(w, 3), NVSWITCH_HEALTHY);
	pass(w, 1, NOBODY);
	assert_int_equal(state_of(w, 3), NVSWITCH_NO_P2P);
	assert_int_equal(w->h.hosts[3].believed, NVSWITCH_NO_P2P);
	assert_int_equal(w->changes, 1);
	assert_true(w->h.hosts[3].sources[0].verdict.findings[0].since_us == 1000 * S);
	world_free(w);
}

static void one_good_answer_between_starts_the_wait_again(void **state)
{
	struct world *w = world_new(HOSTS);

	say(w, 3, NVSWITCH_NO_P2P);
	pass(w, 20, NOBODY);
	say(w, 3, NVSWITCH_HEALTHY);
	pass(w, 1, NOBODY);
	say(w, 3, NVSWITCH_NO_P2P);
	pass(w, 29, NOBODY);
	assert_int_equal(state_of(w, 3), NVSWITCH_HEALTHY);
	pass(w, 1, NOBODY);
	assert_int_equal(state_of(w, 3), NVSWITCH_NO_P2P);
	world_free(w);
}

static void getting_still_worse_does_not_start_the_wait_again(void **state)
{
	struct world *w = world_new(HOSTS);

	say(w, 3, NVSWITCH_DEGRADED_LINK);
	pass(w, 20, NOBODY);
	say(w, 3, NVSWITCH_FATAL);
	pass(w, 10, NOBODY);
	assert_int_equal(state_of(w, 3), NVSWITCH_FATAL);
	world_free(w);
}

static void recovery_waits_longer(void **state)
{
	struct world *w = world_new(HOSTS);

	say(w, 3, NVSWITCH_NO_P2P);
	pass(w, 30, NOBODY);
	say(w, 3, NVSWITCH_HEALTHY);
	pass(w, 299, NOBODY);
	assert_int_equal(state_of(w, 3), NVSWITCH_NO_P2P);
	pass(w, 1, NOBODY);
	assert_int_equal(state_of(w, 3), NVSWITCH_HEALTHY);
	assert_int_equal(w->h.hosts[3].believed, NVSWITCH_HEALTHY);
	world_free(w);
}

/* ---- Silence --------------------------------------------------------------------------------- */

static void a_silent_source_makes_unknown_and_what_was_known_stands(void **state)
{
	struct world *w = world_new(HOSTS);

	say(w, 3, NVSWITCH_NO_P2P);
	pass(w, 30, NOBODY);
	silent(w, 3);
	assert_false(w->h.hosts[3].sources[0].up);
	assert_int_equal(state_of(w, 3), NVSWITCH_NO_P2P); /* not stale yet */
	pass(w, 45, 3);
	assert_int_equal(state_of(w, 3), NVSWITCH_UNKNOWN);
	pass(w, 1000, 3);
	assert_int_equal(w->h.hosts[3].believed, NVSWITCH_NO_P2P);
	say(w, 3, NVSWITCH_NO_P2P);
	assert_int_equal(state_of(w, 3), NVSWITCH_NO_P2P);
	world_free(w);
}

static void a_host_first_heard_of_when_bad_is_unknown_until_that_lasts(void **state)
{
	struct world *w = world_new(HOSTS);
	unsigned host = health_add(&w->h, "new");

	health_source_add(&w->h, host, "exporter", NVSWITCH_PROVEN);
	say(w, host, NVSWITCH_FATAL);
	assert_int_equal(state_of(w, host), NVSWITCH_UNKNOWN);
	pass(w, 30, NOBODY);
	assert_int_equal(state_of(w, host), NVSWITCH_FATAL);
	world_free(w);
}

static void the_state_before_a_restart_stands_until_disproved(void **state)
{
	struct world *w = world_new(0);
	unsigned host = health_add(&w->h, "old");

	health_source_add(&w->h, host, "exporter", NVSWITCH_PROVEN);
	health_remember(&w->h, host, NVSWITCH_NO_P2P, NVSWITCH_UNKNOWN);
	step(w);
	assert_int_equal(state_of(w, host), NVSWITCH_UNKNOWN);
	assert_int_equal(w->h.hosts[host].believed, NVSWITCH_NO_P2P);
	say(w, host, NVSWITCH_HEALTHY);
	pass(w, 299, NOBODY);
	assert_int_equal(w->h.hosts[host].believed, NVSWITCH_NO_P2P);
	pass(w, 1, NOBODY);
	assert_int_equal(w->h.hosts[host].believed, NVSWITCH_HEALTHY);
	world_free(w);
}

static void a_source_that_stays_keeps_its_state_when_sources_are_configured_anew(void **state)
{
	struct world *w = world_new(HOSTS);

	say(w, 3, NVSWITCH_NO_P2P);
	health_sources_begin(&w->h);
	for (unsigned i = 0; i < HOSTS; i++)
		health_source_add(&w->h, i, i == 4 ? "elsewhere" : "exporter", NVSWITCH_PROVEN);
	health_sources_end(&w->h);
	step(w);
	assert_true(w->h.hosts[3].sources[0].up);
	assert_false(w->h.hosts[4].sources[0].up);
	assert_int_equal(state_of(w, 5), NVSWITCH_HEALTHY);
	assert_int_equal(state_of(w, 4), NVSWITCH_UNKNOWN);
	pass(w, 30, NOBODY);
	assert_int_equal(state_of(w, 3), NVSWITCH_NO_P2P);
	world_free(w);
}

static void the_worst_of_several_sources_counts(void **state)
{
	struct world *w = world_new(HOSTS);
	unsigned second = health_source_add(&w->h, 3, "tray", NVSWITCH_PROVEN);
	const struct nvswitch_verdict bad = { .state = NVSWITCH_NO_P2P }, good = { 0 };

	health_hear(&w->h, 3, second, &bad, NULL, w->now);
	say(w, 3, NVSWITCH_HEALTHY);
	w->now += 30 * S;
	say(w, 3, NVSWITCH_HEALTHY);
	assert_int_equal(state_of(w, 3), NVSWITCH_NO_P2P);
	health_hear(&w->h, 3, second, &good, NULL, w->now);
	step(w);
	assert_int_equal(w->h.hosts[3].observed, NVSWITCH_HEALTHY);
	world_free(w);
}

/* ---- Batches --------------------------------------------------------------------------------- */

static void without_hold_downs_a_change_counts_at_once(void **state)
{
	struct world *w = world_new(HOSTS);

	w->h.conf.worsen_hold_ms = w->h.conf.recover_hold_ms = 0;
	say(w, 1, NVSWITCH_NO_P2P);
	assert_int_equal(state_of(w, 1), NVSWITCH_NO_P2P);
	say(w, 1, NVSWITCH_HEALTHY);
	assert_int_equal(state_of(w, 1), NVSWITCH_HEALTHY);
	world_free(w);
}

/* ---- The guard ------------------------------------------------------------------------------- */

static void too_many_at_once_are_all_shown_and_raise_the_guard(void **state)
{
	static const unsigned broken[] = { 9, 16, 32 };

	for (unsigned i = 0; i < 3; i++) {
		struct world *w = world_new(32);

		for (unsigned h = 0; h < broken[i]; h++)
			say(w, h, NVSWITCH_FATAL);
		assert_true(w->guard_on);
		pass(w, 600, NOBODY);
		assert_int_equal(w->changes, broken[i]);
		for (unsigned h = 0; h < 32; h++)
			assert_int_equal(state_of(w, h),
					 h < broken[i] ? NVSWITCH_FATAL : NVSWITCH_HEALTHY);
		assert_int_equal(w->guards, 1);
		world_free(w);
	}
}

static void one_host_of_a_small_fabric_is_never_held_by_the_guard(void **state)
{
	struct world *w = world_new(2);

	say(w, 0, NVSWITCH_NO_P2P);
	pass(w, 30, NOBODY);
	assert_int_equal(state_of(w, 0), NVSWITCH_NO_P2P);
	assert_int_equal(w->guards, 0);
	world_free(w);
}

/* ---- Causes ---------------------------------------------------------------------------------- */

/* NVSwitch 2 of a DGX H100 dies: what its exporter and its log say of it, in any order. */
static void the_cause_is_named_before_its_symptoms_and_the_gravest_remedy_asked_for(void **state)
{
	static const struct nvswitch_finding findings[] = {
		{ NVSWITCH_NO_P2P, NVSWITCH_IS_STATE, 0, NVSWITCH_RESET_GPU, 0, -1, 7, -1, 0, "",
		  "GPU 0: no NVLink to 7 of 7 GPUs, the first GPU 1", 0, 0, 0, 0, false },
		{ NVSWITCH_NO_P2P, NVSWITCH_IS_STATE, 0, NVSWITCH_REBOOT, 3, -1, 0, -1, 0, "",
		  "GPU 3: absent", 0, 0, 0, 0, false },
		{ NVSWITCH_NO_P2P, NVSWITCH_IS_EVENT, 2, NVSWITCH_RESET_GPU, 3, -1, 0, -1, 74, "",
		  "GPU 3: Xid 74", 0, 0, 0, 0, false },
		{ NVSWITCH_NO_P2P, NVSWITCH_IS_EVENT, 2, NVSWITCH_RESET_GPU, -1, 2, 0, 33, 20034,
		  "", "NVSwitch 2: SXid 20034", 0, 0, 0, 0, false },
		{ NVSWITCH_FATAL, NVSWITCH_IS_STATE, 0, NVSWITCH_REBOOT, -1, -1, 0, -1, 0, "",
		  "the fabric manager has not started, for every GPU", 0, 0, 0, 0, false },
	};
	struct nvswitch_verdict verdict = { .system = NVSWITCH_SYSTEM_H100 };
	struct world *w = world_new(HOSTS);

	for (unsigned i = 0; i < 5; i++) {
		if (findings[i].kind == NVSWITCH_IS_EVENT)
			memory_note(health_memory(&w->h, 1), &findings[i], EVENT_FROM_LOG, w->now);
		else
			nvswitch_verdict_add(&verdict, &findings[i]);
		health_hear(&w->h, 1, 0, &verdict, NULL, w->now);
		step(w);
		if (i < 4) /* each explains those before it */
			assert_string_equal(health_cause(&w->h.hosts[1])->text, findings[i].text);
	}
	assert_string_equal(health_cause(&w->h.hosts[1])->text, "NVSwitch 2: SXid 20034");
	assert_int_equal(health_remedy(&w->h.hosts[1]), NVSWITCH_REBOOT);
	world_free(w);
}

static void without_an_event_the_state_of_the_whole_host_is_its_cause(void **state)
{
	struct nvswitch_verdict verdict = { .system = NVSWITCH_SYSTEM_H100 };
	struct nvswitch_finding finding = {
		.state = NVSWITCH_NO_P2P, .gpu = 0, .sw = -1, .link = -1, .text = "GPU 0: failed"
	};
	struct world *w = world_new(HOSTS);

	nvswitch_verdict_add(&verdict, &finding);
	finding = (struct nvswitch_finding){
		.state = NVSWITCH_FATAL, .gpu = -1, .sw = -1, .link = -1, .text = "all failed"
	};
	nvswitch_verdict_add(&verdict, &finding);
	health_hear(&w->h, 1, 0, &verdict, NULL, w->now);
	pass(w, 60, NOBODY);
	assert_string_equal(health_reason(&w->h.hosts[1]), "all failed");
	world_free(w);
}

/* ---- The log --------------------------------------------------------------------------------- */

static struct sxid_event event_of(const char *text)
{
	struct sxid_event event;

	assert_true(sxid_read(text, strlen(text), &event));
	return event;
}

static void hear(struct world *w, unsigned host, const char *text)
{
	struct sxid_event event = event_of(text);

	health_hear_log(&w->h, host, &event, w->now);
	step(w);
}

#define FATAL_LINE "nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
#define SOFT_LINE  "nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 12028, Non-fatal, Link 61 x"

static void a_line_counts_until_the_driver_starts_anew(void **state)
{
	struct world *w = world_new(HOSTS);

	hear(w, 4, FATAL_LINE);
	pass(w, 30, NOBODY);
	assert_int_equal(state_of(w, 4), NVSWITCH_NO_P2P);
	pass(w, 600, NOBODY);
	assert_int_equal(state_of(w, 4), NVSWITCH_NO_P2P);
	hear(w, 4, "nvidia-nvlink: Nvlink Core is being initialized, major device number 234");
	pass(w, 300, NOBODY);
	assert_int_equal(state_of(w, 4), NVSWITCH_HEALTHY);
	world_free(w);
}

/* It can not flap. */
static void a_fatal_line_of_a_proven_log_counts_at_once(void **state)
{
	static const char *const lines[] = {
		FATAL_LINE, "NVRM: Xid (PCI:0000:15:00): 79, pid=1, GPU has fallen off the bus."
	};
	struct world *w = world_new(HOSTS);
	struct sxid_event event;

	for (unsigned i = 0; i < 2; i++) {
		event = event_of(lines[i]);
		health_hear_log(&w->h, 4 + i, &event, w->now);
		step(w);
		assert_int_equal(state_of(w, 4 + i), NVSWITCH_NO_P2P);
		assert_int_equal(w->changes, 1 + i);
	}
	event = event_of(SOFT_LINE);
	for (unsigned i = 0; i < 20; i++)
		health_hear_log(&w->h, 6, &event, w->now);
	step(w);
	assert_int_equal(w->changes, 2);
	world_free(w);
}

static void no_time_ends_what_a_line_said(void **state)
{
	struct world *w = world_new(HOSTS);

	hear(w, 4, FATAL_LINE);
	pass(w, 7 * 3600, NOBODY);
	assert_int_equal(state_of(w, 4), NVSWITCH_NO_P2P);
	health_override(&w->h, 4, NVSWITCH_UNKNOWN); /* an operator clears it */
	step(w);
	pass(w, 301, NOBODY);
	assert_int_equal(state_of(w, 4), NVSWITCH_HEALTHY);
	world_free(w);
}

static void a_line_counts_while_the_exporter_is_silent(void **state)
{
	struct world *w = world_new(HOSTS);

	pass(w, 60, 4);
	assert_int_equal(state_of(w, 4), NVSWITCH_UNKNOWN);
	hear(w, 4, FATAL_LINE);
	pass(w, 30, 4);
	assert_int_equal(state_of(w, 4), NVSWITCH_NO_P2P);
	world_free(w);
}

static void a_log_line_improves_no_state_of_a_silent_exporter(void **state)
{
	struct world *w = world_new(HOSTS);

	say(w, 4, NVSWITCH_FATAL);
	pass(w, 30, NOBODY);
	pass(w, 60, 4);
	hear(w, 4, FATAL_LINE); /* no more than NO_P2P */
	pass(w, 400, 4);
	assert_int_equal(state_of(w, 4), NVSWITCH_FATAL);
	assert_int_equal(w->h.hosts[4].believed, NVSWITCH_FATAL);
	world_free(w);
}

static void many_soft_errors_in_a_minute_are_an_unhealthy_link(void **state)
{
	struct world *w = world_new(HOSTS);

	for (unsigned i = 0; i < 9; i++)
		hear(w, 4, SOFT_LINE);
	pass(w, 61, NOBODY);
	for (unsigned i = 0; i < 9; i++)
		hear(w, 4, SOFT_LINE);
	assert_int_equal(w->h.hosts[4].observed, NVSWITCH_HEALTHY);
	hear(w, 4, SOFT_LINE);
	assert_int_equal(w->h.hosts[4].observed, NVSWITCH_DEGRADED_LINK);
	world_free(w);
}

/* ---- Operators and names --------------------------------------------------------------------- */

static void a_manual_override_counts_at_once_and_until_cleared(void **state)
{
	struct world *w = world_new(HOSTS);

	say(w, 1, NVSWITCH_NO_P2P);
	pass(w, 31, NOBODY);
	health_override(&w->h, 2, NVSWITCH_FATAL);
	step(w);
	assert_int_equal(state_of(w, 2), NVSWITCH_FATAL);
	pass(w, 1000, NOBODY);
	assert_int_equal(state_of(w, 2), NVSWITCH_FATAL);
	health_override(&w->h, 1, NVSWITCH_HEALTHY);
	health_override(&w->h, 2, NVSWITCH_UNKNOWN);
	step(w);
	assert_int_equal(state_of(w, 1), NVSWITCH_HEALTHY);
	assert_int_equal(state_of(w, 2), NVSWITCH_HEALTHY);
	world_free(w);
}

static void hosts_are_found_by_any_name_they_call_themselves(void **state)
{
	struct world *w = world_new(0);
	unsigned a = health_add(&w->h, "dgx-01"), b = health_add(&w->h, "dgx-02.east.x");

	assert_int_equal(health_find(&w->h, "DGX-01"), a);
	assert_int_equal(health_find(&w->h, "dgx-01.cluster.example"), a);
	assert_int_equal(health_find(&w->h, "dgx-02"), b);
	assert_int_equal(health_find(&w->h, "dgx-02.east.x"), b);
	assert_int_equal(health_find(&w->h, "dgx-03"), UINT_MAX);
	assert_int_equal(health_find(&w->h, ""), UINT_MAX);
	assert_int_equal(health_add(&w->h, "dgx-01"), a);
	health_add(&w->h, "dgx-02.west.x");
	assert_int_equal(health_find(&w->h, "dgx-02"), UINT_MAX); /* which of them? */
	assert_int_equal(w->h.nhosts, 3);
	world_free(w);
}

/* NULL: it is refused, for the reason `why`. */
static json_t *read_aliases(const char *text, const char *why)
{
	char path[] = "/tmp/fmd-test-alias-XXXXXX", err[256] = "";
	FILE *out = fdopen(mkstemp(path), "w");
	json_t *aliases;

	fputs(text, out);
	fclose(out);
	aliases = aliases_read(path, err);
	unlink(path);
	if (!aliases)
		assert_non_null(strstr(err, why));
	return aliases;
}

static void hosts_are_found_by_their_aliases(void **state)
{
	json_t *aliases = read_aliases("DGX-01 10.0.0.1 BMC-01\n\n# x\ndgx-02 dgx-01 node2\n", "");
	struct world *w = world_new(0);
	unsigned a = health_add(&w->h, "dgx-01"), b = health_add(&w->h, "dgx-02.east.x");

	assert_non_null(aliases);
	w->h.aliases = aliases;
	assert_int_equal(health_find(&w->h, "10.0.0.1"), a);
	assert_int_equal(health_find(&w->h, "10.0.0.2"), UINT_MAX);
	assert_int_equal(health_find(&w->h, "bmc-01.mgmt.example"), a);
	assert_int_equal(health_find(&w->h, "Node2"), b);
	assert_int_equal(health_find(&w->h, "dgx-01"), a); /* its own name goes first */
	assert_int_equal(health_find(&w->h, "dgx-01.x"),
			 b); /* .. and an alias ahead of a first part */
	assert_int_equal(health_find(&w->h, ""), UINT_MAX);
	json_decref(aliases);
	world_free(w);
}

static void aliases_that_are_none_are_refused_by_their_line(void **state)
{
	json_t *aliases = read_aliases("dgx-01 a a\n", "");

	assert_null(read_aliases("dgx-01 a\ndgx-02 b a\n", ":2: a name of two hosts"));
	assert_null(read_aliases("dgx-01\n", ":1: `HOST NAME..` is expected"));
	assert_null(read_aliases("0x1234 a\n", ":1: `HOST NAME..` is expected"));
	assert_non_null(aliases);
	json_decref(aliases);
}

static void a_list_that_cannot_be_read_is_refused(void **state)
{
	char err[512] = "";

	assert_null(aliases_read("/no-such-list", err));
	assert_string_equal(err, "/no-such-list: No such file or directory");
	assert_null(aliases_read("/tmp", err));
	assert_string_equal(err, "/tmp: Is a directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_counts_once_it_has_lasted),
		cmocka_unit_test(one_good_answer_between_starts_the_wait_again),
		cmocka_unit_test(getting_still_worse_does_not_start_the_wait_again),
		cmocka_unit_test(recovery_waits_longer),
		cmocka_unit_test(a_silent_source_makes_unknown_and_what_was_known_stands),
		cmocka_unit_test(a_host_first_heard_of_when_bad_is_unknown_until_that_lasts),
		cmocka_unit_test(the_state_before_a_restart_stands_until_disproved),
		cmocka_unit_test(
			a_source_that_stays_keeps_its_state_when_sources_are_configured_anew),
		cmocka_unit_test(the_worst_of_several_sources_counts),
		cmocka_unit_test(without_hold_downs_a_change_counts_at_once),
		cmocka_unit_test(too_many_at_once_are_all_shown_and_raise_the_guard),
		cmocka_unit_test(one_host_of_a_small_fabric_is_never_held_by_the_guard),
		cmocka_unit_test(a_line_counts_until_the_driver_starts_anew),
		cmocka_unit_test(a_fatal_line_of_a_proven_log_counts_at_once),
		cmocka_unit_test(no_time_ends_what_a_line_said),
		cmocka_unit_test(
			the_cause_is_named_before_its_symptoms_and_the_gravest_remedy_asked_for),
		cmocka_unit_test(without_an_event_the_state_of_the_whole_host_is_its_cause),
		cmocka_unit_test(a_line_counts_while_the_exporter_is_silent),
		cmocka_unit_test(a_log_line_improves_no_state_of_a_silent_exporter),
		cmocka_unit_test(many_soft_errors_in_a_minute_are_an_unhealthy_link),
		cmocka_unit_test(a_manual_override_counts_at_once_and_until_cleared),
		cmocka_unit_test(hosts_are_found_by_any_name_they_call_themselves),
		cmocka_unit_test(hosts_are_found_by_their_aliases),
		cmocka_unit_test(a_list_that_cannot_be_read_is_refused),
		cmocka_unit_test(aliases_that_are_none_are_refused_by_their_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
