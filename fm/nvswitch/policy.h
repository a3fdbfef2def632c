/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * policy: how routing treats the states of hosts' NVLinks. A pure function of configuration,
 * snapshot and states, so that fmd, its `whatif` and `fmctl plan` have the same result.
 */
#ifndef FMD_NVSWITCH_POLICY_H
#define FMD_NVSWITCH_POLICY_H

#include <jansson.h>
#include "fm/conf/conf.h"
#include "fm/nvswitch/state.h"
#include "routing/lid_plan.h"
#include "routing/tables.h"

struct nvswitch_treatment {
	int class; /* enum route_class of the host's compute ports, -1 = unchanged */
	uint8_t weight;
};
struct nvswitch_policy {
	struct nvswitch_treatment of[NVSWITCH_STATES];
};
/* The policy of a configuration: a class and weight for each state. */
struct nvswitch_policy nvswitch_policy(const struct conf_nvswitch *conf);
/* Sets numbers[state] to the first state that is treated in the same way. */
void nvswitch_policy_number(const struct nvswitch_policy *policy, uint8_t *numbers);

/*
 * Sets the classes and weights of ports of unhealthy hosts; states: enum nvswitch_state by host. An
 * array that is NULL is made (all compute, all 1); the caller frees both.
 */
void nvswitch_policy_apply(const struct nvswitch_policy *policy, const struct topo *t,
			   const uint8_t *states, uint8_t **classes, uint8_t **weights);

/*
 * By node, enum congestion_aside: hosts whose treatment by their state `then` differs from that
 * `now` (NULL: all are healthy). Those of weight 0 are silent. The caller frees it.
 */
uint8_t *nvswitch_policy_aside(const struct nvswitch_policy *policy, const struct topo *t,
			       const uint8_t *now, const uint8_t *then);

/* Reads "HOST=STATE" and sets it in states[]. 0, or -1 with the reason in err. */
int nvswitch_policy_assume(const struct topo *t, const char *text, uint8_t *states, char *err,
			   size_t err_size);

/* Two fabrics of the same nodes, LIDs and hosts, and the states of the hosts in each. */
struct nvswitch_trial {
	const struct nvswitch_policy *policy;
	const struct lid_map *lids;
	const uint8_t *classes; /* by name, without states; NULL = all compute */
	struct nvswitch_scene {
		const struct topo *topo;
		const struct tables *tables;
		const uint8_t *states; /* NULL = all are healthy */
	} now, then;
};
/*
 * A new list, which the caller owns, with a row for each host whose state differs: its treatment,
 * and the load of its cross-rail traffic on leaf uplinks.
 */
json_t *nvswitch_trial_json(const struct nvswitch_trial *trial);

#endif
