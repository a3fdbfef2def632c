/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/proof/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/proof/check_own.h"
#include "routing/proof/check_print.h"
#include "topology/mem.h"
#include "topology/random.h"

/*
 * Whether an entry that ends at a port delivers to the LID's owner there.
 */

static void name_entry(struct check *c, const char *what, uint32_t sw, uint32_t lid)
{
	const struct topo *t = c->t;

	if (c->report->first[0])
		return;
	uint32_t port = lid <= c->lids->top ? c->lids->port_of_lid[lid] : TOPO_NONE;
	snprintf(c->report->first, sizeof(c->report->first),
		 "%s: from %s (0x%016llx) to LID %u (%s)", what, t->nodes[sw].name,
		 (unsigned long long)t->nodes[sw].guid, lid,
		 port == TOPO_NONE ? "nobody" : t->nodes[t->ports[port].node].name);
}

bool check_delivers(const struct check *c, uint32_t sw, unsigned out, uint32_t lid)
{
	uint32_t dest = lid <= c->lids->top ? c->lids->port_of_lid[lid] : TOPO_NONE;

	if (dest == TOPO_NONE || out > c->t->nodes[sw].nports)
		return false;
	if (out == 0)
		return c->t->ports[dest].node == sw;
	return topo_port(c->t, sw, out)->peer == dest && topo_port(c->t, sw, out)->link_up;
}

void check_inspect_end(struct check *c, uint32_t sw, uint32_t lid)
{
	if (check_delivers(c, sw, tables_row(c->tables, sw)[lid], lid))
		return;
	c->report->bad_ports++;
	c->walk[lid] = true;
	name_entry(c, "entry leads to a port with nothing or somebody else behind it", sw, lid);
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
 * All entries are read (check_turns.c): which channels may wait for which, and which entries lead
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
