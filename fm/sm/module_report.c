/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who is master, in events and in the status. */
#include <inttypes.h>
#include "fm/fabric/request.h"
#include "fm/program/program.h"
#include "fm/sa/sa.h"
#include "fm/sm/module_own.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"

/* ---- Module allowed -------------------------------------------------------------------------- */

#define AGAIN_US 30000000 /* between two readings of their ports */

bool sm_is_allowed(const struct sm_room *r, guid_t guid)
{
	const char *text = r->services.conf->sm.allowed;
	uint64_t one;
	int used;

	for (; sscanf(text, "%" SCNx64 "%n", &one, &used) == 1; text += used)
		if (one == guid)
			return true;
	return !*r->services.conf->sm.allowed ||
	       any_of(i, 0, UNALLOWED_MAX, r->unallowed.admitted[i] == guid);
}

/* Never what carries others' traffic, nor the adapter that this manager is on. */
static bool may_be_shut(const struct sm_room *r, const struct inv_node *node)
{
	return r->services.conf->sm.foreign_action == CONF_SM_ISOLATE &&
	       fabric_is_master(r->fabric) && !inv_is_switch(node) &&
	       node != r->services.inventory->local;
}

static struct inv_node *node_of(const struct inventory *inv, guid_t port_guid, uint8_t *num)
{
	INVENTORY_EACH (inv, node) {
		*num = 0;
		if (inv_is_switch(node) && node->guid == port_guid)
			return node;
		for (unsigned p = 1; node->port_guids && p <= node->nports; p++) {
			*num = p;
			if (node->port_guids[p] == port_guid)
				return node;
		}
	}
	return NULL;
}

struct event_subject sm_subject(const struct sm_room *r, guid_t port_guid)
{
	uint8_t num;
	const struct inv_node *node = node_of(r->services.inventory, port_guid, &num);

	return node ? inventory_subject(node, num) : (struct event_subject){ 0 };
}

struct sm_called sm_called(const char *name, guid_t guid, int priority)
{
	struct sm_called called;

	array_printf(called.text, "%s (port GUID 0x%016" PRIx64, name, guid);
	if (priority >= 0)
		array_add(called.text, ", priority %d", priority);
	return called;
}

#define CALLED(it)	  sm_called((it)->name, (it)->guid, -1).text
#define CALLED_RANKED(it) sm_called((it)->name, (it)->guid, (it)->info.priority).text
#define SUBJECT(r, guid)  ((struct event_subject[]){ sm_subject(r, guid) })

/* ---- The list -------------------------------------------------------------------------------- */

static json_t *details_of(const struct unallowed_sm *it)
{
	return json_pack("{so sb}", "port_guid", json_guid(it->guid), "isolated", it->shut);
}

static void let_go(struct sm_room *r, struct unallowed_sm *it, const char *why)
{
	struct unallowed *s = &r->unallowed;
	const struct event_subject subject =
		inventory_link_subject(r->services.inventory, it->node, it->num);

	event_log_add(r->services.events, LOG_NOTICE, "sm-not-allowed-over", &subject,
		      details_of(it), "%s): %s%s", CALLED(it), why,
		      it->shut ? "; its link may come up again" : "");
	if (it->shut)
		fabric_request_reroute(r->fabric, "a manager that was not allowed is gone");
	*it = s->list[--s->count];
}

/* What a link says that is down is nothing: it may be down for this. */
static bool shows_no_manager(const struct inventory *inv, const struct unallowed_sm *it)
{
	const struct inv_node *node = inventory_find(inv, it->node);
	const struct inv_port *port =
		node && it->num <= node->nports ? &node->ports[it->num] : NULL;

	if (!port)
		return inv->local; /* else nothing was swept yet, in this role */
	return port->known && !node->gone && !node->silent && (port->link_up || !it->num) &&
	       !(port->capmask & WIRE_CAP_IS_SM);
}

static void drop_past(struct sm_room *r)
{
	struct unallowed *s = &r->unallowed;

	for (unsigned i = 0; i < s->count;)
		if (sm_is_allowed(r, s->list[i].guid))
			let_go(r, &s->list[i], "its subnet manager is allowed");
		else if (shows_no_manager(r->services.inventory, &s->list[i]))
			let_go(r, &s->list[i], "shows no subnet manager any more");
		else
			i++;
}

