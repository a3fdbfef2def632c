/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include "fm/fabric/request.h"
#include "fm/sa/sa.h"
#include "fm/sm/module_own.h"
#include "fm/state/state.h"
#include "fm/inventory/inventory.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/*
 * True, and *theirs, where more than three quarters of the end ports that were read hold one and
 * the same prefix, and it is not ours. 0 is none: a port that nobody has set. Boyer and Moore's
 * majority vote: if any prefix is that of more than half, it is the candidate of the first pass.
 */
static bool prefix_is_foreign(const struct inventory *inv, uint64_t ours, uint64_t *theirs)
{
	unsigned lead = 0, of = 0, held = 0;

	*theirs = 0;
	for (unsigned pass = 1; pass <= 2; pass++)
		INVENTORY_EACH (inv, node) {
			unsigned first = !inv_is_switch(node),
				 last = inv_is_switch(node) ? 0 : node->nports;

			for (unsigned p = first; !node->gone && p <= last; p++) {
				struct wire_port_info info = { 0 };

				if (node->ports[p].known)
					wire_port_info_decode(node->ports[p].info, &info);
				if (!info.gid_prefix)
					continue;
				if (pass == 1 && !lead)
					*theirs = info.gid_prefix;
				lead += info.gid_prefix == *theirs ? 1 : -1u;
				of += pass == 2;
				held += pass == 2 && info.gid_prefix == *theirs;
			}
		}
	return held * 4 > of * 3 && *theirs != ours;
}

/*
 * Polls of the master by a STANDBY, or by whom it has disabled (IBA 14.4.1.3): one each
 * sminfo_polling_timeout, of several packets, by directed route and when that fails by LID in
 * turns.
 */

#define POLL_TRIES     4  /* packets of a poll */
#define ANNOUNCE_EVERY 10 /* polls of a master that we outrank */
#define READING_US     10000000

/* why: a literal; NULL = it serves this manager's port. */
static void note_service(struct sm_room *r, const char *why)
{
	const struct other *master = &r->polls.master;
	struct idle *idle = &r->idle;
	uint64_t now = sm_now(r);

	if (!why) {
		idle->served_us = now;
		idle->is = false;
		alert_end(r->services.alerts, "master-idle", &idle->subject);
		return;
	}
	if (now - idle->served_us < IDLE_US)
		return;
	/* Found once: another subject would be another alert, which nobody ends. */
	if (!idle->is)
		idle->subject = sm_subject(r, master->guid);
	idle->is = true;
	alert_raise(
		r->services.alerts, "master-idle", &idle->subject,
		"%s): is master and does nothing: %s for more than 10 s; hosts get no path; stop "
		"it, or take over by fmctl takeover",
		sm_called(master->name, master->guid, r->core.master.priority).text, why);
	if (r->services.conf->sm.idle_action == CONF_IDLE_TAKEOVER && !r->wish.open)
		sm_take_from_idle(r, "master_idle_action has");
}

static void sa_answered(void *arg, const struct mad_answer *answer)
{
	struct sm_room *r = arg;
	bool busy = answer->result == MAD_STATUS && answer->status & WIRE_SA_BUSY;

	r->idle.ask = 0;
	note_service(r, answer->result == MAD_OK || busy ? NULL : "its SA does not answer");
}

/* As any client: by what the own port holds, and the SA that it leads to. */
static void judge_service(struct sm_room *r)
{
	const struct wire_port_info *own = &port_seen(r->port)->info;

	if (mad_port_info(r->services.mad)->port && own->state < TOPO_ACTIVE)
		note_service(r, "this manager's own port is not Active");
	else if (!own->sm_lid || own->sm_lid == own->lid)
		note_service(r, "this manager's own port has no SM LID");
	else if (!r->idle.ask)
		r->idle.ask = mad_send(
			r->services.mad,
			&(struct mad_request){
				.lid = own->sm_lid,
				.sl = own->sm_sl,
				.mgmt_class = WIRE_SA,
				.pkey_index = inventory_default_pkey_index(r->services.inventory),
				.method = WIRE_GET,
				.attr_id = WIRE_SA_CLASS_PORT_INFO,
				.timeout_ms = r->services.conf->sm.polling_timeout_ms,
				.doubtful = true,
				.once = true },
			sa_answered, r);
}

