/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Operators' acts and questions at the control socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/control_world.h"

static void status_is_served(struct fixture *f)
{
	say(f, "{\"cmd\":\"status\"}\n");
	answers(f, "{\"ok\":true,\"result\":{\"state\":\"master\"}}");
}

static void cordon_is_an_operation_with_an_argument(void **state)
{
	struct fixture *f = *state;

	f->fabric.instant = true;
	say(f, "{\"cmd\":\"cordon\"}\n{\"cmd\":\"cordon\",\"args\":{\"what\":\"leaf-1\"}}\n");
	answers(f, "{\"ok\":false,\"error\":\"arguments: Object item not found: what\"}");
	answers(f, "{\"ok\":true,\"result\":{\"blocks\":7}}");
	assert_string_equal(f->fabric.cordoned, "leaf-1");
	assert_true(f->fabric.cordon_on);
	say(f, "{\"cmd\":\"uncordon\",\"args\":{\"what\":\"leaf-2\"}}\n");
	answers(f, "{\"ok\":true,\"result\":{\"blocks\":7}}");
	assert_string_equal(f->fabric.cordoned, "leaf-2");
	assert_false(f->fabric.cordon_on);
}

static void unhealthy_links_are_shown_and_released(void **state)
{
	struct fixture *f = *state;

	f->fabric.instant = true;
	say(f, "{\"cmd\":\"links\",\"args\":{\"sick\":true}}\n");
	answers(f, "{\"ok\":true,\"result\":[{\"sick\":\"quarantined\"}]}");
	say(f, "{\"cmd\":\"release\"}\n{\"cmd\":\"release\",\"args\":{\"what\":\"leaf-1:9\"}}\n");
	answers(f, "{\"ok\":false,\"error\":\"arguments: Object item not found: what\"}");
	answers(f, "{\"ok\":true,\"result\":{\"blocks\":7}}");
	assert_string_equal(f->fabric.cordoned, "leaf-1:9");
}

/* However many links are sick, the loop writes none of their rows. */
static void health_that_was_read_is_written_by_a_child(void **state)
{
	struct fixture *f = *state;
	json_t *answer, *result;

	f->fabric.instant = true;
	answer = ask_control(f, "{\"cmd\":\"health\",\"args\":{\"read\":true}}\n");
	assert_int_equal(f->fabric.acts, 1);
	result = json_object_get(answer, "result");
	assert_true(json_is_array(json_object_get(result, "links")));
	assert_int_not_equal(json_integer_value(json_object_get(result, "process")), getpid());
	json_decref(answer);
}

static void a_reading_that_failed_has_no_answer(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"health\",\"args\":{\"read\":true}}\n");
	run_round(f);
	finish_operation(&f->fabric, NULL, "no");
	answers(f, "{\"ok\":false,\"error\":\"no\"}");
}

static void a_manual_override_of_a_host_is_an_operation(void **state)
{
	struct fixture *f = *state;

	f->fabric.instant = true;
	say(f, "{\"cmd\":\"nvswitch\"}\n"
	       "{\"cmd\":\"nvswitch-set\",\"args\":{\"host\":\"dgx-01\",\"state\":\"FATAL\"}}\n");
	answers(f, "{\"ok\":true,\"result\":{\"hosts\":[]}}");
	answers(f, "{\"ok\":true,\"result\":{\"blocks\":7}}");
	assert_string_equal(f->fabric.cordoned, "dgx-01 FATAL");
	say(f, "{\"cmd\":\"nvswitch-set\",\"args\":{\"host\":\"dgx-01\"}}\n"
	       "{\"cmd\":\"nvswitch-set\"}\n");
	answers(f, "{\"ok\":true,\"result\":{\"blocks\":7}}");
	answers(f, "{\"ok\":false,\"error\":\"arguments: Object item not found: host\"}");
	assert_string_equal(f->fabric.cordoned, "dgx-01 as it is");
}

static void whatif_fails_cables_in_a_copy(void **state)
{
	struct fixture *f = *state;
	json_t *answer =
		ask_control(f, "{\"cmd\":\"whatif\",\"args\":{\"fail\":[\"leaf-1:2\"]}}\n");
	json_t *result = json_object_get(answer, "result");

	assert_int_equal(json_integer_value(json_object_get(result, "links_failed")), 1);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(result, "proof"), "reachable")),
		2);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(result, "delta"), "entries")),
		1);
	assert_true(topo_port(f->fabric.topo, 0, 2)->link_up);
	json_decref(answer);
}

