/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check_groups: the proof of groups (see check.h). It knows nothing of how they were made.
 *
 * All LIDs of a destination mostly have the same entries everywhere but at its own switch: such a
 * destination is one bit. Beside the graph of the tables' proof, which has all turns that up/down
 * routing may make (check.c), a group adds but the dependencies of destinations that a member leads
 * down to a switch which may send them up: two words of bits of destinations have them. Where that
 * graph was made of dependencies alone, those of all members are added.
 *
 * A loop is a cycle of channels. So packets end, whatever is chosen: at their owner's port, for no
 * member leads to a switch without an entry, and no entry of the tables does either, unless the LID
 * is not plain. The LIDs of such a destination, and those that are not alike, are followed one by
 * one, over all members.
 *
 * What a failure leaves of a group is a part of it. Each packet's choices are then some of those
 * proven, and the channel dependencies some of those searched for a cycle: so both hold for
 * every rest of all groups that is not empty. No single link empties a group, for it has two
 * members at least, on links of their own. What the failed link did to Static entries is for the
 * next tables.
 */
#include <inttypes.h>
#include "routing/byteset.h"
#include "routing/proof/check_own.h"
#include "routing/adaptive/groups.h"
#include "topology/base/mem.h"

enum state { NEW, OPEN, ARRIVES, STRANDED };

struct run { /* LIDs in a row, of one destination */
	uint32_t dest, first, end;
};

struct members { /* of a group */
	struct byteset set;
	unsigned count;
	bool rise; /* one leads up */
};

struct proof {
	struct arena *arena;
	struct check *c;
	const struct ar_groups *g;
	uint32_t nd, words; /* destinations, and words of a bit for each */
	struct run *runs;
	uint32_t nruns;
	uint16_t *lid;		 /* by destination: one of its LIDs; 0 = none */
	uint8_t *port;		 /* by switch, then destination: that LID's entry */
	bool *follow;		 /* by destination: its LIDs are followed */
	uint64_t *up;		 /* by switch: destinations that it may send up */
	uint64_t *none;		 /* by switch: destinations without an entry */
	uint64_t *users;	 /* of one switch, by place: destinations that are not followed */
	struct members *members; /* of one switch, by place */
	bool added;		 /* the graph has dependencies that were not searched */
};

static void refuse(const struct proof *p, uint64_t *count, uint32_t sw, const char *what,
		   unsigned n)
{
	if (!(*count)++ && !p->c->report->first[0])
		array_printf(p->c->report->first, "%s (0x%016" PRIx64 "): %s %u",
			     p->c->t->nodes[sw].name, p->c->t->nodes[sw].guid, what, n);
}

static const struct ar_ports *ports_at(const struct proof *p, uint32_t sw, unsigned place)
{
	return &p->g->list[p->g->first[sw] + place - 1].ports;
}

static uint16_t *entries_of(const struct proof *p, uint32_t sw)
{
	return p->g->entry + (size_t)sw * p->nd;
}

/* The switch behind a port; TOPO_NONE = there is none, or the link is down. */
static uint32_t behind(const struct proof *p, uint32_t sw, unsigned num)
{
	const struct topo_node *node = &p->c->t->nodes[sw];

	return num && num <= node->nports ? p->c->leads[node->port0 + num] : TOPO_NONE;
}

/* ---- Members, and the static ports of entries ------------------------------------------------ */

static void check_members(const struct proof *p, uint32_t sw)
{
	uint64_t *bad = &p->c->report->bad_ports;

	for (uint32_t i = p->g->first[sw]; i < p->g->first[sw + 1]; i++) {
		const struct ar_group *group = &p->g->list[i];
		struct members *members = &p->members[i - p->g->first[sw] + 1];

		*members = (struct members){ 0 };
		for (unsigned num = 0; num < 256; num++) {
			uint32_t to = behind(p, sw, num);

			if (!ar_has(&group->ports, num))
				continue;
			if (to == TOPO_NONE || to == sw)
				refuse(p, bad, sw, "a group has a port without a live link:", num);
			byteset_add(&members->set, num);
			members->count++;
			members->rise |= check_leads_up(p->c, sw, to);
		}
		if (members->count < 2)
			refuse(p, bad, sw, "one link empties group", group->id);
	}
}