static void answered(void *arg, const struct mad_answer *answer)
{
	struct sm_room *r = arg;
	struct polls *p = &r->polls;
	const struct conf_sm *conf = &r->services.conf->sm;
	uint64_t now = sm_now(r), next = p->polled_us + (uint64_t)conf->polling_timeout_ms * 1000;
	struct wire_sm_info info;

	p->poll = 0;
	if (answer->result == MAD_OK)
		wire_sm_info_decode(answer->data, &info);

	enum election_event event = election_polled(
		&r->core, answer->result == MAD_OK ? &info : NULL, conf->polling_retries, now);

	if (!r->core.missed)
		p->heard_us = now;
	if (event == ELECTION_ALIVE)
		loop_timer_set(r->due, next > now ? next - now : 0);
	p->polled(r, event);
	if (r->core.state == SM_STANDBY && r->core.master.state == SM_MASTER && !r->core.missed)
		judge_service(r);
}

/* ---- A master that would hand over at once --------------------------------------------------- */

/* module_role.c */

/* one poll; polls.polled() hears of its end */
static void sm_poll(struct sm_room *r)
{
	struct polls *p = &r->polls;
	bool by_lid = r->core.missed % 2 && p->master.lid;

	/* The poll announces this standby, so that the master asks for its new priority. */
	if (r->core.waits == ELECTION_READING &&
	    (state_is(r->services.state, STATE_READ) || state_is(r->services.state, STATE_COPIED) ||
	     sm_now(r) >= p->reading_until_us)) {
		r->core.waits = ELECTION_NOT_WAITING;
		p->count = 0;
		sm_set_priority(r->sm, election_priority(&r->core));
	}

	sa_forward(r->services.sa, p->master.lid, port_seen(r->port)->info.sm_sl);
	p->polled_us = sm_now(r);
	p->count++;
	if (r->core.state == SM_STANDBY) {
		/*
		 * A master should know who stands by. One that we outrank is to hand over, and
		 * hears of us now and then.
		 */
		bool outranked = r->core.master.state == SM_MASTER &&
				 !election_outranks_us(&r->core, &r->core.master);

		if (p->master.lid && r->rounds.own_lid &&
		    (p->count == 1 || (outranked && p->count % ANNOUNCE_EVERY == 1)))
			sm_announce(r->sm, p->master.lid, r->rounds.own_lid, r->rounds.own_capmask);
	}
	p->poll = mad_send(r->services.mad,
			   &(struct mad_request){
				   .path = by_lid ? NULL : &p->master.path,
				   .lid = by_lid ? p->master.lid : 0,
				   .method = WIRE_GET,
				   .attr_id = WIRE_SM_INFO,
				   .timeout_ms = (unsigned)r->services.conf->sm.polling_timeout_ms /
						 POLL_TRIES,
				   .retries = POLL_TRIES - 1,
				   .urgent = true,
				   .doubtful = true },
			   answered, r);
}

/*
 * Carries out what election.c decides.
 *
 *   at the start   a sweep that changes nothing, then Get(SMInfo) of each port with IsSM but ours;
 *                  without any, fmd is master at once
 *   MASTER         the same Gets behind each sweep and poll. Handing over: no Set leaves any more,
 *                  HANDOVER goes out, and its answer or an ACKNOWLEDGE, whichever comes first, ends
 *                  our time as master; else it goes on. The next master goes on with what this one
 *                  keeps in state_dir, where it copies that: what has just changed is waited for,
 *                  for PASSING_US at most, in the second half of that without taking more. Then the
 *                  SA stands still, and answers for as long as hosts ask here (module_ask.c)
 *   STANDBY        polls the master
 *
 * A manager that becomes or ceases to be master beside or after others ends and begins as by a
 * restart (fabric_change_role()): files are written and read, and nothing that was true before is
 * believed. What switches hold is read before anything is written, and ports keep the LIDs that
 * they hold. What was half written when a HANDOVER leaves is safe: programming goes in rounds of
 * which each is (routing/order/order.h), and the next master sweeps all links.
 *
 * What a step needs of the pipe follows from the loop. So a change of role ends no transaction in
 * the transaction's own callback.
 */

