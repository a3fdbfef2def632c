/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Cordons, and links that are forgotten: this room alone, with a pipe that only looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/links_out_room.h"

static unsigned marks(struct fabric *f)
{
	unsigned count = 0;

	f->module->annotate(f->room, &f->inventory);
	for (struct inv_node *node = inventory_first(&f->inventory); node;
	     node = inventory_next(&f->inventory, node))
		for (unsigned p = 1; p <= node->nports; p++)
			count += inv_port_is(node, p, INV_CORDONED);
	return count;
}

static struct answer ask(struct fabric *f, const char *what, bool on)
{
	struct answer answer = { 0 };

	links_out_cordon(f, what, on, room_answer_cb, &answer);
	if (!answer.count) {
		room_publish(f);
		fake_pipe_answer(f, NULL);
	}
	assert_int_equal(answer.count, 1);
	return answer;
}

static void assert_answer(struct answer answer, const char *note, unsigned links)
{
	assert_string_equal(answer.error, "");
	assert_string_equal(answer_text(&answer, "note"), note);
	assert_int_equal(answer_number(&answer, "ports"), links);
	json_decref(answer.result);
}

static void assert_refused(struct answer answer, const char *why)
{
	assert_null(answer.result);
	assert_non_null(strstr(answer.error, why));
}

static void a_switch_is_cordoned_by_its_links_to_switches_and_answered_when_settled(void **state)
{
	struct answer answer = { 0 };
	struct fabric f;

	room_init(&f);
	f.written.blocks = 10;
	links_out_cordon(&f, "leaf-0", true, room_answer_cb, &answer);
	assert_int_equal(f.asked.reroutes, 1);
	assert_int_equal(answer.count, 0);
	assert_int_equal(marks(&f), SPINES); /* hosts' links are not */
	assert_int_equal(fake_events(&f, "cordoned", NULL), 0);
	f.written = (struct fabric_written){ .entries = 7, .blocks = 12 };
	fake_pipe_answer(&f, NULL);
	assert_int_equal(answer_number(&answer, "lft_entries_changed"), 7);
	assert_int_equal(answer_number(&answer, "lft_blocks_written"), 2);
	assert_true(json_is_true(json_object_get(answer.result, "cordoned")));
	assert_string_equal(answer_text(&answer, "what"), "leaf-0");
	assert_answer(answer, "", SPINES);
	assert_int_equal(fake_events(&f, "cordoned", NULL), 1);
	room_fini(&f);
}

static void what_is_so_already_is_answered_at_once_without_an_event(void **state)
{
	struct fabric f;

	room_init(&f);
	f.written.entries = 7; /* of another update */
	assert_answer(ask(&f, "spine-1", false), "not cordoned", LEAVES);
	assert_int_equal(f.asked.reroutes, 0);
	assert_answer(ask(&f, "spine-1", true), "", LEAVES);
	struct answer again = ask(&f, "spine-1", true);

	assert_int_equal(answer_number(&again, "lft_entries_changed"), 0);
	assert_answer(again, "already cordoned", LEAVES);
	assert_int_equal(f.asked.reroutes, 1);
	assert_int_equal(fake_events(&f, "cordoned", NULL), 1);
	assert_int_equal(fake_events(&f, "uncordoned", NULL), 0);
	room_fini(&f);
}

static void a_cordon_whose_tables_are_refused_is_taken_back(void **state)
{
	struct answer answer = { 0 };
	const char *event;
	struct fabric f;

	room_init(&f);
	links_out_cordon(&f, "spine-1", true, room_answer_cb, &answer);
	assert_int_equal(marks(&f), LEAVES);
	fake_pipe_answer(&f, "new forwarding tables failed verification");
	assert_string_equal(answer.error, "new forwarding tables failed verification");
	assert_int_equal(marks(&f), 0);
	assert_int_equal(f.asked.reroutes, 2);
	assert_int_equal(fake_events(&f, "cordoned", &event), 1);
	assert_non_null(
		strstr(event, "but not applied: new forwarding tables failed verification"));
	assert_answer(ask(&f, "spine-1", true), "", LEAVES);
	links_out_cordon(&f, "spine-1", false, room_answer_cb, &answer);
	assert_int_equal(marks(&f), 0);
	fake_pipe_answer(&f, "new forwarding tables failed verification");
	assert_int_equal(marks(&f), LEAVES); /* so is its end */
	room_fini(&f);
}

