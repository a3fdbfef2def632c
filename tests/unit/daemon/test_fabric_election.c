/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two fmd on one fabric double, and fmd beside a scripted manager: who is master, who changes what,
 * and what becomes of LIDs and tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include "fm/sm/election.h"
#include "fm/sm/module.h"
#include "tests/lib/fabric_world.h"

/*
 * a sits at the first host and has the lower GUID, b at the last. They share the fabric and the
 * clock.
 */
struct pair {
	struct world a, b;
	struct io *io_b;
};

static guid_t host(const struct world *w, uint32_t number)
{
	return w->design->nodes[w->design->nswitches + number].guid;
}

static void pair_init(struct pair *p, struct topo *design, int priority_a, int priority_b)
{
	struct world *a = &p->a, *b = &p->b;

	log_set_level(-1, LOG_ERR - 1);
	*p = (struct pair){ .a = { .design = design, .loop = loop_new_simulated() } };
	a->hw = double_new(a->loop, design, host(a, 0), 1, NULL);
	a->stop = loop_timer_new(a->loop, stop_cb, a->loop);
	*b = *a;
	p->io_b = double_io_at(a->hw, host(a, design->ncas - 1), 1);
	for (struct world *w = a; w; w = w == a ? b : NULL) {
		strcpy(w->state_dir, "/tmp/fmd-test-XXXXXX");
		assert_non_null(mkdtemp(w->state_dir));
		conf_default(&w->conf);
		w->conf.audit.rate = 0;
		w->conf.sm.priority = w == a ? priority_a : priority_b;
		strcpy(w->conf.state_dir, w->state_dir);
	}
}

static void start_b(struct pair *p)
{
	const struct mad_conf mad = {
		.window_max = 64, .window_device = 16, .timeout_ms = 200, .retries = 3
	};

	p->b.mad = mad_new(p->b.loop, p->io_b, &mad);
	p->b.fabric = fabric_new(p->b.loop, p->b.mad, &p->b.conf, fabric_rooms);
	fabric_start(p->b.fabric);
}

static void stop(struct world *w)
{
	if (w->fabric)
		stop_fabric(w);
	w->fabric = NULL;
}

static void pair_fini(struct pair *p)
{
	char command[160];

	stop(&p->a);
	stop(&p->b);
	double_free(p->a.hw);
	loop_timer_free(p->a.stop);
	loop_free(p->a.loop);
	topo_unref(p->a.design);
	snprintf(command, sizeof(command), "rm -r %s %s", p->a.state_dir, p->b.state_dir);
	assert_int_equal(system(command), 0);
}

static bool is(const struct world *w, const char *role)
{
	json_t *status = fabric_status(w->fabric);
	bool same = !strcmp(json_string_value(json_object_get(status, "sm")), role);

	json_decref(status);
	return same;
}

static bool rules(const struct world *w)
{
	return is(w, "master") && is_up(w);
}

/* Sets of what changes the fabric. */
static uint64_t changes(struct io *io)
{
	return double_sent_by(io, WIRE_SET, 0) - double_sent_by(io, WIRE_SET, WIRE_SM_INFO);
}

static unsigned all_reregistered(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < w->design->ncas; i++)
		count += double_reregistered(w->hw, host(w, i), 1);
	return count;
}

struct handed {
	unsigned done, errors;
};

static void handed_cb(void *arg, json_t *result, const char *error)
{
	struct handed *handed = arg;

	handed->done++;
	handed->errors += error != NULL;
	assert_true(!result == (error != NULL));
}

static uint16_t *lids_held(const struct world *w)
{
	const struct topo *t = w->design;
	uint16_t *lids = mem_alloc(t->nnodes, sizeof(*lids));

	for (uint32_t n = 0; n < t->nnodes; n++)
		lids[n] = double_port_info(w->hw, t->nodes[n].guid, n < t->nswitches ? 0 : 1)->lid;
	return lids;
}

static void assert_lids_are(const struct world *w, uint16_t *lids)
{
	uint16_t *now = lids_held(w);

	for (uint32_t n = 0; n < w->design->nnodes; n++)
		assert_int_equal(now[n], lids[n]);
	free(now);
	free(lids);
}

