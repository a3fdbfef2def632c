/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Why a link went down, as its ports report it: the sentence of each reason, ends that do not
 * report, and that no request for it is sent before the last block of the reroute.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_registers.h"
#include "fm/registers/module.h"
#include "tests/fabric/double_own.h"
#include "tests/lib/fabric_world.h"

#define KIND "link-down-reason"

struct link { /* of a leaf to a spine */
	guid_t leaf, spine;
	unsigned port, far;
};

static struct link begin(struct world *w)
{
	world_init(w, small_tree());

	uint32_t leaf = far_leaf(w);
	unsigned port = uplink_of(w->design, leaf);
	const struct topo_port *peer = topo_peer(w->design, topo_port(w->design, leaf, port));

	return (struct link){ .leaf = w->design->nodes[leaf].guid,
			      .spine = w->design->nodes[peer->node].guid,
			      .port = port,
			      .far = peer->num };
}

/* The link goes down for that reason, at its leaf; 0 = its cable is pulled. */
static struct link_down_reason falls(struct world *w, const struct link *l, uint8_t reason)
{
	struct link_down_reason why;

	double_down(w->hw, l->leaf, l->port, reason);
	run_for(w, SECOND_US);
	link_down_reason(w->fabric, l->leaf, l->port, &why);
	return why;
}

static void rises(struct world *w, const struct link *l)
{
	double_join(w->hw, l->leaf, l->port);
	run_for(w, SECOND_US);
	assert_true(is_up(w));
}

static unsigned registers_read(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t n = 0; n < w->design->nnodes; n++)
		count += double_registers_read(w->hw, w->design->nodes[n].guid);
	return count;
}

static void each_reason_is_a_sentence_within_a_second_at_both_ends(void **state)
{
	struct world w;
	struct link l = begin(&w);
	unsigned events = 0;

	for (unsigned reason = 2; reason < 64; reason++) {
		const char *words = wire_down_reason(reason);
		struct link_down_reason here, there;
		char text[64], end[128];

		array_printf(text, "%s", words ? words : "");
		if (!words)
			array_printf(text, "reason %u", reason);
		here = falls(&w, &l, (uint8_t)reason);
		assert_true(link_down_reason(w.fabric, l.spine, (uint8_t)l.far, &there));
		assert_string_equal(here.reason, there.reason);
		assert_memory_equal(here.reason, text, strlen(text));
		array_printf(end, "%s p%u", w.design->nodes[topo_find(w.design, l.leaf)].name,
			     l.port);
		assert_non_null(strstr(here.reason, end));
		assert_string_equal(here.blame, end);
		assert_int_equal(count_logged(&w, KIND, ""), ++events);
		assert_true(count_logged(&w, KIND, text) >= 1);
		if (reason == WIRE_DOWN_HIGH_BER)
			assert_non_null(strstr(here.reason, "high BER: effective 2e-7"));
		rises(&w, &l);
	}
	assert_int_equal(w.hw->sets[WIRE_VENDOR], 0);
	world_fini(&w);
}

/* Both ends see that: nobody is to blame. */
static void a_cable_that_was_pulled_is_reported_by_both_ends(void **state)
{
	struct world w;
	struct link l = begin(&w);
	struct link_down_reason why = falls(&w, &l, 0);

	assert_string_equal(why.reason, "cable unplugged");
	assert_string_equal(why.blame, "");
	assert_int_equal(status_number(&w, "registers", "read"), 2);
	world_fini(&w);
}

static void no_request_is_sent_before_the_last_block_of_the_reroute(void **state)
{
	struct world w;
	struct link l = begin(&w);

	memset(&w.hw->stamps, 0, sizeof(w.hw->stamps));
	falls(&w, &l, 25);
	assert_true(w.hw->stamps.blocks > 0);
	assert_true(w.hw->stamps.register_us > w.hw->stamps.answered_us);
	assert_true(w.hw->stamps.register_us - w.hw->stamps.trap_us < SECOND_US);
	world_fini(&w);
}

