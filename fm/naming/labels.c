/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * labels: walks over the inventory in small pieces. The first port of a node is queried alone; the
 * others follow when its answer was valid.
 */
#include "fm/naming/labels.h"
#include <stdlib.h>
#include <string.h>
#include "fm/mad/batch.h"
#include "fm/mad/wire_optional.h"
#include "topology/base/mem.h"

#define TICK_US	     100000
#define NODES_A_TICK 500
#define ASKED_MOST   128 /* on their way or waiting */

struct labels {
	struct loop *loop;
	struct inventory *inv;
	const struct labels_ops *ops;
	void *arg;
	struct batch *batch;
	struct loop_timer *timer;
	guid_t next;	 /* where the walk goes on.. */
	uint32_t shapes; /* ..which goes by inventory.shapes as they were when it began */
	bool walking;	 /* it has not come to its end */
	bool changed;
	unsigned waiting; /* jobs */
};

static bool claims(const struct inv_node *node, unsigned num)
{
	const struct inv_port *says = &node->ports[inv_is_switch(node) ? 0 : num];

	return says->capmask & WIRE_CAP_HIERARCHY;
}

static bool is_asked(const struct inv_node *node)
{
	return !node->labels_asked && !node->gone && !node->silent && !node->removed &&
	       claims(node, 1);
}

static void add_job(struct labels *l, struct inv_node *node, unsigned num)
{
	l->waiting++;
	batch_add(l->batch, &(struct batch_job){ .object = node, .arg = num });
}

static bool make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct inv_node *node = job->object;

	if (node->removed || node->gone)
		return false;
	if (inv_is_switch(node))
		request->via.path = node->path;
	else if (!inventory_port_path(((struct labels *)owner)->inv, node, (uint8_t)job->arg,
				      &request->via.path))
		return false;
	request->mad.method = WIRE_GET;
	request->mad.attr_id = WIRE_HIERARCHY_INFO;
	request->mad.attr_mod = inv_is_switch(node) ? job->arg : 0;
	request->mad.device = node->guid;
	request->mad.doubtful = true;
	return true;
}

static void keep(struct labels *l, struct inv_node *node, unsigned num, const char *label)
{
	if (!node->labels && !*label)
		return;
	if (!node->labels)
		node->labels = mem_alloc(node->nports + 1u, sizeof(*node->labels));
	if (!strcmp(node->labels[num], label))
		return;
	snprintf(node->labels[num], sizeof(node->labels[num]), "%s", label);
	l->changed = true;
}

static void answered(void *owner, const struct batch_job *job, const struct batch_path *via,
		     const struct mad_answer *answer)
{
	struct labels *l = owner;
	struct inv_node *node = job->object;
	struct wire_hierarchy info;
	char label[WIRE_HIERARCHY_LABEL] = "";
	bool good;

	l->waiting--;
	if (node->removed)
		return;
	good = answer->result == MAD_OK && wire_hierarchy_decode(answer->data, &info) &&
	       wire_hierarchy_label(&info, inv_is_switch(node), label);
	keep(l, node, job->arg, good ? label : "");
	for (unsigned num = 2; good && job->arg == 1 && num <= node->nports; num++)
		if (claims(node, num))
			add_job(l, node, num);
}

static void unwanted(void *owner, const struct batch_job *job)
{
	((struct labels *)owner)->waiting--;
}

static void idle(void *owner)
{
}

/* ---- The walk -------------------------------------------------------------------------------- */

static void begin_walk(struct labels *l)
{
	l->walking = true;
	l->shapes = l->inv->shapes;
	l->next = 0;
}

static void walk(struct labels *l)
{
	struct inv_node *node = inventory_from(l->inv, l->next);

	for (unsigned i = 0; node && i < NODES_A_TICK && l->waiting < ASKED_MOST; i++) {
		if (is_asked(node)) {
			node->labels_asked = true;
			add_job(l, node, 1);
		}
		l->next = node->guid + 1;
		node = inventory_next(l->inv, node);
	}
	l->walking = node != NULL;
}

static void tick(void *arg)
{
	struct labels *l = arg;

	if (l->walking && l->waiting < ASKED_MOST && l->ops->may_ask(l->arg))
		walk(l);
	if (l->walking || l->waiting) {
		loop_timer_set(l->timer, TICK_US);
	} else if (l->changed) {
		l->changed = false;
		l->ops->changed(l->arg);
	}
}

void labels_ask(struct labels *l)
{
	if (!l->walking && l->shapes == l->inv->shapes)
		return;
	begin_walk(l);
	loop_timer_set(l->timer, TICK_US);
}

struct labels *labels_new(struct loop *loop, struct mad *mad, struct inventory *inventory,
			  const struct labels_ops *ops, void *arg)
{
	static const struct batch_ops batch_ops = {
		.make = make, .done = answered, .idle = idle, .unwanted = unwanted
	};
	struct labels *l = mem_alloc(1, sizeof(*l));

	l->loop = loop;
	l->inv = inventory;
	l->ops = ops;
	l->arg = arg;
	l->batch = batch_new(loop, mad, &batch_ops, l);
	l->timer = loop_timer_new(loop, tick, l);
	return l;
}

void labels_free(struct labels *l)
{
	if (!l)
		return;
	batch_free(l->batch);
	loop_timer_free(l->timer);
	free(l);
}
