/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a restart of the daemon is to a fabric that is damaged, or changes meanwhile: nothing, or no
 * more than it must. On the fabric double.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include "routing/balance/rebalance.h"
#include "fm/restart/module.h"
#include "tests/lib/fabric_world.h"

struct seen { /* of the fabric, by whoever looks */
	struct tables tables;
	guid_t *switches;
	double links, links_down;
	json_t *at_risk;
};

static void seen_fini(struct seen *s)
{
	tables_fini(&s->tables);
	free(s->switches);
	json_decref(s->at_risk);
}

static struct seen see(const struct world *w)
{
	const struct topo *t = fabric_topo(w->fabric);
	struct seen s = { .links = t->nlinks, .links_down = t->nlinks_down };
	json_t *status = fabric_status(w->fabric);

	tables_copy(&s.tables, fabric_tables(w->fabric));
	s.switches = mem_alloc(t->nswitches, sizeof(guid_t));
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		s.switches[sw] = t->nodes[sw].guid;
	s.at_risk = json_incref(json_object_get(status, "at_risk"));
	json_decref(status);
	return s;
}

static void assert_seen_again(const struct world *w, const struct seen *before)
{
	struct seen now = see(w);

	assert_int_equal(now.links, before->links);
	assert_int_equal(now.links_down, before->links_down);
	assert_true(json_equal(now.at_risk, before->at_risk));
	assert_int_equal(now.tables.nswitches, before->tables.nswitches);
	assert_int_equal(now.tables.top, before->tables.top);
	assert_memory_equal(now.switches, before->switches, now.tables.nswitches * sizeof(guid_t));
	assert_memory_equal(now.tables.lft, before->tables.lft,
			    (size_t)now.tables.nswitches * now.tables.stride);
	seen_fini(&now);
}

static void start_again(struct world *w)
{
	double_sent_reset(w->hw);
	start_fabric(w);
	run_for(w, 2 * SECOND_US);
	assert_true(is_up(w));
}

static void restart(struct world *w)
{
	stop_fabric(w);
	start_again(w);
}

static uint64_t written(const struct world *w)
{
	return double_sent(w->hw, WIRE_SET, WIRE_LFT);
}

static uint64_t read_back(const struct world *w)
{
	return double_sent(w->hw, WIRE_GET, WIRE_LFT);
}

static void cut_all_of(struct world *w, uint32_t node)
{
	for (unsigned num = 1; num <= w->design->nodes[node].nports; num++)
		if (topo_port(w->design, node, num)->link_up)
			double_cut(w->hw, w->design->nodes[node].guid, num);
}

/* A cable between switches, one to a host, a whole spine, a whole host. */
static void damage(struct world *w)
{
	uint32_t leaf = far_leaf(w), spine = 0;
	const struct topo *t = w->design;

	while (!t->nodes[spine].level)
		spine++;
	double_cut(w->hw, t->nodes[leaf].guid, uplink_of(t, leaf));
	double_cut(w->hw, t->nodes[t->nswitches + 5].guid, 1);
	cut_all_of(w, spine);
	run_for(w, 12 * SECOND_US); /* some traps were lost on the way: polls */
}

/* ---- Nothing happened ------------------------------------------------------------------------ */

static void a_whole_fabric_is_read_and_not_written(void **state)
{
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	before = see(&w);
	restart(&w);
	assert_seen_again(&w, &before);
	assert_int_equal(written(&w), 0);
	assert_int_equal(read_back(&w), before.tables.nswitches * tables_blocks(&before.tables));
	assert_int_equal(status_number(&w, NULL, "lft_blocks_written"), 0);
	assert_int_equal(count_told(&w, "tables-held", "0 differed, 0 rewritten"), 1);
	restart(&w);
	assert_int_equal(written(&w), 0);
	seen_fini(&before);
	world_fini(&w);
}

static void damage_is_remembered_and_nothing_moves(void **state)
{
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	damage(&w);
	before = see(&w);
	assert_true(before.links_down > 3 && json_is_object(before.at_risk));
	for (unsigned i = 0; i < 3; i++) {
		restart(&w);
		assert_seen_again(&w, &before);
		assert_int_equal(written(&w), 0);
	}
	seen_fini(&before);
	world_fini(&w);
}

