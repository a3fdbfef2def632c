/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Errors of GPUs and NVSwitches, by gauges and by the kernel's lines: what they begin, and what
 * ends it.
 */
#include "tests/lib/nvlink_host.h"

/* ---- Applications ---------------------------------------------------------------------------- */

/*
 * A job's crash is no fault of its host: one of these on a GPU or other every three minutes, by
 * gauge and by log.
 */
static void a_day_of_application_errors_changes_no_state(void **state)
{
	static const unsigned xids[] = { 13, 31, 43, 45, 94 };
	struct host *it = host_well(h100());
	char line[160];

	for (unsigned i = 0; i < 24 * 20; i++) {
		unsigned g = i * 7 % 8, xid = xids[i % 5];

		it->machine.xid[g] = xid;
		snprintf(it->machine.extra, sizeof(it->machine.extra),
			 "DCGM_EXP_XID_ERRORS_COUNT{gpu=\"%u\",window_size_in_ms=\"300000\",xid=\"%"
			 "u\"} %u\n",
			 g, xid, i % 9 + 1);
		snprintf(line, sizeof(line),
			 "NVRM: Xid (PCI:0000:%02x:00): %u, pid=%u, name=python, Ch 00000010",
			 0x10 + g, xid, 1000 + i);
		host_log(it, line);
		host_pass(it, 180);
	}
	assert_int_equal(it->changes, 0);
	assert_host(it, NVSWITCH_HEALTHY);
	assert_int_equal(host_memory(it)->events.count, 0);
	host_free(it);
}

/* The Xid gauge has series for GPUs that had an Xid only: that says nothing of the others. */
static void an_xid_alone_is_neither_presence_nor_health(void **state)
{
	struct machine m = h100();
	struct host *it;

	m.asks_p2p = m.asks_fm = m.asks_links = m.asks_temp = false;
	m.xid[5] = 13;
	it = host_new(m);
	host_pass(it, 120);
	assert_host(it, NVSWITCH_UNKNOWN);
	for (unsigned g = 0; g < 8; g++)
		assert_false(host_memory(it)->gpus[g].seen);
	it->machine.xid[5] = 31;
	host_pass(it, 120);
	assert_host(it, NVSWITCH_UNKNOWN);
	it->machine.xid[5] = 79;
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	host_free(it);
}

static void a_crashed_job_is_no_lost_gpu(void **state)
{
	struct machine m = h100();
	struct host *it;

	m.asks_temp = false;
	m.xid[5] = 13;
	it = host_well(m);
	host_pass(it, 600);
	assert_int_equal(it->changes, 0);
	host_free(it);
}

/* ---- The gauge ------------------------------------------------------------------------------- */

static void an_old_xid_of_a_gpu_that_works_is_no_fault(void **state)
{
	static const unsigned xids[] = { 74, 79, 154 };

	for (unsigned i = 0; i < 3; i++) {
		struct machine m = h100();

		m.xid[2] = xids[i];
		struct host *it = host_well(m);
		host_pass(it, 600);
		assert_int_equal(it->changes, 0);
		host_free(it);
	}
}

static void a_repaired_gpu_is_healthy_though_the_gauge_stays(void **state)
{
	struct host *it = host_well(h100());

	it->machine.xid[2] = 74;
	it->machine.lost[2] = 1;
	it->machine.lost[0] = 4;
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	it->machine.lost[2] = it->machine.lost[0] = 0;
	host_pass(it, 290);
	assert_host(it, NVSWITCH_NO_P2P);
	host_pass(it, 60);
	assert_host(it, NVSWITCH_HEALTHY);
	host_pass(it, 600);
	assert_int_equal(it->changes, 2);
	host_free(it);
}

/* 79 then 154, 74 then 45, and a job's Xid behind each. */
static void a_later_number_in_the_gauge_heals_nothing(void **state)
{
	static const unsigned pairs[][2] = { { 79, 154 }, { 74, 45 }, { 79, 13 }, { 74, 31 } };

	for (unsigned i = 0; i < 4; i++) {
		struct host *it = host_well(h100());

		it->machine.xid[2] = pairs[i][0];
		host_pass(it, 60);
		assert_host(it, NVSWITCH_NO_P2P);
		it->machine.xid[2] = pairs[i][1];
		host_pass(it, 7200);
		assert_host(it, NVSWITCH_NO_P2P);
		it->machine.xid[2] = 0;
		host_pass(it, 7200);
		assert_host(it, NVSWITCH_NO_P2P);
		host_free(it);
	}
}

