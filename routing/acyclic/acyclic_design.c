/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/acyclic/acyclic_own.h"
#include "routing/path.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/*
 * acyclic_design: which turns are allowed, and the columns of a fabric of which nothing is dead.
 *
 *   estimate  columns as if any turn were allowed, spread by what arcs carry already: what each
 *             turn is worth
 *   turns     those of the beginning, then the others, the worthiest first, then those worth
 *             nothing
 *   columns   each again and again without its own load, so that later ones get out of the way of
 *             earlier ones
 *
 * It begins with the spanning tree of shortest paths from a central switch, or one from elsewhere,
 * or one that is nearly a line, which leaves more turns to choose from; or with up/down by the
 * tiers, which is best where the fabric is nearly a tree (acyclic_begin.c). The beginnings are
 * tried as far as there is time, and the one whose busiest link has least to do wins. Where there
 * is time for one design, and turns are too many to ask for each, the beginnings are compared by
 * some of the columns.
 *
 * A destination switch has a column for each of its first hosts, as far as there is room.
 */

#define COLUMNS_OF_ONE 8	     /* of one destination switch */
#define COLUMN_BYTES   (48u << 20)   /* of all */
#define VISITS	       (40ull << 20) /* arcs that growing columns may look at, beyond one round */
#define TRIES	       6	     /* designs, in all */
#define ROUNDS	       3
#define SHARED	       2 / 3	   /* of VISITS, for columns of one switch */
#define SOME	       16	   /* one column in so many */
#define TURN_WORK      (128 << 20) /* steps of searching for cycles */
#define COLUMN_WORK    (1 << 16)   /* steps of looking for other paths for one column */
#define CLEARLY_LESS                                                                               \
	90 /* percent of the load: for less nobody leaves the first one, of shortest paths */

#define WORST (UINT64_MAX / 100) /* load, of no design */

enum phase { ESTIMATE, BEGIN, TURNS, REST, COLUMNS, JUDGE, DONE };

struct worth { /* of a turn */
	uint32_t value, a, b;
};

struct design_job {
	struct arena *arena; /* owns the job, too; but not what is of a try */
	const struct net *net;
	uint32_t *part;
	struct column column;
	uint64_t *load; /* by arc, of all its links */
	uint64_t *sum;	/* by switch, while a column's loads are added */
	uint32_t *children, *queue;
	struct acyclic_design now, best;
	struct worth *worths; /* of turns that are worth something, the worthiest first */
	uint32_t nworths;
	uint32_t *value; /* by turn, while it is estimated */
	enum phase phase;
	unsigned try, tries, round, rounds;
	unsigned every; /* one column in so many is made: SOME while beginnings are compared */
	enum beginning how, chosen;
	uint32_t at;	 /* of a phase: destination or column */
	uint32_t *order; /* columns as they are made: not neighbours one after the other */
	uint32_t *owner; /* by column: destination switch */
	bool failed;	 /* this try has no tree */
	uint64_t seed;
};

/* ---- Columns and their loads ----------------------------------------------------------------- */

/*
 * Hosts of a destination switch whose LIDs follow one of its columns: the k-th, and every n-th from
 * there.
 */
static unsigned hosts_of_column(const struct design_job *j, uint32_t column)
{
	uint32_t d = j->owner[column], k = column - j->now.first_column[d];
	unsigned n = design_columns(&j->now, d), hosts = j->net->hosts[d];

	return hosts > k ? (hosts - k + n - 1) / n : 0;
}

/*
 * Adds `weight` (may be negative) for each host to the arcs of its path to d in a column: switches
 * nobody comes by first, for what a switch sends on is what comes by it and what its own hosts
 * send.
 */
static void account_column(struct design_job *j, uint32_t d, const uint8_t *next, int64_t weight)
{
	const struct net *net = j->net;
	uint32_t n = 0;

	mem_zero(j->children, net->nswitches);
	for (uint32_t sw = 0; sw < net->nswitches; sw++) {
		j->sum[sw] = net->hosts[sw];
		if (sw != d && next[sw] != ARC_NONE)
			j->children[net->to[net->first[sw] + next[sw]]]++;
	}
	for (uint32_t sw = 0; sw < net->nswitches; sw++)
		if (sw != d && next[sw] != ARC_NONE && !j->children[sw])
			j->queue[n++] = sw;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t arc = net->first[j->queue[i]] + next[j->queue[i]], to = net->to[arc];

		j->load[arc] += (j->sum[j->queue[i]] * weight);
		j->sum[to] += j->sum[j->queue[i]];
		if (!--j->children[to] && to != d)
			j->queue[n++] = to;
	}
}

