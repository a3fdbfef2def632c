/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The journal of state_dir: what outlives a daemon that was killed, and spoilt journals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fm/state/journal.h"
#include "fm/state/state_copy.h"
#include "fm/state/state_file.h"
#include "tests/lib/store_world.h"
#include "topology/base/mem.h"

#define KEYS 400

static unsigned keys[KEYS]; /* what has been taken of each */

static bool take_record(void *owner, const char *line)
{
	unsigned key, value;
	char rest;

	if (sscanf(line, "now %u %u %c", &key, &value, &rest) != 2 || key >= KEYS)
		return false;
	keys[key] = value;
	return true;
}

static const struct state_file file = { .name = "value",
					.form = "a number",
					.read = value_file_read,
					.forget = value_file_forget,
					.write = value_file_write,
					.record = take_record,
					.gather_us = SECOND_US };

static int set_up(void **state)
{
	*state = store_world_new();
	store_world_open(*state, 100);
	memset(keys, 0, sizeof(keys));
	return 0;
}

static int tear_down(void **state)
{
	store_world_close(*state);
	return store_world_free(*state);
}

static void record(struct world *w, unsigned key, unsigned value)
{
	char line[32];

	snprintf(line, sizeof(line), "now %u %u", key, value);
	state_store_record(w->store, &file, w, line);
}

/* Another life; `keys` is what it knows. */
static void begin_anew(struct world *w)
{
	store_world_close(w);
	store_world_open(w, 100);
	memset(keys, 0, sizeof(keys));
	state_store_read(w->store, &file, w);
}

static char *path_in(const struct world *w, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", w->folder, name);
	return path;
}

static off_t size_of(const struct world *w, const char *name)
{
	struct stat st;

	return stat(path_in(w, name), &st) ? -1 : st.st_size;
}

static char *bytes_of(const struct world *w, const char *name, size_t *length)
{
	struct state_content c;

	assert_int_equal(state_file_load(path_in(w, name), name, &c), STATE_OLD);
	*length = c.length;
	return c.bytes;
}

static void put_bytes(const struct world *w, const char *name, const char *bytes, size_t length)
{
	FILE *out = fopen(path_in(w, name), "w");

	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, length, out), length);
	fclose(out);
}

static bool is_lost(const struct world *w)
{
	json_t *alerts = alerts_json(w->alerts), *it;
	bool lost = false;
	size_t i;

	json_array_foreach (alerts, i, it)
		lost |= strstr(json_string_value(json_object_get(it, "text")), "journal-") != NULL;
	json_decref(alerts);
	return lost;
}

/* ---- What is kept ---------------------------------------------------------------------------- */

/* store_world_close() writes nothing, as kill -9: no time has passed, not even a loop's turn. */
static void what_was_told_outlives_a_daemon_that_is_killed_at_once(void **state)
{
	struct world *w = *state;

	for (unsigned i = 0; i < JOURNAL_AT_ONCE; i++) {
		record(w, i, i + 1);
		begin_anew(w);
		for (unsigned k = 0; k <= i; k++)
			assert_int_equal(keys[k], k + 1);
	}
}

static void the_latest_change_of_a_record_counts(void **state)
{
	struct world *w = *state;

	record(w, 1, 5);
	record(w, 1, 6);
	begin_anew(w);
	assert_int_equal(keys[1], 6);
	record(w, 1, 7);
	begin_anew(w);
	assert_int_equal(keys[1], 7);
}

static void a_storm_in_one_turn_is_written_when_the_turn_ends(void **state)
{
	struct world *w = *state;

	for (unsigned i = 0; i < KEYS; i++)
		record(w, i, i + 1);
	store_world_run(w, 1);
	assert_int_equal(w->writes, 0);
	begin_anew(w);
	for (unsigned i = 0; i < KEYS; i++)
		assert_int_equal(keys[i], i + 1);
}

static void it_is_empty_once_the_file_has_all(void **state)
{
	struct world *w = *state;

	record(w, 1, 5);
	assert_true(size_of(w, "journal-0") > 0);
	store_world_run(w, 3 * SECOND_US);
	assert_int_equal(w->writes, 1);
	assert_int_equal(size_of(w, "journal-0"), 0);
	assert_true(size_of(w, "journal-1") <= 0);
	begin_anew(w);
	assert_int_equal(keys[1], 0); /* the file has no keys */
}

/* What the file has is not taken again on top of it, though its segment is still there. */
static void what_the_file_has_does_not_come_back(void **state)
{
	struct world *w = *state;

	record(w, 1, 5);
	store_world_run(w, SECOND_US * 9 / 10);
	state_store_append(w->store, "unowned", "x\n", 2);
	store_world_run(w, SECOND_US);
	assert_int_equal(w->writes, 1);
	record(w, 2, 6);
	begin_anew(w);
	assert_int_equal(keys[1], 0);
	assert_int_equal(keys[2], 6);
}

