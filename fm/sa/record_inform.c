/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * InformInfo and InformInfoRecord (IBA 13.4.11, 15.2.5.12): subscriptions to notices.
 *
 * The subscriber is the port that has the request's LID. A request that ends a subscription that
 * does not exist is an error, and the answer says "not subscribed" (o13-13.1.1). Only trusted
 * subscribers get traps that report key violations (C15-0.2-1.16), and only trusted requests see
 * the QP of a subscriber.
 */
#include <string.h>
#include "fm/mad/wire_inform.h"
#include "fm/sa/sa_impl.h"

/* ---- InformInfo ------------------------------------------------------------------------------ */

static bool is_security_trap(const struct wire_inform_info *info)
{
	return sa_trap_is_secret(info->generic, info->trap);
}

static enum wire_sa_status unsubscribe(struct sa *sa, guid_t guid,
				       const struct wire_inform_info *info)
{
	struct subscription *s = sa_subscription_find(sa, guid, info);

	if (!s)
		return WIRE_SA_REQ_INVALID;
	sa_unsubscribe(s);
	return WIRE_SA_OK;
}

/* Reports go to the QP the request came from; who unsubscribes names it. */
static enum wire_sa_status apply(struct sa_query *q, struct wire_inform_info *info)
{
	uint32_t port = sa_port_by_lid(q->sa, q->from.lid);
	struct subscription wish;
	guid_t guid;

	if (port == TOPO_NONE || info->subscribe > 1)
		return WIRE_SA_REQ_INVALID;
	guid = q->sa->view.topo->ports[port].guid;
	if (info->subscribe == 0)
		return unsubscribe(q->sa, guid, info);
	if (is_security_trap(info) && !q->trusted)
		return WIRE_SA_REQ_INVALID;
	info->qpn = q->from.qp;
	wish = (struct subscription){ .info = *info,
				      .pkey_index = q->from.pkey_index,
				      .sl = q->from.sl,
				      .trusted = q->trusted };
	return sa_subscribe(q->sa, guid, &wish) ? WIRE_SA_OK : WIRE_SA_NO_RESOURCES;
}

static enum wire_sa_status inform_set(struct sa_query *q)
{
	struct wire_inform_info info;
	enum wire_sa_status status;

	wire_inform_info_decode(q->data, &info);
	status = apply(q, &info);
	if (status) {
		info.subscribe = 0;
		wire_inform_info_encode(&info, q->data);
		return status;
	}
	return sa_walk_once(q);
}

static void inform_echo(struct sa_query *q, uint32_t item)
{
	struct wire_inform_info info;
	uint8_t *row = sa_row(q);

	wire_inform_info_decode(q->data, &info);
	memset(row, 0, q->record->layout.size);
	wire_inform_info_encode(&info, row);
	sa_row_add(q);
}

const struct sa_record sa_record_inform_info = {
	.attr_id = WIRE_SA_INFORM_INFO,
	.methods = SA_SET,
	.layout = { .size = 40 },
	.prepare = inform_set,
	.emit = inform_echo,
};

/* ---- InformInfoRecord ------------------------------------------------------------------------ */

static const uint16_t inform_comps[] = {
	128, 16, WIRE_R | 48, 128, 16,	       16, WIRE_R | 16, 8,
	8,   16, 16,	      24,  WIRE_R | 3, 5,  WIRE_R | 8,	24,
};

/* Shown to ports that share a partition with the subscriber. */
static void subscriber_emit(struct sa_query *q, const struct subscriber *sub)
{
	struct wire_gid gid = { q->sa->conf.gid_prefix, cl_qmap_key(&sub->item) };

	if (!sa_may_know(q->sa, sa_port_by_lid(q->sa, q->from.lid),
			 topo_find_port(q->sa->view.topo, gid.guid)))
		return;
	for (unsigned i = 0; i < sub->count; i++) {
		struct wire_inform_info info = sub->subs[i]->info;
		uint8_t *row = sa_row(q);

		if (!row)
			return;
		if (!q->trusted)
			info.qpn = 0;
		wire_inform_record_encode(&gid, (uint16_t)i, &info, row);
		sa_row_keep(q);
	}
}

/*
 * Subscribers come and go while a long walk is under way: it goes by their keys, and ends behind
 * the last.
 */
static enum wire_sa_status inform_walk(struct sa_query *q)
{
	q->item = 0;
	q->end = UINT32_MAX;
	return WIRE_SA_OK;
}

static void inform_emit(struct sa_query *q, uint32_t item)
{
	const cl_qmap_t *map = &q->sa->subscribers;
	const cl_map_item_t *next = cl_qmap_get_next(map, q->after);

	q->work++;
	if (next == cl_qmap_end(map)) {
		q->item = q->end;
		return;
	}
	q->after = cl_qmap_key(next);
	subscriber_emit(q, (const struct subscriber *)next);
}

const struct sa_record sa_record_inform_info_record = {
	.attr_id = WIRE_SA_INFORM_INFO_RECORD,
	.methods = SA_GET | SA_TABLE,
	.layout = SA_COMPONENTS(inform_comps),
	.prepare = inform_walk,
	.emit = inform_emit,
};
