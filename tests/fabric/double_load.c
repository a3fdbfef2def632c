/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Traffic through the double: flows between CAs' ports, by the tables and links in force, and what
 * ports count by it.
 *
 * A flow has a rate, a share of what its own port can carry. Where more comes to a link than it
 * carries, all flows through it get the like share of it, and ports before it wait: nothing is lost
 * to a full link, for credits hold it back. What has no way is lost where it dies: a switch without
 * an entry counts relay errors, a port without a link discards. So a port sends and receives at a
 * constant rate for as long as nothing in the fabric changes; what it has counted is told when
 * somebody asks, of that port alone. A change marks rates as stale: they hold until then, and are
 * computed again REFRESH_US later, or at the next question if the last time was as long ago: a
 * table of many blocks is one change, and a port that is read between its writes costs no walk of
 * all flows. Where losses are to be counted they are computed again at once: this is for few flows.
 *
 * Switches with adaptive routing divide a flow (double_spread.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/double_own.h"
#include "tests/fabric/double_spread.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define REFRESH_US  500000
#define WORD_BITS   32
#define PACKET_BITS (4096 * 8)

struct flow {
	struct dport *from, *to;
	unsigned per_mille;
	double offered, factor; /* Mb/s; what is left of it, 0 .. 1 */
	struct dport *dies;	/* where, NULL = it arrives */
	enum walk_end end;
	uint8_t hops;
	struct dport **trail; /* the ports that it leaves by */
	bool divided;	      /* it goes by more than these */
	double lost;	      /* Mb/s */
};

/* Of a port: Mb/s, and the share of the time that it waits; packets in millions a second. */
struct port_load {
	double sent, received, wait, relay, discards;
	uint64_t since_us;
};

struct dload {
	struct flow *flows;
	unsigned nflows, room;
	struct port_load *ports; /* by topo index */
	double *offered;	 /* the same: Mb/s */
	struct spread *spread;
	bool at_once;	     /* each change is followed */
	double lost_packets; /* of all ports, as far as they have counted */
	struct loop_timer *refresh;
	uint64_t stale_us; /* since then the rates are not true; 0 = they are */
	uint64_t first_us;
	uint64_t made_us; /* when the rates were computed; 0 = never */
};

static struct port_load *load_of(struct double_fabric *d, const struct dport *port)
{
	return &d->load->ports[port - d->ports];
}

double load_offered(struct double_fabric *d, const struct dport *port)
{
	return d->load ? d->load->offered[port - d->ports] : 0;
}

/* ---- What was counted ------------------------------------------------------------------------ */

/*
 * Whole ones are added, the rest is kept for the next time: since_us goes on by whole microseconds
 * of it.
 */
static void add_share(struct dport *port, enum perf_counter counter, double rate, uint64_t from_us,
		      uint64_t to_us)
{
	double added = floor(rate * (double)to_us) - floor(rate * (double)from_us);

	if (added > 0)
		perf_add(port, counter, (uint64_t)added);
}

static void count_until(struct double_fabric *d, struct dport *port, uint64_t until_us)
{
	struct port_load *load = load_of(d, port);
	uint64_t from = load->since_us - d->load->first_us, to = until_us - d->load->first_us;

	if (until_us <= load->since_us)
		return;
	load->since_us = until_us;
	add_share(port, PERF_XMIT_DATA, load->sent / WORD_BITS, from, to);
	add_share(port, PERF_RCV_DATA, load->received / WORD_BITS, from, to);
	add_share(port, PERF_XMIT_PACKETS, load->sent / PACKET_BITS, from, to);
	add_share(port, PERF_RCV_PACKETS, load->received / PACKET_BITS, from, to);
	add_share(port, PERF_XMIT_UNICAST, load->sent / PACKET_BITS, from, to);
	add_share(port, PERF_RCV_UNICAST, load->received / PACKET_BITS, from, to);
	add_share(port, PERF_XMIT_WAIT, load->wait * port_mbps(port) / WORD_BITS, from, to);
	add_share(port, PERF_RCV_RELAY, load->relay / PACKET_BITS, from, to);
	add_share(port, PERF_XMIT_DISCARDS, load->discards / PACKET_BITS, from, to);
	d->load->lost_packets += (load->relay + load->discards) / PACKET_BITS * (double)(to - from);
}

/* ---- Rates ----------------------------------------------------------------------------------- */

static void flow_walk(struct double_fabric *d, struct flow *flow)
{
	struct dport *trail[HOPS_MAX + 1];
	struct packet packet = { .dlid = flow->to->info.lid,
				 .pkey = port_pkey(flow->from, 0),
				 .data = true,
				 .look = true };
	struct walk walk = { .trail = trail };

	flow->hops = 0;
	flow->divided = false;
	flow->lost = 0;
	flow->factor = 1;
	flow->dies = NULL;
	flow->offered = port_mbps(flow->from) * flow->per_mille / 1000;
	if (flow->from->info.state != TOPO_ACTIVE || !packet.dlid || !flow->per_mille) {
		flow->offered = 0;
		return;
	}
	walk_lid(d, flow->from, &packet, &walk);
	flow->end = walk.end;
	flow->hops = (uint8_t)walk.hops;
	flow->trail = mem_resize(flow->trail, flow->hops + 1u, sizeof(*flow->trail));
	memcpy(flow->trail, trail, flow->hops * sizeof(*trail));
	if (walk.end != WALK_ARRIVES)
		flow->dies = walk.at;
	for (unsigned h = 0; h < flow->hops; h++)
		flow->divided |= adaptive_forwards(trail[h]->node);
}

static void flows_offer(struct double_fabric *d)
{
	for (unsigned i = 0; i < d->load->nflows; i++) {
		struct flow *flow = &d->load->flows[i];

		flow_walk(d, flow);
		if (flow->divided)
			spread_lay(d->load->spread, flow->from, flow->to->info.lid, flow->offered);
		for (unsigned h = 0; !flow->divided && h < flow->hops; h++)
			d->load->offered[flow->trail[h] - d->ports] += flow->offered;
	}
}

/* The share that a link gives to each flow. */
static double link_share(struct double_fabric *d, const struct dport *out)
{
	double offered = load_offered(d, out), room = port_mbps(out);

	return offered > room ? room / offered : 1;
}

/* What has no way on ends at a port whose link is not Active: it is discarded there. */
static void loses(struct double_fabric *d, struct flow *flow, struct dport *at, bool link,
		  double mbps)
{
	flow->lost += mbps;
	if (link)
		load_of(d, at)->discards += mbps;
	else
		load_of(d, at)->relay += mbps;
}

struct division {
	struct double_fabric *d;
	struct flow *flow;
};

static void runs_by(void *arg, struct dport *out, double mbps, double lost)
{
	const struct division *division = arg;

	load_of(division->d, out)->sent += mbps;
	if (out->peer)
		load_of(division->d, out->peer)->received += mbps;
	if (lost > 0)
		loses(division->d, division->flow, out, true, lost);
}

/* Its HCA waits for what the links do not take; what a switch waits for is not known. */
static void flow_divides(struct double_fabric *d, struct flow *flow)
{
	struct division division = { d, flow };
	struct port_load *load = load_of(d, flow->from);

	flow->factor = spread_run(d->load->spread, flow->from, flow->to->info.lid, flow->offered,
				  runs_by, &division);
	if (flow->factor > 0)
		flow->dies = NULL;
	if (1 - flow->factor > load->wait)
		load->wait = 1 - flow->factor;
}

/* Those before the narrowest link of a flow wait for what that link does not take. */
static void flow_runs(struct double_fabric *d, struct flow *flow)
{
	struct dport *const *trail = flow->trail;
	unsigned narrow = 0;

	for (unsigned h = 0; h < flow->hops; h++) {
		double share = link_share(d, trail[h]);

		if (share < flow->factor) {
			flow->factor = share;
			narrow = h;
		}
	}
	for (unsigned h = 0; h < flow->hops; h++) {
		struct port_load *load = load_of(d, trail[h]);

		load->sent += flow->offered * flow->factor;
		load_of(d, trail[h]->peer)->received += flow->offered * flow->factor;
		if (h < narrow && 1 - flow->factor > load->wait)
			load->wait = 1 - flow->factor;
	}
	if (flow->dies)
		loses(d, flow, flow->dies,
		      flow->end == WALK_DEAD_LINK || flow->end == WALK_NOT_ACTIVE,
		      flow->offered * flow->factor);
}

static void rates_make(struct double_fabric *d, uint64_t since_us)
{
	/* A port that was asked meanwhile has counted until then. */
	for (uint32_t i = 0; i < d->topo->nports; i++) {
		uint64_t counted_us = d->load->ports[i].since_us;

		d->load->ports[i] =
			(struct port_load){ .since_us =
						    counted_us > since_us ? counted_us : since_us };
	}
	memset(d->load->offered, 0, d->topo->nports * sizeof(*d->load->offered));
	flows_offer(d);
	for (unsigned i = 0; i < d->load->nflows; i++)
		(d->load->flows[i].divided ? flow_divides : flow_runs)(d, &d->load->flows[i]);
}

void load_refresh(struct double_fabric *d)
{
	uint64_t stale = d->load ? d->load->stale_us : 0;

	if (!stale)
		return;
	for (uint32_t i = 0; i < d->topo->nports; i++)
		count_until(d, &d->ports[i], stale);
	rates_make(d, stale);
	d->load->stale_us = 0;
	d->load->made_us = loop_now_us(d->loop);
	loop_timer_stop(d->load->refresh);
}

void load_count(struct double_fabric *d, struct dport *port)
{
	if (!d->load)
		return;
	if (!d->load->made_us || loop_now_us(d->loop) - d->load->made_us >= REFRESH_US)
		load_refresh(d);
	count_until(d, port, loop_now_us(d->loop));
}

void load_changed(struct double_fabric *d)
{
	if (d->load->stale_us)
		return;
	d->load->stale_us = loop_now_us(d->loop);
	loop_timer_set(d->load->refresh, d->load->at_once ? 0 : REFRESH_US);
}

/* ---- What is sent ---------------------------------------------------------------------------- */

static void refresh_cb(void *arg)
{
	load_refresh(arg);
}

static struct dload *load_get(struct double_fabric *d)
{
	if (d->load)
		return d->load;
	d->load = mem_alloc(1, sizeof(*d->load));
	d->load->ports = mem_alloc(d->topo->nports, sizeof(*d->load->ports));
	d->load->offered = mem_alloc(d->topo->nports, sizeof(*d->load->offered));
	d->load->spread = spread_new(d, d->load->offered);
	d->load->refresh = loop_timer_new(d->loop, refresh_cb, d);
	d->load->first_us = loop_now_us(d->loop);
	for (uint32_t i = 0; i < d->topo->nports; i++)
		d->load->ports[i].since_us = d->load->first_us;
	return d->load;
}

static void flow_add(struct double_fabric *d, struct dport *from, struct dport *to,
		     unsigned per_mille)
{
	struct dload *load = load_get(d);

	if (load->nflows == load->room) {
		load->room = load->room ? 2 * load->room : 64;
		load->flows = mem_resize(load->flows, load->room, sizeof(*load->flows));
	}
	load->flows[load->nflows++] =
		(struct flow){ .from = from, .to = to, .per_mille = per_mille };
	load_changed(d);
}

/* The first of its ports that has a cable. */
static struct dport *port_of(struct double_fabric *d, uint32_t ca)
{
	struct dnode *node = &d->nodes[ca];

	for (unsigned num = 1; num < node->ni.nports; num++)
		if (node->ports[num].peer)
			return &node->ports[num];
	return &node->ports[node->ni.nports];
}

void double_load_shift(struct double_fabric *d, unsigned shift, unsigned per_mille)
{
	const struct topo *t = d->topo;

	double_load_off(d);
	for (uint32_t h = 0; h < t->nhosts; h++) {
		const struct topo_host *from = &t->hosts[h],
				       *to = &t->hosts[(h + shift) % t->nhosts];

		for (uint32_t i = 0; i < from->ncas && i < to->ncas; i++)
			flow_add(d, port_of(d, t->host_cas[from->first + i]),
				 port_of(d, t->host_cas[to->first + i]), per_mille);
	}
}

void double_load_pair(struct double_fabric *d, guid_t from, unsigned from_port, guid_t to,
		      unsigned to_port, unsigned per_mille)
{
	flow_add(d, double_port(d, from, from_port), double_port(d, to, to_port), per_mille);
}

void double_load_random(struct double_fabric *d, unsigned flows, uint64_t seed, unsigned per_mille)
{
	const struct topo *t = d->topo;

	double_load_off(d);
	while (flows && t->nhosts > 1) {
		const struct topo_host *from = &t->hosts[random_next(&seed) % t->nhosts],
				       *to = &t->hosts[random_next(&seed) % t->nhosts];
		uint64_t i = random_next(&seed), j = random_next(&seed);

		if (from == to || !from->ncas || !to->ncas)
			continue;
		flow_add(d, port_of(d, t->host_cas[from->first + i % from->ncas]),
			 port_of(d, t->host_cas[to->first + j % to->ncas]), per_mille);
		flows--;
	}
}

void double_load_at_once(struct double_fabric *d)
{
	load_get(d)->at_once = true;
}

void double_load_off(struct double_fabric *d)
{
	if (!d->load)
		return;
	for (uint32_t i = 0; i < d->topo->nports; i++)
		load_count(d, &d->ports[i]);
	load_free(d);
}

void load_free(struct double_fabric *d)
{
	if (!d->load)
		return;
	loop_timer_free(d->load->refresh);
	for (unsigned i = 0; i < d->load->nflows; i++)
		free(d->load->flows[i].trail);
	free(d->load->flows);
	free(d->load->offered);
	spread_free(d->load->spread);
	free(d->load->ports);
	free(d->load);
	d->load = NULL;
}

struct double_load double_load(struct double_fabric *d)
{
	struct double_load sum = { 0 };

	if (!d->load)
		return sum;
	load_refresh(d);
	for (uint32_t i = 0; i < d->topo->nports; i++)
		load_count(d, &d->ports[i]);
	sum.lost_packets = d->load->lost_packets;
	for (unsigned i = 0; i < d->load->nflows; i++) {
		const struct flow *flow = &d->load->flows[i];

		sum.flows++;
		sum.stopped += flow->dies || flow->offered == 0;
		sum.losing += flow->lost > 0;
		sum.offered_mbps += flow->offered;
		sum.carried_mbps += flow->dies ? 0 : flow->offered * flow->factor;
		sum.slowest =
			sum.flows == 1 || flow->factor < sum.slowest ? flow->factor : sum.slowest;
	}
	for (uint32_t i = 0; i < d->topo->nports; i++) {
		double room = port_mbps(&d->ports[i]);
		double busy = room > 0 ? d->load->offered[i] / room : 0;

		if (busy <= sum.busiest)
			continue;
		sum.busiest = busy;
		sum.node = d->ports[i].node->guid;
		sum.port = d->ports[i].num;
	}
	return sum;
}
