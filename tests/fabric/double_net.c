/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How MADs travel in the double.
 *
 * A MAD leaves after half the latency; at that moment its whole way is walked, link by link, over
 * what is up and programmed then. An agent's answer walks back at once and arrives after the other
 * half and the time of all hops. Two loop timers a transaction; one more where agents take their
 * time (then the request waits for its turn, and is carried out at its end), and one where a cable
 * made it late.
 *
 * Directed route (IBA 14.2.2): path[1 .. hop_count] are output ports, the first one that of the
 * sender; only switches pass an SMP on; each node notes its entry port in the return path. Both
 * LIDs of the header must be permissive: no LID-routed parts. By LID: double_walk.c.
 */
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include "tests/fabric/double_falsify.h"
#include "tests/fabric/double_own.h"
#include "topology/base/mem.h"

#define MGMT_CLASS    1
#define METHOD	      3 /* bytes of the header (IBA 13.4.2, 14.2.1.2) */
#define STATUS	      4
#define HOP_POINTER   6
#define ATTR_ID_LOW   17
#define RETURN_PATH   192
#define DIRECTION     0x80
#define DUPLICATE_GAP 1 /* us */

static bool is_smp(const struct wire_mad *m)
{
	return wire_is_smi(m->mgmt_class);
}

/* Of a class that each node has an agent for. */
static bool is_request(const struct wire_mad *m)
{
	return (is_smp(m) || m->mgmt_class == WIRE_PERF || m->mgmt_class == CLASS_CC ||
		m->mgmt_class == CLASS_VENDOR) &&
	       (m->method == WIRE_GET || m->method == WIRE_SET);
}

/* ---- Ways ------------------------------------------------------------------------------------ */

static int trace(const struct double_fabric *d, struct dport *from, uint16_t dlid, bool data)
{
	const struct packet packet = { .dlid = dlid, .data = data, .bare = true, .look = true };
	struct walk walk = { 0 };

	walk_lid((struct double_fabric *)d, from, &packet, &walk);
	switch (walk.end) {
	case WALK_ARRIVES:
		return (int)walk.hops;
	case WALK_NO_ENTRY:
	case WALK_NOT_BY_TABLE:
		return -ENOENT;
	case WALK_LOOP:
		return -ELOOP;
	default:
		return -ENOTCONN;
	}
}

int double_trace(const struct double_fabric *d, guid_t node, unsigned port, uint16_t dlid)
{
	return trace(d, double_port(d, node, port), dlid, false);
}

int double_trace_data(const struct double_fabric *d, guid_t node, unsigned port, uint16_t dlid)
{
	return trace(d, double_port(d, node, port), dlid, true);
}

static bool bad_route(struct double_fabric *d)
{
	d->drops.bad_route++;
	return false;
}

static const struct packet plain_smp; /* of directed route: over whatever is up */

static bool route_forward(struct double_fabric *d, struct dport *from, const struct wire_mad *m,
			  uint8_t *mad, struct walk *walk)
{
	struct dport *at = from;

	for (unsigned hop = 1; hop <= m->hop_count; hop++) {
		uint8_t num = m->path[hop];

		if (num == 0 || num > at->node->ni.nports)
			return bad_route(d);
		if (!is_switch(at->node) && (hop > 1 || num != at->num))
			return bad_route(d);
		if (!walk_cross(d, &at->node->ports[num], &plain_smp, walk))
			return false;
		at = walk->at;
		mad[RETURN_PATH + hop] = at->num;
	}
	walk->at = at;
	return true;
}

static bool route_back(struct double_fabric *d, struct dport *from, const struct wire_mad *m,
		       const uint8_t *mad, struct walk *walk)
{
	struct dport *at = from;

	for (unsigned hop = m->hop_count; hop >= 1; hop--) {
		uint8_t num = mad[RETURN_PATH + hop];

		if (num == 0 || num > at->node->ni.nports)
			return bad_route(d);
		if (!walk_cross(d, &at->node->ports[num], &plain_smp, walk))
			return false;
		at = walk->at;
	}
	walk->at = at;
	return true;
}

