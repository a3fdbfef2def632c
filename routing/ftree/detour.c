/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * detour: paths for pairs that links connect and no up/down path does: two leaves left without a
 * spine in common; a spine and a host behind its dead uplink, which management traffic (PerfMgr)
 * wants.
 *
 * A gap (s, D) is filled by sending to a neighbour n that has a path to D. When that turns at n
 * from down to up it adds the dependency (s -> n) before (n -> m), a down-up turn. Down-up turns
 * are legal as long as no channel can come to wait for itself: the down-up turn s, n, m is accepted
 * when s cannot be reached from m by legal turns and the down-up turns already accepted. That
 * judges by all turns that any table might use, so it is safe whatever else the tables hold;
 * check.c judges the result by the bytes.
 *
 * Each down-up turn in use is in the way of others, so there should be few: whoever got a path
 * hands it on to all gaps around it that can take it without a new one, and only what is left opens
 * the next. That also makes paths there and back: those by one leaf, in both directions, bear each
 * other.
 *
 * Gaps between hosts come first. Those of management are filled while they are few: after one
 * fault, or ten; where hundreds of links are dead the time is better spent on answering. What is
 * left stays without a path and is named by the proof. Order is fixed: the same damage gives the
 * same detours.
 */
#include "routing/ftree/engine.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define SOURCE_NS	      10   /* to find where one source leads on */
#define GROUP_NS	      100  /* to find whether a neighbour has a path */
#define DETOUR_MAX_TRIALS     512  /* turns judged in one computation */
#define DETOUR_MAX_MANAGEMENT 256  /* gaps, beyond which only those between hosts are looked at */
#define DETOUR_PLACES	      2048 /* to find turns by: a power of two, most of it empty */
#define DETOUR_CLIMB	      3	   /* switches above a gap, in a row, that get a path for it */
#define DETOUR_MAX_CLIMBS     1024 /* switches asked so for gaps of management, at once */

struct down_up {
	uint32_t from, at, to;
	uint32_t next; /* chain by `from`, of the accepted ones: index + 1, 0 = end */
	bool accepted;
};

struct risen { /* a packet that came up into a switch, and from where */
	uint32_t sw, by;
};

struct detour {
	const struct graph *g;
	const struct dests *d;
	const struct reach *r; /* costs complete */
	struct tables *out;
	struct down_up *down_up;
	uint32_t ndown_up;
	uint32_t culprit; /* down-up turn by which a search found its path back last + 1 */
	uint16_t *places; /* by hash: down-up turn + 1, 0 = none */
	uint32_t *chain;  /* by switch: accepted down_up from it */
	uint32_t *sources, nsources; /* switches with accepted down_up from them */
	uint8_t *back;		     /* by switch: comes_back(), 0 = nobody asked yet */
	bool *is_tried;		     /* by switch: some down-up turn from it was judged */
	bool *visited;		     /* by down-up turn, in one search */
	bool *is_spent;		     /* by source, in that search: all its down_up are visited */
	uint32_t nspent;
	struct risen *stack; /* of that search */
	uint32_t nstack;
	struct known *knowns; /* by switch */
	uint32_t *handed,
		nhanded;  /* switches that got a path to the destination at hand, oldest first */
	bool opens;	  /* new down_up may be tried */
	uint32_t nclimbs; /* that are left */
	uint32_t nfilled;
	uint64_t open_pairs;
};

enum { NEVER_BACK = 1, COMES_BACK };

struct known {		     /* what is known of a switch and one destination */
	uint32_t d;	     /* 1 + destination; 0 = nothing is known */
	uint32_t refused_at; /* 1 + gaps that were filled when it found nobody to send to */
	bool has_path;
	bool wanted; /* it is a gap */
};

/*
 * ---- Is a down-up turn safe? ------------------------------------------------------------------
 */

static bool reaches(const struct detour *w, uint32_t sw, uint32_t d)
{
	return reach_cost(w->r, w->g, sw)[d] != REACH_NEVER;
}

