/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The store of multicast groups: its invariants, MLIDs, and a long random life beside a plain list.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/sa/mcast_group.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define SECOND 1000000ull

struct heard {
	unsigned changed, kept, unkept;
	uint16_t mlid;
};

static void changed(void *arg, uint16_t mlid)
{
	struct heard *h = arg;

	h->changed++;
	h->mlid = mlid;
}

static void kept(void *arg, const struct sa_group *group, bool is_kept)
{
	struct heard *h = arg;

	h->kept += is_kept;
	h->unkept += !is_kept;
}

static const struct sa_groups_ops ops = { .changed = changed, .kept = kept };

static struct wire_mcmember attr_of(unsigned number)
{
	return (struct wire_mcmember){
		.mgid = { 0xff12401bffff0000ull, number }, .pkey = 0xffff, .mtu = 4, .rate = 3
	};
}

static struct sa_group *make(struct sa_groups *g, unsigned number, uint64_t now)
{
	const struct wire_mcmember attr = attr_of(number);

	return sa_groups_create(g, &attr, 0, now);
}

static void a_group_lives_from_its_first_full_member_to_the_last(void **state)
{
	struct heard h = { 0 };
	struct sa_groups *g = sa_groups_new(&ops, &h);
	struct sa_group *group = make(g, 1, 0);
	struct wire_gid mgid = attr_of(1).mgid;

	assert_int_equal(group->mlid, 0xc000);
	assert_int_equal(sa_groups_join(g, group, 7, WIRE_JOIN_FULL, false), WIRE_JOIN_FULL);
	assert_int_equal(sa_groups_join(g, group, 5, WIRE_JOIN_SEND_ONLY, true),
			 WIRE_JOIN_SEND_ONLY);
	assert_int_equal(sa_groups_join(g, group, 7, WIRE_JOIN_NON, false),
			 WIRE_JOIN_FULL | WIRE_JOIN_NON);
	assert_int_equal(h.kept, 1);
	assert_int_equal(h.changed, 4);
	assert_int_equal(sa_groups_use(g)->members, 2);
	assert_true(sa_group_member(group, 5)->proxy);
	assert_null(sa_group_member(group, 6));
	assert_int_equal(sa_groups_leave(g, group, 7, WIRE_JOIN_NON, 0), WIRE_JOIN_FULL);
	assert_int_equal(h.unkept, 0);
	assert_int_equal(sa_groups_leave(g, group, 7, WIRE_JOIN_FULL, 0), 0);
	assert_int_equal(h.unkept, 1);
	assert_null(sa_groups_find(g, &mgid));
	assert_int_equal(sa_groups_use(g)->members, 0);
	assert_int_equal(sa_groups_use(g)->mlids, 0);
	assert_int_equal(sa_groups_top(g), 0xbfff);
	sa_groups_free(g);
}

static void a_send_only_full_member_keeps_a_group_too(void **state)
{
	struct heard h = { 0 };
	struct sa_groups *g = sa_groups_new(&ops, &h);
	struct sa_group *group = make(g, 1, 0);

	sa_groups_join(g, group, 1, WIRE_JOIN_SEND_ONLY_FULL, false);
	sa_groups_join(g, group, 2, WIRE_JOIN_FULL, false);
	sa_groups_leave(g, group, 2, WIRE_JOIN_FULL, 0);
	assert_int_equal(sa_groups_use(g)->groups, 1);
	sa_groups_leave(g, group, 1, WIRE_JOIN_SEND_ONLY_FULL, 0);
	assert_int_equal(sa_groups_use(g)->groups, 0);
	sa_groups_free(g);
}

static void a_group_made_in_advance_stays_with_its_senders(void **state)
{
	struct heard h = { 0 };
	struct sa_groups *g = sa_groups_new(&ops, &h);
	struct sa_group *group = make(g, 1, 0);

	sa_groups_preset(g, group, true, 0);
	sa_groups_join(g, group, 1, WIRE_JOIN_FULL, false);
	sa_groups_join(g, group, 2, WIRE_JOIN_SEND_ONLY, false);
	sa_groups_leave(g, group, 1, WIRE_JOIN_FULL, 0);
	assert_int_equal(sa_groups_use(g)->groups, 1);
	assert_int_equal(group->nmembers, 1);
	assert_int_equal(h.unkept, 1);
	sa_groups_preset(g, group, false, 0);
	assert_int_equal(sa_groups_use(g)->groups, 0);
	assert_int_equal(sa_groups_use(g)->members, 0);
	sa_groups_free(g);
}

