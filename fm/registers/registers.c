/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/batch.h"
#include "fm/mad/wire_optional.h"
#include "fm/registers/registers.h"
#include "topology/base/mem.h"

#define TICK_US	     50000
#define WAITING_MOST 16 /* requests on their way */
#define ALONE_US     3600000000u

/* Laps */
#define ASKS_A_S    30
#define PIECE_US    200000
#define LOOKS	    256	      /* of a piece */
#define LAP_US	    10000000u /* at least */
#define DAY_OF_PORT 878906u   /* microseconds: a day has so many of 98,304 */
#define READ_US	    600000000u
#define HOT_US	    60000000u
#define NEARLY_HOT  (10 * 256)

static const struct {
	uint16_t id;
	uint8_t page;
} pages[REGISTER_KINDS] = {
	[REGISTER_DOWN] = { WIRE_REGISTER_PDDR, WIRE_PDDR_DOWN },
	[REGISTER_MODULE] = { WIRE_REGISTER_PDDR, WIRE_PDDR_MODULE },
};

#define JOB_ABLE REGISTER_KINDS /* others are the kind */
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
	struct registers_counts counts[REGISTER_KINDS];
	struct {
		struct loop_timer *timer;
		guid_t node; /* where it goes on */
		unsigned port;
		uint64_t began_us;
		unsigned ports, all; /* that could be asked: so far, and in the lap before */
	} lap;
};

static struct rnode *find(const struct registers *r, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get(&r->nodes, guid);

	return item == cl_qmap_end(&r->nodes) ? NULL : (struct rnode *)item;
}

/* NULL: the inventory has no such node. */
static struct rnode *node_of(struct registers *r, guid_t guid)
{
	const struct inv_node *inv = inventory_find(r->inv, guid);
	struct rnode *n = find(r, guid);

	if (!n && inv) {
		n = mem_alloc(1, sizeof(*n) + (inv->nports + 1u) * sizeof(n->ports[0]));
		n->guid = guid;
		n->nports = inv->nports;
		cl_qmap_insert(&r->nodes, guid, &n->item);
	}
	return n;
}

static void end(struct registers *r, struct rnode *n, unsigned num, enum register_kind kind,
		enum register_state state)
{
	n->ports[num].state[kind] = state;
	if (kind != REGISTER_DOWN)
		return;
	r->waiting--;
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
	if (job->kind != JOB_ABLE) {
		wire_register_ask(pages[job->kind].id, job->arg, pages[job->kind].page,
				  request->data);
		request->mad.attr_id = WIRE_ACCESS_REGISTER;
		request->mad.attr_mod = pages[job->kind].id;
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
		return;
	}

	uint8_t *state = &n->ports[job->arg].state[job->kind];

