/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * shift_load: see shift_load.h. Counts are bytes; one that has come to 255 stays there.
 */
#include "routing/balance/shift_load.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define MAX_PARTS   32 /* buckets to a leaf's width, where memory allows */
#define SHIFT_PARTS 4  /* at least, for shifts */
#define RAIL_PARTS  8  /* at least, for shifts within rails, if memory allows */
#define MAX_BYTES   (32u << 20)
#define HARD_BYTES  (64u << 20)
#define SHARE_BITS  10 /* a channel's share of all-to-all traffic: the mean is 1 << SHARE_BITS */
#define SHARE_MAX   (8u << SHARE_BITS)
#define STICKY	    UINT8_MAX

/*
 * Prices, in units that only compare. Where a leaf's width is so many buckets, one more channel at
 * level 2 costs PRICE_EACH a bucket; PRICE_FIRST comes on top when it is the first there, the n-th
 * adds a part of n. Each level costs LEVEL_BITS more than the one below it.
 */
#define SHIFT_WEIGHT 16
#define RAIL_WEIGHT  32
#define PRICE_EACH   64
#define PRICE_FIRST  1024
#define LEVEL_BITS   6
#define UNAVOIDABLE  16 /* up to the floor: a part of that */
#define FORBIDDEN    (INT64_MAX / SHIFT_MAX_PATH / 2)
#define SHARE_PRICE                                                                                \
	4 /* a channel with the mean share, of a fabric with so many sources: 1 << SHARE_BITS */

/* ---- Who sends to whom ----------------------------------------------------------------------- */

SORT_BY(by_place, struct shift_source, sort_order(a->place, b->place))

struct census { /* what the sources and targets are made from */
	const struct topo *t;
	const struct lid_map *lids;
	const struct graph *g;
};

static bool find_source(const struct census *c, uint32_t sw, struct shift_source *out)
{
	const struct graph_switch *s = &c->g->switches[sw];

	*out = (struct shift_source){ .sw = sw, .place = UINT32_MAX };
	for (unsigned h = 0; h < s->nhosts; h++) {
		const struct graph_host *host = &c->g->hosts[s->first_host + h];
		int16_t rail = c->t->nodes[c->t->ports[host->port].node].rail;

		if (!host->live || !c->lids->lid_of_port[host->port])
			continue;
		out->rail = !out->hosts++ || out->rail == rail ? rail : -1;
		out->place = host->order < out->place ? host->order : out->place;
	}
	return out->hosts;
}

/* A host's place is found by its number, which is ascending on a leaf. */
static void list_targets(struct shift_load *load, const struct census *c)
{
	for (uint32_t i = 0; i < load->nsources; i++) {
		const struct graph_switch *s = &c->g->switches[load->sources[i].sw];
		uint32_t at = 0;

		for (unsigned h = 0; h < s->nhosts; h++) {
			const struct graph_host *host = &c->g->hosts[s->first_host + h];
			uint32_t lid = c->lids->lid_of_port[host->port], place = at;

			if (!host->live || !c->lids->lid_of_port[host->port])
				continue;
			at++;
			for (uint32_t n = 0; n < 1u << c->lids->lmc && lid + n <= c->lids->top;
			     n++) {
				load->lids[load->nlids++] = lid + n;
				load->targets[lid + n] = (struct shift_target){
					.source = i,
					.place = place,
				};
			}
		}
	}
}

static uint32_t longest_rail(const struct shift_load *load)
{
	uint32_t longest = 0;

	for (unsigned rail = 0; rail <= UINT8_MAX; rail++)
		if (load->rings[rail + 1].count > longest)
			longest = load->rings[rail + 1].count;
	return longest;
}

/*
 * Counts of rings are of sources here. Beyond HARD_BYTES, shifts that are far apart share buckets.
 */
static void size_rings(struct shift_load *load)
{
	uint64_t all = load->rings[0].count, rail = longest_rail(load), bytes = load->nchannels;
	unsigned shift_parts = MAX_PARTS, rail_parts = MAX_PARTS, fold = 1;

	while (shift_parts > SHIFT_PARTS &&
	       bytes * (all * shift_parts + rail * rail_parts) > MAX_BYTES)
		shift_parts /= 2;
	while (rail_parts > RAIL_PARTS &&
	       bytes * (all * shift_parts + rail * rail_parts) > MAX_BYTES)
		rail_parts /= 2;
	while (rail_parts > 1 && bytes * (all * shift_parts + rail * rail_parts) > HARD_BYTES) {
		shift_parts = shift_parts > 1 ? shift_parts / 2 : 1;
		rail_parts /= 2;
	}
	while (bytes * (all + rail) / fold > HARD_BYTES)
		fold++;
	for (unsigned ring = 0; ring <= UINT8_MAX + 1; ring++) {
		struct shift_ring *r = &load->rings[ring];

		r->parts = ring ? rail_parts : shift_parts;
		r->count = (r->count + fold - 1) / fold * r->parts;
		r->first = ring ? load->rings[0].count : 0;
	}
	load->nkeys = load->rings[0].count + longest_rail(load);
}

