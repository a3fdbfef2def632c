/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The control socket against a fabric made of three hosts on a switch: requests and answers,
 * answers from a child, acts that take a while, clients that misbehave or leave, and the socket's
 * file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/control_world.h"

/* ---- Requests and answers ---- */

static void status_is_answered_in_one_line(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"status\"}\n");
	answers(f, "{\"ok\":true,\"result\":{\"state\":\"master\"}}");
}

static void line_in_two_pieces_is_one_request(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"sta");
	run_round(f);
	say(f, "tus\",\"args\":{}}\n");
	answers(f, "{\"ok\":true,\"result\":{\"state\":\"master\"}}");
}

static void bad_requests_are_refused_and_the_connection_goes_on(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"frobnicate\"}\n{\"cmd\":\"status\",\"args\":[]}\n{\"cmd\":\"status\","
	       "\"x\":1}\n");
	answers(f, "{\"ok\":false,\"error\":\"unknown command frobnicate\"}");
	answers(f, "{\"ok\":false,\"error\":\"invalid request: args is not an object\"}");
	answers(f,
		"{\"ok\":false,\"error\":\"invalid request: 1 object item(s) left unpacked: x\"}");
	say(f, "{\"cmd\":\"events\",\"args\":{\"count\":\"many\"}}\n{\"cmd\":\"events\",\"args\":{"
	       "\"count\":-1}}\n");
	answers(f, "{\"ok\":false,\"error\":\"arguments: Expected integer, got string\"}");
	answers(f, "{\"ok\":false,\"error\":\"count is not in 0..10000\"}");
	say(f, "garbage\n{\"cmd\":\"status\"}\n");
	free(hear_until(f, '\n'));
	answers(f, "{\"ok\":true,\"result\":{\"state\":\"master\"}}");
}

/*
 * An act that takes long: the client that asked for it hears that fmd lives, one that did not hears
 * the answer alone.
 */
static void a_client_that_asks_for_progress_gets_it(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"sweep\",\"progress\":true}\n");
	answers(f, "{\"progress\":true}");
	finish_operation(&f->fabric, NULL, NULL);
	answers(f, "{\"ok\":true,\"result\":{}}");
	say(f, "{\"cmd\":\"status\"}\n");
	answers(f, "{\"ok\":true,\"result\":{\"state\":\"master\"}}");
}

static void pictures_are_refused_before_the_first_sweep(void **state)
{
	struct fixture *f = *state;
	struct topo *kept = f->fabric.topo;

	f->fabric.topo = NULL;
	say(f, "{\"cmd\":\"nodes\"}\n{\"cmd\":\"lft\",\"args\":{\"switch\":\"leaf-1\"}}\n");
	answers(f,
		"{\"ok\":false,\"error\":\"no topology yet: the first sweep has not finished\"}");
	answers(f,
		"{\"ok\":false,\"error\":\"no topology yet: the first sweep has not finished\"}");
	f->fabric.topo = kept;
}

static void line_without_an_end_is_refused_and_hung_up(void **state)
{
	struct fixture *f = *state;
	static char blanks[70000];

	memset(blanks, ' ', sizeof(blanks));
	assert_true(send(f->fd, blanks, sizeof(blanks), MSG_NOSIGNAL | MSG_DONTWAIT) > 65536);
	answers(f, "{\"ok\":false,\"error\":\"invalid request: the line is too long\"}");
	assert_true(hear_end(f));
}