/* A file that fails, or has no owner, holds a segment up, and the journal still does not grow. */
static void segments_change_places_under_load(void **state)
{
	struct world *w = *state;
	off_t most = 0;

	state_store_append(w->store, "unowned", "of a newer fmd\n", 15);
	for (unsigned round = 0; round < 80; round++) {
		for (unsigned i = 0; i < 1000; i++)
			record(w, i % 200, round + 1);
		store_world_run(w, SECOND_US / 10);
		for (unsigned n = 0; n < JOURNAL_SEGMENTS; n++)
			most = size_of(w, journal_name(n)) > most ? size_of(w, journal_name(n))
								  : most;
	}
	assert_true(most < 2 * (off_t)JOURNAL_LARGE);
	begin_anew(w);
	assert_int_equal(keys[199], 80);
}

static void records_of_another_manager_are_kept_like_ones_own(void **state)
{
	struct world *w = *state;

	state_store_set_writable(w->store, false);
	state_store_put(w->store, "value", "5\n", 2);
	state_store_append(w->store, "value", "now 1 6\nnow 2 7\n", 16);
	begin_anew(w);
	assert_int_equal(keys[1], 6);
	assert_int_equal(keys[2], 7);
}

/* The whole file of another manager is newer than all that was here before it. */
static void what_another_manager_sent_is_not_overlaid_by_older_records(void **state)
{
	struct world *w = *state;

	record(w, 1, 5);
	state_store_append(w->store, "unowned", "x\n", 2);
	state_store_set_writable(w->store, false);
	state_store_detach(w->store);
	state_store_put(w->store, "value", "7\n", 2);
	store_world_run(w, SECOND_US);
	begin_anew(w);
	assert_int_equal(keys[1], 0);
	assert_int_equal(w->value_read, 7);
}

/* ---- What this version does not know --------------------------------------------------------- */

static void records_of_unknown_files_are_kept_and_handed_on(void **state)
{
	struct world *w = *state;
	const char *lines;
	size_t length;

	state_store_append(w->store, "newer", "of a newer fmd\n", 15);
	for (unsigned life = 0; life < 3; life++) {
		record(w, 1, life + 1);
		store_world_run(w, 3 * SECOND_US);
		begin_anew(w);
		lines = state_store_records(w->store, "newer", &length);
		assert_int_equal(length, 15);
		assert_memory_equal(lines, "of a newer fmd\n", 15);
	}
}

static void lines_of_an_unknown_kind_are_kept(void **state)
{
	const struct journal_line line = {
		.seq = 2, .word = "taken", .name = "newer", .text = "a b", .length = 3
	};
	const struct journal_line head = { .seq = 1, .word = JOURNAL_BEGIN, .name = "1" };
	struct world *w = *state;
	struct records text = { 0 };
	size_t length;
	char *bytes;

	assert_true(journal_put(&text, &head));
	assert_true(journal_put(&text, &line));
	put_bytes(w, "journal-0", text.bytes, text.length);
	free(text.bytes);
	begin_anew(w);
	for (unsigned round = 0; round < 3; round++) { /* until the segments have changed places */
		for (unsigned i = 0; i < 8000; i++)
			record(w, i % KEYS, round);
		store_world_run(w, 3 * SECOND_US);
	}
	assert_int_equal(size_of(w, "journal-0") > 0 && size_of(w, "journal-1") > 0, 0);
	bytes = bytes_of(w, size_of(w, "journal-0") > 0 ? "journal-0" : "journal-1", &length);
	assert_non_null(memmem(bytes, length, " taken newer a b\n", 17));
	free(bytes);
}

/* ---- Spoilt journals ------------------------------------------------------------------------- */

/* A journal of `count` records, each of its own key; where the end of each line is. */
static char *journal_of(struct world *w, unsigned count, size_t *length, size_t ends[])
{
	unsigned lines = 0;
	char *bytes;

	for (unsigned i = 0; i < count; i++)
		record(w, i, i + 1);
	store_world_close(w);
	bytes = bytes_of(w, "journal-0", length);
	for (size_t i = 0; i < *length; i++)
		if (bytes[i] == '\n')
			ends[lines++] = i + 1;
	assert_int_equal(lines, count + 1);
	return bytes;
}

static void put_and_begin(struct world *w, const char *bytes, size_t length)
{
	store_world_close(w);
	unlink(path_in(w, "journal-0.bad"));
	unlink(path_in(w, "journal-1"));
	put_bytes(w, "journal-0", bytes, length);
	store_world_open(w, 100);
	memset(keys, 0, sizeof(keys));
	state_store_read(w->store, &file, w);
}

static void assert_taken(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(keys[i], i + 1);
}

