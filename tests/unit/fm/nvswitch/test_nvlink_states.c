/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * States that exporters tell: the fabric manager, MIG, models, blanks, health of several kinds,
 * what is gone.
 */
#include "tests/lib/nvlink_host.h"

/* A healthy one that becomes otherwise: what it is within a minute. */
static void assert_becomes(struct machine before, const struct machine *after,
			   enum nvswitch_state wanted, const char *what)
{
	struct host *it = host_well(before);

	it->machine = *after;
	host_pass(it, 60);
	if (host_state(it) != wanted)
		fail_msg("%s: %s, not %s: %s", what, nvswitch_states[host_state(it)],
			 nvswitch_states[wanted], health_reason(&it->h.hosts[0]));
	host_free(it);
}

static void assert_line(struct machine before, const char *line, enum nvswitch_state wanted)
{
	struct machine after = before;

	snprintf(after.extra, sizeof(after.extra), "%s\n", line);
	assert_becomes(before, &after, wanted, line);
}

/* ---- The fabric manager ---------------------------------------------------------------------- */

static struct machine with_manager(unsigned first, unsigned last, unsigned status)
{
	struct machine m = h100();

	for (unsigned g = first; g <= last; g++)
		m.fm[g] = status;
	return m;
}

static void the_fabric_manager_is_judged_as_dcgm_does(void **state)
{
	static const struct {
		unsigned status;
		enum nvswitch_state all, one;
	} cases[] = {
		{ FM_NOT_SUPPORTED, NVSWITCH_HEALTHY, NVSWITCH_HEALTHY },
		{ FM_NOT_STARTED, NVSWITCH_FATAL, NVSWITCH_NO_P2P },
		{ FM_IN_PROGRESS, NVSWITCH_DEGRADED_LINK, NVSWITCH_DEGRADED_LINK },
		{ FM_SUCCESS, NVSWITCH_HEALTHY, NVSWITCH_HEALTHY },
		{ FM_FAILURE, NVSWITCH_FATAL, NVSWITCH_NO_P2P },
		{ FM_UNRECOGNIZED, NVSWITCH_FATAL, NVSWITCH_NO_P2P },
		{ FM_NVML_TOO_OLD, NVSWITCH_FATAL, NVSWITCH_NO_P2P },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct machine all = with_manager(0, 7, cases[i].status);
		struct machine one = with_manager(4, 4, cases[i].status);

		assert_becomes(h100(), &all, cases[i].all, "for all");
		assert_becomes(h100(), &one, cases[i].one, "for one");
	}
}

static void a_manager_that_never_started_is_fatal_with_or_without_p2p(void **state)
{
	struct machine m = with_manager(0, 7, FM_NOT_STARTED);

	for (unsigned g = 0; g < 8; g++)
		m.lost[g] = 0xff;
	assert_becomes(h100(), &m, NVSWITCH_FATAL, "P2P 0 on all");
	m.asks_p2p = false;
	assert_becomes(h100(), &m, NVSWITCH_FATAL, "P2P not asked");
}

/* NVSwitches shared between guests: GPUs without a partition have no peers, on purpose. */
static void in_progress_is_what_the_site_says_it_is(void **state)
{
	static const struct {
		enum fm_progress progress;
		enum nvswitch_state wanted;
	} cases[] = { { FM_PROGRESS_NORMAL, NVSWITCH_HEALTHY },
		      { FM_PROGRESS_DEGRADED, NVSWITCH_NO_P2P },
		      { FM_PROGRESS_FAILED, NVSWITCH_FATAL } };

	for (unsigned i = 0; i < 3; i++) {
		struct host *it = host_well(h100());

		it->progress = cases[i].progress;
		it->machine = with_manager(0, 7, FM_IN_PROGRESS);
		for (unsigned g = 0; g < 8; g++)
			it->machine.lost[g] = 0xff;
		host_pass(it, 60);
		assert_host(it, cases[i].wanted);
		host_free(it);
	}
}

/* ---- MIG ------------------------------------------------------------------------------------- */

