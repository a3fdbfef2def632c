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
 *
 * After a fault most rows are what they were. A row without dead slots and lanes follows from few
 * things (hash_of()): where the tables still hold the row made from the same, it stays.
 */
#include "routing/bytemap.h"
#include "routing/ftree/choice.h"
#include "routing/ftree/pivot.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/* ---- The part of a row that goes down -------------------------------------------------------- */

/*
 * The link down that a LID prefers does not depend on port numbers or on dead lanes: switches with
 * the same children (equivalent switches) share one row of link numbers, and each translates it to
 * its own ports. A row of links is filled child by child, in runs as long as LIDs follow each
 * other: in the order of a regular fabric's leaves that is one run for a whole pod. Where the
 * wanted child or lane is dead, a LID takes another by its number, and no other moves.
 */

struct down_row {
	uint8_t *link; /* by LID: number of the preferred link down; BYTEMAP_KEEP = not below */
	uint32_t first, end; /* LIDs below are first .. end - 1; others have no link set */
	uint8_t *dist;	     /* by D: hops; REACH_NEVER = not below */
	uint64_t hash;	     /* of the links */
	bool complete;	     /* all switches with hosts are below */
};

struct lid_runs {	       /* LIDs in as few runs as they make */
	uint32_t first, count; /* in down_rows.runs */
	bool made;
};

struct down_rows {
	struct choice *choice; /* not owned */
	const struct graph *g;
	const struct dests *d;
	const struct reach *r;
	uint32_t row_bytes;
	struct down_row *shared;	  /* by set of equivalent switches */
	struct down_row alone;		  /* of the latest switch without equivalent */
	uint32_t *by_child, *first_entry; /* scratch: entries of a list, child by child */
	struct lid_runs *of_list;	  /* by number of the list: what is behind its entries */
	struct dest_run *runs;
	uint32_t nruns, capacity;
	uint32_t nhosts; /* switches with hosts */
};

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

/* Without rows so far; `choice` is borrowed until down_rows_fini(), which frees the rows. */
static void down_rows_init(struct down_rows *b, struct choice *choice, uint32_t row_bytes)
{
	uint32_t n = choice->g->nswitches;

	*b = (struct down_rows){ .choice = choice,
				 .g = choice->g,
				 .d = choice->d,
				 .r = choice->r,
				 .row_bytes = row_bytes,
				 .capacity = 64 };
	b->runs = mem_array_unset(b->runs, b->capacity);
	b->shared = mem_array(b->shared, b->r->nequivalent + 1);
	b->by_child = mem_array_unset(b->by_child, n + 1);
	b->first_entry = mem_array_unset(b->first_entry, UINT8_MAX + 2);
	b->of_list = mem_array(b->of_list, b->r->nlists);
	for (uint32_t sw = 0; sw < n; sw++)
		b->nhosts += b->g->switches[sw].nhosts > 0;
}