static void whatif_refuses_what_is_not_there(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"whatif\",\"args\":{\"fail\":[\"leaf-1:4\"]}}\n"
	       "{\"cmd\":\"whatif\",\"args\":{\"cordon\":[\"leaf-1\"]}}\n"
	       "{\"cmd\":\"whatif\",\"args\":{\"fail\":\"leaf-1\"}}\n"
	       "{\"cmd\":\"whatif\",\"args\":{\"cordon\":[7]}}\n");
	answers(f, "{\"ok\":false,\"error\":\"leaf-1:4: there is no such link\"}");
	answers(f, "{\"ok\":false,\"error\":\"leaf-1: there is no such link\"}");
	answers(f, "{\"ok\":false,\"error\":\"arguments: a list of names is expected\"}");
	answers(f, "{\"ok\":false,\"error\":\"arguments: a name must be text\"}");
}

static void whatif_takes_hosts_for_degraded(void **state)
{
	struct fixture *f = *state;
	json_t *answer = ask_control(
		f, "{\"cmd\":\"whatif\",\"args\":{\"nvswitch\":[\"host-1=NO_P2P\"]}}\n");
	json_t *rows = json_object_get(json_object_get(answer, "result"), "nvswitch");

	assert_int_equal(json_array_size(rows), 1);
	json_decref(answer);
	say(f, "{\"cmd\":\"whatif\",\"args\":{\"nvswitch\":[\"moon=FATAL\"]}}\n");
	answers(f, "{\"ok\":false,\"error\":\"no host there: moon=FATAL\"}");
	answer = ask_control(f, "{\"cmd\":\"whatif\",\"args\":{\"fail\":[\"leaf-1:2\"]}}\n");
	assert_null(json_object_get(json_object_get(answer, "result"), "nvswitch"));
	json_decref(answer);
}

static void happen(struct fixture *f, int n)
{
	json_t *event = json_pack("{s:i}", "seq", n);

	f->fabric.event_fn(f->fabric.event_arg, event);
	json_decref(event);
}

static void follower_gets_each_event_as_it_happens(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"follow\",\"args\":{\"count\":2}}\n{\"cmd\":\"status\"}\n");
	answers(f, "{\"ok\":true,\"result\":[0,1]}");
	happen(f, 2);
	happen(f, 3);
	answers(f, "{\"event\":{\"seq\":2}}");
	answers(f, "{\"event\":{\"seq\":3}}");
	close(f->fd);
	for (unsigned i = 0; i < PATIENCE && f->fabric.event_fn; i++)
		run_round(f);
	assert_null(f->fabric.event_fn);
	f->fd = dial(f->path);
	status_is_served(f);
}

static void follower_that_does_not_read_is_dropped_with_a_last_line(void **state)
{
	struct fixture *f = *state;
	char *line = NULL;
	int seen = 0;

	say(f, "{\"cmd\":\"follow\"}\n");
	free(hear_until(f, '\n'));
	for (int n = 0; n < 200000; n++) {
		happen(f, n);
		if (n % 1000 == 0)
			run_round(f);
	}
	do {
		free(line);
		line = hear_until(f, '\n');
		seen += strstr(line, "\"event\"") != NULL;
	} while (strstr(line, "\"event\""));
	assert_non_null(strstr(line, "not read fast enough"));
	free(line);
	assert_true(seen > 1000 && seen < 100000);
	assert_true(hear_end(f));
	assert_null(f->fabric.event_fn);
}

static void follow_with_wrong_arguments_is_refused_and_goes_on(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"follow\",\"args\":{\"count\":-1}}\n");
	answers(f, "{\"ok\":false,\"error\":\"count is not in 0..10000\"}");
	assert_null(f->fabric.event_fn);
	status_is_served(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(whatif_fails_cables_in_a_copy),
		TEST(whatif_refuses_what_is_not_there),
		TEST(whatif_takes_hosts_for_degraded),
		TEST(follower_gets_each_event_as_it_happens),
		TEST(follower_that_does_not_read_is_dropped_with_a_last_line),
		TEST(follow_with_wrong_arguments_is_refused_and_goes_on),
		TEST(cordon_is_an_operation_with_an_argument),
		TEST(a_manual_override_of_a_host_is_an_operation),
		TEST(unhealthy_links_are_shown_and_released),
		TEST(health_that_was_read_is_written_by_a_child),
		TEST(a_reading_that_failed_has_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