/* The first LID of `run` whose entry is not in the set; run.end = there is none. */
static uint32_t find_other(const uint8_t *row, struct run run, const struct byteset *set)
{
	uint32_t at = run.first;
	uint64_t found[LID_SPACE / BYTESET_BLOCK];

	if (run.end - at >= BYTESET_BLOCK)
		byteset_find(set, row + at, (run.end - at) / BYTESET_BLOCK, found);
	for (uint32_t i = 0; run.end - at >= BYTESET_BLOCK && !~found[i]; i++)
		at += BYTESET_BLOCK;
	while (at < run.end && byteset_has(set, row[at]))
		at++;
	return at;
}

/* Free entries have a member as static port. Static ones are alike, or their LIDs stand apart. */
static void check_row(const struct proof *p, uint32_t sw)
{
	const uint8_t *row = tables_row(p->c->tables, sw);
	const uint16_t *entry = entries_of(p, sw);
	uint8_t *port = p->port + (size_t)sw * p->nd;

	for (uint32_t d = 0; d < p->nd; d++) {
		size_t word = (size_t)sw * p->words + d / 64;
		uint64_t bit = 1ull << (d % 64);

		port[d] = row[p->lid[d]];

		bool up = entry[d] ? p->members[entry[d]].rise
				   : check_leads_up(p->c, sw, behind(p, sw, port[d]));

		p->up[word] |= up ? bit : 0;
		p->none[word] |= !entry[d] && port[d] == TABLES_NO_ROUTE ? bit : 0;
	}
	for (uint32_t i = 0; i < p->nruns;) {
		struct run run = p->runs[i++];
		unsigned place = entry[run.dest], own = port[run.dest];

		while (place && i < p->nruns && p->runs[i].first == run.end &&
		       entry[p->runs[i].dest] == place)
			run.end = p->runs[i++].end;
		if (place)
			run.first = find_other(row, run, &p->members[place].set);
		if (place && run.first < run.end)
			refuse(p, &p->c->report->bad_ports, sw,
			       "the static port is no member for LID", run.first);
		/* At their own switch each may lead to its own port. */
		for (uint32_t lid = run.first; !place && lid < run.end; lid++)
			if (row[lid] != own && (behind(p, sw, row[lid]) != TOPO_NONE ||
						behind(p, sw, own) != TOPO_NONE ||
						!check_delivers(p->c, sw, row[lid], lid)))
				p->follow[run.dest] = true;
	}
}

/* ---- Destinations whose LIDs are plain, and alike -------------------------------------------- */

/* A channel's packets go on by all members of a group; by the one port of a Static entry. */
static void depend(struct proof *p, uint32_t channel, uint32_t sw, unsigned place, uint8_t port)
{
	uint64_t *next = p->c->cdg.next[channel];

	p->added = true;
	for (unsigned i = 0; place && i < CDG_WORDS; i++)
		next[i] |= ports_at(p, sw, place)->word[i];
	if (!place && cdg_leads_on(&p->c->cdg, channel, port))
		cdg_add(&p->c->cdg, channel, port);
}

/* Of 64 destinations, those of which the graph may not have what follows at the next switch. */
static uint64_t unknown(const struct proof *p, uint32_t sw, uint32_t next, uint32_t word)
{
	size_t at = (size_t)next * p->words + word;

	return !p->c->exact ? ~0ull
			    : p->none[at] | (check_leads_up(p->c, sw, next) ? 0 : p->up[at]);
}

static void check_exit(struct proof *p, uint32_t sw, unsigned num, uint32_t d)
{
	uint64_t *loops = &p->c->report->loops;
	uint32_t next = behind(p, sw, num);
	unsigned place = entries_of(p, next)[d], lid = p->lid[d];
	uint8_t port = p->port[(size_t)next * p->nd + d];

	if (entries_of(p, sw)[d] && !place && port == TABLES_NO_ROUTE)
		refuse(p, loops, sw, "a member leads nowhere for LID", lid);
	/* What goes down and up also goes up, and down again by the same link. */
	for (unsigned back = 1; back <= p->c->t->nodes[next].nports; back++)
		if (behind(p, next, back) == sw && !check_leads_up(p->c, sw, next) &&
		    (place ? ar_has(ports_at(p, next, place), back) : port == back))
			refuse(p, loops, sw, "packets may come back, to LID", lid);
	depend(p, p->c->cdg.channel[p->c->t->nodes[sw].port0 + num], next, place, port);
}