/*
 * Its series are gone, P2P is blank for all, and the gauge shows a number that is not known for it.
 */
static void a_lost_gpu_whose_last_xid_is_154_is_missed(void **state)
{
	struct machine m = h100();
	struct host *it;

	m.gone[5] = true;
	m.xid[5] = 154;
	m.asks_p2p = false;
	it = host_new(m);
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	host_free(it);
}

static void counts_of_the_last_minutes_are_events(void **state)
{
	struct host *it = host_well(h100());

	snprintf(
		it->machine.extra, sizeof(it->machine.extra),
		"DCGM_EXP_XID_ERRORS_COUNT{gpu=\"3\",window_size_in_ms=\"300000\",xid=\"74\"} 1\n");
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	*it->machine.extra = '\0'; /* the window is over */
	host_pass(it, 3600);
	assert_host(it, NVSWITCH_NO_P2P);
	host_free(it);
}

static void no_recovery_to_be_done_is_proof(void **state)
{
	struct machine m = h100();
	struct host *it;

	m.asks_action = true;
	it = host_well(m);
	it->machine.xid[3] = 74;
	it->machine.action[3] = ACTION_GPU_RESET;
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	it->machine.xid[3] = 13; /* hides it */
	host_pass(it, 3600);
	assert_host(it, NVSWITCH_NO_P2P);
	it->machine.action[3] = ACTION_NONE;
	host_pass(it, 330);
	assert_host(it, NVSWITCH_HEALTHY);
	host_free(it);
}

/* What is told right after it may have been sampled before. */
static void an_event_is_believed_before_it_is_disproved(void **state)
{
	struct machine m = h100();
	struct host *it;

	m.asks_action = true;
	it = host_well(m);
	host_log(it,
		 "NVRM: Xid (PCI:0000:12:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal "
		 "error detected on link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)");
	host_pass(it, 31);
	assert_host(it, NVSWITCH_NO_P2P);
	assert_int_equal(host_memory(it)->events.findings[0].gpu, 2);
	host_pass(it, 331);
	assert_host(it, NVSWITCH_HEALTHY);
	host_free(it);
}

static void an_nvswitch_error_gauge_stays_like_the_xid_gauge(void **state)
{
	struct host *it = host_well(h100());

	snprintf(it->machine.extra, sizeof(it->machine.extra),
		 "DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch=\"nvswitch2\",hostname=\"dgx-00\"} "
		 "20034\n");
	it->machine.lost[1] = 1 << 4;
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	it->machine.lost[1] = 0;
	host_pass(it, 400);
	assert_host(it, NVSWITCH_HEALTHY);
	host_pass(it, 600);
	assert_int_equal(it->changes, 2);
	host_free(it);
}

/* ---- Logs ------------------------------------------------------------------------------------ */

#define OFF_BUS                                                                                    \
	"NVRM: Xid (PCI:0000:15:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the " \
	"bus."

static void no_time_heals_a_logged_fault(void **state)
{
	struct host *it = host_well(h100());

	host_log(it, OFF_BUS);
	host_pass(it, 24 * 3600);
	assert_host(it, NVSWITCH_NO_P2P);
	assert_int_equal(it->changes, 1);
	host_free(it);
}

static void assert_ends(const char *line, bool ends)
{
	struct host *it = host_well(h100());

	host_log(it, OFF_BUS);
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	host_log(it, line);
	host_pass(it, 310);
	if ((host_state(it) == NVSWITCH_HEALTHY) != ends)
		fail_msg("%s: %s", line, nvswitch_states[host_state(it)]);
	host_free(it);
}