static void path_names_every_hop(void **state)
{
	struct fixture *f = *state;
	json_t *answer = ask_control(
		f, "{\"cmd\":\"path\",\"args\":{\"from\":\"host-1\",\"to\":\"host-3\"}}\n");
	json_t *hop = item(answer, "hops", 1);

	assert_string_equal(json_string_value(json_object_get(item(answer, "hops", 0), "name")),
			    "host-1");
	assert_string_equal(json_string_value(json_object_get(hop, "name")), "leaf-1");
	assert_int_equal(json_integer_value(json_object_get(hop, "in_port")), 1);
	assert_int_equal(json_integer_value(json_object_get(hop, "out_port")), 3);
	assert_string_equal(json_string_value(json_object_get(hop, "speed")), "NDR");
	assert_string_equal(json_string_value(json_object_get(item(answer, "hops", 2), "name")),
			    "host-3");
	assert_null(item(answer, "hops", 3));
	json_decref(answer);
	say(f, "{\"cmd\":\"path\",\"args\":{\"from\":\"host-1\"}}\n");
	answers(f, "{\"ok\":false,\"error\":\"arguments: Object item not found: to\"}");
}

static void check_gives_the_proof(void **state)
{
	struct fixture *f = *state;
	json_t *answer = ask_control(f, "{\"cmd\":\"check\"}\n");
	json_t *proof = json_object_get(json_object_get(answer, "result"), "proof");

	assert_int_equal(json_integer_value(json_object_get(proof, "reachable")), 6);
	json_decref(answer);
}

static void check_and_path_are_of_what_is_in_force(void **state)
{
	struct fixture *f = *state;
	json_t *answer;

	f->fabric.pairs_waiting = 4;
	answer = ask_control(f, "{\"cmd\":\"check\"}\n");
	assert_int_equal(json_integer_value(json_object_get(
				 json_object_get(json_object_get(answer, "result"), "in_force"),
				 "pairs_waiting")),
			 4);
	json_decref(answer);
	say(f, "{\"cmd\":\"path\",\"args\":{\"from\":\"host-1\",\"to\":\"host-3\"}}\n");
	answers(f, "{\"ok\":false,\"error\":\"no route from host-1 to host-3: leaf-1 takes no "
		   "Sets\"}");
	f->fabric.pairs_waiting = 0;
}

static void reload_that_fails_says_why(void **state)
{
	struct fixture *f = *state;

	f->reload_error = "fmd.conf:3: unknown key x";
	say(f, "{\"cmd\":\"reload\"}\n");
	answers(f, "{\"ok\":false,\"error\":\"fmd.conf:3: unknown key x\"}");
	f->reload_error = NULL;
	say(f, "{\"cmd\":\"reload\"}\n");
	answers(f, "{\"ok\":true,\"result\":{}}");
}

static void log_level_must_exist(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"loglevel\",\"args\":{\"level\":\"loud\"}}\n"
	       "{\"cmd\":\"loglevel\",\"args\":{\"level\":\"info\",\"module\":\"moon\"}}\n"
	       "{\"cmd\":\"loglevel\",\"args\":{\"level\":\"info\",\"module\":\"mad\"}}\n");
	answers(f, "{\"ok\":false,\"error\":\"unknown level loud: error, warning, notice, info or "
		   "debug is expected\"}");
	answers(f, "{\"ok\":false,\"error\":\"unknown module moon: core, mad, sweep, route, "
		   "program, sa, sm, trap, nvswitch, control are the modules\"}");
	answers(f, "{\"ok\":true,\"result\":{\"module\":\"mad\",\"level\":\"info\"}}");
}

/* ---- Children ---- */

static void long_answer_comes_from_a_child(void **state)
{
	struct fixture *f = *state;
	json_t *answer = ask_control(f, "{\"cmd\":\"lft\",\"args\":{\"switch\":\"leaf-1\"}}\n");
	json_t *last = item(answer, "entries", HOSTS);

	assert_int_equal(json_integer_value(json_object_get(last, "lid")), HOSTS + 1);
	assert_int_equal(json_integer_value(json_object_get(last, "port")), HOSTS);
	assert_string_equal(json_string_value(json_object_get(last, "to")), "host-3");
	assert_null(item(answer, "entries", HOSTS + 1));
	json_decref(answer);
}

