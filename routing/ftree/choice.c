/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/ftree/choice.h"
#include "topology/base/mem.h"

/*
 * digits: numbers mostly ascend with LIDs. In such a sequence the digits are periodic: the first
 * period is counted, and copied for the others.
 */

struct digit_row {
	uint32_t level, first_slot; /* first_slot, nlanes: of a row of lanes, else 0 */
	unsigned pitch, modulus, nlanes;
	uint8_t *digit;
};

struct digit_sequence { /* LIDs that follow each other, as their numbers do */
	uint32_t lid, count, number;
};

/* The row like this one; a new one has no digit yet. All belong to `digits` and live as long. */
static struct digit_row *find_row(struct digits *digits, struct digit_row like)
{
	for (unsigned i = 0; i < digits->nrows; i++)
		if (!memcmp(&digits->rows[i], &like, offsetof(struct digit_row, digit)))
			return &digits->rows[i];
	digits->rows = mem_array_resize(digits->rows, digits->nrows + 1);
	digits->rows[digits->nrows] = like;
	return &digits->rows[digits->nrows++];
}

/* Those of the numbers of a level; the last is followed by one without LIDs. */
static const struct digit_sequence *find_sequences(struct digits *digits, uint8_t level)
{
	const struct dests *d = digits->d;
	const uint32_t *number = d->number ? d->number[level] : d->order;
	struct digit_sequence *now, **found = &digits->sequences[d->number ? level : 0];

	if (*found)
		return *found;
	*found = now = mem_array_unset(now, d->top + 2u);
	*now = (struct digit_sequence){ 0 };
	for (uint32_t lid = 1; lid <= d->top; lid++) {
		bool used = d->sw[lid] != TOPO_NONE;

		if (now->count && !(used && number[lid] == now->number + now->count))
			*++now = (struct digit_sequence){ 0 };
		if (used && !now->count)
			*now = (struct digit_sequence){ lid, 0, number[lid] };
		now->count += used;
	}
	now[now->count > 0] = (struct digit_sequence){ 0 };
	return *found;
}

/* By LID: the number that counts on a family's level / pitch mod modulus. */
static const uint8_t *digits_row(struct digits *digits, const struct graph_family *family,
				 uint32_t pitch, unsigned modulus)
{
	if (!digits->d->number)
		pitch *= family->pitch;
	struct digit_row row = { .level = digits->d->number ? family->level : 0,
				 .pitch = pitch,
				 .modulus = modulus },
			 *found = find_row(digits, row);

	if (found->digit)
		return found->digit;
	found->digit = row.digit = mem_alloc_unset(digits->row_bytes, 1);
	memset(row.digit, DIGITS_NONE, digits->row_bytes);
	for (const struct digit_sequence *s = find_sequences(digits, family->level); s->count;
	     s++) {
		/* Counts one period of digits, then copies what is there behind itself. */
		uint64_t round = (uint64_t)pitch * modulus;
		uint32_t period = round < s->count ? round : s->count, done = 0;
		uint32_t left = pitch - s->number % pitch; /* numbers with this digit */
		unsigned digit = s->number / pitch % modulus;
		uint8_t *at = row.digit + s->lid;

		while (done < period) {
			uint32_t n = left < period - done ? left : period - done;

			if (n == 1)
				at[done] = digit;
			else
				memset(at + done, digit, n);
			done += n;
			digit = digit + 1 < modulus ? digit + 1 : 0;
			left = pitch;
		}
		while (done < s->count) {
			uint32_t n = done < s->count - done ? done : s->count - done;

			memcpy(at + done, at, n);
			done += n;
		}
	}
	return row.digit;
}

/*
 * nearest: as many destinations as fit into a register are compared over all rows at
 * a time, so that every row is read once and results are written once. Vectors are the compiler's;
 * it makes of them what the processor has: AVX2, chosen at run time, or what all of its kind have.
 */

typedef uint8_t bytes_v __attribute__((vector_size(NEAREST_BYTES)));

_Static_assert(REACH_NEVER == UINT8_MAX, "one more than none is found by its overflow");

