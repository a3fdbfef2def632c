/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SA's records of nodes, ports, tables and managers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/sa_pod.h"

/* Numbers of components. */
enum { PORT_OPTIONS = 2, NODE_GUID = 7 };

static uint16_t lid_of_row(const struct world *w, unsigned i)
{
	const uint8_t *row = world_row(w, i);

	return (uint16_t)(row[0] << 8 | row[1]);
}

static void class_port_info_says_what_works(void **state)
{
	struct world *w = *state;
	struct world_request r = { .method = WIRE_GET, .attr = WIRE_SA_CLASS_PORT_INFO };

	assert_int_equal(ask_rows(w, &r), 1);
	assert_int_equal(world_row(w, 0)[0], 1);
	assert_int_equal(world_row(w, 0)[1], 2);
	assert_int_equal(world_row(w, 0)[2] & 0x20, 0x20); /* capability mask match */
	assert_int_equal(world_row(w, 0)[6] & 1, 1); /* saquery shows MulticastFDBTop by that */
	assert_int_equal(w->sent_len, WIRE_MAD_SIZE);
}

static void tables_have_a_row_for_everything_there_is(void **state)
{
	struct world *w = *state;

	assert_int_equal(table_rows(w, WIRE_SA_NODE), 4 + 7);
	assert_int_equal(w->sent_len, WIRE_SA_HEADER + 11 * 112);
	assert_int_equal(table_rows(w, WIRE_SA_PORT_INFO), 4 * 9 + 7);
	assert_int_equal(table_rows(w, WIRE_SA_SWITCH_INFO), 4);
	assert_int_equal(table_rows(w, WIRE_SA_LINK), 2 * (7 + 4)); /* not the one that is down */
	assert_int_equal(table_rows(w, WIRE_SA_SM_INFO), 1);
	assert_int_equal(table_rows(w, WIRE_SA_GUID_INFO), 4 + 7 * 2);
	assert_int_equal(table_rows(w, WIRE_SA_LFT), 4 * tables_blocks(&w->tables));
	assert_int_equal(table_rows(w, WIRE_SA_INFORM_INFO_RECORD), 0);
}

static void a_node_that_left_is_left_out(void **state)
{
	struct world *w = *state;

	inventory_find(&w->inv, WORLD_CA(1))->gone = true;
	assert_int_equal(table_rows(w, WIRE_SA_NODE), 4 + 6);
	inventory_remove(&w->inv, inventory_find(&w->inv, WORLD_CA(2)));
	assert_int_equal(table_rows(w, WIRE_SA_NODE), 4 + 5);
	assert_int_equal(table_rows(w, WIRE_SA_PORT_INFO), 4 * 9 + 5);
}

static void any_lid_of_a_port_finds_it(void **state)
{
	struct world *w = *state;
	uint16_t base = world_lid(w, HOST(4));
	uint8_t row[72] = { (uint8_t)((base + 1) >> 8), (uint8_t)(base + 1) };
	struct world_request r = { .method = WIRE_GET,
				   .attr = WIRE_SA_PORT_INFO,
				   .data = row,
				   .len = 72,
				   .mask = WIRE_BIT(WIRE_SA_LID) };

	assert_int_equal(ask_rows(w, &r), 1);
	assert_int_equal(lid_of_row(w, 0), base);
	r.attr = WIRE_SA_NODE;
	assert_int_equal(ask_rows(w, &r), 1);
	r.attr = WIRE_SA_GUID_INFO;
	r.method = WIRE_GET_TABLE;
	assert_int_equal(ask_rows(w, &r), 2);
	r.attr = WIRE_SA_LINK;
	assert_int_equal(ask_rows(w, &r), 1);
}

static void a_switch_lid_lists_the_ports_of_the_switch(void **state)
{
	struct world *w = *state;
	uint16_t lid = world_lid(w, WORLD_SW(2));
	uint8_t row[72] = { (uint8_t)(lid >> 8), (uint8_t)lid, 3 };
	struct world_request r = { .method = WIRE_GET_TABLE,
				   .attr = WIRE_SA_PORT_INFO,
				   .data = row,
				   .len = 72,
				   .mask = WIRE_BIT(WIRE_SA_LID) };

	assert_int_equal(ask_rows(w, &r), 9);
	for (unsigned i = 0; i < 9; i++) {
		assert_int_equal(lid_of_row(w, i), lid);
		assert_int_equal(world_row(w, i)[2], i);
	}
	r.mask |= WIRE_BIT(1);
	r.method = WIRE_GET;
	assert_int_equal(ask_rows(w, &r), 1);
	assert_int_equal(world_row(w, 0)[2], 3);
}

