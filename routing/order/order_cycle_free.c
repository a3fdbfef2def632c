/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/acyclic/acyclic.h"
#include "routing/order/order_own.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/*
 * order_cycle_free: for changes whose old and new paths together could close a credit loop. The
 * rounds are made anew, on a copy of the tables as they will be at that time: an entry may be
 * written when the new path behind it is in place (as in the first rounds), and when its new paths
 * close no cycle with all paths that exist at that time. An entry that would close one waits until
 * old paths that are part of the cycle are gone. Whole blocks are tried first, then parts of them,
 * then single entries. If none of these may go, the entries of paths to switches that come down and
 * go up again are emptied, which carry no traffic of hosts.
 *
 * If only entries are left each of which would close a cycle, no order is possible (for example a
 * ring whose direction is reversed), and the search also ends after a limit: then what is left of
 * some block numbers is emptied, of 64 LIDs of hosts at most that had paths, and the search goes
 * on.
 *
 * With 64 LIDs dark there need be no order straight from the older tables to the newer ones, though
 * each have no cycle. In a ring the older ones leave out a turn A, the newer ones another, B. LIDs
 * whose old paths use B and whose new ones use A must all be dark before the first of them is new,
 * and that may be half of all. Tables in between help, of which each two in a row have no cycle
 * together: then block numbers go from one to the next in turn, emptied and filled, so that a LID
 * has paths of one of them, never of both. So if what was emptied can't be filled without a cycle,
 * the change goes by spanning trees: from the older tables to a tree whose turns close no cycle
 * with theirs, from tree to tree, and from a tree that agrees with the new tables to these.
 *
 * From tree to tree: both have the same root, and switches take their new parents as long as old
 * and new parents together make no cycle. Then "towards a parent" is upwards, in each tree every
 * switch has one way up, and no packet of either turns from down to up. So between two trees there
 * is always an order; from tables to a tree there is one if their turns allow a tree.
 *
 * Those of a damaged fat tree often do not, as ways between spines turn at few leaves. Then the
 * trees are for hosts: other LIDs are emptied first and filled last, other switches send to their
 * parents and get nothing from these. So it is with a few switches with hosts where a tree can't
 * lead to them; half as many LIDs go from tree to tree at a time then.
 *
 * Where no tree agrees, 64 LIDs more are emptied, again and again, until what is empty can be
 * filled: once no old entry is left, the new ones are all there are. Tables that are too large for
 * such trials are filled: then paths of different LIDs may wait for one another in a circle until
 * all are through.
 *
 * Tables of another manager may have credit loops by themselves, most often by these paths to
 * switches: then their entries are emptied before all else. If loops are left, the first rounds are
 * as good as it gets.
 */

/* Searches of the whole graph are dear: as many as read this many table bytes, within bounds. */
#define TRIALS_BYTES (1u << 27)
#define TRIALS_MIN   8
#define TRIALS_MAX   4000
/* Where changes go by trees: a bound of order.h, and tables that are soon written once a tree. */
#define DARK_SHARE  2
#define TREES_BYTES (1u << 20)
#define SPARE	    32 /* LIDs of hosts that trees may leave out; then half of 64 go at a time */
#define LEADS_UP_NS 4  /* to look at a switch */

/*
 * The first rounds are tried; whether the older tables have loops by themselves; then candidates
 * for the next round, or what it fills; trees are looked for, and block numbers go by them.
 */
enum phase { FIRST, ALONE, WHOLE, PARTS, ENTRIES, FILL, TREES, COLUMNS };

/*
 * An order from its parts (see order.h), in calls of a few milliseconds: the rounds of each column
 * (order.c), a trial whether they could close a circle of waiting channels (order_turns.c), and if
 * so rounds that can't: more of them, and where these are not enough entries that are emptied
 * first.
 */
