/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Subnet administration (IBA 15): the server.
 *
 * Only the master answers. The server checks a request in this order:
 *   - a malformed request, or one with another SM_Key (C15-0.1.5), is dropped and counted;
 *   - a record or method that this SA does not have is refused as unsupported;
 *   - while no view is published, or when one host sends too many requests, the request stays
 *     unanswered and is counted;
 *   - all others go to the engine (sa_query.c), which walks the record (sa_record.h).
 * A client repeats a request that is not answered, but the kernel's client and most others give up
 * at a status BUSY. So a join that arrives during a hand-over is not answered either: the client's
 * next try reaches the new master, which would not know of a join that this one acknowledged.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/sa/sa_mcast.h"
#include "fm/sa/sa_service.h"
#include "fm/sa/sa_state.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

#define SA_CLASS_VERSION 2

/* ---- Requests -------------------------------------------------------------------------------- */

/* What asks for no answer (IBA 13.4.5) is nobody's question. */
static bool is_request(uint8_t method)
{
	return method != WIRE_SEND && method != WIRE_TRAP && method != WIRE_TRAP_REPRESS;
}

static bool acceptable(struct sa *sa, const struct io_addr *from, const struct wire_mad *mad,
		       size_t len)
{
	if (len < WIRE_MAD_SIZE || mad->class_version != SA_CLASS_VERSION ||
	    !is_request(mad->method)) {
		sa->stats.bad++;
		return false;
	}
	if (mad->key && mad->key != sa->conf.sa_key && mad->key != sa->conf.old_sa_key) {
		sa->stats.bad++;
		if (log_allow(&sa->refused, loop_now_us(sa->loop), 1))
			log_line(LOG_SA, LOG_WARNING, "lid %u: wrong SM_Key, request dropped",
				 from->lid);
		return false;
	}
	return true;
}

static bool changes(const struct sa_query *q)
{
	return q->method == WIRE_SET || q->method == WIRE_DELETE;
}

/* False: it stays unanswered for now. */
static bool is_served(struct sa *sa, const struct io_addr *from, const struct sa_query *q)
{
	if (sa->frozen && changes(q)) {
		sa->stats.ignored++;
		return false;
	}
	if (sa->view.topo && sa_limit_admits(sa, from->lid))
		return true;
	sa->stats.busy++;
	return false;
}

static void refuse(struct sa_query *q, enum wire_sa_status status)
{
	q->status = status;
	sa_send(q);
}

static void receive(void *arg, const struct io_addr *from, const struct wire_mad *mad,
		    const uint8_t *raw, size_t len)
{
	struct sa *sa = arg;
	struct sa_query q;

	if (sa->away) {
		sa->stats.ignored++;
		return;
	}
	sa->stats.requests++;
	if (!acceptable(sa, from, mad, len))
		return;
	sa_query_read(sa, &q, from, mad, raw);
	if (!q.record)
		refuse(&q, WIRE_SA_UNSUPPORTED);
	else if (!is_served(sa, from, &q))
		return;
	else if (q.record->trusted && !q.trusted)
		refuse(&q, WIRE_SA_REQ_INVALID);
	else
		sa_query_start(&q);
}

/* ---- Life ------------------------------------------------------------------------------------ */

#define SA_RECORD_POINTER(name) &sa_record_##name,
static const struct sa_record *const records[] = { SA_RECORDS(SA_RECORD_POINTER) };

/* Where a record has components, its rows are as long as these are together. */
static void records_take(struct sa *sa)
{
	for (unsigned i = 0; i < SA_RECORD_COUNT; i++) {
		sa->records[i] = *records[i];
		if (records[i]->layout.ncomps)
			sa->records[i].layout.size = wire_sa_layout_size(&records[i]->layout);
	}
}

struct sa *sa_new(struct loop *loop, struct mad *mad, const struct inventory *inv,
		  const struct sa_conf *conf)
{
	struct sa *sa = mem_alloc(1, sizeof(*sa));

	sa->loop = loop;
	sa->mad = mad;
	sa->inv = inv;
	sa->conf = *conf;
	records_take(sa);
	sa->step = loop_timer_new(loop, sa_query_step, sa);
	cl_qmap_init(&sa->subscribers);
	sa_limit_init(sa);
	sa_queue_init(&sa->queue);
	sa_services_init(sa);
	sa_alias_init(sa);
	sa_reports_init(sa);
	sa_mcast_init(sa);
	mad_handle(mad, WIRE_SA, receive, sa);
	return sa;
}

void sa_free(struct sa *sa)
{
	if (!sa)
		return;
	mad_handle(sa->mad, WIRE_SA, NULL, NULL);
	sa_query_forget(sa);
	loop_timer_free(sa->step);
	sa->listener = (struct sa_listener){ 0 }; /* an end is no change */
	sa_subscriptions_forget(sa);
	sa_reports_fini(sa);
	sa_mcast_fini(sa);
	sa_services_fini(sa);
	sa_aliases_forget(sa);
	sa_limit_fini(sa);
	sa_links_forget(sa);
	topo_unref(sa->places.topo);
	free(sa->managers);
	free(sa->scratch);
	free(sa);
}

void sa_configure(struct sa *sa, const struct sa_conf *conf)
{
	sa->conf = *conf;
}

/* What jobs refer to by index is where it was. */
static bool take_places(struct sa *sa, const struct sa_view *view)
{
	struct sa_places was = sa->places;
	bool same;

	sa->places = (struct sa_places){ 0 };
	if (view->topo)
		sa->places = (struct sa_places){ topo_ref(view->topo), view->lids->top,
						 view->lids->lmc };
	same = was.topo && view->topo && topo_is_again(was.topo, view->topo) &&
	       was.top == view->lids->top && was.lmc == view->lids->lmc;
	topo_unref(was.topo);
	return same;
}

void sa_publish(struct sa *sa, const struct sa_view *view)
{
	bool same = take_places(sa, view);

	sa->view = *view;
	sa_links_forget(sa);
	if (view->topo)
		sa_query_view_changed(sa, same);
	else
		sa_query_forget(sa);
	sa_reports_compare(sa);
}

void sa_serve(struct sa *sa, bool on)
{
	sa->away = !on;
	if (!on)
		sa_query_forget(sa);
}

void sa_freeze(struct sa *sa, bool on)
{
	sa->frozen = on;
	sa_reports_wake(sa);
}

struct sa_stats sa_stats(const struct sa *sa)
{
	struct sa_stats stats = sa->stats;

	stats.services = sa->services.count;
	stats.waiting = sa->queue.count;
	return stats;
}
