/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ServiceRecord (IBA 15.2.5.14): what services hosts offer, told to whoever asks.
 *
 * A record is identified by ServiceID, ServiceGID and ServiceP_Key: a Set of these replaces it. It ends
 * by Delete, or with its lease, which a Set renews; without a lease it lasts. Who registers, and who
 * wants to see it, is a member of its partition.
 *
 * A record with a ServiceKey belongs to who has that key: others can't replace nor delete it, but for
 * the port that the service is on, and for trusted requests (with the SM_Key). The key is shown to the
 * latter alone.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/sa/sa_rows.h"
#include "topology/mem.h"

#define SERVICES_MAX 16384
#define SECOND_US    1000000ull
#define FOREVER	     UINT64_MAX

static const uint8_t no_key[sizeof(((struct wire_service *)0)->key)];

/* ---- The records ------------------------------------------------------------------------------ */

static int by_identity(const void *a, const void *b)
{
	const struct wire_service *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->gid.guid != y->gid.guid)
		return x->gid.guid < y->gid.guid ? -1 : 1;
	if (x->gid.prefix != y->gid.prefix)
		return x->gid.prefix < y->gid.prefix ? -1 : 1;
	return (int)x->pkey - (int)y->pkey;
}

static struct service *service_find(const struct services *all, const struct wire_service *what)
{
	cl_fmap_item_t *item = cl_fmap_get(&all->map, what);

	return item == cl_fmap_end(&all->map) ? NULL : (struct service *)item;
}

static struct service *service_add(struct services *all, const struct wire_service *what)
{
	struct service *s = mem_alloc(1, sizeof(*s));

	if (all->count == all->size) {
		all->size = all->size ? 2 * all->size : 64;
		all->list = mem_resize(all->list, all->size, sizeof(struct service *));
	}
	s->record = *what;
	s->place = all->count;
	all->list[all->count++] = s;
	cl_fmap_insert(&all->map, &s->record, &s->item);
	return s;
}

static void service_drop(struct sa *sa, struct service *s)
{
	struct services *all = &sa->services;
	struct service *last = all->list[--all->count];

	last->place = s->place;
	all->list[last->place] = last;
	cl_fmap_remove_item(&all->map, &s->item);
	free(s);
	sa_changed(sa);
}

/* ---- Leases ----------------------------------------------------------------------------------- */

uint32_t sa_service_lease(const struct sa *sa, const struct service *s)
{
	uint64_t now = loop_now_us(sa->loop);

	if (s->ends == FOREVER)
		return WIRE_LEASE_FOREVER;
	return s->ends <= now ? 0 : (uint32_t)((s->ends - now + SECOND_US - 1) / SECOND_US);
}

/* Sooner than for others, if at all: one that was renewed since finds out when the timer is there. */
static void lease_arm(struct sa *sa, uint64_t ends)
{
	uint64_t now = loop_now_us(sa->loop);

	if (ends >= sa->services.due)
		return;
	sa->services.due = ends;
	loop_timer_set(sa->services.lease, ends > now ? ends - now : 0);
}

static void lease_cb(void *arg)
{
	struct sa *sa = arg;
	uint64_t now = loop_now_us(sa->loop);

	sa->services.due = FOREVER;
	for (uint32_t i = sa->services.count; i-- > 0;)
		if (sa->services.list[i]->ends <= now)
			service_drop(sa, sa->services.list[i]);
	for (uint32_t i = 0; i < sa->services.count; i++)
		lease_arm(sa, sa->services.list[i]->ends);
}

bool sa_service_put(struct sa *sa, const struct wire_service *record)
{
	struct services *all = &sa->services;
	struct service *s = service_find(all, record);

	if (!s) {
		if (all->count >= SERVICES_MAX)
			return false;
		s = service_add(all, record);
	}
	s->record = *record;
	s->ends = record->lease == WIRE_LEASE_FOREVER
			  ? FOREVER
			  : loop_now_us(sa->loop) + record->lease * SECOND_US;
	sa_changed(sa);
	lease_arm(sa, s->ends);
	return true;
}

/* ---- Requests --------------------------------------------------------------------------------- */

static bool is_member(const struct sa *sa, uint32_t port, uint16_t pkey)
{
	return pkey_map_member(sa->view.pkeys, port, pkey) != 0;
}

/* Who asks must be a member of the partition, and so the port of the service if it is one of ours. */
static bool partition_fits(const struct sa_query *q, const struct wire_service *what)
{
	uint32_t on = sa_port_by_guid(q->sa, what->gid.guid);

	return q->asker != TOPO_NONE && is_member(q->sa, q->asker, what->pkey) &&
	       (on == TOPO_NONE || is_member(q->sa, on, what->pkey));
}

