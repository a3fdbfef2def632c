/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_election: carries out what fm/sm/election.c decides.
 *
 *   at the start   a look that changes nothing, then Get(SMInfo) of each port with IsSM but ours; without any, fmd is master at once
 *   MASTER         the same Gets behind each look and poll. Handing over: no Set leaves any more (mad_set_quiet), HANDOVER goes out,
 *                  and its answer or an ACKNOWLEDGE, whichever comes first, ends our rule; else it goes on
 *   STANDBY        a poll each sminfo_polling_timeout, of several packets, by directed route and when that fails by LID in turns
 *
 * Whoever stops or begins to rule after others did is renewed (fabric_renew), as by a restart: files are written and read, and nothing
 * that was true before is believed. What switches hold is read before anything is written, and ports keep the LIDs that they hold.
 * What was half written when a HANDOVER leaves is safe: programming goes in rounds of which each is (routing/order/order.h), and the
 * next master looks at all links.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/election.h"
#include "topology/mem.h"

#define POLL_TRIES     4	/* packets of a poll */
#define ANNOUNCE_EVERY 10	/* polls of a master that we outrank */
#define REFUSED_US     10000000 /* until a HANDOVER that was not taken is tried again */

static uint64_t period_us(const struct fabric *f)
{
	return (uint64_t)f->conf.sminfo_polling_timeout_ms * 1000;
}

bool fabric_may_look(const struct fabric *f)
{
	const struct election *core = &f->election->core;

	return fabric_port_has_link(f) &&
	       (core->state == SM_DISCOVERING || (core->state == SM_MASTER && !core->handing));
}

/* ---- Steps ----------------------------------------------------------------------------------------- */

static void show_state(struct fabric *f)
{
	struct fabric_election *e = f->election;

	if (sm_state(f->sm) != e->core.state)
		e->since_us = loop_now_us(f->loop);
	sm_set_state(f->sm, e->core.state);
	sm_set_priority(f->sm, election_priority(&e->core));
	fabric_election_note_role(f);
}

/*
 * Whoever was master has left things as they are: ports keep their LIDs, tables are read, hosts register anew. Of one that was master beside us
 * those alone whose port shows it: what the others registered is known here.
 */
static void succeed(struct fabric *f, bool beside_us)
{
	f->succeeds = true;
	if (!beside_us)
		fabric_request_reregister(f, "another manager was master");
	program_read_first(f->program);
}

/* Ports hold the LID of somebody who was master while our port was away. */
static bool others_ruled(const struct fabric *f)
{
	const struct fabric_election *e = f->election;

	return e->was_away && e->njudged;
}

static void rule(struct fabric *f)
{
	struct fabric_election *e = f->election;

	e->rules = true;
	fabric_set_master(f, true);
	fabric_election_know_lids(f);
	if (e->stood_by || others_ruled(f))
		succeed(f, false);
	e->stood_by = e->was_away = false;
	fabric_election_tell_master(f);
	fabric_rule(f);
}

static void act_later(struct fabric *f, enum election_act act)
{
	f->election->due = act;
	loop_timer_set(f->election->act, 0);
}

static void watch(struct fabric *f, const struct other *whom)
{
	struct fabric_election *e = f->election;
	uint64_t now = loop_now_us(f->loop);

	e->master = whom ? *whom : (struct other){ 0 };
	e->heard_us = now;
	e->polls = 0;
	e->was_away = false;
	e->stood_by = true;
	e->warned = false;
	mad_set_quiet(f->mad, true);
	election_follow(&e->core, &e->master.info, now);
	fabric_election_tell_standby(f);
	act_later(f, ELECTION_WATCH);
}

static void handed(void *arg, const struct mad_answer *answer);

static void hand_over(struct fabric *f, const struct other *whom)
{
	struct fabric_election *e = f->election;
	struct wire_sm_info info = sm_info(f->sm);
	uint8_t data[WIRE_SMP_DATA];

	e->heir = *whom;
	mad_set_quiet(f->mad, true);
	wire_sm_info_encode(&info, data);
	fabric_election_tell_handover(f, whom);
	e->handover =
		mad_send(f->mad,
			 &(struct mad_request){ .path = &e->heir.path,
						.method = WIRE_SET,
						.attr_id = WIRE_SM_INFO,
						.attr_mod = ELECTION_HANDOVER - ELECTION_CONTROL,
						.data = data,
						.urgent = true },
			 handed, f);
}

