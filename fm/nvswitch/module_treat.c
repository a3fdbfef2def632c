/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include "fm/nvswitch/module_own.h"
#include "fm/nvswitch/policy.h"
#include "topology/mem.h"

uint8_t *nvlink_states(const struct nvlink_room *r, const struct topo *t)
{
	uint8_t *states = mem_alloc(t->nhosts + 1, 1);

	for (uint32_t h = 0; h < t->nhosts; h++)
		states[h] = (uint8_t)nvswitch_routed(r->nvswitch, t->hosts[h].name);
	return states;
}

void nvlink_treat(const struct nvlink_room *r, const struct topo *t, const uint8_t *states,
		  struct fabric_policy *policy)
{
	const struct nvswitch_policy treatments = nvswitch_policy(r->services.conf);
	uint8_t *in_force = NULL;

	if (!states && !nvswitch_has_degraded(r->nvswitch))
		return;
	if (!states)
		states = in_force = nvlink_states(r, t);
	nvswitch_policy_apply(&treatments, t, states, &policy->classes, &policy->weights);
	free(in_force);
}
