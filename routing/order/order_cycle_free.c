/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/order/order_own.h"
#include "topology/base/mem.h"

/*
 * order_cycle_free: for changes whose old and new paths together could close a credit loop. The
 * rounds are made anew, on a copy of the tables as they will be at that time: an entry may be
 * written when the new path behind it is in place (as in the first rounds), and when its new paths
 * close no cycle with all paths that exist at that time. An entry that would close one waits until
 * old paths that are part of the cycle are gone. Whole blocks are tried first, then parts of them,
 * then single entries.
 *
 * If only entries are left each of which would close a cycle, no order is possible (for example a
 * ring whose direction is reversed), and the search also ends after a limit: then what is left of
 * some block numbers is emptied, of 64 LIDs at most, and the search goes on. If that gives no order
 * either, what was emptied is filled all the same, and others are emptied: each LID has old paths
 * or new ones, never both; but paths of different LIDs may wait for one another in a circle until
 * all are through.
 *
 * Tables that have credit loops by themselves, of another manager, are not worth that: the first
 * rounds are as good as it gets.
 */

/* Searches of the whole graph are dear: as many as read this many table bytes, within bounds. */
#define TRIALS_BYTES (1u << 27)
#define TRIALS_MIN   8
#define TRIALS_MAX   200

enum phase { WHOLE, PARTS, ENTRIES };

/*
 * Makes each round of *out free of credit loops: by more rounds, and where these are not enough by
 * emptying entries first. *out is complete when order_cycle_free_go() has returned false.
 */
struct order_cycle_free {
	const struct order_work *w;
	struct order_beyond *beyond;
	struct order *out;
	struct tables mix; /* as the switches hold them before the next round */
	struct order_step *todo;
	uint32_t ntodo;
	struct order_step *now; /* candidates for the next round: parts of todo, in its order */
	uint64_t *guilty;	/* by candidate */
	uint64_t *others;	/* by block */
	uint32_t nnow;
	struct order_step *done; /* round by round */
	uint32_t *first, ndone, nrounds, drained, trials_left;
	/* Where it is: gathering the candidates of a phase, or looking at them. */
	enum phase phase;
	uint32_t at;	   /* in todo */
	uint64_t left, in; /* of the entries of todo[at]: not looked at yet, among the candidates */
	struct order_trial *trial;
	struct order_work part; /* what it tries: the candidates as blocks */
	struct order_block *blocks;
	uint8_t *contents;
};

static uint8_t *block_of(const struct tables *t, const struct order_step *step)
{
	return tables_block(t, step->sw, step->block);
}

static void step_write(const struct order_cycle_free *s, const struct order_step *step,
		       uint8_t *block)
{
	const uint8_t *new = block_of(s->w->newer, step);
	unsigned bit;

	FOR_BITS(bit, step->mask)
	block[bit] = step->drain ? TABLES_NO_ROUTE : new[bit];
}

/* The candidates become the next round. */
static void settle(struct order_cycle_free *s)
{
	s->done = mem_array_resize(s->done, s->ndone + s->nnow);
	s->first = mem_array_resize(s->first, s->nrounds + 2u);
	s->first[s->nrounds++] = s->ndone;
	for (uint32_t i = 0; i < s->nnow; i++) {
		s->now[i].last &= s->now[i].mask;
		step_write(s, &s->now[i], block_of(&s->mix, &s->now[i]));
		s->done[s->ndone++] = s->now[i];
	}
	s->first[s->nrounds] = s->ndone;
}

/* ---- Which steps may go --------------------------------------------------------------------- */

/* Whether all entries further on the new path are new. */
static bool path_in_place(const struct order_cycle_free *s, uint32_t sw, uint32_t lid)
{
	for (uint32_t hops = 0; hops <= s->w->t->nswitches; hops++) {
		sw = path_switch_at(s->w->t, sw, tables_row(s->w->newer, sw)[lid]);
		if (sw == TOPO_NONE)
			return true;
		if (tables_row(&s->mix, sw)[lid] != tables_row(s->w->newer, sw)[lid])
			return false;
	}
	return true;
}

