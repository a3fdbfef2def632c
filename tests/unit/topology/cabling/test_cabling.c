/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Cables in the wrong place: rails without a plan, everything against one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "topology/cabling/cabling.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

struct cable {
	const char *a, *b;
	unsigned a_port, b_port;
};

/*
 * The same nodes without the cables at the ports of `without`, and with those of `with`; those
 * whose names begin with `rename` are called `to`.
 */
static struct topo *rewire_as(const struct topo *t, const struct cable *without,
			      const struct cable *with, const char *rename, const char *to)
{
	struct topo_builder *b = topo_builder_new();

	for (uint32_t n = 0; n < t->nnodes; n++) {
		const struct topo_node *node = &t->nodes[n];
		struct topo_node attr = { .guid = node->guid + 0x1000000,
					  .desc = node->desc,
					  .type = node->type,
					  .nports = node->nports,
					  .sharp = node->sharp };

		if (rename && !strncmp(node->desc, rename, strlen(rename)))
			attr.desc = to;
		assert_true(topo_builder_node(b, &attr) == (int)n);
	}
	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *port = &t->ports[p], *peer = topo_peer(t, port);
		bool cut = false;

		for (const struct cable *c = without; c && c->a; c++)
			cut |= find_desc(t, c->a) == port->node && c->a_port == port->num;
		for (const struct cable *c = without; peer && c && c->a; c++)
			cut |= find_desc(t, c->a) == peer->node && c->a_port == peer->num;
		if (peer && port->peer > p && !cut)
			topo_builder_link(b, (int)port->node, port->num, (int)peer->node, peer->num,
					  port->link_up);
	}
	for (; with && with->a; with++)
		assert_int_equal(topo_builder_link(b, (int)find_desc(t, with->a), with->a_port,
						   (int)find_desc(t, with->b), with->b_port, true),
				 0);
	return topo_freeze(b);
}

static struct topo *rewire(const struct topo *t, const struct cable *without,
			   const struct cable *with, const char *rename)
{
	return rewire_as(t, without, with, rename, "renamed");
}

/* The findings' lines, as one text; frees. */
static void assert_finds(struct cabling *c, const char *expected)
{
	char *text = mem_strdup(""), line[512];

	for (uint32_t i = 0; i < c->count; i++) {
		char *longer;

		cabling_describe(&c->items[i], line, sizeof(line));
		longer = mem_printf("%s%s\n", text, line);
		free(text);
		text = longer;
	}
	assert_string_equal(text, expected);
	free(text);
	cabling_free(c);
}

#define LEAF0 "leaf-su01-rail0"
#define LEAF1 "leaf-su01-rail1"
#define HCA0  "dgx-su01-05 mlx5_0"
#define HCA1  "dgx-su01-05 mlx5_3"

/* Node 5's cables to the leaves of rails 0 and 1, swapped. */
static const struct cable swapped_out[] = { { .a = LEAF0, .a_port = 5 },
					    { .a = LEAF1, .a_port = 5 },
					    { 0 } };
static const struct cable swapped_in[] = { { LEAF0, HCA1, 5, 1 }, { LEAF1, HCA0, 5, 1 }, { 0 } };

static void a_fabric_as_it_should_be_has_no_findings(void **state)
{
	struct topo *t = pod(1), *same = rewire(t, NULL, NULL, NULL);
	struct cabling *c = cabling_compare(t, same);

	assert_int_equal(c->compared, 512);
	assert_int_equal(c->not_unique, 0);
	assert_finds(c, "");
	c = cabling_rails(t);
	assert_int_equal(c->compared, 256);
	assert_finds(c, "");
	topo_unref(t);
	topo_unref(same);
}

