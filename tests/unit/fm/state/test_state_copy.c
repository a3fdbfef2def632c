/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files of state_dir that come from another manager, and go there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fm/state/state_copy.h"
#include "tests/lib/store_world.h"
#include "topology/base/mem.h"

static void summarize(const void *owner, FILE *out)
{
	value_file_write(owner, out);
}

static const struct state_file file = { .name = "value",
					.form = "a number",
					.read = value_file_read,
					.forget = value_file_forget,
					.write = value_file_write,
					.summary = summarize,
					.gather_us = 60 * SECOND_US };

static void count_write(void *arg, const char *name, int status)
{
	++*(unsigned *)arg;
}

static unsigned value_read(struct world *w)
{
	w->value_read = 0;
	assert_int_equal(state_store_read(w->store, &file, w), 0);
	return w->value_read;
}

static int set_up(void **state)
{
	*state = store_world_new();
	store_world_open(*state, 100);
	return 0;
}

static int tear_down(void **state)
{
	store_world_close(*state);
	return store_world_free(*state);
}

/* ---- Here ------------------------------------------------------------------------------------ */

static void what_another_sent_is_written_by_a_standby_too(void **state)
{
	struct world *w = *state;

	state_store_set_writable(w->store, false);
	state_store_put(w->store, "value", "7\n", 2);
	store_world_run(w, SECOND_US);
	store_world_reopen(w);
	assert_int_equal(value_read(w), 7);
}

static void it_is_read_before_it_is_written(void **state)
{
	struct world *w = *state;

	state_store_set_writable(w->store, false);
	state_store_put(w->store, "value", "7\n", 2);
	assert_int_equal(value_read(w), 7);
	state_store_put(w->store, "value", "8\n", 2);
	assert_int_equal(value_read(w), 8);
	store_world_run(w, SECOND_US);
	assert_int_equal(value_read(w), 8);
}

static void what_its_owner_knows_less_than_does_not_come_back(void **state)
{
	struct world *w = *state;

	w->value = 3;
	state_store_set_writable(w->store, false);
	state_store_changed(w->store, &file, w); /* a standby's own */
	state_store_put(w->store, "value", "7\n", 2);
	state_store_detach(w->store);
	state_store_set_writable(w->store, true);
	assert_int_equal(value_read(w), 7);
	store_world_run(w, 120 * SECOND_US);
	store_world_reopen(w);
	assert_int_equal(value_read(w), 7);
}

static void a_master_goes_on_from_there(void **state)
{
	struct world *w = *state;

	state_store_put(w->store, "value", "7\n", 2);
	assert_int_equal(value_read(w), 7);
	w->value = 9;
	state_store_changed(w->store, &file, w);
	store_world_run(w, 120 * SECOND_US);
	store_world_reopen(w);
	assert_int_equal(value_read(w), 9);
}

/* A standby that began with an empty state_dir. */
static void a_manifest_that_was_just_written_is_there(void **state)
{
	struct world *w = *state;
	json_t *alerts;

	state_store_put(w->store, "value", "7\n", 2);
	store_world_run(w, SECOND_US);
	assert_int_equal(value_read(w), 7);
	alerts = alerts_json(w->alerts);
	assert_int_equal(json_array_size(alerts), 0);
	json_decref(alerts);
}

static void files_that_nobody_here_knows_are_kept(void **state)
{
	struct world *w = *state;
	size_t length;
	char *bytes;

	state_store_put(w->store, "newer", "of a newer fmd\n", 15);
	store_world_run(w, SECOND_US);
	store_world_reopen(w);
	bytes = state_store_on_disk(w->store, "newer", &length);
	assert_int_equal(length, 15);
	assert_memory_equal(bytes, "of a newer fmd\n", 15);
	free(bytes);
	assert_null(state_store_on_disk(w->store, "none", &length));
	assert_int_equal(length, 0);
}

static void assert_text(struct world *w, const char *expected)
{
	size_t length;
	char *text = state_store_text(w->store, "value", &length);

	assert_int_equal(length, strlen(expected));
	assert_true(!*expected || !memcmp(text, expected, length));
	free(text);
}

