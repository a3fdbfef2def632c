/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MCMemberRecord: who joins which groups by Set, what groups become of that, and who leaves them by
 * Delete.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/loop/log.h"
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"
#include "tests/lib/sa_mcast_ask.h"

/* ---- Joining --------------------------------------------------------------------------------- */

static void a_join_with_all_it_needs_makes_a_group(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0)), got;

	rec.sl = 3;
	rec.flow_label = 0x12345;
	rec.tclass = 7;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	assert_int_equal(w->sent[3], WIRE_GET_RESP);
	got = member_row(w, 0);
	assert_memory_equal(&got.mgid, &some_mgid, sizeof(some_mgid));
	assert_true(got.port_gid.guid == HOST(0));
	assert_int_equal(got.mlid, 0xc000);
	assert_int_equal(got.mtu, MTU_4096);
	assert_int_equal(got.mtu_sel, WIRE_EXACT);
	assert_int_equal(got.rate, RATE_HDR);
	assert_int_equal(got.rate_sel, WIRE_EXACT);
	assert_int_equal(got.life, 18);
	assert_int_equal(got.scope, 2);
	assert_int_equal(got.join_state, WIRE_JOIN_FULL);
	assert_int_equal(got.sl, 3);
	assert_int_equal(got.flow_label, 0x12345);
	assert_int_equal(got.tclass, 7);
	assert_int_equal(got.qkey, 0x1b);
	assert_false(got.proxy);
}

static void each_component_a_new_group_needs_is_insisted_on(void **state)
{
	static const unsigned comps[] = { WIRE_MC(mgid),       WIRE_MC(port_gid),
					  WIRE_MC(join_state), WIRE_MC(qkey),
					  WIRE_MC(tclass),     WIRE_MC(pkey),
					  WIRE_MC(flow_label), WIRE_MC(sl) };
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0));

	for (size_t i = 0; i < sizeof(comps) / sizeof(comps[0]); i++)
		assert_int_equal(set_member(w, MASK_NEW & ~WIRE_BIT(comps[i]), &rec),
				 WIRE_SA_INSUF_COMPS);
	assert_int_equal(sa_groups_use(sa_mcast_groups(w->sa))->groups, 0);
}

static void only_who_stays_may_make_a_group(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0));

	for (uint8_t bits = 0; bits <= WIRE_JOIN_BITS; bits++) {
		bool may = bits & (WIRE_JOIN_FULL | WIRE_JOIN_SEND_ONLY_FULL);

		rec.join_state = bits;
		rec.mgid.guid = bits;
		assert_int_equal(set_member(w, MASK_NEW, &rec),
				 may ? WIRE_SA_OK : WIRE_SA_REQ_INVALID);
	}
}

static void a_join_without_an_mgid_gets_one(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0)), first, second;

	rec.mgid = (struct wire_gid){ 0 };
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	first = member_row(w, 0);
	assert_true(first.mgid.prefix >> 32 == 0xff12a01b);
	rec.scope = 5;
	assert_int_equal(set_member(w, MASK_NEW | B(scope), &rec), WIRE_SA_OK);
	second = member_row(w, 0);
	assert_true(second.mgid.prefix >> 32 == 0xff15a01b);
	assert_int_equal(second.scope, 5);
	assert_int_not_equal(first.mlid, second.mlid);
}

static void mgids_that_are_none_are_refused(void **state)
{
	static const uint64_t bad[] = { 0xfa12a01cfe800000ull, 0xef12a01cfe800000ull,
					0xff22a01cfe800000ull, 0xff12a01bfe800000ull };
	static const uint64_t good[] = { 0xff1fa01cfe800000ull, 0xff02000000000000ull,
					 0xff15a01bfe800000ull };
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0));

	for (size_t i = 0; i < 4; i++) {
		rec.mgid.prefix = bad[i];
		assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_REQ_INVALID);
	}
	for (size_t i = 0; i < 3; i++) {
		rec.mgid.prefix = good[i];
		assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	}
}

