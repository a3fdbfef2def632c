/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * even: LIDs are taken in topological order. One that uses a link with more than its share is
 * taken off, and put back one source switch after the other: first those whose links have no more
 * than their share, by the same paths; then the others, each by the path that costs least. An
 * entry that one source uses binds the later ones. A link costs the fifth power of its load by its
 * share. Entries stay where D-Mod-K has them unless another path is clearly cheaper, as these are
 * the best for shifts.
 *
 * A link's share is its part, by rates, of the flows that the links of the same tier and direction
 * carry at one lower switch, where these are most. Where leaves lack slots it is no less than a
 * part of the fullest tier's: what is far from that holds nobody up, and shifts would pay for it.
 * A link that a pass leaves too much counts with less of a share in the next: one LID after the
 * other comes no further by equal prices.
 */
#include "routing/ftree/choice.h"
#include "routing/ftree/even.h"
#include "routing/ftree/legal.h"
#include "routing/ftree/tiers.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

#define FULL_RATE  64  /* the fastest link's */
#define PASSES	   8   /* over all LIDs */
#define HIGH	   115 /* percent of its share from where a link has too much */
#define HIGH_RATES 102 /* where links differ in rate */
#define WORTH	   95  /* percent of the worst load before; nothing moves unless that is reached */
#define FLOOR	   70  /* percent of the fullest tier's share: less in others holds nobody up */
#define LESS	   3   /* percent of a link's share that a pass takes off if it has too much */
#define NODE_NS	   20  /* to look at one switch for one LID */
#define FRESH_NS   4   /* to fill a byte of memory that nobody touched */
#define UNIT	   256 /* of load / share */
#define UNPRICED   UINT64_MAX
#define LIVE	   (1ull << 40) /* above all rates: of a link that is up */

struct channel { /* a switch's port */
	uint64_t load, share;
	uint32_t next;		  /* switch behind it, TOPO_NONE = none */
	uint32_t tier, low, lane; /* low: of its switches; lane: of the graph */
	uint8_t rate, less;	  /* less: percent off its share, see LESS */
};

struct source {
	uint32_t sw, hosts;
	bool crowded; /* the LID's path has a link with more than its share */
};

struct work {
	const struct topo *t;
	const struct graph *g;
	struct fiber *fiber;
	const bool *hasty; /* from when it is true the search is not wanted */
	struct legal legal;
	struct design design;
	struct channel *channels; /* by port of the snapshot */
	struct source *sources;
	uint32_t nsources;
	unsigned floor;	    /* FLOOR or 0 */
	unsigned high;	    /* HIGH or HIGH_RATES; when turning none is */
	bool turning;	    /* the design is regular, and LIDs of the last round turn */
	bool dealing;	    /* but for rates, and LIDs are dealt out by these */
	unsigned loose;	    /* an entry stays unless that part is saved, as a shift; a pass each */
	uint8_t *out, *was; /* by switch: the LID's port now, 0 = not chosen; and by the tables */
	uint64_t *price;    /* by switch: of the way to the LID's switch */
	uint64_t *fees;	    /* by lane: price_of() `hosts` flows; UNPRICED until it is asked for */
	struct design_row to;		/* that switch's */
	uint32_t lid;			/* at hand */
	uint16_t beside[UINT8_MAX + 1]; /* by port, see count_beside() */
	uint32_t hosts;			/* of a source, on average */
};

/* ---- Rates ----------------------------------------------------------------------------------- */

/*
 * By port, what links are designed for: a link is slow by design only if all links of one of its
 * ends are. Slower ones have trained so. An end without a live link has what was last read.
 * Returns whether all are alike.
 */
