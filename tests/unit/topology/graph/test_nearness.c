/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What schedulers are told: who computes, blocks, labels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/disguise.h"
#include "tests/lib/fabrics.h"
#include "topology/files/dump.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/graph/nearness.h"
#include "topology/snapshot/topo_builder.h"

typedef int dump_near_fn(const struct topo *t, const char *const *domains, bool shortened,
			 FILE *out);

static bool shortened; /* names of nodes */

static char *dumped(const struct topo *t, dump_near_fn *dump, const char *const *domains)
{
	size_t len;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(dump(t, domains, shortened, out), 0);
	fclose(out);
	return text;
}

static void blocks_are_units_where_no_nvlink_domain_is_known(void **state)
{
	struct topo *t = pod(2);
	char *text = dumped(t, dump_slurm_yaml, NULL);

	assert_string_equal(text, "# topology.yaml for Slurm 25.05 and later: 64 hosts\n"
				  "---\n"
				  "- topology: tree\n"
				  "  cluster_default: true\n"
				  "  tree:\n"
				  "    switches:\n"
				  "      - switch: \"su01\"\n"
				  "        nodes: \"dgx-su01-[01-32]\"\n"
				  "      - switch: \"su02\"\n"
				  "        nodes: \"dgx-su02-[01-32]\"\n"
				  "      - switch: \"tier1-1\"\n"
				  "        children: \"su[01-02]\"\n"
				  "- topology: block\n"
				  "  cluster_default: false\n"
				  "  block:\n"
				  "    block_sizes:\n"
				  "      - 32\n"
				  "    blocks:\n"
				  "      - block: \"su01\"\n"
				  "        nodes: \"dgx-su01-[01-32]\"\n"
				  "      - block: \"su02\"\n"
				  "        nodes: \"dgx-su02-[01-32]\"\n");
	free(text);
	topo_unref(t);
}

/* Hosts 0 to 17 and 18 to 31 are racks; all others have no domain. */
static void blocks_are_nvlink_domains_where_they_are_known(void **state)
{
	struct topo *t = pod(2);
	const char **domains = mem_alloc(t->nhosts, sizeof(*domains));
	char *text;

	for (uint32_t h = 0; h < 32; h++)
		domains[h] = h < 18 ? "3e4f1a2b-aa.0" : "77001122-bb.0";
	text = dumped(t, dump_slurm_yaml, domains);
	assert_non_null(strstr(text, "    block_sizes:\n"
				     "      - 14\n"
				     "    blocks:\n"
				     "      - block: \"3e4f1a2b-aa.0\"\n"
				     "        nodes: \"dgx-su01-[01-18]\"\n"
				     "      - block: \"77001122-bb.0\"\n"
				     "        nodes: \"dgx-su01-[19-32]\"\n"
				     "      - block: \"su02\"\n"));
	free(text);
	text = dumped(t, dump_k8s, domains);
	assert_non_null(
		strstr(text, "kubectl patch node dgx-su01-19 --type=merge -p '{\"metadata\":"
			     "{\"labels\":{\"accelerator.topograph.run/domain\":\"77001122-bb.0\","
			     "\"fabric.topograph.run/tier-0\":\"su01\","
			     "\"fabric.topograph.run/tier-1\":\"tier1-1\"}}}'\n"));
	assert_null(strstr(text, "tier-2"));
	free(text);
	free(domains);
	topo_unref(t);
}

/* topograph's own: FNV-1a of 64 bits, in lower case. */
static void a_value_too_long_for_a_label_is_its_hash(void **state)
{
	struct topo *t = pod(1);
	const char **domains = mem_alloc(t->nhosts, sizeof(*domains));
	char *text;

	domains[0] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	domains[1] = "a";
	text = dumped(t, dump_k8s, domains);
	assert_non_null(strstr(text, "domain\":\"xdb007849f35ebbe5\","));
	assert_non_null(strstr(text, "domain\":\"a\","));
	free(text);
	free(domains);
	topo_unref(t);
}

