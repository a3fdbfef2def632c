/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Reads the tables back and compares them with the store, block by block over all switches, in the
 * order in which program.c writes them. A block counts only if it was acknowledged before its
 * request left and still is when the answer comes.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/program/program_priv.h"
#include "topology/base/mem.h"

#define ROUNDS	  3
#define MORE	  64
#define LOG_BURST 20

struct readback {
	struct program *program;
	struct batch *batch;
	struct store_switch **switches;
	uint32_t nswitches, next_switch, next_block, nblocks;
	program_readback_fn *fn;
	void *arg;
	struct program_readback result;
	struct program_block *differing;
	unsigned room; /* elements allocated */
	struct log_limit differ_log;
};

/* The next question, block by block over all switches; false: all were asked. */
static bool readback_next(struct readback *r, struct batch_job *job)
{
	for (; r->next_block < r->nblocks; r->next_block++, r->next_switch = 0) {
		while (r->next_switch < r->nswitches) {
			struct store_switch *sw = r->switches[r->next_switch++];

			if (r->next_block >= sw->nblocks || !store_has(&sw->known, r->next_block))
				continue;
			*job = (struct batch_job){ .object = sw, .arg = r->next_block };
			return true;
		}
	}
	return false;
}

static bool readback_more(void *owner)
{
	struct readback *r = owner;
	struct batch_job job;
	unsigned added = 0;

	while (added < MORE && readback_next(r, &job)) {
		batch_add(r->batch, &job);
		added++;
	}
	return added > 0;
}

static bool readback_path(void *owner, const struct batch_job *job, struct batch_path *via)
{
	const struct readback *r = owner;
	const struct store_switch *sw = job->object;

	via->stamp = r->program->inv->clock;
	return sw->node && inventory_port_path(r->program->inv, sw->node, 0, &via->path);
}

static bool readback_make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct readback *r = owner;
	struct store_switch *sw = job->object;

	if (!sw->node || sw->node->removed || sw->node->silent ||
	    !readback_path(r, job, &request->via)) {
		r->result.failed++;
		return false;
	}
	request->mad.method = WIRE_GET;
	request->mad.attr_id = WIRE_LFT;
	request->mad.attr_mod = job->arg;
	request->mad.device = sw->guid;
	request->mad.retries = 1;
	request->mad.doubtful = job->tries > 0;
	return true;
}

static void readback_answer(void *owner, const struct batch_job *job, const struct batch_path *via,
			    const struct mad_answer *answer)
{
	struct readback *r = owner;
	struct batch_job again = *job;

	if (answer->result == MAD_TIMEOUT)
		inventory_path_failed(r->program->inv, &via->path, via->stamp);
	else
		inventory_path_worked(r->program->inv, &via->path);
	if (answer->result == MAD_OK) {
		struct store_switch *sw = job->object;
		uint32_t block = job->arg;
		const uint8_t *data = answer->data;

		if (!store_has(&sw->known, block))
			return; /* being written meanwhile */
		r->result.blocks++;
		if (program_same(sw, block, data))
			return;

		if (r->result.differ == r->room) {
			r->room = r->room ? 2 * r->room : 16;
			r->differing = mem_resize(r->differing, r->room, sizeof(*r->differing));
		}
		r->differing[r->result.differ++] = (struct program_block){ sw->guid, block };

		store_put(&sw->known, block, false);
		if (log_allow(&r->differ_log, loop_now_us(r->program->loop), LOG_BURST))
			log_line(LOG_PROGRAM, LOG_WARNING,
				 "%s: entries %u to %u differ from what it acknowledged",
				 inventory_name(sw->node, -1).text, block * TABLES_BLOCK,
				 block * TABLES_BLOCK + TABLES_BLOCK - 1);
	} else if (++again.tries < ROUNDS)
		batch_add(r->batch, &again);
	else
		r->result.failed++;
}

static void readback_idle(void *owner)
{
	struct readback *r = owner;
	struct program_readback result = r->result;

	r->nblocks = 0;
	result.differing = r->differing;
	r->fn(r->arg, &result); /* may free the program */
}

static const struct batch_ops readback_ops = {
	.make = readback_make,
	.path_of = readback_path,
	.done = readback_answer,
	.more = readback_more,
	.idle = readback_idle,
};

struct readback *readback_new(struct program *p, struct mad *mad)
{
	struct readback *r = mem_alloc(1, sizeof(*r));

	r->program = p;
	r->batch = batch_new(p->loop, mad, &readback_ops, r);
	return r;
}

void readback_free(struct readback *r)
{
	batch_free(r->batch);
	free(r->switches);
	free(r->differing);
	free(r);
}

void program_check_readback(struct program *p, const struct topo *t, program_readback_fn *fn,
			    void *arg)
{
	struct readback *r = p->readback;
	uint32_t i;

	batch_drop(r->batch);
	r->fn = fn;
	r->arg = arg;
	r->result = (struct program_readback){ 0 };
	r->nswitches = r->nblocks = r->next_block = r->next_switch = 0;
	r->switches = mem_resize(r->switches, t->nswitches + 1u, sizeof(struct store_switch *));
	for (i = 0; i < t->nswitches; i++) {
		struct store_switch *sw = store_find(&p->store, t->nodes[i].guid);

		if (!sw || !sw->node || sw->node->gone)
			continue;
		r->switches[r->nswitches++] = sw;
		if (sw->nblocks > r->nblocks)
			r->nblocks = sw->nblocks;
	}
	batch_wake(r->batch);
}

/* ---- What switches hold ---------------------------------------------------------------------- */

/* It was shown to hold these rows, block by block; mostly it was. */
static bool holds_wanted(const struct store_switch *sw, const uint8_t *row, uint32_t blocks)
{
	if (!sw || sw->row_wanted != row || sw->nblocks < blocks)
		return false;
	for (uint32_t w = 0; w * 64 < blocks; w++) {
		uint64_t all = blocks - w * 64 < 64 ? ((uint64_t)1 << (blocks - w * 64)) - 1
						    : ~(uint64_t)0;

		if (((sw->known.words[w] | sw->cached.words[w]) & all) != all ||
		    (sw->own.words[w] & all))
			return false;
	}
	return true;
}

bool program_held(const struct program *p, const struct topo *t, const struct tables *tables,
		  struct tables *out)
{
	uint32_t blocks = tables_blocks(tables);
	bool differs = false;

	for (uint32_t row = 0; row < t->nswitches; row++) {
		const struct store_switch *sw = store_find(&p->store, t->nodes[row].guid);

		for (uint32_t b = holds_wanted(sw, tables_row(tables, row), blocks) ? blocks : 0;
		     b < blocks; b++) {
			const uint8_t *shown = sw && b < sw->nblocks ? store_shown(sw, b) : NULL;
			const uint8_t *want = tables_row(tables, row) + (size_t)b * TABLES_BLOCK;
			uint8_t *to;

			if (shown == want || (shown && !memcmp(shown, want, TABLES_BLOCK)))
				continue;
			if (!differs)
				tables_copy(out, tables);
			differs = true;
			to = tables_row(out, row) + (size_t)b * TABLES_BLOCK;
			if (shown)
				memcpy(to, shown, TABLES_BLOCK);
			else
				memset(to, TABLES_NO_ROUTE, TABLES_BLOCK);
		}
	}
	return differs;
}
