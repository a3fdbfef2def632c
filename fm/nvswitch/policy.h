/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * policy: what a host whose NVLinks do not relay gets of the InfiniBand fabric, and what it costs
 * the others. Routing is the same for all states: no other tables gain such a host 5 percent
 * (tests/unit/routing/report/test_rates.c). Pure, so that fmd, its `whatif` and `fmctl plan` agree.
 */
#ifndef FMD_NVSWITCH_POLICY_H
#define FMD_NVSWITCH_POLICY_H

#include <jansson.h>
#include "fm/nvswitch/state.h"
#include "routing/lid_plan.h"
#include "routing/report/rates.h"
#include "routing/tables.h"

/* Reads "HOST=STATE" and sets it in states[]. 0, or -1 with the reason in err. */
int nvswitch_policy_assume(const struct topo *t, const char *text, uint8_t *states, char *err);

/* Two fabrics of the same nodes, LIDs and hosts, and the states of the hosts in each. */
struct nvswitch_trial {
	const struct lid_map *lids;
	const uint8_t *classes; /* enum route_class by port; NULL = all compute */
	struct nvswitch_scene {
		const struct topo *topo;
		const struct tables *tables;
		const uint8_t *states; /* NULL = all are healthy */
	} now, then;
};
/*
 * A new list, which the caller owns, with a row for each host whose state differs: the rates of its
 * cross-rail traffic, and those of all others.
 */
json_t *nvswitch_trial_json(const struct nvswitch_trial *trial);

#endif
