/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inv_node: what is kept of a node (see inventory.h).
 */
#ifndef FMD_INVENTORY_INV_NODE_H
#define FMD_INVENTORY_INV_NODE_H

#include <complib/cl_qmap.h>
#include "fm/mad/mad.h"
#include "fm/mad/wire_optional.h"
#include "fm/inventory/column.h"
#include "fm/inventory/inv_port.h"
#include "topology/snapshot/naming.h"

#define INV_ENHANCED_PORT0 (1u << 3) /* wire_switch_info.flags */

#define SILENCES_MAX	3	  /* sweeps; then the device counts as one without the attribute */
#define SILENCE_REFUSED UINT8_MAX /* it has said so itself */
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
		     /* does not hold tables that it acknowledged: not repaired; isolation's */
		     INV_WRONG_TABLES = 4,
		     INV_NO_SETS = 8, /* answers, and executes no Set: is sent none */
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
	struct inv_silence ext;		      /* PortInfo with the extended speeds */
	uint8_t sharp;			      /* enum inv_sharp; sweep's */
	char (*labels)[WIRE_HIERARCHY_LABEL]; /* by port, "" = none; NULL = of no port */
	uint8_t nports;
	struct mad_path path;	    /* a directed route to it from the SM's port */
	struct inv_column *columns; /* the inventory's, of which its cells have.. */
	uint32_t number;	    /* ..this number, and those of its ports.. */
	uint32_t port0;		    /* ..from this one on */
	int handle;		    /* in the builder, while a snapshot is made */
	guid_t *port_guids;	    /* CAs: by port number, 0 = not met */
	struct inv_port *ports;	    /* [nports + 1] by port number; 0 = a switch's own port */
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

#endif
