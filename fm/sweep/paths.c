/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Directed routes (IBA 14.2.2) over the recorded cables.
 *
 * A breadth-first walk from the SM's node. Cables on whose way a request timed out are suspect
 * until another request passes over them; silent switches forward nothing. Both are crossed only
 * where no clean way is left: the walk puts such steps aside and takes them when everything else
 * has been reached, so a way has the fewest doubtful cables, then the fewest hops. A node keeps its
 * way while that is good and no longer than the best, so ways don't flap.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/sweep/inventory.h"
#include "topology/mem.h"

struct step {
	struct inv_node *from;
	uint8_t port;
};

struct walk {
	struct inventory *inv;
	struct inv_node **queue;
	uint32_t head, tail;
	struct step *doubtful; /* steps put aside */
	uint32_t ndoubtful, room;
};

bool inventory_path_add(const struct mad_path *from, uint8_t port, struct mad_path *to)
{
	if (from->hops >= WIRE_MAX_HOPS)
		return false;
	*to = *from;
	to->ports[to->hops++] = port;
	return true;
}

/* The port of `node` that a directed route may leave by; a CA forwards nothing but what its own SM
 * sends. */
static struct inv_port *path_exit(const struct inventory *inv, const struct inv_node *node,
				  uint8_t num)
{
	bool forwards = inv_is_switch(node) || (node == inv->local && num == inv->local_port);
	struct inv_port *port = num && num <= node->nports ? &node->ports[num] : NULL;

	return forwards && port && port->peer && port->link_up ? port : NULL;
}

/* Where the path ends, or NULL; *clean = it has no suspect cable and crosses no silent switch. */
static struct inv_node *path_end(const struct inventory *inv, const struct mad_path *path,
				 bool *clean)
{
	struct inv_node *node = inv->local;
	unsigned i;

	*clean = true;
	for (i = 0; node && i < path->hops; i++) {
		struct inv_port *port = path_exit(inv, node, path->ports[i]);

		if (!port)
			return NULL;
		*clean &= !port->suspect && !node->silent;
		node = port->peer;
	}
	return node;
}

static void walk_reach(struct walk *walk, struct inv_node *node, const struct mad_path *path)
{
	bool clean;

	node->mark = walk->inv->walks;
	node->gone = false;
	if (path_end(walk->inv, &node->path, &clean) != node || !clean ||
	    node->path.hops > path->hops)
		node->path = *path;
	walk->queue[walk->tail++] = node;
}

static void walk_step(struct walk *walk, struct inv_node *from, uint8_t num)
{
	struct inv_node *to = from->ports[num].peer;
	struct mad_path path;

	if (to->mark != walk->inv->walks && inventory_path_add(&from->path, num, &path))
		walk_reach(walk, to, &path);
}

static void walk_put_aside(struct walk *walk, struct inv_node *from, uint8_t num)
{
	if (walk->ndoubtful == walk->room) {
		walk->room = walk->room ? 2 * walk->room : 64;
		walk->doubtful = mem_resize(walk->doubtful, walk->room, sizeof(*walk->doubtful));
	}
	walk->doubtful[walk->ndoubtful++] = (struct step){ from, num };
}

static void walk_expand(struct walk *walk, struct inv_node *node)
{
	unsigned p;

	for (p = 1; p <= node->nports; p++) {
		struct inv_port *port = path_exit(walk->inv, node, (uint8_t)p);

		if (!port || port->peer->mark == walk->inv->walks)
			continue;
		if (port->suspect || node->silent)
			walk_put_aside(walk, node, (uint8_t)p);
		else
			walk_step(walk, node, (uint8_t)p);
	}
}

static void walk_run(struct walk *walk)
{
	uint32_t i, taken = 0;

	for (;;) {
		while (walk->head < walk->tail)
			walk_expand(walk, walk->queue[walk->head++]);
		if (taken == walk->ndoubtful)
			return;
		for (i = walk->ndoubtful; taken < i; taken++)
			walk_step(walk, walk->doubtful[taken].from, walk->doubtful[taken].port);
	}
}

void inventory_update_paths(struct inventory *inv)
{
	struct walk walk = { .inv = inv };
	struct inv_node *node;

	inv->paths_stale = false;
	if (!inv->local)
		return;
	inv->walks++;
	walk.queue = mem_alloc(cl_qmap_count(&inv->nodes), sizeof(*walk.queue));
	walk_reach(&walk, inv->local, &(struct mad_path){ 0 });
	walk_run(&walk);
	for (node = inventory_first(inv); node; node = inventory_next(inv, node))
		node->gone = node->mark != inv->walks;
	free(walk.doubtful);
	free(walk.queue);
}

bool inventory_port_path(struct inventory *inv, const struct inv_node *node, uint8_t num,
			 struct mad_path *path)
{
	const struct inv_port *port = &node->ports[num];

	if (inv->paths_stale)
		inventory_update_paths(inv);
	*path = node->path;
	if (node->gone || node->removed)
		return false;
	if (inv_is_switch(node) || node == inv->local || !num)
		return inv_is_switch(node) || !num || num == inv->local_port;
	if (!port->peer || !path_exit(inv, port->peer, port->peer_port))
		return false;
	return inventory_path_add(&port->peer->path, port->peer_port, path);
}

void inventory_path_worked(struct inventory *inv, const struct mad_path *path)
{
	struct inv_node *node = inv->local;
	unsigned i;

	if (!inv->nsuspects)
		return;
	for (i = 0; node && i < path->hops; i++) {
		struct inv_port *port = path_exit(inv, node, path->ports[i]);

		if (!port)
			return;
		inv->nsuspects -= port->suspect;
		port->suspect = false;
		node = port->peer;
	}
}

void inventory_path_failed(struct inventory *inv, const struct mad_path *path)
{
	struct inv_node *node = inv->local;
	unsigned i;

	for (i = 0; node && i < path->hops; i++) {
		struct inv_port *port = path_exit(inv, node, path->ports[i]);

		if (!port)
			return;
		inv->nsuspects += !port->suspect;
		port->suspect = true;
		inv->paths_stale = true;
		node = port->peer;
	}
}