static void assert_well_managed_by(const struct world *w)
{
	assert_true(rules(w));
	assert_int_equal(double_ports_not_active(w->hw), 0);
	assert_hardware_holds_the_tables(w);
	assert_hardware_delivers(w, 7);
}

/* ---- Two fmd --------------------------------------------------------------------------------- */

static void whoever_comes_second_stands_by_and_changes_nothing(void **state)
{
	struct pair p;
	struct answer reply = { 0 };

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	start_b(&p);
	run_for(&p.a, 30 * SECOND_US);
	assert_well_managed_by(&p.a);
	assert_true(is(&p.b, "standby"));
	assert_int_equal(changes(p.io_b), 0);
	assert_int_equal(count_told(&p.b, "standby", p.a.design->nodes[p.a.design->nswitches].desc),
			 1);
	fabric_reroute(p.b.fabric, act_cb, &reply); /* control asks fabric_refusal() first */
	assert_non_null(strstr(fabric_refusal(p.b.fabric), "stands by"));
	assert_null(fabric_refusal(p.a.fabric));
	pair_fini(&p);
	assert_int_equal(reply.count, 0);
}

static void a_change_is_the_masters_alone(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	start_b(&p);
	run_for(&p.a, 2 * SECOND_US);
	double_cut(p.a.hw, p.a.design->nodes[far_leaf(&p.a)].guid,
		   uplink_of(p.a.design, far_leaf(&p.a)));
	run_for(&p.a, 20 * SECOND_US);
	assert_well_managed_by(&p.a);
	assert_true(is(&p.b, "standby"));
	assert_int_equal(changes(p.io_b), 0);
	pair_fini(&p);
}

/* PortStateChange is the master's to clear: it is how it hears of what no trap told. */
static void a_look_leaves_the_master_what_it_has_to_find(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	double_set_traps(p.a.hw, false);
	double_cut(p.a.hw, p.a.design->nodes[far_leaf(&p.a)].guid,
		   uplink_of(p.a.design, far_leaf(&p.a)));
	start_b(&p);
	run_for(&p.a, SECOND_US);
	assert_true(is(&p.b, "standby"));
	assert_int_equal(changes(p.io_b), 0);
	assert_int_equal(status_number(&p.a, NULL, "links_down"), 0);
	run_for(&p.a, 12 * SECOND_US);
	assert_int_equal(status_number(&p.a, NULL, "links_down"), 1);
	assert_well_managed_by(&p.a);
	pair_fini(&p);
}

static void a_silent_master_is_followed_and_nothing_moves(void **state)
{
	struct pair p;
	uint16_t *lids;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	start_b(&p);
	run_for(&p.a, 5 * SECOND_US);
	lids = lids_held(&p.a);
	double_freeze(double_io(p.a.hw), true);
	run_for(&p.a, 2 * SECOND_US);
	assert_true(is(&p.b, "standby"));
	run_for(&p.a, 5 * SECOND_US);
	assert_well_managed_by(&p.b);
	assert_lids_are(&p.b, lids);
	assert_int_equal(double_sent_by(p.io_b, WIRE_SET, WIRE_LFT), 0);
	assert_int_equal(count_told(&p.b, "take-over", "0 blocks written"), 1);
	assert_true(status_number(&p.b, "election", "take_over_ms") > 2000);
	assert_true(status_number(&p.b, "election", "take_over_ms") < 6000);
	pair_fini(&p);
}

/*
 * The master has gone with a cable that it had no time to answer, and b's memory says otherwise of
 * a LID.
 */
