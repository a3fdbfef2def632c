/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One verdict a machine, on the fabric double: each part of it, and the worst of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/hosts/module.h"
#include "fm/nvswitch/module.h"
#include "tests/lib/fabric_world.h"

#define HOST "dgx-su01-05" /* not the manager's */

static uint32_t index_of(const struct topo *t, const char *name)
{
	for (uint32_t h = 0; h < t->nhosts; h++)
		if (!strcmp(t->hosts[h].name, name))
			return h;
	fail_msg("no %s", name);
	return TOPO_NONE;
}

static guid_t hca(const struct world *w, unsigned rail)
{
	const struct topo *t = w->design;
	const struct topo_host *host = &t->hosts[index_of(t, HOST)];

	return t->nodes[t->host_cas[host->first + rail]].guid;
}

static void cut(struct world *w, unsigned rail)
{
	double_cut(w->hw, hca(w, rail), 1);
	run_for(w, 5 * SECOND_US);
}

static void set_nvlinks(struct world *w, const char *state)
{
	struct reply r = { 0 };

	nvlink_set(w->fabric, HOST, state, -1, reply_cb, &r);
	run_for(w, 5 * SECOND_US);
	assert_int_equal(r.count, 1);
	json_decref(r.result);
}

static struct host_verdict judge(const struct world *w)
{
	struct host_verdict v;

	hosts_judge(w->fabric, index_of(fabric_topo(w->fabric), HOST), &v);
	return v;
}

