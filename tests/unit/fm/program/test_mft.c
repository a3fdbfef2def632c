/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mft on the fabric double: what switches hold afterwards, what was written for it, and that no
 * group has a ring on the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "fm/loop/log.h"
#include "fm/program/mft.h"
#include "routing/multicast/mcast_plan.h"
#include "tests/fabric/damage.h"
#include "tests/fabric/mcast_held.h"
#include "tests/lib/sweep_bench.h"
#include "topology/base/mem.h"

#define GROUPS	40
#define MEMBERS 9
#define MLID(n) (MCAST_FIRST_MLID + (n))

struct prog {
	struct bench b;
	struct mft *mft;
	struct mcast_member members[GROUPS][MEMBERS];
	struct mcast_group groups[GROUPS];
	struct mcast_plan plan;
	struct mft_result result;
	bool judge; /* each write, for rings */
	unsigned rings;
	struct topo *now; /* what the trees are made for */
};

static void set_cb(void *arg, guid_t node, uint16_t attr, uint32_t mod)
{
	struct prog *p = arg;

	if (attr != WIRE_MFT || !p->judge)
		return;
	for (unsigned i = 0; i < MCAST_BLOCK; i++)
		p->rings += mcast_held_ring(p->b.d, p->b.found,
					    (uint16_t)MLID((mod & 0x1ff) * MCAST_BLOCK + i));
}

static void gather(struct prog *p, uint64_t seed)
{
	const struct topo *t = p->now;

	for (unsigned g = 0; g < GROUPS; g++) {
		for (unsigned i = 0; i < MEMBERS; i++) {
			uint32_t slice = t->ncas / MEMBERS;
			uint32_t ca = t->nswitches + i * slice + damage_random(&seed) % slice;

			p->members[g][i] = (struct mcast_member){ t->nodes[ca].port0 + 1,
								  damage_random(&seed) % 4 == 0 };
		}
		p->groups[g] = (struct mcast_group){ .mlid = (uint16_t)MLID(g),
						     .nmembers = MEMBERS,
						     .members = p->members[g] };
	}
}

static void prog_init(struct prog *p, struct topo *design)
{
	*p = (struct prog){ 0 };
	bench_init(&p->b, design, NULL);
	bench_discover(&p->b);
	p->now = topo_ref(p->b.found);
	p->mft = mft_new(p->b.loop, p->b.mad, sweep_inventory(p->b.sweep));
	double_on_set(p->b.d, set_cb, p);
	gather(p, 1);
}

static void prog_fini(struct prog *p)
{
	mft_free(p->mft);
	mcast_plan_fini(&p->plan);
	topo_unref(p->now);
	bench_fini(&p->b);
}

static void applied(void *arg, const struct mft_result *result)
{
	struct prog *p = arg;

	p->result = *result;
	p->b.sweeps++;
}

static void want_tree(struct prog *p, const struct mcast_tree *tree, bool wanted)
{
	for (uint32_t h = 0; h < tree->nhops; h++)
		mft_want(p->mft, tree->hops[h].guid, tree->mlid,
			 wanted ? tree->hops[h].ports : NULL);
}

static void apply_again(struct prog *p)
{
	unsigned before = p->b.sweeps;

	mft_apply(p->mft, p->now, MLID(GROUPS - 1), true, applied, p);
	assert_true(mft_busy(p->mft));
	loop_run(p->b.loop);
	assert_int_equal(p->b.sweeps, before + 1);
	assert_false(mft_busy(p->mft));
}

/* Trees for the first n groups; the others end. */
static void apply(struct prog *p, unsigned n)
{
	struct mcast_plan older = p->plan;

	mcast_plan(p->now, p->groups, n, &older, &p->plan);
	for (uint32_t i = 0; i < older.ntrees; i++)
		want_tree(p, &older.trees[i], false);
	for (uint32_t i = 0; i < p->plan.ntrees; i++)
		want_tree(p, &p->plan.trees[i], true);
	mcast_plan_fini(&older);
	double_sent_reset(p->b.d);
	apply_again(p);
}

/* Every port of every switch as the trees say, and the trees right. */
static void assert_held(struct prog *p)
{
	for (unsigned g = 0; g < GROUPS; g++) {
		struct mcast_tree held;
		char err[256];

		mcast_held_tree(p->b.d, p->now, (uint16_t)MLID(g), &held);
		if (g >= p->plan.ntrees) {
			assert_int_equal(held.nhops, 0);
		} else {
			held.left_out = p->plan.trees[g].left_out;
			if (!mcast_tree_check(p->now, &p->groups[g], &held, err, sizeof(err)))
				fail_msg("MLID 0x%x: %s", MLID(g), err);
			assert_int_equal(held.nhops, p->plan.trees[g].nhops);
		}
		mcast_tree_fini(&held);
	}
}

