/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* MCMemberRecord by its requests and answers; and a long random exchange beside a plain judge of what is right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/core/log.h"
#include "tests/unit/sa_ask.h"
#include "topology/random.h"

#define B(comp)	  WIRE_BIT(WIRE_MC_##comp)
#define MASK_JOIN (B(MGID) | B(PORT_GID) | B(JOIN_STATE))
#define MASK_NEW  (MASK_JOIN | B(QKEY) | B(TCLASS) | B(PKEY) | B(FLOW) | B(SL))

enum { MTU_2048 = 4, MTU_4096 = 5, RATE_10 = 3, RATE_EDR = 16, RATE_HDR = 17, RATE_NDR = 21 };

static const struct wire_gid some_mgid = { 0xff12a01cfe800000ull, 0x12345678 };

static struct wire_gid gid_of(guid_t port)
{
	return (struct wire_gid){ WORLD_PREFIX, port };
}

/* A full member's request at a group of no special kind. */
static struct wire_mcmember record(guid_t port)
{
	return (struct wire_mcmember){ .mgid = some_mgid,
				       .port_gid = gid_of(port),
				       .qkey = 0x1b,
				       .pkey = 0xffff,
				       .join_state = WIRE_JOIN_FULL };
}

struct ask {
	uint8_t method;
	uint64_t mask;
	bool trusted;
	guid_t from; /* port; 0 = the one in the record */
};

static uint16_t ask(struct world *w, const struct ask *a, const struct wire_mcmember *rec)
{
	uint8_t data[WIRE_MCMEMBER_SIZE];
	struct world_request r = {
		.method = a->method,
		.attr = WIRE_SA_MCMEMBER,
		.mask = a->mask,
		.sm_key = a->trusted ? WORLD_SM_KEY : 0,
		.data = data,
		.len = sizeof(data),
		.from = world_lid(w, a->from ? a->from : rec->port_gid.guid),
	};

	wire_mcmember_encode(rec, data);
	return ask_status(w, &r);
}

static uint16_t set(struct world *w, uint64_t mask, const struct wire_mcmember *rec)
{
	return ask(w, &(struct ask){ .method = WIRE_SET, .mask = mask }, rec);
}

static uint16_t leave(struct world *w, const struct wire_mcmember *rec)
{
	return ask(w, &(struct ask){ .method = WIRE_DELETE, .mask = MASK_JOIN }, rec);
}

static struct wire_mcmember answered(const struct world *w, unsigned i)
{
	struct wire_mcmember rec;

	wire_mcmember_decode(world_row(w, i), &rec);
	return rec;
}

static unsigned table(struct world *w, uint64_t mask, const struct wire_mcmember *rec, bool trusted)
{
	const struct ask a = { WIRE_GET_TABLE, mask, trusted, HOST(0) };

	assert_int_equal(ask(w, &a, rec), WIRE_SA_OK);
	return world_rows(w);
}

static const struct wire_mcmember anything;

/* ---- Joining ----------------------------------------------------------------------------------- */

static void a_join_with_all_it_needs_makes_a_group(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = record(HOST(0)), got;

	rec.sl = 3;
	rec.flow_label = 0x12345;
	rec.tclass = 7;
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK);
	assert_int_equal(w->sent[3], WIRE_GET_RESP);
	got = answered(w, 0);
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
	static const unsigned comps[] = { WIRE_MC_MGID, WIRE_MC_PORT_GID, WIRE_MC_JOIN_STATE,
					  WIRE_MC_QKEY, WIRE_MC_TCLASS,	  WIRE_MC_PKEY,
					  WIRE_MC_FLOW, WIRE_MC_SL };
	struct world *w = *state;
	struct wire_mcmember rec = record(HOST(0));

	for (size_t i = 0; i < sizeof(comps) / sizeof(comps[0]); i++)
		assert_int_equal(set(w, MASK_NEW & ~WIRE_BIT(comps[i]), &rec), WIRE_SA_INSUF_COMPS);
	assert_int_equal(sa_groups_count(sa_mcast_groups(w->sa)), 0);
}

static void only_who_stays_may_make_a_group(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = record(HOST(0));

	for (uint8_t bits = 0; bits <= WIRE_JOIN_BITS; bits++) {
		bool may = bits & (WIRE_JOIN_FULL | WIRE_JOIN_SEND_ONLY_FULL);

		rec.join_state = bits;
		rec.mgid.guid = bits;
		assert_int_equal(set(w, MASK_NEW, &rec), may ? WIRE_SA_OK : WIRE_SA_REQ_INVALID);
	}
}