static bool find_rates(const struct graph *g, const struct topo *t, const struct even *last,
		       uint8_t *rates)
{
	uint64_t *best = mem_array(best, 2 * g->nswitches + 2), fastest = 1;
	bool alike = true;

	for (uint32_t i = 0; i < 2 * g->nswitches; i++) { /* finds the fastest, then sets rates */
		uint32_t sw = i % g->nswitches;
		const struct graph_group *up = graph_ups(g, sw), *end = up + g->switches[sw].nup;

		for (; up < end; up++)
			for (unsigned l = 0; l < up->nlanes; l++) {
				const struct graph_lane *lane = &g->lanes[up->first_lane + l];
				uint32_t port = t->nodes[sw].port0 + lane->port;
				uint32_t back = t->nodes[up->peer].port0 + lane->peer_port;
				uint64_t *low = &best[2 * sw], *high = &best[2 * up->peer + 1];
				uint64_t rate = (uint64_t)topo_lane_mbps(t->ports[port].speed) *
						t->ports[port].width;

				if (i < g->nswitches) {
					fastest = rate > fastest ? rate : fastest;
					rate |= rate && t->ports[port].link_up ? LIVE : 0;
					*low = rate > *low ? rate : *low;
					*high = rate > *high ? rate : *high;
					continue;
				}
				rate = *low % LIVE < *high % LIVE ? *low : *high;
				rate = rate % LIVE * FULL_RATE;
				bool known = last && last->nports == t->nports;

				rates[port] = rate ? (rate + fastest - 1) / fastest
						   : (known ? last->rates[port] : 0) ?: FULL_RATE;
				rates[back] = rates[port];
				alike &= rates[port] == FULL_RATE;
			}
	}
	free(best);
	return alike;
}

/* ---- Flows of one LID ------------------------------------------------------------------------ */

static uint64_t price_of(const struct channel *c, uint64_t flows)
{
	uint64_t x = ((2 * c->load + flows) * (UNIT / 2)) / c->share;

	return flows * (x * x / UNIT) * (x * x / UNIT) * x / UNIT;
}

static struct channel *channel_of(const struct work *w, uint32_t sw, uint8_t port)
{
	return &w->channels[w->t->nodes[sw].port0 + port];
}

/* The same, which is mostly known: few loads change from one LID to the next. */
static inline uint64_t fee_of(const struct work *w, uint32_t sw, uint32_t lane, uint64_t flows)
{
	uint64_t *fee = &w->fees[lane], price = *fee;

	if (flows == w->hosts && price != UNPRICED)
		return price;
	price = price_of(channel_of(w, sw, w->g->lanes[lane].port), flows);
	*fee = flows == w->hosts ? price : *fee;
	return price;
}

/* Puts flows on the LID's path from a source, or takes them off. Returns their price. */
static uint64_t put(struct work *w, const struct source *s, const uint8_t *by, bool off)
{
	uint64_t price = 0;

	for (uint32_t sw = s->sw; sw != TOPO_NONE && w->to.down[sw] && by[sw] != TABLES_NO_ROUTE;) {
		struct channel *c = channel_of(w, sw, by[sw]);

		w->fees[c->lane] = UNPRICED;
		c->load -= off ? s->hosts : 0;
		price += c->share ? price_of(c, s->hosts) : 0;
		c->load += off ? 0 : s->hosts;
		sw = c->next;
	}
	return price;
}

/* Counts, by port of a switch, other LIDs of the LID's leaf: a shift sends to them at once. */
static const uint16_t *count_beside(struct work *w, uint32_t sw)
{
	const struct dests *d = &w->legal.d;
	const struct dest_run *run = &d->runs[d->first_run[d->sw[w->lid]]],
			      *end = &d->runs[d->first_run[d->sw[w->lid] + 1]];

	mem_zero(w->beside, UINT8_MAX + 1);
	for (; run < end; run++)
		for (uint32_t lid = run->lid; lid < (uint32_t)run->lid + run->count; lid++)
			w->beside[tables_row(&w->legal.tables, sw)[lid]] += lid != w->lid;
	return w->beside;
}

/*
 * The price of the cheapest port on a shortest path, which *port gets; or of the tables' port, if
 * that is hardly dearer. Each LID beside (NULL: not counted) makes a trunk's port dearer.
 */
