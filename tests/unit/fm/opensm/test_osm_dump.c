/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * OpenSM's files, line by line, of two leaves under a spine with a host at each leaf:
 *
 *   host-1 (LID 4) - 1 leaf-1 (LID 1) 2 - 1 spine (LID 3) 2 - 2 leaf-2 (LID 2) 1 - host-2 (LID 5)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/opensm/osm_dump.h"
#include "topology/snapshot/topo_builder.h"

#define TOP 6 /* LID 6 is nobody's */

struct fixture {
	struct topo *topo;
	uint16_t lid_of_port[32];
	uint32_t port_of_lid[TOP + 1];
	struct lid_map lids;
	struct tables tables;
	struct mcast_plan trees;
	char *text;
};

static int add_node(struct topo_builder *b, guid_t guid, const char *desc, uint8_t type,
		    uint8_t nports)
{
	struct topo_node node = { .guid = guid, .desc = desc, .type = type, .nports = nports };
	int handle = topo_builder_node(b, &node);

	if (type == TOPO_CA)
		topo_builder_port(b, handle, 1, &(struct topo_port){ .guid = guid + 1 });
	return handle;
}

static struct topo *make_topo(void)
{
	struct topo_builder *b = topo_builder_new();
	int leaf1 = add_node(b, 0x10, "leaf-1", TOPO_SWITCH, 3);
	int leaf2 = add_node(b, 0x11, "leaf-2", TOPO_SWITCH, 3);
	int spine = add_node(b, 0x12, "spine", TOPO_SWITCH, 3);

	topo_builder_link(b, leaf1, 1, add_node(b, 0x20, "host-1", TOPO_CA, 1), 1, true);
	topo_builder_link(b, leaf2, 1, add_node(b, 0x30, "host-2", TOPO_CA, 1), 1, true);
	topo_builder_link(b, leaf1, 2, spine, 1, true);
	topo_builder_link(b, leaf2, 2, spine, 2, true);
	return topo_freeze(b);
}

static void give_lid(struct fixture *f, uint16_t lid, uint32_t port)
{
	assert_true(port < 32);
	f->lid_of_port[port] = lid;
	f->port_of_lid[lid] = port;
}

static int set_up(void **state)
{
	static const uint8_t rows[3][TOP + 1] = {
		{ 255, 0, 2, 2, 1, 2, 255 },
		{ 255, 2, 0, 2, 2, 1, 255 },
		{ 255, 1, 2, 0, 1, 2, 255 },
	};
	struct fixture *f = calloc(1, sizeof(*f));

	f->topo = make_topo();
	f->lids = (struct lid_map){ .top = TOP, .nports = f->topo->nports };
	f->lids.lid_of_port = f->lid_of_port;
	f->lids.port_of_lid = f->port_of_lid;
	f->port_of_lid[0] = f->port_of_lid[TOP] = TOPO_NONE;
	for (uint32_t s = 0; s < 3; s++)
		give_lid(f, (uint16_t)(s + 1), f->topo->nodes[s].port0);
	give_lid(f, 4, topo_find_port(f->topo, 0x21));
	give_lid(f, 5, topo_find_port(f->topo, 0x31));
	tables_resize(&f->tables, 3, TOP);
	for (uint32_t s = 0; s < 3; s++)
		memcpy(tables_row(&f->tables, s), rows[s], sizeof(rows[s]));
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	topo_unref(f->topo);
	tables_fini(&f->tables);
	free(f->text);
	free(f);
	return 0;
}

static const char *dump(struct fixture *f, const char *name)
{
	const struct osm_dump_view view = { f->topo, &f->lids, &f->tables, &f->trees };
	size_t len;
	FILE *out;

	free(f->text);
	out = open_memstream(&f->text, &len);
	assert_int_equal(osm_dump_find(name)->write(&view, out), 0);
	fclose(out);
	return f->text;
}

static void lfts_name_the_owner_of_each_lid(void **state)
{
	static const char leaf_1[] =
		"Unicast lids [0-6] of switch Lid 1 guid 0x0000000000000010 ('leaf-1'):\n"
		"0x0001 000 # Switch portguid 0x0000000000000010: 'leaf-1'\n"
		"0x0002 002 # Switch portguid 0x0000000000000011: 'leaf-2'\n"
		"0x0003 002 # Switch portguid 0x0000000000000012: 'spine'\n"
		"0x0004 001 # Channel Adapter portguid 0x0000000000000021: 'host-1'\n"
		"0x0005 002 # Channel Adapter portguid 0x0000000000000031: 'host-2'\n"
		"6 lids dumped\n"
		"Unicast lids [0-6] of switch Lid 2 guid 0x0000000000000011 ('leaf-2'):\n";

	assert_memory_equal(dump(*state, "opensm-lfts.dump"), leaf_1, sizeof(leaf_1) - 1);
}

