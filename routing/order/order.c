/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/order/order.h"
#include <stdlib.h>
#include <string.h>
#include "routing/order/order_rounds.h"
#include "routing/order/order_turns.h"
#include "topology/mem.h"

/*
 * Down-up turns: a quick answer to the question of order_turns.c that errs on one side only.
 *
 * Order the switches by level. A turn is legal unless it comes down to a switch and rises from it
 * again: a down-up turn. All legal turns together make no circle, and tables of a tree have few
 * down-up turns (detours, detour.c), or none. So take every legal turn that links allow, used or
 * not, and the down-up turns that are there: if this has no circle, what is used has none. Then a
 * packet's state is the switch and whether it came rising or falling, which is a graph of
 * thousands, not of hundreds of thousands of channels. A down-up turn p, s, u stands in it as a
 * step from p, in either state, to u rising: that only what comes from p takes it must not get
 * lost, as every leaf would close a circle with each of its parents.
 */

#define DOWN_UP_MAX 65536 /* beyond this no quick answer is to be had */

enum { FALLING = 0, RISING = 1 }; /* state of a packet at a switch: 2 * switch + this */

struct down_up {
	uint32_t from, to; /* switches p and u */
};

struct down_ups {
	const struct order_work *w;
	uint64_t (*rising)[4]; /* by switch: ports to switches above it */
	struct down_up *list;  /* by `from` when they are looked at */
	uint32_t count, size;
	uint32_t *first; /* by switch: its first in the list */
	uint8_t *colour; /* by state */
	uint32_t *trail; /* states on the way down */
	uint32_t *at;	 /* by state: next edge */
};

/* ---- Which there are ------------------------------------------------------------------------ */

static void down_up_add(struct down_ups *v, uint32_t from, uint32_t to)
{
	if (v->count == v->size) {
		v->size = v->size ? 2 * v->size : 256;
		v->list = mem_resize(v->list, v->size, sizeof(*v->list));
	}
	v->list[v->count++] = (struct down_up){ from, to };
}

static void find_rising(struct down_ups *v)
{
	const struct topo *t = v->w->t;

	v->rising = mem_alloc(t->nswitches + 1u, sizeof(*v->rising));
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			uint32_t next = order_next_switch(t, sw, num);

			if (next != TOPO_NONE && order_above(t, next, sw))
				v->rising[sw][num / 64] |= 1ull << num % 64;
		}
}

/*
 * Those of the tables that start at p. The same down-up turn is listed once for each link
 * downwards.
 */
static void find_from(struct down_ups *v, uint32_t p)
{
	const struct topo *t = v->w->t;
	const uint8_t *row = tables_row(v->w->newer, p), *below[256] = { NULL };
	const uint64_t *rising[256];
	uint64_t(*met)[4] = NULL; /* by port of p: ports already listed */

	for (unsigned num = 1; num <= t->nodes[p].nports; num++) {
		uint32_t s = order_next_switch(t, p, num);

		if (s == TOPO_NONE || order_above(t, s, p))
			continue;
		below[num] = tables_row(v->w->newer, s);
		rising[num] = v->rising[s];
		met = met ? met : mem_alloc(t->nodes[p].nports + 1u, sizeof(*met));
	}
	for (uint32_t lid = 1; met && lid <= v->w->newer->top; lid++) {
		unsigned num = row[lid], out;

		if (!below[num])
			continue;
		out = below[num][lid];
		if (!(rising[num][out / 64] >> out % 64 & 1) || met[num][out / 64] >> out % 64 & 1)
			continue;
		met[num][out / 64] |= 1ull << out % 64;
		down_up_add(v, p, order_next_switch(t, order_next_switch(t, p, num), out));
	}
	free(met);
}

static void find_fresh(struct down_ups *v, const struct order_turn *turns, uint32_t count)
{
	const struct topo *t = v->w->t;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t p = t->ports[turns[i].from].node;
		uint32_t s = topo_peer(t, &t->ports[turns[i].from])->node;
		uint32_t u = order_next_switch(t, s, turns[i].out);

		if (order_above(t, p, s) && order_above(t, u, s))
			down_up_add(v, p, u);
	}
}

