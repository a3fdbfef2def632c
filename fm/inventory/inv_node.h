/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inv_node: what is kept of nodes and ports (see inventory.h).
 */
#pragma once

#include <complib/cl_qmap.h>
#include "fm/mad/mad.h"
#include "fm/mad/wire_optional.h"
#include "topology/snapshot/naming.h"

/* Each entry of a map whose structs, of one type, begin with their cl_map_item_t. */
#define QMAP_EACH(map, type, entry)                                                                \
	for (struct type *entry = (void *)cl_qmap_head(map); (void *)entry != cl_qmap_end(map);    \
	     entry = (void *)cl_qmap_next((void *)entry))

/* ---- Columns --------------------------------------------------------------------------------- */

/*
 * What a part of fmd concludes about each node or port. A part's cells are an array of its
 * own, by the dense numbers of nodes and ports; the inventory knows their size alone. A cell is all
 * zero for what is new, and stays at its address until inventory_fini(), as nodes do. No number is
 * used twice: the answer of a request that was on its way is still written to the cell of a node
 * that was removed meanwhile. Columns are the inventory's, for what they hold is true as long as
 * the record is: it outlives a room that begins again.
 */
enum inv_columns {
	/* a cell a node */
	INV_MET,	/* private to inventory.c: the last walk that met it */
	INV_NODE_MARKS, /* enum inv_node_mark */
	INV_WANTED,	/* struct inv_wanted */
	INV_ADAPTIVE,	/* fm/adaptive */
	INV_AR_SWITCH,	/* private to fm/adaptive/write.c */
	INV_NAMING,	/* struct inv_naming */
	INV_SWEEP_NODE, /* struct sweep_node */
	INV_LANES,	/* private to fm/sweep/lanes.c */
	INV_WAITED,	/* private to fm/inforce */
	INV_NODE_COLUMNS,
	/* a cell a port */
	INV_MARKS = INV_NODE_COLUMNS, /* enum inv_mark */
	INV_SWEEP_PORT,		      /* struct sweep_port */
	INV_SETUP,		      /* struct port_setup */
	INV_DOWNS,		      /* private to fm/links_out */
	INV_AR_MASKS,		      /* private to fm/adaptive/masks.c */
	INV_COLUMNS
};

#define INV_CELLS 4096 /* a block: the cells of a node's ports are in one */

struct inv_column {
	char **blocks;
	uint32_t nblocks;
	size_t bytes;		     /* of a cell; 0 = not open */
	void (*removed)(void *cell); /* frees what the cell owns; or NULL */
};

/* The cell of that number, never NULL; `bytes` as when the column was opened. */
static inline void *inv_cell(const struct inv_column *column, uint32_t number, size_t bytes)
{
	return column->blocks[number / INV_CELLS] + number % INV_CELLS * bytes;
}

/* ---- Ports ----------------------------------------------------------------------------------- */

struct inv_node;

#define INV_NONSENSE UINT64_MAX /* inv_contest.refused */

enum inv_carries { /* whether a link that is up carries data; one of a host always does */
		   INV_CARRIES_NOTHING,
		   INV_CARRIES_ONE_END, /* of whose ends one is known */
		   INV_CARRIES_BOTH,
		   /* it did carry data, went down, and is being brought up again */
		   INV_BOUNCED,
};

enum inv_mark { /* what rooms decide about a port before each snapshot, and what sm noted of it */
		INV_CORDONED = 1, /* these three: without transit traffic */
		INV_QUARANTINED = 2,
		INV_ISOLATED = 4,
		INV_KEPT = 8,  /* routed over although it is not Active */
		INV_SHUT = 16, /* of a CA: its link is to carry no data, and stays in Init */
		/* a manager here was looked for since the link came up */
		INV_SM_ASKED = 32,
		/* it was up, and nobody answered there, before new links were judged */
		INV_EARLY = 64,
		/* of a switch, to a CA: it gets its settings, and stays in Init for a while */
		INV_WAITS = 128,
};

struct inv_contest {	    /* answers behind a port that contradict the record */
	cl_map_item_t item; /* in inventory.contests, key = the port's number */
	/* claim*: private to sweep/explore.c. The sweep in which answers contradicted the record */
	uint32_t claimed_in;
	uint8_t claims; /* their number */
	uint64_t claim; /* the latest of them */
	/* GUID of a node that answers here and cannot be here, or INV_NONSENSE; 0 = none */
	guid_t refused;
};

/*
 * The first cache line holds what each snapshot and each walk over all ports reads. There are as
 * many of these as ports in the fabric, so flags are bits, and no member leaves a gap.
 */
struct inv_port {
	struct inv_node *peer; /* NULL = no link known */
	uint8_t peer_port;
	uint8_t state;	 /* enum topo_state, as in `info` or newer */
	uint8_t carries; /* enum inv_carries, alike at both ends */
	bool known : 1;	 /* `info` was read */
	bool link_up : 1;
	/* an end of the link answered that it is down; false: no path may lead there */
	bool reported_down : 1;
	/* The link (both ends), and PortInfo, were answered twice alike; see sweep_verify(). */
	bool link_verified : 1, info_verified : 1;
	bool counts_violations : 1; /* of an M_Key that it does not show */
	uint32_t
		capmask; /* PortInfo's fields, decoded: this, lid, sm_lid, lmc, speed, lanes, mtu */
	uint16_t lid, sm_lid;
	uint8_t lmc, speed, lanes, mtu;
	uint8_t suspect; /* requests over this link that timed out since one was answered */
	uint32_t judged; /* inventory.clock when a request over its link last succeeded or failed */
	uint8_t info[64]; /* PortInfo as last answered */
};

