/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * apply() marks the blocks to send (todo), all of them or round by round; then they
 * leave round-robin over the switches, so that no switch gets its table in one burst and none waits
 * for another.
 *
 *   todo   make() copies the new content into the store, known goes off
 *   busy   the answer carries the block, same as sent: known
 *          anything else: again, TRIES times, then the switch is given up
 *   stale  busy, and the apply that sent it was superseded: never sent again by that. If it is
 *          wanted now (late), it goes to todo when it is answered, or was lost
 *
 * The store holds what was sent while a block is busy and what was acknowledged once it is known,
 * as far as that is not what is wanted: the wanted tables' memory is a part of it from one apply to
 * the next.
 *
 * Cached blocks (cached.c) are read by jobs of the same batch.
 *
 * LinearFDBTop and the life time (IBA 14.2.5.4) go ahead of the blocks of their switch: entries
 * above the top are not looked at, and some devices refuse blocks beyond it.
 */
#include <assert.h>
#include "fm/program/program_priv.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/* ---- Queues writes of a block and of LinearFDBTop, and gives up a switch that fails ---------- */

#define LOG_BURST 20

/* it has blocks to send */
static void program_turn_add(struct program *p, struct store_switch *sw)
{
	if (sw->in_turn || sw->top_due)
		return;
	sw->in_turn = true;
	p->turn.list[p->turn.count++] = sw;
}

/* queues it */
static void program_send_block(struct program *p, struct store_switch *sw, uint32_t block)
{
	if (!store_has(&sw->todo, block))
		sw->ntodo++;
	store_put(&sw->todo, block, true);
	program_turn_add(p, sw);
}

/* if it differs, or is to show whether the switch takes a Set */
static void program_send_top(struct program *p, struct store_switch *sw)
{
	struct batch_job job = { .object = sw, .kind = JOB_TOP, .urgent = true };
	struct inv_wanted *wanted = inv_wanted(sw->node);

	if (wanted->top != p->wanted->top || wanted->life_time != p->life_time) {
		wanted->top = p->wanted->top;
		wanted->life_time = p->life_time;
	}
	if (!sw->top_due && sw->node->sw.lft_top == wanted->top &&
	    sw->node->sw.life_time == wanted->life_time)
		return;
	sw->top_due = true;
	batch_add(p->batch, &job);
}

/* Gives the switch up for this apply, and logs it with the reason. */
static void program_fail(struct program *p, struct store_switch *sw, const char *why)
{
	struct inv_name name;

	p->any_failed = true;
	cached_drop(sw);
	if (sw->failed)
		return;
	sw->failed = true;
	p->result.failed_switches++;
	if (!log_allow(&p->failed_log, loop_now_us(p->loop), LOG_BURST))
		return;
	if (sw->node)
		name = inventory_name(sw->node, -1);
	log_line(LOG_PROGRAM, LOG_WARNING, "%s: %s; its forwarding table is not up to date",
		 sw->node ? name.text : "a removed switch", why);
}

/* ---- Which blocks are sent when -------------------------------------------------------------- */

/*
 * One pass over all rows finds what differs; if it is known of some of
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

#define PATIENCE_US 20000
#define LONG_US	    200000 /* of a plan that is not replaced, and is then written for as long */
#define ROWS_A_STEP 512	   /* an eighth of it where entries of adaptive routing are compared */

static void todo_clear(struct store_switch *sw)
{
	mem_zero(&sw->todo, 1);
	sw->ntodo = 0;
}

/* ---- Finding what differs ------------------------------------------------------------------- */

