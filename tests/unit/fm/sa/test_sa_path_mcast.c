/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PathRecord to multicast groups, as IPoIB and RDMA-CM ask for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/sa_mcast_ask.h"
#include "tests/lib/sa_path_ask.h"

#define P(comp) WIRE_BIT(WIRE_PATH(comp))

/* Host 0 in a group of 2048 bytes, 100 Gb/s, SL 3; host 1 may follow. */
static struct wire_mcmember group_of_host_0(struct world *w)
{
	struct wire_mcmember rec = member_record(HOST(0));

	rec.sl = 3;
	rec.flow_label = 0x12345;
	rec.tclass = 7;
	rec.hop_limit = 9;
	rec.mtu_sel = rec.rate_sel = WIRE_EXACT;
	rec.mtu = MTU_2048;
	rec.rate = RATE_EDR;
	assert_int_equal(
		set_member(w, MASK_NEW | B(hop_limit) | B(mtu) | B(mtu_sel) | B(rate) | B(rate_sel),
			   &rec),
		WIRE_SA_OK);
	return member_row(w, 0);
}

static struct path_ask to_group(guid_t from, const struct wire_mcmember *group)
{
	return (struct path_ask){ .want = { .sgid = gid_of(from), .dgid = group->mgid },
				  .mask = P(sgid) | P(dgid) };
}

static void a_path_to_a_group_is_what_the_group_is(void **state)
{
	struct world *w = *state;
	struct wire_mcmember group = group_of_host_0(w);
	struct path_ask ask = to_group(HOST(0), &group);
	struct wire_path_record got = path_get(w, &ask);

	assert_true(got.dgid.prefix == group.mgid.prefix && got.dgid.guid == group.mgid.guid);
	assert_true(got.sgid.guid == HOST(0));
	assert_int_equal(got.dlid, group.mlid);
	assert_int_equal(got.slid, world_lid(w, HOST(0)));
	assert_int_equal(got.sl, 3);
	assert_int_equal(got.flow_label, 0x12345);
	assert_int_equal(got.tclass, 7);
	assert_int_equal(got.hop_limit, 9);
	assert_int_equal(got.pkey, 0xffff);
	assert_int_equal(got.mtu, MTU_2048);
	assert_int_equal(got.mtu_sel, WIRE_EXACT);
	assert_int_equal(got.rate, RATE_EDR);
	assert_int_equal(got.rate_sel, WIRE_EXACT);
	assert_int_equal(got.life, group.life);
	assert_int_equal(got.life_sel, WIRE_EXACT);
	assert_int_equal(got.num_path, 1);
	assert_false(got.reversible);
}

static void a_group_of_wider_scope_is_reached_over_any_number_of_hops(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0));
	struct path_ask ask;

	rec.mgid.prefix = 0xff15a01cfe800000ull;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	ask = to_group(HOST(0), &rec);
	assert_int_equal(path_get(w, &ask).hop_limit, 255);
}

static void a_group_goes_by_mgid_by_mlid_and_by_both(void **state)
{
	struct world *w = *state;
	struct wire_mcmember group = group_of_host_0(w);
	struct path_ask ask = to_group(HOST(0), &group);
	uint8_t first[64];

	path_get(w, &ask);
	memcpy(first, world_row(w, 0), sizeof(first));
	ask.want.dlid = group.mlid;
	ask.mask |= P(dlid);
	path_get(w, &ask);
	assert_memory_equal(first, world_row(w, 0), sizeof(first));
	ask.mask &= ~P(dgid);
	path_get(w, &ask);
	assert_memory_equal(first, world_row(w, 0), sizeof(first));
	ask.want.slid = world_lid(w, HOST(0));
	ask.mask = P(slid) | P(dlid);
	path_get(w, &ask);
	assert_memory_equal(first, world_row(w, 0), sizeof(first));
	ask.method = WIRE_GET_TABLE;
	path_get(w, &ask);
	assert_int_equal(world_rows(w), 1);
	assert_memory_equal(first, world_row(w, 0), sizeof(first));
	ask.mask |= P(num_path); /* 0 of them */
	path_status(w, &ask);
	assert_int_equal(world_rows(w), 0);
}

