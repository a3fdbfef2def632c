/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* dump: what people, Slurm, ibutils, Graphviz and scripts read, in whole lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/lib/fabrics.h"
#include "topology/files/dump.h"
#include "topology/generate/generate.h"
#include "topology/base/names.h"
#include "topology/base/mem.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/topo_builder.h"

typedef int dump_fn(const struct topo *t, FILE *out);

/* As its hosts are called. */
static int slurm(const struct topo *t, FILE *out)
{
	return dump_slurm(t, NULL, false, out);
}

static char *dumped(const struct topo *t, dump_fn *dump)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(dump(t, out), 0);
	fclose(out);
	return text;
}

static void assert_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *p = text; (p = strstr(p, line)); p++)
		if ((p == text || p[-1] == '\n') && (p[len] == '\n' || !p[len]))
			return;
	fail_msg("no line '%s' in:\n%s", line, text);
}

static unsigned count_of(const char *text, const char *word)
{
	unsigned n = 0;

	for (const char *p = text; (p = strstr(p, word)); p++)
		n++;
	return n;
}

static struct topo *small(void)
{
	return parse_netfile(
		"Switch 4 \"S-0000000000000001\" # \"leaf {1}\" enhanced port 0 lid 10 lmc 0\n"
		"[1] \"H-0000000000000101\"[1](102) # \"n1 HCA-1\" lid 11 4xHDR\n"
		"[2] \"S-0000000000000002\"[1] # \"MF0;spine-2:X/U1\" lid 12 4xQDR\n"
		"vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x9\n"
		"Switch 4 \"S-0000000000000002\" # \"MF0;spine-2:X/U1\" base port 0 lid 12 lmc 0\n"
		"Ca 1 \"H-0000000000000101\" # \"n1 HCA-1\"\n"
		"[1](102) \"S-0000000000000001\"[1] # lid 11 lmc 0 \"leaf {1}\" lid 10 4xHDR\n");
}

static struct topo *with_link_down(struct topo *t, int node, unsigned port)
{
	struct topo_builder *b = topo_builder_from(t);

	assert_int_equal(topo_builder_link_down(b, node, port), 0);
	topo_unref(t);
	return topo_freeze(b);
}

/* ---- Text --------------------------------------------------------------------------- */

static void text_goes_from_the_top_tier_to_the_hosts(void **state)
{
	struct topo *t = pod(2);
	char *text = dumped(t, dump_text);

	assert_line(text, "24 switches in 2 tiers, 8 spine, 16 leaf; 512 HCAs in 64 hosts, 24 "
			  "aggregation nodes; 1024 links, 0 down");
	assert_line(text, "tier 2: spine switches");
	assert_line(text, "scalable unit 2");
	assert_line(text, "  leaf-su02-rail3                  0x0002c90300000c00  lid 0      64 of "
			  "64 ports up, rail 3");
	assert_line(text, "    32 hosts: dgx-su02-[01-32]");
	assert_true(strstr(text, "spine-08") < strstr(text, "scalable unit 1"));
	free(text);
	topo_unref(t);
}

static void text_names_what_is_down(void **state)
{
	struct topo *t = with_link_down(pod(1), 0, 33);
	char *text = dumped(t, dump_text);

	assert_line(text, "12 switches in 2 tiers, 4 spine, 8 leaf; 256 HCAs in 32 hosts, 12 "
			  "aggregation nodes; 512 links, 1 down");
	assert_line(text, "  leaf-su01-rail0 p33 - spine-01 p1");
	assert_non_null(strstr(text, "63 of 64 ports up, rail 0, 1 down"));
	free(text);
	topo_unref(t);
}

/* ---- opensm-subnet.lst -------------------------------------------------------------- */

static void lst_has_one_line_for_each_end_of_a_cable(void **state)
{
	struct topo *t = small();
	char *text = dumped(t, dump_lst);

	assert_int_equal(count_of(text, "\n"), 4);
	assert_line(text, "{ SW Ports:04 SystemGUID:0000000000000001 NodeGUID:0000000000000001 "
			  "PortGUID:0000000000000001 "
			  "VenID:000000 DevID:0000 Rev:00000000 {leaf .1.} LID:000A PN:01 } "
			  "{ CA Ports:01 SystemGUID:0000000000000101 NodeGUID:0000000000000101 "
			  "PortGUID:0000000000000102 "
			  "VenID:000000 DevID:0000 Rev:00000000 {n1 HCA-1} LID:000B PN:01 } PHY=4x "
			  "LOG=INI SPD=50");
	assert_line(text,
		    "{ SW Ports:04 SystemGUID:0000000000000009 NodeGUID:0000000000000002 "
		    "PortGUID:0000000000000002 "
		    "VenID:0002C9 DevID:D2F0 Rev:00000000 {MF0;spine-2:X/U1} LID:000C PN:01 } "
		    "{ SW Ports:04 SystemGUID:0000000000000001 NodeGUID:0000000000000001 "
		    "PortGUID:0000000000000001 "
		    "VenID:000000 DevID:0000 Rev:00000000 {leaf .1.} LID:000A PN:02 } PHY=4x "
		    "LOG=INI SPD=10");
	free(text);
	topo_unref(t);
}