static uint64_t writes(const struct prog *p)
{
	return double_sent(p->b.d, WIRE_SET, WIRE_MFT);
}

/* A spine or core that groups go through. */
static uint32_t busy_spine(const struct prog *p)
{
	for (uint32_t i = 0; i < p->plan.ntrees; i++)
		if (p->now->nodes[p->plan.trees[i].root].level >= 1)
			return p->plan.trees[i].root;
	fail();
	return 0;
}

static void trees_reach_the_switches_and_nothing_is_written_twice(void **state)
{
	struct prog p;

	prog_init(&p, design_pgft3());
	apply(&p, GROUPS);
	assert_held(&p);
	assert_true(p.result.blocks > 0 && p.result.blocks == writes(&p));
	assert_int_equal(p.result.failed, 0);
	assert_int_equal(mft_blocks_written(p.mft), p.result.blocks);
	apply(&p, GROUPS);
	assert_int_equal(writes(&p), 0);
	assert_int_equal(double_sent(p.b.d, WIRE_GET, WIRE_MFT), 0);
	prog_fini(&p);
}

static void a_join_writes_the_blocks_of_its_tree_only(void **state)
{
	struct prog p;
	uint32_t leaf;

	prog_init(&p, design_pgft3());
	apply(&p, GROUPS);
	leaf = p.plan.trees[3].hops[0].sw;
	p.members[3][MEMBERS - 1] = p.members[3][0];
	p.members[3][0] = (struct mcast_member){ p.now->nodes[leaf].port0, false };
	apply(&p, GROUPS);
	assert_held(&p);
	assert_true(writes(&p) > 0 && writes(&p) <= 2 * p.plan.trees[3].nhops + 6);
	prog_fini(&p);
}

static void groups_that_end_are_cleared(void **state)
{
	struct prog p;

	prog_init(&p, design_pgft3());
	apply(&p, GROUPS);
	apply(&p, 7);
	assert_held(&p);
	apply(&p, 0);
	assert_held(&p);
	prog_fini(&p);
}

/* ---- What is there already ------------------------------------------------------------------- */

static void after_a_restart_all_is_read_and_nothing_written(void **state)
{
	struct prog p;
	unsigned positions = 0;

	prog_init(&p, design_pgft3());
	apply(&p, GROUPS);
	for (uint32_t sw = 0; sw < p.now->nswitches; sw++)
		positions += p.now->nodes[sw].nports / MCAST_POSITION + 1;
	mft_free(p.mft);
	p.mft = mft_new(p.b.loop, p.b.mad, sweep_inventory(p.b.sweep));
	apply(&p, GROUPS);
	assert_int_equal(writes(&p), 0);
	assert_int_equal(double_sent(p.b.d, WIRE_GET, WIRE_MFT), 3 * positions);
	assert_int_equal(p.result.cleared, 0);
	assert_held(&p);
	prog_fini(&p);
}

/*
 * Trees of 40 groups are there, and we know of 5 of them: the others go, in blocks we do not use
 * too.
 */
static void what_an_earlier_manager_left_is_cleared(void **state)
{
	struct prog p;

	prog_init(&p, design_pgft3());
	apply(&p, GROUPS);
	mft_free(p.mft);
	p.mft = mft_new(p.b.loop, p.b.mad, sweep_inventory(p.b.sweep));
	mcast_plan_fini(&p.plan);
	gather(&p, 99);
	p.judge = true;
	apply(&p, 5);
	assert_true(p.result.cleared > 0);
	assert_int_equal(p.rings, 0);
	assert_held(&p);
	prog_fini(&p);
}

static void a_switch_that_rebooted_gets_its_blocks_again(void **state)
{
	struct prog p;
	guid_t guid;

	prog_init(&p, design_pgft3());
	apply(&p, GROUPS);
	guid = p.now->nodes[busy_spine(&p)].guid;
	double_reboot(p.b.d, guid);
	inventory_find(sweep_inventory(p.b.sweep), guid)->reboots++;
	apply(&p, GROUPS);
	assert_true(writes(&p) > 0);
	assert_int_equal(p.result.switches, 1);
	assert_held(&p);
	prog_fini(&p);
}

static void a_table_top_that_is_in_the_way_is_raised(void **state)
{
	struct prog p;
	struct inv_node *node;

	prog_init(&p, design_pgft3());
	node = inventory_find(sweep_inventory(p.b.sweep), p.now->nodes[0].guid);
	node->sw.mft_top = MLID(2);
	apply(&p, GROUPS);
	assert_int_equal(double_sent(p.b.d, WIRE_SET, WIRE_SWITCH_INFO), 1);
	assert_int_equal(double_switch_info(p.b.d, node->guid)->mft_top,
			 MLID(node->sw.mft_cap - 1));
	prog_fini(&p);
}

