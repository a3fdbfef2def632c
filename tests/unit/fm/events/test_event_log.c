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

static struct event_query named(const char *name)
{
	struct event_query query = { 0 };

	strcpy(query.about.name, name);
	return query;
}

static struct event_query of_node(guid_t node, uint8_t port)
{
	return (struct event_query){ .about = { .ends = { { node, port } }, .count = 1 } };
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
	struct event_query query;

	assert_int_equal(found(events, (struct event_query){ 0 }), 20);
	assert_int_equal(found(events, (struct event_query){ .kinds = "link-down" }), 10);
	assert_int_equal(found(events, (struct event_query){ .kinds = "up,link-down" }), 20);
	assert_int_equal(found(events, (struct event_query){ .kinds = "link" }), 0);
	assert_int_equal(found(events, (struct event_query){ .level = LOG_WARNING }), 10);
	assert_int_equal(found(events, (struct event_query){ .level = LOG_NOTICE }), 20);
	assert_int_equal(found(events, (struct event_query){ .level = LOG_ERR }), 0);
	assert_int_equal(found(events, named("leaf-1")), 1);
	assert_int_equal(found(events, named("LEAF-12")), 1);
	assert_int_equal(found(events, named("leaf")), 0);
	query = named("dgx-7 mlx5_0");
	query.level = LOG_WARNING;
	assert_int_equal(found(events, query), 1);
	event_log_free(events);
}

/* Rows of versions that wrote no subject. */
static void a_name_is_met_as_a_whole_and_in_details_too(void **state)
{
	static const char *const texts[] = {
		"leaf 1 0x0000000000000a01: leaf switch down: 2 HCAs lost connectivity",
		"leaf 1 p3 - leaf 1 b p2: down",
		"sw leaf 1 0x0000000000000a01 p3: rejects its settings",
		"host leaf 1: DEGRADED, was HEALTHY",
		"up p2 - spine-2 p4: down",
		"fabric: up: 4 switches, 4 HCAs, 5 links (0 down)",
		"fabric: rerouted after leaf 1 p3 - up p1: down",
		"my leaf 1 p3: down",
	};
	struct event_log *events = event_log_new(10);

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		event_log_add(events, LOG_NOTICE, "x", NULL, NULL, "%s", texts[i]);
	assert_int_equal(found(events, named("leaf 1")), 4);
	assert_int_equal(found(events, named("LEAF 1 B")), 1);
	assert_int_equal(found(events, named("leaf")), 0);
	assert_int_equal(found(events, named("up")), 1);
	assert_int_equal(found(events, named("fabric")), 0);
	assert_int_equal(found(events, named("spine-2")), 1);
	assert_int_equal(found(events, of_node(0xa01, 0)), 2);
	event_log_free(events);
}

/* A GUID stays; names are shared, change, and are words. */
static void a_subject_is_met_by_its_data(void **state)
{
	struct event_log *events = event_log_new(10);
	const struct event_subject link = { .node = 0xa01,
					    .port = 3,
					    .node_name = "leaf 1",
					    .peer = 0xa02,
					    .peer_port = 2,
					    .peer_name = "leaf 1 b" };
	const struct event_subject node = { .node = 0xa02, .node_name = "leaf 1 b" };
	const struct event_subject hca = {
		.node = 0xb01, .port = 1, .node_name = "node-1 HCA-1", .host = "node-1"
	};
	struct event_query query;
	json_t *rows;

	event_log_add(events, LOG_NOTICE, "link-down", &link, NULL,
		      "leaf 1 p3 - leaf 1 b p2: down");
	event_log_add(events, LOG_NOTICE, "renamed", &node, NULL, "leaf 1 b 0xa02: renamed to up");
	event_log_add(events, LOG_NOTICE, "link-down", &hca, NULL, "node-1 HCA-1 p1: down");
	event_log_add(events, LOG_NOTICE, "host", &(struct event_subject){ .host = "node-1" }, NULL,
		      "host node-1: CUT_OFF");
	event_log_add(events, LOG_NOTICE, "up", NULL, NULL, "fabric: up");
	assert_int_equal(found(events, of_node(0xa01, 0)), 1);
	assert_int_equal(found(events, of_node(0xa02, 0)), 2);
	assert_int_equal(found(events, of_node(0xa02, 2)), 1);
	assert_int_equal(found(events, of_node(0xa02, 3)), 0);
	query = of_node(0xa02, 2);
	query.about.whole = true;
	assert_int_equal(found(events, query), 2);
	/* What the fabric has no more is known by what events call it. */
	assert_int_equal(found(events, named("leaf 1")), 1);
	assert_int_equal(found(events, named("Leaf 1 b")), 2);
	assert_int_equal(found(events, named("up")), 0);
	query = of_node(0xb01, 0);
	strcpy(query.about.host, "node-1");
	assert_int_equal(found(events, query), 2);
	rows = event_log_json(events, 10);
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "peer")),
			    "0x0000000000000a02");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 0), "peer_port")),
			 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 2), "host")),
			    "node-1");
	assert_null(json_object_get(json_array_get(rows, 4), "node"));
	json_decref(rows);
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
		cmocka_unit_test(a_subject_is_met_by_its_data),
		cmocka_unit_test(since_is_a_duration_or_a_time),
		cmocka_unit_test(events_are_found_by_time),
		cmocka_unit_test(another_life_stands_before_this_one),
		cmocka_unit_test(what_is_no_event_is_left_out_and_gaps_stay_gaps),
	};
	return cmocka_run_group_tests_name("event_log", tests, NULL, NULL);
}
