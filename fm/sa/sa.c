/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Subnet administration (IBA 15): requests in, answers out.
 *
 * Who is not the master answers nothing. A request is judged in this order: malformed, or with a SM_Key that is not ours (C15-0.1.5):
 * dropped and counted. No such record or method here: refused as unsupported. No view published
 * yet, or too many requests of one host: left unanswered and counted. Clients repeat what is not answered; to a status BUSY
 * the kernel's and most others give up. Then the engine (sa_query.c) walks the record.
 *
 * An answer is the request's header turned round, and rows. GetTable answers leave as one buffer of
 * any length marked RMPP active; the kernel cuts it into segments (IBA 13.6). Their length is
 * exact, for it is what tells the asker how many rows there are. Get answers are one MAD of 256
 * bytes.
 *
 * Rows come from the published view; the bytes of PortInfo, NodeInfo and SwitchInfo come from the
 * inventory as last read, and what has left the inventory since the publish is left out.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/sa/sa_rows.h"
#include "topology/mem.h"

#define SA_CLASS_VERSION 2

/* ClassPortInfo and InformInfo are no records but take the same road: one item, one row. */
static const struct sa_record records[] = {
	{ WIRE_SA_CLASS_PORT_INFO, "ClassPortInfo", SA_GET, 72, false, sa_walk_once,
	  sa_class_port_info_emit },
	{ WIRE_SA_NODE, "NodeRecord", SA_GET | SA_TABLE, 112, false, sa_node_prepare,
	  sa_node_emit },
	{ WIRE_SA_PORT_INFO, "PortInfoRecord", SA_GET | SA_TABLE, 72, false, sa_walk_nodes,
	  sa_port_emit },
	{ WIRE_SA_PATH, "PathRecord", SA_GET | SA_TABLE, 64, false, sa_path_prepare, sa_path_emit },
	{ WIRE_SA_MCMEMBER, "MCMemberRecord", SA_GET | SA_TABLE | SA_SET | SA_DELETE,
	  WIRE_MCMEMBER_SIZE, false, sa_mcmember_prepare, sa_mcmember_emit },
	{ WIRE_SA_LINK, "LinkRecord", SA_GET | SA_TABLE, 8, false, sa_walk_nodes, sa_link_emit },
	{ WIRE_SA_SWITCH_INFO, "SwitchInfoRecord", SA_GET | SA_TABLE, 24, false, sa_walk_switches,
	  sa_switch_emit },
	{ WIRE_SA_SM_INFO, "SMInfoRecord", SA_GET | SA_TABLE, 32, false, sa_sm_walk, sa_sm_emit },
	{ WIRE_SA_GUID_INFO, "GUIDInfoRecord", SA_GET | SA_TABLE | SA_SET | SA_DELETE, 72, false,
	  sa_guid_prepare, sa_guid_emit },
	{ WIRE_SA_PKEY, "P_KeyTableRecord", SA_GET | SA_TABLE, 72, true, sa_pkey_prepare,
	  sa_pkey_emit },
	{ WIRE_SA_LFT, "LinearForwardingTableRecord", SA_GET | SA_TABLE, 72, false,
	  sa_walk_switches, sa_lft_emit },
	{ WIRE_SA_SL2VL, "SLtoVLMappingTableRecord", SA_GET | SA_TABLE, 16, false, sa_walk_nodes,
	  sa_sl2vl_emit },
	{ WIRE_SA_VL_ARB, "VLArbitrationTableRecord", SA_GET | SA_TABLE, 72, false, sa_walk_nodes,
	  sa_vl_arb_emit },
	{ WIRE_SA_MULTI_PATH, "MultiPathRecord", SA_MULTI, 64, false, sa_multi_path_prepare,
	  sa_multi_path_emit },
	{ WIRE_SA_SERVICE, "ServiceRecord", SA_GET | SA_TABLE | SA_SET | SA_DELETE, 176, false,
	  sa_service_prepare, sa_service_emit },
	{ WIRE_SA_MFT, "MulticastForwardingTableRecord", SA_GET | SA_TABLE, 72, false,
	  sa_walk_switches, sa_mft_emit },
	{ WIRE_SA_INFORM_INFO, "InformInfo", SA_SET, 40, false, sa_inform_set, sa_inform_echo },
	{ WIRE_SA_INFORM_INFO_RECORD, "InformInfoRecord", SA_GET | SA_TABLE, 64, false,
	  sa_inform_walk, sa_inform_emit },
};

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

