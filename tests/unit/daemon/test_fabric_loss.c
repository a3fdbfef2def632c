/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A fabric each of whose cables loses some of the MADs that cross it comes up and answers faults: a
 * switch whose Sets were lost is not one that takes none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/fabric/module.h"
#include "fm/sweep/sweep.h"
#include "tests/lib/fabric_world.h"

#define SEEDS	  4
#define PER_MILLE 60 /* of each crossing of a cable: up to 12 of these there and back */
#define COLD_S	  60
#define FAULT_S	  10

static void lose_everywhere(struct world *w, unsigned per_mille)
{
	const struct topo *t = w->design;

	for (uint32_t i = 0; i < t->nports; i++)
		if (t->ports[i].link_up)
			double_set_loss(w->hw, t->nodes[t->ports[i].node].guid, t->ports[i].num,
					per_mille);
}

static void world_with_losses(struct world *w, struct topo *design, uint64_t seed)
{
	const struct double_conf conf = { .seed = seed };

	world_init_stopped(w, design);
	log_set_level(-1, LOG_ERR - 1);
	double_free(w->hw);
	w->hw = double_new(w->loop, design, design->nodes[design->nswitches].guid, 1, &conf);
	w->conf.sweep.interval_ms = 1000;
	lose_everywhere(w, PER_MILLE);
}

static void run_watching(struct world *w, unsigned seconds)
{
	for (unsigned tenth = 0; tenth < seconds * 10; tenth++) {
		run_for(w, SECOND_US / 10);
		assert_int_equal(count_alerts(w, "isolated", "but no Sets"), 0);
	}
}

static void nobody_is_isolated_for_lost_packets(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world w;

		world_with_losses(&w, small_tree(), seed);
		start_fabric(&w);
		run_watching(&w, COLD_S);
		assert_true(is_up(&w));
		assert_int_equal(double_ports_not_active(w.hw), 0);
		for (uint32_t sw = 0; sw < 4; sw++) { /* leaves */
			double_cut(w.hw, w.design->nodes[sw].guid, uplink_of(w.design, sw));
			run_watching(&w, FAULT_S);
			double_join(w.hw, w.design->nodes[sw].guid, uplink_of(w.design, sw));
			lose_everywhere(&w, PER_MILLE);
			run_watching(&w, FAULT_S);
		}
		lose_everywhere(&w, 0);
		run_for(&w, 120 * SECOND_US);
		assert_int_equal(count_alerts(&w, "", ""), 0);
		assert_int_equal(double_ports_not_active(w.hw), 0);
		assert_hardware_holds_the_tables(&w);
		world_fini(&w);
	}
}

/*
 * The ends of a link say that it is up before the node behind it answers, for that answer comes
 * over the link itself. Nothing of a port changes when it does.
 */
static void a_link_whose_far_end_answers_late_is_brought_up(void **state)
{
	struct world w;
	guid_t leaf;
	unsigned uplink;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	leaf = w.design->nodes[3].guid;
	uplink = uplink_of(w.design, 3);
	run_for(&w, 5 * SECOND_US);
	double_cut(w.hw, leaf, uplink);
	run_for(&w, 5 * SECOND_US);
	double_join(w.hw, leaf, uplink);
	double_set_loss(w.hw, leaf, uplink, 1000);
	run_for(&w, 20 * SECOND_US);
	double_set_loss(w.hw, leaf, uplink, 0);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	world_fini(&w);
}

/* Its ends are in Init again, and the probes over it are lost; the first poll is answered. */
static void a_link_that_was_taken_for_down_is_up_once_a_packet_passes(void **state)
{
	struct inv_node *node;
	struct world w;
	unsigned uplink;

	world_init(&w, small_tree());
	uplink = uplink_of(w.design, far_leaf(&w));
	node = inventory_find(fabric_services(w.fabric).inventory,
			      w.design->nodes[far_leaf(&w)].guid);
	run_for(&w, 5 * SECOND_US);
	double_set_traps(w.hw, false); /* the next poll finds both ends */
	double_set_loss(w.hw, node->guid, uplink, 1000);
	double_cut(w.hw, node->guid, uplink);
	double_join(w.hw, node->guid, uplink);
	for (unsigned ms = 0; ms < 30000 && (sweep_port(node, uplink)->probe != PROBE_FAILED ||
					     node->ports[uplink].link_up);
	     ms++)
		run_for(&w, 1000);
	assert_int_equal(sweep_port(node, uplink)->probe, PROBE_FAILED);
	assert_false(node->ports[uplink].link_up);
	double_set_loss(w.hw, node->guid, uplink, 0);
	for (unsigned ms = 0; ms < 30000 && sweep_port(node, uplink)->probe == PROBE_FAILED; ms++)
		run_for(&w, 1000);
	run_for(&w, SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_isolated_for_lost_packets),
		cmocka_unit_test(a_link_whose_far_end_answers_late_is_brought_up),
		cmocka_unit_test(a_link_that_was_taken_for_down_is_up_once_a_packet_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
