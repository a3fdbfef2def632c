/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain and sanitized. Thousands of random changes are computed. */
/*
 * The order of change, walked write by write: whatever the order within a round, every mixture on
 * the way is free of loops and credit cycles, and no pair that works before and after goes dark.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/proof/check.h"
#include "routing/order/order.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "tests/fabric/foreign.h"
#include "tests/fabric/mixture.h"
#include "tests/lib/fabrics.h"
#include "topology/generate/generate.h"
#include "topology/base/sort.h"
#include "topology/base/mem.h"

#define RANDOM_FABRICS 1000

static void tables_for(const struct topo *t, const struct lid_map *lids, struct tables *out)
{
	struct route *route = route_new();

	assert_int_equal(route_compute(route, t, lids, NULL, out), 0);
	route_free(route);
}

static void order_make(const struct topo *t, const struct tables *newer,
		       const struct order_block *changed, uint32_t count, struct order *out)
{
	struct order_making *m = order_begin(t, newer, changed, count, &(struct order_proof){ 0 });

	while (order_go(m))
		;
	order_end(m, out);
}

static uint32_t order_compare(const struct tables *older, const struct tables *newer,
			      struct order_block **out)
{
	uint32_t count = 0;

	*out = NULL;
	for (uint32_t sw = 0; sw < newer->nswitches; sw++)
		for (uint32_t b = 0; b < tables_blocks(newer); b++) {
			const uint8_t *old = tables_row(older, sw) + (size_t)b * TABLES_BLOCK;
			const uint8_t *new = tables_row(newer, sw) + (size_t)b *TABLES_BLOCK;

			if (!memcmp(old, new, TABLES_BLOCK))
				continue;
			*out = mem_grow(*out, count);
			(*out)[count++] = (struct order_block){ sw, b, old };
		}
	return count;
}

static struct order order_between(const struct topo *t, const struct tables *older,
				  const struct tables *newer)
{
	struct order_block *blocks;
	uint32_t count = order_compare(older, newer, &blocks);
	struct order order;

	order_make(t, newer, blocks, count, &order);
	free(blocks);
	return order;
}

static bool is_same_order(const struct order *a, const struct order *b)
{
	bool same = a->nsteps == b->nsteps && a->nrounds == b->nrounds && a->strict == b->strict;

	for (uint32_t i = 0; same && i < a->nsteps; i++) {
		const struct order_step *x = &a->steps[i], *y = &b->steps[i];

		same = x->sw == y->sw && x->block == y->block && x->mask == y->mask &&
		       x->last == y->last && x->drain == y->drain;
	}
	return same;
}

/* The newer tables' proof is at hand, made upon those of the older. */
static struct order order_by_proof(const struct topo *t, const struct tables *older,
				   const struct tables *newer, const struct check_base *base)
{
	const struct order_proof proof = { .base = base, .serial = check_proof_serial(base) };
	struct order_block *blocks;
	uint32_t count = order_compare(older, newer, &blocks);
	struct order_making *making = order_begin(t, newer, blocks, count, &proof);
	struct order order;

	free(blocks);
	while (order_go(making))
		;
	order_end(making, &order);
	return order;
}

static uint32_t some_switch(const struct topo *t, unsigned level)
{
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (t->nodes[sw].level == level)
			return sw;
	fail();
	return 0;
}

/* ---- The walk ------------------------------------------------------------------------------- */

struct walk {
	struct mixture mix;
	const struct order *order;
	const struct tables *newer;
	uint64_t seed;
};

static void write_step(struct walk *w, const struct order_step *step)
{
	uint8_t block[TABLES_BLOCK], new[TABLES_BLOCK];

	order_content(w->order, w->mix.topo, w->newer, step, new);
	memcpy(block, tables_row(&w->mix.now, step->sw) + (size_t)step->block * TABLES_BLOCK,
	       TABLES_BLOCK);
	for (unsigned i = 0; i < TABLES_BLOCK; i++) {
		if (!(step->mask >> i & 1))
			continue;
		block[i] = step->drain ? TABLES_NO_ROUTE : new[i];
		w->mix.excused[step->block * TABLES_BLOCK + i] |= step->drain;
	}
	mixture_write(&w->mix, step->sw, step->block, block);
}

