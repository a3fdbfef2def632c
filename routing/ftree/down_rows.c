/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * down_rows: see down_rows.h. A row of links is filled child by child, in runs as long as LIDs
 * follow each other: in the order of a regular fabric's leaves that is one run for a whole pod.
 * Where the wanted child or lane is dead, a LID takes another by its number, and no other moves.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/ftree/down_rows.h"
#include "routing/bytemap.h"
#include "topology/base/mem.h"

/* In a half-made row: the lane is dead here. A live port of this number is found once more. */
#define DEAD 254

#define WAYS_NS 1000 /* to look by whom one D is reached */

struct descent { /* the way down by one group of links */
	const struct graph_group *group;
	const uint8_t *digits; /* by LID: the lane wanted; only where there are several */
	uint32_t spread;       /* order / spread deals a dead lane's LIDs */
	uint8_t link;	       /* number of the group's first lane */
};

struct children { /* children that lead to one D, or did before their links died */
	const struct graph_group *child[UINT8_MAX];
	bool live[UINT8_MAX];
	unsigned n;
};

struct entries { /* of reach.below: those picked, or `count` from the first on */
	const uint32_t *pick;
	uint32_t first, count;
};

void down_rows_init(struct down_rows *b, struct choice *choice, uint32_t row_bytes)
{
	uint32_t n = choice->g->nswitches;

	*b = (struct down_rows){ .choice = choice,
				 .g = choice->g,
				 .d = choice->d,
				 .r = choice->r,
				 .row_bytes = row_bytes,
				 .capacity = 64 };
	b->runs = mem_alloc_unset(b->capacity, sizeof(*b->runs));
	b->shared = mem_alloc(b->r->nequivalent + 1, sizeof(*b->shared));
	b->by_child = mem_alloc_unset(n + 1, sizeof(*b->by_child));
	b->first_entry = mem_alloc_unset(UINT8_MAX + 2, sizeof(*b->first_entry));
	b->of_list = mem_alloc(b->r->nlists, sizeof(*b->of_list));
	for (uint32_t sw = 0; sw < n; sw++)
		b->nhosts += b->g->switches[sw].nhosts > 0;
}

static void below_fini(struct down_row *below)
{
	free(below->link);
	free(below->dist);
}

void down_rows_fini(struct down_rows *b)
{
	for (uint32_t i = 0; i < b->r->nequivalent; i++)
		below_fini(&b->shared[i]);
	below_fini(&b->alone);
	free(b->shared);
	free(b->by_child);
	free(b->first_entry);
	free(b->of_list);
	free(b->runs);
}

/* ---- Links wanted --------------------------------------------------------------------------- */

static void prepare_descent(struct down_rows *b, uint32_t sw, struct descent *way,
			    const struct graph_group *group)
{
	const struct graph_family *family = &b->g->families[b->g->switches[group->peer].family];
	uint32_t pitch = family->pitch * (family->nparents ? family->nparents : 1);

	way->group = group;
	way->link = group->first_lane - graph_downs(b->g, sw)->first_lane;
	way->spread = pitch * group->nlanes;
	if (group->nlanes > 1)
		way->digits = choice_lanes(b->choice, group->peer, group);
}

static void add_to_digits(uint8_t *restrict link, const uint8_t *restrict digits, uint32_t count,
			  uint8_t first)
{
	for (uint32_t i = 0; i < count; i++)
		link[i] = first + digits[i];
}

static void fill_run(struct down_row *below, const struct dest_run *run, const struct descent *way)
{
	if (way->group->nlanes == 1)
		memset(below->link + run->lid, way->link, run->count);
	else
		add_to_digits(below->link + run->lid, way->digits + run->lid, run->count,
			      way->link);
}

/* Whether a child leads to D at the least distance. */
static bool leads(const struct down_rows *b, const struct graph_group *child,
		  const struct reach_entry *entry)
{
	const struct reach_entry *on = reach_find(b->r, child->peer, entry->sw);
	unsigned dist = child->peer == entry->sw ? 1 : on ? on->dist + 1 : REACH_NEVER;

	return child->nlive && dist == entry->dist;
}

