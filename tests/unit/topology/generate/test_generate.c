/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* generate: published switch counts, who is cabled to whom, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/lib/fabrics.h"
#include "topology/base/mem.h"

static struct topo *superpod(enum generate_system system, unsigned su)
{
	char err[256] = "";
	struct topo *t = generate_superpod(system, su, true, err, sizeof(err));

	if (!t)
		fail_msg("%s", err);
	return t;
}

static struct topo *pgft(const char *h, const char *m, const char *w, const char *p)
{
	const char *argv[] = { "pgft", h, m, w, p };
	char err[256] = "";
	struct topo *t = generate_parse(p ? 5 : 4, (char **)argv, err, sizeof(err));

	if (!t)
		fail_msg("%s", err);
	return t;
}

static unsigned switches_at(const struct topo *t, unsigned level)
{
	unsigned n = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		n += t->nodes[sw].level == level;
	return n;
}

static unsigned cabled_ports(const struct topo *t, uint32_t node)
{
	unsigned n = 0;

	for (unsigned num = 1; num <= t->nodes[node].nports; num++)
		n += topo_port(t, node, num)->peer != TOPO_NONE;
	return n;
}

static const char *peer_name(const struct topo *t, const char *desc, unsigned num)
{
	const struct topo_port *peer = topo_peer(t, topo_port(t, find_desc(t, desc), num));

	return peer ? t->nodes[peer->node].desc : "-";
}

/* ---- SuperPODs ---------------------------------------------------------------------- */

static void superpods_have_the_published_counts(void **state)
{
	static const struct {
		enum generate_system system;
		unsigned su, hcas, leaves, spines, cores;
	} designs[] = {
		{ GENERATE_H100, 1, 256, 8, 4, 0 },
		{ GENERATE_H100, 2, 512, 16, 8, 0 },
		{ GENERATE_H100, 3, 768, 24, 16, 0 },
		{ GENERATE_H100, 4, 1024, 32, 16, 0 },
		{ GENERATE_B200, 8, 2048, 64, 32, 0 },
		{ GENERATE_B200, 16, 4096, 128, 128, 64 },
		{ GENERATE_B200, 32, 8192, 256, 256, 128 },
		{ GENERATE_H100, 64, 16384, 512, 512, 256 },
		{ GENERATE_A100, 1, 160, 8, 4, 0 },
		{ GENERATE_A100, 7, 1120, 56, 80, 28 },
	};

	for (size_t i = 0; i < sizeof(designs) / sizeof(designs[0]); i++) {
		struct topo *t = superpod(designs[i].system, designs[i].su);

		assert_int_equal(t->ncas, designs[i].hcas);
		assert_int_equal(t->nhosts, designs[i].hcas / 8);
		assert_int_equal(switches_at(t, 0), designs[i].leaves);
		assert_int_equal(switches_at(t, 1), designs[i].spines);
		assert_int_equal(switches_at(t, 2), designs[i].cores);
		topo_unref(t);
	}
}

/* As many cables up as down at every switch below the top, at least. */
static void assert_non_blocking(const struct topo *t)
{
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		unsigned up = 0, down = 0;

		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

			if (!peer || t->nodes[peer->node].sharp)
				continue;
			if (peer->node < t->nswitches &&
			    t->nodes[peer->node].level > t->nodes[sw].level)
				up++;
			else
				down++;
		}
		assert_true(t->nodes[sw].level + 1 == t->nlevels || up >= down);
	}
}

static void every_size_is_non_blocking_and_leaves_are_full(void **state)
{
	for (unsigned su = 1; su <= 64; su = su < 18 ? su + 1 : su + 5) {
		struct topo *t = superpod(GENERATE_H100, su);

		assert_int_equal(t->nlevels, su > 8 ? 3 : 2);
		assert_non_blocking(t);
		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			if (t->nodes[sw].level == 0)
				assert_int_equal(cabled_ports(t, sw), 65);
		topo_unref(t);
	}
	for (unsigned su = 1; su <= 7; su++) {
		struct topo *t = superpod(GENERATE_A100, su);

		assert_non_blocking(t);
		topo_unref(t);
	}
}

