/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inventory: the latest answers of all nodes; the only mutable record of the fabric. sweep fills
 * it; bringup and program take paths from it and write the answers of Sets back. Snapshots are
 * made from it.
 *
 * A link is at both its ports or at none. One that is down at the moment stays with link_up false;
 * a node that went away stays with all its links down (gone). A node pointer is good until
 * inventory_fini(): inventory_remove() takes a node off the map and its links off it, and marks it
 * removed.
 */
#ifndef FMD_INVENTORY_INVENTORY_H
#define FMD_INVENTORY_INVENTORY_H

#include <stdbool.h>
#include "fm/inventory/inv_answers.h"
#include "fm/inventory/inv_names.h"
#include "fm/inventory/inv_paths.h"
#include "topology/snapshot/topo_builder.h"

struct inventory {
	cl_qmap_t nodes;
	cl_qmap_t contests;	/* struct inv_contest, by port number */
	struct inv_node *local; /* the SM's own node */
	struct inv_node *removed;
	uint32_t nswitches;
	uint32_t nsuspects; /* links */
	uint32_t nbetween;  /* links between switches that are up */
	uint32_t nactive;   /* links between switches that carry data */
	uint32_t nbounced;  /* links between switches that are bounced */
	uint32_t turns;	    /* counts how often such a link became usable, or ceased to be */
	/*
	 * A link between switches that carries no data is down in snapshots, except at a leaf with
	 * no link that does: it has nothing to lose. The pipe's.
	 */
	bool active_decides;
	uint32_t ngone;		  /* nodes, by the last walk */
	uint32_t nrefused;	  /* ports with inv_contest.refused */
	uint32_t nflawed, ntwice; /* nodes with inv_node.flaw; refused GUIDs known elsewhere */
	struct inv_column columns[INV_COLUMNS];
	uint32_t numbered, numbered_ports; /* nodes that ever came, and their ports */
	/*
	 * In a node's cell of INV_MET if the last walk has met it. Not with the nodes: a walk meets
	 * all of them, and after a fork each page that is written to costs more than the walk.
	 */
	uint32_t walks;
	uint32_t nunpublished; /* switches */
	uint32_t nsw_differ;   /* with sw_differs, at least */
	uint32_t falls, rises; /* count links that went down, and that came up */
	uint16_t sm_lid;       /* ours, the pipe's; 0 = not known yet */
	uint32_t clock;	       /* counts answers and time-outs */
	uint32_t shapes; /* counts nodes and links that came, moved or went, and GUIDs of ports */
	const struct node_names *names; /* borrowed; NULL = no map */
	struct m_keys *keys;		/* borrowed; NULL = ports hold none */
	uint8_t local_port;
	bool paths_stale; /* a link went down or became suspect since inventory_update_paths() */
};

/*
 * inv is the caller's memory, and owns its nodes. Its end leaves it empty, with names, keys and
 * open columns.
 */
void inventory_init(struct inventory *inv);
void inventory_fini(struct inventory *inv);
/* Opens a column (column.h), for nodes that are there too; one that is open stays as it is. */
void inventory_open_column(struct inventory *inv, enum inv_columns which, size_t bytes,
			   void (*removed)(void *cell));
/* A node by GUID, the first, the next, that GUID's or the next higher one; NULL = there is none. */
struct inv_node *inventory_find(const struct inventory *inv, guid_t guid);
struct inv_node *inventory_first(const struct inventory *inv);
struct inv_node *inventory_next(const struct inventory *inv, const struct inv_node *node);
struct inv_node *inventory_from(const struct inventory *inv, guid_t guid);
/* A new node, without links; its GUID must be new. inv owns it. inventory_remove(): see above. */
struct inv_node *inventory_add(struct inventory *inv, const struct wire_node_info *info);
void inventory_remove(struct inventory *inv, struct inv_node *node);

/* True at one of a link's two ports, always the same one: for work done once a link. */
static inline bool inventory_is_first_end(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	return port->peer &&
	       (node->guid < port->peer->guid || (node == port->peer && num < port->peer_port));
}

/* Links. inventory_link() forgets what was at either port before. */
void inventory_link(struct inventory *inv, struct inv_node *a, uint8_t port_a, struct inv_node *b,
		    uint8_t port_b);
void inventory_unlink(struct inventory *inv, struct inv_node *node, uint8_t port);
void inventory_link_down(struct inventory *inv, struct inv_node *node, uint8_t port);
/* Records an impossible answer behind a port: its GUID or INV_NONSENSE; 0 = none any more. */
void inventory_refuse(struct inventory *inv, struct inv_node *node, uint8_t port, guid_t guid);
/*
 * The inventory's, until its end; never NULL. For reading: all zero where nothing contradicts. To
 * be written to: made where there is none.
 */
const struct inv_contest *inv_contest(const struct inventory *inv, const struct inv_node *node,
				      unsigned port);
struct inv_contest *inventory_contest(struct inventory *inv, const struct inv_node *node,
				      unsigned port);
void inventory_set_unpublished(struct inventory *inv, struct inv_node *node, bool on);
/* Links that bounced and are not Active yet count as down from now on. */
void inventory_end_bounces(struct inventory *inv);
/* The same for the links of one switch that rebooted: routing avoids them at once. */
void inventory_end_bounces_of(struct inventory *inv, struct inv_node *node);
/* A walk over nodes. */
static inline void inventory_walk_begin(struct inventory *inv)
{
	inv->walks++;
}
static inline bool inventory_was_met(const struct inventory *inv, const struct inv_node *node)
{
	return *(uint32_t *)inv_node_cell(node, INV_MET, sizeof(uint32_t)) == inv->walks;
}
static inline void inventory_meet(struct inventory *inv, const struct inv_node *node)
{
	*(uint32_t *)inv_node_cell(node, INV_MET, sizeof(uint32_t)) = inv->walks;
}

/*
 * A snapshot of the present; known links that are down are in it as such, and where active_decides
 * says so those that carry no data too. The caller's, never NULL. The builder has all that is read
 * of the inventory: topo_freeze() makes the snapshot of it, at any time.
 */
struct topo_builder *inventory_snapshot_builder(const struct inventory *inv);
struct topo *inventory_snapshot(const struct inventory *inv);
/*
 * A snapshot made of an older one with the ports as they are now (topo_with_ports); the caller's.
 * `shapes` is inv->shapes of when the older one was made. NULL: more than ports may differ.
 */
struct topo *inventory_snapshot_ports(const struct inventory *inv, const struct topo *older,
				      uint32_t shapes);

#endif