static void what_differs_is_written_and_ports_keep_what_they_hold(void **state)
{
	struct pair p;
	char path[128];
	uint16_t *lids;
	FILE *out;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	lids = lids_held(&p.a);
	snprintf(path, sizeof(path), "%s/lids", p.b.state_dir);
	out = fopen(path, "w");
	fprintf(out, "0x%llx %u 0\n", (unsigned long long)host(&p.a, 7),
		lids[p.a.design->nswitches + 9]);
	fclose(out);
	start_b(&p);
	run_for(&p.a, 5 * SECOND_US);
	double_freeze(double_io(p.a.hw), true);
	double_cut(p.a.hw, p.a.design->nodes[far_leaf(&p.a)].guid,
		   uplink_of(p.a.design, far_leaf(&p.a)));
	run_for(&p.a, 7 * SECOND_US);
	assert_true(rules(&p.b));
	assert_int_equal(status_number(&p.b, NULL, "links_down"), 0); /* one that it never met up */
	assert_hardware_holds_the_tables(&p.b);
	assert_hardware_delivers(&p.b, 8);
	assert_true(double_sent_by(p.io_b, WIRE_SET, WIRE_LFT) > 0);
	assert_lids_are(&p.b, lids);
	pair_fini(&p);
}

static void a_higher_one_gets_the_fabric_handed_over(void **state)
{
	struct pair p;
	uint16_t *lids;
	uint64_t before;

	pair_init(&p, small_tree(), 3, 9);
	p.a.conf.sm.master_priority = 0;
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	lids = lids_held(&p.a);
	start_b(&p);
	run_for(&p.a, 4 * SECOND_US);
	assert_true(is(&p.a, "standby"));
	assert_well_managed_by(&p.b);
	assert_lids_are(&p.b, lids);
	assert_int_equal(double_sent_by(p.io_b, WIRE_SET, WIRE_LFT), 0);
	before = changes(double_io(p.a.hw));
	double_cut(p.a.hw, p.a.design->nodes[far_leaf(&p.a)].guid,
		   uplink_of(p.a.design, far_leaf(&p.a)));
	run_for(&p.a, 30 * SECOND_US);
	assert_int_equal(changes(double_io(p.a.hw)), before);
	assert_hardware_delivers(&p.b, 9);
	pair_fini(&p);
}

static void of_two_that_start_at_once_the_higher_rules(void **state)
{
	for (unsigned late_us = 0; late_us < 3000; late_us += 250) {
		struct pair p;

		pair_init(&p, small_tree(), 0, 0);
		p.a.conf.sm.master_priority = p.b.conf.sm.master_priority = 0;
		start_b(&p);
		if (late_us)
			run_for(&p.a, late_us);
		start_fabric(&p.a);
		run_for(&p.a, 25 * SECOND_US);
		assert_well_managed_by(&p.a);
		assert_true(is(&p.b, "standby"));
		pair_fini(&p);
	}
}

/* Whoever was first is not displaced. */
static void of_two_that_start_at_once_one_rules(void **state)
{
	for (unsigned late_us = 0; late_us < 3000; late_us += 250) {
		struct pair p;

		pair_init(&p, small_tree(), 0, 0);
		start_b(&p);
		if (late_us)
			run_for(&p.a, late_us);
		start_fabric(&p.a);
		run_for(&p.a, 25 * SECOND_US);
		assert_true(is(&p.a, "standby") != is(&p.b, "standby"));
		assert_well_managed_by(is(&p.a, "master") ? &p.a : &p.b);
		pair_fini(&p);
	}
}

/* It is the one that was master and is the higher one, and the fabric has a master. */
static void a_higher_one_that_comes_back_does_not_take_it_back(void **state)
{
	struct pair p;
	uint64_t changed;
	unsigned asked;

	pair_init(&p, small_tree(), 9, 3);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	start_b(&p);
	run_for(&p.a, 4 * SECOND_US);
	stop(&p.a);
	run_for(&p.b, 10 * SECOND_US);
	assert_well_managed_by(&p.b);
	changed = changes(p.io_b);
	asked = all_reregistered(&p.a);
	start_fabric(&p.a);
	run_for(&p.a, 60 * SECOND_US);
	assert_true(is(&p.a, "standby"));
	assert_well_managed_by(&p.b);
	assert_int_equal(status_number(&p.b, "election", "priority"), 14);
	assert_int_equal(changes(p.io_b), changed);
	assert_int_equal(all_reregistered(&p.a), asked);
	pair_fini(&p);
}

