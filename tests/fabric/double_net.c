/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How MADs travel in the double.
 *
 * A MAD leaves after half the latency; at that moment its whole way is walked, link by link, over what is up and programmed then. An
 * agent's answer walks back at once and arrives after the other half and the time of all hops. Two loop timers a transaction.
 *
 * Directed route (IBA 14.2.2): path[1 .. hop_count] are output ports, the first one that of the sender; only switches pass an SMP on; each
 * node notes its entry port in the return path. Both LIDs of the header must be permissive: no LID-routed parts.
 * LID-routed: a CA sends out of its port, a switch by its table up to LinearFDBTop. QP0 passes links that are merely up, QP1 only Active ones.
 */
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include "fm/mad/wire_adaptive.h"
#include "tests/fabric/double_own.h"
#include "topology/mem.h"

#define RETURN_PATH   192 /* byte of ib_smp_t */
#define ATTR_ID_LOW   17
#define STATUS_HIGH   4
#define DUPLICATE_GAP 1 /* us */

struct route {
	struct dport *end;
	unsigned hops;
};

static bool is_smp(const struct wire_mad *m)
{
	return m->mgmt_class == WIRE_SMI_LID || m->mgmt_class == WIRE_SMI_DR;
}

/* Of a class that each node has an agent for. */
static bool is_request(const struct wire_mad *m)
{
	return (is_smp(m) || m->mgmt_class == WIRE_PERF) &&
	       (m->method == WIRE_GET || m->method == WIRE_SET);
}

/* ---- Links ------------------------------------------------------------------------------------ */

static bool link_is_up(const struct dport *port)
{
	return port->peer && port->info.phys_state == PHYS_LINK_UP;
}

/* To the other end of the cable; NULL when the MAD dies. */
static struct dport *cross(struct double_fabric *d, struct dport *out, bool data)
{
	if (!link_is_up(out)) {
		d->drops.dead_link++;
		return NULL;
	}
	if (data && (out->info.state != TOPO_ACTIVE || out->peer->info.state != TOPO_ACTIVE)) {
		d->drops.inactive++;
		return NULL;
	}
	if (double_chance(d, out->loss) || double_chance(d, out->peer->loss)) {
		d->drops.lost++;
		return NULL;
	}
	return out->peer;
}

static bool link_carries(const struct dport *out, bool data)
{
	return link_is_up(out) &&
	       (!data || (out->info.state == TOPO_ACTIVE && out->peer->info.state == TOPO_ACTIVE));
}

/* ---- By LID ----------------------------------------------------------------------------------- */

static bool lid_is_mine(const struct dport *port, uint16_t lid)
{
	return port->info.lid && lid >> port->info.lmc == port->info.lid >> port->info.lmc;
}

static int table_port(const struct dnode *sw, uint16_t dlid)
{
	uint8_t num;

	if (dlid > sw->si.lft_top || dlid >= sw->lft_size || wire_adaptive_on(sw->adaptive) ||
	    wire_private_lft_on(sw->private_lft))
		return -ENOENT;
	num = sw->lft[dlid];
	return num == LFT_NONE || num > sw->ni.nports ? -ENOENT : num;
}

/* The port a switch sends a LID out of; its port 0 where the MAD has arrived; or -errno. */
static int switch_step(const struct dnode *sw, uint16_t dlid)
{
	int num;

	if (lid_is_mine(&sw->ports[0], dlid))
		return 0;
	num = table_port(sw, dlid);
	return num == 0 ? -ENOENT : num;
}

/*
 * The whole way by LID. `look`: only asks whether the tables and links lead there, nothing is lost or counted.
 */
static int lid_walk(struct double_fabric *d, struct dport *from, uint16_t dlid, bool data,
		    bool look, struct route *route)
{
	struct dport *at = from;

	*route = (struct route){ .end = from };
	while (route->hops <= HOPS_MAX) {
		int num = at->num;

		if (is_switch(at->node)) {
			num = switch_step(at->node, dlid);
			if (num < 0)
				return num;
			if (num == 0) {
				route->end = &at->node->ports[0];
				return (int)route->hops;
			}
		} else if (lid_is_mine(at, dlid)) {
			route->end = at;
			return (int)route->hops;
		} else if (route->hops) {
			return -ENOTCONN; /* came to a host that it is not for */
		}
		at = &at->node->ports[num];
		at = look ? (link_carries(at, data) ? at->peer : NULL) : cross(d, at, data);
		if (!at)
			return -ENOTCONN;
		route->hops++;
	}
	return -ELOOP;
}