static inline __attribute__((always_inline)) void find_at(const uint8_t *const rows[], unsigned n,
							  uint32_t at, const struct nearest *out)
{
	bytes_v cost = (bytes_v){ 0 } - 1, count = { 0 }, last = { 0 };

	for (unsigned r = 0; r < n; r++) {
		bytes_v mine;

		mem_copy(&mine, rows[r] + at, 1);
		mine += 1;
		bytes_v never = (bytes_v)(mine == 0), nearer = (bytes_v)(mine < cost) & ~never;
		bytes_v leads = (bytes_v)(mine <= cost) & ~never;

		count = (count & ~nearer) - leads; /* true is -1 */
		last = (last & ~leads) | (leads & (uint8_t)r);
		cost = (cost & ~nearer) | (mine & nearer);
	}
	memcpy(out->cost + at, &cost, sizeof(cost));
	memcpy(out->count + at, &count, sizeof(count));
	memcpy(out->last + at, &last, sizeof(last));
}

static inline __attribute__((always_inline)) void find_all(const uint8_t *const rows[], unsigned n,
							   uint32_t bytes,
							   const struct nearest *out)
{
	for (uint32_t at = 0; at < bytes; at += NEAREST_BYTES)
		find_at(rows, n, at, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void find_avx2(const uint8_t *const rows[], unsigned n,
						      uint32_t bytes, const struct nearest *out)
{
	find_all(rows, n, bytes, out);
}
#endif

void nearest_find(const uint8_t *const rows[], unsigned n, uint32_t bytes,
		  const struct nearest *out)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		return find_avx2(rows, n, bytes, out);
#endif
	find_all(rows, n, bytes, out);
}

/*
 * choice: candidates and slots of a family (see choice.h).
 *
 * Candidates come from the parents' cost rows (nearest_find()): the least cost, how many parents
 * have it, and the last that has it. In a healthy tree every D is reached by all parents (one row
 * of digits serves them) or by one (known from `last`); bitmaps are made only when much is missing.
 *
 * Where half of the parents or fewer lead to D by design (a pod's leaf below some spines only), the
 * destinations are distributed over these by rank, which is even, instead of walking through gaps.
 *
 * Whatever the rule, each LID has one order of preference among the slots, which design and
 * the LID alone make, and takes the first that lives. Loads that depend on who else was
 * displaced are left to re-balancing.
 */

#define MASKS_WORTH 16 /* bitmaps are made if more than one destination in so many lacks parents */

void choice_init(struct choice *c, const struct graph *g, const struct dests *d,
		 const struct reach *r, uint32_t row_bytes)
{
	*c = (struct choice){ .g = g, .d = d, .r = r, .row_bytes = row_bytes };
	c->arena = arena_new();
	c->never = arena_alloc(c->arena, r->cost_bytes, 1);
	memset(c->never, REACH_NEVER, r->cost_bytes);
	c->nearest.cost = arena_alloc(c->arena, r->cost_bytes, 1);
	c->nearest.count = arena_alloc(c->arena, r->cost_bytes, 1);
	c->nearest.last = arena_alloc(c->arena, r->cost_bytes, 1);
	c->masks = arena_array(c->arena, c->masks, (size_t)CHOICE_WORDS * g->nswitches + 1);
	c->slots = arena_alloc(c->arena, row_bytes, 1);
	c->at_home = arena_array(c->arena, c->at_home, g->nswitches + 1);
	c->has_hosts = arena_alloc(c->arena, g->nswitches + 1, 1);
	c->only_lids = arena_array(c->arena, c->only_lids, g->nswitches + 1);
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		uint32_t n = d->first_run[sw + 1] - d->first_run[sw];
		const struct dest_run *run = &d->runs[d->first_run[sw]], *last = run + n - 1;

		c->has_hosts[sw] = g->switches[sw].nhosts ? 0xff : 0;
		if (n && n <= 2 && run->count + (n - 1) * last->count <= 2)
			c->only_lids[sw] =
				(struct lid_pair){ run->lid, last->lid + last->count - 1 };
	}
	c->own_design = (struct design){ .g = g };
	c->design = r->design ? r->design : &c->own_design;
	c->design_lives = !g->damaged;

	c->digits = (struct digits){ .d = d, .row_bytes = row_bytes };
}

