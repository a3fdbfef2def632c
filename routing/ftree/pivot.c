/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pivot: see pivot.h. The choice is made by known links, so that a fault moves no pivot; paths are
 * by live ones, and kept while nothing is dead.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/ftree/pivot.h"
#include "topology/base/mem.h"

#define TRIED_MAX 64 /* switches that are looked at as pivots */

/* ---- The choice ------------------------------------------------------------------------------ */

/* T into queue and top, by known links. Returns how many. */
static uint32_t find_top(struct pivots *p, uint32_t pivot, uint32_t mark)
{
	const struct graph *g = p->g;
	uint32_t tail = 0;

	p->queue[tail++] = pivot;
	p->top[pivot] = mark;
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t sw = p->queue[head];
		const struct graph_group *up = graph_ups(g, sw), *end = up + g->switches[sw].nup;

		for (; up < end; up++) {
			if (p->top[up->peer] == mark)
				continue;
			p->top[up->peer] = mark;
			p->queue[tail++] = up->peer;
		}
	}
	return tail;
}

/* From above there is one way down to it. */
static bool may_be_pivot(struct pivots *p, uint32_t pivot, uint32_t mark)
{
	uint32_t n = find_top(p, pivot, mark);

	for (uint32_t i = 1; i < n; i++) {
		const struct graph_group *down = graph_downs(p->g, p->queue[i]),
					 *end = down + p->g->switches[p->queue[i]].ndown;
		unsigned children = 0;

		for (; down < end; down++)
			children += p->top[down->peer] == mark;
		if (children != 1)
			return false;
	}
	return n > 1;
}

/* At most two of a family, so that one pod does not have them all. */
static bool is_wanted(const struct pivots *p, uint32_t sw)
{
	unsigned same = 0;

	for (unsigned i = 0; i < p->count; i++)
		same += p->g->switches[p->chosen[i]].family == p->g->switches[sw].family;
	return same < PIVOTS_MAX / 2;
}

static void choose_on_level(struct pivots *p, unsigned level, uint32_t *tried)
{
	for (uint32_t sw = 0; sw < p->g->nswitches && p->count < PIVOTS_MAX; sw++) {
		if (p->g->switches[sw].level != level || !is_wanted(p, sw))
			continue;
		if (*tried == TRIED_MAX)
			return;
		if (may_be_pivot(p, sw, ++*tried))
			p->chosen[p->count++] = sw;
	}
}

/* Some aggregation node stands on a switch without hosts. */
static bool are_needed(const struct graph *g)
{
	for (uint32_t sw = 0; g->nspecials && sw < g->nswitches; sw++)
		if (g->switches[sw].nspecials && !g->switches[sw].nhosts)
			return true;
	return false;
}

/*
 * On the lowest level that has any: where cores have links to all spines of a pod, that is the
 * spines'.
 */
void pivots_init(struct pivots *p, const struct graph *g)
{
	uint32_t n = g->nswitches + 1, tried = 0;
	unsigned highest = 0;

	*p = (struct pivots){ .g = g };
	if (!are_needed(g))
		return;
	p->port = mem_alloc_unset(n, 1);
	p->order = mem_alloc_unset(n, 1);
	p->leads = mem_alloc_unset(n, 1);
	p->queue = mem_alloc_unset(n, sizeof(*p->queue));
	p->top = mem_alloc(n, sizeof(*p->top));
	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		highest = g->switches[sw].level > highest ? g->switches[sw].level : highest;
	for (unsigned level = 0; level < highest && !p->count; level++)
		choose_on_level(p, level, &tried);
}

void pivots_fini(struct pivots *p)
{
	free(p->port);
	free(p->order);
	free(p->leads);
	free(p->listed);
	free(p->queue);
	free(p->top);
	free(p->runs);
	*p = (struct pivots){ 0 };
}

/* ---- What leads there ------------------------------------------------------------------------ */

static const struct graph_lane *live_lane(const struct graph *g, const struct graph_group *group)
{
	const struct graph_lane *lane = &g->lanes[group->first_lane];

	while (!lane->live)
		lane++;
	return lane;
}

/* Who is above a pivot by live links, and has no earlier one below, sends down to it. */
static void find_path_down(struct pivots *p, unsigned number)
{
	const struct graph *g = p->g;
	uint32_t tail = 0;

	memset(p->top, 0, g->nswitches * sizeof(*p->top));
	p->queue[tail++] = p->chosen[number];
	p->top[p->chosen[number]] = 1;
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t sw = p->queue[head];
		const struct graph_group *up = graph_ups(g, sw), *end = up + g->switches[sw].nup;

		if (!head && p->order[sw] == PIVOTS_MAX)
			p->order[sw] = number;
		for (; up < end; up++) {
			if (!up->nlive || p->top[up->peer])
				continue;
			p->top[up->peer] = 1;
			p->queue[tail++] = up->peer;
			if (p->order[up->peer] != PIVOTS_MAX)
				continue;
			p->order[up->peer] = number;
			p->port[up->peer] = live_lane(g, up)->peer_port;
		}
	}
}

/* The others, and those above a later pivot alone that have an earlier one by going up. */
static void find_paths_up(struct pivots *p)
{
	const struct graph *g = p->g;

	for (uint32_t i = g->nswitches; i-- > 0;) {
		uint32_t sw = g->by_rank[i];
		const struct graph_group *up = graph_ups(g, sw), *end = up + g->switches[sw].nup;

		for (; up < end && p->order[sw]; up++) {
			if (!up->nlive || p->order[up->peer] >= p->order[sw])
				continue;
			p->order[sw] = p->order[up->peer];
			p->port[sw] = live_lane(g, up)->port;
		}
	}
}