static void resume(struct fabric *f)
{
	event_log_add(f->events, LOG_WARNING, "handover", NULL,
		      "fabric: %s does not take the fabric over: this manager stays master",
		      f->election->heir.name);
	mad_set_quiet(f->mad, false);
	f->election->refused_until_us = loop_now_us(f->loop) + REFUSED_US;
	fabric_request_retry(f, "handover not taken");
	fabric_request_reroute(f, "handover not taken");
}

/* The other may not know that it is outranked. */
static void warn(struct fabric *f, const struct other *whom)
{
	struct fabric_election *e = f->election;

	if (!e->warned || e->heir.guid != whom->guid)
		fabric_election_tell_two(f, whom);
	e->warned = true;
	e->heir = *whom;
	if (whom->lid && e->own_lid)
		sm_announce(f->sm, whom->lid, e->own_lid, e->own_capmask);
	loop_timer_set(e->poll_due, period_us(f));
}

/* An operator's hand-over came to an end, one way or the other. */
static void has_given(struct fabric *f)
{
	loop_fn *given = f->election->given;

	f->election->given = NULL;
	if (given)
		given(f->election->given_arg);
}

static void take(struct fabric *f, enum election_event event, const struct other *whom)
{
	struct fabric_election *e = f->election;
	enum election_act act = election_take(&e->core, event);

	show_state(f);
	switch (act) {
	case ELECTION_STAY:
	case ELECTION_REFUSE:
		return;
	case ELECTION_RULE:
		rule(f);
		return;
	case ELECTION_WATCH:
		watch(f, whom);
		return;
	case ELECTION_HAND_OVER:
		hand_over(f, whom);
		return;
	case ELECTION_RESUME:
		resume(f);
		return;
	case ELECTION_WARN:
		warn(f, whom);
		return;
	case ELECTION_TAKE_OVER:
	case ELECTION_LOOK:
	case ELECTION_REST:
		act_later(f, act);
	}
}

static void handed(void *arg, const struct mad_answer *answer)
{
	struct fabric *f = arg;

	f->election->handover = 0;
	take(f, answer->result == MAD_OK ? ELECTION_GIVEN : ELECTION_KEPT, &f->election->heir);
	has_given(f);
}

/* ---- What the others answered ---------------------------------------------------------------------- */

/* What the lower one wrote is not known, and it has gone without a HANDOVER. */
static void rule_alone(struct fabric *f)
{
	struct fabric_election *e = f->election;

	if (!e->warned)
		return;
	e->warned = false;
	alert_end(f->alerts, "two-masters", "");
	event_log_add(f->events, LOG_NOTICE, "two-masters", NULL,
		      "fabric: no other master any more: a full sweep follows");
	act_later(f, ELECTION_TAKE_OVER);
}

/* It can't take over before its look is over. */
static bool better_comes(const struct fabric *f)
{
	const struct fabric_election *e = f->election;

	for (unsigned i = 0; i < e->nothers; i++)
		if (e->others[i]->answered && e->others[i]->info.state == SM_DISCOVERING &&
		    !election_ignores(&e->core, &e->others[i]->info) &&
		    election_outranks_us(&e->core, &e->others[i]->info))
			return true;
	return false;
}

/* An operator's wish goes first. */
static enum election_event judge(struct fabric *f, const struct wire_sm_info *infos, unsigned count,
				 int *index)
{
	const struct fabric_election *e = f->election;

	if (e->given && e->core.state == SM_MASTER && !e->core.handing) {
		*index = election_heir(&e->core, infos, count);
		if (*index >= 0)
			return ELECTION_GIVE;
		has_given(f);
	}
	return election_judge(&e->core, infos, count, index);
}

