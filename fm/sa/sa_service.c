/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ServiceRecord (IBA 15.2.5.14): what services hosts offer, told to whoever asks.
 *
 * A record is identified by ServiceID, ServiceGID and ServiceP_Key: a Set of these replaces it. It ends
 * by Delete, or with its lease, which a Set renews; without a lease it lasts. Who registers, and who
 * wants to see it, is a member of its partition.
 *
 * A record is changed by its owner, by who has its ServiceKey, and by trusted requests (with the SM_Key), to whom alone
 * the key is shown. Its owner is the adapter whose port the service is on; of a GID that is not of this subnet, the port that
 * registered it (until fmd begins anew: then whoever comes first). Nobody registers for somebody else's port. The standard
 * leaves all that open, and so does OpenSM: there a host may delete what the others rely on.
 *
 * One port has EACH records at most, those of its alias GUIDs among them. The last KEPT places are for ports that have few, so
 * that ports with many leave room for others.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/sa/sa_rows.h"
#include "topology/mem.h"

#define SERVICES_MAX 16384
#define EACH	     256
#define KEPT	     4096
#define FEW	     4
#define SECOND_US    1000000ull
#define FOREVER	     UINT64_MAX

struct service_owner {
	cl_map_item_t item; /* first; key: port GUID */
	unsigned count;	    /* of records, never 0 */
	bool told;
};

static const uint8_t no_key[sizeof(((struct wire_service *)0)->key)];

/* ---- Owners ------------------------------------------------------------------------------------ */

static struct service_owner *owner_find(const struct services *all, guid_t port)
{
	cl_map_item_t *item = cl_qmap_get(&all->owners, port);

	return item == cl_qmap_end(&all->owners) ? NULL : (struct service_owner *)item;
}

static void owner_gains(struct services *all, guid_t port)
{
	struct service_owner *owner = owner_find(all, port);

	if (!owner) {
		owner = mem_alloc(1, sizeof(*owner));
		cl_qmap_insert(&all->owners, port, &owner->item);
	}
	owner->count++;
}

static void owner_loses(struct services *all, guid_t port)
{
	struct service_owner *owner = owner_find(all, port);

	if (--owner->count)
		return;
	cl_qmap_remove_item(&all->owners, &owner->item);
	free(owner);
}

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

static struct service *service_add(struct services *all, const struct wire_service *what,
				   guid_t owner)
{
	struct service *s = mem_alloc(1, sizeof(*s));

	s->record = *what;
	s->owner = owner;
	cl_fmap_insert(&all->map, &s->record, &s->item);
	cl_qmap_insert(&all->numbered, ++all->next, &s->numbered);
	all->count++;
	owner_gains(all, owner);
	return s;
}

static void service_drop(struct sa *sa, struct service *s)
{
	struct services *all = &sa->services;

	cl_fmap_remove_item(&all->map, &s->item);
	cl_qmap_remove_item(&all->numbered, &s->numbered);
	all->count--;
	owner_loses(all, s->owner);
	free(s);
	sa_changed(sa);
}

struct service *sa_service_next(const struct sa *sa, uint64_t *number)
{
	const cl_qmap_t *map = &sa->services.numbered;
	cl_map_item_t *item = cl_qmap_get_next(map, *number);

	if (item == cl_qmap_end(map))
		return NULL;
	*number = cl_qmap_key(item);
	return (struct service *)((char *)item - offsetof(struct service, numbered));
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
	uint64_t now = loop_now_us(sa->loop), number = 0;
	struct service *s;

	sa->services.due = FOREVER;
	while ((s = sa_service_next(sa, &number)))
		if (s->ends <= now)
			service_drop(sa, s);
		else
			lease_arm(sa, s->ends);
}

/* Its port's own GUID, as far as aliases tell. */
static guid_t owner_of_gid(const struct sa *sa, guid_t guid)
{
	guid_t port = sa_alias_port(sa, guid);

	return port ? port : guid;
}

