/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Alerts: one event at the beginning and one at the end, in the status as long as they last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/events/alert.h"
#include "fm/events/event_query.h"
#include "fm/loop/log.h"

struct fixture {
	struct loop *loop;
	struct event_log *events;
	struct alerts *alerts;
};

static struct fixture begin(void)
{
	struct fixture fx = { .loop = loop_new_simulated(), .events = event_log_new(100) };

	log_set_level(-1, LOG_ERR - 1);
	fx.alerts = alerts_new(fx.loop, fx.events);
	return fx;
}

static void end(struct fixture *fx)
{
	alerts_free(fx->alerts);
	event_log_free(fx->events);
	loop_free(fx->loop);
}

static unsigned told(const struct fixture *fx, const char *kind)
{
	json_t *events = event_log_json(fx->events, 100), *event;
	unsigned count = 0;
	size_t i;

	json_array_foreach (events, i, event)
		count += !strcmp(json_string_value(json_object_get(event, "kind")), kind);
	json_decref(events);
	return count;
}

static size_t length(json_t *list)
{
	size_t n = json_array_size(list);

	json_decref(list);
	return n;
}

static void assert_member(json_t *list, size_t i, const char *key, const char *value)
{
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, i), key)),
			    value);
	json_decref(list);
}

static void alert_raised_again_is_one_event_with_the_newest_text(void **state)
{
	struct fixture fx = begin();

	alert_raise(fx.alerts, "hcas-cut-off", NULL, "%u HCAs cut off", 3);
	alert_raise(fx.alerts, "hcas-cut-off", NULL, "%u HCAs cut off", 7);
	assert_int_equal(told(&fx, "alert"), 1);
	assert_int_equal(length(alerts_json(fx.alerts)), 1);
	assert_member(alerts_json(fx.alerts), 0, "text", "7 HCAs cut off");
	assert_member(alerts_json(fx.alerts), 0, "what", "hcas-cut-off");
	assert_string_equal(alert_text(fx.alerts, "hcas-cut-off", NULL), "7 HCAs cut off");
	alert_end(fx.alerts, "hcas-cut-off", NULL);
	alert_end(fx.alerts, "hcas-cut-off", NULL);
	assert_int_equal(told(&fx, "alert-over"), 1);
	assert_int_equal(length(alerts_json(fx.alerts)), 0);
	assert_null(alert_text(fx.alerts, "hcas-cut-off", NULL));
	end(&fx);
}

static void alerts_of_one_kind_are_told_apart_by_their_subject(void **state)
{
	struct fixture fx = begin();

	alert_raise(fx.alerts, "takes-no-set", &(struct event_subject){ .name = "spine-01" },
		    "spine-01: takes no Set");
	alert_raise(fx.alerts, "takes-no-set", &(struct event_subject){ .name = "spine-02" },
		    "spine-02: takes no Set");
	assert_int_equal(told(&fx, "alert"), 2);
	alert_end(fx.alerts, "takes-no-set", &(struct event_subject){ .name = "spine-01" });
	assert_int_equal(length(alerts_json(fx.alerts)), 1);
	assert_member(alerts_json(fx.alerts), 0, "subject", "spine-02");
	end(&fx);
}

/* A device keeps its alert when it gets another name. */
static void an_alert_of_a_device_is_named_by_its_guid(void **state)
{
	struct fixture fx = begin();
	struct event_subject port = {
		.node = 0xa01, .port = 3, .node_name = "leaf 1", .name = "leaf 1 p3"
	};

	alert_raise(fx.alerts, "port-refuses", &port, "leaf 1 p3: refused");
	port.node_name = "up";
	port.name = "up p3";
	alert_raise(fx.alerts, "port-refuses", &port, "up p3: refused");
	assert_int_equal(length(alerts_json(fx.alerts)), 1);
	assert_int_equal(told(&fx, "alert"), 1);
	assert_member(alerts_json(fx.alerts), 0, "text", "up p3: refused");
	assert_member(alerts_json(fx.alerts), 0, "node", "0x0000000000000a01");
	assert_string_equal(alert_text(fx.alerts, "port-refuses", &port), "up p3: refused");
	port.port = 4;
	assert_null(alert_text(fx.alerts, "port-refuses", &port));
	alert_end(fx.alerts, "port-refuses", &port);
	assert_int_equal(length(alerts_json(fx.alerts)), 1);
	port.port = 3;
	alert_end(fx.alerts, "port-refuses", &port);
	assert_int_equal(length(alerts_json(fx.alerts)), 0);
	end(&fx);
}

static void the_ports_of_an_alert_are_those_of_the_latest_time(void **state)
{
	struct fixture fx = begin();
	json_t *ports = json_pack("[{ss}{ss}]", "node", "0x1", "node", "0x2"), *list;

	alert_raise(fx.alerts, "guid-twice", &(struct event_subject){ .node = 7, .ports = ports },
		    "behind 2 ports");
	json_decref(ports);
	list = alerts_json(fx.alerts);
	assert_int_equal(json_array_size(json_object_get(json_array_get(list, 0), "ports")), 2);
	json_decref(list);
	ports = json_pack("[{ss}]", "node", "0x2");
	alert_raise(fx.alerts, "guid-twice", &(struct event_subject){ .node = 7, .ports = ports },
		    "behind 1 port");
	json_decref(ports);
	list = alerts_json(fx.alerts);
	assert_int_equal(json_array_size(list), 1);
	assert_int_equal(json_array_size(json_object_get(json_array_get(list, 0), "ports")), 1);
	json_decref(list);
	alert_raise(fx.alerts, "guid-twice", &(struct event_subject){ .node = 7 }, "again");
	list = alerts_json(fx.alerts);
	assert_null(json_object_get(json_array_get(list, 0), "ports"));
	json_decref(list);
	assert_int_equal(told(&fx, "alert"), 1);
	end(&fx);
}