void shift_load_init(struct shift_load *load, const struct topo *t, const struct lid_map *lids,
		     const struct graph *g)
{
	const struct census census = { t, lids, g };
	struct arena *arena = arena_new();

	*load = (struct shift_load){ .t = t, .arena = arena };
	load->channel = arena_array(arena, load->channel, t->nports + 1);
	load->source_of = arena_array(arena, load->source_of, t->nswitches + 1);
	memset(load->source_of, 0xff, t->nswitches * sizeof(*load->source_of));
	load->sources = arena_array(arena, load->sources, t->nswitches + 1);
	load->targets = arena_array(arena, load->targets, lids->top + 1u);
	load->lids = arena_array(arena, load->lids, lids->top + 1u);

	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i];
		bool channel = port->link_up && port->num && port->node < t->nswitches &&
			       t->ports[port->peer].node < t->nswitches;

		load->channel[i] = channel ? load->nchannels++ : TOPO_NONE;
	}

	uint32_t places[UINT8_MAX + 1] = { 0 };

	for (uint32_t sw = 0; sw < census.g->nswitches; sw++)
		load->nsources += find_source(&census, sw, &load->sources[load->nsources]);
	qsort(load->sources, load->nsources, sizeof(*load->sources), by_place);
	for (uint32_t i = 0; i < load->nsources; i++) {
		struct shift_source *source = &load->sources[i];

		load->source_of[source->sw] = i;
		source->place = i;
		if (source->rail > UINT8_MAX)
			source->rail = -1;
		if (source->rail >= 0)
			source->rail_place = places[source->rail]++;
	}
	load->rings[0].count = load->nsources;
	for (unsigned rail = 0; rail <= UINT8_MAX; rail++)
		load->rings[rail + 1].count = places[rail];

	list_targets(load, &census);
	size_rings(load);
	for (uint32_t i = 0; i < load->nlids; i++) {
		struct shift_target *target = &load->targets[load->lids[i]];
		uint32_t hosts = load->sources[target->source].hosts;

		for (unsigned ring = 0; ring < 2; ring++)
			target->phase[ring] =
				(2 * target->place * load->rings[ring].parts + hosts) / (2 * hosts);
	}

	load->flows = arena_alloc(arena, (size_t)load->nchannels * load->nkeys + 1, 1);
	load->total = arena_array(arena, load->total, load->nchannels + 1);
	load->floor = arena_alloc(arena, load->nkeys + 1, 1);
	load->crowded =
		arena_array(arena, load->crowded, (SHIFT_LEVELS + 1) * (size_t)load->nkeys + 1);
	load->prices =
		arena_array(arena, load->prices, (SHIFT_LEVELS + 1) * (size_t)load->nkeys + 1);
}

/* ---- Windows --------------------------------------------------------------------------------- */

/* keys that a flow fills: n from the first on, then the rest from where the ring begins */
struct window {
	uint32_t first, n, again, rest;
};

static struct window window_of(const struct shift_ring *ring, int32_t apart, uint32_t phase)
{
	int64_t at = (int64_t)(apart - 1) * ring->parts + phase, count = ring->count;

	if (at < -count || at >= 2 * count)
		at %= count;

	uint32_t from = at < 0 ? at + count : at >= count ? at - count : at;
	uint32_t n = ring->count - from;

	n = n < ring->parts ? n : ring->parts;
	return (struct window){ ring->first + from, n, ring->first, ring->parts - n };
}

/* Of a source's flow to a target: among all hosts, and within their rail. Returns how many. */
static unsigned windows_of(const struct shift_load *load, const struct shift_source *from,
			   const struct shift_target *target, struct window out[2])
{
	const struct shift_source *to = &load->sources[target->source];

	out[0] = window_of(&load->rings[0], to->place - from->place, target->phase[0]);
	if (from->rail < 0 || from->rail != to->rail)
		return 1;
	out[1] = window_of(&load->rings[from->rail + 1], to->rail_place - from->rail_place,
			   target->phase[1]);
	return 2;
}

static uint8_t *flows_of(const struct shift_load *load, uint32_t channel)
{
	return load->flows + (size_t)channel * load->nkeys;
}

static void put_run(uint8_t *flows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		flows[i] += flows[i] != STICKY;
}