int net_trace(struct double_fabric *d, struct dport *from, uint16_t dlid, bool data,
	      struct dport **end)
{
	struct route route;
	int status = lid_walk(d, from, dlid, data, true, &route);

	*end = route.end;
	return status;
}

static struct dport *lid_route(struct double_fabric *d, struct dport *from, uint16_t dlid,
			       bool data, unsigned *hops)
{
	struct route route;
	int status = lid_walk(d, from, dlid, data, false, &route);

	if (status == -ENOENT)
		d->drops.no_entry++;
	if (status == -ELOOP)
		d->drops.loop++;
	*hops = route.hops;
	return status < 0 ? NULL : route.end;
}

/* ---- By directed route ------------------------------------------------------------------------ */

static struct dport *bad_route(struct double_fabric *d)
{
	d->drops.bad_route++;
	return NULL;
}

static struct dport *route_forward(struct double_fabric *d, struct dport *from,
				   const struct wire_mad *m, uint8_t *mad)
{
	struct dport *at = from;

	for (unsigned hop = 1; hop <= m->hop_count; hop++) {
		uint8_t num = m->path[hop];

		if (num == 0 || num > at->node->ni.nports)
			return bad_route(d);
		if (!is_switch(at->node) && (hop > 1 || num != at->num))
			return bad_route(d);
		at = cross(d, &at->node->ports[num], false);
		if (!at)
			return NULL;
		mad[RETURN_PATH + hop] = at->num;
	}
	return at;
}

static struct dport *route_back(struct double_fabric *d, struct dport *from,
				const struct wire_mad *m, const uint8_t *mad)
{
	struct dport *at = from;

	for (unsigned hop = m->hop_count; hop >= 1; hop--) {
		uint8_t num = mad[RETURN_PATH + hop];

		if (num == 0 || num > at->node->ni.nports)
			return bad_route(d);
		at = cross(d, &at->node->ports[num], false);
		if (!at)
			return NULL;
	}
	return at;
}

static struct dport *directed_route(struct double_fabric *d, struct dport *from, struct wire_mad *m,
				    uint8_t *mad)
{
	struct dport *end;

	if (m->dr_slid != LID_PERMISSIVE || m->dr_dlid != LID_PERMISSIVE)
		return bad_route(d);
	end = m->returning ? route_back(d, from, m, mad) : route_forward(d, from, m, mad);
	m->hop_ptr = m->returning ? 0 : m->hop_count + 1;
	wire_mad_encode(m, mad);
	return end;
}

/* ---- Events ----------------------------------------------------------------------------------- */

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
	else
		d->drops.nobody++;
}

static void arrive_later(struct double_fabric *d, struct dport *at, const struct io_addr *from,
			 const uint8_t *mad, size_t len, uint64_t delay)
{
	struct devent *event = event_new(d, EVENT_ARRIVES, at, mad, len);

	event->addr = *from;
	loop_timer_set(event->timer, delay);
}

static struct io_addr source_address(const struct dport *from, const struct wire_mad *m)
{
	return (struct io_addr){
		.lid = m->mgmt_class == WIRE_SMI_DR ? LID_PERMISSIVE : from->info.lid,
		.qp = is_smp(m) ? 0 : 1,
		.qkey = is_smp(m) ? 0 : QP1_QKEY,
	};
}

/* ---- Answers ---------------------------------------------------------------------------------- */

static bool fault_hits(struct double_fabric *d, const struct dnode *node, enum double_fault fault)
{
	return double_chance(d, node->faults[fault].per_mille);
}

static void answer_spoil(struct double_fabric *d, const struct dnode *node, uint8_t *mad,
			 size_t *len, uint64_t *delay)
{
	if (fault_hits(d, node, DOUBLE_TRUNCATE))
		*len = node->faults[DOUBLE_TRUNCATE].value;
	if (fault_hits(d, node, DOUBLE_WRONG_ATTR))
		mad[ATTR_ID_LOW] ^= 0x04;
	if (fault_hits(d, node, DOUBLE_DELAY))
		*delay += node->faults[DOUBLE_DELAY].value;
	if (fault_hits(d, node, DOUBLE_BAD_STATUS)) {
		mad[STATUS_HIGH] |= (uint8_t)(node->faults[DOUBLE_BAD_STATUS].value >> 8 & 0x7f);
		mad[STATUS_HIGH + 1] = (uint8_t)node->faults[DOUBLE_BAD_STATUS].value;
	}
}