static void swapped_rails_are_found_without_a_plan(void **state)
{
	struct topo *t = pod(1), *swapped = rewire(t, swapped_out, swapped_in, NULL);

	assert_finds(cabling_pattern(swapped),
		     "swap at " LEAF0 " port 5 and " LEAF1 " port 5 (" HCA1 ", " HCA0 ")\n");
	assert_finds(cabling_rails(swapped), "wrong rail at " LEAF1 " port 5: has " HCA0
					     " of rail 0, expected an HCA of its own rail\n"
					     "wrong rail at " LEAF0 " port 5: has " HCA1
					     " of rail 1, expected an HCA of its own rail\n");
	topo_unref(t);
	topo_unref(swapped);
}

static void swapped_cables_are_one_line_against_the_plan(void **state)
{
	struct topo *t = pod(1), *swapped = rewire(t, swapped_out, swapped_in, NULL);

	assert_finds(cabling_compare(t, swapped),
		     "swap at " LEAF0 " port 5 and " LEAF1 " port 5 (" HCA1 ", " HCA0 ")\n");
	topo_unref(t);
	topo_unref(swapped);
}

/* As a technician reads it, with and without a plan. */
static void two_hosts_exchanged_on_a_leaf_are_one_line(void **state)
{
	static const struct cable out[] = { { .a = LEAF0, .a_port = 17 },
					    { .a = LEAF0, .a_port = 18 },
					    { 0 } };
	static const struct cable in[] = { { LEAF0, "dgx-su01-18 mlx5_0", 17, 1 },
					   { LEAF0, "dgx-su01-17 mlx5_0", 18, 1 },
					   { 0 } };
	static const char line[] = "swap at leaf-su01-rail0: ports 17 and 18 (dgx-su01-18 mlx5_0, "
				   "dgx-su01-17 mlx5_0)\n";
	struct topo *t = pod(1), *swapped = rewire(t, out, in, NULL);

	assert_finds(cabling_pattern(swapped), line);
	assert_finds(cabling_compare(t, swapped), line);
	topo_unref(t);
	topo_unref(swapped);
}

static void an_hca_in_an_uplinks_port_is_reported_with_what_to_do(void **state)
{
	static const struct cable out[] = { { .a = LEAF0, .a_port = 5 },
					    { .a = LEAF0, .a_port = 40 },
					    { 0 } };
	static const struct cable in[] = { { LEAF0, HCA0, 40, 1 }, { 0 } };
	struct topo *t = pod(1), *moved = rewire(t, out, in, NULL);
	struct cabling *c = cabling_pattern(moved);
	char text[512];

	assert_int_equal(c->count, 1);
	cabling_instruct(&c->items[0], text, sizeof(text));
	assert_string_equal(text, HCA0 " belongs on " LEAF0 " port 5; then connect " LEAF0
				       " port 40 to spine-01 port 8");
	assert_finds(c, "HCA in a port for switches at " LEAF0 " port 40: has " HCA0
			", expected spine-01 port 8\n");
	topo_unref(t);
	topo_unref(moved);
}

static void missing_down_and_extra_cables_are_told_apart(void **state)
{
	static const struct cable out[] = { { .a = LEAF0, .a_port = 5 }, { 0 } };
	static const struct cable spare[] = { { .a = LEAF0, .a_port = 64 }, { 0 } };
	struct topo *t = pod(1), *plan = rewire(t, spare, NULL, NULL),
		    *cut = rewire(t, out, NULL, NULL);
	struct topo *down = damage_cut(cut, find_desc(cut, LEAF1), 7);

	assert_finds(cabling_compare(t, down),
		     "missing cable at " LEAF0 " port 5: has nothing, expected " HCA0
		     "\ndown at " LEAF1 " port 7: the cable to dgx-su01-07 mlx5_3 is as planned, "
		     "and down\n");
	assert_finds(cabling_compare(plan, t),
		     "cable too many at " LEAF0 " port 64: has spine-04 port 8, which does not "
		     "belong there\n");
	topo_unref(t);
	topo_unref(plan);
	topo_unref(cut);
	topo_unref(down);
}

