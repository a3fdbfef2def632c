/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rows: forwarding rows, family by family from the top.
 *
 * A member's row is its family's slot row translated to its own ports, then overlaid with what is
 * particular to it: patch    destinations whose slot is dead at this very switch choose again among
 * its live parents below    destinations under it go down: once a packet could go down it must, or
 * a path might go down and up again itself   its hosts' ports, and port 0 Costs are completed on
 * the way: a switch that is somebody's parent leaves its row of costs before its children are
 * reached.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/bytemap.h"
#include "routing/choice.h"
#include "topology/mem.h"

#define ROWS_DEAD 254 /* in a half-made row: the slot is dead here, choose again */

struct rows {
	const struct graph *g;
	const struct dests *d;
	struct reach *r;
	struct tables *out;
	struct choice choice;
	struct holes *holes;
	uint8_t *row;	       /* where each row is made */
	struct pattern *below; /* by set of twins */
	struct probe *probes;  /* destinations with hosts first */
	uint32_t nprobes, nwith_hosts;
};

struct probe { /* a destination switch, and a LID behind it that tells whether it has a way */
	uint32_t d, lid;
};

struct pattern { /* the row of what is below a set of twins, in cable numbers instead of ports */
	uint8_t *row;
	uint32_t first, end; /* LIDs outside are BYTEMAP_KEEP */
};

struct member { /* the switch whose row is being made */
	uint32_t sw;
	uint8_t *row;
	const struct graph_group
		*by_parent[256]; /* live up groups by parent number, NULL = dead or absent */
	struct parent_set live;
	uint8_t port_of_slot[256];
	bool pattern; /* the row is of cable numbers: a switch's down cables, group by group */
};

/* ---- Lanes ------------------------------------------------------------------------------------- */

/*
 * The port of lane `wanted`. A dead lane's destinations go on to the lanes after it, by `spread`: those
 * of different dead lanes to different ones, and none moves because some other lane died.
 */
static uint8_t lane_port(const struct graph *g, const struct graph_group *group, unsigned wanted,
			 uint32_t spread)
{
	const struct graph_lane *lanes = &g->lanes[group->first_lane];
	unsigned n = group->nlanes, lane = wanted % n;

	for (unsigned try = 0; !lanes[lane].live && try < n - 1; try++)
		lane = (wanted + 1 + (spread + try) % (n - 1)) % n;
	return lanes[lane].port;
}

/* ---- Up: slots to ports, and the patch --------------------------------------------------------- */

static void find_live_parents(const struct rows *w, struct member *m)
{
	const struct graph_group *ups = graph_ups(w->g, m->sw);

	memset(m->by_parent, 0, w->choice.family->nparents * sizeof(*m->by_parent));
	m->live = (struct parent_set){ { 0 } };
	for (unsigned i = 0; i < w->g->switches[m->sw].nup; i++) {
		if (!ups[i].nlive || ups[i].slot >= w->choice.family->nparents)
			continue;
		m->by_parent[ups[i].slot] = &ups[i];
		m->live.word[ups[i].slot / 64] |= 1ull << (ups[i].slot % 64);
	}
}

/* Returns whether some slot is dead here. */
static bool map_slots(const struct rows *w, struct member *m)
{
	const struct graph_slot *slots = &w->g->slots[w->choice.family->first_slot];
	bool dead = false;

	memset(m->port_of_slot, TABLES_NO_ROUTE, sizeof(m->port_of_slot));
	for (unsigned s = 0; s < w->choice.family->nslots; s++) {
		const struct graph_group *group = m->by_parent[slots[s].parent];
		const struct graph_lane *lane =
			group ? &w->g->lanes[group->first_lane + slots[s].lane] : NULL;
		bool live = group && slots[s].lane < group->nlanes && lane->live;

		m->port_of_slot[s] = live ? lane->port : ROWS_DEAD;
		dead |= !live;
	}
	return dead;
}

