/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_state.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/*
 * The store of services that hosts registered, by what identifies a record: ServiceID, ServiceGID
 * and ServiceP_Key. A record ends with its lease; without a lease it stays. The store counts the
 * records of each port, including those of its alias GUIDs.
 */

#define SECOND_US     1000000ull
#define FOREVER	      UINT64_MAX
#define LEASES_A_CALL 1024 /* that end: each is a record of the journal */

/* ---- Owners ---------------------------------------------------------------------------------- */

struct service_owner *sa_service_owner(const struct sa *sa, guid_t port)
{
	return sa_map_find(&sa->services.owners, port);
}

static void owner_gains(struct sa *sa, guid_t port)
{
	struct service_owner *owner = sa_service_owner(sa, port);

	if (!owner) {
		owner = mem_new(owner);
		cl_qmap_insert(&sa->services.owners, port, &owner->item);
	}
	owner->count++;
}

static void owner_loses(struct sa *sa, guid_t port)
{
	struct service_owner *owner = sa_service_owner(sa, port);

	if (--owner->count)
		return;
	cl_qmap_remove_item(&sa->services.owners, &owner->item);
	free(owner);
}

/* ---- The records ----------------------------------------------------------------------------- */

SORT_BY(by_identity, struct wire_service,
	sort_order(a->id, b->id) ?: sort_order(a->gid.guid, b->gid.guid) ?:
	sort_order(a->gid.prefix, b->gid.prefix) ?: sort_order(a->pkey, b->pkey))

struct service *sa_service_find(const struct sa *sa, const struct wire_service *what)
{
	const struct services *all = &sa->services;
	cl_fmap_item_t *item = cl_fmap_get(&all->map, what);

	return item == cl_fmap_end(&all->map) ? NULL : (struct service *)item;
}

uint32_t sa_service_lease(const struct sa *sa, const struct service *s)
{
	uint64_t now = loop_now_us(sa->loop);

	if (s->ends == FOREVER)
		return WIRE_LEASE_FOREVER;
	return s->ends <= now ? 0 : ((s->ends - now + SECOND_US - 1) / SECOND_US);
}

static void service_record(struct sa *sa, const struct service *s, bool gone)
{
	char line[SA_LINE];

	sa_service_line(&s->record, sa_service_lease(sa, s), time(NULL), line);
	sa_record(sa, SA_SERVICES, gone, line);
}

void sa_service_drop(struct sa *sa, struct service *s)
{
	struct services *all = &sa->services;

	service_record(sa, s, true);
	cl_fmap_remove_item(&all->map, &s->item);
	cl_qmap_remove_item(&all->numbered, &s->numbered);
	all->count--;
	owner_loses(sa, s->owner);
	free(s);
}

struct service *sa_service_next(const struct sa *sa, uint64_t *number)
{
	cl_map_item_t *item = sa_map_next(&sa->services.numbered, *number);

	if (!item)
		return NULL;
	*number = cl_qmap_key(item);
	return (struct service *)((char *)item - offsetof(struct service, numbered));
}

/* ---- Leases ---------------------------------------------------------------------------------- */

/*
 * Sooner than for others, if at all: one that was renewed since finds out when the timer is there.
 */
static void lease_arm(struct sa *sa, uint64_t ends)
{
	uint64_t now = loop_now_us(sa->loop);

	if (ends >= sa->services.due)
		return;
	sa->services.due = ends;
	loop_timer_set(sa->services.lease, ends > now ? ends - now : 0);
}

/* Leases are kept by the second, so all that was registered before a restart may end at once. */
static void lease_cb(void *arg)
{
	struct sa *sa = arg;
	uint64_t now = loop_now_us(sa->loop), number = 0;
	unsigned ended = 0;
	struct service *s;

	sa->services.due = FOREVER;
	while ((s = sa_service_next(sa, &number)))
		if (s->ends <= now && ended++ < LEASES_A_CALL)
			sa_service_drop(sa, s);
		else
			lease_arm(sa, s->ends);
}

void sa_service_put(struct sa *sa, const struct wire_service *record, guid_t owner)
{
	struct services *all = &sa->services;
	struct service *s = sa_service_find(sa, record);

	if (!owner) /* its port's own GUID: the GID may have an alias */
		owner = sa_own_port(sa, record->gid.guid);
	if (!s) {
		s = mem_new(s);
		s->record = *record;
		s->owner = owner;
		cl_fmap_insert(&all->map, &s->record, &s->item);
		cl_qmap_insert(&all->numbered, ++all->next, &s->numbered);
		all->count++;
		owner_gains(sa, owner);
	} else if (s->owner != owner) {
		owner_gains(sa, owner);
		owner_loses(sa, s->owner);
		s->owner = owner;
	}
	s->record = *record;
	s->ends = record->lease == WIRE_LEASE_FOREVER
			  ? FOREVER
			  : loop_now_us(sa->loop) + record->lease * SECOND_US;
	service_record(sa, s, false);
	lease_arm(sa, s->ends);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void sa_services_init(struct sa *sa)
{
	struct services *all = &sa->services;

	cl_fmap_init(&all->map, by_identity);
	cl_qmap_init(&all->numbered);
	cl_qmap_init(&all->owners);
	all->due = FOREVER;
	all->lease = loop_timer_new(sa->loop, lease_cb, sa);
}

void sa_services_forget(void *arg)
{
	struct sa *sa = arg;
	uint64_t number = 0;
	struct service *s;

	while ((s = sa_service_next(sa, &number)))
		sa_service_drop(sa, s);
	sa->services.due = FOREVER;
	loop_timer_stop(sa->services.lease);
}