#define REFUSED_US	10000000 /* until a HANDOVER that was not taken is tried again */
#define SILENCE_US	1000000	 /* until a HANDOVER that was not answered is tried again */
#define PASSING_US	2000000
#define PASSING_STEP_US 5000

/* ---- Changes of role ------------------------------------------------------------------------- */

void sm_show_state(struct sm_room *r)
{
	if (sm_state(r->sm) != r->core.state)
		r->reports.since_us = sm_now(r);
	sm_set_state(r->sm, r->core.state);
	sm_set_priority(r->sm, election_priority(&r->core));
	sa_show_priority(r->services.sa, election_priority(&r->core));
	sm_report_role(r);
}

/* What hosts registered with the master until now. */
static bool is_known(const struct sm_room *r)
{
	return !r->parting.on && state_is(r->services.state, STATE_COPIED);
}

/* Of the fabric as it was just swept. */
static void become_master(struct sm_room *r)
{
	uint16_t lid = r->stood_by ? r->polls.master.lid : 0, shown = 0;

	sm_know_lids(r);
	for (unsigned i = 0; i < r->rounds.njudged; i++)
		shown |= r->rounds.judged_lids[i] == lid ? lid : 0;

	/* Ports hold the LID of somebody who was master while our port was away. */
	bool took_over = r->stood_by || (r->was_away && r->rounds.njudged);

	fabric_change_role(r->fabric,
			   &(struct fabric_role_change){ .role = FABRIC_ROLE_MASTER,
							 .took_over = took_over,
							 .followed_lid = shown,
							 .reregister = took_over && !is_known(r) },
			   "no better manager answered");
}

/*
 * Of one that was master beside us those hosts alone register again whose port shows it: what the
 * others registered is known here.
 */
static void take_over(struct sm_room *r, const char *reason)
{
	/* Beside others: who parts is not, whatever the pipe has still to hear of that. */
	bool was_master = fabric_is_master(r->fabric) && !r->parting.on;

	/* One that handed over is none of two masters any more, and one sweep is enough. */
	r->warned = false;
	alert_end(r->services.alerts, "two-masters", NULL);
	fabric_change_role(
		r->fabric,
		&(struct fabric_role_change){ .role = FABRIC_ROLE_MASTER,
					      .anew = true,
					      .took_over = true,
					      .was_master = was_master,
					      .followed_lid = was_master ? 0 : r->polls.master.lid,
					      .reregister = !was_master && !is_known(r) },
		reason);
}

static void stand_by(struct sm_room *r, const char *reason)
{
	fabric_pause(r->fabric, true, reason);
	fabric_change_role(r->fabric,
			   &(struct fabric_role_change){ .role = FABRIC_ROLE_STANDBY,
							 .master = r->polls.master.guid },
			   reason);
}

/* An operator's hand-over came to an end; why: the other is not master, NULL = it is. */
static void end_wish(struct sm_room *r, const char *why)
{
	struct wish wish = r->wish;
	json_t *result = NULL;

	r->wish = (struct wish){ 0 };
	sa_freeze(r->services.sa, r->parting.on || r->core.waits == ELECTION_HANDING);
	if (!wish.open || !wish.fn)
		return;
	if (!why)
		result = json_pack("{ss so sI}", wish.taking ? "from" : "to", r->peer.name,
				   "port_guid", json_guid(r->peer.guid), "took_ms",
				   (json_int_t)((sm_now(r) - wish.since_us) / 1000));
	wish.fn(wish.arg, result, why);
	json_decref(result);
}

static void parted(struct sm_room *r)
{
	stand_by(r, "another manager is master, and all hosts ask that one");
}