/* For SMInfoRecords; those with another SM_Key too, as OpenSM does. */
static void show_to_sa(struct fabric *f)
{
	const struct fabric_election *e = f->election;
	struct sa_manager *list = mem_alloc(e->nothers + 1, sizeof(*list));
	unsigned count = 0;

	for (unsigned i = 0; i < e->nothers; i++)
		if (e->others[i]->answered)
			list[count++] = (struct sa_manager){ e->others[i]->lid, e->others[i]->guid,
							     e->others[i]->info };
	sa_set_managers(f->sa, list, count);
	free(list);
}

/* Behind the last answer. */
void fabric_election_judge(struct fabric *f)
{
	struct fabric_election *e = f->election;
	struct wire_sm_info *infos = mem_alloc(e->nothers + 1, sizeof(*infos));
	unsigned *from = mem_alloc(e->nothers + 1, sizeof(*from)), count = 0;
	struct other whom = { 0 };
	enum election_event event;
	int index;

	for (unsigned i = 0; i < e->nothers; i++) {
		if (!e->others[i]->answered)
			continue;
		infos[count] = e->others[i]->info;
		from[count++] = i;
	}
	fabric_election_tell_others(f);
	show_to_sa(f);
	event = judge(f, infos, count, &index);
	if (index >= 0)
		whom = *e->others[from[index]];
	if (event == ELECTION_NONE_BETTER && e->core.state == SM_MASTER)
		rule_alone(f);
	if (e->core.state == SM_MASTER && better_comes(f))
		loop_timer_set(e->poll_due, period_us(f));
	free(infos);
	free(from);
	if (event == ELECTION_NONE_BETTER && e->core.state == SM_DISCOVERING &&
	    fabric_keys_foreign(f))
		return; /* the next sweep looks again */
	if (event != ELECTION_BETTER_WAITS || loop_now_us(f->loop) >= e->refused_until_us)
		take(f, event, &whom);
}

/* ---- Polls ----------------------------------------------------------------------------------------- */

static void polled(void *arg, const struct mad_answer *answer)
{
	struct fabric *f = arg;
	struct fabric_election *e = f->election;
	uint64_t now = loop_now_us(f->loop), next = e->polled_us + period_us(f);
	struct wire_sm_info info;
	enum election_event event;

	e->poll = 0;
	if (answer->result == MAD_OK)
		wire_sm_info_decode(answer->data, &info);
	event = election_polled(&e->core, answer->result == MAD_OK ? &info : NULL,
				(unsigned)f->conf.polling_retry_number, now);
	if (!e->core.missed)
		e->heard_us = now;
	if (event == ELECTION_ALIVE)
		loop_timer_set(e->poll_due, next > now ? next - now : 0);
	take(f, event, NULL);
}

/* A master should know who stands by. One that we outrank is to hand over, and is told so now and then. */
static void announce(struct fabric *f)
{
	const struct fabric_election *e = f->election;
	bool outranked = e->core.master.state == SM_MASTER &&
			 !election_outranks_us(&e->core, &e->core.master);

	if (e->master.lid && e->own_lid &&
	    (e->polls == 1 || (outranked && e->polls % ANNOUNCE_EVERY == 1)))
		sm_announce(f->sm, e->master.lid, e->own_lid, e->own_capmask);
}

static void poll(struct fabric *f)
{
	struct fabric_election *e = f->election;
	bool by_lid = e->core.missed % 2 && e->master.lid;

	e->polled_us = loop_now_us(f->loop);
	e->polls++;
	announce(f);
	e->poll = mad_send(
		f->mad,
		&(struct mad_request){ .path = by_lid ? NULL : &e->master.path,
				       .lid = by_lid ? e->master.lid : 0,
				       .method = WIRE_GET,
				       .attr_id = WIRE_SM_INFO,
				       .timeout_ms = (unsigned)f->conf.sminfo_polling_timeout_ms /
						     POLL_TRIES,
				       .retries = POLL_TRIES - 1,
				       .urgent = true,
				       .doubtful = true },
		polled, f);
}

static void poll_due(void *arg)
{
	struct fabric *f = arg;

	if (f->election->core.state == SM_STANDBY)
		poll(f);
	else
		fabric_election_ask(f);
}

