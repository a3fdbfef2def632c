/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every kind of fault, on the fabric double: what is told, what it costs, and that its repair
 * brings the same back. No poll comes to help within a second; where one is needed, the test waits
 * for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

struct before { /* what is to be again */
	struct tables tables;
	uint16_t *lids; /* by host */
};

static void begin(struct world *w, struct topo *design, struct before *before)
{
	world_init(w, design);
	*before = (struct before){ .lids = mem_alloc(w->design->ncas, sizeof(uint16_t)) };
	tables_copy(&before->tables, fabric_tables(w->fabric));
	for (uint32_t h = 0; h < w->design->ncas; h++)
		before->lids[h] = lid_of(w, h);
}

static void assert_all_is_as_before(const struct world *w, const struct before *before)
{
	assert_true(is_up(w));
	assert_int_equal(status_number(w, NULL, "links_down"), 0);
	assert_int_equal(double_ports_not_active(w->hw), 0);
	assert_memory_equal(before->tables.lft, fabric_tables(w->fabric)->lft,
			    (size_t)before->tables.nswitches * before->tables.stride);
	assert_hardware_holds_the_tables(w);
	assert_hardware_delivers(w, 5);
	for (uint32_t h = 0; h < w->design->ncas; h++)
		assert_int_equal(lid_of(w, h), before->lids[h]);
}

static void end(struct world *w, struct before *before)
{
	tables_fini(&before->tables);
	free(before->lids);
	world_fini(w);
}

static guid_t guid_at(const struct world *w, uint32_t node)
{
	return w->design->nodes[node].guid;
}

/* The last switch of a level. */
static uint32_t last_of_level(const struct world *w, unsigned level)
{
	for (uint32_t sw = w->design->nswitches; sw-- > 0;)
		if (w->design->nodes[sw].level == level)
			return sw;
	fail();
	return 0;
}

static uint32_t sm_leaf(const struct world *w)
{
	return topo_peer(w->design, topo_port(w->design, w->design->nswitches, 1))->node;
}

typedef void cable_fn(struct double_fabric *d, guid_t node, unsigned port);

/*
 * All cables of a node, or those to switches alone; counted without the link to its aggregation
 * node.
 */
static unsigned each_cable(struct world *w, uint32_t node, bool between_switches, cable_fn *fn)
{
	unsigned count = 0;

	for (unsigned num = 1; num <= w->design->nodes[node].nports; num++) {
		const struct topo_port *peer =
			topo_peer(w->design, topo_port(w->design, node, num));

		if (!peer || (between_switches && peer->node >= w->design->nswitches))
			continue;
		fn(w->hw, guid_at(w, node), num);
		count += !w->design->nodes[peer->node].sharp;
	}
	return count;
}

static char *status_text(const struct world *w, const char *section, const char *key)
{
	json_t *status = fabric_status(w->fabric);
	const char *text =
		json_string_value(json_object_get(json_object_get(status, section), key));
	char *copy = mem_strdup(text ? text : "");

	json_decref(status);
	return copy;
}

static void assert_named(const struct world *w, const char *section, const char *what)
{
	char *text = status_text(w, section, "what");

	if (strcmp(text, what))
		fail_msg("%s is '%s', not '%s'", section, text, what);
	free(text);
}

/* ---- Cables ---------------------------------------------------------------------------------- */

static void a_cable_costs_the_ports_of_its_switches_and_the_blocks(void **state)
{
	struct world w;
	struct before before;
	double smps;

	begin(&w, pod(1), &before);
	uint32_t leaf = far_leaf(&w);
	unsigned port = uplink_of(w.design, leaf);
	const struct topo_port *peer = topo_peer(w.design, topo_port(w.design, leaf, port));
	unsigned ports = w.design->nodes[leaf].nports + w.design->nodes[peer->node].nports;
	smps = status_number(&w, NULL, "smps_sent");
	double_cut(w.hw, guid_at(&w, leaf), port);
	run_for(&w, SECOND_US);
	smps = status_number(&w, NULL, "smps_sent") - smps;
	assert_true(smps <= 1.1 * (ports + status_number(&w, "last_fault", "lft_blocks_written")));
	assert_true(status_number(&w, "last_fault", "detected_to_proven_ms") > 0);
	assert_true(status_number(&w, "last_fault", "detected_to_programmed_ms") >
		    status_number(&w, "last_fault", "detected_to_proven_ms"));
	double_join(w.hw, guid_at(&w, leaf), port);
	run_for(&w, SECOND_US);
	assert_all_is_as_before(&w, &before);
	assert_int_equal(count_logged(&w, "restored", ": up: restored in"), 1);
	assert_int_equal(count_logged(&w, "rerouted", ""), 1);
	end(&w, &before);
}

