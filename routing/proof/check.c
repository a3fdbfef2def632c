/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include "routing/byteset.h"
#include "routing/proof/check.h"
#include "routing/proof/check_own.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/* ---- Entries that end at a port: whether they deliver to the LID's owner there --------------- */

bool check_delivers(const struct check *c, uint32_t sw, unsigned out, uint32_t lid)
{
	uint32_t dest = lid <= c->lids->top ? c->lids->port_of_lid[lid] : TOPO_NONE;

	if (dest == TOPO_NONE || out > c->t->nodes[sw].nports)
		return false;
	if (out == 0)
		return c->t->ports[dest].node == sw;
	return topo_port(c->t, sw, out)->peer == dest && topo_port(c->t, sw, out)->link_up;
}

/*
 * check_walk: who reaches whom.
 *
 * Connected parts by union-find over live links between switches: only pairs within a part can be
 * asked of the tables. No packet goes through an adapter: two planes that adapters with two ports
 * join are two parts. Two adapters back to back are a part without a table. A LID that is not plain
 * is followed from every switch; each switch is settled once, by the outcome of the next, so a LID
 * costs as many steps as there are switches. What a walk found is kept by LID, so that a later
 * proof (check_change.c) need not walk it again.
 */

enum arrival { UNSEEN, WALKING, ARRIVES, STRANDED, LOOPS };

/* ---- Connected parts ------------------------------------------------------------------------- */

uint32_t check_part(const struct check *c, uint32_t node)
{
	return sort_root(c->part, node);
}

void check_find_leads(struct check *c)
{
	memset(c->leads, 0xff, c->t->nports * sizeof(*c->leads));
	for (uint32_t i = 0; i < c->t->nswitch_ports; i++)
		if (c->cdg.channel[i] != TOPO_NONE && c->t->ends[i].up)
			c->leads[i] = c->t->ends[i].to;
}

void check_find_parts(struct check *c)
{
	const struct topo *t = c->t;

	for (uint32_t n = 0; n < t->nnodes; n++)
		c->part[n] = n;
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		const struct topo_end *end = &t->ends[t->nodes[sw].port0];

		for (unsigned num = 1; num <= t->nodes[sw].nports; num++)
			if (end[num].up && end[num].to < sw)
				c->part[sort_root(c->part, sw)] = sort_root(c->part, end[num].to);
	}
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		const struct topo_end *end = &t->ends[t->nodes[sw].port0];
		uint32_t part = sort_root(c->part, sw);

		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			bool special = end[num].special;

			if (!end[num].up || end[num].to < t->nswitches)
				continue;
			if (!c->lids->lid_of_port[end[num].to]) {
				c->part_lidless[part] += !special;
				continue;
			}
			(special ? c->specials : c->hosts)[sw]++;
			(special ? c->part_specials : c->part_hosts)[part]++;
			c->all_hosts += !special;
		}
	}
	/* Links straight to another host, both with a LID: their packets need no table. */
	for (uint32_t i = t->nswitch_ports; i < t->nports; i++)
		c->back_to_back += t->ports[i].link_up && t->ports[i].peer >= t->nswitch_ports &&
				   c->lids->lid_of_port[i] &&
				   c->lids->lid_of_port[t->ports[i].peer];
}

const struct topo_port *check_host_port(const struct check *c, uint32_t lid)
{
	const struct topo *t = c->t;
	uint32_t index = lid <= c->lids->top ? c->lids->port_of_lid[lid] : TOPO_NONE;
	const struct topo_port *port = index == TOPO_NONE ? NULL : &t->ports[index];

	return port && port->link_up && port->node >= t->nswitches &&
			       t->ports[port->peer].node < t->nswitches
		       ? port
		       : NULL;
}

/* ---- Walking one destination ----------------------------------------------------------------- */

static enum arrival next_step(const struct check *c, uint32_t sw, uint32_t lid, uint32_t *next)
{
	unsigned out = tables_row(c->tables, sw)[lid];

