/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The own port's state machine: what PortInfo and the neighbour's NodeInfo come to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/port.h"
#include "topology/snapshot/topo.h"

#define LEAF 0x100u

static enum own_port_action read_state(struct own_port *p, enum topo_state state, uint16_t sm_lid)
{
	const struct wire_port_info info = { .state = state, .lid = 5, .sm_lid = sm_lid };

	return own_port_take(p, own_port_read(p, &info));
}

static enum own_port_action hear(struct own_port *p, guid_t node, uint8_t port)
{
	const struct wire_node_info info = { .node_guid = node, .local_port = port };

	return own_port_take(p, own_port_heard(p, node ? &info : NULL));
}

static struct own_port in_fabric(void)
{
	struct own_port p = { .state = OWN_PORT_NO_DEVICE };

	assert_int_equal(own_port_take(&p, OWN_PORT_OPENED), OWN_PORT_READ);
	assert_int_equal(read_state(&p, TOPO_INIT, 0), OWN_PORT_SWEEP);
	assert_int_equal(own_port_take(&p, own_port_swept(&p, LEAF, 7, true)), OWN_PORT_WAIT);
	assert_int_equal(read_state(&p, TOPO_ACTIVE, 5), OWN_PORT_STAY);
	assert_int_equal(p.state, OWN_PORT_IN_FABRIC);
	return p;
}

static void without_a_device_it_waits_for_one(void **state)
{
	struct own_port p = { .state = OWN_PORT_NO_DEVICE };

	for (enum own_port_event e = OWN_PORT_DOWN; e < OWN_PORT_EVENTS; e++)
		assert_int_equal(own_port_take(&p, e), OWN_PORT_STAY);
	assert_int_equal(own_port_take(&p, OWN_PORT_LOST), OWN_PORT_STAY);
	assert_int_equal(own_port_take(&p, OWN_PORT_REFUSED), OWN_PORT_WAIT);
	assert_string_equal(own_port_state_name(p.state), "port-busy");
	assert_int_equal(own_port_take(&p, OWN_PORT_OPENED), OWN_PORT_READ);
	assert_string_equal(own_port_state_name(p.state), "no-link");
}

static void a_link_that_is_down_is_waited_for(void **state)
{
	struct own_port p = { .state = OWN_PORT_NO_LINK };

	assert_int_equal(read_state(&p, TOPO_DOWN, 0), OWN_PORT_STAY);
	assert_false(own_port_has_link(&p));
	assert_int_equal(read_state(&p, TOPO_INIT, 0), OWN_PORT_SWEEP);
	assert_true(own_port_has_link(&p));
}

/* Another manager may have made it Active already, or it was Active when fmd began. */
static void a_link_comes_up_in_any_state(void **state)
{
	for (enum topo_state up = TOPO_INIT; up <= TOPO_ACTIVE; up++) {
		struct own_port p = { .state = OWN_PORT_NO_LINK };

		assert_int_equal(read_state(&p, up, 3), OWN_PORT_SWEEP);
	}
}

static void a_silent_neighbour_is_asked_until_it_answers(void **state)
{
	struct own_port p = { .state = OWN_PORT_NO_LINK };

	read_state(&p, TOPO_INIT, 0);
	assert_int_equal(read_state(&p, TOPO_INIT, 0), OWN_PORT_STAY); /* the sweep asks it */
	assert_int_equal(own_port_take(&p, own_port_swept(&p, 0, 0, true)), OWN_PORT_STAY);
	assert_true(p.silent);
	assert_int_equal(read_state(&p, TOPO_INIT, 0), OWN_PORT_PROBE);
	assert_int_equal(hear(&p, 0, 0), OWN_PORT_STAY);
	assert_int_equal(hear(&p, LEAF, 7), OWN_PORT_SWEEP);
	assert_int_equal(p.state, OWN_PORT_SILENT); /* till the sweep has met it */
}

static void a_port_that_goes_down_leaves(void **state)
{
	struct own_port p = in_fabric();

	assert_int_equal(read_state(&p, TOPO_DOWN, 0), OWN_PORT_LEAVE);
	assert_int_equal(p.state, OWN_PORT_NO_LINK);
	assert_int_equal(p.neighbour, 0);
	assert_int_equal(read_state(&p, TOPO_DOWN, 0), OWN_PORT_STAY);
	assert_int_equal(read_state(&p, TOPO_INIT, 0), OWN_PORT_SWEEP);
}

/* Down and up again between two reads: only a manager raises the state, so a lower one tells. */
static void a_bounce_between_two_reads_is_seen(void **state)
{
	struct own_port p = in_fabric();

	assert_int_equal(read_state(&p, TOPO_INIT, 5), OWN_PORT_BEGIN_AGAIN);
	assert_int_equal(p.state, OWN_PORT_SILENT);
	p = in_fabric();
	assert_int_equal(read_state(&p, TOPO_ARMED, 5), OWN_PORT_BEGIN_AGAIN);
}