struct order_making {
	struct arena *arena; /* owns what the search for rounds works on */
	struct order_work w;
	struct order out;
	struct order_beyond beyond;
	struct order_columns *columns; /* as long as these are made */
	struct tables mix;	       /* as the switches hold them before the next round */
	struct order_step *todo;
	uint32_t ntodo;
	struct order_step *now; /* candidates for the next round: parts of todo, in its order */
	uint64_t *guilty;	/* by candidate */
	uint64_t *others;	/* by block, twice */
	uint64_t *lit;		/* by block: LIDs of hosts that old entries lead to */
	uint32_t nnow;
	struct order_step *done; /* round by round */
	uint32_t *first, ndone, nrounds, drained, trials_left;
	uint32_t most;	     /* LIDs of hosts that may be empty, beside those without tree */
	struct fiber *fiber; /* of TREES */
	enum phase phase;
	uint32_t at;	   /* in todo; COLUMNS: in the trees' blocks, then the new tables' */
	uint64_t left, in; /* of the entries of todo[at]: not looked at yet, among the candidates */
	struct order_trial *trial; /* NULL = candidates are gathered */
	struct order_work part;	   /* what it tries: the candidates as blocks */
	struct order_block *blocks;
	uint8_t *contents;
	uint32_t *tried; /* by switch and block: its last candidate, + 1; 0 between trials */
};

static uint8_t *block_of(const struct tables *t, const struct order_step *step)
{
	return tables_block(t, step->sw, step->block);
}

static void step_write(const struct order_making *s, const struct order_step *step, uint8_t *block)
{
	uint8_t new[TABLES_BLOCK];
	unsigned bit;

	order_content(&s->out, s->w.t, s->w.newer, step, new);
	FOR_BITS(bit, step->mask)
	block[bit] = step->drain ? TABLES_NO_ROUTE : new[bit];
}

/* The tables before the first round. */
static void hold_older(struct order_making *s)
{
	tables_copy(&s->mix, s->w.newer);
	for (uint32_t i = 0; i < s->w.nunits; i++) {
		const struct order_unit *u = &s->w.units[i];
		uint8_t *block = tables_block(&s->mix, u->sw, u->block);

		memset(block, TABLES_NO_ROUTE, TABLES_BLOCK);
		if (u->old)
			memcpy(block, u->old, TABLES_BLOCK);
	}
}

/* The candidates become the next round. */
static void settle(struct order_making *s)
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

static bool goes_up(const struct topo *t, const struct tables *tables, uint32_t sw, uint32_t lid)
{
	uint32_t next = path_switch_at(t, sw, tables_row(tables, sw)[lid]);

	return next != TOPO_NONE && t->nodes[next].level > t->nodes[sw].level;
}

/*
 * The next round empties entries to switches that lead down to where packets go up again. False:
 * there are none left.
 */
static bool empty_turns(struct order_making *s)
{
	const struct topo *t = s->w.t;
	uint64_t *hosts = s->others + s->w.nblocks; /* by block: LIDs */
	unsigned bit;

	mem_zero(s->others, 2 * s->w.nblocks);
	for (uint32_t i = 0; i < s->w.nunits; i++)
		hosts[s->w.units[i].block] |= s->w.units[i].to_hosts;
	for (uint32_t i = 0, n = s->ntodo; i < n; i++) {
		struct order_step *step = &s->todo[i], *rest = &s->todo[s->ntodo];
		uint64_t turns = 0;

		FOR_BITS(bit, step->mask & ~hosts[step->block])
		{
			uint32_t lid = step->block * TABLES_BLOCK + bit;
			uint32_t next = path_switch_at(t, step->sw, block_of(&s->mix, step)[bit]);

			if (next != TOPO_NONE && t->nodes[next].level < t->nodes[step->sw].level &&
			    (goes_up(t, &s->mix, next, lid) || goes_up(t, s->w.newer, next, lid)))
				turns |= 1ull << bit;
		}
		if (!turns)
			continue;
		*rest = *step;
		rest->mask &= ~turns;
		s->ntodo += rest->mask != 0;
		step->mask = turns;
		s->now[s->nnow] = *step;
		s->now[s->nnow++].drain = step->emptied = true;
		s->drained += __builtin_popcountll(turns & ~s->others[step->block]);
		s->others[step->block] |= turns;
	}
	if (s->nnow)
		settle(s);
	return s->nnow;
}

/* ---- Which steps may go --------------------------------------------------------------------- */

/* Whether all entries further on the new path are new. */
static bool path_in_place(const struct order_making *s, uint32_t sw, uint32_t lid)
{
	for (uint32_t hops = 0; hops <= s->w.t->nswitches; hops++) {
		sw = path_switch_at(s->w.t, sw, tables_row(s->w.newer, sw)[lid]);
		if (sw == TOPO_NONE)
			return true;
		if (tables_row(&s->mix, sw)[lid] != tables_row(s->w.newer, sw)[lid])
			return false;
	}
	return true;
}

