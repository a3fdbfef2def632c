/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What operators write for a part of the fabric: each form, what is ambiguous, what is nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "routing/lid_plan.h"
#include "tests/lib/fabrics.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"
#include "topology/what/what.h"

#define LEAF   "leaf-su01-rail0"
#define HCA    "dgx-su01-07 mlx5_0"
#define LEAF_P 33 /* the first uplink */

struct scene {
	struct topo *t;
	struct lid_map *lids;
	struct what_scope scope;
	char err[WHAT_ERROR_SIZE];
};

static bool named_storage(const void *arg, const char *name, unsigned *pkey)
{
	*pkey = 0x21;
	return !strcmp(name, "storage") || !strcmp(name, "leaf-su01");
}

static int setup(void **state)
{
	struct scene *s = mem_alloc(1, sizeof(*s));

	s->t = pod(1);
	s->lids = lid_plan(s->t, NULL, 0);
	s->scope = (struct what_scope){ .topo = s->t,
					.port_of_lid = s->lids->port_of_lid,
					.top_lid = s->lids->top,
					.partition = named_storage };
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	topo_unref(s->t);
	lid_map_free(s->lids);
	free(s);
	return 0;
}

static struct what found_as(struct scene *s, const char *text, unsigned accepts)
{
	struct what what;

	if (!what_find(&s->scope, text, accepts, &what, s->err, sizeof(s->err)))
		fail_msg("%s: %s", text, s->err);
	return what;
}

static struct what found(struct scene *s, const char *text)
{
	return found_as(s, text, WHAT_ANY);
}

static void assert_called(struct scene *s, const char *text, enum what_kind kind, const char *name)
{
	struct what what = found(s, text);
	char buf[256];

	what_name(s->t, &what, buf, sizeof(buf));
	if (what.kind != kind || strcmp(buf, name))
		fail_msg("%s: kind %d '%s', not %d '%s'", text, what.kind, buf, kind, name);
}

static void assert_refused(struct scene *s, const char *text, unsigned accepts, const char *reason)
{
	struct what what;

	if (what_find(&s->scope, text, accepts, &what, s->err, sizeof(s->err)))
		fail_msg("%s is found", text);
	if (!strstr(s->err, reason))
		fail_msg("%s: '%s' does not say '%s'", text, s->err, reason);
}

static uint32_t node_of(struct scene *s, const char *text)
{
	return found_as(s, text, WHAT_NODE).node;
}

/* ---- Forms ----------------------------------------------------------------------------------- */

static void nodes_go_by_name_guid_and_the_forms_of_other_tools(void **state)
{
	assert_called(*state, LEAF, WHAT_NODE, LEAF);
	assert_called(*state, "  " LEAF " ", WHAT_NODE, LEAF);
	assert_called(*state, "node:" LEAF, WHAT_NODE, LEAF);
	assert_called(*state, "\"" LEAF "\"", WHAT_NODE, LEAF);
	assert_called(*state, "0x0002c90300000100", WHAT_NODE, LEAF);
	assert_called(*state, "guid:0x0002c90300000100", WHAT_NODE, LEAF);
	assert_called(*state, "guid:0x2c90300000100", WHAT_NODE, LEAF);
	assert_called(*state, "0002c90300000100", WHAT_NODE, LEAF);
	assert_called(*state, "0002:c903:0000:0100", WHAT_NODE, LEAF); /* sysfs */
	assert_called(*state, "S-0002c90300000100", WHAT_NODE, LEAF);
	assert_called(*state, "\"S-0002c90300000100\"", WHAT_NODE, LEAF); /* ibnetdiscover */
	assert_called(*state, "fe80::2:c903:0:100", WHAT_NODE, LEAF);
	assert_called(*state, "gid:fe80::2:c903:0:100", WHAT_NODE, LEAF);
	assert_int_equal(found(*state, "0x0002c90300000100").by, WHAT_BY_GUID);
}

static void a_host_is_all_of_its_hcas(void **state)
{
	struct scene *s = *state;
	const uint32_t *nodes;
	struct what what;

	assert_called(s, "dgx-su01-07", WHAT_HOST, "dgx-su01-07");
	assert_called(s, "host:dgx-su01-07", WHAT_HOST, "dgx-su01-07");
	assert_called(s, "DGX-SU01-07", WHAT_HOST, "dgx-su01-07"); /* as names in the DNS are */
	assert_called(s, "dgx-su01-07.cluster.local", WHAT_HOST, "dgx-su01-07");
	assert_called(s, "dgx-su01-07 mlx5", WHAT_HOST,
		      "dgx-su01-07"); /* that begins all of them */
	assert_refused(s, "dgx-su01-07 mlx5_1", WHAT_ANY, "matches 2 nodes, among them ");
	what = found(s, "dgx-su01-07");
	assert_int_equal(what_nodes(s->t, &what, &nodes), 8);
	assert_string_equal(s->t->nodes[nodes[0]].desc, HCA);
}

