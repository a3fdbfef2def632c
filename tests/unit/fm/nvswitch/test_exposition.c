/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Prometheus' text format in pieces of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/evidence.h"

struct taken {
	unsigned kinds_asked, count;
	int kind;
	double value;
	unsigned nlabels;
	char text[512]; /* name=value of the latest sample's labels */
};

/* "wanted" and "other" are wanted, by that number. */
static int kind_of(void *arg, struct lex_text name)
{
	struct taken *t = arg;

	t->kinds_asked++;
	if (name.len == 6 && !memcmp(name.p, "wanted", 6))
		return 1;
	return name.len == 5 && !memcmp(name.p, "other", 5) ? 2 : -1;
}

static void take(void *arg, int kind, const struct exposition_sample *s)
{
	struct taken *t = arg;

	t->count++;
	t->kind = kind;
	t->value = s->value;
	t->nlabels = s->nlabels;
	*t->text = '\0';
	for (unsigned i = 0; i < s->nlabels; i++) {
		char value[128];

		exposition_copy(s->labels[i].value, value, sizeof(value));
		snprintf(t->text + strlen(t->text), sizeof(t->text) - strlen(t->text), "%.*s=%s;",
			 (int)s->labels[i].name.len, s->labels[i].name.p, value);
	}
}

static const struct exposition_ops ops = { kind_of, take };

/* The body in pieces of `piece` bytes; the fault, or NULL. */
static const char *read_in(struct taken *t, const char *body, size_t len, size_t piece)
{
	struct exposition *e = malloc(sizeof(*e));
	const char *fault;

	memset(t, 0, sizeof(*t));
	exposition_init(e, &ops, t);
	for (size_t at = 0; at < len; at += piece)
		exposition_feed(e, body + at, len - at < piece ? len - at : piece);
	exposition_end(e);
	fault = e->fault;
	free(e);
	return fault;
}

static const char *read_all(struct taken *t, const char *body)
{
	return read_in(t, body, strlen(body), 1 << 20);
}

static void a_body_reads_the_same_in_pieces_of_any_size(void **state)
{
	static const char body[] = "# HELP wanted text\n# TYPE wanted gauge\n"
				   "wanted{gpu=\"0\",name=\"a \\\"b\\\" \\\\ c\"} 1\n"
				   "unwanted{this is not looked at\n"
				   "\n"
				   "other 2.5e-3 1700000000000\n"
				   "wanted { gpu = \"7\" , x=\"\" , } -3\n";

	for (size_t piece = 1; piece < sizeof(body); piece++) {
		struct taken t;

		assert_null(read_in(&t, body, sizeof(body) - 1, piece));
		assert_int_equal(t.count, 3);
		assert_int_equal(t.kind, 1);
		assert_true(t.value == -3);
		assert_string_equal(t.text, "gpu=7;x=;");
	}
}

static void escapes_in_labels_are_undone(void **state)
{
	struct taken t;

	assert_null(read_all(&t, "wanted{a=\"\\\"q\\\"\",b=\"\\\\\",c=\"x\\ny\"} 1\n"));
	assert_string_equal(t.text, "a=\"q\";b=\\;c=x\ny;");
}

static void values_of_every_kind_are_read(void **state)
{
	static const struct {
		const char *text;
		double value;
	} cases[] = {
		{ "0", 0 },	      { "254", 254 },	     { "1.5e-254", 1.5e-254 },
		{ "+Inf", INFINITY }, { "-Inf", -INFINITY }, { "18446744073709551615", 0x1p64 },
		{ "-1", -1 },	      { "1e3", 1000 }
	};
	struct taken t;
	char line[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(line, sizeof(line), "wanted %s\n", cases[i].text);
		assert_null(read_all(&t, line));
		assert_true(t.value == cases[i].value);
	}
	assert_null(read_all(&t, "wanted NaN\r\n"));
	assert_true(isnan(t.value));
}