/* The entries of a step that can be written in the next round. */
static uint64_t ready_entries(const struct order_cycle_free *s, const struct order_step *step)
{
	uint64_t ready = step->mask & ~(step->last & s->others[step->block]);
	unsigned bit;

	FOR_BITS(bit, ready)
	if (!path_in_place(s, step->sw, step->block * TABLES_BLOCK + bit))
		ready &= ~(1ull << bit);
	return ready;
}

/* Whether the candidates may be written together; if not, guilty gets the entries of a cycle. */
static void trial_begin(struct order_cycle_free *s)
{
	s->blocks = mem_array(s->blocks, s->nnow + 1u);
	s->contents = mem_alloc(s->nnow + 1u, TABLES_BLOCK);
	s->trials_left -= s->trials_left > 0;
	mem_zero(s->guilty, s->nnow);
	for (uint32_t i = 0; i < s->nnow; i++) {
		uint8_t *block = s->contents + (size_t)i * TABLES_BLOCK;

		memcpy(block, block_of(&s->mix, &s->now[i]), TABLES_BLOCK);
		step_write(s, &s->now[i], block);
		s->blocks[i] = (struct order_block){ s->now[i].sw, s->now[i].block, block };
	}
	order_work_init(&s->part, s->w->t, &s->mix, s->blocks, s->nnow);
	s->trial = order_trial_begin(&s->part, ORDER_TO, s->guilty, s->beyond);
}

static bool trial_end(struct order_cycle_free *s)
{
	bool safe = order_trial_end(s->trial);

	order_work_fini(&s->part);
	free(s->blocks);
	free(s->contents);
	s->trial = NULL;
	return safe;
}

/* Takes the guilty out of the candidates: whole steps, or entries. False: there were none. */
static bool drop_guilty(struct order_cycle_free *s, bool whole)
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

/* ---- Where it is ---------------------------------------------------------------------------- */

#define STEPS_A_CALL 2048

static void collect_begin(struct order_cycle_free *s, enum phase phase)
{
	s->phase = phase;
	s->at = 0;
	s->left = s->in = 0;
	s->nnow = 0;
}

/* False: that was all. */
static bool round_begin(struct order_cycle_free *s)
{
	if (!s->ntodo)
		return false;
	if (!s->trials_left) { /* nothing is to be asked any more */
		collect_begin(s, ENTRIES);
		return true;
	}
	/* By block: LIDs of which entries are left that others must wait for. */
	mem_zero(s->others, s->w->nblocks);
	for (uint32_t i = 0; i < s->ntodo; i++)
		s->others[s->todo[i].block] |= s->todo[i].mask & ~s->todo[i].last;
	collect_begin(s, WHOLE);
	return true;
}

/* Nothing else may go: more is emptied, up to 64 LIDs, else what is empty is filled. */
static void empty_or_fill(struct order_cycle_free *s)
{
	uint64_t *empty = mem_array(empty, s->w->nblocks);
	uint32_t kept = 0, lids = 0, more = 0;

	mem_zero(s->others, s->w->nblocks);
	for (uint32_t i = 0; i < s->ntodo; i++)
		(s->todo[i].emptied ? empty : s->others)[s->todo[i].block] |= s->todo[i].mask;
	for (uint32_t b = 0; b < s->w->nblocks; b++)
		lids += __builtin_popcountll(empty[b]);
	for (uint32_t b = 0; b < s->w->nblocks; b++) {
		uint32_t n = __builtin_popcountll(s->others[b] & ~empty[b]);

		if (lids + more + n > TABLES_BLOCK)
			s->others[b] = 0;
		else
			more += n;
	}
	for (uint32_t i = 0; i < s->ntodo; i++) {
		struct order_step *step = &s->todo[i];

		if (more ? !step->emptied && s->others[step->block] : step->emptied) {
			s->now[s->nnow] = *step;
			s->now[s->nnow++].drain = more;
			step->emptied = true;
		}
		if (more || !step->emptied)
			s->todo[kept++] = *step;
	}
	s->drained += more;
	s->ntodo = kept;
	free(empty);
	settle(s);
}

