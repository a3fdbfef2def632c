/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pivot: see pivot.h. The choice is made by known links, so that a fault moves no pivot; paths are
 * by live ones, and kept while nothing is dead.
 */
#include "routing/ftree/pivot.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define TRIED_MAX 64 /* switches that are looked at as pivots */

/* ---- The choice ------------------------------------------------------------------------------ */

/* From above there is one way down to it. */
static bool may_be_pivot(struct pivots *p, uint32_t pivot, uint32_t mark)
{
	const struct graph *g = p->g;
	uint32_t n = 0; /* of T, in queue and top, by known links */

	p->queue[n++] = pivot;
	p->top[pivot] = mark;
	for (uint32_t head = 0; head < n; head++) {
		uint32_t sw = p->queue[head];
		const struct graph_group *up = graph_ups(g, sw), *end = up + g->switches[sw].nup;

		for (; up < end; up++) {
			if (p->top[up->peer] == mark)
				continue;
			p->top[up->peer] = mark;
			p->queue[n++] = up->peer;
		}
	}

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

/*
 * On the lowest level that has any: where cores have links to all spines of a pod, that is the
 * spines'.
 */
void pivots_init(struct pivots *p, const struct graph *g)
{
	uint32_t n = g->nswitches + 1, tried = 0;
	bool three_tiers = false;

	*p = (struct pivots){ .g = g, .optional = true };
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		three_tiers |= g->switches[sw].nup && !g->switches[sw].nhosts;
		p->optional &= !g->switches[sw].nspecials || g->switches[sw].nhosts;
	}
	if (p->optional && three_tiers)
		return;
	p->port = mem_alloc_unset(PIVOTS_MAX, n);
	p->order = mem_alloc_unset(n, 1);
	p->leads = mem_alloc_unset(n, 1);
	p->queue = mem_array_unset(p->queue, n);
	p->top = mem_array(p->top, n);
	for (unsigned level = 0; level <= UINT8_MAX && !p->count; level++)
		for (uint32_t sw = 0; sw < g->nswitches && p->count < PIVOTS_MAX; sw++) {
			unsigned first = p->count;
			bool wanted = g->switches[sw].level == level;

			/* A pair of a family, so that one pod does not have them all. */
			for (unsigned i = 0; i < p->count; i++)
				wanted &=
					g->switches[p->chosen[i]].family != g->switches[sw].family;
			for (uint32_t more = sw;
			     wanted && more < g->nswitches && p->count < PIVOTS_MAX &&
			     p->count < first + PIVOTS_MAX / 2;
			     more++) {
				/* The same switches are above both, by known links. */
				if (g->switches[more].level != level ||
				    g->switches[more].nup != g->switches[sw].nup ||
				    any_of(i, 0, g->switches[sw].nup,
					   graph_ups(g, sw)[i].peer !=
						   graph_ups(g, more)[i].peer) ||
				    tried >= TRIED_MAX || !may_be_pivot(p, more, ++tried))
					continue;
				p->group[p->count] = first;
				p->chosen[p->count++] = more;
			}
		}
}

void pivots_spread(const struct pivots *p, struct dests *d)
{
	for (uint32_t lid = 1; d->special && lid <= d->top; lid++) {
		uint32_t sw = d->sw[lid], own = p->g->order_top + sw;

		if (d->special[lid] && any_of(k, 0, p->count, p->chosen[k] == sw))
			d->order[lid] += (d->order[lid] - own) %
						 p->g->families[p->g->switches[sw].family].nslots ==
					 0;
	}
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

static uint8_t *port_to(const struct pivots *p, unsigned pivot, uint32_t sw)
{
	return &p->port[(size_t)pivot * p->g->nswitches + sw];
}

/* Who is above a pivot by live links, and has none of an earlier pair below, sends down to it. */
static void find_path_down(struct pivots *p, unsigned number)
{
	const struct graph *g = p->g;
	uint32_t tail = 0;

	mem_zero(p->top, g->nswitches);
	p->queue[tail++] = p->chosen[number];
	p->top[p->chosen[number]] = 1;
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t sw = p->queue[head];
		const struct graph_group *up = graph_ups(g, sw), *end = up + g->switches[sw].nup;

		for (; up < end; up++) {
			if (!up->nlive || p->top[up->peer])
				continue;
			p->top[up->peer] = 1;
			p->queue[tail++] = up->peer;
			if (p->order[up->peer] < p->group[number])
				continue;
			p->order[up->peer] = p->group[number];
			*port_to(p, number, up->peer) = live_lane(g, up)->peer_port;
		}
	}
}

/*
 * After find_path_down(): what the pivot has a path to is above it, or below somebody who is. No
 * packet turns at a pivot that is cut off, so that one stands in nobody's way.
 */
