/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * observe: the tables that devices hold, as a manager that only observes reads them.
 *
 * Behind each sweep the blocks up to each switch's LinearFDBTop are read, and the update behind
 * that publishes them in place of computed ones. No trap comes to an observer, and the master
 * clears PortStateChange before it is seen here, so all is swept again once in OBSERVE_US.
 *
 * Multicast tables of switches and P_Keys are read beside them, for reports (fabric_observed()); of
 * HCAs' ports, and of switches' ports that filter for one. Managers fill both from the beginning:
 * P_Keys are read until a block is empty, multicast tables until EMPTY_BLOCKS are.
 */
#include "fm/fabric/pipe.h"
#include "fm/fabric/view.h"
#include "fm/mad/batch.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define OBSERVE_US   30000000
#define EMPTY_BLOCKS 4

/*
 * Kinds of jobs. arg: AttributeModifier; wave: the port, or how many blocks before it were empty.
 */
enum { READ_LFT, READ_MFT, READ_PKEYS };

struct observed { /* of one node */
	guid_t guid;
	uint32_t size;	/* of its LFT, in entries: whole blocks */
	uint8_t *ports; /* by LID; blocks that were never answered are TABLES_NO_ROUTE */
	struct observed_blocks held, next; /* as last read, and as read until now */
};

struct observation {
	loop_fn *read;
	struct batch *batch;
	struct observed *nodes; /* sorted by GUID */
	uint32_t count;
	bool reads, again; /* again: asked for while the tables are being read */
	uint64_t begun_us;
};

static struct observed *find(const struct observation *o, guid_t guid)
{
	uint32_t at = sort_place(0, o->count, i, o->nodes[i].guid < guid);

	return at < o->count && o->nodes[at].guid == guid ? &o->nodes[at] : NULL;
}

static struct observed *observed_of(const struct fabric *f, const struct batch_job *job)
{
	return &f->requests.observation->nodes[(uintptr_t)job->object];
}

static bool make(void *owner, const struct batch_job *job, struct batch_request *r)
{
	static const uint16_t attributes[] = { WIRE_LFT, WIRE_MFT, WIRE_PKEY_TABLE };
	const struct fabric *f = owner;
	struct inventory *inv = sweep_inventory(f->sweep);
	struct inv_node *node = inventory_find(inv, observed_of(f, job)->guid);

	if (!node || node->gone || node->silent ||
	    !inventory_port_path(inv, node, inv_is_switch(node) ? 0 : job->wave, &r->via.path))
		return false;
	r->mad.method = WIRE_GET;
	r->mad.attr_id = attributes[job->kind];
	r->mad.attr_mod = job->arg;
	r->mad.device = node->guid;
	return true;
}

static void read_block(struct observation *o, uint32_t at, int kind, uint32_t modifier, uint8_t num)
{
	batch_add(o->batch, &(struct batch_job){ .object = (void *)(uintptr_t)at,
						 .kind = kind,
						 .arg = modifier,
						 .wave = num });
}

/* Keeps the block of 32 words, and asks for the next one unless this one was the last in use. */
static void take_words(struct fabric *f, const struct batch_job *job, const uint8_t *data)
{
	struct observed *of = observed_of(f, job);
	const struct inv_node *node = inventory_find(sweep_inventory(f->sweep), of->guid);
	bool multicast = job->kind == READ_MFT, any;
	struct observed_block block = { .multicast = multicast,
					.modifier = job->arg,
					.port = multicast ? 0 : job->wave };
	uint32_t behind = ((job->arg & (multicast ? 0x1ff : 0xffff)) + 1) * OBSERVED_WORDS, size;

	wire_words_decode(data, block.words);
	of->next.list = mem_grow(of->next.list, of->next.count);
	of->next.list[of->next.count++] = block;
	if (!node)
		return;
	any = any_of(i, 0, OBSERVED_WORDS, block.words[i]);
	size = multicast	     ? node->sw.mft_cap
	       : inv_is_switch(node) ? node->sw.enforce_cap
				     : node->info.partition_cap;
	if (behind < size && (any || (multicast && job->wave + 1 < EMPTY_BLOCKS)))
		read_block(f->requests.observation, (uintptr_t)job->object, job->kind, job->arg + 1,
			   !multicast ? job->wave
			   : any      ? 0
				      : job->wave + 1);
}