static void mlids_rest_before_they_are_used_again(void **state)
{
	struct heard h = { 0 };
	struct sa_groups *g = sa_groups_new(&ops, &h);
	struct sa_group *first = make(g, 1, 0), *second = make(g, 2, 0);

	assert_int_equal(second->mlid, 0xc001);
	sa_groups_end_if_unkept(g, first, 1 * SECOND);
	assert_int_equal(make(g, 3, 2 * SECOND)->mlid, 0xc002);
	assert_int_equal(make(g, 4, 61 * SECOND)->mlid, 0xc000);
	sa_groups_free(g);
}

static void the_longest_rested_mlid_serves_when_no_other_is_free(void **state)
{
	struct heard h = { 0 };
	struct sa_groups *g = sa_groups_new(&ops, &h);
	struct sa_group *group[3];

	sa_groups_set_capacity(g, 3);
	for (unsigned i = 0; i < 3; i++)
		group[i] = make(g, i, 0);
	assert_null(make(g, 9, 0));
	sa_groups_end_if_unkept(g, group[2], 1 * SECOND);
	sa_groups_end_if_unkept(g, group[0], 2 * SECOND);
	assert_int_equal(make(g, 10, 3 * SECOND)->mlid, 0xc002);
	assert_int_equal(make(g, 11, 3 * SECOND)->mlid, 0xc000);
	assert_null(make(g, 12, 100 * SECOND));
	assert_int_equal(sa_groups_use(g)->mlids, 3);
	sa_groups_free(g);
}

static void a_wished_mlid_is_given_if_it_is_free(void **state)
{
	struct heard h = { 0 };
	struct sa_groups *g = sa_groups_new(&ops, &h);
	const struct wire_mcmember one = attr_of(1), two = attr_of(2);

	assert_int_equal(sa_groups_create(g, &one, 0xc123, 0)->mlid, 0xc123);
	assert_int_equal(sa_groups_top(g), 0xc123);
	assert_null(sa_groups_create(g, &one, 0xc124, 0)); /* the MGID is there */
	assert_null(sa_groups_create(g, &two, 0xc123, 0));
	assert_null(sa_groups_create(g, &two, 0xbfff, 0));
	assert_null(sa_groups_create(g, &two, 0xffff, 0));
	assert_int_equal(sa_groups_create(g, &two, 0xfffe, 0)->mlid, 0xfffe);
	sa_groups_free(g);
}

static struct sa_group *make_snm(struct sa_groups *g, uint16_t pkey, unsigned id)
{
	const struct wire_mcmember attr = {
		.mgid = { 0xff12601b00000000ull | (uint64_t)pkey << 16, 0x1ff000000ull | id },
		.pkey = pkey,
	};

	return sa_groups_create(g, &attr, 0, 0);
}

static void solicited_nodes_share_a_mlid_only_where_wanted(void **state)
{
	struct heard h = { 0 };
	struct sa_groups *g = sa_groups_new(&ops, &h);
	struct sa_group *a = make_snm(g, 0xffff, 5), *b = make_snm(g, 0xffff, 9);

	assert_int_not_equal(a->mlid, b->mlid);
	sa_groups_share_snm(g, true);
	assert_int_equal(make_snm(g, 0xffff, 1)->mlid, a->mlid); /* the first behind it */
	assert_int_equal(make_snm(g, 0xffff, 0)->mlid, a->mlid);
	assert_int_equal(make_snm(g, 0xffff, 0xffffff)->mlid, a->mlid);
	assert_int_not_equal(make_snm(g, 0x8001, 1)->mlid, a->mlid);
	assert_int_not_equal(make(g, 1, 0)->mlid, a->mlid);
	assert_int_equal(sa_groups_use(g)->mlids, 4);
	sa_groups_end_if_unkept(g, a, 0);
	assert_non_null(sa_groups_by_mlid(g, 0xc000));
	assert_int_equal(sa_groups_use(g)->mlids, 4);
	sa_groups_free(g);
}

static void mgids_of_our_making_are_new_each_time(void **state)
{
	struct heard h = { 0 };
	struct sa_groups *g = sa_groups_new(&ops, &h);
	struct wire_gid first = sa_groups_new_mgid(g, 0xfe80000000000001ull, 2), again;
	struct wire_mcmember attr = { .mgid = first };

	assert_true(first.prefix == 0xff12a01bfe800000ull);
	assert_true(first.guid == 0x0000000100000000ull);
	attr.mgid.guid++;
	sa_groups_create(g, &attr, 0, 0);
	again = sa_groups_new_mgid(g, 0xfe80000000000001ull, 2);
	assert_true(again.guid == first.guid + 2);
	sa_groups_free(g);
}