void choice_fini(struct choice *c)
{
	for (unsigned i = 0; i < c->digits.nrows; i++)
		free(c->digits.rows[i].digit);
	for (unsigned level = 0; level <= UINT8_MAX; level++)
		free(c->digits.sequences[level]);
	free(c->digits.rows);
	design_fini(&c->own_design);
	arena_free(c->arena);
}

/* ---- Candidates ------------------------------------------------------------------------------ */

static const uint8_t *parent_cost(const struct choice *c, unsigned parent)
{
	uint32_t sw = c->g->parents[c->family->first_parent + parent];

	return sw == TOPO_NONE ? c->never : reach_cost(c->r, c->g, sw);
}

/*
 * Destinations that several parents lead to, but not all. Summed up in bytes as long as those hold
 * it.
 */
static uint32_t count_partly(const uint8_t *count, uint32_t n, uint8_t nparents)
{
	uint32_t partly = 0;

	for (uint32_t at = 0; at < n; at += UINT8_MAX) {
		uint32_t end = at + UINT8_MAX < n ? at + UINT8_MAX : n;
		uint8_t sum = 0;

		for (uint32_t d = at; d < end; d++)
			sum += (count[d] > 1) & (count[d] < nparents);
		partly += sum;
	}
	return partly;
}

struct parent_set choice_candidates(const struct choice *c, uint32_t d)
{
	struct parent_set set = { { 0 } };

	if (c->nearest.count[d] == c->family->nparents) {
		set = c->all;
	} else if (c->nearest.count[d] == 1) {
		set.word[c->nearest.last[d] / 64] = 1ull << (c->nearest.last[d] % 64);
	} else if (c->nearest.count[d] && !c->has_masks) {
		for (unsigned p = 0; p < c->family->nparents; p++) {
			uint8_t cost = parent_cost(c, p)[d];

			if (cost != REACH_NEVER && (uint8_t)(cost + 1) == c->nearest.cost[d])
				set.word[p / 64] |= 1ull << (p % 64);
		}
	} else if (c->nearest.count[d]) {
		for (unsigned w = 0; w < CHOICE_WORDS; w++)
			set.word[w] = c->masks[(size_t)w * c->g->nswitches + d];
	}
	return set;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

static unsigned nth_parent(const struct parent_set *set, unsigned n)
{
	for (unsigned w = 0; w < CHOICE_WORDS; w++) {
		unsigned here = __builtin_popcountll(set->word[w]);
		uint64_t bits = set->word[w];

		if (n >= here) {
			n -= here;
			continue;
		}
		while (n--)
			bits &= bits - 1;
		return w * 64 + __builtin_ctzll(bits);
	}
	return 0;
}

static unsigned set_size(const struct parent_set *set)
{
	unsigned size = 0;

	for (unsigned w = 0; w < CHOICE_WORDS; w++)
		if (set->word[w]) /* mostly the first alone */
			size += __builtin_popcountll(set->word[w]);
	return size;
}

/* The parents that lead to D by design. */
static struct parent_set designed(const struct choice *c, uint32_t d)
{
	const uint32_t *parents = &c->g->parents[c->family->first_parent];
	const struct design_row row = design_of(c->design, d);
	const uint8_t *cost = row.cost;
	struct parent_set set = { { 0 } };
	uint8_t best = REACH_NEVER;

