/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sa/sa_service.h"
#include <stdlib.h>
#include "fm/mad/wire_inform.h"
#include "fm/mad/wire_service.h"
#include "fm/sa/mcast_group_text.h"
#include "fm/sa/sa_foreign.h"
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_line.h"
#include "fm/sa/sa_report.h"
#include "fm/sa/sa_state.h"
#include "topology/base/mem.h"

static struct sa_group_attr attr_of(const struct wire_mcmember *m)
{
	return (struct sa_group_attr){ .mgid = m->mgid,
				       .qkey = m->qkey,
				       .flow_label = m->flow_label,
				       .pkey = m->pkey,
				       .mtu = m->mtu,
				       .rate = m->rate,
				       .life = m->life,
				       .tclass = m->tclass,
				       .sl = m->sl,
				       .hop_limit = m->hop_limit };
}

enum sa_foreign_result sa_foreign_member(struct sa_groups *groups, const uint8_t *row)
{
	struct sa_group_attr attr;
	struct wire_mcmember m;
	struct sa_group *group;

	wire_mcmember_decode(row, &m);
	if (!m.port_gid.guid)
		return SA_FOREIGN_HIDDEN;
	attr = attr_of(&m);
	if (!m.join_state || !mcast_group_is_plain(&attr, m.mlid))
		return SA_FOREIGN_BAD;
	group = sa_groups_find(groups, &m.mgid);
	if (!group)
		group = sa_groups_create(groups, &attr, m.mlid, 0);
	if (!group || group->mlid != m.mlid)
		return SA_FOREIGN_BAD;
	sa_groups_join(groups, group, m.port_gid.guid, m.join_state, m.proxy);
	return SA_FOREIGN_TAKEN;
}

enum sa_foreign_result sa_foreign_service(const uint8_t *row, int64_t now, FILE *out)
{
	struct wire_service record;
	char line[SA_LINE];

	wire_service_decode(row, &record);
	if (!record.gid.guid)
		return SA_FOREIGN_BAD;
	sa_service_line(&record, record.lease, now, line);
	fprintf(out, "%s\n", line);
	return SA_FOREIGN_TAKEN;
}

enum sa_foreign_result sa_foreign_subscription(const uint8_t *row, FILE *out)
{
	struct subscription s = { .failures = 0 };
	struct wire_gid subscriber;
	char line[SA_LINE];

	wire_inform_record_decode(row, &subscriber, &s.info);
	if (!subscriber.guid)
		return SA_FOREIGN_BAD;
	if (!s.info.qpn)
		return SA_FOREIGN_HIDDEN;
	s.trusted = sa_trap_is_secret(s.info.generic, s.info.trap);
	sa_subscription_line(subscriber.guid, &s, line);
	fprintf(out, "%s\n", line);
	return SA_FOREIGN_TAKEN;
}

/*
 * The store of services that hosts registered, by what identifies a record: ServiceID, ServiceGID
 * and ServiceP_Key. A record ends with its lease; without a lease it stays. The store counts the
 * records of each port, including those of its alias GUIDs.
 */

#define SECOND_US     1000000ull
#define FOREVER	      UINT64_MAX
#define LEASES_A_CALL 1024 /* that end: each is a record of the journal */

/* ---- Owners ---------------------------------------------------------------------------------- */

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

/* ---- The records ----------------------------------------------------------------------------- */

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

struct service *sa_service_find(const struct sa *sa, const struct wire_service *what)
{
	const struct services *all = &sa->services;
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

void sa_service_drop(struct sa *sa, struct service *s)
{
	struct services *all = &sa->services;

	sa_service_record(sa, s, true);
	cl_fmap_remove_item(&all->map, &s->item);
	cl_qmap_remove_item(&all->numbered, &s->numbered);
	all->count--;
	owner_loses(all, s->owner);
	free(s);
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

struct service_owner *sa_service_owner(const struct sa *sa, guid_t port)
{
	return owner_find(&sa->services, port);
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

/* Its port's own GUID: the GID may have an alias. */
static guid_t owner_of_gid(const struct sa *sa, guid_t guid)
{
	guid_t port = sa_alias_port(sa, guid);

	return port ? port : guid;
}

void sa_service_put(struct sa *sa, const struct wire_service *record, guid_t owner)
{
	struct services *all = &sa->services;
	struct service *s = sa_service_find(sa, record);

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
	sa_service_record(sa, s, false);
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

void sa_services_forget(struct sa *sa)
{
	uint64_t number = 0;
	struct service *s;

	while ((s = sa_service_next(sa, &number)))
		sa_service_drop(sa, s);
	sa->services.due = FOREVER;
	loop_timer_stop(sa->services.lease);
}

void sa_services_fini(struct sa *sa)
{
	sa_services_forget(sa);
	loop_timer_free(sa->services.lease);
}
