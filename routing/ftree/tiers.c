/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* tiers: whether a fabric's design is a tree, and an even one (see tiers.h). */
#include "routing/ftree/tiers.h"
#include "routing/path.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/* ---- Uneven: a switch is odd that has not what is usual on its level ------------------------- */

static bool has_hosts(const struct topo *t, uint32_t sw)
{
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

		if (peer && peer->node >= t->nswitches && !t->nodes[peer->node].sharp)
			return true;
	}
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
	/* By level: the number of slots that most switches' families have. */
	uint16_t usual[UINT8_MAX + 1] = { 0 };

	/* Asked in each update: no more memory is cleared than there are levels for. */
	unsigned top = 0;

	for (uint32_t f = 0; f < g->nfamilies; f++)
		top = g->families[f].level > top ? g->families[f].level : top;
	uint32_t(*count)[GRAPH_MAX_SLOTS + 1] = mem_array(count, top + 1);

	for (uint32_t f = 0; f < g->nfamilies; f++) {
		const struct graph_family *family = &g->families[f];
		uint32_t *of_level = count[family->level];

		of_level[family->nslots] += family->nmembers;
		if (of_level[family->nslots] > of_level[usual[family->level]])
			usual[family->level] = family->nslots;
	}
	free(count);

	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		const struct graph_switch *s = &g->switches[sw];

		if (g->families[s->family].nslots != usual[s->level] || !has_full_trunks(g, sw) ||
		    (s->level && s->nhosts && has_hosts(t, sw)))
			return true;
	}
	return false;
}

/* ---- Tiers ----------------------------------------------------------------------------------- */

#define SHARE	8 /* one in so many */
#define MOST	5 /* of SHARE, where no link is within a tier */
#define SAMPLES 8 /* leaves whose pairs are counted then */

struct work {
	const struct topo *t;
	uint32_t *part;	 /* by switch: connected part, as its lowest switch */
	uint32_t *queue; /* of switches */
	uint32_t *met;	 /* by switch: who met it last, + 1 */
	bool *leaf;	 /* by switch: with hosts */
};

/* ---- One way only ---------------------------------------------------------------------------- */

/* Returns neighbours met while a part was walked, each from both sides; in w->met who met it. */
static uint64_t walk_part(struct work *w, uint32_t first, uint32_t *count)
{
	uint64_t neighbours = 0;
	uint32_t tail = 0;

	w->part[first] = first;
	w->queue[tail++] = first;
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t sw = w->queue[head];

		for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++) {
			uint32_t to = path_neighbour(w->t, sw, num);

			if (to == TOPO_NONE || w->met[to] == sw + 1)
				continue;
			w->met[to] = sw + 1;
			neighbours++;
			if (w->part[to] != TOPO_NONE)
				continue;
			w->part[to] = first;
			w->queue[tail++] = to;
		}
	}
	*count = tail;
	return neighbours;
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

/* Puts neighbours of the queue's switches in it, one tier or more higher or lower, and theirs. */
static uint32_t follow(struct work *w, uint32_t tail, bool up, uint32_t mark)
{
	const struct topo *t = w->t;

	for (uint32_t head = 0; head < tail; head++) {
		uint32_t sw = w->queue[head];

		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			uint32_t to = path_neighbour(t, sw, num);

			if (to == TOPO_NONE || w->met[to] == mark ||
			    t->nodes[to].level == t->nodes[sw].level ||
			    (t->nodes[to].level > t->nodes[sw].level) != up)
				continue;
			w->met[to] = mark;
			w->queue[tail++] = to;
		}
	}
	return tail;
}

#define PAIR_NS 100

/* Of each `step`th leaf. */
static void count_pairs(struct work *w, uint32_t step, struct tiers *out, struct fiber *fiber)
{
	uint32_t nth = 0;

	for (uint32_t leaf = 0; leaf < w->t->nswitches; leaf++) {
		if (!w->leaf[leaf] || nth++ % step)
			continue;
		/* Marks who has a path from the leaf up, then down, or is its neighbour. */
		w->queue[0] = leaf;
		w->met[leaf] = leaf + 1;
		follow(w, follow(w, 1, true, leaf + 1), false, leaf + 1);
		for (unsigned num = 1; num <= w->t->nodes[leaf].nports; num++) {
			uint32_t to = path_neighbour(w->t, leaf, num);

			if (to != TOPO_NONE)
				w->met[to] = leaf + 1;
		}
		fiber_spend(fiber, w->t->nswitches * PAIR_NS);
		for (uint32_t to = 0; to < w->t->nswitches; to++) {
			if (!w->leaf[to] || to == leaf || w->part[to] != w->part[leaf])
				continue;
			out->pairs++;
			out->open_pairs += w->met[to] != leaf + 1;
		}
	}
}

bool tiers_are_tree(const struct topo *t, struct tiers *out, struct fiber *fiber)
{
	uint32_t n = t->nswitches + 1, leaves = 0;

	*out = (struct tiers){ 0 };
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			uint32_t to = path_neighbour(t, sw, num);

			if (to == TOPO_NONE || to < sw) /* from its other end */
				continue;
			out->links++;
			out->level_links += t->nodes[to].level == t->nodes[sw].level;
		}
	if (out->level_links && (uint64_t)out->level_links * SHARE <= out->links)
		return true;

	struct arena *arena = arena_new();
	struct work w = { .t = t,
			  .part = arena_array(arena, w.part, n),
			  .queue = arena_array(arena, w.queue, n),
			  .met = arena_array(arena, w.met, n),
			  .leaf = arena_array(arena, w.leaf, n) };

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		leaves += w.leaf[sw] = has_hosts(t, sw);

	/*
	 * Finds the parts; whether no two switches have two paths between them, but for parallel
	 * links.
	 */
	bool one = true;

	memset(w.part, 0xff, w.t->nswitches * sizeof(*w.part));
	for (uint32_t sw = 0; sw < w.t->nswitches; sw++) {
		uint32_t count;

		if (w.part[sw] == TOPO_NONE)
			one &= walk_part(&w, sw, &count) == 2 * ((uint64_t)count - 1);
	}
	mem_zero(w.met, w.t->nswitches);
	if (!one)
		count_pairs(&w, out->level_links ? 1 : 1 + leaves / SAMPLES, out, fiber);
	arena_free(arena);
	return out->open_pairs * SHARE <= out->pairs * (out->level_links ? 1 : MOST);
}
