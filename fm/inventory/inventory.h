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
#pragma once

#include "fm/events/event_log.h"
#include "fm/inventory/inv_node.h"
#include "topology/snapshot/topo_builder.h"

struct inv_numbered { /* what ever came */
	uint32_t nodes, ports;
	uint32_t sweeps; /* that have begun: what was seen in one has its number */
};

struct inv_turned { /* counts links that went down, and that came up */
	uint32_t falls, rises;
};

struct inv_claims {	  /* inv_naming.claim */
	uint32_t open;	  /* nodes that have one, at least */
	uint32_t changes; /* counts how often one came or was withdrawn */
};

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
	uint32_t ndark;	    /* links that are up and not known to be Active at both ends */
	uint32_t turns;	    /* counts how often such a link became usable, or ceased to be */
	/*
	 * A link between switches that carries no data is down in snapshots, except at a leaf with
	 * no link that does: it has nothing to lose. The pipe's.
	 */
	bool active_decides;
	uint32_t ngone;	   /* nodes, by the last walk */
	uint32_t nrefused; /* ports with inv_contest.refused */
	uint32_t nflawed;  /* nodes with sweep_node.flaw */
	struct inv_column columns[INV_COLUMNS];
	struct inv_numbered numbered;
	struct inv_claims claims;
	/*
	 * In a node's cell of INV_MET if the last walk has met it. Not with the nodes: a walk meets
	 * all of them, and after a fork each page that is written to costs more than the walk.
	 */
	uint32_t walks;
	uint32_t nunpublished; /* switches */
	uint32_t nsw_differ;   /* with sw_differs, at least */
	struct inv_turned turned;
	uint16_t sm_lid; /* ours, the pipe's; 0 = not known yet */
	uint32_t clock;	 /* counts answers and time-outs */
	uint32_t shapes; /* counts nodes and links that came, moved or went, and GUIDs of ports */
	const struct node_names *names;	     /* borrowed; NULL = no map */
	struct key_lookup *keys;	     /* of M_Keys; NULL = ports hold none */
	const struct inv_listener *listener; /* borrowed; NULL = nobody listens */
	uint8_t local_port;
	bool paths_stale; /* a link went down or became suspect since inventory_update_paths() */
};

/*
 * inv is the caller's memory, and owns its nodes. Its end leaves it empty, with names, keys,
 * listener and open columns.
 */
void inventory_init(struct inventory *inv);
void inventory_fini(struct inventory *inv);
/* Opens a column (inv_node.h), for nodes that are there too; one that is open stays as it is. */
void inventory_open_column(struct inventory *inv, enum inv_columns which, size_t bytes,
			   void (*removed)(void *cell));
/* A node by GUID, the first, the next, that GUID's or the next higher one; NULL = there is none. */
struct inv_node *inventory_find(const struct inventory *inv, guid_t guid);
struct inv_node *inventory_first(const struct inventory *inv);
struct inv_node *inventory_next(const struct inventory *inv, const struct inv_node *node);
#define INVENTORY_EACH(inv, node)                                                                  \
	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
struct inv_node *inventory_from(const struct inventory *inv, guid_t guid);
/* A new node, without links; its GUID must be new. inv owns it. inventory_remove(): see above. */
struct inv_node *inventory_add(struct inventory *inv, const struct wire_node_info *info);
void inventory_remove(struct inventory *inv, struct inv_node *node);

/*
 * A port by its node's GUID, never a switch's port 0; *node is the node, NULL where there is none.
 * NULL: there is no such port. Both are the inventory's.
 */
struct inv_port *inventory_port(const struct inventory *inv, guid_t guid, unsigned num,
				struct inv_node **node);

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

/* A walk over nodes begins with walks++. */
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
/*
 * A snapshot made of an older one with the ports as they are now (topo_with_ports); the caller's.
 * `shapes` is inv->shapes of when the older one was made. NULL: more than ports may differ.
 */
struct topo *inventory_snapshot_ports(const struct inventory *inv, const struct topo *older,
				      uint32_t shapes);

/* ---- What ports answered, written to their record (see inventory.h) -------------------------- */

struct inventory;

/* PortInfo's attribute modifier: bit 31 asks for the extended speeds where they are supported. */
uint32_t inventory_port_modifier(const struct inv_node *node, uint8_t port);
/* Records the GUID of a CA's port. */
void inventory_set_port_guid(struct inventory *inv, struct inv_node *node, uint8_t port,
			     guid_t guid);

/* True: another GUID is known of that port of a CA. */
static inline bool inventory_other_port_guid(const struct inv_node *node, uint8_t num, guid_t guid)
{
	return node->port_guids && node->port_guids[num] && node->port_guids[num] != guid;
}
/* Takes PortInfo. False: another M_Key, or another protection by it, than was known. */
bool inventory_set_port_info(struct inv_node *node, uint8_t port, const uint8_t data[64]);
/* The port's own trap says so, before PortInfo is read again. */
void inventory_set_capmask(struct inv_port *port, uint32_t capmask);

/* ---- What devices were given, and hold otherwise --------------------------------------------- */

struct inv_change {
	const char *attribute, *field; /* by their names in IBA, literals */
	unsigned at;		       /* which entry of a table */
	uint64_t found, wanted;
};

