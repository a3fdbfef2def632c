/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <limits.h>
#include "routing/order/order.h"
#include "routing/order/order_own.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/*
 * order_circle: whether the turns of mixtures close a circle with those of a proof's graph (see
 * order_own.h).
 *
 * The graph has an order that each of its turns goes down. So a circle goes up somewhere, by a turn
 * that is not the graph's, and the search begins before each of these. All else of the circle lies
 * between such turns, and no lower than the lowest of them begins: whatever is below is left out,
 * which is nearly all of a fabric.
 *
 * The graph has turns that are in no use: all that up/down routing may make, and some of the past.
 * Where a circle has one of these, it is left out from then on, and the search goes back to before
 * it.
 */

#define CIRCLES_MAX 64	      /* that fell apart: then the graph is too far from what is in use */
#define OWN	    CDG_PORTS /* place.at: behind all ports, turns that are not the graph's */

struct hop {
	uint32_t channel;
	uint8_t out;
};

struct place {
	uint32_t channel;
	uint32_t at; /* what is tried next: a port, or OWN and up */
	uint8_t out; /* what was tried last */
};

struct order_circle {
	const struct cdg *g;
	cdg_used_fn *used;
	void *arg;
	struct hop *turns; /* that the graph has not, by channel */
	uint32_t nturns, root;
	struct hop *unused; /* the graph's that are left out */
	uint32_t nunused, circles;
	int32_t floor;
	uint8_t *colour;  /* by channel */
	bool *has_unused; /* likewise */
	bool *members;	  /* likewise: it is on the circle found; NULL = that may be none */
	uint32_t *first;  /* likewise: its first turn, nturns = it has none */
	struct place *trail;
	uint32_t ntrail, room;
	bool found;
};

enum { NEW, OPEN, CLOSED };

SORT_BY(by_channel, struct hop, sort_order(a->channel, b->channel))

struct order_circle *order_circle_new(const struct cdg *g, const struct order_turn *turns,
				      uint32_t count, cdg_used_fn *used, void *arg)
{
	struct order_circle *c = mem_new(c);
	size_t n = g->nchannels + 1u;

	*c = (struct order_circle){
		.g = g, .used = used, .arg = arg, .nturns = count, .floor = INT32_MAX
	};
	c->colour = mem_array(c->colour, n);
	c->has_unused = mem_array(c->has_unused, n);
	c->first = mem_array_unset(c->first, n);
	c->turns = mem_array(c->turns, count + 1u);
	for (uint32_t i = 0; i < count; i++)
		c->turns[i] = (struct hop){ g->channel[turns[i].from], turns[i].out };
	qsort(c->turns, count, sizeof(*c->turns), by_channel);
	for (uint32_t i = 0; i < g->nchannels; i++)
		c->first[i] = count;
	for (uint32_t i = count; i-- > 0;)
		c->first[c->turns[i].channel] = i;
	for (uint32_t i = 0; i < count; i++) {
		int32_t height = g->height[c->turns[i].channel];

		if (!cdg_agrees(g, c->turns[i].channel, c->turns[i].out) && height < c->floor)
			c->floor = height;
	}
	return c;
}

void order_circle_free(struct order_circle *c)
{
	if (!c)
		return;
	free(c->turns);
	free(c->unused);
	free(c->colour);
	free(c->has_unused);
	free(c->members);
	free(c->first);
	free(c->trail);
	free(c);
}

/* ---- Depth first ---------------------------------------------------------------------------- */

static void enter(struct order_circle *c, uint32_t channel)
{
	if (c->ntrail == c->room) {
		c->room = c->room ? 2 * c->room : 256;
		c->trail = mem_array_resize(c->trail, c->room);
	}
	c->colour[channel] = OPEN;
	c->trail[c->ntrail++] = (struct place){ .channel = channel };
}

static bool is_left_out(const struct order_circle *c, uint32_t channel, uint8_t out)
{
	for (uint32_t i = 0; c->has_unused[channel] && i < c->nunused; i++)
		if (c->unused[i].channel == channel && c->unused[i].out == out)
			return true;
	return false;
}

/* The next turn from a place, its port into place.out. False: there is none. */
static bool next_turn(const struct order_circle *c, struct place *p)
{
	while (p->at < OWN && (p->at = cdg_next_port(c->g, p->channel, p->at)) < OWN) {
		p->out = p->at++;
		if (!is_left_out(c, p->channel, p->out))
			return true;
	}

	uint32_t own = c->first[p->channel] + p->at - OWN;

	if (own >= c->nturns || c->turns[own].channel != p->channel)
		return false;
	p->out = c->turns[own].out;
	p->at++;
	return true;
}

