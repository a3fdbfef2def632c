/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Frames between managers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/mirror/channel.h"
#include "topology/base/mem.h"

/* ---- Frames ---------------------------------------------------------------------------------- */

static char *encode(enum frame_type type, int seq, const char *body, size_t length, size_t *bytes)
{
	json_t *head = json_pack("{si}", "seq", seq);
	char *frame = frame_encode(type, head, body, length, bytes);

	json_decref(head);
	return frame;
}

static void assert_next(struct frame_reader *r, enum frame_type type, int seq, const char *body,
			size_t length)
{
	struct frame frame;

	assert_int_equal(frame_next(r, &frame), FRAME_READ);
	assert_int_equal(frame.type, type);
	assert_int_equal(json_integer_value(json_object_get(frame.head, "seq")), seq);
	assert_int_equal(frame.length, length);
	assert_memory_equal(frame.body, body, length);
	json_decref(frame.head);
	frame_done(r);
}

/* Who may send short frames only is not given room for a long one. */
static void a_frame_longer_than_it_may_be_is_none(void **state)
{
	size_t length;
	char *bytes = encode(FRAME_ROWS, 1, "body", 4, &length);
	struct frame_reader r = { .most = length - 4 };
	struct frame frame;

	assert_int_equal(frame_expected(&r), 0);
	bytes_add(&r.in, bytes, length - 1);
	assert_int_equal(frame_expected(&r), length);
	assert_int_equal(frame_next(&r, &frame), FRAME_NONE);
	r.most--;
	assert_int_equal(frame_next(&r, &frame), FRAME_BAD);
	frame_reader_fini(&r);
	free(bytes);
}

/* Whatever the pieces that they arrive in. */
static void frames_come_as_they_were_sent(void **state)
{
	const char body[] = "two\nlines\0and a zero";
	size_t first_length, second_length;
	char *first = encode(FRAME_ROWS, 1, body, sizeof(body), &first_length);
	char *second = encode(FRAME_PING, 2, NULL, 0, &second_length);
	char *both = mem_alloc(first_length + second_length, 1);

	memcpy(both, first, first_length);
	memcpy(both + first_length, second, second_length);
	for (size_t piece = 1; piece <= first_length + second_length; piece++) {
		struct frame_reader r = { 0 };
		struct frame frame;
		size_t fed = 0;

		while (fed < first_length) {
			assert_int_equal(frame_next(&r, &frame), FRAME_NONE);
			bytes_add(&r.in, both + fed,
				  piece < first_length - fed ? piece : first_length - fed);
			fed += piece < first_length - fed ? piece : first_length - fed;
		}
		bytes_add(&r.in, both + first_length, second_length);
		assert_next(&r, FRAME_ROWS, 1, body, sizeof(body));
		assert_next(&r, FRAME_PING, 2, "", 0);
		assert_int_equal(frame_next(&r, &frame), FRAME_NONE);
		frame_reader_fini(&r);
	}
	free(both);
	free(first);
	free(second);
}

/* The beginning of a frame of that length, whose object has so many bytes and may go on. */
static enum frame_read begin(char type, uint32_t length, size_t object, bool ends)
{
	struct frame_reader r = { 0 };
	struct frame frame;
	char *bytes = mem_alloc(object + 8, 1);
	enum frame_read got;

	memset(bytes, ' ', object + 5);
	for (unsigned i = 0; i < 4; i++)
		bytes[i] = (char)(length >> (24 - 8 * i));
	bytes[4] = type;
	memcpy(bytes + 5, "{}", 2);
	bytes[5 + object] = '\n';
	bytes_add(&r.in, bytes, 5 + object + ends);
	got = frame_next(&r, &frame);
	if (got == FRAME_READ)
		json_decref(frame.head);
	frame_reader_fini(&r);
	free(bytes);
	return got;
}

/* Only what carries rows is long, and of that only the body: what is parsed is bounded. */
static void an_object_is_bounded_whatever_the_frame_may_be(void **state)
{
	const size_t most = FRAME_HEAD_MOST;

	assert_int_equal(begin('K', FRAME_MOST, most - 1, true), FRAME_NONE);
	assert_int_equal(begin('K', FRAME_MOST, most - 1, false), FRAME_NONE);
	assert_int_equal(begin('K', FRAME_MOST, most, false), FRAME_BAD);
	assert_int_equal(begin('K', FRAME_MOST, most, true), FRAME_BAD);
	assert_int_equal(begin('R', (uint32_t)most, most - 2, true), FRAME_READ);
	assert_int_equal(begin('R', (uint32_t)most + 1, 0, false), FRAME_BAD);
	assert_int_equal(begin('Z', (uint32_t)most + 1, 0, false), FRAME_BAD);
}

static void what_is_no_frame_is_bad(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} rows[] = {
		{ "\0\0\0\0", 4 },	   /* no type */
		{ "\0\0\0\1P", 5 },	   /* no object */
		{ "\xff\xff\xff\xff", 4 }, /* longer than any */
		{ "\0\0\0\4P{}x", 8 },	   /* no line feed */
		{ "\0\0\0\5P[1]\n", 9 },   /* not an object */
		{ "\0\0\0\5P{\"\"\n", 9 }, /* not JSON */
		{ "GET / HTTP/1.1\r\n\r\n", 18 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame_reader r = { 0 };
		struct frame frame;

		bytes_add(&r.in, rows[i].bytes, rows[i].length);
		assert_int_equal(frame_next(&r, &frame), FRAME_BAD);
		frame_reader_fini(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_come_as_they_were_sent),
		cmocka_unit_test(a_frame_longer_than_it_may_be_is_none),
		cmocka_unit_test(an_object_is_bounded_whatever_the_frame_may_be),
		cmocka_unit_test(what_is_no_frame_is_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
