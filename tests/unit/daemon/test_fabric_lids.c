/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whose LIDs count: those of running ports at a start or take-over, the own ones of a master that
 * another manager overwrites, and those of the state for ports in Init.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/election.h"
#include "tests/lib/sm_pair.h"

#define STRAY 9 /* the host of the stray manager */

static unsigned port0_of(const struct world *w, uint32_t node)
{
	return node < w->design->nswitches ? 0 : 1;
}

/*
 * What a manager with other LIDs writes, within `us`: each node gets the LID of the one `by` places
 * further on, all ports show the LID of host `at` as their SM LID, and switches forward by that.
 */
static void renumber_within(struct world *w, uint32_t by, uint32_t at, uint64_t us)
{
	const struct topo *t = w->design;
	uint16_t *was = lids_held(w);
	uint8_t ports[256];
	uint16_t sm_lid = was[(t->nswitches + at + by) % t->nnodes];

	for (uint32_t n = 0; n < t->nnodes; n++) {
		double_set_lid(w->hw, t->nodes[n].guid, port0_of(w, n), was[(n + by) % t->nnodes]);
		double_set_sm_lid(w->hw, t->nodes[n].guid, port0_of(w, n), sm_lid);
		if (us)
			run_for(w, us / (t->nnodes + t->nswitches));
	}
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		if (us)
			run_for(w, us / (t->nnodes + t->nswitches));
		for (uint32_t n = 0; n < t->nnodes; n++)
			ports[n] = double_lft(w->hw, t->nodes[sw].guid, was[n]);
		for (uint32_t n = 0; n < t->nnodes; n++)
			double_set_lft(w->hw, t->nodes[sw].guid, was[(n + by) % t->nnodes],
				       ports[n]);
	}
	free(was);
}

static void renumber(struct world *w, uint32_t by, uint32_t at)
{
	renumber_within(w, by, at, 0);
}

/* Two hosts come back from a power cut, each with the LID of the other in its flash. */
static void swap_in_flash(const struct world *w, const uint16_t *lids, uint32_t a, uint32_t b)
{
	uint32_t first = w->design->nswitches;

	double_set_power(w->hw, sm_host(w, a), false);
	double_set_power(w->hw, sm_host(w, b), false);
	double_set_power(w->hw, sm_host(w, a), true);
	double_set_power(w->hw, sm_host(w, b), true);
	double_set_lid(w->hw, sm_host(w, a), 1, lids[first + b]);
	double_set_lid(w->hw, sm_host(w, b), 1, lids[first + a]);
}

/* How many ports in that state at least hold another LID than the one in `lids`. */
static unsigned moved_of(const struct world *w, const uint16_t *lids, uint8_t least)
{
	const struct topo *t = w->design;
	unsigned count = 0;

	for (uint32_t n = 0; n < t->nnodes; n++) {
		const struct wire_port_info *is =
			double_port_info(w->hw, t->nodes[n].guid, port0_of(w, n));

		count += is->lid != lids[n] && (n < t->nswitches || is->state >= least);
	}
	return count;
}

static unsigned moved(const struct world *w, const uint16_t *lids)
{
	return moved_of(w, lids, 0);
}

static void a_start_after_a_week_under_another_manager_moves_no_running_port(void **state)
{
	struct world w;
	uint16_t *lids;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	run_for(&w, 5 * SECOND_US);
	stop_fabric(&w);
	renumber(&w, 5, STRAY);
	lids = lids_held(&w);
	start_fabric(&w);
	run_for(&w, 10 * SECOND_US);
	assert_int_equal(moved(&w, lids), 0);
	assert_well_managed_by(&w);
	assert_int_equal(count_logged(&w, "overwritten", ""), 0);
	free(lids);
	world_fini(&w);
}

