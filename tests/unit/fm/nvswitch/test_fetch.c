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
#include "fm/nvswitch/intake_sources.h"

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
static const char *asked; /* the request, in the server */

/* Serves one connection in a child, which ends by itself. */
static pid_t serve(serve_fn *fn, uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one;
	static char request[4096];
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
	while (one >= 0 && (len = (socklen_t)read(one, request, sizeof(request) - 1)) > 0) {
		request[len] = '\0';
		asked = request;
		fn(one);
		close(one);
		one = accept(fd, NULL, NULL);
	}
	_exit(0);
}

/* credentials: with %u for the server's port, NULL = none; url: likewise. */
static struct got get_as(serve_fn *fn, const struct fetch_conf *with, const char *credentials,
			 const char *of)
{
	char path[] = "/tmp/fmd-test-fetch-XXXXXX";
	struct fetch_credentials as = { 0 };
	struct fetch_conf conf = *with;
	static const struct fetch_ops ops = { data_cb, done_cb };
	struct got got = { .loop = loop_new() };
	struct loop_timer *late = loop_timer_new(got.loop, late_cb, got.loop);
	char err[512], text[64];
	struct fetch *fetch;
	struct fetch_url url;
	uint16_t port;
	pid_t pid = serve(fn, &port);

	if (credentials) {
		int fd = mkstemp(path);

		dprintf(fd, credentials, port);
		close(fd);
	}
	assert_int_equal(fetch_load("key", err), 0);
	assert_int_equal(fetch_credentials_read(&as, credentials ? path : "", err), 0);
	conf.credentials = &as;
	fetch = fetch_new(got.loop, &conf);
	assert_non_null(fetch);
	unlink(path);
	snprintf(text, sizeof(text), of, port);
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

static struct got get(serve_fn *fn, const struct fetch_conf *conf)
{
	return get_as(fn, conf, NULL, "http://127.0.0.1:%u/metrics");
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

static void moved(int fd)
{
	if (!strncmp(asked, "GET /metrics ", 13))
		say(fd, "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n");
	else
		say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother");
}

static void moved_away(int fd)
{
	say(fd, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:1/\r\nContent-Length: 0\r\n"
		"\r\n");
}

static void moved_for_ever(int fd)
{
	say(fd, "HTTP/1.1 302 Found\r\nLocation: /metrics\r\nContent-Length: 0\r\n\r\n");
}

static void no_http(int fd)
{
	say(fd, "SSH-2.0-OpenSSH_9.2p1\r\n\r\n");
}

static void no_length(int fd)
{
	say(fd, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nhello");
}

static void bad_chunk(int fd)
{
	say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nhello");
}

static void header_without_end(int fd)
{
	char text[1024];

	memset(text, 'x', sizeof(text));
	say(fd, "HTTP/1.1 200 OK\r\nA: ");
	for (;;)
		write_all(fd, text, sizeof(text));
}

/* "hello" by gzip(1). */
static void packed(int fd)
{
	static const char body[] = "\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86"
				   "\xa6\x10\x36\x05\0\0\0";

	if (!strstr(asked, "gzip"))
		_exit(0);
	say(fd, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 25\r\n\r\n");
	write_all(fd, body, sizeof(body) - 1);
}

static void for_those_with_a_token(int fd)
{
	bool right = strstr(asked, "Authorization: Bearer secret\r\n");

	say(fd, right ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
		      : "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
}

static void for_users(int fd)
{
	bool right = strstr(asked, "Authorization: Basic Zm1kOnBhc3M6d29yZA==\r\n");

	say(fd, right ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
		      : "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
}

static void as_a_proxy(int fd)
{
	bool right = !strncmp(asked, "GET http://host.invalid:9400/metrics ", 37);

	say(fd, right ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
		      : "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
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
	assert_string_not_equal(get(hangs_up, &conf).error, "");
	assert_non_null(strstr(get(cut_off, &conf).error, "bytes remaining"));
	assert_non_null(strstr(get(no_http, &conf).error, "HTTP/0.9"));
	assert_string_not_equal(get(bad_chunk, &conf).error, "");
	assert_string_not_equal(get(header_without_end, &conf).error, "");
	assert_int_equal(get(no_length, &conf).length, 5);
}

static void redirects_are_followed_within_a_host_and_no_further(void **state)
{
	const struct fetch_conf conf = { .timeout_ms = 60000, .connect_ms = 30000, .ca_file = "" };
	struct got got = get(moved, &conf);

	assert_string_equal(got.error, "");
	assert_int_equal(got.length, 5);
	assert_non_null(strstr(get(moved_away, &conf).error, "HTTP 302: redirects"));
	assert_non_null(strstr(get(moved_for_ever, &conf).error, "HTTP 302"));
}

static void names_are_resolved_on_the_loop(void **state)
{
	const struct fetch_conf conf = { .timeout_ms = 60000, .connect_ms = 30000, .ca_file = "" };

	assert_string_equal(get_as(packed, &conf, NULL, "http://localhost:%u/metrics").error, "");
}

static void compressed_answers_are_read_and_fmd_proves_itself_as_it_is_told(void **state)
{
	static const char url[] = "http://127.0.0.1:%u/metrics";
	const struct fetch_conf conf = { .timeout_ms = 60000, .connect_ms = 30000, .ca_file = "" };
	char err[512];

	assert_int_equal(get(packed, &conf).length, 5);
	assert_string_equal(get(for_users, &conf).error, "HTTP 401");
	assert_string_equal(get_as(for_users, &conf, "basic fmd:pass:word\n", url).error, "");
	assert_string_equal(get_as(for_those_with_a_token, &conf, "bearer secret\n", url).error,
			    "");
	assert_string_equal(get_as(as_a_proxy, &conf, "proxy http://127.0.0.1:%u\n",
				   "http://host.invalid:9400/metrics")
				    .error,
			    "");
	for (unsigned i = 0; i < 3; i++) {
		static const char *const wrong[] = { "bearer\n", "user a:b\n",
						     "proxy http://proxy:3128\n" };
		struct fetch_credentials c;
		char path[] = "/tmp/fmd-test-fetch-XXXXXX";
		int fd = mkstemp(path);

		dprintf(fd, "%s", wrong[i]);
		close(fd);
		assert_int_equal(fetch_credentials_read(&c, path, err), -1);
		assert_non_null(strstr(err, i < 2 ? "expected" : "numeric"));
		unlink(path);
	}
}

/* The time for an answer may be no longer than that for a connection. */
static void a_slow_answer_is_no_missing_connection(void **state)
{
	const struct fetch_conf quick = { .timeout_ms = 300, .connect_ms = 1000, .ca_file = "" };
	const struct fetch_conf slow = { .timeout_ms = 900, .connect_ms = 600, .ca_file = "" };

	assert_non_null(strstr(get(mute, &quick).error, "Operation timed out after 3"));
	assert_non_null(strstr(get(mute, &slow).error, "Operation timed out after 9"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chunk_of_twenty_megabytes_is_not_gathered),
		cmocka_unit_test(a_bound_of_bytes_counts_where_there_is_one),
		cmocka_unit_test(each_kind_of_end_is_reported_as_such),
		cmocka_unit_test(redirects_are_followed_within_a_host_and_no_further),
		cmocka_unit_test(names_are_resolved_on_the_loop),
		cmocka_unit_test(compressed_answers_are_read_and_fmd_proves_itself_as_it_is_told),
		cmocka_unit_test(a_slow_answer_is_no_missing_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
