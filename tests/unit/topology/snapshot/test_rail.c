/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rail: hosts from node descriptions, rails and scalable units from names and cables, never from
 * GUIDs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/lib/fabrics.h"
#include "tests/lib/topo_equal.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/topo_builder.h"

static void assert_place(const struct topo *t, const char *desc, int rail, int su)
{
	const struct topo_node *node = node_named(t, desc);

	if (node->rail != rail || node->su != su)
		fail_msg("'%s' has rail %d, unit %d, not %d, %d", desc, node->rail, node->su, rail,
			 su);
}

/* ---- Hosts -------------------------------------------------------------------------- */

static struct topo *cas_named(const char *const *descs, unsigned count)
{
	struct topo_builder *b = topo_builder_new();

	for (unsigned i = 0; i < count; i++) {
		struct topo_node attr = {
			.guid = 0x100 + i, .type = TOPO_CA, .nports = 1, .desc = descs[i]
		};

		assert_true(topo_builder_node(b, &attr) >= 0);
	}
	return topo_freeze(b);
}

static void assert_host(const char *desc, const char *host)
{
	struct topo *t = cas_named(&desc, 1);

	assert_int_equal(t->nhosts, 1);
	assert_string_equal(t->hosts[0].name, host);
	topo_unref(t);
}

static void hosts_are_named_by_the_first_word(void **state)
{
	assert_host("dgx-01 mlx5_0", "dgx-01");
	assert_host("node018 HCA-1", "node018");
	assert_host("H-9/U1", "H-9");
	assert_host("ai400x-157 HCA-1", "ai400x-157");
	assert_host("'host' HCA-1", "host");
	assert_host("  selene-cache-04 mlx5_2 ", "selene-cache-04");
	assert_host("alone", "alone");
}

static void generic_descriptions_name_no_host(void **state)
{
	assert_host("MT25408 ConnectX Mellanox Technologies", "0x0000000000000100");
	assert_host("MT4123 ConnectX6   Mellanox Technologies", "0x0000000000000100");
	assert_host("localhost mlx5_0", "0x0000000000000100");
	assert_host("", "0x0000000000000100");
	assert_host("   ", "0x0000000000000100");
}

static void cas_of_a_host_lie_together_in_order_of_their_devices(void **state)
{
	static const char *const descs[] = { "n2 mlx5_10",
					     "n10 mlx5_0",
					     "n2 mlx5_9",
					     "n2 mlx5_1",
					     "MT25408 ConnectX Mellanox Technologies",
					     "MT25408 ConnectX Mellanox Technologies" };
	struct topo *t = cas_named(descs, 6);

	assert_int_equal(t->nhosts, 4);
	assert_string_equal(t->hosts[2].name, "n2"); /* natural order: 0x.., 0x.., n2, n10 */
	assert_string_equal(t->hosts[3].name, "n10");
	assert_int_equal(t->hosts[2].ncas, 3);
	assert_string_equal(t->nodes[t->host_cas[t->hosts[2].first]].desc, "n2 mlx5_1");
	assert_string_equal(t->nodes[t->host_cas[t->hosts[2].first + 2]].desc, "n2 mlx5_10");
	assert_int_equal(node_named(t, "n10 mlx5_0")->host, 3);
	topo_unref(t);
}

/* ---- A fabric to damage ------------------------------------------------------------- */

#define RAILS 4
#define HOSTS 8 /* of a unit */
#define UNITS 2

static const char *const mlx5[RAILS] = { "mlx5_0", "mlx5_3", "mlx5_9", "mlx5_10" };

struct plan {
	const char *devices[RAILS];
	int leaf[UNITS * HOSTS][RAILS]; /* leaf number, -1 = the CA is missing */
	uint64_t guid_stride;		/* odd, scatters GUIDs */
};

static struct plan good_plan(void)
{
	struct plan plan = { .guid_stride = 1 };

	memcpy(plan.devices, mlx5, sizeof(mlx5));
	for (int h = 0; h < UNITS * HOSTS; h++)
		for (int r = 0; r < RAILS; r++)
			plan.leaf[h][r] = h / HOSTS * RAILS + r;
	return plan;
}

static guid_t scattered(const struct plan *plan, unsigned i)
{
	return (i + 1) * 0x1000 * plan->guid_stride;
}