/* ibutils' own parser must count every node. */
static void lst_is_what_ibdmchk_reads(void **state)
{
	char dir[] = "/tmp/fmd-lst-XXXXXX", *command, line[256];
	struct topo *t = pod(1), *lids;
	struct topo_builder *b = topo_builder_from(t);
	bool found = false;
	FILE *out;

	if (access("/usr/bin/ibdmchk", X_OK) != 0)
		skip();
	for (uint32_t p = 0; p < t->nports; p++)
		if (t->ports[p].guid) {
			struct topo_port attr = { .guid = t->ports[p].guid,
						  .state = TOPO_ACTIVE,
						  .speed = TOPO_NDR,
						  .width = 4,
						  .lid = (uint16_t)(p + 1) };

			topo_builder_port(b, (int)t->ports[p].node, t->ports[p].num, &attr);
		}
	lids = topo_freeze(b);
	assert_non_null(mkdtemp(dir));
	command = mem_printf("cd %s && : > none && ibdmchk -s lst -f none -m none 2>&1; rm -rf %s",
			     dir, dir);
	line[0] = '\0';
	snprintf(line, sizeof(line), "%s/lst", dir);
	out = fopen(line, "w");
	assert_int_equal(dump_lst(lids, out), 0);
	fclose(out);
	out = popen(command, "r");
	while (fgets(line, sizeof(line), out))
		found = found || strstr(line, "Defined 280/280 systems/nodes");
	pclose(out);
	assert_true(found);
	free(command);
	topo_unref(lids);
	topo_unref(t);
}

static void down_links_are_not_in_the_lst(void **state)
{
	struct topo *t = with_link_down(small(), 0, 2);
	char *text = dumped(t, dump_lst);

	assert_int_equal(count_of(text, "\n"), 2);
	free(text);
	topo_unref(t);
}

/* ---- Slurm -------------------------------------------------------------------------- */

static void slurm_has_each_unit_as_one_switch(void **state)
{
	struct topo *t = pod(2);
	char *text = dumped(t, slurm);

	assert_string_equal(text, "# topology.conf for TopologyPlugin=topology/tree: 64 hosts\n"
				  "SwitchName=su01 Nodes=dgx-su01-[01-32]\n"
				  "SwitchName=su02 Nodes=dgx-su02-[01-32]\n"
				  "SwitchName=tier1-1 Switches=su[01-02]\n");
	free(text);
	topo_unref(t);
}

static void slurm_has_leaves_under_what_joins_them(void **state)
{
	char err[128];
	unsigned m[] = { 2, 2, 2 }, w[] = { 1, 2, 2 };
	struct topo *t = generate_pgft(3, m, w, NULL, err, sizeof(err));
	char *text = dumped(t, slurm);

	assert_string_equal(text, "# topology.conf for TopologyPlugin=topology/tree: 8 hosts\n"
				  "SwitchName=leaf-0001 Nodes=node-[0001-0002]\n"
				  "SwitchName=leaf-0002 Nodes=node-[0003-0004]\n"
				  "SwitchName=leaf-0003 Nodes=node-[0005-0006]\n"
				  "SwitchName=leaf-0004 Nodes=node-[0007-0008]\n"
				  "SwitchName=tier1-1 Switches=leaf-[0001-0002]\n"
				  "SwitchName=tier1-2 Switches=leaf-[0003-0004]\n"
				  "SwitchName=tier2-1 Switches=tier1-[1-2]\n");
	free(text);
	topo_unref(t);
}

static void slurm_lists_every_host_once(void **state)
{
	struct topo *t = pod(9);
	char *text = dumped(t, slurm);

	assert_int_equal(count_of(text, "dgx-su"), 9);
	assert_int_equal(count_of(text, "[01-32]"), 9);
	assert_line(text, "SwitchName=tier1-1 Switches=su[01-09]");
	assert_null(strstr(text, "tier2"));
	free(text);
	topo_unref(t);
}

