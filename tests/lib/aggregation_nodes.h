/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* aggregation_nodes: any fabric with a SHARP aggregation node a switch. */
#ifndef FMD_TESTS_AGGREGATION_NODES_H
#define FMD_TESTS_AGGREGATION_NODES_H

#include <assert.h>
#include "topology/topo.h"
#include "topology/topo_builder.h"

#define AN_GUID(n) (0x7000000000000000u + (n))

/*
 * Nodes and ports keep their indices as far as the switches' new ports allow; aggregation nodes
 * come last.
 */
struct topo *with_aggregation_nodes(const struct topo *t);

#endif
