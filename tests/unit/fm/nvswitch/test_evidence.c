/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What exporters say of a host, in both generations of names, judged against what the machine has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/evidence.h"

/* ---- Bodies ---------------------------------------------------------------------------------- */

struct body {
	char text[1 << 16];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void say(struct body *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	b->used += (size_t)vsnprintf(b->text + b->used, sizeof(b->text) - b->used, format, args);
	va_end(args);
	assert_true(b->used < sizeof(b->text));
}

#define H100 "NVIDIA H100 80GB HBM3"
#define A100 "NVIDIA A100-SXM4-80GB"

static void say_gpu(struct body *b, const char *metric, unsigned gpu, const char *model,
		    double value)
{
	say(b,
	    "%s{gpu=\"%u\",UUID=\"GPU-%u\",device=\"nvidia%u\",modelName=\"%s\",hostname=\"dgx-"
	    "01\"} %g\n",
	    metric, gpu, gpu, gpu, model, value);
}

static void say_peers(struct body *b, const char *model, unsigned gpus)
{
	for (unsigned g = 0; g < gpus; g++)
		say_gpu(b, "DCGM_FI_DEV_P2P_NVLINK_STATUS", g, model,
			((1 << gpus) - 1) & ~(1 << g));
}

static void say_links(struct body *b, unsigned switches, unsigned links)
{
	for (unsigned s = 0; s < switches; s++)
		for (unsigned l = 0; l < links; l++)
			say(b,
			    "DCGM_FI_DEV_NVSWITCH_LINK_STATUS{nvlink=\"%u\",nvswitch=\"nvswitch%"
			    "u\",hostname=\"dgx-01\"} 2\n",
			    l, s);
}

/* A DGX H100 without a fault: 4 NVSwitches with 36 links each, 8 GPUs with 18. */
static struct body *well(void)
{
	struct body *b = calloc(1, sizeof(*b));

	say_peers(b, H100, 8);
	for (unsigned g = 0; g < 8; g++) {
		say_gpu(b, "DCGM_FI_DEV_XID_ERRORS", g, H100, 0);
		say_gpu(b, "DCGM_FI_DEV_FABRIC_MANAGER_STATUS", g, H100, 3);
		say_gpu(b, "DCGM_FI_DEV_GPU_TEMP", g, H100, 40 + g);
	}
	for (unsigned s = 0; s < 4; s++)
		say(b,
		    "DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch=\"nvswitch%u\",hostname=\"dgx-01\"}"
		    " 0\n",
		    s);
	say_links(b, 4, 36);
	return b;
}

static struct evidence gathered; /* of the latest body */
static struct memory memory;

/* With the events, as a host's state has both. */
static void weigh(const struct evidence_context *context, struct nvswitch_verdict *verdict)
{
	evidence_judge(&gathered, &memory, context, verdict);
	for (unsigned i = 0; i < memory.events.count; i++)
		nvswitch_verdict_add(verdict, &memory.events.findings[i]);
}

/* Of a host that was heard before, or not. */
static struct nvswitch_verdict judge_again(struct body *b, enum nvswitch_system system)
{
	const struct evidence_context context = { .progress = FM_PROGRESS_DEGRADED };
	struct exposition *e = malloc(sizeof(*e));
	struct nvswitch_verdict verdict;

