/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Traps about errors and forged ones, counted and reported by their sender: this room alone, with a
 * pipe that only looks like one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/traps/module.h"
#include "tests/lib/fabrics.h"
#include "tests/lib/fake_pipe.h"

#define SECOND_US 1000000ull

static void send(struct fabric *f, uint16_t trap, uint16_t lid, uint8_t port, uint16_t from,
		 bool forged)
{
	const struct wire_notice notice = {
		.generic = true, .trap = trap, .lid = lid, .port = port
	};

	f->module->trap(f->room, &notice, from, 1, forged);
}

static uint16_t lid_of_node(const struct fabric *f, uint32_t node, unsigned num)
{
	return f->view.lids->lid_of_port[f->view.topo->nodes[node].port0 + num];
}

static json_int_t in_status(const struct fabric *f, const char *key)
{
	json_t *doc = json_pack("{s{}}", "traps");
	json_int_t value;

	f->module->status(f->room, doc);
	value = json_integer_value(json_object_get(json_object_get(doc, "traps"), key));
	json_decref(doc);
	return value;
}

static json_t *rows_of(const struct fabric *f)
{
	json_t *rows = json_array();

	error_traps_unhealthy(f, rows);
	return rows;
}

static void test_the_eleventh_trap_within_ten_seconds_is_an_event_and_then_one_a_minute(
	void **state)
{
	struct fabric f;
	const char *text;
	uint16_t leaf;

	fake_pipe_init(&f, &error_traps_module, pod(1));
	leaf = lid_of_node(&f, 0, 0);
	for (unsigned i = 0; i < 10; i++)
		send(&f, 129, leaf, 3, leaf, false);
	assert_int_equal(fake_events(&f, "port-errors", NULL), 0);
	send(&f, 129, leaf, 3, leaf, false);
	assert_int_equal(fake_events(&f, "port-errors", &text), 1);
	assert_non_null(strstr(text, f.view.topo->nodes[0].desc));
	assert_non_null(strstr(text, "p3: link integrity errors"));
	for (unsigned s = 0; s < 59; s++) {
		for (unsigned i = 0; i < 20; i++)
			send(&f, 129, leaf, 3, leaf, false);
		fake_run_for(&f, SECOND_US);
	}
	assert_int_equal(fake_events(&f, "port-errors", NULL), 1);
	fake_run_for(&f, 2 * SECOND_US);
	for (unsigned i = 0; i < 20; i++)
		send(&f, 129, leaf, 3, leaf, false);
	assert_int_equal(fake_events(&f, "port-errors", NULL), 2);
	assert_int_equal(in_status(&f, "errors"), 11 + 59 * 20 + 20);
	assert_int_equal(f.asked.sweeps + f.asked.refreshes + f.asked.reroutes, 0);
	fake_pipe_fini(&f);
}

static void test_a_forged_trap_is_counted_by_its_sender_and_the_port_in_it_has_no_row(void **state)
{
	struct fabric f;
	const char *text;
	uint16_t victim, forger;
	json_t *rows;

	fake_pipe_init(&f, &error_traps_module, pod(1));
	victim = lid_of_node(&f, 0, 0);
	forger = lid_of_node(&f, f.view.topo->nswitches + 1, 1);
	for (unsigned i = 0; i < 11; i++)
		send(&f, 128, victim, 0, forger, true);
	assert_int_equal(fake_events(&f, "forged-traps", &text), 1);
	assert_ptr_equal(strstr(text, f.view.topo->nodes[f.view.topo->nswitches + 1].desc), text);
	assert_int_equal(in_status(&f, "forged"), 11);
	rows = rows_of(&f);
	assert_int_equal(json_array_size(rows), 1);
	json_decref(rows);
	fake_pipe_fini(&f);
}

