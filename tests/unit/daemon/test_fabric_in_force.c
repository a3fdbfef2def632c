/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What fmd says is in force, against packets that are sent on the fabric double from each host to
 * each other: beside switches that take no Set, refuse it, store nothing, hang, and hosts that do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "fm/inforce/module.h"
#include "fm/links_out/module.h"
#include "fm/mad/wire_sa.h"
#include "routing/path.h"
#include "tests/lib/fabric_world.h"
#include "topology/base/text.h"

static guid_t guid_of(const struct world *w, uint32_t node)
{
	return w->design->nodes[node].guid;
}

static unsigned pairs_that_arrive(const struct world *w)
{
	const struct topo *t = w->design;
	unsigned count = 0;

	for (uint32_t from = 0; from < t->ncas; from++)
		for (uint32_t to = 0; to < t->ncas; to++)
			count += from != to &&
				 double_trace_data(
					 w->hw, guid_of(w, t->nswitches + from), 1,
					 double_port_info(w->hw, guid_of(w, t->nswitches + to), 1)
						 ->lid) >= 0;
	return count;
}

static unsigned pairs_in_force(const struct world *w)
{
	return (unsigned)status_number(w, "in_force", "pairs_in_force");
}

static void restart_cold(struct world *w)
{
	stop_fabric(w);
	for (uint32_t n = 0; n < w->design->nnodes; n++)
		double_reboot(w->hw, guid_of(w, n));
	remove_state(w, "tables");
	w->conf.audit.rate = 256;
}

static void all_pairs_are_in_force_in_a_fabric_that_is_well(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, SECOND_US);
	assert_int_equal(pairs_in_force(&w), w.design->ncas * (w.design->ncas - 1));
	assert_int_equal(pairs_that_arrive(&w), pairs_in_force(&w));
	world_fini(&w);
}

static void a_leaf_that_takes_no_set_is_named_with_its_pairs(void **state)
{
	struct world w;
	uint32_t leaf;
	json_t *status, *wait;

	world_init(&w, small_tree());
	leaf = far_leaf(&w);
	restart_cold(&w);
	double_set_no_sets(w.hw, guid_of(&w, leaf), true);
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	assert_true(pairs_that_arrive(&w) < w.design->ncas * (w.design->ncas - 1));
	assert_int_equal(pairs_in_force(&w), pairs_that_arrive(&w));
	status = fabric_status(w.fabric);
	wait = json_array_get(json_object_get(json_object_get(status, "in_force"), "waits"), 0);
	assert_string_equal(json_string_value(json_object_get(wait, "node")),
			    w.design->nodes[leaf].desc);
	assert_string_equal(json_string_value(json_object_get(wait, "why")), "takes no Sets");
	json_decref(status);
	world_fini(&w);
}

/* Of all pairs of hosts that the wanted tables connect. */
static unsigned paths_that_wait_for_nobody(struct world *w)
{
	const struct fabric_view view = fabric_view(w->fabric);
	const struct topo *t = view.topo;
	unsigned count = 0;

	for (uint32_t a = 0; a < t->nports; a++)
		for (uint32_t b = 0; b < t->nports; b++) {
			uint16_t lid = view.lids->lid_of_port[b];
			struct path path;
			json_t *waits;

			if (a == b || t->ports[a].node < t->nswitches ||
			    t->ports[b].node < t->nswitches || !view.lids->lid_of_port[a] || !lid ||
			    path_trace(t, view.lids, view.tables, a, lid, &path))
				continue;
			waits = inforce_waits_json(w->fabric, a, lid);
			count += !waits;
			json_decref(waits);
		}
	return count;
}

static guid_t port_guid(const struct world *w, uint32_t node)
{
	return w->design->ports[w->design->nodes[node].port0 + 1].guid;
}

/* Linux asks again by itself when it hears nothing; a status is the last word to it. */
static void the_sa_is_silent_for_a_second_about_a_path_that_is_not_in_force_then_has_none(
	void **state)
{
	struct world w;
	uint32_t leaf, own, near, dead = TOPO_NONE;

	world_init(&w, small_tree());
	own = w.design->nswitches;
	near = own + 1;
	leaf = far_leaf(&w);
	for (uint32_t n = own; n < w.design->nnodes; n++)
		if (topo_peer(w.design, topo_port(w.design, n, 1))->node == leaf)
			dead = n;
	restart_cold(&w);
	double_set_no_sets(w.hw, guid_of(&w, leaf), true);
	start_fabric(&w);
	for (unsigned i = 0; i < 5000 && !pairs_in_force(&w); i++)
		run_for(&w, 1000);
	assert_int_equal(ask_path(&w, near, port_guid(&w, near), port_guid(&w, own)).status, 0);
	assert_int_equal(ask_path(&w, near, port_guid(&w, near), port_guid(&w, dead)).count, 0);
	run_for(&w, SECOND_US + 100000);
	assert_int_equal(ask_path(&w, near, port_guid(&w, near), port_guid(&w, dead)).status,
			 WIRE_SA_NO_RECORDS);
	assert_int_equal(ask_path(&w, near, port_guid(&w, near), port_guid(&w, own)).status, 0);
	double_set_no_sets(w.hw, guid_of(&w, leaf), false);
	run_for(&w, 70 * SECOND_US);
	assert_int_equal(ask_path(&w, near, port_guid(&w, near), port_guid(&w, dead)).count, 1);
	assert_int_equal(ask_path(&w, near, port_guid(&w, near), port_guid(&w, dead)).status, 0);
	world_fini(&w);
}

