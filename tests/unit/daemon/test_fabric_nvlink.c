/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What ill NVLinks do to the fabric, on the double: they move nothing, rates are said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/nvswitch/module.h"
#include "tests/lib/fabric_world.h"

#define HOST "dgx-su01-05"

static struct reply set(struct world *w, const char *host, const char *state)
{
	struct reply r = { 0 };

	nvlink_set(w->fabric, host, state, -1, reply_cb, &r);
	run_for(w, SECOND_US);
	assert_int_equal(r.count, 1);
	return r;
}

static void assert_set(struct world *w, const char *host, const char *state, bool rerouted)
{
	struct reply r = set(w, host, state);

	assert_string_equal(r.error, "");
	assert_int_equal(json_is_true(json_object_get(r.result, "rerouted")), rerouted);
	json_decref(r.result);
}

static void no_state_moves_an_entry_and_the_rates_of_no_p2p_are_said(void **state)
{
	static const char *const states[] = { "FATAL", "NO_P2P", NULL };
	struct world w;

	world_init(&w, pod(1));
	double sent = status_number(&w, NULL, "lft_blocks_written");
	for (unsigned i = 0; i < 3; i++)
		assert_set(&w, HOST, states[i], false);
	assert_int_equal(status_number(&w, NULL, "lft_blocks_written"), sent);
	assert_int_equal(count_logged(&w, "nvswitch-rates",
				      HOST ": routing kept: 8.00 of 8 as it is; the others 180."),
			 1);
	world_fini(&w);
}

static void a_degraded_link_moves_nothing(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	double sent = status_number(&w, NULL, "lft_blocks_written");
	assert_set(&w, HOST, "DEGRADED_LINK", false);
	assert_int_equal(status_number(&w, NULL, "lft_blocks_written"), sent);
	json_t *doc = nvlink_hosts(w.fabric), *row = NULL, *it;
	size_t i;
	json_array_foreach (json_object_get(doc, "hosts"), i, it)
		if (!strcmp(json_string_value(json_object_get(it, "host")), HOST))
			row = it;
	assert_string_equal(json_string_value(json_object_get(row, "state")), "DEGRADED_LINK");
	assert_string_equal(json_string_value(json_object_get(row, "override")), "DEGRADED_LINK");
	assert_int_equal(json_array_size(json_object_get(doc, "hosts")), 32);
	json_decref(doc);
	world_fini(&w);
}

static void what_if_computes_rates_and_leaves_what_is_in_force_alone(void **state)
{
	uint8_t *states = NULL;
	char err[512];
	struct world w;

	world_init(&w, pod(1));
	assert_set(&w, "dgx-su01-09", "FATAL", false);
	assert_int_equal(nvlink_assume(w.fabric, HOST "=no_p2p", &states, err), 0);
	json_t *rows =
		nvlink_trial(w.fabric, fabric_topo(w.fabric), states, fabric_tables(w.fabric));
	assert_int_equal(json_array_size(rows), 1);
	json_t *then = json_object_get(json_array_get(rows, 0), "cross_rail");
	assert_int_equal(json_integer_value(json_object_get(then, "worst_uplink")), 7);
	assert_int_equal(json_integer_value(json_object_get(then, "rate_of")), 8);
	assert_true(json_number_value(json_object_get(then, "rate")) > 7.99);
	assert_true(json_number_value(json_object_get(then, "others_alone")) >=
		    json_number_value(json_object_get(then, "others_rate")));
	assert_set(&w, HOST, NULL, false);
	json_decref(rows);
	free(states);
	world_fini(&w);
}

static void what_is_assumed_must_be_a_host_and_a_state(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ HOST, HOST ": HOST=STATE is expected" },
		{ HOST "=ILL", "unknown state ILL: HEALTHY, DEGRADED_LINK, NO_P2P or FATAL" },
		{ HOST "=UNKNOWN",
		  "unknown state UNKNOWN: HEALTHY, DEGRADED_LINK, NO_P2P or FATAL" },
		{ "moon=FATAL", "the fabric has no host moon, or several" },
		{ "=FATAL", "the fabric has no host , or several" },
	};
	uint8_t *states = NULL;
	struct world w;

	world_init(&w, pod(1));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char err[512] = "";

		assert_int_equal(nvlink_assume(w.fabric, bad[i].text, &states, err), -1);
		assert_string_equal(err, bad[i].why);
	}
	for (uint32_t h = 0; h < fabric_topo(w.fabric)->nhosts; h++)
		assert_int_equal(states[h], 0);
	free(states);
	world_fini(&w);
}

static void what_can_not_be_set_is_refused(void **state)
{
	static const struct {
		const char *host, *state, *reason;
	} cases[] = { { "moon", "FATAL", "moon" },
		      { HOST, "SICK", "unknown state SICK" },
		      { HOST, "UNKNOWN", "unknown state UNKNOWN" } };
	struct world w;

	world_init(&w, small_tree());
	for (unsigned i = 0; i < 3; i++) {
		struct reply r = set(&w, cases[i].host, cases[i].state);

		assert_null(r.result);
		if (!strstr(r.error, cases[i].reason))
			fail_msg("'%s' has no '%s'", r.error, cases[i].reason);
	}
	world_fini(&w);
}

/* ---- Ports that are not ours ----------------------------------------------------------------- */

static void assert_refused(uint32_t (*which)(const struct world *w), const char *desc, bool refused)
{
	struct world w;

	world_init(&w, small_tree());
	guid_t guid = w.design->nodes[which(&w)].guid;
	assert_int_equal(count_logged(&w, "nvlink-subnet", ""), 0);
	stop_fabric(&w);
	double_set_desc(w.hw, guid, desc);
	uint64_t tables = double_sent(w.hw, WIRE_SET, WIRE_LFT);
	uint64_t ports = double_sent(w.hw, WIRE_SET, WIRE_PORT_INFO);
	log_set_level(LOG_CORE, LOG_ERR - 1);
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	if (is_up(&w) != !refused)
		fail_msg("%s", desc);
	assert_int_equal(count_logged(&w, "nvlink-subnet", desc), refused);
	if (refused) {
		assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_LFT), tables);
		assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_PORT_INFO), ports);
	}
	world_fini(&w);
}

static uint32_t last_adapter(const struct world *w)
{
	return w->design->nnodes - 1;
}

/* What NVLink switches of two generations and a GPU were recorded to call themselves. */
static void a_port_into_an_nvlink_subnet_is_refused_with_the_reason(void **state)
{
	assert_refused(far_leaf, "MF0;gb-nvl-087-switch03:N5110_LD/U1", true);
	assert_refused(far_leaf, "MF0;sw06:N5400_LD/U1", true);
	assert_refused(last_adapter, "GB100 Nvidia Technologies", true);
}

static void names_that_are_only_alike_are_no_nvlink_subnet(void **state)
{
	assert_refused(far_leaf, "MF0;leaf-N52:MQM9700/U1", false);
	assert_refused(far_leaf, "MF0;sw:N_LD/U1", false);
	assert_refused(last_adapter, "GB100-node mlx5_0", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_state_moves_an_entry_and_the_rates_of_no_p2p_are_said),
		cmocka_unit_test(a_degraded_link_moves_nothing),
		cmocka_unit_test(what_if_computes_rates_and_leaves_what_is_in_force_alone),
		cmocka_unit_test(what_is_assumed_must_be_a_host_and_a_state),
		cmocka_unit_test(what_can_not_be_set_is_refused),
		cmocka_unit_test(a_port_into_an_nvlink_subnet_is_refused_with_the_reason),
		cmocka_unit_test(names_that_are_only_alike_are_no_nvlink_subnet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
