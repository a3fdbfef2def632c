/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which blocks are sent when. One pass over all rows finds what differs; if it is known of some of
 * these blocks what they hold, routing/order/order.h makes rounds of them, and a round begins when
 * the last one is answered. Of a round, blocks with hosts' traffic go first.
 *
 * What is promised: as long as every block is acknowledged, what order.h promises. When some is
 * given up, its switch holds the old entries or the new ones, we can't know. Both were allowed for
 * in its round; later ones must not build on it. So once something has failed, an entry leaves only
 * if everything further on its new path has been acknowledged, and old paths that work are not
 * ended; the others are held back, that is they stay on their old path, which is as good as it was.
 * So there is no loop and no pair loses what it has by a switch that fails; pairs that would gain
 * by a path through it wait for the next apply. Where the order needs whole rounds to keep clear of
 * credit loops (order.strict), no later round is begun at all.
 *
 * The promise starts from what is known. A newer apply therefore first waits for the answers that
 * are on their way, for as long as answers usually take; what is later counts as unknown, and is
 * written when its answer has come. Nothing is promised for paths through unknown blocks.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/program/program_priv.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define PATIENCE_US 20000
#define ROWS_A_STEP 512

static void todo_clear(struct store_switch *sw)
{
	memset(&sw->todo, 0, sizeof(sw->todo));
	sw->ntodo = 0;
}

/* ---- Finding what differs ------------------------------------------------------------------- */

static void switch_resolve(struct program *p, struct store_switch *sw)
{
	if (!sw->node || sw->node->removed)
		sw->node = inventory_find(p->inv, sw->guid);
	if (!sw->node)
		return;
	if (!sw->node->gone && !sw->node->sw.lft_top)
		cached_drop(sw);
	if (!sw->node->rebooted)
		return;
	memset(&sw->known, 0, sizeof(sw->known));
	cached_drop(sw);
	sw->node->rebooted = false;
}

/* A switch that is gone is compared again when it comes back; its absence is no failure. */
static struct store_switch *switch_here(struct program *p, uint32_t row)
{
	struct store_switch *sw = store_get(&p->store, p->topo->nodes[row].guid);

	switch_resolve(p, sw);
	p->rows[row] = sw->node && sw->node->gone ? NULL : sw;
	if (p->rows[row])
		sw->row = row;
	return p->rows[row];
}

/* Marks its blocks that differ; what an older apply still has on its way counts as such. */
static void switch_mark(struct program *p, struct store_switch *sw)
{
	uint32_t block;

	sw->stale = sw->busy;
	for (block = 0; block < tables_blocks(p->wanted); block++)
		if (program_differs(p, sw, block) && !store_has(&sw->todo, block)) {
			store_put(&sw->todo, block, true);
			sw->ntodo++;
		}
}

/* Why its tables can't be brought up to date, a literal; NULL = they can. */
static const char *switch_hindrance(const struct program *p, const struct store_switch *sw)
{
	if (!sw->node || sw->node->silent)
		return "unreachable";
	if (sw->node->sw.lft_cap && p->wanted->top >= sw->node->sw.lft_cap)
		return "has a forwarding table too small for the LIDs in use";
	return NULL;
}

static void switch_plan(struct program *p, uint32_t row)
{
	struct store_switch *sw = switch_here(p, row);

	if (!sw)
		return;
	switch_mark(p, sw);
	if (sw->node && inv_node_is(sw->node, INV_NO_SETS)) {
		todo_clear(sw); /* isolated: no path waits for what it holds */
		return;
	}
	if (!switch_hindrance(p, sw))
		program_send_top(p, sw);
	else if (sw->ntodo)
		program_fail(p, sw, switch_hindrance(p, sw));
	p->result.switches += !sw->failed && (sw->ntodo || sw->top_due);
}

/* ---- The order ------------------------------------------------------------------------------ */

