/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Links that have had too many errors for a long time: which are held, which are not, till when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/links_out_room.h"

static void ask(struct fabric *f, guid_t node, uint8_t port)
{
	links_out_ask(f, &(struct out_ask){ .cause = OUT_HOLD,
					    .node = node,
					    .port = port,
					    .why = "symbol BER 1e-12 in 12 min (limit 1e-14)" });
	f->module->annotate(f->room, &f->inventory);
}

/* All links of leaves are read so. */
static void clean_for(struct fabric *f, uint64_t us)
{
	for (unsigned l = 0; l < LEAVES; l++)
		for (unsigned port = 1; port < UPLINK + SPINES; port++) {
			uint64_t *clean = links_out_clean_us(f, LEAF + l, (uint8_t)port);

			if (clean)
				*clean = us;
		}
}

static bool is_out(struct fabric *f, guid_t node, unsigned port)
{
	return inv_port_is(room_node(f, node), port, INV_QUARANTINED);
}

static unsigned refusals(const struct fabric *f, const char **text)
{
	return fake_events(f, "quarantine-refused", text);
}

static void begin(struct fabric *f)
{
	room_init(f);
	room_publish(f);
}

static void a_link_is_held_until_it_was_clean_for_its_time(void **state)
{
	struct fabric f;
	const char *text;

	begin(&f);
	ask(&f, LEAF, UPLINK);
	assert_true(is_out(&f, LEAF, UPLINK));
	assert_int_equal(fake_events(&f, "quarantined", &text), 1);
	assert_non_null(strstr(text, "until it is clean for 600 s"));
	clean_for(&f, 590 * SECOND_US);
	fake_run_for(&f, 86400 * SECOND_US);
	assert_int_equal(fake_events(&f, "released", NULL), 0);
	clean_for(&f, 600 * SECOND_US);
	fake_run_for(&f, 11 * SECOND_US);
	assert_int_equal(fake_events(&f, "released", &text), 1);
	f.module->annotate(f.room, &f.inventory);
	assert_false(is_out(&f, LEAF, UPLINK));
	room_fini(&f);
}

static void what_is_asked_for_again_and_again_is_held_once(void **state)
{
	struct fabric f;

	begin(&f);
	for (unsigned i = 0; i < 50; i++) {
		ask(&f, LEAF, UPLINK);
		ask(&f, SPINE, 1); /* its other end */
		fake_run_for(&f, 60 * SECOND_US);
	}
	assert_int_equal(fake_events(&f, "quarantined", NULL), 1);
	room_fini(&f);
}

static void a_link_that_fails_again_has_to_be_clean_for_twice_as_long(void **state)
{
	struct fabric f;
	const char *text;

	begin(&f);
	ask(&f, LEAF, UPLINK);
	clean_for(&f, 600 * SECOND_US);
	fake_run_for(&f, 11 * SECOND_US);
	clean_for(&f, 0);
	ask(&f, LEAF, UPLINK);
	assert_int_equal(fake_events(&f, "quarantined", &text), 2);
	assert_non_null(strstr(text, "until it is clean for 1200 s"));
	room_fini(&f);
}

static void a_restart_keeps_what_was_held(void **state)
{
	struct fabric f;

	begin(&f);
	ask(&f, LEAF, UPLINK + 1);
	room_restart(&f);
	f.module->annotate(f.room, &f.inventory);
	assert_true(is_out(&f, LEAF, UPLINK + 1));
	fake_run_for(&f, 86400 * SECOND_US);
	f.module->annotate(f.room, &f.inventory);
	assert_true(is_out(&f, LEAF, UPLINK + 1));
	clean_for(&f, 600 * SECOND_US);
	fake_run_for(&f, 11 * SECOND_US);
	f.module->annotate(f.room, &f.inventory);
	assert_false(is_out(&f, LEAF, UPLINK + 1));
	room_fini(&f);
}

static void a_leaf_keeps_its_share_and_a_switch_its_last_path(void **state)
{
	struct fabric f;
	const char *text;

	begin(&f);
	for (unsigned s = 0; s < SPINES; s++)
		ask(&f, LEAF, (uint8_t)(UPLINK + s));
	assert_int_equal(fake_events(&f, "quarantined", NULL), 2); /* quarantine_min_uplinks */
	assert_int_equal(refusals(&f, &text), 2);
	assert_non_null(strstr(text, "too few other links"));
	f.conf.quarantine.min_uplinks = 0;
	for (unsigned round = 0; round < 3; round++)
		for (unsigned s = 0; s < SPINES; s++)
			ask(&f, LEAF, (uint8_t)(UPLINK + s));
	assert_int_equal(fake_events(&f, "quarantined", NULL), 3);
	assert_false(is_out(&f, LEAF, UPLINK + SPINES - 1));
	room_fini(&f);
}