	if (out > c->t->nodes[sw].nports)
		return STRANDED;
	if (out && check_is_channel(c, c->t->nodes[sw].port0 + out)) {
		*next = c->leads[c->t->nodes[sw].port0 + out];
		return UNSEEN;
	}
	return check_delivers(c, sw, out, lid) ? ARRIVES : STRANDED;
}

/* Follows the packet from sw until something known, and writes the outcome back along the trail. */
static void walk_one(struct check *c, uint32_t sw, uint32_t lid)
{
	uint32_t n = 0;
	enum arrival end = UNSEEN;
	uint16_t hops = 0;

	while (end == UNSEEN) {
		uint32_t next = sw;

		if (c->arrival[sw] != UNSEEN) {
			end = c->arrival[sw] == WALKING ? LOOPS : c->arrival[sw];
			hops = c->hops[sw];
			break;
		}
		c->arrival[sw] = WALKING;
		c->trail[n++] = sw;
		end = next_step(c, sw, lid, &next);
		sw = next;
	}
	while (n--) {
		c->arrival[c->trail[n]] = end;
		c->hops[c->trail[n]] = ++hops;
		c->report->loops += end == LOOPS;
	}
}

/* counts report->loops only */
static void check_walk_loops(struct check *c, uint32_t lid)
{
	memset(c->arrival, UNSEEN, c->t->nswitches);
	for (uint32_t sw = 0; sw < c->t->nswitches; sw++)
		if (c->arrival[sw] == UNSEEN)
			walk_one(c, sw, lid);
}

static void note_hops(struct check *c, uint32_t sw)
{
	if (c->hops[sw] > c->report->max_hops)
		c->report->max_hops = c->hops[sw];
	c->hop_sum += (uint64_t)c->hops[sw] * c->hosts[sw];
	c->hop_count += c->hosts[sw];
}

/* ---- Host pairs ------------------------------------------------------------------------------ */

void check_walk_lid(struct check *c, uint32_t lid)
{
	const struct topo_port *dest = check_host_port(c, lid);
	uint32_t part = check_part(c, c->t->ports[dest->peer].node);
	struct check_count *count = &c->counts[lid];

	*count = (struct check_count){ .from = TOPO_NONE };
	check_walk_loops(c, lid);
	c->walk[lid] = any_of(sw, 0, c->t->nswitches,
			      c->arrival[sw] != ARRIVES &&
				      (c->hosts[sw] || c->specials[sw] ||
				       tables_row(c->tables, sw)[lid] != TABLES_NO_ROUTE));
	for (uint32_t sw = 0; sw < c->t->nswitches; sw++)
		if ((c->hosts[sw] || c->specials[sw]) && check_part(c, sw) == part) {
			bool special = c->t->nodes[dest->node].sharp;
			uint32_t home = c->t->ports[dest->peer].node;
			uint32_t hosts = c->hosts[sw] - (sw == home && !special);
			uint32_t specials = c->specials[sw] - (sw == home && special);

			if (c->arrival[sw] == ARRIVES) {
				count->reachable += special ? 0 : hosts;
				if (!special)
					note_hops(c, sw);
				continue;
			}
			count->unreachable += special ? 0 : hosts;
			count->special += special ? hosts + specials : specials;
			if ((count->from == TOPO_NONE && (hosts || specials)) ||
			    (!special && hosts &&
			     count->unreachable == hosts)) { /* hosts are named before others */
				count->from = sw;
				count->loop = c->arrival[sw] == LOOPS;
			}
		}
}

static void name_gap(struct check *c, const struct check_count *count, uint32_t lid,
		     const struct topo_port *dest)
{
	if (c->report->first[0] || count->from == TOPO_NONE)
		return;

	const struct topo_node *from = &c->t->nodes[count->from];

	array_printf(c->report->first, "%s: from %s (0x%016" PRIx64 ") to LID %u (%s)",
		     count->loop ? "loop" : "unreachable", from->name, from->guid, lid,
		     c->t->nodes[dest->node].name);
}