static void a_join_without_an_mgid_gets_one(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = record(HOST(0)), first, second;

	rec.mgid = (struct wire_gid){ 0 };
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK);
	first = answered(w, 0);
	assert_true(first.mgid.prefix >> 32 == 0xff12a01b);
	rec.scope = 5;
	assert_int_equal(set(w, MASK_NEW | B(SCOPE), &rec), WIRE_SA_OK);
	second = answered(w, 0);
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
	struct wire_mcmember rec = record(HOST(0));

	for (size_t i = 0; i < 4; i++) {
		rec.mgid.prefix = bad[i];
		assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_REQ_INVALID);
	}
	for (size_t i = 0; i < 3; i++) {
		rec.mgid.prefix = good[i];
		assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK);
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
	struct wire_mcmember rec = record(HOST(0));

	for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		rec.mgid.guid++;
		rec.mtu_sel = mtus[i].sel;
		rec.mtu = mtus[i].mtu;
		assert_int_equal(set(w, MASK_NEW | B(MTU) | B(MTU_SEL), &rec),
				 mtus[i].becomes ? WIRE_SA_OK : WIRE_SA_REQ_INVALID);
		if (mtus[i].becomes)
			assert_int_equal(answered(w, 0).mtu, mtus[i].becomes);
	}
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		rec.mgid.guid++;
		rec.rate_sel = rates[i].sel;
		rec.rate = rates[i].rate;
		assert_int_equal(set(w, MASK_NEW | B(RATE) | B(RATE_SEL), &rec),
				 rates[i].becomes ? WIRE_SA_OK : WIRE_SA_REQ_INVALID);
		if (rates[i].becomes)
			assert_int_equal(answered(w, 0).rate, rates[i].becomes);
	}
}

static void a_second_join_needs_little_and_adds_its_bits(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = record(HOST(0));

	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK);
	rec.join_state = WIRE_JOIN_SEND_ONLY;
	assert_int_equal(set(w, MASK_JOIN, &rec), WIRE_SA_OK);
	assert_int_equal(answered(w, 0).join_state, WIRE_JOIN_FULL | WIRE_JOIN_SEND_ONLY);
	rec.join_state = 0;
	assert_int_equal(set(w, MASK_JOIN, &rec), WIRE_SA_REQ_INVALID);
	rec = record(HOST(1));
	rec.join_state = WIRE_JOIN_NON;
	assert_int_equal(set(w, MASK_JOIN, &rec), WIRE_SA_OK);
	assert_int_equal(answered(w, 0).join_state, WIRE_JOIN_NON);
	assert_int_equal(answered(w, 0).mlid, 0xc000);
	assert_int_equal(answered(w, 0).qkey, 0x1b);
}

static void a_join_that_says_otherwise_than_the_group_is_refused(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = record(HOST(0)), other = record(HOST(1));

	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK);
	other.qkey = 5;
	other.pkey = 0x8001;
	other.tclass = other.sl = other.flow_label = other.hop_limit = 1;
	for (unsigned comp = 0; comp <= WIRE_MC_PROXY; comp++) {
		bool matters =
			WIRE_BIT(comp) & (B(QKEY) | B(PKEY) | B(TCLASS) | B(SL) | B(FLOW) | B(HOP));

		assert_int_equal(set(w, MASK_JOIN | WIRE_BIT(comp), &other),
				 matters ? WIRE_SA_REQ_INVALID : WIRE_SA_OK);
	}
	other.mtu_sel = WIRE_LESS;
	other.mtu = MTU_4096;
	assert_int_equal(set(w, MASK_JOIN | B(MTU_SEL) | B(MTU), &other), WIRE_SA_REQ_INVALID);
	other.mtu_sel = WIRE_EXACT;
	assert_int_equal(set(w, MASK_JOIN | B(MTU_SEL) | B(MTU), &other), WIRE_SA_OK);
	other.rate_sel = WIRE_GREATER;
	other.rate = RATE_HDR;
	assert_int_equal(set(w, MASK_JOIN | B(RATE_SEL) | B(RATE), &other), WIRE_SA_REQ_INVALID);
	other.pkey = 0x7fff; /* a limited member of the same partition */
	assert_int_equal(set(w, MASK_JOIN | B(PKEY), &other), WIRE_SA_OK);
}

