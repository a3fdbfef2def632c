/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The judge counts by destination. For a LID each switch's entry is followed once, over what was
 * already followed, to the port where its packets end; then the HCA ports at switches whose packets
 * end at the right port are alive for it. 4,096 HCAs are 16.7 million pairs and 1.5 million
 * entries. A switch that forwards by groups (double_adaptive.h) may choose any member: its packets
 * end at a port if all choices do.
 *
 * A packet that entered a switch and leaves it again makes the channel it came by wait for the one
 * it leaves by, or for all members that it may leave by (a channel is a port that sends).
 * Dependencies are gathered of what HCAs and aggregation nodes may send to any LID in use, and a
 * depth-first search looks for those that close a cycle.
 */
#include "tests/fabric/double_judge.h"
#include <stdlib.h>
#include <string.h>
#include "fm/mad/wire_optional.h"
#include "tests/fabric/double_own.h"
#include "topology/base/mem.h"

#define NONE  UINT32_MAX
#define PORTS 256
#define LIDS  65536
/* A switch that works so long at an SMP takes minutes to be programmed. */
#define SLOW_US 500000

enum { END_UNKNOWN = -1, END_NOWHERE = -2, END_ON_WAY = -3 };

/* A LID's holders: one row of a list for each LID that a port answers to. */
struct holder {
	uint32_t host, next;
};

struct sender {
	const struct dport *port;
	/* the switch it is at; NONE = it is at another HCA, or its link is not Active */
	uint32_t sw;
	uint32_t root; /* of the part of the fabric that it is in */
};

struct judge {
	const struct double_fabric *d;
	struct verdict *v;
	uint64_t ripe_us;
	const struct dport *with;
	bool sound;
	uint32_t part; /* the root whose pairs count; NONE = of all parts */
	uint32_t nswitches, nhosts, nholders;
	uint32_t nports; /* of HCAs, those without power too */
	const struct dnode **switches;
	uint32_t *number;     /* of a switch, by node */
	struct sender *hosts; /* HCA ports with a cable, and power */
	uint32_t *up;	      /* union-find: switches, then hosts */
	uint32_t *size;	      /* hosts of a part, by its root */
	unsigned *sources;    /* of a switch: hosts that its part and an Active link join to it */
	bool *sends;	      /* a switch has an Active link to any adapter */
	/* [switch][port]: where an Active link leads; NULL = none */
	const struct dport **over;
	struct holder *holders;
	uint32_t *held; /* by LID: first row of holders */
	int32_t *end;	/* by switch, for one LID: index of the port where its packets end */
	/* by switch, for one LID: the ports by which packets may go on to a switch */
	struct double_ports *outs;
	bool loop;     /* packets to that LID may go around */
	uint32_t *way; /* switches that are still to be gathered */
	/* by channel: ports of the next switch that it waits for */
	struct double_ports *waits;
};

/* ---- What cables connect --------------------------------------------------------------------- */

static bool carries_data(const struct dport *out)
{
	return out->peer && out->info.phys_state == PHYS_LINK_UP &&
	       out->info.state == TOPO_ACTIVE && out->peer->info.state == TOPO_ACTIVE;
}

static bool is_ill(const struct dnode *node)
{
	return is_switch(node) && (node->silent || node->no_sets || node->refuses ||
				   node->pretends || node->time_us >= SLOW_US);
}

/* A link that a manager disabled is still a cable that connects. */
static bool connects(const struct judge *j, const struct dport *port)
{
	if (j->sound && port->peer && (is_ill(port->node) || is_ill(port->peer->node)))
		return false;
	return port->peer && !port->cut && !port->training && !port->node->off &&
	       !port->peer->node->off && port->up_us <= j->ripe_us;
}

static uint32_t root_of(struct judge *j, uint32_t at)
{
	while (j->up[at] != at)
		at = j->up[at] = j->up[j->up[at]];
	return at;
}

