/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/balance/rebalance.h"
#include "routing/balance/shift_load.h"
#include "routing/ftree/engine.h"
#include "routing/ftree/even.h"
#include "routing/ftree/legal.h"
#include "routing/ftree/tiers.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

struct candidate {
	uint32_t sw, lid;
	uint8_t stable; /* the engine's choice */
};

struct hop {			/* of one LID, from one switch */
	uint32_t channel, next; /* TOPO_NONE = none */
};

struct rebalance {
	const struct topo *t;
	const struct lid_map *lids;
	struct route_params params;
	struct rebalance_limits limits;
	int stage;
	struct rebalance *base; /* what this one begins with; NULL = the engine's tables */
	bool is_base;		/* for a small fabric of uneven design: any entry may move */
	struct even *even;	/* the engine's entries of an irregular design */
	struct topo *whole;	/* the base's snapshot, if it is not this one's */
	struct legal legal;	/* its tables are those that change */
	bool *open;		/* by destination switch: legal_find_open() */
	struct legal design;
	struct shift_load load;
	struct candidate *candidates; /* by LID, in topological order; of a LID by rank */
	uint32_t ncandidates;
	uint32_t next;	  /* switch, LID (of the load), channel, source or candidate */
	uint32_t hops_of; /* LID */
	struct hop *hops; /* by switch */
	uint8_t *mark;	  /* by switch: while candidates are looked for */
	uint32_t *list; /* switches or sources; at the end by switch: place of its next override */

	unsigned pass;
	uint64_t work; /* in units, of this step */
	uint32_t moved;
	uint32_t first, end; /* candidates of the LID in question */
	uint32_t *users;     /* by switch: sources whose packets to the LID pass */
	uint32_t *known;     /* by switch: 1 + the LID's candidate there, 0 = none */
	uint32_t *others;    /* sources */

	uint32_t *of_lid; /* 1 + its first candidate, 0 = none */
	struct rebalance_result result;
};

/* ---- One LID's next hops from all switches, as the pass's own tables have them --------------- */

/* The channel behind a port and the switch that it leads to, or TOPO_NONE. */
static struct hop hop_by(const struct rebalance *job, uint32_t sw, uint8_t out)
{
	uint32_t port = job->t->nodes[sw].port0 + out;

	if (!out || out > job->t->nodes[sw].nports || job->load.channel[port] == TOPO_NONE)
		return (struct hop){ TOPO_NONE, TOPO_NONE };
	return (struct hop){ job->load.channel[port],
			     job->t->ports[job->t->ports[port].peer].node };
}

/* Sets job->hops to those of that LID. */
static void set_lid(struct rebalance *job, uint32_t lid)
{
	if (job->hops_of == lid)
		return;
	job->hops_of = lid;
	for (uint32_t sw = 0; sw < job->t->nswitches; sw++)
		job->hops[sw] = hop_by(job, sw, tables_row(&job->legal.tables, sw)[lid]);
}

/* The channels from a switch to the LID of set_lid(). */
static struct shift_path path_from(const struct rebalance *job, uint32_t sw)
{
	struct shift_path path;

	for (path.n = 0; job->hops[sw].channel != TOPO_NONE && path.n < SHIFT_MAX_PATH; path.n++) {
		path.channel[path.n] = job->hops[sw].channel;
		sw = job->hops[sw].next;
	}
	return path;
}

/*
 * ---- Improve ------------------------------------------------------------------------------------
 * Where candidates move. Each in turn has its flows taken off and put where they
 * cost least; its entry moves when that saves more than the pass demands.
 *
 * The first passes count shifts alone. Few flows meet in the same shift and could avoid it, and
 * these get the first choice of ports, here and at the switches further on. The next passes count
 * shares of all-to-all traffic, and move many flows that no shift depends on. The last passes count
 * shifts again, without more load on the worst channel than it has by then. Large savings come
 * before small ones, so that a small budget is spent where it saves most.
 *
 * A better port often helps only together with another entry: further on, several links lead to the
 * same switch, one of them is the right one, and the LID's entry there names another. So the pass
 * chooses that entry as well, and moves all flows that use it already. (While shares count, it does
 * so only if no other flow uses that entry: most entries have other flows then, and trying them all
 * takes long.)
 */