static void a_port_whose_cable_is_too_slow_or_small_cannot_join(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = record(HOST(0));

	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK); /* 4096 bytes, HDR */
	rec.port_gid.guid = HOST(2);			      /* 2048 bytes, EDR */
	assert_int_equal(set(w, MASK_JOIN, &rec), WIRE_SA_REQ_INVALID);
	rec.port_gid.guid = HOST(3); /* HDR, two lanes */
	assert_int_equal(set(w, MASK_JOIN, &rec), WIRE_SA_REQ_INVALID);
	rec.port_gid.guid = HOST(1); /* NDR */
	assert_int_equal(set(w, MASK_JOIN, &rec), WIRE_SA_OK);
	rec = record(HOST(2));
	rec.mgid.guid++;
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK);
	assert_int_equal(answered(w, 0).mtu, MTU_2048);
	assert_int_equal(answered(w, 0).rate, RATE_EDR);
}

static void an_ipoib_group_is_made_like_its_broadcast_group(void **state)
{
	struct world *w = *state;
	struct partition_set *set_up = partition_default();
	struct wire_mcmember rec = record(HOST(0));

	rec.qkey = 0xb1b;
	rec.mgid = (struct wire_gid){ 0xff12401bffff0000ull, 1 };
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_REQ_INVALID);
	sa_mcast_preset(w->sa, set_up->groups, set_up->ngroups);
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK);
	rec.mgid.guid = 2;
	rec.qkey = 5;
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_REQ_INVALID);
	rec.qkey = 0xb1b;
	rec.mgid.prefix = 0xff15601bffff0000ull; /* another scope */
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_REQ_INVALID);
	rec.mgid.prefix = 0xff12601bffff0000ull;
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK);
	partition_free(set_up);
}

static void the_broadcast_group_is_there_before_and_after_its_members(void **state)
{
	struct world *w = *state;
	struct partition_set *set_up = partition_default();
	struct wire_mcmember rec = record(HOST(0)), got;

	sa_mcast_preset(w->sa, set_up->groups, set_up->ngroups);
	assert_int_equal(table(w, 0, &anything, false), 1);
	got = answered(w, 0);
	assert_true(got.mgid.prefix == 0xff12401bffff0000ull && got.mgid.guid == 0xffffffff);
	assert_int_equal(got.mtu, MTU_2048);
	assert_int_equal(got.rate, RATE_10);
	assert_int_equal(got.qkey, 0xb1b);
	assert_int_equal(got.pkey, 0xffff);
	rec.mgid = got.mgid;
	assert_int_equal(set(w, MASK_JOIN, &rec), WIRE_SA_OK);
	assert_int_equal(leave(w, &rec), WIRE_SA_OK);
	assert_int_equal(table(w, 0, &anything, false), 1);
	sa_mcast_preset(w->sa, NULL, 0);
	assert_int_equal(table(w, 0, &anything, false), 0);
	partition_free(set_up);
}

static void when_no_mlid_is_left_the_answer_says_so(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = record(HOST(0));

	log_set_level(LOG_SA, LOG_ERR);
	sa_groups_set_capacity(sa_mcast_groups(w->sa), 1);
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK);
	rec.mgid.guid++;
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_NO_RESOURCES);
	rec.mgid.guid--;
	rec.port_gid.guid = HOST(1);
	assert_int_equal(set(w, MASK_JOIN, &rec), WIRE_SA_OK);
}

static void a_wished_mlid_is_given_where_it_can_be(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = record(HOST(0));

	rec.mlid = 0xc042;
	assert_int_equal(set(w, MASK_NEW | B(MLID), &rec), WIRE_SA_OK);
	assert_int_equal(answered(w, 0).mlid, 0xc042);
	rec.mgid.guid++;
	assert_int_equal(set(w, MASK_NEW | B(MLID), &rec), WIRE_SA_OK);
	assert_int_equal(answered(w, 0).mlid, 0xc000);
}

/* ---- Who ----------------------------------------------------------------------------------------- */

static void ports_that_are_not_there_cannot_join(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = record(0x4711);
	struct ask a = { WIRE_SET, MASK_NEW, true, HOST(0) };

	assert_int_equal(ask(w, &a, &rec), WIRE_SA_REQ_INVALID);
	rec.port_gid = (struct wire_gid){ 0x1234, HOST(0) };
	assert_int_equal(ask(w, &a, &rec), WIRE_SA_INVALID_GID);
}

