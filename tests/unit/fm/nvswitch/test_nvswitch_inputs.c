/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the monitor hears by, when some of it can't be opened: on a real loop, with addresses and
 * files of the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "fm/nvswitch/state_monitor.h"
#include "topology/base/mem.h"

#define RETRY_US   2000
#define LOOK_US	   1000
#define PATIENCE   60000 /* looks: far more than any of this takes */
#define SENDERS	   150
#define COLLECTORS 48
#define LINES	   200 /* a collector */
#define ROUND_LOOK 50  /* .. and enough of them for some retries */
#define FAULT	   "nvidia-nvswitch0: SXid (PCI:0000:85:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"

struct fixture {
	char dir[64], none[96], hosts[96], listen[80];
	struct loop *loop;
	struct loop_timer *look;
	struct nvswitch *nv;
	struct conf_nvswitch conf;
	uint64_t retry_us;
	struct event_log *events;
	struct alerts *alerts;
	unsigned looks, sent;
	bool (*until)(const struct fixture *f);
	bool met;
};

static void changed_cb(void *arg, const char *host, enum nvswitch_state state)
{
}

static void keep_cb(void *arg, bool memories)
{
}

static void states_changed_cb(void *arg)
{
}

/* How many troubles began, or ended ("trouble-over"). */
static unsigned told(const struct fixture *f, const char *kind)
{
	json_t *all = event_log_json(f->events, 64), *event;
	unsigned count = 0;
	size_t i;

	json_array_foreach (all, i, event)
		count += !strcmp(json_string_value(json_object_get(event, "kind")), kind);
	json_decref(all);
	return count;
}

static bool has_trouble(const struct fixture *f, const char *what)
{
	return trouble_error(f->alerts, what);
}

static unsigned troubles(const struct fixture *f)
{
	json_t *all = troubles_json(f->alerts);
	unsigned count = json_array_size(all);

	json_decref(all);
	return count;
}

static void look_cb(void *arg)
{
	struct fixture *f = arg;

	f->met = f->until(f);
	if (f->met || ++f->looks == PATIENCE)
		loop_stop(f->loop);
	else
		loop_timer_set(f->look, LOOK_US);
}

