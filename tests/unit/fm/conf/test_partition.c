/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * partition: partitions.conf as people have it, what is refused in it, and who holds which P_Key in
 * the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/conf/partition.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

/*
 * A switch (GUID 0x10) with two hosts, one of two ports, and a router: port GUIDs 0x21, 0x31, 0x32,
 * 0x41.
 */
static struct topo *small_fabric(void)
{
	static const struct {
		guid_t guid;
		uint8_t type, nports;
	} nodes[] = { { 0x10, TOPO_SWITCH, 4 },
		      { 0x20, TOPO_CA, 1 },
		      { 0x30, TOPO_CA, 2 },
		      { 0x40, TOPO_ROUTER, 1 } };
	struct topo_builder *b = topo_builder_new();
	unsigned sw_port = 1;

	for (unsigned n = 0; n < 4; n++) {
		struct topo_node attr = { .guid = nodes[n].guid,
					  .type = nodes[n].type,
					  .nports = nodes[n].nports,
					  .desc = "" };
		int node = topo_builder_node(b, &attr);

		for (unsigned p = 1; n && p <= nodes[n].nports; p++) {
			struct topo_port port = { .guid = nodes[n].guid + p };

			topo_builder_port(b, node, p, &port);
			topo_builder_link(b, 0, sw_port++, node, p, true);
		}
	}
	topo_builder_port(b, 0, 0, &(struct topo_port){ .guid = 0x10 });
	return topo_freeze(b);
}

static struct partition_set *read_with(const char *text, struct partition_options options)
{
	char err[256] = "", *copy = mem_strdup(text);
	struct partition_set *set = partition_parse("p.conf", copy, &options, err, sizeof(err));

	free(copy);
	if (!set)
		fail_msg("refused: %s", err);
	return set;
}

static struct partition_set *read_text(const char *text)
{
	return read_with(text, (struct partition_options){ .both = false });
}

static void assert_refused(const char *text, const char *reason)
{
	const struct partition_options options = { .qos = true };
	char err[256] = "", *copy = mem_strdup(text);

	assert_null(partition_parse("p.conf", copy, &options, err, sizeof(err)));
	assert_string_equal(err, reason);
	free(copy);
}

/* ---- Who holds what -------------------------------------------------------------------------- */

/* The keys of a port, "ffff 8001", as the map has them; the port 0x21 is the subnet manager's. */
static void assert_keys(const struct partition_set *set, guid_t port_guid, const char *want)
{
	struct topo *t = small_fabric();
	struct pkey_map *map = partition_resolve(set, t, topo_find_port(t, 0x21));
	const uint16_t *keys;
	unsigned n = pkey_map_keys(map, topo_find_port(t, port_guid), &keys);
	char text[256] = "";

	for (unsigned i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%04x", i ? " " : "",
			 keys[i]);
	assert_string_equal(text, want);
	pkey_map_free(map);
	topo_unref(t);
}

static uint16_t index0_of(const struct partition_set *set, guid_t port_guid)
{
	struct topo *t = small_fabric();
	struct pkey_map *map = partition_resolve(set, t, topo_find_port(t, 0x21));
	uint16_t key = map->index0[topo_find_port(t, port_guid)];

	pkey_map_free(map);
	topo_unref(t);
	return key;
}

static void without_a_file_all_are_full_members_of_one_partition(void **state)
{
	struct partition_set *set = partition_default();
	struct topo *t = small_fabric();

	assert_int_equal(set->count, 1);
	assert_int_equal(set->list[0].base, 0x7fff);
	assert_true(set->list[0].ipoib);
	assert_null(partition_resolve(set, t, 0));
	assert_keys(set, 0x31, "ffff");
	topo_unref(t);
	partition_free(set);
}

static void a_file_without_the_default_partition_makes_others_limited(void **state)
{
	struct partition_set *set = read_text("# nothing\n\n");

	assert_keys(set, 0x31, "7fff");
	assert_keys(set, 0x10, "7fff");
	assert_keys(set, 0x21, "ffff");
	assert_int_equal(set->ngroups, 0);
	partition_free(set);
}

static void the_subnet_manager_stays_a_full_member_of_the_default(void **state)
{
	struct partition_set *set = read_text("Default=0x7fff: ALL=full, SELF=limited;");

	assert_keys(set, 0x21, "ffff");
	partition_free(set);
}

static void all_and_its_kinds_mean_end_ports(void **state)
{
	struct partition_set *set = read_text("a=1: ALL; b=2: ALL_CAS; c=3: ALL_SWITCHES=full; "
					      "d=4: ALL_ROUTERS; e=5: SELF=full;");

	assert_keys(set, 0x10, "0001 8003 7fff");
	assert_keys(set, 0x21, "0001 0002 8005 ffff");
	assert_keys(set, 0x32, "0001 0002 7fff");
	assert_keys(set, 0x41, "0001 0004 7fff");
	partition_free(set);
}