void check_sum(struct check *c)
{
	/*
	 * Hosts that the LID space had no number for: nobody reaches them, nor do they reach
	 * anybody.
	 */
	for (uint32_t sw = 0; sw < c->t->nswitches; sw++) {
		uint64_t without = c->part_lidless[sw];

		if (without)
			c->report->unreachable += without * (2 * c->part_hosts[sw] + without - 1);
	}

	uint64_t n = c->back_to_back;

	c->report->reachable += n;
	if (n)
		c->report->disconnected += 2 * n * c->all_hosts + n * (n - 2);

	/* As if all LIDs were plain; then those that are not. */
	for (uint32_t sw = 0; sw < c->t->nswitches; sw++) {
		uint64_t hosts = c->part_hosts[check_part(c, sw)];
		uint64_t lids = (uint64_t)c->hosts[sw] << c->lids->lmc;

		c->report->disconnected += lids * (c->all_hosts - hosts);
		c->report->reachable += lids * (hosts - 1);
	}
	for (uint32_t lid = 1; lid <= c->lids->top; lid++) {
		const struct topo_port *dest = c->walk[lid] ? check_host_port(c, lid) : NULL;

		if (dest) {
			uint32_t part = check_part(c, c->t->ports[dest->peer].node);
			const struct check_count *count = &c->counts[lid];

			if (!c->t->nodes[dest->node].sharp)
				c->report->reachable -= c->part_hosts[part] - 1;
			c->report->reachable += count->reachable;
			c->report->unreachable += count->unreachable;
			c->report->unreachable_special += count->special;
			if (count->unreachable || count->loop)
				name_gap(c, count, lid, dest);
		}
	}
	/* When nothing worse was: a gap between others than hosts. */
	for (uint32_t lid = 1;
	     c->report->unreachable_special && !c->report->first[0] && lid <= c->lids->top; lid++) {
		const struct topo_port *dest = check_host_port(c, lid);

		if (dest && c->walk[lid])
			name_gap(c, &c->counts[lid], lid, dest);
	}
}

/* ---- Check ----------------------------------------------------------------------------------- */

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

static uint64_t *bits_of(const struct check_turns *turns, uint64_t *bits, uint32_t sw)
{
	return bits + (size_t)sw * turns->nblocks;
}

/* Where a switch's output ports lead: switches by port, TOPO_NONE = to none. */
static const uint32_t *leads_of(const struct check *c, uint32_t sw)
{
	return c->leads + c->t->nodes[sw].port0;
}

/* ---- Turns of up/down routing ---------------------------------------------------------------- */

struct outputs { /* output ports of a switch, as in cdg.next */
	uint64_t all[CDG_WORDS], down[CDG_WORDS];
};

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

		if (to == TOPO_NONE)
			continue;

		uint64_t *next = c->cdg.next[c->cdg.channel[node->port0 + num]];

		for (unsigned w = 0; w < CDG_WORDS; w++)
			next[w] = check_leads_up(c, sw, to) ? outputs[to].all[w] & ~back[to][w]
							    : outputs[to].down[w];
	}
	for (unsigned num = 1; num <= node->nports; num++)
		if (leads[num] != TOPO_NONE)
			memset(back[leads[num]], 0, sizeof(*back));
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
		if (check_leads_up(c, sw, leads[num]))
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

static void add_turn(struct check *c, uint32_t sw, uint8_t out, uint8_t next)
{
	cdg_add(&c->cdg, c->cdg.channel[c->t->nodes[sw].port0 + out], next);
}

/* LIDs that go down by `out` and then up. Who comes back from there came from there: see above. */
static void turn_up(const struct place *at, unsigned out, uint32_t to, uint64_t lids)
{
	const uint8_t *next = tables_block(at->c->tables, to, at->block);

	for (; lids; lids &= lids - 1) {
		uint8_t up = next[__builtin_ctzll(lids)];

		add_turn(at->c, at->sw, out, up);
		if (leads_of(at->c, to)[up] == at->sw)
			add_turn(at->c, to, up, out);
	}
}

