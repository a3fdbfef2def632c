/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * generate: fabrics that are no trees have the switches, cables and hosts that their names promise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "topology/generate/generate.h"

static struct topo *shape(char *name, char *sizes, char *hosts)
{
	char err[256] = "", *argv[] = { name, sizes, (char *)"--hosts", hosts };
	struct topo *t = generate_parse(4, argv, err, sizeof(err));

	if (!t)
		fail_msg("%s", err);
	return t;
}

/* Cables between switches: the same number at each of a kind, `least` to `most`. */
static void assert_shape(char *name, char *sizes, unsigned switches, unsigned cables,
			 unsigned least, unsigned most)
{
	struct topo *t = shape(name, sizes, (char *)"2");
	unsigned found = 0;

	assert_int_equal(t->nswitches, switches);
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		unsigned here = 0;

		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

			assert_non_null(peer);
			here += peer->node < t->nswitches;
		}
		assert_in_range(here, least, most);
		found += here;
	}
	assert_int_equal(found, 2 * cables);
	topo_unref(t);
}

static void test_shapes_have_their_cables(void **state)
{
	(void)state;
	assert_shape((char *)"ring", (char *)"12", 12, 12, 2, 2);
	assert_shape((char *)"torus", (char *)"5,4", 20, 40, 4, 4);
	assert_shape((char *)"torus", (char *)"3,3,2", 18, 45, 5, 5);
	assert_shape((char *)"hypercube", (char *)"5", 32, 80, 5, 5);
	assert_shape((char *)"hyperx", (char *)"4,3", 12, 30, 5, 5);
	assert_shape((char *)"dragonfly+", (char *)"5,2,4,2", 30, 60, 4, 4);
	assert_shape((char *)"jellyfish", (char *)"20,5", 20, 50, 5, 5);
}

static void test_random_cables_come_from_the_seed(void **state)
{
	char err[256],
		*argv[] = { (char *)"jellyfish", (char *)"30,4", (char *)"--seed", (char *)"2" };
	struct topo *a = generate_parse(4, argv, err, sizeof(err));
	struct topo *b = generate_parse(4, argv, err, sizeof(err)), *c;
	bool differs = false;

	(void)state;
	argv[3] = (char *)"3";
	c = generate_parse(4, argv, err, sizeof(err));
	assert_true(a && b && c && a->nports == b->nports && a->nports == c->nports);
	for (uint32_t i = 0; i < a->nports; i++) {
		assert_int_equal(a->ports[i].peer, b->ports[i].peer);
		differs |= a->ports[i].peer != c->ports[i].peer;
	}
	assert_true(differs);
	topo_unref(a);
	topo_unref(b);
	topo_unref(c);
}

static void assert_refused(char *name, char *sizes, char *option, char *value)
{
	char err[256] = "", *argv[] = { name, sizes, option, value };

	assert_null(generate_parse(4, argv, err, sizeof(err)));
	assert_true(err[0]);
}

static void test_sizes_that_make_no_fabric_are_refused(void **state)
{
	(void)state;
	assert_refused((char *)"ring", (char *)"4,4", (char *)"--hosts", (char *)"2");
	assert_refused((char *)"torus", (char *)"0,4", (char *)"--hosts", (char *)"2");
	assert_refused((char *)"torus", (char *)"4,x", (char *)"--hosts", (char *)"2");
	assert_refused((char *)"torus", (char *)"200,200", (char *)"--hosts", (char *)"2");
	assert_refused((char *)"hypercube", (char *)"13", (char *)"--hosts", (char *)"2");
	assert_refused((char *)"jellyfish", (char *)"5,5", (char *)"--hosts", (char *)"2");
	assert_refused((char *)"hyperx", (char *)"300", (char *)"--hosts", (char *)"2");
	assert_refused((char *)"torus", (char *)"4,4", (char *)"--hosts", (char *)"");
	assert_refused((char *)"torus", (char *)"4,4", (char *)"--wide", (char *)"2");
	assert_refused((char *)"torus", (char *)"100,80", (char *)"--hosts", (char *)"100");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes_have_their_cables),
		cmocka_unit_test(test_random_cables_come_from_the_seed),
		cmocka_unit_test(test_sizes_that_make_no_fabric_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
