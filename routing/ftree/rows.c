/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rows: forwarding rows, family by family from the top.
 *
 * A member's row is its family's slot row translated to its own ports, then overlaid with what is
 * particular to it:
 *   patch   destinations whose slot is dead at this very switch choose again among its live parents
 *   below   destinations under it go down: once a packet could go down it must, or a path might go
 *           down and up again
 *   itself  its hosts' ports, and port 0
 * Costs are completed on the way: a switch that is somebody's parent leaves its row of costs before
 * its children are reached. Rows of large tables are made in one place and stored past the cache.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/ftree/down_rows.h"
#include "routing/bytemap.h"
#include "routing/ftree/choice.h"
#include "routing/ftree/pivot.h"
#include "topology/base/mem.h"

/* Tables of fewer bytes stay in the cache for whoever reads them next. */
#define ROWS_IN_CACHE (4u << 20)
#define ROW_NS	      1000 /* to make a row, besides its bytes.. */
#define CHOICE_NS     60   /* ..and each LID that takes another path than usual */
#define ROWS_DEAD     254  /* in a half-made row: the slot is dead here, choose again */

struct rows {
	const struct graph *g;
	const struct dests *d;
	struct reach *r;
	struct tables *out;
	struct choice choice;
	struct gaps *gaps;
	struct down_rows down_rows;
	uint8_t *row;	      /* where each row is made; NULL = in place */
	uint8_t *unused;      /* for results that nobody asks for */
	struct probe *probes; /* destinations with hosts first */
	uint32_t nprobes, nwith_hosts;
};

struct probe { /* a destination switch, and a LID behind it that tells whether it has a path */
	uint32_t d, lid;
};

struct member { /* the switch whose row is being made */
	uint32_t sw;
	uint8_t *row;
	const struct graph_group *ups;
	bool complete; /* up group p leads to parent p, and all are alive */
	uint8_t group_of
		/* by parent number, unless complete: live up group + 1, 0 = dead or absent */
		[256];
	uint8_t port_of_slot[256];
};

/* ---- Up: slots to ports, and the patch ------------------------------------------------------- */

static void find_live_parents(const struct rows *w, struct member *m)
{
	const struct graph_switch *s = &w->g->switches[m->sw];
	unsigned nparents = w->choice.family->nparents;

	m->ups = graph_ups(w->g, m->sw);
	m->complete = !s->ndead && s->nup == nparents &&
		      (!s->nup || m->ups[s->nup - 1].slot == s->nup - 1);
	if (m->complete)
		return;
	memset(m->group_of, 0, nparents);
	for (unsigned i = 0; i < s->nup; i++)
		if (m->ups[i].nlive && m->ups[i].slot < nparents)
			m->group_of[m->ups[i].slot] = i + 1;
}

static const struct graph_group *live_parent(const struct member *m, unsigned parent)
{
	unsigned group = m->complete ? parent + 1 : m->group_of[parent];

	return group ? &m->ups[group - 1] : NULL;
}

static void map_whole(const struct rows *w, struct member *m)
{
	const struct graph_slot *slots = &w->g->slots[w->choice.family->first_slot];

	for (unsigned s = 0; s < w->choice.family->nslots; s++)
		m->port_of_slot[s] =
			w->g->lanes[m->ups[slots[s].parent].first_lane + slots[s].lane].port;
}

/* Returns whether some slot is dead here. */
static bool map_slots(const struct rows *w, struct member *m)
{
	const struct graph_slot *slots = &w->g->slots[w->choice.family->first_slot];
	bool dead = false;

	memset(m->port_of_slot, TABLES_NO_ROUTE, sizeof(m->port_of_slot));
	if (w->g->switches[m->sw].whole) {
		map_whole(w, m);
		return false;
	}
	for (unsigned s = 0; s < w->choice.family->nslots; s++) {
		const struct graph_group *group = live_parent(m, slots[s].parent);
		const struct graph_lane *lane =
			group ? &w->g->lanes[group->first_lane + slots[s].lane] : NULL;
		bool live = group && slots[s].lane < group->nlanes && lane->live;

		m->port_of_slot[s] = live ? lane->port : ROWS_DEAD;
		dead |= !live;
	}
	return dead;
}

static struct parent_set live_parents(const struct rows *w, const struct member *m)
{
	struct parent_set live = { { 0 } };

	for (unsigned p = 0; p < w->choice.family->nparents; p++)
		if (live_parent(m, p))
			live.word[p / 64] |= 1ull << (p % 64);
	return live;
}

