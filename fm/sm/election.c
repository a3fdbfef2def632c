/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The state machine of subnet managers (IBA 14.4.1) as a table: state x event -> next state and
 * action.
 *
 *   DISCOVERING   a sweep by Gets; then a manager that is master stays it, whatever its rank,
 *                 and we stand by; without one, the highest rank wins
 *   STANDBY       polls the master. When that is silent for too long: DISCOVERING, so a path
 *                 that is cut is no dead master
 *   MASTER        asks the others now and then. One that outranks us gets a HANDOVER when it is
 *                 ready for it; of two masters the lower one hands over, the higher one waits
 *                 for that
 *   NOT-ACTIVE    a master has disabled us, and a master can end it. That one is polled as by a
 *                 STANDBY: who keeps us out and is gone itself would leave a fabric without any
 *
 * Rank is the priority, then the lower port GUID. A master shows a higher priority than it has
 * (master_priority), so that one that was away does not take the fabric back by itself, for each
 * change costs all hosts a registration; an operator's wish goes before that, and so does a master
 * that took over from one that stood still or was not heard. A manager with
 * another SM_Key than ours (0 = any) can't be judged. Where it is master we stand by for it, but a
 * master that never left stays one. Who goes on answering with the same ActCount for
 * ELECTION_STUCK_US does not work any more and counts as silent, until it moves.
 */
#include "fm/sm/election.h"

#define STAY(state)                                                                                \
	{                                                                                          \
		SM_##state, ELECTION_STAY                                                          \
	}
#define REFUSE(state)                                                                              \
	{                                                                                          \
		SM_##state, ELECTION_REFUSE                                                        \
	}

/* Events that are not listed change nothing. */
static const struct election_step table[SM_STATES][ELECTION_EVENTS] = {
	[SM_DISCOVERING] = {
		[ELECTION_NONE_BETTER] = { SM_MASTER, ELECTION_BECOME_MASTER },
		[ELECTION_MASTER_MET] = { SM_STANDBY, ELECTION_STAND_BY },
		[ELECTION_BETTER_MET] = { SM_STANDBY, ELECTION_STAND_BY },
		[ELECTION_FOREIGN_MET] = { SM_STANDBY, ELECTION_STAND_BY },
		/* Its sender gives up. */
		[ELECTION_HANDOVER] = { SM_DISCOVERING, ELECTION_BEGIN_ANEW },
		[ELECTION_ACKNOWLEDGE] = REFUSE(DISCOVERING),
		[ELECTION_DISABLE] = REFUSE(DISCOVERING),
		[ELECTION_STANDBY] = REFUSE(DISCOVERING),
		[ELECTION_DISCOVER] = REFUSE(DISCOVERING),
	},
	[SM_STANDBY] = {
		[ELECTION_LOST] = { SM_DISCOVERING, ELECTION_BEGIN_ANEW },
		[ELECTION_TAKE] = { SM_DISCOVERING, ELECTION_BEGIN_ANEW },
		[ELECTION_PORT_LOST] = { SM_DISCOVERING, ELECTION_BEGIN_ANEW },
		[ELECTION_HANDOVER] = { SM_MASTER, ELECTION_TAKE_OVER },
		[ELECTION_ACKNOWLEDGE] = STAY(STANDBY), /* of the HANDOVER that brought us here */
		[ELECTION_DISABLE] = { SM_NOT_ACTIVE, ELECTION_GO_INACTIVE },
		[ELECTION_STANDBY] = REFUSE(STANDBY),
		[ELECTION_DISCOVER] = { SM_DISCOVERING, ELECTION_BEGIN_ANEW },
	},
	[SM_MASTER] = {
		[ELECTION_BETTER_WAITS] = { SM_MASTER, ELECTION_HAND_OVER },
		[ELECTION_WORSE_MASTER] = { SM_MASTER, ELECTION_WARN },
		[ELECTION_FOREIGN_MASTER] = { SM_MASTER, ELECTION_WARN },
		[ELECTION_GIVE] = { SM_MASTER, ELECTION_HAND_OVER },
		[ELECTION_GIVEN] = { SM_STANDBY, ELECTION_STAND_BY },
		[ELECTION_KEPT] = { SM_MASTER, ELECTION_RESUME },
		[ELECTION_PORT_LOST] = { SM_DISCOVERING, ELECTION_BEGIN_ANEW },
		[ELECTION_STOOD_STILL] = { SM_DISCOVERING, ELECTION_BEGIN_ANEW },
		/* What its sender wrote is not known here. */
		[ELECTION_HANDOVER] = { SM_MASTER, ELECTION_TAKE_OVER },
		[ELECTION_ACKNOWLEDGE] = REFUSE(MASTER),
		[ELECTION_DISABLE] = REFUSE(MASTER),
		[ELECTION_STANDBY] = REFUSE(MASTER),
		[ELECTION_DISCOVER] = REFUSE(MASTER),
	},
	[SM_NOT_ACTIVE] = {
		[ELECTION_HANDOVER] = REFUSE(NOT_ACTIVE),
		[ELECTION_ACKNOWLEDGE] = REFUSE(NOT_ACTIVE),
		[ELECTION_DISABLE] = REFUSE(NOT_ACTIVE),
		[ELECTION_STANDBY] = { SM_STANDBY, ELECTION_STAND_BY },
		[ELECTION_DISCOVER] = REFUSE(NOT_ACTIVE),
		[ELECTION_LOST] = { SM_DISCOVERING, ELECTION_BEGIN_ANEW },
	},
};