static uint64_t choose(const struct work *w, uint32_t sw, uint64_t flows, const uint16_t *beside,
		       uint8_t *port)
{
	bool down = w->to.down[sw] != REACH_NEVER;
	const uint8_t *cost = down ? w->to.down : w->to.cost;
	const struct graph_group *group = down ? graph_downs(w->g, sw) : graph_ups(w->g, sw),
				 *end = group +
					(down ? w->g->switches[sw].ndown : w->g->switches[sw].nup);
	uint64_t best = UINT64_MAX, kept = best, slack = (flows * UNIT * UNIT) >> w->loose;

	for (; group < end; group++) {
		if (cost[group->peer] + 1 != cost[sw])
			continue;
		for (unsigned l = 0; l < group->nlanes; l++) {
			uint32_t lane = group->first_lane + l;
			uint8_t out = w->g->lanes[lane].port;
			uint64_t price = fee_of(w, sw, lane, flows) + w->price[group->peer];

			price += beside && group->nlanes > 1 ? price / 8 * beside[out] : 0;
			kept = out == w->was[sw] ? price : kept;
			*port = price < best ? out : *port;
			best = price < best ? price : best;
		}
	}
	if (kept == UINT64_MAX || kept > best + (best >> w->loose) + slack)
		return best;
	*port = w->was[sw];
	return kept;
}

/* Puts the LID's flows back; w->out gets its ports. Returns their price. */
static uint64_t choose_paths(struct work *w)
{
	const struct graph *g = w->g;
	uint32_t path[UINT8_MAX];
	uint64_t price = 0;

	memset(w->out, 0, g->nswitches);
	for (unsigned up = 0; up < 2; up++) /* from the LID's switch upwards; then from the top */
		for (uint32_t i = 0; i < g->nswitches; i++) {
			uint32_t sw = g->by_rank[up ? g->nswitches - 1 - i : i];
			uint8_t port;

			if (!w->to.down[sw])
				w->price[sw] = 0;
			else if ((w->to.down[sw] == REACH_NEVER) == up)
				w->price[sw] = w->to.cost[sw] >= REACH_NEVER - 1
						       ? 0
						       : choose(w, sw, w->hosts, NULL, &port);
		}
	for (uint32_t i = 0; i < 2 * w->nsources; i++) { /* those that may stay come first */
		const struct source *s = &w->sources[i % w->nsources];
		unsigned n = 0;

		if (w->was[s->sw] == TABLES_NO_ROUTE || s->crowded != (i >= w->nsources))
			continue;
		for (uint32_t sw = s->sw; w->to.down[sw] && n < UINT8_MAX; n++) {
			path[n] = sw;
			if (!s->crowded)
				w->out[sw] = w->was[sw];
			else if (!w->out[sw])
				choose(w, sw, s->hosts, count_beside(w, sw), &w->out[sw]);
			sw = channel_of(w, sw, w->out[sw])->next;
		}
		price += put(w, s, w->out, false);
		while (n--) { /* what it costs the next one */
			const struct channel *c = channel_of(w, path[n], w->out[path[n]]);

			w->price[path[n]] =
				fee_of(w, path[n], c->lane, w->hosts) + w->price[c->next];
		}
	}
	return price;
}

/* Whether some link on the LID's paths has more than its share. */
static bool is_crowded(const struct work *w)
{
	bool found = false;

	for (uint32_t i = 0; i < w->nsources; i++) {
		struct source *s = &w->sources[i];

		s->crowded = false;
		for (uint32_t sw = s->sw; w->to.down[sw] && w->was[sw] != TABLES_NO_ROUTE;) {
			const struct channel *c = channel_of(w, sw, w->was[sw]);

			s->crowded |= c->load * 100 > c->share * w->high;
			sw = c->next;
		}
		found |= s->crowded;
	}
	return found;
}