/* ---- Roles change ---------------------------------------------------------------------------------- */

/* Whatever was under way for the old role ends. */
static void leave_role(struct fabric *f)
{
	struct fabric_election *e = f->election;

	fabric_keys_end(f);
	fabric_election_stop_asking(f);
	mad_cancel(f->mad, e->poll);
	mad_cancel(f->mad, e->handover);
	e->poll = e->handover = 0;
	loop_timer_stop(e->poll_due);
	if (e->core.state != SM_MASTER)
		alert_end(f->alerts, "two-masters", "");
	if (e->core.state != SM_STANDBY)
		alert_end(f->alerts, "foreign-master", "");
	has_given(f);
}

static void renew(struct fabric *f)
{
	const char *why = "this subnet manager has changed its role meanwhile; see fmctl events";

	operations_abandon(f->operations, why);
	waiters_answer(&f->readers, NULL, why);
	modules_abandon(f->modules, why);
	fabric_renew(f);
}

static void begin_standby(struct fabric *f)
{
	struct fabric_election *e = f->election;

	if (e->rules)
		renew(f);
	e->rules = false;
	fabric_set_master(f, false);
	e->taking.begun_us = 0;
	f->state = FABRIC_STANDBY;
	sa_serve(f->sa, false);
	if (e->core.state == SM_STANDBY)
		poll(f);
}

static void begin_look(struct fabric *f)
{
	mad_set_quiet(f->mad, false);
	fabric_request_sweep(f, "own port");
	fabric_watch_schedule(f);
	fabric_look(f);
}

/* ---- The own port's ------------------------------------------------------------------------------- */

bool fabric_election_is_disabled(const struct fabric *f)
{
	return f->election->core.state == SM_NOT_ACTIVE;
}

void fabric_election_opened(struct fabric *f)
{
	f->election->core.guid = mad_port_info(f->mad)->port_guid;
}

/* Who stood by goes on as one who did: another was at work. */
void fabric_election_leave(struct fabric *f)
{
	struct fabric_election *e = f->election;

	mad_set_quiet(f->mad, true);
	election_take(&e->core, ELECTION_PORT_LOST);
	loop_timer_stop(e->act);
	leave_role(f);
	fabric_election_forget_others(f);
	renew(f); /* as who it was until now: what a master knows is kept */
	e->rules = e->warned = false;
	fabric_set_master(f, false);
	e->was_away = true;
	e->taking.begun_us = 0;
	show_state(f);
}

void fabric_election_enter(struct fabric *f)
{
	if (f->election->core.state == SM_DISCOVERING)
		begin_look(f);
}

/* With a HANDOVER there is no silence. */
static void note_taking(struct fabric *f, const struct other *from, uint64_t heard_us)
{
	struct fabric_election *e = f->election;

	e->taking.begun_us = loop_now_us(f->loop);
	e->taking.heard_us = heard_us ? heard_us : e->taking.begun_us;
	snprintf(e->taking.from, sizeof(e->taking.from), "%s",
		 from->name[0] ? from->name : "another");
}

static void begin_again(struct fabric *f)
{
	note_taking(f, &f->election->master, f->election->heard_us);
	renew(f);
	begin_look(f);
}

static void take_over(struct fabric *f)
{
	struct fabric_election *e = f->election;
	bool ruled = e->rules;

	note_taking(f, &e->heir, 0);
	renew(f);
	e->rules = true;
	fabric_set_master(f, true);
	e->stood_by = false;
	sweep_set_shy(f->sweep, false);
	succeed(f, ruled);
	fabric_election_tell_master(f);
	begin_look(f);
}

static void act_cb(void *arg)
{
	struct fabric *f = arg;

	leave_role(f);
	switch (f->election->due) {
	case ELECTION_TAKE_OVER:
		take_over(f);
		return;
	case ELECTION_LOOK:
		begin_again(f);
		return;
	default: /* ELECTION_WATCH, ELECTION_REST */
		begin_standby(f);
	}
}

/* ---- Control packets ------------------------------------------------------------------------------- */