static void find_children(struct down_rows *b, uint32_t sw, const struct reach_entry *entry,
			  struct children *children)
{
	struct design_row design = design_of(b->choice->design, entry->sw);
	bool as_designed = entry->dist == design.down[sw];

	fiber_spend(b->r->fiber, WAYS_NS + design.made * b->g->nswitches * DESIGN_NS);
	children->n = 0;
	for (unsigned c = 0; c < b->g->switches[sw].ndown; c++) {
		const struct graph_group *child = &graph_downs(b->g, sw)[c];
		bool led = as_designed && design.down[child->peer] + 1 == entry->dist;

		children->live[children->n] = leads(b, child, entry);
		children->child[children->n] = child;
		children->n += led || children->live[children->n];
	}
}

/* The one wanted; the LIDs of a dead one go on to the others by turns. */
static const struct graph_group *choose_child(const struct children *children, uint32_t order)
{
	unsigned n = children->n, wanted = order % n, at = wanted;

	for (uint32_t turn = order / n; !children->live[at]; turn++)
		at = (wanted + 1 + turn % (n - 1)) % n;
	return children->child[at];
}

/* Several children lead to D equally well: deal its LIDs over those that do by design. */
static void fill_multi(struct down_rows *b, struct down_row *below, uint32_t sw,
		       const struct reach_entry *entry)
{
	struct children children;

	find_children(b, sw, entry, &children);
	for (uint32_t r = b->d->first_run[entry->sw]; r < b->d->first_run[entry->sw + 1]; r++) {
		const struct dest_run *run = &b->d->runs[r];

		for (uint32_t lid = run->lid; lid < (uint32_t)run->lid + run->count; lid++) {
			struct dest_run one = { lid, 1 };
			struct descent way = { 0 };

			prepare_descent(b, sw, &way, choose_child(&children, b->d->order[lid]));
			fill_run(below, &one, &way);
		}
	}
}

/* ---- Strokes --------------------------------------------------------------------------------- */

static void add_lid_run(struct down_rows *b, uint32_t lid)
{
	if (b->nruns == b->capacity) {
		b->capacity *= 2;
		b->runs = mem_resize(b->runs, b->capacity, sizeof(*b->runs));
	}
	b->runs[b->nruns++] = (struct dest_run){ lid, 0 };
}

/* Run number `n` of each D among the entries. Returns whether any has that many. */
static bool collect_nth_runs(struct down_rows *b, const struct entries *entries, uint32_t n)
{
	uint32_t mark = b->nruns, next = 0; /* next: LID that continues the run */

	for (uint32_t i = 0; i < entries->count; i++) {
		uint32_t e = entries->pick ? entries->pick[i] : entries->first + i;
		uint32_t d = b->r->below[e].sw, r = b->d->first_run[d] + n;
		const struct dest_run *run = &b->d->runs[r];

		if (r >= b->d->first_run[d + 1])
			continue;
		if (run->lid != next)
			add_lid_run(b, run->lid);
		b->runs[b->nruns - 1].count += run->count;
		next = run->lid + run->count;
	}
	return b->nruns > mark;
}

/* The LIDs behind some entries: leaf after leaf its hosts, then the leaves themselves. */
static struct lid_runs collect_lid_runs(struct down_rows *b, const struct entries *entries)
{
	struct lid_runs s = { .first = b->nruns };

	for (uint32_t n = 0; collect_nth_runs(b, entries, n); n++)
		;
	s.count = b->nruns - s.first;
	return s;
}

static void fill_lid_runs(struct down_row *below, const struct dest_run *runs, uint32_t count,
			  const struct descent *way)
{
	for (uint32_t i = 0; i < count; i++)
		fill_run(below, &runs[i], way);
}

/* ---- Child by child -------------------------------------------------------------------------- */

static void fill_child(struct down_rows *b, struct down_row *below, const struct descent *way,
		       const struct entries *entries)
{
	struct lid_runs s = collect_lid_runs(b, entries);

	fill_lid_runs(below, b->runs + s.first, s.count, way);
	b->nruns = s.first;
}

