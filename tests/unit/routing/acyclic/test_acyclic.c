/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain. Processor time is judged. */
/*
 * What is no tree: everything that cables connect is reached without a cycle, whatever the cables;
 * paths are short and loads even; a cut moves few entries; the same fabric gets the same tables.
 *
 * IRREGULAR="COUNT SWITCHES SEED" makes the random fabrics many more, larger or others. Times are
 * told, not judged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "routing/acyclic/acyclic.h"
#include "routing/path.h"
#include "routing/proof/check.h"
#include "routing/report/report.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

struct routed {
	struct topo *t; /* borrowed */
	struct lid_map *lids;
	struct route *route;
	struct tables tables;
	struct check_report proof;
};

/* What computing the tables took, of all so far. */
static struct {
	double longest_ms, most_ns; /* most: by cable between switches and switch */
} spent;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void note_time(const struct topo *t, double ns)
{
	double cables = 0, share;

	for (uint32_t i = 0; i < t->nswitch_ports; i++)
		cables += t->ends[i].to < t->nswitches;
	share = ns / (cables / 2 * t->nswitches + 1);
	spent.longest_ms = ns / 1e6 > spent.longest_ms ? ns / 1e6 : spent.longest_ms;
	if (t->nswitches >= 10)
		spent.most_ns = share > spent.most_ns ? share : spent.most_ns;
}

static void route_again(struct routed *r, const char *engine, const struct topo *t)
{
	const struct route_params params = { .engine = engine };
	double began = now_ns();

	assert_int_equal(route_compute(r->route, t, r->lids, &params, &r->tables), 0);
	note_time(t, now_ns() - began);
	check_tables(t, r->lids, &r->tables, &r->proof);
}

static struct routed route_it(struct topo *t, const char *engine)
{
	struct routed r = { .t = t, .lids = lid_plan(t, NULL, 0), .route = route_new() };

	route_again(&r, engine, t);
	return r;
}

static void routed_fini(struct routed *r)
{
	route_free(r->route);
	lid_map_free(r->lids);
	tables_fini(&r->tables);
}

static void assert_whole(const struct routed *r, const char *what, uint64_t seed)
{
	const struct check_report *p = &r->proof;

	if (p->unreachable || p->loops || p->bad_ports || p->credit_cycles)
		fail_msg("%s, seed %llu, by %s: %llu unreachable, %llu loops, %llu bad ports, %llu "
			 "cycles: %s",
			 what, (unsigned long long)seed, route_outcome(r->route)->engine,
			 (unsigned long long)p->unreachable, (unsigned long long)p->loops,
			 (unsigned long long)p->bad_ports, (unsigned long long)p->credit_cycles,
			 p->first);
}

/* ---- Random fabrics -------------------------------------------------------------------------- */

static uint32_t below(uint64_t *seed, uint32_t n)
{
	return (uint32_t)(random_next(seed) % n);
}

struct making {
	struct topo_builder *b;
	int *handles;
	unsigned *ports; /* by switch: next free one */
	uint32_t n;
};

#define PORTS 64

static void join(struct making *m, uint32_t a, uint32_t b)
{
	if (a == b || m->ports[a] > PORTS || m->ports[b] > PORTS)
		return;
	assert_int_equal(topo_builder_link(m->b, m->handles[a], m->ports[a], m->handles[b],
					   m->ports[b], true),
			 0);
	m->ports[a]++;
	m->ports[b]++;
}

static void add_host(struct making *m, uint32_t sw, unsigned number)
{
	char desc[32];
	struct topo_node attr = {
		.guid = 0x20000000 + number, .desc = desc, .type = TOPO_CA, .nports = 1
	};
	struct topo_port port = { .guid = 0x40000000 + number };
	int ca;

	if (m->ports[sw] > PORTS)
		return;
	snprintf(desc, sizeof(desc), "host-%u", number);
	ca = topo_builder_node(m->b, &attr);
	topo_builder_port(m->b, ca, 1, &port);
	topo_builder_link(m->b, ca, 1, m->handles[sw], m->ports[sw]++, true);
}

