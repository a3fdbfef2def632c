/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* netfile: every form of line, every error by file and line, and read(write(t)) equal to t. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/lib/fabrics.h"
#include "tests/lib/topo_equal.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/topo_builder.h"

static void assert_error(const char *text, const char *expected)
{
	char err[512] = "";
	struct topo *t = netfile_parse("file", text, strlen(text), err, sizeof(err));

	assert_null(t);
	if (strncmp(err, expected, strlen(expected)) != 0)
		fail_msg("'%s' is not '%s..'", err, expected);
}

static const struct topo_port *port_of(const struct topo *t, const char *desc, unsigned num)
{
	return topo_port(t, (uint32_t)(node_named(t, desc) - t->nodes), num);
}

/* ---- Forms -------------------------------------------------------------------------- */

#define TWO_NODES                                                                                  \
	"vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x10\nswitchguid=0x11(11)\n"                       \
	"Switch\t4 \"S-0000000000000011\"\t\t# \"leaf 1\" enhanced port 0 lid 3 lmc 1\n"           \
	"[2]\t\"H-0000000000000020\"[1](21) \t\t# \"node-1 HCA-1\" lid 5 4xHDR\n\n"                \
	"vendid=0x2c9\ndevid=0x101b\nsysimgguid=0x20\ncaguid=0x20\n"                               \
	"Ca\t1 \"H-0000000000000020\"\t\t# \"node-1 HCA-1\"\n"                                     \
	"[1](21) \t\"S-0000000000000011\"[2]\t\t# lid 5 lmc 0 \"leaf 1\" lid 3 4xHDR\n"

static void what_ibnetdiscover_prints_is_read(void **state)
{
	struct topo *t = parse_netfile("#\n# Topology file: generated on Tue\n#\n" TWO_NODES);
	const struct topo_node *leaf = node_named(t, "leaf 1"), *ca = node_named(t, "node-1 HCA-1");
	const struct topo_port *port = port_of(t, "node-1 HCA-1", 1);

	assert_int_equal(leaf->guid, 0x11);
	assert_int_equal(leaf->sys_guid, 0x10);
	assert_int_equal(leaf->vendor, 0x2c9);
	assert_int_equal(leaf->device, 0xd2f0);
	assert_true(leaf->enhanced_port0);
	assert_int_equal(port_of(t, "leaf 1", 0)->lid, 3);
	assert_int_equal(port_of(t, "leaf 1", 0)->lmc, 1);
	assert_int_equal(ca->guid, 0x20);
	assert_int_equal(port->guid, 0x21);
	assert_int_equal(port->lid, 5);
	assert_int_equal(port->speed, TOPO_HDR);
	assert_int_equal(port->width, 4);
	assert_int_equal(port->mtu, 5);
	assert_ptr_equal(topo_peer(t, port), port_of(t, "leaf 1", 2));
	topo_unref(t);
}

static void all_links_are_up_and_ports_init(void **state)
{
	struct topo *t = parse_netfile(TWO_NODES);

	assert_int_equal(t->nlinks, 1);
	assert_int_equal(t->nlinks_down, 0);
	assert_int_equal(port_of(t, "leaf 1", 2)->state, TOPO_INIT);
	assert_true(port_of(t, "leaf 1", 2)->link_up);
	assert_int_equal(port_of(t, "leaf 1", 1)->state, TOPO_DOWN);
	assert_int_equal(port_of(t, "leaf 1", 0)->state, TOPO_ACTIVE);
	topo_unref(t);
}

static void chassis_remarks_and_external_ports_are_read(void **state)
{
	struct topo *t = parse_netfile(
		"\nChassis 1 (guid 0x2c9)\n\nSpine Nodes\n\n"
		"sysimgguid=0x8f104\t\t# Chassis 1 slot 3\n"
		"switchguid=0x11(11)\t\t# ISR9288 Spine 1 Chip 1\n"
		"Switch\t4 \"S-0000000000000011\"\t\t# \"a\" base port 0 lid 0 lmc 0\n"
		"[1][ext 5]\t\"S-0000000000000012\"[2][ext 7]\t\t# \"b\" lid 0 4xQDR\n"
		"Line Nodes\nChassis Switches\nNon-Chassis Nodes\n"
		"switchguid=0x12(12)\n"
		"Switch\t4 \"S-0000000000000012\"\t\t# \"b\" base port 0 lid 0 lmc 0\n");

	assert_int_equal(node_named(t, "a")->guid, 0x11);
	assert_int_equal(node_named(t, "a")->sys_guid, 0x8f104);
	assert_ptr_equal(topo_peer(t, port_of(t, "a", 1)), port_of(t, "b", 2));
	topo_unref(t);
}

