/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/byteset.h"
#include "routing/proof/check.h"
#include "routing/proof/check_own.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/*
 * check_turns: what follows what, from all entries, 64 at a time.
 *
 * Switches have ranks (cdg.h), any that differ, so every link leads up or down. The graph gets all
 * turns that up/down routing may make, used or not: they close no cycle among themselves, and
 * need not be looked for. Left are two kinds, and these are looked for in every entry:
 *   - down, then up. Where a switch sends LIDs down by a port, the next switch must not send them
 *     up. Which LIDs a switch sends up is a bit each (first reading); so one word of bits answers
 *     for all LIDs of a block that go down by one port (second reading).
 *   - up, then down to where it came from. The upper switch sends the LID down and the next one
 *     sends it up: such are among the first kind, and found with them.
 * So the graph has every dependency there is. When it has no cycle, neither have the tables. When
 * it has one, a turn that no packet makes may be to blame: then the graph is made again, of
 * dependencies alone, entry by entry.
 *
 * The same two readings meet every entry that leads to no switch, and every one that leads to a
 * switch without an entry.
 */

_Static_assert(BYTESET_BLOCK == TABLES_BLOCK, "a block's entries are a word of bits");

struct check_turns {
	uint32_t nblocks;
	uint64_t *up,
		*none;	/* by switch and block: entries that lead up the ranks; that are none */
	uint64_t *gaps; /* by block: none at some switch above the one that is looked at */
	uint64_t *walk; /* by block: LIDs that are not plain */
	/*
	 * Of all entries by themselves, by output port here and there: plain stores in the loop,
	 * turned into dependencies once a row.
	 */
	uint8_t met[256][256];
};

static void check_turns_free(struct check_turns *turns)
{
	if (!turns)
		return;
	free(turns->up);
	free(turns->none);
	free(turns->gaps);
	free(turns->walk);
	free(turns);
}

/*
 * check.c, owned by the caller (NULL is fine). First allow, then read each switch, then find
 * in each: the graph then holds all dependencies, and mark_lids sets c->walk from the gaps found.
 */
static struct check_turns *check_turns_new(const struct check *c)
{
	struct check_turns *turns = mem_alloc(1, sizeof(*turns));
	size_t blocks = tables_blocks(c->tables);

	turns->nblocks = blocks;
	turns->up = mem_alloc_unset(c->t->nswitches + 1u, blocks * sizeof(uint64_t));
	turns->none = mem_alloc_unset(c->t->nswitches + 1u, blocks * sizeof(uint64_t));
	turns->gaps = mem_alloc(blocks, sizeof(uint64_t));
	turns->walk = mem_alloc(blocks, sizeof(uint64_t));
	return turns;
}

static uint64_t *bits_of(const struct check_turns *turns, uint64_t *bits, uint32_t sw)
{
	return bits + (size_t)sw * turns->nblocks;
}

/* Where a switch's output ports lead: switches by port, TOPO_NONE = to none. */
static const uint32_t *leads_of(const struct check *c, uint32_t sw)
{
	return c->leads + c->t->nodes[sw].port0;
}

static bool leads_up(const struct check *c, uint32_t sw, uint32_t to)
{
	return to != TOPO_NONE && c->cdg.rank[to] > c->cdg.rank[sw];
}

/* ---- Turns of up/down routing ---------------------------------------------------------------- */

struct outputs { /* output ports of a switch, as in cdg.next */
	uint64_t all[CDG_WORDS], down[CDG_WORDS];
};

static void outputs_find(const struct check *c, uint32_t sw, struct outputs *outputs)
{
	const uint32_t *leads = leads_of(c, sw);

	*outputs = (struct outputs){ 0 };
	for (unsigned num = 1; num <= c->t->nodes[sw].nports; num++) {
		uint64_t bit = 1ull << (num % 64);

		if (leads[num] == TOPO_NONE || leads[num] == sw)
			continue;
		outputs->all[num / 64] |= bit;
		if (!leads_up(c, sw, leads[num]))
			outputs->down[num / 64] |= bit;
	}
}

/*
 * What may follow on sw's links; back[to]: the ports of `to` that lead to sw, all clear before and
 * after.
 */
