/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"

/*
 * InformInfo and InformInfoRecord (IBA 13.4.11, 15.2.5.12): subscriptions to notices.
 *
 * The subscriber is the port that has the request's LID. A request that ends a subscription that
 * does not exist is an error, and the answer says "not subscribed" (o13-13.1.1). Only trusted
 * subscribers get traps that report key violations (C15-0.2-1.16), and only trusted requests see
 * the QP of a subscriber.
 */

/* ---- InformInfo ------------------------------------------------------------------------------ */

/* Reports go to the QP the request came from; who unsubscribes names it. */
static enum wire_sa_status inform_set(struct sa_query *q)
{
	const struct topo *t = q->sa->view.topo;
	bool known = q->requester != TOPO_NONE;
	guid_t guid = known ? t->ports[q->requester].guid : 0;
	enum wire_sa_status status = WIRE_SA_REQ_INVALID;
	struct subscription wish, *had;
	struct wire_inform_info info;

	wire_inform_info_decode(q->data, &info);
	if (known && info.subscribe == 0) {
		had = sa_subscription_find(q->sa, guid, &info);
		if (had) {
			sa_unsubscribe(had);
			status = WIRE_SA_OK;
		}
	} else if (known && info.subscribe == 1 &&
		   (q->trusted || !sa_trap_is_secret(info.generic, info.trap))) {
		info.qpn = q->from.qp;
		wish = (struct subscription){ .info = info,
					      .pkey_index = q->from.pkey_index,
					      .sl = q->from.sl,
					      .trusted = q->trusted };
		status = sa_subscribe(q->sa, guid, &wish) ? WIRE_SA_OK : WIRE_SA_NO_RESOURCES;
	}
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

/*
 * The walk goes by the keys of subscribers, and ends behind the last. One is shown to ports that
 * share a partition with it.
 */
static void inform_emit(struct sa_query *q, uint32_t item)
{
	const struct subscriber *sub = sa_map_next(&q->sa->reports.subscribers, q->after);
	struct wire_gid gid = { .prefix = q->sa->conf.gid_prefix };

	q->work++;
	if (!sub) {
		q->item = q->end;
		return;
	}
	q->after = gid.guid = cl_qmap_key(&sub->item);
	if (!sa_may_know(q->sa, q->requester, topo_find_port(q->sa->view.topo, gid.guid)))
		return;
	for (unsigned i = 0; i < sub->count; i++) {
		struct wire_inform_info info = sub->subs[i]->info;
		uint8_t *row = sa_row(q);

		if (!row)
			return;
		if (!q->trusted)
			info.qpn = 0;
		wire_inform_record_encode(&gid, i, &info, row);
		sa_row_keep(q);
	}
}

SA_RECORD_TO_READ(inform_info_record, WIRE_SA_INFORM_INFO_RECORD, inform_comps, sa_walk_until_end,
		  inform_emit)

/*
 * ServiceRecord (IBA 15.2.5.14): what services hosts offer to others.
 *
 * ServiceID, ServiceGID and ServiceP_Key identify a record, and a Set with the same three replaces
 * it. A record ends by Delete, or with its lease, which a Set renews; without a lease it stays.
 * Only members of its partition may register it or see it.
 *
 * Its owner, hosts with its ServiceKey, and trusted requests (with the SM_Key) may change a
 * record; only trusted requests see the key. The owner is the adapter whose port the service is on.
 * If the GID is not of this subnet, the owner is the port that registered it, until fmd restarts:
 * then it is the first port that registers it again. No port may register a service for another's
 * port. The standard leaves all this open, and so does OpenSM: with it a host may delete services
 * that others rely on.
 *
 * A port has at most sa_etm_max_num_srvcs records, including those of its alias GUIDs, and no more
 * than its share (sa_share()), so that no port can fill the store.
 */

#define SERVICES_MAX 16384

static const uint16_t service_comps[] = {
	/* the lease runs: nothing to compare with */
	64, 128, 16, WIRE_R | 16, WIRE_R | 32, 128, 512, 8,  8,	 8,  8,	 8,  8,	 8,
	8,  8,	 8,  8,		  8,	       8,   8,	 8,  8, /* data */
	16, 16,	 16, 16,	  16,	       16,  16,	 16, 32, 32, 32, 32, 64, 64,
};

static const uint8_t no_key[sizeof(((struct wire_service *)0)->key)];

/* ---- Changes --------------------------------------------------------------------------------- */

/*
 * Who asks must be a member of the partition, and so the port of the service if it is one of ours.
 */
static bool partition_fits(const struct sa_query *q, const struct wire_service *what)
{
	uint32_t on = sa_port_by_guid(q->sa, what->gid.guid);
	const struct pkey_map *pkeys = q->sa->view.pkeys;

	return q->requester != TOPO_NONE && pkey_map_member(pkeys, q->requester, what->pkey) &&
	       (on == TOPO_NONE || pkey_map_member(pkeys, on, what->pkey));
}

/*
 * The requester may register for that port: both are of one node, or of one adapter that is several
 * nodes. Names would not do: each host's root chooses its own. A port that is not in the view has
 * no owner.
 */
static bool speaks_for(const struct sa_query *q, guid_t guid)
{
	const struct topo *t = q->sa->view.topo;
	uint32_t port = sa_port_by_guid(q->sa, guid);

	if (port == TOPO_NONE)
		return true;

	const struct topo_node *x = &t->nodes[t->ports[q->requester].node];
	const struct topo_node *y = &t->nodes[t->ports[port].node];

	return x == y || (x->sys_guid && x->sys_guid == y->sys_guid);
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

	return t->ports[on == TOPO_NONE ? q->requester : on].guid;
}

static bool may_add(const struct sa_query *q, guid_t port)
{
	const struct services *all = &q->sa->services;
	struct service_owner *owner = sa_service_owner(q->sa, port);
	const struct topo *t = q->sa->view.topo;
	unsigned has = owner ? owner->count : 0;
	unsigned share = sa_share(SERVICES_MAX, all->count), most = q->sa->conf.services_limit;

	if (all->count < SERVICES_MAX && (q->trusted || (has < share && (!most || has < most))))
		return true;

	uint32_t at = topo_find_port(t, port);

	if (!owner || owner->reported || at == TOPO_NONE)
		return false;
	owner->reported = true;
	sa_log(q->sa, event_subject_port(t, at),
	       "%s p%u 0x%016" PRIx64
	       " has registered %u services, of %u in all: further services are "
	       "refused",
	       t->nodes[t->ports[at].node].name, t->ports[at].num, port, has, all->count);
	return false;
}

static enum wire_sa_status service_set(struct sa_query *q, const struct wire_service *what)
{
	struct service *had = sa_service_find(q->sa, what);