static void hand_made_files_need_no_guids_and_no_remarks(void **state)
{
	struct topo *t = parse_netfile("Switch 8 \"sw 1\"\n[1] \"Hca1\"[2]\n[0x2]\t\"Hca2\"\n"
				       "Hca 2 \"Hca1\"\n[2] \"sw 1\"[1]\nCa 0x2 \"Hca2\"\r\n");
	const struct topo_node *ca = node_named(t, "Hca1");

	assert_int_equal(t->nlinks, 2);
	assert_ptr_equal(topo_peer(t, port_of(t, "sw 1", 1)), port_of(t, "Hca1", 2));
	assert_ptr_equal(topo_peer(t, port_of(t, "sw 1", 2)), port_of(t, "Hca2", 1));
	assert_int_equal(ca->guid >> 56, 0xfa); /* locally administered */
	assert_int_equal(ca->guid & 0xff, 0);
	assert_int_equal(port_of(t, "Hca1", 2)->guid, ca->guid + 2);
	topo_unref(t);
}

static void a_guid_made_from_a_name_stays(void **state)
{
	struct topo *t = parse_netfile("Switch 1 \"Switch1\"\n");

	assert_int_equal(t->nodes[0].guid, 0xfabee1fb42ef0500); /* saved LID maps hang on it */
	topo_unref(t);
}

static void the_guid_line_counts_before_the_name(void **state)
{
	struct topo *t =
		parse_netfile("switchguid=0x77\nSwitch 2 \"S-0002c90200000010\" # \"a\"\n"
			      "Switch 2 \"S-0002c90200000020\" # \"b\"\n"
			      "Switch 2 \"S-20\" # \"c\"\n"
			      "switchguid=2c90a\nSwitch 2 \"d\"\nswitchguid=100\nSwitch 2 \"e\"\n");

	assert_int_equal(node_named(t, "a")->guid, 0x77);
	assert_int_equal(node_named(t, "b")->guid, 0x0002c90200000020);
	assert_int_equal(node_named(t, "c")->guid >> 56, 0xfa); /* a short name is only a name */
	assert_int_equal(node_named(t, "d")->guid, 0x2c90a);
	assert_int_equal(node_named(t, "e")->guid, 100); /* decimal, as ibsim takes it */
	topo_unref(t);
}

static void options_and_defaults_of_ibsim_are_read(void **state)
{
	struct topo *t = parse_netfile(
		"width=1\nspeed=2\nSwitch 8 \"s\"\n[1] \"h\"[1]\n[2] \"h\"[2] w=12 s=4\n"
		"[3] \"h\"[3] w=2 e=4\n[4] \"s\"[5]\nCa 3 \"h\"\n");

	assert_int_equal(port_of(t, "s", 1)->width, 1);
	assert_int_equal(port_of(t, "s", 1)->speed, TOPO_DDR);
	assert_int_equal(port_of(t, "s", 2)->width, 12);
	assert_int_equal(port_of(t, "s", 2)->speed, TOPO_QDR);
	assert_int_equal(port_of(t, "h", 3)->width, 4); /* said at the other end */
	assert_int_equal(port_of(t, "h", 3)->speed, TOPO_HDR);
	topo_unref(t);
}

