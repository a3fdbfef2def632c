/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * observe: the forwarding tables that switches hold, as a manager that only observes reads them.
 *
 * Behind each sweep the blocks up to each switch's LinearFDBTop are read, and the update behind
 * that publishes them in place of computed ones. No trap comes to an observer, and the master
 * clears PortStateChange before it is seen here, so all is swept again once in OBSERVE_US.
 */
#include "fm/fabric/pipe.h"
#include "fm/mad/batch.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define OBSERVE_US 30000000

struct observed { /* of one switch */
	guid_t guid;
	uint32_t size;	/* entries: whole blocks */
	uint8_t *ports; /* by LID; blocks that were never answered are TABLES_NO_ROUTE */
};

struct observation {
	loop_fn *read;
	struct batch *batch;
	struct observed *switches; /* sorted by GUID */
	uint32_t count;
	bool again; /* asked for while the tables are being read */
	uint64_t begun_us;
};

static struct observed *find(const struct observation *o, guid_t guid)
{
	uint32_t at = sort_place(0, o->count, i, o->switches[i].guid < guid);

	return at < o->count && o->switches[at].guid == guid ? &o->switches[at] : NULL;
}

static bool make(void *owner, const struct batch_job *job, struct batch_request *r)
{
	const struct fabric *f = owner;
	struct inventory *inv = sweep_inventory(f->sweep);
	struct inv_node *node =
		inventory_find(inv, f->requests.observation->switches[(uintptr_t)job->object].guid);

	if (!node || node->gone || node->silent || !inventory_port_path(inv, node, 0, &r->via.path))
		return false;
	r->mad.method = WIRE_GET;
	r->mad.attr_id = WIRE_LFT;
	r->mad.attr_mod = job->arg;
	r->mad.device = node->guid;
	return true;
}

static void done(void *owner, const struct batch_job *job, const struct batch_path *via,
		 const struct mad_answer *answer)
{
	struct fabric *f = owner;
	uint8_t *block = f->requests.observation->switches[(uintptr_t)job->object].ports +
			 (size_t)job->arg * TABLES_BLOCK;

	if (answer->result != MAD_OK || !memcmp(block, answer->data, TABLES_BLOCK))
		return;
	memcpy(block, answer->data, TABLES_BLOCK);
	f->requests.forced = true; /* the snapshot may be the same */
}

static void idle(void *owner)
{
	struct fabric *f = owner;

	if (f->requests.observation->again)
		fabric_observe(f);
	else
		f->requests.observation->read(f);
}

/* Takes what is known of a switch over, as far as the table still reaches. */
static struct observed begin_with(const struct observation *o, const struct inv_node *node)
{
	const struct observed *known = find(o, node->guid);
	struct observed next = { .guid = node->guid };

	if (node->sw.lft_top && node->sw.lft_top <= TABLES_MAX_LID)
		next.size = (node->sw.lft_top / TABLES_BLOCK + 1u) * TABLES_BLOCK;
	next.ports = mem_array(next.ports, next.size + 1);
	memset(next.ports, TABLES_NO_ROUTE, next.size);
	if (known)
		memcpy(next.ports, known->ports, known->size < next.size ? known->size : next.size);
	return next;
}

static void forget(struct observation *o)
{
	for (uint32_t i = 0; i < o->count; i++)
		free(o->switches[i].ports);
	free(o->switches);
	o->switches = NULL;
	o->count = 0;
}

void fabric_observe(struct fabric *f)
{
	struct observation *o = f->requests.observation, next = *o;
	uint32_t count = 0;

	o->again = batch_in_flight(o->batch);
	if (o->again)
		return;
	o->begun_us = loop_now_us(f->loop);
	INVENTORY_EACH (sweep_inventory(f->sweep), node)
		count += inv_is_switch(node);
	next.switches = mem_array(next.switches, count + 1);
	next.count = 0;
	INVENTORY_EACH (sweep_inventory(f->sweep), node)
		if (inv_is_switch(node))
			next.switches[next.count++] = begin_with(o, node);
	forget(o);
	o->switches = next.switches;
	o->count = next.count;
	for (uint32_t i = 0; i < o->count; i++)
		for (uint32_t block = 0; block < o->switches[i].size / TABLES_BLOCK; block++)
			batch_add(o->batch, &(struct batch_job){ .object = (void *)(uintptr_t)i,
								 .arg = block });
	batch_wake(o->batch);
}

bool fabric_observe_is_due(const struct fabric *f)
{
	return fabric_observes(f) &&
	       loop_now_us(f->loop) - f->requests.observation->begun_us >= OBSERVE_US;
}

void fabric_observed_tables(const struct fabric *f, const struct topo *t, uint16_t top,
			    struct tables *out)
{
	tables_resize(out, t->nswitches, top);
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		const struct observed *held = find(f->requests.observation, t->nodes[sw].guid);
		uint32_t size = held && held->size < out->stride ? held->size : out->stride;

		memset(tables_row(out, sw), TABLES_NO_ROUTE, out->stride);
		if (held)
			memcpy(tables_row(out, sw), held->ports, size < top + 1u ? size : top + 1u);
	}
}

void fabric_observe_init(struct fabric *f, loop_fn *read)
{
	static const struct batch_ops ops = { .make = make, .done = done, .idle = idle };

	f->requests.observation = mem_new(f->requests.observation);
	f->requests.observation->read = read;
	f->requests.observation->batch = batch_new(f->loop, f->mad, &ops, f);
}

void fabric_observe_fini(struct fabric *f)
{
	batch_free(f->requests.observation->batch);
	forget(f->requests.observation);
	free(f->requests.observation);
}