static void unite(struct judge *j, uint32_t a, uint32_t b)
{
	j->up[root_of(j, a)] = root_of(j, b);
}

static bool is_hca(const struct dport *port)
{
	return !is_switch(port->node) && port->num && !port->node->design->sharp && port->peer;
}

static void collect(struct judge *j)
{
	const struct double_fabric *d = j->d;

	for (uint32_t i = 0; i < d->topo->nnodes; i++) {
		const struct dnode *node = &d->nodes[i];

		j->number[i] = is_switch(node) ? j->nswitches : NONE;
		if (is_switch(node))
			j->switches[j->nswitches++] = node;
		j->v->off += node->off;
	}
	for (uint32_t i = 0; i < d->topo->nports; i++) {
		const struct dport *port = &d->ports[i];

		j->nports += is_hca(port);
		if (is_hca(port) && !port->cut && !port->node->off)
			j->hosts[j->nhosts++].port = port;
		j->v->training += port->training && port < port->peer;
		if (port->peer && !port->flaps && port->info.phys_state == PHYS_LINK_UP &&
		    port->up_us > j->v->up_us)
			j->v->up_us = port->up_us;
		if (port->marked_lid && (!is_switch(port->node) || !port->num)) {
			j->v->lids++;
			j->v->moved += double_lid_moved(port);
		}
	}
}

/* The part that holds a switch, or an HCA port; by the numbers of the union. */
static uint32_t place_of(const struct judge *j, const struct dport *port)
{
	uint32_t sw = j->number[port->node - j->d->nodes];

	if (sw != NONE)
		return sw;
	for (uint32_t i = 0; i < j->nhosts; i++)
		if (j->hosts[i].port == port)
			return j->nswitches + i;
	return NONE;
}

static void join_parts(struct judge *j)
{
	for (uint32_t i = 0; i < j->nswitches + j->nhosts; i++)
		j->up[i] = i;
	for (uint32_t s = 0; s < j->nswitches; s++)
		for (unsigned n = 1; n <= j->switches[s]->ni.nports; n++) {
			const struct dport *port = &j->switches[s]->ports[n];

			if (connects(j, port) && is_switch(port->peer->node))
				unite(j, s, place_of(j, port->peer));
			if (carries_data(port) || (j->sound && port->peer && port->flaps)) {
				j->over[s * PORTS + n] = port->peer;
				j->sends[s] |= !is_switch(port->peer->node);
			}
		}
	for (uint32_t i = 0; i < j->nhosts; i++) {
		uint32_t far =
			connects(j, j->hosts[i].port) ? place_of(j, j->hosts[i].port->peer) : NONE;

		if (far != NONE)
			unite(j, j->nswitches + i, far);
	}
}

static unsigned lids_of(const struct dport *port)
{
	return port->info.lid ? 1u << port->info.lmc : 0;
}

static uint16_t first_lid(const struct dport *port)
{
	return (uint16_t)(port->info.lid >> port->info.lmc << port->info.lmc);
}

static void hold(struct judge *j, uint32_t host)
{
	const struct dport *port = j->hosts[host].port;

	for (unsigned i = 0; i < lids_of(port); i++) {
		uint16_t lid = (uint16_t)(first_lid(port) + i);

		j->holders = mem_resize(j->holders, j->nholders + 1, sizeof(*j->holders));
		j->holders[j->nholders] = (struct holder){ host, j->held[lid] };
		j->held[lid] = j->nholders++;
	}
}

static bool counts(const struct judge *j, const struct sender *to)
{
	return !j->with || to->root == j->part;
}