/* Of a new group, by selector: what comes of it on an HDR cable of 4096 bytes; 0 = nothing. */
static void mtu_and_rate_of_a_group_are_what_is_asked_and_possible(void **state)
{
	static const struct {
		uint8_t sel, mtu, becomes;
	} mtus[] = {
		{ WIRE_GREATER, 4, 5 }, { WIRE_GREATER, 5, 0 }, { WIRE_LESS, 5, 4 },
		{ WIRE_LESS, 1, 0 },	{ WIRE_EXACT, 2, 2 },	{ WIRE_EXACT, 6, 0 },
		{ WIRE_EXACT, 0, 0 },	{ WIRE_BEST, 1, 5 },	{ WIRE_GREATER, 6, 0 },
	};
	static const struct {
		uint8_t sel, rate, becomes;
	} rates[] = {
		{ WIRE_GREATER, RATE_10, RATE_HDR },
		{ WIRE_GREATER, RATE_HDR, 0 },
		{ WIRE_LESS, RATE_10, 5 },
		{ WIRE_LESS, 2, 0 },
		{ WIRE_EXACT, RATE_10, RATE_10 },
		{ WIRE_EXACT, RATE_NDR, 0 },
		{ WIRE_EXACT, 1, 0 },
		{ WIRE_BEST, 2, RATE_HDR },
		{ WIRE_LESS, RATE_NDR, RATE_HDR },
		{ WIRE_GREATER, 63, 0 },
	};
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0));

	for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		rec.mgid.guid++;
		rec.mtu_sel = mtus[i].sel;
		rec.mtu = mtus[i].mtu;
		assert_int_equal(set_member(w, MASK_NEW | B(mtu) | B(mtu_sel), &rec),
				 mtus[i].becomes ? WIRE_SA_OK : WIRE_SA_REQ_INVALID);
		if (mtus[i].becomes)
			assert_int_equal(member_row(w, 0).mtu, mtus[i].becomes);
	}
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		rec.mgid.guid++;
		rec.rate_sel = rates[i].sel;
		rec.rate = rates[i].rate;
		assert_int_equal(set_member(w, MASK_NEW | B(rate) | B(rate_sel), &rec),
				 rates[i].becomes ? WIRE_SA_OK : WIRE_SA_REQ_INVALID);
		if (rates[i].becomes)
			assert_int_equal(member_row(w, 0).rate, rates[i].becomes);
	}
}

static void a_second_join_needs_little_and_adds_its_bits(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0));

	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	rec.join_state = WIRE_JOIN_SEND_ONLY;
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_OK);
	assert_int_equal(member_row(w, 0).join_state, WIRE_JOIN_FULL | WIRE_JOIN_SEND_ONLY);
	rec.join_state = 0;
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_REQ_INVALID);
	rec = member_record(HOST(1));
	rec.join_state = WIRE_JOIN_NON;
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_OK);
	assert_int_equal(member_row(w, 0).join_state, WIRE_JOIN_NON);
	assert_int_equal(member_row(w, 0).mlid, 0xc000);
	assert_int_equal(member_row(w, 0).qkey, 0x1b);
}

static void a_join_that_says_otherwise_than_the_group_is_refused(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0)), other = member_record(HOST(1));

	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	other.qkey = 5;
	other.pkey = 0x8001;
	other.tclass = other.sl = other.flow_label = other.hop_limit = 1;
	for (unsigned comp = 0; comp <= WIRE_MC(proxy); comp++) {
		bool matters = WIRE_BIT(comp) & (B(qkey) | B(pkey) | B(tclass) | B(sl) |
						 B(flow_label) | B(hop_limit));

		assert_int_equal(set_member(w, MASK_JOIN | WIRE_BIT(comp), &other),
				 matters ? WIRE_SA_REQ_INVALID : WIRE_SA_OK);
	}
	other.mtu_sel = WIRE_LESS;
	other.mtu = MTU_4096;
	assert_int_equal(set_member(w, MASK_JOIN | B(mtu_sel) | B(mtu), &other),
			 WIRE_SA_REQ_INVALID);
	other.mtu_sel = WIRE_EXACT;
	assert_int_equal(set_member(w, MASK_JOIN | B(mtu_sel) | B(mtu), &other), WIRE_SA_OK);
	other.rate_sel = WIRE_GREATER;
	other.rate = RATE_HDR;
	assert_int_equal(set_member(w, MASK_JOIN | B(rate_sel) | B(rate), &other),
			 WIRE_SA_REQ_INVALID);
	other.pkey = 0x7fff; /* a limited member of the same partition */
	assert_int_equal(set_member(w, MASK_JOIN | B(pkey), &other), WIRE_SA_OK);
}