static void a_reset_or_a_boot_ends_a_logged_fault(void **state)
{
	assert_ends("nvidia-nvlink: Nvlink Core is being initialized, major device number 234",
		    true);
	assert_ends("[    0.000000] Linux version 5.15.0-1050-nvidia (buildd@lcy02) (gcc 11.4.0)",
		    true);
	assert_ends("GPU reset executed: GPU-00000005-0000-0000-0000-000000000000, success: true",
		    true);
	assert_ends("GPU reset executed: GPU-00000005-0000-0000-0000-000000000000", true);
	assert_ends("GPU reset executed: GPU-00000004-0000-0000-0000-000000000000, success: true",
		    false);
	assert_ends(
		"NVRM: Xid (PCI:0000:15:00): 154, GPU recovery action changed from 0x1 (GPU Reset "
		"Required) to 0x0 (None)",
		true);
	assert_ends(
		"NVRM: Xid (PCI:0000:14:00): 154, GPU recovery action changed from 0x1 (GPU Reset "
		"Required) to 0x0 (None)",
		false);
}

/* No exporter ever answered: what an application did tells nothing of NVLinks, a boot does. */
static void a_crashed_job_in_a_log_alone_says_nothing_of_health(void **state)
{
	struct host *it = host_new(h100());

	it->silent = true;
	host_log(it, "NVRM: Xid (PCI:0000:13:00): 13, pid=1, name=x, Graphics Exception");
	host_pass(it, 600);
	assert_int_equal(it->h.hosts[0].state, NVSWITCH_UNKNOWN);
	host_log(it, "NVRM: GPU 0000:13:00.0: GPU has fallen off the bus.");
	host_pass(it, 60);
	assert_int_equal(it->h.hosts[0].state, NVSWITCH_NO_P2P);
	host_log(it, "nvidia-nvlink: Nvlink Core is being initialized, major device number 511");
	host_pass(it, 600);
	assert_int_equal(it->h.hosts[0].state, NVSWITCH_HEALTHY);
	host_log(it, "NVRM: Xid (PCI:0000:13:00): 31, pid=1, name=x, Ch 00000010");
	host_pass(it, 600);
	assert_int_equal(it->h.hosts[0].state, NVSWITCH_HEALTHY);
	host_free(it);
}

/* The hook resumes the host then. */
static void clearing_a_host_known_by_a_log_alone_makes_it_healthy(void **state)
{
	struct host *it = host_new(h100());

	it->silent = true;
	host_log(it, "NVRM: GPU 0000:13:00.0: GPU has fallen off the bus.");
	host_pass(it, 60);
	health_override(&it->h, 0, NVSWITCH_UNKNOWN);
	host_pass(it, 600);
	assert_int_equal(it->h.hosts[0].state, NVSWITCH_HEALTHY);
	host_free(it);
}

static void a_reset_that_failed_is_none(void **state)
{
	static const char line[] =
		"GPU reset executed: GPU-00000005-0000-0000-0000-000000000000, success: false";
	struct sxid_event event;

	assert_false(sxid_read(line, strlen(line), &event));
}