static void an_alert_is_about_its_ports_and_who_is_behind_them(void **state)
{
	struct fixture fx = begin();
	json_t *ports = json_pack("[{ss si ss}]", "node", "0x11", "port", 3, "peer", "0x22"), *list;
	struct event_about about = { .count = 1 };

	alert_raise(fx.alerts, "switches-silent", &(struct event_subject){ .ports = ports },
		    "1 switch does not answer: spine");
	json_decref(ports);
	list = alerts_json(fx.alerts);
	about.ends[0] = (struct event_end){ .node = 0x11, .port = 3 };
	assert_true(event_is_about(json_array_get(list, 0), &about));
	about.ends[0].port = 4;
	assert_false(event_is_about(json_array_get(list, 0), &about));
	about.ends[0] = (struct event_end){ .node = 0x22 };
	assert_true(event_is_about(json_array_get(list, 0), &about));
	about.ends[0] = (struct event_end){ .node = 0x33 };
	assert_false(event_is_about(json_array_get(list, 0), &about));
	json_decref(list);
	end(&fx);
}

static void since_is_when_it_began(void **state)
{
	struct fixture fx = begin();
	char since[EVENT_TIME];
	json_t *list, *events;

	alert_raise(fx.alerts, "two-masters", NULL, "another is master too");
	list = alerts_json(fx.alerts);
	snprintf(since, sizeof(since), "%s",
		 json_string_value(json_object_get(json_array_get(list, 0), "since")));
	json_decref(list);
	events = event_log_json(fx.events, 1);
	assert_int_equal(strlen(since), strlen("2026-01-31T12:00:00.000Z"));
	/* Of the same second at least, but at its turn. */
	assert_true(strncmp(since,
			    json_string_value(json_object_get(json_array_get(events, 0), "time")),
			    19) <= 0);
	json_decref(events);
	alert_raise(fx.alerts, "two-masters", NULL, "another is master still");
	assert_member(alerts_json(fx.alerts), 0, "since", since);
	end(&fx);
}

static void review_ends_what_was_not_found_again(void **state)
{
	struct fixture fx = begin();

	alert_raise(fx.alerts, "silent", &(struct event_subject){ .name = "a" }, "a: silent");
	alert_raise(fx.alerts, "silent", &(struct event_subject){ .name = "b" }, "b: silent");
	alert_raise(fx.alerts, "slow", &(struct event_subject){ .name = "a" }, "a: slow");
	alerts_review(fx.alerts, "silent");
	alert_raise(fx.alerts, "silent", &(struct event_subject){ .name = "b" }, "b: silent");
	alert_raise(fx.alerts, "silent", &(struct event_subject){ .name = "c" }, "c: silent");
	alerts_reviewed(fx.alerts, "silent");
	assert_null(alert_text(fx.alerts, "silent", &(struct event_subject){ .name = "a" }));
	assert_non_null(alert_text(fx.alerts, "silent", &(struct event_subject){ .name = "b" }));
	assert_non_null(alert_text(fx.alerts, "silent", &(struct event_subject){ .name = "c" }));
	assert_non_null(alert_text(fx.alerts, "slow", &(struct event_subject){ .name = "a" }));
	assert_int_equal(told(&fx, "alert"), 4);
	assert_int_equal(told(&fx, "alert-over"), 1);
	end(&fx);
}

static void trouble_is_an_alert_and_is_listed_under_its_old_key_too(void **state)
{
	struct fixture fx = begin();

	alert_raise(fx.alerts, "two-masters", NULL, "another is master too");
	trouble_set(fx.alerts, "http", "address in use");
	trouble_set(fx.alerts, "http", "address still in use");
	assert_int_equal(length(alerts_json(fx.alerts)), 2);
	assert_int_equal(length(troubles_json(fx.alerts)), 1);
	assert_member(alerts_json(fx.alerts), 1, "text", "http: address still in use");
	assert_member(troubles_json(fx.alerts), 0, "what", "http");
	assert_member(troubles_json(fx.alerts), 0, "error", "address still in use");
	assert_int_equal(told(&fx, "trouble"), 1);
	assert_string_equal(trouble_error(fx.alerts, "http"), "address still in use");
	trouble_set(fx.alerts, "http", NULL);
	trouble_set(fx.alerts, "http", NULL);
	assert_int_equal(told(&fx, "trouble-over"), 1);
	assert_int_equal(length(troubles_json(fx.alerts)), 0);
	end(&fx);
}

static void name_that_is_not_utf8_is_shown_all_the_same(void **state)
{
	struct fixture fx = begin();

	alert_raise(fx.alerts, "silent", &(struct event_subject){ .name = "sw\xff" }, "%s: silent",
		    "sw\xff");
	assert_int_equal(length(alerts_json(fx.alerts)), 1);
	assert_member(alerts_json(fx.alerts), 0, "text", "sw.: silent");
	end(&fx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alert_raised_again_is_one_event_with_the_newest_text),
		cmocka_unit_test(alerts_of_one_kind_are_told_apart_by_their_subject),
		cmocka_unit_test(an_alert_of_a_device_is_named_by_its_guid),
		cmocka_unit_test(the_ports_of_an_alert_are_those_of_the_latest_time),
		cmocka_unit_test(an_alert_is_about_its_ports_and_who_is_behind_them),
		cmocka_unit_test(since_is_when_it_began),
		cmocka_unit_test(review_ends_what_was_not_found_again),
		cmocka_unit_test(trouble_is_an_alert_and_is_listed_under_its_old_key_too),
		cmocka_unit_test(name_that_is_not_utf8_is_shown_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
