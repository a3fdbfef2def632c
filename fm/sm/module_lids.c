/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A manager that takes a fabric over keeps the LIDs that ports hold, whatever is remembered of them
 * (lid_memory_yield). One answer can be wrong, and a LID that moves ends all connections of its
 * host: so a port whose LID is not the one that is remembered is asked a second time, before
 * anything is planned. A LID that is not read twice is ignored. Where nothing contradicts, no
 * packet is sent. A port whose GUID is not remembered is asked for that as well: with one wrong bit
 * it would inherit the LID of another port.
 */
#include <stdlib.h>
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/mad/batch.h"
#include "fm/sm/module.h"
#include "routing/lid_plan.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define READING "LIDs are read again" /* no update begins */

enum { ASK_LID, ASK_GUID };

struct lids_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct batch *batch;
	bool begun, under_way;
};

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
	       node->ports[num].lid != remembered(r, guid);
}

static bool make(void *owner, const struct batch_job *job, struct batch_request *r)
{
	const struct lids_room *room = owner;
	const struct inv_node *node = job->object;

	if (node->removed ||
	    !inventory_port_path(room->services.inventory, node, (uint8_t)job->arg, &r->via.path))
		return false;
	r->mad.method = WIRE_GET;
	r->mad.attr_id = job->kind == ASK_LID ? WIRE_PORT_INFO : WIRE_NODE_INFO;
	r->mad.attr_mod =
		job->kind == ASK_LID ? inventory_port_modifier(node, (uint8_t)job->arg) : 0;
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
		uint8_t num = (uint8_t)job->arg;
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

/* ---- Hooks ----------------------------------------------------------------------------------- */

/* Once, before the first update after a take-over. */
static const char *admit(void *room, const struct topo *next)
{
	struct lids_room *r = room;

	if (next)
		return NULL;
	if (r->begun || !fabric_took_over(r->fabric) || fabric_view(r->fabric).topo)
		return r->under_way ? READING : NULL;
	r->begun = r->under_way = true;

	struct inventory *inv = r->services.inventory;

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		for (unsigned num = 0; !node->gone && !node->silent && num <= node->nports; num++)
			if (contradicts(r, node, num)) {
				bool unknown =
					!inv_is_switch(node) && !remembered(r, guid_of(node, num));
				struct batch_job job = { .object = node,
							 .arg = num,
							 .kind = ASK_LID };

				batch_add(r->batch, &job);
				job.kind = ASK_GUID;
				if (unknown)
					batch_add(r->batch, &job);
			}

	batch_wake(r->batch);
	return READING;
}

static void *init(struct fabric *fabric)
{
	static const struct batch_ops ops = { .make = make, .done = done, .idle = idle };
	struct lids_room *r = mem_alloc(1, sizeof(*r));

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	r->batch = batch_new(r->services.loop, r->services.mad, &ops, r);
	return r;
}

static void fini(void *room)
{
	struct lids_room *r = room;

	batch_free(r->batch);
	free(r);
}

const struct fabric_module lids_module = {
	.name = "lids", .init = init, .fini = fini, .admit = admit
};
