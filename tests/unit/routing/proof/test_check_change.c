/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain, sanitized in check-long. Thousands of tables are proven. */
/*
 * The proof of a change against the proof of the whole: on random fat trees, through random faults
 * and repairs, with tables that are now and then corrupted, both must say the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "routing/proof/check_change.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "tests/fabric/corrupt.h"
#include "tests/lib/fabrics.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

#define FABRICS 150
#define STEPS	30

struct world {
	struct topo *intact, *topo;
	struct lid_map *lids;
	struct tables tables, corrupted;
	struct route *route;
	struct check_base *base;
	bool *down; /* by port of the intact fabric, at the lower end of a cable */
	uint64_t random;
};

struct tally {
	unsigned changes, wholes, refused, loops, bad_ports, cycles, unreachable;
};

static void world_init(struct world *w, struct topo *t, uint64_t seed)
{
	*w = (struct world){ .intact = t,
			     .topo = topo_ref(t),
			     .lids = lid_plan(t, NULL, 0),
			     .route = route_new(),
			     .base = check_base_new(seed),
			     .down = mem_alloc(t->nports, 1),
			     .random = seed };
}

static void world_fini(struct world *w)
{
	topo_unref(w->topo);
	topo_unref(w->intact);
	lid_map_free(w->lids);
	tables_fini(&w->tables);
	tables_fini(&w->corrupted);
	route_free(w->route);
	check_base_free(w->base);
	free(w->down);
}

static uint32_t pick(struct world *w, uint32_t below)
{
	return damage_random(&w->random) % below;
}

/* One cable, any: between switches or to a host. */
static void turn_a_cable(struct world *w)
{
	uint32_t port;

	do
		port = pick(w, w->intact->nports);
	while (w->intact->ports[port].peer == TOPO_NONE || port > w->intact->ports[port].peer);
	w->down[port] = !w->down[port];
}

static void turn_a_switch(struct world *w)
{
	const struct topo_node *node = &w->intact->nodes[pick(w, w->intact->nswitches)];
	bool down = pick(w, 2);

	for (unsigned num = 1; num <= node->nports; num++) {
		uint32_t port = node->port0 + num, peer = w->intact->ports[port].peer;

		if (peer != TOPO_NONE)
			w->down[peer < port ? peer : port] = down;
	}
}

static void repair_all(struct world *w)
{
	memset(w->down, 0, w->intact->nports);
}

static void read_fabric(struct world *w)
{
	struct topo_builder *b = topo_builder_from(w->intact);

	for (uint32_t i = 0; i < w->intact->nports; i++)
		if (w->down[i])
			topo_builder_link_down(b, w->intact->ports[i].node,
					       w->intact->ports[i].num);
	topo_unref(w->topo);
	w->topo = topo_freeze(b);
}

static void look_again(struct world *w)
{
	read_fabric(w);
	assert_int_equal(route_compute(w->route, w->topo, w->lids, NULL, &w->tables), 0);
}

static void turn_something(struct world *w)
{
	unsigned what = pick(w, 20);

	if (what == 0)
		repair_all(w);
	else if (what == 1)
		turn_a_switch(w);
	else
		for (unsigned n = pick(w, 3) + 1; n; n--)
			turn_a_cable(w);
}

/* ---- Both judges ----------------------------------------------------------------------------- */

static void assert_same_report(const struct check_report *a, const struct check_report *b)
{
	assert_int_equal(a->reachable, b->reachable);
	assert_int_equal(a->unreachable, b->unreachable);
	assert_int_equal(a->unreachable_special, b->unreachable_special);
	assert_int_equal(a->disconnected, b->disconnected);
	assert_int_equal(a->loops, b->loops);
	assert_int_equal(a->bad_ports, b->bad_ports);
	assert_int_equal(a->credit_cycles, b->credit_cycles);
	assert_string_equal(a->first, b->first);
}

static void assert_heights_prove(const struct check_base *base)
{
	const struct cdg *g = check_proof_graph(base, check_proof_serial(base));

	for (uint32_t i = 0; i < g->nchannels; i++)
		for (unsigned port = 1; port <= g->head_ports[i]; port++)
			if (cdg_has(g, i, (uint8_t)port) && !cdg_agrees(g, i, (uint8_t)port))
				fail_msg("channel %u depends on one as high", i);
}

