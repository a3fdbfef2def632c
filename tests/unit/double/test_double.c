/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fabric double: how MADs travel in it, and what its nodes hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "tests/fabric/double_world.h"

/* ---- Directed routes ------------------------------------------------------------------------- */

static void directed_route_reaches_each_node_and_comes_back(void **state)
{
	struct double_world w;
	struct wire_node_info ni;
	char desc[65];

	double_world_init(&w, NULL);
	assert_int_equal(double_world_get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_OK);
	wire_node_info_decode(w.data, &ni);
	assert_int_equal(ni.node_guid, H2);
	assert_int_equal(ni.local_port, 1);
	assert_int_equal(w.last.rtt_us, 10 + 2 * 4 * 2);
	assert_int_equal(double_world_get(&w, &to_spine, WIRE_NODE_INFO, 0), MAD_OK);
	wire_node_info_decode(w.data, &ni);
	assert_int_equal(ni.node_guid, SPINE);
	assert_int_equal(ni.local_port, 1);
	assert_int_equal(double_world_get(&w, &to_h1, WIRE_NODE_DESC, 0), MAD_OK);
	wire_node_desc_decode(w.data, desc);
	assert_string_equal(desc, "h1 mlx5_0");
	double_world_fini(&w);
}

static void directed_route_into_nothing_is_lost(void **state)
{
	const struct mad_path no_cable = { .hops = 2, .ports = { 1, 5 } };
	const struct mad_path no_port = { .hops = 2, .ports = { 1, 41 } };
	const struct mad_path through_host = { .hops = 5, .ports = { 1, 9, 2, 1, 1 } };
	const struct mad_path other_port = { .hops = 1, .ports = { 2 } };
	struct double_world w;

	double_world_init(&w, NULL);
	assert_int_equal(double_world_get(&w, &no_cable, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(double_drops(w.d)->dead_link, 3);
	assert_int_equal(double_world_get(&w, &no_port, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(double_world_get(&w, &through_host, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(double_world_get(&w, &other_port, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(double_drops(w.d)->bad_route, 9);
	double_cut(w.d, SPINE, 2);
	assert_int_equal(double_world_get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	double_join(w.d, LEAF2, 9);
	assert_int_equal(double_world_get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_OK);
	double_world_fini(&w);
}

/* ---- State ----------------------------------------------------------------------------------- */

static void speeds_need_the_modifier_bit(void **state)
{
	struct double_world w;
	struct wire_port_info pi;

	double_world_init(&w, NULL);
	double_world_get(&w, &to_leaf1, WIRE_PORT_INFO, 9 | WIRE_MOD_EXT_SPEEDS);
	wire_port_info_decode(w.data, &pi);
	assert_int_equal(wire_port_info_speed(&pi), TOPO_XDR);
	double_world_get(&w, &to_leaf1, WIRE_PORT_INFO, 9);
	wire_port_info_decode(w.data, &pi);
	assert_int_equal(wire_port_info_speed(&pi), TOPO_QDR);
	double_world_get(&w, &to_h1, WIRE_PORT_INFO, 1 | WIRE_MOD_EXT_SPEEDS);
	wire_port_info_decode(w.data, &pi);
	assert_int_equal(wire_port_info_speed(&pi), TOPO_NDR);
	assert_int_equal(wire_port_info_lanes(&pi), 4);
	assert_true(pi.capmask & WIRE_CAP_EXT_SPEEDS);
	assert_true(pi.capmask2 & WIRE_CAP2_NDR);
	double_world_get(&w, &to_h1, WIRE_PORT_INFO, 1);
	wire_port_info_decode(w.data, &pi);
	assert_int_equal(wire_port_info_speed(&pi), TOPO_QDR);
	double_world_fini(&w);
}

static void link_goes_up_by_the_book_only(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	assert_int_equal(double_link_state(w.d, LEAF1, 1), TOPO_INIT);
	assert_int_equal(double_world_change(&w, &to_leaf1, 1, change_state, TOPO_ACTIVE),
			 MAD_STATUS);
	assert_int_equal(double_world_change(&w, &to_leaf1, 1, change_state, TOPO_INIT),
			 MAD_STATUS);
	assert_int_equal(double_world_change(&w, &to_leaf1, 5, change_state, TOPO_ARMED),
			 MAD_STATUS); /* no cable */
	assert_int_equal(double_world_change(&w, &to_leaf1, 1, change_state, TOPO_ARMED), MAD_OK);
	assert_int_equal(double_world_change(&w, &to_leaf1, 1, change_state, TOPO_ACTIVE),
			 MAD_STATUS); /* peer Init */
	assert_int_equal(w.last.status, 0x1c);
	assert_int_equal(double_world_change(&w, &to_h1, 1, change_state, TOPO_ARMED), MAD_OK);
	assert_int_equal(double_world_change(&w, &to_leaf1, 1, change_state, TOPO_ACTIVE), MAD_OK);
	assert_int_equal(double_world_change(&w, &to_h1, 1, change_state, TOPO_ACTIVE), MAD_OK);
	assert_int_equal(double_link_state(w.d, H1, 1), TOPO_ACTIVE);
	assert_false(double_switch_info(w.d, LEAF1)->port_state_change);
	assert_int_equal(double_world_change(&w, &to_leaf1, 9, change_state, TOPO_DOWN), MAD_OK);
	assert_int_equal(double_link_state(w.d, SPINE, 1), TOPO_INIT); /* trains again at once */
	assert_true(double_switch_info(w.d, SPINE)->port_state_change);
	double_world_fini(&w);
}

static void values_that_do_not_fit_are_refused_whole(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	assert_int_equal(double_world_change(&w, &to_h1, 1, change_mtu, 6), MAD_STATUS);
	assert_int_equal(double_world_change(&w, &to_h1, 1, change_lid, 0xc000), MAD_STATUS);
	assert_int_equal(double_port_info(w.d, H1, 1)->lid, 0);
	assert_int_equal(w.sets, 0);
	assert_int_equal(double_world_change(&w, &to_h1, 1, change_lid, 7), MAD_OK);
	assert_int_equal(double_port_info(w.d, H1, 1)->lid, 7);
	assert_int_equal(w.sets, 1);
	assert_int_equal(double_world_get(&w, &to_h1, WIRE_SWITCH_INFO, 0), MAD_STATUS);
	assert_int_equal(w.last.status, 0x0c);
	assert_int_equal(double_world_get(&w, &to_leaf1, WIRE_PORT_INFO, 41), MAD_STATUS);
	double_world_fini(&w);
}

static void disabled_port_stays_down_until_told_to_poll(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	assert_int_equal(double_world_change(&w, &to_leaf1, 9, change_phys, 3), MAD_OK);
	assert_int_equal(double_link_state(w.d, SPINE, 1), TOPO_DOWN);
	assert_int_equal(double_world_get(&w, &to_spine, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(double_world_change(&w, &to_leaf1, 9, change_phys, 2), MAD_OK);
	assert_int_equal(double_link_state(w.d, SPINE, 1), TOPO_INIT);
	double_world_fini(&w);
}

static void tables_read_back_as_written(void **state)
{
	struct double_world w;
	uint8_t block[64], masks[64] = { 0x80, 0x02 };
	uint16_t pkeys[32] = { 0x8001, 0xffff };
	unsigned count;

	double_world_init(&w, NULL);
	for (int i = 0; i < 64; i++)
		block[i] = (uint8_t)(i % 40);
	assert_int_equal(double_world_set(&w, &to_leaf1, WIRE_LFT, 3, block), MAD_OK);
	assert_int_equal(double_lft(w.d, LEAF1, 3 * 64 + 39), 39);
	assert_int_equal(double_lft(w.d, LEAF1, 5), 255);
	assert_int_equal(double_world_get(&w, &to_leaf1, WIRE_LFT, 3), MAD_OK);
	assert_memory_equal(w.data, block, sizeof(block));
	assert_int_equal(double_world_get(&w, &to_leaf1, WIRE_LFT, 768),
			 MAD_STATUS); /* past LinearFDBCap */

	assert_int_equal(double_world_set(&w, &to_leaf1, WIRE_MFT, 1u << 28 | 2, masks), MAD_OK);
	assert_true(double_mft(w.d, LEAF1, 0xc000 + 64, 31));
	assert_true(double_mft(w.d, LEAF1, 0xc000 + 64, 17));
	assert_false(double_mft(w.d, LEAF1, 0xc000 + 64, 15));
	assert_int_equal(double_world_set(&w, &to_leaf1, WIRE_MFT, 3u << 28, masks),
			 MAD_STATUS); /* 41 ports: 3 columns */

	wire_words_encode(pkeys, block);
	assert_int_equal(double_world_set(&w, &to_leaf1, WIRE_PKEY_TABLE, 9u << 16, block), MAD_OK);
	assert_int_equal(double_pkeys(w.d, LEAF1, 9, &count)[0], 0x8001);
	assert_int_equal(double_pkeys(w.d, LEAF1, 1, &count)[0], 0xffff);
	assert_int_equal(w.sets, 3);
	double_world_fini(&w);
}

static void state_table_shows_two_ports_a_byte(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	assert_int_equal(double_world_get(&w, &to_leaf1, WIRE_PORT_STATE_TABLE, 0), MAD_STATUS);
	double_set_state_table(w.d, LEAF1, true);
	assert_int_equal(double_world_get(&w, &to_leaf1, WIRE_PORT_STATE_TABLE, 0), MAD_OK);
	assert_int_equal(w.data[0], TOPO_ACTIVE << 4 | TOPO_INIT); /* ports 0 and 1 */
	assert_int_equal(w.data[4], TOPO_DOWN << 4 | TOPO_INIT);   /* 8 and 9 */
	assert_int_equal(w.data[20], TOPO_DOWN << 4);		   /* 40 is the last */
	double_world_get(&w, &to_leaf1, WIRE_PORT_INFO, 0);
	assert_true(double_port_info(w.d, LEAF1, 0)->capmask2 & WIRE_CAP2_STATE_TABLE);
	double_world_fini(&w);
}

/* ---- By LID ---------------------------------------------------------------------------------- */

static void lid_routed_smp_follows_the_tables(void **state)
{
	struct double_world w;
	struct wire_node_info ni;

	double_world_init(&w, NULL);
	assert_int_equal(double_world_ask(&w, (struct mad_request){ .lid = LID_H2,
								    .attr_id = WIRE_NODE_INFO }),
			 MAD_TIMEOUT);
	double_world_bring_up(&w);
	assert_int_equal(double_world_ask(&w, (struct mad_request){ .lid = LID_H2,
								    .attr_id = WIRE_NODE_INFO }),
			 MAD_OK);
	wire_node_info_decode(w.data, &ni);
	assert_int_equal(ni.node_guid, H2);
	assert_int_equal(double_trace(w.d, H1, 1, LID_H2), 4);
	assert_int_equal(double_trace(w.d, H1, 1, LID_SPINE), 2);
	assert_int_equal(double_trace(w.d, H1, 1, 9), -ENOENT);
	double_set_lft(w.d, LEAF1, 60, 9); /* above LinearFDBTop: as if it were not there */
	double_set_lft(w.d, SPINE, 60, 1);
	assert_int_equal(double_trace(w.d, H1, 1, 60), -ENOENT);
	assert_int_equal(double_drops(w.d)->no_entry, 3); /* who only looks is not counted */
	double_set_lft(w.d, SPINE, LID_H2, 1);
	assert_int_equal(double_trace(w.d, H1, 1, LID_H2), -ELOOP);
	double_set_lft(w.d, SPINE, LID_H2, 3);
	assert_int_equal(double_trace(w.d, H1, 1, LID_H2), -ENOTCONN);
	double_world_fini(&w);
}

static void catch_cb(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct double_world *w = arg;

	w->caught++;
	w->caught_len = len;
	memcpy(w->caught_mad, mad, len < sizeof(w->caught_mad) ? len : sizeof(w->caught_mad));
}

struct answering {
	struct double_world *w;
	size_t len;
};

static void sa_answer_cb(void *arg, const struct io_addr *from, const struct wire_mad *mad,
			 const uint8_t *raw, size_t len)
{
	struct answering *a = arg;
	struct wire_mad m = *mad;
	uint8_t answer[1024] = { 0 };

	assert_int_equal(from->lid, LID_H2);
	assert_int_equal(from->qp, 1);
	memcpy(answer, raw, len);
	m.method = WIRE_GET_TABLE_RESP;
	wire_mad_encode(&m, answer);
	assert_int_equal(mad_reply(a->w->mad, from, answer, a->len), 0);
}

static void sa_query_from_a_host_is_answered_there(void **state)
{
	const struct wire_mad query = {
		.mgmt_class = WIRE_SA, .class_version = 2, .method = WIRE_GET_TABLE, .tid = 0x42
	};
	const struct io_addr to_sm = { .lid = LID_H1, .qp = 1 };
	const size_t lengths[] = { 120, 256, 900 }; /* RMPP may be shorter and longer than a MAD */
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	struct answering a;
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	wire_mad_encode(&query, mad);
	for (unsigned i = 0; i < 3; i++) {
		a = (struct answering){ &w, lengths[i] };
		mad_handle(w.mad, WIRE_SA, sa_answer_cb, &a);
		double_inject(w.d, H2, 1, &to_sm, mad, sizeof(mad), catch_cb, &w);
		loop_run(w.loop);
		assert_int_equal(w.caught, i + 1);
		assert_int_equal(w.caught_len, lengths[i]);
		assert_int_equal(w.caught_mad[3], WIRE_GET_TABLE_RESP);
		assert_int_equal(w.caught_mad[15], 0x42);
	}
	double_world_change(&w, &to_leaf2, 1, change_state,
			    TOPO_DOWN); /* data passes Active links only */
	double_inject(w.d, H2, 1, &to_sm, mad, sizeof(mad), catch_cb, &w);
	loop_run(w.loop);
	assert_int_equal(w.caught, 3);
	assert_int_equal(double_drops(w.d)->inactive, 1);
	double_world_fini(&w);
}

static void sm_answer_cb(void *arg, const struct io_addr *from, const struct wire_mad *mad,
			 const uint8_t *raw, size_t len)
{
	struct double_world *w = arg;
	struct wire_mad m = *mad;
	uint8_t answer[WIRE_MAD_SIZE];

	memcpy(answer, raw, sizeof(answer));
	m.method = WIRE_GET_RESP;
	m.returning = true;
	wire_mad_encode(&m, answer);
	assert_int_equal(mad_reply(w->mad, from, answer, sizeof(answer)), 0);
}

static void another_sm_asks_ours_by_directed_route(void **state)
{
	const struct wire_mad query = {
		.mgmt_class = WIRE_SMI_DR,
		.class_version = 1,
		.method = WIRE_GET,
		.attr_id = WIRE_SM_INFO,
		.hop_count = 4,
		.dr_slid = 0xffff,
		.dr_dlid = 0xffff,
		.path = { 0, 1, 9, 1, 1 },
	};
	const struct io_addr to = { .lid = 0xffff };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	struct double_world w;

	double_world_init(&w, NULL);
	mad_handle(w.mad, WIRE_SMI_DR, sm_answer_cb, &w);
	wire_mad_encode(&query, mad);
	double_inject(w.d, H2, 1, &to, mad, sizeof(mad), catch_cb, &w);
	loop_run(w.loop);
	assert_int_equal(w.caught, 1);
	assert_int_equal(w.caught_mad[3], WIRE_GET_RESP);
	double_world_fini(&w);
}

static void counters_are_asked_for_by_lid(void **state)
{
	uint8_t data[WIRE_GMP_DATA] = { [41] = 2 }; /* PortSelect */
	struct mad_request get = { .lid = LID_SPINE,
				   .mgmt_class = WIRE_PERF,
				   .method = WIRE_GET,
				   .attr_id = WIRE_PORT_COUNTERS,
				   .data = data };
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	assert_int_equal(double_world_send(&w, get), MAD_OK);
	assert_int_equal(w.data[41], 2);
	data[41] = 200; /* no such port */
	assert_int_equal(double_world_send(&w, get), MAD_STATUS);
	data[41] = 2;
	get.lid = 77; /* nobody's */
	assert_int_equal(double_world_send(&w, get), MAD_TIMEOUT);
	double_world_fini(&w);
}

static void other_sm_answers_when_there_is_one(void **state)
{
	const struct wire_sm_info sm = { .guid = 0x121, .priority = 3, .state = 3 };
	struct wire_sm_info got;
	struct double_world w;

	double_world_init(&w, NULL);
	assert_int_equal(double_world_get(&w, &to_h2, WIRE_SM_INFO, 0), MAD_STATUS);
	double_set_sm(w.d, H2, 1, &sm);
	assert_int_equal(double_world_get(&w, &to_h2, WIRE_SM_INFO, 0), MAD_OK);
	wire_sm_info_decode(w.data, &got);
	assert_int_equal(got.priority, 3);
	double_world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directed_route_reaches_each_node_and_comes_back),
		cmocka_unit_test(directed_route_into_nothing_is_lost),
		cmocka_unit_test(speeds_need_the_modifier_bit),
		cmocka_unit_test(link_goes_up_by_the_book_only),
		cmocka_unit_test(values_that_do_not_fit_are_refused_whole),
		cmocka_unit_test(disabled_port_stays_down_until_told_to_poll),
		cmocka_unit_test(tables_read_back_as_written),
		cmocka_unit_test(state_table_shows_two_ports_a_byte),
		cmocka_unit_test(lid_routed_smp_follows_the_tables),
		cmocka_unit_test(sa_query_from_a_host_is_answered_there),
		cmocka_unit_test(another_sm_asks_ours_by_directed_route),
		cmocka_unit_test(counters_are_asked_for_by_lid),
		cmocka_unit_test(other_sm_answers_when_there_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