static void what_is_repaired_after_a_restart_is_as_it_was_designed(void **state)
{
	struct world w;
	struct seen designed;
	uint32_t leaf;

	world_init(&w, small_tree());
	designed = see(&w);
	leaf = far_leaf(&w);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	restart(&w);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	double_join(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	assert_seen_again(&w, &designed);
	assert_hardware_holds_the_tables(&w);
	seen_fini(&designed);
	world_fini(&w);
}

static void what_rebalancing_moved_stays_moved(void **state)
{
	struct world w;
	struct seen before;
	uint32_t leaf;

	world_init(&w, pod(2));
	leaf = far_leaf(&w);
	for (unsigned i = 0; i < 3; i++)
		double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf) + i);
	run_for(&w, 10 * SECOND_US);
	assert_true(status_number(&w, "rebalance", "overrides") > 0);
	before = see(&w);
	restart(&w);
	assert_seen_again(&w, &before);
	run_for(&w, 10 * SECOND_US); /* and the next pass finds the same */
	assert_seen_again(&w, &before);
	assert_int_equal(written(&w), 0);
	seen_fini(&before);
	world_fini(&w);
}

static json_t *first_down(const struct world *w)
{
	json_t *rows = links_down(w->fabric), *since;

	assert_int_equal(json_array_size(rows), 1);
	since = json_incref(json_object_get(json_array_get(rows, 0), "since"));
	json_decref(rows);
	assert_true(json_is_string(since));
	return since;
}

/* The file says when; what it says is shown. */
static void since_when_a_cable_is_down_outlives_a_restart(void **state)
{
	struct world w;
	char command[192];
	json_t *since;

	world_init(&w, small_tree());
	double_cut(w.hw, w.design->nodes[far_leaf(&w)].guid, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, SECOND_US);
	json_decref(first_down(&w));
	stop_fabric(&w);
	strip_state(&w, "cables");
	snprintf(command, sizeof(command),
		 "sed -i 's/\\(^cable .*\\) [1-9][0-9]*$/\\1 1000000000/' %s/cables", w.state_dir);
	assert_int_equal(system(command), 0);
	start_again(&w);
	since = first_down(&w);
	assert_string_equal(json_string_value(since), "2001-09-09T01:46:40Z");
	json_decref(since);
	world_fini(&w);
}

/* ---- Something did --------------------------------------------------------------------------- */

static unsigned blocks_that_differ(const struct tables *a, const struct tables *b)
{
	unsigned count = 0;

	for (uint32_t sw = 0; sw < a->nswitches; sw++)
		for (uint32_t block = 0; block < tables_blocks(a); block++)
			count +=
				memcmp(tables_row(a, sw) + block * TABLES_BLOCK,
				       tables_row(b, sw) + block * TABLES_BLOCK, TABLES_BLOCK) != 0;
	return count;
}

static void a_cable_that_dies_meanwhile_moves_what_it_would_have_moved_anyway(void **state)
{
	struct world w;
	struct seen before, alive;
	uint32_t leaf;

	world_init(&w, small_tree());
	before = see(&w);
	leaf = far_leaf(&w);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	alive = see(&w);
	double_join(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	assert_seen_again(&w, &before);
	stop_fabric(&w);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	start_again(&w);
	assert_seen_again(&w, &alive);
	assert_int_equal(written(&w), blocks_that_differ(&before.tables, &alive.tables));
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 5);
	seen_fini(&before);
	seen_fini(&alive);
	world_fini(&w);
}

static void a_switch_that_dies_meanwhile_is_known_to_be_down(void **state)
{
	struct world w;
	struct seen before;
	uint32_t spine = 0;

	world_init(&w, small_tree());
	before = see(&w);
	while (!w.design->nodes[spine].level)
		spine++;
	stop_fabric(&w);
	cut_all_of(&w, spine);
	start_again(&w);
	assert_int_equal(status_number(&w, NULL, "links"), before.links);
	assert_true(status_number(&w, NULL, "links_down") > 0);
	assert_int_equal(status_number(&w, NULL, "switches"), w.design->nswitches);
	assert_hardware_delivers(&w, 6);
	for (unsigned num = 1; num <= w.design->nodes[spine].nports; num++)
		if (topo_port(w.design, spine, num)->link_up)
			double_join(w.hw, w.design->nodes[spine].guid, num);
	run_for(&w, 2 * SECOND_US);
	assert_seen_again(&w, &before);
	assert_hardware_holds_the_tables(&w);
	seen_fini(&before);
	world_fini(&w);
}

