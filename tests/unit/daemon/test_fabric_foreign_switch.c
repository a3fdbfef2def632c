/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A switch whose M_Key is somebody else's (IBA 14.2.4): it is isolated from routing, named, and
 * sent no Set. Each SMP with a wrong key counts as a violation at its port 0, which the tests read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/fabric/request.h"
#include "tests/lib/fabric_world.h"

#define OWN_KEY	    0x1111222233334444ull
#define FOREIGN_KEY 0x9999aaaabbbbccccull
#define LEARNT	    100 /* Sets, all tries of each, that were sent before its key was known */

/* Two tiers above the leaves: the last switch is a spine. */
static guid_t spine(const struct world *w)
{
	return w->design->nodes[w->design->nswitches - 1].guid;
}

static unsigned violations(const struct world *w)
{
	return double_port_info(w->hw, spine(w), 0)->mkey_violations;
}

static void start_with_key(struct world *w)
{
	world_init_stopped(w, small_tree());
	w->conf.sm.mkey = OWN_KEY;
}

/* It lost its power, and came back under the key of another manager. */
static void take_the_spine(struct world *w, uint8_t protect)
{
	double_set_power(w->hw, spine(w), false);
	run_for(w, 5 * SECOND_US);
	double_set_power(w->hw, spine(w), true);
	double_hold_mkey(w->hw, spine(w), 0, FOREIGN_KEY, protect, 0);
	run_for(w, 60 * SECOND_US);
}

/* Tables change, and ports of the spine report changes, which a Set would acknowledge. */
static void have_faults(struct world *w)
{
	guid_t leaf = w->design->nodes[far_leaf(w)].guid;

	for (unsigned i = 0; i < 3; i++) {
		double_cut(w->hw, leaf, uplink_of(w->design, far_leaf(w)));
		double_cut(w->hw, spine(w), 1);
		run_for(w, 60 * SECOND_US);
		double_join(w->hw, leaf, uplink_of(w->design, far_leaf(w)));
		double_join(w->hw, spine(w), 1);
		run_for(w, 60 * SECOND_US);
	}
}

static void assert_told(const struct world *w)
{
	assert_int_equal(count_alerts(w, "port-m-key", "isolated from routing"), 1);
	assert_int_equal(count_alerts(w, "", ""), 1);
	assert_int_equal(status_number(w, "m_keys", "foreign"), 1);
}

static void assert_free_again(struct world *w)
{
	double_hold_mkey(w->hw, spine(w), 0, 0, 0, 0);
	run_for(w, 180 * SECOND_US);
	assert_int_equal(count_alerts(w, "", ""), 0);
	assert_int_equal(double_port_info(w->hw, spine(w), 0)->mkey, OWN_KEY);
	assert_hardware_holds_the_tables(w);
	assert_hardware_delivers(w, 1);
}

static void a_switch_with_a_foreign_key_is_isolated_and_sent_no_set(void **state)
{
	for (uint8_t protect = 0; protect <= 1; protect++) {
		struct world w;
		unsigned before;

		start_with_key(&w);
		start_fabric(&w);
		run_for(&w, 30 * SECOND_US);
		take_the_spine(&w, protect);
		before = violations(&w);
		assert_told(&w);
		assert_hardware_delivers(&w, 1);
		run_for(&w, 600 * SECOND_US);
		have_faults(&w);
		assert_int_equal(violations(&w), before);
		assert_in_range(before, 0, LEARNT);
		assert_told(&w);
		assert_hardware_delivers(&w, 2);
		assert_free_again(&w);
		world_fini(&w);
	}
}

static void one_that_is_met_at_a_start_is_not_fought_either(void **state)
{
	for (uint8_t protect = 0; protect <= 1; protect++) {
		struct world w;
		unsigned before;

		start_with_key(&w);
		double_hold_mkey(w.hw, spine(&w), 0, FOREIGN_KEY, protect, 0);
		start_fabric(&w);
		run_for(&w, 60 * SECOND_US);
		before = violations(&w);
		assert_told(&w);
		run_for(&w, 600 * SECOND_US);
		have_faults(&w);
		assert_int_equal(violations(&w), before);
		assert_in_range(before, 0, LEARNT);
		assert_free_again(&w);
		world_fini(&w);
	}
}

/* swept: its PortInfo is read by a sweep before it is asked about its key. */
static void assert_used_again(uint64_t own_key, bool swept)
{
	struct world w;
	guid_t host;

	start_with_key(&w);
	w.conf.sm.mkey = own_key;
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	host = w.design->nodes[w.design->nnodes - 1].guid;
	double_set_power(w.hw, host, false);
	run_for(&w, 5 * SECOND_US);
	double_set_power(w.hw, host, true);
	double_hold_mkey(w.hw, host, 1, FOREIGN_KEY, 0, 0);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_alerts(&w, "port-m-key", ""), 1);
	double_hold_mkey(w.hw, host, 1, 0, 0, 0);
	if (swept)
		fabric_request_refresh(w.fabric, host, "test");
	run_for(&w, 180 * SECOND_US);
	assert_int_equal(count_alerts(&w, "", ""), 0);
	assert_int_equal(double_port_info(w.hw, host, 1)->mkey, own_key);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	assert_hardware_delivers(&w, 1);
	world_fini(&w);
}

static void a_host_whose_foreign_key_is_gone_is_used_again(void **state)
{
	for (unsigned swept = 0; swept < 2; swept++) {
		assert_used_again(0, swept);
		assert_used_again(OWN_KEY, swept);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_with_a_foreign_key_is_isolated_and_sent_no_set),
		cmocka_unit_test(one_that_is_met_at_a_start_is_not_fought_either),
		cmocka_unit_test(a_host_whose_foreign_key_is_gone_is_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
