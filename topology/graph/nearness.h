/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nearness: compute hosts as a tree of groups, the nearest first, as schedulers want them (Slurm's
 * topology/tree and topology/block, labels of Kubernetes nodes).
 *
 * A pure function of nodes and known links: a fault, a restart or another order of discovery
 * changes nothing.
 */
#pragma once

#include "topology/base/text.h"
#include "topology/snapshot/topo.h"

struct near_group {
	char *name;	 /* a word, unique */
	uint32_t parent; /* TOPO_NONE = none */
	/* members[first .. first + count): hosts of the lowest groups, else groups */
	uint32_t first, count;
	bool lowest;
};

struct nearness {
	const struct topo *t;
	uint32_t ngroups, nhosts;  /* hosts that are in a group */
	struct near_group *groups; /* each behind all that are in it */
	uint32_t *members;
	uint32_t *group; /* by host: its lowest group, TOPO_NONE = left out, or without a link */
	const char **left_out;	       /* by host: why; NULL = it is not */
	char (*nodes)[TEXT_NODE_NAME]; /* by host: its name for schedulers */
};

/*
 * Groups the hosts of a snapshot; shortened: names of nodes are (text_node_name()). The caller
 * frees the result before it releases the snapshot.
 */
struct nearness *nearness_new(const struct topo *t, bool shortened);
void nearness_free(struct nearness *near); /* NULL is fine */