/*
 * A random tree of switches, in parts if `broken`, and cables beside it, some of them parallel;
 * hosts on some switches or on all.
 */
static struct topo *random_fabric(uint64_t seed, uint32_t most)
{
	struct making m = { .b = topo_builder_new(), .n = 2 + below(&seed, most - 1) };
	uint32_t extra = below(&seed, 3 * m.n + 1), reach = 1 + below(&seed, m.n);
	unsigned share = 1 + below(&seed, 4), hosts = 0;
	bool broken = !below(&seed, 8);

	m.handles = mem_alloc(m.n, sizeof(*m.handles));
	m.ports = mem_alloc(m.n, sizeof(*m.ports));
	for (uint32_t i = 0; i < m.n; i++) {
		struct topo_node attr = { .guid = 0x100000 + random_next(&seed) % 1000 * 4096 + i,
					  .desc = "switch",
					  .type = TOPO_SWITCH,
					  .nports = PORTS };

		m.handles[i] = topo_builder_node(m.b, &attr);
		m.ports[i] = 1;
		if (!below(&seed, share))
			for (unsigned h = below(&seed, 3) + 1; h; h--)
				add_host(&m, i, hosts++);
		if (i && !(broken && !below(&seed, 10)))
			join(&m, i, i - 1 - below(&seed, i < reach ? i : reach));
	}
	for (uint32_t i = 0; i < extra; i++) {
		uint32_t a = below(&seed, m.n), b = below(&seed, m.n);

		for (unsigned k = below(&seed, 4) ? 1 : 3; k; k--)
			join(&m, a, b);
	}
	free(m.handles);
	free(m.ports);
	return topo_freeze(m.b);
}

/* The same with some cables between switches down. */
static struct topo *harm(const struct topo *whole, uint64_t seed, unsigned one_in)
{
	struct topo *t = topo_alike(whole);

	for (uint32_t i = 0; i < t->nswitch_ports; i++)
		if (t->ends[i].to < t->nswitches && !below(&seed, one_in))
			topo_alike_cut(t, i);
	return t;
}