static void walk_round(struct walk *w, unsigned round, const char *name)
{
	uint32_t first = w->order->first[round], count = w->order->first[round + 1] - first;
	struct order_step *steps = mem_alloc(count + 1u, sizeof(*steps));

	memcpy(steps, w->order->steps + first, count * sizeof(*steps));
	for (uint32_t left = count; left; left--) {
		uint32_t pick = (uint32_t)(damage_random(&w->seed) % left);
		const char *fault;

		write_step(w, &steps[pick]);
		fault = mixture_fault(&w->mix, steps[pick].block);
		if (fault)
			fail_msg("%s, round %u: %s", name, round, fault);
		steps[pick] = steps[left - 1];
	}
	free(steps);
}

struct tally {
	unsigned changes, writes, strict, drained;
	unsigned by_trees;
	unsigned most; /* LIDs of hosts that were drained at a time */
};

static void walk_order(struct order *order, const struct topo *now, const struct lid_map *lids,
		       const struct tables *older, const struct tables *newer, uint64_t seed,
		       struct tally *tally)
{
	struct walk w = { .order = order, .newer = newer, .seed = seed };
	char name[64];

	snprintf(name, sizeof(name), "seed %llu", (unsigned long long)seed);
	mixture_init(&w.mix, now, lids, older, newer);
	for (unsigned round = 0; round < order->nrounds; round++)
		walk_round(&w, round, name);
	assert_memory_equal(w.mix.now.lft, newer->lft, (size_t)newer->nswitches * newer->stride);
	tally->changes++;
	tally->writes += order->nsteps;
	tally->drained += order->drained > 0;
	tally->strict += order->strict;
	tally->by_trees += order->ntrees > 0;
	tally->most = order->most > tally->most ? order->most : tally->most;
	mixture_fini(&w.mix);
	order_fini(order);
}

/* By the order that is found without a proof, and by that of the proof. */
static void walk_between(const struct topo *now, const struct lid_map *lids,
			 const struct tables *older, const struct tables *newer, uint64_t seed,
			 struct check_base *base, struct tally *tally)
{
	struct order order = order_between(now, older, newer), by_proof;
	struct check_report report;

	assert_true(check_change(base, now, lids, newer, &report));
	by_proof = order_by_proof(now, older, newer, base);
	if (is_same_order(&order, &by_proof))
		order_fini(&by_proof);
	else
		walk_order(&by_proof, now, lids, older, newer, seed, tally);
	walk_order(&order, now, lids, older, newer, seed, tally);
}

/*
 * From one state of a fabric to another and back, and with all cables there: as when something that
 * works is taken out of use.
 */
static void walk_states(const struct topo *design, const struct topo *a, const struct topo *b,
			uint64_t seed, struct tally *tally)
{
	struct lid_map *lids = lid_plan(design, NULL, 0);
	struct tables x = { 0 }, y = { 0 };
	struct check_base *base = check_base_new(seed);
	struct check_report report;

	tables_for(a, lids, &x);
	tables_for(b, lids, &y);
	check_change(base, a, lids, &x, &report);
	walk_between(b, lids, &x, &y, seed, base, tally);
	walk_between(a, lids, &y, &x, seed, base, tally);
	walk_between(design, lids, &x, &y, seed, base, tally);
	check_base_free(base);
	tables_fini(&x);
	tables_fini(&y);
	lid_map_free(lids);
}

static void say(const struct tally *tally)
{
	print_message(
		"%u changes, %u writes; %u needed their rounds whole, %u drains, %u by trees, "
		"%u LIDs of hosts at a time\n",
		tally->changes, tally->writes, tally->strict, tally->drained, tally->by_trees,
		tally->most);
}

/* ---- Random changes ------------------------------------------------------------------------- */

static struct topo *cut_some(const struct topo *t, unsigned count, uint64_t *seed)
{
	struct topo *cut = topo_ref(t);