static void account(struct design_job *j, uint32_t column, int sign)
{
	int64_t weight = (int64_t)hosts_of_column(j, column) * sign * ACYCLIC_WEIGHT;

	if (weight)
		account_column(j, j->owner[column],
			       j->now.columns + (size_t)column * j->net->nswitches, weight);
}

static void deal_columns(struct design_job *j)
{
	const struct net *n = j->net;
	uint64_t visits = (uint64_t)n->nswitches * (n->narcs + 1), most = COLUMNS_OF_ONE;
	uint32_t count = 0;

	while (most > 1 && (most * visits > VISITS * SHARED ||
			    most * n->nswitches * n->nswitches > COLUMN_BYTES))
		most--;
	j->now.first_column = mem_array(j->now.first_column, n->nswitches + 1);
	for (uint32_t d = 0; d < n->nswitches; d++) {
		unsigned hosts = n->hosts[d];

		j->now.first_column[d] = count;
		count += hosts < 1 ? 1 : hosts > most ? (uint32_t)most : hosts;
	}
	j->now.first_column[n->nswitches] = count;
	j->now.columns = mem_alloc_unset((size_t)count * n->nswitches + 1, 1);
	visits = (uint64_t)count * (n->narcs + 1);
	j->rounds = visits * ROUNDS < VISITS ? ROUNDS : 1;
	j->tries = VISITS / (visits * j->rounds + 1);
	j->tries = j->tries < 1 ? 1 : j->tries > TRIES ? TRIES : j->tries;
	j->every = j->tries == 1 && net_has_many_turns(n) ? SOME : 1;
}

/* ---- Estimate -------------------------------------------------------------------------------- */

#define WORTH_NS 20

/* By value, the greatest first; equals stay as they are. By counting: there may be a million. */
static void sort_worths(struct design_job *j)
{
	struct worth *sorted = arena_array(j->arena, sorted, j->nworths + 1);

	for (unsigned shift = 0; shift < 32; shift += 16) {
		uint32_t *next = mem_array(next, UINT16_MAX + 2);
		struct worth *from = j->worths;

		for (uint32_t i = 0; i < j->nworths; i++)
			next[(uint16_t)(~from[i].value >> shift) + 1]++;
		for (uint32_t k = 0; k < UINT16_MAX; k++)
			next[k + 1] += next[k];
		for (uint32_t i = 0; i < j->nworths; i++) {
			sorted[next[(uint16_t)(~from[i].value >> shift)]++] = from[i];
			fiber_spend(j->net->fiber, WORTH_NS);
		}
		j->worths = sorted;
		sorted = from;
		free(next);
	}
}

/* One destination, once or twice: the second time around those that came after it. */
static void estimate(struct design_job *j)
{
	struct column *c = &j->column;
	uint32_t column = j->order[j->at], d = j->owner[column];
	bool last = j->round + 1 >= j->rounds || j->round == 1;

	c->turns = NULL;
	if (j->round)
		account(j, column, -1);
	column_begin(c, d, j->now.columns + (size_t)column * j->net->nswitches);
	column_grow(c);
	account(j, column, 1);
	if (last) {
		/*
		 * Each turn on the paths to one destination, by the hosts whose traffic makes it.
		 */
		const uint8_t *next = c->next;
		const struct net *n = j->net;

		account_column(j, d, next, n->hosts[d]);
		for (uint32_t sw = 0; sw < n->nswitches; sw++) {
			uint32_t arc = n->first[sw] + next[sw], to;

			if (sw == d || next[sw] == ARC_NONE || (to = n->to[arc]) == d)
				continue;
			j->value[turn_number(n, arc, n->first[to] + next[to])] +=
				j->sum[sw] * n->hosts[d];
		}
	}
	if ((j->at += j->every) < j->now.first_column[j->net->nswitches])
		return;
	j->at = 0;
	j->round++;
	if (last)
		j->phase = BEGIN;
}

/* ---- Beginnings ------------------------------------------------------------------------------ */

/* Where there are tiers these come first; if no tree goes with them, another makes up for it. */
static enum beginning beginning_of(const struct design_job *j)
{
	const struct net *n = j->net;
	bool has_tiers = any_of(sw, 0, n->nswitches, n->level[sw] > 0);
	unsigned nth = j->try + !has_tiers;

