/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include <string.h>
#include "routing/acyclic/acyclic_own.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/* ---- A set of turns without a cycle, which grows --------------------------------------------- */

/*
 * The order of arcs that proves it is * kept as Pearce and Kelly do ("A dynamic topological sort
 * algorithm for directed acyclic graphs", 2006): a turn along the order costs nothing, one against
 * it a search of what lies between its arcs, and the order is repaired there.
 */

void turns_init(struct turns *turns, const struct net *net)
{
	uint32_t n = net->narcs + 1;

	*turns = (struct turns){ .net = net,
				 .state = mem_alloc(net->nturns + 1u, 1),
				 .position = mem_alloc(n, sizeof(*turns->position)),
				 .mark = mem_alloc(n, sizeof(*turns->mark)),
				 .before = mem_alloc_unset(n, sizeof(*turns->before)),
				 .after = mem_alloc_unset(n, sizeof(*turns->after)),
				 .places = mem_alloc_unset(n, sizeof(*turns->places)),
				 .work = INT64_MAX };
	for (uint32_t a = 0; a < net->narcs; a++) {
		turns->position[a] = a;
		turns->state[turn_number(net, a, net->back[a])] = TURN_BANNED;
	}
}

void turns_fini(struct turns *turns)
{
	free(turns->state);
	free(turns->position);
	free(turns->mark);
	free(turns->before);
	free(turns->after);
	free(turns->places);
	*turns = (struct turns){ 0 };
}

void turns_copy(struct turns *to, const struct turns *from)
{
	turns_init(to, from->net);
	memcpy(to->state, from->state, from->net->nturns);
	memcpy(to->position, from->position, from->net->narcs * sizeof(*to->position));
}

void turns_allow_order(struct turns *turns)
{
	const struct net *n = turns->net;

	for (uint32_t a = 0; a < n->narcs; a++)
		for (uint32_t b = n->first[n->to[a]]; b < n->first[n->to[a] + 1]; b++)
			if (b != n->back[a] && turns->position[a] < turns->position[b])
				turns->state[turn_number(n, a, b)] = TURN_ALLOWED;
}

void turns_forget(struct turns *turns, const uint8_t *states, const bool *used)
{
	const struct net *n = turns->net;

	for (uint32_t a = 0; a < n->narcs; a++)
		for (uint32_t b = n->first[n->to[a]]; b < n->first[n->to[a] + 1]; b++) {
			uint8_t *state = &turns->state[turn_number(n, a, b)];

			if (states[a] == ARC_DOWN || states[b] == ARC_DOWN || b == n->back[a])
				*state = TURN_BANNED;
			else if (*state == TURN_BANNED || (used && !used[turn_number(n, a, b)]))
				*state = TURN_UNKNOWN;
		}
}

/* ---- One more -------------------------------------------------------------------------------- */

static bool meet(struct turns *t, uint32_t arc)
{
	if (t->mark[arc] == t->marks)
		return false;
	t->mark[arc] = t->marks;
	return true;
}

/*
 * Arcs that b leads to and that are not behind a in the order, itself first. False: a is one of
 * them.
 */
static bool find_after(struct turns *t, uint32_t a, uint32_t b, uint32_t *count)
{
	const struct net *n = t->net;
	uint32_t end = t->position[a];

	t->marks++;
	meet(t, b);
	t->after[0] = b;
	*count = 1;
	for (uint32_t i = 0; i < *count; i++) {
		uint32_t arc = t->after[i], first = n->first[n->to[arc]];
		const uint8_t *state = &t->state[n->first_turn[arc]];
		unsigned degree = net_degree(n, n->to[arc]);

		t->work -= degree;
		for (unsigned k = 0; k < degree; k++) {
			if (state[k] != TURN_ALLOWED || t->position[first + k] > end)
				continue;
			if (first + k == a)
				return false;
			if (meet(t, first + k))
				t->after[(*count)++] = first + k;
		}
	}
	return true;
}