static void check_exits(struct proof *p, uint32_t sw)
{
	const uint16_t *here = entries_of(p, sw);
	const uint8_t *port = p->port + (size_t)sw * p->nd;
	uint32_t n = p->g->first[sw + 1] - p->g->first[sw];

	mem_zero(p->users, (size_t)(n + 1) * p->words);
	for (uint32_t d = 0; d < p->nd; d++) {
		uint32_t next = here[d] ? TOPO_NONE : behind(p, sw, port[d]);

		if (p->follow[d] || !p->lid[d])
			continue;
		p->users[(size_t)here[d] * p->words + d / 64] |= 1ull << (d % 64);
		if (next != TOPO_NONE && entries_of(p, next)[d] &&
		    unknown(p, sw, next, d / 64) >> (d % 64) & 1)
			check_exit(p, sw, port[d], d);
	}
	for (uint32_t place = 1; place <= n; place++)
		for (unsigned num = 1; num <= p->c->t->nodes[sw].nports; num++) {
			uint32_t next = behind(p, sw, num);

			if (next == TOPO_NONE || !ar_has(ports_at(p, sw, place), num))
				continue;
			for (uint32_t w = 0; w < p->words; w++)
				for (uint64_t left = p->users[(size_t)place * p->words + w] &
						     unknown(p, sw, next, w);
				     left; left &= left - 1)
					check_exit(p, sw, num, w * 64 + __builtin_ctzll(left));
		}
}

/* ---- LIDs that are followed ------------------------------------------------------------------ */