/* Entries that do not lead up. */
static void find_turns_of_rest(const struct place *at, uint64_t left)
{
	uint64_t ends = 0;

	while (left) {
		/* The first of the LIDs left, with all others that leave by the same port. */
		uint8_t out = at->entries[__builtin_ctzll(left)];
		uint64_t same = byteset_equal(at->entries, out) & left;

		left &= ~same;
		if (out <= at->c->t->nodes[at->sw].nports && at->leads[out] != TOPO_NONE) {
			struct check_turns *turns = at->c->turns;
			uint32_t to = at->leads[out];
			uint64_t up = same & bits_of(turns, turns->up, to)[at->block];

			turns->walk[at->block] |= same & bits_of(turns, turns->none, to)[at->block];
			if (up)
				turn_up(at, out, to, up);
			if (to == at->sw) /* its link to itself: the entry is met again */
				add_turn(at->c, to, out, out);
		} else {
			ends |= same;
		}
	}
	for (; ends; ends &= ends - 1) {
		/*
		 * Judges an entry that leads to no switch: if it does not deliver, the report
		 * counts it.
		 */
		struct check *c = at->c;
		uint32_t sw = at->sw;
		uint32_t lid = at->block * TABLES_BLOCK + __builtin_ctzll(ends);

		if (check_delivers(c, sw, tables_row(c->tables, sw)[lid], lid))
			continue;
		c->report->bad_ports++;
		c->walk[lid] = true;

		const struct topo *t = c->t;

		if (c->report->first[0])
			continue;
		uint32_t port = lid <= c->lids->top ? c->lids->port_of_lid[lid] : TOPO_NONE;
		array_printf(c->report->first, "%s: from %s (0x%016" PRIx64 ") to LID %u (%s)",
			     "entry leads to a port with nothing or somebody else behind it",
			     t->nodes[sw].name, t->nodes[sw].guid, lid,
			     port == TOPO_NONE ? "nobody" : t->nodes[t->ports[port].node].name);
	}
}

static void check_turns_find(struct check *c, uint32_t sw)
{
	struct place at = { .c = c, .sw = sw, .leads = leads_of(c, sw) };
	struct check_turns *turns = c->turns;
	const uint8_t *row = tables_row(c->tables, sw);
	bool sources = c->hosts[sw] || c->specials[sw];

	/* The LIDs that some switch above has no entry for. */
	mem_zero(turns->gaps, turns->nblocks);
	for (unsigned num = 1; num <= c->t->nodes[sw].nports; num++) {
		if (!check_leads_up(c, sw, at.leads[num]))
			continue;
		at.ups[at.nups++] = num;

		const uint64_t *none = bits_of(turns, turns->none, at.leads[num]);

		for (uint32_t block = 0; block < turns->nblocks; block++)
			turns->gaps[block] |= none[block];
	}

	for (; at.block < turns->nblocks; at.block++) {
		uint64_t up = bits_of(turns, turns->up, sw)[at.block];
		uint64_t none = bits_of(turns, turns->none, sw)[at.block];

		at.entries = row + at.block * TABLES_BLOCK;
		find_turns_of_rest(&at, lids_of(c, at.block) & ~up & ~none);

		/* Entries that do, for such LIDs: whether it is that switch that they lead to. */
		uint64_t left = up & turns->gaps[at.block];

		for (unsigned i = 0; left && i < at.nups; i++) {
			uint8_t out = at.ups[i];
			uint64_t gaps = left & bits_of(turns, turns->none, at.leads[out])[at.block];

			if (gaps)
				turns->walk[at.block] |= gaps & byteset_equal(at.entries, out);
		}

		if (sources)
			turns->walk[at.block] |= none;
	}
}