	while (count--) {
		uint32_t sw = damage_random(seed) % t->nswitches;
		unsigned port = 1 + damage_random(seed) % t->nodes[sw].nports;
		struct topo *next = damage_cut(cut, sw, port);

		topo_unref(cut);
		cut = next;
	}
	return cut;
}

static void cables_that_fail_and_return_disturb_nobody(void **state)
{
	struct tally tally = { 0 };

	for (uint64_t seed = 1; seed <= RANDOM_FABRICS; seed += damage_stride(10)) {
		uint64_t random = seed;
		struct topo *design = damage_random_pgft(seed);
		struct topo *cut = cut_some(design, 1 + seed % 3, &random);

		walk_states(design, design, cut, seed, &tally);
		topo_unref(design);
		topo_unref(cut);
	}
	say(&tally);
	assert_true(tally.drained * 200 < tally.changes);
}

static void faults_in_a_damaged_fabric_disturb_nobody(void **state)
{
	struct tally tally = { 0 };

	for (uint64_t seed = 1; seed <= RANDOM_FABRICS; seed += damage_stride(10)) {
		uint64_t random = seed;
		struct topo *design = damage_random_pgft(seed);
		struct topo *damaged = damage_links(design, 5 + seed % 20, seed);
		struct topo *cut = cut_some(damaged, 1 + seed % 2, &random);

		walk_states(design, damaged, cut, seed, &tally);
		topo_unref(design);
		topo_unref(damaged);
		topo_unref(cut);
	}
	say(&tally);
	/* A sample is of few fabrics, and one may need several. */
	assert_true(tally.drained * (damage_stride(10) > 1 ? 25 : 100) < tally.changes);
}

static void whole_switches_that_fail_and_return_disturb_nobody(void **state)
{
	struct tally tally = { 0 };

	for (uint64_t seed = 1; seed <= RANDOM_FABRICS / 3; seed += damage_stride(10)) {
		struct topo *design = damage_random_pgft(seed);
		struct topo *cut = damage_cut(design, seed * 7 % design->nswitches, 0);

		walk_states(design, design, cut, seed, &tally);
		topo_unref(design);
		topo_unref(cut);
	}
	say(&tally);
	assert_true(tally.drained * 200 < tally.changes);
}

/* From anything to anything: here entries may have to be drained; the rest holds all the same. */
static void upheavals_end_in_the_new_tables(void **state)
{
	struct tally tally = { 0 };

	for (uint64_t seed = 1; seed <= RANDOM_FABRICS / 8; seed += damage_stride(10)) {
		struct topo *design = damage_random_pgft(seed);
		struct topo *a = damage_links(design, seed % 40, seed);
		struct topo *b = damage_links(design, seed % 40, seed * 77 + 1);

		walk_states(design, a, b, seed, &tally);
		topo_unref(design);
		topo_unref(a);
		topo_unref(b);
	}
	say(&tally);
}

/* As behind a power cut: many hosts have no path before, and an order of all entries helps none. */
static void switches_that_return_in_a_crowd_do_not_go_by_trees(void **state)
{
	struct tally tally = { 0 };

	for (uint64_t seed = 1; seed <= RANDOM_FABRICS / 4; seed += damage_stride(10)) {
		struct topo *design = damage_random_pgft(seed), *a = topo_ref(design), *b = NULL;
		struct lid_map *lids = lid_plan(design, NULL, 0);
		struct check_base *base = check_base_new(seed);
		struct tables x = { 0 }, y = { 0 };
		uint64_t random = seed;

		for (unsigned i = 0; i < design->nswitches / 2; i++) {
			struct topo *next = damage_cut(a, damage_random(&random) % a->nswitches, 0);

			if (i == design->nswitches / 4)
				b = topo_ref(next);
			topo_unref(a);
			a = next;
		}
		tables_for(a, lids, &x);
		tables_for(b, lids, &y);
		walk_between(b, lids, &x, &y, seed, base, &tally);
		tables_for(design, lids, &x);
		walk_between(design, lids, &y, &x, seed, base, &tally);
		check_base_free(base);
		tables_fini(&x);
		tables_fini(&y);
		lid_map_free(lids);
		topo_unref(a);
		topo_unref(b);
		topo_unref(design);
	}
	say(&tally);
	assert_int_equal(tally.by_trees, 0);
}