static void slurm_names_are_words_and_unique(void **state)
{
	struct topo *t = parse_netfile(
		"Switch 4 \"S-0000000000000001\" # \"Infiniscale Mellanox Technologies\"\n[1] "
		"\"a\"[1]\n"
		"Switch 4 \"S-0000000000000002\" # \"same\"\n[1] \"b\"[1]\n"
		"Switch 4 \"S-0000000000000003\" # \"same\"\n[1] \"c\"[1]\n"
		"Switch 4 \"S-0000000000000004\" # \"MF0;SLG04-16:MQM8700/U1\"\n[1] \"d\"[1]\n"
		"Ca 1 \"a\"\nCa 1 \"b\"\nCa 1 \"c\"\nCa 1 \"d\"\nCa 1 \"e\"\n");
	char *text = dumped(t, slurm);

	assert_line(text, "SwitchName=S-0000000000000001 Nodes=a");
	assert_line(text, "SwitchName=S-0000000000000002 Nodes=b");
	assert_line(text, "SwitchName=S-0000000000000003 Nodes=c");
	assert_line(text, "SwitchName=SLG04-16 Nodes=d");
	assert_int_equal(count_of(text, "\n"), 5); /* e has no cable; nothing joins the others */
	free(text);
	topo_unref(t);
}

static void assert_hostlist(const char *const *names, uint32_t count, const char *expected)
{
	char *text = hostlist_format(names, count);

	assert_string_equal(text, expected);
	free(text);
}

static void hostlists_are_as_short_as_slurm_takes_them(void **state)
{
	const char *plain[] = { "a", "b7", "c1-ib" }, *gaps[] = { "n01", "n02", "n04", "n10" };
	const char *widths[] = { "n8", "n9", "n10", "n11" },
		   *zeros[] = { "n08", "n9", "n010", "n11" };
	const char *mixed[] = { "a1", "a2", "b2", "b3", "c" }, *digits[] = { "1", "2", "3" };
	const char *big[] = { "n18446744073709551615", "n18446744073709551616" };

	assert_hostlist(NULL, 0, "");
	assert_hostlist(plain, 3, "a,b7,c1-ib");
	assert_hostlist(gaps, 4, "n[01-02,04,10]");
	assert_hostlist(widths, 4, "n[8-11]");
	assert_hostlist(zeros, 4, "n[08,9,010,11]");
	assert_hostlist(mixed, 5, "a[1-2],b[2-3],c");
	assert_hostlist(digits, 3, "[1-3]");
	assert_hostlist(big, 2, "n18[446744073709551615-446744073709551616]");
}

static void add_name(void *arg, const char *name)
{
	char *all = arg;

	snprintf(all + strlen(all), 256 - strlen(all), "%s ", name);
}

static void hostlists_are_read_as_slurm_writes_them(void **state)
{
	static const char *const lists[][2] = {
		{ "a,b7,c1-ib", "a b7 c1-ib " },
		{ "n[01-02,04,10]", "n01 n02 n04 n10 " },
		{ "n[8-11]", "n8 n9 n10 n11 " },
		{ "r[1-2]n[08-09]x,z", "r1n08x r1n09x r2n08x r2n09x z " },
	};
	static const char *const wrong[] = {
		"",	  "a,",	   ",a",    "a[1", "a[1-2]]",	 "a]",
		"a[2-1]", "a[1-]", "a[-1]", "a[]", "a[1-99999]", "a[x]"
	};
	char all[256];

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		*all = '\0';
		assert_true(hostlist_each(lists[i][0], add_name, all));
		assert_string_equal(all, lists[i][1]);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		*all = '\0';
		assert_false(hostlist_each(wrong[i], add_name, all));
	}
}

/* ---- JSON --------------------------------------------------------------------------- */

static const char *text_of(json_t *row, const char *key)
{
	return json_string_value(json_object_get(row, key));
}

static int number_of(json_t *row, const char *key)
{
	json_t *value = json_object_get(row, key);

	assert_true(json_is_integer(value));
	return (int)json_integer_value(value);
}

