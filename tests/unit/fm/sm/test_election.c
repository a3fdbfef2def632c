/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The election's table row by row (IBA 14.4.1), ranks and polls. Nothing but the module is linked
 * that decides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/election.h"

#define US	0x50
#define PERIOD	1000000ull
#define RETRIES 3

static struct election in_state(enum sm_state state)
{
	return (struct election){ .state = state, .guid = US, .priority = 5, .sm_key = 1 };
}

static struct wire_sm_info other(guid_t guid, uint8_t priority, enum sm_state state)
{
	return (struct wire_sm_info){
		.guid = guid, .priority = priority, .state = (uint8_t)state, .sm_key = 1
	};
}

/* ---- The table ------------------------------------------------------------------------------- */

struct row {
	enum sm_state state;
	enum election_event event;
	enum sm_state next;
	enum election_action act;
};

/* IBA 14.4.1's figure and table. What is not here changes nothing. */
static const struct row rows[] = {
	{ SM_DISCOVERING, ELECTION_NONE_BETTER, SM_MASTER, ELECTION_BECOME_MASTER },
	{ SM_DISCOVERING, ELECTION_MASTER_MET, SM_STANDBY, ELECTION_STAND_BY },
	{ SM_DISCOVERING, ELECTION_BETTER_MET, SM_STANDBY, ELECTION_STAND_BY },
	{ SM_DISCOVERING, ELECTION_FOREIGN_MET, SM_STANDBY, ELECTION_STAND_BY },
	{ SM_DISCOVERING, ELECTION_HANDOVER, SM_DISCOVERING, ELECTION_BEGIN_ANEW },
	{ SM_DISCOVERING, ELECTION_ACKNOWLEDGE, SM_DISCOVERING, ELECTION_REFUSE },
	{ SM_DISCOVERING, ELECTION_DISABLE, SM_DISCOVERING, ELECTION_REFUSE },
	{ SM_DISCOVERING, ELECTION_STANDBY, SM_DISCOVERING, ELECTION_REFUSE },
	{ SM_DISCOVERING, ELECTION_DISCOVER, SM_DISCOVERING, ELECTION_REFUSE },
	{ SM_STANDBY, ELECTION_LOST, SM_DISCOVERING, ELECTION_BEGIN_ANEW },
	{ SM_STANDBY, ELECTION_TAKE, SM_DISCOVERING, ELECTION_BEGIN_ANEW },
	{ SM_STANDBY, ELECTION_HANDOVER, SM_MASTER, ELECTION_TAKE_OVER },
	{ SM_STANDBY, ELECTION_ACKNOWLEDGE, SM_STANDBY, ELECTION_STAY },
	{ SM_STANDBY, ELECTION_DISABLE, SM_NOT_ACTIVE, ELECTION_GO_INACTIVE },
	{ SM_STANDBY, ELECTION_STANDBY, SM_STANDBY, ELECTION_REFUSE },
	{ SM_STANDBY, ELECTION_DISCOVER, SM_DISCOVERING, ELECTION_BEGIN_ANEW },
	{ SM_MASTER, ELECTION_BETTER_WAITS, SM_MASTER, ELECTION_HAND_OVER },
	{ SM_MASTER, ELECTION_WORSE_MASTER, SM_MASTER, ELECTION_WARN },
	{ SM_MASTER, ELECTION_FOREIGN_MASTER, SM_MASTER, ELECTION_WARN },
	{ SM_MASTER, ELECTION_GIVE, SM_MASTER, ELECTION_HAND_OVER },
	{ SM_MASTER, ELECTION_GIVEN, SM_STANDBY, ELECTION_STAND_BY },
	{ SM_MASTER, ELECTION_KEPT, SM_MASTER, ELECTION_RESUME },
	{ SM_MASTER, ELECTION_HANDOVER, SM_MASTER, ELECTION_TAKE_OVER },
	{ SM_MASTER, ELECTION_ACKNOWLEDGE, SM_MASTER, ELECTION_REFUSE },
	{ SM_MASTER, ELECTION_DISABLE, SM_MASTER, ELECTION_REFUSE },
	{ SM_MASTER, ELECTION_STANDBY, SM_MASTER, ELECTION_REFUSE },
	{ SM_MASTER, ELECTION_DISCOVER, SM_MASTER, ELECTION_REFUSE },
	{ SM_STANDBY, ELECTION_PORT_LOST, SM_DISCOVERING, ELECTION_BEGIN_ANEW },
	{ SM_MASTER, ELECTION_PORT_LOST, SM_DISCOVERING, ELECTION_BEGIN_ANEW },
	{ SM_MASTER, ELECTION_STOOD_STILL, SM_DISCOVERING, ELECTION_BEGIN_ANEW },
	{ SM_NOT_ACTIVE, ELECTION_LOST, SM_DISCOVERING, ELECTION_BEGIN_ANEW },
	{ SM_NOT_ACTIVE, ELECTION_HANDOVER, SM_NOT_ACTIVE, ELECTION_REFUSE },
	{ SM_NOT_ACTIVE, ELECTION_ACKNOWLEDGE, SM_NOT_ACTIVE, ELECTION_REFUSE },
	{ SM_NOT_ACTIVE, ELECTION_DISABLE, SM_NOT_ACTIVE, ELECTION_REFUSE },
	{ SM_NOT_ACTIVE, ELECTION_STANDBY, SM_STANDBY, ELECTION_STAND_BY },
	{ SM_NOT_ACTIVE, ELECTION_DISCOVER, SM_NOT_ACTIVE, ELECTION_REFUSE },
};