/* ---- What an order looks like --------------------------------------------------------------- */

static void one_cable_of_a_pod_writes_each_block_once(void **state)
{
	struct topo *t = pod(4);
	uint32_t leaf = some_switch(t, 0);
	struct topo *cut = damage_cut(t, leaf, uplink_of(t, leaf));
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables x = { 0 }, y = { 0 };
	struct order_block *blocks;
	struct order order;
	uint32_t count;

	tables_for(t, lids, &x);
	tables_for(cut, lids, &y);
	count = order_compare(&x, &y, &blocks);
	order_make(cut, &y, blocks, count, &order);
	assert_int_equal(order.nsteps, count);
	assert_int_equal(order.split + order.drained + order.strict, 0);
	assert_true(order.nrounds <= 2);
	order_fini(&order);
	free(blocks);
	order = order_between(t, &y, &x);
	assert_int_equal(order.nsteps, count);
	assert_int_equal(order.split + order.drained + order.strict, 0);
	order_fini(&order);
	tables_fini(&x);
	tables_fini(&y);
	lid_map_free(lids);
	topo_unref(t);
	topo_unref(cut);
}

static void a_round_begins_with_hosts_traffic(void **state)
{
	static const unsigned m[] = { 18, 6, 6 }, w[] = { 1, 6, 3 }, p[] = { 1, 1, 1 };
	char err[256];
	struct topo *t = generate_pgft(3, m, w, p, err, sizeof(err));
	uint32_t leaf = some_switch(t, 0), hosts = 0;
	struct topo *cut = damage_cut(t, leaf, uplink_of(t, leaf));
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables x = { 0 }, y = { 0 };
	struct order order;

	tables_for(t, lids, &x);
	tables_for(cut, lids, &y);
	order = order_between(cut, &x, &y);
	for (uint32_t round = 0; round < order.nrounds; round++)
		for (uint32_t i = order.first[round]; i + 1 < order.first[round + 1]; i++)
			assert_true(order.steps[i].hosts || !order.steps[i + 1].hosts);
	for (uint32_t i = 0; i < order.nsteps; i++)
		hosts += order.steps[i].hosts;
	assert_true(hosts > 0 && hosts < order.nsteps);
	order_fini(&order);
	tables_fini(&x);
	tables_fini(&y);
	lid_map_free(lids);
	topo_unref(t);
	topo_unref(cut);
}

/* A spine is taken out of use: it empties its entries when nobody sends to it any more. */
static void what_becomes_a_dead_end_goes_last(void **state)
{
	struct topo *t = pod(1), *cut = damage_cut(t, some_switch(t, 1), 0);
	uint32_t spine = some_switch(t, 1);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables x = { 0 }, y = { 0 };
	struct order order;

	tables_for(t, lids, &x);
	tables_for(cut, lids, &y);
	order = order_between(t, &x, &y);
	assert_true(order.nrounds >= 2);
	for (uint32_t i = 0; i < order.first[order.nrounds - 1]; i++)
		assert_int_not_equal(order.steps[i].sw, spine);
	for (uint32_t i = order.first[order.nrounds - 1]; i < order.nsteps; i++)
		if (order.steps[i].sw == spine)
			assert_true(order.steps[i].last != 0);
	order_fini(&order);
	tables_fini(&x);
	tables_fini(&y);
	lid_map_free(lids);
	topo_unref(t);
	topo_unref(cut);
}

/* Neighbours' old entries still lead to it: with its detours they would turn down and up there. */
static void a_switch_whose_link_died_gets_its_detours_last(void **state)
{
	struct topo *t = pod(16);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables x = { 0 }, y = { 0 };
	uint32_t leaf = t->nswitches, written = 0;

	while (t->nodes[--leaf].level)
		;

	unsigned port = uplink_of(t, leaf);
	uint32_t spine = topo_peer(t, topo_port(t, leaf, port))->node;
	struct topo *cut = damage_cut(t, leaf, port);

	tables_for(t, lids, &x);
	tables_for(cut, lids, &y);
	struct order order = order_between(cut, &x, &y);

	assert_int_equal(order.strict + order.drained, 0);
	for (uint32_t i = 0; i < order.nsteps; i++)
		if (order.steps[i].sw == spine) {
			written++;
			assert_true(i >= order.first[order.nrounds - 1]);
		}
	assert_true(written > 0);
	order_fini(&order);
	tables_fini(&x);
	tables_fini(&y);
	lid_map_free(lids);
	topo_unref(t);
	topo_unref(cut);
}

