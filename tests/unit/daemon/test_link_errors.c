/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Links whose error rate is too high over minutes or hours, on the fabric double: found, kept free
 * of transit while there are others, and used again when they are clean. Limits and windows are the
 * defaults: at NDR three errors in 12 minutes, or four in 125.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/perf/module.h"
#include "tests/lib/fabric_world.h"

#define MINUTE_US (60 * SECOND_US)

struct uplinks { /* of the first leaf */
	guid_t leaf;
	unsigned first, count;
	uint64_t errors[64]; /* counted so far, by port */
};

static void errors_init(struct world *w, struct uplinks *u)
{
	world_init(w, pod(1));
	w->conf.perf.symbol_errors = 0; /* the judge of single readings has tests of its own */
	fabric_configure(w->fabric, &w->conf);
	*u = (struct uplinks){ .leaf = w->design->nodes[0].guid,
			       .first = uplink_of(w->design, 0),
			       .count = 32 };
	run_for(w, 3 * MINUTE_US);
}

static void more(struct world *w, struct uplinks *u, unsigned uplink, unsigned errors)
{
	u->errors[uplink] += errors;
	double_set_counter(w->hw, u->leaf, u->first + uplink, PERF_SYMBOL, u->errors[uplink]);
}

static unsigned uses_of(const struct world *w, const struct uplinks *u, unsigned uplink)
{
	const struct tables *tables = fabric_tables(w->fabric);
	const uint8_t *row = tables_row(tables, topo_find(fabric_topo(w->fabric), u->leaf));
	unsigned uses = 0;

	for (uint32_t lid = 1; lid <= tables->top; lid++)
		uses += row[lid] == u->first + uplink;
	return uses;
}

static unsigned quarantined(const struct world *w)
{
	return (unsigned)status_number(w, NULL, "links_quarantined");
}

static void a_burst_is_caught_within_minutes_and_the_link_returns_clean(void **state)
{
	struct uplinks u;
	struct world w;
	unsigned before;

	errors_init(&w, &u);
	before = uses_of(&w, &u, 4);
	assert_true(before > 0);
	more(&w, &u, 4, 2);
	run_for(&w, 3 * MINUTE_US);
	assert_int_equal(quarantined(&w), 0);
	more(&w, &u, 4, 40);
	run_for(&w, 3 * MINUTE_US);
	assert_int_equal(quarantined(&w), 1);
	assert_int_equal(uses_of(&w, &u, 4), 0);
	assert_int_equal(count_logged(&w, "quarantined", "symbol BER"), 1);
	assert_int_equal(count_logged(&w, "link-errors", "in 12 min (limit 1e-14)"), 1);
	assert_int_equal(status_number(&w, "health", "over_error_rate"), 1);
	assert_hardware_delivers(&w, 1);
	run_for(&w, 120 * MINUTE_US);
	assert_int_equal(quarantined(&w), 1);
	run_for(&w, 30 * MINUTE_US); /* out of the window of hours, and clean for ten minutes */
	assert_int_equal(quarantined(&w), 0);
	assert_int_equal(count_logged(&w, "released", "clean for 600 s"), 1);
	assert_int_equal(uses_of(&w, &u, 4), before);
	world_fini(&w);
}

/* An error in 25 minutes: never three in twelve. */
static void a_slow_decay_is_caught_by_the_window_of_hours(void **state)
{
	struct uplinks u;
	struct world w;

	errors_init(&w, &u);
	for (unsigned i = 0; i < 3; i++) {
		more(&w, &u, 7, 1);
		run_for(&w, 25 * MINUTE_US);
		assert_int_equal(quarantined(&w), 0);
	}
	more(&w, &u, 7, 1);
	run_for(&w, 3 * MINUTE_US);
	assert_int_equal(quarantined(&w), 1);
	assert_int_equal(count_logged(&w, "link-errors", "in 2.08 h (limit 1e-15)"), 1);
	world_fini(&w);
}

static void ten_links_are_taken_out_and_the_eleventh_is_named(void **state)
{
	struct uplinks u;
	struct world w;

	errors_init(&w, &u);
	for (unsigned i = 0; i < 11; i++)
		more(&w, &u, i, 100);
	run_for(&w, 5 * MINUTE_US);
	assert_int_equal(quarantined(&w), 10);
	assert_int_equal(count_logged(&w, "quarantine-refused", "health_ber_max_links"), 1);
	run_for(&w, 30 * MINUTE_US);
	assert_int_equal(quarantined(&w), 10);
	assert_int_equal(count_logged(&w, "quarantine-refused", ""), 1);
	world_fini(&w);
}

static void a_leaf_keeps_half_of_its_uplinks_however_unhealthy_they_are(void **state)
{
	struct uplinks u;
	struct world w;

	errors_init(&w, &u);
	w.conf.ber.max_links = 100;
	fabric_configure(w.fabric, &w.conf);
	for (unsigned i = 0; i < u.count; i++)
		more(&w, &u, i, 100);
	run_for(&w, 5 * MINUTE_US);
	assert_int_equal(quarantined(&w), u.count / 2);
	assert_hardware_delivers(&w, 1);
	world_fini(&w);
}

