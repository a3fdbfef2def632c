/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain and sanitized. Thousands of random fabrics are computed. */
/*
 * The routing engine: proven on every fabric, minimal in what it changes, indifferent to accidents
 * of naming.
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
#include "tests/lib/fabrics.h"
#include "topology/generate/generate.h"
#include "topology/graph/graph.h"
#include "topology/base/mem.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/topo_builder.h"

#define RANDOM_FABRICS 10000

struct routed {
	struct topo *topo;
	struct lid_map *lids;
	struct tables tables;
	struct check_report proof;
	bool sound;
};

/* Takes the snapshot. */
static struct routed route_it(struct topo *t, const char *engine)
{
	struct routed r = { .topo = t };
	struct route *route = route_new();
	struct route_params params = { .engine = engine };

	assert_non_null(t);
	r.lids = lid_plan(t, NULL, 0);
	assert_int_equal(route_compute(route, t, r.lids, &params, &r.tables), 0);
	r.sound = check_tables(t, r.lids, &r.tables, &r.proof);
	route_free(route);
	return r;
}

static void drop(struct routed *r)
{
	topo_unref(r->topo);
	lid_map_free(r->lids);
	tables_fini(&r->tables);
}

static void assert_proven(const struct routed *r)
{
	if (!r->sound || r->proof.unreachable || r->proof.unreachable_special)
		print_error("%s\n", r->proof.first);
	assert_true(r->sound);
	assert_int_equal(r->proof.loops, 0);
	assert_int_equal(r->proof.credit_cycles, 0);
	assert_int_equal(r->proof.unreachable, 0);
	assert_int_equal(r->proof.unreachable_special, 0);
}

static void measure(const struct routed *r, struct congestion *out)
{
	const struct congestion_scene scene = { r->topo, r->lids, &r->tables, NULL };

	congestion_study(&scene, out, NULL);
}

static struct topo *pgft(unsigned h, const unsigned *m, const unsigned *w, const unsigned *p)
{
	char err[256];

	return generate_pgft(h, m, w, p, err, sizeof(err));
}

/* ---- What must hold everywhere --------------------------------------------------------------- */

static void intact_superpods_are_proven_and_shifts_do_not_collide(void **state)
{
	static const unsigned sizes[] = { 1, 2, 3, 4, 8, 16 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct routed r = route_it(pod(sizes[i]), "ftree");
		struct congestion c;

		assert_proven(&r);
		measure(&r, &c);
		assert_int_equal(c.shift_max, 1);
		assert_true(c.rail_shift_max <= 1);
		drop(&r);
	}
}

static void every_irregular_fabric_is_routed_as_a_tree(void **state)
{
	for (size_t i = 0; i < IRREGULARS; i++) {
		struct topo *t = irregular_fabric(i);

		if (!t)
			continue;
		struct routed r = route_it(t, "ftree");
		assert_proven(&r);
		drop(&r);
	}
}

static void a_ring_is_no_tree_and_is_routed_all_the_same(void **state)
{
	for (unsigned n = 3; n < 12; n++) {
		struct routed r = route_it(damage_ring(n, 3), "ftree");

		assert_proven(&r);
		drop(&r);
	}
}

static void updn_connects_everything_too(void **state)
{
	struct routed r = route_it(pod(4), "updn");

	assert_proven(&r);
	drop(&r);
}

static void an_unknown_engine_is_refused(void **state)
{
	struct topo *t = pod(1);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables tables = { 0 };
	struct route_params params = { .engine = "lash" };

	assert_int_equal(route_compute(route, t, lids, &params, &tables), -22);
	route_free(route);
	tables_fini(&tables);
	lid_map_free(lids);
	topo_unref(t);
}

/* ---- Random damage --------------------------------------------------------------------------- */

static void random_damage_loses_no_pair_that_cables_connect(void **state)
{
	for (uint64_t seed = 1; seed <= RANDOM_FABRICS; seed += damage_stride(20)) {
		struct topo *intact = damage_random_pgft(seed);
		struct routed r = route_it(damage_links(intact, seed % 40, seed), "ftree");

		if (!r.sound || r.proof.unreachable)
			print_error("seed %llu: %s\n", (unsigned long long)seed, r.proof.first);
		assert_true(r.sound);
		assert_int_equal(r.proof.unreachable, 0);
		drop(&r);
		topo_unref(intact);
	}
}

/*
 * Leaf 0 keeps the first spine only, leaf 1 loses it: no spine in common, and a third leaf to turn
 * at.
 */