/* Arcs that lead to a and are not before b in the order, itself first. */
static void find_before(struct turns *t, uint32_t a, uint32_t b, uint32_t *count)
{
	const struct net *n = t->net;
	uint32_t begin = t->position[b];

	t->marks++;
	meet(t, a);
	t->before[0] = a;
	*count = 1;
	for (uint32_t i = 0; i < *count; i++) {
		uint32_t arc = t->before[i], sw = n->from[arc];

		t->work -= net_degree(n, sw);
		for (uint32_t out = n->first[sw]; out < n->first[sw + 1]; out++) {
			uint32_t in = n->back[out];

			if (t->position[in] > begin && turn_is_allowed(t, in, arc) && meet(t, in))
				t->before[(*count)++] = in;
		}
	}
}

static int by_position(const void *a, const void *b, void *arg)
{
	const uint32_t *position = arg;
	uint32_t x = position[*(const uint32_t *)a], y = position[*(const uint32_t *)b];

	return x < y ? -1 : x > y;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * What leads to a takes the first of all their places, what b leads to the last; each in its order.
 */
static void reorder(struct turns *t, uint32_t nbefore, uint32_t nafter)
{
	uint32_t n = 0;

	qsort_r(t->before, nbefore, sizeof(*t->before), by_position, t->position);
	qsort_r(t->after, nafter, sizeof(*t->after), by_position, t->position);
	for (uint32_t i = 0; i < nbefore; i++)
		t->places[n++] = t->position[t->before[i]];
	for (uint32_t i = 0; i < nafter; i++)
		t->places[n++] = t->position[t->after[i]];
	qsort(t->places, n, sizeof(*t->places), by_number);
	n = 0;
	for (uint32_t i = 0; i < nbefore; i++)
		t->position[t->before[i]] = t->places[n++];
	for (uint32_t i = 0; i < nafter; i++)
		t->position[t->after[i]] = t->places[n++];
}

bool turns_allow(struct turns *t, uint32_t a, uint32_t b)
{
	uint8_t *state = &t->state[turn_number(t->net, a, b)];
	uint32_t nbefore, nafter;

	if (*state != TURN_UNKNOWN)
		return *state == TURN_ALLOWED;
	*state = TURN_BANNED;
	if (t->position[a] > t->position[b]) {
		if (t->work <= 0 || !find_after(t, a, b, &nafter))
			return false;
		find_before(t, a, b, &nbefore);
		reorder(t, nbefore, nafter);
	}
	*state = TURN_ALLOWED;
	return true;
}

/* ---- Acyclic design -------------------------------------------------------------------------- */

struct design_job;
static void account(struct design_job *j, uint32_t column, int sign);

/* acyclic_net: switches and the arcs between them, of all links that are known. */

/* The switch behind a port's link, TOPO_NONE = none, or itself. */
static uint32_t neighbour(const struct topo *t, uint32_t sw, unsigned num)
{
	const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

	return peer && peer->node < t->nswitches && peer->node != sw ? peer->node : TOPO_NONE;
}

/* Arcs of one switch, by their lowest port; `arc_to` is TOPO_NONE everywhere, before and after. */
static void list_arcs(struct net *n, const struct topo *t, uint32_t sw, uint32_t *arc_to,
		      uint32_t *nlinks)
{
	n->first[sw] = n->narcs;
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		uint32_t to = neighbour(t, sw, num);

		if (to == TOPO_NONE || arc_to[to] != TOPO_NONE)
			continue;
		arc_to[to] = n->narcs;
		n->from[n->narcs] = sw;
		n->to[n->narcs] = to;
		n->first_link[n->narcs] = *nlinks;
		for (unsigned lane = num; lane <= t->nodes[sw].nports; lane++)
			if (neighbour(t, sw, lane) == to)
				n->links[(*nlinks)++] = (uint8_t)lane;
		n->narcs++;
	}
	for (uint32_t a = n->first[sw]; a < n->narcs; a++)
		arc_to[n->to[a]] = TOPO_NONE;
}

