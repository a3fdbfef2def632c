/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Attributes that a switch need not have, and may not even refuse: nothing waits for them, and who
 * is silent is remembered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_optional.h"
#include "tests/lib/fabric_world.h"

#define MS 1000ull

static uint64_t asked(const struct world *w)
{
	return double_sent(w->hw, WIRE_GET, WIRE_GENERAL_INFO);
}

/* In milliseconds, from the start till it is up. */
static unsigned time_up(struct world *w)
{
	unsigned ms = 0;

	double_sent_reset(w->hw);
	start_fabric(w);
	for (; ms < 5000 && !is_up(w); ms++)
		run_for(w, MS);
	assert_true(is_up(w));
	return ms;
}

static void nobody_answers_general_info(struct world *w, bool on)
{
	double_set_mute(w->hw, 0, on ? WIRE_GET : 0, WIRE_GENERAL_INFO);
}

static void silence_delays_no_restart(void **state)
{
	unsigned without, with;
	struct world w;

	world_init(&w, pod(1));
	stop_fabric(&w);
	without = time_up(&w);
	stop_fabric(&w);
	nobody_answers_general_info(&w, true);
	with = time_up(&w);
	assert_true(asked(&w) >= w.design->nswitches);
	assert_in_range(with, 0, without + 25);
	assert_hardware_delivers(&w, 3);
	world_fini(&w);
}

static void a_silent_device_is_remembered_and_asked_when_idle(void **state)
{
	unsigned without, with;
	struct world w;

	world_init(&w, pod(1));
	stop_fabric(&w);
	without = time_up(&w);
	nobody_answers_general_info(&w, true);
	for (unsigned i = 0; i < 2; i++) {
		stop_fabric(&w);
		with = time_up(&w);
		if (i == 0)
			run_for(&w, 5 * SECOND_US);
	}
	assert_int_equal(asked(&w), 0);
	assert_in_range(with, 0, without + 1);
	/* Another firmware answers, and is asked ahead of everything from then on. */
	nobody_answers_general_info(&w, false);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(asked(&w), w.design->nswitches);
	stop_fabric(&w);
	double_set_adaptive(w.hw, w.design->nodes[1].guid, true, true);
	time_up(&w);
	assert_int_equal(asked(&w), w.design->nswitches);
	assert_false(wire_adaptive_on(double_adaptive(w.hw, w.design->nodes[1].guid)));
	world_fini(&w);
}

static void a_fault_waits_for_no_answer(void **state)
{
	struct world w;
	uint32_t leaf;
	uint16_t num;

	world_init(&w, pod(1));
	leaf = far_leaf(&w);
	stop_fabric(&w);
	nobody_answers_general_info(&w, true);
	time_up(&w);
	num = uplink_of(w.design, leaf);
	double_cut(w.hw, w.design->nodes[leaf].guid, num);
	run_for(&w, 100 * MS);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	assert_hardware_delivers(&w, 3);
	world_fini(&w);
}

/* A cold start asks nobody ahead: a switch without tables was managed by nobody. */
static void a_cold_start_asks_when_idle(void **state)
{
	struct world w;

	world_init_stopped(&w, pod(1));
	time_up(&w);
	assert_int_equal(asked(&w), 0);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(asked(&w), w.design->nswitches);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(asked(&w), w.design->nswitches);
	world_fini(&w);
}

static void who_answers_late_that_it_is_on_is_turned_off_all_the_same(void **state)
{
	struct world w;
	guid_t sw;

	world_init(&w, pod(1));
	sw = w.design->nodes[2].guid;
	stop_fabric(&w);
	double_set_adaptive(w.hw, sw, true, true);
	double_set_mute(w.hw, sw, WIRE_GET, WIRE_GENERAL_INFO);
	time_up(&w);
	run_for(&w, 700 * MS);
	double_set_mute(w.hw, sw, 0, 0);
	run_for(&w, 60 * SECOND_US);
	assert_false(wire_adaptive_on(double_adaptive(w.hw, sw)));
	assert_true(is_up(&w));
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 3);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silence_delays_no_restart),
		cmocka_unit_test(a_silent_device_is_remembered_and_asked_when_idle),
		cmocka_unit_test(a_fault_waits_for_no_answer),
		cmocka_unit_test(a_cold_start_asks_when_idle),
		cmocka_unit_test(who_answers_late_that_it_is_on_is_turned_off_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
