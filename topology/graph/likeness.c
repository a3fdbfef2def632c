/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* likeness: see likeness.h. Each item leads to the groups that have it. */
#include <stdlib.h>
#include "topology/graph/likeness.h"
#include "topology/base/mem.h"

struct likeness_entry { /* in the chain of one item */
	uint32_t group, next;
};

void likeness_init(struct likeness *l, uint32_t nitems, uint32_t ngroups, uint32_t nentries)
{
	*l = (struct likeness){
		.chain = mem_alloc(nitems + 1, sizeof(*l->chain)),
		.entries = mem_alloc_unset(nentries + 1, sizeof(*l->entries)),
		.level = mem_alloc_unset(ngroups + 1, 1),
		.overlap = mem_alloc(ngroups + 1, sizeof(*l->overlap)),
	};
}

void likeness_fini(struct likeness *l)
{
	free(l->chain);
	free(l->entries);
	free(l->level);
	free(l->overlap);
}

uint32_t likeness_add(struct likeness *l, uint8_t level, const uint32_t *items, unsigned n)
{
	uint32_t group = l->ngroups++;

	l->level[group] = level;
	for (unsigned i = 0; i < n; i++) {
		l->entries[l->nentries] = (struct likeness_entry){ group, l->chain[items[i]] };
		l->chain[items[i]] = ++l->nentries;
	}
	return group;
}

uint32_t likeness_find(struct likeness *l, uint8_t level, const uint32_t *items, unsigned n)
{
	uint32_t best = TOPO_NONE, most = 0;

	for (unsigned i = 0; i < n; i++)
		for (uint32_t e = l->chain[items[i]]; e; e = l->entries[e - 1].next) {
			uint32_t group = l->entries[e - 1].group;
			uint16_t *overlap = &l->overlap[group];

			if (l->level[group] != level)
				continue;
			if (++*overlap > most || (*overlap == most && group < best)) {
				most = *overlap;
				best = group;
			}
		}
	for (unsigned i = 0; i < n; i++)
		for (uint32_t e = l->chain[items[i]]; e; e = l->entries[e - 1].next)
			l->overlap[l->entries[e - 1].group] = 0;
	return most * 4 >= n * 3 ? best : TOPO_NONE;
}