static bool round_end(struct order_cycle_free *s)
{
	if (s->nnow) {
		settle(s);

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
	} else {
		empty_or_fill(s);
	}
	return round_begin(s);
}

/* All that may go together, of steps that are ready as a whole or (PARTS) as far as they are. */
static bool collect_steps(struct order_cycle_free *s)
{
	for (uint32_t n = 0; n < STEPS_A_CALL && s->at < s->ntodo; n++, s->at++) {
		uint64_t ready = ready_entries(s, &s->todo[s->at]);

		if (s->phase == WHOLE ? ready != s->todo[s->at].mask : !ready)
			continue;
		s->now[s->nnow] = s->todo[s->at];
		s->now[s->nnow++].mask = ready;
	}
	if (s->at < s->ntodo)
		return true;
	if (s->nnow)
		trial_begin(s);
	else
		collect_begin(s, s->phase + 1);
	return true;
}

/* One entry more, if it may. */
static bool collect_entries(struct order_cycle_free *s)
{
	for (; s->at < s->ntodo && s->trials_left; s->at++) {
		struct order_step *added = &s->now[s->nnow];

		if (!s->left && !s->in)
			s->left = ready_entries(s, &s->todo[s->at]);
		*added = s->todo[s->at];
		added->mask = s->in | (s->left & -s->left);
		if (s->left) {
			s->nnow++;
			trial_begin(s);
			return true;
		}
		s->nnow += s->in != 0;
		s->in = 0;
	}
	if (s->in) { /* no trials are left */
		s->now[s->nnow] = s->todo[s->at];
		s->now[s->nnow++].mask = s->in;
	}
	return round_end(s);
}

static bool tried_entry(struct order_cycle_free *s, bool safe)
{
	s->nnow--;
	if (safe)
		s->in = s->now[s->nnow].mask;
	s->left &= s->left - 1;
	if (!s->left && !s->in)
		s->at++;
	return true;
}

static bool tried_steps(struct order_cycle_free *s, bool safe)
{
	/* Without guilty ones the circle is in the new tables: they were not proven. */
	if (safe || !drop_guilty(s, s->phase == WHOLE))
		return round_end(s);
	if (!s->trials_left)
		s->nnow = 0;
	if (s->nnow)
		trial_begin(s);
	else
		collect_begin(s, s->phase + 1);
	return true;
}

static bool order_cycle_free_go(struct order_cycle_free *s)
{
	bool safe, more;

	if (!s->trial) {
		more = s->phase == ENTRIES ? collect_entries(s) : collect_steps(s);
	} else if (order_trial_go(s->trial)) {
		return true;
	} else {
		safe = trial_end(s);
		more = s->phase == ENTRIES ? tried_entry(s, safe) : tried_steps(s, safe);
	}
	if (!more) {
		struct order *o = s->out;

		free(o->steps);
		free(o->first);
		o->steps = s->done;
		o->first = s->first;
		o->nsteps = s->ndone;
		o->nrounds = s->nrounds;
		o->drained = s->drained;
		o->strict = true;
		s->done = NULL;
		s->first = NULL;
	}
	return more;
}

/*
 * An order from its parts (see order.h), in calls of a few milliseconds: the rounds of
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
	struct order_trial *alone; /* whether the old tables have loops by themselves */
	struct order_cycle_free *cycle_free;
};

struct order_making *order_begin(const struct topo *t, const struct tables *newer,
				 const struct order_block *changed, uint32_t count,
				 const struct order_proof *proof)
{
	struct order_making *m = mem_new(m);

	m->beyond.proof = *proof;
	order_work_init(&m->w, t, newer, changed, count);
	m->columns = order_columns_begin(&m->w, &m->out);
	return m;
}