static void raise_alerts(struct sm_room *r)
{
	const struct unallowed *s = &r->unallowed;

	alerts_review(r->services.alerts, "sm-not-allowed");
	for (unsigned i = 0; i < s->count; i++) {
		const struct unallowed_sm *it = &s->list[i];
		struct event_subject subject =
			inventory_link_subject(r->services.inventory, it->node, it->num);

		subject.name = it->name;
		alert_raise(r->services.alerts, "sm-not-allowed", &subject,
			    "%s): runs a subnet manager that allowed_sm_guids does not name%s",
			    CALLED(it), it->shut ? "; its link is out of service" : "");
	}
	alerts_reviewed(r->services.alerts, "sm-not-allowed");
}

void sm_allowed_review(struct sm_room *r)
{
	const uint64_t now = sm_now(r);
	struct unallowed *s = &r->unallowed;

	drop_past(r);
	/* Nothing but its answer tells for certain that a manager has ended. */
	if (fabric_is_master(r->fabric) && now - s->asked_us >= AGAIN_US) {
		s->asked_us = now;
		for (unsigned i = 0; i < s->count; i++)
			fabric_request_refresh(r->fabric, s->list[i].node, "a manager not allowed");
	}
	/* The action may be another one, and so may the role. */
	for (unsigned i = 0; i < s->count; i++) {
		struct unallowed_sm *it = &s->list[i];
		const struct inv_node *node = inventory_find(r->services.inventory, it->node);
		bool shut = node && may_be_shut(r, node);

		if (node && shut != it->shut) {
			it->shut = shut;
			fabric_request_reroute(r->fabric, "what managers are allowed");
		}
	}

	for (unsigned i = 0; i < r->rounds.nothers; i++) {
		const struct other *other = r->rounds.others[i];
		struct unallowed_sm it = { .guid = other->guid };
		struct inv_node *node = node_of(r->services.inventory, other->guid, &it.num);

		/* One that is known by an SM LID alone may be the port that has that LID here. */
		if (!node || s->count == UNALLOWED_MAX || sm_is_allowed(r, other->guid) ||
		    !(node->ports[it.num].capmask & WIRE_CAP_IS_SM) ||
		    any_of(at, 0, s->count, s->list[at].guid == other->guid))
			continue;
		it.node = node->guid;
		array_printf(it.name, "%s", other->name);
		it.shut = may_be_shut(r, node);
		s->list[s->count++] = it;

		struct event_subject subject = inventory_subject(node, it.num);

		event_log_add(r->services.events, LOG_ERR, "sm-not-allowed", &subject,
			      details_of(&it),
			      "%s): runs a subnet manager that allowed_sm_guids does not name%s",
			      CALLED(&it), it.shut ? "; its link is taken out of service" : "");
		if (it.shut)
			fabric_request_reroute(r->fabric, "a manager that is not allowed");
	}
	raise_alerts(r);
}

void sm_allowed_mark(void *room, struct inventory *inv)
{
	struct sm_room *r = room;
	struct unallowed *s = &r->unallowed;

	if (!s->marked && !s->count)
		return;
	drop_past(r);
	s->marked = s->count;
	INVENTORY_EACH (inv, node)
		for (unsigned p = 1; !inv_is_switch(node) && p <= node->nports; p++)
			inv_port_mark(node, p, INV_SHUT, false);
	for (unsigned i = 0; i < s->count; i++) {
		const struct unallowed_sm *it = &s->list[i];
		struct inv_node *node;

		if (it->shut && inventory_port(inv, it->node, it->num, &node))
			inv_port_mark(node, it->num, INV_SHUT, true);
	}
	raise_alerts(r);
}

/* ---- Module report --------------------------------------------------------------------------- */

/* ---- Others ---------------------------------------------------------------------------------- */

void sm_report_others(struct sm_room *r)
{
	const struct rounds *q = &r->rounds;
	const unsigned had = r->reports.nreported;

	if (!q->nothers && had)
		event_log_add(r->services.events, LOG_NOTICE, "other-sm", NULL, NULL,
			      "fabric: no other subnet manager left");
	r->reports.reported = mem_array_resize(r->reports.reported, q->nothers + 1);
	for (unsigned i = 0; i < q->nothers; i++) {
		const struct other *it = q->others[i];
		struct reported *then = &r->reports.reported[i];
		const struct reported now = { it->guid, it->info.state, it->info.priority,
					      it->answered };
		bool foreign = it->answered && election_is_foreign(&r->core, &it->info);

		if (i < had && then->guid == now.guid && then->answered == now.answered &&
		    then->state == now.state && then->priority == now.priority)
			continue;
		*then = now;
		if (foreign)
			event_log_add(r->services.events, LOG_ERR, "other-sm", SUBJECT(r, it->guid),
				      NULL,
				      "%s): subnet manager with another SM_Key found; the two "
				      "managers ignore each other",
				      CALLED(it));
		else
			event_log_add(r->services.events, LOG_NOTICE, "other-sm",
				      SUBJECT(r, it->guid), NULL,
				      "%s): other subnet manager: %s, priority %u", CALLED(it),
				      it->answered ? sm_state_name(now.state) : "does not answer",
				      now.priority);
	}
	r->reports.nreported = q->nothers;
}

