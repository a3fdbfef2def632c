/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A manager that becomes master keeps the LIDs of running ports, whatever is remembered of
 * them (fabric_keeps_lid). One answer can be wrong, and a LID that moves ends all connections of a
 * host: so a port whose LID is not the one that is remembered is asked a second time, before
 * anything is planned. A LID that is not read twice is ignored. Where nothing contradicts, no
 * packet is sent. A port whose GUID is not remembered is asked for that as well: with one wrong bit
 * it would inherit the LID of another port.
 *
 * A master whose LIDs another manager has overwritten reports that, and restores its own.
 */
#include "fm/audit/module.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/mad/batch.h"
#include "fm/sm/module.h"
#include "fm/sweep/sweep.h"
#include "routing/lid_plan.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"

#define READING "LIDs are read again" /* no update begins */

enum { ASK_LID, ASK_GUID };

struct lids_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct batch *batch;
	bool begun, under_way;
	uint16_t own_before;	 /* by lids_moved() */
	uint64_t overwritten_us; /* when ports were last found so; 0 = never */
	struct loop_timer *again;
};

void lids_moved(struct fabric *fabric, uint16_t before)
{
	struct lids_room *r = fabric_room(fabric, &lids_module);

	r->own_before = before;
}

static uint16_t remembered(const struct lids_room *r, guid_t port)
{
	const struct lid_memory *m = r->services.lids;
	uint32_t place = sort_place(0, m->count, at, m->entries[at].port_guid < port);

	return place < m->count && m->entries[place].port_guid == port ? m->entries[place].lid : 0;
}

static guid_t guid_of(const struct inv_node *node, unsigned num)
{
	if (inv_is_switch(node))
		return num ? 0 : node->guid;
	return num && node->ports[num].link_up ? node->port_guids[num] : 0;
}

/* One that is not remembered at all may show the LID of another. */
static bool contradicts(const struct lids_room *r, const struct inv_node *node, unsigned num)
{
	guid_t guid = guid_of(node, num);

	return guid && r->services.lids->count && node->ports[num].lid &&
	       node->ports[num].lid != remembered(r, guid) &&
	       fabric_keeps_lid(r->fabric, node, num);
}

static bool make(void *owner, const struct batch_job *job, struct batch_request *r)
{
	const struct lids_room *room = owner;
	const struct inv_node *node = job->object;

	if (node->removed ||
	    !inventory_port_path(room->services.inventory, node, job->arg, &r->via.path))
		return false;
	r->mad.method = WIRE_GET;
	r->mad.attr_id = job->kind == ASK_LID ? WIRE_PORT_INFO : WIRE_NODE_INFO;
	r->mad.attr_mod = job->kind == ASK_LID ? inventory_port_modifier(node, job->arg) : 0;
	r->mad.device = node->guid;
	return true;
}

static void done(void *owner, const struct batch_job *job, const struct batch_path *via,
		 const struct mad_answer *answer)
{
	struct inv_node *node = job->object;

	if (node->removed)
		return;
	if (job->kind == ASK_LID) {
		struct inv_port *port = &node->ports[job->arg];
		struct wire_port_info info = { 0 };

		if (answer->result == MAD_OK)
			wire_port_info_decode(answer->data, &info);
		if (info.lid != port->lid)
			port->lid = 0; /* it keeps what is remembered */
	} else {
		struct lids_room *r = owner;
		uint8_t num = job->arg;
		struct wire_node_info info;

		if (answer->result != MAD_OK)
			return;
		wire_node_info_decode(answer->data, &info);
		if (info.node_guid == node->guid && info.local_port == num && info.port_guid)
			inventory_set_port_guid(r->services.inventory, node, num, info.port_guid);
	}
}

static void idle(void *owner)
{
	struct lids_room *r = owner;

	r->under_way = false;
	fabric_request_reroute(r->fabric, "LIDs were read again");
}

/* ---- Overwritten by another manager ---------------------------------------------------------- */

#define NAMED_PORTS 20
#define AGAIN_US    1000000  /* until ports are read again, as long as some are overwritten */
#define TABLES_US   10000000 /* for as long at most because of tables alone */
#define OVER_US	    60000000 /* without such a port, then another event tells of the next */

struct overwritten {	/* end ports of one sweep, which hold another's LID or SM LID */
	bool differing; /* some port that runs differs, maybe from before */
	unsigned count;
	uint16_t sm_lid; /* of the first that shows another's; 0 = none does */
	json_t *ports;
	struct event_subject first;
	char text[NAMING_MAX + 80]; /* about the first */
};

/* An event tells of those that ran with their LIDs when the published snapshot was made. */
static void compare(const struct lids_room *r, const struct inv_node *node, unsigned num,
		    const struct fabric_view *view, struct overwritten *found)
{
	const struct inv_port *is = &node->ports[num];
	guid_t guid = guid_of(node, num);
	uint32_t index = is->lid <= view->lids->top ? view->lids->port_of_lid[is->lid] : TOPO_NONE;
	bool other_sm = is->sm_lid != view->sm_lid && is->sm_lid != r->own_before;

	if (!is->known || !is->lid || !is->sm_lid || (num && is->state < TOPO_ARMED))
		return;
	/* The usual case needs no search. */
	if (index == TOPO_NONE || view->topo->ports[index].guid != guid)
		index = topo_find_port(view->topo, guid);

	uint16_t lid = index == TOPO_NONE ? 0 : view->lids->lid_of_port[index];

	if (!lid || (is->lid == lid && !other_sm))
		return;
	found->differing = true;
	if (view->topo->ports[index].lid != lid ||
	    (num && view->topo->ports[index].state < TOPO_ARMED))
		return;
	if (!found->count++) {
		found->first = inventory_link_subject(r->services.inventory, node->guid, num);
		array_printf(found->text, "%s: LID %u, was %u; SM LID %u, was %u",
			     inventory_name(node, num ? (int)num : -1).text, is->lid, lid,
			     is->sm_lid, view->sm_lid);
		found->ports = json_array();
	}
	found->sm_lid = found->sm_lid || !other_sm ? found->sm_lid : is->sm_lid;
	if (found->count <= NAMED_PORTS)
		json_add(found->ports, "{so si si si si si}", "node", json_guid(node->guid), "port",
			 num, "lid", is->lid, "lid_before", lid, "sm_lid", is->sm_lid,
			 "sm_lid_before", view->sm_lid);
}

