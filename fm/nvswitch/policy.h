/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * policy: what routing makes of the states of hosts' NVLinks. Pure: of the configuration, a
 * snapshot and states alone, so that fmd, its `whatif` and `fmctl plan` come to the same.
 */
#ifndef FMD_NVSWITCH_POLICY_H
#define FMD_NVSWITCH_POLICY_H

#include <jansson.h>
#include "fm/core/conf.h"
#include "fm/nvswitch/state.h"
#include "routing/lid_plan.h"
#include "routing/tables.h"

struct nvswitch_treatment {
	int class; /* enum route_class of the host's compute ports, -1 = as it is */
	uint8_t weight;
};
struct nvswitch_policy {
	struct nvswitch_treatment of[NVSWITCH_STATES];
};
struct nvswitch_policy nvswitch_policy(const struct conf *conf);
/* States that are treated alike have the number of the first of them. */
void nvswitch_policy_number(const struct nvswitch_policy *policy, uint8_t *numbers);

/*
 * Puts hosts that are not well into classes and weights of ports; states: enum nvswitch_state by
 * host. Either is made when it is NULL (all compute, all 1).
 */
void nvswitch_policy_apply(const struct nvswitch_policy *policy, const struct topo *t,
			   const uint8_t *states, uint8_t **classes, uint8_t **weights);

/*
 * By node, enum congestion_aside: hosts that are treated otherwise by the states they have then
 * (NULL, now: all are well) than now. Those of weight 0 are silent. The caller frees it.
 */
uint8_t *nvswitch_policy_aside(const struct nvswitch_policy *policy, const struct topo *t,
			       const uint8_t *now, const uint8_t *then);

/* "HOST=STATE" into states. 0, or -1 with the reason in err. */
int nvswitch_policy_assume(const struct topo *t, const char *text, uint8_t *states, char *err,
			   size_t err_size);

/* Two fabrics of the same nodes, LIDs and hosts, and what hosts are taken for in each. */
struct nvswitch_trial {
	const struct nvswitch_policy *policy;
	const struct lid_map *lids;
	const uint8_t *classes; /* by name, without states; NULL = all compute */
	struct nvswitch_scene {
		const struct topo *topo;
		const struct tables *tables;
		const uint8_t *states; /* NULL = all are well */
	} now, then;
};
/*
 * A row for each host whose state differs: how it is treated, and the load of its cross-rail
 * traffic on leaf uplinks.
 */
json_t *nvswitch_trial_json(const struct nvswitch_trial *trial);

#endif
