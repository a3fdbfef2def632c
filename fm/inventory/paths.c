/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Directed routes (IBA 14.2.2) over the recorded links.
 *
 * A breadth-first walk from the SM's node. A link becomes suspect when a request over it timed out
 * and nothing passed it since that left; one more such request makes it more so, but those that
 * left together count once; an answer over it clears it. Silent switches may forward nothing
 * either. Suspect steps are put aside and taken, the least suspect first, when everything better
 * has been reached: a path has the least suspicion, then the fewest hops. A node keeps its path
 * while that has no suspect step and is no longer than the best, so paths don't flap.
 */
#include <limits.h>
#include "fm/inventory/inventory.h"
#include "topology/base/mem.h"

#define DOUBT_MAX    15
#define DOUBT_SILENT 4
/* Where more than SUSPECTS links are suspect, a walk follows only each WALK_EACH-th request. */
#define SUSPECTS  128
#define WALK_EACH 64

struct step {
	struct inv_node *from;
	unsigned doubt; /* of the path with this step */
	uint8_t port;
};

struct walk {
	struct inventory *inv;
	struct inv_node **queue;
	uint32_t head, tail;
	struct step *aside; /* doubtful steps */
	uint32_t naside;
	unsigned doubt; /* of paths to the nodes that are reached now */
};

bool inventory_path_add(const struct mad_path *from, uint8_t port, struct mad_path *to)
{
	if (from->hops >= WIRE_MAX_HOPS)
		return false;
	*to = *from;
	to->ports[to->hops++] = port;
	return true;
}

/*
 * The port of `node` that a directed route may leave by; a CA forwards nothing but what its own SM
 * sends.
 */
static struct inv_port *path_exit(const struct inventory *inv, const struct inv_node *node,
				  uint8_t num)
{
	bool forwards = inv_is_switch(node) || (node == inv->local && num == inv->local_port);
	struct inv_port *port = num && num <= node->nports ? &node->ports[num] : NULL;

	return forwards && port && port->peer && port->link_up ? port : NULL;
}

/* Where the path ends, or NULL; *clean = it has no suspect link and crosses no silent switch. */
static struct inv_node *path_end(const struct inventory *inv, const struct mad_path *path,
				 bool *clean)
{
	struct inv_node *node = inv->local;

	*clean = true;
	for (unsigned i = 0; node && i < path->hops; i++) {
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

	inventory_meet(walk->inv, node);
	if (node->gone)
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

	if (!inventory_was_met(walk->inv, to) && inventory_path_add(&from->path, num, &path))
		walk_reach(walk, to, &path);
}

static void walk_expand(struct walk *walk, struct inv_node *node)
{
	for (unsigned p = 1; p <= node->nports; p++) {
		struct inv_port *port = path_exit(walk->inv, node, p);

		if (!port || inventory_was_met(walk->inv, port->peer))
			continue;

		unsigned doubt = port->suspect + (node->silent ? DOUBT_SILENT : 0);

		/* Where packets get lost everywhere a longer path loses more. */
		doubt -= port->suspect == 1 && walk->inv->nsuspects > SUSPECTS;

		if (doubt) {
			walk->aside = mem_grow(walk->aside, walk->naside);
			walk->aside[walk->naside++] = (struct step){ node, walk->doubt + doubt, p };
		} else {
			walk_step(walk, node, p);
		}
	}
}

/* Takes the steps of the least doubt; false: none is left. */
static bool walk_take_aside(struct walk *walk)
{
	uint32_t i, kept = 0;

	if (!walk->naside)
		return false;
	walk->doubt = UINT_MAX;
	for (i = 0; i < walk->naside; i++)
		if (walk->aside[i].doubt < walk->doubt)
			walk->doubt = walk->aside[i].doubt;
	for (i = 0; i < walk->naside; i++) {
		if (walk->aside[i].doubt == walk->doubt)
			walk_step(walk, walk->aside[i].from, walk->aside[i].port);
		else
			walk->aside[kept++] = walk->aside[i];
	}
	walk->naside = kept;
	return true;
}

void inventory_update_paths(struct inventory *inv)
{
	struct walk walk = { .inv = inv };

	inv->paths_stale = false;
	if (!inv->local)
		return;
	inv->walks++;
	walk.queue = mem_array(walk.queue, cl_qmap_count(&inv->nodes));
	walk_reach(&walk, inv->local, &(struct mad_path){ 0 });
	do {
		while (walk.head < walk.tail)
			walk_expand(&walk, walk.queue[walk.head++]);
	} while (walk_take_aside(&walk));
	inv->ngone = cl_qmap_count(&inv->nodes) - walk.tail;
	for (struct inv_node *node = inventory_first(inv); node && inv->ngone;
	     node = inventory_next(inv, node))
		node->gone = !inventory_was_met(inv, node);
	free(walk.aside);
	free(walk.queue);
}

/*
 * A dead switch takes its links with it one by one, and a walk for each would take longer than all
 * the answers. Where packets get lost everywhere each loss would cost a walk, and other paths are
 * no better.
 */
bool inventory_port_path(struct inventory *inv, const struct inv_node *node, uint8_t num,
			 struct mad_path *path)
{
	const struct inv_port *port = &node->ports[num];
	bool own = inv_is_switch(node) || !num || (node == inv->local && num == inv->local_port);
	const struct inv_node *end = own ? node : port->peer;
	bool clean, due = inv->nsuspects <= SUSPECTS || !(inv->clock % WALK_EACH);

	/* Links only went down since the path was found: if it has them all, none is better. */
	if (inv->paths_stale &&
	    (!end || end->gone || path_end(inv, &end->path, &clean) != end || (!clean && due)))
		inventory_update_paths(inv);
	*path = node->path;
	return !node->gone && !node->removed &&
	       (own || (port->peer && path_exit(inv, port->peer, port->peer_port) &&
			inventory_path_add(&port->peer->path, port->peer_port, path)));
}

void inventory_path_result(struct inventory *inv, const struct mad_path *path, bool passed,
			   uint32_t since)
{
	struct inv_node *node = inv->local;

	inv->clock++;
	for (unsigned i = 0; node && i < path->hops; i++) {
		struct inv_port *port = path_exit(inv, node, path->ports[i]), *peer;

		if (!port)
			return;
		peer = &port->peer->ports[port->peer_port];
		if (passed) {
			port->judged = peer->judged = inv->clock;
			inv->nsuspects -= port->suspect > 0;
			port->suspect = peer->suspect = 0;
		} else if (port->suspect < DOUBT_MAX && (int32_t)(port->judged - since) <= 0) {
			inv->nsuspects += port->suspect == 0;
			port->judged = peer->judged = inv->clock;
			peer->suspect = ++port->suspect;
			inv->paths_stale = true;
		}
		node = port->peer;
	}
}
