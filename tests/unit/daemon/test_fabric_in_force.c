/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What fmd says is in force, against packets that are sent on the fabric double from each host to
 * each other: beside switches that take no Set, refuse it, store nothing, hang, and hosts that do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "tests/lib/fabric_world.h"

static guid_t guid_of(const struct world *w, uint32_t node)
{
	return w->design->nodes[node].guid;
}

static unsigned pairs_that_arrive(const struct world *w)
{
	const struct topo *t = w->design;
	unsigned count = 0;

	for (uint32_t from = 0; from < t->ncas; from++)
		for (uint32_t to = 0; to < t->ncas; to++)
			count += from != to &&
				 double_trace_data(
					 w->hw, guid_of(w, t->nswitches + from), 1,
					 double_port_info(w->hw, guid_of(w, t->nswitches + to), 1)
						 ->lid) >= 0;
	return count;
}

static unsigned pairs_in_force(const struct world *w)
{
	return (unsigned)status_number(w, "in_force", "pairs");
}

static void restart_cold(struct world *w)
{
	stop_fabric(w);
	for (uint32_t n = 0; n < w->design->nnodes; n++)
		double_reboot(w->hw, guid_of(w, n));
	remove_state(w, "tables");
	w->conf.audit.rate = 256;
}

static void all_pairs_are_in_force_in_a_fabric_that_is_well(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, SECOND_US);
	assert_int_equal(pairs_in_force(&w), w.design->ncas * (w.design->ncas - 1));
	assert_int_equal(pairs_that_arrive(&w), pairs_in_force(&w));
	world_fini(&w);
}

static void a_leaf_that_takes_no_set_is_named_with_its_pairs(void **state)
{
	struct world w;
	uint32_t leaf;
	json_t *status, *wait;

	world_init(&w, small_tree());
	leaf = far_leaf(&w);
	restart_cold(&w);
	double_set_no_sets(w.hw, guid_of(&w, leaf), true);
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	assert_true(pairs_that_arrive(&w) < w.design->ncas * (w.design->ncas - 1));
	assert_int_equal(pairs_in_force(&w), pairs_that_arrive(&w));
	status = fabric_status(w.fabric);
	wait = json_array_get(json_object_get(json_object_get(status, "in_force"), "waits"), 0);
	assert_string_equal(json_string_value(json_object_get(wait, "node_name")),
			    w.design->nodes[leaf].desc);
	assert_string_equal(json_string_value(json_object_get(wait, "why")), "takes no Sets");
	json_decref(status);
	world_fini(&w);
}

/* Ills at random, at a cold start and while it runs, each judged two seconds later. */
static void any_ill_devices_are_counted_as_packets_find_them(void **state)
{
	log_set_level(-1, LOG_ERR - 1);
	srand(3);
	for (unsigned round = 0; round < 20; round++) {
		struct world w;

		world_init(&w, small_tree());
		if (round % 2)
			restart_cold(&w);
		for (unsigned i = 0; i < 1 + round % 3; i++) {
			uint32_t node = (uint32_t)rand() % w.design->nnodes;

			if (w.design->nodes[node].guid == guid_of(&w, w.design->nswitches))
				continue; /* fmd's own */
			if (node >= w.design->nswitches)
				double_set_silent(w.hw, guid_of(&w, node), true);
			else if (rand() % 3 == 0)
				double_set_no_sets(w.hw, guid_of(&w, node), true);
			else if (rand() % 2)
				double_set_refuses(w.hw, guid_of(&w, node), true);
			else
				double_set_silent(w.hw, guid_of(&w, node), true);
		}
		if (round % 2)
			start_fabric(&w);
		run_for(&w, 3 * SECOND_US);
		if (pairs_in_force(&w) != pairs_that_arrive(&w))
			fail_msg("round %u: in force %u, arrive %u", round, pairs_in_force(&w),
				 pairs_that_arrive(&w));
		world_fini(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_pairs_are_in_force_in_a_fabric_that_is_well),
		cmocka_unit_test(a_leaf_that_takes_no_set_is_named_with_its_pairs),
		cmocka_unit_test(any_ill_devices_are_counted_as_packets_find_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
