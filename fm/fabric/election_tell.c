/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fabric_election_tell: who is master, in events and in the status. */
#include <inttypes.h>
#include <stdlib.h>
#include "fm/fabric/election.h"
#include "topology/mem.h"

static uint64_t ms_between(uint64_t from_us, uint64_t to_us)
{
	return to_us > from_us ? (to_us - from_us) / 1000 : 0;
}

/* ---- Others ---------------------------------------------------------------------------------------- */

static const char *state_of(const struct other *other)
{
	return other->answered ? sm_state_name(other->info.state) : "does not answer";
}

static bool is_told(const struct told *told, const struct other *other)
{
	return told->guid == other->guid && told->answered == other->answered &&
	       told->state == other->info.state && told->priority == other->info.priority;
}

static bool are_told(const struct fabric_election *e)
{
	for (unsigned i = 0; i < e->nothers; i++)
		if (i >= e->ntold || !is_told(&e->told[i], e->others[i]))
			return false;
	return e->nothers == e->ntold;
}

static void tell_other(struct fabric *f, const struct other *other)
{
	const struct election *core = &f->election->core;

	if (other->answered && election_is_foreign(core, &other->info))
		event_log_add(
			f->events, LOG_ERR, "other-sm", NULL,
			"%s (port GUID 0x%016" PRIx64
			"): runs a subnet manager with another SM_Key: neither heeds the other",
			other->name, other->guid);
	else
		event_log_add(f->events, LOG_NOTICE, "other-sm", NULL,
			      "%s (port GUID 0x%016" PRIx64
			      "): runs a subnet manager too: %s, priority %u",
			      other->name, other->guid, state_of(other), other->info.priority);
}

void fabric_election_tell_others(struct fabric *f)
{
	struct fabric_election *e = f->election;

	if (are_told(e))
		return;
	if (!e->nothers)
		event_log_add(f->events, LOG_NOTICE, "other-sm", NULL,
			      "fabric: no other subnet manager any more");
	e->told = mem_resize(e->told, e->nothers + 1, sizeof(*e->told));
	for (unsigned i = 0; i < e->nothers; i++) {
		const struct other *other = e->others[i];

		if (i >= e->ntold || !is_told(&e->told[i], other))
			tell_other(f, other);
		e->told[i] = (struct told){ other->guid, other->info.state, other->info.priority,
					    other->answered };
	}
	e->ntold = e->nothers;
}

/* ---- Our own state --------------------------------------------------------------------------------- */

/* One that never met another is master without a word. */
void fabric_election_tell_master(struct fabric *f)
{
	const struct fabric_election *e = f->election;

	if (e->taking.begun_us)
		event_log_add(f->events, LOG_WARNING, "master", NULL,
			      "fabric: this subnet manager is master now, after %s",
			      e->taking.from);
}

void fabric_election_tell_standby(struct fabric *f)
{
	const struct fabric_election *e = f->election;

	event_log_add(f->events, LOG_NOTICE, "standby", NULL,
		      "fabric: this subnet manager stands by for %s (port GUID 0x%016" PRIx64
		      ", priority %u, %s)",
		      e->master.name, e->master.guid, e->master.info.priority,
		      sm_state_name(e->master.info.state));
	if (election_is_foreign(&e->core, &e->master.info))
		alert_raise(f->alerts, "foreign-master", "",
			    "%s (port GUID 0x%016" PRIx64 ") is master and has another SM_Key: "
			    "this manager stands by for it, whatever "
			    "its rank; give both the same sm_key, or stop one of them",
			    e->master.name, e->master.guid);
}

void fabric_election_tell_handover(struct fabric *f, const struct other *whom)
{
	bool wish = f->election->core.gave || f->election->core.lowered;

	event_log_add(f->events, LOG_NOTICE, "handover", NULL,
		      "fabric: %s (port GUID 0x%016" PRIx64 ", priority %u) %s: handed over to it",
		      whom->name, whom->guid, whom->info.priority,
		      wish ? "is to be master by an operator's wish" : "outranks this manager");
}

void fabric_election_tell_two(struct fabric *f, const struct other *whom)
{
	bool foreign = election_is_foreign(&f->election->core, &whom->info);

	event_log_add(f->events, LOG_ERR, "two-masters", NULL,
		      "fabric: two masters: %s (port GUID 0x%016" PRIx64
		      ", priority %u) is one as well; both change the fabric until it hands over",
		      whom->name, whom->guid, whom->info.priority);
	alert_raise(f->alerts, "two-masters", "",
		    "two masters: %s (port GUID 0x%016" PRIx64
		    ", priority %u) is one as well, and both change the fabric: %s",
		    whom->name, whom->guid, whom->info.priority,
		    foreign ? "it has another SM_Key, so neither gives way; stop one of them"
			    : "it is to hand over");
}

/* ---- Roles ----------------------------------------------------------------------------------------- */

/* NULL: not known yet, or about to be: who looks for the next master is in no role of its own. */
static const char *role_now(const struct fabric *f)
{
	switch (f->election->core.state) {
	case SM_MASTER:
		return "master";
	case SM_STANDBY:
		return "standby";
	case SM_NOT_ACTIVE:
		return "disabled";
	default:
		return fabric_port_refusal(f) ? "none" : NULL;
	}
}

