/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * adaptive: see adaptive.h. Phases, each ended by the batch being idle:
 *
 *   ASK     GeneralInfo of each switch not asked yet; PrivateLFTInfo and AdaptiveRoutingInfo of those that have them
 *   BLOCKS  all blocks of one switch that has a mode on
 *   OFF     its modes set off
 *   VERIFY  and read; then BLOCKS of the next one
 */
#include <stdlib.h>
#include <string.h>
#include "fm/mad/batch.h"
#include "fm/mad/wire_adaptive.h"
#include "fm/program/adaptive.h"
#include "topology/mem.h"

enum phase { IDLE, ASK, BLOCKS, OFF, VERIFY };
enum job { JOB_GENERAL, JOB_PRIVATE, JOB_ADAPTIVE, JOB_BLOCK, JOB_PRIVATE_OFF, JOB_ADAPTIVE_OFF };

struct turning { /* a switch that has a mode on */
	guid_t guid;
	bool has_private, has_adaptive; /* these were read */
	uint8_t private_info[64], adaptive_info[64];
};

struct adaptive {
	struct loop *loop;
	struct inventory *inv;
	struct batch *batch;
	struct adaptive_ops ops;
	void *arg;
	enum phase phase;
	const struct topo *topo;    /* referenced */
	const struct topo *checked; /* referenced: nothing is unknown of its like */
	const struct tables *tables;
	struct turning *list;
	uint32_t count, at;
	uint64_t began_us;
	bool failed;
};

static void keep(const struct topo **place, const struct topo *t)
{
	const struct topo *older = *place;

	*place = t ? topo_ref(t) : NULL;
	topo_unref(older);
}

/* One without any table was managed by nobody: nothing can be on, and old devices would be waited for in vain. */
static bool ask(const struct inv_node *node)
{
	return node && !node->gone && !node->silent && node->adaptive == INV_ADAPTIVE_UNKNOWN &&
	       node->sw.lft_top && wire_adaptive_vendor(node->info.vendor);
}

static void add(struct adaptive *a, enum job kind, const struct inv_node *node, uint32_t arg)
{
	batch_add(a->batch, &(struct batch_job){ .object = (void *)(uintptr_t)node->guid,
						 .arg = arg,
						 .kind = (uint8_t)kind,
						 .urgent = true });
}

static struct inv_node *node_of(const struct adaptive *a, const struct batch_job *job)
{
	return inventory_find(a->inv, (guid_t)(uintptr_t)job->object);
}

static struct turning *turning_of(struct adaptive *a, guid_t guid)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->list[i].guid == guid)
			return &a->list[i];
	a->list = mem_resize(a->list, a->count + 1, sizeof(*a->list));
	a->list[a->count] = (struct turning){ .guid = guid };
	return &a->list[a->count++];
}

/* ---- Requests -------------------------------------------------------------------------------------- */

static void fill_set(struct adaptive *a, const struct batch_job *job, struct batch_request *r)
{
	const struct turning *now = &a->list[a->at];
	uint32_t row;

	r->mad.method = WIRE_SET;
	r->mad.attr_mod = 0;
	if (job->kind == JOB_BLOCK) {
		row = topo_find(a->topo, now->guid);
		r->mad.attr_id = WIRE_LFT;
		r->mad.attr_mod = job->arg;
		memcpy(r->data, tables_row(a->tables, row) + job->arg * TABLES_BLOCK, TABLES_BLOCK);
	} else if (job->kind == JOB_PRIVATE_OFF) {
		r->mad.attr_id = WIRE_PRIVATE_LFT_INFO;
		memcpy(r->data, now->private_info, sizeof(now->private_info));
		wire_private_lft_off(r->data);
	} else {
		r->mad.attr_id = WIRE_ADAPTIVE_INFO;
		memcpy(r->data, now->adaptive_info, sizeof(now->adaptive_info));
		wire_adaptive_off(r->data);
	}
}

static bool make(void *owner, const struct batch_job *job, struct batch_request *r)
{
	struct adaptive *a = owner;
	const struct inv_node *node = node_of(a, job);

	if (!node || node->gone)
		return false;
	r->way.path = node->path;
	r->way.stamp = a->inv->clock;
	r->mad.device = node->guid;
	r->mad.urgent = true;
	if (job->kind >= JOB_BLOCK) {
		fill_set(a, job, r);
		return true;
	}
	r->mad.method = WIRE_GET;
	r->mad.attr_id = job->kind == JOB_GENERAL   ? WIRE_GENERAL_INFO
			 : job->kind == JOB_PRIVATE ? WIRE_PRIVATE_LFT_INFO
						    : WIRE_ADAPTIVE_INFO;
	r->mad.attr_mod = job->kind == JOB_GENERAL ? WIRE_GENERAL_CAPS : 0;
	r->mad.retries = 1;
	r->mad.doubtful =
		true; /* old devices do not answer at all: that is no sign of a full network */
	return true;
}

/* ---- Answers --------------------------------------------------------------------------------------- */

static void general_met(struct adaptive *a, struct inv_node *node, const uint8_t *caps)
{
	node->adaptive = INV_ADAPTIVE_NONE;
	if (!caps)
		return;
	if (wire_has_private_lft(caps))
		add(a, JOB_PRIVATE, node, 0);
	if (wire_has_adaptive(caps)) {
		node->adaptive = INV_ADAPTIVE_CAPABLE;
		add(a, JOB_ADAPTIVE, node, 0);
	}
}