static void watch(struct sm_room *r, const struct other *whom)
{
	struct polls *p = &r->polls;
	uint64_t now = sm_now(r);

	p->master = whom ? *whom : (struct other){ 0 };
	p->heard_us = r->idle.served_us = now;
	p->count = 0;
	r->was_away = false;
	r->stood_by = true;
	r->warned = false;
	election_follow(&r->core, &p->master.info, now);

	/*
	 * This manager stands by for r->polls.master. Where it outranks that one, it shows priority
	 * 0 until what hosts registered with that one was read or copied, or it has been waited
	 * for.
	 */
	if (r->services.conf->mirror.interval_ms && r->core.state == SM_STANDBY &&
	    !fabric_is_master(r->fabric) && p->master.info.state == SM_MASTER &&
	    !election_outranks_us(&r->core, &p->master.info)) {
		state_mark(r->services.state, STATE_READ, false);
		p->reading_until_us = sm_now(r) + READING_US;
		r->core.waits = ELECTION_READING;
		sm_set_priority(r->sm, election_priority(&r->core));
	}

	sm_report_standby(r);
	if (fabric_is_master(r->fabric)) {
		/*
		 * The role that the pipe hears of waits for those who ask the SA here. In the
		 * election this manager is a standby at once.
		 */
		if (!sm_part_begin(r)) {
			stand_by(r, "another manager is master");
			return;
		}
		sa_freeze(r->services.sa, true);
		mad_cancel(r->services.mad, r->handover);
		r->handover = 0;
		sm_stop_asking(r);
		end_wish(r, NULL);
		sm_poll(r);
	} else
		stand_by(r, "another manager is master");
}

/* What the next master is to go on with is there, or was waited for as long as it may. */
static bool is_passed_on(struct sm_room *r)
{
	uint64_t waited_us = sm_now(r) - r->wish.since_us;
	bool done = state_passed_on(r->services.state);

	if (done || waited_us >= PASSING_US / 2)
		sa_freeze(r->services.sa, true);
	if (!done && waited_us < PASSING_US)
		return false;
	if (!done)
		event_log_add(
			r->services.events, LOG_WARNING, "handover", NULL, NULL,
			"fabric: handing over although no standby has a complete copy of this "
			"manager's state");
	r->wish.passed_on = true;
	return true;
}

static void pass_on(void *arg)
{
	struct sm_room *r = arg;

	if (!r->wish.open || r->wish.passed_on)
		return;
	if (!is_passed_on(r)) {
		loop_timer_set(r->passing, PASSING_STEP_US);
		return;
	}
	r->refused_until_us = 0;
	sm_ask_round(r);
}

void sm_wish(struct sm_room *r, const struct wish *wish)
{
	r->wish = *wish;
	pass_on(r);
}

/* One that outranks this manager is waited for as an operator's wish is; another master is not. */
static bool may_give(struct sm_room *r, const struct other *whom)
{
	if (whom->info.state != SM_STANDBY || r->wish.passed_on)
		return true;
	if (!r->wish.open)
		r->wish = (struct wish){ .open = true, .better = true, .since_us = sm_now(r) };
	if (is_passed_on(r))
		return true;
	loop_timer_set(r->passing, PASSING_STEP_US);
	return false;
}

static void handed(void *arg, const struct mad_answer *answer);

static void hand_over(struct sm_room *r, const struct other *whom)
{
	struct wire_sm_info info = sm_info(r->sm);
	uint8_t data[WIRE_SMP_DATA];

	r->peer = *whom;
	fabric_pause(r->fabric, true, "hands over");
	sa_freeze(r->services.sa, true);
	wire_sm_info_encode(&info, data);
	sm_report_handover(r);
	r->handover =
		mad_send(r->services.mad,
			 &(struct mad_request){ .path = &r->peer.path,
						.method = WIRE_SET,
						.attr_id = WIRE_SM_INFO,
						.attr_mod = ELECTION_HANDOVER - ELECTION_CONTROL,
						.data = data,
						.urgent = true },
			 handed, r);
}

void sm_take_from_idle(struct sm_room *r, const char *who)
{
	r->peer = r->polls.master;
	event_log_add(
		r->services.events, LOG_WARNING, "handover", &r->idle.subject, NULL,
		"fabric: %s this manager take over from %s), which is master and does nothing", who,
		sm_called(r->peer.name, r->peer.guid, -1).text);
	r->core.passed_over = r->peer.guid;
	sm_take(r, ELECTION_TAKE, NULL);
}