static void a_group_that_is_not_there_has_no_path(void **state)
{
	struct world *w = *state;
	struct wire_mcmember group = group_of_host_0(w);
	struct path_ask ask = to_group(HOST(0), &group);

	ask.want.dlid = group.mlid + 1;
	ask.mask |= P(dlid);
	assert_int_equal(path_status(w, &ask), WIRE_SA_NO_RECORDS);
	ask.mask &= ~P(dgid);
	assert_int_equal(path_status(w, &ask), WIRE_SA_NO_RECORDS);
	ask.want.dlid = 0xffff; /* permissive */
	assert_int_equal(path_status(w, &ask), WIRE_SA_NO_RECORDS);
	ask = to_group(HOST(0), &group);
	ask.want.dgid.guid++;
	assert_int_equal(path_status(w, &ask), WIRE_SA_NO_RECORDS);
	ask.method = WIRE_GET_TABLE;
	assert_int_equal(path_status(w, &ask), WIRE_SA_OK);
	assert_int_equal(world_rows(w), 0);
}

static void a_source_that_is_named_must_be_a_member(void **state)
{
	struct world *w = *state;
	struct wire_mcmember group = group_of_host_0(w), rec = member_record(HOST(1));
	struct path_ask ask = to_group(HOST(1), &group);

	assert_int_equal(path_status(w, &ask), WIRE_SA_NO_RECORDS);
	rec.join_state = WIRE_JOIN_SEND_ONLY;
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_OK);
	assert_int_equal(path_status(w, &ask), WIRE_SA_OK);
	ask.want.sgid.guid = 0x4711;
	assert_int_equal(path_status(w, &ask), WIRE_SA_NO_RECORDS);
	ask.want.sgid = (struct wire_gid){ 0x1234, HOST(0) };
	assert_int_equal(path_status(w, &ask), WIRE_SA_INVALID_GID);
	ask.mask = P(dgid);
	assert_int_equal(path_status(w, &ask), WIRE_SA_OK);
	assert_true(path_get(w, &ask).sgid.guid == 0);
}

/* Each row: what a component is asked to be of the group of host 0, and whether it is that. */
static void what_is_asked_of_the_group_is_held_against_it(void **state)
{
	static const struct {
		uint64_t mask;
		struct wire_path_record want;
		bool fits;
	} rows[] = {
		{ P(sl), { .sl = 3 }, true },
		{ P(sl), { .sl = 0 }, false },
		{ P(flow_label), { .flow_label = 0x12345 }, true },
		{ P(flow_label), { .flow_label = 1 }, false },
		{ P(hop_limit), { .hop_limit = 9 }, true },
		{ P(hop_limit), { .hop_limit = 8 }, false },
		{ P(tclass), { .tclass = 7 }, true },
		{ P(tclass), { .tclass = 6 }, false },
		{ P(pkey), { .pkey = 0xffff }, true },
		{ P(pkey), { .pkey = 0x7fff }, true },
		{ P(pkey), { .pkey = 0x8001 }, false },
		{ P(mtu) | P(mtu_sel), { .mtu_sel = WIRE_EXACT, .mtu = 4 }, true },
		{ P(mtu) | P(mtu_sel), { .mtu_sel = WIRE_EXACT, .mtu = 5 }, false },
		{ P(mtu) | P(mtu_sel), { .mtu_sel = WIRE_GREATER, .mtu = 3 }, true },
		{ P(mtu) | P(mtu_sel), { .mtu_sel = WIRE_GREATER, .mtu = 4 }, false },
		{ P(mtu) | P(mtu_sel), { .mtu_sel = WIRE_LESS, .mtu = 5 }, true },
		{ P(mtu) | P(mtu_sel), { .mtu_sel = WIRE_LESS, .mtu = 4 }, false },
		{ P(mtu) | P(mtu_sel), { .mtu_sel = WIRE_BEST, .mtu = 1 }, true },
		{ P(mtu), { .mtu = 1 }, true }, /* without a selector it says nothing */
		{ P(rate) | P(rate_sel), { .rate_sel = WIRE_EXACT, .rate = 16 }, true },
		{ P(rate) | P(rate_sel), { .rate_sel = WIRE_EXACT, .rate = 3 }, false },
		{ P(rate) | P(rate_sel), { .rate_sel = WIRE_GREATER, .rate = 3 }, true },
		{ P(rate) | P(rate_sel), { .rate_sel = WIRE_LESS, .rate = 3 }, false },
		{ P(life) | P(life_sel), { .life_sel = WIRE_EXACT, .life = 18 }, true },
		{ P(life) | P(life_sel), { .life_sel = WIRE_LESS, .life = 18 }, false },
		{ P(reversible), { .reversible = true }, true }, /* as RDMA-CM asks it */
	};
	struct world *w = *state;
	struct wire_mcmember group = group_of_host_0(w);
	struct path_ask plain = to_group(HOST(0), &group);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct path_ask ask = { .want = rows[i].want, .mask = rows[i].mask | plain.mask };
		uint16_t status;

		ask.want.sgid = plain.want.sgid;
		ask.want.dgid = plain.want.dgid;
		status = path_status(w, &ask);
		if (status != (rows[i].fits ? WIRE_SA_OK : WIRE_SA_NO_RECORDS))
			fail_msg("row %zu: status %#x", i, status);
	}
}