/* Read to be known, or to see that it is off. */
static void info_met(struct adaptive *a, struct inv_node *node, enum job kind, const uint8_t *info)
{
	bool on =
		info && (kind == JOB_PRIVATE ? wire_private_lft_on(info) : wire_adaptive_on(info));
	struct turning *turning;

	if (a->phase == VERIFY) {
		a->failed |= on || !info;
		return;
	}
	if (!on)
		return;
	node->adaptive = INV_ADAPTIVE_ON;
	turning = turning_of(a, node->guid);
	*(kind == JOB_PRIVATE ? &turning->has_private : &turning->has_adaptive) = true;
	memcpy(kind == JOB_PRIVATE ? turning->private_info : turning->adaptive_info, info, 64);
}

static void done(void *owner, const struct batch_job *job, const struct batch_way *way,
		 const struct mad_answer *answer)
{
	struct adaptive *a = owner;
	struct inv_node *node = node_of(a, job);
	const uint8_t *data = answer->result == MAD_OK ? answer->data : NULL;

	if (answer->result != MAD_TIMEOUT)
		inventory_path_worked(a->inv, &way->path);
	if (!node)
		return;
	if (job->kind == JOB_GENERAL)
		general_met(a, node, data);
	else if (job->kind == JOB_PRIVATE || job->kind == JOB_ADAPTIVE)
		info_met(a, node, (enum job)job->kind, data);
	else
		a->failed |= answer->result != MAD_OK;
}

/* ---- Phases ---------------------------------------------------------------------------------------- */

static void end(struct adaptive *a)
{
	a->phase = IDLE;
	keep(&a->checked, a->topo);
	free(a->list);
	a->list = NULL;
	a->count = a->at = 0;
	a->ops.done(a->arg);
}

/* The switch whose turn it is; those that are gone since are passed over. NULL: no more. */
static struct inv_node *next_switch(struct adaptive *a)
{
	for (; a->at < a->count; a->at++) {
		struct inv_node *node = inventory_find(a->inv, a->list[a->at].guid);

		if (node && !node->gone && topo_find(a->topo, node->guid) < a->topo->nswitches)
			return node;
	}
	return NULL;
}

static void begin_switch(struct adaptive *a)
{
	const struct inv_node *node = next_switch(a);
	uint32_t blocks = tables_blocks(a->tables);

	if (!node) {
		end(a);
		return;
	}
	a->phase = BLOCKS;
	a->failed = false;
	a->began_us = loop_now_us(a->loop);
	for (uint32_t b = 0; b < blocks; b++)
		add(a, JOB_BLOCK, node, b);
	batch_wake(a->batch);
}

static void turn_off(struct adaptive *a, const struct inv_node *node)
{
	const struct turning *now = &a->list[a->at];

	a->phase = OFF;
	if (now->has_private)
		add(a, JOB_PRIVATE_OFF, node, 0);
	if (now->has_adaptive)
		add(a, JOB_ADAPTIVE_OFF, node, 0);
	batch_wake(a->batch);
}

static void verify(struct adaptive *a, const struct inv_node *node)
{
	const struct turning *now = &a->list[a->at];

	a->phase = VERIFY;
	if (now->has_private)
		add(a, JOB_PRIVATE, node, 0);
	if (now->has_adaptive)
		add(a, JOB_ADAPTIVE, node, 0);
	batch_wake(a->batch);
}

static void conclude(struct adaptive *a, struct inv_node *node)
{
	const struct adaptive_switch result = { node->guid, a->failed,
						loop_now_us(a->loop) - a->began_us };

	if (!a->failed)
		node->adaptive = INV_ADAPTIVE_OFF;
	a->at++;
	a->ops.turned(a->arg, &result);
	begin_switch(a);
}

static void idle(void *owner)
{
	struct adaptive *a = owner;
	struct inv_node *node = a->phase == ASK ? NULL : next_switch(a);

	if (a->phase == IDLE)
		return;
	if (!node) /* all were asked; or it went away */
		begin_switch(a);
	else if (a->phase == BLOCKS)
		turn_off(a, node);
	else if (a->phase == OFF)
		verify(a, node);
	else
		conclude(a, node);
}

bool adaptive_check(struct adaptive *a, const struct topo *t, const struct tables *tables)
{
	bool asked = false;

	keep(&a->topo, t);
	a->tables = tables;
	if (a->phase != IDLE)
		return false;
	if (a->checked && topo_is_again(a->checked, t))
		return true;
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		const struct inv_node *node = inventory_find(a->inv, t->nodes[sw].guid);

		if (!ask(node))
			continue;
		add(a, JOB_GENERAL, node, 0);
		asked = true;
	}
	keep(&a->checked, asked ? NULL : t);
	a->phase = asked ? ASK : IDLE;
	return !asked;
}

/* ---- Life ------------------------------------------------------------------------------------------ */

struct adaptive *adaptive_new(struct loop *loop, struct mad *mad, struct inventory *inv,
			      const struct adaptive_ops *ops, void *arg)
{
	static const struct batch_ops batch = { .make = make, .done = done, .idle = idle };
	struct adaptive *a = mem_alloc(1, sizeof(*a));

	*a = (struct adaptive){ .loop = loop, .inv = inv, .ops = *ops, .arg = arg };
	a->batch = batch_new(loop, mad, &batch, a);
	return a;
}

void adaptive_free(struct adaptive *a)
{
	if (!a)
		return;
	batch_free(a->batch);
	keep(&a->topo, NULL);
	keep(&a->checked, NULL);
	free(a->list);
	free(a);
}
