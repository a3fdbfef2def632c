/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * judge: see judge.h. A link counts once, by its end with the lower index, in the tier of its lower
 * switch.
 */
#include "fm/isolation/judge.h"
#include <stdlib.h>
#include "topology/base/mem.h"

#define SHARE 4 /* of a tier, a quarter */

enum { IN_FORCE = 1, WANTED = 2 };

struct judge {
	const struct topo *t;
	uint8_t *links;						    /* by port of their lower end */
	unsigned all[TOPO_MAX_LEVEL + 1], gone[TOPO_MAX_LEVEL + 1]; /* by tier */
	bool *bare; /* by switch: a leaf that would lose its last uplink */
};

/* The far end of a link to another switch, else NULL. */
static const struct topo_port *far_end(const struct topo *t, const struct topo_port *port)
{
	const struct topo_port *peer = topo_peer(t, port);

	return port->num && peer && peer->node < t->nswitches && peer->node != port->node ? peer
											  : NULL;
}

static uint32_t link_of(const struct topo *t, const struct topo_port *port)
{
	uint32_t at = (uint32_t)(port - t->ports);

	return at < port->peer ? at : port->peer;
}

static unsigned tier_of(const struct topo *t, const struct topo_port *port)
{
	unsigned a = t->nodes[port->node].level, b = t->nodes[t->ports[port->peer].node].level;

	return a < b ? a : b;
}

/* Ports that an ask is about are from..to. */
static void ask_ports(const struct topo *t, const struct isolate_ask *ask, unsigned *from,
		      unsigned *to)
{
	*from = ask->port ? ask->port : 1;
	*to = ask->port ? ask->port : t->nodes[ask->node].nports;
}

static void take(struct judge *j, const struct isolate_ask *ask)
{
	unsigned from, to;

	ask_ports(j->t, ask, &from, &to);
	for (unsigned num = from; num <= to; num++) {
		const struct topo_port *port = topo_port(j->t, ask->node, num);
		uint8_t *link;

		if (!far_end(j->t, port))
			continue;
		link = &j->links[link_of(j->t, port)];
		j->gone[tier_of(j->t, port)] += !*link;
		*link |= ask->in_force ? IN_FORCE : WANTED;
	}
}

static void count_tiers(struct judge *j)
{
	for (uint32_t p = 0; p < j->t->nswitch_ports; p++)
		if (far_end(j->t, &j->t->ports[p]) && p < j->t->ports[p].peer)
			j->all[tier_of(j->t, &j->t->ports[p])]++;
}

/* Whether new isolations would take the last of a leaf's uplinks that are in use. */
static bool is_bared(const struct judge *j, uint32_t sw)
{
	unsigned wanted = 0, left = 0;

	for (unsigned num = 1; num <= j->t->nodes[sw].nports; num++) {
		const struct topo_port *port = topo_port(j->t, sw, num);
		const struct topo_port *peer = far_end(j->t, port);
		uint8_t link;

		if (!peer || !port->link_up)
			continue;
		link = j->links[link_of(j->t, port)];
		wanted += link == WANTED;
		left += !link && !port->cordoned && !peer->cordoned;
	}
	return wanted && !left;
}

static bool is_allowed(const struct judge *j, const struct isolate_ask *ask)
{
	unsigned from, to;

	ask_ports(j->t, ask, &from, &to);
	for (unsigned num = from; num <= to; num++) {
		const struct topo_port *port = topo_port(j->t, ask->node, num);
		const struct topo_port *peer = far_end(j->t, port);

		if (!peer)
			continue;
		if (j->gone[tier_of(j->t, port)] * SHARE > j->all[tier_of(j->t, port)])
			return false;
		if (j->bare[peer->node] || (ask->port && j->bare[ask->node]))
			return false;
	}
	return true;
}

uint32_t isolate_judge(const struct topo *t, struct isolate_ask *asks, uint32_t count)
{
	struct judge j = { .t = t,
			   .links = mem_alloc(t->nswitch_ports + 1u, 1),
			   .bare = mem_alloc(t->nswitches + 1u, sizeof(*j.bare)) };
	uint32_t refused = 0;

	count_tiers(&j);
	for (uint32_t i = 0; i < count; i++)
		take(&j, &asks[i]);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		j.bare[sw] = t->nodes[sw].level == 0 && is_bared(&j, sw);
	for (uint32_t i = 0; i < count; i++) {
		asks[i].allowed = asks[i].in_force || is_allowed(&j, &asks[i]);
		refused += !asks[i].allowed;
	}
	free(j.links);
	free(j.bare);
	return refused;
}