static uint32_t add_blocks(const struct store_switch *sw, struct order_block *blocks)
{
	uint32_t count = 0, block;

	for (block = store_next(&sw->todo, 0); block < STORE_BLOCKS;
	     block = store_next(&sw->todo, block + 1))
		blocks[count++] = (struct order_block){
			sw->row, block, store_has(&sw->known, block) ? store_block(sw, block) : NULL
		};
	return count;
}

static bool some_known(const struct program *p)
{
	uint32_t row, block;

	for (row = 0; row < p->topo->nswitches; row++) {
		const struct store_switch *sw = p->rows[row];

		for (block = sw ? store_next(&sw->todo, 0) : STORE_BLOCKS; block < STORE_BLOCKS;
		     block = store_next(&sw->todo, block + 1))
			if (store_has(&sw->known, block))
				return true;
	}
	return false;
}

/* The marked blocks of all switches are to be the steps of an order, and are marked no more. */
static void order_marked(struct program *p)
{
	struct order_block *blocks;
	uint32_t row, count = 0;

	for (row = 0; row < p->topo->nswitches; row++)
		count += p->rows[row] ? p->rows[row]->ntodo : 0;
	blocks = mem_alloc(count + 1u, sizeof(*blocks));
	for (row = count = 0; row < p->topo->nswitches; row++) {
		if (!p->rows[row])
			continue;
		count += add_blocks(p->rows[row], blocks + count);
		todo_clear(p->rows[row]);
	}
	p->making = order_begin(p->topo, p->wanted, blocks, count, &p->proof);
	free(blocks);
}

/* A block that is to go now, or when an older write of it is answered. */
static void send_or_late(struct program *p, struct store_switch *sw, uint32_t block)
{
	if (store_has(&sw->stale, block))
		store_put(&sw->late, block, true);
	else
		program_send_block(p, sw, block);
}

/* Nothing is known of what differs: all at once. */
static void send_all(struct program *p)
{
	uint32_t row, block;

	p->result.rounds++;
	for (row = 0; row < p->topo->nswitches; row++) {
		struct store_switch *sw = p->rows[row];
		struct store_set due;

		if (!sw || !sw->ntodo)
			continue;
		due = sw->todo;
		todo_clear(sw);
		for (block = store_next(&due, 0); !sw->failed && block < STORE_BLOCKS;
		     block = store_next(&due, block + 1))
			send_or_late(p, sw, block);
	}
}

/* ---- From apply() to the first block -------------------------------------------------------- */

static enum job_result read_file(void *arg)
{
	struct program *p = arg;

	if (cached_load(p))
		return JOB_MORE;
	cached_assume(p);
	return JOB_NEXT;
}

static uint32_t rows_end(const struct program *p)
{
	uint32_t end = p->planned + ROWS_A_STEP;

	return end < p->topo->nswitches ? end : p->topo->nswitches;
}

/* Cached blocks that are to change are read first. */
static enum job_result recheck_rows(void *arg)
{
	struct program *p = arg;
	uint32_t end = rows_end(p);

	if (!p->planned)
		cached_recheck_none(p);
	for (; p->cached.some && p->planned < end; p->planned++) {
		struct store_switch *sw = switch_here(p, p->planned);

		if (sw)
			cached_recheck(p, sw);
	}
	if (p->cached.some && end < p->topo->nswitches)
		return JOB_MORE;
	p->planned = 0;
	if (!p->cached.some || !cached_begin(p))
		return JOB_NEXT;
	batch_wake(p->batch);
	return JOB_END;
}

static enum job_result mark_rows(void *arg)
{
	struct program *p = arg;
	uint32_t end = rows_end(p);

	while (p->planned < end)
		switch_plan(p, p->planned++);
	return end < p->topo->nswitches ? JOB_MORE : JOB_NEXT;
}

static enum job_result find_order(void *arg)
{
	struct program *p = arg;

	if (p->making)
		return order_go(p->making) ? JOB_MORE : JOB_NEXT;
	if (!some_known(p)) {
		send_all(p);
		return JOB_NEXT;
	}
	order_marked(p);
	return JOB_MORE;
}