static void a_switch_that_rebooted_meanwhile_is_written_alone(void **state)
{
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	before = see(&w);
	stop_fabric(&w);
	double_reboot(w.hw, w.design->nodes[far_leaf(&w)].guid);
	start_again(&w);
	run_for(&w, 10 * SECOND_US);
	assert_seen_again(&w, &before);
	assert_int_equal(written(&w), tables_blocks(&before.tables));
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	seen_fini(&before);
	world_fini(&w);
}

static void what_another_manager_wrote_meanwhile_is_found_and_mended(void **state)
{
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	before = see(&w);
	stop_fabric(&w);
	for (uint32_t sw = 0; sw < 3; sw++) {
		guid_t guid = w.design->nodes[sw].guid;

		double_set_lft(w.hw, guid, 5, double_lft(w.hw, guid, 5) == 1 ? 2 : 1);
	}
	start_again(&w);
	assert_int_equal(written(&w), 3);
	assert_int_equal(count_told(&w, "tables-held", "3 differ"), 1);
	assert_seen_again(&w, &before);
	assert_hardware_holds_the_tables(&w);
	seen_fini(&before);
	world_fini(&w);
}

static double unread(const struct world *w)
{
	return status_number(w, NULL, "lft_blocks_unread");
}

static bool is_answered(const struct world *w)
{
	json_t *status = fabric_status(w->fabric);
	bool answered = json_is_object(json_object_get(status, "last_fault"));

	json_decref(status);
	return answered;
}

/* Up to the first moment when that holds, of the next second. */
static void run_until(struct world *w, bool (*holds)(const struct world *w))
{
	for (unsigned i = 0; i < 20000 && !holds(w); i++)
		run_for(w, 50);
	assert_true(holds(w));
}

static bool is_reading(const struct world *w)
{
	return fabric_topo(w->fabric) && unread(w) > 0;
}

static void start_and_read(struct world *w)
{
	double_sent_reset(w->hw);
	start_fabric(w);
	run_until(w, is_reading);
	double_set_fault(w->hw, 0, DOUBLE_DELAY, 1000, 1000);
}

/* With so many LIDs that it takes a while. */
static void begin_to_read(struct world *w)
{
	world_init(w, pod(2));
	stop_fabric(w);
	w->conf.routing.lmc = 4;
	start_fabric(w);
	run_for(w, 2 * SECOND_US);
	assert_true(is_up(w));
	stop_fabric(w);
	start_and_read(w);
}

/* .. nor does who waits for its answer; the fabric is not called up before all is read. */
static void a_fault_is_answered_before_the_rest_is_read(void **state)
{
	struct world w;
	uint32_t leaf;
	double before, took;

	begin_to_read(&w);
	leaf = far_leaf(&w);
	before = unread(&w);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_until(&w, is_answered);
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 9);
	assert_in_range(unread(&w), before / 2, before);
	/* The look goes ahead of the hundreds of reads that wait: they take 8 ms a round. */
	assert_true(status_number(&w, "last_fault", "detected_to_proven_ms") < 16);
	took = status_number(&w, NULL, "program_ms");
	while (unread(&w)) {
		assert_false(is_up(&w));
		assert_int_equal(count_told(&w, "up", "fabric: up"), 0);
		run_for(&w, 50);
	}
	run_for(&w, SECOND_US);
	assert_true(is_up(&w));
	assert_true(written(&w) > 0);
	assert_true(status_number(&w, NULL, "program_ms") == took);
	double_join(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	assert_int_equal(count_told(&w, "restored", ""), 1);
	assert_int_equal(count_told(&w, "tables-held", " 0 differ"), 1);
	assert_int_equal(count_told(&w, "up", "fabric: up"), 1);
	world_fini(&w);
}

static void acts_are_answered_before_the_rest_is_read(void **state)
{
	struct reply r = { 0 };
	struct world w;
	char name[32];
	uint32_t leaf;

	begin_to_read(&w);
	leaf = far_leaf(&w);
	snprintf(name, sizeof(name), "0x%016llx:%u", (unsigned long long)w.design->nodes[leaf].guid,
		 uplink_of(w.design, leaf));
	maintenance_cordon(w.fabric, name, true, reply_cb, &r);
	for (unsigned i = 0; i < 2000 && !r.count; i++)
		run_for(&w, 50);
	assert_int_equal(r.count, 1);
	assert_string_equal(r.error, "");
	assert_true(unread(&w) > 0);
	assert_hardware_holds_the_tables(&w);
	assert_false(is_up(&w));
	run_for(&w, SECOND_US);
	assert_true(is_up(&w));
	json_decref(r.result);
	world_fini(&w);
}