void fabric_election_note_role(struct fabric *f)
{
	struct fabric_election *e = f->election;
	const char *role = role_now(f);
	uint64_t now = loop_now_us(f->loop), *slot;

	if (!role || role == e->role)
		return;
	if (e->role) {
		slot = &e->role_changed_us[e->role_changes++ % ROLE_CHANGES_MAX];
		if (e->role_changes > ROLE_CHANGES_MAX && now - *slot < ROLE_CHANGES_US)
			alert_raise(f->alerts, "role-changes", "",
				    "this manager has changed its role more than %u times in ten "
				    "minutes; see fmctl events",
				    ROLE_CHANGES_MAX);
		*slot = now;
		loop_timer_set(e->calm, ROLE_CHANGES_US);
	}
	e->role = role;
}

const char *fabric_election_role(const struct fabric *f)
{
	const char *role = role_now(f);

	return role ? role : "discovering";
}

unsigned fabric_election_role_changes(const struct fabric *f)
{
	return f->election->role_changes;
}

void fabric_election_tell_control(struct fabric *f, enum election_event event,
				  const struct other *from)
{
	static const char *const did[ELECTION_EVENTS] = {
		[ELECTION_GIVEN] = "has taken the fabric over from this manager",
		[ELECTION_HANDOVER] = "hands the fabric over to this manager",
		[ELECTION_DISABLE] = "has disabled this manager, until a master enables it or fmd "
				     "starts again",
		[ELECTION_STANDBY] = "has enabled this manager again, as a standby",
		[ELECTION_DISCOVER] = "asks this manager to look who is master",
	};

	if (did[event])
		event_log_add(f->events, event == ELECTION_DISABLE ? LOG_ERR : LOG_NOTICE,
			      "handover", NULL, "%s (port GUID 0x%016" PRIx64 "): %s",
			      from->name[0] ? from->name : "a subnet manager", from->guid,
			      did[event]);
}

void fabric_election_settled(struct fabric *f)
{
	struct fabric_election *e = f->election;
	uint64_t now = loop_now_us(f->loop), silent, took;
	unsigned long long blocks = program_blocks_written(f->program);

	if (!e->taking.begun_us)
		return;
	silent = ms_between(e->taking.heard_us, e->taking.begun_us);
	took = ms_between(e->taking.begun_us, now);
	e->take_over_ms = (double)(silent + took);
	e->take_overs++;
	e->taking.begun_us = 0;
	event_log_add(
		f->events, LOG_NOTICE, "take-over",
		json_pack("{sI sI sI}", "silent_ms", (json_int_t)silent, "took_ms",
			  (json_int_t)took, "lft_blocks_written", (json_int_t)blocks),
		"fabric: taken over from %s: silent for %llu ms, then %llu ms until all was as "
		"wanted, %llu blocks written",
		e->taking.from, (unsigned long long)silent, (unsigned long long)took, blocks);
}

/* ---- Status ---------------------------------------------------------------------------------------- */

const char *fabric_refusal(const struct fabric *f)
{
	struct fabric_election *e = f->election;

	if (fabric_port_refusal(f))
		return fabric_port_refusal(f);
	if (fabric_keys_refusal(f))
		return fabric_keys_refusal(f);
	if (e->core.state == SM_NOT_ACTIVE)
		return "this subnet manager is disabled by another; see fmctl events";
	if (e->core.state != SM_STANDBY)
		return NULL;
	snprintf(e->refusal, sizeof(e->refusal),
		 "this subnet manager stands by: ask that of %s (port GUID 0x%016" PRIx64 ")",
		 e->master.name, e->master.guid);
	return e->refusal;
}

static json_t *other_json(const struct other *other)
{
	return json_pack("{ss so ss si si}", "name", other->name, "port_guid",
			 json_sprintf("0x%016" PRIx64, other->guid), "state", state_of(other),
			 "priority", (int)other->info.priority, "lid", (int)other->lid);
}

/* As the latest poll has it. */
static json_t *master_json(const struct fabric_election *e)
{
	struct other master = e->master;

	master.info = e->core.master;
	master.answered = !e->core.missed;
	return other_json(&master);
}

json_t *fabric_election_json(const struct fabric *f)
{
	const struct fabric_election *e = f->election;
	json_t *others = json_array();

	for (unsigned i = 0; i < e->nothers; i++)
		json_array_append_new(others, other_json(e->others[i]));
	return json_pack("{si si sI so so sb si sf sI}", "state", (int)e->core.state, "priority",
			 (int)election_priority(&e->core), "since_s",
			 (json_int_t)((loop_now_us(f->loop) - e->since_us) / 1000000), "master",
			 e->core.state == SM_STANDBY ? master_json(e) : json_null(), "others",
			 others, "two_masters", e->warned, "take_overs", (int)e->take_overs,
			 "take_over_ms", e->take_over_ms, "controls_refused",
			 (json_int_t)sm_stats(f->sm).controls_refused);
}
