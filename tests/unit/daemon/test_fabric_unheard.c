/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A master that no device answers, because its packets are lost or the answers are: it is none any
 * more, and a manager that took over meanwhile stays master.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/election.h"
#include "fm/sm/module.h"
#include "tests/lib/sm_pair.h"

static const struct topo_port *own_leaf_port(const struct world *w)
{
	return topo_peer(w->design, topo_port(w->design, w->design->nswitches, 1));
}

/* per mille of what the first host sends, or of what is sent to it. */
static void lose(const struct world *w, bool sent, unsigned per_mille)
{
	const struct topo_port *leaf = own_leaf_port(w);

	if (sent)
		double_set_direction_fault(w->hw, sm_host(w, 0), 1, DOUBLE_LOSE, per_mille, 0);
	else
		double_set_direction_fault(w->hw, w->design->nodes[leaf->node].guid, leaf->num,
					   DOUBLE_LOSE, per_mille, 0);
}

static bool is_in_state(const struct world *w, const char *name)
{
	json_t *status = fabric_status(w->fabric);
	bool same = !strcmp(json_string_value(json_object_get(status, "state")), name);

	json_decref(status);
	return same;
}

static void assert_asks(const struct world *w)
{
	assert_true(is_in_state(w, "asking"));
	assert_true(has_role(w, "discovering"));
	assert_false(is_up(w));
	assert_non_null(sm_refuses(w->fabric));
	assert_int_equal(count_logged(w, "unheard", ""), 1);
}

/* a outranks b, by its priority and by its GUID, and gives way to who ruled meanwhile. */
static void lost_for_8_s_beside_a_standby(int priority_a, bool sent)
{
	uint64_t patience_us, sets;
	struct pair p;

	pair_init(&p, small_tree(), priority_a, 14);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 20 * SECOND_US + 300000);
	assert_well_managed_by(&p.a);
	assert_true(has_role(&p.b, "standby"));
	patience_us = (uint64_t)p.b.conf.sm.polling_timeout_ms * 1000 *
		      (unsigned)p.b.conf.sm.polling_retries;

	lose(&p.a, sent, 1000);
	run_for(&p.a, patience_us);
	assert_asks(&p.a);
	sets = sets_by(double_io(p.a.hw));
	run_for(&p.a, 8 * SECOND_US - patience_us);
	assert_asks(&p.a);
	assert_true(has_role(&p.b, "master"));

	lose(&p.a, sent, 0);
	run_for(&p.a, 30 * SECOND_US);
	assert_well_managed_by(&p.b);
	assert_true(has_role(&p.a, "standby"));
	assert_true(is_in_state(&p.a, "standby"));
	assert_int_equal(count_logged(&p.b, "handover", ""), 0);
	assert_int_equal(count_logged(&p.b, "two-masters", ""), 0);
	/* At most the answer to PortStateChange of a leaf. */
	assert_in_range(sets_by(double_io(p.a.hw)) - sets, 0, 1);

	double_freeze(p.io_b, true); /* the new master is gone: rank counts again */
	run_for(&p.a, 10 * SECOND_US);
	assert_well_managed_by(&p.a);
	assert_true(status_number(&p.a, "election", "priority") >= 14);
	pair_fini(&p);
}

static void a_master_that_cannot_send_asks_and_gives_way_to_who_took_over(void **state)
{
	lost_for_8_s_beside_a_standby(14, true);
	lost_for_8_s_beside_a_standby(15, true);
}

static void a_master_that_cannot_hear_asks_and_gives_way_to_who_took_over(void **state)
{
	lost_for_8_s_beside_a_standby(14, false);
	lost_for_8_s_beside_a_standby(15, false);
}

/* The standby has not taken over yet. A silence begins at each time between two questions. */
static void a_short_silence_changes_nothing(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 20 * SECOND_US);
	for (unsigned i = 0; i < 32; i++) {
		lose(&p.a, i % 2, 1000);
		run_for(&p.a, SECOND_US);
		lose(&p.a, i % 2, 0);
		run_for(&p.a, 1100000 + i * 37000);
	}
	assert_well_managed_by(&p.a);
	assert_true(has_role(&p.b, "standby"));
	assert_int_equal(count_logged(&p.a, "unheard", ""), 0);
	pair_fini(&p);
}

/* Its agent answers nobody; it forwards, and so do all others. */
static void a_neighbour_that_hangs_alone_is_no_silence(void **state)
{
	struct pair p;
	guid_t leaf;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 20 * SECOND_US);
	leaf = p.a.design->nodes[own_leaf_port(&p.a)->node].guid;
	double_set_silent(p.a.hw, leaf, true);
	run_for(&p.a, 60 * SECOND_US);
	assert_true(has_role(&p.a, "master") && is_up(&p.a));
	assert_true(has_role(&p.b, "standby"));
	assert_int_equal(count_logged(&p.a, "unheard", ""), 0);
	pair_fini(&p);
}

/* Nobody was there to take over: no host registers anew, no table is written. */
static void a_master_alone_goes_on_when_it_is_heard_again(void **state)
{
	struct world w;
	uint64_t written;
	unsigned asked;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	written = double_sent(w.hw, WIRE_SET, WIRE_LFT);
	asked = all_reregistered(&w);
	lose(&w, true, 1000);
	run_for(&w, 20 * SECOND_US);
	assert_asks(&w);
	lose(&w, true, 0);
	run_for(&w, 5 * SECOND_US);
	assert_well_managed_by(&w);
	assert_true(is_in_state(&w, "up"));
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_LFT), written);
	assert_int_equal(all_reregistered(&w), asked);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_master_that_cannot_send_asks_and_gives_way_to_who_took_over),
		cmocka_unit_test(a_master_that_cannot_hear_asks_and_gives_way_to_who_took_over),
		cmocka_unit_test(a_short_silence_changes_nothing),
		cmocka_unit_test(a_neighbour_that_hangs_alone_is_no_silence),
		cmocka_unit_test(a_master_alone_goes_on_when_it_is_heard_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
