/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast trees beside unicast tables: what a plan comes to closes no cycle of credits, judged
 * here by adding all up port by port.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/proof/check_change.h"
#include "routing/multicast/mcast_proof.h"
#include "routing/ftree/route.h"
#include "tests/lib/mcast_crowd.h"
#include "topology/snapshot/topo_builder.h"

#define RANDOM_FABRICS 400

struct unicast { /* the tables of a snapshot and what their proof left */
	struct route *route;
	struct lid_map *lids;
	struct tables tables;
	struct check_base *base;
	const struct cdg *graph;
};

static void unicast_init(struct unicast *u, const struct topo *t)
{
	struct check_report report;

	*u = (struct unicast){ .route = route_new(),
			       .lids = lid_plan(t, NULL, 0),
			       .base = check_base_new(7) };
	assert_int_equal(route_compute(u->route, t, u->lids, NULL, &u->tables), 0);
	assert_true(check_change(u->base, t, u->lids, &u->tables, &report));
	u->graph = check_proof_graph(u->base, check_proof_serial(u->base));
	assert_non_null(u->graph);
}

static void unicast_fini(struct unicast *u)
{
	check_base_free(u->base);
	route_free(u->route);
	tables_fini(&u->tables);
	lid_map_free(u->lids);
}

/* ---- The judge of both ----------------------------------------------------------------------- */

static void add_hop(struct cdg *all, const struct topo *t, const struct mcast_tree *tree,
		    const struct mcast_hop *hop)
{
	for (unsigned in = 1; in <= t->nodes[hop->sw].nports; in++) {
		const struct topo_port *port = topo_port(t, hop->sw, in),
				       *peer = topo_peer(t, port);
		const struct mcast_hop *from =
			peer && peer->node < t->nswitches ? hop_at(tree, peer->node) : NULL;

		if (!from || !mcast_forwards(from, peer->num))
			continue;
		for (unsigned out = 1; out <= t->nodes[hop->sw].nports; out++)
			if (out != in && mcast_forwards(hop, out))
				cdg_add(all, all->channel[port->peer], (uint8_t)out);
	}
}

static uint64_t cycles(const struct topo *t, const struct cdg *unicast,
		       const struct mcast_plan *plan)
{
	struct cdg all;
	unsigned length;
	uint64_t n;

	cdg_init(&all, t, true);
	for (uint32_t c = 0; c < unicast->nchannels; c++)
		for (unsigned out = 0; out <= unicast->head_ports[c]; out++)
			if (cdg_has(unicast, c, (uint8_t)out))
				cdg_add(&all, all.channel[unicast->port_of[c]], (uint8_t)out);
	for (uint32_t i = 0; plan && i < plan->ntrees; i++)
		for (uint32_t h = 0; h < plan->trees[i].nhops; h++)
			add_hop(&all, t, &plan->trees[i], &plan->trees[i].hops[h]);
	n = cdg_cycles(&all, NULL, 0, &length);
	cdg_fini(&all);
	return n;
}

static void plan_on(struct mcast_planner *p, const struct crowd *c, const struct mcast_plan *older,
		    struct mcast_plan *out)
{
	mcast_planner_begin(p, c->groups, c->n, older);
	while (!mcast_planner_step(p))
		;
	mcast_planner_take(p, out);
}

static void plan_proven(const struct topo *t, const struct unicast *u, const struct crowd *c,
			struct mcast_plan *out)
{
	struct mcast_proof *proof = mcast_proof_new(t, u->graph);
	const bool *spanning = route_spanning(u->route);
	struct mcast_planner *p;

	if (spanning)
		assert_true(mcast_proof_span(proof, &u->tables, spanning));
	p = mcast_planner_new(t, proof);
	plan_on(p, c, NULL, out);
	mcast_planner_free(p);
	mcast_proof_free(proof);
}

/* ---- Turns ----------------------------------------------------------------------------------- */

/*
 * Leaf 0 keeps spine 0 only, leaf 1 loses it. Two groups of both leaves: each alone may turn at
 * leaf 2 or at leaf 3.
 */