/* Whether a step has entries of a leaf for hosts: they have a path before. */
static bool serves_hosts(const struct topo *t, const struct lid_map *lids,
			 const struct order_step *step)
{
	const uint32_t *ports = lids->port_of_lid + (size_t)step->block * TABLES_BLOCK;

	return t->nodes[step->sw].level == 0 &&
	       any_of(bit, 0, TABLES_BLOCK,
		      step->mask >> bit & 1 && ports[bit] != TOPO_NONE &&
			      topo_is_host(t, t->ports[ports[bit]].node));
}

/*
 * Packets to switches turn at the first of two leaves that both spines have a link to. Turns there
 * and hosts' traffic over the cable that is back close a loop with turns at the other leaf.
 */
static void a_cable_that_is_back_at_a_pivot_carries_hosts_last(void **state)
{
	struct topo *t = pod(5), *cut;
	struct lid_map *lids = lid_plan(t, NULL, 0);
	uint32_t leaf = some_switch(t, 0), written = 0;
	struct check_base *base = check_base_new(1);
	struct tables x = { 0 }, y = { 0 };
	struct check_report report;
	struct tally tally = { 0 };

	tables_for(t, lids, &y);
	for (unsigned i = 0; i < 2; i++) {
		cut = damage_cut(t, leaf, uplink_of(t, leaf) + i * 7);
		tables_for(cut, lids, &x);
		assert_true(check_change(base, cut, lids, &x, &report));
		assert_true(check_change(base, t, lids, &y, &report));

		struct order order = order_by_proof(t, &x, &y, base);

		for (uint32_t step = 0; step < order.nsteps; step++)
			if (serves_hosts(t, lids, &order.steps[step])) {
				assert_true(step >= order.first[order.nrounds - 1]);
				written++;
			}
		walk_order(&order, t, lids, &x, &y, i, &tally);
		topo_unref(cut);
	}
	say(&tally);
	assert_int_equal(tally.drained, 0);
	assert_true(written > 0);
	check_base_free(base);
	tables_fini(&x);
	tables_fini(&y);
	lid_map_free(lids);
	topo_unref(t);
}

static void a_cold_start_is_one_round_of_whole_blocks(void **state)
{
	struct topo *t = pod(1);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables y = { 0 };
	uint32_t nblocks, count;
	struct order_block *blocks;
	struct order order;

	tables_for(t, lids, &y);
	nblocks = tables_blocks(&y);
	count = nblocks * t->nswitches;
	blocks = mem_alloc(count, sizeof(*blocks));
	for (uint32_t i = 0; i < count; i++)
		blocks[i] = (struct order_block){ i / nblocks, i % nblocks, NULL };
	order_make(t, &y, blocks, count, &order);
	assert_int_equal(order.nrounds, 1);
	assert_int_equal(order.nsteps, count);
	for (uint32_t i = 0; i < count; i++)
		assert_true(order.steps[i].mask == UINT64_MAX);
	order_fini(&order);
	free(blocks);
	tables_fini(&y);
	lid_map_free(lids);
	topo_unref(t);
}

