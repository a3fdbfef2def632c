/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Plans of many groups: how they spread over the fabric, what moves when it or they change, and
 * what blocks they come to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/multicast/mcast_own.h"
#include "tests/lib/mcast_crowd.h"
#include "topology/snapshot/topo_builder.h"

/* ---- Many groups ----------------------------------------------------------------------------- */

static uint32_t worst_load(const struct topo *t, const struct mcast_plan *plan)
{
	struct mcast *m = mcast_new(t, GRAPH_BY_LEVEL);
	uint32_t worst = 0;

	for (uint32_t i = 0; i < plan->ntrees; i++)
		mcast_tree_add_load(m, &plan->trees[i]);
	for (uint32_t i = 0; i < t->nports; i++)
		worst = m->load[i] > worst ? m->load[i] : worst;
	mcast_free(m);
	return worst;
}

/* As many groups over all HCAs as there are spines have a spine each. */
static void groups_spread_over_the_spines(void **state)
{
	struct topo *t = pod(4);
	struct mcast_member *all = mem_alloc(t->ncas, sizeof(*all));
	struct mcast_group groups[64];
	struct mcast_plan plan;
	uint32_t spines = 0, n = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		spines += t->nodes[sw].level == 1;
	for (uint32_t node = t->nswitches; node < t->nnodes; node++)
		if (!t->nodes[node].sharp)
			all[n++].port = t->nodes[node].port0 + 1;
	assert_true(spines > 1 && spines <= 64);
	for (uint32_t i = 0; i < spines; i++)
		groups[i] = (struct mcast_group){ MLID(i), n, all, false };
	mcast_plan(t, groups, spines, NULL, &plan);
	assert_plan_right(t, &(struct crowd){ spines, groups }, &plan);
	assert_int_equal(worst_load(t, &plan), 1);
	for (uint32_t i = 0; i < spines; i++)
		assert_int_equal(t->nodes[plan.trees[i].root].level, 1);
	mcast_plan_fini(&plan);
	free(all);
	topo_unref(t);
}

/* One spine above all leaves by three cables each: three groups take one each. */
static void groups_spread_over_parallel_cables(void **state)
{
	static const unsigned m[] = { 2, 4 }, w[] = { 1, 1 }, p[] = { 1, 3 };
	struct topo *t = pgft(2, m, w, p);
	struct crowd c = random_groups(t, 3, t->nnodes, 1);
	struct mcast_plan plan;

	mcast_plan(t, c.groups, c.n, NULL, &plan);
	assert_plan_right(t, &c, &plan);
	assert_int_equal(worst_load(t, &plan), 1);
	mcast_plan_fini(&plan);
	crowd_fini(&c);
	topo_unref(t);
}

/* Blocks that a switch holds by one plan and not by the other; *last = the last one's position. */
static unsigned blocks_differing(const struct topo *t, uint32_t sw, const struct mcast_plan *a,
				 const struct mcast_plan *b, unsigned *last)
{
	unsigned blocks = (a->trees[a->ntrees - 1].mlid - MCAST_FIRST_MLID) / MCAST_BLOCK + 1;
	uint16_t x[MCAST_BLOCK], y[MCAST_BLOCK];
	unsigned count = 0;

	for (unsigned block = 0; block < blocks; block++)
		for (unsigned position = 0; position < MCAST_POSITIONS; position++) {
			mcast_plan_masks(a, t->nodes[sw].guid, block, position, x);
			mcast_plan_masks(b, t->nodes[sw].guid, block, position, y);
			if (!memcmp(x, y, sizeof(x)))
				continue;
			*last = position;
			count++;
		}
	return count;
}

static void assert_same_plan(const struct topo *t, const struct mcast_plan *a,
			     const struct mcast_plan *b)
{
	unsigned position;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		assert_int_equal(blocks_differing(t, sw, a, b, &position), 0);
}