/* Those with another SM_Key too, as OpenSM does. */
void sm_show_to_sa(struct sm_room *r)
{
	const struct rounds *q = &r->rounds;
	struct sa_manager *list = mem_array(list, q->nothers + 1);
	unsigned count = 0;

	for (unsigned i = 0; i < q->nothers; i++)
		if (q->others[i]->answered)
			list[count++] = (struct sa_manager){ q->others[i]->lid, q->others[i]->guid,
							     q->others[i]->info };
	sa_set_managers(r->services.sa, list, count);
	free(list);
}

/* ---- Our own state --------------------------------------------------------------------------- */

void sm_report_standby(struct sm_room *r)
{
	const struct other *master = &r->polls.master;

	event_log_add(r->services.events, LOG_NOTICE, "standby", SUBJECT(r, master->guid), NULL,
		      "fabric: this subnet manager is now standby of %s, %s)",
		      CALLED_RANKED(master), sm_state_name(master->info.state));
	if (election_is_foreign(&r->core, &master->info))
		alert_raise(
			r->services.alerts, "foreign-master", NULL,
			"%s) is master and has another SM_Key: this manager stays standby whatever "
			"the priorities; configure the same sm_key on both, or stop one of them",
			CALLED(master));
}

void sm_report_handover(struct sm_room *r)
{
	const struct other *peer = &r->peer;
	bool wish = r->core.gave || r->core.lowered;

	event_log_add(r->services.events, LOG_NOTICE, "handover", SUBJECT(r, peer->guid), NULL,
		      "fabric: %s) %s: handing over to it", CALLED_RANKED(peer),
		      wish ? "was chosen as master by an operator" : "outranks this manager");
}

void sm_report_two_masters(struct sm_room *r, const struct other *whom)
{
	const char *end = whom->guid == r->core.passed_over
				  ? "it did nothing, so this manager took over from it; stop it"
			  : election_is_foreign(&r->core, &whom->info)
				  ? "its SM_Key differs, so neither hands over; stop one of them"
				  : "it should hand over";

	event_log_add(r->services.events, LOG_ERR, "two-masters", SUBJECT(r, whom->guid), NULL,
		      "fabric: two masters: %s) is master too; both change the fabric until it "
		      "hands over",
		      CALLED_RANKED(whom));
	alert_raise(r->services.alerts, "two-masters", NULL,
		    "two masters: %s) is master too, and both change the fabric: %s",
		    CALLED_RANKED(whom), end);
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

	const struct sm_called who =
		sm_called(*from->name ? from->name : "a subnet manager", from->guid, -1);

	if (did[event])
		event_log_add(r->services.events, event == ELECTION_DISABLE ? LOG_ERR : LOG_NOTICE,
			      "handover", SUBJECT(r, from->guid), NULL, "%s): %s", who.text,
			      did[event]);
	if (event == ELECTION_DISABLE)
		alert_raise(
			r->services.alerts, "disabled", NULL,
			"%s) disabled this manager (SMInfo DISABLE): it is not a standby until a "
			"master enables it, the sender is gone, or fmd restarts",
			who.text);
}

/* ---- Take-overs ------------------------------------------------------------------------------ */

void sm_report_taking(struct sm_room *r, const struct other *from, uint64_t heard_us)
{
	uint64_t now = sm_now(r);

	r->reports.taking.begun_us = now;
	r->reports.taking.heard_us = heard_us ? heard_us : now;
	array_printf(r->reports.taking.from, "%s", from->name[0] ? from->name : "another");
}

void sm_report_taken(struct sm_room *r)
{
	uint64_t begun = r->reports.taking.begun_us;
	uint64_t silent = (begun - r->reports.taking.heard_us) / 1000;
	uint64_t took = (sm_now(r) - begun) / 1000;
	unsigned long long blocks = program_blocks_written(r->services.program);

	if (!begun)
		return;
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
	static const char *const roles[] = {
		[SM_MASTER] = "master", [SM_STANDBY] = "standby", [SM_NOT_ACTIVE] = "disabled"
	};

	return port_missing(r->port)	      ? "none" /* left a turn later */
	       : r->services.conf->sm.observe ? "observer"
					      : roles[r->core.state];
}