/* Sets the LID's column of the tables. */
static void take_lid(struct work *w, uint32_t lid)
{
	w->lid = lid;
	w->to = design_of(&w->design, w->legal.d.sw[lid]);
	for (uint32_t sw = 0; sw < w->g->nswitches; sw++) {
		uint8_t out = tables_row(&w->legal.tables, sw)[lid];

		w->was[sw] = w->to.down[sw] && out != TABLES_NO_ROUTE &&
					     (!out || channel_of(w, sw, out)->next == TOPO_NONE)
				     ? TABLES_NO_ROUTE
				     : out;
	}
}

static void move_lid(struct work *w, uint32_t lid)
{
	uint64_t before = 0, after;

	take_lid(w, lid);
	bool crowded = is_crowded(w);

	fiber_spend(w->fiber, w->g->nswitches * (crowded ? 16 : 1) * NODE_NS);
	if (!crowded)
		return;
	for (uint32_t i = w->nsources; i-- > 0;)
		before += put(w, &w->sources[i], w->was, true);
	after = choose_paths(w);
	if (after >= before - (before >> (w->loose + 3))) {
		for (uint32_t i = 0; i < w->nsources; i++) {
			put(w, &w->sources[i], w->out, true);
			put(w, &w->sources[i], w->was, false);
		}
		return;
	}
	for (uint32_t sw = 0; sw < w->g->nswitches; sw++)
		if (w->out[sw])
			tables_row(&w->legal.tables, sw)[lid] = w->out[sw];
}

/* ---- The design ------------------------------------------------------------------------------ */

static void add_channels(struct work *w, const uint8_t *rates)
{
	const struct graph *g = w->g;

	w->channels = mem_array_unset(w->channels, w->t->nports);
	for (uint32_t p = 0; p < w->t->nports; p++)
		w->channels[p] = (struct channel){ .next = TOPO_NONE };
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		if (g->switches[sw].nhosts) {
			w->sources[w->nsources++] =
				(struct source){ .sw = sw, .hosts = g->switches[sw].nhosts };
			w->hosts += g->switches[sw].nhosts;
		}
		for (unsigned i = 0; i < g->switches[sw].nup + g->switches[sw].ndown; i++) {
			const struct graph_group *group = &graph_ups(g, sw)[i];
			bool down = i >= g->switches[sw].nup;
			uint32_t low = down ? group->peer : sw, top = 2u * g->switches[low].level;

			for (unsigned l = 0; l < group->nlanes; l++) {
				uint32_t lane = group->first_lane + l;
				uint32_t port = w->t->nodes[sw].port0 + g->lanes[lane].port;

				w->channels[port] = (struct channel){ .next = group->peer,
								      .tier = top + down,
								      .low = low,
								      .lane = lane,
								      .rate = rates[port] };
			}
		}
	}
	w->hosts = w->nsources ? w->hosts / w->nsources : 0;
}

/* From all loads: each link's share. Returns the worst load in percent of it. */
static uint64_t find_shares(struct work *w)
{
	struct sum {
		uint64_t load, rate, links, most;
	} *tiers = mem_array(tiers, 2 * (UINT8_MAX + 1)),
	  *own = mem_array(own, 2 * w->g->nswitches + 2);
	uint64_t worst = 0, top = 0;

	for (uint32_t p = 0; p < w->t->nswitch_ports; p++) {
		const struct channel *c = &w->channels[p];

		if (c->next == TOPO_NONE)
			continue;
		own[2 * c->low + (c->tier & 1)].load += c->load;
		own[2 * c->low + (c->tier & 1)].rate += c->rate;
		own[2 * c->low + (c->tier & 1)].links++;
	}
	for (unsigned set = 0; set < 2; set++)
		for (uint32_t p = 0; p < w->t->nswitch_ports; p++) {
			struct channel *c = &w->channels[p];

			if (c->next == TOPO_NONE)
				continue;
			const struct sum *mine = &own[2 * c->low + (c->tier & 1)];
			uint64_t *most = &tiers[c->tier].most,
				 hosts = w->g->switches[c->low].nhosts;
			uint64_t one = mine->load * c->rate / mine->rate;

			if (set) {
				*most = *most * 100 < top * w->floor ? top * w->floor / 100 : *most;
				c->share = *most * c->rate / FULL_RATE + 1;
				if (w->dealing && c->share > 1) /* whole LIDs */
					c->share = (c->share + w->hosts - 2) / w->hosts * w->hosts;
				uint64_t part = c->load * 100 / c->share;

				worst = part > worst ? part : worst;
				if (part > w->high && (w->loose || !w->floor))
					c->less += LESS;
				c->share = (c->share * (100 - c->less) + 99) / 100;
				continue;
			}
			/*
			 * At least a leaf's flows to one LID, or all to one of its; with more than
			 * two tiers a multiple, as a LID in parts gets in shifts' way above.
			 */
			if (hosts && c->tier & 1)
				hosts = (mine->load + hosts - 1) / hosts;
			if (!w->turning && hosts && (one < hosts || w->t->nlevels > 2) &&
			    c->rate * mine->links == mine->rate)
				one = (one + hosts - 1) / hosts * hosts;
			one = one * FULL_RATE / c->rate;
			*most = one > *most ? one : *most;
			top = one > top ? one : top;
		}
	free(tiers);
	free(own);
	return worst;
}

