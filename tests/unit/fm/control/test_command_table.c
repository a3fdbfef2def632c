/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Each row of fmd's table of commands agrees with itself; and who may only look may ask no command
 * that changes something.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/control/answer.h"

static void names_are_unique(void **state)
{
	const struct command *a;

	for (a = fmd_commands; a->name; a++) {
		for (const struct command *b = a + 1; b->name; b++)
			assert_string_not_equal(a->name, b->name);
	}
}

static void every_row_has_one_function_that_answers(void **state)
{
	const struct command *c;

	for (c = fmd_commands; c->name; c++) {
		const struct command_run *run = c->run;

		if (run == &no_run) {
			assert_null(command_find(c->name));
			continue;
		}
		assert_ptr_equal(command_find(c->name), c);
		assert_true(run->answer || run->rows || run->begin || run->act || run->begin_with);
		assert_false(run->answer && run->rows);
		assert_true(!run->rows || (run->long_answer && !c->rows)); /* the answer is these */
		assert_true(!!run->begin + !!run->act + !!run->begin_with <= 1);
		assert_true(!run->act || c->words[0]);
		assert_true(!run->text || run->answer);
		assert_true(!c->flag_operates || (c->flag && (run->begin || run->begin_with) &&
						  run->answer && c->read_only));
	}
}

/*
 * A usage in capitals, a key each, but for filters: what fmctl asks by itself has as many of both.
 */
static void words_are_those_of_usage(void **state)
{
	const struct command *c;

	for (c = fmd_commands; c->name; c++) {
		unsigned keys = 0, capitals = 0;
		bool value = false; /* of the option before */

		while (keys < COMMAND_WORDS && c->words[keys])
			keys++;
		for (const char *at = c->arguments; *at;
		     at += strcspn(at, " "), at += strspn(at, " ")) {
			char first = at[strspn(at, "[")];

			capitals += !value && first >= 'A' && first <= 'Z';
			value = first == '-' && at[strcspn(at, " ]")] == ' ';
		}
		capitals -= strstr(c->arguments, "FILTER ..") != NULL;
		assert_true(!c->filters == !strstr(c->arguments, "FILTER .."));
		if (keys && capitals != keys)
			fail_msg("%s %s: %u keys", c->name, c->arguments, keys);
		if (c->words_optional)
			assert_int_equal(c->arguments[0], '[');
		if (c->flag)
			assert_non_null(strstr(c->arguments, c->flag));
	}
}

static void only_these_change_something(void **state)
{
	static const char *const acting[] = { "reroute",       "sweep",	     "cordon",
					      "uncordon",      "release",    "forget",
					      "handover",      "reload",     "nvswitch-set",
					      "health-report", "loglevel",   "takeover",
					      "admit",	       "host-accept" };
	json_t *none = json_object();
	const struct command *c;
	unsigned count = 0;

	for (c = fmd_commands; c->name; c++) {
		bool acts = false;

		for (unsigned i = 0; i < sizeof(acting) / sizeof(acting[0]); i++)
			acts |= !strcmp(c->name, acting[i]);
		if (command_is_read_only(c, none) == acts)
			fail_msg("%s", c->name);
		if (acts)
			assert_null(c->document);
		count += acts;
	}
	assert_int_equal(count, sizeof(acting) / sizeof(acting[0]));
	json_decref(none);
}

static void a_flag_makes_a_command_change_something(void **state)
{
	static const char *const names[][2] = { { "check", "readback" }, { "health", "read" } };

	for (unsigned i = 0; i < 2; i++) {
		const struct command *c = command_find(names[i][0]);
		json_t *with = json_pack("{sb}", names[i][1], 1);
		json_t *without = json_pack("{sb}", names[i][1], 0);

		assert_true(command_is_operation(c, with) && !command_is_read_only(c, with));
		assert_true(!command_is_operation(c, without) && command_is_read_only(c, without));
		json_decref(with);
		json_decref(without);
	}
}

static void a_long_list_of_events_is_for_a_child(void **state)
{
	static const struct {
		const char *args;
		bool is_long;
	} cases[] = { { "{}", false },
		      { "{\"count\":1000}", false },
		      { "{\"count\":1001}", true },
		      { "{\"since\":\"1h\"}", true },
		      { "{\"since\":\"1h\",\"count\":5}", false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *args = json_loads(cases[i].args, 0, NULL);

		assert_true(command_is_long(command_find("events"), args) == cases[i].is_long);
		assert_true(command_is_long(command_find("links"), args));
		assert_false(command_is_long(command_find("status"), args));
		json_decref(args);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_unique),
		cmocka_unit_test(every_row_has_one_function_that_answers),
		cmocka_unit_test(words_are_those_of_usage),
		cmocka_unit_test(only_these_change_something),
		cmocka_unit_test(a_flag_makes_a_command_change_something),
		cmocka_unit_test(a_long_list_of_events_is_for_a_child),
	};
	return cmocka_run_group_tests_name("command_table", tests, NULL, NULL);
}
