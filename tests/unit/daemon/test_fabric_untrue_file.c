/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* state_dir/untrue: its forms of a block, lines that are none, and what is told of it when it is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/unit/fabric_world.h"

static const struct topo_node *spine_of(const struct world *w)
{
	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		if (w->design->nodes[sw].level == 1)
			return &w->design->nodes[sw];
	fail();
	return NULL;
}

static bool restart_with_block(struct world *w, const char *block)
{
	char line[128];

	snprintf(line, sizeof(line), "0x%016llx%s\n", (unsigned long long)spine_of(w)->guid, block);
	return restart_with(w, "untrue", line);
}

/* It is isolated from the start on; a trial ends it, for this switch holds all. */
static void every_form_of_a_block_isolates_until_it_is_tried(void **state)
{
	static const char *const blocks[] = { " 0", " 1", " top", " 0.0", " 511.15" };

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct world w;

		world_init(&w, small_tree());
		assert_true(restart_with_block(&w, blocks[i]));
		assert_int_equal(count_alerts(&w, "isolated", spine_of(&w)->desc), 1);
		assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
		run_for(&w, 120 * SECOND_US);
		if (strcmp(blocks[i], " 511.15"))
			assert_int_equal(count_alerts(&w, "", spine_of(&w)->desc), 0);
		assert_true(is_up(&w));
		assert_int_equal(dead_pairs(&w), 0);
		world_fini(&w);
	}
}

static void lines_that_are_none_set_the_file_aside_and_isolate_nobody(void **state)
{
	static const char *const blocks[] = { "",	" -1",	 " 0.16", " 512.0",
					      " 1.2.3", " tops", " 0 0",  " 99999999",
					      " 0x0",	" .",	 " 1.",	  " 4294967297" };

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct world w;

		world_init(&w, small_tree());
		log_set_level(-1, LOG_ERR - 1);
		if (restart_with_block(&w, blocks[i]))
			fail_msg("'%s' is taken", blocks[i]);
		assert_int_equal(count_alerts(&w, "isolated", ""), 0);
		assert_int_equal(count_alerts(&w, "state-lost", "untrue"), 1);
		assert_true(is_up(&w));
		world_fini(&w);
	}
}

static void one_that_is_known_no_more_isolates_nobody(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	assert_true(restart_with(&w, "untrue", "0x00000000deadbeef 0\n"));
	run_for(&w, 120 * SECOND_US);
	assert_int_equal(count_alerts(&w, "", ""), 0);
	world_fini(&w);
}

static void a_lost_file_is_told_with_the_names_that_it_held(void **state)
{
	char held[256];
	struct world w;

	world_init(&w, small_tree());
	double_set_pretends(w.hw, spine_of(&w)->guid, true);
	assert_true(restart_with_block(&w, " 0"));
	run_for(&w, 200 * SECOND_US); /* a trial fails, and the file is written */
	assert_int_equal(count_alerts(&w, "isolated", spine_of(&w)->desc), 1);
	stop_fabric(&w);
	remove_state(&w, "untrue");
	log_set_level(-1, LOG_ERR - 1);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	snprintf(held, sizeof(held), "it held: %s", spine_of(&w)->desc);
	assert_int_equal(count_alerts(&w, "state-lost", held), 1);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_of_a_block_isolates_until_it_is_tried),
		cmocka_unit_test(lines_that_are_none_set_the_file_aside_and_isolate_nobody),
		cmocka_unit_test(one_that_is_known_no_more_isolates_nobody),
		cmocka_unit_test(a_lost_file_is_told_with_the_names_that_it_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
