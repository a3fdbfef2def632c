/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tier: long. Many uneven fabrics, each balanced and judged. */
/*
 * Re-balancing where the design itself is uneven: as good as for damage, within the law, and left
 * alone by what comes and goes after it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/fabric/disguise.h"
#include "tests/lib/rebalance_world.h"

#define RANDOM_FABRICS 60

/* Three tiers of twelve-port switches, 432 hosts. */
static struct topo *tree(void)
{
	static const unsigned m[] = { 6, 6, 12 }, w[] = { 1, 6, 6 };
	char err[256];

	return generate_pgft(3, m, w, NULL, err, sizeof(err));
}

/* Takes the snapshot. */
static struct topo *without(struct topo *t, const char *desc)
{
	struct topo *less = disguise_without(t, find_desc(t, desc));

	topo_unref(t);
	return less;
}

/* A director of three stages without one card's middle chip and two chips of the top. */
static struct topo *director(void)
{
	return without(without(without(tree(), "spine-0002"), "core-0009"), "core-0010");
}

#define HOSTS(leaf) "[1] \"H-" leaf "1\"[1]\n[2] \"H-" leaf "2\"[1]\n[3] \"H-" leaf "3\"[1]\n"
#define HCA(guid)   "caguid=0x" guid "\nCa 1 \"H-" guid "\" # \"node-" guid " HCA-1\"\n"

/* Three leaves whose trunks to two spines are one or two cables wide, and a host on a spine. */
static struct topo *odd_trunks(void)
{
	return parse_netfile("switchguid=0x1\nSwitch 8 \"S-1\" # \"leaf-1\"\n" HOSTS(
		"a") "[4] \"S-4\"[1]\n[5] \"S-4\"[2]\n[6] \"S-5\"[1]\n"
		     "switchguid=0x2\nSwitch 8 \"S-2\" # \"leaf-2\"\n" HOSTS(
			     "b") "[4] \"S-4\"[3]\n[5] \"S-5\"[2]\n[6] \"S-5\"[3]\n"
				  "switchguid=0x3\nSwitch 8 \"S-3\" # \"leaf-3\"\n" HOSTS(
					  "c") "[4] \"S-4\"[4]\n[5] \"S-4\"[5]\n[6] \"S-5\"[4]\n"
					       "switchguid=0x4\nSwitch 8 \"S-4\" # "
					       "\"spine-1\"\n[7] \"H-d1\"[1]\n"
					       "switchguid=0x5\nSwitch 8 \"S-5\" # "
					       "\"spine-2\"\n" HCA("a1") HCA("a2") HCA("a3")
						       HCA("b1") HCA("b2") HCA("b3") HCA("c1")
							       HCA("c2") HCA("c3") HCA("d1"));
}

static void measure_both(const struct both *b, struct congestion *before, struct congestion *after)
{
	measure_congestion(b, &b->stable, before);
	measure_congestion(b, &b->moved, after);
}

/* Nobody is cut off, and what is not as the engine has it are overrides. */
static bool is_proven(const struct both *b)
{
	struct check_report report;
	struct delta delta;

	delta_count(&b->stable, &b->moved, &delta);
	return check_tables(b->t, b->lids, &b->moved, &report) && !report.unreachable &&
	       delta.entries <= b->result->count;
}

/* ---- How good -------------------------------------------------------------------------------- */

static void a_director_without_a_card_is_balanced(void **state)
{
	struct topo *t = director();
	struct both b = balance_both(t, NULL, NULL, &usual);
	struct congestion before, after;

	measure_both(&b, &before, &after);
	assert_true(before.shift_mean < 4 && before.all_to_all_ratio < 1.65);
	assert_true(after.shift_mean < 2.01 && after.shift_max <= 2);
	assert_true(after.all_to_all_ratio < 1.5);
	assert_float_equal(b.result->before.all_to_all, before.all_to_all_ratio, 0.01);
	assert_float_equal(b.result->after.all_to_all, after.all_to_all_ratio, 0.01);
	assert_true(is_proven(&b));
	both_free(&b);
	topo_unref(t);
}

