/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Keys that are one of several words: the number each is kept as is that of the enum it goes by
 * elsewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/conf/conf.h"
#include "fm/conf/conf_table.h"
#include "fm/loop/log.h"
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/state.h"
#include "routing/ftree/route.h"

/* How the file writes that number of such a key; NULL: there is none. */
static const char *conf_word(const char *key, int number)
{
	for (size_t n = 0; n < conf_noptions; n++) {
		const struct conf_option *option = &conf_options[n];

		for (int i = 0; option->kind == CONF_WORD && option->words[i]; i++)
			if (!strcmp(option->name, key) && option->first + i == number)
				return option->words[i];
	}
	return NULL;
}

static void the_engines_are_those_of_routing(void **state)
{
	for (int i = CONF_FTREE; i <= CONF_UPDN_ROOT; i++)
		assert_string_equal(conf_word("routing_engine", i), route_engine_name(i));
	assert_null(conf_word("routing_engine", CONF_UPDN_ROOT + 1));
	assert_null(route_engine_name(CONF_UPDN_ROOT + 1));
	assert_null(route_engine_name(-1));
}

static void the_systems_are_those_of_nvswitch(void **state)
{
	for (int i = 0; i < NVSWITCH_SYSTEMS; i++)
		assert_string_equal(conf_word("nvswitch_system", i), nvswitch_system_names[i]);
	assert_null(conf_word("nvswitch_system", NVSWITCH_SYSTEMS));
}

static void the_words_of_a_source_and_of_a_manager_in_progress(void **state)
{
	assert_string_equal(conf_word("nvswitch_second_source", NVSWITCH_ANYONE), "never");
	assert_string_equal(conf_word("nvswitch_second_source", NVSWITCH_ASKED), "pushed");
	assert_string_equal(conf_word("nvswitch_second_source", NVSWITCH_PROVEN), "unproven");
	assert_string_equal(conf_word("nvswitch_fm_in_progress", FM_PROGRESS_NORMAL), "normal");
	assert_string_equal(conf_word("nvswitch_fm_in_progress", FM_PROGRESS_DEGRADED), "degraded");
	assert_string_equal(conf_word("nvswitch_fm_in_progress", FM_PROGRESS_FAILED), "failed");
}

static void the_words_of_enforcement_classes_and_actions(void **state)
{
	assert_string_equal(conf_word("part_enforce", 0), "off");
	assert_string_equal(conf_word("part_enforce", CONF_ENFORCE_IN), "in");
	assert_string_equal(conf_word("part_enforce", CONF_ENFORCE_OUT), "out");
	assert_string_equal(conf_word("part_enforce", CONF_ENFORCE_IN | CONF_ENFORCE_OUT), "both");
	assert_string_equal(conf_word("health_action", CONF_WARN), "warn");
	assert_string_equal(conf_word("health_action", CONF_QUARANTINE), "quarantine");
	assert_string_equal(conf_word("port_metrics", CONF_PORTS_OFF), "off");
	assert_string_equal(conf_word("port_metrics", CONF_PORTS_SWITCHES), "switches");
	assert_string_equal(conf_word("port_metrics", CONF_PORTS_ALL), "all");
}

static void the_levels_are_those_of_the_log(void **state)
{
	for (int level = LOG_ERR; level <= LOG_DEBUG; level++)
		assert_int_equal(log_level_parse(conf_word("log_level", level)), level);
	assert_null(conf_word("log_level", LOG_ERR - 1));
}

static void defaults_are_what_the_sample_says(void **state)
{
	struct conf conf;

	conf_default(&conf);
	assert_string_equal(conf_word("routing_engine", conf.routing.engine), "ftree");
	assert_string_equal(conf_word("part_enforce", conf.partition.enforce), "both");
	assert_string_equal(conf_word("nvswitch_system", conf.nvswitch.system), "auto");
	assert_string_equal(conf_word("nvswitch_second_source", conf.nvswitch.second_source),
			    "pushed");
	assert_string_equal(conf_word("nvswitch_fm_in_progress", conf.nvswitch.fm_in_progress),
			    "degraded");
	assert_string_equal(conf_word("health_action", conf.perf.action), "quarantine");
	assert_string_equal(conf_word("log_level", conf.log_level), "info");
	assert_null(conf_word("sweep_interval", 0));
	assert_null(conf_word("no_such_key", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_engines_are_those_of_routing),
		cmocka_unit_test(the_systems_are_those_of_nvswitch),
		cmocka_unit_test(the_words_of_a_source_and_of_a_manager_in_progress),
		cmocka_unit_test(the_words_of_enforcement_classes_and_actions),
		cmocka_unit_test(the_levels_are_those_of_the_log),
		cmocka_unit_test(defaults_are_what_the_sample_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