/* Leaves "leaf-1".., hosts "gpu1".., one CA for each device; leaves joined by a spine. */
static struct topo *build(const struct plan *plan)
{
	struct topo_builder *b = topo_builder_new();
	unsigned used[UNITS * RAILS] = { 0 };
	int leaves[UNITS * RAILS], spine;
	char name[32];

	for (unsigned i = 0; i <= UNITS * RAILS; i++) {
		struct topo_node attr = { .guid = scattered(plan, i),
					  .type = TOPO_SWITCH,
					  .nports = 60 };

		snprintf(name, sizeof(name), i < UNITS * RAILS ? "leaf-%u" : "spine", i + 1);
		attr.desc = name;
		spine = topo_builder_node(b, &attr);
		assert_true(spine >= 0);
		if (i < UNITS * RAILS)
			leaves[i] = spine;
	}
	for (unsigned i = 0; i < UNITS * RAILS; i++)
		for (unsigned lane = 0; lane < 4; lane++)
			assert_int_equal(topo_builder_link(b, leaves[i], 57 + lane, spine,
							   i * 4 + lane + 1, true),
					 0);
	for (unsigned h = 0; h < UNITS * HOSTS; h++)
		for (unsigned r = 0; r < RAILS; r++) {
			struct topo_node attr = { .guid = scattered(plan, 100 + h * RAILS + r),
						  .type = TOPO_CA,
						  .nports = 1 };
			int leaf = plan->leaf[h][r], ca;

			if (leaf < 0)
				continue;
			snprintf(name, sizeof(name), "gpu%u %s", h + 1, plan->devices[r]);
			attr.desc = name;
			ca = topo_builder_node(b, &attr);
			assert_int_equal(
				topo_builder_link(b, ca, 1, leaves[leaf], ++used[leaf], true), 0);
		}
	return topo_freeze(b);
}

static void assert_all_as_planned(const struct topo *t, const struct plan *plan)
{
	char name[32];

	for (int leaf = 0; leaf < UNITS * RAILS; leaf++) {
		snprintf(name, sizeof(name), "leaf-%d", leaf + 1);
		assert_place(t, name, leaf % RAILS, leaf / RAILS);
	}
	for (int h = 0; h < UNITS * HOSTS; h++)
		for (int r = 0; r < RAILS; r++)
			if (plan->leaf[h][r] >= 0) {
				snprintf(name, sizeof(name), "gpu%d %s", h + 1, plan->devices[r]);
				assert_place(t, name, r, h / HOSTS);
			}
	assert_place(t, "spine", -1, -1);
}

/* ---- Rails -------------------------------------------------------------------------- */

static void rails_follow_device_names_in_natural_order(void **state)
{
	struct plan plan = good_plan();
	struct topo *t = build(&plan);

	assert_all_as_planned(t, &plan);
	topo_unref(t);
}

static void guids_decide_nothing(void **state)
{
	static const uint64_t strides[] = { 0x9e3779b97f4a7c15u, 0xff51afd7ed558ccdu, UINT64_MAX };

	for (size_t i = 0; i < 3; i++) {
		struct plan plan = good_plan();
		struct topo *t;

		plan.guid_stride = strides[i];
		t = build(&plan);
		assert_all_as_planned(t, &plan);
		topo_unref(t);
	}
}

static void a_missing_ca_shifts_nothing(void **state)
{
	struct plan plan = good_plan();
	struct topo *t;

	plan.leaf[3][0] = plan.leaf[9][2] = plan.leaf[10][1] = -1;
	t = build(&plan);
	assert_all_as_planned(t, &plan);
	topo_unref(t);
}

/* Most hosts of a unit lack one, each another: those that have all of them tell the order. */
static void many_missing_cas_shift_nothing(void **state)
{
	struct plan plan = good_plan();
	struct topo *t;

	plan.leaf[1][0] = plan.leaf[2][1] = plan.leaf[4][0] = plan.leaf[5][2] = plan.leaf[6][1] =
		-1;
	t = build(&plan);
	assert_all_as_planned(t, &plan);
	topo_unref(t);
}

/* The name says what was meant, the leaf's majority what is: a swapped pair stands out. */
static void swapped_cables_show_as_a_difference_to_the_leaf(void **state)
{
	struct plan plan = good_plan();
	struct topo *t;

	plan.leaf[2][1] = 2;
	plan.leaf[2][2] = 1;
	t = build(&plan);
	assert_all_as_planned(t, &plan);
	topo_unref(t);
}