static const struct sa_record *record_find(uint16_t attr_id, uint8_t method)
{
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		if (records[i].attr_id == attr_id)
			return records[i].methods & method_bit(method) ? &records[i] : NULL;
	return NULL;
}

/* ---- Answers --------------------------------------------------------------------------------- */

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
	size_t used = WIRE_SA_HEADER + q->record->row_size;

	memcpy(q->answer, q->header, WIRE_SA_HEADER);
	memset(q->answer + used, 0, WIRE_MAD_SIZE - used);
	wire_sa_answer(q->answer, response_to(q->method), WIRE_SA_OK, false, q->record->row_size);
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
	size_t row_size = q->nrows ? q->record->row_size : 0;
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
	if (mad->key && mad->key != sa->conf.sa_key) {
		sa->stats.bad++;
		if (log_allow(&sa->refused, loop_now_us(sa->loop), 1))
			log_line(LOG_SA, LOG_WARNING, "lid %u: wrong SM_Key, request dropped",
				 from->lid);
		return false;
	}
	return true;
}

/* False: it stays unanswered for now. */
static bool is_served(struct sa *sa, const struct io_addr *from)
{
	if (sa->view.topo && sa_limit_admits(sa, from->lid))
		return true;
	sa->stats.busy++;
	return false;
}

void sa_query_read(struct sa *sa, struct sa_query *q, const struct io_addr *from,
		   const struct wire_mad *mad, const uint8_t *raw)
{
	memset(q, 0, sizeof(*q));
	q->sa = sa;
	q->record = record_find(mad->attr_id, mad->method);
	q->from = *from;
	q->method = mad->method;
	q->attr_mod = mad->attr_mod;
	q->trusted = mad->key != 0;
	q->comp_mask = wire_sa_comp_mask(raw);
	q->asker = sa->view.topo ? sa_port_by_lid(sa, from->lid) : TOPO_NONE;
	memcpy(q->mad, raw, sizeof(q->mad));
}

static void refuse(struct sa_query *q, enum wire_sa_status status)
{
	q->status = status;
	error_send(q);
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
	else if (!is_served(sa, from))
		return;
	else if (q.record->trusted && !q.trusted)
		refuse(&q, WIRE_SA_REQ_INVALID);
	else
		sa_query_start(&q);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct sa *sa_new(struct loop *loop, struct mad *mad, const struct inventory *inv,
		  const struct sa_conf *conf)
{
	struct sa *sa = mem_alloc(1, sizeof(*sa));

	sa->loop = loop;
	sa->mad = mad;
	sa->inv = inv;
	sa->conf = *conf;
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

void sa_listen(struct sa *sa, const struct sa_listener *listener)
{
	sa->listener = *listener;
}

void sa_changed(struct sa *sa)
{
	if (sa->listener.changed)
		sa->listener.changed(sa->listener.arg);
}

void sa_tell(struct sa *sa, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (sa->listener.told)
		sa->listener.told(sa->listener.arg, text);
}

void sa_set_managers(struct sa *sa, const struct sa_manager *list, unsigned count)
{
	sa->managers = mem_resize(sa->managers, count + 1u, sizeof(*list));
	if (count)
		memcpy(sa->managers, list, count * sizeof(*list));
	sa->nmanagers = count;
}

struct sa_stats sa_stats(const struct sa *sa)
{
	struct sa_stats stats = sa->stats;

	stats.services = sa->services.count;
	stats.waiting = sa->queue.count;
	return stats;
}
