/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fabric double: what its hardware does by itself, and how it misbehaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/fabric/double_world.h"

/* ---- What happens by itself ------------------------------------------------------------------ */

static void cut_raises_trap_128_and_port_state_change(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	double_cut(w.d, LEAF2, 1);
	loop_run(w.loop);
	assert_int_equal(w.traps, 1);
	assert_int_equal(w.trap.trap, 128);
	assert_int_equal(w.trap.lid, LID_LEAF2);
	assert_true(double_switch_info(w.d, LEAF2)->port_state_change);
	assert_false(double_switch_info(w.d, LEAF1)->port_state_change);
	double_world_set_top(&w, &to_leaf2, 5); /* writes the bit, too */
	assert_false(double_switch_info(w.d, LEAF2)->port_state_change);

	double_cut(w.d, SPINE, 2); /* leaf2's trap has no way, the spine's has */
	loop_run(w.loop);
	assert_int_equal(w.traps, 2);
	assert_int_equal(w.trap.lid, LID_SPINE);
	double_world_fini(&w);
}

static void reboot_loses_what_was_set(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	double_reboot(w.d, SPINE);
	loop_run(w.loop);
	assert_int_equal(double_port_info(w.d, SPINE, 0)->lid, 0);
	assert_int_equal(double_lft(w.d, SPINE, LID_H1), 255);
	assert_int_equal(double_switch_info(w.d, SPINE)->lft_top, 0);
	assert_int_equal(double_link_state(w.d, LEAF1, 9), TOPO_INIT);
	assert_true(double_switch_info(w.d, LEAF1)->port_state_change);
	assert_int_equal(w.traps, 1); /* leaf1's; leaf2 is cut off */
	assert_int_equal(double_ports_not_active(w.d), 4);
	double_world_fini(&w);
}

static void new_description_raises_trap_144(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	double_set_desc(w.d, H2, "h2-renamed mlx5_0");
	loop_run(w.loop);
	assert_int_equal(w.trap.trap, 144);
	assert_int_equal(w.trap.lid, LID_H2);
	assert_true(w.trap.desc_changed);
	double_world_fini(&w);
}

/* ---- Misbehaviour ---------------------------------------------------------------------------- */

