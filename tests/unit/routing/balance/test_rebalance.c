/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain, sanitized in check-long. Hundreds of fabrics are balanced. */
/*
 * Re-balancing: legal, bounded, nothing to do on a whole fabric, and what comes of it after the
 * next fault.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/rebalance_world.h"

#define RANDOM_FABRICS 200 /* FMD_RANDOM_FABRICS in the environment: more */

/* ---- Bounds ---------------------------------------------------------------------------------- */

static bool are_in_order(const struct rebalance_result *result)
{
	for (uint32_t i = 1; i < result->count; i++) {
		const struct route_override *a = &result->overrides[i - 1],
					    *b = &result->overrides[i];

		if (a->sw > b->sw || (a->sw == b->sw && a->lid >= b->lid))
			return false;
	}
	return true;
}

static void random_damage_is_balanced_within_the_law(void **state)
{
	const char *more = getenv("FMD_RANDOM_FABRICS");
	uint64_t moved = 0, fabrics = more ? strtoull(more, NULL, 10) : RANDOM_FABRICS;

	for (uint64_t seed = 1; seed <= fabrics; seed++) {
		struct topo *whole = damage_random_pgft(seed);
		struct topo *t = damage_links(whole, seed % 40, seed);
		struct rebalance_limits limits = { seed % 3 ? REBALANCE_ENTRIES : 4, 0 };
		struct both b = balance_both(t, NULL, NULL, &limits);

		if (!overrides_are_legal(&b) || b.result->count > limits.entries ||
		    !are_in_order(b.result))
			fail_msg("seed %llu: %u entries", (unsigned long long)seed,
				 b.result->count);
		moved += b.result->count;
		both_free(&b);
		topo_unref(t);
		topo_unref(whole);
	}
	assert_true(moved > fabrics);
}

static void a_whole_fabric_is_left_alone(void **state)
{
	static const unsigned m[] = { 6, 6, 4 }, w[] = { 1, 5, 3 }, p[] = { 1, 1, 2 };
	char err[256];
	struct topo *fabrics[] = { pod(2), pod(3), generate_pgft(3, m, w, p, err, sizeof(err)),
				   damage_ring(5, 2) };

	for (size_t i = 0; i < sizeof(fabrics) / sizeof(fabrics[0]); i++) {
		struct both b = balance_both(fabrics[i], NULL, NULL, &usual);

		assert_int_equal(b.result->count, 0);
		both_free(&b);
		topo_unref(fabrics[i]);
	}
}

/* What is no tree, or is not to be one, has no up/down paths to choose from. */
static void other_tables_than_a_trees_are_left_alone(void **state)
{
	struct topo *ring = damage_ring(6, 2), *cut = damage_cut(ring, 0, 1);
	struct topo *t = damaged_pod(2, 10, 3);
	const struct route_params updn = { .engine = "updn" };
	struct both a = balance_both(cut, NULL, NULL, &usual),
		    b = balance_both(t, NULL, &updn, &usual);

	assert_int_equal(a.result->count, 0);
	assert_int_equal(b.result->count, 0);
	both_free(&a);
	both_free(&b);
	topo_unref(ring);
	topo_unref(cut);
	topo_unref(t);
}

static void no_more_entries_move_than_may(void **state)
{
	struct topo *t = damaged_pod(4, 5, 1);
	uint32_t limits[] = { 0, 1, 40, REBALANCE_ENTRIES };
	double before = 9;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct both b =
			balance_both(t, NULL, NULL, &(struct rebalance_limits){ limits[i], 0 });

		assert_true(b.result->count <= limits[i]);
		assert_true(overrides_are_legal(&b));
		if (limits[i] >= 40) {
			assert_true(b.result->after.all_to_all < before);
			before = b.result->after.all_to_all;
		}
		both_free(&b);
	}
	topo_unref(t);
}

static void what_gains_too_little_is_not_done(void **state)
{
	struct topo *t = damaged_pod(4, 5, 1);
	struct both b =
		balance_both(t, NULL, NULL, &(struct rebalance_limits){ REBALANCE_ENTRIES, 90 });

	assert_int_equal(b.result->count, 0);
	assert_true(same_tables(&b.stable, &b.moved));
	both_free(&b);
	topo_unref(t);
}

static void a_dead_leaf_is_no_reason_to_leave_the_rest_as_it_is(void **state)
{
	struct topo *whole = pod(4),
		    *cut = damage_cut(whole, find_desc(whole, "leaf-su01-rail0"), 40);
	struct topo *t = damage_cut(cut, find_desc(cut, "leaf-su02-rail0"), 0);
	struct both b = balance_both(t, NULL, NULL, &usual);

	assert_true(b.result->count > 0);
	assert_true(overrides_are_legal(&b));
	assert_true(b.result->after.all_to_all < b.result->before.all_to_all);
	both_free(&b);
	topo_unref(t);
	topo_unref(cut);
	topo_unref(whole);
}