/* A spine that came back knows nothing: leaves send to it when it does. */
static void known_blocks_wait_for_unknown_ones(void **state)
{
	struct topo *t = pod(1), *cut = damage_cut(t, some_switch(t, 1), 0);
	uint32_t spine = some_switch(t, 1), count, kept = 0;
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables x = { 0 }, y = { 0 };
	struct order_block *blocks;
	struct order order;

	tables_for(cut, lids, &x);
	tables_for(t, lids, &y);
	count = order_compare(&x, &y, &blocks);
	for (uint32_t i = 0; i < count; i++)
		if (blocks[i].sw != spine)
			blocks[kept++] = blocks[i];
	blocks = mem_resize(blocks, kept + tables_blocks(&y), sizeof(*blocks));
	for (uint32_t b = 0; b < tables_blocks(&y); b++)
		blocks[kept++] = (struct order_block){ spine, b, NULL };
	order_make(t, &y, blocks, kept, &order);
	assert_in_range(order.nrounds, 2, 3); /* other spines' detours to it wait for leaves */
	for (uint32_t i = 0; i < order.nsteps; i++)
		assert_int_equal(order.steps[i].sw == spine, i < order.first[1]);
	order_fini(&order);
	free(blocks);
	tables_fini(&x);
	tables_fini(&y);
	lid_map_free(lids);
	topo_unref(t);
	topo_unref(cut);
}

static void equal_tables_need_no_order(void **state)
{
	struct topo *t = pod(1);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables x = { 0 };
	struct order order;

	tables_for(t, lids, &x);
	order = order_between(t, &x, &x);
	assert_int_equal(order.nrounds, 0);
	assert_int_equal(order.nsteps, 0);
	order_fini(&order);
	tables_fini(&x);
	lid_map_free(lids);
	topo_unref(t);
}

/* Up to four cables of a torus, or of groups, at once: an order is found by a long search. */
static void cables_of_fabrics_that_are_no_trees_fail_without_a_circle(void **state)
{
	char err[128], *torus[] = { "torus", "4,4", "--hosts", "6" },
		       *groups[] = { "dragonfly+", "4,3,3", "--hosts", "6" };
	struct tally tally = { 0 };

	for (uint64_t seed = 41; seed <= 60; seed += damage_stride(5)) {
		uint64_t random = seed;
		struct topo *design =
			generate_parse(4, seed % 4 ? groups : torus, err, sizeof(err));
		struct topo *a = cut_some(design, seed % 3, &random);
		struct topo *b = cut_some(design, 1 + seed % 4, &random);

		walk_states(design, a, b, seed, &tally);
		topo_unref(design);
		topo_unref(a);
		topo_unref(b);
	}
	say(&tally);
	assert_in_range(tally.most, 0, TABLES_BLOCK);
}

/* Seven for seven others: no tree agrees, and 64 LIDs are not enough. */
static void where_no_tree_agrees_more_lids_are_emptied_at_a_time(void **state)
{
	char err[128], *torus[] = { "torus", "4,4", "--hosts", "6" };
	struct topo *design = generate_parse(4, torus, err, sizeof(err));
	struct tally tally = { 0 };
	uint64_t random = 127;
	struct topo *a = cut_some(design, 7, &random), *b = cut_some(design, 7, &random);

	walk_states(design, a, b, 127, &tally);
	say(&tally);
	assert_in_range(tally.most, TABLES_BLOCK + 1, 96);
	assert_int_equal(tally.by_trees, 0);
	topo_unref(design);
	topo_unref(a);
	topo_unref(b);
}

/*
 * Cables that are plugged in change the design of a fabric that is no tree, and all its paths: old
 * and new ones close circles, unless they go by way of a spanning tree that agrees with both.
 */
static void cables_that_are_new_to_a_fabric_that_is_no_tree_close_no_circle(void **state)
{
	char err[128], *cube[] = { "hypercube", "4", "--hosts", "6" };
	struct tally tally = { 0 };

	for (uint64_t seed = 16; seed <= 80; seed += 16) {
		struct topo *design = generate_parse(4, cube, err, sizeof(err));
		struct topo *before = damage_remove(design, 6, seed);
		struct lid_map *lids = lid_plan(design, NULL, 0);
		struct check_base *base = check_base_new(seed);
		struct tables old = { 0 }, new = { 0 };

		tables_for(before, lids, &old);
		tables_for(design, lids, &new);
		walk_between(design, lids, &old, &new, seed, base, &tally);
		check_base_free(base);
		tables_fini(&old);
		tables_fini(&new);
		lid_map_free(lids);
		topo_unref(design);
		topo_unref(before);
	}
	say(&tally);
	assert_in_range(tally.most, 0, TABLES_BLOCK);
}

