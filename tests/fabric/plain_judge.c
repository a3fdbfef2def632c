/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* plain_judge: see plain_judge.h. For fabrics of some dozens of switches. */
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/plain_judge.h"
#include "topology/base/mem.h"

struct plain {
	const struct topo *t;
	const struct lid_map *lids;
	const struct tables *tables;
	struct plain_findings found;
	uint32_t *part;	    /* by node: the first node it is connected with */
	struct wait *waits; /* those that may be on a cycle */
	uint32_t nwaits, room;
};

struct wait { /* who came by one port leaves by the other; each is where a channel begins */
	uint32_t by, on;
};

/* ---- Packets --------------------------------------------------------------------------------- */

static uint32_t owner(const struct lid_map *lids, uint32_t lid)
{
	return lid <= lids->top ? lids->port_of_lid[lid] : TOPO_NONE;
}

/* The port that a packet at sw leaves by, TOPO_NONE = it is not sent on. */
static uint32_t exit_of(const struct topo *t, const struct tables *tables, uint32_t sw,
			uint32_t lid)
{
	unsigned out = tables_row(tables, sw)[lid];

	return out && out <= t->nodes[sw].nports ? t->nodes[sw].port0 + out : TOPO_NONE;
}

static bool to_switch(const struct topo *t, uint32_t port)
{
	return t->ports[port].peer != TOPO_NONE &&
	       t->ports[t->ports[port].peer].node < t->nswitches;
}

enum plain_end plain_follow(const struct topo *t, const struct lid_map *lids,
			    const struct tables *tables, uint32_t sw, uint32_t lid)
{
	for (uint32_t hops = 0; hops <= t->nswitches; hops++) {
		uint32_t out = exit_of(t, tables, sw, lid);

		if (tables_row(tables, sw)[lid] == 0)
			return owner(lids, lid) == t->nodes[sw].port0 ? PLAIN_ARRIVES
								      : PLAIN_ELSEWHERE;
		if (out == TOPO_NONE || !t->ports[out].link_up)
			return PLAIN_ELSEWHERE;
		if (!to_switch(t, out))
			return owner(lids, lid) == t->ports[out].peer ? PLAIN_ARRIVES
								      : PLAIN_ELSEWHERE;
		sw = t->ports[t->ports[out].peer].node;
	}
	return PLAIN_LOOPS;
}

static enum plain_end follow(const struct plain *p, uint32_t sw, uint32_t lid)
{
	return plain_follow(p->t, p->lids, p->tables, sw, lid);
}

/* ---- Entries --------------------------------------------------------------------------------- */

static void add_wait(struct plain *p, uint32_t by, uint32_t on)
{
	for (uint32_t i = p->nwaits; i-- > 0;)
		if (p->waits[i].by == by && p->waits[i].on == on)
			return;
	if (p->nwaits == p->room) {
		p->room = p->room ? p->room * 2 : 256;
		p->waits = mem_resize(p->waits, p->room, sizeof(*p->waits));
	}
	p->waits[p->nwaits++] = (struct wait){ by, on };
}

static void judge_entry(struct plain *p, uint32_t sw, uint32_t lid)
{
	uint32_t out = exit_of(p->t, p->tables, sw, lid), next;
	bool alive = out != TOPO_NONE && p->t->ports[out].link_up;

	if (tables_row(p->tables, sw)[lid] == TABLES_NO_ROUTE)
		return;
	if (!alive || !to_switch(p->t, out)) {
		p->found.bad_ports += follow(p, sw, lid) != PLAIN_ARRIVES;
		return;
	}
	next = exit_of(p->t, p->tables, p->t->ports[p->t->ports[out].peer].node, lid);
	if (next != TOPO_NONE && to_switch(p->t, next))
		add_wait(p, out, next);
}

/* ---- Cycles ---------------------------------------------------------------------------------- */

/* Leaves out, again and again, what waits for a channel that waits for none. */
static void drop_ends(struct plain *p)
{
	bool *waits = mem_alloc(p->t->nports + 1, sizeof(*waits));
	uint32_t was;

	do {
		was = p->nwaits;
		memset(waits, 0, p->t->nports);
		for (uint32_t i = 0; i < was; i++)
			waits[p->waits[i].by] = true;
		p->nwaits = 0;
		for (uint32_t i = 0; i < was; i++)
			if (waits[p->waits[i].on])
				p->waits[p->nwaits++] = p->waits[i];
	} while (p->nwaits != was);
	free(waits);
}

/* Marks all that `from` waits for, be it by way of others. */
static void find_awaited(const struct plain *p, uint32_t from, bool *awaited)
{
	bool more = true;

	memset(awaited, 0, p->t->nports);
	while (more) {
		more = false;
		for (uint32_t i = 0; i < p->nwaits; i++) {
			const struct wait *wait = &p->waits[i];

			if (awaited[wait->on] || (wait->by != from && !awaited[wait->by]))
				continue;
			awaited[wait->on] = more = true;
		}
	}
}