static void groups_are_all_or_the_one_that_is_named(void **state)
{
	static const char *const names[] = { "0xC001", "FF12:401b:ffff::2" };
	struct fixture *f = *state;
	json_t *answer = ask_control(f, "{\"cmd\":\"groups\"}\n");

	assert_int_equal(json_array_size(json_object_get(answer, "result")), 2);
	json_decref(answer);
	for (unsigned i = 0; i < 2; i++) {
		char request[128];
		json_t *list;

		snprintf(request, sizeof(request),
			 "{\"cmd\":\"groups\",\"args\":{\"group\":\"%s\"}}\n", names[i]);
		answer = ask_control(f, request);
		list = json_object_get(answer, "result");
		assert_int_equal(json_array_size(list), 1);
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(list, 0), "mlid")),
			"0xc001");
		json_decref(answer);
	}
	say(f, "{\"cmd\":\"groups\",\"args\":{\"group\":\"0xc002\"}}\n");
	answers(f, "{\"ok\":false,\"error\":\"no multicast group 0xc002\"}");
}

static void partitions_are_all_or_the_one_that_is_named(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"partitions\"}\n");
	answers(f, "{\"ok\":true,\"result\":[{\"name\":\"tenant-a\",\"pkey\":\"0x0001\"}]}");
	say(f, "{\"cmd\":\"partitions\",\"args\":{\"partition\":\"tenant-a\"}}\n");
	answers(f, "{\"ok\":true,\"result\":[{\"name\":\"tenant-a\",\"pkey\":\"0x0001\"}]}");
	say(f, "{\"cmd\":\"partitions\",\"args\":{\"partition\":\"tenant-b\"}}\n");
	answers(f, "{\"ok\":false,\"error\":\"no partition tenant-b\"}");
}

static void answers_keep_the_order_of_the_requests(void **state)
{
	struct fixture *f = *state;
	char *line;

	f->fabric.instant = true;
	say(f, "{\"cmd\":\"lft\",\"args\":{\"switch\":\"leaf-1\"}}\n{\"cmd\":\"reroute\"}\n"
	       "{\"cmd\":\"status\"}\n{\"cmd\":\"lft\",\"args\":{\"switch\":\"nowhere\"}}\n");
	line = hear_until(f, '\n');
	assert_non_null(strstr(line, "entries"));
	free(line);
	answers(f, "{\"ok\":true,\"result\":{\"blocks\":7}}");
	answers(f, "{\"ok\":true,\"result\":{\"state\":\"master\"}}");
	line = hear_until(f, '\n');
	assert_non_null(strstr(line, "\"ok\":false"));
	free(line);
}

static void dump_text_is_whole_and_ends_with_a_nul(void **state)
{
	struct fixture *f = *state;
	char *text, *line;
	unsigned entries = 0;

	say(f, "{\"cmd\":\"dump\",\"args\":{\"file\":\"opensm-lfts.dump\"}}\n");
	answers(f, "{\"ok\":true,\"result\":{\"follows\":\"text\"}}");
	text = hear_until(f, '\0');
	for (line = text; (line = strchr(line, '\n')); line++)
		entries += !strncmp(line + 1, "0x", 2);
	assert_int_equal(entries, BIG_TOP);
	assert_string_equal(text + strlen(text) - strlen("40000 lids dumped\n"),
			    "40000 lids dumped\n");
	free(text);
	say(f, "{\"cmd\":\"dump\",\"args\":{\"file\":\"/etc/passwd\"}}\n");
	answers(f, "{\"ok\":false,\"error\":\"no dump file /etc/passwd\"}");
}

static void text_comes_between_what_was_asked_before_and_behind_it(void **state)
{
	struct fixture *f = *state;
	char *text;

	say(f, "{\"cmd\":\"status\"}\n"
	       "{\"cmd\":\"dump\",\"args\":{\"file\":\"opensm.fdbs\"},\"progress\":true}\n"
	       "{\"cmd\":\"status\"}\n");
	answers(f, "{\"ok\":true,\"result\":{\"state\":\"master\"}}");
	answers(f, "{\"ok\":true,\"result\":{\"follows\":\"text\"}}");
	text = hear_until(f, '\0');
	assert_null(strstr(text, "progress"));
	assert_non_null(strstr(text, "0x9C40 : "));
	free(text);
	answers(f, "{\"ok\":true,\"result\":{\"state\":\"master\"}}");
}

