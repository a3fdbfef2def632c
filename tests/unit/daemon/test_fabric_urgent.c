/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From a fault's trap to the last block that is acknowledged the loop is told that something is
 * urgent: what others ask has a part of the time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/trap_world.h"

#define STEP_US 100
#define LIMIT_S 5

static json_int_t answered_count(const struct world *w)
{
	return (json_int_t)(count_logged(w, "rerouted", "") + count_logged(w, "restored", ""));
}

/* Simulated time without urgency between the first trigger and the last block. */
static uint64_t idle_until_answered_us(struct world *w, uint64_t *took_us)
{
	json_int_t before = answered_count(w);
	uint64_t idle = 0, us = 0;

	while (!loop_is_busy(w->loop) && us++ < LIMIT_S * SECOND_US / STEP_US)
		run_for(w, STEP_US); /* the trap is on its way */
	for (us = 0; answered_count(w) == before && us < LIMIT_S * SECOND_US; us += STEP_US) {
		idle += loop_is_busy(w->loop) ? 0 : STEP_US;
		run_for(w, STEP_US);
	}
	*took_us = us;
	return idle;
}

static void urgent_until_the_last_block(void **state)
{
	unsigned uplink;
	uint64_t took;
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 5 * SECOND_US);
	assert_false(loop_is_busy(w.loop));
	uplink = uplink_of(w.design, far_leaf(&w));
	double_cut(w.hw, far_leaf_guid(&w), uplink);
	assert_int_equal(idle_until_answered_us(&w, &took), 0);
	assert_in_range(took, STEP_US, SECOND_US);
	run_for(&w, SECOND_US);
	assert_false(loop_is_busy(w.loop));
	double_join(w.hw, far_leaf_guid(&w), uplink);
	idle_until_answered_us(&w, &took); /* a link may train for any time */
	assert_in_range(took, STEP_US, SECOND_US);
	run_for(&w, 5 * SECOND_US);
	assert_false(loop_is_busy(w.loop));
	world_fini(&w);
}

/* Traps of which nothing comes leave nothing urgent behind. */
static void nothing_is_urgent_after_a_sweep_that_finds_nothing(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 5 * SECOND_US);
	double_trap(w.hw, far_leaf_guid(&w), 128, 0);
	run_for(&w, 5 * SECOND_US);
	assert_false(loop_is_busy(w.loop));
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urgent_until_the_last_block),
		cmocka_unit_test(nothing_is_urgent_after_a_sweep_that_finds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
