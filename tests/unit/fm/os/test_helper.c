/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The helper runs what the configuration names, with FMD_* alone, whatever the daemon asks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fm/os/helper.h"

#define PATIENCE_US 20000000
#define TEXT(s)	    s, sizeof(s) /* with the zero that ends the last */

struct world {
	char folder[64], program[128], conf_path[128];
	struct conf conf;
	struct loop *loop;
	struct loop_timer *patience;
	struct helper *helper;
	int ended, error, status;
};

static void give_up(void *arg)
{
	struct world *w = arg;

	loop_stop(w->loop);
}

static void ended_cb(void *arg, int error, int status)
{
	struct world *w = arg;

	w->ended++;
	w->error = error;
	w->status = status;
	loop_stop(w->loop);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	assert_int_equal(chmod(path, mode), 0);
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	char err[256];

	strcpy(w->folder, "/tmp/fmd-helper-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	snprintf(w->program, sizeof(w->program), "%s/hook", w->folder);
	snprintf(w->conf_path, sizeof(w->conf_path), "%s/fmd.conf", w->folder);
	write_file(
		w->program,
		"#!/bin/sh\nenv | grep -Ev '^(PWD|OLDPWD|SHLVL|_)=' | wc -l >${0}.count\nexit 3\n",
		0755);
	conf_default(&w->conf);
	strcpy(w->conf.hosts.hook, w->program);
	w->helper = helper_start(&w->conf, w->conf_path, NULL, err, sizeof(err));
	assert_non_null(w->helper);
	w->loop = loop_new();
	w->patience = loop_timer_new(w->loop, give_up, w);
	helper_attach(w->helper, w->loop);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;
	char command[128];

	loop_timer_free(w->patience);
	helper_end(w->helper);
	loop_free(w->loop);
	snprintf(command, sizeof(command), "rm -r %s", w->folder);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

static void run(struct world *w, enum helper_program program, const char *text, size_t len)
{
	int before = w->ended;

	assert_non_null(helper_start_program(w->helper, program, text, len, -1, ended_cb, w));
	loop_timer_set(w->patience, PATIENCE_US);
	loop_run(w->loop);
	assert_int_equal(w->ended, before + 1);
}

static void test_a_hook_runs_and_its_end_is_reported(void **state)
{
	struct world *w = *state;
	char path[160];
	FILE *in;
	int variables = 0;

	run(w, HELPER_HOST_HOOK, TEXT("FMD_HOST=a\0FMD_STATE=ILL"));
	assert_int_equal(w->error, 0);
	assert_int_equal(WEXITSTATUS(w->status), 3);
	snprintf(path, sizeof(path), "%s.count", w->program);
	in = fopen(path, "re");
	assert_non_null(in);
	assert_int_equal(fscanf(in, "%d", &variables), 1);
	fclose(in);
	assert_int_equal(variables, 3); /* PATH, beside the two */
}

static void test_what_a_program_prints_goes_where_the_daemon_says(void **state)
{
	struct world *w = *state;
	char text[200];
	int fds[2];

	write_file(w->program, "#!/bin/sh\necho $FMD_JOBS\necho error >&2\n", 0755);
	snprintf(text, sizeof(text), "job_command = \"%s\";\n", w->program);
	write_file(w->conf_path, text, 0600);
	assert_int_equal(helper_configure(w->helper), 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_non_null(helper_start_program(w->helper, HELPER_JOB_COMMAND, TEXT("FMD_JOBS=1"),
					     fds[1], ended_cb, w));
	close(fds[1]);
	loop_timer_set(w->patience, PATIENCE_US);
	loop_run(w->loop);
	assert_int_equal(w->error, 0);
	assert_int_equal(read(fds[0], text, sizeof(text)), 2);
	assert_memory_equal(text, "1\n", 2);
	assert_int_equal(read(fds[0], text, sizeof(text)), 0); /* the helper has closed its end */
	close(fds[0]);
}

/* As the kernel does it when there is no memory; what it ran is reported as lost. */
static void test_a_helper_that_is_killed_is_replaced(void **state)
{
	struct world *w = *state;
	char path[64];
	int pid = 0, worker = 0;
	FILE *in;

	write_file(w->program, "#!/bin/sh\nkill -9 $PPID\n", 0755);
	for (int i = 0; i < 2; i++) {
		run(w, HELPER_HOST_HOOK, TEXT("FMD_HOST=a"));
		assert_int_equal(w->error, EPIPE);
		assert_false(helper_is_gone(w->helper));
	}
	write_file(w->program, "#!/bin/sh\nexit 3\n", 0755);
	run(w, HELPER_HOST_HOOK, TEXT("FMD_HOST=a"));
	assert_int_equal(w->error, 0);
	assert_int_equal(WEXITSTATUS(w->status), 3);

	/* Without the one that replaces it there is none. */
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	in = fopen(path, "re");
	assert_int_equal(fscanf(in, "%d", &pid), 1);
	fclose(in);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	in = fopen(path, "re");
	assert_int_equal(fscanf(in, "%d", &worker), 1);
	fclose(in);
	assert_int_equal(kill(pid, SIGKILL), 0);
	for (int i = 0; i < 1000 && !helper_is_gone(w->helper); i++) {
		loop_timer_set(w->patience, PATIENCE_US / 1000);
		loop_run(w->loop);
	}
	assert_true(helper_is_gone(w->helper));
}

static void test_no_other_program_or_variable_gets_in(void **state)
{
	struct world *w = *state;
	static const struct {
		enum helper_program program;
		const char *text;
		size_t len;
		int error;
	} rows[] = {
		{ HELPER_NVSWITCH_HOOK, TEXT("FMD_HOST=a"), ENOENT }, /* none is configured */
		{ HELPER_PROGRAMS, TEXT("FMD_HOST=a"), ENOENT },
		{ (enum helper_program) - 1, TEXT("FMD_HOST=a"), ENOENT },
		{ HELPER_HOST_HOOK, TEXT("LD_PRELOAD=/tmp/x.so"), EINVAL },
		{ HELPER_HOST_HOOK, TEXT("FMD_HOST=a\0PATH=/tmp"), EINVAL },
		{ HELPER_HOST_HOOK, TEXT("FMD_HOST"), EINVAL },
		{ HELPER_HOST_HOOK, TEXT("FMD_x()=() { :; }"), EINVAL },
		{ HELPER_HOST_HOOK, "FMD_HOST=a", 10, EINVAL }, /* without its end */
		{ HELPER_HOST_HOOK, "", 0, EINVAL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		run(w, rows[i].program, rows[i].text, rows[i].len);
		assert_int_equal(w->error, rows[i].error);
	}
	run(w, HELPER_HOST_HOOK, TEXT("FMD_HOST=a"));
	assert_int_equal(w->error, 0);
}

static void test_the_file_says_which_hook_runs(void **state)
{
	struct world *w = *state;
	char text[256];

	assert_int_equal(helper_configure(w->helper), -EINVAL); /* no file: what it had stays */
	run(w, HELPER_HOST_HOOK, TEXT("FMD_HOST=a"));
	assert_int_equal(WEXITSTATUS(w->status), 3);
	snprintf(text, sizeof(text), "nvswitch_hook = \"/bin/true\";\n");
	write_file(w->conf_path, text, 0600);
	assert_int_equal(helper_configure(w->helper), 0);
	run(w, HELPER_NVSWITCH_HOOK, TEXT("FMD_HOST=a"));
	assert_int_equal(w->error, 0);
	assert_int_equal(w->status, 0);
	run(w, HELPER_HOST_HOOK, TEXT("FMD_HOST=a"));
	assert_int_equal(w->error, ENOENT);
}

static void test_one_that_is_stopped_is_killed_and_not_reported(void **state)
{
	struct world *w = *state;
	struct helper_run *run_one;

	write_file(w->program, "#!/bin/sh\nsleep 600\n", 0755);
	run_one = helper_start_program(w->helper, HELPER_HOST_HOOK, TEXT("FMD_HOST=a"), -1,
				       ended_cb, w);
	assert_non_null(run_one);
	helper_stop(run_one);
	write_file(w->program, "#!/bin/sh\nexit 0\n", 0755);
	run(w, HELPER_HOST_HOOK, TEXT("FMD_HOST=a"));
	assert_int_equal(w->ended, 1);
}

static void test_a_socket_is_bound_to_ports_of_the_configuration_alone(void **state)
{
	struct world *w = *state;
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_port = htons(25);
	assert_int_equal(helper_bind(w->helper, fd, (void *)&at, sizeof(at)), -EACCES);
	at.sin_port = 0;
	assert_int_equal(helper_bind(w->helper, fd, (void *)&at, sizeof(at)), -EACCES);
	assert_int_equal(helper_bind(w->helper, fd, (void *)&at, 2), -EACCES);
	write_file(w->conf_path, "http_listen = \"127.0.0.1:47\";\n", 0600);
	assert_int_equal(helper_configure(w->helper), 0);
	at.sin_port = htons(47);
	at.sin_addr.s_addr = htonl(0x7f000000 | (getpid() & 0xffffff)); /* nobody else's */
	if (!geteuid())
		assert_int_equal(helper_bind(w->helper, fd, (void *)&at, sizeof(at)), 0);
	close(fd);
}

/* ---- Descriptors for the next daemon --------------------------------------------------------- */

static int pipe_end(int *other)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	*other = ends[1];
	return ends[0];
}

/* What goes into `to` comes out of the descriptor that was kept. */
static void assert_joined(int from, int to)
{
	char byte = 0;

	assert_true(from >= 0);
	assert_int_equal(write(to, "x", 1), 1);
	assert_int_equal(read(from, &byte, 1), 1);
	assert_int_equal(byte, 'x');
	close(from);
}

/* A daemon with that state_dir keeps descriptors by these names, and is killed. */
static void keep_and_die(struct world *w, const int *fds, const char *const *names, unsigned count)
{
	char err[256];
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct helper *helper =
			helper_start(&w->conf, w->conf_path, NULL, err, sizeof(err));

		for (unsigned i = 0; i < count; i++)
			if (helper_keep(helper, names[i], fds[i]))
				_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void test_what_a_killed_daemon_kept_is_there_for_the_next_one(void **state)
{
	struct world *w = *state;
	int to[2], from[2];
	const char *const names[] = { "one", "two" };

	strcpy(w->conf.state_dir, w->folder);
	helper_end(w->helper);
	from[0] = pipe_end(&to[0]);
	from[1] = pipe_end(&to[1]);
	keep_and_die(w, from, names, 2);
	w->helper = helper_start(&w->conf, w->conf_path, NULL, (char[256]){ 0 }, 256);
	assert_joined(helper_take(w->helper, "two"), to[1]);
	assert_joined(helper_take(w->helper, "two"), to[1]); /* it is kept on */
	assert_int_equal(helper_take(w->helper, "three"), -ENOENT);
	assert_int_equal(helper_keep(w->helper, "", -1), 0); /* nobody took the other */
	assert_int_equal(helper_take(w->helper, "one"), -ENOENT);
	assert_int_equal(helper_keep(w->helper, "two", -1), 0);
	assert_int_equal(helper_take(w->helper, "two"), -ENOENT);
	for (unsigned i = 0; i < 2; i++) {
		close(from[i]);
		close(to[i]);
	}
	helper_attach(w->helper, w->loop);
}

static void test_nothing_is_kept_of_a_daemon_that_has_ended(void **state)
{
	struct world *w = *state;
	int to, from = pipe_end(&to);

	strcpy(w->conf.state_dir, w->folder);
	helper_end(w->helper);
	w->helper = helper_start(&w->conf, w->conf_path, NULL, (char[256]){ 0 }, 256);
	assert_int_equal(helper_keep(w->helper, "one", from), 0);
	close(from);
	helper_end(w->helper);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(write(to, "x", 1), -1); /* no copy is left: EPIPE */
	close(to);
	w->helper = helper_start(&w->conf, w->conf_path, NULL, (char[256]){ 0 }, 256);
	assert_int_equal(helper_take(w->helper, "one"), -ENOENT);
	helper_attach(w->helper, w->loop);
}

static void test_more_than_there_is_room_for_is_refused(void **state)
{
	struct world *w = *state;
	int to, from = pipe_end(&to);
	char name[8];
	int status = 0;

	strcpy(w->conf.state_dir, w->folder);
	helper_end(w->helper);
	w->helper = helper_start(&w->conf, w->conf_path, NULL, (char[256]){ 0 }, 256);
	for (unsigned i = 0; i < 100 && !status; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		status = helper_keep(w->helper, name, from);
	}
	assert_int_equal(status, -ENOSPC);
	close(from);
	close(to);
	helper_attach(w->helper, w->loop);
}

/* ---- Delivery: no helper is there, so every try fails; time is simulated --------------------- */

struct delivery {
	struct loop *loop;
	struct hook *hook;
	struct loop_timer *stop;
	unsigned tries;
	uint64_t at_s[16];
};

static void tried_cb(void *arg, const char *host, const char *error)
{
	struct delivery *d = arg;

	assert_non_null(error);
	assert_true(d->tries < 16);
	d->at_s[d->tries++] = loop_now_us(d->loop) / 1000000;
}

static void delivery_stop(void *arg)
{
	loop_stop(((struct delivery *)arg)->loop);
}

static void delivery_begin(struct delivery *d)
{
	*d = (struct delivery){ .loop = loop_new_simulated() };
	d->hook = hook_new(d->loop, HELPER_HOST_HOOK, tried_cb, d);
	d->stop = loop_timer_new(d->loop, delivery_stop, d);
	hook_configure(d->hook, "/bin/false", 1000, true);
}

static void delivery_end(struct delivery *d)
{
	hook_free(d->hook);
	loop_timer_free(d->stop);
	loop_free(d->loop);
}

static void delivery_pass(struct delivery *d, unsigned seconds)
{
	loop_timer_set(d->stop, seconds * 1000000ull);
	loop_run(d->loop);
}

static void delivery_call(struct delivery *d, const char *host, const char *from, const char *to)
{
	hook_run(d->hook, &(struct hook_call){ .host = host, .state = to, .old_state = from });
}

static void a_hook_that_fails_is_tried_again_after_10_s_up_to_5_min(void **state)
{
	static const unsigned after_s[] = { 0, 10, 30, 70, 150, 310, 610, 910 };
	struct delivery d;
	uint64_t began_s;

	delivery_begin(&d);
	began_s = loop_now_us(d.loop) / 1000000;
	delivery_call(&d, "a", "HEALTHY", "NO_P2P");
	delivery_pass(&d, 1000);
	assert_int_equal(d.tries, 8);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(d.at_s[i] - began_s, after_s[i]);
	assert_string_equal(hook_owed(d.hook, "a"), "HEALTHY");
	assert_null(hook_owed(d.hook, "b"));
	assert_string_equal(hook_failing(d.hook, 0), "a");
	assert_null(hook_failing(d.hook, 1));
	hook_configure(d.hook, "", 1000, true);
	assert_null(hook_failing(d.hook, 0));
	delivery_end(&d);
}

/* The try that failed may have drained the node, so its recovery is reported. */
static void a_newer_change_replaces_what_failed_and_is_tried_at_once(void **state)
{
	struct delivery d;

	delivery_begin(&d);
	delivery_call(&d, "a", "HEALTHY", "NO_P2P");
	delivery_pass(&d, 5);
	assert_int_equal(d.tries, 1);
	delivery_call(&d, "a", "NO_P2P", "HEALTHY");
	delivery_pass(&d, 1);
	assert_int_equal(d.tries, 2);
	assert_string_equal(hook_owed(d.hook, "a"), "NO_P2P");
	delivery_pass(&d, 5);
	assert_int_equal(d.tries, 2);
	delivery_end(&d);
}

static void held_hooks_are_kept_and_what_is_over_by_then_is_not_run(void **state)
{
	struct delivery d;

	delivery_begin(&d);
	hook_hold(d.hook, true);
	delivery_call(&d, "a", "HEALTHY", "NO_P2P");
	delivery_call(&d, "b", "HEALTHY", "FATAL");
	delivery_pass(&d, 100);
	assert_int_equal(d.tries, 0);
	delivery_call(&d, "b", "FATAL", "HEALTHY");
	hook_hold(d.hook, false);
	delivery_pass(&d, 1);
	assert_int_equal(d.tries, 1);
	assert_null(hook_owed(d.hook, "b"));
	delivery_end(&d);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_hook_runs_and_its_end_is_reported),
		TEST(test_what_a_program_prints_goes_where_the_daemon_says),
		TEST(test_a_helper_that_is_killed_is_replaced),
		TEST(test_no_other_program_or_variable_gets_in),
		TEST(test_the_file_says_which_hook_runs),
		TEST(test_one_that_is_stopped_is_killed_and_not_reported),
		TEST(test_a_socket_is_bound_to_ports_of_the_configuration_alone),
		TEST(test_what_a_killed_daemon_kept_is_there_for_the_next_one),
		TEST(test_nothing_is_kept_of_a_daemon_that_has_ended),
		TEST(test_more_than_there_is_room_for_is_refused),
		cmocka_unit_test(a_hook_that_fails_is_tried_again_after_10_s_up_to_5_min),
		cmocka_unit_test(a_newer_change_replaces_what_failed_and_is_tried_at_once),
		cmocka_unit_test(held_hooks_are_kept_and_what_is_over_by_then_is_not_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
