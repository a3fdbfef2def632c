/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SL2VL and VL arbitration records: what ports hold of the configuration, and nothing of what is
 * not known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/inventory/port_setup.h"
#include "fm/conf/conf.h"
#include "fm/mad/wire_sa.h"
#include "tests/lib/sa_ask.h"

static struct qos_set qos;

/* Host 1 and leaf 0's port 2 have been set up; leaf 0 is node WORLD_SW(0). */
static int tables(void **state)
{
	struct conf conf;
	struct world *w;

	sa_setup(state);
	w = *state;
	conf_default(&conf);
	conf.qos.on = true;
	qos_make(&conf.qos, &qos);
	w->view.qos = &qos;
	sa_publish(w->sa, &w->view);
	port_setup(inventory_find(&w->inv, WORLD_CA(1)), 1)->qos =
		(struct inv_qos){ .vls = 4, .held = 1u << INV_SL2VL };
	port_setup(inventory_find(&w->inv, WORLD_SW(0)), 2)->qos =
		(struct inv_qos){ .vls = 8, .held = 1u << INV_SL2VL };
	return 0;
}

/* Rows of a LID, and component `comp` of it. */
static unsigned rows_of(struct world *w, uint16_t attr, guid_t guid, unsigned at, uint8_t value,
			unsigned comp)
{
	uint16_t lid = world_lid(w, guid);
	uint8_t row[72] = { (uint8_t)(lid >> 8), (uint8_t)lid };

	row[at] = value;
	return ask_rows(w, &(struct world_request){ .method = WIRE_GET_TABLE,
						    .attr = attr,
						    .mask = WIRE_BIT(0) | WIRE_BIT(comp),
						    .data = row,
						    .len = sizeof(row) });
}

static void a_hosts_mapping_is_shown(void **state)
{
	static const uint8_t wanted[] = { 0x01, 0x23, 0x01, 0x23, 0x01, 0x23, 0x01, 0x23 },
			     unknown[8];

	assert_int_equal(rows_of(*state, WIRE_SA_SL2VL, HOST(1), 2, 0, 0), 1);
	assert_memory_equal(world_row(*state, 0) + 8, wanted, 8);
	assert_int_equal(rows_of(*state, WIRE_SA_SL2VL, HOST(2), 2, 0, 0), 1);
	assert_memory_equal(world_row(*state, 0) + 8, unknown, 8);
}

static void a_switchs_mapping_is_that_of_the_output_port(void **state)
{
	static const uint8_t wanted[] = { 0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67 },
			     unknown[8];

	assert_int_equal(rows_of(*state, WIRE_SA_SL2VL, WORLD_SW(0), 3, 2, 2), 9);
	for (unsigned in = 0; in < 9; in++)
		assert_memory_equal(world_row(*state, in) + 8, wanted, 8);
	assert_int_equal(rows_of(*state, WIRE_SA_SL2VL, WORLD_SW(0), 3, 3, 2), 9);
	assert_memory_equal(world_row(*state, 0) + 8, unknown, 8);
}

static void weights_are_shown_as_far_as_the_table_goes(void **state)
{
	struct world *w = *state;
	struct inv_port *port = &inventory_find(&w->inv, WORLD_CA(1))->ports[1];
	static const uint8_t wanted[] = { 0, 0, 1, 4, 0, 0 };
	struct wire_port_info info;

	wire_port_info_decode(port->info, &info);
	info.arb_low_cap = 2;
	wire_port_info_encode(&info, port->info);
	port_setup(inventory_find(&w->inv, WORLD_CA(1)), 1)->qos.held |= 1;
	assert_int_equal(rows_of(w, WIRE_SA_VL_ARB, HOST(1), 3, 1, 2), 1);
	assert_memory_equal(world_row(w, 0) + 8, wanted, sizeof(wanted));
	assert_int_equal(rows_of(w, WIRE_SA_VL_ARB, HOST(1), 3, 3, 2), 1);
	assert_int_equal(world_row(w, 0)[9], 0); /* high priority: was not set up */
}

/* As osmtest asks: port 0 of a host; and as others do: its port. */
static void port_numbers_are_of_switches(void **state)
{
	for (uint8_t num = 0; num < 2; num++) {
		assert_int_equal(rows_of(*state, WIRE_SA_VL_ARB, HOST(1), 2, num, 1), 4);
		assert_int_equal(rows_of(*state, WIRE_SA_SL2VL, HOST(1), 2, num, 1), 1);
		assert_int_equal(rows_of(*state, WIRE_SA_SL2VL, HOST(1), 3, num, 2), 1);
	}
	assert_int_equal(rows_of(*state, WIRE_SA_VL_ARB, HOST(1), 3, 2, 2), 1); /* a block */
	assert_int_equal(rows_of(*state, WIRE_SA_VL_ARB, WORLD_SW(0), 2, 2, 1), 4);
	assert_int_equal(rows_of(*state, WIRE_SA_VL_ARB, WORLD_SW(0), 2, 200, 1), 0);
}

static void without_qos_nothing_is_known(void **state)
{
	static const uint8_t unknown[8];
	struct world *w = *state;

	w->view.qos = NULL;
	sa_publish(w->sa, &w->view);
	assert_int_equal(rows_of(w, WIRE_SA_SL2VL, HOST(1), 2, 0, 0), 1);
	assert_memory_equal(world_row(w, 0) + 8, unknown, 8);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tables, sa_teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_hosts_mapping_is_shown),
		TEST(a_switchs_mapping_is_that_of_the_output_port),
		TEST(weights_are_shown_as_far_as_the_table_goes),
		TEST(port_numbers_are_of_switches),
		TEST(without_qos_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