void sm_report_role(void *room)
{
	struct sm_room *r = room;
	const char *role = role_now(r);
	uint64_t now = sm_now(r), *slot;

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
		loop_timer_set(r->reports.settled, ROLE_CHANGES_US);
	}
	r->reports.role = role;
}

static void role_settled(void *arg)
{
	struct sm_room *r = arg;

	alert_end(r->services.alerts, "role-changes", NULL);
}

void sm_report_init(struct sm_room *r)
{
	r->reports.since_us = sm_now(r);
	r->reports.settled = loop_timer_new(r->services.loop, role_settled, r);
}

/* ---- For operators --------------------------------------------------------------------------- */

const char *sm_refusal(struct sm_room *r)
{
	const char *missing = port_missing(r->port);

	if (missing || keys_refusal(&r->keys))
		return missing ? missing : keys_refusal(&r->keys);
	if (r->services.conf->sm.observe)
		return "this is an observer (observe = true): it changes nothing";
	if (r->foreign_prefix)
		return "the fabric has another subnet prefix, so fmd writes nothing: see alert "
		       "foreign-prefix in fmctl status";
	if (r->still.unheard)
		return "no device answers this manager, and another may be master: it asks who is";
	if (r->core.state == SM_NOT_ACTIVE)
		return "another manager disabled this subnet manager: see fmctl events";
	if (r->core.state != SM_STANDBY)
		return NULL;
	array_printf(r->reports.refusal, "this subnet manager is standby; the master is %s)",
		     CALLED(&r->polls.master));
	return r->reports.refusal;
}

static json_t *other_json(const struct other *other)
{
	return json_pack("{ss so ss si si}", "name", other->name, "port_guid",
			 json_guid(other->guid), "state",
			 other->answered ? sm_state_name(other->info.state) : "does not answer",
			 "priority", other->info.priority, "lid", other->lid);
}

void sm_status(const void *room, json_t *doc)
{
	const struct sm_room *r = room;

	/*
	 * What keeps this manager from its work, in place of how far that is; NULL = nothing does.
	 */
	const char *role = role_now(r),
		   *idle = port_missing(r->port) ? own_port_state_name(port_seen(r->port)->state)
			   : r->core.state == SM_STANDBY || r->core.state == SM_NOT_ACTIVE
				   ? "standby"
			   : fabric_observes(r->fabric) && fabric_view(r->fabric).topo ? "observing"
			   : r->still.unheard					       ? "asking"
			   : r->foreign_prefix ? "foreign-prefix"
			   : r->keys.foreign   ? "foreign-m-key"
					       : NULL;
	enum sm_state state = port_missing(r->port) ? SM_DISCOVERING : sm_state(r->sm);

	if (idle)
		json_put(doc, "{ss sb}", "state", idle, "fabric_up", false);
	port_status(r->port, doc);

	const struct rounds *q = &r->rounds;
	struct other master = r->polls.master;
	json_t *others = json_array(), *rows = json_array();

	/* As the latest poll has it. */
	master.info = r->core.master;
	master.answered = !r->core.missed;

	for (unsigned i = 0; i < q->nothers; i++)
		json_array_append_new(others, other_json(q->others[i]));
	for (unsigned i = 0; i < r->unallowed.count; i++) {
		const struct unallowed_sm *it = &r->unallowed.list[i];

		json_add(rows, "{ss so sb}", "name", it->name, "port_guid", json_guid(it->guid),
			 "isolated", it->shut);
	}

	struct sm_stats s = sm_stats(r->sm);

	json_put(doc, "{ss ss si s{si si sI so so sb sb si sf sI} so s{sI sI sI}}", "sm",
		 sm_state_name(state), "role", role ? role : "discovering", "role_changes",
		 r->reports.role_changes, "election", "state", r->core.state, "priority",
		 election_priority(&r->core), "since_s",
		 (json_int_t)((sm_now(r) - r->reports.since_us) / 1000000), "master",
		 r->core.state == SM_STANDBY ? other_json(&master) : json_null(), "others", others,
		 "two_masters", r->warned, "master_idle", r->idle.is, "take_overs",
		 r->reports.take_overs, "take_over_ms", r->reports.take_over_ms, "controls_refused",
		 (json_int_t)s.controls_refused, "sms_not_allowed", rows, "traps", "received",
		 (json_int_t)s.traps, "repeated", (json_int_t)s.traps_repeated, "not_repressed",
		 (json_int_t)s.traps_not_repressed);
}
