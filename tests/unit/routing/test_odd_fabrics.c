/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Fabrics at the edge: two planes, no switch at all, no LIDs left; and what files and operators
 * write oddly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/proof/check.h"
#include "routing/ftree/route.h"
#include "tests/fabric/plain_judge.h"
#include "tests/lib/fabrics.h"
#include "tests/sim/view.h"
#include "topology/files/dump.h"
#include "topology/base/mem.h"
#include "topology/what/what.h"

/* The first hosts have no LID. */
static struct check_report prove(const struct topo *t, unsigned lidless)
{
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables tables = { 0 };
	struct check_report report;
	struct plain_findings plain;

	for (unsigned i = 0; i < lidless; i++) {
		uint16_t *lid = &lids->lid_of_port[t->nodes[t->nswitches + i].port0 + 1];

		lids->port_of_lid[*lid] = TOPO_NONE;
		*lid = 0;
	}
	assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
	assert_true(check_tables(t, lids, &tables, &report));
	plain = plain_judge(t, lids, &tables);
	assert_int_equal(plain.reachable, report.reachable);
	assert_int_equal(plain.unreachable, report.unreachable);
	assert_int_equal(plain.disconnected, report.disconnected);
	tables_fini(&tables);
	route_free(route);
	lid_map_free(lids);
	return report;
}

/* Two hosts with a port on each of two switches that nothing joins. */
static void planes_that_adapters_join_are_two_parts(void **state)
{
	struct topo *t = parse_netfile("Switch 2 \"S-1\"\n[1] \"H-1\"[1]\n[2] \"H-2\"[1]\n"
				       "Switch 2 \"S-2\"\n[1] \"H-1\"[2]\n[2] \"H-2\"[2]\n"
				       "Ca 2 \"H-1\"\n[1] \"S-1\"[1]\n[2] \"S-2\"[1]\n"
				       "Ca 2 \"H-2\"\n[1] \"S-1\"[2]\n[2] \"S-2\"[2]\n");
	struct check_report r = prove(t, 0);

	assert_int_equal(r.reachable, 4);
	assert_int_equal(r.unreachable, 0);
	assert_int_equal(r.disconnected, 8);
	topo_unref(t);
}

static void adapters_back_to_back_reach_each_other(void **state)
{
	struct topo *t =
		parse_netfile("Ca 1 \"H-1\"\n[1] \"H-2\"[1]\nCa 1 \"H-2\"\n[1] \"H-1\"[1]\n");
	struct check_report r = prove(t, 0);

	assert_int_equal(r.reachable, 2);
	assert_int_equal(r.unreachable, 0);
	assert_int_equal(r.disconnected, 0);
	topo_unref(t);
}

/* As when the LID space is full. */
static void hosts_without_a_lid_are_unreachable(void **state)
{
	struct topo *t = pod(1);
	struct check_report r = prove(t, 56);

	assert_int_equal(r.reachable, 200 * 199);
	assert_int_equal(r.unreachable, 256 * 255 - 200 * 199);
	topo_unref(t);
}

static void two_ports_with_one_guid_are_refused_by_their_lines(void **state)
{
	static const char text[] = "Switch 2 \"S-1\"\n[1] \"H-1\"[1](abc)\n[2] \"H-2\"[1](abc)\n"
				   "Ca 1 \"H-1\"\n[1](abc) \"S-1\"[1]\n"
				   "Ca 1 \"H-2\"\n[1](abc) \"S-1\"[2]\n";
	char err[256] = "";

	assert_null(netfile_parse("twice.net", text, strlen(text), err, sizeof(err)));
	assert_non_null(strstr(err, "twice.net:6: "));
	assert_non_null(strstr(err, "0x0000000000000abc"));
}

static void a_byte_order_mark_is_no_text(void **state)
{
	struct topo *t =
		parse_netfile("\xef\xbb\xbf"
			      "Switch 1 \"S-1\"\n[1] \"H-1\"[1]\nCa 1 \"H-1\"\n[1] \"S-1\"[1]\n");

	assert_int_equal(t->nnodes, 2);
	topo_unref(t);
}

static void a_port_that_can_not_be_is_named_as_written(void **state)
{
	struct topo *t = pod(1);
	char err[256] = "";
	unsigned port;

	assert_int_equal(topo_resolve(t, "spine-01:999", &port, err, sizeof(err)), TOPO_NONE);
	assert_string_equal(err, "'spine-01' has ports 1 to 65, not 999");
	assert_int_equal(topo_resolve(t, "\"spine-01\"[300]", &port, err, sizeof(err)), TOPO_NONE);
	assert_string_equal(err, "'spine-01' has ports 1 to 65, not 300");
	topo_unref(t);
}

/* Into text, which takes so many bytes. */
static void slurm_of(const char *host, char *text, size_t size)
{
	char *netfile = mem_printf("Switch 2 \"S-1\" # \"leaf\"\n[1] \"H-1\"[1]\n[2] \"H-2\"[1]\n"
				   "Ca 1 \"H-1\" # \"%s HCA-1\"\n[1] \"S-1\"[1]\n"
				   "Ca 1 \"H-2\" # \"good-1 HCA-1\"\n[1] \"S-1\"[2]\n",
				   host);
	struct topo *t = parse_netfile(netfile);
	FILE *out = fmemopen(text, size, "w");

	assert_int_equal(dump_slurm(t, NULL, false, out), 0);
	fclose(out);
	topo_unref(t);
	free(netfile);
}

static void a_host_that_slurm_would_read_otherwise_is_named_and_left_out(void **state)
{
	static const char *const bad[] = {
		"n[1-400]", "a,b", "ALL", "all", "x=y", "-n1", "0x[1-3]"
	};

	char text[1024];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		slurm_of(bad[i], text, sizeof(text));
		assert_non_null(strstr(text, "# left out"));
		assert_non_null(strstr(strstr(text, "# left out"), bad[i]));
		assert_non_null(strstr(text, "Nodes=good-1\n"));
	}
	slurm_of("dgx-01.site_a", text, sizeof(text));
	assert_null(strstr(text, "left out"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planes_that_adapters_join_are_two_parts),
		cmocka_unit_test(adapters_back_to_back_reach_each_other),
		cmocka_unit_test(hosts_without_a_lid_are_unreachable),
		cmocka_unit_test(two_ports_with_one_guid_are_refused_by_their_lines),
		cmocka_unit_test(a_byte_order_mark_is_no_text),
		cmocka_unit_test(a_port_that_can_not_be_is_named_as_written),
		cmocka_unit_test(a_host_that_slurm_would_read_otherwise_is_named_and_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