/* Of a host without an exporter, so that the line alone makes the state. */
static const struct {
	const char *line;
	enum nvswitch_state state;
	enum nvswitch_remedy remedy;
} lines[] = {
	{ "NVRM: GPU 0000:29:00.0: GPU has fallen off the bus.", NVSWITCH_NO_P2P, NVSWITCH_REBOOT },
	{ "NVRM: fallen off the bus and is not responding to commands.", NVSWITCH_NO_P2P,
	  NVSWITCH_REBOOT },
	{ "NVRM: Xid (PCI:0000:34:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 "
	  "(GPU "
	  "Reset Required)",
	  NVSWITCH_NO_P2P, NVSWITCH_RESET_GPU },
	{ "NVRM: Xid (PCI:0000:34:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 "
	  "(Node "
	  "Reboot Required)",
	  NVSWITCH_FATAL, NVSWITCH_REBOOT },
	{ "NVRM: Xid (PCI:0000:34:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 "
	  "(Drain "
	  "and Reset)",
	  NVSWITCH_DEGRADED_LINK, NVSWITCH_RESET_GPU },
	{ "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 10006, TSENSE OVERT Threshold reached. "
	  "Shutting "
	  "Down",
	  NVSWITCH_FATAL, NVSWITCH_REBOOT },
	{ "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 10008, Fatal, Firmware initialization "
	  "failure "
	  "(0x1)",
	  NVSWITCH_FATAL, NVSWITCH_REBOOT },
	{ "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 26006, SOE HALTED", NVSWITCH_FATAL,
	  NVSWITCH_REBOOT },
	{ "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 10004, NVSWITCH Temperature 90C | TSENSE "
	  "WARN "
	  "Threshold 85C",
	  NVSWITCH_HEALTHY, NVSWITCH_REMEDY_NONE },
	{ "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 39999, Fatal, Link 03 something new",
	  NVSWITCH_NO_P2P, NVSWITCH_CONTACT_SUPPORT },
	{ "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 39999, Fatal, something new, instance=1, "
	  "chiplet=0",
	  NVSWITCH_FATAL, NVSWITCH_CONTACT_SUPPORT },
	{ "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 39999, Non-fatal, Link 03 something new",
	  NVSWITCH_HEALTHY, NVSWITCH_REMEDY_NONE },
	{ "NVRM: Xid (PCI:0000:34:00): 136, pid=1, ALI training failure", NVSWITCH_NO_P2P,
	  NVSWITCH_RESET_GPU },
	{ "NVRM: Xid (PCI:0000:34:00): 155, NVLink SW defined error", NVSWITCH_NO_P2P,
	  NVSWITCH_RESET_GPU },
	{ "NVRM: Xid (PCI:0000:34:00): 137, NVLink privilege error", NVSWITCH_HEALTHY,
	  NVSWITCH_REMEDY_NONE },
	{ "NVRM: Xid (PCI:0000:01:00): 95, pid=7062, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, "
	  "D-RST: "
	  "No",
	  NVSWITCH_NO_P2P, NVSWITCH_RESET_GPU },
	{ "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: SM (0x1)",
	  NVSWITCH_HEALTHY, NVSWITCH_RESTART_JOB },
	{ "NVRM: Xid (PCI:0000:01:00): 48, pid=1, DBE (double bit error) ECC Error",
	  NVSWITCH_DEGRADED_LINK, NVSWITCH_RESET_GPU },
	{ "NVRM: Xid (PCI:0000:01:00): 119, pid=1, Timeout after 6s of waiting for RPC response",
	  NVSWITCH_NO_P2P, NVSWITCH_RESET_GPU },
	{ "NVRM: Xid (PCI:0000:01:00): 120, GSP task panic", NVSWITCH_NO_P2P, NVSWITCH_RESET_GPU },
	{ "NVRM: Xid (PCI:0003:00:00): 74, pid=1, NVLink: fatal error detected on link 14(0x0, "
	  "0x0)",
	  NVSWITCH_NO_P2P, NVSWITCH_RESET_GPU },
	{ "NVRM: Xid (PCI:0003:00:00): 74, pid=1, NVLink: non-fatal error detected on link 14(0x0)",
	  NVSWITCH_DEGRADED_LINK, NVSWITCH_RESET_GPU },
	{ "NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 "
	  "0x0)",
	  NVSWITCH_NO_P2P, NVSWITCH_RESET_GPU },
	{ "NVRM: Xid (PCI:0009:01:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 00 (0x1)",
	  NVSWITCH_HEALTHY, NVSWITCH_REMEDY_NONE },
	{ "NVRM: Xid (PCI:0009:01:00): 145, RLW_REMAP Fatal XC1 i0 Link 10 (0x82 0x40)",
	  NVSWITCH_NO_P2P, NVSWITCH_RESET_GPU },
	{ "NVRM: Xid (PCI:0009:01:00): 146, TLW_RX/TLW_RX_PIPE0 Fatal XC0 i0 Link 00 (0x1)",
	  NVSWITCH_DEGRADED_LINK, NVSWITCH_RESET_GPU },
	{ "NVRM: Xid (PCI:0009:01:00): 199, NVLink: fatal: something new", NVSWITCH_NO_P2P,
	  NVSWITCH_CONTACT_SUPPORT },
	{ "NVRM: Xid (0000:03:00): 14, Channel 00000001", NVSWITCH_HEALTHY, NVSWITCH_REMEDY_NONE },
	{ "[Jul 23 2024 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 20034 on fid 0 "
	  "on "
	  "NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 33",
	  NVSWITCH_NO_P2P, NVSWITCH_RESET_GPU },
	{ "detected number of NVSwitches don't match with any supported system topology, aborting "
	  "fabric manager",
	  NVSWITCH_FATAL, NVSWITCH_CONTACT_SUPPORT },
	{ "[Sep 17 2024 06:01:46] [ERROR] [tid 1230079] failed to find the GPU handle "
	  "5410063385821516767 in the multicast team request setup 6130285411925746235.",
	  NVSWITCH_DEGRADED_LINK, NVSWITCH_RESET_GPU },
};

