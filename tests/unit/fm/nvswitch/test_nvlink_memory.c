/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is remembered of a host over a restart, and whom fmd believes alone. */
#include "tests/lib/nvlink_host.h"

#define OFF_BUS                                                                                    \
	"NVRM: Xid (PCI:0000:15:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the " \
	"bus."
#define LOST                                                                                       \
	"NVRM: Xid (PCI:0000:13:00): 74, pid=1, NVLink: fatal error detected on link 14(0x0, 0x0)"

static struct memory_report report; /* of the line that was read last */

/* ---- A restart ------------------------------------------------------------------------------- */

/* Another life of the daemon: what was believed, and the memory as a file has it. */
static struct host *restarted(struct host *before)
{
	static char text[1 << 16];
	struct host *it = host_new(before->machine);
	FILE *out = fmemopen(text, sizeof(text), "w");
	char kind[16], name[64];
	int used;

	memory_write(host_memory(before), "dgx-00", out);
	fclose(out);
	health_remember(&it->h, 0, before->h.hosts[0].believed, NVSWITCH_UNKNOWN);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		assert_int_equal(sscanf(line, "%15s %63s %n", kind, name, &used), 2);
		assert_true(memory_read(host_memory(it), kind, line + used, &report));
	}
	it->h.hosts[0].sources_state = (enum nvswitch_state)host_memory(it)->sources_state;
	it->now = before->now;
	host_free(before);
	return it;
}

static void a_restart_heals_nothing(void **state)
{
	struct host *it = host_well(h100());

	host_log(it, OFF_BUS);
	host_pass(it, 60);
	it = restarted(it);
	host_pass(it, 7200);
	assert_host(it, NVSWITCH_NO_P2P);
	assert_int_equal(host_memory(it)->events.findings[0].code, 79);
	assert_int_equal(host_memory(it)->events.findings[0].gpu, 5);
	assert_non_null(strstr(host_memory(it)->events.findings[0].text, "fallen off the bus"));
	host_log(it, "nvidia-nvlink: Nvlink Core is being initialized, major device number 234");
	host_pass(it, 310);
	assert_host(it, NVSWITCH_HEALTHY);
	host_free(it);
}

/* What is written would not be read back as it was. */
static void a_switch_that_needs_no_reset_is_nothing_to_remember(void **state)
{
	const struct evidence_context context = { .now_us = 1 };
	static struct evidence e;
	static struct memory m;
	struct nvswitch_verdict verdict;
	static char text[1 << 12];
	FILE *out = fmemopen(text, sizeof(text), "w");

	e.samples = 2;
	e.repeated = true; /* its series stood there twice */
	e.switches[4].last.present = e.switches[4].last.has_reset = true;
	evidence_judge(&e, &m, &context, &verdict);
	memory_write(&m, "dgx-00", out);
	fclose(out);
	assert_null(strstr(text, "switch"));
}

static void what_was_ever_seen_is_missed_after_a_restart(void **state)
{
	struct machine m = a100();
	struct host *it;

	m.asks_links = false;
	it = restarted(host_well(m));
	for (unsigned g = 4; g < 8; g++)
		it->machine.gone[g] = true;
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	host_free(it);
}

/* It happened while the daemon was away. */
static void a_gauge_that_changed_meanwhile_is_an_event(void **state)
{
	struct host *it = restarted(host_well(h100()));

	it->machine.xid[3] = 74;
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	host_free(it);
}

static void a_gauge_that_did_not_is_none(void **state)
{
	struct machine m = h100();
	struct host *it;

	m.xid[3] = 74;
	it = restarted(host_well(m));
	host_pass(it, 600);
	assert_host(it, NVSWITCH_HEALTHY);
	assert_int_equal(host_memory(it)->events.count, 0);
	host_free(it);
}

static void a_state_that_is_silent_now_is_known_after_a_restart(void **state)
{
	struct host *it = host_well(h100());

	it->machine.lost[2] = 1;
	host_pass(it, 60);
	it->machine.asks_p2p = false;
	it = restarted(it);
	host_pass(it, 3600);
	assert_host(it, NVSWITCH_NO_P2P);
	host_free(it);
}

/* The files of an older fmd have beliefs and no memory. */
static void a_belief_without_a_memory_stands_until_sources_speak(void **state)
{
	struct host *it = host_new(h100());

	health_remember(&it->h, 0, NVSWITCH_FATAL, NVSWITCH_UNKNOWN);
	it->silent = true;
	host_pass(it, 3600);
	assert_int_equal(it->h.hosts[0].believed, NVSWITCH_FATAL);
	it->silent = false;
	host_pass(it, 360);
	assert_host(it, NVSWITCH_HEALTHY);
	host_free(it);
}

static void lines_of_a_newer_fmd_are_read_as_far_as_they_are_known(void **state)
{
	struct memory m = { 0 };

	assert_true(memory_read(&m, "host", "colour=blue system=h100 told=NO_P2P\n", &report));
	assert_int_equal(m.system, NVSWITCH_SYSTEM_H100);
	assert_int_equal(m.sources_state, NVSWITCH_NO_P2P);
	assert_true(memory_read(&m, "tray", "n=1\n", &report));
	assert_false(memory_read(&m, "gpu", "n=99 seen=1\n", &report));
	assert_false(memory_read(&m, "event", "state=PURPLE text=x\n", &report));
	assert_true(
		memory_read(&m, "event", "state=FATAL gpu=77 link=-5 text=two words\n", &report));
	assert_int_equal(m.events.findings[0].gpu, -1);
	assert_string_equal(m.events.findings[0].text, "two words");
	/* Rows come by key: a host's is behind its events. */
	assert_true(memory_read(&m, "host", "system=h100\n", &report));
	assert_int_equal(m.events.count, 1);
}