/* The entries of a step that can be written in the next round. */
static uint64_t ready_entries(const struct order_making *s, const struct order_step *step)
{
	uint64_t ready = step->mask & ~(step->last & s->others[step->block]);
	unsigned bit;

	FOR_BITS(bit, ready)
	if (!path_in_place(s, step->sw, step->block * TABLES_BLOCK + bit))
		ready &= ~(1ull << bit);
	return ready;
}

/* Whether the candidates may be written together; if not, guilty gets the entries of a cycle. */
static void trial_begin(struct order_making *s)
{
	s->blocks = mem_array(s->blocks, s->nnow + 1u);
	s->contents = mem_alloc(s->nnow + 1u, TABLES_BLOCK);
	s->trials_left -= s->trials_left > 0;
	mem_zero(s->guilty, s->nnow);

	/* Several steps of one block are tried as one: each has the entries of all. */
	for (uint32_t i = 0; i < 2 * s->nnow; i++) {
		const struct order_step *step = &s->now[i % s->nnow];
		uint32_t *at = &s->tried[step->sw * s->w.nblocks + step->block];
		uint8_t *block = s->contents + (size_t)(i % s->nnow) * TABLES_BLOCK;

		memmove(block,
			*at ? s->contents + (size_t)(*at - 1) * TABLES_BLOCK
			    : block_of(&s->mix, step),
			TABLES_BLOCK);
		step_write(s, step, block);
		*at = i % s->nnow + 1;
		s->blocks[i % s->nnow] = (struct order_block){ step->sw, step->block, block };
	}
	for (uint32_t i = 0; i < s->nnow; i++)
		s->tried[s->now[i].sw * s->w.nblocks + s->now[i].block] = 0;
	order_work_init(&s->part, s->w.t, &s->mix, s->blocks, s->nnow);
	s->trial = order_trial_begin(&s->part, ORDER_TO, s->guilty, &s->beyond);
}

static bool trial_end(struct order_making *s)
{
	bool safe = order_trial_end(s->trial);

	order_work_fini(&s->part);
	free(s->blocks);
	free(s->contents);
	s->trial = NULL;
	return safe;
}

/* Takes the guilty out of the candidates: whole steps, or entries. False: there were none. */
static bool drop_guilty(struct order_making *s, bool whole)
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

/* ---- By spanning trees ----------------------------------------------------------------------- */

static uint32_t parent_of(const struct topo *t, const uint8_t *up, uint32_t sw)
{
	return path_switch_at(t, sw, up[sw]);
}

/* Whether ways up lead from a switch to another, by old parents and by new ones. */
static bool leads_up(const struct topo *t, const uint8_t *old, const uint8_t *new, uint32_t from,
		     uint32_t to, bool *met)
{
	if (from == TOPO_NONE || met[from])
		return false;
	met[from] = true;
	return from == to || leads_up(t, old, new, parent_of(t, old, from), to, met) ||
	       leads_up(t, old, new, parent_of(t, new, from), to, met);
}

static uint8_t *add_tree(struct order_making *s)
{
	uint32_t n = s->w.t->nswitches;

	s->out.trees = mem_array_resize(s->out.trees, ++s->out.ntrees * n);
	return s->out.trees + (s->out.ntrees - 1) * n;
}

/* From the last of the trees on to another, as far as each step goes. */
static void add_trees_to(struct order_making *s, const uint8_t *last)
{
	const struct topo *t = s->w.t;
	bool *met = mem_array(met, t->nswitches);
	uint8_t *new = s->out.trees;

	while (memcmp(new, last, t->nswitches) && !fiber_hurries(s->fiber)) {
		new = add_tree(s);

		const uint8_t *old = new - t->nswitches;

		memcpy(new, old, t->nswitches);
		for (uint32_t sw = 0; sw < t->nswitches; sw++) {
			mem_zero(met, t->nswitches);
			if (old[sw] != last[sw] &&
			    !leads_up(t, old, new, parent_of(t, last, sw), sw, met))
				new[sw] = last[sw];
			fiber_spend(s->fiber, t->nswitches * LEADS_UP_NS);
		}
	}
	free(met);
}

