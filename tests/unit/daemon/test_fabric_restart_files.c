/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files of state_dir that are damaged, and when they are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/balance/rebalance.h"
#include "fm/restart/module.h"
#include "tests/lib/restart_world.h"

static void corrupt_tables(const struct world *w, long at, uint8_t with, long length)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tables", w->state_dir);
	file = fopen(path, "r+");
	assert_non_null(file);
	if (at >= 0) {
		fseek(file, at, SEEK_SET);
		fputc(with, file);
	}
	fflush(file);
	if (length >= 0)
		assert_int_equal(ftruncate(fileno(file), length), 0);
	fclose(file);
}

static void tables_that_are_not_right_are_as_none(void **state)
{
	static const struct {
		long at;
		uint8_t with;
		long length;
	} corrupted[] = { { 0, 'x', -1 },   { 8, 99, -1 },   { 12, 99, -1 }, { 700, 99, -1 },
			  { -1, 0, 0 },	    { -1, 0, 9 },    { -1, 0, 300 }, { 20, 0xff, -1 },
			  { 24, 0xff, -1 }, { 30, 0xff, -1 } };
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	before = seen_of(&w);
	log_set_level(LOG_PROGRAM, LOG_ERR - 1);
	for (unsigned i = 0; i < sizeof(corrupted) / sizeof(corrupted[0]); i++) {
		stop_fabric(&w);
		corrupt_tables(&w, corrupted[i].at, corrupted[i].with, corrupted[i].length);
		start_again(&w);
		/* Switches are met as for the first time, and hold what is wanted. */
		assert_int_equal(blocks_read(&w),
				 before.tables.nswitches * tables_blocks(&before.tables));
		assert_int_equal(blocks_written(&w), 0);
		assert_seen_again(&w, &before);
	}
	restart(&w); /* the file was written anew */
	assert_int_equal(blocks_written(&w), 0);
	seen_fini(&before);
	world_fini(&w);
}

static void cables_that_are_not_right_are_set_aside(void **state)
{
	static const char *const corrupted[] = {
		"cable 0x1 1 0x2 1 0\n",
		"switch 0x1 300 0x1 0 0 0 0 0 0 0 s\n",
		"switch 0x1 4 0x1 0 0 0 0 0 0 0 s\nswitch 0x1 4 0x1 0 0 0 0 0 0 0 s\n",
		"switch 0x1 4 0x1 0 0 0 0 0 0 0 s\ncable 0x1 1 0x1 1 0\n",
		"switch 0x1 4 0x1 0 0 0 0 0 0 0 s\ncable 0x1 1 0x1 2 0\ncable 0x1 2 0x1 3 0\n",
		"switch 0x1 4 0x1 0 0 0 0 0 0 0 s\ncable 0x1 1 0x1 5 0\n",
		"switch 0x1 4 0x1 0 0 0 0 0 0 0 s\nport 0x1 1 0x3\n",
		"ca 0x1 1 0x1 0 0 0 0 0 0 0 s\nport 0x1 2 0x3\n",
		"hub 0x1 1 0x1 0 0 0 0 0 0 0 s\n",
		"switch 0x1 4\n",
	};
	struct world w;

	world_init(&w, small_tree());
	for (unsigned i = 0; i < sizeof(corrupted) / sizeof(corrupted[0]); i++) {
		remove_state(&w, "cables.bad");
		restart_with_corrupted(&w, "cables", corrupted[i]);
		assert_int_equal(status_number(&w, NULL, "links_down"), 0);
		assert_int_equal(status_number(&w, NULL, "links"), w.design->nlinks);
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

static void more_overrides_than_may_be_are_set_aside(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	assert_true(takes_overrides(&w, REBALANCE_MOST));
	assert_false(takes_overrides(&w, REBALANCE_MOST + 1));
	assert_true(is_up(&w));
	world_fini(&w);
}

static void overrides_that_are_not_right_are_set_aside(void **state)
{
	static const char *const corrupted[] = { "0x1 0 1\n", "0x1 5 0\n", "0x1 5 1\n0x1 5 2\n",
						 "0x2 5 1\n0x1 6 2\n", "0x1 5\n" };
	struct world w;

	world_init(&w, small_tree());
	for (unsigned i = 0; i < sizeof(corrupted) / sizeof(corrupted[0]); i++) {
		remove_state(&w, "overrides.bad");
		restart_with_corrupted(&w, "overrides", corrupted[i]);
		assert_int_equal(status_number(&w, "rebalance", "overrides"), 0);
	}
	world_fini(&w);
}

static void files_are_written_while_it_runs_and_not_for_nothing(void **state)
{
	struct world w;
	char path[2][128];

	world_init(&w, small_tree());
	for (unsigned i = 0; i < 2; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%s", w.state_dir, i ? "cables" : "tables");
	assert_int_equal(access(path[0], F_OK), -1); /* they may lag behind.. */
	assert_int_equal(access(path[1], F_OK), 0);  /* ..but what is known is known at once */
	run_for(&w, 6 * SECOND_US);
	assert_int_equal(access(path[0], F_OK), 0);
	assert_int_equal(access(path[1], F_OK), 0);
	unlink(path[0]);
	unlink(path[1]);
	run_for(&w, 100 * SECOND_US);
	stop_fabric(&w);
	assert_int_equal(access(path[0], F_OK), -1);
	assert_int_equal(access(path[1], F_OK), -1);
	start_fabric(&w);
	run_for(&w, SECOND_US);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_that_are_not_right_are_as_none),
		cmocka_unit_test(cables_that_are_not_right_are_set_aside),
		cmocka_unit_test(overrides_that_are_not_right_are_set_aside),
		cmocka_unit_test(more_overrides_than_may_be_are_set_aside),
		cmocka_unit_test(files_are_written_while_it_runs_and_not_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
