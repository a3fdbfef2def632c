/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Tables made by others, read from OpenSM's dump and from ibroute's, and refused with FILE:LINE.
 *
 *   host-1 - 1 leaf-1 2 - 1 spine 2 - 2 leaf-2 1 - host-2
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fm/opensm/osm_dump.h"
#include "routing/proof/check.h"
#include "routing/report/congestion.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "topology/generate/generate.h"
#include "topology/snapshot/topo_builder.h"

struct read {
	struct osm_tables got;
	int status;
	char err[256];
};

static int add_node(struct topo_builder *b, guid_t guid, const char *desc, uint8_t type,
		    uint8_t nports, uint16_t lid)
{
	struct topo_node node = { .guid = guid, .desc = desc, .type = type, .nports = nports };
	int handle = topo_builder_node(b, &node);

	topo_builder_port(b, handle, type == TOPO_CA,
			  &(struct topo_port){ .guid = guid + (type == TOPO_CA), .lid = lid });
	return handle;
}

static struct topo *make_topo(void)
{
	struct topo_builder *b = topo_builder_new();
	int leaf1 = add_node(b, 0x10, "leaf-1", TOPO_SWITCH, 3, 1);
	int leaf2 = add_node(b, 0x11, "leaf-2", TOPO_SWITCH, 3, 2);
	int spine = add_node(b, 0x12, "spine", TOPO_SWITCH, 3, 3);

	topo_builder_link(b, leaf1, 1, add_node(b, 0x20, "host-1", TOPO_CA, 1, 4), 1, true);
	topo_builder_link(b, leaf2, 1, add_node(b, 0x30, "host-2", TOPO_CA, 1, 5), 1, true);
	topo_builder_link(b, leaf1, 2, spine, 1, true);
	topo_builder_link(b, leaf2, 2, spine, 2, true);
	return topo_freeze(b);
}

static int set_up(void **state)
{
	*state = make_topo();
	return 0;
}

static int tear_down(void **state)
{
	topo_unref(*state);
	return 0;
}

static struct read parse(const struct topo *t, const char *text)
{
	struct read r = { 0 };

	r.status = osm_dump_parse_lfts(t, "dump", text, strlen(text), &r.got, r.err, sizeof(r.err));
	return r;
}

static void assert_refused(const struct topo *t, const char *text, const char *reason)
{
	struct read r = parse(t, text);

	assert_int_equal(r.status, -EINVAL);
	assert_string_equal(r.err, reason);
	assert_null(r.got.lids);
	assert_null(r.got.tables.lft);
}

#define HEAD(lid, guid, name)                                                                      \
	"Unicast lids [0-5] of switch Lid " lid " guid 0x00000000000000" guid " ('" name "'):\n"
#define LEAF_1 HEAD("1", "10", "leaf-1")
#define HOST_1 " # Channel Adapter portguid 0x0000000000000021: 'host-1'\n"
#define HOST_2 " # Channel Adapter portguid 0x0000000000000031: 'host-2'\n"

/* ---- What is read ---------------------------------------------------------------------------- */

static const char whole[] = LEAF_1
	"0x0001 000 # Switch portguid 0x0000000000000010: 'leaf-1'\n"
	"0x0002 002 # Switch portguid 0x0000000000000011: 'leaf-2'\n"
	"0x0003 002 # Switch portguid 0x0000000000000012: 'spine'\n"
	"0x0004 001" HOST_1 "0x0005 002" HOST_2 "5 lids dumped\n" HEAD(
		"2", "11", "leaf-2") "0x0001 002 # Switch portguid 0x0000000000000010: 'leaf-1'\n"
				     "0x0002 000 # Switch portguid 0x0000000000000011: 'leaf-2'\n"
				     "0x0003 002 # Switch portguid 0x0000000000000012: 'spine'\n"
				     "0x0004 002" HOST_1 "0x0005 001" HOST_2 "5 lids dumped\n" HEAD(
					     "3", "12", "spine") "0x0001 001 # Switch portguid "
								 "0x0000000000000010: 'leaf-1'\n"
								 "0x0002 002 # Switch portguid "
								 "0x0000000000000011: 'leaf-2'\n"
								 "0x0003 000 # Switch portguid "
								 "0x0000000000000012: 'spine'\n"
								 "0x0004 001" HOST_1
								 "0x0005 002" HOST_2
								 "5 lids dumped\n";