/* The member's own candidates: the family's that are alive here, else its nearest live parents. */
static struct parent_set own_candidates(const struct rows *w, const struct member *m, uint32_t d)
{
	struct parent_set set = choice_candidates(&w->choice, d);
	uint64_t any = 0;
	uint8_t best = REACH_NEVER;

	for (unsigned i = 0; i < CHOICE_WORDS; i++)
		any |= set.word[i] &= m->live.word[i];
	if (any)
		return set;
	for (unsigned p = 0; p < w->choice.family->nparents; p++) {
		if (!m->by_parent[p])
			continue;
		uint8_t cost = reach_cost(w->r, w->g, m->by_parent[p]->peer)[d];
		if (cost < best) {
			best = cost;
			set = (struct parent_set){ { 0 } };
		}
		if (cost == best && cost != REACH_NEVER)
			set.word[p / 64] |= 1ull << (p % 64);
	}
	return set;
}

static bool set_empty(const struct parent_set *set)
{
	return !(set->word[0] | set->word[1] | set->word[2] | set->word[3]);
}

static uint8_t patched_port(const struct rows *w, const struct member *m, uint16_t lid,
			    const struct parent_set *set)
{
	const struct graph_family *family = w->choice.family;
	uint32_t x = w->d->order[lid] / family->pitch;
	const struct graph_slot *slot;

	if (set_empty(set))
		return TABLES_NO_ROUTE;
	slot = &w->g->slots[family->first_slot + choice_slot(&w->choice, lid, set)];
	return lane_port(w->g, m->by_parent[slot->parent], slot->lane, x / family->nslots);
}

static void patch_dead(const struct rows *w, struct member *m)
{
	struct parent_set set;
	uint32_t set_of = TOPO_NONE;
	uint8_t *at = m->row, *end = m->row + w->d->top + 1;

	while ((at = memchr(at, ROWS_DEAD, end - at))) {
		uint16_t lid = at - m->row;

		if (w->d->sw[lid] != set_of) {
			set_of = w->d->sw[lid];
			set = own_candidates(w, m, set_of);
		}
		*at++ = patched_port(w, m, lid, &set);
	}
}

/* ---- Down -------------------------------------------------------------------------------------- */

struct descent { /* the way down by one group of cables */
	const struct graph_group *group;
	const uint8_t *digits; /* by LID: the lane wanted */
	const uint8_t *spare;  /* by LID: the lane to take where that is dead */
	uint32_t spread;       /* order / spread deals a dead lane's LIDs */
	bool all_live;
	uint8_t port[256]; /* by lane, when all live */
};

/* Cables are numbered group by group; lanes of all groups of a switch stand side by side. */
static unsigned cable_number(const struct graph *g, uint32_t sw, const struct graph_group *group)
{
	return group->first_lane - graph_downs(g, sw)[0].first_lane;
}

static void prepare_descent(struct rows *w, const struct member *m, struct descent *way,
			    const struct graph_group *group)
{
	const struct graph_family *family = &w->g->families[w->g->switches[group->peer].family];
	uint32_t pitch = family->pitch * (family->nparents ? family->nparents : 1);

	way->group = group;
	way->all_live = group->nlive == group->nlanes;
	way->spread = pitch * group->nlanes;
	for (unsigned l = 0; l < group->nlanes; l++)
		way->port[l] = m->pattern ? cable_number(w->g, m->sw, group) + l
					  : w->g->lanes[group->first_lane + l].port;
	if (group->nlanes > 1)
		way->digits = choice_lanes(&w->choice, group->peer, group, &way->spare);
}

static uint8_t descent_port(const struct rows *w, const struct descent *way, uint32_t lid)
{
	const struct graph_lane *lanes = &w->g->lanes[way->group->first_lane];
	unsigned wanted = way->digits[lid], spare = way->spare[lid];

	if (!lanes[wanted].live && spare < way->group->nlanes && lanes[spare].live)
		return lanes[spare].port;
	return lane_port(w->g, way->group, wanted, w->d->order[lid] / way->spread);
}