static void allow_turns(struct check *c, uint32_t sw, const struct outputs *outputs,
			uint64_t (*back)[CDG_WORDS])
{
	const struct topo_node *node = &c->t->nodes[sw];
	const uint32_t *leads = leads_of(c, sw);

	for (unsigned num = 1; num <= node->nports; num++)
		if (leads[num] != TOPO_NONE) {
			uint8_t peer = topo_peer(c->t, topo_port(c->t, sw, num))->num;

			back[leads[num]][peer / 64] |= 1ull << (peer % 64);
		}
	for (unsigned num = 1; num <= node->nports; num++) {
		uint32_t to = leads[num];
		uint64_t *next;

		if (to == TOPO_NONE)
			continue;
		next = c->cdg.next[c->cdg.channel[node->port0 + num]];
		for (unsigned w = 0; w < CDG_WORDS; w++)
			next[w] = leads_up(c, sw, to) ? outputs[to].all[w] & ~back[to][w]
						      : outputs[to].down[w];
	}
	for (unsigned num = 1; num <= node->nports; num++)
		if (leads[num] != TOPO_NONE)
			memset(back[leads[num]], 0, sizeof(*back));
}

static void check_turns_allow(struct check *c)
{
	uint32_t n = c->t->nswitches;
	struct outputs *outputs = mem_alloc(n + 1u, sizeof(*outputs));
	uint64_t(*back)[CDG_WORDS] = mem_alloc(n + 1u, sizeof(*back));

	for (uint32_t sw = 0; sw < n; sw++)
		outputs_find(c, sw, &outputs[sw]);
	for (uint32_t sw = 0; sw < n; sw++)
		allow_turns(c, sw, outputs, back);
	free(outputs);
	free(back);
}

/* ---- First reading: up, or none -------------------------------------------------------------- */

/* The LIDs of a block: 0 is none, and what is above the top is no LID of theirs. */
static uint64_t lids_of(const struct check *c, uint32_t block)
{
	uint64_t lids = block ? ~0ull : ~1ull;

	if (block == c->tables->top / TABLES_BLOCK)
		lids &= ~0ull >> (TABLES_BLOCK - 1 - c->tables->top % TABLES_BLOCK);
	return lids;
}

static void check_turns_read(struct check *c, uint32_t sw)
{
	struct check_turns *turns = c->turns;
	const uint8_t *row = tables_row(c->tables, sw);
	uint64_t *up = bits_of(turns, turns->up, sw), *none = bits_of(turns, turns->none, sw);
	const uint32_t *leads = leads_of(c, sw);
	struct byteset rising = { 0 };

	for (unsigned num = 1; num <= c->t->nodes[sw].nports; num++)
		if (leads_up(c, sw, leads[num]))
			byteset_add(&rising, num);
	byteset_find(&rising, row, turns->nblocks, up);
	for (uint32_t block = 0; block < turns->nblocks; block++) {
		uint64_t lids = lids_of(c, block), rest = lids & ~up[block];

		up[block] &= lids;
		none[block] =
			!rest ? 0
			      : rest & byteset_equal(row + block * TABLES_BLOCK, TABLES_NO_ROUTE);
	}
}

/* ---- Second reading: down, ends and gaps ----------------------------------------------------- */

struct place { /* where the second reading is */
	struct check *c;
	uint32_t sw, block;
	const uint32_t *leads;
	const uint8_t *entries; /* of the block */
	uint8_t ups[256];	/* output ports that lead up */
	unsigned nups;
};

/* The first of the LIDs left, with all others that leave by the same port. */
static uint64_t take_out(const struct place *at, uint64_t *left, uint8_t *out)
{
	uint64_t same;

	*out = at->entries[__builtin_ctzll(*left)];
	same = byteset_equal(at->entries, *out) & *left;
	*left &= ~same;
	return same;
}

static void add_turn(struct check *c, uint32_t sw, uint8_t out, uint8_t next)
{
	cdg_add(&c->cdg, c->cdg.channel[c->t->nodes[sw].port0 + out], next);
}

