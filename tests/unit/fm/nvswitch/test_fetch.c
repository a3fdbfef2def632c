/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain and sanitized. Peak memory is judged. */
/* HTTP GETs on a real loop, of a server in a process of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fm/nvswitch/intake_fetch.h"

#define BIG	    (20u << 20)
#define PIECE_KB    64
#define PATIENCE_US 60000000

struct got {
	struct loop *loop;
	size_t length, longest; /* of the body, of a piece */
	bool done;
	char error[128];
};

static const char *data_cb(void *arg, const char *data, size_t len)
{
	struct got *got = arg;

	got->length += len;
	got->longest = len > got->longest ? len : got->longest;
	return NULL;
}

static void done_cb(void *arg, const char *error, const char *address)
{
	struct got *got = arg;

	got->done = true;
	snprintf(got->error, sizeof(got->error), "%s", error ? error : "");
	loop_stop(got->loop);
}

static void late_cb(void *arg)
{
	loop_stop(arg);
}

typedef void serve_fn(int fd);

/* Serves one connection in a child, which ends by itself. */
static pid_t serve(serve_fn *fn, uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one;
	char request[4096];
	pid_t pid;

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	pid = fork();
	if (pid) {
		close(fd);
		return pid;
	}
	signal(SIGPIPE, SIG_IGN);
	one = accept(fd, NULL, NULL);
	if (read(one, request, sizeof(request)) > 0)
		fn(one);
	_exit(0);
}

static struct got get(serve_fn *fn, const struct fetch_conf *conf)
{
	static const struct fetch_ops ops = { data_cb, done_cb };
	struct got got = { .loop = loop_new() };
	struct loop_timer *late = loop_timer_new(got.loop, late_cb, got.loop);
	char err[128], text[64];
	struct fetch *fetch = fetch_new(got.loop, conf, err, sizeof(err));
	struct fetch_url url;
	uint16_t port;
	pid_t pid = serve(fn, &port);

	snprintf(text, sizeof(text), "http://127.0.0.1:%u/metrics", port);
	assert_int_equal(fetch_url_parse(text, &url), 0);
	fetch_get(fetch, &url, NULL, &ops, &got);
	loop_timer_set(late, PATIENCE_US);
	assert_int_equal(loop_run(got.loop), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	loop_timer_free(late);
	fetch_free(fetch);
	loop_free(got.loop);
	assert_true(got.done);
	return got;
}

static void write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t wrote = write(fd, data, len);

		if (wrote <= 0)
			_exit(0);
		data += wrote;
		len -= (size_t)wrote;
	}
}

static void say(int fd, const char *text)
{
	write_all(fd, text, strlen(text));
}

/* As Go's server sends what was written to it at one go. */
static void one_big_chunk(int fd)
{
	char *body = malloc(BIG), size[32];

	memset(body, 'x', BIG);
	say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	snprintf(size, sizeof(size), "%x\r\n", BIG);
	say(fd, size);
	write_all(fd, body, BIG);
	say(fd, "\r\n0\r\n\r\n");
}

static void mute(int fd)
{
	pause();
}

static void sick(int fd)
{
	say(fd, "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 22\r\n\r\ninternal server "
		"error\n");
}

static void hangs_up(int fd)
{
}

static void cut_off(int fd)
{
	say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhello");
}

static long peak_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void a_chunk_of_twenty_megabytes_is_not_gathered(void **state)
{
	const struct fetch_conf conf = { .timeout_ms = 60000, .connect_ms = 30000, .ca_file = "" };
	long before;
	struct got got;

	get(sick, &conf); /* what is made once */
	before = peak_kb();
	got = get(one_big_chunk, &conf);
	assert_string_equal(got.error, "");
	assert_int_equal(got.length, BIG);
	assert_in_range(got.longest, 1, PIECE_KB << 10); /* of a step of the loop */
	assert_in_range(peak_kb() - before, 0, 2048);
}

static void a_bound_of_bytes_counts_where_there_is_one(void **state)
{
	const struct fetch_conf conf = {
		.timeout_ms = 60000, .connect_ms = 30000, .body_max = 1 << 20, .ca_file = ""
	};

	assert_string_equal(get(one_big_chunk, &conf).error, "the answer is too long");
}

static void each_kind_of_end_is_reported_as_such(void **state)
{
	const struct fetch_conf conf = { .timeout_ms = 60000, .connect_ms = 30000, .ca_file = "" };

	assert_string_equal(get(sick, &conf).error, "HTTP 500");
	assert_string_equal(get(hangs_up, &conf).error, "the answer is truncated");
	assert_string_equal(get(cut_off, &conf).error, "the answer is truncated");
}

/* The time for an answer may be no longer than that for a connection. */
static void a_slow_answer_is_no_missing_connection(void **state)
{
	const struct fetch_conf quick = { .timeout_ms = 300, .connect_ms = 1000, .ca_file = "" };
	const struct fetch_conf slow = { .timeout_ms = 900, .connect_ms = 600, .ca_file = "" };

	assert_string_equal(get(mute, &quick).error, "no whole answer within 300 ms");
	assert_string_equal(get(mute, &slow).error, "no whole answer within 900 ms");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chunk_of_twenty_megabytes_is_not_gathered),
		cmocka_unit_test(a_bound_of_bytes_counts_where_there_is_one),
		cmocka_unit_test(each_kind_of_end_is_reported_as_such),
		cmocka_unit_test(a_slow_answer_is_no_missing_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