static const struct row *find_row(enum sm_state state, enum election_event event)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].state == state && rows[i].event == event)
			return &rows[i];
	return NULL;
}

static void every_row_of_the_table_leads_where_it_should(void **state)
{
	for (unsigned s = 0; s < SM_STATES; s++) {
		for (unsigned event = 0; event < ELECTION_EVENTS; event++) {
			const struct row *row = find_row(s, event);
			struct election e = in_state(s);
			enum election_action act = election_take(&e, event);

			assert_int_equal(act, row ? row->act : ELECTION_STAY);
			assert_int_equal(e.state, row ? row->next : s);
			assert_int_equal(e.waits == ELECTION_HANDING, act == ELECTION_HAND_OVER);
		}
	}
}

static void a_handover_that_came_to_an_end_is_out_no_more(void **state)
{
	struct election e = in_state(SM_MASTER);

	election_take(&e, ELECTION_BETTER_WAITS);
	assert_int_equal(e.waits, ELECTION_HANDING);
	election_take(&e, ELECTION_ALIVE);
	assert_int_equal(e.waits, ELECTION_HANDING);
	election_take(&e, ELECTION_KEPT);
	assert_int_equal(e.waits, ELECTION_NOT_WAITING);
}

/* Whoever ruled since we stood still, or were not heard, goes on: we show 0. */
static void a_master_that_doubts_gives_way_to_who_ruled_meanwhile(void **state)
{
	struct election e = in_state(SM_MASTER);

	election_take(&e, ELECTION_STOOD_STILL);
	assert_int_equal(election_priority(&e), 5);
	election_take(&e, ELECTION_MASTER_MET);
	assert_int_equal(election_priority(&e), 0);
	election_take(&e, ELECTION_LOST);
	assert_int_equal(election_priority(&e), 5);

	/* Nobody did; what is met later is another matter. */
	election_take(&e, ELECTION_NONE_BETTER);
	election_take(&e, ELECTION_STOOD_STILL);
	election_take(&e, ELECTION_NONE_BETTER);
	election_take(&e, ELECTION_PORT_LOST);
	election_take(&e, ELECTION_MASTER_MET);
	assert_int_equal(election_priority(&e), 5);
}

/* ---- Ranks ----------------------------------------------------------------------------------- */

static void the_higher_priority_wins_then_the_lower_guid(void **state)
{
	struct wire_sm_info a = other(2, 7, SM_STANDBY), b = other(1, 6, SM_STANDBY);

	assert_true(election_outranks(&a, &b) && !election_outranks(&b, &a));
	b.priority = 7;
	assert_true(election_outranks(&b, &a) && !election_outranks(&a, &b));
	assert_false(election_outranks(&a, &a));
}

static void judged(enum sm_state ours, const struct wire_sm_info *others, unsigned count,
		   enum election_event event, int whom)
{
	struct election e = in_state(ours);
	int index;

	assert_int_equal(election_judge(&e, others, count, &index), event);
	assert_int_equal(index, whom);
}

