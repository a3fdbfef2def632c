/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Multicast by the whole daemon on the fabric double: hosts join and leave by MADs, and what counts is what the switches hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_mcast.h"
#include "tests/fabric/mcast_held.h"
#include "tests/unit/fabric_world.h"

#define QP1_QKEY 0x80010000u
#define GROUPS	 6
#define HOSTS	 48 /* the first is where fmd runs */
#define B(comp)	 WIRE_BIT(WIRE_MC_##comp)
#define MASK_NEW                                                                                   \
	(B(MGID) | B(PORT_GID) | B(JOIN_STATE) | B(QKEY) | B(TCLASS) | B(PKEY) | B(FLOW) | B(SL) | \
	 B(RATE_SEL) | B(RATE) | B(MTU_SEL) | B(MTU))

struct heard { /* the answers to a host's requests */
	unsigned count;
	uint16_t status; /* of the last one */
	struct wire_mcmember rec;
	uint16_t mlid[GROUPS];
};

static void answer_cb(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct heard *h = arg;

	h->count++;
	h->status = (uint16_t)(mad[4] << 8 | mad[5]);
	wire_mcmember_decode(mad + WIRE_SA_HEADER, &h->rec);
	h->mlid[h->rec.mgid.guid] = h->rec.mlid;
}

static guid_t node_of(const struct world *w, unsigned host)
{
	return w->design->nodes[w->design->nswitches + host].guid;
}

static guid_t port_of(const struct world *w, unsigned host)
{
	return topo_port(w->design, w->design->nswitches + host, 1)->guid;
}

static struct wire_gid mgid_of(unsigned number)
{
	return (struct wire_gid){ 0xff12a01cfe800000ull, number };
}

/* Lets a host's request go; the answer comes as the loop runs. */
static void ask(struct world *w, unsigned host, uint8_t method, unsigned group, uint8_t state,
		struct heard *h)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = method,
					 .tid = 1 + host,
					 .attr_id = WIRE_SA_MCMEMBER };
	const struct wire_mcmember rec = {
		.mgid = mgid_of(group),
		.port_gid = { w->conf.subnet_prefix, port_of(w, host) },
		.qkey = 1,
		.pkey = 0xffff,
		.join_state = state,
		.mtu_sel = WIRE_EXACT,
		.mtu = 4,
		.rate_sel = WIRE_EXACT,
		.rate = 3,
	};
	const struct io_addr to = { .lid = lid_of(w, 0), .qp = 1, .qkey = QP1_QKEY };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	for (unsigned i = 0; i < 8; i++)
		mad[48 + i] = (uint8_t)((uint64_t)MASK_NEW >> (56 - 8 * i));
	wire_mcmember_encode(&rec, mad + WIRE_SA_HEADER);
	double_inject(w->hw, node_of(w, host), 1, &to, mad, sizeof(mad), answer_cb, h);
}

static struct heard join(struct world *w, unsigned host, unsigned group, uint8_t state)
{
	struct heard h = { 0 };

	ask(w, host, WIRE_SET, group, state, &h);
	run_for(w, 1000);
	assert_int_equal(h.count, 1);
	return h;
}

static struct heard leave(struct world *w, unsigned host, unsigned group, uint8_t state)
{
	struct heard h = { 0 };

	ask(w, host, WIRE_DELETE, group, state, &h);
	run_for(w, 1000);
	assert_int_equal(h.count, 1);
	return h;
}

/* ---- What should be ------------------------------------------------------------------------------ */

struct model {
	uint8_t state[GROUPS][HOSTS];
	uint16_t mlid[GROUPS]; /* 0 = the group is not there */
};