void sm_take(struct sm_room *r, enum election_event event, const struct other *whom)
{
	enum election_action act = election_take(&r->core, event);
	uint64_t us;
	bool two;

	sm_show_state(r);
	switch (act) {
	case ELECTION_STAY:
	case ELECTION_REFUSE:
		return;
	case ELECTION_BECOME_MASTER:
		become_master(r);
		return;
	case ELECTION_STAND_BY:
		watch(r, whom);
		return;
	case ELECTION_HAND_OVER:
		hand_over(r, whom);
		return;
	case ELECTION_RESUME:
		event_log_add(r->services.events, LOG_WARNING, "handover", NULL, NULL,
			      "fabric: %s did not take over: this manager stays master",
			      r->peer.name);
		fabric_pause(r->fabric, false, "handover not taken");
		sa_freeze(r->services.sa, false);
		/* Who is silent may be in the middle of asking us, as two masters that meet do. */
		two = r->peer.info.state == SM_MASTER;
		us = r->peer_silent || two ? SILENCE_US : REFUSED_US;
		r->refused_until_us = sm_now(r) + us;
		if (two)
			loop_timer_set(r->due, us);
		fabric_request_retry(r->fabric, "handover not taken");
		fabric_request_reroute(r->fabric, "handover not taken");
		return;
	case ELECTION_WARN:
		/* The other may not know that it is outranked. */
		if (!r->warned || r->peer.guid != whom->guid)
			sm_report_two_masters(r, whom);
		r->warned = true;
		r->peer = *whom;
		if (whom->lid && r->rounds.own_lid)
			sm_announce(r->sm, whom->lid, r->rounds.own_lid, r->rounds.own_capmask);
		loop_timer_set(r->due, (uint64_t)r->services.conf->sm.polling_timeout_ms * 1000);
		return;
	case ELECTION_TAKE_OVER:
		sm_report_taking(r, &r->peer, 0);
		take_over(r, "another manager handed over");
		return;
	case ELECTION_BEGIN_ANEW:
		sm_report_taking(r, &r->polls.master, r->polls.heard_us);
		fabric_change_role(
			r->fabric,
			&(struct fabric_role_change){ .role = FABRIC_ROLE_ASKING, .anew = true },
			"who is master is to be found out");
		return;
	case ELECTION_GO_INACTIVE:
		stand_by(r, "disabled by another manager");
	}
}

static void handed(void *arg, const struct mad_answer *answer)
{
	struct sm_room *r = arg;

	r->handover = 0;
	r->peer_silent = answer->result == MAD_TIMEOUT;
	sm_take(r, answer->result == MAD_OK ? ELECTION_GIVEN : ELECTION_KEPT, &r->peer);
	end_wish(r, answer->result == MAD_OK ? NULL
		    : r->peer_silent	     ? "it did not answer the HANDOVER"
					     : "it refused the HANDOVER");
}

/* The master that was met, also where it has disabled this manager. */
static bool is_polling(const struct sm_room *r)
{
	return r->core.state == SM_STANDBY || r->core.state == SM_NOT_ACTIVE;
}

/* Whatever was under way for the role before ends. */
static void end_role(struct sm_room *r)
{
	sm_part_end(r);
	keys_end(&r->keys);
	r->foreign_prefix = false;
	alert_end(r->services.alerts, "foreign-prefix", NULL);
	sm_stop_asking(r);
	mad_cancel(r->services.mad, r->polls.poll);
	r->polls.poll = 0;
	loop_timer_stop(r->due);
	if (r->core.state != SM_MASTER)
		alert_end(r->services.alerts, "two-masters", NULL);
	if (r->core.state != SM_STANDBY)
		alert_end(r->services.alerts, "foreign-master", NULL);
	if (r->core.state != SM_NOT_ACTIVE)
		alert_end(r->services.alerts, "disabled", NULL);
	mad_cancel(r->services.mad, r->idle.ask);
	r->idle.ask = 0;
	if (r->core.state != SM_STANDBY)
		note_service(r, NULL);
	/* The other's ACKNOWLEDGE may come ahead of its answer. */
	if (!r->wish.taking)
		end_wish(r, r->handover && r->core.state == SM_STANDBY
				    ? NULL
				    : "this subnet manager is no longer master");
	mad_cancel(r->services.mad, r->handover);
	r->handover = 0;
}