static void members_that_name_no_port_are_accepted(void **state)
{
	struct partition_set *set =
		read_text("a=1: NONE, ALL_VCAS, 0x31=full; b=2: ALL_VCAS=full, 0x31;");

	assert_keys(set, 0x31, "8001 0002 7fff");
	assert_keys(set, 0x41, "7fff");
	partition_free(set);
	assert_refused("a=1: ALL_VCAS=x;",
		       "p.conf:1: membership \"x\" is not one of full, limited, both");
	assert_refused("a=1: ALL_V;",
		       "p.conf:1: member \"ALL_V\" is neither a port GUID nor one of ALL, ALL_CAS, "
		       "ALL_SWITCHES, ALL_ROUTERS, SELF (is a ; missing before it?)");
}

static void the_last_rule_for_a_port_holds(void **state)
{
	struct partition_set *set =
		read_text("a=1: ALL=full, 0x31, 0x41=limited;\nb=2: 0x31=full, ALL=limited;");

	assert_keys(set, 0x31, "0001 0002 7fff");
	assert_keys(set, 0x41, "0001 0002 7fff");
	assert_keys(set, 0x32, "8001 0002 7fff");
	partition_free(set);
}

static void defmember_is_for_members_that_say_nothing(void **state)
{
	struct partition_set *set = read_text("ShareIO = 0x80 , defmember=full : 0x21, 0x31;\n"
					      "ShareIO = 0x80 : 0x32, 0x41=full;\n");

	assert_int_equal(set->count, 2);
	assert_keys(set, 0x31, "8080 7fff");
	assert_keys(set, 0x32, "0080 7fff");
	assert_keys(set, 0x41, "8080 7fff");
	partition_free(set);
}

static void both_memberships_need_to_be_allowed(void **state)
{
	const char *text = "a=1: 0x31=both; b=2, defmember=both: 0x31, 0x32=limited;";
	struct partition_set *set = read_text(text);

	assert_keys(set, 0x31, "8001 8002 7fff");
	partition_free(set);
	set = read_with(text, (struct partition_options){ .both = true });
	assert_keys(set, 0x31, "8001 0001 8002 0002 7fff");
	assert_keys(set, 0x32, "0002 7fff");
	partition_free(set);
}

static void index_0_goes_to_whom_the_file_names_last(void **state)
{
	struct partition_set *set =
		read_text("b=2, indx0: 0x31=full, 0x32;\na=1, indx0: 0x31;\nc=3: 0x31;");

	assert_int_equal(index0_of(set, 0x31), 0x0001);
	assert_int_equal(index0_of(set, 0x32), 0x0002);
	assert_int_equal(index0_of(set, 0x21), 0);
	partition_free(set);
}

/* ---- Syntax ---------------------------------------------------------------------------------- */

static void the_file_may_be_written_as_people_write_it(void **state)
{
	struct partition_set *set = read_text("  Default = 0x7fff ,ipoib:   # all\r\n"
					      "\tALL_CAS=full,\r\n"
					      "  ALL_SWITCHES = full\n"
					      "  0x31 = limi\n"
					      ";0x300: 49=full, NONE,;\n"
					      "Empty=0x301:;\n"
					      "Last=0x302 : 0x41");

	assert_keys(set, 0x10, "ffff");
	assert_keys(set, 0x31, "8300 7fff");
	assert_keys(set, 0x41, "0302 7fff");
	assert_string_equal(partition_find(set, 0x8302)->name, "Last");
	assert_string_equal(partition_find(set, 0x300)->name, "");
	partition_free(set);
}

static void partitions_without_a_number_get_the_lowest_free_one(void **state)
{
	struct partition_set *set = read_text(
		"a=1: 0x31; b, ipoib: 0x31; c=0x8000: 0x31; b: 0x32; Default: 0x31=full;");

	assert_int_equal(set->count, 4);
	assert_string_equal(partition_find(set, 2)->name, "b");
	assert_string_equal(partition_find(set, 3)->name, "c");
	assert_keys(set, 0x31, "0001 0002 0003 ffff");
	assert_keys(set, 0x32, "0002 7fff");
	partition_free(set);
}

static void partitions_come_in_the_order_of_their_pkeys(void **state)
{
	struct partition_set *set = read_text("c=0x8003: ALL; a=1: ALL; b=2: ALL;");

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(set->list[i].base, i + 1);
	assert_int_equal(set->list[3].base, 0x7fff);
	assert_string_equal(partition_find(set, 0x8003)->name, "c");
	assert_null(partition_find(set, 4));
	partition_free(set);
}