static struct topo *torn_tree(void)
{
	struct topo *t = two_tier_tree(), *torn;
	struct topo_builder *b = topo_builder_from(t);
	uint32_t a = switch_of_level(t, 0, 0), other = switch_of_level(t, 0, 1);

	topo_builder_link_down(b, (int)a, 6);
	topo_builder_link_down(b, (int)a, 7);
	topo_builder_link_down(b, (int)other, 5);
	torn = topo_freeze(b);
	topo_unref(t);
	return torn;
}

static struct crowd same_members(const struct topo *t, uint32_t ngroups)
{
	struct crowd c = { ngroups, mem_alloc(ngroups, sizeof(*c.groups)) };

	for (uint32_t i = 0; i < ngroups; i++) {
		struct mcast_member *members = mem_alloc(2, sizeof(*members));

		members[0].port = host_at(t, switch_of_level(t, 0, 0), 1 + i % 4);
		members[1].port = host_at(t, switch_of_level(t, 0, 1), 1 + i % 4);
		c.groups[i] = (struct mcast_group){ MLID(i), 2, members, false };
	}
	return c;
}

static void trees_that_turn_at_different_leaves_are_not_both_made(void **state)
{
	struct topo *t = torn_tree();
	struct crowd c = same_members(t, 6);
	struct mcast_plan blind, proven;
	struct unicast u;

	unicast_init(&u, t);
	mcast_plan(t, c.groups, c.n, NULL, &blind);
	assert_true(cycles(t, u.graph, &blind) > 0); /* why all this is needed */
	plan_proven(t, &u, &c, &proven);
	assert_plan_right(t, &c, &proven);
	assert_int_equal(cycles(t, u.graph, &proven), 0);
	for (uint32_t i = 0; i < c.n; i++) {
		assert_int_equal(proven.trees[i].turns, 1);
		assert_int_equal(proven.trees[i].left_out, 0);
		assert_false(proven.trees[i].narrow);
	}
	mcast_plan_fini(&blind);
	mcast_plan_fini(&proven);
	crowd_fini(&c);
	unicast_fini(&u);
	topo_unref(t);
}

static void depend(struct cdg *g, const struct topo *t, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t in = TOPO_NONE, out = 0;

	for (unsigned num = 1; num <= t->nodes[b].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, b, num));

		if (peer && peer->node == a)
			in = g->channel[topo_port(t, b, num)->peer];
		if (peer && peer->node == c)
			out = num;
	}
	assert_true(in != TOPO_NONE && out);
	cdg_add(g, in, (uint8_t)out);
}

/*
 * As if unicast turned at both leaves 2 and 3, so that a tree that turns at either closes a cycle.
 */
static void forbid_turns(struct cdg *g, const struct topo *t)
{
	uint32_t l2 = switch_of_level(t, 0, 2), l3 = switch_of_level(t, 0, 3);
	uint32_t s0 = switch_of_level(t, 1, 0);

	for (unsigned n = 1; n < 3; n++) {
		uint32_t s = switch_of_level(t, 1, n);

		depend(g, t, l2, s, l3);
		depend(g, t, s, l3, s0);
		depend(g, t, l3, s0, l2);
		depend(g, t, l3, s, l2);
		depend(g, t, s, l2, s0);
		depend(g, t, l2, s0, l3);
	}
}