static void one_cable_to_another_unit_joins_no_units(void **state)
{
	struct plan plan = good_plan();
	struct topo *t;

	plan.leaf[2][1] = RAILS + 1;
	t = build(&plan);
	assert_all_as_planned(t, &plan);
	topo_unref(t);
}

static void without_device_names_leaves_in_order_are_the_rails(void **state)
{
	struct plan plan = good_plan();
	struct topo *t;

	for (unsigned r = 0; r < RAILS; r++)
		plan.devices[r] = "";
	t = build(&plan);
	for (uint32_t n = t->nswitches; n < t->nnodes; n++) {
		const struct topo_node *leaf = &t->nodes[topo_peer(t, topo_port(t, n, 1))->node];

		assert_true(t->nodes[n].rail >= 0);
		assert_int_equal(t->nodes[n].rail, leaf->rail);
	}
	assert_place(t, "leaf-3", 2, 0);
	assert_place(t, "leaf-8", 3, 1);
	topo_unref(t);
}

static void assert_no_rails(const struct topo *t)
{
	for (uint32_t n = 0; n < t->nnodes; n++)
		assert_place(t, t->nodes[n].desc, -1, -1);
}

static void hosts_with_all_cas_on_one_leaf_have_no_rails(void **state)
{
	struct plan plan = good_plan();
	struct topo *t;

	for (int h = 0; h < UNITS * HOSTS; h++)
		for (int r = 0; r < RAILS; r++)
			plan.leaf[h][r] = h % (UNITS * RAILS);
	t = build(&plan);
	assert_no_rails(t);
	topo_unref(t);
}

static void cas_cabled_in_any_order_have_no_rails(void **state)
{
	struct plan plan = good_plan();
	struct topo *t;

	for (int h = 0; h < UNITS * HOSTS; h++)
		for (int r = 0; r < RAILS; r++)
			plan.leaf[h][r] = h / HOSTS * RAILS + (r + h) % RAILS;
	t = build(&plan);
	assert_no_rails(t);
	topo_unref(t);
}

static void hosts_with_one_ca_have_no_rails(void **state)
{
	char err[128];
	unsigned m[] = { 8, 4 }, w[] = { 1, 4 };
	struct topo *t = generate_pgft(2, m, w, NULL, err, sizeof(err));

	assert_non_null(t);
	assert_no_rails(t);
	topo_unref(t);
}

static void a_fault_moves_nothing(void **state)
{
	struct plan plan = good_plan();
	struct topo *t = build(&plan), *cut;
	struct topo_builder *b = topo_builder_from(t);

	for (int i = 0; i < 20; i++)
		topo_builder_link_down(b, topo_builder_find(b, scattered(&plan, 100 + i)), 1);
	cut = topo_freeze(b);
	assert_int_equal(cut->nlinks_down, 20);
	assert_all_as_planned(cut, &plan);
	topo_unref(cut);
	topo_unref(t);
}

/* `count` hosts with `ncas` CAs each, their CAs in turn on leaves 1 .. nleaves. */
static struct topo *with_stores(struct topo *t, const struct plan *plan, unsigned count,
				unsigned ncas, unsigned nleaves)
{
	struct topo_builder *b = topo_builder_from(t);
	char name[32];

	for (unsigned i = 0; i < count * ncas; i++) {
		struct topo_node attr = {
			.guid = 0xabc000 + i, .type = TOPO_CA, .nports = 1, .desc = name
		};
		int leaf = topo_builder_find(b, scattered(plan, i % nleaves)), ca;

		snprintf(name, sizeof(name), "store%u mlx5_%u", i / ncas, i % ncas);
		ca = topo_builder_node(b, &attr);
		assert_int_equal(topo_builder_link(b, ca, 1, leaf, 20 + i, true), 0);
	}
	topo_unref(t);
	return topo_freeze(b);
}

/* Storage and login hosts on the same leaves say nothing of rails, and have none. */
static void other_hosts_do_not_disturb(void **state)
{
	struct plan plan = good_plan();
	struct topo *one = with_stores(build(&plan), &plan, 3, 2, 1);
	struct topo *two = with_stores(build(&plan), &plan, 5, 4, 2);

	assert_all_as_planned(one, &plan);
	assert_place(one, "store1 mlx5_1", -1, -1);
	assert_all_as_planned(two, &plan);
	assert_place(two, "store1 mlx5_1", -1, -1);
	topo_unref(one);
	topo_unref(two);
}

