/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain, sanitized in check-long. Hundreds of fabrics are spanned. */
/*
 * Multicast where no tiers orient unicast: all groups are parts of the spanning tree that unicast's
 * turns were chosen around. Nobody is left out, nothing is a credit cycle with unicast and with one
 * another, whole or cut.
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

struct moment { /* tables of a snapshot, their proof, and trees */
	struct lid_map *lids;
	struct route *route;
	struct tables tables;
	struct check_base *base;
	const struct cdg *graph;
	struct mcast_plan plan;
};

static void moment_init(struct moment *m, const struct topo *t)
{
	*m = (struct moment){ .lids = lid_plan(t, NULL, 0),
			      .route = route_new(),
			      .base = check_base_new(7) };
}

static void moment_fini(struct moment *m)
{
	mcast_plan_fini(&m->plan);
	check_base_free(m->base);
	tables_fini(&m->tables);
	lid_map_free(m->lids);
	route_free(m->route);
}

/* What the daemon does: tables, their proof on the one before, then trees beside both. */
static void publish(struct moment *m, const struct topo *t, const struct crowd *c)
{
	struct check_report report;
	struct mcast_proof *proof;
	struct mcast_planner *p;
	struct mcast_plan older = m->plan;

	assert_int_equal(route_compute(m->route, t, m->lids, NULL, &m->tables), 0);
	assert_true(check_change(m->base, t, m->lids, &m->tables, &report));
	assert_int_equal(report.unreachable, 0);
	m->graph = check_proof_graph(m->base, check_proof_serial(m->base));
	proof = mcast_proof_new(t, m->graph);
	assert_non_null(route_spanning(m->route));
	assert_true(mcast_proof_span(proof, &m->tables, route_spanning(m->route)));
	p = mcast_planner_new(t, proof);
	mcast_planner_begin(p, c->groups, c->n, &older);
	while (!mcast_planner_step(p))
		;
	mcast_planner_take(p, &m->plan);
	mcast_plan_fini(&older);
	mcast_planner_free(p);
	mcast_proof_free(proof);
}

/* ---- The judge of both: dependencies of all entries and all trees, channel by channel -------- */

static void add_entries(struct cdg *all, const struct topo *t, const struct tables *tables)
{
	for (uint32_t channel = 0; channel < all->nchannels; channel++) {
		const struct topo_port *port = &t->ports[all->port_of[channel]];
		const uint8_t *here = tables_row(tables, port->node);
		const uint8_t *there = tables_row(tables, all->to[channel]);

		for (uint32_t lid = 1; lid <= tables->top; lid++)
			if (here[lid] == port->num && there[lid] != TABLES_NO_ROUTE &&
			    cdg_leads_on(all, channel, there[lid]))
				cdg_add(all, channel, there[lid]);
	}
}

static void add_tree(struct cdg *all, const struct topo *t, const struct mcast_tree *tree)
{
	for (uint32_t channel = 0; channel < all->nchannels; channel++) {
		const struct topo_port *port = &t->ports[all->port_of[channel]];
		const struct mcast_hop *from = hop_at(tree, port->node);
		const struct mcast_hop *to = hop_at(tree, all->to[channel]);
		unsigned in = t->ports[port->peer].num;

		if (!from || !to || !mcast_forwards(from, port->num))
			continue;
		for (unsigned out = 1; out <= t->nodes[to->sw].nports; out++)
			if (out != in && mcast_forwards(to, out) &&
			    cdg_leads_on(all, channel, (uint8_t)out))
				cdg_add(all, channel, (uint8_t)out);
	}
}

static uint64_t count_cycles(const struct topo *t, const struct moment *m)
{
	struct cdg all;
	unsigned length;
	uint64_t n;

	cdg_init(&all, t, true);
	add_entries(&all, t, &m->tables);
	for (uint32_t i = 0; i < m->plan.ntrees; i++)
		add_tree(&all, t, &m->plan.trees[i]);
	n = cdg_cycles(&all, NULL, 0, &length);
	cdg_fini(&all);
	return n;
}

static void assert_whole(const struct topo *t, const struct moment *m, const struct crowd *c,
			 const char *what, uint64_t seed)
{
	assert_plan_right(t, c, &m->plan);
	if (count_cycles(t, m))
		fail_msg("%s, seed %llu: credit cycles", what, (unsigned long long)seed);
	for (uint32_t i = 0; i < c->n; i++)
		if (m->plan.trees[i].left_out || m->plan.trees[i].narrow)
			fail_msg("%s, seed %llu: %u members are left out", what,
				 (unsigned long long)seed, m->plan.trees[i].left_out);
}

/* ---- Fabrics --------------------------------------------------------------------------------- */