static void leaves_without_a_common_spine_get_a_detour_and_the_rest_stays_a_tree(void **state)
{
	static const unsigned m[] = { 4, 3 }, w[] = { 1, 3 }, p[] = { 1, 1 };
	struct topo *t = pgft(2, m, w, p);
	struct topo_builder *b = topo_builder_from(t);
	uint32_t leaves[3], n = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (t->nodes[sw].level == 0)
			leaves[n++] = sw;
	assert_int_equal(topo_builder_link_down(b, leaves[0], 6), 0);
	assert_int_equal(topo_builder_link_down(b, leaves[0], 7), 0);
	assert_int_equal(topo_builder_link_down(b, leaves[1], 5), 0);
	struct routed r = route_it(topo_freeze(b), "ftree");
	assert_proven(&r);
	assert_int_equal(r.proof.reachable, 12 * 11);
	assert_int_equal(r.proof.max_hops, 5);
	drop(&r);
	topo_unref(t);
}

static bool arrives(const struct routed *r, uint32_t sw, uint32_t lid)
{
	const struct topo *t = r->topo;

	for (unsigned hops = 0; hops <= t->nswitches; hops++) {
		uint8_t port = tables_row(&r->tables, sw)[lid];
		const struct topo_port *out =
			port == TABLES_NO_ROUTE ? NULL : topo_port(t, sw, port);

		if (!out)
			return false;
		if (!port || out->peer == r->lids->port_of_lid[lid])
			return t->nodes[sw].port0 == r->lids->port_of_lid[lid] || port;
		if (!out->link_up)
			return false;
		sw = t->ports[out->peer].node;
	}
	return false;
}

/* Hosts of a leaf and a switch above, or no more above. */
static void assert_ways_both_ways(const struct routed *r, uint32_t leaf, uint32_t sw)
{
	uint32_t to_switch = r->lids->lid_of_port[r->topo->nodes[sw].port0];
	uint32_t host = topo_port(r->topo, leaf, 1)->peer;

	if (!arrives(r, leaf, to_switch) || !arrives(r, sw, r->lids->lid_of_port[host]))
		print_error("%s and %s\n", r->topo->nodes[leaf].desc, r->topo->nodes[sw].desc);
	assert_true(arrives(r, leaf, to_switch));
	assert_true(arrives(r, sw, r->lids->lid_of_port[host]));
}

/*
 * A PerfMgr's question to a switch behind a dead uplink is worth as much as the way back of the
 * answer.
 */
static void whatever_link_dies_hosts_and_switches_reach_each_other_both_ways(void **state)
{
	static const unsigned m[] = { 3, 3, 6 }, w[] = { 1, 3, 3 }, p[] = { 1, 1, 1 };
	struct topo *t = pgft(3, m, w, p);

	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i], *peer = topo_peer(t, port);

		if (!peer || peer->node >= t->nswitches || port->peer < i ||
		    port->node >= t->nswitches)
			continue;
		struct routed r = route_it(damage_cut(t, port->node, port->num), "ftree");

		assert_proven(&r);
		for (uint32_t leaf = 0; leaf < t->nswitches; leaf++)
			for (uint32_t sw = 0; !t->nodes[leaf].level && sw < t->nswitches; sw++)
				if (t->nodes[sw].level)
					assert_ways_both_ways(&r, leaf, sw);
		drop(&r);
	}
	topo_unref(t);
}

/* What runs on a spine may ask another spine, by LID: each turns at a leaf that both have. */
static void whatever_link_dies_all_switches_of_two_tiers_reach_each_other(void **state)
{
	static const unsigned m[] = { 4, 4 }, w[] = { 1, 3 }, p[] = { 1, 1 };
	struct topo *t = pgft(2, m, w, p);

	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i], *peer = topo_peer(t, port);

		if (!peer || port->node >= t->nswitches)
			continue; /* a host's link: the damage is none to switches */
		struct routed r = route_it(damage_cut(t, port->node, port->num), "ftree");

		assert_proven(&r);
		for (uint32_t to = 0; to < t->nswitches; to++) {
			uint32_t lid = r.lids->lid_of_port[t->nodes[to].port0];

			for (uint32_t from = 0; from < t->nswitches; from++)
				assert_true(arrives(&r, from, lid));
		}
		drop(&r);
	}
	topo_unref(t);
}