static void test_a_row_of_errors_lasts_ten_minutes(void **state)
{
	struct fabric f;
	uint16_t leaf;
	json_t *rows;

	fake_pipe_init(&f, &error_traps_module, pod(1));
	leaf = lid_of_node(&f, 0, 0);
	send(&f, 130, leaf, 1, leaf, false);
	fake_run_for(&f, 599 * SECOND_US);
	rows = rows_of(&f);
	assert_int_equal(json_array_size(rows), 1);
	json_decref(rows);
	fake_run_for(&f, 2 * SECOND_US);
	rows = rows_of(&f);
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	fake_pipe_fini(&f);
}

static void test_before_anything_is_published_senders_are_unknown_and_counted(void **state)
{
	struct fabric f;
	const char *text;
	json_t *rows;

	fake_pipe_init(&f, &error_traps_module, NULL);
	for (unsigned i = 0; i < 11; i++)
		send(&f, 256, 7, 0, 9, false);
	assert_int_equal(fake_events(&f, "key-violations", &text), 1);
	assert_ptr_equal(strstr(text, "unknown (LID 9)"), text);
	rows = rows_of(&f);
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	fake_pipe_fini(&f);
}

/* Any LID can be the sender's, and any number the port's. */
static void test_senders_that_nobody_knows_are_one_and_ports_that_are_none_are_none(void **state)
{
	struct fabric f;
	const char *text;
	uint16_t host;

	fake_pipe_init(&f, &error_traps_module, pod(1));
	for (unsigned lid = 10000; lid < 11000; lid++)
		for (unsigned i = 0; i < 11; i++)
			send(&f, 129, (uint16_t)lid, (uint8_t)i, (uint16_t)lid, false);
	assert_int_equal(fake_events(&f, "port-errors", &text), 1);
	assert_non_null(strstr(text, "unknown"));
	host = lid_of_node(&f, f.view.topo->nswitches + 1, 1);
	for (unsigned port = 0; port < 256; port++)
		for (unsigned i = 0; i < 11; i++)
			send(&f, 129, host, (uint8_t)port, host, false);
	assert_int_equal(fake_events(&f, "port-errors", NULL), 2);
	assert_int_equal(in_status(&f, "errors"), 11000 + 256 * 11);
	fake_pipe_fini(&f);
}

static void test_all_senders_together_are_thirty_events_a_minute(void **state)
{
	struct fabric f;

	fake_pipe_init(&f, &error_traps_module, pod(1));
	for (unsigned minute = 1; minute <= 2; minute++) {
		for (uint32_t node = 0; node < 100; node++)
			for (unsigned i = 0; i < 11; i++)
				send(&f, 256, 1, 0,
				     lid_of_node(&f, f.view.topo->nswitches + node, 1), false);
		assert_int_equal(fake_events(&f, "key-violations", NULL), 30 * minute);
		fake_run_for(&f, 61 * SECOND_US);
	}
	fake_pipe_fini(&f);
}

static void test_traps_of_links_and_names_are_not_errors(void **state)
{
	struct fabric f;

	fake_pipe_init(&f, &error_traps_module, pod(1));
	send(&f, 128, 1, 0, 1, false);
	send(&f, 144, 1, 0, 1, false);
	assert_int_equal(in_status(&f, "errors"), 0);
	fake_pipe_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_eleventh_trap_within_ten_seconds_is_an_event_and_then_one_a_minute),
		cmocka_unit_test(
			test_a_forged_trap_is_counted_by_its_sender_and_the_port_in_it_has_no_row),
		cmocka_unit_test(test_a_row_of_errors_lasts_ten_minutes),
		cmocka_unit_test(test_before_anything_is_published_senders_are_unknown_and_counted),
		cmocka_unit_test(
			test_senders_that_nobody_knows_are_one_and_ports_that_are_none_are_none),
		cmocka_unit_test(test_all_senders_together_are_thirty_events_a_minute),
		cmocka_unit_test(test_traps_of_links_and_names_are_not_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
