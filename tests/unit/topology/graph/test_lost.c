/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who loses what when links go down, as whatif and plan say it first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "topology/graph/cutoff.h"

#define MOST 8 /* names that fail together */

/* Takes down all cables of each node, in a snapshot of its own. */
static struct topo *without(const struct topo *t, const char *const *names)
{
	struct topo *left = topo_ref(t);

	for (unsigned i = 0; i < MOST && names[i]; i++) {
		struct topo *older = left;

		left = damage_cut(older, find_desc(t, names[i]), 0);
		topo_unref(older);
	}
	return left;
}

/* Takes both snapshots. */
static void assert_loses(struct topo *before, struct topo *after, const char *text, unsigned hcas,
			 unsigned cut_off, unsigned degraded)
{
	json_t *lost = lost_json(before, after, TOPO_NONE);

	assert_string_equal(json_string_value(json_object_get(lost, "text")), text);
	assert_int_equal(json_array_size(json_object_get(lost, "hcas")), hcas);
	assert_int_equal(json_array_size(json_object_get(lost, "hosts_cut_off")), cut_off);
	assert_int_equal(json_array_size(json_object_get(lost, "hosts_degraded")), degraded);
	assert_int_equal(lost_any(lost), hcas + cut_off + degraded > 0);
	json_decref(lost);
	topo_unref(before);
	topo_unref(after);
}

#define WITHOUT(t, ...) without(t, (const char *const[MOST]){ __VA_ARGS__ })

static void a_dead_leaf_takes_one_hca_of_each_of_its_hosts(void **state)
{
	struct topo *t = pod(1);

	assert_loses(t, WITHOUT(t, "leaf-su01-rail2"),
		     "32 HCAs lost: 32 hosts keep 7 of 8 HCAs (dgx-su01-[01-32])", 32, 0, 32);
}

static void hcas_and_hosts_are_named_in_natural_order(void **state)
{
	struct topo *t = pod(1), *left = WITHOUT(t, "leaf-su01-rail2");
	json_t *lost = lost_json(t, left, TOPO_NONE), *hcas = json_object_get(lost, "hcas");

	assert_string_equal(json_string_value(json_array_get(hcas, 0)), "dgx-su01-01 mlx5_4");
	assert_string_equal(json_string_value(json_array_get(hcas, 31)), "dgx-su01-32 mlx5_4");
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(lost, "hosts_degraded"), 8)),
		"dgx-su01-09");
	json_decref(lost);
	topo_unref(t);
	topo_unref(left);
}

static void a_dead_spine_takes_nothing(void **state)
{
	struct topo *t = pod(2);

	assert_loses(t, WITHOUT(t, "spine-01", "spine-02"),
		     "no HCA lost; 16 switches keep 6 of 8 spines "
		     "(leaf-su01-rail[0-7],leaf-su02-rail[0-7])",
		     0, 0, 0);
}

static void what_fails_together_is_told_by_what_hosts_keep(void **state)
{
	struct topo *t = pod(1);

	assert_loses(t, WITHOUT(t, "leaf-su01-rail2", "leaf-su01-rail3", "dgx-su01-09 mlx5_0"),
		     "65 HCAs lost: 1 host keeps 5 of 8 HCAs (dgx-su01-09), "
		     "31 hosts keep 6 of 8 HCAs (dgx-su01-[01-08,10-32])",
		     65, 0, 32);
}

static void a_host_without_its_hcas_is_cut_off(void **state)
{
	struct topo *t = pod(1), *left = topo_ref(t);

	for (unsigned rail = 0; rail < 8; rail++) {
		struct topo *older = left;
		char leaf[32];

		snprintf(leaf, sizeof(leaf), "leaf-su01-rail%u", rail);
		left = damage_cut(older, find_desc(t, leaf), 7);
		topo_unref(older);
	}
	assert_loses(t, left, "8 HCAs lost: 1 host cut off (dgx-su01-07)", 8, 1, 0);
}

static void without_spines_each_leaf_is_alone(void **state)
{
	struct topo *t = pod(1);

	assert_loses(t, WITHOUT(t, "spine-01", "spine-02", "spine-03", "spine-04"),
		     "224 HCAs lost: 32 hosts keep 1 of 8 HCAs (dgx-su01-[01-32])", 224, 0, 32);
}

