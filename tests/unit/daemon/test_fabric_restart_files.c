/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rows of state_dir that are damaged, and when they are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/balance/rebalance.h"
#include "fm/restart/module.h"
#include "tests/lib/restart_world.h"

static bool disk_has_some(const struct world *w, const char *kind)
{
	char *rows = disk_lines(w, kind);
	bool some = *rows;

	free(rows);
	return some;
}

/* Whether the sum is right, or the row is what nobody has written. */
static void tables_that_are_not_right_are_as_none(void **state)
{
	static const char *const changes[] = {
		"UPDATE state SET value = 'A' || value WHERE kind = 'tables'",
		"UPDATE state SET value = '' WHERE kind = 'tables'",
		"UPDATE state SET sum = NULL, value = '' WHERE kind = 'tables'",
		"UPDATE state SET sum = NULL, value = '////' WHERE kind = 'tables'",
		"UPDATE state SET sum = NULL, value = substr(value, 5) WHERE kind = 'tables'",
		"UPDATE state SET sum = NULL, value = value || 'AAAA' WHERE kind = 'tables'",
		"UPDATE state SET sum = NULL, value = replace(value, '/', '*') WHERE kind = "
		"'tables'",
		"DELETE FROM state WHERE kind = 'tables'",
	};
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	run_for(&w, 10 * SECOND_US);
	before = seen_of(&w);
	log_set_level(LOG_PROGRAM, LOG_ERR - 1);
	for (unsigned i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		stop_fabric(&w);
		assert_int_equal(rows_run(w.state_dir, changes[i]), before.tables.nswitches);
		start_again(&w);
		/* Switches are met as for the first time, and hold what is wanted. */
		assert_int_equal(blocks_read(&w),
				 before.tables.nswitches * tables_blocks(&before.tables));
		assert_int_equal(blocks_written(&w), 0);
		assert_seen_again(&w, &before);
		run_for(&w, 10 * SECOND_US); /* rows are written anew */
	}
	assert_true(disk_has_some(&w, "tables"));
	restart(&w);
	assert_int_equal(blocks_written(&w), 0);
	seen_fini(&before);
	world_fini(&w);
}

static void rows_of_links_that_are_not_right_are_lost_and_told(void **state)
{
	static const struct {
		const char *kind, *rows;
	} bad[] = {
		{ "nodes", "0x1 switch 300 0x1 0 0 0 0 0 0 0 s\n" },
		{ "nodes", "0x1 hub 1 0x1 0 0 0 0 0 0 0 s\n" },
		{ "nodes", "0x1 switch 4\n" },
		{ "nodes", "0x1\n" },
		{ "ports", "0x1 1 0x3\n" },
		{ "ports", "0x1\n" },
		{ "cables", "0x1 1 0x2 1 0\n" },
		{ "cables", "0x1 1\n" },
	};
	struct world w;

	world_init(&w, small_tree());
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		restart_with_corrupted(&w, bad[i].kind, bad[i].rows);
		run_for(&w, 10 * SECOND_US);
		assert_int_equal(status_number(&w, NULL, "links_down"), 0);
		assert_int_equal(status_number(&w, NULL, "links"), w.design->nlinks);
		assert_int_equal(status_number(&w, NULL, "switches"), w.design->nswitches);
	}
	world_fini(&w);
}

/* Behind a node that can be, rows that are not: these alone are lost. */
static void links_that_can_not_be_are_lost_and_told(void **state)
{
	static const char *const bad[] = {
		"0x1 1 0x1 1 0\n",		  /* to itself */
		"0x1 1 0x1 2 0\n0x1 2 0x1 3 0\n", /* a port with two */
		"0x1 1 0x1 5 0\n",		  /* to a port that is not there */
		"0x1 5 0x1 1 0\n",
	};
	struct world w;

	world_init(&w, small_tree());
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		stop_fabric(&w);
		rows_replace(w.state_dir, "nodes", "0x1 switch 4 0x1 0 0 0 0 0 0 0 s\n");
		start_fabric(&w);
		restart_with_corrupted(&w, "cables", bad[i]);
		assert_int_equal(status_number(&w, NULL, "switches"), w.design->nswitches);
	}
	world_fini(&w);
}

static bool takes_overrides(struct world *w, unsigned count)
{
	char *text = mem_alloc(count + 1, 32);
	size_t length = 0;
	bool taken;

	for (unsigned i = 0; i < count; i++)
		length += sprintf(text + length, "0x%x %u 1\n", 1 + i / 1000, 1 + i % 1000);
	taken = restart_with(w, "overrides", text);
	free(text);
	return taken;
}

static void more_overrides_than_may_be_are_lost_and_told(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	assert_true(takes_overrides(&w, REBALANCE_MOST));
	assert_false(takes_overrides(&w, REBALANCE_MOST + 1));
	assert_true(is_up(&w));
	world_fini(&w);
}

static void overrides_that_are_not_right_are_lost_and_told(void **state)
{
	static const char *const corrupted[] = { "0x1 0 1\n", "0x1 5 0\n", "0x1 5\n", "0x1\n" };
	struct world w;

	world_init(&w, small_tree());
	for (unsigned i = 0; i < sizeof(corrupted) / sizeof(corrupted[0]); i++) {
		restart_with_corrupted(&w, "overrides", corrupted[i]);
		assert_int_equal(status_number(&w, "rebalance", "overrides"), 0);
	}
	world_fini(&w);
}

static void rows_are_written_while_it_runs_and_not_for_nothing(void **state)
{
	uint64_t number;
	struct world w;

	world_init(&w, small_tree());
	assert_false(disk_has_some(&w, "tables")); /* they may lag behind.. */
	assert_true(disk_has_some(&w, "cables"));  /* ..but what is known is known at once */
	run_for(&w, 6 * SECOND_US);
	assert_true(disk_has_some(&w, "tables"));
	run_for(&w, 100 * SECOND_US);
	assert_true(disk_has_some(&w, "modules"));
	number = state_number(fabric_services(w.fabric).state);
	run_for(&w, 100 * SECOND_US);
	assert_int_equal(state_number(fabric_services(w.fabric).state), number);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_that_are_not_right_are_as_none),
		cmocka_unit_test(rows_of_links_that_are_not_right_are_lost_and_told),
		cmocka_unit_test(links_that_can_not_be_are_lost_and_told),
		cmocka_unit_test(overrides_that_are_not_right_are_lost_and_told),
		cmocka_unit_test(more_overrides_than_may_be_are_lost_and_told),
		cmocka_unit_test(rows_are_written_while_it_runs_and_not_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
