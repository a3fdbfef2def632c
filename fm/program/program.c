/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * apply(): program_plan.c marks the blocks to send (todo), all of them or round by round; then they
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
#include <stdlib.h>
#include <string.h>
#include "fm/program/program_priv.h"
#include "topology/base/mem.h"

#define TRIES 4
#define MORE  64 /* jobs queued at a time */

static bool is_wanted(const struct program *p, const struct store_switch *sw)
{
	return p->busy && sw->row != ROW_NONE;
}

/* ---- The turn ------------------------------------------------------------------------------- */

static uint32_t todo_take(struct store_switch *sw)
{
	uint32_t block = store_next(&sw->todo, 0);

	store_put(&sw->todo, block, false);
	sw->ntodo--;
	return block;
}

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
		struct store_switch *sw;

		if (turn->next >= turn->count)
			turn->next = 0;
		sw = turn->list[turn->next];
		if (!sw->ntodo) {
			sw->in_turn = false; /* the last one comes in its place */
			turn->list[turn->next] = turn->list[--turn->count];
			continue;
		}
		job.object = sw;
		job.arg = todo_take(sw);
		batch_add(p->batch, &job);
		added++;
		turn->next++;
	}
	return added > 0;
}

/* ---- Sending -------------------------------------------------------------------------------- */

static unsigned entries_changed(const uint8_t *a, const uint8_t *b)
{
	unsigned i, n = 0;

	for (i = 0; i < TABLES_BLOCK; i++)
		n += a[i] != b[i];
	return n;
}

static void make_block(struct program *p, struct store_switch *sw, uint32_t block,
		       struct batch_request *request)
{
	plan_content(p, sw, block, request->data);
	if (store_has(&sw->known, block))
		p->result.entries += entries_changed(store_block(sw, block), request->data);
	store_put(&sw->known, block, false);
	store_put(&sw->cached, block, false);
	store_put(&sw->busy, block, true);
	store_sent(sw, block, request->data);
	request->mad.attr_id = WIRE_LFT;
	request->mad.attr_mod = block;
}

static void make_top(const struct store_switch *sw, struct batch_request *request)
{
	const struct inv_wanted *wanted = inv_wanted(sw->node);
	struct wire_switch_info info = sw->node->sw;

	info.lft_top = wanted->top;
	info.life_time = wanted->life_time;
	if (wanted->mft_top && !sw->node->rebooted)
		info.mft_top = wanted->mft_top;
	info.port_state_change = false; /* a 1 would clear it: sweep's business */
	wire_switch_info_encode(&info, request->data);
	request->mad.attr_id = WIRE_SWITCH_INFO;
}

static void switch_give_up(struct program *p, struct store_switch *sw, const char *why)
{
	memset(&sw->todo, 0, sizeof(sw->todo));
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
		return cached_make(sw, job->arg, request);
	if (job->kind == JOB_TOP)
		make_top(sw, request);
	else
		make_block(p, sw, job->arg, request);
	return true;
}

/* ---- Answers -------------------------------------------------------------------------------- */

