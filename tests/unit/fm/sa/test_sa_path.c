/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PathRecord: who its ends are, what it promises, which of several it gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"
#include "tests/lib/sa_path_ask.h"

static void a_path_is_found_by_gid_by_lid_and_by_both(void **state)
{
	struct world *w = *state;
	struct path_ask gids = by_gid(HOST(0), HOST(3)), lids = by_lid(w, HOST(0), HOST(3));
	struct path_ask mixed = gids;
	struct wire_path_record a;
	uint8_t first[64];

	mixed.want.slid = lids.want.slid;
	mixed.want.dlid = lids.want.dlid;
	mixed.mask = WIRE_BIT(WIRE_PATH(slid)) | WIRE_BIT(WIRE_PATH(dgid));
	a = path_get(w, &gids);
	memcpy(first, world_row(w, 0), sizeof(first));
	path_get(w, &lids);
	assert_memory_equal(first, world_row(w, 0), sizeof(first));
	path_get(w, &mixed);
	assert_memory_equal(first, world_row(w, 0), sizeof(first));
	mixed.mask |= gids.mask | lids.mask;
	path_get(w, &mixed);
	assert_memory_equal(first, world_row(w, 0), sizeof(first));
	assert_int_equal(a.slid, lids.want.slid);
	assert_int_equal(a.dlid, lids.want.dlid);
	assert_int_equal(a.sgid.guid, HOST(0));
	assert_int_equal(a.dgid.prefix, WORLD_PREFIX);
	assert_int_equal(a.pkey, 0xffff);
	assert_true(a.reversible);
	assert_int_equal(a.life, 18);
	assert_int_equal(a.hop_limit, 0);
}

static void a_gid_and_a_lid_of_two_ports_are_refused(void **state)
{
	struct world *w = *state;
	struct path_ask ask = by_gid(HOST(0), HOST(3));

	ask.want.dlid = world_lid(w, HOST(2));
	ask.mask |= WIRE_BIT(WIRE_PATH(dlid));
	assert_int_equal(path_status(w, &ask), WIRE_SA_REQ_INVALID);
}

static void a_gid_of_another_subnet_is_refused(void **state)
{
	struct path_ask ask = by_gid(HOST(0), HOST(3));

	ask.want.dgid.prefix = 0xfec0000000000001ull;
	assert_int_equal(path_status(*state, &ask), WIRE_SA_INVALID_GID);
	ask.want.dgid.prefix = 0xff12401bffff0000ull; /* multicast: no such group */
	assert_int_equal(path_status(*state, &ask), WIRE_SA_NO_RECORDS);
}

static void unknown_ends_have_no_path(void **state)
{
	struct world *w = *state;
	struct path_ask gid = by_gid(HOST(0), 0x4711), lid = by_lid(w, HOST(0), HOST(1));

	assert_int_equal(path_status(w, &gid), WIRE_SA_NO_RECORDS);
	lid.want.dlid = 0x7000;
	assert_int_equal(path_status(w, &lid), WIRE_SA_NO_RECORDS);
	lid.want.dlid = 0;
	assert_int_equal(path_status(w, &lid), WIRE_SA_NO_RECORDS);
	lid.want.dlid = 0xc001;
	assert_int_equal(path_status(w, &lid), WIRE_SA_NO_RECORDS);
}

static void a_path_promises_the_least_mtu_and_rate_on_it(void **state)
{
	struct world *w = *state;
	static const struct {
		unsigned from, to;
		uint8_t mtu, rate;
	} cases[] = {
		{ 0, 1, 5, 17 }, /* HDR 200 against NDR */
		{ 0, 2, 4, 16 }, /* EDR 100 and 2048 bytes */
		{ 1, 3, 5, 16 }, /* HDR of two lanes: 100, if the way is not the EDR cable's */
		{ 4, 4, 5, 11 }, /* FDR of one lane */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct path_ask ask = by_gid(HOST(cases[i].from), HOST(cases[i].to));
		struct wire_path_record rec = path_get(w, &ask);

		assert_int_equal(rec.rate, cases[i].rate);
		assert_in_range(rec.mtu, 4, cases[i].mtu);
		assert_int_equal(rec.mtu_sel, WIRE_EXACT);
		assert_int_equal(rec.rate_sel, WIRE_EXACT);
	}
}