/* ---- A fault after it ------------------------------------------------------------------------ */

static void cut_and_compare(const struct both *b, uint32_t sw, unsigned num)
{
	struct topo *t = damage_cut(b->t, sw, num);
	struct tables after = { 0 };
	struct delta delta;

	compute_tables(t, b->lids, &b->params, &after); /* overrides kept */
	delta_count(&b->moved, &after, &delta);
	assert_int_equal(delta.entries, delta_minimum(t, b->lids, "ftree", &b->moved, &after));
	tables_fini(&after);
	topo_unref(t);
}

static void a_second_fault_changes_only_what_used_it(void **state)
{
	struct topo *t = damaged_pod(4, 3, 5);
	struct both b = balance_both(t, NULL, NULL, &usual);
	uint64_t seed = 3;

	for (unsigned n = 0; n < 20; n++) {
		uint32_t sw = damage_random(&seed) % t->nswitches;
		unsigned num = 1 + damage_random(&seed) % t->nodes[sw].nports;

		if (topo_port(t, sw, num)->link_up)
			cut_and_compare(&b, sw, num);
	}
	both_free(&b);
	topo_unref(t);
}

static void a_leaf_that_dies_changes_only_what_used_it(void **state)
{
	struct topo *t = damaged_pod(4, 3, 5);
	struct both b = balance_both(t, NULL, NULL, &usual);

	assert_true(b.result->count > 0);
	cut_and_compare(&b, find_desc(t, "leaf-su03-rail5"), 0);
	both_free(&b);
	topo_unref(t);
}

/* Whatever was right before: taken where it leads on, it harms nothing. */
static void overrides_of_another_damage_lose_nobody(void **state)
{
	for (uint64_t seed = 1; seed <= RANDOM_FABRICS / 2; seed++) {
		struct topo *whole = damage_random_pgft(seed);
		struct topo *before = damage_links(whole, 10, seed);
		struct topo *t = damage_links(before, 10 + seed % 40, seed + 1);
		struct both b = balance_both(before, NULL, NULL, &usual);
		struct check_report report;

		compute_tables(t, b.lids, &b.params, &b.moved);
		if (!check_tables(t, b.lids, &b.moved, &report) || report.unreachable)
			fail_msg("seed %llu: %s", (unsigned long long)seed, report.first);
		both_free(&b);
		topo_unref(t);
		topo_unref(before);
		topo_unref(whole);
	}
}

/* To a dead cable, to a host's port, away from a leaf that has it, of nobody. */
static void overrides_that_lead_nowhere_are_left_out(void **state)
{
	struct topo *t = damaged_pod(2, 5, 1);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables plain = { 0 }, with = { 0 };
	struct route_override *all = mem_alloc((size_t)t->nswitches * 256, sizeof(*all));
	struct route_params params = { .overrides = all };

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (unsigned port = 0; port < 256; port++)
			if (port > t->nodes[sw].nports || !topo_port(t, sw, port)->link_up ||
			    topo_peer(t, topo_port(t, sw, port))->node >= t->nswitches)
				all[params.noverrides++] = (struct route_override){
					sw, 1 + (sw * 7 + port) % lids->top, port
				};
	all[params.noverrides++] = (struct route_override){ t->nswitches, 1, 1 };
	all[params.noverrides++] = (struct route_override){ 0, TABLES_MAX_LID, 1 };
	compute_tables(t, lids, NULL, &plain);
	compute_tables(t, lids, &params, &with);
	assert_true(same_tables(&plain, &with));
	free(all);
	tables_fini(&plain);
	tables_fini(&with);
	lid_map_free(lids);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_damage_is_balanced_within_the_law),
		cmocka_unit_test(a_whole_fabric_is_left_alone),
		cmocka_unit_test(other_tables_than_a_trees_are_left_alone),
		cmocka_unit_test(no_more_entries_move_than_may),
		cmocka_unit_test(what_gains_too_little_is_not_done),
		cmocka_unit_test(a_dead_leaf_is_no_reason_to_leave_the_rest_as_it_is),
		cmocka_unit_test(a_leaf_that_dies_changes_only_what_used_it),
		cmocka_unit_test(a_second_fault_changes_only_what_used_it),
		cmocka_unit_test(overrides_of_another_damage_lose_nobody),
		cmocka_unit_test(overrides_that_lead_nowhere_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