	return nth < TREE_ELSEWHERE ? (enum beginning)nth : TREE_ELSEWHERE;
}

static bool fit_tree_to_tiers(struct design_job *j)
{
	return j->how != BY_TIERS || turns_fit_tree(&j->now.turns, NULL, j->now.tree);
}

static void begin(struct design_job *j)
{
	const struct net *n = j->net;

	j->how = j->chosen != TREE_ELSEWHERE && !j->try && j->every == 1 ? j->chosen
									 : beginning_of(j);
	turns_init(&j->now.turns, n);
	j->now.tree = mem_array(j->now.tree, n->narcs + 1);
	turns_begin(&j->now.turns, j->how, &j->seed, j->now.tree);
	j->now.turns.work = TURN_WORK;
	mem_zero(j->load, n->narcs);
	j->column.squared = j->try % 2;
	j->at = j->round = 0;
	j->failed = j->every > 1 && !fit_tree_to_tiers(j);
	j->phase = j->failed ? JUDGE : j->every > 1 ? COLUMNS : TURNS;
}

/* ---- Turns ----------------------------------------------------------------------------------- */

static void allow_worthy(struct design_job *j)
{
	for (uint32_t i = 0; i < j->nworths; i++) {
		turns_allow(&j->now.turns, j->worths[i].a, j->worths[i].b);
		fiber_spend(j->net->fiber, WORTH_NS);
	}
	j->failed = !fit_tree_to_tiers(j);
	j->phase = j->failed ? JUDGE : REST;
}

static void allow_rest(struct design_job *j)
{
	const struct net *n = j->net;

	for (uint32_t a = 0; a < n->narcs; a++) {
		for (uint32_t b = n->first[n->to[a]]; b < n->first[n->to[a] + 1]; b++)
			turns_allow(&j->now.turns, a, b);
		fiber_spend(n->fiber, net_degree(n, n->to[a]) * TURN_NS);
	}
	j->phase = COLUMNS;
}

/* ---- Columns --------------------------------------------------------------------------------- */

static void make_column(struct design_job *j)
{
	struct column *c = &j->column;
	uint32_t column = j->order[j->at];

	c->turns = &j->now.turns;
	c->work = COLUMN_WORK;
	if (j->round)
		account(j, column, -1);
	column_begin(c, j->owner[column], j->now.columns + (size_t)column * j->net->nswitches);
	column_grow(c);
	column_yield(c);
	if (!column_is_complete(c, j->part)) {
		c->work = COLUMN_WORK;
		column_by_tree(c, j->now.tree);
	}
	account(j, column, 1);
	if ((j->at += j->every) < j->now.first_column[j->net->nswitches])
		return;
	j->at = 0;
	if (++j->round == j->rounds)
		j->phase = JUDGE;
}

/* ---- The best -------------------------------------------------------------------------------- */

/* Of what a try made only turns and tree go; the columns are made anew. */
static void forget_try(struct design_job *j)
{
	turns_fini(&j->now.turns);
	free(j->now.tree);
	j->now.tree = NULL;
}

