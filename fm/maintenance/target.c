/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/maintenance/target.h"
#include <stdio.h>

bool target_find(const struct topo *t, const char *what, struct target *target, char *err)
{
	*target = (struct target){ .node = TOPO_NONE };
	if (!t) {
		snprintf(err, TARGET_ERROR_SIZE,
			 "no picture of the fabric yet: the first sweep is under way");
		return false;
	}
	target->node = topo_resolve(t, what, &target->port, err, TARGET_ERROR_SIZE);
	if (target->node == TOPO_NONE)
		return false;
	target->guid = t->nodes[target->node].guid;
	if (target->port)
		snprintf(target->name, sizeof(target->name), "%s p%u", t->nodes[target->node].name,
			 target->port);
	else
		snprintf(target->name, sizeof(target->name), "%s", t->nodes[target->node].name);
	return true;
}

const struct topo_port *target_far_end(const struct topo *t, uint32_t node, unsigned num)
{
	const struct topo_port *peer = topo_peer(t, topo_port(t, node, num));

	return node < t->nswitches && peer && peer->node < t->nswitches ? peer : NULL;
}

unsigned target_count_links(const struct topo *t, const struct target *target)
{
	unsigned count = 0;

	if (target->node == TOPO_NONE)
		return 0;
	for (unsigned num = 1; num <= t->nodes[target->node].nports; num++)
		if ((!target->port || num == target->port) && target_far_end(t, target->node, num))
			count++;
	return count;
}