/*
 * The turns of updn-root leave no room for a tree but those that were chosen with them, beside its
 * tables.
 */
static void another_engine_on_a_torus_darkens_64_lids_at_a_time(void **state)
{
	char err[128], *words[] = { "torus", "6,6,6", "--hosts", "4" };
	struct topo *torus = generate_parse(4, words, err, sizeof(err));
	struct lid_map *lids = lid_plan(torus, NULL, 0);
	struct route *route = route_new();
	struct route_params params = { .engine = "updn-root" };
	struct tables old = { 0 }, new = { 0 };
	bool *tree = mem_array(tree, torus->nports);
	struct order_proof proof = { .spanning_older = tree, .older = true };
	struct order_block *blocks;
	struct order order;
	uint32_t count;

	assert_int_equal(route_compute(route, torus, lids, &params, &old), 0);
	mem_copy(tree, route_spanning(route), torus->nports);
	params.engine = "updn";
	assert_int_equal(route_compute(route, torus, lids, &params, &new), 0);
	proof.spanning = route_spanning(route);
	count = order_compare(&old, &new, &blocks);

	struct order_making *m = order_begin(torus, &new, blocks, count, &proof);

	while (order_go(m))
		;
	order_end(m, &order);
	assert_in_range(order.most, 1, TABLES_BLOCK);
	order_fini(&order);
	free(blocks);
	free(tree);
	tables_fini(&old);
	tables_fini(&new);
	route_free(route);
	lid_map_free(lids);
	topo_unref(torus);
}

static void an_order_that_is_dropped_leaves_nothing_behind(void **state)
{
	char err[128], *cube[] = { "hypercube", "4", "--hosts", "6" };
	struct topo *design = generate_parse(4, cube, err, sizeof(err));
	struct topo *before = damage_remove(design, 6, 3);
	struct lid_map *lids = lid_plan(design, NULL, 0);
	struct tables old = { 0 }, new = { 0 };
	struct order_block *blocks;
	unsigned steps = 1;

	tables_for(before, lids, &old);
	tables_for(design, lids, &new);
	uint32_t count = order_compare(&old, &new, &blocks);

	for (bool more = true; more; steps += 1 + steps / 4) {
		struct order_making *m =
			order_begin(design, &new, blocks, count, &(struct order_proof){ 0 });

		for (unsigned i = 0; i < steps && more; i++)
			more = order_go(m);
		order_drop(m);
	}
	assert_true(steps > 100);
	free(blocks);
	tables_fini(&old);
	tables_fini(&new);
	lid_map_free(lids);
	topo_unref(design);
	topo_unref(before);
}

static void walk_behind_another_manager(struct topo *cut, const struct lid_map *lids, bool minhop,
					uint32_t root, uint64_t seed, struct tally *tally)
{
	struct check_base *base = check_base_new(seed);
	struct tables old = { 0 }, new = { 0 };

	foreign_tables(cut, lids, minhop, root, seed % 3, &old);
	tables_for(cut, lids, &new);
	walk_between(cut, lids, &old, &new, seed, base, tally);
	check_base_free(base);
	tables_fini(&old);
	tables_fini(&new);
}

/*
 * Shortest paths between spines turn at any leaf, and wait for one another in circles. Some of the
 * new ones turn elsewhere: once no old circle is left, old and new ones make none together.
 */
static void tables_of_another_manager_go_without_a_circle_of_old_and_new(void **state)
{
	struct tally tally = { 0 };
	char err[128];

	for (uint64_t seed = 1; seed <= RANDOM_FABRICS / 10; seed += damage_stride(9)) {
		uint64_t random = seed;
		struct topo *design =
			seed % 2 ? generate_pgft(2, (const unsigned[]){ 8, 6 },
						 (const unsigned[]){ 1, 4 },
						 (const unsigned[]){ 1, 2 }, err, sizeof(err))
				 : damage_random_pgft(seed);
		struct topo *cut = cut_some(design, seed % 5, &random);
		struct lid_map *lids = lid_plan(design, NULL, 0);

		walk_behind_another_manager(cut, lids, true, 0, seed, &tally);
		lid_map_free(lids);
		topo_unref(design);
		topo_unref(cut);
	}
	say(&tally);
	assert_true(tally.drained > 0);
	assert_in_range(tally.most, 0, TABLES_BLOCK);
}

