/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Members of multicast groups whose ports go out of service: who stays a member, who is asked to
 * join anew, and who hears of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_mcast_world.h"

#define MEMBERS 39 /* hosts 1 .. 39 */

struct party { /* hosts that are in one group, and join again when they are asked to */
	struct world w;
	uint16_t mlid;
	unsigned asked[HOSTS]; /* to register, as last seen */
};

static unsigned asked_of(const struct party *p, unsigned host)
{
	return double_reregistered(p->w.hw, node_of(&p->w, host), 1);
}

static void party_init(struct party *p)
{
	small_world(&p->w);
	for (unsigned host = 1; host <= MEMBERS; host++)
		p->mlid = join(&p->w, host, 0, WIRE_JOIN_FULL).rec.mlid;
	run_for(&p->w, SECOND_US);
	for (unsigned host = 0; host < HOSTS; host++)
		p->asked[host] = asked_of(p, host);
}

/* Who was asked to register since the last call joins again. Gives how many these were. */
static unsigned join_who_was_asked(struct party *p)
{
	unsigned count = 0;

	for (unsigned host = 1; host <= MEMBERS; host++) {
		if (asked_of(p, host) == p->asked[host])
			continue;
		p->asked[host] = asked_of(p, host);
		join(&p->w, host, 0, WIRE_JOIN_FULL);
		count++;
	}
	return count;
}

static unsigned run_and_rejoin(struct party *p, unsigned seconds)
{
	unsigned count = 0;

	while (seconds--) {
		run_for(&p->w, SECOND_US);
		count += join_who_was_asked(p);
	}
	run_for(&p->w, SECOND_US);
	return count;
}

static unsigned members(const struct party *p)
{
	return (unsigned)status_number(&p->w, "multicast", "members");
}

/* Members whose leaf hands the group's packets on to them. */
static unsigned served(const struct party *p)
{
	const struct topo *t = p->w.design;
	unsigned count = 0;

	for (unsigned host = 1; host <= MEMBERS; host++) {
		const struct topo_port *leaf = topo_peer(t, topo_port(t, t->nswitches + host, 1));

		count += double_mft(p->w.hw, t->nodes[leaf->node].guid, p->mlid, leaf->num);
	}
	return count;
}

static uint32_t leaf_of(const struct party *p, unsigned host)
{
	const struct topo *t = p->w.design;

	return topo_peer(t, topo_port(t, t->nswitches + host, 1))->node;
}

/* ---- What happens to the fabric, and back ---------------------------------------------------- */

typedef void fault_fn(struct party *p, bool on);

static void cut_to_switches(struct party *p, uint32_t sw, bool on)
{
	const struct topo *t = p->w.design;

	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

		if (peer && peer->node < t->nswitches)
			(on ? double_cut : double_join)(p->w.hw, t->nodes[sw].guid, num);
	}
}

static void isolate_leaf(struct party *p, bool on)
{
	cut_to_switches(p, leaf_of(p, 20), on);
}

static void isolate_managers_leaf(struct party *p, bool on)
{
	cut_to_switches(p, leaf_of(p, 0), on);
}

static void lose_spines(struct party *p, bool on, unsigned every)
{
	unsigned number = 0;

	for (uint32_t sw = 0; sw < p->w.design->nswitches; sw++)
		if (p->w.design->nodes[sw].level == 1 && number++ % every == 0)
			cut_to_switches(p, sw, on);
}

static void lose_a_plane(struct party *p, bool on)
{
	lose_spines(p, on, 4);
}

static void lose_all_spines(struct party *p, bool on)
{
	lose_spines(p, on, 1);
}

static void reboot_host(struct party *p, bool on)
{
	if (on) {
		double_cut(p->w.hw, node_of(&p->w, 20), 1);
	} else {
		double_reboot(p->w.hw, node_of(&p->w, 20));
		double_join(p->w.hw, node_of(&p->w, 20), 1);
	}
}

static const unsigned times_ms[] = { 20, 100, 1000, 4000, 15000 };

static void assert_nobody_is_lost(fault_fn *fault)
{
	for (size_t i = 0; i < sizeof(times_ms) / sizeof(times_ms[0]); i++) {
		struct party p;

		party_init(&p);
		assert_int_equal(served(&p), MEMBERS);
		fault(&p, true);
		run_for(&p.w, times_ms[i] * 1000ull);
		fault(&p, false);
		run_and_rejoin(&p, 30);
		if (members(&p) != MEMBERS || served(&p) != MEMBERS)
			fail_msg("after %u ms: %u members, %u of them served", times_ms[i],
				 members(&p), served(&p));
		assert_true(is_up(&p.w));
		world_fini(&p.w);
	}
}

static void nobody_is_lost_when_a_leaf_is_isolated(void **state)
{
	assert_nobody_is_lost(isolate_leaf);
}

static void nobody_is_lost_when_the_managers_leaf_is_isolated(void **state)
{
	assert_nobody_is_lost(isolate_managers_leaf);
}

static void nobody_is_lost_when_a_plane_of_spines_is_lost(void **state)
{
	assert_nobody_is_lost(lose_a_plane);
}

static void nobody_is_lost_when_all_spines_are_lost(void **state)
{
	assert_nobody_is_lost(lose_all_spines);
}

static void a_host_that_reboots_is_asked_to_join_again(void **state)
{
	assert_nobody_is_lost(reboot_host);
}