/* ---- LIDs of the last round ------------------------------------------------------------------ */

/*
 * In a regular tree with more hosts than links upwards LIDs fill links in rounds, and some links
 * carry a whole LID more than others: those of the last round, where it is not complete. If that is
 * much in three tiers, these LIDs turn: each pod sends them another way. At a root's children they
 * take the links down in turn. At leaves they take the ways of such LIDs of another leaf of their
 * pod, so that links above carry what they did.
 */
struct turn {
	uint32_t lid;
	bool root;	       /* it turns at a root's children */
	uint32_t first;	       /* turn of its family of leaves; that one alone has: */
	uint32_t count, round; /* turns of the family, and of that turn's leaf */
};

/* By switch: the number of its pod, by the first LID there; TOPO_NONE = it is a root. */
static uint32_t number_pods(const struct work *w, const uint32_t *lids, uint32_t n, uint32_t *pod)
{
	const struct graph *g = w->g;
	uint32_t npods = 0, *number = mem_array(number, g->nfamilies + 1); /* of leaves; + 1 */

	for (uint32_t i = 0; i < n; i++) {
		uint32_t *its = &number[g->switches[w->legal.d.sw[lids[i]]].family];

		*its = *its ?: ++npods;
	}
	for (uint32_t i = 0; i < g->nswitches; i++) {
		uint32_t sw = g->by_rank[i];
		const struct graph_switch *s = &g->switches[sw];

		pod[sw] = s->ndown ? pod[graph_downs(g, sw)->peer] : number[s->family] - 1;
		pod[sw] = s->nup ? pod[sw] : TOPO_NONE;
	}
	free(number);
	return npods;
}

/* The LIDs that turn, in topological order. */
static uint32_t list_turns(const struct work *w, const uint32_t *lids, uint32_t n,
			   struct turn *turns)
{
	struct dest_rounds r;
	uint32_t leaf = TOPO_NONE, family = TOPO_NONE, nturns = 0;
	uint32_t leaf_order = 0, pod_order = 0; /* of their first LIDs */

	for (uint32_t i = 0; i < n; i++) {
		uint32_t lid = lids[i], sw = w->legal.d.sw[lid], order = w->legal.d.order[lid];
		struct turn *turn = &turns[nturns], *first = turn;

		if (w->g->switches[sw].family != family) {
			family = w->g->switches[sw].family;
			dests_rounds(w->g, family, &r);
			pod_order = order;
		}
		leaf_order = sw == leaf ? leaf_order : order;
		leaf = sw;
		if (order - leaf_order < r.in_leaf && order - pod_order < r.in_pod)
			continue;
		if (nturns && w->g->switches[w->legal.d.sw[turn[-1].lid]].family == family)
			first = &turns[turn[-1].first];
		*turn = (struct turn){ lid, order - pod_order >= r.in_pod, first - turns, 0, 0 };
		first->count++;
		first->round += w->legal.d.sw[first->lid] == sw;
		nturns++;
	}
	return nturns;
}