/* LIDs that go down by `out` and then up. Who comes back from there came from there: see above. */
static void turn_up(const struct place *at, unsigned out, uint32_t to, uint64_t lids)
{
	const uint8_t *next = tables_row(at->c->tables, to) + at->block * TABLES_BLOCK;

	for (; lids; lids &= lids - 1) {
		uint8_t up = next[__builtin_ctzll(lids)];

		add_turn(at->c, at->sw, out, up);
		if (leads_of(at->c, to)[up] == at->sw)
			add_turn(at->c, to, up, out);
	}
}

static void go_down(const struct place *at, unsigned out, uint64_t lids)
{
	struct check_turns *turns = at->c->turns;
	uint32_t to = at->leads[out];
	uint64_t up = lids & bits_of(turns, turns->up, to)[at->block];

	turns->walk[at->block] |= lids & bits_of(turns, turns->none, to)[at->block];
	if (up)
		turn_up(at, out, to, up);
	if (to == at->sw) /* a link from a switch to itself: the entry is met again */
		add_turn(at->c, to, out, out);
}

static bool leads_to_switch(const struct place *at, unsigned out)
{
	return out <= at->c->t->nodes[at->sw].nports && at->leads[out] != TOPO_NONE;
}

/* Entries that do not lead up. */
static void find_turns_of_rest(const struct place *at, uint64_t left)
{
	uint64_t ends = 0;

	while (left) {
		uint8_t out;
		uint64_t same = take_out(at, &left, &out);

		if (leads_to_switch(at, out))
			go_down(at, out, same);
		else
			ends |= same;
	}
	for (; ends; ends &= ends - 1)
		check_inspect_end(at->c, at->sw, at->block * TABLES_BLOCK + __builtin_ctzll(ends));
}

/* The LIDs that some switch above has no entry for. */
static void find_gaps(struct place *at)
{
	struct check_turns *turns = at->c->turns;

	memset(turns->gaps, 0, turns->nblocks * sizeof(*turns->gaps));
	at->nups = 0;
	for (unsigned num = 1; num <= at->c->t->nodes[at->sw].nports; num++) {
		const uint64_t *none;

		if (!leads_up(at->c, at->sw, at->leads[num]))
			continue;
		at->ups[at->nups++] = num;
		none = bits_of(turns, turns->none, at->leads[num]);
		for (uint32_t block = 0; block < turns->nblocks; block++)
			turns->gaps[block] |= none[block];
	}
}

/* Entries that do, for such LIDs: whether it is that switch that they lead to. */
static void find_missing(const struct place *at, uint64_t left)
{
	struct check_turns *turns = at->c->turns;

	for (unsigned i = 0; left && i < at->nups; i++) {
		uint8_t out = at->ups[i];
		uint64_t gaps = left & bits_of(turns, turns->none, at->leads[out])[at->block];

		if (gaps)
			turns->walk[at->block] |= gaps & byteset_equal(at->entries, out);
	}
}

static void check_turns_find(struct check *c, uint32_t sw)
{
	struct place at = { .c = c, .sw = sw, .leads = leads_of(c, sw) };
	struct check_turns *turns = c->turns;
	const uint8_t *row = tables_row(c->tables, sw);
	bool sources = c->hosts[sw] || c->specials[sw];

	find_gaps(&at);
	for (; at.block < turns->nblocks; at.block++) {
		uint64_t up = bits_of(turns, turns->up, sw)[at.block];
		uint64_t none = bits_of(turns, turns->none, sw)[at.block];

		at.entries = row + at.block * TABLES_BLOCK;
		find_turns_of_rest(&at, lids_of(c, at.block) & ~up & ~none);
		find_missing(&at, up & turns->gaps[at.block]);
		if (sources)
			turns->walk[at.block] |= none;
	}
}

static void check_turns_mark_lids(struct check *c)
{
	for (uint32_t block = 0; block < c->turns->nblocks; block++)
		for (uint64_t lids = c->turns->walk[block]; lids; lids &= lids - 1)
			c->walk[block * TABLES_BLOCK + __builtin_ctzll(lids)] = true;
}

/* ---- Dependencies alone ---------------------------------------------------------------------- */

static void add_met(struct check *c, uint32_t sw, const uint8_t *const next[256])
{
	for (unsigned out = 1; out <= c->t->nodes[sw].nports; out++) {
		if (!next[out])
			continue;
		for (unsigned on = 0; on < TABLES_NO_ROUTE; on++)
			if (c->turns->met[out][on])
				add_turn(c, sw, out, on);
	}
}