/*
 * Whether a packet that went up from the switch may lead to waiting for one that comes down to it:
 * by legal turns from one parent to another. Never in a tree whose levels are as they should be:
 * there, parents of one switch have no switch above in common.
 */
static bool comes_back(struct detour *w, uint32_t sw)
{
	const struct graph_group *ups = graph_ups(w->g, sw);
	unsigned n = w->g->switches[sw].nup;

	if (w->back[sw])
		return w->back[sw] == COMES_BACK;
	w->back[sw] = NEVER_BACK;
	for (unsigned i = 0; i < n * n && w->back[sw] == NEVER_BACK; i++)
		if (i / n != i % n && reaches(w, ups[i / n].peer, ups[i % n].peer))
			w->back[sw] = COMES_BACK;
	return w->back[sw] == COMES_BACK;
}

/* Straight back down to the switch that a packet has just risen from leads no turn of its own. */
static bool is_turned_away(struct detour *w, const struct down_up *v, uint32_t at, uint32_t to)
{
	return v->from == to && v->at == at && !comes_back(w, to);
}

/*
 * Goes on by all down_up from one source, but from the switch itself not by the one it came
 * through. Returns whether one leads to `wanted`; the source is spent when none of its down_up is
 * left for later.
 */
static bool take_down_up(struct detour *w, uint32_t source, struct risen here, uint32_t wanted)
{
	const struct down_up *v;
	struct risen *top = w->stack + w->nstack;
	bool left = false;

	for (uint32_t next = w->chain[w->sources[source]]; next; next = v->next) {
		v = &w->down_up[next - 1];
		if (w->visited[next - 1])
			continue;
		if (is_turned_away(w, v, here.by, here.sw)) {
			left = true;
			continue;
		}
		if (reaches(w, v->to, wanted)) {
			w->culprit = next;
			return true;
		}
		w->visited[next - 1] = true;
		*top++ = (struct risen){ v->to, v->at };
	}
	w->nstack = top - w->stack;
	w->is_spent[source] = !left;
	w->nspent += !left;
	return false;
}

/*
 * Whether a packet that rises from `at` into `to` could, by legal turns and accepted down_up, come
 * to wait for `from`. One that has just risen from a switch does not go straight back down to it:
 * pairs may use one leaf both ways.
 */
static bool leads_back(struct detour *w, uint32_t from, uint32_t at, uint32_t to)
{
	const struct down_up *v = &w->down_up[w->culprit - 1];

	/* The turn that closed a circle last mostly closes this one too. */
	if (reaches(w, to, from) || (w->culprit && reaches(w, to, v->from) &&
				     !is_turned_away(w, v, at, to) && reaches(w, v->to, from)))
		return true;
	mem_zero(w->visited, w->ndown_up);
	mem_zero(w->is_spent, w->nsources);
	w->stack[0] = (struct risen){ to, at };
	w->nstack = 1;
	w->nspent = 0;
	while (w->nstack && w->nspent < w->nsources) {
		struct risen here = w->stack[--w->nstack];

		fiber_spend(w->r->fiber, w->nsources * SOURCE_NS);

		for (uint32_t s = 0; s < w->nsources; s++)
			if (!w->is_spent[s] && reaches(w, here.sw, w->sources[s]) &&
			    take_down_up(w, s, here, from))
				return true;
	}
	return false;
}

static bool down_up_accepted(struct detour *w, uint32_t from, uint32_t at, uint32_t to)
{
	/* Where a down-up turn is noted, or would be. */
	uint32_t slot = hash_word(hash_word((uint64_t)from << 32 | at) + to) % DETOUR_PLACES;

	for (; w->places[slot]; slot = (slot + 1) % DETOUR_PLACES) {
		const struct down_up *v = &w->down_up[w->places[slot] - 1];

		if (v->at == at && v->to == to && v->from == from)
			break;
	}
	uint16_t *place = &w->places[slot];

	if (*place)
		return w->down_up[*place - 1].accepted;
	if (!w->opens || w->ndown_up == DETOUR_MAX_TRIALS)
		return false;
	bool accepted = !leads_back(w, from, at, to);
	w->down_up[w->ndown_up] =
		(struct down_up){ .from = from, .at = at, .to = to, .accepted = accepted };
	w->is_tried[from] = true;
	if (accepted) {
		if (!w->chain[from])
			w->sources[w->nsources++] = from;
		w->down_up[w->ndown_up].next = w->chain[from];
		w->chain[from] = w->ndown_up + 1;
	}
	*place = ++w->ndown_up;
	return accepted;
}