static void fill_run(struct rows *w, struct member *m, const struct dest_run *run,
		     const struct descent *way)
{
	const struct graph_group *group = way->group;

	if (!run->count)
		return;
	if (group->nlanes == 1) {
		memset(m->row + run->lid, way->port[0], run->count);
	} else if (way->all_live) {
		bytemap(m->row + run->lid, way->digits + run->lid, run->count, way->port,
			group->nlanes);
	} else {
		for (uint32_t lid = run->lid; lid < (uint32_t)run->lid + run->count; lid++)
			m->row[lid] = descent_port(w, way, lid);
	}
}

/* Several children lead to D equally well: deal its LIDs over them. */
static void fill_multi(struct rows *w, struct member *m, const struct reach_entry *entry)
{
	const struct graph_group *downs = graph_downs(w->g, m->sw), *candidates[UINT8_MAX];
	unsigned n = 0;

	for (unsigned c = 0; c < w->g->switches[m->sw].ndown; c++) {
		const struct reach_entry *below = reach_find(w->r, downs[c].peer, entry->sw);
		unsigned dist = downs[c].peer == entry->sw ? 1
				: below			   ? below->dist + 1
							   : REACH_NEVER;

		if (downs[c].nlive && dist == entry->dist)
			candidates[n++] = &downs[c];
	}
	for (uint32_t r = w->d->first_run[entry->sw]; r < w->d->first_run[entry->sw + 1]; r++) {
		const struct dest_run *run = &w->d->runs[r];

		for (uint32_t lid = run->lid; lid < (uint32_t)run->lid + run->count; lid++) {
			struct dest_run one = { lid, 1 };
			struct descent way;

			prepare_descent(w, m, &way, candidates[w->d->order[lid] % n]);
			fill_run(w, m, &one, &way);
		}
	}
}

/* `run` goes the way of those before it: they are filled at one stroke where their LIDs follow each other. */
static void extend_run(struct rows *w, struct member *m, struct dest_run *pending,
		       const struct dest_run *run, const struct descent *way)
{
	if (run->lid != pending->lid + pending->count) {
		fill_run(w, m, pending, way);
		*pending = (struct dest_run){ run->lid, 0 };
	}
	pending->count += run->count;
}

static void overlay_each(struct rows *w, struct member *m)
{
	const struct reach_list *list = &w->r->lists[m->sw];
	const struct graph_group *downs = graph_downs(w->g, m->sw);
	struct dest_run pending = { 0 };
	struct descent way = { 0 };

	for (uint32_t e = list->first; e < list->first + list->count; e++) {
		const struct reach_entry *entry = &w->r->below[e];

		if (entry->child == REACH_MULTI) {
			fill_multi(w, m, entry);
			continue;
		}
		if (way.group != &downs[entry->child]) {
			fill_run(w, m, &pending, &way);
			pending.count = 0;
			prepare_descent(w, m, &way, &downs[entry->child]);
		}
		for (uint32_t r = w->d->first_run[entry->sw]; r < w->d->first_run[entry->sw + 1];
		     r++)
			extend_run(w, m, &pending, &w->d->runs[r], &way);
	}
	fill_run(w, m, &pending, &way);
}

static void find_bounds(const struct rows *w, uint32_t sw, struct pattern *pattern)
{
	const struct reach_list *list = &w->r->lists[sw];

	pattern->first = w->out->stride;
	for (uint32_t e = list->first; e < list->first + list->count; e++) {
		uint32_t d = w->r->below[e].sw;

		for (uint32_t r = w->d->first_run[d]; r < w->d->first_run[d + 1]; r++) {
			const struct dest_run *run = &w->d->runs[r];
			uint32_t end = run->lid + run->count;

			pattern->first = run->lid < pattern->first ? run->lid : pattern->first;
			pattern->end = end > pattern->end ? end : pattern->end;
		}
	}
}

