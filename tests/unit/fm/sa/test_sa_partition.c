/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SA where there are partitions: who gets which path, and who learns of whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/inventory/port_setup.h"
#include "fm/conf/partition.h"
#include "fm/mad/wire_sa.h"
#include "tests/lib/sa_ask.h"

static struct partition_set *set;

/*
 * Host 0, the subnet manager's, is in the default partition alone, as a full member; all others are
 * limited ones. Tenant 1: hosts 1 and 2; tenant 2: hosts 3 and 4, with an SL of their own; in 0x80
 * host 5 serves hosts 1 and 3.
 */
static const char tenants[] = "Default=0x7fff: ALL=limited, ALL_SWITCHES=limited;"
			      "a=1, defmember=full: 0x1011, 0x1021;"
			      "b=2, sl=4, defmember=full: 0x1031, 0x1041;"
			      "io=0x80: 0x1051=full, 0x1011, 0x1031;";

static int part(void **state)
{
	const struct partition_options options = { .qos = true };
	char text[sizeof(tenants)], err[128] = "";
	struct world *w;

	sa_setup(state);
	w = *state;
	memcpy(text, tenants, sizeof(text));
	set = partition_parse("tenants", text, &options, err, sizeof(err));
	assert_string_equal(err, "");
	w->view.partitions = set;
	w->view.pkeys = partition_resolve(set, w->topo, world_port_of(w, HOST(0)));
	sa_publish(w->sa, &w->view);
	return 0;
}

static int unite(void **state)
{
	struct world *w = *state;
	struct pkey_map *map = (struct pkey_map *)w->view.pkeys;

	sa_teardown(state);
	pkey_map_free(map);
	partition_free(set);
	return 0;
}

/* ---- Paths ----------------------------------------------------------------------------------- */

struct path_ask {
	unsigned from, to, asker; /* hosts */
	uint64_t mask;
	struct wire_path_record want;
};

static uint16_t path_status(struct world *w, const struct path_ask *ask,
			    struct wire_path_record *got)
{
	struct wire_path_record want = ask->want;
	uint8_t row[64];
	uint16_t status;

	want.sgid = (struct wire_gid){ WORLD_PREFIX, HOST(ask->from) };
	want.dgid = (struct wire_gid){ WORLD_PREFIX, HOST(ask->to) };
	wire_path_record_encode(&want, row);
	status = ask_status(w, &(struct world_request){
				       .method = WIRE_GET,
				       .attr = WIRE_SA_PATH,
				       .mask = ask->mask | WIRE_BIT(WIRE_PATH(sgid)) |
					       WIRE_BIT(WIRE_PATH(dgid)),
				       .data = row,
				       .len = sizeof(row),
				       .from = world_lid(w, HOST(ask->asker)),
			       });
	if (status == WIRE_SA_OK)
		wire_path_record_decode(world_row(w, 0), got);
	return status;
}

/* The P_Key of the path that `from` is given; 0 = none. */
static uint16_t path_pkey(struct world *w, unsigned from, unsigned to)
{
	struct wire_path_record got;

	return path_status(w, &(struct path_ask){ from, to, from, 0, { 0 } }, &got) ? 0 : got.pkey;
}

static void a_path_has_the_pkey_that_both_ends_share(void **state)
{
	assert_int_equal(path_pkey(*state, 1, 2), 0x8001);
	assert_int_equal(path_pkey(*state, 3, 4), 0x8002);
	assert_int_equal(path_pkey(*state, 1, 5), 0x0080);
	assert_int_equal(path_pkey(*state, 5, 1), 0x8080);
	assert_int_equal(path_pkey(*state, 0, 4), 0xffff);
	assert_int_equal(path_pkey(*state, 4, 0), 0x7fff);
}