const char *sm_state_name(enum sm_state state)
{
	static const char *const names[SM_STATES] = { "not active", "discovering", "standby",
						      "master" };

	return (unsigned)state < SM_STATES ? names[state] : "unknown";
}

/* ---- Ranks ----------------------------------------------------------------------------------- */

bool election_outranks(const struct wire_sm_info *a, const struct wire_sm_info *b)
{
	return a->priority > b->priority || (a->priority == b->priority && a->guid < b->guid);
}

uint8_t election_priority(const struct election *e)
{
	if (e->gave || e->waits == ELECTION_READING)
		return 0;
	if (e->state == SM_MASTER && !e->lowered && e->master_priority > e->priority)
		return e->master_priority;
	return e->priority;
}

void election_configure(struct election *e, uint8_t priority, uint8_t master_priority,
			uint64_t sm_key, uint64_t old_sm_key)
{
	if (priority != e->priority || master_priority != e->master_priority) {
		e->gave = false;
		e->lowered = e->state == SM_MASTER &&
			     (priority < e->priority || (e->lowered && priority == e->priority));
	}
	e->priority = priority;
	e->master_priority = master_priority;
	e->sm_key = sm_key;
	e->old_sm_key = old_sm_key;
}

bool election_outranks_us(const struct election *e, const struct wire_sm_info *other)
{
	const struct wire_sm_info us = { .guid = e->guid, .priority = election_priority(e) };

	return election_outranks(other, &us);
}

bool election_key_is_ours(const struct election *e, uint64_t sm_key)
{
	return sm_key == e->sm_key || (e->old_sm_key && sm_key == e->old_sm_key);
}

bool election_is_foreign(const struct election *e, const struct wire_sm_info *other)
{
	return e->sm_key && other->sm_key && !election_key_is_ours(e, other->sm_key);
}

static bool is_stuck(const struct election *e, const struct wire_sm_info *other)
{
	return e->stuck.guid == other->guid && e->stuck.act_count == other->act_count;
}

bool election_ignores(const struct election *e, const struct wire_sm_info *other)
{
	return election_is_foreign(e, other) || is_stuck(e, other) ||
	       (e->passed_over && e->passed_over == other->guid);
}

/* ---- What the others answered ---------------------------------------------------------------- */

static unsigned bit(enum sm_state state)
{
	return 1u << state;
}

/* The highest of those in one of the states, -1 = there is none. */
static int highest(const struct election *e, const struct wire_sm_info *others, unsigned count,
		   unsigned states)
{
	int best = -1;

	for (unsigned i = 0; i < count; i++)
		if (others[i].state < SM_STATES && states & bit(others[i].state) &&
		    !election_ignores(e, &others[i]) &&
		    (best < 0 || election_outranks(&others[i], &others[best])))
			best = i;
	return best;
}

