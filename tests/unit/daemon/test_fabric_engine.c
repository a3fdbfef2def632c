/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Who makes the tables: a fabric that is no tree gets its own engine, unicast and multicast
 * together free of credit cycles; a tree that damage breaks leaves its engine, says so, and comes
 * back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/cdg.h"
#include "routing/report/report.h"
#include "tests/lib/fabric_mcast_world.h"

static struct topo *shape(const char *name, const char *sizes)
{
	char err[256] = "", *argv[] = { (char *)name, (char *)sizes };
	struct topo *t = generate_parse(2, argv, err, sizeof(err));

	if (!t)
		fail_msg("%s", err);
	return t;
}

/* ---- What the status and the events say ------------------------------------------------------ */

static bool status_has(const struct world *w, const char *key, const char *text)
{
	json_t *status = fabric_status(w->fabric);
	const char *value = json_string_value(json_object_get(status, key));
	bool has = value ? strstr(value, text) != NULL : !*text;

	json_decref(status);
	return has;
}

/* Events of a kind with that in their text. */
static unsigned count_events(const struct world *w, const char *what, const char *text)
{
	json_t *events = fabric_events(w->fabric, 10000), *event;
	unsigned count = 0;
	size_t i;

	json_array_foreach (events, i, event)
		count += !strcmp(json_string_value(json_object_get(event, "kind")), what) &&
			 strstr(json_string_value(json_object_get(event, "text")), text);
	json_decref(events);
	return count;
}

/* ---- What the switches hold ------------------------------------------------------------------ */

static void add_unicast(struct cdg *all, const struct world *w)
{
	const struct topo *t = fabric_topo(w->fabric);
	uint16_t top = fabric_lids(w->fabric)->top;

	for (uint32_t channel = 0; channel < all->nchannels; channel++) {
		const struct topo_port *port = &t->ports[all->port_of[channel]];
		guid_t here = t->nodes[port->node].guid, there = t->nodes[all->to[channel]].guid;

		for (uint32_t lid = 1; lid <= top; lid++) {
			uint8_t out = double_lft(w->hw, there, (uint16_t)lid);

			if (double_lft(w->hw, here, (uint16_t)lid) == port->num &&
			    out != TABLES_NO_ROUTE && cdg_leads_on(all, channel, out))
				cdg_add(all, channel, out);
		}
	}
}

static void add_multicast(struct cdg *all, const struct world *w, uint16_t mlid)
{
	const struct topo *t = fabric_topo(w->fabric);

	for (uint32_t channel = 0; channel < all->nchannels; channel++) {
		const struct topo_port *port = &t->ports[all->port_of[channel]];
		const struct topo_node *here = &t->nodes[port->node], *there;

		there = &t->nodes[all->to[channel]];
		for (unsigned out = 1;
		     double_mft(w->hw, here->guid, mlid, port->num) && out <= there->nports; out++)
			if (out != t->ports[port->peer].num &&
			    double_mft(w->hw, there->guid, mlid, out) &&
			    cdg_leads_on(all, channel, (uint8_t)out))
				cdg_add(all, channel, (uint8_t)out);
	}
}

static void assert_no_credit_cycle(const struct world *w, const struct model *m)
{
	struct cdg all;
	unsigned length;

	cdg_init(&all, fabric_topo(w->fabric), false);
	add_unicast(&all, w);
	for (unsigned g = 0; g < GROUPS; g++)
		if (m->mlid[g])
			add_multicast(&all, w, m->mlid[g]);
	assert_int_equal(cdg_cycles(&all, NULL, 0, &length), 0);
	cdg_fini(&all);
}

/* ---- What is no tree ------------------------------------------------------------------------- */