static void walk_on(struct order_circle *c)
{
	struct place *p = &c->trail[c->ntrail - 1];

	if (!next_turn(c, p)) {
		c->colour[p->channel] = CLOSED;
		c->ntrail--;
		return;
	}
	if (!cdg_leads_on(c->g, p->channel, p->out))
		return;

	uint32_t next = c->g->channel[c->g->head[p->channel] + p->out];

	if (c->colour[next] == OPEN) {
		/* The end of the trail is a circle, from that channel on. */
		uint32_t i = c->ntrail, first = c->ntrail;

		do {
			const struct place *place = &c->trail[--i];

			if (!cdg_has(c->g, place->channel, place->out) ||
			    c->used(c->arg, place->channel, place->out))
				continue;
			c->unused = mem_array_resize(c->unused, c->nunused + 1u);
			c->unused[c->nunused++] = (struct hop){ place->channel, place->out };
			c->has_unused[place->channel] = true;
			first = i;
		} while (c->trail[i].channel != next);
		if (first == c->ntrail)
			c->members = mem_array(c->members, c->g->nchannels);
		for (; c->members && i < c->ntrail; i++)
			c->members[c->trail[i].channel] = true;
		c->found = c->members || ++c->circles == CIRCLES_MAX;
		/* Back to there. What was met behind is as if nobody had come there. */
		while (!c->found && c->ntrail > first + 1)
			c->colour[c->trail[--c->ntrail].channel] = NEW;
	} else if (c->colour[next] == NEW && c->g->height[next] >= c->floor) {
		enter(c, next);
	}
}

bool order_circle_go(struct order_circle *c, uint32_t visits)
{
	while (visits-- && !c->found) {
		if (c->ntrail) {
			walk_on(c);
		} else if (c->root == c->nturns) {
			return false;
		} else {
			uint32_t turn = c->root++;

			if (!cdg_agrees(c->g, c->turns[turn].channel, c->turns[turn].out) &&
			    c->colour[c->turns[turn].channel] == NEW)
				enter(c, c->turns[turn].channel);
		}
	}
	return !c->found;
}

bool order_circle_found(const struct order_circle *c)
{
	return c->found;
}

const bool *order_circle_members(const struct order_circle *c)
{
	return c->members;
}

/*
 * order: which entries wait for which, and the rounds that follow from that (see order.h).
 *
 * For one LID, a switch may take its new entry only after every changed switch further on its new
 * path has taken its own. Then a packet follows old entries up to some switch that is new, and new
 * entries from there on: a part of the old path, then a part of the new one, each without a loop.
 * It arrives if the new path from that switch does. If that does not (the new entry is a dead end,
 * or leads to one) and the old path still works, the entry is one of the `last`: it waits for all
 * entries of its LID that lead to the destination; by then all switches with a new path use it. If
 * the old path is dead as well nothing can be lost, and the first rule is enough.
 *
 * Entries of different LIDs do not wait for each other, so each block number is a problem of its
 * own. Units are the changed blocks of one number; a unit waits for another when an entry of it
 * does, and its round is the longest chain before it. Entries of one block may contradict each
 * other (two units wait for each other): units in such a cycle, recognised by chains deeper than
 * any path, are split: their entries are written in the rounds of their own, which writes a block
 * several times.
 *
 * Blocks that no host needs and no unit waits for are written in the last round. Where besides all
 * their old entries lead nowhere, they have a round of their own behind it: so a switch whose link
 * died gets its detours, which turn down and up, when nobody sends there by old entries any more.
 *
 * Entries of switches with hosts are patient if no entry waits for them and their old next hop is
 * alive: where a credit loop is possible otherwise, they are written when all others are. So a link
 * that comes back at a pivot (a leaf where packets to switches turn from down to up) carries
 * packets that turn first, and hosts' traffic when none turns at the other pivot any more.
 */

#define DEEP 14 /* rounds; longer chains of units are taken for a cycle */

enum path_end { UNSEEN, WALKING, NOWHERE, TO_SWITCH, TO_HOST };

struct chains {		 /* of the units of one block number */
	uint8_t *ends;	 /* by entry (unit * 64 + bit): enum path_end, by new tables */
	uint32_t *wait;	 /* by entry: unit with the next changed entry on the new path, TOPO_NONE */
	uint16_t *round; /* by entry of split units */
	uint32_t *trail;
	struct order_unit *units;
	uint32_t count;
	uint64_t some_last; /* bits that are `last` in some unit */
};

