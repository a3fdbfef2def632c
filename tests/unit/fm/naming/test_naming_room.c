/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * When names of the node-name-map are in force: the room alone, with a pipe that only looks like
 * one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "fm/naming/module.h"
#include "tests/lib/fake_pipe.h"
#include "topology/snapshot/topo_builder.h"

#define LEAF 0x100

static void write_map(struct fabric *f, const char *text)
{
	FILE *out;

	snprintf(f->conf.node_name_map, sizeof(f->conf.node_name_map), "%s/names", f->folder);
	out = fopen(f->conf.node_name_map, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void configure(struct fabric *f, const char *text)
{
	write_map(f, text);
	f->module->configure(f->room);
}

static struct inv_node *begin(struct fabric *f)
{
	const struct wire_node_info info = { .type = TOPO_SWITCH, .nports = 4, .node_guid = LEAF };
	struct inv_node *leaf;

	fake_pipe_init(f, &naming_module, topo_freeze(topo_builder_new()));
	leaf = inventory_add(&f->inventory, &info);
	inventory_set_desc(&f->inventory, leaf, "Quantum Mellanox Technologies");
	return leaf;
}

static void a_map_names_what_is_known_and_what_is_still_to_come(void **state)
{
	const struct wire_node_info other = { .type = TOPO_SWITCH,
					      .nports = 4,
					      .node_guid = 0x101 };
	struct inv_node *leaf, *late;
	uint32_t shapes;
	const char *text;
	struct fabric f;

	leaf = begin(&f);
	assert_string_equal(leaf->name, "Quantum Mellanox Technologies ..000100");
	shapes = f.inventory.shapes;
	configure(&f, "0x100 leaf-1\n0x101 leaf-2\n");
	assert_string_equal(leaf->name, "leaf-1");
	assert_string_equal(leaf->desc, "Quantum Mellanox Technologies");
	assert_int_not_equal(f.inventory.shapes, shapes); /* a snapshot is made anew */
	assert_int_equal(fake_events(&f, "names", &text), 1);
	assert_non_null(strstr(text, "2 node names"));
	assert_non_null(strstr(text, "1 of them of known nodes"));
	late = inventory_add(&f.inventory, &other);
	assert_string_equal(late->name, "leaf-2");
	fake_pipe_fini(&f);
}

static void the_snapshot_has_the_names_and_gives_them_back(void **state)
{
	struct fabric f;
	struct topo *t;
	struct inv_node *leaf = begin(&f);

	configure(&f, "0x100 leaf-1\n");
	t = topo_freeze(inventory_snapshot_builder(&f.inventory));
	assert_string_equal(t->nodes[0].name, "leaf-1");
	leaf->name[0] = '?'; /* an older one */
	inventory_take_names(&f.inventory, t);
	assert_string_equal(leaf->name, "leaf-1");
	topo_unref(t);
	fake_pipe_fini(&f);
}

static void a_bad_file_leaves_the_names_and_is_an_alert(void **state)
{
	struct fabric f;
	struct inv_node *leaf = begin(&f);
	const char *text;

	configure(&f, "0x100 leaf-1\n");
	configure(&f, "0x100 leaf-2\nnonsense\n");
	assert_string_equal(leaf->name, "leaf-1");
	assert_int_equal(fake_events(&f, "names-refused", &text), 1);
	assert_non_null(strstr(text, "names:2: "));
	assert_non_null(trouble_error(f.services.alerts, "node_name_map"));
	configure(&f, "0x100 leaf-1\n");
	assert_null(trouble_error(f.services.alerts, "node_name_map"));
	assert_int_equal(fake_events(&f, "names", NULL), 1); /* the same names are no news */
	fake_pipe_fini(&f);
}

static void without_the_key_descriptions_are_the_names_again(void **state)
{
	struct fabric f;
	struct inv_node *leaf = begin(&f);

	configure(&f, "0x100 leaf-1\n");
	f.conf.node_name_map[0] = '\0';
	f.module->configure(f.room);
	assert_string_equal(leaf->name, "Quantum Mellanox Technologies ..000100");
	fake_pipe_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_names_what_is_known_and_what_is_still_to_come),
		cmocka_unit_test(the_snapshot_has_the_names_and_gives_them_back),
		cmocka_unit_test(a_bad_file_leaves_the_names_and_is_an_alert),
		cmocka_unit_test(without_the_key_descriptions_are_the_names_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
