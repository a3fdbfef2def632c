/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/order/order_own.h"
#include "routing/cdg.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/*
 * Turns: can channels come to wait for one another in a circle while old and new entries mix?
 *
 * A turn is a channel dependency (cdg.h): some packet comes by one link and leaves by another. The
 * new tables' turns have no circle, that was proven. What mixtures have besides are turns with an
 * old entry in them:
 *   - onto the channel of an old entry, from switches whose entry does not change,
 *   - from that channel on, by the next switch's old or new entry.
 * (A new entry before an old one does not happen: order.c.) A turn that new tables make for some
 * other LID adds nothing, and in a tree nearly every turn is one of these: two links of a switch
 * serve many LIDs. So such a witness is looked for first, nearby; only if turns without one are
 * left, the whole graph is made and searched.
 *
 * The proof of the new tables may be at hand (check_proof_graph), and with it a graph that has all
 * their turns and some more, and its order. Old entries' turns are mostly among those, or agree
 * with that order; whether the few others close a circle is searched around them alone
 * (order.c). Where it can't tell, the looks above follow, and so they do when the next proof has
 * begun meanwhile.
 *
 * Parts of a change are looked at by the same graph: what some tables on the way have beyond it is
 * among what mixtures of the whole change have beyond it, which the first trial leaves behind
 * (order_beyond).
 */

#define BEYOND_MAX  4096 /* turns: each is looked for in the tables by every trial at a part */
#define CIRCLES_MAX 4	 /* that a search gets one by one; all at once takes the whole graph */

/* Patient entries change with all others; they are old while these change; they alone change. */
enum stage { AT_ONCE, NOT_YET, ALONE };

typedef void turn_fn(void *arg, const struct order_turn *turn);

struct enquiry { /* after turns that have a unit's `old` entry in them */
	struct order_work *w;
	enum order_direction direction;
	turn_fn *fn;
	void *arg;
	bool patient; /* of patient entries only */
};

struct turns {
	struct order_work *w;
	enum order_direction direction;
	enum stage stage;
	const struct cdg *proven; /* the graph of the new tables' proof */
	uint32_t *set;		  /* turns met: hash table of turn_key() */
	uint32_t set_size, set_used;
	struct order_turn *fresh; /* each once: those that new tables do not make */
	uint32_t nfresh;
};

/* ---- Which turns there are ------------------------------------------------------------------ */

/* Whether the path from a switch by the tables leads through another. */
static bool comes_by(const struct order_work *w, uint32_t sw, uint32_t through, uint32_t lid)
{
	for (uint32_t hops = 0; sw != through && hops <= w->t->nswitches; hops++) {
		sw = path_switch_at(w->t, sw, tables_row(w->newer, sw)[lid]);
		if (sw == TOPO_NONE)
			return false;
	}
	return true;
}

static void turn_to(const struct enquiry *q, struct order_turn turn, uint32_t at, uint8_t out)
{
	const struct topo *t = q->w->t;
	turn.out = out;
	if (path_switch_at(t, at, out) != TOPO_NONE)
		q->fn(q->arg, &turn);
}

/* What neighbours send onto the channels of a unit's entries; `live` are those that have one. */
static void turns_before(const struct enquiry *q, uint32_t unit, uint64_t live)
{
	const struct order_unit *s = &q->w->units[unit];
	const struct topo *t = q->w->t;

	for (unsigned num = 1; num <= t->nodes[s->sw].nports; num++) {
		uint32_t from = path_switch_at(t, s->sw, num);
		uint8_t out = t->ends[t->nodes[s->sw].port0 + num].num;
		unsigned bit;

		if (from == TOPO_NONE)
			continue;

		const struct order_unit *u = order_unit_of(q->w, from);
		const uint8_t *row = tables_block(q->w->newer, from, s->block);

		/* New before old there is not. */
		uint64_t mask = live & ~(u && q->direction == ORDER_FROM ? u->mask : 0);

		FOR_BITS(bit, byteset_equal(row, out) & mask)
		q->fn(q->arg, &(struct order_turn){ .unit = unit,
						    .bit = bit,
						    .out = s->old[bit],
						    .from = t->nodes[from].port0 + out });
	}
}