static int by_from(const void *a, const void *b)
{
	const struct down_up *x = a, *y = b;

	return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
				  : (x->to > y->to) - (x->to < y->to);
}

/* ---- Is there a circle? --------------------------------------------------------------------- */

/* The state that edge number `edge` leads to, ports first, then down_up; TOPO_NONE = nowhere. */
static uint32_t next_state(const struct down_ups *v, uint32_t state, uint32_t edge)
{
	uint32_t sw = state / 2, next, nports = v->w->t->nodes[sw].nports;

	if (edge > nports)
		return 2 * v->list[v->first[sw] + edge - nports - 1].to + RISING;
	next = order_next_switch(v->w->t, sw, edge);
	if (next == TOPO_NONE)
		return TOPO_NONE;
	if (!(v->rising[sw][edge / 64] >> edge % 64 & 1))
		return 2 * next + FALLING;
	return state % 2 == RISING ? 2 * next + RISING : TOPO_NONE;
}

/* Depth first from a state; true: it leads back to a state on the way. */
static bool circle_from(struct down_ups *v, uint32_t start)
{
	enum { NEW, OPEN, CLOSED };
	uint32_t n = 0;

	if (v->colour[start] != NEW)
		return false;
	v->trail[n++] = start;
	v->colour[start] = OPEN;
	while (n) {
		uint32_t state = v->trail[n - 1], sw = state / 2, next;
		uint32_t edges = v->w->t->nodes[sw].nports + v->first[sw + 1] - v->first[sw];

		if (v->at[state] == edges) {
			v->colour[state] = CLOSED;
			n--;
			continue;
		}
		next = next_state(v, state, ++v->at[state]);
		if (next == TOPO_NONE || v->colour[next] == CLOSED)
			continue;
		if (v->colour[next] == OPEN)
			return true;
		v->colour[next] = OPEN;
		v->trail[n++] = next;
	}
	return false;
}

static bool has_circle(struct down_ups *v)
{
	uint32_t nswitches = v->w->t->nswitches;
	bool found = false;

	if (!v->count)
		return false;
	qsort(v->list, v->count, sizeof(*v->list), by_from);
	v->first = mem_alloc(nswitches + 2u, sizeof(*v->first));
	for (uint32_t i = 0; i < v->count; i++)
		v->first[v->list[i].from + 1]++;
	for (uint32_t sw = 0; sw < nswitches; sw++)
		v->first[sw + 1] += v->first[sw];
	v->colour = mem_alloc(2 * nswitches + 1u, sizeof(*v->colour));
	v->trail = mem_alloc(2 * nswitches + 1u, sizeof(*v->trail));
	v->at = mem_alloc(2 * nswitches + 1u, sizeof(*v->at));
	/* A circle has a down-up turn, and so a rising state after it. */
	for (uint32_t i = 0; !found && i < v->count; i++)
		found = circle_from(v, 2 * v->list[i].to + RISING);
	free(v->first);
	free(v->colour);
	free(v->trail);
	free(v->at);
	return found;
}