static void where_no_tree_holds_members_are_left_out(void **state)
{
	struct topo *t = torn_tree(), *whole = two_tier_tree();
	struct crowd c = same_members(t, 2);
	struct mcast_proof *proof;
	struct mcast_planner *p;
	struct mcast_plan narrow, same, mended;
	struct cdg g;

	cdg_init(&g, t, true);
	forbid_turns(&g, t);
	assert_int_equal(cycles(t, &g, NULL), 0);
	proof = mcast_proof_new(t, &g);
	p = mcast_planner_new(t, proof);
	plan_on(p, &c, NULL, &narrow);
	assert_plan_right(t, &c, &narrow);
	assert_int_equal(cycles(t, &g, &narrow), 0);
	for (uint32_t i = 0; i < c.n; i++) {
		assert_true(narrow.trees[i].narrow);
		assert_int_equal(narrow.trees[i].left_out, 1);
		assert_int_equal(narrow.trees[i].turns, 0);
		c.groups[i].as_before = true;
	}
	plan_on(p, &c, &narrow, &same);
	for (uint32_t i = 0; i < c.n; i++)
		assert_true(same.trees[i].kept);
	c.groups[0].as_before = c.groups[1].as_before = false;
	mcast_plan(whole, c.groups, c.n, &same, &mended);
	assert_plan_right(whole, &c, &mended);
	assert_int_equal(mended.trees[0].left_out + mended.trees[1].left_out, 0);
	mcast_plan_fini(&narrow);
	mcast_plan_fini(&same);
	mcast_plan_fini(&mended);
	mcast_planner_free(p);
	mcast_proof_free(proof);
	cdg_fini(&g);
	crowd_fini(&c);
	topo_unref(t);
	topo_unref(whole);
}

/* ---- One proof after the other --------------------------------------------------------------- */

static void trees_are_added_once_there_is_an_order(void **state)
{
	struct topo *t = two_tier_tree();
	struct crowd c = random_groups_of(t, true, 30, 8, 5);
	struct mcast_proof *proof;
	struct mcast_plan plan;
	struct unicast u;

	unicast_init(&u, t);
	mcast_plan(t, c.groups, c.n, NULL, &plan);
	proof = mcast_proof_new(t, u.graph);
	assert_false(mcast_proof_add(proof, &plan.trees[0]));
	while (mcast_proof_begin(proof, 100))
		;
	for (uint32_t i = 0; i < plan.ntrees; i++)
		assert_true(mcast_proof_add(proof, &plan.trees[i]));
	mcast_plan_fini(&plan);
	mcast_proof_free(proof);
	crowd_fini(&c);
	unicast_fini(&u);
	topo_unref(t);
}

static void a_tree_that_closes_a_cycle_leaves_nothing_behind(void **state)
{
	struct topo *t = torn_tree();
	struct crowd c = same_members(t, 6);
	struct mcast_proof *proof;
	struct mcast_plan plan;
	bool was_added[6];
	struct unicast u;

	unicast_init(&u, t);
	mcast_plan(t, c.groups, c.n, NULL, &plan);
	proof = mcast_proof_new(t, u.graph);
	while (mcast_proof_begin(proof, 100))
		;
	for (unsigned round = 0; round < 3; round++) {
		unsigned refused = 0;

		for (uint32_t i = 0; i < c.n; i++) {
			bool added = mcast_proof_add(proof, &plan.trees[i]);

			assert_true(!round || added == was_added[i]);
			was_added[i] = added;
			refused += !added;
		}
		assert_in_range(refused, 1, c.n - 1);
	}
	mcast_plan_fini(&plan);
	mcast_proof_free(proof);
	crowd_fini(&c);
	unicast_fini(&u);
	topo_unref(t);
}

/* Groups change one by one while the planner lives, as in the daemon. */
static void joins_and_leaves_stay_proven(void **state)
{
	struct topo *whole = damage_random_pgft(12), *t = damage_links(whole, 35, 12);
	struct mcast_proof *proof;
	struct mcast_planner *p;
	struct mcast_plan older = { 0 }, plan;
	struct unicast u;

	unicast_init(&u, t);
	proof = mcast_proof_new(t, u.graph);
	p = mcast_planner_new(t, proof);
	for (unsigned round = 0; round < 40; round++) {
		struct crowd c = random_groups(t, 1 + round % 9, 2 + round % 13, round);

		plan_on(p, &c, &older, &plan);
		assert_plan_right(t, &c, &plan);
		assert_int_equal(cycles(t, u.graph, &plan), 0);
		mcast_plan_fini(&older);
		older = plan;
		crowd_fini(&c);
	}
	mcast_plan_fini(&older);
	mcast_planner_free(p);
	mcast_proof_free(proof);
	unicast_fini(&u);
	topo_unref(t);
	topo_unref(whole);
}