static uint64_t mkey_of_row(const struct world *w, unsigned i)
{
	struct wire_port_info info;

	wire_port_info_decode(world_row(w, i) + 4, &info);
	return info.mkey;
}

static void the_mkey_is_shown_to_nobody(void **state)
{
	struct world *w = *state;
	struct wire_port_info info = { .mkey = WORLD_MKEY + 1 };
	uint8_t row[72] = { 0 }, data[64];
	struct world_request r = { .method = WIRE_GET_TABLE, .attr = WIRE_SA_PORT_INFO };

	assert_int_equal(ask_rows(w, &r), 43);
	for (unsigned i = 0; i < 43; i++)
		assert_int_equal(mkey_of_row(w, i), 0);
	r.sm_key = WORLD_SM_KEY;
	assert_int_equal(ask_rows(w, &r), 43);
	for (unsigned i = 0; i < 43; i++)
		assert_int_equal(mkey_of_row(w, i), 0); /* nor to who is trusted */
	/* nor can it be guessed at by asking for it */
	wire_port_info_encode(&info, data);
	memcpy(row + 4, data, sizeof(data));
	r = (struct world_request){ .method = WIRE_GET_TABLE,
				    .attr = WIRE_SA_PORT_INFO,
				    .mask = WIRE_BIT(3),
				    .data = row,
				    .len = 72 };
	assert_int_equal(ask_rows(w, &r), 0);
	r.sm_key = WORLD_SM_KEY;
	assert_int_equal(ask_rows(w, &r), 0);
}

static void pkeys_are_for_trusted_askers(void **state)
{
	struct world *w = *state;
	struct world_request r = { .method = WIRE_GET_TABLE, .attr = WIRE_SA_PKEY };

	assert_int_equal(ask_status(w, &r), WIRE_SA_REQ_INVALID);
	r.sm_key = WORLD_SM_KEY;
	/* CAs have 64 keys, switches 8 at port 0 and 32 at each other port */
	assert_int_equal(ask_rows(w, &r), 7 * 2 + 4 * 9);
	assert_int_equal(world_row(w, 0)[8], 0xff);
	assert_int_equal(world_row(w, 0)[9], 0xff);
}

static void capability_bits_are_matched_by_modifier_bit_31(void **state)
{
	struct world *w = *state;
	struct wire_port_info info = { .capmask = 0x10u << 2 };
	uint8_t row[72] = { 0 }, data[64];
	struct world_request r = { .method = WIRE_GET_TABLE,
				   .attr = WIRE_SA_PORT_INFO,
				   .mask = WIRE_BIT(7),
				   .data = row,
				   .len = 72 };

	wire_port_info_encode(&info, data);
	memcpy(row + 4, data, sizeof(data));
	assert_int_equal(ask_rows(w, &r), 0);
	r.mod = 1u << 31;
	assert_int_equal(ask_rows(w, &r), 1); /* port 2 of the two-port CA */
	assert_int_equal(lid_of_row(w, 0), world_lid(w, WORLD_CA(5) + 2));
}

static void extended_speeds_show_as_qdr_unless_all_is_asked_for(void **state)
{
	struct world *w = *state;
	uint16_t lid = world_lid(w, HOST(0));
	uint8_t row[72] = { (uint8_t)(lid >> 8), (uint8_t)lid, 0, 0x80 };
	struct world_request r = { .method = WIRE_GET,
				   .attr = WIRE_SA_PORT_INFO,
				   .data = row,
				   .len = 72,
				   .mask = WIRE_BIT(WIRE_SA_LID) };
	struct inv_node *node = inventory_find(&w->inv, WORLD_CA(0));
	struct wire_port_info info;
	uint8_t data[64];

	wire_port_info_decode(node->ports[1].info, &info);
	info.speed_active = 1;
	info.speed_enabled = 1;
	wire_port_info_encode(&info, data);
	inventory_set_port_info(node, 1, data);
	assert_int_equal(ask_rows(w, &r), 1);
	wire_port_info_decode(world_row(w, 0) + 4, &info);
	assert_int_equal(info.speed_active, 5);
	assert_int_equal(info.speed_enabled, 5);
	assert_int_equal(info.speed_ext_active, 4);
	r.mask |= WIRE_BIT(PORT_OPTIONS);
	assert_int_equal(ask_rows(w, &r), 1);
	assert_int_equal(world_row(w, 0)[3], 0x80);
	wire_port_info_decode(world_row(w, 0) + 4, &info);
	assert_int_equal(info.speed_active, 1);
}