static void other_managers_are_judged_by_state_then_rank(void **state)
{
	const struct wire_sm_info all[] = {
		other(0x10, 4, SM_MASTER),     other(0x20, 5, SM_STANDBY),
		other(0x30, 9, SM_NOT_ACTIVE), other(0x40, 8, SM_DISCOVERING),
		other(0x60, 5, SM_STANDBY),
	};

	judged(SM_DISCOVERING, NULL, 0, ELECTION_NONE_BETTER, -1);
	judged(SM_DISCOVERING, all, 5, ELECTION_MASTER_MET, 0); /* though it is a lower one */
	judged(SM_DISCOVERING, all + 1, 4, ELECTION_BETTER_MET, 2);
	judged(SM_DISCOVERING, all + 1, 2, ELECTION_BETTER_MET, 0);
	judged(SM_DISCOVERING, all + 2, 1, ELECTION_NONE_BETTER, -1);
	judged(SM_DISCOVERING, all + 4, 1, ELECTION_NONE_BETTER, -1);
	judged(SM_MASTER, NULL, 0, ELECTION_NONE_BETTER, -1);
	judged(SM_MASTER, all, 5, ELECTION_BETTER_WAITS, 1);
	judged(SM_MASTER, all, 1, ELECTION_WORSE_MASTER, 0);
	judged(SM_MASTER, all + 2, 3, ELECTION_NONE_BETTER,
	       -1); /* one that looks still can't take over */
}

static void a_state_that_is_none_is_ignored(void **state)
{
	struct wire_sm_info info = other(0x10, 9, 7);

	judged(SM_DISCOVERING, &info, 1, ELECTION_NONE_BETTER, -1);
}

/*
 * What it would do is not known, so it is not fought; and a fabric that is ours is not left to it.
 */
static void a_master_with_another_sm_key_is_stood_by_for_or_shouted_about(void **state)
{
	struct wire_sm_info both[] = { other(0x10, 0, SM_MASTER), other(0x60, 3, SM_MASTER) };

	both[0].sm_key = 2;
	judged(SM_DISCOVERING, both, 1, ELECTION_FOREIGN_MET, 0);
	judged(SM_MASTER, both, 1, ELECTION_FOREIGN_MASTER, 0);
	judged(SM_DISCOVERING, both, 2, ELECTION_MASTER_MET, 1);
	judged(SM_MASTER, both, 2, ELECTION_WORSE_MASTER, 1);
	both[0].state = SM_STANDBY;
	judged(SM_DISCOVERING, both, 1, ELECTION_NONE_BETTER, -1);
	judged(SM_MASTER, both, 1, ELECTION_NONE_BETTER, -1);
}

/* IBA 14.2.5.13: shown to who has the M_Key; OpenSM before 3.3.21 shows it to nobody. */
static void a_master_that_was_passed_over_is_shouted_about_alone(void **state)
{
	struct wire_sm_info met[] = { other(1, 15, SM_MASTER), other(2, 4, SM_STANDBY) };
	struct election e = in_state(SM_DISCOVERING);
	int whom;

	assert_int_equal(election_judge(&e, met, 2, &whom), ELECTION_MASTER_MET);
	e.passed_over = 1;
	assert_int_equal(election_judge(&e, met, 2, &whom), ELECTION_NONE_BETTER);
	e.state = SM_MASTER;
	assert_int_equal(election_judge(&e, met, 2, &whom), ELECTION_FOREIGN_MASTER);
	assert_int_equal(whom, 0);
	met[1].priority = 6;
	assert_int_equal(election_judge(&e, met, 2, &whom), ELECTION_BETTER_WAITS);
	assert_int_equal(whom, 1);
}

static void the_sm_key_of_before_is_as_good_while_it_is_changed(void **state)
{
	struct election e = in_state(SM_STANDBY);
	struct wire_sm_info info = { .sm_key = 2 };

	assert_true(election_is_foreign(&e, &info));
	election_configure(&e, 5, 0, 1, 2);
	assert_false(election_is_foreign(&e, &info));
	info.sm_key = 3;
	assert_true(election_is_foreign(&e, &info));
}

static void an_sm_key_that_is_not_shown_is_no_other_one(void **state)
{
	struct wire_sm_info info = other(0x10, 9, SM_MASTER);

	info.sm_key = 0;
	judged(SM_DISCOVERING, &info, 1, ELECTION_MASTER_MET, 0);
	judged(SM_MASTER, &info, 1, ELECTION_BETTER_WAITS, 0);
}

/* ---- Priorities ------------------------------------------------------------------------------ */

static struct election damped(enum sm_state state)
{
	struct election e = in_state(state);

	e.master_priority = 14;
	return e;
}

static void a_master_is_not_displaced_by_one_that_comes_back(void **state)
{
	const struct wire_sm_info higher = other(0x10, 9, SM_STANDBY),
				  highest = other(0x10, 15, SM_STANDBY);
	struct election e = damped(SM_MASTER);
	int whom;

	assert_int_equal(election_priority(&e), 14);
	assert_int_equal(election_judge(&e, &higher, 1, &whom), ELECTION_NONE_BETTER);
	assert_int_equal(election_judge(&e, &highest, 1, &whom), ELECTION_BETTER_WAITS);
	e.priority = 15; /* never less than its own */
	assert_int_equal(election_priority(&e), 15);
	e = damped(SM_STANDBY);
	assert_int_equal(election_priority(&e), 5);
	e = damped(SM_DISCOVERING);
	assert_int_equal(election_priority(&e), 5);
}

