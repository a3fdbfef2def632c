/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A query string as the arguments of a command, and pages of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/control/option.h"
#include "fm/http/query.h"

static const struct command list = {
	.name = "list",
	.words = { "what" },
	.filters = FILTER_LEAF | FILTER_DOWN,
	.options = OPTIONS(OPTION("sick", NULL, "unhealthy"),
			   OPTION("n", "N", "how many", .number = true, .key = "count"),
			   OPTION("format", "text|json", "form")),
	.flag = "read",
	.flag_operates = true,
};
static const struct command table = { .name = "table", .rows = "entries" };

/* The arguments that key=value make, as JSON, or the error; the caller frees it. */
static char *taken(const struct command *command, const char *key, const char *value)
{
	struct query query = { .command = command, .args = json_object() };
	char *text;

	query_take(&query, key, value);
	text = *query.error ? strdup(query.error) : json_dumps(query.args, JSON_COMPACT);
	json_decref(query.args);
	return text;
}

static void options_are_read_off_the_row(void **state)
{
	static const struct {
		const char *key, *value, *want;
	} cases[] = {
		{ "what", "33", "{\"what\":\"33\"}" },
		{ "down", NULL, "{\"down\":true}" },
		{ "sick", "1", "{\"sick\":true}" },
		{ "down", "0", "{}" },
		{ "down", "false", "{}" },
		{ "n", "50", "{\"count\":50}" },
		{ "n", "50x", "n 50x: a whole number of 0 or more is expected" },
		{ "n", "", "n: a value is expected: N" },
		{ "n", "9999999999", "n 9999999999: a whole number of 0 or more is expected" },
		{ "leaf", "leaf-su01-rail0", "{\"leaf\":\"leaf-su01-rail0\"}" },
		{ "leaf", NULL, "leaf: a value is expected: LEAF" },
		{ "leaf", "\xff", "leaf: the value is not text in UTF-8" },
		{ "what", "\xff", "what= takes text in UTF-8" },
		{ "format", "text", "{\"format\":\"text\"}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *got = taken(&list, cases[i].key, cases[i].value);

		assert_string_equal(got, cases[i].want);
		free(got);
	}
}

static void what_is_no_option_is_refused_by_name(void **state)
{
	static const char *const keys[] = { "",	    "-", "--down", "dow", "downs",
					    "WHAT", "N", "text",   "lea" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *got = taken(&list, keys[i], "1");

		assert_non_null(strstr(got, "no such option: "));
		assert_string_equal(strstr(got, ": ") + 2, keys[i]);
		free(got);
	}
}

static void flag_that_would_change_something_is_no_option(void **state)
{
	char *got = taken(&list, "read", "1");

	assert_string_equal(got, "no such option: read");
	free(got);
}

static json_t *numbers(unsigned count)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(array, json_integer(i));
	return array;
}

static void assert_page(const char *offset, const char *limit, const char *want)
{
	struct query query = { .command = &list, .args = json_object() };
	json_t *document = numbers(5);
	char *text;

	if (offset)
		query_take(&query, "offset", offset);
	if (limit)
		query_take(&query, "limit", limit);
	assert_string_equal(query.error, "");
	assert_true(query.paged && command_rows(query.command, document));
	assert_int_equal(query_page(&query, &document), 5);
	text = json_dumps(document, JSON_COMPACT);
	assert_string_equal(text, want);
	free(text);
	json_decref(document);
	json_decref(query.args);
}

static void page_is_cut_from_the_rows(void **state)
{
	assert_page("1", "2", "[1,2]");
	assert_page("3", NULL, "[3,4]");
	assert_page(NULL, "2", "[0,1]");
	assert_page("4", "9223372036854775807", "[4]");
	assert_page("9223372036854775807", "9223372036854775807", "[]");
	assert_page("0", "0", "[]");
}

static void page_of_a_table_keeps_what_stands_around_it(void **state)
{
	struct query query = { .command = &table, .args = json_object() };
	json_t *document = json_pack("{s:s, s:o}", "name", "leaf", "entries", numbers(9));

	query_take(&query, "offset", "7");
	assert_int_equal(query_page(&query, &document), 9);
	assert_string_equal(json_string_value(json_object_get(document, "name")), "leaf");
	assert_int_equal(json_array_size(json_object_get(document, "entries")), 2);
	json_decref(document);
	document = json_object();
	assert_false(command_rows(query.command, document));
	json_decref(document);
	json_decref(query.args);
}

static void page_that_is_no_number_is_refused(void **state)
{
	char *got = taken(&list, "offset", "-1");

	assert_string_equal(got, "offset= takes a number from 0 on");
	free(got);
	got = taken(&list, "limit", "many");
	assert_string_equal(got, "limit= takes a number from 0 on");
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_read_off_the_row),
		cmocka_unit_test(what_is_no_option_is_refused_by_name),
		cmocka_unit_test(flag_that_would_change_something_is_no_option),
		cmocka_unit_test(page_is_cut_from_the_rows),
		cmocka_unit_test(page_of_a_table_keeps_what_stands_around_it),
		cmocka_unit_test(page_that_is_no_number_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