/* Counting sort, by child. Afterwards child c's entries end at first_entry[c]. */
static void sort_entries(struct down_rows *b, const struct reach_list *list)
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

static void fill_children(struct down_rows *b, struct down_row *below, uint32_t sw)
{
	const struct graph_group *downs = graph_downs(b->g, sw);
	uint32_t at = 0;

	sort_entries(b, &b->r->lists[sw]);
	for (unsigned c = 0; c < b->g->switches[sw].ndown; c++) {
		struct descent way = { 0 };

		if (at < b->first_entry[c]) {
			prepare_descent(b, sw, &way, &downs[c]);
			fill_child(b, below, &way,
				   &(struct entries){ .pick = b->by_child + at,
						      .count = b->first_entry[c] - at });
		}
		at = b->first_entry[c];
	}
	for (; at < b->r->lists[sw].count; at++)
		fill_multi(b, below, sw, &b->r->below[b->by_child[at]]);
}

/* ---- Children that have nothing in common ---------------------------------------------------- */

static void widen(struct down_row *below, const struct dest_run *runs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t end = (uint32_t)runs[i].lid + runs[i].count;

		below->first = runs[i].lid < below->first ? runs[i].lid : below->first;
		below->end = end > below->end ? end : below->end;
	}
}

/* Of what is below a child. */
static const struct lid_runs *lid_runs_below(struct down_rows *b, uint32_t child)
{
	const struct reach_list *list = &b->r->lists[child];
	struct lid_runs *s = &b->of_list[list->number];

	if (s->made)
		return s;
	*s = collect_lid_runs(b, &(struct entries){ .first = list->first, .count = list->count });
	s->made = true;
	return s;
}

/* Each D is below by one child alone: the children's lists add up to the switch's. */
static bool are_apart(const struct down_rows *b, uint32_t sw)
{
	const struct graph_group *downs = graph_downs(b->g, sw);
	uint32_t sum = 0;

	for (unsigned c = 0; c < b->g->switches[sw].ndown; c++)
		if (downs[c].nlive)
			sum += 1 + b->r->lists[downs[c].peer].count;
	return sum == b->r->lists[sw].count;
}

static void fill_apart(struct down_rows *b, struct down_row *below, uint32_t sw)
{
	const struct graph_group *group = graph_downs(b->g, sw),
				 *end = group + b->g->switches[sw].ndown;

	for (; group < end; group++) {
		uint32_t own = b->d->first_run[group->peer];
		struct descent way = { 0 };

		if (!group->nlive)
			continue;
		const struct lid_runs *s = lid_runs_below(b, group->peer);
		prepare_descent(b, sw, &way, group);
		fill_lid_runs(below, b->runs + s->first, s->count, &way);
		fill_lid_runs(below, b->d->runs + own, b->d->first_run[group->peer + 1] - own,
			      &way);
	}
}

/* ---- What is below --------------------------------------------------------------------------- */

/* Where LIDs below begin and end. */
static void find_bounds(struct down_rows *b, uint32_t sw, struct down_row *below)
{
	const struct graph_group *group = graph_downs(b->g, sw),
				 *end = group + b->g->switches[sw].ndown;

	below->first = b->row_bytes;
	below->end = 0;
	for (; group < end; group++) {
		uint32_t own = b->d->first_run[group->peer];

		if (!group->nlive)
			continue;
		const struct lid_runs *s = lid_runs_below(b, group->peer);
		widen(below, b->runs + s->first, s->count);
		widen(below, b->d->runs + own, b->d->first_run[group->peer + 1] - own);
	}
}

/* Notes how far everything below is. */
static void measure(const struct down_rows *b, const struct reach_list *list,
		    struct down_row *below)
{
	uint32_t nhosts = 0;

	memset(below->dist, REACH_NEVER, b->r->cost_bytes);
	for (uint32_t e = list->first; e < list->first + list->count; e++) {
		const struct reach_entry *entry = &b->r->below[e];

		below->dist[entry->sw] = entry->dist;
		nhosts += b->g->switches[entry->sw].nhosts > 0;
	}
	below->complete = nhosts == b->nhosts;
}