/* Cables between switches, each for a second: one in so many ports. */
static void cut_and_join(struct world *w, struct model *m, unsigned every)
{
	const struct topo *t = w->design;
	struct tables before = { 0 };
	uint64_t moved = 0, least = 0;
	unsigned cuts = 0;

	tables_copy(&before, fabric_tables(w->fabric));
	for (uint32_t i = 0; i < t->nswitch_ports; i += every) {
		const struct topo_port *port = &t->ports[i];
		struct delta delta;

		if (t->ends[i].to >= t->nswitches)
			continue;
		double_cut(w->hw, t->nodes[port->node].guid, port->num);
		run_for(w, SECOND_US);
		delta_count(&before, fabric_tables(w->fabric), &delta);
		moved += delta.entries;
		least += delta_minimum(fabric_topo(w->fabric), fabric_lids(w->fabric), "updn-root",
				       &before, fabric_tables(w->fabric));
		assert_hardware_holds_the_tables(w);
		assert_hardware_delivers(w, i);
		assert_held(w, m);
		assert_no_credit_cycle(w, m);
		double_join(w->hw, t->nodes[port->node].guid, port->num);
		run_for(w, SECOND_US);
		cuts++;
	}
	assert_memory_equal(before.lft, fabric_tables(w->fabric)->lft,
			    (size_t)before.nswitches * before.stride);
	assert_held(w, m);
	print_message("%u cuts: %llu entries, at least %llu\n", cuts, (unsigned long long)moved,
		      (unsigned long long)least);
	tables_fini(&before);
}

/* The same tables, and the same trees as far as members are remembered: nothing is written. */
static void restart(struct world *w, const struct model *m)
{
	run_for(w, 10 * SECOND_US);
	stop_fabric(w);
	double_sent_reset(w->hw);
	start_fabric(w);
	run_for(w, 10 * SECOND_US);
	assert_true(is_up(w));
	assert_int_equal(double_sent(w->hw, WIRE_SET, WIRE_LFT), 0);
	assert_int_equal(double_sent(w->hw, WIRE_SET, WIRE_MFT), 0);
	assert_held(w, m);
	assert_no_credit_cycle(w, m);
}

static void a_fabric_that_is_no_tree(const char *name, const char *sizes, unsigned every)
{
	struct world w;
	struct model m = { 0 };

	world_init(&w, shape(name, sizes));
	assert_true(is_up(&w));
	assert_true(status_has(&w, "engine", "updn-root"));
	assert_true(status_has(&w, "engine_why", "are not a tree"));
	assert_int_equal(count_alerts(&w, "left-the-tree", ""), 0);
	assert_int_equal(count_alerts(&w, "unreachable", ""), 0);
	assert_int_equal(count_events(&w, "engine", "are not a tree"), 1);
	for (unsigned host = 1; host < HOSTS; host++)
		for (unsigned group = 0; group < GROUPS; group++)
			if (!(host % (group + 1)))
				model_join(&w, &m, host, group, WIRE_JOIN_FULL);
	run_for(&w, SECOND_US);
	assert_held(&w, &m);
	assert_no_credit_cycle(&w, &m);
	cut_and_join(&w, &m, every);
	assert_true(status_has(&w, "engine", "updn-root"));
	assert_int_equal(count_events(&w, "engine", ""), 1);
	assert_int_equal(count_events(&w, "refused", ""), 0);
	assert_int_equal(count_events(&w, "mcast-narrow", ""), 0);
	assert_int_equal(count_events(&w, "mcast-refused", ""), 0);
	assert_int_equal(count_events(&w, "mcast-spanning", ""), 0);
	restart(&w, &m);
	world_fini(&w);
}

static void a_torus_is_routed_as_what_it_is(void **state)
{
	a_fabric_that_is_no_tree("torus", "4,4", 5);
}

static void a_dragonfly_is_routed_as_what_it_is(void **state)
{
	a_fabric_that_is_no_tree("dragonfly+", "6,3,3,2", 17);
}

static void a_jellyfish_is_routed_as_what_it_is(void **state)
{
	a_fabric_that_is_no_tree("jellyfish", "24,4", 13);
}

