/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * naming: the name of a node in all texts for people. topo_freeze() calls naming_assign(), and
 * texts use topo_node.name.
 *
 *   a name of the node-name-map            as it is
 *   "MF0;leaf-3:MQM9700/U1"                "leaf-3/U1": without what all switches have in common
 *   "" (none was read)                     "0x0002c9030000a3c0"
 *   "Quantum Mellanox Technologies",
 *   "localhost HCA-1", and what others
 *   are called too                         with the GUID's end: "localhost HCA-1 ..00a3c0"
 *
 * The NodeDescription itself stays in topo_node.desc.
 */
#pragma once

#include "topology/snapshot/topo.h"

#define NAMING_MAX 96 /* bytes of a name with its end, the closing 0 included */

/* Whether a description is empty, or comes with the hardware or driver and names no host. */
bool naming_is_factory(const char *desc);

/*
 * Writes the name of a node without a snapshot to compare it with; `label` as in topo_node. Returns
 * the name's length; buf gets at most NAMING_MAX bytes.
 */
int naming_alone(const char *desc, const char *label, guid_t guid, char buf[NAMING_MAX]);

/*
 * Writes the host that a CA belongs to, as snapshots have it: a word, "" where neither text names
 * one. label: of the node-name-map, NULL = none. Returns its length.
 */
int naming_host(const char *desc, const char *label, char host[NAMING_MAX]);

#define NODE_NAME_MAX 64 /* bytes, as many as a NodeDescription has */

/*
 * A node-name-map, the file that OpenSM and infiniband-diags(8) know: a line for each node, its
 * GUID and the name that people gave it. A map is immutable. NULL, an empty map, is fine below.
 *
 *   # rack 12
 *   0x0002c9030000a3c0 "leaf-su01-1"     # the name may hold blanks and '#' when it is quoted
 *   0x0002c9030000a3c8 leaf-su01-2
 */
struct node_names;

/*
 * Read a map, which the caller gives back by node_names_free(). NULL with `FILE:LINE: reason` in
 * err: the file cannot be read, a GUID that is none, no name, a name over NODE_NAME_MAX, a GUID
 * named twice.
 */
struct node_names *node_names_read(const char *path, char *err, size_t err_size);
struct node_names *node_names_parse(const char *name, const char *text, size_t len, char *err,
				    size_t err_size);
void node_names_free(struct node_names *names);

/* The name of a node, valid as long as the map; NULL = the map has none. */
const char *node_names_find(const struct node_names *names, guid_t guid);
/* The number of names, and the GUID of the one at an index below it, in ascending order. */
uint32_t node_names_count(const struct node_names *names);
guid_t node_names_guid(const struct node_names *names, uint32_t index);
/* Whether both maps have the same names for the same GUIDs. */
bool node_names_equal(const struct node_names *a, const struct node_names *b);
