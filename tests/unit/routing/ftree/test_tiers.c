/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain, sanitized in check-long. Thousands of designs are judged. */
/*
 * Which fabrics are trees to the engine: whatever is dead, was never cabled or never populated, a
 * tree is one, and a torus is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/ftree/tiers.h"
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

static struct topo *made(const char *words)
{
	char err[256] = "", copy[128], *argv[16], *save;
	int argc = 0;
	struct topo *t;

	snprintf(copy, sizeof(copy), "%s", words);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	t = generate_parse(argc, argv, err, sizeof(err));
	if (!t)
		fail_msg("%s: %s", words, err);
	return t;
}

static void assert_verdict(const struct topo *t, bool tree, const char *name, unsigned percent,
			   uint64_t seed)
{
	struct tiers tiers;

	if (tiers_are_tree(t, &tiers, NULL) != tree)
		fail_msg(
			"%s, %u%%, seed %llu: %s, %u of %u cables on one level, %llu of %llu pairs "
			"open",
			name, percent, (unsigned long long)seed, tree ? "no tree" : "a tree",
			tiers.level_links, tiers.links, (unsigned long long)tiers.open_pairs,
			(unsigned long long)tiers.pairs);
}

/* What is down was never known. */
static struct topo *forget_dead(const struct topo *t)
{
	char *text = NULL, err[256] = "";
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct topo *forgot;

	assert_int_equal(netfile_write(t, out), 0);
	fclose(out);
	forgot = netfile_parse("file", text, size, err, sizeof(err));
	if (!forgot)
		fail_msg("%s", err);
	free(text);
	return forgot;
}

/*
 * Some switches above the leaves are not there, as the cards of a director that were never bought.
 */
static struct topo *unpopulate(const struct topo *t, unsigned percent, uint64_t seed)
{
	struct topo *now = topo_alike(t), *less;

	for (uint32_t i = 0; i < t->nswitch_ports; i++) {
		uint64_t dice = seed * 1000003 + t->ports[i].node;
		uint32_t sw = t->ports[i].node;

		if (t->nodes[sw].level && t->ends[i].to < t->nswitches &&
		    damage_random(&dice) % 100 < percent)
			topo_alike_cut(now, i);
	}
	less = forget_dead(now);
	topo_unref(now);
	return less;
}

static void judge_damaged(const struct topo *t, bool tree, const char *name)
{
	static const unsigned percents[] = { 1, 5, 10, 20 };

	assert_verdict(t, tree, name, 0, 0);
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++)
		for (uint64_t seed = 1; seed <= 4; seed++) {
			struct topo *dead = damage_links(t, percents[i], seed);
			struct topo *gone = damage_remove(t, percents[i], seed);
			struct topo *guids = damage_new_guids(gone, seed);
			struct topo *less = unpopulate(t, percents[i], seed);

			assert_verdict(dead, tree, name, percents[i], seed);
			assert_verdict(gone, tree, name, percents[i], seed);
			assert_verdict(guids, tree, name, percents[i], seed);
			if (tree)
				assert_verdict(less, tree, name, percents[i], seed);
			topo_unref(dead);
			topo_unref(gone);
			topo_unref(guids);
			topo_unref(less);
		}
}

static void trees_are_trees_whatever_is_missing(void **state)
{
	static const char *const trees[] = {
		"superpod --su 1 --system h100",
		"superpod --su 4 --system h100",
		"superpod --su 4 --system a100",
		"superpod --su 2 --system b200",
		"superpod --su 4 --system h100 --no-sharp",
		"pgft 2 8,8 1,4",
		"pgft 2 4,3 1,2",
		"pgft 2 12,6 1,3 1,4",
		"pgft 3 4,4,4 1,4,4",
		"pgft 3 6,3,4 1,3,2 1,2,1",
		"pgft 3 18,18,3 1,18,3",
		"pgft 4 3,3,3,3 1,3,3,3",
		"pgft 4 2,4,2,3 1,2,4,2",
		"pgft 5 2,2,2,2,2 1,2,2,2,2",
	};

	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		struct topo *t = made(trees[i]);

		judge_damaged(t, true, trees[i]);
		topo_unref(t);
	}
}