static const struct other *find_other(const struct fabric_election *e, guid_t guid)
{
	if (e->master.guid == guid)
		return &e->master;
	for (unsigned i = 0; i < e->nothers; i++)
		if (e->others[i]->guid == guid)
			return e->others[i];
	return NULL;
}

static void nobody_cares(void *arg, const struct mad_answer *answer)
{
}

/* Its sender takes the answer to HANDOVER for that, too. */
static void acknowledge(struct fabric *f, const struct other *to)
{
	struct wire_sm_info info = sm_info(f->sm);
	uint8_t data[WIRE_SMP_DATA];

	info.state = SM_STANDBY;
	wire_sm_info_encode(&info, data);
	mad_send(f->mad,
		 &(struct mad_request){ .path = &to->path,
					.method = WIRE_SET,
					.attr_id = WIRE_SM_INFO,
					.attr_mod = ELECTION_ACKNOWLEDGE - ELECTION_CONTROL,
					.data = data,
					.doubtful = true },
		 nobody_cares, NULL);
}

static const char *control(void *arg, uint32_t number, const struct wire_sm_info *sender)
{
	struct fabric *f = arg;
	struct fabric_election *e = f->election;
	enum election_event event;
	const struct other *known = find_other(e, sender->guid);
	const char *why = election_control(&e->core, number, sender,
					   known && known->answered ? &known->info : NULL, &event);
	struct other from = known ? *known : (struct other){ .guid = sender->guid };

	if (why)
		return why;
	from.info = *sender;
	fabric_election_tell_control(f, event, &from);
	if (event == ELECTION_HANDOVER) {
		e->heir = e->master = from;
		e->stood_by = true;
		if (known)
			acknowledge(f, &from);
	}
	take(f, event, event == ELECTION_GIVEN ? &e->heir : &from);
	return NULL;
}

/* ---- Life ------------------------------------------------------------------------------------------ */

static struct sm_conf manager_conf(const struct conf *conf)
{
	return (struct sm_conf){ .sm_key = conf->sm_key,
				 .mkey = conf->mkey,
				 .priority = (uint8_t)conf->sm_priority };
}

static void calm_cb(void *arg)
{
	struct fabric *f = arg;

	alert_end(f->alerts, "role-changes", "");
}

void fabric_election_init(struct fabric *f)
{
	struct fabric_election *e = mem_alloc(1, sizeof(*e));
	const struct sm_conf conf = manager_conf(&f->conf);

	f->election = e;
	e->core = (struct election){ .state = SM_DISCOVERING,
				     .guid = mad_port_info(f->mad)->port_guid,
				     .priority = conf.priority,
				     .master_priority = (uint8_t)f->conf.master_sm_priority,
				     .sm_key = conf.sm_key };
	e->since_us = loop_now_us(f->loop);
	e->poll_due = loop_timer_new(f->loop, poll_due, f);
	e->act = loop_timer_new(f->loop, act_cb, f);
	e->calm = loop_timer_new(f->loop, calm_cb, f);
	fabric_election_ask_init(f);
	f->sm = sm_new(f->loop, f->mad, &conf, fabric_trap, f);
	sm_on_control(f->sm, control);
}

void fabric_election_configure(struct fabric *f)
{
	const struct sm_conf conf = manager_conf(&f->conf);

	sm_configure(f->sm, &conf);
	election_configure(&f->election->core, conf.priority, (uint8_t)f->conf.master_sm_priority,
			   conf.sm_key);
	show_state(f);
}

bool fabric_hand_over(struct fabric *f, loop_fn *done, void *arg)
{
	struct fabric_election *e = f->election;

	if (!e->rules || e->core.state != SM_MASTER || e->core.handing || e->given || !e->nothers)
		return false;
	e->given = done;
	e->given_arg = arg;
	e->refused_until_us = 0;
	fabric_election_round(f);
	return true;
}

void fabric_election_fini(struct fabric *f)
{
	struct fabric_election *e = f->election;

	leave_role(f);
	loop_timer_free(e->poll_due);
	loop_timer_free(e->act);
	loop_timer_free(e->calm);
	fabric_election_ask_fini(f);
	sm_free(f->sm);
	free(e->told);
	free(e);
}
