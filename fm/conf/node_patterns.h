/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * node_patterns: nodes by the patterns of storage_nodes and its like, which are separated by
 * blanks. One that is a GUID ("0x..") means the node, or the node of the port, that has it; any
 * other is compared with the NodeDescription, the name and the host's name (fnmatch(3)).
 */
#ifndef FMD_CONF_NODE_PATTERNS_H
#define FMD_CONF_NODE_PATTERNS_H

#include "topology/snapshot/topo.h"

struct node_patterns;

/* The caller's, for many nodes; text is copied. Any text is valid; never NULL. */
struct node_patterns *node_patterns_new(const char *text);
void node_patterns_free(struct node_patterns *patterns); /* NULL is fine */
/* Whether one of the patterns means this node of t. */
bool node_patterns_match(const struct node_patterns *patterns, const struct topo *t,
			 const struct topo_node *node);

#endif