/*
 * A spine that was never there leaves digits aligned with the other pods', as a dead one would; but
 * for the LIDs that links have too much of, as nobody waits for that spine.
 */
static void a_pod_without_a_spine_keeps_its_digits(void **state)
{
	struct topo *t = without(tree(), "spine-0002"), *whole = tree();
	struct topo *dead = damage_cut(whole, find_desc(whole, "spine-0002"), 0);
	struct both missing = balance_both(t, NULL, NULL, &usual),
		    cut = balance_both(dead, NULL, NULL, &usual);
	struct congestion a, b;

	measure_congestion(&missing, &missing.stable, &a);
	measure_congestion(&cut, &cut.stable, &b);
	assert_true(a.shift_mean <= b.shift_mean + 0.2);
	assert_true(a.all_to_all_max * 10 <= b.all_to_all_max * 8);
	both_free(&missing);
	both_free(&cut);
	topo_unref(t);
	topo_unref(dead);
	topo_unref(whole);
}

/* Too many entries to try them all: a pass leaves it to the first tables, which are even. */
static void a_large_fabric_is_even_from_the_first_tables(void **state)
{
	static const unsigned m[] = { 8, 8, 16 }, w[] = { 1, 8, 8 };
	char err[256];
	struct topo *t = without(generate_pgft(3, m, w, NULL, err, sizeof(err)), "spine-0002");
	struct both b = balance_both(t, NULL, NULL, &usual);
	struct congestion before, after;

	measure_both(&b, &before, &after);
	assert_int_equal(b.result->count, 0);
	assert_true(before.shift_mean < 2.25 && before.all_to_all_max < 1600);
	assert_int_equal(after.all_to_all_max, before.all_to_all_max);
	assert_true(is_proven(&b));
	both_free(&b);
	topo_unref(t);
}

static void trunks_of_unequal_width_are_balanced(void **state)
{
	struct topo *t = odd_trunks();
	struct both b = balance_both(t, NULL, NULL, &usual);
	struct congestion before, after;

	measure_both(&b, &before, &after);
	assert_true(rebalance_is_uneven(t));
	assert_true(is_proven(&b));
	assert_true(after.shift_mean <= before.shift_mean + 0.005);
	assert_true(after.all_to_all_max <= before.all_to_all_max);
	both_free(&b);
	topo_unref(t);
}

static void random_designs_are_balanced_within_the_law(void **state)
{
	uint64_t moved = 0;

	for (uint64_t seed = 1; seed <= RANDOM_FABRICS; seed++) {
		struct topo *even = damage_random_pgft(seed);
		struct topo *design = damage_remove(even, 2 + seed % 20, seed);
		struct topo *t = seed % 2 ? topo_ref(design) : damage_links(design, 10, seed);
		struct rebalance_limits limits = { seed % 3 ? REBALANCE_ENTRIES : 8, 0 };
		struct both b = balance_both(t, NULL, NULL, &limits);
		struct check_report report = { 0 };

		if (!check_tables(t, b.lids, &b.stable, &report) ||
		    !check_tables(t, b.lids, &b.moved, &report) || b.result->count > limits.entries)
			fail_msg("seed %llu: %u entries: %s", (unsigned long long)seed,
				 b.result->count, report.first);
		moved += b.result->count;
		both_free(&b);
		topo_unref(t);
		topo_unref(design);
		topo_unref(even);
	}
	assert_true(moved > RANDOM_FABRICS);
}

/* ---- What comes after ------------------------------------------------------------------------ */

static bool equal(const struct rebalance_result *a, const struct rebalance_result *b)
{
	for (uint32_t i = 0; i < a->count && a->count == b->count; i++)
		if (a->overrides[i].sw != b->overrides[i].sw ||
		    a->overrides[i].lid != b->overrides[i].lid ||
		    a->overrides[i].port != b->overrides[i].port)
			return false;
	return a->count == b->count;
}