void shift_load_put(struct shift_load *load, const struct shift_flow *flow,
		    const struct shift_path *path)
{
	for (uint32_t s = 0; s < flow->nsources; s++) {
		const struct shift_source *from = &load->sources[flow->sources[s]];
		struct window w[2];
		unsigned n = windows_of(load, from, &load->targets[flow->lid], w);

		for (unsigned p = 0; p < path->n; p++) {
			uint8_t *flows = flows_of(load, path->channel[p]);

			for (unsigned i = 0; i < n; i++) {
				put_run(flows + w[i].first, w[i].n);
				put_run(flows + w[i].again, w[i].rest);
			}
			load->total[path->channel[p]] += from->hosts;
		}
	}
}

/* ---- Levels and prices ----------------------------------------------------------------------- */

/* A flow costs the same however many buckets it fills. */
static void set_price(struct shift_load *load, unsigned level, uint32_t key)
{
	bool rail = key >= load->rings[0].count;
	size_t at = (size_t)level * load->nkeys + key;

	if (level < 2)
		return;

	int32_t price = PRICE_EACH + PRICE_FIRST / (1 + (int32_t)load->crowded[at]);

	price = price * (rail ? RAIL_WEIGHT : SHIFT_WEIGHT) / (int32_t)load->rings[rail].parts;
	if (level <= load->floor[key])
		price /= UNAVOIDABLE;
	load->prices[at] = price << LEVEL_BITS * (level - 2);
}

void shift_load_find_usual(struct shift_load *load, uint32_t first, uint32_t end)
{
	uint32_t sum, busy;

	for (uint32_t c = first; c < end; c++) {
		const uint8_t *flows = flows_of(load, c);

		sum = busy = 0;
		for (uint32_t key = 0; key < load->nkeys; key++) {
			sum += flows[key];
			busy += flows[key] > 0;
		}
		load->sum += sum;
		load->busy += busy;
	}
	if (end == load->nchannels) {
		/* The usual number of flows is the mean of the buckets that have any. */
		unsigned usual = load->busy ? (load->sum + load->busy / 2) / load->busy : 1;
		uint64_t flows = 0;

		for (unsigned n = 0; n < 256; n++) {
			unsigned level = n < usual ? 0 : n - usual + 1;

			load->level_of[n] = level > SHIFT_LEVELS ? SHIFT_LEVELS : level;
		}
		for (uint32_t c = 0; c < load->nchannels; c++)
			flows += load->total[c];
		load->mean = flows > load->nchannels ? flows / load->nchannels : 1;
	}
}

struct cut { /* a leaf's channels, one way: what all of them carry, by key */
	uint32_t *flows, channels;
};

static void add_to_cut(const struct shift_load *load, struct cut *cut, uint32_t channel)
{
	const uint8_t *flows = flows_of(load, channel);

	for (uint32_t key = 0; key < load->nkeys; key++)
		cut->flows[key] += flows[key];
	cut->channels++;
}

/* However flows are distributed over the cut's channels, one of them carries the mean or more. */
static void raise_floors(struct shift_load *load, struct cut *cut)
{
	for (uint32_t key = 0; key < load->nkeys && cut->channels; key++) {
		uint32_t flows = (cut->flows[key] + cut->channels - 1) / cut->channels;
		uint8_t level = load->level_of[flows < STICKY ? flows : STICKY];

		if (level > load->floor[key])
			load->floor[key] = level;
	}
	mem_zero(cut->flows, load->nkeys);
	cut->channels = 0;
}

void shift_load_find_floors(struct shift_load *load, uint32_t first, uint32_t end)
{
	struct cut cut = { .flows = mem_array(cut.flows, load->nkeys + 1) };

	for (uint32_t s = first; s < end; s++) {
		const struct topo_node *node = &load->t->nodes[load->sources[s].sw];
		const uint32_t from = node->port0 + 1, to = from + node->nports;

		for (uint32_t port = from; port < to; port++)
			if (load->channel[port] != TOPO_NONE)
				add_to_cut(load, &cut, load->channel[port]);
		raise_floors(load, &cut);
		for (uint32_t port = from; port < to; port++)
			if (load->channel[port] != TOPO_NONE)
				add_to_cut(load, &cut, load->channel[load->t->ports[port].peer]);
		raise_floors(load, &cut);
	}
	free(cut.flows);
}

void shift_load_count_levels(struct shift_load *load, uint32_t first, uint32_t end)
{
	for (uint32_t c = first; c < end; c++) {
		const uint8_t *flows = flows_of(load, c);

		for (uint32_t key = 0; key < load->nkeys; key++)
			for (unsigned level = load->level_of[flows[key]]; level >= 2; level--)
				load->crowded[level * (size_t)load->nkeys + key]++;
	}
	if (end == load->nchannels) {
		for (unsigned level = 2; level <= SHIFT_LEVELS; level++)
			for (uint32_t key = 0; key < load->nkeys; key++)
				set_price(load, level, key);
	}
}