bool order_down_up_safe(const struct order_work *w, const struct order_turn *turns, uint32_t count)
{
	struct down_ups v = { .w = w };
	bool safe;

	find_rising(&v);
	find_fresh(&v, turns, count);
	for (uint32_t sw = 0; sw < w->t->nswitches && v.count < DOWN_UP_MAX; sw++)
		find_from(&v, sw);
	safe = v.count < DOWN_UP_MAX && !has_circle(&v);
	free(v.rising);
	free(v.list);
	return safe;
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
 * Blocks that no host needs and no unit waits for are written in the last round.
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
	w->units = mem_alloc(count + 1u, sizeof(*w->units));
	w->column = mem_alloc(w->nblocks + 2u, sizeof(*w->column));
	w->slot = mem_alloc(t->nswitches + 1u, sizeof(*w->slot));
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
		u->new = tables_row(newer, c->sw) + (size_t)c->block *TABLES_BLOCK;
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

/* From a unit along the new path to the next changed entry, which is returned; or to the end. */
static uint32_t next_changed(const struct order_work *w, const struct order_unit *from,
			     unsigned bit, enum path_end *end)
{
	uint32_t sw = from->sw, lid = from->block * TABLES_BLOCK + bit;

	for (uint32_t hops = 0; hops <= w->t->nswitches; hops++) {
		unsigned out = tables_row(w->newer, sw)[lid];
		uint32_t next = order_next_switch(w->t, sw, out);
		const struct order_unit *u;

		if (next == TOPO_NONE) {
			*end = path_end_of(w->t, sw, out);
			return TOPO_NONE;
		}
		sw = next;
		u = order_unit_of(w, sw);
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
		uint32_t next = order_next_switch(w->t, sw, out);

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

/* The first round in which the `last` entries of a LID may be written. */
static unsigned last_round(const struct chains *c, unsigned bit)
{
	unsigned round = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		const struct order_unit *u = &c->units[i];

		if (!((u->mask & ~u->last) >> bit & 1) ||
		    c->ends[i * TABLES_BLOCK + bit] == NOWHERE)
			continue;
		if (entry_round(c, i, bit) + 1 > round)
			round = entry_round(c, i, bit) + 1;
	}
	return round;
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

		if (after > round)
			round = after;
	}
	return round;
}

static void find_last_rounds(const struct chains *c, uint16_t *last)
{
	unsigned bit;

	FOR_BITS(bit, c->some_last)
	last[bit] = (uint16_t)last_round(c, bit);
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

			if (earliest > round)
				round = earliest < DEEP ? earliest : DEEP;
		}
		moved |= round > u->round;
		u->round = (uint16_t)round;
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

/* Entries that no other waits for are written with the latest of their block: fewer steps. */
static void join_entries(struct chains *c, uint32_t unit)
{
	struct order_unit *u = &c->units[unit];
	unsigned bit;

	u->round = 0;
	FOR_BITS(bit, u->mask)
	if (entry_round(c, unit, bit) > u->round)
		u->round = entry_round(c, unit, bit);
	FOR_BITS(bit, u->mask & ~u->awaited)
	c->round[unit * TABLES_BLOCK + bit] = u->round;
}

static void find_rounds(struct chains *c)
{
	bool deep = false;

	while (raise_units(c))
		;
	for (uint32_t i = 0; i < c->count; i++)
		deep |= c->units[i].split = c->units[i].round == DEEP;
	if (!deep)
		return;
	while (raise_entries(c))
		;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->units[i].split)
			join_entries(c, i);
}

/* ---- One block number ----------------------------------------------------------------------- */

static bool has_hosts(const struct topo *t, uint32_t sw)
{
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *port = topo_port(t, sw, num);

		if (port->link_up && topo_is_host(t, t->ports[port->peer].node))
			return true;
	}
	return false;
}

/* Entries of the block by which some neighbour sends to the switch, by new tables. */
static uint64_t sent_here(const struct order_work *w, const struct order_unit *u)
{
	uint64_t mask = 0;

	for (unsigned num = 1; num <= w->t->nodes[u->sw].nports; num++) {
		uint32_t from = order_next_switch(w->t, u->sw, num);
		const uint8_t *row;
		uint8_t out;

		if (from == TOPO_NONE)
			continue;
		row = tables_row(w->newer, from) + (size_t)u->block * TABLES_BLOCK;
		out = topo_peer(w->t, topo_port(w->t, u->sw, num))->num;
		mask |= byteset_equal(row, out);
	}
	return mask;
}

static void find_hosts(const struct order_work *w, struct order_unit *u)
{
	if (!u->to_hosts)
		return;
	u->hosts = (u->to_hosts & u->awaited) || has_hosts(w->t, u->sw) ||
		   (sent_here(w, u) & u->to_hosts);
}

static bool some_known(const struct order_unit *units, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (units[i].old)
			return true;
	return false;
}

static void order_column(struct order_work *w, struct chains *c, uint32_t block)
{
	c->units = w->units + w->column[block];
	c->count = w->column[block + 1] - w->column[block];
	c->some_last = 0;
	for (uint32_t i = 0; i < c->count; i++)
		c->units[i].hosts = true;
	if (!some_known(c->units, c->count))
		return;
	memset(c->ends, UNSEEN, (size_t)c->count * TABLES_BLOCK);
	memset(c->round, 0, (size_t)c->count * TABLES_BLOCK * sizeof(*c->round));
	order_column_enter(w, block);
	find_path_ends(w, c);
	find_rounds(c);
	for (uint32_t i = 0; i < c->count; i++)
		find_hosts(w, &c->units[i]);
	order_column_leave(w, block);
}