/* Where the switches say the states of all ports at once, a few packets do. */
static void with_a_table_of_states_a_cable_costs_a_few_packets(void **state)
{
	struct world w;
	struct before before;
	uint64_t asked;

	begin(&w, pod(1), &before);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
		double_set_state_table(w.hw, guid_at(&w, sw), true);
	fabric_sweep(w.fabric, operation_cb, &(struct answer){ 0 });
	run_for(&w, SECOND_US);
	uint32_t leaf = far_leaf(&w);
	unsigned port = uplink_of(w.design, leaf);
	asked = double_sent(w.hw, WIRE_GET, 0);
	double_cut(w.hw, guid_at(&w, leaf), port);
	run_for(&w, SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	/* Of these, what is asked of switches that were reached over it. */
	assert_in_range(double_sent(w.hw, WIRE_GET, 0) - asked, 4, 14);
	/* One that has it no more is read port by port. */
	double_set_state_table(w.hw, guid_at(&w, leaf), false);
	double_join(w.hw, guid_at(&w, leaf), port);
	run_for(&w, SECOND_US);
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

/* The trap of the one end is lost on the way, as is that of a dead switch. */
static void the_end_that_sent_no_trap_is_read_too(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	uint32_t leaf = far_leaf(&w), spine = last_of_level(&w, 1);
	double_set_traps(w.hw, false);
	each_cable(&w, spine, false, double_cut);
	double_set_traps(w.hw, true);
	double_cut(w.hw, guid_at(&w, leaf),
		   uplink_of(w.design, leaf)); /* the only one that tells */
	run_for(&w, SECOND_US);
	assert_true(status_number(&w, NULL, "links_down") >= 64);
	assert_hardware_delivers(&w, 3);
	each_cable(&w, spine, false, double_join);
	double_join(w.hw, guid_at(&w, leaf), uplink_of(w.design, leaf));
	run_for(&w, 2 * SECOND_US);
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

static void a_lane_that_fails_is_reported_and_its_repair_too(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	uint32_t leaf = far_leaf(&w);
	double_retrain(w.hw, guid_at(&w, leaf), uplink_of(w.design, leaf), 2);
	run_for(&w, SECOND_US);
	assert_int_equal(count_logged(&w, "link-speed", ": 2xNDR, was 4xNDR"), 1);
	assert_int_equal(count_logged(&w, "rerouted", "2xNDR, was 4xNDR"), 1);
	double_retrain(w.hw, guid_at(&w, leaf), uplink_of(w.design, leaf), 4);
	run_for(&w, SECOND_US);
	assert_int_equal(count_logged(&w, "restored", "4xNDR, was 2xNDR"), 1);
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

/* ---- Switches -------------------------------------------------------------------------------- */

static void dies_and_comes_back(struct world *w, uint32_t sw, const char *role)
{
	char down[96], up[96];
	unsigned cables = each_cable(w, sw, false, double_cut);

	snprintf(down, sizeof(down), "%s %s down", role, w->design->nodes[sw].desc);
	snprintf(up, sizeof(up), "%s %s up again", role, w->design->nodes[sw].desc);
	run_for(w, SECOND_US);
	assert_int_equal(status_number(w, NULL, "links_down"), cables);
	assert_named(w, "last_fault", down);
	assert_int_equal(count_logged(w, "switch-down", w->design->nodes[sw].desc), 1);
	assert_int_equal(count_logged(w, "link-down", ""), 0);
	assert_int_equal(count_logged(w, "rerouted", ""), 1);
	assert_int_equal(status_number(w, "proof", "unreachable"), 0);
	each_cable(w, sw, false, double_join);
	run_for(w, SECOND_US);
	assert_named(w, "last_fault", down);
	assert_named(w, "last_repair", up);
	assert_int_equal(count_logged(w, "link-up", ""), 0);
}

static void a_spine_dies_as_one_fault(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	dies_and_comes_back(&w, last_of_level(&w, 1), "spine");
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

static void a_core_switch_dies_as_one_fault(void **state)
{
	struct world w;
	struct before before;

	begin(&w, small_tree(), &before);
	dies_and_comes_back(&w, last_of_level(&w, 2), "core");
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

static void a_leaf_dies_with_its_hosts_as_one_fault(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	dies_and_comes_back(&w, far_leaf(&w), "leaf");
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

static void hosts_whose_links_fell_just_before_their_leaf_are_counted_with_it(void **state)
{
	struct world w;
	struct before before;
	unsigned hosts = 0;
	char lost[96];

	begin(&w, pod(1), &before);
	uint32_t leaf = far_leaf(&w);
	TOPO_LINKS (w.design, leaf, port, peer) {
		if (w.design->nodes[peer->node].type != TOPO_CA ||
		    w.design->nodes[peer->node].sharp)
			continue;
		double_cut(w.hw, guid_at(&w, leaf), port->num);
		hosts++;
	}
	run_for(&w, SECOND_US);
	assert_int_equal(count_logged(&w, "switch-down", ""), 0);
	each_cable(&w, leaf, true, double_cut);
	run_for(&w, SECOND_US);
	snprintf(lost, sizeof(lost), "leaf switch down: %u HCAs lost connectivity", hosts);
	assert_int_equal(count_logged(&w, "switch-down", lost), 1);
	each_cable(&w, leaf, false, double_join);
	run_for(&w, SECOND_US);
	snprintf(lost, sizeof(lost), "leaf switch up: %u HCAs regained connectivity", hosts);
	assert_int_equal(count_logged(&w, "switch-up", lost), 1);
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

/* The uplinks of some leaves but their first ones, so that no switch is dark. */
static unsigned turn_uplinks(struct world *w, unsigned count,
			     void (*turn)(struct double_fabric *hw, guid_t node, unsigned port))
{
	unsigned turned = 0;

	for (uint32_t leaf = w->design->nswitches; leaf-- > 0 && turned < count;) {
		unsigned first = w->design->nodes[leaf].level ? 0 : uplink_of(w->design, leaf);

		for (unsigned num = first + 1;
		     first && num <= w->design->nodes[leaf].nports && turned < count; num++) {
			const struct topo_port *peer =
				topo_peer(w->design, topo_port(w->design, leaf, num));

			if (!peer || peer->node >= w->design->nswitches)
				continue;
			turn(w->hw, guid_at(w, leaf), num);
			turned++;
		}
	}
	return turned;
}

static void many_links_are_reported_in_one_line(void **state)
{
	struct before before;
	struct world w;

	begin(&w, pod(4), &before);
	assert_int_equal(turn_uplinks(&w, 25, double_cut), 25);
	run_for(&w, SECOND_US);
	assert_int_equal(count_logged(&w, "link-down", "fabric: 5 more links down"), 1);
	assert_int_equal(turn_uplinks(&w, 21, double_join), 21);
	run_for(&w, SECOND_US);
	assert_int_equal(count_logged(&w, "link-up", "fabric: 1 more link up"), 1);
	assert_int_equal(turn_uplinks(&w, 25, double_join), 25);
	run_for(&w, SECOND_US);
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

static void half_the_spines_die_at_once(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	uint32_t one = last_of_level(&w, 1), two = one - 1;
	each_cable(&w, one, false, double_cut);
	each_cable(&w, two, false, double_cut);
	run_for(&w, SECOND_US);
	assert_int_equal(status_number(&w, "proof", "unreachable"), 0);
	assert_hardware_delivers(&w, 8);
	assert_int_equal(count_logged(&w, "switch-down", ""), 2);
	each_cable(&w, one, false, double_join);
	each_cable(&w, two, false, double_join);
	run_for(&w, SECOND_US);
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

static void a_switch_that_rebooted_gets_its_tables_again_without_a_poll(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	double_reboot(w.hw, guid_at(&w, last_of_level(&w, 1)));
	run_for(&w, SECOND_US);
	assert_all_is_as_before(&w, &before);
	assert_int_equal(count_logged(&w, "switch-rebooted", "its forwarding tables are empty"), 1);
	end(&w, &before);
}

static void a_switch_that_was_replaced_takes_over(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	uint32_t spine = last_of_level(&w, 1);
	double_replace(w.hw, guid_at(&w, spine), 0xabcd000);
	run_for(&w, 12 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(double_ports_not_active(w.hw), 0);
	assert_int_equal(status_number(&w, "proof", "unreachable"), 0);
	assert_hardware_delivers(&w, 4);
	assert_true(topo_find(fabric_topo(w.fabric), 0xabcd000) != TOPO_NONE);
	assert_int_equal(count_logged(&w, "node-replaced", "in place of"), 1);
	for (uint32_t h = 0; h < w.design->ncas; h++)
		assert_int_equal(lid_of(&w, h), before.lids[h]);
	end(&w, &before);
}

/* ---- Hosts ----------------------------------------------------------------------------------- */

static void a_host_that_reboots_is_active_again_under_its_lid_without_a_poll(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	guid_t host = guid_at(&w, w.design->nswitches + 77);
	double_cut(w.hw, host, 1);
	run_for(&w, SECOND_US / 2);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	double_reboot(w.hw, host);
	double_join(w.hw, host, 1);
	run_for(&w, SECOND_US / 2);
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

static void an_hca_that_was_swapped_gets_a_lid_and_is_reached(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	uint32_t host = w.design->nswitches + 77;
	double_cut(w.hw, guid_at(&w, host), 1);
	run_for(&w, SECOND_US);
	double_replace(w.hw, guid_at(&w, host), 0xbeef000);
	double_join(w.hw, guid_at(&w, host), 1);
	run_for(&w, SECOND_US);
	const struct topo *t = fabric_topo(w.fabric);
	uint32_t node = topo_find(t, 0xbeef000);
	assert_true(node != TOPO_NONE);
	assert_int_equal(count_logged(&w, "node-replaced", "in place of"), 1);
	uint16_t lid = fabric_lids(w.fabric)->lid_of_port[t->nodes[node].port0 + 1];
	assert_int_equal(double_port_info(w.hw, guid_at(&w, host), 1)->lid, lid);
	assert_true(double_trace(w.hw, guid_at(&w, w.design->nswitches), 1, lid) > 0);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	end(&w, &before);
}

/* ---- The SM's own way ------------------------------------------------------------------------ */

static void an_uplink_of_the_sms_own_leaf(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	unsigned port = uplink_of(w.design, sm_leaf(&w));
	double_cut(w.hw, guid_at(&w, sm_leaf(&w)), port);
	run_for(&w, SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	assert_int_equal(status_number(&w, NULL, "silent"), 0);
	assert_hardware_delivers(&w, 2);
	double_join(w.hw, guid_at(&w, sm_leaf(&w)), port);
	run_for(&w, SECOND_US);
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

static void the_sms_own_leaf_dies_and_comes_back(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	each_cable(&w, sm_leaf(&w), false, double_cut);
	run_for(&w, 30 * SECOND_US);
	double_reboot(w.hw, guid_at(&w, sm_leaf(&w)));
	each_cable(&w, sm_leaf(&w), false, double_join);
	run_for(&w, 30 * SECOND_US);
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

/* Its leaf and all hosts on it are cut off from the rest, and each side from the other. */
static void an_island_that_was_cut_off_keeps_its_lids(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	each_cable(&w, sm_leaf(&w), true, double_cut);
	run_for(&w, 30 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(status_number(&w, "proof", "unreachable"), 0);
	each_cable(&w, sm_leaf(&w), true, double_join);
	run_for(&w, 30 * SECOND_US);
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

/* ---- Silence --------------------------------------------------------------------------------- */

static void a_switch_that_hangs_stays_routed_is_reported_and_delays_no_other(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	uint32_t spine = last_of_level(&w, 1), leaf = far_leaf(&w);
	double_set_silent(w.hw, guid_at(&w, spine), true);
	run_for(&w, 25 * SECOND_US);
	assert_int_equal(count_logged(&w, "silent", w.design->nodes[spine].desc), 1);
	assert_int_equal(status_number(&w, NULL, "silent"), 1);
	assert_memory_equal(before.tables.lft, fabric_tables(w.fabric)->lft,
			    (size_t)before.tables.nswitches * before.tables.stride);
	/* A fault of others meanwhile. */
	double_cut(w.hw, guid_at(&w, leaf), uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	assert_true(status_number(&w, NULL, "sweep_ms") < 10); /* of the latest look */
	assert_true(status_number(&w, "last_fault", "detected_to_proven_ms") < 10);
	double_join(w.hw, guid_at(&w, leaf), uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	double_set_silent(w.hw, guid_at(&w, spine), false);
	run_for(&w, 25 * SECOND_US);
	assert_int_equal(count_logged(&w, "answers", w.design->nodes[spine].desc), 1);
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

static void a_host_that_hangs_is_routed_to_and_found_again_by_a_poll(void **state)
{
	struct world w;
	struct before before;

	begin(&w, pod(1), &before);
	guid_t host = guid_at(&w, w.design->nswitches + 77), leaf = guid_at(&w, far_leaf(&w));
	double_set_silent(w.hw, host, true);
	fabric_sweep(w.fabric, operation_cb, &(struct answer){ 0 });
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "silent"), 1);
	assert_int_equal(count_logged(&w, "silent", "forwarding unchanged"), 1);
	assert_hardware_delivers(&w, 9);
	double_cut(w.hw, leaf, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, SECOND_US);
	double_join(w.hw, leaf, uplink_of(w.design, far_leaf(&w)));
	double_set_silent(w.hw, host, false);
	run_for(&w, 12 * SECOND_US);
	assert_int_equal(count_logged(&w, "answers", ""), 1);
	assert_all_is_as_before(&w, &before);
	end(&w, &before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cable_costs_the_ports_of_its_switches_and_the_blocks),
		cmocka_unit_test(with_a_table_of_states_a_cable_costs_a_few_packets),
		cmocka_unit_test(the_end_that_sent_no_trap_is_read_too),
		cmocka_unit_test(a_lane_that_fails_is_reported_and_its_repair_too),
		cmocka_unit_test(a_spine_dies_as_one_fault),
		cmocka_unit_test(a_core_switch_dies_as_one_fault),
		cmocka_unit_test(a_leaf_dies_with_its_hosts_as_one_fault),
		cmocka_unit_test(hosts_whose_links_fell_just_before_their_leaf_are_counted_with_it),
		cmocka_unit_test(many_links_are_reported_in_one_line),
		cmocka_unit_test(half_the_spines_die_at_once),
		cmocka_unit_test(a_switch_that_rebooted_gets_its_tables_again_without_a_poll),
		cmocka_unit_test(a_switch_that_was_replaced_takes_over),
		cmocka_unit_test(a_host_that_reboots_is_active_again_under_its_lid_without_a_poll),
		cmocka_unit_test(an_hca_that_was_swapped_gets_a_lid_and_is_reached),
		cmocka_unit_test(an_uplink_of_the_sms_own_leaf),
		cmocka_unit_test(the_sms_own_leaf_dies_and_comes_back),
		cmocka_unit_test(an_island_that_was_cut_off_keeps_its_lids),
		cmocka_unit_test(a_host_that_hangs_is_routed_to_and_found_again_by_a_poll),
		cmocka_unit_test(a_switch_that_hangs_stays_routed_is_reported_and_delays_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