static void client_that_leaves_takes_its_child_along(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"dump\",\"args\":{\"file\":\"opensm-lfts.dump\"}}\n");
	answers(f, "{\"ok\":true,\"result\":{\"follows\":\"text\"}}");
	close(f->fd);
	run_round(f);
	f->fd = dial(f->path);
	say(f, "{\"cmd\":\"status\"}\n");
	f->len = 0;
	answers(f, "{\"ok\":true,\"result\":{\"state\":\"master\"}}");
}

static void slow_reader_does_not_hold_others(void **state)
{
	struct fixture *f = *state;
	int slow = f->fd;

	say(f, "{\"cmd\":\"dump\",\"args\":{\"file\":\"opensm-lfts.dump\"}}\n");
	run_round(f);
	f->fd = dial(f->path);
	say(f, "{\"cmd\":\"status\"}\n");
	answers(f, "{\"ok\":true,\"result\":{\"state\":\"master\"}}");
	close(slow);
}

/* ---- Acts ---- */

static void operation_is_answered_when_it_is_done(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"sweep\"}\n");
	run_round(f);
	assert_int_equal(f->fabric.acts, 1);
	assert_int_equal(hear(f), HEARD_NOTHING);
	finish_operation(&f->fabric, json_pack("{s:i}", "smps", 12), NULL);
	answers(f, "{\"ok\":true,\"result\":{\"smps\":12}}");
}

static void operation_that_fails_is_refused_with_its_reason(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"check\",\"args\":{\"readback\":true}}\n");
	run_round(f);
	assert_int_equal(f->fabric.acts, 1);
	finish_operation(&f->fabric, NULL, "the local port does not answer");
	answers(f, "{\"ok\":false,\"error\":\"the local port does not answer\"}");
}

static void standby_refuses_operations_and_pictures_and_says_who_is_master(void **state)
{
	struct fixture *f = *state;
	struct topo *kept = f->fabric.topo;

	f->fabric.refusal = "this subnet manager is standby; the master is mgmt-1";
	say(f, "{\"cmd\":\"reroute\"}\n");
	answers(f, "{\"ok\":false,\"error\":\"this subnet manager is standby; the master is "
		   "mgmt-1\"}");
	assert_int_equal(f->fabric.acts, 0);
	f->fabric.topo = NULL;
	say(f, "{\"cmd\":\"nodes\"}\n");
	answers(f, "{\"ok\":false,\"error\":\"this subnet manager is standby; the master is "
		   "mgmt-1\"}");
	f->fabric.topo = kept;
}

/* Nor do those that left count among the 32 that may be there. */
static void what_a_client_that_leaves_asked_for_continues(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 40; i++) {
		say(f, "{\"cmd\":\"reroute\"}\n");
		run_round(f);
		close(f->fd);
		run_round(f);
		f->fd = dial(f->path);
		if (i % 2)
			finish_operation(&f->fabric, json_object(), NULL);
	}
	assert_int_equal(f->fabric.acts, 40);
	say(f, "{\"cmd\":\"reroute\"}\n");
	run_round(f);
	finish_operation(&f->fabric, json_object(), NULL);
	answers(f, "{\"ok\":true,\"result\":{}}");
}

static void end_of_control_frees_clients_that_wait_and_those_that_left(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"reroute\"}\n");
	run_round(f);
	close(f->fd);
	run_round(f);
	f->fd = dial(f->path);
	say(f, "{\"cmd\":\"reroute\"}\n");
	run_round(f);
	control_free(f->control);
	f->control = NULL;
	assert_int_equal(access(f->path, F_OK), -1);
}

static void asker_that_only_stops_sending_is_answered(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"reroute\"}\n");
	shutdown(f->fd, SHUT_WR);
	run_round(f);
	run_round(f);
	finish_operation(&f->fabric, json_object(), NULL);
	answers(f, "{\"ok\":true,\"result\":{}}");
	assert_true(hear_end(f));
}