static void model_join(struct world *w, struct model *m, unsigned host, unsigned group,
		       uint8_t state)
{
	struct heard h = join(w, host, group, state);

	if (!m->mlid[group] && !(state & (WIRE_JOIN_FULL | WIRE_JOIN_SEND_ONLY_FULL))) {
		assert_int_equal(h.status, WIRE_SA_REQ_INVALID);
		return;
	}
	assert_int_equal(h.status, WIRE_SA_OK);
	m->state[group][host] |= state;
	assert_int_equal(h.rec.join_state, m->state[group][host]);
	assert_true(!m->mlid[group] || m->mlid[group] == h.rec.mlid);
	m->mlid[group] = h.rec.mlid;
}

static void model_settle(struct model *m, unsigned group)
{
	for (unsigned i = 0; i < HOSTS; i++)
		if (m->state[group][i] & (WIRE_JOIN_FULL | WIRE_JOIN_SEND_ONLY_FULL))
			return;
	memset(m->state[group], 0, sizeof(m->state[group]));
	m->mlid[group] = 0;
}

static void model_leave(struct world *w, struct model *m, unsigned host, unsigned group)
{
	uint8_t state = m->state[group][host];

	assert_int_equal(leave(w, host, group, state).status,
			 state ? WIRE_SA_OK : WIRE_SA_REQ_INVALID);
	m->state[group][host] = 0;
	model_settle(m, group);
}

static uint32_t list_members(const struct world *w, const uint8_t state[HOSTS],
			     struct mcast_member list[HOSTS])
{
	const struct topo *t = fabric_topo(w->fabric);
	uint32_t n = 0;

	for (unsigned i = 0; i < HOSTS; i++)
		if (state[i])
			list[n++] = (struct mcast_member){ topo_find_port(t, port_of(w, i)),
							   !(state[i] &
							     (WIRE_JOIN_FULL | WIRE_JOIN_NON)) };
	return n;
}

/* The switches hold a right tree for each group that is there. */
static void assert_held(const struct world *w, const struct model *m)
{
	const struct topo *t = fabric_topo(w->fabric);
	struct mcast_member list[HOSTS];

	for (unsigned g = 0; g < GROUPS; g++) {
		struct mcast_group group = { .mlid = m->mlid[g], .members = list };
		struct mcast_tree held;
		char err[256];

		if (!m->mlid[g])
			continue;
		group.nmembers = list_members(w, m->state[g], list);
		mcast_held_tree(w->hw, t, group.mlid, &held);
		held.left_out = mcast_plan_tree(fabric_trees(w->fabric), group.mlid)->left_out;
		if (!mcast_tree_check(t, &group, &held, err, sizeof(err)))
			fail_msg("group %u, MLID 0x%x: %s", g, group.mlid, err);
		mcast_tree_fini(&held);
	}
}

static bool holds_nothing(const struct world *w, uint16_t mlid)
{
	struct mcast_tree held;
	bool nothing;

	mcast_held_tree(w->hw, w->design, mlid, &held);
	nothing = held.nhops == 0;
	mcast_tree_fini(&held);
	return nothing;
}

static void small_world(struct world *w)
{
	world_init(w, small_tree());
	assert_int_equal(w->design->ncas, HOSTS);
}

/* ---- Joining and leaving ------------------------------------------------------------------------- */

static void packets_reach_who_has_joined(void **state)
{
	struct model m = { 0 };
	struct world w;

	small_world(&w);
	for (unsigned i = 5; i < HOSTS; i += 5)
		model_join(&w, &m, i, 0, i % 3 ? WIRE_JOIN_FULL : WIRE_JOIN_SEND_ONLY_FULL);
	model_join(&w, &m, 1, 0, WIRE_JOIN_SEND_ONLY);
	model_join(&w, &m, 2, 0, WIRE_JOIN_NON);
	run_for(&w, SECOND_US / 10);
	assert_held(&w, &m);
	assert_false(holds_nothing(&w, m.mlid[0]));
	world_fini(&w);
}

