/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whose control packets are obeyed, refused, or doubted until their sender has been asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/sm/election.h"

#define US	0x50
#define OTHER	0x10
#define ANOTHER 0x20

enum { HANDOVER = 1, ACKNOWLEDGE, DISABLE, STANDBY, DISCOVER };

static struct election in_state(enum sm_state state)
{
	return (struct election){ .state = state, .guid = US, .priority = 5, .sm_key = 1 };
}

static struct wire_sm_info sender(guid_t guid, uint8_t priority, enum sm_state state)
{
	return (struct wire_sm_info){
		.guid = guid, .priority = priority, .state = (uint8_t)state, .sm_key = 1
	};
}

/* A standby that polls a master of that priority. */
static struct election following(uint8_t priority)
{
	struct wire_sm_info master = sender(OTHER, priority, SM_MASTER);
	struct election e = in_state(SM_STANDBY);

	election_follow(&e, &master, 0);
	return e;
}

struct verdict {
	enum control_verdict verdict;
	enum election_event event;
	const char *why;
};

static struct verdict judge_at(const struct election *e, uint32_t number, struct wire_sm_info from,
			       const struct wire_sm_info *known, uint64_t now_us)
{
	const struct control packet = { number, &from, known, now_us };
	struct verdict v = { .event = ELECTION_EVENTS };

	v.verdict = control_judge(e, &packet, &v.event, &v.why);
	return v;
}

static struct verdict judge(const struct election *e, uint32_t number, struct wire_sm_info from,
			    const struct wire_sm_info *known)
{
	return judge_at(e, number, from, known, 1);
}

static void assert_obeyed(struct verdict v, enum election_event event)
{
	assert_int_equal(v.verdict, CONTROL_OBEYED);
	assert_int_equal(v.event, event);
}

static void assert_not(struct verdict v, enum control_verdict verdict, const char *why)
{
	assert_int_equal(v.verdict, verdict);
	assert_string_equal(v.why, why);
}

#define assert_refused(v, why) assert_not(v, CONTROL_REFUSED, why)
#define assert_doubted(v, why) assert_not(v, CONTROL_DOUBTED, why)

/* ---- Form ------------------------------------------------------------------------------------ */

static void what_is_no_control_packet_in_this_state_is_refused(void **state)
{
	struct wire_sm_info master = sender(OTHER, 3, SM_MASTER), standby = master;
	struct election e = following(3);

	standby.state = SM_STANDBY;
	assert_obeyed(judge(&e, HANDOVER, master, NULL), ELECTION_HANDOVER);
	assert_obeyed(judge(&e, ACKNOWLEDGE, standby, NULL), ELECTION_ACKNOWLEDGE);
	assert_obeyed(judge(&e, DISABLE, master, NULL), ELECTION_DISABLE);
	assert_obeyed(judge(&e, DISCOVER, master, NULL), ELECTION_DISCOVER);
	assert_refused(judge(&e, STANDBY, master, NULL), "not valid in this state");
	assert_refused(judge(&e, 0, master, NULL), "unknown AttributeModifier");
	assert_refused(judge(&e, 6, master, NULL), "unknown AttributeModifier");
	assert_refused(judge(&e, HANDOVER, standby, NULL), "the sender is in the wrong state");
	assert_refused(judge(&e, ACKNOWLEDGE, master, NULL), "the sender is in the wrong state");
}

static void an_acknowledge_is_one_only_while_a_handover_is_out(void **state)
{
	struct wire_sm_info standby = sender(OTHER, 9, SM_STANDBY);
	struct election e = in_state(SM_MASTER);

	assert_refused(judge(&e, ACKNOWLEDGE, standby, NULL), "not valid in this state");
	election_take(&e, ELECTION_BETTER_WAITS);
	assert_obeyed(judge(&e, ACKNOWLEDGE, standby, NULL), ELECTION_GIVEN);
}

static void a_key_that_is_shown_has_to_be_ours(void **state)
{
	struct wire_sm_info master = sender(OTHER, 3, SM_MASTER), shows = master, hides = master;
	struct election e = following(3);

	master.sm_key = 2;
	assert_refused(judge(&e, HANDOVER, master, NULL), "wrong SM_Key");
	assert_refused(judge(&e, HANDOVER, master, &hides), "wrong SM_Key");
	master.sm_key = hides.sm_key = 0;
	assert_refused(judge(&e, HANDOVER, master, NULL), "wrong SM_Key");
	assert_refused(judge(&e, HANDOVER, master, &shows), "wrong SM_Key");
	assert_obeyed(judge(&e, HANDOVER, master, &hides), ELECTION_HANDOVER);
	e.sm_key = 0;
	master.sm_key = 2;
	assert_obeyed(judge(&e, HANDOVER, master, NULL), ELECTION_HANDOVER);
}

