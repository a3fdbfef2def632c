/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One multicast tree: where it stands, whom it serves; and the judge, who is shown trees that are
 * wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/mcast_crowd.h"
#include "topology/snapshot/topo_builder.h"

/* ---- One tree -------------------------------------------------------------------------------- */

static void members_of_one_leaf_meet_there(void **state)
{
	struct topo *t = two_tier_tree();
	uint32_t leaf = switch_of_level(t, 0, 1);
	const struct mcast_member members[] = { { host_at(t, leaf, 1), false },
						{ host_at(t, leaf, 3), false } };
	struct mcast_tree tree = tree_for(t, &GROUP(members));

	assert_right(t, &GROUP(members), &tree);
	assert_int_equal(tree.root, leaf);
	assert_int_equal(tree.nhops, 1);
	assert_int_equal(tree.hops[0].ports[0], 1 << 1 | 1 << 3);
	mcast_tree_fini(&tree);
	topo_unref(t);
}

static void members_of_two_leaves_meet_at_a_spine(void **state)
{
	struct topo *t = two_tier_tree();
	uint32_t a = switch_of_level(t, 0, 0), b = switch_of_level(t, 0, 2);
	const struct mcast_member members[] = { { host_at(t, a, 1), false },
						{ host_at(t, b, 2), false } };
	struct mcast_tree tree = tree_for(t, &GROUP(members));

	assert_right(t, &GROUP(members), &tree);
	assert_int_equal(t->nodes[tree.root].level, 1);
	assert_int_equal(tree.nhops, 3);
	assert_int_equal(tree.turns, 0);
	mcast_tree_fini(&tree);
	topo_unref(t);
}

static void a_sender_has_a_path_in_and_receives_nothing(void **state)
{
	struct topo *t = two_tier_tree();
	uint32_t a = switch_of_level(t, 0, 0), b = switch_of_level(t, 0, 2);
	const struct mcast_member members[] = { { host_at(t, a, 1), true },
						{ host_at(t, b, 2), false } };
	struct mcast_tree tree = tree_for(t, &GROUP(members));
	const struct mcast_hop *in = hop_at(&tree, a), *out = hop_at(&tree, b);

	assert_right(t, &GROUP(members), &tree);
	assert_int_equal(tree.nhops, 3);
	assert_int_equal(__builtin_popcount(in->ports[0]), 1);
	assert_false(mcast_forwards(in, 1));
	assert_int_equal(out->ports[0], 1 << 2);
	mcast_tree_fini(&tree);
	topo_unref(t);
}

static void the_management_port_of_a_switch_can_be_a_member(void **state)
{
	struct topo *t = two_tier_tree();
	uint32_t spine = switch_of_level(t, 1, 1), leaf = switch_of_level(t, 0, 3);
	const struct mcast_member members[] = { { t->nodes[spine].port0, false },
						{ host_at(t, leaf, 4), false } };
	struct mcast_tree tree = tree_for(t, &GROUP(members));

	assert_right(t, &GROUP(members), &tree);
	assert_int_equal(tree.nhops, 2);
	assert_true(mcast_forwards(hop_at(&tree, spine), 0));
	assert_false(mcast_forwards(hop_at(&tree, leaf), 0));
	mcast_tree_fini(&tree);
	topo_unref(t);
}

static void without_anybody_to_receive_there_is_no_tree(void **state)
{
	struct topo *t = two_tier_tree();
	const struct mcast_member members[] = { { host_at(t, switch_of_level(t, 0, 0), 1), true } };
	struct mcast_group nobody = { MLID(0), 0, NULL, false };
	struct mcast_tree none = tree_for(t, &nobody), sender = tree_for(t, &GROUP(members));

	assert_int_equal(none.nhops + sender.nhops, 0);
	assert_int_equal(none.root, TOPO_NONE);
	assert_right(t, &nobody, &none);
	assert_right(t, &GROUP(members), &sender);
	topo_unref(t);
}

static void a_member_behind_a_dead_link_is_left_out(void **state)
{
	struct topo *t = two_tier_tree();
	uint32_t a = switch_of_level(t, 0, 0), b = switch_of_level(t, 0, 1);
	const struct mcast_member members[] = { { host_at(t, a, 1), false },
						{ host_at(t, a, 2), false },
						{ host_at(t, b, 1), false } };
	struct topo *cut = damage_cut(t, b, 1);
	struct mcast_tree tree = tree_for(cut, &GROUP(members));

	assert_right(cut, &GROUP(members), &tree);
	assert_int_equal(tree.left_out, 1);
	assert_int_equal(tree.nhops, 1);
	mcast_tree_fini(&tree);
	topo_unref(cut);
	topo_unref(t);
}

