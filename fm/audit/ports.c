/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/audit/ports.h"
#include "fm/keys/lookup.h"
#include "fm/mad/batch.h"
#include "fm/sa/module.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"

#define UNREAD_MOST 100 /* each time */

/* A job's arg; its kind is enum inv_set. */
#define PORT(arg)  ((uint8_t)(arg))
#define PART(arg)  ((arg) >> 8 & 0xff)
#define ROUND(arg) ((arg) >> 16 & 0xff)

enum scope { UNREAD, ENDS, ALL, SCOPES }; /* what was acknowledged and not read since */
/* A pass takes as many calls at least: 1.5 seconds, 12. */
static const unsigned pass_calls[SCOPES] = { [ENDS] = 30, [ALL] = 240 };

struct pass {
	guid_t node; /* where it goes on */
	unsigned port;
	unsigned asked, before; /* attributes: by now, and in the whole pass before */
	uint8_t rounds;
};

struct port_audit {
	struct fabric *fabric;
	struct fabric_services services;
	struct batch *batch;
	struct pass passes[SCOPES];
};

/* ---- What is asked --------------------------------------------------------------------------- */

static bool held(const struct port_audit *a, const struct inv_node *node, enum inv_set what,
		 uint32_t arg, struct port_table *table)
{
	uint8_t num = PORT(arg);

	if (what == INV_SET_GUIDS)
		return (inv_is_switch(node) ? !num : num) && bringup_port_workable(node, num) &&
		       sa_holds_guids(a->fabric, inventory_key_guid(node, num), PART(arg), table);
	return bringup_held(a->services.bringup, node, num, what, PART(arg), ROUND(arg), table);
}

/* The attributes of a port, as many as there are. */
static unsigned ask_port(struct port_audit *a, struct inv_node *node, unsigned num,
			 enum scope scope)
{
	unsigned asked = 0;

	for (unsigned what = INV_SET_INFO; what <= INV_SET_GUIDS; what *= 2) {
		struct batch_job job = { .object = NULL };

		if ((scope == ENDS && what != INV_SET_INFO) ||
		    (scope == UNREAD && !(port_setup(node, num)->unread & what)))
			continue;
		for (unsigned part = 0; part <= UINT8_MAX; part++) {
			uint32_t arg = num | part << 8 | (uint32_t)a->passes[ALL].rounds << 16;
			struct port_table table;

			if (!held(a, node, what, arg, &table)) {
				if (what != INV_SET_LANES || part >= INV_SL2VL)
					break;
				continue;
			}
			if (job.object)
				batch_add(a->batch, &job);
			job = (struct batch_job){ .object = node, .kind = what, .arg = arg };
			asked++;
		}
		job.wave = 1; /* the last of these */
		if (job.object)
			batch_add(a->batch, &job);
	}
	return asked;
}

static void ask_some(struct port_audit *a, enum scope scope, unsigned most)
{
	struct pass *pass = &a->passes[scope];
	struct inv_node *node = inventory_from(a->services.inventory, pass->node);
	unsigned asked = 0;

	if (scope != UNREAD && pass->before && most > pass->before / pass_calls[scope] + 1)
		most = pass->before / pass_calls[scope] + 1;
	for (; node && asked < most; node = inventory_next(a->services.inventory, node)) {
		unsigned last = scope == ENDS && inv_is_switch(node) ? 0 : node->nports;

		if (node->guid != pass->node)
			pass->port = 0;
		for (pass->node = node->guid; pass->port <= last && asked < most; pass->port++)
			asked += ask_port(a, node, pass->port, scope);
		if (pass->port <= last)
			break;
	}
	pass->asked += asked;
	if (node)
		return;
	if (scope == UNREAD && !pass->asked)
		bringup_all_read(a->services.bringup);
	*pass = (struct pass){ .before = pass->asked, .rounds = pass->rounds + 1u };
}

void port_audit_ask(struct port_audit *a, unsigned ends, unsigned others)
{
	if (batch_in_flight(a->batch))
		return;
	if (bringup_has_unread(a->services.bringup))
		ask_some(a, UNREAD, UNREAD_MOST);
	ask_some(a, ENDS, ends);
	ask_some(a, ALL, others);
}

/* ---- Questions and answers ------------------------------------------------------------------- */

static uint32_t stamp_now(const struct port_audit *a)
{
	return fabric_quiet_since_us(a->fabric);
}

static bool make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct port_audit *a = owner;
	struct inv_node *node = job->object;
	struct port_table table;

	if (!stamp_now(a) || !held(a, node, job->kind, job->arg, &table) ||
	    !inventory_port_path(a->services.inventory, node, PORT(job->arg), &request->via.path))
		return false;
	request->via.stamp = stamp_now(a);
	request->mad.method = WIRE_GET;
	request->mad.attr_id = table.attr_id;
	request->mad.attr_mod = table.modifier;
	request->mad.device = node->guid;
	request->mad.doubtful = request->mad.once = true;
	if (!job->tries)
		port_key_by_lid(a->services.inventory, node, PORT(job->arg), &request->mad);
	return true;
}

/*
 * Has both ends of the link swept: PortInfo is compared there, and who answers behind the link is
 * asked, for cables may have been changed.
 */
static void sweep_link(struct port_audit *a, struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	if (port->peer) {
		sweep_port(port->peer, port->peer_port)->must_probe = inv_is_switch(port->peer);
		fabric_request_refresh(a->fabric, port->peer->guid, "the audit met a difference");
	}
	sweep_port(node, num)->must_read = true;
	fabric_request_refresh(a->fabric, node->guid, "the audit met a difference");
}

static void done(void *owner, const struct batch_job *job, const struct batch_path *via,
		 const struct mad_answer *answer)
{
	struct port_audit *a = owner;
	struct inv_node *node = job->object;
	uint8_t num = PORT(job->arg);
	struct batch_job again = *job;
	struct port_table table;

	if (answer->result == MAD_TIMEOUT && !again.tries++)
		batch_add(a->batch, &again); /* by its directed route: it may have another LID */
	if (answer->result != MAD_OK || !stamp_now(a) || via->stamp != stamp_now(a) ||
	    !held(a, node, job->kind, job->arg, &table))
		return; /* its turn comes again */
	if (job->kind == INV_SET_GUIDS) {
		sa_read_guids(a->fabric, node, num, &table, answer->data);
		return;
	}
	if (!bringup_compare(a->services.bringup, node, num, job->kind, &table, answer->data,
			     job->wave))
		return;
	sweep_link(a, node, num);
	fabric_request_reroute(a->fabric, "a port holds other settings than were written");
}

static const struct batch_ops ops = { .make = make, .done = done };

/* ---- Life ------------------------------------------------------------------------------------ */

struct port_audit *port_audit_new(struct fabric *fabric)
{
	struct port_audit *a = ROOM_NEW(a, fabric);

	a->batch = batch_new(a->services.loop, a->services.mad, &ops, a);
	return a;
}

void port_audit_free(struct port_audit *a)
{
	if (!a)
		return;
	batch_free(a->batch);
	free(a);
}
