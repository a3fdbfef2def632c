/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include <string.h>
#include "routing/balance/rebalance_own.h"
#include "topology/base/mem.h"

/* rebalance_column: one LID's next hops from all switches, as the pass's own tables have them. */

struct hop rebalance_hop(const struct rebalance *job, uint32_t sw, uint8_t out)
{
	uint32_t port = job->t->nodes[sw].port0 + out;

	if (!out || out > job->t->nodes[sw].nports || job->load.channel[port] == TOPO_NONE)
		return (struct hop){ TOPO_NONE, TOPO_NONE };
	return (struct hop){ job->load.channel[port],
			     job->t->ports[job->t->ports[port].peer].node };
}

void rebalance_set_lid(struct rebalance *job, uint32_t lid)
{
	if (job->hops_of == lid)
		return;
	job->hops_of = lid;
	for (uint32_t sw = 0; sw < job->t->nswitches; sw++)
		job->hops[sw] = rebalance_hop(job, sw, tables_row(&job->legal.tables, sw)[lid]);
}

struct shift_path rebalance_path_from(const struct rebalance *job, uint32_t sw)
{
	struct shift_path path;

	for (path.n = 0; job->hops[sw].channel != TOPO_NONE && path.n < SHIFT_MAX_PATH; path.n++) {
		path.channel[path.n] = job->hops[sw].channel;
		sw = job->hops[sw].next;
	}
	return path;
}

/*
 * rebalance_improve: where candidates move. Each in turn has its flows taken off and put where they
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
#define PASSES (sizeof(passes) / sizeof(passes[0]))

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

static void close_lid(struct rebalance *job)
{
	for (; job->first < job->end; job->first++)
		job->known[job->candidates[job->first].sw] = 0;
}

static void open_lid(struct rebalance *job, uint32_t first)
{
	const struct candidate *c = job->candidates;

	close_lid(job);
	job->first = job->end = first;
	for (; job->end < job->ncandidates && c[job->end].lid == c[first].lid; job->end++)
		job->known[c[job->end].sw] = 1 + job->end;
	rebalance_set_lid(job, c[first].lid);
	memset(job->users, 0, job->t->nswitches * sizeof(*job->users));
	for (uint32_t s = 0; s < job->load.nsources; s++)
		count_users(job, job->load.sources[s].sw, 1);
	job->work += job->load.nsources + job->t->nswitches / 4;
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
	job->hops[sw] = rebalance_hop(job, sw, port);
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
	const struct shift_path path = {
		.channel = { rebalance_hop(trial->job, l->sw, port).channel }, .n = 1
	};

	trial->job->work += l->others.nsources * 2;
	shift_load_move(&trial->job->load, &l->others, &path, off);
}

/* Sources of the trial do not pass, whatever their hops say: they are off. */
static void find_others(const struct trial *trial, struct lanes *l)
{
	struct rebalance *job = trial->job;
	const struct shift_load *load = &job->load;
	uint32_t n = 0, most = job->users[l->sw];

	job->work += most ? load->nsources / 4 : 0;
	for (uint32_t s = 0; s < load->nsources && n < most; s++)
		if (passes_by(job, load->sources[s].sw, l->sw) &&
		    !passes_by(job, load->sources[s].sw, trial->candidate->sw))
			job->others[n++] = s;
	memcpy(job->others + n, trial->flow.sources, trial->flow.nsources * sizeof(*job->others));
	l->others = (struct shift_flow){ trial->flow.lid, job->others, n };
	l->all = (struct shift_flow){ trial->flow.lid, job->others, n + trial->flow.nsources };
}

static bool may_choose(const struct trial *trial, uint32_t sw)
{
	const struct rebalance *job = trial->job;
	bool priced = passes[job->pass].share == SHIFT_SHARE_PRICED;

	return job->known[sw] && trial->room && !(priced && job->users[sw]);
}

/* The ports by which the LID may go on to the neighbour it goes on to now. */
static bool find_lanes(const struct trial *trial, struct lanes *l)
{
	const struct rebalance *job = trial->job;
	struct legal_ports *ports = &l->ports;
	unsigned n = 0;

	if (!may_choose(trial, l->sw))
		return false;
	legal_ports(job->legal.g, &job->legal.r, l->sw, job->legal.d.sw[trial->flow.lid], ports);
	for (unsigned i = 0; i < ports->n; i++)
		if (rebalance_hop(job, l->sw, ports->port[i]).next == job->hops[l->sw].next)
			ports->port[n++] = ports->port[i];
	ports->n = n;
	return n > 1;
}