static void below_fini(struct down_row *below)
{
	free(below->link);
	free(below->dist);
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

static void fill_run(struct down_row *below, const struct dest_run *run, const struct descent *way)
{
	uint8_t *restrict link = below->link + run->lid;

	if (way->group->nlanes == 1) {
		memset(link, way->link, run->count);
		return;
	}
	const uint8_t *restrict digits = way->digits + run->lid;

	for (uint32_t i = 0; i < run->count; i++)
		link[i] = way->link + digits[i];
}

/* Several children lead to D equally well: deal its LIDs over those that do by design. */
static void fill_multi(struct down_rows *b, struct down_row *below, uint32_t sw,
		       const struct reach_entry *entry)
{
	struct children children;
	struct design_row design = design_of(b->choice->design, entry->sw);
	bool as_designed = entry->dist == design.down[sw];

	fiber_spend(b->r->fiber, WAYS_NS + design.made * b->g->nswitches * DESIGN_NS);
	children.n = 0;
	for (unsigned c = 0; c < b->g->switches[sw].ndown; c++) {
		const struct graph_group *child = &graph_downs(b->g, sw)[c];
		bool led = as_designed && design.down[child->peer] + 1 == entry->dist;

		/* Whether a child leads to D at the least distance. */
		const struct reach_entry *on = reach_find(b->r, child->peer, entry->sw);
		unsigned dist = child->peer == entry->sw ? 1 : on ? on->dist + 1 : REACH_NEVER;
		children.live[children.n] = child->nlive && dist == entry->dist;

		children.child[children.n] = child;
		children.n += led || children.live[children.n];
	}

	for (uint32_t r = b->d->first_run[entry->sw]; r < b->d->first_run[entry->sw + 1]; r++) {
		const struct dest_run *run = &b->d->runs[r];

		for (uint32_t lid = run->lid; lid < (uint32_t)run->lid + run->count; lid++) {
			struct dest_run one = { lid, 1 };
			struct descent way = { 0 };

			/* The one wanted; the LIDs of a dead one go on to the others by turns. */
			uint32_t order = b->d->order[lid];
			unsigned n = children.n, wanted = order % n, at = wanted;

			for (uint32_t turn = order / n; !children.live[at]; turn++)
				at = (wanted + 1 + turn % (n - 1)) % n;
			prepare_descent(b, sw, &way, children.child[at]);

			fill_run(below, &one, &way);
		}
	}
}

/* ---- Strokes --------------------------------------------------------------------------------- */

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
		if (run->lid != next) {
			if (b->nruns == b->capacity) {
				b->capacity *= 2;
				b->runs = mem_array_resize(b->runs, b->capacity);
			}
			b->runs[b->nruns++] = (struct dest_run){ run->lid, 0 };
		}
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

static void fill_children(struct down_rows *b, struct down_row *below, uint32_t sw)
{
	const struct graph_group *downs = graph_downs(b->g, sw);
	uint32_t at = 0;

	/* Counting sort, by child. Afterwards child c's entries end at first_entry[c]. */
	const struct reach_list *list = &b->r->lists[sw];
	uint32_t *next = b->first_entry;

	mem_zero(next, UINT8_MAX + 2);
	for (uint32_t e = list->first; e < list->first + list->count; e++)
		next[b->r->below[e].child + 1]++;
	for (unsigned c = 1; c <= UINT8_MAX; c++)
		next[c] += next[c - 1];
	for (uint32_t e = list->first; e < list->first + list->count; e++)
		b->by_child[next[b->r->below[e].child]++] = e;

	for (unsigned c = 0; c < b->g->switches[sw].ndown; c++) {
		struct descent way = { 0 };

		if (at < b->first_entry[c]) {
			prepare_descent(b, sw, &way, &downs[c]);
			struct lid_runs s = collect_lid_runs(
				b, &(struct entries){ .pick = b->by_child + at,
						      .count = b->first_entry[c] - at });

			fill_lid_runs(below, b->runs + s.first, s.count, &way);
			b->nruns = s.first;
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

/* The row of a switch that has links down. Borrowed until the next call. */
static const struct down_row *down_rows_of(struct down_rows *b, uint32_t sw)
{
	uint32_t equivalent = b->r->equivalent[sw];
	struct down_row *below = equivalent == TOPO_NONE ? &b->alone : &b->shared[equivalent];

	if (equivalent != TOPO_NONE && below->link)
		return below;
	if (!below->link) {
		below->link = mem_alloc_unset(b->row_bytes, 1);
		below->dist = mem_alloc_unset(b->r->cost_bytes, 1);
	}
	const struct graph_group *group = graph_downs(b->g, sw),
				 *end = group + b->g->switches[sw].ndown;
	const struct reach_list *list = &b->r->lists[sw];
	uint32_t nhosts = 0, sum = 0;

	below->first = b->row_bytes;
	below->end = 0;
	for (; group < end; group++) {
		uint32_t own = b->d->first_run[group->peer];

		if (!group->nlive)
			continue;
		const struct lid_runs *s = lid_runs_below(b, group->peer);
		widen(below, b->runs + s->first, s->count);
		widen(below, b->d->runs + own, b->d->first_run[group->peer + 1] - own);
		sum += 1 + b->r->lists[group->peer].count;
	}
	if (below->first < below->end)
		memset(below->link + below->first, BYTEMAP_KEEP, below->end - below->first);
	memset(below->dist, REACH_NEVER, b->r->cost_bytes);
	for (uint32_t e = list->first; e < list->first + list->count; e++) {
		const struct reach_entry *entry = &b->r->below[e];

		below->dist[entry->sw] = entry->dist;
		nhosts += b->g->switches[entry->sw].nhosts > 0;
	}
	below->complete = nhosts == b->nhosts;
	/* Each D is below by one child alone where the children's lists add up to the switch's. */
	(sum == list->count ? fill_apart : fill_children)(b, below, sw);
	below->hash = hash_word((uint64_t)below->first << 32 | below->end);
	if (below->first < below->end)
		below->hash = hash_bytes(below->hash, below->link + below->first,
					 below->end - below->first);
	return below;
}

/* ---- Ports ----------------------------------------------------------------------------------- */

struct links {
	uint8_t port[256]; /* by link down; DEAD = it is */
	unsigned count;
	bool dead; /* some are */
};

static void find_links(const struct graph *g, uint32_t sw, struct links *links)
{
	const struct graph_group *downs = graph_downs(g, sw), *last = downs + g->switches[sw].ndown;
	const struct graph_lane *lanes = &g->lanes[downs->first_lane];

	*links = (struct links){ 0 };
	if (last-- == downs)
		return;
	links->count = last->first_lane + last->nlanes - downs->first_lane;
	for (unsigned c = 0; c < links->count; c++) {
		links->port[c] = lanes[c].live ? lanes[c].port : DEAD;
		links->dead |= !lanes[c].live;
	}
}

/* Writes a switch's ports to LIDs below it to its row: by bytemap(), or over what is there. */
static void map_below(struct down_rows *b, const struct down_row *below, const struct links *links,
		      uint32_t sw, uint8_t *row, __typeof__(bytemap) *map)
{
	if (below->first >= below->end)
		return;
	map(row + below->first, below->link + below->first, below->end - below->first, links->port,
	    links->count);
	if (links->dead) {
		uint8_t *at = row + below->first, *end = row + below->end;
		struct descent way = { 0 };

		for (; (at = memchr(at, DEAD, end - at)); at++) {
			uint8_t link = below->link[at - row];
			const struct graph_group *group = graph_downs(b->g, sw);

			if (link == BYTEMAP_KEEP)
				continue;
			if (!way.group || link < way.link ||
			    link >= way.link + (unsigned)way.group->nlanes) {
				for (unsigned left = link; left >= group->nlanes; group++)
					left -= group->nlanes;
				prepare_descent(b, sw, &way, group);
			}
			if (way.group->nlanes > 1)
				*at = choice_lane_port(b->g, way.group, way.digits[at - row],
						       b->d->order[at - row] / way.spread);
		}
	}
}

_Static_assert(BYTEMAP_KEEP == TABLES_NO_ROUTE, "what is not below has no path");

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Tables of fewer bytes stay in the cache for whoever reads them next. */
#define ROWS_IN_CACHE (4u << 20)
#define ROW_NS	      1000 /* to make a row, besides its bytes */
#define CHOICE_NS     60   /* each LID that takes another path than usual */
#define PROBE_NS      20   /* each destination that may have none */
#define GAP_NS	      80   /* each that has none */
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
	uint64_t hash; /* of the probes and the family's row of slots */
};

struct probe { /* a destination switch, and a LID behind it that tells whether it has a path */
	uint32_t d, lid;
};

struct member { /* the switch whose row is being made */
	uint32_t sw;
	uint8_t *row;
	const struct graph_group *ups;
	bool complete; /* up group p leads to parent p, and all are alive */
	bool dead;     /* some slot is, here */
	uint8_t group_of
		/* by parent number, unless complete: live up group + 1, 0 = dead or absent */
		[256];
	uint8_t port_of_slot[256];
};

/* ---- Up: slots to ports, and the patch ------------------------------------------------------- */

static const struct graph_group *live_parent(const struct member *m, unsigned parent)
{
	unsigned group = m->complete ? parent + 1 : m->group_of[parent];

	return group ? &m->ups[group - 1] : NULL;
}

static void map_slots(const struct rows *w, struct member *m)
{
	const struct graph_slot *slots = &w->g->slots[w->choice.family->first_slot];

	memset(m->port_of_slot, TABLES_NO_ROUTE, sizeof(m->port_of_slot));
	if (w->g->switches[m->sw].whole) {
		for (unsigned s = 0; s < w->choice.family->nslots; s++)
			m->port_of_slot[s] =
				w->g->lanes[m->ups[slots[s].parent].first_lane + slots[s].lane]
					.port;

		return;
	}
	for (unsigned s = 0; s < w->choice.family->nslots; s++) {
		const struct graph_group *group = live_parent(m, slots[s].parent);
		const struct graph_lane *lane =
			group ? &w->g->lanes[group->first_lane + slots[s].lane] : NULL;
		bool live = group && slots[s].lane < group->nlanes && lane->live;

		m->port_of_slot[s] = live ? lane->port : ROWS_DEAD;
		m->dead |= !live;
	}
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

/* Of a switch with a path up. */
static void find_ups(const struct rows *w, struct member *m)
{
	const struct graph_switch *s = &w->g->switches[m->sw];
	unsigned nparents = w->choice.family->nparents;

	m->ups = graph_ups(w->g, m->sw);
	m->complete = !s->ndead && s->nup == nparents &&
		      (!s->nup || m->ups[s->nup - 1].slot == s->nup - 1);

	if (!m->complete) {
		memset(m->group_of, 0, nparents);
		for (unsigned i = 0; i < s->nup; i++)
			if (m->ups[i].nlive && m->ups[i].slot < nparents)
				m->group_of[m->ups[i].slot] = i + 1;
	}

	map_slots(w, m);
}

static void make_up(struct rows *w, struct member *m)
{
	bytemap(m->row, w->choice.slots, w->out->stride, m->port_of_slot, w->choice.family->nslots);
	if (m->dead) {
		struct parent_set live = { { 0 } }, set;
		uint32_t set_of = TOPO_NONE, patched = 0;
		uint8_t *at = m->row, *end = m->row + w->d->top + 1;

		for (unsigned p = 0; p < w->choice.family->nparents; p++)
			if (live_parent(m, p))
				live.word[p / 64] |= 1ull << (p % 64);
		while ((at = memchr(at, ROWS_DEAD, end - at))) {
			uint16_t lid = at - m->row;

			if (w->d->sw[lid] != set_of) {
				set_of = w->d->sw[lid];
				set = own_candidates(w, m, &live, set_of);
			}
			patched++;
			if (!(set.word[0] | set.word[1] | set.word[2] | set.word[3])) {
				*at++ = TABLES_NO_ROUTE;
				continue;
			}
			const struct graph_family *family = w->choice.family;
			const struct graph_slot *slot =
				&w->g->slots[family->first_slot +
					     choice_slot(&w->choice, lid, &set)];

			*at++ = choice_lane_port(w->g, live_parent(m, slot->parent), slot->lane,
						 dest_number(w->d, family, lid) / family->nslots);
		}
		fiber_spend(w->r->fiber, patched * CHOICE_NS);
	}
}

/* ---- Costs ----------------------------------------------------------------------------------- */

/* For its children: hops from this switch to everywhere; down wins over up, as in the rows. */
static void complete_costs(const struct rows *w, const struct member *m,
			   const struct down_row *below)
{
	uint8_t *restrict cost = reach_cost(w->r, w->g, m->sw);
	const uint8_t *restrict down = below->dist;
	uint32_t n = w->r->cost_bytes;

	if (w->g->switches[m->sw].ndead) {
		/* By its own live parents, where those are not the family's. */
		const uint8_t *rows[UINT8_MAX];
		unsigned live = 0;

		for (unsigned p = 0; p < w->choice.family->nparents; p++)
			if (live_parent(m, p))
				rows[live++] = reach_cost(w->r, w->g, live_parent(m, p)->peer);
		nearest_find(
			rows, live, w->r->cost_bytes,
			&(struct nearest){ .cost = cost, .count = w->unused, .last = w->unused });
	} else {
		memcpy(cost, w->choice.nearest.cost, n);
	}
	for (uint32_t d = 0; d < n; d++)
		cost[d] = down[d] == REACH_NEVER ? cost[d] : down[d];
	cost[m->sw] = 0;
}

static void add_gap(struct gaps *gaps, uint32_t sw, uint32_t d, bool hosts_at_both)
{
	gaps->host_pairs += hosts_at_both;
	if (gaps->count == GAPS_MAX)
		return;
	gaps->list = mem_grow(gaps->list, gaps->count);
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

/* ---- All rows -------------------------------------------------------------------------------- */

/* Of all that a row follows from, and that its gaps do; 0 = of more than that. */
static uint64_t hash_of(const struct rows *w, const struct member *m, const struct down_row *below,
			const struct links *links)
{
	uint64_t hash = w->hash + (w->g->switches[m->sw].nhosts > 0);

	if (m->dead || links->dead)
		return 0;
	if (w->choice.family->nslots)
		hash = hash_bytes(hash, m->port_of_slot, w->choice.family->nslots);
	if (below)
		hash = hash_bytes(hash + below->hash, links->port, links->count);
	if (w->r->pivots)
		hash = pivots_hash(w->r->pivots, m->sw, hash + 1);
	for (uint32_t r = w->d->first_run[m->sw]; r < w->d->first_run[m->sw + 1]; r++) {
		const struct dest_run *run = &w->d->runs[r];

		hash = hash_bytes(hash + run->lid, w->d->port + run->lid, run->count);
	}
	return hash;
}

/* Returns whether pairs with hosts were left to pivots. */
static bool fill_row(struct rows *w, struct member *m, const struct down_row *below,
		     const struct links *links)
{
	uint32_t stride = w->out->stride;
	bool left = false;

	if (w->choice.family->nslots) {
		make_up(w, m);
		if (below)
			map_below(&w->down_rows, below, links, m->sw, m->row, bytemap_over);
	} else if (below) {
		uint32_t first = below->first < below->end ? below->first : stride;

		memset(m->row, TABLES_NO_ROUTE, first); /* what is not below */
		if (first < stride)
			memset(m->row + below->end, TABLES_NO_ROUTE, stride - below->end);
		map_below(&w->down_rows, below, links, m->sw, m->row, bytemap);
	} else {
		memset(m->row, TABLES_NO_ROUTE, stride);
	}
	if (w->r->pivots && (m->dead || w->choice.has_never)) {
		/*
		 * Fills gaps by pivots, except those between two switches with hosts: these stay
		 * gaps, for which detours are searched one by one.
		 */
		const struct pivots *pivots = w->r->pivots;
		bool some = !w->g->switches[m->sw].nhosts && (m->dead || w->choice.has_never_hosts);

		pivots_fill(pivots, m->sw, m->row);
		for (uint32_t i = 0; some && i < w->nwith_hosts; i++)
			if (m->row[w->probes[i].lid] == TABLES_NO_ROUTE) {
				pivots_fill_dest(pivots, w->d, m->sw, w->probes[i].d, m->row);
				left = true;
			}
	}
	for (uint32_t r = w->d->first_run[m->sw]; r < w->d->first_run[m->sw + 1]; r++) {
		uint32_t lid = w->d->runs[r].lid, n = w->d->runs[r].count;

		m->row[lid] = w->d->port[lid];
		if (n > 1) /* but for a leaf's hosts it is one */
			memcpy(m->row + lid, w->d->port + lid, n);
	}
	return left;
}

static void make_row(struct rows *w, uint32_t sw)
{
	struct member m = { .sw = sw, .row = w->row ? w->row : tables_row(w->out, sw) };
	const struct down_row *below =
		w->g->switches[sw].ndown ? down_rows_of(&w->down_rows, sw) : NULL;
	bool source = w->g->switches[sw].nhosts, open;
	uint64_t *made_from = w->out->made_from ? &w->out->made_from[sw] : NULL, hash;
	struct links links;

	if (w->choice.family->nslots)
		find_ups(w, &m);
	if (below)
		complete_costs(w, &m, below);
	find_links(w->g, sw, &links);
	hash = made_from ? hash_of(w, &m, below, &links) : 0;
	fiber_spend(w->r->fiber, ROW_NS);
	if (hash && *made_from == hash)
		return;

	open = fill_row(w, &m, below, &links);
	if (!(below && below->complete && !source) &&
	    (m.dead || w->choice.has_never_hosts || (w->choice.has_never && source))) {
		uint32_t n = source ? w->nprobes : w->nwith_hosts, before = w->gaps->count;

		for (uint32_t i = 0; i < n; i++)
			if (m.row[w->probes[i].lid] == TABLES_NO_ROUTE && w->probes[i].d != m.sw) {
				add_gap(w->gaps, m.sw, w->probes[i].d,
					source && i < w->nwith_hosts);
				open = true;
			}
		fiber_spend(w->r->fiber, n * PROBE_NS + (w->gaps->count - before) * GAP_NS);
	}
	if (w->row)
		tables_store_row(w->out, sw, m.row);
	if (made_from)
		*made_from = open ? 0 : hash;
	fiber_spend(w->r->fiber, w->out->stride / 4);
}

void rows_fill(const struct graph *g, const struct dests *d, struct reach *r, struct tables *out,
	       struct gaps *gaps)
{
	struct rows w = { .g = g, .d = d, .r = r, .out = out, .gaps = gaps };
	bool *done = mem_array(done, g->nfamilies + 1);

	*gaps = (struct gaps){ 0 };
	choice_init(&w.choice, g, d, r, out->stride);
	w.probes = mem_array(w.probes, w.g->nswitches + 1);
	add_probes(&w, true);
	w.nwith_hosts = w.nprobes;
	add_probes(&w, false);
	down_rows_init(&w.down_rows, &w.choice, out->stride);
	if ((size_t)out->nswitches * out->stride > ROWS_IN_CACHE)
		w.row = mem_alloc_unset(out->stride, 1);
	w.unused = mem_alloc_unset(r->cost_bytes, 1);
	for (uint32_t i = g->nswitches; i-- > 0;) {
		uint32_t number = g->switches[g->by_rank[i]].family;
		const struct graph_family *family = &g->families[number];

		if (done[number])
			continue;
		done[number] = true;
		choice_family(&w.choice, family);
		w.hash = hash_bytes(w.nwith_hosts, w.probes, w.nprobes * sizeof(*w.probes));
		w.hash = hash_bytes(w.hash, w.choice.slots, out->stride);
		fiber_spend(r->fiber, w.choice.chosen * CHOICE_NS);
		for (uint32_t k = 0; k < family->nmembers; k++)
			make_row(&w, g->members[family->first_member + k]);
	}
	for (uint32_t i = 0; i < w.down_rows.r->nequivalent; i++)
		below_fini(&w.down_rows.shared[i]);
	below_fini(&w.down_rows.alone);
	free(w.down_rows.shared);
	free(w.down_rows.by_child);
	free(w.down_rows.first_entry);
	free(w.down_rows.of_list);
	free(w.down_rows.runs);

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
