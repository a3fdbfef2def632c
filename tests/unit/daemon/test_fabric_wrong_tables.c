/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Switches that acknowledge forwarding blocks and do not hold them: an alert names them and routing
 * avoids them; they are not written for ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/fabric/double_own.h"
#include "tests/lib/fabric_world.h"

struct forger {
	struct world *w;
	guid_t sw;
	bool on;
	unsigned sets;
};

/* It answers that LinearFDBTop is set, and resets it. */
static void forge_top(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct forger *forger = arg;

	if (node != forger->sw)
		return;
	forger->sets++;
	if (forger->on && attr_id == WIRE_SWITCH_INFO)
		double_node(forger->w->hw, node)->si.lft_top = 0;
}

static void linear_fdb_top_that_stays_is_isolated_not_written_for_ever(void **state)
{
	struct forger forger = { .on = true };
	const char *name;
	struct world w;
	uint32_t spine;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	for (spine = 0; w.design->nodes[spine].level != 1; spine++)
		;
	name = w.design->nodes[spine].desc;
	forger.w = &w;
	forger.sw = w.design->nodes[spine].guid;
	double_on_set(w.hw, forge_top, &forger);
	double_reboot(w.hw, forger.sw);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_alerts(&w, "isolated", name), 1);
	assert_int_equal(dead_pairs(&w), 0);
	forger.sets = 0;
	run_for(&w, 600 * SECOND_US);
	assert_in_range(forger.sets, 1, 11); /* one a minute tries it */
	assert_int_equal(count_alerts(&w, "isolated", name), 1);
	assert_int_equal(dead_pairs(&w), 0);
	forger.on = false;
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_alerts(&w, "", name), 0);
	assert_true(is_up(&w));
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(double_switch_info(w.hw, forger.sw)->lft_top,
			 fabric_tables(w.fabric)->top);
	double_on_set(w.hw, NULL, NULL);
	world_fini(&w);
}

/* Once is a switch whose tables were reset: they are written again. */
static void linear_fdb_top_that_was_reset_once_is_set_again(void **state)
{
	struct world w;
	guid_t sw;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	sw = w.design->nodes[w.design->nswitches - 1].guid;
	for (unsigned i = 0; i < 2; i++) {
		double_node(w.hw, sw)->si.lft_top = 0;
		run_for(&w, 120 * SECOND_US);
		assert_int_equal(double_switch_info(w.hw, sw)->lft_top,
				 fabric_tables(w.fabric)->top);
	}
	assert_int_equal(count_logged(&w, "alert", ""), 0);
	world_fini(&w);
}

/* All paths over it lead nowhere, and nothing but a Get shows it. */
static void one_that_stores_nothing_is_found_when_its_tables_are_written_first(void **state)
{
	struct world w;
	uint32_t spine;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	for (spine = 0; w.design->nodes[spine].level != 1; spine++)
		;
	stop_fabric(&w);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
		double_reboot(w.hw, w.design->nodes[sw].guid);
	remove_state(&w, "tables");
	double_set_pretends(w.hw, w.design->nodes[spine].guid, true);
	w.conf.audit.rate = 256;
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(count_alerts(&w, "isolated", w.design->nodes[spine].desc), 1);
	assert_int_equal(dead_pairs(&w), 0);
	assert_true(is_up(&w));
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear_fdb_top_that_stays_is_isolated_not_written_for_ever),
		cmocka_unit_test(linear_fdb_top_that_was_reset_once_is_set_again),
		cmocka_unit_test(
			one_that_stores_nothing_is_found_when_its_tables_are_written_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
