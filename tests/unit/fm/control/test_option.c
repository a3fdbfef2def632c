/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Options of commands by their rows: which there are, and what is a value of one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/control/answer.h"
#include "fm/control/option.h"

static void names_of_a_command_are_unique_and_listed(void **state)
{
	const struct command *c;

	for (c = fmd_commands; c->name; c++) {
		const struct command_option *option;
		unsigned i;

		for (i = 0; (option = command_option_at(c, i)); i++) {
			assert_true(i < COMMAND_OPTIONS_MAX);
			assert_ptr_equal(command_option_find(c, option->name), option);
			assert_true(option->help && *option->help);
			if (c->flag)
				assert_string_not_equal(option->name, c->flag);
		}
		if (c->filters && (!c->words[0] || strcmp(c->words[0], "what")))
			assert_string_equal(c->name, "nvswitch");
	}
}

static int put(const char *command, const char *name, const char *text, json_t *args)
{
	const struct command_option *option = command_option_find(command_find(command), name);
	char err[256] = "";
	int status;

	assert_non_null(option);
	status = command_option_put(option, text, args, err, sizeof(err));
	assert_true(!status == !*err);
	return status;
}

static void values_take_the_type_of_their_option(void **state)
{
	json_t *args = json_object();
	json_t *expected = json_pack("{si ss sb ss}", "su", 2, "leaf", "leaf-01", "down", 1,
				     "class", "storage");

	assert_int_equal(put("links", "su", "2", args), 0);
	assert_int_equal(put("links", "leaf", "leaf-01", args), 0);
	assert_int_equal(put("links", "down", NULL, args), 0);
	assert_int_equal(put("links", "class", "storage", args), 0);
	assert_true(json_equal(args, expected));
	json_decref(expected);
	json_decref(args);
}

static void what_is_no_value_is_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "su", "0" },		{ "su", "-1" },	     { "su", "one" },
		{ "su", "" },		{ "rail", "1.5" },   { "rail", "99999999999" },
		{ "leaf", "" },		{ "class", "stor" }, { "class", "storage|" },
		{ "leaf", "\xff\xfe" },
	};
	json_t *args = json_object();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(put("links", bad[i][0], bad[i][1], args), -1);
	assert_int_equal(json_object_size(args), 0);
	json_decref(args);
}

static void columns_are_found_by_title_or_key(void **state)
{
	const struct command *c = command_find("nodes");

	assert_string_equal(command_column_find(c, "su")->title, "SU");
	assert_string_equal(command_column_find(c, "links_down")->title, "DOWN");
	assert_string_equal(command_column_find(c, "down")->title, "DOWN");
	assert_null(command_column_find(c, "su+1"));
	assert_null(command_column_find(c, ""));
	assert_null(command_column_find(command_find("status"), "state"));
}

static void values_of_rows_are_found_by_key(void **state)
{
	json_t *row = json_pack("{s{ss} si}", "a", "name", "leaf-01", "su", 1);

	assert_string_equal(json_string_value(table_value(row, "a.name")), "leaf-01");
	assert_int_equal(json_integer_value(table_value(row, "su+1")), 1);
	assert_null(table_value(row, "a.port"));
	assert_null(table_value(row, "su.name"));
	json_decref(row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_a_command_are_unique_and_listed),
		cmocka_unit_test(values_take_the_type_of_their_option),
		cmocka_unit_test(what_is_no_value_is_refused),
		cmocka_unit_test(columns_are_found_by_title_or_key),
		cmocka_unit_test(values_of_rows_are_found_by_key),
	};
	return cmocka_run_group_tests_name("option", tests, NULL, NULL);
}
