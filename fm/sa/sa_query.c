/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sa/sa_query.h"
#include "fm/sa/sa_impl.h"
#include "topology/base/mem.h"

/*
 * Answers of the SA: the request's header turned round, and rows.
 *
 * GetTable answers leave as one buffer of any length marked RMPP active; the kernel cuts it into
 * segments (IBA 13.6). Their length is exact, for a client computes from it how many rows there
 * are. Get answers are one MAD of 256 bytes. An error carries the request's components back.
 */

void sa_answer(struct sa *sa, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	sa->stats.answered += !mad_reply(sa->mad, from, mad, len);
}

/* An answer that confirms a registration leaves when the registration is on the disk. */
static void answer_send(const struct sa_query *q, const uint8_t *mad, size_t len)
{
	const struct sa_listener *l = &q->sa->listener;
	bool promise = !q->status && (q->method == WIRE_SET || q->method == WIRE_DELETE);

	if (!promise || !l->promised || !l->promised(l->arg, &q->from, mad))
		sa_answer(q->sa, &q->from, mad, len);
}

void sa_send(struct sa_query *q)
{
	bool table = q->method == WIRE_GET_TABLE || q->method == WIRE_GET_MULTI;
	uint8_t method = q->method == WIRE_SET ? WIRE_GET_RESP : q->method | 0x80;
	size_t size = q->record ? q->record->layout.size : 0;
	size_t len = WIRE_SA_HEADER + q->nrows * size;
	uint8_t mad[WIRE_MAD_SIZE];

	if (q->status == SA_UNANSWERED) {
		q->sa->stats.busy++;
		return;
	}
	if (!q->status && !table && q->nrows != 1)
		q->status = q->nrows ? WIRE_SA_TOO_MANY_RECORDS : WIRE_SA_NO_RECORDS;
	if (q->status == WIRE_SA_UNSUPPORTED)
		q->sa->stats.unsupported++;
	if (q->status) { /* it carries the request's components back */
		memcpy(mad, q->mad, sizeof(mad));
		wire_sa_answer(mad, method, q->status, false, 0);
		answer_send(q, mad, sizeof(mad));
	} else if (!table) {
		memcpy(q->answer, q->header, WIRE_SA_HEADER);
		memset(q->answer + WIRE_SA_HEADER + size, 0, WIRE_SA_DATA - size);
		wire_sa_answer(q->answer, method, WIRE_SA_OK, false, size);
		answer_send(q, q->answer, WIRE_MAD_SIZE);
	} else if (len < SA_LONG) {
		memcpy(q->answer, q->header, WIRE_SA_HEADER);
		wire_sa_answer(q->answer, method, WIRE_SA_OK, true, q->nrows ? size : 0);
		answer_send(q, q->answer, len);
	} else { /* its rows stay where they are until they are written */
		memcpy(mad, q->header, WIRE_SA_HEADER);
		wire_sa_answer(mad, method, WIRE_SA_OK, true, size);
		if (!q->body)
			q->body = io_body_new(q->answer);
		q->sa->stats.answered +=
			!mad_reply_long(q->sa->mad, &q->from, mad, WIRE_SA_HEADER, q->body, len);
	}
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
 * one. A request that finds the queue full stays unanswered, because clients repeat it, while
 * most of them give a query up at a status BUSY.
 *
 * The work in one round of the loop is bounded too. After SA_ROUND rows a query gets a short slice
 * only. That is enough for a query that names what it wants; one that walks the fabric continues as
 * a job.
 *
 * Jobs may be under way when a new view is published. If only ports and tables differ
 * (topo_is_again), nodes and LIDs have kept their indices and the walk continues: each of its rows
 * was right when it was made. Otherwise the walk begins again.
 */

#define SCRATCH_NEW  4096
#define SCRATCH_KEEP (1u << 20)
#define SEND_BYTES   (256u << 10) /* of answers in one step */
#define SLICE_SHORT  64 /* rows, after SA_ROUND: enough for a query that names what it wants */

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

bool sa_row_put(struct sa_query *q, const uint64_t *first, unsigned count, const void *rest,
		size_t size)
{
	uint8_t *row = sa_row(q);

	if (!row)
		return false;
	wire_sa_row(&q->record->layout, first, count, rest, size, row);
	sa_row_keep(q);
	return true;
}

/* ---- Requests -------------------------------------------------------------------------------- */

void sa_query_read(struct sa *sa, struct sa_query *q, const struct io_addr *from,
		   const struct wire_mad *mad, const uint8_t *raw, uint16_t origin)
{
	static const uint8_t bits[] = {
		[WIRE_GET] = SA_GET,	   [WIRE_GET_TABLE] = SA_TABLE, [WIRE_SET] = SA_SET,
		[WIRE_DELETE] = SA_DELETE, [WIRE_GET_MULTI] = SA_MULTI,
	};
	uint8_t bit = mad->method < sizeof(bits) ? bits[mad->method] : 0;
	const struct sa_record *r = sa->records;

	mem_zero(q, 1);
	q->sa = sa;
	while (r < sa->records + SA_RECORD_COUNT && r->attr_id != mad->attr_id)
		r++;
	if (r < sa->records + SA_RECORD_COUNT && r->methods & bit)
		q->record = r;
	q->from = *from;
	q->method = mad->method;
	q->attr_mod = mad->attr_mod;
	q->trusted = mad->key && !origin;
	q->comp_mask = wire_sa_comp_mask(raw);
	q->requester = sa->view.topo ? sa_port_by_lid(sa, origin ? origin : from->lid) : TOPO_NONE;
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
		uint32_t port = sa_port_by_lid(q->sa, wire_sa_get(layout, WIRE_SA_LID, q->data));

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

enum wire_sa_status sa_walk_until_end(struct sa_query *q)
{
	q->item = 0;
	q->end = UINT32_MAX;
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

static bool may_run(void *arg, uint16_t lid)
{
	const struct sa_engine *e = &((const struct sa *)arg)->engine;
	unsigned count = 0;

	for (unsigned i = 0; i < SA_JOBS; i++)
		count += e->jobs[i] && e->jobs[i]->from.lid == lid;
	return count < SA_JOBS_EACH;
}

/* SA_JOBS: all are taken. */
static unsigned free_job(const struct sa_engine *e)
{
	unsigned i = 0;

	while (i < SA_JOBS && e->jobs[i])
		i++;
	return i;
}

/* The query goes on as a job, its answer's buffer with it. */
static struct sa_query *job_start(unsigned i, const struct sa_query *q)
{
	struct sa_engine *e = &q->sa->engine;
	struct sa_query *job = mem_new(job);

	*job = *q;
	job->slice = SA_SLICE;
	cl_qlist_init(&job->also);
	e->jobs[i] = job;
	loop_timer_set(e->step, 0);
	return job;
}

static void scratch_resize(struct sa_engine *e, size_t size)
{
	e->scratch = mem_resize(e->scratch, size, 1);
	e->scratch_size = size;
}

static void begin(struct sa_query *q, uint8_t *answer, size_t size)
{
	const struct wire_sa_layout *layout = &q->record->layout;

	q->answer = answer;
	q->size = size;
	q->body = NULL;
	q->limit = q->method == WIRE_GET ? 2 : UINT32_MAX;
	q->status = q->record->prepare(q);
	if (!q->status && layout->ncomps)
		wire_sa_match_init(&q->match, layout, q->comp_mask, q->data, q->attr_mod >> 31,
				   base_lid, q->sa);
}

void sa_query_start(struct sa_query *q)
{
	struct sa_engine *e = &q->sa->engine;
	unsigned i = 0;

	if (!e->scratch)
		scratch_resize(e, SCRATCH_NEW);
	q->slice = e->round < SA_ROUND && !e->queue.count ? SA_SLICE : SLICE_SHORT;
	begin(q, e->scratch, e->scratch_size);

	bool done = q->status || run(q);

	e->round += q->work + 1;
	if (!loop_timer_armed(e->next_round))
		loop_timer_set(e->next_round, 0);
	e->scratch = q->answer;
	e->scratch_size = q->size;
	if (done) {
		sa_send(q);
		if (q->body) { /* the bytes went with it */
			io_body_unref(q->body);
			e->scratch = NULL;
		} else if (e->scratch_size > SCRATCH_KEEP) {
			scratch_resize(e, SCRATCH_NEW);
		}
		return;
	}
	for (; i < SA_JOBS; i++)
		if (e->jobs[i] &&
		    sa_same_request(&e->jobs[i]->from, e->jobs[i]->mad, &q->from, q->mad))
			return; /* repeated: its answer is being computed */
	i = free_job(e);
	if (i < SA_JOBS && may_run(q->sa, q->from.lid)) {
		/* The scratch buffer goes with the job; the next query makes a new one. */
		job_start(i, q);
		e->scratch = NULL;
	} else if (!sa_queue_add(&e->queue, &q->from, q->mad)) {
		q->sa->stats.busy++;
	}
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

static void job_free(struct sa_engine *e, unsigned i)
{
	struct sa_query *job = e->jobs[i];

	while (cl_qlist_count(&job->also))
		free(cl_qlist_remove_head(&job->also));
	if (job->body)
		io_body_unref(job->body);
	else
		free(job->answer);
	free(job);
	e->jobs[i] = NULL;
}

void sa_query_read_again(struct sa *sa, struct sa_query *q, const struct io_addr *from,
			 const uint8_t *raw)
{
	struct wire_mad mad;

	if (wire_mad_decode(raw, WIRE_MAD_SIZE, &mad))
		abort(); /* it was decoded when it arrived */
	sa_query_read(sa, q, from, &mad, raw, sa_origin(sa, mad.key, raw));
}

/* A host in the same partitions as the requester gets the same answer. */
static bool is_answered_alike(void *arg, uint16_t lid)
{
	const struct sa_query *q = arg;
	uint32_t port = sa_port_by_lid(q->sa, lid);
	const uint16_t *a, *b;

	if (port == TOPO_NONE || q->requester == TOPO_NONE)
		return false;
	if (!q->sa->view.pkeys)
		return true;

	unsigned count = pkey_map_keys(q->sa->view.pkeys, port, &a);

	return pkey_map_keys(q->sa->view.pkeys, q->requester, &b) == count &&
	       !memcmp(a, b, count * sizeof(*a));
}

/* A slice of its walk, or some of its answers. True: it is over. */
static bool job_step(struct sa_query *job)
{
	size_t row = job->record->layout.size, bytes = 0;

	if (!job->complete) {
		job->complete = job->status || run(job);
		if (job->complete)
			sa_send(job);
		return job->complete && !cl_qlist_count(&job->also);
	}
	while (bytes < SEND_BYTES && cl_qlist_count(&job->also)) {
		struct sa_waiting *other = (struct sa_waiting *)cl_qlist_remove_head(&job->also);

		job->from = other->from;
		memcpy(job->mad, other->mad, sizeof(job->mad));
		free(other);
		sa_send(job);
		bytes += WIRE_MAD_SIZE + job->nrows * row;
	}
	return !cl_qlist_count(&job->also);
}

/*
 * One slice of one job a round, in turn. Those that wait become jobs while there are places; each
 * takes along those who ask the same.
 */
void sa_query_step(void *arg)
{
	struct sa *sa = arg;
	struct sa_engine *e = &sa->engine;
	struct sa_waiting *request;
	unsigned i = 0;

	do
		e->turn = (e->turn + 1) % SA_JOBS;
	while (!e->jobs[e->turn] && ++i < SA_JOBS);
	if (!e->jobs[e->turn])
		return;
	loop_timer_set(e->step, 0);
	if (!job_step(e->jobs[e->turn]))
		return;
	job_free(e, e->turn);
	while ((i = free_job(e)) < SA_JOBS && (request = sa_queue_take(&e->queue, may_run, sa))) {
		struct sa_query q, *job;

		sa_query_read_again(sa, &q, &request->from, request->mad);
		free(request);
		begin(&q, mem_alloc_unset(1, SCRATCH_NEW), SCRATCH_NEW);
		job = job_start(i, &q);
		if (job->method == WIRE_GET || job->method == WIRE_GET_TABLE)
			sa_queue_take_same(&e->queue, job->mad, &job->also, is_answered_alike, job);
	}
}

/* Jobs that are not complete begin again, unless what they refer to by index is where it was. */
void sa_query_view_changed(struct sa *sa, bool same_places)
{
	for (unsigned i = 0; i < SA_JOBS && !same_places; i++) {
		struct sa_query q, *job = sa->engine.jobs[i];
		cl_qlist_t also;

		if (!job || job->complete)
			continue;
		sa_query_read_again(sa, &q, &job->from, job->mad);
		begin(&q, job->answer, job->size);
		q.slice = SA_SLICE;
		cl_qlist_init(&also);
		cl_qlist_insert_list_tail(&also, &job->also);
		*job = q;
		cl_qlist_init(&job->also);
		cl_qlist_insert_list_tail(&job->also, &also);
	}
}

void sa_query_forget(struct sa *sa)
{
	struct sa_engine *e = &sa->engine;

	loop_timer_stop(e->step);
	for (unsigned i = 0; i < SA_JOBS; i++)
		if (e->jobs[i])
			job_free(e, i);
	sa_queue_clear(&e->queue);
	sa_queue_clear(&sa->limit.late);
}

static void round_over(void *arg)
{
	((struct sa *)arg)->engine.round = 0;
}

void sa_engine_init(struct sa *sa)
{
	sa->engine.step = loop_timer_new(sa->loop, sa_query_step, sa);
	sa->engine.next_round = loop_timer_new(sa->loop, round_over, sa);
	sa_queue_init(&sa->engine.queue, SA_QUEUE_EACH);
}