/* ---- A random life --------------------------------------------------------------------------- */

#define GROUPS 24
#define PORTS  40
#define STEPS  100000

struct plain { /* the same, as one would write it down */
	bool there[GROUPS], preset[GROUPS];
	uint8_t state[GROUPS][PORTS];
};

static bool plain_kept(const struct plain *p, unsigned group)
{
	for (unsigned i = 0; i < PORTS; i++)
		if (p->state[group][i] & (WIRE_JOIN_FULL | WIRE_JOIN_SEND_ONLY_FULL))
			return true;
	return false;
}

static void plain_settle(struct plain *p, unsigned group)
{
	if (plain_kept(p, group) || p->preset[group])
		return;
	p->there[group] = false;
	memset(p->state[group], 0, sizeof(p->state[group]));
}

static void assert_same(const struct sa_groups *g, const struct plain *p)
{
	unsigned count = 0, members = 0, of_port[PORTS] = { 0 };

	for (unsigned i = 0; i < GROUPS; i++) {
		struct wire_gid mgid = attr_of(i).mgid;
		const struct sa_group *group = sa_groups_find(g, &mgid);

		assert_int_equal(group != NULL, p->there[i]);
		count += p->there[i];
		for (unsigned k = 0; group && k < PORTS; k++) {
			const struct sa_member *m = sa_group_member(group, k);

			assert_int_equal(m ? m->state : 0, p->state[i][k]);
			members += p->state[i][k] != 0;
			of_port[k] += p->state[i][k] != 0;
		}
		if (group)
			assert_int_equal(group->nkeepers > 0, plain_kept(p, i));
	}
	for (unsigned k = 0; k < PORTS; k++) {
		const struct sa_group_port *port = sa_groups_port(g, k);

		assert_int_equal(port ? port->groups : 0, of_port[k]);
		assert_true(!port || port->groups);
	}
	assert_int_equal(sa_groups_use(g)->groups, count);
	assert_int_equal(sa_groups_use(g)->members, members);
	assert_int_equal(sa_groups_use(g)->mlids, count);
}

static void random_step(struct sa_groups *g, struct plain *p, uint64_t *seed, uint64_t now)
{
	unsigned i = random_next(seed) % GROUPS, port = random_next(seed) % PORTS;
	unsigned act = random_next(seed) % 8;
	uint8_t bits = 1 + random_next(seed) % 15;
	struct wire_gid mgid = attr_of(i).mgid;
	struct sa_group *group = sa_groups_find(g, &mgid);

	if (!group) {
		group = make(g, i, now);
		assert_non_null(group);
		p->there[i] = true;
		p->preset[i] = act == 0;
		if (p->preset[i])
			sa_groups_preset(g, group, true, now);
		else
			bits |= WIRE_JOIN_FULL;
		act = 7;
	}
	if (act == 1) {
		p->preset[i] = false;
		sa_groups_preset(g, group, false, now);
		plain_settle(p, i);
	} else if (act < 5) {
		p->state[i][port] &= (uint8_t)~bits;
		sa_groups_leave(g, group, port, bits, now);
		plain_settle(p, i);
	} else {
		p->state[i][port] |= bits;
		assert_int_equal(sa_groups_join(g, group, port, bits, false), p->state[i][port]);
	}
}

static void a_random_life_is_what_a_plain_list_says(void **state)
{
	struct heard h = { 0 };
	struct sa_groups *g = sa_groups_new(&ops, &h);
	struct plain *p = mem_alloc(1, sizeof(*p));
	uint64_t seed = 66;

	sa_groups_set_capacity(g, GROUPS);
	for (unsigned step = 0; step < STEPS; step++) {
		random_step(g, p, &seed, step * SECOND / 10);
		if (step % 64 == 0)
			assert_same(g, p);
	}
	assert_same(g, p);
	free(p);
	sa_groups_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_lives_from_its_first_full_member_to_the_last),
		cmocka_unit_test(a_send_only_full_member_keeps_a_group_too),
		cmocka_unit_test(a_group_made_in_advance_stays_with_its_senders),
		cmocka_unit_test(mlids_rest_before_they_are_used_again),
		cmocka_unit_test(the_longest_rested_mlid_serves_when_no_other_is_free),
		cmocka_unit_test(a_wished_mlid_is_given_if_it_is_free),
		cmocka_unit_test(solicited_nodes_share_a_mlid_only_where_wanted),
		cmocka_unit_test(mgids_of_our_making_are_new_each_time),
		cmocka_unit_test(a_random_life_is_what_a_plain_list_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