static void a_switch_is_an_end_by_its_port_0(void **state)
{
	struct world *w = *state;
	struct path_ask to = by_gid(HOST(0), WORLD_SW(3)), from = by_gid(WORLD_SW(3), HOST(0));
	struct wire_path_record rec = path_get(w, &to);

	assert_int_equal(rec.dlid, world_lid(w, WORLD_SW(3)));
	assert_int_equal(rec.rate, 17);
	assert_true(rec.reversible);
	rec = path_get(w, &from);
	assert_int_equal(rec.slid, world_lid(w, WORLD_SW(3)));
	assert_int_equal(rec.rate, 17);
	to = by_gid(HOST(0), WORLD_SW(2)); /* its port 0 says nothing of its speed */
	assert_int_equal(path_get(w, &to).rate, 2);
	to = by_gid(WORLD_SW(3), WORLD_SW(3));
	assert_int_equal(path_get(w, &to).rate, 17);
}

static void a_port_reaches_itself(void **state)
{
	struct path_ask ask = by_gid(HOST(0), HOST(0));
	struct wire_path_record rec = path_get(*state, &ask);

	assert_int_equal(rec.life, 0);
	assert_int_equal(rec.rate, 17);
	assert_true(rec.reversible);
}

static void cable_set(struct inv_node *node, uint8_t num, uint8_t width, uint8_t ext,
		      uint16_t capmask2)
{
	struct wire_port_info info;
	uint8_t data[64];

	wire_port_info_decode(node->ports[num].info, &info);
	info.width_active = width;
	info.speed_ext_active = ext;
	info.capmask2 = capmask2;
	wire_port_info_encode(&info, data);
	inventory_set_port_info(node, num, data);
}

static void publish_again(struct world *w)
{
	topo_unref(w->topo);
	lid_map_free(w->lids);
	world_publish(w);
}

static void a_rate_the_host_cannot_know_is_lowered(void **state)
{
	struct world *w = *state;
	struct inv_node *host = inventory_find(&w->inv, WORLD_CA(3));
	struct inv_node *leaf = inventory_find(&w->inv, WORLD_SW(1));
	struct path_ask ask = by_gid(HOST(5), HOST(3));

	/*
	 * HDR of one lane, 50 Gb/s, at a host that is silent about new rates but runs at HDR itself
	 */
	cable_set(leaf, 1, 1, 4, 0);
	cable_set(host, 1, 1, 4, 0);
	publish_again(w);
	assert_int_equal(path_get(w, &ask).rate, 20);
	/* FDR of two lanes, 28 Gb/s, at a host that does not know two lanes */
	cable_set(leaf, 1, 16, 1, 0);
	cable_set(host, 1, 16, 1, 0);
	publish_again(w);
	w->topo->ports[world_port_of(w, HOST(3))].width == 2 ? (void)0 : fail();
	assert_int_equal(path_get(w, &ask).rate, 15);
	cable_set(host, 1, 16, 1, WIRE_CAP2_2X);
	publish_again(w);
	assert_int_equal(path_get(w, &ask).rate, 15); /* the other end must know it as well */
}

static void a_dead_end_has_no_path_and_a_one_way_street_is_not_reversible(void **state)
{
	struct world *w = *state;
	struct path_ask ask = by_gid(HOST(0), HOST(3)), back = by_gid(HOST(3), HOST(0));
	uint32_t leaf = topo_find(w->topo, WORLD_SW(1));

	assert_true(path_get(w, &ask).reversible);
	tables_row(&w->tables, leaf)[world_lid(w, HOST(0))] = TABLES_NO_ROUTE;
	assert_false(path_get(w, &ask).reversible);
	assert_int_equal(path_status(w, &back), WIRE_SA_NO_RECORDS);
	ask.mask |= WIRE_BIT(WIRE_PATH(reversible));
	assert_false(path_get(w, &ask).reversible); /* 0 = either will do */
	ask.want.reversible = true;
	assert_int_equal(path_status(w, &ask), WIRE_SA_NO_RECORDS);
}