/* Or forget the graph, and take each switch: it then holds only turns that packets make. */
static void check_turns_forget(struct check *c)
{
	memset(c->cdg.next, 0, c->cdg.nchannels * sizeof(*c->cdg.next));
}

static void check_turns_take(struct check *c, uint32_t sw)
{
	const uint8_t *row = tables_row(c->tables, sw), *next[256] = { NULL };
	const uint32_t *leads = leads_of(c, sw);
	unsigned nports = c->t->nodes[sw].nports;

	for (unsigned num = 1; num <= nports; num++)
		next[num] = leads[num] == TOPO_NONE ? NULL : tables_row(c->tables, leads[num]);
	memset(c->turns->met, 0, (nports + 1u) * sizeof(c->turns->met[0]));
	for (uint32_t lid = 1; lid <= c->tables->top; lid++)
		if (next[row[lid]])
			c->turns->met[row[lid]][next[row[lid]][lid]] = 1;
	add_met(c, sw, next);
}

/*
 * check_print: finds changed blocks as a second copy of the tables would, in an eighth of the
 * memory.
 *
 * A block of 64 entries is hashed to 64 bits by NH (Black, Halevi, Krawczyk, Krovetz, Rogaway:
 * UMAC, 1999) over words of 64 bits, and its 128 bits folded by a multilinear function of keys of
 * 128. Both are universal: for any two different blocks that were made without knowledge of the
 * keys, the chance over the keys that their fingerprints agree is at most 2^-64 each. A proof by
 * fingerprints relies on nothing else, whatever the blocks look like. The chance of one error in a
 * year of a thousand changed blocks a second is below 2^-28. The keys are derived from the caller's
 * seed by splitmix64.
 */

void check_prints_init(struct check_prints *p, uint64_t seed)
{
	*p = (struct check_prints){ 0 };
	for (unsigned i = 0; i < CHECK_PRINT_WORDS; i++)
		p->key[i] = random_next(&seed);
	for (unsigned i = 0; i < 3; i++) {
		p->fold[i] = random_next(&seed);
		p->fold[i] = p->fold[i] << 64 | random_next(&seed);
	}
}

void check_prints_fini(struct check_prints *p)
{
	free(p->of);
	p->of = NULL;
}

static uint64_t print(const struct check_prints *p, const uint8_t *block)
{
	unsigned __int128 sum = 0;
	uint64_t word[CHECK_PRINT_WORDS];

	memcpy(word, block, sizeof(word));
	for (unsigned i = 0; i < CHECK_PRINT_WORDS; i += 2)
		sum += (unsigned __int128)(word[i] + p->key[i]) * (word[i + 1] + p->key[i + 1]);
	sum = p->fold[0] + p->fold[1] * (uint64_t)sum + p->fold[2] * (uint64_t)(sum >> 64);
	return sum >> 64;
}

static void add(struct check_blocks *blocks, uint32_t sw, uint32_t block)
{
	if (blocks->count == blocks->room) {
		blocks->room = blocks->room ? blocks->room * 2 : 256;
		blocks->list = mem_resize(blocks->list, blocks->room, sizeof(*blocks->list));
	}
	blocks->list[blocks->count++] = (struct check_block){ sw, block };
}

void check_prints_take(struct check_prints *p, const struct tables *tables,
		       struct check_blocks *changed)
{
	uint32_t nblocks = tables_blocks(tables);

	if (p->nswitches != tables->nswitches || p->nblocks != nblocks || !p->of) {
		free(p->of);
		p->of = mem_alloc((size_t)tables->nswitches * nblocks + 1, sizeof(*p->of));
		p->nswitches = tables->nswitches;
		p->nblocks = nblocks;
	}
	for (uint32_t sw = 0; sw < tables->nswitches; sw++) {
		const uint8_t *row = tables_row(tables, sw);
		uint64_t *of = p->of + (size_t)sw * nblocks;

		for (uint32_t block = 0; block < nblocks; block++) {
			uint64_t is = print(p, row + block * TABLES_BLOCK);

			if (changed && is != of[block])
				add(changed, sw, block);
			of[block] = is;
		}
	}
}