/* ---- One destination switch ------------------------------------------------------------------ */

/* LIDs behind one switch have a path or none alike: the first tells. */
static struct known *known_of(struct detour *w, uint32_t sw, uint32_t d)
{
	struct known *known = &w->knowns[sw];

	if (known->d != d + 1) {
		uint8_t port = tables_row(w->out, sw)[w->d->runs[w->d->first_run[d]].lid];

		*known = (struct known){ .d = d + 1,
					 .has_path = sw == d || port != TABLES_NO_ROUTE };
	}
	return known;
}

static bool has_path(struct detour *w, uint32_t sw, uint32_t d)
{
	return known_of(w, sw, d)->has_path;
}

/*
 * The switch behind a port, TOPO_NONE when there is none. Searched from group *near on, which is
 * moved to where it was.
 */
static uint32_t neighbour_at(const struct graph *g, uint32_t sw, uint8_t port, unsigned *near)
{
	const struct graph_group *groups = graph_ups(g, sw);
	unsigned n = g->switches[sw].nup + g->switches[sw].ndown;

	for (unsigned i = 0; i < n; i++) {
		unsigned at = *near + i < n ? *near + i : *near + i - n;
		const struct graph_lane *lanes = &g->lanes[groups[at].first_lane];

		for (unsigned l = 0; l < groups[at].nlanes; l++)
			if (lanes[l].port == port) {
				*near = at;
				return groups[at].peer;
			}
	}
	return TOPO_NONE;
}

/*
 * Whether s may send all LIDs of D to its neighbour n: every turn there is legal or an accepted
 * down-up turn.
 */
static bool may_send(struct detour *w, uint32_t s, uint32_t n, uint32_t d)
{
	const uint8_t *row = tables_row(w->out, n);
	unsigned near = 0;

	if (w->g->switches[n].rank > w->g->switches[s].rank)
		return true; /* from a rise any turn is legal */
	for (uint32_t r = w->d->first_run[d]; r < w->d->first_run[d + 1]; r++) {
		const struct dest_run *run = &w->d->runs[r];

		for (uint32_t lid = run->lid; lid < (uint32_t)run->lid + run->count; lid++) {
			uint32_t m = n == d || row[lid] == TABLES_NO_ROUTE
					     ? TOPO_NONE
					     : neighbour_at(w->g, n, row[lid], &near);

			if (m == s ||
			    (m != TOPO_NONE && (w->g->switches[m].rank > w->g->switches[n].rank) &&
			     !down_up_accepted(w, s, n, m)))
				return false;
		}
	}
	return true;
}

static bool give_path_by(struct detour *w, uint32_t s, const struct graph_group *group, uint32_t d)
{
	if (!group->nlive || !has_path(w, group->peer, d) || !may_send(w, s, group->peer, d))
		return false;

	const struct graph_lane *lanes = &w->g->lanes[group->first_lane];
	uint8_t live[UINT8_MAX];
	unsigned n = 0;

	known_of(w, s, d)->has_path = true;
	w->handed[w->nhanded++] = s;
	w->nfilled++;
	for (unsigned l = 0; l < group->nlanes; l++)
		if (lanes[l].live)
			live[n++] = lanes[l].port;
	for (uint32_t r = w->d->first_run[d]; r < w->d->first_run[d + 1]; r++) {
		const struct dest_run *run = &w->d->runs[r];

		for (uint32_t lid = run->lid; lid < (uint32_t)run->lid + run->count; lid++)
			tables_set(w->out, s, lid, live[w->d->order[lid] % n]);
	}
	return true;
}