static void what_is_no_exposition_is_refused_and_ends_the_reading(void **state)
{
	static const char *const bad[] = {
		"\x01\x02\x03\n",
		"<html>\n",
		"wanted\n",
		"wanted{\n",
		"wanted{a} 1\n",
		"wanted{a=1} 1\n",
		"wanted{a=\"1} 1\n",
		"wanted{a=\"1\" 1\n",
		"wanted{a=\"1\"}\n",
		"wanted 1 2 3\n",
		"wanted one\n",
		"wanted{a=\"1\"b=\"2\"} 1\n",
		"wanted 1x\n",
		"9wanted 1\n",
		"wanted{a=\"1\\\"} 1\n",
		"wanted 1 yesterday\n",
		"wanted{,} 1\n",
		"wanted{=\"1\"} 1\n",
	};
	struct taken t;
	char body[128];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(body, sizeof(body), "other 1\n%sother 2\n", bad[i]);
		if (!read_all(&t, body))
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(t.count, 1);
	}
}

static void a_body_that_ends_within_a_line_is_refused(void **state)
{
	struct taken t;

	assert_string_equal(read_all(&t, "wanted 1\nwanted 2"), "it ends within a line");
	assert_null(read_all(&t, ""));
}

static void a_line_beyond_the_bound_is_refused_whole_or_in_pieces(void **state)
{
	size_t len = 10 << 20;
	char *body = malloc(len);
	struct taken t;

	memset(body, 'a', len);
	memcpy(body, "wanted ", 7);
	assert_non_null(read_in(&t, body, len, len));
	body[len - 1] = '\n';
	assert_string_equal(read_in(&t, body, len, 1000), "a line is too long");
	assert_string_equal(read_in(&t, body, len, len), "a line is too long");
	free(body);
}

static void a_long_line_that_nobody_wants_is_passed_over(void **state)
{
	static const char head[] = "wanted 1\nfree{label=\"", tail[] = "\"} 1\nwanted 2\n";
	size_t len = 100000;
	char *body = malloc(len);
	struct taken t;

	memset(body, 'x', len);
	memcpy(body, head, strlen(head));
	memcpy(body + len - strlen(tail), tail, strlen(tail));
	for (size_t piece = 50; piece < 2 * len; piece = piece * 3 + 1) {
		assert_null(read_in(&t, body, len, piece));
		assert_int_equal(t.count, 2);
	}
	memcpy(body + strlen("wanted 1\n"), "#", 1);
	assert_null(read_in(&t, body, len, 8192));
	assert_int_equal(t.count, 2);
	free(body);
}

static void the_longest_line_there_may_be_is_read(void **state)
{
	char body[EXPOSITION_LINE + 1];
	struct taken t;

	memset(body, ' ', sizeof(body));
	memcpy(body, "wanted", 6);
	body[EXPOSITION_LINE - 2] = '7';
	body[EXPOSITION_LINE - 1] = '\n';
	assert_null(read_in(&t, body, EXPOSITION_LINE, 100));
	assert_true(t.value == 7);
}

static void more_labels_than_there_is_room_for_are_left_out(void **state)
{
	char body[2048] = "wanted{";
	struct taken t;

	for (unsigned i = 0; i < EXPOSITION_LABELS + 9; i++)
		snprintf(body + strlen(body), sizeof(body) - strlen(body), "l%u=\"%u\",", i, i);
	strcat(body, "} 4\n");
	assert_null(read_all(&t, body));
	assert_int_equal(t.nlabels, EXPOSITION_LABELS);
	assert_true(t.value == 4);
}

static void a_name_is_asked_for_once_in_a_row(void **state)
{
	struct taken t;

	assert_null(read_all(
		&t, "wanted{a=\"1\"} 1\nwanted{a=\"2\"} 1\nwanted 3\nwantedx 1\nother 1\n"));
	assert_int_equal(t.kinds_asked, 3);
	assert_int_equal(t.count, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_reads_the_same_in_pieces_of_any_size),
		cmocka_unit_test(escapes_in_labels_are_undone),
		cmocka_unit_test(values_of_every_kind_are_read),
		cmocka_unit_test(what_is_no_exposition_is_refused_and_ends_the_reading),
		cmocka_unit_test(a_body_that_ends_within_a_line_is_refused),
		cmocka_unit_test(a_line_beyond_the_bound_is_refused_whole_or_in_pieces),
		cmocka_unit_test(a_long_line_that_nobody_wants_is_passed_over),
		cmocka_unit_test(the_longest_line_there_may_be_is_read),
		cmocka_unit_test(more_labels_than_there_is_room_for_are_left_out),
		cmocka_unit_test(a_name_is_asked_for_once_in_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