/* Made for the first of the twins. */
static const struct pattern *twins_pattern(struct rows *w, uint32_t sw)
{
	struct pattern *pattern = &w->below[w->r->twins[sw]];

	if (!pattern->row) {
		struct member m = { .sw = sw,
				    .row = mem_alloc(w->out->stride, 1),
				    .pattern = true };

		memset(m.row, BYTEMAP_KEEP, w->out->stride);
		overlay_each(w, &m);
		pattern->row = m.row;
		find_bounds(w, sw, pattern);
	}
	return pattern;
}

/* Lanes of all groups down stand side by side. */
static unsigned ports_of_cables(const struct graph *g, uint32_t sw, uint8_t port_of_cable[256])
{
	const struct graph_switch *s = &g->switches[sw];
	const struct graph_group *downs = graph_downs(g, sw), *last = &downs[s->ndown - 1];
	unsigned cables = last->first_lane + last->nlanes - downs->first_lane;

	for (unsigned c = 0; c < cables; c++)
		port_of_cable[c] = g->lanes[downs->first_lane + c].port;
	return cables;
}

static bool has_twins(const struct rows *w, uint32_t sw)
{
	return w->g->switches[sw].ndown && w->r->twins[sw] != TOPO_NONE;
}

static void overlay_below(struct rows *w, struct member *m)
{
	uint8_t port_of_cable[256];

	if (has_twins(w, m->sw)) {
		unsigned cables = ports_of_cables(w->g, m->sw, port_of_cable);
		const struct pattern *below = twins_pattern(w, m->sw);

		if (below->first < below->end)
			bytemap_over(m->row + below->first, below->row + below->first,
				     below->end - below->first, port_of_cable, cables);
	} else if (w->g->switches[m->sw].ndown) {
		overlay_each(w, m);
	}
}

/* At the top everything is below: one pass makes the row (BYTEMAP_KEEP stays, and is TABLES_NO_ROUTE). */
static void make_top_row(struct rows *w, struct member *m)
{
	uint8_t port_of_cable[256] = { 0 };
	unsigned cables = ports_of_cables(w->g, m->sw, port_of_cable);

	bytemap(m->row, twins_pattern(w, m->sw)->row, w->out->stride, port_of_cable, cables);
}

static void overlay_itself(const struct rows *w, struct member *m)
{
	for (uint32_t r = w->d->first_run[m->sw]; r < w->d->first_run[m->sw + 1]; r++)
		memcpy(m->row + w->d->runs[r].lid, w->d->port + w->d->runs[r].lid,
		       w->d->runs[r].count);
}

/* ---- Costs ------------------------------------------------------------------------------------- */

/* For its children: hops from this switch to everywhere; down wins over up, as in the rows. */
static void complete_costs(struct rows *w, const struct member *m)
{
	uint8_t *cost = reach_cost(w->r, w->g, m->sw);
	const struct reach_list *list = &w->r->lists[m->sw];
	uint32_t n = w->g->nswitches;

	memcpy(cost, w->choice.cost, n);
	if (w->g->switches[m->sw].ndead) {
		memset(cost, REACH_NEVER, n);
		for (unsigned p = 0; p < w->choice.family->nparents; p++) {
			if (!m->by_parent[p])
				continue;
			const uint8_t *parent = reach_cost(w->r, w->g, m->by_parent[p]->peer);
			for (uint32_t d = 0; d < n; d++) {
				uint8_t mine =
					parent[d] == REACH_NEVER ? REACH_NEVER : parent[d] + 1;
				cost[d] = mine < cost[d] ? mine : cost[d];
			}
		}
	}
	for (uint32_t e = list->first; e < list->first + list->count; e++)
		cost[w->r->below[e].sw] = w->r->below[e].dist;
	cost[m->sw] = 0;
}