/* ---- Everywhere ------------------------------------------------------------------------------ */

struct tally {
	unsigned fabrics, blind_cycles, turns, narrow;
};

static void prove_fabric(const struct topo *t, uint64_t seed, struct tally *tally)
{
	struct crowd c = random_groups_of(t, true, 8, 2 + seed % 12, seed);
	struct mcast_plan blind, plan;
	struct unicast u;

	unicast_init(&u, t);
	mcast_plan(t, c.groups, c.n, NULL, &blind);
	plan_proven(t, &u, &c, &plan);
	assert_plan_right(t, &c, &plan);
	assert_int_equal(cycles(t, u.graph, &plan), 0);
	tally->fabrics++;
	tally->blind_cycles += cycles(t, u.graph, &blind) > 0;
	for (uint32_t i = 0; i < plan.ntrees; i++) {
		tally->turns += plan.trees[i].turns > 0;
		tally->narrow += plan.trees[i].narrow;
	}
	mcast_plan_fini(&blind);
	mcast_plan_fini(&plan);
	crowd_fini(&c);
	unicast_fini(&u);
}

static void random_damaged_fabrics_have_no_credit_cycle(void **state)
{
	struct tally tally = { 0 };

	for (uint64_t seed = 1; seed <= RANDOM_FABRICS; seed++) {
		struct topo *whole = damage_random_pgft(seed);
		struct topo *t = damage_links(whole, 20 + seed % 40, seed);

		prove_fabric(t, seed, &tally);
		topo_unref(t);
		topo_unref(whole);
	}
	print_message("%u fabrics: %u with cycles unless proven; %u trees turn, %u leave out\n",
		      tally.fabrics, tally.blind_cycles, tally.turns, tally.narrow);
	assert_true(tally.blind_cycles > 0 && tally.turns > 0);
	assert_true(tally.narrow * 8 < tally.turns);
}

/*
 * As with IP over IB on the switches' management ports: trees turn at one switch, all at the same.
 */
static void groups_of_everybody_leave_nobody_out(void **state)
{
	static const unsigned m[] = { 4, 4, 6 }, w[] = { 1, 4, 4 }, p[] = { 1, 1, 1 };
	struct topo *t = pgft(3, m, w, p);
	struct crowd c = random_groups(t, 4, UINT32_MAX, 1);
	struct mcast_plan plan;
	struct unicast u;

	unicast_init(&u, t);
	plan_proven(t, &u, &c, &plan);
	assert_plan_right(t, &c, &plan);
	assert_int_equal(cycles(t, u.graph, &plan), 0);
	for (uint32_t i = 0; i < plan.ntrees; i++) {
		assert_int_equal(plan.trees[i].left_out, 0);
		assert_true(plan.trees[i].turns);
	}
	mcast_plan_fini(&plan);
	crowd_fini(&c);
	unicast_fini(&u);
	topo_unref(t);
}

static void rings_have_no_credit_cycle_and_leave_nobody_out(void **state)
{
	struct tally tally = { 0 };

	for (unsigned n = 3; n < 12; n++) {
		struct topo *t = damage_ring(n, 3);

		prove_fabric(t, n, &tally);
		topo_unref(t);
	}
	assert_int_equal(tally.narrow, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_that_turn_at_different_leaves_are_not_both_made),
		cmocka_unit_test(where_no_tree_holds_members_are_left_out),
		cmocka_unit_test(trees_are_added_once_there_is_an_order),
		cmocka_unit_test(a_tree_that_closes_a_cycle_leaves_nothing_behind),
		cmocka_unit_test(joins_and_leaves_stay_proven),
		cmocka_unit_test(random_damaged_fabrics_have_no_credit_cycle),
		cmocka_unit_test(groups_of_everybody_leave_nobody_out),
		cmocka_unit_test(rings_have_no_credit_cycle_and_leave_nobody_out),
	};

	return cmocka_run_group_tests_name("mcast_proof", tests, NULL, NULL);
}
