/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fabric double's devices: their time and queue, keys, traps, and what cables do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "tests/fabric/double_world.h"
#include "tests/fabric/fault.h"

static void change_widths(struct wire_port_info *info, unsigned value)
{
	info->width_enabled = (uint8_t)value;
}

static void change_enforce(struct wire_port_info *info, unsigned value)
{
	info->pkey_enforce_out = value;
}

static void double_nobody(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
}

/* ---- Time ------------------------------------------------------------------------------------ */

struct crowd {
	unsigned answers;
	uint64_t last_us;
	struct loop *loop;
};

static void crowd_cb(void *arg, const struct mad_answer *answer)
{
	struct crowd *crowd = arg;

	crowd->answers += answer->result == MAD_OK;
	crowd->last_us = loop_now_us(crowd->loop);
}

/* So many requests at once; how long it takes till the last is answered. */
static uint64_t ask_at_once(struct double_world *w, const struct mad_path *const *paths,
			    unsigned npaths, unsigned count, struct crowd *crowd)
{
	uint64_t began = loop_now_us(w->loop);

	*crowd = (struct crowd){ .loop = w->loop };
	for (unsigned i = 0; i < count; i++) {
		struct mad_request request = { .path = paths[i % npaths],
					       .method = WIRE_GET,
					       .attr_id = WIRE_NODE_INFO,
					       .device = 0 };
		mad_send(w->mad, &request, crowd_cb, crowd);
	}
	loop_run(w->loop);
	return crowd->last_us - began;
}

static void an_agent_works_at_one_smp_after_the_other(void **state)
{
	const struct double_conf conf = { .device_us = 20 };
	const struct mad_path *const one[] = { &to_leaf1 };
	struct double_world w;
	struct crowd crowd;

	double_world_init(&w, &conf);
	double_world_get(&w, &to_leaf1, WIRE_NODE_INFO, 0);
	assert_int_equal(w.last.rtt_us, 10 + 2 * 1 * 2 + 20);
	assert_int_equal(ask_at_once(&w, one, 1, 4, &crowd), 10 + 4 + 4 * 20);
	assert_int_equal(crowd.answers, 4);
	double_set_time(w.d, LEAF1, 1000);
	assert_int_equal(ask_at_once(&w, one, 1, 2, &crowd), 10 + 4 + 2 * 1000);
	double_world_fini(&w);
}

static void agents_work_side_by_side(void **state)
{
	const struct double_conf conf = { .device_us = 500 };
	const struct mad_path *const three[] = { &to_leaf1, &to_leaf2, &to_spine };
	struct double_world w;
	struct crowd crowd;

	double_world_init(&w, &conf);
	assert_int_equal(ask_at_once(&w, three, 3, 3, &crowd), 10 + 2 * 3 * 2 + 500);
	double_world_fini(&w);
}

static void what_finds_the_queue_full_is_dropped_and_counted(void **state)
{
	const struct double_conf conf = { .device_us = 1000, .device_queue = 2 };
	const struct mad_path *const one[] = { &to_leaf1 };
	struct double_world w;
	struct crowd crowd;

	double_world_init(&w, &conf);
	ask_at_once(&w, one, 1, 4, &crowd);
	assert_int_equal(double_drops(w.d)->queue, 2);
	assert_int_equal(double_counter(w.d, LEAF1, 1, PERF_VL15_DROPPED), 2);
	assert_int_equal(crowd.answers, 4); /* by a second try */
	double_world_fini(&w);
}

/* ---- Cables ---------------------------------------------------------------------------------- */