static bool judge(struct world *w, const struct tables *tables, struct tally *tally)
{
	struct check_report change, whole;
	bool sound = check_change(w->base, w->topo, w->lids, tables, &change);

	assert_int_equal(check_tables(w->topo, w->lids, tables, &whole), sound);
	assert_same_report(&change, &whole);
	if (sound)
		assert_heights_prove(w->base);
	tally->wholes += check_change_last(w->base).whole;
	tally->changes += !check_change_last(w->base).whole;
	tally->refused += !sound;
	tally->loops += whole.loops > 0;
	tally->bad_ports += whole.bad_ports > 0;
	tally->cycles += whole.credit_cycles > 0 && !whole.loops;
	tally->unreachable += whole.unreachable > 0;
	return sound;
}

/* ---- Faults and corrupted tables ------------------------------------------------------------- */

static void corrupt_for_a_while(struct world *w, struct tally *tally)
{
	tables_copy(&w->corrupted, &w->tables);
	for (unsigned n = pick(w, 5); n; n--) {
		corrupt_tables(w->topo, &w->corrupted, &w->random);
		judge(w, &w->corrupted, tally);
	}
}

static void live_through_faults(uint64_t seed, struct tally *tally)
{
	struct world w;

	world_init(&w, damage_random_pgft(seed), seed);
	for (unsigned step = 0; step < STEPS; step++) {
		turn_something(&w);
		if (!pick(&w,
			  8)) { /* the tables stay as they were: some lead into the dead cable */
			read_fabric(&w);
			judge(&w, &w.tables, tally);
		}
		look_again(&w);
		assert_true(judge(&w, &w.tables, tally));
		if (pick(&w, 2))
			check_change_tidy(w.base, w.topo, &w.tables);
		if (!pick(&w, 3))
			corrupt_for_a_while(&w, tally);
	}
	world_fini(&w);
}

static void a_change_is_judged_like_the_whole(void **state)
{
	struct tally tally = { 0 };

	for (unsigned seed = 1; seed <= FABRICS; seed++)
		live_through_faults(seed, &tally);
	print_message("%u changes, %u wholes; %u refused: %u loops, %u bad ports, %u cycles alone; "
		      "%u with gaps\n",
		      tally.changes, tally.wholes, tally.refused, tally.loops, tally.bad_ports,
		      tally.cycles, tally.unreachable);
	assert_true(tally.changes > tally.wholes);
	assert_true(tally.refused > 100);
	assert_true(tally.loops > 20 && tally.bad_ports > 20 && tally.cycles > 20);
	assert_true(tally.unreachable > 100);
}

static void one_cable_is_no_whole_proof(void **state)
{
	struct check_report report;
	struct world w;

	world_init(&w, pod(4), 1);
	look_again(&w);
	assert_true(check_change(w.base, w.topo, w.lids, &w.tables, &report));
	assert_true(check_change_last(w.base).whole);
	for (uint32_t i = 0; i < w.intact->nports; i++)
		if (w.intact->ports[i].peer < i && w.intact->ports[i].node < w.intact->nswitches) {
			w.down[w.intact->ports[i].peer] = true;
			break;
		}
	look_again(&w);
	assert_true(check_change(w.base, w.topo, w.lids, &w.tables, &report));
	assert_false(check_change_last(w.base).whole);
	assert_true(check_change_last(w.base).blocks > 0);
	assert_int_equal(report.reachable, 1024 * 1023);
	world_fini(&w);
}

static struct topo *three_tiers(void)
{
	const unsigned down[] = { 6, 6, 12 }, up[] = { 1, 6, 6 }, cables[] = { 1, 1, 1 };
	char err[256];

	return generate_pgft(3, down, up, cables, err, sizeof(err));
}