static void count_lead(struct pivots *p, uint32_t sw, unsigned number)
{
	p->leads[sw] += p->leads[sw] == number;
}

/* Who is above it by live links: nobody, once it is cut off. */
static bool has_live_up(const struct graph *g, uint32_t sw)
{
	const struct graph_group *up = graph_ups(g, sw), *end = up + g->switches[sw].nup;

	while (up < end && !up->nlive)
		up++;
	return up < end;
}

/*
 * After find_path_down(): what the pivot has a path to is above it, or below somebody who is. No
 * packet turns at a pivot that is cut off, so that one stands in nobody's way.
 */
static void count_leads(struct pivots *p, const struct reach *r, unsigned number)
{
	bool cut_off = !has_live_up(p->g, p->chosen[number]);

	for (uint32_t sw = 0; sw < p->g->nswitches; sw++) {
		const struct reach_list *list = &r->lists[sw];

		if (cut_off || p->top[sw])
			count_lead(p, sw, number);
		if (cut_off || !p->top[sw])
			continue;
		if (p->listed[list->number] == number + 1)
			continue;
		p->listed[list->number] = number + 1;
		for (uint32_t e = list->first; e < list->first + list->count; e++)
			count_lead(p, r->below[e].sw, number);
	}
}

static void find_paths(struct pivots *p, const struct reach *r, unsigned count)
{
	uint32_t n = p->g->nswitches;

	if (p->nlisted < r->nlists)
		p->listed = mem_resize(p->listed, p->nlisted = r->nlists, sizeof(*p->listed));
	memset(p->listed, 0, r->nlists * sizeof(*p->listed));
	memset(p->port, 0, n);
	memset(p->order, PIVOTS_MAX, n);
	memset(p->leads, 0, n);
	for (unsigned i = 0; i < count; i++) {
		find_path_down(p, i);
		count_leads(p, r, i);
	}
	find_paths_up(p);
}

/* ---- LIDs ------------------------------------------------------------------------------------ */

/* Those that follow each other in one run: switches' own LIDs mostly do, and aggregation nodes'. */
static void add_run(struct pivots *p, struct pivot_runs *runs, const struct dest_run *run)
{
	struct dest_run *last = runs->count ? &p->runs[runs->first + runs->count - 1] : NULL;

	if (last && last->lid + last->count == run->lid)
		last->count += run->count;
	else
		p->runs[runs->first + runs->count++] = *run;
}

static void find_runs_by(struct pivots *p, const struct dests *d, unsigned number)
{
	struct pivot_runs *runs = &p->runs_by[number];
	uint32_t n = p->g->nswitches, left = n;

	for (uint32_t nth = 0; left; nth++) {
		left = 0;
		for (uint32_t sw = 0; sw < n; sw++) {
			uint32_t run = d->first_run[sw] + nth;

			if (run >= d->first_run[sw + 1] || p->g->switches[sw].nhosts ||
			    p->leads[sw] <= number)
				continue;
			add_run(p, runs, &d->runs[run]);
			left++;
		}
	}
}

/*
 * Something has a path from all pivots before this one and not from it. Else its runs are those of
 * the one before.
 */
static bool are_fewer(const struct pivots *p, unsigned number)
{
	return memchr(p->leads, (int)number, p->g->nswitches) != NULL;
}

static void find_runs(struct pivots *p, const struct dests *d, unsigned count)
{
	uint32_t all = d->first_run[p->g->nswitches];

	p->runs = mem_resize(p->runs, (size_t)count * all + 1, sizeof(*p->runs));
	for (unsigned i = 0; i < count; i++) {
		if (i && !are_fewer(p, i)) {
			p->runs_by[i] = p->runs_by[i - 1];
			continue;
		}
		p->runs_by[i] = (struct pivot_runs){ .first = i * all };
		find_runs_by(p, d, i);
	}
}

bool pivots_find(struct pivots *p, const struct dests *d, const struct reach *r, unsigned count)
{
	unsigned n = p->count < count ? p->count : count;

	if (!n)
		return false;
	if (p->g->damaged || !p->intact)
		find_paths(p, r, n);
	p->intact = !p->g->damaged && n == p->count;
	find_runs(p, d, n);
	return true;
}

static void fill_run(const struct dest_run *run, uint8_t port, uint8_t *row)
{
	const uint32_t count =
		run->count; /* stores of bytes might change it, for all the compiler knows */
	uint8_t *at = row + run->lid;

	for (uint32_t i = 0; i < count; i++)
		at[i] = at[i] == TABLES_NO_ROUTE ? port : at[i];
}

void pivots_fill(const struct pivots *p, uint32_t sw, uint8_t *row)
{
	const struct pivot_runs *runs;

	if (!p->port[sw])
		return;
	runs = &p->runs_by[p->order[sw]];
	for (uint32_t i = runs->first; i < runs->first + runs->count; i++)
		fill_run(&p->runs[i], p->port[sw], row);
}

void pivots_fill_dest(const struct pivots *p, const struct dests *d, uint32_t sw, uint32_t dest,
		      uint8_t *row)
{
	if (!p->port[sw] || p->leads[dest] <= p->order[sw])
		return;
	for (uint32_t r = d->first_run[dest]; r < d->first_run[dest + 1]; r++)
		fill_run(&d->runs[r], p->port[sw], row);
}
