/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Secure: for the changes whose old and new ways, all rounds together, could make a circle of
 * waiting channels. The rounds are made anew, on a copy of the tables as they will be by then: an
 * entry may go when the new way behind it is in place (what the first rounds were made for), and
 * when its new ways close no circle with all ways there are at that time. What would close one
 * waits until old ways that are part of it are gone. Whole blocks are tried first, then parts of
 * them, then entry by entry.
 *
 * If only entries are left that would each close a circle, no order will do (a ring that is to turn
 * the other way round), and neither is it sought for ever: all that are still to be changed are
 * emptied, and then filled; from there on there are no other ways than new ones.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/order_own.h"
#include "topology/mem.h"

/* Looks at the whole graph are dear: as many as read this many table bytes, within bounds. */
#define LOOKS_BYTES (1u << 27)
#define LOOKS_MIN   8
#define LOOKS_MAX   200

struct secure {
	const struct order_work *w;
	struct tables mix; /* as the switches hold them before the next round */
	struct order_step *todo;
	uint32_t ntodo;
	struct order_step *now; /* candidates for the next round: parts of todo, in its order */
	uint64_t *guilty;	/* by candidate */
	uint64_t *others;	/* by block */
	uint32_t nnow;
	struct order_step *done; /* round by round */
	uint32_t *first;
	uint32_t ndone, nrounds, drained;
	uint32_t looks; /* left */
};

static uint8_t *block_of(const struct tables *t, const struct order_step *step)
{
	return tables_row(t, step->sw) + (size_t)step->block * TABLES_BLOCK;
}

/* The tables before the first round. */
static void tables_before(const struct order_work *w, struct tables *mix)
{
	tables_copy(mix, w->newer);
	for (uint32_t i = 0; i < w->nunits; i++) {
		const struct order_unit *u = &w->units[i];
		uint8_t *block = tables_row(mix, u->sw) + (size_t)u->block * TABLES_BLOCK;

		if (u->old)
			memcpy(block, u->old, TABLES_BLOCK);
		else
			memset(block, TABLES_NO_ROUTE, TABLES_BLOCK);
	}
}

static void step_write(const struct secure *s, const struct order_step *step, uint8_t *block)
{
	const uint8_t *new = block_of(s->w->newer, step);
	unsigned bit;

	FOR_BITS(bit, step->mask)
	block[bit] = step->drain ? TABLES_NO_ROUTE : new[bit];
}

/* The candidates become the next round. */
static void settle(struct secure *s)
{
	s->done = mem_resize(s->done, s->ndone + s->nnow, sizeof(*s->done));
	s->first = mem_resize(s->first, s->nrounds + 2u, sizeof(*s->first));
	s->first[s->nrounds++] = s->ndone;
	for (uint32_t i = 0; i < s->nnow; i++) {
		s->now[i].last &= s->now[i].mask;
		step_write(s, &s->now[i], block_of(&s->mix, &s->now[i]));
		s->done[s->ndone++] = s->now[i];
	}
	s->first[s->nrounds] = s->ndone;
}

/* ---- Which steps may go --------------------------------------------------------------------- */

/* Whether all entries further on the new way are new. */
static bool way_in_place(const struct secure *s, uint32_t sw, uint32_t lid)
{
	for (uint32_t hops = 0; hops <= s->w->t->nswitches; hops++) {
		sw = order_next_switch(s->w->t, sw, tables_row(s->w->newer, sw)[lid]);
		if (sw == TOPO_NONE)
			return true;
		if (tables_row(&s->mix, sw)[lid] != tables_row(s->w->newer, sw)[lid])
			return false;
	}
	return true;
}

/* By block: LIDs of which entries are left that others must wait for. */
static void find_others(struct secure *s)
{
	memset(s->others, 0, s->w->nblocks * sizeof(*s->others));
	for (uint32_t i = 0; i < s->ntodo; i++)
		s->others[s->todo[i].block] |= s->todo[i].mask & ~s->todo[i].last;
}

/* Entries of the step whose turn it can be. */
static uint64_t ready_entries(const struct secure *s, const struct order_step *step)
{
	uint64_t ready = step->mask & ~(step->last & s->others[step->block]);
	unsigned bit;

	FOR_BITS(bit, ready)
	if (!way_in_place(s, step->sw, step->block * TABLES_BLOCK + bit))
		ready &= ~(1ull << bit);
	return ready;
}

/* Whether the candidates may go together; if not, guilty says which entries close a circle. */
static bool candidates_safe(struct secure *s)
{
	struct order_block *blocks = mem_alloc(s->nnow + 1u, sizeof(*blocks));
	uint8_t *new = mem_alloc(s->nnow + 1u, TABLES_BLOCK);
	struct order_work part;
	bool safe;

	s->looks -= s->looks > 0;
	memset(s->guilty, 0, s->nnow * sizeof(*s->guilty));
	for (uint32_t i = 0; i < s->nnow; i++) {
		uint8_t *block = new + (size_t)i *TABLES_BLOCK;

		memcpy(block, block_of(&s->mix, &s->now[i]), TABLES_BLOCK);
		step_write(s, &s->now[i], block);
		blocks[i] = (struct order_block){ s->now[i].sw, s->now[i].block, block };
	}
	order_work_init(&part, s->w->t, &s->mix, blocks, s->nnow);
	safe = order_turns_safe(&part, ORDER_TO, s->guilty);
	order_work_fini(&part);
	free(blocks);
	free(new);
	return safe;
}