static void step_level(struct shift_load *load, unsigned level, uint32_t key, int by)
{
	load->crowded[level * (size_t)load->nkeys + key] += by;
	set_price(load, level, key);
}

static void move_run(struct shift_load *load, uint8_t *flows, uint32_t first, uint32_t n, bool off)
{
	for (uint32_t key = first; key < first + n; key++) {
		unsigned was = load->level_of[flows[key]], is;

		if (flows[key] == STICKY)
			continue;
		flows[key] += off ? -1 : 1;
		is = load->level_of[flows[key]];
		if (is > was)
			step_level(load, is, key, 1);
		else if (is < was)
			step_level(load, was, key, -1);
	}
}

void shift_load_move(struct shift_load *load, const struct shift_flow *flow,
		     const struct shift_path *path, bool off)
{
	for (uint32_t s = 0; s < flow->nsources; s++) {
		const struct shift_source *from = &load->sources[flow->sources[s]];
		uint64_t more = from->hosts;
		struct window w[2];
		unsigned n = windows_of(load, from, &load->targets[flow->lid], w);

		for (unsigned p = 0; p < path->n; p++) {
			uint8_t *flows = flows_of(load, path->channel[p]);

			for (unsigned i = 0; i < n; i++) {
				move_run(load, flows, w[i].first, w[i].n, off);
				move_run(load, flows, w[i].again, w[i].rest, off);
			}
			load->total[path->channel[p]] += off ? -more : more;
		}
	}
}

static int64_t run_price(const struct shift_load *load, const uint8_t *flows, uint32_t first,
			 uint32_t n)
{
	int64_t price = 0;

	for (uint32_t key = first; key < first + n; key++) {
		unsigned next = flows[key] == STICKY ? STICKY : flows[key] + 1;

		price += load->prices[load->level_of[next] * (size_t)load->nkeys + key];
	}
	return price;
}

static uint64_t most(const struct shift_load *load)
{
	uint64_t most = 0;

	for (uint32_t c = 0; c < load->nchannels; c++)
		most = load->total[c] > most ? load->total[c] : most;
	return most;
}

void shift_load_price_share(struct shift_load *load, enum shift_share share)
{
	load->share = share;
	load->cap = most(load);
}

static int64_t share_cost(const struct shift_load *load, uint64_t total)
{
	uint64_t share = (total << SHARE_BITS) / load->mean, square;

	share = share > SHARE_MAX ? SHARE_MAX : share;
	square = share * share >> SHARE_BITS;
	return (square * square >> SHARE_BITS) * load->nsources / SHARE_PRICE;
}

static int64_t share_price(const struct shift_load *load, uint64_t total, uint64_t more)
{
	if (load->share == SHIFT_SHARE_CAPPED && total + more > load->cap)
		return FORBIDDEN;
	if (load->share != SHIFT_SHARE_PRICED)
		return 0;
	return share_cost(load, total + more) - share_cost(load, total);
}

int64_t shift_load_price(const struct shift_load *load, const struct shift_flow *flow,
			 const struct shift_path *path)
{
	int64_t price = 0;
	uint64_t more = 0;

	for (uint32_t s = 0; s < flow->nsources; s++) {
		const struct shift_source *from = &load->sources[flow->sources[s]];
		struct window w[2];
		unsigned n = windows_of(load, from, &load->targets[flow->lid], w);

		more += from->hosts;
		for (unsigned p = 0; p < path->n; p++) {
			const uint8_t *flows = flows_of(load, path->channel[p]);

			for (unsigned i = 0; i < n; i++)
				price += run_price(load, flows, w[i].first, w[i].n) +
					 run_price(load, flows, w[i].again, w[i].rest);
		}
	}
	for (unsigned p = 0; p < path->n; p++)
		price += share_price(load, load->total[path->channel[p]], more);
	return price;
}

/* ---- Figures --------------------------------------------------------------------------------- */

static double mean_level(const struct shift_load *load, uint32_t first, uint32_t end)
{
	uint64_t sum = 0;

	for (uint32_t key = first; key < end; key++) {
		unsigned level = SHIFT_LEVELS;

		while (level > 1 && !load->crowded[level * (size_t)load->nkeys + key])
			level--;
		sum += level;
	}
	return end > first ? (double)sum / (end - first) : 0;
}

struct rebalance_figures shift_load_figures(const struct shift_load *load)
{
	return (struct rebalance_figures){
		.shift = mean_level(load, 0, load->rings[0].count),
		.rail_shift = mean_level(load, load->rings[0].count, load->nkeys),
		.all_to_all = (double)most(load) / load->mean,
	};
}