static void turns_of_column(const struct enquiry *q, uint32_t block)
{
	order_column_enter(q->w, block);
	for (uint32_t i = q->w->column[block]; i < q->w->column[block + 1]; i++) {
		const struct order_unit *s = &q->w->units[i];
		uint64_t live = 0;
		unsigned bit;

		FOR_BITS(bit, !s->old ? 0 : q->patient ? s->patient : s->mask)
		{
			uint32_t next = path_switch_at(q->w->t, s->sw, s->old[bit]);

			if (next == TOPO_NONE)
				continue;
			live |= 1ull << bit;

			/* Where a packet goes on after the channel of a unit's entry. */
			uint32_t lid = s->block * TABLES_BLOCK + bit;
			const struct order_unit *u = order_unit_of(q->w, next);
			struct order_turn turn = { .unit = i, .bit = bit };
			bool both = u && u->mask >> bit & 1;

			turn.from = q->w->t->nodes[s->sw].port0 + s->old[bit];
			if (both && u->old)
				turn_to(q, turn, next, u->old[bit]);
			/*
			 * Old before new, unless that is late, or the new path comes by here; never
			 * new before old.
			 */
			if (!both || (q->direction == ORDER_FROM && !u->late &&
				      !comes_by(q->w, next, s->sw, lid)))
				turn_to(q, turn, next, tables_row(q->w->newer, next)[lid]);
		}
		if (live)
			turns_before(q, i, live);
	}
	order_column_leave(q->w, block);
}

/* ---- Which of them are new to the new tables ------------------------------------------------ */

static uint32_t turn_key(const struct order_turn *turn)
{
	return (turn->from << 8 | turn->out) + 1;
}

/* Where a key is, or would be. */
static uint32_t set_place(const struct turns *s, uint32_t key)
{
	uint32_t at = (key * 0x9e3779b1u) & (s->set_size - 1);

	while (s->set[at] && s->set[at] != key)
		at = (at + 1) & (s->set_size - 1);
	return at;
}

/* False: it was there. */
static bool set_add(struct turns *s, uint32_t key)
{
	if (2 * s->set_used >= s->set_size) {
		uint32_t *old = s->set, size = s->set_size;

		s->set_size = size ? 2 * size : 1024;
		s->set = mem_array(s->set, s->set_size);
		s->set_used = 0;
		for (uint32_t i = 0; i < size; i++)
			if (old[i])
				set_add(s, old[i]);
		free(old);
	}

	uint32_t at = set_place(s, key);

	if (s->set[at])
		return false;
	s->set[at] = key;
	s->set_used++;
	return true;
}

/* The patient entries of a switch's block. */
static uint64_t patient_entries(const struct order_work *w, uint32_t sw, uint32_t block)
{
	for (uint32_t i = w->column[block]; i < w->column[block + 1]; i++)
		if (w->units[i].sw == sw)
			return w->units[i].patient;
	return 0;
}

/*
 * Whether new tables send some LID by these two channels, in a stage of theirs; looked for from
 * `block` on.
 */
static bool has_witness(const struct order_work *w, const struct order_turn *turn, uint32_t block,
			enum stage stage)
{
	const struct topo_port *port = &w->t->ports[turn->from];
	const uint8_t *before = tables_row(w->newer, port->node);
	const uint8_t *after = tables_row(w->newer, topo_peer(w->t, port)->node);

	for (uint32_t n = 0; n < w->nblocks; n++, block++) {
		block = block == w->nblocks ? 0 : block;

		size_t at = (size_t)block * TABLES_BLOCK;
		uint64_t lids = byteset_equal(before + at, port->num) &
				byteset_equal(after + at, turn->out);

		if (lids && stage == NOT_YET)
			lids &= ~(patient_entries(w, port->node, block) |
				  patient_entries(w, topo_peer(w->t, port)->node, block));
		if (lids)
			return true;
	}
	return false;
}

static void turn_keep(struct turns *s, const struct order_turn *turn)
{
	s->fresh = mem_grow(s->fresh, s->nfresh);
	s->fresh[s->nfresh++] = *turn;
}

static void turn_met(void *arg, const struct order_turn *turn)
{
	struct turns *s = arg;

	if (set_add(s, turn_key(turn)) &&
	    !has_witness(s->w, turn, s->w->units[turn->unit].block, AT_ONCE))
		turn_keep(s, turn);
}

/* ---- The whole graph ------------------------------------------------------------------------ */

struct circle {
	const struct order_work *w;
	const struct cdg *g;
	const bool *member; /* by channel */
	uint64_t *guilty;
};

static void turn_judged(void *arg, const struct order_turn *turn)
{
	struct circle *c = arg;
	const struct topo_port *head = topo_peer(c->w->t, &c->w->t->ports[turn->from]);
	uint32_t second = c->g->channel[c->w->t->nodes[head->node].port0 + turn->out];

	if (c->member[c->g->channel[turn->from]] && c->member[second])
		c->guilty[c->w->units[turn->unit].given] |= 1ull << turn->bit;
}

/* ---- A trial, in pieces ---------------------------------------------------------------------- */

/* Of one call: some milliseconds each. */
#define UNITS_A_CALL   8192
#define ENTRIES_A_CALL (2u << 20)
#define VISITS_A_CALL  (1u << 18)