/* ---- Scalable units ----------------------------------------------------------------- */

static void superpods_have_units_and_rails_as_named(void **state)
{
	char err[128], name[40];
	struct topo *t = generate_superpod(GENERATE_H100, 10, true, err, sizeof(err));

	for (unsigned su = 0; su < 10; su++)
		for (unsigned rail = 0; rail < 8; rail++) {
			snprintf(name, sizeof(name), "leaf-su%02u-rail%u", su + 1, rail);
			assert_place(t, name, (int)rail, (int)su);
		}
	assert_place(t, "dgx-su10-32 mlx5_11", 7, 9);
	assert_place(t, "dgx-su02-01 mlx5_3", 1, 1);
	topo_unref(t);
}

static void units_are_numbered_by_their_first_host(void **state)
{
	struct plan plan = good_plan();
	struct topo *t;

	for (int h = 0; h < UNITS * HOSTS; h++)
		for (int r = 0; r < RAILS; r++)
			plan.leaf[h][r] = (1 - h / HOSTS) * RAILS + r; /* gpu1.. on leaves 5..8 */
	t = build(&plan);
	assert_place(t, "leaf-5", 0, 0);
	assert_place(t, "leaf-1", 0, 1);
	assert_place(t, "gpu1 mlx5_0", 0, 0);
	assert_place(t, "gpu16 mlx5_0", 0, 1);
	topo_unref(t);
}

/* Two HCAs a host, each on the leaf of its rail; appliances have both on one. */
static void a_storage_fabric_shows_its_units(void **state)
{
	struct topo *t = irregular_fabric(0);

	assert_place(t, "stor-0001 mlx5_4", 0, 0);
	assert_place(t, "stor-0001 mlx5_10", 1, 0);
	assert_place(t, "stor-0040 mlx5_10", 1, 3);
	assert_place(t, "leaf-u4-2", 1, 3);
	assert_place(t, "flash-05 HCA-1", -1, -1);
	topo_unref(t);
}

/* That of a large installation, where it is on this machine. */
static void a_published_storage_fabric_shows_its_units(void **state)
{
	size_t number = 0;
	struct topo *t;

	while (strcmp(irregulars[number].name, "selene_storage"))
		number++;
	t = irregular_fabric(number);
	if (!t)
		return;
	assert_place(t, "luna-0001 mlx5_4", 0, 0);
	assert_place(t, "luna-0001 mlx5_10", 1, 0);
	assert_place(t, "luna-0560 mlx5_10", 1, 21);
	assert_place(t, "MF0;SLG04-12:MQM8700/U1", 1, 21);
	assert_place(t, "ai400x-157 HCA-1", -1, -1);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_are_named_by_the_first_word),
		cmocka_unit_test(generic_descriptions_name_no_host),
		cmocka_unit_test(cas_of_a_host_lie_together_in_order_of_their_devices),
		cmocka_unit_test(rails_follow_device_names_in_natural_order),
		cmocka_unit_test(guids_decide_nothing),
		cmocka_unit_test(a_missing_ca_shifts_nothing),
		cmocka_unit_test(many_missing_cas_shift_nothing),
		cmocka_unit_test(swapped_cables_show_as_a_difference_to_the_leaf),
		cmocka_unit_test(one_cable_to_another_unit_joins_no_units),
		cmocka_unit_test(without_device_names_leaves_in_order_are_the_rails),
		cmocka_unit_test(hosts_with_all_cas_on_one_leaf_have_no_rails),
		cmocka_unit_test(cas_cabled_in_any_order_have_no_rails),
		cmocka_unit_test(hosts_with_one_ca_have_no_rails),
		cmocka_unit_test(a_fault_moves_nothing),
		cmocka_unit_test(other_hosts_do_not_disturb),
		cmocka_unit_test(superpods_have_units_and_rails_as_named),
		cmocka_unit_test(units_are_numbered_by_their_first_host),
		cmocka_unit_test(a_storage_fabric_shows_its_units),
		cmocka_unit_test(a_published_storage_fabric_shows_its_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