static void a_port_whose_cable_is_too_slow_or_small_cannot_join(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0));

	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK); /* 4096 bytes, HDR */
	rec.port_gid.guid = HOST(2);				     /* 2048 bytes, EDR */
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_REQ_INVALID);
	rec.port_gid.guid = HOST(3); /* HDR, two lanes */
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_REQ_INVALID);
	rec.port_gid.guid = HOST(1); /* NDR */
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_OK);
	rec = member_record(HOST(2));
	rec.mgid.guid++;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	assert_int_equal(member_row(w, 0).mtu, MTU_2048);
	assert_int_equal(member_row(w, 0).rate, RATE_EDR);
}

static void an_ipoib_group_is_made_like_its_broadcast_group(void **state)
{
	struct world *w = *state;
	struct partition_set *set_up = partition_default();
	struct wire_mcmember rec = member_record(HOST(0));

	rec.qkey = 0xb1b;
	rec.mgid = (struct wire_gid){ 0xff12401bffff0000ull, 1 };
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_REQ_INVALID);
	sa_mcast_preset(w->sa, set_up->groups, set_up->ngroups);
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	rec.mgid.guid = 2;
	rec.qkey = 5;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_REQ_INVALID);
	rec.qkey = 0xb1b;
	rec.mgid.prefix = 0xff15601bffff0000ull; /* another scope */
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_REQ_INVALID);
	rec.mgid.prefix = 0xff12601bffff0000ull;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	partition_free(set_up);
}

static void an_ipoib_group_has_the_pkey_of_its_mgid_with_the_full_bit(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0));

	rec.mgid = (struct wire_gid){ 0xff12401b00010000ull, 0xffffffff };
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_REQ_INVALID);
	rec.mgid.prefix = 0xff12401b7fff0000ull;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_REQ_INVALID);
	rec.mgid.prefix = 0xff12401bffff0000ull;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
}

static void the_broadcast_group_is_there_before_and_after_its_members(void **state)
{
	struct world *w = *state;
	struct partition_set *set_up = partition_default();
	struct wire_mcmember rec = member_record(HOST(0)), got;

	sa_mcast_preset(w->sa, set_up->groups, set_up->ngroups);
	assert_int_equal(member_table(w, 0, &anything, false), 1);
	got = member_row(w, 0);
	assert_true(got.mgid.prefix == 0xff12401bffff0000ull && got.mgid.guid == 0xffffffff);
	assert_int_equal(got.mtu, MTU_2048);
	assert_int_equal(got.rate, RATE_10);
	assert_int_equal(got.qkey, 0xb1b);
	assert_int_equal(got.pkey, 0xffff);
	rec.mgid = got.mgid;
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_OK);
	assert_int_equal(leave_group(w, &rec), WIRE_SA_OK);
	assert_int_equal(member_table(w, 0, &anything, false), 1);
	sa_mcast_preset(w->sa, NULL, 0);
	assert_int_equal(member_table(w, 0, &anything, false), 0);
	partition_free(set_up);
}

static void when_no_mlid_is_left_the_answer_says_so(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0));

	log_set_level(LOG_SA, LOG_ERR);
	sa_groups_set_capacity(sa_mcast_groups(w->sa), 1);
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	rec.mgid.guid++;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_NO_RESOURCES);
	rec.mgid.guid--;
	rec.port_gid.guid = HOST(1);
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_OK);
}

struct heard {
	unsigned times;
	char text[256];
};

static void hear(void *arg, const struct event_subject *subject, const char *text)
{
	struct heard *heard = arg;

	heard->times++;
	snprintf(heard->text, sizeof(heard->text), "%s", text);
}

