/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/batch.h"
#include "fm/mad/wire_optional.h"
#include "fm/registers/registers.h"
#include "topology/base/mem.h"

#define TICK_US	     50000
#define WAITING_MOST 16 /* requests on their way */
#define ALONE_US     3600000000u

enum { JOB_ABLE, JOB_DOWN };
enum able { ABLE_UNASKED, ABLE_ASKED, ABLE_YES, ABLE_NO };

struct rnode {
	cl_map_item_t item; /* key = node GUID */
	guid_t guid;
	uint64_t unable_us; /* ABLE_NO: since when */
	unsigned wanted;    /* ports in REGISTER_WANTED */
	uint8_t able;	    /* enum able */
	uint8_t nports;
	struct register_port ports[]; /* [nports + 1] */
};

struct registers {
	struct loop *loop;
	struct inventory *inv;
	const struct registers_ops *ops;
	void *arg;
	struct batch *batch;
	struct loop_timer *timer;
	cl_qmap_t nodes;
	unsigned waiting; /* ports that are wanted or asked */
	unsigned jobs;	  /* queued or on their way */
	struct registers_counts counts;
};

static struct rnode *find(const struct registers *r, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get(&r->nodes, guid);

	return item == cl_qmap_end(&r->nodes) ? NULL : (struct rnode *)item;
}

static void end(struct registers *r, struct rnode *n, unsigned num, enum register_state state)
{
	r->waiting--;
	n->ports[num].state = state;
	r->ops->ended(r->arg, n->guid, num);
}

/* Its agent is reached by LID, an HCA's by the port itself. 0 = it is not. */
static uint16_t lid_of(const struct inv_node *inv, unsigned num)
{
	bool sw = inv_is_switch(inv);

	if (num > inv->nports || inv->gone || inv->silent || inv->removed ||
	    (!sw && !inv->ports[num].link_up))
		return 0;
	return inv->ports[sw ? 0 : num].lid;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static bool make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct registers *r = owner;
	const struct rnode *n = job->object;
	const struct inv_node *inv = inventory_find(r->inv, n->guid);

	if (!inv || !r->ops->may_ask(r->arg))
		return false;
	if (job->kind == JOB_DOWN) {
		wire_register_ask(WIRE_REGISTER_PDDR, job->arg, WIRE_PDDR_DOWN, request->data);
		request->mad.attr_id = WIRE_ACCESS_REGISTER;
		request->mad.attr_mod = WIRE_REGISTER_PDDR;
	} else {
		request->mad.attr_id = WIRE_VENDOR_INFO;
	}
	request->mad.method = WIRE_GET;
	request->mad.mgmt_class = WIRE_VENDOR;
	request->mad.lid = lid_of(inv, job->arg);
	request->mad.pkey_index = inventory_default_pkey_index(r->inv);
	request->mad.device = n->guid;
	request->mad.retries = 1;
	request->mad.doubtful = true;
	return request->mad.lid;
}

