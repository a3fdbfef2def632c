/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * apply(): one pass over all rows marks the blocks to send (todo), then blocks leave round-robin
 * over the switches, so that no switch gets its table in one burst and none waits for another.
 *
 *   todo   make() copies the wanted content into the store, known goes off
 *   busy   the answer carries the block, same as sent: known
 *          anything else: again, ROUNDS times, then the switch is given up
 *
 * The store holds what was sent while a block is busy and what was acknowledged once it is known,
 * so one copy serves both. A newer apply only makes new todo sets: what is on its way is answered
 * first, then compared with the newest tables.
 *
 * LinearFDBTop and the life time (IBA 14.2.5.4) go ahead of the blocks of their switch: entries
 * above the top are not looked at, and some devices refuse blocks beyond it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/core/log.h"
#include "fm/mad/batch.h"
#include "fm/program/program_priv.h"
#include "topology/mem.h"

#define ROUNDS	  4
#define MORE	  64 /* jobs queued at a time */
#define LOG_BURST 20

enum program_job { JOB_TOP, JOB_BLOCK }; /* object = store_switch, arg = block */

static const uint8_t *wanted_block(const struct program *p, const struct store_switch *sw,
				   uint32_t block)
{
	return tables_row(p->wanted, sw->row) + (size_t)block * TABLES_BLOCK;
}

static bool is_wanted(const struct program *p, const struct store_switch *sw)
{
	return p->busy && sw->row != ROW_NONE;
}

static bool block_differs(const struct program *p, const struct store_switch *sw, uint32_t block)
{
	return !store_has(&sw->known, block) ||
	       memcmp(store_block(sw, block), wanted_block(p, sw, block), TABLES_BLOCK) != 0;
}

static void todo_put(struct store_switch *sw, uint32_t block, bool on)
{
	if (store_has(&sw->todo, block) == on)
		return;
	store_put(&sw->todo, block, on);
	sw->ntodo += on ? 1 : -1;
}

/* ---- The turn ------------------------------------------------------------------------------- */

static void turn_add(struct program *p, struct store_switch *sw)
{
	if (sw->in_turn)
		return;
	sw->in_turn = true;
	p->turn[p->nturn++] = sw;
}

/* Takes a switch out; the last one comes in its place. */
static void turn_drop(struct program *p, uint32_t at)
{
	p->turn[at]->in_turn = false;
	p->turn[at] = p->turn[--p->nturn];
}

static bool program_more(void *owner)
{
	struct program *p = owner;
	struct batch_job job = { .kind = JOB_BLOCK };
	unsigned added = 0;

	while (added < MORE && p->nturn) {
		struct store_switch *sw;

		if (p->next >= p->nturn)
			p->next = 0;
		sw = p->turn[p->next];
		if (!sw->ntodo) {
			turn_drop(p, p->next);
			continue;
		}
		job.object = sw;
		job.arg = store_next(&sw->todo, 0);
		todo_put(sw, job.arg, false);
		batch_add(p->batch, &job);
		added++;
		p->next++;
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
	const uint8_t *want = wanted_block(p, sw, block);

	if (store_has(&sw->known, block))
		p->result.entries += entries_changed(store_block(sw, block), want);
	store_put(&sw->known, block, false);
	store_put(&sw->busy, block, true);
	memcpy(store_block(sw, block), want, TABLES_BLOCK);
	memcpy(request->data, want, TABLES_BLOCK);
	request->mad.attr_id = WIRE_LFT;
	request->mad.attr_mod = block;
}

static void make_top(const struct store_switch *sw, struct batch_request *request)
{
	struct wire_switch_info info = sw->node->sw;

	info.lft_top = sw->node->want_top;
	info.life_time = sw->node->want_life_time;
	info.port_state_change = false; /* a 1 would clear it: sweep's business */
	wire_switch_info_encode(&info, request->data);
	request->mad.attr_id = WIRE_SWITCH_INFO;
}

static void switch_give_up(struct program *p, struct store_switch *sw, const char *why)
{
	struct inv_name name;

	p->result.failed += sw->ntodo;
	memset(&sw->todo, 0, sizeof(sw->todo));
	sw->ntodo = 0;
	sw->top_due = false;
	if (sw->failed)
		return;
	sw->failed = true;
	p->result.failed_switches++;
	if (!log_allow(&p->failed_log, loop_now_us(p->loop), LOG_BURST))
		return;
	if (sw->node)
		name = inventory_name(sw->node, -1);
	log_line(LOG_PROGRAM, LOG_WARNING, "%s: %s, its tables are not up to date",
		 sw->node ? name.text : "a switch that is gone", why);
}

static bool program_make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct program *p = owner;
	struct store_switch *sw = job->object;

	if (!is_wanted(p, sw) || sw->failed || !sw->node || sw->node->removed ||
	    !inventory_port_path(p->inv, sw->node, 0, &request->way.path)) {
		if (is_wanted(p, sw)) {
			p->result.failed += job->kind == JOB_BLOCK;
			switch_give_up(p, sw, "out of reach");
		}
		return false;
	}
	request->way.stamp = p->inv->clock;
	request->mad.method = WIRE_SET;
	request->mad.device = sw->guid;
	request->mad.urgent = job->urgent;
	request->mad.doubtful = job->tries > 0;
	request->mad.retries = 1;
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
	if (again.tries >= ROUNDS)
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
		if (info.lft_top == sw->node->want_top && sw->top_due) {
			sw->top_due = false;
			turn_add(p, sw);
			return;
		}
	}
	if (sw->top_due && !program_retry(p, job))
		switch_give_up(p, sw, "does not take its LinearFDBTop");
}

