/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Seeded miswirings of every kind, found and named without a plan and with one; and nothing found
 * where nothing is wrong. (More of them, and larger pods: tests/bench/cabling.c.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/damage.h"
#include "tests/fabric/disguise.h"
#include "tests/lib/fabrics.h"
#include "tests/lib/miswiring.h"
#include "topology/cabling/cabling.h"
#include "topology/generate/generate.h"
#include "topology/snapshot/topo_builder.h"

static struct topo *make(enum generate_system system, unsigned su)
{
	char err[256];

	return generate_superpod(system, su, true, err, sizeof(err));
}

/* Frees the findings. */
static void assert_nothing(struct cabling *c, const char *what)
{
	char text[1024];

	if (c->count) {
		cabling_describe(&c->items[0], text, sizeof(text));
		fail_msg("%s: %s", what, text);
	}
	cabling_free(c);
}

/* ---- What is wrong --------------------------------------------------------------------------- */

/* Four at once, kind after kind; all have to be named, and nothing else. */
static void plant_and_judge(const struct topo *t, unsigned rounds, uint64_t seed, bool planned,
			    struct verdict *verdicts)
{
	unsigned kind = (unsigned)seed * 4;

	for (unsigned i = 0; i < rounds; i++) {
		struct miswiring *m = miswiring_new(t, seed++);
		struct topo *wrong;
		struct cabling *c;

		for (unsigned n = 0; n < 4; n++)
			for (unsigned tries = 0; tries < MISTAKES; tries++)
				if (miswiring_add(m, (enum mistake)(kind++ % MISTAKES)))
					break;
		wrong = miswiring_freeze(m);
		c = planned ? cabling_compare(t, wrong) : cabling_pattern(wrong);
		assert_int_equal(miswiring_judge(m, c, planned, verdicts, stderr), 0);
		cabling_free(c);
		topo_unref(wrong);
		miswiring_free(m);
	}
}

/* The last hosts of each unit are not there, and some in between. */
static struct topo *partly_populated(const struct topo *t)
{
	struct miswiring *m = miswiring_new(t, 1);
	struct topo *part;

	for (uint32_t h = 0; h < t->nhosts; h++)
		if (h % 32 > 20 || h % 7 == 0)
			miswiring_take_out_host(m, h);
	part = miswiring_freeze(m);
	miswiring_free(m);
	return part;
}

static void judge_pods(bool planned)
{
	static const struct {
		enum generate_system system;
		unsigned su, rounds;
	} pods[] = { { GENERATE_H100, 1, 12 },
		     { GENERATE_A100, 2, 12 },
		     { GENERATE_B200, 4, 12 },
		     { GENERATE_A100, 6, 8 },
		     { GENERATE_H100, 9, 8 } };
	struct verdict verdicts[MISTAKES] = { 0 };
	unsigned planted = 0;

	for (size_t i = 0; i < sizeof(pods) / sizeof(pods[0]); i++) {
		struct topo *t = make(pods[i].system, pods[i].su), *part = partly_populated(t);

		plant_and_judge(t, pods[i].rounds, 1 + i * 100, planned, verdicts);
		plant_and_judge(part, pods[i].rounds, 51 + i * 100, planned, verdicts);
		topo_unref(t);
		topo_unref(part);
	}
	for (unsigned k = 0; k < MISTAKES; k++) {
		planted += verdicts[k].planted;
		if (!planned && mistake_words[k].hidden)
			continue;
		if (verdicts[k].named != verdicts[k].planted)
			fail_msg("%s: %u planted, %u found, %u named", mistake_words[k].name,
				 verdicts[k].planted, verdicts[k].found, verdicts[k].named);
	}
	assert_true(planted >= 340);
}

static void miswirings_of_all_kinds_are_named_by_the_pattern(void **state)
{
	judge_pods(false);
}

static void miswirings_of_all_kinds_are_named_by_the_plan(void **state)
{
	judge_pods(true);
}

/* What the port numbers tell is not told where they have no order; the rest is. */
static void mistakes_between_switches_are_found_whatever_the_port_numbers(void **state)
{
	static const enum mistake told[] = {
		MISTAKE_RAILS,	     MISTAKE_UNITS,	MISTAKE_ACROSS,	   MISTAKE_WHOLE_HOSTS,
		MISTAKE_NO_HCA,	     MISTAKE_HCA_SPINE, MISTAKE_LEAF_LEAF, MISTAKE_SPINE_SPINE,
		MISTAKE_SLOW_UPLINK, MISTAKE_NARROW,
	};
	struct topo *pod = make(GENERATE_H100, 2), *t = disguise(pod, DISGUISE_PORTS, 1);

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		struct verdict verdicts[MISTAKES] = { 0 };
		struct miswiring *m = miswiring_new(t, i);
		struct topo *wrong;
		struct cabling *c;

		assert_true(miswiring_add(m, told[i]));
		wrong = miswiring_freeze(m);
		c = cabling_pattern(wrong);
		assert_int_equal(miswiring_judge(m, c, false, verdicts, stderr), 0);
		if (!verdicts[told[i]].named)
			fail_msg("%s is not named", mistake_words[told[i]].name);
		cabling_free(c);
		topo_unref(wrong);
		miswiring_free(m);
	}
	topo_unref(pod);
	topo_unref(t);
}