/* Most ways lead over it. */
static void cut_next_to_the_manager(struct world *w)
{
	const struct topo *t = w->design;
	uint32_t leaf = topo_peer(t, &t->ports[t->nodes[t->nswitches].port0 + 1])->node;

	double_cut(w->hw, t->nodes[leaf].guid, uplink_of(t, leaf));
}

/*
 * Hundreds of requests are on their way over that cable, or wait to go there: each would take two
 * time-outs of 200 ms.
 */
static void assert_answered_soon(struct world *w)
{
	cut_next_to_the_manager(w);
	for (unsigned i = 0; i < 1000 && !is_answered(w); i++)
		run_for(w, 1000);
	assert_true(is_answered(w));
	assert_hardware_holds_the_tables(w);
	assert_hardware_delivers(w, 11);
	assert_int_equal(status_number(w, NULL, "links_down"), 1);
	run_for(w, 2 * SECOND_US); /* before re-balancing */
	assert_true(is_up(w));
}

static void a_fault_next_to_the_manager_does_not_wait_for_what_goes_there(void **state)
{
	struct world w;

	begin_to_read(&w);
	run_for(&w, 5000);
	assert_answered_soon(&w);
	assert_true(status_number(&w, NULL, "smps_retried") > 30);
	double_join(w.hw, w.design->nodes[0].guid, uplink_of(w.design, 0));
	run_for(&w, 2 * SECOND_US);
	stop_fabric(&w);
	remove_state(&w, "tables");
	start_fabric(&w);
	for (unsigned i = 0; i < 2000 && !fabric_topo(w.fabric); i++)
		run_for(&w, 100);
	run_for(&w, 5000); /* the tables are being written */
	assert_true(fabric_topo(w.fabric) && !is_up(&w));
	assert_answered_soon(&w);
	world_fini(&w);
}

/* What others wrote is found by the reading: told, written, and only then the fabric is up. */
static void what_is_found_behind_a_fault_is_mended_before_the_fabric_is_up(void **state)
{
	struct world w;
	uint32_t leaf;
	guid_t guid;

	begin_to_read(&w);
	leaf = far_leaf(&w);
	guid = w.design->nodes[0].guid;
	stop_fabric(&w);
	double_set_lft(w.hw, guid, 4000, double_lft(w.hw, guid, 4000) == 1 ? 2 : 1);
	double_set_fault(w.hw, 0, DOUBLE_DELAY, 0, 0);
	start_and_read(&w);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_until(&w, is_answered);
	assert_true(unread(&w) > 0 && !is_up(&w));
	run_until(&w, is_up);
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(count_told(&w, "tables-held", " 1 differ"), 1);
	assert_int_equal(count_told(&w, "rerouted", ""), 1);
	world_fini(&w);
}

/* A fault that comes while the tables are read does not wait for the rest of them. */
static void a_fault_during_the_reading_is_answered(void **state)
{
	uint32_t leaf;
	struct world w;

	world_init(&w, pod(2));
	leaf = far_leaf(&w);
	for (unsigned us = 2000; us < 40000; us += 3000) {
		stop_fabric(&w);
		start_fabric(&w);
		run_for(&w, us);
		double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
		run_for(&w, SECOND_US);
		assert_true(is_up(&w));
		assert_int_equal(status_number(&w, NULL, "links_down"), 1);
		assert_hardware_holds_the_tables(&w);
		assert_hardware_delivers(&w, us);
		double_join(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
		run_for(&w, SECOND_US);
	}
	world_fini(&w);
}

/* ---- Files that are not right ---------------------------------------------------------------- */

static void spoil_tables(const struct world *w, long at, uint8_t with, long length)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tables", w->state_dir);
	file = fopen(path, "r+");
	assert_non_null(file);
	if (at >= 0) {
		fseek(file, at, SEEK_SET);
		fputc(with, file);
	}
	fflush(file);
	if (length >= 0)
		assert_int_equal(ftruncate(fileno(file), length), 0);
	fclose(file);
}