	gathered = (struct evidence){ .configured = system };
	exposition_init(e, &evidence_ops, &gathered);
	exposition_feed(e, b->text, b->used);
	if (!exposition_end(e))
		fail_msg("%s", e->fault);
	free(e);
	free(b);
	weigh(&context, &verdict);
	return verdict;
}

static struct nvswitch_verdict judge_as(struct body *b, enum nvswitch_system system)
{
	memory = (struct memory){ 0 };
	return judge_again(b, system);
}

static struct nvswitch_verdict judge(struct body *b)
{
	return judge_as(b, NVSWITCH_SYSTEM_AUTO);
}

static void assert_state(struct nvswitch_verdict v, enum nvswitch_state wanted, const char *first)
{
	if (v.state != wanted)
		fail_msg("%s, not %s: %s", nvswitch_states[v.state], nvswitch_states[wanted],
			 v.count ? v.findings[0].text : "nothing found");
	if (first && (!v.count || !strstr(v.findings[0].text, first)))
		fail_msg("'%s' has no '%s'", v.count ? v.findings[0].text : "", first);
}

/* ---- Healthy --------------------------------------------------------------------------------- */

static void a_machine_as_it_should_be_is_healthy(void **state)
{
	struct nvswitch_verdict v = judge(well());

	assert_state(v, NVSWITCH_HEALTHY, NULL);
	assert_int_equal(v.system, NVSWITCH_SYSTEM_H100);
	assert_int_equal(v.count, 0);
	assert_string_equal(gathered.host, "dgx-01");
}

static void machines_are_known_by_their_gpus(void **state)
{
	uint8_t links;

	assert_int_equal(model_of(A100, &links), NVSWITCH_SYSTEM_A100);
	assert_int_equal(model_of("NVIDIA H200", &links), NVSWITCH_SYSTEM_H200);
	assert_int_equal(model_of("NVIDIA B200", &links), NVSWITCH_SYSTEM_B200);
	assert_int_equal(model_of("NVIDIA GB200", &links), NVSWITCH_SYSTEM_NVL72);
	assert_int_equal(model_of("NVIDIA H100 PCIe", &links), NVSWITCH_SYSTEM_OTHER);
	assert_int_equal(model_of("NVIDIA H100 NVL", &links), NVSWITCH_SYSTEM_OTHER);
}

static void whole_machines_of_every_system_are_healthy(void **state)
{
	static const struct {
		const char *model;
		unsigned gpus, switches, links;
	} systems[] = { { A100, 8, 6, 16 },
			{ "NVIDIA B200", 8, 2, 72 },
			{ "NVIDIA H200", 8, 4, 36 } };

	for (unsigned i = 0; i < 3; i++) {
		struct body *b = calloc(1, sizeof(*b));

		say_peers(b, systems[i].model, systems[i].gpus);
		say_links(b, systems[i].switches, systems[i].links);
		assert_state(judge(b), NVSWITCH_HEALTHY, NULL);
	}
}

static void cards_without_nvlink_are_no_fault(void **state)
{
	struct body *b = calloc(1, sizeof(*b));

	for (unsigned g = 0; g < 8; g++)
		say_gpu(b, "DCGM_FI_DEV_P2P_NVLINK_STATUS", g, "NVIDIA H100 PCIe", 0);
	assert_state(judge(b), NVSWITCH_HEALTHY, NULL);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static void a_lost_peer_is_no_p2p_and_named(void **state)
{
	struct body *b = well();

	say_gpu(b, "DCGM_FI_DEV_P2P_NVLINK_STATUS", 2, H100, 250);
	struct nvswitch_verdict v = judge(b);
	assert_state(v, NVSWITCH_NO_P2P, "GPU 2: no NVLink to 1 of 7 GPUs, the first GPU 0");
	assert_int_equal(v.findings[0].gpu, 2);
}

static void old_and_new_names_say_the_same(void **state)
{
	static const char *const names[] = { "DCGM_FI_DEV_P2P_NVLINK_STATUS",
					     "DCGM_FI_DEV_NVLINK_P2P_STATUS" };

	for (unsigned i = 0; i < 2; i++) {
		struct body *b = calloc(1, sizeof(*b));

		for (unsigned g = 0; g < 8; g++)
			say(b,
			    "%s{gpu=\"%u\",gpu_uuid=\"x\",model_name=\"" H100
			    "\",Hostname=\"old\"} %u\n",
			    names[i], g, g == 5 ? 0 : 255u & ~(1u << g));
		assert_state(judge(b), NVSWITCH_NO_P2P, "GPU 5");
		assert_string_equal(gathered.host, "old");
		assert_int_equal(gathered.learnt, NVSWITCH_SYSTEM_H100);
	}
	struct body *b = well();
	say(b, "DCGM_FI_DEV_SXID_FATAL_ERROR{nvswitch=\"3\"} "
	       "23005\nDCGM_FI_DEV_XID_ERROR{gpu=\"1\"} 74\n");
	judge(well());
	assert_state(judge_again(b, NVSWITCH_SYSTEM_AUTO), NVSWITCH_FATAL,
		     "NVSwitch 3: fatal SXid 23005");
}

/*
 * NVML can't tell one GPU's peers for a while: what only a GPU that answers has says that it is
 * there.
 */
static void a_gpu_is_there_by_its_temperature_or_power_under_any_name(void **state)
{
	static const char *const names[] = { "GPU_TEMP", "GPU_TEMP_CELSIUS", "POWER_USAGE",
					     "BOARD_POWER_WATTS" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct body *b = calloc(1, sizeof(*b));

		for (unsigned g = 0; g < 8; g++) {
			say(b, "DCGM_FI_DEV_%s{gpu=\"%u\",modelName=\"" H100 "\"} 40\n", names[i],
			    g);
			if (g != 2)
				say_gpu(b, "DCGM_FI_DEV_NVLINK_P2P_STATUS", g, H100,
					255 & ~(1u << g));
		}
		assert_state(judge(b), NVSWITCH_HEALTHY, NULL);
	}
}

static void a_switch_is_there_by_its_temperature_under_any_name(void **state)
{
	static const char *const names[] = { "NVSWITCH_TEMPERATURE_CURRENT",
					     "NVSWITCH_TEMP_CELSIUS" };

	for (unsigned i = 0; i < 2; i++) {
		struct body *b = calloc(1, sizeof(*b));

		for (unsigned g = 0; g < 8; g++)
			say_gpu(b, "DCGM_FI_DEV_P2P_NVLINK_STATUS", g, H100, 255 & ~(1u << g));
		for (unsigned n = 0; n < 3; n++)
			say(b, "DCGM_FI_DEV_%s{nvswitch=\"nvswitch%u\"} 40\n", names[i], n);
		assert_state(judge(b), NVSWITCH_DEGRADED_LINK, "1 of 4 NVSwitches absent");
	}
}

static void error_numbers_are_weighed(void **state)
{
	static const struct {
		const char *line;
		enum nvswitch_state state;
	} cases[] = {
		{ "DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch=\"nvswitch1\"} 20034\n",
		  NVSWITCH_NO_P2P },
		{ "DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch=\"nvswitch1\"} 12020\n",
		  NVSWITCH_FATAL },
		{ "DCGM_FI_DEV_NVSWITCH_NON_FATAL_ERRORS{nvswitch=\"nvswitch1\"} 12028\n",
		  NVSWITCH_HEALTHY },
		{ "DCGM_FI_DEV_NVSWITCH_RESET_REQUIRED{nvswitch=\"nvswitch1\"} 1\n",
		  NVSWITCH_FATAL },
		{ "DCGM_FI_DEV_NVSWITCH_RESET_REQUIRED{nvswitch=\"nvswitch1\"} 0\n",
		  NVSWITCH_HEALTHY },
		{ "DCGM_FI_DEV_NVSWITCH_LINK_FATAL_ERRORS{nvlink=\"33\",nvswitch=\"nvswitch2\"} "
		  "20034\n",
		  NVSWITCH_NO_P2P },
		{ "DCGM_FI_DEV_XID_ERRORS{gpu=\"1\"} 74\n", NVSWITCH_NO_P2P },
		{ "DCGM_FI_DEV_XID_ERRORS{gpu=\"1\"} 79\n", NVSWITCH_NO_P2P },
		{ "DCGM_FI_DEV_XID_ERRORS{gpu=\"1\"} 149\n", NVSWITCH_DEGRADED_LINK },
		{ "DCGM_FI_DEV_XID_ERRORS{gpu=\"1\"} 94\n", NVSWITCH_HEALTHY },
		{ "DCGM_FI_DEV_FABRIC_HEALTH_SUMMARY{gpu=\"1\"} 3\n", NVSWITCH_DEGRADED_LINK },
		{ "DCGM_FI_DEV_FABRIC_HEALTH_SUMMARY{gpu=\"1\"} 2\n", NVSWITCH_NO_P2P },
		{ "DCGM_FI_DEV_FABRIC_HEALTH_SUMMARY{gpu=\"1\"} 1\n", NVSWITCH_HEALTHY },
		{ "DCGM_EXP_P2P_STATUS{gpu=\"1\",peer_gpu=\"2\",link_status=\"NotSupported\"} 5\n",
		  NVSWITCH_NO_P2P },
		{ "DCGM_EXP_P2P_STATUS{gpu=\"1\",peer_gpu=\"2\",link_status=\"Unknown\"} 6\n",
		  NVSWITCH_HEALTHY },
		{ "DCGM_FI_DEV_FABRIC_MANAGER_STATUS{gpu=\"1\"} 4\n", NVSWITCH_NO_P2P },
		{ "DCGM_FI_DEV_P2P_NVLINK_STATUS{gpu=\"1\"} NaN\n", NVSWITCH_HEALTHY },
		{ "DCGM_FI_DEV_NVSWITCH_LINK_STATUS{nvlink=\"3\",nvswitch=\"nvswitch2\"} 3\n",
		  NVSWITCH_DEGRADED_LINK },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct body *b = well();
		struct nvswitch_verdict v;

		say(b, "%s", cases[i].line);
		judge(well());
		v = judge_again(b, NVSWITCH_SYSTEM_AUTO);
		if (v.state != cases[i].state)
			fail_msg("%s is %s", cases[i].line, nvswitch_states[v.state]);
	}
}

static void the_manager_failing_for_all_is_fatal(void **state)
{
	struct body *b = calloc(1, sizeof(*b));

	for (unsigned g = 0; g < 8; g++)
		say_gpu(b, "DCGM_FI_DEV_FABRIC_MANAGER_STATUS", g, H100, 4);
	assert_state(judge(b), NVSWITCH_FATAL, "every GPU");
}

static void a_gpu_that_is_gone_is_no_p2p(void **state)
{
	struct body *b = calloc(1, sizeof(*b));

	say_peers(b, H100, 7);
	assert_state(judge(b), NVSWITCH_NO_P2P, "GPU 7: absent");
}

static void a_board_of_four_is_whole(void **state)
{
	struct body *b = calloc(1, sizeof(*b));

	say_peers(b, A100, 4);
	assert_state(judge(b), NVSWITCH_HEALTHY, NULL);
}

/* ---- Links ----------------------------------------------------------------------------------- */

static void links_that_are_absent_are_counted_against_the_system(void **state)
{
	struct body *b = calloc(1, sizeof(*b));

	say_peers(b, H100, 8);
	say_links(b, 4, 35);
	assert_state(judge(b), NVSWITCH_DEGRADED_LINK, "4 of 144 NVLinks absent");
}

static void a_switch_that_is_absent_is_reported(void **state)
{
	struct body *b = calloc(1, sizeof(*b));

	say_peers(b, A100, 8);
	say_links(b, 5, 20);
	assert_state(judge(b), NVSWITCH_DEGRADED_LINK, "1 of 6 NVSwitches absent");
}

/*
 * An exporter that calls all NVSwitches nvswitch0: the worst of equal series counts, nothing is
 * said to be absent.
 */
static void repeated_series_count_as_the_worst_and_prove_no_absence(void **state)
{
	struct body *b = calloc(1, sizeof(*b));

	say_peers(b, H100, 8);
	for (unsigned i = 0; i < 4; i++)
		say_links(b, 1, 36);
	assert_state(judge(b), NVSWITCH_HEALTHY, NULL);
	b = well();
	say(b, "DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch=\"nvswitch0\"} 23001\n"
	       "DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch=\"nvswitch0\"} 0\n");
	judge(well());
	assert_state(judge_again(b, NVSWITCH_SYSTEM_AUTO), NVSWITCH_FATAL, "23001");
}

static void mig_on_a100_is_no_fault(void **state)
{
	struct body *b = calloc(1, sizeof(*b));

	for (unsigned g = 0; g < 8; g++)
		say_gpu(b, "DCGM_FI_DEV_P2P_NVLINK_STATUS", g, A100, g == 3 ? 0 : 0xf7 & ~(1 << g));
	say(b, "DCGM_FI_DEV_XID_ERRORS{gpu=\"3\",modelName=\"" A100
	       "\",GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"7\"} 0\n");
	say_links(b, 6, 14); /* 96 less the 12 of that GPU */
	assert_state(judge(b), NVSWITCH_HEALTHY, NULL);
}

static void mig_on_a100_excuses_no_other_gpu(void **state)
{
	struct body *b = calloc(1, sizeof(*b));

	for (unsigned g = 0; g < 8; g++)
		say_gpu(b, "DCGM_FI_DEV_P2P_NVLINK_STATUS", g, A100,
			g == 3 || g == 4 ? 0 : 0xf7 & ~(1 << g));
	say(b, "DCGM_FI_DEV_XID_ERRORS{gpu=\"3\",GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"7\"} 0\n");
	assert_state(judge(b), NVSWITCH_NO_P2P, "GPU 4");
}

static void mig_on_h100_is_no_fault_while_links_stay_up(void **state)
{
	struct body *b = calloc(1, sizeof(*b));

	for (unsigned g = 0; g < 8; g++)
		say_gpu(b, "DCGM_FI_DEV_P2P_NVLINK_STATUS", g, H100, g == 3 ? 0 : 0xf7 & ~(1 << g));
	say(b, "DCGM_FI_DEV_FB_USED{gpu=\"3\"} 1\n"
	       "DCGM_FI_DEV_XID_ERRORS{gpu=\"3\",GPU_I_PROFILE=\"1g\",GPU_I_ID=\"7\"} 0\n");
	say_links(b, 4, 36);
	assert_state(judge(b), NVSWITCH_HEALTHY, NULL);
}

/* ---- Others ---------------------------------------------------------------------------------- */

static void a_body_without_nvlink_metrics_is_unknown(void **state)
{
	struct body *b = calloc(1, sizeof(*b));

	say_gpu(b, "DCGM_FI_DEV_GPU_TEMP", 0, H100, 40);
	assert_state(judge(b), NVSWITCH_UNKNOWN, NULL);
	assert_state(judge(calloc(1, sizeof(*b))), NVSWITCH_UNKNOWN, NULL);
}

static void labels_that_name_nothing_real_are_passed_over(void **state)
{
	struct body *b = well();

	say(b,
	    "DCGM_FI_DEV_XID_ERRORS{gpu=\"99\"} 74\nDCGM_FI_DEV_XID_ERRORS{gpu=\"\"} 74\n"
	    "DCGM_FI_DEV_XID_ERRORS 74\nDCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch=\"x\"} 23001\n"
	    "DCGM_FI_DEV_NVSWITCH_LINK_STATUS{nvlink=\"999999999999\",nvswitch=\"0\"} 3\n"
	    "DCGM_FI_DEV_FABRIC_MANAGER_STATUS{gpu=\"0\"} 260\n");
	assert_state(judge(b), NVSWITCH_HEALTHY, NULL);
}

/* In whatever order the links come. */
static void the_link_that_is_named_is_the_one_with_the_gravest_error(void **state)
{
	struct body *b = well();

	judge(well());
	say(b,
	    "DCGM_FI_DEV_NVSWITCH_LINK_FATAL_ERRORS{nvlink=\"5\",nvswitch=\"nvswitch1\"} 23001\n"
	    "DCGM_FI_DEV_NVSWITCH_LINK_FATAL_ERRORS{nvlink=\"9\",nvswitch=\"nvswitch1\"} 20034\n");
	assert_state(judge_again(b, NVSWITCH_SYSTEM_AUTO), NVSWITCH_FATAL,
		     "NVSwitch 1 link 5: fatal SXid 23001");
}

static void the_worst_findings_come_first(void **state)
{
	struct body *b = calloc(1, sizeof(*b));

	for (unsigned g = 0; g < 8; g++)
		say_gpu(b, "DCGM_FI_DEV_P2P_NVLINK_STATUS", g, H100, 0);
	say_links(b, 4, 20);
	say(b, "DCGM_FI_DEV_NVSWITCH_RESET_REQUIRED{nvswitch=\"nvswitch1\"} 1\n");
	struct nvswitch_verdict v = judge(b);
	assert_int_equal(v.count, 8 + 1 + 1);
	assert_state(v, NVSWITCH_FATAL, "needs a reset");
	for (unsigned i = 1; i < v.count; i++)
		assert_true(v.findings[i].state <= v.findings[i - 1].state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_as_it_should_be_is_healthy),
		cmocka_unit_test(machines_are_known_by_their_gpus),
		cmocka_unit_test(whole_machines_of_every_system_are_healthy),
		cmocka_unit_test(cards_without_nvlink_are_no_fault),
		cmocka_unit_test(a_lost_peer_is_no_p2p_and_named),
		cmocka_unit_test(old_and_new_names_say_the_same),
		cmocka_unit_test(a_gpu_is_there_by_its_temperature_or_power_under_any_name),
		cmocka_unit_test(a_switch_is_there_by_its_temperature_under_any_name),
		cmocka_unit_test(error_numbers_are_weighed),
		cmocka_unit_test(the_manager_failing_for_all_is_fatal),
		cmocka_unit_test(a_gpu_that_is_gone_is_no_p2p),
		cmocka_unit_test(a_board_of_four_is_whole),
		cmocka_unit_test(links_that_are_absent_are_counted_against_the_system),
		cmocka_unit_test(a_switch_that_is_absent_is_reported),
		cmocka_unit_test(repeated_series_count_as_the_worst_and_prove_no_absence),
		cmocka_unit_test(mig_on_a100_is_no_fault),
		cmocka_unit_test(mig_on_a100_excuses_no_other_gpu),
		cmocka_unit_test(mig_on_h100_is_no_fault_while_links_stay_up),
		cmocka_unit_test(a_body_without_nvlink_metrics_is_unknown),
		cmocka_unit_test(labels_that_name_nothing_real_are_passed_over),
		cmocka_unit_test(the_link_that_is_named_is_the_one_with_the_gravest_error),
		cmocka_unit_test(the_worst_findings_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
