/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * below: see below.h. A row of cables is filled child by child, in runs as long as LIDs follow each
 * other: in the order of a regular fabric's leaves that is one stroke for a whole pod. A LID whose
 * lane is dead at some switch takes there the lane of its own climb (agree.h) if that lives, else
 * another by its number.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/below.h"
#include "routing/bytemap.h"
#include "topology/mem.h"

/* In a half-made row: the lane is dead here. A live port of this number is found once more. */
#define DEAD 254

struct descent { /* the way down by one group of cables */
	const struct graph_group *group;
	const uint8_t *digits; /* by LID: the lane wanted; only where there are several */
	const uint8_t *spare;  /* by LID: the lane to take where that is dead */
	uint32_t spread;       /* order / spread deals a dead lane's LIDs */
	uint8_t cable;	       /* number of the group's first lane */
};

void belows_init(struct belows *b, struct choice *choice, uint32_t row_bytes)
{
	uint32_t n = choice->g->nswitches;

	*b = (struct belows){ .choice = choice,
			      .g = choice->g,
			      .d = choice->d,
			      .r = choice->r,
			      .row_bytes = row_bytes };
	b->shared = mem_alloc(b->r->ntwins + 1, sizeof(*b->shared));
	b->by_child = mem_alloc_unset(n + 1, sizeof(*b->by_child));
	b->first_entry = mem_alloc_unset(UINT8_MAX + 2, sizeof(*b->first_entry));
}

static void below_fini(struct below *below)
{
	free(below->cable);
	free(below->dist);
}

void belows_fini(struct belows *b)
{
	for (uint32_t i = 0; i < b->r->ntwins; i++)
		below_fini(&b->shared[i]);
	below_fini(&b->alone);
	free(b->shared);
	free(b->by_child);
	free(b->first_entry);
}

/* ---- Cables wanted ------------------------------------------------------------------------------ */

static void prepare_descent(struct belows *b, uint32_t sw, struct descent *way,
			    const struct graph_group *group)
{
	const struct graph_family *family = &b->g->families[b->g->switches[group->peer].family];
	uint32_t pitch = family->pitch * (family->nparents ? family->nparents : 1);

	way->group = group;
	way->cable = group->first_lane - graph_downs(b->g, sw)->first_lane;
	way->spread = pitch * group->nlanes;
	if (group->nlanes > 1)
		way->digits = choice_lanes(b->choice, group->peer, group, &way->spare);
}

static void fill_run(struct below *below, const struct dest_run *run, const struct descent *way)
{
	uint8_t *restrict cable = below->cable + run->lid;

	if (way->group->nlanes == 1) {
		memset(cable, way->cable, run->count);
		return;
	}
	const uint8_t *restrict digits = way->digits + run->lid;
	for (uint32_t i = 0; i < run->count; i++)
		cable[i] = way->cable + digits[i];
}

/* Several children lead to D equally well: deal its LIDs over them. */
static void fill_multi(struct belows *b, struct below *below, uint32_t sw,
		       const struct reach_entry *entry)
{
	const struct graph_group *downs = graph_downs(b->g, sw), *candidates[UINT8_MAX];
	unsigned n = 0;

	for (unsigned c = 0; c < b->g->switches[sw].ndown; c++) {
		const struct reach_entry *child = reach_find(b->r, downs[c].peer, entry->sw);
		unsigned dist = downs[c].peer == entry->sw ? 1
				: child			   ? child->dist + 1
							   : REACH_NEVER;

		if (downs[c].nlive && dist == entry->dist)
			candidates[n++] = &downs[c];
	}
	for (uint32_t r = b->d->first_run[entry->sw]; r < b->d->first_run[entry->sw + 1]; r++) {
		const struct dest_run *run = &b->d->runs[r];

		for (uint32_t lid = run->lid; lid < (uint32_t)run->lid + run->count; lid++) {
			struct dest_run one = { lid, 1 };
			struct descent way;

			prepare_descent(b, sw, &way, candidates[b->d->order[lid] % n]);
			fill_run(below, &one, &way);
		}
	}
}

/* Run number `n` of each D among the entries, in strokes. Returns whether any has that many. */
static bool fill_nth_runs(struct belows *b, struct below *below, const struct descent *way,
			  const uint32_t *entries, uint32_t count, uint32_t n)
{
	struct dest_run pending = { 0 };

	for (uint32_t e = 0; e < count; e++) {
		uint32_t d = b->r->below[entries[e]].sw, r = b->d->first_run[d] + n;
		const struct dest_run *run = &b->d->runs[r];

		if (r >= b->d->first_run[d + 1])
			continue;
		if (run->lid != pending.lid + pending.count) {
			fill_run(below, &pending, way);
			pending = (struct dest_run){ run->lid, 0 };
		}
		pending.count += run->count;
	}
	fill_run(below, &pending, way);
	return pending.count > 0;
}

/* All that is below by way of one child: leaf after leaf its hosts, then the leaves themselves. */
static void fill_child(struct belows *b, struct below *below, const struct descent *way,
		       const uint32_t *entries, uint32_t count)
{
	for (uint32_t n = 0; fill_nth_runs(b, below, way, entries, count, n); n++)
		;
}

/* Counting sort, by child. Afterwards child c's entries end at first_entry[c]. */
static void sort_entries(struct belows *b, const struct reach_list *list)
{
	uint32_t *next = b->first_entry;

	memset(next, 0, (UINT8_MAX + 2) * sizeof(*next));
	for (uint32_t e = list->first; e < list->first + list->count; e++)
		next[b->r->below[e].child + 1]++;
	for (unsigned c = 1; c <= UINT8_MAX; c++)
		next[c] += next[c - 1];
	for (uint32_t e = list->first; e < list->first + list->count; e++)
		b->by_child[next[b->r->below[e].child]++] = e;
}