/* The others die while one is held. */
static void a_held_link_carries_again_when_it_has_become_the_last_path(void **state)
{
	struct fabric f;

	begin(&f);
	f.conf.quarantine.min_uplinks = 0;
	ask(&f, LEAF, UPLINK);
	assert_true(is_out(&f, LEAF, UPLINK));
	for (unsigned s = 1; s < SPINES; s++)
		room_node(&f, LEAF)->ports[UPLINK + s].link_up = false;
	f.module->annotate(f.room, &f.inventory);
	assert_false(is_out(&f, LEAF, UPLINK));
	fake_run_for(&f, 11 * SECOND_US);
	ask(&f, LEAF, UPLINK);
	assert_false(is_out(&f, LEAF, UPLINK));
	assert_int_equal(refusals(&f, NULL), 1);
	for (unsigned s = 1; s < SPINES; s++)
		room_node(&f, LEAF)->ports[UPLINK + s].link_up = true;
	ask(&f, LEAF, UPLINK);
	assert_true(is_out(&f, LEAF, UPLINK));
	room_fini(&f);
}

static void a_hold_that_isolates_nothing_is_told_and_takes_no_place(void **state)
{
	struct fabric f;

	begin(&f);
	f.conf.quarantine.min_uplinks = 0;
	f.conf.ber.max_links = 1;
	ask(&f, LEAF, UPLINK);
	for (unsigned s = 1; s < SPINES; s++)
		room_node(&f, LEAF)->ports[UPLINK + s].link_up = false;
	f.module->settled(f.room, FABRIC_REVIEWED);
	assert_null(alert_text(f.services.alerts, "links-errors", NULL));
	f.module->annotate(f.room, &f.inventory);
	f.module->settled(f.room, FABRIC_REVIEWED);
	assert_non_null(strstr(alert_text(f.services.alerts, "links-errors", NULL),
			       "1 link with too many errors stays in use: leaf-0 p5"));
	ask(&f, LEAF + 1, UPLINK + 1);
	assert_true(is_out(&f, LEAF + 1, UPLINK + 1));
	room_fini(&f);
}

static void so_many_are_held_at_once_and_no_more(void **state)
{
	struct fabric f;
	const char *text;

	begin(&f);
	f.conf.ber.max_links = 2;
	ask(&f, LEAF, UPLINK);
	ask(&f, LEAF + 1, UPLINK + 1);
	ask(&f, LEAF + 1, UPLINK + 2);
	ask(&f, LEAF + 1, UPLINK + 2);
	assert_int_equal(fake_events(&f, "quarantined", NULL), 2);
	assert_int_equal(refusals(&f, &text), 1);
	assert_non_null(strstr(text, "health_ber_max_links"));
	f.module->settled(f.room, FABRIC_REVIEWED);
	assert_non_null(strstr(alert_text(f.services.alerts, "links-errors", NULL),
			       "1 link with too many errors stays in use: leaf-1 p7"));
	clean_for(&f, 600 * SECOND_US);
	fake_run_for(&f, 11 * SECOND_US);
	clean_for(&f, 0);
	ask(&f, LEAF + 1, UPLINK + 2);
	assert_int_equal(fake_events(&f, "quarantined", NULL), 3);
	f.module->settled(f.room, FABRIC_REVIEWED);
	assert_null(alert_text(f.services.alerts, "links-errors", NULL));
	f.conf.ber.max_links = 0;
	ask(&f, LEAF, UPLINK + 2);
	assert_int_equal(fake_events(&f, "quarantined", NULL), 3);
	room_fini(&f);
}

static void excluded_links_and_hosts_links_stay_in_use(void **state)
{
	static const char *const lists[] = { "x spine-0",	   "spine-0:1",
					     "leaf-0:5",	   "leaf-*",
					     "0x0000000000000200", "0x0000000000000100:5" };
	struct fabric f;
	const char *text;

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		begin(&f);
		strcpy(f.conf.ber.exclude, lists[i]);
		ask(&f, LEAF, UPLINK);
		assert_int_equal(refusals(&f, &text), 1);
		assert_non_null(strstr(text, "health_ber_exclude"));
		strcpy(f.conf.ber.exclude, "leaf-0:6 leaf");
		ask(&f, LEAF, UPLINK);
		assert_true(is_out(&f, LEAF, UPLINK));
		room_fini(&f);
	}
	begin(&f);
	ask(&f, LEAF, 1);
	assert_int_equal(refusals(&f, &text), 1);
	assert_non_null(strstr(text, "a host's link"));
	room_fini(&f);
}