static void node_n_is_at_port_n_plus_1_of_its_eight_leaves(void **state)
{
	struct topo *t = superpod(GENERATE_H100, 2);

	assert_string_equal(peer_name(t, "leaf-su01-rail0", 1), "dgx-su01-01 mlx5_0");
	assert_string_equal(peer_name(t, "leaf-su02-rail1", 7), "dgx-su02-07 mlx5_3");
	assert_string_equal(peer_name(t, "leaf-su02-rail7", 32), "dgx-su02-32 mlx5_11");
	assert_string_equal(peer_name(t, "leaf-su01-rail0", 33), "spine-01");
	assert_string_equal(peer_name(t, "leaf-su01-rail0", 36), "spine-01");
	assert_string_equal(peer_name(t, "leaf-su01-rail0", 37), "spine-02");
	assert_int_equal(topo_port(t, 0, 1)->speed, TOPO_NDR);
	topo_unref(t);
}

static void each_system_has_its_own_devices_and_speed(void **state)
{
	struct topo *a = superpod(GENERATE_A100, 1), *b = superpod(GENERATE_B200, 1);

	assert_string_equal(peer_name(a, "leaf-su01-rail4", 20), "dgx-su01-20 mlx5_6");
	assert_int_equal(topo_port(a, 0, 1)->speed, TOPO_HDR);
	assert_int_equal(a->nodes[0].nports, 41);
	assert_string_equal(peer_name(b, "leaf-su01-rail7", 1), "dgx-su01-01 mlx5_7");
	topo_unref(a);
	topo_unref(b);
}

/* With two rails in a pod, no cable joins a leaf to another pod's spine. */
static void rails_stay_below_the_cores(void **state)
{
	struct topo *t = superpod(GENERATE_H100, 16);
	uint32_t spine = find_desc(t, "spine-p02-05");
	unsigned leaves = 0, cores = 0;

	for (unsigned num = 1; num <= 64; num++) {
		const struct topo_node *other =
			&t->nodes[topo_peer(t, topo_port(t, spine, num))->node];

		if (other->level == 0)
			assert_true(other->rail == 2 || other->rail == 3);
		leaves += other->level == 0;
		cores += other->level == 2;
	}
	assert_int_equal(leaves, 32);
	assert_int_equal(cores, 32);
	topo_unref(t);
}

static void guids_and_names_are_a_function_of_the_arguments(void **state)
{
	struct topo *a = superpod(GENERATE_H100, 1), *b = superpod(GENERATE_H100, 1);

	for (uint32_t n = 0; n < a->nnodes; n++) {
		assert_int_equal(a->nodes[n].guid, b->nodes[n].guid);
		assert_string_equal(a->nodes[n].desc, b->nodes[n].desc);
	}
	topo_unref(a);
	topo_unref(b);
}

/* ---- PGFTs -------------------------------------------------------------------------- */

static void the_big_pgft_has_45360_hosts(void **state)
{
	struct topo *t = pgft("3", "36,36,35", "1,36,18", "1,1,2");

	assert_int_equal(t->ncas, 45360);
	assert_int_equal(switches_at(t, 0), 1260);
	assert_int_equal(switches_at(t, 1), 1260);
	assert_int_equal(switches_at(t, 2), 648);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		assert_int_equal(cabled_ports(t, sw), t->nodes[sw].nports);
	assert_int_equal(t->nodes[0].nports, 36 + 36);
	topo_unref(t);
}

/* Down ports child by child, then up ports parent by parent, parallel cables side by side. */
static void pgft_ports_go_down_first(void **state)
{
	struct topo *t = pgft("2", "2,3", "1,2", "1,2");

	assert_int_equal(t->ncas, 6);
	assert_string_equal(peer_name(t, "leaf-0002", 1), "node-0003 HCA-1");
	assert_string_equal(peer_name(t, "leaf-0002", 2), "node-0004 HCA-1");
	assert_string_equal(peer_name(t, "leaf-0002", 3), "spine-0001");
	assert_string_equal(peer_name(t, "leaf-0002", 4), "spine-0001");
	assert_string_equal(peer_name(t, "leaf-0002", 5), "spine-0002");
	assert_string_equal(peer_name(t, "spine-0001", 3), "leaf-0002");
	assert_string_equal(peer_name(t, "spine-0002", 6), "leaf-0003");
	topo_unref(t);
}

/* Zahavi's rule for PGFT(3; 2,2,2; 1,2,2): a core sees each subtree through one spine. */
static void pgft_cores_reach_each_subtree_once(void **state)
{
	struct topo *t = pgft("3", "2,2,2", "1,2,2", NULL);

	assert_int_equal(switches_at(t, 0), 4);
	assert_int_equal(switches_at(t, 1), 4);
	assert_int_equal(switches_at(t, 2), 4);
	/* spines 1 and 2 are over leaves 1 and 2; cores 1 and 3 over spines 1 and 3 */
	assert_string_equal(peer_name(t, "spine-0001", 1), "leaf-0001");
	assert_string_equal(peer_name(t, "spine-0002", 2), "leaf-0002");
	assert_string_equal(peer_name(t, "spine-0003", 1), "leaf-0003");
	assert_string_equal(peer_name(t, "core-0001", 1), "spine-0001");
	assert_string_equal(peer_name(t, "core-0001", 2), "spine-0003");
	assert_string_equal(peer_name(t, "core-0003", 1), "spine-0001");
	assert_string_equal(peer_name(t, "core-0004", 2), "spine-0004");
	topo_unref(t);
}