/* Leaves and switches above of which one does not reach the other. */
static unsigned count_apart(const struct routed *r)
{
	const struct topo *t = r->topo;
	unsigned apart = 0;

	for (uint32_t leaf = 0; leaf < t->nswitches; leaf++)
		for (uint32_t sw = 0; !t->nodes[leaf].level && sw < t->nswitches; sw++) {
			uint32_t host = r->lids->lid_of_port[topo_port(t, leaf, 1)->peer];
			uint32_t lid = r->lids->lid_of_port[t->nodes[sw].port0];

			apart += t->nodes[sw].level &&
				 (!arrives(r, leaf, lid) || !arrives(r, sw, host));
		}
	return apart;
}

/* Of 61,440 pairs, with some three cables dead: 300 when others go first. */
static void return_paths_are_found_before_other_paths(void **state)
{
	static const unsigned m[] = { 4, 4, 8 }, w[] = { 1, 4, 4 }, p[] = { 1, 1, 1 };
	struct topo *t = pgft(3, m, w, p);
	unsigned apart = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct routed r = route_it(damage_links(t, 1, seed), "ftree");

		assert_proven(&r);
		apart += count_apart(&r);
		drop(&r);
	}
	assert_in_range(apart, 1, 200);
	topo_unref(t);
}

/*
 * Two planes that only leaves connect, five tiers, and leaves left with one cable upwards: whoever
 * turns from one plane into the other must do so at one leaf. Nothing else moves for them.
 */
static void a_tree_stays_a_tree_where_detours_are_scarce(void **state)
{
	static const unsigned m[] = { 3, 3, 3, 3, 3 }, w[] = { 1, 2, 2, 2, 2 },
			      p[] = { 1, 1, 1, 1, 1 };
	struct topo *t = pgft(5, m, w, p);
	struct routed whole = route_it(pgft(5, m, w, p), "ftree");

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct routed r = route_it(damage_links(t, 3 + seed % 4, seed), "ftree");
		struct delta d;

		assert_proven(&r);
		delta_count(&whole.tables, &r.tables, &d);
		assert_int_equal(d.entries,
				 delta_minimum(r.topo, r.lids, "ftree", &whole.tables, &r.tables));
		drop(&r);
	}
	drop(&whole);
	topo_unref(t);
}

/* ---- What changes ---------------------------------------------------------------------------- */

static void tables_for(const struct topo *t, const struct lid_map *lids, struct tables *out)
{
	struct route *route = route_new();

	assert_int_equal(route_compute(route, t, lids, NULL, out), 0);
	route_free(route);
}

/* Returns how many entries changed. */
static uint64_t assert_least_change(const struct topo *t, const struct lid_map *lids,
				    const struct tables *before, uint32_t sw, unsigned port)
{
	struct topo *cut;
	struct tables after = { 0 };
	struct delta d;

	cut = damage_cut(t, sw, port);
	tables_for(cut, lids, &after);
	delta_count(before, &after, &d);
	if (d.entries != delta_minimum(cut, lids, "ftree", before, &after))
		print_error("%s port %u\n", t->nodes[sw].desc, port);
	assert_int_equal(d.entries, delta_minimum(cut, lids, "ftree", before, &after));
	tables_fini(&after);
	topo_unref(cut);
	return d.entries;
}

/* The last port's number is near those that mean something else in tables. */
static void a_fault_on_switches_with_254_ports_changes_only_what_used_it(void **state)
{
	static const unsigned m[] = { 127, 2 }, w[] = { 1, 127 }, p[] = { 1, 1 };
	struct topo *t = pgft(2, m, w, p);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables before = { 0 };
	uint32_t leaf = 0;

	while (t->nodes[leaf].nports != 254)
		leaf++;
	assert_int_equal(topo_peer(t, topo_port(t, leaf, 254))->node < t->nswitches, true);
	tables_for(t, lids, &before);
	assert_non_null(memchr(tables_row(&before, leaf), 254, before.stride));
	for (unsigned port = 128; port <= 254; port += 9) {
		struct topo *cut = damage_cut(t, leaf, port);
		struct tables after = { 0 };

		assert_least_change(t, lids, &before, leaf, port);
		tables_for(cut, lids, &after);
		assert_true(port == 254 ||
			    memchr(tables_row(&after, leaf), 254, after.stride) != NULL);
		tables_fini(&after);
		topo_unref(cut);
	}
	tables_fini(&before);
	lid_map_free(lids);
	topo_unref(t);
}

