/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A first start takes all that its sweep finds for known, and no more: ports that were empty then
 * are judged as all others when a cable is plugged into them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

static unsigned uplink(const struct topo *t, uint32_t leaf)
{
	unsigned num = 1;

	while (!topo_peer(t, topo_port(t, leaf, num)) ||
	       topo_peer(t, topo_port(t, leaf, num))->node >= t->nswitches)
		num++;
	return num;
}

/* Two leaves, of which an uplink each is not plugged yet. */
static void assert_leaf_to_leaf_is_held(bool state_tables)
{
	struct world w;
	const struct topo *t;
	guid_t ends[2];
	unsigned ports[2], count = 0;

	world_init_stopped(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	t = w.design;
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		double_set_state_table(w.hw, t->nodes[sw].guid, state_tables);
		if (t->nodes[sw].level || count == 2)
			continue;
		ends[count] = t->nodes[sw].guid;
		ports[count] = uplink(t, sw);
		double_cut(w.hw, ends[count], ports[count]);
		count++;
	}
	start_fabric(&w);
	run_for(&w, 10 * SECOND_US);
	assert_true(is_up(&w));
	double_plug(w.hw, ends[0], ports[0], ends[1], ports[1]);
	run_for(&w, SECOND_US);
	assert_int_equal((int)status_number(&w, NULL, "links_held"), 1);
	assert_int_equal(count_alerts(&w, "miswired", ""), 1);
	assert_int_equal(double_link_state(w.hw, ends[0], ports[0]), TOPO_INIT);
	world_fini(&w);
}

static void a_wrong_cable_into_ports_that_were_empty_is_held(void **state)
{
	assert_leaf_to_leaf_is_held(false);
}

/* PortInfo of a port that is down is never read there. */
static void it_is_where_switches_tell_their_ports_by_state_tables(void **state)
{
	assert_leaf_to_leaf_is_held(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_cable_into_ports_that_were_empty_is_held),
		cmocka_unit_test(it_is_where_switches_tell_their_ports_by_state_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