static void a_dry_run_reports_and_does_nothing(void **state)
{
	struct fabric f;
	const char *text;

	begin(&f);
	f.conf.ber.dry_run = true;
	ask(&f, LEAF, UPLINK);
	ask(&f, LEAF, UPLINK);
	assert_int_equal(refusals(&f, &text), 1);
	assert_non_null(strstr(text, "dry run: it would be isolated"));
	assert_false(is_out(&f, LEAF, UPLINK));
	assert_int_equal(f.asked.reroutes, 0);
	room_fini(&f);
}

static void what_an_operator_released_is_left_alone_until_it_was_clean(void **state)
{
	struct answer answer = { 0 };
	struct fabric f;

	begin(&f);
	ask(&f, LEAF, UPLINK);
	links_out_release(&f, "leaf-0:5", room_answer_cb, &answer);
	fake_pipe_answer(&f, NULL);
	json_decref(answer.result);
	ask(&f, LEAF, UPLINK);
	assert_false(is_out(&f, LEAF, UPLINK));
	clean_for(&f, SECOND_US);
	fake_run_for(&f, 11 * SECOND_US);
	clean_for(&f, 0);
	ask(&f, LEAF, UPLINK);
	assert_true(is_out(&f, LEAF, UPLINK));
	room_fini(&f);
}

/* Single readings and error rates find the same link: it was quarantined for a time first. */
static void a_release_counts_whoever_quarantined_the_link(void **state)
{
	struct answer answer = { 0 };
	struct fabric f;

	begin(&f);
	links_out_ask(&f, &(struct out_ask){ .cause = OUT_QUARANTINE,
					     .node = LEAF,
					     .port = UPLINK,
					     .why = "many errors" });
	links_out_release(&f, "leaf-0:5", room_answer_cb, &answer);
	fake_pipe_answer(&f, NULL);
	json_decref(answer.result);
	ask(&f, LEAF, UPLINK);
	assert_false(is_out(&f, LEAF, UPLINK));
	room_fini(&f);
}

/* Rows of both causes are due at their own times. */
static void a_quarantine_ends_at_its_time_beside_a_hold_that_lasts(void **state)
{
	struct fabric f;

	begin(&f);
	ask(&f, LEAF, UPLINK);
	links_out_ask(&f, &(struct out_ask){ .cause = OUT_QUARANTINE,
					     .node = LEAF + 1,
					     .port = UPLINK + 1,
					     .why = "many errors" });
	f.module->annotate(f.room, &f.inventory);
	assert_true(is_out(&f, LEAF + 1, UPLINK + 1));
	fake_run_for(&f, 61 * SECOND_US);
	f.module->annotate(f.room, &f.inventory);
	assert_true(is_out(&f, LEAF, UPLINK));
	assert_false(is_out(&f, LEAF + 1, UPLINK + 1));
	clean_for(&f, 600 * SECOND_US);
	fake_run_for(&f, 11 * SECOND_US);
	assert_int_equal(fake_events(&f, "released", NULL), 2);
	room_fini(&f);
}

/* The link is out again, and ends as it would have without the release. */
static void a_release_of_a_hold_that_is_taken_back_leaves_nothing_behind(void **state)
{
	struct answer answer = { 0 };
	struct fabric f;

	begin(&f);
	ask(&f, LEAF, UPLINK);
	links_out_release(&f, "leaf-0:5", room_answer_cb, &answer);
	fake_pipe_answer(&f, "new forwarding tables failed verification");
	f.module->annotate(f.room, &f.inventory);
	assert_true(is_out(&f, LEAF, UPLINK));
	clean_for(&f, 600 * SECOND_US);
	fake_run_for(&f, 11 * SECOND_US);
	assert_int_equal(fake_events(&f, "released", NULL), 2); /* one of a release not applied */
	assert_null(links_out_clean_us(&f, LEAF, UPLINK));
	room_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_is_held_until_it_was_clean_for_its_time),
		cmocka_unit_test(what_is_asked_for_again_and_again_is_held_once),
		cmocka_unit_test(a_link_that_fails_again_has_to_be_clean_for_twice_as_long),
		cmocka_unit_test(a_restart_keeps_what_was_held),
		cmocka_unit_test(a_leaf_keeps_its_share_and_a_switch_its_last_path),
		cmocka_unit_test(a_held_link_carries_again_when_it_has_become_the_last_path),
		cmocka_unit_test(a_hold_that_isolates_nothing_is_told_and_takes_no_place),
		cmocka_unit_test(so_many_are_held_at_once_and_no_more),
		cmocka_unit_test(excluded_links_and_hosts_links_stay_in_use),
		cmocka_unit_test(a_dry_run_reports_and_does_nothing),
		cmocka_unit_test(a_release_counts_whoever_quarantined_the_link),
		cmocka_unit_test(a_quarantine_ends_at_its_time_beside_a_hold_that_lasts),
		cmocka_unit_test(a_release_of_a_hold_that_is_taken_back_leaves_nothing_behind),
		cmocka_unit_test(what_an_operator_released_is_left_alone_until_it_was_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