/* ---- Dependencies alone ---------------------------------------------------------------------- */

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
	for (unsigned out = 1; out <= c->t->nodes[sw].nports; out++) {
		if (!next[out])
			continue;
		for (unsigned on = 0; on < TABLES_NO_ROUTE; on++)
			if (c->turns->met[out][on])
				add_turn(c, sw, out, on);
	}
}

/*
 * check_print: finds changed blocks as a second copy of the tables would, in an eighth of the
 * memory: pieces of 16 blocks first, then the blocks of those that changed.
 *
 * A piece or a block of 64 entries is hashed to 64 bits by NH (Black, Halevi, Krawczyk, Krovetz,
 * Rogaway: UMAC, 1999) over words of 64 bits, and its 128 bits folded by a multilinear function of
 * keys of 128. Both are universal: for any two different blocks that were made without knowledge of
 * the keys, the chance over the keys that their fingerprints agree is at most 2^-64 each. A proof
 * by fingerprints relies on nothing else, whatever the blocks look like. The chance of one error in
 * a year of a thousand changed blocks a second is below 2^-28. The keys are derived from the
 * caller's seed by splitmix64.
 */

void check_prints_init(struct check_prints *p, uint64_t seed)
{
	*p = (struct check_prints){ 0 };
	for (unsigned i = 0; i < ARRAY_SIZE(p->key); i++)
		p->key[i] = random_next(&seed);
	for (unsigned i = 0; i < 3; i++) {
		p->fold[i] = random_next(&seed);
		p->fold[i] = p->fold[i] << 64 | random_next(&seed);
	}
}

void check_prints_fini(struct check_prints *p)
{
	free(p->pieces);
	free(p->blocks);
	p->pieces = NULL;
	p->blocks = NULL;
}

/* Rows lie one behind the other, and processors by themselves do not look beyond a page. */
#define AHEAD	   2048
#define LINE_WORDS 8

static uint64_t print_of(const struct check_prints *p, const uint8_t *bytes, unsigned count)
{
	unsigned __int128 sum = 0;

	for (unsigned i = 0; i < count / sizeof(uint64_t); i += 2) {
		uint64_t word[2];

		if (i % LINE_WORDS == 0)
			__builtin_prefetch(bytes + i * sizeof(uint64_t) + AHEAD);
		memcpy(word, bytes + i * sizeof(uint64_t), sizeof(word));
		sum += (unsigned __int128)(word[0] + p->key[i]) * (word[1] + p->key[i + 1]);
	}
	sum = p->fold[0] + p->fold[1] * (uint64_t)sum + p->fold[2] * (uint64_t)(sum >> 64);
	return sum >> 64;
}

