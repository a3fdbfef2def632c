/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Switches that do not hold the tables that they acknowledged: trials, and over a restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/links_out/rules.h"
#include "tests/lib/faults_room.h"

static void unheld(struct room *r, enum table_kind kind, uint32_t block)
{
	const struct table_block at = { .sw = r->sw, .kind = kind, .block = block };

	faults_unheld(r->f.room, &at);
	fake_run_for(&r->f, SECOND_US);
}

static void a_switch_that_does_not_hold_a_block_is_isolated_till_a_trial_shows_that_it_does(
	void **state)
{
	struct room r;

	isolation_begin(&r);
	double_set_pretends(r.b.d, r.sw, true);
	unheld(&r, TABLE_LFT, 1);
	assert_int_equal(count_in_force(&r), 1);
	assert_true(inv_node_is(inv(&r.b, r.sw), INV_WRONG_TABLES));
	fake_run_for(&r.f, 3 * MINUTE_US);
	assert_int_equal(count_in_force(&r), 1);
	assert_in_range(sets(&r.b, WIRE_LFT), 2, 3);
	double_set_pretends(r.b.d, r.sw, false);
	fake_run_for(&r.f, MINUTE_US);
	assert_int_equal(count_rows(&r), 0);
	assert_false(inv_node_is(inv(&r.b, r.sw), INV_WRONG_TABLES));
	assert_true(r.f.asked.reroutes >= 2);
	isolation_end(&r);
}

static void a_switch_that_does_not_keep_its_lft_top_is_isolated_till_it_does(void **state)
{
	struct room r;

	isolation_begin(&r);
	double_set_feigns(r.b.d, r.sw, WIRE_SWITCH_INFO);
	sweep_node(inv(&r.b, r.sw))->keeps_no_top = true;
	assert_null(r.f.module->swept(
		r.f.room,
		&(struct fabric_swept){ .step = FABRIC_SWEEP_ENDED,
					.result = &(struct sweep_result){ .untrue = 1 } }));
	fake_run_for(&r.f, 2 * MINUTE_US);
	assert_int_equal(count_in_force(&r), 1);
	assert_false(sweep_node(inv(&r.b, r.sw))->keeps_no_top);
	double_set_feigns(r.b.d, r.sw, 0);
	fake_run_for(&r.f, MINUTE_US);
	assert_int_equal(count_rows(&r), 0);
	assert_int_equal(double_switch_info(r.b.d, r.sw)->lft_top, r.tables.top);
	isolation_end(&r);
}

static void it_is_isolated_from_the_first_snapshot_of_the_next_life_on(void **state)
{
	struct room r;

	isolation_begin(&r);
	double_set_pretends(r.b.d, r.sw, true);
	unheld(&r, TABLE_LFT, 1);
	fake_pipe_restart(&r.f);
	inv_node_mark(inv(&r.b, r.sw), INV_WRONG_TABLES, false);
	r.f.module->load(r.f.room, FABRIC_LOAD);
	assert_int_equal(r.f.lost, 0);
	assert_int_equal(count_rows(&r), 0);
	isolation_annotate(&r);
	assert_int_equal(count_in_force(&r), 1);
	assert_true(inv_node_is(inv(&r.b, r.sw), INV_WRONG_TABLES));
	assert_true(inv_port_is(inv(&r.b, r.sw), 1, INV_ISOLATED));
	double_set_pretends(r.b.d, r.sw, false);
	fake_run_for(&r.f, MINUTE_US);
	assert_int_equal(count_rows(&r), 0);
	fake_pipe_restart(&r.f);
	r.f.module->load(r.f.room, FABRIC_LOAD);
	isolation_annotate(&r);
	assert_int_equal(count_rows(&r), 0);
	isolation_end(&r);
}

/* Whether it is among the rows, and these are on disk. */
static bool is_kept(const struct room *r, const char *text)
{
	char *rows;
	bool found;

	state_flush(r->f.services.state);
	assert_true(state_is_kept(r->f.services.state));
	rows = rows_known(r->f.services.state, "untrue");
	found = strstr(rows, text) != NULL;
	free(rows);
	return found;
}

