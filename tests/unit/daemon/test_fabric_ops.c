/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What operators ask of the daemon, on the fabric double: cordons and their memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"
#include "tests/lib/fabrics.h"

/* ---- Cordons ---- */

static json_int_t number(const struct reply *r, const char *key)
{
	return json_integer_value(json_object_get(r->result, key));
}

static void assert_done(struct reply r, json_int_t ports)
{
	assert_string_equal(r.error, "");
	assert_int_equal(number(&r, "ports"), ports);
	assert_true(number(&r, "lft_entries_changed") > 0);
	assert_true(number(&r, "lft_blocks_written") > 0);
	assert_int_equal(number(&r, "unreachable"), 0);
	assert_null(json_object_get(r.result, "note"));
	json_decref(r.result);
}

static void assert_unchanged(struct reply r, const char *note)
{
	assert_string_equal(r.error, "");
	assert_string_equal(json_string_value(json_object_get(r.result, "note")), note);
	assert_int_equal(number(&r, "lft_blocks_written"), 0);
	json_decref(r.result);
}

/* Entries for hosts in `from`'s table on the hardware that lead to switch `to`. */
static unsigned transit(const struct world *w, uint32_t from, uint32_t to)
{
	unsigned count = 0;

	for (uint32_t h = 0; h < w->design->ncas; h++) {
		uint8_t port = double_lft(w->hw, w->design->nodes[from].guid, lid_of(w, h));
		const struct topo_port *peer =
			port == TABLES_NO_ROUTE
				? NULL
				: topo_peer(w->design, topo_port(w->design, from, port));

		count += peer && peer->node == to;
	}
	return count;
}

static unsigned transit_of_all(const struct world *w, uint32_t to)
{
	unsigned count = 0;

	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		count += transit(w, sw, to);
	return count;
}

static void a_cordoned_spine_is_empty_on_the_hardware_when_the_answer_comes(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	uint32_t spine = find_desc(w.design, "spine-01");
	assert_true(transit_of_all(&w, spine) > 0);
	struct reply done = cordon(&w, "spine-01", true);
	unsigned cables = (unsigned)number(&done, "ports");
	assert_done(done, cables);
	assert_true(cables >= 8);
	assert_int_equal(transit_of_all(&w, spine), 0);
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), cables);
	assert_int_equal(status_number(&w, "proof", "reachable"), 256 * 255);
	assert_hardware_delivers(&w, 7);
	assert_unchanged(cordon(&w, "spine-01", true), "already cordoned");
	world_fini(&w);
}

static void uncordon_brings_the_same_tables_back(void **state)
{
	struct world w;
	struct tables before = { 0 };

	world_init(&w, pod(1));
	tables_copy(&before, fabric_tables(w.fabric));
	json_decref(cordon(&w, "spine-02", true).result);
	json_decref(cordon(&w, "spine-02", false).result);
	assert_memory_equal(before.lft, fabric_tables(w.fabric)->lft,
			    (size_t)before.nswitches * before.stride);
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 0);
	assert_unchanged(cordon(&w, "spine-02", false), "not cordoned");
	tables_fini(&before);
	world_fini(&w);
}

static void all_spines_cordoned_leave_nobody_dark(void **state)
{
	static const char *const spines[] = { "spine-01", "spine-02", "spine-03", "spine-04" };
	struct world w;

	world_init(&w, pod(1));
	for (unsigned i = 0; i < 4; i++)
		json_decref(cordon(&w, spines[i], true).result);
	assert_int_equal(status_number(&w, "proof", "reachable"), 256 * 255);
	assert_hardware_delivers(&w, 8);
	world_fini(&w);
}

static void assert_bent(struct reply r, unsigned count, const char *first)
{
	const json_t *rows = json_object_get(r.result, "not_honoured");
	const json_t *row = json_array_get(rows, 0);

	assert_int_equal(json_array_size(rows), count);
	if (first)
		assert_string_equal(json_string_value(json_object_get(row, "what")), first);
	if (first)
		assert_non_null(strstr(json_string_value(json_object_get(row, "why")),
				       "no other path to "));
	json_decref(r.result);
}

