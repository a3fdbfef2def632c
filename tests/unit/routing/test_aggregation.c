/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Aggregation nodes: routing serves them beside the hosts, who have the same ways with them and
 * without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "routing/proof/check.h"
#include "routing/report/congestion.h"
#include "routing/report/report.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "tests/lib/aggregation_nodes.h"
#include "tests/lib/fabrics.h"
#include "topology/base/mem.h"

struct routed {
	struct topo *t;
	struct lid_map *lids;
	struct tables tables;
	struct check_report report;
};

/* Takes the snapshot. Without a plan of LIDs a new one is made. */
static void route_with(struct routed *r, struct topo *t, struct lid_map *lids)
{
	struct route *route = route_new();

	*r = (struct routed){ .t = t, .lids = lids ? lids : lid_plan(t, NULL, 0) };
	assert_int_equal(route_compute(route, t, r->lids, NULL, &r->tables), 0);
	assert_true(check_tables(t, r->lids, &r->tables, &r->report));
	assert_int_equal(r->report.unreachable, 0);
	route_free(route);
}

static void drop(struct routed *r)
{
	lid_map_free(r->lids);
	tables_fini(&r->tables);
	topo_unref(r->t);
}

/* By the host's GUID: the port on which a switch sends to it. */
static uint8_t sends_by(const struct routed *r, uint32_t sw, guid_t host)
{
	return tables_row(&r->tables, sw)[r->lids->lid_of_port[topo_find_port(r->t, host)]];
}

static bool has_hosts(const struct topo *t, uint32_t sw)
{
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

		if (peer && topo_is_host(t, peer->node))
			return true;
	}
	return false;
}

/* From a switch to a host both send by the same ports all the way. */
static void assert_same_way(const struct routed *a, const struct routed *b, uint32_t sw,
			    guid_t host)
{
	while (sw < a->t->nswitches) {
		uint8_t port = sends_by(a, sw, host);
		const struct topo_port *peer;

		assert_int_equal(port, sends_by(b, sw, host));
		if (port == TABLES_NO_ROUTE)
			break;
		peer = topo_peer(a->t, topo_port(a->t, sw, port));
		sw = peer->node;
	}
}

static void assert_hosts_have_the_same_ways(const struct routed *a, const struct routed *b)
{
	for (uint32_t p = a->t->nswitch_ports; p < a->t->nports; p++)
		for (uint32_t sw = 0; a->t->ports[p].guid && sw < a->t->nswitches; sw++)
			if (has_hosts(a->t, sw))
				assert_same_way(a, b, sw, a->t->ports[p].guid);
}

static void assert_same_for_hosts(struct topo *without)
{
	struct routed a, b;
	struct topo *with = with_aggregation_nodes(without);

	assert_int_equal(with->nspecials, with->nswitches);
	assert_int_equal(with->ncas, without->ncas);
	for (uint32_t sw = 0; sw < with->nswitches; sw++) {
		assert_int_equal(with->nodes[sw].level, without->nodes[sw].level);
		assert_int_equal(with->nodes[sw].role, without->nodes[sw].role);
	}
	route_with(&a, without, NULL);
	route_with(&b, with, NULL);
	assert_hosts_have_the_same_ways(&a, &b);
	assert_int_equal(a.report.reachable, b.report.reachable);
	assert_int_equal(a.report.max_hops, b.report.max_hops);
	drop(&a);
	drop(&b);
}

static struct topo *tree(unsigned h, const unsigned *m, const unsigned *w, const unsigned *p)
{
	char err[256];
	struct topo *t = generate_pgft(h, m, w, p, err, sizeof(err));

	assert_non_null(t);
	return t;
}

static struct topo *bare(enum generate_system system, unsigned su)
{
	char err[256];

	return generate_superpod(system, su, false, err, sizeof(err));
}

static void hosts_have_the_same_paths_as_without(void **state)
{
	static const unsigned m3[] = { 6, 6, 6 }, w3[] = { 1, 6, 6 }, one[] = { 1, 1, 1 };
	static const unsigned m2[] = { 18, 12 }, w2[] = { 1, 6 }, p2[] = { 1, 3 };

	assert_same_for_hosts(tree(3, m3, w3, one));
	assert_same_for_hosts(tree(2, m2, w2, p2));
	assert_same_for_hosts(bare(GENERATE_H100, 1));
	assert_same_for_hosts(bare(GENERATE_H100, 9));
	assert_same_for_hosts(bare(GENERATE_A100, 7));
}

static void hosts_have_the_same_paths_as_without_in_damaged_fabrics(void **state)
{
	struct topo *whole = bare(GENERATE_H100, 3);

	for (uint64_t seed = 1; seed <= 8; seed++)
		assert_same_for_hosts(damage_links(whole, 1 + 2 * (unsigned)seed, seed));
	topo_unref(whole);
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct topo *small = damage_random_pgft(seed);

		assert_same_for_hosts(damage_links(small, seed % 8, seed));
		topo_unref(small);
	}
}

