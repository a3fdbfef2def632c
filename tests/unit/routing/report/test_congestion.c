/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Congestion counted by hand: four leaves of four hosts under three or four spines, and what the
 * maps of tiers make of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "routing/report/congestion.h"
#include "routing/report/load_map.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

struct study {
	struct topo *t;
	struct lid_map *lids;
	struct tables tables;
	struct congestion c;
	uint64_t *flows;
};

static struct topo *tree(unsigned spines)
{
	const unsigned m[] = { 4, 4 }, w[] = { 1, spines }, p[] = { 1, 1 };
	char err[128];

	return generate_pgft(2, m, w, p, err, sizeof(err));
}

/* Takes the snapshot. */
static struct study study_of(struct topo *t, const bool *storage)
{
	struct study s = { .t = t, .lids = lid_plan(t, NULL, 0) };
	struct route *route = route_new();

	assert_int_equal(route_compute(route, t, s.lids, NULL, &s.tables), 0);
	route_free(route);
	s.flows = mem_alloc(t->nports, sizeof(*s.flows));
	struct congestion_scene scene = { t, s.lids, &s.tables, storage };
	congestion_study(&scene, &s.c, s.flows);
	return s;
}

static void drop(struct study *s)
{
	free(s->flows);
	tables_fini(&s->tables);
	lid_map_free(s->lids);
	topo_unref(s->t);
}

static struct topo *renamed(struct topo *t, uint32_t node, const char *desc)
{
	struct topo_builder *b = topo_builder_new();
	struct topo *named;

	for (uint32_t n = 0; n < t->nnodes; n++) {
		const struct topo_node *old = &t->nodes[n];
		struct topo_node attr = { .guid = old->guid,
					  .desc = n == node ? desc : old->desc,
					  .type = old->type,
					  .nports = old->nports };
		struct topo_port port = { .guid = t->ports[old->port0 + 1].guid };

		assert_int_equal(topo_builder_node(b, &attr), (int)n);
		if (old->type == TOPO_CA)
			topo_builder_port(b, (int)n, 1, &port);
	}
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *p = &t->ports[i], *peer = topo_peer(t, p);

		if (peer && p->peer > i)
			topo_builder_link(b, (int)p->node, p->num, (int)peer->node, peer->num,
					  true);
	}
	named = topo_freeze(b);
	topo_unref(t);
	return named;
}

/* ---- Patterns -------------------------------------------------------------------------------- */

static void a_full_tree_carries_one_flow_a_channel(void **state)
{
	struct study s = study_of(tree(4), NULL);

	assert_int_equal(s.c.shift_max, 1);
	assert_true(s.c.random_max > 1 && s.c.random_max <= 4);
	assert_true(s.c.random_mean > 1 && s.c.random_mean <= s.c.random_max);
	/* 16 hosts, each channel up: 4 sources to 3 of the 12 hosts elsewhere; down: 12 to 1. */
	assert_int_equal(s.c.all_to_all_max, 12);
	assert_true(s.c.all_to_all_ratio > 0.999 && s.c.all_to_all_ratio < 1.001);
	drop(&s);
}

static void too_few_spines_carry_more(void **state)
{
	struct study s = study_of(tree(2), NULL);

	assert_int_equal(s.c.shift_max, 2);
	assert_int_equal(s.c.all_to_all_max, 24);
	drop(&s);
}

/* ---- Effective bisection bandwidth ----------------------------------------------------------- */

static struct ebb ebb_of(const struct study *s)
{
	const struct congestion_scene scene = { s->t, s->lids, &s->tables, NULL };
	struct ebb ebb;

	ebb_measure(&scene, NULL, &ebb);
	return ebb;
}

static bool is_near(double x, double y)
{
	return fabs(x - y) < 1e-6;
}

