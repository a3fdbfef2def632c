/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Status does not flatter: what is cut off, silent or ill is counted, named and an alert as long as
 * it lasts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/http/metrics.h"
#include "fm/nvswitch/module.h"
#include "tests/lib/fabric_world.h"

static char *alert(const struct world *w, const char *what)
{
	json_t *status = fabric_status(w->fabric), *it;
	char *text = mem_strdup("");
	size_t i;

	json_array_foreach (json_object_get(status, "alerts"), i, it)
		if (!strcmp(json_string_value(json_object_get(it, "what")), what)) {
			free(text);
			text = mem_strdup(json_string_value(json_object_get(it, "text")));
		}
	json_decref(status);
	return text;
}

static void assert_alert(const struct world *w, const char *what, const char *expected)
{
	char *text = alert(w, what);

	assert_string_equal(text, expected);
	free(text);
}

/* All cables of a switch. */
static void power_off(const struct world *w, uint32_t sw)
{
	for (unsigned num = 1; num <= w->design->nodes[sw].nports; num++)
		if (topo_peer(w->design, topo_port(w->design, sw, num)))
			double_cut(w->hw, w->design->nodes[sw].guid, num);
}

static void power_on(const struct world *w, uint32_t sw)
{
	for (unsigned num = 1; num <= w->design->nodes[sw].nports; num++)
		if (topo_peer(w->design, topo_port(w->design, sw, num)))
			double_join(w->hw, w->design->nodes[sw].guid, num);
}

static void hosts_behind_a_dead_leaf_are_cut_off_and_named_first(void **state)
{
	struct world w;
	uint32_t leaf;
	char said[128];

	world_init(&w, pod(1));
	leaf = far_leaf(&w);
	assert_int_equal(status_number(&w, NULL, "hcas_cut_off"), 0);
	power_off(&w, leaf);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "hcas_cut_off"), 32);
	assert_int_equal(status_number(&w, NULL, "hcas_off"), 0);
	snprintf(said, sizeof(said), "32 HCAs cut off: %s is down", w.design->nodes[leaf].desc);
	assert_alert(&w, "hcas-cut-off", said);
	power_on(&w, leaf);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "hcas_cut_off"), 0);
	assert_alert(&w, "hcas-cut-off", "");
	assert_int_equal(count_logged(&w, "alert", "cut off"), 1);
	assert_int_equal(count_logged(&w, "alert-over", "cut off"), 1);
	world_fini(&w);
}

static void host_in_maintenance_rings_no_alert(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	for (unsigned host = 40; host < 44; host++)
		double_cut(w.hw, w.design->nodes[w.design->nswitches + host].guid, 1);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "hcas_off"), 4);
	assert_int_equal(status_number(&w, NULL, "hcas_cut_off"), 0);
	assert_int_equal(status_number(&w, NULL, "alerts"), 0);
	assert_alert(&w, "hcas-cut-off", "");
	world_fini(&w);
}

static void cut_off_is_known_over_a_restart(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	power_off(&w, far_leaf(&w));
	double_cut(w.hw, w.design->nodes[w.design->nswitches + 5].guid, 1);
	run_for(&w, 30 * SECOND_US);
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 10 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "hcas_cut_off"), 32);
	assert_int_equal(status_number(&w, NULL, "hcas_off"), 1);
	world_fini(&w);
}

static void degraded_hosts_are_alerts(void **state)
{
	struct reply r = { 0 };
	struct world w;

	world_init(&w, pod(1));
	nvlink_set(w.fabric, "dgx-su01-05", "NO_P2P", -1, reply_cb, &r);
	run_for(&w, 20 * SECOND_US);
	json_decref(r.result);
	assert_alert(&w, "hosts-no-p2p", "1 host NO_P2P: dgx-su01-05");
	nvlink_set(w.fabric, "dgx-su01-05", "FATAL", -1, reply_cb, &r);
	run_for(&w, 20 * SECOND_US);
	json_decref(r.result);
	assert_alert(&w, "hosts-no-p2p", "");
	assert_alert(&w, "hosts-fatal", "1 host FATAL: dgx-su01-05");
	nvlink_set(w.fabric, "dgx-su01-05", NULL, -1, reply_cb, &r);
	run_for(&w, 20 * SECOND_US);
	json_decref(r.result);
	assert_alert(&w, "hosts-fatal", "");
	world_fini(&w);
}