static void everything_that_cables_connect_is_reached(void **state)
{
	unsigned count = 500, most = 100;
	unsigned long long seed = 1, end;
	const char *more = getenv("IRREGULAR");
	unsigned roots = 0;

	if (more && sscanf(more, "%u %u %llu", &count, &most, &seed) != 3)
		fail_msg("IRREGULAR=\"COUNT SWITCHES SEED\"");
	print_message("seeds %llu to %llu, up to %u switches\n", seed, seed + count - 1, most);
	for (end = seed + count; seed < end; seed++) {
		struct topo *whole = random_fabric(seed, most);
		struct topo *t = harm(whole, seed, 2 + seed % 30);
		struct routed r = route_it(whole, seed % 4 ? "ftree" : "updn-root");

		assert_whole(&r, "whole", seed);
		route_again(&r, seed % 4 ? "ftree" : "updn-root", t);
		assert_whole(&r, "damaged", seed);
		roots += !strcmp(route_outcome(r.route)->engine, "updn-root");
		routed_fini(&r);
		topo_unref(t);
		topo_unref(whole);
	}
	print_message("%u of %u by updn-root; at most %.1f ms, and %.0f ns by cable and switch (10 "
		      "switches and more)\n",
		      roots, count, spent.longest_ms, spent.most_ns);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

static struct topo *shape(const char *name, const char *sizes)
{
	char err[256] = "", *argv[] = { (char *)name, (char *)sizes };
	struct topo *t = generate_parse(2, argv, err, sizeof(err));

	if (!t)
		fail_msg("%s", err);
	return t;
}

/*
 * What OpenSM's best engine without a cycle does on the same file, whatever lanes that takes it:
 * flows on the busiest cable, all to all and in shifts (nue, lash and dfsssp of 3.3.23, the best
 * that kept the fabric); and the mean length of shortest paths in cables.
 */
static const struct known {
	const char *name, *sizes;
	uint64_t load;
	double shift, shortest;
} known[] = {
	{ "torus", "8,8", 3520, 24.1, 4.0 * 64 / 63 },
	{ "torus", "4,4,4", 1472, 12.5, 3.0 * 64 / 63 },
	{ "hypercube", "6", 1588, 11.8, 3.0 * 64 / 63 },
	{ "ring", "12", 336, 12.5, 3.0 * 12 / 11 },
	{ "hyperx", "6,6", 136, 5.1, 1.7143 },
	{ "hyperx", "4,4,4", 392, 6.4, 2.25 * 64 / 63 },
	{ "dragonfly+", "9,4,4,2", 176, 5.85, 2.8656 },
	{ "jellyfish", "60,6", 560, 8.3, 2.4067 },
};

static void shapes_get_short_paths_and_even_loads(void **state)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct known *k = &known[i];
		struct topo *t = shape(k->name, k->sizes);
		struct routed r = route_it(t, "ftree");
		struct burden burden;

		assert_whole(&r, k->name, 0);
		assert_int_equal(route_outcome(r.route)->why, ROUTE_NO_TREE);
		burden_measure(t, r.lids, &r.tables, NULL, &burden);
		print_message(
			"%s %s: %s, load %llu of %llu, shift %.2f of %.2f, %.2f cables of %.2f\n",
			k->name, k->sizes, route_outcome(r.route)->engine,
			(unsigned long long)burden.load, (unsigned long long)k->load, burden.shift,
			k->shift, burden.hops, k->shortest);
		assert_true((double)burden.load <= 1.5 * (double)k->load);
		assert_true(burden.shift <= 1.5 * k->shift);
		assert_true(burden.hops <= 1.25 * k->shortest);
		routed_fini(&r);
		topo_unref(t);
	}
}

/* There is time for one design here: the beginnings are compared by a part of each. */
static void a_large_fabric_begins_with_the_turns_that_load_it_least(void **state)
{
	struct topo *t = shape("jellyfish", "500,24");
	struct routed r = route_it(t, "ftree");
	uint32_t hosts = t->nnodes - t->nswitches;
	struct burden burden;
	double mean;

	assert_whole(&r, "large", 0);
	burden_measure(t, r.lids, &r.tables, NULL, &burden);
	mean = (double)hosts * (hosts - 1) * burden.hops / (t->nswitches * 24);
	print_message("load %llu, %.0f on average\n", (unsigned long long)burden.load, mean);
	assert_true((double)burden.load <= 3 * mean);
	routed_fini(&r);
	topo_unref(t);
}

static void trees_stay_trees(void **state)
{
	char err[256];
	struct topo *t = generate_superpod(GENERATE_H100, 4, true, err, sizeof(err));
	struct topo *cut = harm(t, 1, 20);
	struct routed r = route_it(t, "ftree"), u = route_it(t, "updn");

	assert_string_equal(route_outcome(r.route)->engine, "ftree");
	assert_int_equal(route_outcome(r.route)->why, ROUTE_AS_ASKED);
	assert_string_equal(route_outcome(u.route)->engine, "updn");
	assert_memory_equal(r.tables.lft, u.tables.lft, (size_t)t->nswitches * r.tables.stride);
	route_again(&r, "ftree", cut);
	assert_whole(&r, "damaged", 1);
	assert_string_equal(route_outcome(r.route)->engine, "ftree");
	routed_fini(&r);
	routed_fini(&u);
	topo_unref(cut);
	topo_unref(t);
}

/* ---- Stability ------------------------------------------------------------------------------- */

/* The n-th cable between switches, by its port. */
static uint32_t cable(const struct topo *t, uint32_t n)
{
	for (uint32_t i = 0;; i = (i + 1) % t->nswitch_ports)
		if (t->ends[i].to < t->nswitches && !n--)
			return i;
}