static void lids_of_one_port_make_several_paths_the_distinct_ones_first(void **state)
{
	struct world *w = *state;
	struct path_ask ask = by_gid(HOST(0), HOST(4));
	struct wire_path_record rec;
	uint16_t base = world_lid(w, HOST(4));

	ask.method = WIRE_GET_TABLE;
	assert_int_equal(path_status(w, &ask), WIRE_SA_OK);
	assert_int_equal(world_rows(w), 2);
	wire_path_record_decode(world_row(w, 0), &rec);
	assert_int_equal(rec.dlid, base);
	assert_int_equal(rec.preference, 0);
	wire_path_record_decode(world_row(w, 1), &rec);
	assert_int_equal(rec.dlid, base + 1);
	assert_int_equal(rec.preference, 2);
	ask.mask |= WIRE_BIT(WIRE_PATH(num_path));
	for (ask.want.num_path = 0; ask.want.num_path < 4; ask.want.num_path++) {
		assert_int_equal(path_status(w, &ask), WIRE_SA_OK);
		assert_int_equal(world_rows(w), ask.want.num_path < 2 ? ask.want.num_path : 2);
	}
}

static void a_get_takes_one_path_of_many(void **state)
{
	struct path_ask ask = { .want = { .sgid = { WORLD_PREFIX, HOST(0) } },
				.mask = WIRE_BIT(WIRE_PATH(sgid)) };

	assert_int_equal(path_status(*state, &ask), WIRE_SA_OK);
	assert_int_equal(world_rows(*state), 1);
}

static void an_open_end_means_every_port(void **state)
{
	struct world *w = *state;
	struct path_ask ask = { .want = { .sgid = { WORLD_PREFIX, HOST(0) }, .num_path = 1 },
				.mask = WIRE_BIT(WIRE_PATH(sgid)) | WIRE_BIT(WIRE_PATH(num_path)),
				.method = WIRE_GET_TABLE };

	assert_int_equal(path_status(w, &ask), WIRE_SA_OK);
	assert_int_equal(world_rows(w), 11);
	ask.want.dgid = ask.want.sgid;
	ask.mask = WIRE_BIT(WIRE_PATH(dgid)) | WIRE_BIT(WIRE_PATH(num_path));
	assert_int_equal(path_status(w, &ask), WIRE_SA_OK);
	assert_int_equal(world_rows(w), 11);
}

static void bad_values_are_refused(void **state)
{
	struct path_ask ask = by_gid(HOST(0), HOST(1)), plain = ask;

	ask.mask |= WIRE_BIT(WIRE_PATH(rate_sel)) | WIRE_BIT(WIRE_PATH(rate));
	ask.want.rate = 1;
	assert_int_equal(path_status(*state, &ask), WIRE_SA_REQ_INVALID);
	ask.want.rate = 27;
	assert_int_equal(path_status(*state, &ask), WIRE_SA_REQ_INVALID);
	ask = plain;
	ask.mask |= WIRE_BIT(WIRE_PATH(mtu_sel)) | WIRE_BIT(WIRE_PATH(mtu));
	assert_int_equal(path_status(*state, &ask), WIRE_SA_REQ_INVALID);
	ask.want.mtu = 6;
	assert_int_equal(path_status(*state, &ask), WIRE_SA_REQ_INVALID);
	ask = plain;
	ask.mask |= WIRE_BIT(WIRE_PATH(service_id_msb));
	assert_int_equal(path_status(*state, &ask), WIRE_SA_INSUF_COMPS);
	ask.mask |= WIRE_BIT(WIRE_PATH(service_id_lsb));
	assert_int_equal(path_status(*state, &ask), WIRE_SA_OK);
}