/* A person at the rack finds the cage. */
static void an_end_is_named_with_its_label_where_the_device_has_one(void **state)
{
	struct world w;
	struct link l = begin(&w);
	struct link_down_reason why;

	double_set_labels(w.hw, l.leaf, DOUBLE_CAGES);
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	why = falls(&w, &l, 46);
	assert_non_null(strstr(why.blame, " (cage "));
	assert_non_null(strstr(why.reason, why.blame));
	world_fini(&w);
}

static void what_one_end_reports_is_enough(void **state)
{
	struct world w;
	struct link l = begin(&w);
	struct link_down_reason why;

	double_set_no_registers(w.hw, l.leaf, true);
	why = falls(&w, &l, 46);
	assert_memory_equal(why.reason, "laser fault, reported by ", 25);
	assert_non_null(strstr(why.blame, w.design->nodes[topo_find(w.design, l.leaf)].name));
	assert_int_equal(double_registers_read(w.hw, l.leaf), 0);
	world_fini(&w);
}

/* It is asked what it can, and then not for an hour. */
static void devices_without_registers_are_left_alone(void **state)
{
	struct world w;
	struct link l = begin(&w);
	uint64_t asked;

	double_set_no_registers(w.hw, l.leaf, true);
	double_set_no_registers(w.hw, l.spine, true);
	assert_string_equal(falls(&w, &l, 25).reason, "");
	assert_int_equal(count_logged(&w, KIND, ""), 0);
	asked = w.hw->vendor_gets;
	assert_int_equal(asked, 2);
	rises(&w, &l);
	falls(&w, &l, 25);
	assert_int_equal(w.hw->vendor_gets, asked);
	assert_int_equal(registers_read(&w), 0);
	assert_int_equal(status_number(&w, "registers", "waiting"), 0);

	double_set_no_registers(w.hw, l.leaf, false);
	rises(&w, &l);
	run_for(&w, 3600 * SECOND_US);
	assert_memory_equal(falls(&w, &l, 25).reason, "cable thermal shutdown", 22);
	world_fini(&w);
}

static void garbage_is_counted_and_nothing_else(void **state)
{
	struct world w;
	struct link l = begin(&w);

	w.hw->register_garbage = 37;
	for (unsigned round = 0; round < 10; round++) {
		assert_string_equal(falls(&w, &l, 25).reason, "");
		rises(&w, &l);
	}
	assert_int_equal(count_logged(&w, KIND, ""), 0);
	assert_int_equal(status_number(&w, "registers", "malformed"), 20);
	assert_int_equal(status_number(&w, "registers", "read"), 0);
	world_fini(&w);
}

/* The link of an HCA is its only way. */
static void of_an_hca_the_switch_alone_is_asked(void **state)
{
	struct world w;
	struct link_down_reason why;

	world_init(&w, small_tree());

	guid_t hca = w.design->nodes[w.design->nnodes - 1].guid;

	double_down(w.hw, hca, 1, 45);
	run_for(&w, SECOND_US);
	assert_true(link_down_reason(w.fabric, hca, 1, &why));
	assert_memory_equal(why.reason, "bandwidth loss", 14);
	assert_int_equal(double_registers_read(w.hw, hca), 0);
	assert_int_equal(registers_read(&w), 1);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reason_is_a_sentence_within_a_second_at_both_ends),
		cmocka_unit_test(a_cable_that_was_pulled_is_reported_by_both_ends),
		cmocka_unit_test(no_request_is_sent_before_the_last_block_of_the_reroute),
		cmocka_unit_test(an_end_is_named_with_its_label_where_the_device_has_one),
		cmocka_unit_test(what_one_end_reports_is_enough),
		cmocka_unit_test(devices_without_registers_are_left_alone),
		cmocka_unit_test(garbage_is_counted_and_nothing_else),
		cmocka_unit_test(of_an_hca_the_switch_alone_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