static const struct pass {
	int64_t demand; /* in shift_load's prices */
	enum shift_share share;
} passes[] = {
	{ 20000, SHIFT_SHARE_FREE },  { 3000, SHIFT_SHARE_FREE },    { 1000, SHIFT_SHARE_FREE },
	{ 300, SHIFT_SHARE_FREE },    { 20000, SHIFT_SHARE_PRICED }, { 3000, SHIFT_SHARE_PRICED },
	{ 1000, SHIFT_SHARE_PRICED }, { 300, SHIFT_SHARE_PRICED },   { 100, SHIFT_SHARE_CAPPED },
};
#define PASSES ARRAY_SIZE(passes)

/* ---- The LID in question --------------------------------------------------------------------- */

static uint8_t *entry_of(const struct rebalance *job, uint32_t sw, uint32_t lid)
{
	return &tables_row(&job->legal.tables, sw)[lid];
}

static void count_users(struct rebalance *job, uint32_t from, int by)
{
	for (unsigned hops = 0; from != TOPO_NONE && hops < SHIFT_MAX_PATH; hops++) {
		job->users[from] += by;
		from = job->hops[from].next;
	}
}

static bool passes_by(const struct rebalance *job, uint32_t from, uint32_t sw)
{
	for (unsigned hops = 0; from != sw && hops < SHIFT_MAX_PATH; hops++) {
		from = job->hops[from].next;
		if (from == TOPO_NONE)
			return false;
	}
	return from == sw;
}

/* Nobody sends through a switch that nothing is below of. */
static uint32_t find_sources(struct rebalance *job, uint32_t sw, uint32_t *list)
{
	const struct shift_load *load = &job->load;
	uint32_t n = 0;

	if (!job->legal.g->switches[sw].ndown) {
		list[0] = load->source_of[sw];
		return list[0] != TOPO_NONE;
	}
	job->work += load->nsources / 4;
	for (uint32_t s = 0; s < load->nsources && n < job->users[sw]; s++)
		if (passes_by(job, load->sources[s].sw, sw))
			list[n++] = s;
	return n;
}

static void set_entry(struct rebalance *job, uint32_t sw, uint32_t lid, uint8_t port)
{
	const struct candidate *c = &job->candidates[job->known[sw] - 1];
	uint8_t *entry = entry_of(job, sw, lid);

	job->moved -= *entry != c->stable;
	*entry = port;
	job->moved += *entry != c->stable;
	job->hops[sw] = hop_by(job, sw, port);
}

/* ---- A path by another port ------------------------------------------------------------------ */

struct trial { /* of a candidate whose flows are off their channels */
	struct rebalance *job;
	const struct candidate *candidate;
	struct shift_flow flow;
	uint32_t room; /* entries that may move still, besides the candidate's */
};

struct lanes { /* entry and flows of a LID at a switch that the trial comes to */
	uint32_t sw;
	struct legal_ports ports; /* to the same neighbour */
	struct shift_flow others; /* that are there already */
	struct shift_flow all;	  /* them, and the trial's */
	uint8_t best;
	int64_t price; /* of the trial's flow, and of the others' moving along */
};

static int64_t price_by(const struct trial *trial, const struct shift_flow *flow, uint32_t channel)
{
	const struct shift_path path = { .channel = { channel }, .n = 1 };

	trial->job->work += flow->nsources;
	return shift_load_price(&trial->job->load, flow, &path);
}

static void move_others(const struct trial *trial, const struct lanes *l, uint8_t port, bool off)
{
	const struct shift_path path = { .channel = { hop_by(trial->job, l->sw, port).channel },
					 .n = 1 };

	trial->job->work += l->others.nsources * 2;
	shift_load_move(&trial->job->load, &l->others, &path, off);
}

