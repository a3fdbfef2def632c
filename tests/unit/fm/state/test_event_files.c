/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Events outlive the daemon: also one that is killed, on a full disk and with files that are not
 * what was written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fm/events/event_query.h"
#include "fm/state/event_files.h"
#include "fm/state/state_copy.h"
#include "tests/lib/store_world.h"
#include "topology/base/mem.h"

static void added(void *arg, const json_t *event)
{
	struct world *w = arg;

	if (w->event_files)
		event_files_added(w->event_files);
}

static void begin(struct world *w)
{
	store_world_open(w, EVENTS_KEPT);
	event_log_listen(w->events, added, w);
	w->event_files = event_files_new(w->store, w->events);
}

/* As kill -9: what is not on disk is gone. */
static void end(struct world *w)
{
	event_log_listen(w->events, NULL, NULL);
	store_world_close(w);
	free(w->event_files);
	w->event_files = NULL;
}

static void again(struct world *w)
{
	end(w);
	begin(w);
}

static void add(struct world *w, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		event_log_add(w->events, LOG_NOTICE, "test", NULL, NULL, "event %llu",
			      (unsigned long long)event_log_next(w->events));
}

/* Those of that kind alone, each with the number that its text says. */
static unsigned count_held(struct world *w, uint64_t *first)
{
	const struct event_query query = { .kinds = "test" };
	json_t *rows = event_log_find(w->events, &query, EVENTS_KEPT), *row;
	unsigned count = (unsigned)json_array_size(rows);
	size_t i;

	json_array_foreach (rows, i, row) {
		json_int_t seq = json_integer_value(json_object_get(row, "seq"));
		char text[32];

		snprintf(text, sizeof(text), "event %lld", (long long)seq);
		assert_string_equal(json_string_value(json_object_get(row, "text")), text);
		if (!i && first)
			*first = (uint64_t)seq;
	}
	json_decref(rows);
	return count;
}

static char *path_of(const struct world *w, const char *name)
{
	return mem_printf("%s/%s", w->folder, name);
}

static int set_up(void **state)
{
	*state = store_world_new();
	begin(*state);
	return 0;
}

static int tear_down(void **state)
{
	end(*state);
	return store_world_free(*state);
}

static void events_outlive_a_kill(void **state)
{
	struct world *w = *state;

	add(w, 3);
	store_world_run(w, 3 * SECOND_US);
	add(w, 2); /* no file has these yet */
	again(w);
	assert_int_equal(count_held(w, NULL), 5);
	assert_int_equal(event_log_next(w->events), 5);
	add(w, 1);
	assert_int_equal(count_held(w, NULL), 6);
}

/* The ring's first file has its second turn in records alone. */
static void a_kill_at_the_beginning_of_a_turn_loses_none(void **state)
{
	struct world *w = *state;
	uint64_t first;

	add(w, EVENTS_KEPT);
	store_world_run(w, 3 * SECOND_US);
	add(w, 3);
	again(w);
	assert_int_equal(event_log_next(w->events), EVENTS_KEPT + 3);
	assert_int_equal(count_held(w, &first), EVENTS_KEPT - EVENTS_PER_FILE + 3);
	assert_int_equal(first, EVENTS_PER_FILE);
}

static void an_orderly_end_loses_none(void **state)
{
	struct world *w = *state;

	add(w, 5);
	state_store_flush(w->store);
	again(w);
	assert_int_equal(count_held(w, NULL), 5);
}

static void the_ring_is_bounded_and_the_newest_stay(void **state)
{
	struct world *w = *state;
	uint64_t first;

	for (unsigned i = 0; i < 11; i++) {
		add(w, EVENTS_PER_FILE - 7);
		store_world_run(w, 2 * SECOND_US);
	}
	again(w);
	assert_int_equal(event_log_next(w->events), 11 * (EVENTS_PER_FILE - 7));
	assert_in_range(count_held(w, &first), EVENTS_KEPT - EVENTS_PER_FILE, EVENTS_KEPT);
	assert_int_equal(first % EVENTS_PER_FILE, 0);
	assert_int_equal(first + count_held(w, NULL), event_log_next(w->events));
}

static bool has_alert(struct world *w, const char *word)
{
	json_t *list = alerts_json(w->alerts), *row;
	bool found = false;
	size_t i;

	json_array_foreach (list, i, row)
		found |= strstr(json_string_value(json_object_get(row, "text")), word) != NULL;
	json_decref(list);
	return found;
}

static void a_file_that_was_damaged_is_set_aside_and_leaves_a_gap(void **state)
{
	struct world *w = *state;
	char *path = path_of(w, "events-0"), *aside = path_of(w, "events-0.bad");
	uint64_t first;

	add(w, EVENTS_PER_FILE + 10);
	store_world_run(w, 3 * SECOND_US);
	assert_int_equal(truncate(path, 200), 0);
	again(w);
	assert_int_equal(count_held(w, &first), 10);
	assert_int_equal(first, EVENTS_PER_FILE);
	assert_true(event_log_next(w->events) >= EVENTS_PER_FILE + 10);
	assert_int_equal(access(aside, F_OK), 0);
	assert_true(has_alert(w, "events-0"));
	free(path);
	free(aside);
}