/* Sets whether packets to the LID arrive from there, whatever members are chosen. */
static void follow(struct proof *p, uint32_t sw, uint32_t d, uint16_t lid)
{
	unsigned place = entries_of(p, sw)[d], entry = tables_row(p->c->tables, sw)[lid];
	uint8_t *states = p->c->arrival;
	bool arrives =
		place || behind(p, sw, entry) != TOPO_NONE || check_delivers(p->c, sw, entry, lid);

	states[sw] = OPEN;
	for (unsigned num = 1; num <= p->c->t->nodes[sw].nports; num++) {
		uint32_t next = behind(p, sw, num);

		if (next == TOPO_NONE ||
		    !(place ? ar_has(ports_at(p, sw, place), num) : num == entry))
			continue;
		if (states[next] == NEW)
			follow(p, next, d, lid);
		if (states[next] == OPEN)
			refuse(p, &p->c->report->loops, sw, "packets may loop to LID", lid);
		arrives &= states[next] == ARRIVES;
		depend(p, p->c->cdg.channel[p->c->t->nodes[sw].port0 + num], next,
		       entries_of(p, next)[d], tables_row(p->c->tables, next)[lid]);
	}
	if (place && !arrives)
		refuse(p, &p->c->report->loops, sw, "a member leads nowhere for LID", lid);
	states[sw] = arrives ? ARRIVES : STRANDED;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void list_runs(struct proof *p)
{
	for (uint32_t lid = 1; lid <= p->g->top; lid++) {
		uint32_t d = p->g->dest[lid];

		if (d == TOPO_NONE)
			continue;
		if (d != p->g->dest[lid - 1] || lid == 1)
			p->runs[p->nruns++] = (struct run){ d, lid, lid };
		p->runs[p->nruns - 1].end = lid + 1;
		p->lid[d] = lid;
		p->follow[d] |= p->c->walk[lid];
	}
}

static void begin(struct proof *p)
{
	size_t n = p->c->t->nswitches;

	p->nd = p->g->ndests;
	p->words = p->nd / 64 + 1;
	p->arena = arena_new();
	p->runs = arena_array(p->arena, p->runs, p->g->top + 1);
	p->lid = arena_array(p->arena, p->lid, p->nd + 1);
	p->follow = arena_array(p->arena, p->follow, p->nd + 1);
	list_runs(p);
	p->port = arena_array(p->arena, p->port, n * p->nd + 1);
	p->up = arena_array(p->arena, p->up, n * p->words + 1);
	p->none = arena_array(p->arena, p->none, n * p->words + 1);
	p->users = arena_array(p->arena, p->users, (size_t)(AR_GROUPS_MAX + 1) * p->words);
	p->members = arena_array(p->arena, p->members, AR_GROUPS_MAX + 1);
	p->c->report->first[0] = '\0';
}

static void check_switch(struct proof *p, uint32_t sw)
{
	check_members(p, sw);
	check_row(p, sw);
}

static void follow_lid(struct proof *p, uint32_t lid)
{
	uint32_t d = p->g->dest[lid], n = p->c->t->nswitches;

	if (d == TOPO_NONE || !p->follow[d])
		return;
	mem_zero(p->c->arrival, n);
	for (uint32_t sw = 0; sw < n; sw++)
		if (p->c->arrival[sw] == NEW)
			follow(p, sw, d, lid);
}

static void find_cycle(struct proof *p)
{
	struct check *c = p->c;
	unsigned length = 0;
	uint32_t cycle;

	if (p->added)
		c->report->credit_cycles = cdg_cycles(&c->cdg, &cycle, 1, &length);
	if (length)
		refuse(p, &(uint64_t){ 0 }, c->cdg.from[cycle],
		       "a credit cycle with all members at once goes by port",
		       c->cdg.port_of[cycle] - c->cdg.port0[c->cdg.from[cycle]]);
}

struct check_groups {
	struct check c;
	struct proof p;
	enum { TABLES, REFUSED, SWITCHES, EXITS, LIDS, CYCLE, DONE } step;
	uint32_t at; /* switch or LID that is next in the step */
};

#define AT_ONCE 64

struct check_groups *check_groups_begin(const struct topo *t, const struct lid_map *lids,
					const struct tables *tables, const struct ar_groups *groups,
					struct check_report *report)
{
	struct check_groups *run = mem_new(run);

	*run = (struct check_groups){
		.c = { .t = t, .lids = lids, .tables = tables, .report = report },
		.p = { .c = &run->c, .g = groups }
	};
	check_scratch_init(&run->c);
	check_begin(&run->c);
	return run;
}

/* The tables' proof is over: those of groups follow if both fit. */
static void end_tables(struct check_groups *run)
{
	bool sound = check_end(&run->c) && run->p.g->nswitches == run->c.t->nswitches &&
		     run->p.g->top <= run->c.lids->top;

	run->step = sound ? SWITCHES : REFUSED;
	if (sound)
		begin(&run->p);
}

bool check_groups_go(struct check_groups *run)
{
	static void (*const checks[])(struct proof *, uint32_t) = {
		[SWITCHES] = check_switch, [EXITS] = check_exits, [LIDS] = follow_lid
	};
	uint32_t end = run->step == LIDS ? run->p.g->top + 1u : run->c.t->nswitches;

	if (run->step == TABLES && check_go(&run->c))
		return true;
	if (run->step == TABLES) {
		end_tables(run);
	} else if (run->step == CYCLE) {
		find_cycle(&run->p);
		run->step = DONE;
	} else if (run->step < CYCLE && run->step > REFUSED) {
		for (unsigned i = 0; i < AT_ONCE && run->at < end; i++)
			checks[run->step](&run->p, run->at++);
		if (run->at >= end) {
			run->at = 0;
			run->step++;
		}
	}
	return run->step != REFUSED && run->step != DONE;
}

bool check_groups_end(struct check_groups *run)
{
	struct check_report *report = run->c.report;
	bool sound =
		run->step == DONE && !report->loops && !report->bad_ports && !report->credit_cycles;

	if (run->step == TABLES)
		check_end(&run->c);
	arena_free(run->p.arena);
	check_result_fini(&run->c);
	check_scratch_fini(&run->c);
	free(run);
	return sound;
}

bool check_groups(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		  const struct ar_groups *groups, struct check_report *report)
{
	struct check_groups *run = check_groups_begin(t, lids, tables, groups, report);

	while (check_groups_go(run))
		;
	return check_groups_end(run);
}