static void an_hca_is_named_by_host_and_device(void **state)
{
	assert_called(*state, HCA, WHAT_NODE, HCA);
	assert_called(*state, "dgx-su01-07/mlx5_0", WHAT_NODE, HCA);
	assert_called(*state, "dgx-su01-07.cluster.local mlx5_0", WHAT_NODE, HCA);
	assert_called(*state, HCA ":1", WHAT_PORT, HCA " p1");
	assert_called(*state, "dgx-su01-07/mlx5_0:1", WHAT_PORT, HCA " p1");
	assert_refused(*state, "dgx-su01-07 mlx5_77", WHAT_ANY, "no node matches");
	assert_refused(*state, "dgx-su01-07:1", WHAT_ANY,
		       "host 'dgx-su01-07' has 8 HCAs: name one, as 'dgx-su01-07 mlx5_0:1'");
}

static void ports_are_written_as_any_tool_writes_them(void **state)
{
	assert_called(*state, LEAF ":33", WHAT_PORT, LEAF " p33");
	assert_called(*state, LEAF "[33]", WHAT_PORT, LEAF " p33");
	assert_called(*state, LEAF " p33", WHAT_PORT, LEAF " p33"); /* events write them so */
	assert_called(*state, "\"" LEAF "\"[33]", WHAT_PORT, LEAF " p33");
	assert_called(*state, "\"" LEAF "\":33", WHAT_PORT, LEAF " p33");
	assert_called(*state, "0x0002c90300000100:33", WHAT_PORT, LEAF " p33");
	assert_called(*state, "guid:0x0002c90300000100:33", WHAT_PORT, LEAF " p33");
	assert_refused(*state, LEAF ":0", WHAT_ANY, "has ports 1 to 65, not 0");
	assert_refused(*state, LEAF ":66", WHAT_ANY, "has ports 1 to 65, not 66");
	assert_refused(*state, LEAF ":99999999999", WHAT_ANY, "has ports 1 to 65, not ");
	assert_refused(*state, LEAF ":", WHAT_ANY, "no node matches");
	assert_refused(*state, LEAF "[3", WHAT_ANY, "no node matches");
}

static void numbers_are_lids_and_from_c000_on_multicast_lids(void **state)
{
	struct scene *s = *state;
	uint32_t leaf = node_of(s, LEAF), hca = node_of(s, HCA);
	unsigned lid = s->lids->lid_of_port[s->t->nodes[leaf].port0];
	unsigned of_hca = s->lids->lid_of_port[s->t->nodes[hca].port0 + 1];
	char text[32];

	for (const char *const *form =
		     (const char *const[]){ "%u", "0x%x", "0x%04x", "lid:%u", "lid:0x%x", NULL };
	     *form; form++) {
		snprintf(text, sizeof(text), *form, lid);
		assert_called(s, text, WHAT_NODE, LEAF);
		assert_int_equal(found(s, text).number, lid);
		assert_int_equal(found(s, text).by, WHAT_BY_LID);
	}
	snprintf(text, sizeof(text), "%u", of_hca);
	assert_called(s, text, WHAT_PORT, HCA " p1");
	assert_int_equal(found_as(s, text, WHAT_NODE).node, hca); /* where a node is meant */
	snprintf(text, sizeof(text), "%u:33", lid);
	assert_called(s, text, WHAT_PORT, LEAF " p33");
	snprintf(text, sizeof(text), "lid:%u:33", lid);
	assert_called(s, text, WHAT_PORT, LEAF " p33");
	assert_called(s, "0xc003", WHAT_MLID, "MLID 0xc003");
	assert_called(s, "49155", WHAT_MLID, "MLID 0xc003");
	assert_called(s, "mlid:0xC003", WHAT_MLID, "MLID 0xc003");
	assert_refused(s, "lid:0", WHAT_ANY, "no port has LID 0");
	assert_refused(s, "9999", WHAT_ANY, "no port has LID 9999");
	assert_refused(s, "0xffff", WHAT_ANY, "no port has LID 65535");
	assert_refused(s, "lid:0xc003", WHAT_ANY, "no port has LID 49155");
	assert_refused(s, "mlid:33", WHAT_ANY, "no node matches");
	assert_refused(s, "pkey:0x18001", WHAT_ANY, "no node matches");
	assert_refused(s, "0x00002c9030000010", WHAT_ANY, "no node matches"); /* a GUID, nobody's */
}

