/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling_strays: cables between switches that no other switch of the kind has anything like:
 * within a tier, past a tier, to a switch that hardly any of its like are cabled to, or one more
 * than there should be.
 *
 * Where such cables are more than one in twenty they are how the fabric is built (rings of leaves,
 * dragonflies, chains), and none is reported.
 */
#include <stdlib.h>
#include "topology/cabling/cabling_own.h"
#include "topology/base/mem.h"

#define LIKE_MIN   4  /* in families of fewer switches no cable is irregular */
#define CABLES_MIN 40 /* in fabrics with fewer links between switches no cable is rare */

struct strays {
	struct wiring *w;
	const struct tiers *tiers;
	uint32_t *up_size, *down_size; /* by family */
	bool *above, *below;	       /* by switch: has neighbours there */
};

static void describe_families(struct strays *s)
{
	const struct tiers *tiers = s->tiers;

	for (uint32_t sw = 0; sw < s->w->t->nswitches; sw++) {
		s->up_size[tiers->up[sw]]++;
		s->down_size[tiers->down[sw]]++;
		for (uint32_t i = tiers->first[sw]; i < tiers->first[sw + 1]; i++) {
			int step = tiers->level[tiers->near[i]] - tiers->level[sw];

			s->above[sw] |= step == 1;
			s->below[sw] |= step == -1;
		}
	}
}

/* Whether enough switches have the same neighbours above or below to show what is regular. */
static bool is_of_a_kind(const struct strays *s, uint32_t sw)
{
	return (s->above[sw] && s->up_size[s->tiers->up[sw]] >= LIKE_MIN) ||
	       (s->below[sw] && s->down_size[s->tiers->down[sw]] >= LIKE_MIN - 1);
}

static bool has_neighbour(const struct tiers *tiers, uint32_t sw, uint32_t other)
{
	for (uint32_t i = tiers->first[sw]; i < tiers->first[sw + 1]; i++)
		if (tiers->near[i] == other)
			return true;
	return false;
}

/* At least a quarter of the switches like `sw` are cabled to the one above. */
static bool is_usual_parent(const struct strays *s, uint32_t sw, uint32_t above)
{
	const struct tiers *tiers = s->tiers;
	uint32_t count = 0;

	if (s->up_size[tiers->up[sw]] < LIKE_MIN)
		return true;
	for (uint32_t i = tiers->first[above]; i < tiers->first[above + 1]; i++)
		count += tiers->up[tiers->near[i]] == tiers->up[sw];
	return count * 4 >= s->up_size[tiers->up[sw]] && has_neighbour(tiers, sw, above);
}

static bool is_strange(const struct strays *s, uint32_t port, uint32_t peer)
{
	uint32_t sw = s->w->node[port], other = s->w->node[peer];
	int step = s->tiers->level[other] - s->tiers->level[sw];

	if (!is_of_a_kind(s, sw) || !is_of_a_kind(s, other))
		return false;
	if (step == 1 || step == -1)
		return step > 0 ? !is_usual_parent(s, sw, other) : !is_usual_parent(s, other, sw);
	return sw != other;
}

/*
 * Marks strange cables. Returns the number of stray ones, with those that cabling_uplinks.c marked;
 * adds the number of all links between switches to *cables.
 */
static uint32_t mark_strays(struct strays *s, uint32_t *cables)
{
	struct wiring *w = s->w;
	uint32_t count = 0;

	for (uint32_t p = 0; p < w->t->nswitch_ports; p++) {
		uint32_t peer = w->found[p];

		if (peer == TOPO_NONE || peer >= w->t->nswitch_ports || peer < p)
			continue;
		(*cables)++;
		if (is_strange(s, p, peer))
			w->stray[p] = w->stray[peer] = true;
		count += w->stray[p];
	}
	return count;
}

void cabling_find_strays(struct wiring *w, const struct tiers *tiers)
{
	uint32_t n = w->t->nswitches + 1, cables = 0;
	struct strays s = { .w = w,
			    .tiers = tiers,
			    .up_size = mem_alloc(n, sizeof(*s.up_size)),
			    .down_size = mem_alloc(n, sizeof(*s.down_size)),
			    .above = mem_alloc(n, sizeof(*s.above)),
			    .below = mem_alloc(n, sizeof(*s.below)) };

	describe_families(&s);
	if (mark_strays(&s, &cables) * 20 > cables || cables < CABLES_MIN)
		for (uint32_t p = 0; p < w->t->nswitch_ports; p++)
			w->stray[p] = false;
	free(s.up_size);
	free(s.down_size);
	free(s.above);
	free(s.below);
}
