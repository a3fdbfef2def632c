/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What nodes are called: by map, by description, told apart by GUID; and by which hosts go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/lib/fabrics.h"
#include "tests/sim/view.h"
#include "topology/cabling/cabling_own.h"
#include "topology/snapshot/naming.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_builder.h"
#include "topology/what/what.h"

#define LEAF  0x0002c90300a100c0
#define LEAF2 0x0002c90300a200c0
#define HCA   0x0002c903000011c8
#define HCA2  0x0002c903000022c8

static int add(struct topo_builder *b, guid_t guid, const char *desc, uint8_t type)
{
	const struct topo_node attr = { .guid = guid, .desc = desc, .type = type, .nports = 4 };

	return topo_builder_node(b, &attr);
}

static struct node_names *map(const char *text)
{
	char err[256];
	struct node_names *names = node_names_parse("map", text, strlen(text), err, sizeof(err));

	assert_non_null(names);
	return names;
}

/* Two switches and two HCAs with these descriptions; text of a map, or NULL. */
static struct topo *fabric(const char *const descs[4], const char *text)
{
	static const guid_t guids[] = { LEAF, LEAF2, HCA, HCA2 };
	struct topo_builder *b = topo_builder_new();
	struct node_names *names = text ? map(text) : NULL;

	for (unsigned n = 0; n < 4; n++)
		assert_true(add(b, guids[n], descs[n], n < 2 ? TOPO_SWITCH : TOPO_CA) >= 0);
	topo_builder_name(b, names);
	node_names_free(names);
	return topo_freeze(b);
}

static const struct topo_node *node(const struct topo *t, guid_t guid)
{
	return &t->nodes[topo_find(t, guid)];
}

static void assert_found(const struct topo *t, const char *what, guid_t guid)
{
	char err[256] = "";
	unsigned port;
	uint32_t n = topo_resolve(t, what, &port, err, sizeof(err));

	if (n == TOPO_NONE)
		fail_msg("%s", err);
	assert_int_equal(t->nodes[n].guid, guid);
}

static void a_description_that_nobody_else_has_is_the_name(void **state)
{
	const char *const descs[] = { "leaf-1", "leaf-2", "dgx-1 mlx5_0", "dgx-2 mlx5_0" };
	struct topo *t = fabric(descs, NULL);

	assert_string_equal(node(t, LEAF)->name, "leaf-1");
	assert_string_equal(node(t, HCA2)->name, "dgx-2 mlx5_0");
	topo_unref(t);
}

static void factory_descriptions_end_with_the_guid(void **state)
{
	const char *const descs[] = { "Quantum-2 Mellanox Technologies", "",
				      "MT4129 ConnectX7   Mellanox Technologies",
				      "localhost HCA-1" };
	struct topo *t = fabric(descs, NULL);

	assert_string_equal(node(t, LEAF)->name, "Quantum-2 Mellanox Technologies ..a100c0");
	assert_string_equal(node(t, LEAF2)->name, "0x0002c90300a200c0");
	assert_string_equal(node(t, HCA)->name,
			    "MT4129 ConnectX7   Mellanox Technologies ..0011c8");
	assert_string_equal(node(t, HCA2)->name, "localhost HCA-1 ..0022c8");
	assert_string_equal(node(t, HCA2)->desc, "localhost HCA-1");
	assert_string_equal(node(t, HCA2)->label, "localhost HCA-1");
	topo_unref(t);
}

static void nodes_of_one_description_are_told_apart(void **state)
{
	const char *const descs[] = { "switch", "switch", "dgx-1 mlx5_0", "dgx-1 mlx5_0" };
	struct topo *t = fabric(descs, NULL);

	assert_string_equal(node(t, LEAF)->name, "switch ..a100c0");
	assert_string_equal(node(t, LEAF2)->name, "switch ..a200c0");
	assert_string_equal(node(t, HCA)->name, "dgx-1 mlx5_0 ..0011c8");
	assert_found(t, "switch ..a200c0", LEAF2);
	assert_found(t, "..0022c8", HCA2);
	topo_unref(t);
}

static void guids_with_one_end_are_shown_whole(void **state)
{
	struct topo_builder *b = topo_builder_new();
	struct topo *t;

	assert_true(add(b, 0x1000000000000042, "switch", TOPO_SWITCH) >= 0);
	assert_true(add(b, 0x2000000000000042, "switch", TOPO_SWITCH) >= 0);
	assert_true(add(b, 0x2000000000000043, "switch", TOPO_SWITCH) >= 0);
	t = topo_freeze(b);
	assert_string_equal(t->nodes[0].name, "switch ..1000000000000042");
	assert_string_equal(t->nodes[1].name, "switch ..2000000000000042");
	assert_string_equal(t->nodes[2].name, "switch ..000043");
	topo_unref(t);
}