/*
 * Whether the rule of order.h lets the change go by trees, it is not too large for that, and none
 * were looked for yet.
 */
static bool may_go_by_trees(const struct order_making *s)
{
	const struct order_work *w = &s->w;
	uint64_t changed = 0, dark = 0;
	unsigned bit;

	if (s->out.trees)
		return false;
	for (uint32_t i = 0; i < w->nunits; i++) {
		const struct order_unit *u = &w->units[i];

		if (!u->old)
			return false;
		FOR_BITS(bit, u->mask)
		if (!order_leads_nowhere(w->t, u->sw, u->old[bit]))
			changed++;
		else if (w->t->nodes[u->sw].role == TOPO_LEAF)
			dark += u->to_hosts >> bit & 1;
	}
	return dark * DARK_SHARE <= changed;
}

/* The LIDs of hosts go to `s->others`. */
static void find_homes(struct order_making *s)
{
	const struct tables *newer = s->w.newer;
	const struct topo *t = s->w.t;
	struct order *o = &s->out;

	o->home = mem_array(o->home, newer->stride);
	memset(o->home, 0xff, newer->stride * sizeof(*o->home));
	mem_zero(s->others, s->w.nblocks);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= newer->top; lid++) {
			unsigned out = tables_row(newer, sw)[lid];
			uint64_t host = order_leads_to_host(t, sw, out);

			s->others[lid / TABLES_BLOCK] |= host << lid % TABLES_BLOCK;
			if (path_switch_at(t, sw, out) == TOPO_NONE &&
			    !order_leads_nowhere(t, sw, out))
				o->home[lid] = sw;
		}
}

/*
 * Trees from the older tables to the newer ones, of all LIDs or of hosts' alone, if there are. LIDs
 * of hosts that one of them does not lead to are taken from `s->others`.
 */
static bool find_trees(struct order_making *s, bool to_hosts)
{
	const struct topo *t = s->w.t;
	uint8_t *last = mem_array(last, t->nswitches + 1u);
	bool *apart = mem_array(apart, t->nswitches + 1u), found;
	struct acyclic_beside tree = { s->beyond.proof.spanning, to_hosts, to_hosts ? SPARE : 0,
				       last, apart };
	struct tables newer = { 0 };
	uint32_t spared = 0;

	hold_older(s);
	tables_copy(&newer, s->w.newer);
	for (uint32_t lid = 1; to_hosts && lid <= newer.top; lid++)
		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			if (!(s->others[lid / TABLES_BLOCK] >> lid % TABLES_BLOCK & 1))
				tables_row(&newer, sw)[lid] = tables_row(&s->mix, sw)[lid] =
					TABLES_NO_ROUTE;
	found = acyclic_tree_beside(t, &newer, &tree, s->fiber);
	tree.up = add_tree(s);
	tree.first = s->beyond.proof.spanning_older ?: tree.first;
	found = found && acyclic_tree_beside(t, &s->mix, &tree, s->fiber);
	for (uint32_t lid = 1; found && lid <= newer.top; lid++) {
		uint64_t *hosts = &s->others[lid / TABLES_BLOCK], bit = 1ull << lid % TABLES_BLOCK;
		uint32_t home = s->out.home[lid];
		bool left_out = home != TOPO_NONE && apart[home] && (*hosts & bit);

		*hosts &= left_out ? ~bit : UINT64_MAX;
		spared += left_out;
	}
	s->out.ntrees = found && spared <= SPARE;
	s->most = TABLES_BLOCK - (s->out.ntrees && spared ? SPARE : 0);
	if (s->out.ntrees)
		add_trees_to(s, last);
	hold_older(s);
	tables_fini(&newer);
	free(last);
	free(apart);
	return s->out.ntrees;
}

/* The change goes by trees from its beginning, if some agree with both tables. */
static void columns_begin(void *arg)
{
	struct order_making *s = arg;

	find_homes(s);
	if (find_trees(s, false)) {
		memset(s->others, 0xff, s->w.nblocks * sizeof(*s->others));
	} else if (!find_trees(s, true)) {
		for (uint32_t i = 0; i < s->ndone; i++)
			step_write(s, &s->done[i], block_of(&s->mix, &s->done[i]));
		return;
	}
	s->now = arena_array(s->arena, s->now, s->w.t->nswitches);
	s->phase = COLUMNS;
	s->at = s->ndone = s->nrounds = s->drained = 0;
	s->out.most = TABLES_BLOCK;
}