static bool give_path(struct detour *w, uint32_t s, uint32_t d)
{
	const struct graph_group *ups = graph_ups(w->g, s);

	for (unsigned i = 0; i < w->g->switches[s].nup; i++)
		if (give_path_by(w, s, &ups[i], d))
			return true;

	const struct graph_group *group = graph_downs(w->g, s),
				 *end = group + w->g->switches[s].ndown;
	/*
	 * Trials are spent, and none was about s: nothing from there may rise. All from here on are
	 * about s.
	 */
	bool shut = w->ndown_up == DETOUR_MAX_TRIALS && !w->is_tried[s];

	fiber_spend(w->r->fiber, (w->g->switches[s].nup + w->g->switches[s].ndown) * GROUP_NS);
	for (; group < end; group++) {
		bool only_rises = !w->g->switches[group->peer].ndown && group->peer != d;

		if (!(shut && only_rises) && give_path_by(w, s, group, d))
			return true;
	}
	return false;
}

/*
 * Who is above a gap gets a path first where that needs one too: a leaf sends by a spine that
 * itself detours.
 */
static bool fill_gap(struct detour *w, uint32_t s, uint32_t d, unsigned depth)
{
	const struct graph_group *ups = graph_ups(w->g, s);
	struct known *known = known_of(w, s, d);

	if (known->refused_at == w->nfilled + 1)
		return false;
	if (known->has_path || give_path(w, s, d))
		return true;
	for (unsigned i = 0; depth && w->nclimbs && i < w->g->switches[s].nup; i++) {
		if (!ups[i].nlive || has_path(w, ups[i].peer, d))
			continue;
		w->nclimbs--;
		if (fill_gap(w, ups[i].peer, d, depth - 1))
			return give_path(w, s, d);
	}
	known->refused_at = w->nfilled + 1;
	return false;
}

/*
 * Gaps beside those that got a path take it from there, and hand it on, as far as that needs no new
 * down-up turn.
 */
static void hand_on(struct detour *w, uint32_t d)
{
	w->opens = false;
	for (uint32_t i = 0; i < w->nhanded; i++) {
		uint32_t sw = w->handed[i];
		const struct graph_group *group = graph_ups(w->g, sw),
					 *end = graph_downs(w->g, sw) + w->g->switches[sw].ndown;

		for (; group < end; group++) {
			const struct known *known = known_of(w, group->peer, d);

			if (known->wanted && !known->has_path) {
				const struct graph_group *back = graph_ups(w->g, group->peer);

				while (back->peer != sw)
					back++;
				give_path_by(w, group->peer, back, d);
			}
		}
	}
	w->nhanded = 0;
	w->opens = true;
}

/*
 * ---- All gaps ---------------------------------------------------------------------------------
 */

static bool between_hosts(const struct detour *w, const struct gap *gap)
{
	return w->g->switches[gap->sw].nhosts && w->g->switches[gap->d].nhosts;
}

/* What a detour down from here would take. */
static uint32_t length_by_detour(struct detour *w, uint32_t s, uint32_t d)
{
	const struct graph_group *group = graph_downs(w->g, s),
				 *end = group + w->g->switches[s].ndown;
	uint32_t best = UINT32_MAX;

	for (; group < end; group++) {
		if (!group->nlive || group->peer == d || !has_path(w, group->peer, d))
			continue;

		/* Hops from a switch that has a legal path: leaves have no costs of their own. */
		uint32_t sw = group->peer;
		uint8_t port = tables_row(w->out, sw)[w->d->runs[w->d->first_run[d]].lid];
		unsigned near = 0, extra = 0;

		if (w->r->cost_row[sw] == TOPO_NONE) {
			sw = neighbour_at(w->g, sw, port, &near);
			extra = 1;
		}
		uint32_t length = extra + reach_cost(w->r, w->g, sw)[d];

		best = length < best ? length : best;
	}
	return best;
}

SORT_BY(by_length, struct gap, sort_order(a->length, b->length) ?: sort_order(a->sw, b->sw))