/* ---- Units ---------------------------------------------------------------------------------- */

void order_work_init(struct order_work *w, const struct topo *t, const struct tables *newer,
		     const struct order_block *changed, uint32_t count)
{
	*w = (struct order_work){ .t = t, .newer = newer, .nblocks = tables_blocks(newer) };
	w->units = mem_array(w->units, count + 1u);
	w->column = mem_array(w->column, w->nblocks + 2u);
	w->slot = mem_array(w->slot, t->nswitches + 1u);
	w->nunits = count;
	for (uint32_t i = 0; i < count; i++)
		w->column[changed[i].block + 2]++;
	for (uint32_t b = 0; b < w->nblocks; b++)
		w->column[b + 2] += w->column[b + 1];
	for (uint32_t i = 0; i < count; i++) {
		const struct order_block *c = &changed[i];
		struct order_unit *u = &w->units[w->column[c->block + 1]++];

		u->sw = c->sw;
		u->block = c->block;
		u->given = i;
		u->old = c->old;
		u->new = tables_block(newer, c->sw, c->block);
		u->mask = u->old ? ~bits_same(u->old, u->new) : UINT64_MAX;
	}
}

void order_work_fini(struct order_work *w)
{
	free(w->units);
	free(w->column);
	free(w->slot);
}

void order_column_enter(struct order_work *w, uint32_t block)
{
	for (uint32_t i = w->column[block]; i < w->column[block + 1]; i++)
		w->slot[w->units[i].sw] = i + 1;
}

void order_column_leave(struct order_work *w, uint32_t block)
{
	for (uint32_t i = w->column[block]; i < w->column[block + 1]; i++)
		w->slot[w->units[i].sw] = 0;
}

/* ---- Ways ----------------------------------------------------------------------------------- */

/* Where an entry of a switch ends that leads to no other switch. */
static enum path_end path_end_of(const struct topo *t, uint32_t sw, unsigned out)
{
	if (!out)
		return TO_SWITCH;
	if (out > t->nodes[sw].nports || !topo_port(t, sw, out)->link_up)
		return NOWHERE;
	return topo_is_host(t, topo_peer(t, topo_port(t, sw, out))->node) ? TO_HOST : TO_SWITCH;
}

bool order_leads_nowhere(const struct topo *t, uint32_t sw, unsigned out)
{
	return path_switch_at(t, sw, out) == TOPO_NONE && path_end_of(t, sw, out) == NOWHERE;
}

bool order_leads_to_host(const struct topo *t, uint32_t sw, unsigned out)
{
	return path_switch_at(t, sw, out) == TOPO_NONE && path_end_of(t, sw, out) == TO_HOST;
}

/* From a unit along the new path to the next changed entry, which is returned; or to the end. */
static uint32_t next_changed(const struct order_work *w, const struct order_unit *from,
			     unsigned bit, enum path_end *end)
{
	uint32_t sw = from->sw, lid = from->block * TABLES_BLOCK + bit;

	for (uint32_t hops = 0; hops <= w->t->nswitches; hops++) {
		unsigned out = tables_row(w->newer, sw)[lid];
		uint32_t next = path_switch_at(w->t, sw, out);

		if (next == TOPO_NONE) {
			*end = path_end_of(w->t, sw, out);
			return TOPO_NONE;
		}
		sw = next;

		const struct order_unit *u = order_unit_of(w, sw);

		if (u && u->mask >> bit & 1)
			return w->slot[sw] - 1;
	}
	*end = NOWHERE; /* a loop: no tables that were proven */
	return TOPO_NONE;
}

/* Follows the new path from an entry until one whose path is known. */
static void follow(struct order_work *w, struct chains *c, uint32_t unit, unsigned bit)
{
	uint32_t n = 0, base = w->column[c->units->block], e = unit * TABLES_BLOCK + bit;
	enum path_end end = NOWHERE;

	while (c->ends[e] == UNSEEN) {
		uint32_t next = next_changed(w, &c->units[e / TABLES_BLOCK], bit, &end);

		c->ends[e] = WALKING;
		c->trail[n++] = e;
		c->wait[e] = next == TOPO_NONE ? TOPO_NONE : next - base;
		if (next == TOPO_NONE)
			break;
		e = (next - base) * TABLES_BLOCK + bit;
	}
	if (c->ends[e] > WALKING) {
		end = c->ends[e];
	} else if (c->wait[e] != TOPO_NONE) {
		c->wait[c->trail[n - 1]] = TOPO_NONE; /* a loop: see above */
		end = NOWHERE;
	}
	while (n--)
		c->ends[c->trail[n]] = end;
}