static void tables_that_are_not_right_are_as_none(void **state)
{
	static const struct {
		long at;
		uint8_t with;
		long length;
	} spoilt[] = { { 0, 'x', -1 },	 { 8, 99, -1 },	  { 12, 99, -1 }, { 700, 99, -1 },
		       { -1, 0, 0 },	 { -1, 0, 9 },	  { -1, 0, 300 }, { 20, 0xff, -1 },
		       { 24, 0xff, -1 }, { 30, 0xff, -1 } };
	struct world w;
	struct seen before;

	world_init(&w, small_tree());
	before = see(&w);
	log_set_level(LOG_PROGRAM, LOG_ERR - 1);
	for (unsigned i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		stop_fabric(&w);
		spoil_tables(&w, spoilt[i].at, spoilt[i].with, spoilt[i].length);
		start_again(&w);
		assert_int_equal(read_back(&w), 0);
		assert_int_equal(written(&w),
				 before.tables.nswitches * tables_blocks(&before.tables));
		assert_seen_again(&w, &before);
	}
	restart(&w); /* the file was written anew */
	assert_int_equal(written(&w), 0);
	seen_fini(&before);
	world_fini(&w);
}

static void cables_that_are_not_right_are_set_aside(void **state)
{
	static const char *const spoilt[] = {
		"cable 0x1 1 0x2 1 0\n",
		"switch 0x1 300 0x1 0 0 0 0 0 0 0 s\n",
		"switch 0x1 4 0x1 0 0 0 0 0 0 0 s\nswitch 0x1 4 0x1 0 0 0 0 0 0 0 s\n",
		"switch 0x1 4 0x1 0 0 0 0 0 0 0 s\ncable 0x1 1 0x1 1 0\n",
		"switch 0x1 4 0x1 0 0 0 0 0 0 0 s\ncable 0x1 1 0x1 2 0\ncable 0x1 2 0x1 3 0\n",
		"switch 0x1 4 0x1 0 0 0 0 0 0 0 s\ncable 0x1 1 0x1 5 0\n",
		"switch 0x1 4 0x1 0 0 0 0 0 0 0 s\nport 0x1 1 0x3\n",
		"ca 0x1 1 0x1 0 0 0 0 0 0 0 s\nport 0x1 2 0x3\n",
		"hub 0x1 1 0x1 0 0 0 0 0 0 0 s\n",
		"switch 0x1 4\n",
	};
	struct world w;

	world_init(&w, small_tree());
	for (unsigned i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		remove_state(&w, "cables.bad");
		restart_with_spoilt(&w, "cables", spoilt[i]);
		assert_int_equal(status_number(&w, NULL, "links_down"), 0);
		assert_int_equal(status_number(&w, NULL, "links"), w.design->nlinks);
		assert_int_equal(status_number(&w, NULL, "switches"), w.design->nswitches);
	}
	world_fini(&w);
}

static bool takes_overrides(struct world *w, unsigned count)
{
	char *text = mem_alloc(count + 1, 32);
	size_t length = 0;
	bool taken;

	for (unsigned i = 0; i < count; i++)
		length += sprintf(text + length, "0x%x %u 1\n", 1 + i / 1000, 1 + i % 1000);
	taken = restart_with(w, "overrides", text);
	free(text);
	return taken;
}

static void more_overrides_than_may_be_are_set_aside(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	assert_true(takes_overrides(&w, REBALANCE_MOST));
	assert_false(takes_overrides(&w, REBALANCE_MOST + 1));
	assert_true(is_up(&w));
	world_fini(&w);
}

static void overrides_that_are_not_right_are_set_aside(void **state)
{
	static const char *const spoilt[] = { "0x1 0 1\n", "0x1 5 0\n", "0x1 5 1\n0x1 5 2\n",
					      "0x2 5 1\n0x1 6 2\n", "0x1 5\n" };
	struct world w;

	world_init(&w, small_tree());
	for (unsigned i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		remove_state(&w, "overrides.bad");
		restart_with_spoilt(&w, "overrides", spoilt[i]);
		assert_int_equal(status_number(&w, "rebalance", "overrides"), 0);
	}
	world_fini(&w);
}