static void a_limited_member_has_no_path_to_itself(void **state)
{
	struct path_ask ask = { 4, 4, 4, WIRE_BIT(WIRE_PATH(pkey)), { .pkey = 0x7fff } };
	struct wire_path_record got;

	assert_int_equal(path_pkey(*state, 4, 4), 0x8002); /* where it is a full member */
	assert_int_equal(path_status(*state, &ask, &got), WIRE_SA_NO_RECORDS);
	ask.want.pkey = 0xffff;
	assert_int_equal(path_status(*state, &ask, &got), WIRE_SA_NO_RECORDS);
}

static void tenants_and_clients_of_one_server_have_no_path_to_each_other(void **state)
{
	assert_int_equal(path_pkey(*state, 1, 3), 0);
	assert_int_equal(path_pkey(*state, 2, 4), 0);
	assert_int_equal(path_pkey(*state, 2, 5), 0);
}

static void a_pkey_that_is_asked_for_has_to_be_shared(void **state)
{
	struct path_ask ask = { 1, 2, 1, WIRE_BIT(WIRE_PATH(pkey)), { .pkey = 0x0001 } };
	struct wire_path_record got;

	assert_int_equal(path_status(*state, &ask, &got), WIRE_SA_OK);
	assert_int_equal(got.pkey, 0x0001);
	ask.want.pkey = 0xffff; /* both are limited members */
	assert_int_equal(path_status(*state, &ask, &got), WIRE_SA_NO_RECORDS);
	ask.want.pkey = 0x8080;
	assert_int_equal(path_status(*state, &ask, &got), WIRE_SA_NO_RECORDS);
}

static void raw_traffic_needs_a_partition_too_and_names_none(void **state)
{
	struct path_ask ask = { 1, 2, 1, WIRE_BIT(WIRE_PATH(raw)), { .raw = true } };
	struct wire_path_record got;

	assert_int_equal(path_status(*state, &ask, &got), WIRE_SA_OK);
	assert_int_equal(got.pkey, 0);
	ask.to = 3;
	assert_int_equal(path_status(*state, &ask, &got), WIRE_SA_NO_RECORDS);
}

static void paths_of_others_are_for_those_who_know_both_ends(void **state)
{
	struct path_ask ask = { 1, 2, 3, 0, { 0 } };
	struct wire_path_record got;

	assert_int_equal(path_status(*state, &ask, &got), WIRE_SA_NO_RECORDS);
	ask.asker = 5; /* knows host 1 alone */
	assert_int_equal(path_status(*state, &ask, &got), WIRE_SA_NO_RECORDS);
	ask.asker = 0;
	assert_int_equal(path_status(*state, &ask, &got), WIRE_SA_OK);
	assert_int_equal(got.pkey, 0x8001);
}

static void all_paths_of_a_tenant_stay_within_its_partitions(void **state)
{
	struct world *w = *state;
	unsigned n = ask_rows(w, &(struct world_request){ .method = WIRE_GET_TABLE,
							  .attr = WIRE_SA_PATH,
							  .from = world_lid(w, HOST(2)) });

	/* of host 2 to itself, host 1 and the subnet manager, and among these */
	assert_int_equal(n, 9);
	for (unsigned i = 0; i < n; i++) {
		struct wire_path_record got;

		wire_path_record_decode(world_row(w, i), &got);
		assert_true(got.sgid.guid <= HOST(2) && got.dgid.guid <= HOST(2));
	}
}

static void the_service_level_is_the_partitions_unless_asked_for(void **state)
{
	struct world *w = *state;
	struct path_ask ask = { 3, 4, 3, 0, { .sl = 7 } };
	struct wire_path_record got;

	assert_int_equal(path_status(w, &ask, &got), WIRE_SA_OK);
	assert_int_equal(got.sl, 4);
	ask.mask = WIRE_BIT(WIRE_PATH(sl));
	assert_int_equal(path_status(w, &ask, &got), WIRE_SA_OK);
	assert_int_equal(got.sl, 7);
	w->view.sls_dropped = 1u << 7;
	sa_publish(w->sa, &w->view);
	assert_int_equal(path_status(w, &ask, &got), WIRE_SA_NO_RECORDS);
	ask.mask = 0;
	assert_int_equal(path_status(w, &ask, &got), WIRE_SA_OK);
}