static void pair_arcs(struct net *n)
{
	for (uint32_t a = 0; a < n->narcs; a++)
		for (uint32_t b = n->first[n->to[a]]; b < n->first[n->to[a] + 1]; b++)
			if (n->to[b] == n->from[a])
				n->back[a] = b;
	for (uint32_t a = 0; a < n->narcs; a++) {
		n->first_turn[a] = n->nturns;
		n->nturns += net_degree(n, n->to[a]);
	}
}

static void count_hosts(struct net *n, const struct topo *t, uint32_t sw)
{
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

		n->hosts[sw] += peer && peer->node >= t->nswitches && !t->nodes[peer->node].sharp;
	}
}

void net_init(struct net *n, const struct topo *t)
{
	uint32_t *arc_to = mem_alloc_unset(t->nswitches + 1, sizeof(*arc_to)), nlinks = 0;
	uint32_t room = t->nswitch_ports + 1;

	*n = (struct net){ .nswitches = t->nswitches,
			   .first = mem_alloc(t->nswitches + 1, sizeof(*n->first)),
			   .from = mem_alloc(room, sizeof(*n->from)),
			   .to = mem_alloc(room, sizeof(*n->to)),
			   .back = mem_alloc(room, sizeof(*n->back)),
			   .first_link = mem_alloc(room, sizeof(*n->first_link)),
			   .first_turn = mem_alloc(room, sizeof(*n->first_turn)),
			   .links = mem_alloc(room, sizeof(*n->links)),
			   .hosts = mem_alloc(t->nswitches + 1, sizeof(*n->hosts)),
			   .level = mem_alloc(t->nswitches + 1, sizeof(*n->level)) };
	memset(arc_to, 0xff, (t->nswitches + 1) * sizeof(*arc_to));
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		list_arcs(n, t, sw, arc_to, &nlinks);
		count_hosts(n, t, sw);
		n->level[sw] = t->nodes[sw].level;
	}
	n->first[t->nswitches] = n->narcs;
	n->first_link[n->narcs] = nlinks;
	pair_arcs(n);
	free(arc_to);
}

void net_fini(struct net *n)
{
	free(n->first);
	free(n->from);
	free(n->to);
	free(n->back);
	free(n->first_link);
	free(n->first_turn);
	free(n->links);
	free(n->hosts);
	free(n->level);
	*n = (struct net){ 0 };
}

void net_read_states(const struct net *n, const struct topo *t, uint8_t *states)
{
	for (uint32_t a = 0; a < n->narcs; a++) {
		states[a] = ARC_DOWN;
		for (uint32_t i = n->first_link[a]; i < n->first_link[a + 1]; i++) {
			const struct topo_port *port = topo_port(t, n->from[a], n->links[i]);
			bool cordoned = port->cordoned || topo_peer(t, port)->cordoned;
			uint8_t state = cordoned ? ARC_CORDONED : ARC_OPEN;

			if (port->link_up && state > states[a])
				states[a] = state;
		}
	}
}

static void find_part(const struct net *n, const uint8_t *states, enum arc_state least,
		      uint32_t first, uint32_t *part, uint32_t *queue)
{
	uint32_t head = 0, tail = 0;

	part[first] = first;
	queue[tail++] = first;
	while (head < tail) {
		uint32_t sw = queue[head++];

		for (uint32_t a = n->first[sw]; a < n->first[sw + 1]; a++) {
			if ((states && states[a] < least) || part[n->to[a]] != TOPO_NONE)
				continue;
			part[n->to[a]] = first;
			queue[tail++] = n->to[a];
		}
	}
}

void net_find_parts(const struct net *n, const uint8_t *states, enum arc_state least,
		    uint32_t *part)
{
	uint32_t *queue = mem_alloc_unset(n->nswitches + 1, sizeof(*queue));

	memset(part, 0xff, n->nswitches * sizeof(*part));
	for (uint32_t sw = 0; sw < n->nswitches; sw++)
		if (part[sw] == TOPO_NONE)
			find_part(n, states, least, sw, part, queue);
	free(queue);
}

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
 * tried as far as there is time, and the one whose busiest link has least to do wins.
 *
 * A destination switch has a column for each of its first hosts, as far as there is room.
 */