void sm_role_changed(struct sm_room *r, enum fabric_role role)
{
	if (role != FABRIC_ROLE_ASKING)
		r->still.unheard = r->still.deaf = false;
	if (role != FABRIC_ROLE_ASKING && r->wish.taking)
		end_wish(r, role == FABRIC_ROLE_MASTER ? NULL : "see fmctl status for the reason");
	if (role == FABRIC_ROLE_LOCKED_OUT)
		return; /* for the time being: the next sweep judges keys again */
	end_role(r);
	if (role == FABRIC_ROLE_MASTER) {
		sa_forward(r->services.sa, 0, 0);
		sa_show_priority(r->services.sa, election_priority(&r->core));
		r->stood_by = r->was_away = false;
		/* A manager that never met another becomes master without an event. */
		if (r->reports.taking.begun_us)
			event_log_add(r->services.events, LOG_WARNING, "master", NULL, NULL,
				      "fabric: this subnet manager is now master, after %s",
				      r->reports.taking.from);
	}
	if (role != FABRIC_ROLE_STANDBY)
		return;
	r->reports.taking.begun_us = 0;
	if (is_polling(r))
		sm_poll(r);
}

/* ---- The own port ---------------------------------------------------------------------------- */

/* Who stood by goes on as one who did: another was at work. */
void sm_leave(void *room)
{
	struct sm_room *r = room;

	election_take(&r->core, ELECTION_PORT_LOST);
	end_role(r);
	sm_forget_others(r);
	r->warned = false;
	r->was_away = true;
	r->reports.taking.begun_us = 0;
	sm_show_state(r);
	fabric_change_role(r->fabric,
			   &(struct fabric_role_change){ .role = FABRIC_ROLE_AWAY, .anew = true },
			   "the own port has left its fabric");
}

void sm_enter(void *room)
{
	struct sm_room *r = room;
	bool disabled = r->core.state == SM_NOT_ACTIVE;

	fabric_change_role(r->fabric,
			   &(struct fabric_role_change){ .role = disabled ? FABRIC_ROLE_STANDBY
									  : FABRIC_ROLE_ASKING },
			   "the own port has a link");
}

/* ---- What the others answered ---------------------------------------------------------------- */

/* An operator's wish goes first. */
static enum election_event choose(struct sm_room *r, const struct wire_sm_info *infos,
				  unsigned count, int *index)
{
	if (r->wish.passed_on && !r->wish.better && r->core.state == SM_MASTER &&
	    r->core.waits != ELECTION_HANDING) {
		*index = election_handover_peer(&r->core, infos, count, r->wish.whom);
		if (*index >= 0)
			return ELECTION_GIVE;
		end_wish(r, "no such manager answered as standby");
	}
	return election_judge(&r->core, infos, count, index);
}

/*
 * Before it becomes master. False: it is to wait; the answer of a port, or the next sweep, judges
 * again.
 */
static bool keys_are_ours(struct sm_room *r)
{
	enum keys_verdict verdict = keys_judge(&r->keys, r->services.inventory);

	if (verdict == KEYS_FOREIGN && fabric_role(r->fabric) != FABRIC_ROLE_LOCKED_OUT)
		fabric_change_role(r->fabric,
				   &(struct fabric_role_change){ .role = FABRIC_ROLE_LOCKED_OUT },
				   "ports hold an M_Key of another manager");
	return verdict == KEYS_OURS;
}

/*
 * A manager that takes over and would give every port another GID has another configuration than
 * the one that it is to replace. After a start of its own it may: that is how a prefix is changed.
 */
static bool prefix_is_ours(struct sm_room *r)
{
	uint64_t ours = r->services.conf->sm.subnet_prefix, theirs;

	if (!r->stood_by || !prefix_is_foreign(r->services.inventory, ours, &theirs)) {
		r->foreign_prefix = false;
		alert_end(r->services.alerts, "foreign-prefix", NULL);
		return true;
	}
	r->foreign_prefix = true;
	alert_raise(r->services.alerts, "foreign-prefix", NULL,
		    "the fabric has subnet prefix 0x%016" PRIx64 ", configured is 0x%016" PRIx64
		    ": fmd does not take over and writes nothing; correct subnet_prefix and "
		    "reload, or restart fmd to change the fabric's prefix",
		    theirs, ours);
	if (fabric_role(r->fabric) != FABRIC_ROLE_LOCKED_OUT)
		fabric_change_role(r->fabric,
				   &(struct fabric_role_change){ .role = FABRIC_ROLE_LOCKED_OUT },
				   "ports hold another subnet prefix");
	return false;
}

