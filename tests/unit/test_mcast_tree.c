/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast trees: every one is judged by mcast_tree_check(), on whole, damaged, real and odd
 * fabrics; the judge itself is shown trees that are wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "routing/mcast_tree.h"
#include "tests/fabric/damage.h"
#include "topology/generate.h"
#include "topology/mem.h"
#include "topology/netfile.h"

#define RANDOM_FABRICS 2000
#define MLID(n)	       (MCAST_FIRST_MLID + (n))

struct crowd { /* groups with members of their own */
	uint32_t n;
	struct mcast_group *groups;
};

static void crowd_fini(struct crowd *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free((void *)c->groups[i].members);
	free(c->groups);
}

/* Ports that may be members: of CAs, and port 0 of switches. */
static uint32_t list_ends(const struct topo *t, uint32_t *ends)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i];

		if (port->node < t->nswitches ? port->num == 0 : port->peer != TOPO_NONE)
			ends[n++] = i;
	}
	return n;
}

static struct crowd gather(const struct topo *t, uint32_t ngroups, uint32_t nmembers, uint64_t seed)
{
	struct crowd c = { ngroups, mem_alloc(ngroups, sizeof(*c.groups)) };
	uint32_t *ends = mem_alloc(t->nports, sizeof(*ends)), n = list_ends(t, ends);

	for (uint32_t g = 0; g < ngroups; g++) {
		uint32_t count = nmembers < n ? nmembers : n;
		struct mcast_member *members = mem_alloc(count, sizeof(*members));

		for (uint32_t i = 0; i < count; i++) {
			uint32_t k = i + damage_random(&seed) % (n - i), end = ends[k];

			ends[k] = ends[i];
			ends[i] = end;
			members[i] = (struct mcast_member){ end, damage_random(&seed) % 5 == 0 };
		}
		c.groups[g] = (struct mcast_group){ MLID(g), count, members, false };
	}
	free(ends);
	return c;
}

static void assert_right(const struct topo *t, const struct mcast_group *group,
			 const struct mcast_tree *tree)
{
	char err[256];

	if (!mcast_tree_check(t, group, tree, err, sizeof(err)))
		fail_msg("MLID 0x%x: %s", group->mlid, err);
}

/* Groups are in MLID order, as gather() makes them. */
static void assert_plan_right(const struct topo *t, const struct crowd *c,
			      const struct mcast_plan *plan)
{
	assert_int_equal(plan->ntrees, c->n);
	for (uint32_t i = 0; i < c->n; i++)
		assert_right(t, &c->groups[i], &plan->trees[i]);
}

static struct topo *pod(unsigned su)
{
	char err[256];

	return generate_superpod(GENERATE_H100, su, err, sizeof(err));
}

static struct topo *pgft(unsigned h, const unsigned *m, const unsigned *w, const unsigned *p)
{
	char err[256];

	return generate_pgft(h, m, w, p, err, sizeof(err));
}

/* Two tiers: 4 leaves of 4 hosts, 3 spines. Leaf l's hosts are at its ports 1..4, spines at 5..7. */
static struct topo *small_tree(void)
{
	static const unsigned m[] = { 4, 4 }, w[] = { 1, 3 }, p[] = { 1, 1 };

	return pgft(2, m, w, p);
}

static uint32_t switch_of_level(const struct topo *t, unsigned level, unsigned n)
{
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (t->nodes[sw].level == level && n-- == 0)
			return sw;
	fail_msg("no switch %u of level %u", n, level);
	return 0;
}

static uint32_t host_at(const struct topo *t, uint32_t sw, unsigned num)
{
	assert_int_not_equal(topo_port(t, sw, num)->peer, TOPO_NONE);
	return topo_port(t, sw, num)->peer;
}

static const struct mcast_hop *hop_at(const struct mcast_tree *tree, uint32_t sw)
{
	for (uint32_t i = 0; i < tree->nhops; i++)
		if (tree->hops[i].sw == sw)
			return &tree->hops[i];
	return NULL;
}

static struct mcast_tree tree_for(const struct topo *t, const struct mcast_group *group)
{
	struct mcast *m = mcast_new(t);
	struct mcast_tree tree;

	mcast_tree_build(m, group, NULL, &tree);
	mcast_free(m);
	return tree;
}

#define GROUP(list) ((struct mcast_group){ MLID(0), sizeof(list) / sizeof((list)[0]), list, false })

/* ---- One tree ---------------------------------------------------------------------------------- */