	if (*state != REGISTER_ASKED)
		return;
	*state = job->kind == REGISTER_DOWN ? REGISTER_WANTED : REGISTER_UNASKED;
	n->wanted += job->kind == REGISTER_DOWN;
	if (job->kind == REGISTER_MODULE)
		n->ports[job->arg].module_us = 0;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Whether the page can be; it is kept then. */
static bool keep(struct registers *r, struct rnode *n, unsigned num, enum register_kind kind,
		 const uint8_t *page)
{
	struct register_port *port = &n->ports[num];
	struct wire_module module;

	if (kind == REGISTER_DOWN) {
		wire_down_decode(page, &port->down);
		return port->down.blame <= WIRE_BLAME_REMOTE && port->down.intent <= WIRE_INTENT_NO;
	}
	wire_module_decode(page, &module);
	if (!wire_module_is_sound(&module))
		return false;
	if (module.kind == WIRE_MODULE_UNPLUGGED) { /* as of a link on a board */
		port->module.temperature = port->module.hottest = 0;
		return true;
	}
	port->again = !r->ops->module(r->arg, n->guid, num, &module);
	port->module = module;
	return true;
}

static void take(struct registers *r, const struct batch_job *job, const struct mad_answer *answer)
{
	struct rnode *n = job->object;
	struct registers_counts *counts = &r->counts[job->kind];
	uint8_t data[WIRE_GMP_DATA], about, page;
	enum register_state state = REGISTER_UNKNOWN;

	if (n->ports[job->arg].state[job->kind] != REGISTER_ASKED)
		return; /* the link fell once more */
	if (answer->result == MAD_OK) {
		memcpy(data, answer->data, sizeof(data));
		wire_register_about(pages[job->kind].id, data, &about, &page);
		if (about == job->arg && page == pages[job->kind].page &&
		    keep(r, n, job->arg, job->kind, wire_register_page(data)))
			state = REGISTER_READ;
		counts->read += state == REGISTER_READ;
		counts->malformed += state != REGISTER_READ;
	} else {
		counts->refused += answer->result == MAD_STATUS;
		counts->unanswered += answer->result != MAD_STATUS;
	}
	end(r, n, job->arg, job->kind, state);
}

static void answered(void *owner, const struct batch_job *job, const struct batch_path *via,
		     const struct mad_answer *answer)
{
	struct registers *r = owner;
	struct rnode *n = job->object;

	r->jobs--;
	if (job->kind != JOB_ABLE) {
		take(r, job, answer);
		return;
	}
	n->able =
		answer->result == MAD_OK && wire_registers_able(answer->data) ? ABLE_YES : ABLE_NO;
	n->unable_us = loop_now_us(r->loop);
	loop_timer_set(r->timer, 1);
}

/* ---- What is wanted -------------------------------------------------------------------------- */

static void add_job(struct registers *r, struct rnode *n, unsigned num, uint8_t kind)
{
	r->jobs++;
	if (kind == JOB_ABLE) {
		n->able = ABLE_ASKED;
	} else {
		n->ports[num].state[kind] = REGISTER_ASKED;
		r->counts[kind].asked++;
	}
	batch_add(r->batch, &(struct batch_job){ .object = n, .arg = num, .kind = kind });
}

static void ask_device(struct registers *r, struct rnode *n)
{
	const struct inv_node *inv = inventory_find(r->inv, n->guid);
	bool alone = !inv || !wire_adaptive_vendor(inv->info.vendor) || n->able == ABLE_NO;

	for (unsigned num = 1; num <= n->nports && n->wanted; num++) {
		if (n->ports[num].state[REGISTER_DOWN] != REGISTER_WANTED)
			continue;
		if (alone || !lid_of(inv, num)) {
			n->wanted--;
			end(r, n, num, REGISTER_DOWN, REGISTER_UNKNOWN);
			continue;
		}
		if (r->jobs >= WAITING_MOST || n->able == ABLE_ASKED)
			return;
		if (n->able == ABLE_UNASKED) {
			add_job(r, n, num, JOB_ABLE);
			return;
		}
		n->wanted--;
		add_job(r, n, num, REGISTER_DOWN);
	}
}

static void asked_again(struct registers *r, struct rnode *n)
{
	if (n->able == ABLE_NO && loop_now_us(r->loop) - n->unable_us >= ALONE_US)
		n->able = ABLE_UNASKED;
}

static void tick(void *arg)
{
	struct registers *r = arg;

	if (r->ops->may_ask(r->arg))
		QMAP_EACH (&r->nodes, rnode, n) {
			asked_again(r, n);
			if (n->wanted)
				ask_device(r, n);
		}
	if (r->waiting)
		loop_timer_set(r->timer, TICK_US);
}

static void want(struct registers *r, guid_t guid, uint8_t num, guid_t peer, uint8_t peer_port)
{
	struct rnode *n = node_of(r, guid);

	if (!n || num > n->nports)
		return;

	struct register_port *port = &n->ports[num];
	const uint8_t before = port->state[REGISTER_DOWN];

	r->waiting += before != REGISTER_WANTED && before != REGISTER_ASKED;
	n->wanted += before != REGISTER_WANTED;
	*port = (struct register_port){ .state = { [REGISTER_DOWN] = REGISTER_WANTED },
					.peer = peer,
					.peer_port = peer_port,
					.module = port->module };
}

void registers_link_fell(struct registers *r, guid_t node, uint8_t port, guid_t peer,
			 uint8_t peer_port)
{
	want(r, node, port, peer, peer_port);
	want(r, peer, peer_port, node, port);
	loop_timer_set(r->timer, TICK_US);
}

/* ---- Laps ------------------------------------------------------------------------------------ */

static bool is_met(const struct inv_node *inv, unsigned num)
{
	const struct inv_port *at = num <= inv->nports ? &inv->ports[num] : NULL;

	return at && at->link_up && at->peer && at->state == TOPO_ACTIVE && lid_of(inv, num) &&
	       wire_adaptive_vendor(inv->info.vendor);
}

/* How much hotter than it may be, in 1/256 C; very cold where the module has no limit. */
static int too_hot(const struct wire_module *module)
{
	return module->hottest ? (int16_t)module->temperature - (int16_t)module->hottest
			       : INT16_MIN;
}

static bool is_due(const struct registers *r, const struct register_port *port)
{
	uint64_t day = (uint64_t)DAY_OF_PORT * r->lap.all;
	uint8_t state = port->state[REGISTER_MODULE];
	uint64_t period = state == REGISTER_UNKNOWN		 ? ALONE_US
			  : too_hot(&port->module) > -NEARLY_HOT ? HOT_US
			  : day > READ_US			 ? day
								 : READ_US;

	return state != REGISTER_ASKED && (!port->module_us || port->again ||
					   loop_now_us(r->loop) - port->module_us >= period);
}

/* How many requests that port is worth now, 0 or 1. */
static unsigned look(struct registers *r, const struct inv_node *inv, unsigned num)
{
	struct rnode *n = is_met(inv, num) ? node_of(r, inv->guid) : NULL;
	struct register_port *port = n && num <= n->nports ? &n->ports[num] : NULL;

	if (!port)
		return 0;
	r->lap.ports++;
	if (port->state[REGISTER_MODULE] == REGISTER_READ && too_hot(&port->module) > 0)
		r->ops->hot(r->arg, inv, num, &port->module);
	asked_again(r, n);
	if (r->jobs >= WAITING_MOST || n->able == ABLE_NO || n->able == ABLE_ASKED ||
	    !is_due(r, port))
		return 0;
	if (n->able == ABLE_YES)
		port->module_us = loop_now_us(r->loop);
	add_job(r, n, num, n->able == ABLE_YES ? REGISTER_MODULE : JOB_ABLE);
	return 1;
}

static void lap(void *arg)
{
	struct registers *r = arg;
	struct inv_node *inv = inventory_from(r->inv, r->lap.node);
	unsigned asks = (unsigned)(ASKS_A_S * (uint64_t)PIECE_US / 1000000);
	uint64_t now = loop_now_us(r->loop), next = PIECE_US;

	if (!r->ops->may_ask(r->arg)) {
		loop_timer_set(r->lap.timer, LAP_US / 10);
		return;
	}
	for (unsigned looks = LOOKS; inv && looks && asks; looks--) {
		asks -= look(r, inv, ++r->lap.port);
		if (r->lap.port < inv->nports)
			continue;
		inv = inventory_next(r->inv, inv);
		r->lap.port = 0;
		r->lap.node = inv ? inv->guid : 0;
	}
	if (!inv) {
		r->ops->lapped(r->arg);
		r->lap.all = r->lap.ports;
		r->lap.ports = 0;
		next = r->lap.began_us + LAP_US > now + PIECE_US ? r->lap.began_us + LAP_US - now
								 : PIECE_US;
		r->lap.began_us = now + next;
	}
	loop_timer_set(r->lap.timer, next);
}

/* ---- The outside ----------------------------------------------------------------------------- */

const struct register_port *registers_port(const struct registers *r, guid_t node, uint8_t port)
{
	const struct rnode *n = find(r, node);

	return n && port <= n->nports ? &n->ports[port] : NULL;
}

void registers_restore(struct registers *r, guid_t node, uint8_t port, const char *serial)
{
	struct rnode *n = node_of(r, node);

	if (n && port <= n->nports)
		memcpy(n->ports[port].module.serial, serial,
		       strnlen(serial, sizeof(n->ports[port].module.serial)));
}

enum register_state registers_module_state(const struct registers *r, guid_t node, uint8_t port)
{
	const struct inv_node *inv = inventory_find(r->inv, node);
	const struct rnode *n = find(r, node);

	if (!inv || !is_met(inv, port) || (n && (n->able == ABLE_NO || port > n->nports)))
		return REGISTER_UNKNOWN;
	return n ? n->ports[port].state[REGISTER_MODULE] : REGISTER_UNASKED;
}

unsigned registers_waiting(const struct registers *r)
{
	return r->waiting;
}

struct registers_counts registers_counts(const struct registers *r, enum register_kind kind)
{
	return r->counts[kind];
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
	r->lap.timer = loop_timer_new(loop, lap, r);
	loop_timer_set(r->lap.timer, LAP_US);
	r->lap.began_us = loop_now_us(loop) + LAP_US;
	cl_qmap_init(&r->nodes);
	return r;
}

void registers_free(struct registers *r)
{
	if (!r)
		return;
	batch_free(r->batch);
	loop_timer_free(r->timer);
	loop_timer_free(r->lap.timer);
	while (cl_qmap_count(&r->nodes)) {
		cl_map_item_t *item = cl_qmap_head(&r->nodes);

		cl_qmap_remove_item(&r->nodes, item);
		free(item);
	}
	free(r);
}