/* Behind the last answer of a round. */
static void judge(struct sm_room *r)
{
	struct other whom = { 0 };

	sm_report_others(r);
	sm_show_to_sa(r);
	if (r->services.conf->sm.observe)
		return;

	/* What all answers come to; *whom: whom that is about, if anybody. */
	const struct rounds *q = &r->rounds;
	struct wire_sm_info *infos = mem_array(infos, q->nothers + 1);
	unsigned count = 0;
	int index;

	for (unsigned i = 0; i < q->nothers; i++) {
		const struct other *other = q->others[i];

		if (other->answered && other->guid == r->core.passed_over &&
		    other->info.state != SM_MASTER)
			r->core.passed_over = 0;
		if (!other->answered ||
		    (r->core.state == SM_MASTER && !sm_is_allowed(r, other->guid)))
			continue;
		infos[count++] = other->info;
	}

	enum election_event event = choose(r, infos, count, &index);

	if (index >= 0)
		whom = *sm_find_other(r, infos[index].guid);
	free(infos);

	if (event == ELECTION_NONE_BETTER && r->core.state == SM_MASTER && r->warned) {
		/* What the lower one wrote is not known, and it has gone without a HANDOVER. */
		event_log_add(r->services.events, LOG_NOTICE, "two-masters", NULL, NULL,
			      "fabric: no other master left; starting a full sweep");
		take_over(r, "no other master any more");
	}
	if (r->core.state == SM_MASTER && sm_better_comes(r))
		loop_timer_set(r->due, (uint64_t)r->services.conf->sm.polling_timeout_ms * 1000);
	if (event == ELECTION_NONE_BETTER && r->core.state == SM_DISCOVERING &&
	    (!keys_are_ours(r) || !prefix_is_ours(r)))
		return;
	if (event != ELECTION_BETTER_WAITS && r->wish.better && r->core.waits != ELECTION_HANDING)
		end_wish(r, "no other manager outranks this one any more");
	if (event == ELECTION_BETTER_WAITS &&
	    (sm_now(r) < r->refused_until_us || !may_give(r, &whom)))
		return;
	sm_take(r, event, &whom);
}

void sm_find_master(void *arg)
{
	struct sm_room *r = arg;

	if (r->core.state == SM_DISCOVERING)
		sm_ask_round(r);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void due_cb(void *arg)
{
	struct sm_room *r = arg;

	if (is_polling(r))
		sm_poll(r);
	else
		sm_ask(r);
}

void sm_verify(struct sm_room *r)
{
	uint64_t now = sm_now(r);

	if (r->verified_us && now - r->verified_us < VERIFY_US)
		return;
	r->verified_us = now;
	if (!is_polling(r))
		sm_ask(r);
	else if (!r->polls.poll)
		sm_poll(r);
}

static void polled(struct sm_room *r, enum election_event event)
{
	sm_take(r, event, NULL);
	sm_judge_doubted(r->sm);
}

static void round_over(struct sm_room *r)
{
	judge(r);
	sm_allowed_review(r);
	sm_judge_doubted(r->sm);
}

void sm_role_init(struct sm_room *r)
{
	r->keys = (struct keys){ .mad = r->services.mad,
				 .alerts = r->services.alerts,
				 .conf = r->services.conf,
				 .answered = sm_find_master,
				 .arg = r };
	r->parting.over = parted;
	r->rounds.judge = round_over;
	r->polls.polled = polled;
	r->due = loop_timer_new(r->services.loop, due_cb, r);
	r->passing = loop_timer_new(r->services.loop, pass_on, r);
}

void sm_role_fini(struct sm_room *r)
{
	end_role(r);
	loop_timer_free(r->due);
	loop_timer_free(r->passing);
}