	fiber_spend(c->r->fiber, row.made * c->g->nswitches * DESIGN_NS);
	for (unsigned p = 0; p < c->family->nparents; p++)
		if (parents[p] != TOPO_NONE && cost[parents[p]] < best)
			best = cost[parents[p]];
	for (unsigned p = 0; p < c->family->nparents; p++)
		if (parents[p] != TOPO_NONE && cost[parents[p]] == best)
			set.word[p / 64] |= 1ull << (p % 64);
	return set;
}

/* Whether D's LIDs are distributed by rank. */
static bool by_rank(struct choice *c, uint32_t d, const struct parent_set *set)
{
	uint64_t both = 0;

	if (set_size(set) * 2 > c->family->nparents)
		return false;
	if (c->few.d != d + 1) {
		const struct graph_slot *slots = &c->g->slots[c->family->first_slot];

		c->few.d = d + 1;
		c->few.parents = c->design_lives ? choice_candidates(c, d) : designed(c, d);
		c->few.size = set_size(&c->few.parents);
		c->few.nelsewhere = 0;
		for (unsigned s = 0; s < c->family->nslots; s++)
			c->few.rank[s] = parent_in(&c->few.parents, slots[s].parent)
						 ? CHOICE_NONE
						 : c->few.nelsewhere++;
	}
	for (unsigned w = 0; w < CHOICE_WORDS; w++)
		both |= c->few.parents.word[w] & set->word[w];
	return c->few.size * 2 <= c->family->nparents && both;
}

/*
 * By slot, the number of LIDs behind D when nothing is dead, for families that number slots as
 * D's own does. NULL = all slots have the same weight, as in families of higher tiers.
 */
static const struct at_home *weights_at_home(struct choice *c, uint32_t d)
{
	const struct graph_family *own = &c->g->families[c->g->switches[d].family];

	if (own->level != c->family->level || own->nslots != c->family->nslots)
		return NULL;
	if (!c->at_home[d]) {
		struct at_home *w = arena_array(c->arena, w, 1);

		for (uint32_t r = c->d->first_run[d]; r < c->d->first_run[d + 1]; r++) {
			const struct dest_run *run = &c->d->runs[r];

			for (uint32_t lid = run->lid; lid < (uint32_t)run->lid + run->count; lid++)
				if (c->d->port[lid] && !(c->d->special && c->d->special[lid]))
					w->weight[c->home[lid]]++;
		}
		w->least = UINT32_MAX;
		for (unsigned s = 0; s < c->family->nslots; s++) {
			w->least = w->weight[s] < w->least ? w->weight[s] : w->least;
			w->most = w->weight[s] > w->most ? w->weight[s] : w->most;
		}
		c->at_home[d] = w;
	}
	return c->at_home[d]->least == c->at_home[d]->most ? NULL : c->at_home[d];
}

/*
 * Of the slots that lead there the one with the least weight at home; of equals the first. Slots
 * are tried by wide strides from home, as those that are lost together lie side by side. After a
 * round of strides, which may have left some out, they come one by one.
 */
static unsigned slot_elsewhere(struct choice *c, uint32_t lid, const struct parent_set *set)
{
	const struct graph_slot *slots = &c->g->slots[c->family->first_slot];
	const struct at_home *weights = weights_at_home(c, c->d->sw[lid]);
	unsigned width = c->family->nslots, home = c->home[lid], best_slot = home;
	uint32_t turn = dest_number(c->d, c->family, lid) / width, others = width - 1;
	uint32_t best = UINT32_MAX, least = weights ? weights->least : 0;
	unsigned at = others ? turn % others : 0, left = 2 * width;
	unsigned stride = others > 1 ? 1 + (others * 3 / 8 + turn / others) % (others - 1) : others;

	while (best > least && left) {
		unsigned slot = home < others - at ? home + 1 + at : home + at - others;
		uint32_t weight = weights ? weights->weight[slot] : 0;

		at += stride;
		if (at >= others)
			at -= others;
		if (--left == width)
			stride = 1;
		if (weight >= best || !parent_in(set, slots[slot].parent))
			continue;
		best = weight;
		best_slot = slot;
	}
	return best_slot;
}

unsigned choice_slot(struct choice *c, uint32_t lid, const struct parent_set *set)
{
	const struct graph_slot *slots = &c->g->slots[c->family->first_slot];
	unsigned home = c->home[lid];

	if (parent_in(set, slots[home].parent))
		return home;
	if (by_rank(c, c->d->sw[lid], set)) {
		/*
		 * The slot of LID number x, for a destination that half of the parents or fewer
		 * lead to by design: LIDs are distributed over these parents alone, those of a dead
		 * parent in turn over the others. LIDs whose home is a slot of another parent are
		 * numbered separately: else every second number, for instance, would use every
		 * second link only.
		 */
		uint32_t x = dest_number(c->d, c->family, lid);
		const struct parent_set *among = &c->few.parents;
		unsigned n = c->few.size, rank_home = x % c->family->nslots, wanted, parent;

		if (c->few.rank[rank_home] != CHOICE_NONE)
			x = x / c->family->nslots * c->few.nelsewhere + c->few.rank[rank_home];
		wanted = x % n;
		parent = nth_parent(among, wanted);

		for (uint32_t turn = x / n; !parent_in(set, parent); turn++)
			parent = nth_parent(among, (wanted + 1 + turn % (n - 1)) % n);
		unsigned first = c->first_by_parent[parent],
			 lanes = c->first_by_parent[parent + 1] - first;

		return c->by_parent[first + x / n % lanes];
	}
	return slot_elsewhere(c, lid, set);
}

/* Sets the slots of destinations that not all parents lead to. */
static void choose_for_others(struct choice *c)
{
	const uint8_t *count = c->nearest.count;
	unsigned nparents = c->family->nparents;
	uint32_t n = c->g->nswitches;

	for (uint32_t d = 0; d < n; d++) {
		const struct dest_run *run = &c->d->runs[c->d->first_run[d]],
				      *end = &c->d->runs[c->d->first_run[d + 1]];
		unsigned last = c->nearest.last[d];

		if (count[d] == nparents)
			continue;
		if (count[d] > 1 || (count[d] == 1 && c->first_by_parent[last + 1] !=
							      c->first_by_parent[last] + 1)) {
			struct parent_set set = choice_candidates(c, d);

			for (; run < end; run++) {
				for (uint32_t lid = run->lid; lid < (uint32_t)run->lid + run->count;
				     lid++)
					c->slots[lid] = choice_slot(c, lid, &set);
				c->chosen += run->count;
			}
			continue;
		}
		/* One slot for all LIDs: no parent leads to D, or one by one link. */
		uint8_t slot = count[d] ? c->by_parent[c->first_by_parent[last]] : CHOICE_NONE;

		if (c->only_lids[d].a)
			c->slots[c->only_lids[d].a] = c->slots[c->only_lids[d].b] = slot;
		else
			for (; run < end; run++)
				memset(c->slots + run->lid, slot, run->count);
	}
}

const uint8_t *choice_lanes(struct choice *c, uint32_t child, const struct graph_group *group)
{
	const struct graph_switch *s = &c->g->switches[child];
	const struct graph_family *family = &c->g->families[s->family];
	const struct graph_slot *slots = &c->g->slots[family->first_slot];
	const struct graph_group *up = graph_ups(c->g, child);
	unsigned nparents = family->nparents ? family->nparents : 1, lacks = family->nslots;
	uint8_t lanes[256] = { 0 }, *lane;

	/* Where all trunks are as wide, the slot's lane is the digit above that of its parent. */
	if (lacks != nparents * group->nlanes || slots[lacks - 1].lane >= group->nlanes)
		for (unsigned i = 0; i < s->nup; i++)
			lacks -= up[i].slot < nparents ? up[i].nlanes : 0;
	if (lacks || !family->nslots)
		return digits_row(&c->digits, family, nparents, group->nlanes);
	struct digit_row like = { .level = family->level,
				  .first_slot = family->first_slot,
				  .nlanes = group->nlanes };

	if ((lane = find_row(&c->digits, like)->digit))
		return lane;
	const uint8_t *home = digits_row(&c->digits, family, 1, family->nslots);

	find_row(&c->digits, like)->digit = lane = mem_alloc_unset(c->row_bytes, 1);
	for (unsigned i = 0; i < family->nslots; i++)
		lanes[slots[i].parent]++;
	for (uint32_t lid = 0; lid < c->row_bytes; lid++)
		lane[lid] = home[lid] == DIGITS_NONE ? DIGITS_NONE
			    : lanes[slots[home[lid]].parent] == group->nlanes
				    ? slots[home[lid]].lane
				    : dest_number(c->d, family, lid) / nparents % group->nlanes;
	return lane;
}

uint8_t choice_lane_port(const struct graph *g, const struct graph_group *group, unsigned wanted,
			 uint32_t spread)
{
	const struct graph_lane *lanes = &g->lanes[group->first_lane];
	unsigned n = group->nlanes, lane = wanted < n ? wanted : wanted % n;

	for (unsigned try = 0; !lanes[lane].live && try < n - 1; try++)
		lane = (wanted + 1 + (spread + try) % (n - 1)) % n;
	return lanes[lane].port;
}

void choice_family(struct choice *c, const struct graph_family *family)
{
	const struct graph_slot *slots = &c->g->slots[family->first_slot];
	const uint8_t *parents[UINT8_MAX], *count = c->nearest.count;
	unsigned nslots = 0, nparents = family->nparents;
	uint32_t n = c->g->nswitches;

	c->family = family;
	c->chosen = 0;
	if (!family->nslots) {
		memset(c->nearest.cost, REACH_NEVER, n);
		memset(c->nearest.count, 0, n);
		memset(c->slots, CHOICE_NONE, c->row_bytes);
		c->has_masks = false;
		c->has_never = c->has_never_hosts = true;
		return;
	}
	c->all = (struct parent_set){ { 0 } };
	for (unsigned p = 0; p < nparents; p++) {
		c->first_by_parent[p] = nslots;
		for (unsigned s = p; s < family->nslots; s++)
			if (slots[s].parent == p)
				c->by_parent[nslots++] = s;
		c->all.word[p / 64] |= 1ull << (p % 64);
		parents[p] = parent_cost(c, p);
	}
	c->first_by_parent[nparents] = nslots;
	c->few.d = 0;
	nearest_find(parents, nparents, c->r->cost_bytes, &c->nearest);
	c->has_never = memchr(count, 0, n) != NULL;
	uint8_t found = 0;

	for (uint32_t d = 0; d < n && c->has_never; d++)
		found |= (count[d] ? 0 : 0xff) & c->has_hosts[d];
	c->has_never_hosts = found;
	c->has_masks = count_partly(count, n, nparents) > n / MASKS_WORTH;
	if (c->has_masks) {
		mem_zero(c->masks, (size_t)CHOICE_WORDS * n);
		for (unsigned p = 0; p < c->family->nparents; p++) {
			const uint8_t *restrict parent = parent_cost(c, p);
			uint64_t *restrict mask = c->masks + (size_t)(p / 64) * n;

			for (uint32_t d = 0; d < n; d++) {
				uint64_t leads = parent[d] != REACH_NEVER &&
						 (uint8_t)(parent[d] + 1) == c->nearest.cost[d];

				mask[d] |= leads << (p % 64);
			}
		}
	}
	c->home = digits_row(&c->digits, family, 1, family->nslots);
	memcpy(c->slots, c->home, c->row_bytes);
	choose_for_others(c);
}

/*
 * design: who is above D is found by a walk upwards from it, nearest first; the rest,
 * from the highest rank down, goes by its parents.
 */

void design_fini(struct design *design)
{
	for (uint32_t d = 0; design->rows && d < design->g->nswitches; d++)
		free(design->rows[d]);
	free(design->rows);
	free(design->queue);
}

struct design_row design_of(struct design *design, uint32_t d)
{
	const struct graph *g = design->g;
	uint32_t n = g->nswitches;