static void count_leads(struct pivots *p, const struct reach *r, unsigned number)
{
	const struct graph_group *up = graph_ups(p->g, p->chosen[number]),
				 *end = up + p->g->switches[p->chosen[number]].nup;

	while (up < end && !up->nlive)
		up++;
	bool cut_off = up == end;

	for (uint32_t sw = 0; sw < p->g->nswitches; sw++) {
		const struct reach_list *list = &r->lists[sw];

		if (cut_off || p->top[sw])
			p->leads[sw] |= 1u << number;
		if (cut_off || !p->top[sw] || p->listed[list->number] == number + 1)
			continue;
		p->listed[list->number] = number + 1;
		for (uint32_t e = list->first; e < list->first + list->count; e++)
			p->leads[r->below[e].sw] |= 1u << number;
	}
}

/* ---- LIDs ------------------------------------------------------------------------------------ */

/* Whether that pivot and all of earlier pairs have a path to D. */
static bool may_turn(const struct pivots *p, unsigned number, uint32_t d)
{
	return !(~p->leads[d] & (1u << number | ((1u << p->group[number]) - 1)));
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
			    !may_turn(p, number, sw))
				continue;
			/* In one run, as switches' own LIDs mostly are, and aggregation nodes'. */
			struct dest_run *last =
				runs->count ? &p->runs[runs->first + runs->count - 1] : NULL;

			if (last && last->lid + last->count == d->runs[run].lid)
				last->count += d->runs[run].count;
			else
				p->runs[runs->first + runs->count++] = d->runs[run];
			left++;
		}
	}
	runs->hash = hash_bytes(1, p->runs + runs->first, runs->count * sizeof(*p->runs));
}

bool pivots_find(struct pivots *p, const struct dests *d, const struct reach *r, unsigned count)
{
	unsigned n = p->count < count ? p->count : count;

	if (!n)
		return false;
	if (p->g->damaged || !p->intact) {
		if (p->nlisted < r->nlists)
			p->listed = mem_array_resize(p->listed, p->nlisted = r->nlists);
		mem_zero(p->listed, r->nlists);
		memset(p->port, 0, (size_t)PIVOTS_MAX * p->g->nswitches);
		memset(p->order, PIVOTS_MAX, p->g->nswitches);
		memset(p->leads, 0, p->g->nswitches);
		for (unsigned i = 0; i < n; i++) {
			find_path_down(p, i);
			count_leads(p, r, i);
		}
		/* The others, and those above a later pair that have an earlier one upwards. */
		for (uint32_t i = p->g->nswitches; i-- > 0;) {
			uint32_t sw = p->g->by_rank[i];
			const struct graph_group *up = graph_ups(p->g, sw),
						 *end = up + p->g->switches[sw].nup;

			for (; up < end && p->order[sw]; up++) {
				if (!up->nlive || p->order[up->peer] >= p->order[sw])
					continue;
				p->order[sw] = p->order[up->peer];
				for (unsigned k = 0; k < n; k++)
					*port_to(p, k, sw) = *port_to(p, k, up->peer)
								     ? live_lane(p->g, up)->port
								     : 0;
			}
		}
	}
	p->intact = !p->g->damaged && n == p->count;

	uint32_t all = d->first_run[p->g->nswitches];

	p->runs = mem_array_resize(p->runs, (size_t)n * all + 1);
	for (unsigned i = 0; i < n; i++) {
		bool same = i;

		for (uint32_t sw = 0; same && sw < p->g->nswitches; sw++)
			same = may_turn(p, i, sw) == may_turn(p, i - 1, sw);
		if (same) {
			p->runs_by[i] = p->runs_by[i - 1];
			continue;
		}
		p->runs_by[i] = (struct pivot_runs){ .first = i * all };
		find_runs_by(p, d, i);
	}
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
	for (unsigned k = p->order[sw]; k < p->count && p->group[k] == p->order[sw]; k++) {
		const struct pivot_runs *runs = &p->runs_by[k];
		bool filled = k > p->order[sw] && *port_to(p, k - 1, sw) &&
			      runs->first == p->runs_by[k - 1].first;
		uint8_t port = filled ? 0 : *port_to(p, k, sw);

		for (uint32_t i = 0; port && i < runs->count; i++)
			fill_run(&p->runs[runs->first + i], port, row);
	}
}

uint64_t pivots_hash(const struct pivots *p, uint32_t sw, uint64_t hash)
{
	for (unsigned k = p->order[sw]; k < p->count && p->group[k] == p->order[sw]; k++)
		hash = hash_word(hash + p->runs_by[k].hash) + *port_to(p, k, sw);
	return hash;
}

void pivots_fill_dest(const struct pivots *p, const struct dests *d, uint32_t sw, uint32_t dest,
		      uint8_t *row)
{
	for (unsigned k = p->order[sw]; k < p->count && p->group[k] == p->order[sw]; k++)
		for (uint32_t r = d->first_run[dest];
		     *port_to(p, k, sw) && may_turn(p, k, dest) && r < d->first_run[dest + 1]; r++)
			fill_run(&d->runs[r], *port_to(p, k, sw), row);
}
