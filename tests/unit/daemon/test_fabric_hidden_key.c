/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A port with an M_Key of somebody else and protection level 2 or 3 (IBA 14.2.4.1) answers nothing.
 * It is told from a dead one by what no M_Key protects, and reported as probable.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/perf/module.h"
#include "fm/fabric/request.h"
#include "tests/lib/fabric_world.h"

#define OWN_KEY	    0x1111222233334444ull
#define FOREIGN_KEY 0x9999aaaabbbbccccull

static uint32_t host_index(const struct world *w)
{
	return w->design->nswitches + 5;
}

static guid_t host(const struct world *w)
{
	return w->design->nodes[host_index(w)].guid;
}

static void begin(struct world *w)
{
	world_init_stopped(w, small_tree());
	w->conf.sm.mkey = OWN_KEY;
}

/* Called for each Set that was executed. */
static void no_set_at_the_host(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	const struct world *w = arg;

	assert_true(node != host(w));
}

static void assert_probable(const struct world *w, const char *reason)
{
	assert_int_equal(status_number(w, "m_keys", "probable"), 1);
	assert_int_equal(count_alerts(w, "m-key-probable", reason), 1);
	assert_int_equal(count_alerts(w, "m-key-probable", "probably"), 1);
	assert_int_equal(count_logged(w, "alert", "answers no SMP"), 1);
}

static void assert_nothing_probable(const struct world *w)
{
	assert_int_equal(status_number(w, "m_keys", "probable"), 0);
	assert_int_equal(count_alerts(w, "m-key-probable", ""), 0);
}

/* The row of `fmctl links --sick`, from which `fmctl show` takes its note. */
static bool is_unhealthy(const struct world *w, const char *why)
{
	json_t *rows = link_health_links(w->fabric), *row;
	bool found = false;
	size_t i;

	json_array_foreach (rows, i, row)
		found |= !strcmp(json_string_value(json_object_get(row, "sick")), "m-key") &&
			 strstr(json_string_value(json_object_get(row, "why")), why);
	json_decref(rows);
	return found;
}

static void it_opens_again(struct world *w)
{
	double_on_set(w->hw, NULL, NULL);
	double_hold_mkey(w->hw, host(w), 1, 0, 0, 0);
	run_for(w, 180 * SECOND_US);
	assert_nothing_probable(w);
	assert_true(is_up(w));
	assert_int_equal(double_port_info(w->hw, host(w), 1)->mkey, OWN_KEY);
	assert_hardware_delivers(w, 1);
}

/* Its host gave it a key: it has its LID, answers PerfMgt, and reports what it drops. */
static void a_known_port_that_locks_itself_is_told_by_perfmgt_and_traps(void **state)
{
	for (uint8_t protect = 2; protect <= 3; protect++)
		for (unsigned traps = 0; traps < 2; traps++) {
			struct world w;

			begin(&w);
			start_fabric(&w);
			run_for(&w, 30 * SECOND_US);
			double_set_traps(w.hw, traps);
			double_on_set(w.hw, no_set_at_the_host, &w);
			double_hold_mkey(w.hw, host(&w), 1, FOREIGN_KEY, protect, 0);
			fabric_request_sweep(w.fabric, "test");
			run_for(&w, 120 * SECOND_US);
			assert_probable(&w, traps ? "trap 256" : "answers PerfMgt");
			assert_true(is_unhealthy(&w, traps ? "trap 256" : "answers PerfMgt"));
			run_for(&w, 600 * SECOND_US);
			assert_probable(&w, "");
			double_set_traps(w.hw, true);
			it_opens_again(&w);
			world_fini(&w);
		}
}

/*
 * Nobody has met it: its link was brought up by another manager, so a key is one of the reasons why
 * it may not answer.
 */
static void an_unknown_port_is_told_by_its_link(void **state)
{
	for (uint8_t protect = 2; protect <= 3; protect++) {
		struct world w;

		begin(&w);
		w.conf.sm.mkey = 0;
		start_fabric(&w); /* the other manager */
		run_for(&w, 30 * SECOND_US);
		stop_fabric(&w);
		double_hold_mkey(w.hw, host(&w), 1, FOREIGN_KEY, protect, 0);
		remove_state(&w, "cables");
		remove_state(&w, "lids");
		w.conf.sm.mkey = OWN_KEY;
		start_fabric(&w);
		run_for(&w, 60 * SECOND_US);
		assert_int_equal(status_number(&w, "m_keys", "probable"), 1);
		assert_int_equal(count_alerts(&w, "hcas-silent", "an M_Key that"), 1);
		assert_int_equal(count_alerts(&w, "m-key-probable", ""), 0);
		assert_true(is_unhealthy(&w, "its link was made Active"));
		it_opens_again(&w);
		world_fini(&w);
	}
}

/* A dead agent answers no GMP either, and one that was never brought up is just dead. */
static void a_dead_agent_is_no_key(void **state)
{
	struct world w;

	begin(&w);
	double_set_silent(w.hw, w.design->nodes[host_index(&w) + 1].guid, true);
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	double_set_silent(w.hw, host(&w), true);
	fabric_request_sweep(w.fabric, "test");
	run_for(&w, 300 * SECOND_US);
	assert_nothing_probable(&w);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_known_port_that_locks_itself_is_told_by_perfmgt_and_traps),
		cmocka_unit_test(an_unknown_port_is_told_by_its_link),
		cmocka_unit_test(a_dead_agent_is_no_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
