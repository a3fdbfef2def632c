/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Take-overs of two managers: which of them comes from the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/mirror/generation.h"

#define A 0xaull
#define B 0xbull

/* "AAB": masters in turn, each behind the other; a digit is what was heard of elsewhere. */
static struct generation of(const char *masters)
{
	struct generation g = { 0 };
	uint64_t heard = 0;

	for (; *masters; masters++) {
		if (*masters >= '0' && *masters <= '9') {
			heard = (uint64_t)(*masters - '0');
			continue;
		}
		generation_add(&g, *masters == 'A' ? A : B, heard);
	}
	return g;
}

static void the_table_of_decisions(void **state)
{
	static const struct {
		const char *mine, *theirs;
		enum generation_result said;
	} cases[] = {
		{ "", "", GENERATION_SAME },
		{ "", "A", GENERATION_BEHIND }, /* an empty state_dir comes from everything */
		{ "A", "", GENERATION_AHEAD },
		{ "A", "A", GENERATION_SAME },
		{ "A", "AB", GENERATION_BEHIND }, /* B took over from a copy of A's */
		{ "AB", "A", GENERATION_AHEAD },
		{ "A", "AAAB", GENERATION_BEHIND },
		{ "AB", "AA", GENERATION_APART }, /* A returned alone, with files of before B's */
		{ "AA", "AB", GENERATION_APART },
		{ "ABB", "AA", GENERATION_APART },
		{ "AB", "AA2A", GENERATION_APART },  /* A met B, and counts behind it: B yields.. */
		{ "AA2A", "AA2A", GENERATION_SAME }, /* ..and is a copy of A */
		{ "A", "B", GENERATION_APART },	     /* each began with an empty state_dir */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct generation mine = of(cases[i].mine), theirs = of(cases[i].theirs);

		assert_int_equal(generation_compare(&mine, &theirs), cases[i].said);
	}
}

static void a_take_over_counts_behind_all_that_was_heard_of(void **state)
{
	struct generation g = of("AB");

	assert_int_equal(generation_number(&g), 2);
	generation_add(&g, A, 0);
	assert_int_equal(generation_number(&g), 3);
	generation_add(&g, A, 9);
	assert_int_equal(generation_number(&g), 10);
}

static void what_is_so_old_that_it_is_forgotten_is_where_all_comes_from(void **state)
{
	struct generation old = of("AB"), g = old;

	for (unsigned i = 0; i < 2 * GENERATION_KEPT; i++)
		generation_add(&g, A, 0);
	assert_int_equal(g.count, GENERATION_KEPT);
	assert_int_equal(generation_compare(&old, &g), GENERATION_BEHIND);
	assert_int_equal(generation_compare(&g, &old), GENERATION_AHEAD);
}

static char *text_of(const struct generation *g)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	generation_write(g, out);
	fclose(out);
	return text;
}

static void what_is_written_is_read(void **state)
{
	static const char *const cases[] = { "", "A", "ABAB", "A5B" };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct generation g = of(cases[i]);
		char *text = text_of(&g);
		json_t *json = generation_json(&g);
		struct generation again;

		assert_true(generation_read(&again, text));
		assert_memory_equal(&again, &g, sizeof(g));
		assert_true(generation_parse(&again, json));
		assert_memory_equal(&again, &g, sizeof(g));
		json_decref(json);
		free(text);
	}
}

/* An older version had the number alone, and reads no more than that. */
static void files_of_an_older_version_are_read(void **state)
{
	struct generation g = of("AAB");
	char *text = text_of(&g);
	struct generation old;

	assert_int_equal(strtoull(text, NULL, 10), 3);
	assert_true(generation_read(&old, "3\n"));
	assert_int_equal(generation_number(&old), 3);
	assert_int_equal(generation_compare(&old, &g), GENERATION_SAME);
	generation_add(&g, A, 0);
	assert_int_equal(generation_compare(&old, &g), GENERATION_BEHIND);
	free(text);
}

static void what_is_none_is_refused(void **state)
{
	static const char *const texts[] = { "",
					     "x",
					     "2\n1 0x1\n",
					     "1\n1 0x1\n1 0x2\n",
					     "1\n1\n",
					     "2\n3 0x1\n2 0x1\n",
					     "1\n1 0x1\nx\n" };
	static const char *const json[] = { "{}",
					    "[1]",
					    "[[1]]",
					    "[[1,\"0x1\",2]]",
					    "[[2,\"0x1\"],[2,\"0x2\"]]",
					    "[[-1,\"0x1\"]]" };
	struct generation g;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_false(generation_read(&g, texts[i]));
		assert_int_equal(g.count, 0);
	}
	for (size_t i = 0; i < sizeof(json) / sizeof(*json); i++) {
		json_t *doc = json_loads(json[i], 0, NULL);

		assert_non_null(doc);
		assert_false(generation_parse(&g, doc) && g.count);
		assert_int_equal(g.count, 0);
		json_decref(doc);
	}
	assert_false(generation_parse(&g, NULL));
}

/* A number that was counted from is counted from for ever, so a lie must not be. */
static void a_number_that_can_not_be_is_not_plausible(void **state)
{
	struct generation mine = { .count = 1, .list = { { 5, 1 } } }, theirs = mine;

	assert_true(generation_is_plausible(&theirs, &mine));
	theirs.list[0].number = 5 + GENERATION_AHEAD_MOST;
	assert_true(generation_is_plausible(&theirs, &mine));
	theirs.list[0].number++;
	assert_false(generation_is_plausible(&theirs, &mine));
	assert_true(generation_is_plausible(&mine, &theirs));
}

static void behind_the_largest_number_the_list_begins_anew_and_is_read(void **state)
{
	struct generation g = { .count = 1, .list = { { INT64_MAX - 1, 1 } } }, again;
	json_t *json;

	generation_add(&g, 2, 0);
	json = generation_json(&g);
	assert_true(generation_parse(&again, json));
	assert_int_equal(again.count, 1);
	assert_int_equal(generation_number(&again), 1);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_of_decisions),
		cmocka_unit_test(a_take_over_counts_behind_all_that_was_heard_of),
		cmocka_unit_test(what_is_so_old_that_it_is_forgotten_is_where_all_comes_from),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(files_of_an_older_version_are_read),
		cmocka_unit_test(what_is_none_is_refused),
		cmocka_unit_test(a_number_that_can_not_be_is_not_plausible),
		cmocka_unit_test(behind_the_largest_number_the_list_begins_anew_and_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