static struct topo *with_two(const struct topo *t, enum mistake one, enum mistake two,
			     uint64_t seed, struct miswiring **m)
{
	*m = miswiring_new(t, seed);
	assert_true(miswiring_add(*m, one));
	assert_true(miswiring_add(*m, two));
	return miswiring_freeze(*m);
}

/* A spine with an HCA is a leaf of that rail at a glance: what is wrong on the real one is told. */
static void an_hca_on_a_spine_hides_no_other(void **state)
{
	struct topo *t = make(GENERATE_H100, 1);

	for (uint64_t seed = 0; seed < 40; seed++) {
		struct verdict verdicts[MISTAKES] = { 0 };
		struct miswiring *m;
		struct topo *wrong = with_two(t, MISTAKE_HCA_SPINE, MISTAKE_NO_HCA, seed, &m);
		struct cabling *c = cabling_pattern(wrong);

		assert_int_equal(miswiring_judge(m, c, false, verdicts, stderr), 0);
		assert_int_equal(verdicts[MISTAKE_HCA_SPINE].named, 1);
		assert_int_equal(verdicts[MISTAKE_NO_HCA].named, 1);
		cabling_free(c);
		topo_unref(wrong);
		miswiring_free(m);
	}
	topo_unref(t);
}

/* ---- What is not ----------------------------------------------------------------------------- */

static struct topo *dead_links(const struct topo *t, uint64_t seed)
{
	struct topo *dead = topo_alike(t);

	for (uint32_t p = 0; p < t->nports; p++)
		if (t->ports[p].peer != TOPO_NONE && t->ports[p].peer > p &&
		    damage_random(&seed) % 50 == 0)
			topo_alike_cut(dead, p);
	return dead;
}

static void intact_pods_have_no_findings(void **state)
{
	static const char *const systems[] = { "a100", "h100", "b200" };
	static const unsigned sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17 };

	for (size_t s = 0; s < sizeof(systems) / sizeof(systems[0]); s++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct topo *t = make((enum generate_system)s, sizes[i]), *dead;

			if (!t)
				continue;
			assert_nothing(cabling_pattern(t), systems[s]);
			assert_nothing(cabling_compare(t, t), systems[s]);
			dead = dead_links(t, i);
			assert_nothing(cabling_pattern(dead), "2% dead");
			topo_unref(dead);
			topo_unref(t);
		}
}

static void a_partly_populated_pod_has_no_findings(void **state)
{
	struct topo *t = make(GENERATE_H100, 4), *part = partly_populated(t);

	assert_nothing(cabling_pattern(part), "partly populated");
	topo_unref(part);
	topo_unref(t);
}

static void add_host(struct topo_builder *b, const struct topo *t, const char *leaf, unsigned port,
		     const char *name, uint64_t guid, enum topo_speed speed)
{
	int node = topo_builder_node(b, &(struct topo_node){ .guid = guid,
							     .desc = name,
							     .type = TOPO_CA,
							     .device = 0x101b,
							     .nports = 1 });
	struct topo_port attr = { .guid = guid, .state = 4, .speed = (uint8_t)speed, .width = 4 };

	assert_true(node >= 0);
	topo_builder_port(b, node, 1, &attr);
	assert_int_equal(topo_builder_link(b, node, 1, (int)find_desc(t, leaf), port, true), 0);
}

/* In ports that hosts left free: storage on every leaf, a manager with two HCAs, on a spine too. */
static void storage_and_management_hosts_have_no_findings(void **state)
{
	struct topo *t = make(GENERATE_H100, 3), *less, *more;
	struct miswiring *m = miswiring_new(t, 1);
	struct topo_builder *b;
	char name[64];

	for (uint32_t h = 0; h < t->nhosts; h++)
		if (h % 32 >= 28)
			miswiring_take_out_host(m, h);
	less = miswiring_freeze(m);
	b = topo_builder_from(less);
	for (unsigned i = 0; i < 12; i++) {
		const char *leaf = less->nodes[i].desc;

		snprintf(name, sizeof(name), "storage-%02u mlx5_%u", i / 2, i % 2);
		add_host(b, less, leaf, 29 + i % 3, name, 0x5000 + i, TOPO_HDR);
	}
	add_host(b, less, "leaf-su01-rail0", 32, "mgmt-1 mlx5_0", 0x6000, TOPO_HDR);
	add_host(b, less, "leaf-su01-rail1", 32, "mgmt-1 mlx5_1", 0x6001, TOPO_HDR);
	add_host(b, less, "spine-01", 60, "ufm-1 mlx5_0", 0x6002, TOPO_NDR);
	more = topo_freeze(b);
	assert_nothing(cabling_pattern(more), "storage and management");
	topo_unref(t);
	topo_unref(less);
	topo_unref(more);
	miswiring_free(m);
}