static void a_link_is_cordoned_and_uncordoned_from_either_end(void **state)
{
	struct fabric f;

	room_init(&f);
	assert_answer(ask(&f, "leaf-0:6", true), "", 1);
	assert_int_equal(marks(&f), 1);
	assert_answer(ask(&f, "spine-1:1", true), "already cordoned", 1);
	assert_answer(ask(&f, "spine-1:1", false), "", 1);
	assert_int_equal(marks(&f), 0);
	room_fini(&f);
}

static void uncordoning_a_switch_lifts_those_of_its_links_from_their_other_ends(void **state)
{
	struct fabric f;

	room_init(&f);
	assert_answer(ask(&f, "leaf-0:6", true), "", 1);
	assert_answer(ask(&f, "leaf-1:6", true), "", 1);
	assert_answer(ask(&f, "leaf-1:7", true), "", 1);
	assert_answer(ask(&f, "spine-1", false), "", LEAVES);
	assert_int_equal(marks(&f), 1);
	room_fini(&f);
}

static void a_link_that_another_cordon_holds_stays_cordoned(void **state)
{
	struct fabric f;

	room_init(&f);
	assert_answer(ask(&f, "leaf-0:6", true), "", 1);
	assert_answer(ask(&f, "leaf-0", true), "", SPINES);
	assert_refused(ask(&f, "leaf-0:6", false), "leaf-0 is cordoned as a whole: uncordon that");
	assert_refused(ask(&f, "spine-2:1", false), "leaf-0 is cordoned as a whole");
	assert_answer(ask(&f, "spine-2:1", true), "already cordoned", 1);
	assert_answer(ask(&f, "spine-1", true), "", LEAVES);
	assert_answer(ask(&f, "leaf-0", false), "", SPINES); /* with leaf-0:6 */
	assert_int_equal(marks(&f), LEAVES);		     /* spine-1's */
	room_fini(&f);
}

static void what_can_not_be_cordoned_is_refused_with_its_reason(void **state)
{
	struct answer answer = { 0 };
	struct fabric f;

	room_init(&f);
	assert_refused(ask(&f, "moon", true), "moon");
	assert_refused(ask(&f, "moon", false), "moon");
	assert_refused(ask(&f, "host-0-0 HCA-1", true), "no link between switches");
	assert_refused(ask(&f, "leaf-0:1", true), "leaf-0 p1 has no link between switches");
	assert_refused(ask(&f, "leaf-0:4", true), "nothing to cordon");
	assert_int_equal(f.asked.reroutes, 0);
	topo_unref((struct topo *)f.view.topo);
	f.view.topo = NULL;
	links_out_cordon(&f, "leaf-0", true, room_answer_cb, &answer);
	assert_refused(answer, "no topology yet");
	room_fini(&f);
}

static void cordons_are_kept_over_a_restart_and_lifted_by_guid_while_the_switch_is_away(
	void **state)
{
	struct answer answer = { 0 };
	struct fabric f;

	room_init(&f);
	assert_answer(ask(&f, "spine-1", true), "", LEAVES);
	assert_answer(ask(&f, "leaf-0:7", true), "", 1);
	room_restart(&f);
	assert_int_equal(marks(&f), LEAVES + 1);
	fake_pipe_restart(&f); /* and nothing is met */
	f.module->load(f.room, FABRIC_LOAD);
	topo_unref((struct topo *)f.view.topo);
	f.view.topo = NULL;
	links_out_cordon(&f, "0x999", false, room_answer_cb, &answer);
	assert_refused(answer, "no topology yet");
	links_out_cordon(&f, "0x201", false, room_answer_cb, &answer);
	fake_pipe_answer(&f, NULL);
	assert_answer(answer, "", 0);
	room_restart(&f);
	assert_int_equal(marks(&f), 1);
	assert_int_equal(f.lost, 0);
	room_fini(&f);
}