static void block_acknowledged(struct program *p, struct store_switch *sw, uint32_t block)
{
	store_put(&sw->known, block, true);
	p->blocks_written++;
	p->result.blocks += p->busy;
	/* Superseded while on its way? */
	if (is_wanted(p, sw) && !sw->failed && block < tables_blocks(p->wanted) &&
	    block_differs(p, sw, block)) {
		todo_put(sw, block, true);
		if (!sw->top_due)
			turn_add(p, sw);
	}
}

static void block_answered(struct program *p, struct store_switch *sw, const struct batch_job *job,
			   const struct mad_answer *answer)
{
	uint32_t block = job->arg;

	store_put(&sw->busy, block, false);
	if (answer->result == MAD_OK &&
	    !memcmp(answer->data, store_block(sw, block), TABLES_BLOCK)) {
		block_acknowledged(p, sw, block);
		return;
	}
	if (!sw->failed && is_wanted(p, sw) && program_retry(p, job))
		return;
	if (!is_wanted(p, sw))
		return;
	p->result.failed++;
	switch_give_up(p, sw,
		       answer->result == MAD_OK ? "holds other entries than it was sent"
						: "refuses blocks or does not answer");
}

static void program_answer(void *owner, const struct batch_job *job, const struct batch_way *way,
			   const struct mad_answer *answer)
{
	struct program *p = owner;
	struct store_switch *sw = job->object;

	if (answer->result == MAD_OK || answer->result == MAD_STATUS)
		inventory_path_worked(p->inv, &way->path);
	else
		inventory_path_failed(p->inv, &way->path, way->stamp);
	if (job->kind == JOB_TOP)
		top_answered(p, sw, job, answer);
	else
		block_answered(p, sw, job, answer);
}

static void program_release(struct program *p)
{
	p->busy = false;
	p->wanted = NULL;
	topo_unref(p->topo);
	p->topo = NULL;
	p->nturn = 0;
}

static void program_idle(void *owner)
{
	struct program *p = owner;
	struct program_result result = p->result;

	program_release(p);
	result.smps = batch_smps(p->batch) - p->smps_before;
	result.took_us = loop_now_us(p->loop) - p->started_us;
	p->fn(p->arg, &result); /* may free p */
}

static const struct batch_ops program_ops = {
	.make = program_make,
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
	store_fini(&p->store);
	free(p->turn);
	free(p);
}

void program_configure(struct program *p, uint8_t packet_life_time)
{
	p->life_time = packet_life_time;
}

