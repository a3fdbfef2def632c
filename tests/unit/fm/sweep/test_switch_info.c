/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SwitchInfo has three writers: whoever clears PortStateChange, the linear and the multicast
 * tables. Each writes all of it, from what was read a moment ago, and must not take back what
 * another has set since.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "tests/lib/sweep_bench.h"

#define LFT_TOP	  700
#define MFT_TOP	  0xc0ff
#define LIFE_TIME 14

/* A fabric that is known, and a switch in it. */
static struct inv_node *bench_with_a_switch(struct bench *b, guid_t *guid)
{
	bench_init(b, design_pgft2(), NULL);
	bench_discover(b);
	*guid = b->design->nodes[1].guid;
	return inventory_find(sweep_inventory(b->sweep), *guid);
}

/* What the others are at right now is not in the answer to Get(SwitchInfo) yet. */
static void clearing_a_change_takes_back_nothing_of_what_others_set(void **state)
{
	const struct wire_switch_info *held;
	struct inv_node *node;
	struct bench b;
	guid_t sw;

	node = bench_with_a_switch(&b, &sw);
	inv_wanted(node)->top = LFT_TOP;
	inv_wanted(node)->mft_top = MFT_TOP;
	inv_wanted(node)->life_time = LIFE_TIME;
	double_cut(b.d, sw, 1);
	bench_refresh(&b, &sw, 1);
	held = double_switch_info(b.d, sw);
	assert_false(held->port_state_change);
	assert_int_equal(held->lft_top, LFT_TOP);
	assert_int_equal(held->mft_top, MFT_TOP);
	assert_int_equal(held->life_time, LIFE_TIME);
	bench_fini(&b);
}

/* What the switch answers to the Set is what it holds. */
static void the_answer_of_a_cleared_change_is_recorded(void **state)
{
	struct inv_node *node;
	struct bench b;
	guid_t sw;

	node = bench_with_a_switch(&b, &sw);
	inv_wanted(node)->mft_top = MFT_TOP;
	double_cut(b.d, sw, 1);
	bench_refresh(&b, &sw, 1);
	assert_int_equal(node->sw.mft_top, MFT_TOP);
	assert_false(node->sw.port_state_change);
	bench_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clearing_a_change_takes_back_nothing_of_what_others_set),
		cmocka_unit_test(the_answer_of_a_cleared_change_is_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
