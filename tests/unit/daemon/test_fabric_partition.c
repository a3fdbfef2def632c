/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Partitions by the whole daemon on the fabric double: tenants are kept apart by the SA, by hosts
 * and by switches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/conf/partition.h"
#include "fm/mad/wire_sa.h"
#include "fm/multicast/module.h"
#include "fm/partition/module.h"
#include "tests/lib/fabric_world.h"

#define QP1_QKEY 0x80010000u
#define HOSTS	 48 /* the first is where fmd runs */

static uint32_t port_of(const struct world *w, unsigned host)
{
	return w->design->nodes[w->design->nswitches + host].port0 + 1;
}

static guid_t guid_of(const struct world *w, unsigned host)
{
	return w->design->ports[port_of(w, host)].guid;
}

static guid_t node_of(const struct world *w, unsigned host)
{
	return w->design->nodes[w->design->nswitches + host].guid;
}

static bool same_tenant(unsigned a, unsigned b)
{
	return a == b || !a || !b || a % 3 == b % 3;
}

static void write_file(struct world *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void write_file(struct world *w, const char *format, ...)
{
	FILE *out;
	va_list args;

	snprintf(w->conf.partition.file, sizeof(w->conf.partition.file), "%s/partitions.conf",
		 w->state_dir);
	out = fopen(w->conf.partition.file, "w");
	assert_non_null(out);
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	fclose(out);
}

/* Three tenants by turns. */
static void write_tenants(struct world *w)
{
	char text[HOSTS * 32 + 256] = "", *at = text;

	for (unsigned tenant = 0; tenant < 3; tenant++) {
		at += sprintf(at, "tenant-%u=0x%x, ipoib, mtu=5, defmember=full:", tenant,
			      1 + tenant);
		for (unsigned host = 1; host < HOSTS; host++)
			if (host % 3 == tenant)
				at += sprintf(at, "0x%llx,", (unsigned long long)guid_of(w, host));
		at += sprintf(at, ";\n");
	}
	write_file(w, "%s", text);
}

static void configure(struct world *w)
{
	fabric_configure(w->fabric, &w->conf);
	run_for(w, SECOND_US);
}

static void tenants_init(struct world *w)
{
	world_init(w, small_tree());
	assert_int_equal(w->design->ncas, HOSTS);
	write_tenants(w);
	configure(w);
}

static void tenants_fini(struct world *w)
{
	unlink(w->conf.partition.file);
	world_fini(w);
}

/*
 * ---- Paths ------------------------------------------------------------------------------------
 */

static struct path_heard ask_paths(struct world *w, unsigned asker, unsigned a, unsigned b)
{
	struct path_heard heard =
		ask_path(w, w->design->nswitches + asker, guid_of(w, a), guid_of(w, b));

	assert_int_equal(heard.count, 1);
	return heard;
}

static void a_tenant_gets_no_path_to_another(void **state)
{
	struct world w;

	tenants_init(&w);
	for (unsigned i = 0; i < 200; i++) {
		unsigned a = 1 + i % (HOSTS - 1), b = (i * 7) % HOSTS;
		struct path_heard heard = ask_paths(&w, a, a, b);
		uint16_t pkey = a == b ? 0x7fff : b ? 0x8001 + a % 3 : 0x7fff;

		assert_int_equal(heard.status, same_tenant(a, b) ? WIRE_SA_OK : WIRE_SA_NO_RECORDS);
		assert_int_equal(heard.pkey, same_tenant(a, b) ? pkey : 0);
	}
	assert_int_equal(ask_paths(&w, 1, 2, 5).status, WIRE_SA_NO_RECORDS); /* of others */
	tenants_fini(&w);
}

/*
 * ---- Packets ----------------------------------------------------------------------------------
 */

static bool holds(const struct world *w, uint32_t port, uint16_t base, bool full)
{
	const struct topo_port *p = &w->design->ports[port];
	unsigned count;
	const uint16_t *keys = double_pkeys(w->hw, w->design->nodes[p->node].guid, p->num, &count);

	for (unsigned i = 0; i < count; i++)
		if (keys[i] == (base | PKEY_FULL) || (!full && keys[i] == base))
			return true;
	return false;
}

/* A packet of that partition gets past the switch's side of the host's cable. */
static bool leaf_passes(const struct world *w, uint32_t port, uint16_t base, bool in)
{
	uint32_t leaf = w->design->ports[port].peer;
	const struct topo_port *p = &w->design->ports[leaf];
	const struct wire_port_info *info =
		double_port_info(w->hw, w->design->nodes[p->node].guid, p->num);

	return !(in ? info->pkey_enforce_in : info->pkey_enforce_out) ||
	       holds(w, leaf, base, false);
}

/* By hosts' tables, and by what leaves let pass; `trusting`: the adapters' tables are not asked. */
static bool packets_pass(const struct world *w, uint32_t a, uint32_t b, bool trusting)
{
	for (uint16_t base = 1; base; base = base < 3 ? base + 1 : base == 3 ? 0x7fff : 0) {
		if (!leaf_passes(w, a, base, true) || !leaf_passes(w, b, base, false))
			continue;
		if (trusting ? base != 0x7fff
			     : holds(w, a, base, false) && holds(w, b, base, false) &&
				       (holds(w, a, base, true) || holds(w, b, base, true)))
			return true;
	}
	return false;
}

static void assert_kept_apart(const struct world *w, bool leaves_alone)
{
	for (unsigned a = 1; a < HOSTS; a++)
		for (unsigned b = 1; b < HOSTS; b++)
			if (a != b)
				assert_int_equal(
					packets_pass(w, port_of(w, a), port_of(w, b), leaves_alone),
					same_tenant(a, b));
}

static void packets_of_a_tenant_reach_no_other(void **state)
{
	struct world w;

	tenants_init(&w);
	assert_kept_apart(&w, false);
	assert_kept_apart(
		&w, true); /* even if adapters let everything pass, but for the default partition */
	tenants_fini(&w);
}

static void a_host_that_comes_back_is_no_exception(void **state)
{
	struct world w;

	tenants_init(&w);
	double_reboot(w.hw, node_of(&w, 7));
	double_reboot(
		w.hw,
		w.design->nodes[w.design->ports[w.design->ports[port_of(&w, 20)].peer].node].guid);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	assert_kept_apart(&w, false);
	assert_kept_apart(&w, true);
	tenants_fini(&w);
}

/*
 * ---- Configurations ---------------------------------------------------------------------------
 */

static void a_file_that_went_bad_leaves_the_old_partitions(void **state)
{
	struct world w;
	json_t *before, *after;

	tenants_init(&w);
	before = partitions_document(w.fabric, "tenant-1");
	write_file(&w, "tenant-1=1: ALL=ful1;");
	double_sent_reset(w.hw);
	configure(&w);
	after = partitions_document(w.fabric, "tenant-1");
	assert_true(json_equal(before, after));
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), 0);
	assert_int_equal(
		count_logged(&w, "partitions-refused", "partitions.conf:1: membership \"ful1\""),
		1);
	assert_kept_apart(&w, false);
	json_decref(before);
	json_decref(after);
	tenants_fini(&w);
}