static void another_port_may_be_joined_by_trusted_requesters_only(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = record(HOST(1));
	struct ask a = { WIRE_SET, MASK_NEW, false, HOST(0) };

	assert_int_equal(ask(w, &a, &rec), WIRE_SA_REQ_INVALID);
	a.trusted = true;
	assert_int_equal(ask(w, &a, &rec), WIRE_SA_OK);
	assert_true(answered(w, 0).proxy);
	a.method = WIRE_DELETE; /* by anybody of the partition */
	a.from = HOST(3);
	a.trusted = false;
	assert_int_equal(ask(w, &a, &rec), WIRE_SA_OK);
	a = (struct ask){ WIRE_SET, MASK_NEW, false, HOST(1) };
	assert_int_equal(ask(w, &a, &rec), WIRE_SA_OK);
	a = (struct ask){ WIRE_DELETE, MASK_JOIN, true, HOST(0) };
	assert_int_equal(ask(w, &a, &rec), WIRE_SA_REQ_INVALID); /* it joined itself */
}

/* Host 0 is a full member of 0x8001 too, host 1 a limited one. */
static void only_members_of_the_partition_join_and_see_the_group(void **state)
{
	struct world *w = *state;
	struct pkey_map *map = mem_alloc(1, sizeof(*map));
	struct wire_mcmember rec = record(HOST(0));

	map->nports = w->topo->nports;
	map->first = mem_alloc(map->nports + 1, sizeof(*map->first));
	map->keys = mem_alloc(2 * map->nports, sizeof(*map->keys));
	for (uint32_t p = 0, n = 0; p <= map->nports; p++) {
		map->first[p] = n;
		if (p < map->nports && p == world_port_of(w, HOST(0)))
			map->keys[n++] = 0x8001;
		if (p < map->nports && p == world_port_of(w, HOST(1)))
			map->keys[n++] = 0x0001;
		if (p < map->nports)
			map->keys[n++] = 0xffff;
	}
	w->view.pkeys = map;
	sa_publish(w->sa, &w->view);
	rec.pkey = 0x8001;
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK);
	rec.port_gid.guid = HOST(1);
	assert_int_equal(set(w, MASK_JOIN, &rec), WIRE_SA_OK);
	rec.port_gid.guid = HOST(5);
	assert_int_equal(set(w, MASK_JOIN, &rec), WIRE_SA_REQ_INVALID);
	rec.mgid.guid++;
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_REQ_INVALID);
	assert_int_equal(table(w, 0, &anything, false), 1);
	assert_int_equal(ask(w, &(struct ask){ WIRE_GET_TABLE, 0, false, HOST(5) }, &anything),
			 WIRE_SA_OK);
	assert_int_equal(world_rows(w), 0);
	w->view.pkeys = NULL;
	sa_publish(w->sa, &w->view);
	pkey_map_free(map);
}

/* ---- Leaving ------------------------------------------------------------------------------------- */

static void a_leave_takes_what_was_joined_and_no_more(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = record(HOST(0));

	assert_int_equal(leave(w, &rec), WIRE_SA_REQ_INVALID); /* no group */
	rec.join_state = WIRE_JOIN_FULL | WIRE_JOIN_NON;
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK);
	rec.join_state = WIRE_JOIN_NON | WIRE_JOIN_SEND_ONLY;
	assert_int_equal(leave(w, &rec), WIRE_SA_REQ_INVALID);
	rec.join_state = 0;
	assert_int_equal(leave(w, &rec), WIRE_SA_REQ_INVALID);
	rec.join_state = WIRE_JOIN_NON;
	assert_int_equal(leave(w, &rec), WIRE_SA_OK);
	assert_int_equal(w->sent[3], WIRE_DELETE_RESP);
	assert_int_equal(answered(w, 0).join_state, WIRE_JOIN_FULL);
	rec.port_gid.guid = HOST(1);
	assert_int_equal(leave(w, &rec), WIRE_SA_REQ_INVALID); /* no member */
	rec = record(HOST(0));
	assert_int_equal(leave(w, &rec), WIRE_SA_OK);
	assert_int_equal(answered(w, 0).join_state, 0);
	assert_int_equal(sa_groups_count(sa_mcast_groups(w->sa)), 0);
	assert_int_equal(ask(w, &(struct ask){ .method = WIRE_DELETE, .mask = B(MGID) }, &rec),
			 WIRE_SA_INSUF_COMPS);
}

/* ---- Looking ------------------------------------------------------------------------------------- */