/* Whether a packet arrives from here by old entries alone. */
static bool old_path_works(const struct order_work *w, uint32_t sw, uint32_t lid)
{
	for (uint32_t hops = 0; hops <= w->t->nswitches; hops++) {
		const struct order_unit *u = order_unit_of(w, sw);
		const uint8_t *new = tables_row(w->newer, sw);
		unsigned out = u && !u->old ? TABLES_NO_ROUTE
			       : u	    ? u->old[lid % TABLES_BLOCK]
					    : new[lid];
		uint32_t next = path_switch_at(w->t, sw, out);

		if (next == TOPO_NONE)
			return out == new[lid] && path_end_of(w->t, sw, out) != NOWHERE;
		sw = next;
	}
	return false;
}

static void find_path_ends(struct order_work *w, struct chains *c)
{
	unsigned bit;

	for (uint32_t i = 0; i < c->count; i++) {
		struct order_unit *u = &c->units[i];

		FOR_BITS(bit, u->mask)
		{
			uint32_t e = i * TABLES_BLOCK + bit, lid = u->block * TABLES_BLOCK + bit;

			if (c->ends[e] == UNSEEN)
				follow(w, c, i, bit);
			if (c->wait[e] != TOPO_NONE)
				c->units[c->wait[e]].awaited |= 1ull << bit;
			if (c->ends[e] == TO_HOST)
				u->to_hosts |= 1ull << bit;
			if (c->ends[e] == NOWHERE && u->old && old_path_works(w, u->sw, lid))
				u->last |= 1ull << bit;
		}
		c->some_last |= u->last;
	}
	for (uint32_t i = 0; c->some_last && i < c->count; i++)
		c->units[i].awaited |= c->units[i].mask & c->some_last;
}

/* ---- Rounds --------------------------------------------------------------------------------- */

static unsigned entry_round(const struct chains *c, uint32_t unit, unsigned bit)
{
	return c->units[unit].split ? c->round[unit * TABLES_BLOCK + bit] : c->units[unit].round;
}

static unsigned entry_earliest(const struct chains *c, uint32_t unit, unsigned bit,
			       const uint16_t *last)
{
	const struct order_unit *u = &c->units[unit];
	uint32_t next = c->wait[unit * TABLES_BLOCK + bit];
	unsigned round = u->last >> bit & 1 ? last[bit] : 0;

	if (next != TOPO_NONE) {
		/* Unknown blocks do not wait for one another. */
		unsigned after = entry_round(c, next, bit) + (u->old || c->units[next].old);

		round = after > round ? after : round;
	}
	return round;
}

static void find_last_rounds(const struct chains *c, uint16_t *last)
{
	unsigned bit;

	FOR_BITS(bit, c->some_last)
	{
		/* The first in which the `last` entries of a LID may be written. */
		unsigned round = 0;

		for (uint32_t i = 0; i < c->count; i++) {
			const struct order_unit *u = &c->units[i];

			if (!((u->mask & ~u->last) >> bit & 1) ||
			    c->ends[i * TABLES_BLOCK + bit] == NOWHERE)
				continue;
			if (entry_round(c, i, bit) + 1 > round)
				round = entry_round(c, i, bit) + 1;
		}
		last[bit] = round;
	}
}

/* One pass over all units; true: something had to move. */
static bool raise_units(struct chains *c)
{
	uint16_t last[TABLES_BLOCK];
	bool moved = false;
	unsigned bit;

	find_last_rounds(c, last);
	for (uint32_t i = 0; i < c->count; i++) {
		struct order_unit *u = &c->units[i];
		unsigned round = u->round;

		FOR_BITS(bit, u->mask)
		{
			unsigned earliest = entry_earliest(c, i, bit, last);

			round = earliest <= round ? round : earliest < DEEP ? earliest : DEEP;
		}
		moved |= round > u->round;
		u->round = round;
	}
	return moved;
}