static void managed_switches_are_called_by_their_host_name(void **state)
{
	const char *const descs[] = { "MF0;leaf-1:MQM9700/U1", "MF0;dir:CS8500/L03/U1", "MF0;x",
				      "dgx-1 mlx5_0" };
	struct topo *t = fabric(descs, NULL);

	assert_string_equal(node(t, LEAF)->name, "leaf-1/U1");
	assert_string_equal(node(t, LEAF2)->name, "dir/L03/U1");
	assert_string_equal(node(t, HCA)->name, "MF0;x");
	assert_found(t, "leaf-1", LEAF);
	assert_found(t, "MF0;leaf-1:MQM9700/U1", LEAF);
	topo_unref(t);
}

static void the_map_names_nodes_and_they_are_found_by_both(void **state)
{
	const char *const descs[] = { "Quantum Mellanox Technologies",
				      "Quantum Mellanox Technologies", "dgx-1 mlx5_0",
				      "dgx-2 mlx5_0" };
	struct topo *t = fabric(descs, "0x0002c90300a100c0 \"leaf su01 rail0\"\n"
				       "0x0002c903000011c8 \"the first\"\n0x99 nobody\n");

	assert_string_equal(node(t, LEAF)->name, "leaf su01 rail0");
	assert_string_equal(node(t, LEAF)->label, "leaf su01 rail0");
	assert_string_equal(node(t, LEAF)->desc, "Quantum Mellanox Technologies");
	assert_string_equal(node(t, LEAF2)->name, "Quantum Mellanox Technologies ..a200c0");
	assert_string_equal(node(t, HCA)->name, "the first");
	assert_found(t, "leaf su01 rail0", LEAF);
	assert_found(t, "rail0", LEAF);
	assert_found(t, "the first", HCA);
	assert_found(t, "dgx-1 mlx5_0", HCA);
	topo_unref(t);
}

static void a_name_that_the_map_gives_twice_is_told_apart(void **state)
{
	const char *const descs[] = { "a", "b", "c", "d" };
	struct topo *t = fabric(descs, "0x0002c90300a100c0 leaf\n0x0002c90300a200c0 leaf\n"
				       "0x0002c903000011c8 d\n");

	assert_string_equal(node(t, LEAF)->name, "leaf ..a100c0");
	assert_string_equal(node(t, LEAF)->label, "leaf");
	assert_string_equal(node(t, HCA)->name, "d ..0011c8");
	assert_string_equal(node(t, HCA2)->name, "d ..0022c8");
	topo_unref(t);
}

static const char *host_of(const struct topo *t, guid_t guid)
{
	return t->hosts[node(t, guid)->host].name;
}

static void map_names_of_host_and_device_make_hosts(void **state)
{
	const char *const descs[] = { "a", "b", "MT4129 ConnectX7 Mellanox Technologies",
				      "localhost HCA-2" };
	struct topo *t = fabric(descs, "0x0002c903000011c8 \"dgx-7 mlx5_0\"\n"
				       "0x0002c903000022c8 \"dgx-7 mlx5_1\"\n");

	assert_int_equal(t->nhosts, 1);
	assert_string_equal(host_of(t, HCA), "dgx-7");
	assert_int_equal(t->host_cas[0], topo_find(t, HCA));
	topo_unref(t);
}

static void a_free_name_leaves_an_hca_in_its_host(void **state)
{
	const char *const descs[] = { "a", "b", "dgx-1 mlx5_0", "dgx-1 mlx5_1" };
	struct topo *t = fabric(descs, "0x0002c903000011c8 \"rack 3 upper HCA of dgx-1\"\n");

	assert_int_equal(t->nhosts, 1);
	assert_string_equal(host_of(t, HCA), "dgx-1");
	topo_unref(t);
}

static void a_free_name_of_an_hca_without_a_host_is_its_hosts(void **state)
{
	const char *const descs[] = { "a", "b", "MT4129 ConnectX7 Mellanox Technologies",
				      "MT4129 ConnectX7 Mellanox Technologies" };
	struct topo *t = fabric(descs, "0x0002c903000011c8 \"storage head 1\"\n");

	assert_int_equal(t->nhosts, 2);
	assert_string_equal(host_of(t, HCA), "storage head 1");
	assert_string_equal(host_of(t, HCA2), "0x0002c903000022c8");
	topo_unref(t);
}

