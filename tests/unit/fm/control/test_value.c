/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Values of options and words, for every row of commands.def: what is wrong everywhere is refused
 * before it is asked, with what is expected in its place. A row with a word of usage that nobody
 * knows fails here: it gets a row of option.c and of `samples`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/control/answer.h"
#include "fm/control/option.h"
#include "topology/what/what.h"

#define PLACE "guid:zz", "guid:0x0002c90300000100", "GUID"

static const struct {
	const char *word, *bad, *good, *expected;
} samples[] = {
	{ "WHAT", PLACE },
	{ "what", PLACE },
	{ "port", PLACE },
	{ "WHERE", PLACE },
	{ "LEAF", PLACE },
	{ "HOST", PLACE },
	{ "host", PLACE },
	{ "switch", PLACE },
	{ "from", PLACE },
	{ "to", PLACE },
	{ "group", "mlid:33", "mlid:0xc003", "0xc000 to 0xfffe" },
	{ "partition", "pkey:0x18001", "pkey:0x8001", "P_Key" },
	{ "TIME|DURATION", "yesterday", "15m", "a duration (90s" },
	{ "KIND", "link-donw", "link-down,link-up", "near: 'link-down'" },
	{ "LEVEL", "loud", "notice", "error, warning, notice, info or debug" },
	{ "MODULE", "moon", "sweep", "core, mad, sweep" },
	{ "STATE", "UNKNOWN", "no_p2p", "HEALTHY, DEGRADED_LINK, NO_P2P or FATAL" },
	{ "state", "MOON", "unknown", "NO_P2P, FATAL or UNKNOWN" },
	{ "HOST=STATE", "dgx-01", "dgx-01=FATAL", "HOST=STATE" },
	{ "ttl", "-5", "86400", "1 to 86400" },
	{ "ttl", "86401", "1", "1 to 86400" },
	{ "ttl", "nan", "1.5", "1 to 86400" },
	{ "manager", "", "fm-02", "a name" },
	{ "source", "", "redfish", "a name" },
	/* any text is one, or the command's row says which is */
	{ "COLUMN", NULL, "name", NULL },
	{ "FILE", NULL, "plan.net", NULL },
	{ "reason", NULL, "", NULL },
	{ "text", NULL, "", NULL },
};

static void a_bad_value_is_refused_with_what_is_expected(void **state)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const char *word = samples[i].word;
		char err[256] = "";

		assert_true(value_is_known(word));
		if (!value_check(word, samples[i].good, err, sizeof(err)))
			fail_msg("%s %s: %s", word, samples[i].good, err);
		if (samples[i].bad && value_check(word, samples[i].bad, err, sizeof(err)))
			fail_msg("%s takes %s", word, samples[i].bad);
		if (samples[i].bad && !strstr(err, samples[i].expected))
			fail_msg("%s %s: %s", word, samples[i].bad, err);
	}
}

static bool has_sample(const char *word)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		if (!strcmp(samples[i].word, word))
			return true;
	return false;
}

static void every_word_of_a_row_is_known(void **state)
{
	const struct command *c;

	for (c = fmd_commands; c->name; c++)
		for (unsigned i = 0; i < COMMAND_WORDS && c->words[i]; i++)
			if (!value_is_known(c->words[i]) || !has_sample(c->words[i]))
				fail_msg("%s: which words are a %s?", c->name, c->words[i]);
}

/* A number by its limits, one of several words by these, all others by option.c. */
static void check_option(const struct command *c, const struct command_option *option)
{
	json_t *args = json_object();
	const char *bad = option->number ? "x" : strchr(option->value, '|') ? "moon" : NULL;
	char err[256] = "";

	if (option->number || (option->value[0] >= 'a' && bad)) {
		assert_int_equal(command_option_put(option, bad, args, err, sizeof(err)), -1);
		if (!strstr(err, option->number ? "a whole number" : option->value))
			fail_msg("%s --%s %s: %s", c->name, option->name, bad, err);
	} else if (!value_is_known(option->value) || !has_sample(option->value)) {
		fail_msg("%s --%s: what is a %s?", c->name, option->name, option->value);
	}
	assert_int_equal(json_object_size(args), 0);
	json_decref(args);
}

static void every_value_of_an_option_is_known(void **state)
{
	const struct command_option *option;
	const struct command *c;

	for (c = fmd_commands; c->name; c++)
		for (unsigned i = 0; (option = command_option_at(c, i)); i++)
			if (option->value)
				check_option(c, option);
}

static void a_number_has_limits(void **state)
{
	const struct command_option *n = command_option_find(command_find("events"), "n");
	json_t *args = json_object();
	char err[256] = "";

	assert_int_equal(command_option_put(n, "10000", args, err, sizeof(err)), 0);
	assert_string_equal(err, "");
	assert_int_equal(command_option_put(n, "10001", args, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "from 0 to 10000"));
	json_decref(args);
}

static void what_may_be_a_place_is_left_to_the_fabric(void **state)
{
	static const char *const sound[] = { "leaf-01",	      "33",	      "0xc003",
					     "lid:33",	      "lid:33:5",     "guid:S-1f",
					     "gid:fe80::1",   "pkey:storage", "mlidx",
					     "lid:1 - lid:2", "node:lid:x" };
	static const char *const unsound[] = {
		"",	 "  ",	   "lid:",   "lid:0", "lid:-1",	   "lid:0xc000", "mlid:0xffff",
		"guid:", "gid:17", "mgid:x", "pkey:", "pkey:65536"
	};
	char err[256];

	for (size_t i = 0; i < sizeof(sound) / sizeof(sound[0]); i++)
		if (!what_is_sound(sound[i], err, sizeof(err)))
			fail_msg("'%s': %s", sound[i], err);
	for (size_t i = 0; i < sizeof(unsound) / sizeof(unsound[0]); i++)
		if (what_is_sound(unsound[i], err, sizeof(err)))
			fail_msg("'%s'", unsound[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bad_value_is_refused_with_what_is_expected),
		cmocka_unit_test(every_word_of_a_row_is_known),
		cmocka_unit_test(every_value_of_an_option_is_known),
		cmocka_unit_test(a_number_has_limits),
		cmocka_unit_test(what_may_be_a_place_is_left_to_the_fabric),
	};
	return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
