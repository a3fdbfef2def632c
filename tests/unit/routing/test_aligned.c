/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain, sanitized in check-long. Large fabrics are routed and measured. */
/*
 * Trees are known by their cabling: the same figures of congestion whatever GUIDs, port numbers and
 * names switches have, and in whatever order they are found, from two tiers to five.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/report/congestion.h"
#include "routing/ftree/route.h"
#include "tests/fabric/disguise.h"
#include "topology/generate/generate.h"

#define WORDS 7

static const struct shape {
	const char *words[WORDS];
	double shift, all_to_all; /* at most, of the fabric as it is generated */
} shapes[] = {
	{ { "pgft", "2", "6,8", "1,6" }, 1, 1.01 },
	{ { "pgft", "2", "8,6", "1,3", "1,2" }, 2, 1.51 },
	{ { "pgft", "3", "4,4,8", "1,4,4" }, 1, 1.1 },
	{ { "pgft", "3", "8,6,9", "1,4,3", "1,2,2" }, 2, 1.51 },
	{ { "pgft", "3", "16,6,4", "1,6,4" }, 3.6, 1.1 },
	{ { "pgft", "3", "8,4,4", "1,6,3" }, 2.4, 1.17 },
	{ { "pgft", "3", "8,4,3", "1,5,3" }, 2.3, 1.27 },
	{ { "pgft", "3", "12,8,4", "1,8,6" }, 2.48, 1.02 },
	{ { "mixed", "--size", "16,16", "--kinds", "1xNDR", "--trunks",
	    "1xNDR,1xHDR,1xNDR,1xHDR,1xNDR,1xHDR,1xNDR,1xHDR,1xNDR,1xHDR,1xNDR,1xHDR,1xNDR,1xHDR" },
	  2,
	  1.07 },
	{ { "mixed", "--size", "32,32", "--kinds", "1xNDR", "--trunks",
	    "4xNDR,4xHDR,4xNDR,4xHDR,4xNDR,4xHDR,4xNDR,4xHDR" },
	  2,
	  1.02 },
	{ { "pgft", "4", "4,4,4,4", "1,4,4,4" }, 1, 1.12 },
	{ { "pgft", "4", "6,4,3,5", "1,3,4,2", "1,2,1,1" }, 3, 1.7 },
	{ { "pgft", "4", "4,4,4,4", "1,4,2,2", "1,1,2,2" }, 2, 1.5 },
	{ { "pgft", "5", "3,3,3,3,3", "1,3,3,3,3" }, 1, 1.14 },
	{ { "pgft", "5", "2,3,2,3,2", "1,2,3,2,3" }, 1.5, 1.5 },
	{ { "superpod", "--su", "1" }, 1, 1.01 },
	{ { "superpod", "--su", "4" }, 1, 1.01 },
	{ { "superpod", "--su", "9" }, 1, 1.2 },
	{ { "superpod", "--su", "6", "--system", "a100" }, 1, 1.1 },
	{ { "superpod", "--su", "16", "--grown", "13" }, 1, 1.27 },
};

static struct topo *make(const struct shape *shape)
{
	char *words[WORDS], err[128];
	int n = 0;

	for (; n < WORDS && shape->words[n]; n++)
		words[n] = (char *)shape->words[n];
	return generate_parse(n, words, err, sizeof(err));
}

static struct congestion study(const struct topo *t)
{
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct tables tables = { 0 };
	struct route *route = route_new();
	struct congestion found;

	assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
	congestion_study(&(struct congestion_scene){ t, lids, &tables, NULL }, &found, NULL);
	route_free(route);
	tables_fini(&tables);
	lid_map_free(lids);
	return found;
}

static void assert_alike(const struct topo *t, const struct congestion *usual, unsigned what,
			 uint64_t seed)
{
	struct topo *other = disguise(t, what, seed);
	struct congestion found = study(other);

	assert_float_equal(found.shift_mean, usual->shift_mean, 1e-6);
	assert_int_equal(found.shift_max, usual->shift_max);
	assert_float_equal(found.rail_shift_mean, usual->rail_shift_mean, 1e-6);
	assert_int_equal(found.all_to_all_max, usual->all_to_all_max);
	topo_unref(other);
}

static void trees_are_balanced_alike_whatever_their_switches_are_called(void **state)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct topo *t = make(&shapes[i]);
		struct congestion usual = study(t);

		print_message("%s %s %s: shift %.2f, all-to-all %.2f\n", shapes[i].words[0],
			      shapes[i].words[1], shapes[i].words[2], usual.shift_mean,
			      usual.all_to_all_ratio);
		assert_true(usual.shift_mean < shapes[i].shift + 0.005);
		assert_true(usual.all_to_all_ratio < shapes[i].all_to_all);
		assert_alike(t, &usual, DISGUISE_GUIDS, 1);
		assert_alike(t, &usual, DISGUISE_PORTS, 2);
		assert_alike(t, &usual, DISGUISE_ALL, 3);
		assert_alike(t, &usual, DISGUISE_ALL, 4);
		topo_unref(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_are_balanced_alike_whatever_their_switches_are_called),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