static void a_bad_line_is_named(void **state)
{
	assert_refused("\nDefault 0x7fff ALL;", "p.conf:2: \"Default 0x7fff ALL\": a partition's "
						"definition ends in a colon, on its first line");
	assert_refused("a=0x10000: ALL;", "p.conf:1: P_Key \"0x10000\" is not a number of 16 bits");
	assert_refused("a=0x1g: ALL;", "p.conf:1: P_Key \"0x1g\" is not a number of 16 bits");
	assert_refused("a=1, ipiob: ALL;", "p.conf:1: unknown partition flag \"ipiob\"");
	assert_refused("a=1, mtu=6: ALL;", "p.conf:1: mtu=6: a number of 1..5 is expected");
	assert_refused("a=1, mtu: ALL;", "p.conf:1: mtu=: a number of 1..5 is expected");
	assert_refused("a=1, rate=1: ALL;", "p.conf:1: rate=1: a number of 2..26 is expected");
	assert_refused("a=1, sl=16: ALL;", "p.conf:1: sl=16: a number of 0..15 is expected");
	assert_refused("a=1, Q_Key=0x100000000: ALL;",
		       "p.conf:1: Q_Key=0x100000000: a number of 0..4294967295 is expected");
	assert_refused("a=1, defmember=ful1: ALL;",
		       "p.conf:1: membership \"ful1\" is not one of full, limited, both");
	assert_refused("a=1:\n 0x31=x;",
		       "p.conf:2: membership \"x\" is not one of full, limited, both");
	assert_refused("a=1: ALL\nb=2: 0x31;",
		       "p.conf:2: member \"b\" is neither a port GUID nor one of ALL, ALL_CAS, "
		       "ALL_SWITCHES, ALL_ROUTERS, SELF (is a ; missing before it?)");
	assert_refused("a=1: 0;",
		       "p.conf:1: member \"0\" is neither a port GUID nor one of ALL, ALL_CAS, "
		       "ALL_SWITCHES, ALL_ROUTERS, SELF (is a ; missing before it?)");
	assert_refused(
		"a=1: ALL_HOSTS;",
		"p.conf:1: member \"ALL_HOSTS\" is neither a port GUID nor one of ALL, ALL_CAS, "
		"ALL_SWITCHES, ALL_ROUTERS, SELF (is a ; missing before it?)");
	assert_refused("a: ALL;\nb=1: ALL;",
		       "p.conf:2: P_Key 0x0001 was assigned to partition \"a\", "
		       "which has no number in the file: give it one");
	assert_refused("a=1:\n\n mgid=fe80::1", "p.conf:3: mgid=fe80::1 is not a multicast GID");
	assert_refused("a=1:\n mgid=ff12::1,hop=2", "p.conf:2: unknown group flag \"hop\"");
	assert_refused("a=1: mgid=ff12:401b:8002::1", "p.conf:1: mgid=ff12:401b:8002::1: its P_Key "
						      "0x8002 is not the partition's, 0x8001");
	assert_refused("a=1: mgid=ff12:401b::1,mtu=5",
		       "p.conf:1: mgid=ff12:401b::1: rate and mtu of an IP group are the "
		       "partition's, 3 and 4");
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
	const struct partition_options options = { .qos = false };
	char err[256], path[] = "/tmp/test_partition.XXXXXX";
	int fd = mkstemp(path);

	assert_null(partition_load("/nowhere/p.conf", &options, err, sizeof(err)));
	assert_string_equal(err, "/nowhere/p.conf:0: cannot be opened: No such file or directory");
	assert_null(partition_load("/tmp", &options, err, sizeof(err)));
	assert_string_equal(err, "/tmp:0: is not a file");
	assert_int_equal(write(fd, "a=1:ALL;\0b=2", 12), 12);
	assert_null(partition_load(path, &options, err, sizeof(err)));
	close(fd);
	unlink(path);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static void assert_group(const struct partition_set *set, unsigned i, const char *mgid,
			 struct partition_group want)
{
	const struct partition_group *g = &set->groups[i];
	char text[40] = "";

	assert_true(i < set->ngroups);
	for (unsigned b = 0; b < 16; b++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%02x", g->mgid[b]);
	assert_string_equal(text, mgid);
	assert_int_equal(g->pkey, want.pkey);
	assert_int_equal(g->rate, want.rate);
	assert_int_equal(g->mtu, want.mtu);
	assert_int_equal(g->sl, want.sl);
	assert_int_equal(g->scope, want.scope);
	assert_int_equal(g->tclass, want.tclass);
	assert_int_equal(g->hop_limit, want.hop_limit);
	assert_int_equal(g->qkey, want.qkey);
	assert_int_equal(g->flow_label, want.flow_label);
}

#define USUAL .rate = 3, .mtu = 4, .scope = 2

static void the_default_partition_has_the_ipv4_broadcast_group(void **state)
{
	struct partition_set *set = partition_default();

	assert_int_equal(set->ngroups, 1);
	assert_group(set, 0, "ff12401bffff000000000000ffffffff",
		     (struct partition_group){ USUAL, .pkey = 0xffff, .qkey = 0xb1b });
	partition_free(set);
}

static void a_broadcast_group_has_the_flags_of_its_partition(void **state)
{
	struct partition_set *set =
		read_with("a=1, ipoib, rate=16, mtu=5, sl=2, scope=2, scope=0xe, Q_Key=7, "
			  "TClass=8, FlowLabel=0x12345 : ALL=full;",
			  (struct partition_options){ .qos = true });
	struct partition_group want = { .pkey = 0x8001,
					.rate = 16,
					.mtu = 5,
					.sl = 2,
					.scope = 2,
					.qkey = 7,
					.tclass = 8,
					.flow_label = 0x12345 };

	assert_int_equal(set->ngroups, 2);
	assert_group(set, 0, "ff12401b8001000000000000ffffffff", want);
	want.scope = 0xe;
	want.hop_limit = 255;
	assert_group(set, 1, "ff1e401b8001000000000000ffffffff", want);
	assert_int_equal(partition_find(set, 1)->sl, 2);
	partition_free(set);
}

static void service_levels_count_with_qos_only(void **state)
{
	struct partition_set *set = read_text("a=1, ipoib, sl=2: ALL=full;");

	assert_int_equal(partition_find(set, 1)->sl, 0);
	assert_int_equal(set->groups[0].sl, 0);
	partition_free(set);
}

static void a_definition_that_names_no_sl_leaves_it(void **state)
{
	struct partition_set *set = read_with("a=1, sl=2: 0x31;\na=1: 0x32;",
					      (struct partition_options){ .qos = true });

	assert_int_equal(partition_find(set, 1)->sl, 2);
	partition_free(set);
}

static void mgid_lines_make_groups(void **state)
{
	struct partition_set *set = read_with("Default=0x7fff,ipoib:\n"
					      "  mgid=ff12:401b::0707,sl=1 # an IPv4 group\n"
					      "  mgid=ff12:601b::16\n"
					      "  mgid=ff12:401b:ffff::0707 # again\n"
					      "  mgid=ff15::1,sl=1,Q_Key=0xDEADBEEF,rate=3,mtu=2\n"
					      "  ALL=full;\n",
					      (struct partition_options){ .qos = true });

	assert_int_equal(set->ngroups, 4);
	assert_group(set, 1, "ff12401bffff00000000000000000707",
		     (struct partition_group){ USUAL, .pkey = 0xffff, .sl = 1, .qkey = 0xb1b });
	assert_group(set, 2, "ff12601bffff00000000000000000016",
		     (struct partition_group){ USUAL, .pkey = 0xffff, .qkey = 0xb1b });
	assert_group(set, 3, "ff120000000000000000000000000001",
		     (struct partition_group){ .pkey = 0xffff,
					       .rate = 3,
					       .mtu = 2,
					       .sl = 1,
					       .scope = 2,
					       .qkey = 0xdeadbeef });
	assert_keys(set, 0x31, "ffff");
	partition_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_file_all_are_full_members_of_one_partition),
		cmocka_unit_test(a_file_without_the_default_partition_makes_others_limited),
		cmocka_unit_test(the_subnet_manager_stays_a_full_member_of_the_default),
		cmocka_unit_test(all_and_its_kinds_mean_end_ports),
		cmocka_unit_test(members_that_name_no_port_are_accepted),
		cmocka_unit_test(the_last_rule_for_a_port_holds),
		cmocka_unit_test(defmember_is_for_members_that_say_nothing),
		cmocka_unit_test(both_memberships_need_to_be_allowed),
		cmocka_unit_test(index_0_goes_to_whom_the_file_names_last),
		cmocka_unit_test(the_file_may_be_written_as_people_write_it),
		cmocka_unit_test(partitions_without_a_number_get_the_lowest_free_one),
		cmocka_unit_test(partitions_come_in_the_order_of_their_pkeys),
		cmocka_unit_test(a_bad_line_is_named),
		cmocka_unit_test(a_file_that_cannot_be_read_is_named),
		cmocka_unit_test(the_default_partition_has_the_ipv4_broadcast_group),
		cmocka_unit_test(a_broadcast_group_has_the_flags_of_its_partition),
		cmocka_unit_test(service_levels_count_with_qos_only),
		cmocka_unit_test(a_definition_that_names_no_sl_leaves_it),
		cmocka_unit_test(mgid_lines_make_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