static void choose_lane(const struct trial *trial, struct lanes *l)
{
	uint8_t now = *entry_of(trial->job, l->sw, trial->flow.lid);
	uint32_t channel = trial->job->hops[l->sw].channel;
	int64_t unmoved;

	l->best = now;
	if (!find_lanes(trial, l)) {
		l->others.nsources = 0;
		l->price = price_by(trial, &trial->flow, channel);
		return;
	}
	find_others(trial, l);
	move_others(trial, l, now, true);
	unmoved = price_by(trial, &l->others, channel);
	l->price = price_by(trial, &l->all, channel);
	for (unsigned i = 0; i < l->ports.n; i++) {
		uint8_t port = l->ports.port[i];
		int64_t price = port == now
					? l->price
					: price_by(trial, &l->all,
						   rebalance_hop(trial->job, l->sw, port).channel);

		if (price < l->price) {
			l->price = price;
			l->best = port;
		}
	}
	l->price -= unmoved;
	move_others(trial, l, now, false);
}

/* What the flow costs by that port of the candidate; `least` or more when that is not less. */
static int64_t try_port(const struct trial *trial, uint8_t port, int64_t least)
{
	const struct rebalance *job = trial->job;
	struct hop hop = rebalance_hop(job, trial->candidate->sw, port);
	struct trial on = *trial;
	int64_t price = price_by(trial, &trial->flow, hop.channel);

	for (unsigned hops = 1; hops < SHIFT_MAX_PATH && price < least; hops++) {
		struct lanes l = { .sw = hop.next };

		hop = job->hops[l.sw];
		if (hop.channel == TOPO_NONE)
			break;
		choose_lane(&on, &l);
		price += l.price;
		on.room -= l.best != *entry_of(job, l.sw, trial->flow.lid);
	}
	return price;
}

/* The same choices, made. */
static void take_port(const struct trial *trial, uint8_t port)
{
	struct rebalance *job = trial->job;
	uint32_t sw = trial->candidate->sw, lid = trial->flow.lid;
	struct trial on = *trial;

	set_entry(job, sw, lid, port);
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

/* price: of where the flow was. */
static void take_cheapest(const struct trial *trial, int64_t price)
{
	const struct rebalance *job = trial->job;
	const struct candidate *c = trial->candidate;
	uint8_t now = *entry_of(job, c->sw, c->lid), best = now;
	int64_t least = price - passes[job->pass].demand;
	struct legal_ports ports;

	legal_ports(job->legal.g, &job->legal.r, c->sw, job->legal.d.sw[c->lid], &ports);
	if (!start_after(&ports, now))
		return;
	for (unsigned i = 0; i + 1 < ports.n; i++) {
		price = try_port(trial, ports.port[i], least);
		if (price < least) {
			least = price;
			best = ports.port[i];
		}
	}
	if (best != now)
		take_port(trial, best);
}

/* ---- Passes ---------------------------------------------------------------------------------- */

static void improve_flow(struct trial *trial, uint32_t sw)
{
	struct rebalance *job = trial->job;
	struct shift_path path = rebalance_path_from(job, sw);
	int64_t price;

	job->work += trial->flow.nsources * path.n * 4;
	shift_load_move(&job->load, &trial->flow, &path, true);
	count_users(job, sw, -(int)trial->flow.nsources);
	price = shift_load_price(&job->load, &trial->flow, &path);
	if (price > passes[job->pass].demand) {
		take_cheapest(trial, price);
		path = rebalance_path_from(job, sw);
	}
	shift_load_move(&job->load, &trial->flow, &path, false);
	count_users(job, sw, trial->flow.nsources);
}

static void improve_one(struct rebalance *job, uint32_t at)
{
	const struct candidate *c = &job->candidates[at];
	bool stable = *entry_of(job, c->sw, c->lid) == c->stable;
	struct trial trial = { .job = job, .candidate = c };

	job->work++;
	if (stable && job->moved == job->limits.entries)
		return;
	if (at < job->first || at >= job->end)
		open_lid(job, at);
	if (!job->users[c->sw])
		return;
	trial.flow = (struct shift_flow){ c->lid, job->list, find_sources(job, c->sw, job->list) };
	trial.room = job->limits.entries - job->moved - stable;
	improve_flow(&trial, c->sw);
}

void rebalance_begin_to_improve(struct rebalance *job)
{
	job->result.before = shift_load_figures(&job->load);
	job->users = mem_alloc(job->t->nswitches + 1, sizeof(*job->users));
	job->known = mem_alloc(job->t->nswitches + 1, sizeof(*job->known));
	job->others = mem_alloc(job->t->nswitches + 1, sizeof(*job->others));
	shift_load_price_share(&job->load, passes[0].share);
}

bool rebalance_improve(struct rebalance *job, uint32_t units)
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