static void a_cut_moves_few_entries_and_they_come_back(void **state)
{
	static const char *const fabrics[][2] = { { "hypercube", "6" },
						  { "hyperx", "4,4,4" },
						  { "dragonfly+", "9,4,4,2" },
						  { "jellyfish", "60,6" } };

	for (size_t i = 0; i < sizeof(fabrics) / sizeof(fabrics[0]); i++) {
		struct topo *t = shape(fabrics[i][0], fabrics[i][1]);
		struct routed r = route_it(t, "updn-root");
		struct tables before = { 0 };
		uint64_t moved = 0, least = 0;

		tables_copy(&before, &r.tables);
		for (uint32_t n = 0; n < 40; n++) {
			struct topo *cut = topo_alike(t);
			struct delta delta;

			topo_alike_cut(cut, cable(t, n * 7));
			route_again(&r, "updn-root", cut);
			assert_whole(&r, fabrics[i][0], n);
			delta_count(&before, &r.tables, &delta);
			moved += delta.entries;
			least += delta_minimum(cut, r.lids, "updn-root", &before, &r.tables);
			topo_unref(cut);
		}
		print_message("%s: %llu entries in 40 cuts, at least %llu\n", fabrics[i][0],
			      (unsigned long long)moved, (unsigned long long)least);
		assert_true(moved < 3 * least);
		route_again(&r, "updn-root", t);
		assert_memory_equal(before.lft, r.tables.lft, (size_t)t->nswitches * before.stride);
		tables_fini(&before);
		routed_fini(&r);
		topo_unref(t);
	}
}

/*
 * Trees that damage made leave their tiers: what is dead already has no say in how the engine
 * begins, so one more cut moves little there, too. Where pairs are torn apart by it and the tree
 * serves all the others again, that is another engine.
 */
static void a_cut_moves_few_entries_of_a_broken_tree(void **state)
{
	static const struct {
		uint64_t seed;
		unsigned percent;
	} broken[] = { { 1207, 27 }, { 2417, 37 }, { 2543, 43 } };

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct topo *whole = damage_random_pgft(broken[i].seed);
		struct topo *t = damage_links(whole, broken[i].percent, broken[i].seed);
		struct routed r = route_it(t, "ftree");
		struct tables before = { 0 };
		uint64_t moved = 0, least = 0;
		unsigned cuts = 0;

		assert_int_equal(route_outcome(r.route)->why, ROUTE_PAIRS_OPEN);
		assert_true(route_outcome(r.route)->open_pairs > 0);
		assert_true(route_outcome(r.route)->tree_load > 0);
		tables_copy(&before, &r.tables);
		for (uint32_t n = 0; n < 60; n++) {
			struct topo *cut = topo_alike(t);
			uint32_t at = cable(t, n * 5);
			struct delta delta;

			if (!t->ports[at].link_up) {
				topo_unref(cut);
				continue;
			}
			topo_alike_cut(cut, at);
			route_again(&r, "ftree", cut);
			assert_whole(&r, "broken tree", n);
			delta_count(&before, &r.tables, &delta);
			if (!strcmp(route_outcome(r.route)->engine, "updn-root")) {
				moved += delta.entries;
				least +=
					delta_minimum(cut, r.lids, "updn-root", &before, &r.tables);
				cuts++;
			}
			topo_unref(cut);
		}
		print_message("seed %llu: %llu entries in %u cuts, at least %llu\n",
			      (unsigned long long)broken[i].seed, (unsigned long long)moved, cuts,
			      (unsigned long long)least);
		assert_true(cuts > 10 && moved < 6 * least);
		tables_fini(&before);
		routed_fini(&r);
		topo_unref(t);
		topo_unref(whole);
	}
}

/* Whatever was computed before. */
static void tables_follow_from_snapshot_and_lids(void **state)
{
	struct topo *t = shape("jellyfish", "30,4"), *cut = harm(t, 3, 12);
	struct routed kept = route_it(t, "updn-root");

	route_again(&kept, "updn-root", cut);
	route_again(&kept, "updn-root", cut);
	struct routed anew = route_it(cut, "updn-root");

	assert_memory_equal(kept.tables.lft, anew.tables.lft,
			    (size_t)t->nswitches * kept.tables.stride);
	routed_fini(&kept);
	routed_fini(&anew);
	topo_unref(cut);
	topo_unref(t);
}