/* The operator's word is above that, and what it shows from then on keeps it from coming back. */
static void a_hand_over_by_wish_stays(void **state)
{
	struct pair p;
	struct handed handed = { 0 };

	pair_init(&p, small_tree(), 9, 3);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	sm_hand_over(p.a.fabric, NULL, handed_cb, &handed); /* nobody is there */
	assert_int_equal(handed.errors, 1);
	start_b(&p);
	run_for(&p.a, 15 * SECOND_US);
	assert_true(rules(&p.a));
	sm_hand_over(p.a.fabric, "node-9999 HCA-1", handed_cb, &handed);
	assert_int_equal(handed.errors, 2);
	sm_hand_over(p.a.fabric, NULL, handed_cb, &handed);
	sm_hand_over(p.a.fabric, NULL, handed_cb, &handed); /* one is under way */
	assert_int_equal(handed.errors, 3);
	run_for(&p.a, SECOND_US);
	assert_int_equal(handed.done, 4);
	assert_int_equal(handed.errors, 3);
	assert_true(is(&p.a, "standby"));
	assert_well_managed_by(&p.b);
	assert_int_equal(status_number(&p.a, "election", "priority"), 0);
	run_for(&p.a, 60 * SECOND_US);
	assert_true(is(&p.a, "standby"));
	double_freeze(p.io_b, true); /* the new master is gone */
	run_for(&p.a, 10 * SECOND_US);
	assert_true(rules(&p.a));
	assert_int_equal(status_number(&p.a, "election", "priority"), 14);
	pair_fini(&p);
}

/* Three seconds without a manager that one packet saves. */
static void the_end_of_a_master_need_not_be_a_silence(void **state)
{
	struct pair p;
	struct handed handed = { 0 };

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	start_b(&p);
	run_for(&p.a, 15 * SECOND_US);
	sm_hand_over(p.a.fabric, NULL, handed_cb, &handed);
	while (!handed.done)
		run_for(&p.a, 1000);
	stop(&p.a);
	run_for(&p.b, SECOND_US / 2);
	assert_well_managed_by(&p.b);
	assert_int_equal(count_told(&p.b, "take-over", "silent for 0 ms"), 1);
	assert_int_equal(double_sent_by(p.io_b, WIRE_SET, WIRE_LFT), 0);
	pair_fini(&p);
}

static void changes_of_role_are_counted_and_too_many_told(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	start_b(&p);
	run_for(&p.a, 15 * SECOND_US);
	assert_int_equal(status_number(&p.a, NULL, "role_changes"), 0);
	for (unsigned i = 1; i <= 4; i++) {
		struct world *from = i % 2 ? &p.a : &p.b;
		struct handed handed = { 0 };

		sm_hand_over(from->fabric, NULL, handed_cb, &handed);
		run_for(&p.a, 15 * SECOND_US);
		assert_int_equal(status_number(&p.a, NULL, "role_changes"), i);
		assert_int_equal(count_alerts(&p.a, "role-changes", ""), i > 3);
	}
	run_for(&p.a, 590 * SECOND_US);
	assert_false(count_alerts(&p.a, "role-changes", ""));
	pair_fini(&p);
}

static void a_master_that_wakes_up_again_comes_to_terms(void **state)
{
	struct pair p;
	uint16_t *lids;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	start_b(&p);
	run_for(&p.a, 5 * SECOND_US);
	lids = lids_held(&p.a);
	double_freeze(double_io(p.a.hw), true);
	run_for(&p.a, 4 * SECOND_US);
	assert_true(rules(&p.b));
	double_freeze(double_io(p.a.hw), false);
	run_for(&p.a, 40 * SECOND_US);
	assert_true(is(&p.b, "standby"));
	assert_well_managed_by(&p.a);
	assert_lids_are(&p.a, lids);
	pair_fini(&p);
}

/* Its port did not answer for so long that it has left. */
static void one_that_was_away_for_long_stands_by(void **state)
{
	struct pair p;
	uint64_t changed;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	start_b(&p);
	run_for(&p.a, 5 * SECOND_US);
	double_freeze(double_io(p.a.hw), true);
	run_for(&p.a, 20 * SECOND_US);
	assert_true(rules(&p.b));
	assert_false(is(&p.a, "master"));
	changed = changes(double_io(p.a.hw));
	double_freeze(double_io(p.a.hw), false);
	run_for(&p.a, 40 * SECOND_US);
	assert_true(is(&p.a, "standby"));
	assert_well_managed_by(&p.b);
	assert_int_equal(changes(double_io(p.a.hw)), changed);
	pair_fini(&p);
}

