/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A standby without peers asks its master's SA what hosts have registered, and has it then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sa/mcast_group.h"
#include "fm/sa/sa.h"
#include "fm/state/state.h"
#include "tests/lib/sm_pair.h"

#define INTERVAL_S 30
#define MEMBERS	   6

static const struct wire_gid mgid = { 0xff12401bffff0000ull, 0x42 };

/* For tables, of any SA. */
static uint64_t requests(const struct world *w)
{
	return double_tables_asked(w->hw);
}

static struct sa_group *group_of(const struct world *w)
{
	return sa_groups_find(sa_mcast_groups(fabric_services(w->fabric).sa), &mgid);
}

/* A master that has members, and another that begins beside it. */
static void begin_ranked(struct pair *p, uint64_t standbys_key, int priority_b)
{
	const struct wire_mcmember attr = { .mgid = mgid, .pkey = 0xffff, .mtu = 4, .rate = 3 };
	struct sa_groups *groups;
	struct sa_group *group;

	pair_init(p, small_tree(), 9, priority_b);
	p->b.conf.sa.key = standbys_key;
	p->a.conf.sm.master_priority = p->b.conf.sm.master_priority = 0; /* as OpenSM's */
	start_fabric(&p->a);
	run_for(&p->a, 2 * SECOND_US);
	groups = sa_mcast_groups(fabric_services(p->a.fabric).sa);
	group = sa_groups_create(groups, &attr, MCAST_FIRST_MLID + 7, 0);
	assert_non_null(group);
	for (unsigned i = 0; i < MEMBERS; i++)
		sa_groups_join(groups, group, sm_host(&p->a, 2 + i) + 1, WIRE_JOIN_FULL, false);
	pair_start_b(p);
}

/* A master that has members, and its standby. */
static void begin(struct pair *p, uint64_t standbys_key)
{
	begin_ranked(p, standbys_key, 3);
	run_for(&p->a, 2 * SECOND_US);
	assert_true(has_role(&p->b, "standby"));
}

static void members_outlive_their_master(void **state)
{
	struct sa_group *group;
	struct pair p;

	begin(&p, 0);
	assert_int_equal(count_logged(&p.b, "registrations", "were read from the SA"), 1);
	assert_int_equal(status_number(&p.b, "registrations", "members"), MEMBERS);
	assert_int_equal(requests(&p.a), 3); /* a table each */
	run_for(&p.a, 100 * SECOND_US);
	assert_int_equal(count_logged(&p.b, "registrations", "were read from the SA"), 1);
	pair_stop(&p.a);
	run_for(&p.b, 10 * SECOND_US);
	assert_true(is_master_and_up(&p.b));
	group = group_of(&p.b);
	assert_non_null(group);
	assert_int_equal(group->nmembers, MEMBERS);
	assert_int_equal(group->mlid, MCAST_FIRST_MLID + 7);
	assert_true(all_reregistered(&p.b) > 0); /* for what came behind the latest query */
	pair_fini(&p);
}

/* What joined since is there an interval later. */
static void the_copy_is_no_older_than_an_interval(void **state)
{
	struct pair p;

	begin(&p, 0);
	sa_groups_join(sa_mcast_groups(fabric_services(p.a.fabric).sa), group_of(&p.a),
		       sm_host(&p.a, 1) + 1, WIRE_JOIN_FULL, false);
	run_for(&p.a, (INTERVAL_S + 1) * SECOND_US);
	assert_int_equal(status_number(&p.b, "registrations", "members"), MEMBERS + 1);
	pair_fini(&p);
}

/* What a mirror has sent meanwhile is newer than the answer that is under way. */
static void a_copy_that_is_whole_meanwhile_stays(void **state)
{
	struct pair p;
	uint64_t asked;

	begin(&p, 0);
	sa_groups_join(sa_mcast_groups(fabric_services(p.a.fabric).sa), group_of(&p.a),
		       sm_host(&p.a, 1) + 1, WIRE_JOIN_FULL, false);
	asked = requests(&p.a);
	for (unsigned i = 0; i < 50000 * INTERVAL_S && requests(&p.a) == asked; i++)
		run_for(&p.a, 20);
	assert_int_equal(requests(&p.a), asked + 1);
	state_mark(fabric_services(p.b.fabric).state, STATE_COPIED, true);
	run_for(&p.a, SECOND_US);
	state_mark(fabric_services(p.b.fabric).state, STATE_COPIED, false);
	pair_stop(&p.a);
	run_for(&p.b, 10 * SECOND_US);
	assert_int_equal(group_of(&p.b)->nmembers, MEMBERS);
	pair_fini(&p);
}