static void bad_values_are_refused_of_groups_too(void **state)
{
	struct world *w = *state;
	struct wire_mcmember group = group_of_host_0(w);
	struct path_ask ask = to_group(HOST(0), &group);

	ask.mask |= P(rate_sel) | P(rate);
	ask.want.rate = 63;
	assert_int_equal(path_status(w, &ask), WIRE_SA_REQ_INVALID);
}

/* Hosts 0 and 1 are in 0x8001, host 1 as a limited member. */
static void a_group_of_another_partition_is_not_there(void **state)
{
	struct world *w = *state;
	struct pkey_map *map = world_two_members(w);
	struct wire_mcmember rec = member_record(HOST(0));
	struct path_ask ask = to_group(HOST(0), &rec);
	uint8_t row[64];
	struct world_request r;

	rec.pkey = 0x8001;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	assert_int_equal(path_get(w, &ask).pkey, 0x8001);
	ask.mask = P(dgid);
	r = path_request(&ask, row);
	r.from = world_lid(w, HOST(1));
	assert_int_equal(ask_status(w, &r), WIRE_SA_OK);
	r.from = world_lid(w, HOST(5));
	assert_int_equal(ask_status(w, &r), WIRE_SA_NO_RECORDS);
	r.from = 0x7000; /* of nobody */
	assert_int_equal(ask_status(w, &r), WIRE_SA_NO_RECORDS);
	world_one_partition(w, map);
}

/* Solicited nodes of one partition, at one MLID. */
static void a_shared_mlid_has_a_path_for_each_of_its_groups(void **state)
{
	struct world *w = *state;
	struct partition_set *set_up = partition_default();
	struct wire_mcmember rec = member_record(HOST(0));
	struct path_ask ask = { .method = WIRE_GET_TABLE, .mask = P(dlid) };

	sa_mcast_preset(w->sa, set_up->groups, set_up->ngroups);
	sa_groups_share_snm(sa_mcast_groups(w->sa), true);
	rec.qkey = 0xb1b;
	rec.mgid = (struct wire_gid){ 0xff12601bffff0000ull, 0x1ff000001ull };
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	ask.want.dlid = member_row(w, 0).mlid;
	rec.mgid.guid++;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	assert_int_equal(member_row(w, 0).mlid, ask.want.dlid);
	assert_int_equal(path_status(w, &ask), WIRE_SA_OK);
	assert_int_equal(world_rows(w), 2);
	ask.method = WIRE_GET;
	assert_int_equal(path_status(w, &ask), WIRE_SA_OK);
	partition_free(set_up);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_path_to_a_group_is_what_the_group_is),
		TEST(a_group_of_wider_scope_is_reached_over_any_number_of_hops),
		TEST(a_group_goes_by_mgid_by_mlid_and_by_both),
		TEST(a_group_that_is_not_there_has_no_path),
		TEST(a_source_that_is_named_must_be_a_member),
		TEST(what_is_asked_of_the_group_is_held_against_it),
		TEST(bad_values_are_refused_of_groups_too),
		TEST(a_group_of_another_partition_is_not_there),
		TEST(a_shared_mlid_has_a_path_for_each_of_its_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