/* The member's own candidates: the family's that are alive here, else its nearest live parents. */
static struct parent_set own_candidates(const struct rows *w, const struct member *m,
					const struct parent_set *live, uint32_t d)
{
	struct parent_set set = choice_candidates(&w->choice, d);
	uint64_t any = 0;
	uint8_t best = REACH_NEVER;

	for (unsigned i = 0; i < CHOICE_WORDS; i++)
		any |= set.word[i] &= live->word[i];
	if (any)
		return set;
	for (unsigned p = 0; p < w->choice.family->nparents; p++) {
		if (!parent_in(live, p))
			continue;
		uint8_t cost = reach_cost(w->r, w->g, live_parent(m, p)->peer)[d];
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

static uint8_t patched_port(struct rows *w, const struct member *m, uint16_t lid,
			    const struct parent_set *set)
{
	const struct graph_family *family = w->choice.family;
	uint32_t x = w->d->order[lid] / family->pitch;
	const struct graph_slot *slot;

	if (set_empty(set))
		return TABLES_NO_ROUTE;
	slot = &w->g->slots[family->first_slot + choice_slot(&w->choice, lid, set)];
	return choice_lane_port(w->g, live_parent(m, slot->parent), slot->lane, x / family->nslots);
}

static void patch_dead(struct rows *w, struct member *m)
{
	struct parent_set live = live_parents(w, m), set;
	uint32_t set_of = TOPO_NONE, patched = 0;
	uint8_t *at = m->row, *end = m->row + w->d->top + 1;

	while ((at = memchr(at, ROWS_DEAD, end - at))) {
		uint16_t lid = at - m->row;

		if (w->d->sw[lid] != set_of) {
			set_of = w->d->sw[lid];
			set = own_candidates(w, m, &live, set_of);
		}
		*at++ = patched_port(w, m, lid, &set);
		patched++;
	}
	fiber_spend(w->r->fiber, patched * CHOICE_NS);
}

/* Of a switch with a path up. Returns whether some slot is dead here. */
static bool make_up(struct rows *w, struct member *m)
{
	bool dead;

	find_live_parents(w, m);
	dead = map_slots(w, m);
	bytemap(m->row, w->choice.slots, w->out->stride, m->port_of_slot, w->choice.family->nslots);
	if (dead)
		patch_dead(w, m);
	return dead;
}

static void overlay_itself(const struct rows *w, struct member *m)
{
	for (uint32_t r = w->d->first_run[m->sw]; r < w->d->first_run[m->sw + 1]; r++) {
		uint32_t lid = w->d->runs[r].lid, n = w->d->runs[r].count;

		m->row[lid] = w->d->port[lid];
		if (n > 1) /* but for a leaf's hosts it is one */
			memcpy(m->row + lid, w->d->port + lid, n);
	}
}

/* ---- Costs ----------------------------------------------------------------------------------- */

/* By its own live parents, where those are not the family's. */
static void nearest_parents(const struct rows *w, const struct member *m, uint8_t *cost)
{
	const uint8_t *rows[UINT8_MAX];
	unsigned n = 0;

	for (unsigned p = 0; p < w->choice.family->nparents; p++)
		if (live_parent(m, p))
			rows[n++] = reach_cost(w->r, w->g, live_parent(m, p)->peer);
	nearest_find(rows, n, w->r->cost_bytes,
		     &(struct nearest){ .cost = cost, .count = w->unused, .last = w->unused });
}

/* For its children: hops from this switch to everywhere; down wins over up, as in the rows. */
static void complete_costs(const struct rows *w, const struct member *m,
			   const struct down_row *below)
{
	uint8_t *restrict cost = reach_cost(w->r, w->g, m->sw);
	const uint8_t *restrict down = below->dist;
	uint32_t n = w->r->cost_bytes;

	if (w->g->switches[m->sw].ndead)
		nearest_parents(w, m, cost);
	else
		memcpy(cost, w->choice.nearest.cost, n);
	for (uint32_t d = 0; d < n; d++)
		cost[d] = down[d] == REACH_NEVER ? cost[d] : down[d];
	cost[m->sw] = 0;
}

static void add_gap(struct gaps *gaps, uint32_t sw, uint32_t d, bool hosts_at_both)
{
	gaps->host_pairs += hosts_at_both;
	if (gaps->count == GAPS_MAX)
		return;
	if (!(gaps->count & (gaps->count - 1))) /* room for the next power of two */
		gaps->list = mem_resize(gaps->list, gaps->count ? gaps->count * 2 : 1,
					sizeof(*gaps->list));
	gaps->list[gaps->count++] = (struct gap){ .sw = sw, .d = d };
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

static void list_gaps(struct rows *w, const struct member *m)
{
	bool source = w->g->switches[m->sw].nhosts;
	uint32_t n = source ? w->nprobes : w->nwith_hosts;

	for (uint32_t i = 0; i < n; i++)
		if (m->row[w->probes[i].lid] == TABLES_NO_ROUTE && w->probes[i].d != m->sw)
			add_gap(w->gaps, m->sw, w->probes[i].d, source && i < w->nwith_hosts);
}

/*
 * Fills gaps by pivots, except those between two switches with hosts: these stay gaps, for which
 * detours are searched one by one.
 */
static void send_to_pivots(struct rows *w, const struct member *m, bool dead)
{
	const struct pivots *pivots = w->r->pivots;
	bool some = !w->g->switches[m->sw].nhosts && (dead || w->choice.has_never_hosts);

	pivots_fill(pivots, m->sw, m->row);
	for (uint32_t i = 0; some && i < w->nwith_hosts; i++)
		if (m->row[w->probes[i].lid] == TABLES_NO_ROUTE)
			pivots_fill_dest(pivots, w->d, m->sw, w->probes[i].d, m->row);
}

/* ---- All rows -------------------------------------------------------------------------------- */

/* below: NULL = nothing. */
static bool may_have_gaps(const struct rows *w, uint32_t sw, const struct down_row *below,
			  bool dead)
{
	bool hosts = w->g->switches[sw].nhosts;

	if (below && below->complete && !hosts)
		return false;
	return dead || w->choice.has_never_hosts || (w->choice.has_never && hosts);
}

static void make_row(struct rows *w, uint32_t sw)
{
	struct member m = { .sw = sw, .row = w->row ? w->row : tables_row(w->out, sw) };
	const struct down_row *below =
		w->g->switches[sw].ndown ? down_rows_of(&w->down_rows, sw) : NULL;
	bool dead = false;

	if (w->choice.family->nslots) {
		dead = make_up(w, &m);
		if (below)
			down_rows_overlay(&w->down_rows, below, sw, m.row);
	} else if (below) {
		down_rows_fill(&w->down_rows, below, sw, m.row);
	} else {
		memset(m.row, TABLES_NO_ROUTE, w->out->stride);
	}
	if (w->r->pivots && (dead || w->choice.has_never))
		send_to_pivots(w, &m, dead);
	overlay_itself(w, &m);
	if (below)
		complete_costs(w, &m, below);
	if (may_have_gaps(w, sw, below, dead))
		list_gaps(w, &m);
	if (w->row)
		tables_store_row(w->out, sw, m.row);
	fiber_spend(w->r->fiber, ROW_NS + w->out->stride / 4);
}

static void make_family(struct rows *w, uint32_t number)
{
	const struct graph_family *family = &w->g->families[number];

	choice_family(&w->choice, family);
	fiber_spend(w->r->fiber, w->choice.chosen * CHOICE_NS);
	for (uint32_t i = 0; i < family->nmembers; i++)
		make_row(w, w->g->members[family->first_member + i]);
}

void rows_fill(const struct graph *g, const struct dests *d, struct reach *r, struct tables *out,
	       struct gaps *gaps)
{
	struct rows w = { .g = g, .d = d, .r = r, .out = out, .gaps = gaps };
	bool *done = mem_alloc(g->nfamilies + 1, sizeof(*done));

	*gaps = (struct gaps){ 0 };
	choice_init(&w.choice, g, d, r, out->stride);
	make_probes(&w);
	down_rows_init(&w.down_rows, &w.choice, out->stride);
	if ((size_t)out->nswitches * out->stride > ROWS_IN_CACHE)
		w.row = mem_alloc_unset(out->stride, 1);
	w.unused = mem_alloc_unset(r->cost_bytes, 1);
	for (uint32_t i = g->nswitches; i-- > 0;) {
		uint32_t family = g->switches[g->by_rank[i]].family;

		if (!done[family])
			make_family(&w, family);
		done[family] = true;
	}
	down_rows_fini(&w.down_rows);
	free(w.row);
	free(w.unused);
	free(w.probes);
	choice_fini(&w.choice);
	free(done);
}

void gaps_fini(struct gaps *gaps)
{
	free(gaps->list);
	*gaps = (struct gaps){ 0 };
}
