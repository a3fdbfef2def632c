/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_lids: who takes a fabric over keeps the LIDs that ports hold, whatever is remembered of them (lid_memory_yield). One answer can be
 * wrong, and a LID that moves ends all connections of its host: so a port whose LID is not the one that is remembered is asked a
 * second time, before anything is planned. What is not said twice is no news. Where nothing contradicts, no packet is sent.
 * A port whose GUID is not remembered is asked for that as well: with one wrong bit it would be another's heir.
 */
#include <stdlib.h>
#include "fm/fabric/own.h"
#include "fm/mad/batch.h"
#include "topology/sort.h"

enum { ASK_LID, ASK_GUID };

static struct inventory *inventory_of(const struct fabric *f)
{
	return sweep_inventory(f->sweep);
}

static uint16_t remembered(const struct fabric *f, guid_t port)
{
	const struct lid_memory *m = &f->memory;
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
static bool contradicts(const struct fabric *f, const struct inv_node *node, unsigned num)
{
	guid_t guid = guid_of(node, num);

	return guid && f->memory.count && node->ports[num].lid &&
	       node->ports[num].lid != remembered(f, guid);
}

static void ask(struct fabric *f, struct inv_node *node, unsigned num)
{
	bool unknown = !inv_is_switch(node) && !remembered(f, guid_of(node, num));
	struct batch_job job = { .object = node, .arg = num, .kind = ASK_LID };

	batch_add(f->confirm.batch, &job);
	job.kind = ASK_GUID;
	if (unknown)
		batch_add(f->confirm.batch, &job);
}

static void ask_contradicting(struct fabric *f)
{
	for (struct inv_node *node = inventory_first(inventory_of(f)); node;
	     node = inventory_next(inventory_of(f), node))
		for (unsigned num = 0; !node->gone && !node->silent && num <= node->nports; num++)
			if (contradicts(f, node, num))
				ask(f, node, num);
}

static bool make(void *owner, const struct batch_job *job, struct batch_request *r)
{
	struct fabric *f = owner;
	const struct inv_node *node = job->object;

	if (node->removed ||
	    !inventory_port_path(inventory_of(f), node, (uint8_t)job->arg, &r->way.path))
		return false;
	r->mad.method = WIRE_GET;
	r->mad.attr_id = job->kind == ASK_LID ? WIRE_PORT_INFO : WIRE_NODE_INFO;
	r->mad.attr_mod =
		job->kind == ASK_LID ? inventory_port_modifier(node, (uint8_t)job->arg) : 0;
	r->mad.device = node->guid;
	return true;
}

static void lid_told(struct inv_port *port, const struct mad_answer *answer)
{
	struct wire_port_info info = { 0 };

	if (answer->result == MAD_OK)
		wire_port_info_decode(answer->data, &info);
	if (info.lid != port->lid)
		port->lid = 0; /* it keeps what is remembered */
}

static void guid_told(struct fabric *f, struct inv_node *node, uint8_t num,
		      const struct mad_answer *answer)
{
	struct wire_node_info info;

	if (answer->result != MAD_OK)
		return;
	wire_node_info_decode(answer->data, &info);
	if (info.node_guid == node->guid && info.local_port == num && info.port_guid)
		inventory_set_port_guid(inventory_of(f), node, num, info.port_guid);
}

static void done(void *owner, const struct batch_job *job, const struct batch_way *way,
		 const struct mad_answer *answer)
{
	struct inv_node *node = job->object;

	if (node->removed)
		return;
	if (job->kind == ASK_LID)
		lid_told(&node->ports[job->arg], answer);
	else
		guid_told(owner, node, (uint8_t)job->arg, answer);
}

static void idle(void *owner)
{
	struct fabric *f = owner;

	f->confirm.under_way = false;
	fabric_request_reroute(f, "LIDs were read again");
}

bool fabric_lids_confirm(struct fabric *f)
{
	if (f->confirm.begun || !f->succeeds || f->topo)
		return f->confirm.under_way;
	f->confirm.begun = f->confirm.under_way = true;
	ask_contradicting(f);
	batch_wake(f->confirm.batch);
	return true;
}

void fabric_lids_init(struct fabric *f)
{
	static const struct batch_ops ops = { .make = make, .done = done, .idle = idle };

	f->confirm.batch = batch_new(f->loop, f->mad, &ops, f);
}

void fabric_lids_fini(struct fabric *f)
{
	batch_free(f->confirm.batch);
}