/*
 * check: proves forwarding tables (see check.h).
 *
 * All entries are read (check.c): which channels may wait for which, and which entries lead
 * nowhere. Then:
 *   - no cycle among channels: no deadlock, and no forwarding loop either (a loop is a cycle of
 * channels);
 *   - without loops every packet ends somewhere. A destination is plain when all switches with
 * hosts have an entry for it, no entry for it leads to a switch that has none, and all last entries
 * lead to the right port: then all arrive, by induction. Only destinations that are not plain are
 * walked switch by switch. A finding is kept by name: the first pair, loop or cycle.
 */

/* ---- Entries --------------------------------------------------------------------------------- */

static void judge_cycles(struct check *c)
{
	uint32_t cycle[6];
	unsigned length;
	char *at = c->report->first, *end = at + sizeof(c->report->first);

	c->report->credit_cycles = cdg_search_groups(c->search, cycle, 6, &length);
	if (!c->report->credit_cycles || *at)
		return;
	at += snprintf(at, end - at, "credit loop:");
	for (unsigned i = 0; i < length && at < end; i++) {
		const struct topo_port *port = &c->t->ports[c->cdg.port_of[cycle[i]]];

		at += snprintf(at, end - at, " %s[%u]", c->t->nodes[port->node].name, port->num);
	}
}

/* ---- Host pairs ------------------------------------------------------------------------------ */

/*
 * Hops are taken from one LID of each switch: plain LIDs behind one switch go the same number of
 * hops. True: it took a walk.
 */
static bool walk_if_due(struct check *c, uint32_t lid)
{
	const struct topo_port *dest = check_host_port(c, lid);
	bool cyclic = c->report->credit_cycles > 0;

	if (dest && (c->walk[lid] || cyclic)) {
		check_walk_lid(c, lid);
	} else if (dest && topo_is_host(c->t, dest->node) &&
		   !c->measured[c->t->ports[dest->peer].node]) {
		c->measured[c->t->ports[dest->peer].node] = true;
		check_measure_hops(c, lid);
	} else if (!dest && cyclic && c->lids->port_of_lid[lid] != TOPO_NONE) {
		check_walk_loops(c, lid); /* loops towards switches count too */
	} else {
		return false;
	}
	return true;
}

void check_scratch_init(struct check *c)
{
	const struct topo *t = c->t;

	c->part = mem_alloc(t->nnodes + 1, sizeof(*c->part));
	c->hosts = mem_alloc(t->nswitches + 1, sizeof(*c->hosts));
	c->specials = mem_alloc(t->nswitches + 1, sizeof(*c->specials));
	c->part_hosts = mem_alloc(t->nnodes + 1, sizeof(*c->part_hosts));
	c->part_specials = mem_alloc(t->nnodes + 1, sizeof(*c->part_specials));
	c->part_lidless = mem_alloc(t->nnodes + 1, sizeof(*c->part_lidless));
	c->arrival = mem_alloc(t->nswitches + 1, sizeof(*c->arrival));
	c->hops = mem_alloc(t->nswitches + 1, sizeof(*c->hops));
	c->leads = mem_alloc(t->nports + 1, sizeof(*c->leads));
	c->trail = mem_alloc(t->nswitches + 1, sizeof(*c->trail));
}

void check_scratch_fini(struct check *c)
{
	free(c->part);
	free(c->hosts);
	free(c->specials);
	free(c->part_hosts);
	free(c->part_specials);
	free(c->part_lidless);
	free(c->arrival);
	free(c->hops);
	free(c->leads);
	free(c->trail);
}

void check_result_fini(struct check *c)
{
	cdg_fini(&c->cdg);
	free(c->walk);
	free(c->counts);
	c->walk = NULL;
	c->counts = NULL;
}

/* ---- All of it, in pieces -------------------------------------------------------------------- */

/* Of one call: some milliseconds each. */
#define ENTRIES_A_CALL (2u << 20)
#define VISITS_A_CALL  (1u << 18)
#define STEPS_A_CALL   (1u << 18) /* of walks, a switch each */

enum { BAD_SHAPE, READ, LOOK, CYCLES, DEPENDENCIES, EXACT_CYCLES, WALKS, SUM, ENDED };

