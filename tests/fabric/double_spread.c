/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tests/fabric/double_spread.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/double_traffic.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define HOPS 64

struct spread {
	struct double_fabric *d;
	double *offered;
	/* By node: of the flow that is laid, what has come to it, and the part that arrives. */
	double *mass, *carried, *share;
	uint64_t *stamp, now; /* by node: share is that of flow number `now` */
	uint32_t *here, *next;
	bool *waiting; /* by node: it is in `next` */
};

struct exits {
	struct dport *port[256];
	unsigned count;
	double mbps; /* of all together */
};

double port_mbps(const struct dport *port)
{
	return (double)topo_lane_mbps(wire_port_info_speed(&port->info)) *
	       wire_port_info_lanes(&port->info);
}

struct spread *spread_new(struct double_fabric *d, double *offered)
{
	struct spread *s = mem_alloc(1, sizeof(*s));
	uint32_t n = d->topo->nnodes + 1;

	s->d = d;
	s->offered = offered;
	s->mass = mem_alloc(n, sizeof(*s->mass));
	s->carried = mem_alloc(n, sizeof(*s->carried));
	s->share = mem_alloc(n, sizeof(*s->share));
	s->stamp = mem_alloc(n, sizeof(*s->stamp));
	s->here = mem_alloc(n, sizeof(*s->here));
	s->next = mem_alloc(n, sizeof(*s->next));
	s->waiting = mem_alloc(n, sizeof(*s->waiting));
	return s;
}

void spread_free(struct spread *s)
{
	if (!s)
		return;
	free(s->mass);
	free(s->carried);
	free(s->share);
	free(s->stamp);
	free(s->here);
	free(s->next);
	free(s->waiting);
	free(s);
}

/* What comes out of a port goes on there. */
static bool is_active(const struct dport *out)
{
	return out->peer && out->info.phys_state == PHYS_LINK_UP &&
	       out->info.state == TOPO_ACTIVE && out->peer->info.state == TOPO_ACTIVE;
}

static void find(const struct dnode *sw, uint16_t lid, struct exits *exits)
{
	struct double_ports ports;

	exits->count = 0;
	exits->mbps = 0;
	walk_exits(sw, lid, &ports);
	for (unsigned num = double_ports_next(&ports, 1); num <= sw->ni.nports;
	     num = double_ports_next(&ports, num + 1)) {
		exits->port[exits->count++] = &sw->ports[num];
		exits->mbps += port_mbps(&sw->ports[num]);
	}
}

static double part_of(const struct exits *exits, unsigned i)
{
	return exits->mbps > 0 ? port_mbps(exits->port[i]) / exits->mbps : 1.0 / exits->count;
}

/* Goes hop by hop from a flow's first switch: fn for each switch that part of it comes to. */
typedef void hop_fn(struct spread *s, struct dnode *sw, uint16_t lid, void *arg);

static void go(struct spread *s, const struct dport *from, uint16_t lid, hop_fn *fn, void *arg)
{
	uint32_t count = 0;

	if (is_switch(from->peer->node))
		s->here[count++] = (uint32_t)(from->peer->node - s->d->nodes);
	for (unsigned hop = 0; count && hop < HOPS; hop++) {
		uint32_t nnext = 0, *list = s->next;

		for (uint32_t i = 0; i < count; i++) {
			struct dnode *sw = &s->d->nodes[s->here[i]];
			struct exits exits;

			find(sw, lid, &exits);
			for (unsigned x = 0; x < exits.count; x++) {
				const struct dport *out = exits.port[x];
				uint32_t to = out->peer ? (uint32_t)(out->peer->node - s->d->nodes)
							: s->d->topo->nnodes;

				if (!is_active(out) || !is_switch(out->peer->node) ||
				    s->waiting[to])
					continue;
				s->waiting[to] = true;
				s->next[nnext++] = to;
			}
			fn(s, sw, lid, arg);
		}
		for (uint32_t i = 0; i < nnext; i++)
			s->waiting[s->next[i]] = false;
		s->next = s->here;
		s->here = list;
		count = nnext;
	}
	while (count)
		s->mass[s->here[--count]] = 0;
}

static void lay_hop(struct spread *s, struct dnode *sw, uint16_t lid, void *arg)
{
	double mass = s->mass[sw - s->d->nodes];
	struct exits exits;

	s->mass[sw - s->d->nodes] = 0;
	find(sw, lid, &exits);
	for (unsigned x = 0; x < exits.count; x++) {
		double part = mass * part_of(&exits, x);

		s->offered[exits.port[x] - s->d->ports] += part;
		if (is_active(exits.port[x]) && is_switch(exits.port[x]->peer->node))
			s->mass[exits.port[x]->peer->node - s->d->nodes] += part;
	}
}

void spread_lay(struct spread *s, const struct dport *from, uint16_t lid, double mbps)
{
	if (!is_active(from))
		return;
	s->offered[from - s->d->ports] += mbps;
	s->mass[from->peer->node - s->d->nodes] = mbps;
	go(s, from, lid, lay_hop, NULL);
	s->mass[from->peer->node - s->d->nodes] = 0; /* of an HCA that another is joined to */
}

/* ---- What arrives ---------------------------------------------------------------------------- */

/* What one link leaves a flow of what it asks for. */
static double link_share(const struct spread *s, const struct dport *out)
{
	double offered = s->offered[out - s->d->ports];

	return offered > port_mbps(out) ? port_mbps(out) / offered : 1;
}

static bool is_holder(const struct dport *port, uint16_t lid)
{
	return port->info.lid && lid >> port->info.lmc == port->info.lid >> port->info.lmc;
}

