/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * adaptive_routing = "on": what switches hold is followed over all choices that they have, also
 * behind each single Set while something changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/adaptive/module.h"
#include "fm/mad/wire_optional.h"
#include "tests/fabric/double_own.h"
#include "tests/lib/ar_world.h"
#include "tests/lib/sm_pair.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

struct watch {
	const struct world *w;
	unsigned loops, groups, entries, plain, off;
};

static void set_seen(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct watch *watch = arg;

	watch->groups += attr_id == WIRE_AR_GROUPS;
	watch->entries += attr_id == WIRE_AR_LFT;
	watch->plain += attr_id == WIRE_LFT;
	watch->off += attr_id == WIRE_ADAPTIVE_INFO &&
		      !adaptive_forwards(double_node(watch->w->hw, node));
	if (attr_id == WIRE_AR_GROUPS || attr_id == WIRE_AR_LFT || attr_id == WIRE_LFT ||
	    attr_id == WIRE_ADAPTIVE_INFO)
		watch->loops += worst(watch->w) == LOOPS;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void groups_entries_and_on_are_written_by_any_packing(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct world w;

		begin(&w, two_tiers(), seed);
		assert_on(&w, w.design->nswitches);
		assert_int_equal(count_logged(&w, "adaptive-routing-on", "turned on"), 1);
		assert_int_equal(count_alerts(&w, "", ""), 0);
		world_fini(&w);
	}
}

struct writes { /* by node: all Sets and their tables, as one number */
	const struct world *w;
	uint64_t digest[128];
};

static void note_write(void *arg, guid_t guid, uint16_t attr_id, uint32_t attr_mod)
{
	struct writes *writes = arg;
	const struct dnode *node = double_node(writes->w->hw, guid);
	uint64_t *digest = &writes->digest[node - writes->w->hw->nodes];

	*digest = (*digest ^ attr_id ^ (uint64_t)attr_mod << 16) * 0x100000001b3;
	for (uint32_t i = 0; attr_id == WIRE_LFT && i < TABLES_BLOCK; i++)
		*digest = (*digest ^ double_lft(writes->w->hw, guid,
						(uint16_t)(attr_mod * TABLES_BLOCK + i))) *
			  0x100000001b3;
}

static void live_with_it_off(bool has_it, struct writes *writes)
{
	struct world w;
	guid_t leaf;

	world_init(&w, three_tiers());
	writes->w = &w;
	double_on_set(w.hw, note_write, writes);
	for (uint32_t sw = 0; has_it && sw < w.design->nswitches; sw++)
		able(&w, sw, 3);
	run_for(&w, 120 * SECOND_US);
	leaf = w.design->nodes[far_leaf(&w)].guid;
	double_cut(w.hw, leaf, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, 20 * SECOND_US);
	double_join(w.hw, leaf, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, 60 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	assert_int_equal(count_on(&w), 0);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_ADAPTIVE_INFO), 0);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_AR_GROUPS), 0);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_AR_LFT), 0);
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

/* Each node is sent the same by a manager whose switches do not have it. */
static void off_writes_what_is_written_without_it(void **state)
{
	struct writes with = { 0 }, without = { 0 };

	live_with_it_off(true, &with);
	live_with_it_off(false, &without);
	assert_memory_equal(with.digest, without.digest, sizeof(with.digest));
}

/* Each Set on the way is followed by a look at all choices. */
static void cut_and_join(struct world *w, guid_t node, unsigned port)
{
	struct watch watch = { .w = w };

	double_on_set(w->hw, set_seen, &watch);
	double_cut(w->hw, node, port);
	run_for(w, 20 * SECOND_US);
	assert_int_equal(watch.plain, 0);
	assert_on(w, w->design->nswitches);
	double_join(w->hw, node, port);
	run_for(w, 90 * SECOND_US);
	double_on_set(w->hw, NULL, NULL);
	assert_int_equal(watch.loops, 0);
	assert_int_equal(watch.plain, 0);
	assert_on(w, w->design->nswitches);
}

