/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rebalance: see rebalance.h. Stages, each taken in steps:
 *
 *   prepare   the engine's legal paths of the damaged fabric. Tables that are no fat tree's (engine
 *             updn, or pairs of hosts that even detours leave open) are left alone
 *   design    .. and of the same fabric with all known cables live. Entries that differ are displaced
 *   count     LID by LID: flows onto their channels (shift_load.h). Candidates are the displaced
 *             entries and those whose packets come to one
 *   improve   pass by pass, candidate by candidate: takes its flows off, and puts them where they
 *             cost least. An entry moves when that saves more than the pass demands: much at first,
 *             so that a small budget goes where it counts
 *
 * Everything is taken in topological order, so that LIDs do not show.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/rebalance.h"
#include "routing/shift_load.h"
#include "topology/mem.h"

enum stage { START, PREPARE, DESIGN, DESIGN_PATHS, COUNT, FIND_USUAL, COUNT_LEVELS, IMPROVE, DONE };

static const int64_t demands[] = { 400000, 20000, 3000, 1000,
				   1000 }; /* in shift_load's prices, by pass */
#define PASSES (sizeof(demands) / sizeof(demands[0]))

#define CHEAP_KEYS 64 /* buckets that are looked at in about the time of a unit */

struct candidate {
	uint32_t sw, lid;
	uint8_t stable; /* the engine's choice */
};

struct hop {			/* of the LID in question, from one switch */
	uint32_t channel, next; /* TOPO_NONE = none */
};

struct rebalance {
	const struct topo *t;
	const struct lid_map *lids;
	struct route_params params;
	struct rebalance_limits limits;
	enum stage stage;
	struct legal legal; /* its tables are those that change */
	bool *open;	    /* by destination switch: not ours to choose for */
	struct legal design;
	struct shift_load load;
	struct candidate *candidates;
	uint32_t ncandidates, size;
	struct hop *hops; /* by switch */
	uint8_t *
		astray; /* by switch: 0 = not known, else 1 + whether its packets come to a displaced entry */
	uint32_t hops_of; /* LID */
	uint32_t *via;	  /* sources whose packets pass the switch in question */
	uint32_t next;	  /* LID, or candidate */
	unsigned pass;
	uint32_t moved;
	struct rebalance_result result;
};

struct rebalance *rebalance_new(const struct topo *t, const struct lid_map *lids,
				const struct route_params *params,
				const struct rebalance_limits *limits)
{
	struct rebalance *job = mem_alloc(1, sizeof(*job));

	*job = (struct rebalance){ .t = t, .lids = lids, .limits = *limits };
	if (params)
		job->params = *params;
	return job;
}

void rebalance_free(struct rebalance *job)
{
	if (!job)
		return;
	legal_fini(&job->legal);
	legal_fini(&job->design);
	shift_load_fini(&job->load);
	free(job->open);
	free(job->candidates);
	free(job->hops);
	free(job->astray);
	free(job->via);
	free(job->result.overrides);
	free(job);
}

/* ---- Prepare, design ---------------------------------------------------------------------------- */

bool rebalance_is_damaged(const struct topo *t)
{
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i];

		if (port->peer != TOPO_NONE && port->node < t->nswitches &&
		    t->ports[port->peer].node < t->nswitches && (!port->link_up || port->cordoned))
			return true;
	}
	return false;
}

/* Whether the engine's tables are what legal paths and detours around the levels make. */
static bool is_tree(struct rebalance *job)
{
	struct legal *l = &job->legal;

	job->open = legal_find_open(l->g, &l->holes);
	if (!l->holes.host_pairs)
		return true;
	return !job->t->ncordoned && !detour_fill(l->g, &l->d, &l->r, &l->tables, &l->holes);
}

static enum stage start(struct rebalance *job)
{
	const struct graph_how how = { .orientation = GRAPH_BY_LEVEL };

	if (!job->limits.entries || !rebalance_is_damaged(job->t) ||
	    (job->params.engine && strcmp(job->params.engine, "ftree")))
		return DONE;
	legal_init(&job->legal, job->t, job->lids, &job->params, how);
	return PREPARE;
}