/* A master with another SM_Key, or beside us one that was passed over, -1 = there is none. */
static int foreign_master(const struct election *e, const struct wire_sm_info *others,
			  unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (others[i].state == SM_MASTER && !is_stuck(e, &others[i]) &&
		    (e->passed_over == others[i].guid ? e->state == SM_MASTER
						      : election_is_foreign(e, &others[i])))
			return i;
	return -1;
}

int election_handover_peer(const struct election *e, const struct wire_sm_info *others,
			   unsigned count, guid_t whom)
{
	if (!whom)
		return highest(e, others, count, bit(SM_STANDBY));
	for (unsigned i = 0; i < count; i++)
		if (others[i].guid == whom && others[i].state == SM_STANDBY &&
		    !election_ignores(e, &others[i]))
			return i;
	return -1;
}

enum election_event election_judge(const struct election *e, const struct wire_sm_info *others,
				   unsigned count, int *whom)
{
	if (e->state == SM_MASTER) {
		*whom = highest(e, others, count, bit(SM_MASTER) | bit(SM_STANDBY));
		if (*whom >= 0 && election_outranks_us(e, &others[*whom]))
			return ELECTION_BETTER_WAITS;
		*whom = highest(e, others, count, bit(SM_MASTER));
		if (*whom >= 0)
			return ELECTION_WORSE_MASTER;
		*whom = foreign_master(e, others, count);
		return *whom >= 0 ? ELECTION_FOREIGN_MASTER : ELECTION_NONE_BETTER;
	}
	*whom = highest(e, others, count, bit(SM_MASTER));
	if (*whom >= 0)
		return ELECTION_MASTER_MET;
	*whom = foreign_master(e, others, count);
	if (*whom >= 0)
		return ELECTION_FOREIGN_MET;
	*whom = highest(e, others, count, bit(SM_DISCOVERING) | bit(SM_STANDBY));
	if (*whom >= 0 && election_outranks_us(e, &others[*whom]))
		return ELECTION_BETTER_MET;
	*whom = -1;
	return ELECTION_NONE_BETTER;
}

/* ---- Polls ----------------------------------------------------------------------------------- */

void election_follow(struct election *e, const struct wire_sm_info *master, uint64_t now_us)
{
	e->master = *master;
	e->missed = 0;
	e->moved_us = now_us;
}