static void a_cordoned_cable_is_taken_only_where_nothing_else_connects(void **state)
{
	struct topo *t = two_tier_tree(), *cordoned;
	struct topo_builder *b = topo_builder_from(t);
	struct topo_port attr = { .cordoned = true, .state = TOPO_INIT };
	uint32_t a = switch_of_level(t, 0, 0), other = switch_of_level(t, 0, 1);
	const struct mcast_member members[] = { { host_at(t, a, 1), false },
						{ host_at(t, other, 1), false } };
	struct mcast_tree tree;

	topo_builder_port(b, (int)a, 5, &attr);
	topo_builder_port(b, (int)a, 6, &attr);
	cordoned = topo_freeze(b);
	tree = tree_for(cordoned, &GROUP(members));
	assert_true(mcast_forwards(hop_at(&tree, a), 7));
	mcast_tree_fini(&tree);

	b = topo_builder_from(cordoned);
	topo_builder_link_down(b, (int)a, 7);
	topo_unref(cordoned);
	cordoned = topo_freeze(b);
	tree = tree_for(cordoned, &GROUP(members));
	assert_right(cordoned, &GROUP(members), &tree);
	assert_int_equal(tree.left_out, 0);
	mcast_tree_fini(&tree);
	topo_unref(cordoned);
	topo_unref(t);
}

/* Leaf 0 keeps spine 0 only, leaf 1 loses it: a third leaf is where packets turn. */
static void members_without_a_common_spine_are_connected_by_a_turn(void **state)
{
	struct topo *t = two_tier_tree(), *cut;
	struct topo_builder *b = topo_builder_from(t);
	uint32_t a = switch_of_level(t, 0, 0), other = switch_of_level(t, 0, 1);
	const struct mcast_member members[] = { { host_at(t, a, 1), false },
						{ host_at(t, other, 1), false } };
	struct mcast_tree tree;

	topo_builder_link_down(b, (int)a, 6);
	topo_builder_link_down(b, (int)a, 7);
	topo_builder_link_down(b, (int)other, 5);
	cut = topo_freeze(b);
	tree = tree_for(cut, &GROUP(members));
	assert_right(cut, &GROUP(members), &tree);
	assert_int_equal(tree.nhops, 5);
	assert_int_equal(tree.turns, 1);
	assert_int_equal(tree.left_out, 0);
	mcast_tree_fini(&tree);
	topo_unref(cut);
	topo_unref(t);
}

/* ---- The judge ------------------------------------------------------------------------------- */

static void assert_refused(const struct topo *t, const struct mcast_group *group,
			   const struct mcast_tree *tree, const char *reason)
{
	char err[256] = "";

	assert_false(mcast_tree_check(t, group, tree, err, sizeof(err)));
	if (!strstr(err, reason))
		fail_msg("'%s' does not say '%s'", err, reason);
}

static void the_judge_refuses_what_is_wrong(void **state)
{
	struct topo *t = two_tier_tree(), *cut;
	uint32_t a = switch_of_level(t, 0, 0), b = switch_of_level(t, 0, 1);
	const struct mcast_member members[] = { { host_at(t, a, 1), false },
						{ host_at(t, b, 1), false } };
	struct mcast_tree tree = tree_for(t, &GROUP(members));
	struct mcast_hop *hop = (struct mcast_hop *)hop_at(&tree, a);
	uint16_t ports = hop->ports[0], ups = ports & 7 << 5;
	unsigned up = __builtin_ctz(ups);

	hop->ports[0] = ports & ~(1 << 1);
	assert_refused(t, &GROUP(members), &tree, "gets nothing");
	hop->ports[0] = ports | 1 << 2;
	assert_refused(t, &GROUP(members), &tree, "no member");
	hop->ports[0] = ports | (7 << 5 & ~ups);
	assert_refused(t, &GROUP(members), &tree, "off the tree");
	hop->ports[0] = ports & ~ups;
	assert_refused(t, &GROUP(members), &tree, "does not forward");
	hop->ports[0] = ports;
	hop->ports[4] = 1;
	assert_refused(t, &GROUP(members), &tree, "has no port 64");
	hop->ports[4] = 0;
	assert_right(t, &GROUP(members), &tree);
	cut = damage_cut(t, a, up);
	assert_refused(cut, &GROUP(members), &tree, "down");
	topo_unref(cut);
	mcast_tree_fini(&tree);
	topo_unref(t);
}

static void the_judge_refuses_rings_and_idle_branches(void **state)
{
	struct topo *ring = damage_ring(3, 1);
	const struct mcast_member two[] = { { host_at(ring, 0, 3), false },
					    { host_at(ring, 1, 3), false } };
	struct mcast_hop hops[3] = { 0 };
	struct mcast_tree tree = { .mlid = MLID(0), .root = 0, .nhops = 3, .hops = hops };

	for (uint32_t i = 0; i < 3; i++) {
		hops[i].sw = i;
		hops[i].guid = ring->nodes[i].guid;
		hops[i].ports[0] = 1 << 1 | 1 << 2 | (i < 2 ? 1 << 3 : 0);
	}
	assert_refused(ring, &GROUP(two), &tree, "ring");
	hops[0].ports[0] &= ~(1 << 2);
	hops[2].ports[0] &= ~(1 << 1);
	assert_refused(ring, &GROUP(two), &tree, "0 full members beyond, and it forwards");
	hops[1].ports[0] &= ~(1 << 1);
	assert_refused(ring, &GROUP(two), &tree, "leaf of the tree without a member");
	topo_unref(ring);
}