/* Spines one after the other; with the last they all carry traffic again, and that is told. */
static void cordons_that_can_not_be_kept_are_named(void **state)
{
	static const char *const spines[] = { "spine-01", "spine-02", "spine-03", "spine-04" };
	struct world w;

	world_init(&w, pod(1));
	for (unsigned i = 0; i < 3; i++)
		assert_bent(cordon(&w, spines[i], true), 0, NULL);
	assert_int_equal(count_logged(&w, "cordons-bent", ""), 0);
	assert_bent(cordon(&w, spines[3], true), 4, spines[0]);
	assert_int_equal(
		count_logged(&w, "cordons-bent", "4 switches or links carry transit traffic"), 1);
	assert_bent(cordon(&w, spines[3], true), 4, spines[0]); /* asked again, told again */
	assert_bent(cordon(&w, spines[1], false), 0, NULL);
	assert_int_equal(transit_of_all(&w, find_desc(w.design, spines[0])), 0);
	assert_bent(cordon(&w, "leaf-su01-rail0", true), 0,
		    NULL); /* its own hosts are no transit */
	world_fini(&w);
}

static void a_cordoned_leaf_does_not_undo_the_cordon_of_a_spine(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	uint32_t spine = find_desc(w.design, "spine-02");
	uint32_t leaf = find_desc(w.design, "leaf-su01-rail0");

	json_decref(cordon(&w, "leaf-su01-rail0", true).result);
	struct reply done = cordon(&w, "spine-02", true);
	assert_done(done, (unsigned)number(&done, "ports"));
	assert_int_equal(transit_of_all(&w, spine), 0);
	assert_true(transit_of_all(&w, leaf) > 0); /* its hosts */
	assert_hardware_delivers(&w, 9);
	json_decref(cordon(&w, "leaf-su01-rail0", false).result);
	assert_int_equal(transit_of_all(&w, spine), 0);
	world_fini(&w);
}

static void a_cordon_survives_a_fault_and_a_restart(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	uint32_t spine = find_desc(w.design, "spine-03");
	json_decref(cordon(&w, "spine-03", true).result);
	double_cut(w.hw, w.design->nodes[far_leaf(&w)].guid, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, SECOND_US);
	assert_int_equal(transit_of_all(&w, spine), 0);
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(transit_of_all(&w, spine), 0);
	json_decref(cordon(&w, "spine-03", false).result);
	assert_true(transit_of_all(&w, spine) > 0);
	world_fini(&w);
}

/* Whatever else is under way at that moment: a look, an older change that settles first. */
static void a_cordon_asked_during_another_change_is_answered_when_it_is_in_force(void **state)
{
	struct world w;
	uint64_t seed = 23;

	world_init(&w, pod(1));
	uint32_t spine = find_desc(w.design, "spine-01"), leaf = far_leaf(&w);
	double_set_fault(w.hw, 0, DOUBLE_DELAY, 1000, 1000);
	for (unsigned step = 0; step < 60; step++) {
		struct reply r = { 0 }, sweep = { 0 };
		bool on = step % 2 == 0;

		(on ? double_cut : double_join)(w.hw, w.design->nodes[leaf].guid,
						uplink_of(w.design, leaf));
		run_for(&w, damage_random(&seed) % 10000);
		fabric_sweep(w.fabric, reply_cb, &sweep);
		run_for(&w, damage_random(&seed) % 1500);
		links_out_cordon(w.fabric, "spine-01", on, reply_cb, &r);
		while (!r.count)
			run_for(&w, 20);
		assert_string_equal(r.error, "");
		assert_int_equal(transit_of_all(&w, spine) == 0, on);
		run_for(&w, SECOND_US);
		assert_int_equal(sweep.count, 1);
		json_decref(r.result);
		json_decref(sweep.result);
	}
	world_fini(&w);
}

/* ---- What is at risk ---- */

