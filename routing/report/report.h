/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * report: what one change of the fabric does to the tables, and routing's findings as JSON objects,
 * whose keys are in fmd-json(7).
 */
#pragma once

#include <jansson.h>
#include "routing/lid_plan.h"
#include "routing/proof/check.h"
#include "routing/report/congestion.h"
#include "routing/report/load_map.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

/* ---- Changes of tables ----------------------------------------------------------------------- */

struct delta {
	uint64_t entries;	  /* that differ */
	uint64_t entries_minimum; /* those that had to change; see delta_minimum() */
	uint32_t blocks;	  /* 64-entry blocks that differ */
	uint32_t switches;
};

/*
 * Sets entries, blocks and switches of *out, not entries_minimum. Both tables have the same
 * switches in the same order.
 */
void delta_count(const struct tables *older, const struct tables *newer, struct delta *out);

/*
 * Returns how many changes of `newer` were necessary. An old entry had to change when its next hop
 * is gone, or is no longer on a minimal up/down path of the snapshot t and serves no detour; an old
 * gap, when a detour needs it. `engine` (of route_outcome()) "updn-root" knows no minimal paths: an
 * entry had to change only when its link is gone. t and lids are those of `newer`.
 */
uint64_t delta_minimum(const struct topo *t, const struct lid_map *lids, const char *engine,
		       const struct tables *older, const struct tables *newer);

/* ---- As JSON --------------------------------------------------------------------------------- */

/* New objects, which the caller owns; never NULL. Bins of a tier are those of load_bin_edges. */
json_t *report_proof(const struct check_report *report);
json_t *report_congestion(const struct congestion *congestion);
json_t *report_ebb(const struct ebb *ebb);
json_t *report_tier(const struct load_tier *tier);
json_t *report_delta(const struct delta *delta);
/*
 * Likewise, of groups and what their proof found; what they get is measured if they are sound. The
 * caller owns it.
 */
json_t *report_groups(const struct congestion_scene *scene, const struct ar_groups *groups,
		      bool sound, const struct check_report *proof);
