/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sick cables, by the counters of their ports: told, shown, and kept free of transit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/perf/module.h"
#include "tests/lib/fabric_world.h"

#define PASS_US (10 * SECOND_US)

static void health_init(struct world *w, int action)
{
	world_init(w, pod(1));
	w->conf.perf.interval_ms = PASS_US / 1000;
	w->conf.perf.action = w->conf.perf.fec_action = action;
	w->conf.ber.limit = w->conf.ber.long_limit = 0; /* test_link_errors.c */
	fabric_configure(w->fabric, &w->conf);
	run_for(w, 2 * PASS_US);
}

/* A cable of the first leaf to a spine, by the leaf's end. */
static guid_t some_uplink(const struct world *w, unsigned *port)
{
	const struct topo_node *leaf = &w->design->nodes[0];

	for (*port = 1; *port <= leaf->nports; ++*port) {
		uint32_t peer = w->design->ports[leaf->port0 + *port].peer;

		if (peer != TOPO_NONE &&
		    w->design->nodes[w->design->ports[peer].node].type == TOPO_SWITCH)
			return leaf->guid;
	}
	fail();
	return 0;
}

/* So many errors more in each of so many passes. */
static void errors_come(struct world *w, guid_t node, unsigned port, unsigned a_pass,
			unsigned passes)
{
	for (unsigned i = 1; i <= passes; i++) {
		double_set_counter(w->hw, node, port, PERF_SYMBOL, (uint64_t)i * a_pass);
		run_for(w, PASS_US);
	}
}

static unsigned uses_of(const struct world *w, guid_t sw, unsigned port)
{
	const struct tables *tables = fabric_tables(w->fabric);
	const uint8_t *row = tables_row(tables, topo_find(fabric_topo(w->fabric), sw));
	unsigned uses = 0;

	for (uint32_t lid = 1; lid <= tables->top; lid++)
		uses += row[lid] == port;
	return uses;
}

static const char *sick_state(json_t *rows)
{
	return json_string_value(json_object_get(json_array_get(rows, 0), "sick"));
}

static void unhealthy_link_carries_no_transit_while_another_path_exists(void **state)
{
	unsigned port, before;
	struct world w;
	guid_t leaf;

	health_init(&w, CONF_QUARANTINE);
	leaf = some_uplink(&w, &port);
	before = uses_of(&w, leaf, port);
	assert_true(before > 0);
	errors_come(&w, leaf, port, 1000, 4);
	assert_int_equal(status_number(&w, "health", "sick"), 1);
	assert_int_equal(status_number(&w, NULL, "links_quarantined"), 1);
	assert_true(uses_of(&w, leaf, port) <= 1); /* the spine behind it may have no other way */
	assert_hardware_delivers(&w, 1);
	world_fini(&w);
}

static void link_beyond_error_correction_is_unhealthy(void **state)
{
	const struct wire_perf_caps caps = { .fec = true };
	json_t *doc, *counters;
	unsigned port;
	struct world w;
	guid_t leaf;

	health_init(&w, CONF_QUARANTINE);
	leaf = some_uplink(&w, &port);
	double_set_perf_caps(w.hw, leaf, &caps);
	stop_fabric(&w); /* what an agent can do is asked once */
	start_fabric(&w);
	run_for(&w, 2 * PASS_US);
	for (unsigned i = 1; i <= 4; i++) {
		double_set_fec(w.hw, leaf, port, WIRE_FEC_UNCORRECTED, (uint64_t)i * 50);
		run_for(&w, PASS_US);
	}
	assert_int_equal(status_number(&w, "health", "sick"), 1);
	assert_int_equal(status_number(&w, NULL, "links_quarantined"), 1);
	doc = link_health(w.fabric);
	counters = json_object_get(json_array_get(json_object_get(doc, "links"), 0), "counters");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(counters, "fec"),
							    "uncorrected_blocks")),
			 200);
	json_decref(doc);
	world_fini(&w);
}

static void warning_alone_moves_nothing(void **state)
{
	unsigned port, before;
	json_t *rows;
	struct world w;
	guid_t leaf;

	health_init(&w, CONF_WARN);
	leaf = some_uplink(&w, &port);
	before = uses_of(&w, leaf, port);
	errors_come(&w, leaf, port, 1000, 4);
	assert_int_equal(status_number(&w, "health", "sick"), 1);
	assert_int_equal(status_number(&w, NULL, "links_quarantined"), 0);
	assert_int_equal(uses_of(&w, leaf, port), before);
	rows = link_health_links(w.fabric);
	assert_int_equal(json_array_size(rows), 1);
	assert_string_equal(sick_state(rows), "sick");
	json_decref(rows);
	world_fini(&w);
}

static void link_that_is_healthy_again_is_reported(void **state)
{
	unsigned port;
	json_t *doc;
	struct world w;
	guid_t leaf;

	health_init(&w, CONF_WARN);
	leaf = some_uplink(&w, &port);
	errors_come(&w, leaf, port, 1000, 3);
	run_for(&w, 100 * PASS_US);
	assert_int_equal(status_number(&w, "health", "sick"), 0);
	doc = link_health(w.fabric);
	assert_int_equal(json_array_size(json_object_get(doc, "links")), 0);
	json_decref(doc);
	world_fini(&w);
}

static void few_errors_are_nothing(void **state)
{
	unsigned port;
	struct world w;
	guid_t leaf;

	health_init(&w, CONF_QUARANTINE);
	leaf = some_uplink(&w, &port);
	errors_come(&w, leaf, port, 3, 10);
	assert_int_equal(status_number(&w, "health", "sick"), 0);
	assert_int_equal(status_number(&w, "health", "warned"), 0);
	world_fini(&w);
}

static void read_cb(void *arg, json_t *result, const char *error)
{
	assert_null(error);
	*(json_int_t *)arg = json_integer_value(json_object_get(result, "ports_read"));
}

static void counters_are_read_when_asked(void **state)
{
	json_int_t ports = 0;
	struct world w;

	world_init(&w, pod(1));
	w.conf.perf.interval_ms = 0;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 100 * PASS_US);
	assert_int_equal(status_number(&w, "health", "ports_read"), 0);
	link_health_read(w.fabric, read_cb, &ports);
	run_for(&w, SECOND_US);
	assert_int_equal(ports, 2 * w.design->nlinks);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unhealthy_link_carries_no_transit_while_another_path_exists),
		cmocka_unit_test(link_beyond_error_correction_is_unhealthy),
		cmocka_unit_test(warning_alone_moves_nothing),
		cmocka_unit_test(link_that_is_healthy_again_is_reported),
		cmocka_unit_test(few_errors_are_nothing),
		cmocka_unit_test(counters_are_read_when_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
