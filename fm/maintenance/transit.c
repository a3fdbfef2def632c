/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/maintenance/transit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topology/mem.h"

struct search { /* for packets that cross a cordon */
	const struct fabric_view *view;
	const struct topo *t;  /* the view's */
	const bool *has_hosts; /* by switch */
	uint32_t node;	       /* the cordon's */
	bool whole;	       /* the cordon is of all of the switch's links */
	uint16_t lid;	       /* found: packets to there do */
};

static bool is_switch(const struct topo *t, const struct topo_port *port)
{
	return port && port->node < t->nswitches;
}

/* By switch, whether it has hosts; the caller frees it. */
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

/* The switch that the LID's host is connected to; TOPO_NONE: it is no host's. */
static uint32_t home_of(const struct search *s, uint16_t lid)
{
	uint32_t port = s->view->lids->port_of_lid[lid];
	const struct topo_port *peer;

	if (port == TOPO_NONE || !topo_is_host(s->t, s->t->ports[port].node))
		return TOPO_NONE;
	peer = topo_peer(s->t, &s->t->ports[port]);
	return is_switch(s->t, peer) ? peer->node : TOPO_NONE;
}

/* Some host's packets to the LID come by this switch. Tables were proven: paths have no loop. */
static bool is_used(const struct search *s, uint32_t sw, uint16_t lid)
{
	if (s->has_hosts[sw])
		return true;
	for (unsigned num = 1; num <= s->t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(s->t, topo_port(s->t, sw, num));

		if (is_switch(s->t, peer) && peer->link_up &&
		    tables_row(s->view->tables, peer->node)[lid] == peer->num &&
		    is_used(s, peer->node, lid))
			return true;
	}
	return false;
}

/* Hosts' packets leave by that port, through the cordon's link. */
static bool carries(struct search *s, const struct topo_port *from)
{
	const uint8_t *row = tables_row(s->view->tables, from->node), *at = row;
	const uint8_t *end = row + s->view->tables->top + 1;

	while ((at = memchr(at + 1, from->num, (size_t)(end - at - 1)))) {
		uint16_t lid = (uint16_t)(at - row);
		uint32_t home = home_of(s, lid);

		if (home == TOPO_NONE || (s->whole && home == s->node) ||
		    !is_used(s, from->node, lid))
			continue;
		s->lid = lid;
		return true;
	}
	return false;
}

/* Of a switch as a whole only what comes into it is transit; of a link, both directions. */
static bool is_crossed(struct search *s, uint8_t port)
{
	for (unsigned num = port ? port : 1; num <= s->t->nodes[s->node].nports; num++) {
		const struct topo_port *near = topo_port(s->t, s->node, num);
		const struct topo_port *far = topo_peer(s->t, near);

		if (is_switch(s->t, far) && near->link_up &&
		    (carries(s, far) || (!s->whole && carries(s, near))))
			return true;
		if (port)
			break;
	}
	return false;
}

static json_t *row_of(const struct search *s, uint8_t port)
{
	const struct topo_node *host =
		&s->t->nodes[s->t->ports[s->view->lids->port_of_lid[s->lid]].node];
	char name[160], why[200];

	if (port)
		snprintf(name, sizeof(name), "%s p%u", s->t->nodes[s->node].name, port);
	else
		snprintf(name, sizeof(name), "%s", s->t->nodes[s->node].name);
	snprintf(why, sizeof(why), "some hosts have no other path to %s", host->name);
	return json_pack("{ss* ss*}", "what", name, "why", why);
}

json_t *transit_overridden(const struct fabric_view *view, const struct cordon_list *cordons)
{
	struct search search = { .view = view, .t = view->topo };
	json_t *rows = json_array();
	bool *hosts;

	if (!view->topo || !cordons->count || !view->cordons_overridden)
		return rows;
	search.has_hosts = hosts = find_hosts(view->topo);
	for (unsigned i = 0; i < cordons->count; i++) {
		search.node = topo_find(view->topo, cordons->list[i].node);
		search.whole = !cordons->list[i].port;
		if (search.node < view->topo->nswitches &&
		    is_crossed(&search, cordons->list[i].port))
			json_array_append_new(rows, row_of(&search, cordons->list[i].port));
	}
	free(hosts);
	return rows;
}