	if (!sa_asked(q, WIRE_SERVICE(id)) || !sa_asked(q, WIRE_SERVICE(gid)))
		return WIRE_SA_INSUF_COMPS;
	if (!partition_fits(q, what))
		return WIRE_SA_REQ_INVALID;
	if (had ? !may_change(q, had, what) : !q->trusted && !speaks_for(q, what->gid.guid))
		return WIRE_SA_REQ_INVALID;
	if (!had && !may_add(q, owner_for(q, what)))
		return WIRE_SA_NO_RESOURCES;
	sa_service_put(q->sa, what, owner_for(q, what));
	return WIRE_SA_OK;
}

static enum wire_sa_status service_delete(struct sa_query *q, struct wire_service *what)
{
	struct service *had = sa_service_find(q->sa, what);

	if (!partition_fits(q, what))
		return WIRE_SA_REQ_INVALID;
	if (!had)
		return WIRE_SA_NO_RECORDS;
	if (!may_change(q, had, what))
		return WIRE_SA_REQ_INVALID;
	*what = had->record;
	what->lease = sa_service_lease(q->sa, had);
	sa_service_drop(q->sa, had);
	return WIRE_SA_OK;
}

/* A change answers with the record, laid over the request. */
static enum wire_sa_status service_prepare(struct sa_query *q)
{
	struct wire_service what;

	if (!sa_is_change(q))
		return sa_walk_until_end(q);

	wire_service_decode(q->data, &what);
	if (!sa_asked(q, WIRE_SERVICE(pkey)))
		what.pkey = SA_DEFAULT_PKEY;
	if (!sa_asked(q, WIRE_SERVICE(lease)))
		what.lease = WIRE_LEASE_FOREVER;
	if (!sa_asked(q, WIRE_SERVICE(key)))
		memset(what.key, 0, sizeof(what.key));

	enum wire_sa_status status =
		q->method == WIRE_SET ? service_set(q, &what) : service_delete(q, &what);

	if (!status)
		wire_service_encode(&what, q->data);
	return status ? status : sa_walk_once(q);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The walk goes by the numbers of services. */
static void service_emit(struct sa_query *q, uint32_t item)
{
	struct wire_service changed;
	const struct service *s;
	uint8_t *row = sa_row(q);

	q->work++;
	if (!row)
		return;
	if (sa_is_change(q)) {
		wire_service_decode(q->data, &changed);
		if (!q->trusted)
			memset(changed.key, 0, sizeof(changed.key));
		wire_service_encode(&changed, row);
		sa_row_add(q);
	} else if ((s = sa_service_next(q->sa, &q->after))) {
		/* Matched with its key, shown without. */
		struct wire_service record = s->record;

		if (q->requester == TOPO_NONE ||
		    !pkey_map_member(q->sa->view.pkeys, q->requester, record.pkey))
			return;
		record.lease = sa_service_lease(q->sa, s);
		if (!record.lease)
			return;
		wire_service_encode(&record, row);
		if (!wire_sa_match(&q->match, row))
			return;
		if (!q->trusted)
			memset(record.key, 0, sizeof(record.key));
		wire_service_encode(&record, row);
		sa_row_add(q);
	} else
		q->item = q->end;
}

const struct sa_record sa_record_service = {
	.attr_id = WIRE_SA_SERVICE,
	.methods = SA_GET | SA_TABLE | SA_SET | SA_DELETE,
	.layout = SA_COMPONENTS(service_comps),
	.prepare = service_prepare,
	.emit = service_emit,
};