/* Lines of earlier versions have no time; a new cordon has that of now, and keeps it. */
static void a_cordon_keeps_its_time_over_a_restart(void **state)
{
	static const char then[] = "2026-11-20T01:00:00.000Z";
	char made[EVENT_TIME];
	struct fabric f;

	room_init(&f);
	room_write_rows(&f, "cordons", "0x200 0\n0x201 0 2026-11-20T01:00:00.000Z\n");
	room_restart(&f);
	assert_int_equal(f.lost, 0);
	assert_null(links_out_cordoned_since(&f, 0x200, 0));
	assert_string_equal(links_out_cordoned_since(&f, 0x201, 0), then);
	assert_string_equal(links_out_cordoned_since(&f, 0x201, 1), then);
	assert_null(links_out_cordoned_since(&f, 0x202, 0));
	assert_answer(ask(&f, "0x202", true), "", LEAVES);
	snprintf(made, sizeof(made), "%s", links_out_cordoned_since(&f, 0x202, 0));
	assert_true(strcmp(made, then) > 0);
	room_restart(&f);
	assert_string_equal(links_out_cordoned_since(&f, 0x202, 0), made);
	assert_string_equal(links_out_cordoned_since(&f, 0x201, 0), then);
	assert_null(links_out_cordoned_since(&f, 0x200, 0));
	room_write_rows(&f, "cordons", "0x200 0 yesterday\n");
	room_restart(&f);
	assert_int_equal(f.lost, 1);
	room_fini(&f);
}

static void a_row_that_can_not_be_read_is_told_and_the_others_stay(void **state)
{
	struct fabric f;

	room_init(&f);
	room_write_rows(&f, "cordons", "0x200 0\n0x100 256\n");
	room_restart(&f);
	assert_int_equal(f.lost, 1);
	assert_true(marks(&f) > 0);
	room_fini(&f);
}

/* ---- Cordons that can't be kept -------------------------------------------------------------- */

static void assert_overridden(struct answer answer, unsigned count, const char *first)
{
	const json_t *rows = json_object_get(answer.result, "not_honoured"), *row;

	assert_int_equal(json_array_size(rows), count);
	row = json_array_get(rows, 0);
	if (count)
		assert_string_equal(json_string_value(json_object_get(row, "what")), first);
	json_decref(answer.result);
}

static void cordons_that_carry_traffic_are_named_for_as_long_as_they_do(void **state)
{
	struct fabric f;

	room_init(&f);
	assert_overridden(ask(&f, "spine-0", true), 0, NULL);
	assert_overridden(ask(&f, "spine-1", true), 0, NULL);
	assert_overridden(ask(&f, "spine-2", true), 0, NULL);
	assert_int_equal(fake_events(&f, "cordons-bent", NULL), 0);
	assert_overridden(ask(&f, "spine-3", true), SPINES, "spine-0");
	assert_int_equal(fake_events(&f, "cordons-bent", NULL), 1);
	assert_overridden(ask(&f, "spine-3", true), SPINES, "spine-0"); /* asked again */
	assert_overridden(ask(&f, "spine-2", false), 0, NULL);
	room_fini(&f);
}

/* The tables that are published cross it, and were made before it. */
static void a_cordon_is_not_said_to_carry_traffic_unless_routing_left_cordons_aside(void **state)
{
	struct answer answer = { 0 };
	struct fabric f;

	room_init(&f);
	links_out_cordon(&f, "spine-0", true, room_answer_cb, &answer);
	fake_pipe_answer(&f, NULL);
	assert_overridden(answer, 0, NULL);
	room_fini(&f);
}

/* Packets from and to the leaf's own hosts cross its cordoned links: that is no transit. */
static void a_cordoned_leaf_carries_traffic_of_its_own_hosts_alone(void **state)
{
	struct fabric f;

	room_init(&f);
	assert_overridden(ask(&f, "leaf-0", true), 0, NULL);
	assert_true(f.view.cordons_overridden);
	/* A link that is spared stays unnamed beside it. */
	assert_overridden(ask(&f, "leaf-1:5", true), 0, NULL);
	room_fini(&f);
}

static void the_cordon_of_a_leafs_last_link_is_named(void **state)
{
	struct fabric f;

	room_init(&f);
	for (unsigned s = 1; s < SPINES; s++)
		inventory_link_down(&f.inventory, room_node(&f, LEAF), (uint8_t)(UPLINK + s));
	room_publish(&f);
	assert_overridden(ask(&f, "spine-0:1", true), 1, "spine-0 p1");
	room_fini(&f);
}

/* ---- Links that are gone --------------------------------------------------------------------- */

static struct answer forget(struct fabric *f, const char *what)
{
	struct answer answer = { 0 };

	links_out_forget(f, what, room_answer_cb, &answer);
	if (!answer.count)
		fake_pipe_answer(f, NULL);
	assert_int_equal(answer.count, 1);
	return answer;
}