static void count_sources(struct judge *j)
{
	for (uint32_t i = 0; i < j->nhosts; i++) {
		struct sender *host = &j->hosts[i];
		bool active = carries_data(host->port);

		host->root = root_of(j, j->nswitches + i);
		j->size[host->root]++;
		host->sw = active ? j->number[host->port->peer->node - j->d->nodes] : NONE;
		if (host->sw != NONE && host->root == root_of(j, host->sw))
			j->sources[host->sw]++;
		j->v->hcas++;
		j->v->unreached++; /* until a packet arrives */
		j->v->dark += !active;
		hold(j, i);
	}
	j->part = j->with ? place_of(j, j->with) : NONE;
	if (j->part != NONE)
		j->part = root_of(j, j->part);
	for (uint32_t i = 0; i < j->nhosts; i++)
		if (counts(j, &j->hosts[i]))
			j->v->pairs += j->size[j->hosts[i].root] - 1;
	j->v->cut = j->nports ? (uint64_t)j->nports * (j->nports - 1) - j->v->pairs : 0;
}

/* ---- Where packets end ----------------------------------------------------------------------- */

static bool answers_to(const struct dport *port, uint16_t lid)
{
	return port->info.lid && lid >> port->info.lmc == port->info.lid >> port->info.lmc;
}

/* Where packets to the LID end from that switch on, whatever is chosen. */
static int32_t follow(struct judge *j, uint32_t sw, uint16_t lid)
{
	const struct dnode *node = j->switches[sw];
	int32_t end = END_UNKNOWN;
	struct double_ports exits;

	if (answers_to(&node->ports[0], lid))
		return j->end[sw] = (int32_t)(&node->ports[0] - j->d->ports);
	j->end[sw] = END_ON_WAY;
	walk_exits(node, lid, &exits);
	for (unsigned num = double_ports_next(&exits, 0); num < PORTS;
	     num = double_ports_next(&exits, num + 1)) {
		const struct dport *in = num > node->ni.nports ? NULL : j->over[sw * PORTS + num];
		int32_t by = END_NOWHERE;

		if (in && is_switch(in->node)) {
			uint32_t next = j->number[in->node - j->d->nodes];

			double_ports_add(&j->outs[sw], num);
			by = j->end[next] == END_UNKNOWN ? follow(j, next, lid) : j->end[next];
			j->loop |= by == END_ON_WAY;
		} else if (in && answers_to(in, lid)) {
			by = (int32_t)(in - j->d->ports);
		}
		end = by >= 0 && (end == END_UNKNOWN || end == by) ? by : END_NOWHERE;
	}
	return j->end[sw] = end == END_UNKNOWN ? END_NOWHERE : end;
}

static void find_ends(struct judge *j, uint16_t lid)
{
	j->loop = false;
	memset(j->outs, 0, j->nswitches * sizeof(*j->outs));
	for (uint32_t s = 0; s < j->nswitches; s++)
		j->end[s] = END_UNKNOWN;
	for (uint32_t s = 0; s < j->nswitches; s++)
		if (j->end[s] == END_UNKNOWN)
			follow(j, s, lid);
	j->v->loops += j->loop;
}

/* A packet of the host to that port arrives. */
static bool is_alive(const struct judge *j, const struct sender *from, const struct dport *to,
		     uint16_t lid)
{
	if (answers_to(from->port, lid) || !carries_data(from->port))
		return false;
	if (from->sw == NONE)
		return from->port->peer == to;
	return j->end[from->sw] == to - j->d->ports;
}

static void name_dead_pair(struct judge *j, const struct sender *to)
{
	for (uint32_t i = 0; i < j->nhosts; i++) {
		const struct sender *from = &j->hosts[i];

		if (from == to || from->root != to->root ||
		    (to->port->info.lid && is_alive(j, from, to->port, to->port->info.lid)))
			continue;
		j->v->from = from->port;
		j->v->to = to->port;
		return;
	}
}

