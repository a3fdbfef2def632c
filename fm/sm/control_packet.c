/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sm/control_packet.h"

/*
 * Who hides its key from our Gets may do so here too; nobody else can (older OpenSM: always). A key
 * of a site's own has to be said: all who have one hide it, and a stranger could too.
 */
static bool key_is_right(const struct election *e, const struct control *c)
{
	return !e->sm_key || election_key_is_ours(e, c->sender->sm_key) ||
	       (e->sm_key == ELECTION_PUBLIC_KEY && !c->sender->sm_key && c->known &&
		!c->known->sm_key);
}

/* NULL, or why no manager's state could make it right. */
static const char *form_error(const struct election *e, const struct control *c,
			      enum election_event *event)
{
	bool acknowledges = c->number == ELECTION_ACKNOWLEDGE - ELECTION_CONTROL;

	if (!c->number || c->number >= ELECTION_EVENTS - ELECTION_CONTROL)
		return "unknown AttributeModifier";
	if (!key_is_right(e, c))
		return "wrong SM_Key";
	if (c->sender->state != (acknowledges ? SM_STANDBY : SM_MASTER))
		return "the sender is in the wrong state";
	*event = ELECTION_CONTROL + c->number;
	if (acknowledges && e->handing)
		*event = ELECTION_GIVEN;
	return election_step(e, *event).act == ELECTION_REFUSE ? "not valid in this state" : NULL;
}

/* What a manager can be kept from its work by, again and again. */
static bool begins_anew(const struct election *e, enum election_event event)
{
	enum election_action act = election_step(e, event).act;

	return act == ELECTION_BEGIN_ANEW || (act == ELECTION_TAKE_OVER && e->state == SM_MASTER);
}

static bool is_too_soon(const struct election *e, enum election_event event, uint64_t now_us)
{
	return begins_anew(e, event) && e->obeyed_us && now_us - e->obeyed_us < CONTROL_PAUSE_US;
}

static bool is_polled(const struct election *e, const struct control *c)
{
	return e->master.guid && e->master.guid == c->sender->guid;
}

/* Of equal priorities the GUIDs decide, and no wish can change these. */
static bool gives_way(const struct election *e)
{
	return !e->master.priority || !election_outranks_us(e, &e->master);
}

/* NULL = what is known bears it out. */
static const char *doubt(const struct election *e, const struct control *c,
			 enum election_event event)
{
	if (event != ELECTION_HANDOVER)
		return NULL;
	if (e->state == SM_MASTER && (!c->known || c->known->state != SM_MASTER))
		return "the sender did not answer that it is master";
	if (e->state == SM_STANDBY && !is_polled(e, c))
		return "the sender is not the master that is polled";
	if (e->state == SM_STANDBY && !gives_way(e))
		return "the master outranks this manager";
	return NULL;
}

/* Nobody but the master that is followed has anything to say to a standby. */
static bool is_strangers(const struct election *e, const struct control *c,
			 enum election_event event)
{
	return e->state == SM_STANDBY && !is_polled(e, c) &&
	       (event == ELECTION_DISABLE || event == ELECTION_DISCOVER);
}

enum control_verdict control_judge(const struct election *e, const struct control *c,
				   enum election_event *event, const char **why)
{
	*why = form_error(e, c, event);
	if (!*why && is_strangers(e, c, *event))
		*why = "the sender is not the master that is polled";
	if (!*why && is_too_soon(e, *event, c->now_us))
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