static void json_rows_have_what_scripts_ask_for(void **state)
{
	struct topo *t = pod(1);
	json_t *all = dump_json(t), *nodes = json_object_get(all, "nodes"),
	       *row = json_array_get(nodes, 3);

	assert_int_equal(json_array_size(nodes), 280);
	assert_int_equal(json_array_size(json_object_get(all, "links")), 524);
	assert_int_equal(json_array_size(json_object_get(all, "hosts")), 32);
	assert_int_equal(number_of(all, "levels"), 2);
	assert_string_equal(text_of(row, "name"), "leaf-su01-rail3");
	assert_string_equal(text_of(row, "guid"), "0x0002c90300000400");
	assert_string_equal(text_of(row, "role"), "leaf");
	assert_string_equal(text_of(row, "state"), "Init");
	assert_string_equal(text_of(row, "speed"), "NDR");
	assert_int_equal(number_of(row, "width"), 4);
	assert_int_equal(number_of(row, "rail"), 3);
	assert_int_equal(number_of(row, "su"), 0);
	assert_int_equal(number_of(row, "lid"), 0);
	assert_true(json_is_null(json_object_get(json_array_get(nodes, 9), "rail"))); /* a spine */
	json_decref(all);
	topo_unref(t);
}

static void json_switches_are_switches_only(void **state)
{
	struct topo *t = pod(1);
	json_t *rows = dump_json_nodes(t, true);

	assert_int_equal(json_array_size(rows), 12);
	json_decref(rows);
	topo_unref(t);
}

static void json_links_name_both_ends(void **state)
{
	struct topo *t = with_link_down(small(), 0, 2);
	json_t *all = dump_json_links(t, false), *down = dump_json_links(t, true);
	json_t *row = json_array_get(down, 0), *a = json_object_get(row, "a"),
	       *b = json_object_get(row, "b");

	assert_int_equal(json_array_size(all), 2);
	assert_int_equal(json_array_size(down), 1);
	assert_string_equal(text_of(a, "name"), "leaf {1}");
	assert_string_equal(text_of(a, "guid"), "0x0000000000000001");
	assert_int_equal(number_of(a, "port"), 2);
	assert_string_equal(text_of(b, "name"), "spine-2/U1");
	assert_int_equal(number_of(b, "port"), 1);
	assert_true(json_is_false(json_object_get(row, "up")));
	assert_string_equal(text_of(row, "speed"), "QDR");
	json_decref(all);
	json_decref(down);
	topo_unref(t);
}

static json_t *hosts_of(const struct topo *t)
{
	json_t *all = dump_json(t), *hosts = json_incref(json_object_get(all, "hosts"));

	json_decref(all);
	return hosts;
}

static void json_hosts_list_their_hcas_by_rail(void **state)
{
	struct topo *t = pod(1);
	json_t *rows = hosts_of(t), *row = json_array_get(rows, 4);
	json_t *hcas = json_object_get(row, "hcas");

	assert_string_equal(text_of(row, "name"), "dgx-su01-05");
	assert_string_equal(text_of(row, "role"), "host");
	assert_int_equal(json_array_size(hcas), 8);
	assert_string_equal(text_of(json_array_get(hcas, 7), "name"), "dgx-su01-05 mlx5_11");
	assert_int_equal(number_of(json_array_get(hcas, 7), "rail"), 7);
	json_decref(rows);
	topo_unref(t);
}

/*
 * A dual-port HCA with one dead port: the node is as good as its best, the host as bad as its
 * worst.
 */
static void json_nodes_show_their_best_port_and_hosts_their_worst_hca(void **state)
{
	struct topo *t =
		parse_netfile("Switch 4 \"s\"\n[1] \"h\"[2] # \"h\" lid 5 4xHDR\n[2] \"i\"[1] # "
			      "\"i\" lid 6 1xEDR\n"
			      "[3] \"j\"[1] # \"j\" lid 7 4xNDR\nCa 2 \"h\" # \"n1 HCA-1\"\n"
			      "Ca 1 \"i\" # \"n1 HCA-2\"\nCa 1 \"j\" # \"n1 HCA-3\"\n");
	json_t *nodes = dump_json_nodes(t, false), *hosts = hosts_of(t);
	json_t *host = json_array_get(hosts, 0),
	       *hca = json_array_get(json_object_get(host, "hcas"), 0);

	assert_string_equal(text_of(hca, "name"), "n1 HCA-1");
	assert_string_equal(text_of(hca, "state"), "Init");
	assert_string_equal(text_of(hca, "speed"), "HDR");
	assert_int_equal(number_of(hca, "lid"), 5);
	assert_string_equal(text_of(json_array_get(nodes, 0), "speed"), "NDR");
	assert_string_equal(text_of(host, "speed"), "EDR");
	assert_int_equal(number_of(host, "width"), 1);
	json_decref(nodes);
	json_decref(hosts);
	topo_unref(t);
}