static void the_order_of_groups_and_members_does_not_matter(void **state)
{
	struct topo *t = pod(2);
	struct crowd c = random_groups(t, 40, 30, 11);
	struct mcast_plan a, b;

	mcast_plan(t, c.groups, c.n, NULL, &a);
	for (uint32_t i = 0; i < c.n / 2; i++) {
		struct mcast_group group = c.groups[i];

		c.groups[i] = c.groups[c.n - 1 - i];
		c.groups[c.n - 1 - i] = group;
	}
	for (uint32_t i = 0; i < c.n; i++) {
		struct mcast_member *list = (struct mcast_member *)c.groups[i].members, first;

		first = list[0];
		list[0] = list[c.groups[i].nmembers - 1];
		list[c.groups[i].nmembers - 1] = first;
	}
	mcast_plan(t, c.groups, c.n, NULL, &b);
	assert_same_plan(t, &a, &b);
	mcast_plan_fini(&a);
	mcast_plan_fini(&b);
	crowd_fini(&c);
	topo_unref(t);
}

static bool same_tree(const struct mcast_tree *a, const struct mcast_tree *b)
{
	if (a->nhops != b->nhops)
		return false;
	for (uint32_t i = 0; i < a->nhops; i++)
		if (a->hops[i].guid != b->hops[i].guid ||
		    memcmp(a->hops[i].ports, b->hops[i].ports, sizeof(a->hops[i].ports)))
			return false;
	return true;
}

static void a_dead_cable_touches_only_the_groups_that_used_it(void **state)
{
	struct topo *t = pod(4);
	struct crowd c = random_groups(t, 100, 24, 3);
	struct mcast_plan before, after;
	uint64_t seed = 17;

	mcast_plan(t, c.groups, c.n, NULL, &before);
	assert_int_equal(before.built, c.n);
	for (unsigned round = 0; round < 10; round++) {
		uint32_t sw = switch_of_level(t, 1, damage_random(&seed) % 8), used = 0;
		unsigned num = 1 + damage_random(&seed) % 16;
		struct topo *cut = damage_cut(t, sw, num);
		const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

		assert_non_null(peer);
		mcast_plan(cut, c.groups, c.n, &before, &after);
		assert_plan_right(cut, &c, &after);
		for (uint32_t i = 0; i < c.n; i++) {
			const struct mcast_hop *a = hop_at(&before.trees[i], sw);
			const struct mcast_hop *b = hop_at(&before.trees[i], peer->node);
			bool uses = (a && mcast_forwards(a, num)) ||
				    (b && mcast_forwards(b, peer->num));

			used += uses;
			assert_true(uses || same_tree(&before.trees[i], &after.trees[i]));
		}
		assert_int_equal(after.built, used);
		mcast_plan_fini(&after);
		topo_unref(cut);
	}
	mcast_plan_fini(&before);
	crowd_fini(&c);
	topo_unref(t);
}

static void a_join_at_a_switch_of_the_tree_writes_one_block(void **state)
{
	struct topo *t = pod(2);
	struct crowd c = random_groups(t, 20, 16, 9);
	struct mcast_plan before, after;
	unsigned blocks = 0, position = 99;
	struct mcast_group *group = &c.groups[7];
	struct mcast_member *list = mem_alloc(17, sizeof(*list));

	mcast_plan(t, c.groups, c.n, NULL, &before);
	memcpy(list, group->members, 16 * sizeof(*list));
	list[16].port = t->nodes[before.trees[7].hops[0].sw].port0;
	free((void *)group->members);
	*group = (struct mcast_group){ group->mlid, 17, list, false };
	mcast_plan(t, c.groups, c.n, &before, &after);
	assert_plan_right(t, &c, &after);
	assert_int_equal(after.built, 1);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		blocks += blocks_differing(t, sw, &before, &after, &position);
	assert_int_equal(blocks, 1);
	assert_int_equal(position, 0);
	mcast_plan_fini(&before);
	mcast_plan_fini(&after);
	crowd_fini(&c);
	topo_unref(t);
}