/* Those that wait for themselves, each group of such that wait for one another once. */
static void count_cycles(struct plain *p)
{
	uint32_t n = p->t->nports;
	bool *counted = mem_alloc(n + 1, 1), *here = mem_alloc(n + 1, 1),
	     *there = mem_alloc(n + 1, 1);

	drop_ends(p);
	for (uint32_t port = 0; port < n; port++) {
		if (!counted[port])
			find_awaited(p, port, here);
		if (counted[port] || !here[port])
			continue;
		p->found.credit_cycles++;
		for (uint32_t other = port; other < n; other++) {
			if (!here[other])
				continue;
			find_awaited(p, other, there);
			counted[other] |= there[port];
		}
	}
	free(counted);
	free(here);
	free(there);
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static void find_parts(struct plain *p)
{
	const struct topo *t = p->t;
	bool more = true;

	p->part = mem_alloc(t->nnodes + 1, sizeof(*p->part));
	for (uint32_t n = 0; n < t->nnodes; n++)
		p->part[n] = n;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < t->nports; i++) {
			const struct topo_port *port = &t->ports[i];
			uint32_t part = p->part[port->node];

			if (!port->link_up || port->node >= t->nswitches ||
			    t->ports[port->peer].node >= t->nswitches ||
			    part >= p->part[t->ports[port->peer].node])
				continue;
			p->part[t->ports[port->peer].node] = part;
			more = true;
		}
	}
}

/* A host's port with a LID, on a switch. */
static bool is_host(const struct plain *p, uint32_t port)
{
	const struct topo *t = p->t;

	return t->ports[port].node >= t->nswitches && t->ports[port].link_up &&
	       to_switch(t, port) && p->lids->lid_of_port[port];
}

static uint32_t home_of(const struct topo *t, uint32_t port)
{
	return t->ports[t->ports[port].peer].node;
}

static bool is_back_to_back(const struct plain *p, uint32_t port)
{
	const struct topo *t = p->t;

	return t->ports[port].node >= t->nswitches && t->ports[port].link_up &&
	       !to_switch(t, port) && p->lids->lid_of_port[port] &&
	       p->lids->lid_of_port[t->ports[port].peer];
}

/* Hosts whose packets no table sees: without a LID, or cabled to one another. */
static void judge_without_tables(struct plain *p, uint32_t from, uint32_t to)
{
	const struct topo *t = p->t;
	bool here = topo_is_host(t, t->ports[from].node) && t->ports[from].link_up,
	     there = topo_is_host(t, t->ports[to].node) && t->ports[to].link_up;

	if (from == to || !here || !there)
		return;
	if (is_back_to_back(p, from) && is_back_to_back(p, to)) {
		p->found.reachable += t->ports[from].peer == to;
		p->found.disconnected += t->ports[from].peer != to;
	} else if (is_back_to_back(p, from) || is_back_to_back(p, to)) {
		p->found.disconnected += is_host(p, from) || is_host(p, to);
	} else if (to_switch(t, from) && to_switch(t, to) &&
		   (!p->lids->lid_of_port[from] || !p->lids->lid_of_port[to])) {
		p->found.unreachable += p->part[home_of(t, from)] == p->part[home_of(t, to)];
	}
}

static void judge_pair(struct plain *p, uint32_t from, uint32_t to, uint32_t lid)
{
	const struct topo *t = p->t;
	bool special = t->nodes[t->ports[from].node].sharp || t->nodes[t->ports[to].node].sharp;
	bool arrives;

	if (from == to || !is_host(p, from))
		return;
	if (p->part[home_of(t, from)] != p->part[home_of(t, to)]) {
		p->found.disconnected += !special;
		return;
	}
	arrives = follow(p, t->ports[t->ports[from].peer].node, lid) == PLAIN_ARRIVES;
	p->found.reachable += arrives && !special;
	p->found.unreachable += !arrives && !special;
	p->found.unreachable_special += !arrives && special;
}

static void judge_lid(struct plain *p, uint32_t lid)
{
	uint32_t to = owner(p->lids, lid);

	for (uint32_t sw = 0; sw < p->t->nswitches; sw++) {
		judge_entry(p, sw, lid);
		p->found.loops += to != TOPO_NONE && follow(p, sw, lid) == PLAIN_LOOPS;
	}
	for (uint32_t from = 0; from < p->t->nports; from++)
		if (to != TOPO_NONE && is_host(p, to))
			judge_pair(p, from, to, lid);
}

struct plain_findings plain_judge(const struct topo *t, const struct lid_map *lids,
				  const struct tables *tables)
{
	struct plain p = { .t = t, .lids = lids, .tables = tables };

	find_parts(&p);
	for (uint32_t lid = 1; lid <= tables->top; lid++)
		judge_lid(&p, lid);
	for (uint32_t from = t->nswitch_ports; from < t->nports; from++)
		for (uint32_t to = t->nswitch_ports; to < t->nports; to++)
			judge_without_tables(&p, from, to);
	count_cycles(&p);
	free(p.part);
	free(p.waits);
	return p.found;
}