static void lines_mean_what_nvidia_says_of_them(void **state)
{
	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct sxid_event event;

		if (!sxid_read(lines[i].line, strlen(lines[i].line), &event))
			fail_msg("not understood: %s", lines[i].line);
		if (event.finding.state != lines[i].state ||
		    event.finding.remedy != lines[i].remedy)
			fail_msg("%s: %s, %s", lines[i].line, nvswitch_states[event.finding.state],
				 nvswitch_remedies[event.finding.remedy]);
	}
}

static void lines_that_only_look_alike_are_passed_over(void **state)
{
	static const char *const other[] = {
		"fabric manager: NV_WARN_NOTHING_TO_DO, detected NVSwitch fatal error 0",
		"app[1]: I run on Linux version 5.15 of the simulator",
		"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Severity 0 Engine instance 46",
		"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Data {0x00140004, 0x00000000}",
		"NVRM: GPU at PCI:0000:34:00: GPU-c43f0536-0000-0000-0000-000000000000",
	};
	struct sxid_event event;

	for (unsigned i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (sxid_read(other[i], strlen(other[i]), &event))
			fail_msg("%s", other[i]);
}

static void the_address_is_in_the_first_of_three_lines(void **state)
{
	struct host *it = host_well(h100());

	host_log(it, "NVRM: The NVIDIA GPU 0000:13:00.0");
	host_log(it, "NVRM: fallen off the bus and is not responding to commands.");
	assert_int_equal(host_memory(it)->events.findings[0].gpu, 3);
	assert_string_equal(host_memory(it)->events.findings[0].pci, "0000:13:00");
	host_free(it);
}

/* A gauge and a line about the same one. */
static void one_event_from_two_sources_is_one(void **state)
{
	struct host *it = host_well(h100());

	it->machine.xid[5] = 79;
	host_log(it, OFF_BUS);
	host_pass(it, 30);
	assert_int_equal(host_memory(it)->events.count, 1);
	assert_int_equal(host_memory(it)->events.findings[0].from, EVENT_FROM_LOG | 1);
	host_free(it);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_day_of_application_errors_changes_no_state),
		cmocka_unit_test(an_xid_alone_is_neither_presence_nor_health),
		cmocka_unit_test(a_crashed_job_is_no_lost_gpu),
		cmocka_unit_test(an_old_xid_of_a_gpu_that_works_is_no_fault),
		cmocka_unit_test(a_repaired_gpu_is_healthy_though_the_gauge_stays),
		cmocka_unit_test(a_later_number_in_the_gauge_heals_nothing),
		cmocka_unit_test(a_lost_gpu_whose_last_xid_is_154_is_missed),
		cmocka_unit_test(counts_of_the_last_minutes_are_events),
		cmocka_unit_test(no_recovery_to_be_done_is_proof),
		cmocka_unit_test(an_event_is_believed_before_it_is_disproved),
		cmocka_unit_test(an_nvswitch_error_gauge_stays_like_the_xid_gauge),
		cmocka_unit_test(no_time_heals_a_logged_fault),
		cmocka_unit_test(a_reset_or_a_boot_ends_a_logged_fault),
		cmocka_unit_test(a_crashed_job_in_a_log_alone_says_nothing_of_health),
		cmocka_unit_test(clearing_a_host_known_by_a_log_alone_makes_it_healthy),
		cmocka_unit_test(a_reset_that_failed_is_none),
		cmocka_unit_test(lines_mean_what_nvidia_says_of_them),
		cmocka_unit_test(lines_that_only_look_alike_are_passed_over),
		cmocka_unit_test(the_address_is_in_the_first_of_three_lines),
		cmocka_unit_test(one_event_from_two_sources_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