static void add_hole(struct holes *holes, uint32_t sw, uint32_t d, bool hosts_at_both)
{
	holes->host_pairs += hosts_at_both;
	if (holes->count == HOLES_MAX)
		return;
	if (!(holes->count & (holes->count - 1))) /* room for the next power of two */
		holes->list = mem_resize(holes->list, holes->count ? holes->count * 2 : 1,
					 sizeof(*holes->list));
	holes->list[holes->count++] = (struct hole){ sw, d };
}

static void add_probes(struct rows *w, bool with_hosts)
{
	for (uint32_t d = 0; d < w->g->nswitches; d++) {
		uint32_t run = w->d->first_run[d];

		if (run < w->d->first_run[d + 1] && with_hosts == (w->g->switches[d].nhosts > 0))
			w->probes[w->nprobes++] = (struct probe){ d, w->d->runs[run].lid };
	}
}

static void make_probes(struct rows *w)
{
	w->probes = mem_alloc(w->g->nswitches + 1, sizeof(*w->probes));
	add_probes(w, true);
	w->nwith_hosts = w->nprobes;
	add_probes(w, false);
}

static void list_holes(struct rows *w, const struct member *m)
{
	bool source = w->g->switches[m->sw].nhosts;
	uint32_t n = source ? w->nprobes : w->nwith_hosts;

	for (uint32_t i = 0; i < n; i++)
		if (m->row[w->probes[i].lid] == TABLES_NO_ROUTE && w->probes[i].d != m->sw)
			add_hole(w->holes, m->sw, w->probes[i].d, source && i < w->nwith_hosts);
}

/* ---- All rows ---------------------------------------------------------------------------------- */

/* Up by slots, then what is below. Returns whether some slot is dead here. */
static bool make_up_and_down(struct rows *w, struct member *m)
{
	bool dead;

	find_live_parents(w, m);
	dead = map_slots(w, m);
	bytemap(m->row, w->choice.slots, w->out->stride, m->port_of_slot, w->choice.family->nslots);
	if (dead)
		patch_dead(w, m);
	overlay_below(w, m);
	return dead;
}

static void make_row(struct rows *w, uint32_t sw)
{
	struct member m = { .sw = sw, .row = w->row };
	bool dead = false;

	if (!w->choice.family->nslots && has_twins(w, sw))
		make_top_row(w, &m);
	else
		dead = make_up_and_down(w, &m);
	overlay_itself(w, &m);
	if (w->r->cost_row[sw] != TOPO_NONE)
		complete_costs(w, &m);
	if (dead || w->choice.has_never_hosts || (w->choice.has_never && w->g->switches[sw].nhosts))
		list_holes(w, &m);
	tables_store_row(w->out, sw, m.row);
}

static void make_family(struct rows *w, uint32_t number)
{
	const struct graph_family *family = &w->g->families[number];

	choice_family(&w->choice, family);
	for (uint32_t i = 0; i < family->nmembers; i++)
		make_row(w, w->g->members[family->first_member + i]);
}

void rows_fill(const struct graph *g, const struct dests *d, struct reach *r, struct tables *out,
	       struct holes *holes)
{
	struct rows w = { .g = g, .d = d, .r = r, .out = out, .holes = holes };
	bool *done = mem_alloc(g->nfamilies + 1, sizeof(*done));

	*holes = (struct holes){ 0 };
	choice_init(&w.choice, g, d, r, out->stride);
	make_probes(&w);
	w.row = mem_alloc(out->stride, 1);
	w.below = mem_alloc(r->ntwins + 1, sizeof(*w.below));
	for (uint32_t i = g->nswitches; i-- > 0;) {
		uint32_t family = g->switches[g->by_rank[i]].family;

		if (!done[family])
			make_family(&w, family);
		done[family] = true;
	}
	for (uint32_t i = 0; i < r->ntwins; i++)
		free(w.below[i].row);
	free(w.below);
	free(w.row);
	free(w.probes);
	choice_fini(&w.choice);
	free(done);
}

void holes_fini(struct holes *holes)
{
	free(holes->list);
	*holes = (struct holes){ 0 };
}