static void excluded_links_and_dry_runs_move_nothing(void **state)
{
	struct uplinks u;
	struct world w;

	errors_init(&w, &u);
	snprintf(w.conf.ber.exclude, sizeof(w.conf.ber.exclude), "leaf-su01-rail0:%u", u.first);
	fabric_configure(w.fabric, &w.conf);
	more(&w, &u, 0, 100);
	run_for(&w, 5 * MINUTE_US);
	assert_int_equal(quarantined(&w), 0);
	assert_int_equal(count_logged(&w, "quarantine-refused", "health_ber_exclude"), 1);
	*w.conf.ber.exclude = '\0';
	w.conf.ber.dry_run = true;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 5 * MINUTE_US);
	assert_int_equal(quarantined(&w), 0);
	assert_int_equal(count_logged(&w, "quarantine-refused", "dry run"), 1);
	w.conf.ber.dry_run = false;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 5 * MINUTE_US);
	assert_int_equal(quarantined(&w), 1);
	world_fini(&w);
}

static void a_restart_keeps_what_was_taken_out(void **state)
{
	struct uplinks u;
	struct world w;

	errors_init(&w, &u);
	more(&w, &u, 2, 100);
	run_for(&w, 3 * MINUTE_US);
	assert_int_equal(quarantined(&w), 1);
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 5 * MINUTE_US);
	assert_int_equal(quarantined(&w), 1);
	assert_int_equal(uses_of(&w, &u, 2), 0);
	run_for(&w, 10 * MINUTE_US); /* clean since it began to look */
	assert_int_equal(quarantined(&w), 0);
	world_fini(&w);
}

static void unhealthy_links_of_hosts_are_reported_and_stay(void **state)
{
	struct uplinks u;
	struct world w;

	errors_init(&w, &u);
	double_set_counter(w.hw, u.leaf, 5, PERF_SYMBOL, 100);
	run_for(&w, 3 * MINUTE_US);
	assert_int_equal(quarantined(&w), 0);
	assert_int_equal(count_logged(&w, "link-errors", "dgx-su01-05"), 1);
	assert_int_equal(count_logged(&w, "quarantine-refused", "a host's link"), 1);
	world_fini(&w);
}

/* Blocks that FEC could not mend: health_fec_action is "warn" unless told. */
static void what_error_correction_counts_only_warns_by_default(void **state)
{
	const struct wire_perf_caps caps = { .fec = true };
	struct uplinks u;
	struct world w;

	errors_init(&w, &u);
	double_set_perf_caps(w.hw, u.leaf, &caps);
	stop_fabric(&w); /* what an agent can do is asked once */
	start_fabric(&w);
	run_for(&w, 3 * MINUTE_US);
	double_set_fec(w.hw, u.leaf, u.first, WIRE_FEC_UNCORRECTED, 500);
	run_for(&w, 3 * MINUTE_US);
	assert_int_equal(count_logged(&w, "link-errors", "effective BER"), 1);
	assert_int_equal(quarantined(&w), 0);
	w.conf.perf.fec_action = CONF_QUARANTINE;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 3 * MINUTE_US);
	assert_int_equal(quarantined(&w), 1);
	world_fini(&w);
}

static void health_has_windows_and_rates(void **state)
{
	json_t *doc, *row, *ber;
	struct uplinks u;
	struct world w;
	double share;

	errors_init(&w, &u);
	more(&w, &u, 0, 100);
	run_for(&w, 3 * MINUTE_US);
	doc = link_health(w.fabric);
	row = json_array_get(json_object_get(doc, "links"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "sick")), "errors");
	ber = json_object_get(row, "ber");
	share = json_real_value(json_object_get(json_object_get(ber, "symbol"), "long"));
	assert_true(share > 1e-13 && share < 1e-11);
	assert_true(json_is_true(json_object_get(ber, "over")));
	ber = json_object_get(json_object_get(json_object_get(doc, "ber"), "windows"), "short");
	assert_int_equal(json_number_value(json_object_get(ber, "seconds")), 720);
	json_decref(doc);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_caught_within_minutes_and_the_link_returns_clean),
		cmocka_unit_test(a_slow_decay_is_caught_by_the_window_of_hours),
		cmocka_unit_test(ten_links_are_taken_out_and_the_eleventh_is_named),
		cmocka_unit_test(a_leaf_keeps_half_of_its_uplinks_however_unhealthy_they_are),
		cmocka_unit_test(excluded_links_and_dry_runs_move_nothing),
		cmocka_unit_test(a_restart_keeps_what_was_taken_out),
		cmocka_unit_test(unhealthy_links_of_hosts_are_reported_and_stay),
		cmocka_unit_test(what_error_correction_counts_only_warns_by_default),
		cmocka_unit_test(health_has_windows_and_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
