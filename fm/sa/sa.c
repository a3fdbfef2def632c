/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Subnet administration (IBA 15): the server.
 *
 * Only the master answers. The server checks a request in this order:
 *   - a malformed request, one from no port's LID, or one with another SM_Key (C15-0.1.5), is
 *     dropped and counted;
 *   - a record or method that this SA does not have is refused as unsupported;
 *   - while no view is published the request stays unanswered and is counted; of a host that sends
 *     more than its share it waits until there is time (sa_limit.c);
 *   - all others go to the engine (sa_query.c), which walks the record (sa_query.h).
 * A client repeats a request that is not answered, but the kernel's client and most others give up
 * at a status BUSY.
 *
 * Linux repeats a request to the LID that it went to first, also when another is master. So an SA
 * that may not do what it is asked for, because its manager stands by or has just handed over,
 * forwards the request to the master and hands the answer back. A forwarded request carries the LID
 * of who asked in the RMPP header's Data1, which only RMPP uses, and as SM_Key a hash of that LID
 * with the sa_key, which both managers have: the master serves it as that LID's, untrusted. A
 * manager of another kind or key drops it. Changes that come while the fabric is being handed over
 * wait until the next master is known.
 */
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_state.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

#define SA_CLASS_VERSION 2
#define SA_LIDS		 0xc000 /* those above are no port's */
#define METHOD_AT	 3
#define STATUS_AT	 4

/* ---- Requests -------------------------------------------------------------------------------- */

static void serve(struct sa_query *q)
{
	struct sa *sa = q->sa;

	if (sa->frozen && sa_is_change(q)) {
		sa->stats.ignored++;
	} else if (!sa->view.topo) {
		sa->stats.busy++;
	} else if (q->record->trusted && !q->trusted) {
		q->status = WIRE_SA_REQ_INVALID;
		sa_send(q);
	} else {
		sa_query_start(q);
	}
}

/* ---- What another manager is asked for ------------------------------------------------------- */

#define FORWARDS      1024 /* at a time */
#define FORWARDS_EACH 64   /* of a LID */
#define FORWARD_MS    50   /* from try to try */
#define FORWARD_TRIES 40   /* these take about as long as rdma_cm waits */

struct forward { /* free: sa is NULL */
	struct sa *sa;
	mad_token token; /* 0: waits until the master is known */
	struct io_addr from;
	uint8_t mad[WIRE_MAD_SIZE];
};

static void forward_answered(void *arg, const struct mad_answer *answer)
{
	struct forward *f = arg;
	struct sa *sa = f->sa;
	const struct io_addr from = f->from;
	uint8_t mad[WIRE_MAD_SIZE];

	memcpy(mad, f->mad, sizeof(mad));
	*f = (struct forward){ 0 };
	sa->nforwards--;
	sa->stats.ignored += !answer->data;
	if (!answer->data || answer->length > sizeof(mad) - WIRE_MAD_HEADER)
		return;
	memcpy(mad + WIRE_MAD_HEADER, answer->data, answer->length);
	wire_sa_origin_set(mad + WIRE_MAD_HEADER, 0, 0); /* an answer has no key */
	mad[METHOD_AT] =
		mad[METHOD_AT] == WIRE_SET ? WIRE_GET_RESP : mad[METHOD_AT] | WIRE_RESPONSE;
	mad[STATUS_AT] = answer->status >> 8;
	mad[STATUS_AT + 1] = answer->status;
	sa->stats.answered += !mad_reply(sa->mad, &from, mad, sizeof(mad));
}

static void forward_send(struct forward *f)
{
	struct sa *sa = f->sa;
	uint8_t data[WIRE_GMP_DATA];
	struct wire_mad mad;

	if (wire_mad_decode(f->mad, sizeof(f->mad), &mad))
		abort(); /* it was decoded when it arrived */
	memcpy(data, f->mad + WIRE_MAD_HEADER, sizeof(data));
	if (!mad.key)
		wire_sa_origin_set(data, f->from.lid, hash_word(sa->conf.sa_key + f->from.lid));
	f->token =
		mad_send(sa->mad,
			 &(struct mad_request){ .lid = sa->master_lid,
						.sl = sa->master_sl,
						.mgmt_class = WIRE_SA,
						.pkey_index = inventory_default_pkey_index(sa->inv),
						.method = mad.method,
						.attr_id = mad.attr_id,
						.attr_mod = mad.attr_mod,
						.data = data,
						.doubtful = true,
						.timeout_ms = FORWARD_MS,
						.retries = FORWARD_TRIES - 1 },
			 forward_answered, f);
}

