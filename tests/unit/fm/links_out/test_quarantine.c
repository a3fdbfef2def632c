/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Quarantines: this room alone, with a pipe that only looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <time.h>
#include "tests/lib/links_out_room.h"

/* Links that carry no transit with the next snapshot. */
static unsigned marks(struct fabric *f)
{
	unsigned count = 0;

	f->module->annotate(f->room, &f->inventory);
	for (struct inv_node *node = inventory_first(&f->inventory); node;
	     node = inventory_next(&f->inventory, node))
		for (unsigned p = 1; p <= node->nports; p++)
			count += inv_port_is(node, p, INV_QUARANTINED);
	return count;
}

static void fall(struct fabric *f, guid_t node, uint8_t port, unsigned times, uint64_t apart_us)
{
	for (unsigned i = 0; i < times; i++) {
		f->module->swept(f->room, &(struct fabric_swept){ .step = FABRIC_LINK_FELL,
								  .node = node,
								  .port = port });
		fake_run_for(f, apart_us);
	}
}

static void quarantine(struct fabric *f, guid_t node, uint8_t port)
{
	links_out_ask(f, &(struct out_ask){ .cause = OUT_QUARANTINE,
					    .node = node,
					    .port = port,
					    .why = "symbol errors" });
}

static unsigned quarantined_for(const struct fabric *f, const char *length)
{
	const char *event;
	unsigned count = fake_events(f, "quarantined", &event);

	assert_non_null(strstr(event, length));
	return count;
}

/* What `links --sick` says of the only one; "" = there is none. */
static const char *unhealthy(const struct fabric *f)
{
	static char text[32];
	json_t *rows = json_array();

	links_out_rows(f, rows);
	assert_true(json_array_size(rows) <= 1);
	snprintf(text, sizeof(text), "%s",
		 json_array_size(rows)
			 ? json_string_value(json_object_get(json_array_get(rows, 0), "sick"))
			 : "");
	json_decref(rows);
	return text;
}

static void a_link_that_falls_too_often_by_either_end_is_quarantined(void **state)
{
	struct fabric f;

	room_init(&f);
	f.conf.quarantine.flap_count = 5;
	fall(&f, LEAF, UPLINK + 1, 3, SECOND_US);
	fall(&f, SPINE + 1, 1, 2, SECOND_US); /* the same link */
	assert_int_equal(marks(&f), 0);
	assert_int_equal(f.asked.reroutes, 0);
	fall(&f, LEAF, UPLINK + 1, 1, 0);
	assert_int_equal(marks(&f), 1);
	assert_int_equal(f.asked.reroutes, 1);
	assert_int_equal(quarantined_for(&f, "for 60 s, isolated from routing: went down 6 times"),
			 1);
	assert_string_equal(unhealthy(&f), "quarantined");
	fall(&f, LEAF, UPLINK + 1, 5, SECOND_US); /* the count begins anew */
	assert_int_equal(fake_events(&f, "quarantined", NULL), 1);
	room_fini(&f);
}

static void falls_further_apart_than_the_window_do_not_count(void **state)
{
	struct fabric f;

	room_init(&f);
	f.conf.quarantine.flap_count = 5;
	fall(&f, LEAF, UPLINK, 20, 13 * SECOND_US);
	assert_int_equal(marks(&f), 0);
	fall(&f, LEAF, UPLINK, 2, SECOND_US); /* six within 60 s */
	assert_int_equal(marks(&f), 1);
	room_fini(&f);
}

static void falls_of_two_links_are_two_counts(void **state)
{
	struct fabric f;

	room_init(&f);
	f.conf.quarantine.flap_count = 5;
	fall(&f, LEAF, UPLINK, 5, 0);
	fall(&f, LEAF, UPLINK + 1, 5, 0);
	fall(&f, LEAF + 1, UPLINK, 5, 0);
	assert_int_equal(marks(&f), 0);
	room_fini(&f);
}

static void no_count_is_kept_where_none_is_configured(void **state)
{
	struct fabric f;

	room_init(&f);
	f.conf.quarantine.flap_count = 0;
	fall(&f, LEAF, UPLINK, 40, 0);
	assert_int_equal(marks(&f), 0);
	room_fini(&f);
}