/* One spine for leaves of one host each: whoever sends to whom, a link has one flow. */
static void flows_that_never_meet_get_all(void **state)
{
	const unsigned m[] = { 1, 8 }, w[] = { 1, 1 }, p[] = { 1, 1 };
	char err[128];
	struct study s = study_of(generate_pgft(2, m, w, p, err, sizeof(err)), NULL);
	struct ebb ebb = ebb_of(&s);

	for (unsigned i = 0; i < EBB_PATTERNS; i++)
		assert_true(is_near(ebb.of[i].mean, 1) && is_near(ebb.of[i].slowest_tenth, 1));
	assert_true(is_near(ebb.of[EBB_BISECTION].worst_link, 1));
	drop(&s);
}

/* Two leaves of two hosts, one spine: pairs are on one leaf in a third of all cases, else share. */
static void pairs_across_share_the_one_link_up(void **state)
{
	const unsigned m[] = { 2, 2 }, w[] = { 1, 1 }, p[] = { 1, 1 };
	char err[128];
	struct study s = study_of(generate_pgft(2, m, w, p, err, sizeof(err)), NULL);
	struct ebb_figures got = ebb_of(&s).of[EBB_BISECTION];

	assert_true(got.mean > 0.55 && got.mean < 0.8);
	assert_true(is_near(got.slowest_tenth, 0.5) && is_near(got.worst_link, 2));
	assert_true(is_near(got.mean, ebb_of(&s).of[EBB_BISECTION].mean));
	drop(&s);
}

/* Two jobs of a host at each leaf meet on the one link up, a third has no host, later one. */
static void jobs_share_the_links_that_they_meet_on(void **state)
{
	const unsigned m[] = { 2, 2 }, w[] = { 1, 1 }, p[] = { 1, 1 };
	char err[128];
	struct study s = study_of(generate_pgft(2, m, w, p, err, sizeof(err)), NULL);
	const struct congestion_scene scene = { s.t, s.lids, &s.tables, NULL };
	uint32_t job_of[4], seen[2] = { 0 };
	struct ebb_job got[3];

	assert_int_equal(s.t->nhosts, 4);
	for (uint32_t h = 0; h < 4; h++) {
		uint32_t node = s.t->host_cas[s.t->hosts[h].first];

		job_of[h] = seen[topo_peer(s.t, topo_port(s.t, node, 1))->node == 0]++;
	}
	ebb_jobs(&scene, job_of, 3, got);
	for (unsigned j = 0; j < 2; j++)
		assert_true(is_near(got[j].share, 0.5) && is_near(got[j].alone, 1) &&
			    is_near(got[j].time, 2));
	assert_true(got[2].share == 0 && got[2].alone == 0 && got[2].time == 0);
	for (uint32_t h = 0; h < 4; h++)
		job_of[h] = job_of[h] == 0 ? 2 : TOPO_NONE;
	ebb_jobs(&scene, job_of, 3, got);
	assert_true(is_near(got[2].share, 1) && is_near(got[2].alone, 1) &&
		    is_near(got[2].time, 1));
	assert_true(got[0].share == 0 && got[1].share == 0);
	drop(&s);
}

static void a_host_that_is_cut_off_gets_nothing(void **state)
{
	struct study s = study_of(tree(4), NULL);
	uint16_t lid = s.lids->lid_of_port[s.t->nodes[s.t->nswitches].port0 + 1];
	double before = ebb_of(&s).of[EBB_BISECTION].mean;

	for (uint32_t sw = 0; sw < s.t->nswitches; sw++)
		tables_set(&s.tables, sw, lid, TABLES_NO_ROUTE);
	/* One flow of sixteen, and who shared links with it may get more. */
	assert_true(ebb_of(&s).of[EBB_BISECTION].mean < before);
	assert_true(ebb_of(&s).of[EBB_BISECTION].mean > before - 1.0 / 16 - 1e-6);
	drop(&s);
}