static void allow_groups(struct world *w, unsigned limit)
{
	sa_configure(w->sa, &(struct sa_conf){ .gid_prefix = WORLD_PREFIX,
					       .sa_key = WORLD_SM_KEY,
					       .subnet_timeout = 18,
					       .groups_limit = limit });
}

static void one_port_does_not_take_all_groups(void **state)
{
	struct world *w = *state;
	struct partition_set *set_up = partition_default();
	struct wire_mcmember rec = member_record(HOST(0)), broadcast = rec;
	struct heard heard = { 0 };

	sa_listen(w->sa, &(struct sa_listener){ .reported = hear, .arg = &heard });
	allow_groups(w, 3);
	for (rec.mgid.guid = 1; rec.mgid.guid <= 3; rec.mgid.guid++)
		assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	assert_int_equal(heard.times, 0);
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_NO_RESOURCES);
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_NO_RESOURCES);
	assert_int_equal(heard.times, 1);
	assert_non_null(strstr(heard.text, "host-0 mlx5_0 p1"));
	assert_int_equal(sa_groups_use(sa_mcast_groups(w->sa))->groups, 3);
	rec.mgid.guid = 2; /* where it is already */
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_OK);
	sa_mcast_preset(w->sa, set_up->groups, set_up->ngroups);
	broadcast.mgid = (struct wire_gid){ 0xff12401bffff0000ull, 0xffffffff };
	assert_int_equal(set_member(w, MASK_JOIN, &broadcast), WIRE_SA_OK);
	partition_free(set_up);
}

static unsigned make_groups(struct world *w, guid_t port, unsigned first, unsigned tries)
{
	struct wire_mcmember rec = member_record(port);
	unsigned made = 0;

	for (unsigned i = first; i < first + tries; i++) {
		rec.mgid.guid = i;
		made += set_member(w, MASK_NEW, &rec) == WIRE_SA_OK;
	}
	return made;
}

/* As one host on its own, with a table of 1,024. */
static void one_port_holds_a_sixteenth_of_the_mlids_at_most(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(1));

	allow_groups(w, 1024);
	sa_groups_set_capacity(sa_mcast_groups(w->sa), 1024);
	assert_int_equal(make_groups(w, HOST(0), 0, 1000), 1024 / 16);
	assert_int_equal(sa_mcast_share(w->sa, HOST(0)).held, 1024 / 16);
	rec.mgid.guid = 0; /* its group goes over to another member that keeps it */
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_OK);
	rec.port_gid.guid = HOST(0);
	assert_int_equal(leave_group(w, &rec), WIRE_SA_OK);
	assert_int_equal(sa_mcast_share(w->sa, HOST(1)).held, 1);
	assert_int_equal(make_groups(w, HOST(0), 5000, 2), 1);
}

/* As if each host made one for its IPv6 address. */
static void solicited_nodes_share_from_half_of_the_room_on(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0));
	struct sa_groups *groups = sa_mcast_groups(w->sa);

	allow_groups(w, 0);
	sa_groups_set_capacity(groups, 64);
	for (unsigned i = 0; i < 100; i++) {
		rec.mgid = (struct wire_gid){ 0xff12601bffff0000ull, 0x1ff000000ull + i };
		rec.port_gid.guid = HOST(i % 3);
		sa_groups_create(groups,
				 &(struct wire_mcmember){ .mgid = rec.mgid, .pkey = 0xffff }, 0,
				 loop_now_us(w->loop));
	}
	assert_int_equal(sa_groups_use(groups)->groups, 100);
	assert_int_equal(sa_groups_use(groups)->mlids, 32);
}