/* ---- Steps ---------------------------------------------------------------------------------- */

struct step_list {
	struct order_step *steps;
	uint16_t *round;
	uint32_t count, size;
};

static void step_add(struct step_list *list, const struct order_unit *u, uint64_t mask,
		     unsigned round)
{
	if (list->count == list->size) {
		list->size = list->size ? 2 * list->size : 64;
		list->steps = mem_resize(list->steps, list->size, sizeof(*list->steps));
		list->round = mem_resize(list->round, list->size, sizeof(*list->round));
	}
	list->round[list->count] = (uint16_t)round;
	list->steps[list->count++] = (struct order_step){ .sw = u->sw,
							  .block = u->block,
							  .mask = mask,
							  .last = u->last & mask,
							  .hosts = u->hosts };
}

/* A split unit, one step for each round that some of its entries have. */
static void steps_of_split(struct step_list *list, const struct chains *c, uint32_t unit)
{
	uint64_t left = c->units[unit].mask;
	unsigned bit;

	while (left) {
		unsigned round = entry_round(c, unit, (unsigned)__builtin_ctzll(left));
		uint64_t mask = 0;

		FOR_BITS(bit, left)
		mask |= (uint64_t)(entry_round(c, unit, bit) == round) << bit;
		step_add(list, &c->units[unit], mask, round);
		left &= ~mask;
	}
}

/* On a round: it may as well be the last of all. */
#define LATE 0x8000

static void steps_of_column(struct step_list *list, const struct chains *c, struct order *out)
{
	for (uint32_t i = 0; i < c->count; i++) {
		const struct order_unit *u = &c->units[i];
		uint32_t before = list->count;

		if (u->split)
			steps_of_split(list, c, i);
		else if (u->mask)
			step_add(list, u, u->mask, u->round | (u->hosts || u->awaited ? 0 : LATE));
		out->split += list->count > before + 1;
	}
}

static unsigned step_key(const struct step_list *list, uint32_t i, unsigned nrounds)
{
	unsigned round = list->round[i] & LATE ? nrounds - 1 : list->round[i];

	return 2 * round + !list->steps[i].hosts;
}