static void one_fault_changes_only_what_used_it(void **state)
{
	struct topo *fabrics[] = { pod(8), pod(12) };
	uint64_t seed = 7;

	for (size_t f = 0; f < sizeof(fabrics) / sizeof(fabrics[0]); f++) {
		struct topo *t = fabrics[f];
		struct lid_map *lids = lid_plan(t, NULL, 0);
		struct tables before = { 0 };

		tables_for(t, lids, &before);
		for (unsigned n = 0; n < 16; n += damage_stride(4)) {
			uint32_t sw = damage_random(&seed) % t->nswitches;
			unsigned cable = 1 + damage_random(&seed) % t->nodes[sw].nports;

			assert_least_change(t, lids, &before, sw, cable);
			assert_true(assert_least_change(t, lids, &before, sw, 0) > 0);
		}
		tables_fini(&before);
		lid_map_free(lids);
		topo_unref(t);
	}
}

static void assert_least_changes(const struct topo *t, unsigned faults, uint64_t seed)
{
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables before = { 0 };

	tables_for(t, lids, &before);
	for (unsigned n = 0; n < faults; n++) {
		uint32_t sw = damage_random(&seed) % t->nswitches;

		assert_least_change(t, lids, &before, sw,
				    1 + damage_random(&seed) % t->nodes[sw].nports);
		assert_least_change(t, lids, &before, sw, 0);
	}
	tables_fini(&before);
	lid_map_free(lids);
}

static void one_more_fault_changes_only_what_used_it(void **state)
{
	struct topo *fabrics[] = { pod(8), damage_crossed_pods(3, 6), damage_crossed_pods(4, 8) };

	for (size_t f = 0; f < sizeof(fabrics) / sizeof(fabrics[0]); f++) {
		for (unsigned percent = 0; percent <= 8; percent += 4) {
			struct topo *t = damage_links(fabrics[f], percent, f + percent);

			assert_least_changes(t, 12 / damage_stride(3), percent);
			topo_unref(t);
		}
		topo_unref(fabrics[f]);
	}
}

static void one_fault_in_an_irregular_fabric_changes_only_what_used_it(void **state)
{
	for (size_t i = 0; i < IRREGULARS; i++) {
		struct topo *t = irregular_fabric(i);

		if (!t)
			continue;
		assert_least_changes(t, 20, i);
		topo_unref(t);
	}
}

/* Cables that never were are dealt round as dead ones are, and are no reason for others to move. */
static void one_fault_beside_missing_cables_changes_only_what_used_it(void **state)
{
	static const unsigned m[] = { 6, 5, 4 }, w[] = { 1, 5, 4 }, p[] = { 1, 1, 2 };
	struct topo *t = pgft(3, m, w, p);

	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct topo *thin = damage_remove(t, 8, seed);

		assert_least_changes(thin, 8, seed);
		topo_unref(thin);
	}
	topo_unref(t);
}

static void a_cable_that_comes_back_gives_the_same_bytes(void **state)
{
	struct topo *t = pod(4), *cut = damage_cut(t, 3, 40), *again;
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables before = { 0 }, after = { 0 };
	struct topo_builder *b = topo_builder_from(cut);
	const struct topo_port *port = topo_port(t, 3, 40);

	assert_int_equal(topo_builder_link(b, 3, 40, t->ports[port->peer].node,
					   t->ports[port->peer].num, true),
			 0);
	again = topo_freeze(b);
	tables_for(t, lids, &before);
	tables_for(again, lids, &after);
	assert_int_equal(before.stride, after.stride);
	assert_memory_equal(before.lft, after.lft, (size_t)before.nswitches * before.stride);
	tables_fini(&before);
	tables_fini(&after);
	lid_map_free(lids);
	topo_unref(t);
	topo_unref(cut);
	topo_unref(again);
}

struct kept { /* a router, and tables in turn, as the daemon has them */
	struct route *route;
	struct tables tables[2];
	unsigned turn;
};

static void assert_like_a_new_one(struct kept *kept, const struct topo *t,
				  const struct lid_map *lids, const char *engine)
{
	struct topo *copy = topo_freeze(topo_builder_from(t));
	struct route *fresh = route_new();
	struct tables *by_kept = &kept->tables[kept->turn++ % 2], by_fresh = { 0 };
	struct route_params params = { .engine = engine };

	assert_false(topo_is_again(copy, t));
	assert_int_equal(route_compute(kept->route, t, lids, &params, by_kept), 0);
	assert_int_equal(route_compute(fresh, copy, lids, &params, &by_fresh), 0);
	assert_memory_equal(by_kept->lft, by_fresh.lft, (size_t)t->nswitches * by_fresh.stride);
	tables_fini(&by_fresh);
	route_free(fresh);
	topo_unref(copy);
}