/* Repeated ones are on their way already; those with long answers are not for kernels' clients. */
static void forward(struct sa *sa, const struct io_addr *from, const uint8_t *raw)
{
	struct forward *place = NULL;
	unsigned of_lid = 0;

	if (!sa->forwards)
		sa->forwards = mem_array(sa->forwards, FORWARDS);
	for (struct forward *f = sa->forwards; f < sa->forwards + FORWARDS; f++) {
		if (f->sa && sa_same_request(&f->from, f->mad, from, raw))
			return;
		of_lid += f->sa && f->from.lid == from->lid;
		place = f->sa ? place : f;
	}
	if (!place || of_lid >= FORWARDS_EACH) {
		sa->stats.ignored++;
		return;
	}
	*place = (struct forward){ .sa = sa, .from = *from };
	memcpy(place->mad, raw, sizeof(place->mad));
	sa->nforwards++;
	if (sa->master_lid)
		forward_send(place);
}

void sa_forward(struct sa *sa, uint16_t master_lid, uint8_t sl)
{
	sa->master_lid = master_lid;
	sa->master_sl = sl;
	for (unsigned i = 0; master_lid && sa->nforwards && i < FORWARDS; i++)
		if (sa->forwards[i].sa && !sa->forwards[i].token)
			forward_send(&sa->forwards[i]);
}

static void forwards_forget(struct sa *sa)
{
	for (unsigned i = 0; sa->nforwards && i < FORWARDS; i++) {
		if (!sa->forwards[i].sa)
			continue;
		mad_cancel(sa->mad, sa->forwards[i].token);
		sa->forwards[i] = (struct forward){ 0 };
		sa->nforwards--;
	}
}

/* ---- Requests that waited -------------------------------------------------------------------- */

/* In one round of the loop: requests that waited, and rows read for them. */
#define LATE_ROUND 32
#define LATE_ROWS  4096

/* What is above a host's rate (sa_limit.c): some of it, host by host. */
static void late_step(void *arg)
{
	struct sa *sa = arg;
	struct limit *l = &sa->limit;
	unsigned rows = 0;

	for (unsigned i = 0; i < LATE_ROUND && rows < LATE_ROWS; i++) {
		unsigned before = sa->engine.round;
		struct sa_query q;
		struct sa_waiting *request = sa_queue_take(&l->late, NULL, NULL);

		if (!request)
			break;
		sa_query_read_again(sa, &q, &request->from, request->mad);
		serve(&q);
		rows += sa->engine.round - before;
		sa_queue_charge(&l->late, request->from.lid, sa->engine.round - before);
		free(request);
	}
	if (l->late.count)
		loop_timer_set(l->step, 0);
}

