/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The log of events: what it holds, what is asked of it, and what another life of it left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/events/event_log.h"
#include "fm/events/event_query.h"

static struct event_log *log_of(unsigned capacity, unsigned count)
{
	struct event_log *events = event_log_new(capacity);

	log_set_level(-1, -1);
	for (unsigned i = 0; i < count; i++)
		event_log_add(events, i % 2 ? LOG_WARNING : LOG_NOTICE, i % 2 ? "link-down" : "up",
			      NULL, NULL, "leaf-%u p1 - dgx-%u mlx5_0 p1: down", i, i);
	return events;
}

static json_int_t seq_at(const json_t *rows, size_t index)
{
	return json_integer_value(json_object_get(json_array_get(rows, index), "seq"));
}

static size_t found(const struct event_log *events, struct event_query query)
{
	json_t *rows = event_log_find(events, &query, 1000);
	size_t count = json_array_size(rows);

	json_decref(rows);
	return count;
}

static void newest_events_are_held_oldest_first(void **state)
{
	struct event_log *events = log_of(10, 25);
	json_t *rows = event_log_json(events, 100), *two = event_log_json(events, 2);

	assert_int_equal(json_array_size(rows), 10);
	assert_int_equal(seq_at(rows, 0), 15);
	assert_int_equal(seq_at(rows, 9), 24);
	assert_int_equal(seq_at(two, 0), 23);
	assert_int_equal(event_log_next(events), 25);
	assert_null(event_log_at(events, 14));
	assert_non_null(event_log_at(events, 15));
	assert_null(event_log_at(events, 25));
	json_decref(rows);
	json_decref(two);
	event_log_free(events);
}

static void events_are_found_by_kind_level_and_subject(void **state)
{
	struct event_log *events = log_of(100, 20);

	assert_int_equal(found(events, (struct event_query){ 0 }), 20);
	assert_int_equal(found(events, (struct event_query){ .kinds = "link-down" }), 10);
	assert_int_equal(found(events, (struct event_query){ .kinds = "up,link-down" }), 20);
	assert_int_equal(found(events, (struct event_query){ .kinds = "link" }), 0);
	assert_int_equal(found(events, (struct event_query){ .level = LOG_WARNING }), 10);
	assert_int_equal(found(events, (struct event_query){ .level = LOG_NOTICE }), 20);
	assert_int_equal(found(events, (struct event_query){ .level = LOG_ERR }), 0);
	assert_int_equal(found(events, (struct event_query){ .subjects = { "leaf-1" } }), 1);
	assert_int_equal(found(events, (struct event_query){ .subjects = { "LEAF-12", "dgx-3" } }),
			 2);
	assert_int_equal(found(events, (struct event_query){ .subjects = { "leaf" } }), 0);
	assert_int_equal(found(events, (struct event_query){ .subjects = { "dgx-7 mlx5_0" },
							     .level = LOG_WARNING }),
			 1);
	event_log_free(events);
}

static void a_name_is_met_as_a_whole_and_in_details_too(void **state)
{
	static const char *const names[] = { "leaf-1", "0x00ab", "host.a", "0x00AB" };
	static const char *const others[] = { "leaf-1-2", "0x00a", "host", "1" };
	struct event_log *events = event_log_new(10);

	event_log_add(events, LOG_NOTICE, "x", NULL, json_pack("{ss}", "guid", "0x00ab"),
		      "host.a: cut off from leaf-1.");
	for (unsigned i = 0; i < 4; i++) {
		struct event_query query = { 0 };

		strcpy(query.subjects[0], names[i]);
		assert_int_equal(found(events, query), 1);
		strcpy(query.subjects[0], others[i]);
		assert_int_equal(found(events, query), 0);
	}
	event_log_free(events);
}

static void since_is_a_duration_or_a_time(void **state)
{
	static const char *const good[] = { "90s",
					    "15m",
					    "2h",
					    "3d",
					    "1w",
					    "0.5h",
					    "2026-11-23",
					    "2026-11-23T05:00",
					    "2026-11-23 05:00:10",
					    "2026-11-23T05:00:10.250Z",
					    "05:00",
					    "05:00:01Z" };
	static const char *const bad[] = { "",
					   "5",
					   "h",
					   "5 h",
					   "-5h",
					   "2026-13-01",
					   "25:00",
					   "yesterday",
					   "2026-11-23T",
					   "2026-11-23T05",
					   "5hh",
					   "1e300d",
					   "2026-11-23T05:00+01:00" };
	struct event_query query;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!event_query_since(&query, good[i]))
			fail_msg("%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (event_query_since(&query, bad[i]))
			fail_msg("%s", bad[i]);
	assert_true(event_query_since(&query, "2026-11-23 05:00:10.25"));
	assert_string_equal(query.since, "2026-11-23T05:00:10.250Z");
}

static void events_are_found_by_time(void **state)
{
	struct event_log *events = log_of(10, 3);
	struct event_query query = { 0 };

	assert_true(event_query_since(&query, "1h"));
	assert_int_equal(found(events, query), 3);
	strcpy(query.since, "9999-01-01T00:00:00.000Z");
	assert_int_equal(found(events, query), 0);
	assert_true(event_query_since(&query, "00:00"));
	event_log_free(events);
}

static void another_life_stands_before_this_one(void **state)
{
	struct event_log *before = log_of(10, 25), *events = log_of(10, 3);
	json_t *rows = event_log_json(before, 10), *all;

	event_log_restore(events, rows);
	assert_int_equal(event_log_next(events), 28);
	all = event_log_json(events, 100);
	assert_int_equal(json_array_size(all), 10);
	assert_int_equal(seq_at(all, 0), 18);
	assert_int_equal(seq_at(all, 9), 27);
	event_log_add(events, LOG_NOTICE, "up", NULL, NULL, "fabric: up");
	assert_int_equal(event_log_next(events), 29);
	json_decref(all);
	json_decref(rows);
	event_log_free(before);
	event_log_free(events);
}

static void what_is_no_event_is_left_out_and_gaps_stay_gaps(void **state)
{
	struct event_log *events = event_log_new(10);
	json_t *rows = json_pack(
		"[{si}, {s:s}, {sI ss ss ss ss}, {si ss ss ss ss}, {si ss ss ss ss}, {si ss ss ss "
		"ss}]",
		"seq", 3, "seq", "x", "seq", (json_int_t)1 << 60, "time", "t", "level", "error",
		"kind", "k", "text", "huge", "seq", 2, "time", "t", "level", "error", "kind", "k",
		"text", "a", "seq", 14, "time", "t", "level", "error", "kind", "k", "text", "b",
		"seq", 7, "time", "t", "level", "error", "kind", "k", "text", "older");

	event_log_restore(events, rows);
	assert_int_equal(event_log_next(events), 15);
	assert_int_equal(found(events, (struct event_query){ 0 }), 1);
	assert_non_null(event_log_at(events, 14));
	assert_null(event_log_at(events, 12));
	json_decref(rows);
	event_log_free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newest_events_are_held_oldest_first),
		cmocka_unit_test(events_are_found_by_kind_level_and_subject),
		cmocka_unit_test(a_name_is_met_as_a_whole_and_in_details_too),
		cmocka_unit_test(since_is_a_duration_or_a_time),
		cmocka_unit_test(events_are_found_by_time),
		cmocka_unit_test(another_life_stands_before_this_one),
		cmocka_unit_test(what_is_no_event_is_left_out_and_gaps_stay_gaps),
	};
	return cmocka_run_group_tests_name("event_log", tests, NULL, NULL);
}