static void answer_send(struct double_fabric *d, struct dport *to, const struct dport *by,
			const struct wire_mad *m, uint8_t *mad, size_t len, unsigned hops)
{
	const struct dnode *node = by->node;
	struct io_addr from = source_address(by, m);
	uint64_t delay = d->conf.latency_us / 2 + 2ull * hops * d->conf.hop_us;

	answer_spoil(d, node, mad, &len, &delay);
	arrive_later(d, to, &from, mad, len, delay);
	if (fault_hits(d, node, DOUBLE_DUPLICATE))
		arrive_later(d, to, &from, mad, len, delay + DUPLICATE_GAP);
}

static bool execute(struct double_fabric *d, struct dport *at, struct wire_mad *m, uint8_t *mad)
{
	if (is_smp(m))
		return smp_execute(d, at, m, mad);
	perf_execute(at, m, mad);
	return true;
}

/* The agent at `at` takes the request; its answer goes back the way that the request came, or by LID. */
static void agent_takes(struct devent *event, struct dport *at, struct wire_mad *m, unsigned hops)
{
	struct double_fabric *d = event->d;
	struct dport *back;

	if (!execute(d, at, m, event->mad))
		return;
	if (m->mgmt_class == WIRE_SMI_DR) {
		m->returning = true;
		back = directed_route(d, at, m, event->mad);
	} else {
		back = lid_route(d, at, event->port->info.lid, !is_smp(m), &hops);
	}
	if (back == event->port ||
	    (back && is_switch(back->node) && back->node == event->port->node))
		answer_send(d, event->port, at, m, event->mad, event->len, hops);
}

/* ---- The way ---------------------------------------------------------------------------------- */

/* SMInfo requests are for the subnet manager attached here; all else of Get and Set for the node's agent. */
static bool is_for_agent(struct double_fabric *d, const struct dport *at, const struct wire_mad *m)
{
	bool sm_here = double_client(d, at) && !at->has_sm;

	return is_request(m) && !(m->attr_id == WIRE_SM_INFO && sm_here);
}

static void leaves(struct devent *event)
{
	struct double_fabric *d = event->d;
	struct dport *at;
	struct wire_mad m;
	struct io_addr from;
	unsigned hops = 0;

	if (wire_mad_decode(event->mad, event->size, &m))
		return;
	from = source_address(event->port, &m);
	if (m.mgmt_class == WIRE_SMI_DR) {
		at = directed_route(d, event->port, &m, event->mad);
		hops = m.hop_count;
	} else {
		at = lid_route(d, event->port, event->addr.lid, !is_smp(&m), &hops);
	}
	if (!at)
		return;
	if (at->node->silent) {
		d->drops.silent++;
		return;
	}
	if (is_for_agent(d, at, &m))
		agent_takes(event, at, &m, hops);
	else if (m.method != WIRE_TRAP_REPRESS) /* a trap is sent once here: nothing to repress */
		arrive_later(d, at, &from, event->mad, event->len,
			     d->conf.latency_us / 2 + (uint64_t)hops * d->conf.hop_us);
}

static void event_cb(void *arg)
{
	struct devent *event = arg;

	if (event->kind == EVENT_LEAVES)
		leaves(event);
	else
		hand_over(event);
	event_free(event);
}

void net_send(struct double_fabric *d, struct dport *from, const struct io_addr *to,
	      const uint8_t *mad, size_t len)
{
	struct devent *event = event_new(d, EVENT_LEAVES, from, mad, len);

	event->addr = *to;
	loop_timer_set(event->timer, d->conf.latency_us / 2);
}

/* ---- Traps ------------------------------------------------------------------------------------ */

void net_trap(struct double_fabric *d, struct dnode *node, const struct wire_notice *notice)
{
	struct dport *port = &node->ports[is_switch(node) ? 0 : 1];
	struct io_addr to = { .lid = port->info.sm_lid };
	struct wire_notice full = *notice;
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	struct wire_mad header = {
		.mgmt_class = WIRE_SMI_LID,
		.class_version = 1,
		.method = WIRE_TRAP,
		.tid = ++d->trap_tid,
		.attr_id = WIRE_NOTICE,
	};

	if (!d->traps || !port->info.sm_lid || node->silent)
		return;
	full.issuer_lid = port->info.lid;
	wire_mad_encode(&header, mad);
	wire_notice_encode(&full, wire_smp_data(mad));
	net_send(d, port, &to, mad, sizeof(mad));
}