static void at_a_start_ports_in_init_get_what_the_state_says(void **state)
{
	struct world w;
	uint16_t *lids;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	run_for(&w, 5 * SECOND_US);
	lids = lids_held(&w);
	stop_fabric(&w);
	for (uint32_t i = 20; i < 32; i += 2)
		swap_in_flash(&w, lids, i, i + 1);
	start_fabric(&w);
	run_for(&w, 10 * SECOND_US);
	assert_int_equal(moved(&w, lids), 0);
	assert_well_managed_by(&w);
	free(lids);
	world_fini(&w);
}

/* b has a copy of a's state, and follows it while hosts have no power. */
static void at_a_take_over_ports_in_init_get_what_the_state_says(void **state)
{
	struct pair p;
	uint16_t *lids;
	char command[300];

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 5 * SECOND_US);
	snprintf(command, sizeof(command), "cp -a %s/. %s/", p.a.state_dir, p.b.state_dir);
	assert_int_equal(system(command), 0);
	pair_start_b(&p);
	run_for(&p.a, 5 * SECOND_US);
	assert_true(has_role(&p.b, "standby"));
	lids = lids_held(&p.a);
	double_freeze(double_io(p.a.hw), true);
	for (uint32_t i = 20; i < 32; i += 2)
		swap_in_flash(&p.b, lids, i, i + 1);
	run_for(&p.b, 10 * SECOND_US);
	assert_int_equal(moved(&p.b, lids), 0);
	assert_well_managed_by(&p.b);
	free(lids);
	pair_fini(&p);
}

/* fmd has run the fabric, then a manager of another vendor, whose LIDs lie `by` places further. */
static uint16_t *begin_behind_another(struct world *w, uint32_t by)
{
	world_init(w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	run_for(w, 5 * SECOND_US);
	stop_fabric(w);
	renumber(w, by, STRAY);
	other_sm_at(w, STRAY,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 15, .state = SM_MASTER });
	start_fabric(w);
	run_for(w, 10 * SECOND_US);
	assert_true(has_role(w, "standby"));
	double_set_sm(w->hw, sm_host(w, STRAY), 1, NULL);
	return lids_held(w);
}

static void a_take_over_from_another_vendors_manager_keeps_all_its_lids(void **state)
{
	struct world w;
	uint16_t *lids = begin_behind_another(&w, 7);

	run_for(&w, 20 * SECOND_US);
	assert_int_equal(moved(&w, lids), 0);
	assert_well_managed_by(&w);
	free(lids);
	world_fini(&w);
}

static void at_a_take_over_what_a_third_manager_has_written_is_restored(void **state)
{
	struct world w;
	uint16_t *lids = begin_behind_another(&w, 0);

	for (uint32_t i = 20; i < 32; i++) {
		double_set_lid(w.hw, sm_host(&w, i), 1, (uint16_t)(300 + i));
		double_set_sm_lid(w.hw, sm_host(&w, i), 1, 299);
	}
	run_for(&w, 20 * SECOND_US);
	assert_int_equal(moved(&w, lids), 0);
	assert_well_managed_by(&w);
	free(lids);
	world_fini(&w);
}

static void a_master_restores_what_a_stray_manager_overwrites(void **state)
{
	struct world w;
	const char *by;
	uint16_t *lids;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	run_for(&w, 20 * SECOND_US);
	lids = lids_held(&w);
	by = w.design->nodes[w.design->nswitches + STRAY].desc;
	other_sm_at(&w, STRAY,
		    (struct wire_sm_info){ .sm_key = 2, .priority = 9, .state = SM_MASTER });
	for (unsigned i = 0; i < 5; i++) {
		renumber(&w, 3 + i, STRAY);
		run_for(&w, 2 * SECOND_US);
		assert_int_equal(moved(&w, lids), 0);
		assert_well_managed_by(&w);
		/* By its name; what it goes on writing is no more news. */
		assert_int_equal(count_logged(&w, "overwritten", by), 1);
		assert_int_equal(count_logged(&w, "overwritten", ""), 1);
		run_for(&w, SECOND_US);
	}
	double_set_sm(w.hw, sm_host(&w, STRAY), 1, NULL);
	run_for(&w, 20 * SECOND_US);
	assert_int_equal(moved(&w, lids), 0);
	assert_well_managed_by(&w);
	free(lids);
	world_fini(&w);
}