static void the_last_mlids_are_for_ports_in_few_groups(void **state)
{
	struct world *w = *state;
	struct heard heard = { 0 };

	sa_listen(w->sa, &(struct sa_listener){ .reported = hear, .arg = &heard });
	allow_groups(w, 1000);
	sa_groups_set_capacity(sa_mcast_groups(w->sa), 256);
	for (uint64_t id = 0; id < 192; id++)
		sa_groups_create(sa_mcast_groups(w->sa),
				 &(struct wire_mcmember){ .mgid = { 0xff12000000000000ull, id },
							  .pkey = 0xffff },
				 0, loop_now_us(w->loop));
	assert_int_equal(make_groups(w, HOST(0), 0, 256), 7);
	assert_int_equal(heard.times, 1);
	assert_non_null(strstr(heard.text, "its share of multicast LIDs"));
	assert_int_equal(make_groups(w, HOST(1), 1000, 30), 6);
	assert_int_equal(make_groups(w, HOST(2), 2000, 30), 5);
}

static void others_join_a_port_where_that_is_configured(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0));
	const struct ask for_it = { WIRE_SET, MASK_NEW, false, HOST(1) };

	assert_int_equal(ask_member(w, &for_it, &rec), WIRE_SA_REQ_INVALID);
	sa_configure(w->sa, &(struct sa_conf){ .gid_prefix = WORLD_PREFIX,
					       .subnet_timeout = 18,
					       .proxy_join = true });
	assert_int_equal(ask_member(w, &for_it, &rec), WIRE_SA_OK);
	assert_true(member_row(w, 0).proxy);
	assert_int_equal(
		ask_member(w, &(struct ask){ WIRE_DELETE, MASK_JOIN, false, HOST(1) }, &rec),
		WIRE_SA_OK);
}

static void a_port_at_its_limit_joins_again_when_it_has_left(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0)), other = member_record(HOST(1));

	allow_groups(w, 1);
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	other.mgid.guid++;
	assert_int_equal(set_member(w, MASK_NEW, &other), WIRE_SA_OK); /* each port has its own */
	rec.mgid = other.mgid;
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_REQ_INVALID); /* too slow a port */
	rec.mgid = some_mgid;
	assert_int_equal(leave_group(w, &rec), WIRE_SA_OK);
	rec.mgid.guid += 2;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	rec.mgid.guid++;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_NO_RESOURCES);
	allow_groups(w, 0);
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
}

static void a_wished_mlid_is_given_where_it_can_be(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0));

	rec.mlid = 0xc042;
	assert_int_equal(set_member(w, MASK_NEW | B(mlid), &rec), WIRE_SA_OK);
	assert_int_equal(member_row(w, 0).mlid, 0xc042);
	rec.mgid.guid++;
	assert_int_equal(set_member(w, MASK_NEW | B(mlid), &rec), WIRE_SA_OK);
	assert_int_equal(member_row(w, 0).mlid, 0xc000);
}

/* ---- Who ------------------------------------------------------------------------------------- */

static void ports_that_are_not_there_cannot_join(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(0x4711);
	struct ask a = { WIRE_SET, MASK_NEW, true, HOST(0) };

	assert_int_equal(ask_member(w, &a, &rec), WIRE_SA_REQ_INVALID);
	rec.port_gid = (struct wire_gid){ 0x1234, HOST(0) };
	assert_int_equal(ask_member(w, &a, &rec), WIRE_SA_INVALID_GID);
}

static void another_port_may_be_joined_by_trusted_requesters_only(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(1));
	struct ask a = { WIRE_SET, MASK_NEW, false, HOST(0) };

	assert_int_equal(ask_member(w, &a, &rec), WIRE_SA_REQ_INVALID);
	a.trusted = true;
	assert_int_equal(ask_member(w, &a, &rec), WIRE_SA_OK);
	assert_true(member_row(w, 0).proxy);
	a.method = WIRE_DELETE; /* by anybody of the partition */
	a.from = HOST(3);
	a.trusted = false;
	assert_int_equal(ask_member(w, &a, &rec), WIRE_SA_OK);
	a = (struct ask){ WIRE_SET, MASK_NEW, false, HOST(1) };
	assert_int_equal(ask_member(w, &a, &rec), WIRE_SA_OK);
	a = (struct ask){ WIRE_DELETE, MASK_JOIN, true, HOST(0) };
	assert_int_equal(ask_member(w, &a, &rec), WIRE_SA_REQ_INVALID); /* it joined itself */
}