/* A folder in the place of the file: it can't be written. */
static void what_the_disk_does_not_take_is_in_memory(void **state)
{
	struct world *w = *state;
	char path[64];

	snprintf(path, sizeof(path), "%s/value", w->folder);
	assert_text(w, "");
	assert_int_equal(mkdir(path, 0700), 0);
	state_store_put(w->store, "value", "7\n", 2);
	assert_text(w, "7\n");
	store_world_run(w, SECOND_US);
	assert_text(w, "7\n");
	assert_int_equal(value_read(w), 7);
	w->value = 8;
	state_store_changed(w->store, &file, w);
	store_world_run(w, 120 * SECOND_US); /* its owner's, in vain */
	w->value = 9;
	assert_text(w, "9\n"); /* as it would be written next */
	state_store_set_writable(w->store, false);
	assert_text(w, "");
	assert_int_equal(rmdir(path), 0);
}

/* ---- There ----------------------------------------------------------------------------------- */

static void note_name(void *arg, const char *name)
{
	char *names = arg;

	strcat(names, name);
	strcat(names, " ");
}

static void all_that_was_ever_written_is_named(void **state)
{
	struct world *w = *state;
	char names[64] = "";

	state_store_changed(w->store, &file, w);
	state_store_put(w->store, "newer", "", 0);
	store_world_run(w, 120 * SECOND_US);
	store_world_reopen(w);
	state_store_each(w->store, note_name, names);
	assert_string_equal(names, "newer value ");
}

static void a_file_is_written_at_once_while_another_manager_waits(void **state)
{
	struct world *w = *state;
	unsigned mirrored = 0;

	state_store_listen(w->store, count_write, &mirrored);
	state_store_changed(w->store, &file, w);
	store_world_run(w, 2 * SECOND_US);
	assert_int_equal(w->writes, 0);
	state_store_set_haste(w->store, STATE_HASTE);
	state_store_changed(w->store, &file, w);
	store_world_run(w, 2 * STATE_HASTE_US);
	assert_int_equal(w->writes, 1);
	assert_int_equal(mirrored, 1);
	state_store_unlisten(w->store, &mirrored);
	state_store_changed(w->store, &file, w);
	store_world_run(w, 2 * SECOND_US);
	assert_int_equal(w->writes, 2);
	assert_int_equal(mirrored, 1);
}

/* Also what is here of another manager and waits, for its owner has read it and changed nothing. */
static void what_is_to_be_passed_on_does_not_gather(void **state)
{
	struct world *w = *state;

	state_store_set_haste(w->store, STATE_HASTE);
	state_store_mark(w->store, STATE_COPIED, true);
	state_store_put(w->store, "value", "7\n", 2);
	state_store_set_haste(w->store, STATE_CALM);
	state_store_changed(w->store, &file, w);
	state_store_unchanged(w->store, &file);
	state_store_set_haste(w->store, STATE_HASTE);
	assert_false(state_store_passed_on(w->store));
	store_world_run(w, STATE_HASTE_US);
	assert_true(state_store_passed_on(w->store));
}

static void who_is_expected_is_waited_for(void **state)
{
	struct world *w = *state;

	assert_true(state_store_passed_on(w->store)); /* nobody copies */
	state_store_mark(w->store, STATE_EXPECTED, true);
	assert_false(state_store_passed_on(w->store));
	state_store_set_haste(w->store, STATE_HASTE);
	assert_false(state_store_passed_on(w->store));
	state_store_mark(w->store, STATE_COPIED, true);
	assert_true(state_store_passed_on(w->store));
}

static char pushed[64];

static void hear_text(void *arg, const char *name, const char *bytes, size_t length)
{
	size_t used = strlen(pushed);

	snprintf(pushed + used, sizeof(pushed) - used, "%s=%.*s", name, (int)length, bytes);
}

static void change(struct world *w, const struct state_file *of, unsigned value)
{
	w->value = value;
	state_store_changed(w->store, of, w);
}

