/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* target: what an operator named: a node, or one of its ports. */
#ifndef FMD_MAINTENANCE_TARGET_H
#define FMD_MAINTENANCE_TARGET_H

#include "fm/fabric/view.h"

#define TARGET_ERROR_SIZE WHAT_ERROR_SIZE

struct target {
	guid_t guid;   /* of the node */
	uint32_t node; /* of the snapshot; TOPO_NONE: it is not there */
	unsigned port; /* 0 = the node as a whole */
	char name[256];
};

/*
 * A node or a port (topology/what.h). False: there is none, or nothing is published yet; the reason
 * is in err, of TARGET_ERROR_SIZE bytes.
 */
bool target_find(const struct fabric_view *view, const char *what, struct target *target,
		 char *err);
/*
 * A host too: its HCAs, each of them called by the host's name. Returns how many; the caller frees
 * the list. 0: the reason is in err.
 */
unsigned target_find_all(const struct fabric_view *view, const char *what, struct target **targets,
			 char *err);

/* The switch port at the other end of a link between switches; NULL = that port has none. */
const struct topo_port *target_far_end(const struct topo *topo, uint32_t node, unsigned port);

/* How many links to switches the target has, or is; 0 for a node that is not in the snapshot. */
unsigned target_count_links(const struct topo *topo, const struct target *target);

#endif