static void no_choice_loops_while_links_fall_and_come_back(void **state)
{
	struct topo *(*const designs[])(void) = { two_tiers, three_tiers };

	for (unsigned i = 0; i < 2; i++)
		for (unsigned sw = 0; sw < 3; sw++) {
			struct world w;
			unsigned before;

			begin(&w, designs[i](), 20 + i);
			before = count_free(&w);
			for (unsigned num = 1; num <= w.design->nodes[sw].nports; num++) {
				const struct topo_port *port = topo_port(w.design, sw, num);
				const struct topo_port *peer =
					port->peer == TOPO_NONE ? NULL : topo_peer(w.design, port);

				if (peer && peer->node < w.design->nswitches && num % 3 == 0)
					cut_and_join(&w, w.design->nodes[sw].guid, num);
			}
			assert_int_equal(count_free(&w), before);
			world_fini(&w);
		}
}

/* Changes that come while earlier ones are being written. */
static void no_choice_loops_in_a_storm(void **state)
{
	const unsigned from = getenv("FROM") ? (unsigned)atoi(getenv("FROM")) : 1;
	const unsigned seeds = getenv("SEEDS") ? (unsigned)atoi(getenv("SEEDS")) : 6;

	for (uint64_t seed = from; seed < from + seeds; seed++) {
		struct watch watch = { 0 };
		uint64_t random = seed * 7919;
		struct world w;

		begin(&w, three_tiers(), 30 + seed);
		watch.w = &w;
		double_on_set(w.hw, set_seen, &watch);
		for (unsigned i = 0; i < 40; i++) {
			uint32_t sw = (uint32_t)(random_next(&random) % w.design->nswitches);
			unsigned num = 1 + random_next(&random) % w.design->nodes[sw].nports;
			const struct topo_port *port = topo_port(w.design, sw, num);

			if (port->peer == TOPO_NONE ||
			    topo_peer(w.design, port)->node >= w.design->nswitches)
				continue;
			(random_next(&random) % 3 ? double_cut : double_join)(
				w.hw, w.design->nodes[sw].guid, num);
			run_for(&w, random_next(&random) % 20000);
		}
		for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
			for (unsigned num = 1; num <= w.design->nodes[sw].nports; num++)
				double_join(w.hw, w.design->nodes[sw].guid, num);
		run_for(&w, 300 * SECOND_US);
		double_on_set(w.hw, NULL, NULL);
		assert_int_equal(watch.loops, 0);
		assert_on(&w, w.design->nswitches);
		world_fini(&w);
	}
}

/*
 * The manager's leaf is cut off from all others, which lose a link meanwhile: as they come back
 * they hold choices that the tables in force do not know of.
 */
