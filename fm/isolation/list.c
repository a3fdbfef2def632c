/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/isolation/list.h"
#include <stdlib.h>
#include <string.h>
#include "topology/mem.h"

struct inv_node *isolated_node(const struct isolated *it)
{
	struct inv_node *node = inventory_find(it->list->services.inventory, it->node);

	return node && it->port <= node->nports ? node : NULL;
}

bool isolated_is_transit(const struct inv_node *node, unsigned num)
{
	const struct inv_node *peer = node->ports[num].peer;

	return inv_is_switch(node) && peer && inv_is_switch(peer);
}

bool isolated_is_active(const struct inv_port *port)
{
	return port->peer && port->state == TOPO_ACTIVE &&
	       port->peer->ports[port->peer_port].state == TOPO_ACTIVE;
}

bool isolated_has_foreign_key(const struct isolation *is, const struct inv_node *node)
{
	return inv_is_switch(node) && !node->gone &&
	       inventory_key_is_foreign(is->services.inventory, node, 0);
}

struct isolated *isolated_find(const struct isolation *is, guid_t node, uint8_t port,
			       enum isolation_cause cause)
{
	for (unsigned i = 0; i < is->count; i++)
		if (is->all[i]->node == node && is->all[i]->port == port &&
		    is->all[i]->cause == cause)
			return is->all[i];
	return NULL;
}

/* ---- Marks ----------------------------------------------------------------------------------- */

void isolated_set_no_sets(const struct isolated *it, bool on)
{
	struct inv_node *node = isolated_node(it);

	if (!node || (it->cause != ISOLATED_NO_SETS && it->cause != ISOLATED_FOREIGN_KEY))
		return;
	node->no_sets = on;
	node->keeps_change &= on;
}

static void mark_port(struct inv_port *port, bool isolated, bool kept)
{
	port->isolated = isolated;
	port->kept = kept;
	if (port->peer)
		port->peer->ports[port->peer_port].kept = kept;
}

static void unmark(const struct isolated *it)
{
	struct inv_node *node = isolated_node(it);

	for (unsigned p = it->port ? it->port : 1;
	     node && p <= (it->port ? it->port : node->nports); p++)
		mark_port(&node->ports[p], false, false);
}

/* What may not be isolated, and was routed over, stays so. */
static bool was_up(const struct topo *t, const struct isolated *it)
{
	uint32_t port = t ? topo_port_of(t, it->node, it->port) : TOPO_NONE;

	return port != TOPO_NONE && t->ports[port].link_up;
}

/* A link that is not Active counts as down without a mark (inventory.active_decides). */
static void mark(const struct isolated *it)
{
	const struct topo *published = fabric_view(it->list->fabric).topo;
	bool not_active = it->cause == ISOLATED_NOT_ACTIVE;
	struct inv_node *node = isolated_node(it);

	for (unsigned p = it->port ? it->port : 1;
	     node && p <= (it->port ? it->port : node->nports); p++) {
		struct inv_port *port = &node->ports[p];
		bool isolated = it->in_force && !not_active && isolated_is_transit(node, p);
		bool kept = not_active && !it->in_force && was_up(published, it);

		mark_port(port, port->isolated || isolated, port->kept || kept);
	}
	isolated_set_no_sets(it, true);
}

void isolated_mark_all(struct isolation *is)
{
	for (unsigned i = 0; i < is->count; i++)
		unmark(is->all[i]);
	for (unsigned i = 0; i < is->count; i++)
		mark(is->all[i]);
}

/* ---- The list -------------------------------------------------------------------------------- */

struct isolated *isolated_add(struct isolation *is, guid_t node, uint8_t port,
			      enum isolation_cause cause)
{
	struct isolated *it;

	if (is->count == ISOLATION_LISTED_MAX)
		return NULL;
	it = mem_alloc(1, sizeof(*it));
	*it = (struct isolated){ .node = node,
				 .port = port,
				 .cause = cause,
				 .since_us = loop_now_us(is->services.loop),
				 .list = is };
	if (is->count == is->size) {
		is->size = is->size ? 2 * is->size : 16;
		is->all = mem_resize(is->all, is->size, sizeof(*is->all));
	}
	is->all[is->count++] = it;
	isolated_set_no_sets(it, true);
	return it;
}

void isolated_remove(struct isolated *it)
{
	struct isolation *is = it->list;
	unsigned i = 0;

	while (is->all[i] != it)
		i++;
	memmove(&is->all[i], &is->all[i + 1], (--is->count - i) * sizeof(*is->all));
	isolated_set_no_sets(it, false);
	unmark(it);
	mad_cancel(is->services.mad, it->probe);
	free(it);
}