	if (!design->rows) {
		design->rows = mem_array(design->rows, n + 1);
		design->queue = mem_array_unset(design->queue, n + 1);
	}
	uint32_t head = 0, tail = 0;

	if (design->rows[d])
		return (struct design_row){ design->rows[d], design->rows[d] + n, false };
	uint8_t *down = design->rows[d] = mem_alloc_unset(2, n), *cost = down + n;

	memset(down, REACH_NEVER, n); /* who is above D, and how far, by a walk upwards */
	down[d] = 0;
	design->queue[tail++] = d;
	while (head < tail) {
		uint32_t sw = design->queue[head++];
		const struct graph_group *up = graph_ups(g, sw), *end = up + g->switches[sw].nup;

		for (; up < end && down[sw] < REACH_NEVER - 1; up++) {
			if (down[up->peer] != REACH_NEVER)
				continue;
			down[up->peer] = down[sw] + 1;
			design->queue[tail++] = up->peer;
		}
	}
	for (uint32_t i = n; i-- > 0;) {
		uint32_t sw = g->by_rank[i];
		const struct graph_group *up = graph_ups(g, sw), *end = up + g->switches[sw].nup;
		uint8_t best = REACH_NEVER - 1;

		for (; down[sw] == REACH_NEVER && up < end; up++)
			best = cost[up->peer] < best ? cost[up->peer] : best;
		cost[sw] = down[sw] == REACH_NEVER ? best + 1 : down[sw];
	}
	return (struct design_row){ down, cost, true };
}
