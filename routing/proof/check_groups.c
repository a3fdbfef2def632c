/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check_groups: the proof of groups (see check.h). It knows nothing of how they were made.
 *
 * All LIDs of a destination mostly have the same entries everywhere but at its own switch. Then one
 * of them is walked through the tables, which says how many hops each switch is away; a member that
 * leads to a switch that is not nearer is refused. So whatever is chosen, packets come nearer with
 * each hop, and end at the owner's port. LIDs of other destinations are followed one by one, over
 * all members.
 *
 * What a failure leaves of a group is a part of it. Each packet's choices are then some of those
 * proven, and the channel dependencies some of those searched for a cycle: so both hold for
 * every rest of all groups that is not empty. No single link empties a group, for it has two
 * members at least, on links of their own. What the failed link did to Static entries is for the
 * next tables.
 */
#include <inttypes.h>
#include "routing/proof/check_own.h"
#include "routing/adaptive/groups.h"
#include "topology/base/mem.h"

#define UNKNOWN 255 /* hops: more than that, or never */

enum state { NEW, OPEN, CLOSED };

struct proof {
	struct check *c;
	const struct ar_groups *g;
	uint32_t nd;	  /* destinations */
	uint16_t *lid;	  /* by destination: the LID that is walked; 0 = none */
	uint8_t *hops;	  /* by switch, then destination: of that LID, UNKNOWN = no path */
	uint8_t *port;	  /* by switch, then destination: its entry */
	bool *apart;	  /* by destination: its LIDs are followed one by one */
	uint16_t *latest; /* by channel: 1 + the place that was added to its dependencies last */
	uint8_t *states;  /* by switch, of one LID */
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
		unsigned members = 0;

		for (unsigned num = 0; num < 256; num++) {
			if (!ar_has(&group->ports, num))
				continue;
			members++;
			if (behind(p, sw, num) == TOPO_NONE)
				refuse(p, bad, sw, "a group has a port without a live link:", num);
		}
		if (members < 2)
			refuse(p, bad, sw, "one link empties group", group->id);
	}
}

/* Free entries have a member as static port. Static ones are alike, or their LIDs stand apart. */
static void check_row(const struct proof *p, uint32_t sw)
{
	const uint8_t *row = tables_row(p->c->tables, sw);
	uint8_t *port = p->port + (size_t)sw * p->nd;

	for (uint32_t d = 0; d < p->nd; d++)
		port[d] = row[p->lid[d]];
	for (uint32_t lid = 1; lid <= p->g->top; lid++) {
		uint32_t d = p->g->dest[lid];
		unsigned place = d == TOPO_NONE ? 0 : entries_of(p, sw)[d];

		if (d == TOPO_NONE)
			continue;
		if (place && !ar_has(ports_at(p, sw, place), row[lid]))
			refuse(p, &p->c->report->bad_ports, sw,
			       "the static port is no member for LID", lid);
		else if (!place && row[lid] != port[d] &&
			 (behind(p, sw, row[lid]) != TOPO_NONE ||
			  behind(p, sw, port[d]) != TOPO_NONE ||
			  !check_delivers(p->c, sw, row[lid], lid)))
			p->apart[d] = true;
	}
}

/* ---- Destinations whose LIDs are alike ------------------------------------------------------- */

static void walk(const struct proof *p, uint32_t d)
{
	uint32_t n = p->c->t->nswitches, trail[UNKNOWN];
	const size_t nd = p->nd;

	for (uint32_t start = 0; start < n; start++) {
		uint32_t sw = start, count = 0;
		unsigned hops = UNKNOWN;

		while (p->states[sw] == NEW && count < UNKNOWN) {
			uint32_t next = behind(p, sw, p->port[sw * nd + d]);

			p->states[sw] = OPEN;
			trail[count++] = sw;
			if (next == TOPO_NONE) {
				if (check_delivers(p->c, sw, p->port[sw * nd + d], p->lid[d]))
					hops = 0;
				break;
			}
			sw = next;
		}
		if (p->states[sw] == CLOSED)
			hops = p->hops[sw * nd + d] + (p->hops[sw * nd + d] < UNKNOWN);
		while (count) {
			sw = trail[--count];
			p->states[sw] = CLOSED;
			p->hops[sw * nd + d] = hops;
			hops += hops < UNKNOWN;
		}
	}
	memset(p->states, NEW, n);
}

/* A channel's packets go on by all members of a group; by the one port of a Static entry. */
static inline void depend(const struct proof *p, uint32_t channel, uint32_t sw, unsigned place,
			  uint8_t port)
{
	if (!place) {
		if (cdg_leads_on(&p->c->cdg, channel, port))
			cdg_add(&p->c->cdg, channel, port);
	} else if (p->latest[channel] != place) {
		p->latest[channel] = place;
		for (unsigned i = 0; i < CDG_WORDS; i++)
			p->c->cdg.next[channel][i] |= ports_at(p, sw, place)->word[i];
	}
}