/* ---- Cut off --------------------------------------------------------------------------------- */

static void a_standby_whose_cable_was_out_changes_nothing(void **state)
{
	for (unsigned out_s = 1; out_s <= 30; out_s += 29) {
		struct pair p;
		unsigned asked;
		guid_t far;

		pair_init(&p, small_tree(), 5, 0);
		far = host(&p.a, p.a.design->ncas - 1);
		start_fabric(&p.a);
		run_for(&p.a, 2 * SECOND_US);
		start_b(&p);
		run_for(&p.a, 10 * SECOND_US);
		asked = all_reregistered(&p.a);
		double_cut(p.a.hw, far, 1);
		run_for(&p.a, out_s * SECOND_US);
		double_join(p.a.hw, far, 1);
		run_for(&p.a, 60 * SECOND_US);
		assert_well_managed_by(&p.a);
		assert_true(is(&p.b, "standby"));
		assert_int_equal(changes(p.io_b), 0);
		assert_int_equal(all_reregistered(&p.a),
				 asked + 1); /* the one whose link came back */
		double_freeze(double_io(p.a.hw), true);
		run_for(&p.a, 10 * SECOND_US);
		assert_well_managed_by(&p.b); /* it still does its work */
		pair_fini(&p);
	}
}

static void set_uplinks(struct world *w, uint32_t leaf, bool up)
{
	for (unsigned num = 1; num <= w->design->nodes[leaf].nports; num++) {
		const struct topo_port *peer =
			topo_peer(w->design, topo_port(w->design, leaf, num));

		if (peer && peer->node < w->design->nswitches)
			(up ? double_join : double_cut)(w->hw, w->design->nodes[leaf].guid, num);
	}
}

/*
 * Its leaf is an island, and has to have a master; when that is joined again nothing is written
 * that is not the standby's.
 */
static void a_standby_on_an_island_leaves_the_others_alone(void **state)
{
	struct pair p;
	uint64_t before;
	uint32_t leaf;
	unsigned asked;

	pair_init(&p, small_tree(), 5, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	start_b(&p);
	run_for(&p.a, 10 * SECOND_US);
	leaf = far_leaf(&p.a);
	set_uplinks(&p.a, leaf, false);
	run_for(&p.a, 30 * SECOND_US);
	assert_true(is(&p.b, "master"));
	before = changes(p.io_b);
	asked = all_reregistered(&p.a);
	set_uplinks(&p.a, leaf, true);
	run_for(&p.a, 60 * SECOND_US);
	assert_well_managed_by(&p.a);
	assert_true(is(&p.b, "standby"));
	assert_in_range(changes(p.io_b), before, before + 1);  /* its own leaf's PortStateChange */
	assert_in_range(all_reregistered(&p.a) - asked, 0, 4); /* the leaf's hosts */
	pair_fini(&p);
}

static void a_lower_priority_by_reload_hands_over(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 5, 4);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	start_b(&p);
	run_for(&p.a, 15 * SECOND_US);
	assert_true(rules(&p.a));
	p.a.conf.sm.priority = 1;
	fabric_configure(p.a.fabric, &p.a.conf);
	run_for(&p.a, 5 * SECOND_US);
	assert_true(is(&p.a, "standby"));
	assert_well_managed_by(&p.b);
	pair_fini(&p);
}

static void a_standby_writes_no_file(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	start_b(&p);
	run_for(&p.a, 30 * SECOND_US);
	stop(&p.b);
	assert_int_equal(rmdir(p.b.state_dir), 0); /* there is none in it */
	assert_int_equal(mkdir(p.b.state_dir, 0700), 0);
	pair_fini(&p);
}