static void ibsims_dump_is_read(void **state)
{
	struct topo *t = parse_netfile(
		"# Net status - Fri Nov 20\n\nSwitch 3 \"S1\"\tnodeguid 200000\tsysimgguid 200001\n"
		"#\tlinearcap 30720 FDBtop 0 portchange 1\n"
		"200000\t[0]\t\"Sma Port\"[0]\t lid 3 lmc 0 smlid 1  4x  2.5G Active/LinkUp\n"
		"200000\t[1]\t\"H1\"[1]\t  4x  14G Init/LinkUp\n"
		"200000\t[2]\t\t\t  4x  2.5G Down/Polling\n\n"
		"Ca 2 \"H1\"\tnodeguid 100000\tsysimgguid 100000\n"
		"10000a\t[1]\t\"S1\"[1]\t lid 4 lmc 2 smlid 1  4x  14G Init/LinkUp\n"
		"10000b\t[2]\t\t\t lid 0 lmc 0 smlid 0  4x  2.5G Down/Polling\n#  dumped 2 "
		"nodes\n");

	assert_int_equal(node_named(t, "S1")->guid, 0x200000);
	assert_int_equal(node_named(t, "S1")->sys_guid, 0x200001);
	assert_int_equal(port_of(t, "S1", 0)->lid, 3);
	assert_int_equal(t->nlinks, 1);
	assert_int_equal(port_of(t, "H1", 1)->guid, 0x10000a);
	assert_int_equal(port_of(t, "H1", 1)->lid, 4);
	assert_int_equal(port_of(t, "H1", 1)->lmc, 2);
	assert_int_equal(port_of(t, "H1", 1)->speed, TOPO_FDR);
	assert_int_equal(port_of(t, "H1", 2)->guid, 0x10000b);
	topo_unref(t);
}

static void a_link_may_be_written_at_one_end(void **state)
{
	struct topo *t =
		parse_netfile("Switch 4 \"s\" # \"s\" base port 0 lid 2 lmc 0\n"
			      "[1] \"h\"[1](abc) # \"h\" lid 9 4xEDR\nCa 1 \"h\" # \"h\"\n");

	assert_int_equal(port_of(t, "h", 1)->guid, 0xabc);
	assert_int_equal(port_of(t, "h", 1)->lid, 9);
	assert_int_equal(port_of(t, "h", 1)->speed, TOPO_EDR);
	topo_unref(t);
}

static void each_end_keeps_what_its_own_line_says(void **state)
{
	struct topo *t =
		parse_netfile("Switch 4 \"s\"\n[1] \"h\"[1](abc) # \"h\" lid 9 4xEDR\n"
			      "Ca 1 \"h\"\n[1](def) \"s\"[1] # lid 8 lmc 1 \"s\" lid 2 1xDDR\n");

	assert_int_equal(port_of(t, "h", 1)->guid, 0xdef);
	assert_int_equal(port_of(t, "h", 1)->lid, 8);
	assert_int_equal(port_of(t, "h", 1)->speed, TOPO_DDR);
	assert_int_equal(port_of(t, "s", 1)->speed, TOPO_EDR);
	assert_int_equal(port_of(t, "s", 0)->lid, 2); /* not said in its own header */
	topo_unref(t);
}

static void descriptions_may_hold_quotes_marks_and_nothing(void **state)
{
	struct topo *t = parse_netfile(
		"Switch 4 \"a\" # \"Voltaire 4036 # 4036-8C5C\" enhanced port 0 lid 4 lmc 0\n"
		"[1] \"b\"[1] # \"the \"lid 77\" one\" lid 6 4xQDR\n"
		"Switch 4 \"b\" # \"the \"lid 77\" one\" base port 0 lid 6 lmc 0\n"
		"Switch 4 \"c\" # without quotes base port 0 lid 8 lmc 0\n"
		"Switch 4 \"d\" # \"\" base port 0 lid 0 lmc 0\n");

	assert_true(node_named(t, "Voltaire 4036 # 4036-8C5C")->enhanced_port0);
	assert_int_equal(port_of(t, "the \"lid 77\" one", 0)->lid, 6);
	assert_int_equal(port_of(t, "without quotes", 0)->lid, 8);
	assert_false(node_named(t, "")->enhanced_port0);
	topo_unref(t);
}