static void a_line_that_is_no_event_is_told(void **state)
{
	struct world *w = *state;
	char *path = path_of(w, "events-0");
	FILE *out;

	add(w, 1);
	store_world_run(w, 3 * SECOND_US);
	out = fopen(path, "w");
	fputs("this is no JSON\n", out);
	fclose(out);
	again(w);
	assert_int_equal(count_held(w, NULL), 0);
	assert_true(has_alert(w, "events-0"));
	free(path);
}

static void a_disk_that_is_full_is_a_trouble_until_it_is_not(void **state)
{
	struct world *w = *state;
	char *away = mem_printf("%s.away", w->folder);

	state_store_retry(w->store, SECOND_US);
	add(w, 1);
	store_world_run(w, 3 * SECOND_US);
	assert_int_equal(rename(w->folder, away), 0);
	add(w, 1);
	store_world_run(w, 3 * SECOND_US);
	assert_true(has_alert(w, "events-0"));
	assert_int_equal(rename(away, w->folder), 0);
	store_world_run(w, 10 * SECOND_US);
	assert_false(has_alert(w, "events-0"));
	again(w);
	assert_int_equal(count_held(w, NULL), 2);
	free(away);
}

static void a_standby_writes_none_and_a_master_all(void **state)
{
	struct world *w = *state;

	state_store_set_writable(w->store, false);
	add(w, EVENTS_PER_FILE + 5);
	store_world_run(w, 3 * SECOND_US);
	state_store_detach(w->store); /* a change of role */
	event_files_merge(w->event_files);
	state_store_set_writable(w->store, true);
	store_world_run(w, 3 * SECOND_US);
	again(w);
	assert_int_equal(count_held(w, NULL), EVENTS_PER_FILE + 5);
}

static const char history[] =
	"{\"seq\":40,\"time\":\"2001-01-01T00:00:00.000Z\",\"level\":\"notice\",\"kind\":\"a\","
	"\"text\":\"before\",\"manager\":\"one\"}\n"
	"{\"seq\":41,\"time\":\"2999-01-01T00:00:00.000Z\",\"level\":\"notice\",\"kind\":\"a\","
	"\"text\":\"behind\",\"manager\":\"one\"}\n";

static void assert_event(const struct world *w, uint64_t seq, const char *manager, const char *text)
{
	const json_t *event = event_log_at(w->events, seq);

	assert_non_null(event);
	assert_string_equal(json_string_value(json_object_get(event, "manager")), manager);
	assert_string_equal(json_string_value(json_object_get(event, "text")), text);
	assert_int_equal(json_integer_value(json_object_get(event, "seq")), seq);
}

/* Once, however often the role changes; with what it has seen itself, by time. */
static void who_takes_over_has_the_history_of_its_master(void **state)
{
	struct world *w = *state;

	state_store_set_writable(w->store, false);
	event_log_set_manager(w->events, "two");
	event_log_add(w->events, LOG_NOTICE, "b", NULL, NULL, "own");
	state_store_put(w->store, "events-0", history, strchr(history, '\n') + 1 - history);
	state_store_append(w->store, "events-0", strchr(history, '\n') + 1,
			   strlen(strchr(history, '\n') + 1));
	for (unsigned change = 0; change < 3; change++) {
		state_store_detach(w->store);
		event_files_merge(w->event_files);
		state_store_set_writable(w->store, change % 2 == 0);
		assert_int_equal(event_log_next(w->events), 43);
		assert_event(w, 40, "one", "before");
		assert_event(w, 41, "two", "own");
		assert_event(w, 42, "one", "behind");
		store_world_run(w, 3 * SECOND_US);
	}
	again(w);
	assert_event(w, 40, "one", "before");
	assert_event(w, 42, "one", "behind");
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(events_outlive_a_kill),
		WORLD_TEST(a_kill_at_the_beginning_of_a_turn_loses_none),
		WORLD_TEST(an_orderly_end_loses_none),
		WORLD_TEST(the_ring_is_bounded_and_the_newest_stay),
		WORLD_TEST(a_file_that_was_damaged_is_set_aside_and_leaves_a_gap),
		WORLD_TEST(a_line_that_is_no_event_is_told),
		WORLD_TEST(a_disk_that_is_full_is_a_trouble_until_it_is_not),
		WORLD_TEST(a_standby_writes_none_and_a_master_all),
		WORLD_TEST(who_takes_over_has_the_history_of_its_master),
	};
	return cmocka_run_group_tests_name("event_files", tests, NULL, NULL);
}
