/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The first Set to each switch is its examination: how long a cold start waits for one that takes
 * none, for one whose answers are late, and a link that comes up before its switch has its turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

struct watch {
	struct world *w;
	guid_t leaf, host;
	bool joined;
};

/*
 * The sweep clears the leaf's PortStateChange, which the cut has set. A Set to another switch is of
 * the examination: all ports have been read, and the leaf's turn is yet to come.
 */
static void set_seen(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct watch *watch = arg;

	if (attr_id != WIRE_SWITCH_INFO || node == watch->leaf || watch->joined)
		return;
	watch->joined = true;
	double_join(watch->w->hw, watch->host, 1);
}

static void a_link_that_comes_up_before_its_switch_is_examined_is_seen(void **state)
{
	struct watch watch;
	struct world w;
	uint32_t host;

	world_init_stopped(&w, small_tree());
	host = w.design->nnodes - 1;
	watch = (struct watch){ .w = &w, .host = w.design->nodes[host].guid };
	watch.leaf = w.design->nodes[topo_peer(w.design, topo_port(w.design, host, 1))->node].guid;
	double_cut(w.hw, watch.host, 1);
	double_set_traps(w.hw, false); /* one that has just booted knows nobody to send them to */
	double_on_set(w.hw, set_seen, &watch);
	start_fabric(&w);
	run_for(&w, SECOND_US / 2); /* the poll behind all that came up is over */
	assert_true(is_up(&w));
	assert_int_equal(double_link_state(w.hw, watch.host, 1), TOPO_ACTIVE);
	world_fini(&w);
}

static guid_t a_spine(const struct world *w)
{
	uint32_t node = 0;

	while (w->design->nodes[node].level == 0)
		node++;
	return w->design->nodes[node].guid;
}

static void cold_start(struct world *w, void (*make_ill)(struct double_fabric *d, guid_t spine))
{
	world_init_stopped(w, small_tree());
	double_set_strict(w->hw, true);
	for (uint32_t n = 0; n < w->design->nnodes; n++)
		double_reboot(w->hw, w->design->nodes[n].guid);
	run_for(w, SECOND_US);
	make_ill(w->hw, a_spine(w));
	start_fabric(w);
}

static void deafen(struct double_fabric *d, guid_t spine)
{
	double_set_no_sets(d, spine, true);
}

static void answer_late(struct double_fabric *d, guid_t spine)
{
	double_set_fault(d, spine, DOUBLE_DELAY, 1000, 150000);
}

static void a_switch_that_takes_no_set_holds_a_cold_start_up_for_less_than_half_a_second(
	void **state)
{
	struct world w;

	cold_start(&w, deafen);
	run_for(&w, SECOND_US / 2);
	assert_non_null(fabric_topo(w.fabric));
	assert_int_equal(dead_pairs(&w), 0);
	assert_int_equal(count_alerts(&w, "isolated", "no Sets"), 1);
	world_fini(&w);
}

static void a_switch_whose_answers_are_late_is_not_taken_for_one_that_takes_no_set(void **state)
{
	struct world w;

	cold_start(&w, answer_late);
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(dead_pairs(&w), 0);
	assert_int_equal(count_logged(&w, "isolated", ""), 0);
	assert_int_equal(count_alerts(&w, "isolated", ""), 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_switch_that_takes_no_set_holds_a_cold_start_up_for_less_than_half_a_second),
		cmocka_unit_test(
			a_switch_whose_answers_are_late_is_not_taken_for_one_that_takes_no_set),
		cmocka_unit_test(a_link_that_comes_up_before_its_switch_is_examined_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
