/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Uncertain answers are rechecked soon, then at growing intervals, with polls or without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

static void polls(struct world *w, int interval_ms)
{
	w->conf.sweep.interval_ms = interval_ms;
	w->conf.perf.interval_ms = 0; /* its passes read PortInfo, too */
	fabric_configure(w->fabric, &w->conf);
	run_for(w, SECOND_US);
}

static guid_t last_switch(const struct world *w)
{
	return w->design->nodes[w->design->nswitches - 1].guid;
}

/* A cable between the first leaf and the last switch, a spine that does not answer just then. */
static void cut_while_silent(struct world *w)
{
	const struct topo *t = w->design;
	unsigned num = 1;

	while (!topo_peer(t, topo_port(t, 0, num)) ||
	       t->nodes[topo_peer(t, topo_port(t, 0, num))->node].guid != last_switch(w))
		num++;
	double_set_silent(w->hw, last_switch(w), true);
	double_cut(w->hw, t->nodes[0].guid, num);
	run_for(w, 20 * SECOND_US); /* given up long ago */
}

static void what_was_not_acknowledged_is_written_soon_without_polls(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	polls(&w, 0);
	cut_while_silent(&w);
	double_set_silent(w.hw, last_switch(&w), false);
	run_for(&w, 25 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "silent"), 0);
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 3);
	world_fini(&w);
}

static void short_silence_is_over_long_before_the_poll(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	polls(&w, 3600 * 1000);
	cut_while_silent(&w);
	double_set_silent(w.hw, last_switch(&w), false);
	run_for(&w, 25 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "silent"), 0);
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

static void long_silence_is_asked_about_less_and_less(void **state)
{
	uint64_t first_minute, later;
	struct world w;

	world_init(&w, pod(1));
	polls(&w, 60 * 1000);
	run_for(&w, 60 * SECOND_US); /* what was answered once is asked again in quiet */
	double_set_silent(w.hw, w.design->nodes[w.design->nswitches + 9].guid, true);
	fabric_sweep(w.fabric, NULL, NULL);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "silent"), 1);
	first_minute = later = (uint64_t)status_number(&w, NULL, "smps_sent");
	run_for(&w, 60 * SECOND_US);
	later = (uint64_t)status_number(&w, NULL, "smps_sent");
	first_minute = later - first_minute;
	run_for(&w, 600 * SECOND_US);
	later = (uint64_t)status_number(&w, NULL, "smps_sent") - later;
	assert_true(first_minute < 10 * 40); /* 12 switches and the silent one, with retries */
	assert_true(later < 11 * 40);
	world_fini(&w);
}

static void without_anything_to_recheck_polls_come_no_sooner(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	polls(&w, 0);
	double_sent_reset(w.hw);
	run_for(&w, 50 * SECOND_US);
	assert_int_equal(double_sent(w.hw, 0, WIRE_SWITCH_INFO), 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_acknowledged_is_written_soon_without_polls),
		cmocka_unit_test(short_silence_is_over_long_before_the_poll),
		cmocka_unit_test(long_silence_is_asked_about_less_and_less),
		cmocka_unit_test(without_anything_to_recheck_polls_come_no_sooner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