/*
 * Entries of one block number that differ from the tables that come next are emptied and filled.
 * First of all those are emptied that trees leave out; they are filled last.
 */
static bool next_column(struct order_making *s)
{
	uint32_t parts = TABLES_BLOCK / s->most, part = s->at % parts;
	uint32_t block = s->at / parts % s->w.nblocks;
	uint32_t stage = s->at++ / parts / s->w.nblocks, ntrees = s->out.ntrees;
	uint8_t content[TABLES_BLOCK];
	uint64_t lids = 0, in_trees = s->others[block];
	uint64_t in_part = parts == 1 ? UINT64_MAX : (uint64_t)UINT32_MAX << 32 * part;

	if (stage > ntrees + 2)
		return false;
	for (unsigned drain = 2; drain-- > !stage;) {
		s->nnow = 0;
		for (uint32_t sw = 0; sw < s->w.t->nswitches; sw++) {
			struct order_step *step = &s->now[s->nnow];
			const uint8_t *held = tables_block(&s->mix, sw, block);

			*step = (struct order_step){ .sw = sw,
						     .block = block,
						     .tree = stage <= ntrees ? stage : 0,
						     .drain = drain,
						     .emptied = !drain,
						     .hosts = true };
			order_content(&s->out, s->w.t, s->w.newer, step, content);
			step->mask = stage ? ~bits_same(held, content) : ~in_trees;
			step->mask &=
				in_part & (stage > ntrees + 1 || !stage ? UINT64_MAX : in_trees);
			step->mask &= drain ? ~byteset_equal(held, TABLES_NO_ROUTE) : step->mask;
			s->nnow += step->mask != 0;
			lids |= drain ? step->mask : 0;
		}
		if (s->nnow)
			settle(s);
	}
	s->drained += __builtin_popcountll(lids);
	return true;
}

/* ---- Where it is ---------------------------------------------------------------------------- */

#define STEPS_A_CALL 2048

static void collect_begin(struct order_making *s, enum phase phase)
{
	s->phase = phase;
	s->at = 0;
	s->left = s->in = 0;
	s->nnow = 0;
}

/* False: that was all. */
static bool round_begin(struct order_making *s)
{
	if (!s->ntodo)
		return false;
	/* By block: LIDs of which entries are left that others must wait for. */
	mem_zero(s->others, s->w.nblocks);
	for (uint32_t i = 0; i < s->ntodo; i++)
		s->others[s->todo[i].block] |= s->todo[i].mask & ~s->todo[i].last;
	/* Without trials nothing is to be asked any more. */
	collect_begin(s, s->trials_left ? WHOLE : ENTRIES);
	return true;
}

static bool round_end(struct order_making *s);

/* Nothing else may go: more is emptied, up to 64 LIDs of hosts, else what is empty is filled. */
static bool empty_or_fill(struct order_making *s)
{
	uint64_t *empty = s->others + s->w.nblocks;
	uint32_t lids = 0, more = 0;

	mem_zero(s->others, 2 * s->w.nblocks);
	for (uint32_t i = 0; i < s->ntodo; i++)
		(s->todo[i].emptied ? empty : s->others)[s->todo[i].block] |= s->todo[i].mask;
	for (uint32_t b = 0; b < s->w.nblocks; b++) {
		empty[b] = s->others[b] ? 0 : empty[b]; /* beside old entries nothing is filled */
		lids += __builtin_popcountll(empty[b] & s->lit[b]);
	}
	for (uint32_t b = 0; b < s->w.nblocks; b++) {
		uint32_t n = __builtin_popcountll(s->others[b] & s->lit[b]);

		if (lids + n > s->most)
			s->others[b] = 0;
		lids += s->others[b] ? n : 0;
		more += __builtin_popcountll(s->others[b]);
	}
	for (uint32_t i = 0; i < s->ntodo; i++) {
		struct order_step *step = &s->todo[i];

		if (more ? !step->emptied && s->others[step->block] : empty[step->block]) {
			s->now[s->nnow] = *step;
			s->now[s->nnow++].drain = more;
			step->emptied = true;
		}
	}
	s->drained += more;
	s->out.most = lids > s->out.most ? lids : s->out.most;
	s->phase = FILL;
	if (more || (size_t)s->w.t->nswitches * s->w.newer->stride > TREES_BYTES)
		return round_end(s);
	trial_begin(s);
	return true;
}

