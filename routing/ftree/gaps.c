/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* gaps: pairs that legal paths leave open (engine.h), sorted for those who look for detours. */
#include <stdlib.h>
#include <string.h>
#include "routing/ftree/engine.h"
#include "topology/graph/cutoff.h"
#include "topology/base/mem.h"

#define SORT_NS 10 /* to put a gap in its place */

static uint32_t key_of(const struct gap *gap, bool by_d)
{
	return by_d ? gap->d : gap->sw;
}

/*
 * One key of two, by counting: there may be a million. `first` has a place more than there are
 * switches.
 */
static void sort_by_one(const struct gaps *from, struct gap *to, bool by_d, uint32_t *first,
			uint32_t nswitches)
{
	memset(first, 0, (nswitches + 1) * sizeof(*first));
	for (uint32_t i = 0; i < from->count; i++)
		first[key_of(&from->list[i], by_d) + 1]++;
	for (uint32_t sw = 1; sw <= nswitches; sw++)
		first[sw] += first[sw - 1];
	for (uint32_t i = 0; i < from->count; i++)
		to[first[key_of(&from->list[i], by_d)]++] = from->list[i];
}

void gaps_sort(struct gaps *gaps, uint32_t nswitches, struct fiber *fiber)
{
	struct gaps by_switch = { .list = mem_alloc_unset(gaps->count + 1u, sizeof(struct gap)),
				  .count = gaps->count };
	uint32_t *first = mem_alloc_unset(nswitches + 1u, sizeof(*first));

	sort_by_one(gaps, by_switch.list, false, first, nswitches);
	fiber_spend(fiber, gaps->count * SORT_NS);
	sort_by_one(&by_switch, gaps->list, true, first, nswitches);
	fiber_spend(fiber, gaps->count * SORT_NS);
	free(by_switch.list);
	free(first);
}

bool gap_may_close(const struct graph *g, const struct gap *gap, const uint32_t *island)
{
	return g->switches[gap->sw].nhosts && g->switches[gap->d].nhosts &&
	       (!island || island[gap->sw] == island[gap->d]);
}

bool gaps_may_close(const struct gaps *gaps, const struct graph *g, const struct topo *t)
{
	uint32_t islands, *island;
	bool may = false;

	if (!gaps->host_pairs || gaps->count == GAPS_MAX)
		return gaps->host_pairs;
	island = islands_find(t, &islands);
	for (uint32_t i = 0; i < gaps->count && !may; i++)
		may = gap_may_close(g, &gaps->list[i], island);
	free(island);
	return may;
}