void sa_service_put(struct sa *sa, const struct wire_service *record, guid_t owner)
{
	struct services *all = &sa->services;
	struct service *s = service_find(all, record);

	if (!owner)
		owner = owner_of_gid(sa, record->gid.guid);
	if (!s) {
		s = service_add(all, record, owner);
	} else if (s->owner != owner) {
		owner_gains(all, owner);
		owner_loses(all, s->owner);
		s->owner = owner;
	}
	s->record = *record;
	s->ends = record->lease == WIRE_LEASE_FOREVER
			  ? FOREVER
			  : loop_now_us(sa->loop) + record->lease * SECOND_US;
	sa_changed(sa);
	lease_arm(sa, s->ends);
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

/* Ports of one node, or of one adapter that is several nodes. Names would not do: each host's root chooses its own. */
static bool is_same_adapter(const struct topo *t, uint32_t a, uint32_t b)
{
	const struct topo_node *x = &t->nodes[t->ports[a].node], *y = &t->nodes[t->ports[b].node];

	return x == y || (x->sys_guid && x->sys_guid == y->sys_guid);
}

/* Who asks speaks for that port; a port that is not here is nobody's. */
static bool speaks_for(const struct sa_query *q, guid_t guid)
{
	const struct topo *t = q->sa->view.topo;
	uint32_t port = sa_port_by_guid(q->sa, guid);

	return port == TOPO_NONE || is_same_adapter(t, q->asker, port);
}

static bool may_change(const struct sa_query *q, const struct service *s,
		       const struct wire_service *what)
{
	const struct wire_service *had = &s->record;
	bool keyed = memcmp(had->key, no_key, sizeof(no_key)) != 0;

	return q->trusted || speaks_for(q, s->owner) ||
	       (keyed && !memcmp(had->key, what->key, sizeof(no_key)));
}

/* The port that a record of it counts for. */
static guid_t owner_for(const struct sa_query *q, const struct wire_service *what)
{
	const struct topo *t = q->sa->view.topo;
	uint32_t on = sa_port_by_guid(q->sa, what->gid.guid);

	return t->ports[on == TOPO_NONE ? q->asker : on].guid;
}

static void tell_full(struct sa *sa, guid_t port, unsigned count)
{
	struct service_owner *owner = owner_find(&sa->services, port);
	const struct topo *t = sa->view.topo;
	uint32_t at = topo_find_port(t, port);

	if (!owner || owner->told || at == TOPO_NONE)
		return;
	owner->told = true;
	sa_tell(sa, "%s p%u 0x%016llx has registered %u services, of %u in all: no more",
		t->nodes[t->ports[at].node].desc, t->ports[at].num, (unsigned long long)port, count,
		sa->services.count);
}

static bool has_room(const struct sa_query *q, guid_t port)
{
	const struct services *all = &q->sa->services;
	const struct service_owner *owner = owner_find(all, port);
	unsigned has = owner ? owner->count : 0;

	if (all->count < SERVICES_MAX &&
	    (q->trusted || has < (all->count < SERVICES_MAX - KEPT ? EACH : FEW)))
		return true;
	tell_full(q->sa, port, has);
	return false;
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
	if (!partition_fits(q, what))
		return WIRE_SA_REQ_INVALID;
	if (had ? !may_change(q, had, what) : !q->trusted && !speaks_for(q, what->gid.guid))
		return WIRE_SA_REQ_INVALID;
	if (!had && !has_room(q, owner_for(q, what)))
		return WIRE_SA_NO_RESOURCES;
	sa_service_put(q->sa, what, owner_for(q, what));
	return WIRE_SA_OK;
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
	q->end =
		UINT32_MAX; /* services come and go while a walk is under way: it goes by their numbers */
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
static void service_row(struct sa_query *q, const struct service *s, uint8_t *row)
{
	struct wire_service record = s->record;

	if (q->asker == TOPO_NONE || !is_member(q->sa, q->asker, record.pkey))
		return;
	record.lease = sa_service_lease(q->sa, s);
	wire_service_encode(&record, row);
	if (!wire_sa_match(&q->match, row))
		return;
	key_hide(q, &record);
	wire_service_encode(&record, row);
	sa_row_add(q);
}

void sa_service_emit(struct sa_query *q, uint32_t item)
{
	const struct service *s;
	uint8_t *row = sa_row(q);

	q->work++;
	if (!row)
		return;
	if (q->method != WIRE_GET && q->method != WIRE_GET_TABLE)
		service_echo(q, row);
	else if ((s = sa_service_next(q->sa, &q->after)))
		service_row(q, s, row);
	else
		q->item = q->end;
}

/* ---- Life ------------------------------------------------------------------------------------- */

void sa_services_init(struct sa *sa)
{
	struct services *all = &sa->services;

	cl_fmap_init(&all->map, by_identity);
	cl_qmap_init(&all->numbered);
	cl_qmap_init(&all->owners);
	all->due = FOREVER;
	all->lease = loop_timer_new(sa->loop, lease_cb, sa);
}

void sa_services_forget(struct sa *sa)
{
	uint64_t number = 0;
	struct service *s;

	while ((s = sa_service_next(sa, &number)))
		service_drop(sa, s);
	sa->services.due = FOREVER;
	loop_timer_stop(sa->services.lease);
}

void sa_services_fini(struct sa *sa)
{
	sa_services_forget(sa);
	loop_timer_free(sa->services.lease);
}
