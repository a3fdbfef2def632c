/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* miswiring_own: what the making of mistakes and their judge share. */
#pragma once

#include "tests/lib/miswiring.h"

#define KEYS 4

struct planted {
	enum mistake mistake;
	uint32_t keys[KEYS], nkeys; /* ports that a finding has to name */
	unsigned kinds, plan_kinds; /* allowed, as bits */
};

struct miswiring {
	const struct topo *t;
	uint64_t random;
	uint32_t *peer; /* by port */
	uint8_t *speed, *width;
	uint32_t *owner; /* by port: the mistake that touched it, + 1 */
	bool *gone;	 /* by node */
	bool *busy;	 /* by host */
	uint32_t nplanted;
	struct planted *planted;
};

static inline const struct topo_node *node_of(const struct miswiring *m, uint32_t port)
{
	return &m->t->nodes[m->t->ports[port].node];
}