static void a_fault_moves_the_minimum(void **state)
{
	struct topo *t = director();
	struct both b = balance_both(t, NULL, NULL, &usual);
	uint64_t seed = 3;

	for (unsigned n = 0; n < 20; n++) {
		uint32_t sw = damage_random(&seed) % t->nswitches;
		unsigned num = 1 + damage_random(&seed) % t->nodes[sw].nports;
		struct topo *cut = damage_cut(t, sw, num);
		struct tables after = { 0 };
		struct delta delta;

		compute_tables(cut, b.lids, &b.params, &after); /* overrides kept */
		delta_count(&b.moved, &after, &delta);
		assert_int_equal(delta.entries,
				 delta_minimum(cut, b.lids, "ftree", &b.moved, &after));
		tables_fini(&after);
		topo_unref(cut);
	}
	both_free(&b);
	topo_unref(t);
}

/*
 * Entries of a pass over the damaged fabric that another over the design alone has not, or others.
 */
static uint32_t count_added(const struct rebalance_result *design, const struct rebalance_result *r)
{
	uint32_t added = 0, at = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct route_override *o = &r->overrides[i], *d = design->overrides;

		while (at < design->count &&
		       (d[at].sw < o->sw || (d[at].sw == o->sw && d[at].lid < o->lid)))
			at++;
		added += at == design->count || d[at].sw != o->sw || d[at].lid != o->lid ||
			 d[at].port != o->port;
	}
	return added;
}

static void what_the_design_asks_for_stays_through_a_fault(void **state)
{
	struct topo *t = director();
	struct topo *cut = damage_cut(t, 3, uplink_of(t, 3));
	struct both whole = balance_both(t, NULL, NULL, &usual),
		    hurt = balance_both(cut, NULL, NULL, &usual);

	assert_true(whole.result->count > 100);
	assert_true(hurt.result->count >= whole.result->count);
	print_message("%u for the design, %u more for the damage\n", whole.result->count,
		      count_added(whole.result, hurt.result));
	assert_true(count_added(whole.result, hurt.result) * 4 < whole.result->count);
	both_free(&whole);
	both_free(&hurt);
	topo_unref(cut);
	topo_unref(t);
}

static void a_host_that_leaves_moves_nobody(void **state)
{
	struct topo *t = director();
	struct topo *less = damage_cut(t, t->nswitches + 7, 1);
	struct both a = balance_both(t, NULL, NULL, &usual),
		    b = balance_both(less, NULL, NULL, &usual);

	assert_true(a.result->count > 100);
	assert_true(equal(a.result, b.result));
	both_free(&a);
	both_free(&b);
	topo_unref(less);
	topo_unref(t);
}

/* A dead spine makes no design uneven, and one that was never there does. */
static void designs_differ_from_damage(void **state)
{
	struct topo *even = tree(), *uneven = director();
	struct topo *dead = damage_cut(even, find_desc(even, "spine-0002"), 0);

	assert_false(rebalance_is_uneven(even));
	assert_false(rebalance_is_uneven(dead));
	assert_true(rebalance_is_uneven(uneven));
	topo_unref(even);
	topo_unref(dead);
	topo_unref(uneven);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_director_without_a_card_is_balanced),
		cmocka_unit_test(a_pod_without_a_spine_keeps_its_digits),
		cmocka_unit_test(a_large_fabric_is_even_from_the_first_tables),
		cmocka_unit_test(trunks_of_unequal_width_are_balanced),
		cmocka_unit_test(random_designs_are_balanced_within_the_law),
		cmocka_unit_test(a_fault_moves_the_minimum),
		cmocka_unit_test(what_the_design_asks_for_stays_through_a_fault),
		cmocka_unit_test(a_host_that_leaves_moves_nobody),
		cmocka_unit_test(designs_differ_from_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