static enum stage prepare(struct rebalance *job)
{
	legal_fill(&job->legal);
	return is_tree(job) ? DESIGN : DONE;
}

static enum stage design(struct rebalance *job)
{
	const struct graph_how how = { .orientation = GRAPH_BY_LEVEL,
				       .through_cordons = true,
				       .through_damage = true };
	uint32_t n = job->t->nswitches;

	legal_init(&job->design, job->t, job->lids, &job->params, how);
	shift_load_init(&job->load, job->t, job->lids, job->legal.g, job->params.weights);
	job->hops = mem_alloc(n + 1, sizeof(*job->hops));
	job->astray = mem_alloc(n + 1, 1);
	job->via = mem_alloc(n + 1, sizeof(*job->via));
	job->next = 1;
	return DESIGN_PATHS;
}

static enum stage design_paths(struct rebalance *job)
{
	legal_fill(&job->design);
	return COUNT;
}

/* ---- One LID's column --------------------------------------------------------------------------- */

static struct hop hop_by(const struct rebalance *job, uint32_t sw, uint8_t out)
{
	uint32_t port = job->t->nodes[sw].port0 + out;

	if (!out || out > job->t->nodes[sw].nports || job->load.channel[port] == TOPO_NONE)
		return (struct hop){ TOPO_NONE, TOPO_NONE };
	return (struct hop){ job->load.channel[port],
			     job->t->ports[job->t->ports[port].peer].node };
}

static void look_at(struct rebalance *job, uint32_t lid)
{
	if (job->hops_of == lid)
		return;
	job->hops_of = lid;
	for (uint32_t sw = 0; sw < job->t->nswitches; sw++)
		job->hops[sw] = hop_by(job, sw, tables_row(&job->legal.tables, sw)[lid]);
}

static struct shift_path way_from(const struct rebalance *job, uint32_t sw)
{
	struct shift_path way;

	for (way.n = 0; job->hops[sw].channel != TOPO_NONE && way.n < SHIFT_MAX_PATH; way.n++) {
		way.channel[way.n] = job->hops[sw].channel;
		sw = job->hops[sw].next;
	}
	return way;
}

/* ---- Count -------------------------------------------------------------------------------------- */

static bool is_displaced(const struct rebalance *job, uint32_t sw, uint32_t lid)
{
	return tables_row(&job->legal.tables, sw)[lid] != tables_row(&job->design.tables, sw)[lid];
}

static bool goes_astray(struct rebalance *job, uint32_t sw, uint32_t lid, unsigned hops)
{
	bool found;

	if (job->astray[sw])
		return job->astray[sw] == 2;
	found = is_displaced(job, sw, lid) ||
		(job->hops[sw].next != TOPO_NONE && hops < SHIFT_MAX_PATH &&
		 goes_astray(job, job->hops[sw].next, lid, hops + 1));
	job->astray[sw] = 1 + found;
	return found;
}

static void add_candidate(struct rebalance *job, uint32_t sw, uint32_t lid)
{
	if (job->ncandidates == job->size) {
		job->size = job->size ? job->size * 2 : 1024;
		job->candidates = mem_resize(job->candidates, job->size, sizeof(*job->candidates));
	}
	job->candidates[job->ncandidates++] =
		(struct candidate){ sw, lid, tables_row(&job->legal.tables, sw)[lid] };
}

static void count_lid(struct rebalance *job, uint32_t lid)
{
	look_at(job, lid);
	for (uint32_t s = 0; s < job->load.nsources; s++) {
		const struct shift_flow flow = { lid, &s, 1 };
		const struct shift_path way = way_from(job, job->load.sources[s].sw);

		shift_load_put(&job->load, &flow, &way);
	}
	if (job->open[job->legal.d.sw[lid]])
		return;
	memset(job->astray, 0, job->t->nswitches);
	for (uint32_t sw = 0; sw < job->t->nswitches; sw++)
		if (job->hops[sw].channel != TOPO_NONE && goes_astray(job, sw, lid, 0))
			add_candidate(job, sw, lid);
}