static void trees_as_they_are_found_are_trees(void **state)
{
	for (size_t i = 0; i < IRREGULARS; i++) {
		struct topo *t = irregular_fabric(i);

		if (!t)
			continue;
		judge_damaged(t, true, irregulars[i].name);
		topo_unref(t);
	}
}

static void random_trees_are_trees(void **state)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct topo *t = damage_random_pgft(seed),
			    *gone = damage_remove(t, seed % 40, seed);

		assert_verdict(t, true, "random tree", 0, seed);
		assert_verdict(gone, true, "random tree", seed % 40, seed);
		topo_unref(t);
		topo_unref(gone);
	}
}

static void what_is_no_tree_is_none_whatever_is_missing(void **state)
{
	static const char *const others[] = {
		"torus 4,4",
		"torus 8,8",
		"torus 3,4,5",
		"ring 8",
		"ring 12",
		"hypercube 4",
		"hypercube 6",
		"hyperx 6,6",
		"hyperx 4,4,4",
		"dragonfly+ 9,4,4,2",
		"dragonfly+ 5,2,2,2",
		"jellyfish 30,4",
		"jellyfish 60,6",
		"torus 4,4 --cables 3",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct topo *t = made(others[i]);

		if (strncmp(others[i], "ring", 4)) /* without one of its cables it is a chain */
			judge_damaged(t, false, others[i]);
		else
			assert_verdict(t, false, others[i], 0, 0);
		topo_unref(t);
	}
}

/* Each spine joins two leaves of a ring: no cable is within a tier, nearly all pairs are open. */
static void a_ring_of_leaves_over_spines_is_no_tree(void **state)
{
	const unsigned n = 24;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	for (unsigned i = 0; i < n; i++) {
		fprintf(out, "Switch 3 \"S-%u\" # \"leaf\"\n[1] \"H-%u\"[1]\n", i + 1, i + 1);
		fprintf(out, "[2] \"S-%u\"[1]\n[3] \"S-%u\"[2]\n", n + i + 1, n + (i + 1) % n + 1);
		fprintf(out, "Switch 2 \"S-%u\" # \"spine\"\n[1] \"S-%u\"[2]\n", n + i + 1, i + 1);
		fprintf(out, "[2] \"S-%u\"[3]\nCa 1 \"H-%u\" # \"host\"\n[1] \"S-%u\"[1]\n",
			(i + n - 1) % n + 1, i + 1, i + 1);
	}
	fclose(out);

	struct topo *t = parse_netfile(text);

	assert_verdict(t, false, "leaves over spines", 0, 0);
	topo_unref(t);
	free(text);
}

/*
 * Leaves side by side, all joined to all, or in a chain: nothing is to be chosen that tiers would
 * corrupt.
 */
static void a_single_path_is_as_good_as_a_tree(void **state)
{
	static const char *const plain[] = { "hyperx 2", "hyperx 8", "ring 3", "hypercube 1" };
	struct topo *ring = made("ring 8"), *cut = NULL, *chain;

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		struct topo *t = made(plain[i]);

		assert_verdict(t, true, plain[i], 0, 0);
		topo_unref(t);
	}
	for (uint32_t i = 0; !cut; i++)
		if (ring->ends[i].to < ring->nswitches)
			cut = damage_cut(ring, ring->ports[i].node, ring->ports[i].num);
	chain = forget_dead(cut);
	assert_verdict(cut, false, "ring with a dead cable", 0, 0);
	assert_verdict(chain, true, "chain", 0, 0);
	topo_unref(ring);
	topo_unref(cut);
	topo_unref(chain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_are_trees_whatever_is_missing),
		cmocka_unit_test(trees_as_they_are_found_are_trees),
		cmocka_unit_test(random_trees_are_trees),
		cmocka_unit_test(what_is_no_tree_is_none_whatever_is_missing),
		cmocka_unit_test(a_ring_of_leaves_over_spines_is_no_tree),
		cmocka_unit_test(a_single_path_is_as_good_as_a_tree),
	};

	return cmocka_run_group_tests_name("tiers", tests, NULL, NULL);
}