/* "updn" goes by the tiers, whatever there is. */
static void an_operator_may_ask_for_routing_by_tiers(void **state)
{
	struct world w;

	world_init_stopped(&w, shape("torus", "4,4"));
	w.conf.routing.engine = CONF_UPDN;
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	assert_true(status_has(&w, "engine", "updn"));
	assert_false(status_has(&w, "engine", "updn-root"));
	assert_hardware_delivers(&w, 1);
	world_fini(&w);
}

/* ---- A tree that is left --------------------------------------------------------------------- */

#define BROKEN_SEED    1207 /* a fabric in which tiers and detours leave pairs without a path.. */
#define BROKEN_PERCENT 27   /* ..with so many cables down */

static void each_dead_cable(struct world *w, const struct topo *broken, bool cut)
{
	for (uint32_t i = 0; i < broken->nswitch_ports; i++) {
		const struct topo_port *port = &broken->ports[i];

		if (port->peer == TOPO_NONE || port->peer < i || port->link_up)
			continue;
		if (cut)
			double_cut(w->hw, broken->nodes[port->node].guid, port->num);
		else
			double_join(w->hw, broken->nodes[port->node].guid, port->num);
	}
	run_for(w, 5 * SECOND_US);
}

static void a_tree_is_left_by_an_alert_and_comes_back(void **state)
{
	struct topo *design = damage_random_pgft(BROKEN_SEED);
	struct topo *broken = damage_links(design, BROKEN_PERCENT, BROKEN_SEED);
	struct tables before = { 0 };
	struct world w;

	world_init(&w, design);
	assert_true(status_has(&w, "engine", "ftree"));
	assert_true(status_has(&w, "engine_why", ""));
	assert_int_equal(count_events(&w, "engine", ""), 0);
	tables_copy(&before, fabric_tables(w.fabric));
	each_dead_cable(&w, broken, true);
	assert_true(status_has(&w, "engine", "updn-root"));
	assert_true(status_has(&w, "engine_why", "pairs of leaves without a path"));
	assert_int_equal(count_alerts(&w, "left-the-tree", "routed by updn-root"), 1);
	assert_int_equal(count_alerts(&w, "unreachable", ""), 0);
	assert_int_equal(status_number(&w, "proof", "unreachable"), 0);
	assert_int_equal(status_number(&w, "proof", "credit_cycles"), 0);
	assert_true(count_events(&w, "engine", "flows on the busiest link") >= 1);
	assert_hardware_holds_the_tables(&w);
	each_dead_cable(&w, broken, false);
	assert_true(status_has(&w, "engine", "ftree"));
	assert_int_equal(count_alerts(&w, "left-the-tree", ""), 0);
	assert_int_equal(count_events(&w, "engine", "routed by ftree"), 1);
	assert_memory_equal(before.lft, fabric_tables(w.fabric)->lft,
			    (size_t)before.nswitches * before.stride);
	tables_fini(&before);
	topo_unref(broken);
	world_fini(&w);
}

/*
 * More LIDs wanted than there are: hosts without one have cables and no path, and nobody calls that
 * well.
 */
static void pairs_without_a_path_are_an_alert_while_they_last(void **state)
{
	struct world w;

	world_init_stopped(&w, pod(2));
	w.conf.routing.lmc = 7;
	start_fabric(&w);
	run_for(&w, 20 * SECOND_US);
	assert_true(status_number(&w, "proof", "unreachable") > 0);
	assert_int_equal(count_alerts(&w, "unreachable",
				      "pairs of hosts are connected by links, but have no path"),
			 1);
	assert_true(count_events(&w, "unreachable", "no legal path") > 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_torus_is_routed_as_what_it_is),
		cmocka_unit_test(a_dragonfly_is_routed_as_what_it_is),
		cmocka_unit_test(a_jellyfish_is_routed_as_what_it_is),
		cmocka_unit_test(an_operator_may_ask_for_routing_by_tiers),
		cmocka_unit_test(pairs_without_a_path_are_an_alert_while_they_last),
		cmocka_unit_test(a_tree_is_left_by_an_alert_and_comes_back),
	};

	return cmocka_run_group_tests_name("fabric engine", tests, NULL, NULL);
}