static void done(void *owner, const struct batch_job *job, const struct batch_path *via,
		 const struct mad_answer *answer)
{
	struct fabric *f = owner;

	if (answer->result != MAD_OK)
		return;
	if (job->kind != READ_LFT) {
		take_words(f, job, answer->data);
		return;
	}

	uint8_t *block = observed_of(f, job)->ports + (size_t)job->arg * TABLES_BLOCK;

	if (memcmp(block, answer->data, TABLES_BLOCK)) {
		memcpy(block, answer->data, TABLES_BLOCK);
		f->requests.forced = true; /* the snapshot may be the same */
	}
}

static void idle(void *owner)
{
	struct fabric *f = owner;
	struct observation *o = f->requests.observation;

	for (uint32_t i = 0; i < o->count; i++) {
		free(o->nodes[i].held.list);
		o->nodes[i].held = o->nodes[i].next;
		o->nodes[i].next = (struct observed_blocks){ 0 };
	}
	o->reads = false;
	if (o->again)
		fabric_observe(f);
	else
		o->read(f);
}

/* Takes what is known of a node over, of its LFT as far as that still reaches. */
static struct observed begin_with(const struct observation *o, const struct inv_node *node)
{
	struct observed *known = find(o, node->guid), next = { .guid = node->guid };

	if (node->sw.lft_top && node->sw.lft_top <= TABLES_MAX_LID)
		next.size = (node->sw.lft_top / TABLES_BLOCK + 1u) * TABLES_BLOCK;
	next.ports = mem_array(next.ports, next.size + 1);
	memset(next.ports, TABLES_NO_ROUTE, next.size);
	if (known) {
		memcpy(next.ports, known->ports, known->size < next.size ? known->size : next.size);
		next.held = known->held;
		known->held = (struct observed_blocks){ 0 };
	}
	return next;
}

static void forget(struct observation *o)
{
	for (uint32_t i = 0; i < o->count; i++) {
		free(o->nodes[i].ports);
		free(o->nodes[i].held.list);
		free(o->nodes[i].next.list);
	}
	free(o->nodes);
	o->nodes = NULL;
	o->count = 0;
}

/* The first blocks of a node's multicast table and of its ports' P_Keys. */
static void read_words(struct observation *o, uint32_t at, const struct inv_node *node)
{
	bool sw = inv_is_switch(node);

	for (unsigned i = 0; sw && node->sw.mft_cap && i <= node->nports / MCAST_POSITION; i++)
		read_block(o, at, READ_MFT, WIRE_MFT_MODIFIER(i, 0), 0);
	for (unsigned num = 1; num <= node->nports; num++) {
		const struct inv_port *port = &node->ports[num];
		struct wire_port_info info;

		if (!port->peer || !port->link_up || !port->known || inv_is_sharp(node))
			continue;
		wire_port_info_decode(port->info, &info);
		if (!sw || (!inv_is_switch(port->peer) && info.pkey_enforce_in))
			read_block(o, at, READ_PKEYS, sw ? num << 16 : 0, num);
	}
}

void fabric_observe(struct fabric *f)
{
	struct observation *o = f->requests.observation, next = { 0 };
	struct inventory *inv = sweep_inventory(f->sweep);

	o->again = o->reads;
	if (o->again)
		return;
	next.nodes = mem_array(next.nodes, cl_qmap_count(&inv->nodes) + 1);
	INVENTORY_EACH (inv, node)
		next.nodes[next.count++] = begin_with(o, node);
	forget(o);
	o->nodes = next.nodes;
	o->count = next.count;
	o->begun_us = loop_now_us(f->loop);
	o->reads = true;
	next.count = 0;
	INVENTORY_EACH (inv, node) {
		uint32_t at = next.count++;

		for (uint32_t block = 0; block < o->nodes[at].size / TABLES_BLOCK; block++)
			read_block(o, at, READ_LFT, block, 0);
		read_words(o, at, node);
	}
	batch_wake(o->batch);
}

bool fabric_observe_reads(const struct fabric *f)
{
	return f->requests.observation->reads;
}

struct observed_blocks fabric_observed(const struct fabric *f, guid_t guid)
{
	const struct observed *of = find(f->requests.observation, guid);

	return of ? of->held : (struct observed_blocks){ 0 };
}

bool fabric_is_silent_behind(const struct inv_node *node, unsigned num)
{
	return sweep_is_silent_behind(node, num, false);
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
