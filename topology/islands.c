/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include "topology/islands.h"
#include "topology/mem.h"

static void flood(const struct topo *t, uint32_t first, uint32_t number, uint32_t *island,
		  uint32_t *queue)
{
	uint32_t count = 0;

	island[first] = number;
	queue[count++] = first;
	for (uint32_t at = 0; at < count; at++) {
		const struct topo_node *sw = &t->nodes[queue[at]];

		for (unsigned num = 1; num <= sw->nports; num++) {
			const struct topo_end *end = &t->ends[sw->port0 + num];

			if (!end->up || end->to >= t->nswitches || island[end->to] != TOPO_NONE)
				continue;
			island[end->to] = number;
			queue[count++] = end->to;
		}
	}
}

uint32_t *islands_find(const struct topo *t, uint32_t *count)
{
	uint32_t *island = mem_alloc(t->nswitches + 1, sizeof(*island));
	uint32_t *queue = mem_alloc_unset(t->nswitches + 1, sizeof(*queue));

	*count = 0;
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		island[sw] = TOPO_NONE;
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (island[sw] == TOPO_NONE)
			flood(t, sw, (*count)++, island, queue);
	free(queue);
	return island;
}