/* Takes the guilty out of the candidates: whole steps, or entries. False: there were none. */
static bool drop_guilty(struct secure *s, bool whole)
{
	uint32_t kept = 0;
	bool some = false;

	for (uint32_t i = 0; i < s->nnow; i++) {
		some |= s->guilty[i] != 0;
		s->now[i].mask &= s->guilty[i] && whole ? 0 : ~s->guilty[i];
		if (s->now[i].mask)
			s->now[kept++] = s->now[i];
	}
	s->nnow = kept;
	return some;
}

/* All that may go together, of steps that are ready as a whole or (parts) as far as they are. */
static void find_together(struct secure *s, bool whole)
{
	s->nnow = 0;
	for (uint32_t i = 0; i < s->ntodo; i++) {
		uint64_t ready = ready_entries(s, &s->todo[i]);

		if (whole ? ready != s->todo[i].mask : !ready)
			continue;
		s->now[s->nnow] = s->todo[i];
		s->now[s->nnow++].mask = ready;
	}
	while (s->nnow && !candidates_safe(s)) {
		if (!drop_guilty(s, whole))
			return; /* the circle is in the new tables: they were not proven */
		if (!s->looks)
			s->nnow = 0;
	}
}

/* Entries of one step that may join the candidates. */
static void add_entries(struct secure *s, const struct order_step *step)
{
	struct order_step *added = &s->now[s->nnow];
	uint64_t mask = 0;
	unsigned bit;

	FOR_BITS(bit, ready_entries(s, step))
	{
		if (!s->looks)
			break;
		*added = *step;
		added->mask = mask | 1ull << bit;
		s->nnow++;
		if (candidates_safe(s))
			mask = added->mask;
		s->nnow--;
	}
	added->mask = mask;
	s->nnow += mask != 0;
}

static void find_candidates(struct secure *s)
{
	find_others(s);
	find_together(s, true);
	if (!s->nnow)
		find_together(s, false);
	if (s->nnow)
		return;
	for (uint32_t i = 0; i < s->ntodo && s->looks; i++)
		add_entries(s, &s->todo[i]);
}

/* ---- All rounds ----------------------------------------------------------------------------- */

static void drop_candidates(struct secure *s)
{
	uint32_t kept = 0, next = 0;

	for (uint32_t i = 0; i < s->ntodo; i++) {
		struct order_step *step = &s->todo[i];

		if (next < s->nnow && s->now[next].sw == step->sw &&
		    s->now[next].block == step->block && (s->now[next].mask & step->mask))
			step->mask &= ~s->now[next++].mask;
		step->last &= step->mask;
		if (step->mask)
			s->todo[kept++] = *step;
	}
	s->ntodo = kept;
}

/* Empties all that is left; the second time, which no proven tables see, writes it as it is. */
static void drain_rest(struct secure *s)
{
	bool drained = s->drained > 0;

	memcpy(s->now, s->todo, s->ntodo * sizeof(*s->now));
	s->nnow = s->ntodo;
	for (uint32_t i = 0; i < s->nnow; i++) {
		s->now[i].drain = !drained;
		s->drained += (uint32_t)__builtin_popcountll(s->now[i].mask);
	}
	settle(s);
	if (drained)
		s->ntodo = 0;
}

static uint32_t looks_allowed(const struct tables *t)
{
	size_t looks = LOOKS_BYTES / ((size_t)t->nswitches * t->stride + 1);

	return looks < LOOKS_MIN ? LOOKS_MIN : looks > LOOKS_MAX ? LOOKS_MAX : (uint32_t)looks;
}

void order_secure(const struct order_work *w, struct order *o)
{
	struct secure s = { .w = w, .todo = o->steps, .ntodo = o->nsteps };

	s.looks = looks_allowed(w->newer);

	s.now = mem_alloc(o->nsteps + 1u, sizeof(*s.now));
	s.guilty = mem_alloc(o->nsteps + 1u, sizeof(*s.guilty));
	s.others = mem_alloc(w->nblocks, sizeof(*s.others));
	tables_before(w, &s.mix);
	while (s.ntodo) {
		find_candidates(&s);
		if (s.nnow) {
			settle(&s);
			drop_candidates(&s);
		} else {
			drain_rest(&s);
		}
	}
	free(s.now);
	free(s.guilty);
	free(s.others);
	tables_fini(&s.mix);
	free(o->steps);
	free(o->first);
	o->steps = s.done;
	o->first = s.first;
	o->nsteps = s.ndone;
	o->nrounds = s.nrounds;
	o->drained = s.drained;
	o->strict = true;
}
