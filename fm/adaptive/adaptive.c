/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * adaptive: see adaptive.h. One batch sends queries, beside everything else: GeneralInfo of each
 * switch not queried yet, PrivateLFTInfo and AdaptiveRoutingInfo of those that have them. Switches
 * with a mode on are listed, and turned off by another batch in phases, each of which ends when
 * that batch is idle:
 *
 *   BLOCKS  all blocks of one switch that has a mode on
 *   OFF     its modes are turned off
 *   VERIFY  its modes are read back; then BLOCKS of the next switch
 */
#include <stdlib.h>
#include <string.h>
#include "fm/mad/batch.h"
#include "fm/mad/wire_adaptive.h"
#include "fm/adaptive/adaptive.h"
#include "topology/mem.h"
#include "topology/topo_builder.h"

#define PATIENCE_US 20000 /* since the latest answer */

enum phase { IDLE, BLOCKS, OFF, VERIFY };
enum job { JOB_GENERAL, JOB_PRIVATE, JOB_ADAPTIVE, JOB_BLOCK, JOB_PRIVATE_OFF, JOB_ADAPTIVE_OFF };

struct turning { /* a switch that has a mode on */
	guid_t guid;
	bool has_private, has_adaptive; /* these were read */
	uint8_t private_info[64], adaptive_info[64];
};

struct adaptive {
	struct loop *loop;
	struct inventory *inv;
	struct batch *asks, *batch;
	struct loop_timer *patience;
	struct adaptive_ops ops;
	void *arg;
	enum phase phase;
	const struct topo *topo;    /* referenced */
	const struct topo *checked; /* referenced: nothing is unknown of its like */
	const struct tables *tables;
	struct turning *list;
	uint32_t count, at;
	uint64_t began_us, answered_us;
	bool failed;
	bool owed;	  /* ops.done, .. */
	unsigned awaited; /* ..which comes when these are answered, or patience ends */
};

static void keep(const struct topo **place, const struct topo *t)
{
	const struct topo *older = *place;

	*place = t ? topo_ref(t) : NULL;
	topo_unref(older);
}

static bool can_be_asked(const struct inv_node *node)
{
	return inv_is_switch(node) && !node->gone && !node->silent && !node->no_sets &&
	       wire_adaptive_vendor(node->info.vendor);
}

static void add_to(struct batch *b, enum job kind, const struct inv_node *node, uint32_t arg)
{
	batch_add(b, &(struct batch_job){ .object = (void *)(uintptr_t)node->guid,
					  .arg = arg,
					  .kind = (uint8_t)kind,
					  .urgent = true });
}

static void add(struct adaptive *a, enum job kind, const struct inv_node *node, uint32_t arg)
{
	add_to(a->batch, kind, node, arg);
}

static void ask_general(struct adaptive *a, struct inv_node *node, bool patiently)
{
	node->adaptive = INV_ADAPTIVE_ASKED;
	a->awaited += !patiently;
	add_to(a->asks, JOB_GENERAL, node, patiently);
}

static struct inv_node *node_of(const struct adaptive *a, const struct batch_job *job)
{
	return inventory_find(a->inv, (guid_t)(uintptr_t)job->object);
}

/* Of those whose turn is not over, nor too far for what is met now. */
static struct turning *turning_of(struct adaptive *a, guid_t guid)
{
	for (uint32_t i = a->at + (a->phase > BLOCKS); i < a->count; i++)
		if (a->list[i].guid == guid)
			return &a->list[i];
	a->list = mem_resize(a->list, a->count + 1, sizeof(*a->list));
	a->list[a->count] = (struct turning){ .guid = guid };
	return &a->list[a->count++];
}

/* ---- Requests -------------------------------------------------------------------------------- */

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
	r->via.path = node->path;
	r->via.stamp = a->inv->clock;
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
	r->mad.once = job->kind == JOB_GENERAL && job->arg;
	r->mad.retries = 1;
	r->mad.doubtful =
		true; /* old devices do not answer at all: a time-out is no sign of congestion */
	return true;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void ask_mode(struct adaptive *a, enum job kind, const struct inv_node *node)
{
	a->awaited++;
	add_to(a->asks, kind, node, 0);
}

