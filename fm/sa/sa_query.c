/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sa/sa_query.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/mad/wire_sa_comp.h"
#include "fm/sa/sa_impl.h"
#include "topology/base/mem.h"

/*
 * Answers of the SA: the request's header turned round, and rows.
 *
 * GetTable answers leave as one buffer of any length marked RMPP active; the kernel cuts it into
 * segments (IBA 13.6). Their length is exact, for a client computes from it how many rows there
 * are. Get answers are one MAD of 256 bytes. An error carries the request's components back.
 */

static uint8_t response_to(uint8_t method)
{
	return method == WIRE_SET ? WIRE_GET_RESP : method | 0x80;
}

static void answer_send(struct sa *sa, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	if (mad_reply(sa->mad, from, mad, len) == 0)
		sa->stats.answered++;
}

/* An error carries the request's components back. */
static void error_send(struct sa_query *q)
{
	uint8_t mad[WIRE_MAD_SIZE];

	memcpy(mad, q->header, WIRE_SA_HEADER);
	memcpy(mad + WIRE_SA_HEADER, q->data, WIRE_SA_DATA);
	wire_sa_answer(mad, response_to(q->method), q->status, false, 0);
	if (q->status == WIRE_SA_UNSUPPORTED)
		q->sa->stats.unsupported++;
	answer_send(q->sa, &q->from, mad, sizeof(mad));
}

static void single_send(struct sa_query *q)
{
	size_t used = WIRE_SA_HEADER + q->record->layout.size;

	memcpy(q->answer, q->header, WIRE_SA_HEADER);
	memset(q->answer + used, 0, WIRE_MAD_SIZE - used);
	wire_sa_answer(q->answer, response_to(q->method), WIRE_SA_OK, false,
		       q->record->layout.size);
	answer_send(q->sa, &q->from, q->answer, WIRE_MAD_SIZE);
}

/* Its rows stay where they are until they are written. */
static void long_send(struct sa_query *q, const uint8_t *header, size_t len)
{
	if (!q->body)
		q->body = io_body_new(q->answer);
	if (!mad_reply_long(q->sa->mad, &q->from, header, WIRE_SA_HEADER, q->body, len))
		q->sa->stats.answered++;
}

static void table_send(struct sa_query *q)
{
	size_t row_size = q->nrows ? q->record->layout.size : 0;
	size_t len = WIRE_SA_HEADER + q->nrows * row_size;
	uint8_t header[WIRE_SA_HEADER];

	memcpy(header, q->header, WIRE_SA_HEADER);
	wire_sa_answer(header, response_to(q->method), WIRE_SA_OK, true, row_size);
	if (len >= SA_LONG) {
		long_send(q, header, len);
		return;
	}
	memcpy(q->answer, header, WIRE_SA_HEADER);
	answer_send(q->sa, &q->from, q->answer, len);
}

void sa_send(struct sa_query *q)
{
	bool table = q->method == WIRE_GET_TABLE || q->method == WIRE_GET_MULTI;

	if (!q->status && !table && q->nrows == 0)
		q->status = WIRE_SA_NO_RECORDS;
	if (!q->status && !table && q->nrows > 1)
		q->status = WIRE_SA_TOO_MANY_RECORDS;
	if (q->status)
		error_send(q);
	else if (table)
		table_send(q);
	else
		single_send(q);
}

/*
 * The query engine, one for all records and for Get and GetTable alike.
 *
 * A record walks items (nodes, switches, LIDs); each item emits rows straight into the answer's
 * buffer, where a row that does not match is written over by the next. A component that names a
 * node narrows the walk to it beforehand.
 *
 * A walk that has not ended after SA_SLICE rows becomes a job, which continues from the loop, so
 * that a dump of the whole fabric does not delay sweeps and reroutes. Most queries end before. When
 * all jobs are in use, the request waits for one (sa_limit.c) and then begins again, together with
 * all waiting requests for the same: after a start of the fabric thousands of hosts send the same
 * one. A request that the queue has no room for stays unanswered, because clients repeat it, while
 * most of them give a query up at a status BUSY.
 *
 * Jobs may be under way when a new view is published. If only ports and tables differ
 * (topo_is_again), nodes and LIDs have kept their indices and the walk continues: each of its rows
 * was right when it was made. Otherwise the walk begins again.
 */

#define SCRATCH_NEW  4096
#define SCRATCH_KEEP (1u << 20)
#define SEND_BYTES   (256u << 10) /* of answers in one step */