static void a_group_that_ended_leaves_nothing_behind(void **state)
{
	struct model m = { 0 };
	struct world w;
	uint16_t mlid;

	small_world(&w);
	for (unsigned i = 0; i < 10; i++)
		model_join(&w, &m, 1 + 4 * i, 0, WIRE_JOIN_FULL);
	run_for(&w, SECOND_US / 10);
	mlid = m.mlid[0];
	for (unsigned i = 0; i < 10; i++)
		model_leave(&w, &m, 1 + 4 * i, 0);
	run_for(&w, SECOND_US / 10);
	assert_true(holds_nothing(&w, mlid));
	assert_int_equal(status_number(&w, "multicast", "groups"), 1); /* the broadcast group */
	world_fini(&w);
}

static void a_storm_of_joins_costs_a_few_rounds(void **state)
{
	struct heard h[HOSTS] = { { 0 } };
	struct model m = { 0 };
	struct world w;
	double rounds;
	unsigned hops = 0;

	small_world(&w);
	rounds = status_number(&w, "multicast", "rounds");
	double_sent_reset(w.hw);
	for (unsigned i = 1; i < HOSTS; i++)
		for (unsigned g = 0; g < GROUPS; g++)
			ask(&w, i, WIRE_SET, g, WIRE_JOIN_FULL, &h[i]);
	run_for(&w, SECOND_US / 2);
	for (unsigned i = 1; i < HOSTS; i++)
		for (unsigned g = 0; g < GROUPS; g++) {
			assert_int_equal(h[i].count, GROUPS);
			m.state[g][i] = WIRE_JOIN_FULL;
			m.mlid[g] = h[i].mlid[g];
		}
	assert_held(&w, &m);
	for (unsigned g = 0; g < GROUPS; g++)
		hops += mcast_plan_tree(fabric_trees(w.fabric), m.mlid[g])->nhops;
	assert_true(status_number(&w, "multicast", "rounds") - rounds <= 3);
	assert_true(double_sent(w.hw, WIRE_SET, WIRE_MFT) <= 2 * hops);
	world_fini(&w);
}

static void when_tables_are_full_the_answer_says_so(void **state)
{
	struct topo *design = small_tree();
	struct world w;

	for (uint32_t sw = 0; sw < design->nswitches; sw++)
		((struct topo_node *)design->nodes)[sw].mft_cap = sw ? 64 : 3;
	world_init(&w, design);
	log_set_level(LOG_SA, LOG_ERR);
	assert_int_equal(join(&w, 3, 0, WIRE_JOIN_FULL).status, WIRE_SA_OK);
	assert_int_equal(join(&w, 3, 1, WIRE_JOIN_FULL).status, WIRE_SA_OK);
	assert_int_equal(join(&w, 3, 2, WIRE_JOIN_FULL).status, WIRE_SA_NO_RESOURCES);
	world_fini(&w);
}

/* ---- Faults -------------------------------------------------------------------------------------- */

static void a_member_out_of_service_has_left_and_may_come_back(void **state)
{
	struct model m = { 0 };
	struct world w;

	small_world(&w);
	for (unsigned i = 10; i < 20; i++)
		model_join(&w, &m, i, 0, WIRE_JOIN_FULL);
	model_join(&w, &m, 17, 1, WIRE_JOIN_FULL);
	double_cut(w.hw, node_of(&w, 17), 1);
	run_for(&w, SECOND_US / 2);
	assert_int_equal(status_number(&w, "multicast", "members"), 9);
	m.state[0][17] = m.state[1][17] = 0;
	model_settle(&m, 1);
	assert_held(&w, &m);
	double_join(w.hw, node_of(&w, 17), 1);
	run_for(&w, 12 * SECOND_US);
	model_join(&w, &m, 17, 0, WIRE_JOIN_FULL);
	run_for(&w, SECOND_US / 10);
	assert_held(&w, &m);
	world_fini(&w);
}