static void without_a_plan_lids_are_those_that_ports_hold(void **state)
{
	struct topo_builder *b = topo_builder_new();
	char err[WHAT_ERROR_SIZE];
	struct what what;
	int sw;

	sw = topo_builder_node(
		b, &(struct topo_node){
			   .guid = 0x10, .desc = "sw", .type = TOPO_SWITCH, .nports = 4 });
	topo_builder_port(b, sw, 0, &(struct topo_port){ .guid = 0x10, .lid = 40, .lmc = 2 });
	what_find(&(struct what_scope){ 0 }, "40", WHAT_ANY, &what, err, sizeof(err));
	assert_non_null(strstr(err, "the first sweep has not finished"));
	struct topo *t = topo_freeze(b);
	const struct what_scope scope = { .topo = t };

	assert_true(what_find(&scope, "43", WHAT_ANY, &what, err, sizeof(err)));
	assert_false(what_find(&scope, "44", WHAT_ANY, &what, err, sizeof(err)));
	assert_false(what_find(&scope, "16", WHAT_ANY, &what, err, sizeof(err)));
	/* few digits, but nobody's LID */
	assert_true(what_find(&scope, "0x10", WHAT_ANY, &what, err, sizeof(err)));
	topo_unref(t);
}

static void groups_and_partitions_have_forms_of_their_own(void **state)
{
	struct scene *s = *state;
	static const uint8_t ipoib[16] = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1 };
	struct what what = found(s, "ff12:401b:ffff::1");

	assert_int_equal(what.kind, WHAT_MGID);
	assert_memory_equal(what.mgid, ipoib, sizeof(ipoib));
	assert_called(s, "mgid:FF12:401b:ffff:0:0:0:0:1", WHAT_MGID, "ff12:401b:ffff::1");
	assert_called(s, "pkey:0x8021", WHAT_PKEY, "P_Key 0x8021");
	assert_called(s, "pkey:33", WHAT_PKEY, "P_Key 0x0021");
	assert_called(s, "storage", WHAT_PKEY, "P_Key 0x0021");
	assert_called(s, "partition:storage", WHAT_PKEY, "P_Key 0x0021");
	assert_called(s, "pkey:storage", WHAT_PKEY, "P_Key 0x0021");
	/* exact before what is a beginning of many */
	assert_called(s, "leaf-su01", WHAT_PKEY, "P_Key 0x0021");
	s->scope.number_is_pkey = true;
	assert_called(s, "33", WHAT_PKEY, "P_Key 0x0021");
	assert_called(s, "0xffff", WHAT_PKEY, "P_Key 0xffff");
}

static void a_cable_is_either_of_its_ends_or_both(void **state)
{
	struct scene *s = *state;
	const struct topo *t = s->t;
	uint32_t leaf = node_of(s, LEAF);
	const struct topo_port *far = topo_peer(t, topo_port(t, leaf, LEAF_P));
	char text[256], name[256];
	struct what what;

	snprintf(name, sizeof(name), LEAF " p33 - %s p%u", t->nodes[far->node].desc, far->num);
	assert_called(s, name, WHAT_PORT, name);
	snprintf(text, sizeof(text), LEAF ":33 <-> %s:%u", t->nodes[far->node].desc, far->num);
	assert_called(s, text, WHAT_PORT, name);
	assert_int_equal(found(s, text).by, WHAT_BY_LINK);
	snprintf(text, sizeof(text), LEAF ":33 - %s", t->nodes[far->node].desc);
	assert_called(s, text, WHAT_PORT, name);
	what = found(s, "dgx-su01-07 - " LEAF);
	what_name(t, &what, text, sizeof(text));
	assert_string_equal(text, HCA " p1 - " LEAF " p7");
	snprintf(text, sizeof(text), LEAF " - %s", t->nodes[far->node].desc);
	assert_refused(s, text, WHAT_ANY, " matches 8 links, among them '" LEAF " p33 - ");
	assert_refused(s, LEAF ":33 - leaf-su01-rail1:33", WHAT_ANY,
		       "is not a link: " LEAF " p33 leads to spine");
	assert_refused(s, LEAF " - leaf-su01-rail1", WHAT_ANY,
		       "is not a link: none is known there");
	assert_refused(s, LEAF " - nowhere", WHAT_ANY, "no node matches");
}