/* Whoever has it shows it to nobody, so that nothing tells a stranger from him but the key. */
static void a_key_of_a_site_s_own_is_demanded(void **state)
{
	struct wire_sm_info hides = sender(OTHER, 3, SM_MASTER), master = hides;
	struct election e = following(3);

	e.sm_key = 0xabc;
	master.sm_key = hides.sm_key = 0;
	assert_refused(judge(&e, HANDOVER, master, &hides), "wrong SM_Key");
	master.sm_key = 0xabc;
	assert_obeyed(judge(&e, HANDOVER, master, &hides), ELECTION_HANDOVER);
}

/* ---- What others answered -------------------------------------------------------------------- */

static void a_master_takes_the_fabric_of_who_answered_that_it_is_master(void **state)
{
	struct wire_sm_info from = sender(OTHER, 3, SM_MASTER), known = from;
	const char *why = "the sender did not answer that it is master";
	struct election e = in_state(SM_MASTER);

	assert_doubted(judge(&e, HANDOVER, from, NULL), why);
	known.state = SM_STANDBY;
	assert_doubted(judge(&e, HANDOVER, from, &known), why);
	known.state = SM_MASTER;
	assert_obeyed(judge(&e, HANDOVER, from, &known), ELECTION_HANDOVER);
}

static void a_standby_takes_it_of_the_master_that_it_polls_and_outranks(void **state)
{
	struct wire_sm_info from = sender(OTHER, 3, SM_MASTER);
	struct election e = following(3);

	assert_obeyed(judge(&e, HANDOVER, from, NULL), ELECTION_HANDOVER);
	from.guid = ANOTHER;
	assert_doubted(judge(&e, HANDOVER, from, &from),
		       "the sender is not the master that is polled");
	from.guid = OTHER; /* what the packet says of its rank proves nothing */
	e = following(9);
	assert_doubted(judge(&e, HANDOVER, from, NULL), "the master outranks this manager");
	e.master.priority = 0; /* an operator's wish, and the latest poll saw it */
	assert_obeyed(judge(&e, HANDOVER, from, NULL), ELECTION_HANDOVER);
}

static void nobody_but_its_master_disables_a_standby(void **state)
{
	struct wire_sm_info stranger = sender(ANOTHER, 15, SM_MASTER);
	const char *why = "the sender is not the master that is polled";
	struct election e = following(3);

	assert_refused(judge(&e, DISABLE, stranger, &stranger), why);
	assert_refused(judge(&e, DISCOVER, stranger, &stranger), why);
	e.state = SM_NOT_ACTIVE; /* to be enabled harms nobody */
	assert_obeyed(judge(&e, STANDBY, stranger, NULL), ELECTION_STANDBY);
}

/* ---- How often ------------------------------------------------------------------------------- */

static void what_begins_all_anew_is_obeyed_once_in_ten_seconds(void **state)
{
	static const struct {
		enum sm_state state;
		uint32_t number;
	} rows[] = { { SM_MASTER, HANDOVER },
		     { SM_DISCOVERING, HANDOVER },
		     { SM_STANDBY, DISCOVER } };
	struct wire_sm_info from = sender(OTHER, 3, SM_MASTER);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct election e = following(3);
		struct verdict v;

		e.state = rows[i].state;
		v = judge_at(&e, rows[i].number, from, &from, 5);
		assert_int_equal(v.verdict, CONTROL_OBEYED);
		control_obeyed(&e, v.event, 5);
		assert_refused(judge_at(&e, rows[i].number, from, &from, 4 + CONTROL_PAUSE_US),
			       "too soon after the previous one");
		v = judge_at(&e, rows[i].number, from, &from, 5 + CONTROL_PAUSE_US);
		assert_int_equal(v.verdict, CONTROL_OBEYED);
	}
}

/* Its rank bears each of them out, and operators may change their minds. */
static void a_standby_that_outranks_its_master_does_not_wait(void **state)
{
	struct wire_sm_info from = sender(OTHER, 3, SM_MASTER);
	struct election e = following(3);

	control_obeyed(&e, ELECTION_HANDOVER, 5);
	assert_obeyed(judge_at(&e, HANDOVER, from, NULL, 6), ELECTION_HANDOVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_control_packet_in_this_state_is_refused),
		cmocka_unit_test(an_acknowledge_is_one_only_while_a_handover_is_out),
		cmocka_unit_test(a_key_that_is_shown_has_to_be_ours),
		cmocka_unit_test(a_key_of_a_site_s_own_is_demanded),
		cmocka_unit_test(a_master_takes_the_fabric_of_who_answered_that_it_is_master),
		cmocka_unit_test(a_standby_takes_it_of_the_master_that_it_polls_and_outranks),
		cmocka_unit_test(nobody_but_its_master_disables_a_standby),
		cmocka_unit_test(what_begins_all_anew_is_obeyed_once_in_ten_seconds),
		cmocka_unit_test(a_standby_that_outranks_its_master_does_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