static void aggregation_nodes_are_no_hosts(void **state)
{
	struct topo *t =
		parse_netfile("Switch 41 \"s\"\n[41] \"an\"[1]\n"
			      "Ca 1 \"an\" # \"Mellanox Technologies Aggregation Node\"\n");

	assert_true(node_named(t, "Mellanox Technologies Aggregation Node")->sharp);
	assert_int_equal(t->ncas, 0);
	assert_int_equal(t->nhosts, 0);
	topo_unref(t);
}

static void routers_are_read(void **state)
{
	struct topo *t =
		parse_netfile("rtguid=0x99\nRt\t2 \"R-0000000000000099\"\t\t# \"gateway\"\n");

	assert_int_equal(node_named(t, "gateway")->type, TOPO_ROUTER);
	assert_int_equal(node_named(t, "gateway")->guid, 0x99);
	topo_unref(t);
}

/* ---- Errors ------------------------------------------------------------------------- */

static void what_is_no_topology_is_refused(void **state)
{
	char err[256];

	assert_error("", "file:1: not a topology: empty");
	assert_error("# nothing\n\n#\n", "file:3: not a topology: no node in it");
	assert_error("vendid=0x2c9\n", "file:1: not a topology: no node in it");
	assert_error("#!/bin/sh\necho hello\n", "file:2: line not understood: 'echo hello'");
	assert_error("\x7f"
		     "ELF\x01\x02\n",
		     "file:1: line not understood: '.ELF..'");
	assert_null(netfile_parse("file", "Switch\0", 7, err, sizeof(err)));
	assert_string_equal(err, "file:1: not text: a zero byte");
}

static void lines_that_are_not_understood_are_refused(void **state)
{
	assert_error("Switch 4 \"a\"\nfoo=3\n", "file:2: line not understood: 'foo=3'");
	assert_error("Switch 4 \"a\"\n[1\n", "file:2: line not understood: '[1'");
	assert_error("Switch 4 \"a\"\n[1]\n", "file:2: port 1 wants a peer in quotes");
	assert_error("Switch 4 \"a\"\n[1] \"b\"[x]\n", "file:2: line not understood: '[x]'");
	assert_error("Switch 4 a\n", "file:1: a node wants a name in quotes");
	assert_error("Switch 4 \"a\n", "file:1: a node wants a name in quotes");
	assert_error("Switch 4 \"\"\n", "file:1: a node wants a name in quotes");
	assert_error("Switch 4 \"a\" and more\n", "file:1: line not understood: 'and more'");
	assert_error("Switch \"a\"\n", "file:1: a node wants its number of ports");
	assert_error("vendid=\n", "file:1: vendid= wants a number");
	assert_error("vendid=12z\n", "file:1: vendid= wants a number");
	assert_error("devid=0x10000\n", "file:1: devid=0x10000 is out of range");
	assert_error("caguid=0x123456789abcdef01\n", "file:1: caguid= wants a number");
	assert_error("include \"other.net\"\n", "file:1: 'include ' is ibsim's own");
}

static void lines_that_are_too_long_are_refused(void **state)
{
	char *text = mem_alloc(1200, 1), *name = mem_alloc(200, 1);

	memset(text, '#', 1100);
	assert_error(text, "file:1: a line of 1100 bytes, more than 1024");
	memset(name, 'x', 65);
	sprintf(text, "Switch 4 \"%s\"\n", name);
	assert_error(text, "file:1: a node's name has at most 64 bytes");
	free(text);
	free(name);
}

static void ports_outside_their_node_are_refused(void **state)
{
	assert_error("Switch 0 \"a\"\n", "file:1: a node has 1 to 254 ports, not 0");
	assert_error("Switch 255 \"a\"\n", "file:1: a node has 1 to 254 ports, not 255");
	assert_error("[1] \"a\"[1]\n", "file:1: a port before any node");
	assert_error("1f [0] \"Sma Port\"[0]\n", "file:1: a port before any node");
	assert_error("Switch 4 \"a\"\n[5] \"a\"[1]\n",
		     "file:2: port 5 is outside of node \"a\", which has ports 1 to 4");
	assert_error("Switch 4 \"a\"\n[0] \"a\"[1]\n", "file:2: port 0 is outside of node \"a\"");
	assert_error("Switch 4 \"a\"\n[99999999999] \"a\"[1]\n",
		     "file:2: port 99999999999 is outside");
	assert_error("Switch 4 \"a\"\n[1] \"b\"[3]\nCa 2 \"b\"\n",
		     "file:2: a link to port 3 of \"b\", which has ports 1 to 2");
	assert_error("Switch 4 \"a\"\n[1] \"b\"[300]\nCa 2 \"b\"\n",
		     "file:2: a link to port 255 of");
}