/* ---- Small tables ---------------------------------------------------------------------------- */

static struct topo *with_tables(const struct topo *t, uint16_t cap, uint32_t small_sw,
				uint16_t small_cap)
{
	struct topo *copy = topo_freeze(topo_builder_from(t));

	for (uint32_t sw = 0; sw < copy->nswitches; sw++)
		((struct topo_node *)copy->nodes)[sw].mft_cap = sw == small_sw ? small_cap : cap;
	return copy;
}

static void switches_without_place_for_a_group_are_gone_round(void **state)
{
	struct topo *plain = two_tier_tree();
	uint32_t spine = switch_of_level(plain, 1, 0);
	struct topo *t = with_tables(plain, 64, spine, 1);
	struct crowd c = random_groups(t, 12, t->nnodes, 5);
	struct mcast_plan plan;

	mcast_plan(t, c.groups, c.n, NULL, &plan);
	assert_plan_right(t, &c, &plan);
	for (uint32_t i = 1; i < c.n; i++)
		assert_null(hop_at(&plan.trees[i], spine));
	assert_int_equal(plan.trees[5].left_out, hop_at(&plan.trees[0], spine) ? 1 : 0);
	mcast_plan_fini(&plan);
	crowd_fini(&c);
	topo_unref(t);
	topo_unref(plain);
}

static void who_sits_at_a_switch_without_tables_is_left_out(void **state)
{
	struct topo *plain = two_tier_tree();
	uint32_t leaf = switch_of_level(plain, 0, 1);
	struct topo *t = with_tables(plain, 64, leaf, 0);
	struct mcast_member all[16];
	struct mcast_group group = { MLID(3), 0, all, false };
	struct mcast_tree tree;
	struct mcast *m = mcast_new(t, GRAPH_BY_LEVEL);

	for (uint32_t node = t->nswitches; node < t->nnodes; node++)
		all[group.nmembers++] = (struct mcast_member){ t->nodes[node].port0 + 1, false };
	mcast_tree_start(m, &group, NULL, &tree);
	while (!mcast_tree_step(m))
		;
	assert_right(t, &group, &tree);
	assert_int_equal(tree.left_out, 4);
	assert_null(hop_at(&tree, leaf));
	assert_refused(plain, &group, &tree, "has a member and is off the tree");
	mcast_tree_fini(&tree);
	mcast_free(m);
	topo_unref(t);
	topo_unref(plain);
}

static void a_group_that_is_as_before_keeps_its_tree_unjudged(void **state)
{
	struct topo *t = pod(2);
	struct crowd c = random_groups(t, 30, 20, 8);
	struct mcast_planner *p = mcast_planner_new(t, NULL);
	struct mcast_plan before, after;

	mcast_plan(t, c.groups, c.n, NULL, &before);
	for (uint32_t i = 0; i < c.n; i++)
		c.groups[i].as_before = i != 4;
	c.groups[4].nmembers--;
	for (unsigned round = 0; round < 2; round++) {
		mcast_planner_begin(p, c.groups, c.n, &before);
		while (!mcast_planner_step(p))
			;
		mcast_planner_take(p, &after);
		assert_int_equal(after.built, 1);
		assert_plan_right(t, &c, &after);
		for (uint32_t i = 0; i < c.n; i++)
			assert_int_equal(after.trees[i].kept, i != 4);
		mcast_plan_fini(&after);
	}
	mcast_planner_free(p);
	mcast_plan_fini(&before);
	crowd_fini(&c);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_of_one_leaf_meet_there),
		cmocka_unit_test(members_of_two_leaves_meet_at_a_spine),
		cmocka_unit_test(a_sender_has_a_path_in_and_receives_nothing),
		cmocka_unit_test(the_management_port_of_a_switch_can_be_a_member),
		cmocka_unit_test(without_anybody_to_receive_there_is_no_tree),
		cmocka_unit_test(a_member_behind_a_dead_link_is_left_out),
		cmocka_unit_test(a_cordoned_cable_is_taken_only_where_nothing_else_connects),
		cmocka_unit_test(members_without_a_common_spine_are_connected_by_a_turn),
		cmocka_unit_test(the_judge_refuses_what_is_wrong),
		cmocka_unit_test(the_judge_refuses_rings_and_idle_branches),
		cmocka_unit_test(switches_without_place_for_a_group_are_gone_round),
		cmocka_unit_test(who_sits_at_a_switch_without_tables_is_left_out),
		cmocka_unit_test(a_group_that_is_as_before_keeps_its_tree_unjudged),
	};

	return cmocka_run_group_tests_name("mcast_tree", tests, NULL, NULL);
}