/* The port of a LID that turns, at a switch `apart` pods behind its own; 0 = as before. */
static uint8_t turned_port(const struct graph *g, const struct tables *before, uint32_t sw,
			   const struct turn *turns, uint32_t i, uint32_t apart)
{
	const uint8_t *row = tables_row(before, sw);
	const struct turn *first = &turns[turns[i].first];
	const struct graph_group *up = graph_ups(g, sw);
	uint32_t n = 0, at;

	if (!turns[i].root)
		return row[first[(turns + i - first + first->round * apart) % first->count].lid];
	if (!g->switches[sw].nup || g->switches[up->peer].nup)
		return 0;
	for (unsigned u = 0; u < g->switches[sw].nup; u++)
		n += up[u].nlanes;
	for (at = 0; at < n && g->lanes[up->first_lane + at].port != row[turns[i].lid];)
		at++;
	return g->lanes[up->first_lane + (at + apart - 1) % n].port;
}

static void turn_lids(struct work *w, const uint32_t *lids, uint32_t n, const struct tables *before)
{
	uint32_t *pod = mem_array_unset(pod, w->g->nswitches + 1);
	struct turn *turns = mem_array_unset(turns, n + 1);
	uint32_t npods = number_pods(w, lids, n, pod);
	uint32_t nturns = list_turns(w, lids, n, turns);

	for (uint32_t sw = 0; sw < w->g->nswitches; sw++) {
		struct legal_exits exits;
		uint8_t *row = tables_row(&w->legal.tables, sw);

		legal_find_exits(w->g, sw, &exits);
		for (uint32_t i = 0; pod[sw] != TOPO_NONE && i < nturns; i++) {
			uint32_t lid = turns[i].lid, to = w->legal.d.sw[lid];
			uint32_t apart = (pod[sw] + npods - pod[to]) % npods;
			uint8_t out =
				apart ? turned_port(w->g, before, sw, turns, i, apart) : row[lid];

			if (legal_is_like(w->g, &w->legal.r, &exits, to, out, row[lid]))
				row[lid] = out;
		}
		fiber_spend(w->fiber, nturns * NODE_NS);
	}
	free(turns);
	free(pod);
}

static void count_loads(struct work *w, const uint32_t *lids, uint32_t n)
{
	for (uint32_t p = 0; p < w->t->nswitch_ports; p++)
		w->channels[p].load = 0;
	for (uint32_t i = 0; i < n && !*w->hasty; i++) {
		take_lid(w, lids[i]);
		for (uint32_t s = 0; s < w->nsources; s++)
			put(w, &w->sources[s], w->was, false);
		fiber_spend(w->fiber, w->g->nswitches * NODE_NS);
	}
}

/* ---- Rates of spines ------------------------------------------------------------------------- */

/*
 * In two tiers that are regular but for rates a leaf deals LIDs out to its links by their rates, in
 * the order of the LIDs' distance from it. So each link gets its part but for one LID, upwards; and
 * downwards as well, as a leaf is to the others at the distances that these are at to it. LIDs that
 * a shift sends to at once from a leaf, or to a leaf, follow each other when they are dealt.
 */
static void deal_up(const struct work *w, const uint32_t *lids, uint32_t n, uint32_t end)
{
	uint32_t sw = w->legal.d.sw[lids[end - 1]];
	const struct graph_group *ups = graph_ups(w->g, sw);
	const struct graph_family *family = &w->g->families[w->g->switches[sw].family];
	const struct graph_slot *slots = &w->g->slots[family->first_slot];
	int32_t owed[GRAPH_MAX_SLOTS] = { 0 };
	uint8_t ports[GRAPH_MAX_SLOTS];

	for (unsigned k = 0; k < family->nslots; k++)
		ports[k] = w->g->lanes[ups[slots[k].parent].first_lane + slots[k].lane].port;
	for (uint32_t i = end; i < end + n; i++) {
		uint32_t to = w->legal.d.sw[lids[i % n]], best = 0;

		if (to == sw || w->g->switches[to].family != w->g->switches[sw].family)
			continue;
		for (unsigned k = 0; k < family->nslots; k++) {
			owed[k] += channel_of(w, sw, ports[k])->rate;
			best = owed[k] > owed[best] ? k : best;
		}
		for (unsigned k = 0; k < family->nslots; k++)
			owed[best] -= channel_of(w, sw, ports[k])->rate;
		tables_row(&w->legal.tables, sw)[lids[i % n]] = ports[best];
	}
	fiber_spend(w->fiber, 2 * n * NODE_NS);
}