#define COLUMNS_OF_ONE 8	     /* of one destination switch */
#define COLUMN_BYTES   (48u << 20)   /* of all */
#define VISITS	       (40ull << 20) /* arcs that growing columns may look at, beyond one round.. */
#define TRIES	       6	     /* ..in so many designs */
#define ROUNDS	       3
#define TURN_WORK      (256 << 20) /* steps of searching for cycles */
#define COLUMN_WORK    (1 << 16)   /* steps of looking for other paths for one column */
#define CLEARLY_LESS                                                                               \
	90 /* percent of the load: for less nobody leaves the first one, of shortest paths */
#define TURNS_A_STEP 4096

enum phase { ESTIMATE, BEGIN, TURNS, REST, COLUMNS, JUDGE, DONE };

struct worth { /* of a turn */
	uint32_t value, a, b;
};

struct design_job {
	const struct net *net;
	uint32_t *part;
	struct column column;
	struct account account;
	struct acyclic_design now, best;
	bool has_best;
	struct worth *worths; /* of turns that are worth something, the worthiest first */
	uint32_t nworths;
	uint32_t *value; /* by turn, while it is estimated */
	enum phase phase;
	unsigned try, tries, round, rounds;
	uint32_t at;	 /* of a phase: destination, turn or column */
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

static uint8_t *column_at(const struct design_job *j, uint32_t column)
{
	return j->now.columns + (size_t)column * j->net->nswitches;
}

static void account(struct design_job *j, uint32_t column, int sign)
{
	int64_t weight = (int64_t)hosts_of_column(j, column) * sign * ACYCLIC_WEIGHT;

	if (weight)
		account_column(&j->account, j->net, j->owner[column], column_at(j, column), weight);
}

static void deal_columns(struct design_job *j)
{
	const struct net *n = j->net;
	uint64_t visits = (uint64_t)n->nswitches * (n->narcs + 1), most = COLUMNS_OF_ONE;
	uint32_t count = 0;

	while (most > 1 &&
	       (most * visits > VISITS || most * n->nswitches * n->nswitches > COLUMN_BYTES))
		most--;
	j->now.first_column = mem_alloc(n->nswitches + 1, sizeof(*j->now.first_column));
	for (uint32_t d = 0; d < n->nswitches; d++) {
		unsigned hosts = n->hosts[d];

		j->now.first_column[d] = count;
		count += hosts < 1 ? 1 : hosts > most ? (uint32_t)most : hosts;
	}
	j->now.first_column[n->nswitches] = count;
	j->now.columns = mem_alloc_unset((size_t)count * n->nswitches + 1, 1);
	visits = (uint64_t)count * (n->narcs + 1);
	j->rounds = visits * ROUNDS < VISITS ? ROUNDS : 1;
	j->tries = (unsigned)(VISITS / (visits * j->rounds + 1));
	j->tries = j->tries < 1 ? 1 : j->tries > TRIES ? TRIES : j->tries;
}

static void order_columns(struct design_job *j)
{
	uint32_t count = j->now.first_column[j->net->nswitches];

	j->owner = mem_alloc_unset(count + 1, sizeof(*j->owner));
	j->order = mem_alloc_unset(count + 1, sizeof(*j->order));
	for (uint32_t d = 0; d < j->net->nswitches; d++)
		for (uint32_t i = j->now.first_column[d]; i < j->now.first_column[d + 1]; i++)
			j->owner[i] = d;
	for (uint32_t i = 0; i < count; i++)
		j->order[i] = i;
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = (uint32_t)(random_next(&j->seed) % i), was = j->order[i - 1];

		j->order[i - 1] = j->order[other];
		j->order[other] = was;
	}
}

/* ---- Estimate -------------------------------------------------------------------------------- */