static void only_members_of_the_partition_join_and_see_the_group(void **state)
{
	struct world *w = *state;
	struct pkey_map *map = world_two_members(w);
	struct wire_mcmember rec = member_record(HOST(0));

	rec.pkey = 0x8001;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	rec.port_gid.guid = HOST(1);
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_OK);
	rec.port_gid.guid = HOST(5);
	assert_int_equal(set_member(w, MASK_JOIN, &rec), WIRE_SA_REQ_INVALID);
	rec.mgid.guid++;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_REQ_INVALID);
	assert_int_equal(member_table(w, 0, &anything, false), 1);
	assert_int_equal(
		ask_member(w, &(struct ask){ WIRE_GET_TABLE, 0, false, HOST(5) }, &anything),
		WIRE_SA_OK);
	assert_int_equal(world_rows(w), 0);
	world_one_partition(w, map);
}

/* ---- Leaving --------------------------------------------------------------------------------- */

static void a_leave_takes_what_was_joined_and_no_more(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(0));

	assert_int_equal(leave_group(w, &rec), WIRE_SA_REQ_INVALID); /* no group */
	rec.join_state = WIRE_JOIN_FULL | WIRE_JOIN_NON;
	assert_int_equal(set_member(w, MASK_NEW, &rec), WIRE_SA_OK);
	rec.join_state = WIRE_JOIN_NON | WIRE_JOIN_SEND_ONLY;
	assert_int_equal(leave_group(w, &rec), WIRE_SA_REQ_INVALID);
	rec.join_state = 0;
	assert_int_equal(leave_group(w, &rec), WIRE_SA_REQ_INVALID);
	rec.join_state = WIRE_JOIN_NON;
	assert_int_equal(leave_group(w, &rec), WIRE_SA_OK);
	assert_int_equal(w->sent[3], WIRE_DELETE_RESP);
	assert_int_equal(member_row(w, 0).join_state, WIRE_JOIN_FULL);
	rec.port_gid.guid = HOST(1);
	assert_int_equal(leave_group(w, &rec), WIRE_SA_REQ_INVALID); /* no member */
	rec = member_record(HOST(0));
	assert_int_equal(leave_group(w, &rec), WIRE_SA_OK);
	assert_int_equal(member_row(w, 0).join_state, 0);
	assert_int_equal(sa_groups_use(sa_mcast_groups(w->sa))->groups, 0);
	assert_int_equal(
		ask_member(w, &(struct ask){ .method = WIRE_DELETE, .mask = B(mgid) }, &rec),
		WIRE_SA_INSUF_COMPS);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
	const struct CMUnitTest tests[] = {
		T(a_join_with_all_it_needs_makes_a_group),
		T(each_component_a_new_group_needs_is_insisted_on),
		T(only_who_stays_may_make_a_group),
		T(a_join_without_an_mgid_gets_one),
		T(mgids_that_are_none_are_refused),
		T(mtu_and_rate_of_a_group_are_what_is_asked_and_possible),
		T(a_second_join_needs_little_and_adds_its_bits),
		T(a_join_that_says_otherwise_than_the_group_is_refused),
		T(a_port_whose_cable_is_too_slow_or_small_cannot_join),
		T(an_ipoib_group_is_made_like_its_broadcast_group),
		T(an_ipoib_group_has_the_pkey_of_its_mgid_with_the_full_bit),
		T(the_broadcast_group_is_there_before_and_after_its_members),
		T(when_no_mlid_is_left_the_answer_says_so),
		T(one_port_does_not_take_all_groups),
		T(one_port_holds_a_sixteenth_of_the_mlids_at_most),
		T(solicited_nodes_share_from_half_of_the_room_on),
		T(the_last_mlids_are_for_ports_in_few_groups),
		T(others_join_a_port_where_that_is_configured),
		T(a_port_at_its_limit_joins_again_when_it_has_left),
		T(a_wished_mlid_is_given_where_it_can_be),
		T(ports_that_are_not_there_cannot_join),
		T(another_port_may_be_joined_by_trusted_requesters_only),
		T(only_members_of_the_partition_join_and_see_the_group),
		T(a_leave_takes_what_was_joined_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