static void a_switch_that_lost_its_tables_gets_them_again(void **state)
{
	struct model m = { 0 };
	struct world w;

	small_world(&w);
	for (unsigned i = 3; i < HOSTS; i += 3)
		model_join(&w, &m, i, 0, WIRE_JOIN_FULL);
	run_for(&w, SECOND_US / 10);
	uint32_t sw = mcast_plan_tree(fabric_trees(w.fabric), m.mlid[0])->root;
	double_reboot(w.hw, fabric_topo(w.fabric)->nodes[sw].guid);
	run_for(&w, 25 * SECOND_US);
	assert_true(is_up(&w));
	assert_held(&w, &m);
	world_fini(&w);
}

struct ring_watch {
	struct world *w;
	unsigned rings;
};

static void set_cb(void *arg, guid_t node, uint16_t attr, uint32_t mod)
{
	struct ring_watch *watch = arg;

	for (unsigned i = 0; attr == WIRE_MFT && i <= GROUPS; i++)
		watch->rings += mcast_held_ring(watch->w->hw, watch->w->design,
						(uint16_t)(MCAST_FIRST_MLID + i));
}

/* Cuts one of the cables between switches, or joins one that is cut; at most two are down. */
static void random_fault(struct world *w, uint64_t *seed, struct topo_port down[2], unsigned *ndown)
{
	if (*ndown == 2 || (*ndown && damage_random(seed) % 2)) {
		struct topo_port p = down[--*ndown];

		double_join(w->hw, w->design->nodes[p.node].guid, p.num);
		return;
	}
	for (;;) {
		uint32_t sw = damage_random(seed) % w->design->nswitches;
		unsigned num = 1 + damage_random(seed) % w->design->nodes[sw].nports;
		const struct topo_port *p = topo_port(w->design, sw, num);
		const struct topo_port *peer = topo_peer(w->design, p);

		if (!peer || peer->node >= w->design->nswitches ||
		    double_link_state(w->hw, w->design->nodes[sw].guid, num) == TOPO_DOWN)
			continue;
		double_cut(w->hw, w->design->nodes[sw].guid, num);
		down[(*ndown)++] = *p;
		return;
	}
}

static void joins_and_leaves_under_faults_end_in_right_trees(void **state)
{
	struct topo_port down[2];
	unsigned ndown = 0;
	uint64_t seed = 1966;
	struct model m = { 0 };
	struct world w;
	struct ring_watch watch = { .w = &w };

	small_world(&w);
	double_on_set(w.hw, set_cb, &watch);
	for (unsigned step = 0; step < 120; step++) {
		unsigned host = 1 + damage_random(&seed) % (HOSTS - 1);
		unsigned group = damage_random(&seed) % GROUPS;

		if (damage_random(&seed) % 3)
			model_join(&w, &m, host, group, 1 + damage_random(&seed) % 15);
		else
			model_leave(&w, &m, host, group);
		if (step % 4 == 0)
			random_fault(&w, &seed, down, &ndown);
		if (step % 4 == 2)
			run_for(&w, 11 * SECOND_US); /* a poll finds what no trap told */
		run_for(&w, SECOND_US / 4);
		assert_int_equal(watch.rings, 0);
		assert_held(&w, &m);
	}
	world_fini(&w);
}

/* ---- A restart ----------------------------------------------------------------------------------- */

static void a_restart_is_nothing_members_notice(void **state)
{
	struct model m = { 0 };
	uint64_t seed = 4;
	struct world w;

	small_world(&w);
	for (unsigned i = 0; i < 60; i++)
		model_join(&w, &m, 1 + damage_random(&seed) % (HOSTS - 1),
			   damage_random(&seed) % GROUPS, 1 + damage_random(&seed) % 15);
	run_for(&w, SECOND_US / 10);
	double members = status_number(&w, "multicast", "members");
	stop_fabric(&w);
	double_sent_reset(w.hw);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(status_number(&w, "multicast", "members"), members);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_MFT), 0);
	assert_held(&w, &m);
	model_join(&w, &m, 7, 0, WIRE_JOIN_FULL); /* the MLID is the same */
	run_for(&w, SECOND_US / 10);
	assert_held(&w, &m);
	world_fini(&w);
}