/*
 * Up and down from any switch of a damaged tree. With the new paths between spines no tree agrees,
 * with those to hosts one does (326, 382); few entries lead anywhere before (950); 64 LIDs of hosts
 * are enough beside all those of switches (614); several steps are of one block (234, 1192).
 */
static void tables_from_any_root_go_without_a_circle_of_old_and_new(void **state)
{
	static const unsigned seeds[] = { 204, 234, 326, 382, 614, 798, 872, 950, 994, 1192 };
	struct tally tally = { 0 };

	for (unsigned i = 0; i < ARRAY_SIZE(seeds); i += damage_stride(4)) {
		uint64_t random = seeds[i];
		struct topo *design = damage_random_pgft(seeds[i]);
		struct topo *cut = damage_links(design, seeds[i] % 24, seeds[i]);
		struct lid_map *lids = lid_plan(design, NULL, 0);

		walk_behind_another_manager(cut, lids, false,
					    damage_random(&random) % cut->nswitches, seeds[i],
					    &tally);
		lid_map_free(lids);
		topo_unref(design);
		topo_unref(cut);
	}
	say(&tally);
	assert_true(tally.by_trees > 0);
	assert_in_range(tally.most, 0, TABLES_BLOCK);
}

/*
 * A ring that was routed as if one cable were dead is routed as if another one were, and all are
 * alive: each state is free of credit cycles, and on the way some entry has to be empty for a time.
 */
static void a_ring_that_turns_is_drained_and_never_deadlocks(void **state)
{
	struct tally tally = { 0 };

	for (unsigned n = 4; n <= 9; n++) {
		struct topo *ring = damage_ring(n, 2);
		struct topo *a = damage_cut(ring, 0, 1), *b = damage_cut(ring, n / 2, 1);

		walk_states(ring, a, b, n, &tally);
		topo_unref(ring);
		topo_unref(a);
		topo_unref(b);
	}
	say(&tally);
	assert_true(tally.strict > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cables_that_fail_and_return_disturb_nobody),
		cmocka_unit_test(faults_in_a_damaged_fabric_disturb_nobody),
		cmocka_unit_test(whole_switches_that_fail_and_return_disturb_nobody),
		cmocka_unit_test(upheavals_end_in_the_new_tables),
		cmocka_unit_test(switches_that_return_in_a_crowd_do_not_go_by_trees),
		cmocka_unit_test(one_cable_of_a_pod_writes_each_block_once),
		cmocka_unit_test(a_round_begins_with_hosts_traffic),
		cmocka_unit_test(what_becomes_a_dead_end_goes_last),
		cmocka_unit_test(a_switch_whose_link_died_gets_its_detours_last),
		cmocka_unit_test(a_cable_that_is_back_at_a_pivot_carries_hosts_last),
		cmocka_unit_test(a_cold_start_is_one_round_of_whole_blocks),
		cmocka_unit_test(known_blocks_wait_for_unknown_ones),
		cmocka_unit_test(equal_tables_need_no_order),
		cmocka_unit_test(tables_of_another_manager_go_without_a_circle_of_old_and_new),
		cmocka_unit_test(tables_from_any_root_go_without_a_circle_of_old_and_new),
		cmocka_unit_test(cables_of_fabrics_that_are_no_trees_fail_without_a_circle),
		cmocka_unit_test(another_engine_on_a_torus_darkens_64_lids_at_a_time),
		cmocka_unit_test(an_order_that_is_dropped_leaves_nothing_behind),
		cmocka_unit_test(where_no_tree_agrees_more_lids_are_emptied_at_a_time),
		cmocka_unit_test(cables_that_are_new_to_a_fabric_that_is_no_tree_close_no_circle),
		cmocka_unit_test(a_ring_that_turns_is_drained_and_never_deadlocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
