/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* uneven: see uneven.h. A switch is odd that has not what is usual on its level. */
#include <stdlib.h>
#include "routing/ftree/uneven.h"
#include "topology/mem.h"

/* By level: the number of slots that most switches' families have. */
struct usual {
	uint16_t slots[UINT8_MAX + 1];
};

static unsigned count_levels(const struct graph *g)
{
	unsigned top = 0;

	for (uint32_t f = 0; f < g->nfamilies; f++)
		top = g->families[f].level > top ? g->families[f].level : top;
	return top + 1;
}

/* Asked in each update: no more memory is cleared than there are levels for. */
static void find_usual(const struct graph *g, struct usual *usual)
{
	uint32_t(*count)[GRAPH_MAX_SLOTS + 1] = mem_alloc(count_levels(g), sizeof(*count));

	*usual = (struct usual){ { 0 } };
	for (uint32_t f = 0; f < g->nfamilies; f++) {
		const struct graph_family *family = &g->families[f];
		uint32_t *of_level = count[family->level];

		of_level[family->nslots] += family->nmembers;
		if (of_level[family->nslots] > of_level[usual->slots[family->level]])
			usual->slots[family->level] = family->nslots;
	}
	free(count);
}

static bool has_hosts(const struct graph *g, const struct topo *t, uint32_t sw)
{
	const struct graph_switch *s = &g->switches[sw];

	for (unsigned h = 0; h < s->nhosts; h++)
		if (!t->nodes[t->ports[g->hosts[s->first_host + h].port].node].sharp)
			return true;
	return false;
}

/* All slots of its family, and parents that are all roots or all not. */
static bool has_full_trunks(const struct graph *g, uint32_t sw)
{
	const struct graph_switch *s = &g->switches[sw];
	const struct graph_family *family = &g->families[s->family];
	const struct graph_group *ups = graph_ups(g, sw);
	unsigned lanes = 0, roots = 0;

	for (unsigned i = 0; i < s->nup; i++) {
		if (g->switches[ups[i].peer].level == s->level)
			return false;
		lanes += ups[i].nlanes;
		roots += !g->switches[ups[i].peer].nup;
	}
	return s->nup == family->nparents && lanes == family->nslots && (!roots || roots == s->nup);
}

bool uneven_is(const struct graph *g, const struct topo *t)
{
	struct usual usual;

	find_usual(g, &usual);
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		const struct graph_switch *s = &g->switches[sw];

		if (g->families[s->family].nslots != usual.slots[s->level] ||
		    !has_full_trunks(g, sw) || (s->level && has_hosts(g, t, sw)))
			return true;
	}
	return false;
}