static void switch_resolve(struct program *p, struct store_switch *sw)
{
	if (!sw->node || sw->node->removed)
		sw->node = inventory_find(p->inv, sw->guid);
	if (!sw->node)
		return;
	if (!sw->node->gone && !sw->node->silent && !sw->node->sw.lft_top)
		cached_drop(sw);
	if (!sw->node->rebooted)
		return;
	mem_zero(&sw->known, 1);
	sw->npast = 0;
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

/* Why its tables can't be brought up to date, a literal; NULL = they can. */
static const char *switch_hindrance(const struct program *p, const struct store_switch *sw)
{
	if (!sw->node || sw->node->silent)
		return "unreachable";
	if (sw->node->sw.lft_cap && p->wanted->top >= sw->node->sw.lft_cap)
		return "has a forwarding table too small for the LIDs in use";
	return NULL;
}

/* ---- The order ------------------------------------------------------------------------------ */

static bool some_known(const struct program *p)
{
	for (uint32_t row = 0; row < p->topo->nswitches; row++) {
		const struct store_switch *sw = p->rows[row];
		uint32_t block = sw ? store_next(&sw->todo, 0) : STORE_BLOCKS;

		for (; block < STORE_BLOCKS; block = store_next(&sw->todo, block + 1))
			if (store_has(&sw->known, block))
				return true;
	}
	return false;
}

/* A block that is to go now, or when an older write of it is answered. */
static void send_or_late(struct program *p, struct store_switch *sw, uint32_t block)
{
	if (store_has(&sw->stale, block))
		store_put(&sw->late, block, true);
	else
		program_send_block(p, sw, block);
}

/* ---- From apply() to the first block -------------------------------------------------------- */

static enum job_result read_cached(void *arg)
{
	struct program *p = arg;

	if (cached_load(p))
		return JOB_MORE;
	cached_assume(p);
	return JOB_NEXT;
}

static uint32_t rows_end(const struct program *p)
{
	uint32_t end = p->planned + ROWS_A_STEP / (p->entries ? 8 : 1);

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

	while (p->planned < end) {
		struct store_switch *sw = switch_here(p, p->planned++);

		if (!sw)
			continue;

		/*
		 * Marks its blocks that differ; what an older apply still has on its way counts as
		 * such.
		 */
		uint32_t block;

		sw->stale = sw->busy;
		program_know_entries(p, sw, 0, tables_blocks(p->wanted));
		for (block = 0; block < tables_blocks(p->wanted); block++)
			if (program_differs(p, sw, block) && !store_has(&sw->todo, block)) {
				store_put(&sw->todo, block, true);
				sw->ntodo++;
			}

		if (sw->node && inv_node_is(sw->node, INV_NO_SETS)) {
			todo_clear(sw); /* isolated: no path waits for what it holds */
			continue;
		}
		if (!switch_hindrance(p, sw))
			program_send_top(p, sw);
		else if (sw->ntodo)
			program_fail(p, sw, switch_hindrance(p, sw));
		p->result.switches += !sw->failed && (sw->ntodo || sw->top_due);
	}
	return end < p->topo->nswitches ? JOB_MORE : JOB_NEXT;
}

/* The marked blocks of all switches are to be the steps of an order, and are marked no more. */
static enum job_result order_marked(struct program *p)
{
	uint32_t row, count = 0;

	for (row = 0; row < p->topo->nswitches; row++)
		count += p->rows[row] ? p->rows[row]->ntodo : 0;

	struct order_block *blocks = mem_array(blocks, count + 1u);

	for (row = count = 0; row < p->topo->nswitches; row++) {
		if (!p->rows[row])
			continue;

		struct store_switch *sw = p->rows[row];
		struct store_set due = sw->todo;

		todo_clear(sw);
		for (uint32_t b = store_next(&due, 0); b < STORE_BLOCKS;
		     b = store_next(&due, b + 1)) {
			const uint8_t *held = store_has(&sw->known, b) ? store_block(sw, b) : NULL;

			if (held && !sw->failed && program_parts(p, sw, b, held))
				send_or_late(p, sw, b);
			if (!held || memcmp(held, tables_block(p->wanted, row, b), TABLES_BLOCK))
				blocks[count++] = (struct order_block){ row, b, held };
		}
	}
	p->round.ahead = true;
	if (count)
		p->making = order_begin(p->topo, p->wanted, blocks, count, &p->proof);
	free(blocks);

	return count ? JOB_MORE : JOB_NEXT;
}

static enum job_result find_order(void *arg)
{
	struct program *p = arg;

	if (p->making)
		return order_go(p->making) ? JOB_MORE : JOB_NEXT;
	if (!some_known(p)) {
		/* Nothing is known of what differs: all at once. */
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

		return JOB_NEXT;
	}

	return order_marked(p);
}

/* What waits for no order goes now, the first round when the switches have their tops. */
static enum job_result begin_sending(void *arg)
{
	struct program *p = arg;

	p->round.ready = p->entries && p->entries->waits(p->entries->arg);
	if (p->round.ready)
		return JOB_END;
	if (p->making)
		order_end(p->making, &p->order);
	p->making = NULL;
	p->result.drained += p->order.drained;
	p->result.at_a_time = p->order.most;
	p->stage = PROGRAM_SENDS;
	p->round.whole_us =
		loop_now_us(p->loop) < p->round.whole_us ? 0 : loop_now_us(p->loop) + LONG_US;
	batch_wake(p->batch);
	return JOB_END;
}

void program_entries_go(struct program *p)
{
	if (p->round.ready)
		begin_sending(p);
}

#define DOUBT 1 /* a step */
static const struct job_step plan_steps[] = {
	{ "program-remember", read_cached }, { "program-recheck", recheck_rows },
	{ "program-compare", mark_rows },    { "program-order", find_order },
	{ "program-begin", begin_sending },  { NULL, NULL },
};

static void plan_start(void *arg)
{
	struct program *p = arg;

	loop_timer_stop(p->patience);
	p->stage = PROGRAM_PLANS;
	p->planned = 0;
	job_start(p->plan, plan_steps, NULL);
}

/* drops the plan, whatever is left of it */
static void plan_forget(struct program *p)
{
	loop_timer_stop(p->patience);
	job_stop(p->plan);
	order_drop(p->making);
	p->making = NULL;
	order_fini(&p->order);
	p->round.begun = p->round.kinds = 0;
	p->round.ahead = p->round.ready = false;
	p->round.nparts = p->turn.count = 0;
}

/* Plans the apply, at once or when all that an earlier one sent is answered. */
static void plan_apply(struct program *p)
{
	p->rows = mem_array_resize(p->rows, p->topo->nswitches + 1u);
	p->turn.list = mem_array_resize(p->turn.list, p->topo->nswitches + 1u);
	mem_zero(p->rows, p->topo->nswitches + 1u);
	if (!batch_in_flight(p->batch)) {
		plan_start(p);
		return;
	}
	p->stage = PROGRAM_WAITS;
	loop_timer_set(p->patience, PATIENCE_US);
}

/* ---- Rounds --------------------------------------------------------------------------------- */

SORT_BY(compare_parts, struct program_part,
	sort_order(a->sw, b->sw) ?: sort_order(a->block, b->block))

/* Writes what a block of this round is to contain. */
static void plan_content(const struct program *p, const struct store_switch *sw, uint32_t block,
			 uint8_t content[TABLES_BLOCK])
{
	const struct program_round *round = &p->round;
	const struct program_part key = { .sw = sw->row, .block = block }, *part;
	struct order_step step = { .sw = sw->row, .block = block };
	uint8_t want[TABLES_BLOCK];

	part = round->nparts
		       ? bsearch(&key, round->parts, round->nparts, sizeof(key), compare_parts)
		       : NULL;
	step.tree = part ? part->tree : 0;
	order_content(&p->order, p->topo, p->wanted, &step, want);
	if (!part || part->whole) {
		bool keeps = round->ahead && program_by_entries(p, sw);

		memcpy(content, keeps ? store_block(sw, block) : want, TABLES_BLOCK);
		return;
	}
	if (part->blank)
		memset(content, TABLES_NO_ROUTE, TABLES_BLOCK);
	else
		memcpy(content, store_block(sw, block), TABLES_BLOCK);
	for (unsigned i = 0; i < TABLES_BLOCK; i++)
		if (part->take >> i & 1)
			content[i] = want[i];
		else if (part->empty >> i & 1)
			content[i] = TABLES_NO_ROUTE;
}

/* Hands over more blocks of the present round. False: that were all. */
static bool plan_more(struct program *p)
{
	struct program_round *round = &p->round;

	while (round->kinds && !p->turn.count) {
		bool hosts = round->kinds-- == 2;

		for (uint32_t i = 0; i < round->nparts; i++)
			if (round->parts[i].hosts == hosts) {
				struct program_part *part = &round->parts[i];
				struct store_switch *sw = p->rows[part->sw];

				if (sw->failed)
					continue;
				/* Where nothing was shown there is no path to lose meanwhile. */
				part->blank = !store_shown(sw, part->block);
				part->whole = !part->blank && !store_has(&sw->known, part->block);
				if (part->whole) {
					send_or_late(p, sw, part->block);
					continue;
				}

				uint64_t mask = program_allowed(p, part);

				p->result.held += __builtin_popcountll(part->take & ~mask);
				part->take = mask;
				if (p->any_failed)
					part->empty = 0;
				if (part->take || part->empty)
					send_or_late(p, sw, part->block);
			}
	}
	return p->turn.count > 0;
}

/* What the order emptied is filled. */
static void drain_ends(struct program *p)
{
	if (p->round.drain_us)
		p->result.drained_us += loop_now_us(p->loop) - p->round.drain_us;
	p->round.drain_us = p->round.emptied = 0;
}

/* Begins the next round that has blocks. False: there is none. */
static bool plan_next(struct program *p)
{
	p->round.ahead = false;
	while (p->round.begun < p->order.nrounds) {
		struct program_round *round = &p->round;
		uint32_t i = p->order.first[round->begun++], end = p->order.first[round->begun];
		uint32_t emptied = 0;

		if (!round->emptied)
			drain_ends(p);
		round->parts = mem_array_resize(round->parts, end - i + 1u);
		for (round->nparts = 0; i < end; i++) {
			const struct order_step *step = &p->order.steps[i];

			emptied += __builtin_popcountll(step->drain ? step->mask : 0);
			emptied -= step->emptied ? __builtin_popcountll(step->mask) : 0;
			round->parts[round->nparts++] = (struct program_part){
				.sw = step->sw,
				.block = step->block,
				.take = step->drain ? 0 : step->mask,
				.empty = step->drain ? step->mask : 0,
				.last = step->last,
				.tree = step->tree,
				.hosts = step->hosts,
			};
		}
		sort_if_needed(round->parts, round->nparts, sizeof(*round->parts), compare_parts);

		uint32_t kept = 0;

		for (uint32_t at = 0; at < round->nparts; at++) {
			struct program_part *last = &round->parts[kept ? kept - 1 : 0];
			const struct program_part *part = &round->parts[at];

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

		round->kinds = 2;
		p->result.rounds++;
		round->emptied += emptied;
		if (emptied && !round->drain_us)
			round->drain_us = loop_now_us(p->loop);

		if (plan_more(p))
			return true;
	}
	drain_ends(p);
	return false;
}

/* ---- Program --------------------------------------------------------------------------------- */

#define TRIES 4
#define MORE  64 /* jobs queued at a time */

static bool is_wanted(const struct program *p, const struct store_switch *sw)
{
	return p->busy && sw->row != ROW_NONE;
}

/* ---- The turn ------------------------------------------------------------------------------- */

static bool program_more(void *owner)
{
	struct program *p = owner;
	struct program_turn *turn = &p->turn;
	struct batch_job job = { .kind = JOB_BLOCK };
	unsigned added = 0;

	if (p->stage == PROGRAM_READS)
		return cached_more(p);
	if (p->stage != PROGRAM_SENDS)
		return false; /* what differs is marked, and in no order yet */
	while (added < MORE && (turn->count || plan_more(p))) {
		if (turn->next >= turn->count)
			turn->next = 0;

		struct store_switch *sw = turn->list[turn->next];

		if (!sw->ntodo) {
			sw->in_turn = false; /* the last one comes in its place */
			turn->list[turn->next] = turn->list[--turn->count];
			continue;
		}
		job.object = sw;

		uint32_t block = store_next(&sw->todo, 0);

		store_put(&sw->todo, block, false);
		sw->ntodo--;
		job.arg = block;
		job.wave = 0;
		if (program_by_entries(p, sw)) {
			uint8_t ports[TABLES_BLOCK];

			plan_content(p, sw, block, ports);
			if (!(job.wave = program_parts(p, sw, block, ports)))
				continue; /* it went ahead of its round */
		}

		batch_add(p->batch, &job);
		added++;
		turn->next++;
	}
	return added > 0;
}

/* ---- Sending -------------------------------------------------------------------------------- */

static void switch_give_up(struct program *p, struct store_switch *sw, const char *why)
{
	mem_zero(&sw->todo, 1);
	sw->ntodo = 0;
	sw->top_due = false;
	program_fail(p, sw, why);
}

static void switch_refuses(struct program *p, struct store_switch *sw, const char *why)
{
	sw->refuses = true;
	switch_give_up(p, sw, why);
}

static bool program_path(void *owner, const struct batch_job *job, struct batch_path *via)
{
	struct program *p = owner;
	const struct store_switch *sw = job->object;

	via->stamp = p->inv->clock;
	return sw->node && inventory_port_path(p->inv, sw->node, 0, &via->path);
}

static bool make_block(struct program *p, struct store_switch *sw, const struct batch_job *job,
		       struct batch_request *request)
{
	uint32_t block = job->arg;
	unsigned part = job->wave ? __builtin_ctz(job->wave) : 0;

	if (!job->wave == program_by_entries(p, sw)) {
		switch_give_up(p, sw, "forwards by another table than before");
		return false;
	}
	plan_content(p, sw, block, request->data);
	if (store_has(&sw->known, block)) {
		const uint8_t *a = store_block(sw, block);
		unsigned first = job->wave ? part * PROGRAM_PART_LIDS : 0, n = 0;

		for (unsigned i = first; i < (job->wave ? first + PROGRAM_PART_LIDS : TABLES_BLOCK);
		     i++)
			n += a[i] != request->data[i];
		p->result.entries += n;
	}
	store_put(&sw->unread, block, true);
	store_leave(sw, block);
	store_put(&sw->known, block, false);
	store_put(&sw->cached, block, false);
	store_put(&sw->busy, block, true);
	store_sent(sw, block, request->data);
	request->mad.attr_id = WIRE_LFT;
	request->mad.attr_mod = block;
	if (job->wave) {
		uint8_t ports[TABLES_BLOCK];

		memcpy(ports, request->data, TABLES_BLOCK);
		p->entries->request(p->entries->arg, sw->node, block * PROGRAM_PARTS + part,
				    ports + part * PROGRAM_PART_LIDS, &request->mad, request->data);
	}
	p->result.sent_us = p->result.sent_us ?: loop_clock_us(p->loop);
	return true;
}

static bool program_make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct program *p = owner;
	struct store_switch *sw = job->object;

	if (!is_wanted(p, sw) || sw->failed || !sw->node || sw->node->removed ||
	    !program_path(p, job, &request->via)) {
		if (is_wanted(p, sw))
			switch_give_up(p, sw, "unreachable");
		return false;
	}
	request->mad.method = WIRE_SET;
	request->mad.device = sw->guid;
	request->mad.urgent = job->urgent;
	request->mad.doubtful = job->tries > 0;
	request->mad.retries = 1;
	if (job->kind == JOB_READ)
		return cached_make(p, sw, job, request);
	if (job->kind == JOB_TOP) {
		const struct inv_wanted *wanted = inv_wanted(sw->node);
		struct wire_switch_info info = sw->node->sw;

		info.lft_top = wanted->top;
		info.life_time = wanted->life_time;
		if (wanted->mft_top && !sw->node->rebooted)
			info.mft_top = wanted->mft_top;
		info.port_state_change = false; /* a 1 would clear it: sweep's business */
		wire_switch_info_encode(&info, request->data);
		request->mad.attr_id = WIRE_SWITCH_INFO;
	} else {
		return make_block(p, sw, job, request);
	}
	return true;
}

/* ---- Answers -------------------------------------------------------------------------------- */

static bool program_retry(struct program *p, const struct batch_job *job)
{
	struct batch_job again = *job;

	again.urgent = false; /* after those that are likely to be answered */
	if (++again.tries >= TRIES)
		return false;
	batch_add(p->batch, &again);
	return true;
}

static void top_answered(struct program *p, struct store_switch *sw, const struct batch_job *job,
			 const struct mad_answer *answer)
{
	bool psc = sw->node->sw.port_state_change;
	struct wire_switch_info info;

	if (answer->result == MAD_OK) {
		wire_switch_info_decode(answer->data, &info);
		sw->node->sw = info;
		sw->node->sw.port_state_change = psc;
		if (info.lft_top == inv_wanted(sw->node)->top && sw->top_due) {
			sw->top_due = false;
			program_turn_add(p, sw);
			return;
		}
	}
	if (sw->top_due && !program_retry(p, job))
		switch_refuses(p, sw, "does not apply its LinearFDBTop");
}

static bool part_taken(struct program *p, struct store_switch *sw, const struct batch_job *job,
		       const uint8_t *data)
{
	uint32_t part = job->arg * PROGRAM_PARTS + __builtin_ctz(job->wave);

	if (!program_by_entries(p, sw) ||
	    !p->entries->answered(p->entries->arg, sw->node, part, data))
		return false;
	program_know_entries(p, sw, job->arg, job->arg + 1);
	return true;
}

static void block_refused(struct program *p, struct store_switch *sw, const struct batch_job *job,
			  enum mad_result result)
{
	if (job->wave && result != MAD_TIMEOUT) {
		p->entries->refused(p->entries->arg, sw->node);
		switch_give_up(p, sw, "rejects entries of adaptive routing");
	} else {
		switch_refuses(p, sw,
			       result == MAD_OK ? "holds other entries than it was sent"
						: "rejects blocks or does not answer");
	}
}

static void block_answered(struct program *p, struct store_switch *sw, const struct batch_job *job,
			   const struct mad_answer *answer)
{
	uint32_t block = job->arg;
	bool fine = answer->result == MAD_OK, taken = fine && block < sw->nblocks;
	struct batch_job more = *job;

	store_put(&sw->busy, block, false);
	if (taken)
		taken = job->wave ? part_taken(p, sw, job, answer->data)
				  : program_same(sw, block, answer->data);
	more.wave &= taken ? more.wave - 1 : 0;
	if (fine && !job->wave)
		store_past_end(sw, block);
	if (taken) {
		if (!job->wave)
			store_put(&sw->known, block, true);
		p->blocks_written++;
		p->result.blocks += p->busy;
	}
	if (store_has(&sw->stale, block) || !is_wanted(p, sw)) {
		/*
		 * What a superseded apply sent: whatever became of it, the newest content may go
		 * now.
		 */
		bool late = store_has(&sw->late, block);

		store_put(&sw->stale, block, false);
		store_put(&sw->late, block, false);
		if (late && is_wanted(p, sw) && !sw->failed && program_differs(p, sw, block))
			program_send_block(p, sw, block);
	} else if (more.wave) {
		batch_add(p->batch, &more);
	} else if (!taken && (sw->failed || !program_retry(p, job))) {
		block_refused(p, sw, job, answer->result);
	}
}

static void program_answer(void *owner, const struct batch_job *job, const struct batch_path *via,
			   const struct mad_answer *answer)
{
	struct program *p = owner;
	struct store_switch *sw = job->object;

	inventory_path_result(p->inv, &via->path,
			      answer->result == MAD_OK || answer->result == MAD_STATUS, via->stamp);
	if (job->kind == JOB_TOP)
		top_answered(p, sw, job, answer);
	else if (job->kind == JOB_BLOCK)
		block_answered(p, sw, job, answer);
	else if (answer->result == MAD_OK)
		cached_answer(p, sw, job, answer->data);
	else if (is_wanted(p, sw) && !program_retry(p, job))
		cached_drop(sw); /* one that does not say what it holds is written */
}

static void program_release(struct program *p)
{
	p->busy = false;
	p->wanted = NULL;
	topo_unref(p->topo);
	p->topo = NULL;
	plan_forget(p);
}

static void program_report_reads(struct program *p, unsigned unread)
{
	struct program_result result = p->result;

	result.smps = batch_smps(p->batch) - p->smps_before;
	result.unread = unread;
	if (!unread) {
		/* What was read is reported when all is, whichever apply began with it. */
		result.read = p->cached.read;
		result.differed = p->cached.differed;
		p->cached.read = p->cached.differed = 0;
		p->cached.first = false;
	}
	p->result = (struct program_result){ 0 };
	p->fn(p->arg, &result); /* may free p */
}

static void program_idle(void *owner)
{
	struct program *p = owner;

	/*
	 * All that was sent is answered. True: planning goes on by itself, nothing is to be sent
	 * now. Nothing is on its way any more: no need for patience.
	 */
	if (p->stage == PROGRAM_WAITS)
		plan_start(p);
	if (p->stage == PROGRAM_PLANS)
		return;

	if (p->stage == PROGRAM_READS) {
		/* plans anew, from what is known now */
		plan_forget(p);
		p->stage = PROGRAM_PLANS;
		p->planned = 0;
		job_start(p->plan, plan_steps + DOUBT, NULL);
	} else if (plan_next(p)) {
		batch_wake(p->batch);
	} else if (cached_rest(p)) {
		/* All is written, as far as that is known; the other cached blocks are read now. */
		batch_wake(p->batch);
		if (p->reported || p->cached.first)
			return;
		p->reported = true;
		p->result.failed = program_count_failed(p);
		program_report_reads(p, program_unread(p));
	} else {
		p->result.failed = program_count_failed(p);
		program_release(p);
		p->proven = !p->result.failed;
		program_report_reads(p, 0);
	}
}

static const struct batch_ops program_ops = {
	.make = program_make,
	.path_of = program_path,
	.done = program_answer,
	.more = program_more,
	.idle = program_idle,
};

/* ---- Life ----------------------------------------------------------------------------------- */

struct program *program_new(struct loop *loop, struct mad *mad, struct inventory *inv,
			    uint8_t packet_life_time)
{
	struct program *p = mem_new(p);

	*p = (struct program){ .loop = loop, .inv = inv, .life_time = packet_life_time };
	p->batch = batch_new(loop, mad, &program_ops, p);
	p->patience = loop_timer_new(loop, plan_start, p);
	p->plan = job_new(loop, p);
	cl_qmap_init(&p->store.switches);
	return p;
}

void program_free(struct program *p)
{
	if (!p)
		return;
	batch_free(p->batch);
	topo_unref(p->topo);
	plan_forget(p);
	loop_timer_free(p->patience);
	job_free(p->plan);
	free(p->rows);
	free(p->round.parts);
	free(p->turn.list);

	cached_forget_rows(p);
	store_fini(&p->store);
	free(p);
}

void program_use_proofs(struct program *p, const struct check_base *proofs)
{
	p->proof.base = proofs;
}

void program_use_spanning(struct program *p, const bool *spanning)
{
	p->store.given = spanning;
}

void program_use_entries(struct program *p, const struct program_entries *entries)
{
	p->entries = entries;
}

void program_configure(struct program *p, uint8_t packet_life_time)
{
	p->life_time = packet_life_time;
}

/* ---- Apply ---------------------------------------------------------------------------------- */

bool program_is_starved(const struct program *p)
{
	return p->busy && !p->reported &&
	       (p->stage < PROGRAM_READS) == (loop_now_us(p->loop) >= p->round.whole_us);
}

void program_apply(struct program *p, const struct topo *t, const struct tables *wanted,
		   program_done_fn *fn, void *arg)
{
	struct program_result none = { 0 };

	assert(wanted->nswitches == t->nswitches && wanted->top <= TABLES_MAX_LID);
	if (!p->busy || p->stage >= PROGRAM_READS)
		p->round.whole_us = loop_now_us(p->loop) + LONG_US;
	if (!p->busy)
		p->smps_before = batch_smps(p->batch);
	drain_ends(p);
	if (p->busy) /* whose callback does not come: its blocks under way count here */
		none = (struct program_result){ .entries = p->result.entries,
						.drained = p->result.drained,
						.at_a_time = p->result.at_a_time,
						.drained_us = p->result.drained_us };

	/* The queued ones give way; what is on its way stays busy until it is answered. */
	batch_drop_queue(p->batch);
	batch_give_up_astray(p->batch);
	QMAP_EACH (&p->store.switches, store_switch, sw) {
		/* One that was away, or is sent no Sets, has entries of no proof that is known. */
		for (uint32_t b = store_next(&sw->own, 0);
		     p->proven && sw->node && !sw->node->gone && b < STORE_BLOCKS;
		     b = store_next(&sw->own, b + 1))
			p->proven = !cached_is_other(sw, b);
		sw->row = ROW_NONE;
		sw->listed = sw->failed = sw->refuses = sw->top_due = sw->in_turn = false;
		sw->ntodo = 0;
		mem_zero(&sw->todo, 1);
		mem_zero(&sw->late, 1);
	}
	program_release(p);
	store_take_spanning(&p->store, t->nports, &p->proof);
	p->topo = topo_ref(t);
	p->wanted = wanted;
	if (p->proof.base)
		p->proof.serial = check_proof_serial(p->proof.base);
	p->proof.older = p->proof.base && p->proven;
	p->proven = false;

	/* From the older tables' memory to the newer's, while both are there. */
	for (uint32_t row = 0; row < p->topo->nswitches; row++) {
		struct store_switch *sw = store_get(&p->store, p->topo->nodes[row].guid);

		store_rebase(sw, tables_row(p->wanted, row), tables_blocks(p->wanted));
		sw->listed = true;
	}
	QMAP_EACH (&p->store.switches, store_switch, sw)
		if (!sw->listed)
			store_rebase(sw, NULL, 0);

	p->fn = fn;
	p->arg = arg;
	p->busy = true;
	p->result = none;
	p->any_failed = p->reported = false;
	plan_apply(p);
	batch_wake(p->batch);
}
