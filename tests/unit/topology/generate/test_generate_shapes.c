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

static struct topo *parsed(const char *const *words, int count)
{
	char err[256] = "";
	struct topo *t = generate_parse(count, (char **)words, err, sizeof(err));

	if (!t)
		fail_msg("%s", err);
	return t;
}

/* Machines of 8, 4 and 1 HCAs share leaves; two spines have cables of their own kind. */
static void test_mixed_has_its_kinds_and_trunks(void **state)
{
	const char *const words[] = {
		"mixed",    "--size",	  "16,10", "--kinds", "8xNDR,4xHDR,1xEDR",
		"--trunks", "3xNDR,1xHDR"
	};
	struct topo *t = parsed(words, 7);
	unsigned sizes[9] = { 0 }, trunks[2] = { 0 };

	(void)state;
	assert_int_equal(t->nswitches, 18);
	for (uint32_t h = 0; h < t->nhosts; h++) {
		const struct topo_host *host = &t->hosts[h];
		const uint32_t *cas = t->host_cas + host->first;
		enum topo_speed speed = host->ncas == 8	  ? TOPO_NDR
					: host->ncas == 4 ? TOPO_HDR
							  : TOPO_EDR;

		assert_in_range(host->ncas, 1, 8);
		sizes[host->ncas]++;
		for (uint32_t i = 0; i < host->ncas; i++) {
			assert_int_equal(topo_port(t, cas[i], 1)->speed, speed);
			for (uint32_t k = 0; k < i; k++)
				assert_int_not_equal(topo_leaf_of(t, cas[i]),
						     topo_leaf_of(t, cas[k]));
		}
	}
	assert_int_equal(8 * sizes[8] + 4 * sizes[4] + sizes[1], t->nhosts ? 160 : 0);
	assert_true(sizes[8] && sizes[4] && sizes[1]);
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *peer = topo_peer(t, &t->ports[i]);

		if (peer && t->ports[i].node < t->nswitches && peer->node < t->nswitches)
			trunks[t->ports[i].speed == TOPO_HDR]++;
	}
	assert_int_equal(trunks[0], 2 * 16 * 3);
	assert_int_equal(trunks[1], 2 * 16);
	topo_unref(t);
}

static void test_directors_have_line_and_spine_cards(void **state)
{
	const char *const words[] = { "directors", "64,16,4,8,4" };
	struct topo *t = parsed(words, 2);

	(void)state;
	assert_int_equal(t->nswitches, 64 + 4 * (8 + 4));
	assert_int_equal(t->nnodes - t->nswitches, 1024);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (unsigned num = 1; num <= t->nodes[sw].nports; num++)
			assert_non_null(topo_peer(t, topo_port(t, sw, num)));
	topo_unref(t);
}

/* Its switches above the leaves are those of the whole. */
static void test_a_half_grown_superpod_lacks_units_alone(void **state)
{
	const char *const words[] = { "superpod", "--su", "24", "--grown", "16", "--no-sharp" };
	const char *const all[] = { "superpod", "--su", "24", "--no-sharp" };
	struct topo *t = parsed(words, 6), *whole = parsed(all, 4);
	char err[256], *none[] = { "superpod", "--su", "4", "--grown", "5" };

	(void)state;
	assert_int_equal(whole->nswitches - t->nswitches, 8 * 8);
	assert_int_equal(t->nnodes - t->nswitches, 16 * 256);
	assert_null(generate_parse(5, none, err, sizeof(err)));
	assert_non_null(strstr(err, "can't be there"));
	topo_unref(t);
	topo_unref(whole);
}

static void test_words_that_are_no_mixture_are_refused(void **state)
{
	static const char *const wrong[][3] = {
		{ "mixed", "--kinds", "9xNDR" },  { "mixed", "--kinds", "8xMDR" },
		{ "mixed", "--kinds", "8xNDR," }, { "mixed", "--trunks", "0" },
		{ "mixed", "--size", "0,4" },	  { "mixed", "--size", "8,255" },
		{ "mixed", "--moon", "1" },	  { "directors", "64,16,3,8,4", "" }
	};
	char err[256];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		*err = '\0';
		assert_null(
			generate_parse(*wrong[i][2] ? 3 : 2, (char **)wrong[i], err, sizeof(err)));
		assert_true(*err);
	}
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
		cmocka_unit_test(test_mixed_has_its_kinds_and_trunks),
		cmocka_unit_test(test_directors_have_line_and_spine_cards),
		cmocka_unit_test(test_a_half_grown_superpod_lacks_units_alone),
		cmocka_unit_test(test_words_that_are_no_mixture_are_refused),
		cmocka_unit_test(test_random_cables_come_from_the_seed),
		cmocka_unit_test(test_sizes_that_make_no_fabric_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