static bool may_change(const struct sa_query *q, const struct service *s,
		       const struct wire_service *what)
{
	const struct wire_service *had = &s->record;

	return q->trusted || !memcmp(had->key, no_key, sizeof(no_key)) ||
	       !memcmp(had->key, what->key, sizeof(no_key)) ||
	       q->sa->view.topo->ports[q->asker].guid == had->gid.guid;
}

static void request_read(const struct sa_query *q, struct wire_service *what)
{
	wire_service_decode(q->data, what);
	if (!sa_asked(q, WIRE_SERVICE_PKEY))
		what->pkey = SA_DEFAULT_PKEY;
	if (!sa_asked(q, WIRE_SERVICE_LEASE))
		what->lease = WIRE_LEASE_FOREVER;
	if (!sa_asked(q, WIRE_SERVICE_KEY))
		memset(what->key, 0, sizeof(what->key));
}

static enum wire_sa_status service_set(struct sa_query *q, const struct wire_service *what)
{
	struct service *had = service_find(&q->sa->services, what);

	if (!sa_asked(q, WIRE_SERVICE_ID) || !sa_asked(q, WIRE_SERVICE_GID))
		return WIRE_SA_INSUF_COMPS;
	if (!partition_fits(q, what) || (had && !may_change(q, had, what)))
		return WIRE_SA_REQ_INVALID;
	return sa_service_put(q->sa, what) ? WIRE_SA_OK : WIRE_SA_NO_RESOURCES;
}

static enum wire_sa_status service_delete(struct sa_query *q, struct wire_service *what)
{
	struct service *had = service_find(&q->sa->services, what);

	if (!partition_fits(q, what))
		return WIRE_SA_REQ_INVALID;
	if (!had)
		return WIRE_SA_NO_RECORDS;
	if (!may_change(q, had, what))
		return WIRE_SA_REQ_INVALID;
	*what = had->record;
	what->lease = sa_service_lease(q->sa, had);
	service_drop(q->sa, had);
	return WIRE_SA_OK;
}

/* A change answers with the record, laid over the request. */
static enum wire_sa_status service_change(struct sa_query *q)
{
	struct wire_service what;
	enum wire_sa_status status;

	request_read(q, &what);
	status = q->method == WIRE_SET ? service_set(q, &what) : service_delete(q, &what);
	if (!status)
		wire_service_encode(&what, q->data);
	return status ? status : sa_walk_once(q);
}

enum wire_sa_status sa_service_prepare(struct sa_query *q)
{
	if (q->method != WIRE_GET && q->method != WIRE_GET_TABLE)
		return service_change(q);
	q->item = 0;
	q->end = q->sa->services.count;
	return WIRE_SA_OK;
}

static void key_hide(const struct sa_query *q, struct wire_service *record)
{
	if (!q->trusted)
		memset(record->key, 0, sizeof(record->key));
}

static void service_echo(struct sa_query *q, uint8_t *row)
{
	struct wire_service record;

	wire_service_decode(q->data, &record);
	key_hide(q, &record);
	wire_service_encode(&record, row);
	sa_row_add(q);
}

/* Matched with its key, shown without. */
void sa_service_emit(struct sa_query *q, uint32_t item)
{
	const struct services *all = &q->sa->services;
	struct wire_service record;
	uint8_t *row = sa_row(q);

	q->work++;
	if (!row)
		return;
	if (q->method != WIRE_GET && q->method != WIRE_GET_TABLE) {
		service_echo(q, row);
		return;
	}
	if (item >= all->count || q->asker == TOPO_NONE ||
	    !is_member(q->sa, q->asker, all->list[item]->record.pkey))
		return;
	record = all->list[item]->record;
	record.lease = sa_service_lease(q->sa, all->list[item]);
	wire_service_encode(&record, row);
	if (!wire_sa_match(&q->match, row))
		return;
	key_hide(q, &record);
	wire_service_encode(&record, row);
	sa_row_add(q);
}

/* ---- Life ------------------------------------------------------------------------------------- */

void sa_services_init(struct sa *sa)
{
	cl_fmap_init(&sa->services.map, by_identity);
	sa->services.due = FOREVER;
	sa->services.lease = loop_timer_new(sa->loop, lease_cb, sa);
}

void sa_services_forget(struct sa *sa)
{
	struct services *all = &sa->services;

	cl_fmap_remove_all(&all->map);
	while (all->count)
		free(all->list[--all->count]);
	free(all->list);
	all->list = NULL;
	all->size = 0;
	all->due = FOREVER;
	loop_timer_stop(all->lease);
}

void sa_services_fini(struct sa *sa)
{
	sa_services_forget(sa);
	loop_timer_free(sa->services.lease);
}
