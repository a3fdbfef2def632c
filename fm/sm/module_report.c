/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who is master, in events and in the status. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "fm/program/program.h"
#include "fm/sa/sa.h"
#include "fm/sm/module_own.h"
#include "topology/base/mem.h"

static uint64_t ms_between(uint64_t from_us, uint64_t to_us)
{
	return to_us > from_us ? (to_us - from_us) / 1000 : 0;
}

/* ---- Others ---------------------------------------------------------------------------------- */

static const char *state_of(const struct other *other)
{
	return other->answered ? sm_state_name(other->info.state) : "does not answer";
}

static bool is_reported(const struct reported *then, const struct other *now)
{
	return then->guid == now->guid && then->answered == now->answered &&
	       then->state == now->info.state && then->priority == now->info.priority;
}

static bool are_reported(const struct sm_room *r)
{
	const struct rounds *q = &r->rounds;

	for (unsigned i = 0; i < q->nothers; i++)
		if (i >= r->reports.nreported ||
		    !is_reported(&r->reports.reported[i], q->others[i]))
			return false;
	return q->nothers == r->reports.nreported;
}

static void report_other(struct sm_room *r, const struct other *other)
{
	const struct event_subject subject = sm_subject(r, other->guid);

	if (other->answered && election_is_foreign(&r->core, &other->info))
		event_log_add(r->services.events, LOG_ERR, "other-sm", &subject, NULL,
			      "%s (port GUID 0x%016" PRIx64
			      "): subnet manager with another SM_Key found; the two managers "
			      "ignore each other",
			      other->name, other->guid);
	else
		event_log_add(r->services.events, LOG_NOTICE, "other-sm", &subject, NULL,
			      "%s (port GUID 0x%016" PRIx64
			      "): other subnet manager: %s, priority %u",
			      other->name, other->guid, state_of(other), other->info.priority);
}

void sm_report_others(struct sm_room *r)
{
	const struct rounds *q = &r->rounds;

	if (are_reported(r))
		return;
	if (!q->nothers)
		event_log_add(r->services.events, LOG_NOTICE, "other-sm", NULL, NULL,
			      "fabric: no other subnet manager left");
	r->reports.reported =
		mem_resize(r->reports.reported, q->nothers + 1, sizeof(*r->reports.reported));
	for (unsigned i = 0; i < q->nothers; i++) {
		const struct other *other = q->others[i];

		if (i >= r->reports.nreported || !is_reported(&r->reports.reported[i], other))
			report_other(r, other);
		r->reports.reported[i] = (struct reported){ other->guid, other->info.state,
							    other->info.priority, other->answered };
	}
	r->reports.nreported = q->nothers;
}

/* Those with another SM_Key too, as OpenSM does. */
void sm_show_to_sa(struct sm_room *r)
{
	const struct rounds *q = &r->rounds;
	struct sa_manager *list = mem_alloc(q->nothers + 1, sizeof(*list));
	unsigned count = 0;

	for (unsigned i = 0; i < q->nothers; i++)
		if (q->others[i]->answered)
			list[count++] = (struct sa_manager){ q->others[i]->lid, q->others[i]->guid,
							     q->others[i]->info };
	sa_set_managers(r->services.sa, list, count);
	free(list);
}

/* ---- Our own state --------------------------------------------------------------------------- */

/* A manager that never met another becomes master without an event. */
void sm_report_master(struct sm_room *r)
{
	if (r->reports.taking.begun_us)
		event_log_add(r->services.events, LOG_WARNING, "master", NULL, NULL,
			      "fabric: this subnet manager is now master, after %s",
			      r->reports.taking.from);
}

void sm_report_standby(struct sm_room *r)
{
	const struct other *master = &r->polls.master;
	const struct event_subject subject = sm_subject(r, master->guid);

	event_log_add(r->services.events, LOG_NOTICE, "standby", &subject, NULL,
		      "fabric: this subnet manager is now standby of %s (port GUID 0x%016" PRIx64
		      ", priority %u, %s)",
		      master->name, master->guid, master->info.priority,
		      sm_state_name(master->info.state));
	if (election_is_foreign(&r->core, &master->info))
		alert_raise(
			r->services.alerts, "foreign-master", NULL,
			"%s (port GUID 0x%016" PRIx64
			") is master and has another SM_Key: this manager stays standby whatever "
			"the priorities; configure the same sm_key on both, or stop one of them",
			master->name, master->guid);
}

void sm_report_handover(struct sm_room *r)
{
	const struct other *peer = &r->peer;
	bool wish = r->core.gave || r->core.lowered;
	const struct event_subject subject = sm_subject(r, peer->guid);

	event_log_add(r->services.events, LOG_NOTICE, "handover", &subject, NULL,
		      "fabric: %s (port GUID 0x%016" PRIx64 ", priority %u) %s: handing over to it",
		      peer->name, peer->guid, peer->info.priority,
		      wish ? "was chosen as master by an operator" : "outranks this manager");
}

