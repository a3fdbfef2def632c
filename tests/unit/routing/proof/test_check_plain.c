/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain, sanitized in check-long. Thousands of tables are proven. */
/*
 * The judge of tables against a slow and plain one: on random trees, whole and damaged, on rings
 * and on cables laid at random, with tables as computed, corrupted ones, stale ones and noise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "routing/proof/check.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "tests/fabric/mixture.h"
#include "tests/fabric/plain_judge.h"
#include "tests/fabric/corrupt.h"

#define FABRICS	  70
#define EACH	  16
#define MOST_LIDS 400 /* of a fabric that the plain judge still has time for */

struct tally {
	unsigned judged, sound, loops, bad_ports, cycles, gaps;
};

struct world {
	struct topo *topo;
	struct lid_map *lids;
	struct tables tables, corrupted;
	uint64_t random;
	unsigned seed;
};

static uint32_t pick(struct world *w, uint32_t below)
{
	return damage_random(&w->random) % below;
}

static void judge(struct world *w, const struct topo *t, const struct tables *tables,
		  struct tally *tally)
{
	struct plain_findings plain = plain_judge(t, w->lids, tables);
	struct check_report report;
	bool sound = check_tables(t, w->lids, tables, &report);
	const struct plain_findings found = {
		.reachable = report.reachable,
		.unreachable = report.unreachable,
		.unreachable_special = report.unreachable_special,
		.disconnected = report.disconnected,
		.loops = report.loops,
		.bad_ports = report.bad_ports,
		.credit_cycles = report.credit_cycles,
	};
	bool flawless = !plain.loops && !plain.bad_ports && !plain.credit_cycles;

	if (memcmp(&found, &plain, sizeof(plain)) != 0 || sound != flawless)
		print_error("fabric %u, tables %u: %s\n", w->seed, tally->judged, report.first);
	assert_memory_equal(&found, &plain, sizeof(plain));
	assert_int_equal(sound, flawless);
	assert_int_equal(report.first[0] == '\0',
			 flawless && !plain.unreachable && !plain.unreachable_special);
	tally->judged++;
	tally->sound += sound;
	tally->loops += plain.loops > 0;
	tally->bad_ports += plain.bad_ports > 0;
	tally->cycles += plain.credit_cycles > 0 && !plain.loops;
	tally->gaps += plain.unreachable > 0;
}

static void corrupt(struct world *w)
{
	switch (pick(w, 8)) {
	case 0:
		corrupt_tables(w->topo, &w->corrupted, &w->random);
		break;
	case 1:
		corrupt_many(w->topo, &w->corrupted, &w->random);
		break;
	default:
		corrupt_turns(w->topo, &w->corrupted, &w->random);
	}
}

static void judge_corrupted(struct world *w, struct tally *tally)
{
	for (unsigned n = 0; n < EACH; n++) {
		if (n % 4 == 0)
			tables_copy(&w->corrupted, &w->tables);
		corrupt(w);
		judge(w, w->topo, &w->corrupted, tally);
	}
	corrupt_all(&w->corrupted, pick(w, 2) ? 256 : 1 + w->topo->nodes[0].nports, &w->random);
	judge(w, w->topo, &w->corrupted, tally);
}

/* By tables from before some cables went down. */
static void judge_stale(struct world *w, struct tally *tally)
{
	struct topo *later = damage_links(w->topo, 1 + pick(w, 20), w->seed);

	judge(w, later, &w->tables, tally);
	topo_unref(later);
}

/* Takes the topology over. */
static void judge_fabric(struct topo *t, unsigned seed, struct tally *tally)
{
	struct world w = { .topo = t, .random = seed, .seed = seed };
	struct route *route = route_new();

	w.lids = lid_plan(t, NULL, pick(&w, 5) == 0);
	if (w.lids->top <= MOST_LIDS) {
		assert_int_equal(route_compute(route, t, w.lids, NULL, &w.tables), 0);
		judge(&w, t, &w.tables, tally);
		judge_corrupted(&w, tally);
		judge_stale(&w, tally);
	}
	tables_fini(&w.tables);
	tables_fini(&w.corrupted);
	route_free(route);
	lid_map_free(w.lids);
	topo_unref(t);
}