static void no_choice_loops_as_switches_come_back_that_were_out_of_reach(void **state)
{
	struct watch watch = { 0 };
	struct world w;
	guid_t leaf, core;

	begin(&w, three_tiers(), 135);
	watch.w = &w;
	leaf = w.design->nodes[0].guid;
	core = w.design->nodes[18].guid;
	double_cut(w.hw, w.design->nodes[21].guid, 3);
	run_for(&w, 60 * SECOND_US);
	for (unsigned num = 4; num <= 6; num++)
		double_cut(w.hw, leaf, num);
	run_for(&w, 20 * SECOND_US);
	double_cut(w.hw, core, 3);
	double_on_set(w.hw, set_seen, &watch);
	for (unsigned num = 4; num <= 6; num++)
		double_join(w.hw, leaf, num);
	run_for(&w, 60 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	assert_int_equal(watch.loops, 0);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

static void a_cut_writes_few_blocks(void **state)
{
	struct world w;
	struct watch watch = { .w = &w };
	uint32_t leaf;

	begin(&w, two_tiers(), 5);
	leaf = far_leaf(&w);
	double_on_set(w.hw, set_seen, &watch);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, 20 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	/* The leaf's group of all uplinks loses one; the spine's of two links has none left. */
	assert_int_equal(watch.groups, 1);
	assert_in_range(watch.entries, 1, 6);
	assert_int_equal(watch.plain, 0);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

/* By switch, then LID: the entries that are held. */
static uint32_t *held_entries(const struct world *w)
{
	uint32_t *held = mem_array(held, w->design->nswitches * AR_TOP);

	for (uint32_t at = 0; at < w->design->nswitches * AR_TOP; at++) {
		struct wire_ar_entry entry = { 0 };

		double_adaptive_entry(w->hw, w->design->nodes[at / AR_TOP].guid, at % AR_TOP,
				      &entry);
		held[at] = (uint32_t)(entry.state << 24 | entry.port << 16) | entry.group;
	}
	return held;
}

/*
 * A leaf loses a link to a parent. To that leaf all others lose a choice, and are written but once,
 * with the port that they are to have, though not all answer soon; those whose only choices led by
 * that parent move, and are Static first.
 */
static void what_keeps_a_choice_is_written_once(void **state)
{
	struct world w;
	struct watch watch = { .w = &w };
	uint32_t *before, *after, leaf;
	unsigned differ = 0;

	begin(&w, three_tiers(), 15);
	leaf = far_leaf(&w);
	before = held_entries(&w);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
		double_set_time(w.hw, w.design->nodes[sw].guid, 12000 + 1500 * sw);
	double_on_set(w.hw, set_seen, &watch);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	while (!watch.entries)
		run_for(&w, 1000);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
		double_set_time(w.hw, w.design->nodes[sw].guid, 0);
	run_for(&w, 20 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	after = held_entries(&w);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
		for (uint32_t lid = 0; lid + WIRE_AR_LFT_BLOCK <= AR_TOP; lid += WIRE_AR_LFT_BLOCK)
			differ += memcmp(before + sw * AR_TOP + lid, after + sw * AR_TOP + lid,
					 WIRE_AR_LFT_BLOCK * sizeof(*before)) != 0;
	assert_in_range(differ, w.design->nswitches / 2, w.design->nswitches);
	assert_in_range(watch.entries, differ, differ + differ / 3);
	assert_int_equal(watch.loops, 0);
	assert_on(&w, w.design->nswitches);
	free(before);
	free(after);
	world_fini(&w);
}

/* Another leaf below the same switches. */
static uint32_t sibling_of(const struct topo *t, uint32_t leaf)
{
	const struct topo_port *up = topo_peer(t, topo_port(t, leaf, uplink_of(t, leaf)));

	TOPO_LINKS (t, up->node, port, peer)
		if (peer->node != leaf && peer->node < t->nswitches && !t->nodes[peer->node].level)
			return peer->node;
	fail();
	return TOPO_NONE;
}

/* The switch has a group that it did not acknowledge: no entry of it may name that one. */
static void no_entry_names_a_group_that_was_not_acknowledged(void **state)
{
	struct watch watch = { 0 };
	struct world w;
	uint32_t leaf, other;
	guid_t guid;

	begin(&w, three_tiers(), 12);
	leaf = far_leaf(&w);
	other = sibling_of(w.design, leaf);
	guid = w.design->nodes[other].guid;
	watch.w = &w;
	double_on_set(w.hw, set_seen, &watch);
	double_set_mute(w.hw, guid, WIRE_SET, WIRE_AR_GROUPS);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(watch.loops, 0);
	assert_true(adaptive_forwards(double_node(w.hw, guid)));
	assert_int_equal(worst(&w), ARRIVES);
	for (uint32_t host = 0; host < w.design->ncas; host++) {
		struct wire_ar_entry entry;

		if (topo_peer(w.design, topo_port(w.design, w.design->nswitches + host, 1))->node ==
			    leaf &&
		    double_adaptive_entry(w.hw, guid, lid_of(&w, host), &entry))
			assert_int_equal(entry.state, WIRE_AR_STATIC);
	}
	double_set_mute(w.hw, guid, 0, 0);
	double_join(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, 60 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	assert_int_equal(watch.loops, 0);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

static void a_switch_that_boots_joins_again(void **state)
{
	struct world w;

	begin(&w, two_tiers(), 6);
	double_reboot(w.hw, w.design->nodes[far_leaf(&w)].guid);
	run_for(&w, 120 * SECOND_US);
	assert_true(is_up(&w));
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

/* Switches that had no tables are asked in quiet, and nothing else happens then. */
static void on_a_fabric_without_tables_it_is_turned_on_in_quiet(void **state)
{
	struct world w;
	char row[256];

	world_init(&w, two_tiers());
	run_for(&w, 5 * SECOND_US);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++) {
		double_reboot(w.hw, w.design->nodes[sw].guid);
		able(&w, sw, 8);
	}
	w.conf.routing.adaptive = 1;
	packing_row(&w, 8, row);
	assert_true(restart_with(&w, "ar_packing", row));
	run_for(&w, 120 * SECOND_US);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

/* Those of another packing, those that refuse, and those that can't. */
static void a_mixture_delivers_and_names_who_stays_plain(void **state)
{
	const enum double_ar_answers how[] = { DOUBLE_AR_REFUSES, DOUBLE_AR_GARBAGE,
					       DOUBLE_AR_ZEROS, DOUBLE_AR_NEAR };

	for (unsigned i = 0; i < ARRAY_SIZE(how); i++) {
		struct world w;
		char row[256];

		world_init(&w, two_tiers());
		run_for(&w, 5 * SECOND_US);
		for (uint32_t sw = 0; sw < w.design->nswitches; sw += sw == 1 ? 2 : 1)
			able(&w, sw, 9);
		double_adaptive_answers(w.hw, w.design->nodes[0].guid, how[i]);
		w.conf.routing.adaptive = 1;
		packing_row(&w, 9, row);
		assert_true(restart_with(&w, "ar_packing", row));
		run_for(&w, 120 * SECOND_US);
		assert_on(&w, w.design->nswitches - 2);
		assert_int_equal(count_alerts(&w, "adaptive-routing", "stays off at 1 switch"), 1);
		world_fini(&w);
	}
}

static unsigned written_to(const struct world *w, uint32_t sw)
{
	const struct dar *ar = double_node(w->hw, w->design->nodes[sw].guid)->ar;

	return ar->lft[0].count + ar->lft[1].count + ar->groups[0][0].count +
	       ar->groups[1][0].count;
}

/* As after an update of some switches: theirs select blocks by other bits. */
static void a_switch_of_another_firmware_is_not_written(void **state)
{
	const uint32_t other = 2;
	struct world w;
	struct dnode *sw;
	char row[256];

	world_init(&w, two_tiers());
	run_for(&w, 5 * SECOND_US);
	for (uint32_t i = 0; i < w.design->nswitches; i++)
		able(&w, i, i == other ? 16 : 15);
	sw = double_node(w.hw, w.design->nodes[other].guid);
	sw->ar->packing.lenient = true; /* it acknowledges what is for another block */
	sw->firmware[0] = 31;
	sw->firmware[1] = 9;
	w.conf.routing.adaptive = 1;
	packing_row(&w, 15, row);
	assert_true(restart_with(&w, "ar_packing", row));
	run_for(&w, 120 * SECOND_US);
	assert_int_equal(written_to(&w, other), 0);
	assert_on(&w, w.design->nswitches - 1);
	assert_int_equal(count_alerts(&w, "adaptive-routing", "firmware 31.9.0000"), 1);

	/* It boots with the firmware of the others. */
	sw->firmware[0] = 0;
	sw->ar->packing = double_packing_draw(15, AR_TOP);
	double_reboot(w.hw, sw->guid);
	run_for(&w, 120 * SECOND_US);
	assert_on(&w, w.design->nswitches);
	assert_int_equal(count_alerts(&w, "adaptive-routing", ""), 0);
	world_fini(&w);
}

/* A row of a time when firmware was not asked for counts for none. */
static void without_a_probe_of_its_firmware_nothing_is_written(void **state)
{
	static const char *const rows[] = {
		"", "0xd2f0 - {\"device\":\"0xd2f0\",\"lft\":{\"bit\":8},\"group\":{\"bit\":0}}\n"
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world w;

		world_init(&w, two_tiers());
		run_for(&w, 5 * SECOND_US);
		for (uint32_t sw = 0; sw < w.design->nswitches; sw++) {
			able(&w, sw, 9);
			double_node(w.hw, w.design->nodes[sw].guid)->ni.device = 0xd2f0;
		}
		w.conf.routing.adaptive = 1;
		assert_true(restart_with(&w, "ar_packing", rows[i]));
		run_for(&w, 120 * SECOND_US);
		assert_int_equal(count_on(&w), 0);
		assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_AR_GROUPS), 0);
		assert_int_equal(count_alerts(&w, "adaptive-routing", "fmctl probe ar"), 1);
		world_fini(&w);
	}
}

/* Others of its kind have it on, of another manager: with what they show it joins. */
static void who_waits_for_a_probe_joins_behind_it(void **state)
{
	const struct double_ar_plan plan = { .subgroups = 1 };
	struct reply reply = { 0 };
	struct world w;
	uint32_t waits;
	guid_t guid;

	world_init(&w, two_tiers());
	run_for(&w, 5 * SECOND_US);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
		able(&w, sw, 9);
	w.conf.routing.adaptive = 1;
	assert_true(restart_with(&w, "ar_packing", ""));
	run_for(&w, 120 * SECOND_US);
	waits = far_leaf(&w);
	guid = w.design->nodes[waits].guid;
	double_adaptive_run(w.hw, &plan);
	adaptive_forget(double_node(w.hw, guid));
	adaptive_probe(w.fabric, TOPO_NONE, reply_cb, &reply);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(reply.count, 1);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(reply.result, 0), "result")),
		"found");
	json_decref(reply.result);
	assert_true(adaptive_forwards(double_node(w.hw, guid)));
	assert_true(written_to(&w, waits) > 0);
	world_fini(&w);
}

/* Nor is what another manager left on kept. */
static void without_its_firmware_no_switch_joins(void **state)
{
	const struct double_ar_plan plan = { .subgroups = 1 };
	struct world w;

	begin(&w, two_tiers(), 9);
	stop_fabric(&w);
	double_adaptive_run(w.hw, &plan);
	w.hw->vs_key = 5; /* their agents do not answer without it */
	start_fabric(&w);
	run_for(&w, 120 * SECOND_US);
	assert_int_equal(count_on(&w), 0);
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(count_alerts(&w, "adaptive-routing", "which firmware it has"), 1);
	w.hw->vs_key = 0;
	fabric_request_reroute(w.fabric, "test");
	run_for(&w, 120 * SECOND_US);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

/* Also what another manager left: its groups are none of ours. */
static void a_restart_and_a_take_over_keep_it_on(void **state)
{
	struct double_ar_plan plan = double_ar_plan_draw(4);
	struct watch watch = { 0 };
	struct world w;

	begin(&w, two_tiers(), 10);
	watch.w = &w;
	stop_fabric(&w);
	double_on_set(w.hw, set_seen, &watch);
	start_fabric(&w);
	run_for(&w, 90 * SECOND_US);
	assert_on(&w, w.design->nswitches);
	stop_fabric(&w);
	plan.hbf = false;
	plan.plfts = plan.tables = 1;
	double_adaptive_run(w.hw, &plan);
	start_fabric(&w);
	run_for(&w, 90 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	assert_on(&w, w.design->nswitches);
	assert_int_equal(watch.plain + watch.off, 0);
	assert_int_equal(watch.loops, 0);
	world_fini(&w);
}

static void what_somebody_else_wrote_is_found_and_written_again(void **state)
{
	struct world w;
	struct dar *ar;
	uint16_t lid;

	begin(&w, two_tiers(), 11);
	ar = double_node(w.hw, w.design->nodes[far_leaf(&w)].guid)->ar;
	lid = lid_of(&w, 0);
	ar->lft[0].blocks[lid / WIRE_AR_LFT_BLOCK * WIRE_SMP_DATA +
			  lid % WIRE_AR_LFT_BLOCK * WIRE_AR_ENTRY_BYTES + 1] ^= 1;
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(count_logged(&w, "audit", "entries of adaptive routing"), 1);
	assert_on(&w, w.design->nswitches);
	memset(ar->groups[0][0].blocks, 0, WIRE_SMP_DATA);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(count_logged(&w, "audit", "groups of adaptive routing"), 1);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_entries_and_on_are_written_by_any_packing),
		cmocka_unit_test(off_writes_what_is_written_without_it),
		cmocka_unit_test(no_choice_loops_while_links_fall_and_come_back),
		cmocka_unit_test(no_choice_loops_in_a_storm),
		cmocka_unit_test(no_choice_loops_as_switches_come_back_that_were_out_of_reach),
		cmocka_unit_test(a_cut_writes_few_blocks),
		cmocka_unit_test(what_keeps_a_choice_is_written_once),
		cmocka_unit_test(no_entry_names_a_group_that_was_not_acknowledged),
		cmocka_unit_test(a_switch_that_boots_joins_again),
		cmocka_unit_test(on_a_fabric_without_tables_it_is_turned_on_in_quiet),
		cmocka_unit_test(a_mixture_delivers_and_names_who_stays_plain),
		cmocka_unit_test(a_switch_of_another_firmware_is_not_written),
		cmocka_unit_test(without_a_probe_of_its_firmware_nothing_is_written),
		cmocka_unit_test(who_waits_for_a_probe_joins_behind_it),
		cmocka_unit_test(without_its_firmware_no_switch_joins),
		cmocka_unit_test(a_restart_and_a_take_over_keep_it_on),
		cmocka_unit_test(what_somebody_else_wrote_is_found_and_written_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