/* ---- Nodes ----------------------------------------------------------------------------------- */

#define INV_ENHANCED_PORT0 (1u << 3) /* wire_switch_info.flags */

#define SILENCES_MAX	3	  /* sweeps; then the device counts as one without the attribute */
#define SILENCE_REFUSED UINT8_MAX /* it answered that it does not have the attribute */
struct inv_silence {		  /* of an optional attribute, while the node answers others */
	uint32_t sweep;		  /* the latest in which it got no answer */
	uint8_t sweeps;		  /* so many in a row */
};

enum inv_sharp { /* whether a CA answers that it is a SHARP aggregation node */
		 INV_SHARP_UNASKED,
		 INV_SHARP_UNSAID, /* does not have the attribute */
		 INV_SHARP_NO,
		 INV_SHARP_YES,
};

enum inv_node_mark {		   /* what rooms and the pipe note of a node */
		     INV_LEAF = 1, /* a switch with hosts, at the bottom */
		     INV_LOGGED_SILENT = 2,
		     /* does not hold tables that it acknowledged: not repaired; links_out's */
		     INV_WRONG_TABLES = 4,
		     INV_NO_SETS = 8, /* answers, and executes no Set: is sent none */
};

struct inv_naming {  /* fm/naming's */
	char *claim; /* a CA's description that is not believed, or not judged yet; NULL = none */
	char *first; /* the host that it was met as; NULL = that of `desc` */
	bool asked;  /* for its labels */
};

struct inv_wanted { /* what program and mft set in SwitchInfo, 0 = nothing yet */
	uint16_t top, mft_top;
	uint8_t life_time;
};

struct inv_node {
	cl_map_item_t item; /* in inventory.nodes, key = node GUID */
	struct inv_node *next_removed;
	guid_t guid;
	struct wire_node_info info; /* as seen by the port it was first met at */
	struct wire_switch_info sw; /* switches */
	char desc[65];
	char *name; /* by which texts call it: `desc`, or its own; never empty */
	bool have_desc;
	bool silent; /* does not answer although its link is up: kept, retried later */
	bool gone;   /* no path leads to it */
	bool removed;
	bool unpublished; /* a switch that nothing published holds since it was reached */
	uint8_t ncarry;	  /* its links to other switches that carry data */
	bool rebooted;	  /* a switch whose tables were found reset; program_apply() takes note and
			  clears it */
	uint8_t reboots;  /* counts those, for who else keeps tables */
	struct inv_silence ext; /* PortInfo with the extended speeds */
	uint8_t sharp;		/* enum inv_sharp; sweep's */
	uint8_t nports;
	struct mad_path path;		      /* a directed route to it from the SM's port */
	uint32_t number;		      /* that of its cells in `columns` */
	uint32_t port0;			      /* that of its port 0's cells; the others follow */
	int handle;			      /* in the builder, while a snapshot is made */
	char (*labels)[WIRE_HIERARCHY_LABEL]; /* by port, "" = none; NULL = of no port */
	struct inv_column *columns;	      /* the inventory's */
	guid_t *port_guids;		      /* CAs: by port number, 0 = not met */
	struct inv_port *ports; /* [nports + 1] by port number; 0 = a switch's own port */
};

static inline void *inv_node_cell(const struct inv_node *node, enum inv_columns which, size_t bytes)
{
	return inv_cell(&node->columns[which], node->number, bytes);
}

static inline void *inv_port_cell(const struct inv_node *node, unsigned num, enum inv_columns which,
				  size_t bytes)
{
	return inv_cell(&node->columns[which], node->port0 + num, bytes);
}

static inline struct inv_wanted *inv_wanted(const struct inv_node *node)
{
	return inv_node_cell(node, INV_WANTED, sizeof(struct inv_wanted));
}

/* Whether one of these marks is set, bits of enum inv_node_mark, or of inv_mark. */
static inline bool inv_node_is(const struct inv_node *node, unsigned marks)
{
	return *(const uint8_t *)inv_node_cell(node, INV_NODE_MARKS, 1) & marks;
}
static inline bool inv_port_is(const struct inv_node *node, unsigned num, unsigned marks)
{
	return *(const uint8_t *)inv_port_cell(node, num, INV_MARKS, 1) & marks;
}
/* Sets or clears a mark. */
void inv_node_mark(struct inv_node *node, enum inv_node_mark mark, bool on);
void inv_port_mark(struct inv_node *node, unsigned num, enum inv_mark mark, bool on);

static inline bool inv_is_switch(const struct inv_node *node)
{
	return node->info.type == TOPO_SWITCH;
}

/*
 * A CA that is a SHARP aggregation node: as it says itself where it was asked and knows, else by
 * its description.
 */
bool inv_is_sharp(const struct inv_node *node);
