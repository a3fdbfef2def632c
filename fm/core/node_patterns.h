/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * node_patterns: nodes by the patterns of storage_nodes and its like, which are separated by
 * blanks. One that is a GUID ("0x..") means the node, or the node of the port, that has it; any
 * other is held against the NodeDescription, the name and the host's name (fnmatch(3)).
 */
#ifndef FMD_CORE_NODE_PATTERNS_H
#define FMD_CORE_NODE_PATTERNS_H

#include "topology/topo.h"

struct node_patterns;

struct node_patterns *node_patterns_new(const char *text); /* for many nodes; text is copied */
void node_patterns_free(struct node_patterns *patterns);
bool node_patterns_match(const struct node_patterns *patterns, const struct topo *t,
			 const struct topo_node *node);

#endif