/* Its directed route dies; the master mends the tables, and the polls by LID arrive. */
static void a_cut_way_to_the_master_is_no_dead_master(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	start_b(&p);
	run_for(&p.a, 5 * SECOND_US);
	for (unsigned num = 1; num <= p.a.design->nodes[far_leaf(&p.a)].nports; num++) {
		const struct topo *t = p.a.design;
		const struct topo_port *peer = topo_peer(t, topo_port(t, far_leaf(&p.a), num));

		if (!peer || peer->node >= t->nswitches)
			continue;
		double_cut(p.a.hw, t->nodes[far_leaf(&p.a)].guid, num);
		run_for(&p.a, 10 * SECOND_US);
		double_join(p.a.hw, t->nodes[far_leaf(&p.a)].guid, num);
		run_for(&p.a, 10 * SECOND_US);
	}
	assert_well_managed_by(&p.a);
	assert_true(is(&p.b, "standby"));
	assert_int_equal(changes(p.io_b), 0);
	assert_int_equal(count_told(&p.b, "standby", ""), 1);
	pair_fini(&p);
}

/* ---- A scripted manager ---------------------------------------------------------------------- */

static void scripted_at(const struct world *w, uint32_t number, struct wire_sm_info info)
{
	info.guid =
		w->design->ports[w->design->nodes[w->design->nswitches + number].port0 + 1].guid;
	double_set_sm(w->hw, host(w, number), 1, &info);
}

static void one_that_refuses_a_handover_changes_nothing(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	stop_fabric(&w);
	scripted_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 9, .state = SM_STANDBY });
	log_set_level(-1, LOG_ERR - 1);
	start_fabric(&w);
	run_for(&w, 15 * SECOND_US);
	assert_true(is(&w, "standby")); /* nobody is master, and it outranks us */
	scripted_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 0, .state = SM_STANDBY });
	run_for(&w, 15 * SECOND_US);
	assert_true(rules(&w));
	scripted_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 15, .state = SM_STANDBY });
	run_for(&w, 15 * SECOND_US);
	assert_in_range(count_told(&w, "handover", "does not take the fabric over"), 1, 2);
	assert_well_managed_by(&w);
	double_cut(w.hw, w.design->nodes[far_leaf(&w)].guid, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, 25 * SECOND_US);
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 3);
	world_fini(&w);
}

static void begin_beside(struct world *w, struct wire_sm_info info)
{
	world_init_stopped(w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	scripted_at(w, 5, info);
	start_fabric(w);
	run_for(w, 20 * SECOND_US);
}

static void a_master_with_another_sm_key_is_stood_by_for_at_a_start(void **state)
{
	struct world w;

	begin_beside(&w, (struct wire_sm_info){ .sm_key = 2, .priority = 0, .state = SM_MASTER });
	assert_true(is(&w, "standby"));
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), 0);
	assert_true(count_alerts(&w, "foreign-master", ""));
	assert_int_equal(count_told(&w, "other-sm", "another SM_Key"), 1);
	double_set_sm(w.hw, host(&w, 5), 1, NULL);
	run_for(&w, 10 * SECOND_US);
	assert_well_managed_by(&w);
	assert_false(count_alerts(&w, "foreign-master", ""));
	world_fini(&w);
}

static void one_that_hides_its_sm_key_is_heeded(void **state)
{
	struct world w;

	begin_beside(&w, (struct wire_sm_info){ .sm_key = 0, .priority = 14, .state = SM_MASTER });
	assert_true(is(&w, "standby"));
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), 0);
	assert_false(count_alerts(&w, "foreign-master", ""));
	world_fini(&w);
}

static void a_second_master_with_another_sm_key_is_an_alert_as_long_as_it_lasts(void **state)
{
	struct world w;
	struct answer swept = { 0 };

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	scripted_at(&w, 5, (struct wire_sm_info){ .sm_key = 2, .priority = 9, .state = SM_MASTER });
	fabric_sweep(w.fabric, act_cb, &swept);
	run_for(&w, 20 * SECOND_US);
	assert_true(rules(&w));
	assert_true(count_alerts(&w, "two-masters", ""));
	assert_int_equal(count_told(&w, "two-masters", "two masters"), 1);
	double_set_sm(w.hw, host(&w, 5), 1, NULL);
	run_for(&w, 20 * SECOND_US);
	assert_false(count_alerts(&w, "two-masters", ""));
	assert_well_managed_by(&w);
	world_fini(&w);
}