struct order_trial {
	struct turns turns;
	uint64_t *guilty;
	struct order_beyond *beyond;
	bool (*phase)(struct order_trial *l); /* NULL: it has ended */
	uint32_t at;			      /* block or row that is next in the phase */
	bool safe;
	struct cdg graph;
	struct order_circle *circle;
	struct cdg_search *search;
};

static bool end_trial(struct order_trial *l, bool safe)
{
	l->safe = safe;
	l->phase = NULL;
	l->beyond->patient_last = safe && l->turns.stage == ALONE;
	return false;
}

static bool go_to(struct order_trial *l, bool (*phase)(struct order_trial *l))
{
	l->phase = phase;
	l->at = 0;
	return true;
}

/* Some more columns are asked; false: those were the last. */
static bool ask_columns(struct order_trial *l, const struct enquiry *q)
{
	const struct order_work *w = q->w;
	uint32_t end = w->column[l->at] + UNITS_A_CALL;

	while (l->at < w->nblocks && w->column[l->at] < end)
		turns_of_column(q, l->at++);
	return l->at < w->nblocks;
}

/* The entries with paths in a group of channels that wait for one another. */
static void find_guilty(struct order_trial *l, const struct cdg *g, const bool *member)
{
	struct circle c = { l->turns.w, g, member, l->guilty };
	struct enquiry q = { l->turns.w, l->turns.direction, turn_judged, &c, false };

	for (uint32_t b = 0; b < l->turns.w->nblocks; b++)
		turns_of_column(&q, b);
}

static bool search_graph(struct order_trial *l)
{
	unsigned length;

	if (cdg_search_go(l->search, VISITS_A_CALL))
		return true;

	uint32_t *group = mem_array(group, l->graph.nchannels + 1u);
	uint64_t groups = cdg_search_groups(l->search, group, l->graph.nchannels, &length);

	if (groups && l->guilty) {
		bool *member = mem_array(member, l->graph.nchannels + 1u);

		for (unsigned i = 0; i < length; i++)
			member[group[i]] = true;
		find_guilty(l, &l->graph, member);
		free(member);
	}
	free(group);
	return end_trial(l, !groups);
}

static bool make_graph(struct order_trial *l)
{
	const struct order_work *w = l->turns.w;
	uint32_t rows = ENTRIES_A_CALL / (w->newer->top + 1u) + 1;

	for (; rows && l->at < w->t->nswitches; rows--) {
		uint32_t sw = l->at++;
		const uint8_t *row = tables_row(w->newer, sw), *next[256] = { NULL };
		uint32_t port0 = w->t->nodes[sw].port0;

		for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++) {
			uint32_t to = path_switch_at(w->t, sw, num);

			next[num] = to == TOPO_NONE ? NULL : tables_row(w->newer, to);
		}
		for (uint32_t lid = 1; lid <= w->newer->top; lid++)
			if (next[row[lid]] && next[row[lid]][lid] != TABLES_NO_ROUTE)
				cdg_add(&l->graph, l->graph.channel[port0 + row[lid]],
					next[row[lid]][lid]);
	}
	if (l->at < w->t->nswitches)
		return true;
	for (uint32_t i = 0; i < l->turns.nfresh; i++)
		cdg_add(&l->graph, l->graph.channel[l->turns.fresh[i].from], l->turns.fresh[i].out);
	l->search = cdg_search_new(&l->graph);
	return go_to(l, search_graph);
}

static bool ask_all(struct order_trial *l)
{
	struct turns *s = &l->turns;
	struct enquiry q = { s->w, s->direction, turn_met, s, false };

	if (ask_columns(l, &q))
		return true;
	if (!s->nfresh)
		return end_trial(l, true);
	cdg_init(&l->graph, s->w->t, false);
	return go_to(l, make_graph);
}

static void forget_turns(struct turns *s)
{
	free(s->set);
	free(s->fresh);
	*s = (struct turns){ .w = s->w, .direction = s->direction, .stage = s->stage };
}

/* ---- By the proof of the new tables --------------------------------------------------------- */

static void proof_met(void *arg, const struct order_turn *turn)
{
	struct turns *s = arg;

	if (!cdg_has(s->proven, s->proven->channel[turn->from], turn->out) &&
	    set_add(s, turn_key(turn)))
		turn_keep(s, turn);
}

static void old_met(void *arg, const struct order_turn *turn)
{
	set_add(arg, turn_key(turn));
}

static bool may_be_used(void *arg, uint32_t channel, uint8_t out)
{
	const struct turns *s = arg;
	struct order_turn turn = { .from = s->proven->port_of[channel], .out = out };

	return (s->set_size && s->set[set_place(s, turn_key(&turn))]) ||
	       has_witness(s->w, &turn, 0, s->stage);
}