#define assert_verdict(w, wanted, up, reason)                                                      \
	do {                                                                                       \
		struct host_verdict v_ = judge(w);                                                 \
		assert_string_equal(host_state_name(v_.state), #wanted);                           \
		assert_int_equal(v_.hcas_up, up);                                                  \
		assert_int_equal(v_.hcas, 8);                                                      \
		assert_string_equal(host_verdict_reason(&v_), reason);                             \
	} while (0)

static void a_host_without_telemetry_is_healthy_by_its_hcas_alone(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	for (uint32_t h = 0; h < fabric_topo(w.fabric)->nhosts; h++) {
		struct host_verdict v;

		hosts_judge(w.fabric, h, &v);
		assert_int_equal(v.state, HOST_HEALTHY);
		assert_int_equal(v.count, 0);
		assert_int_equal(v.hcas_up, v.hcas);
	}
	world_fini(&w);
}

static void an_hca_that_is_down_degrades_its_host_until_it_is_back(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	cut(&w, 3);
	assert_verdict(&w, DEGRADED, 7, "mlx5_5: link to leaf-su01-rail3 port 5 is down");
	double_join(w.hw, hca(&w, 3), 1);
	run_for(&w, 5 * SECOND_US);
	assert_verdict(&w, HEALTHY, 8, "");
	world_fini(&w);
}

static void a_host_none_of_whose_hcas_is_reached_is_cut_off(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	for (unsigned rail = 0; rail < 8; rail++)
		cut(&w, rail);
	assert_verdict(&w, CUT_OFF, 0, "none of its 8 HCAs is reachable");
	assert_int_equal(judge(&w).count, 9);
	world_fini(&w);
}

static void hcas_behind_a_dead_leaf_are_named_with_it(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	double_set_power(
		w.hw,
		w.design->nodes[topo_peer(w.design,
					  topo_port(w.design, topo_find(w.design, hca(&w, 2)), 1))
					->node]
			.guid,
		false);
	run_for(&w, 60 * SECOND_US);
	assert_verdict(&w, DEGRADED, 7, "mlx5_4: cut off at leaf-su01-rail2 port 5");
	world_fini(&w);
}

static void the_worse_of_nvlinks_and_hcas_counts(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	set_nvlinks(&w, "DEGRADED_LINK");
	assert_verdict(&w, DEGRADED, 8, "NVLinks DEGRADED_LINK: manual override");
	set_nvlinks(&w, "NO_P2P");
	cut(&w, 0);
	assert_verdict(&w, NO_P2P, 7, "NVLinks NO_P2P: manual override");
	set_nvlinks(&w, "FATAL");
	assert_verdict(&w, FATAL, 7, "NVLinks FATAL: manual override");
	for (unsigned rail = 1; rail < 8; rail++)
		cut(&w, rail);
	assert_verdict(&w, CUT_OFF, 0, "none of its 8 HCAs is reachable");
	world_fini(&w);
}

static void configure_exporters(struct world *w)
{
	strcpy(w->conf.nvswitch.url, "http://127.0.0.1:1/%h");
	fabric_configure(w->fabric, &w->conf);
	run_for(w, 5 * SECOND_US);
}

static void a_host_whose_exporter_is_silent_is_unknown_and_degraded_is_worse(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	configure_exporters(&w);
	assert_int_equal(judge(&w).state, HOST_UNKNOWN);
	assert_int_equal(judge(&w).hcas_up, 8);
	cut(&w, 6);
	assert_int_equal(judge(&w).state, HOST_DEGRADED);
	assert_int_equal(judge(&w).count, 2);
	world_fini(&w);
}

static void nobody_expects_nvlinks_of_storage(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	strcpy(w.conf.routing.storage_nodes, "x* " HOST);
	configure_exporters(&w);
	assert_int_equal(judge(&w).state, HOST_HEALTHY);
	world_fini(&w);
}

static void links_that_cannot_be_trusted_degrade_a_host(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	for (unsigned i = 0; i < 7; i++) {
		double_cut(w.hw, hca(&w, 1), 1);
		run_for(&w, 3 * SECOND_US);
		double_join(w.hw, hca(&w, 1), 1);
		run_for(&w, 3 * SECOND_US);
	}
	assert_verdict(&w, DEGRADED, 8, "mlx5_3: link is unhealthy: went down 6 times within 60 s");
	run_for(&w, 300 * SECOND_US);
	assert_verdict(&w, HEALTHY, 8, "");
	world_fini(&w);
}

static void links_with_errors_at_either_end_degrade_a_host(void **state)
{
	struct world w;
	const struct topo *t;
	const struct topo_port *far;

	world_init(&w, pod(1));
	t = w.design;
	far = topo_peer(t, topo_port(t, topo_find(t, hca(&w, 4)), 1));
	for (unsigned minute = 1; minute <= 5; minute++) {
		double_set_counter(w.hw, t->nodes[far->node].guid, far->num, PERF_SYMBOL,
				   minute * 1000);
		run_for(&w, 60 * SECOND_US);
	}
	assert_int_equal(judge(&w).state, HOST_DEGRADED);
	assert_int_equal(judge(&w).count, 3);
	assert_non_null(strstr(judge(&w).reasons[0].text, "mlx5_6: link is unhealthy: 1"));
	assert_non_null(strstr(judge(&w).reasons[1].text, "mlx5_6: symbol BER "));
	assert_non_null(strstr(judge(&w).reasons[2].text, "mlx5_6: link unhealthy: 1"));
	world_fini(&w);
}

static void links_below_what_they_can_degrade_a_host(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	double_retrain(w.hw, hca(&w, 0), 1, 1);
	run_for(&w, 180 * SECOND_US);
	assert_verdict(&w, DEGRADED, 8, "mlx5_0: runs at 1x NDR, supports 4x NDR");
	world_fini(&w);
}

static void a_row_of_hosts_has_the_verdict_and_its_hcas_as_before(void **state)
{
	struct world w;
	json_t *rows, *row;

	world_init(&w, pod(1));
	cut(&w, 7);
	rows = hosts_document(w.fabric, NULL, NULL);
	row = json_array_get(rows, index_of(fabric_topo(w.fabric), HOST));
	assert_string_equal(json_string_value(json_object_get(row, "name")), HOST);
	assert_string_equal(json_string_value(json_object_get(row, "verdict")), "DEGRADED");
	assert_int_equal(json_array_size(json_object_get(row, "reasons")), 1);
	assert_int_equal(json_array_size(json_object_get(row, "hcas")), 8);
	assert_int_equal(json_integer_value(json_object_get(row, "hcas_up")), 7);
	assert_int_equal(json_integer_value(json_object_get(row, "hcas_known")), 8);
	json_decref(rows);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_without_telemetry_is_healthy_by_its_hcas_alone),
		cmocka_unit_test(an_hca_that_is_down_degrades_its_host_until_it_is_back),
		cmocka_unit_test(a_host_none_of_whose_hcas_is_reached_is_cut_off),
		cmocka_unit_test(hcas_behind_a_dead_leaf_are_named_with_it),
		cmocka_unit_test(the_worse_of_nvlinks_and_hcas_counts),
		cmocka_unit_test(a_host_whose_exporter_is_silent_is_unknown_and_degraded_is_worse),
		cmocka_unit_test(nobody_expects_nvlinks_of_storage),
		cmocka_unit_test(links_that_cannot_be_trusted_degrade_a_host),
		cmocka_unit_test(links_with_errors_at_either_end_degrade_a_host),
		cmocka_unit_test(links_below_what_they_can_degrade_a_host),
		cmocka_unit_test(a_row_of_hosts_has_the_verdict_and_its_hcas_as_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
