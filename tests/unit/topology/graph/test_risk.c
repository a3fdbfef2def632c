/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who has how many of its ways up, as people read it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "topology/generate/generate.h"
#include "topology/graph/risk.h"

/* Cuts `count` of the cables between two switches; takes the snapshot. */
static struct topo *cut(struct topo *t, const char *from, const char *to, unsigned count)
{
	uint32_t a = find_desc(t, from), b = find_desc(t, to);

	for (unsigned num = 1; num <= t->nodes[a].nports && count; num++) {
		const struct topo_port *port = topo_port(t, a, num);
		const struct topo_port *peer = topo_peer(t, port);
		struct topo *older = t;

		if (!peer || peer->node != b || !port->link_up)
			continue;
		t = damage_cut(older, a, num);
		topo_unref(older);
		count--;
	}
	assert_int_equal(count, 0);
	return t;
}

static void assert_says(struct topo *t, const char *expected)
{
	struct risk risk;
	char text[256];

	assert_true(risk_find(t, &risk));
	risk_describe(t, &risk, text, sizeof(text));
	assert_string_equal(text, expected);
	topo_unref(t);
}

static void a_whole_fabric_has_nothing_at_risk(void **state)
{
	struct topo *t = pod(1);
	struct risk risk;
	json_t *doc = risk_json(t);

	assert_false(risk_find(t, &risk));
	assert_true(json_is_null(doc));
	json_decref(doc);
	topo_unref(t);
}

static void a_lost_link_of_several_is_counted_in_links(void **state)
{
	assert_says(cut(pod(1), "leaf-su01-rail3", "spine-02", 1),
		    "leaf-su01-rail3 has 31 of 32 links to its spines");
}

static void a_spine_out_of_reach_is_counted_in_spines_and_comes_first(void **state)
{
	struct topo *t = cut(pod(1), "leaf-su01-rail0", "spine-01", 1);

	assert_says(cut(t, "leaf-su01-rail3", "spine-02", 8),
		    "leaf-su01-rail3 has 3 of 4 spines, 1 more switch lacks some");
}

static void a_dead_spine_counts_at_every_leaf_and_not_itself(void **state)
{
	struct topo *t = pod(1), *dead = damage_cut(t, find_desc(t, "spine-04"), 0);
	json_t *doc = risk_json(dead);

	assert_int_equal(json_integer_value(json_object_get(doc, "has")), 3);
	assert_int_equal(json_integer_value(json_object_get(doc, "of")), 4);
	assert_int_equal(json_integer_value(json_object_get(doc, "switches")), 8);
	json_decref(doc);
	topo_unref(t);
	assert_says(dead, "leaf-su01-rail0 has 3 of 4 spines, 7 more switches lack some");
}

/*
 * Half of the cables of a leaf with 32 hosts matter more than all but one parent of a leaf with
 * none.
 */
static void harm_to_hosts_counts_more_than_shares(void **state)
{
	struct topo *t = pod(1);
	uint32_t leaf = find_desc(t, "leaf-su01-rail0");

	for (unsigned num = 1; num <= t->nodes[leaf].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, leaf, num));
		struct topo *older = t;

		if (!peer || peer->node < t->nswitches)
			continue;
		t = damage_cut(older, leaf, num); /* its hosts are off */
		topo_unref(older);
	}
	t = cut(t, "leaf-su01-rail0", "spine-01", 8);
	t = cut(t, "leaf-su01-rail0", "spine-02", 8);
	assert_says(cut(t, "leaf-su01-rail5", "spine-03", 4),
		    "leaf-su01-rail5 has 28 of 32 links to its spines, 1 more switch lacks some");
}

static void who_hangs_by_one_parent_comes_first(void **state)
{
	static const char *const spines[] = { "spine-01", "spine-02", "spine-03" };
	struct topo *t = pod(1);

	for (unsigned i = 0; i < 3; i++)
		t = cut(t, "leaf-su01-rail6", spines[i], 8);
	for (unsigned i = 0; i < 3; i++) /* more hosts lose more of their share here.. */
		t = cut(t, "leaf-su01-rail2", spines[i], 7);
	assert_says(cut(t, "leaf-su01-rail2", "spine-04", 7), /* ..but none by one fault more */
		    "leaf-su01-rail6 has 1 of 4 spines, 1 more switch lacks some");
}

static void a_leaf_cut_off_with_its_hosts_is_the_worst(void **state)
{
	struct topo *t = cut(pod(1), "leaf-su01-rail5", "spine-01", 8);

	t = cut(t, "leaf-su01-rail5", "spine-02", 8);
	t = cut(t, "leaf-su01-rail5", "spine-03", 8);
	assert_says(cut(t, "leaf-su01-rail5", "spine-04", 8), "leaf-su01-rail5 has 0 of 4 spines");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_fabric_has_nothing_at_risk),
		cmocka_unit_test(a_lost_link_of_several_is_counted_in_links),
		cmocka_unit_test(a_spine_out_of_reach_is_counted_in_spines_and_comes_first),
		cmocka_unit_test(a_dead_spine_counts_at_every_leaf_and_not_itself),
		cmocka_unit_test(harm_to_hosts_counts_more_than_shares),
		cmocka_unit_test(who_hangs_by_one_parent_comes_first),
		cmocka_unit_test(a_leaf_cut_off_with_its_hosts_is_the_worst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
