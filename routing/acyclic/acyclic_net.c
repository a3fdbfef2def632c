/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* acyclic_net: switches and the arcs between them, of all links that are known. */
#include <stdlib.h>
#include <string.h>
#include "routing/acyclic/acyclic_net.h"
#include "topology/mem.h"

/* The switch behind a port's link, TOPO_NONE = none, or itself. */
static uint32_t neighbour(const struct topo *t, uint32_t sw, unsigned num)
{
	const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

	return peer && peer->node < t->nswitches && peer->node != sw ? peer->node : TOPO_NONE;
}

/* Arcs of one switch, by their lowest port; `arc_to` is TOPO_NONE everywhere, before and after. */
static void list_arcs(struct net *n, const struct topo *t, uint32_t sw, uint32_t *arc_to,
		      uint32_t *nlinks)
{
	n->first[sw] = n->narcs;
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		uint32_t to = neighbour(t, sw, num);

		if (to == TOPO_NONE || arc_to[to] != TOPO_NONE)
			continue;
		arc_to[to] = n->narcs;
		n->from[n->narcs] = sw;
		n->to[n->narcs] = to;
		n->first_link[n->narcs] = *nlinks;
		for (unsigned lane = num; lane <= t->nodes[sw].nports; lane++)
			if (neighbour(t, sw, lane) == to)
				n->links[(*nlinks)++] = (uint8_t)lane;
		n->narcs++;
	}
	for (uint32_t a = n->first[sw]; a < n->narcs; a++)
		arc_to[n->to[a]] = TOPO_NONE;
}

static void pair_arcs(struct net *n)
{
	for (uint32_t a = 0; a < n->narcs; a++)
		for (uint32_t b = n->first[n->to[a]]; b < n->first[n->to[a] + 1]; b++)
			if (n->to[b] == n->from[a])
				n->back[a] = b;
	for (uint32_t a = 0; a < n->narcs; a++) {
		n->first_turn[a] = n->nturns;
		n->nturns += net_degree(n, n->to[a]);
	}
}

static void count_hosts(struct net *n, const struct topo *t, uint32_t sw)
{
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

		n->hosts[sw] += peer && peer->node >= t->nswitches && !t->nodes[peer->node].sharp;
	}
}

void net_init(struct net *n, const struct topo *t)
{
	uint32_t *arc_to = mem_alloc_unset(t->nswitches + 1, sizeof(*arc_to)), nlinks = 0;
	uint32_t room = t->nswitch_ports + 1;

	*n = (struct net){ .nswitches = t->nswitches,
			   .first = mem_alloc(t->nswitches + 1, sizeof(*n->first)),
			   .from = mem_alloc(room, sizeof(*n->from)),
			   .to = mem_alloc(room, sizeof(*n->to)),
			   .back = mem_alloc(room, sizeof(*n->back)),
			   .first_link = mem_alloc(room, sizeof(*n->first_link)),
			   .first_turn = mem_alloc(room, sizeof(*n->first_turn)),
			   .links = mem_alloc(room, sizeof(*n->links)),
			   .hosts = mem_alloc(t->nswitches + 1, sizeof(*n->hosts)),
			   .level = mem_alloc(t->nswitches + 1, sizeof(*n->level)) };
	memset(arc_to, 0xff, (t->nswitches + 1) * sizeof(*arc_to));
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		list_arcs(n, t, sw, arc_to, &nlinks);
		count_hosts(n, t, sw);
		n->level[sw] = t->nodes[sw].level;
	}
	n->first[t->nswitches] = n->narcs;
	n->first_link[n->narcs] = nlinks;
	pair_arcs(n);
	free(arc_to);
}

void net_fini(struct net *n)
{
	free(n->first);
	free(n->from);
	free(n->to);
	free(n->back);
	free(n->first_link);
	free(n->first_turn);
	free(n->links);
	free(n->hosts);
	free(n->level);
	*n = (struct net){ 0 };
}

void net_read_states(const struct net *n, const struct topo *t, uint8_t *states)
{
	for (uint32_t a = 0; a < n->narcs; a++) {
		states[a] = ARC_DOWN;
		for (uint32_t i = n->first_link[a]; i < n->first_link[a + 1]; i++) {
			const struct topo_port *port = topo_port(t, n->from[a], n->links[i]);
			bool cordoned = port->cordoned || topo_peer(t, port)->cordoned;
			uint8_t state = cordoned ? ARC_CORDONED : ARC_OPEN;

			if (port->link_up && state > states[a])
				states[a] = state;
		}
	}
}

static void find_part(const struct net *n, const uint8_t *states, enum arc_state least,
		      uint32_t first, uint32_t *part, uint32_t *queue)
{
	uint32_t head = 0, tail = 0;

	part[first] = first;
	queue[tail++] = first;
	while (head < tail) {
		uint32_t sw = queue[head++];

		for (uint32_t a = n->first[sw]; a < n->first[sw + 1]; a++) {
			if ((states && states[a] < least) || part[n->to[a]] != TOPO_NONE)
				continue;
			part[n->to[a]] = first;
			queue[tail++] = n->to[a];
		}
	}
}

void net_find_parts(const struct net *n, const uint8_t *states, enum arc_state least,
		    uint32_t *part)
{
	uint32_t *queue = mem_alloc_unset(n->nswitches + 1, sizeof(*queue));

	memset(part, 0xff, n->nswitches * sizeof(*part));
	for (uint32_t sw = 0; sw < n->nswitches; sw++)
		if (part[sw] == TOPO_NONE)
			find_part(n, states, least, sw, part, queue);
	free(queue);
}
