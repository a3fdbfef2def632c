/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_pod: gives the SA of a sa_world a fabric in which queries take longer than a slice. Include
 * cmocka first.
 */
#pragma once

#include "tests/lib/sa_ask.h"
#include "topology/generate/generate.h"

/* A query for all pairs: one unit has 256 ports of hosts and 12 switches. */
static const struct world_request all_pairs = { .method = WIRE_GET_TABLE, .attr = WIRE_SA_PATH };

void publish_pod(struct world *w, unsigned units);
/* As world_ask(), from a LID and under a transaction ID, without letting the loop run. */
void post_from(struct world *w, const struct world_request *r, uint16_t lid, uint64_t tid);
void post(struct world *w, const struct world_request *r);
