/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Joins and leaves at random, beside a plain judge of what is right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/sa_mcast_ask.h"
#include "topology/base/sort.h"

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
	bool mtu = mask & B(mtu) && mask & B(mtu_sel), rate = mask & B(rate) && mask & B(rate_sel);
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
	if (!rec->join_state || (mask & B(qkey) && rec->qkey != n.qkey) ||
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
		struct wire_mcmember rec = member_record(HOST(host));
		struct ask a = { .mask = MASK_NEW | random_next(&seed) % 0x40000 };
		uint16_t right, status;

		if (random_next(&seed) % 8 == 0)
			a.mask &= ~WIRE_BIT(random_next(&seed) % 18);
		a.mask &= ~(B(mlid) | B(life) | B(hop_limit));
		rec.mgid.guid = number;
		rec.qkey = random_next(&seed) % 4 ? 1 : 2;
		rec.mtu_sel = rec.rate_sel = WIRE_EXACT;
		rec.mtu = 3 + random_next(&seed) % 3;
		rec.rate = rates[random_next(&seed) % 4];
		rec.join_state = random_next(&seed) % 16;
		a.method = random_next(&seed) % 2 ? WIRE_SET : WIRE_DELETE;
		right = (a.method == WIRE_SET ? plain_join : plain_leave)(&groups[number], host,
									  a.mask, &rec);
		status = ask_member(w, &a, &rec);
		if (status != right)
			fail_msg("request %u: status %#x, should be %#x", i, status, right);
		if (!status)
			assert_int_equal(member_row(w, 0).join_state,
					 groups[number].there ? groups[number].state[host] : 0);
		granted += !status;
		if (i % 256 == 0)
			assert_int_equal(member_table(w, 0, &anything, true),
					 plain_members(groups));
	}
	assert_true(granted > REQUESTS / 20);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
	const struct CMUnitTest tests[] = {
		T(random_requests_are_answered_as_a_plain_judge_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