bool program_busy(const struct program *p)
{
	return p->busy;
}

uint64_t program_blocks_written(const struct program *p)
{
	return p->blocks_written;
}

void program_forget(struct program *p, guid_t guid)
{
	struct store_switch *sw = store_find(&p->store, guid);

	if (sw)
		memset(&sw->known, 0, sizeof(sw->known));
}

/* ---- Apply ---------------------------------------------------------------------------------- */

/* The queued ones give way; what is on its way stays busy until it is answered. */
static void program_supersede(struct program *p)
{
	cl_map_item_t *item = cl_qmap_head(&p->store.switches);

	batch_drop_queue(p->batch);
	for (; item != cl_qmap_end(&p->store.switches); item = cl_qmap_next(item)) {
		struct store_switch *sw = (struct store_switch *)item;

		sw->row = ROW_NONE;
		sw->failed = sw->top_due = sw->in_turn = false;
		sw->ntodo = 0;
		memset(&sw->todo, 0, sizeof(sw->todo));
	}
	program_release(p);
}

static void switch_resolve(struct program *p, struct store_switch *sw)
{
	if (!sw->node || sw->node->removed)
		sw->node = inventory_find(p->inv, sw->guid);
	if (!sw->node || !sw->node->rebooted)
		return;
	memset(&sw->known, 0, sizeof(sw->known));
	sw->node->rebooted = false;
}

static void switch_mark_blocks(struct program *p, struct store_switch *sw)
{
	uint32_t block;

	for (block = 0; block < tables_blocks(p->wanted); block++)
		if (!store_has(&sw->busy, block) && block_differs(p, sw, block))
			todo_put(sw, block, true);
}

static void switch_ask_top(struct program *p, struct store_switch *sw)
{
	struct batch_job job = { .object = sw, .kind = JOB_TOP, .urgent = true };
	struct inv_node *node = sw->node;

	node->want_top = p->wanted->top;
	node->want_life_time = p->life_time;
	if (node->sw.lft_top == node->want_top && node->sw.life_time == node->want_life_time)
		return;
	sw->top_due = true;
	batch_add(p->batch, &job);
}

/* Why its tables can't be brought up to date, or NULL. */
static const char *switch_hindrance(const struct program *p, const struct store_switch *sw)
{
	if (!sw->node || sw->node->silent)
		return "out of reach";
	if (sw->node->sw.lft_cap && p->wanted->top >= sw->node->sw.lft_cap)
		return "has a table too small for the LIDs in use";
	return NULL;
}

/* One that is gone is looked at again when it comes back; nothing fails by its absence. */
static void switch_apply(struct program *p, uint32_t row)
{
	struct store_switch *sw =
		store_get(&p->store, p->topo->nodes[row].guid, tables_blocks(p->wanted));

	sw->row = ROW_NONE;
	switch_resolve(p, sw);
	if (sw->node && sw->node->gone)
		return;
	sw->row = row;
	switch_mark_blocks(p, sw);
	if (switch_hindrance(p, sw)) {
		if (sw->ntodo)
			switch_give_up(p, sw, switch_hindrance(p, sw));
		return;
	}
	switch_ask_top(p, sw);
	p->result.switches += sw->ntodo || sw->top_due;
	if (sw->ntodo && !sw->top_due)
		turn_add(p, sw);
}

void program_apply(struct program *p, const struct topo *t, const struct tables *wanted,
		   program_done_fn *fn, void *arg)
{
	uint32_t row;

	assert(wanted->nswitches == t->nswitches && wanted->top <= TABLES_MAX_LID);
	if (!p->busy)
		p->smps_before = batch_smps(p->batch);
	program_supersede(p);
	p->topo = topo_ref(t);
	p->wanted = wanted;
	p->fn = fn;
	p->arg = arg;
	p->busy = true;
	p->result = (struct program_result){ 0 };
	p->started_us = loop_now_us(p->loop);
	p->turn = mem_resize(p->turn, t->nswitches + 1u, sizeof(struct store_switch *));
	for (row = 0; row < t->nswitches; row++)
		switch_apply(p, row);
	batch_wake(p->batch);
}