static void one_wrong_answer_of_the_neighbour_is_no_reason_to_leave(void **state)
{
	struct own_port p = in_fabric();

	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(hear(&p, LEAF + 1, 7), OWN_PORT_PROBE);
		assert_int_equal(hear(&p, LEAF + 2, 7), OWN_PORT_STAY); /* another one again */
		assert_int_equal(hear(&p, LEAF, 7), OWN_PORT_STAY);
	}
	assert_int_equal(p.state, OWN_PORT_IN_FABRIC);
}

/* Moved, and made Active by another manager between two reads. */
static void another_manager_s_mark_has_the_neighbour_asked(void **state)
{
	struct own_port p = in_fabric();

	assert_int_equal(read_state(&p, TOPO_ACTIVE, 9), OWN_PORT_PROBE);
	assert_int_equal(hear(&p, LEAF, 7), OWN_PORT_STAY);
	assert_int_equal(read_state(&p, TOPO_ACTIVE, 9), OWN_PORT_STAY);
	assert_int_equal(hear(&p, LEAF + 1, 7), OWN_PORT_PROBE);
	assert_int_equal(hear(&p, LEAF + 1, 7), OWN_PORT_BEGIN_AGAIN);
}

static void another_node_or_port_behind_it_is_another_place(void **state)
{
	struct own_port p = in_fabric();

	assert_int_equal(hear(&p, LEAF, 8), OWN_PORT_PROBE);
	assert_int_equal(hear(&p, LEAF, 8), OWN_PORT_BEGIN_AGAIN);
	p = in_fabric();
	assert_int_equal(own_port_take(&p, own_port_swept(&p, LEAF + 1, 7, false)),
			 OWN_PORT_BEGIN_AGAIN);
	p = in_fabric(); /* a sweep that began with nothing known may find it anywhere */
	assert_int_equal(own_port_take(&p, own_port_swept(&p, LEAF + 1, 9, true)), OWN_PORT_STAY);
	assert_int_equal(hear(&p, LEAF + 1, 9), OWN_PORT_STAY);
}

static void a_neighbour_that_falls_silent_is_no_reason_to_leave(void **state)
{
	struct own_port p = in_fabric();

	assert_int_equal(hear(&p, 0, 0), OWN_PORT_STAY);
	assert_true(p.silent);
	assert_int_equal(p.state, OWN_PORT_IN_FABRIC);
	assert_int_equal(hear(&p, LEAF, 7), OWN_PORT_STAY);
	assert_false(p.silent);
}

static void a_device_that_goes_is_left_in_any_state(void **state)
{
	struct own_port p = in_fabric();

	assert_int_equal(own_port_take(&p, OWN_PORT_LOST), OWN_PORT_LEAVE);
	assert_int_equal(p.state, OWN_PORT_NO_DEVICE);
	assert_int_equal(own_port_take(&p, OWN_PORT_OPENED), OWN_PORT_READ);
	assert_int_equal(own_port_take(&p, OWN_PORT_LOST), OWN_PORT_WAIT);
	own_port_take(&p, OWN_PORT_OPENED);
	assert_int_equal(read_state(&p, TOPO_ACTIVE, 5),
			 OWN_PORT_SWEEP); /* nothing is left of before */
	assert_int_equal(own_port_take(&p, OWN_PORT_LOST), OWN_PORT_LEAVE);
}

static void a_switch_s_own_port_needs_no_link(void **state)
{
	struct own_port p = { .state = OWN_PORT_NO_LINK, .is_switch = true };

	assert_int_equal(read_state(&p, TOPO_DOWN, 0), OWN_PORT_SWEEP);
	assert_int_equal(own_port_take(&p, own_port_swept(&p, 0, 0, true)), OWN_PORT_WAIT);
	assert_int_equal(read_state(&p, TOPO_DOWN, 0), OWN_PORT_STAY);
	assert_int_equal(p.state, OWN_PORT_IN_FABRIC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_device_it_waits_for_one),
		cmocka_unit_test(a_link_that_is_down_is_waited_for),
		cmocka_unit_test(a_link_comes_up_in_any_state),
		cmocka_unit_test(a_silent_neighbour_is_asked_until_it_answers),
		cmocka_unit_test(a_port_that_goes_down_leaves),
		cmocka_unit_test(a_bounce_between_two_reads_is_seen),
		cmocka_unit_test(one_wrong_answer_of_the_neighbour_is_no_reason_to_leave),
		cmocka_unit_test(another_manager_s_mark_has_the_neighbour_asked),
		cmocka_unit_test(another_node_or_port_behind_it_is_another_place),
		cmocka_unit_test(a_neighbour_that_falls_silent_is_no_reason_to_leave),
		cmocka_unit_test(a_device_that_goes_is_left_in_any_state),
		cmocka_unit_test(a_switch_s_own_port_needs_no_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
