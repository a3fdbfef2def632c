/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which nodes patterns mean: by description, name, host, GUID of the node or of a port. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/conf/lists.h"
#include "tests/lib/fabrics.h"

static bool matches(const struct topo *t, const char *patterns, const char *desc)
{
	struct node_patterns *p = node_patterns_new(patterns);
	bool match = node_patterns_match(p, t, &t->nodes[find_desc(t, desc)]);

	node_patterns_free(p);
	return match;
}

static const char two_hosts[] = "switchguid=0x10\nSwitch 4 \"S-0000000000000010\" # \"leaf\"\n"
				"[1] \"H-0000000000000020\"[1](21)\n"
				"[2] \"H-0000000000000030\"[1](31)\n"
				"caguid=0x20\nCa 1 \"H-0000000000000020\" # \"storage-1 mlx5_0\"\n"
				"[1](21) \"S-0000000000000010\"[1]\n"
				"caguid=0x30\nCa 1 \"H-0000000000000030\" # \"localhost HCA-1\"\n"
				"[1](31) \"S-0000000000000010\"[2]\n";

static void names_and_hosts_match_by_pattern(void **state)
{
	struct topo *t = parse_netfile(two_hosts);

	assert_true(matches(t, "storage-*", "storage-1 mlx5_0"));
	assert_true(matches(t, "nobody storage-?", "storage-1 mlx5_0"));
	assert_false(matches(t, "storage-*", "localhost HCA-1"));
	assert_true(matches(t, "*..000030", "localhost HCA-1"));
	assert_false(matches(t, "", "localhost HCA-1"));
	topo_unref(t);
}

static void guids_are_those_of_nodes_and_ports(void **state)
{
	struct topo *t = parse_netfile(two_hosts);

	assert_true(matches(t, "0x0000000000000030", "localhost HCA-1"));
	assert_true(matches(t, "0x99 0x31", "localhost HCA-1"));
	assert_false(matches(t, "0x99 0x31", "storage-1 mlx5_0"));
	assert_true(matches(t, "0x31 storage-1", "storage-1 mlx5_0"));
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_hosts_match_by_pattern),
		cmocka_unit_test(guids_are_those_of_nodes_and_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
