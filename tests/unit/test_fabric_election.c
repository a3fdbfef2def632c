/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two fmd on one fabric double, and fmd beside a scripted manager: who is master, who changes what, and what becomes of LIDs and tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include "fm/sm/election.h"
#include "tests/unit/fabric_world.h"

/* a sits at the first host and has the lower GUID, b at the last. They share the fabric and the clock. */
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
		w->conf.audit_rate = 0;
		w->conf.sm_priority = w == a ? priority_a : priority_b;
		strcpy(w->conf.state_dir, w->state_dir);
	}
}

static void start_b(struct pair *p)
{
	const struct mad_conf mad = {
		.window_max = 64, .window_device = 16, .timeout_ms = 200, .retries = 3
	};

	p->b.mad = mad_new(p->b.loop, p->io_b, &mad);
	p->b.fabric = fabric_new(p->b.loop, p->b.mad, &p->b.conf);
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

/* ---- Two fmd --------------------------------------------------------------------------------------- */

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

/* The master has gone with a cable that it had no time to answer, and b's memory says otherwise of a LID. */
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
	run_for(&p.a, 10 * SECOND_US);
	assert_true(rules(&p.b));
	double_freeze(double_io(p.a.hw), false);
	run_for(&p.a, 40 * SECOND_US);
	assert_true(is(&p.b, "standby"));
	assert_well_managed_by(&p.a);
	assert_lids_are(&p.a, lids);
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
	p.a.conf.sm_priority = 1;
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

/* ---- A scripted manager ---------------------------------------------------------------------------- */

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
		    (struct wire_sm_info){ .sm_key = 1, .priority = 9, .state = SM_STANDBY });
	run_for(&w, 15 * SECOND_US);
	assert_in_range(count_told(&w, "handover", "does not take the fabric over"), 1, 2);
	assert_well_managed_by(&w);
	double_cut(w.hw, w.design->nodes[far_leaf(&w)].guid, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, 25 * SECOND_US);
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 3);
	world_fini(&w);
}

static void one_with_another_sm_key_is_told_and_not_heeded(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	stop_fabric(&w);
	scripted_at(&w, 5, (struct wire_sm_info){ .sm_key = 2, .priority = 9, .state = SM_MASTER });
	log_set_level(-1, LOG_ERR - 1);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_true(rules(&w));
	assert_int_equal(count_told(&w, "other-sm", "another SM_Key"), 1);
	world_fini(&w);
}

static void a_lower_master_is_shouted_about_until_it_goes(void **state)
{
	struct world w;
	struct answer swept = { 0 };

	world_init(&w, small_tree());
	w.conf.sm_priority = 9;
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
		cmocka_unit_test(a_master_that_wakes_up_again_comes_to_terms),
		cmocka_unit_test(a_lower_priority_by_reload_hands_over),
		cmocka_unit_test(a_standby_writes_no_file),
		cmocka_unit_test(a_cut_way_to_the_master_is_no_dead_master),
		cmocka_unit_test(one_that_refuses_a_handover_changes_nothing),
		cmocka_unit_test(one_with_another_sm_key_is_told_and_not_heeded),
		cmocka_unit_test(a_lower_master_is_shouted_about_until_it_goes),
		cmocka_unit_test(alone_it_asks_nobody_and_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