static void a_lowered_priority_goes_before_that(void **state)
{
	const struct wire_sm_info standby = other(0x10, 3, SM_STANDBY);
	struct election e = damped(SM_MASTER);
	int whom;

	election_configure(&e, 5, 14, 1, 0);
	assert_int_equal(election_priority(&e), 14);
	election_configure(&e, 2, 14, 1, 0);
	assert_int_equal(election_priority(&e), 2);
	election_configure(&e, 2, 14, 1, 0); /* a reload for something else */
	assert_int_equal(election_priority(&e), 2);
	assert_int_equal(election_judge(&e, &standby, 1, &whom), ELECTION_BETTER_WAITS);
	election_take(&e, ELECTION_BETTER_WAITS);
	election_take(&e, ELECTION_GIVEN);
	assert_int_equal(election_priority(&e), 0);
	election_configure(&e, 2, 14, 1, 0);
	assert_int_equal(election_priority(&e), 0);
	election_configure(&e, 4, 14, 1, 0);
	assert_int_equal(election_priority(&e), 4);
	e = damped(SM_MASTER);
	election_configure(&e, 2, 14, 1, 0);
	election_configure(&e, 6, 14, 1, 0); /* taken back */
	assert_int_equal(election_priority(&e), 14);
}

static void a_master_that_handed_over_on_request_shows_0_until_the_new_master_is_gone(void **state)
{
	struct election e = damped(SM_MASTER);

	election_take(&e, ELECTION_GIVE);
	assert_int_equal(e.waits, ELECTION_HANDING);
	assert_int_equal(election_priority(&e), 0);
	election_take(&e, ELECTION_KEPT);
	assert_int_equal(election_priority(&e), 14);
	election_take(&e, ELECTION_GIVE);
	election_take(&e, ELECTION_GIVEN);
	assert_int_equal(election_priority(&e), 0);
	election_take(&e, ELECTION_LOST);
	assert_int_equal(election_priority(&e), 5);
	e = damped(SM_MASTER); /* one that was outranked gave by the rules */
	election_take(&e, ELECTION_BETTER_WAITS);
	election_take(&e, ELECTION_GIVEN);
	assert_int_equal(election_priority(&e), 5);
}

static void a_requested_handover_goes_to_the_highest_standby_of_ours_or_to_the_one_named(
	void **state)
{
	struct wire_sm_info all[] = { other(0x10, 9, SM_NOT_ACTIVE), other(0x20, 3, SM_STANDBY),
				      other(0x30, 4, SM_STANDBY), other(0x40, 8, SM_STANDBY) };
	struct election e = damped(SM_MASTER);

	all[3].sm_key = 2;
	assert_int_equal(election_handover_peer(&e, all, 4, 0), 2);
	assert_int_equal(election_handover_peer(&e, all, 1, 0), -1);
	assert_int_equal(election_handover_peer(&e, all, 4, 0x20), 1);
	assert_int_equal(election_handover_peer(&e, all, 4, 0x10), -1); /* no standby */
	assert_int_equal(election_handover_peer(&e, all, 4, 0x40), -1); /* another SM_Key */
	assert_int_equal(election_handover_peer(&e, all, 4, 0x50), -1);
}

/* ---- Polls ----------------------------------------------------------------------------------- */

static struct election following(struct wire_sm_info master)
{
	struct election e = in_state(SM_STANDBY);

	election_follow(&e, &master, 0);
	return e;
}

static void silence_of_so_many_polls_in_a_row_is_a_dead_master(void **state)
{
	struct wire_sm_info master = other(0x10, 9, SM_MASTER);
	struct election e = following(master);

	for (unsigned i = 1; i < RETRIES; i++)
		assert_int_equal(election_polled(&e, NULL, RETRIES, i * PERIOD), ELECTION_ALIVE);
	master.act_count++;
	assert_int_equal(election_polled(&e, &master, RETRIES, 3 * PERIOD), ELECTION_ALIVE);
	for (unsigned i = 1; i < RETRIES; i++)
		assert_int_equal(election_polled(&e, NULL, RETRIES, 4 * PERIOD), ELECTION_ALIVE);
	assert_int_equal(election_polled(&e, NULL, RETRIES, 5 * PERIOD), ELECTION_LOST);
}

