/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Subscriptions to notices: Set(InformInfo) and InformInfoRecord (IBA 13.4.11, 15.2.5.12).
 *
 * Kept by subscribing port, which the request's LID tells; asking twice for the same changes
 * nothing. Ending one that does not exist is an error, and the answer then says "not subscribed"
 * (o13-13.1.1). Traps that tell of key violations are for trusted subscribers (C15-0.2-1.16), and a
 * subscriber's QP is shown to trusted askers alone.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/sa/sa_rows.h"
#include "topology/mem.h"

#define SUBSCRIPTIONS_MAX  (128u << 10) /* of all ports */
#define SUBSCRIPTIONS_EACH 64

static struct subscriber *subscriber_find(const struct sa *sa, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get(&sa->subscribers, guid);

	return item == cl_qmap_end(&sa->subscribers) ? NULL : (struct subscriber *)item;
}

static struct subscriber *subscriber_get(struct sa *sa, guid_t guid)
{
	struct subscriber *sub = subscriber_find(sa, guid);

	if (sub)
		return sub;
	sub = mem_alloc(1, sizeof(*sub));
	sub->sa = sa;
	cl_qlist_init(&sub->held);
	cl_qmap_insert(&sa->subscribers, guid, &sub->item);
	return sub;
}

static bool gid_equal(struct wire_gid a, struct wire_gid b)
{
	return a.prefix == b.prefix && a.guid == b.guid;
}

/* Whether both ask for the same notices at the same QP. */
static bool same(const struct wire_inform_info *a, const struct wire_inform_info *b)
{
	return gid_equal(a->gid, b->gid) && a->lid_begin == b->lid_begin &&
	       a->lid_end == b->lid_end && a->generic == b->generic && a->type == b->type &&
	       a->trap == b->trap && a->producer == b->producer && a->qpn == b->qpn;
}

static struct subscription *subscription_find(const struct subscriber *sub,
					      const struct wire_inform_info *info)
{
	for (unsigned i = 0; sub && i < sub->count; i++)
		if (same(&sub->subs[i]->info, info))
			return sub->subs[i];
	return NULL;
}

struct subscription *sa_subscribe(struct sa *sa, guid_t guid, const struct subscription *wish)
{
	struct subscriber *sub = subscriber_find(sa, guid);
	struct subscription *s = subscription_find(sub, &wish->info);

	if (s)
		return s;
	if (sa->stats.subscriptions >= SUBSCRIPTIONS_MAX ||
	    (sub && sub->count >= SUBSCRIPTIONS_EACH))
		return NULL;
	sub = subscriber_get(sa, guid);
	s = mem_alloc(1, sizeof(*s));
	*s = *wish;
	s->by = sub;
	sub->subs = mem_resize(sub->subs, sub->count + 1, sizeof(struct subscription *));
	sub->subs[sub->count++] = s;
	sa->stats.subscriptions++;
	sa_report_join(s);
	sa_changed(sa);
	return s;
}

void sa_unsubscribe(struct subscription *s)
{
	struct subscriber *sub = s->by;
	struct sa *sa = sub->sa;
	unsigned i = 0;

	sa_report_leave(s);
	while (sub->subs[i] != s)
		i++;
	sub->subs[i] = sub->subs[--sub->count];
	free(s);
	sa->stats.subscriptions--;
	if (!sub->count) {
		cl_qmap_remove_item(&sa->subscribers, &sub->item);
		free(sub->subs);
		free(sub);
	}
	sa_changed(sa);
}

static bool is_security_trap(const struct wire_inform_info *info)
{
	return sa_trap_is_secret(info->generic, info->trap);
}

static enum wire_sa_status unsubscribe(struct sa *sa, guid_t guid,
				       const struct wire_inform_info *info)
{
	struct subscription *s = subscription_find(subscriber_find(sa, guid), info);

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

enum wire_sa_status sa_inform_set(struct sa_query *q)
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

void sa_inform_echo(struct sa_query *q, uint32_t item)
{
	struct wire_inform_info info;
	uint8_t *row = sa_row(q);

	wire_inform_info_decode(q->data, &info);
	memset(row, 0, q->record->row_size);
	wire_inform_info_encode(&info, row);
	sa_row_add(q);
}

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

/* Subscribers come and go while a long walk is under way: it goes by their keys, and ends behind the last. */
enum wire_sa_status sa_inform_walk(struct sa_query *q)
{
	q->item = 0;
	q->end = UINT32_MAX;
	return WIRE_SA_OK;
}

void sa_inform_emit(struct sa_query *q, uint32_t item)
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

void sa_subscriptions_forget(struct sa *sa)
{
	while (cl_qmap_count(&sa->subscribers))
		sa_unsubscribe(((struct subscriber *)cl_qmap_head(&sa->subscribers))->subs[0]);
}