static void an_intact_superpod_carries_shifts_without_collision(void **state)
{
	static const struct {
		enum generate_system system;
		unsigned su;
		double all_to_all;
	} pods[] = { { GENERATE_H100, 4, 1.0 },
		     { GENERATE_B200, 4, 1.0 },
		     { GENERATE_A100, 4, 1.0 },
		     { GENERATE_H100, 16, 1.14 } };

	for (size_t i = 0; i < sizeof(pods) / sizeof(pods[0]); i++) {
		struct congestion figures;
		struct routed r;
		char err[256];

		route_with(&r,
			   generate_superpod(pods[i].system, pods[i].su, true, err, sizeof(err)),
			   NULL);
		congestion_study(&(struct congestion_scene){ r.t, r.lids, &r.tables, NULL },
				 &figures, NULL);
		assert_int_equal(figures.shift_max, 1);
		assert_true(figures.all_to_all_ratio <= pods[i].all_to_all + 1e-9);
		drop(&r);
	}
}

static void a_cut_cable_changes_the_fewest_entries(void **state)
{
	for (unsigned su = 1; su <= 9; su += 4) {
		struct routed before, after;
		struct delta delta;
		uint32_t leaf = 0;

		route_with(&before, pod(su), NULL);
		leaf = find_desc(before.t, "leaf-su01-rail3");
		route_with(&after, damage_cut(before.t, leaf, uplink_of(before.t, leaf)),
			   lid_map_copy(before.lids));
		delta_count(&before.tables, &after.tables, &delta);
		assert_int_equal(delta.entries, delta_minimum(after.t, after.lids, "ftree",
							      &before.tables, &after.tables));
		drop(&before);
		drop(&after);
	}
}

static void aggregation_nodes_reach_each_other_in_whole_fabrics(void **state)
{
	static const unsigned m3[] = { 4, 4, 4 }, w3[] = { 1, 4, 4 }, p3[] = { 1, 1, 2 };
	static const unsigned m4[] = { 3, 3, 3, 3 }, w4[] = { 1, 3, 3, 3 }, p4[] = { 1, 1, 1, 1 };
	struct topo *bare[] = { tree(3, m3, w3, p3), tree(4, m4, w4, p4), NULL };
	struct topo *pods[] = { pod(1), pod(2), pod(9), NULL };
	struct routed r;

	for (unsigned i = 0; pods[i]; i++) {
		route_with(&r, pods[i], NULL);
		assert_int_equal(r.report.unreachable_special, 0);
		drop(&r);
	}
	for (unsigned i = 0; bare[i]; i++) {
		route_with(&r, with_aggregation_nodes(bare[i]), NULL);
		assert_int_equal(r.report.unreachable_special, 0);
		drop(&r);
		topo_unref(bare[i]);
	}
}

/* All its links are down and known: it is connected to nothing. */
static struct topo *dead_leaf(const struct topo *t, uint32_t leaf)
{
	struct topo_builder *b = topo_builder_from(t);

	for (unsigned num = 1; num <= t->nodes[leaf].nports; num++)
		if (topo_port(t, leaf, num)->peer != TOPO_NONE)
			assert_int_equal(topo_builder_link_down(b, (int)leaf, num), 0);
	return topo_freeze(b);
}

/* The first leaf is one at which detours turn. */
static void a_dead_leaf_opens_no_pair_of_other_aggregation_nodes(void **state)
{
	static const char *const names[] = { "leaf-su01-rail0", "leaf-su01-rail1",
					     "leaf-su07-rail4" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct routed before, after;
		struct delta delta;
		uint32_t leaf = 0;

		route_with(&before, pod(9), NULL);
		leaf = find_desc(before.t, names[i]);
		route_with(&after, dead_leaf(before.t, leaf), lid_map_copy(before.lids));
		assert_int_equal(after.report.unreachable_special, 0);
		delta_count(&before.tables, &after.tables, &delta);
		if (i == 2) /* no detour led there: LIDs behind the leaf change, and its own row */
			assert_true(delta.entries <= 34 * before.t->nswitches + before.lids->top);
		drop(&before);
		drop(&after);
	}
}

/* The links of the leaf at which detours turn carry those beside its own LIDs. */
static void no_link_of_a_pivot_carries_both_of_its_own_lids(void **state)
{
	for (unsigned su = 4; su <= 16; su *= 2) {
		struct routed r;
		uint32_t leaf, other;

		route_with(&r, pod(su), NULL);
		leaf = find_desc(r.t, "leaf-su01-rail0");
		other = find_desc(r.t, "leaf-su04-rail0");

		const struct topo_port *an =
			topo_peer(r.t, topo_port(r.t, leaf, r.t->nodes[leaf].nports));
		const uint8_t *row = tables_row(&r.tables, other);

		assert_true(r.t->nodes[an->node].sharp);
		assert_int_not_equal(row[r.lids->lid_of_port[r.t->nodes[leaf].port0]],
				     row[r.lids->lid_of_port[an - r.t->ports]]);
		drop(&r);
	}
}