static void one_port_in_two_links_is_refused(void **state)
{
	assert_error("Switch 4 \"a\"\n[1] \"b\"[1]\n[2] \"b\"[1]\nCa 2 \"b\"\n",
		     "file:3: port 1 of \"b\" is in two links, the other in line 2");
	assert_error("Switch 4 \"a\"\n[1] \"b\"[1]\n[1] \"b\"[2]\nCa 2 \"b\"\n",
		     "file:3: port 1 of \"a\" is in two links, the other in line 2");
	assert_error("Switch 4 \"a\"\n[1] \"b\"[1]\nCa 2 \"b\"\n[1] \"a\"[2]\n",
		     "file:4: port 1 of \"b\" is in two links, the other in line 2");
	assert_error("Switch 4 \"a\"\n[1] \"a\"[1]\n",
		     "file:2: port 1 of \"a\" is linked to itself");
}

static void a_link_to_no_node_is_refused(void **state)
{
	assert_error("Switch 4 \"a\"\n\n[1] \"nowhere\"[1]\n",
		     "file:3: a link to \"nowhere\", which is defined nowhere");
}

static void nodes_defined_twice_are_refused(void **state)
{
	assert_error("switchguid=0x5\nSwitch 4 \"a\"\ncaguid=0x5\nCa 1 \"b\"\n",
		     "file:4: two nodes with GUID 0x0000000000000005, the other one in line 2");
	assert_error("Switch 4 \"a\"\nSwitch 4 \"a\"\n",
		     "file:2: node \"a\" is defined twice, first in line 1");
}

static void files_that_cannot_be_read_say_why(void **state)
{
	char err[256];

	assert_null(netfile_read("/nonexistent/x.net", err, sizeof(err)));
	assert_string_equal(err, "/nonexistent/x.net: No such file or directory");
	assert_null(netfile_read("/tmp", err, sizeof(err)));
	assert_string_equal(err, "/tmp: Is a directory");
}

/* ---- Writing ------------------------------------------------------------------------ */

static char *written(const struct topo *t)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(netfile_write(t, out), 0);
	fclose(out);
	return text;
}

static void assert_round_trip(const struct topo *t)
{
	char *text = written(t);
	struct topo *again = parse_netfile(text);

	assert_same_topo(t, again);
	topo_unref(again);
	free(text);
}

static void every_generated_fabric_comes_back_the_same(void **state)
{
	char *fabrics[][5] = {
		{ "superpod", "--su", "1" },
		{ "superpod", "--su", "9" },
		{ "superpod", "--su", "2", "--system", "a100" },
		{ "superpod", "--su", "7", "--system", "a100" },
		{ "superpod", "--su", "3", "--system", "b200" },
		{ "pgft", "3", "4,4,3", "1,4,2", "1,1,2" },
		{ "pgft", "1", "5", "1", "2" },
	};

	for (size_t i = 0; i < sizeof(fabrics) / sizeof(fabrics[0]); i++) {
		char err[256] = "";
		struct topo *t =
			generate_parse(fabrics[i][3] ? 5 : 3, fabrics[i], err, sizeof(err));

		if (!t)
			fail_msg("%s", err);
		assert_round_trip(t);
		topo_unref(t);
	}
}

static void every_form_comes_back_the_same(void **state)
{
	static const char *const texts[] = {
		TWO_NODES,
		"Switch 8 \"sw 1\"\n[1] \"Hca1\"[2]\n[3] \"sw 1\"[4] w=1 s=1\nHca 2 \"Hca1\"\n",
		"Switch 4 \"a\" # \"the \"lid 77\" one\" base port 0 lid 4 lmc 0\n[1] \"b\"[1]\nRt "
		"2 \"b\"\n",
		"Ca 2 \"a\" # \"\"\n[1] \"b\"[1](77) # lid 3 lmc 2 \"\" lid 4 12xFDR10\nCa 1 \"b\" "
		"# \"\"\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct topo *t = parse_netfile(texts[i]);

		assert_round_trip(t);
		topo_unref(t);
	}
}