static bool leave_proof(struct order_trial *l)
{
	forget_turns(&l->turns);
	l->turns.stage = AT_ONCE;
	return go_to(l, ask_all);
}

/* For looks at parts of the change. */
static void leave_beyond(struct order_trial *l)
{
	struct turns *s = &l->turns;
	struct order_beyond *b = l->beyond;

	if (s->direction != ORDER_FROM || s->nfresh > BEYOND_MAX)
		return;
	b->turns = s->fresh;
	b->count = s->nfresh;
	b->known = true;
	s->fresh = NULL;
	s->nfresh = 0;
}

/* The proof's graph: gone once another proof has begun. */
static bool proof_lasts(struct order_trial *l)
{
	return (l->turns.proven =
			check_proof_graph(l->beyond->proof.base, l->beyond->proof.serial)) != NULL;
}

static bool ask_proof(struct order_trial *l);

/* Whether some can be written when all others are. */
static bool has_patient(const struct order_work *w)
{
	return any_of(i, 0, w->nunits, w->units[i].patient) &&
	       !any_of(i, 0, w->nunits, w->units[i].late);
}

static bool search_circle(struct order_trial *l)
{
	struct turns *s = &l->turns;

	if (!proof_lasts(l))
		return leave_proof(l);
	if (order_circle_go(l->circle, VISITS_A_CALL))
		return true;

	bool found = order_circle_found(l->circle);
	const bool *members = order_circle_members(l->circle);

	if (!found && s->stage == NOT_YET) {
		order_circle_free(l->circle);
		l->circle = NULL;
		forget_turns(s);
		s->stage = ALONE;
		return go_to(l, ask_proof);
	}
	if (!found || s->stage != AT_ONCE)
		return end_trial(l, !found);
	if (members && s->direction == ORDER_FROM && has_patient(s->w)) {
		order_circle_free(l->circle);
		s->stage = NOT_YET;
		l->circle = order_circle_new(s->proven, s->fresh, s->nfresh, may_be_used, s);
	}
	leave_beyond(l);
	if (s->stage == NOT_YET)
		return true;
	if (!members || l->beyond->circles++ > CIRCLES_MAX)
		return leave_proof(l);
	if (l->guilty)
		find_guilty(l, l->turns.proven, members);
	return end_trial(l, false);
}

/* All turns that old entries make come to be known: those that the graph has anyway as well. */
static bool ask_used(struct order_trial *l)
{
	struct turns *s = &l->turns;
	struct enquiry q = { s->w, s->direction, old_met, s, s->stage == ALONE };

	if (!proof_lasts(l))
		return leave_proof(l);
	if (ask_columns(l, &q))
		return true;
	l->circle = order_circle_new(s->proven, s->fresh, s->nfresh, may_be_used, s);
	return go_to(l, search_circle);
}

static bool ask_proof(struct order_trial *l)
{
	struct turns *s = &l->turns;
	struct enquiry q = { s->w, s->direction, proof_met, s, s->stage == ALONE };

	if (!proof_lasts(l))
		return leave_proof(l);
	if (ask_columns(l, &q))
		return true;
	/* Of a part: what its tables have of them, beside what its entries bring. */
	for (uint32_t i = 0; s->direction == ORDER_TO && i < l->beyond->count; i++) {
		const struct order_turn *turn = &l->beyond->turns[i];

		if (has_witness(s->w, turn, 0, AT_ONCE) && set_add(s, turn_key(turn)))
			turn_keep(s, turn);
	}
	return any_of(i, 0, s->nfresh,
		      !cdg_agrees(s->proven, s->proven->channel[s->fresh[i].from], s->fresh[i].out))
		       ? go_to(l, ask_used)
		       : end_trial(l, true);
}

struct order_trial *order_trial_begin(struct order_work *w, enum order_direction direction,
				      uint64_t *guilty, struct order_beyond *beyond)
{
	struct order_trial *l = mem_new(l);
	bool proven = beyond->proof.base && (direction == ORDER_FROM || beyond->known);

	l->turns = (struct turns){ .w = w, .direction = direction };
	l->guilty = guilty;
	l->beyond = beyond;
	l->phase = proven ? ask_proof : ask_all;
	if (direction == ORDER_ALONE) {
		cdg_init(&l->graph, w->t, false);
		l->phase = make_graph;
	}
	return l;
}

bool order_trial_go(struct order_trial *l)
{
	return l->phase && l->phase(l);
}

bool order_trial_end(struct order_trial *l)
{
	bool safe = l->safe;

	forget_turns(&l->turns);
	order_circle_free(l->circle);
	cdg_search_free(l->search);
	cdg_fini(&l->graph);
	free(l);
	return safe;
}