static void tables_and_owners_are_read(void **state)
{
	const struct topo *t = *state;
	struct read r = parse(t, whole);
	struct check_report proof;

	assert_string_equal(r.err, "");
	assert_int_equal(r.status, 0);
	assert_int_equal(r.got.lids->top, 5);
	assert_int_equal(r.got.lids->lid_of_port[topo_find_port(t, 0x31)], 5);
	assert_int_equal(r.got.lids->port_of_lid[4], topo_find_port(t, 0x21));
	assert_int_equal(r.got.lids->without_lid, 0);
	assert_int_equal(r.got.lids->lmc, 0);
	assert_int_equal(tables_row(&r.got.tables, 1)[4], 2);
	assert_true(check_tables(t, r.got.lids, &r.got.tables, &proof));
	assert_int_equal(proof.reachable, 2);
	assert_int_equal(r.got.without_table, 0);
	osm_tables_fini(&r.got);
}

static void ibroute_is_read_too(void **state)
{
	static const char text[] =
		"Unicast lids [0x0-0x5] of switch Lid 1 guid 0x0000000000000010 (leaf-1):\n"
		"  Lid  Out   Destination\n"
		"       Port     Info \n"
		"0x0004 001 : (Channel Adapter portguid 0x0000000000000021: 'host-1')\n"
		"0x0005 002 : (Channel Adapter portguid 0x0000000000000031: 'host-2')\r\n"
		"\n2 valid lids dumped \n";
	struct read r = parse(*state, text);

	assert_string_equal(r.err, "");
	assert_int_equal(tables_row(&r.got.tables, 0)[5], 2);
	assert_int_equal(r.got.lids->lid_of_port[topo_find_port(*state, 0x21)], 4);
	assert_int_equal(r.got.without_table, 2);
	assert_int_equal(tables_row(&r.got.tables, 2)[5], TABLES_NO_ROUTE);
	osm_tables_fini(&r.got);
}

static void lids_without_a_remark_are_those_that_ports_hold(void **state)
{
	struct read r = parse(*state, LEAF_1 "0x0004 001 # unknown node and type\n0x0005 002\n");

	assert_int_equal(r.status, 0);
	assert_int_equal(r.got.lids->port_of_lid[5], topo_find_port(*state, 0x31));
	assert_int_equal(tables_row(&r.got.tables, 0)[4], 1);
	osm_tables_fini(&r.got);
}

static void what_nobody_owns_is_dropped(void **state)
{
	struct topo_builder *b = topo_builder_from(*state);
	struct topo *t;
	struct read r;

	for (unsigned n = 3; n < 5; n++)
		topo_builder_port(b, (int)n, 1, &(struct topo_port){ .guid = 0x21 + (n - 3) * 16 });
	t = topo_freeze(b);
	r = parse(t, LEAF_1 "0x0004 001 # unknown node and type\n0x0005 002" HOST_2);
	assert_int_equal(r.status, 0);
	assert_int_equal(tables_row(&r.got.tables, 0)[4], TABLES_NO_ROUTE);
	assert_int_equal(tables_row(&r.got.tables, 0)[5], 2);
	assert_int_equal(r.got.lids->port_of_lid[4], TOPO_NONE);
	osm_tables_fini(&r.got);
	topo_unref(t);
}

static void several_lids_of_a_port_make_the_lmc(void **state)
{
	struct read r = parse(*state, LEAF_1 "0x0004 001" HOST_1 "0x0005 001" HOST_1);

	assert_int_equal(r.status, 0);
	assert_int_equal(r.got.lids->lmc, 1);
	assert_int_equal(r.got.lids->lid_of_port[topo_find_port(*state, 0x21)], 4);
	osm_tables_fini(&r.got);
}

/* ---- What is refused ------------------------------------------------------------------------- */

