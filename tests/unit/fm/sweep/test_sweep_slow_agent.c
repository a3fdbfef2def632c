/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An agent that is slower than the short rounds of a sweep, and within transaction_timeout, is
 * found again by a poll.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "tests/lib/sweep_bench.h"

#define SLOW_US 150000 /* mad_conf has 200 ms */

static void found_again_by_polls(bool a_switch)
{
	struct inv_node *node;
	struct bench b;
	guid_t slow;

	bench_init(&b, design_pgft2(), NULL);
	slow = b.design->nodes[a_switch ? 2 : b.design->nswitches + 7].guid;
	bench_discover(&b);
	node = inventory_find(sweep_inventory(b.sweep), slow);
	double_set_silent(b.d, slow, true);
	bench_refresh(&b, &slow, 1);
	assert_true(node->silent);
	double_set_silent(b.d, slow, false);
	double_set_fault(b.d, slow, DOUBLE_DELAY, 1000, SLOW_US);
	bench_poll(&b);
	assert_true(b.result.nchanged > 0);
	bench_refresh(&b, b.changed, b.result.nchanged);
	assert_false(node->silent);
	bench_fini(&b);
}

static void a_slow_switch_that_was_silent_once_is_found_by_a_poll(void **state)
{
	found_again_by_polls(true);
}

static void a_slow_host_that_was_silent_once_is_found_by_a_poll(void **state)
{
	found_again_by_polls(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_switch_that_was_silent_once_is_found_by_a_poll),
		cmocka_unit_test(a_slow_host_that_was_silent_once_is_found_by_a_poll),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