void sm_report_not_copied(struct sm_room *r)
{
	event_log_add(r->services.events, LOG_WARNING, "handover", NULL, NULL,
		      "fabric: handing over although no standby has a complete copy of this "
		      "manager's state");
}

void sm_report_two_masters(struct sm_room *r, const struct other *whom)
{
	bool foreign = election_is_foreign(&r->core, &whom->info);
	const struct event_subject subject = sm_subject(r, whom->guid);

	event_log_add(r->services.events, LOG_ERR, "two-masters", &subject, NULL,
		      "fabric: two masters: %s (port GUID 0x%016" PRIx64
		      ", priority %u) is master too; both change the fabric until it hands over",
		      whom->name, whom->guid, whom->info.priority);
	alert_raise(r->services.alerts, "two-masters", NULL,
		    "two masters: %s (port GUID 0x%016" PRIx64
		    ", priority %u) is master too, and both change the fabric: %s",
		    whom->name, whom->guid, whom->info.priority,
		    foreign ? "its SM_Key differs, so neither hands over; stop one of them"
			    : "it should hand over");
}

void sm_report_control(struct sm_room *r, enum election_event event, const struct other *from)
{
	static const char *const did[ELECTION_EVENTS] = {
		[ELECTION_GIVEN] = "took over from this manager",
		[ELECTION_HANDOVER] = "handed over to this manager",
		[ELECTION_DISABLE] = "disabled this manager (SMInfo DISABLE) until a master "
				     "enables it, the sender is gone, or fmd restarts",
		[ELECTION_STANDBY] = "enabled this manager again as standby",
		[ELECTION_DISCOVER] = "sent SMInfo DISCOVER: this manager polls for a master",
	};

	const struct event_subject subject = sm_subject(r, from->guid);

	if (did[event])
		event_log_add(r->services.events, event == ELECTION_DISABLE ? LOG_ERR : LOG_NOTICE,
			      "handover", &subject, NULL, "%s (port GUID 0x%016" PRIx64 "): %s",
			      from->name[0] ? from->name : "a subnet manager", from->guid,
			      did[event]);
	if (event == ELECTION_DISABLE)
		alert_raise(r->services.alerts, "disabled", NULL,
			    "%s (port GUID 0x%016" PRIx64
			    ") disabled this manager (SMInfo DISABLE): it is not a standby until a "
			    "master enables it, the sender is gone, or fmd restarts",
			    from->name[0] ? from->name : "a subnet manager", from->guid);
}

/* ---- Take-overs ------------------------------------------------------------------------------ */

void sm_report_taking(struct sm_room *r, const struct other *from, uint64_t heard_us)
{
	r->reports.taking.begun_us = loop_now_us(r->services.loop);
	r->reports.taking.heard_us = heard_us ? heard_us : r->reports.taking.begun_us;
	snprintf(r->reports.taking.from, sizeof(r->reports.taking.from), "%s",
		 from->name[0] ? from->name : "another");
}

void sm_report_taken(struct sm_room *r)
{
	uint64_t now = loop_now_us(r->services.loop), silent, took;
	unsigned long long blocks = program_blocks_written(r->services.program);

	if (!r->reports.taking.begun_us)
		return;
	silent = ms_between(r->reports.taking.heard_us, r->reports.taking.begun_us);
	took = ms_between(r->reports.taking.begun_us, now);
	r->reports.take_over_ms = (double)(silent + took);
	r->reports.take_overs++;
	r->reports.taking.begun_us = 0;
	event_log_add(r->services.events, LOG_NOTICE, "take-over", NULL,
		      json_pack("{sI sI sI}", "silent_ms", (json_int_t)silent, "took_ms",
				(json_int_t)took, "lft_blocks_written", (json_int_t)blocks),
		      "fabric: took over from %s: %llu ms without an answer, then %llu ms until "
		      "the fabric was up, %llu LFT blocks written",
		      r->reports.taking.from, (unsigned long long)silent, (unsigned long long)took,
		      blocks);
}

/* ---- Roles ----------------------------------------------------------------------------------- */

/* NULL: not known yet, or about to be: who asks for the next master is in no role of its own. */
static const char *role_now(const struct sm_room *r)
{
	if (port_missing(r->port))
		return "none"; /* its role is left a turn later */
	switch (r->core.state) {
	case SM_MASTER:
		return "master";
	case SM_STANDBY:
		return "standby";
	case SM_NOT_ACTIVE:
		return "disabled";
	default:
		return NULL;
	}
}

void sm_report_role(struct sm_room *r)
{
	const char *role = role_now(r);
	uint64_t now = loop_now_us(r->services.loop), *slot;

	if (!role || role == r->reports.role)
		return;
	if (r->reports.role) {
		slot = &r->reports.role_changed_us[r->reports.role_changes++ % ROLE_CHANGES_MAX];
		if (r->reports.role_changes > ROLE_CHANGES_MAX && now - *slot < ROLE_CHANGES_US)
			alert_raise(r->services.alerts, "role-changes", NULL,
				    "this manager changed its role more than %u times in ten "
				    "minutes; see fmctl events",
				    ROLE_CHANGES_MAX);
		*slot = now;
		loop_timer_set(r->reports.calm, ROLE_CHANGES_US);
	}
	r->reports.role = role;
}