static void a_proof_that_is_left_proves_nothing(void **state)
{
	struct check_report report;
	struct world w;

	for (unsigned calls = 0; calls < 16; calls++) {
		bool change = calls % 2;

		world_init(&w, three_tiers(), 1 + calls);
		look_again(&w);
		if (change) {
			assert_true(check_change(w.base, w.topo, w.lids, &w.tables, &report));
			turn_a_cable(&w);
			look_again(&w);
		}
		check_change_begin(w.base, w.topo, w.lids, &w.tables);
		for (unsigned i = 0; i < calls / 2 && check_change_go(w.base); i++)
			;
		if (calls % 4 < 2) { /* else it is freed as it is */
			assert_true(check_change(w.base, w.topo, w.lids, &w.tables, &report));
			assert_true(check_change_last(w.base).whole);
		}
		world_fini(&w);
	}
}

/* Dependencies that a fault adds and its repair no longer has must not end as a false cycle. */
static void faults_one_after_the_other_need_no_whole_proof(void **state)
{
	struct tally tally = { 0 };
	struct world w;

	world_init(&w, three_tiers(), 1);
	look_again(&w);
	judge(&w, &w.tables, &tally);
	for (unsigned n = 0; n < 200; n++) {
		if (n % 2)
			repair_all(&w);
		else
			turn_a_cable(&w);
		look_again(&w);
		assert_true(judge(&w, &w.tables, &tally));
		if (n >= 100) /* first without, then with the tidying of quiet times */
			check_change_tidy(w.base, w.topo, &w.tables);
	}
	assert_int_equal(tally.wholes, 1);
	world_fini(&w);
}

/*
 * Detours of aggregation nodes turn at a few leaves. Where one of these loses a cable, or has it
 * again, the order of the channels changes there alone.
 */
static void a_cable_of_the_leaf_where_detours_turn_moves_few_channels(void **state)
{
	struct tally tally = { 0 };
	struct world w;
	const struct cdg *g;
	char err[256];

	world_init(&w, generate_superpod(GENERATE_H100, 8, true, err, sizeof(err)), 1);
	look_again(&w);
	judge(&w, &w.tables, &tally);
	for (unsigned n = 0; n < 8; n++) {
		check_change_tidy(w.base, w.topo, &w.tables);
		g = check_proof_graph(w.base, check_proof_serial(w.base));

		int32_t *before = mem_array(before, g->nchannels);
		uint32_t moved = 0;

		mem_copy(before, g->height, g->nchannels);
		w.down[w.intact->nodes[0].port0 + 40 + n / 2] = n % 2 == 0;
		look_again(&w);
		assert_true(judge(&w, &w.tables, &tally));
		g = check_proof_graph(w.base, check_proof_serial(w.base));
		for (uint32_t i = 0; i < g->nchannels; i++)
			moved += g->height[i] != before[i];
		assert_in_range(moved, 0, g->nchannels / 20);
		free(before);
	}
	assert_int_equal(tally.wholes, 1);
	world_fini(&w);
}

/* Other LIDs, nodes or cables: nothing of the last proof holds. */
static void another_fabric_is_proven_whole(void **state)
{
	struct check_report report;
	struct topo *ring = damage_ring(6, 2);
	struct lid_map *lids = lid_plan(ring, NULL, 0);
	struct world w;

	world_init(&w, pod(4), 1);
	look_again(&w);
	assert_true(check_change(w.base, w.topo, w.lids, &w.tables, &report));
	assert_int_equal(route_compute(w.route, ring, lids, NULL, &w.tables), 0);
	assert_true(check_change(w.base, ring, lids, &w.tables, &report));
	assert_true(check_change_last(w.base).whole);
	assert_false(check_change(w.base, w.topo, w.lids, &w.tables, &report));
	assert_string_equal(report.first, "tables of another fabric");
	topo_unref(ring);
	lid_map_free(lids);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_is_judged_like_the_whole),
		cmocka_unit_test(one_cable_is_no_whole_proof),
		cmocka_unit_test(a_proof_that_is_left_proves_nothing),
		cmocka_unit_test(faults_one_after_the_other_need_no_whole_proof),
		cmocka_unit_test(a_cable_of_the_leaf_where_detours_turn_moves_few_channels),
		cmocka_unit_test(another_fabric_is_proven_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