/*
 * What is empty was tried. If it closes a cycle with old entries of other LIDs, all begins again by
 * trees, or more is emptied; once there are no old entries, it closes none.
 */
static bool tried_to_fill(struct order_making *s, bool safe)
{
	if (!safe && may_go_by_trees(s)) {
		s->phase = TREES;
		s->fiber = fiber_new();
		fiber_start(s->fiber, columns_begin, s);
		return true;
	}
	if (safe || !any_of(i, 0, s->ntodo, !s->todo[i].emptied)) {
		s->most = TABLES_BLOCK;
		return round_end(s);
	}
	s->most += TABLES_BLOCK;
	s->nnow = 0;
	return empty_or_fill(s);
}

static bool round_end(struct order_making *s)
{
	uint32_t kept = 0, next = 0;

	if (!s->nnow)
		return s->trials_left && empty_turns(s) ? round_begin(s) : empty_or_fill(s);
	settle(s);
	for (uint32_t i = 0; i < s->ntodo; i++) {
		struct order_step *step = &s->todo[i];

		if (next < s->nnow && !s->now[next].drain && s->now[next].sw == step->sw &&
		    s->now[next].block == step->block && (s->now[next].mask & step->mask))
			step->mask &= ~s->now[next++].mask;
		step->last &= step->mask;
		if (step->mask)
			s->todo[kept++] = *step;
	}
	s->ntodo = kept;
	return round_begin(s);
}