/* The ports by which the LID may go on to the neighbour it goes on to now. */
static bool find_lanes(const struct trial *trial, struct lanes *l)
{
	const struct rebalance *job = trial->job;
	struct legal_ports *ports = &l->ports;
	unsigned n = 0;
	bool priced = passes[job->pass].share == SHIFT_SHARE_PRICED;

	if (!job->known[l->sw] || !trial->room || (priced && job->users[l->sw]))
		return false;
	legal_ports(job->legal.g, &job->legal.r, l->sw, job->legal.d.sw[trial->flow.lid], ports);
	for (unsigned i = 0; i < ports->n; i++)
		if (hop_by(job, l->sw, ports->port[i]).next == job->hops[l->sw].next)
			ports->port[n++] = ports->port[i];
	ports->n = n;
	return n > 1;
}

static void choose_lane(const struct trial *trial, struct lanes *l)
{
	struct rebalance *job = trial->job;
	const struct shift_load *load = &job->load;
	uint8_t now = *entry_of(job, l->sw, trial->flow.lid);
	uint32_t channel = job->hops[l->sw].channel, n = 0, most = job->users[l->sw];

	l->best = now;
	if (!find_lanes(trial, l)) {
		l->others.nsources = 0;
		l->price = price_by(trial, &trial->flow, channel);
		return;
	}
	/* Sources of the trial do not pass, whatever their hops say: they are off. */
	job->work += most ? load->nsources / 4 : 0;
	for (uint32_t s = 0; s < load->nsources && n < most; s++)
		if (passes_by(job, load->sources[s].sw, l->sw) &&
		    !passes_by(job, load->sources[s].sw, trial->candidate->sw))
			job->others[n++] = s;
	memcpy(job->others + n, trial->flow.sources, trial->flow.nsources * sizeof(*job->others));
	l->others = (struct shift_flow){ trial->flow.lid, job->others, n };
	l->all = (struct shift_flow){ trial->flow.lid, job->others, n + trial->flow.nsources };
	move_others(trial, l, now, true);

	int64_t unmoved = price_by(trial, &l->others, channel);

	l->price = price_by(trial, &l->all, channel);
	for (unsigned i = 0; i < l->ports.n; i++) {
		uint8_t port = l->ports.port[i];
		int64_t price =
			port == now ? l->price
				    : price_by(trial, &l->all, hop_by(job, l->sw, port).channel);

		if (price < l->price) {
			l->price = price;
			l->best = port;
		}
	}
	l->price -= unmoved;
	move_others(trial, l, now, false);
}

/* The port after `out` first, so that ties do not all fall on one. */
static bool start_after(struct legal_ports *ports, uint8_t out)
{
	const uint8_t *found = memchr(ports->port, out, ports->n);
	uint8_t turned[256];

	if (!found)
		return false;

	unsigned at = found - ports->port + 1;

	for (unsigned i = 0; i < ports->n; i++)
		turned[i] = ports->port[(at + i) % ports->n];
	memcpy(ports->port, turned, ports->n);
	return true;
}

/* price: of where the flow was. */
static void take_cheapest(const struct trial *trial, int64_t price)
{
	struct rebalance *job = trial->job;
	const struct candidate *c = trial->candidate;
	uint8_t now = *entry_of(job, c->sw, c->lid), best = now;
	int64_t least = price - passes[job->pass].demand;
	struct legal_ports ports;

	legal_ports(job->legal.g, &job->legal.r, c->sw, job->legal.d.sw[c->lid], &ports);
	if (!start_after(&ports, now))
		return;
	for (unsigned i = 0; i + 1 < ports.n; i++) {
		/* What the flow costs by that port; looked at no further once it is not less. */
		struct hop hop = hop_by(job, c->sw, ports.port[i]);
		struct trial on = *trial;

		price = price_by(trial, &trial->flow, hop.channel);

		for (unsigned hops = 1; hops < SHIFT_MAX_PATH && price < least; hops++) {
			struct lanes l = { .sw = hop.next };

			hop = job->hops[l.sw];
			if (hop.channel == TOPO_NONE)
				break;
			choose_lane(&on, &l);
			price += l.price;
			on.room -= l.best != *entry_of(job, l.sw, trial->flow.lid);
		}
		if (price < least) {
			least = price;
			best = ports.port[i];
		}
	}
	if (best != now) {
		/* The same choices, made. */
		uint32_t sw = trial->candidate->sw, lid = trial->flow.lid;
		struct trial on = *trial;

		set_entry(job, sw, lid, best);
		for (unsigned hops = 1; hops < SHIFT_MAX_PATH; hops++) {
			struct lanes l = { .sw = job->hops[sw].next };

			sw = l.sw;
			if (job->hops[sw].channel == TOPO_NONE)
				break;
			choose_lane(&on, &l);
			if (l.best == *entry_of(job, sw, lid))
				continue;
			move_others(&on, &l, *entry_of(job, sw, lid), true);
			move_others(&on, &l, l.best, false);
			set_entry(job, sw, lid, l.best);
			on.room--;
		}
	}
}