/* The answer comes before pairs are counted anew, with a status. */
static void a_leaf_that_is_forgotten_has_no_hosts_that_are_cut_off(void **state)
{
	struct world w;
	struct reply reply = { 0 };
	uint32_t leaf;
	char what[32];

	world_init(&w, small_tree());
	run_for(&w, 2 * SECOND_US);
	leaf = far_leaf(&w);
	for (unsigned port = 1; port <= w.design->nodes[leaf].nports; port++)
		if (topo_port(w.design, leaf, port)->peer != TOPO_NONE)
			double_cut(w.hw, guid_of(&w, leaf), port);
	run_for(&w, 2 * SECOND_US);
	assert_true(status_number(&w, NULL, "hcas_cut_off") > 0);
	snprintf(what, sizeof(what), "0x%016llx", (unsigned long long)guid_of(&w, leaf));
	links_out_forget(w.fabric, what, reply_cb, &reply);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(reply.count, 1);
	assert_string_equal(reply.error, "");
	assert_int_equal(json_number(reply.result, "hcas_cut_off"), 0);
	json_decref(reply.result);
	world_fini(&w);
}

/* Nobody sees their links down: that is no maintenance. */
static void hosts_of_a_leaf_that_takes_no_set_are_cut_off(void **state)
{
	struct world w;
	uint32_t leaf;
	unsigned hosts = 0;

	world_init(&w, small_tree());
	leaf = far_leaf(&w);
	for (uint32_t n = w.design->nswitches; n < w.design->nnodes; n++)
		hosts += topo_peer(w.design, topo_port(w.design, n, 1))->node == leaf;
	restart_cold(&w);
	double_set_no_sets(w.hw, guid_of(&w, leaf), true);
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "hcas_cut_off"), hosts);
	double_set_no_sets(w.hw, guid_of(&w, leaf), false);
	run_for(&w, 70 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "hcas_cut_off"), 0);
	assert_int_equal(status_number(&w, "in_force", "pairs_waiting"), 0);
	world_fini(&w);
}

static unsigned hcas_that_nobody_reaches(const struct world *w);

static void assert_counted_as_packets_find_it(struct world *w)
{
	assert_int_equal(pairs_in_force(w), pairs_that_arrive(w));
	assert_int_equal(status_number(w, NULL, "hcas_cut_off"), hcas_that_nobody_reaches(w));
}

/* It forwards by the tables of before the fault; what it was read to hold counts. */
static void what_a_leaf_that_stores_nothing_held_before_is_in_force(void **state)
{
	struct world w;
	uint32_t leaf;

	world_init_stopped(&w, small_tree());
	w.conf.audit.rate = 256;
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	leaf = far_leaf(&w);
	double_set_pretends(w.hw, guid_of(&w, leaf), true);
	double_cut(w.hw, guid_of(&w, leaf), uplink_of(w.design, leaf));
	run_for(&w, 2 * SECOND_US);
	assert_true(pairs_that_arrive(&w) < w.design->ncas * (w.design->ncas - 1));
	assert_counted_as_packets_find_it(&w);
	double_join(w.hw, guid_of(&w, leaf), uplink_of(w.design, leaf));
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(pairs_that_arrive(&w), w.design->ncas * (w.design->ncas - 1));
	assert_counted_as_packets_find_it(&w);
	world_fini(&w);
}

/* Nobody can ask them; links are in Init at their far ends, but for those between the two. */
static void a_leaf_that_hangs_and_boots_has_no_pair_in_force(void **state)
{
	struct world w;
	guid_t ill[2];

	world_init(&w, small_tree());
	run_for(&w, 2 * SECOND_US);
	ill[0] = guid_of(&w, far_leaf(&w));
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
		if (w.design->nodes[sw].level == 1)
			ill[1] = guid_of(&w, sw);
	for (unsigned i = 0; i < 2; i++) {
		double_set_silent(w.hw, ill[i], true);
		double_reboot(w.hw, ill[i]);
	}
	run_for(&w, 3 * SECOND_US);
	assert_counted_as_packets_find_it(&w);
	world_fini(&w);
}