static void a_small_file_goes_ahead_of_the_disk_while_another_manager_waits(void **state)
{
	static struct state_file small;
	struct world *w = *state;

	small = file;
	small.small = true;
	pushed[0] = '\0';
	state_store_follow(w->store, NULL, hear_text, NULL);
	change(w, &small, 1);
	store_world_run(w, 2 * STATE_PUSH_US);
	assert_string_equal(pushed, ""); /* nobody waits */
	state_store_set_haste(w->store, STATE_HASTE);
	store_world_run(w, 2 * STATE_PUSH_US);
	assert_string_equal(pushed, "value=1\n"); /* what waits for the disk since then */
	pushed[0] = '\0';
	change(w, &small, 2);
	change(w, &small, 3);
	assert_string_equal(pushed, "");
	store_world_run(w, 2 * STATE_PUSH_US);
	assert_string_equal(pushed, "value=3\n"); /* once */
	assert_int_equal(w->writes, 0);
	change(w, &file, 4); /* another one that is not small */
	store_world_run(w, 2 * STATE_PUSH_US);
	assert_string_equal(pushed, "value=3\n");
	change(w, &small, 5);
	state_store_detach(w->store); /* its owner is about to end */
	store_world_run(w, 2 * STATE_PUSH_US);
	assert_string_equal(pushed, "value=3\n");
	state_store_follow(w->store, NULL, NULL, NULL);
}

#define WRITE_US 3000

struct slow { /* a file whose text takes long, in real time */
	struct loop *loop;
	unsigned pushes;
	uint64_t at_us[2];
};

static void write_slowly(const void *arg, FILE *out)
{
	const struct slow *slow = arg;
	uint64_t begun_us = loop_clock_us(slow->loop);

	while (loop_clock_us(slow->loop) - begun_us < WRITE_US)
		;
	fputs("1\n", out);
}

static void note_time(void *arg, const char *name, const char *bytes, size_t length)
{
	struct slow *slow = arg;

	if (slow->pushes < 2)
		slow->at_us[slow->pushes++] = loop_clock_us(slow->loop);
	loop_stop(slow->loop);
}

static unsigned read_nothing(void *arg, FILE *in)
{
	return 0;
}

static void forget_nothing(void *arg)
{
}

/* Twenty times as long as it takes: it has a twentieth of the loop at most. */
static void a_small_file_that_is_slow_to_write_goes_ahead_less_often(void **state)
{
	static const struct state_file small = { .name = "slow",
						 .form = "a number",
						 .read = read_nothing,
						 .forget = forget_nothing,
						 .write = write_slowly,
						 .gather_us = 60 * SECOND_US,
						 .small = true };
	struct world *w = store_world_new_on(loop_new());
	struct slow slow = { .loop = w->loop };

	store_world_open(w, 100);
	state_store_follow(w->store, NULL, note_time, &slow);
	state_store_set_haste(w->store, STATE_HASTE);
	for (unsigned i = 0; i < 2; i++) {
		state_store_changed(w->store, &small, &slow);
		loop_run(w->loop);
	}
	assert_int_equal(slow.pushes, 2);
	assert_true(slow.at_us[1] - slow.at_us[0] >= STATE_SHARE / 2 * WRITE_US);
	state_store_follow(w->store, NULL, NULL, NULL);
	state_store_detach(w->store);
	store_world_close(w);
	assert_int_equal(store_world_free(w), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_another_sent_is_written_by_a_standby_too),
		TEST(it_is_read_before_it_is_written),
		TEST(what_its_owner_knows_less_than_does_not_come_back),
		TEST(a_master_goes_on_from_there),
		TEST(a_manifest_that_was_just_written_is_there),
		TEST(files_that_nobody_here_knows_are_kept),
		TEST(what_the_disk_does_not_take_is_in_memory),
		TEST(all_that_was_ever_written_is_named),
		TEST(a_file_is_written_at_once_while_another_manager_waits),
		TEST(what_is_to_be_passed_on_does_not_gather),
		TEST(who_is_expected_is_waited_for),
		TEST(a_small_file_goes_ahead_of_the_disk_while_another_manager_waits),
		cmocka_unit_test(a_small_file_that_is_slow_to_write_goes_ahead_less_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