/*
 * One asks for what the other does not: what only one of them shows did not happen anew with each
 * answer.
 */
static void two_exporters_of_a_host_hide_nothing_of_each_other(void **state)
{
	static const char gauges[] =
		"DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch=\"nvswitch1\"} 20034\n"
		"DCGM_EXP_XID_ERRORS_COUNT{gpu=\"3\",xid=\"74\"} 2\n";
	struct machine other = h100();
	struct host *it = host_well(h100());

	health_source_add(&it->h, 0, "other", NVSWITCH_PROVEN);
	host_ask_source(it, &other, 1);
	other.xid[2] = 79;
	snprintf(other.extra, sizeof(other.extra), "%s", gauges);
	host_ask_source(it, &other, 1);
	assert_int_equal(host_memory(it)->events.count, 3);
	memory_reset(host_memory(it), -1, NULL); /* repaired; gauges stay */
	for (unsigned i = 0; i < 8; i++) {
		host_pass(it, 15);
		host_ask_source(it, &other, 1);
		assert_int_equal(host_memory(it)->events.count, 0);
	}
	it = restarted(it);
	health_source_add(&it->h, 0, "other", NVSWITCH_PROVEN);
	snprintf(other.extra, sizeof(other.extra), "%.*s", (int)strcspn(gauges, "\n") + 1, gauges);
	host_pass(it, 15);
	host_ask_source(it, &other, 1);
	assert_int_equal(host_memory(it)->events.count, 0);
	other.xid[2] = 0; /* its host engine begins anew, and then it happens again */
	host_ask_source(it, &other, 1);
	other.xid[2] = 79;
	host_ask_source(it, &other, 1);
	assert_int_equal(host_memory(it)->events.count, 1);
	host_free(it);
}

/* What is kept is written to a file: two that show the same gauge in turn are nothing new. */
static void what_two_exporters_show_in_turn_is_kept_once(void **state)
{
	struct machine both = h100();
	struct host *it = host_well(h100());

	both.xid[2] = 79;
	snprintf(both.extra, sizeof(both.extra),
		 "DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch=\"nvswitch1\"} 20034\n");
	health_source_add(&it->h, 0, "other", NVSWITCH_PROVEN);
	for (unsigned i = 0; i < 4; i++) {
		host_memory(it)->changed = false;
		host_ask_source(it, &both, i % 2);
	}
	assert_false(host_memory(it)->changed);
	host_free(it);
}

static void a_host_with_many_events_keeps_the_worst(void **state)
{
	struct memory m = { 0 };

	for (unsigned i = 0; i < 100; i++) {
		struct nvswitch_finding f = { .state = i == 90 ? NVSWITCH_FATAL : NVSWITCH_NO_P2P,
					      .gpu = -1,
					      .sw = 1,
					      .link = (int16_t)i,
					      .code = 20034 };

		memory_note(&m, &f, EVENT_FROM_LOG, 1);
	}
	assert_int_equal(m.events.count, NVSWITCH_FINDINGS);
	assert_int_equal(m.events.findings[0].state, NVSWITCH_FATAL);
}

/* ---- Whom to believe ------------------------------------------------------------------------- */

/* Plain dcgm-exporter, as it is installed: fmd asked it, at the host's address. */
static void an_exporter_without_tls_is_enough_unless_configured_otherwise(void **state)
{
	struct host *it = host_well(h100());

	it->h.conf.second_source = it->trust = NVSWITCH_ASKED;
	it->machine.lost[3] = 1;
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	it->h.conf.second_source = NVSWITCH_PROVEN;
	host_pass(it, 400);
	assert_host(it, NVSWITCH_DEGRADED_LINK);
	assert_true(it->h.hosts[0].unconfirmed);
	host_log(it, LOST); /* its kernel says so too */
	assert_host(it, NVSWITCH_NO_P2P);
	assert_false(it->h.hosts[0].unconfirmed);
	host_free(it);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_restart_heals_nothing),
		cmocka_unit_test(a_switch_that_needs_no_reset_is_nothing_to_remember),
		cmocka_unit_test(what_was_ever_seen_is_missed_after_a_restart),
		cmocka_unit_test(a_gauge_that_changed_meanwhile_is_an_event),
		cmocka_unit_test(a_gauge_that_did_not_is_none),
		cmocka_unit_test(a_state_that_is_silent_now_is_known_after_a_restart),
		cmocka_unit_test(a_belief_without_a_memory_stands_until_sources_speak),
		cmocka_unit_test(lines_of_a_newer_fmd_are_read_as_far_as_they_are_known),
		cmocka_unit_test(two_exporters_of_a_host_hide_nothing_of_each_other),
		cmocka_unit_test(what_two_exporters_show_in_turn_is_kept_once),
		cmocka_unit_test(a_host_with_many_events_keeps_the_worst),
		cmocka_unit_test(an_exporter_without_tls_is_enough_unless_configured_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