/* All of four spines' links turn out to have half the rate of hosts' links: half is left. */
static void slow_links_give_what_they_carry(void **state)
{
	struct study s = study_of(tree(4), NULL);
	struct topo_builder *b = topo_builder_from(s.t);
	struct ebb before = ebb_of(&s), after;

	for (uint32_t p = 0; p < s.t->nports; p++) {
		const struct topo_port *port = &s.t->ports[p], *peer = topo_peer(s.t, port);
		struct topo_port attr = { .guid = port->guid, .speed = TOPO_NDR, .width = 4 };

		if (!peer)
			continue;
		if (port->node < s.t->nswitches && peer->node < s.t->nswitches)
			attr.width = 2;
		topo_builder_port(b, port->node, port->num, &attr);
	}
	topo_unref(s.t);
	s.t = topo_freeze(b);
	after = ebb_of(&s);
	assert_true(after.of[EBB_BISECTION].mean < before.of[EBB_BISECTION].mean);
	assert_true(is_near(after.of[EBB_BISECTION].worst_link,
			    2 * before.of[EBB_BISECTION].worst_link));
	drop(&s);
}

/* Tables for four equal spines, and one of them turns out to have links of half the rate. */
static void flows_on_a_link_of_half_the_rate_count_twice(void **state)
{
	struct study s = study_of(tree(4), NULL);
	struct topo_builder *b = topo_builder_from(s.t);
	struct topo *slow;

	for (uint32_t p = 0; p < s.t->nswitch_ports; p++) {
		const struct topo_port *port = &s.t->ports[p], *peer = topo_peer(s.t, port);
		bool half = port->node == s.t->nswitches - 1 ||
			    (peer && peer->node == s.t->nswitches - 1);
		struct topo_port attr = { .speed = half ? TOPO_HDR : TOPO_NDR, .width = 4 };

		if (port->num && peer)
			assert_int_equal(topo_builder_port(b, (int)port->node, port->num, &attr),
					 0);
	}
	slow = topo_freeze(b);
	congestion_study(&(struct congestion_scene){ slow, s.lids, &s.tables, NULL }, &s.c,
			 s.flows);
	assert_int_equal(s.c.shift_max, 2);
	assert_int_equal(s.c.all_to_all_max, 24);
	/* 48 flows of a leaf by three links and a half: 13.71 each, and 24 on the half one. */
	assert_int_equal(lround(s.c.all_to_all_ratio * 100), 175);

	struct load_map *map = load_map_new(slow, s.flows, 0);

	assert_int_equal(map->tier.max[LOAD_UP], 24);
	assert_int_equal(lround(map->tier.mean[LOAD_UP] * 100), 1371);
	assert_int_equal(map->tier.bins[LOAD_UP][3], 12); /* 0.875 */
	assert_int_equal(map->tier.bins[LOAD_UP][7], 4);  /* 1.75 */
	load_map_free(map);
	topo_unref(slow);
	drop(&s);
}

static void the_samples_are_the_same_each_time(void **state)
{
	struct study a = study_of(tree(3), NULL), b = study_of(tree(3), NULL);

	assert_memory_equal(&a.c, &b.c, sizeof(a.c));
	drop(&a);
	drop(&b);
}

/* ---- Towards storage ------------------------------------------------------------------------- */

static void without_storage_one_host_a_leaf_is_the_target(void **state)
{
	struct study s = study_of(tree(4), NULL);

	assert_int_equal(s.c.storage_ports, 4);
	assert_true(s.c.storage_max >= 3 && s.c.storage_max <= 6);
	drop(&s);
}

static void storage_is_recognised_by_its_description(void **state)
{
	struct topo *t = tree(4);
	uint32_t host = t->nswitches + 5;
	struct study s = study_of(renamed(t, host, "Storage-01 mlx5_0"), NULL);

	/* 15 hosts to one: 3 from its own leaf; 12 share the last channel. */
	assert_int_equal(s.c.storage_ports, 1);
	assert_int_equal(s.c.storage_max, 12);
	drop(&s);
}