static void a_journal_that_ends_anywhere_is_taken_up_to_there(void **state)
{
	struct world *w = *state;
	size_t length, ends[8];
	char *bytes = journal_of(w, 5, &length, ends);

	store_world_open(w, 100);
	for (size_t cut = 0; cut <= length; cut++) {
		unsigned whole = 0;

		while (whole < 6 && ends[whole] <= cut)
			whole++;
		put_and_begin(w, bytes, cut);
		assert_taken(whole ? whole - 1 : 0);
		assert_int_equal(keys[whole ? whole - 1 : 0], 0);
		assert_false(is_lost(w));
		record(w, 7, 8); /* and it goes on behind what was torn */
		begin_anew(w);
		assert_taken(whole ? whole - 1 : 0);
		assert_int_equal(keys[7], 8);
	}
	free(bytes);
}

/* Nothing before it is lost, it is told, and what comes behind it is kept again. */
static void a_flipped_bit_ends_the_replay_with_an_alert(void **state)
{
	struct world *w = *state;
	size_t length, ends[8];
	char *bytes = journal_of(w, 5, &length, ends);

	store_world_open(w, 100);
	for (size_t bit = 0; bit < 8 * (length - 1); bit++) {
		unsigned whole = 0;

		while (ends[whole] <= bit / 8)
			whole++;
		bytes[bit / 8] ^= (char)(1 << bit % 8);
		put_and_begin(w, bytes, length);
		bytes[bit / 8] ^= (char)(1 << bit % 8);
		assert_taken(whole ? whole - 1 : 0);
		assert_int_equal(keys[whole ? whole - 1 : 0], 0);
		assert_true(is_lost(w));
		assert_int_equal(size_of(w, "journal-0.bad"), length);
		record(w, 7, 8);
		begin_anew(w);
		assert_taken(whole ? whole - 1 : 0);
		assert_int_equal(keys[7], 8);
	}
	free(bytes);
}

static void what_is_no_journal_is_put_aside(void **state)
{
	struct world *w = *state;

	put_and_begin(w, "garbage\n", 8);
	assert_true(is_lost(w));
	record(w, 1, 2);
	begin_anew(w);
	assert_int_equal(keys[1], 2);
}

/* ---- Disks ----------------------------------------------------------------------------------- */

static bool is_trouble(const struct world *w)
{
	return trouble_error(w->alerts, "state_dir/journal") != NULL;
}

/* A folder stands where the segment should. */
static void without_a_journal_the_service_goes_on(void **state)
{
	struct world *w = *state;

	assert_int_equal(mkdir(path_in(w, "journal-0"), 0700), 0);
	record(w, 1, 2);
	store_world_run(w, 1);
	assert_true(is_trouble(w));
	store_world_run(w, 4 * SECOND_US);
	assert_int_equal(w->writes, 1);
	assert_int_equal(rmdir(path_in(w, "journal-0")), 0);
	record(w, 1, 3);
	store_world_run(w, 3 * JOURNAL_AGAIN_US);
	assert_false(is_trouble(w));
	record(w, 1, 4);
	begin_anew(w);
	assert_int_equal(keys[1], 4);
}

/* The disk takes neither the journal nor the file until there is a gap. */
static void what_a_gap_left_out_is_written_behind_it(void **state)
{
	struct world *w = *state;

	assert_int_equal(mkdir(path_in(w, "journal-0"), 0700), 0);
	assert_int_equal(mkdir(path_in(w, "value.new"), 0700), 0);
	record(w, 7, 1);
	for (unsigned i = 0; i < 200000; i++)
		record(w, i % 6, i);
	assert_true(size_of(w, "journal-1") > 0);
	assert_int_equal(rmdir(path_in(w, "journal-0")), 0);
	begin_anew(w);
	assert_int_equal(keys[7], 1);
	assert_int_equal(keys[199999 % 6], 199999);
	assert_int_equal(rmdir(path_in(w, "value.new")), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_told_outlives_a_daemon_that_is_killed_at_once),
		TEST(the_latest_change_of_a_record_counts),
		TEST(a_storm_in_one_turn_is_written_when_the_turn_ends),
		TEST(it_is_empty_once_the_file_has_all),
		TEST(what_the_file_has_does_not_come_back),
		TEST(segments_change_places_under_load),
		TEST(records_of_another_manager_are_kept_like_ones_own),
		TEST(what_another_manager_sent_is_not_overlaid_by_older_records),
		TEST(records_of_unknown_files_are_kept_and_handed_on),
		TEST(lines_of_an_unknown_kind_are_kept),
		TEST(a_journal_that_ends_anywhere_is_taken_up_to_there),
		TEST(a_flipped_bit_ends_the_replay_with_an_alert),
		TEST(what_is_no_journal_is_put_aside),
		TEST(without_a_journal_the_service_goes_on),
		TEST(what_a_gap_left_out_is_written_behind_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