static void run_until(struct fixture *f, bool (*until)(const struct fixture *f))
{
	f->until = until;
	f->looks = 0;
	loop_timer_set(f->look, 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_true(f->met);
}

static bool looked_often(const struct fixture *f)
{
	return f->looks >= ROUND_LOOK;
}

static json_int_t log_lines(const struct fixture *f)
{
	json_t *summary = nvswitch_summary(f->nv);
	json_int_t lines =
		json_integer_value(json_object_get(json_object_get(summary, "logs"), "lines"));

	json_decref(summary);
	return lines;
}

static bool heard_a_line(const struct fixture *f)
{
	return log_lines(f) > 0;
}

static bool heard_all(const struct fixture *f)
{
	return log_lines(f) == f->sent;
}

static bool heard_more(const struct fixture *f)
{
	return log_lines(f) > f->sent;
}

static bool second_is_ill(const struct fixture *f)
{
	return nvswitch_believed(nvswitch_host(f->nv, "bmc-02")) == NVSWITCH_NO_P2P;
}

static bool all_is_well(const struct fixture *f)
{
	return !troubles(f);
}

/* A socket that another process listens on is left alone. */
static int hold(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* Of this machine. */
static void say(const struct fixture *f)
{
	static const char line[] = "<3>kernel: " FAULT "\n";
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", f->listen);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(write(fd, line, sizeof(line) - 1), sizeof(line) - 1);
	close(fd);
}

static void write_hosts(const struct fixture *f, const char *text)
{
	FILE *out = fopen(f->hosts, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static int configure(struct fixture *f)
{
	char err[512] = "";

	return nvswitch_configure(f->nv, &f->conf, f->retry_us, err);
}

static int set_up(void **state)
{
	static const struct nvswitch_ops ops = { changed_cb, keep_cb, states_changed_cb };
	struct fixture *f = mem_alloc(1, sizeof(*f));

	log_set_level(-1, LOG_ERR);
	strcpy(f->dir, "/tmp/fmd-test-inputs-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->none, sizeof(f->none), "%s/none", f->dir);
	snprintf(f->hosts, sizeof(f->hosts), "%s/hosts", f->dir);
	snprintf(f->listen, sizeof(f->listen), "%s/log.sock", f->dir);
	f->loop = loop_new();
	f->look = loop_timer_new(f->loop, look_cb, f);
	f->events = event_log_new(64);
	f->alerts = alerts_new(f->loop, f->events);
	f->nv = nvswitch_new(f->loop, f->alerts, f->events, &ops, f);
	f->conf = (struct conf_nvswitch){ .poll_interval_ms = 3600 * 1000,
					  .timeout_ms = 1000,
					  .hook_timeout_ms = 1000,
					  .body_limit = 64,
					  .guard = 100 };
	f->retry_us = RETRY_US;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	nvswitch_free(f->nv);
	alerts_free(f->alerts);
	event_log_free(f->events);
	loop_timer_free(f->look);
	loop_free(f->loop);
	unlink(f->listen);
	unlink(f->hosts);
	rmdir(f->dir);
	free(f);
	return 0;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void a_socket_that_is_taken_leaves_the_other_inputs_working(void **state)
{
	struct fixture *f = *state;
	int other = hold(f->listen);

	write_hosts(f, "node-1 http://127.0.0.1:9/metrics\n");
	strcpy(f->conf.hosts_file, f->hosts);
	strcpy(f->conf.log_socket, f->listen);
	assert_int_equal(configure(f), 0);
	assert_int_equal(troubles(f), 1);
	assert_true(has_trouble(f, "nvswitch: log socket"));
	run_until(f, looked_often);
	assert_int_equal(told(f, "trouble"), 1); /* once, however often it was tried */
	close(other);
	run_until(f, all_is_well);
	assert_int_equal(told(f, "trouble-over"), 1);
	say(f);
	run_until(f, heard_a_line);
}

/* A line without an end counts when its connection ends; those silent longest make room. */
static void more_collectors_than_there_is_room_for_lose_no_line(void **state)
{
	static const char line[] =
		"<3>node-1 kernel: nvidia-nvswitch0: SXid (PCI:0000:85:00.0): 20034, Fatal, Link 3";
	struct fixture *f = *state;
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	strcpy(f->conf.log_socket, f->listen);
	assert_int_equal(configure(f), 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", f->listen);
	for (f->sent = 0; f->sent < SENDERS; f->sent++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
		assert_int_equal(write(fd, line, strlen(line)), strlen(line));
		if (f->sent % 2)
			assert_int_equal(write(fd, "\n", 1), 1);
		else
			close(fd);
	}
	run_until(f, heard_all);
}

static void while_a_fault_waits_few_of_the_lines_that_have_come_are_read(void **state)
{
	static const char line[] = "<3>May  1 00:00:00 node-1 kernel: nothing\n";
	struct fixture *f = *state;
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fds[COLLECTORS];

	strcpy(f->conf.log_socket, f->listen);
	assert_int_equal(configure(f), 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", f->listen);
	for (unsigned i = 0; i < COLLECTORS; i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		assert_int_equal(connect(fds[i], (struct sockaddr *)&at, sizeof(at)), 0);
		assert_int_equal(write(fds[i], line, strlen(line)), strlen(line));
	}
	f->sent = COLLECTORS;
	run_until(f, heard_all);
	loop_busy_add(f->loop, 1);
	for (unsigned i = 0; i < COLLECTORS; i++)
		for (unsigned j = 0; j < LINES; j++)
			assert_int_equal(write(fds[i], line, strlen(line)), strlen(line));
	run_until(f, heard_more);
	assert_in_range(log_lines(f), COLLECTORS + LINES, COLLECTORS * LINES / 4);
	loop_busy_add(f->loop, -1);
	f->sent += COLLECTORS * LINES;
	run_until(f, heard_all);
	for (unsigned i = 0; i < COLLECTORS; i++)
		close(fds[i]);
}

static void list_of_hosts_that_comes_late_is_read_then(void **state)
{
	struct fixture *f = *state;
	json_t *summary;

	strcpy(f->conf.log_socket, f->listen);
	strcpy(f->conf.hosts_file, f->hosts);
	assert_int_equal(configure(f), 0);
	assert_true(has_trouble(f, "nvswitch: exporters"));
	say(f);
	run_until(f, heard_a_line);
	write_hosts(f, "node-1 ftp://wrong/\n");
	run_until(f, looked_often);
	assert_true(has_trouble(f, "nvswitch: exporters"));
	write_hosts(f, "node-1 http://127.0.0.1:9/metrics\n");
	run_until(f, all_is_well);
	summary = nvswitch_summary(f->nv);
	assert_int_equal(json_integer_value(json_object_get(summary, "sources")), 1);
	json_decref(summary);
}

static void the_summary_says_which_input_is_not_open_and_why(void **state)
{
	struct fixture *f = *state;
	json_t *summary;
	const char *error;

	strcpy(f->conf.log_journal, f->none);
	strcpy(f->conf.log_socket, f->listen);
	assert_int_equal(configure(f), 0);
	summary = nvswitch_summary(f->nv);
	assert_true(json_is_false(json_object_get(json_object_get(summary, "inputs"), "journal")));
	assert_true(
		json_is_true(json_object_get(json_object_get(summary, "inputs"), "log socket")));
	assert_null(json_object_get(json_object_get(summary, "inputs"), "exporters"));
	error = json_string_value(
		json_object_get(json_object_get(summary, "input_errors"), "journal"));
	assert_non_null(error);
	assert_non_null(strstr(error, "No such file"));
	json_decref(summary);
}

static void later_configuration_is_taken_whole_or_not_at_all(void **state)
{
	struct fixture *f = *state;

	strcpy(f->conf.log_socket, f->listen);
	assert_int_equal(configure(f), 0);
	strcpy(f->conf.hosts_file, f->hosts); /* is not there */
	assert_int_equal(configure(f), -1);
	strcpy(f->conf.hosts_file, "");
	snprintf(f->conf.log_socket, sizeof(f->conf.log_socket), "%s/x", f->none);
	assert_int_equal(configure(f), -1);
	assert_int_equal(troubles(f), 0);
	say(f);
	run_until(f, heard_a_line); /* by what was in force */
	strcpy(f->conf.log_socket, f->listen);
	assert_int_equal(configure(f), 0);
	assert_int_equal(log_lines(f), 1); /* it stayed open */
}

static void input_that_was_not_open_before_refuses_no_other_change(void **state)
{
	struct fixture *f = *state;

	strcpy(f->conf.log_journal, f->none);
	assert_int_equal(configure(f), 0);
	strcpy(f->conf.log_socket, f->listen);
	assert_int_equal(configure(f), 0);
	assert_int_equal(troubles(f), 1);
	strcpy(f->conf.log_journal, "");
	assert_int_equal(configure(f), 0);
	assert_int_equal(troubles(f), 0);
}

/* ---- Journals -------------------------------------------------------------------------------- */

#define WRITER "/lib/systemd/systemd-journal-remote"

/* As a host uploads it; false = there is no systemd-journal-remote here. */
static bool upload(const struct fixture *f, const char *host, const char *message)
{
	char command[512];
	FILE *out;

	snprintf(command, sizeof(command), WRITER " -o %s/remote.journal - 2>/dev/null >&2",
		 f->none);
	out = access(WRITER, X_OK) ? NULL : popen(command, "w");
	if (!out)
		return false;
	fprintf(out,
		"__REALTIME_TIMESTAMP=1721720000000000\n__MONOTONIC_TIMESTAMP=1\n"
		"_BOOT_ID=00112233445566778899aabbccddeeff\n_TRANSPORT=kernel\n"
		"_HOSTNAME=%s\nMESSAGE=%s\n\n",
		host, message);
	assert_int_equal(pclose(out), 0);
	return true;
}

static void journals_of_other_machines_are_read_from_their_end_on(void **state)
{
	static const char *const present[] = { "bmc-01", "bmc-02" };
	struct fixture *f = *state;
	char command[128];

	assert_int_equal(mkdir(f->none, 0700), 0);
	if (upload(f, "bmc-01", FAULT)) {
		strcpy(f->conf.log_journal, f->none);
		assert_int_equal(configure(f), 0);
		assert_int_equal(troubles(f), 0);
		nvswitch_present(f->nv, present, 2);
		assert_true(upload(f, "bmc-02", FAULT));
		run_until(f, second_is_ill);
		assert_int_equal(nvswitch_believed(nvswitch_host(f->nv, "bmc-01")),
				 NVSWITCH_HEALTHY);
		assert_int_equal(log_lines(f), 1);
	}
	snprintf(command, sizeof(command), "rm -rf %s", f->none);
	assert_int_equal(system(command), 0);
}

static json_int_t strangers(const struct fixture *f)
{
	json_t *summary = nvswitch_summary(f->nv);
	json_int_t count =
		json_integer_value(json_object_get(json_object_get(summary, "logs"), "strangers"));

	json_decref(summary);
	return count;
}

/* The file of hosts' other names may come late too; a name in two of its lines is refused. */
static void names_of_a_file_are_known_in_logs(void **state)
{
	static const char *const present[] = { "dgx-01", "dgx-02" };
	struct fixture *f = *state;
	char own[256], text[512];

	assert_int_equal(gethostname(own, sizeof(own)), 0);
	strcpy(f->conf.log_socket, f->listen); /* lines are of this machine */
	strcpy(f->conf.alias_file, f->hosts);
	assert_int_equal(configure(f), 0);
	assert_true(has_trouble(f, "nvswitch: aliases"));
	nvswitch_present(f->nv, present, 2);
	say(f);
	run_until(f, heard_a_line);
	assert_int_equal(strangers(f), 1);
	snprintf(text, sizeof(text), "dgx-01 10.0.0.1\ndgx-02 %s 10.0.0.1\n", own);
	write_hosts(f, text);
	run_until(f, looked_often);
	assert_true(has_trouble(f, "nvswitch: aliases"));
	snprintf(text, sizeof(text), "# other names\ndgx-01 10.0.0.1\ndgx-02 bmc-02 %s\n", own);
	write_hosts(f, text);
	run_until(f, all_is_well);
	say(f);
	run_until(f, second_is_ill);
	assert_int_equal(strangers(f), 1);
	assert_int_equal(nvswitch_believed(nvswitch_host(f->nv, "dgx-01")), NVSWITCH_HEALTHY);
}

static void nothing_is_tried_again_without_an_interval(void **state)
{
	struct fixture *f = *state;

	strcpy(f->conf.hosts_file, f->hosts);
	f->retry_us = 0;
	assert_int_equal(configure(f), 0);
	write_hosts(f, "node-1 http://127.0.0.1:9/metrics\n");
	run_until(f, looked_often);
	assert_int_equal(troubles(f), 1);
}

static void files_of_a_configuration_are_checked_beforehand(void **state)
{
	struct fixture *f = *state;
	char err[512] = "", expected[256];

	strcpy(f->conf.hosts_file, f->hosts);
	assert_int_equal(nvswitch_check(&f->conf, err), -1);
	write_hosts(f, "# none\nnode-1 http://a/ h100\nnode-2 http://b/ h300\n");
	assert_int_equal(nvswitch_check(&f->conf, err), -1);
	snprintf(expected, sizeof(expected), "%s:3: unknown system", f->hosts);
	assert_memory_equal(err, expected, strlen(expected));
	write_hosts(f, "node-1 http://a/ h100\n");
	assert_int_equal(nvswitch_check(&f->conf, err), 0);
	strcpy(f->conf.hook, f->hosts); /* no program */
	assert_int_equal(nvswitch_check(&f->conf, err), -1);
	strcpy(f->conf.hook, "/bin/true");
	strcpy(f->conf.ca_file, f->none); /* is not there */
	assert_int_equal(nvswitch_check(&f->conf, err), -1);
	strcpy(f->conf.hosts_file, "");
	assert_int_equal(nvswitch_check(&f->conf, err), 0);
}

/* Its end is no line of its own. */
static void a_line_of_any_length_is_one_line(void **state)
{
	struct fixture *f = *state;
	char err[512] = "", text[9000];

	for (unsigned blanks = 1000; blanks <= 8200; blanks += 3600) {
		snprintf(text, sizeof(text), "node-1 http://a/\n# none%*snode-2 http b\n", blanks,
			 "");
		write_hosts(f, text);
		strcpy(f->conf.hosts_file, f->hosts);
		assert_int_equal(nvswitch_check(&f->conf, err), 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_socket_that_is_taken_leaves_the_other_inputs_working),
		TEST(while_a_fault_waits_few_of_the_lines_that_have_come_are_read),
		TEST(more_collectors_than_there_is_room_for_lose_no_line),
		TEST(list_of_hosts_that_comes_late_is_read_then),
		TEST(the_summary_says_which_input_is_not_open_and_why),
		TEST(later_configuration_is_taken_whole_or_not_at_all),
		TEST(input_that_was_not_open_before_refuses_no_other_change),
		TEST(journals_of_other_machines_are_read_from_their_end_on),
		TEST(names_of_a_file_are_known_in_logs),
		TEST(nothing_is_tried_again_without_an_interval),
		TEST(files_of_a_configuration_are_checked_beforehand),
		TEST(a_line_of_any_length_is_one_line),
	};

	return cmocka_run_group_tests_name("nvswitch_inputs", tests, NULL, NULL);
}