static void members_of_one_leaf_meet_there(void **state)
{
	struct topo *t = small_tree();
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
	struct topo *t = small_tree();
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

static void a_sender_has_a_way_in_and_nothing_comes_to_it(void **state)
{
	struct topo *t = small_tree();
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
	struct topo *t = small_tree();
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
	struct topo *t = small_tree();
	const struct mcast_member members[] = { { host_at(t, switch_of_level(t, 0, 0), 1), true } };
	struct mcast_group nobody = { MLID(0), 0, NULL, false };
	struct mcast_tree none = tree_for(t, &nobody), sender = tree_for(t, &GROUP(members));

	assert_int_equal(none.nhops + sender.nhops, 0);
	assert_int_equal(none.root, TOPO_NONE);
	assert_right(t, &nobody, &none);
	assert_right(t, &GROUP(members), &sender);
	topo_unref(t);
}

static void a_member_behind_a_dead_cable_is_left_out(void **state)
{
	struct topo *t = small_tree();
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
	struct topo *t = small_tree(), *cordoned;
	struct topo_builder *b = topo_builder_from(t);
	struct topo_port_attr attr = { .cordoned = true, .state = TOPO_INIT };
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
	struct topo *t = small_tree(), *cut;
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

/* ---- The judge --------------------------------------------------------------------------------- */

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
	struct topo *t = small_tree(), *cut;
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
	assert_refused(cut, &GROUP(members), &tree, "dead");
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

/* ---- Many groups ------------------------------------------------------------------------------- */

static uint32_t worst_load(const struct topo *t, const struct mcast_plan *plan)
{
	struct mcast *m = mcast_new(t);
	uint32_t worst = 0;

	for (uint32_t i = 0; i < plan->ntrees; i++)
		mcast_tree_add_load(m, &plan->trees[i]);
	for (uint32_t i = 0; i < t->nports; i++)
		worst = mcast_load(m, i) > worst ? mcast_load(m, i) : worst;
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
	struct crowd c = gather(t, 3, t->nnodes, 1);
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
	struct crowd c = gather(t, 40, 30, 11);
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
	struct crowd c = gather(t, 100, 24, 3);
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
	struct crowd c = gather(t, 20, 16, 9);
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
	struct crowd c = gather(t, 10, 20, 2), moved = { 10, mem_alloc(10, sizeof(*moved.groups)) };
	struct mcast_plan before, after;
	struct topo_builder *b = topo_builder_from(t);
	struct topo_node_attr attr = { .guid = 1, .desc = "new", .type = TOPO_SWITCH, .nports = 4 };

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

/* ---- Blocks ------------------------------------------------------------------------------------ */

static void blocks_say_what_the_trees_say(void **state)
{
	struct topo *t = pod(2);
	struct crowd c = gather(t, 70, 12, 4);
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

/* ---- Small tables ------------------------------------------------------------------------------ */

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
	struct topo *plain = small_tree();
	uint32_t spine = switch_of_level(plain, 1, 0);
	struct topo *t = with_tables(plain, 64, spine, 1);
	struct crowd c = gather(t, 12, t->nnodes, 5);
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
	struct topo *plain = small_tree();
	uint32_t leaf = switch_of_level(plain, 0, 1);
	struct topo *t = with_tables(plain, 64, leaf, 0);
	struct mcast_member all[16];
	struct mcast_group group = { MLID(3), 0, all, false };
	struct mcast_tree tree;
	struct mcast *m = mcast_new(t);

	for (uint32_t node = t->nswitches; node < t->nnodes; node++)
		all[group.nmembers++] = (struct mcast_member){ t->nodes[node].port0 + 1, false };
	mcast_tree_build(m, &group, NULL, &tree);
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
	struct crowd c = gather(t, 30, 20, 8);
	struct mcast_planner *p = mcast_planner_new(t);
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

/* ---- Everywhere -------------------------------------------------------------------------------- */

static void random_damaged_trees_are_right(void **state)
{
	for (uint64_t seed = 1; seed <= RANDOM_FABRICS; seed++) {
		struct topo *whole = damage_random_pgft(seed);
		struct topo *t = damage_links(whole, seed % 40, seed);
		struct topo *worse = damage_links(t, seed % 10, seed + 1);
		struct crowd c = gather(t, 6, 2 + seed % 20, seed);
		struct mcast_plan before, after, anew;

		mcast_plan(t, c.groups, c.n, NULL, &before);
		assert_plan_right(t, &c, &before);
		mcast_plan(worse, c.groups, c.n, &before, &after);
		assert_plan_right(worse, &c, &after);
		mcast_plan(worse, c.groups, c.n, NULL, &anew);
		assert_plan_right(worse, &c, &anew);
		mcast_plan_fini(&before);
		mcast_plan_fini(&after);
		mcast_plan_fini(&anew);
		crowd_fini(&c);
		topo_unref(worse);
		topo_unref(t);
		topo_unref(whole);
	}
}

static void rings_are_spanned(void **state)
{
	for (unsigned n = 3; n < 12; n++) {
		struct topo *t = damage_ring(n, 3);
		struct crowd c = gather(t, 10, n, n);
		struct mcast_plan plan;

		mcast_plan(t, c.groups, c.n, NULL, &plan);
		assert_plan_right(t, &c, &plan);
		mcast_plan_fini(&plan);
		crowd_fini(&c);
		topo_unref(t);
	}
}

static void real_fabrics_are_spanned(void **state)
{
	static const char *const names[] = { "selene_storage", "psmn_x5",
					     "edr2023",	       "ufm_small",
					     "is4_3l_1944n",   "4_ary_2_tree_missing_sw_link",
					     "IS3_128" };
	const char *folder = getenv("FMD_FABRICS");
	char err[512];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path =
			mem_printf("%s/%s.net", folder ? folder : "../shared/fabrics", names[i]);
		struct topo *t = netfile_read(path, err, sizeof(err));
		struct mcast_plan plan;

		free(path);
		if (!t)
			skip(); /* the fabrics are not part of the source */
		struct crowd c = gather(t, 50, 40, i + 1);
		mcast_plan(t, c.groups, c.n, NULL, &plan);
		assert_plan_right(t, &c, &plan);
		for (uint32_t k = 0; k < plan.ntrees; k++)
			assert_int_equal(plan.trees[k].left_out, 0);
		mcast_plan_fini(&plan);
		crowd_fini(&c);
		topo_unref(t);
	}
}

static void a_thousand_groups_of_a_large_pod_are_right(void **state)
{
	struct topo *whole = pod(16), *t = damage_links(whole, 1, 1);
	struct crowd c = gather(t, 1000, 64, 1);
	struct mcast_plan plan;

	mcast_plan(t, c.groups, c.n, NULL, &plan);
	assert_plan_right(t, &c, &plan);
	mcast_plan_fini(&plan);
	crowd_fini(&c);
	topo_unref(t);
	topo_unref(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_of_one_leaf_meet_there),
		cmocka_unit_test(members_of_two_leaves_meet_at_a_spine),
		cmocka_unit_test(a_sender_has_a_way_in_and_nothing_comes_to_it),
		cmocka_unit_test(the_management_port_of_a_switch_can_be_a_member),
		cmocka_unit_test(without_anybody_to_receive_there_is_no_tree),
		cmocka_unit_test(a_member_behind_a_dead_cable_is_left_out),
		cmocka_unit_test(a_cordoned_cable_is_taken_only_where_nothing_else_connects),
		cmocka_unit_test(members_without_a_common_spine_are_connected_by_a_turn),
		cmocka_unit_test(the_judge_refuses_what_is_wrong),
		cmocka_unit_test(the_judge_refuses_rings_and_idle_branches),
		cmocka_unit_test(groups_spread_over_the_spines),
		cmocka_unit_test(groups_spread_over_parallel_cables),
		cmocka_unit_test(the_order_of_groups_and_members_does_not_matter),
		cmocka_unit_test(a_dead_cable_touches_only_the_groups_that_used_it),
		cmocka_unit_test(a_join_at_a_switch_of_the_tree_writes_one_block),
		cmocka_unit_test(trees_outlive_a_renumbering),
		cmocka_unit_test(blocks_say_what_the_trees_say),
		cmocka_unit_test(switches_without_place_for_a_group_are_gone_round),
		cmocka_unit_test(who_sits_at_a_switch_without_tables_is_left_out),
		cmocka_unit_test(a_group_that_is_as_before_keeps_its_tree_unjudged),
		cmocka_unit_test(random_damaged_trees_are_right),
		cmocka_unit_test(rings_are_spanned),
		cmocka_unit_test(real_fabrics_are_spanned),
		cmocka_unit_test(a_thousand_groups_of_a_large_pod_are_right),
	};

	return cmocka_run_group_tests_name("mcast_tree", tests, NULL, NULL);
}