/* Those at switches in its part, without those that keep such packets for themselves. */
static void judge_destination(struct judge *j, const struct sender *to, uint16_t lid)
{
	int32_t own = (int32_t)(to->port - j->d->ports);
	uint64_t alive = 0;

	for (uint32_t s = 0; s < j->nswitches; s++)
		if (j->end[s] == own && j->sources[s] && root_of(j, s) == to->root)
			alive += j->sources[s];
	for (uint32_t row = j->held[lid]; row != NONE; row = j->holders[row].next) {
		const struct sender *host = &j->hosts[j->holders[row].host];

		if (host->sw != NONE && j->end[host->sw] == own && host->root == to->root &&
		    root_of(j, host->sw) == to->root)
			alive--;
	}
	if (carries_data(to->port) && !is_switch(to->port->peer->node)) {
		uint32_t far = place_of(j, to->port->peer);

		if (far != NONE && j->hosts[far - j->nswitches].root == to->root)
			alive += is_alive(j, &j->hosts[far - j->nswitches], to->port, lid);
	}
	j->v->alive += alive;
	j->v->unreached -= alive > 0;
	if (alive < j->size[to->root] - 1 && !j->v->from)
		name_dead_pair(j, to);
}

/* ---- Credit cycles --------------------------------------------------------------------------- */

static void gather_waits(struct judge *j)
{
	uint32_t count = 0;

	/* Where an end is known the switch was not gathered yet. */
	for (uint32_t s = 0; s < j->nswitches; s++)
		if (j->sends[s]) {
			j->end[s] = END_UNKNOWN;
			j->way[count++] = s;
		}
	while (count) {
		uint32_t at = j->way[--count];

		for (unsigned num = double_ports_next(&j->outs[at], 0); num < PORTS;
		     num = double_ports_next(&j->outs[at], num + 1)) {
			const struct dport *out = &j->switches[at]->ports[num];
			uint32_t next = j->number[out->peer->node - j->d->nodes];

			for (unsigned w = 0; w < PORTS / 64; w++)
				j->waits[out - j->d->ports].word[w] |= j->outs[next].word[w];
			if (j->end[next] == END_UNKNOWN)
				continue;
			j->end[next] = END_UNKNOWN;
			j->way[count++] = next;
		}
	}
}

static void find_cycles(struct judge *j)
{
	uint32_t nports = j->d->topo->nports, depth;
	uint32_t *way = mem_alloc(nports, sizeof(*way));
	uint16_t *cursor = mem_alloc(nports, sizeof(*cursor));
	uint8_t *seen = mem_alloc(nports, 1); /* 1: on the way, 2: done */

	for (uint32_t i = 0; i < nports; i++) {
		if (seen[i])
			continue;
		way[0] = i;
		seen[i] = 1;
		for (depth = 1; depth;) {
			uint32_t at = way[depth - 1], next;
			unsigned num = double_ports_next(&j->waits[at], cursor[at]);

			if (num == PORTS) {
				seen[at] = 2;
				depth--;
				continue;
			}
			cursor[at] = (uint16_t)(num + 1);
			next = (uint32_t)(&j->d->ports[at].peer->node->ports[num] - j->d->ports);
			if (seen[next] == 1) {
				j->v->cycles++;
				j->v->cycle = &j->d->ports[next];
			} else if (!seen[next]) {
				seen[next] = 1;
				way[depth++] = next;
			}
		}
	}
	free(way);
	free(cursor);
	free(seen);
}

/* ---- The verdict ----------------------------------------------------------------------------- */

static void judge_init(struct judge *j)
{
	uint32_t nnodes = j->d->topo->nnodes, nports = j->d->topo->nports;

	j->switches = mem_alloc(nnodes, sizeof(*j->switches));
	j->number = mem_alloc(nnodes, sizeof(*j->number));
	j->hosts = mem_alloc(nports, sizeof(*j->hosts));
	collect(j);
	j->up = mem_alloc(j->nswitches + j->nhosts, sizeof(*j->up));
	j->size = mem_alloc(j->nswitches + j->nhosts, sizeof(*j->size));
	j->sources = mem_alloc(j->nswitches, sizeof(*j->sources));
	j->sends = mem_alloc(j->nswitches, sizeof(*j->sends));
	j->over = mem_alloc((size_t)j->nswitches * PORTS, sizeof(*j->over));
	j->held = mem_alloc(LIDS, sizeof(*j->held));
	memset(j->held, 0xff, LIDS * sizeof(*j->held));
	j->end = mem_alloc(j->nswitches, sizeof(*j->end));
	j->outs = mem_alloc(j->nswitches, sizeof(*j->outs));
	j->way = mem_alloc(j->nswitches, sizeof(*j->way));
	j->waits = mem_alloc(nports, sizeof(*j->waits));
	join_parts(j);
	count_sources(j);
}

