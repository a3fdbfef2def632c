/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * node_names: a node-name-map, the file that OpenSM and infiniband-diags(8) know: a line for each
 * node, its GUID and the name that people gave it.
 *
 *   # rack 12
 *   0x0002c9030000a3c0 "leaf-su01-1"     # the name may hold blanks and '#' when it is quoted
 *   0x0002c9030000a3c8 leaf-su01-2
 *
 * A map is immutable and reference-counted.
 */
#ifndef FMD_TOPOLOGY_SNAPSHOT_NODE_NAMES_H
#define FMD_TOPOLOGY_SNAPSHOT_NODE_NAMES_H

#include "topology/snapshot/topo_value.h"

#define NODE_NAME_MAX 64 /* bytes, as many as a NodeDescription has */

struct node_names;

/*
 * Read a map, of which the caller owns one reference. NULL with `FILE:LINE: reason` in err: the
 * file cannot be read, a GUID that is none, no name, a name over NODE_NAME_MAX, a GUID named twice.
 */
struct node_names *node_names_read(const char *path, char *err, size_t err_size);
struct node_names *node_names_parse(const char *name, const char *text, size_t len, char *err,
				    size_t err_size);
/*
 * node_names_ref() adds a reference and returns the same map; node_names_unref() takes one back and
 * frees the map with the last. NULL, an empty map, is fine here and below.
 */
struct node_names *node_names_ref(struct node_names *names);
void node_names_unref(struct node_names *names);

/* The name of a node, valid as long as the map; NULL = the map has none. */
const char *node_names_find(const struct node_names *names, guid_t guid);
/* The number of names, and the GUID of the one at an index below it, in ascending order. */
uint32_t node_names_count(const struct node_names *names);
guid_t node_names_guid(const struct node_names *names, uint32_t index);
/* Whether both maps have the same names for the same GUIDs. */
bool node_names_equal(const struct node_names *a, const struct node_names *b);

#endif
