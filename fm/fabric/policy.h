/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * policy: what routing goes by beside the snapshot, as rooms make it by their route_input()
 * (fm/fabric/module.h).
 */
#ifndef FMD_FABRIC_POLICY_H
#define FMD_FABRIC_POLICY_H

#include <stdint.h>
#include "topology/snapshot/topo.h"

struct fabric;
struct fabric_module;
struct route_override;

/* Lists belong to the policy; the room that adds the first entry allocates a list. */
struct fabric_policy {
	uint8_t *classes; /* enum route_class by port of the snapshot; NULL = all compute */
	uint8_t *weights; /* by port too; NULL = all alike */
	struct route_override *overrides;
	uint32_t noverrides;
};

/*
 * The policy for that snapshot, the published one or another of the same fabric. without: the room
 * whose part is left out, NULL = none. The caller ends it by fabric_policy_fini().
 */
struct fabric_policy fabric_policy(const struct fabric *fabric, const struct topo *topo,
				   const struct fabric_module *without);
/* Frees its lists; one that is all 0 is fine. */
void fabric_policy_fini(struct fabric_policy *policy);

#endif