/* ---- Ambiguous, nothing, something else ------------------------------------------------------ */

static void what_is_ambiguous_lists_who_is_meant(void **state)
{
	assert_refused(*state, "leaf-su01-rail", WHAT_ANY,
		       "'leaf-su01-rail' matches 8 nodes, among them 'leaf-su01-rail0' (0x0002c9");
	assert_refused(*state, "dgx-su01-0", WHAT_ANY,
		       "matches 9 hosts, among them 'dgx-su01-01', 'dgx-su01-02', 'dgx-su01-03'");
	assert_refused(*state, "mlx5_0", WHAT_ANY, "matches 32 nodes, among them 'dgx-su01-01 mlx");
}

static void an_unknown_name_is_reported_with_names_that_look_alike(void **state)
{
	assert_refused(*state, "leaf-su01-rial0", WHAT_ANY,
		       "no node matches 'leaf-su01-rial0'; near: 'leaf-su01-rail0'");
	assert_refused(*state, "Leaf-SU01-Rail3:7", WHAT_ANY, "near: 'leaf-su01-rail3', ");
	assert_refused(*state, "dgx-su1-07", WHAT_ANY, "near: 'dgx-su01-07', ");
	assert_refused(*state, "moon", WHAT_ANY, "no node matches 'moon'");
	assert_null(strstr(((struct scene *)*state)->err, "near"));
	assert_refused(*state, "", WHAT_ANY, "no node matches ''");
	assert_refused(*state, "  ", WHAT_ANY, "no node matches");
	assert_refused(*state, ":", WHAT_ANY, "no node matches");
	assert_refused(*state, "\"", WHAT_ANY, "no node matches");
	assert_refused(*state, " - ", WHAT_ANY, "no node matches");
	assert_refused(*state, "lid:", WHAT_ANY, "no node matches");
}

static void a_command_gets_the_kind_that_it_takes_or_the_reason(void **state)
{
	struct scene *s = *state;

	assert_int_equal(found_as(s, HCA, WHAT_HOST).host, found(s, "dgx-su01-07").host);
	assert_int_equal(found_as(s, HCA ":1", WHAT_HOST).host, found(s, "dgx-su01-07").host);
	assert_refused(s, LEAF, WHAT_HOST, "'" LEAF "' is a node, but a host is expected");
	assert_refused(s, "0xc003", WHAT_PLACE,
		       "is a multicast group, but a node or a host or a port is expected");
	assert_refused(s, "pkey:1", WHAT_GROUP,
		       "is a partition, but a multicast group is expected");
	assert_refused(s, LEAF ":3", WHAT_NODE, "is a port, but a node is expected");
	assert_refused(s, "dgx-su01-07", WHAT_NODE | WHAT_PORT, "is a host, but a node or a port");
}

static void long_texts_and_short_buffers_are_cut(void **state)
{
	struct scene *s = *state;
	char text[5000];
	struct what what;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_refused(s, text, WHAT_ANY, "no node matches 'xxx");
	for (size_t size = 1; size < 80; size++) {
		assert_false(what_find(&s->scope, "leaf-su01-rail", WHAT_ANY, &what, s->err, size));
		assert_true(strlen(s->err) < size);
		assert_false(what_find(&s->scope, "leaf-su01-rial", WHAT_ANY, &what, s->err, size));
		assert_true(strlen(s->err) < size);
	}
}

static void every_node_and_cable_answers_to_the_name_it_is_given(void **state)
{
	struct scene *s = *state;
	const struct topo *t = s->t;
	char text[256];

	for (uint32_t n = 0; n < t->nnodes; n++)
		for (unsigned num = 0; num <= t->nodes[n].nports; num += 13) {
			struct what what = { .kind = num ? WHAT_PORT : WHAT_NODE,
					     .node = n,
					     .port = num };

			if (t->nodes[n].sharp || (num && t->nodes[n].type != TOPO_SWITCH))
				continue; /* these have one name together */
			what_name(t, &what, text, sizeof(text));
			what = found(s, text);
			assert_int_equal(what.node, n);
			assert_int_equal(what.port, num);
		}
}