static void make_below(struct down_rows *b, uint32_t sw, struct down_row *below)
{
	if (!below->link) {
		below->link = mem_alloc_unset(b->row_bytes, 1);
		below->dist = mem_alloc_unset(b->r->cost_bytes, 1);
	}
	find_bounds(b, sw, below);
	if (below->first < below->end)
		memset(below->link + below->first, BYTEMAP_KEEP, below->end - below->first);
	measure(b, &b->r->lists[sw], below);
	(are_apart(b, sw) ? fill_apart : fill_children)(b, below, sw);
}

const struct down_row *down_rows_of(struct down_rows *b, uint32_t sw)
{
	uint32_t equivalent = b->r->equivalent[sw];
	struct down_row *below = equivalent == TOPO_NONE ? &b->alone : &b->shared[equivalent];

	if (equivalent == TOPO_NONE || !below->link)
		make_below(b, sw, below);
	return below;
}

/* ---- Ports ----------------------------------------------------------------------------------- */

static uint8_t descent_port(const struct down_rows *b, const struct descent *way, uint32_t lid)
{
	return choice_lane_port(b->g, way->group, way->digits[lid], b->d->order[lid] / way->spread);
}

static bool has_link(const struct descent *way, unsigned link)
{
	return way->group && link >= way->link && link < way->link + (unsigned)way->group->nlanes;
}

static void replace_dead(struct down_rows *b, const struct down_row *below, uint32_t sw,
			 uint8_t *row)
{
	uint8_t *at = row + below->first, *end = row + below->end;
	struct descent way = { 0 };

	for (; (at = memchr(at, DEAD, end - at)); at++) {
		uint8_t link = below->link[at - row];
		const struct graph_group *group = graph_downs(b->g, sw);

		if (link == BYTEMAP_KEEP)
			continue;
		if (!has_link(&way, link)) {
			for (unsigned left = link; left >= group->nlanes; group++)
				left -= group->nlanes;
			prepare_descent(b, sw, &way, group);
		}
		if (way.group->nlanes > 1)
			*at = descent_port(b, &way, at - row);
	}
}

/* Returns how many links lead down. */
static unsigned map_links(const struct down_rows *b, uint32_t sw, uint8_t *port_of_link, bool *dead)
{
	const struct graph_group *downs = graph_downs(b->g, sw),
				 *last = &downs[b->g->switches[sw].ndown - 1];
	const struct graph_lane *lanes = &b->g->lanes[downs->first_lane];
	unsigned links = last->first_lane + last->nlanes - downs->first_lane;

	*dead = false;
	for (unsigned c = 0; c < links; c++) {
		port_of_link[c] = lanes[c].live ? lanes[c].port : DEAD;
		*dead |= !lanes[c].live;
	}
	return links;
}

static void map_below(struct down_rows *b, const struct down_row *below, uint32_t sw, uint8_t *row,
		      __typeof__(bytemap) *map)
{
	uint8_t port_of_link[256] = { 0 };
	bool dead;
	unsigned links = map_links(b, sw, port_of_link, &dead);

	if (below->first >= below->end)
		return;
	map(row + below->first, below->link + below->first, below->end - below->first, port_of_link,
	    links);
	if (dead)
		replace_dead(b, below, sw, row);
}

void down_rows_overlay(struct down_rows *b, const struct down_row *below, uint32_t sw, uint8_t *row)
{
	map_below(b, below, sw, row, bytemap_over);
}

_Static_assert(BYTEMAP_KEEP == TABLES_NO_ROUTE, "what is not below has no path");

void down_rows_fill(struct down_rows *b, const struct down_row *below, uint32_t sw, uint8_t *row)
{
	uint32_t first = below->first < below->end ? below->first : b->row_bytes;

	memset(row, TABLES_NO_ROUTE, first);
	if (first < b->row_bytes)
		memset(row + below->end, TABLES_NO_ROUTE, b->row_bytes - below->end);
	map_below(b, below, sw, row, bytemap);
}
