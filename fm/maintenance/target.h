/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* target: the node or port that an operator's command names. */
#ifndef FMD_MAINTENANCE_TARGET_H
#define FMD_MAINTENANCE_TARGET_H

#include "fm/fabric/view.h"

#define TARGET_ERROR_SIZE WHAT_ERROR_SIZE

struct target {
	guid_t guid;   /* of the node */
	uint32_t node; /* index in the snapshot; TOPO_NONE = it is not there */
	unsigned port; /* 0 = the node as a whole */
	char name[256];
};

/*
 * Finds a node or a port (topology/what/what.h). False: there is none, or nothing is published yet;
 * err, of TARGET_ERROR_SIZE bytes, has the reason.
 */
bool target_find(const struct fabric_view *view, const char *what, struct target *target,
		 char *err);
/*
 * Finds a node, a port or a host: its HCAs, each with the host's name. Returns their number; the
 * caller frees *targets. 0 = none: the reason is in err.
 */
unsigned target_find_all(const struct fabric_view *view, const char *what, struct target **targets,
			 char *err);

/* The peer of a port, in the snapshot, if both are switches'; else NULL. */
const struct topo_port *target_far_end(const struct topo *topo, uint32_t node, unsigned port);

/* The number of the target's links to switches; 0 for a node that is not in the snapshot. */
unsigned target_count_links(const struct topo *topo, const struct target *target);

#endif