/* All destinations that leave a switch by that port. */
static void check_port(const struct proof *p, uint32_t sw, unsigned num, bool *has)
{
	uint32_t next = behind(p, sw, num);
	const uint16_t *here = entries_of(p, sw), *there = entries_of(p, next);
	const uint8_t *hops = p->hops + (size_t)sw * p->nd, *on = p->hops + (size_t)next * p->nd;
	const uint8_t *port = p->port + (size_t)sw * p->nd, *to = p->port + (size_t)next * p->nd;
	uint32_t channel = p->c->cdg.channel[p->c->t->nodes[sw].port0 + num];
	bool any = false;

	for (uint32_t i = p->g->first[sw]; i < p->g->first[sw + 1]; i++)
		any |= has[i - p->g->first[sw] + 1] = ar_has(&p->g->list[i].ports, num);
	for (uint32_t d = 0; d < p->nd; d++) {
		if (p->apart[d] || !(here[d] ? any && has[here[d]] : port[d] == num))
			continue;
		if (here[d] && on[d] >= hops[d])
			refuse(p, &p->c->report->loops, sw,
			       "a member leads no nearer, or nowhere, for LID", p->lid[d]);
		depend(p, channel, next, there[d], to[d]);
	}
}

/* ---- LIDs one by one ------------------------------------------------------------------------- */

static void follow(const struct proof *p, uint32_t sw, uint32_t d, uint16_t lid)
{
	unsigned place = entries_of(p, sw)[d], entry = tables_row(p->c->tables, sw)[lid];

	p->states[sw] = OPEN;
	for (unsigned num = 1; num <= p->c->t->nodes[sw].nports; num++) {
		uint32_t next = behind(p, sw, num);
		uint8_t out;

		if (next == TOPO_NONE ||
		    !(place ? ar_has(ports_at(p, sw, place), num) : num == entry))
			continue;
		out = tables_row(p->c->tables, next)[lid];
		if (p->states[next] == NEW)
			follow(p, next, d, lid);
		if (p->states[next] == OPEN)
			refuse(p, &p->c->report->loops, sw, "packets may loop to LID", lid);
		if (place && behind(p, next, out) == TOPO_NONE &&
		    !check_delivers(p->c, next, out, lid))
			refuse(p, &p->c->report->loops, sw, "a member leads nowhere for LID", lid);
		depend(p, p->c->cdg.channel[p->c->t->nodes[sw].port0 + num], next,
		       entries_of(p, next)[d], out);
	}
	p->states[sw] = CLOSED;
}

static void check_apart(const struct proof *p)
{
	for (uint32_t lid = 1; lid <= p->g->top; lid++) {
		uint32_t d = p->g->dest[lid];

		if (d == TOPO_NONE || !p->apart[d])
			continue;
		memset(p->states, NEW, p->c->t->nswitches);
		for (uint32_t sw = 0; sw < p->c->t->nswitches; sw++)
			if (p->states[sw] == NEW)
				follow(p, sw, d, lid);
	}
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void prove(struct check *c, const struct ar_groups *g)
{
	struct arena *arena = arena_new();
	struct proof p = { .c = c, .g = g, .nd = g->ndests };
	size_t cells = (size_t)c->t->nswitches * g->ndests + 1;
	bool *has = arena_array(arena, has, AR_GROUPS_MAX + 1);
	uint32_t cycle;
	unsigned length;

	p.lid = arena_array(arena, p.lid, p.nd + 1);
	p.hops = arena_array(arena, p.hops, cells);
	p.port = arena_array(arena, p.port, cells);
	p.apart = arena_array(arena, p.apart, p.nd + 1);
	p.latest = arena_array(arena, p.latest, c->cdg.nchannels + 1);
	p.states = arena_array(arena, p.states, c->t->nswitches + 1);
	for (uint32_t lid = g->top; lid > 0; lid--)
		if (g->dest[lid] != TOPO_NONE)
			p.lid[g->dest[lid]] = lid;
	for (uint32_t sw = 0; sw < c->t->nswitches; sw++) {
		check_members(&p, sw);
		check_row(&p, sw);
	}
	for (uint32_t d = 0; d < p.nd; d++)
		if (!p.apart[d] && p.lid[d])
			walk(&p, d);
	for (uint32_t sw = 0; sw < c->t->nswitches; sw++)
		for (unsigned num = 1; num <= c->t->nodes[sw].nports; num++)
			if (behind(&p, sw, num) != TOPO_NONE)
				check_port(&p, sw, num, has);
	check_apart(&p);
	c->report->credit_cycles = cdg_cycles(&c->cdg, &cycle, 1, &length);
	if (length)
		refuse(&p, &(uint64_t){ 0 }, c->cdg.from[cycle],
		       "a credit cycle with all members at once goes by port",
		       c->cdg.port_of[cycle] - c->cdg.port0[c->cdg.from[cycle]]);
	arena_free(arena);
}

bool check_groups(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		  const struct ar_groups *groups, struct check_report *report)
{
	struct check c = { .t = t, .lids = lids, .tables = tables, .report = report };
	bool sound;

	check_scratch_init(&c);
	check_begin(&c);
	while (check_go(&c))
		;
	sound = check_end(&c) && groups->nswitches == t->nswitches && groups->top <= lids->top;
	if (sound) {
		report->first[0] = '\0';
		prove(&c, groups);
		sound = !report->loops && !report->bad_ports && !report->credit_cycles;
		check_result_fini(&c);
	}
	check_scratch_fini(&c);
	return sound;
}