static void expect_all_kinds(const struct tally *tally)
{
	print_message(
		"%u judged: %u sound, %u with loops, %u bad ports, %u cycles alone, %u gaps\n",
		tally->judged, tally->sound, tally->loops, tally->bad_ports, tally->cycles,
		tally->gaps);
	assert_true(tally->sound * 10 > tally->judged && tally->loops > 50);
	assert_true(tally->bad_ports > 50 && tally->gaps > 50);
}

static void tables_of_trees_are_judged_as_plainly_seen(void **state)
{
	struct tally tally = { 0 };

	for (unsigned seed = 1; seed <= FABRICS; seed++) {
		struct topo *t = damage_random_pgft(seed);

		if (seed % 2) {
			judge_fabric(damage_links(t, 5 + seed % 30, seed), seed, &tally);
			topo_unref(t);
		} else {
			judge_fabric(t, seed, &tally);
		}
	}
	expect_all_kinds(&tally);
}

/* No tree: whichever way is up there, and cables from a switch to itself. */
static void tables_of_tangles_are_judged_as_plainly_seen(void **state)
{
	struct tally tally = { 0 };

	for (unsigned seed = 1; seed <= FABRICS; seed++)
		judge_fabric(seed % 5 ? damage_tangle(seed) : damage_ring(3 + seed % 7, 2), seed,
			     &tally);
	expect_all_kinds(&tally);
	assert_true(tally.cycles > 20);
}

/*
 * Goes block by block from the tables in the mixture to the corrupted ones. False: the proof found
 * a fault, and there is one.
 */
static bool write_all(struct world *w, struct mixture *mix, struct tally *tally)
{
	for (uint32_t sw = 0; sw < w->topo->nswitches; sw++)
		for (uint32_t block = 0; block < tables_blocks(&w->corrupted); block++) {
			size_t at = (size_t)block * TABLES_BLOCK;
			const uint8_t *new = tables_row(&w->corrupted, sw) + at;
			struct check_report report;
			bool fault;

			if (!memcmp(tables_row(&mix->now, sw) + at, new, TABLES_BLOCK))
				continue;
			mixture_write(mix, sw, block, new);
			fault = mixture_fault(mix, block) != NULL;
			check_tables(w->topo, w->lids, &mix->now, &report);
			if (fault != (report.loops || report.credit_cycles))
				fail_msg("fabric %u: %s", w->seed,
					 fault ? mix->fault : report.first);
			tally->judged++;
			tally->loops += report.loops > 0;
			tally->cycles += report.credit_cycles && !report.loops;
			if (fault)
				return false;
		}
	return true;
}

static void judge_mixtures(struct world *w, struct tally *tally)
{
	for (unsigned n = 0; n < EACH; n++) {
		struct mixture mix;

		mixture_init(&mix, w->topo, w->lids, &w->tables, &w->tables);
		memset(mix.excused, true, w->tables.stride); /* who goes dark is not asked here */
		tables_copy(&w->corrupted, &w->tables);
		do
			corrupt(w);
		while (write_all(w, &mix, tally) && pick(w, 20));
		mixture_fini(&mix);
	}
}

/* What is there after some writes is as it would be without the way to there. */
static void a_mixture_is_judged_as_its_tables_are(void **state)
{
	struct tally tally = { 0 };

	for (unsigned seed = 1; seed <= FABRICS / 2; seed++) {
		struct world w = { .topo = damage_tangle(seed), .random = seed, .seed = seed };
		struct route *route = route_new();

		w.lids = lid_plan(w.topo, NULL, 0);
		assert_int_equal(route_compute(route, w.topo, w.lids, NULL, &w.tables), 0);
		judge_mixtures(&w, &tally);
		tables_fini(&w.tables);
		tables_fini(&w.corrupted);
		route_free(route);
		lid_map_free(w.lids);
		topo_unref(w.topo);
	}
	print_message("%u writes: loops after %u, cycles alone after %u\n", tally.judged,
		      tally.loops, tally.cycles);
	assert_true(tally.loops > 50 && tally.cycles > 20 && tally.judged > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_of_trees_are_judged_as_plainly_seen),
		cmocka_unit_test(tables_of_tangles_are_judged_as_plainly_seen),
		cmocka_unit_test(a_mixture_is_judged_as_its_tables_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