/*
 * The part by LID, which ends or begins at a switch (IBA 14.2.2.1: DrSLID is the LID of who asks);
 * ibportstate asks a switch's neighbour so.
 */
static bool route_by_lid(struct double_fabric *d, struct dport *from, uint16_t dlid,
			 struct walk *walk)
{
	const struct packet packet = { .dlid = dlid };

	return walk_lid(d, from, &packet, walk);
}

static bool combined_route(struct double_fabric *d, struct dport *from, uint16_t dlid,
			   struct wire_mad *m, uint8_t *mad, struct walk *walk)
{
	if (m->returning)
		return route_back(d, from, m, mad, walk) &&
		       route_by_lid(d, walk->at, m->dr_slid, walk);
	if (!route_by_lid(d, from, dlid, walk))
		return false;
	return is_switch(walk->at->node) ? route_forward(d, walk->at, m, mad, walk) : bad_route(d);
}

/*
 * `dlid`: of the packet, where its route begins with a part by LID. One that ends with such a part
 * is nobody's.
 */
static bool directed_route(struct double_fabric *d, struct dport *from, uint16_t dlid,
			   struct wire_mad *m, uint8_t *mad, struct walk *walk)
{
	bool arrived;

	if (m->dr_dlid != LID_PERMISSIVE)
		return bad_route(d);
	if (m->dr_slid != LID_PERMISSIVE)
		arrived = combined_route(d, from, dlid, m, mad, walk);
	else
		arrived = m->returning ? route_back(d, from, m, mad, walk)
				       : route_forward(d, from, m, mad, walk);
	walk->hops = m->hop_count;
	m->hop_ptr = m->returning ? 0 : m->hop_count + 1;
	mad[HOP_POINTER] = m->hop_ptr;
	return arrived;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void event_cb(void *arg);

/* Room for a whole MAD at least, zeros behind a shorter one: the wire pads these. */
static void event_fit(struct devent *event, size_t len)
{
	size_t size = len > WIRE_MAD_SIZE ? len : WIRE_MAD_SIZE;

	if (size > event->size) {
		event->mad = mem_resize(event->mad, 1, size);
		event->size = size;
	}
	if (len < WIRE_MAD_SIZE)
		memset(event->mad + len, 0, WIRE_MAD_SIZE - len);
}

static struct devent *event_new(struct double_fabric *d, enum devent_kind kind, struct dport *port,
				const uint8_t *mad, size_t len)
{
	struct devent *event = d->pool;

	if (event) {
		d->pool = event->next;
	} else {
		event = mem_alloc(1, sizeof(*event));
		event->d = d;
		event->timer = loop_timer_new(d->loop, event_cb, event);
		d->events = mem_resize(d->events, d->nevents + 1, sizeof(struct devent *));
		d->events[d->nevents++] = event;
	}
	event_fit(event, len);
	event->kind = kind;
	event->port = port;
	event->len = len;
	memcpy(event->mad, mad, len);
	return event;
}

static void event_happens(struct devent *event);

bool net_hold(struct double_fabric *d)
{
	bool held = d->in_due;

	d->in_due = true;
	return held;
}

void net_release(struct double_fabric *d, bool held)
{
	struct devent *event;

	while (!held && (event = d->due)) {
		d->due = event->next;
		if (!d->due)
			d->due_end = &d->due;
		event_happens(event);
	}
	d->in_due = held;
}

/*
 * One that happens now waits for those before it, and for the one that brought it about: nobody is
 * entered twice.
 */
static void event_due(struct devent *event, uint64_t delay)
{
	struct double_fabric *d = event->d;

	if (delay || !d->conf.at_once) {
		loop_timer_set(event->timer, delay);
		return;
	}
	event->next = NULL;
	*d->due_end = event;
	d->due_end = &event->next;
	net_release(d, net_hold(d));
}

static void event_free(struct devent *event)
{
	event->next = event->d->pool;
	event->d->pool = event;
}

/* Hands a MAD to whoever listens at a port. */
static void hand_over(struct devent *event)
{
	struct double_fabric *d = event->d;
	struct dport *port = event->port;
	struct dclient *client = double_client(d, port);

	if (port->listener)
		port->listener(port->listener_arg, &event->addr, event->mad, event->len);
	else if (client)
		client->io.recv(client->io.arg, &event->addr, event->mad, event->len);
	else if (d->kernel && !is_switch(port->node) && !port->node->design->sharp)
		d->kernel(d->kernel_arg, port, &event->addr, event->mad);
	else
		d->drops.nobody++;
}

static void arrive_later(struct double_fabric *d, struct dport *at, const struct io_addr *from,
			 const uint8_t *mad, size_t len, uint64_t delay)
{
	struct devent *event = event_new(d, EVENT_ARRIVES, at, mad, len);

	event->addr = *from;
	event_due(event, delay);
}

/* As the receiver's verbs report it: the P_Key of a data packet by its place in the own table. */
static struct io_addr source_address(const struct dport *from, const struct wire_mad *m,
				     const struct dport *at, uint16_t pkey)
{
	int index = is_smp(m) ? -1 : pkey_find(at, pkey);

	return (struct io_addr){
		.pkey_index = (uint16_t)(index < 0 ? 0 : index),
		.lid = m->mgmt_class == WIRE_SMI_DR ? LID_PERMISSIVE : from->info.lid,
		.qp = is_smp(m) ? 0 : 1,
		.qkey = is_smp(m) ? 0 : QP1_QKEY,
	};
}

/* ---- Answers --------------------------------------------------------------------------------- */

static bool fault_hits(struct double_fabric *d, const struct dnode *node, enum double_fault fault)
{
	return double_chance(d, node->faults[fault].per_mille);
}

static void answer_spoil(struct double_fabric *d, const struct dnode *node, uint8_t *mad,
			 size_t *len, uint64_t *delay)
{
	if (fault_hits(d, node, DOUBLE_LIE) && wire_is_smi(mad[MGMT_CLASS]))
		double_falsify(d->topo, &d->random, mad);
	if (fault_hits(d, node, DOUBLE_TRUNCATE))
		*len = node->faults[DOUBLE_TRUNCATE].value;
	if (fault_hits(d, node, DOUBLE_WRONG_ATTR))
		mad[ATTR_ID_LOW] ^= 0x04;
	if (fault_hits(d, node, DOUBLE_DELAY))
		*delay += node->faults[DOUBLE_DELAY].value;
	if (fault_hits(d, node, DOUBLE_BAD_STATUS)) {
		mad[STATUS] |= (uint8_t)(node->faults[DOUBLE_BAD_STATUS].value >> 8 & 0x7f);
		mad[STATUS + 1] = (uint8_t)node->faults[DOUBLE_BAD_STATUS].value;
	}
}

static void answer_send(struct double_fabric *d, struct dport *to, const struct dport *by,
			const struct wire_mad *m, uint16_t pkey, uint8_t *mad, size_t len,
			const struct walk *walk)
{
	const struct dnode *node = by->node;
	struct io_addr from = source_address(by, m, to, pkey);
	uint64_t delay =
		d->conf.latency_us / 2 + 2ull * walk->hops * d->conf.hop_us + walk->late_us;

	answer_spoil(d, node, mad, &len, &delay);
	arrive_later(d, to, &from, mad, len, delay);
	if (fault_hits(d, node, DOUBLE_DUPLICATE) || walk->twice)
		arrive_later(d, to, &from, mad, len, delay + DUPLICATE_GAP);
}

static void stamp(struct double_fabric *d, const struct wire_mad *m)
{
	uint64_t now = loop_clock_us(d->loop);

	d->stamps.last_us = now;
	d->stamps.first_us = d->stamps.first_us ?: now;
	if (m->method != WIRE_SET)
		return;
	if (m->attr_id == WIRE_LFT || m->attr_id == WIRE_PORT_INFO ||
	    m->attr_id == WIRE_SWITCH_INFO)
		d->changed_us = now;
	d->stamps.blocks += m->attr_id == WIRE_LFT;
	d->stamps.entries += m->attr_id == WIRE_AR_LFT;
	d->stamps.groups += m->attr_id == WIRE_AR_GROUPS;
	if (m->attr_id != WIRE_LFT && m->attr_id != WIRE_AR_LFT && m->attr_id != WIRE_AR_GROUPS)
		return;
	d->stamps.answered_us = now;
	d->stamps.block_us = d->stamps.block_us ?: now;
}

static bool execute(struct double_fabric *d, struct dport *at, struct wire_mad *m, uint8_t *mad)
{
	d->sets[m->mgmt_class] += m->method == WIRE_SET;
	if (is_smp(m))
		stamp(d, m);
	if (is_smp(m))
		return smp_execute(d, at, m, mad);
	if (m->mgmt_class == CLASS_CC)
		return cc_execute(d, at, m, mad);
	if (m->mgmt_class == CLASS_VENDOR)
		return vendor_execute(d, at, m, mad);
	perf_execute(d, at, m, mad);
	return true;
}

/* Of the header nothing else differs from the request's. */
static void answer_header(struct wire_mad *m, uint8_t *mad)
{
	m->returning = m->mgmt_class == WIRE_SMI_DR;
	mad[METHOD] = m->method;
	mad[STATUS] = (uint8_t)((m->status >> 8 & 0x7f) | (m->returning ? DIRECTION : 0));
	mad[STATUS + 1] = (uint8_t)m->status;
}

static struct packet packet_to(const struct dport *from, const struct io_addr *to,
			       const struct wire_mad *m)
{
	bool data = !is_smp(m);

	return (struct packet){
		.dlid = to->lid,
		.sl = to->sl,
		.pkey = data ? port_pkey(from, to->pkey_index) : 0,
		.data = data,
	};
}

/*
 * The agent carries the request out; its answer goes back the way that the request came, or by LID.
 */
static void agent_runs(struct devent *event)
{
	struct double_fabric *d = event->d;
	struct dport *at = event->at, *from = event->port;
	struct wire_mad *m = &event->m;
	struct walk walk = { 0 };
	bool back;

	if (!execute(d, at, m, event->mad))
		return;
	answer_header(m, event->mad);
	if (m->mgmt_class == WIRE_SMI_DR) {
		back = directed_route(d, at, 0, m, event->mad, &walk);
	} else {
		struct packet packet = packet_to(from, &event->addr, m);

		packet.dlid = from->info.lid;
		back = walk_lid(d, at, &packet, &walk);
	}
	if (back && (walk.at == from || (is_switch(from->node) && walk.at->node == from->node)))
		answer_send(d, from, at, m, port_pkey(from, event->addr.pkey_index), event->mad,
			    event->len, &walk);
}

/* ---- Agents that take their time ------------------------------------------------------------- */

static unsigned agent_time(const struct double_fabric *d, const struct dnode *node)
{
	return node->time_us ? node->time_us : d->conf.device_us;
}

/* One at a time, in the order of arrival; true: it waits, and the event is used. */
static bool agent_queues(struct devent *event, unsigned time)
{
	struct double_fabric *d = event->d;
	struct dnode *node = event->at->node;
	uint64_t now = loop_now_us(d->loop);

	if (d->conf.device_queue && node->queued >= d->conf.device_queue) {
		d->drops.queue++;
		perf_add(event->at, PERF_VL15_DROPPED, 1);
		return false;
	}
	node->queued++;
	node->worked_us += time;
	node->busy_until_us = (node->busy_until_us > now ? node->busy_until_us : now) + time;
	event->kind = EVENT_RUNS;
	event_due(event, node->busy_until_us - now);
	return true;
}

struct double_work double_work(const struct double_fabric *d)
{
	struct double_work work = { 0 };

