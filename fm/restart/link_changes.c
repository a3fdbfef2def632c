/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What came, went, moved or has another name between two snapshots. Nodes are found again by GUID,
 * as each snapshot numbers them anew; few come or go at a time, so mostly a node's number is the
 * number before, moved by as much as that of the node ahead of it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fm/restart/links_own.h"
#include "topology/mem.h"

struct changes {
	const struct known_links *links;
	const struct topo *was, *now;
	uint32_t *to_was, *to_now; /* by node of the other one: its number there, or TOPO_NONE */
	uint32_t count, most;
	FILE *out;
};

/* By node of `from`, its number in `to`; the caller's. */
static uint32_t *match(const struct topo *from, const struct topo *to)
{
	uint32_t *map = mem_alloc(from->nnodes + 1u, sizeof(*map)), moved = 0;

	for (uint32_t n = 0; n < from->nnodes; n++) {
		uint32_t guess = n + moved; /* modulo 2^32 */

		map[n] = guess < to->nnodes && to->nodes[guess].guid == from->nodes[n].guid
				 ? guess
				 : topo_find(to, from->nodes[n].guid);
		if (map[n] != TOPO_NONE)
			moved = map[n] - n;
	}
	return map;
}

/* Whether the link at a port is in the other snapshot, too, at the same two ports. */
static bool has_link(const struct topo *from, const struct topo_port *port, const struct topo *to,
		     const uint32_t *map)
{
	const struct topo_port *peer = topo_peer(from, port), *there;
	uint32_t node = map[port->node];

	if (node == TOPO_NONE || port->num > to->nodes[node].nports)
		return false;
	there = topo_peer(to, topo_port(to, node, port->num));
	return there && there->node == map[peer->node] && there->num == peer->num;
}

static bool is_first_end(const struct topo *t, uint32_t port)
{
	return t->ports[port].peer != TOPO_NONE && t->ports[port].peer > port;
}

static void write_links_gone(struct changes *c)
{
	const struct topo *t = c->was;

	for (uint32_t p = 0; p < t->nports && c->count <= c->most; p++) {
		const struct topo_port *port = &t->ports[p];

		if (!is_first_end(t, p) || has_link(t, port, c->now, c->to_now))
			continue;
		fprintf(c->out, "no-cable 0x%016" PRIx64 " %u\n", t->nodes[port->node].guid,
			port->num);
		c->count++;
	}
}

static void write_nodes_gone(struct changes *c)
{
	for (uint32_t n = 0; n < c->was->nnodes && c->count <= c->most; n++)
		if (c->to_now[n] == TOPO_NONE) {
			fprintf(c->out, "no-node 0x%016" PRIx64 "\n", c->was->nodes[n].guid);
			c->count++;
		}
}

static void write_nodes(struct changes *c)
{
	for (uint32_t n = 0; n < c->now->nnodes && c->count <= c->most; n++) {
		const struct topo_node *node = &c->now->nodes[n];
		const struct inv_node *known;

		if (c->to_was[n] != TOPO_NONE &&
		    !strcmp(node->desc, c->was->nodes[c->to_was[n]].desc))
			continue;
		known = inventory_find(c->links->services->inventory, node->guid);
		if (known)
			c->count += known_links_write_node(known, c->out);
	}
}

static void write_link(struct changes *c, const struct topo_port *a)
{
	const struct topo_port *b = topo_peer(c->now, a), *lower = a, *upper = b;
	const struct topo_node *nodes = c->now->nodes;

	if (!known_links_is_lower(nodes[a->node].guid, a->num, nodes[b->node].guid, b->num)) {
		lower = b;
		upper = a;
	}
	known_links_write_cable(
		nodes[lower->node].guid, lower->num, nodes[upper->node].guid, upper->num,
		known_links_since(c->links, nodes[lower->node].guid, lower->num), c->out);
	c->count++;
}

static void write_links(struct changes *c)
{
	for (uint32_t p = 0; p < c->now->nports && c->count <= c->most; p++)
		if (is_first_end(c->now, p) &&
		    !has_link(c->now, &c->now->ports[p], c->was, c->to_was))
			write_link(c, &c->now->ports[p]);
}

uint32_t known_links_changes(const struct known_links *links, const struct topo *was, uint32_t most,
			     FILE *out)
{
	struct changes c = { .links = links,
			     .was = was,
			     .now = links->seen,
			     .to_was = match(links->seen, was),
			     .to_now = match(was, links->seen),
			     .most = most,
			     .out = out };

	write_links_gone(&c);
	write_nodes_gone(&c);
	write_nodes(&c);
	write_links(&c);
	free(c.to_was);
	free(c.to_now);
	return c.count;
}