static guid_t alias_of_hca(const void *arg, guid_t guid)
{
	return guid == 0xabcd000000000001ull ? *(const guid_t *)arg : 0;
}

static void a_port_is_found_by_its_alias_guid(void **state)
{
	struct scene *s = *state;
	struct what_scope scope = s->scope;
	struct what what;
	guid_t port = 0;

	assert_true(what_find(&s->scope, HCA, WHAT_NODE, &what, s->err, sizeof(s->err)));
	port = topo_port(s->t, what.node, 1)->guid;
	scope.alias = alias_of_hca;
	scope.alias_arg = &port;
	assert_true(
		what_find(&scope, "0xabcd000000000001", WHAT_ANY, &what, s->err, sizeof(s->err)));
	assert_int_equal(what.kind, WHAT_PORT);
	assert_string_equal(s->t->nodes[what.node].name, HCA);
	assert_int_equal(what.port, 1);
	assert_true(what_find(&scope, "fe80::abcd:0:0:1", WHAT_ANY, &what, s->err, sizeof(s->err)));
	assert_int_equal(what.port, 1);
	assert_false(
		what_find(&scope, "0xabcd000000000002", WHAT_ANY, &what, s->err, sizeof(s->err)));
	assert_false(what_find(&s->scope, "0xabcd000000000001", WHAT_ANY, &what, s->err,
			       sizeof(s->err)));
}

/* Labels hold blanks, colons and slashes; a bare port number goes on being one. */
static void a_port_is_found_by_what_is_written_beside_it(void **state)
{
	static const char *const words[] = { LEAF ":cage 9/1",	 LEAF " cage 9/1",
					     LEAF ": Cage 9/1",	 "0x0002c90300000100:cage 9/1",
					     HCA ":PCI 05:00.0", HCA " pci 05:00.0" };
	struct scene *s = *state;
	struct topo_builder *builder = topo_builder_from(s->t);
	struct what_scope scope = s->scope;
	uint32_t hca;
	struct what what;

	assert_true(what_find(&s->scope, HCA, WHAT_NODE, &what, s->err, sizeof(s->err)));
	hca = what.node;
	assert_int_equal(topo_builder_label(builder, 0, 17, "cage 9/1"), 0);
	assert_int_equal(topo_builder_label(builder, 0, 18, "cage 9/2"), 0);
	assert_int_equal(topo_builder_label(builder, 0, 19, "cage 9/2"), 0);
	assert_int_equal(topo_builder_label(builder, (int)hca, 1, "PCI 05:00.0"), 0);
	scope.topo = topo_freeze(builder);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_true(what_find(&scope, words[i], WHAT_ANY, &what, s->err, sizeof(s->err)));
		assert_int_equal(what.kind, WHAT_PORT);
		assert_int_equal(what.node, i < 4 ? 0 : hca);
		assert_int_equal(what.port, i < 4 ? 17 : 1);
	}
	assert_true(what_find(&scope, LEAF ":17", WHAT_ANY, &what, s->err, sizeof(s->err)));
	assert_int_equal(what.port, 17);
	assert_false(what_find(&scope, LEAF ":cage 9/2", WHAT_ANY, &what, s->err,
			       sizeof(s->err))); /* two ports have it */
	assert_false(what_find(&scope, LEAF ":cage 9/3", WHAT_ANY, &what, s->err, sizeof(s->err)));
	assert_non_null(strstr(s->err, "no node matches"));
	topo_unref(scope.topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(nodes_go_by_name_guid_and_the_forms_of_other_tools),
		TEST(a_host_is_all_of_its_hcas),
		TEST(an_hca_is_named_by_host_and_device),
		TEST(ports_are_written_as_any_tool_writes_them),
		TEST(numbers_are_lids_and_from_c000_on_multicast_lids),
		TEST(groups_and_partitions_have_forms_of_their_own),
		TEST(a_cable_is_either_of_its_ends_or_both),
		TEST(a_port_is_found_by_its_alias_guid),
		TEST(a_port_is_found_by_what_is_written_beside_it),
		TEST(what_is_ambiguous_lists_who_is_meant),
		TEST(an_unknown_name_is_reported_with_names_that_look_alike),
		TEST(a_command_gets_the_kind_that_it_takes_or_the_reason),
		TEST(long_texts_and_short_buffers_are_cut),
		TEST(every_node_and_cable_answers_to_the_name_it_is_given),
		cmocka_unit_test(without_a_plan_lids_are_those_that_ports_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
