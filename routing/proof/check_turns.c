/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
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
#include <stdlib.h>
#include <string.h>
#include "routing/byteset.h"
#include "routing/proof/check_own.h"
#include "topology/mem.h"

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

void check_turns_free(struct check_turns *turns)
{
	if (!turns)
		return;
	free(turns->up);
	free(turns->none);
	free(turns->gaps);
	free(turns->walk);
	free(turns);
}

struct check_turns *check_turns_new(const struct check *c)
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

void check_turns_allow(struct check *c)
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

void check_turns_read(struct check *c, uint32_t sw)
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

void check_turns_find(struct check *c, uint32_t sw)
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

void check_turns_mark_lids(struct check *c)
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

void check_turns_forget(struct check *c)
{
	memset(c->cdg.next, 0, c->cdg.nchannels * sizeof(*c->cdg.next));
}

void check_turns_take(struct check *c, uint32_t sw)
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