static void a_dump_of_another_fabric_is_refused(void **state)
{
	assert_refused(*state, LEAF_1 HEAD("7", "77", "other"),
		       "dump:2: no switch 0x0000000000000077 in the fabric");
	assert_refused(*state, LEAF_1 "0x0004 009" HOST_1, "dump:2: leaf-1 has no port 9");
	assert_refused(*state, LEAF_1 "0x0004 001 # Switch portguid 0x0000000000000099: 'x'\n",
		       "dump:2: no port 0x0000000000000099 in the fabric");
	assert_refused(*state, LEAF_1 "0x0004 001" HOST_1 "0x0004 002" HOST_2,
		       "dump:3: LID 4 has two owners, 0x0000000000000021 and 0x0000000000000031");
	assert_refused(*state, LEAF_1 LEAF_1,
		       "dump:2: a second table of switch 0x0000000000000010");
}

static void broken_lines_are_named(void **state)
{
	assert_refused(*state, "", "dump:0: no table of any switch");
	assert_refused(*state, "\n0x0004 001\n", "dump:2: an entry before any heading");
	assert_refused(*state, "Unicast lids [0-5] of switch\n",
		       "dump:1: heading without LIDs [FIRST-LAST] and guid");
	assert_refused(*state, "Unicast lids [0-65535] of switch Lid 1 guid 0x10 (x):\n",
		       "dump:1: LID 65535 is not a unicast LID");
	assert_refused(*state, LEAF_1 "0x0006 001\n", "dump:2: LID 6 is beyond the heading's");
	assert_refused(*state, LEAF_1 "0x0004\n", "dump:2: an entry begins with 0xLID and a port");
	assert_refused(*state, LEAF_1 "0x0004 x\n", "dump:2: LID 4 without a port number");
	assert_refused(*state, LEAF_1 "0x0004 1x\n", "dump:2: LID 4 without a port number");
	assert_refused(*state, LEAF_1 "what?\n", "dump:2: neither a heading nor an entry");
	assert_refused(*state, "Multicast mlids [0xc000-0xc3ff] of switch\n",
		       "dump:1: multicast tables");
}

static void a_missing_file_is_named(void **state)
{
	struct osm_tables out;
	char err[256];

	assert_int_equal(osm_dump_read_lfts(*state, "/nonexistent/lfts", &out, err, sizeof(err)),
			 -ENOENT);
	assert_string_equal(err, "/nonexistent/lfts: No such file or directory");
}

/* ---- There and back -------------------------------------------------------------------------- */

static char *dump(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		  size_t *len)
{
	const struct osm_dump_view view = { t, lids, tables, NULL };
	char *text;
	FILE *out = open_memstream(&text, len);

	assert_int_equal(osm_dump_find("opensm-lfts.dump")->write(&view, out), 0);
	fclose(out);
	return text;
}

static void what_fmd_writes_comes_back_the_same(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct topo *intact = damage_random_pgft(seed);
		struct topo *t = damage_links(intact, seed % 20, seed);
		struct lid_map *lids = lid_plan(t, NULL, 0);
		struct route *route = route_new();
		struct tables tables = { 0 };
		struct read r = { 0 };
		size_t len;
		char *text;

		assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
		text = dump(t, lids, &tables, &len);
		r.status = osm_dump_parse_lfts(t, "dump", text, len, &r.got, r.err, sizeof(r.err));
		assert_string_equal(r.err, "");
		assert_int_equal(r.got.lids->top, lids->top);
		assert_memory_equal(r.got.lids->port_of_lid, lids->port_of_lid,
				    (lids->top + 1u) * sizeof(*lids->port_of_lid));
		assert_memory_equal(r.got.lids->lid_of_port, lids->lid_of_port,
				    lids->nports * sizeof(*lids->lid_of_port));
		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			assert_memory_equal(tables_row(&r.got.tables, sw) + 1,
					    tables_row(&tables, sw) + 1, lids->top);
		osm_tables_fini(&r.got);
		free(text);
		tables_fini(&tables);
		route_free(route);
		lid_map_free(lids);
		topo_unref(t);
		topo_unref(intact);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tables_and_owners_are_read),
		TEST(ibroute_is_read_too),
		TEST(lids_without_a_remark_are_those_that_ports_hold),
		TEST(what_nobody_owns_is_dropped),
		TEST(several_lids_of_a_port_make_the_lmc),
		TEST(a_dump_of_another_fabric_is_refused),
		TEST(broken_lines_are_named),
		TEST(a_missing_file_is_named),
		TEST(what_fmd_writes_comes_back_the_same),
	};

	return cmocka_run_group_tests_name("lfts_read", tests, NULL, NULL);
}