/* Down a trunk it takes the link that has the least. */
static void deal_lids(struct work *w, const uint32_t *lids, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (w->legal.d.sw[lids[i]] != w->legal.d.sw[lids[(i + 1) % n]])
			deal_up(w, lids, n, i + 1);
	count_loads(w, lids, 0); /* none */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t sw = w->legal.d.sw[lids[i]];
		const struct graph_group *up = graph_ups(w->g, sw),
					 *end = up + w->g->switches[sw].nup;

		memset(w->price, 0, w->g->nswitches * sizeof(*w->price)); /* flows to spines */
		for (const struct source *s = w->sources; s < w->sources + w->nsources; s++) {
			uint8_t out = tables_row(&w->legal.tables, s->sw)[lids[i]];

			if (s->sw != sw && out != TABLES_NO_ROUTE)
				w->price[channel_of(w, s->sw, out)->next] += s->hosts;
		}
		for (; up < end; up++) {
			const struct graph_lane *lane = &w->g->lanes[up->first_lane];
			struct channel *best = channel_of(w, up->peer, lane->peer_port);

			for (unsigned l = 1; l < up->nlanes; l++) {
				struct channel *c = channel_of(w, up->peer, lane[l].peer_port);

				best = c->load < best->load ? c : best;
			}
			best->load += w->price[up->peer];
			tables_row(&w->legal.tables, up->peer)[lids[i]] =
				w->g->lanes[best->lane].port;
		}
	}
}

/* LIDs of hosts, in topological order. */
static uint32_t list_lids(const struct dests *d, uint32_t *lids)
{
	uint32_t n = 0;

	for (uint32_t lid = 1; lid <= d->top; lid++)
		if (d->sw[lid] != TOPO_NONE && d->port[lid] && !(d->special && d->special[lid]))
			lids[n++] = lid;
	dests_sort(d, lids, n);
	return n;
}

static void list_moved(const struct work *w, const struct tables *before, struct even *even)
{
	const struct tables *after = &w->legal.tables;

	for (uint32_t sw = 0; sw < w->g->nswitches; sw++) {
		for (uint32_t lid = 1; lid <= after->top; lid++) {
			uint8_t out = tables_row(after, sw)[lid];

			if (out == tables_row(before, sw)[lid])
				continue;
			even->list = mem_grow(even->list, even->count);
			even->list[even->count++] = (struct route_override){ sw, lid, out };
		}
		fiber_spend(w->fiber, after->stride);
	}
}

static void find_moves(struct work *w, struct even *even)
{
	struct tables before = { 0 };
	uint32_t *lids = mem_array_unset(lids, w->legal.d.top + 1u);
	uint32_t n = list_lids(&w->legal.d, lids);

	count_loads(w, lids, n);
	uint64_t first = find_shares(w), worst = first;

	tables_resize(&before, w->legal.tables.nswitches, w->legal.tables.top);
	for (uint32_t sw = 0; sw < before.nswitches; sw++) {
		memcpy(tables_row(&before, sw), tables_row(&w->legal.tables, sw), before.stride);
		fiber_spend(w->fiber, before.stride * FRESH_NS);
	}
	if ((w->turning || w->dealing) && !*w->hasty) {
		if (w->turning)
			turn_lids(w, lids, n, &before);
		else
			deal_lids(w, lids, n);
		count_loads(w, lids, n);
		worst = find_shares(w);
	}
	/* Where two passes relieve the worst link too little, no more is tried. */
	for (unsigned pass = 0;
	     worst > w->high && pass < (worst * 100 > first * WORTH ? 2 : PASSES); pass++) {
		w->loose = 3 + pass;
		memset(w->fees, 0xff, w->g->nlanes * sizeof(*w->fees)); /* UNPRICED: new shares */
		for (uint32_t i = 0; i < n && !*w->hasty; i++)
			move_lid(w, lids[i]);
		worst = find_shares(w);
	}
	if (w->turning ? worst < first : worst * 100 <= first * WORTH)
		list_moved(w, &before, even);
	tables_fini(&before);
	free(lids);
}