static void fill_children(struct belows *b, struct below *below, uint32_t sw)
{
	const struct graph_group *downs = graph_downs(b->g, sw);
	uint32_t at = 0;

	sort_entries(b, &b->r->lists[sw]);
	for (unsigned c = 0; c < b->g->switches[sw].ndown; c++) {
		struct descent way;

		if (at < b->first_entry[c]) {
			prepare_descent(b, sw, &way, &downs[c]);
			fill_child(b, below, &way, b->by_child + at, b->first_entry[c] - at);
		}
		at = b->first_entry[c];
	}
	for (; at < b->r->lists[sw].count; at++)
		fill_multi(b, below, sw, &b->r->below[b->by_child[at]]);
}

/* ---- What is below ------------------------------------------------------------------------------ */

static void find_bounds(const struct belows *b, uint32_t sw, struct below *below)
{
	const struct reach_list *list = &b->r->lists[sw];

	below->first = b->row_bytes;
	below->end = 0;
	for (uint32_t e = list->first; e < list->first + list->count; e++) {
		uint32_t first = b->d->first_run[b->r->below[e].sw],
			 end = b->d->first_run[b->r->below[e].sw + 1];

		if (first == end)
			continue;
		const struct dest_run *last = &b->d->runs[end - 1];
		if (b->d->runs[first].lid < below->first)
			below->first = b->d->runs[first].lid;
		if ((uint32_t)last->lid + last->count > below->end)
			below->end = last->lid + last->count;
	}
}

static bool has_all_hosts(const struct belows *b, const struct below *below)
{
	for (uint32_t d = 0; d < b->g->nswitches; d++)
		if (b->g->switches[d].nhosts && below->dist[d] == REACH_NEVER)
			return false;
	return true;
}

static void make_below(struct belows *b, uint32_t sw, struct below *below)
{
	const struct reach_list *list = &b->r->lists[sw];

	if (!below->cable) {
		below->cable = mem_alloc_unset(b->row_bytes, 1);
		below->dist = mem_alloc_unset(b->r->cost_bytes, 1);
	}
	find_bounds(b, sw, below);
	if (below->first < below->end)
		memset(below->cable + below->first, BYTEMAP_KEEP, below->end - below->first);
	memset(below->dist, REACH_NEVER, b->r->cost_bytes);
	for (uint32_t e = list->first; e < list->first + list->count; e++)
		below->dist[b->r->below[e].sw] = b->r->below[e].dist;
	below->complete = has_all_hosts(b, below);
	fill_children(b, below, sw);
}

const struct below *belows_of(struct belows *b, uint32_t sw)
{
	uint32_t twins = b->r->twins[sw];
	struct below *below = twins == TOPO_NONE ? &b->alone : &b->shared[twins];

	if (twins == TOPO_NONE || !below->cable)
		make_below(b, sw, below);
	return below;
}

/* ---- Ports -------------------------------------------------------------------------------------- */

static uint8_t descent_port(const struct belows *b, const struct descent *way, uint32_t lid)
{
	const struct graph_lane *lanes = &b->g->lanes[way->group->first_lane];
	unsigned wanted = way->digits[lid], spare = way->spare[lid];

	if (!lanes[wanted].live && spare < way->group->nlanes && lanes[spare].live)
		return lanes[spare].port;
	return choice_lane_port(b->g, way->group, wanted, b->d->order[lid] / way->spread);
}

static bool has_cable(const struct descent *way, unsigned cable)
{
	return way->group && cable >= way->cable &&
	       cable < way->cable + (unsigned)way->group->nlanes;
}

static void replace_dead(struct belows *b, const struct below *below, uint32_t sw, uint8_t *row)
{
	uint8_t *at = row + below->first, *end = row + below->end;
	struct descent way = { 0 };

	for (; (at = memchr(at, DEAD, end - at)); at++) {
		uint8_t cable = below->cable[at - row];
		const struct graph_group *group = graph_downs(b->g, sw);

		if (cable == BYTEMAP_KEEP)
			continue;
		if (!has_cable(&way, cable)) {
			for (unsigned left = cable; left >= group->nlanes; group++)
				left -= group->nlanes;
			prepare_descent(b, sw, &way, group);
		}
		if (way.group->nlanes > 1)
			*at = descent_port(b, &way, at - row);
	}
}

void belows_overlay(struct belows *b, const struct below *below, uint32_t sw, uint8_t *row)
{
	const struct graph_switch *s = &b->g->switches[sw];
	const struct graph_group *downs = graph_downs(b->g, sw), *last = &downs[s->ndown - 1];
	const struct graph_lane *lanes = &b->g->lanes[downs->first_lane];
	unsigned cables = last->first_lane + last->nlanes - downs->first_lane;
	uint8_t port_of_cable[256] = { 0 };
	bool dead = false;

	for (unsigned c = 0; c < cables; c++) {
		port_of_cable[c] = lanes[c].live ? lanes[c].port : DEAD;
		dead |= !lanes[c].live;
	}
	if (below->first >= below->end)
		return;
	bytemap_over(row + below->first, below->cable + below->first, below->end - below->first,
		     port_of_cable, cables);
	if (dead)
		replace_dead(b, below, sw, row);
}