void check_prints_take(struct check_prints *p, const struct tables *tables, uint32_t first,
		       uint32_t end, struct check_blocks *changed)
{
	uint32_t nblocks = tables_blocks(tables), npieces = (nblocks - 1) / CHECK_PIECE + 1;

	if (p->nswitches != tables->nswitches || p->npieces != npieces || !p->pieces) {
		check_prints_fini(p);
		p->pieces = mem_array(p->pieces, (size_t)tables->nswitches * npieces + 1);
		p->blocks = mem_array(p->blocks, (size_t)tables->nswitches * npieces + 1);
		p->nswitches = tables->nswitches;
		p->npieces = npieces;
	}
	for (uint32_t sw = first; sw < end; sw++) {
		size_t piece = (size_t)sw * npieces;

		for (uint32_t at = 0; at < nblocks; at += CHECK_PIECE, piece++) {
			unsigned n = nblocks - at < CHECK_PIECE ? nblocks - at : CHECK_PIECE;
			uint64_t of = print_of(p, tables_block(tables, sw, at), n * TABLES_BLOCK);

			if (changed && of == p->pieces[piece])
				continue;
			p->pieces[piece] = of;
			for (unsigned i = 0; i < n; i++) {
				uint64_t is =
					print_of(p, tables_block(tables, sw, at + i), TABLES_BLOCK);

				if (changed && is != p->blocks[piece][i]) {
					changed->list = mem_grow(changed->list, changed->count);
					changed->list[changed->count++] =
						(struct check_block){ sw, at + i };
				}
				p->blocks[piece][i] = is;
			}
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
	char *at = c->report->cycle, *end = at + sizeof(c->report->cycle);

	c->report->credit_cycles = cdg_search_groups(c->search, cycle, 6, &length);
	if (!c->report->credit_cycles)
		return;
	at += snprintf(at, end - at, "credit loop:");
	for (unsigned i = 0; i < length && at < end; i++) {
		const struct topo_port *port = &c->t->ports[c->cdg.port_of[cycle[i]]];

		at += snprintf(at, end - at, " %s[%u]", c->t->nodes[port->node].name, port->num);
	}
	if (!*c->report->first)
		array_printf(c->report->first, "%s", c->report->cycle);
}

/* ---- Host pairs ------------------------------------------------------------------------------ */

/*
 * Hops are taken from one LID of each switch: plain LIDs behind one switch go the same number of
 * hops. True: it took a walk.
 */
static bool walk_if_due(struct check *c, uint32_t lid)
{
	const struct topo_port *dest = check_host_port(c, lid);
	bool cyclic = c->report->credit_cycles;

	if (dest && (c->walk[lid] || cyclic)) {
		check_walk_lid(c, lid);
	} else if (dest && topo_is_host(c->t, dest->node) &&
		   !c->measured[c->t->ports[dest->peer].node]) {
		c->measured[c->t->ports[dest->peer].node] = true;
		/*
		 * Adds to the hops, from where hosts are. The next one that is measured is not far
		 * from here, and not in the cache.
		 */
		memset(c->arrival, UNSEEN, c->t->nswitches);
		for (uint32_t sw = 0; sw < c->t->nswitches; sw++) {
			__builtin_prefetch(tables_row(c->tables, sw) + lid + TABLES_BLOCK);
			if (!c->hosts[sw])
				continue;
			if (c->arrival[sw] == UNSEEN)
				walk_one(c, sw, lid);
			if (c->arrival[sw] == ARRIVES)
				note_hops(c, sw);
		}
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
	struct arena *arena = c->scratch = arena_new();

	c->part = arena_array(arena, c->part, t->nnodes + 1);
	c->hosts = arena_array(arena, c->hosts, t->nswitches + 1);
	c->specials = arena_array(arena, c->specials, t->nswitches + 1);
	c->part_hosts = arena_array(arena, c->part_hosts, t->nnodes + 1);
	c->part_specials = arena_array(arena, c->part_specials, t->nnodes + 1);
	c->part_lidless = arena_array(arena, c->part_lidless, t->nnodes + 1);
	c->arrival = arena_array(arena, c->arrival, t->nswitches + 1);
	c->hops = arena_array(arena, c->hops, t->nswitches + 1);
	c->leads = arena_array(arena, c->leads, t->nports + 1);
	c->trail = arena_array(arena, c->trail, t->nswitches + 1);
}

void check_scratch_fini(struct check *c)
{
	arena_free(c->scratch);
	c->scratch = NULL;
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

static bool cycles_go(struct check *c)
{
	uint32_t cycle;
	unsigned length;

	if (cdg_search_go(c->search, VISITS_A_CALL))
		return true;
	c->exact = !cdg_search_groups(c->search, &cycle, 1, &length);
	/* Else each switch is taken again: the graph then holds only turns that packets make. */
	if (!c->exact)
		mem_zero(c->cdg.next, c->cdg.nchannels);
	return false;
}

void check_begin(struct check *c)
{
	*c->report = (struct check_report){ 0 };
	c->phase = BAD_SHAPE;
	c->at = 0;
	if (c->tables->nswitches != c->t->nswitches || c->tables->top < c->lids->top) {
		array_printf(c->report->first, "tables of another fabric");
		c->report->bad_ports = 1;
		return;
	}
	cdg_init(&c->cdg, c->t, true);
	c->walk = mem_array(c->walk, c->tables->top + 1u);
	c->counts = mem_array(c->counts, c->tables->top + 1u);
	/*
	 * First allow, then read each switch, then find in each: the graph then holds all
	 * dependencies, and c->walk comes of the gaps found.
	 */
	struct check_turns *turns = mem_new(turns);
	size_t blocks = tables_blocks(c->tables);

	turns->nblocks = blocks;
	turns->up = mem_alloc_unset(c->t->nswitches + 1u, blocks * sizeof(uint64_t));
	turns->none = mem_alloc_unset(c->t->nswitches + 1u, blocks * sizeof(uint64_t));
	turns->gaps = mem_array(turns->gaps, blocks);
	turns->walk = mem_array(turns->walk, blocks);
	c->turns = turns;

	c->measured = mem_array(c->measured, c->t->nswitches + 1u);
	check_find_leads(c);
	check_find_parts(c);

	uint32_t n = c->t->nswitches;
	struct outputs *outputs = mem_array(outputs, n + 1u);
	uint64_t(*back)[CDG_WORDS] = mem_array(back, n + 1u);

	for (uint32_t sw = 0; sw < n; sw++) {
		const uint32_t *leads = leads_of(c, sw);

		outputs[sw] = (struct outputs){ 0 };
		for (unsigned num = 1; num <= c->t->nodes[sw].nports; num++) {
			uint64_t bit = 1ull << (num % 64);

			if (leads[num] == TOPO_NONE || leads[num] == sw)
				continue;
			outputs[sw].all[num / 64] |= bit;
			if (!check_leads_up(c, sw, leads[num]))
				outputs[sw].down[num / 64] |= bit;
		}
	}
	for (uint32_t sw = 0; sw < n; sw++)
		allow_turns(c, sw, outputs, back);
	free(outputs);
	free(back);

	c->phase = READ;
}

bool check_go(struct check *c)
{
	uint32_t walks = STEPS_A_CALL / (c->t->nswitches + 1u) + 1;
	bool more = false;

	switch (c->phase) {
	case READ:
		more = rows_go(c, check_turns_read);
		break;
	case LOOK:
		more = rows_go(c, check_turns_find);
		for (uint32_t block = 0; !more && block < c->turns->nblocks; block++)
			for (uint64_t lids = c->turns->walk[block]; lids; lids &= lids - 1)
				c->walk[block * TABLES_BLOCK + __builtin_ctzll(lids)] = true;
		if (!more)
			c->search = cdg_search_new(&c->cdg);
		break;
	case CYCLES:
		more = cycles_go(c);
		break;
	case DEPENDENCIES:
		more = !c->exact && rows_go(c, check_turns_take);
		if (!c->exact && !more) {
			cdg_search_free(c->search);
			c->search = cdg_search_new(&c->cdg);
		}
		break;
	case EXACT_CYCLES:
		more = cdg_search_go(c->search, VISITS_A_CALL);
		if (!more) {
			judge_cycles(c);
			c->at = 1;
		}
		break;
	case WALKS:
		for (; walks && c->at <= c->lids->top; c->at++)
			walks -= walk_if_due(c, c->at);
		more = c->at <= c->lids->top;
		break;
	case SUM:
		c->report->mean_hops = c->hop_count ? (double)c->hop_sum / c->hop_count : 0;
		check_sum(c);
		break;
	default:
		return false;
	}
	c->phase += !more;
	return c->phase != ENDED;
}

bool check_end(struct check *c)
{
	const struct check_report *r = c->report;
	struct check_turns *turns = c->turns;

	if (turns) {
		free(turns->up);
		free(turns->none);
		free(turns->gaps);
		free(turns->walk);
		free(turns);
	}
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