static void many_links_that_fall_once_leave_the_counts_of_others_alone(void **state)
{
	struct fabric f;

	room_init(&f);
	f.conf.quarantine.flap_count = 5;
	fall(&f, LEAF, UPLINK, 5, 0);
	for (guid_t node = 1; node < 5000; node++)
		fall(&f, 0x1000000 + node, 1, 1, SECOND_US / 100);
	assert_int_equal(marks(&f), 0);
	fall(&f, LEAF, UPLINK, 1, 0);
	assert_int_equal(marks(&f), 1);
	room_fini(&f);
}

/* ---- How long -------------------------------------------------------------------------------- */

static void it_ends_by_itself_and_the_end_is_an_event_and_an_update(void **state)
{
	struct fabric f;

	room_init(&f);
	quarantine(&f, LEAF, UPLINK);
	fake_run_for(&f, 59 * SECOND_US);
	assert_int_equal(marks(&f), 1);
	assert_int_equal(fake_events(&f, "released", NULL), 0);
	fake_run_for(&f, 2 * SECOND_US);
	assert_int_equal(marks(&f), 0);
	assert_int_equal(fake_events(&f, "released", NULL), 1);
	assert_int_equal(f.asked.reroutes, 2);
	assert_string_equal(unhealthy(&f), "");
	room_fini(&f);
}

static void the_next_one_is_twice_as_long_until_it_has_held_as_long_as_the_last(void **state)
{
	struct fabric f;

	room_init(&f);
	f.conf.quarantine.time_max_ms = 200000;
	quarantine(&f, LEAF, UPLINK);
	assert_int_equal(quarantined_for(&f, "for 60 s"), 1);
	fake_run_for(&f, 119 * SECOND_US); /* remembered for 60 s */
	quarantine(&f, LEAF, UPLINK);
	assert_int_equal(quarantined_for(&f, "for 120 s"), 2);
	assert_int_equal(marks(&f), 1);
	fake_run_for(&f, 121 * SECOND_US);
	quarantine(&f, SPINE, 1); /* by its other end */
	assert_int_equal(quarantined_for(&f, "for 200 s"), 3);
	fake_run_for(&f, 10 * SECOND_US);
	quarantine(&f, LEAF, UPLINK); /* once more while it lasts */
	assert_int_equal(quarantined_for(&f, "for 200 s"), 4);
	fake_run_for(&f, 401 * SECOND_US);
	quarantine(&f, LEAF, UPLINK);
	assert_int_equal(quarantined_for(&f, "for 60 s"), 5);
	room_fini(&f);
}

static void the_rest_of_it_is_kept_over_a_restart_and_so_is_what_is_remembered(void **state)
{
	struct fabric f;

	room_init(&f);
	quarantine(&f, LEAF, UPLINK);
	room_restart(&f);
	assert_int_equal(marks(&f), 1);
	fake_run_for(&f, 61 * SECOND_US);
	assert_int_equal(marks(&f), 0);
	assert_int_equal(fake_events(&f, "released", NULL), 1);
	room_restart(&f);
	quarantine(&f, LEAF, UPLINK);
	assert_int_equal(quarantined_for(&f, "for 120 s"), 2);
	assert_int_equal(f.lost, 0);
	room_fini(&f);
}

static void a_time_too_far_off_by_a_clock_that_was_set_is_cut_to_its_length(void **state)
{
	struct fabric f;
	char line[128];

	room_init(&f);
	snprintf(line, sizeof(line), "0x%llx %u %lld 60 fell 6 times\n", LEAF, UPLINK,
		 (long long)time(NULL) + 1000000);
	room_write_rows(&f, "quarantine", line);
	room_restart(&f);
	assert_int_equal(marks(&f), 1);
	fake_run_for(&f, 61 * SECOND_US);
	assert_int_equal(marks(&f), 0);
	room_fini(&f);
}