static void a_router_that_has_seen_other_moments_and_fabrics_gives_the_bytes_of_a_new_one(
	void **state)
{
	struct kept kept = { .route = route_new() };
	uint64_t random = 5;

	for (uint64_t seed = 1; seed <= 300; seed += damage_stride(7)) {
		struct topo *t = seed % 50 ? damage_random_pgft(seed) : pod(1 + seed / 200);
		struct topo *before = topo_ref(t);
		struct lid_map *lids = lid_plan(t, NULL, 0);

		for (uint64_t moment = 0; moment < 5; moment++) {
			struct topo *now = damage_moment(before, seed * 5 + moment);

			topo_unref(before);
			before = now;
			assert_like_a_new_one(&kept, now, lids, moment == 3 ? "updn" : "ftree");
		}
		assert_like_a_new_one(&kept, t, lids, "ftree");
		for (unsigned i = 0; i < 4; i++) { /* most rows stay */
			uint32_t sw = damage_random(&random) % t->nswitches;
			unsigned port = 1 + damage_random(&random) % t->nodes[sw].nports;
			struct topo *cut = i ? damage_cut(t, sw, port) : damage_new_cables(t, seed);

			assert_like_a_new_one(&kept, cut, lids, "ftree");
			topo_unref(cut);
		}
		topo_unref(before);
		lid_map_free(lids);
		topo_unref(t);
	}
	route_free(kept.route);
	tables_fini(&kept.tables[0]);
	tables_fini(&kept.tables[1]);
}

static void other_guids_give_equally_good_tables(void **state)
{
	static const unsigned m[] = { 6, 6, 4 }, w[] = { 1, 6, 3 }, p[] = { 1, 1, 2 };

	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct topo *t = pgft(3, m, w, p);
		struct routed r = route_it(damage_new_guids(t, seed), "ftree");
		struct congestion c;

		assert_proven(&r);
		measure(&r, &c);
		assert_int_equal(c.shift_max, 1);
		drop(&r);
		topo_unref(t);
	}
}

static void a_host_that_goes_changes_its_leaf_alone(void **state)
{
	struct topo *t = pod(2), *cut = damage_cut(t, t->nswitches, 0);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables before = { 0 }, after = { 0 };
	struct delta d;

	tables_for(t, lids, &before);
	tables_for(cut, lids, &after);
	delta_count(&before, &after, &d);
	assert_int_equal(d.entries, 1);
	assert_int_equal(d.switches, 1);
	tables_fini(&before);
	tables_fini(&after);
	lid_map_free(lids);
	topo_unref(t);
	topo_unref(cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intact_superpods_are_proven_and_shifts_do_not_collide),
		cmocka_unit_test(every_irregular_fabric_is_routed_as_a_tree),
		cmocka_unit_test(a_ring_is_no_tree_and_is_routed_all_the_same),
		cmocka_unit_test(updn_connects_everything_too),
		cmocka_unit_test(an_unknown_engine_is_refused),
		cmocka_unit_test(random_damage_loses_no_pair_that_cables_connect),
		cmocka_unit_test(
			leaves_without_a_common_spine_get_a_detour_and_the_rest_stays_a_tree),
		cmocka_unit_test(whatever_link_dies_hosts_and_switches_reach_each_other_both_ways),
		cmocka_unit_test(whatever_link_dies_all_switches_of_two_tiers_reach_each_other),
		cmocka_unit_test(return_paths_are_found_before_other_paths),
		cmocka_unit_test(a_tree_stays_a_tree_where_detours_are_scarce),
		cmocka_unit_test(a_fault_on_switches_with_254_ports_changes_only_what_used_it),
		cmocka_unit_test(one_fault_changes_only_what_used_it),
		cmocka_unit_test(one_more_fault_changes_only_what_used_it),
		cmocka_unit_test(one_fault_in_an_irregular_fabric_changes_only_what_used_it),
		cmocka_unit_test(one_fault_beside_missing_cables_changes_only_what_used_it),
		cmocka_unit_test(a_cable_that_comes_back_gives_the_same_bytes),
		cmocka_unit_test(
			a_router_that_has_seen_other_moments_and_fabrics_gives_the_bytes_of_a_new_one),
		cmocka_unit_test(other_guids_give_equally_good_tables),
		cmocka_unit_test(a_host_that_goes_changes_its_leaf_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