static void calm_cb(void *arg)
{
	struct sm_room *r = arg;

	alert_end(r->services.alerts, "role-changes", NULL);
}

void sm_report_init(struct sm_room *r)
{
	r->reports.since_us = loop_now_us(r->services.loop);
	r->reports.calm = loop_timer_new(r->services.loop, calm_cb, r);
}

void sm_report_fini(struct sm_room *r)
{
	loop_timer_free(r->reports.calm);
	free(r->reports.reported);
}

/* ---- For operators --------------------------------------------------------------------------- */

const char *sm_refusal(struct sm_room *r)
{
	const char *missing = port_missing(r->port);

	if (missing || keys_refusal(&r->keys))
		return missing ? missing : keys_refusal(&r->keys);
	if (r->foreign_prefix)
		return "the fabric has another subnet prefix, so fmd writes nothing: see alert "
		       "foreign-prefix in fmctl status";
	if (r->core.state == SM_NOT_ACTIVE)
		return "another manager disabled this subnet manager: see fmctl events";
	if (r->core.state != SM_STANDBY)
		return NULL;
	snprintf(r->reports.refusal, sizeof(r->reports.refusal),
		 "this subnet manager is standby; the master is %s (port GUID 0x%016" PRIx64 ")",
		 r->polls.master.name, r->polls.master.guid);
	return r->reports.refusal;
}

static json_t *other_json(const struct other *other)
{
	return json_pack("{ss so ss si si}", "name", other->name, "port_guid",
			 json_sprintf("0x%016" PRIx64, other->guid), "state", state_of(other),
			 "priority", (int)other->info.priority, "lid", (int)other->lid);
}

/* As the latest poll has it. */
static json_t *master_json(const struct sm_room *r)
{
	struct other master = r->polls.master;

	master.info = r->core.master;
	master.answered = !r->core.missed;
	return other_json(&master);
}

static json_t *election_json(const struct sm_room *r)
{
	const struct rounds *q = &r->rounds;
	json_t *others = json_array();

	for (unsigned i = 0; i < q->nothers; i++)
		json_array_append_new(others, other_json(q->others[i]));
	return json_pack(
		"{si si sI so so sb si sf sI}", "state", (int)r->core.state, "priority",
		(int)election_priority(&r->core), "since_s",
		(json_int_t)((loop_now_us(r->services.loop) - r->reports.since_us) / 1000000),
		"master", r->core.state == SM_STANDBY ? master_json(r) : json_null(), "others",
		others, "two_masters", r->warned, "take_overs", (int)r->reports.take_overs,
		"take_over_ms", r->reports.take_over_ms, "controls_refused",
		(json_int_t)sm_stats(r->sm).controls_refused);
}

static json_t *strangers_json(const struct sm_room *r)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < r->strangers.count; i++) {
		const struct stranger *it = &r->strangers.list[i];

		json_array_append_new(rows, json_pack("{ss so sb}", "name", it->name, "port_guid",
						      json_sprintf("0x%016" PRIx64, it->port_guid),
						      "isolated", it->shut));
	}
	return rows;
}

static json_t *traps_json(const struct sm_room *r)
{
	struct sm_stats s = sm_stats(r->sm);

	return json_pack("{sI sI sI}", "received", (json_int_t)s.traps, "repeated",
			 (json_int_t)s.traps_repeated, "not_repressed",
			 (json_int_t)s.traps_not_repressed);
}

/* What keeps this manager from its work, in place of how far that is; NULL = nothing does. */
static const char *idle_state(const struct sm_room *r)
{
	if (port_missing(r->port))
		return own_port_state_name(port_state(r->port));
	if (r->core.state == SM_STANDBY || r->core.state == SM_NOT_ACTIVE)
		return "standby";
	if (r->foreign_prefix)
		return "foreign-prefix";
	return r->keys.foreign ? "foreign-m-key" : NULL;
}

void sm_status(const struct sm_room *r, json_t *doc)
{
	const char *role = role_now(r), *idle = idle_state(r);
	enum sm_state state = port_missing(r->port) ? SM_DISCOVERING : sm_state(r->sm);

	if (idle) {
		json_object_set_new(doc, "state", json_string(idle));
		json_object_set_new(doc, "fabric_up", json_false());
	}
	json_object_set_new(doc, "sm", json_string(sm_state_name(state)));
	json_object_set_new(doc, "role", json_string(role ? role : "discovering"));
	json_object_set_new(doc, "role_changes", json_integer(r->reports.role_changes));
	json_object_set_new(doc, "election", election_json(r));
	json_object_set_new(doc, "sms_not_allowed", strangers_json(r));
	json_object_set_new(doc, "traps", traps_json(r));
}
