/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The query engine, one for all records and for Get and GetTable alike.
 *
 * A record walks items (nodes, switches, LIDs); each item emits rows straight into the answer's
 * buffer, where a row that does not match is written over by the next. A component that names a
 * node narrows the walk to it beforehand.
 *
 * A walk that is not through after SA_SLICE rows becomes a job and goes on from the loop, so that a
 * dump of the whole fabric does not hold up sweeps and reroutes; most queries never get there. Jobs
 * read the view they started with: a publish ends them with BUSY, and their askers ask again.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/sa/sa_rows.h"
#include "topology/mem.h"

#define SCRATCH_NEW  4096
#define SCRATCH_KEEP (1u << 20)

uint8_t *sa_row(struct sa_query *q)
{
	size_t used = WIRE_SA_HEADER + (size_t)q->nrows * q->record->row_size;

	if (used + WIRE_SA_ROW_MAX > q->size) {
		if (used + WIRE_SA_ROW_MAX > SA_ANSWER_MAX) {
			q->status = WIRE_SA_NO_RESOURCES;
			return NULL;
		}
		q->size *= 2;
		q->answer = mem_resize(q->answer, q->size, 1);
	}
	return q->answer + used;
}

void sa_row_add(struct sa_query *q)
{
	q->nrows++;
	q->work++;
}

void sa_row_keep(struct sa_query *q)
{
	const uint8_t *row = q->answer + WIRE_SA_HEADER + (size_t)q->nrows * q->record->row_size;

	if (wire_sa_match(&q->match, row))
		q->nrows++;
	q->work++;
}

/* ---- Which items to walk --------------------------------------------------------------------- */

static void walk_one(struct sa_query *q, uint32_t item, uint32_t count)
{
	q->item = item;
	q->end = item < count ? item + 1 : item;
}

static enum wire_sa_status walk(struct sa_query *q, uint32_t count)
{
	q->item = 0;
	q->end = count;
	if (sa_asked(q, WIRE_SA_LID)) {
		const struct wire_sa_layout *layout = wire_sa_layout(q->record->attr_id);
		uint32_t port =
			sa_port_by_lid(q->sa, (uint16_t)wire_sa_get(layout, WIRE_SA_LID, q->data));

		if (port == TOPO_NONE)
			q->end = 0;
		else
			walk_one(q, q->sa->view.topo->ports[port].node, count);
	}
	return WIRE_SA_OK;
}

enum wire_sa_status sa_walk_nodes(struct sa_query *q)
{
	return walk(q, q->sa->view.topo->nnodes);
}

enum wire_sa_status sa_walk_switches(struct sa_query *q)
{
	return walk(q, q->sa->view.topo->nswitches);
}

enum wire_sa_status sa_walk_once(struct sa_query *q)
{
	walk_one(q, 0, 1);
	return WIRE_SA_OK;
}

enum wire_sa_status sa_node_prepare(struct sa_query *q)
{
	const struct topo *t = q->sa->view.topo;
	const struct wire_sa_layout *layout = wire_sa_layout(WIRE_SA_NODE);
	uint32_t node = TOPO_NONE, port;

	if (sa_asked(q, WIRE_SA_LID))
		return walk(q, t->nnodes);
	if (sa_asked(q, WIRE_NODE_NODE_GUID)) {
		node = topo_find(t, wire_sa_get(layout, WIRE_NODE_NODE_GUID, q->data));
	} else if (sa_asked(q, WIRE_NODE_PORT_GUID)) {
		port = topo_find_port(t, wire_sa_get(layout, WIRE_NODE_PORT_GUID, q->data));
		if (port != TOPO_NONE)
			node = t->ports[port].node;
	} else {
		return walk(q, t->nnodes);
	}
	walk_one(q, node, t->nnodes);
	return WIRE_SA_OK;
}

/* ---- Running --------------------------------------------------------------------------------- */

/* True when there is nothing left to look at. */
static bool run(struct sa_query *q)
{
	q->work = 0;
	while (q->item < q->end && q->nrows < q->limit && !q->status) {
		if (q->work >= q->slice)
			return false;
		q->record->emit(q, q->item++);
	}
	return true;
}

static uint16_t base_lid(void *arg, uint16_t lid)
{
	const struct sa *sa = arg;
	uint32_t port = sa_port_by_lid(sa, lid);

	return port == TOPO_NONE ? lid : sa_port_lid(sa, port);
}

static void match_prepare(struct sa_query *q)
{
	const struct wire_sa_layout *layout = wire_sa_layout(q->record->attr_id);

	if (layout)
		wire_sa_match_init(&q->match, layout, q->comp_mask, q->data, q->attr_mod >> 31,
				   base_lid, q->sa);
}

/* The scratch buffer goes with the job; the next query makes a new one. */
static bool job_start(const struct sa_query *q)
{
	struct sa *sa = q->sa;
	unsigned same = 0;

	for (unsigned i = 0; i < SA_JOBS; i++)
		same += sa->jobs[i] && sa->jobs[i]->from.lid == q->from.lid;
	for (unsigned i = 0; i < SA_JOBS && same < SA_JOBS_EACH; i++) {
		if (sa->jobs[i])
			continue;
		sa->jobs[i] = mem_alloc(1, sizeof(*q));
		*sa->jobs[i] = *q;
		sa->jobs[i]->slice = SA_SLICE;
		sa->scratch = NULL;
		loop_timer_set(sa->step, 0);
		return true;
	}
	return false;
}

static void scratch_resize(struct sa *sa, size_t size)
{
	sa->scratch = mem_resize(sa->scratch, size, 1);
	sa->scratch_size = size;
}

void sa_query_start(struct sa_query *q)
{
	struct sa *sa = q->sa;
	bool done;

	if (!sa->scratch)
		scratch_resize(sa, SCRATCH_NEW);
	q->answer = sa->scratch;
	q->size = sa->scratch_size;
	q->limit = q->method == WIRE_GET ? 2 : UINT32_MAX;
	q->slice = sa_round_slice(sa);
	q->status = q->record->prepare(q);
	if (!q->status)
		match_prepare(q);
	done = q->status || run(q);
	sa_round_add(sa, q->work);
	sa->scratch = q->answer;
	sa->scratch_size = q->size;
	if (!done && job_start(q))
		return;
	if (!done)
		q->status = WIRE_SA_BUSY;
	sa_send(q);
	if (sa->scratch_size > SCRATCH_KEEP)
		scratch_resize(sa, SCRATCH_NEW);
}

static void job_end(struct sa *sa, unsigned i)
{
	struct sa_query *q = sa->jobs[i];

	sa->jobs[i] = NULL;
	sa_send(q);
	free(q->answer);
	free(q);
}

/* One slice of one job a round, in turn. */
void sa_query_step(void *arg)
{
	struct sa *sa = arg;

	for (unsigned i = 0; i < SA_JOBS; i++) {
		sa->turn = (sa->turn + 1) % SA_JOBS;
		if (!sa->jobs[sa->turn])
			continue;
		if (run(sa->jobs[sa->turn]))
			job_end(sa, sa->turn);
		loop_timer_set(sa->step, 0);
		return;
	}
}

void sa_query_drop_jobs(struct sa *sa)
{
	loop_timer_stop(sa->step);
	for (unsigned i = 0; i < SA_JOBS; i++) {
		if (!sa->jobs[i])
			continue;
		sa->jobs[i]->status = WIRE_SA_BUSY;
		job_end(sa, i);
	}
}