/* The slow one takes a second for each SMP, and 64 of its ports are to be read. */
static void a_leaf_without_power_is_told_of_beside_a_slow_spine(void **state)
{
	struct world w;
	guid_t spine;

	world_init(&w, pod(1));
	spine = w.design->nodes[find_desc(w.design, "spine-01")].guid;
	double_set_time(w.hw, spine, SECOND_US);
	double_reboot(w.hw, spine);
	double_set_power(w.hw, w.design->nodes[find_desc(w.design, "leaf-su01-rail5")].guid, false);
	run_for(&w, 5 * SECOND_US / 2);
	char *text = alert(&w, "switches-silent");
	assert_non_null(strstr(text, "2 switches do not answer: "));
	assert_non_null(strstr(text, "leaf-su01-rail5"));
	assert_non_null(strstr(text, "spine-01"));
	free(text);
	world_fini(&w);
}

static void switch_that_does_not_answer_is_an_alert_while_it_lasts(void **state)
{
	struct world w;
	guid_t spine;

	world_init(&w, pod(1));
	spine = w.design->nodes[find_desc(w.design, "spine-03")].guid;
	double_set_silent(w.hw, spine, true);
	run_for(&w, 60 * SECOND_US);
	assert_alert(&w, "switches-silent", "1 switch does not answer: spine-03");
	double_set_silent(w.hw, spine, false);
	run_for(&w, 60 * SECOND_US);
	assert_alert(&w, "switches-silent", "");
	world_fini(&w);
}

static void link_that_runs_below_what_it_can_is_an_alert(void **state)
{
	struct world w;
	uint32_t leaf;
	char said[192];

	world_init(&w, pod(1));
	leaf = far_leaf(&w);
	double_retrain(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf), 1);
	run_for(&w, 600 * SECOND_US);
	snprintf(said, sizeof(said), "1 link runs below what it supports: ");
	char *text = alert(&w, "links-slow");
	assert_memory_equal(text, said, strlen(said));
	assert_non_null(strstr(text, w.design->nodes[leaf].desc));
	free(text);
	double_retrain(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf), 4);
	run_for(&w, 600 * SECOND_US);
	assert_alert(&w, "links-slow", "");
	world_fini(&w);
}

static void no_metric_stands_twice_and_what_is_cut_off_has_one(void **state)
{
	char *text = NULL, *rest = NULL, *names[256];
	struct world w;
	size_t length = 0;
	unsigned count = 0;
	json_t *status;
	FILE *out;

	world_init(&w, pod(1));
	power_off(&w, far_leaf(&w));
	run_for(&w, 30 * SECOND_US);
	status = fabric_status(w.fabric);
	out = open_memstream(&text, &length);
	metrics_write(status, out);
	fclose(out);
	json_decref(status);
	assert_non_null(strstr(text, "\nfmd_hcas_cut_off 32\n"));
	assert_non_null(strstr(text, "\nfmd_alerts 1\n"));
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "# TYPE ", 7) != 0)
			continue;
		line[7 + strcspn(line + 7, " ")] = '\0';
		for (unsigned i = 0; i < count; i++)
			assert_string_not_equal(names[i], line + 7);
		assert_true(count < 256);
		names[count++] = line + 7;
	}
	assert_true(count > 40);
	free(text);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_behind_a_dead_leaf_are_cut_off_and_named_first),
		cmocka_unit_test(host_in_maintenance_rings_no_alert),
		cmocka_unit_test(cut_off_is_known_over_a_restart),
		cmocka_unit_test(degraded_hosts_are_alerts),
		cmocka_unit_test(a_leaf_without_power_is_told_of_beside_a_slow_spine),
		cmocka_unit_test(switch_that_does_not_answer_is_an_alert_while_it_lasts),
		cmocka_unit_test(link_that_runs_below_what_it_can_is_an_alert),
		cmocka_unit_test(no_metric_stands_twice_and_what_is_cut_off_has_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