/* It writes at the last moment, and the master begins anew because it is alone again. */
static void a_stray_managers_numbering_is_not_adopted_when_it_goes(void **state)
{
	struct world w;
	struct answer swept = { 0 };
	uint16_t *lids;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	run_for(&w, 20 * SECOND_US);
	lids = lids_held(&w);
	other_sm_at(&w, STRAY,
		    (struct wire_sm_info){ .sm_key = 2, .priority = 9, .state = SM_MASTER });
	fabric_sweep(w.fabric, operation_cb, &swept);
	run_for(&w, 15 * SECOND_US);
	assert_true(count_alerts(&w, "two-masters", ""));
	double_set_sm(w.hw, sm_host(&w, STRAY), 1, NULL);
	while (count_alerts(&w, "two-masters", "")) {
		renumber(&w, 5, STRAY);
		run_for(&w, SECOND_US / 10);
	}
	run_for(&w, 20 * SECOND_US);
	assert_int_equal(moved(&w, lids), 0);
	assert_well_managed_by(&w);
	free(lids);
	world_fini(&w);
}

/* Cuts or joins all links between the far leaf and the rest: the last host is behind it. */
static void set_island(const struct world *w, bool on)
{
	const struct topo *t = w->design;
	uint32_t host = t->nodes[t->nnodes - 1].port0 + 1,
		 leaf = t->ports[t->ports[host].peer].node;

	for (unsigned p = 1; p <= t->nodes[leaf].nports; p++) {
		uint32_t peer = topo_port(t, leaf, p)->peer;

		if (peer == TOPO_NONE || t->ports[peer].node >= t->nswitches)
			continue;
		if (on)
			double_cut(w->hw, t->nodes[leaf].guid, p);
		else
			double_join(w->hw, t->nodes[leaf].guid, p);
	}
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Power comes back in two islands with a manager each, hosts hold others' LIDs; they merge. */
static void merge(uint64_t seed, unsigned swaps)
{
	struct pair p;
	uint64_t random = seed * 0x9e3779b97f4a7c15ull + 1;
	uint16_t *lids;
	char command[300];
	unsigned late_us = next_random(&random) % 5000000;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 5 * SECOND_US);
	lids = lids_held(&p.a);
	pair_stop(&p.a);
	snprintf(command, sizeof(command), "cp -a %s/. %s/", p.a.state_dir, p.b.state_dir);
	assert_int_equal(system(command), 0);
	for (uint32_t n = 0; n < p.a.design->nnodes; n++)
		double_set_power(p.a.hw, p.a.design->nodes[n].guid, false);
	for (uint32_t n = 0; n < p.a.design->nnodes; n++)
		double_set_power(p.a.hw, p.a.design->nodes[n].guid, true);
	for (uint32_t n = p.a.design->nswitches; n < p.a.design->nnodes; n++)
		double_set_lid(p.a.hw, p.a.design->nodes[n].guid, 1, lids[n]);
	for (unsigned i = 0; i < swaps; i++) {
		uint32_t x = 1 + next_random(&random) % (p.a.design->ncas - 2);
		uint32_t y = 1 + next_random(&random) % (p.a.design->ncas - 2);

		if (x != y)
			swap_in_flash(&p.a, lids, x, y);
	}
	set_island(&p.a, true);
	start_fabric(&p.a);
	run_for(&p.a, late_us);
	pair_start_b(&p);
	run_for(&p.a, 10 * SECOND_US);
	assert_true(is_master_and_up(&p.a) && is_master_and_up(&p.b));
	assert_int_equal(moved(&p.a, lids), 0);
	if (seed % 2)
		renumber(&p.a, 1 + next_random(&random) % 20, STRAY);
	/* These come back while the islands merge: whoever is in charge finds them in Init. */
	swap_in_flash(&p.a, lids, 20, 21);
	swap_in_flash(&p.a, lids, 22, 46);
	set_island(&p.a, false);
	run_for(&p.a, 40 * SECOND_US);
	assert_int_equal(moved(&p.a, lids), 0);
	assert_true(has_role(&p.a, "standby") != has_role(&p.b, "standby"));
	assert_well_managed_by(has_role(&p.a, "master") ? &p.a : &p.b);
	free(lids);
	pair_fini(&p);
}