/* ---- Passes ---------------------------------------------------------------------------------- */

static void improve_one(struct rebalance *job, uint32_t at)
{
	const struct candidate *all = job->candidates, *c = &all[at];
	bool stable = *entry_of(job, c->sw, c->lid) == c->stable;
	struct trial trial = { .job = job, .candidate = c };

	job->work++;
	if (stable && job->moved == job->limits.entries)
		return;
	if (at < job->first || at >= job->end) { /* another LID's than the one before */
		for (; job->first < job->end; job->first++)
			job->known[all[job->first].sw] = 0;
		job->first = job->end = at;
		for (; job->end < job->ncandidates && all[job->end].lid == c->lid; job->end++)
			job->known[all[job->end].sw] = 1 + job->end;
		set_lid(job, c->lid);
		mem_zero(job->users, job->t->nswitches);
		for (uint32_t s = 0; s < job->load.nsources; s++)
			count_users(job, job->load.sources[s].sw, 1);
		job->work += job->load.nsources + job->t->nswitches / 4;
	}
	if (!job->users[c->sw])
		return;
	trial.flow = (struct shift_flow){ c->lid, job->list, find_sources(job, c->sw, job->list) };
	trial.room = job->limits.entries - job->moved - stable;

	struct shift_path path = path_from(job, c->sw);

	job->work += trial.flow.nsources * path.n * 4;
	shift_load_move(&job->load, &trial.flow, &path, true);
	count_users(job, c->sw, -(int)trial.flow.nsources);

	int64_t price = shift_load_price(&job->load, &trial.flow, &path);

	if (price > passes[job->pass].demand) {
		take_cheapest(&trial, price);
		path = path_from(job, c->sw);
	}
	shift_load_move(&job->load, &trial.flow, &path, false);
	count_users(job, c->sw, trial.flow.nsources);
}

/* Goes through the candidates several times, for about `units` a call; true = done. */
static bool improve(struct rebalance *job, uint32_t units)
{
	for (job->work = 0; job->work < units;) {
		if (job->next < job->ncandidates) {
			improve_one(job, job->next++);
			continue;
		}
		if (++job->pass == PASSES)
			return true;
		job->next = 0;
		shift_load_price_share(&job->load, passes[job->pass].share);
	}
	return false;
}

/*
 * ---- The base -----------------------------------------------------------------------------------
 * Of a pass over an uneven design: what would be moved if all known
 * links lived and none was cordoned. It depends on neither, so that no fault and no repair moves
 * it.
 */

#define BASE_SHARE 3 / 4 /* of the entries that may move: damage has the rest */

/* Writes what the engine and the base have found to `legal`. open: of legal_find_open(). */
static void apply_base(const struct rebalance *job, struct legal *legal, const bool *open)
{
	if (job->even)
		legal_override(legal->g, &legal->r, &legal->d, NULL, job->even->list,
			       job->even->count, &legal->tables);
	if (job->base)
		legal_override(legal->g, &legal->r, &legal->d, open, job->base->result.overrides,
			       job->base->result.count, &legal->tables);
}

