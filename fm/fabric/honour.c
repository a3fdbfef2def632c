/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_honour: cordons that can't be kept. Hosts that nothing else connects are reached by cordoned cables; for them all cordons are left
 * out of account together. Whoever asks for a cordon is told which ones carry traffic for that reason.
 *
 * Routing says whether there are such hosts at all (route_cordons_bent); only then the published tables are looked at: a cordon is not kept
 * when some host's packets to another cross one of its cables. Those from and to the cordoned switch's own hosts are no transit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/own.h"
#include "topology/mem.h"

struct look { /* for a cordon that carries traffic */
	const struct fabric *f;
	const struct topo *t;
	const bool *hosts; /* by switch */
	uint32_t node;	   /* the cordon's.. */
	bool whole;	   /* .. and all of it */
	uint16_t lid;	   /* found: packets to there do */
};

static bool is_switch(const struct topo *t, const struct topo_port *port)
{
	return port && port->node < t->nswitches;
}

/* By switch: hosts hang on it. */
static bool *find_hosts(const struct topo *t)
{
	bool *hosts = mem_alloc(t->nswitches + 1, sizeof(*hosts));

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *peer = topo_peer(t, &t->ports[p]);

		if (topo_is_host(t, t->ports[p].node) && is_switch(t, peer))
			hosts[peer->node] = true;
	}
	return hosts;
}

/* The switch on which the LID's host hangs; TOPO_NONE: no host's. */
static uint32_t home_of(const struct look *l, uint16_t lid)
{
	uint32_t port = l->f->lids->port_of_lid[lid];
	const struct topo_port *peer;

	if (port == TOPO_NONE || !topo_is_host(l->t, l->t->ports[port].node))
		return TOPO_NONE;
	peer = topo_peer(l->t, &l->t->ports[port]);
	return is_switch(l->t, peer) ? peer->node : TOPO_NONE;
}

/* Some host's packets to the LID come by this switch. Tables were proven: ways have no loop. */
static bool is_used(const struct look *l, uint32_t sw, uint16_t lid)
{
	if (l->hosts[sw])
		return true;
	for (unsigned num = 1; num <= l->t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(l->t, topo_port(l->t, sw, num));

		if (is_switch(l->t, peer) && peer->link_up &&
		    tables_row(&l->f->tables, peer->node)[lid] == peer->num &&
		    is_used(l, peer->node, lid))
			return true;
	}
	return false;
}

/* Hosts' packets leave by that port, through the cordon's cable. */
static bool carries(struct look *l, const struct topo_port *from)
{
	const uint8_t *row = tables_row(&l->f->tables, from->node), *at = row;
	const uint8_t *end = row + l->f->tables.top + 1;

	while ((at = memchr(at + 1, from->num, (size_t)(end - at - 1)))) {
		uint16_t lid = (uint16_t)(at - row);
		uint32_t home = home_of(l, lid);

		if (home == TOPO_NONE || (l->whole && home == l->node) ||
		    !is_used(l, from->node, lid))
			continue;
		l->lid = lid;
		return true;
	}
	return false;
}

/* Of a switch as a whole only what comes into it is transit; of a cable, both ways. */
static bool is_crossed(struct look *l, uint8_t port)
{
	for (unsigned num = port ? port : 1; num <= l->t->nodes[l->node].nports; num++) {
		const struct topo_port *near = topo_port(l->t, l->node, num);
		const struct topo_port *far = topo_peer(l->t, near);

		if (is_switch(l->t, far) && near->link_up &&
		    (carries(l, far) || (!l->whole && carries(l, near))))
			return true;
		if (port)
			break;
	}
	return false;
}

static json_t *row_of(const struct look *l, uint8_t port)
{
	const struct topo_node *host =
		&l->t->nodes[l->t->ports[l->f->lids->port_of_lid[l->lid]].node];
	char name[160], why[200];

	if (port)
		snprintf(name, sizeof(name), "%s p%u", l->t->nodes[l->node].desc, port);
	else
		snprintf(name, sizeof(name), "%s", l->t->nodes[l->node].desc);
	snprintf(why, sizeof(why), "some hosts have no other way to %s", host->desc);
	return json_pack("{ss* ss*}", "what", name, "why", why);
}

json_t *fabric_cordons_bent(const struct fabric *f)
{
	struct look look = { .f = f, .t = f->topo };
	json_t *rows = json_array();
	bool *hosts;

	if (!f->topo || !f->ncordons || !route_cordons_bent(f->route))
		return rows;
	look.hosts = hosts = find_hosts(f->topo);
	for (unsigned i = 0; i < f->ncordons; i++) {
		look.node = topo_find(f->topo, f->cordons[i].node);
		look.whole = !f->cordons[i].port;
		if (look.node < f->topo->nswitches && is_crossed(&look, f->cordons[i].port))
			json_array_append_new(rows, row_of(&look, f->cordons[i].port));
	}
	free(hosts);
	return rows;
}