static void fdbs_count_the_switches_left_to_go_through(void **state)
{
	static const char leaf_1[] = "dump_ucast_routes: Switch 0x0000000000000010\n"
				     "LID    : Port : Hops : Optimal\n"
				     "0x0001 : 000  : 00   : yes\n"
				     "0x0002 : 002  : 02   : yes\n"
				     "0x0003 : 002  : 01   : yes\n"
				     "0x0004 : 001  : 01   : yes\n"
				     "0x0005 : 002  : 03   : yes\n"
				     "0x0006 : UNREACHABLE\n"
				     "dump_ucast_routes: Switch 0x0000000000000011\n";

	assert_memory_equal(dump(*state, "opensm.fdbs"), leaf_1, sizeof(leaf_1) - 1);
}

static void dropped_and_endless_entries_have_no_hops(void **state)
{
	struct fixture *f = *state;
	const char *text;

	tables_row(&f->tables, 0)[4] = TABLES_NO_ROUTE; /* leaf-1 drops what is for host-1 */
	tables_row(&f->tables, 2)[5] = 1;		/* spine sends host-2's packets back */
	text = dump(f, "opensm.fdbs");
	assert_non_null(strstr(text, "0x0004 : UNREACHABLE\n0x0005 : 002  : HOPS UNKNOWN\n"));
	assert_non_null(
		strstr(text, "0x0004 : 001  : HOPS UNKNOWN\n0x0005 : 001  : HOPS UNKNOWN\n"));
}

static void detour_differs_from_the_shortest_path(void **state)
{
	struct fixture *f = *state;
	struct topo_builder *b = topo_builder_from(f->topo);

	topo_builder_link(b, topo_builder_find(b, 0x10), 3, topo_builder_find(b, 0x11), 3, true);
	topo_unref(f->topo);
	f->topo = topo_freeze(b);
	assert_non_null(
		strstr(dump(f, "opensm.fdbs"), "0x0002 : 002  : 02   : No, 1 hops are possible\n"));
	assert_non_null(strstr(f->text, "0x0005 : 002  : 03   : No, 2 hops are possible\n"));
}

static void multicast_tables_name_the_ports_of_each_group(void **state)
{
	struct mcast_hop hops[] = { { .guid = 0x10, .ports = { 0x6 } },
				    { .guid = 0x12, .sw = 2, .ports = { 0x2 } } };
	struct mcast_tree trees[] = { { .mlid = 0xc000, .nhops = 2, .hops = hops },
				      { .mlid = 0xc021, .nhops = 1, .hops = hops } };
	struct fixture *f = *state;

	assert_string_equal(dump(f, "opensm.mcfdbs"), "");
	f->trees = (struct mcast_plan){ .ntrees = 2, .trees = trees };
	assert_string_equal(dump(f, "opensm.mcfdbs"), "\nSwitch 0x0000000000000010\n"
						      "LID    : Out Port(s)\n"
						      "0xC000 : 0x001  0x002 \n"
						      "0xC021 : 0x001  0x002 \n"
						      "\nSwitch 0x0000000000000012\n"
						      "LID    : Out Port(s)\n"
						      "0xC000 : 0x001 \n");
}

static void file_names_are_those_of_opensm(void **state)
{
	static const char *const names[] = { "opensm-lfts.dump", "opensm.fdbs", "opensm.mcfdbs",
					     "opensm-subnet.lst", "fmd.far" };

	for (size_t i = 0; i < 5; i++)
		assert_string_equal(osm_dump_file(i)->name, names[i]);
	assert_null(osm_dump_file(5));
	assert_null(osm_dump_find("../fmd.conf"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lfts_name_the_owner_of_each_lid),
		TEST(fdbs_count_the_switches_left_to_go_through),
		TEST(dropped_and_endless_entries_have_no_hops),
		TEST(detour_differs_from_the_shortest_path),
		TEST(multicast_tables_name_the_ports_of_each_group),
		TEST(file_names_are_those_of_opensm),
	};

	return cmocka_run_group_tests_name("osm_dump", tests, NULL, NULL);
}