static void bytes_that_are_no_utf8_do_not_lose_the_row(void **state)
{
	struct topo *t = parse_netfile("Switch 4 \"s\" # \"caf\xe9 \xff\"\n");
	json_t *rows = dump_json_nodes(t, false);

	assert_string_equal(text_of(json_array_get(rows, 0), "name"), "caf. .");
	json_decref(rows);
	topo_unref(t);
}

/* ---- Pictures ----------------------------------------------------------------------- */

static void dot_ranks_tiers_and_bundles_cables(void **state)
{
	struct topo *t = with_link_down(pod(1), 0, 33);
	char *text = dumped(t, dump_dot);

	assert_int_equal(count_of(text, "rank=same"), 3);
	assert_int_equal(count_of(text, " -- "), 8 * 4 + 8);
	assert_line(text, "\t\tn12 [label=\"dgx-su01-[01-32]\\n32 hosts\", shape=ellipse];");
	assert_line(text, "\tn8 -- n0 [label=\"8\", color=red];");
	assert_line(text, "\tn8 -- n1 [label=\"8\"];");
	free(text);
	topo_unref(t);
}

static void svg_shows_a_dead_line_dashed_and_escapes_names(void **state)
{
	struct topo *t = parse_netfile("Switch 4 \"s\" # \"<s> & co\"\n[1] \"h\"[1]\nCa 1 \"h\"\n");
	char *text;

	t = with_link_down(t, 0, 1);
	text = dumped(t, dump_svg);
	assert_int_equal(count_of(text, "<rect class=\"switch\""), 1);
	assert_int_equal(count_of(text, "<rect class=\"hosts\""), 1);
	assert_int_equal(count_of(text, "<line class=\"down\""), 1);
	assert_non_null(strstr(text, "&lt;s&gt; &amp; co"));
	assert_line(text, "</svg>");
	free(text);
	topo_unref(t);
}

static void svg_counts_the_links_behind_a_line(void **state)
{
	struct topo *t = with_link_down(with_link_down(pod(1), 0, 34), 0, 35);
	char *text = dumped(t, dump_svg);

	assert_non_null(strstr(text, "spine-01 - leaf-su01-rail0: 8 links, 2 down"));
	assert_int_equal(count_of(text, "<line class=\"part\""), 1);
	free(text);
	topo_unref(t);
}

static void every_dump_reports_a_full_disk(void **state)
{
	static dump_fn *const dumps[] = { dump_text, dump_dot, dump_svg, slurm, dump_lst };
	struct topo *t = pod(1);

	for (size_t i = 0; i < sizeof(dumps) / sizeof(dumps[0]); i++) {
		FILE *out = fopen("/dev/full", "w");

		assert_non_null(out);
		assert_true(dumps[i](t, out) < 0);
		fclose(out);
	}
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_goes_from_the_top_tier_to_the_hosts),
		cmocka_unit_test(text_names_what_is_down),
		cmocka_unit_test(lst_has_one_line_for_each_end_of_a_cable),
		cmocka_unit_test(lst_is_what_ibdmchk_reads),
		cmocka_unit_test(down_links_are_not_in_the_lst),
		cmocka_unit_test(slurm_has_each_unit_as_one_switch),
		cmocka_unit_test(slurm_has_leaves_under_what_joins_them),
		cmocka_unit_test(slurm_lists_every_host_once),
		cmocka_unit_test(slurm_names_are_words_and_unique),
		cmocka_unit_test(hostlists_are_as_short_as_slurm_takes_them),
		cmocka_unit_test(hostlists_are_read_as_slurm_writes_them),
		cmocka_unit_test(json_rows_have_what_scripts_ask_for),
		cmocka_unit_test(json_switches_are_switches_only),
		cmocka_unit_test(json_links_name_both_ends),
		cmocka_unit_test(json_hosts_list_their_hcas_by_rail),
		cmocka_unit_test(json_nodes_show_their_best_port_and_hosts_their_worst_hca),
		cmocka_unit_test(bytes_that_are_no_utf8_do_not_lose_the_row),
		cmocka_unit_test(dot_ranks_tiers_and_bundles_cables),
		cmocka_unit_test(svg_shows_a_dead_line_dashed_and_escapes_names),
		cmocka_unit_test(svg_counts_the_links_behind_a_line),
		cmocka_unit_test(every_dump_reports_a_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