static void a_cable_can_be_bad_one_way_alone(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	double_set_direction_fault(w.d, LEAF1, 9, DOUBLE_LOSE, 1000, 0);
	assert_int_equal(double_world_get(&w, &to_spine, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(double_drops(w.d)->lost, 3);
	double_set_direction_fault(w.d, LEAF1, 9, DOUBLE_LOSE, 0, 0);
	double_set_direction_fault(w.d, SPINE, 1, DOUBLE_LOSE, 1000, 0); /* the answers' way */
	assert_int_equal(double_world_change(&w, &to_leaf1, 9, change_mtu, 3), MAD_OK);
	assert_int_equal(double_world_set(&w, &to_spine, WIRE_LFT, 0, w.data), MAD_TIMEOUT);
	assert_int_equal(w.sets, 1 + 3); /* each of them was carried out */
	double_world_fini(&w);
}

static void a_cable_delivers_twice_late_and_out_of_order(void **state)
{
	const struct mad_path *const one[] = { &to_spine };
	struct double_world w;
	struct crowd crowd;

	double_world_init(&w, NULL);
	double_set_direction_fault(w.d, LEAF1, 9, DOUBLE_LATE, 1000, 300);
	assert_int_equal(double_world_get(&w, &to_spine, WIRE_NODE_INFO, 0), MAD_OK);
	assert_int_equal(w.last.rtt_us, 10 + 2 * 2 * 2 + 300);
	double_set_direction_fault(w.d, LEAF1, 9, DOUBLE_LATE, 0, 0);
	double_set_direction_fault(w.d, LEAF1, 9, DOUBLE_TWICE, 1000, 0);
	assert_int_equal(double_world_set(&w, &to_spine, WIRE_LFT, 0, w.data), MAD_OK);
	loop_run(w.loop);
	assert_int_equal(w.sets, 2);
	double_set_direction_fault(w.d, LEAF1, 9, DOUBLE_TWICE, 0, 0);
	double_set_direction_fault(w.d, LEAF1, 9, DOUBLE_REORDER, 500, 400);
	assert_in_range(ask_at_once(&w, one, 1, 16, &crowd), 400, 1000);
	assert_int_equal(crowd.answers, 16);
	double_world_fini(&w);
}

/* What the link comes up with is the least of what both ends and the cable can, and may. */
static void links_train_to_what_all_of_them_can(void **state)
{
	struct double_world w;
	const struct wire_port_info *info;

	double_world_init(&w, NULL);
	info = double_port_info(w.d, LEAF1, 9);
	assert_int_equal(wire_port_info_speed(info), TOPO_XDR);
	double_set_cable(w.d, LEAF1, 9, TOPO_EDR, 2);
	assert_int_equal(wire_port_info_speed(info), TOPO_EDR);
	assert_int_equal(wire_port_info_lanes(info), 2);
	assert_int_equal(wire_port_info_speed(double_port_info(w.d, SPINE, 1)), TOPO_EDR);
	double_set_cable(w.d, LEAF1, 9, TOPO_SPEED_NONE, 0);
	assert_int_equal(wire_port_info_speed(info), TOPO_XDR);
	assert_int_equal(wire_port_info_lanes(info), 4);
	double_world_change(&w, &to_leaf1, 9, change_widths, 1); /* a manager allows 1x alone */
	double_retrain(w.d, LEAF1, 9, 0);
	assert_int_equal(wire_port_info_lanes(info), 1);
	double_world_fini(&w);
}

/* No code of PortInfo says FDR10: it is QDR there. */
static void fdr10_is_said_by_the_vendors_attribute(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	double_set_cable(w.d, LEAF1, 9, TOPO_FDR10, 4);
	assert_int_equal(wire_port_info_speed(double_port_info(w.d, LEAF1, 9)), TOPO_QDR);
	assert_int_equal(double_world_get(&w, &to_leaf1, WIRE_MLNX_EXT_PORT_INFO, 9), MAD_OK);
	assert_int_equal(w.data[15], 1);
	assert_int_equal(double_world_get(&w, &to_leaf1, WIRE_MLNX_EXT_PORT_INFO, 1), MAD_OK);
	assert_int_equal(w.data[15], 0);
	assert_int_equal(double_world_get(&w, &to_leaf1, WIRE_MLNX_EXT_PORT_INFO, 41), MAD_STATUS);
	double_world_fini(&w);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void tables_are_lost_or_never_taken(void **state)
{
	uint8_t block[64] = { [1] = 7 };
	struct double_world w;

	double_world_init(&w, NULL);
	assert_int_equal(double_world_set(&w, &to_spine, WIRE_LFT, 0, block), MAD_OK);
	assert_int_equal(double_lft(w.d, SPINE, 1), 7);
	double_lose_lft(w.d, SPINE);
	assert_int_equal(double_lft(w.d, SPINE, 1), 255);
	fault_set(w.d, fault_find("pretend"), SPINE, 0, 1);
	assert_int_equal(double_world_set(&w, &to_spine, WIRE_LFT, 0, block), MAD_OK);
	assert_int_equal(double_lft(w.d, SPINE, 1), 255);
	fault_set(w.d, fault_find("pretend"), SPINE, 0, 0);
	fault_set(w.d, fault_find("refuse"), SPINE, 0, 1);
	assert_int_equal(double_world_set(&w, &to_spine, WIRE_LFT, 0, block), MAD_STATUS);
	assert_int_equal(double_lft(w.d, SPINE, 1), 255);
	fault_end_all(w.d);
	assert_int_equal(double_world_set(&w, &to_spine, WIRE_LFT, 0, block), MAD_OK);
	assert_int_equal(double_lft(w.d, SPINE, 1), 7);
	double_world_fini(&w);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static uint64_t key_read(struct double_world *w)
{
	struct wire_port_info info;

	assert_int_equal(double_world_get(w, &to_leaf2, WIRE_PORT_INFO, 1), MAD_OK);
	wire_port_info_decode(w->data, &info);
	assert_int_equal(double_world_get(w, &to_leaf2, WIRE_PORT_INFO, 0), MAD_OK);
	wire_port_info_decode(w->data, &info);
	return info.mkey;
}

static void an_mkey_protects_as_its_bits_say(void **state)
{
	const uint8_t data[64] = { 0 };
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	double_hold_mkey(w.d, LEAF2, 0, 0x1234, 0, 0);
	assert_int_equal(key_read(&w), 0x1234); /* 0: who asks may know it */
	assert_int_equal(double_world_set(&w, &to_leaf2, WIRE_LFT, 0, data), MAD_TIMEOUT);
	assert_int_equal(double_port_info(w.d, LEAF2, 0)->mkey_violations, 3);
	assert_int_equal(w.trap.trap, 256);
	assert_int_equal(w.trap.lid, LID_LEAF2);
	assert_int_equal(w.traps, 1); /* one a period */
	double_hold_mkey(w.d, LEAF2, 0, 0x1234, 1, 0);
	assert_int_equal(key_read(&w), 0);
	double_hold_mkey(w.d, LEAF2, 0, 0x1234, 2, 0);
	assert_int_equal(double_world_get(&w, &to_leaf2, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	double_world_fini(&w);
}

static void a_lease_ends_the_protection_and_leaves_the_key(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	double_hold_mkey(w.d, LEAF2, 0, 0x1234, 2, 15);
	assert_int_equal(double_world_get(&w, &to_leaf2, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	loop_run(w.loop); /* the lease runs out */
	assert_int_equal(double_port_info(w.d, LEAF2, 0)->mkey_protect, 0);
	assert_int_equal(key_read(&w), 0x1234);
	double_world_fini(&w);
}

/* ---- Traps ----------------------------------------------------------------------------------- */

static void a_trap_comes_again_until_it_is_repressed(void **state)
{
	const struct double_conf conf = { .trap_repeats = 5 };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	struct wire_mad repress;
	struct io_addr to = { .lid = LID_LEAF2 };
	struct double_world w;

	double_world_init(&w, &conf);
	double_world_bring_up(&w);
	double_trap(w.d, LEAF2, 131, 3);
	loop_run(w.loop);
	assert_int_equal(w.traps, 6);
	assert_int_equal(w.trap.trap, 131);
	assert_int_equal(w.trap.port, 3);
	double_trap(w.d, LEAF2, 145, 0);
	repress = (struct wire_mad){ .mgmt_class = WIRE_SMI_LID,
				     .class_version = 1,
				     .method = WIRE_TRAP_REPRESS,
				     .tid = w.heard.tid + 1,
				     .attr_id = WIRE_NOTICE };
	wire_mad_encode(&repress, mad);
	double_inject(w.d, H2, 1, &to, mad, sizeof(mad), double_nobody, NULL);
	loop_run(w.loop);
	assert_int_equal(w.traps, 7);
	assert_int_equal(w.trap.trap, 145);
	double_world_fini(&w);
}

static void a_mum_device_sends_none(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	double_set_mum(w.d, LEAF2, true);
	double_cut(w.d, LEAF2, 1);
	loop_run(w.loop);
	assert_int_equal(w.traps, 0);
	assert_true(double_switch_info(w.d, LEAF2)->port_state_change);
	double_world_fini(&w);
}

/* ---- Partitions and lanes -------------------------------------------------------------------- */

static enum mad_result ask_perf(struct double_world *w, uint16_t lid, uint8_t sl)
{
	struct mad_request request = { .lid = lid,
				       .mgmt_class = WIRE_PERF,
				       .method = WIRE_GET,
				       .attr_id = WIRE_PERF_CLASS_PORT_INFO,
				       .sl = sl };

	return double_world_send(w, request);
}

static void a_packet_needs_its_pkey_at_its_end_and_where_switches_look(void **state)
{
	uint8_t data[64] = { 0 };
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	assert_int_equal(ask_perf(&w, LID_H2, 0), MAD_OK);
	data[0] = 0x80; /* h2 is in partition 1 alone */
	data[1] = 0x01;
	assert_int_equal(double_world_set(&w, &to_h2, WIRE_PKEY_TABLE, 0, data), MAD_OK);
	assert_int_equal(ask_perf(&w, LID_H2, 0), MAD_TIMEOUT);
	assert_int_equal(double_drops(w.d)->pkey, 3);
	assert_int_equal(double_port_info(w.d, H2, 1)->pkey_violations, 3);
	assert_int_equal(w.trap.trap, 257);
	data[0] = 0x7f; /* a limited member of the default one is heard by full ones */
	data[1] = 0xff;
	assert_int_equal(double_world_set(&w, &to_h2, WIRE_PKEY_TABLE, 0, data), MAD_OK);
	assert_int_equal(ask_perf(&w, LID_H2, 0), MAD_OK);
	assert_int_equal(double_world_set(&w, &to_h1, WIRE_PKEY_TABLE, 0, data), MAD_OK);
	assert_int_equal(ask_perf(&w, LID_H2, 0), MAD_TIMEOUT); /* limited ones not by each other */
	data[0] = 0xff;
	assert_int_equal(double_world_set(&w, &to_h1, WIRE_PKEY_TABLE, 0, data), MAD_OK);
	data[0] = 0x7f;
	data[1] = 0x02;
	assert_int_equal(double_world_set(&w, &to_leaf2, WIRE_PKEY_TABLE, 1 << 16, data), MAD_OK);
	assert_int_equal(ask_perf(&w, LID_H2, 0), MAD_OK); /* the switch does not look yet */
	assert_int_equal(double_world_change(&w, &to_leaf2, 1, change_enforce, 1), MAD_OK);
	assert_int_equal(ask_perf(&w, LID_H2, 0), MAD_TIMEOUT);
	assert_int_equal(double_counter(w.d, LEAF2, 1, PERF_XMIT_CONSTRAINT), 3);
	assert_int_equal(w.trap.trap, 259);
	assert_int_equal(w.trap.port, 1);
	double_world_fini(&w);
}

static void a_packet_of_an_sl_without_a_lane_is_discarded(void **state)
{
	const struct double_conf conf = { .arb_cap = 8 };
	struct double_world w;

	double_world_init(&w, &conf);
	double_world_bring_up(&w);
	assert_int_equal(ask_perf(&w, LID_H2, 0), MAD_OK);
	assert_int_equal(ask_perf(&w, LID_H2, 1), MAD_TIMEOUT); /* one lane is in operation */
	assert_int_equal(double_drops(w.d)->lane, 3);
	assert_int_equal(double_counter(w.d, H1, 1, PERF_XMIT_DISCARDS), 3);
	double_world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_works_at_one_smp_after_the_other),
		cmocka_unit_test(agents_work_side_by_side),
		cmocka_unit_test(what_finds_the_queue_full_is_dropped_and_counted),
		cmocka_unit_test(a_cable_can_be_bad_one_way_alone),
		cmocka_unit_test(a_cable_delivers_twice_late_and_out_of_order),
		cmocka_unit_test(links_train_to_what_all_of_them_can),
		cmocka_unit_test(fdr10_is_said_by_the_vendors_attribute),
		cmocka_unit_test(tables_are_lost_or_never_taken),
		cmocka_unit_test(an_mkey_protects_as_its_bits_say),
		cmocka_unit_test(a_lease_ends_the_protection_and_leaves_the_key),
		cmocka_unit_test(a_trap_comes_again_until_it_is_repressed),
		cmocka_unit_test(a_mum_device_sends_none),
		cmocka_unit_test(a_packet_needs_its_pkey_at_its_end_and_where_switches_look),
		cmocka_unit_test(a_packet_of_an_sl_without_a_lane_is_discarded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