uint8_t *sa_row(struct sa_query *q)
{
	size_t used = WIRE_SA_HEADER + (size_t)q->nrows * q->record->layout.size;

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
	const uint8_t *row = q->answer + WIRE_SA_HEADER + (size_t)q->nrows * q->record->layout.size;

	if (wire_sa_match(&q->match, row))
		q->nrows++;
	q->work++;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static uint8_t method_bit(uint8_t method)
{
	switch (method) {
	case WIRE_GET:
		return SA_GET;
	case WIRE_GET_TABLE:
		return SA_TABLE;
	case WIRE_SET:
		return SA_SET;
	case WIRE_DELETE:
		return SA_DELETE;
	case WIRE_GET_MULTI:
		return SA_MULTI;
	default:
		return 0;
	}
}

static const struct sa_record *record_find(const struct sa *sa, uint16_t attr_id, uint8_t method)
{
	for (const struct sa_record *r = sa->records; r < sa->records + SA_RECORD_COUNT; r++)
		if (r->attr_id == attr_id)
			return r->methods & method_bit(method) ? r : NULL;
	return NULL;
}

void sa_query_read(struct sa *sa, struct sa_query *q, const struct io_addr *from,
		   const struct wire_mad *mad, const uint8_t *raw)
{
	memset(q, 0, sizeof(*q));
	q->sa = sa;
	q->record = record_find(sa, mad->attr_id, mad->method);
	q->from = *from;
	q->method = mad->method;
	q->attr_mod = mad->attr_mod;
	q->trusted = mad->key != 0;
	q->comp_mask = wire_sa_comp_mask(raw);
	q->asker = sa->view.topo ? sa_port_by_lid(sa, from->lid) : TOPO_NONE;
	memcpy(q->mad, raw, sizeof(q->mad));
}

/* ---- Which items to walk --------------------------------------------------------------------- */

void sa_walk_one(struct sa_query *q, uint32_t item, uint32_t count)
{
	q->item = item;
	q->end = item < count ? item + 1 : item;
}

static enum wire_sa_status walk(struct sa_query *q, uint32_t count)
{
	q->item = 0;
	q->end = count;
	if (sa_asked(q, WIRE_SA_LID)) {
		const struct wire_sa_layout *layout = &q->record->layout;
		uint32_t port =
			sa_port_by_lid(q->sa, (uint16_t)wire_sa_get(layout, WIRE_SA_LID, q->data));

		if (port == TOPO_NONE)
			q->end = 0;
		else
			sa_walk_one(q, q->sa->view.topo->ports[port].node, count);
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
	sa_walk_one(q, 0, 1);
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
	const struct wire_sa_layout *layout = &q->record->layout;

	if (layout->ncomps)
		wire_sa_match_init(&q->match, layout, q->comp_mask, q->data, q->attr_mod >> 31,
				   base_lid, q->sa);
}

static unsigned running_of(const struct sa *sa, uint16_t lid)
{
	unsigned count = 0;

	for (unsigned i = 0; i < SA_JOBS; i++)
		count += sa->jobs[i] && sa->jobs[i]->from.lid == lid;
	return count;
}

static bool may_run(void *arg, uint16_t lid)
{
	return running_of(arg, lid) < SA_JOBS_EACH;
}

/* SA_JOBS: all are taken. */
static unsigned free_job(const struct sa *sa)
{
	unsigned i = 0;

	while (i < SA_JOBS && sa->jobs[i])
		i++;
	return i;
}

static bool is_running(const struct sa *sa, const struct sa_query *q)
{
	for (unsigned i = 0; i < SA_JOBS; i++)
		if (sa->jobs[i] &&
		    sa_same_request(&sa->jobs[i]->from, sa->jobs[i]->mad, &q->from, q->mad))
			return true;
	return false;
}

/* The query goes on as a job, its answer's buffer with it. */
static struct sa_query *job_start(unsigned i, const struct sa_query *q)
{
	struct sa *sa = q->sa;
	struct sa_query *job = mem_alloc(1, sizeof(*job));

	*job = *q;
	job->slice = SA_SLICE;
	cl_qlist_init(&job->also);
	sa->jobs[i] = job;
	loop_timer_set(sa->step, 0);
	return job;
}

/* The scratch buffer goes with the job; the next query makes a new one. */
static void go_on_later(const struct sa_query *q)
{
	struct sa *sa = q->sa;
	unsigned i = free_job(sa);

	if (is_running(sa, q))
		return; /* repeated: its answer is in the making */
	if (i < SA_JOBS && may_run(sa, q->from.lid)) {
		job_start(i, q);
		sa->scratch = NULL;
	} else if (!sa_queue_add(&sa->queue, &q->from, q->mad)) {
		sa->stats.busy++;
	}
}

static void scratch_resize(struct sa *sa, size_t size)
{
	sa->scratch = mem_resize(sa->scratch, size, 1);
	sa->scratch_size = size;
}

static void begin(struct sa_query *q, uint8_t *answer, size_t size)
{
	q->answer = answer;
	q->size = size;
	q->body = NULL;
	q->limit = q->method == WIRE_GET ? 2 : UINT32_MAX;
	q->status = q->record->prepare(q);
	if (!q->status)
		match_prepare(q);
}

void sa_query_start(struct sa_query *q)
{
	struct sa *sa = q->sa;
	bool done;

	if (!sa->scratch)
		scratch_resize(sa, SCRATCH_NEW);
	q->slice = sa_round_slice(sa);
	begin(q, sa->scratch, sa->scratch_size);
	done = q->status || run(q);
	sa_round_add(sa, q->work);
	sa->scratch = q->answer;
	sa->scratch_size = q->size;
	if (!done) {
		go_on_later(q);
		return;
	}
	sa_send(q);
	if (q->body) { /* the bytes went with it */
		io_body_unref(q->body);
		sa->scratch = NULL;
	} else if (sa->scratch_size > SCRATCH_KEEP) {
		scratch_resize(sa, SCRATCH_NEW);
	}
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

static void job_free(struct sa *sa, unsigned i)
{
	while (cl_qlist_count(&sa->jobs[i]->also))
		free(cl_qlist_remove_head(&sa->jobs[i]->also));
	if (sa->jobs[i]->body)
		io_body_unref(sa->jobs[i]->body);
	else
		free(sa->jobs[i]->answer);
	free(sa->jobs[i]);
	sa->jobs[i] = NULL;
}

static void read_again(struct sa *sa, struct sa_query *q, const struct io_addr *from,
		       const uint8_t *raw)
{
	struct wire_mad mad;

	if (wire_mad_decode(raw, WIRE_MAD_SIZE, &mad))
		abort(); /* it was decoded when it arrived */
	sa_query_read(sa, q, from, &mad, raw);
}

/* Whoever is in the same partitions as the asker gets the same answer. */
static bool is_answered_alike(void *arg, uint16_t lid)
{
	const struct sa_query *q = arg;
	uint32_t port = sa_port_by_lid(q->sa, lid);
	const uint16_t *a, *b;
	unsigned count;

	if (port == TOPO_NONE || q->asker == TOPO_NONE)
		return false;
	if (!q->sa->view.pkeys)
		return true;
	count = pkey_map_keys(q->sa->view.pkeys, port, &a);
	return pkey_map_keys(q->sa->view.pkeys, q->asker, &b) == count &&
	       !memcmp(a, b, count * sizeof(*a));
}

/* Takes along those who ask the same. */
static void gather_also(struct sa_query *job)
{
	bool looks = job->method == WIRE_GET || job->method == WIRE_GET_TABLE;

	if (looks)
		sa_queue_take_same(&job->sa->queue, job->mad, &job->also, is_answered_alike, job);
}

/* Those that wait become jobs, as many as there is room for. */
static void fill_jobs(struct sa *sa)
{
	struct sa_waiting *request;
	unsigned i;

	while ((i = free_job(sa)) < SA_JOBS && (request = sa_queue_take(&sa->queue, may_run, sa))) {
		struct sa_query q;

		read_again(sa, &q, &request->from, request->mad);
		free(request);
		begin(&q, mem_alloc_unset(1, SCRATCH_NEW), SCRATCH_NEW);
		gather_also(job_start(i, &q));
	}
}

/* The answer goes to the next of those who ask the same. */
static void send_also(struct sa_query *job)
{
	struct sa_waiting *other = (struct sa_waiting *)cl_qlist_remove_head(&job->also);

	job->from = other->from;
	memcpy(job->mad, other->mad, sizeof(job->mad));
	free(other);
	sa_send(job);
}

static size_t answer_bytes(const struct sa_query *q)
{
	return WIRE_MAD_SIZE + (size_t)q->nrows * q->record->layout.size;
}

/* A slice of its walk, or some of its answers. True: it is over. */
static bool job_step(struct sa_query *job)
{
	size_t bytes = 0;

	if (!job->complete) {
		job->complete = job->status || run(job);
		if (job->complete)
			sa_send(job);
		return job->complete && !cl_qlist_count(&job->also);
	}
	for (; bytes < SEND_BYTES && cl_qlist_count(&job->also); bytes += answer_bytes(job))
		send_also(job);
	return !cl_qlist_count(&job->also);
}

/* One slice of one job a round, in turn. */
void sa_query_step(void *arg)
{
	struct sa *sa = arg;

	for (unsigned i = 0; i < SA_JOBS; i++) {
		sa->turn = (sa->turn + 1) % SA_JOBS;
		if (!sa->jobs[sa->turn])
			continue;
		if (job_step(sa->jobs[sa->turn])) {
			job_free(sa, sa->turn);
			fill_jobs(sa);
		}
		loop_timer_set(sa->step, 0);
		return;
	}
}

static void restart(struct sa *sa, struct sa_query *job)
{
	cl_qlist_t also;
	struct sa_query q;

	read_again(sa, &q, &job->from, job->mad);
	begin(&q, job->answer, job->size);
	q.slice = SA_SLICE;
	cl_qlist_init(&also);
	cl_qlist_insert_list_tail(&also, &job->also);
	*job = q;
	cl_qlist_init(&job->also);
	cl_qlist_insert_list_tail(&job->also, &also);
}

void sa_query_view_changed(struct sa *sa, bool same_places)
{
	for (unsigned i = 0; i < SA_JOBS; i++)
		if (sa->jobs[i] && !same_places && !sa->jobs[i]->complete)
			restart(sa, sa->jobs[i]);
}

void sa_query_forget(struct sa *sa)
{
	loop_timer_stop(sa->step);
	for (unsigned i = 0; i < SA_JOBS; i++)
		if (sa->jobs[i])
			job_free(sa, i);
	sa_queue_clear(&sa->queue);
}