	for (uint32_t i = 0; i < d->topo->nnodes; i++) {
		const struct dnode *node = &d->nodes[i];

		work.all_us += node->worked_us;
		if (node->worked_us <= work.busiest_us)
			continue;
		work.busiest_us = node->worked_us;
		work.busiest = node->guid;
	}
	return work;
}

/* ---- The way --------------------------------------------------------------------------------- */

/*
 * SMInfo requests are for the subnet manager attached here; all else of Get and Set for the node's
 * agent.
 */
static bool is_for_agent(struct double_fabric *d, const struct dport *at, const struct wire_mad *m)
{
	bool sm_here = (double_client(d, at) || at->sm_listens) && !at->has_sm;

	return is_request(m) && !(m->attr_id == WIRE_SM_INFO && sm_here);
}

/* At its node. True: the event is used again. */
static bool reaches(struct devent *event)
{
	struct double_fabric *d = event->d;
	struct dport *at = event->at;
	struct io_addr from;
	unsigned time;

	if (at->node->silent) {
		d->drops.silent++;
		return false;
	}
	if (is_for_agent(d, at, &event->m)) {
		time = agent_time(d, at->node);
		if (time)
			return agent_queues(event, time);
		agent_runs(event);
		return false;
	}
	if (event->m.method == WIRE_TRAP_REPRESS && is_smp(&event->m)) {
		if (d->strict && !mkey_check(d, at, &event->m))
			return false;
		trap_repressed(d, at->node, event->m.tid);
		return false;
	}
	from = source_address(event->port, &event->m, at,
			      port_pkey(event->port, event->addr.pkey_index));
	arrive_later(d, at, &from, event->mad, event->len,
		     d->conf.latency_us / 2 + (uint64_t)event->hops * d->conf.hop_us);
	return false;
}

static void reaches_twice(struct devent *event)
{
	struct devent *copy =
		event_new(event->d, EVENT_REACHES, event->port, event->mad, event->len);

	copy->addr = event->addr;
	copy->at = event->at;
	copy->m = event->m;
	copy->hops = event->hops;
	event_due(copy, DUPLICATE_GAP);
}

static bool leaves(struct devent *event)
{
	struct double_fabric *d = event->d;
	struct walk walk = { 0 };
	bool arrived;

	if (wire_mad_decode(event->mad, event->size, &event->m))
		return false;
	if (event->m.mgmt_class == WIRE_SMI_DR) {
		arrived = directed_route(d, event->port, event->addr.lid, &event->m, event->mad,
					 &walk);
	} else {
		struct packet packet = packet_to(event->port, &event->addr, &event->m);

		arrived = walk_lid(d, event->port, &packet, &walk);
	}
	if (!arrived)
		return false;
	event->at = walk.at;
	event->hops = walk.hops;
	if (walk.twice)
		reaches_twice(event);
	if (!walk.late_us)
		return reaches(event);
	event->kind = EVENT_REACHES;
	event_due(event, walk.late_us);
	return true;
}

static bool runs(struct devent *event)
{
	event->at->node->queued--;
	if (!event->at->node->off)
		agent_runs(event);
	return false;
}

static bool arrives(struct devent *event)
{
	struct double_fabric *d = event->d;

	if (!d->stamps.trap_us && event->mad[3] == WIRE_TRAP && event->mad[1] == WIRE_SMI_LID) {
		d->stamps.trap_us = loop_clock_us(d->loop);
		d->stamps.register_us = 0; /* what was asked before has nothing to do with it */
	}
	hand_over(event);
	return false;
}

static void event_happens(struct devent *event)
{
	static bool (*const kinds[])(struct devent *) = {
		[EVENT_LEAVES] = leaves,
		[EVENT_REACHES] = reaches,
		[EVENT_RUNS] = runs,
		[EVENT_ARRIVES] = arrives,
	};

	if (!kinds[event->kind](event))
		event_free(event);
}

static void event_cb(void *arg)
{
	event_happens(arg);
}

void net_send(struct double_fabric *d, struct dport *from, const struct io_addr *to,
	      const uint8_t *mad, size_t len)
{
	struct devent *event = event_new(d, EVENT_LEAVES, from, mad, len);

	event->addr = *to;
	event_due(event, d->conf.latency_us / 2);
}