/* The last good ones stay in force, till the file is right again. */
static void a_start_with_a_bad_file_goes_on_by_the_last_good_one(void **state)
{
	struct world w;
	json_t *before, *after;

	tenants_init(&w);
	assert_true(is_up(&w));
	before = partitions_document(w.fabric, "tenant-1");
	stop_fabric(&w);
	assert_true(partitions_kept(&w.conf));
	write_file(&w, "tenant-1=1: ALL=ful1;");
	double_sent_reset(w.hw);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	after = partitions_document(w.fabric, "tenant-1");
	assert_true(json_equal(before, after));
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_PKEY_TABLE), 0);
	assert_kept_apart(&w, false);
	assert_int_equal(count_logged(&w, "trouble", "partitions.conf:1: membership"), 1);
	write_tenants(&w);
	configure(&w);
	assert_int_equal(count_logged(&w, "trouble-over", "partition_config_file"), 1);
	json_decref(before);
	json_decref(after);
	tenants_fini(&w);
	assert_false(partitions_kept(&w.conf));
}

static void a_start_without_a_readable_file_opens_nothing(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	stop_fabric(&w);
	strcpy(w.conf.partition.file, "/nowhere");
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	assert_false(packets_pass(&w, port_of(&w, 1), port_of(&w, 2), false));
	assert_true(packets_pass(&w, port_of(&w, 0), port_of(&w, 2), false));
	world_fini(&w);
}