static enum stage count(struct rebalance *job, uint32_t *units)
{
	for (; job->next <= job->lids->top && *units; job->next++) {
		uint32_t work = job->load.nsources + job->t->nswitches / 4;

		if (!job->load.targets[job->next].weight)
			continue;
		count_lid(job, job->next);
		*units -= work < *units ? work : *units;
	}
	if (job->next <= job->lids->top)
		return COUNT;
	job->next = 0;
	return FIND_USUAL;
}

/* ---- Improve ------------------------------------------------------------------------------------ */

static int in_order(const void *a, const void *b, void *arg)
{
	const struct candidate *x = a, *y = b;
	const struct legal *l = arg;
	uint32_t p = l->d.order[x->lid], q = l->d.order[y->lid];

	if (p == q) {
		p = x->lid;
		q = y->lid;
	}
	if (p == q) {
		p = l->g->switches[x->sw].rank;
		q = l->g->switches[y->sw].rank;
	}
	return p < q ? -1 : p > q;
}

static void begin_to_improve(struct rebalance *job)
{
	legal_fini(&job->design);
	if (job->ncandidates)
		qsort_r(job->candidates, job->ncandidates, sizeof(*job->candidates), in_order,
			&job->legal);
	job->result.before = shift_load_figures(&job->load);
	job->hops_of = 0;
}

typedef void channels_fn(struct shift_load *load, uint32_t first, uint32_t end);

/* Some channels more; true after the last. */
static bool over_channels(struct rebalance *job, uint32_t units, channels_fn *fn)
{
	uint32_t left = job->load.nchannels - job->next;
	uint32_t n = 1 + units / (1 + job->load.nkeys / CHEAP_KEYS);

	n = n < left ? n : left;
	fn(&job->load, job->next, job->next + n);
	job->next += n;
	if (n < left)
		return false;
	job->next = 0;
	return true;
}

static enum stage count_levels(struct rebalance *job, uint32_t units)
{
	if (!over_channels(job, units, shift_load_count_levels))
		return COUNT_LEVELS;
	begin_to_improve(job);
	return IMPROVE;
}

static bool passes(const struct rebalance *job, uint32_t from, uint32_t sw)
{
	for (unsigned hops = 0; from != sw && hops < SHIFT_MAX_PATH; hops++) {
		from = job->hops[from].next;
		if (from == TOPO_NONE)
			return false;
	}
	return from == sw;
}

/* Nobody sends through a switch that nothing is below of. */
static uint32_t find_sources(struct rebalance *job, uint32_t sw)
{
	const struct shift_load *load = &job->load;
	uint32_t n = 0;

	if (!job->legal.g->switches[sw].ndown) {
		job->via[0] = load->source_of[sw];
		return job->via[0] != TOPO_NONE;
	}
	for (uint32_t s = 0; s < load->nsources; s++)
		if (passes(job, load->sources[s].sw, sw))
			job->via[n++] = s;
	return n;
}

/* The port after `out` first, so that ties do not all fall on one. */
static bool start_after(struct legal_ports *ports, uint8_t out)
{
	const uint8_t *found = memchr(ports->port, out, ports->n);
	uint8_t turned[256];
	unsigned at;

	if (!found)
		return false;
	at = found - ports->port + 1;
	for (unsigned i = 0; i < ports->n; i++)
		turned[i] = ports->port[(at + i) % ports->n];
	memcpy(ports->port, turned, ports->n);
	return true;
}

/* Puts the entry's hop where the flow costs least. price: of where it was. Returns its port. */
static uint8_t cheapest(struct rebalance *job, const struct candidate *c,
			const struct shift_flow *flow, int64_t price)
{
	uint8_t best = tables_row(&job->legal.tables, c->sw)[c->lid];
	int64_t least = price - demands[job->pass];
	struct legal_ports ports;

	legal_ports(job->legal.g, &job->legal.r, c->sw, job->legal.d.sw[c->lid], &ports);
	if (start_after(&ports, best)) {
		for (unsigned i = 0; i + 1 < ports.n; i++) {
			struct shift_path way;

			job->hops[c->sw] = hop_by(job, c->sw, ports.port[i]);
			way = way_from(job, c->sw);
			price = shift_load_price(&job->load, flow, &way);
			if (price < least) {
				least = price;
				best = ports.port[i];
			}
		}
	}
	job->hops[c->sw] = hop_by(job, c->sw, best);
	return best;
}