/* ---- Who waits, and for how long ------------------------------------------------------------- */

static void a_host_that_waits_is_reported(void **state)
{
	struct party p;
	json_t *groups;

	party_init(&p);
	isolate_leaf(&p, true);
	run_for(&p.w, 5 * SECOND_US);
	assert_int_equal(members(&p), MEMBERS);
	assert_int_equal(status_number(&p.w, "multicast", "waiting"), 4);
	assert_int_equal(count_logged(&p.w, "mcast-waiting", "4 ports"), 1);
	groups = multicast_groups(p.w.fabric);
	for (size_t i = 0; i < json_array_size(groups); i++) {
		json_t *group = json_array_get(groups, i),
		       *list = json_object_get(group, "members");
		unsigned waiting = 0;

		for (size_t m = 0; m < json_array_size(list); m++)
			waiting += json_is_true(json_object_get(json_array_get(list, m), "waits"));
		assert_int_equal(waiting, json_array_size(list) ? 4 : 0);
		assert_int_equal(json_integer_value(json_object_get(group, "waiting")), waiting);
	}
	json_decref(groups);
	isolate_leaf(&p, false);
	run_for(&p.w, 15 * SECOND_US);
	assert_int_equal(status_number(&p.w, "multicast", "waiting"), 0);
	assert_int_equal(count_logged(&p.w, "mcast-returned", "4 ports"), 1);
	assert_int_equal(run_and_rejoin(&p, 5), 0); /* nobody was asked: nobody had to */
	world_fini(&p.w);
}

static void who_stays_out_of_reach_too_long_is_asked_to_join_again(void **state)
{
	struct party p;

	party_init(&p);
	isolate_leaf(&p, true);
	run_for(&p.w, 590 * SECOND_US);
	assert_int_equal(members(&p), MEMBERS);
	run_for(&p.w, 20 * SECOND_US);
	assert_int_equal(members(&p), MEMBERS - 4);
	assert_int_equal(count_logged(&p.w, "mcast-dropped", "4 ports"), 1);
	assert_int_equal(join_who_was_asked(&p), 0);
	isolate_leaf(&p, false);
	assert_int_equal(run_and_rejoin(&p, 30), 4);
	assert_int_equal(members(&p), MEMBERS);
	assert_int_equal(served(&p), MEMBERS);
	world_fini(&p.w);
}

/* The leaf is heard again, and what it says of its port decides. */
static void who_went_down_while_out_of_reach_has_left(void **state)
{
	struct party p;

	party_init(&p);
	isolate_leaf(&p, true);
	run_for(&p.w, 2 * SECOND_US);
	double_cut(p.w.hw, node_of(&p.w, 20), 1);
	run_for(&p.w, 2 * SECOND_US);
	assert_int_equal(members(&p), MEMBERS);
	isolate_leaf(&p, false);
	run_for(&p.w, 15 * SECOND_US);
	assert_int_equal(members(&p), MEMBERS - 1);
	double_join(p.w.hw, node_of(&p.w, 20), 1);
	assert_int_equal(run_and_rejoin(&p, 15), 1);
	assert_int_equal(members(&p), MEMBERS);
	world_fini(&p.w);
}

static void who_waits_is_waited_for_over_a_restart(void **state)
{
	struct party p;

	party_init(&p);
	isolate_leaf(&p, true);
	run_for(&p.w, 10 * SECOND_US);
	stop_fabric(&p.w);
	start_fabric(&p.w);
	run_for(&p.w, 10 * SECOND_US);
	assert_int_equal(members(&p), MEMBERS);
	assert_int_equal(status_number(&p.w, "multicast", "waiting"), 4);
	isolate_leaf(&p, false);
	run_and_rejoin(&p, 30);
	assert_int_equal(members(&p), MEMBERS);
	assert_int_equal(served(&p), MEMBERS);
	world_fini(&p.w);
}

/* Another manager had it, or nobody: what it registered then is not known here. */
static void who_comes_active_and_was_not_waited_for_is_asked_to_register(void **state)
{
	struct party p;

	party_init(&p);
	isolate_leaf(&p, true);
	run_for(&p.w, 601 * SECOND_US);
	assert_int_equal(members(&p), MEMBERS - 4);
	stop_fabric(&p.w);
	start_fabric(&p.w);
	run_for(&p.w, 10 * SECOND_US);
	join_who_was_asked(&p);
	isolate_leaf(&p, false);
	assert_int_equal(run_and_rejoin(&p, 30), 4);
	assert_int_equal(members(&p), MEMBERS);
	world_fini(&p.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_lost_when_a_leaf_is_isolated),
		cmocka_unit_test(nobody_is_lost_when_the_managers_leaf_is_isolated),
		cmocka_unit_test(nobody_is_lost_when_a_plane_of_spines_is_lost),
		cmocka_unit_test(nobody_is_lost_when_all_spines_are_lost),
		cmocka_unit_test(a_host_that_reboots_is_asked_to_join_again),
		cmocka_unit_test(a_host_that_waits_is_reported),
		cmocka_unit_test(who_stays_out_of_reach_too_long_is_asked_to_join_again),
		cmocka_unit_test(who_went_down_while_out_of_reach_has_left),
		cmocka_unit_test(who_waits_is_waited_for_over_a_restart),
		cmocka_unit_test(who_comes_active_and_was_not_waited_for_is_asked_to_register),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