/* Sorts by round, hosts first; otherwise as they come: by block, so that switches take turns. */
static void steps_sort(struct step_list *list, struct order *out)
{
	unsigned nrounds = 0;
	uint32_t *at;

	for (uint32_t i = 0; i < list->count; i++)
		if ((list->round[i] & ~LATE) + 1u > nrounds)
			nrounds = (list->round[i] & ~LATE) + 1u;
	at = mem_alloc(2 * nrounds + 1u, sizeof(*at));
	for (uint32_t i = 0; i < list->count; i++)
		at[step_key(list, i, nrounds) + 1]++;
	for (unsigned key = 0; key < 2 * nrounds; key++)
		at[key + 1] += at[key];
	out->nrounds = nrounds;
	out->nsteps = list->count;
	out->first = mem_alloc(nrounds + 1u, sizeof(*out->first));
	for (unsigned round = 0; round <= nrounds; round++)
		out->first[round] = at[2 * round];
	out->steps = mem_alloc(list->count + 1u, sizeof(*out->steps));
	for (uint32_t i = 0; i < list->count; i++)
		out->steps[at[step_key(list, i, nrounds)]++] = list->steps[i];
	free(at);
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

static struct order_columns *order_columns_begin(struct order_work *w, struct order *out)
{
	struct order_columns *c = mem_alloc(1, sizeof(*c));
	uint32_t most = 0;

	for (uint32_t b = 0; b < w->nblocks; b++)
		if (w->column[b + 1] - w->column[b] > most)
			most = w->column[b + 1] - w->column[b];
	c->w = w;
	c->out = out;
	c->chains.ends = mem_alloc(most * TABLES_BLOCK + 1u, sizeof(*c->chains.ends));
	c->chains.wait = mem_alloc(most * TABLES_BLOCK + 1u, sizeof(*c->chains.wait));
	c->chains.round = mem_alloc(most * TABLES_BLOCK + 1u, sizeof(*c->chains.round));
	c->chains.trail = mem_alloc(most + 1u, sizeof(*c->chains.trail));
	return c;
}

static bool order_columns_go(struct order_columns *c)
{
	uint32_t end = c->w->column[c->block] + UNITS_A_CALL;

	while (c->block < c->w->nblocks && c->w->column[c->block] < end) {
		order_column(c->w, &c->chains, c->block++);
		steps_of_column(&c->list, &c->chains, c->out);
	}
	if (c->block < c->w->nblocks)
		return true;
	steps_sort(&c->list, c->out);
	return false;
}

static void order_columns_end(struct order_columns *c)
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

/*
 * order_make: an order from its parts (see order.h), in calls of a few milliseconds: the rounds of
 * each column (order.c), a trial whether they could close a circle of waiting channels
 * (order_turns.c), and if so rounds that can't (order_cycle_free.c).
 */

struct order_making {
	struct order_work w;
	struct order out;
	struct order_beyond beyond;
	/* One of these at a time. */
	struct order_columns *columns;
	struct order_trial *trial;
	struct order_cycle_free *cycle_free;
};

struct order_making *order_begin(const struct topo *t, const struct tables *newer,
				 const struct order_block *changed, uint32_t count,
				 const struct order_proof *proof)
{
	struct order_making *m = mem_alloc(1, sizeof(*m));

	m->beyond.proof = *proof;
	order_work_init(&m->w, t, newer, changed, count);
	m->columns = order_columns_begin(&m->w, &m->out);
	return m;
}

static bool columns_done(struct order_making *m)
{
	order_columns_end(m->columns);
	m->columns = NULL;
	m->trial = order_trial_begin(&m->w, ORDER_FROM, NULL, &m->beyond);
	return true;
}

static bool trial_done(struct order_making *m)
{
	bool safe = order_trial_end(m->trial);

	m->trial = NULL;
	if (!safe)
		m->cycle_free = order_cycle_free_begin(&m->w, &m->beyond, &m->out);
	return !safe;
}

bool order_go(struct order_making *m)
{
	if (m->columns)
		return order_columns_go(m->columns) || columns_done(m);
	if (m->trial)
		return order_trial_go(m->trial) || trial_done(m);
	return m->cycle_free && order_cycle_free_go(m->cycle_free);
}

static void making_free(struct order_making *m)
{
	order_columns_end(m->columns);
	if (m->trial)
		order_trial_end(m->trial);
	order_cycle_free_end(m->cycle_free);
	order_work_fini(&m->w);
	free(m->beyond.turns);
	free(m);
}

void order_end(struct order_making *m, struct order *out)
{
	*out = m->out;
	making_free(m);
}

void order_drop(struct order_making *m)
{
	if (!m)
		return;
	order_fini(&m->out);
	making_free(m);
}

void order_make(const struct topo *t, const struct tables *newer, const struct order_block *changed,
		uint32_t count, struct order *out)
{
	struct order_making *m = order_begin(t, newer, changed, count, &(struct order_proof){ 0 });

	while (order_go(m))
		;
	order_end(m, out);
}

void order_fini(struct order *o)
{
	free(o->steps);
	free(o->first);
	*o = (struct order){ 0 };
}

uint32_t order_compare(const struct tables *older, const struct tables *newer,
		       struct order_block **out)
{
	uint32_t count = 0, size = 0;

	*out = NULL;
	for (uint32_t sw = 0; sw < newer->nswitches; sw++)
		for (uint32_t b = 0; b < tables_blocks(newer); b++) {
			const uint8_t *old = tables_row(older, sw) + (size_t)b * TABLES_BLOCK;
			const uint8_t *new = tables_row(newer, sw) + (size_t)b *TABLES_BLOCK;

			if (!memcmp(old, new, TABLES_BLOCK))
				continue;
			if (count == size) {
				size = size ? 2 * size : 256;
				*out = mem_resize(*out, size, sizeof(**out));
			}
			(*out)[count++] = (struct order_block){ sw, b, old };
		}
	return count;
}