/*
 * What is proven here is told by dependencies that tables have: no cycle, no loop, no host left
 * without a way.
 */
static void detours_close_no_cycle_whatever_is_dead(void **state)
{
	static const unsigned m3[] = { 4, 4, 4 }, w3[] = { 1, 4, 4 }, one[] = { 1, 1, 1 };
	struct topo *three = tree(3, m3, w3, one), *two = pod(2);

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct topo *bare = seed % 4 == 1   ? damage_random_pgft(seed)
				    : seed % 4 == 2 ? damage_tangle(seed)
				    : seed % 4 == 3 ? damage_crossed_pods(2 + seed % 3, 4)
						    : topo_ref(three);
		struct topo *with = with_aggregation_nodes(bare);
		struct routed r;

		route_with(&r, damage_links(with, seed * 7 % 30, seed), NULL);
		drop(&r);
		if (seed % 8 == 0) {
			route_with(&r, damage_links(two, seed % 25, seed), NULL);
			drop(&r);
		}
		topo_unref(with);
		topo_unref(bare);
	}
	topo_unref(three);
	topo_unref(two);
}

/* A twentieth of the cables of three tiers dead: few of the pairs that need a detour have none. */
static void most_aggregation_nodes_reach_each_other_in_damaged_fabrics(void **state)
{
	struct topo *whole = pod(9);
	struct routed r;
	uint64_t pairs = (uint64_t)whole->nspecials * (whole->nspecials + 2 * whole->ncas);

	for (unsigned percent = 1; percent <= 5; percent += 4) {
		route_with(&r, damage_links(whole, percent, percent), NULL);
		assert_true(r.report.unreachable_special < pairs / 200);
		drop(&r);
	}
	topo_unref(whole);
}

/*
 * A rack that is being cabled: its leaf has no hosts yet, and one cable to a spine that is joined
 * to one other leaf, at which no detour turns. The manager on the first leaf and that leaf reach
 * each other, if only by a turn at the leaf between.
 */
static void a_leaf_that_is_being_cabled_reaches_the_hosts_of_others(void **state)
{
	struct topo *t = parse_netfile(
		"Switch 9 \"S-1\" # \"leaf-1\"\n[1] \"H-1\"[1]\n[2] \"H-2\"[1]\n[5] \"S-5\"[1]\n"
		"Switch 9 \"S-2\" # \"leaf-2\"\n[1] \"H-3\"[1]\n[2] \"H-4\"[1]\n[5] \"S-5\"[2]\n"
		"Switch 9 \"S-3\" # \"leaf-3\"\n[1] \"H-5\"[1]\n[2] \"H-6\"[1]\n[5] \"S-5\"[3]\n"
		"[6] \"S-6\"[3]\n"
		"Switch 9 \"S-4\" # \"leaf-4\"\n[6] \"S-6\"[4]\n"
		"Switch 9 \"S-5\" # \"spine-1\"\n[1] \"S-1\"[5]\n[2] \"S-2\"[5]\n[3] \"S-3\"[5]\n"
		"[9] \"H-7\"[1]\n"
		"Switch 9 \"S-6\" # \"spine-2\"\n[3] \"S-3\"[6]\n[4] \"S-4\"[6]\n[9] \"H-8\"[1]\n"
		"Ca 1 \"H-1\" # \"n1 HCA-1\"\n[1] \"S-1\"[1]\nCa 1 \"H-2\" # \"n2 HCA-1\"\n[1] "
		"\"S-1\"[2]\n"
		"Ca 1 \"H-3\" # \"n3 HCA-1\"\n[1] \"S-2\"[1]\nCa 1 \"H-4\" # \"n4 HCA-1\"\n[1] "
		"\"S-2\"[2]\n"
		"Ca 1 \"H-5\" # \"n5 HCA-1\"\n[1] \"S-3\"[1]\nCa 1 \"H-6\" # \"n6 HCA-1\"\n[1] "
		"\"S-3\"[2]\n"
		"Ca 1 \"H-7\" # \"Mellanox Technologies Aggregation Node\"\n[1] \"S-5\"[9]\n"
		"Ca 1 \"H-8\" # \"Mellanox Technologies Aggregation Node\"\n[1] \"S-6\"[9]\n");
	uint32_t leaf = find_desc(t, "leaf-4"), spine = find_desc(t, "spine-2");
	struct routed r;

	assert_int_equal(t->nspecials, 2);
	route_with(&r, t, NULL);
	for (uint32_t p = t->nswitch_ports; p < t->nports; p++) {
		uint16_t lid = r.lids->lid_of_port[p];

		if (!lid || !topo_is_host(t, t->ports[p].node))
			continue;
		assert_int_not_equal(tables_row(&r.tables, leaf)[lid], TABLES_NO_ROUTE);
		assert_int_not_equal(tables_row(&r.tables, spine)[lid], TABLES_NO_ROUTE);
	}
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		if (!has_hosts(t, sw))
			continue;
		assert_int_not_equal(
			tables_row(&r.tables, sw)[r.lids->lid_of_port[t->nodes[leaf].port0]],
			TABLES_NO_ROUTE);
	}
	drop(&r);
}