/* Two units of another system: other device names, models and speeds. */
static void mixed_systems_have_no_findings(void **state)
{
	struct topo *t = make(GENERATE_H100, 4), *mixed;
	struct topo_builder *b = topo_builder_new();
	char name[64];

	for (uint32_t n = 0; n < t->nnodes; n++) {
		const struct topo_node *node = &t->nodes[n];
		bool other = node->type == TOPO_CA && !node->sharp && node->su >= 2;
		int handle;

		if (other)
			snprintf(name, sizeof(name), "b200-%s mlx5_%d", t->hosts[node->host].name,
				 node->rail);
		handle = topo_builder_node(
			b, &(struct topo_node){ .guid = node->guid,
						.desc = other ? name : node->desc,
						.device = other ? 0x1023 : node->device,
						.type = node->type,
						.nports = node->nports,
						.sharp = node->sharp });
		for (unsigned num = 1; num <= node->nports; num++) {
			const struct topo_port *port = topo_port(t, n, num),
					       *peer = topo_peer(t, port);
			bool slow = other || (peer && t->nodes[peer->node].su >= 2 &&
					      t->nodes[peer->node].type == TOPO_CA);

			topo_builder_port(
				b, handle, num,
				&(struct topo_port){ .guid = port->guid,
						     .state = port->state,
						     .width = port->width,
						     .speed = slow ? TOPO_HDR : port->speed });
		}
	}
	for (uint32_t p = 0; p < t->nports; p++)
		if (t->ports[p].peer != TOPO_NONE && t->ports[p].peer > p)
			assert_int_equal(topo_builder_link(b, (int)t->ports[p].node,
							   t->ports[p].num,
							   (int)topo_peer(t, &t->ports[p])->node,
							   topo_peer(t, &t->ports[p])->num, true),
					 0);
	mixed = topo_freeze(b);
	assert_nothing(cabling_pattern(mixed), "mixed systems");
	topo_unref(t);
	topo_unref(mixed);
}

/* Fabrics that are no pods, and no trees. */
static void fabrics_without_a_pattern_have_no_findings(void **state)
{
	static char *const shapes[][8] = {
		{ "torus", "4,4,4" },	       { "ring", "12" },
		{ "hypercube", "5" },	       { "hyperx", "4,4" },
		{ "dragonfly+", "5,4,4" },     { "jellyfish", "24,6", "--seed", "3" },
		{ "pgft", "2", "8,8", "1,8" }, { "pgft", "3", "4,4,4", "1,4,4" },
	};
	char err[256];

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		char *argv[8];
		int argc = 0;
		struct topo *t;

		for (; argc < 8 && shapes[i][argc]; argc++)
			argv[argc] = shapes[i][argc];
		t = generate_parse(argc, argv, err, sizeof(err));
		if (!t)
			fail_msg("%s: %s", argv[0], err);
		assert_nothing(cabling_pattern(t), argv[0]);
		topo_unref(t);
	}
}

/* Published fabrics, and what is truly otherwise in them. */
static void irregular_fabrics_have_no_findings_but_their_own(void **state)
{
	static const struct {
		const char *name;
		unsigned findings;
	} known[] = { { "one_slow_link", 1 },
		      { "missing_link", 1 },
		      { "selene_storage", 9 }, /* cables that are not there */
		      { "edr2023", 1 },	       /* one at DDR */
		      { "4_ary_2_tree_missing_sw_link", 1 } };

	for (size_t i = 0; i < IRREGULARS; i++) {
		struct topo *t = irregular_fabric(i);
		struct cabling *c = t ? cabling_pattern(t) : NULL;
		unsigned findings = 0;

		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			if (!strcmp(known[k].name, irregulars[i].name))
				findings = known[k].findings;
		if (c && c->count != findings) {
			char text[1024];

			cabling_describe(&c->items[0], text, sizeof(text));
			fail_msg("%s: %u findings: %s", irregulars[i].name, c->count, text);
		}
		cabling_free(c);
		topo_unref(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(miswirings_of_all_kinds_are_named_by_the_pattern),
		cmocka_unit_test(miswirings_of_all_kinds_are_named_by_the_plan),
		cmocka_unit_test(mistakes_between_switches_are_found_whatever_the_port_numbers),
		cmocka_unit_test(an_hca_on_a_spine_hides_no_other),
		cmocka_unit_test(intact_pods_have_no_findings),
		cmocka_unit_test(a_partly_populated_pod_has_no_findings),
		cmocka_unit_test(storage_and_management_hosts_have_no_findings),
		cmocka_unit_test(mixed_systems_have_no_findings),
		cmocka_unit_test(fabrics_without_a_pattern_have_no_findings),
		cmocka_unit_test(irregular_fabrics_have_no_findings_but_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