static void fill_two_groups(struct world *w)
{
	struct wire_mcmember rec = record(HOST(0));

	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK);
	rec.port_gid.guid = HOST(1);
	rec.join_state = WIRE_JOIN_SEND_ONLY;
	assert_int_equal(set(w, MASK_JOIN, &rec), WIRE_SA_OK);
	rec = record(HOST(5));
	rec.mgid.guid++;
	assert_int_equal(set(w, MASK_NEW, &rec), WIRE_SA_OK);
}

static void untrusted_eyes_see_groups_and_no_members(void **state)
{
	struct world *w = *state;
	struct wire_mcmember got, want = { .port_gid = gid_of(HOST(1)) };

	fill_two_groups(w);
	assert_int_equal(table(w, 0, &anything, false), 2);
	for (unsigned i = 0; i < 2; i++) {
		got = answered(w, i);
		assert_true(!got.port_gid.prefix && !got.port_gid.guid);
		assert_int_equal(got.join_state, 0);
		assert_false(got.proxy);
	}
	assert_int_equal(table(w, B(PORT_GID), &want, false), 1);
	assert_true(!answered(w, 0).port_gid.guid);
	assert_int_equal(table(w, 0, &anything, true), 3);
	assert_int_equal(table(w, B(PORT_GID), &want, true), 1);
	assert_true(answered(w, 0).port_gid.guid == HOST(1));
	assert_int_equal(answered(w, 0).join_state, WIRE_JOIN_SEND_ONLY);
}

static void what_is_asked_for_narrows_what_is_shown(void **state)
{
	struct world *w = *state;
	struct wire_mcmember want = { .mgid = some_mgid, .mlid = 0xc001, .qkey = 0x1b };

	fill_two_groups(w);
	assert_int_equal(table(w, B(MGID), &want, true), 2);
	assert_int_equal(table(w, B(MLID), &want, true), 1);
	assert_int_equal(table(w, B(MLID) | B(MGID), &want, true), 0);
	assert_int_equal(table(w, B(QKEY), &want, true), 3);
	want.qkey = 0;
	assert_int_equal(table(w, B(QKEY), &want, true), 0);
	want.join_state = WIRE_JOIN_FULL;
	assert_int_equal(table(w, B(JOIN_STATE), &want, true), 2);
	want.scope = 2;
	assert_int_equal(table(w, B(SCOPE), &want, false), 2);
	want.scope = 5;
	assert_int_equal(table(w, B(SCOPE), &want, false), 0);
	want.mtu = MTU_2048;
	want.mtu_sel = WIRE_GREATER;
	assert_int_equal(table(w, B(MTU) | B(MTU_SEL), &want, false), 2);
	want.life = 18;
	want.life_sel = WIRE_LESS;
	assert_int_equal(table(w, B(LIFE) | B(LIFE_SEL), &want, false), 0);
	want.mlid = 0;
	assert_int_equal(ask(w, &(struct ask){ WIRE_GET, B(MLID), true, HOST(0) }, &want),
			 WIRE_SA_NO_RECORDS);
	assert_int_equal(ask(w, &(struct ask){ WIRE_GET, B(MGID), true, HOST(0) }, &want),
			 WIRE_SA_TOO_MANY_RECORDS);
	assert_int_equal(ask(w, &(struct ask){ WIRE_GET, B(MGID), false, HOST(0) }, &want),
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

/* ---- Random requests ----------------------------------------------------------------------------- */

#define REQUESTS 100000
#define MGIDS	 12

struct plain_group {
	bool there;
	uint32_t qkey;
	uint8_t mtu, rate;
	uint8_t state[6];
};

static const uint8_t cable_mtu[] = { 5, 5, 4, 5, 5, 5 };
/* In 100 Mb/s, and as codes. */
static const unsigned cable_speed[] = { 2000, 4000, 1000, 1000, 140, 2000 };
static const uint8_t cable_rate[] = { 17, 21, 16, 16, 11, 17 };

static unsigned speed_of(uint8_t rate)
{
	return rate == 3 ? 100 : rate == 16 ? 1000 : rate == 17 ? 2000 : rate == 21 ? 4000 : 140;
}

static bool plain_keeps(const struct plain_group *g)
{
	for (unsigned i = 0; i < 6; i++)
		if (g->state[i] & (WIRE_JOIN_FULL | WIRE_JOIN_SEND_ONLY_FULL))
			return true;
	return false;
}

static uint16_t plain_join(struct plain_group *g, unsigned host, uint64_t mask,
			   const struct wire_mcmember *rec)
{
	bool mtu = mask & B(MTU) && mask & B(MTU_SEL), rate = mask & B(RATE) && mask & B(RATE_SEL);
	struct plain_group n = *g;

	if ((mask & MASK_JOIN) != MASK_JOIN)
		return WIRE_SA_INSUF_COMPS;
	if (!n.there) {
		if (!(rec->join_state & (WIRE_JOIN_FULL | WIRE_JOIN_SEND_ONLY_FULL)))
			return WIRE_SA_REQ_INVALID;
		if ((mask & MASK_NEW) != MASK_NEW)
			return WIRE_SA_INSUF_COMPS;
		n = (struct plain_group){ .there = true,
					  .qkey = rec->qkey,
					  .mtu = mtu ? rec->mtu : cable_mtu[host],
					  .rate = rate ? rec->rate : cable_rate[host] };
	}
	if (!rec->join_state || (mask & B(QKEY) && rec->qkey != n.qkey) ||
	    (mtu && rec->mtu != n.mtu) || (rate && speed_of(rec->rate) != speed_of(n.rate)) ||
	    n.mtu > cable_mtu[host] || speed_of(n.rate) > cable_speed[host])
		return WIRE_SA_REQ_INVALID;
	n.state[host] |= rec->join_state;
	*g = n;
	return WIRE_SA_OK;
}

static uint16_t plain_leave(struct plain_group *g, unsigned host, uint64_t mask,
			    const struct wire_mcmember *rec)
{
	if ((mask & MASK_JOIN) != MASK_JOIN)
		return WIRE_SA_INSUF_COMPS;
	if (!g->there || !rec->join_state || rec->join_state & ~g->state[host])
		return WIRE_SA_REQ_INVALID;
	g->state[host] &= (uint8_t)~rec->join_state;
	if (!plain_keeps(g))
		*g = (struct plain_group){ 0 };
	return WIRE_SA_OK;
}

static unsigned plain_members(const struct plain_group *groups)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MGIDS; i++)
		for (unsigned h = 0; h < 6; h++)
			n += groups[i].there && groups[i].state[h];
	return n;
}