static void a_master_that_does_not_answer_is_an_alert(void **state)
{
	struct pair p;

	begin(&p, 0x1234); /* is dropped: it is not the master's */
	run_for(&p.a, 30 * SECOND_US);
	assert_int_equal(count_alerts(&p.b, "registrations", ""), 0);
	run_for(&p.a, 120 * SECOND_US);
	assert_int_equal(count_alerts(&p.b, "registrations", "its sa_key differs"), 1);
	assert_int_equal(count_logged(&p.b, "registrations", "were read from the SA"), 0);
	pair_stop(&p.a);
	run_for(&p.b, 10 * SECOND_US);
	assert_true(is_master_and_up(&p.b));
	assert_int_equal(count_alerts(&p.b, "registrations", ""), 0);
	assert_null(group_of(&p.b));
	pair_fini(&p);
}

struct hider { /* members of the rows have no GID, as one who is not trusted sees them */
	io_recv_fn *recv;
	void *arg;
	unsigned hidden;
};

static void hide_members(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct hider *h = arg;
	uint8_t copy[4096];
	struct wire_mcmember m;

	if (mad[1] == WIRE_SA && mad[3] == WIRE_GET_TABLE_RESP && mad[17] == WIRE_SA_MCMEMBER &&
	    len <= sizeof(copy)) {
		mad = memcpy(copy, mad, len);
		for (size_t at = WIRE_SA_HEADER; at + WIRE_MCMEMBER_SIZE <= len;
		     at += WIRE_MCMEMBER_SIZE) {
			wire_mcmember_decode(copy + at, &m);
			m.port_gid = (struct wire_gid){ 0 };
			wire_mcmember_encode(&m, copy + at);
			h->hidden++;
		}
	}
	h->recv(h->arg, from, mad, len);
}

/* A group without its members is no copy: what was there before stays, and an alert says why. */
static void who_is_not_trusted_takes_nothing_over(void **state)
{
	struct hider h = { 0 };
	struct pair p;

	begin_ranked(&p, 0, 3);
	h.recv = p.io_b->recv;
	h.arg = p.io_b->arg;
	p.io_b->recv = hide_members;
	p.io_b->arg = &h;
	run_for(&p.a, 150 * SECOND_US);
	assert_true(h.hidden >= MEMBERS);
	assert_int_equal(count_alerts(&p.b, "registrations", "is sa_key the master's?"), 1);
	assert_int_equal(count_logged(&p.b, "registrations", "were read from the SA"), 0);
	pair_stop(&p.a);
	run_for(&p.b, 10 * SECOND_US);
	assert_null(group_of(&p.b));
	pair_fini(&p);
}

static void nobody_is_asked_where_the_interval_is_zero(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 9, 3);
	p.b.conf.mirror.interval_ms = 0;
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 100 * SECOND_US);
	assert_int_equal(requests(&p.a), 0);
	assert_int_equal(count_alerts(&p.b, "registrations", ""), 0);
	pair_fini(&p);
}

/* It would be handed the fabric at once, with none of them. */
static void who_outranks_the_master_reads_its_registrations_before_it_is_handed_over(void **state)
{
	struct pair p;

	begin_ranked(&p, 0, 11);
	run_for(&p.a, 30 * SECOND_US);
	assert_true(has_role(&p.a, "standby"));
	assert_true(is_master_and_up(&p.b));
	assert_non_null(group_of(&p.b));
	assert_int_equal(group_of(&p.b)->nmembers, MEMBERS);
	pair_fini(&p);
}

static void who_cannot_read_them_is_master_all_the_same(void **state)
{
	struct pair p;

	begin_ranked(&p, 0x1234, 11);
	run_for(&p.a, 30 * SECOND_US);
	assert_true(is_master_and_up(&p.b));
	pair_fini(&p);
}

/* What a host joined while it was away is not in its own files. */
static void what_was_registered_meanwhile_is_there_after_a_hand_back(void **state)
{
	struct pair p;
	guid_t own;

	begin_ranked(&p, 0, 3);
	own = p.a.design->nodes[p.a.design->nswitches].guid;
	run_for(&p.a, 40 * SECOND_US);
	double_cut(p.a.hw, own, 1);
	run_for(&p.b, 20 * SECOND_US);
	assert_true(is_master_and_up(&p.b));
	sa_groups_join(sa_mcast_groups(fabric_services(p.b.fabric).sa), group_of(&p.b),
		       sm_host(&p.b, 1) + 1, WIRE_JOIN_FULL, false);
	double_join(p.a.hw, own, 1);
	run_for(&p.a, 60 * SECOND_US);
	assert_true(is_master_and_up(&p.a));
	assert_int_equal(group_of(&p.a)->nmembers, MEMBERS + 1);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_outlive_their_master),
		cmocka_unit_test(the_copy_is_no_older_than_an_interval),
		cmocka_unit_test(a_copy_that_is_whole_meanwhile_stays),
		cmocka_unit_test(a_master_that_does_not_answer_is_an_alert),
		cmocka_unit_test(who_is_not_trusted_takes_nothing_over),
		cmocka_unit_test(nobody_is_asked_where_the_interval_is_zero),
		cmocka_unit_test(
			who_outranks_the_master_reads_its_registrations_before_it_is_handed_over),
		cmocka_unit_test(who_cannot_read_them_is_master_all_the_same),
		cmocka_unit_test(what_was_registered_meanwhile_is_there_after_a_hand_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