static void receive(void *arg, const struct io_addr *from, const struct wire_mad *mad,
		    const uint8_t *raw, size_t len)
{
	struct sa *sa = arg;
	struct sa_stats *stats = &sa->stats;
	struct sa_query q;

	stats->requests++;
	/* What asks for no answer (IBA 13.4.5) is nobody's question. */
	if (len < WIRE_MAD_SIZE || !from->lid || from->lid >= SA_LIDS ||
	    mad->class_version != SA_CLASS_VERSION || mad->method == WIRE_SEND ||
	    mad->method == WIRE_TRAP || mad->method == WIRE_TRAP_REPRESS) {
		stats->bad++;
		return;
	}

	uint16_t origin = sa_origin(sa, mad->key, raw);

	if (mad->key && mad->key != sa->conf.sa_key && mad->key != sa->conf.old_sa_key && !origin) {
		stats->bad++;
		if (log_allow(&sa->refused, loop_now_us(sa->loop), 1))
			log_line(LOG_SA, LOG_WARNING, "lid %u: wrong SM_Key, request dropped",
				 from->lid);
		return;
	}
	sa_query_read(sa, &q, from, mad, raw, origin);
	if (!q.record) {
		q.status = WIRE_SA_UNSUPPORTED;
		sa_send(&q);
	} else if (((sa->frozen && sa_is_change(&q)) || (!sa->view.topo && sa->master_lid)) &&
		   !origin && q.method != WIRE_GET_TABLE && q.method != WIRE_GET_MULTI) {
		forward(sa, from, raw);
	} else if (!sa->view.topo || sa_limit_admits(sa, from, raw)) {
		serve(&q);
	} else if (sa->limit.late.count && !loop_timer_armed(sa->limit.step)) {
		loop_timer_set(sa->limit.step, 0);
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

#define SA_RECORD_POINTER(name) &sa_record_##name,
static const struct sa_record *const records[] = { SA_RECORDS(SA_RECORD_POINTER) };
static const struct sa_groups_ops groups_ops = { .kept = sa_group_kept };

struct sa *sa_new(struct loop *loop, struct mad *mad, const struct inventory *inv,
		  const struct sa_conf *conf)
{
	struct sa *sa = mem_new(sa);

	sa->loop = loop;
	sa->mad = mad;
	sa->inv = inv;
	sa->conf = *conf;
	for (unsigned i = 0; i < SA_RECORD_COUNT; i++) {
		sa->records[i] = *records[i];
		if (records[i]->layout.ncomps) /* its rows are as long as these are together */
			sa->records[i].layout.size = wire_sa_layout_size(&records[i]->layout);
	}
	cl_qmap_init(&sa->aliases.tables);
	cl_qmap_init(&sa->aliases.owners);
	sa_engine_init(sa);
	sa_queue_init(&sa->limit.late, SA_LATE_EACH);
	sa->limit.step = loop_timer_new(loop, late_step, sa);
	sa_services_init(sa);
	sa_reports_init(sa);
	sa->groups = sa_groups_new(&groups_ops, sa);
	mad_handle(mad, WIRE_SA, receive, sa);
	return sa;
}

void sa_free(struct sa *sa)
{
	if (!sa)
		return;
	forwards_forget(sa);
	free(sa->forwards);
	mad_handle(sa->mad, WIRE_SA, NULL, NULL);
	sa_query_forget(sa);
	loop_timer_free(sa->engine.step);
	loop_timer_free(sa->engine.next_round);
	sa->listener = (struct sa_listener){ 0 }; /* an end is no change */
	sa_subscriptions_forget(sa);
	loop_timer_free(sa->reports.step);
	free(sa->reports.ring);
	free(sa->reports.serving);
	sa_groups_free(sa->groups);
	sa_services_forget(sa);
	loop_timer_free(sa->services.lease);
	sa_aliases_forget(sa);
	loop_timer_free(sa->limit.step);
	free(sa->limit.even);
	free(sa->limit.reported);
	free(sa->links);
	topo_unref(sa->places.topo);
	free(sa->managers);
	free(sa->engine.scratch);
	free(sa);
}

void sa_configure(struct sa *sa, const struct sa_conf *conf)
{
	sa->conf = *conf;
}

void sa_publish(struct sa *sa, const struct sa_view *view)
{
	struct sa_places was = sa->places;

	sa->view = *view;
	sa->places = (struct sa_places){ 0 };
	free(sa->links);
	sa->links = NULL;
	if (view->topo) {
		sa->places = (struct sa_places){ topo_ref(view->topo), view->lids->top,
						 view->lids->lmc };
		/* Whether what jobs refer to by index is where it was. */
		sa_query_view_changed(sa, was.topo && topo_is_again(was.topo, view->topo) &&
						  was.top == view->lids->top &&
						  was.lmc == view->lids->lmc);
	} else {
		sa_query_forget(sa);
	}
	topo_unref(was.topo);
	sa_reports_compare(sa);
}

void sa_use_gate(struct sa *sa, sa_gate_fn *fn, void *arg)
{
	sa->gate = fn;
	sa->gate_arg = arg;
}

void sa_freeze(struct sa *sa, bool on)
{
	sa->frozen = on;
	if (!on && !sa->master_lid)
		forwards_forget(sa);	      /* this manager stays master, and is asked again */
	if (cl_qlist_count(&sa->reports.due)) /* what was held back goes on */
		loop_timer_set(sa->reports.step, 0);
}

void sa_show_priority(struct sa *sa, uint8_t priority)
{
	sa->priority = priority;
}

struct sa_stats sa_stats(const struct sa *sa)
{
	struct sa_stats stats = sa->stats;

	stats.services = sa->services.count;
	stats.waiting = sa->engine.queue.count + sa->limit.late.count + sa->nforwards;
	return stats;
}