/* A switch that did not answer at the start is queried once more when the fabric is idle. */
static void general_met(struct adaptive *a, struct inv_node *node, bool patiently,
			const struct mad_answer *answer)
{
	const uint8_t *caps = answer->result == MAD_OK ? answer->data : NULL;
	bool silent = answer->result == MAD_TIMEOUT;

	node->adaptive = silent && !patiently ? INV_ADAPTIVE_LATER : INV_ADAPTIVE_NONE;
	a->ops.asked(a->arg, node, silent);
	if (!caps)
		return;
	if (wire_has_private_lft(caps))
		ask_mode(a, JOB_PRIVATE, node);
	if (wire_has_adaptive(caps)) {
		node->adaptive = INV_ADAPTIVE_CAPABLE;
		ask_mode(a, JOB_ADAPTIVE, node);
	}
}

static void mode_met(struct adaptive *a, struct inv_node *node, enum job kind, const uint8_t *info)
{
	struct turning *turning;

	if (!info || !(kind == JOB_PRIVATE ? wire_private_lft_on(info) : wire_adaptive_on(info)))
		return;
	node->adaptive = INV_ADAPTIVE_ON;
	turning = turning_of(a, node->guid);
	*(kind == JOB_PRIVATE ? &turning->has_private : &turning->has_adaptive) = true;
	memcpy(kind == JOB_PRIVATE ? turning->private_info : turning->adaptive_info, info, 64);
}

static struct inv_node *answered(struct adaptive *a, const struct batch_job *job,
				 const struct batch_path *via, const struct mad_answer *answer)
{
	if (answer->result != MAD_TIMEOUT)
		inventory_path_worked(a->inv, &via->path);
	return node_of(a, job);
}

/* Of turning off, and of the reading behind it. */
static void done(void *owner, const struct batch_job *job, const struct batch_path *via,
		 const struct mad_answer *answer)
{
	struct adaptive *a = owner;

	if (!answered(a, job, via, answer))
		return;
	a->failed |= answer->result != MAD_OK ||
		     (job->kind == JOB_PRIVATE && wire_private_lft_on(answer->data)) ||
		     (job->kind == JOB_ADAPTIVE && wire_adaptive_on(answer->data));
}

/* ---- Phases ---------------------------------------------------------------------------------- */

static void end(struct adaptive *a)
{
	a->phase = IDLE;
	keep(&a->checked, a->topo);
	free(a->list);
	a->list = NULL;
	a->count = a->at = 0;
	if (a->owed) {
		a->owed = false;
		a->ops.done(a->arg);
	}
}

/* The next switch of the list, without those that are gone; NULL = there is no more. */
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

/* A request for each of the two attributes that the switch has. */
static void ask_both(struct adaptive *a, const struct inv_node *node, enum job private_job,
		     enum job adaptive_job)
{
	const struct turning *now = &a->list[a->at];

	if (now->has_private)
		add(a, private_job, node, 0);
	if (now->has_adaptive)
		add(a, adaptive_job, node, 0);
	batch_wake(a->batch);
}

static void turn_off(struct adaptive *a, const struct inv_node *node)
{
	a->phase = OFF;
	ask_both(a, node, JOB_PRIVATE_OFF, JOB_ADAPTIVE_OFF);
}