static void judge(struct design_job *j)
{
	const struct net *net = j->net;
	double flows = 0, carried = 0;
	uint32_t *part_hosts = mem_array(part_hosts, net->nswitches + 1);

	for (uint32_t sw = 0; sw < net->nswitches; sw++)
		part_hosts[j->part[sw]] += net->hosts[sw];
	for (uint32_t sw = 0; sw < net->nswitches; sw++)
		flows += (double)net->hosts[sw] * (part_hosts[j->part[sw]] - net->hosts[sw]) *
			 ACYCLIC_WEIGHT;
	j->now.worst = 0;
	for (uint32_t a = 0; a < net->narcs; a++) {
		uint64_t load = j->load[a] / net_links(net, a);

		carried += (double)j->load[a];
		j->now.worst = load > j->now.worst ? load : j->now.worst;
	}
	j->now.mean_hops = flows > 0 ? carried / flows : 0;
	free(part_hosts);

	bool better = !j->failed && j->now.worst * 100 < j->best.worst * CLEARLY_LESS;

	if (j->every > 1) { /* beginnings are compared; the line is the last */
		bool last = j->how == TREE_LINE;

		j->chosen = better ? j->how : j->chosen;
		j->best.worst = last ? WORST : better ? j->now.worst : j->best.worst;
		j->try = last ? 0 : j->try + 1;
		j->every = last ? 1 : SOME;
		j->phase = BEGIN;
		forget_try(j);
		return;
	}
	j->tries += j->failed;
	j->phase = ++j->try < j->tries ? BEGIN : DONE;
	if (!better) {
		forget_try(j);
		return;
	}
	acyclic_design_fini(&j->best);
	j->best = j->now;
	j->now.turns = (struct turns){ 0 };

	uint32_t n = j->net->nswitches, count = j->now.first_column[n];

	j->now.first_column = memcpy(mem_alloc(n + 1, sizeof(uint32_t)), j->best.first_column,
				     (n + 1) * sizeof(uint32_t));
	j->now.columns = mem_alloc_unset((size_t)count * n + 1, 1);
	j->now.tree = NULL;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct design_job *design_job_new(const struct net *net)
{
	struct arena *arena = arena_new();
	struct design_job *j = arena_array(arena, j, 1);

	j->arena = arena;
	j->net = net;
	j->seed = 1;
	j->now.net = net;
	j->best.worst = WORST;
	j->chosen = TREE_ELSEWHERE;
	j->part = arena_array(arena, j->part, net->nswitches + 1);
	net_find_parts(net, NULL, ARC_OPEN, j->part);
	column_init(&j->column, net);
	j->load = arena_array(arena, j->load, net->narcs + 1);
	j->sum = arena_array(arena, j->sum, net->nswitches + 1);
	j->children = arena_array(arena, j->children, net->nswitches + 1);
	j->queue = arena_array(arena, j->queue, net->nswitches + 1);
	j->column.load = j->load;
	j->value = arena_array(arena, j->value, net->nturns + 1u);
	deal_columns(j);

	uint32_t count = j->now.first_column[j->net->nswitches];

	j->owner = arena_array(arena, j->owner, count + 1);
	j->order = arena_array(arena, j->order, count + 1);
	for (uint32_t d = 0; d < j->net->nswitches; d++)
		for (uint32_t i = j->now.first_column[d]; i < j->now.first_column[d + 1]; i++)
			j->owner[i] = d;
	for (uint32_t i = 0; i < count; i++)
		j->order[i] = i;
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = random_next(&j->seed) % i, was = j->order[i - 1];

		j->order[i - 1] = j->order[other];
		j->order[other] = was;
	}
	return j;
}

bool design_job_go(struct design_job *j)
{
	switch (j->phase) {
	case ESTIMATE:
		if (j->net->nswitches)
			estimate(j);
		else
			j->phase = BEGIN;
		if (j->phase == BEGIN) {
			const struct net *n = j->net;
			uint32_t count = 0;

			for (uint32_t i = 0; i < n->nturns; i++)
				count += j->value[i] > 0;
			j->worths = arena_array(j->arena, j->worths, count + 1);
			for (uint32_t a = 0; a < n->narcs; a++) {
				for (uint32_t b = n->first[n->to[a]]; b < n->first[n->to[a] + 1];
				     b++) {
					uint32_t value = j->value[turn_number(n, a, b)];

					if (value)
						j->worths[j->nworths++] =
							(struct worth){ value, a, b };
				}
				fiber_spend(n->fiber, net_degree(n, n->to[a]) * WORTH_NS);
			}
			sort_worths(j);
		}
		return true;
	case BEGIN:
		begin(j);
		return true;
	case TURNS:
		allow_worthy(j);
		return true;
	case REST:
		allow_rest(j);
		return true;
	case COLUMNS:
		if (j->net->nswitches)
			make_column(j);
		else
			j->phase = JUDGE;
		return true;
	case JUDGE:
		judge(j);
		return true;
	case DONE:
		break;
	}
	return false;
}

void design_job_end(struct design_job *j, struct acyclic_design *out)
{
	if (!j)
		return;
	forget_try(j);
	free(j->now.first_column);
	free(j->now.columns);
	if (out)
		*out = j->best;
	else
		acyclic_design_fini(&j->best);
	column_fini(&j->column);
	arena_free(j->arena);
}

void acyclic_design_fini(struct acyclic_design *d)
{
	turns_fini(&d->turns);
	free(d->tree);
	free(d->first_column);
	free(d->columns);
	*d = (struct acyclic_design){ 0 };
}
