/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One fault, one event that is a warning or graver; what was made of it is a notice that names it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

#define UPLINK 33

struct counted {
	unsigned warnings, answers;
	json_int_t first;  /* number of the first warning */
	json_int_t answer; /* that the last answer names */
};

static json_int_t number(const json_t *event, const char *key)
{
	return json_integer_value(json_object_get(event, key));
}

static bool is_text(const json_t *event, const char *key, const char *text)
{
	return !strcmp(json_string_value(json_object_get(event, key)), text);
}

static json_int_t newest(const struct world *w)
{
	json_t *events = fabric_events(w->fabric, 1);
	json_int_t seq = number(json_array_get(events, 0), "seq");

	json_decref(events);
	return seq;
}

static struct counted count_since(const struct world *w, json_int_t seq)
{
	json_t *events = fabric_events(w->fabric, 1000), *event;
	struct counted c = { 0 };
	size_t i;

	json_array_foreach (events, i, event) {
		if (number(event, "seq") <= seq)
			continue;
		if (is_text(event, "level", "warning") || is_text(event, "level", "error"))
			c.first = c.warnings++ ? c.first : number(event, "seq");
		if (is_text(event, "kind", "rerouted") || is_text(event, "kind", "restored")) {
			c.answers++;
			c.answer = number(event, "fault");
		}
	}
	json_decref(events);
	return c;
}

/* Not what is inside of the switch. */
static bool is_cable(const struct world *w, uint32_t sw, unsigned num)
{
	const struct topo_port *peer = topo_peer(w->design, topo_port(w->design, sw, num));

	return peer && !w->design->nodes[peer->node].sharp;
}

static void all_cables(struct world *w, uint32_t sw, bool cut)
{
	const struct topo_node *node = &w->design->nodes[sw];

	for (unsigned num = 1; num <= node->nports; num++)
		if (is_cable(w, sw, num))
			(cut ? double_cut : double_join)(w->hw, node->guid, num);
}

static void assert_one_fault(struct world *w, json_int_t seq)
{
	struct counted c = count_since(w, seq);

	assert_int_equal(c.warnings, 1);
	assert_int_equal(c.answers, 1);
	assert_int_equal(c.answer, c.first);
}

static void a_cable_that_is_cut_is_one_event(void **state)
{
	struct world w;
	json_int_t seq;

	world_init(&w, pod(1));
	seq = newest(&w);
	double_cut(w.hw, w.design->nodes[0].guid, UPLINK);
	run_for(&w, SECOND_US);
	assert_one_fault(&w, seq);
	seq = newest(&w);
	double_join(w.hw, w.design->nodes[0].guid, UPLINK);
	run_for(&w, SECOND_US);
	assert_int_equal(count_since(&w, seq).warnings, 0);
	assert_int_equal(count_since(&w, seq).answers, 1);
	world_fini(&w);
}

static uint32_t last_spine(const struct world *w)
{
	return w->design->nswitches - 1;
}

static void a_switch_that_goes_is_one_event_and_none_when_it_comes_back_empty(void **state)
{
	struct world w;
	json_int_t seq;

	world_init(&w, pod(1));
	seq = newest(&w);
	all_cables(&w, last_spine(&w), true);
	run_for(&w, SECOND_US);
	assert_one_fault(&w, seq);
	assert_int_equal(count_logged(&w, "switch-down", ""), 1);
	seq = newest(&w);
	double_reboot(w.hw, w.design->nodes[last_spine(&w)].guid);
	all_cables(&w, last_spine(&w), false);
	run_for(&w, 3 * SECOND_US);
	assert_int_equal(count_since(&w, seq).warnings, 0);
	assert_int_equal(count_logged(&w, "switch-up", ""), 1);
	assert_int_equal(count_logged(&w, "switch-rebooted", ""), 0);
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

static void a_switch_that_reboots_is_one_event(void **state)
{
	struct world w;
	json_int_t seq;

	world_init(&w, pod(1));
	seq = newest(&w);
	double_reboot(w.hw, w.design->nodes[last_spine(&w)].guid);
	run_for(&w, SECOND_US);
	assert_int_equal(count_since(&w, seq).warnings, 1); /* then it is used again: a notice */
	assert_int_equal(count_logged(&w, "switch-rebooted", ""), 1);
	assert_int_equal(count_logged(&w, "link-bounced", ""), 0);
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cable_that_is_cut_is_one_event),
		cmocka_unit_test(a_switch_that_goes_is_one_event_and_none_when_it_comes_back_empty),
		cmocka_unit_test(a_switch_that_reboots_is_one_event),
	};
	return cmocka_run_group_tests_name("one_event", tests, NULL, NULL);
}