static void links_that_are_down_are_forgotten_and_those_that_are_up_are_not(void **state)
{
	struct inv_node *leaf;
	struct answer answer;
	struct fabric f;

	room_init(&f);
	leaf = room_node(&f, LEAF);
	assert_refused(forget(&f, "leaf-0"), "nothing to forget");
	assert_int_equal(f.asked.reroutes, 0);
	inventory_link_down(&f.inventory, leaf, UPLINK);
	inventory_link_down(&f.inventory, leaf, UPLINK + 1);
	assert_refused(forget(&f, "leaf-1"), "nothing to forget");
	answer = forget(&f, "leaf-0:5");
	json_decref(answer.result);
	assert_null(leaf->ports[UPLINK].peer);
	assert_non_null(leaf->ports[UPLINK + 1].peer);
	assert_int_equal(f.asked.reroutes, 1);
	answer = forget(&f, NULL);
	json_decref(answer.result);
	assert_null(leaf->ports[UPLINK + 1].peer);
	assert_non_null(leaf->ports[UPLINK + 2].peer);
	assert_int_equal(fake_events(&f, "forgotten", NULL), 2);
	assert_refused(forget(&f, "moon"), "moon");
	room_fini(&f);
}

static bool remembers(const struct fabric *f, guid_t guid)
{
	for (uint32_t i = 0; i < f->lids.count; i++)
		if (f->lids.entries[i].port_guid == guid)
			return true;
	return false;
}

static void a_node_that_no_link_leads_to_any_more_is_gone_with_its_lids(void **state)
{
	struct answer answer;
	struct fabric f;

	room_init(&f);
	assert_true(remembers(&f, HOST));
	inventory_link_down(&f.inventory, room_node(&f, LEAF), 1);
	room_node(&f, HOST)->gone = true;
	room_publish(&f);
	inventory_unlink(&f.inventory, room_node(&f, LEAF), 2); /* that host answers by no link */
	answer = forget(&f, "host-0-0 HCA-1");
	json_decref(answer.result);
	assert_null(room_node(&f, HOST));
	assert_non_null(room_node(&f, HOST + 1));
	assert_false(remembers(&f, HOST));
	assert_true(remembers(&f, HOST + 1));
	room_fini(&f);
}

static void lids_of_ports_that_left_earlier_are_free_when_all_is_forgotten(void **state)
{
	struct answer answer;
	const char *event;
	struct fabric f;

	room_init(&f);
	inventory_unlink(&f.inventory, room_node(&f, LEAF), 1);
	inventory_remove(&f.inventory, room_node(&f, HOST));
	room_publish(&f);
	assert_true(remembers(&f, HOST));
	answer = forget(&f, NULL);
	json_decref(answer.result);
	assert_false(remembers(&f, HOST));
	assert_true(remembers(&f, HOST + 1));
	assert_int_equal(fake_events(&f, "forgotten", &event), 1);
	assert_non_null(strstr(event, "LIDs of 1 port that left earlier"));
	assert_refused(forget(&f, NULL), "nothing to forget");
	room_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_switch_is_cordoned_by_its_links_to_switches_and_answered_when_settled),
		cmocka_unit_test(what_is_so_already_is_answered_at_once_without_an_event),
		cmocka_unit_test(a_cordon_whose_tables_are_refused_is_taken_back),
		cmocka_unit_test(a_link_is_cordoned_and_uncordoned_from_either_end),
		cmocka_unit_test(
			uncordoning_a_switch_lifts_those_of_its_links_from_their_other_ends),
		cmocka_unit_test(a_link_that_another_cordon_holds_stays_cordoned),
		cmocka_unit_test(what_can_not_be_cordoned_is_refused_with_its_reason),
		cmocka_unit_test(
			cordons_are_kept_over_a_restart_and_lifted_by_guid_while_the_switch_is_away),
		cmocka_unit_test(a_cordon_keeps_its_time_over_a_restart),
		cmocka_unit_test(a_row_that_can_not_be_read_is_told_and_the_others_stay),
		cmocka_unit_test(cordons_that_carry_traffic_are_named_for_as_long_as_they_do),
		cmocka_unit_test(
			a_cordon_is_not_said_to_carry_traffic_unless_routing_left_cordons_aside),
		cmocka_unit_test(a_cordoned_leaf_carries_traffic_of_its_own_hosts_alone),
		cmocka_unit_test(the_cordon_of_a_leafs_last_link_is_named),
		cmocka_unit_test(links_that_are_down_are_forgotten_and_those_that_are_up_are_not),
		cmocka_unit_test(a_node_that_no_link_leads_to_any_more_is_gone_with_its_lids),
		cmocka_unit_test(lids_of_ports_that_left_earlier_are_free_when_all_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