static void verify(struct adaptive *a, const struct inv_node *node)
{
	a->phase = VERIFY;
	ask_both(a, node, JOB_PRIVATE, JOB_ADAPTIVE);
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
	struct inv_node *node = next_switch(a);

	if (a->phase == IDLE)
		return;
	if (!node) /* it went away */
		begin_switch(a);
	else if (a->phase == BLOCKS)
		turn_off(a, node);
	else if (a->phase == OFF)
		verify(a, node);
	else
		conclude(a, node);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* Starts to turn modes off, as soon as there are tables to write. */
static void asks_over(void *owner)
{
	struct adaptive *a = owner;

	loop_timer_stop(a->patience);
	if (a->phase == IDLE && (a->owed || (a->count && a->topo)))
		begin_switch(a);
}

static void patience_cb(void *arg)
{
	struct adaptive *a = arg;
	uint64_t end_us = a->answered_us + PATIENCE_US, now = loop_now_us(a->loop);

	if (a->awaited && now < end_us)
		loop_timer_set(a->patience, end_us - now);
	else
		asks_over(a);
}

static void count_off(struct adaptive *a, const struct batch_job *job)
{
	if (job->kind == JOB_GENERAL && job->arg)
		return;
	if (!--a->awaited)
		asks_over(a);
}

static void asked(void *owner, const struct batch_job *job, const struct batch_path *via,
		  const struct mad_answer *answer)
{
	struct adaptive *a = owner;
	struct inv_node *node = answered(a, job, via, answer);
	const uint8_t *data = answer->result == MAD_OK ? answer->data : NULL;

	if (answer->result != MAD_TIMEOUT)
		a->answered_us = loop_now_us(a->loop);
	if (node && job->kind == JOB_GENERAL)
		general_met(a, node, job->arg, answer);
	else if (node)
		mode_met(a, node, (enum job)job->kind, data);
	count_off(a, job);
}

/* No path leads to the switch any more: it is queried again when one does. */
static void not_asked(void *owner, const struct batch_job *job)
{
	struct inv_node *node = node_of(owner, job);

	if (node && node->adaptive == INV_ADAPTIVE_ASKED)
		node->adaptive = INV_ADAPTIVE_UNKNOWN;
	count_off(owner, job);
}

/* A switch without any table had no manager before: no mode can be on. */
static void ask(struct adaptive *a, struct inv_node *node)
{
	if (!node || node->adaptive != INV_ADAPTIVE_UNKNOWN || !can_be_asked(node))
		return;
	if (!node->sw.lft_top || a->ops.is_silent(a->arg, node))
		node->adaptive = INV_ADAPTIVE_LATER;
	else
		ask_general(a, node, false);
	a->answered_us = loop_now_us(a->loop);
}

void adaptive_ask(struct adaptive *a)
{
	for (struct inv_node *node = inventory_first(a->inv); node;
	     node = inventory_next(a->inv, node))
		ask(a, node);
}

bool adaptive_ask_later(struct adaptive *a, unsigned count)
{
	for (struct inv_node *node = inventory_first(a->inv); node;
	     node = inventory_next(a->inv, node)) {
		if (node->adaptive != INV_ADAPTIVE_LATER || !can_be_asked(node))
			continue;
		if (!count--)
			return true;
		ask_general(a, node, true);
	}
	return false;
}

bool adaptive_check(struct adaptive *a, const struct topo *t, const struct tables *tables)
{
	bool same = a->checked && topo_is_again(a->checked, t);

	keep(&a->topo, t);
	a->tables = tables;
	if (a->owed || a->phase != IDLE)
		return false;
	for (uint32_t sw = 0; !same && sw < t->nswitches; sw++)
		ask(a, inventory_find(a->inv, t->nodes[sw].guid));
	keep(&a->checked, t);
	if (!a->awaited && !a->count)
		return true;
	a->owed = true;
	loop_timer_set(a->patience, 0);
	return false;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct adaptive *adaptive_new(struct loop *loop, struct mad *mad, struct inventory *inv,
			      const struct adaptive_ops *ops, void *arg)
{
	static const struct batch_ops asks = {
		.make = make, .done = asked, .unwanted = not_asked, .idle = asks_over
	};
	static const struct batch_ops batch = { .make = make, .done = done, .idle = idle };
	struct adaptive *a = mem_alloc(1, sizeof(*a));

	*a = (struct adaptive){ .loop = loop, .inv = inv, .ops = *ops, .arg = arg };
	a->asks = batch_new(loop, mad, &asks, a);
	a->batch = batch_new(loop, mad, &batch, a);
	a->patience = loop_timer_new(loop, patience_cb, a);
	return a;
}

void adaptive_free(struct adaptive *a)
{
	if (!a)
		return;
	batch_free(a->asks);
	batch_free(a->batch);
	loop_timer_free(a->patience);
	keep(&a->topo, NULL);
	keep(&a->checked, NULL);
	free(a->list);
	free(a);
}