/* Each turn on the paths to one destination, by the hosts whose traffic makes it. */
static void add_values(struct design_job *j, uint32_t d, const uint8_t *next)
{
	const struct net *n = j->net;

	account_column(&j->account, n, d, next, n->hosts[d]);
	for (uint32_t sw = 0; sw < n->nswitches; sw++) {
		uint32_t arc = n->first[sw] + next[sw], to;

		if (sw == d || next[sw] == ARC_NONE || (to = n->to[arc]) == d)
			continue;
		j->value[turn_number(n, arc, n->first[to] + next[to])] +=
			(uint32_t)(j->account.sum[sw] * n->hosts[d]);
	}
}

static int by_value(const void *a, const void *b)
{
	const struct worth *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return x->b < y->b ? -1 : x->b > y->b;
}

static void list_worths(struct design_job *j)
{
	const struct net *n = j->net;
	uint32_t count = 0;

	for (uint32_t i = 0; i < n->nturns; i++)
		count += j->value[i] > 0;
	j->worths = mem_alloc_unset(count + 1, sizeof(*j->worths));
	for (uint32_t a = 0; a < n->narcs; a++)
		for (uint32_t b = n->first[n->to[a]]; b < n->first[n->to[a] + 1]; b++) {
			uint32_t value = j->value[turn_number(n, a, b)];

			if (value)
				j->worths[j->nworths++] = (struct worth){ value, a, b };
		}
	qsort(j->worths, j->nworths, sizeof(*j->worths), by_value);
	free(j->value);
	j->value = NULL;
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
	column_begin(c, d, column_at(j, column));
	column_grow(c);
	account(j, column, 1);
	if (last)
		add_values(j, d, c->next);
	if (++j->at < j->now.first_column[j->net->nswitches])
		return;
	j->at = 0;
	j->round++;
	if (last)
		j->phase = BEGIN;
}

/* ---- Beginnings ------------------------------------------------------------------------------ */

static bool has_tiers(const struct net *n)
{
	for (uint32_t sw = 0; sw < n->nswitches; sw++)
		if (n->level[sw])
			return true;
	return false;
}

/*
 * Where there are tiers these come first, for there may be time for one only; if no tree goes with
 * them, another try makes up for it.
 */
static enum beginning beginning_of(const struct design_job *j)
{
	static const enum beginning plain[] = { TREE_CENTRAL, TREE_LINE, TREE_ELSEWHERE };
	static const enum beginning tiers[] = { BY_TIERS, TREE_CENTRAL, TREE_LINE, TREE_ELSEWHERE };

	if (has_tiers(j->net))
		return tiers[j->try < 3 ? j->try : 3];
	return plain[j->try < 2 ? j->try : 2];
}

static void begin(struct design_job *j)
{
	const struct net *n = j->net;

	turns_init(&j->now.turns, n);
	j->now.tree = mem_alloc(n->narcs + 1, sizeof(*j->now.tree));
	turns_begin(&j->now.turns, beginning_of(j), &j->seed, j->now.tree);
	j->now.turns.work = TURN_WORK;
	memset(j->account.load, 0, n->narcs * sizeof(*j->account.load));
	j->column.squared = j->try % 2;
	j->failed = false;
	j->at = j->round = 0;
	j->phase = TURNS;
}

/* ---- Turns ----------------------------------------------------------------------------------- */

static void allow_worthy(struct design_job *j)
{
	uint32_t end = j->at + TURNS_A_STEP < j->nworths ? j->at + TURNS_A_STEP : j->nworths;

	for (; j->at < end; j->at++)
		turns_allow(&j->now.turns, j->worths[j->at].a, j->worths[j->at].b);
	if (j->at < j->nworths)
		return;
	if (beginning_of(j) == BY_TIERS)
		j->failed = !turns_fit_tree(&j->now.turns, NULL, j->now.tree);
	j->at = 0;
	j->phase = j->failed ? JUDGE : REST;
}

