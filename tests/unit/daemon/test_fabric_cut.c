/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What goes out when a cable is cut, and in which order: the tables first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

#define STALL_US 200000 /* far less than a switch is waited for that takes no block */

struct watch { /* of Sets, from the fault on */
	struct world *w;
	unsigned blocks, ports, ports_before; /* before: ahead of the last block so far */
	uint64_t smps;			      /* of all kinds, to the last block */
};

static void set_seen(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct watch *watch = arg;

	watch->ports += attr_id == WIRE_PORT_INFO;
	if (attr_id != WIRE_LFT)
		return;
	watch->blocks++;
	watch->ports_before = watch->ports;
	watch->smps = double_sent(watch->w->hw, 0, 0);
}

static guid_t guid_of(const struct world *w, uint32_t node)
{
	return w->design->nodes[node].guid;
}

static void watch_begin(struct watch *watch, struct world *w)
{
	*watch = (struct watch){ .w = w };
	double_sent_reset(w->hw);
	double_on_set(w->hw, set_seen, watch);
}

/* Neither the manager's nor one of the last leaf's. */
static guid_t middle_host(const struct world *w)
{
	return guid_of(w, w->design->nswitches + w->design->ncas / 2);
}

/* The fabric is up but for that host. */
static void watch_with_a_host_off(struct watch *watch, struct world *w)
{
	world_init(w, small_tree());
	double_cut(w->hw, middle_host(w), 1);
	run_for(w, SECOND_US);
	watch_begin(watch, w);
}

/* Its link comes up while an uplink of another leaf goes down: both are found by one look. */
static void cut_and_join(struct world *w)
{
	double_cut(w->hw, guid_of(w, far_leaf(w)), uplink_of(w->design, far_leaf(w)));
	double_join(w->hw, middle_host(w), 1);
}

static void ports_are_brought_up_behind_the_tables_of_a_fault(void **state)
{
	struct watch watch;
	struct world w;

	watch_with_a_host_off(&watch, &w);
	cut_and_join(&w);
	run_for(&w, SECOND_US);
	assert_true(watch.blocks > 0);
	assert_true(watch.ports > 0);
	assert_int_equal(watch.ports_before, 0);
	assert_int_equal(double_link_state(w.hw, middle_host(&w), 1), TOPO_ACTIVE);
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

static void they_do_not_wait_for_a_switch_that_takes_no_block(void **state)
{
	struct watch watch;
	struct world w;

	watch_with_a_host_off(&watch, &w);
	double_set_mute(w.hw, guid_of(&w, far_leaf(&w)), WIRE_SET, WIRE_LFT);
	cut_and_join(&w);
	run_for(&w, STALL_US);
	assert_false(is_up(&w));
	assert_int_equal(double_link_state(w.hw, middle_host(&w), 1), TOPO_ACTIVE);
	world_fini(&w);
}

static void a_cut_in_a_pod_costs_the_ports_of_both_switches_and_the_blocks(void **state)
{
	char err[256];
	struct topo *pod = generate_superpod(GENERATE_H100, 2, true, err, sizeof(err));
	uint32_t leaf, spine;
	struct watch watch;
	unsigned num, ports;
	struct world w;

	world_init(&w, pod);
	leaf = far_leaf(&w);
	num = uplink_of(pod, leaf);
	spine = topo_peer(pod, topo_port(pod, leaf, num))->node;
	ports = pod->nodes[leaf].nports + pod->nodes[spine].nports;
	watch_begin(&watch, &w);
	double_cut(w.hw, guid_of(&w, leaf), num);
	run_for(&w, SECOND_US);
	assert_true(watch.blocks > 0);
	assert_int_equal(watch.ports, 0);
	/* SwitchInfo is read and its mark cleared, at both; one TrapRepress each. */
	assert_in_range(watch.smps, watch.blocks, ports + watch.blocks + 8);
	world_fini(&w);
}

/* Entries of what switches hold that lead into a cable which is dead. */
static unsigned entries_into_dead_cables(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		for (uint16_t lid = 1; lid <= fabric_lids(w->fabric)->top; lid++) {
			uint8_t out = double_lft(w->hw, guid_of(w, sw), lid);

			count += out && out != TABLES_NO_ROUTE &&
				 double_link_state(w->hw, guid_of(w, sw), out) == TOPO_DOWN;
		}
	return count;
}

/* Traps of some are lost on the dead cables of others. SEEDS=n: that many. */
static void one_percent_of_cables_cut_at_once_are_found_in_100_ms(void **state)
{
	static const unsigned m[] = { 4, 8, 8 }, ups[] = { 1, 8, 8 };
	const char *seeds = getenv("SEEDS");
	unsigned late = 0, n = seeds ? (unsigned)atoi(seeds) : 10;
	char err[256];
	struct world w;

	world_init(&w, generate_pgft(3, m, ups, NULL, err, sizeof(err)));
	/* Without being asked two switches are found late here. */
	for (uint64_t i = 0; i < n; i++) {
		uint64_t s = i + (seeds ? 1 : 117);
		struct topo *less = damage_links(w.design, 1, s);

		for (unsigned cut = 0; cut < 2; cut++) {
			for (uint32_t p = 0; p < less->nswitch_ports; p++) {
				guid_t node = guid_of(&w, less->ports[p].node);

				if (less->ports[p].link_up || !w.design->ports[p].link_up ||
				    less->ports[p].peer < p)
					continue;
				if (cut)
					double_join(w.hw, node, less->ports[p].num);
				else
					double_cut(w.hw, node, less->ports[p].num);
			}
			if (!cut) {
				run_for(&w, SECOND_US / 10);
				if (entries_into_dead_cables(&w)) {
					print_message("late: seed %lu\n", s);
					late++;
				}
			}
			run_for(&w, 20 * SECOND_US);
		}
		topo_unref(less);
	}
	print_message("%u of %u times entries led into dead cables after 100 ms\n", late, n);
	assert_int_equal(late, 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_are_brought_up_behind_the_tables_of_a_fault),
		cmocka_unit_test(they_do_not_wait_for_a_switch_that_takes_no_block),
		cmocka_unit_test(a_cut_in_a_pod_costs_the_ports_of_both_switches_and_the_blocks),
		cmocka_unit_test(one_percent_of_cables_cut_at_once_are_found_in_100_ms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