/* ---- Records --------------------------------------------------------------------------------- */

static unsigned rows_for(struct world *w, unsigned host, uint16_t attr)
{
	return ask_rows(w, &(struct world_request){ .method = WIRE_GET_TABLE,
						    .attr = attr,
						    .from = world_lid(w, HOST(host)) });
}

static void a_tenant_sees_its_own_and_the_subnet_manager(void **state)
{
	struct world *w = *state;

	assert_int_equal(rows_for(w, 2, WIRE_SA_NODE), 3);
	assert_int_equal(rows_for(w, 2, WIRE_SA_PORT_INFO), 3);
	assert_int_equal(rows_for(w, 2, WIRE_SA_GUID_INFO), 3 * 2);
	assert_int_equal(rows_for(w, 2, WIRE_SA_SM_INFO), 1);
	assert_int_equal(rows_for(w, 2, WIRE_SA_SWITCH_INFO), 0);
	assert_int_equal(rows_for(w, 2, WIRE_SA_LFT), 0);
	assert_int_equal(rows_for(w, 2, WIRE_SA_LINK), 0);
}

static void the_subnet_manager_sees_all(void **state)
{
	struct world *w = *state;

	assert_int_equal(rows_for(w, 0, WIRE_SA_NODE), 4 + 7);
	assert_int_equal(rows_for(w, 0, WIRE_SA_PORT_INFO), 4 * 9 + 7);
	assert_int_equal(rows_for(w, 0, WIRE_SA_LINK), 2 * (7 + 4));
	assert_int_equal(rows_for(w, 0, WIRE_SA_SWITCH_INFO), 4);
}

static void an_asker_without_a_port_sees_nothing(void **state)
{
	struct world *w = *state;
	struct world_request r = { .method = WIRE_GET_TABLE, .attr = WIRE_SA_NODE, .from = 0x1234 };

	assert_int_equal(ask_rows(w, &r), 0);
}

/* ---- P_Key tables ---------------------------------------------------------------------------- */

/*
 * Block 1 is 00 01, or 01 00 as OpenSM sends it and saquery takes it. Either is understood when it
 * is asked for.
 */