/* Both lists are by switch, then LID. */
static void merge_base(struct rebalance *job)
{
	const struct rebalance_result *base = job->base ? &job->base->result : NULL;
	struct rebalance_result *result = &job->result;
	uint32_t n = 0, b = 0, moved = 0;

	if (!base || !base->count)
		return;

	struct route_override *all = mem_array(all, base->count + result->count);

	while (b < base->count || moved < result->count) {
		const struct route_override *older = &base->overrides[b];
		const struct route_override *own =
			moved < result->count ? &result->overrides[moved] : NULL;
		int order = b == base->count	     ? 1
			    : moved == result->count ? -1
						     : sort_order(older->sw, own->sw)
							       ?: sort_order(older->lid, own->lid);

		all[n++] = order < 0 ? *older : *own;
		b += order <= 0;
		moved += order >= 0;
	}
	free(result->overrides);
	result->overrides = all;
	result->count = n;
}

/*
 * rebalance: see rebalance.h. Stages, each taken in steps:
 *
 *   base     only in a small fabric of uneven design: a separate job for the same with all known
 *            links live. All later stages begin with its result
 *   prepare  computes the engine's legal paths in the damaged fabric. The pass leaves tables alone
 *            that are no fat tree's (engine updn, or pairs of hosts that even detours leave open)
 *   design   computes the legal paths of the same fabric with all known links live. Entries that
 *            differ are displaced; in a base, all
 *   count    adds the flows of each LID to their channels (shift_load.h). Candidates are the
 *            displaced entries, the entries whose packets come to one, and the entries on the way
 *            down that packets of a candidate may come to
 *   improve  moves candidates, one after the other, in several passes
 *   collect  lists the entries that moved by switch and LID: it counts them by switch, then puts
 *            them there LID by LID
 *
 * All stages go by topological order, so that the values of LIDs do not change the result.
 */

enum stage {
	START,
	BASE,
	ROOM,
	PREPARE,
	DESIGN,
	DESIGN_ROOM,
	DESIGN_PATHS,
	LOAD,
	COUNT,
	FIND_USUAL,
	FIND_FLOORS,
	COUNT_LEVELS,
	BEGIN,
	IMPROVE,
	FINISH,
	COUNT_MOVED,
	COLLECT,
	MERGE,
	DONE
};

#define BASE_ENTRIES (1u << 18) /* of tables: a base takes seconds in larger ones */
#define CHEAP_KEYS   64		/* buckets that are looked at in about the time of a unit */

/* ---- Prepare, design ------------------------------------------------------------------------- */

bool rebalance_is_uneven(const struct topo *t)
{
	struct graph *g = graph_new(t, (struct graph_how){ .orientation = GRAPH_BY_LEVEL });
	bool uneven = uneven_is(g, t);

	graph_free(g);
	return uneven;
}

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

/*
 * Whether legal paths and detours around the levels make the engine's tables. Pairs that no link
 * connects, such as the hosts of a dead leaf, are left out: no table could connect them.
 */
static bool is_tree(struct rebalance *job)
{
	struct legal *l = &job->legal;
	bool open = false;

	job->open = legal_find_open(job->t, l->g, &l->gaps);
	for (uint32_t sw = 0; sw < job->t->nswitches; sw++)
		open |= job->open[sw];
	return !open ||
	       (!job->t->ncordoned && (!detour_fill(l->g, &l->d, &l->r, &l->tables, &l->gaps) ||
				       !detour_search_count(job->t, job->lids, &l->tables, NULL)));
}

static enum stage start(struct rebalance *job)
{
	const struct graph_how how = { .orientation = GRAPH_BY_LEVEL };
	struct rebalance_limits limits = job->limits;

	if (!job->limits.entries || (job->params.engine && strcmp(job->params.engine, "ftree")))
		return DONE;
	legal_init(&job->legal, job->t, job->lids, &job->params, how);
	job->params.even = job->even =
		even_find(job->even, job->legal.g, job->t, job->lids, &job->params, NULL);
	if (job->is_base)
		return ROOM;
	if ((uint64_t)job->t->nswitches * job->lids->top > BASE_ENTRIES ||
	    !uneven_is(job->legal.g, job->t))
		return rebalance_is_damaged(job->t) ? ROOM : DONE;