/* All that may go together, of steps that are ready as a whole or (PARTS) as far as they are. */
static bool collect_steps(struct order_making *s)
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
static bool collect_entries(struct order_making *s)
{
	for (; s->at < s->ntodo && (s->trials_left || s->in); s->at++) {
		struct order_step *added = &s->now[s->nnow];

		if (!s->left && !s->in)
			s->left = ready_entries(s, &s->todo[s->at]);
		s->left = s->trials_left ? s->left : 0;
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
	return round_end(s);
}

static bool tried_entry(struct order_making *s, bool safe)
{
	s->nnow--;
	if (safe)
		s->in = s->now[s->nnow].mask;
	s->left &= s->left - 1;
	if (!s->left && !s->in)
		s->at++;
	return true;
}

static bool tried_steps(struct order_making *s, bool safe)
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

/* Begins to ask whether the tables before the next round have loops by themselves. */
static bool ask_alone(struct order_making *s)
{
	s->phase = ALONE;
	order_work_init(&s->part, s->w.t, &s->mix, NULL, 0);
	s->trial = order_trial_begin(&s->part, ORDER_ALONE, NULL, &s->beyond);
	return true;
}

static bool tried_first_rounds(struct order_making *s, bool safe)
{
	const struct tables *t = s->w.newer;
	size_t trials = TRIALS_BYTES / ((size_t)t->nswitches * t->stride + 1);

	if (s->beyond.patient_last)
		patient_last(&s->out);
	if (safe)
		return false;
	s->ntodo = s->out.nsteps;
	s->todo = arena_array(s->arena, s->todo, 2 * s->ntodo + 1u);
	mem_copy(s->todo, s->out.steps, s->ntodo);
	s->trials_left = TRIALS_MIN + (trials < TRIALS_MAX ? (uint32_t)trials : TRIALS_MAX);
	s->now = arena_array(s->arena, s->now, 2 * s->ntodo + 1u);
	s->guilty = arena_array(s->arena, s->guilty, 2 * s->ntodo + 1u);
	s->others = arena_array(s->arena, s->others, 2 * s->w.nblocks);
	s->lit = arena_array(s->arena, s->lit, s->w.nblocks);
	s->tried = arena_array(s->arena, s->tried, s->w.t->nswitches * s->w.nblocks + 1u);
	for (uint32_t i = 0; i < s->w.nunits; i++) {
		const struct order_unit *u = &s->w.units[i];
		unsigned bit;

		FOR_BITS(bit, u->old ? u->mask & u->to_hosts : 0)
		s->lit[u->block] |= (uint64_t)!order_leads_nowhere(s->w.t, u->sw, u->old[bit])
				    << bit;
	}
	hold_older(s);
	return s->beyond.proof.older ? round_begin(s) : ask_alone(s);
}

struct order_making *order_begin(const struct topo *t, const struct tables *newer,
				 const struct order_block *changed, uint32_t count,
				 const struct order_proof *proof)
{
	struct order_making *s = mem_new(s);

	s->beyond.proof = *proof;
	s->most = TABLES_BLOCK;
	s->arena = arena_new();
	order_work_init(&s->w, t, newer, changed, count);
	s->columns = order_columns_begin(&s->w, &s->out);
	return s;
}

bool order_go(struct order_making *s)
{
	bool safe, more;

	if (s->columns) {
		if (order_columns_go(s->columns))
			return true;
		order_columns_end(s->columns);
		s->columns = NULL;
		s->trial = order_trial_begin(&s->w, ORDER_FROM, NULL, &s->beyond);
		return true;
	}
	if (s->phase == TREES) {
		if (fiber_go(s->fiber))
			return true;
		more = s->phase == COLUMNS || tried_to_fill(s, false);
	} else if (!s->trial) {
		more = s->phase == COLUMNS   ? next_column(s)
		       : s->phase == ENTRIES ? collect_entries(s)
					     : collect_steps(s);
	} else if (order_trial_go(s->trial)) {
		return true;
	} else {
		safe = trial_end(s);
		if (s->phase == FIRST)
			return tried_first_rounds(s, safe);
		if (s->phase == ALONE && !safe)
			return !s->nrounds && empty_turns(s) && ask_alone(s);
		more = s->phase == ALONE     ? round_begin(s)
		       : s->phase == ENTRIES ? tried_entry(s, safe)
		       : s->phase == FILL    ? tried_to_fill(s, safe)
					     : tried_steps(s, safe);
	}
	if (!more) {
		free(s->out.steps);
		free(s->out.first);
		s->out.steps = s->done;
		s->out.first = s->first;
		s->out.nsteps = s->ndone;
		s->out.nrounds = s->nrounds;
		s->out.drained = s->drained;
		s->out.strict = true;
		s->done = NULL;
		s->first = NULL;
	}
	return more;
}

void order_end(struct order_making *s, struct order *out)
{
	*out = s->out;
	s->out = (struct order){ 0 };
	order_drop(s);
}

void order_drop(struct order_making *s)
{
	if (!s)
		return;
	if (s->phase == TREES)
		fiber_hurry(s->fiber);
	while (s->phase == TREES && fiber_go(s->fiber))
		;
	fiber_free(s->fiber);
	order_fini(&s->out);
	order_columns_end(s->columns);
	if (s->trial)
		trial_end(s);
	arena_free(s->arena);
	free(s->done);
	free(s->first);
	tables_fini(&s->mix);
	order_work_fini(&s->w);
	free(s->beyond.turns);
	free(s);
}

void order_content(const struct order *o, const struct topo *t, const struct tables *newer,
		   const struct order_step *step, uint8_t content[TABLES_BLOCK])
{
	const uint8_t *up = step->tree ? o->trees + (step->tree - 1) * t->nswitches : NULL;

	memcpy(content, tables_block(newer, step->sw, step->block), TABLES_BLOCK);
	for (unsigned bit = 0; step->tree && bit < TABLES_BLOCK; bit++) {
		uint32_t home = o->home[step->block * TABLES_BLOCK + bit], below = home;

		if (home == step->sw)
			continue;
		content[bit] = home == TOPO_NONE ? TABLES_NO_ROUTE : up[step->sw];
		while (below != TOPO_NONE && parent_of(t, up, below) != step->sw)
			below = parent_of(t, up, below);
		if (below != TOPO_NONE)
			content[bit] = topo_peer(t, topo_port(t, below, up[below]))->num;
	}
}

void order_fini(struct order *o)
{
	free(o->steps);
	free(o->first);
	free(o->trees);
	free(o->home);
	*o = (struct order){ 0 };
}