static void groups_are_saved_while_it_runs(void **state)
{
	struct world w;
	char path[128], line[256] = "";
	unsigned members = 0;
	FILE *in = NULL;

	small_world(&w);
	for (unsigned i = 1; i < 6; i++)
		assert_int_equal(join(&w, i, 0, WIRE_JOIN_FULL).status, WIRE_SA_OK);
	run_for(&w, 5 * SECOND_US);
	snprintf(path, sizeof(path), "%s/groups", w.state_dir);
	for (unsigned tries = 0; !in && tries < 2000; tries++, usleep(1000))
		in = fopen(path, "r"); /* a child writes it */
	assert_non_null(in);
	while (fgets(line, sizeof(line), in))
		members += !strncmp(line, "member ", 7);
	fclose(in);
	assert_int_equal(members, 5);
	world_fini(&w);
}

static void a_spoilt_file_of_groups_is_set_aside(void **state)
{
	static const char *const bad[] = {
		"member 0x1 1 0\n",
		"group 0xff12401bffff0000 0xffffffff 0xbfff 0xffff 0xb1b 4 3 18 0 0x0 0 0\n",
		("group 0xff12401bffff0000 0xffffffff 0xc000 0xffff 0xb1b 4 3 18 0 0x0 0 0\n"
		 "member 0x1 1 0\nmember 0x1 1 0\n"),
		"nonsense\n",
	};
	struct world w;
	char path[128], aside[128];

	small_world(&w);
	snprintf(path, sizeof(path), "%s/groups", w.state_dir);
	snprintf(aside, sizeof(aside), "%s/groups.bad", w.state_dir);
	log_set_level(LOG_CORE, LOG_ERR - 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		FILE *out;

		stop_fabric(&w);
		out = fopen(path, "w");
		fputs(bad[i], out);
		fclose(out);
		unlink(aside);
		start_fabric(&w);
		run_for(&w, SECOND_US / 2);
		assert_int_equal(access(aside, F_OK), 0);
		assert_int_equal(status_number(&w, "multicast", "groups"), 1);
		assert_int_equal(status_number(&w, "multicast", "members"), 0);
	}
	world_fini(&w);
}

static void members_that_are_away_at_a_restart_are_waited_for(void **state)
{
	struct model m = { 0 };
	struct world w;

	small_world(&w);
	for (unsigned i = 10; i < 14; i++)
		model_join(&w, &m, i, 0, WIRE_JOIN_FULL);
	stop_fabric(&w);
	double_cut(w.hw, node_of(&w, 12), 1);
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(status_number(&w, "multicast", "members"), 4);
	double_join(w.hw, node_of(&w, 12), 1);
	run_for(&w, 12 * SECOND_US);
	assert_held(&w, &m);
	double_cut(w.hw, node_of(&w, 13), 1);
	run_for(&w, 12 * SECOND_US);
	assert_int_equal(status_number(&w, "multicast", "members"), 3);
	stop_fabric(&w);
	double_cut(w.hw, node_of(&w, 12), 1);
	start_fabric(&w);
	run_for(&w, 601 * SECOND_US);
	assert_int_equal(status_number(&w, "multicast", "members"), 2);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_reach_who_has_joined),
		cmocka_unit_test(a_group_that_ended_leaves_nothing_behind),
		cmocka_unit_test(a_storm_of_joins_costs_a_few_rounds),
		cmocka_unit_test(when_tables_are_full_the_answer_says_so),
		cmocka_unit_test(a_member_out_of_service_has_left_and_may_come_back),
		cmocka_unit_test(a_switch_that_lost_its_tables_gets_them_again),
		cmocka_unit_test(joins_and_leaves_under_faults_end_in_right_trees),
		cmocka_unit_test(a_restart_is_nothing_members_notice),
		cmocka_unit_test(groups_are_saved_while_it_runs),
		cmocka_unit_test(a_spoilt_file_of_groups_is_set_aside),
		cmocka_unit_test(members_that_are_away_at_a_restart_are_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
