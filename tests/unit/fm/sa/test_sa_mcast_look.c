/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is shown of multicast groups: MCMemberRecord by Get and GetTable, and the tables of their
 * trees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/sa_mcast_ask.h"

static void fill_two_groups(struct world *w)
{
	struct wire_mcmember rec = member_record(HOST(0));

	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	rec.port_gid.guid = HOST(1);
	rec.join_state = WIRE_JOIN_SEND_ONLY;
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_OK);
	rec = member_record(HOST(5));
	rec.mgid.guid++;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
}

static void untrusted_eyes_see_groups_and_no_members(void **state)
{
	struct world *w = *state;
	struct wire_mcmember got, want = { .port_gid = gid_of(HOST(1)) };

	fill_two_groups(w);
	assert_int_equal(member_table(w, 0, &anything, false), 2);
	for (unsigned i = 0; i < 2; i++) {
		got = member_row(w, i);
		assert_true(!got.port_gid.prefix && !got.port_gid.guid);
		assert_int_equal(got.join_state, 0);
		assert_false(got.proxy);
	}
	assert_int_equal(member_table(w, B(port_gid), &want, false), 1);
	assert_true(!member_row(w, 0).port_gid.guid);
	assert_int_equal(member_table(w, 0, &anything, true), 3);
	assert_int_equal(member_table(w, B(port_gid), &want, true), 1);
	assert_true(member_row(w, 0).port_gid.guid == HOST(1));
	assert_int_equal(member_row(w, 0).join_state, WIRE_JOIN_SEND_ONLY);
}

static void what_is_asked_for_narrows_what_is_shown(void **state)
{
	struct world *w = *state;
	struct wire_mcmember want = { .mgid = some_mgid, .mlid = 0xc001, .qkey = 0x1b };

	fill_two_groups(w);
	assert_int_equal(member_table(w, B(mgid), &want, true), 2);
	assert_int_equal(member_table(w, B(mlid), &want, true), 1);
	assert_int_equal(member_table(w, B(mlid) | B(mgid), &want, true), 0);
	assert_int_equal(member_table(w, B(qkey), &want, true), 3);
	want.qkey = 0;
	assert_int_equal(member_table(w, B(qkey), &want, true), 0);
	want.join_state = WIRE_JOIN_FULL;
	assert_int_equal(member_table(w, B(join_state), &want, true), 2);
	want.scope = 2;
	assert_int_equal(member_table(w, B(scope), &want, false), 2);
	want.scope = 5;
	assert_int_equal(member_table(w, B(scope), &want, false), 0);
	want.mtu = MTU_2048;
	want.mtu_sel = WIRE_GREATER;
	assert_int_equal(member_table(w, B(mtu) | B(mtu_sel), &want, false), 2);
	want.life = 18;
	want.life_sel = WIRE_LESS;
	assert_int_equal(member_table(w, B(life) | B(life_sel), &want, false), 0);
	want.mlid = 0;
	assert_int_equal(ask_member(w, &(struct ask){ WIRE_GET, B(mlid), true, HOST(0) }, &want),
			 WIRE_SA_NO_RECORDS);
	assert_int_equal(ask_member(w, &(struct ask){ WIRE_GET, B(mgid), true, HOST(0) }, &want),
			 WIRE_SA_TOO_MANY_RECORDS);
	assert_int_equal(ask_member(w, &(struct ask){ WIRE_GET, B(mgid), false, HOST(0) }, &want),
			 WIRE_SA_OK);
}

static void tables_show_the_blocks_in_use(void **state)
{
	struct mcast_hop hop = { .guid = WORLD_SW(1), .ports = { 0x0082 } };
	struct mcast_tree trees[] = { { .mlid = 0xc001, .nhops = 1, .hops = &hop },
				      { .mlid = 0xc020, .nhops = 1, .hops = &hop } };
	const struct mcast_plan plan = { .ntrees = 2, .trees = trees };
	struct world *w = *state;
	const uint8_t *row;

	assert_int_equal(table_rows(w, WIRE_SA_MFT), 0);
	sa_mcast_set_trees(w->sa, &plan);
	assert_int_equal(table_rows(w, WIRE_SA_MFT), 2);
	row = world_row(w, 0);
	assert_int_equal(row[0] << 8 | row[1], world_lid(w, WORLD_SW(1)));
	assert_int_equal(row[2] << 8 | row[3], 0);
	assert_int_equal(row[8 + 2] << 8 | row[8 + 3], 0x0082);
	row = world_row(w, 1);
	assert_int_equal(row[2] << 8 | row[3], 1);
	assert_int_equal(row[8] << 8 | row[9], 0x0082);
	sa_mcast_set_trees(w->sa, NULL);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
	const struct CMUnitTest tests[] = {
		T(untrusted_eyes_see_groups_and_no_members),
		T(what_is_asked_for_narrows_what_is_shown),
		T(tables_show_the_blocks_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