/* Tables are restored by the audit; who writes them may not be at their end. */
static void tables_read(void *arg, json_t *result, const char *error)
{
	const struct lids_room *r = arg;

	if (result && json_number(result, "differ") &&
	    loop_now_us(r->services.loop) - r->overwritten_us < TABLES_US)
		loop_timer_set(r->again, AGAIN_US);
}

static void read_again(void *arg)
{
	struct lids_room *r = arg;

	fabric_request_sweep(r->fabric, "another manager has written to ports");
	audit_readback(r->fabric, tables_read, r);
}

/*
 * A master whose LIDs were overwritten has its own restored by the update behind this sweep. The
 * other manager may be writing still, and writes its tables behind its LIDs: both are read again a
 * second later, until all is as it should be.
 */
static void restore_overwritten(struct lids_room *r, const struct fabric_view *view)
{
	uint64_t now = loop_now_us(r->services.loop), before = r->overwritten_us;
	const struct inventory *inv = r->services.inventory;
	struct overwritten found = { .count = 0 };
	char by[NAMING_MAX + 32] = "an unknown manager";

	bool goes_on = before && now - before < OVER_US;

	INVENTORY_EACH (inv, node)
		for (unsigned p = 0, last = inv_is_switch(node) ? 0 : node->nports;
		     !node->gone && !node->silent && p <= last; p++)
			if (guid_of(node, p))
				compare(r, node, p, view, &found);
	if (!found.count && !(goes_on && found.differing))
		return;
	r->overwritten_us = now;
	fabric_request_reroute(r->fabric, "ports were overwritten");
	audit_readback(r->fabric, tables_read, r);
	loop_timer_set(r->again, AGAIN_US);
	if (goes_on) {
		json_decref(found.ports);
		return;
	}
	if (found.sm_lid)
		array_printf(by, "the manager at LID %u", found.sm_lid);
	INVENTORY_EACH (inv, node)
		for (unsigned p = 0; found.sm_lid && !node->gone && p <= node->nports; p++)
			if (guid_of(node, p) && node->ports[p].lid == found.sm_lid)
				array_printf(by, "%s", inventory_name(node, p ? (int)p : -1).text);
	event_log_add(r->services.events, LOG_WARNING, "overwritten", &found.first,
		      json_pack("{ss si si so}", "by", by, "by_lid", found.sm_lid, "count",
				found.count, "ports", found.ports),
		      "fabric: %u %s overwritten by %s, and restored: %s", found.count,
		      words_plural(found.count, "port was", "ports were"), by, found.text);
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static const char *swept(void *room, const struct fabric_swept *swept)
{
	struct lids_room *r = room;
	struct fabric_view view = fabric_view(r->fabric);

	uint64_t now = loop_now_us(r->services.loop);
	bool goes_on = r->overwritten_us && now - r->overwritten_us < OVER_US;

	/* Who overwrites LIDs writes its own SM LID beside them. */
	if (swept->result && (swept->result->another_sm || goes_on) && view.topo && view.sm_lid &&
	    fabric_is_master(r->fabric))
		restore_overwritten(r, &view);
	return NULL;
}

/* Once, before the first update of a master. */
static const char *admit(void *room, const struct topo *next)
{
	struct lids_room *r = room;

	if (next)
		return NULL;
	if (r->begun || !fabric_is_master(r->fabric) || fabric_view(r->fabric).topo)
		return r->under_way ? READING : NULL;
	r->begun = true;

	struct inventory *inv = r->services.inventory;

	INVENTORY_EACH (inv, node)
		for (unsigned num = 0; !node->gone && !node->silent && num <= node->nports; num++)
			if (contradicts(r, node, num)) {
				bool unknown =
					!inv_is_switch(node) && !remembered(r, guid_of(node, num));
				struct batch_job job = { .object = node,
							 .arg = num,
							 .kind = ASK_LID };

				r->under_way = true;
				batch_add(r->batch, &job);
				job.kind = ASK_GUID;
				if (unknown)
					batch_add(r->batch, &job);
			}

	if (!r->under_way)
		return NULL;
	batch_wake(r->batch);
	return READING;
}

static void *init(struct fabric *fabric)
{
	static const struct batch_ops ops = { .make = make, .done = done, .idle = idle };
	struct lids_room *r = ROOM_NEW(r, fabric);

	r->batch = batch_new(r->services.loop, r->services.mad, &ops, r);
	r->again = loop_timer_new(r->services.loop, read_again, r);
	return r;
}

static void fini(void *room)
{
	struct lids_room *r = room;

	batch_free(r->batch);
	loop_timer_free(r->again);
	free(r);
}

const struct fabric_module lids_module = {
	.name = "lids", .init = init, .fini = fini, .swept = swept, .admit = admit
};