enum election_event election_polled(struct election *e, const struct wire_sm_info *info,
				    unsigned retries, uint64_t now_us)
{
	if (!info || info->guid != e->master.guid || is_stuck(e, info) ||
	    (election_is_foreign(e, info) && !election_is_foreign(e, &e->master)))
		return ++e->missed >= retries ? ELECTION_LOST : ELECTION_ALIVE;
	/*
	 * One that outranks us and is not master yet is waited for; one that was master and is not
	 * any more has handed over to somebody.
	 */
	if (info->state != SM_MASTER &&
	    (info->state == SM_NOT_ACTIVE || e->master.state == SM_MASTER ||
	     !election_outranks_us(e, info)))
		return ELECTION_LOST;
	if (info->act_count != e->master.act_count)
		e->moved_us = now_us;
	e->missed = 0;
	e->master = *info;
	if (now_us - e->moved_us < ELECTION_STUCK_US)
		return ELECTION_ALIVE;
	e->stuck = *info;
	return ELECTION_LOST;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

struct election_step election_step(const struct election *e, enum election_event event)
{
	return table[e->state][event];
}

enum election_action election_take(struct election *e, enum election_event event)
{
	const struct election_step *step = &table[e->state][event];

	if (step->act == ELECTION_STAY || step->act == ELECTION_REFUSE)
		return step->act;
	e->state = step->next;
	if (step->act == ELECTION_HAND_OVER)
		e->waits = ELECTION_HANDING;
	else if (e->waits == ELECTION_HANDING || e->state != SM_STANDBY)
		e->waits = ELECTION_NOT_WAITING;

	/* An operator's wish lasts until it is done, and what it led to. */
	if (event == ELECTION_GIVE)
		e->gave = true;
	else if (event == ELECTION_GIVEN)
		e->gave |= e->lowered;
	else if (event == ELECTION_MASTER_MET)
		e->gave |= e->doubted;
	else if (event == ELECTION_KEPT || event == ELECTION_LOST || event == ELECTION_HANDOVER ||
		 event == ELECTION_NONE_BETTER)
		e->gave = false;
	if (e->state != SM_MASTER)
		e->lowered = false;
	e->doubted = e->state == SM_DISCOVERING && (e->doubted || event == ELECTION_STOOD_STILL);

	return step->act;
}

/* ---- Control packets of other managers ------------------------------------------------------- */

/* NULL, or why no manager's state could make it right. */
static const char *form_error(const struct election *e, const struct control *c,
			      enum election_event *event)
{
	bool acknowledges = c->number == ELECTION_ACKNOWLEDGE - ELECTION_CONTROL;

	if (!c->number || c->number >= ELECTION_EVENTS - ELECTION_CONTROL)
		return "unknown AttributeModifier";
	/*
	 * A manager that hides its key from our Gets may do so here too; no other may (older
	 * OpenSM: always). A site's own key has to be in the packet: all who have one hide it from
	 * Gets, and so could an unknown sender.
	 */
	if (e->sm_key && !election_key_is_ours(e, c->sender->sm_key) &&
	    (e->sm_key != ELECTION_PUBLIC_KEY || c->sender->sm_key || !c->known ||
	     c->known->sm_key))
		return "wrong SM_Key";
	if (c->sender->state != (acknowledges ? SM_STANDBY : SM_MASTER))
		return "the sender is in the wrong state";
	*event = ELECTION_CONTROL + c->number;
	if (acknowledges && e->waits == ELECTION_HANDING)
		*event = ELECTION_GIVEN;
	return election_step(e, *event).act == ELECTION_REFUSE ? "not valid in this state" : NULL;
}

/* What a manager can be kept from its work by, again and again. */
static bool begins_anew(const struct election *e, enum election_event event)
{
	enum election_action act = election_step(e, event).act;

	return act == ELECTION_BEGIN_ANEW || (act == ELECTION_TAKE_OVER && e->state == SM_MASTER);
}

/* NULL = what is known bears it out. */
static const char *doubt(const struct election *e, const struct control *c,
			 enum election_event event)
{
	if (event != ELECTION_HANDOVER)
		return NULL;
	if (e->state == SM_MASTER && (!c->known || c->known->state != SM_MASTER))
		return "the sender did not answer that it is master";
	if (e->state == SM_STANDBY && !(e->master.guid && e->master.guid == c->sender->guid))
		return "the sender is not the master that is polled";
	/* Of equal priorities the GUIDs decide, and no wish can change these. */
	if (e->state == SM_STANDBY && e->master.priority && election_outranks_us(e, &e->master))
		return "the master outranks this manager";
	return NULL;
}

enum control_verdict control_judge(const struct election *e, const struct control *c,
				   enum election_event *event, const char **why)
{
	*why = form_error(e, c, event);
	/* Nobody but the master that is followed has anything to say to a standby. */
	if (!*why && e->state == SM_STANDBY &&
	    !(e->master.guid && e->master.guid == c->sender->guid) &&
	    (*event == ELECTION_DISABLE || *event == ELECTION_DISCOVER))
		*why = "the sender is not the master that is polled";
	if (!*why && begins_anew(e, *event) && e->obeyed_us &&
	    c->now_us - e->obeyed_us < CONTROL_PAUSE_US)
		*why = "too soon after the previous one";
	if (*why)
		return CONTROL_REFUSED;
	*why = doubt(e, c, *event);
	return *why ? CONTROL_DOUBTED : CONTROL_OBEYED;
}

void control_obeyed(struct election *e, enum election_event event, uint64_t now_us)
{
	if (begins_anew(e, event))
		e->obeyed_us = now_us;
}