/* A switch with a lower GUID than all others moves every index; no tree minds. */
static void trees_outlive_a_renumbering(void **state)
{
	struct topo *t = pod(1), *more;
	struct crowd c = random_groups(t, 10, 20, 2),
		     moved = { 10, mem_alloc(10, sizeof(*moved.groups)) };
	struct mcast_plan before, after;
	struct topo_builder *b = topo_builder_from(t);
	struct topo_node attr = { .guid = 1, .desc = "new", .type = TOPO_SWITCH, .nports = 4 };

	assert_true(topo_builder_node(b, &attr) >= 0);
	more = topo_freeze(b);
	assert_int_equal(topo_find(more, 1), 0);
	for (uint32_t i = 0; i < c.n; i++) {
		struct mcast_member *list = mem_alloc(20, sizeof(*list));

		for (uint32_t k = 0; k < 20; k++) {
			const struct topo_port *p = &t->ports[c.groups[i].members[k].port];
			uint32_t node = topo_find(more, t->nodes[p->node].guid);

			list[k] = c.groups[i].members[k];
			list[k].port = more->nodes[node].port0 + p->num;
		}
		moved.groups[i] = (struct mcast_group){ MLID(i), 20, list, false };
	}
	mcast_plan(t, c.groups, c.n, NULL, &before);
	mcast_plan(more, moved.groups, moved.n, &before, &after);
	assert_int_equal(after.built, 0);
	assert_plan_right(more, &moved, &after);
	assert_same_plan(more, &before, &after);
	mcast_plan_fini(&before);
	mcast_plan_fini(&after);
	crowd_fini(&c);
	crowd_fini(&moved);
	topo_unref(more);
	topo_unref(t);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static void blocks_say_what_the_trees_say(void **state)
{
	struct topo *t = pod(2);
	struct crowd c = random_groups(t, 70, 12, 4);
	uint16_t block[MCAST_BLOCK];
	uint64_t ports = 0, masks = 0;
	struct mcast_plan plan;

	mcast_plan(t, c.groups, c.n, NULL, &plan);
	for (uint32_t i = 0; i < plan.ntrees; i++)
		for (uint32_t h = 0; h < plan.trees[i].nhops; h++)
			for (unsigned p = 0; p < MCAST_POSITIONS; p++) {
				const struct mcast_hop *hop = &plan.trees[i].hops[h];
				bool any = mcast_plan_masks(&plan, hop->guid, i / MCAST_BLOCK, p,
							    block);

				assert_int_equal(block[i % MCAST_BLOCK], hop->ports[p]);
				assert_true(any || !hop->ports[p]);
				ports += __builtin_popcount(hop->ports[p]);
			}
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (unsigned b = 0; b < 3; b++)
			for (unsigned p = 0; p < MCAST_POSITIONS; p++) {
				mcast_plan_masks(&plan, t->nodes[sw].guid, b, p, block);
				for (unsigned k = 0; k < MCAST_BLOCK; k++)
					masks += __builtin_popcount(block[k]);
			}
	assert_int_equal(ports, masks);
	assert_false(mcast_plan_masks(&plan, plan.trees[0].hops[0].guid, 3, 0, block));
	mcast_plan_fini(&plan);
	crowd_fini(&c);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_spread_over_the_spines),
		cmocka_unit_test(groups_spread_over_parallel_cables),
		cmocka_unit_test(the_order_of_groups_and_members_does_not_matter),
		cmocka_unit_test(a_dead_cable_touches_only_the_groups_that_used_it),
		cmocka_unit_test(a_join_at_a_switch_of_the_tree_writes_one_block),
		cmocka_unit_test(trees_outlive_a_renumbering),
		cmocka_unit_test(blocks_say_what_the_trees_say),
	};

	return cmocka_run_group_tests_name("mcast_plan", tests, NULL, NULL);
}