static void every_irregular_fabric_comes_back_the_same(void **state)
{
	for (size_t i = 0; i < IRREGULARS; i++) {
		struct topo *t = irregular_fabric(i);

		if (!t)
			continue;
		assert_int_equal(t->nlinks, irregulars[i].links);
		assert_round_trip(t);
		topo_unref(t);
	}
}

static void a_down_link_is_not_written(void **state)
{
	struct topo *t = parse_netfile(TWO_NODES), *cut;
	struct topo_builder *b = topo_builder_from(t);
	char *text;

	assert_int_equal(topo_builder_link_down(b, 0, 2), 0);
	topo_unref(t);
	t = topo_freeze(b);
	text = written(t);
	assert_null(strstr(text, "\n["));
	cut = parse_netfile(text);
	assert_int_equal(cut->nlinks, 0);
	topo_unref(cut);
	topo_unref(t);
	free(text);
}

/* ibsim 0.10 reads at most 255 bytes of a line. */
static void no_written_line_is_too_long_for_ibsim(void **state)
{
	char name[65] = "", text[1024], *out;
	struct topo *t;

	memset(name, 'W', 64);
	snprintf(text, sizeof(text),
		 "Switch 254 \"a\" # \"%s\" enhanced port 0 lid 49151 lmc 7\n[254] \"b\"[254]\n"
		 "Ca 254 \"b\" # \"%s\"\n[254] \"a\"[254] # lid 49151 lmc 7 \"\" lid 49151 "
		 "12xFDR10\n",
		 name, name);
	t = parse_netfile(text);
	out = written(t);
	for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) < 254);
	free(out);
	topo_unref(t);
}

static void a_full_disk_is_reported(void **state)
{
	char err[128];
	struct topo *t = generate_superpod(GENERATE_H100, 1, true, err, sizeof(err));
	FILE *out = fopen("/dev/full", "w");

	assert_non_null(out);
	assert_int_equal(netfile_write(t, out), -28); /* ENOSPC */
	fclose(out);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_ibnetdiscover_prints_is_read),
		cmocka_unit_test(all_links_are_up_and_ports_init),
		cmocka_unit_test(chassis_remarks_and_external_ports_are_read),
		cmocka_unit_test(hand_made_files_need_no_guids_and_no_remarks),
		cmocka_unit_test(a_guid_made_from_a_name_stays),
		cmocka_unit_test(the_guid_line_counts_before_the_name),
		cmocka_unit_test(options_and_defaults_of_ibsim_are_read),
		cmocka_unit_test(ibsims_dump_is_read),
		cmocka_unit_test(a_link_may_be_written_at_one_end),
		cmocka_unit_test(each_end_keeps_what_its_own_line_says),
		cmocka_unit_test(descriptions_may_hold_quotes_marks_and_nothing),
		cmocka_unit_test(aggregation_nodes_are_no_hosts),
		cmocka_unit_test(routers_are_read),
		cmocka_unit_test(what_is_no_topology_is_refused),
		cmocka_unit_test(lines_that_are_not_understood_are_refused),
		cmocka_unit_test(lines_that_are_too_long_are_refused),
		cmocka_unit_test(ports_outside_their_node_are_refused),
		cmocka_unit_test(one_port_in_two_links_is_refused),
		cmocka_unit_test(a_link_to_no_node_is_refused),
		cmocka_unit_test(nodes_defined_twice_are_refused),
		cmocka_unit_test(files_that_cannot_be_read_say_why),
		cmocka_unit_test(every_generated_fabric_comes_back_the_same),
		cmocka_unit_test(every_form_comes_back_the_same),
		cmocka_unit_test(every_irregular_fabric_comes_back_the_same),
		cmocka_unit_test(a_down_link_is_not_written),
		cmocka_unit_test(no_written_line_is_too_long_for_ibsim),
		cmocka_unit_test(a_full_disk_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
