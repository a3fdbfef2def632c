/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A standby without peers asks its master's SA what hosts have registered, and has it then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sa/mcast_group.h"
#include "fm/sa/sa.h"
#include "tests/lib/sm_pair.h"

#define INTERVAL_S 30
#define MEMBERS	   6

static const struct wire_gid mgid = { 0xff12401bffff0000ull, 0x42 };

static struct sa_group *group_of(const struct world *w)
{
	return sa_groups_find(sa_mcast_groups(fabric_services(w->fabric).sa), &mgid);
}

/* A master that has members, and its standby. */
static void begin(struct pair *p, uint64_t standbys_key)
{
	const struct sa_group_attr attr = { .mgid = mgid, .pkey = 0xffff, .mtu = 4, .rate = 3 };
	struct sa_groups *groups;
	struct sa_group *group;

	pair_init(p, small_tree(), 9, 3);
	p->b.conf.sa.key = standbys_key;
	start_fabric(&p->a);
	run_for(&p->a, 2 * SECOND_US);
	groups = sa_mcast_groups(fabric_services(p->a.fabric).sa);
	group = sa_groups_create(groups, &attr, MCAST_FIRST_MLID + 7, 0);
	assert_non_null(group);
	for (unsigned i = 0; i < MEMBERS; i++)
		sa_groups_join(groups, group, sm_host(&p->a, 2 + i) + 1, WIRE_JOIN_FULL, false);
	pair_start_b(p);
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

static void nobody_is_asked_where_the_interval_is_zero(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 9, 3);
	p.b.conf.mirror.interval_ms = 0;
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 100 * SECOND_US);
	assert_int_equal(double_sent_by(p.io_b, WIRE_GET_TABLE, WIRE_SA_MCMEMBER), 0);
	assert_int_equal(count_alerts(&p.b, "registrations", ""), 0);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_outlive_their_master),
		cmocka_unit_test(the_copy_is_no_older_than_an_interval),
		cmocka_unit_test(a_master_that_does_not_answer_is_an_alert),
		cmocka_unit_test(nobody_is_asked_where_the_interval_is_zero),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