static void a_host_may_have_parallel_cables_and_a_tree_many_levels(void **state)
{
	struct topo *a = pgft("1", "3", "1", "2"), *b = pgft("5", "2,2,2,2,2", "1,2,2,2,2", NULL);

	assert_int_equal(a->ncas, 3);
	assert_int_equal(a->nlinks, 6);
	assert_int_equal(cabled_ports(a, a->nswitches), 2);
	assert_int_equal(b->nlevels, 5);
	assert_int_equal(b->nswitches, 5 * 16);
	topo_unref(a);
	topo_unref(b);
}

/* ---- Refusals ----------------------------------------------------------------------- */

static void assert_refused(const char *line, const char *reason)
{
	char *text = mem_strdup(line), *argv[8], err[256] = "";
	int argc = 0;

	for (char *word = strtok(text, " "); word && argc < 8; word = strtok(NULL, " "))
		argv[argc++] = word;
	assert_null(generate_parse(argc, argv, err, sizeof(err)));
	if (!strstr(err, reason))
		fail_msg("%s: '%s' does not say '%s'", line, err, reason);
	free(text);
}

static void what_cannot_be_built_is_refused_with_a_reason(void **state)
{
	assert_refused("", "unknown fabric ''");
	assert_refused("butterfly 3", "unknown fabric 'butterfly'");
	assert_refused("superpod", "1 to 64 scalable units, not 0");
	assert_refused("superpod --su 0", "1 to 64 scalable units, not 0");
	assert_refused("superpod --su 65", "1 to 64 scalable units, not 65");
	assert_refused("superpod --su 8 --system a100", "1 to 7 scalable units, not 8");
	assert_refused("superpod --su -1", "not a number");
	assert_refused("superpod --su", "not a number");
	assert_refused("superpod --system v100 --su 1", "unknown system 'v100'");
	assert_refused("superpod --size 3", "unknown argument '--size'");
	assert_refused("pgft 2 4,4", "wrong number of arguments");
	assert_refused("pgft 0 4 1", "not a height of 1 to 8");
	assert_refused("pgft 9 4 1", "not a height of 1 to 8");
	assert_refused("pgft 2 4 1,2", "not one number for each level: '4'");
	assert_refused("pgft 2 4,4,4 1,2", "not one number for each level: '4,4,4'");
	assert_refused("pgft 2 4,x 1,2", "not one number for each level: '4,x'");
	assert_refused("pgft 2 4,4 1,2 1", "not one number for each level: '1'");
	assert_refused("pgft 2 4,4 2,2", "w1 is the leaves a host is on, and must be 1");
	assert_refused("pgft 2 4,0 1,2", "every m, w and p is at least 1");
	assert_refused("pgft 2 200,4 1,100", "a switch has at most 254 ports");
	assert_refused("pgft 2 300,4 1,2", "at most 254 ports");
	assert_refused("pgft 3 36,36,40 1,36,18 1,1,2", "more nodes than there are LIDs");
	assert_refused("pgft 3 36,36,36 1,36,18 1,1,2", "more ports than there are LIDs");
	assert_refused("pgft 8 99,99,99,99,99,99,99,99 1,9,9,9,9,9,9,9",
		       "more nodes than there are LIDs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(superpods_have_the_published_counts),
		cmocka_unit_test(every_size_is_non_blocking_and_leaves_are_full),
		cmocka_unit_test(node_n_is_at_port_n_plus_1_of_its_eight_leaves),
		cmocka_unit_test(each_system_has_its_own_devices_and_speed),
		cmocka_unit_test(rails_stay_below_the_cores),
		cmocka_unit_test(guids_and_names_are_a_function_of_the_arguments),
		cmocka_unit_test(the_big_pgft_has_45360_hosts),
		cmocka_unit_test(pgft_ports_go_down_first),
		cmocka_unit_test(pgft_cores_reach_each_subtree_once),
		cmocka_unit_test(a_host_may_have_parallel_cables_and_a_tree_many_levels),
		cmocka_unit_test(what_cannot_be_built_is_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