	/* The same fabric with all known links up and no cordons. */
	job->whole = topo_with_ports(job->t);
	for (uint32_t i = 0; i < job->t->nports; i++) {
		struct topo_port attr = job->t->ports[i];

		attr.cordoned = attr.quarantined = attr.isolated = false;
		topo_with_port(job->whole, i, &attr, true);
	}
	limits.entries = limits.entries * (uint64_t)BASE_SHARE;
	job->base = rebalance_new(job->whole, job->lids, &job->params, &limits);
	job->base->is_base = true;
	return BASE;
}

/* Then with what is left to do. */
static enum stage wait_for_base(struct rebalance *job, uint32_t units)
{
	if (!rebalance_step(job->base, units))
		return BASE;
	job->result.before = job->base->result.before;
	job->result.after = job->base->result.after;
	job->limits.entries -= job->base->result.count;
	return rebalance_is_damaged(job->t) ? ROOM : MERGE;
}

static bool get_memory(struct rebalance *job, struct legal *legal)
{
	if (!legal_get_memory(legal, &job->next))
		return false;
	job->next = 0;
	return true;
}

static enum stage design_paths(struct rebalance *job)
{
	legal_fill(&job->design);

	bool *open = legal_find_open(NULL, job->design.g, &job->design.gaps);

	apply_base(job, &job->design, open);
	free(open);
	return LOAD;
}

static enum stage make_load(struct rebalance *job)
{
	uint32_t n = job->t->nswitches;

	shift_load_init(&job->load, job->t, job->lids, job->legal.g);
	job->hops = mem_array(job->hops, n + 1);
	job->mark = mem_alloc(n + 1, 1);
	job->list = mem_array(job->list, n + 1);
	job->users = mem_array(job->users, n + 1);
	job->known = mem_array(job->known, n + 1);
	job->others = mem_array(job->others, n + 1);
	return COUNT;
}

/* ---- Count ----------------------------------------------------------------------------------- */

/* Switches while a LID's candidates are looked for. */
enum mark {
	UNKNOWN,
	IN_PLACE,
	ASTRAY, /* its packets come to a displaced entry, or those of such a one may come here */
	OPEN,	/* astray, with several ports to choose from */
};

static bool goes_astray(struct rebalance *job, uint32_t sw, uint32_t lid, unsigned hops)
{
	if (job->mark[sw])
		return job->mark[sw] == ASTRAY;

	bool found = job->is_base ||
		     *entry_of(job, sw, lid) != tables_row(&job->design.tables, sw)[lid] ||
		     (job->hops[sw].next != TOPO_NONE && hops < SHIFT_MAX_PATH &&
		      goes_astray(job, job->hops[sw].next, lid, hops + 1));

	job->mark[sw] = found ? ASTRAY : IN_PLACE;
	return found;
}

/* Returns about how much work it was. */
static uint32_t find_candidates(struct rebalance *job, uint32_t lid)
{
	const uint32_t *by_rank = job->legal.g->by_rank;
	uint32_t n = 0, to = job->legal.d.sw[lid];

	memset(job->mark, UNKNOWN, job->t->nswitches);
	for (uint32_t sw = 0; sw < job->t->nswitches; sw++)
		if (job->hops[sw].channel != TOPO_NONE && goes_astray(job, sw, lid, 0))
			job->list[n++] = sw;
	if (!n)
		return 0;
	/* Those below that these may send to come on the list too. */
	for (uint32_t done = 0; done < n; done++) {
		uint32_t sw = job->list[done];
		struct legal_ports ports;

		legal_ports(job->legal.g, &job->legal.r, sw, to, &ports);
		if (ports.n > 1)
			job->mark[sw] = OPEN;
		for (unsigned i = 0; i < ports.n; i++) {
			uint32_t next = hop_by(job, sw, ports.port[i]).next;

			if (next == TOPO_NONE || job->mark[next] >= ASTRAY ||
			    job->hops[next].channel == TOPO_NONE ||
			    !reach_find(&job->legal.r, next, to))
				continue;
			job->mark[next] = ASTRAY;
			job->list[n++] = next;
		}
	}
	for (uint32_t i = 0; i < job->t->nswitches; i++)
		if (job->mark[by_rank[i]] == OPEN) {
			uint32_t sw = by_rank[i];

			job->candidates = mem_grow(job->candidates, job->ncandidates);
			job->candidates[job->ncandidates++] =
				(struct candidate){ sw, lid, *entry_of(job, sw, lid) };
		}
	return n * 8;
}