static void a_restart_writes_nothing(void **state)
{
	struct world w;

	tenants_init(&w);
	stop_fabric(&w);
	double_sent_reset(w.hw);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_PKEY_TABLE), 0);
	assert_kept_apart(&w, false);
	tenants_fini(&w);
}

static void without_a_file_again_all_talk_to_all(void **state)
{
	struct world w;

	tenants_init(&w);
	unlink(w.conf.partition.file);
	w.conf.partition.file[0] = '\0';
	configure(&w);
	assert_int_equal(ask_paths(&w, 1, 1, 2).status, WIRE_SA_OK);
	for (unsigned b = 2; b < HOSTS; b++)
		assert_true(packets_pass(&w, port_of(&w, 1), port_of(&w, b), false));
	world_fini(&w);
}

/*
 * ---- What is told -----------------------------------------------------------------------------
 */

static void each_ipoib_partition_has_its_broadcast_group(void **state)
{
	struct world w;
	unsigned found = 0;
	json_t *groups, *group;
	size_t i;

	tenants_init(&w);
	groups = multicast_groups(w.fabric);
	json_array_foreach (groups, i, group) {
		const char *mgid = json_string_value(json_object_get(group, "mgid"));

		found += !strcmp(mgid, "ff12:401b:8001::ffff:ffff") ||
			 !strcmp(mgid, "ff12:401b:8002::ffff:ffff") ||
			 !strcmp(mgid, "ff12:401b:8003::ffff:ffff");
	}
	assert_int_equal(json_array_size(groups), 3); /* the default partition has none any more */
	assert_int_equal(found, 3);
	json_decref(groups);
	tenants_fini(&w);
}

static void partitions_are_shown_with_their_members(void **state)
{
	json_t *all, *one, *members, *member;
	struct world w;
	size_t i;

	tenants_init(&w);
	all = partitions_document(w.fabric, NULL);
	one = partitions_document(w.fabric, "0x8002");
	assert_int_equal(json_array_size(all), 4);
	assert_string_equal(json_string_value(json_object_get(json_array_get(all, 0), "name")),
			    "tenant-0");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(all, 0), "full")), 15);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(all, 3), "full")), 1);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(all, 3), "limited")),
			 w.design->nswitches + HOSTS - 1);
	members = json_object_get(json_array_get(one, 0), "members");
	assert_int_equal(json_array_size(members), 16);
	json_array_foreach (members, i, member) {
		assert_int_equal(json_integer_value(json_object_get(member, "index")), 1);
		assert_true(json_is_true(json_object_get(member, "enforced")));
	}
	assert_null(partitions_document(w.fabric, "tenant-9"));
	json_decref(all);
	json_decref(one);
	tenants_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tenant_gets_no_path_to_another),
		cmocka_unit_test(packets_of_a_tenant_reach_no_other),
		cmocka_unit_test(a_host_that_comes_back_is_no_exception),
		cmocka_unit_test(a_file_that_went_bad_leaves_the_old_partitions),
		cmocka_unit_test(a_start_with_a_bad_file_goes_on_by_the_last_good_one),
		cmocka_unit_test(a_start_without_a_readable_file_opens_nothing),
		cmocka_unit_test(a_restart_writes_nothing),
		cmocka_unit_test(without_a_file_again_all_talk_to_all),
		cmocka_unit_test(each_ipoib_partition_has_its_broadcast_group),
		cmocka_unit_test(partitions_are_shown_with_their_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