/*
 * What goes without an order goes now, the first round when the switches have their tops: what
 * waits for one is in no round.
 */
static enum job_result begin_sending(void *arg)
{
	struct program *p = arg;

	if (p->making)
		order_end(p->making, &p->order);
	p->making = NULL;
	p->stage = PROGRAM_SENDS;
	batch_wake(p->batch);
	return JOB_END;
}

#define DOUBT 1 /* a step */
static const struct job_step plan_steps[] = {
	{ "program-remember", read_file },  { "program-recheck", recheck_rows },
	{ "program-compare", mark_rows },   { "program-order", find_order },
	{ "program-begin", begin_sending }, { NULL, NULL },
};

static void plan_start(void *arg)
{
	struct program *p = arg;

	loop_timer_stop(p->patience);
	p->stage = PROGRAM_PLANS;
	p->planned = 0;
	job_start(p->plan, plan_steps, NULL);
}

void plan_resume(struct program *p)
{
	plan_forget(p);
	p->stage = PROGRAM_PLANS;
	p->planned = 0;
	job_start(p->plan, plan_steps + DOUBT, NULL);
}

void plan_init(struct program *p)
{
	p->patience = loop_timer_new(p->loop, plan_start, p);
	p->plan = job_new(p->loop, p);
}

void plan_fini(struct program *p)
{
	plan_forget(p);
	loop_timer_free(p->patience);
	job_free(p->plan);
	free(p->rows);
	free(p->round.parts);
	free(p->turn.list);
}

void plan_forget(struct program *p)
{
	loop_timer_stop(p->patience);
	job_stop(p->plan);
	order_drop(p->making);
	p->making = NULL;
	order_fini(&p->order);
	p->round.begun = p->round.kinds = 0;
	p->round.nparts = p->turn.count = 0;
}

void plan_apply(struct program *p)
{
	p->rows = mem_resize(p->rows, p->topo->nswitches + 1u, sizeof(*p->rows));
	p->turn.list = mem_resize(p->turn.list, p->topo->nswitches + 1u, sizeof(*p->turn.list));
	memset(p->rows, 0, (p->topo->nswitches + 1u) * sizeof(*p->rows));
	if (!batch_in_flight(p->batch)) {
		plan_start(p);
		return;
	}
	p->stage = PROGRAM_WAITS;
	loop_timer_set(p->patience, PATIENCE_US);
}

/* ---- Once something failed ------------------------------------------------------------------ */

static bool has_wanted(const struct program *p, uint32_t row, uint32_t lid)
{
	const struct store_switch *sw = p->rows[row];
	uint32_t block = lid / TABLES_BLOCK;

	return sw && store_has(&sw->known, block) &&
	       store_block(sw, block)[lid % TABLES_BLOCK] == tables_row(p->wanted, row)[lid];
}

/* Whether all switches further on the new path have acknowledged it. */
static bool path_in_place(const struct program *p, uint32_t row, uint32_t lid)
{
	const struct topo *t = p->topo;
	uint32_t hops;

	for (hops = 0; hops <= t->nswitches; hops++) {
		unsigned out = tables_row(p->wanted, row)[lid];
		const struct topo_port *peer;

		if (!out || out > t->nodes[row].nports || !topo_port(t, row, out)->link_up)
			return true;
		peer = topo_peer(t, topo_port(t, row, out));
		if (peer->node >= t->nswitches)
			return true;
		row = peer->node;
		if (!has_wanted(p, row, lid))
			return false;
	}
	return true;
}

/* Entries of a part that may leave. */
static uint64_t allowed(const struct program *p, const struct program_part *part)
{
	uint64_t mask = part->take & ~part->last, left;

	if (!p->trouble)
		return part->take;
	if (p->order.strict)
		return 0;
	for (left = mask; left; left &= left - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(left);

		if (!path_in_place(p, part->sw, part->block * TABLES_BLOCK + bit))
			mask &= ~(1ull << bit);
	}
	return mask;
}