static void a_row_that_can_not_be_read_is_told_and_the_others_stay(void **state)
{
	struct fabric f;

	room_init(&f);
	room_write_rows(&f, "quarantine",
			"0x100 5 99999999999 60 fine\n0x2 0 1 1 port 0 is none\n");
	room_restart(&f);
	assert_int_equal(f.lost, 1);
	assert_true(marks(&f) > 0);
	room_fini(&f);
}

/* ---- What leaves and hosts need -------------------------------------------------------------- */

static void a_leaf_keeps_half_of_its_uplinks(void **state)
{
	struct fabric f;

	room_init(&f);
	for (unsigned s = 0; s < SPINES; s++)
		quarantine(&f, LEAF, (uint8_t)(UPLINK + s));
	assert_int_equal(marks(&f), SPINES / 2);
	assert_true(inv_port_is(room_node(&f, LEAF), UPLINK,
				INV_QUARANTINED)); /* the newest are waived */
	assert_int_equal(marks(&f), SPINES / 2);   /* said once */
	assert_int_equal(fake_events(&f, "quarantine-waived", NULL), 2);
	quarantine(&f, LEAF + 1, UPLINK); /* another leaf has all of its own */
	assert_int_equal(marks(&f), SPINES / 2 + 1);
	room_fini(&f);
}

static void what_a_leaf_needs_since_another_link_died_stays_in_use_when_that_is_back(void **state)
{
	struct fabric f;

	room_init(&f);
	quarantine(&f, LEAF, UPLINK);
	quarantine(&f, LEAF, UPLINK + 1);
	assert_int_equal(marks(&f), 2);
	inventory_link_down(&f.inventory, room_node(&f, LEAF), UPLINK + 2);
	assert_int_equal(marks(&f), 1); /* the newer one carries traffic again */
	assert_true(inv_port_is(room_node(&f, LEAF), UPLINK, INV_QUARANTINED));
	assert_int_equal(fake_events(&f, "quarantine-waived", NULL), 1);
	inventory_link(&f.inventory, room_node(&f, LEAF), UPLINK + 2, room_node(&f, SPINE + 2), 1);
	assert_int_equal(marks(&f), 1);
	assert_int_equal(fake_events(&f, "quarantine-waived", NULL), 1);
	room_fini(&f);
}

static void cordoned_uplinks_are_none_to_a_leaf(void **state)
{
	struct answer answer = { 0 };
	struct fabric f;

	room_init(&f);
	links_out_cordon(&f, "leaf-0:7", true, room_answer_cb, &answer);
	fake_pipe_answer(&f, NULL);
	json_decref(answer.result);
	links_out_cordon(&f, "spine-3", true, room_answer_cb, &answer);
	fake_pipe_answer(&f, NULL);
	json_decref(answer.result);
	quarantine(&f, LEAF, UPLINK);
	assert_int_equal(marks(&f), 0);
	assert_string_equal(unhealthy(&f), "waived");
	room_fini(&f);
}

static void a_hosts_link_is_logged_and_stays_in_use(void **state)
{
	struct fabric f;

	room_init(&f);
	quarantine(&f, HOST, 1);
	assert_int_equal(marks(&f), 0);
	assert_int_equal(fake_events(&f, "flapping", NULL), 1);
	assert_int_equal(fake_events(&f, "quarantined", NULL), 0);
	assert_string_equal(unhealthy(&f), "flapping");
	room_fini(&f);
}

/* ---- Operators ------------------------------------------------------------------------------- */

static struct answer release(struct fabric *f, const char *what)
{
	struct answer answer = { 0 };

	links_out_release(f, what, room_answer_cb, &answer);
	if (!answer.count)
		fake_pipe_answer(f, NULL);
	assert_int_equal(answer.count, 1);
	return answer;
}

static void assert_released(struct answer answer, const char *note, unsigned links)
{
	assert_string_equal(answer.error, "");
	assert_true(json_is_true(json_object_get(answer.result, "released")));
	assert_string_equal(answer_text(&answer, "note"), note);
	assert_int_equal(answer_number(&answer, "ports"), links);
	json_decref(answer.result);
}