static void the_answer_of_somebody_else_is_none(void **state)
{
	struct election e = following(other(0x10, 9, SM_MASTER));
	struct wire_sm_info stranger = other(0x11, 9, SM_MASTER);

	assert_int_equal(election_polled(&e, &stranger, 1, PERIOD), ELECTION_LOST);
	e = following(other(0x10, 9, SM_MASTER));
	stranger = other(0x10, 9, SM_MASTER);
	stranger.sm_key = 2;
	assert_int_equal(election_polled(&e, &stranger, 1, PERIOD), ELECTION_LOST);
	e = following(stranger); /* one that was stood by for all the same */
	assert_int_equal(election_polled(&e, &stranger, 1, PERIOD), ELECTION_ALIVE);
}

static void a_master_that_ceased_to_be_one_is_lost_at_once(void **state)
{
	for (unsigned s = 0; s < SM_STATES; s++) {
		struct election e = following(other(0x10, 9, SM_MASTER));
		struct wire_sm_info now = other(0x10, 9, s);

		assert_int_equal(election_polled(&e, &now, RETRIES, PERIOD),
				 s == SM_MASTER ? ELECTION_ALIVE : ELECTION_LOST);
	}
}

static void a_higher_one_that_is_no_master_yet_is_waited_for(void **state)
{
	struct election e = following(other(0x10, 9, SM_DISCOVERING));
	struct wire_sm_info now = other(0x10, 9, SM_STANDBY);

	assert_int_equal(election_polled(&e, &now, RETRIES, PERIOD), ELECTION_ALIVE);
	now.priority = 1;
	assert_int_equal(election_polled(&e, &now, RETRIES, PERIOD), ELECTION_LOST);
	e = following(other(0x10, 9, SM_DISCOVERING));
	now = other(0x10, 9, SM_NOT_ACTIVE);
	assert_int_equal(election_polled(&e, &now, RETRIES, PERIOD), ELECTION_LOST);
}

static void an_activity_count_that_stands_still_is_death_until_it_moves(void **state)
{
	struct wire_sm_info master = other(0x10, 9, SM_MASTER);
	struct election e = following(master);
	int whom;

	assert_int_equal(election_polled(&e, &master, RETRIES, ELECTION_STUCK_US - 1),
			 ELECTION_ALIVE);
	master.act_count++;
	assert_int_equal(election_polled(&e, &master, RETRIES, ELECTION_STUCK_US), ELECTION_ALIVE);
	assert_int_equal(election_polled(&e, &master, RETRIES, 2 * ELECTION_STUCK_US),
			 ELECTION_LOST);
	e.state = SM_DISCOVERING;
	assert_int_equal(election_judge(&e, &master, 1, &whom), ELECTION_NONE_BETTER);
	master.act_count++;
	assert_int_equal(election_judge(&e, &master, 1, &whom), ELECTION_MASTER_MET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_of_the_table_leads_where_it_should),
		cmocka_unit_test(a_handover_that_came_to_an_end_is_out_no_more),
		cmocka_unit_test(a_master_that_doubts_gives_way_to_who_ruled_meanwhile),
		cmocka_unit_test(the_higher_priority_wins_then_the_lower_guid),
		cmocka_unit_test(other_managers_are_judged_by_state_then_rank),
		cmocka_unit_test(a_state_that_is_none_is_ignored),
		cmocka_unit_test(a_master_with_another_sm_key_is_stood_by_for_or_shouted_about),
		cmocka_unit_test(a_master_that_was_passed_over_is_shouted_about_alone),
		cmocka_unit_test(the_sm_key_of_before_is_as_good_while_it_is_changed),
		cmocka_unit_test(an_sm_key_that_is_not_shown_is_no_other_one),
		cmocka_unit_test(a_master_is_not_displaced_by_one_that_comes_back),
		cmocka_unit_test(a_lowered_priority_goes_before_that),
		cmocka_unit_test(
			a_master_that_handed_over_on_request_shows_0_until_the_new_master_is_gone),
		cmocka_unit_test(
			a_requested_handover_goes_to_the_highest_standby_of_ours_or_to_the_one_named),
		cmocka_unit_test(silence_of_so_many_polls_in_a_row_is_a_dead_master),
		cmocka_unit_test(the_answer_of_somebody_else_is_none),
		cmocka_unit_test(a_master_that_ceased_to_be_one_is_lost_at_once),
		cmocka_unit_test(a_higher_one_that_is_no_master_yet_is_waited_for),
		cmocka_unit_test(an_activity_count_that_stands_still_is_death_until_it_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