/* Called from within an answer; the change is the caller's. It may not write to the inventory. */
struct inv_listener {
	void (*changed)(void *arg, const struct inv_node *node, uint8_t port,
			const struct inv_change *change);
	void *arg;
};

/* Tells the listener, if there is one. */
void inventory_report(const struct inventory *inv, const struct inv_node *node, uint8_t port,
		      const struct inv_change *change);

enum inv_differs { INV_SAME, INV_DIFFERS, INV_DIFFERS_ADDRESS }; /* LID, LMC, SM LID, GID prefix */

/*
 * How two PortInfos differ in what a manager sets at that port, but for its state. `report`: the
 * inventory whose listener gets each field; NULL = none does.
 */
enum inv_differs inventory_settings_differ(const struct inventory *report,
					   const struct inv_node *node, uint8_t port,
					   const struct wire_port_info *is,
					   const struct wire_port_info *wanted);
/*
 * The first of so many entries of `bits` each, as on the wire, that is not as wanted by the mask:
 * adds its index to change->at, and sets found and wanted. False: all are as wanted.
 */
bool inventory_entry_differs(struct inv_change *change, const uint8_t *is, const uint8_t *wanted,
			     unsigned entries, unsigned bits, uint64_t mask);
/*
 * To be called behind each change of a port's state: counts whether its link carries data now. An
 * end that was not read counts as the other.
 */
void inventory_port_changed(struct inventory *inv, struct inv_node *node, uint8_t port);
/* Whether a and b agree in all that matters to a subnet manager; counters may differ. */
bool inventory_same_port_info(const uint8_t a[64], const uint8_t b[64]);
/*
 * Where the own port's P_Key table has the default partition, the full membership first; 0 where it
 * is not known to have it.
 */
uint16_t inventory_default_pkey_index(const struct inventory *inv);

/* ---- What nodes of the inventory are called (see inventory.h) -------------------------------- */

/* Inv_node.name is made here alone. */
struct node_names;

/* What a node is called from now on; "" = nothing yet. */
void inventory_set_desc(const struct inventory *inv, struct inv_node *node, const char *desc);
/*
 * A NodeDescription was read. One that names a known CA otherwise is a claim, which fm/naming
 * judges before the next snapshot: each host's root writes that text.
 */
void inventory_met_desc(struct inventory *inv, struct inv_node *node, const char *desc);
/* Uses another map, borrowed, or NULL = none: names all nodes again. */
void inventory_name_nodes(struct inventory *inv, const struct node_names *names);
/* Takes the names of a snapshot, which depend on the whole fabric (topology/snapshot/naming.h). */
void inventory_take_names(struct inventory *inv, const struct topo *topo);

/* ---- Paths ----------------------------------------------------------------------------------- */

/* Directed routes to what the inventory knows, and its names for people (see inventory.h). */

/* The path to a node, to a CA's port the one that enters by that port. False: none is known. */
bool inventory_port_path(struct inventory *inv, const struct inv_node *node, uint8_t port,
			 struct mad_path *path);
/* *to: `from`, and out by that port. False: it has 63 hops already, the most there may be. */
bool inventory_path_add(const struct mad_path *from, uint8_t port, struct mad_path *to);
/*
 * A request by that path was answered: its links are not suspect. Or it timed out (not `passed`):
 * links of it that nothing passed since `since` (inv.clock when the request left) become suspect.
 */
void inventory_path_result(struct inventory *inv, const struct mad_path *path, bool passed,
			   uint32_t since);
/*
 * Gives each node its shortest path over links that are not suspect; a path without suspect links
 * is kept. A node that no path leads to is `gone`.
 */
void inventory_update_paths(struct inventory *inv);

struct inv_name {
	char text[128];
};
/* `sw leaf-03 0x...`, `ca ... p1`; port < 0: the node alone. */
struct inv_name inventory_name(const struct inv_node *node, int port);
/* The same as the subject of an event or alert, a port with its link; texts are the nodes'. */
struct event_subject inventory_subject(const struct inv_node *node, int port);
/*
 * Appends a port, as the members of its subject, to the ports of an alert; NULL = the first one.
 * Their name: `leaf-03 p4 and 7 more ports`, of at least one.
 */
void inventory_add_port(json_t **ports, const struct inv_node *node, unsigned num);
struct inv_name inventory_ports_name(const json_t *ports);
struct inv_link_name {
	char text[212];
};
/* A link by one of its ends: names both; by GUID where that end is not known. */
struct inv_link_name inventory_link_name(const struct inventory *inv, guid_t node, uint8_t port);
/* The same as a subject; port 0: the node. What the inventory does not know has its GUID alone. */
struct event_subject inventory_link_subject(const struct inventory *inv, guid_t node, uint8_t port);

/* The GUID of a port; of a switch's, that of the node. 0 = not known. */
guid_t inventory_key_guid(const struct inv_node *node, unsigned port);

/* ---- What devices were asked for that not all have ------------------------------------------- */

struct ask_counts {
	uint64_t asked; /* what is asked for again counts again */
	uint64_t read, refused, malformed, unanswered;
};
/* An answer came, or none. good: one that is MAD_OK can be. */
void ask_counts_add(struct ask_counts *counts, enum mad_result result, bool good);
json_t *ask_counts_json(struct ask_counts counts); /* the caller's */
