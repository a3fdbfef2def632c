/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Frames between managers, what of a file has changed, and files by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/mirror/contents.h"
#include "fm/mirror/channel.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/* ---- Frames ---------------------------------------------------------------------------------- */

static char *encode(enum frame_type type, int seq, const char *body, size_t length, size_t *bytes)
{
	json_t *head = json_pack("{si si si sI}", "seq", seq, "keep_head", 1, "keep_tail", 2,
				 "length", (json_int_t)length + 3);
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
	char *bytes = encode(FRAME_FILE, 1, "body", 4, &length);
	struct frame_reader r = { .most = length - 4 };
	struct frame frame;

	assert_int_equal(frame_expected(&r), 0);
	frame_feed(&r, bytes, length - 1);
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
	char *first = encode(FRAME_FILE, 1, body, sizeof(body), &first_length);
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
			frame_feed(&r, both + fed,
				   piece < first_length - fed ? piece : first_length - fed);
			fed += piece < first_length - fed ? piece : first_length - fed;
		}
		frame_feed(&r, both + first_length, second_length);
		assert_next(&r, FRAME_FILE, 1, body, sizeof(body));
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
	frame_feed(&r, bytes, 5 + object + ends);
	got = frame_next(&r, &frame);
	if (got == FRAME_READ)
		json_decref(frame.head);
	frame_reader_fini(&r);
	free(bytes);
	return got;
}

/* Only what carries a file is long, and of that only the body: what is parsed is bounded. */
static void an_object_is_bounded_whatever_the_frame_may_be(void **state)
{
	const size_t most = FRAME_HEAD_MOST;

	assert_int_equal(begin('C', FRAME_MOST, most - 1, true), FRAME_NONE);
	assert_int_equal(begin('C', FRAME_MOST, most - 1, false), FRAME_NONE);
	assert_int_equal(begin('C', FRAME_MOST, most, false), FRAME_BAD);
	assert_int_equal(begin('C', FRAME_MOST, most, true), FRAME_BAD);
	assert_int_equal(begin('R', (uint32_t)most, most - 2, true), FRAME_READ);
	assert_int_equal(begin('R', (uint32_t)most + 1, 0, false), FRAME_BAD);
	assert_int_equal(begin('Z', (uint32_t)most + 1, 0, false), FRAME_BAD);
}

static void a_file_is_as_long_as_it_says_or_refused_before_it_comes(void **state)
{
	static const struct {
		const char *head;
		enum frame_read got;
	} rows[] = {
		{ "{\"keep_head\":0,\"keep_tail\":0,\"length\":9}\n", FRAME_NONE },
		{ "{\"keep_head\":5,\"keep_tail\":1,\"length\":15}\n", FRAME_NONE },
		{ "{\"keep_head\":0,\"keep_tail\":0,\"length\":8}\n", FRAME_BAD },
		{ "{\"keep_head\":0,\"keep_tail\":0,\"length\":10}\n", FRAME_BAD },
		{ "{\"keep_head\":-1,\"keep_tail\":0,\"length\":8}\n", FRAME_BAD },
		{ "{\"keep_head\":0,\"keep_tail\":-1,\"length\":8}\n", FRAME_BAD },
		{ "{\"keep_head\":9,\"keep_tail\":0,\"length\":-1}\n", FRAME_BAD },
		{ "{\"keep_head\":0,\"keep_tail\":0}\n", FRAME_BAD },
		{ "{}\n", FRAME_BAD },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char length = (char)(1 + strlen(rows[i].head) + 9);
		struct frame_reader r = { 0 };
		struct frame frame;

		frame_feed(&r, (char[]){ 0, 0, 0, length, FRAME_FILE }, 5);
		frame_feed(&r, rows[i].head, strlen(rows[i].head));
		assert_int_equal(frame_next(&r, &frame), rows[i].got);
		frame_reader_fini(&r);
	}
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

		frame_feed(&r, rows[i].bytes, rows[i].length);
		assert_int_equal(frame_next(&r, &frame), FRAME_BAD);
		frame_reader_fini(&r);
	}
}

