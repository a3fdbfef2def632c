/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Inside fm/sa: what belongs to one SA, and who does what.
 *
 *   sa.c          life, requests in, answers out, the table of records
 *   sa_query.c    the engine: walks a record's items, keeps the rows the mask asks for, yields when it takes long
 *   sa_queue.c    requests that wait for it
 *   sa_records.c  rows of nodes, ports, links, tables      sa_path.c    PathRecord, sa_path_mcast.c to groups
 *   sa_inform.c   subscriptions                            sa_report.c  notices to their subscribers
 *   sa_service.c  ServiceRecord                            sa_multipath.c MultiPathRecord
 *   sa_qos.c      SL2VL and VL arbitration                 sa_link.c    MTU and rate of every port
 *   sa_state.c    what outlives the process                sa_limit.c   no host takes it from the others
 *   sa_alias.c    GUIDInfoRecord: further GUIDs of ports
 *   sa_mcast.c    MCMemberRecord                           mcast_group.c its groups
 *
 * Queries are in sa_query.h, subscriptions and notices in sa_report.h, the records' functions in sa_rows.h.
 */
#ifndef FMD_SA_SA_IMPL_H
#define FMD_SA_SA_IMPL_H

#include <complib/cl_fleximap.h>
#include <complib/cl_qmap.h>
#include "fm/core/log.h"
#include "fm/mad/wire_sa.h"
#include "fm/sa/mcast_group.h"
#include "fm/sa/sa.h"
#include "fm/sa/sa_alias.h"
#include "fm/sa/sa_query.h"
#include "fm/sa/sa_report.h"

#define SA_DEFAULT_PKEY 0xffff

struct sa_link {	/* by port index, for the cable at the port */
	uint8_t mtu;	/* code; lower of both ends */
	uint8_t rate;	/* PathRecord code of the active speed and width */
	uint16_t knows; /* end ports: WIRE_CAP2_* of the rates it can be told */
};

struct service {
	cl_fmap_item_t item;	/* key: the record, by what identifies it */
	cl_map_item_t numbered; /* key: a number of its own, the later the higher */
	struct wire_service record;
	uint64_t ends; /* by the loop's clock; UINT64_MAX = never */
	guid_t owner; /* port GUID: of the port the service is on, else of the one that registered it */
};

struct services {
	cl_fmap_t map;
	cl_qmap_t numbered; /* to walk over while others come and go */
	uint64_t next;	    /* number */
	uint32_t count;
	cl_qmap_t owners;	  /* struct service_owner by port GUID */
	struct loop_timer *lease; /* armed: not behind the first to end .. */
	uint64_t due;		  /* .. for this time; UINT64_MAX = not armed */
};

struct limit {
	uint64_t *even; /* by LID; NULL until one is asked about */
	uint32_t *told; /* by LID: second from which on it is told of again; NULL until one is */
	unsigned round; /* rows looked at in this round of the loop */
	struct loop_timer *next;
	struct log_limit burst;
};

struct sa_places {		 /* of the view: what indices of its ports and LIDs refer to */
	const struct topo *topo; /* referenced */
	uint16_t top;
	uint8_t lmc;
};

struct sa {
	struct loop *loop;
	struct mad *mad;
	const struct inventory *inv;
	struct sa_conf conf;
	struct sa_view view;
	struct sa_places places;
	struct sa_link *
		links; /* [view.topo->nports]; NULL: nobody asked since the publish. See sa_link() */
	uint8_t *scratch; /* answer buffer of queries that end at once */
	size_t scratch_size;
	struct sa_query *jobs[SA_JOBS];
	unsigned turn; /* of the jobs: who had the last slice */
	struct loop_timer *step;
	struct sa_queue queue;
	cl_qmap_t subscribers; /* struct subscriber by port GUID */
	struct services services;
	struct aliases aliases;
	struct sa_manager *managers; /* but this one */
	unsigned nmanagers;
	struct limit limit;
	struct reports reports;
	struct sa_listener listener;
	struct sa_groups *groups;
	sa_groups_fn *groups_fn;
	void *groups_arg;
	const struct mcast_plan *trees; /* as the switches are to hold them; NULL = none */
	struct sa_stats stats;
	bool away; /* does not serve */
	struct log_limit refused;
};

/* TOPO_NONE when no port has the LID. */
static inline uint32_t sa_port_by_lid(const struct sa *sa, uint16_t lid)
{
	const struct lid_map *lids = sa->view.lids;

	return lid && lid <= lids->top ? lids->port_of_lid[lid] : TOPO_NONE;
}
/* Base LID; of a switch port its switch's. */
uint16_t sa_port_lid(const struct sa *sa, uint32_t port);

/* sa_limit.c */
void sa_limit_init(struct sa *sa);
void sa_limit_fini(struct sa *sa);
bool sa_limit_admits(struct sa *sa, uint16_t lid); /* counts a request */
unsigned sa_round_slice(const struct sa *sa);	   /* of a query that starts now */
void sa_round_add(struct sa *sa, unsigned work);

/* sa_link.c */
void sa_links_forget(struct sa *sa);
const struct sa_link *sa_link(struct sa *sa, uint32_t port); /* of the view */
bool sa_rate_known(uint8_t rate);
int sa_rate_compare(uint8_t a, uint8_t b);
uint8_t sa_rate_below(uint8_t rate); /* the next lower one, 0 = none */
uint8_t sa_rate_clip(uint8_t rate, uint16_t knows);

/* sa.c */
void sa_changed(struct sa *sa); /* what is kept in files */
void sa_tell(struct sa *sa, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether two ports have a partition in common, and so know of each other. Without partitions all do; with them nobody knows
 * of a port that is not in the view (TOPO_NONE). */
static inline bool sa_may_know(const struct sa *sa, uint32_t port, uint32_t other)
{
	return !sa->view.pkeys || (port != TOPO_NONE && other != TOPO_NONE &&
				   pkey_map_shared(sa->view.pkeys, port, other));
}

/* What others are asked about is told to those who share a partition with it; of a switch that is its port 0. */
static inline bool sa_shown(const struct sa_query *q, uint32_t port)
{
	const struct topo *t = q->sa->view.topo;
	const struct topo_node *node = &t->nodes[t->ports[port].node];

	return !q->sa->view.pkeys ||
	       (q->asker != TOPO_NONE &&
		sa_may_know(q->sa, q->asker, node->type == TOPO_SWITCH ? node->port0 : port));
}

/* sa_service.c */
/* Of this owner, 0 = whoever has the GID, as far as is known. Whether there is room is not asked here. */
void sa_service_put(struct sa *sa, const struct wire_service *record, guid_t owner);
struct service *sa_service_next(const struct sa *sa,
				uint64_t *number); /* behind that one, from 0 on; NULL: none */
uint32_t sa_service_lease(const struct sa *sa, const struct service *s); /* seconds left */
void sa_services_init(struct sa *sa);
void sa_services_fini(struct sa *sa);

/* sa_mcast.c */
void sa_mcast_init(struct sa *sa);
void sa_mcast_fini(struct sa *sa);

#endif
