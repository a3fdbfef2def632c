/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rebalance_world: a fabric's tables before and after re-balancing, for the tests of it. */
#pragma once

#include <stdlib.h>
#include <string.h>
#include "routing/proof/check.h"
#include "routing/report/congestion.h"
#include "routing/report/report.h"
#include "routing/balance/rebalance.h"
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"

static const struct rebalance_limits usual = { REBALANCE_ENTRIES, REBALANCE_GAIN };

/* A fabric's tables before and after. */
struct both {
	const struct topo *t;
	struct lid_map *lids;
	struct route_params params;
	struct rebalance *job;
	const struct rebalance_result *result;
	struct tables stable, moved;
};

void compute_tables(const struct topo *t, const struct lid_map *lids,
		    const struct route_params *params, struct tables *out);
void take_result(struct both *b);
/* t: borrowed; lids: taken, NULL = planned. */
struct both balance_both(const struct topo *t, struct lid_map *lids,
			 const struct route_params *params, const struct rebalance_limits *limits);
void both_free(struct both *b);
bool same_tables(const struct tables *a, const struct tables *b);
struct topo *damaged_pod(unsigned su, unsigned percent, uint64_t seed);
/*
 * Whether the tables are proven, and only overrides, on minimal up/down paths, and detours have
 * moved.
 */
bool overrides_are_legal(const struct both *b);
void measure_congestion(const struct both *b, const struct tables *tables, struct congestion *out);