static void a_copy_keeps_the_names(void **state)
{
	const char *const descs[] = { "a", "b", "c", "d" };
	struct topo *t = fabric(descs, "0x0002c90300a100c0 leaf\n"), *copy;

	copy = topo_freeze(topo_builder_from(t));
	topo_unref(t);
	assert_string_equal(node(copy, LEAF)->name, "leaf");
	assert_string_equal(node(copy, LEAF)->desc, "a");
	topo_unref(copy);
}

static void a_written_file_has_the_names_of_the_map(void **state)
{
	const char *const descs[] = { "a", "MF0;leaf-2:MQM9700/U1", "c", "c" };
	struct topo *t = fabric(descs, "0x0002c90300a100c0 leaf\n");
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(netfile_write(t, out), 0);
	fclose(out);
	assert_non_null(strstr(text, "# \"leaf\" base"));
	assert_non_null(strstr(text, "# \"MF0;leaf-2:MQM9700/U1\""));
	assert_non_null(strstr(text, "# \"c\"\n"));
	free(text);
	topo_unref(t);
}

/* A pod as it is, with one leaf that the map names, against a plan that calls it either way. */
static void a_plan_may_call_a_node_by_map_or_by_description(void **state)
{
	static const char *const calls[] = { "leaf-su01-rail0", "rack 1" };
	struct topo *t = pod(1);
	struct topo_builder *real = topo_builder_from(t);
	struct topo *named;
	char text[64];
	struct node_names *names;

	snprintf(text, sizeof(text), "0x%016llx \"rack 1\"\n",
		 (unsigned long long)t->nodes[find_desc(t, calls[0])].guid);
	names = map(text);
	topo_builder_name(real, names);
	named = topo_freeze(real);
	for (unsigned i = 0; i < 2; i++) {
		struct cabling *c = cabling_compare(i ? named : t, named);

		assert_int_equal(c->compared, 512);
		assert_int_equal(c->count, 0);
		cabling_free(c);
	}
	node_names_free(names);
	topo_unref(named);
	topo_unref(t);
}

static void labels_of_ports_are_kept_and_shown(void **state)
{
	struct topo *t = pod(1), *labelled, *again;
	struct topo_builder *b = topo_builder_from(t);
	uint32_t leaf = find_desc(t, "leaf-su01-rail0");
	struct cabling_end end;

	assert_int_equal(topo_builder_label(b, (int)leaf, 17, "cage 9/1"), 0);
	assert_true(topo_builder_label(b, (int)leaf, 200, "cage 9/1") < 0);
	labelled = topo_freeze(b);
	again = topo_freeze(topo_builder_from(labelled));
	assert_string_equal(topo_port_label(t, 0), "");
	assert_string_equal(
		topo_port_label(labelled, topo_port_of(labelled, t->nodes[leaf].guid, 16)), "");
	assert_string_equal(topo_port_label(again, topo_port_of(again, t->nodes[leaf].guid, 17)),
			    "cage 9/1");
	end = cabling_end_of(again, topo_port(again, leaf, 17));
	assert_string_equal(end.label, "cage 9/1");
	topo_unref(t);
	topo_unref(labelled);
	topo_unref(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_description_that_nobody_else_has_is_the_name),
		cmocka_unit_test(factory_descriptions_end_with_the_guid),
		cmocka_unit_test(nodes_of_one_description_are_told_apart),
		cmocka_unit_test(guids_with_one_end_are_shown_whole),
		cmocka_unit_test(managed_switches_are_called_by_their_host_name),
		cmocka_unit_test(the_map_names_nodes_and_they_are_found_by_both),
		cmocka_unit_test(a_name_that_the_map_gives_twice_is_told_apart),
		cmocka_unit_test(map_names_of_host_and_device_make_hosts),
		cmocka_unit_test(a_free_name_leaves_an_hca_in_its_host),
		cmocka_unit_test(a_free_name_of_an_hca_without_a_host_is_its_hosts),
		cmocka_unit_test(a_copy_keeps_the_names),
		cmocka_unit_test(labels_of_ports_are_kept_and_shown),
		cmocka_unit_test(a_plan_may_call_a_node_by_map_or_by_description),
		cmocka_unit_test(a_written_file_has_the_names_of_the_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