static void storage_can_be_named(void **state)
{
	struct topo *t = tree(4);
	bool *storage = mem_alloc(t->nnodes, sizeof(*storage));

	storage[t->nswitches] = storage[t->nswitches + 15] = true;
	struct study s = study_of(t, storage);
	assert_int_equal(s.c.storage_ports, 2);
	assert_true(s.c.storage_max >= 5 && s.c.storage_max <= 7);
	free(storage);
	drop(&s);
}

/* ---- Maps ------------------------------------------------------------------------------------ */

static void a_map_has_each_pair_once(void **state)
{
	struct study s = study_of(tree(4), NULL);
	struct load_map *map = load_map_new(s.t, s.flows, 0),
			*above = load_map_new(s.t, s.flows, 1);

	assert_int_equal(map->nrows, 4);
	assert_int_equal(map->ncolumns, 4);
	assert_int_equal(map->ncells, 16);
	assert_int_equal(map->tier.channels[LOAD_UP], 16);
	assert_int_equal(map->tier.bins[LOAD_DOWN][4], 16);
	for (uint32_t i = 0; i < map->ncells; i++) {
		assert_int_equal(map->cells[i].row * 4 + map->cells[i].column, i);
		assert_int_equal(map->cells[i].up, 12);
		assert_int_equal(map->cells[i].live, 1);
	}
	assert_int_equal(above->ncells, 0);
	load_map_free(map);
	load_map_free(above);
	drop(&s);
}

static void a_dead_cable_is_in_the_map_and_in_no_bin(void **state)
{
	struct topo *t = tree(4), *cut;
	uint32_t leaf = 0, binned = 0, dead = 0;

	while (t->nodes[leaf].level)
		leaf++;
	cut = damage_cut(t, leaf, 5);
	struct study s = study_of(cut, NULL);
	struct load_map *map = load_map_new(s.t, s.flows, 0);

	assert_int_equal(map->ncells, 16);
	assert_int_equal(map->tier.channels[LOAD_UP], 15);
	for (unsigned i = 0; i < LOAD_BINS; i++)
		binned += map->tier.bins[LOAD_UP][i];
	for (uint32_t i = 0; i < map->ncells; i++)
		dead += !map->cells[i].live;
	assert_int_equal(binned, 15);
	assert_int_equal(dead, 1);
	assert_int_equal(map->tier.max[LOAD_DOWN], s.c.all_to_all_max);
	assert_true(map->tier.max[LOAD_UP] < s.c.all_to_all_max);
	load_map_free(map);
	drop(&s);
	topo_unref(t);
}

static void bins_are_closed_above(void **state)
{
	assert_int_equal(load_bin(0, 10), 0);
	assert_int_equal(load_bin(1, 10), 1);
	assert_int_equal(load_bin(5, 10), 1);
	assert_int_equal(load_bin(6, 10), 2);
	assert_int_equal(load_bin(10, 10), 4);
	assert_int_equal(load_bin(30, 10), 8);
	assert_int_equal(load_bin(31, 10), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_tree_carries_one_flow_a_channel),
		cmocka_unit_test(too_few_spines_carry_more),
		cmocka_unit_test(flows_that_never_meet_get_all),
		cmocka_unit_test(pairs_across_share_the_one_link_up),
		cmocka_unit_test(jobs_share_the_links_that_they_meet_on),
		cmocka_unit_test(a_host_that_is_cut_off_gets_nothing),
		cmocka_unit_test(slow_links_give_what_they_carry),
		cmocka_unit_test(flows_on_a_link_of_half_the_rate_count_twice),
		cmocka_unit_test(the_samples_are_the_same_each_time),
		cmocka_unit_test(without_storage_one_host_a_leaf_is_the_target),
		cmocka_unit_test(storage_is_recognised_by_its_description),
		cmocka_unit_test(storage_can_be_named),
		cmocka_unit_test(a_map_has_each_pair_once),
		cmocka_unit_test(a_dead_cable_is_in_the_map_and_in_no_bin),
		cmocka_unit_test(bins_are_closed_above),
	};

	return cmocka_run_group_tests_name("congestion", tests, NULL, NULL);
}