static void files_are_written_while_it_runs_and_not_for_nothing(void **state)
{
	struct world w;
	char path[2][128];

	world_init(&w, small_tree());
	for (unsigned i = 0; i < 2; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%s", w.state_dir, i ? "cables" : "tables");
	assert_int_equal(access(path[0], F_OK), -1); /* they may lag behind.. */
	assert_int_equal(access(path[1], F_OK), 0);  /* ..but what is known is known at once */
	run_for(&w, 6 * SECOND_US);
	assert_int_equal(access(path[0], F_OK), 0);
	assert_int_equal(access(path[1], F_OK), 0);
	unlink(path[0]);
	unlink(path[1]);
	run_for(&w, 100 * SECOND_US);
	stop_fabric(&w);
	assert_int_equal(access(path[0], F_OK), -1);
	assert_int_equal(access(path[1], F_OK), -1);
	start_fabric(&w);
	run_for(&w, SECOND_US);
	world_fini(&w);
}

/* ---- Forgetting ------------------------------------------------------------------------------ */

static void what_is_forgotten_is_not_known_any_more(void **state)
{
	struct reply one = { 0 }, again = { 0 }, all = { 0 }, none = { 0 };
	struct world w;
	char name[32];
	uint32_t leaf;

	world_init(&w, small_tree());
	damage(&w);
	double down = status_number(&w, NULL, "links_down");
	leaf = far_leaf(&w);
	snprintf(name, sizeof(name), "0x%016llx:%u", (unsigned long long)w.design->nodes[leaf].guid,
		 uplink_of(w.design, leaf));
	maintenance_forget(w.fabric, name, reply_cb, &one);
	run_for(&w, SECOND_US);
	maintenance_forget(w.fabric, name, reply_cb, &again);
	assert_int_equal(one.count + again.count, 2);
	assert_string_equal(one.error, "");
	assert_true(again.error[0]);
	assert_int_equal(status_number(&w, NULL, "links_down"), down - 1);
	assert_int_equal(status_number(&w, NULL, "switches"), w.design->nswitches);
	maintenance_forget(w.fabric, NULL, reply_cb, &all);
	run_for(&w, SECOND_US);
	assert_string_equal(all.error, "");
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	assert_int_equal(status_number(&w, NULL, "links"), w.design->nlinks - down);
	assert_int_equal(status_number(&w, NULL, "switches"), w.design->nswitches - 1);
	assert_int_equal(status_number(&w, NULL, "hcas"), w.design->ncas - 1);
	maintenance_forget(w.fabric, NULL, reply_cb, &none);
	assert_true(none.error[0]);
	assert_hardware_holds_the_tables(&w);
	restart(&w);
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	assert_int_equal(written(&w), 0);
	double_join(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links"), w.design->nlinks - down + 1);
	json_decref(one.result);
	json_decref(all.result);
	world_fini(&w);
}

static void nothing_is_forgotten_before_the_first_look(void **state)
{
	struct reply r = { 0 };
	struct world w;

	world_init(&w, small_tree());
	stop_fabric(&w);
	start_fabric(&w);
	maintenance_forget(w.fabric, NULL, reply_cb, &r);
	assert_true(r.error[0]);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links"), w.design->nlinks);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_fabric_is_read_and_not_written),
		cmocka_unit_test(damage_is_remembered_and_nothing_moves),
		cmocka_unit_test(what_is_repaired_after_a_restart_is_as_it_was_designed),
		cmocka_unit_test(what_rebalancing_moved_stays_moved),
		cmocka_unit_test(since_when_a_cable_is_down_outlives_a_restart),
		cmocka_unit_test(a_cable_that_dies_meanwhile_moves_what_it_would_have_moved_anyway),
		cmocka_unit_test(a_switch_that_dies_meanwhile_is_known_to_be_down),
		cmocka_unit_test(a_switch_that_rebooted_meanwhile_is_written_alone),
		cmocka_unit_test(what_another_manager_wrote_meanwhile_is_found_and_mended),
		cmocka_unit_test(a_fault_during_the_reading_is_answered),
		cmocka_unit_test(a_fault_is_answered_before_the_rest_is_read),
		cmocka_unit_test(acts_are_answered_before_the_rest_is_read),
		cmocka_unit_test(a_fault_next_to_the_manager_does_not_wait_for_what_goes_there),
		cmocka_unit_test(what_is_found_behind_a_fault_is_mended_before_the_fabric_is_up),
		cmocka_unit_test(tables_that_are_not_right_are_as_none),
		cmocka_unit_test(cables_that_are_not_right_are_set_aside),
		cmocka_unit_test(overrides_that_are_not_right_are_set_aside),
		cmocka_unit_test(more_overrides_than_may_be_are_set_aside),
		cmocka_unit_test(files_are_written_while_it_runs_and_not_for_nothing),
		cmocka_unit_test(what_is_forgotten_is_not_known_any_more),
		cmocka_unit_test(nothing_is_forgotten_before_the_first_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