static enum stage count(struct rebalance *job, uint32_t *units)
{
	while (job->next < job->load.nlids && *units) {
		uint32_t lid = job->load.lids[job->next++];
		uint32_t work = job->load.nsources * 2 + job->t->nswitches / 2;

		set_lid(job, lid);
		for (uint32_t s = 0; s < job->load.nsources; s++) {
			const struct shift_flow flow = { lid, &s, 1 };
			const struct shift_path path = path_from(job, job->load.sources[s].sw);

			shift_load_put(&job->load, &flow, &path);
		}
		work += job->open[job->legal.d.sw[lid]] ? 0 : find_candidates(job, lid);
		*units -= work < *units ? work : *units;
	}
	if (job->next < job->load.nlids)
		return COUNT;
	job->next = job->hops_of = 0;
	return FIND_USUAL;
}

typedef void range_fn(struct shift_load *load, uint32_t first, uint32_t end);

/* Some of `all` channels or sources more, at so many units each; after the last `next`. */
static enum stage over(struct rebalance *job, uint32_t all, uint32_t each, uint32_t units,
		       range_fn *fn, enum stage next)
{
	uint32_t left = all - job->next, n = 1 + units / each;

	n = n < left ? n : left;
	fn(&job->load, job->next, job->next + n);
	job->next = n < left ? job->next + n : 0;
	return n < left ? (enum stage)job->stage : next;
}

/* ---- The end --------------------------------------------------------------------------------- */

static bool lower(double before, double after, unsigned percent)
{
	return after < before && (before - after) * 100 >= before * percent;
}

static enum stage finish(struct rebalance *job)
{
	struct rebalance_result *result = &job->result;
	const struct rebalance_figures *b = &result->before, *a = &result->after;
	unsigned gain = job->limits.gain;

	result->after = shift_load_figures(&job->load);
	if ((job->base && a->shift * a->all_to_all > b->shift * b->all_to_all) ||
	    (!lower(b->shift, a->shift, gain) && !lower(b->rail_shift, a->rail_shift, gain) &&
	     !lower(b->all_to_all, a->all_to_all, gain))) {
		result->after = result->before;
		return MERGE;
	}
	result->overrides = mem_array(result->overrides, job->moved + 1);
	job->of_lid = mem_array(job->of_lid, job->lids->top + 1u);
	mem_zero(job->list, job->t->nswitches);
	job->next = 0;
	return COUNT_MOVED;
}

/* Where the candidate's entry leads now, 0 = as before. */
static uint8_t moved_to(const struct rebalance *job, const struct candidate *c)
{
	uint8_t out = *entry_of(job, c->sw, c->lid);

	return out == c->stable ? 0 : out;
}

static enum stage count_moved(struct rebalance *job, uint32_t units)
{
	uint32_t left = job->ncandidates - job->next;
	uint32_t end = job->next + (units < left ? units : left);

	for (; job->next < end; job->next++) {
		const struct candidate *c = &job->candidates[job->next];

		job->list[c->sw] += moved_to(job, c) != 0;
		if (!job->next || c[-1].lid != c->lid)
			job->of_lid[c->lid] = 1 + job->next;
	}
	if (job->next < job->ncandidates)
		return COUNT_MOVED;
	/* Numbers of overrides become places of the first. */
	for (uint32_t sw = 0; sw < job->t->nswitches; sw++) {
		uint32_t count = job->list[sw];

		job->list[sw] = job->result.count;
		job->result.count += count;
	}
	job->next = 0;
	return COLLECT;
}