static bool program_retry(struct program *p, const struct batch_job *job)
{
	struct batch_job again = *job;

	again.tries++;
	again.urgent = false; /* after those that are likely to be answered */
	if (again.tries >= TRIES)
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

/* What a superseded apply sent: whatever became of it, the newest content may go now. */
static void stale_answered(struct program *p, struct store_switch *sw, uint32_t block)
{
	bool late = store_has(&sw->late, block);

	store_put(&sw->stale, block, false);
	store_put(&sw->late, block, false);
	if (late && is_wanted(p, sw) && !sw->failed && program_differs(p, sw, block))
		program_send_block(p, sw, block);
}

static void block_answered(struct program *p, struct store_switch *sw, const struct batch_job *job,
			   const struct mad_answer *answer)
{
	bool taken = answer->result == MAD_OK && job->arg < sw->nblocks &&
		     program_same(sw, job->arg, answer->data);

	store_put(&sw->busy, job->arg, false);
	if (taken) {
		store_put(&sw->known, job->arg, true);
		p->blocks_written++;
		p->result.blocks += p->busy;
	}
	if (store_has(&sw->stale, job->arg) || !is_wanted(p, sw))
		stale_answered(p, sw, job->arg);
	else if (!taken && (sw->failed || !program_retry(p, job)))
		switch_refuses(p, sw,
			       answer->result == MAD_OK ? "holds other entries than it was sent"
							: "rejects blocks or does not answer");
}

/* One that does not say what it holds is written. */
static void read_answered(struct program *p, struct store_switch *sw, const struct batch_job *job,
			  const struct mad_answer *answer)
{
	if (answer->result == MAD_OK)
		cached_answer(p, sw, job->arg, answer->data);
	else if (is_wanted(p, sw) && !program_retry(p, job))
		cached_drop(sw);
}

static void program_answer(void *owner, const struct batch_job *job, const struct batch_path *via,
			   const struct mad_answer *answer)
{
	struct program *p = owner;
	struct store_switch *sw = job->object;

	if (answer->result == MAD_OK || answer->result == MAD_STATUS)
		inventory_path_worked(p->inv, &via->path);
	else
		inventory_path_failed(p->inv, &via->path, via->stamp);
	if (job->kind == JOB_TOP)
		top_answered(p, sw, job, answer);
	else if (job->kind == JOB_READ)
		read_answered(p, sw, job, answer);
	else
		block_answered(p, sw, job, answer);
}

static void program_release(struct program *p)
{
	p->busy = false;
	p->wanted = NULL;
	topo_unref(p->topo);
	p->topo = NULL;
	plan_forget(p);
}

/* Blocks that were given up. */
static unsigned count_failed(const struct program *p)
{
	unsigned failed = 0;
	uint32_t row, block;

	for (row = 0; row < p->topo->nswitches; row++)
		for (block = 0;
		     p->rows[row] && p->rows[row]->failed && block < tables_blocks(p->wanted);
		     block++)
			failed += program_differs(p, p->rows[row], block);
	return failed;
}

static void program_report_reads(struct program *p, unsigned unread)
{
	struct program_result result = p->result;

	result.smps = batch_smps(p->batch) - p->smps_before;
	result.took_us = loop_now_us(p->loop) - p->started_us;
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

/* All is written, as far as that is known; the other cached blocks are read now. */
static void program_read_rest(struct program *p)
{
	batch_wake(p->batch);
	if (p->reported || p->cached.first)
		return;
	p->reported = true;
	p->result.failed = count_failed(p);
	program_report_reads(p, cached_count(p));
}

static void program_idle(void *owner)
{
	struct program *p = owner;

	if (plan_waits(p))
		return;
	if (p->stage == PROGRAM_READS) {
		plan_resume(p);
	} else if (plan_next(p)) {
		batch_wake(p->batch);
	} else if (cached_rest(p)) {
		program_read_rest(p);
	} else {
		p->result.failed = count_failed(p);
		program_release(p);
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
	struct program *p = mem_alloc(1, sizeof(*p));

	p->loop = loop;
	p->inv = inv;
	p->life_time = packet_life_time;
	p->batch = batch_new(loop, mad, &program_ops, p);
	p->readback = readback_new(p, mad);
	plan_init(p);
	store_init(&p->store);
	return p;
}

void program_free(struct program *p)
{
	if (!p)
		return;
	batch_free(p->batch);
	readback_free(p->readback);
	topo_unref(p->topo);
	plan_fini(p);
	cached_forget_file(p);
	store_fini(&p->store);
	free(p);
}

void program_use_proofs(struct program *p, const struct check_base *proofs)
{
	p->proofs = proofs;
}

void program_configure(struct program *p, uint8_t packet_life_time)
{
	p->life_time = packet_life_time;
}

void program_refusers(const struct program *p, void (*fn)(void *arg, guid_t sw), void *arg)
{
	const cl_map_item_t *item = cl_qmap_head(&p->store.switches);

	for (; item != cl_qmap_end(&p->store.switches); item = cl_qmap_next(item)) {
		const struct store_switch *sw = (const struct store_switch *)item;

		if (sw->refuses && sw->node && !sw->node->gone && !sw->node->silent)
			fn(arg, sw->guid);
	}
}

bool program_busy(const struct program *p)
{
	return p->busy;
}

unsigned program_unread(const struct program *p)
{
	return cached_count(p);
}

uint64_t program_blocks_written(const struct program *p)
{
	return p->blocks_written;
}

void program_forget(struct program *p, guid_t guid)
{
	struct store_switch *sw = store_find(&p->store, guid);

	if (!sw)
		return;
	memset(&sw->known, 0, sizeof(sw->known));
	cached_drop(sw);
}

/* ---- Apply ---------------------------------------------------------------------------------- */

/* The queued ones give way; what is on its way stays busy until it is answered. */
static void program_supersede(struct program *p)
{
	cl_map_item_t *item = cl_qmap_head(&p->store.switches);

	batch_drop_queue(p->batch);
	batch_give_up_astray(p->batch);
	for (; item != cl_qmap_end(&p->store.switches); item = cl_qmap_next(item)) {
		struct store_switch *sw = (struct store_switch *)item;

		sw->row = ROW_NONE;
		sw->listed = false;
		sw->failed = sw->refuses = sw->top_due = sw->in_turn = false;
		sw->ntodo = 0;
		memset(&sw->todo, 0, sizeof(sw->todo));
		memset(&sw->late, 0, sizeof(sw->late));
	}
	program_release(p);
}

/* From the older tables' memory to the newer's, while both are there. */
static void program_rebase(struct program *p)
{
	cl_map_item_t *item;
	uint32_t row;

	for (row = 0; row < p->topo->nswitches; row++) {
		struct store_switch *sw = store_get(&p->store, p->topo->nodes[row].guid);

		store_rebase(sw, tables_row(p->wanted, row), tables_blocks(p->wanted));
		sw->listed = true;
	}
	for (item = cl_qmap_head(&p->store.switches); item != cl_qmap_end(&p->store.switches);
	     item = cl_qmap_next(item))
		if (!((struct store_switch *)item)->listed)
			store_rebase((struct store_switch *)item, NULL, 0);
}

void program_apply(struct program *p, const struct topo *t, const struct tables *wanted,
		   program_done_fn *fn, void *arg)
{
	assert(wanted->nswitches == t->nswitches && wanted->top <= TABLES_MAX_LID);
	if (!p->busy)
		p->smps_before = batch_smps(p->batch);
	program_supersede(p);
	p->topo = topo_ref(t);
	p->wanted = wanted;
	if (p->proofs)
		p->proof = (struct order_proof){ p->proofs, check_proof_serial(p->proofs) };
	program_rebase(p);
	p->fn = fn;
	p->arg = arg;
	p->busy = true;
	p->result = (struct program_result){ 0 };
	p->started_us = loop_now_us(p->loop);
	p->trouble = p->reported = false;
	plan_apply(p);
	batch_wake(p->batch);
}