/* One map for all that schedulers read. */
static void nodes_have_their_hosts_names_or_the_first_part_in_lower_case(void **state)
{
	static const char *const one[] = { "DGX-01.cluster.example", "dgx-[01-02]" };
	static dump_near_fn *const dumps[] = { dump_slurm, dump_slurm_yaml, dump_k8s };
	struct topo *t =
		parse_netfile("Switch 2 \"S-1\" # \"leaf\"\n[1] \"H-1\"[1]\n[2] \"H-2\"[1]\n"
			      "Ca 1 \"H-1\" # \"DGX-01.cluster.example HCA-1\"\n"
			      "[1] \"S-1\"[1]\nCa 1 \"H-2\" # \"DGX-02.cluster.example "
			      "HCA-1\"\n[1] \"S-1\"[2]\n");

	for (unsigned i = 0; i < 6; i++) {
		char *text;

		shortened = i % 2;
		text = dumped(t, dumps[i / 2], NULL);
		if (!strstr(text, i < 4	   ? one[i % 2]
				  : i == 4 ? "node dgx-01.cluster.example "
					   : "node dgx-01 "))
			fail_msg("%u: %s", i, text);
		free(text);
	}
	shortened = false;
	topo_unref(t);
}

static void add_host(struct topo_builder *b, const struct topo *t, const char *leaf, unsigned port,
		     const char *name, uint64_t guid)
{
	int node = topo_builder_node(
		b, &(struct topo_node){ .guid = guid, .desc = name, .type = TOPO_CA, .nports = 1 });

	assert_int_equal(topo_builder_link(b, node, 1, (int)find_desc(t, leaf), port, true), 0);
}

static void storage_and_management_are_left_out_and_named(void **state)
{
	struct topo *t = pod(3), *more;
	struct topo_builder *b = topo_builder_from(t);
	char *text;

	add_host(b, t, "spine-01", 60, "ufm-1 mlx5_0", 0x5000);
	add_host(b, t, "spine-02", 60, "storage-1 mlx5_0", 0x5001);
	add_host(b, t, "spine-03", 60, "storage-1 mlx5_1", 0x5002);
	more = topo_freeze(b);
	text = dumped(more, dump_slurm_yaml, NULL);
	assert_non_null(strstr(text, "Slurm 25.05 and later: 96 hosts\n"
				     "# left out, no compute node: storage-1\n"
				     "# left out, no compute node: ufm-1\n"
				     "---\n"));
	assert_null(strstr(strstr(text, "---"), "storage"));
	free(text);
	text = dumped(more, dump_k8s, NULL);
	assert_null(strstr(text, "ufm"));
	free(text);
	topo_unref(more);
	topo_unref(t);
}

/* By no GUID, port number or order of discovery, nor by what is down. */
static void the_same_fabric_gives_the_same_output(void **state)
{
	struct topo *t = pod(9),
		    *other = disguise(t, DISGUISE_GUIDS | DISGUISE_PORTS | DISGUISE_ORDER, 7);
	struct topo *dead = topo_alike(t);
	char *one, *two, *three;

	for (uint32_t p = 0; p < t->nports; p += 7)
		if (t->ports[p].peer != TOPO_NONE)
			topo_alike_cut(dead, p);
	one = dumped(t, dump_slurm_yaml, NULL);
	two = dumped(other, dump_slurm_yaml, NULL);
	three = dumped(dead, dump_slurm_yaml, NULL);
	assert_string_equal(one, two);
	assert_string_equal(one, three);
	free(one);
	free(two);
	free(three);
	topo_unref(t);
	topo_unref(other);
	topo_unref(dead);
}

static void an_empty_document_is_well_formed(void **state)
{
	struct topo *t = topo_freeze(topo_builder_new());
	char *text = dumped(t, dump_slurm_yaml, NULL);

	assert_string_equal(text, "# topology.yaml for Slurm 25.05 and later: 0 hosts\n"
				  "---\n"
				  "- topology: tree\n"
				  "  cluster_default: true\n"
				  "  tree:\n"
				  "    switches: []\n");
	free(text);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_units_where_no_nvlink_domain_is_known),
		cmocka_unit_test(blocks_are_nvlink_domains_where_they_are_known),
		cmocka_unit_test(a_value_too_long_for_a_label_is_its_hash),
		cmocka_unit_test(nodes_have_their_hosts_names_or_the_first_part_in_lower_case),
		cmocka_unit_test(storage_and_management_are_left_out_and_named),
		cmocka_unit_test(the_same_fabric_gives_the_same_output),
		cmocka_unit_test(an_empty_document_is_well_formed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