static void a_node_that_came_or_went_is_one_line(void **state)
{
	struct topo *t = pod(1), *other = rewire(t, NULL, NULL, "spine-02");

	assert_finds(cabling_compare(t, other), "spine-02: missing\nrenamed: not planned\n");
	topo_unref(t);
	topo_unref(other);
}

static void nodes_without_a_name_of_their_own_are_left_out(void **state)
{
	struct topo *t = pod(1), *once = rewire(t, NULL, NULL, HCA0),
		    *twice = rewire(once, NULL, NULL, HCA1);
	struct cabling *c = cabling_compare(twice, twice);

	assert_int_equal(c->not_unique, 4); /* two a side */
	assert_int_equal(c->compared, 510);
	assert_finds(c, "");
	topo_unref(t);
	topo_unref(once);
	topo_unref(twice);
}

/* .. as hosts are that were not booted: who is in the right port may well be the one expected. */
static void a_nameless_hca_is_taken_for_the_one_expected(void **state)
{
	static const char factory[] = "MT4129 ConnectX7   Mellanox Technologies";
	static const char *const renamed[] = { HCA0, "dgx-su01-05 ", "dgx-su01-0" };
	struct topo *t = pod(1), *swapped = rewire_as(t, swapped_out, swapped_in, HCA0, factory);

	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++) {
		struct topo *nameless = rewire_as(t, NULL, NULL, renamed[i], factory);

		assert_finds(cabling_pattern(nameless), "");
		topo_unref(nameless);
	}
	assert_finds(cabling_pattern(swapped),
		     "wrong rail at " LEAF0 " port 5: has " HCA1 " of rail 1, expected " HCA0 "\n"
		     "wrong port at " LEAF1 " port 5: has MT4129 ConnectX7   Mellanox Technologies "
		     "..002100, expected " HCA1 "\n");
	topo_unref(swapped);
	topo_unref(t);
}

/* An HCA that has another's name is one finding, which does not send anybody to the other one. */
static void an_hca_of_another_name_in_the_right_place_may_be_misnamed(void **state)
{
	static const char *const names[][2] = { { "dgx-su01-09 mlx5_0", "..002100" },
						{ "dgx-su01-05 mlx5_4", "..002200" } };
	static const char *const renamed[] = { HCA0, HCA1 };
	static const char *const leaf[] = { LEAF0, LEAF1 };
	struct topo *t = pod(1);
	char text[512];

	for (size_t i = 0; i < 2; i++) {
		struct topo *misnamed = rewire_as(t, NULL, NULL, renamed[i], names[i][0]);
		struct cabling *c = cabling_pattern(misnamed);

		assert_int_equal(c->count, 1);
		cabling_instruct(&c->items[0], text, sizeof(text));
		assert_non_null(strstr(text, "if this is it, correct its node description"));
		assert_non_null(strstr(text, renamed[i]));
		snprintf(text, sizeof(text), "wrong port at %s port 5: has %s %s, expected %s\n",
			 leaf[i], names[i][0], names[i][1], renamed[i]);
		assert_finds(c, text);
		topo_unref(misnamed);
	}
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fabric_as_it_should_be_has_no_findings),
		cmocka_unit_test(swapped_rails_are_found_without_a_plan),
		cmocka_unit_test(swapped_cables_are_one_line_against_the_plan),
		cmocka_unit_test(two_hosts_exchanged_on_a_leaf_are_one_line),
		cmocka_unit_test(an_hca_in_an_uplinks_port_is_reported_with_what_to_do),
		cmocka_unit_test(missing_down_and_extra_cables_are_told_apart),
		cmocka_unit_test(a_node_that_came_or_went_is_one_line),
		cmocka_unit_test(nodes_without_a_name_of_their_own_are_left_out),
		cmocka_unit_test(a_nameless_hca_is_taken_for_the_one_expected),
		cmocka_unit_test(an_hca_of_another_name_in_the_right_place_may_be_misnamed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