/* By LID, each behind those of its switch that are there: so they are in order. */
static enum stage collect(struct rebalance *job, uint32_t units)
{
	while (job->next <= job->lids->top && units) {
		uint32_t lid = job->next++, work = 1, at = job->of_lid[lid] - 1;

		for (; at < job->ncandidates && job->candidates[at].lid == lid; at++, work++) {
			const struct candidate *c = &job->candidates[at];
			uint8_t out = moved_to(job, c);

			if (out)
				job->result.overrides[job->list[c->sw]++] =
					(struct route_override){ c->sw, lid, out };
		}
		units -= work < units ? work : units;
	}
	return job->next <= job->lids->top ? COLLECT : MERGE;
}

static enum stage take_step(struct rebalance *job, uint32_t units)
{
	const struct shift_load *load = &job->load;
	uint32_t keys = 1 + load->nkeys / CHEAP_KEYS;

	switch ((enum stage)job->stage) {
	case START:
		return start(job);
	case BASE:
		return wait_for_base(job, units);
	case ROOM:
		return get_memory(job, &job->legal) ? PREPARE : ROOM;
	case PREPARE:
		legal_fill(&job->legal);
		if (!is_tree(job))
			return MERGE;
		apply_base(job, &job->legal, job->open);
		return job->is_base ? LOAD : DESIGN;
	case DESIGN:
		legal_init(&job->design, job->t, job->lids, &job->params,
			   (struct graph_how){ .orientation = GRAPH_BY_LEVEL,
					       .through_cordons = true,
					       .through_damage = true });
		return DESIGN_ROOM;
	case DESIGN_ROOM:
		return get_memory(job, &job->design) ? DESIGN_PATHS : DESIGN_ROOM;
	case DESIGN_PATHS:
		return design_paths(job);
	case LOAD:
		return make_load(job);
	case COUNT:
		return count(job, &units);
	case FIND_USUAL:
		return over(job, load->nchannels, keys, units, shift_load_find_usual, FIND_FLOORS);
	case FIND_FLOORS:
		keys *= 1 + load->nchannels / (load->nsources ? load->nsources : 1);
		return over(job, load->nsources, keys, units, shift_load_find_floors, COUNT_LEVELS);
	case COUNT_LEVELS:
		return over(job, load->nchannels, keys, units, shift_load_count_levels, BEGIN);
	case BEGIN:
		legal_fini(&job->design);
		job->result.before = shift_load_figures(load);
		shift_load_price_share(&job->load, passes[0].share);
		return IMPROVE;
	case IMPROVE:
		return improve(job, units) ? FINISH : IMPROVE;
	case FINISH:
		return finish(job);
	case COUNT_MOVED:
		return count_moved(job, units);
	case COLLECT:
		return collect(job, units);
	case MERGE:
		merge_base(job);
		break;
	case DONE:
		break;
	}
	return DONE;
}

bool rebalance_step(struct rebalance *job, uint32_t units)
{
	job->stage = take_step(job, units);
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

struct rebalance *rebalance_new(const struct topo *t, const struct lid_map *lids,
				const struct route_params *params,
				const struct rebalance_limits *limits)
{
	struct rebalance *job = mem_new(job);

	*job = (struct rebalance){ .t = t, .lids = lids, .limits = *limits };
	if (params)
		job->params = *params;
	job->even = even_ref(job->params.even);
	return job;
}

void rebalance_free(struct rebalance *job)
{
	if (!job)
		return;
	rebalance_free(job->base);
	even_unref(job->even);
	topo_unref(job->whole);
	legal_fini(&job->legal);
	legal_fini(&job->design);
	arena_free(job->load.arena);
	free(job->open);
	free(job->candidates);
	free(job->hops);
	free(job->mark);
	free(job->list);
	free(job->users);
	free(job->known);
	free(job->others);
	free(job->of_lid);
	free(job->result.overrides);
	free(job);
}