/* True: there are rows left. */
static bool rows_go(struct check *c, void (*row_go)(struct check *c, uint32_t sw))
{
	uint32_t rows = ENTRIES_A_CALL / (c->tables->top + 1u) + 1;

	for (; rows && c->at < c->t->nswitches; rows--)
		row_go(c, c->at++);
	if (c->at < c->t->nswitches)
		return true;
	c->at = 0;
	return false;
}

static bool read_go(struct check *c)
{
	return rows_go(c, check_turns_read);
}

static bool find_go(struct check *c)
{
	if (rows_go(c, check_turns_find))
		return true;
	check_turns_mark_lids(c);
	c->search = cdg_search_new(&c->cdg);
	return false;
}

static bool cycles_go(struct check *c)
{
	uint32_t cycle;
	unsigned length;

	if (cdg_search_go(c->search, VISITS_A_CALL))
		return true;
	c->exact = !cdg_search_groups(c->search, &cycle, 1, &length);
	if (!c->exact)
		check_turns_forget(c);
	return false;
}

static bool dependencies_go(struct check *c)
{
	if (c->exact)
		return false;
	if (rows_go(c, check_turns_take))
		return true;
	cdg_search_free(c->search);
	c->search = cdg_search_new(&c->cdg);
	return false;
}

static bool exact_cycles_go(struct check *c)
{
	if (cdg_search_go(c->search, VISITS_A_CALL))
		return true;
	judge_cycles(c);
	c->at = 1;
	return false;
}

static bool walks_go(struct check *c)
{
	uint32_t walks = STEPS_A_CALL / (c->t->nswitches + 1u) + 1;

	for (; walks && c->at <= c->lids->top; c->at++)
		walks -= walk_if_due(c, c->at);
	return c->at <= c->lids->top;
}

static bool sum_go(struct check *c)
{
	c->report->mean_hops = c->hop_count ? (double)c->hop_sum / c->hop_count : 0;
	check_sum(c);
	return false;
}

void check_begin(struct check *c)
{
	*c->report = (struct check_report){ 0 };
	c->phase = BAD_SHAPE;
	c->at = 0;
	if (c->tables->nswitches != c->t->nswitches || c->tables->top < c->lids->top) {
		snprintf(c->report->first, sizeof(c->report->first), "tables of another fabric");
		c->report->bad_ports = 1;
		return;
	}
	cdg_init_links(&c->cdg, c->t);
	c->walk = mem_alloc(c->tables->top + 1u, sizeof(*c->walk));
	c->counts = mem_alloc(c->tables->top + 1u, sizeof(*c->counts));
	c->turns = check_turns_new(c);
	c->measured = mem_alloc(c->t->nswitches + 1u, sizeof(*c->measured));
	check_find_leads(c);
	check_find_parts(c);
	check_turns_allow(c);
	c->phase = READ;
}

bool check_go(struct check *c)
{
	static bool (*const phases[])(struct check * c) = {
		[READ] = read_go,
		[LOOK] = find_go,
		[CYCLES] = cycles_go,
		[DEPENDENCIES] = dependencies_go,
		[EXACT_CYCLES] = exact_cycles_go,
		[WALKS] = walks_go,
		[SUM] = sum_go,
	};

	if (c->phase == BAD_SHAPE || c->phase == ENDED)
		return false;
	if (!phases[c->phase](c))
		c->phase++;
	return c->phase != ENDED;
}

bool check_end(struct check *c)
{
	const struct check_report *r = c->report;

	check_turns_free(c->turns);
	cdg_search_free(c->search);
	free(c->measured);
	c->turns = NULL;
	c->search = NULL;
	c->measured = NULL;
	if (c->phase == ENDED && !r->loops && !r->credit_cycles && !r->bad_ports)
		return true;
	check_result_fini(c);
	return false;
}

bool check_tables(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		  struct check_report *report)
{
	struct check c = { .t = t, .lids = lids, .tables = tables, .report = report };
	bool sound;

	check_scratch_init(&c);
	check_begin(&c);
	while (check_go(&c))
		;
	sound = check_end(&c);
	check_scratch_fini(&c);
	if (sound)
		check_result_fini(&c);
	return sound;
}
