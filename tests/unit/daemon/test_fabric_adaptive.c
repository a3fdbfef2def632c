/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A fabric that another manager left with adaptive routing on: its tables are not believed, all of
 * it is written and turned off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/adaptive/module.h"
#include "fm/mad/wire_optional.h"
#include "tests/lib/fabric_world.h"

static void set_all(const struct world *w, bool able, bool on)
{
	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		double_set_adaptive(w->hw, w->design->nodes[sw].guid, able, on);
}

static const char *word_of(const struct world *w, uint32_t sw, char word[16])
{
	json_t *rows = adaptive_switches(w->fabric), *row;
	size_t i;

	word[0] = '\0';
	json_array_foreach (rows, i, row) {
		const char *said = json_string_value(json_object_get(row, "ar"));

		if (said && !strcmp(json_string_value(json_object_get(row, "name")),
				    w->design->nodes[sw].desc))
			snprintf(word, 16, "%s", said);
	}
	json_decref(rows);
	return word;
}

struct watch { /* of the Sets on their way through the fabric */
	const struct world *w;
	unsigned early, two_at_once, unwritten;
};

/* Its first plain write has ended adaptive routing, and fast recovery is on still. */
static bool is_between(const struct world *w, guid_t sw)
{
	const uint8_t *info = double_adaptive(w->hw, sw);

	return wire_adaptive_on(info) && !(info[3] & 1);
}

static unsigned missing_entries(const struct world *w, guid_t sw)
{
	const struct tables *tables = fabric_tables(w->fabric);
	const uint8_t *row = tables_row(tables, topo_find(fabric_topo(w->fabric), sw));
	unsigned count = 0;

	for (uint32_t lid = 1; lid <= tables->top; lid++)
		count += double_lft(w->hw, sw, (uint16_t)lid) != row[lid];
	return count;
}

static void set_seen(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct watch *watch = arg;
	const struct world *w = watch->w;

	if (attr_id == WIRE_ADAPTIVE_INFO || attr_id == WIRE_PRIVATE_LFT_INFO) {
		watch->unwritten += missing_entries(w, node) > 0;
		return;
	}
	if (attr_id != WIRE_LFT)
		return;
	for (uint32_t sw = 0; sw < w->design->nswitches; sw++) {
		guid_t other = w->design->nodes[sw].guid;

		watch->two_at_once += other != node && is_between(w, other);
		watch->early += !wire_adaptive_on(double_adaptive(w->hw, node)) &&
				wire_adaptive_on(double_adaptive(w->hw, other));
	}
}

/* As a manager leaves it that stops: tables and LIDs of before, adaptive routing on. */
static void leave_on(struct world *w)
{
	stop_fabric(w);
	set_all(w, true, true);
}

static void all_is_written_turned_off_and_read_back_at_a_take_over(void **state)
{
	struct world w;
	struct watch watch = { .w = &w };
	char word[16];

	world_init(&w, pod(1));
	leave_on(&w);
	double_sent_reset(w.hw);
	double_on_set(w.hw, set_seen, &watch);
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	assert_int_equal(watch.unwritten, 0);	/* all blocks come ahead of the modes.. */
	assert_int_equal(watch.two_at_once, 0); /* ..of one switch after another.. */
	assert_int_equal(watch.early, 0); /* ..and nothing else is programmed till all are off */
	assert_true(is_up(&w));
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 3);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++) {
		const uint8_t *info = double_adaptive(w.hw, w.design->nodes[sw].guid);

		assert_false(wire_adaptive_on(info));
		assert_int_equal(info[5], 0x5a); /* what is not ours is as it was */
		assert_string_equal(word_of(&w, sw, word), "off");
	}
	assert_int_equal(count_logged(&w, "adaptive-routing-off", ""), w.design->nswitches);
	assert_int_equal(double_sent(w.hw, WIRE_GET, WIRE_GENERAL_INFO), w.design->nswitches);
	world_fini(&w);
}

static void switches_are_asked_once_and_those_that_can_are_shown(void **state)
{
	struct world w;
	char word[16];

	world_init(&w, pod(1));
	stop_fabric(&w);
	double_set_adaptive(w.hw, w.design->nodes[1].guid, true, false);
	double_sent_reset(w.hw);
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	double_cut(w.hw, w.design->nodes[far_leaf(&w)].guid, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(double_sent(w.hw, WIRE_GET, WIRE_GENERAL_INFO), w.design->nswitches);
	assert_int_equal(double_sent(w.hw, WIRE_GET, WIRE_ADAPTIVE_INFO), 1);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_ADAPTIVE_INFO), 0);
	assert_string_equal(word_of(&w, 1, word), "capable");
	assert_string_equal(word_of(&w, 0, word), "");
	assert_int_equal(count_logged(&w, "adaptive-routing-off", ""), 0);
	world_fini(&w);
}

static void agent_that_does_not_answer_that_has_none_of_it(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	stop_fabric(&w);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
		double_set_mute(w.hw, w.design->nodes[sw].guid, WIRE_GET, WIRE_GENERAL_INFO);
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	assert_true(is_up(&w));
	assert_hardware_delivers(&w, 3);
	world_fini(&w);
}

static void a_switch_that_refuses_is_an_alert_and_delays_no_other(void **state)
{
	struct world w;
	char word[16];

	world_init(&w, pod(1));
	leave_on(&w);
	double_set_mute(w.hw, w.design->nodes[2].guid, WIRE_SET, WIRE_ADAPTIVE_INFO);
	start_fabric(&w);
	run_for(&w, 10 * SECOND_US);
	assert_string_equal(word_of(&w, 2, word), "on");
	assert_string_equal(word_of(&w, 3, word), "off");
	assert_int_equal(count_logged(&w, "alert", "adaptive routing is on and could not"), 1);
	assert_int_equal(count_logged(&w, "adaptive-routing-off", ""), w.design->nswitches - 1);
	world_fini(&w);
}

static void one_that_comes_later_with_it_on_is_turned_off_too(void **state)
{
	struct world w;
	uint32_t leaf;

	world_init(&w, pod(1));
	leaf = far_leaf(&w);
	stop_fabric(&w);
	for (unsigned num = 1; num <= w.design->nodes[leaf].nports; num++)
		double_cut(w.hw, w.design->nodes[leaf].guid, num);
	remove_state(&w, "cables");
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	double_set_adaptive(w.hw, w.design->nodes[leaf].guid, true, true);
	for (unsigned num = 1; num <= w.design->nodes[leaf].nports; num++)
		double_join(w.hw, w.design->nodes[leaf].guid, num);
	run_for(&w, 60 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(count_logged(&w, "adaptive-routing-off", ""), 1);
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 4);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_written_turned_off_and_read_back_at_a_take_over),
		cmocka_unit_test(switches_are_asked_once_and_those_that_can_are_shown),
		cmocka_unit_test(agent_that_does_not_answer_that_has_none_of_it),
		cmocka_unit_test(a_switch_that_refuses_is_an_alert_and_delays_no_other),
		cmocka_unit_test(one_that_comes_later_with_it_on_is_turned_off_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