static void judge_fini(struct judge *j)
{
	void *const all[] = { j->switches, j->number, j->hosts, j->up,	   j->size,
			      j->sources,  j->sends,  j->over,	j->held,   j->end,
			      j->outs,	   j->way,    j->waits, j->holders };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]);
}

static void judge_holders(struct judge *j, const int32_t *end, uint16_t lid)
{
	if (j->end != end)
		memcpy(j->end, end, j->nswitches * sizeof(*end));
	for (uint32_t row = j->held[lid]; row != NONE; row = j->holders[row].next) {
		const struct sender *host = &j->hosts[j->holders[row].host];

		if (host->port->info.lid == lid && counts(j, host))
			judge_destination(j, host, lid);
	}
}

static void name_without_lid(struct judge *j)
{
	for (uint32_t i = 0; i < j->nhosts && !j->v->from && j->v->alive < j->v->pairs; i++)
		if (!j->hosts[i].port->info.lid && j->size[j->hosts[i].root] > 1 &&
		    counts(j, &j->hosts[i]))
			name_dead_pair(j, &j->hosts[i]);
}

void double_judge(const struct double_fabric *d, uint64_t age_us, const struct dport *with,
		  bool sound, struct verdict *verdict)
{
	double_judge_ages(d, &age_us, 1, with, sound, verdict);
}

void double_judge_ages(const struct double_fabric *d, const uint64_t *ages, unsigned nages,
		       const struct dport *with, bool sound, struct verdict *verdicts)
{
	struct judge *all = mem_alloc(nages, sizeof(*all));
	uint64_t now = loop_now_us(d->loop);
	uint8_t *done = mem_alloc(LIDS, 1);

	for (unsigned a = 0; a < nages; a++) {
		verdicts[a] = (struct verdict){ .changed_us = d->changed_us };
		all[a] = (struct judge){ .d = d, .v = &verdicts[a], .with = with, .sound = sound };
		all[a].ripe_us = now > ages[a] ? now - ages[a] : 0;
		judge_init(&all[a]);
	}
	for (uint32_t i = 0; i < d->topo->nports; i++) {
		const struct dport *port = &d->ports[i];
		uint16_t lid = port->info.lid;

		if (!lid || done[lid] || port->node->off || (is_switch(port->node) && port->num))
			continue;
		done[lid] = 1;
		/* Where packets end is the same for all ages. */
		find_ends(&all[0], lid);
		for (unsigned a = 0; a < nages; a++)
			judge_holders(&all[a], all[0].end, lid);
		gather_waits(&all[0]);
	}
	for (unsigned a = 0; a < nages; a++)
		name_without_lid(&all[a]);
	find_cycles(&all[0]);
	for (unsigned a = 0; a < nages; a++) {
		verdicts[a].loops = verdicts[0].loops;
		verdicts[a].cycles = verdicts[0].cycles;
		verdicts[a].cycle = verdicts[0].cycle;
		judge_fini(&all[a]);
	}
	free(all);
	free(done);
}

void double_judge_mark(struct double_fabric *d)
{
	for (uint32_t i = 0; i < d->topo->nports; i++)
		d->ports[i].marked_lid = d->ports[i].info.lid;
}

bool double_lid_moved(const struct dport *port)
{
	if (!is_switch(port->node) && port->info.state < TOPO_ARMED)
		return false;
	return port->marked_lid && port->info.lid && port->info.lid != port->marked_lid;
}