static void a_release_ends_and_forgets_what_is_about_its_target(void **state)
{
	struct fabric f;

	room_init(&f);
	quarantine(&f, LEAF, UPLINK);
	quarantine(&f, LEAF + 1, UPLINK);
	quarantine(&f, LEAF + 1, UPLINK + 1);
	assert_int_equal(marks(&f), 3);
	assert_released(release(&f, "spine-0"), "", 2); /* by the other end */
	assert_int_equal(marks(&f), 1);
	assert_int_equal(fake_events(&f, "released", NULL), 1);
	assert_released(release(&f, "leaf-1:6"), "", 1);
	assert_int_equal(marks(&f), 0);
	assert_released(release(&f, "leaf-1:6"), "not quarantined", 0);
	assert_int_equal(fake_events(&f, "released", NULL), 2);
	quarantine(&f, LEAF, UPLINK);
	assert_int_equal(quarantined_for(&f, "for 60 s"), 4);
	room_fini(&f);
}

static void a_release_forgets_what_is_over_and_counts_it_for_none(void **state)
{
	struct fabric f;

	room_init(&f);
	quarantine(&f, LEAF, UPLINK);
	fake_run_for(&f, 61 * SECOND_US);
	assert_released(release(&f, "leaf-0"), "", 0);
	quarantine(&f, LEAF, UPLINK);
	assert_int_equal(quarantined_for(&f, "for 60 s"), 2);
	room_fini(&f);
}

static void a_release_whose_tables_are_refused_is_taken_back(void **state)
{
	struct answer answer = { 0 };
	struct fabric f;

	room_init(&f);
	quarantine(&f, LEAF, UPLINK);
	quarantine(&f, LEAF, UPLINK + 1);
	links_out_release(&f, "leaf-0", room_answer_cb, &answer);
	assert_int_equal(marks(&f), 0);
	fake_pipe_answer(&f, "new forwarding tables failed verification");
	assert_int_equal(marks(&f), 2);
	assert_string_equal(answer.error, "new forwarding tables failed verification");
	fake_run_for(&f, 61 * SECOND_US);
	assert_int_equal(marks(&f), 0); /* it lasts as long as before */
	room_fini(&f);
}

static void a_release_of_nothing_known_is_refused(void **state)
{
	struct answer answer;
	struct fabric f;

	room_init(&f);
	answer = release(&f, "moon");
	assert_non_null(strstr(answer.error, "moon"));
	room_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_that_falls_too_often_by_either_end_is_quarantined),
		cmocka_unit_test(falls_further_apart_than_the_window_do_not_count),
		cmocka_unit_test(falls_of_two_links_are_two_counts),
		cmocka_unit_test(no_count_is_kept_where_none_is_configured),
		cmocka_unit_test(many_links_that_fall_once_leave_the_counts_of_others_alone),
		cmocka_unit_test(it_ends_by_itself_and_the_end_is_an_event_and_an_update),
		cmocka_unit_test(
			the_next_one_is_twice_as_long_until_it_has_held_as_long_as_the_last),
		cmocka_unit_test(
			the_rest_of_it_is_kept_over_a_restart_and_so_is_what_is_remembered),
		cmocka_unit_test(a_time_too_far_off_by_a_clock_that_was_set_is_cut_to_its_length),
		cmocka_unit_test(a_row_that_can_not_be_read_is_told_and_the_others_stay),
		cmocka_unit_test(a_leaf_keeps_half_of_its_uplinks),
		cmocka_unit_test(
			what_a_leaf_needs_since_another_link_died_stays_in_use_when_that_is_back),
		cmocka_unit_test(cordoned_uplinks_are_none_to_a_leaf),
		cmocka_unit_test(a_hosts_link_is_logged_and_stays_in_use),
		cmocka_unit_test(a_release_ends_and_forgets_what_is_about_its_target),
		cmocka_unit_test(a_release_forgets_what_is_over_and_counts_it_for_none),
		cmocka_unit_test(a_release_whose_tables_are_refused_is_taken_back),
		cmocka_unit_test(a_release_of_nothing_known_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