static void all_leaves_take_all_hosts(void **state)
{
	struct topo *t = irregular_fabric(3);

	assert_loses(t, WITHOUT(t, "new", "old"),
		     "8 HCAs lost: 8 hosts cut off (dcs-[1-4],dmz-[1-4])", 8, 8, 0);
}

/* Two switches with a cable between them and four hosts each, "dcs" and "dmz". */
static struct topo *pair_without(unsigned switch_port, const struct topo *t)
{
	return damage_cut(t, find_desc(t, "old"), switch_port);
}

static void of_two_parts_that_with_more_hcas_stays(void **state)
{
	struct topo *whole = irregular_fabric(3), *t = WITHOUT(whole, "dmz-3 HCA-1");

	assert_loses(t, pair_without(1, t), "3 HCAs lost: 3 hosts cut off (dmz-[1-2,4])", 3, 3, 0);
	t = WITHOUT(whole, "dcs-3 HCA-1");
	assert_loses(t, pair_without(1, t), "3 HCAs lost: 3 hosts cut off (dcs-[1-2,4])", 3, 3, 0);
	topo_unref(whole);
}

/* Those that were cut off already are lost to nobody, and decide nothing. */
static void what_was_cut_off_before_counts_no_more(void **state)
{
	struct topo *whole = irregular_fabric(3), *t = pair_without(1, whole);

	topo_unref(whole);
	whole = topo_ref(t);
	assert_loses(t, WITHOUT(t, "dcs-1 HCA-1", "dcs-2 HCA-1"),
		     "2 HCAs lost: 2 hosts cut off (dcs-[1-2])", 2, 2, 0);
	assert_loses(topo_ref(whole), WITHOUT(whole, "dmz-1 HCA-1"), "nothing: no HCA is lost", 0,
		     0, 0);
	topo_unref(whole);
}

static void an_hca_with_a_second_link_stays_and_its_host_is_degraded(void **state)
{
	struct topo *t =
		parse_netfile("Switch 4 \"a\" # \"a\"\n[1] \"h\"[1]\n[2] \"i\"[1]\n[3] \"b\"[3]\n"
			      "Switch 4 \"b\" # \"b\"\n[1] \"h\"[2]\n[2] \"j\"[1]\n[4] \"k\"[1]\n"
			      "Ca 2 \"h\" # \"n1 HCA-1\"\nCa 1 \"i\" # \"n2 HCA-1\"\n"
			      "Ca 1 \"j\" # \"n3 HCA-1\"\nCa 1 \"k\" # \"n4 HCA-1\"\n");

	assert_loses(topo_ref(t), damage_cut(t, find_desc(t, "a"), 1),
		     "no HCA lost: 1 host keeps all HCAs, with fewer links (n1)", 0, 0, 1);
	assert_loses(
		t, WITHOUT(t, "a"),
		"1 HCA lost: 1 host cut off (n2), 1 host keeps all HCAs, with fewer links (n1)", 1,
		1, 1);
}

static void two_hosts_with_a_cable_between_them_lose_each_other(void **state)
{
	struct topo *t = parse_netfile("Ca 1 \"h\" # \"n1 HCA-1\"\n[1] \"i\"[1]\n"
				       "Ca 1 \"i\" # \"n2 HCA-1\"\n");

	assert_loses(t, damage_cut(t, 0, 1), "2 HCAs lost: 2 hosts cut off (n[1-2])", 2, 2, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dead_leaf_takes_one_hca_of_each_of_its_hosts),
		cmocka_unit_test(hcas_and_hosts_are_named_in_natural_order),
		cmocka_unit_test(a_dead_spine_takes_nothing),
		cmocka_unit_test(what_fails_together_is_told_by_what_hosts_keep),
		cmocka_unit_test(a_host_without_its_hcas_is_cut_off),
		cmocka_unit_test(without_spines_each_leaf_is_alone),
		cmocka_unit_test(all_leaves_take_all_hosts),
		cmocka_unit_test(of_two_parts_that_with_more_hcas_stays),
		cmocka_unit_test(what_was_cut_off_before_counts_no_more),
		cmocka_unit_test(an_hca_with_a_second_link_stays_and_its_host_is_degraded),
		cmocka_unit_test(two_hosts_with_a_cable_between_them_lose_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
