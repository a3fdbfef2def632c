/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast by the whole daemon on the fabric double: hosts join and leave by MADs, and what counts
 * is what the switches hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/multicast/mcast_own.h"
#include "tests/lib/fabric_mcast_world.h"

/* ---- Joining and leaving --------------------------------------------------------------------- */

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
		hops += mcast_plan_tree(multicast_trees(w.fabric), m.mlid[g])->nhops;
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
	assert_int_equal(join(&w, 4, 1, WIRE_JOIN_FULL).status, WIRE_SA_OK);
	assert_int_equal(join(&w, 5, 2, WIRE_JOIN_FULL).status, WIRE_SA_NO_RESOURCES);
	world_fini(&w);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

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
	uint32_t sw = mcast_plan_tree(multicast_trees(w.fabric), m.mlid[0])->root;
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

static unsigned count_repaired(const struct world *w)
{
	json_t *events = fabric_events(w->fabric, 1000), *event;
	unsigned count = 0;
	size_t i;

	json_array_foreach (events, i, event)
		count += strstr(json_string_value(json_object_get(event, "text")),
				"differs from what was written: repaired") != NULL;
	json_decref(events);
	return count;
}

static guid_t switch_off_the_tree(const struct world *w, const struct mcast_tree *tree)
{
	uint32_t h = 0;

	while (h < tree->nhops && tree->hops[h].guid == w->design->nodes[h].guid)
		h++;
	return w->design->nodes[h].guid;
}

/* One entry of the group's is lost, and a stranger's appears where nothing ever was. */
static void entries_changed_behind_the_sm_are_found_reported_and_repaired(void **state)
{
	const struct mcast_tree *tree;
	struct model m = { 0 };
	struct world w;
	unsigned lost = 1;
	guid_t sw, other;

	small_world(&w);
	for (unsigned i = 4; i < HOSTS; i += 4)
		model_join(&w, &m, i, 0, WIRE_JOIN_FULL);
	w.conf.audit.rate = 1000;
	w.conf.audit.after_ms = 1000;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 4 * SECOND_US);
	assert_int_equal(count_repaired(&w), 0);
	tree = mcast_plan_tree(multicast_trees(w.fabric), m.mlid[0]);
	sw = tree->hops[1].guid;
	while (!mcast_forwards(&tree->hops[1], lost))
		lost++;
	double_flip_mft(w.hw, sw, m.mlid[0], lost);
	other = switch_off_the_tree(&w, tree);
	double_flip_mft(w.hw, other, (uint16_t)(m.mlid[0] + 7), 3);
	run_for(&w, 4 * SECOND_US);
	assert_held(&w, &m);
	assert_true(double_mft(w.hw, sw, m.mlid[0], lost));
	assert_false(double_mft(w.hw, other, (uint16_t)(m.mlid[0] + 7), 3));
	assert_int_equal(count_repaired(&w), 2);
	assert_true(is_up(&w));
	world_fini(&w);
}

/* By number among the hosts of the design. */
static unsigned host_behind(const struct world *w, uint32_t leaf, unsigned num)
{
	return w->design->ports[topo_port(w->design, leaf, num)->peer].node - w->design->nswitches;
}

static uint32_t leaf_number(const struct topo *t, unsigned n)
{
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (t->nodes[sw].level == 0 && n-- == 0)
			return sw;
	return TOPO_NONE;
}

/*
 * Leaf 0 keeps spine 0 only, leaf 1 loses it. Trees that turn at leaf 2 and trees that turn at leaf
 * 3 would wait for each other.
 */
static void trees_that_turn_all_turn_where_no_credit_cycle_closes(void **state)
{
	static const unsigned m[] = { 4, 4 }, width[] = { 1, 3 }, p[] = { 1, 1 };
	char err[256];
	struct topo *design = generate_pgft(2, m, width, p, err, sizeof(err));
	uint32_t a = leaf_number(design, 0), b = leaf_number(design, 1), turn = TOPO_NONE;
	struct world w;

	world_init(&w, design);
	double_cut(w.hw, design->nodes[a].guid, 6);
	double_cut(w.hw, design->nodes[a].guid, 7);
	double_cut(w.hw, design->nodes[b].guid, 5);
	run_for(&w, 15 * SECOND_US);
	for (unsigned g = 0; g < GROUPS; g++) {
		join(&w, host_behind(&w, a, 2 + g % 3), g, WIRE_JOIN_FULL);
		join(&w, host_behind(&w, b, 1 + g % 4), g, WIRE_JOIN_FULL);
	}
	run_for(&w, SECOND_US / 2);
	for (uint32_t i = 0; i < multicast_trees(w.fabric)->ntrees; i++) {
		const struct mcast_tree *tree = &multicast_trees(w.fabric)->trees[i];

		if (!tree->nhops)
			continue; /* the broadcast group's */
		assert_int_equal(tree->turns, 1);
		assert_int_equal(tree->left_out, 0);
		if (turn == TOPO_NONE)
			turn = mcast_tree_turn(fabric_topo(w.fabric), tree);
		assert_int_equal(mcast_tree_turn(fabric_topo(w.fabric), tree), turn);
	}
	assert_int_not_equal(turn, TOPO_NONE);
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
		cmocka_unit_test(entries_changed_behind_the_sm_are_found_reported_and_repaired),
		cmocka_unit_test(trees_that_turn_all_turn_where_no_credit_cycle_closes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