/* ---- The socket ---- */

static void client_too_many_gets_an_error(void **state)
{
	struct fixture *f = *state;
	int fds[CLIENTS], first = f->fd;

	run_round(f);
	for (unsigned i = 0; i < CLIENTS; i++) {
		fds[i] = dial(f->path);
		run_round(f);
	}
	f->fd = fds[CLIENTS - 1];
	answers(f, "{\"ok\":false,\"error\":\"too many clients\"}");
	close(first);
	for (unsigned i = 0; i < CLIENTS - 1; i++)
		close(fds[i]);
}

static void socket_is_for_owner_and_group(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
}

static void second_server_is_refused(void **state)
{
	struct fixture *f = *state;
	char err[256], expected[256];

	assert_null(open_control(f, err, sizeof(err)));
	snprintf(expected, sizeof(expected), "socket %s: another fmd uses it", f->path);
	assert_string_equal(err, expected);
	say(f, "{\"cmd\":\"status\"}\n");
	answers(f, "{\"ok\":true,\"result\":{\"state\":\"master\"}}");
}

static void dead_socket_file_is_replaced(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char err[256] = "";
	int dead = socket(AF_UNIX, SOCK_STREAM, 0);

	control_free(f->control);
	strcpy(addr.sun_path, f->path);
	assert_int_equal(bind(dead, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(dead);
	f->control = open_control(f, err, sizeof(err));
	assert_string_equal(err, "");
	close(f->fd);
	f->fd = dial(f->path);
}

static void file_that_is_no_socket_stays(void **state)
{
	struct fixture *f = *state;
	char err[256] = "", expected[256];

	control_free(f->control);
	f->control = NULL;
	fclose(fopen(f->path, "w"));
	assert_null(open_control(f, err, sizeof(err)));
	snprintf(expected, sizeof(expected),
		 "socket %s: a file with this name exists and is not a socket", f->path);
	assert_string_equal(err, expected);
	assert_int_equal(access(f->path, F_OK), 0);
}

#define TEST(name)     cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_BIG(name) cmocka_unit_test_setup_teardown(name, set_up_big, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(status_is_answered_in_one_line),
		TEST(line_in_two_pieces_is_one_request),
		TEST(bad_requests_are_refused_and_the_connection_goes_on),
		TEST(a_client_that_asks_for_progress_gets_it),
		TEST(pictures_are_refused_before_the_first_sweep),
		TEST(line_without_an_end_is_refused_and_hung_up),
		TEST(path_names_every_hop),
		TEST(check_gives_the_proof),
		TEST(check_and_path_are_of_what_is_in_force),
		TEST(reload_that_fails_says_why),
		TEST(log_level_must_exist),
		TEST(long_answer_comes_from_a_child),
		TEST(groups_are_all_or_the_one_that_is_named),
		TEST(partitions_are_all_or_the_one_that_is_named),
		TEST(answers_keep_the_order_of_the_requests),
		TEST_BIG(dump_text_is_whole_and_ends_with_a_nul),
		TEST_BIG(text_comes_between_what_was_asked_before_and_behind_it),
		TEST_BIG(client_that_leaves_takes_its_child_along),
		TEST_BIG(slow_reader_does_not_hold_others),
		TEST(operation_is_answered_when_it_is_done),
		TEST(operation_that_fails_is_refused_with_its_reason),
		TEST(standby_refuses_operations_and_pictures_and_says_who_is_master),
		TEST(what_a_client_that_leaves_asked_for_continues),
		TEST(end_of_control_frees_clients_that_wait_and_those_that_left),
		TEST(asker_that_only_stops_sending_is_answered),
		TEST(client_too_many_gets_an_error),
		TEST(socket_is_for_owner_and_group),
		TEST(second_server_is_refused),
		TEST(dead_socket_file_is_replaced),
		TEST(file_that_is_no_socket_stays),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