/* ---- Rounds --------------------------------------------------------------------------------- */

static int compare_parts(const void *a, const void *b)
{
	const struct program_part *x = a, *y = b;

	if (x->sw != y->sw)
		return x->sw < y->sw ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

static void merge_parts(struct program_round *round)
{
	uint32_t i, kept = 0;

	for (i = 0; i < round->nparts; i++) {
		struct program_part *last = &round->parts[kept ? kept - 1 : 0];
		const struct program_part *part = &round->parts[i];

		if (!kept || compare_parts(last, part)) {
			round->parts[kept++] = *part;
			continue;
		}
		last->take |= part->take;
		last->empty |= part->empty;
		last->last |= part->last;
		last->hosts |= part->hosts;
	}
	round->nparts = kept;
}

static void round_begin(struct program *p)
{
	struct program_round *round = &p->round;
	uint32_t i = p->order.first[round->begun++], end = p->order.first[round->begun];

	round->parts = mem_resize(round->parts, end - i + 1u, sizeof(*round->parts));
	for (round->nparts = 0; i < end; i++) {
		const struct order_step *step = &p->order.steps[i];

		round->parts[round->nparts++] = (struct program_part){
			.sw = step->sw,
			.block = step->block,
			.take = step->drain ? 0 : step->mask,
			.empty = step->drain ? step->mask : 0,
			.last = step->last,
			.hosts = step->hosts,
		};
	}
	sort_if_needed(round->parts, round->nparts, sizeof(*round->parts), compare_parts);
	merge_parts(round);
	round->kinds = 2;
	p->result.rounds++;
}

void plan_content(const struct program *p, const struct store_switch *sw, uint32_t block,
		  uint8_t content[TABLES_BLOCK])
{
	const struct program_round *round = &p->round;
	const struct program_part key = { .sw = sw->row, .block = block }, *part;
	const uint8_t *want = program_wanted(p, sw, block);
	unsigned i;

	part = round->nparts
		       ? bsearch(&key, round->parts, round->nparts, sizeof(key), compare_parts)
		       : NULL;
	if (!part || part->whole) {
		memcpy(content, want, TABLES_BLOCK);
		return;
	}
	memcpy(content, store_block(sw, block), TABLES_BLOCK);
	for (i = 0; i < TABLES_BLOCK; i++)
		if (part->take >> i & 1)
			content[i] = want[i];
		else if (part->empty >> i & 1)
			content[i] = TABLES_NO_ROUTE;
}

static void send_part(struct program *p, struct program_part *part)
{
	struct store_switch *sw = p->rows[part->sw];
	uint64_t mask;

	if (sw->failed)
		return;
	if (!store_has(&sw->known, part->block)) {
		part->whole = true;
		send_or_late(p, sw, part->block);
		return;
	}
	mask = allowed(p, part);
	p->result.held += (unsigned)__builtin_popcountll(part->take & ~mask);
	part->take = mask;
	if (p->trouble)
		part->empty = 0;
	if (part->take || part->empty)
		send_or_late(p, sw, part->block);
}

bool plan_more(struct program *p)
{
	struct program_round *round = &p->round;

	while (round->kinds && !p->turn.count) {
		bool hosts = round->kinds-- == 2;
		uint32_t i;

		for (i = 0; i < round->nparts; i++)
			if (round->parts[i].hosts == hosts)
				send_part(p, &round->parts[i]);
	}
	return p->turn.count > 0;
}

/* Nothing is on its way any more: no need for patience. */
bool plan_waits(struct program *p)
{
	if (p->stage == PROGRAM_WAITS)
		plan_start(p);
	return p->stage == PROGRAM_PLANS;
}

bool plan_next(struct program *p)
{
	while (p->round.begun < p->order.nrounds) {
		round_begin(p);
		if (plan_more(p))
			return true;
	}
	return false;
}