static void allow_rest(struct design_job *j)
{
	const struct net *n = j->net;
	uint32_t end = j->at + TURNS_A_STEP / 16;

	for (; j->at < n->narcs && j->at < end; j->at++)
		for (uint32_t b = n->first[n->to[j->at]]; b < n->first[n->to[j->at] + 1]; b++)
			turns_allow(&j->now.turns, j->at, b);
	if (j->at < n->narcs)
		return;
	j->at = 0;
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
	column_begin(c, j->owner[column], column_at(j, column));
	column_grow(c);
	column_yield(c);
	if (!column_is_complete(c, j->part)) {
		c->work = COLUMN_WORK;
		column_by_tree(c, j->now.tree);
	}
	account(j, column, 1);
	if (++j->at < j->now.first_column[j->net->nswitches])
		return;
	j->at = 0;
	if (++j->round == j->rounds)
		j->phase = JUDGE;
}

/* ---- The best -------------------------------------------------------------------------------- */

static void measure(struct design_job *j)
{
	const struct net *n = j->net;
	double flows = 0, carried = 0;
	uint32_t *part_hosts = mem_alloc(n->nswitches + 1, sizeof(*part_hosts));

	for (uint32_t sw = 0; sw < n->nswitches; sw++)
		part_hosts[j->part[sw]] += n->hosts[sw];
	for (uint32_t sw = 0; sw < n->nswitches; sw++)
		flows += (double)n->hosts[sw] * (part_hosts[j->part[sw]] - n->hosts[sw]) *
			 ACYCLIC_WEIGHT;
	j->now.worst = 0;
	for (uint32_t a = 0; a < n->narcs; a++) {
		uint64_t load = j->account.load[a] / net_links(n, a);

		carried += (double)j->account.load[a];
		j->now.worst = load > j->now.worst ? load : j->now.worst;
	}
	j->now.mean_hops = flows > 0 ? carried / flows : 0;
	free(part_hosts);
}

static void copy_columns(struct design_job *j)
{
	uint32_t n = j->net->nswitches, count = j->now.first_column[n];

	j->now.first_column = memcpy(mem_alloc(n + 1, sizeof(uint32_t)), j->best.first_column,
				     (n + 1) * sizeof(uint32_t));
	j->now.columns = mem_alloc_unset((size_t)count * n + 1, 1);
	j->now.tree = NULL;
}

/* Of what a try made only turns and tree go; the columns are made anew. */
static void forget_try(struct design_job *j)
{
	turns_fini(&j->now.turns);
	free(j->now.tree);
	j->now.tree = NULL;
}

static void judge(struct design_job *j)
{
	bool better;

	measure(j);
	better = !j->failed && (!j->has_best || j->now.worst * 100 < j->best.worst * CLEARLY_LESS);
	j->tries += j->failed;
	j->phase = ++j->try < j->tries ? BEGIN : DONE;
	if (!better) {
		forget_try(j);
		return;
	}
	if (j->has_best)
		acyclic_design_fini(&j->best);
	j->best = j->now;
	j->has_best = true;
	j->now.turns = (struct turns){ 0 };
	copy_columns(j);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct design_job *design_job_new(const struct net *net)
{
	struct design_job *j = mem_alloc(1, sizeof(*j));

	j->net = net;
	j->seed = 1;
	j->now.net = net;
	j->part = mem_alloc(net->nswitches + 1, sizeof(*j->part));
	net_find_parts(net, NULL, ARC_OPEN, j->part);
	column_init(&j->column, net);
	account_init(&j->account, net);
	j->column.load = j->account.load;
	j->value = mem_alloc(net->nturns + 1u, sizeof(*j->value));
	deal_columns(j);
	order_columns(j);
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
		if (j->phase == BEGIN)
			list_worths(j);
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
	else if (j->has_best)
		acyclic_design_fini(&j->best);
	free(j->part);
	column_fini(&j->column);
	account_fini(&j->account);
	free(j->worths);
	free(j->value);
	free(j->order);
	free(j->owner);
	free(j);
}

void acyclic_design_fini(struct acyclic_design *d)
{
	turns_fini(&d->turns);
	free(d->tree);
	free(d->first_column);
	free(d->columns);
	*d = (struct acyclic_design){ 0 };
}