static void a_fault_reports_how_many_spines_each_leaf_has_left(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	uint32_t leaf = find_desc(w.design, "leaf-su01-rail3");
	uint32_t spine = find_desc(w.design, "spine-02");
	for (unsigned num = 1; num <= w.design->nodes[leaf].nports; num++) {
		const struct topo_port *peer = topo_peer(w.design, topo_port(w.design, leaf, num));

		if (peer && peer->node == spine)
			double_cut(w.hw, w.design->nodes[leaf].guid, num);
	}
	run_for(&w, SECOND_US);
	json_t *events = fabric_events(w.fabric, 100), *event = NULL;
	for (size_t i = json_array_size(events); i-- > 0 && !event;)
		if (!strcmp(json_string_value(json_object_get(json_array_get(events, i), "kind")),
			    "rerouted"))
			event = json_array_get(events, i);
	assert_non_null(event);
	assert_non_null(strstr(json_string_value(json_object_get(event, "text")),
			       "at risk: leaf-su01-rail3 has 3 of 4 spines"));
	assert_int_equal(status_number(&w, "at_risk", "has"), 3);
	json_decref(events);
	world_fini(&w);
}

/* ---- The audit ---- */

static void set_audit(struct world *w, int rate)
{
	w->conf.audit.rate = rate;
	w->conf.audit.after_ms = 1000;
	fabric_configure(w->fabric, &w->conf);
}

static void an_entry_changed_behind_the_sm_is_found_reported_and_repaired(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	set_audit(&w, 100);
	run_for(&w, 4 * SECOND_US);
	assert_true(status_number(&w, "audit", "blocks") > 60); /* a round at least */
	guid_t leaf = w.design->nodes[far_leaf(&w)].guid;
	double_set_lft(w.hw, leaf, 70, 3);
	double_set_lft(w.hw, leaf, 200, 3);
	run_for(&w, 4 * SECOND_US);
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(count_logged(&w, "audit", ": repaired"), 1); /* with all of its switch */
	assert_int_equal(count_logged(&w, "audit", ""), 1);
	assert_int_equal(status_number(&w, "audit", "repaired"), 1);
	assert_true(is_up(&w));
	world_fini(&w);
}

static void the_audit_keeps_to_its_rate_and_can_be_off(void **state)
{
	struct world w;
	double before;

	world_init(&w, pod(1));
	set_audit(&w, 5);
	run_for(&w, 2 * SECOND_US);
	before = status_number(&w, "audit", "blocks");
	run_for(&w, 4 * SECOND_US);
	assert_in_range(status_number(&w, "audit", "blocks") - before, 18, 21);
	set_audit(&w, 0);
	run_for(&w, SECOND_US);
	before = status_number(&w, "audit", "blocks");
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(status_number(&w, "audit", "blocks") - before, 0);
	world_fini(&w);
}

/* With the defaults: each end port and each block once in 1.5 s, a second behind a change. */
static void the_audit_begins_behind_the_last_change_and_reads_nothing_twice_in_a_second(
	void **state)
{
	struct conf defaults;
	struct world w;
	double blocks;

	world_init(&w, pod(1));
	conf_default(&defaults);
	assert_int_equal(defaults.audit.rate, 16000);
	assert_int_equal(defaults.audit.after_ms, 1000);
	w.conf.audit = defaults.audit;
	w.conf.rebalance.entries = 0; /* would be one more change */
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 60 * SECOND_US); /* what was answered once is asked again in quiet */
	blocks = status_number(&w, "audit", "blocks");
	double_sent_reset(w.hw);
	run_for(&w, 20 * SECOND_US);
	blocks = status_number(&w, "audit", "blocks") - blocks;
	assert_in_range(blocks, 12 * 138, 15 * 138); /* that 12 switches have, MFTs included */
	/* 268 end ports, and all ports once in 12 s */
	assert_in_range(double_sent(w.hw, WIRE_GET, WIRE_PORT_INFO), 12 * 268, 15 * 268 + 3000);
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), 0);
	w.conf.audit.after_ms = 60000;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 30 * SECOND_US);
	json_decref(cordon(&w, "spine-01", true).result);
	blocks = status_number(&w, "audit", "blocks");
	run_for(&w, 55 * SECOND_US);
	assert_int_equal(status_number(&w, "audit", "blocks"), blocks);
	run_for(&w, 15 * SECOND_US);
	assert_in_range(status_number(&w, "audit", "blocks") - blocks, 500, 1100);
	world_fini(&w);
}

