/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What may be isolated: a quarter of a tier, and no leaf's last uplink. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/links_out/rules.h"
#include "tests/lib/fabrics.h"
#include "topology/snapshot/topo_builder.h"

/* 8 leaves with a cable to each of 8 spines. */
static struct topo *eight_by_eight(void)
{
	static const unsigned m[] = { 2, 8 }, w[] = { 1, 8 }, p[] = { 1, 1 };
	char err[256];

	return generate_pgft(2, m, w, p, err, sizeof(err));
}

static uint32_t of_level(const struct topo *t, unsigned level, unsigned nth)
{
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (t->nodes[sw].level == level && !nth--)
			return sw;
	fail();
	return 0;
}

static struct out row(const struct topo *t, uint32_t node, unsigned port)
{
	return (struct out){ .node = t->nodes[node].guid,
			     .port = (uint8_t)port,
			     .state = OUT_LISTED };
}

/* Returns how many may not be isolated. */
static uint32_t judge(const struct topo *t, struct out *asks, unsigned count)
{
	struct out *rows[17];

	for (unsigned i = 0; i < count; i++)
		rows[i] = &asks[i];
	return isolate_judge(t, rows, count);
}

static bool is_allowed(const struct out *ask)
{
	return ask->state != OUT_WAIVED;
}

static void a_quarter_of_the_spines_may_be_isolated(void **state)
{
	struct topo *t = eight_by_eight();
	struct out asks[] = { row(t, of_level(t, 1, 0), 0), row(t, of_level(t, 1, 5), 0) };

	assert_int_equal(judge(t, asks, 2), 0);
	assert_true(is_allowed(&asks[0]) && is_allowed(&asks[1]));
	topo_unref(t);
}

static void of_more_none_is(void **state)
{
	struct topo *t = eight_by_eight();
	struct out asks[3];

	for (unsigned i = 0; i < 3; i++)
		asks[i] = row(t, of_level(t, 1, i), 0);
	assert_int_equal(judge(t, asks, 3), 3);
	topo_unref(t);
}

static void what_is_in_force_stays_and_counts(void **state)
{
	struct topo *t = eight_by_eight();
	struct out asks[3];

	for (unsigned i = 0; i < 3; i++) {
		asks[i] = row(t, of_level(t, 1, i), 0);
		asks[i].state = i < 2 ? OUT_IN_FORCE : OUT_LISTED;
	}
	assert_int_equal(judge(t, asks, 3), 1);
	assert_true(is_allowed(&asks[0]) && is_allowed(&asks[1]) && !is_allowed(&asks[2]));
	topo_unref(t);
}

static void a_cable_counts_once_by_either_end(void **state)
{
	struct topo *t = eight_by_eight();
	uint32_t leaf = of_level(t, 0, 0);
	struct out asks[17];
	unsigned count = 0;

	/* 16 of 64 cables, two of each leaf, and one of them by its other end too */
	for (unsigned i = 0; i < 8; i++)
		for (unsigned up = 0; up < 2; up++)
			asks[count++] =
				row(t, of_level(t, 0, i), uplink_of(t, of_level(t, 0, i)) + up);
	const struct topo_port *peer = topo_peer(t, topo_port(t, leaf, uplink_of(t, leaf)));

	asks[count++] = row(t, peer->node, peer->num);
	assert_int_equal(judge(t, asks, count), 0);
	asks[16] = row(t, leaf, uplink_of(t, leaf) + 2);
	assert_int_equal(judge(t, asks, count), 17);
	topo_unref(t);
}

/* All but one of a leaf's uplinks are down. */
static void a_leafs_last_uplink_is_not_taken(void **state)
{
	struct topo *t = eight_by_eight(), *damaged = topo_alike(t);
	uint32_t leaf = of_level(t, 0, 3);
	unsigned first = uplink_of(t, leaf);
	struct out asks[2] = { row(t, leaf, first + 7), row(t, of_level(t, 0, 4), first) };

	for (unsigned i = 0; i < 7; i++)
		topo_alike_cut(damaged, t->nodes[leaf].port0 + first + i);
	assert_int_equal(judge(damaged, asks, 2), 1);
	assert_true(!is_allowed(&asks[0]) && is_allowed(&asks[1]));
	/* The spine behind it, as a whole. */
	asks[0] = row(t, topo_peer(t, topo_port(t, leaf, first + 7))->node, 0);
	assert_int_equal(judge(damaged, asks, 1), 1);
	topo_unref(damaged);
	topo_unref(t);
}

/* Spines that never took a Set: none of their links is in use. */
static void what_carries_nothing_is_isolated_whatever_its_share(void **state)
{
	struct topo *t = eight_by_eight(), *damaged = topo_alike(t);
	struct out asks[4];

	for (unsigned i = 0; i < 4; i++) {
		uint32_t spine = of_level(t, 1, i);

		asks[i] = row(t, spine, 0);
		for (unsigned num = 1; i < 3 && num <= t->nodes[spine].nports; num++)
			topo_alike_cut(damaged, t->nodes[spine].port0 + num);
	}
	assert_int_equal(judge(damaged, asks, 3), 0);
	assert_int_equal(judge(damaged, asks, 4), 0); /* an eighth of all is taken */
	assert_int_equal(judge(t, asks, 3), 3);
	topo_unref(damaged);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quarter_of_the_spines_may_be_isolated),
		cmocka_unit_test(of_more_none_is),
		cmocka_unit_test(what_is_in_force_stays_and_counts),
		cmocka_unit_test(a_cable_counts_once_by_either_end),
		cmocka_unit_test(a_leafs_last_uplink_is_not_taken),
		cmocka_unit_test(what_carries_nothing_is_isolated_whatever_its_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