static void unwanted(void *owner, const struct batch_job *job)
{
	struct registers *r = owner;
	struct rnode *n = job->object;

	r->jobs--;
	if (job->kind == JOB_ABLE) {
		n->able = ABLE_UNASKED;
	} else if (n->ports[job->arg].state == REGISTER_ASKED) {
		n->ports[job->arg].state = REGISTER_WANTED;
		n->wanted++;
	}
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void take_down(struct registers *r, struct rnode *n, unsigned num,
		      const struct mad_answer *answer)
{
	struct register_port *port = &n->ports[num];
	uint8_t data[WIRE_GMP_DATA], about, page;

	if (port->state != REGISTER_ASKED)
		return; /* the link fell once more */
	if (answer->result != MAD_OK) {
		r->counts.refused += answer->result == MAD_STATUS;
		r->counts.unanswered += answer->result != MAD_STATUS;
		end(r, n, num, REGISTER_UNKNOWN);
		return;
	}
	memcpy(data, answer->data, sizeof(data));
	wire_register_about(WIRE_REGISTER_PDDR, data, &about, &page);
	wire_down_decode(wire_register_page(data), &port->down);
	if (about != num || page != WIRE_PDDR_DOWN || port->down.blame > WIRE_BLAME_REMOTE ||
	    port->down.intent > WIRE_INTENT_NO) {
		r->counts.malformed++;
		end(r, n, num, REGISTER_UNKNOWN);
		return;
	}
	r->counts.read++;
	end(r, n, num, REGISTER_READ);
}

static void answered(void *owner, const struct batch_job *job, const struct batch_path *via,
		     const struct mad_answer *answer)
{
	struct registers *r = owner;
	struct rnode *n = job->object;

	r->jobs--;
	if (job->kind == JOB_DOWN) {
		take_down(r, n, job->arg, answer);
		return;
	}
	n->able =
		answer->result == MAD_OK && wire_registers_able(answer->data) ? ABLE_YES : ABLE_NO;
	n->unable_us = loop_now_us(r->loop);
	loop_timer_set(r->timer, 1);
}

/* ---- What is wanted -------------------------------------------------------------------------- */

static void ask_device(struct registers *r, struct rnode *n)
{
	const struct inv_node *inv = inventory_find(r->inv, n->guid);
	bool alone = !inv || !wire_adaptive_vendor(inv->info.vendor) || n->able == ABLE_NO;

	for (unsigned num = 1; num <= n->nports && n->wanted; num++) {
		struct register_port *port = &n->ports[num];

		if (port->state != REGISTER_WANTED)
			continue;
		if (alone || !lid_of(inv, num)) {
			n->wanted--;
			end(r, n, num, REGISTER_UNKNOWN);
			continue;
		}
		if (r->jobs >= WAITING_MOST || n->able == ABLE_ASKED)
			return;
		r->jobs++;
		if (n->able == ABLE_UNASKED) {
			n->able = ABLE_ASKED;
			batch_add(r->batch,
				  &(struct batch_job){ .object = n, .arg = num, .kind = JOB_ABLE });
			return;
		}
		n->wanted--;
		port->state = REGISTER_ASKED;
		r->counts.asked++;
		batch_add(r->batch,
			  &(struct batch_job){ .object = n, .arg = num, .kind = JOB_DOWN });
	}
}

static void tick(void *arg)
{
	struct registers *r = arg;
	uint64_t now = loop_now_us(r->loop);

	if (r->ops->may_ask(r->arg))
		for (cl_map_item_t *item = cl_qmap_head(&r->nodes); item != cl_qmap_end(&r->nodes);
		     item = cl_qmap_next(item)) {
			struct rnode *n = (struct rnode *)item;

			if (n->able == ABLE_NO && now - n->unable_us >= ALONE_US)
				n->able = ABLE_UNASKED;
			if (n->wanted)
				ask_device(r, n);
		}
	if (r->waiting)
		loop_timer_set(r->timer, TICK_US);
}

static void want(struct registers *r, guid_t guid, uint8_t num, guid_t peer, uint8_t peer_port)
{
	const struct inv_node *inv = inventory_find(r->inv, guid);
	struct rnode *n = find(r, guid);

	if (!n && inv) {
		n = mem_alloc(1, sizeof(*n) + (inv->nports + 1u) * sizeof(n->ports[0]));
		n->guid = guid;
		n->nports = inv->nports;
		cl_qmap_insert(&r->nodes, guid, &n->item);
	}
	if (!n || num > n->nports)
		return;

	struct register_port *port = &n->ports[num];

	r->waiting += port->state != REGISTER_WANTED && port->state != REGISTER_ASKED;
	n->wanted += port->state != REGISTER_WANTED;
	*port = (struct register_port){ .state = REGISTER_WANTED,
					.peer = peer,
					.peer_port = peer_port };
}

void registers_link_fell(struct registers *r, guid_t node, uint8_t port, guid_t peer,
			 uint8_t peer_port)
{
	want(r, node, port, peer, peer_port);
	want(r, peer, peer_port, node, port);
	loop_timer_set(r->timer, TICK_US);
}

/* ---- The outside ----------------------------------------------------------------------------- */

const struct register_port *registers_port(const struct registers *r, guid_t node, uint8_t port)
{
	const struct rnode *n = find(r, node);

	return n && port <= n->nports ? &n->ports[port] : NULL;
}

unsigned registers_waiting(const struct registers *r)
{
	return r->waiting;
}

struct registers_counts registers_counts(const struct registers *r)
{
	return r->counts;
}

struct registers *registers_new(struct loop *loop, struct mad *mad, struct inventory *inventory,
				const struct registers_ops *ops, void *arg)
{
	static const struct batch_ops batch_ops = { .make = make,
						    .done = answered,
						    .unwanted = unwanted };
	struct registers *r = mem_new(r);

	r->loop = loop;
	r->inv = inventory;
	r->ops = ops;
	r->arg = arg;
	r->batch = batch_new(loop, mad, &batch_ops, r);
	r->timer = loop_timer_new(loop, tick, r);
	cl_qmap_init(&r->nodes);
	return r;
}

void registers_free(struct registers *r)
{
	if (!r)
		return;
	batch_free(r->batch);
	loop_timer_free(r->timer);
	while (cl_qmap_count(&r->nodes)) {
		cl_map_item_t *item = cl_qmap_head(&r->nodes);

		cl_qmap_remove_item(&r->nodes, item);
		free(item);
	}
	free(r);
}
