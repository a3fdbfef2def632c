/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* aggregation_nodes: adds a SHARP aggregation node to each switch of a fabric. */
#pragma once

#include <assert.h>
#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_builder.h"

#define AN_GUID(n) (0x7000000000000000u + (n))

/*
 * A copy with aggregation nodes, which come last; the caller owns it. Nodes keep their indices, and
 * ports as far as the switches' new ports allow.
 */
struct topo *with_aggregation_nodes(const struct topo *t);