static void sm_info_names_this_sm(void **state)
{
	struct world *w = *state;
	struct wire_sm_info info;
	struct world_request r = { .method = WIRE_GET, .attr = WIRE_SA_SM_INFO };

	assert_int_equal(ask_rows(w, &r), 1);
	wire_sm_info_decode(world_row(w, 0) + 4, &info);
	assert_int_equal(lid_of_row(w, 0), w->view.sm_lid);
	assert_int_equal(info.guid, HOST(0));
	assert_int_equal(info.priority, 7);
	assert_int_equal(info.state, 3);
	assert_int_equal(info.sm_key, 0);
}

static void sm_info_names_the_other_managers_too(void **state)
{
	const struct sa_manager other = {
		.lid = 0,
		.guid = HOST(2),
		.info = { .guid = HOST(2), .priority = 3, .state = 2, .sm_key = 99 }
	};
	const struct sa_manager gone = { .guid = 0x999 };
	struct world *w = *state;
	struct wire_sm_info info;
	struct world_request r = { .method = WIRE_GET_TABLE, .attr = WIRE_SA_SM_INFO };

	sa_set_managers(w->sa, (struct sa_manager[]){ other, gone }, 2);
	assert_int_equal(ask_rows(w, &r), 2);
	wire_sm_info_decode(world_row(w, 1) + 4, &info);
	assert_int_equal(lid_of_row(w, 1), world_lid(w, HOST(2)));
	assert_int_equal(info.guid, HOST(2));
	assert_int_equal(info.priority, 3);
	assert_int_equal(info.state, 2);
	assert_int_equal(info.sm_key, 0);
	sa_set_managers(w->sa, NULL, 0);
	assert_int_equal(ask_rows(w, &r), 1);
}

static void lft_records_are_the_published_tables(void **state)
{
	struct world *w = *state;
	uint16_t lid = world_lid(w, WORLD_SW(1));
	uint8_t row[72] = { (uint8_t)(lid >> 8), (uint8_t)lid };
	struct world_request r = { .method = WIRE_GET,
				   .attr = WIRE_SA_LFT,
				   .data = row,
				   .len = 72,
				   .mask = WIRE_BIT(WIRE_SA_LID) | WIRE_BIT(1) };
	uint32_t sw = topo_find(w->topo, WORLD_SW(1));

	assert_int_equal(ask_rows(w, &r), 1);
	assert_memory_equal(world_row(w, 0) + 8, tables_row(&w->tables, sw), 64);
	row[3] = 9; /* a block past the top */
	assert_int_equal(ask_status(w, &r), WIRE_SA_NO_RECORDS);
}

static void switch_info_has_the_top_of_the_tables(void **state)
{
	struct world *w = *state;
	struct wire_switch_info info;
	uint8_t data[64] = { 0 };

	assert_int_equal(table_rows(w, WIRE_SA_SWITCH_INFO), 4);
	memcpy(data, world_row(w, 0) + 4, 20);
	wire_switch_info_decode(data, &info);
	assert_int_equal(info.lft_top, w->tables.top);
	assert_int_equal(info.lft_cap, 49152);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(class_port_info_says_what_works, sa_setup,
						sa_teardown),
		cmocka_unit_test_setup_teardown(tables_have_a_row_for_everything_there_is, sa_setup,
						sa_teardown),
		cmocka_unit_test_setup_teardown(a_node_that_left_is_left_out, sa_setup,
						sa_teardown),
		cmocka_unit_test_setup_teardown(any_lid_of_a_port_finds_it, sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(a_switch_lid_lists_the_ports_of_the_switch,
						sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(the_mkey_is_shown_to_nobody, sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(pkeys_are_for_trusted_askers, sa_setup,
						sa_teardown),
		cmocka_unit_test_setup_teardown(capability_bits_are_matched_by_modifier_bit_31,
						sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(extended_speeds_show_as_qdr_unless_all_is_asked_for,
						sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(sm_info_names_this_sm, sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(sm_info_names_the_other_managers_too, sa_setup,
						sa_teardown),
		cmocka_unit_test_setup_teardown(lft_records_are_the_published_tables, sa_setup,
						sa_teardown),
		cmocka_unit_test_setup_teardown(switch_info_has_the_top_of_the_tables, sa_setup,
						sa_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