static void mig_takes_gpus_out_of_p2p_on_every_generation(void **state)
{
	static const char *const models[] = { "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3",
					      "NVIDIA H200", "NVIDIA H20", "NVIDIA B200" };

	for (unsigned i = 0; i < 5; i++)
		for (unsigned form = 0; form < 4; form++) {
			struct machine before = machine_of(models[i], 0, 0), after;

			before.asks_mig = form % 2; /* the mode, or the instances' labels alone */
			after = before;
			for (unsigned g = form < 2 ? 3 : 0; g <= (form < 2 ? 3u : 7u); g++) {
				after.mig[g] = true;
				after.instances[g] = !before.asks_mig;
			}
			assert_becomes(before, &after, NVSWITCH_HEALTHY, models[i]);
		}
}

/* MIG mode is on, and no instance was made: no GPU_I_ID anywhere. */
static void a100_in_mig_mode_without_instances_is_healthy(void **state)
{
	struct machine before = a100(), after;

	before.asks_mig = true;
	after = before;
	after.mig[2] = after.mig[3] = true;
	after.links = 12; /* 96 less 24: trained off */
	assert_becomes(before, &after, NVSWITCH_HEALTHY, "two of eight");
}

static void pairs_with_a_gpu_in_mig_are_no_lost_pairs(void **state)
{
	struct machine before = a100(), after;

	before.asks_p2p = false;
	snprintf(before.extra, sizeof(before.extra),
		 "DCGM_EXP_P2P_STATUS{gpu=\"0\",peer_gpu=\"3\",link_status=\"OK\"} 0\n");
	after = before;
	after.mig[3] = after.instances[3] = true;
	after.links = 14;
	snprintf(after.extra, sizeof(after.extra),
		 "DCGM_EXP_P2P_STATUS{gpu=\"0\",peer_gpu=\"3\",link_status=\"GPUNotSupported\"} 2\n"
		 "DCGM_EXP_P2P_STATUS{gpu=\"3\",peer_gpu=\"0\",link_status=\"GPUNotSupported\"} "
		 "2\n");
	assert_becomes(before, &after, NVSWITCH_HEALTHY, "in MIG");
	after.mig[3] = after.instances[3] = false;
	assert_becomes(before, &after, NVSWITCH_NO_P2P, "not in MIG");
}

static void mig_excuses_no_other_gpu(void **state)
{
	struct machine before = h100(), after = before;

	after.mig[3] = after.instances[3] = true;
	after.lost[0] = 2;
	after.lost[1] = 1;
	assert_becomes(before, &after, NVSWITCH_NO_P2P, "two others");
}

static void a_gpu_out_of_mig_is_judged_again(void **state)
{
	struct host *it = host_well(h100());

	it->machine.mig[3] = it->machine.instances[3] = true;
	host_pass(it, 600);
	it->machine.mig[3] = it->machine.instances[3] = false;
	it->machine.lost[3] = 1;
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	host_free(it);
}

/* ---- Models ---------------------------------------------------------------------------------- */

