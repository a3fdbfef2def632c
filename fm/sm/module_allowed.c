/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sm/module_allowed.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "fm/sm/module_own.h"

#define AGAIN_US 30000000 /* between two readings of their ports */

bool sm_is_allowed(const struct sm_room *r, guid_t guid)
{
	const char *text = r->services.conf->sm.allowed;
	uint64_t one;
	int used;

	for (; sscanf(text, "%" SCNx64 "%n", &one, &used) == 1; text += used)
		if (one == guid)
			return true;
	return !*r->services.conf->sm.allowed;
}

static struct stranger *find(struct strangers *s, guid_t port_guid)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->list[i].port_guid == port_guid)
			return &s->list[i];
	return NULL;
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
	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node)) {
		*num = 0;
		if (inv_is_switch(node) && node->guid == port_guid)
			return node;
		for (unsigned p = 1; node->port_guids && p <= node->nports; p++) {
			*num = (uint8_t)p;
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

/* ---- The list -------------------------------------------------------------------------------- */

static json_t *details_of(const struct stranger *it)
{
	return json_pack("{so sb}", "port_guid", json_sprintf("0x%016" PRIx64, it->port_guid),
			 "isolated", it->shut);
}

static void add(struct sm_room *r, const struct other *other)
{
	struct strangers *s = &r->strangers;
	struct stranger it = { .port_guid = other->guid };
	struct event_subject subject;
	struct inv_node *node = node_of(r->services.inventory, other->guid, &it.num);

	if (!node || s->count == STRANGERS || find(s, other->guid))
		return;
	it.node = node->guid;
	snprintf(it.name, sizeof(it.name), "%s", other->name);
	it.shut = may_be_shut(r, node);
	s->list[s->count++] = it;
	subject = inventory_subject(node, it.num);
	event_log_add(r->services.events, LOG_ERR, "sm-not-allowed", &subject, details_of(&it),
		      "%s (port GUID 0x%016" PRIx64
		      "): runs a subnet manager that allowed_sm_guids does not name%s",
		      it.name, it.port_guid, it.shut ? "; its link is taken out of service" : "");
	if (it.shut)
		fabric_request_reroute(r->fabric, "a manager that is not allowed");
}

static void let_go(struct sm_room *r, struct stranger *it, const char *why)
{
	struct strangers *s = &r->strangers;
	const struct event_subject subject =
		inventory_link_subject(r->services.inventory, it->node, it->num);

	event_log_add(r->services.events, LOG_NOTICE, "sm-not-allowed-over", &subject,
		      details_of(it), "%s (port GUID 0x%016" PRIx64 "): %s%s", it->name,
		      it->port_guid, why, it->shut ? "; its link may come up again" : "");
	if (it->shut)
		fabric_request_reroute(r->fabric, "a manager that was not allowed is gone");
	memmove(it, it + 1, (size_t)(&s->list[--s->count] - it) * sizeof(*it));
}

/* What a link says that is down is nothing: it may be down for this. */
static bool shows_no_manager(const struct inventory *inv, const struct stranger *it)
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
	struct strangers *s = &r->strangers;

	for (unsigned i = 0; i < s->count;)
		if (sm_is_allowed(r, s->list[i].port_guid))
			let_go(r, &s->list[i], "its subnet manager is allowed");
		else if (shows_no_manager(r->services.inventory, &s->list[i]))
			let_go(r, &s->list[i], "shows no subnet manager any more");
		else
			i++;
}

static void raise_alerts(struct sm_room *r)
{
	const struct strangers *s = &r->strangers;

	alerts_review(r->services.alerts, "sm-not-allowed");
	for (unsigned i = 0; i < s->count; i++) {
		struct event_subject subject = inventory_link_subject(
			r->services.inventory, s->list[i].node, s->list[i].num);

		subject.name = s->list[i].name;
		alert_raise(r->services.alerts, "sm-not-allowed", &subject,
			    "%s (port GUID 0x%016" PRIx64
			    "): runs a subnet manager that allowed_sm_guids does not name%s",
			    s->list[i].name, s->list[i].port_guid,
			    s->list[i].shut ? "; its link is out of service" : "");
	}
	alerts_reviewed(r->services.alerts, "sm-not-allowed");
}

/* The action may be another one, and so may the role. */
static void judge_shut(struct sm_room *r)
{
	struct strangers *s = &r->strangers;

	for (unsigned i = 0; i < s->count; i++) {
		const struct inv_node *node =
			inventory_find(r->services.inventory, s->list[i].node);
		bool shut = node && may_be_shut(r, node);

		if (node && shut != s->list[i].shut) {
			s->list[i].shut = shut;
			fabric_request_reroute(r->fabric, "what managers are allowed");
		}
	}
}

/* Nothing else tells for certain that a manager has ended. */
static void look_again(struct sm_room *r)
{
	uint64_t now = loop_now_us(r->services.loop);
	struct strangers *s = &r->strangers;

	if (!fabric_is_master(r->fabric) || now - s->asked_us < AGAIN_US)
		return;
	s->asked_us = now;
	for (unsigned i = 0; i < s->count; i++)
		fabric_request_refresh(r->fabric, s->list[i].node, "a manager not allowed");
}

void sm_allowed_review(struct sm_room *r)
{
	drop_past(r);
	look_again(r);
	judge_shut(r);
	for (unsigned i = 0; i < r->rounds.nothers; i++)
		if (!sm_is_allowed(r, r->rounds.others[i]->guid))
			add(r, r->rounds.others[i]);
	raise_alerts(r);
}

void sm_allowed_mark(struct sm_room *r, struct inventory *inv)
{
	struct strangers *s = &r->strangers;

	if (!s->marked && !s->count)
		return;
	drop_past(r);
	s->marked = s->count > 0;
	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		for (unsigned p = 1; !inv_is_switch(node) && p <= node->nports; p++)
			inv_port_mark(node, p, INV_SHUT, false);
	for (unsigned i = 0; i < s->count; i++) {
		struct inv_node *node = inventory_find(inv, s->list[i].node);

		if (s->list[i].shut && node && s->list[i].num <= node->nports)
			inv_port_mark(node, s->list[i].num, INV_SHUT, true);
	}
	raise_alerts(r);
}
