/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Changes of a file record by record: who follows them, who keeps them, and until when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/state/state_copy.h"
#include "tests/lib/store_world.h"
#include "topology/base/mem.h"

static bool take_record(void *owner, const char *line)
{
	struct world *w = owner;
	char rest;

	return sscanf(line, "now %u %c", &w->value_read, &rest) == 1;
}

static const struct state_file file = { .name = "value",
					.form = "a number",
					.read = value_file_read,
					.forget = value_file_forget,
					.write = value_file_write,
					.record = take_record,
					.gather_us = SECOND_US };

static char heard[256];

static void hear(void *arg, const char *name, const char *line)
{
	size_t used = strlen(heard);

	snprintf(heard + used, sizeof(heard) - used, "%s: %s|", name, line);
}

static int set_up(void **state)
{
	*state = store_world_new();
	store_world_open(*state, 100);
	heard[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	store_world_close(*state);
	return store_world_free(*state);
}

static void record(struct world *w, unsigned value)
{
	char line[32];

	w->value = value;
	snprintf(line, sizeof(line), "now %u", value);
	state_store_record(w->store, &file, w, line);
}

static void assert_records(const struct world *w, const char *lines)
{
	size_t length;
	const char *bytes = state_store_records(w->store, "value", &length);

	assert_int_equal(length, strlen(lines));
	assert_memory_equal(length ? bytes : "", lines, length);
}

static unsigned value_read(struct world *w)
{
	w->value_read = 0;
	assert_int_equal(state_store_read(w->store, &file, w), 0);
	return w->value_read;
}

/* ---- As master ------------------------------------------------------------------------------- */

static void a_record_is_told_at_once_and_written_later(void **state)
{
	struct world *w = *state;

	state_store_follow(w->store, hear, NULL, NULL);
	record(w, 7);
	assert_string_equal(heard, "value: now 7|");
	assert_int_equal(w->writes, 0);
	store_world_run(w, 2 * SECOND_US);
	assert_int_equal(w->writes, 1);
	assert_int_equal(value_read(w), 7);
}

static void records_are_kept_until_the_disk_has_them(void **state)
{
	struct world *w = *state;

	record(w, 7);
	record(w, 8);
	assert_records(w, "now 7\nnow 8\n");
	store_world_run(w, 2 * SECOND_US);
	assert_records(w, "");
}

/* A role ends with changes in memory; the next one's come behind them, and both are to be had. */
/* A follower that takes records needs such a file no more than once in a while. */
static void a_file_of_which_records_said_all_is_no_news(void **state)
{
	struct world *w = *state;

	record(w, 7);
	state_store_flush(w->store);
	assert_false(state_store_take_news(w->store, "value"));
	w->value = 8;
	state_store_changed(w->store, &file, w);
	record(w, 9);
	assert_false(state_store_take_news(w->store, "value")); /* not written yet */
	state_store_flush(w->store);
	assert_true(state_store_take_news(w->store, "value"));
	assert_false(state_store_take_news(w->store, "value"));
}

static void what_is_held_has_the_records_of_before_alone(void **state)
{
	struct world *w = *state;

	record(w, 7);
	state_store_detach(w->store);
	assert_int_equal(value_read(w), 7);
	record(w, 8);
	assert_records(w, "now 7\nnow 8\n");
	assert_int_equal(value_read(w), 8);
	store_world_run(w, 3 * SECOND_US);
	assert_records(w, "");
	assert_int_equal(value_read(w), 8);
}

static void files_with_records_are_not_written_in_haste(void **state)
{
	struct world *w = *state;

	state_store_set_haste(w->store, STATE_HASTE);
	record(w, 7);
	store_world_run(w, 4 * STATE_HASTE_US);
	assert_int_equal(w->writes, 0);
	state_store_set_haste(w->store, STATE_HASTE_ALL);
	record(w, 8);
	store_world_run(w, 4 * STATE_HASTE_US);
	assert_int_equal(w->writes, 1);
}

/* Until the disk has room again; without an end they would fill the memory. */
static char told[64];

static void hear_whole(void *arg, const char *name, const char *bytes, size_t length)
{
	snprintf(told, sizeof(told), "%s=%.*s", name, (int)length, bytes);
}

static void more_than_enough_records_become_a_file(void **state)
{
	struct world *w = *state;
	size_t length = 1, most = 0;

	told[0] = '\0';
	state_store_follow(w->store, NULL, hear_whole, NULL);
	for (unsigned i = 0; i < 2000000; i++) {
		record(w, i);
		state_store_records(w->store, "value", &length);
		most = length > most ? length : most;
	}
	assert_in_range(most, (8u << 20) - 64, (8u << 20) + 64);
	assert_true(length < most); /* the last of them are behind a text */
	assert_non_null(strstr(told, "value=1"));
	assert_int_equal(value_read(w), 1999999);
	store_world_run(w, 3 * SECOND_US);
	assert_records(w, "");
	assert_int_equal(value_read(w), 1999999);
	state_store_follow(w->store, NULL, NULL, NULL);
}

/* ---- As standby ------------------------------------------------------------------------------ */

static void records_of_another_are_read_behind_its_file(void **state)
{
	struct world *w = *state;

	state_store_set_writable(w->store, false);
	state_store_put(w->store, "value", "5\n", 2);
	state_store_append(w->store, "value", "now 6\nnow 7\n", 12);
	assert_int_equal(value_read(w), 7);
	store_world_run(w, 2 * SECOND_US);
	assert_int_equal(value_read(w), 7);
	state_store_put(w->store, "value", "9\n", 2);
	assert_int_equal(value_read(w), 9);
}

static void records_may_come_without_a_file(void **state)
{
	struct world *w = *state;

	state_store_append(w->store, "value", "now 6\n", 6);
	assert_int_equal(value_read(w), 6);
}

/* Nothing more has to change for that. */
static void who_takes_over_writes_what_it_read(void **state)
{
	struct world *w = *state;

	state_store_set_writable(w->store, false);
	state_store_put(w->store, "value", "5\n", 2);
	state_store_append(w->store, "value", "now 6\n", 6);
	store_world_run(w, 2 * SECOND_US);
	state_store_detach(w->store);
	state_store_set_writable(w->store, true);
	w->value = value_read(w);
	state_store_unchanged(w->store, &file);
	store_world_run(w, 3 * SECOND_US);
	store_world_reopen(w);
	assert_int_equal(value_read(w), 6);
	assert_records(w, "");
}

static void records_that_nobody_knows_do_no_harm(void **state)
{
	struct world *w = *state;

	state_store_put(w->store, "value", "5\n", 2);
	state_store_append(w->store, "value", "now 6\nthen 7\n", 13);
	assert_records(w, "now 6\nthen 7\n");
	assert_int_equal(value_read(w), 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_record_is_told_at_once_and_written_later),
		TEST(records_are_kept_until_the_disk_has_them),
		TEST(a_file_of_which_records_said_all_is_no_news),
		TEST(what_is_held_has_the_records_of_before_alone),
		TEST(files_with_records_are_not_written_in_haste),
		TEST(more_than_enough_records_become_a_file),
		TEST(records_of_another_are_read_behind_its_file),
		TEST(records_may_come_without_a_file),
		TEST(who_takes_over_writes_what_it_read),
		TEST(records_that_nobody_knows_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