static bool raise_entries(struct chains *c)
{
	uint16_t last[TABLES_BLOCK];
	bool moved = false;
	unsigned bit;

	find_last_rounds(c, last);
	for (uint32_t i = 0; i < c->count; i++) {
		if (!c->units[i].split)
			continue;
		FOR_BITS(bit, c->units[i].mask)
		{
			unsigned earliest = entry_earliest(c, i, bit, last);
			uint16_t *round = &c->round[i * TABLES_BLOCK + bit];

			moved |= earliest > *round;
			*round = earliest > *round ? earliest : *round;
		}
	}
	return moved;
}

/* ---- One block number ----------------------------------------------------------------------- */

static bool has_hosts(const struct topo *t, uint32_t sw)
{
	const struct topo_end *end = &t->ends[t->nodes[sw].port0];

	return any_of(num, 1, t->nodes[sw].nports + 1u,
		      end[num].up && !end[num].special && end[num].to >= t->nswitches);
}

/* Entries of the block by which some neighbour sends to the switch, by new tables. */
static uint64_t sent_here(const struct order_work *w, const struct order_unit *u)
{
	uint64_t mask = 0;

	for (unsigned num = 1; num <= w->t->nodes[u->sw].nports; num++) {
		uint32_t from = path_switch_at(w->t, u->sw, num);
		const struct topo_end *end = &w->t->ends[w->t->nodes[u->sw].port0 + num];

		if (from != TOPO_NONE)
			mask |= byteset_equal(tables_block(w->newer, from, u->block), end->num);
	}
	return mask;
}

/* Nothing goes by the block until it is written, and nothing has to once all others are. */
static bool is_late(const struct order_work *w, const struct order_unit *u)
{
	unsigned bit;

	if (u->split || u->awaited || !u->old || has_hosts(w->t, u->sw))
		return false;
	FOR_BITS(bit, u->mask)
	if (!order_leads_nowhere(w->t, u->sw, u->old[bit]))
		return false;
	return !(sent_here(w, u) & u->mask);
}

static void order_column(struct order_work *w, struct chains *c, uint32_t block)
{
	bool deep = false, known = false;
	unsigned bit;

	c->units = w->units + w->column[block];
	c->count = w->column[block + 1] - w->column[block];
	c->some_last = 0;
	for (uint32_t i = 0; i < c->count; i++) {
		c->units[i].hosts = true;
		known |= c->units[i].old != NULL;
	}
	if (!known)
		return;
	memset(c->ends, UNSEEN, (size_t)c->count * TABLES_BLOCK);
	mem_zero(c->round, (size_t)c->count * TABLES_BLOCK);
	order_column_enter(w, block);
	find_path_ends(w, c);
	while (raise_units(c))
		;
	for (uint32_t i = 0; i < c->count; i++)
		deep |= c->units[i].split = c->units[i].round == DEEP;
	if (deep) {
		while (raise_entries(c))
			;
		for (uint32_t i = 0; i < c->count; i++)
			if (c->units[i].split) {
				/* What no other waits for is written last: fewer steps. */
				struct order_unit *u = &c->units[i];

				u->round = 0;
				FOR_BITS(bit, u->mask)
				if (entry_round(c, i, bit) > u->round)
					u->round = entry_round(c, i, bit);
				FOR_BITS(bit, u->mask & ~u->awaited)
				c->round[i * TABLES_BLOCK + bit] = u->round;
			}
	}

	for (uint32_t i = 0; i < c->count; i++) {
		struct order_unit *u = &c->units[i];

		bool leaf = has_hosts(w->t, u->sw);

		u->late = is_late(w, u);
		if (u->to_hosts)
			u->hosts = (u->to_hosts & u->awaited) || leaf ||
				   (sent_here(w, u) & u->to_hosts);
		FOR_BITS(bit, leaf && u->old && !u->split ? u->mask & ~u->awaited : 0)
		if (c->ends[i * TABLES_BLOCK + bit] != NOWHERE &&
		    !order_leads_nowhere(w->t, u->sw, u->old[bit]))
			u->patient |= 1ull << bit;
	}
	order_column_leave(w, block);
}

/* ---- Steps ---------------------------------------------------------------------------------- */

struct step_list {
	struct order_step *steps;
	uint16_t *round;
	uint32_t count;
};

static void step_add(struct step_list *list, const struct order_unit *u, uint64_t mask,
		     unsigned round)
{
	list->steps = mem_grow(list->steps, list->count);
	list->round = mem_grow(list->round, list->count);
	list->round[list->count] = round;
	list->steps[list->count++] = (struct order_step){ .sw = u->sw,
							  .block = u->block,
							  .mask = mask,
							  .last = u->last & mask,
							  .patient = u->patient & mask,
							  .hosts = u->hosts };
}