static void random_requests_are_answered_as_a_plain_judge_does(void **state)
{
	static const uint8_t rates[] = { RATE_10, RATE_EDR, RATE_HDR, RATE_NDR };
	struct plain_group groups[MGIDS] = { { 0 } };
	struct world *w = *state;
	uint64_t seed = 15;
	unsigned granted = 0;

	for (unsigned i = 0; i < REQUESTS; i++) {
		unsigned host = random_next(&seed) % 6, number = random_next(&seed) % MGIDS;
		struct wire_mcmember rec = record(HOST(host));
		struct ask a = { .mask = MASK_NEW | random_next(&seed) % 0x40000 };
		uint16_t right, status;

		if (random_next(&seed) % 8 == 0)
			a.mask &= ~WIRE_BIT(random_next(&seed) % 18);
		a.mask &= ~(B(MLID) | B(LIFE) | B(HOP));
		rec.mgid.guid = number;
		rec.qkey = random_next(&seed) % 4 ? 1 : 2;
		rec.mtu_sel = rec.rate_sel = WIRE_EXACT;
		rec.mtu = 3 + random_next(&seed) % 3;
		rec.rate = rates[random_next(&seed) % 4];
		rec.join_state = random_next(&seed) % 16;
		a.method = random_next(&seed) % 2 ? WIRE_SET : WIRE_DELETE;
		right = (a.method == WIRE_SET ? plain_join : plain_leave)(&groups[number], host,
									  a.mask, &rec);
		status = ask(w, &a, &rec);
		if (status != right)
			fail_msg("request %u: status %#x, should be %#x", i, status, right);
		if (!status)
			assert_int_equal(answered(w, 0).join_state,
					 groups[number].there ? groups[number].state[host] : 0);
		granted += !status;
		if (i % 256 == 0)
			assert_int_equal(table(w, 0, &anything, true), plain_members(groups));
	}
	assert_true(granted > REQUESTS / 20);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
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
		T(the_broadcast_group_is_there_before_and_after_its_members),
		T(when_no_mlid_is_left_the_answer_says_so),
		T(a_wished_mlid_is_given_where_it_can_be),
		T(ports_that_are_not_there_cannot_join),
		T(another_port_may_be_joined_by_trusted_requesters_only),
		T(only_members_of_the_partition_join_and_see_the_group),
		T(a_leave_takes_what_was_joined_and_no_more),
		T(untrusted_eyes_see_groups_and_no_members),
		T(what_is_asked_for_narrows_what_is_shown),
		T(tables_show_the_blocks_in_use),
		T(random_requests_are_answered_as_a_plain_judge_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