static void no_other_life_time_is_promised_than_packets_have(void **state)
{
	struct path_ask ask = by_gid(HOST(0), HOST(1));
	unsigned granted = 0;

	ask.mask |= WIRE_BIT(WIRE_PATH(life_sel)) | WIRE_BIT(WIRE_PATH(life));
	for (ask.want.life_sel = WIRE_GREATER; ask.want.life_sel <= WIRE_EXACT; ask.want.life_sel++)
		for (ask.want.life = 16; ask.want.life <= 19; ask.want.life++) {
			if (path_status(*state, &ask) != WIRE_SA_OK)
				continue;
			assert_int_equal(path_get(*state, &ask).life, 18);
			granted++;
		}
	assert_int_equal(granted, 4); /* above 16 and 17, below 19, exactly 18 */
}

static void only_the_default_partition_connects(void **state)
{
	struct path_ask ask = by_gid(HOST(0), HOST(1));

	ask.mask |= WIRE_BIT(WIRE_PATH(pkey));
	ask.want.pkey = 0x8001;
	assert_int_equal(path_status(*state, &ask), WIRE_SA_NO_RECORDS);
	ask.want.pkey = 0x7fff;
	assert_int_equal(path_get(*state, &ask).pkey, 0x7fff);
	ask.want.raw = true;
	ask.mask |= WIRE_BIT(WIRE_PATH(raw));
	assert_int_equal(path_get(*state, &ask).pkey, 0);
}

static void set_neighbor_mtu(struct world *w, guid_t node, uint8_t num, uint8_t mtu, uint8_t state)
{
	struct inv_node *inv = inventory_find(&w->inv, node);
	struct wire_port_info info;
	uint8_t data[64];

	wire_port_info_decode(inv->ports[num].info, &info);
	info.neighbor_mtu = mtu;
	info.state = state;
	wire_port_info_encode(&info, data);
	inventory_set_port_info(inv, num, data);
}

/* The link was taken over as another manager left it; or it is not configured yet. */
static void a_path_promises_the_mtu_that_is_in_force(void **state)
{
	struct world *w = world_new();
	struct path_ask ask = by_gid(HOST(0), HOST(1));

	set_neighbor_mtu(w, WORLD_SW(0), 1, 3, TOPO_ACTIVE);
	world_publish(w);
	assert_int_equal(path_get(w, &ask).mtu, 3);
	world_free(w);
	w = world_new();
	set_neighbor_mtu(w, WORLD_SW(0), 1, 1, TOPO_INIT);
	world_publish(w);
	assert_int_equal(path_get(w, &ask).mtu, 5);
	world_free(w);
}

/* As a file of groups may have it. */
static void a_rate_that_means_nothing_is_below_all(void **state)
{
	for (unsigned rate = 27; rate < 256; rate++) {
		assert_true(sa_rate_compare((uint8_t)rate, 2) < 0);
		assert_int_equal(sa_rate_below((uint8_t)rate), 0);
		assert_int_equal(sa_rate_clip((uint8_t)rate, 0), rate);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_path_is_found_by_gid_by_lid_and_by_both),
		TEST(a_gid_and_a_lid_of_two_ports_are_refused),
		TEST(a_gid_of_another_subnet_is_refused),
		TEST(unknown_ends_have_no_path),
		TEST(a_path_promises_the_least_mtu_and_rate_on_it),
		TEST(a_switch_is_an_end_by_its_port_0),
		TEST(a_port_reaches_itself),
		TEST(a_rate_the_host_cannot_know_is_lowered),
		TEST(a_dead_end_has_no_path_and_a_one_way_street_is_not_reversible),
		TEST(lids_of_one_port_make_several_paths_the_distinct_ones_first),
		TEST(a_get_takes_one_path_of_many),
		TEST(an_open_end_means_every_port),
		TEST(bad_values_are_refused),
		TEST(no_other_life_time_is_promised_than_packets_have),
		TEST(only_the_default_partition_connects),
		cmocka_unit_test(a_path_promises_the_mtu_that_is_in_force),
		cmocka_unit_test(a_rate_that_means_nothing_is_below_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