static void silent_node_is_silent_and_others_are_not(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	double_set_silent(w.d, SPINE, true);
	assert_int_equal(double_world_get(&w, &to_spine, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(double_world_get(&w, &to_h2, WIRE_NODE_INFO, 0),
			 MAD_OK); /* it passes on still */
	double_world_fini(&w);
}

static void node_may_claim_another_guid(void **state)
{
	struct double_world w;
	struct wire_node_info ni;

	double_world_init(&w, NULL);
	double_set_guid(w.d, H2, H1);
	double_world_get(&w, &to_h2, WIRE_NODE_INFO, 0);
	wire_node_info_decode(w.data, &ni);
	assert_int_equal(ni.node_guid, H1);
	double_world_fini(&w);
}

static void faulty_answers_are_dropped_and_counted(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	double_set_fault(w.d, H2, DOUBLE_TRUNCATE, 1000, 70);
	assert_int_equal(double_world_get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(mad_stats(w.mad).dropped_short, 3);
	double_set_fault(w.d, H2, DOUBLE_TRUNCATE, 0, 0);
	double_set_fault(w.d, H2, DOUBLE_WRONG_ATTR, 1000, 0);
	assert_int_equal(double_world_get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(mad_stats(w.mad).dropped_mismatch, 3);
	double_set_fault(w.d, 0, DOUBLE_WRONG_ATTR, 0, 0);
	double_set_fault(w.d, 0, DOUBLE_DUPLICATE, 1000, 0);
	assert_int_equal(double_world_get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_OK);
	assert_int_equal(mad_stats(w.mad).dropped_late, 1);
	double_set_fault(w.d, 0, DOUBLE_DUPLICATE, 0, 0);
	double_set_fault(w.d, 0, DOUBLE_DELAY, 1000, 150000);
	assert_int_equal(double_world_get(&w, &to_h2, WIRE_NODE_INFO, 0),
			 MAD_OK); /* of the first try, during the second */
	assert_int_equal(w.last.tries, 2);
	double_set_fault(w.d, 0, DOUBLE_DELAY, 0, 0);
	double_set_fault(w.d, 0, DOUBLE_BAD_STATUS, 1000, 0x1c);
	assert_int_equal(double_world_get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_STATUS);
	double_world_fini(&w);
}

static void count_cb(void *arg, const struct mad_answer *answer)
{
	((struct double_world *)arg)->ok += answer->result == MAD_OK;
}

static void lossy_cable_costs_retries_and_no_answers(void **state)
{
	const struct double_conf conf = { .seed = 5 };
	const struct mad_request r = { .path = &to_h2,
				       .method = WIRE_GET,
				       .attr_id = WIRE_NODE_INFO };
	struct double_world w;

	double_world_init(&w, &conf);
	mad_configure(w.mad, &(struct mad_conf){ .timeout_ms = 10, .retries = 20 });
	double_set_loss(w.d, LEAF1, 9, 200);
	for (int i = 0; i < 500; i++)
		mad_send(w.mad, &r, count_cb, &w);
	loop_run(w.loop);
	assert_int_equal(w.ok, 500);
	assert_true(double_drops(w.d)->lost > 100);
	assert_int_equal(mad_stats(w.mad).retried, double_drops(w.d)->lost);
	double_world_fini(&w);
}

static void one_key(void *arg, const struct mad_path *path, uint16_t lid, struct mad_keys *keys)
{
	*keys = (struct mad_keys){ .count = 1, .key = { 0x55 } };
}

static void wrong_mkey_is_not_answered(void **state)
{
	struct wire_port_info pi;
	uint8_t data[64];
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_get(&w, &to_h2, WIRE_PORT_INFO, 1);
	wire_port_info_decode(w.data, &pi);
	pi.state = 0;
	pi.lid = 1;
	pi.mkey = 0x55;
	wire_port_info_encode(&pi, data);
	assert_int_equal(double_world_set(&w, &to_h2, WIRE_PORT_INFO, 1, data), MAD_OK);
	assert_int_equal(double_world_set(&w, &to_h2, WIRE_PORT_INFO, 1, data), MAD_TIMEOUT);
	assert_int_equal(double_world_get(&w, &to_h2, WIRE_PORT_INFO, 1),
			 MAD_OK); /* protection 0 lets Gets pass */
	mad_set_keys(w.mad, one_key, NULL);
	assert_int_equal(double_world_set(&w, &to_h2, WIRE_PORT_INFO, 1, data), MAD_OK);
	assert_int_equal(double_drops(w.d)->mkey, 3);
	double_world_fini(&w);
}

static void requests_are_counted_by_attribute_and_method(void **state)
{
	struct double_world w;
	uint8_t block[64] = { 0 };

	double_world_init(&w, NULL);
	double_world_get(&w, &to_leaf1, WIRE_NODE_INFO, 0);
	double_world_get(&w, &to_leaf1, WIRE_PORT_INFO, 1);
	double_world_get(&w, &to_leaf1, WIRE_PORT_INFO, 2);
	double_world_set(&w, &to_leaf1, WIRE_LFT, 0, block);
	assert_int_equal(double_sent(w.d, WIRE_GET, WIRE_PORT_INFO), 2);
	assert_int_equal(double_sent(w.d, WIRE_SET, 0), 1);
	assert_int_equal(double_sent(w.d, 0, WIRE_LFT), 1);
	assert_int_equal(double_sent(w.d, 0, 0), 4);
	double_sent_reset(w.d);
	assert_int_equal(double_sent(w.d, 0, 0), 0);
	double_world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_raises_trap_128_and_port_state_change),
		cmocka_unit_test(reboot_loses_what_was_set),
		cmocka_unit_test(new_description_raises_trap_144),
		cmocka_unit_test(silent_node_is_silent_and_others_are_not),
		cmocka_unit_test(node_may_claim_another_guid),
		cmocka_unit_test(faulty_answers_are_dropped_and_counted),
		cmocka_unit_test(lossy_cable_costs_retries_and_no_answers),
		cmocka_unit_test(wrong_mkey_is_not_answered),
		cmocka_unit_test(requests_are_counted_by_attribute_and_method),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