static void islands_merge_and_no_port_moves(void **state)
{
	merge(2, 6);
}

/* A stray manager beside a master, at any moment and more than once, swapped LIDs meanwhile. */
static void stray(uint64_t seed)
{
	struct world w;
	uint64_t random = seed * 0x9e3779b97f4a7c15ull + 1;
	uint32_t at = 2 + next_random(&random) % 39;
	uint16_t *lids;
	unsigned left, bursts = 1 + next_random(&random) % 4;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	run_for(&w, 5 * SECOND_US);
	lids = lids_held(&w);
	other_sm_at(&w, at,
		    (struct wire_sm_info){ .sm_key = 2, .priority = 9, .state = SM_MASTER });
	for (unsigned i = 0; i < bursts; i++) {
		renumber_within(&w, 1 + next_random(&random) % 60, at,
				seed % 2 ? next_random(&random) % (3 * SECOND_US) : 0);
		run_for(&w, next_random(&random) % (4 * SECOND_US));
		if (next_random(&random) % 2)
			swap_in_flash(&w, lids, 41 + next_random(&random) % 3,
				      44 + next_random(&random) % 3);
	}
	if (next_random(&random) % 2)
		double_set_sm(w.hw, sm_host(&w, at), 1, NULL);
	/* What is restored stays. A host whose trap went astray may be in Init still. */
	left = moved_of(&w, lids, TOPO_ARMED);
	for (unsigned i = 0; i < 50; i++) {
		unsigned before = left;

		run_for(&w, SECOND_US / 10);
		left = moved_of(&w, lids, TOPO_ARMED);
		if (left > before)
			fail_msg("seed %d: %u LIDs moved, %u before", (int)seed, left, before);
	}
	if (left)
		fail_msg("seed %d: %u LIDs are not restored", (int)seed, left);
	if (count_logged(&w, "overwritten", "") != 1)
		fail_msg("seed %d: %u events", (int)seed, count_logged(&w, "overwritten", ""));
	double_set_sm(w.hw, sm_host(&w, at), 1, NULL);
	run_for(&w, 20 * SECOND_US);
	if (moved(&w, lids))
		fail_msg("seed %d: %u LIDs moved in the end", (int)seed, moved(&w, lids));
	assert_well_managed_by(&w);
	free(lids);
	world_fini(&w);
}

/* SEEDS and FROM of the environment say which orders are played. */
static void in_any_order_of_stray_managers_and_merges_no_running_port_moves(void **state)
{
	const char *seeds = getenv("SEEDS"), *from = getenv("FROM");

	for (int seed = from ? atoi(from) : 1; seed <= (seeds ? atoi(seeds) : 10); seed++)
		if (seed % 5 == 0)
			merge((uint64_t)seed, 1 + (unsigned)seed % 7);
		else
			stray((uint64_t)seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_start_after_a_week_under_another_manager_moves_no_running_port),
		cmocka_unit_test(at_a_start_ports_in_init_get_what_the_state_says),
		cmocka_unit_test(at_a_take_over_ports_in_init_get_what_the_state_says),
		cmocka_unit_test(a_take_over_from_another_vendors_manager_keeps_all_its_lids),
		cmocka_unit_test(at_a_take_over_what_a_third_manager_has_written_is_restored),
		cmocka_unit_test(a_master_restores_what_a_stray_manager_overwrites),
		cmocka_unit_test(a_stray_managers_numbering_is_not_adopted_when_it_goes),
		cmocka_unit_test(islands_merge_and_no_port_moves),
		cmocka_unit_test(in_any_order_of_stray_managers_and_merges_no_running_port_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