/* A split unit, one step for each round that some of its entries have. */
static void steps_of_split(struct step_list *list, const struct chains *c, uint32_t unit)
{
	uint64_t left = c->units[unit].mask;
	unsigned bit;

	while (left) {
		unsigned round = entry_round(c, unit, __builtin_ctzll(left));
		uint64_t mask = 0;

		FOR_BITS(bit, left)
		mask |= (uint64_t)(entry_round(c, unit, bit) == round) << bit;
		step_add(list, &c->units[unit], mask, round);
		left &= ~mask;
	}
}

/* On a round: it may as well be the last; instead of one: it is behind that. */
#define LATE   0x8000
#define BEHIND UINT16_MAX

static unsigned step_key(const struct step_list *list, uint32_t i, unsigned nrounds)
{
	unsigned round = list->round[i] == BEHIND ? nrounds
			 : list->round[i] & LATE  ? nrounds - 1
						  : list->round[i];

	return 2 * round + !list->steps[i].hosts;
}

/* ---- All columns, in pieces ----------------------------------------------------------------- */

#define UNITS_A_CALL 4096

struct order_columns {
	struct order_work *w;
	struct order *out;
	struct step_list list;
	struct chains chains;
	uint32_t block; /* the next one */
};

struct order_columns *order_columns_begin(struct order_work *w, struct order *out)
{
	struct order_columns *c = mem_new(c);
	uint32_t most = 0;

	for (uint32_t b = 0; b < w->nblocks; b++)
		if (w->column[b + 1] - w->column[b] > most)
			most = w->column[b + 1] - w->column[b];
	c->w = w;
	c->out = out;
	c->chains.ends = mem_array(c->chains.ends, most * TABLES_BLOCK + 1u);
	c->chains.wait = mem_array(c->chains.wait, most * TABLES_BLOCK + 1u);
	c->chains.round = mem_array(c->chains.round, most * TABLES_BLOCK + 1u);
	c->chains.trail = mem_array(c->chains.trail, most + 1u);
	return c;
}

bool order_columns_go(struct order_columns *c)
{
	struct order *out = c->out;
	uint32_t end = c->w->column[c->block] + UNITS_A_CALL;

	while (c->block < c->w->nblocks && c->w->column[c->block] < end) {
		order_column(c->w, &c->chains, c->block++);
		for (uint32_t i = 0; i < c->chains.count; i++) {
			const struct order_unit *u = &c->chains.units[i];
			uint32_t before = c->list.count;

			if (u->split)
				steps_of_split(&c->list, &c->chains, i);
			else if (u->mask)
				step_add(&c->list, u, u->mask,
					 u->late ? BEHIND
						 : u->round | (u->hosts || u->awaited ? 0 : LATE));
			out->split += c->list.count > before + 1;
		}
	}
	if (c->block < c->w->nblocks)
		return true;
	/*
	 * Sorts by round, hosts first; otherwise as they come: by block, so that switches take
	 * turns.
	 */
	unsigned nrounds = 0, behind = 0;

	for (uint32_t i = 0; i < c->list.count; i++)
		if (c->list.round[i] == BEHIND)
			behind = 1;
		else if ((c->list.round[i] & ~LATE) + 1u > nrounds)
			nrounds = (c->list.round[i] & ~LATE) + 1u;
	out->nrounds = nrounds + behind;

	uint32_t *at = mem_array(at, 2 * out->nrounds + 1u);

	for (uint32_t i = 0; i < c->list.count; i++)
		at[step_key(&c->list, i, nrounds) + 1]++;
	for (unsigned key = 0; key < 2 * out->nrounds; key++)
		at[key + 1] += at[key];
	out->nsteps = c->list.count;
	out->first = mem_array(out->first, out->nrounds + 1u);
	for (unsigned round = 0; round <= out->nrounds; round++)
		out->first[round] = at[2 * round];
	out->steps = mem_array(out->steps, c->list.count + 1u);
	for (uint32_t i = 0; i < c->list.count; i++)
		out->steps[at[step_key(&c->list, i, nrounds)]++] = c->list.steps[i];
	free(at);
	return false;
}

void order_columns_end(struct order_columns *c)
{
	if (!c)
		return;
	free(c->chains.ends);
	free(c->chains.wait);
	free(c->chains.round);
	free(c->chains.trail);
	free(c->list.steps);
	free(c->list.round);
	free(c);
}