/* Before it is known to be silent, too: no host is named. */
static void what_waits_for_a_leaf_that_booted_names_the_leaf(void **state)
{
	struct world w;
	json_t *status, *waits;
	uint32_t leaf;

	world_init(&w, small_tree());
	run_for(&w, 2 * SECOND_US);
	leaf = far_leaf(&w);
	double_set_silent(w.hw, guid_of(&w, leaf), true);
	double_reboot(w.hw, guid_of(&w, leaf));
	for (unsigned i = 0; i < 30; i++) {
		run_for(&w, SECOND_US / 10);
		status = fabric_status(w.fabric);
		waits = json_object_get(json_object_get(status, "in_force"), "waits");
		for (size_t k = 0; k < json_array_size(waits); k++)
			assert_null(strstr(
				json_string_value(json_object_get(json_array_get(waits, k), "why")),
				"its link is not Active"));
		json_decref(status);
	}
	world_fini(&w);
}

/* HCAs that fmd knows, that nobody's packets reach, and whose own cable is in. */
static unsigned hcas_that_nobody_reaches(const struct world *w)
{
	const struct topo *t = w->design;
	unsigned count = 0;

	for (uint32_t to = t->nswitches; to < t->nnodes; to++) {
		const guid_t guid = guid_of(w, to);
		bool reached = topo_find(fabric_view(w->fabric).topo, guid) == TOPO_NONE ||
			       double_port_info(w->hw, guid, 1)->state <= TOPO_DOWN;

		for (uint32_t from = t->nswitches; from < t->nnodes && !reached; from++)
			reached = from != to &&
				  double_trace_data(w->hw, guid_of(w, from), 1,
						    double_port_info(w->hw, guid, 1)->lid) >= 0;
		count += !reached;
	}
	return count;
}

static void make_ill(struct world *w)
{
	uint32_t node = (uint32_t)rand() % w->design->nnodes;
	guid_t guid = guid_of(w, node);

	if (node == w->design->nswitches)
		return; /* fmd's own */
	fprintf(stderr, "ill %s\n", w->design->nodes[node].desc);
	switch (node < w->design->nswitches ? rand() % 5 : 4 + rand() % 2) {
	case 0:
		double_set_no_sets(w->hw, guid, true);
		break;
	case 1:
		double_set_refuses(w->hw, guid, true);
		break;
	case 2:
		double_set_pretends(w->hw, guid, true);
		break;
	case 3:
		double_cut(w->hw, guid, 1 + (unsigned)rand() % w->design->nodes[node].nports);
		break;
	default:
		double_set_silent(w->hw, guid, true);
	}
}

/*
 * Ills at random, at a cold start and while it runs, each judged two seconds later. SEEDS and
 * FROM in the environment: so many, from which on.
 */
static void any_ill_devices_are_counted_as_packets_find_them(void **state)
{
	const unsigned from = getenv("FROM") ? (unsigned)atoi(getenv("FROM")) : 1;
	const unsigned seeds = getenv("SEEDS") ? (unsigned)atoi(getenv("SEEDS")) : 20;

	log_set_level(-1, LOG_ERR - 1);
	for (unsigned seed = from; seed < from + seeds; seed++) {
		struct world w;

		srand(seed);
		world_init(&w, small_tree());
		if (seed % 2)
			restart_cold(&w);
		for (unsigned i = 0; i < 1 + seed % 3; i++)
			make_ill(&w);
		if (seed % 2)
			start_fabric(&w);
		run_for(&w, 2 * SECOND_US);
		if (pairs_in_force(&w) != pairs_that_arrive(&w))
			fail_msg("seed %u: in force %u, arrive %u", seed, pairs_in_force(&w),
				 pairs_that_arrive(&w));
		if (paths_that_wait_for_nobody(&w) != pairs_that_arrive(&w))
			fail_msg("seed %u: %u paths in force, %u pairs arrive", seed,
				 paths_that_wait_for_nobody(&w), pairs_that_arrive(&w));
		if (status_number(&w, NULL, "hcas_cut_off") != hcas_that_nobody_reaches(&w))
			fail_msg("seed %u: %.0f HCAs cut off, %u not reached", seed,
				 status_number(&w, NULL, "hcas_cut_off"),
				 hcas_that_nobody_reaches(&w));
		world_fini(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_pairs_are_in_force_in_a_fabric_that_is_well),
		cmocka_unit_test(
			the_sa_is_silent_for_a_second_about_a_path_that_is_not_in_force_then_has_none),
		cmocka_unit_test(a_leaf_that_is_forgotten_has_no_hosts_that_are_cut_off),
		cmocka_unit_test(hosts_of_a_leaf_that_takes_no_set_are_cut_off),
		cmocka_unit_test(a_leaf_that_takes_no_set_is_named_with_its_pairs),
		cmocka_unit_test(what_a_leaf_that_stores_nothing_held_before_is_in_force),
		cmocka_unit_test(a_leaf_that_hangs_and_boots_has_no_pair_in_force),
		cmocka_unit_test(what_waits_for_a_leaf_that_booted_names_the_leaf),
		cmocka_unit_test(any_ill_devices_are_counted_as_packets_find_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