/* A switch that was isolated before the restart and has not answered yet. */
static void one_that_is_not_met_yet_stays_among_the_rows_that_others_change(void **state)
{
	struct room r;
	char text[128];

	isolation_begin(&r);
	snprintf(text, sizeof(text), "0x00000000dead0000 7\n0x%016" PRIx64 " 1\n", r.sw);
	fake_take(&r.f, "untrue", text);
	r.f.module->load(r.f.room, FABRIC_LOAD);
	isolation_annotate(&r);
	assert_true(is_kept(&r, "0x00000000dead0000 7\n"));
	assert_true(is_kept(&r, strchr(text, '\n') + 1));
	isolation_end(&r);
}

/*
 * ---- Forms of a row ----------------------------------------------------------------------------
 */

static void load_block(struct room *r, const char *block)
{
	char line[64];

	snprintf(line, sizeof(line), "0x%016" PRIx64 "%s\n", r->sw, block);
	fake_take(&r->f, "untrue", line);
	r->f.module->load(r->f.room, FABRIC_LOAD);
	isolation_annotate(r);
}

static void mft_written(void *arg, const struct mft_result *result)
{
}

/* A trial ends it, for this switch holds all; but for ports that it does not have. */
static void every_form_of_a_block_isolates_until_it_is_tried(void **state)
{
	static const char *const blocks[] = { " 0", " 1", " top", " 0.0", " 511.15" };

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct room r;

		isolation_begin(&r);
		mft_apply(r.mft, r.b.found, MCAST_FIRST_MLID, false, mft_written, NULL);
		fake_run_for(&r.f, SECOND_US);
		load_block(&r, blocks[i]);
		assert_int_equal(r.f.lost, 0);
		assert_int_equal(count_in_force(&r), 1);
		fake_run_for(&r.f, 2 * MINUTE_US);
		assert_int_equal(count_rows(&r), !strcmp(blocks[i], " 511.15"));
		isolation_end(&r);
	}
}

static void rows_that_are_none_are_lost_and_isolate_nobody(void **state)
{
	static const char *const blocks[] = { "",	" -1",	 " 0.16", " 512.0",
					      " 1.2.3", " tops", " 0 0",  " 99999999",
					      " 0x0",	" .",	 " 1.",	  " 4294967297" };

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct room r;

		isolation_begin(&r);
		log_set_level(-1, LOG_ERR - 1);
		load_block(&r, blocks[i]);
		if (!r.f.lost)
			fail_msg("'%s' is taken", blocks[i]);
		assert_int_equal(r.f.lost, 1);
		assert_int_equal(count_rows(&r), 0);
		isolation_end(&r);
	}
}

static void one_that_is_known_no_more_isolates_nobody_and_leaves_the_rows(void **state)
{
	struct room r;

	isolation_begin(&r);
	fake_take(&r.f, "untrue", "0x00000000deadbeef 0\n");
	r.f.module->load(r.f.room, FABRIC_LOAD);
	isolation_annotate(&r);
	assert_int_equal(count_rows(&r), 0);
	fake_run_for(&r.f, 2 * MINUTE_US);
	assert_false(is_kept(&r, "deadbeef"));
	assert_int_equal(r.f.lost, 0);
	isolation_end(&r);
}

/* For whoever has to know what a database that was lost had. */
static void its_names_are_kept_beside_the_rows(void **state)
{
	struct room r;
	char *kinds, text[128];

	isolation_begin(&r);
	double_set_pretends(r.b.d, r.sw, true);
	unheld(&r, TABLE_LFT, 0);
	fake_pipe_restart(&r.f);
	kinds = rows_known(r.f.services.state, "kinds");
	snprintf(text, sizeof(text), "untrue %s", inv(&r.b, r.sw)->desc);
	assert_non_null(strstr(kinds, text));
	free(kinds);
	isolation_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_switch_that_does_not_hold_a_block_is_isolated_till_a_trial_shows_that_it_does),
		cmocka_unit_test(a_switch_that_does_not_keep_its_lft_top_is_isolated_till_it_does),
		cmocka_unit_test(it_is_isolated_from_the_first_snapshot_of_the_next_life_on),
		cmocka_unit_test(one_that_is_not_met_yet_stays_among_the_rows_that_others_change),
		cmocka_unit_test(every_form_of_a_block_isolates_until_it_is_tried),
		cmocka_unit_test(rows_that_are_none_are_lost_and_isolate_nobody),
		cmocka_unit_test(one_that_is_known_no_more_isolates_nobody_and_leaves_the_rows),
		cmocka_unit_test(its_names_are_kept_beside_the_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