/* ---- On the way ------------------------------------------------------------------------------ */

/*
 * Cables fail at random; after each fault the trees that used it move, and no write closes a ring.
 */
static void no_write_closes_a_ring_while_trees_move(void **state)
{
	struct topo *next;
	uint64_t seed = 5;
	struct prog p;
	unsigned moved = 0;

	prog_init(&p, design_pgft3());
	apply(&p, GROUPS);
	p.judge = true;
	for (unsigned round = 0; round < 60; round++) {
		next = damage_links(p.b.found, 15, damage_random(&seed));
		topo_unref(p.now);
		p.now = next;
		if (round % 3 == 0)
			gather(&p, seed);
		apply(&p, GROUPS);
		moved += p.plan.built;
		assert_int_equal(p.rings, 0);
		assert_int_equal(p.result.failed, 0);
		assert_held(&p);
	}
	assert_true(moved > 300);
	prog_fini(&p);
}

static void lost_answers_leave_no_ring_and_no_gap(void **state)
{
	struct topo *next;
	uint64_t seed = 6;
	struct prog p;
	unsigned failed = 0;

	log_set_level(-1, LOG_ERR);
	prog_init(&p, design_pgft3());
	apply(&p, GROUPS);
	p.judge = true;
	for (unsigned round = 0; round < 20; round++) {
		next = damage_links(p.b.found, 15, damage_random(&seed));
		topo_unref(p.now);
		p.now = next;
		double_set_fault(p.b.d, 0, DOUBLE_BAD_STATUS, 300, 0x1c);
		apply(&p, GROUPS);
		failed += p.result.failed;
		double_set_fault(p.b.d, 0, DOUBLE_BAD_STATUS, 0, 0);
		apply_again(&p);
		assert_int_equal(p.result.failed, 0);
		assert_int_equal(p.rings, 0);
		assert_held(&p);
	}
	assert_true(failed > 0);
	prog_fini(&p);
}

static void a_switch_that_keeps_its_old_entries_holds_its_groups_and_no_others(void **state)
{
	struct prog p;
	struct topo *cut;
	guid_t silent;
	uint32_t spine;

	log_set_level(-1, LOG_ERR);
	prog_init(&p, design_pgft3());
	apply(&p, GROUPS);
	spine = busy_spine(&p);
	silent = p.now->nodes[spine].guid;
	double_set_silent(p.b.d, silent, true);
	/* Nobody goes by its first cable any more, so trees move off it; it can't be told. */
	cut = damage_cut(p.b.found, spine, 1);
	topo_unref(p.now);
	p.now = cut;
	p.judge = true;
	apply(&p, GROUPS);
	assert_true(p.result.failed > 0);
	assert_true(p.result.held > 0);
	assert_true(p.result.held < GROUPS);
	assert_int_equal(p.rings, 0);
	double_set_silent(p.b.d, silent, false);
	apply_again(&p);
	assert_int_equal(p.result.failed, 0);
	assert_int_equal(p.rings, 0);
	assert_held(&p);
	prog_fini(&p);
}

static void a_switch_that_failed_is_left_alone_until_retried(void **state)
{
	struct prog p;
	guid_t silent;

	log_set_level(-1, LOG_ERR);
	prog_init(&p, design_pgft3());
	silent = p.now->nodes[0].guid;
	double_set_silent(p.b.d, silent, true);
	apply(&p, GROUPS);
	double_sent_reset(p.b.d);
	mft_apply(p.mft, p.now, MLID(GROUPS - 1), false, applied, &p);
	loop_run(p.b.loop);
	assert_int_equal(double_sent(p.b.d, 0, WIRE_MFT), 0);
	double_set_silent(p.b.d, silent, false);
	apply_again(&p);
	assert_int_equal(p.result.failed, 0);
	assert_held(&p);
	prog_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_reach_the_switches_and_nothing_is_written_twice),
		cmocka_unit_test(a_join_writes_the_blocks_of_its_tree_only),
		cmocka_unit_test(groups_that_end_are_cleared),
		cmocka_unit_test(after_a_restart_all_is_read_and_nothing_written),
		cmocka_unit_test(what_an_earlier_manager_left_is_cleared),
		cmocka_unit_test(a_switch_that_rebooted_gets_its_blocks_again),
		cmocka_unit_test(a_table_top_that_is_in_the_way_is_raised),
		cmocka_unit_test(no_write_closes_a_ring_while_trees_move),
		cmocka_unit_test(lost_answers_leave_no_ring_and_no_gap),
		cmocka_unit_test(
			a_switch_that_keeps_its_old_entries_holds_its_groups_and_no_others),
		cmocka_unit_test(a_switch_that_failed_is_left_alone_until_retried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