static const char *const shapes[][2] = {
	{ "torus", "8,8" },	 { "torus", "3,4,5" }, { "ring", "12" },
	{ "hypercube", "5" },	 { "hyperx", "6,6" },  { "dragonfly+", "9,4,4,2" },
	{ "jellyfish", "40,5" },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static struct topo *make(size_t i)
{
	char err[256] = "", *argv[] = { (char *)shapes[i][0], (char *)shapes[i][1] };
	struct topo *t = generate_parse(2, argv, err, sizeof(err));

	if (!t)
		fail_msg("%s", err);
	return t;
}

/* Cables between switches down, each in `one_in`. */
static struct topo *damage(const struct topo *whole, uint64_t seed, unsigned one_in)
{
	struct topo *t = topo_alike(whole);

	for (uint32_t i = 0; i < t->nswitch_ports; i++)
		if (t->ends[i].to < t->nswitches && !(damage_random(&seed) % one_in))
			topo_alike_cut(t, i);
	return t;
}

/* One of them. */
static struct topo *cut(const struct topo *whole, uint64_t seed)
{
	struct topo *t = topo_alike(whole);
	uint32_t i;

	do
		i = (uint32_t)(damage_random(&seed) % t->nswitch_ports);
	while (t->ends[i].to >= t->nswitches);
	topo_alike_cut(t, i);
	return t;
}

static void groups_are_whole_and_close_no_cycle(void **state)
{
	for (size_t i = 0; i < SHAPES; i++) {
		struct topo *t = make(i);
		struct crowd c = random_groups(t, 12, 3 + (uint32_t)i * 9, i + 1);
		struct moment m;

		moment_init(&m, t);
		publish(&m, t, &c);
		assert_int_equal(route_outcome(m.route)->why, ROUTE_NO_TREE);
		assert_whole(t, &m, &c, shapes[i][0], 0);
		moment_fini(&m);
		crowd_fini(&c);
		topo_unref(t);
	}
}

/* One cut after the other, each repaired before the next. What is right stays. */
static void a_cut_leaves_groups_whole(void **state)
{
	uint32_t kept = 0, all = 0;

	for (size_t i = 0; i < SHAPES; i++) {
		struct topo *t = make(i);
		struct crowd c = random_groups(t, 12, 8, i + 1);
		struct moment m;

		moment_init(&m, t);
		publish(&m, t, &c);
		for (uint64_t seed = 1; seed <= 12; seed++) {
			struct topo *now = cut(t, seed);

			publish(&m, now, &c);
			assert_whole(now, &m, &c, shapes[i][0], seed);
			for (uint32_t n = 0; n < c.n; n++)
				kept += m.plan.trees[n].kept;
			all += c.n;
			publish(&m, t, &c);
			assert_whole(t, &m, &c, shapes[i][0], seed);
			topo_unref(now);
		}
		moment_fini(&m);
		crowd_fini(&c);
		topo_unref(t);
	}
	print_message("%u of %u trees stayed through a cut\n", kept, all);
	assert_true(kept * 2 > all);
}

/* Many cuts: nobody that cables connect to the group is left out, which is the judge's word. */
static void damage_closes_no_cycle(void **state)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct topo *t = make(seed % SHAPES), *now = damage(t, seed, 4 + seed % 20);
		struct crowd c = random_groups(t, 8, 2 + seed % 20, seed);
		struct moment m;

		moment_init(&m, t);
		publish(&m, t, &c);
		publish(&m, now, &c);
		assert_plan_right(now, &c, &m.plan);
		assert_int_equal(count_cycles(now, &m), 0);
		for (uint32_t i = 0; i < c.n; i++)
			assert_false(m.plan.trees[i].narrow);
		moment_fini(&m);
		crowd_fini(&c);
		topo_unref(now);
		topo_unref(t);
	}
}

/*
 * Trees of another manager, or of before the tree was left, that go elsewhere: those that close a
 * cycle are made anew.
 */
static void trees_off_the_spanning_tree_are_replaced(void **state)
{
	struct topo *t = make(0);
	struct crowd c = random_groups(t, 40, 30, 5);
	struct moment m;

	moment_init(&m, t);
	mcast_plan(t, c.groups, c.n, NULL, &m.plan);
	publish(&m, t, &c);
	assert_whole(t, &m, &c, "torus", 0);
	moment_fini(&m);
	crowd_fini(&c);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_whole_and_close_no_cycle),
		cmocka_unit_test(a_cut_leaves_groups_whole),
		cmocka_unit_test(damage_closes_no_cycle),
		cmocka_unit_test(trees_off_the_spanning_tree_are_replaced),
	};

	return cmocka_run_group_tests_name("mcast_spanning", tests, NULL, NULL);
}
