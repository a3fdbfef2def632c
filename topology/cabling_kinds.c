/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling_kinds: the kind of a cable that does not fit the pattern, by what it connects and what is
 * expected at its ends.
 */
#include "topology/cabling_own.h"

static bool is_switch(const struct wiring *w, uint32_t v)
{
	return v != TOPO_NONE && w->node[v] < w->t->nswitches;
}

static enum cabling_kind kind_of_hca(const struct wiring *w, const struct tiers *tiers, uint32_t at,
				     uint32_t hca)
{
	const struct topo_node *leaf = &w->t->nodes[w->node[at]], *ca = &w->t->nodes[w->node[hca]];
	uint32_t belongs = w->want[hca];

	if (is_switch(w, w->want[at]) || (belongs != TOPO_NONE && tiers->level[w->node[at]]))
		return CABLING_UPLINK_PORT;
	if (belongs == TOPO_NONE && w->stray[hca])
		return CABLING_RAIL;
	if (belongs == TOPO_NONE || w->node[belongs] == w->node[at])
		return CABLING_PORT;
	return ca->su != leaf->su ? CABLING_LEAF : CABLING_RAIL;
}

static unsigned count_cables(const struct wiring *w, uint32_t sw, uint32_t other, bool wanted)
{
	unsigned count = 0;

	for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++) {
		uint32_t port = w->t->nodes[sw].port0 + num;
		uint32_t far = wanted ? w->want[port] : w->found[port];

		count += far != TOPO_NONE && w->node[far] == other;
	}
	return count;
}

static enum cabling_kind kind_of_link(const struct wiring *w, const struct tiers *tiers,
				      uint32_t at, uint32_t found)
{
	uint32_t sw = w->node[at], other = w->node[found];
	uint32_t expected = w->want[at], belongs = w->want[found];

	if (tiers->level[sw] == tiers->level[other])
		return CABLING_SAME_TIER;
	if ((expected == TOPO_NONE || w->node[expected] == other) &&
	    (belongs == TOPO_NONE || w->node[belongs] == sw) &&
	    (expected != TOPO_NONE || belongs != TOPO_NONE))
		return CABLING_PORT;
	return count_cables(w, sw, other, true) &&
			       count_cables(w, sw, other, false) > count_cables(w, sw, other, true)
		       ? CABLING_DOUBLED
		       : CABLING_SWITCH;
}

enum cabling_kind cabling_kind_of(const struct wiring *w, const struct tiers *tiers, uint32_t at)
{
	uint32_t found = w->found[at];

	if (is_switch(w, at) && is_switch(w, found))
		return kind_of_link(w, tiers, at, found);
	return is_switch(w, at) ? kind_of_hca(w, tiers, at, found) : CABLING_EXTRA;
}