static void machines_are_known_by_their_gpus(void **state)
{
	static const struct {
		const char *name;
		enum nvswitch_system system;
		unsigned links;
	} models[] = {
		{ "NVIDIA A100-SXM4-80GB", NVSWITCH_SYSTEM_A100, 12 },
		{ "NVIDIA A800-SXM4-80GB", NVSWITCH_SYSTEM_A100, 8 },
		{ "NVIDIA A100-PCIE-40GB", NVSWITCH_SYSTEM_OTHER, 0 },
		{ "NVIDIA A100 80GB PCIe", NVSWITCH_SYSTEM_OTHER, 0 },
		{ "NVIDIA A800 40GB Active", NVSWITCH_SYSTEM_OTHER, 0 },
		{ "NVIDIA H100 80GB HBM3", NVSWITCH_SYSTEM_H100, 18 },
		{ "NVIDIA-H100-80GB-HBM3", NVSWITCH_SYSTEM_H100, 18 },
		{ "NVIDIA H800", NVSWITCH_SYSTEM_H100, 8 },
		{ "NVIDIA H100 PCIe", NVSWITCH_SYSTEM_OTHER, 0 },
		{ "NVIDIA H100 NVL", NVSWITCH_SYSTEM_OTHER, 0 },
		{ "NVIDIA-H100-NVL", NVSWITCH_SYSTEM_OTHER, 0 },
		{ "NVIDIA H200", NVSWITCH_SYSTEM_H200, 18 },
		{ "NVIDIA H200 NVL", NVSWITCH_SYSTEM_OTHER, 0 },
		{ "NVIDIA H20", NVSWITCH_SYSTEM_H20, 18 },
		{ "NVIDIA H20-3e", NVSWITCH_SYSTEM_H20, 18 },
		{ "NVIDIA B200", NVSWITCH_SYSTEM_B200, 18 },
		{ "NVIDIA B300 SXM6 AC", NVSWITCH_SYSTEM_B200, 18 },
		{ "NVIDIA GB200", NVSWITCH_SYSTEM_NVL72, 18 },
		{ "NVIDIA GH200 480GB", NVSWITCH_SYSTEM_OTHER, 0 },
		{ "NVIDIA L40S", NVSWITCH_SYSTEM_OTHER, 0 },
		{ "NVIDIA RTX 6000 Ada Generation", NVSWITCH_SYSTEM_OTHER, 0 },
	};
	uint8_t links;

	for (unsigned i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (model_of(models[i].name, &links) != models[i].system ||
		    links != models[i].links)
			fail_msg("%s", models[i].name);
}

static void cards_without_nvswitches_miss_nothing(void **state)
{
	static const char *const cards[] = { "NVIDIA A100-PCIE-40GB", "NVIDIA-H100-NVL",
					     "NVIDIA L40S" };

	for (unsigned i = 0; i < 3; i++) {
		struct machine m = machine_of(cards[i], 0, 0);

		for (unsigned g = 0; g < 8; g++)
			m.lost[g] = 0xff;
		struct host *it = host_well(m);
		host_free(it);
	}
}

static void h20_is_judged_like_other_boards_with_nvswitches(void **state)
{
	struct machine before = machine_of("NVIDIA H20", 4, 36), after = before;

	after.lost[2] = 1;
	assert_becomes(before, &after, NVSWITCH_NO_P2P, "a lost pair");
	after = before;
	after.links = 35;
	assert_becomes(before, &after, NVSWITCH_DEGRADED_LINK, "four links");
}

/* ---- Blanks ---------------------------------------------------------------------------------- */

static void a_blank_value_in_any_spelling_is_no_value(void **state)
{
	static const char *const blanks[] = {
		"9223372036854775792",
		"9223372036854775793",
		"9223372036854775794",
		"9223372036854775795",
		"9.223372036854775792e+18",
		"2147483632",
		"2147483633",
		"2147483634",
		"2147483635",
		"140737488355328",
		"140737488355331",
		"1.40737488355328e+14",
		"NaN",
		"N/A",
		"[N/A]",
		"<<<NULL>>>",
		"<<<NOT_FOUND>>>",
		"<<<NOT_SUPPORTED>>>",
		"<<<NOT_PERM>>>",
		"Not Supported",
		"[Not Supported]",
		"null",
	};
	static const char *const metrics[] = {
		"DCGM_FI_DEV_P2P_NVLINK_STATUS{gpu=\"1\"}",
		"DCGM_FI_DEV_FABRIC_MANAGER_STATUS{gpu=\"1\"}",
		"DCGM_FI_DEV_XID_ERRORS{gpu=\"1\"}",
		"DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION{gpu=\"1\"}",
		"DCGM_FI_DEV_FABRIC_HEALTH_MASK{gpu=\"1\"}",
		"DCGM_FI_DEV_FABRIC_HEALTH_SUMMARY{gpu=\"1\"}",
		"DCGM_FI_DEV_NVSWITCH_RESET_REQUIRED{nvswitch=\"nvswitch1\"}",
		"DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch=\"nvswitch1\"}",
		"DCGM_FI_DEV_NVSWITCH_LINK_STATUS{nvlink=\"1\",nvswitch=\"nvswitch1\"}",
		"DCGM_FI_DEV_MIG_MODE{gpu=\"1\"}",
		"DCGM_FI_DEV_NVLINK_GET_STATE{nvlink=\"1\",gpu=\"1\"}",
	};

	for (unsigned b = 0; b < sizeof(blanks) / sizeof(blanks[0]); b++) {
		struct machine m = h100();

		for (unsigned i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
			snprintf(m.extra + strlen(m.extra), sizeof(m.extra) - strlen(m.extra),
				 "%s %s\n", metrics[i], blanks[b]);
		assert_becomes(h100(), &m, NVSWITCH_HEALTHY, blanks[b]);
	}
}

/* ---- What is told of health ------------------------------------------------------------------ */

static void signals_mean_what_nvidia_says_of_them(void **state)
{
	static const struct {
		const char *line;
		enum nvswitch_state wanted;
	} cases[] = {
		{ "DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION{gpu=\"1\"} 0", NVSWITCH_HEALTHY },
		{ "DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION{gpu=\"1\"} 1", NVSWITCH_NO_P2P },
		{ "DCGM_FI_DEV_GPU_RECOVERY_ACTION{gpu=\"1\"} 2", NVSWITCH_FATAL },
		{ "DCGM_FI_DEV_GPU_RECOVERY_ACTION{gpu=\"1\"} 3", NVSWITCH_NO_P2P },
		{ "DCGM_FI_DEV_GPU_RECOVERY_ACTION{gpu=\"1\"} 4", NVSWITCH_DEGRADED_LINK },
		{ "DCGM_FI_DEV_FABRIC_HEALTH_MASK{gpu=\"1\"} 0", NVSWITCH_HEALTHY },
		{ "DCGM_FI_DEV_FABRIC_HEALTH_MASK{gpu=\"1\"} 426", NVSWITCH_HEALTHY }, /* 0x1aa */
		{ "DCGM_FI_DEV_FABRIC_HEALTH_MASK{gpu=\"1\"} 425",
		  NVSWITCH_DEGRADED_LINK },					       /* 0x1a9 */
		{ "DCGM_FI_DEV_FABRIC_HEALTH_MASK{gpu=\"1\"} 410", NVSWITCH_NO_P2P },  /* 0x19a */
		{ "DCGM_FI_DEV_FABRIC_HEALTH_MASK{gpu=\"1\"} 1450", NVSWITCH_NO_P2P }, /* 0x5aa */
		{ "DCGM_FI_DEV_FABRIC_HEALTH_SUMMARY{gpu=\"1\"} 0", NVSWITCH_HEALTHY },
		{ "DCGM_FI_DEV_FABRIC_HEALTH_SUMMARY{gpu=\"1\"} 2", NVSWITCH_NO_P2P },
		{ "DCGM_FI_DEV_FABRIC_HEALTH_SUMMARY{gpu=\"1\"} 3", NVSWITCH_DEGRADED_LINK },
		{ "DCGM_EXP_GPU_HEALTH_STATUS{gpu=\"1\",health_watch=\"NVLINK\",health_error_code="
		  "\"DCGM_FR_FABRIC_PROBE_STATE\"} 20",
		  NVSWITCH_NO_P2P },
		{ "DCGM_EXP_GPU_HEALTH_STATUS{gpu=\"1\",health_watch=\"NVLINK\",health_error_code="
		  "\"DCGM_FR_NVLINK_DOWN\"} 20",
		  NVSWITCH_DEGRADED_LINK },
		{ "DCGM_EXP_GPU_HEALTH_STATUS{gpu=\"1\",health_watch=\"NVLINK\",health_error_code="
		  "\"\"} 0",
		  NVSWITCH_HEALTHY },
		{ "DCGM_EXP_GPU_HEALTH_STATUS{gpu=\"1\",health_watch=\"PCIE\",health_error_code="
		  "\"DCGM_FR_PCI_REPLAY_RATE\"} 20",
		  NVSWITCH_HEALTHY },
		{ "DCGM_FI_DEV_NVSWITCH_RESET_REQUIRED{nvswitch=\"nvswitch2\"} 1", NVSWITCH_FATAL },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_line(h100(), cases[i].line, cases[i].wanted);
}

/* The GPU's own side of its links, as GB200's trays have it: their NVSwitches are elsewhere. */
static void a_link_of_a_gpu_that_is_down_or_absent_is_reported(void **state)
{
	struct machine well = machine_of("NVIDIA GB200", 0, 0), down, absent;

	for (unsigned l = 0; l < 18; l++)
		snprintf(well.extra + strlen(well.extra), sizeof(well.extra) - strlen(well.extra),
			 "DCGM_FI_DEV_NVLINK_GET_STATE{nvlink=\"%u\",gpu=\"1\"} 1\n", l);
	down = absent = well;
	memcpy(strstr(down.extra, "\"5\",gpu=\"1\"} 1") + 11, "} 0", 3);
	assert_becomes(well, &down, NVSWITCH_DEGRADED_LINK, "down");
	*strstr(absent.extra, "DCGM_FI_DEV_NVLINK_GET_STATE{nvlink=\"17\"") = '\0';
	assert_becomes(well, &absent, NVSWITCH_DEGRADED_LINK, "absent");
}

static void a_counter_that_rose_is_an_event(void **state)
{
	struct host *it = host_new(h100());
	static const char *const line = "DCGM_FI_DEV_NVLINK_RECOVERY_FAILED_TOTAL{gpu=\"1\"} %u\n";

	snprintf(it->machine.extra, sizeof(it->machine.extra), line, 3); /* long ago */
	host_pass(it, 60);
	assert_host(it, NVSWITCH_HEALTHY);
	snprintf(it->machine.extra, sizeof(it->machine.extra), line, 4);
	host_pass(it, 60);
	assert_host(it, NVSWITCH_DEGRADED_LINK);
	host_pass(it, 3600);
	assert_host(it, NVSWITCH_DEGRADED_LINK);
	host_free(it);
}

static void the_nvlink_domain_is_known(void **state)
{
	struct machine m = machine_of("NVIDIA GB200", 0, 0);
	struct host *it;

	snprintf(m.extra, sizeof(m.extra),
		 "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",DCGM_FI_DEV_FABRIC_CLUSTER_UUID=\"0cf3c1a2-7d1a-"
		 "4f0b-9c55-"
		 "2f5dc1a7e001\"} 40\nDCGM_FI_DEV_FABRIC_CLIQUE_ID{gpu=\"0\"} 32766\n");
	it = host_well(m);
	assert_string_equal(host_memory(it)->cluster, "0cf3c1a2-7d1a-4f0b-9c55-2f5dc1a7e001");
	assert_int_equal(host_memory(it)->clique - 1, 32766);
	host_free(it);
}

/* The label comes with each metric, the clique is a metric of its own and may be blank. */
static void a_clique_that_is_blank_for_once_changes_nothing(void **state)
{
	static const char label[] =
		"DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",DCGM_FI_DEV_FABRIC_CLUSTER_UUID=\"0cf3c1a2-7d1a-"
		"4f0b-9c55-2f5dc1a7e001\"} 40\n";
	struct machine m = machine_of("NVIDIA GB200", 0, 0);
	struct host *it;

	snprintf(m.extra, sizeof(m.extra), "%sDCGM_FI_DEV_FABRIC_CLIQUE_ID{gpu=\"0\"} 7\n", label);
	it = host_well(m);
	snprintf(it->machine.extra, sizeof(m.extra), "%s", label);
	host_pass(it, 15);
	host_memory(it)->changed = false;
	host_pass(it, 30);
	assert_false(host_memory(it)->changed);
	assert_int_equal(host_memory(it)->clique - 1, 7);
	snprintf(it->machine.extra, sizeof(m.extra),
		 "%sDCGM_FI_DEV_FABRIC_CLIQUE_ID{gpu=\"0\"} 8\n", label);
	host_pass(it, 15);
	assert_true(host_memory(it)->changed); /* it is kept in the file */
	assert_int_equal(host_memory(it)->clique - 1, 8);
	host_free(it);
}

/* ---- What is gone ---------------------------------------------------------------------------- */

static void four_of_eight_gpus_gone_are_missed(void **state)
{
	struct machine before = h100(), after = before;

	before.asks_fm = after.asks_fm = false;
	before.asks_links = after.asks_links = false;
	for (unsigned g = 4; g < 8; g++)
		after.gone[g] = true;
	assert_becomes(before, &after, NVSWITCH_NO_P2P, "a known host");
	/*
	 * .. and of one that is met like this, where NVSwitches show that it is no board of four.
	 */
	struct machine m = after;
	m.asks_fm = true;
	struct host *it = host_new(m);
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	host_free(it);
}

static void a_board_of_four_is_whole(void **state)
{
	struct machine m = a100();

	m.gpus = 4;
	m.switches = 0;
	m.asks_links = false;
	host_free(host_well(m));
}

/* Error numbers are told of switches that had an error only; other fields of each at all times. */
static void a_switch_that_is_gone_is_missed_without_its_links(void **state)
{
	struct machine before = a100(), after;

	before.asks_links = false;
	before.asks_reset = true;
	after = before;
	after.switch_gone[4] = true;
	assert_becomes(before, &after, NVSWITCH_DEGRADED_LINK, "one of six");
}

static void silence_repairs_nothing(void **state)
{
	struct host *it = host_well(h100());

	it->machine.lost[2] = 1;
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	it->machine.asks_p2p = false; /* another list of counters; the rest is well */
	host_pass(it, 3600);
	assert_host(it, NVSWITCH_NO_P2P);
	it->machine.asks_p2p = true;
	it->machine.lost[2] = 0;
	host_pass(it, 360);
	assert_host(it, NVSWITCH_HEALTHY);
	host_free(it);
}

static void an_operator_who_clears_a_host_makes_it_forget_what_is_gone(void **state)
{
	struct host *it = host_well(a100());

	it->machine.asks_links = false;
	it->machine.gone[7] = true;
	it->machine.gpus = 4; /* rebuilt as a board of four */
	it->machine.switches = 0;
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	health_override(&it->h, 0, NVSWITCH_UNKNOWN);
	host_pass(it, 400);
	assert_host(it, NVSWITCH_HEALTHY);
	host_free(it);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fabric_manager_is_judged_as_dcgm_does),
		cmocka_unit_test(a_manager_that_never_started_is_fatal_with_or_without_p2p),
		cmocka_unit_test(in_progress_is_what_the_site_says_it_is),
		cmocka_unit_test(mig_takes_gpus_out_of_p2p_on_every_generation),
		cmocka_unit_test(a100_in_mig_mode_without_instances_is_healthy),
		cmocka_unit_test(pairs_with_a_gpu_in_mig_are_no_lost_pairs),
		cmocka_unit_test(mig_excuses_no_other_gpu),
		cmocka_unit_test(a_gpu_out_of_mig_is_judged_again),
		cmocka_unit_test(machines_are_known_by_their_gpus),
		cmocka_unit_test(cards_without_nvswitches_miss_nothing),
		cmocka_unit_test(h20_is_judged_like_other_boards_with_nvswitches),
		cmocka_unit_test(a_blank_value_in_any_spelling_is_no_value),
		cmocka_unit_test(signals_mean_what_nvidia_says_of_them),
		cmocka_unit_test(a_link_of_a_gpu_that_is_down_or_absent_is_reported),
		cmocka_unit_test(a_counter_that_rose_is_an_event),
		cmocka_unit_test(the_nvlink_domain_is_known),
		cmocka_unit_test(a_clique_that_is_blank_for_once_changes_nothing),
		cmocka_unit_test(four_of_eight_gpus_gone_are_missed),
		cmocka_unit_test(a_board_of_four_is_whole),
		cmocka_unit_test(a_switch_that_is_gone_is_missed_without_its_links),
		cmocka_unit_test(silence_repairs_nothing),
		cmocka_unit_test(an_operator_who_clears_a_host_makes_it_forget_what_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
