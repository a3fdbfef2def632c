/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * link_use: pairs are counted against the direction of packets: for each LID that leaves by the
 * port, the hosts of the switch and of all switches that send the LID there. Tables that were
 * proven have no loop; the depth is bounded all the same.
 */
#include "routing/report/link_use.h"
#include "topology/mem.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64

struct count {
	const struct link_use_scene *s;
	uint32_t *hosts; /* by switch: host ports with a LID whose links are up */
	unsigned lid;
};

static const uint8_t *row_of(const struct link_use_scene *s, uint32_t sw)
{
	return tables_row(s->tables, sw);
}

uint32_t link_use_by_port(const struct link_use_scene *s, uint32_t sw, uint32_t lids[256])
{
	const uint8_t *row = row_of(s, sw);
	uint32_t none = 0;

	memset(lids, 0, 256 * sizeof(*lids));
	for (uint32_t lid = 1; lid <= s->lids->top; lid++) {
		if (s->lids->port_of_lid[lid] == TOPO_NONE)
			continue;
		if (row[lid] == TABLES_NO_ROUTE)
			none++;
		else
			lids[row[lid]]++;
	}
	return none;
}

struct lid_use link_use_of_lid(const struct link_use_scene *s, unsigned lid)
{
	struct lid_use use = { 0 };

	for (uint32_t sw = 0; sw < s->topo->nswitches; sw++) {
		if (row_of(s, sw)[lid] == TABLES_NO_ROUTE)
			use.drop++;
		else
			use.forward++;
	}
	return use;
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static bool is_host_port(const struct link_use_scene *s, uint32_t port)
{
	return topo_is_host(s->topo, s->topo->ports[port].node) && s->lids->lid_of_port[port];
}

static uint32_t *count_hosts(const struct link_use_scene *s)
{
	const struct topo *t = s->topo;
	uint32_t *hosts = mem_alloc(t->nswitches + 1u, sizeof(*hosts));

	for (uint32_t p = t->nswitch_ports; p < t->nports; p++) {
		const struct topo_port *peer = topo_peer(t, &t->ports[p]);

		if (peer && peer->node < t->nswitches && peer->link_up && is_host_port(s, p))
			hosts[peer->node]++;
	}
	return hosts;
}

/* Hosts whose packets to the LID come by this switch. */
static uint64_t upstream(const struct count *c, uint32_t sw, unsigned depth)
{
	const struct topo *t = c->s->topo;
	const struct topo_node *node = &t->nodes[sw];
	uint64_t hosts = c->hosts[sw];

	for (unsigned num = 1; depth && num <= node->nports; num++) {
		const struct topo_end *end = &t->ends[node->port0 + num];

		if (end->up && end->to < t->nswitches && row_of(c->s, end->to)[c->lid] == end->num)
			hosts += upstream(c, end->to, depth - 1);
	}
	return hosts;
}

static bool is_base_lid_of_host(const struct link_use_scene *s, unsigned lid)
{
	uint32_t port = s->lids->port_of_lid[lid];

	return port != TOPO_NONE && is_host_port(s, port) && s->lids->lid_of_port[port] == lid;
}

static uint64_t pairs_of_switch(const struct link_use_scene *s, const struct topo_port *port)
{
	struct count c = { .s = s, .hosts = count_hosts(s) };
	const uint8_t *row = row_of(s, port->node);
	uint64_t pairs = 0;

	for (c.lid = 1; c.lid <= s->lids->top; c.lid++) {
		const struct topo_port *to, *leaf;

		if (row[c.lid] != port->num || !is_base_lid_of_host(s, c.lid))
			continue;
		to = &s->topo->ports[s->lids->port_of_lid[c.lid]];
		leaf = topo_peer(s->topo, to);
		pairs += upstream(&c, port->node, DEPTH_MAX);
		if (leaf && leaf->node == port->node && leaf->link_up)
			pairs--; /* to itself */
	}
	free(c.hosts);
	return pairs;
}

/* What a host sends is all that its switch forwards. */
static uint64_t pairs_of_host(const struct link_use_scene *s, uint32_t at)
{
	const struct topo_port *peer = topo_peer(s->topo, &s->topo->ports[at]);
	uint64_t pairs = 0;

	if (!peer || !peer->link_up || peer->node >= s->topo->nswitches || !is_host_port(s, at))
		return 0;
	for (unsigned lid = 1; lid <= s->lids->top; lid++)
		pairs += is_base_lid_of_host(s, lid) && s->lids->port_of_lid[lid] != at &&
			 row_of(s, peer->node)[lid] != TABLES_NO_ROUTE;
	return pairs;
}

uint64_t link_use_pairs(const struct link_use_scene *s, uint32_t port)
{
	const struct topo_port *p = &s->topo->ports[port];

	if (p->peer == TOPO_NONE || !p->link_up)
		return 0;
	return p->node < s->topo->nswitches ? pairs_of_switch(s, p) : pairs_of_host(s, port);
}