/* ---- Asked before anything is written -------------------------------------------------------- */

static void cut_off(struct world *w, uint32_t number)
{
	double_cut(w->hw, host(w, number), 1);
	run_for(w, SECOND_US);
}

struct writes { /* to whatever, before the manager at host 5 was asked */
	struct world *w;
	uint64_t asked;
	unsigned early, late;
};

static void note_write(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct writes *writes = arg;

	if (attr_id == WIRE_PORT_INFO || attr_id == WIRE_LFT) {
		if (double_sent(writes->w->hw, WIRE_GET, WIRE_SM_INFO) == writes->asked)
			writes->early++;
		else
			writes->late++;
	}
}

/* A manager comes with its host: nothing is written before it has answered. */
static void who_may_manage_too_is_asked_before_a_write(void **state)
{
	struct writes writes = { 0 };
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	cut_off(&w, 5);
	scripted_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 3, .state = SM_STANDBY });
	writes.w = &w;
	writes.asked = double_sent(w.hw, WIRE_GET, WIRE_SM_INFO);
	double_on_set(w.hw, note_write, &writes);
	double_join(w.hw, host(&w, 5), 1);
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(writes.early, 0);
	assert_true(writes.late > 0);
	assert_well_managed_by(&w);
	world_fini(&w);
}

/* Ports that come with another manager's LID, from a host that does not show one. */
static void who_holds_a_foreign_sm_lid_is_asked_before_a_write(void **state)
{
	struct writes writes = { 0 };
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	cut_off(&w, 5);
	double_set_sm_lid(w.hw, host(&w, 5), 1, lid_of(&w, 7));
	writes.w = &w;
	writes.asked = double_sent(w.hw, WIRE_GET, WIRE_SM_INFO);
	double_on_set(w.hw, note_write, &writes);
	double_join(w.hw, host(&w, 5), 1);
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(writes.early, 0);
	assert_true(writes.late > 0);
	assert_well_managed_by(&w);
	world_fini(&w);
}

static void a_silent_one_is_waited_for_no_longer_than_a_transaction(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	cut_off(&w, 5);
	scripted_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 15, .state = SM_MASTER });
	double_set_sm_silent(w.hw, host(&w, 5), 1);
	double_join(w.hw, host(&w, 5), 1);
	run_for(&w, 150000);
	assert_int_equal(double_link_state(w.hw, host(&w, 5), 1), TOPO_INIT);
	run_for(&w, 100000);
	assert_int_equal(double_link_state(w.hw, host(&w, 5), 1), TOPO_ACTIVE);
	run_for(&w, 5 * SECOND_US);
	assert_well_managed_by(&w);
	world_fini(&w);
}

/* .. and a fault does not wait for it at all. */
static void a_fault_does_not_wait_for_a_silent_manager(void **state)
{
	struct world w;
	guid_t leaf;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	leaf = w.design->nodes[far_leaf(&w)].guid;
	cut_off(&w, 5);
	scripted_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 15, .state = SM_MASTER });
	double_set_sm_silent(w.hw, host(&w, 5), 1);
	double_join(w.hw, host(&w, 5), 1);
	run_for(&w, 20000);
	assert_int_equal(double_link_state(w.hw, host(&w, 5), 1), TOPO_INIT); /* it is waited for */
	double_cut(w.hw, leaf, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, 30000);
	assert_int_equal(count_told(&w, "rerouted", w.design->nodes[far_leaf(&w)].desc), 1);
	assert_true(status_number(&w, "last_fault", "detected_to_programmed_ms") < 30);
	run_for(&w, 5 * SECOND_US);
	assert_well_managed_by(&w);
	world_fini(&w);
}