/* LIDs of a leaf's hosts follow each other, whatever else is there. */
static void they_take_no_lid_between_those_of_hosts(void **state)
{
	struct topo *t = pod(2);
	struct lid_map *lids = lid_plan(t, NULL, 0);

	assert_int_equal(lids->without_lid, 0);
	assert_int_equal(lids->top, t->nnodes);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (unsigned num = 2; num <= 32 && t->nodes[sw].level == 0; num++)
			assert_int_equal(lids->lid_of_port[topo_port(t, sw, num)->peer],
					 lids->lid_of_port[topo_port(t, sw, num - 1)->peer] + 1);
	lid_map_free(lids);
	topo_unref(t);
}

static void every_generated_switch_has_one_behind_its_last_port(void **state)
{
	char err[256];
	struct topo *a = generate_superpod(GENERATE_A100, 1, true, err, sizeof(err)), *h = pod(9);
	struct topo *none = bare(GENERATE_H100, 1);
	const struct topo *all[] = { a, h };

	for (unsigned i = 0; i < 2; i++)
		for (uint32_t sw = 0; sw < all[i]->nswitches; sw++) {
			unsigned last = i ? 65 : 41;
			const struct topo_port *an;

			assert_int_equal(all[i]->nodes[sw].nports, last);
			an = topo_peer(all[i], topo_port(all[i], sw, last));
			assert_true(all[i]->nodes[an->node].sharp);
			assert_int_equal(all[i]->nodes[an->node].device, 0xcf09);
			assert_int_equal(all[i]->nodes[an->node].role, TOPO_SHARP);
		}
	assert_int_equal(none->nspecials, 0);
	assert_int_equal(none->nodes[0].nports, 64);
	topo_unref(a);
	topo_unref(h);
	topo_unref(none);
}

static void a_storage_adapter_on_a_spine_is_a_host(void **state)
{
	struct topo *t =
		parse_netfile("Switch 2 \"S-1\" # \"leaf-1\"\n[1] \"H-1\"[1]\n[2] \"S-2\"[1]\n"
			      "Switch 3 \"S-2\" # \"spine\"\n[1] \"S-1\"[2]\n[2] \"H-2\"[1]\n"
			      "[3] \"H-3\"[1]\n"
			      "Ca 1 \"H-1\" # \"n1 HCA-1\"\n[1] \"S-1\"[1]\n"
			      "Ca 1 \"H-2\" # \"storage-1 mlx5_0\"\n[1] \"S-2\"[2]\n"
			      "Ca 1 \"H-3\" # \"Mellanox Technologies Aggregation Node\"\n"
			      "[1] \"S-2\"[3]\n");

	assert_int_equal(node_named(t, "storage-1 mlx5_0")->role, TOPO_HOST);
	assert_int_equal(t->ncas, 2);
	assert_int_equal(t->nspecials, 1);
	assert_int_equal(t->nlinks, 4);
	assert_int_equal(t->nlinks_special, 1);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_have_the_same_paths_as_without),
		cmocka_unit_test(hosts_have_the_same_paths_as_without_in_damaged_fabrics),
		cmocka_unit_test(an_intact_superpod_carries_shifts_without_collision),
		cmocka_unit_test(a_cut_cable_changes_the_fewest_entries),
		cmocka_unit_test(aggregation_nodes_reach_each_other_in_whole_fabrics),
		cmocka_unit_test(no_link_of_a_pivot_carries_both_of_its_own_lids),
		cmocka_unit_test(detours_close_no_cycle_whatever_is_dead),
		cmocka_unit_test(most_aggregation_nodes_reach_each_other_in_damaged_fabrics),
		cmocka_unit_test(a_dead_leaf_opens_no_pair_of_other_aggregation_nodes),
		cmocka_unit_test(a_leaf_that_is_being_cabled_reaches_the_hosts_of_others),
		cmocka_unit_test(they_take_no_lid_between_those_of_hosts),
		cmocka_unit_test(every_generated_switch_has_one_behind_its_last_port),
		cmocka_unit_test(a_storage_adapter_on_a_spine_is_a_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
