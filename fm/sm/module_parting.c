/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What becomes of those who ask the SA while the fabric changes hands.
 *
 * A host sends to the SM LID of its port's PortInfo. The new master sets that port by port, behind
 * its sweep; until then, and as long as requests are repeated that were sent before, they come
 * here. So the manager that has handed over goes on answering from what it last published. The pipe
 * is paused meanwhile, and is told of the new role afterwards: nothing is written.
 *
 *   read     Get(PortInfo) of each HCA port whose link is up, the own one first. One whose SM LID
 *            is still this manager's is read again after READ_US, and those behind it wait: few
 *            reads are lost on a master that is not that far. More are under way at a time as
 *            answers show the new LID.
 *   linger   all have moved: until nobody was answered for LINGER_US. Requests that had left, and
 *            programs that keep the old LID, are answered still.
 *
 * No word of the new master is needed for that, so it holds for any that there is. Who does not
 * answer is left out: it asks nothing. PARTING_US limit all of it.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/view.h"
#include "fm/sa/sa.h"
#include "fm/sm/module_own.h"
#include "fm/inventory/inventory.h"
#include "topology/base/mem.h"

#define READ_US	   20000
#define LINGER_US  100000
#define LOSSES_MAX 3
#define READ_MS	   100

static void over(struct sm_room *r)
{
	sm_part_end(r);
	r->parting.over(r);
}

/* ---- Linger ---------------------------------------------------------------------------------- */

static void linger(struct sm_room *r)
{
	struct parting *p = &r->parting;

	p->all_moved = true;
	p->answered = sa_stats(r->services.sa).answered;
	loop_timer_set(p->step, LINGER_US);
}

static void look_at_clients(struct sm_room *r)
{
	if (sa_stats(r->services.sa).answered != r->parting.answered)
		linger(r);
	else
		over(r);
}

/* ---- Read ------------------------------------------------------------------------------------ */

static void list_ends_of(struct parting *p, const struct inv_node *node)
{
	for (unsigned num = 1; num <= node->nports; num++)
		if (node->ports[num].known && node->ports[num].link_up)
			p->ends[p->count++] =
				(struct parting_end){ .node = node->guid, .port = (uint8_t)num };
}

static void list_ends(struct sm_room *r)
{
	const struct inventory *inv = r->services.inventory;
	struct parting *p = &r->parting;

	if (inv->local && !inv_is_switch(inv->local))
		p->ends = mem_alloc(inv->local->nports, sizeof(*p->ends));
	if (p->ends)
		list_ends_of(p, inv->local);
	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node)) {
		if (inv_is_switch(node) || node->gone || node->silent || node == inv->local)
			continue;
		p->ends = mem_resize(p->ends, p->count + node->nports, sizeof(*p->ends));
		list_ends_of(p, node);
	}
}

static void read_on(struct sm_room *r);

static bool has_moved(const struct parting *p, const struct mad_answer *answer)
{
	struct wire_port_info info;

	wire_port_info_decode(answer->data, &info);
	return info.sm_lid != p->own_lid;
}

/* Those that were not reached in this round are read in the next one. */
static void end_round(struct sm_room *r)
{
	struct parting *p = &r->parting;

	memmove(p->ends + p->kept, p->ends + p->at, (p->count - p->at) * sizeof(*p->ends));
	p->count = p->kept + p->count - p->at;
	p->at = p->kept = 0;
	p->window = 1;
	if (p->count)
		loop_timer_set(p->step, READ_US);
	else
		linger(r);
}

static void was_read(void *arg, const struct mad_answer *answer)
{
	struct parting_read *read = arg;
	struct sm_room *r = read->room;
	struct parting *p = &r->parting;

	read->token = 0;
	p->open--;
	if (answer->result == MAD_OK && has_moved(p, answer)) {
		p->window = p->window * 2 > PARTING_READS ? PARTING_READS : p->window * 2;
	} else if (answer->result == MAD_OK) {
		read->end.losses = 0;
		p->window = 0;
		p->ends[p->kept++] = read->end;
	} else if (++read->end.losses < LOSSES_MAX) {
		p->ends[p->kept++] = read->end;
	}
	read_on(r);
}

/* False: no way leads there any more. */
static bool send_read(struct sm_room *r, struct parting_read *read)
{
	struct inventory *inv = r->services.inventory;
	const struct inv_node *node = inventory_find(inv, read->end.node);
	struct mad_path path;

	if (!node || !inventory_port_path(inv, node, read->end.port, &path))
		return false;
	read->token = mad_send(r->services.mad,
			       &(struct mad_request){ .path = &path,
						      .method = WIRE_GET,
						      .attr_id = WIRE_PORT_INFO,
						      .attr_mod = read->end.port,
						      .device = node->guid,
						      .timeout_ms = READ_MS,
						      .once = true,
						      .doubtful = true },
			       was_read, read);
	return true;
}

static void read_next(struct sm_room *r)
{
	struct parting *p = &r->parting;
	unsigned i = 0;

	while (p->reads[i].token)
		i++;
	p->reads[i] = (struct parting_read){ .room = r, .end = p->ends[p->at++] };
	p->open += send_read(r, &p->reads[i]);
}

/* The window is 0 in what is left of a round that met a port that has not moved. */
static void read_on(struct sm_room *r)
{
	struct parting *p = &r->parting;

	while (p->open < p->window && p->at < p->count)
		read_next(r);
	if (!p->open)
		end_round(r);
}

static void step_cb(void *arg)
{
	struct sm_room *r = arg;

	if (r->parting.all_moved)
		look_at_clients(r);
	else
		read_on(r);
}

static void limit_cb(void *arg)
{
	over(arg);
}

/* ---- Life ------------------------------------------------------------------------------------ */

bool sm_part_begin(struct sm_room *r)
{
	struct parting *p = &r->parting;
	uint16_t own_lid = fabric_view(r->fabric).sm_lid;

	if (p->on || !own_lid)
		return p->on;
	p->on = true;
	p->own_lid = own_lid;
	p->window = 1;
	list_ends(r);
	loop_timer_set(p->step, READ_US);
	loop_timer_set(p->limit, PARTING_US);
	return true;
}

void sm_part_end(struct sm_room *r)
{
	struct parting *p = &r->parting;
	loop_fn *fn = p->fn;
	void *arg = p->arg;

	for (unsigned i = 0; i < PARTING_READS; i++) {
		mad_cancel(r->services.mad, p->reads[i].token);
		p->reads[i].token = 0;
	}
	loop_timer_stop(p->step);
	loop_timer_stop(p->limit);
	free(p->ends);
	*p = (struct parting){ .over = p->over, .step = p->step, .limit = p->limit };
	if (fn)
		fn(arg);
}

void sm_part_init(struct sm_room *r)
{
	r->parting.step = loop_timer_new(r->services.loop, step_cb, r);
	r->parting.limit = loop_timer_new(r->services.loop, limit_cb, r);
}

void sm_part_fini(struct sm_room *r)
{
	r->parting.fn = NULL;
	sm_part_end(r);
	loop_timer_free(r->parting.step);
	loop_timer_free(r->parting.limit);
}