static bool is_regular(const struct graph *g, const struct topo *t)
{
	uint32_t leaves = 0, most = 0;

	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		leaves += g->switches[sw].nhosts > 0;
		most = g->switches[sw].nhosts > most ? g->switches[sw].nhosts : most;
	}
	return !g->uneven && (uint64_t)g->nhosts * 100 >= (uint64_t)leaves * most * 97 &&
	       !uneven_is(g, t);
}

bool even_is_due(const struct graph *g, const struct topo *t)
{
	uint8_t *rates = t->rates_differ ? mem_alloc(t->nports + 1, 1) : NULL;
	bool differ = rates && !find_rates(g, t, NULL, rates);
	struct dest_rounds r;

	free(rates);
	return differ || !is_regular(g, t) || any_of(f, 0, g->nfamilies, dests_rounds(g, f, &r));
}

struct even *even_find(struct even *last, const struct graph *g, const struct topo *t,
		       const struct lid_map *lids, const struct route_params *params,
		       struct fiber *fiber)
{
	uint64_t key = 0;
	struct even *even = NULL;

	if (!params->hasty && even_is_due(g, t)) {
		uint8_t *rates = mem_alloc(t->nports + 1, 1);
		bool alike = find_rates(g, t, last, rates);

		for (uint32_t p = 0; p < t->nports; p++)
			key = hash_word(key + ((uint64_t)t->ports[p].peer << 32 |
					       (uint64_t)lids->lid_of_port[p] << 16 |
					       (params->classes ? params->classes[p] : 0) << 8 |
					       rates[p]));
		if (last && last->key == key) {
			free(rates);
			return last;
		}
		struct work w = { .t = t, .fiber = fiber, .hasty = &params->hasty };
		struct arena *arena = arena_new();
		uint32_t n = g->nswitches + 1;

		even = mem_new(even);
		*even = (struct even){ .key = key, .refs = 1, .rates = rates, .nports = t->nports };
		legal_init(&w.legal, t, lids, params,
			   (struct graph_how){ .orientation = GRAPH_BY_LEVEL,
					       .through_cordons = true,
					       .through_damage = true });
		w.legal.r.fiber = fiber;
		legal_fill(&w.legal);
		w.g = w.legal.g;
		w.design.g = w.g;
		w.sources = arena_array(arena, w.sources, n);
		w.out = arena_alloc(arena, n, 1);
		w.was = arena_alloc(arena, n, 1);
		w.price = arena_array(arena, w.price, n);
		w.fees = arena_array(arena, w.fees, w.g->nlanes + 1);
		w.turning = alike && is_regular(w.g, t);
		w.dealing = !alike && t->nlevels == 2 && is_regular(w.g, t);
		w.high = w.turning ? UINT32_MAX : alike ? HIGH : HIGH_RATES;
		w.floor = uneven_is(w.g, t) ? FLOOR : 0;
		add_channels(&w, rates);
		find_moves(&w, even);
		design_fini(&w.design);
		legal_fini(&w.legal);
		free(w.channels);
		arena_free(arena);
	}
	even_unref(last);
	if (!params->hasty)
		return even;
	even_unref(even);
	return NULL;
}

struct even *even_ref(struct even *even)
{
	if (even)
		even->refs++;
	return even;
}

void even_unref(struct even *even)
{
	if (!even || --even->refs)
		return;
	free(even->list);
	free(even->rates);
	free(even);
}