/* ---- Changes of files ------------------------------------------------------------------------ */

static struct text text_of(const char *from)
{
	return (struct text){ mem_strdup(from), strlen(from) };
}

static void assert_delta(const char *before, const char *after, size_t most)
{
	struct text a = text_of(before), b = text_of(after), made;
	struct delta d = delta_of(&a, &b);

	assert_true(d.length <= most);
	assert_true(delta_apply(&a, &d, &made));
	assert_int_equal(made.length, b.length);
	assert_memory_equal(made.bytes, b.bytes, b.length);
	free(a.bytes);
	free(b.bytes);
	free(made.bytes);
}

static void a_change_carries_what_is_new_of_it(void **state)
{
	assert_delta("", "", 0);
	assert_delta("", "a\n", 2);
	assert_delta("a\n", "", 0);
	assert_delta("a\nb\nc\n", "a\nb\nc\n", 0);
	assert_delta("a\nb\nc\n", "a\nc\n", 0);
	assert_delta("a\nb\nc\n", "a\nx\nc\n", 1);
	assert_delta("aaaa", "aaaaaa", 2); /* head and tail do not overlap */
	assert_delta("aaaaaa", "aaaa", 0);
}

static void any_change_leads_where_it_should(void **state)
{
	uint64_t seed = 7;

	for (unsigned round = 0; round < 20000; round++) {
		char a[24] = "", b[24] = "";

		for (unsigned i = random_next(&seed) % 23; i-- > 0;)
			a[i] = (char)('a' + random_next(&seed) % 2);
		for (unsigned i = random_next(&seed) % 23; i-- > 0;)
			b[i] = (char)('a' + random_next(&seed) % 2);
		assert_delta(a, b, strlen(b));
	}
}

static void parts_that_are_not_there_are_refused(void **state)
{
	struct text before = text_of("abc"), after;

	assert_false(delta_apply(&before, &(struct delta){ 4, 0, "", 0 }, &after));
	assert_false(delta_apply(&before, &(struct delta){ 2, 2, "", 0 }, &after));
	assert_false(delta_apply(&before, &(struct delta){ 1, SIZE_MAX, "", 0 }, &after));
	assert_true(delta_apply(&before, &(struct delta){ 1, 2, "", 0 }, &after));
	free(after.bytes);
	free(before.bytes);
}

/* ---- Files by name --------------------------------------------------------------------------- */

static void files_are_found_by_name_and_are_no_more_than_there_is_room_for(void **state)
{
	struct contents c = { 0 };
	char name[16];

	assert_int_equal(contents_text(&c, "none")->length, 0);
	assert_true(contents_set(&c, "lids", text_of("one")));
	assert_true(contents_set(&c, "lids", text_of("another")));
	assert_string_equal(contents_text(&c, "lids")->bytes, "another");
	assert_int_equal(c.count, 1);
	for (unsigned i = 1; i < CONTENTS_MOST; i++) {
		snprintf(name, sizeof(name), "file%u", i);
		assert_true(contents_set(&c, name, text_of("")));
	}
	assert_false(contents_set(&c, "one more", text_of("")));
	assert_true(contents_set(&c, "lids", text_of("it has its place")));
	contents_fini(&c);
	assert_null(contents_find(&c, "lids"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_come_as_they_were_sent),
		cmocka_unit_test(a_frame_longer_than_it_may_be_is_none),
		cmocka_unit_test(an_object_is_bounded_whatever_the_frame_may_be),
		cmocka_unit_test(a_file_is_as_long_as_it_says_or_refused_before_it_comes),
		cmocka_unit_test(what_is_no_frame_is_bad),
		cmocka_unit_test(a_change_carries_what_is_new_of_it),
		cmocka_unit_test(any_change_leads_where_it_should),
		cmocka_unit_test(parts_that_are_not_there_are_refused),
		cmocka_unit_test(files_are_found_by_name_and_are_no_more_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