static void pkey_tables_are_shown_as_ports_hold_them(void **state)
{
	struct world *w = *state;
	struct port_setup *setup = port_setup(inventory_find(&w->inv, WORLD_CA(1)), 1);
	struct inv_pkeys *table = setup->pkeys = mem_alloc(1, sizeof(*table));
	uint8_t row[72] = { [3] = 1 };
	struct world_request r = { .method = WIRE_GET_TABLE,
				   .attr = WIRE_SA_PKEY,
				   .mask = WIRE_BIT(0) | WIRE_BIT(1),
				   .data = row,
				   .len = sizeof(row),
				   .sm_key = WORLD_SM_KEY };
	uint16_t lid = world_lid(w, HOST(1));

	row[0] = (uint8_t)(lid >> 8);
	row[1] = (uint8_t)lid;
	table->nblocks = 2;
	table->have = mem_alloc(64, sizeof(*table->have));
	table->have[33] = 0x8123;
	table->known = 3;
	assert_int_equal(ask_rows(w, &r), 1);
	assert_int_equal(world_row(w, 0)[2], 0);
	assert_int_equal(world_row(w, 0)[3], 1);
	row[2] = 1;
	row[3] = 0;
	assert_int_equal(ask_rows(w, &r), 1);
	assert_int_equal(world_row(w, 0)[3], 1);
	sa_configure(w->sa, &(struct sa_conf){ .gid_prefix = WORLD_PREFIX,
					       .sa_key = WORLD_SM_KEY,
					       .pkey_host_order = true });
	assert_int_equal(ask_rows(w, &r), 1);
	assert_int_equal(world_row(w, 0)[2], 1);
	assert_int_equal(world_row(w, 0)[3], 0);
	assert_int_equal(world_row(w, 0)[8 + 2] << 8 | world_row(w, 0)[8 + 3], 0x8123);
	row[2] = 0;
	assert_int_equal(ask_rows(w, &r), 1);
	assert_int_equal(world_row(w, 0)[8], 0); /* not even the default partition, for once */
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static void reported_cb(void *arg, const struct event_subject *subject, const char *text)
{
	*(unsigned *)arg += strstr(text, "mtu 5") != NULL;
}

/* The broadcast group of partition 1, made in advance with that MTU. */
static void preset_mtu(struct world *w, struct partition_set **now, unsigned mtu)
{
	const struct partition_options options = { .qos = true };
	char text[128], err[128] = "";

	snprintf(text, sizeof(text), "a=1, ipoib, mtu=%u, defmember=full: 0x1011, 0x1021;", mtu);
	partition_free(*now);
	*now = partition_parse("tenants", text, &options, err, sizeof(err));
	assert_string_equal(err, "");
	w->view.partitions = *now;
	sa_mcast_preset(w->sa, (*now)->groups, (*now)->ngroups);
	sa_publish(w->sa, &w->view);
}

/* As host 1's IPoIB does it; the MTU that it gets. */
static uint8_t join_or_leave(struct world *w, uint8_t method)
{
	struct wire_mcmember rec = { .mgid = { 0xff12401b80010000ull, 0xffffffff },
				     .port_gid = { WORLD_PREFIX, HOST(1) },
				     .pkey = 0x8001,
				     .join_state = WIRE_JOIN_FULL };
	uint8_t row[WIRE_MCMEMBER_SIZE];

	wire_mcmember_encode(&rec, row);
	assert_int_equal(ask_rows(w, &(struct world_request){ .method = method,
							      .attr = WIRE_SA_MCMEMBER,
							      .mask = WIRE_BIT(WIRE_MC(mgid)) |
								      WIRE_BIT(WIRE_MC(port_gid)) |
								      WIRE_BIT(WIRE_MC(pkey)) |
								      WIRE_BIT(WIRE_MC(join_state)),
							      .data = row,
							      .len = sizeof(row),
							      .from = world_lid(w, HOST(1)) }),
			 1);
	wire_mcmember_decode(world_row(w, 0), &rec);
	return rec.mtu;
}

static void a_group_takes_what_is_configured_when_its_members_have_left(void **state)
{
	struct partition_set *now = NULL;
	struct world *w = *state;
	unsigned reported = 0;

	sa_listen(w->sa, &(struct sa_listener){ .reported = reported_cb, .arg = &reported });
	preset_mtu(w, &now, 4);
	assert_int_equal(join_or_leave(w, WIRE_SET), 4);
	assert_int_equal(reported, 0);
	preset_mtu(w, &now, 5);
	assert_int_equal(reported, 1);
	assert_int_equal(join_or_leave(w, WIRE_SET), 4);
	assert_int_equal(join_or_leave(w, WIRE_DELETE), 4);
	assert_int_equal(join_or_leave(w, WIRE_SET), 5);
	preset_mtu(w, &now, 5);
	assert_int_equal(reported, 1);
	partition_free(now);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, part, unite)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_path_has_the_pkey_that_both_ends_share),
		TEST(a_limited_member_has_no_path_to_itself),
		TEST(tenants_and_clients_of_one_server_have_no_path_to_each_other),
		TEST(a_pkey_that_is_asked_for_has_to_be_shared),
		TEST(raw_traffic_needs_a_partition_too_and_names_none),
		TEST(paths_of_others_are_for_those_who_know_both_ends),
		TEST(all_paths_of_a_tenant_stay_within_its_partitions),
		TEST(the_service_level_is_the_partitions_unless_asked_for),
		TEST(a_tenant_sees_its_own_and_the_subnet_manager),
		TEST(the_subnet_manager_sees_all),
		TEST(an_asker_without_a_port_sees_nothing),
		TEST(pkey_tables_are_shown_as_ports_hold_them),
		TEST(a_group_takes_what_is_configured_when_its_members_have_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