static double share_from(struct spread *s, const struct dnode *sw, uint16_t lid, unsigned hops);

/* Of a flow that leaves by that port. */
static double share_by(struct spread *s, const struct dport *out, uint16_t lid, unsigned hops)
{
	double on;

	if (!is_active(out) || hops > HOPS)
		return 0;
	on = is_switch(out->peer->node) ? share_from(s, out->peer->node, lid, hops + 1)
					: is_holder(out->peer, lid);
	return fmin(link_share(s, out), on);
}

static double share_from(struct spread *s, const struct dnode *sw, uint16_t lid, unsigned hops)
{
	uint32_t at = (uint32_t)(sw - s->d->nodes);
	struct exits exits;
	double share = 0;

	if (s->stamp[at] == s->now)
		return s->share[at];
	if (is_holder(&sw->ports[0], lid))
		return 1;
	find(sw, lid, &exits);
	for (unsigned x = 0; x < exits.count; x++)
		share += part_of(&exits, x) * share_by(s, exits.port[x], lid, hops);
	s->stamp[at] = s->now;
	return s->share[at] = share;
}

double spread_share(struct spread *s, const struct dport *from, uint16_t lid)
{
	s->now++;
	return share_by(s, from, lid, 0);
}

struct runner {
	spread_fn *fn;
	void *arg;
};

/*
 * Of what has come to a switch, `carried` arrives, which its exits take by the parts that each has
 * way for; what ends at an exit is lost there.
 */
static void run_hop(struct spread *s, struct dnode *sw, uint16_t lid, void *arg)
{
	uint32_t at = (uint32_t)(sw - s->d->nodes);
	double mass = s->mass[at], carried = s->carried[at], share = share_from(s, sw, lid, 0);
	const struct runner *runner = arg;
	struct exits exits;

	s->mass[at] = s->carried[at] = 0;
	find(sw, lid, &exits);
	for (unsigned x = 0; x < exits.count; x++) {
		struct dport *out = exits.port[x];
		double part = mass * part_of(&exits, x), by = share_by(s, out, lid, 0);
		double sent = share > 0 ? carried * part_of(&exits, x) * by / share : 0;
		bool goes_on = is_active(out) && is_switch(out->peer->node);

		runner->fn(runner->arg, out, sent, goes_on || by > 0 ? 0 : part);
		if (goes_on) {
			s->mass[out->peer->node - s->d->nodes] += part;
			s->carried[out->peer->node - s->d->nodes] += sent;
		}
	}
}

double spread_run(struct spread *s, struct dport *from, uint16_t lid, double mbps, spread_fn *fn,
		  void *arg)
{
	struct runner runner = { fn, arg };
	double share = spread_share(s, from, lid);

	if (!is_active(from))
		return 0;
	fn(arg, from, mbps * share, 0);
	s->mass[from->peer->node - s->d->nodes] = mbps;
	s->carried[from->peer->node - s->d->nodes] = mbps * share;
	go(s, from, lid, run_hop, &runner);
	s->mass[from->peer->node - s->d->nodes] = s->carried[from->peer->node - s->d->nodes] = 0;
	return share;
}

/* ---- Effective bisection bandwidth ----------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	return sort_order(*(const double *)a, *(const double *)b);
}

/* Ports of HCAs that can send and be sent to, in a random order. */
static uint32_t list_ports(struct double_fabric *d, const struct dport **ports, uint64_t *random)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < d->topo->nports; i++) {
		const struct dport *port = &d->ports[i];

		if (is_switch(port->node) || port->node->design->sharp || !port->num ||
		    !port->info.lid || !is_active(port))
			continue;
		ports[count++] = port;
	}
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = (uint32_t)(random_next(random) % i);
		const struct dport *port = ports[i - 1];

		ports[i - 1] = ports[other];
		ports[other] = port;
	}
	return count & ~1u;
}

struct double_ebb double_ebb(struct double_fabric *d, unsigned samples, uint64_t seed)
{
	struct double_ebb ebb = { .samples = samples };
	const struct dport **ports = mem_alloc(d->topo->nports, sizeof(*ports));
	double *offered = mem_alloc(d->topo->nports, sizeof(*offered)), *got = NULL;
	struct spread *s = spread_new(d, offered);
	size_t count = 0;

	for (unsigned sample = 0; sample < samples; sample++) {
		uint32_t n = list_ports(d, ports, &seed);

		memset(offered, 0, d->topo->nports * sizeof(*offered));
		got = mem_resize(got, count + n + 1, sizeof(*got));
		/* Each sends to its mate, and is sent to. */
		for (uint32_t i = 0; i < n; i++)
			spread_lay(s, ports[i], ports[i ^ 1]->info.lid,
				   fmin(port_mbps(ports[i]), port_mbps(ports[i ^ 1])));
		for (uint32_t i = 0; i < n; i++) {
			got[count] = spread_share(s, ports[i], ports[i ^ 1]->info.lid);
			ebb.mean += got[count];
			ebb.stopped += got[count++] == 0;
		}
		for (uint32_t i = 0; i < d->topo->nports; i++)
			if (offered[i] > 0)
				ebb.worst_link =
					fmax(ebb.worst_link, offered[i] / port_mbps(&d->ports[i]));
		ebb.flows = n;
	}
	if (count) {
		qsort(got, count, sizeof(*got), by_value);
		ebb.mean /= (double)count;
		ebb.slowest_tenth = got[count / 10];
	}
	spread_free(s);
	free(offered);
	free(ports);
	free(got);
	return ebb;
}