/* Looks that come one after the other do not begin the question anew. */
static void a_silent_manager_does_not_keep_the_others_from_being_judged(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	scripted_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 9, .state = SM_STANDBY });
	double_set_sm_silent(w.hw, host(&w, 5), 1);
	scripted_at(&w, 6,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 15, .state = SM_STANDBY });
	for (unsigned i = 0; i < 20; i++) {
		double_set_desc(w.hw, host(&w, 5 + i % 2), i % 4 < 2 ? "one" : "another");
		run_for(&w, 100000);
	}
	assert_true(count_told(&w, "handover", "outranks this manager") > 0);
	world_fini(&w);
}

static void a_lower_master_is_shouted_about_until_it_goes(void **state)
{
	struct world w;
	struct answer swept = { 0 };

	world_init(&w, small_tree());
	w.conf.sm.priority = 9;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	scripted_at(&w, 5, (struct wire_sm_info){ .sm_key = 1, .priority = 2, .state = SM_MASTER });
	fabric_sweep(w.fabric, act_cb, &swept);
	run_for(&w, 5 * SECOND_US);
	assert_true(rules(&w));
	assert_int_equal(count_told(&w, "two-masters", "two masters"), 1);
	assert_int_equal(status_number(&w, "election", "two_masters"),
			 0); /* a boolean is no number */
	scripted_at(&w, 5,
		    (struct wire_sm_info){ .sm_key = 1, .priority = 2, .state = SM_STANDBY });
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(count_told(&w, "two-masters", "no other master any more"), 1);
	assert_well_managed_by(&w);
	world_fini(&w);
}

static void alone_it_asks_nobody_and_says_nothing(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 30 * SECOND_US);
	assert_true(rules(&w));
	assert_int_equal(double_sent(w.hw, WIRE_GET, WIRE_SM_INFO), 0);
	assert_int_equal(count_told(&w, "master", "") + count_told(&w, "take-over", ""), 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whoever_comes_second_stands_by_and_changes_nothing),
		cmocka_unit_test(a_change_is_the_masters_alone),
		cmocka_unit_test(a_look_leaves_the_master_what_it_has_to_find),
		cmocka_unit_test(a_silent_master_is_followed_and_nothing_moves),
		cmocka_unit_test(what_differs_is_written_and_ports_keep_what_they_hold),
		cmocka_unit_test(a_higher_one_gets_the_fabric_handed_over),
		cmocka_unit_test(of_two_that_start_at_once_the_higher_rules),
		cmocka_unit_test(of_two_that_start_at_once_one_rules),
		cmocka_unit_test(a_higher_one_that_comes_back_does_not_take_it_back),
		cmocka_unit_test(a_hand_over_by_wish_stays),
		cmocka_unit_test(the_end_of_a_master_need_not_be_a_silence),
		cmocka_unit_test(changes_of_role_are_counted_and_too_many_told),
		cmocka_unit_test(a_master_that_wakes_up_again_comes_to_terms),
		cmocka_unit_test(one_that_was_away_for_long_stands_by),
		cmocka_unit_test(a_standby_whose_cable_was_out_changes_nothing),
		cmocka_unit_test(a_standby_on_an_island_leaves_the_others_alone),
		cmocka_unit_test(a_lower_priority_by_reload_hands_over),
		cmocka_unit_test(a_standby_writes_no_file),
		cmocka_unit_test(a_cut_way_to_the_master_is_no_dead_master),
		cmocka_unit_test(one_that_refuses_a_handover_changes_nothing),
		cmocka_unit_test(a_master_with_another_sm_key_is_stood_by_for_at_a_start),
		cmocka_unit_test(one_that_hides_its_sm_key_is_heeded),
		cmocka_unit_test(
			a_second_master_with_another_sm_key_is_an_alert_as_long_as_it_lasts),
		cmocka_unit_test(who_may_manage_too_is_asked_before_a_write),
		cmocka_unit_test(who_holds_a_foreign_sm_lid_is_asked_before_a_write),
		cmocka_unit_test(a_silent_one_is_waited_for_no_longer_than_a_transaction),
		cmocka_unit_test(a_fault_does_not_wait_for_a_silent_manager),
		cmocka_unit_test(a_silent_manager_does_not_keep_the_others_from_being_judged),
		cmocka_unit_test(a_lower_master_is_shouted_about_until_it_goes),
		cmocka_unit_test(alone_it_asks_nobody_and_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
