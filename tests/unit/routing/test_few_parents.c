/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A pod that lacks one of its middle switches: what goes there is dealt evenly over the cables to
 * the others, at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/report/congestion.h"
#include "routing/ftree/route.h"
#include "tests/fabric/disguise.h"
#include "tests/lib/fabrics.h"
#include "topology/generate/generate.h"

static void assert_shifts(struct topo *t, unsigned most)
{
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables tables = { 0 };
	struct congestion figures;

	assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
	congestion_study(&(struct congestion_scene){ t, lids, &tables, NULL }, &figures, NULL);
	if (figures.shift_max > most)
		fail_msg("%u flows on the worst link of a shift, %u could be", figures.shift_max,
			 most);
	tables_fini(&tables);
	route_free(route);
	lid_map_free(lids);
	topo_unref(t);
}

/*
 * Three stages: leaves whose cables are shared by the line cards of two directors. The leaves of
 * one pod have half of their cables.
 */
static struct topo *two_directors(unsigned lanes)
{
	const unsigned m[] = { 2 * lanes, 4, 4 }, w[] = { 1, 2, 4 }, p[] = { 1, lanes, lanes };
	char err[256];

	return generate_pgft(3, m, w, p, err, sizeof(err));
}

static void a_director_without_a_line_card_has_no_link_with_three_flows_in_a_shift(void **state)
{
	for (unsigned lanes = 1; lanes <= 6; lanes++) {
		struct topo *t = two_directors(lanes);
		struct topo *less = disguise_without(t, find_desc(t, "spine-0002"));

		assert_shifts(t, 1);
		assert_shifts(less, 2);
	}
}

/* Two of four: numbers that lost their own are every other pair. */
static void so_has_a_pod_without_half_of_its_spines(void **state)
{
	static const unsigned m[] = { 8, 3, 3 }, w[] = { 1, 4, 6 }, p[] = { 1, 2, 1 };
	char err[256];
	struct topo *t = generate_pgft(3, m, w, p, err, sizeof(err));
	struct topo *less = disguise_without(t, find_desc(t, "spine-0002"));
	struct topo *half = disguise_without(less, find_desc(less, "spine-0004"));

	assert_non_null(t);
	topo_unref(t);
	topo_unref(less);
	assert_shifts(half, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_director_without_a_line_card_has_no_link_with_three_flows_in_a_shift),
		cmocka_unit_test(so_has_a_pod_without_half_of_its_spines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