/* The gaps of one destination, between hosts or not, unless they are done. */
static void fill_column(struct detour *w, const struct gaps *all, uint32_t *columns, uint32_t d,
			bool hosts)
{
	uint32_t first = columns[d], n = 0;

	columns[d] = 0;
	if (!first || (hosts && !w->g->switches[d].nhosts))
		return;
	struct gap *gaps = &all->list[first - 1];

	while (first - 1 + n < all->count && gaps[n].d == d)
		n++;
	for (uint32_t i = 0; i < n; i++) {
		fiber_spend(w->r->fiber, w->g->switches[gaps[i].sw].ndown * GROUP_NS);
		known_of(w, gaps[i].sw, d)->wanted = true;
		gaps[i].length = n > 1 ? length_by_detour(w, gaps[i].sw, d) : 0;
	}
	qsort(gaps, n, sizeof(*gaps), by_length);
	for (uint32_t i = 0; i < n; i++) {
		if (between_hosts(w, &gaps[i]) != hosts)
			continue;
		fill_gap(w, gaps[i].sw, d, hosts ? 1 : DETOUR_CLIMB);
		hand_on(w, d);
	}
	for (uint32_t i = 0; hosts && i < n; i++)
		w->open_pairs += between_hosts(w, &gaps[i]) && !has_path(w, gaps[i].sw, d);
}

/* A column is followed by those of the paths back, while nothing else is in their way. */
static void fill_gaps(struct detour *w, const struct gaps *gaps, bool hosts)
{
	/* Where each destination's gaps begin: index + 1, 0 = it has none, or they are done. */
	uint32_t *columns = mem_array(columns, w->g->nswitches + 1);

	for (uint32_t i = gaps->count; i-- > 0;)
		columns[gaps->list[i].d] = i + 1;

	for (uint32_t i = 0; i < gaps->count; i++) {
		fill_column(w, gaps, columns, gaps->list[i].d, hosts);
		fill_column(w, gaps, columns, gaps->list[i].sw, hosts);
	}
	free(columns);
}

uint64_t detour_fill(const struct graph *g, const struct dests *d, const struct reach *r,
		     struct tables *out, struct gaps *gaps)
{
	struct detour w = { .g = g, .d = d, .r = r, .out = out, .opens = true };
	uint32_t n = 0;

	if (!gaps->count)
		return gaps->host_pairs;
	struct arena *arena = arena_new();

	w.down_up = arena_array(arena, w.down_up, DETOUR_MAX_TRIALS);
	w.places = arena_array(arena, w.places, DETOUR_PLACES);
	w.chain = arena_array(arena, w.chain, g->nswitches + 1);
	w.sources = arena_array(arena, w.sources, DETOUR_MAX_TRIALS);
	w.back = arena_alloc(arena, g->nswitches + 1, 1);
	w.is_tried = arena_array(arena, w.is_tried, g->nswitches + 1);
	w.visited = arena_array(arena, w.visited, DETOUR_MAX_TRIALS);
	w.is_spent = arena_array(arena, w.is_spent, DETOUR_MAX_TRIALS);
	w.stack = arena_array(arena, w.stack, DETOUR_MAX_TRIALS + 1);
	w.knowns = arena_array(arena, w.knowns, g->nswitches + 1);
	w.handed = arena_array(arena, w.handed, g->nswitches + 1);
	/* Pairs of hosts' switches for which the list had no room stay open. */
	w.open_pairs = gaps->host_pairs;
	for (uint32_t i = 0; i < gaps->count; i++) {
		w.open_pairs -= between_hosts(&w, &gaps->list[i]);
		/* Where there are too many, those of management are dropped. */
		if (gaps->count <= DETOUR_MAX_MANAGEMENT || between_hosts(&w, &gaps->list[i]))
			gaps->list[n++] = gaps->list[i];
	}
	gaps->count = n;
	gaps_sort(gaps, g->nswitches, r->fiber);
	w.nclimbs = UINT32_MAX;
	fill_gaps(&w, gaps, true);
	w.nclimbs = DETOUR_MAX_CLIMBS;
	fill_gaps(&w, gaps, false);
	arena_free(arena);
	return w.open_pairs;
}
