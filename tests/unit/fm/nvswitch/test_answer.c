/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* HTTP answers in pieces of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/intake_fetch.h"

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

struct read {
	struct answer a;
	char body[256];
	size_t used;
};

static void feed(struct read *r, const char *data, size_t len)
{
	while (len && !r->a.done && !r->a.fault) {
		const char *body;
		size_t body_len, taken = answer_feed(&r->a, data, len, &body, &body_len);

		assert_in_range(taken, 1, len);
		if (body_len) {
			assert_in_range(r->used + body_len, 1, sizeof(r->body));
			assert_true(body >= data && body + body_len <= data + len);
			memcpy(r->body + r->used, body, body_len);
			r->used += body_len;
		}
		data += taken;
		len -= taken;
	}
}

static struct read read_in_pieces(const char *text, size_t piece)
{
	size_t len = strlen(text);
	struct read r = { 0 };

	answer_init(&r.a);
	for (size_t at = 0; at < len; at += piece) {
		char *copy = malloc(piece); /* of its own, so that a read beyond it is seen */
		size_t part = len - at < piece ? len - at : piece;

		memcpy(copy, text + at, part);
		feed(&r, copy, part);
		free(copy);
	}
	answer_end(&r.a);
	return r;
}

static void a_body_is_the_same_however_it_comes(void **state)
{
	static const char *const whole[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nhello 1and what comes behind it",
		"HTTP/1.0 200 OK\r\nServer: x\r\n\r\nhello 1",
		"HTTP/1.1 200 OK\ntransfer-encoding:  Chunked \n\n3\nhel\n4\nlo 1\n0\n\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nhello 1",
		CHUNKED "7;ext=1\r\nhello 1\r\n0\r\nTrailer: yes\r\n\r\n",
		CHUNKED "1\r\nh\r\n000006\r\nello 1\r\n0\r\n\r\n",
	};

	for (unsigned i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		for (size_t piece = 1; piece < 80; piece++) {
			struct read r = read_in_pieces(whole[i], piece);

			if (r.a.fault)
				fail_msg("%u, pieces of %zu: %s", i, piece, r.a.fault);
			assert_true(r.a.done);
			assert_int_equal(r.a.code, 200);
			assert_int_equal(r.used, 7);
			assert_memory_equal(r.body, "hello 1", 7);
		}
}

static void errors_are_reported_however_the_answer_is_split(void **state)
{
	static const struct {
		const char *text, *fault;
	} wrong[] = {
		{ "", "the answer is truncated" },
		{ "hello there, who are you\r\n", "the answer is not HTTP" },
		{ "HTTP/1.1 2x0 OK\r\n", "the answer is not HTTP" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello 1",
		  "the answer is truncated" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		  "the answer's length is not a number" },
		{ "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
		  "the answer has an encoding that was not requested" },
		{ CHUNKED "7\r\nhello 1\r\n", "the answer is truncated" },
		{ CHUNKED "x\r\n", "a chunk's size is not a number" },
		{ CHUNKED "3\r\nhello 1\r\n", "a chunk is longer than its size" },
		{ CHUNKED "fffffffffffffffff\r\n", "a chunk's size is not a number" },
	};

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		for (size_t piece = 1; piece < 80; piece += 13) {
			struct read r = read_in_pieces(wrong[i].text, piece);

			assert_false(r.a.done);
			assert_string_equal(r.a.fault, wrong[i].fault);
		}
}

static void headers_have_a_bound(void **state)
{
	size_t len = ANSWER_HEADERS + 64;
	char *text = malloc(len + 1);
	struct read r;

	memset(text, 'y', len);
	text[len] = '\0';
	memcpy(text, "HTTP/1.1 200 OK\r\nX: ", 20);
	r = read_in_pieces(text, 1000);
	assert_string_equal(r.a.fault, "the headers are too long");
	r = read_in_pieces(text, len);
	assert_string_equal(r.a.fault, "the headers are too long");
	free(text);
}

static void a_code_without_a_body_is_whole(void **state)
{
	struct read r = read_in_pieces("HTTP/1.1 204 No Content\r\n\r\n", 5);

	assert_true(r.a.done);
	assert_int_equal(r.a.code, 204);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_is_the_same_however_it_comes),
		cmocka_unit_test(errors_are_reported_however_the_answer_is_split),
		cmocka_unit_test(headers_have_a_bound),
		cmocka_unit_test(a_code_without_a_body_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