static void faults_and_cordons_are_no_finding_of_the_audit(void **state)
{
	struct world w;
	uint64_t seed = 17;

	world_init(&w, pod(1));
	set_audit(&w, 10000);
	for (unsigned step = 0; step < 30; step++) {
		unsigned port = uplink_of(w.design, far_leaf(&w));

		(step % 2 ? double_join : double_cut)(w.hw, w.design->nodes[far_leaf(&w)].guid,
						      port);
		run_for(&w, damage_random(&seed) % (3 * SECOND_US));
		if (step % 5 == 0)
			json_decref(cordon(&w, "spine-01", step % 10 == 0).result);
	}
	run_for(&w, 3 * SECOND_US);
	assert_true(status_number(&w, "audit", "blocks") > 1000);
	assert_int_equal(count_logged(&w, "audit", ""), 0);
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

static void an_answer_from_before_a_write_is_no_finding(void **state)
{
	struct world w;
	uint64_t asked;

	world_init(&w, pod(1));
	set_audit(&w, 400); /* a handful leaves room for the writes */
	run_for(&w, 3 * SECOND_US);
	double_set_fault(w.hw, 0, DOUBLE_DELAY, 1000, 50000);
	asked = double_sent(w.hw, WIRE_GET, WIRE_LFT);
	while (double_sent(w.hw, WIRE_GET, WIRE_LFT) == asked)
		run_for(&w, 20);
	run_for(&w, 500);
	double_set_fault(w.hw, 0, DOUBLE_DELAY, 0, 0);
	json_decref(cordon(&w, "spine-01", true).result);
	assert_int_equal(count_logged(&w, "audit", ""), 0);
	world_fini(&w);
}

/* ---- Events ---- */

static void an_event_with_a_name_that_is_no_text_is_reported(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	guid_t leaf = w.design->nodes[far_leaf(&w)].guid;
	stop_fabric(&w);
	double_set_desc(w.hw, leaf, "caf\xe9");
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	double_cut(w.hw, leaf, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, SECOND_US);
	assert_int_equal(count_logged(&w, "link-down", "caf."), 1);
	assert_int_equal(count_logged(&w, "link-down", ""), 1);
	world_fini(&w);
}

static void count_cb(void *arg, const json_t *event)
{
	unsigned *count = arg;

	++*count;
}

static void followers_hear_events_until_they_unfollow(void **state)
{
	struct world w;
	unsigned one = 0, two = 0, then;

	world_init(&w, small_tree());
	fabric_follow(w.fabric, count_cb, &one);
	fabric_follow(w.fabric, count_cb, &two);
	double_cut(w.hw, w.design->nodes[far_leaf(&w)].guid, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, SECOND_US);
	assert_true(one >= 2);
	assert_int_equal(one, two);
	fabric_unfollow(w.fabric, &one);
	then = one;
	double_join(w.hw, w.design->nodes[far_leaf(&w)].guid, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, SECOND_US);
	assert_int_equal(one, then);
	assert_true(two > then);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cordoned_spine_is_empty_on_the_hardware_when_the_answer_comes),
		cmocka_unit_test(uncordon_brings_the_same_tables_back),
		cmocka_unit_test(all_spines_cordoned_leave_nobody_dark),
		cmocka_unit_test(cordons_that_can_not_be_kept_are_named),
		cmocka_unit_test(a_cordoned_leaf_does_not_undo_the_cordon_of_a_spine),
		cmocka_unit_test(a_cordon_survives_a_fault_and_a_restart),
		cmocka_unit_test(
			a_cordon_asked_during_another_change_is_answered_when_it_is_in_force),
		cmocka_unit_test(an_entry_changed_behind_the_sm_is_found_reported_and_repaired),
		cmocka_unit_test(the_audit_keeps_to_its_rate_and_can_be_off),
		cmocka_unit_test(
			the_audit_begins_behind_the_last_change_and_reads_nothing_twice_in_a_second),
		cmocka_unit_test(faults_and_cordons_are_no_finding_of_the_audit),
		cmocka_unit_test(an_event_with_a_name_that_is_no_text_is_reported),
		cmocka_unit_test(followers_hear_events_until_they_unfollow),
		cmocka_unit_test(an_answer_from_before_a_write_is_no_finding),
		cmocka_unit_test(a_fault_reports_how_many_spines_each_leaf_has_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