/* Patient entries get a round of their own, behind all others. */
static void patient_last(struct order *o)
{
	struct order_step *steps = mem_array(steps, 2 * o->nsteps + 1u);
	uint32_t n = 0, from = 0;

	for (uint32_t round = 0; round < o->nrounds; round++) {
		for (; from < o->first[round + 1]; from++) {
			steps[n] = o->steps[from];
			steps[n].mask &= ~steps[n].patient;
			n += steps[n].mask != 0;
		}
		o->first[round + 1] = n;
	}
	for (unsigned hosts = 2; hosts-- > 0;)
		for (uint32_t i = 0; i < o->nsteps; i++)
			if (o->steps[i].patient && o->steps[i].hosts == hosts) {
				o->split += o->steps[i].mask != o->steps[i].patient;
				steps[n] = o->steps[i];
				steps[n++].mask = o->steps[i].patient;
			}
	free(o->steps);
	o->steps = steps;
	o->nsteps = n;
	o->first = mem_array_resize(o->first, ++o->nrounds + 1u);
	o->first[o->nrounds] = n;
	o->strict = true;
}

static bool trial_done(struct order_making *m)
{
	bool safe = order_trial_end(m->trial);

	m->trial = NULL;
	if (m->beyond.patient_last)
		patient_last(&m->out);
	if (!safe) {
		struct order_cycle_free *s = mem_new(s);
		const struct tables *t = m->w.newer;
		size_t trials = TRIALS_BYTES / ((size_t)t->nswitches * t->stride + 1);

		s->w = &m->w;
		s->beyond = &m->beyond;
		s->out = &m->out;
		s->todo = m->out.steps;
		s->ntodo = m->out.nsteps;
		s->trials_left = trials < TRIALS_MIN   ? TRIALS_MIN
				 : trials > TRIALS_MAX ? TRIALS_MAX
						       : (uint32_t)trials;
		s->now = mem_array(s->now, m->out.nsteps + 1u);
		s->guilty = mem_array(s->guilty, m->out.nsteps + 1u);
		s->others = mem_array(s->others, m->w.nblocks);
		/* The tables before the first round. */
		tables_copy(&s->mix, t);
		for (uint32_t i = 0; i < m->w.nunits; i++) {
			const struct order_unit *u = &m->w.units[i];
			uint8_t *block = tables_block(&s->mix, u->sw, u->block);

			if (u->old)
				memcpy(block, u->old, TABLES_BLOCK);
			else
				memset(block, TABLES_NO_ROUTE, TABLES_BLOCK);
		}
		m->cycle_free = s;
		if (m->beyond.proof.older)
			return round_begin(s);
		order_work_init(&s->part, m->w.t, &s->mix, NULL, 0);
		m->alone = order_trial_begin(&s->part, ORDER_ALONE, NULL, &m->beyond);
	}
	return !safe;
}

bool order_go(struct order_making *m)
{
	if (m->columns) {
		if (order_columns_go(m->columns))
			return true;
		order_columns_end(m->columns);
		m->columns = NULL;
		m->trial = order_trial_begin(&m->w, ORDER_FROM, NULL, &m->beyond);
		return true;
	}
	if (m->trial)
		return order_trial_go(m->trial) || trial_done(m);
	if (m->alone) {
		if (order_trial_go(m->alone))
			return true;

		bool safe = order_trial_end(m->alone);

		m->alone = NULL;
		order_work_fini(&m->cycle_free->part);
		return safe && round_begin(m->cycle_free);
	}
	return m->cycle_free && order_cycle_free_go(m->cycle_free);
}

static void making_free(struct order_making *m)
{
	struct order_cycle_free *s = m->cycle_free;

	order_columns_end(m->columns);
	if (m->trial)
		order_trial_end(m->trial);
	if (m->alone) {
		order_trial_end(m->alone);
		order_work_fini(&s->part);
	}
	if (s) {
		if (s->trial)
			trial_end(s);
		free(s->now);
		free(s->guilty);
		free(s->others);
		free(s->done);
		free(s->first);
		tables_fini(&s->mix);
		free(s);
	}
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

void order_fini(struct order *o)
{
	free(o->steps);
	free(o->first);
	*o = (struct order){ 0 };
}