/* ---- Cordons --------------------------------------------------------------------------------- */

static struct topo *cordon_switch(const struct topo *t, uint32_t sw)
{
	struct topo_builder *b = topo_builder_from(t);

	for (unsigned num = 1; num <= t->nodes[sw].nports; num++)
		if (t->ends[t->nodes[sw].port0 + num].to < t->nswitches)
			topo_builder_cordon(b, (int)sw, num);
	return topo_freeze(b);
}

/* All entries for others' LIDs lead around a drained switch, and its hosts are reached. */
static void transit_keeps_off_cordons(void **state)
{
	struct topo *t = shape("torus", "5,5"), *drained = cordon_switch(t, 7);
	struct routed r = route_it(drained, "updn-root");

	assert_whole(&r, "cordoned", 7);
	assert_string_equal(route_outcome(r.route)->engine, "updn-root");
	assert_true(route_cordons_overridden(r.route));
	for (uint32_t lid = 1; lid <= r.lids->top; lid++) {
		uint32_t port = r.lids->port_of_lid[lid], home = drained->ports[port].node;

		if (home >= drained->nswitches)
			home = topo_peer(drained, &drained->ports[port])->node;
		for (uint32_t sw = 0; home != 7 && sw < drained->nswitches; sw++) {
			uint8_t out = tables_row(&r.tables, sw)[lid];

			if (sw != 7 && sw != home)
				assert_int_not_equal(
					drained->ends[drained->nodes[sw].port0 + out].to, 7);
		}
	}
	routed_fini(&r);
	topo_unref(drained);
	topo_unref(t);
}

struct search {
	const struct topo *t;
	const struct tables *tables;
	struct fiber *fiber;
	uint8_t *up;
	bool found;
};

static void search_tree(void *arg)
{
	struct search *s = arg;

	s->found = acyclic_tree_beside(s->t, s->tables, &(struct acyclic_beside){ .up = s->up },
				       s->fiber);
}

/* 128 tries, none of which finds one: many steps, or two where it hurries. */
static void a_tree_beside_tables_is_looked_for_in_steps(void **state)
{
	char *words[] = { "torus", "6,6,6" }, err[128];
	struct topo *t = generate_parse(2, words, err, sizeof(err));
	struct routed r = { .t = t, .lids = lid_plan(t, NULL, 0), .route = route_new() };
	struct search s = { t, &r.tables, fiber_new(), mem_array(s.up, t->nswitches), false };

	assert_int_equal(route_compute(r.route, t, r.lids, NULL, &r.tables), 0);
	for (unsigned hurried = 0; hurried < 2; hurried++) {
		unsigned steps = 1;

		fiber_start(s.fiber, search_tree, &s);
		for (; fiber_go(s.fiber); steps++)
			if (hurried)
				fiber_hurry(s.fiber);
		assert_true(hurried ? steps == 2 : steps > 10);
	}
	fiber_free(s.fiber);
	free(s.up);
	routed_fini(&r);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_that_cables_connect_is_reached),
		cmocka_unit_test(shapes_get_short_paths_and_even_loads),
		cmocka_unit_test(a_large_fabric_begins_with_the_turns_that_load_it_least),
		cmocka_unit_test(trees_stay_trees),
		cmocka_unit_test(a_cut_moves_few_entries_and_they_come_back),
		cmocka_unit_test(a_cut_moves_few_entries_of_a_broken_tree),
		cmocka_unit_test(tables_follow_from_snapshot_and_lids),
		cmocka_unit_test(transit_keeps_off_cordons),
		cmocka_unit_test(a_tree_beside_tables_is_looked_for_in_steps),
	};

	return cmocka_run_group_tests_name("acyclic", tests, NULL, NULL);
}