/* Returns about how much work it was. */
static uint32_t improve_one(struct rebalance *job, const struct candidate *c)
{
	uint8_t *entry = &tables_row(&job->legal.tables, c->sw)[c->lid];
	struct shift_flow flow = { .lid = c->lid, .sources = job->via };
	struct shift_path way;
	int64_t price;

	if (*entry == c->stable && job->moved == job->limits.entries)
		return 1;
	look_at(job, c->lid);
	flow.nsources = find_sources(job, c->sw);
	if (!flow.nsources)
		return job->load.nsources;
	way = way_from(job, c->sw);
	shift_load_move(&job->load, &flow, &way, true);
	price = shift_load_price(&job->load, &flow, &way);
	if (price > demands[job->pass]) {
		job->moved -= *entry != c->stable;
		*entry = cheapest(job, c, &flow, price);
		job->moved += *entry != c->stable;
		way = way_from(job, c->sw);
	}
	shift_load_move(&job->load, &flow, &way, false);
	return price > demands[job->pass] ? flow.nsources * 32 : flow.nsources * 4;
}

static int by_switch(const void *a, const void *b)
{
	const struct route_override *x = a, *y = b;

	return x->sw != y->sw ? (x->sw < y->sw ? -1 : 1) : (int)x->lid - (int)y->lid;
}

static bool lower(double before, double after, unsigned percent)
{
	return after < before && (before - after) * 100 >= before * percent;
}

static bool worthwhile(const struct rebalance *job)
{
	const struct rebalance_figures *b = &job->result.before, *a = &job->result.after;
	unsigned gain = job->limits.gain;

	return lower(b->shift, a->shift, gain) || lower(b->rail_shift, a->rail_shift, gain) ||
	       lower(b->all_to_all, a->all_to_all, gain);
}

static void finish(struct rebalance *job)
{
	struct rebalance_result *result = &job->result;

	result->after = shift_load_figures(&job->load);
	if (!worthwhile(job)) {
		result->after = result->before;
		return;
	}
	result->overrides = mem_alloc(job->moved + 1, sizeof(*result->overrides));
	for (uint32_t i = 0; i < job->ncandidates; i++) {
		const struct candidate *c = &job->candidates[i];
		uint8_t out = tables_row(&job->legal.tables, c->sw)[c->lid];

		if (out != c->stable)
			result->overrides[result->count++] =
				(struct route_override){ c->sw, c->lid, out };
	}
	qsort(result->overrides, result->count, sizeof(*result->overrides), by_switch);
}

static enum stage improve(struct rebalance *job, uint32_t *units)
{
	while (*units) {
		uint32_t work;

		if (job->next == job->ncandidates) {
			job->next = 0;
			if (++job->pass < PASSES)
				continue;
			finish(job);
			return DONE;
		}
		work = improve_one(job, &job->candidates[job->next++]);
		*units -= work < *units ? work : *units;
	}
	return IMPROVE;
}

bool rebalance_step(struct rebalance *job, uint32_t units)
{
	switch (job->stage) {
	case START:
		job->stage = start(job);
		break;
	case PREPARE:
		job->stage = prepare(job);
		break;
	case DESIGN:
		job->stage = design(job);
		break;
	case DESIGN_PATHS:
		job->stage = design_paths(job);
		break;
	case COUNT:
		job->stage = count(job, &units);
		break;
	case FIND_USUAL:
		if (over_channels(job, units, shift_load_find_usual))
			job->stage = COUNT_LEVELS;
		break;
	case COUNT_LEVELS:
		job->stage = count_levels(job, units);
		break;
	case IMPROVE:
		job->stage = improve(job, &units);
		break;
	case DONE:
		break;
	}
	return job->stage == DONE;
}

void rebalance_finish(struct rebalance *job)
{
	while (!rebalance_step(job, UINT32_MAX))
		;
}

const struct rebalance_result *rebalance_result(const struct rebalance *job)
{
	return &job->result;
}
